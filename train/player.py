"""Plays the deals of an iteration, part by part: the same decisions, whichever process plays them.

A part is drawn from its number, not from who plays it. What a part gives is a function of the run's
config, the weights and the part, so a run does not depend on where its parts are played.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from agents.neural import kernels
from agents.neural.network import ActorCritic
from king_env.policy import BatchPolicy
from king_env.rules.catalogue import Variant
from train.checkpoint import RunError
from train.config import TrainConfig
from train.rollout import GAMES_PER_PART, Decisions, Opponent, Strata, draw_deals, play
from train.teach import Teacher


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the deals of an iteration.

    Attributes:
        iteration: number of the iteration.
        number: number of the part in the iteration, over all processes that learn.
        num_self: games with four learners.
        num_rule: games with one learner.
        num_snapshot: games with one learner among copies of an earlier self.
        cloning: the rule-based agent plays, and its choices are to be learned.
        snapshots: the earlier selves there are, by the iteration they were taken at.
    """

    iteration: int
    number: int
    num_self: int
    num_rule: int
    num_snapshot: int
    cloning: bool
    snapshots: tuple[int, ...] = ()


def cut(
    iteration: int,
    deals: tuple[int, int, int],
    shards: int,
    cloning: bool,
    snapshots: tuple[int, ...] = (),
    length: float = 1.0,
    rank: int = 0,
    size: int = 1,
) -> list[Part]:
    """Returns the parts of an iteration that one of ``size`` processes plays, or has played.

    Args:
        iteration: number of the iteration.
        deals: deals of all processes, with four learners, with one, with one among earlier selves.
        shards: parts of a process.
        cloning: see ``Part``.
        snapshots: see ``Part``.
        length: deals of a game.
        rank: number of the process.
        size: number of the processes.

    Raises:
        RunError: if a part would have too many games.
    """
    each = size * shards * length
    num_self, num_rule, num_snapshot = (math.ceil(number / each) for number in deals)
    games = num_self + num_rule + num_snapshot
    if games > GAMES_PER_PART:
        raise RunError(
            f"ppo.decisions_per_iteration: {games:,} games in a part; allowed: {GAMES_PER_PART:,}; "
            "ask for fewer decisions or for more shards"
        )
    return [
        Part(iteration, rank * shards + shard, num_self, num_rule, num_snapshot, cloning, snapshots)
        for shard in range(shards)
    ]


class Player:
    """Plays parts.

    Args:
        config: the run.
        variants: its variants.
        opponent: who sits in the other seats of mixed tables.
        network: the policy; plays with the weights that it has at the time.
    """

    def __init__(
        self,
        config: TrainConfig,
        variants: Sequence[Variant],
        opponent: Opponent,
        network: ActorCritic,
    ) -> None:
        self.config = config
        self.variants = variants
        self.opponent = opponent
        self.network = network
        self.strata = Strata(variants)
        self.teacher = Teacher(config.teach) if config.teach.share else None

    def play(self, part: Part, snapshots: Sequence[BatchPolicy] = ()) -> Decisions:
        """Plays a part to the end of its deals; ``snapshots`` are those that it names."""
        config = self.config
        deals = draw_deals(
            config.draw,
            self.variants,
            config.seed,
            part.iteration,
            part.number,
            part.num_self,
            part.num_rule,
            self.opponent,
            part.num_snapshot,
            len(snapshots),
        )
        agents = () if self.opponent.agent is None else (self.opponent.agent,)
        return play(
            self.variants,
            config.draw,
            self.strata,
            deals,
            config.seed,
            config.network.canonical_suits,
            None if part.cloning else self._act,
            config.clone.random_moves if part.cloning else 0.0,
            (*agents, *snapshots),
            config.network.privileged,
            None if part.cloning else self.teacher,
        )

    def _act(self, words: Any, numbers: Any, points: Any, mask: Any, keys: Any) -> Any:
        """Draws actions from the policy."""
        with torch.no_grad():
            logits_NA, values_N = self.network(words, numbers, points)
        actions = np.empty(len(words), dtype=np.int64)
        log_probs = np.empty(len(words), dtype=np.float32)
        kernels.choose(logits_NA.cpu().numpy(), mask, keys, 1, actions, log_probs)
        return actions, log_probs, values_N.cpu().numpy()


def join(made: Sequence[Decisions]) -> Decisions:
    """Returns the decisions of several parts as one rollout, in the order given."""
    summed = ("results", "firsts")
    columns = {
        field.name: np.concatenate([getattr(part, field.name) for part in made])
        for field in dataclasses.fields(Decisions)
        if field.name not in ("following", "labelled", "game", *summed)
    }
    decisions = np.cumsum([0] + [len(part) for part in made], dtype=np.int32)
    games = np.cumsum([0] + [len(part.score) for part in made], dtype=np.int32)
    following = [
        np.where(part.following < 0, part.following, part.following + start)
        for part, start in zip(made, decisions, strict=False)
    ]
    return Decisions(
        **columns,
        following=np.concatenate(following),
        labelled=np.concatenate(
            [part.labelled + start for part, start in zip(made, decisions, strict=False)]
        ),
        game=np.concatenate([part.game + start for part, start in zip(made, games, strict=False)]),
        **{name: np.sum([getattr(part, name) for part in made], axis=0) for name in summed},
    )
