"""Turns specs into rule tables: one record of numbers a variant, which is all that kernels read.

Kernels receive an array of tables and each game names its own, so a batch may mix variants.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from king_env import cards
from king_env.rules.catalogue import Variant, mean_deal_size, rungs_allowed
from king_env.rules.spec import (
    DECISIONS,
    LADDER,
    LEAD_RULES,
    LEADERS,
    MAX_CONTRACTS,
    MAX_DEALS,
    MAX_GROUPS,
    NUM_SLOTS,
    TRUMP_RULES,
    UNITS,
    VOID_RULES,
    ContractSpec,
    VariantSpec,
)

NUM_UNITS: Final = len(UNITS)

POINT_STEPS: Final = 128
"""Observations store points as ``points * POINT_STEPS / point_scale``."""

LEAD_FREE, LEAD_NO_HEARTS, LEAD_UNTIL_BROKEN, LEAD_KING_ONLY = range(len(LEAD_RULES))
VOID_FREE, VOID_MUST_TRUMP, VOID_FORCE_KING, VOID_FORCE_PENALTY = range(len(VOID_RULES))
TRUMP_NONE, TRUMP_DECLARED, TRUMP_LAST_CARD = range(len(TRUMP_RULES))
DECISION_NONE, DECISION_AUCTION, DECISION_CHOOSE, DECISION_ORDER = range(len(DECISIONS))
LEADER_DEALER, LEADER_NEXT, LEADER_DECLARER = range(len(LEADERS))
MATCH_OFF, MATCH_SAME_CALL, MATCH_SAME_VALUE = range(3)
RESPOND_ALL, RESPOND_ACTIVE, RESPOND_HOLDER = range(3)
BUYING_OFF, BUYING_AFTER, BUYING_BEFORE = range(3)
FAILED_NEVER, FAILED_OFFER_COUNT, FAILED_BEST_VALUE = range(3)

_C: Final = (MAX_CONTRACTS,)
_D: Final = (MAX_DEALS,)

TABLE_DTYPE: Final = np.dtype(
    [
        # The table and the pack
        ("pack", "u8"),  # cards in the pack
        ("hand_size", "i1"),  # cards in a hand, tricks in a deal
        ("step", "i1"),  # +1 clockwise, -1 counter-clockwise
        ("first_dealer", "i1"),  # seat, or -1 by lot
        ("partnership", "u1"),
        ("num_deals", "i2"),  # deals of a match
        ("point_scale", "i2"),  # mean absolute deal total / 4
        ("point_factor", "i4"),  # POINT_STEPS * 65536 / point_scale
        ("pack_code", "u8"),  # how observations write direction, partnership, absent ranks
        ("num_contracts", "i1"),
        # The schedule, by deal of the match
        ("deal_decision", "i1", _D),  # DECISION_*
        ("deal_contract", "i1", _D),  # contract, or -1
        ("deal_leader", "i1", _D),  # LEADER_*
        ("deal_chooser", "i1", _D),  # LEADER_DEALER or LEADER_NEXT
        ("deal_first_cards", "i1", _D),  # cards dealt before the decision, 0 = all
        # Contracts
        ("trick", "i2", _C),  # points for a trick
        ("last", "i2", _C),  # points for each of the last two tricks
        ("constant", "i2", _C),  # points for every seat at the end
        ("unit_value", "i2", (*_C, NUM_UNITS)),  # points for a card of each unit
        ("unit_mask", "u8", (*_C, NUM_UNITS)),  # cards of each unit
        ("penalty", "u8", _C),  # cards that the force and duck rules speak of
        ("exhausted", "u8", _C),  # deal ends once these are taken; 0 = play all tricks
        ("lead", "i1", _C),  # LEAD_*
        ("void", "i1", _C),  # VOID_*
        ("duck", "u1", _C),
        ("overtrump", "u1", _C),
        ("follow_king", "u1", _C),
        ("trump", "i1", _C),  # TRUMP_*
        ("reversed", "u1", _C),  # 1: the seven is high
        ("group", "i1", _C),  # quota group, or -1
        ("per_player", "i1", _C),  # 0 = no limit
        ("per_table", "i1", _C),  # 0 = no limit
        ("slots", "u8", _C),  # action slots of the contract, bit s for slot s
        ("code", "u8", _C),  # how observations write units, rules and duties
        ("unit_points", "i2", (*_C, 3 + NUM_UNITS)),  # unit values in observation steps
        # Free choice
        ("slot_contract", "i1", (NUM_SLOTS,)),  # contract of a slot, or -1
        ("slot_trump", "i1", (NUM_SLOTS,)),  # trump of a slot, 4 = none
        ("group_quota", "i1", (MAX_GROUPS,)),  # choices of a player in a group
        ("contract_capped", "u1"),  # 1: some contract is limited for the table
        ("look_ahead", "u1"),  # 1: and some for one player, so a choice may lead to a dead end
        ("choose_is_order", "u1"),  # 1: the phase of free choice is called ORDER
        # Ordering and buying
        ("orders", "u1"),  # bit k: order k of S H D C NT LAST MISERE WRITE2 is on offer
        ("order_contract", "i1", (7,)),  # contract of each order that is played
        ("order_share", "i2", (7,)),  # weights of the orders when decisions are skipped
        ("write", "i1"),  # tricks that WRITE2 writes to everybody
        ("trick_price", "i2"),  # points of one trick written or paid
        ("buying", "i1"),  # BUYING_*
        ("max_bid", "i1"),
        ("seller_may_refuse", "u1"),
        ("payment_capped", "u1"),  # 1: the buyer pays at most the tricks he took
        # The auction
        ("plus_contract", "i1"),
        ("minus_contract", "i1"),
        ("plus_unit", "i2"),
        ("minus_unit", "i2"),
        ("rungs", "u2"),  # bit r: rung r of the ladder may be called
        ("top_rung", "i1"),  # rung of the highest plus call
        ("allow_no_trump", "u1"),
        ("match", "i1"),  # MATCH_*
        ("top_binds", "u1"),  # the top plus sells without a decision
        ("bid_binds", "u1"),
        ("max_requests", "i1"),
        ("ultimatum", "u1"),
        ("ultimatum_open", "u1"),  # also before the bidding
        ("ultimatum_top_only", "u1"),
        ("respondents", "i1"),  # RESPOND_*
        ("fallback_free", "u1"),
        ("plus_capped", "u1"),
        ("minus_fixed", "u1"),
        ("failed", "i1"),  # FAILED_*
        ("failed_threshold", "i1"),
        ("unplayed", "i1", (2,)),  # tricks for the auctioneer, for each other seat
        ("share", "i2", (3,)),  # weights of trump, no trump, minus when decisions are skipped
    ],
    align=True,
)


_TABLE_RECORD: Final = np.dtype((np.record, TABLE_DTYPE))
# One dtype object for all arrays: numba recognises it by identity, an equal one costs 8 us a call.


def unit_masks(contract: ContractSpec, pack: int) -> list[int]:
    """Returns the cards of each unit of ``UNITS`` in a pack of bitboard ``pack``."""
    hearts = cards.suit_mask(cards.HEARTS)
    masks = [
        hearts,
        cards.rank_mask("Q"),
        cards.rank_mask(contract.men),
        cards.rank_mask("K") & hearts,
    ]
    return [mask & pack for mask in masks]


def _fill_contract(table: Any, index: int, contract: ContractSpec, spec: VariantSpec) -> None:
    """Fills the columns of one contract."""
    pack = cards.pack_mask(spec.pack)
    masks = unit_masks(contract, pack)
    values = [contract.heart, contract.queen, contract.man, contract.king_of_hearts]
    counted = 0
    for unit, (mask, value) in enumerate(zip(masks, values, strict=True)):
        table.unit_mask[index, unit] = mask
        table.unit_value[index, unit] = value
        counted |= mask if value else 0
    table.trick[index] = contract.trick
    table.last[index] = contract.last
    table.constant[index] = contract.constant
    table.penalty[index] = counted
    only_cards = contract.trick == 0 and contract.last == 0
    table.exhausted[index] = counted if only_cards and spec.early_end == "auto" else 0
    table.lead[index] = LEAD_RULES.index(contract.lead)
    table.void[index] = VOID_RULES.index(contract.void)
    table.duck[index] = contract.duck
    table.overtrump[index] = contract.overtrump
    table.follow_king[index] = contract.follow_king
    table.trump[index] = TRUMP_RULES.index(contract.trump)
    table.reversed[index] = contract.ranks == "reversed"
    table.per_player[index] = contract.per_player
    table.per_table[index] = contract.per_table
    points = [contract.trick, contract.last, contract.constant, *values]
    for unit, value in enumerate(points):
        steps = value * POINT_STEPS // mean_deal_size(spec)
        table.unit_points[index, unit] = max(-32767, min(32767, steps))
    table.code[index] = _contract_code(contract, points)


def _contract_code(contract: ContractSpec, points: list[int]) -> int:
    """Returns what observations show of a contract, from the low bit up.

    Units with plus points (7), with minus points (7), lead rule (4), void rule (4), duties (3).
    """
    flags = [value > 0 for value in points] + [value < 0 for value in points]
    flags += [rule == contract.lead for rule in LEAD_RULES]
    flags += [rule == contract.void for rule in VOID_RULES]
    flags += [contract.duck, contract.overtrump, contract.follow_king]
    return sum(1 << place for place, flag in enumerate(flags) if flag)


def _pack_code(spec: VariantSpec) -> int:
    """Returns what observations show of the table: counter-clockwise, partnership, absent ranks."""
    absent = ~cards.pack_mask(spec.pack) & 0x1FFF
    return (spec.step < 0) | spec.partnership << 1 | absent << 2


def _fill_choice(table: Any, spec: VariantSpec) -> None:
    """Fills slots and quotas."""
    table.slot_contract[:] = -1
    table.slot_trump[:] = 4
    table.group[:] = -1
    choose = spec.phases.choose
    if choose is None:
        return
    groups = [group.id for group in choose.group]
    limited = False
    table.choose_is_order = choose.phase == "ORDER"
    for index, group in enumerate(choose.group):
        table.group_quota[index] = group.per_player
    for index, contract in enumerate(spec.contract):
        if contract.slot < 0:
            continue
        table.group[index] = groups.index(contract.group)
        table.contract_capped |= contract.per_table > 0
        limited |= contract.per_player > 0
        declared = contract.trump == "declared"
        for suit in range(4 if declared else 1):
            table.slot_contract[contract.slot + suit] = index
            table.slot_trump[contract.slot + suit] = suit if declared else 4
            table.slots[index] |= np.uint64(1 << (contract.slot + suit))
    # One limit alone leaves no dead end: what players owe is then always open to each of them.
    table.look_ahead = table.contract_capped and limited


def _fill_order(table: Any, spec: VariantSpec) -> None:
    """Fills what may be ordered and bought."""
    table.order_contract[:] = -1
    table.trick_price = 1
    order = spec.phases.order
    if order is None:
        return
    shares = dict(zip("S NT LAST MISERE".split(), order.share, strict=True))
    contracts = order.contracts()
    for index, name in enumerate("S H D C NT LAST MISERE".split()):
        if name in contracts:
            table.orders |= 1 << index
            table.order_contract[index] = spec.contract_index(contracts[name])
            table.order_share[index] = shares.get(name, 0)  # a suit's share stands at S
    table.orders |= (order.write > 0) << 7
    table.write = order.write
    table.trick_price = order.unit
    table.buying = ("off", "after_order", "before_order").index(order.buying)
    table.max_bid = order.max_bid
    table.seller_may_refuse = order.seller_may_refuse
    table.payment_capped = order.payment == "tricks_taken"


def _fill_auction(table: Any, spec: VariantSpec) -> None:
    """Fills the auction's numbers."""
    auction = spec.phases.auction
    table.plus_contract = table.minus_contract = -1
    table.plus_unit = table.minus_unit = 1
    if auction is None:
        return
    rungs = rungs_allowed(auction.max_plus)
    table.plus_contract = spec.contract_index(auction.plus)
    table.minus_contract = spec.contract_index(auction.minus)
    table.plus_unit = auction.plus_unit
    table.minus_unit = auction.minus_unit
    table.rungs = sum(1 << rung for rung in rungs)
    table.top_rung = LADDER.index(auction.max_plus)
    table.allow_no_trump = auction.allow_no_trump
    table.match = ("off", "same_call", "same_value").index(auction.match)
    table.top_binds = auction.plus8_binding == "always"
    table.bid_binds = auction.bid_binds_deal
    table.max_requests = auction.max_requests
    table.ultimatum = auction.ultimatum
    table.ultimatum_open = (
        auction.ultimatum
        and auction.ultimatum_timing == "both"
        and auction.ultimatum_respondents != "holder"  # nobody holds anything yet
    )
    table.ultimatum_top_only = auction.ultimatum_demands == "eight_only"
    table.respondents = ("all", "active", "holder").index(auction.ultimatum_respondents)
    table.fallback_free = auction.ultimatum_fallback == "free"
    table.plus_capped = auction.plus_settlement == "transfer_capped"
    table.minus_fixed = auction.minus_settlement == "fixed_transfer"
    table.failed = ("never", "offer_count", "best_value").index(auction.failed_criterion)
    table.failed_threshold = auction.failed_threshold
    table.unplayed[:] = auction.unplayed
    table.share[:] = auction.share


