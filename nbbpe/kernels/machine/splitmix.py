"""SplitMix64 (Steele, Lea and Flood 2014): random numbers, and the function that mixes their bits."""

import numpy as np

from ..compiler.jit import inlined
from .intrinsics import read_u64, write_u64

_STEP, _FACTOR, _FACTOR_2 = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_27, _30, _31 = (np.uint64(n) for n in (27, 30, 31))


@inlined
def mixed_bits(x):
    """Spread every bit of a uint64 over all of them; a bijection."""
    x = (x ^ (x >> _30)) * _FACTOR
    x = (x ^ (x >> _27)) * _FACTOR_2
    return x ^ (x >> _31)


@inlined
def next_random(state_at):
    """The next random number, uint64. state_at : address of uint64[1], modified."""
    state = read_u64(state_at) + _STEP
    write_u64(state_at, state)
    return mixed_bits(state)
