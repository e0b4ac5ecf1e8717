"""The history: every public action of the deal in order, as each seat sees it, within its bound."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from king_env.engine.layout import NOBODY, PHASES, UNKNOWN
from king_env.envs.aec import raw_env
from king_env.envs.core import AGENTS
from king_env.game import Game
from king_env.history import (
    FIELDS,
    MAX_DECISIONS,
    MAX_HISTORY,
    NUM_FIELDS,
    PADDING,
    history_of,
    history_space,
)
from tests.playing import VARIANTS, new_game, pick, play
from tests.rules.factories import find_variant

LONG: list[tuple[str, dict[str, object]]] = [
    ("international", {"a.negotiation.max_requests": 3, "a.ultimatum.timing": "both",
                       "a.auction.match": "same_value", "a.ultimatum.fallback": "free",
                       "a.auction.plus8_binding": "ultimatum_only",
                       "a.auction.bid_binds_deal": False}),
]  # fmt: skip


def test_the_block_list() -> None:
    offset = 0
    for name, block in FIELDS.items():
        assert name == block.name and block.offset == offset and block.meaning
        offset += block.size
    assert offset == NUM_FIELDS
    space = history_space()
    assert space.shape == (MAX_HISTORY, NUM_FIELDS) and space.dtype == np.int16


@pytest.mark.parametrize("variant", VARIANTS)
def test_rows_are_the_actions_of_the_deal(variant: str) -> None:
    game = new_game(variant, seed=3)
    step = game.variant.spec.step
    rng = random.Random(3)
    expected: list[tuple[int, int, int]] = []
    deals = len(game.deals)
    space = history_space()
    for _ in range(250):
        for seat in range(4):
            rows = history_of(game, seat)
            assert rows in space
            count = len(expected)
            assert (rows[count:] == PADDING).all()
            relative = [((who - seat) * step % 4, action, phase) for who, action, phase in expected]
            assert rows[:count].tolist() == [list(row) for row in relative]
        if game.is_over:
            break
        actor, phase = game.actor, PHASES.index(game.phase)
        assert actor is not None
        action = pick(game, rng)
        game.push(action)
        if len(game.deals) > deals:
            deals, expected = len(game.deals), []  # a new deal begins anew
        else:
            expected.append((actor, action, phase))
    assert deals > 2


def test_the_last_deal_stays_when_the_game_is_over() -> None:
    game = play(new_game("international", seed=1, match=7, episode="deal"), random.Random(2))
    rows = history_of(game, 0)
    count = int((rows[:, 0] != PADDING).sum())
    assert game.is_over and count == len(game.deals[0].actions) > 0


def test_all_seats_see_the_same_actions() -> None:
    game = play(new_game("tiny_counter", seed=1), random.Random(1), 13)
    step = game.variant.spec.step
    seen = [history_of(game, seat) for seat in range(4)]
    for seat in range(1, 4):
        assert np.array_equal(seen[0][:, 1:], seen[seat][:, 1:])
        turned = (seen[0][:, 0] - seat * step) % 4
        count = len(game.deals[-1].actions)
        assert np.array_equal(seen[seat][:count, 0], turned[:count])


def test_observations_hold_it_where_it_was_asked_for() -> None:
    environment = raw_env("turkish_short", history=True)
    environment.reset(seed=2)
    rng = random.Random(2)
    for _ in range(20):
        for seat, agent in enumerate(AGENTS):
            seen = environment.observe(agent)
            assert seen in environment.observation_space(agent)
            assert list(seen) == ["observation", "action_mask", "history"]
            assert np.array_equal(seen["history"], history_of(environment.game, seat))
        environment.step(pick(environment.game, rng))
    plain = raw_env("turkish_short")
    plain.reset(seed=2)
    assert "history" not in plain.observe(AGENTS[0])
    assert "history" not in plain.observation_space(AGENTS[0]).spaces  # type: ignore[attr-defined]


def _state(game: Game) -> bytes:
    """What decides how a deal's auction can go on; counts that only grow are capped or left out."""
    deal: Any = game.games[0].copy().deal
    deal.decisions = 0
    deal.declined = UNKNOWN
    deal.offers = min(int(deal.offers), 8)
    return deal.tobytes()  # type: ignore[no-any-return]


def longest_decisions(game: Game) -> int:
    """Returns the largest number of actions before the first card, by search over all of them."""
    known: dict[bytes, int] = {}

    def search(node: Game) -> int:
        if node.actor in (None, NOBODY) or node.phase == "PLAY":
            return 0
        key = _state(node)
        if key not in known:
            known[key] = 0
            for action in node.legal_actions:
                after = node.clone()
                after.push(action)
                known[key] = max(known[key], 1 + search(after))
        return known[key]

    return search(game)


@pytest.mark.parametrize(
    ("variant", "options"), [*((name, {}) for name in VARIANTS), *LONG], ids=str
)
def test_the_bound_holds_for_the_longest_deal(variant: str, options: dict[str, object]) -> None:
    loaded = find_variant(variant, options)
    longest = 0
    decisions = [deal.decision for deal in loaded.spec.deals]
    for decision in sorted(set(decisions)):
        game = Game(loaded, episode="deal", match=decisions.index(decision))
        longest = max(longest, longest_decisions(game))
    assert longest <= MAX_DECISIONS
    assert loaded.spec.pack <= MAX_HISTORY - MAX_DECISIONS
    if options:
        assert longest == 31  # what the head of history.py says
