"""Types of LLVM's intermediate code that intrinsics and entries use. Importing this imports llvmlite: see jit.llvm."""

from llvmlite import ir

I1, I8, I32, I64, I128 = (ir.IntType(bits) for bits in (1, 8, 32, 64, 128))
OBJECT = I8.as_pointer()
VOID = ir.VoidType()
VECTOR = ir.VectorType(I8, 64)  # a block of text
CHOSEN = ir.VectorType(I1, 64)  # a bit for each byte of a block
