"""What more actors bring: the parts of an iteration measured, and a model made of them.

An iteration plays its parts, each by one actor, and then learns in one process::

    seconds(N) = ceil(parts / N) * part_s + parts * transfer_s + learn_s

``transfer_s`` is what the learner's process does for each part: hand it out, receive and join it.
These are processor time, which a busy machine disturbs least; iterations with actors are measured
by the wall's clock beside them. The model knows nothing of the network between machines, nor of
cores that slow each other down.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from agents.neural.network import ActorCritic
from king_env.rules.catalogue import load_variant
from train.advantage import gae
from train.cluster import LOCAL, Cluster, Setup, cluster
from train.config import TableConfig, TrainConfig, load_config
from train.labels import LabelStore, labels_of
from train.metrics import Sums
from train.player import Part, Player, cut, join
from train.ppo import ppo_update
from train.rollout import (
    DECISIONS_PER_DEAL,
    Decisions,
    Strata,
    columns_in_use,
    make_opponent,
)
from train.teach import teach_update
from train.workers import Channel

ACTORS: Final = (1, 2)
"""Numbers of actors that are measured."""
MODELLED: Final = (1, 2, 4, 8, 16, 32, 64)
"""Numbers of actors that the model is asked about."""
ITERATION: Final = 7
"""Number of the iteration that is played."""


@dataclass(frozen=True)
class Scaling:
    """An iteration, measured; seconds are medians, of processor time but for ``actors``.

    Attributes:
        decisions: decisions learned from.
        parts: number of parts.
        part_s: seconds of a part, played in one process.
        transfer_s: seconds of a part that another process plays, in the learner's.
        learn_s: seconds of learning.
        start_s: seconds until Ray and its actors had started.
        weights_bytes: bytes of the weights, sent to each machine once an iteration.
        decisions_bytes: bytes of the decisions, all parts together.
        actors: seconds of an iteration by number of actors, by the wall's clock.
    """

    decisions: int
    parts: int
    part_s: float
    transfer_s: float
    learn_s: float
    start_s: float
    weights_bytes: int
    decisions_bytes: int
    actors: dict[int, float]

    @property
    def alone_s(self) -> float:
        """Seconds of an iteration in one process, without Ray."""
        return self.parts * self.part_s + self.learn_s

    def seconds(self, actors: int) -> float:
        """Returns the modelled seconds of an iteration."""
        rounds = math.ceil(self.parts / actors)
        return rounds * self.part_s + self.parts * self.transfer_s + self.learn_s


def measure(against: str, decisions: int, shards: int, width: int, runs: int) -> Scaling:
    """Measures an iteration of PPO on ``international``, here and with actors on this machine.

    Args:
        against: who sits in the other seats: ``rule`` as the shipped config has it, another agent
            at every table.
        decisions: about how many are learned from.
        shards: number of parts.
        width: of the network.
        runs: measurements, after one that does not count.

    Raises:
        RunError: if Ray is not installed.
    """
    config = load_config("international")
    tables = config.tables
    if against != tables.against:
        tables = TableConfig(rule_share=1.0, rule_until=1.0, against=against)
    network = dataclasses.replace(config.network, width=width)
    config = dataclasses.replace(config, shards=shards, tables=tables, network=network)
    variants = [load_variant(name, config.options) for name in config.variants]
    opponent = make_opponent(tables.against)
    columns = columns_in_use(variants, config.draw, network.canonical_suits)
    learner = _fresh(config, columns)
    player = Player(config, variants, opponent, learner)
    deals = decisions / DECISIONS_PER_DEAL
    mixed = tables.rule_share
    games = (round(deals * (1 - mixed)), round(4 * deals * mixed), 0)
    parts = cut(ITERATION, games, shards, cloning=False)
    setup = Setup(config, variants, opponent, columns)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        play_s, _, made = _median(lambda: join([player.play(part) for part in parts]), runs)
        learn_s, learn_wall_s, _ = _median(lambda: _learn(config, columns, made), runs)
        actors = {}
        for number in ACTORS:
            start = time.perf_counter()
            with cluster(LOCAL, number, setup, lambda line: None) as players:
                start_s = time.perf_counter() - start
                own_s, wall_s, _ = _median(lambda: _collect(players, learner, parts), runs)
            actors[number] = wall_s + learn_wall_s
    finally:
        torch.set_num_threads(threads)
    return Scaling(
        decisions=len(made),
        parts=shards,
        part_s=play_s / shards,
        transfer_s=own_s / shards,
        learn_s=learn_s,
        start_s=start_s,
        weights_bytes=sum(tensor.nbytes for tensor in learner.tensors().values()),
        decisions_bytes=sum(array.nbytes for array in vars(made).values()),
        actors=actors,
    )


def _collect(players: Cluster, learner: ActorCritic, parts: Sequence[Part]) -> Decisions:
    return join(players.play(learner.tensors(), parts))


def _learn(config: TrainConfig, columns: npt.NDArray[np.int64], made: Decisions) -> None:
    """Learns from decisions as the first iteration of a run does, from fresh weights."""
    network = _fresh(config, columns)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.ppo.lr, eps=1e-5, fused=True)
    advantage = gae(made.reward, made.value, made.following, config.ppo.gae_lambda)
    names = Strata([load_variant(name, config.options) for name in config.variants]).names
    rng = np.random.default_rng(1)
    channel, sums = Channel(), Sums(names)
    ppo_update(network, optimizer, made, advantage, config.ppo, config.ppo.entropy, channel, rng,
               sums)  # fmt: skip
    if config.teach.share:
        store = LabelStore(Path(), 0, keep=1)  # writes nothing
        store.add(0, labels_of(made))
        teach_update(network, optimizer, store, config.teach, channel, rng, sums)


def _fresh(config: TrainConfig, columns: npt.NDArray[np.int64]) -> ActorCritic:
    """Returns a network as a run begins with one."""
    return ActorCritic(columns, config.network.width, 1, config.network.rule_prior)


def _median(run: Callable[[], Any], runs: int) -> tuple[float, float, Any]:
    """Returns seconds of a call, the median of several after one that does not count.

    Returns:
        processor time of this process, time by the wall's clock, and what a call gave.
    """
    result = run()
    own, wall = [], []
    for _ in range(runs):
        start, start_own = time.perf_counter(), time.process_time()
        result = run()
        own.append(time.process_time() - start_own)
        wall.append(time.perf_counter() - start)
    return statistics.median(own), statistics.median(wall), result
