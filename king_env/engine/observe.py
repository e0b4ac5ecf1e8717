"""What one seat may know, as numbers: named blocks, offsets computed from the block list.

An observation has two parts: ``bits``, packed in uint64 words (dense form: uint8 0/1), and
``numbers``, int16. Seats are relative to the observing one in the direction of play:
0 is oneself, 1 plays next. Points are in 1/128 of the variant's point scale. The layout is the
same for all variants. Observation is a pure function of (game, seat): nothing hidden enters it.

Axes: N games, W words, B bits, K numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from king_env.engine.actions import NUM_ACTIONS, NUM_MASK_WORDS, NUM_RUNGS
from king_env.engine.choice import open_places
from king_env.engine.jit import (
    inline,
    kernel,
    lanes_of,
    low_int16,
    outline,
    popcount,
    popcount_lanes,
    scale_lanes,
    unfold,
)
from king_env.engine.layout import (
    BETTER,
    NO_CARD,
    NO_TRUMP,
    NUM_PHASES,
    NUM_SEATS,
    ONE,
    SUIT_MASKS,
    UNKNOWN,
    ZERO,
    i64,
    u64,
)
from king_env.rules.spec import LEAD_RULES, MAX_GROUPS, NUM_SLOTS, VOID_RULES
from king_env.rules.tables import NUM_UNITS, POINT_STEPS

OBSERVATION_VERSION: Final = 0
"""Goes up whenever a block is added, moved or changes its meaning."""

NUMBER_BOUND: Final = 16.0
"""Numbers of the float32 form are clipped to -16..16."""


@dataclass(frozen=True)
class Block:
    """A named run of bits or numbers.

    Attributes:
        name: the block's name.
        size: how many bits or numbers it has.
        scale: what its numbers are divided by in the float32 form; 1 for bits.
        meaning: one sentence.
        offset: where it starts among the bits or the numbers.
    """

    name: str
    size: int
    scale: int
    meaning: str
    offset: int = 0


def _lay_out(blocks: list[tuple[str, int, int, str]]) -> dict[str, Block]:
    laid: dict[str, Block] = {}
    offset = 0
    for name, size, scale, meaning in blocks:
        laid[name] = Block(name, size, scale, meaning, offset)
        offset += size
    return laid


BIT_BLOCKS: Final = _lay_out(
    [
        ("hand", 52, 1, "own cards that have arrived"),
        ("played", 4 * 52, 1, "cards played in this deal, by relative seat"),
        ("trick", 3 * 52, 1, "cards of the trick in progress, in the order played"),
        ("not_held", 3 * 52, 1, "cards that seats 1, 2, 3 have shown they do not hold"),
        ("master", 52, 1, "own cards that no unseen card of their suit beats"),
        ("lowest", 52, 1, "own cards that beat no unseen card of their suit"),
        ("beats", 52, 1, "own playable cards that beat the best card of the trick"),
        ("higher_2", 52, 1, "own cards that two unseen cards of their suit or more beat"),
        ("higher_3", 52, 1, "own cards that three unseen cards or more beat"),
        ("higher_4", 52, 1, "own cards that four unseen cards or more beat"),
        ("own_trumps", 52, 1, "own cards of the trump suit"),
        ("lead_suit", 4, 1, "suit led to the trick, S H D C"),
        ("trick_size", 4, 1, "cards in the trick in progress: 0, 1, 2, 3"),
        ("trick_number", 13, 1, "tricks finished: 0 .. 12"),
        ("winning", 4, 1, "relative seat that holds the trick so far"),
        ("broken", 1, 1, "a heart was played to an earlier trick"),
        ("unit_plus", 7, 1, "trick, last, constant, heart, queen, man, king count plus points"),
        ("unit_minus", 7, 1, "the same units count minus points"),
        ("lead_rule", len(LEAD_RULES), 1, "lead rule: " + ", ".join(LEAD_RULES)),
        ("void_rule", len(VOID_RULES), 1, "void rule: " + ", ".join(VOID_RULES)),
        ("duties", 3, 1, "duties: duck, overtrump, king of hearts under a heart lead"),
        ("trump", 5, 1, "trump suit S H D C, or none; all 0 while unknown"),
        ("reversed", 1, 1, "low ranks are high"),
        ("counterclockwise", 1, 1, "play goes counter-clockwise"),
        ("partnership", 1, 1, "relative seat 2 is the partner"),
        ("absent_ranks", 13, 1, "ranks 2 .. A that are not in the pack"),
        ("phase", NUM_PHASES, 1, "phase of the game, in the order of layout.PHASES"),
        ("dealer", 4, 1, "relative seat of the dealer"),
        ("leader", 4, 1, "relative seat that leads the trick in progress"),
        ("actor", 4, 1, "relative seat that is to act"),
        ("chooser", 4, 1, "relative seat of the auctioneer, selector or orderer"),
        ("declarer", 4, 1, "relative seat that declared"),
        ("holder", 4, 1, "relative seat that holds the highest call"),
        ("buyer", 4, 1, "relative seat that bought the choice"),
        ("floor", NUM_RUNGS, 1, "highest rung reached in the auction, or tricks bid - 1"),
        ("call", NUM_RUNGS, 1, "rung of the holder's call, or tricks bid - 1"),
        ("asked", NUM_RUNGS, 1, "rung that a negotiation or ultimatum asks for"),
        ("declined", NUM_RUNGS, 1, "rung of the last negotiation declined"),
        ("bidding", 4, 1, "relative seats still in the bidding"),
        ("rejected", 4, 1, "relative seats that rejected the ultimatum"),
        ("choices", 4 * NUM_SLOTS, 1, "contract slots open to a player's own quotas, by seat"),
        ("table_open", NUM_SLOTS, 1, "slots open for the table once more; 0 where it has no limit"),
        ("table_twice", NUM_SLOTS, 1, "slots open for the table twice more or oftener"),
        ("shown_suit", 4, 1, "suit of the card shown to all"),
        ("shown_rank", 13, 1, "rank of the card shown to all"),
        ("shown_owner", 4, 1, "relative seat of its owner"),
    ]
)

NUMBER_BLOCKS: Final = _lay_out(
    [
        ("unit_points", 7, POINT_STEPS, "points of trick, last, constant, heart, queen, man, king"),
        ("tricks", 4, 13, "tricks taken, by relative seat"),
        ("hearts", 4, 13, "hearts taken"),
        ("queens", 4, 4, "queens taken"),
        ("men", 4, 8, "men taken"),
        ("king", 4, 1, "kings of hearts taken"),
        ("last", 4, 2, "last tricks taken"),
        ("points", 4, POINT_STEPS, "points of this deal so far"),
        ("totals", 4, 8 * POINT_STEPS, "points of the finished deals of the episode"),
        ("trick_points", 1, POINT_STEPS, "points that the trick in progress pays so far"),
        ("hand_suits", 4, 13, "own cards by suit"),
        ("unseen_suits", 4, 13, "unseen cards by suit"),
        ("deals_left", 1, 16, "deals of the match after this one"),
        ("offers", 1, 8, "offers made in the auction"),
        ("requests", 1, 3, "negotiations left"),
        ("quota", 4 * MAX_GROUPS, 4, "choices left, by relative seat and group"),
    ]
)

NUM_BITS: Final = sum(block.size for block in BIT_BLOCKS.values())
NUM_WORDS: Final = (NUM_BITS + 63) // 64
NUM_NUMBERS: Final = sum(block.size for block in NUMBER_BLOCKS.values())
NUM_FEATURES: Final = NUM_BITS + NUM_NUMBERS
"""Length of the float32 form."""

NUMBER_SCALES: Final[npt.NDArray[np.float32]] = np.repeat(
    np.array([block.scale for block in NUMBER_BLOCKS.values()], dtype=np.float32),
    [block.size for block in NUMBER_BLOCKS.values()],
)
"""`[K]` float32, what each number is divided by."""

_INVERSE_SCALES: Final[npt.NDArray[np.float32]] = np.float32(1.0) / NUMBER_SCALES


def _at(name: str) -> int:
    return BIT_BLOCKS[name].offset


def _number_at(name: str) -> int:
    return NUMBER_BLOCKS[name].offset


_HAND, _PLAYED, _TRICK, _NOT_HELD = (_at(n) for n in ("hand", "played", "trick", "not_held"))
_MASTER, _LOWEST, _BEATS = (_at(n) for n in ("master", "lowest", "beats"))
_HIGHER_2, _HIGHER_3, _HIGHER_4 = (_at(n) for n in ("higher_2", "higher_3", "higher_4"))
_OWN_TRUMPS, _LEAD_SUIT, _UNIT_PLUS = (_at(n) for n in ("own_trumps", "lead_suit", "unit_plus"))
_PHASE: Final = _at("phase")
_FLOOR, _CHOICES, _TABLE_OPEN = (_at(n) for n in ("floor", "choices", "table_open"))
_SHOWN_SUIT: Final = _at("shown_suit")

_UNIT_POINTS, _TRICKS, _UNITS_TAKEN = (_number_at(n) for n in ("unit_points", "tricks", "hearts"))
_LAST, _POINTS, _TOTALS = (_number_at(n) for n in ("last", "points", "totals"))
_TRICK_POINTS, _HAND_SUITS, _UNSEEN = (
    _number_at(n) for n in ("trick_points", "hand_suits", "unseen_suits")
)
_DEALS_LEFT, _OFFERS, _REQUESTS = (_number_at(n) for n in ("deals_left", "offers", "requests"))
_QUOTA: Final = _number_at("quota")


def _all_but_top(count: int) -> Any:
    """Returns the cards that are not among the ``count`` highest ranks of their suit."""
    return u64(sum(((1 << (13 - count)) - 1) << (13 * suit) for suit in range(4)))


def _all_but_bottom(count: int) -> Any:
    """Returns the cards that are not among the ``count`` lowest ranks of their suit."""
    low = (1 << count) - 1
    return u64(sum((0x1FFF & ~low) << (13 * suit) for suit in range(4)))


_NOT_TOP_1, _NOT_TOP_2, _NOT_TOP_4, _NOT_TOP_8 = (_all_but_top(n) for n in (1, 2, 4, 8))
_NOT_LOW_1, _NOT_LOW_2, _NOT_LOW_4, _NOT_LOW_8 = (_all_but_bottom(n) for n in (1, 2, 4, 8))
_1, _2, _4, _8 = (u64(n) for n in (1, 2, 4, 8))


@inline
def below_any(cards: Any) -> Any:
    """Returns the cards that lie below some card of a set in its suit (all suits at once)."""
    x = (cards >> _1) & _NOT_TOP_1
    x |= (x >> _1) & _NOT_TOP_1
    x |= (x >> _2) & _NOT_TOP_2
    x |= (x >> _4) & _NOT_TOP_4
    return x | ((x >> _8) & _NOT_TOP_8)


@inline
def above_any(cards: Any) -> Any:
    """Returns the cards that lie above some card of a set in its suit (all suits at once)."""
    x = (cards << _1) & _NOT_LOW_1
    x |= (x << _1) & _NOT_LOW_1
    x |= (x << _2) & _NOT_LOW_2
    x |= (x << _4) & _NOT_LOW_4
    return x | ((x << _8) & _NOT_LOW_8)


@inline
def beaten_by_any(cards: Any, reversed_ranks: Any) -> Any:
    """Returns the cards that some card of a set beats in its suit."""
    return above_any(cards) if reversed_ranks else below_any(cards)


@inline
def beating_any(cards: Any, reversed_ranks: Any) -> Any:
    """Returns the cards that beat some card of a set in its suit."""
    return below_any(cards) if reversed_ranks else above_any(cards)


@inline
def unseen_by(d: Any, t: Any, seat: Any) -> Any:
    """Returns the cards a seat has not seen: neither its own nor played nor shown."""
    seen = d.hands[seat] | d.played[0] | d.played[1] | d.played[2] | d.played[3]
    if d.shown != NO_CARD:
        seen |= ONE << u64(d.shown)
    return t.pack & ~seen


@inline
def append(bits: Any, row: Any, word: Any, offset: Any, value: Any, size: Any) -> Any:
    """Appends a block to the word in progress and returns the word then in progress.

    Blocks come in the order of the layout and without gaps, so that each word is made in a
    register and stored once, when it is full. ``value`` has no bit beyond ``size``.
    """
    shift = offset & 63
    word |= value << u64(shift)
    if shift + size >= 64:
        bits[row, offset >> 6] = word
        word = value >> ONE >> u64(63 - shift)  # two shifts: one by 64 is not defined
    return word


def _relative_seats() -> npt.NDArray[np.uint64]:
    """Returns sets of absolute seats as sets of relative seats, by direction and viewer."""
    sets = np.zeros((2, NUM_SEATS, 16), dtype=np.uint64)
    for direction, step in enumerate((-1, 1)):
        for viewer in range(NUM_SEATS):
            for seats in range(16):
                for relative in range(NUM_SEATS):
                    here = seats >> ((viewer + step * relative) & 3) & 1
                    sets[direction, viewer, seats] |= np.uint64(here << relative)
    return sets


_RELATIVE_SEATS: Final = _relative_seats()
_RELATIVE_SEAT: Final = _RELATIVE_SEATS[:, :, [1, 2, 4, 8, 0]].copy()


@inline
def seats_bits(seats: Any, viewer: Any, step: Any) -> Any:
    """Returns the four bits of a set of seats (bit s: seat s), relative to the viewer."""
    return _RELATIVE_SEATS[(step + 1) >> 1, viewer, seats]


@inline
def seat_bit(seat: Any, viewer: Any, step: Any) -> Any:
    """Returns the four bits of a relative seat: one of them set, none for NOBODY."""
    return _RELATIVE_SEAT[(step + 1) >> 1, viewer, seat]


@inline
def rung_bit(rung: Any) -> Any:
    """Returns the bits of a rung: one of them set, none for UNKNOWN."""
    return ZERO if rung == UNKNOWN else ONE << u64(rung)


@inline
def relative_lanes(lanes: Any, viewer: Any, step: Any) -> Any:
    """Returns a number of each seat, seat s from bit 16 s, in the order the viewer sees them."""
    turn = u64(16 * (viewer & 3))
    if step < 0:  # from the last seat to the first
        lanes = lanes >> _32 | lanes << _32
        lanes = (lanes >> _16) & _LOW_HALVES | (lanes & _LOW_HALVES) << _16
        turn = u64(48) - turn
    return lanes >> turn | lanes << ((u64(64) - turn) & u64(63))


@inline
def put_lanes(numbers: Any, row: Any, offset: Any, lanes: Any) -> None:
    """Writes four int16, packed in a uint64 from the low end: the compiler makes it one store."""
    for lane in range(4):
        numbers[row, offset + lane] = low_int16(lanes >> u64(16 * lane))


_16, _32 = u64(16), u64(32)
_LOW_HALVES: Final = u64(0x0000FFFF0000FFFF)


@inline
def scaled(points: Any, factor: Any) -> Any:
    """Returns points in 1/POINT_STEPS of the point scale, within int16; both int64."""
    value = (points * factor) >> 16
    return max(-32767, min(32767, value))


@inline
def observe_cards(d: Any, t: Any, seat: Any, unseen: Any, bits: Any, row: Any) -> Any:
    """Writes the blocks about cards; returns the word in progress."""
    step = i64(t.step)
    hand = d.hands[seat]
    word = append(bits, row, ZERO, _HAND, hand, 52)
    for relative in range(NUM_SEATS):
        other = (seat + step * relative) & 3
        word = append(bits, row, word, _PLAYED + 52 * relative, d.played[other], 52)
    size = i64(d.trick_size)
    for place in range(NUM_SEATS - 1):
        card = ONE << u64(d.trick[place])
        word = append(bits, row, word, _TRICK + 52 * place, card if place < size else ZERO, 52)
    for relative in range(1, NUM_SEATS):
        other = (seat + step * relative) & 3
        word = append(bits, row, word, _NOT_HELD + 52 * (relative - 1), d.not_held[other], 52)
    contract = i64(d.contract)
    flipped = i64(t.reversed[contract]) if contract >= 0 else i64(0)
    beaten_1 = beaten_by_any(unseen, flipped)
    beaten_2 = beaten_by_any(unseen & beaten_1, flipped)
    beaten_3 = beaten_by_any(unseen & beaten_2, flipped)
    beaten_4 = beaten_by_any(unseen & beaten_3, flipped)
    word = append(bits, row, word, _MASTER, hand & ~beaten_1, 52)
    word = append(bits, row, word, _LOWEST, hand & ~beating_any(unseen, flipped), 52)
    word = append(bits, row, word, _BEATS, beating_cards(d, seat, flipped), 52)
    word = append(bits, row, word, _HIGHER_2, hand & beaten_2, 52)
    word = append(bits, row, word, _HIGHER_3, hand & beaten_3, 52)
    word = append(bits, row, word, _HIGHER_4, hand & beaten_4, 52)
    trumps = SUIT_MASKS[d.trump] if d.trump >= 0 else ZERO
    return append(bits, row, word, _OWN_TRUMPS, hand & trumps, 52)


@inline
def beating_cards(d: Any, seat: Any, flipped: Any) -> Any:
    """Returns the playable cards of a seat that beat the best card of the trick in progress."""
    best = i64(d.best)
    better = BETTER[flipped, best]
    if d.trump != NO_TRUMP and best // 13 != d.trump:
        better |= SUIT_MASKS[d.trump]
    playable = d.hands[seat]
    if seat == d.actor:
        playable &= d.legal[0]
    return better & playable if d.trick_size > 0 else ZERO


@inline
def trick_code(d: Any, t: Any, seat: Any) -> Any:
    """Returns the blocks from ``lead_suit`` to ``broken``: 26 bits about the trick in progress."""
    size = i64(d.trick_size)
    code = ONE << u64(4 + size)
    lead = ONE << u64(i64(d.trick[0]) // 13)
    winning = seat_bit(d.best_seat, seat, i64(t.step))
    if size > 0:
        code |= lead | winning << u64(21)
    if d.trick_number < 13:
        code |= ONE << u64(8 + i64(d.trick_number))
    return code | u64(d.broken) << u64(25)


@inline
def contract_code(d: Any, t: Any) -> Any:
    """Returns the blocks from ``unit_plus`` to ``absent_ranks``: 46 bits about the rules."""
    code = t.pack_code << u64(31)
    if d.contract >= 0:
        code |= t.code[d.contract] | u64(t.reversed[d.contract]) << u64(30)
        if d.trump >= 0:
            code |= ONE << u64(25 + i64(d.trump))
    return code


@inline
def seats_code(d: Any, t: Any, seat: Any) -> Any:
    """Returns the blocks from ``phase`` to ``buyer``: 40 bits, who is who."""
    step = i64(t.step)
    code = seat_bit(d.dealer, seat, step)
    code |= seat_bit(d.leader, seat, step) << u64(4)
    code |= seat_bit(d.actor, seat, step) << u64(8)
    code |= seat_bit(d.chooser, seat, step) << u64(12)
    code |= seat_bit(d.declarer, seat, step) << u64(16)
    code |= seat_bit(d.holder, seat, step) << u64(20)
    code |= seat_bit(d.buyer, seat, step) << u64(24)
    return code << u64(NUM_PHASES) | ONE << u64(d.phase)


@inline
def auction_code(d: Any, t: Any, seat: Any) -> Any:
    """Returns the blocks from ``floor`` to ``rejected``: 48 bits about the auction."""
    step = i64(t.step)
    code = rung_bit(d.floor)
    code |= rung_bit(d.call) << u64(NUM_RUNGS)
    code |= rung_bit(d.asked) << u64(2 * NUM_RUNGS)
    code |= rung_bit(d.declined) << u64(3 * NUM_RUNGS)
    code |= seats_bits(d.active, seat, step) << u64(4 * NUM_RUNGS)
    return code | seats_bits(d.rejected, seat, step) << u64(4 * NUM_RUNGS + 4)


@inline
def shown_code(d: Any, t: Any, seat: Any) -> Any:
    """Returns the blocks from ``shown_suit`` to ``shown_owner``: 21 bits about the shown card."""
    if d.shown == NO_CARD:
        return ZERO
    code = ONE << u64(i64(d.shown) // 13) | ONE << u64(4 + i64(d.shown) % 13)
    return code | seat_bit(d.shown_owner, seat, i64(t.step)) << u64(17)


@inline
def observe_table(d: Any, t: Any, seat: Any, bits: Any, row: Any, word: Any) -> Any:
    """Writes the trick, the contract, who is who and the auction; returns the word in progress."""
    word = append(bits, row, word, _LEAD_SUIT, trick_code(d, t, seat), 26)
    word = append(bits, row, word, _UNIT_PLUS, contract_code(d, t), 46)
    word = append(bits, row, word, _PHASE, seats_code(d, t, seat), 28 + NUM_PHASES)
    auction = ZERO
    if t.rungs != 0 or t.buying != 0:
        auction = auction_code(d, t, seat)
    return append(bits, row, word, _FLOOR, auction, 4 * NUM_RUNGS + 8)


@outline
def own_slots(g: Any, t: Any, seat: Any) -> Any:
    """Returns the slots that a seat's own quotas leave open."""
    slots = ZERO
    for contract in range(t.num_contracts):
        group = i64(t.group[contract])
        if group < 0 or g.left[seat, group] == 0:
            continue
        if t.per_player[contract] == 0 or g.used[seat, contract] < t.per_player[contract]:
            slots |= t.slots[contract]
    return slots