def make_tables(specs: Sequence[VariantSpec]) -> np.recarray[Any, Any]:
    """Returns the rule tables of specs: a `[V]` recarray of ``TABLE_DTYPE``."""
    tables = np.zeros(len(specs), dtype=_TABLE_RECORD).view(np.recarray)
    for index, spec in enumerate(specs):
        table: Any = tables[index]
        table.pack = cards.pack_mask(spec.pack)
        table.hand_size = spec.hand_size
        table.step = spec.step
        table.first_dealer = -1 if spec.first_dealer == "lot" else spec.first_dealer
        table.partnership = spec.partnership
        table.num_deals = len(spec.deals)
        table.point_scale = mean_deal_size(spec)
        table.point_factor = POINT_STEPS * 65536 // mean_deal_size(spec)
        table.pack_code = _pack_code(spec)
        table.num_contracts = len(spec.contract)
        for k, deal in enumerate(spec.deals):
            table.deal_decision[k] = DECISIONS.index(deal.decision)
            fixed = deal.decision == "none"
            table.deal_contract[k] = spec.contract_index(deal.contract) if fixed else -1
            table.deal_leader[k] = LEADERS.index(deal.leader)
            table.deal_chooser[k] = LEADERS.index(deal.chooser)
            table.deal_first_cards[k] = deal.first_cards
        for number, contract in enumerate(spec.contract):
            _fill_contract(table, number, contract, spec)
        _fill_choice(table, spec)
        _fill_order(table, spec)
        _fill_auction(table, spec)
    return tables


@lru_cache(maxsize=64)
def tables_of(variant: Variant) -> np.recarray[Any, Any]:
    """Returns the `[1]` rule table of a variant, shared by all who ask; never write to it."""
    return make_tables([variant.spec])
