"""Compiled policies as agents, and as the opponents of a batched environment."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.kernels.doors import act_rows, advance
from king_env.engine.actions import ActionId
from king_env.engine.layout import Games, Tables
from king_env.view import View

_FIRST_ROW: Final = np.zeros(1, dtype=np.int64)


class CompiledAgent:
    """An agent whose policy is a kernel.

    Attributes:
        name: name in the registry.
        policy_id: what ``games.control`` holds for a seat it plays.
        seed: its seed where it draws by itself, see ``CompiledOpponents``.
    """

    def __init__(self, name: str, policy_id: int, seed: int = 0) -> None:
        self.name = name
        self.policy_id = policy_id
        self.seed = seed

    def __repr__(self) -> str:
        return f"CompiledAgent({self.name!r}, {self.policy_id}, {self.seed})"

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        """Returns a legal action for the seat of the view, which is to act."""
        keys = rng.integers(0, 2**64, 1, dtype=np.uint64)
        action = np.empty(1, dtype=np.int64)
        act_rows(view.record, view.tables, _FIRST_ROW, self.policy_id, keys, action)
        return int(action[0])

    def act_batch(
        self, views: Games, tables: Tables, keys: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Returns a legal action for the seat to act of each of `[M]` views."""
        actions = np.empty(len(views), dtype=np.int64)
        rows = np.arange(len(views), dtype=np.int64)
        act_rows(views, tables, rows, self.policy_id, keys, actions)
        return actions

    def opponents(self, agent_seed: int, *, skip_forced: bool) -> CompiledOpponents:
        """Returns what plays every seat whose ``control`` is a compiled policy's id."""
        return CompiledOpponents(agent_seed, skip_forced=skip_forced)


class CompiledOpponents:
    """Plays the seats of a batched environment whose ``control`` is a compiled policy's id.

    Args:
        agent_seed: seed of the policies' own draws, 0 .. 2**64 - 1.
        skip_forced: play moves without alternative for the caller's seats too; must be what the
            environment's ``skip_forced`` is.
    """

    def __init__(self, agent_seed: int = 0, *, skip_forced: bool = True) -> None:
        self.agent_seed: Any = np.uint64(agent_seed)
        self.skip_forced = int(skip_forced)

    def advance(self, games: Games, tables: Tables, first: int, last: int) -> None:
        """Plays games ``first .. last - 1`` until a seat with control 0 is to act, or the end."""
        advance(games, tables, first, last, self.agent_seed, self.skip_forced)
