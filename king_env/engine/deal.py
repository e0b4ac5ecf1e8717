"""Dealing: the cards of deal k of match m under seed s, or given cards."""

from __future__ import annotations

from typing import Any

from king_env.engine.jit import inline, outline
from king_env.engine.layout import NUM_SEATS, ONE, ZERO, i64, u64
from king_env.engine.rng import STREAM_CARDS, below, below_low, draw, make_key


@outline
def shuffle_pack(d: Any, t: Any, seed: Any, match: Any, position: Any) -> None:
    """Fills ``d.order`` with a shuffled pack (Fisher-Yates).

    Place p of the shuffled pack goes to seat p % 4 as card p // 4. Starting with the seat after the
    dealer, as at a table, would only rename the shuffle.
    """
    key = make_key(seed, match, position, STREAM_CARDS)
    size = i64(t.hand_size) * NUM_SEATS
    place = 0
    pack = t.pack
    for card in range(52):
        if pack & (ONE << u64(card)):
            d.order[place & 3, place >> 2] = card
            place += 1
    number = 0
    last = size - 1
    while last > 0:
        bits = draw(key, number)
        number += 1
        other = below(bits, last + 1)
        held = d.order[last & 3, last >> 2]
        d.order[last & 3, last >> 2] = d.order[other & 3, other >> 2]
        d.order[other & 3, other >> 2] = held
        last -= 1
        if last > 0:
            other = below_low(bits, last + 1)
            held = d.order[last & 3, last >> 2]
            d.order[last & 3, last >> 2] = d.order[other & 3, other >> 2]
            d.order[other & 3, other >> 2] = held
            last -= 1


@outline
def hand_out(d: Any, t: Any, first_cards: Any) -> None:
    """Gives each seat its first cards (0 = all of them) in order of arrival."""
    size = i64(t.hand_size)
    dealt = i64(first_cards) if first_cards > 0 else size
    for seat in range(NUM_SEATS):
        now = ZERO
        later = ZERO
        for place in range(size):
            card = ONE << u64(d.order[seat, place])
            if place < dealt:
                now |= card
            else:
                later |= card
        d.hands[seat] = now
        d.undealt[seat] = later
    d.dealt = dealt


@inline
def deal_rest(d: Any, t: Any) -> None:
    """Deals the cards that have not arrived yet."""
    for seat in range(NUM_SEATS):
        d.hands[seat] |= d.undealt[seat]
        d.undealt[seat] = ZERO
    d.dealt = t.hand_size


@inline
def show_last(d: Any, t: Any) -> None:
    """Shows the last card dealt to the declarer; its suit is trump."""
    declarer = i64(d.declarer)
    card = i64(d.order[declarer, i64(t.hand_size) - 1])
    d.shown = card
    d.shown_owner = declarer
    d.trump = card // 13
