"""What kernels need of the machine and of Python: vector operations, memory in large pages, arguments read as they lie.

Read intrinsics.py first.
"""
