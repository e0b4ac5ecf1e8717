from __future__ import annotations

import numpy as np
import pytest

from train.config import DrawConfig
from train.rollout import KINDS, Strata, draw_deals, play

from .helpers import sampled, small_network, variants_of

VARIANTS = [("international",), ("turkish_short",), ("international", "turkish_short")]


@pytest.mark.parametrize("names", VARIANTS)
def test_rewards_of_each_seat_add_up_to_its_score(names: tuple[str, ...]) -> None:
    variants = variants_of(*names)
    made = sampled(small_network(variants), variants, 60, 40)
    paid = made.before.copy()
    np.add.at(paid, (made.game, made.seat), made.reward)
    decided = np.zeros_like(paid, dtype=bool)
    decided[made.game, made.seat] = True
    assert np.allclose(paid[decided], made.score[decided], atol=1e-4)
    assert np.allclose(made.score.sum(1), 0, atol=1e-4)


def test_a_decision_is_followed_by_the_same_seats_next() -> None:
    variants = variants_of("international")
    made = sampled(small_network(variants), variants, 30, 10)
    for i, after in enumerate(made.following):
        same = np.flatnonzero((made.game == made.game[i]) & (made.seat == made.seat[i]))
        later = same[same > i]
        assert after == (later[0] if len(later) else -1)


def test_only_real_decisions_and_only_legal_actions() -> None:
    variants = variants_of("international")
    made = sampled(small_network(variants), variants, 40, 20)
    legal = np.unpackbits(made.mask.view(np.uint8), axis=1, bitorder="little")
    assert (legal.sum(1) >= 2).all()
    assert legal[np.arange(len(made)), made.action].all()
    assert set(np.unique(made.kind)) == set(range(len(KINDS)))


def test_a_rollout_is_a_function_of_seed_iteration_and_worker() -> None:
    variants = variants_of("international")
    network = small_network(variants)
    first, again = (sampled(network, variants, 30, 10, iteration=4) for _ in range(2))
    other = sampled(network, variants, 30, 10, iteration=5)
    for name in ("words", "numbers", "action", "log_prob", "reward"):
        assert np.array_equal(getattr(first, name), getattr(again, name)), name
    assert not np.array_equal(first.words[:30], other.words[:30])


def test_the_draw_follows_the_shares() -> None:
    variants = variants_of("international")
    draw = DrawConfig(open_share=0.75, skip_share=0.5, drawn_contracts=(0, 1, 0))
    deals = draw_deals(draw, variants, 1, 2, 0, 3000, 1000)
    is_open = deals.numbers % 10 >= 6
    assert is_open.mean() == pytest.approx(0.75, abs=0.03)
    assert deals.skip[is_open].mean() == pytest.approx(0.5, abs=0.03)
    assert not deals.skip[~is_open].any()
    assert len(np.unique(deals.numbers // 10)) == 4000
    learners = (deals.control == 0).sum(1)
    assert (learners[:3000] == 4).all() and (learners[3000:] == 1).all()
    strata = Strata(variants)
    made = play(variants, draw, strata, deals, 1, True, None)
    skipped = np.isin(made.game, np.flatnonzero(deals.skip))
    assert set(made.stratum[skipped]) == {strata.names.index("positive:no_trump")}
    worker = draw_deals(draw, variants, 1, 2, 1, 3000, 1000)
    assert not set(deals.numbers // 10) & set(worker.numbers // 10)


def test_strata_keep_trump_and_no_trump_apart() -> None:
    strata = Strata(variants_of("international"))
    assert {"positive:trump", "positive:no_trump", "nulls", "auction"} <= set(strata.names)
    assert not strata.groups


def test_with_several_variants_each_has_strata_of_its_own() -> None:
    strata = Strata(variants_of("international", "turkish_short"))
    expected = {"international:positive:no_trump", "international:auction", "turkish_short:koz"}
    assert expected <= set(strata.names)
    assert set(strata.groups) == {"international", "turkish_short"}
    for name, group in strata.groups.items():
        assert all(strata.names[number].startswith(f"{name}:") for number in group)
    assert sum(len(group) for group in strata.groups.values()) == len(strata.names)
