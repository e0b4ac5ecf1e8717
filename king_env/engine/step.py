"""A game from its first deal to its last: new episodes, legal actions, ``apply``, batch loops.

Axes: N games, S seats. Kernels for one game take (g, t), its record and its rule table. Those that
Python calls take (games, tables, ...).
"""

from __future__ import annotations

from typing import Any, Final

from king_env.engine.actions import NUM_ACTIONS, NUM_MASK_WORDS, SLOT
from king_env.engine.auction import allow_auction, apply_auction, begin_auction, settle
from king_env.engine.choice import choose_slot, legal_choices, set_slot_actions, use
from king_env.engine.deal import deal_rest, hand_out, show_last, shuffle_pack
from king_env.engine.jit import inline, kernel, lowest, outline, popcount
from king_env.engine.layout import (
    NO_CARD,
    NO_TRUMP,
    NOBODY,
    NUM_SEATS,
    ONE,
    PHASE_CHOOSE,
    PHASE_ORDER,
    PHASE_OVER,
    PHASE_PLAY,
    UNKNOWN,
    ZERO,
    i64,
    u64,
)
from king_env.engine.order import (
    ORDER_NO_TRUMP,
    allow_ordering,
    apply_ordering,
    begin_ordering,
    draw_order,
    settle_order,
)
from king_env.engine.play import legal_cards, play_card
from king_env.engine.rng import (
    STREAM_ACTIONS,
    STREAM_HISTORY,
    STREAM_LOT,
    STREAM_SKIP,
    below,
    draw,
    make_key,
)
from king_env.rules.spec import MAX_CONTRACTS, MAX_GROUPS, NUM_SLOTS
from king_env.rules.tables import (
    DECISION_AUCTION,
    DECISION_CHOOSE,
    DECISION_NONE,
    DECISION_ORDER,
    LEADER_DECLARER,
    LEADER_NEXT,
    TRUMP_DECLARED,
    TRUMP_LAST_CARD,
)

ILLEGAL: Final = 1
"""Return code of ``apply``: the action is not legal, nothing has changed."""


# ---------------------------------------------------------------- one game


@inline
def set_legal(g: Any, t: Any) -> None:
    """Computes the legal actions, once a step."""
    d = g.deal
    for word in range(NUM_MASK_WORDS):
        d.legal[word] = ZERO
    if d.phase == PHASE_PLAY:
        d.legal[0] = legal_cards(d, t, d.hands[d.actor])
    elif d.phase != PHASE_OVER:
        decision = t.deal_decision[g.position]
        if decision == DECISION_AUCTION:
            allow_auction(d, t)
        elif decision == DECISION_CHOOSE:
            set_slot_actions(d, legal_choices(g, t, i64(d.actor)))
        else:
            allow_ordering(d, t)


@inline
def is_legal(d: Any, action: Any) -> bool:
    """Tells whether an action id is legal now; any integer is allowed."""
    if action < 0 or action >= NUM_ACTIONS:
        return False
    return (d.legal[action >> 6] >> u64(action & 63)) & ONE == ONE  # type: ignore[no-any-return]


@inline
def num_legal(d: Any) -> Any:
    """Returns the number of legal actions."""
    return popcount(d.legal[0]) + popcount(d.legal[1]) + popcount(d.legal[2])


@inline
def nth_legal(d: Any, number: Any) -> Any:
    """Returns legal action ``number`` (from 0) in order of ids."""
    for word in range(NUM_MASK_WORDS):
        mask = d.legal[word]
        count = popcount(mask)
        if number < count:
            for _ in range(number):
                mask &= mask - ONE
            return word * 64 + lowest(mask)
        number -= count
    return i64(-1)


