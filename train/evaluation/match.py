"""A table runner: many games in step, one agent a seat.

Compiled agents are played inside the kernel, batched ones get all their decisions of a step at
once, plain ones one view at a time. Whoever it is sees views only, and is asked only where there is
something to decide: moves without alternative are applied for everybody. What an agent draws is a
function of (agent seed, match, deal, number of the decision).

**An agent at fault loses the deal.** A fault is an ``AgentFault``, which agents in processes of
their own raise when they crash, answer too late, or give an answer that is malformed or not legal;
a runner that is ``forgiving`` counts errors and illegal actions of any agent as faults instead of
stopping. From the fault on, the agent is not asked again in that deal: wherever it sits, the lowest
legal action is played for it. When the deal is over its four scores are dealt out anew: the lowest
go to the seats of the agent at fault, the others to the rest, each in the order of what they had
scored. So a fault never pays, and the sum of the deal stays what it is. Where all seats are at
fault the scores stand. In a match the totals that agents see are those that were played.

Axes: M games, K deals of a game, S seats, A agents.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from agents.base import CompiledOpponents
from agents.faults import CRASH, ILLEGAL, AgentFault
from king_env.engine import batch
from king_env.engine.actions import ActionId
from king_env.engine.layout import NO_TRUMP, NOBODY, Games, Tables, allocate
from king_env.policy import AgentActionError, BatchPolicy, Policy, ask, check_answers
from king_env.rules.catalogue import Variant
from king_env.rules.tables import DECISION_NONE, make_tables
from king_env.view import legal_ids
from train.kernels import next_deals

CHUNK: Final = 4096
"""Games played in step; fewer where an agent's ``chunk`` says so, as slow ones show progress."""


Progress: TypeAlias = Callable[[int], object]
"""Is told how many games have been finished since it was last told."""

Move: TypeAlias = tuple[int, ActionId]
"""A seat and what it did."""


@dataclass(frozen=True)
class Results:
    """What came of games.

    Attributes:
        scores: `[M, K, 4]` int64, points of each deal by seat, settlements included.
        contract: `[M, K]` int64, contract played, or -1.
        trump: `[M, K]` int64, suit, or 4 for none, or -1.
        declarer: `[M, K]` int64, who declared or took the deal unplayed; 4 in fixed deals.
        unplayed: `[M, K]` bool, the deal was taken unplayed.
        position: `[M, K]` int64, deal of the schedule.
        faults: `[M, K, A]` bool, the agent was at fault and lost the deal.
        actions: by game and deal, the (seat, action id) of the deal; only where asked for.
    """

    scores: npt.NDArray[np.int64]
    contract: npt.NDArray[np.int64]
    trump: npt.NDArray[np.int64]
    declarer: npt.NDArray[np.int64]
    unplayed: npt.NDArray[np.bool_]
    position: npt.NDArray[np.int64]
    faults: npt.NDArray[np.bool_]
    actions: list[list[list[Move]]] = field(default_factory=list)

    @classmethod
    def empty(cls, num_games: int, num_deals: int, num_agents: int = 1) -> Results:
        """Returns results to be filled."""
        shape = (num_games, num_deals)
        return cls(
            np.zeros((*shape, 4), np.int64),
            np.full(shape, -1, np.int64),
            np.full(shape, -1, np.int64),
            np.full(shape, NOBODY, np.int64),
            np.zeros(shape, np.bool_),
            np.zeros(shape, np.int64),
            np.zeros((*shape, num_agents), np.bool_),
        )


