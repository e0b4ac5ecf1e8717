from __future__ import annotations

import numpy as np
import pytest
import torch

from agents.neural.network import legal_tensor, masked_log_softmax
from train.advantage import gae
from train.config import PPOConfig
from train.metrics import Sums
from train.ppo import ppo_losses, ppo_update
from train.rollout import Strata
from train.workers import Channel

from .helpers import sampled, small_network, variants_of


def test_the_ratio_is_one_before_the_first_update() -> None:
    variants = variants_of("international")
    network = small_network(variants)
    batch = sampled(network, variants, 80, 40)
    everything = np.arange(len(batch))
    zeros = np.zeros(len(batch), dtype=np.float32)
    losses = ppo_losses(network, batch, everything, zeros, zeros, 0.2)
    assert float((losses.log_ratio.detach().exp() - 1).abs().max()) < 1e-4


def test_entropy_counts_legal_actions_only() -> None:
    variants = variants_of("international")
    network = small_network(variants)
    with torch.no_grad():
        network.policy_weight.zero_()
    batch = sampled(network, variants, 20)
    everything = np.arange(len(batch))
    zeros = np.zeros(len(batch), dtype=np.float32)
    losses = ppo_losses(network, batch, everything, zeros, zeros, 0.2)
    count = legal_tensor(batch.mask).sum(1)
    assert torch.allclose(losses.entropy, count.float().log(), atol=1e-5)
    torch.autograd.backward([losses.entropy.sum()])
    assert all(torch.isfinite(p.grad).all() for p in network.parameters() if p.grad is not None)


def test_illegal_actions_have_probability_zero_and_nothing_is_nan() -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0], [0.0, 1.0, 2.0]])
    legal = torch.tensor([[False, True, True], [False, False, True]])
    log_prob = masked_log_softmax(logits, legal)
    assert torch.isfinite(log_prob).all()
    assert log_prob.exp().sum(1).tolist() == pytest.approx([1, 1])
    assert log_prob.exp()[~legal].tolist() == [0, 0, 0]


def test_an_update_moves_towards_what_paid() -> None:
    variants = variants_of("international")
    network = small_network(variants)
    batch = sampled(network, variants, 80)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    advantage = np.where(batch.action < 26, 1, -1).astype(np.float32)
    config = PPOConfig(minibatch=512, epochs=4, target_kl=10.0)
    strata = Strata(variants)

    def preference() -> float:
        with torch.no_grad():
            logits, _ = network(batch.words, batch.numbers, batch.points)
            probabilities = masked_log_softmax(logits, legal_tensor(batch.mask)).exp()
        return float(probabilities[:, :26].sum(1).mean())

    before = preference()
    sums = Sums(strata.names)
    rng = np.random.default_rng(0)
    ppo_update(network, optimizer, batch, advantage, config, 0.0, Channel(), rng, sums)
    assert preference() > before + 0.02
    means = sums.means(Channel())
    assert means["entropy"] > 0 and "policy_loss/lead" in means and "kl" in means


def test_the_update_stops_at_the_target_divergence() -> None:
    variants = variants_of("international")
    network = small_network(variants)
    batch = sampled(network, variants, 40)
    advantage = gae(batch.reward, batch.value, batch.following, 0.95)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    counts = []
    for target in (0.0, 1e9):
        sums = Sums(Strata(variants).names)
        config = PPOConfig(minibatch=256, epochs=3, target_kl=target)
        rng = np.random.default_rng(0)
        ppo_update(network, optimizer, batch, advantage, config, 0.0, Channel(), rng, sums)
        counts.append(sums._values[Sums.NAMES.index("kl"), 0, 1])
    assert counts == [len(batch), 3 * len(batch)]
