"""A race of actions over common worlds: which are worth more worlds, and which is played.

All actions meet the same worlds (common random numbers), which takes most of the noise out of their
differences. Worlds are spent by halves: after each round the worse half of the actions is left, so
that W worlds for each action on average become up to 4 W for the last ones.

What counts is an action's lead over the policy's own choice. A few worlds are noise, so the lead
that scores of the two cards expect counts as so many worlds too; before play, where there are no
scores, nothing does. Scores are the rule-based agent's, or those as a network corrects them. The
policy's own choice stays to the end, and is played unless another action leads it by ``caution``
standard errors.

Source: Karnin, Koren, Somekh 2013, "Almost optimal exploration in multi-armed bandits", algorithm 1
(sequential halving); Efron and Morris 1977, "Stein's paradox in statistics" (shrinking means).

Axes: A candidate actions.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from agents.hand_values import CARD_WEIGHTS
from agents.kernels.cards import card_score, sight_of
from agents.neural.kernels import card_estimate, order_back
from agents.search.worlds import equal_cards
from king_env.engine.jit import inline, lowest
from king_env.engine.layout import ONE, PHASE_PLAY, ZERO, i64

MORE: Final = 4
"""The actions that are left last meet at most so many times W worlds."""

SCORE, VALUE, TOTAL, SQUARES = range(4)
NUM_SUMS: Final = 4
"""Columns of ``sums``: what the action is taken to be worth beforehand, in points; its payoff in
the world at hand; by how much it has led the policy's own choice in the worlds so far, and the sum
of those leads' squares. The policy's own choice is row 0."""


@inline
def start_race(
    view: Any, t: Any, net: Any, actions: Any, size: Any, favourite: Any, sums: Any
) -> None:
    """Puts the favourite first, and writes the sums of a race that no world has been drawn for.

    Args:
        view: the game, as the seat to act knows it.
        t: its rule table.
        net: `Net` that has just chosen the favourite, or None where another policy has.
        actions: `[A]` int64, the first ``size`` of which race.
        size: number of actions.
        favourite: place of the policy's own choice.
        sums: `[A, NUM_SUMS]` float64, out.
    """
    action = actions[favourite]
    actions[favourite] = actions[0]
    actions[0] = action
    for a in range(size):
        for column in range(NUM_SUMS):
            sums[a, column] = 0.0
    d = view.deal
    if d.phase != PHASE_PLAY:
        return
    if net is not None:
        if net.rule_prior > 0.0:
            back = order_back(view, t, net)
            for a in range(size):
                card = i64(actions[a])
                best = card_estimate(t, net, back, card)
                # Cards that make no difference are one action, but not alike to a network.
                same = equal_cards(d, t, card) & d.legal[0]
                while same != ZERO:
                    best = max(best, card_estimate(t, net, back, i64(lowest(same))))
                    same &= same - ONE
                sums[a, SCORE] = best
            return
    hand, unseen, beaten, beating, group = sight_of(d, t)
    for a in range(size):
        sums[a, SCORE] = card_score(
            d, t, hand, unseen, beaten, beating, i64(actions[a]), group, CARD_WEIGHTS, i64(-1)
        )


@inline
def next_worlds(spend: Any, alive: Any) -> Any:
    """Returns how many worlds the next round draws: an equal part of what is left to spend."""
    rounds = i64(1)
    while alive > 1 << rounds:
        rounds += 1
    return max(i64(1), spend // (rounds * alive))


@inline
def count_leads(sums: Any, alive: Any) -> None:
    """Counts by how much each action leads the favourite in the world at hand."""
    for a in range(1, alive):
        lead = sums[a, VALUE] - sums[0, VALUE]
        sums[a, TOTAL] += lead
        sums[a, SQUARES] += lead * lead


@inline
def lead_of(sums: Any, a: Any, done: Any, trust: Any, caution: Any) -> Any:
    """Returns by how much an action leads the favourite: a mean less ``caution`` standard errors.

    Args:
        sums: `[A, NUM_SUMS]` float64.
        a: the action.
        done: worlds met.
        trust: worlds that the difference of scores counts as. It is never in an action's favour:
            the policy has weighed what it knows.
        caution: standard errors.
    """
    total = sums[a, TOTAL]
    expected = min(0.0, sums[a, SCORE] - sums[0, SCORE])
    # Of the sum of the leads: done times the variance of one.
    variance = max(0.0, sums[a, SQUARES] - total * total / done) * done / max(1, done - 1)
    return (total + trust * expected - caution * np.sqrt(variance)) / (done + trust)


@inline
def best_action(sums: Any, size: Any, done: Any, trust: Any, caution: Any) -> Any:
    """Returns the place of the action that leads the favourite by most; 0: the favourite."""
    best = i64(0)
    best_lead = 1e-6
    for a in range(1, size):
        lead = lead_of(sums, a, done, trust, caution)
        if lead > best_lead:
            best = i64(a)
            best_lead = lead
    return best


@inline
def halve(actions: Any, sums: Any, alive: Any, done: Any, trust: Any) -> Any:
    """Moves the better half of the actions to the front, the favourite with them; returns it."""
    left = (alive + 1) // 2
    for place in range(1, left):
        best = i64(place)
        best_lead = lead_of(sums, place, done, trust, 0.0)
        for a in range(place + 1, alive):
            lead = lead_of(sums, a, done, trust, 0.0)
            if lead > best_lead + 1e-6:
                best = i64(a)
                best_lead = lead
        swap(actions, sums, i64(place), best)
    return left


@inline
def swap(actions: Any, sums: Any, a: Any, b: Any) -> None:
    """Exchanges two actions and their sums."""
    action = actions[a]
    actions[a] = actions[b]
    actions[b] = action
    for column in range(NUM_SUMS):
        value = sums[a, column]
        sums[a, column] = sums[b, column]
        sums[b, column] = value