def num_legal(games: Games, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Returns the number of legal actions in each game of ``rows``."""
    legal = games.deal.legal[rows]
    return np.bitwise_count(legal).sum(axis=1, dtype=np.int64)  # type: ignore[no-any-return]


def lose_deals(
    scores: npt.NDArray[np.int64], seats: npt.NDArray[np.int64], faulty: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """Returns scores in which agents at fault have lost: the lowest go to their seats.

    Args:
        scores: `[M, 4]`, points of deals by seat.
        seats: `[M, 4]`, index of the agent in each seat.
        faulty: `[M, A]`, who was at fault.
    """
    at_fault = np.take_along_axis(faulty, seats, axis=1)
    # Seats by their new rank: at fault first, then by what they had scored, then by seat.
    order = np.lexsort((scores, ~at_fault), axis=1)
    out = np.empty_like(scores)
    np.put_along_axis(out, order, np.sort(scores, axis=1), axis=1)
    return np.where(at_fault.all(axis=1, keepdims=True), scores, out)


class TableRunner:
    """Plays games of one variant between agents.

    Args:
        variant: the rules.
        agents: the agents that ``play`` seats.
        agent_seed: seed of what agents draw, 0 .. 2**64 - 1.
        record: keep the actions of every game.
        forgiving: errors and illegal actions of an agent are faults, which lose it the deal.

    Attributes:
        chunk: games played in step, fewer where an agent asks for it.
        asked: `[A]` int64, decisions that agents were asked for in Python.
        thinking_s: `[A]` float64, seconds they took.
        fault_kinds: for each agent the deals lost by kind of fault.
        last_fault: for each agent what was wrong last, or "".
    """

    def __init__(
        self,
        variant: Variant,
        agents: Sequence[Policy],
        *,
        agent_seed: int = 0,
        record: bool = False,
        forgiving: bool = False,
    ) -> None:
        self.variant = variant
        self.agents = tuple(agents)
        self.tables: Tables = make_tables([variant.spec])
        self.num_deals = len(variant.spec.deals)
        self._agent_seed: Any = np.uint64(agent_seed)
        ids = [int(getattr(agent, "policy_id", 0)) for agent in self.agents]
        batched = [isinstance(agent, BatchPolicy) for agent in self.agents]
        # Only a plain agent's view carries the actions so far; recording them takes single steps.
        self._with_history = record or not all(batched)
        self._record = record
        self._forgiving = forgiving
        self.asked = np.zeros(len(self.agents), dtype=np.int64)
        self.thinking_s = np.zeros(len(self.agents))
        self.fault_kinds: list[Counter[str]] = [Counter() for _ in self.agents]
        self.last_fault = [""] * len(self.agents)
        self._control = np.array([0 if self._with_history else i for i in ids], dtype=np.uint8)
        self._batched = batched
        self.chunk = min([CHUNK, *(int(getattr(agent, "chunk", CHUNK)) for agent in self.agents)])
        self._compiled: CompiledOpponents | None = None
        if self._control.any():
            self._compiled = CompiledOpponents(agent_seed, skip_forced=True)

    def play(
        self,
        numbers: npt.NDArray[np.int64],
        seating: npt.NDArray[np.int64],
        *,
        seed: int,
        whole_match: bool = False,
        start: str = "decision",
        progress: Progress | None = None,
    ) -> Results:
        """Plays games to their end.

        Args:
            numbers: `[M]`, the deal of the suite, or the match, that each game plays.
            seating: `[M, 4]`, index of the agent in each seat.
            seed: seed of the deals, 0 .. 2**64 - 1.
            whole_match: play matches; else deals.
            start: ``"decision"``, or ``"play"`` for deals that start at PLAY.
            progress: is told of finished games.

        Raises:
            AgentActionError: if an agent chooses an action that is not legal, unless forgiven.
        """
        if start not in ("decision", "play"):
            raise ValueError(f"start: found {start!r}; allowed: decision, play")
        if whole_match and start == "play":
            raise ValueError("start: 'play' goes with deals only; a match starts at its decisions")
        num_deals = self.num_deals if whole_match else 1
        results = Results.empty(len(numbers), num_deals, len(self.agents))
        for first in range(0, len(numbers), self.chunk):
            part = slice(first, min(first + self.chunk, len(numbers)))
            games = allocate(part.stop - first)
            rows = np.arange(len(games), dtype=np.int64)
            skip = np.full(len(games), start == "play", dtype=np.uint8)
            own = np.ascontiguousarray(numbers[part], dtype=np.int64)
            seats = np.ascontiguousarray(seating[part], dtype=np.int64)
            games.control[:] = self._control[seats]
            batch.begin_episodes(
                games, self.tables, rows, np.uint64(seed), own, int(whole_match), skip, 0
            )
            for k in range(results.scores.shape[1]):
                if k:
                    next_deals(games, self.tables, rows)
                # Every deal is an episode of its own, to see how it went; views do not show it.
                games.end[:] = games.position + 1
                before = games.totals.astype(np.int64)
                faulty = np.zeros((len(games), len(self.agents)), dtype=np.bool_)
                history = self._play_deal(games, seats, faulty)
                _read_deal(games, before, results, part, k)
                if faulty.any():
                    results.faults[part, k] = faulty
                    results.scores[part, k] = lose_deals(results.scores[part, k], seats, faulty)
                if self._record and k == 0:
                    results.actions.extend([actions] for actions in history)
                elif self._record:
                    for game, actions in enumerate(history):
                        results.actions[first + game].append(actions)
            if progress is not None:
                progress(len(games))
        return results

    def _play_deal(
        self, games: Games, seats: npt.NDArray[np.int64], faulty: npt.NDArray[np.bool_]
    ) -> list[list[Move]]:
        """Plays all games until they are over; returns their actions where they are kept.

        Args:
            games: `[M]`.
            seats: `[M, 4]`, index of the agent in each seat.
            faulty: `[M, A]`, set where an agent is at fault.
        """
        buffer = np.zeros(len(games), dtype=np.int64)
        views = allocate(len(games))
        history: list[list[Move]] = [[] for _ in range(len(games))] if self._with_history else []
        while True:
            if self._compiled is not None:
                self._compiled.advance(games, self.tables, 0, len(games))
            rows = buffer[: batch.rows_in_play(games, buffer)].copy()
            if not rows.size:
                return history
            actor = games.deal.actor[rows].astype(np.int64)
            actions = np.zeros(len(rows), dtype=np.int64)
            forced = num_legal(games, rows) == 1
            for only in np.flatnonzero(forced):
                actions[only] = legal_ids(games.deal.legal[rows[only]])[0]
            who = np.where(forced, -1, seats[rows, actor])
            if faulty.any():
                lost = (who >= 0) & faulty[rows, who]
                for only in np.flatnonzero(lost):
                    actions[only] = legal_ids(games.deal.legal[rows[only]])[0]
                who = np.where(lost, -1, who)
            for index in range(len(self.agents)):
                mine = np.flatnonzero(who == index)
                if mine.size:
                    before = time.perf_counter()
                    actions[mine] = self._ask(index, games, rows[mine], views, history, faulty)
                    self.thinking_s[index] += time.perf_counter() - before
                    self.asked[index] += mine.size
            self._check(games, rows, actions, who, faulty)
            if self._with_history:
                for row, game in enumerate(rows):
                    history[game].append((int(actor[row]), int(actions[row])))
            batch.step_rows(games, self.tables, rows, actions, int(not self._with_history))

    def _ask(
        self,
        index: int,
        games: Games,
        rows: npt.NDArray[np.int64],
        views: Games,
        history: list[list[Move]],
        faulty: npt.NDArray[np.bool_],
    ) -> npt.NDArray[np.int64]:
        """Returns an agent's actions for the seats to act of the games in ``rows``.

        Where it is at fault, the lowest legal action. A batched agent that fails is at fault in all
        these games, another in one.
        """
        actions = np.zeros(len(rows), dtype=np.int64)
        agent = self.agents[index]
        size = len(rows) if self._batched[index] else 1
        for first in range(0, len(rows), size):
            part = slice(first, first + size)
            try:
                actions[part] = ask(
                    agent,
                    [self.variant],
                    games,
                    self.tables,
                    rows[part],
                    self._agent_seed,
                    views,
                    history,
                )
                continue
            except AgentFault as fault:
                kind, text = fault.kind, str(fault)
            except Exception as error:
                if not self._forgiving:
                    raise
                kind, text = CRASH, f"{type(error).__name__}: {error}"
            for row in range(len(rows))[part]:
                self._blame(index, int(rows[row]), kind, text, faulty)
                actions[row] = legal_ids(games.deal.legal[rows[row]])[0]
        return actions

    def _blame(
        self, index: int, game: int, kind: str, text: str, faulty: npt.NDArray[np.bool_]
    ) -> None:
        """Notes a fault."""
        faulty[game, index] = True
        self.fault_kinds[index][kind] += 1
        self.last_fault[index] = f"{kind}: {' '.join(text.split())}"

    def _check(
        self,
        games: Games,
        rows: npt.NDArray[np.int64],
        actions: npt.NDArray[np.int64],
        who: npt.NDArray[np.int64],
        faulty: npt.NDArray[np.bool_],
    ) -> None:
        """Raises where an action is not legal, or forgives it and plays the lowest legal one."""
        while (wrong := batch.first_illegal(games.deal.legal[rows], actions)) >= 0:
            try:
                check_answers(self.agents, [self.variant], games, rows, actions, who)
            except AgentActionError as error:
                if not self._forgiving:
                    raise
                self._blame(int(who[wrong]), int(rows[wrong]), ILLEGAL, str(error), faulty)
            actions[wrong] = legal_ids(games.deal.legal[rows[wrong]])[0]


def _read_deal(
    games: Games, before: npt.NDArray[np.int64], results: Results, part: slice, k: int
) -> None:
    """Writes what came of deal ``k`` of the games of a chunk."""
    deal = games.deal
    results.scores[part, k] = games.totals - before
    results.contract[part, k] = deal.contract
    results.trump[part, k] = deal.trump
    results.unplayed[part, k] = deal.unplayed != 0
    results.declarer[part, k] = np.where(deal.unplayed != 0, deal.chooser, deal.declarer)
    results.position[part, k] = games.position


def label(variant: Variant, contract: int, trump: int, unplayed: bool = False) -> str:
    """Returns the name of what was drawn or declared in a deal.

    A contract's id; ``no_trump`` for a trump contract without trump; ``unplayed``.
    """
    if unplayed:
        return "unplayed"
    if contract < 0:
        return "unknown"
    found = variant.spec.contract[contract]
    if found.trump == "declared" and trump == NO_TRUMP:
        return "no_trump"
    return found.id


def stratum_of_position(variant: Variant, position: int) -> str:
    """Returns the stratum that the schedule fixes for a deal: its contract, or how it is found.

    ``auction``, ``order`` or ``choice``; free choice in a phase ORDER is ordering too.
    """
    deal = variant.spec.deals[position]
    if deal.decision == "none":
        return deal.contract
    choose = variant.spec.phases.choose
    if deal.decision == "choose" and choose is not None:
        return "order" if choose.phase == "ORDER" else "choice"
    return deal.decision


def is_decided(tables: Tables, position: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Tells which deals of the schedule have their contract found by the players."""
    return tables[0].deal_decision[position] != DECISION_NONE  # type: ignore[no-any-return]
