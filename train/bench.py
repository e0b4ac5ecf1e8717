"""``king bench``: speed on this machine, each row the median of several runs after a warm-up.

A decision is one applied action, forced ones included. Rates are those of one core, where a row
does not say otherwise. Compare rows of one run only: a busy machine slows all of them down.
``peer`` names what a row was measured against in the same run, ``ratio`` is value divided by the
peer's. Other libraries are in ``train.peers``.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numba
import numpy as np
from rich.table import Table

from agents.kernels.doors import advance
from agents.registry import make_agent, policy_id
from agents.search.solver import Solver
from king_env.engine import batch, sample, step
from king_env.engine.layout import GAME_DTYPE, Games, Tables, allocate
from king_env.engine.observe import NUM_FEATURES
from king_env.envs.batch import BatchEnv
from king_env.game import Game
from king_env.policy import Policy
from king_env.rules.catalogue import load_variant
from king_env.rules.tables import make_tables
from train.kernels import random_actions
from train.peers import PEERS, Peer

GROUPS: Final = ("engine", "env", "act", "search", "train", "ray")
RUNS: Final = 7
START_RUNS: Final = 3
NUM_ENVS: Final = 4096
SMALL_ENVS, MANY_ENVS = 256, 65_536  # the same for little and for much memory
LEARNED: Final = 240_000  # decisions of the training run, some six iterations
NUM_SEATS: Final = 1024  # learners of the Gymnasium environment
NUM_VIEWS: Final = 256  # positions that agents are asked about
RAY_AGAINST, RAY_DECISIONS, RAY_RUNS = "rule", 40_000, 3
RAY_SEARCH, RAY_SEARCH_DECISIONS, RAY_SEARCH_RUNS = "pimc:20", 4_000, 1
RAY_PARTS = (8, 64)  # against opponents that search the larger number only
WIDTH: Final = 256  # of the network, as in the shipped configs
SEARCHES: Final = (
    "pimc:20", "pimc:20,weigh=1", "pimc:80", "pimc:20,endgame=5", "ismcts:1000",
    "net+pimc:20",
)  # fmt: skip
SOLVED: Final = {"solve": (4, 5, 6, 7), "solve_maxn": (4, 5, 6)}  # cards of each seat
ENDGAMES: Final = 50  # of each size

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


def measure(group: str, progress: Progress | None = None, *, peers: bool = False) -> dict[str, Any]:
    """Measures a group of rows.

    Args:
        group: one of ``GROUPS``.
        progress: is told (rows measured, rows in all).
        peers: measure other libraries that are installed in the same run, each as a row of its own.

    Returns:
        ``{machine, rows: [{name, value, unit, spread, peer, ratio}]}``; spread is (largest -
        smallest) / median of the runs, None where one value is all there is.

    Raises:
        ValueError: if there is no such group.
    """
    if group not in GROUPS:
        raise ValueError(f"group: found {group!r}; allowed: {', '.join(GROUPS)}")
    if peers and group not in PEERS:
        raise ValueError(f"peers: group {group} has none; allowed: {', '.join(PEERS)}")
    load_before = os.getloadavg()[0]
    measures = _MEASURES[group]
    others = PEERS[group] if peers else ()
    rows: list[Row] = []
    for number, make_rows in enumerate(measures):
        if progress is not None:
            progress(number, len(measures) + len(others))
        rows += make_rows()
    ours = {row["name"]: row for row in rows}
    for number, peer in enumerate(others):
        if progress is not None:
            progress(len(measures) + number, len(measures) + len(others))
        rows.append(_beside(ours[peer.against], peer))
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
            "" if row["spread"] is None else f"{row['spread']:.0%}",
            row["peer"] or "",
            "" if row["ratio"] is None else f"{row['ratio']:.2f}",
        )
    return table


def _row(
    name: str, values: list[float], unit: str, peer: str | None = None, ratio: float | None = None
) -> Row:
    """Returns a row from the values of several runs."""
    value = statistics.median(values)
    spread = None
    if len(values) > 1:
        spread = (max(values) - min(values)) / value if value else 0.0
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "spread": spread,
        "peer": peer,
        "ratio": ratio,
    }


def _beside(ours: Row, peer: Peer) -> Row:
    """Returns one of our rows beside a peer; its spread is the larger of the two."""
    row = {**ours, "name": f"{ours['name']} : {peer.key}", "ratio": None}
    run = peer.load()
    if run is None:
        return row | {"peer": f"{peer.distribution}{peer.extra}: not installed"}
    other = _row("", _rates(run, peer.clock), "")
    spreads = [each["spread"] for each in (ours, other) if each["spread"] is not None]
    return row | {
        "spread": max(spreads, default=None),
        "peer": f"{peer.label()}: {other['value']:,.0f} decisions/s",
        "ratio": ours["value"] / other["value"],
    }


def _rates(run: Callable[[], int], clock: Callable[[], float] = time.thread_time) -> list[float]:
    """Returns decisions a second of one core, of several runs after one that does not count.

    The clock is the thread's own processor time: the same as the wall's on an idle machine, and
    less disturbed on a busy one.
    """
    run()
    rates = []
    for _ in range(RUNS):
        start = clock()
        decisions = run()
        rates.append(decisions / (clock() - start))
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


def _steps(obs: str, num_envs: int) -> list[float]:
    """Returns the rates of the batched environment stepped at random, drawing included."""
    num_steps = max(4, 60 * NUM_ENVS // num_envs)
    env = BatchEnv(
        "international",
        num_envs,
        episode="match",
        seed=1,
        skip_forced=False,
        obs=obs,
        autoreset="same_step",
    )
    actions = np.zeros(num_envs, dtype=np.int64)
    env.reset()

    count = 0

    def run() -> int:
        nonlocal count
        for _ in range(num_steps):
            random_actions(env.mask_words, SEED, count, actions)
            env.step(actions)
            count += 1
        return num_steps * num_envs

    return _rates(run)


def _step_packed() -> list[Row]:
    return [_row("step_packed", _steps("packed", NUM_ENVS), "decisions/s")]


def _step_dense() -> list[Row]:
    return [_row("step_dense", _steps("dense", NUM_ENVS), "decisions/s")]


def _step_sizes() -> list[Row]:
    """The step of few and of very many games; the peer is the few."""
    rows = []
    for obs in ("packed", "dense"):
        few, many = _steps(obs, SMALL_ENVS), _steps(obs, MANY_ENVS)
        rate = statistics.median(few)
        peer = f"{SMALL_ENVS} games, {rate:,.0f} decisions/s"
        ratio = statistics.median(many) / rate
        rows.append(_row(f"step_{obs}_{MANY_ENVS}", many, "decisions/s", peer, ratio))
    return rows


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


def _vector_env() -> list[Row]:
    """Learners' decisions of the batched Gymnasium environment, opponents' moves inside the time.

    Float observations, learners that play at random, three rule-based opponents each.
    """
    from king_env.envs.vector import KingSeatVectorEnv

    env = KingSeatVectorEnv(NUM_SEATS, "international", opponents=make_agent("rule"), copy=False)
    actions = np.zeros(NUM_SEATS, dtype=np.int64)
    ended = np.zeros(NUM_SEATS, dtype=np.bool_)
    env.reset(seed=1)
    count = 0

    def run() -> int:
        nonlocal count, ended
        decisions = 0
        for _ in range(60):
            decisions += NUM_SEATS - int(ended.sum())  # a game that has ended takes no action
            random_actions(env.mask_words(), SEED, count, actions)
            _, _, ended, _, _ = env.step(actions)
            count += 1
        return decisions

    return [_row("vector_env", _rates(run), "decisions/s")]


# ---------------------------------------------------------------- act


class _Positions:
    """Positions of random matches in which there is something to decide."""

    def __init__(self) -> None:
        rng = random.Random(1)
        self.games: list[Game] = []
        match = 0
        while len(self.games) < NUM_VIEWS:
            game = Game("international", seed=1, match=match)
            while not game.is_over and len(self.games) < NUM_VIEWS:
                legal = game.legal_actions
                if len(legal) > 1 and rng.random() < 0.1:
                    self.games.append(game.clone())
                game.push(rng.choice(legal))
            match += 1

    def act(self, agent: Policy | None) -> Callable[[], int]:
        """Returns what asks an agent about each position; None only looks."""
        rng = np.random.default_rng(1)

        def run() -> int:
            for game in self.games:
                view = game.view(game.actor or 0)
                if agent is not None:
                    agent.act(view, rng)
            return len(self.games)

        return run

    def act_batch(self, agent: Any) -> Callable[[], int]:
        """Returns what asks an agent about many positions at once."""
        views = allocate(16 * len(self.games))
        for row in range(len(views)):
            game = self.games[row % len(self.games)]
            views[row] = game.view(game.actor or 0).record[0]
        keys = np.arange(len(views), dtype=np.uint64)
        tables = self.games[0].tables

        def run() -> int:
            agent.act_batch(views, tables, keys)
            return len(views)

        return run


def _random_network() -> Policy:
    """Returns a network with random weights, of the shipped configs' width."""
    from agents.neural.policy import NeuralPolicy
    from agents.neural.weights import Weights, tensor_shapes

    rng = np.random.default_rng(1)
    columns = np.arange(NUM_FEATURES, dtype=np.int64)
    tensors = {
        name: rng.normal(0, 0.05, shape).astype(np.float32)
        for name, shape in tensor_shapes(NUM_FEATURES, WIDTH).items()
    }
    return NeuralPolicy(Weights(columns, True, 1.0, tensors, {}))


