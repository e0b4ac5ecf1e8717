"""Every agent against every other within a time budget, resumable.

A **cell** is a candidate against copies of another agent, on duplicate deals as in ``duplicate``:
one seat against three copies, every seat in turn. With A against B and B against A, every pair
meets one against three and three against one. In a partnership a cell is one pair of agents, both
seats of a team against both of the other. Agents that both move fast also play whole matches.

All cells play the same list of units. Unit j of deals is deal ``deal_number(j)`` of the suite: the
deals of a schedule in an order that jumps through it, so that a part of a schedule is no worse a
sample than it must be. Each schedule is complete before the next begins.

The budget goes to cells so that half-widths come out about equal (``budget``): a pilot of every
cell, then rounds that each give out a third of what is left. What was played lies in one state file
that is written whole, at most ``SAVE_EVERY_S`` and one portion old; a cell's units are played in
order and counted once. An agent's error, or an action that is not legal, is a fault and loses it
the deal, see ``match``; it never stops the leaderboard. Time spent in earlier sittings counts: a
budget is that of the whole leaderboard.

Axes: D units, R seatings, K deals of a unit, Q quantities.
"""

from __future__ import annotations

import json
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from king_env.files import replacing
from king_env.policy import BatchPolicy, Policy
from king_env.rules.catalogue import Variant
from train.evaluation.budget import LeaderboardError, allot, shrunk_variances
from train.evaluation.duplicate import match_figures, own_margins, seatings
from train.evaluation.identity import engine_identity, variant_identity
from train.evaluation.match import Results, TableRunner, stratum_of_position
from train.evaluation.seeds import BENCHMARK, VARIANTS, benchmark_seed
from train.evaluation.tally import Tally

PROTOCOL: Final = 1
"""Version of what a cell's figures mean; raised with every change of units or their order."""
FORMAT: Final = 1
"""Version of the state file."""

STATE: Final = "state.json"
SAVE_EVERY_S: Final = 5.0
PORTION_S: Final = 10.0
"""Expected time of what is played in one piece, where a single unit takes no longer."""
PILOT_S: Final = 0.5
PILOT_UNITS: Final = 4
"""Units that a pilot plays at least; it ends after ``PILOT_S`` or a schedule of deals."""
FAST_MS: Final = 0.1
"""Agents below this time a move play whole matches too."""
SPEED_DEALS: Final = 256
"""Deals on which the speed of agents that decide in many games at once is measured."""
SPEED_S: Final = 1.0
"""Seconds that this may take, as far as one deal tells."""
RATED_UNITS: Final = 512
"""Deals of each cell that ratings are made from."""

DEALS: Final = "deals"
MATCHES: Final = "matches"

MARGIN, FIRST, RANK = range(3)
"""The first quantities of a unit: points a deal over the table mean, share of first places (ties
split), and rank (ties share). Strata follow, in cells of deals."""


class Cell(NamedTuple):
    """Who plays whom, and what.

    Attributes:
        candidate: name of the agent in one seat, or of the first team.
        against: name of the agent in the other seats.
        kind: ``"deals"`` or ``"matches"``.
    """

    candidate: str
    against: str
    kind: str


@dataclass
class Record:
    """What has been played in a cell.

    Attributes:
        tally: sums of the quantities.
        seconds: time it took.
        unit_s: time of a unit when it was last played.
        faults: deals lost by a fault, of the candidate and of the other agent, all seatings.
        signs: ``+``, ``-`` or ``0`` for each of the first units: the sign of the margin.
    """

    tally: Tally
    seconds: float = 0.0
    unit_s: float = 0.0
    faults: list[int] = field(default_factory=lambda: [0, 0])
    signs: str = ""


@dataclass(frozen=True)
class Portion:
    """What came of units that were played in one piece.

    Attributes:
        values: `[D, Q]` float64.
        faults: as in ``Record``.
        asked: decisions of the two agents.
        thinking_s: seconds they took.
        reasons: for the two agents, faults by kind.
        last_fault: for the two agents, what was wrong last, or "".
    """

    values: npt.NDArray[np.float64]
    faults: tuple[int, int] = (0, 0)
    asked: tuple[int, int] = (0, 0)
    thinking_s: tuple[float, float] = (0.0, 0.0)
    reasons: tuple[dict[str, int], dict[str, int]] = field(default_factory=lambda: ({}, {}))
    last_fault: tuple[str, str] = ("", "")


