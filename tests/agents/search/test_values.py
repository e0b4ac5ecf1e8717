"""Values of actions for those who want to look at them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agents.hand_values import HAND_MEANS
from agents.registry import make_agent
from agents.search.values import action_values
from agents.search.worlds import contract_par
from king_env.engine.jit import kernel
from king_env.game import Game
from tests.playing import VARIANTS
from tests.rules.factories import find_variant


def chance(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_action_that_differs_has_a_value(variant: str) -> None:
    rule = make_agent("rule")
    game = Game(find_variant(variant, {}), seed=2)
    for _ in range(20):
        assert game.actor is not None
        view = game.view(game.actor)
        found = action_values(view, chance(), worlds=5)
        assert {value.action for value in found} <= set(view.legal_actions)
        assert [value.name for value in found] == [game.names.format(v.action) for v in found]
        assert [v.lead for v in found] == sorted((v.lead for v in found), reverse=True)
        (own,) = [value for value in found if value.chosen]
        assert own.lead == own.error == 0
        action = rule.act(view, chance())
        if view.phase != "PLAY":
            assert own.action == action
        game.push(action)


def test_leads_are_what_the_worlds_played_out_one_by_one_say() -> None:
    rule = make_agent("rule")
    game = Game("international", episode="deal", contract="no_tricks", seed=4)
    for _ in range(36):  # four tricks are left
        assert game.actor is not None
        game.push(rule.act(game.view(game.actor), chance()))
    seat = game.actor
    assert seat is not None
    view = game.view(seat)
    found = action_values(view, chance(), 1000)
    assert len(found) > 1
    own = next(value for value in found if value.chosen)
    worlds = view.sample_worlds(400, chance(7))
    points = np.zeros((len(found), 400))
    for column in range(400):
        for row, value in enumerate(found):
            world = Game.from_batch(game.variant, worlds, column)
            world.push(value.action)
            while world.actor is not None:
                world.push(rule.act(world.view(world.actor), chance()))
            points[row, column] = world.scores[seat]
    ahead = points - points[found.index(own)]
    errors = ahead.std(axis=1, ddof=1) / 20
    for value, mean, error in zip(found, ahead.mean(axis=1), errors, strict=True):
        assert abs(value.lead - mean) <= 4 * np.hypot(value.error, error), value
        assert value.error == pytest.approx(error * np.sqrt(400 / 1000), rel=0.25)
    assert max(abs(value.lead) for value in found) > 1


def test_the_same_chance_gives_the_same_values() -> None:
    view = (game := Game("international", seed=3)).view(game.actor or 0)
    assert action_values(view, chance()) == action_values(view, chance())
    assert action_values(view, chance()) != action_values(view, chance(2))


def test_what_is_refused() -> None:
    game = Game("international", seed=3)
    assert game.actor is not None
    view = game.view(game.actor)
    with pytest.raises(ValueError, match="worlds: found 1; allowed: 2 and more"):
        action_values(view, chance(), 1)
    with pytest.raises(ValueError, match="policy: found 'pimc'; allowed: random, greedy, rule"):
        action_values(view, chance(), policy="pimc")
    idle = (game.actor + 1) % 4
    with pytest.raises(ValueError, match=f"view: seat {idle} is not to act"):
        action_values(game.view(idle), chance())


@kernel
def par_of(games: Any, tables: Any) -> float:
    """The par of a game's contract."""
    return contract_par(games[0], tables[games[0].variant], HAND_MEANS)  # type: ignore[no-any-return]


@pytest.mark.parametrize("contract", ["contract:kupa", "contract:koz:H"])
def test_par_of_a_team_is_half_of_what_it_has_over_the_other(contract: str) -> None:
    """The partner pays a third of what the declarer makes, so 2/3 of it are left."""
    single, pair = (Game(name, seed=7) for name in ("turkish_short", "turkish_short_pairs"))
    for game in (single, pair):
        game.push(contract)
    alone = par_of(single.games, single.tables)
    assert par_of(pair.games, pair.tables) == pytest.approx(2 / 3 * alone)
    assert (abs(alone) > 1) == (contract == "contract:koz:H")