@inline
def clear_deal(d: Any) -> None:
    """Empties a deal record but for the cards."""
    for seat in range(NUM_SEATS):
        d.when[seat] = ZERO
        d.played[seat] = ZERO
        d.taken[seat] = ZERO
        d.not_held[seat] = ZERO
        d.points[seat] = 0
        d.tricks[seat] = 0
        d.last[seat] = 0
        d.trick[seat] = 0
    d.trick_cards = ZERO
    d.decisions = 0
    d.declarer = NOBODY
    d.holder = NOBODY
    d.buyer = NOBODY
    d.contract = UNKNOWN
    d.trump = UNKNOWN
    d.trick_number = 0
    d.trick_size = 0
    d.best = 0
    d.best_seat = NOBODY
    d.broken = 0
    d.shown = NO_CARD
    d.shown_owner = NOBODY
    d.floor = UNKNOWN
    d.call = UNKNOWN
    d.asked = UNKNOWN
    d.declined = UNKNOWN
    d.offers = 0
    d.requests = 0
    d.active = 0
    d.rejected = 0
    d.unplayed = 0


@inline
def first_leader(g: Any, t: Any) -> Any:
    """Returns who leads first in a deal; the dealer as long as it is the declarer and not known."""
    d = g.deal
    rule = t.deal_leader[g.position]
    if rule == LEADER_DECLARER and d.declarer != NOBODY:
        return i64(d.declarer)
    dealer = i64(d.dealer)
    return (dealer + i64(t.step)) & 3 if rule == LEADER_NEXT else dealer


@outline
def begin_deal(g: Any, t: Any) -> None:
    """Starts the deal at ``g.position`` with the cards in ``d.order``."""
    d = g.deal
    clear_deal(d)
    position = i64(g.position)
    dealer = (i64(g.first_dealer) + position * i64(t.step)) & 3
    d.dealer = dealer
    after = (dealer + i64(t.step)) & 3
    d.chooser = after if t.deal_chooser[position] == LEADER_NEXT else dealer
    d.leader = first_leader(g, t)
    hand_out(d, t, i64(t.deal_first_cards[position]))
    decision = t.deal_decision[position]
    if decision == DECISION_NONE:
        d.contract = t.deal_contract[position]
        d.trump = NO_TRUMP
        begin_play(g, t)
    elif decision == DECISION_AUCTION:
        begin_auction(d, t)
    elif decision == DECISION_CHOOSE:
        d.phase = PHASE_ORDER if t.choose_is_order else PHASE_CHOOSE
        d.actor = d.chooser
    else:
        begin_ordering(d, t)
    set_legal(g, t)


@inline
def begin_play(g: Any, t: Any) -> None:
    """The contract is known: the rest of the cards arrives and the leader is to move."""
    d = g.deal
    if d.dealt < t.hand_size:
        deal_rest(d, t)
    if t.trump[d.contract] == TRUMP_LAST_CARD:
        show_last(d, t)
    d.leader = first_leader(g, t)
    d.phase = PHASE_PLAY
    d.actor = d.leader


@outline
def end_deal(g: Any, t: Any) -> None:
    """Pays constants and settlements, adds the deal to the totals and goes on with the match."""
    d = g.deal
    if d.contract >= 0:
        constant = i64(t.constant[d.contract])
        for seat in range(NUM_SEATS):
            d.points[seat] = i64(d.points[seat]) + constant
    decision = t.deal_decision[g.position]
    if decision == DECISION_AUCTION:
        settle(d, t)
    elif decision == DECISION_ORDER:
        settle_order(d, t)
    for seat in range(NUM_SEATS):
        g.totals[seat] += i64(d.points[seat])
        d.points[seat] = 0
    d.phase = PHASE_OVER
    d.actor = NOBODY
    if g.position + 1 < g.end:
        g.position += 1
        shuffle_pack(d, t, g.seed, g.match, g.position)
        begin_deal(g, t)
    else:
        set_legal(g, t)


@inline
def apply(g: Any, t: Any, action: Any) -> Any:
    """Applies an action for the seat to act; returns 0, or ILLEGAL and changes nothing."""
    d = g.deal
    action = i64(action)
    if not is_legal(d, action):
        return ILLEGAL
    d.decisions += 1
    over = False
    if d.phase == PHASE_PLAY:
        over = play_card(d, t, action)
    else:
        decision = t.deal_decision[g.position]
        if decision == DECISION_AUCTION:
            over = apply_auction(d, t, action)
        elif decision == DECISION_CHOOSE:
            choose_slot(g, t, action - SLOT)
            d.phase = PHASE_PLAY
        else:
            over = apply_ordering(d, t, action)
        if d.phase == PHASE_PLAY:
            begin_play(g, t)
    if over:
        end_deal(g, t)
    else:
        set_legal(g, t)
    return 0


