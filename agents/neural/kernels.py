"""Compiled parts of a network: the sparse first layer, one position from cards to action, sampling.

About a tenth of the bits of an observation are set, so the first layer adds up the weight rows of
the set bits straight from the packed words: no expansion, no multiplication with zeros. That is
several times faster than a dense product both ways.

Weights are ``[in, out]``: row c of the first layer belongs to column c. ``column_of`` gives the
column of each feature (bits, then numbers), or -1 where the network does not use it.

Axes: M rows, W words, K numbers, F features, C columns, H width, A actions.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from agents.neural.features import canonicalise, real_action
from agents.neural.opinions import write_points
from king_env.engine.actions import NUM_ACTIONS, NUM_MASK_WORDS
from king_env.engine.jit import inline, kernel, lowest
from king_env.engine.layout import ONE, ZERO, i64, u64
from king_env.engine.observe import (
    NUM_BITS,
    NUM_NUMBERS,
    NUM_WORDS,
    observe_row,
    scaled_number,
)
from king_env.engine.rng import draw
from king_env.engine.step import nth_legal, num_legal

f32 = np.float32
_S11: Final = u64(11)
_UNIT: Final = 1.0 / 9007199254740992.0

ILLEGAL_LOGIT: Final = -1e9
"""Logit of an illegal action: finite, so that no NaN can come of it."""


@inline
def first_layer_row(
    words: Any, numbers: Any, row: Any, column_of: Any, weight: Any, bias: Any, out: Any, at: Any
) -> None:
    """Writes row ``row`` of the first layer, before its ReLU, to ``out[at]``."""
    width = bias.shape[0]
    for h in range(width):
        out[at, h] = bias[h]
    for word in range(NUM_WORDS):
        value = words[row, word]
        while value != ZERO:
            column = column_of[word * 64 + lowest(value)]
            value &= value - ONE
            if column >= 0:
                for h in range(width):
                    out[at, h] += weight[column, h]
    for index in range(NUM_NUMBERS):
        column = column_of[NUM_BITS + index]
        if column >= 0 and numbers[row, index] != 0:
            x = scaled_number(numbers, row, index)
            for h in range(width):
                out[at, h] += x * weight[column, h]


@kernel
def first_layer(words: Any, numbers: Any, column_of: Any, weight: Any, bias: Any, out: Any) -> None:
    """Computes the first layer, before its ReLU.

    Args:
        words: `[M, W]` uint64, packed bits.
        numbers: `[M, K]` int16.
        column_of: `[F]` int32.
        weight: `[C, H]` float32.
        bias: `[H]` float32.
        out: `[M, H]` float32, out.
    """
    for row in range(words.shape[0]):
        first_layer_row(words, numbers, row, column_of, weight, bias, out, row)


@kernel
def first_layer_gradient(
    words: Any, numbers: Any, column_of: Any, grad_out: Any, grad_weight: Any
) -> None:
    """Adds the gradient of the first layer's weights: `[M, H]` of its output to `[C, H]`."""
    width = grad_out.shape[1]
    for row in range(words.shape[0]):
        for word in range(NUM_WORDS):
            value = words[row, word]
            while value != ZERO:
                column = column_of[word * 64 + lowest(value)]
                value &= value - ONE
                if column >= 0:
                    for h in range(width):
                        grad_weight[column, h] += grad_out[row, h]
        for index in range(NUM_NUMBERS):
            column = column_of[NUM_BITS + index]
            if column >= 0 and numbers[row, index] != 0:
                x = scaled_number(numbers, row, index)
                for h in range(width):
                    grad_weight[column, h] += x * grad_out[row, h]


@inline
def uniform(bits: Any) -> Any:
    """Returns a float64 in 0 <= u < 1 from 64 random bits."""
    return float(bits >> _S11) * _UNIT


@inline
def best_legal(logits: Any, row: Any, mask: Any) -> Any:
    """Returns the legal action with the highest logit; of equal ones the lowest id."""
    best = i64(-1)
    for action in range(NUM_ACTIONS):
        if (mask[row, action >> 6] >> u64(action & 63)) & ONE:
            if best < 0 or logits[row, action] > logits[row, best]:
                best = i64(action)
    return best


