from __future__ import annotations

import numpy as np
import torch

from agents.neural.network import ActorCritic, legal_tensor, masked_log_softmax
from agents.neural.opinions import DOUBT
from train.config import DrawConfig, TeachConfig
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
    legal = legal_tensor(made.mask[made.labelled]).numpy()
    assert (made.leads[~legal] == 0).all()
    rows = np.arange(len(made.labelled))
    assert (made.leads[rows, made.action[made.labelled]] == 0).all()
    # The rule agent knows what it does: by its own play-outs other actions are worse on average.
    others = legal.copy()
    others[rows, made.action[made.labelled]] = False
    early = made.kind[made.labelled] == DECIDE
    for group in (early, ~early):
        assert made.leads[group][others[group]].mean() < 0


def test_labels_are_those_of_a_run_of_its_own() -> None:
    one, other = (
        labelled(TeachConfig(share=0.3, worlds=4)),
        labelled(TeachConfig(share=0.3, worlds=4)),
    )
    assert np.array_equal(one.leads, other.leads)
    fewer = labelled(TeachConfig(share=0.1, worlds=4))
    assert set(fewer.labelled) < set(one.labelled)


def test_teaching_raises_the_lead_of_the_policy() -> None:
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
    teach_update(network, optimizer, made, config, Channel(), rng, sums)
    assert lead() > before + 0.002
    assert "lead" in sums.means(Channel())


def test_opinions_rank_cards_below_the_choice() -> None:
    made = labelled(TeachConfig(share=0.0))
    assert not len(made.labelled)
    rows = np.arange(len(made))
    assert (made.points[rows, made.action] == 0).all()
    legal = legal_tensor(made.mask).numpy()
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
        legal = legal_tensor(made.mask).numpy() & (made.kind != DECIDE)[:, None]
        sizes.append(-made.points[legal].mean())
    assert 0.5 < sizes[1] / sizes[0] < 2
