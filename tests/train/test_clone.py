from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from train.advantage import gae
from train.clone import WRONG, clone_update, passes_gate, regrets
from train.config import CloneConfig, DrawConfig
from train.metrics import Sums
from train.rollout import Decisions, Strata, draw_deals, play
from train.workers import Channel

from .helpers import small_network, variants_of


def labelled(temperature: float, random_moves: float = 0.1) -> Decisions:
    variants = variants_of("international")
    draw = DrawConfig()
    deals = draw_deals(draw, variants, 2, 0, 0, 60, 0)
    strata = Strata(variants)
    return play(variants, draw, strata, deals, 2, True, None, random_moves, temperature)


def test_targets_are_distributions_over_legal_actions_with_the_choice_on_top() -> None:
    for temperature in (0.0, 1.0):
        made = labelled(temperature)
        rows = np.arange(len(made))
        legal = np.unpackbits(made.mask.view(np.uint8), axis=1, bitorder="little")
        legal = legal[:, : made.target.shape[1]].astype(bool)
        assert np.allclose(made.target.sum(1), 1, atol=1e-5)
        assert (made.target[~legal] == 0).all()
        assert (made.target[rows, made.action] >= made.target.max(1) - 1e-6).all()
        sure = made.target.max(1) == 1
        assert sure.all() if temperature == 0 else not sure.all()


def test_regret_is_the_difference_of_the_agents_estimates() -> None:
    points = torch.tensor([[0.0, -1.5, -4.0]])
    target = torch.softmax(points / 2.0, dim=1)
    for choice, expected in ((0, 0.0), (1, 1.5), (2, 4.0)):
        assert float(regrets(target, torch.tensor([choice]), 2.0)) == pytest.approx(expected)
    certain = torch.tensor([[0.0, 1.0]])
    assert float(regrets(certain, torch.tensor([1]), 2.0)) == 0
    assert float(regrets(certain, torch.tensor([0]), 2.0)) == WRONG


def test_cloning_raises_agreement_and_measuring_changes_nothing() -> None:
    variants = variants_of("international")
    network = small_network(variants)
    made = labelled(1.0)
    returns = gae(made.reward, made.value, made.following, 1.0)
    config = CloneConfig(batch=128)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)

    def measured() -> dict[str, float]:
        sums = Sums(Strata(variants).names)
        clone_update(network, None, made, returns, config, Channel(), sums)
        return sums.means(Channel())

    before = measured()
    assert measured() == before
    for _ in range(8):
        sums = Sums(Strata(variants).names)
        clone_update(network, optimizer, made, returns, config, Channel(), sums)
    after = measured()
    assert after["agreement"] > before["agreement"] + 0.1
    assert after["near_agreement"] >= after["agreement"]
    assert after["regret"] < before["regret"]
    assert after["value_loss"] < before["value_loss"]
    assert 0 <= after["ruffs_found"] <= 1


def test_the_gate() -> None:
    config = CloneConfig()
    good = {
        "near_agreement/lead": 0.91,
        "near_agreement/follow": 0.96,
        "near_agreement/discard": 0.96,
        "ruffs_found": 0.99,
    }
    assert passes_gate(good, config)
    for name in good:
        assert not passes_gate({**good, name: 0.89}, config)
    del good["ruffs_found"]
    assert passes_gate(good, config)
    assert not passes_gate(good, dataclasses.replace(config, gate_lead=0.95))
