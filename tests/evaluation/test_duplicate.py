from __future__ import annotations

import io
import json
import math
import re
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from agents.registry import make_agent
from king_env.policy import Policy
from king_env.rules.catalogue import load_variant, variant_names
from king_env.view import View
from tests.evaluation.helpers import BatchedDrawer, Drawer, LastCard, play_one
from train.evaluation.duplicate import (
    Evaluation,
    evaluate,
    match_figures,
    own_margins,
    seatings,
)
from train.evaluation.intervals import estimate
from train.evaluation.report import to_json, to_text
from train.evaluation.seeds import SEED_LISTS, VARIANTS, benchmark_seed

DEAL_KEYS = [
    "benchmark", "candidate", "against", "variant", "start", "deals", "margin", "low", "high",
    "by_contract", "declared",
]  # fmt: skip
MATCH_KEYS = [*DEAL_KEYS, "matches", "points", "first", "first_low", "first_high", "mean_rank"]


def test_margins_worked_by_hand() -> None:
    # One deal of -260 in two of the four seatings; own scores -20 and -80.
    scores = np.array([[[[-20, -100, -40, -100]], [[-60, -80, -60, -60]]]])
    margins = own_margins(scores, np.eye(4, dtype=np.int64)[:2])
    assert margins.tolist() == [[[45.0], [-15.0]]]


def test_partnership_margins_worked_by_hand() -> None:
    # Team 0 and 2: 10 + 30 = 40; team 1 and 3: -20 + 0 = -20; half of the difference is 30.
    scores = np.array([[[[10, -20, 30, 0]], [[10, -20, 30, 0]]]])
    assert own_margins(scores, seatings(True)).tolist() == [[[30.0], [-30.0]]]


def test_first_places_and_ranks_with_ties() -> None:
    totals = np.array([[[10, 10, 5, 0], [10, 10, 5, 0], [10, 10, 5, 0], [7, 7, 7, 7]]])
    first, rank = match_figures(totals, seatings(False))
    assert first.tolist() == [[0.5, 0.5, 0.0, 0.25]]
    assert rank.tolist() == [[1.5, 1.5, 3.0, 2.5]]


def test_first_places_of_teams() -> None:
    totals = np.array([[[10, 0, 0, 5], [10, 0, 0, 5]]])
    first, rank = match_figures(totals, seatings(True))
    assert first.tolist() == [[1.0, 0.0]] and rank.tolist() == [[1.0, 2.0]]
    first, rank = match_figures(np.array([[[1, 0, 0, 1]] * 2]), seatings(True))
    assert first.tolist() == [[0.5, 0.5]] and rank.tolist() == [[1.5, 1.5]]


@pytest.mark.parametrize("name", ["random", "greedy", "rule"])
@pytest.mark.parametrize("options", [{}, {"d.partnership": True}], ids=["solo", "pairs"])
def test_a_table_of_equals_has_margin_zero(name: str, options: dict[str, object]) -> None:
    variant = "turkish_short" if options else "international"
    result = evaluate(name, name, variant, options=options, deals=60)
    assert (result.margin.mean, result.margin.low, result.margin.high) == (0, 0, 0)
    assert not any(stratum.differs for stratum in result.strata.values())
    match = evaluate(name, name, variant, options=options, matches=4).matches
    assert match is not None and match.points.mean == 0
    assert match.first.mean == (0.5 if options else 0.25)
    assert match.rank.mean == (1.5 if options else 2.5)


@pytest.mark.parametrize("agents", [(Drawer(), LastCard()), (BatchedDrawer(), None)])
def test_equal_copies_of_any_kind_of_agent_have_margin_zero(agents: tuple[Any, Any]) -> None:
    for agent in agents:
        if agent is not None:
            assert evaluate(agent, agent, deals=7).margin.mean == 0


def _brute_force(
    candidate: Policy, against: Policy, variant: Any, num_deals: int, start: str
) -> list[float]:
    """Returns the unit of every deal, from single games through ``Game``."""
    units = []
    for number in range(num_deals):
        own = []
        pairs = variant.spec.partnership
        for seat in range(2 if pairs else 4):
            mine = {seat, seat + 2} if pairs else {seat}
            table = [candidate if other in mine else against for other in range(4)]
            game = play_one(variant, table, seed=3, number=number, agent_seed=9, start=start)
            if pairs:
                team = sum(game.scores[other] for other in mine)
                own.append((team - (sum(game.scores) - team)) / 2)
            else:
                own.append(game.scores[seat] - sum(game.scores) / 4)
        units.append(sum(own) / len(own))
    return units


