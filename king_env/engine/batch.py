"""Loops over many games: one call from Python, one step of every game.

Axes: N games, M games still in play (``rows`` holds their indices), S seats.
"""

from __future__ import annotations

from typing import Any, Final

from king_env.engine.actions import NUM_ACTIONS, NUM_MASK_WORDS
from king_env.engine.jit import inline, kernel
from king_env.engine.layout import NUM_SEATS, ONE, PHASE_OVER, ZERO, i64, u64
from king_env.engine.observe import float_row, observe_row, unfold_row, write_mask
from king_env.engine.step import (
    ILLEGAL,
    apply,
    apply_forced,
    begin_match,
    begin_suite_deal,
)


@kernel
def begin_episodes(
    games: Any,
    tables: Any,
    rows: Any,
    seed: Any,
    numbers: Any,
    whole_match: int,
    skip: Any,
    forced: int,
) -> None:
    """Starts an episode in each game of ``rows``.

    Args:
        games: `[N]` games; ``variant`` and ``control`` stay as they are.
        tables: rule tables.
        rows: `[M]` int64, games to start.
        seed: uint64, seed of the deals.
        numbers: `[N]` int64, by game: number of the match, or of the deal in the suite.
        whole_match: 1: the episode is a match, 0: a single deal.
        skip: `[N]` uint8, by game: 1: a deal starts at PLAY, decisions skipped.
        forced: 1: forced moves are played at once.
    """
    for row in range(rows.shape[0]):
        i = rows[row]
        g = games[i]
        t = tables[g.variant]
        if whole_match:
            begin_match(g, t, seed, numbers[i], 0, i64(t.num_deals))
        else:
            begin_suite_deal(g, t, seed, numbers[i], i64(skip[i]))
        if forced:
            apply_forced(g, t)


@kernel
def first_illegal(mask: Any, actions: Any) -> int:
    """Returns the first row whose action is not in its `[M, 3]` mask, or -1."""
    for row in range(actions.shape[0]):
        action = i64(actions[row])
        if action < 0 or action >= NUM_ACTIONS:
            return row
        if (mask[row, action >> 6] >> u64(action & 63)) & ONE == ZERO:
            return row
    return -1


@kernel
def step_rows(games: Any, tables: Any, rows: Any, actions: Any, forced: int) -> None:
    """Applies one legal action to each game of ``rows``; forced=1 plays forced moves after it."""
    for row in range(rows.shape[0]):
        g = games[rows[row]]
        t = tables[g.variant]
        apply(g, t, i64(actions[row]))
        if forced:
            apply_forced(g, t)


@inline
def side_score(g: Any, t: Any, seat: Any, finished_only: Any) -> Any:
    """Returns what a seat plays for: its own points, or its team's in a partnership."""
    own = i64(g.totals[seat])
    partner = (seat + 2) & 3
    if t.partnership:
        own += i64(g.totals[partner])
    if finished_only == 0:
        own += i64(g.deal.points[seat])
        if t.partnership:
            own += i64(g.deal.points[partner])
    return own


@inline
def pay(g: Any, t: Any, i: Any, by_deal: Any, rewards: Any) -> None:
    """Writes the points that each seat scored since it was last paid."""
    for seat in range(NUM_SEATS):
        scored = side_score(g, t, seat, by_deal)
        rewards[i, seat] = scored - i64(g.paid[seat])
        g.paid[seat] = scored


@kernel
def collect_rewards(games: Any, tables: Any, rows: Any, by_deal: int, rewards: Any) -> None:
    """Hands out the points scored since the last call, by seat, whoever's turn it was.

    Args:
        games: `[N]` games.
        tables: rule tables.
        rows: `[M]` int64, games to look at.
        by_deal: 1: points are handed out when their deal is finished.
        rewards: `[N, 4]` int32, out: rows of other games are left alone.
    """
    for row in range(rows.shape[0]):
        g = games[rows[row]]
        pay(g, tables[g.variant], rows[row], by_deal, rewards)


