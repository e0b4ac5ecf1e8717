"""Exact play of the last tricks with open cards: paranoid alpha-beta and max^n.

A position is a game record in PLAY with all hands known; the value is what the rest of the deal
brings. Everything the search needs lies in arrays of its caller: a stack of records, one a ply, on
which the engine itself plays the cards, and a table of positions at the start of a trick.

Paranoid: the root seat (in a partnership, its team) maximizes its payoff, all others minimize it.
Max^n: every seat maximizes its own points. Where several moves are equally good for the mover, it
takes the one that is worst for the root seat, then the lexicographically smallest vector; so the
value does not depend on the order of moves.

Source: Luckhardt and Irani 1986, "An algorithmic solution of n-person games" (max^n); Sturtevant
and Korf 2000, "On pruning techniques for multi-player games", section 3 (paranoid).

Axes: P plies, T table entries, S seats.
"""

from __future__ import annotations

from typing import Any, Final

from agents.kernels.simple import lowest_rank, unit_points, winning_cards
from agents.search.worlds import twins
from king_env.engine.auction import CALLS
from king_env.engine.jit import inline, kernel, lowest, popcount
from king_env.engine.layout import (
    NOBODY,
    NUM_SEATS,
    ONE,
    SUIT_MASKS,
    ZERO,
    i64,
    u64,
)
from king_env.engine.play import legal_cards, play_card
from king_env.engine.rng import mix
from king_env.rules.tables import DECISION_AUCTION, DECISION_ORDER, NUM_UNITS

MAX_PLIES: Final = 52
INFINITE: Final = 1 << 40
FAILED: Final = 1 << 41
"""Value of a search that ran out of nodes."""

NO_MOVE: Final = 64

(
    ALPHA,
    BETA,
    FIRST_ALPHA,
    FIRST_BETA,
    BEST,
    BEST_MOVE,
    GAIN,
    MOVE,
    SLOT_,
    SEAT_0,
) = range(10)
NUM_NUMBERS: Final = SEAT_0 + 2 * NUM_SEATS
"""Columns of ``numbers``: window, its first state, best value and move, what the move into the ply
brought, the move being tried, place in the table; for max^n the best vector and what the move
brought each seat."""
BEST_0: Final = SEAT_0
GAIN_0: Final = SEAT_0 + NUM_SEATS

MOVES, KEY = range(2)
NUM_MASKS: Final = 2

LOW, HIGH, TABLE_MOVE = range(3)
NUM_ENTRY: Final = 5
"""Columns of ``entries``: bounds and best move; for max^n the vector."""

ENTER, NEXT, LEAVE = range(3)


# ---------------------------------------------------------------- what a trick brings


@inline
def capped_fee(g: Any, t: Any) -> Any:
    """Returns a settlement that depends on tricks: (who takes them, at most, points each).

    The buyer pays the auctioneer or orderer so many points for each trick that a certain seat
    takes, up to a number of them. NOBODY where nothing like that is owed.
    """
    d = g.deal
    decision = t.deal_decision[g.position]
    if d.buyer == NOBODY:
        return i64(NOBODY), i64(0), i64(0)
    if decision == DECISION_AUCTION:
        call = i64(CALLS[d.call])
        if call > 0 and t.plus_capped and d.contract == t.plus_contract:
            return i64(d.buyer), call, i64(t.plus_unit)
        if call < 0 and t.minus_fixed == 0 and d.contract == t.minus_contract:
            return i64(d.chooser), -call, i64(t.minus_unit)
    elif decision == DECISION_ORDER and t.payment_capped:
        return i64(d.buyer), i64(d.call) + 1, i64(t.trick_price)
    return i64(NOBODY), i64(0), i64(0)


@inline
def fixed_fee(g: Any, t: Any) -> Any:
    """Returns the points that the buyer pays whatever is played."""
    d = g.deal
    if d.buyer == NOBODY or capped_fee(g, t)[0] != NOBODY:
        return i64(0)
    if t.deal_decision[g.position] == DECISION_ORDER:
        return (i64(d.call) + 1) * i64(t.trick_price)
    call = i64(CALLS[d.call])
    return call * i64(t.plus_unit) if call > 0 else -call * i64(t.minus_unit)


@inline
def share(t: Any, root: Any, seat: Any) -> Any:
    """Returns how a point of ``seat`` counts for the root seat, in quarters of a payoff point."""
    if t.partnership:
        return i64(2) if (seat - root) & 1 == 0 else i64(-2)
    return i64(3) if seat == root else i64(-1)


