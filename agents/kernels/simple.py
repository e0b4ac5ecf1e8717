"""The two fixed baselines: uniform over legal actions, and greedy. Neither ever changes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from king_env.cards import NUM_RANKS, SUITS
from king_env.engine.actions import DECLARE, DECLINE, OPEN, ORDER, PASS, REFUSE, REJECT, SLOT
from king_env.engine.jit import highest, inline, lowest, popcount
from king_env.engine.layout import (
    BETTER,
    HEARTS_MASK,
    NO_TRUMP,
    PHASE_BID,
    PHASE_CHOOSE,
    PHASE_DECIDE,
    PHASE_DECLARE,
    PHASE_NEGOTIATE,
    PHASE_OPEN,
    PHASE_ORDER,
    PHASE_PLAY,
    PHASE_ULTIMATUM,
    SUIT_MASKS,
    ZERO,
    i64,
    u64,
)
from king_env.engine.observe import beaten_by_any
from king_env.engine.rng import below
from king_env.engine.step import is_legal, longest_suit, nth_legal, num_legal
from king_env.rules.spec import NUM_SLOTS
from king_env.rules.tables import NUM_UNITS

RANK_MASKS: Final = np.array(
    [sum(1 << (NUM_RANKS * s + rank) for s in range(len(SUITS))) for rank in range(NUM_RANKS)],
    dtype=np.uint64,
)
"""`[13]` uint64: the four cards of a rank."""

_RANKS_ONLY: Final = u64(0x1FFF)
_13, _26, _39 = (u64(NUM_RANKS * n) for n in (1, 2, 3))

# What greedy counts as its own exposure to a unit: its cards among the highest ranks (in a suit or
# in all), each as this many sixtieths of a unit. The weights make the four seats' exposures add up
# to the units of a 52-card deal. By unit: trick, last two, heart, queen, man, king of hearts.
EXPOSURE_RANKS: Final = np.array([3, 5, 5, 3, 4, 3])
EXPOSURE_HEARTS: Final = np.array([0, 0, 1, 0, 0, 1])
EXPOSURE_SIXTIETHS: Final = np.array([65, 6, 156, 20, 30, 20])


@inline
def random_action(d: Any, key: Any) -> Any:
    """Returns a legal action, each with the same chance."""
    return nth_legal(d, below(key, num_legal(d)))


@inline
def unit_points(t: Any, contract: Any) -> Any:
    """Returns the sum of a deal's points over its units; the constant is nobody's doing."""
    size = i64(t.hand_size)
    points = size * i64(t.trick[contract]) + 2 * i64(t.last[contract])
    for unit in range(NUM_UNITS):
        points += i64(t.unit_value[contract, unit]) * popcount(t.unit_mask[contract, unit])
    return points


@inline
def lowest_rank(cards: Any, reversed_ranks: Any) -> Any:
    """Returns the lowest card of a set that is not empty; of equal ranks the lowest id."""
    ranks = (cards | cards >> _13 | cards >> _26 | cards >> _39) & _RANKS_ONLY
    rank = highest(ranks) if reversed_ranks else lowest(ranks)
    return lowest(cards & RANK_MASKS[rank])


@inline
def winning_cards(d: Any, t: Any) -> Any:
    """Returns the cards that beat the best card of a trick that is under way."""
    best = i64(d.best)
    better = BETTER[t.reversed[d.contract], best]
    if d.trump != NO_TRUMP and best // 13 != d.trump:
        better |= SUIT_MASKS[d.trump]
    return better


@inline
def greedy_card(d: Any, t: Any) -> Any:
    """Returns the lowest card; in a positive deal the lowest that wins the trick, if any does."""
    contract = i64(d.contract)
    cards = d.legal[0]
    if d.trick_size > 0 and unit_points(t, contract) > 0:
        winners = cards & winning_cards(d, t)
        if winners != ZERO:
            cards = winners
    return lowest_rank(cards, t.reversed[contract])


@inline
def top_ranks(pack: Any, number: Any, reversed_ranks: Any) -> Any:
    """Returns the cards of the ``number`` highest ranks of each suit."""
    rest = pack
    for _ in range(number):
        rest &= beaten_by_any(rest, reversed_ranks)
    return pack & ~rest


@inline
def exposure(t: Any, contract: Any, trump: Any, hand: Any) -> Any:
    """Returns sixtieths of the points that a hand is exposed to in a contract, see the table above.

    A trump beyond the counted ranks is half a trick.
    """
    reversed_ranks = t.reversed[contract]
    total = i64(0)
    for unit in range(2 + NUM_UNITS):
        if unit == 0:
            value = i64(t.trick[contract])
        elif unit == 1:
            value = i64(t.last[contract])
        else:
            value = i64(t.unit_value[contract, unit - 2])
        if value == 0:
            continue
        counted = hand & top_ranks(t.pack, EXPOSURE_RANKS[unit], reversed_ranks)
        if EXPOSURE_HEARTS[unit]:
            counted &= HEARTS_MASK
        total += value * EXPOSURE_SIXTIETHS[unit] * popcount(counted)
        if unit == 0:
            total += value * 30 * popcount(hand & SUIT_MASKS[trump] & ~counted)
    return total


@inline
def greedy_choice(d: Any, t: Any) -> Any:
    """Returns the contract slot with the largest exposure in points; the first of equal ones."""
    hand = d.hands[d.actor]
    best = i64(-1)
    best_value = i64(0)
    for slot in range(NUM_SLOTS):
        if is_legal(d, SLOT + slot):
            value = exposure(t, i64(t.slot_contract[slot]), i64(t.slot_trump[slot]), hand)
            if best < 0 or value > best_value:
                best = i64(SLOT + slot)
                best_value = value
    return best


@inline
def first_legal_of(d: Any, action: Any) -> Any:
    """Returns an action if it is legal, else the legal action with the lowest id."""
    return i64(action) if is_legal(d, action) else nth_legal(d, 0)


@inline
def greedy_action(d: Any, t: Any) -> Any:
    """Returns greedy's action: it never bids, sells or buys, and declares its longest suit."""
    phase = d.phase
    if phase == PHASE_PLAY:
        return greedy_card(d, t)
    if phase == PHASE_CHOOSE or phase == PHASE_ORDER:
        choice = greedy_choice(d, t)
        if choice >= 0:
            return choice
    if phase == PHASE_BID:
        return i64(PASS)
    if phase == PHASE_DECIDE:
        return i64(REFUSE)
    if phase == PHASE_NEGOTIATE:
        return i64(DECLINE)
    if phase == PHASE_ULTIMATUM:
        return i64(REJECT)
    if phase == PHASE_OPEN:
        return i64(OPEN)
    suit = longest_suit(d.hands[d.actor])
    if phase == PHASE_DECLARE:
        return first_legal_of(d, DECLARE + suit)
    if phase == PHASE_ORDER:
        return first_legal_of(d, ORDER + suit)
    return first_legal_of(d, REFUSE if is_legal(d, REFUSE) else PASS)