@pytest.mark.parametrize("start", ["decision", "play"])
@pytest.mark.parametrize(
    ("candidate", "against"),
    [("rule", "random"), (BatchedDrawer(), "greedy"), (LastCard(), "random")],
    ids=["compiled", "batched", "plain"],
)
def test_evaluation_equals_brute_force(candidate: Any, against: str, start: str) -> None:
    variant = load_variant("international")
    result = evaluate(candidate, against, variant, deals=12, start=start, seed=3, agent_seed=9)
    player = make_agent(candidate) if isinstance(candidate, str) else candidate
    units = _brute_force(player, make_agent(against), variant, 12, start)
    assert result.margin == estimate(units)
    hearts = [units[1], units[11]]
    assert result.strata["no_hearts"].margin == estimate(hearts)
    assert result.strata["no_hearts"].deals == 2


@pytest.mark.parametrize("start", ["decision", "play"])
def test_partnership_equals_brute_force(start: str) -> None:
    variant = load_variant("turkish_short", {"d.partnership": True})
    result = evaluate("greedy", "random", variant, deals=8, start=start, seed=3, agent_seed=9)
    units = _brute_force(make_agent("greedy"), make_agent("random"), variant, 8, start)
    assert result.margin == estimate(units)


class LowCard:
    """Plays the legal card with the lowest id, and makes the last choice it has."""

    name = "low"

    def act(self, view: View, rng: np.random.Generator) -> int:
        return view.legal_actions[-1 if view.phase == "CHOOSE" else 0]


def test_a_deal_of_pairs_worked_by_hand() -> None:
    """One deal in both seatings, scores added up seat by seat."""
    variant = load_variant("turkish_short", {"d.partnership": True})
    pair, others = LowCard(), LastCard()
    tables: list[list[Policy]] = [[pair, others, pair, others], [others, pair, others, pair]]
    games = [play_one(variant, table, seed=3, number=0, agent_seed=9) for table in tables]
    one, two = (game.scores for game in games)
    first = ((one[0] + one[2]) - (one[1] + one[3])) / 2
    second = ((two[1] + two[3]) - (two[0] + two[2])) / 2
    assert first != 0 != second != first
    result = evaluate(pair, others, variant, deals=1, seed=3)
    assert result.pairs and result.margin.mean == (first + second) / 2


def test_places_of_pairs_go_by_team() -> None:
    variant = load_variant("turkish_short", {"d.partnership": True})
    pair, others = LastCard(), LowCard()
    firsts, ranks = [], []
    for number in range(3):
        for table, mine in (([pair, others] * 2, 0), ([others, pair] * 2, 1)):
            seats: list[Any] = table
            scores = play_one(
                variant, seats, seed=3, number=number, agent_seed=9, episode="match"
            ).scores
            teams = [scores[0] + scores[2], scores[1] + scores[3]]
            firsts.append(float(teams[mine] > teams[1 - mine]))
            ranks.append(1 + (teams[mine] < teams[1 - mine]))
            assert teams[0] != teams[1]
    result = evaluate(pair, others, variant, matches=3, seed=3).matches
    assert result is not None and result.first.mean == pytest.approx(np.mean(firsts))
    assert result.rank.mean == pytest.approx(np.mean(ranks))


def test_the_report_says_that_pairs_were_played() -> None:
    options: dict[str, object] = {"d.partnership": True}
    result = evaluate("greedy", "random", "turkish_short", options=options, deals=4)
    text = " ".join(_text(result).split())  # the caption is as wide as the table
    assert "pairs: each deal played in both seats of either team" in text
    assert "(own team minus other team) / 2" in text and "every seat" not in text
    assert list(to_json(result)) == DEAL_KEYS
    assert "pairs" not in _text(evaluate("greedy", "random", "turkish_short", deals=4))


def test_strata_are_fixed_before_the_deal() -> None:
    result = evaluate("greedy", "random", deals=100)
    expected = ["no_tricks", "no_hearts", "no_queens", "no_men", "no_king", "no_last2", "auction"]
    assert list(result.strata) == expected
    assert [stratum.deals for stratum in result.strata.values()] == [10] * 6 + [40]
    assert set(result.declared) <= {"positive", "no_trump", "nulls", "unplayed"}
    assert sum(result.declared.values()) == pytest.approx(1)
    assert sum(result.declared_by_candidate.values()) == pytest.approx(1)
    choice = evaluate("greedy", "random", "turkish_short", deals=40)
    assert list(choice.strata) == ["choice"] and choice.strata["choice"].deals == 40
    assert set(choice.declared) <= {"kupa", "el", "erkek", "kiz", "rifki", "soniki", "koz"}


def test_strata_of_drawn_contracts_tell_no_trump_from_trump() -> None:
    result = evaluate("greedy", "random", deals=300, start="play")
    names = list(result.strata)
    assert names[-3:] == ["positive", "nulls", "no_trump"]
    assert sum(result.strata[name].deals for name in names[-3:]) == 120
    assert not result.declared and not result.declared_by_candidate


def test_the_total_is_the_weighted_mean_of_the_strata() -> None:
    result = evaluate("greedy", "random", deals=200)
    total = sum(s.margin.mean * s.deals for s in result.strata.values()) / 200
    assert result.margin.mean == pytest.approx(total)