@outline
def table_slots(g: Any, t: Any, places: Any) -> Any:
    """Returns the slots that the table may still choose ``places`` times; none without limits."""
    slots = ZERO
    if t.contract_capped:
        for contract in range(t.num_contracts):
            if t.group[contract] >= 0 and open_places(g, t, 15, contract) >= places:
                slots |= t.slots[contract]
    return slots


@inline
def observe_choices(g: Any, t: Any, seat: Any, bits: Any, row: Any, word: Any) -> Any:
    """Writes the slots still open, none without quotas; returns the word in progress."""
    step = i64(t.step)
    chosen = t.group_quota[0] != 0
    for relative in range(NUM_SEATS):
        slots = own_slots(g, t, (seat + step * relative) & 3) if chosen else ZERO
        word = append(bits, row, word, _CHOICES + NUM_SLOTS * relative, slots, NUM_SLOTS)
    once = table_slots(g, t, 1) if chosen else ZERO
    twice = table_slots(g, t, 2) if chosen else ZERO
    return append(bits, row, word, _TABLE_OPEN, once | twice << u64(NUM_SLOTS), 2 * NUM_SLOTS)


@inline
def observe_numbers(g: Any, t: Any, seat: Any, unseen: Any, numbers: Any, row: Any) -> None:
    """Writes units, tricks, points and counts."""
    d = g.deal
    step = i64(t.step)
    factor = i64(t.point_factor)
    contract = max(i64(0), i64(d.contract))
    put_lanes(numbers, row, _TRICKS, relative_lanes(lanes_of(d.tricks), seat, step))
    put_lanes(numbers, row, _LAST, relative_lanes(lanes_of(d.last), seat, step))
    put_lanes(numbers, row, _POINTS, relative_lanes(scale_lanes(d.points, factor), seat, step))
    put_lanes(numbers, row, _TOTALS, relative_lanes(scale_lanes(g.totals, factor), seat, step))
    for unit in range(NUM_UNITS):
        taken = popcount_lanes(d.taken, t.unit_mask[contract, unit])
        offset = _UNITS_TAKEN + NUM_SEATS * unit
        put_lanes(numbers, row, offset, relative_lanes(taken, seat, step))
    if d.contract >= 0:
        for unit in range(3 + NUM_UNITS):
            numbers[row, _UNIT_POINTS + unit] = t.unit_points[contract, unit]
    else:
        for unit in range(3 + NUM_UNITS):
            numbers[row, _UNIT_POINTS + unit] = 0
    if t.group_quota[0] == 0:
        for place in range(NUM_SEATS * MAX_GROUPS):
            numbers[row, _QUOTA + place] = 0
    else:
        for relative in range(NUM_SEATS):
            other = (seat + step * relative) & 3
            for group in range(MAX_GROUPS):
                numbers[row, _QUOTA + MAX_GROUPS * relative + group] = g.left[other, group]
    numbers[row, _TRICK_POINTS] = scaled(trick_points(d, t, contract), factor)
    put_lanes(numbers, row, _HAND_SUITS, popcount_lanes(SUIT_MASKS, d.hands[seat]))
    put_lanes(numbers, row, _UNSEEN, popcount_lanes(SUIT_MASKS, unseen))
    numbers[row, _DEALS_LEFT] = i64(t.num_deals) - 1 - i64(g.position)
    numbers[row, _OFFERS] = d.offers
    numbers[row, _REQUESTS] = d.requests


