"""Proximal policy optimisation with masked actions.

Axes: D decisions of a rollout, N decisions of a minibatch, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from agents.neural.network import ActorCritic, legal_tensor, masked_log_softmax, tensor_of
from train.config import PPOConfig
from train.magnet import divergence
from train.metrics import Sums
from train.rollout import Decisions
from train.workers import Channel


@dataclass(frozen=True)
class Losses:
    """What a minibatch gives, `[N]` each: losses, entropy, ratio, divergence from the magnet."""

    policy: Tensor
    value: Tensor
    entropy: Tensor
    log_ratio: Tensor
    magnet: Tensor


def ppo_losses(
    network: ActorCritic,
    batch: Decisions,
    pick: npt.NDArray[np.int64],
    advantage: npt.NDArray[np.float32],
    returns: npt.NDArray[np.float32],
    clip: float,
    magnet: ActorCritic | None = None,
) -> Losses:
    """Returns the losses of the decisions ``pick`` of a rollout; without a magnet its part is 0.

    ``L = -min(r A, clip(r, 1 - eps, 1 + eps) A)`` with ``r = pi(a|s) / pi_old(a|s)``, and the
    entropy over legal actions only. Source: Schulman et al. 2017, "Proximal policy optimization
    algorithms", equation 7.
    """
    device = network.device
    logits_NA, value_N = network(batch.words[pick], batch.numbers[pick], batch.points[pick])
    legal_NA = legal_tensor(batch.mask[pick], device)
    log_prob_NA = masked_log_softmax(logits_NA, legal_NA)
    magnet_N = torch.zeros(len(pick), device=device)
    if magnet is not None:
        with torch.no_grad():
            asked_NA, _ = magnet(batch.words[pick], batch.numbers[pick], batch.points[pick])
            magnet_NA = masked_log_softmax(asked_NA, legal_NA)
        magnet_N = divergence(log_prob_NA, magnet_NA)
    action_N = tensor_of(batch.action[pick], device)
    log_prob_N = log_prob_NA.gather(1, action_N[:, None])[:, 0]
    log_ratio_N = log_prob_N - tensor_of(batch.log_prob[pick], device)
    ratio_N = log_ratio_N.exp()
    advantage_N = tensor_of(advantage[pick], device)
    clipped_N = ratio_N.clamp(1 - clip, 1 + clip) * advantage_N
    # Illegal actions have log-probability -1e9; exp(-80) * -1e9 is 0 to any digit that counts, and
    # exp is many times slower where its result is 0.
    entropy_N = -(log_prob_NA.clamp_min(-80).exp() * log_prob_NA).sum(1)
    return Losses(
        policy=-torch.minimum(ratio_N * advantage_N, clipped_N),
        value=0.5 * (value_N - tensor_of(returns[pick], device)).square(),
        entropy=entropy_N,
        log_ratio=log_ratio_N,
        magnet=magnet_N,
    )


def ppo_update(
    network: ActorCritic,
    optimizer: torch.optim.Optimizer,
    batch: Decisions,
    advantage: npt.NDArray[np.float32],
    config: PPOConfig,
    entropy_coef: float,
    channel: Channel,
    rng: np.random.Generator,
    sums: Sums,
    magnet: ActorCritic | None = None,
    magnet_coef: float = 0.0,
) -> None:
    """Learns from a rollout: ``epochs`` passes in minibatches over all processes.

    Args:
        network: learns in place.
        optimizer: its optimizer, learning rate set.
        batch: this process's decisions.
        advantage: `[D]` float32, raw advantages.
        config: the learner's settings.
        entropy_coef: weight of the entropy bonus now.
        channel: the other processes.
        rng: order of the decisions; differs between processes.
        sums: metrics, added to.
        magnet: the policy not to leave, or None.
        magnet_coef: weight of the divergence from it.
    """
    returns = advantage + batch.value
    count, total, squares = channel.total(
        np.array([len(batch), advantage.sum(dtype=np.float64), np.square(advantage).sum()])
    )
    mean = total / count
    deviation = max(1e-6, squares / count - mean * mean) ** 0.5
    normalised = ((advantage - mean) / deviation).astype(np.float32)
    num_steps = max(1, round(count / config.minibatch))
    for _ in range(config.epochs):
        kl = np.zeros(2)
        for pick in np.array_split(rng.permutation(len(batch)), num_steps):
            losses = ppo_losses(network, batch, pick, normalised, returns, config.clip, magnet)
            loss_N = losses.policy + config.value_coef * losses.value
            loss_N = loss_N - entropy_coef * losses.entropy + magnet_coef * losses.magnet
            # Processes hold slightly different numbers of decisions; each counts the same.
            step(network, optimizer, loss_N.sum() * (channel.size * num_steps / count), channel,
                 config.max_grad_norm)  # fmt: skip
            with torch.no_grad():
                divergence_N = losses.log_ratio.exp() - 1 - losses.log_ratio
                outside_N = (losses.log_ratio.exp() - 1).abs() > config.clip
            kl += (float(divergence_N.sum()), len(pick))
            groups = {"kind": batch.kind[pick], "stratum": batch.stratum[pick]}
            sums.add("policy_loss", losses.policy, groups)
            sums.add("value_loss", losses.value, groups)
            sums.add("entropy", losses.entropy, groups)
            sums.add("kl", divergence_N)
            sums.add("clipped", outside_N)
            if magnet is not None:
                sums.add("magnet_kl", losses.magnet, groups)
        kl = channel.total(kl)
        if kl[0] / kl[1] > config.target_kl:
            break


def step(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: Tensor,
    channel: Channel,
    max_grad_norm: float,
) -> None:
    """Makes one step with the gradient averaged over the processes."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]  # torch gives it no types
    parameters = [p for p in network.parameters() if p.grad is not None]
    if channel.size > 1:
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        mean = flat.cpu()
        channel.average(mean)
        flat.copy_(mean)
        parts = torch.split(flat, [gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))
    torch.nn.utils.clip_grad_norm_(parameters, max_grad_norm)
    optimizer.step()
