"""``king bench``: speed on this machine, each row the median of several runs after a warm-up.

A decision is one applied action, forced ones included. Rates are those of one core. Compare rows
of one run only: a busy machine slows all of them down. ``peer`` names what a row was measured
against in the same run, ``ratio`` is value divided by the peer's.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import numba
import numpy as np
from rich.table import Table

from agents.kernels.doors import advance
from agents.registry import policy_id
from king_env.engine import batch, step
from king_env.engine.layout import GAME_DTYPE, Games, Tables, allocate
from king_env.envs.batch import BatchEnv
from king_env.rules.catalogue import load_variant
from king_env.rules.tables import make_tables
from train.kernels import random_actions

GROUPS: Final = ("engine", "env")
RUNS: Final = 7
START_RUNS: Final = 3
NUM_ENVS: Final = 4096

SEED: Final[Any] = np.uint64(2)  # of random actions

Row = dict[str, Any]
Progress = Callable[[int, int], object]

FIRST_STEP: Final = """
from king_env.envs.batch import BatchEnv
from king_env.view import legal_ids
env = BatchEnv("international", 1)
first = env.reset(seed=1)
env.step([legal_ids(first.mask[0])[0]])
"""
"""A program that makes one step; its whole time is the start-up row."""


def measure(group: str, progress: Progress | None = None) -> dict[str, Any]:
    """Measures a group of rows.

    Args:
        group: ``"engine"`` or ``"env"``.
        progress: is told (rows measured, rows in all).

    Returns:
        ``{machine, rows: [{name, value, unit, spread, peer, ratio}]}``; spread is (largest -
        smallest) / median of the runs.

    Raises:
        ValueError: if there is no such group.
    """
    if group not in GROUPS:
        raise ValueError(f"group: found {group!r}; allowed: {', '.join(GROUPS)}")
    load_before = os.getloadavg()[0]
    measures = _ENGINE if group == "engine" else _ENV
    rows: list[Row] = []
    for number, make_rows in enumerate(measures):
        if progress is not None:
            progress(number, len(measures))
        rows += make_rows()
    return {"machine": machine(load_before), "rows": rows}


def machine(load: float) -> dict[str, Any]:
    """Returns facts of the machine: ``load`` is its average load before the measurement."""
    cpu = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [
                line.partition(":")[2].strip() for line in file if line.startswith("model name")
            ]
        cpu = names[0] if names else cpu
    except OSError:
        pass
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "load": round(load, 2),
    }


def to_text(result: dict[str, Any]) -> Table:
    """Returns a result as a table for the terminal."""
    facts = ", ".join(f"{name} {value}" for name, value in result["machine"].items())
    table = Table(title="speed", caption=facts, title_justify="left")
    for column in ("row", "value", "unit", "spread", "peer", "ratio"):
        table.add_column(
            column, justify="right" if column in ("value", "spread", "ratio") else "left"
        )
    for row in result["rows"]:
        value = row["value"]
        table.add_row(
            row["name"],
            f"{value:,.0f}" if value >= 100 else f"{value:.2f}",
            row["unit"],
            f"{row['spread']:.0%}",
            row["peer"] or "",
            "" if row["ratio"] is None else f"{row['ratio']:.2f}",
        )
    return table


def _row(
    name: str, values: list[float], unit: str, peer: str | None = None, ratio: float | None = None
) -> Row:
    """Returns a row from the values of several runs."""
    value = statistics.median(values)
    spread = (max(values) - min(values)) / value if value else 0.0
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "spread": spread,
        "peer": peer,
        "ratio": ratio,
    }


def _rates(run: Callable[[], int]) -> list[float]:
    """Returns decisions a second of one core, of several runs after one that does not count.

    The clock is the thread's own processor time: the same as the wall's on an idle machine, and
    less disturbed on a busy one.
    """
    run()
    rates = []
    for _ in range(RUNS):
        start = time.thread_time()
        decisions = run()
        rates.append(decisions / (time.thread_time() - start))
    return rates


# ---------------------------------------------------------------- engine


class _Matches:
    """Whole matches of ``international``, dealing included."""

    def __init__(self, num_games: int) -> None:
        self.tables: Tables = make_tables([load_variant("international").spec])
        self.games: Games = allocate(num_games)
        self.rows = np.arange(num_games, dtype=np.int64)
        self.skip = np.zeros(num_games, dtype=np.uint8)

    def begin(self) -> None:
        """Deals."""
        batch.begin_episodes(
            self.games, self.tables, self.rows, np.uint64(1), self.rows, 1, self.skip, 0
        )

    def play_random(self) -> int:
        """Plays all matches at random; returns the decisions."""
        self.begin()
        return int(step.play_random(self.games, self.tables, 0, len(self.games), SEED))


def _random_match() -> list[Row]:
    return [_row("random_match", _rates(_Matches(512).play_random), "decisions/s")]


def _steps(obs: str, num_steps: int) -> list[float]:
    """Returns the rates of the batched environment stepped at random, drawing included."""
    env = BatchEnv(
        "international",
        NUM_ENVS,
        episode="match",
        seed=1,
        skip_forced=False,
        obs=obs,
        autoreset="same_step",
    )
    actions = np.zeros(NUM_ENVS, dtype=np.int64)
    env.reset()

    count = 0

    def run() -> int:
        nonlocal count
        for _ in range(num_steps):
            random_actions(env.mask_words, SEED, count, actions)
            env.step(actions)
            count += 1
        return num_steps * NUM_ENVS

    return _rates(run)


def _step_packed() -> list[Row]:
    return [_row("step_packed", _steps("packed", 60), "decisions/s")]


def _step_dense() -> list[Row]:
    return [_row("step_dense", _steps("dense", 60), "decisions/s")]


def _rule_match() -> list[Row]:
    matches = _Matches(256)
    matches.games.control[:] = policy_id("rule")

    def run() -> int:
        matches.begin()
        return int(advance(matches.games, matches.tables, 0, len(matches.games), SEED, 1))

    return [_row("rule_match", _rates(run), "decisions/s")]


def _threads_2() -> list[Row]:
    """Two threads with games of their own; the peer is one thread in the same run."""
    one, two = _Matches(512), [_Matches(512), _Matches(512)]
    decisions = one.play_random()
    for matches in two:
        matches.play_random()
    alone, ratios = [], []
    for _ in range(RUNS):
        start = time.perf_counter()
        one.play_random()
        alone.append(time.perf_counter() - start)
        threads = [threading.Thread(target=matches.play_random) for matches in two]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ratios.append(2 * alone[-1] / (time.perf_counter() - start))
    rate = decisions / statistics.median(alone)
    peer = f"one thread, {rate:,.0f} decisions/s"
    return [_row("threads_2", ratios, "times one thread", peer, statistics.median(ratios))]


def _first_step_s(cache: str) -> float:
    """Returns the seconds that a fresh process needs up to the end of its first step."""
    environment = {**os.environ, "KING_CACHE_DIR": cache}
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", FIRST_STEP], env=environment, check=True, capture_output=True
    )
    return time.perf_counter() - start


def _starts() -> list[Row]:
    """Start-up with an empty cache, and again with what the last of these runs has compiled."""
    cold = []
    for number in range(START_RUNS):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(_first_step_s(cache))
            if number == START_RUNS - 1:
                warm = [_first_step_s(cache) for _ in range(RUNS)]
    return [_row("cold_start", cold, "s"), _row("warm_start", warm, "s")]


def _state_bytes() -> list[Row]:
    return [_row("state_bytes", [float(GAME_DTYPE.itemsize)], "bytes")]


# ---------------------------------------------------------------- env


def _raw_env() -> list[Row]:
    """PettingZoo's loop: the mask of the agent selected is read, a legal action played."""
    from king_env import king_v0

    env = king_v0.raw_env()
    rng = np.random.default_rng(0)
    draws = rng.random(4096).tolist()

    def run() -> int:
        decisions = 0
        for match in range(4):
            env.reset(seed=match)
            while True:
                agent = env.agent_selection
                if env.terminations[agent]:
                    break
                legal = np.flatnonzero(env.infos[agent]["action_mask"])
                env.step(int(legal[int(draws[decisions & 4095] * len(legal))]))
                decisions += 1
        return decisions

    return [_row("raw_env", _rates(run), "decisions/s")]


_ENGINE: Final[tuple[Callable[[], list[Row]], ...]] = (
    _random_match,
    _step_packed,
    _step_dense,
    _rule_match,
    _threads_2,
    _starts,
    _state_bytes,
)
_ENV: Final[tuple[Callable[[], list[Row]], ...]] = (_raw_env,)