@inline
def trick_points(d: Any, t: Any, contract: Any) -> Any:
    """Returns what the trick in progress pays so far; 0 before its lead."""
    points = i64(t.trick[contract])
    if i64(d.trick_number) >= i64(t.hand_size) - 2:
        points += i64(t.last[contract])
    for unit in range(NUM_UNITS):
        value = i64(t.unit_value[contract, unit])
        points += popcount(d.trick_cards & t.unit_mask[contract, unit]) * value
    return points if d.trick_size > 0 else i64(0)


@inline
def observe_row(g: Any, t: Any, seat: Any, bits: Any, numbers: Any, row: Any) -> None:
    """Writes what ``seat`` may know into row ``row`` of `[N, W]` uint64 and `[N, K]` int16."""
    seat = i64(seat)
    d = g.deal
    unseen = unseen_by(d, t, seat)
    word = observe_cards(d, t, seat, unseen, bits, row)
    word = observe_table(d, t, seat, bits, row, word)
    word = observe_choices(g, t, seat, bits, row, word)
    shown = shown_code(d, t, seat)
    append(bits, row, word, _SHOWN_SUIT, shown, 64 * NUM_WORDS - _SHOWN_SUIT)  # and the padding
    observe_numbers(g, t, seat, unseen, numbers, row)


