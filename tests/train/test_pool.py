"""Earlier selves as opponents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.ids import RULE
from agents.neural.policy import load_policy
from agents.neural.weights import Weights
from agents.registry import make_agent
from train.checkpoint import RunError, prune_checkpoints, snapshots_named
from train.config import DrawConfig, TableConfig
from train.loop import run_training
from train.metrics import read_metrics
from train.pool import FOLDER, Pool, snapshots_due
from train.rollout import Opponent, Strata, draw_deals, play

from .helpers import actor_of, sampled, small_network, tiny, variants_of

DRAW = DrawConfig()


def weights_of(network: Any) -> Weights:
    meta = {"format": 1}
    return Weights(network.columns, True, network.tensors(), meta)


def test_snapshots_are_due_at_the_start_and_every_twentieth_part() -> None:
    assert [snapshots_due(f) for f in (0.0, 0.049, 0.05, 0.5, 1.0)] == [1, 1, 2, 11, 21]


def test_the_oldest_snapshot_goes(tmp_path: Path) -> None:
    weights = weights_of(small_network(variants_of("international")))
    pool = Pool(tmp_path, 2)
    for iteration in (3, 9, 12):
        pool.add(iteration, weights)
    assert list(pool.members) == [9, 12]
    pool.save()
    pool.add(20, weights)
    pool.save()
    names = {path.stem for path in (tmp_path / FOLDER).glob("*.safetensors")}
    assert names == {"0009", "0012", "0020"}
    pool.prune({9})
    assert (tmp_path / FOLDER / "0009.json").is_file()
    pool.prune({12})
    assert not list((tmp_path / FOLDER).glob("0009*"))
    again = Pool(tmp_path, 2)
    with pytest.raises(RunError, match=r"opponent pool: .*0009"):
        again.load([9, 12])


def test_the_draw_gives_each_table_one_snapshot() -> None:
    variants = variants_of("international")
    opponent = Opponent(RULE)
    deals = draw_deals(DRAW, variants, 1, 2, 0, 10, 20, opponent, 4000, 4)
    assert not deals.snapshot[:30].any() and deals.snapshot[30:].all()
    assert (deals.control[10:30] == RULE).sum() == 60 and not deals.control[30:].any()
    tables = deals.frozen[30:]
    assert ((tables > 0).sum(1) == 3).all()
    who = tables.max(1)
    assert (np.sort(np.unique(who)) == [1, 2, 3, 4]).all()
    assert all(set(row) <= {0, w} for row, w in zip(tables.tolist(), who.tolist(), strict=True))
    assert np.bincount(who)[1:] / 4000 == pytest.approx(0.25, abs=0.03)
    assert (tables == 0).mean(0) == pytest.approx(0.25, abs=0.03)
    # Tables of the other kinds are what they are without snapshots, but for what chance brings.
    rule: Any = make_agent("rule")
    apart = draw_deals(DRAW, variants, 1, 2, 0, 10, 20, Opponent(0, rule), 50, 4)
    assert set(np.unique(apart.frozen[10:30])) == {0, 1}
    assert set(np.unique(apart.frozen[30:])) == {0, 2, 3, 4, 5}


def test_only_the_learner_learns_and_each_agent_plays_its_seats() -> None:
    class Spy:
        def __init__(self, name: str) -> None:
            self.name = name
            self.rule: Any = make_agent("rule")
            self.matches: set[int] = set()

        def act(self, view: Any, rng: Any) -> int:
            raise AssertionError

        def act_batch(self, views: Any, tables: Any, keys: Any) -> Any:
            self.matches |= set(views.match.tolist())
            return self.rule.act_batch(views, tables, keys)

    variants = variants_of("international")
    network = small_network(variants)
    spies = [Spy("one"), Spy("two")]
    deals = draw_deals(DRAW, variants, 3, 1, 0, 5, 10, Opponent(RULE), 30, 2)
    strata = Strata(variants)
    made = play(variants, DRAW, strata, deals, 3, True, actor_of(network), frozen=spies)
    assert not deals.frozen[made.game, made.seat].any()
    assert not deals.control[made.game, made.seat].any()
    for number, spy in enumerate(spies, start=1):
        mine = (deals.frozen == number).any(1)
        assert spy.matches == set(deals.numbers[mine].tolist())
    assert made.results[:, :, 2].sum(1).tolist() == [10, 30]
    points = made.score[15:][deals.frozen[15:] == 0].sum()
    assert np.sign(points) == np.sign(made.results[1, :, 0].sum())


def test_a_snapshot_plays_as_the_learner_did(tmp_path: Path) -> None:
    """At tables of the current policy and its own snapshot everybody plays the same."""
    variants = variants_of("international")
    network = small_network(variants)
    pool = Pool(tmp_path, 8)
    pool.add(1, weights_of(network))
    deals = draw_deals(DRAW, variants, 5, 0, 0, 0, 0, Opponent(RULE), 40, 1)
    strata = Strata(variants)
    made = play(variants, DRAW, strata, deals, 5, True, actor_of(network), frozen=pool.agents)
    everybody = sampled(network, variants, 40)
    assert len(made) < len(everybody) / 3
    own = {
        (int(g), int(s)): list(made.action[(made.game == g) & (made.seat == s)])
        for g, s in zip(made.game, made.seat, strict=True)
    }
    same = [
        own[g, s] == list(everybody.action[(everybody.game == g) & (everybody.seat == s)])
        for g, s in own
    ]
    assert np.mean(same) > 0.8  # sums in another order may tip a draw


def test_a_run_with_a_pool(tmp_path: Path) -> None:
    tables = TableConfig(rule_share=0.3, snapshot_share=0.4, pool_size=2)
    config = tiny(tables=tables, total_decisions=20_000)
    run = run_training(config, tmp_path / "run", progress=False)
    ppo = [entry for entry in read_metrics(run / "metrics.jsonl") if entry["phase"] == "ppo"]
    assert all("pool_margin" in entry for entry in ppo)
    assert "margin" in ppo[0] and "margin" not in ppo[-1]
    assert 20_000 <= ppo[-1]["decisions"] < 25_000
    files = sorted((run / FOLDER).glob("*.safetensors"))
    assert len(files) in (2, 3)  # the two that play, and one that the checkpoint before names
    assert load_policy(files[-1]).weights.width == 32
    last = load_policy(run).weights.meta["progress"]
    assert len(last["pool"]) == 2 and snapshots_named(run) >= set(last["pool"])
    prune_checkpoints(run, set(), newest=1)
    assert snapshots_named(run) == set(last["pool"])
