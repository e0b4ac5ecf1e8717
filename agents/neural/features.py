"""What a network sees: the observation with its suits in a canonical order.

Most contracts do not tell one suit from another, so a position and its 24 relabellings are the same
problem. Instead of learning them apart, the network sees the suits sorted: first the suit that the
rules single out (trump, or hearts where hearts count), then the others by the length and the ranks
of the seat's own dealt hand. Actions are translated both ways.

An order of suits is written as one byte: bits 2j and 2j + 1 hold the suit that stands in place j.

Axes: N games, M rows, W words, K numbers.
"""

from __future__ import annotations

from typing import Any, Final

from king_env.cards import HEARTS
from king_env.engine.actions import DECLARE, NUM_MASK_WORDS, ORDER, SLOT
from king_env.engine.jit import inline, kernel, popcount
from king_env.engine.layout import NUM_SEATS, ONE, ZERO, i64, u64
from king_env.engine.observe import BIT_BLOCKS, NUM_WORDS, NUMBER_BLOCKS
from king_env.rules.spec import NUM_SLOTS
from king_env.rules.tables import DECISION_CHOOSE, LEAD_FREE, VOID_FORCE_KING

SAME_ORDER: Final = 0b11100100
"""The byte of the order S H D C, which changes nothing."""

_NUM_CARD_BLOCKS: Final = BIT_BLOCKS["lead_suit"].offset // 52
assert all(block.size % 52 == 0 for block in BIT_BLOCKS.values() if block.offset < 52 * 18)
_LEAD_SUIT: Final = BIT_BLOCKS["lead_suit"].offset
_TRUMP: Final = BIT_BLOCKS["trump"].offset
_SHOWN_SUIT: Final = BIT_BLOCKS["shown_suit"].offset
_HEARTS: Final = NUMBER_BLOCKS["hearts"].offset
_KING: Final = NUMBER_BLOCKS["king"].offset
_HAND_SUITS: Final = NUMBER_BLOCKS["hand_suits"].offset
_UNSEEN_SUITS: Final = NUMBER_BLOCKS["unseen_suits"].offset
_SUIT: Final = u64(0x1FFF)
_CARDS: Final = u64((1 << 52) - 1)


@inline
def hearts_matter(t: Any, contract: Any) -> bool:
    """Tells whether a contract treats hearts unlike the other suits."""
    return (  # type: ignore[no-any-return]
        t.unit_value[contract, 0] != 0
        or t.unit_value[contract, 3] != 0
        or t.lead[contract] != LEAD_FREE
        or t.void[contract] == VOID_FORCE_KING
    )


@inline
def special_suit(g: Any, t: Any) -> Any:
    """Returns the suit that the rules single out in the deal, or -1."""
    d = g.deal
    if d.trump >= 0 and d.trump < 4:
        return i64(d.trump)
    if d.contract >= 0:
        return i64(HEARTS) if hearts_matter(t, i64(d.contract)) else i64(-1)
    if t.deal_decision[g.position] == DECISION_CHOOSE:
        return i64(HEARTS)
    if hearts_matter(t, i64(t.plus_contract)) or hearts_matter(t, i64(t.minus_contract)):
        return i64(HEARTS)
    return i64(-1)


@inline
def suit_order(g: Any, t: Any, seat: Any) -> Any:
    """Returns the canonical order of suits for a seat, as int64."""
    d = g.deal
    dealt = d.hands[seat] | d.played[seat]
    special = special_suit(g, t)
    order = i64(0)
    taken = i64(0)
    for place in range(4):
        best = i64(-1)
        pick = i64(0)
        for suit in range(4):
            if (taken >> suit) & 1:
                continue
            cards = (dealt >> u64(13 * suit)) & _SUIT
            value = popcount(cards) * 8192 + i64(cards)
            if suit == special:
                value += i64(1) << 20
            if value > best:
                best = value
                pick = i64(suit)
        taken |= i64(1) << pick
        order |= pick << (2 * place)
    return order


@inline
def get_bits(words: Any, row: Any, offset: Any, mask: Any) -> Any:
    """Returns up to 64 bits from a bit offset of a row."""
    word = offset >> 6
    shift = offset & 63
    value = words[row, word] >> u64(shift)
    if shift > 0 and word + 1 < words.shape[1]:
        value |= words[row, word + 1] << u64(64 - shift)
    return value & mask


@inline
def set_bits(words: Any, row: Any, offset: Any, mask: Any, value: Any) -> None:
    """Replaces the bits under ``mask`` at a bit offset of a row."""
    word = offset >> 6
    shift = offset & 63
    words[row, word] = (words[row, word] & ~(mask << u64(shift))) | (value << u64(shift))
    if shift > 0 and word + 1 < words.shape[1]:
        back = u64(64 - shift)
        words[row, word + 1] = (words[row, word + 1] & ~(mask >> back)) | (value >> back)


@inline
def permuted_cards(cards: Any, order: Any) -> Any:
    """Returns a set of cards with suit ``order[j]`` moved to place j."""
    out = ZERO
    for place in range(4):
        suit = (order >> (2 * place)) & 3
        out |= ((cards >> u64(13 * suit)) & _SUIT) << u64(13 * place)
    return out


@inline
def permuted_four(bits: Any, order: Any) -> Any:
    """Returns four bits, one a suit, in a new order."""
    out = ZERO
    for place in range(4):
        out |= ((bits >> u64((order >> (2 * place)) & 3)) & ONE) << u64(place)
    return out


@inline
def relabel_numbers(numbers: Any, row: Any, offset: Any, order: Any) -> None:
    """Reorders four numbers, one a suit."""
    a, b, c, e = (
        numbers[row, offset],
        numbers[row, offset + 1],
        numbers[row, offset + 2],
        numbers[row, offset + 3],
    )
    for place in range(4):
        suit = (order >> (2 * place)) & 3
        numbers[row, offset + place] = a if suit == 0 else b if suit == 1 else c if suit == 2 else e