@dataclass
class AgentRecord:
    """What is known of an agent.

    Attributes:
        identity: see ``agent_identity``.
        asked: decisions that its speed was measured on.
        thinking_s: seconds they took.
        reasons: deals lost by kind of fault.
        last_fault: what was wrong last, or "".
        measured: its speed was measured at a table of its own; else play tells.
        fast: it plays whole matches; None until that is settled, once.
    """

    identity: str
    asked: int = 0
    thinking_s: float = 0.0
    reasons: dict[str, int] = field(default_factory=dict)
    last_fault: str = ""
    measured: bool = False
    fast: bool | None = None

    @property
    def ms_per_move(self) -> float:
        """Milliseconds a decision; NaN where none was measured."""
        return 1000 * self.thinking_s / self.asked if self.asked else math.nan


class Table(Protocol):
    """Plays the units of cells; ``AgentTable`` is the real one."""

    schedule: int
    quantities: tuple[str, ...]

    def play(self, cell: Cell, first: int, count: int) -> Portion:
        """Plays units ``first .. first + count - 1`` of a cell."""

    def speed(self, agent: str) -> tuple[int, float] | None:
        """Measures an agent: decisions and seconds; None where play itself is to tell."""


# ---------------------------------------------------------------- units


def deal_number(unit: int | npt.NDArray[np.int64], schedule: int) -> Any:
    """Returns the deal of the suite that is unit ``unit``: a permutation within each schedule.

    Steps of about 0.618 schedules, a whole number without common divisor with its length.
    """
    stride = max(1, round(schedule * (math.sqrt(5) - 1) / 2))
    while math.gcd(stride, schedule) != 1:
        stride += 1
    return unit // schedule * schedule + unit * stride % schedule


class AgentTable:
    """Plays cells with real agents.

    Args:
        variant: the rules.
        players: agents by name.
        seed: seed of the deals, and of what agents draw.
    """

    def __init__(self, variant: Variant, players: dict[str, Policy], seed: int) -> None:
        self.variant = variant
        self.players = players
        self.seed = seed
        self.schedule = len(variant.spec.deals)
        self.strata = [stratum_of_position(variant, k) for k in range(self.schedule)]
        self.quantities = ("margin", "first", "rank", *dict.fromkeys(self.strata))
        self._seating = seatings(variant.spec.partnership)

    def play(self, cell: Cell, first: int, count: int) -> Portion:
        """Plays units of a cell; see ``Table``."""
        runner = TableRunner(
            self.variant,
            [self.players[cell.against], self.players[cell.candidate]],
            agent_seed=self.seed,
            forgiving=True,
        )
        units = np.arange(first, first + count, dtype=np.int64)
        whole_match = cell.kind == MATCHES
        numbers = units if whole_match else deal_number(units, self.schedule)
        num_seatings = len(self._seating)
        results = runner.play(
            np.repeat(numbers, num_seatings),
            np.tile(self._seating, (count, 1)),
            seed=self.seed,
            whole_match=whole_match,
        )
        faults = results.faults.sum(axis=(0, 1))
        return Portion(
            self._values(results, whole_match),
            (int(faults[1]), int(faults[0])),
            (int(runner.asked[1]), int(runner.asked[0])),
            (float(runner.thinking_s[1]), float(runner.thinking_s[0])),
            (dict(runner.fault_kinds[1]), dict(runner.fault_kinds[0])),
            (runner.last_fault[1], runner.last_fault[0]),
        )

    def _values(self, results: Results, whole_match: bool) -> npt.NDArray[np.float64]:
        """Returns the quantities `[D, Q]` of the units."""
        num_seatings = len(self._seating)
        scores = results.scores.reshape(-1, num_seatings, results.scores.shape[1], 4)
        margins = own_margins(scores, self._seating).mean(axis=(1, 2))
        first, rank = match_figures(scores.sum(axis=2), self._seating)
        values = np.full((len(scores), len(self.quantities)), np.nan)
        values[:, MARGIN] = margins
        values[:, FIRST] = first.mean(axis=1)
        values[:, RANK] = rank.mean(axis=1)
        if not whole_match:
            names = np.array(self.strata)[results.position[::num_seatings, 0]]
            for column, name in enumerate(self.quantities[3:], 3):
                values[names == name, column] = margins[names == name]
        return values

    def speed(self, agent: str) -> tuple[int, float] | None:
        """Times an agent that decides in many games at once at a table of its own; see ``Table``.

        A compiled agent is timed with the engine it runs in.
        """
        player = self.players[agent]
        if not isinstance(player, BatchPolicy):
            return None
        numbers = np.arange(SPEED_DEALS, dtype=np.int64)
        seats = np.zeros((SPEED_DEALS, 4), dtype=np.int64)
        try:
            if not getattr(player, "policy_id", 0):
                own = TableRunner(self.variant, [player], agent_seed=self.seed)
                own.play(numbers[:1], seats[:1], seed=self.seed)  # compiles
                own.asked[:], own.thinking_s[:] = 0, 0
                own.play(numbers[:1], seats[:1], seed=self.seed)
                more = min(SPEED_DEALS, int(SPEED_S / max(1e-9, own.thinking_s[0])))
                if more > 1:
                    own.asked[:], own.thinking_s[:] = 0, 0
                    own.play(numbers[:more], seats[:more], seed=self.seed)
                return int(own.asked[0]), float(own.thinking_s[0])
            few = min(SPEED_DEALS, 2 * self.schedule)
            slow = TableRunner(self.variant, [player], agent_seed=self.seed, record=True)
            slow.play(numbers[:few], seats[:few], seed=self.seed)  # counts the decisions
            fast = TableRunner(self.variant, [player], agent_seed=self.seed)
            fast.play(numbers[:1], seats[:1], seed=self.seed)  # compiles
            before = time.perf_counter()
            fast.play(numbers, seats, seed=self.seed)
            seconds = time.perf_counter() - before
            return round(float(slow.asked[0]) / few * SPEED_DEALS), seconds
        except Exception:  # a fault, which play will count
            return None


