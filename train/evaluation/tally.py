"""Sums over the deals of a cell of the leaderboard, small enough for a state file.

A cell plays deals 0, 1, 2 ... of a list, and all cells play the same list, so what two cells found
is correlated. A tally therefore keeps, besides count, sum and sum of squares, the sums of at most
``MAX_BLOCKS`` blocks of consecutive units; from those of two tallies the covariance of their means
follows. Blocks are merged two by two when there are too many, so tallies of any size fit together.

Axes: D units (deals or matches), Q quantities, B blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from train.evaluation.intervals import Estimate, interval

MAX_BLOCKS: Final = 128
MIN_BLOCKS: Final = 16
"""Common blocks from which a covariance is estimated; below, the worst case stands in for it."""

Float = npt.NDArray[np.float64]


class Tally:
    """Sums of Q quantities over units that come in order.

    Args:
        num_quantities: Q.
        block: units of a block at the start, such as the deals of a schedule.

    Attributes:
        units: units so far.
        count: `[Q]`, units that had the quantity.
        total: `[Q]`.
        squares: `[Q]`.
        block: units of a block now.
        blocks: sums `[Q]` by block; the last may be incomplete.
        counts: units that had the quantity, by block.
    """

    def __init__(self, num_quantities: int, block: int) -> None:
        self.units = 0
        self.count = np.zeros(num_quantities, dtype=np.int64)
        self.total = np.zeros(num_quantities)
        self.squares = np.zeros(num_quantities)
        self.block = block
        self.blocks: list[Float] = []
        self.counts: list[npt.NDArray[np.int64]] = []

    def add(self, values: Float) -> None:
        """Adds the next units: `[D, Q]`, NaN where a unit has no such quantity."""
        there = np.isfinite(values)
        filled = np.where(there, values, 0.0)
        self.count += there.sum(axis=0)
        self.total += filled.sum(axis=0)
        self.squares += (filled**2).sum(axis=0)
        done = 0
        while done < len(values):
            if len(self.blocks) * self.block == self.units:
                if len(self.blocks) == MAX_BLOCKS:
                    self._merge()
                    continue
                self.blocks.append(np.zeros(len(self.total)))
                self.counts.append(np.zeros(len(self.total), dtype=np.int64))
            size = min(len(values) - done, len(self.blocks) * self.block - self.units)
            part = slice(done, done + size)
            self.blocks[-1] += filled[part].sum(axis=0)
            self.counts[-1] += there[part].sum(axis=0)
            self.units += size
            done += size

    def _merge(self) -> None:
        """Joins blocks two by two; all are complete."""
        self.blocks = [a + b for a, b in zip(self.blocks[::2], self.blocks[1::2], strict=True)]
        self.counts = [a + b for a, b in zip(self.counts[::2], self.counts[1::2], strict=True)]
        self.block *= 2

    def mean(self, quantity: int) -> float:
        """Returns the mean of a quantity; NaN where there was none."""
        count = int(self.count[quantity])
        return float(self.total[quantity]) / count if count else math.nan

    def variance(self, quantity: int) -> float:
        """Returns the variance of a quantity over units; infinite below two."""
        count = int(self.count[quantity])
        if count < 2:
            return math.inf
        squares = float(self.squares[quantity]) - float(self.total[quantity]) ** 2 / count
        return max(0.0, squares / (count - 1))

    def error(self, quantity: int) -> float:
        """Returns the standard error of the mean."""
        count = int(self.count[quantity])
        return math.sqrt(self.variance(quantity) / count) if count >= 2 else math.inf

    def estimate(self, quantity: int) -> Estimate:
        """Returns the mean of a quantity with its 95 % interval."""
        return combine([(self, 1.0)], quantity)

    def coarse(self, block: int, quantity: int) -> tuple[Float, Float]:
        """Returns sums and counts `[B]` of the complete blocks of ``block`` units."""
        whole = self.units // self.block
        factor = block // self.block
        size = whole // factor
        sums = np.array([entry[quantity] for entry in self.blocks[: size * factor]])
        counts = np.array([entry[quantity] for entry in self.counts[: size * factor]])
        return sums.reshape(size, factor).sum(axis=1), counts.reshape(size, factor).sum(axis=1)

    def to_data(self) -> dict[str, Any]:
        """Returns plain data; ``from_data`` gives the same tally again."""
        return {
            "units": self.units,
            "count": self.count.tolist(),
            "total": self.total.tolist(),
            "squares": self.squares.tolist(),
            "block": self.block,
            "blocks": [entry.tolist() for entry in self.blocks],
            "counts": [entry.tolist() for entry in self.counts],
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Tally:
        """Returns the tally of ``to_data``."""
        tally = cls(len(data["total"]), int(data["block"]))
        tally.units = int(data["units"])
        tally.count = np.array(data["count"], dtype=np.int64)
        tally.total = np.array(data["total"], dtype=np.float64)
        tally.squares = np.array(data["squares"], dtype=np.float64)
        tally.blocks = [np.array(entry, dtype=np.float64) for entry in data["blocks"]]
        tally.counts = [np.array(entry, dtype=np.int64) for entry in data["counts"]]
        return tally


def covariance_of_means(one: Tally, two: Tally, quantity: int, sign: float = 1.0) -> float:
    """Returns the covariance of two means over the same list of units.

    With c the covariance of block sums and u the units of a block, a unit adds c / u to the
    covariance of the sums, and only units that both have played do. Where too few blocks are common
    to both, the means count as fully correlated in the direction ``sign``.
    """
    first, second = int(one.count[quantity]), int(two.count[quantity])
    if first < 2 or second < 2:
        return math.inf * sign
    bound = one.error(quantity) * two.error(quantity)
    block = max(one.block, two.block)
    if block % one.block == 0 and block % two.block == 0:
        (a, units), (b, _) = one.coarse(block, quantity), two.coarse(block, quantity)
        common = min(len(a), len(b))
        if common >= MIN_BLOCKS and units[:common].min() > 0:
            joint = float(np.cov(a[:common], b[:common])[0, 1]) / float(units[:common].mean())
            found = joint * min(first, second) / (first * second)
            return max(-bound, min(bound, found))
    return bound * sign


def combine(parts: Sequence[tuple[Tally, float]], quantity: int) -> Estimate:
    """Returns the sum of weighted means over the same list of units, with its 95 % interval.

    Args:
        parts: tallies and weights.
        quantity: which of their quantities.
    """
    counts = [int(tally.count[quantity]) for tally, _ in parts]
    if not parts or min(counts) == 0:
        return Estimate(math.nan, -math.inf, math.inf, 0)
    mean = sum(tally.mean(quantity) * weight for tally, weight in parts)
    if min(counts) < 2:
        return Estimate(mean, -math.inf, math.inf, min(counts))
    variance = 0.0
    for index, (one, weight) in enumerate(parts):
        variance += weight**2 * one.error(quantity) ** 2
        for two, other in parts[:index]:
            product = weight * other
            sign = math.copysign(1.0, product)
            variance += 2 * product * covariance_of_means(one, two, quantity, sign)
    return interval(mean, math.sqrt(max(0.0, variance)), min(counts))
