"""Learning from whole matches, and from several variants with one network."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.ids import RULE
from king_env.engine import observe
from king_env.engine.observe import NUMBER_BLOCKS
from train.config import ConfigError, DrawConfig, TableConfig, check_config, load_config
from train.loop import _games, run_training
from train.matches import deals_of, first_places, rank_utility
from train.metrics import read_metrics
from train.rollout import DECISIONS_PER_DEAL, Opponent, Strata, draw_deals, play

from .helpers import sampled, small_network, tiny, variants_of

MATCH = DrawConfig(mode="match")


def test_ranks_are_worth_what_they_should_and_ties_share() -> None:
    scores = np.array([[5, 9, -3, 0], [7, 7, 1, 1], [4, 4, 4, 4], [9, 2, 2, 1]])
    assert rank_utility(scores).tolist() == [
        [0.5, 1.5, -1.5, -0.5],
        [1.0, 1.0, -1.0, -1.0],
        [0.0, 0.0, 0.0, 0.0],
        [1.5, 0.0, 0.0, -1.5],
    ]
    assert first_places(scores).sum(1).tolist() == [1, 1, 1, 1]
    assert first_places(scores)[1].tolist() == [0.5, 0.5, 0, 0]


@pytest.mark.parametrize("names", [("international",), ("turkish_short", "turkish_short_pairs")])
def test_a_seat_is_paid_for_its_match(names: tuple[str, ...]) -> None:
    variants = variants_of(*names)
    network = small_network(variants)
    draw = DrawConfig(mode="match", rank_weight=2.0)
    made = sampled(network, variants, 6, 4, draw=draw)
    paid = made.before.copy()
    np.add.at(paid, (made.game, made.seat), made.reward)
    decided = np.zeros_like(paid, dtype=bool)
    decided[made.game, made.seat] = True
    assert np.allclose(paid[decided], made.score[decided], atol=1e-3)
    assert np.allclose(made.score.sum(1), 0, atol=1e-3)
    plain = sampled(network, variants, 6, 4, draw=MATCH)
    utility = made.score - plain.score
    assert np.isclose(np.abs(utility), np.round(np.abs(utility), 0), atol=1e-3).all()
    best = plain.score.argmax(1)
    assert np.allclose(utility.max(1), utility[np.arange(10), best], atol=1e-3)
    # One seat's decisions are one trajectory through all deals of the match.
    first = np.flatnonzero((made.game == 0) & (made.seat == 2))
    assert made.following[first].tolist() == [*first[1:].tolist(), -1]
    deals_left = made.numbers[first, NUMBER_BLOCKS["deals_left"].offset]
    assert len(np.unique(deals_left)) >= deals_of(variants)[0] - 1


def test_returns_spread_as_in_deals() -> None:
    variants = variants_of("international")
    network = small_network(variants)
    deals = sampled(network, variants, 400).score.std()
    matches = sampled(network, variants, 60, draw=MATCH).score.std()
    assert matches == pytest.approx(deals, rel=0.35)


def test_margins_are_those_of_each_deal() -> None:
    """The log of deals within matches adds up to the scores of the matches."""
    variants = variants_of("international", "turkish_short")
    deals = draw_deals(MATCH, variants, 1, 2, 0, 3, 9, Opponent(RULE))
    assert not deals.skip.any() and len(np.unique(deals.numbers)) == 12
    strata = Strata(variants)
    made = play(variants, MATCH, strata, deals, 1, True, None)
    counts = made.results[0, :, 2]
    assert counts.sum() == deals_of(variants)[np.arange(3, 12) % 2].sum()
    assert not made.results[1].any()
    international = np.array([name.startswith("international") for name in strata.names])
    fixed = strata.names.index("international:no_queens")
    matches = counts[international].sum() / 10
    assert counts[fixed] == matches  # each match has that deal once
    scores = made.score * np.sqrt(deals_of(variants))[np.arange(12) % 2][:, None]
    learner = (deals.control[3:] == 0) & (np.arange(3, 12) % 2 == 0)[:, None]
    from king_env.rules.tables import make_tables

    scale = make_tables([variants[0].spec]).point_scale[0]
    total = made.results[0, international, 0].sum()
    assert total == pytest.approx(float(scores[3:][learner].sum() * scale), rel=1e-3, abs=0.1)
    assert made.firsts[1] == 9 and 0 <= made.firsts[0] <= 9


def test_settings_that_go_together() -> None:
    with pytest.raises(ConfigError, match=r"rank_weight: found 1; allowed: 0 where mode"):
        check_config(tiny(draw=DrawConfig(rank_weight=1.0)))


@pytest.mark.parametrize("name", ["international", "turkish_short"])
def test_a_run_learns_from_matches(tmp_path: Path, name: str) -> None:
    draw = DrawConfig(mode="match", rank_weight=1.0)
    config = tiny(variants=(name,), draw=draw, total_decisions=3_000)
    run = run_training(config, tmp_path / "run", progress=False)
    ppo = [entry for entry in read_metrics(run / "metrics.jsonl") if entry["phase"] == "ppo"]
    assert all(np.isfinite(entry["value_loss"]) for entry in ppo)
    assert all(0 <= entry["first_places"] <= 1 for entry in ppo)
    assert ppo[-1]["value_loss"] < 100
    columns = set(load_columns(run))
    totals = NUMBER_BLOCKS["totals"]
    used = {observe.NUM_BITS + totals.offset + i for i in range(totals.size)}
    assert used <= columns


def load_columns(run: Path) -> Any:
    from agents.neural.weights import load_weights

    return load_weights(run).columns.tolist()


def test_one_network_learns_several_variants(tmp_path: Path) -> None:
    names = load_config("family").variants
    assert {"international", "turkish_short", "rifki", "russian_mirror"} <= set(names)
    config = tiny(variants=names, total_decisions=3_000)
    run = run_training(config, tmp_path / "run", progress=False)
    last = [entry for entry in read_metrics(run / "metrics.jsonl") if entry["phase"] == "ppo"][-1]
    for name in names:
        assert f"margin/{name}" in last
        assert any(key.startswith(f"margin/{name}:") for key in last)
        assert any(key.startswith(f"policy_loss/{name}:") for key in last)


def test_a_team_counts_once() -> None:
    """Both seats of a team learn: one result a deal, one first place a match."""
    variants = variants_of("turkish_short_pairs")
    deals = draw_deals(MATCH, variants, 5, 0, 0, 0, 12, Opponent(whole_team=True))
    made = play(variants, MATCH, Strata(variants), deals, 5, True, None)
    mine = deals.control == 0
    assert mine.sum() == 24
    assert made.results[0, :, 2].sum() == 12 * deals_of(variants)[0]
    won = made.score[mine].reshape(12, 2)[:, 0]
    assert made.firsts.tolist() == [(won > 0).sum() + 0.5 * (won == 0).sum(), 12]
    assert 0 < made.firsts[0] < 12


def test_tables_of_a_whole_team_are_half_as_many() -> None:
    variants = variants_of("turkish_short_pairs")
    tables = TableConfig(rule_share=1.0, whole_team=True)
    config = tiny(variants=("turkish_short_pairs",), tables=tables)
    alone = dataclasses.replace(config, tables=TableConfig(rule_share=1.0))
    one, team = (_games(c, variants, 1.0)[1] for c in (alone, config))
    assert abs(one - 2 * team) <= 1
    run = play(
        variants,
        config.draw,
        Strata(variants),
        draw_deals(config.draw, variants, 3, 0, 0, 0, 300, Opponent(whole_team=True)),
        3,
        True,
        None,
    )
    assert len(run) == pytest.approx(300 * DECISIONS_PER_DEAL / 2, rel=0.25)