# ---------------------------------------------------------------- the board


@dataclass(frozen=True)
class Setting:
    """What must stay the same for figures to belong together.

    Attributes:
        variant: the rules.
        seed_list: name of the seed list.
    """

    variant: Variant
    seed_list: str

    @property
    def seed(self) -> int:
        """Seed of the deals."""
        return benchmark_seed(self.seed_list)

    @property
    def benchmark(self) -> str | None:
        """Version of the benchmark, or None where the variant is not the benchmark's."""
        own = self.variant.shipped and self.variant.name in VARIANTS and not self.variant.options
        return BENCHMARK if own else None

    def as_data(self) -> dict[str, Any]:
        """Returns what a state file is checked against."""
        return {
            "variant": self.variant.name,
            "options": dict(self.variant.options),
            "variant data": variant_identity(self.variant),
            "engine": engine_identity(),
            "seed list": self.seed_list,
            "seed": self.seed,
            "protocol version": PROTOCOL,
            "benchmark": self.benchmark,
        }


class Board:
    """All that has been played, and how it is kept.

    Args:
        setting: what is played.
        agents: names and identities of the agents, two and more.

    Attributes:
        records: by cell, also of agents that take no part this time.
        agents: by name, likewise.
        names: the agents that take part.
        spent_s: time spent so far.
    """

    def __init__(self, setting: Setting, agents: dict[str, str]) -> None:
        if len(agents) < 2:
            raise LeaderboardError(f"agents: found {len(agents)}; allowed: two and more")
        self.setting = setting
        self.names = tuple(agents)
        self.agents = {name: AgentRecord(identity) for name, identity in agents.items()}
        self.records: dict[Cell, Record] = {}
        self.spent_s = 0.0

    def cells(self) -> list[Cell]:
        """Returns the cells of the agents that take part: deals, then matches of the fast."""
        pairs = [(a, b) for a in self.names for b in self.names if a != b]
        if self.setting.variant.spec.partnership:
            order = {name: index for index, name in enumerate(self.agents)}
            pairs = [(a, b) for a, b in pairs if order[a] < order[b]]
        fast = {name for name in self.names if self.agents[name].fast}
        matches = [Cell(a, b, MATCHES) for a, b in pairs if a in fast and b in fast]
        return [Cell(a, b, DEALS) for a, b in pairs] + matches

    def record(self, cell: Cell, table: Table) -> Record:
        """Returns a cell's record, a new one where nothing was played."""
        if cell not in self.records:
            block = table.schedule if cell.kind == DEALS else 1
            self.records[cell] = Record(Tally(len(table.quantities), block))
        return self.records[cell]

    def add(self, cell: Cell, table: Table, portion: Portion, seconds: float) -> None:
        """Counts what was played of a cell's next units."""
        record = self.record(cell, table)
        margins = portion.values[: max(0, RATED_UNITS - len(record.signs)), MARGIN]
        record.signs += "".join("+-0"[0 if m > 0 else 1 if m < 0 else 2] for m in margins)
        record.tally.add(portion.values)
        record.seconds += seconds
        record.unit_s = seconds / len(portion.values)
        for side, name in enumerate((cell.candidate, cell.against)):
            record.faults[side] += portion.faults[side]
            agent = self.agents[name]
            if not agent.measured:
                agent.asked += portion.asked[side]
                agent.thinking_s += portion.thinking_s[side]
            for kind, count in portion.reasons[side].items():
                agent.reasons[kind] = agent.reasons.get(kind, 0) + count
            agent.last_fault = portion.last_fault[side] or agent.last_fault

    def units(self, cell: Cell) -> int:
        """Returns how many units of a cell have been played."""
        return self.records[cell].tally.units if cell in self.records else 0

    @property
    def num_deals(self) -> int:
        """Deals of all cells of the agents that take part, each counted once for all seatings."""
        schedule = len(self.setting.variant.spec.deals)
        return sum(
            self.units(cell) * (schedule if cell.kind == MATCHES else 1) for cell in self.cells()
        )

    # -------------------------------------------------- the state file

    def to_data(self) -> dict[str, Any]:
        """Returns the board as plain data."""
        return {
            "format": FORMAT,
            "setting": self.setting.as_data(),
            "spent_s": self.spent_s,
            "agents": {name: vars(agent) for name, agent in self.agents.items()},
            "cells": [
                {**cell._asdict(), **vars(record), "tally": record.tally.to_data()}
                for cell, record in self.records.items()
            ],
        }

    def save(self, folder: Path) -> None:
        """Writes the state file, whole or not at all.

        Raises:
            OSError: if it cannot be written.
        """
        with replacing(folder / STATE) as file:
            file.write((json.dumps(self.to_data()) + "\n").encode())

    @classmethod
    def load(cls, folder: Path, setting: Setting, agents: dict[str, str]) -> Board:
        """Returns the board of a folder, or a new one where it holds none.

        Agents may be added, or left out, whose figures then stay in the file.

        Raises:
            LeaderboardError: if what the folder holds was played in another setting, or by another
                agent of the same name.
        """
        board = cls(setting, agents)
        file = folder / STATE
        if not file.is_file():
            return board
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            form = data["format"]
        except (OSError, ValueError, KeyError, TypeError):
            raise LeaderboardError(f"{file}: not the state of a leaderboard") from None
        if form != FORMAT:
            raise LeaderboardError(f"{file}: format: found {form!r}; allowed: {FORMAT}")
        for name, value in setting.as_data().items():
            found = data["setting"].get(name)
            if found != value:
                raise LeaderboardError(
                    f"{file}: {name}: it was played with {found!r}, this is {value!r}; "
                    "choose another folder, or what it was played with"
                )
        known = {name: AgentRecord(**entry) for name, entry in data["agents"].items()}
        for name, identity in agents.items():
            if name in known and known[name].identity != identity:
                raise LeaderboardError(
                    f"{file}: agent {name!r} is another one now (it was {known[name].identity}, "
                    f"this is {identity}); choose another folder"
                )
        board.agents = known | {n: a for n, a in board.agents.items() if n not in known}
        board.spent_s = float(data["spent_s"])
        for entry in data["cells"]:
            cell = Cell(entry.pop("candidate"), entry.pop("against"), entry.pop("kind"))
            board.records[cell] = Record(**{**entry, "tally": Tally.from_data(entry["tally"])})
        return board


