"""Golden files are what the engine gives today; the twin counts the same lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from king_env.engine.perft import perft
from king_env.game import Game
from king_env.rules.catalogue import load_variant
from tests.golden.make import (
    FROZEN,
    PERFT,
    PLAYTHROUGHS,
    frozen_agents,
    frozen_message,
    frozen_text,
    perft_positions,
    play_digest,
    playthrough,
)
from tests.naive import NaiveMatch
from tests.playing import SHIPPED

GOLDEN: Mapping[str, Any] = json.loads(PERFT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("variant", SHIPPED)
def test_perft(variant: str) -> None:
    assert perft_positions(variant) == GOLDEN[variant]


@pytest.mark.parametrize("variant", SHIPPED)
def test_playthrough(variant: str) -> None:
    golden = (PLAYTHROUGHS / f"{variant}.txt").read_text(encoding="utf-8")
    assert playthrough(variant) == golden


@pytest.mark.parametrize("variant", SHIPPED)
@pytest.mark.parametrize("agent", frozen_agents())
def test_frozen_agents_play_as_ever(agent: str, variant: str) -> None:
    digests = json.loads(FROZEN.read_text(encoding="utf-8"))
    assert play_digest(agent, variant) == digests[agent][variant], frozen_message(agent, variant)


def test_frozen_play_is_not_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """``make golden`` adds what is missing and refuses what has changed."""
    variants = ["international", "rifki"]
    monkeypatch.setattr("tests.golden.make.SHIPPED", variants)
    digests = json.loads(FROZEN.read_text(encoding="utf-8"))
    whole = {agent: {name: play[name] for name in variants} for agent, play in digests.items()}
    known = {"rule@1": {"international": whole["rule@1"]["international"]}}
    assert json.loads(frozen_text(known)) == whole
    with pytest.raises(SystemExit, match=r"rule@1 is frozen.*rifki.*a new number"):
        frozen_text({"rule@1": {"rifki": "0123456789abcdef"}})


def test_there_is_nothing_else() -> None:
    assert sorted(GOLDEN) == sorted([*SHIPPED, "seed"])
    assert sorted(path.stem for path in PLAYTHROUGHS.iterdir()) == SHIPPED


def naive_lines(position: list[str], make: Any, depth: int) -> int:
    """Lines of a number of actions on the twin, by trying them all."""
    match = make()
    for name in position:
        match.push(name)
    if match.deal_index > 0:
        return 1
    legal = sorted(match.legal())
    if depth == 1:
        return len(legal)
    return sum(naive_lines([*position, name], make, depth - 1) for name in legal)


@pytest.mark.parametrize("variant", SHIPPED)
def test_the_twin_counts_the_same_lines(variant: str) -> None:
    """The first deal of a match, where no choice has been used up."""
    position = next(entry for entry in GOLDEN[variant] if entry["deal"] == 0)
    log = Game(variant, seed=GOLDEN["seed"], match=0, episode="deal").deals[0]

    def make() -> NaiveMatch:
        return NaiveMatch(variant, {}, log.dealer, lambda _: log.dealt)

    for depth in (1, 2, 3):
        expected = position["lines"][depth - 1]
        assert naive_lines(list(position["actions"]), make, depth) == expected


def test_depth_is_checked() -> None:
    game = Game("rifki")
    for depth in (0, 17):
        with pytest.raises(ValueError, match=f"depth: found {depth}; allowed: 1 to 16"):
            perft(game.games, game.tables, 0, depth)


def test_a_line_that_ends_early_counts_once() -> None:
    """WRITE2 ends a deal at once: of eight orders one goes no further."""
    spec = load_variant("russian_auction").spec
    first_ordered = [deal.decision for deal in spec.deals].index("order")
    game = Game("russian_auction", match=first_ordered, episode="deal")
    assert perft(game.games, game.tables, 0, 1) == 8
    # Seven orders are followed by pass or one of eight bids, WRITE2 by nothing.
    assert perft(game.games, game.tables, 0, 2) == 7 * 9 + 1
