"""Means with 95 % intervals, the t distribution they need, and Holm's correction.

The quantile of Student's t replaces that of the normal distribution below 200 observations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

LEVEL: Final = 0.95
NORMAL_FROM: Final = 200
"""Observations from which the normal quantile is used."""


@dataclass(frozen=True)
class Estimate:
    """A mean over independent units with its 95 % interval.

    Attributes:
        mean: the mean; NaN without units.
        low: lower bound; minus infinity with fewer than two units.
        high: upper bound.
        count: number of units.
        p_value: two-sided test that the true mean is 0; 1 with fewer than two units.
    """

    mean: float
    low: float
    high: float
    count: int
    p_value: float = 1.0

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2


def t_cdf(t: float, degrees: int) -> float:
    """Returns P(T <= t) for Student's t with a whole number of degrees of freedom.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    if math.isinf(t):
        return 1.0 if t > 0 else 0.0
    angle = math.atan(t / math.sqrt(degrees))
    cosine = math.cos(angle)
    term = cosine if degrees % 2 else 1.0
    total = 0.0
    for k in range(degrees % 2, degrees - 1, 2):
        total += term
        term *= cosine * cosine * (k + 1) / (k + 2)
    inside = math.sin(angle) * total
    if degrees % 2:
        inside = 2 / math.pi * (angle + inside)
    return 0.5 + inside / 2


def t_quantile(probability: float, degrees: int) -> float:
    """Returns the t below which a share ``probability`` of Student's distribution lies."""
    if not 0 < probability < 1:
        raise ValueError(f"probability: found {probability}; allowed: between 0 and 1")
    if probability < 0.5:
        return -t_quantile(1 - probability, degrees)
    low, high = 0.0, 1.0
    while t_cdf(high, degrees) < probability:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if t_cdf(middle, degrees) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def estimate(values: Sequence[float] | npt.NDArray[np.float64]) -> Estimate:
    """Returns the mean of independent values with its 95 % interval."""
    data = np.asarray(values, dtype=np.float64)
    count = data.size
    if count == 0:
        return Estimate(math.nan, -math.inf, math.inf, 0)
    mean = float(data.mean())
    if count == 1:
        return Estimate(mean, -math.inf, math.inf, 1)
    return interval(mean, float(data.std(ddof=1)) / math.sqrt(count), count)


def interval(mean: float, error: float, count: int) -> Estimate:
    """Returns a mean with its 95 % interval.

    Args:
        mean: the mean.
        error: its standard error.
        count: number of independent units that the error was estimated from, 2 and more.
    """
    if count < NORMAL_FROM:
        quantile = t_quantile(0.5 + LEVEL / 2, count - 1)
    else:
        quantile = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    if error == 0:
        p_value = 1.0 if mean == 0 else 0.0
    elif count < NORMAL_FROM:
        p_value = 2 * (1 - t_cdf(abs(mean) / error, count - 1))
    else:
        p_value = math.erfc(abs(mean) / error / math.sqrt(2))
    return Estimate(mean, mean - quantile * error, mean + quantile * error, count, p_value)


def holm(p_values: Sequence[float], level: float = 1 - LEVEL) -> list[bool]:
    """Tells which hypotheses of a family are rejected by Holm's step-down procedure.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    rejected = [False] * len(p_values)
    for rank, index in enumerate(order):
        if p_values[index] > level / (len(p_values) - rank):
            break
        rejected[index] = True
    return rejected
