"""Worlds drawn by the likelihood of the play seen: the replay, the regret, the draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.ids import RANDOM, RULE
from agents.search import likely
from king_env.engine import batch, sample
from king_env.engine.jit import kernel
from king_env.engine.layout import PHASE_PLAY, allocate, i64
from tests.agents.search.positions import deals, move_on
from tests.playing import VARIANTS, positions
from tests.rules.factories import find_variant


@kernel
def regrets(worlds: Any, tables: Any, room: int, seat: int, out: Any) -> None:
    """The regret of the play seen in each world below ``room``."""
    for w in range(room):
        t = tables[worlds[w].variant]
        out[w] = likely.regret_of_play(worlds, i64(w), i64(room), t, i64(seat))


@kernel
def draw_many(views: Any, tables: Any, seat: int, keys: Any, worlds: Any, hands: Any) -> int:
    """Draws a likely world for each key; returns how many there are."""
    view = views[0]
    t = tables[view.variant]
    for n in range(keys.shape[0]):
        if not likely.draw_likely_world(view, worlds, i64(0), i64(1), t, i64(seat), keys[n]):
            return n
        for other in range(4):
            hands[n, other] = worlds[0].deal.hands[other]
    return keys.shape[0]  # type: ignore[no-any-return]


def middle(policy: int, count: int = 12, seed: int = 3) -> tuple[Any, Any]:
    """Deals of every variant that a policy has played on to all stages of PLAY."""
    games, tables = deals([find_variant(name, {}) for name in VARIANTS], count, seed)
    in_play = np.zeros(len(games), dtype=np.int64)
    stop = 1 + np.arange(len(games)) * 5 % 48
    while True:
        rows = in_play[: batch.rows_in_play(games, in_play)]
        played = np.bitwise_count(games.deal.played).sum(axis=1)
        rows = rows[played[rows] < stop[rows]].copy()
        if not rows.size:
            break
        move_on(games, tables, rows, seed, policy)
    kept = np.flatnonzero(games.deal.phase == PHASE_PLAY)
    chosen = allocate(len(kept) + 1)
    chosen[:-1] = games[kept]
    return chosen, tables


def test_the_record_tells_when_each_card_was_played() -> None:
    for game in positions("international", 4, 0.1):
        if game.phase != "PLAY":
            continue
        deal = game.record.deal
        cards = [action for _, action in game.deals[-1].actions if action < 52]
        cards = cards[-int(np.bitwise_count(deal.played).sum()) or 52 :]
        for place, card in enumerate(cards):
            assert int(deal.when[card // 13]) >> 4 * (card % 13) & 15 == place // 4


def test_what_the_agent_plays_it_does_not_regret() -> None:
    """The deal is played again exactly as it was: every card is then the agent's own choice."""
    games, tables = middle(RULE)
    out = np.zeros(len(games))
    assert len(games) > 100
    for seat in range(4):
        regrets(games, tables, len(games) - 1, seat, out)
        assert np.abs(out[:-1]).max() < 1e-9


def test_what_others_play_it_regrets() -> None:
    games, tables = middle(RANDOM)
    out = np.zeros(len(games))
    late = np.bitwise_count(games.deal.played).sum(axis=1)[:-1] > 12
    regrets(games, tables, len(games) - 1, 0, out)
    assert (out[:-1] >= 0).all() and (out[:-1][late] > 0).mean() > 0.9


def test_a_record_that_does_not_tell_how_it_was_played() -> None:
    games, tables = middle(RANDOM)
    games.deal.when[:] = 0
    out = np.ones(len(games))
    regrets(games, tables, len(games) - 1, 0, out)
    late = np.bitwise_count(games.deal.played).sum(axis=1)[:-1] >= 8
    assert (out[:-1][late] == 0).all()


def test_likely_worlds_are_regretted_less_and_fit() -> None:
    games, tables = middle(RULE)
    keys = np.arange(40, dtype=np.uint64)
    view, worlds, room = allocate(1), allocate(4), allocate(len(keys) + 1)
    hands = np.zeros((len(keys), 4), dtype=np.uint64)
    likely_out, uniform_out = np.zeros(len(keys) + 1), np.zeros(len(keys) + 1)
    less = more = 0
    for i in range(0, len(games) - 1, 3):
        seat = int(games.deal.actor[i])
        sample.hide(games, tables, i, seat, view, 0)
        assert sample.sample_worlds(view, tables, 0, seat, room, 0, len(keys), keys) == len(keys)
        regrets(room, tables, len(keys), seat, uniform_out)
        assert draw_many(view, tables, seat, keys, worlds, hands) == len(keys)
        assert (hands[:, seat] == view.deal.hands[0, seat]).all()
        room.deal.hands[:-1] = hands
        regrets(room, tables, len(keys), seat, likely_out)
        less += likely_out[:-1].mean() < uniform_out[:-1].mean() - 1e-9
        more += likely_out[:-1].mean() > uniform_out[:-1].mean() + 1e-9
    assert less > 20 and less > 5 * more