def test_a_match_is_one_unit() -> None:
    variant = load_variant("international")
    result = evaluate("greedy", "random", variant, matches=3, seed=3, agent_seed=9)
    points = []
    for number in range(3):
        own = []
        for seat in range(4):
            table = [make_agent("greedy" if other == seat else "random") for other in range(4)]
            game = play_one(variant, table, seed=3, number=number, agent_seed=9, episode="match")
            own.append(game.scores[seat] - sum(game.scores) / 4)
        points.append(sum(own) / 4)
    assert result.matches is not None
    assert result.matches.points == estimate(points)
    assert result.margin == estimate(np.array(points) / 10)
    assert result.deals == 30
    assert result.strata["auction"].deals == 12 and result.strata["auction"].margin.count == 3


def test_more_deals_begin_with_the_same_deals() -> None:
    few = evaluate("greedy", "random", deals=4, start="play")
    many = evaluate("greedy", "random", deals=13, start="play")
    assert many.strata["no_men"].margin.mean == few.strata["no_men"].margin.mean


def test_seed_lists_are_different_and_named() -> None:
    assert list(SEED_LISTS) == ["development", "validation", "test"]
    assert len(set(SEED_LISTS.values())) == 3
    with pytest.raises(ValueError, match=r"seed list 'x': unknown; allowed: development"):
        benchmark_seed("x")


def test_benchmark_is_named_only_where_it_was_kept_to() -> None:
    assert evaluate("random", "random", deals=2).benchmark == "king-1"
    assert evaluate("random", "random", deals=2, seed_list="test").benchmark == "king-1"
    assert evaluate("random", "random", deals=2, seed=1).benchmark is None
    changed = evaluate("random", "random", deals=2, options={"early_end": "auto"})
    assert changed.benchmark is None and changed.options == {"early_end": "auto"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"deals": 0},
        {"matches": -1},
        {"deals": 1, "matches": 1},
        {"seed": 1, "seed_list": "test"},
        {"seed": -1},
        {"seed": 2**64},
        {"seed_list": "exam"},
        {"start": "middle"},
        {"matches": 1, "start": "play"},
    ],
    ids=str,
)
def test_bad_arguments(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"allowed|give one|deals only"):
        evaluate("random", "random", **arguments)


def test_every_shipped_variant_is_in_the_benchmark() -> None:
    assert list(VARIANTS) == variant_names()
    for name in VARIANTS:
        result = evaluate("greedy", "random", name, deals=2)
        assert result.benchmark == "king-1" and result.pairs == ("pairs" in name)


def test_large_seeds_are_allowed() -> None:
    assert evaluate("random", "random", deals=2, seed=2**64 - 1).margin.mean == 0


@pytest.mark.parametrize("matches", [False, True])
def test_the_number_of_processes_changes_nothing(
    matches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    amount: dict[str, Any] = (
        {"matches": 5} if matches else {"deals": 2100}
    )  # three pieces, the last a part
    told: list[tuple[int, int]] = []
    one = evaluate("rule", "random", seed=3, **amount)
    two = evaluate(
        "rule", "random", seed=3, workers=2, progress=lambda *counts: told.append(counts), **amount
    )
    assert two == one
    assert told[-1] == (4 * (5 if matches else 2100),) * 2


def test_processes_need_agents_by_name() -> None:
    with pytest.raises(ValueError, match="allowed: 1, or agents by name"):
        evaluate(LastCard(), "random", deals=2, workers=2)
    with pytest.raises(ValueError, match="workers: found 0"):
        evaluate("rule", "random", deals=2, workers=0)


def _text(result: Evaluation) -> str:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(to_text(result))
    return console.export_text()


def test_json_has_the_keys_of_the_format() -> None:
    data = to_json(evaluate("rule", "random", deals=30))
    assert list(data) == DEAL_KEYS
    assert set(data["by_contract"]["auction"]) == {"margin", "low", "high", "deals"}
    data = json.loads(json.dumps(to_json(evaluate("rule", "random", matches=3)), allow_nan=False))
    assert list(data) == MATCH_KEYS
    assert data["matches"] == 3 and data["deals"] == 30
    assert data["points"] == pytest.approx(10 * data["margin"])
    assert data["first_low"] <= data["first"] <= data["first_high"]


def test_json_of_one_deal_has_no_bounds() -> None:
    data = json.loads(json.dumps(to_json(evaluate("greedy", "random", deals=1)), allow_nan=False))
    assert data["low"] is None and data["high"] is None and math.isfinite(data["margin"])


def test_text_says_what_was_played() -> None:
    result = evaluate("greedy", "random", deals=40)
    text = _text(result)
    assert "greedy against random: international, 40 deals" in text
    assert "benchmark king-1, seed list validation" in text
    assert re.search(r"auction .*16", text)
    assert "declared at the table:" in text and "by greedy:" in text
    assert f"{result.margin.mean:+.2f} ± {result.margin.half_width:.2f}" in text
    assert "first places" in _text(evaluate("greedy", "random", matches=3))
