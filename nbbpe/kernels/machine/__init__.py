"""Access to the machine and to Python objects: vector operations, memory in large pages, arguments without copies.

Read intrinsics.py first.
"""
