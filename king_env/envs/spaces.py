"""Spaces that the environments share."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from king_env.engine import observe
from king_env.engine.actions import NUM_ACTIONS


def vector_space() -> spaces.Box:
    """Returns the space of the float32 observation: bits 0 and 1, then numbers within bounds."""
    low = np.zeros(observe.NUM_FEATURES, dtype=np.float32)
    low[observe.NUM_BITS :] = -observe.NUMBER_BOUND
    high = np.ones(observe.NUM_FEATURES, dtype=np.float32)
    high[observe.NUM_BITS :] = observe.NUMBER_BOUND
    return spaces.Box(low, high, dtype=np.float32)


def mask_space() -> spaces.Box:
    """Returns the space of a mask of legal actions: `[A]` int8."""
    return spaces.Box(0, 1, (NUM_ACTIONS,), dtype=np.int8)
