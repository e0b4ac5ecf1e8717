"""A network looked at: calibration, changes beside the rule-based agent, a deal as text."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from agents.neural.network import ActorCritic
from agents.neural.policy import NeuralPolicy, load_policy
from agents.registry import make_agent
from king_env.game import Game
from train.checkpoint import Progress, save_checkpoint
from train.config import DrawConfig
from train.review import Review, calibration, changes, play_deal, review
from train.rollout import KINDS, columns_in_use

from .helpers import tiny, variants_of


def network(folder: Path, rule_prior: float) -> NeuralPolicy:
    variants = variants_of("international")
    made = ActorCritic(columns_in_use(variants, DrawConfig(), True), 16, 1, rule_prior)
    save_checkpoint(folder, made, torch.optim.Adam(made.parameters()), Progress(), tiny(), variants)
    return load_policy(folder)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Review:
    """What a network that knows nothing but the rule-based agent's opinion does."""
    return review(network(tmp_path_factory.mktemp("rule"), 1.0), deals=40, worlds=4, seed=2)


def test_a_review_is_of_points(found: Review) -> None:
    size = len(found.value)
    assert size > 1000 and len(found.came) == len(found.kind) == len(found.game) == size
    assert 0.15 < len(found.searched) / size < 0.35
    assert len(np.unique(found.game)) <= 40 and found.game.max() < 40
    # Of a deal's decisions the seats' first ones: what came from there on, over the table mean.
    assert 20 < np.abs(found.came).max() < 700
    assert np.abs(found.value).max() < 30  # it has learned no values


def test_what_the_rule_agent_would_do_is_no_change(found: Review) -> None:
    rows = changes(found)
    assert [row.kind for row in rows] == list(KINDS)
    assert sum(row.decisions for row in rows) == len(found.searched)
    assert all(row.agreement > 0.9 for row in rows)
    # The others are cards that it holds to be equally good; search then sees little in them.
    assert not found.lead[~found.changed].any()


def test_random_play_is_a_change_for_the_worse(tmp_path: Path) -> None:
    rows = changes(review(network(tmp_path, 0.0), deals=40, worlds=4, seed=2))
    assert all(row.agreement < 0.7 for row in rows)
    assert all(row.lead.mean < 0 for row in rows) and rows[1].lead.high < 0


def test_a_review_depends_on_its_seed_alone(tmp_path: Path, found: Review) -> None:
    policy = network(tmp_path, 1.0)
    again = review(policy, deals=40, worlds=4, seed=2)
    other = review(policy, deals=40, worlds=4, seed=3)
    for field in dataclasses.fields(Review):
        assert np.array_equal(getattr(found, field.name), getattr(again, field.name)), field.name
    assert not np.array_equal(found.came[:50], other.came[:50])


def made_up(value: list[float], came: list[float], game: list[int]) -> Review:
    size = len(value)
    return Review(
        strata=["a", "b"],
        kind=np.ones(size, dtype=np.uint8),
        stratum=np.array([0, 1] * (size // 2), dtype=np.uint8),
        game=np.array(game, dtype=np.int32),
        value=np.array(value),
        came=np.array(came),
        searched=np.arange(size),
        changed=np.array([True] * (size - 1) + [False]),
        lead=np.array([*came[:-1], 0.0]),
    )


def test_bins_hold_what_is_alike() -> None:
    data = made_up([3.0, 1.0, 2.0, 4.0], [30.0, 10.0, 20.0, 60.0], [0, 1, 2, 3])
    low, high = calibration(data, bins=2)
    assert (low.value, low.came.mean, low.decisions) == (1.5, 15.0, 2)
    assert (high.value, high.came.mean, high.decisions) == (3.5, 45.0, 2)
    (only,) = calibration(data, "b", bins=1)
    assert (only.value, only.came.mean) == (2.5, 35.0)
    assert len(calibration(data, bins=9)) == 4
    with pytest.raises(ValueError, match="stratum: found 'c'; allowed: a, b"):
        calibration(data, "c")
    with pytest.raises(ValueError, match="bins: found 0; allowed: 1 and more"):
        calibration(data, bins=0)
    (row,) = changes(data)
    assert (row.kind, row.decisions, row.agreement, row.lead.mean) == ("lead", 4, 0.25, 20.0)


def test_decisions_of_one_deal_are_one_unit_of_the_interval() -> None:
    apart = made_up([0.0] * 8, [1.0, 2.0, 3.0, 4.0] * 2, list(range(8)))
    twice = made_up([0.0] * 8, [1.0, 2.0, 3.0, 4.0] * 2, [0, 1, 2, 3] * 2)
    (one,), (other,) = calibration(apart, bins=1), calibration(twice, bins=1)
    values = np.array([1.0, 2.0, 3.0, 4.0])
    assert other.came.count == 4 and one.came.count == 8
    error = values.std(ddof=1) / 2
    assert other.came.half_width == pytest.approx(3.182 * error, rel=1e-3)  # t, 3 degrees
    assert one.came.half_width < 0.6 * other.came.half_width


def test_a_deal_as_text() -> None:
    rule = make_agent("rule")
    game = Game("international", seed=5, match=3, episode="deal", position=7)
    lines = play_deal(game, [rule] * 4, np.random.default_rng(1))
    before = [line for line in lines if line.startswith("seat ")]
    tricks = lines[len(before) : -1]
    assert before and before[0].split() == ["seat", str(game.deals[0].actions[0][0]), "bid:+1"]
    assert len(tricks) == 13 and all(line.count("*") == 1 for line in tricks)
    won = [0] * 4
    for line, after in zip(tricks, [*tricks[1:], None], strict=True):
        winner = next(int(word[0]) for word in line.split() if word.endswith("*"))
        won[winner] += 1
        assert after is None or after.split()[1].startswith(f"{winner}:")  # leads to the next
    assert won == game.record.deal.tricks.tolist()
    points = [int(word) for word in lines[-1].split()[1:]]
    assert points == game.scores and any(points)


def test_what_is_refused(tmp_path: Path) -> None:
    rule = make_agent("rule")
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match="game: found episode 'match'; allowed: deal"):
        play_deal(Game(seed=1), [rule] * 4, rng)
    with pytest.raises(ValueError, match="agents: found 3; allowed: 4"):
        play_deal(Game(seed=1, episode="deal"), [rule] * 3, rng)
    with pytest.raises(ValueError, match="deals: found 0; allowed: 1 and more"):
        review(network(tmp_path, 1.0), deals=0)