@inline
def unfold_row(words: Any, out: Any, row: Any) -> None:
    """Writes the bits of a row of `[M, W]` words as bytes of a row of `[M, 8 W]` uint64."""
    for word in range(words.shape[1]):
        unfold(words[row, word], out, i64(row), i64(word))


@inline
def scaled_number(numbers: Any, row: Any, index: Any) -> Any:
    """Returns a number as learners see it: divided by its scale and clipped, float32."""
    value = np.float32(numbers[row, index]) * _INVERSE_SCALES[index]
    return max(np.float32(-NUMBER_BOUND), min(np.float32(NUMBER_BOUND), value))


@inline
def float_row(bits: Any, numbers: Any, row: Any, out: Any) -> None:
    """Writes the float32 form of a row: bits as 0 and 1, then scaled and clipped numbers."""
    for place in range(NUM_WORDS):
        # Word by word, and without converting integers: so it is compiled to vector code.
        word = bits[row, place]
        for bit in range(min(64, NUM_BITS - 64 * place)):
            is_set = word & (ONE << u64(bit))
            out[64 * place + bit] = np.float32(1) if is_set else np.float32(0)
    for index in range(NUM_NUMBERS):
        out[NUM_BITS + index] = scaled_number(numbers, row, index)


@inline
def write_mask(d: Any, out: Any) -> None:
    """Writes the legal actions as `[A]` int8."""
    for action in range(NUM_ACTIONS):
        out[action] = (d.legal[action >> 6] >> u64(action & 63)) & ONE


