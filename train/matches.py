"""Learning for a whole match: what the final ranks are worth, and how long a match is.

Axes: N matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from king_env.rules.catalogue import Variant

BEST: Final = 1.5
"""Utility of the first place; each further one is worth 1 less, so that a table adds up to 0."""


def deals_of(variants: Sequence[Variant]) -> npt.NDArray[np.int64]:
    """Returns `[V]` int64: the deals of a match of each variant."""
    return np.array([len(variant.spec.deals) for variant in variants], dtype=np.int64)


def rank_utility(scores: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Returns `[N, 4]` float32: +1.5, +0.5, -0.5 and -1.5 by rank; ties share what they hold.

    Args:
        scores: `[N, 4]`, final scores by seat; partners have the same, their team's.
    """
    better, equal = _others(scores)
    return (BEST - better - (equal - 1) / 2).astype(np.float32)


def first_places(scores: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Returns `[N, 4]` float32: 1 for the first place, split among those who share it."""
    better, equal = _others(scores)
    return np.where(better == 0, 1 / equal, 0).astype(np.float32)


def _others(scores: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Returns how many seats have more, and how many as much, oneself included: `[N, 4]` each."""
    own, others = scores[:, :, None], scores[:, None, :]
    return (others > own).sum(2), (others == own).sum(2)
