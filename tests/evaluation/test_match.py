from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from agents.registry import make_agent
from king_env.engine.actions import ActionId
from king_env.engine.layout import Games, Tables
from king_env.policy import AgentActionError, Policy
from king_env.rules.catalogue import load_variant
from king_env.view import View
from tests.evaluation.helpers import BatchedDrawer, Drawer, LastCard, play_one
from train.evaluation import match
from train.evaluation.match import (
    Results,
    TableRunner,
    label,
    stratum_of_position,
)

INTERNATIONAL = load_variant("international")
TURKISH = load_variant("turkish_short")

TABLES: dict[str, list[Policy]] = {
    "compiled": [make_agent(name) for name in ("random", "greedy", "rule", "random")],
    "mixed": [BatchedDrawer(), make_agent("random"), BatchedDrawer(), make_agent("greedy")],
    "plain": [Drawer(), make_agent("random"), LastCard(), BatchedDrawer()],
}


def _play(agents: list[Policy], num_games: int, variant: Any = INTERNATIONAL, **kw: Any) -> Results:
    runner = TableRunner(variant, agents, agent_seed=11, record=kw.pop("record", False))
    numbers = np.arange(num_games, dtype=np.int64)
    seating = np.tile(np.arange(4) % len(agents), (num_games, 1))
    return runner.play(numbers, seating, seed=5, **kw)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("variant", [INTERNATIONAL, TURKISH], ids=lambda variant: variant.name)
def test_deals_equal_single_games(table: str, variant: Any) -> None:
    agents = TABLES[table]
    for start in ("decision", "play"):
        results = _play(agents, 10, variant, start=start)
        for number in range(10):
            game = play_one(variant, agents, seed=5, number=number, agent_seed=11, start=start)
            assert results.scores[number, 0].tolist() == game.scores
            log = game.deals[0]
            if log.contract is not None:
                found = variant.spec.contract[results.contract[number, 0]]
                assert found.id == log.contract
            assert results.position[number, 0] == number % len(variant.spec.deals)


@pytest.mark.parametrize("table", TABLES)
def test_matches_equal_single_games_deal_by_deal(table: str) -> None:
    agents = TABLES[table]
    results = _play(agents, 2, whole_match=True, record=True)
    assert results.scores.shape == (2, 10, 4)
    for number in range(2):
        game = play_one(
            INTERNATIONAL, agents, seed=5, number=number, agent_seed=11, episode="match"
        )
        assert results.scores[number].tolist() == [log.scores for log in game.deals]
        assert results.actions[number] == [log.actions for log in game.deals]
        assert results.scores[number].sum(axis=0).tolist() == game.scores


def test_recording_changes_nothing() -> None:
    agents = TABLES["compiled"]
    with_record = _play(agents, 30, record=True)
    without = _play(agents, 30)
    assert (with_record.scores == without.scores).all()
    assert not without.actions and len(with_record.actions) == 30


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    finished: list[int] = []
    whole = _play(TABLES["mixed"], 30)
    monkeypatch.setattr(match, "CHUNK", 8)
    parts = _play(TABLES["mixed"], 30, progress=finished.append)
    assert (whole.scores == parts.scores).all() and (whole.declarer == parts.declarer).all()
    assert finished == [8, 8, 8, 6]


class Watcher:
    """Looks at everything it is given."""

    name = "watcher"

    def __init__(self) -> None:
        self.views = 0

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        deal = view.record[0].deal
        assert len(view.legal_actions) > 1, "asked without a choice"
        assert int(deal.actor) == view.seat
        assert len(view.history) == int(deal.decisions), "the whole deal so far"
        others = [seat for seat in range(4) if seat != view.seat]
        assert all(int(deal.hands[seat]) == 0 for seat in others)
        assert int(view.record[0].seed) == 0
        self.views += 1
        return view.legal_actions[0]


class BatchedWatcher(Watcher):
    def act_batch(
        self, views: Games, tables: Tables, keys: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        actions = np.zeros(len(views), dtype=np.int64)
        for row, view in enumerate(views):
            actor = int(view.deal.actor)
            legal = View(INTERNATIONAL, views, tables, row, actor).legal_actions
            assert len(legal) > 1
            assert [int(hand) != 0 for hand in view.deal.hands] == [i == actor for i in range(4)]
            assert (view.deal.undealt == 0).all() and view.seed == 0
            actions[row] = legal[0]
        self.views += len(views)
        return actions


@pytest.mark.parametrize("kind", [Watcher, BatchedWatcher])
def test_agents_see_views_only_and_are_asked_only_where_there_is_a_choice(kind: Any) -> None:
    watcher = kind()
    _play([watcher, make_agent("random")], 10)
    assert watcher.views > 100


class Wrong:
    name = "wrong"

    def __init__(self, action: int) -> None:
        self.action = action

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        return self.action


class WrongShape(BatchedDrawer):
    def act_batch(
        self, views: Games, tables: Tables, keys: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        return np.zeros(len(views) + 1, dtype=np.int64)


@pytest.mark.parametrize("action", [-1, 52, 148, 149, 100000])
def test_an_illegal_action_names_agent_seat_and_phase(action: int) -> None:
    with pytest.raises(AgentActionError, match=r"agent .wrong.: action .* seat . in phase PLAY"):
        _play([Wrong(action)], 1)


def test_a_wrong_shape_is_refused() -> None:
    with pytest.raises(AgentActionError, match="shape"):
        _play([WrongShape()], 3)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="start: found 'later'; allowed: decision, play"):
        _play(TABLES["compiled"], 1, start="later")
    with pytest.raises(ValueError, match="deals only"):
        _play(TABLES["compiled"], 1, start="play", whole_match=True)


def test_labels_and_strata() -> None:
    spec = INTERNATIONAL.spec
    positive = spec.contract_index("positive")
    assert label(INTERNATIONAL, positive, 2) == "positive"
    assert label(INTERNATIONAL, positive, 4) == "no_trump"
    assert label(INTERNATIONAL, spec.contract_index("nulls"), 4) == "nulls"
    assert label(INTERNATIONAL, -1, -1, unplayed=True) == "unplayed"
    names = [stratum_of_position(INTERNATIONAL, k) for k in range(10)]
    assert names[:2] == ["no_tricks", "no_hearts"] and names[6:] == ["auction"] * 4
    assert stratum_of_position(TURKISH, 3) == "choice"


def test_declarer_of_what_was_declared() -> None:
    results = _play([make_agent("random")], 1000)
    decided = results.position[:, 0] >= 6
    assert (results.declarer[decided] < 4).all()
    assert (results.declarer[~decided] == 4).all()
    unplayed = results.unplayed[:, 0]
    assert unplayed.any() and decided[unplayed].all()
