"""What a hand is worth before play: linear values of its cards, calibrated by ``agents.calibrate``.

A value is a number of things that count (tricks, hearts ...) the hand is expected to take; points
come from the rule table. There is a row of weights for each kind of counting (see ``cards``), and
more for a hand whose rival declares: what he likes, a plus deal (both in plus units of the auction,
or tricks where deals are ordered), a known order; and for the order by the last card.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from agents.kernels.cards import NUM_COUNTS, NUM_KINDS, TRUMP_KIND, count_value, suit_terms
from king_env.engine.jit import inline, lowest, popcount
from king_env.engine.layout import BETTER, NO_TRUMP, SUIT_MASKS, ZERO, i64

NUM_LEVELS: Final = 13
SPECIAL: Final = NUM_LEVELS
(
    VOIDS,
    SINGLETONS,
    DOUBLETONS,
    LEADS,
    RISKS,
    WINNERS,
    SPECIAL_RISK,
    SPECIAL_WINNERS,
    LONGEST,
    ONE_,
) = range(2 * NUM_LEVELS, 2 * NUM_LEVELS + 10)
NUM_HAND_TERMS: Final = 2 * NUM_LEVELS + 10
"""Cards of the side suits by the number of ranks above, the same for the special suit (trumps; or
hearts where hearts count), then shape, who leads, forced tricks, winners, and the constant."""

RIVAL_ROW, RIVAL_PLUS_ROW, KNOWN_ROW, LAST_ROW = range(NUM_KINDS, NUM_KINDS + 4)
NUM_HAND_ROWS: Final = NUM_KINDS + 4
LONG_PACK, SHORT_PACK, FIRST_CARDS = range(3)
"""Sets of ``NUM_HAND_ROWS`` rows: whole hands of 52 cards, of 32, the first cards of a hand. The
row of a known order and that of LAST are filled for first cards only."""

HEARTS_COUNT, KING_COUNT = 2, 5
NO_SUIT: Final = NO_TRUMP


@inline
def first_row(t: Any, hand: Any) -> Any:
    """Returns the first row of weights for a hand before play."""
    if popcount(hand) < t.hand_size:
        return FIRST_CARDS * NUM_HAND_ROWS
    return (LONG_PACK if t.hand_size == NUM_LEVELS else SHORT_PACK) * NUM_HAND_ROWS


@inline
def hand_value(t: Any, hand: Any, special: Any, flipped: Any, leads: Any, w: Any, row: Any) -> Any:
    """Returns what a hand is expected to take.

    Args:
        t: rule table.
        hand: the cards.
        special: the suit that is weighed apart, or NO_SUIT.
        flipped: 1 where low ranks are high.
        leads: 1 where the hand leads first.
        w: `[rows, NUM_HAND_TERMS]` weights.
        row: row of weights.
    """
    unseen = t.pack & ~hand
    value = w[row, ONE_] + leads * w[row, LEADS]
    longest: Any = i64(0)
    for suit in range(4):
        own = hand & SUIT_MASKS[suit]
        length = popcount(own)
        first = SPECIAL if suit == special else 0
        rest = own
        while rest != ZERO:
            card = i64(lowest(rest))
            rest &= rest - np.uint64(1)
            value += w[row, first + popcount(t.pack & BETTER[flipped, card])]
        risk, winners, _, _ = suit_terms(own, 13 * suit, unseen, flipped)
        if suit == special:
            value += w[row, SPECIAL_RISK] * risk + w[row, SPECIAL_WINNERS] * winners
            continue
        value += w[row, RISKS] * risk + w[row, WINNERS] * winners
        longest = max(longest, length)
        if length <= 2:
            value += w[row, VOIDS + length]
    return value + longest * w[row, LONGEST]


@inline
def contract_value(
    t: Any, hand: Any, contract: Any, trump: Any, leads: Any, w: Any, means: Any, relative: Any
) -> Any:
    """Returns the points a hand is expected to make in a contract with a trump suit or none.

    With ``relative`` 1 it is the surplus over what the contract is worth to an average hand.
    """
    flipped = i64(t.reversed[contract])
    points = 0.0 if relative else 1.0 * t.constant[contract]
    for count in range(NUM_COUNTS):
        value = count_value(t, contract, count)
        if value == 0:
            continue
        kind = i64(count)
        special = i64(1) if count == HEARTS_COUNT or count == KING_COUNT else i64(NO_SUIT)
        if value > 0:
            kind = i64(count + NUM_COUNTS)
        if trump != NO_TRUMP:
            special = i64(trump)
            if count == 0 and value > 0:
                kind = i64(TRUMP_KIND)
        row = first_row(t, hand) + kind
        taken = hand_value(t, hand, special, flipped, leads, w, row)
        points += value * (taken - means[row] * relative)
    return points
