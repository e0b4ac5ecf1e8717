"""What a framework has trained, as an agent: observations in, scores of actions out.

Axes: M decisions, F features, A actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from king_env.engine import observe
from king_env.engine.actions import NUM_ACTIONS, NUM_MASK_WORDS, ActionId
from king_env.engine.layout import Games, Tables
from king_env.view import View

Scores: TypeAlias = Callable[[npt.NDArray[np.float32]], npt.NDArray[Any]]
"""Scores of actions `[M, A]`, such as logits or values, for observations `[M, F]`."""


class ScoreAgent:
    """Takes the legal action with the highest score; of equal ones the lowest id.

    Args:
        name: name in tables.
        scores: scores of actions, legal or not; what is not legal is never taken.
    """

    def __init__(self, name: str, scores: Scores) -> None:
        self.name = name
        self.scores = scores

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        """Returns a legal action for the seat of the view, which is to act."""
        return int(best_legal(self.scores(view.observation[None]), view.action_mask[None])[0])

    def act_batch(
        self, views: Games, tables: Tables, keys: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Returns a legal action for the seat to act of each of `[M]` views."""
        observations, masks = look(views, tables)
        return best_legal(self.scores(observations), masks)


def best_legal(scores: npt.NDArray[Any], masks: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Returns the legal action with the highest score of each row, `[M]`.

    Args:
        scores: `[M, A]`, finite.
        masks: `[M, A]`, not 0 for legal actions; at least one a row.
    """
    best: npt.NDArray[np.int64] = np.where(masks != 0, scores, -np.inf).argmax(axis=-1)
    return best


def look(games: Games, tables: Tables) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int8]]:
    """Returns what the seat to act in each game observes: `[M, F]` float32, masks `[M, A]` int8."""
    count = len(games)
    words = np.empty((count, observe.NUM_WORDS), dtype=np.uint64)
    numbers = np.empty((count, observe.NUM_NUMBERS), dtype=np.int16)
    mask = np.empty((count, NUM_MASK_WORDS), dtype=np.uint64)
    observe.observe_actors(games, tables, np.arange(count), words, numbers, mask)
    bits = observe.unpack_bits(words, observe.NUM_BITS)
    return observe.features(bits, numbers), observe.unpack_bits(mask, NUM_ACTIONS).view(np.int8)
