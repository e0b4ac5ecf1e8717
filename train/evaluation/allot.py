"""How a time budget is split over cells so that their intervals come out about equally wide."""

from __future__ import annotations

import math
from collections.abc import Sequence


def allot(
    variances: Sequence[float],
    seconds_per_unit: Sequence[float],
    played: Sequence[int],
    seconds: float,
) -> list[int]:
    """Returns how many units each cell is to play more within a time.

    The half-width of a cell with variance v after n units is proportional to sqrt(v / n). For the
    common value v / n = h that the time can reach, a cell that has played n units needs
    max(0, v / h - n) more; a cell that is better than that already gets none. The time a cell gets
    thus goes with variance x time per unit.

    Args:
        variances: variance of a unit, 0 and more.
        seconds_per_unit: time that a unit takes, more than 0.
        played: units played.
        seconds: the time to give out.
    """

    def needs(level: float) -> list[float]:
        return [max(0.0, v * level - n) for v, n in zip(variances, played, strict=True)]

    def time_of(level: float) -> float:
        return sum(units * each for units, each in zip(needs(level), seconds_per_unit, strict=True))

    if seconds <= 0 or not any(v > 0 for v in variances):
        return [0] * len(variances)
    low, high = 0.0, 1.0  # of 1 / h
    while time_of(high) < seconds:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if time_of(middle) < seconds:
            low = middle
        else:
            high = middle
    return [math.floor(units + 1e-6) for units in needs(low)]


def shrunk_variances(
    variances: Sequence[float], counts: Sequence[int], prior: int = 8
) -> list[float]:
    """Returns variances drawn towards their median where few units have been seen.

    Args:
        variances: of units, infinite where fewer than two have been seen.
        counts: units seen.
        prior: units that the median counts for.
    """
    known = sorted(v for v in variances if math.isfinite(v))
    middle = known[len(known) // 2] if known else 1.0
    out = []
    for variance, count in zip(variances, counts, strict=True):
        degrees = max(0, count - 1)
        own = variance * degrees if degrees else 0.0
        out.append((own + prior * middle) / (degrees + prior))
    return out
