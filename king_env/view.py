"""What one seat may know of a game, as an object: cards, public history, observation, worlds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from king_env import cards
from king_env.engine import observe, sample
from king_env.engine.actions import NUM_ACTIONS, ActionId, ActionNames
from king_env.engine.layout import PHASES, Games, Tables, allocate
from king_env.render import table_text
from king_env.rules.catalogue import Variant


class View:
    """What one seat may know of a game: its cards and the whole public history.

    Attributes:
        variant: the rules in force.
        seat: the seat that looks, 0..3.
        record: `[1]` games, everything hidden blanked; compiled agents read it.
        tables: rule tables that ``record`` refers to.
        history: the actions of the deal so far as (seat, action id), all of them public.
    """

    def __init__(
        self,
        variant: Variant,
        games: Games,
        tables: Tables,
        index: int,
        seat: int,
        history: Sequence[tuple[int, ActionId]] = (),
    ) -> None:
        self.variant = variant
        self.seat = seat
        self.tables = tables
        self.record: Games = allocate(1)
        self.history = tuple(history)
        # numba takes plain arrays ten times faster than recarrays.
        shown: Any = self.record.view(np.ndarray)
        sample.hide(games.view(np.ndarray), tables.view(np.ndarray), index, seat, shown, 0)

    def __str__(self) -> str:
        """Returns the table as the seat sees it."""
        return table_text(self.variant.spec, self.record[0], self.seat)

    @cached_property
    def names(self) -> ActionNames:
        """Names of the actions."""
        return ActionNames(self.variant.spec)

    @property
    def _deal(self) -> Any:
        return self.record[0].deal

    @property
    def phase(self) -> str:
        """The phase of the game, one of ``layout.PHASES``."""
        return PHASES[self._deal.phase]

    @property
    def legal_actions(self) -> list[ActionId]:
        """Ids of the legal actions, ascending; empty when the seat is not to act."""
        return legal_ids(self._deal.legal)

    @property
    def action_mask(self) -> npt.NDArray[np.int8]:
        """`[A]` int8, 1 for legal actions."""
        mask = np.zeros(NUM_ACTIONS, dtype=np.int8)
        observe.mask_to_int8(self.record, 0, mask)
        return mask

    @property
    def observation(self) -> npt.NDArray[np.float32]:
        """`[F]` float32: bits as 0 and 1, then numbers divided by their scales."""
        return observation_of(self.record, self.tables, 0, self.seat)

    @property
    def hand(self) -> list[str]:
        """The own cards that have arrived, by name."""
        return [cards.CARD_NAMES[card] for card in cards.cards_of(int(self._deal.hands[self.seat]))]

    @property
    def contract(self) -> str | None:
        """Id of the deal's contract, once known."""
        index = int(self._deal.contract)
        return None if index < 0 else self.variant.spec.contract[index].id

    @property
    def trump(self) -> str | None:
        """Trump suit ``S H D C``, or None."""
        trump = int(self._deal.trump)
        return cards.SUITS[trump] if 0 <= trump < 4 else None

    @property
    def trick(self) -> list[str]:
        """Cards of the trick in progress in the order played."""
        deal = self._deal
        return [cards.CARD_NAMES[card] for card in deal.trick[: deal.trick_size]]

    def sample_worlds(self, num_worlds: int, rng: np.random.Generator) -> Games:
        """Returns complete games drawn uniformly from those that fit what the seat knows.

        Raises:
            ValueError: if the view contradicts itself, which no real game does.
        """
        worlds = allocate(num_worlds)
        keys = rng.integers(0, 2**64, num_worlds, dtype=np.uint64)
        filled = sample.sample_worlds(
            self.record, self.tables, 0, self.seat, worlds, 0, num_worlds, keys
        )
        if filled < num_worlds:
            raise ValueError("no deal of the hidden cards fits this view")
        return worlds


def legal_ids(words: npt.NDArray[np.uint64]) -> list[ActionId]:
    """Returns the action ids of a `[3]` uint64 mask, ascending."""
    return [
        word * 64 + position
        for word in range(len(words))
        for position in cards.cards_of(int(words[word]))
    ]


def observation_of(games: Games, tables: Tables, index: int, seat: int) -> npt.NDArray[np.float32]:
    """Returns the `[F]` float32 observation of a seat of a game."""
    bits = np.empty((1, observe.NUM_WORDS), dtype=np.uint64)
    numbers = np.empty((1, observe.NUM_NUMBERS), dtype=np.int16)
    out = np.empty(observe.NUM_FEATURES, dtype=np.float32)
    observe.observe(games, tables, index, seat, bits, numbers, 0)
    observe.to_float(bits, numbers, 0, out)
    return out