def _act() -> list[Row]:
    """Microseconds for one decision, the view of the position included except in batches."""
    positions = _Positions()
    agents = {name: make_agent(name) for name in ("random", "greedy", "rule")}
    network = _random_network()
    runs = {"view": positions.act(None)}
    runs |= {f"act_{name}": positions.act(agent) for name, agent in agents.items()}
    runs["act_network"] = positions.act(network)
    runs["act_batch_rule"] = positions.act_batch(agents["rule"])
    runs["act_batch_network"] = positions.act_batch(network)
    return [
        _row(name, [1e6 / rate for rate in _rates(run)], "us/decision")
        for name, run in runs.items()
    ]


# ---------------------------------------------------------------- search


def _worlds() -> list[Row]:
    """Deals of the hidden cards drawn from views in the middle of deals."""
    positions = _Positions()
    worlds = allocate(1024)
    keys = np.arange(len(worlds), dtype=np.uint64)
    views = [game.view(game.actor or 0) for game in positions.games if game.phase == "PLAY"]

    def run() -> int:
        for view in views:
            sample.sample_worlds(
                view.record, view.tables, 0, view.seat, worlds, 0, len(worlds), keys
            )
        return len(views) * len(worlds)

    return [_row("worlds", _rates(run), "worlds/s")]


