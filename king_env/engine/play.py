"""Playing tricks: legal cards, what a card shows, who wins a trick and what it pays."""

from __future__ import annotations

from typing import Any, Final

from king_env.engine.jit import inline, lowest, popcount
from king_env.engine.layout import (
    ALL_CARDS,
    BETTER,
    HEARTS_MASK,
    KING_MASK,
    NO_TRUMP,
    NUM_SEATS,
    ONE,
    SUIT_MASKS,
    ZERO,
    i64,
    u64,
)
from king_env.rules.tables import (
    LEAD_KING_ONLY,
    LEAD_NO_HEARTS,
    LEAD_UNTIL_BROKEN,
    NUM_UNITS,
    VOID_FORCE_KING,
    VOID_FORCE_PENALTY,
    VOID_MUST_TRUMP,
)

_TRICK: Final = u64(15)


@inline
def lead_demand(d: Any, t: Any) -> Any:
    """Returns the cards the leader must choose from while he holds any of them."""
    rule = t.lead[d.contract]
    if rule == LEAD_NO_HEARTS or (rule == LEAD_UNTIL_BROKEN and d.broken == 0):
        return ALL_CARDS & ~HEARTS_MASK
    if rule == LEAD_KING_ONLY:
        return ALL_CARDS & ~KING_MASK
    return ALL_CARDS


@inline
def follow_demand(d: Any, t: Any, suit: Any) -> Any:
    """Returns the cards of the led suit that must be played while any of them is held."""
    contract = d.contract
    if t.follow_king[contract] != 0 and suit == 1:
        return KING_MASK
    if t.duck[contract] != 0:
        # The best card of the led suit so far: no contract with this rule has trumps.
        beaten = SUIT_MASKS[suit] & ~BETTER[t.reversed[contract], d.best] & ~(ONE << u64(d.best))
        return t.penalty[contract] & beaten
    return ZERO


@inline
def void_demand(d: Any, t: Any) -> Any:
    """Returns the cards that a player void in the led suit must play while he holds any."""
    rule = t.void[d.contract]
    if rule == VOID_MUST_TRUMP:
        return SUIT_MASKS[d.trump]
    if rule == VOID_FORCE_KING:
        return KING_MASK
    if rule == VOID_FORCE_PENALTY:
        return t.penalty[d.contract]
    return ZERO


@inline
def overtrump_demand(d: Any, t: Any) -> Any:
    """Returns the trumps that must be played, among trumps, while any of them is held."""
    contract = d.contract
    if t.overtrump[contract] == 0 or t.void[contract] != VOID_MUST_TRUMP:
        return ZERO
    best = i64(d.best)
    if d.trump == NO_TRUMP or best // 13 != d.trump:
        return ZERO
    return BETTER[t.reversed[contract], best]


@inline
def legal_cards(d: Any, t: Any, hand: Any) -> Any:
    """Returns the cards of ``hand`` that the seat to move may play (rules.md 1.2)."""
    if d.trick_size == 0:
        wanted = hand & lead_demand(d, t)
        return wanted if wanted != ZERO else hand
    suit = i64(d.trick[0]) // 13
    same = hand & SUIT_MASKS[suit]
    if same != ZERO:
        wanted = same & follow_demand(d, t, suit)
        return wanted if wanted != ZERO else same
    wanted = hand & void_demand(d, t)
    if wanted == ZERO:
        return hand
    higher = wanted & overtrump_demand(d, t)
    return higher if higher != ZERO else wanted


@inline
def shown_by(d: Any, t: Any, card: Any) -> Any:
    """Returns the cards that playing ``card`` proves the player did not hold.

    Every rule says "from these cards while you hold any": a card from outside proves there is none.
    """
    bit = ONE << u64(card)
    if d.trick_size == 0:
        wanted = lead_demand(d, t)
        return ZERO if bit & wanted else wanted
    suit = i64(d.trick[0]) // 13
    if bit & SUIT_MASKS[suit]:
        wanted = follow_demand(d, t, suit)
        return ZERO if bit & wanted else wanted
    shown = SUIT_MASKS[suit]
    wanted = void_demand(d, t)
    if bit & wanted:
        higher = overtrump_demand(d, t)
        return shown if bit & higher else shown | higher
    return shown | wanted


@inline
def beats(d: Any, t: Any, card: Any) -> bool:
    """Tells whether ``card`` beats the best card of the trick in progress."""
    best = i64(d.best)
    if BETTER[t.reversed[d.contract], best] & (ONE << u64(card)):
        return True
    return card // 13 == d.trump and best // 13 != d.trump  # type: ignore[no-any-return]


@inline
def play_card(d: Any, t: Any, card: Any) -> bool:
    """Plays a legal card for the seat to move; returns True when it was the deal's last."""
    seat = i64(d.actor)
    bit = ONE << u64(card)
    d.not_held[seat] |= shown_by(d, t, card) & t.pack
    d.hands[seat] &= ~bit
    d.played[seat] |= bit
    d.trick_cards |= bit
    d.when[card // 13] |= u64(d.trick_number) << u64(4 * (card % 13))
    size = i64(d.trick_size)
    if size == 0 or beats(d, t, card):
        d.best = card
        d.best_seat = seat
    d.trick[size] = card
    if size < NUM_SEATS - 1:
        d.trick_size = size + 1
        d.actor = (seat + i64(t.step)) & 3
        return False
    return finish_trick(d, t)


@inline
def played_in(d: Any, seat: Any, number: Any) -> Any:
    """Returns the card that a seat played to trick ``number``, or -1."""
    left = d.played[seat]
    while left != ZERO:
        card = i64(lowest(left))
        left &= left - ONE
        if (d.when[card // 13] >> u64(4 * (card % 13))) & _TRICK == u64(number):
            return card
    return i64(-1)


@inline
def finish_trick(d: Any, t: Any) -> bool:
    """Pays a full trick to its winner, who leads next; returns True at the end of the deal."""
    winner = i64(d.best_seat)
    contract = i64(d.contract)
    trick_cards = d.trick_cards
    number = i64(d.trick_number) + 1
    points = i64(d.points[winner]) + i64(t.trick[contract])
    for unit in range(NUM_UNITS):
        value = i64(t.unit_value[contract, unit])
        if value != 0:
            points += value * popcount(trick_cards & t.unit_mask[contract, unit])
    if number >= i64(t.hand_size) - 1:
        points += i64(t.last[contract])
        d.last[winner] += 1
    d.points[winner] = points
    d.tricks[winner] += 1
    d.taken[winner] |= trick_cards
    if trick_cards & HEARTS_MASK:
        d.broken = 1
    d.trick_cards = ZERO
    d.trick_size = 0
    d.trick_number = number
    d.leader = winner
    d.actor = winner
    if number == t.hand_size:
        return True
    exhausted = t.exhausted[contract]
    if exhausted == ZERO:
        return False
    taken = d.taken[0] | d.taken[1] | d.taken[2] | d.taken[3]
    return exhausted & ~taken == ZERO  # type: ignore[no-any-return]