# ---------------------------------------------------------------- doors for Python


@kernel
def observe(games: Any, tables: Any, i: int, seat: int, bits: Any, numbers: Any, row: int) -> None:
    """Writes what ``seat`` of ``games[i]`` may know into a row, see ``observe_row``."""
    g = games[i]
    observe_row(g, tables[g.variant], seat, bits, numbers, row)


@kernel
def observe_actors(games: Any, tables: Any, rows: Any, bits: Any, numbers: Any, mask: Any) -> None:
    """Observes the seat to act of each game in ``rows``.

    Args:
        games: `[N]` games.
        tables: rule tables.
        rows: `[M]` int64, indices of games; one that is over is seen from seat 0.
        bits: `[M, W]` uint64, out.
        numbers: `[M, K]` int16, out.
        mask: `[M, 3]` uint64, out: legal actions.
    """
    for row in range(rows.shape[0]):
        g = games[rows[row]]
        observe_row(g, tables[g.variant], i64(g.deal.actor) & 3, bits, numbers, row)
        for word in range(NUM_MASK_WORDS):
            mask[row, word] = g.deal.legal[word]


@kernel
def expand(words: Any, out: Any) -> None:
    """Expands `[M, W]` packed words into `[M, 8 W]` uint64, whose bytes are the 64 W bits."""
    for row in range(words.shape[0]):
        unfold_row(words, out, row)


