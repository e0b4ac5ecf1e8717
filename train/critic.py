"""A value of the whole table: a network that sees the other hands too, and never plays.

It says how good a position is for a seat with less noise than the seat itself can; PPO measures its
advantages with it. It is used in training only: the checkpoint that plays does not hold it.

Axes: D decisions, N decisions of a minibatch, C columns, H width.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from agents.neural.network import FirstLayer, tensor_of
from train.metrics import Sums
from train.ppo import step
from train.rollout import NUM_HIDDEN
from train.workers import Channel

CHUNK: Final = 8192
"""Decisions that are valued at a time, which bounds the memory."""

Hidden = npt.NDArray[np.uint64]


class Critic(nn.Module):
    """The value of a position for the seat to act, of all four hands.

    Args:
        columns: `[C]` int64, the features of the observation in use.
        width: H.
        seed: of the initial weights.
    """

    def __init__(self, columns: npt.NDArray[np.int64], width: int, seed: int) -> None:
        super().__init__()
        self.first_layer = FirstLayer(columns)
        generator = torch.Generator().manual_seed(seed % 2**63)
        # As in the actor a tenth of the inputs is on; of the hands it is a fifth.
        inputs = 0.1 * len(columns) + 0.2 * NUM_HIDDEN * 52
        shapes = {
            "first_weight": ((len(columns), width), math.sqrt(2 / inputs)),
            "first_bias": ((width,), 0.0),
            "hands_weight": ((NUM_HIDDEN * 52, width), math.sqrt(2 / inputs)),
            "second_weight": ((width, width), math.sqrt(2 / width)),
            "second_bias": ((width,), 0.0),
            "value_weight": ((width, 1), 0.1 / math.sqrt(width)),
            "value_bias": ((1,), 0.0),
        }
        for name, (shape, scale) in shapes.items():
            start = torch.randn(shape, generator=generator) * scale
            self.register_parameter(name, nn.Parameter(start))
        self.first_weight: nn.Parameter
        self.first_bias: nn.Parameter
        self.hands_weight: nn.Parameter
        self.second_weight: nn.Parameter
        self.second_bias: nn.Parameter
        self.value_weight: nn.Parameter
        self.value_bias: nn.Parameter

    def forward(
        self, words: npt.NDArray[np.uint64], numbers: npt.NDArray[np.int16], hidden: Hidden
    ) -> Tensor:
        """Returns values_N, in what a seat is paid.

        Args:
            words: `[N, W]` uint64 bits, suits in canonical order.
            numbers: `[N, K]` int16.
            hidden: `[N, 3]` uint64, see ``rollout.hidden_hands``.
        """
        first_NH = self.first_layer(self.first_weight, self.first_bias, words, numbers)
        first_NH = first_NH + card_bits(hidden).to(self.device) @ self.hands_weight
        hidden_NH = torch.relu(first_NH)
        hidden_NH = torch.relu(torch.addmm(self.second_bias, hidden_NH, self.second_weight))
        return torch.addmm(self.value_bias, hidden_NH, self.value_weight)[:, 0]

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return self.first_weight.device

    def values(
        self, words: npt.NDArray[np.uint64], numbers: npt.NDArray[np.int16], hidden: Hidden
    ) -> npt.NDArray[np.float32]:
        """Returns the values of `[D]` decisions."""
        out = np.empty(len(words), dtype=np.float32)
        with torch.no_grad():
            for start in range(0, len(words), CHUNK):
                part = slice(start, start + CHUNK)
                out[part] = self(words[part], numbers[part], hidden[part]).cpu().numpy()
        return out


def card_bits(cards: Hidden) -> Tensor:
    """Returns `[N, 3 * 52]` float32 of packed cards `[N, 3]`."""
    bits = np.unpackbits(np.ascontiguousarray(cards).view(np.uint8), axis=1, bitorder="little")
    kept = bits.reshape(len(cards), NUM_HIDDEN, 64)[:, :, :52].astype(np.float32)
    return torch.from_numpy(kept.reshape(len(cards), NUM_HIDDEN * 52))


def critic_update(
    critic: Critic,
    optimizer: torch.optim.Optimizer,
    seen: tuple[npt.NDArray[np.uint64], npt.NDArray[np.int16], Hidden],
    returns: npt.NDArray[np.float32],
    *,
    minibatch: int,
    epochs: int,
    max_grad_norm: float,
    channel: Channel,
    rng: np.random.Generator,
    sums: Sums,
) -> None:
    """Learns returns `[D]` of a rollout: ``epochs`` passes in minibatches over all processes.

    Args:
        critic: learns in place.
        optimizer: its optimizer, learning rate set.
        seen: this process's words `[D, W]`, numbers `[D, K]` and hidden hands `[D, 3]`.
        returns: `[D]` float32.
        minibatch: decisions of one step, all processes together.
        epochs: times each decision is learned from.
        max_grad_norm: bound on the norm of the gradient.
        channel: the other processes.
        rng: order of the decisions; differs between processes.
        sums: metrics, added to.
    """
    count = channel.total(np.array([float(len(returns))]))[0]
    num_steps = max(1, round(count / minibatch))
    for _ in range(epochs):
        for pick in np.array_split(rng.permutation(len(returns)), num_steps):
            value_N = critic(*(part[pick] for part in seen))
            loss_N = 0.5 * (value_N - tensor_of(returns[pick], critic.device)).square()
            loss = loss_N.sum() * (channel.size * num_steps / count)
            step(critic, optimizer, loss, channel, max_grad_norm)
            sums.add("critic_loss", loss_N)
