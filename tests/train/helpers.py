"""Small parts that the tests of training share."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from agents.neural import kernels
from agents.neural.network import ActorCritic
from king_env.rules.catalogue import Variant, load_variant
from train.config import (
    CloneConfig,
    DrawConfig,
    NetworkConfig,
    OutputConfig,
    PPOConfig,
    TrainConfig,
)
from train.rollout import Decisions, Strata, columns_in_use, draw_deals, play

TINY = TrainConfig(
    workers=1,
    seed=3,
    total_decisions=9_000,
    network=NetworkConfig(width=32),
    clone=CloneConfig(decisions=3_000, most=3_000, batch=128),
    ppo=PPOConfig(decisions_per_iteration=3_000, minibatch=512),
    output=OutputConfig(checkpoint_every_s=0.0, eval_every_decisions=0),
)
"""A run of seconds."""

DRAW = DrawConfig()


def tiny(**changes: Any) -> TrainConfig:
    return dataclasses.replace(TINY, **changes)


def variants_of(*names: str) -> list[Variant]:
    return [load_variant(name) for name in names]


def small_network(variants: Sequence[Variant], canonical: bool = True) -> ActorCritic:
    network = ActorCritic(columns_in_use(variants, DrawConfig(), canonical), 32, seed=1)
    with torch.no_grad():  # a policy that prefers some actions
        network.policy_weight.mul_(100.0)
    return network


def sampled(
    network: ActorCritic,
    variants: Sequence[Variant],
    num_self: int,
    num_rule: int = 0,
    iteration: int = 0,
    canonical: bool = True,
    draw: DrawConfig = DRAW,
    privileged: bool = False,
) -> Decisions:
    """Plays with the policy of a network."""

    def act(words: Any, numbers: Any, mask: Any, keys: Any) -> Any:
        with torch.no_grad():
            logits, values = network(words, numbers)
        actions = np.empty(len(words), dtype=np.int64)
        log_probs = np.empty(len(words), dtype=np.float32)
        kernels.choose(logits.numpy(), mask, keys, 1, actions, log_probs)
        return actions, log_probs, values.numpy()

    deals = draw_deals(draw, variants, 5, iteration, 0, num_self, num_rule)
    strata = Strata(variants)
    return play(variants, draw, strata, deals, 5, canonical, act, privileged=privileged)
