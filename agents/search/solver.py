"""Exact values of endgames with open cards, for Python.

Axes: M positions.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.search.endgame import (
    FAILED,
    MAX_PLIES,
    NUM_ENTRY,
    NUM_MASKS,
    NUM_NUMBERS,
    solve_rows,
)
from king_env.engine.layout import NUM_SEATS, Games, Tables, allocate

UNBOUNDED: Final = 1 << 40


class Solver:
    """Solves positions in PLAY in which all hands are known, see ``agents.search.endgame``.

    Args:
        maxn: every seat plays for its own points; otherwise the root seat maximizes its payoff and
            all others minimize it.
        table_size: positions that the table holds, a power of two.
        budget: positions to look at for one endgame, at most.
    """

    def __init__(
        self, maxn: bool = False, table_size: int = 1 << 15, budget: int = UNBOUNDED
    ) -> None:
        self.maxn = maxn
        self.budget = budget
        self._stack = allocate(MAX_PLIES + 1)
        self._numbers = np.zeros((MAX_PLIES + 1, NUM_NUMBERS), dtype=np.int64)
        self._masks = np.zeros((MAX_PLIES + 1, NUM_MASKS), dtype=np.uint64)
        self._keys = np.zeros(table_size, dtype=np.uint64)
        self._entries = np.zeros((table_size, NUM_ENTRY), dtype=np.int32)

    def solve(
        self, games: Games, tables: Tables, seats: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Returns what the whole deal brings the root seats.

        Args:
            games: `[M]` games in PLAY, all hands known.
            tables: rule tables.
            seats: `[M]` root seats.

        Returns:
            Payoffs `[M]` in points over the table mean (in a partnership half the difference of
            the teams), NaN where the budget ran out; with ``maxn`` the points `[M, 4]` that the
            rest of the deal brings each seat, otherwise zeros.
        """
        out = np.zeros(len(games), dtype=np.int64)
        vectors = np.zeros((len(games), NUM_SEATS), dtype=np.int64)
        solve_rows(
            games, tables, seats, int(self.maxn),
            self._stack, self._numbers, self._masks, self._keys, self._entries,
            self.budget, out, vectors,
        )  # fmt: skip
        payoffs: Any = np.where(out == FAILED, np.nan, 0.25 * out)
        return payoffs, vectors
