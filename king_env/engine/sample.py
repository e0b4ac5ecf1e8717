"""Hiding what a seat may not know, and sampling the deals it must reckon with.

Everything the rules let a player conclude is of the form "that seat does not hold these cards".
Worlds are drawn uniformly and exactly by counting over the classes of cards that have the same
possible holders, never by rejection.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from king_env.engine.jit import inline, kernel, lowest, popcount
from king_env.engine.layout import NO_CARD, NUM_SEATS, ONE, ZERO, i64, u64
from king_env.engine.observe import unseen_by
from king_env.engine.rng import below, below_exact, draw
from king_env.engine.step import set_legal


def _binomials(size: int) -> npt.NDArray[np.int64]:
    table = np.zeros((size, size), dtype=np.int64)
    for n in range(size):
        table[n, 0] = 1
        for k in range(1, n + 1):
            table[n, k] = table[n - 1, k - 1] + table[n - 1, k]
    return table


BINOMIAL: Final = _binomials(53)
"""`[53, 53]` int64: n over k. The counts of a deal stay below 39! / 13!^3 < 2**57."""

LAST_CARD: Final = 200
"""Number of the draw that says which card of a seat comes last; a draw for each seat."""


@inline
def hide_from(dst: Any, t: Any, seat: Any) -> None:
    """Blanks what ``seat`` may not know in a copied record: cards, arrival, the seed of the deals.

    ``order`` goes altogether: the arrival of the own cards plays no part any more.
    """
    d = dst.deal
    for other in range(NUM_SEATS):
        for place in range(13):
            d.order[other, place] = NO_CARD
        d.undealt[other] = ZERO
        if other != seat:
            d.hands[other] = ZERO
    if d.actor != seat:
        for word in range(3):
            d.legal[word] = ZERO
    dst.seed = ZERO


@inline
def cards_left(d: Any, t: Any, seat: Any) -> Any:
    """Returns how many cards a seat still has to play, those not dealt yet included."""
    return i64(t.hand_size) - popcount(d.played[seat])


@inline
def take_random(pool: Any, count: Any, key: Any, number: Any) -> Any:
    """Returns a uniformly random subset of ``count`` cards; ``count`` draws from ``number`` on."""
    size = popcount(pool)
    taken = ZERO
    for n in range(count):
        pick = below(draw(key, number + n), size)
        rest = pool
        for _ in range(pick):
            rest &= rest - ONE
        card = rest & ~(rest - ONE)
        taken |= card
        pool &= ~card
        size -= 1
    return taken


@inline
def split_weight(
    n01: Any, n02: Any, n12: Any, n012: Any, r0: Any, r1: Any, r2: Any, x: Any, y: Any, z: Any
) -> Any:
    """Returns the number of deals with one split of the shared classes; 0 where it does not fit.

    The first holder gets x of class 01 and y of class 02, the second z of class 12.
    """
    a = r0 - x - y
    b = r1 - (n01 - x) - z
    c = r2 - (n02 - y) - (n12 - z)
    if a < 0 or b < 0 or c < 0:
        return i64(0)
    pairs = BINOMIAL[n01, x] * BINOMIAL[n02, y] * BINOMIAL[n12, z]
    return pairs * BINOMIAL[n012, a] * BINOMIAL[n012 - a, b]


@inline
def fill_hands(d: Any, t: Any, seat: Any, key: Any) -> Any:
    """Draws the three hidden hands uniformly; returns the number of possible deals (0: none).

    Only ``d.hands`` of the other seats changes.
    """
    s0 = (seat + 1) & 3
    s1 = (seat + 2) & 3
    s2 = (seat + 3) & 3
    unseen = unseen_by(d, t, seat)
    own = ZERO
    if d.shown != NO_CARD and d.shown_owner != seat:
        bit = ONE << u64(d.shown)
        played = d.played[0] | d.played[1] | d.played[2] | d.played[3]
        own = bit & ~played
    m0 = unseen & ~d.not_held[s0]
    m1 = unseen & ~d.not_held[s1]
    m2 = unseen & ~d.not_held[s2]
    h0 = m0 & ~m1 & ~m2
    h1 = m1 & ~m0 & ~m2
    h2 = m2 & ~m0 & ~m1
    c01 = m0 & m1 & ~m2
    c02 = m0 & m2 & ~m1
    c12 = m1 & m2 & ~m0
    c012 = m0 & m1 & m2
    if own:
        if d.shown_owner == s0:
            h0 |= own
        elif d.shown_owner == s1:
            h1 |= own
        else:
            h2 |= own
    r0 = cards_left(d, t, s0) - popcount(h0)
    r1 = cards_left(d, t, s1) - popcount(h1)
    r2 = cards_left(d, t, s2) - popcount(h2)
    n01 = popcount(c01)
    n02 = popcount(c02)
    n12 = popcount(c12)
    n012 = popcount(c012)
    if r0 < 0 or r1 < 0 or r2 < 0 or n01 + n02 + n12 + n012 != r0 + r1 + r2:
        return i64(0)
    total = i64(0)
    for x in range(min(n01, r0) + 1):
        for y in range(min(n02, r0 - x) + 1):
            for z in range(min(n12, r1) + 1):
                total += split_weight(n01, n02, n12, n012, r0, r1, r2, x, y, z)
    if total == 0:
        return total
    left = i64(below_exact(key, 0, total))
    for x in range(min(n01, r0) + 1):
        for y in range(min(n02, r0 - x) + 1):
            for z in range(min(n12, r1) + 1):
                left -= split_weight(n01, n02, n12, n012, r0, r1, r2, x, y, z)
                if left < 0:
                    part01 = take_random(c01, x, key, 1)
                    part02 = take_random(c02, y, key, 20)
                    part12 = take_random(c12, z, key, 40)
                    a = r0 - x - y
                    part0 = take_random(c012, a, key, 60)
                    rest = c012 & ~part0
                    part1 = take_random(rest, r1 - (n01 - x) - z, key, 80)
                    d.hands[s0] = h0 | part01 | part02 | part0
                    d.hands[s1] = h1 | (c01 & ~part01) | part12 | part1
                    d.hands[s2] = h2 | (c02 & ~part02) | (c12 & ~part12) | (rest & ~part1)
                    return total
    return i64(0)


@inline
def fill_early(d: Any, t: Any, seat: Any, key: Any) -> None:
    """Draws all hidden cards while some have not arrived: nothing is known of any of them."""
    pool = t.pack & ~d.hands[seat]
    dealt = i64(d.dealt)
    number = i64(1)
    for other in range(NUM_SEATS):
        if other != seat:
            d.hands[other] = take_random(pool, dealt, key, number)
            pool &= ~d.hands[other]
            number += dealt
    for other in range(NUM_SEATS):
        later = i64(t.hand_size) - dealt
        d.undealt[other] = take_random(pool, later, key, number)
        pool &= ~d.undealt[other]
        number += later


@inline
def write_order(d: Any, key: Any) -> None:
    """Writes an order of arrival that fits the record: played, held, still to come.

    Which card comes last, all that rules ask of the order of those to come, is drawn.
    """
    for seat in range(NUM_SEATS):
        place = 0
        for part in range(3):
            if part == 0:
                pool = d.played[seat]
            elif part == 1:
                pool = d.hands[seat]
            else:
                pool = d.undealt[seat]
            late = ZERO
            if d.shown != NO_CARD and d.shown_owner == seat:
                late = pool & (ONE << u64(d.shown))
            elif part == 2 and pool != ZERO:
                late = take_random(pool, i64(1), key, LAST_CARD + seat)
            pool &= ~late
            while pool != ZERO:
                d.order[seat, place] = lowest(pool)
                place += 1
                pool &= pool - ONE
            if part == 2 and late != ZERO:
                d.order[seat, place] = lowest(late)
                place += 1
        if d.shown != NO_CARD and d.shown_owner == seat:
            d.order[seat, place] = d.shown


@inline
def sample_record(g: Any, t: Any, seat: Any, key: Any) -> bool:
    """Replaces what ``seat`` does not know in a record by a uniform draw; False: contradiction.

    Later deals get a seed of their own too, so that a sampled world never tells the real ones.
    """
    d = g.deal
    if d.dealt < t.hand_size:
        fill_early(d, t, seat, key)
    elif fill_hands(d, t, seat, key) == 0:
        return False
    write_order(d, key)
    g.seed = draw(key, 100000)
    set_legal(g, t)
    return True


# ---------------------------------------------------------------- doors for Python


@kernel
def hide(games: Any, tables: Any, i: int, seat: int, views: Any, j: int) -> None:
    """Copies ``games[i]`` to ``views[j]`` without what ``seat`` may not know."""
    views[j] = games[i]
    v = views[j]
    hide_from(v, tables[v.variant], seat)


@kernel
def hide_actors(games: Any, tables: Any, rows: Any, views: Any) -> None:
    """Copies the games of ``rows`` to ``views`` as the seat to act may know each."""
    for row in range(rows.shape[0]):
        views[row] = games[rows[row]]
        v = views[row]
        hide_from(v, tables[v.variant], i64(v.deal.actor))


@kernel
def sample_worlds(
    views: Any, tables: Any, i: int, seat: int, worlds: Any, first: int, last: int, keys: Any
) -> int:
    """Fills ``worlds[first:last]`` with uniform draws of the deals that fit a seat's view.

    Args:
        views: games; only what ``seat`` may know of ``views[i]`` is read.
        tables: rule tables.
        i: index of the view.
        seat: the seat that looks.
        worlds: games, out: complete records.
        first: first world to fill.
        last: one after the last world to fill.
        keys: `[last - first]` uint64, one random key for each world.

    Returns:
        Worlds filled; fewer than asked for only if the view contradicts itself.
    """
    filled = 0
    for j in range(first, last):
        worlds[j] = views[i]
        w = worlds[j]
        if not sample_record(w, tables[w.variant], i64(seat), keys[j - first]):
            return filled
        filled += 1
    return filled


@kernel
def count_worlds(views: Any, tables: Any, scratch: Any, i: int, seat: int) -> int:
    """Returns the number of deals of the hidden hands that fit a view; all cards dealt."""
    scratch[0] = views[i]
    v = scratch[0]
    return fill_hands(v.deal, tables[v.variant], i64(seat), u64(1))  # type: ignore[no-any-return]
