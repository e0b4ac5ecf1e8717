"""Compiled parts of a network: the sparse first layer, one position from cards to action, sampling.

About a tenth of the bits of an observation are set, so the first layer adds up the weight rows of
the set bits straight from the packed words: no expansion, no multiplication with zeros. That is
several times faster than a dense product both ways.

Weights are ``[in, out]``: row c of the first layer belongs to column c. ``column_of`` gives the
column of each feature (bits, then numbers), or -1 where the network does not use it.

Axes: M rows, W words, K numbers, F features, C columns, H width, A actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.neural.features import (
    SAME_ORDER,
    canonicalise,
    inverse_order,
    real_action,
    suit_order,
)
from agents.neural.opinions import UNITS, write_points
from king_env.cards import NUM_CARDS
from king_env.engine.actions import NUM_ACTIONS, NUM_MASK_WORDS
from king_env.engine.jit import inline, kernel, lowest, outline
from king_env.engine.layout import ONE, PHASE_PLAY, ZERO, i64, u64
from king_env.engine.observe import (
    NUM_BITS,
    NUM_FEATURES,
    NUM_NUMBERS,
    NUM_WORDS,
    observe_row,
    scaled_number,
)
from king_env.engine.rng import draw
from king_env.engine.step import nth_legal, num_legal

f32 = np.float32
Floats = npt.NDArray[np.float32]
_S11: Final = u64(11)
_UNIT: Final = 1.0 / 9007199254740992.0

_LAST_CARD: Final = -(-NUM_CARDS // 32) * 32
_FIRST_CALL: Final = NUM_ACTIONS - -(-(NUM_ACTIONS - NUM_CARDS) // 32) * 32
# Columns of the policy for cards end, and those for all else begin, so that they fill vectors.

ILLEGAL_LOGIT: Final = -1e9
"""Logit of an illegal action: finite, so that no NaN can come of it."""


class Net(NamedTuple):
    """A network of two hidden layers as one argument of kernels, with room for one position.

    Attributes:
        canonical: 1: the suits are sorted before the network sees them.
        rule_prior: what a unit of the rule-based agent's opinion adds to a logit.
        column_of: `[F]` int32.
        first_weight: `[C, H]`; this and the following are float32.
        first_bias: `[H]`.
        second_weight: `[H, H]`.
        second_bias: `[H]`.
        policy_weight: `[H, A]`.
        policy_bias: `[A]`.
        words: `[1, W]` uint64, room.
        numbers: `[1, K]` int16, room.
        mask: `[1, 3]` uint64, room.
        used: `[max(F, H)]` int64, room.
        factors: `[max(F, H)]` float32, room.
        scores: `[52]` float64, room.
        hidden: `[2, H]` float32, room.
        logits: `[1, A]` float32, room.
    """

    canonical: int
    rule_prior: float
    column_of: npt.NDArray[np.int32]
    first_weight: Floats
    first_bias: Floats
    second_weight: Floats
    second_bias: Floats
    policy_weight: Floats
    policy_bias: Floats
    words: npt.NDArray[np.uint64]
    numbers: npt.NDArray[np.int16]
    mask: npt.NDArray[np.uint64]
    used: npt.NDArray[np.int64]
    factors: Floats
    scores: npt.NDArray[np.float64]
    hidden: Floats
    logits: Floats


def input_room() -> tuple[npt.NDArray[np.int64], Floats]:
    """Returns room for a list of inputs: ``used`` and ``factors`` of ``first_layer``."""
    return np.empty(NUM_FEATURES, dtype=np.int64), np.empty(NUM_FEATURES, dtype=np.float32)


def make_net(
    canonical: bool,
    rule_prior: float,
    column_of: npt.NDArray[np.int32],
    tensors: Mapping[str, Floats],
) -> Net:
    """Returns a network as an argument of kernels.

    Args:
        canonical: the suits are sorted before the network sees them.
        rule_prior: what a unit of the rule-based agent's opinion adds to a logit.
        column_of: `[F]` int32.
        tensors: weights by name, as in a checkpoint.
    """
    # Copies of one kind: kernels are compiled anew for arrays that are read-only or not contiguous.
    copied = {name: np.array(tensor, np.float32, order="C") for name, tensor in tensors.items()}
    width = len(copied["first.bias"])
    room = max(NUM_FEATURES, width)
    return Net(
        int(canonical),
        float(rule_prior),
        column_of,
        copied["first.weight"],
        copied["first.bias"],
        copied["second.weight"],
        copied["second.bias"],
        copied["policy.weight"],
        copied["policy.bias"],
        np.zeros((1, NUM_WORDS), dtype=np.uint64),
        np.zeros((1, NUM_NUMBERS), dtype=np.int16),
        np.zeros((1, NUM_MASK_WORDS), dtype=np.uint64),
        np.zeros(room, dtype=np.int64),
        np.zeros(room, dtype=np.float32),
        np.zeros(NUM_CARDS, dtype=np.float64),
        np.zeros((2, width), dtype=np.float32),
        np.zeros((1, NUM_ACTIONS), dtype=np.float32),
    )


@inline
def list_inputs(words: Any, numbers: Any, row: Any, column_of: Any, used: Any, factors: Any) -> Any:
    """Lists the columns of a row that are not zero and their values; returns how many."""
    count = i64(0)
    for word in range(NUM_WORDS):
        value = words[row, word]
        while value != ZERO:
            column = column_of[word * 64 + lowest(value)]
            value &= value - ONE
            if column >= 0:
                used[count] = column
                factors[count] = 1.0
                count += 1
    for index in range(NUM_NUMBERS):
        column = column_of[NUM_BITS + index]
        if column >= 0 and numbers[row, index] != 0:
            used[count] = column
            factors[count] = scaled_number(numbers, row, index)
            count += 1
    return count


@inline
def list_active(hidden: Any, layer: Any, used: Any, factors: Any) -> Any:
    """Lists the units of a hidden layer that its ReLU lets through; returns how many."""
    count = i64(0)
    for unit in range(hidden.shape[1]):  # without a branch, which would be a toss-up
        used[count] = unit
        factors[count] = hidden[layer, unit]
        count += i64(hidden[layer, unit] > 0)
    return count


@inline
def add_rows(
    weight: Any, used: Any, factors: Any, count: Any, first: Any, last: Any, out: Any, at: Any
) -> None:
    """Adds listed rows of weights, each times its factor, to columns ``first .. last - 1``.

    Four at a time, for the sums to be read and written a quarter as often; in the same order.
    """
    columns = range(u64(first), u64(last))  # unsigned: else each might count from the end
    place = i64(0)
    while place + 4 <= count:
        a, b, c, e = used[place], used[place + 1], used[place + 2], used[place + 3]
        x, y, z, w = factors[place], factors[place + 1], factors[place + 2], factors[place + 3]
        for h in columns:
            total = out[at, h] + x * weight[a, h]
            total += y * weight[b, h]
            total += z * weight[c, h]
            total += w * weight[e, h]
            out[at, h] = total
        place += 4
    while place < count:
        a, x = used[place], factors[place]
        for h in columns:
            out[at, h] += x * weight[a, h]
        place += 1


@inline
def first_layer_row(
    words: Any,
    numbers: Any,
    row: Any,
    column_of: Any,
    weight: Any,
    bias: Any,
    used: Any,
    factors: Any,
    out: Any,
    at: Any,
) -> None:
    """Writes row ``row`` of the first layer, before its ReLU, to ``out[at]``."""
    width = bias.shape[0]
    for h in range(width):
        out[at, h] = bias[h]
    count = list_inputs(words, numbers, row, column_of, used, factors)
    add_rows(weight, used, factors, count, i64(0), i64(width), out, at)


@kernel
def first_layer(
    words: Any,
    numbers: Any,
    column_of: Any,
    weight: Any,
    bias: Any,
    used: Any,
    factors: Any,
    out: Any,
) -> None:
    """Computes the first layer, before its ReLU.

    Args:
        words: `[M, W]` uint64, packed bits.
        numbers: `[M, K]` int16.
        column_of: `[F]` int32.
        weight: `[C, H]` float32.
        bias: `[H]` float32.
        used: `[F]` int64, room.
        factors: `[F]` float32, room.
        out: `[M, H]` float32, out.
    """
    for row in range(words.shape[0]):
        first_layer_row(words, numbers, row, column_of, weight, bias, used, factors, out, row)


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
    for word in range(NUM_MASK_WORDS):
        left = mask[row, word]
        while left != ZERO:
            action = word * 64 + i64(lowest(left))
            left &= left - ONE
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
    for word in range(NUM_MASK_WORDS):
        left = mask[row, word]
        while left != ZERO:
            total += np.exp(float(logits[row, word * 64 + i64(lowest(left))] - top))
            left &= left - ONE
    rest = u * total
    pick = i64(-1)
    for word in range(NUM_MASK_WORDS):
        left = mask[row, word]
        while left != ZERO and not rest < 0.0:  # also ends where logits are no numbers
            pick = word * 64 + i64(lowest(left))
            left &= left - ONE
            rest -= np.exp(float(logits[row, pick] - top))
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


@outline
def network_action(g: Any, t: Any, seat: Any, key: Any, sample: Any, net: Any) -> Any:
    """Returns the action of a network for ``seat``, which is to act and has a choice.

    Args:
        g: game; of it the network reads what the seat may know.
        t: its rule table.
        seat: the seat.
        key: uint64, the decision's random key.
        sample: 1: draw from the policy, 0: take the most likely action.
        net: `Net`.
    """
    for word in range(NUM_MASK_WORDS):
        net.mask[0, word] = g.deal.legal[word]
    observe_row(g, t, seat, net.words, net.numbers, 0)
    order = canonicalise(g, t, seat, net.canonical, net.words, net.numbers, net.mask, 0)
    hidden, used, factors = net.hidden, net.used, net.factors
    first_layer_row(
        net.words, net.numbers, 0, net.column_of, net.first_weight, net.first_bias,
        used, factors, hidden, 0,
    )  # fmt: skip
    width = net.first_bias.shape[0]
    for h in range(width):
        hidden[1, h] = net.second_bias[h]
    count = list_active(hidden, 0, used, factors)
    add_rows(net.second_weight, used, factors, count, i64(0), i64(width), hidden, 1)
    # Cards are legal in PLAY and nowhere else: the other logits are not looked at.
    first, last = i64(_FIRST_CALL), i64(NUM_ACTIONS)
    if g.deal.phase == PHASE_PLAY:
        first, last = i64(0), i64(_LAST_CARD)
    logits = net.logits
    if net.rule_prior > 0.0:
        write_points(g, t, order, net.scores, logits, 0)
        for action in range(first, last):
            logits[0, action] = net.policy_bias[action] + f32(net.rule_prior) * logits[0, action]
    else:
        for action in range(first, last):
            logits[0, action] = net.policy_bias[action]
    count = list_active(hidden, 1, used, factors)
    add_rows(net.policy_weight, used, factors, count, first, last, logits, 0)
    if sample:
        action, _ = sample_legal(logits, 0, net.mask, uniform(draw(key, 0)))
    else:
        action = best_legal(logits, 0, net.mask)
    return i64(real_action(t, order, action))


@inline
def order_back(g: Any, t: Any, net: Any) -> Any:
    """Returns the order of suits that turns real cards into those of the network's logits."""
    order = i64(SAME_ORDER)
    if net.canonical:
        order = suit_order(g, t, i64(g.deal.actor))
    return inverse_order(order)


@inline
def card_estimate(t: Any, net: Any, back: Any, card: Any) -> Any:
    """Returns what a network with ``rule_prior`` takes a card to be worth, in points.

    Its logits are the rule-based agent's estimates and its own corrections of them. They are those
    of the last ``network_action``, which must have been of this position.

    Args:
        t: the game's rule table.
        net: `Net`.
        back: see ``order_back``.
        card: a card that is legal.
    """
    logit = net.logits[0, real_action(t, back, card)]
    return float(logit) * t.point_scale / (UNITS * net.rule_prior)


@kernel
def act_one(games: Any, tables: Any, i: int, seat: int, key: int, sample: int, net: Any) -> int:
    """Returns the action of a network for ``seat`` of ``games[i]``, which is to act.

    A forced move needs no network. ``net`` holds the fields of a ``Net``, see ``network_action``:
    a plain tuple takes a third of the time to come in.
    """
    g = games[i]
    if num_legal(g.deal) == 1:
        return nth_legal(g.deal, 0)  # type: ignore[no-any-return]
    return network_action(  # type: ignore[no-any-return]
        g, tables[g.variant], i64(seat), u64(key), i64(sample), Net(*net)
    )
