"""Counter-based random numbers: a draw is a pure function of its key and its number.

A key is mixed from (seed, match, deal, stream), so that the cards of a deal depend on nothing else:
not on the batch size, the thread, the policies or the order of play. Agents draw from another
stream than the deals.

Source: the mixing function is the finalizer of SplitMix64 (Steele, Lea, Flood 2014,
"Fast splittable pseudorandom number generators", figure 15, variant 13 of Stafford).

Products wrap around modulo 2**64, which is meant; plain numpy warns of it.
"""

from __future__ import annotations

from typing import Any, Final

from king_env.engine.jit import i64, inline, u64

_GOLDEN: Final = u64(0x9E3779B97F4A7C15)
_MIX_1: Final = u64(0xBF58476D1CE4E5B9)
_MIX_2: Final = u64(0x94D049BB133111EB)
_S27: Final = u64(27)
_S30: Final = u64(30)
_S31: Final = u64(31)
_S32: Final = u64(32)
_LOW32: Final = u64(0xFFFFFFFF)

STREAM_CARDS: Final = 1
STREAM_LOT: Final = 2
STREAM_HISTORY: Final = 3
STREAM_SKIP: Final = 4
STREAM_ACTIONS: Final = 5


@inline
def mix(x: Any) -> Any:
    """Returns 64 well mixed bits of 64 bits."""
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)


@inline
def make_key(seed: Any, match: Any, deal: Any, stream: Any) -> Any:
    """Returns the key of a stream of draws; all arguments are integers."""
    key = mix(u64(seed) + _GOLDEN)
    key = mix(key ^ (u64(i64(match)) * _GOLDEN + u64(stream)))
    return mix(key + u64(i64(deal)) * _MIX_1)


@inline
def draw(key: Any, number: Any) -> Any:
    """Returns draw ``number`` (from 0) of a key, a uint64."""
    return mix(key + (u64(number) + u64(1)) * _GOLDEN)


@inline
def below(bits: Any, bound: Any) -> Any:
    """Returns an int64 in 0..bound-1 from the high half of 64 random bits; bound < 2**31."""
    return i64(((bits >> _S32) * u64(bound)) >> _S32)


@inline
def below_low(bits: Any, bound: Any) -> Any:
    """Returns an int64 in 0..bound-1 from the low half of 64 random bits; bound < 2**31."""
    return i64(((bits & _LOW32) * u64(bound)) >> _S32)


@inline
def below_exact(key: Any, number: Any, bound: Any) -> Any:
    """Returns a uniform uint64 in 0..bound-1 without bias, for bounds up to 2**63.

    Draws above the largest multiple of the bound are drawn again, with number + 1000, ...
    """
    bound = u64(bound)
    limit = (u64(0xFFFFFFFFFFFFFFFF) // bound) * bound
    bits = draw(key, number)
    while bits >= limit:
        number += 1000
        bits = draw(key, number)
    return bits % bound
