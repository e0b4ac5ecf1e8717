"""Choosing a contract under quotas, with look-ahead where contracts are limited for the table."""

from __future__ import annotations

from typing import Any

from king_env.engine.actions import SLOT
from king_env.engine.jit import inline, outline
from king_env.engine.layout import NUM_SEATS, ZERO, i64, u64
from king_env.rules.spec import MAX_GROUPS


@inline
def use(g: Any, t: Any, seat: Any, contract: Any) -> None:
    """Counts a choice of a seat."""
    g.used[seat, contract] += 1
    g.left[seat, t.group[contract]] -= 1


@inline
def give_back(g: Any, t: Any, seat: Any, contract: Any) -> None:
    """Takes a counted choice back."""
    g.used[seat, contract] -= 1
    g.left[seat, t.group[contract]] += 1


@inline
def table_used(g: Any, contract: Any) -> Any:
    """Returns how often a contract has been chosen by all seats together."""
    used = 0
    for seat in range(NUM_SEATS):
        used += i64(g.used[seat, contract])
    return used


@inline
def open_places(g: Any, t: Any, seats: Any, contract: Any) -> Any:
    """Returns how often a contract may still be chosen by a set of seats (bit s: seat s).

    The quota of the group is the bound where the contract has no limit of its own.
    """
    quota = i64(t.group_quota[t.group[contract]])
    own = i64(t.per_player[contract])
    table = i64(t.per_table[contract])
    places = 0
    for seat in range(NUM_SEATS):
        if seats >> seat & 1:
            limit = own if own > 0 else quota
            places += max(0, limit - i64(g.used[seat, contract]))
    if table > 0:
        places = min(places, table - table_used(g, contract))
    return places


@outline
def demands_can_be_met(g: Any, t: Any) -> bool:
    """Tells whether all open quotas can still be used up (rules.md 6.3).

    By Hall's theorem for flows: for each set of players, what they owe is at most what is open to
    them.
    """
    for group in range(MAX_GROUPS):
        for seats in range(1, 16):
            owed = 0
            for seat in range(NUM_SEATS):
                if seats >> seat & 1:
                    owed += i64(g.left[seat, group])
            if owed == 0:
                continue
            places = 0
            for contract in range(t.num_contracts):
                if t.group[contract] == group:
                    places += open_places(g, t, seats, contract)
            if owed > places:
                return False
    return True


@inline
def may_choose(g: Any, t: Any, seat: Any, contract: Any) -> bool:
    """Tells whether a seat may choose a contract now."""
    group = i64(t.group[contract])
    if group < 0 or g.left[seat, group] == 0:
        return False
    if t.per_player[contract] > 0 and g.used[seat, contract] >= t.per_player[contract]:
        return False
    if t.per_table[contract] > 0 and table_used(g, contract) >= t.per_table[contract]:
        return False
    if t.look_ahead == 0:
        return True
    use(g, t, seat, contract)
    possible = demands_can_be_met(g, t)
    give_back(g, t, seat, contract)
    return possible


@outline
def legal_choices(g: Any, t: Any, seat: Any) -> Any:
    """Returns the contract slots a seat may choose, bit s for slot s."""
    slots = ZERO
    for contract in range(t.num_contracts):
        if may_choose(g, t, seat, contract):
            slots |= t.slots[contract]
    return slots


@inline
def set_slot_actions(d: Any, slots: Any) -> None:
    """Makes the slots of a mask the legal actions; they lie across two words."""
    shift = SLOT & 63
    word = SLOT >> 6
    d.legal[word] |= slots << u64(shift)
    d.legal[word + 1] |= slots >> u64(64 - shift)


@inline
def choose_slot(g: Any, t: Any, slot: Any) -> None:
    """Records the choice of the seat to act and makes it the deal's contract."""
    d = g.deal
    contract = i64(t.slot_contract[slot])
    use(g, t, i64(d.actor), contract)
    d.declarer = d.actor
    d.contract = contract
    d.trump = t.slot_trump[slot]