@inline
def plays_for(t: Any, root: Any, seat: Any) -> bool:
    """Tells whether a seat is the root seat or its partner."""
    if t.partnership:
        return (seat - root) & 1 == 0  # type: ignore[no-any-return]
    return seat == root  # type: ignore[no-any-return]


@inline
def fee_share(g: Any, t: Any, root: Any) -> Any:
    """Returns how a point paid by the buyer counts for the root seat, in quarters."""
    d = g.deal
    if d.buyer == NOBODY:
        return i64(0)
    return share(t, root, i64(d.chooser)) - share(t, root, i64(d.buyer))


@inline
def points_so_far(g: Any, t: Any, root: Any) -> Any:
    """Returns the payoff of the deal so far in quarters of a point, what is owed included."""
    d = g.deal
    seat, cap, price = capped_fee(g, t)
    paid = fixed_fee(g, t)
    if seat != NOBODY:
        paid = min(cap, i64(d.tricks[seat])) * price
    total = paid * fee_share(g, t, root)
    for other in range(NUM_SEATS):
        total += share(t, root, other) * i64(d.points[other])
    return total


@inline
def spread(count: Any, value: Any, up: Any, best: Any, worst: Any) -> Any:
    """Returns the most (up=1) or the least that ``count`` things of ``value`` can bring."""
    one = best * value
    other = worst * value
    return count * (max(one, other) if up else min(one, other))


@inline
def outlook(d: Any, t: Any, root: Any, up: Any, fee_left: Any, fee_value: Any) -> Any:
    """Returns a bound on what the rest of a deal brings at the start of a trick, in quarters.

    It is the best (up=1) or worst case: all that is left goes where it does most.
    """
    contract = i64(d.contract)
    best = share(t, root, root)
    worst = share(t, root, (root + 1) & 3)
    tricks = i64(t.hand_size) - i64(d.trick_number)
    total = spread(tricks, i64(t.trick[contract]), up, best, worst)
    total += spread(min(tricks, i64(2)), i64(t.last[contract]), up, best, worst)
    left = d.hands[0] | d.hands[1] | d.hands[2] | d.hands[3]
    for unit in range(NUM_UNITS):
        value = i64(t.unit_value[contract, unit])
        if value != 0:
            count = popcount(left & t.unit_mask[contract, unit])
            total += spread(count, value, up, best, worst)
    fee = min(fee_left, tricks) * fee_value
    return total + (max(i64(0), fee) if up else min(i64(0), fee))


# ---------------------------------------------------------------- moves


@inline
def strongest(cards: Any, flipped: Any) -> Any:
    """Returns a card of the highest rank."""
    return lowest_rank(cards, 1 - flipped)


@inline
def next_card(d: Any, t: Any, moves: Any, wanted: Any) -> Any:
    """Returns the card to try first: what a player of his own interest would play.

    ``wanted`` is 1 where points are good.
    """
    flipped = i64(t.reversed[d.contract])
    if d.trick_size == 0:
        return strongest(moves, flipped) if wanted else lowest_rank(moves, flipped)
    winners = moves & winning_cards(d, t)
    losers = moves & ~winners
    if wanted:
        return lowest_rank(winners if winners != ZERO else losers, flipped)
    if losers == ZERO:
        return strongest(winners, flipped) if d.trick_size == 3 else lowest_rank(winners, flipped)
    units = losers & t.penalty[d.contract]
    return strongest(units if units != ZERO else losers, flipped)


@inline
def others_of(d: Any, seat: Any) -> Any:
    """Returns the cards in play that are not in a seat's hand."""
    own = d.hands[seat]
    return (d.hands[0] | d.hands[1] | d.hands[2] | d.hands[3] | d.trick_cards) & ~own


