from __future__ import annotations

import dataclasses

import torch

from agents.neural.network import legal_tensor
from train.advantage import gae
from train.clone import clone_update, lesson, passes_gate
from train.config import CloneConfig, DrawConfig
from train.metrics import Sums
from train.rollout import Decisions, Strata, draw_deals, play
from train.workers import Channel

from .helpers import small_network, variants_of


def labelled() -> Decisions:
    variants = variants_of("international")
    draw = DrawConfig()
    deals = draw_deals(draw, variants, 2, 0, 0, 60, 0)
    strata = Strata(variants)
    return play(variants, draw, strata, deals, 2, True, None, random_moves=0.1)


def test_lessons_are_distributions_over_legal_actions_with_the_choice_on_top() -> None:
    made = labelled()
    points, action = torch.from_numpy(made.points), torch.from_numpy(made.action)
    legal = legal_tensor(made.mask)
    for temperature in (0.0, 1.0):
        target = lesson(points, legal, action, temperature)
        assert torch.allclose(target.sum(1), torch.ones(len(made)), atol=1e-5)
        assert (target[~legal] == 0).all()
        chosen = target.gather(1, action[:, None])[:, 0]
        assert (chosen >= target.max(1).values - 1e-6).all()
        sure = target.max(1).values == 1
        assert sure.all() if temperature == 0 else not sure.all()


def test_probabilities_follow_the_points() -> None:
    points = torch.tensor([[0.0, -1.5, -4.0, 0.0]])
    legal = torch.tensor([[True, True, True, False]])
    target = lesson(points, legal, torch.tensor([0]), 2.0)
    expected = torch.softmax(torch.tensor([[0.0, -0.75, -2.0]]), 1)
    assert torch.allclose(target[:, :3], expected, atol=1e-6)


def test_cloning_raises_agreement_and_measuring_changes_nothing() -> None:
    variants = variants_of("international")
    network = small_network(variants)
    made = labelled()
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
