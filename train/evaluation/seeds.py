"""The benchmark: its version, its seed lists, and what belongs to it.

A seed list is the deals 0, 1, 2 ... of a suite, or the matches 0, 1, 2 ..., under one seed: the
first 1,000 deals are a part of the first 2,000. The lists share no deal.

* ``development``: tune on it.
* ``validation``: choose on it (which checkpoint, which setting); the default of ``king evaluate``.
* ``test``: final figures, once a release.

Seeds, protocol and baselines of a version never change; a new one gets a new name.
"""

from __future__ import annotations

from typing import Final

BENCHMARK: Final = "king-1"

SEED_LISTS: Final = {
    "development": 6_120_951_001,
    "validation": 6_120_951_002,
    "test": 6_120_951_003,
}

DEFAULT_SEED_LIST: Final = "validation"

VARIANTS: Final = (
    "international",
    "international_32",
    "international_32_balanced",
    "portuguese",
    "rifki",
    "rifki_pagat",
    "russian_auction",
    "russian_mirror",
    "russian_ordered",
    "russian_salad",
    "turkish_full",
    "turkish_full_pairs",
    "turkish_short",
    "turkish_short_pairs",
)
"""Variants of the benchmark, each without options. A list of its own, not that of the shipped
variants: one that is added later is not part of this version."""


def benchmark_seed(seed_list: str) -> int:
    """Returns the seed of a list.

    Raises:
        ValueError: if there is no such list.
    """
    if seed_list not in SEED_LISTS:
        allowed = ", ".join(SEED_LISTS)
        raise ValueError(f"seed list {seed_list!r}: unknown; allowed: {allowed}")
    return SEED_LISTS[seed_list]
