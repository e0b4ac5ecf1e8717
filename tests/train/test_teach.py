from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from agents.neural.features import SAME_ORDER
from agents.neural.network import ActorCritic, legal_array, legal_tensor, masked_log_softmax
from agents.neural.opinions import DOUBT
from agents.registry import make_agent
from king_env.game import Game
from king_env.rules.catalogue import load_variant, mean_deal_size
from train.config import DrawConfig, TeachConfig
from train.labels import LabelStore, labels_of
from train.metrics import Sums
from train.rollout import DECIDE, Decisions, Strata, draw_deals, play
from train.teach import Teacher, teach_update
from train.workers import Channel

from .helpers import columns_of, variants_of

NAMES = ("international", "turkish_short")


def labelled(config: TeachConfig) -> Decisions:
    variants = variants_of(*NAMES)
    draw = DrawConfig()
    deals = draw_deals(draw, variants, 3, 0, 0, 24, 0)
    teacher = Teacher(config)
    return play(variants, draw, Strata(variants), deals, 3, True, None, labeller=teacher)


def test_leads_are_over_the_rule_agents_choice_among_legal_actions() -> None:
    made = labelled(TeachConfig(share=0.5, worlds=8))
    assert 0.4 * len(made) < len(made.labelled) < 0.6 * len(made)
    assert len(made.leads) == len(made.labelled)
    legal = legal_array(made.mask[made.labelled])
    assert (made.leads[~legal] == 0).all()
    rows = np.arange(len(made.labelled))
    assert (made.leads[rows, made.action[made.labelled]] == 0).all()
    # The rule agent knows what it does: by its own play-outs other actions are worse on average.
    others = legal.copy()
    others[rows, made.action[made.labelled]] = False
    early = made.kind[made.labelled] == DECIDE
    for group in (early, ~early):
        assert made.leads[group][others[group]].mean() < 0


def test_without_worlds_labels_come_of_the_deal_as_it_is() -> None:
    """Beside play-outs move by move, in a match, where points of later deals do not count."""
    variant = load_variant("international")
    rule, rng = make_agent("rule"), np.random.default_rng(1)
    teacher = Teacher(TeachConfig(share=1.0, worlds=0))
    different = 0

    def go_on(game: Game) -> None:
        game.push(rule.act(game.view(int(game.actor or 0)), rng))

    for seed in range(8):
        game = Game(variant, seed=seed)
        while game.phase != "PLAY" or len(game.legal_actions) == 1 or rng.random() < 0.7:
            go_on(game)
        seat = int(game.actor or 0)
        leads = teacher.leads(
            game.games,
            game.tables,
            np.zeros(1, dtype=np.int64),
            np.array([SAME_ORDER], dtype=np.uint8),
            np.ones(1, dtype=np.uint64),
        )[0]
        came = {}
        for action in game.legal_actions:
            played = game.clone()
            played.push(action)
            while not played.is_over and played.position == game.position:
                go_on(played)
            points = np.array(played.scores) - np.array(game.scores)
            came[action] = points[seat] - points.mean()
        choice = rule.act(game.view(seat), rng)
        for action, points in came.items():
            found = leads[action] * mean_deal_size(variant.spec)
            assert found == pytest.approx(points - came[choice], abs=1e-3)
            different += points != came[choice]
    assert different > 5


def test_cards_far_behind_are_heard_of_at_a_higher_temperature(tmp_path: Path) -> None:
    variants = variants_of(*NAMES)
    labels = labels_of(labelled(TeachConfig(share=1.0, worlds=2)))
    columns = columns_of(variants, DrawConfig(), True)

    def moved(row: int, temperature: float) -> float:
        """Returns how far a step moves the logit of an action that is better but 10 units back."""
        one = labels.rows(np.array([row]))
        best, better = np.flatnonzero(legal_array(one.mask)[0])[:2]
        one.points[0], one.leads[0] = -10, 0
        one.points[0, best], one.leads[0, better] = 0, 1
        network = ActorCritic(columns, 32, seed=1, rule_prior=1.0)
        optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
        config = TeachConfig(temperature=temperature, epochs=1)
        store = LabelStore(tmp_path, 0, keep=1)
        store.add(0, one)
        before = network.tensors()["policy.bias"][better]
        sums = Sums(Strata(variants).names)
        teach_update(network, optimizer, store, config, Channel(), np.random.default_rng(1), sums)
        return float(network.tensors()["policy.bias"][better] - before)

    early = labels.kind == DECIDE
    card, bid = np.flatnonzero(~early)[0], np.flatnonzero(early)[0]
    assert moved(card, 4.0) > 100 * moved(card, 1.0) > 0
    assert moved(bid, 4.0) == moved(bid, 1.0) > 0


def test_labels_are_those_of_a_run_of_its_own() -> None:
    one, other = (
        labelled(TeachConfig(share=0.3, worlds=4)),
        labelled(TeachConfig(share=0.3, worlds=4)),
    )
    assert np.array_equal(one.leads, other.leads)
    fewer = labelled(TeachConfig(share=0.1, worlds=4))
    assert set(fewer.labelled) < set(one.labelled)


def test_teaching_raises_the_lead_of_the_policy(tmp_path: Path) -> None:
    variants = variants_of(*NAMES)
    made = labelled(TeachConfig(share=1.0, worlds=8))
    columns = columns_of(variants, DrawConfig(), True)
    network = ActorCritic(columns, 32, seed=1, rule_prior=1.0)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    config = TeachConfig(share=1.0, minibatch=128)

    def lead() -> float:
        with torch.no_grad():
            logits, _ = network(made.words, made.numbers, made.points)
        chances = masked_log_softmax(logits, legal_tensor(made.mask)).exp()
        return float((chances[made.labelled] * torch.from_numpy(made.leads)).sum(1).mean())

    before = lead()
    sums = Sums(Strata(variants).names)
    rng = np.random.default_rng(1)
    store = LabelStore(tmp_path, 0, keep=1)
    store.add(0, labels_of(made))
    teach_update(network, optimizer, store, config, Channel(), rng, sums)
    assert lead() > before + 0.002
    assert "lead" in sums.means(Channel())


def test_opinions_rank_cards_below_the_choice() -> None:
    made = labelled(TeachConfig(share=0.0))
    assert not len(made.labelled)
    rows = np.arange(len(made))
    assert (made.points[rows, made.action] == 0).all()
    legal = legal_array(made.mask)
    early = made.kind == DECIDE
    assert made.points[legal].max() == 0
    assert set(np.unique(made.points[early][legal[early]])) == {DOUBT, 0.0}
    assert len(np.unique(made.points[~early][legal[~early]])) > 100


def test_opinions_weigh_alike_in_every_variant() -> None:
    """A trick is worth 50 points in one and 1 in another; a doubtful card stays a doubtful card."""
    sizes = []
    for name in ("international", "russian_mirror"):
        variants = variants_of(name)
        draw = DrawConfig()
        deals = draw_deals(draw, variants, 3, 0, 0, 30, 0)
        made = play(variants, draw, Strata(variants), deals, 3, True, None)
        legal = legal_array(made.mask) & (made.kind != DECIDE)[:, None]
        sizes.append(-made.points[legal].mean())
    assert 0.5 < sizes[1] / sizes[0] < 2
