"""Worlds of one decision: drawn from the view, played out by a policy, paid in points.

Worlds are the uniform draws of ``king_env.engine.sample``. A world ends with its deal, and its
totals start at 0, so that they are the deal's points when it is over.

The policy that plays a world out is a number that ``choose_action`` knows, or ``NET``: a network,
whose arrays come beside the number. Where there is none they are None, and a kernel compiled for
None holds no network: whoever searches without one does not wait for it to be compiled.

Axes: W worlds, A candidate actions.
"""

from __future__ import annotations

from typing import Any, Final

from agents.hand_values import HAND_MEANS
from agents.ids import NET, RULE
from agents.kernels.cards import NUM_COUNTS, TRUMP_KIND, count_value
from agents.kernels.hands import first_row
from agents.kernels.policies import choose_action
from agents.neural.kernels import network_action
from king_env.engine.jit import inline, lowest, popcount
from king_env.engine.layout import (
    BETTER,
    KING_MASK,
    NO_CARD,
    NO_TRUMP,
    NUM_SEATS,
    ONE,
    PHASE_OVER,
    PHASE_PLAY,
    ZERO,
    i64,
    u64,
)
from king_env.engine.rng import draw
from king_env.engine.sample import sample_record
from king_env.engine.step import apply, nth_legal, num_legal
from king_env.rules.tables import DECISION_CHOOSE, NUM_UNITS

PLAY_OUT: Final = 1_000_000
"""Number of the draw that keys the policy's chance in a world; the world's own draws come below."""


@inline
def end_with_deal(world: Any) -> None:
    """Lets a copied game end with its deal, whose points alone count."""
    for other in range(NUM_SEATS):
        world.totals[other] = 0
    world.end = world.position + 1


@inline
def draw_world(world: Any, t: Any, seat: Any, key: Any) -> bool:
    """Turns a copied view into a world of one deal; False: the view contradicts itself."""
    end_with_deal(world)
    return sample_record(world, t, seat, key)


@inline
def policy_action(policy: Any, net: Any, g: Any, t: Any, key: Any) -> Any:
    """Returns the action of a policy for the seat to act, which has a choice.

    Args:
        policy: a number that ``choose_action`` knows, or NET.
        net: `Net`, or None where the policy is not NET.
        g: game record, true or blanked for the seat to act.
        t: its rule table.
        key: uint64, the decision's random key.
    """
    if net is not None:
        if policy == NET:
            return network_action(g, t, i64(g.deal.actor), key, i64(0), net)
    return i64(choose_action(policy, g, t, key))


@inline
def play_out(g: Any, t: Any, policy: Any, net: Any, depth: Any, key: Any) -> None:
    """Plays a deal to its end, every seat by one policy.

    Args:
        g: game with all hands known.
        t: its rule table.
        policy: number of the policy, see ``policy_action``.
        net: `Net` or None.
        depth: decisions, forced moves apart, after which the rule-based agent takes over.
        key: uint64, the policy's chance.
    """
    d = g.deal
    made = i64(0)
    while d.phase != PHASE_OVER:
        if num_legal(d) == 1:
            action = i64(nth_legal(d, 0))
        else:
            mover = policy if made < depth else i64(RULE)
            action = i64(policy_action(mover, net, g, t, draw(key, d.decisions)))
            made += 1
        apply(g, t, action)


@inline
def payoff(g: Any, t: Any, seat: Any) -> Any:
    """Returns a seat's points of a deal that is over, minus the table's mean.

    In a partnership it is half of what its team has more than the other, for both partners.
    """
    own = i64(g.totals[seat])
    if t.partnership:
        own += i64(g.totals[(seat + 2) & 3])
        others = i64(g.totals[(seat + 1) & 3]) + i64(g.totals[(seat + 3) & 3])
        return 0.5 * (own - others)
    total = i64(0)
    for other in range(NUM_SEATS):
        total += i64(g.totals[other])
    return own - 0.25 * total


@inline
def unit_count(t: Any, contract: Any, count: Any) -> Any:
    """Returns how many of a thing that counts there are in a deal."""
    if count == 0:
        return i64(t.hand_size)
    if count == 1:
        return i64(2)
    return popcount(t.unit_mask[contract, count - 2])


