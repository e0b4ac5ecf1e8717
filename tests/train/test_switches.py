"""Switches of the learner: average of the weights, magnet, a critic that sees all hands."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.neural.network import masked_log_softmax
from agents.neural.weights import load_weights, tensor_shapes
from king_env.cards import suit_mask
from king_env.engine.observe import BIT_BLOCKS, unpack_bits
from train.advantage import gae
from train.config import NetworkConfig, PPOConfig, TrainConfig
from train.critic import Critic, card_bits, critic_update
from train.ema import move_towards
from train.loop import run_training
from train.magnet import divergence
from train.metrics import METRICS, Sums, read_metrics
from train.ppo import ppo_losses, ppo_update
from train.rollout import Strata
from train.workers import Channel

from .helpers import TINY, sampled, small_network, tiny, variants_of


def test_an_average_moves_by_its_decay() -> None:
    variants = variants_of("international")
    average, network = small_network(variants), small_network(variants)
    with torch.no_grad():
        for parameter in average.parameters():
            parameter.fill_(1.0)
        for parameter in network.parameters():
            parameter.fill_(3.0)
    move_towards(average, network, 0.75)
    assert all((p == 1.5).all() for p in average.parameters())
    assert all((p == 3.0).all() for p in network.parameters())


def test_the_divergence_is_that_of_the_formula() -> None:
    legal = torch.tensor([[True, True, False], [True, False, False]])
    one = masked_log_softmax(torch.tensor([[0.0, 1.0, 9.0], [5.0, 0.0, 0.0]]), legal)
    other = masked_log_softmax(torch.tensor([[1.0, 0.0, -9.0], [1.0, 2.0, 3.0]]), legal)
    p = np.exp([0.0, 1.0]) / np.exp([0.0, 1.0]).sum()
    expected = float((p * np.log(p / p[::-1])).sum())
    assert divergence(one, other).tolist() == pytest.approx([expected, 0.0], abs=1e-6)
    assert divergence(one, one).tolist() == [0.0, 0.0]


def test_a_magnet_holds_the_policy_back() -> None:
    variants = variants_of("international")
    batch = sampled(small_network(variants), variants, 60)
    advantage = np.where(batch.action < 26, 1, -1).astype(np.float32)
    config = PPOConfig(minibatch=512, epochs=4, target_kl=10.0)
    moved = []
    for coefficient in (0.0, 5.0):
        network, magnet = small_network(variants), small_network(variants)
        optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
        args = (config, 0.0, Channel(), np.random.default_rng(0), Sums(Strata(variants).names))
        ppo_update(network, optimizer, batch, advantage, *args, magnet, coefficient)
        everything = np.arange(len(batch))
        losses = ppo_losses(network, batch, everything, advantage, advantage, 0.2, magnet)
        moved.append(float(losses.magnet.detach().mean()))
    assert 0 < moved[1] < 0.5 * moved[0]


def test_hidden_hands_are_those_of_the_other_seats() -> None:
    """With the seat's own cards and those played they make the whole pack, each card once."""
    variants = variants_of("international")
    made = sampled(small_network(variants), variants, 20, privileged=True)
    block = BIT_BLOCKS["hand"]
    bits = unpack_bits(made.words, block.offset + block.size)
    own = bits[:, block.offset : block.offset + 52]
    hidden = card_bits(made.hidden).numpy().reshape(-1, 3, 52)
    lengths = hidden.sum(2)
    assert (np.abs(lengths - own.sum(1, keepdims=True)) <= 1).all()
    together = hidden.sum(1) + own
    assert together.max() == 1
    # At a seat's first decision in the play nothing but the trick in progress has gone.
    first = np.flatnonzero(own.sum(1) == 13)
    assert (together[first].sum(1) >= 49).all()
    # Suits stand in the order that the network sees: a void seat shows no card of the suit led.
    assert (made.hidden & ~np.uint64(sum(suit_mask(s) for s in range(4)))).max() == 0


def test_a_critic_learns_and_sees_more_than_the_seat() -> None:
    variants = variants_of("international")
    network = small_network(variants)
    batch = sampled(network, variants, 200, privileged=True)
    returns = gae(batch.reward, np.zeros_like(batch.value), batch.following, 1.0)
    errors = []
    for blind in (False, True):
        critic = Critic(network.columns, 64, seed=1)
        optimizer = torch.optim.Adam(critic.parameters(), lr=2e-3)
        hidden = np.zeros_like(batch.hidden) if blind else batch.hidden
        sums = Sums(Strata(variants).names)
        critic_update(
            critic,
            optimizer,
            (batch.words, batch.numbers, hidden),
            returns,
            minibatch=256,
            epochs=6,
            max_grad_norm=10.0,
            channel=Channel(),
            rng=np.random.default_rng(0),
            sums=sums,
        )
        values = critic.values(batch.words, batch.numbers, hidden)
        errors.append(float(np.square(returns - values).mean()))
        assert sums.means(Channel())["critic_loss"] > 0
    assert errors[0] < errors[1] < float(np.square(returns).mean())


SWITCHES = {
    "average": tiny(ppo=dataclasses.replace(TINY.ppo, ema=0.5)),
    "magnet": tiny(ppo=dataclasses.replace(TINY.ppo, magnet=0.1)),
    "privileged": tiny(network=NetworkConfig(width=32, privileged=True)),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_a_run_with_a_switch(tmp_path: Path, name: str) -> None:
    run = run_training(SWITCHES[name], tmp_path / "run", progress=False)
    entries = read_metrics(run / "metrics.jsonl")
    assert {key.split("/")[0] for entry in entries for key in entry} <= set(METRICS)
    last = [entry for entry in entries if entry["phase"] == "ppo"][-1]
    weights = load_weights(run)
    training = _training(run)
    assert set(weights.tensors) == set(tensor_shapes(len(weights.columns), 32))
    own = {key.removeprefix("weights."): a for key, a in training.items() if "weights." in key[:8]}
    same = [np.array_equal(weights.tensors[key], own[key]) for key in weights.tensors]
    if name == "average":
        assert not any(same)  # what plays is the average, what learns goes on as it is
        for key, array in weights.tensors.items():
            assert np.array_equal(array, training[f"average.{key}"])
    else:
        assert all(same)
    if name == "magnet":
        first = next(entry for entry in entries if entry["phase"] == "ppo")
        assert first["magnet_coef"] == 0.1 and last["magnet_kl"] > 0
        assert "magnet.first.weight" in training
    if name == "privileged":
        assert last["critic_loss"] > 0
        assert next(entry for entry in entries if entry["phase"] == "clone")["critic_loss"] > 0
        assert "critic.weights.hands.weight" in training


def test_switches_are_off_unless_asked_for() -> None:
    config = TrainConfig()
    assert config.ppo.ema == config.ppo.magnet == config.tables.snapshot_share == 0
    assert not config.network.privileged and config.draw.mode == "deal"


def _training(run: Path) -> Any:
    from agents.neural.weights import find_checkpoint, read_tensors

    return read_tensors(find_checkpoint(run).with_suffix(".training.safetensors"))
