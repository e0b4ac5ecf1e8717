"""The rule-based agent's card play: a card is worth what its terms add up to, unit by unit.

For each legal card the agent asks how likely it takes the trick, what lies in it or may be thrown
into it, and what the card does in the hand: is it a danger, a winner, an exit, a guard, a shield
over an outstanding penalty card. Each answer is a term, and each term has a weight for what counts
(a trick, a heart, a queen ... wanted or unwanted), for the situation (leading, following, last to
play, out of the suit) and for how late it is. A contract made of several units adds them up by
their points. The weights are calibrated by ``agents.calibrate``; nothing here asks for a contract's
name.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from king_env.engine.jit import highest, inline, lowest, popcount
from king_env.engine.layout import (
    BETTER,
    NO_TRUMP,
    ONE,
    SUIT_MASKS,
    ZERO,
    i64,
    u64,
)
from king_env.engine.observe import beaten_by_any, beating_any, unseen_by
from king_env.engine.play import beats
from king_env.engine.sample import BINOMIAL, cards_left
from king_env.rules.tables import NUM_UNITS, VOID_MUST_TRUMP

TERMS: Final = (
    "takes_if_ducked",  # chance that the card takes the trick when those behind duck
    "takes_if_fought",  # chance that it does when those behind beat it if they can
    "takes_units",  # units in the trick, times the first chance
    "wins_units",  # units in the trick, times the second chance
    "takes_dumps",  # units that players behind, out of the suit, may throw in
    "takes_followers",  # unseen units of the suit below the card that may fall under it
    "gives_unit",  # a unit card that goes to somebody else
    "unit",  # the card is a unit itself
    "unit_above",  # ... times unseen cards above it
    "unit_below",  # ... times unseen cards below it
    "above",  # unseen cards of the suit above it
    "below",  # unseen cards of the suit below it
    "master",  # nothing unseen beats it
    "exit",  # it beats nothing unseen: a sure loser when led
    "dead",  # nobody else has the suit
    "outstanding",  # unseen cards of the suit
    "length",  # own cards of the suit
    "last_of_suit",  # it makes a void
    "guards",  # own lower cards of the suit
    "lowest_own",  # the lowest of several own cards: the suit loses its guard
    "units_below",  # unseen units of the suit that it would capture
    "units_above",  # unseen units of the suit that could be driven out over it
    "own_units",  # other own units of the suit, which lose a companion
    "risk",  # forced tricks that its suit is rid of
    "winners",  # own guarded winners that are given up
    "then_leads",  # the chance to lead next, times sure exits (wanted: masters) in other suits
    "trump",  # it is a trump
    "trumps_out",  # ... times unseen trumps
    "voids_behind",  # players behind expected to be out of the suit
    "void_to_ruff",  # it makes a void while own trumps remain
)
"""The terms by place: what each stands for."""

NUM_TERMS: Final = len(TERMS)

LEADING, FOLLOWING, LAST_TO_PLAY, OUT_OF_SUIT = range(4)
NUM_STAGES: Final = 4
"""By cards in hand: 9 and more, 5 to 8, 3 or 4, 2."""
NUM_GROUPS: Final = 4 * NUM_STAGES

NUM_COUNTS: Final = 2 + NUM_UNITS
"""Things that count points: tricks, last tricks, then the units that lie on cards."""
TRUMP_KIND: Final = 2 * NUM_COUNTS
NUM_KINDS: Final = 2 * NUM_COUNTS + 1
"""Kinds of counting: unwanted (0..5), wanted (6..11), wanted tricks with a trump suit (12)."""
NUM_ROWS: Final = NUM_KINDS * NUM_GROUPS

EIGHTH: Final = 0.125
QUARTER: Final = 0.25
THIRD: Final = 1.0 / 3.0


def _risks() -> npt.NDArray[np.float64]:
    """Returns the chance that a card takes a trick nobody wants, by unseen cards below and above.

    A player who has something lower ducks; one who has only higher cards must take it.
    """
    out = np.zeros((14, 14))
    for below in range(14):
        for above in range(14):
            ducks = (2 / 3) ** below * (1 - (2 / 3) ** above)
            out[below, above] = (1 - ducks) ** 3
    return out


RISK: Final = _risks()
WINNER: Final = np.array([1.0, 0.65, 0.4, 0.2] + [0.0] * 10)
"""How much of a winner a card is that unseen cards above it, guarded as often, still beat."""


@inline
def lacks(pool: Any, held: Any, wanted: Any) -> Any:
    """Returns the chance that ``held`` cards out of ``pool`` miss all of ``wanted`` of them."""
    return BINOMIAL[pool - wanted, held] / BINOMIAL[pool, held]


@inline
def behind_terms(d: Any, t: Any, card: Any, suit: Any, better: Any, unseen: Any) -> Any:
    """Returns what the players behind mean for a card that is best so far.

    Each hidden hand is a uniform draw from the cards its owner may still hold.

    Returns:
        The chance that the card stays best if they duck, the chance if they fight for the trick,
        and how many of them are expected to be out of the led suit.
    """
    ducked = 1.0
    fought = 1.0
    voids = 0.0
    led = SUIT_MASKS[suit]
    trumps = SUIT_MASKS[d.trump]
    ruffing = d.trump != NO_TRUMP and card // 13 != d.trump
    follower = i64(d.actor)
    for _ in range(3 - i64(d.trick_size)):
        follower = (follower + i64(t.step)) & 3
        pool_mask = unseen & ~d.not_held[follower]
        pool = popcount(pool_mask)
        held = min(cards_left(d, t, follower), pool)
        in_suit = popcount(pool_mask & led)
        higher = popcount(pool_mask & better)
        void = lacks(pool, held, in_suit)
        voids += void
        if card // 13 == suit:
            escapes = 1.0
            if higher > 0:
                escapes = lacks(pool, held, higher)
                ducked *= 1.0 - lacks(pool, held, in_suit - higher) * (1.0 - escapes)
            if ruffing and void > 0.0:
                ruffs = void * (1.0 - lacks(pool, held, popcount(pool_mask & trumps)))
                escapes -= ruffs
                if t.void[d.contract] == VOID_MUST_TRUMP:
                    ducked *= 1.0 - ruffs
            fought *= max(0.0, escapes)
        elif void > 0.0:
            # A ruff: only a player out of the led suit can overruff.
            fought *= 1.0 - void * (1.0 - lacks(pool, held, higher))
    return ducked, fought, voids


@inline
def suit_terms(own: Any, card: Any, unseen: Any, flipped: Any) -> Any:
    """Returns the forced tricks and the winners in the cards of one suit, with and without a card.

    In a suit that is ducked, the i-th lowest own card meets what is left when three times i of the
    lowest unseen cards have gone. A winner needs as many companions as cards above it.

    Args:
        own: own cards of the suit.
        card: a card of the suit.
        unseen: unseen cards of all suits.
        flipped: 1 where low ranks are high.

    Returns:
        Forced tricks and winners of all cards, then the same without ``card``.
    """
    risk: Any = 0.0
    risk_without: Any = 0.0
    winners: Any = 0.0
    winners_without: Any = 0.0
    place: Any = i64(0)
    place_without: Any = i64(0)
    rest = own
    suit = SUIT_MASKS[card // 13]
    while rest != ZERO:
        # Weakest first.
        own_card = i64(highest(rest) if flipped else lowest(rest))
        rest &= ~(ONE << u64(own_card))
        better = BETTER[flipped, own_card]
        above = popcount(unseen & better)
        below = popcount(unseen & suit & ~better)
        risk += RISK[max(0, below - 3 * place), above]
        if above <= place:
            winners += WINNER[above]
        if own_card != card:
            risk_without += RISK[max(0, below - 3 * place_without), above]
            if above <= place_without:
                winners_without += WINNER[above]
            place_without += 1
        place += 1
    return risk, winners, risk_without, winners_without


@inline
def stage_of(cards: Any) -> Any:
    """Returns how late it is, by cards in hand."""
    if cards >= 9:
        return 0
    if cards >= 5:
        return 1
    return 2 if cards >= 3 else 3


@inline
def group_of(d: Any, hand: Any) -> Any:
    """Returns the group of weights: situation and stage."""
    if d.trick_size == 0:
        situation = LEADING
    elif hand & SUIT_MASKS[i64(d.trick[0]) // 13] == ZERO:
        situation = OUT_OF_SUIT
    elif d.trick_size == 3:
        situation = LAST_TO_PLAY
    else:
        situation = FOLLOWING
    return situation * NUM_STAGES + stage_of(popcount(hand))


@inline
def count_value(t: Any, contract: Any, count: Any) -> Any:
    """Returns the points of a thing that counts, see ``NUM_COUNTS``."""
    if count == 0:
        return i64(t.trick[contract])
    if count == 1:
        return i64(t.last[contract])
    return i64(t.unit_value[contract, count - 2])


@inline
def weight_row(d: Any, count: Any, value: Any, group: Any) -> Any:
    """Returns the row of weights for a thing that counts ``value`` points in a group."""
    kind = count
    if value > 0:
        kind = count + NUM_COUNTS
        if count == 0 and d.trump != NO_TRUMP:
            kind = TRUMP_KIND
    return kind * NUM_GROUPS + group


@inline
def card_score(
    d: Any,
    t: Any,
    hand: Any,
    unseen: Any,
    beaten: Any,
    beating: Any,
    card: Any,
    group: Any,
    w: Any,
    only: Any,
) -> Any:
    """Returns what playing a card is worth in points: terms times weights.

    Args:
        d: the deal.
        t: its rule table.
        hand: cards of the seat to move.
        unseen: cards it has not seen.
        beaten: cards that some unseen card beats.
        beating: cards that beat some unseen card.
        card: a legal card.
        group: see ``group_of``.
        w: `[rows, NUM_TERMS]` weights.
        only: -1, or the one row of weights to use for everything that counts, a point each.
    """
    contract = i64(d.contract)
    flipped = i64(t.reversed[contract])
    bit = ONE << u64(card)
    suit = SUIT_MASKS[card // 13]
    own = hand & suit
    out = unseen & suit
    higher = BETTER[flipped, card]
    better = out & higher
    outstanding = popcount(out)
    above = popcount(better)
    below = outstanding - above
    length = popcount(own)
    guards = length - 1 - popcount(own & higher)
    ducked = 0.0
    fought = 0.0
    voids = 0.0
    if d.trick_size == 0 or beats(d, t, card):
        led = card // 13 if d.trick_size == 0 else i64(d.trick[0]) // 13
        ducked, fought, voids = behind_terms(d, t, card, led, better, unseen)
    risk, winners, risk_without, winners_without = suit_terms(own, card, unseen, flipped)
    own_trumps: Any = i64(0)
    trump = 0.0
    trumps_out = 0.0
    if d.trump != NO_TRUMP:
        own_trumps = popcount(hand & SUIT_MASKS[d.trump])
        if card // 13 == d.trump:
            trump = 1.0
            trumps_out = EIGHTH * outstanding
            own_trumps = 0
    rest = hand & ~suit
    exits = popcount(rest & beaten & ~beating)
    masters = popcount(rest & ~beaten)
    score = 0.0
    for count in range(NUM_COUNTS):
        value = count_value(t, contract, count)
        if value == 0:
            continue
        units = t.unit_mask[contract, count - 2] if count >= 2 else ZERO
        unit = 1.0 if bit & units else 0.0
        row = weight_row(d, count, value, group) if only < 0 else only
        lying = popcount((d.trick_cards | bit) & units)
        elsewhere = popcount(unseen & units & ~suit)
        units_above = popcount(better & units)
        units_below = popcount(out & units) - units_above
        total = w[row, 0] * ducked
        total += w[row, 1] * fought
        total += w[row, 2] * ducked * lying
        total += w[row, 3] * fought * lying
        total += w[row, 4] * ducked * voids * elsewhere / (elsewhere + 3.0)
        total += w[row, 5] * ducked * units_below * (3 - i64(d.trick_size))
        total += w[row, 6] * unit * (1.0 - ducked)
        total += w[row, 7] * unit
        total += w[row, 8] * unit * above * EIGHTH
        total += w[row, 9] * unit * below * EIGHTH
        total += w[row, 10] * above * EIGHTH
        total += w[row, 11] * below * EIGHTH
        if outstanding == 0:
            total += w[row, 14]
        elif above == 0:
            total += w[row, 12]
        elif below == 0:
            total += w[row, 13]
        total += w[row, 15] * outstanding * EIGHTH
        total += w[row, 16] * length * QUARTER
        if length == 1:
            total += w[row, 17]
            if own_trumps > 0:
                total += w[row, 29]
        elif guards == 0:
            total += w[row, 19]
        total += w[row, 18] * guards * QUARTER
        total += w[row, 20] * units_below
        total += w[row, 21] * units_above
        total += w[row, 22] * popcount(own & units & ~bit)
        total += w[row, 23] * (risk - risk_without)
        total += w[row, 24] * (winners - winners_without)
        if value < 0:
            total += w[row, 25] * ducked * exits * THIRD
        else:
            total += w[row, 25] * fought * masters * THIRD
        total += w[row, 26] * trump
        total += w[row, 27] * trumps_out
        total += w[row, 28] * voids
        score += abs(value) * total if only < 0 else total
    return score


@inline
def sight_of(d: Any, t: Any) -> Any:
    """Returns what ``card_score`` asks of the seat to act, for all of its cards.

    Returns:
        its hand, the cards it has not seen, the cards that one of these beats, the cards that beat
        one of these, and the group of weights, see ``group_of``.
    """
    hand = d.hands[d.actor]
    unseen = unseen_by(d, t, d.actor)
    flipped = i64(t.reversed[d.contract])
    beaten = beaten_by_any(unseen, flipped)
    beating = beating_any(unseen, flipped)
    return hand, unseen, beaten, beating, group_of(d, hand)


@inline
def best_card(d: Any, t: Any, w: Any, base: Any) -> Any:
    """Returns the legal card with the highest score; of equal ones the lowest id.

    ``base`` is the first row of the weights to use.
    """
    left = d.legal[0]
    best = i64(lowest(left))
    if left & (left - ONE) == ZERO:
        return best
    hand, unseen, beaten, beating, group = sight_of(d, t)
    group += base
    best_score = -1e300
    while left != ZERO:
        card = i64(lowest(left))
        left &= left - ONE
        score = card_score(d, t, hand, unseen, beaten, beating, card, group, w, i64(-1))
        if score > best_score:
            best = card
            best_score = score
    return best