@inline
def take_move(d: Any, t: Any, masks: Any, p: Any, wanted: Any, first: Any) -> Any:
    """Takes the next card to try off the moves of a ply, its twins with it."""
    moves = masks[p, MOVES]
    card = i64(next_card(d, t, moves, wanted))
    if first < NO_MOVE and moves & (ONE << u64(first)):
        card = i64(first)
    seat = i64(d.actor)
    # Twins are looked for above a card: start from the lowest that the card is a twin of.
    own = d.hands[seat]
    others = others_of(d, seat)
    same = ONE << u64(card)
    same |= twins(t, i64(d.contract), card, own, others)
    below = moves & SUIT_MASKS[card // 13] & ((ONE << u64(card)) - ONE)
    while below != ZERO:
        lower = i64(lowest(below))
        below &= below - ONE
        if twins(t, i64(d.contract), lower, own, others) & (ONE << u64(card)):
            same |= ONE << u64(lower)
    masks[p, MOVES] = moves & ~same
    return card


# ---------------------------------------------------------------- paranoid


@inline
def solve_paranoid(
    stack: Any,
    t: Any,
    root: Any,
    numbers: Any,
    masks: Any,
    keys: Any,
    entries: Any,
    salt: Any,
    budget: Any,
) -> Any:
    """Returns what the rest of the deal in ``stack[0]`` brings the root seat, in quarters.

    Args:
        stack: `[P]` games; the first is the position, the others are room.
        t: rule table.
        root: seat that maximizes.
        numbers: `[P, NUM_NUMBERS]` int64, room.
        masks: `[P, NUM_MASKS]` uint64, room.
        keys: `[T]` uint64, table of positions; T is a power of two.
        entries: `[T, NUM_ENTRY]` int32, what the table says of them.
        salt: uint64, tells this deal's positions from those of others in the table.
        budget: positions to look at, at most.

    Returns:
        The value, or FAILED.
    """
    fee_seat, fee_cap, price = capped_fee(stack[0], t)
    fee_value = price * fee_share(stack[0], t, root)
    wanted = i64(unit_points(t, i64(stack[0].deal.contract)) > 0)
    size_mask = u64(keys.shape[0] - 1)
    nodes = i64(0)
    value = i64(0)
    p = i64(0)
    numbers[0, ALPHA] = -INFINITE
    numbers[0, BETA] = INFINITE
    numbers[0, GAIN] = 0
    state = i64(ENTER)
    while True:
        d = stack[p].deal
        if state == ENTER:
            nodes += 1
            if nodes > budget:
                return i64(FAILED)
            alpha = numbers[p, ALPHA]
            beta = numbers[p, BETA]
            numbers[p, BEST_MOVE] = NO_MOVE
            state = i64(NEXT)
            if d.trick_size == 0:
                taken = i64(0)
                if fee_seat != NOBODY:
                    taken = min(fee_cap, i64(d.tricks[fee_seat]))
                fee_left = fee_cap - taken
                high = outlook(d, t, root, i64(1), fee_left, fee_value)
                low = outlook(d, t, root, i64(0), fee_left, fee_value)
                if low == high or high <= alpha:
                    value = high
                    state = i64(LEAVE)
                elif low >= beta:
                    value = low
                    state = i64(LEAVE)
                else:
                    left = d.hands[0] | d.hands[1] | d.hands[2] | d.hands[3]
                    key = left | u64(i64(d.actor)) << u64(52) | u64(taken) << u64(54)
                    key = mix(key ^ salt)
                    slot = i64(key & size_mask)
                    masks[p, KEY] = key
                    numbers[p, SLOT_] = slot
                    if keys[slot] == key:
                        low = i64(entries[slot, LOW])
                        high = i64(entries[slot, HIGH])
                        numbers[p, BEST_MOVE] = entries[slot, TABLE_MOVE]
                        if low == high or high <= alpha:
                            value = high
                            state = i64(LEAVE)
                        elif low >= beta:
                            value = low
                            state = i64(LEAVE)
            if state == NEXT:
                numbers[p, FIRST_ALPHA] = alpha
                numbers[p, FIRST_BETA] = beta
                numbers[p, BEST] = -INFINITE if plays_for(t, root, i64(d.actor)) else INFINITE
                masks[p, MOVES] = legal_cards(d, t, d.hands[d.actor])
        if state == LEAVE:
            if p == 0:
                return value
            value += numbers[p, GAIN]
            p -= 1
            d = stack[p].deal
            take_value(t, root, i64(d.actor), numbers, masks, p, value)
            state = i64(NEXT)
        if masks[p, MOVES] == ZERO:
            value = numbers[p, BEST]
            if d.trick_size == 0:
                store_bounds(numbers, masks, keys, entries, p, value)
            state = i64(LEAVE)
            continue
        first = numbers[p, BEST_MOVE] if numbers[p, BEST] in (-INFINITE, INFINITE) else NO_MOVE
        card = take_move(d, t, masks, p, wanted, first)
        numbers[p, MOVE] = card
        stack[p + 1] = stack[p]
        after = stack[p + 1].deal
        over = play_card(after, t, card)
        gain = i64(0)
        if after.trick_size == 0:
            winner = i64(after.leader)
            won = i64(after.points[winner]) - i64(d.points[winner])
            gain = share(t, root, winner) * won
            if winner == fee_seat and d.tricks[winner] < fee_cap:
                gain += fee_value
        if over:
            take_value(t, root, i64(d.actor), numbers, masks, p, gain)
            continue
        p += 1
        numbers[p, GAIN] = gain
        numbers[p, ALPHA] = numbers[p - 1, ALPHA] - gain
        numbers[p, BETA] = numbers[p - 1, BETA] - gain
        state = i64(ENTER)


@inline
def take_value(t: Any, root: Any, seat: Any, numbers: Any, masks: Any, p: Any, value: Any) -> None:
    """Counts the value of the move being tried at a ply; no more moves after a cut-off."""
    if plays_for(t, root, seat):
        if value > numbers[p, BEST]:
            numbers[p, BEST] = value
            numbers[p, BEST_MOVE] = numbers[p, MOVE]
            numbers[p, ALPHA] = max(numbers[p, ALPHA], value)
    elif value < numbers[p, BEST]:
        numbers[p, BEST] = value
        numbers[p, BEST_MOVE] = numbers[p, MOVE]
        numbers[p, BETA] = min(numbers[p, BETA], value)
    if numbers[p, ALPHA] >= numbers[p, BETA]:
        masks[p, MOVES] = ZERO


@inline
def store_bounds(numbers: Any, masks: Any, keys: Any, entries: Any, p: Any, value: Any) -> None:
    """Writes what was found of a position to the table; the newest entry stays."""
    slot = numbers[p, SLOT_]
    low = value
    high = value
    if value <= numbers[p, FIRST_ALPHA]:
        low = i64(-(1 << 30))
    elif value >= numbers[p, FIRST_BETA]:
        high = i64(1 << 30)
    if keys[slot] == masks[p, KEY]:
        low = max(low, i64(entries[slot, LOW]))
        high = min(high, i64(entries[slot, HIGH]))
    keys[slot] = masks[p, KEY]
    entries[slot, LOW] = low
    entries[slot, HIGH] = high
    entries[slot, TABLE_MOVE] = numbers[p, BEST_MOVE]


# ---------------------------------------------------------------- max^n


@inline
def nothing_left(d: Any, t: Any, fee_open: Any) -> bool:
    """Tells whether the rest of a deal brings nobody anything, at the start of a trick."""
    contract = i64(d.contract)
    if t.trick[contract] != 0 or t.last[contract] != 0 or fee_open:
        return False
    left = d.hands[0] | d.hands[1] | d.hands[2] | d.hands[3]
    for unit in range(NUM_UNITS):
        if t.unit_value[contract, unit] != 0 and left & t.unit_mask[contract, unit]:
            return False
    return True


@inline
def prefers(t: Any, root: Any, seat: Any, numbers: Any, p: Any, child: Any) -> bool:
    """Tells whether a seat prefers the vector of a child ply to its best so far, see above."""
    for rule in range(2):
        # His own points, the more the better; then the root's, the fewer the better.
        who = seat if rule == 0 else root
        new = numbers[child, BEST_0 + who] + numbers[child, GAIN_0 + who]
        old = numbers[p, BEST_0 + who]
        if t.partnership:
            mate = (who + 2) & 3
            new += numbers[child, BEST_0 + mate] + numbers[child, GAIN_0 + mate]
            old += numbers[p, BEST_0 + mate]
        if new != old:
            return (new > old) == (rule == 0)  # type: ignore[no-any-return]
    for other in range(NUM_SEATS):
        new = numbers[child, BEST_0 + other] + numbers[child, GAIN_0 + other]
        if new != numbers[p, BEST_0 + other]:
            return new < numbers[p, BEST_0 + other]  # type: ignore[no-any-return]
    return False


@inline
def take_vector(t: Any, root: Any, seat: Any, numbers: Any, p: Any) -> None:
    """Counts the vector of the ply above ``p``, reached by the move being tried at ``p``."""
    child = p + 1
    if numbers[p, BEST] == 0 or prefers(t, root, seat, numbers, p, child):
        numbers[p, BEST] = 1
        for other in range(NUM_SEATS):
            numbers[p, BEST_0 + other] = (
                numbers[child, BEST_0 + other] + numbers[child, GAIN_0 + other]
            )


@inline
def solve_maxn(
    stack: Any,
    t: Any,
    root: Any,
    numbers: Any,
    masks: Any,
    keys: Any,
    entries: Any,
    salt: Any,
    budget: Any,
) -> Any:
    """Writes what the rest of the deal in ``stack[0]`` brings each seat by max^n.

    The vector comes in ``numbers[0, BEST_0 : BEST_0 + 4]``, in points; arguments as in
    ``solve_paranoid``.

    Returns:
        What it brings the root seat in quarters of a payoff point, or FAILED.
    """
    fee_seat, fee_cap, price = capped_fee(stack[0], t)
    buyer = i64(stack[0].deal.buyer)
    auctioneer = i64(stack[0].deal.chooser)
    wanted = i64(unit_points(t, i64(stack[0].deal.contract)) > 0)
    size_mask = u64(keys.shape[0] - 1)
    nodes = i64(0)
    p = i64(0)
    state = i64(ENTER)
    while True:
        d = stack[p].deal
        if state == ENTER:
            nodes += 1
            if nodes > budget:
                return i64(FAILED)
            state = i64(NEXT)
            numbers[p, BEST] = 0
            for seat in range(NUM_SEATS):
                numbers[p, BEST_0 + seat] = 0
            masks[p, MOVES] = legal_cards(d, t, d.hands[d.actor])
            if d.trick_size == 0:
                taken = i64(0)
                if fee_seat != NOBODY:
                    taken = min(fee_cap, i64(d.tricks[fee_seat]))
                left = d.hands[0] | d.hands[1] | d.hands[2] | d.hands[3]
                key = left | u64(i64(d.actor)) << u64(52) | u64(taken) << u64(54)
                key = mix(key ^ salt)
                slot = i64(key & size_mask)
                masks[p, KEY] = key
                numbers[p, SLOT_] = slot
                if nothing_left(d, t, taken < fee_cap):
                    state = i64(LEAVE)
                elif keys[slot] == key:
                    for seat in range(NUM_SEATS):
                        numbers[p, BEST_0 + seat] = entries[slot, seat]
                    state = i64(LEAVE)
        if state == LEAVE:
            if p == 0:
                break
            p -= 1
            d = stack[p].deal
            take_vector(t, root, i64(d.actor), numbers, p)
            state = i64(NEXT)
        if masks[p, MOVES] == ZERO:
            if d.trick_size == 0:
                slot = numbers[p, SLOT_]
                keys[slot] = masks[p, KEY]
                for seat in range(NUM_SEATS):
                    entries[slot, seat] = numbers[p, BEST_0 + seat]
            state = i64(LEAVE)
            continue
        card = take_move(d, t, masks, p, wanted, i64(NO_MOVE))
        stack[p + 1] = stack[p]
        after = stack[p + 1].deal
        over = play_card(after, t, card)
        for seat in range(NUM_SEATS):
            numbers[p + 1, GAIN_0 + seat] = 0
            numbers[p + 1, BEST_0 + seat] = 0
        if after.trick_size == 0:
            winner = i64(after.leader)
            won = i64(after.points[winner]) - i64(d.points[winner])
            numbers[p + 1, GAIN_0 + winner] = won
            if winner == fee_seat and d.tricks[winner] < fee_cap:
                numbers[p + 1, GAIN_0 + buyer] -= price
                numbers[p + 1, GAIN_0 + auctioneer] += price
        if over:
            take_vector(t, root, i64(d.actor), numbers, p)
            continue
        p += 1
        state = i64(ENTER)
    value = i64(0)
    for seat in range(NUM_SEATS):
        value += share(t, root, seat) * numbers[0, BEST_0 + seat]
    return value


# ---------------------------------------------------------------- door for Python


@kernel
def solve_rows(
    games: Any,
    tables: Any,
    seats: Any,
    maxn: int,
    stack: Any,
    numbers: Any,
    masks: Any,
    keys: Any,
    entries: Any,
    budget: int,
    out: Any,
    vectors: Any,
) -> None:
    """Solves positions in PLAY with open cards.

    Args:
        games: `[M]` games in PLAY, all hands known.
        tables: rule tables.
        seats: `[M]` int64, root seats.
        maxn: 1: max^n, 0: paranoid.
        stack: `[MAX_PLIES]` games, room.
        numbers: `[MAX_PLIES, NUM_NUMBERS]` int64, room.
        masks: `[MAX_PLIES, NUM_MASKS]` uint64, room.
        keys: `[T]` uint64, room; T is a power of two.
        entries: `[T, NUM_ENTRY]` int32, room.
        budget: positions to look at for one game, at most.
        out: `[M]` int64, out: four times the root seat's payoff of the whole deal, or FAILED.
        vectors: `[M, 4]` int64, out with max^n: points that the rest brings each seat.
    """
    for row in range(games.shape[0]):
        stack[0] = games[row]
        g = stack[0]
        t = tables[g.variant]
        root = i64(seats[row])
        salt = mix(u64(row + 1))
        before = points_so_far(g, t, root)
        if maxn:
            value = solve_maxn(stack, t, root, numbers, masks, keys, entries, salt, budget)
            for seat in range(NUM_SEATS):
                vectors[row, seat] = numbers[0, BEST_0 + seat]
        else:
            value = solve_paranoid(stack, t, root, numbers, masks, keys, entries, salt, budget)
        out[row] = value if value == FAILED else value + before