@kernel
def step_all(
    games: Any,
    tables: Any,
    rows: Any,
    actions: Any,
    seed: Any,
    numbers: Any,
    whole_match: int,
    skip: Any,
    forced: int,
    by_deal: int,
    restart: int,
    rewards: Any,
    done: Any,
    rows_out: Any,
    seats: Any,
    bits: Any,
    values: Any,
    mask: Any,
    dense: int,
    bit_bytes: Any,
    mask_bytes: Any,
) -> int:
    """Steps each game of ``rows``: action, forced moves, rewards, next episode, observation.

    One pass, so that a game stays in the nearest cache; see ``begin_episodes`` and ``step_rows``
    for the arguments they share.

    Args:
        games: `[N]` games; no seat is played by an opponent.
        tables: rule tables.
        rows: `[M]` int64, games in play.
        actions: `[M]` int64, legal actions.
        seed: uint64, seed of the deals.
        numbers: `[N]` int64, number of each game's episode; moved on by N where one begins.
        whole_match: 1: an episode is a match.
        skip: `[N]` uint8, 1: a deal starts at PLAY.
        forced: 1: forced moves are played.
        by_deal: 1: points are paid when their deal is finished.
        restart: 1: a game that ends begins its next episode at once.
        rewards: `[N, 4]` int32, out: zeros before, only those who scored are written.
        done: `[N]` bool, out.
        rows_out: `[N]` int64, out: games in play after the step.
        seats: `[N]` int64, out: the seat to act in each.
        bits: `[N, W]` uint64, out.
        values: `[N, K]` int16, out.
        mask: `[N, 3]` uint64, out.
        dense: 1: bits and mask are written as bytes too.
        bit_bytes: `[N, 8 W]` uint64, out.
        mask_bytes: `[N, 24]` uint64, out.

    Returns:
        The number of games in play after the step.
    """
    count = 0
    for row in range(rows.shape[0]):
        i = rows[row]
        g = games[i]
        t = tables[g.variant]
        apply(g, t, i64(actions[row]))
        if forced:
            apply_forced(g, t)
        if forced or g.deal.trick_size == 0:  # points are scored where a trick or a deal ends
            pay(g, t, i, by_deal, rewards)
        over = g.deal.phase == PHASE_OVER
        done[i] = over
        if over:
            if restart == 0:
                continue
            numbers[i] += games.shape[0]
            if whole_match:
                begin_match(g, t, seed, numbers[i], i64(0), i64(t.num_deals))
            else:
                begin_suite_deal(g, t, seed, numbers[i], i64(skip[i]))
            if forced:
                apply_forced(g, t)
        observe_row(g, t, i64(g.deal.actor), bits, values, i64(count))
        for word in range(NUM_MASK_WORDS):
            mask[count, word] = g.deal.legal[word]
        if dense:
            unfold_row(bits, bit_bytes, count)
            unfold_row(mask, mask_bytes, count)
        rows_out[count] = i
        seats[count] = g.deal.actor
        count += 1
    return count


@kernel
def rows_in_play(games: Any, out: Any) -> int:
    """Writes the indices of games that are not over to ``out``; returns their number."""
    count = 0
    for i in range(games.shape[0]):
        if games[i].deal.phase != PHASE_OVER:
            out[count] = i
            count += 1
    return count


STATUS_ACTOR: Final = 4
STATUS_DEAL_OVER: Final = 5
STATUS_CONTRACT: Final = 6
STATUS_SIZE: Final = 7


@kernel
def step_single(
    games: Any, tables: Any, i: int, action: int, by_deal: int, status: Any, mask: Any
) -> int:
    """Applies an action in ``games[i]``, pays rewards and writes the next seat's mask.

    Args:
        games: games.
        tables: rule tables.
        i: the game.
        action: action id.
        by_deal: 1: points are paid when their deal is finished.
        status: `[7]` int64, out: reward of each seat; the seat to act, or NOBODY; 1 if the deal is
            over; the deal's contract, or UNKNOWN.
        mask: `[A]` int8, out: legal actions.

    Returns:
        0, or ILLEGAL and nothing has changed.
    """
    g = games[i]
    t = tables[g.variant]
    position = i64(g.position)
    if apply(g, t, i64(action)) == ILLEGAL:
        return ILLEGAL
    for seat in range(NUM_SEATS):
        scored = side_score(g, t, seat, by_deal)
        status[seat] = scored - i64(g.paid[seat])
        g.paid[seat] = scored
    status[STATUS_ACTOR] = g.deal.actor
    over = g.deal.phase == PHASE_OVER or i64(g.position) != position
    status[STATUS_DEAL_OVER] = 1 if over else 0
    status[STATUS_CONTRACT] = g.deal.contract
    write_mask(g.deal, mask)
    return 0


@kernel
def observe_single(
    games: Any, tables: Any, i: int, seat: int, bits: Any, numbers: Any, out: Any
) -> None:
    """Writes the float32 observation of a seat of ``games[i]``; `[1, W]`, `[1, K]` are scratch."""
    g = games[i]
    observe_row(g, tables[g.variant], seat, bits, numbers, 0)
    float_row(bits, numbers, 0, out)