def _search() -> list[Row]:
    """Milliseconds for one decision of random matches that is not forced."""
    positions = _Positions()
    rows = []
    for name in SEARCHES:
        rates = _rates(positions.act(make_agent(name)))
        label = re.sub(r"\W", "_", name)
        rows.append(_row(label, [1e3 / rate for rate in rates], "ms/decision"))
    return rows


def _solve() -> list[Row]:
    """Milliseconds for the exact value of an endgame of random matches, cards of each seat given.

    A median of endgames that differ: some are decided at once, some take a hundred times as long.
    """
    rows = []
    for name, maxn in (("solve", False), ("solve_maxn", True)):
        solver = Solver(maxn)
        for cards in SOLVED[name]:
            times = []
            for game in _endgames(cards):
                seats = np.array([game.actor or 0], dtype=np.int64)
                start = time.thread_time()
                solver.solve(game.games, game.tables, seats)
                times.append(1e3 * (time.thread_time() - start))
            rows.append(_row(f"{name}_{cards}_cards", times[1:], "ms/endgame"))
    return rows


def _endgames(cards: int) -> Iterator[Game]:
    """Gives random deals as they stand before the trick in which each hand holds ``cards``."""
    found = match = 0
    while found <= ENDGAMES:
        game = Game("international", seed=2, match=match, episode="deal", start="play")
        rng = random.Random(match)
        deal = game.games.deal
        while not game.is_over and int(deal.trick_number[0]) < 13 - cards:
            game.push(rng.choice(game.legal_actions))
        if not game.is_over:
            found += 1
            yield game
        match += 1


