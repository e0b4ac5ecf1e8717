"""A time budget, and how it is split over cells so that intervals come out about equally wide."""

from __future__ import annotations

import math
from collections.abc import Sequence


class LeaderboardError(ValueError):
    """A leaderboard that cannot start or go on: one line with what, where and what is allowed."""


def parse_budget(text: str) -> float:
    """Returns the seconds of a text such as ``90s``, ``30m`` or ``2h``; a bare number is minutes.

    Raises:
        LeaderboardError: if it is nothing of the kind.
    """
    number, unit = (text[:-1], text[-1]) if text[-1:] in ("s", "m", "h") else (text, "m")
    try:
        seconds = float(number) * {"s": 1, "m": 60, "h": 3600}[unit]
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < 1e8:
        raise LeaderboardError(f"budget: found {text!r}; allowed: a time such as 90s, 30m or 2h")
    return seconds


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