# ---------------------------------------------------------------- playing


Tell = Callable[[Board, Cell, float], object]
"""Is told the board, the cell that comes next and the seconds left."""


class Scheduler:
    """Plays a board within its budget.

    Args:
        board: what has been played.
        table: plays units.
        budget_s: time of the whole leaderboard, earlier sittings included.
        folder: where the state is kept; None: nowhere.
        tell: is told what comes next.
        clock: seconds that pass.
    """

    def __init__(
        self,
        board: Board,
        table: Table,
        budget_s: float,
        folder: Path | None = None,
        tell: Tell | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.board = board
        self.table = table
        self.budget_s = budget_s
        self.folder = folder
        self.tell = tell
        self.clock = clock
        self._saved = clock()
        self._started = clock()
        self._spent_before = board.spent_s
        self._stopping = False
        self._playing = False

    @property
    def left_s(self) -> float:
        """Seconds left of the budget."""
        return self.budget_s - self.board.spent_s

    def run(self) -> bool:
        """Plays until the budget is spent; returns False where Ctrl-C ended it before."""
        with self._interruptible():
            try:
                self._measure_speeds()
                if self._pilot():
                    while self._round():
                        pass
            except KeyboardInterrupt:
                self._stopping = True
            self._save(now=True)
        return not self._stopping

    def _spend(self) -> None:
        self.board.spent_s = self._spent_before + self.clock() - self._started

    def _save(self, now: bool = False) -> None:
        if self.folder is not None and (now or self.clock() - self._saved >= SAVE_EVERY_S):
            self.board.save(self.folder)
            self._saved = self.clock()

    def _measure_speeds(self) -> None:
        for name in self.board.names:
            agent = self.board.agents[name]
            if agent.fast is not None or self._stopping or self.left_s <= 0:
                continue
            self._playing = True
            speed = self.table.speed(name)
            self._playing = False
            if speed is not None:
                agent.asked, agent.thinking_s = speed
                agent.measured = True
        # Kernels may just have been compiled, which is nobody's playing time.
        self._started = self.clock()

    def _pilot(self) -> bool:
        """Plays a few units of every cell; False where time or patience ended."""
        for _ in (DEALS, MATCHES):  # which agents play matches is known after the first
            for cell in self.board.cells():
                bound = self.table.schedule if cell.kind == DEALS else 2 * PILOT_UNITS
                size = 1
                while self.board.units(cell) < max(bound, PILOT_UNITS):
                    record = self.board.record(cell, self.table)
                    units = record.tally.units
                    if units >= PILOT_UNITS and record.seconds >= PILOT_S:
                        break
                    if not self._play(cell, min(size, max(bound, PILOT_UNITS) - units)):
                        return False
                    size *= 2
            for name in self.board.names:
                agent = self.board.agents[name]
                if agent.fast is None:
                    agent.fast = agent.ms_per_move < FAST_MS
        return True

    def _round(self) -> bool:
        """Gives out a part of the time that is left; False at the end."""
        board = self.board
        cells = board.cells()
        records = [board.record(cell, self.table) for cell in cells]
        played = [record.tally.units for record in records]
        variances = shrunk_variances([record.tally.variance(MARGIN) for record in records], played)
        unit_s = [max(record.unit_s, 1e-7) for record in records]
        left = self.left_s
        widths = [v / n for v, n in zip(variances, played, strict=True)]
        order = sorted(range(len(cells)), key=lambda index: -widths[index])
        plan = allot(variances, unit_s, played, min(left, max(left / 3, PORTION_S)))
        if not any(plan):  # units are long: the widest cell that can still play one
            fits = [index for index in order if unit_s[index] <= left and variances[index] > 0]
            if not fits:
                return False
            plan[fits[0]] = 1
        for index in order:
            units = plan[index]
            while units > 0:
                size = self._portion(cells[index], units, records[index].unit_s)
                if not self._play(cells[index], size):
                    return False
                units -= size
        return True

    def _portion(self, cell: Cell, units: int, unit_s: float) -> int:
        """Returns how many of the units to play in one piece: whole schedules where they fit."""
        seconds = min(PORTION_S, self.left_s)
        size = min(units, max(1, int(seconds / max(unit_s, 1e-7))))
        if cell.kind == DEALS:
            begun = self.board.units(cell) % self.table.schedule
            whole = (size + begun) // self.table.schedule * self.table.schedule - begun
            size = whole if whole > 0 else size
        return size

    def _play(self, cell: Cell, size: int) -> bool:
        """Plays the next units of a cell; False where there was no time left."""
        if self._stopping or self.left_s <= 0:
            return False
        if self.tell is not None:
            self.tell(self.board, cell, self.left_s)
        before = self.clock()
        self._playing = True
        portion = self.table.play(cell, self.board.units(cell), size)
        self._playing = False
        self.board.add(cell, self.table, portion, self.clock() - before)
        self._spend()
        self._save()
        return True

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Lets Ctrl-C give up the units in play, and nothing else."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, frame: Any) -> None:
            self._stopping = True
            if self._playing:  # elsewhere the board is in the making: it is soon looked at
                self._playing = False
                raise KeyboardInterrupt

        old = signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, old)