# ---------------------------------------------------------------- training


def _learned() -> list[Row]:
    """Decisions learned from in a second, play and learning together.

    ``learned`` and ``learned_2`` are PPO alone, in one process and in two, ``learned_2_family``
    that with the inputs of the whole family; ``learned_2_taught`` is the shipped config in two,
    whose labels take time too.
    """
    return [
        _learning("learned", "international", workers=1, taught=False),
        _learning("learned_2", "international", workers=2, taught=False),
        _learning("learned_2_family", "family", workers=2, taught=False),
        _learning("learned_2_taught", "international", workers=2, taught=True),
    ]


def _learning(label: str, name: str, workers: int, taught: bool) -> Row:
    """Returns how many decisions a short run learns from in a second of the wall's clock."""
    from train.config import load_config
    from train.loop import run_training

    config = load_config(name)
    config = dataclasses.replace(
        config,
        workers=workers,
        total_decisions=LEARNED,
        network=dataclasses.replace(config.network, width=WIDTH),
        clone=dataclasses.replace(config.clone, decisions=0, most=0),
        teach=config.teach if taught else dataclasses.replace(config.teach, share=0.0),
        output=dataclasses.replace(config.output, eval_every_decisions=0),
    )
    with tempfile.TemporaryDirectory() as folder:
        run = run_training(config, Path(folder) / "run", progress=False)
        lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    rates = [entry["decisions_per_s"] for entry in map(json.loads, lines) if "iteration" in entry]
    return _row(label, rates[1:] or rates, "decisions/s")  # the first one warms up


def _ray() -> list[Row]:
    """An iteration in parts of two sizes, against the shipped config's opponents."""
    return _scaling("ray", RAY_AGAINST, RAY_DECISIONS, RAY_PARTS, RAY_RUNS)


def _ray_search() -> list[Row]:
    """An iteration against opponents that search: what takes long is what actors share."""
    return _scaling("ray_search", RAY_SEARCH, RAY_SEARCH_DECISIONS, RAY_PARTS[-1:], RAY_SEARCH_RUNS)


def _scaling(
    name: str, against: str, decisions: int, sizes: tuple[int, ...], runs: int
) -> list[Row]:
    """Returns the parts of an iteration, its rates with actors here, and the model's with more."""
    from train.scaling import MODELLED, measure

    rows: list[Row] = []
    for parts in sizes:
        found = measure(against, decisions, parts, WIDTH, runs)
        if parts == sizes[0]:
            alone = found.decisions / found.alone_s
            peer = f"one process, {alone:,.0f} decisions/s"
            rows.append(_row(f"{name}_start", [found.start_s], "s"))
            rows.append(_row(f"{name}_weights", [found.weights_bytes / 1e6], "MB/iteration"))
            rows.append(_row(f"{name}_decisions", [found.decisions_bytes / 1e6], "MB/iteration"))
            rows.append(_row(f"{name}_learn", [1e3 * found.learn_s], "ms/iteration"))
        label = f"{name}_{parts}_parts"
        rows.append(_row(f"{label}_play", [1e3 * found.part_s], "ms/part"))
        rows.append(_row(f"{label}_transfer", [1e3 * found.transfer_s], "ms/part"))
        for actors, seconds in found.actors.items():
            rate = found.decisions / seconds
            rows.append(_row(f"{label}_{actors}_actors", [rate], "decisions/s", peer, rate / alone))
        for actors in MODELLED:
            if actors <= parts:
                rate = found.decisions / found.seconds(actors)
                rows.append(
                    _row(f"{label}_model_{actors}", [rate], "decisions/s", peer, rate / alone)
                )
    return rows


_MEASURES: Final[dict[str, tuple[Callable[[], list[Row]], ...]]] = {
    "engine": (
        _random_match,
        _step_packed,
        _step_dense,
        _step_sizes,
        _rule_match,
        _threads_2,
        _starts,
        _state_bytes,
    ),
    "env": (_raw_env, _vector_env),
    "act": (_act,),
    "search": (_worlds, _search, _solve),
    "train": (_learned,),
    "ray": (_ray, _ray_search),
}
