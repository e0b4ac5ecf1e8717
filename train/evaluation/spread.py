"""Duplicate deals spread over processes: the same results with any number of them.

What is played in step depends on the agents alone, and every game on its number alone, so pieces
can be played anywhere and put together in order.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.registry import make_agent
from king_env.rules.catalogue import Variant
from train.evaluation.match import Results, TableRunner

_ONE_THREAD: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Environment variables that keep matrix products of a process on one core."""


@dataclass(frozen=True)
class Work:
    """What every process plays.

    Attributes:
        variant: the rules.
        agents: names of the agents.
        agent_seed: seed of what agents draw.
        seating: `[R, 4]`, index of the agent in each seat, for each game of a unit.
        seed: seed of the deals.
        whole_match: units are matches, else deals.
        start: see ``TableRunner.play``.
    """

    variant: Variant
    agents: tuple[str, ...]
    agent_seed: int
    seating: npt.NDArray[np.int64]
    seed: int
    whole_match: bool
    start: str


class _Player:
    """A runner and what it plays."""

    def __init__(self, work: Work) -> None:
        self.work = work
        players = [make_agent(name) for name in work.agents]
        self.runner = TableRunner(work.variant, players, agent_seed=work.agent_seed)

    def play(self, first: int, count: int) -> Results:
        """Returns the results of units ``first .. first + count - 1``."""
        work = self.work
        units = np.arange(first, first + count, dtype=np.int64)
        return self.runner.play(
            np.repeat(units, len(work.seating)),
            np.tile(work.seating, (count, 1)),
            seed=work.seed,
            whole_match=work.whole_match,
            start=work.start,
        )


_player: _Player | None = None


def _begin(work: Work) -> None:
    """Runs once in each process."""
    global _player
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    _player = _Player(work)


def _play(first: int, count: int) -> Results:
    assert _player is not None
    return _player.play(first, count)


def play_spread(
    work: Work, num_units: int, workers: int, progress: Callable[[int], object] | None = None
) -> Results:
    """Plays units 0 .. num_units - 1 in ``workers`` processes; see ``TableRunner.play``.

    Args:
        work: what is played.
        num_units: number of units.
        workers: number of processes.
        progress: is told of finished games.

    Raises:
        ValueError: if a process ends, or an agent chooses an action that is not legal.
    """
    player = _Player(work)
    player.play(0, 1)  # kernels are compiled once, before there are processes
    size = max(1, player.runner.chunk // len(work.seating))
    pieces = [(first, min(size, num_units - first)) for first in range(0, num_units, size)]
    made: dict[int, Results] = {}
    context = multiprocessing.get_context("spawn")
    with _one_thread():
        pool = ProcessPoolExecutor(min(workers, len(pieces)), context, _begin, (work,))
        try:
            futures = {pool.submit(_play, *piece): piece for piece in pieces}
            for future in as_completed(futures):
                first, count = futures[future]
                made[first] = future.result()
                if progress is not None:
                    progress(count * len(work.seating))
        except BrokenProcessPool:
            raise ValueError("workers: a process has ended before its work was done") from None
        finally:
            pool.shutdown(cancel_futures=True)
    parts = [made[first] for first, _ in pieces]
    names = [field.name for field in fields(Results) if field.name != "actions"]
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in names
    }
    return Results(**joined)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Has processes that start meanwhile use one thread each."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
