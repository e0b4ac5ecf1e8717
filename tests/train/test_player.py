"""Parts of an iteration: the same decisions whoever plays them, and joined as one rollout."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from train.advantage import gae
from train.checkpoint import RunError
from train.config import load_config
from train.loop import run_training
from train.player import Part, Player, cut, join
from train.rollout import Decisions, Opponent

from .helpers import small_network, tiny, variants_of


def played(parts: list[Part]) -> list[Decisions]:
    variants = variants_of("international")
    player = Player(tiny(), variants, Opponent(), small_network(variants))
    return [player.play(part) for part in parts]


PARTS = [Part(2, number, 6, 5, 0, cloning=False) for number in range(3)]


def test_a_part_is_the_same_whoever_plays_it_and_when() -> None:
    forwards, backwards = played(PARTS), played(PARTS[::-1])[::-1]
    for one, other in zip(forwards, backwards, strict=True):
        for field in dataclasses.fields(Decisions):
            assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name
    assert not np.array_equal(forwards[0].words[:40], forwards[1].words[:40])


def test_an_iteration_is_never_cut_short() -> None:
    parts = cut(7, (90, 40, 10), shards=4, cloning=False, rank=1, size=2)
    assert [part.number for part in parts] == [4, 5, 6, 7]
    assert all((p.num_self, p.num_rule, p.num_snapshot) == (12, 5, 2) for p in parts)
    with pytest.raises(RunError, match=r"decisions_per_iteration: 70,000 games in a part; allowed"):
        cut(0, (40_000, 30_000, 0), shards=1, cloning=False)


def test_joined_parts_are_one_rollout() -> None:
    made = played(PARTS)
    whole = join(made)
    assert len(whole) == sum(map(len, made)) and len(whole.score) == 33
    before = np.arange(len(whole))
    linked = whole.following >= 0
    after = whole.following[linked]
    assert (after > before[linked]).all()
    assert np.array_equal(whole.game[after], whole.game[linked])
    assert np.array_equal(whole.seat[after], whole.seat[linked])
    assert np.array_equal(np.unique(whole.game), np.arange(33))
    assert np.array_equal(whole.results, made[0].results + made[1].results + made[2].results)
    apart = [gae(part.reward, part.value, part.following, 0.9) for part in made]
    together = gae(whole.reward, whole.value, whole.following, 0.9)
    assert np.array_equal(np.concatenate(apart), together)


def test_a_run_in_parts(tmp_path: Path) -> None:
    config = tiny(shards=3, total_decisions=3_000)
    run = run_training(config, tmp_path / "run", progress=False)
    assert load_config(run / "config.toml").shards == 3
    with pytest.raises(RunError, match="workers times shards: found 2 times 33; allowed: up to 64"):
        run_training(tiny(workers=2, shards=33), tmp_path / "many", progress=False)
    assert not (tmp_path / "many").exists()