@outline
def apply_forced(g: Any, t: Any) -> None:
    """Plays on while the seat to act has exactly one legal action."""
    while g.deal.phase != PHASE_OVER and num_legal(g.deal) == 1:
        apply(g, t, nth_legal(g.deal, 0))


# ---------------------------------------------------------------- new episodes


@outline
def begin_match(g: Any, t: Any, seed: Any, match: Any, position: Any, end: Any) -> None:
    """Starts an episode: the deals ``position .. end - 1`` of match ``match`` under ``seed``."""
    g.seed = u64(seed)
    g.match = match
    g.position = position
    g.end = end
    for seat in range(NUM_SEATS):
        g.totals[seat] = 0
        g.paid[seat] = 0
        for contract in range(MAX_CONTRACTS):
            g.used[seat, contract] = 0
        for group in range(MAX_GROUPS):
            g.left[seat, group] = t.group_quota[group]
    if t.first_dealer >= 0:
        g.first_dealer = t.first_dealer
    else:
        g.first_dealer = below(draw(make_key(seed, match, 0, STREAM_LOT), 0), NUM_SEATS)
    invent_history(g, t)
    shuffle_pack(g.deal, t, g.seed, g.match, g.position)
    begin_deal(g, t)


@outline
def invent_history(g: Any, t: Any) -> None:
    """Draws the choices used up before ``g.position`` from a random legal history."""
    key = make_key(g.seed, g.match, 0, STREAM_HISTORY)
    for position in range(i64(g.position)):
        if t.deal_decision[position] != DECISION_CHOOSE:
            continue
        dealer = (i64(g.first_dealer) + position * i64(t.step)) & 3
        after = (dealer + i64(t.step)) & 3
        seat = after if t.deal_chooser[position] == LEADER_NEXT else dealer
        contract = random_choice(g, t, seat, draw(key, position))
        use(g, t, seat, contract)


@outline
def random_choice(g: Any, t: Any, seat: Any, bits: Any) -> Any:
    """Returns a random contract that a seat may choose, by its share of the choices it owes."""
    slots = legal_choices(g, t, seat)
    total = i64(0)
    for slot in range(NUM_SLOTS):
        if (slots >> u64(slot)) & ONE:
            total += slot_weight(g, t, seat, slots, slot)
    left = below(bits, total)
    for slot in range(NUM_SLOTS):
        if (slots >> u64(slot)) & ONE:
            left -= slot_weight(g, t, seat, slots, slot)
            if left < 0:
                return i64(t.slot_contract[slot])
    return i64(-1)


@inline
def slot_weight(g: Any, t: Any, seat: Any, slots: Any, slot: Any) -> Any:
    """Returns the weight of a slot: what is owed to its group, shared over the group's slots."""
    group = t.group[t.slot_contract[slot]]
    members = i64(0)
    for other in range(NUM_SLOTS):
        if (slots >> u64(other)) & ONE and t.group[t.slot_contract[other]] == group:
            members += 1
    return i64(g.left[seat, group]) * 5040 // members


@inline
def longest_suit(hand: Any) -> Any:
    """Returns the longest suit of a hand; of equal ones the one with the higher cards."""
    best = i64(0)
    best_value = i64(-1)
    for suit in range(4):
        cards = (hand >> u64(13 * suit)) & u64(0x1FFF)
        value = popcount(cards) * 8192 + i64(cards)
        if value > best_value:
            best = suit
            best_value = value
    return best


@inline
def declare(g: Any, t: Any, contract: Any, trump: Any) -> None:
    """Takes a fresh deal to PLAY: the seat that would choose has declared, nobody pays."""
    d = g.deal
    d.declarer = d.chooser
    d.active = 0
    d.contract = contract
    d.trump = trump
    if t.group[contract] >= 0:
        use(g, t, i64(d.chooser), contract)
    begin_play(g, t)
    set_legal(g, t)