@inline
def contract_par(g: Any, t: Any, means: Any) -> Any:
    """Returns the payoff that an average declarer makes of a contract he was free to choose.

    What he makes over the table mean the three others pay in equal parts, his partner among them.
    Choices are limited, so a contract is worth what this hand makes of it above par; 0 where
    contracts are not chosen under quotas.

    Args:
        g: game with its contract known.
        t: its rule table.
        means: `[rows]` what an average hand takes, see ``agents.kernels.hands``.
    """
    if t.deal_decision[g.position] != DECISION_CHOOSE:
        return 0.0
    contract = i64(g.deal.contract)
    hand = g.deal.hands[g.deal.declarer]
    points = 0.0
    for count in range(NUM_COUNTS):
        value = count_value(t, contract, count)
        if value == 0:
            continue
        kind = i64(count)
        if value > 0:
            kind = i64(count + NUM_COUNTS)
            if count == 0 and g.deal.trump != NO_TRUMP:
                kind = i64(TRUMP_KIND)
        points += value * (means[first_row(t, hand) + kind] - 0.25 * unit_count(t, contract, count))
    return points * 2.0 / 3.0 if t.partnership else points


@inline
def try_action(
    worlds: Any,
    w: Any,
    last: Any,
    t: Any,
    seat: Any,
    action: Any,
    policy: Any,
    net: Any,
    depth: Any,
    key: Any,
    par: Any,
) -> Any:
    """Returns the payoff of an action in world ``w``; ``worlds[last]`` is room to play it."""
    worlds[last] = worlds[w]
    g = worlds[last]
    apply(g, t, action)
    # A contract chosen by this very action is measured against its par.
    surplus = contract_par(g, t, HAND_MEANS) if par else 0.0
    play_out(g, t, policy, net, depth, key)
    return payoff(g, t, seat) - surplus


@inline
def twins(t: Any, contract: Any, card: Any, own: Any, others: Any) -> Any:
    """Returns the higher cards that make no difference to ``card``, which is in ``own``.

    They are cards of the same suit and hand with no card of anybody else between them, and they
    count as the same units. (Own cards of other units between them do no harm: to everybody else's
    cards both stand alike.) The king of hearts is a case of its own, as rules name it.

    Args:
        t: rule table.
        contract: the deal's contract.
        card: a card.
        own: cards of the hand.
        others: cards still in play that are not of the hand, those of the trick included.
    """
    bit = ONE << u64(card)
    above = BETTER[0, card]
    between = above & others
    if between != ZERO:
        above &= (between & ~(between - ONE)) - ONE
    same = own & above
    if same == ZERO:
        return same
    for unit in range(NUM_UNITS):
        if t.unit_value[contract, unit] != 0:
            mask = t.unit_mask[contract, unit]
            same &= mask if bit & mask else ~mask
    return same & (KING_MASK if bit & KING_MASK else ~KING_MASK)


@inline
def list_actions(d: Any, t: Any, actions: Any) -> Any:
    """Writes the legal actions that differ from each other; returns how many.

    Of cards that make no difference the lowest stands for all.

    Args:
        d: the deal, as the seat to act knows it.
        t: its rule table.
        actions: `[A]` int64, out.
    """
    size = i64(0)
    for word in range(3):
        left = d.legal[word]
        while left != ZERO:
            action = i64(lowest(left))
            left &= left - ONE
            actions[size] = word * 64 + action
            size += 1
            if d.phase == PHASE_PLAY:
                left &= ~equal_cards(d, t, action)
    return size


@inline
def equal_cards(d: Any, t: Any, card: Any) -> Any:
    """Returns the seat's higher cards that make no difference to ``card``.

    A shown card is one of a kind: everybody knows who holds it.
    """
    own = d.hands[d.actor]
    if d.shown != NO_CARD:
        own &= ~(ONE << u64(d.shown))
    played = d.played[0] | d.played[1] | d.played[2] | d.played[3]
    others = t.pack & ~own & ~(played & ~d.trick_cards)
    return twins(t, i64(d.contract), card, own, others)


@inline
def find_action(d: Any, t: Any, actions: Any, size: Any, wanted: Any) -> Any:
    """Returns the place in ``actions`` of the one that stands for ``wanted``."""
    for a in range(size):
        if actions[a] == wanted:
            return i64(a)
        if d.phase == PHASE_PLAY and equal_cards(d, t, actions[a]) & (ONE << u64(wanted)):
            return i64(a)
    return i64(0)