@inline
def relabel_row(t: Any, order: Any, bits: Any, numbers: Any, mask: Any, row: Any) -> None:
    """Reorders the suits of one observation and of its legal actions."""
    if order == SAME_ORDER:
        return
    for block in range(_NUM_CARD_BLOCKS):
        cards = get_bits(bits, row, 52 * block, _CARDS)
        if cards != ZERO:
            set_bits(bits, row, 52 * block, _CARDS, permuted_cards(cards, order))
    four = u64(15)
    for offset in (_LEAD_SUIT, _TRUMP, _SHOWN_SUIT):
        suits = get_bits(bits, row, offset, four)
        if suits != ZERO:
            set_bits(bits, row, offset, four, permuted_four(suits, order))
    relabel_numbers(numbers, row, _HAND_SUITS, order)
    relabel_numbers(numbers, row, _UNSEEN_SUITS, order)
    cards = mask[row, 0] & _CARDS
    mask[row, 0] = (mask[row, 0] & ~_CARDS) | permuted_cards(cards, order)
    for offset in (DECLARE, ORDER):
        set_bits(mask, row, offset, four, permuted_four(get_bits(mask, row, offset, four), order))
    for slot in range(NUM_SLOTS - 3):
        if t.slot_contract[slot] >= 0 and t.slot_trump[slot] == 0:
            at = SLOT + slot
            set_bits(mask, row, at, four, permuted_four(get_bits(mask, row, at, four), order))


@inline
def canonicalise(
    g: Any, t: Any, seat: Any, canonical: Any, bits: Any, numbers: Any, mask: Any, row: Any
) -> Any:
    """Brings one observation of a seat into canonical form; returns its order of suits.

    Where hearts are a suit like the others, how many were taken says nothing and becomes 0.
    """
    if not canonical:
        return i64(SAME_ORDER)
    contract = i64(g.deal.contract)
    if contract >= 0 and not hearts_matter(t, contract):
        for place in range(NUM_SEATS):
            numbers[row, _HEARTS + place] = 0
            numbers[row, _KING + place] = 0
    order = suit_order(g, t, seat)
    relabel_row(t, order, bits, numbers, mask, row)
    return order


@inline
def real_action(t: Any, order: Any, action: Any) -> Any:
    """Returns the action id of the game for an action among canonical suits."""
    if action < 52:
        return ((order >> (2 * (action // 13))) & 3) * 13 + action % 13
    if DECLARE <= action < DECLARE + 4:
        return DECLARE + ((order >> (2 * (action - DECLARE))) & 3)
    if ORDER <= action < ORDER + 4:
        return ORDER + ((order >> (2 * (action - ORDER))) & 3)
    if action >= SLOT and t.slot_trump[action - SLOT] < 4:
        place = i64(t.slot_trump[action - SLOT])
        return action - place + ((order >> (2 * place)) & 3)
    return action


@inline
def inverse_order(order: Any) -> Any:
    """Returns the order that undoes an order."""
    out = i64(0)
    for place in range(4):
        out |= i64(place) << (2 * ((order >> (2 * place)) & 3))
    return out


# ---------------------------------------------------------------- doors for Python


@kernel
def relabel(
    games: Any,
    tables: Any,
    rows: Any,
    canonical: int,
    bits: Any,
    numbers: Any,
    mask: Any,
    orders: Any,
) -> None:
    """Reorders the suits of observations of the seats to act, in place.

    Args:
        games: `[N]` games.
        tables: rule tables.
        rows: `[M]` int64, indices of games.
        canonical: 0: leave the suits as they are.
        bits: `[M, W]` uint64.
        numbers: `[M, K]` int16.
        mask: `[M, 3]` uint64.
        orders: `[M]` uint8, out: the order of suits of each row.
    """
    for row in range(rows.shape[0]):
        g = games[rows[row]]
        t = tables[g.variant]
        seat = i64(g.deal.actor) & 3
        orders[row] = canonicalise(g, t, seat, canonical, bits, numbers, mask, row)


@kernel
def to_real(games: Any, tables: Any, rows: Any, orders: Any, actions: Any, out: Any) -> None:
    """Translates `[M]` actions among canonical suits into action ids of the game."""
    for row in range(rows.shape[0]):
        t = tables[games[rows[row]].variant]
        out[row] = real_action(t, i64(orders[row]), i64(actions[row]))


@kernel
def to_canonical(games: Any, tables: Any, rows: Any, orders: Any, actions: Any, out: Any) -> None:
    """Translates `[M]` action ids of the game into actions among canonical suits."""
    for row in range(rows.shape[0]):
        t = tables[games[rows[row]].variant]
        out[row] = real_action(t, inverse_order(i64(orders[row])), i64(actions[row]))


@kernel
def relabel_values(games: Any, tables: Any, rows: Any, orders: Any, room: Any, values: Any) -> None:
    """Moves `[M, A]` numbers, one an action of the game, to their canonical actions, in place.

    ``room`` is `[A]` of the same type.
    """
    for row in range(rows.shape[0]):
        t = tables[games[rows[row]].variant]
        back = inverse_order(i64(orders[row]))
        for action in range(values.shape[1]):
            room[real_action(t, back, i64(action))] = values[row, action]
        for action in range(values.shape[1]):
            values[row, action] = room[action]


assert NUM_MASK_WORDS * 64 >= SLOT + NUM_SLOTS and NUM_WORDS * 64 >= _SHOWN_SUIT + 4
assert NUM_SEATS == 4