@kernel
def to_float(bits: Any, numbers: Any, row: int, out: Any) -> None:
    """Writes a row as the float32 vector of length NUM_FEATURES, see ``float_row``."""
    float_row(bits, numbers, row, out)


@kernel
def mask_to_int8(games: Any, i: int, out: Any) -> None:
    """Writes the legal actions of ``games[i]`` as `[A]` int8."""
    write_mask(games[i].deal, out)


@kernel
def observe_state(games: Any, i: int, out: Any) -> None:
    """Writes all hands, then all cards still to arrive, of ``games[i]``: `[416]` float32."""
    d = games[i].deal
    for seat in range(NUM_SEATS):
        for card in range(52):
            out[52 * seat + card] = np.float32((d.hands[seat] >> u64(card)) & ONE)
            out[208 + 52 * seat + card] = np.float32((d.undealt[seat] >> u64(card)) & ONE)


NUM_HIDDEN: Final = 416
"""Length of what ``observe_state`` writes."""


def unpack_bits(words: npt.NDArray[np.uint64], num_bits: int) -> npt.NDArray[np.uint8]:
    """Returns `[M, num_bits]` uint8 of `[M, W]` packed words."""
    out = np.empty((words.shape[0], words.shape[1] * 8), dtype=np.uint64)
    expand(np.ascontiguousarray(words), out)
    return out.view(np.uint8)[:, :num_bits]


def features(
    bits: npt.NDArray[np.uint8], numbers: npt.NDArray[np.int16]
) -> npt.NDArray[np.float32]:
    """Returns observations `[M, F]` as the environments give them, from the batched ones' parts.

    Args:
        bits: `[M, B]`, as with ``obs="dense"``.
        numbers: `[M, K]` int16.
    """
    out = np.empty((len(bits), NUM_FEATURES), dtype=np.float32)
    out[:, :NUM_BITS] = bits
    scaled = numbers.astype(np.float32) * _INVERSE_SCALES
    np.clip(scaled, -NUMBER_BOUND, NUMBER_BOUND, out=out[:, NUM_BITS:])
    return out
