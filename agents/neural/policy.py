"""A trained network as an agent, without torch: ``load_policy("runs/first").act(view, rng)``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.neural import features, kernels, opinions
from agents.neural.weights import CheckpointError, Weights, load_weights
from king_env.engine import observe
from king_env.engine.actions import NUM_ACTIONS, NUM_MASK_WORDS, ActionId
from king_env.engine.layout import Games, Tables
from king_env.policy import View

__all__ = ["CheckpointError", "NeuralPolicy", "load_policy"]


def load_policy(path: str | Path, sample: bool = False) -> NeuralPolicy:
    """Returns the agent of a checkpoint.

    Args:
        path: a run folder (its newest checkpoint), a folder of checkpoints, or a file.
        sample: draw actions from the policy instead of taking the most likely one.

    Raises:
        CheckpointError: if the checkpoint is missing, broken or foreign.
    """
    return NeuralPolicy(load_weights(path), sample, name=f"checkpoint:{path}")


class NeuralPolicy:
    """A network as an agent; greedy ties go to the lowest action.

    Args:
        weights: the network.
        sample: draw actions from the policy instead of taking the most likely one.
        name: the name in tables.

    Attributes:
        net: the network as an argument of kernels.
    """

    def __init__(self, weights: Weights, sample: bool = False, name: str = "net") -> None:
        self.name = name
        self.sample = sample
        self.weights = weights
        tensors = weights.tensors
        self.net = kernels.make_net(
            weights.canonical, weights.rule_prior, weights.column_of(), tensors
        )
        self._fields = tuple(self.net)
        self._value = (tensors["value.weight"], tensors["value.bias"])

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        """Returns a legal action for the seat of the view, which is to act."""
        key = rng.integers(0, 2**64, dtype=np.uint64) if self.sample else np.uint64(0)
        # numba takes plain arrays ten times faster than recarrays.
        record: Any = view.record.view(np.ndarray)
        tables: Any = view.tables.view(np.ndarray)
        return self.act_game(record, tables, 0, view.seat, key)

    def act_game(
        self, games: Games, tables: Tables, index: int, seat: int, key: np.uint64
    ) -> ActionId:
        """Returns a legal action for ``seat`` of ``games[index]``, which is to act.

        The network reads what the seat may know and nothing else.
        """
        return kernels.act_one(
            games,
            tables,
            index,
            seat,
            key,  # type: ignore[arg-type]  # a kernel takes numpy integers too
            int(self.sample),
            self._fields,
        )

    def probabilities(self, view: View) -> npt.NDArray[np.float64]:
        """Returns the policy at a view whose seat is to act.

        Returns:
            `[A]` float64, what it draws each action with; 0 for illegal ones, 1 in all.
        """
        rows = np.zeros(1, dtype=np.int64)
        words, numbers, mask, orders = self.look(view.record, view.tables, rows)
        logits = self._judge(view.record, view.tables, rows, words, numbers, orders)
        legal = np.zeros((1, NUM_ACTIONS), dtype=np.bool_)
        kernels.expand_mask(mask, legal)
        weights = np.where(legal, logits - logits[legal].max(), -np.inf)[0].astype(np.float64)
        shares = np.exp(weights) / np.exp(weights).sum()
        canonical, real = np.flatnonzero(legal[0]), np.zeros(int(legal.sum()), dtype=np.int64)
        rows = np.zeros(len(real), dtype=np.int64)
        features.to_real(view.record, view.tables, rows, orders[rows], canonical, real)
        out = np.zeros(NUM_ACTIONS)
        out[real] = shares[canonical]
        return out

    def value(self, view: View) -> float:
        """Returns the points over the table mean that a seat to act expects from here on.

        In a deal: until its end. A network that learned in whole matches speaks of those, in points
        divided by the square root of the number of deals.
        """
        rows = np.zeros(1, dtype=np.int64)
        words, numbers, _, _ = self.look(view.record, view.tables, rows)
        _, values = self.forward(words, numbers)
        return float(values[0] * view.tables.point_scale[int(view.record.variant[0])])

    def act_batch(
        self, views: Games, tables: Tables, keys: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Returns a legal action for the seat to act of each of `[M]` views."""
        rows = np.arange(len(views), dtype=np.int64)
        words, numbers, mask, orders = self.look(views, tables, rows)
        logits = self._judge(views, tables, rows, words, numbers, orders)
        chosen = np.empty(len(rows), dtype=np.int64)
        log_probs = np.empty(len(rows), dtype=np.float32)
        kernels.choose(logits, mask, keys, int(self.sample), chosen, log_probs)
        actions = np.empty(len(rows), dtype=np.int64)
        features.to_real(views, tables, rows, orders, chosen, actions)
        return actions

    def _judge(
        self,
        views: Games,
        tables: Tables,
        rows: npt.NDArray[np.int64],
        words: npt.NDArray[np.uint64],
        numbers: npt.NDArray[np.int16],
        orders: npt.NDArray[np.uint8],
    ) -> npt.NDArray[np.float32]:
        """Returns logits `[M, A]`, the rule-based agent's opinion included, for ``look``'s rows."""
        points = np.zeros((len(rows), NUM_ACTIONS), dtype=np.float32)
        if self.weights.rule_prior > 0:
            opinions.rule_points(views, tables, rows, orders, self.net.scores, points)
        return self.judge(words, numbers, points)[0]

    def judge(
        self,
        words: npt.NDArray[np.uint64],
        numbers: npt.NDArray[np.int16],
        points: npt.NDArray[np.float32],
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Returns what ``forward`` does, the rule-based agent's opinion included in the logits.

        Args:
            words: `[M, W]` uint64.
            numbers: `[M, K]` int16.
            points: `[M, A]` float32, that opinion, see ``opinions.rule_points``.
        """
        logits, values = self.forward(words, numbers)
        if self.weights.rule_prior > 0:
            logits += np.float32(self.weights.rule_prior) * points
        return logits, values

    def look(
        self, games: Games, tables: Tables, rows: npt.NDArray[np.int64]
    ) -> tuple[
        npt.NDArray[np.uint64],
        npt.NDArray[np.int16],
        npt.NDArray[np.uint64],
        npt.NDArray[np.uint8],
    ]:
        """Returns what the network sees of the seats to act in ``rows``.

        Returns:
            words `[M, W]`, numbers `[M, K]`, legal actions `[M, 3]` and the order of suits `[M]`.
        """
        count = len(rows)
        words = np.empty((count, observe.NUM_WORDS), dtype=np.uint64)
        numbers = np.empty((count, observe.NUM_NUMBERS), dtype=np.int16)
        mask = np.empty((count, NUM_MASK_WORDS), dtype=np.uint64)
        orders = np.empty(count, dtype=np.uint8)
        observe.observe_actors(games, tables, rows, words, numbers, mask)
        features.relabel(games, tables, rows, self.net.canonical, words, numbers, mask, orders)
        return words, numbers, mask, orders

    def forward(
        self, words: npt.NDArray[np.uint64], numbers: npt.NDArray[np.int16]
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Returns logits `[M, A]` and values `[M]`, in point scales, for what ``look`` gave.

        What the rule-based agent thinks comes on top of the logits, see ``Weights.rule_prior``.
        """
        hidden = np.empty((len(words), self.weights.width), dtype=np.float32)
        net = self.net
        kernels.first_layer(
            words,
            numbers,
            net.column_of,
            net.first_weight,
            net.first_bias,
            net.used,
            net.factors,
            hidden,
        )
        np.maximum(hidden, 0, out=hidden)
        hidden = hidden @ net.second_weight + net.second_bias
        np.maximum(hidden, 0, out=hidden)
        logits: Any = hidden @ net.policy_weight + net.policy_bias
        values: Any = hidden @ self._value[0] + self._value[1]
        return logits, values[:, 0]
