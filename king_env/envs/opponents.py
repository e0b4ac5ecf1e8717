"""Who plays the seats that are not the learner's: agents by name, compiled or plain Python.

Names are resolved through the entry-point group ``king_env.agents``. Its entry ``builtin`` is a
function that makes an agent of a name, of ours or of another distribution; without it an entry of
the very name is taken. This package imports no agents by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any, Final, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from king_env.engine import batch
from king_env.engine.actions import ActionId
from king_env.engine.layout import NOBODY, Games, Tables, allocate
from king_env.envs.batch import Opponents
from king_env.policy import Policy, ask, check_answers
from king_env.rules.catalogue import Variant
from king_env.schema import suggest
from king_env.view import legal_ids

ENTRY_POINT_GROUP: Final = "king_env.agents"
BUILTIN: Final = "builtin"
NUM_OPPONENTS: Final = 3

OpponentsLike: TypeAlias = str | Policy | Sequence[str | Policy]
"""One agent for all three seats, or three: those of the seats after the learner's, in order."""


@runtime_checkable
class CompiledPolicy(Policy, Protocol):
    """An agent that is a kernel, and can play whole seats without coming back to Python.

    Attributes:
        policy_id: what ``games.control`` holds for a seat it plays, 1..255; agents of the same
            class have ids of their own.
    """

    policy_id: int

    def opponents(self, agent_seed: int, *, skip_forced: bool) -> Opponents:
        """Returns what plays every seat whose ``control`` is the id of an agent of this class.

        Args:
            agent_seed: seed of the agents' draws, see ``king_env.policy.decision_keys``.
            skip_forced: play moves without alternative for the other seats too.
        """


def find_agent(name: str) -> Policy:
    """Returns the agent called ``name``.

    Raises:
        ValueError: if there is no such agent, naming what is allowed.
    """
    found = {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}
    if BUILTIN in found:
        return cast(Policy, found[BUILTIN].load()(name))
    if name not in found:
        what = suggest(name, sorted(found)) if found else "no package that has any is installed"
        raise ValueError(f"opponents: no agent {name!r} in {ENTRY_POINT_GROUP}: {what}")
    return cast(Policy, found[name].load()())


def find_agents(opponents: OpponentsLike) -> tuple[Policy, ...]:
    """Returns the agents of the three seats after the learner's; equal names give one agent.

    Raises:
        ValueError: if their number is neither one nor three, or one is no agent.
    """
    single = isinstance(opponents, (str, Policy))
    given: list[Any] = [opponents] * NUM_OPPONENTS if single else list(cast(Any, opponents))
    if len(given) != NUM_OPPONENTS:
        raise ValueError(f"opponents: found {len(given)} agents; allowed: one, or three")
    made = {name: find_agent(name) for name in dict.fromkeys(n for n in given if type(n) is str)}
    agents = tuple(made[entry] if type(entry) is str else entry for entry in given)
    for agent in agents:
        if not isinstance(agent, Policy):
            raise ValueError(
                f"opponents: expected a name, or an agent with a name and act(view, rng), "
                f"found {agent!r:.80}"
            )
    return agents


class PolicyOpponents:
    """Plays seats by policies that are not compiled, one decision at a time.

    All games that wait for the same agent are one ``act_batch`` where it has that; else it gets one
    view after another, with the actions of the deal so far.

    Args:
        policies: ``policies[c - 1]`` plays the seats whose ``control`` is c.
        variants: the rules, by ``games.variant``.
        num_games: N.
        agent_seed: seed of the policies' draws.
        skip_forced: play moves without alternative for the caller's seats too.
    """

    def __init__(
        self,
        policies: Sequence[Policy],
        variants: Sequence[Variant],
        num_games: int,
        agent_seed: int,
        *,
        skip_forced: bool,
    ) -> None:
        self._policies = tuple(policies)
        self._variants = tuple(variants)
        self._agent_seed = agent_seed
        self._skip_forced = skip_forced
        self._views = allocate(num_games)
        self._history: list[list[tuple[int, ActionId]]] = [[] for _ in range(num_games)]

    def advance(self, games: Games, tables: Tables, first: int, last: int) -> None:
        """Plays games ``first .. last - 1`` until a seat with control 0 is to act, or the end."""
        rows = np.arange(first, last, dtype=np.int64)
        while rows.size:
            rows = rows[games.deal.actor[rows] != NOBODY]
            actor = games.deal.actor[rows].astype(np.int64)
            who = games.control[rows, actor].astype(np.int64) - 1
            forced = np.bitwise_count(games.deal.legal[rows]).sum(axis=1) == 1
            ours = (who >= 0) | forced if self._skip_forced else who >= 0
            rows, who, forced = rows[ours], who[ours], forced[ours]
            if not rows.size:
                return
            for game in rows[games.deal.decisions[rows] == 0]:
                self._history[game].clear()
            actions = np.zeros(len(rows), dtype=np.int64)
            for row in np.flatnonzero(forced):
                actions[row] = legal_ids(games.deal.legal[rows[row]])[0]
            for index, policy in enumerate(self._policies):
                mine = np.flatnonzero((who == index) & ~forced)
                if mine.size:
                    actions[mine] = ask(
                        policy,
                        self._variants,
                        games,
                        tables,
                        rows[mine],
                        self._agent_seed,
                        self._views,
                        self._history,
                    )
            check_answers(self._policies, self._variants, games, rows, actions, who)
            self.push(games, tables, rows, actions)

    def push(
        self,
        games: Games,
        tables: Tables,
        rows: npt.NDArray[np.int64],
        actions: npt.NDArray[np.int64],
    ) -> None:
        """Applies legal actions, also those of the caller's seats: views have to show them."""
        deal = games.deal
        for game, action in zip(rows.tolist(), actions.tolist(), strict=True):
            if deal.decisions[game] == 0:
                self._history[game].clear()
            self._history[game].append((int(deal.actor[game]), action))
        batch.step_rows(games, tables, rows, actions, 0)


def are_compiled(agents: Sequence[Policy]) -> bool:
    """Tells whether all agents are compiled and of one class, so that one kernel plays them."""
    first = agents[0]
    return isinstance(first, CompiledPolicy) and all(type(a) is type(first) for a in agents)