@inline
def sample_legal(logits: Any, row: Any, mask: Any, u: Any) -> Any:
    """Draws a legal action from the softmax over the legal logits by inverse CDF.

    Returns (action, log-probability); ``u`` is uniform in 0..1.
    """
    top = logits[row, best_legal(logits, row, mask)]
    total = 0.0
    for action in range(NUM_ACTIONS):
        if (mask[row, action >> 6] >> u64(action & 63)) & ONE:
            total += np.exp(float(logits[row, action] - top))
    left = u * total
    pick = i64(-1)
    for action in range(NUM_ACTIONS):
        if (mask[row, action >> 6] >> u64(action & 63)) & ONE:
            pick = i64(action)
            left -= np.exp(float(logits[row, action] - top))
            if left < 0.0:
                break
    return pick, float(logits[row, pick] - top) - np.log(total)


@kernel
def choose(logits: Any, mask: Any, keys: Any, sample: int, actions: Any, log_probs: Any) -> None:
    """Chooses a legal action for each row: the best, or one drawn from the softmax.

    Args:
        logits: `[M, A]` float32.
        mask: `[M, 3]` uint64, each with a legal action.
        keys: `[M]` uint64, random keys of the decisions.
        sample: 1: draw, 0: take the best.
        actions: `[M]` int64, out.
        log_probs: `[M]` float32, out: log-probability of the action; 0 without ``sample``.
    """
    for row in range(logits.shape[0]):
        if sample:
            action, log_prob = sample_legal(logits, row, mask, uniform(draw(keys[row], 0)))
            actions[row] = action
            log_probs[row] = log_prob
        else:
            actions[row] = best_legal(logits, row, mask)
            log_probs[row] = 0.0


@kernel
def expand_mask(mask: Any, out: Any) -> None:
    """Expands `[M, 3]` uint64 into `[M, A]` bool."""
    for row in range(mask.shape[0]):
        for action in range(NUM_ACTIONS):
            out[row, action] = (mask[row, action >> 6] >> u64(action & 63)) & ONE == ONE


@kernel
def act_one(
    games: Any,
    tables: Any,
    i: int,
    seat: int,
    canonical: int,
    column_of: Any,
    first_weight: Any,
    first_bias: Any,
    second_weight: Any,
    second_bias: Any,
    policy_weight: Any,
    policy_bias: Any,
    rule_prior: float,
    key: int,
    sample: int,
    words: Any,
    numbers: Any,
    mask: Any,
    hidden: Any,
    logits: Any,
) -> int:
    """Returns the action of a network for the seat to act of ``games[i]``.

    ``words [1, W]``, ``numbers [1, K]``, ``mask [1, 3]``, ``hidden [2, H]`` and ``logits [1, A]``
    are room to work in. A forced move needs no network. ``rule_prior`` is what a point of the
    rule-based agent's opinion adds to a logit.
    """
    g = games[i]
    t = tables[g.variant]
    if num_legal(g.deal) == 1:
        return nth_legal(g.deal, 0)  # type: ignore[no-any-return]
    for word in range(NUM_MASK_WORDS):
        mask[0, word] = g.deal.legal[word]
    observe_row(g, t, seat, words, numbers, 0)
    order = canonicalise(g, t, i64(seat), canonical, words, numbers, mask, 0)
    first_layer_row(words, numbers, 0, column_of, first_weight, first_bias, hidden, 0)
    width = first_bias.shape[0]
    for h in range(width):
        hidden[1, h] = second_bias[h]
    for source in range(width):
        x = hidden[0, source]
        if x > 0:
            for h in range(width):
                hidden[1, h] += x * second_weight[source, h]
    if rule_prior > 0.0:
        write_points(g, t, order, logits, 0)
    for action in range(NUM_ACTIONS):
        opinion = f32(rule_prior) * logits[0, action] if rule_prior > 0.0 else f32(0.0)
        logits[0, action] = policy_bias[action] + opinion
    for source in range(width):
        x = hidden[1, source]
        if x > 0:
            for action in range(NUM_ACTIONS):
                logits[0, action] += x * policy_weight[source, action]
    if sample:
        action, _ = sample_legal(logits, 0, mask, uniform(draw(u64(key), 0)))
    else:
        action = best_legal(logits, 0, mask)
    return real_action(t, order, action)  # type: ignore[no-any-return]
