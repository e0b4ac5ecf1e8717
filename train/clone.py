"""Cloning: the network learns to play as the rule-based agent does, and what that scores.

The decisions are always fresh, so what the network scores on them before it learns from them is an
honest test.

Axes: D decisions of a rollout, N decisions of a minibatch, A actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agents.neural.network import ActorCritic, legal_tensor, masked_log_softmax, tensor_of
from king_env.engine.observe import BIT_BLOCKS
from train.config import CloneConfig
from train.metrics import Sums
from train.ppo import step
from train.rollout import Decisions
from train.workers import Channel

MAX_GRAD_NORM: Final = 1.0
MEASURE_EVERY: Final = 4
"""Of the steps that learn, one in so many is measured."""
NEAR: Final = 1.0
"""Units of opinion by which the agent may prefer its own choice to near agreement."""


def clone_update(
    network: ActorCritic,
    optimizer: torch.optim.Optimizer | None,
    batch: Decisions,
    returns: npt.NDArray[np.float32],
    config: CloneConfig,
    channel: Channel,
    sums: Sums,
) -> None:
    """Learns once from decisions of the rule-based agent, or only measures the agreement.

    Args:
        network: learns in place.
        optimizer: its optimizer, learning rate set; None: measure only.
        batch: this process's decisions, labelled.
        returns: `[D]` float32, what followed, in point scales over the table mean.
        config: settings.
        channel: the other processes.
        sums: metrics, added to.
    """
    device = network.device
    count = channel.total(np.array([float(len(batch))]))[0]
    num_steps = max(1, round(count / config.batch))
    # Decisions of one ply lie together in a rollout; a stride mixes the plies.
    order = np.concatenate([np.arange(start, len(batch), num_steps) for start in range(num_steps)])
    for number, pick in enumerate(np.array_split(order, num_steps)):
        with torch.set_grad_enabled(optimizer is not None):
            points_NA = tensor_of(batch.points[pick], device)
            label_N = tensor_of(batch.action[pick], device)
            legal_NA = legal_tensor(batch.mask[pick], device)
            logits_NA, value_N = network(batch.words[pick], batch.numbers[pick], batch.points[pick])
            log_prob_NA = masked_log_softmax(logits_NA, legal_NA)
            target_NA = lesson(points_NA, legal_NA, label_N, config.temperature)
            miss_N = -(target_NA * log_prob_NA).sum(1)
            value_loss_N = 0.5 * (value_N - tensor_of(returns[pick], device)).square()
            loss_N = miss_N + config.value_coef * value_loss_N
        if optimizer is not None:
            loss = loss_N.sum() * (channel.size * num_steps / count)
            step(network, optimizer, loss, channel, MAX_GRAD_NORM)
            if number % MEASURE_EVERY:
                continue
        chosen_N = log_prob_NA.detach().argmax(1)
        regret_N = -points_NA.gather(1, chosen_N[:, None])[:, 0]
        groups = {"kind": batch.kind[pick], "stratum": batch.stratum[pick]}
        sums.add("clone_loss", miss_N, groups)
        sums.add("value_loss", value_loss_N, groups)
        sums.add("agreement", chosen_N == label_N, groups)
        sums.add("near_agreement", regret_N <= NEAR, groups)
        sums.add("regret", regret_N, groups)
        _count_ruffs(batch, pick, chosen_N.cpu().numpy(), sums)


def lesson(points_NA: Tensor, legal_NA: Tensor, label_N: Tensor, temperature: float) -> Tensor:
    """Returns the distribution that stands for the agent's opinion, `[N, A]`.

    Probabilities stand in proportion to ``exp(points / temperature)``; with temperature 0 the
    agent's choice gets all.
    """
    if temperature == 0:
        return torch.zeros_like(points_NA).scatter_(1, label_N[:, None], 1.0)
    return masked_log_softmax(points_NA / temperature, legal_NA).exp()


def _count_ruffs(
    batch: Decisions,
    pick: npt.NDArray[np.int64],
    chosen: npt.NDArray[np.int64],
    sums: Sums,
) -> None:
    """Counts how often the network ruffs where the rule-based agent wins the trick with a trump."""
    can = batch.ruff[pick]
    # Where a winning ruff is possible, it is the one that sets its bit among the cards that beat
    # the trick; a card of another suit never does.
    label_wins = can & _beats(batch, pick, batch.action[pick])
    found = label_wins & _beats(batch, pick, chosen)
    sums.add("ruffs_found", torch.from_numpy(found[label_wins]))


def _beats(
    batch: Decisions, pick: npt.NDArray[np.int64], action: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Tells whether actions are cards that beat the trick so far, by the observation's own bits."""
    place = BIT_BLOCKS["beats"].offset + np.minimum(action, 51)
    words = batch.words[pick, place >> 6]
    bit = (words >> (place & 63).astype(np.uint64)) & np.uint64(1)
    beats: npt.NDArray[np.bool_] = (action < 52) & (bit == 1)
    return beats


def passes_gate(means: Mapping[str, float], config: CloneConfig) -> bool:
    """Tells whether the agreement measured is what the gate asks for.

    A kind of decision that did not occur passes.
    """
    bounds = {
        "near_agreement/lead": config.gate_lead,
        "near_agreement/follow": config.gate_follow,
        "near_agreement/discard": config.gate_discard,
        "ruffs_found": config.gate_ruff,
    }
    return all(means.get(name, 1.0) >= bound for name, bound in bounds.items())