@outline
def skip_decisions(g: Any, t: Any) -> None:
    """Goes to PLAY: a drawn contract, the longest suit as trump, nobody pays."""
    d = g.deal
    position = i64(g.position)
    decision = t.deal_decision[position]
    if decision == DECISION_NONE:
        return
    bits = draw(make_key(g.seed, g.match, position, STREAM_SKIP), 0)
    seat = i64(d.chooser)
    suit = longest_suit(d.hands[seat] | d.undealt[seat])
    trump = i64(NO_TRUMP)
    if decision == DECISION_AUCTION:
        trump_share = i64(t.share[0])
        no_trump_share = i64(t.share[1]) if t.allow_no_trump else 0
        pick = below(bits, trump_share + no_trump_share + i64(t.share[2]))
        plus = pick < trump_share + no_trump_share
        contract = i64(t.plus_contract) if plus else i64(t.minus_contract)
        if pick < trump_share:
            trump = suit
    elif decision == DECISION_ORDER:
        order = draw_order(t, bits)
        contract = i64(t.order_contract[order])
        if order < ORDER_NO_TRUMP:
            trump = suit
    else:
        contract = random_choice(g, t, seat, bits)
        if t.trump[contract] == TRUMP_DECLARED:
            trump = suit
    declare(g, t, contract, trump)


@outline
def begin_suite_deal(g: Any, t: Any, seed: Any, number: Any, skip: Any) -> None:
    """Starts deal ``number`` of a suite: schedule position number mod K, scores 0."""
    position = i64(number) % i64(t.num_deals)
    begin_match(g, t, seed, number, position, position + 1)
    if skip:
        skip_decisions(g, t)


# ---------------------------------------------------------------- doors for Python


@kernel
def new_match(games: Any, tables: Any, i: int, seed: Any, match: int) -> None:
    """Starts match ``match`` under ``seed`` (uint64) in ``games[i]``."""
    g = games[i]
    t = tables[g.variant]
    begin_match(g, t, seed, match, 0, i64(t.num_deals))


@kernel
def new_deal(games: Any, tables: Any, i: int, seed: Any, number: int, position: int) -> None:
    """Starts deal ``number`` of the suite under ``seed`` in ``games[i]`` at a schedule position."""
    g = games[i]
    begin_match(g, tables[g.variant], seed, number, i64(position), i64(position) + 1)


@kernel
def start_play(games: Any, tables: Any, i: int, contract: int, trump: int) -> None:
    """Skips the decisions of the deal that has just begun in ``games[i]``; nobody pays.

    Args:
        games: games.
        tables: rule tables.
        i: the game.
        contract: index of the contract, which the seat that would choose declares; -1: drawn.
        trump: its trump suit, or NO_TRUMP.
    """
    g = games[i]
    t = tables[g.variant]
    if t.deal_decision[g.position] == DECISION_NONE:
        return
    if contract < 0:
        skip_decisions(g, t)
        return
    declare(g, t, i64(contract), i64(trump))


@kernel
def restart_deal(games: Any, tables: Any, i: int) -> None:
    """Starts the deal at ``games[i].position`` again with the cards in its ``order``."""
    g = games[i]
    begin_deal(g, tables[g.variant])


@kernel
def step(games: Any, tables: Any, i: int, action: int) -> int:
    """Applies an action in ``games[i]``; returns 0, or ILLEGAL and changes nothing."""
    g = games[i]
    return apply(g, tables[g.variant], action)  # type: ignore[no-any-return]


@kernel
def refresh_legal(games: Any, tables: Any, i: int) -> None:
    """Computes the legal actions of ``games[i]`` again, after a change by hand."""
    g = games[i]
    set_legal(g, tables[g.variant])


@kernel
def play_random(games: Any, tables: Any, first: int, last: int, agent_seed: int) -> int:
    """Plays games ``first .. last - 1`` to the end at random; returns the actions made."""
    actions = 0
    for i in range(first, last):
        g = games[i]
        t = tables[g.variant]
        d = g.deal
        while d.phase != PHASE_OVER:
            position = i64(g.position)
            key = make_key(agent_seed, g.match, position, STREAM_ACTIONS)
            while g.position == position and d.phase != PHASE_OVER:
                number = below(draw(key, d.decisions), num_legal(d))
                apply(g, t, nth_legal(d, number))
                actions += 1
    return actions
