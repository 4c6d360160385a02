"""What kernels need of the machine and of Python: vector operations, memory in large pages, arguments without copies.

Read intrinsics.py first.
"""
