"""Evaluations as a table for people and as an object for programs."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from train.evaluation.duplicate import Evaluation
from train.evaluation.intervals import Estimate


def _finite(number: float) -> float | None:
    """Returns a number for JSON, which knows no infinity."""
    return number if math.isfinite(number) else None


def to_json(result: Evaluation) -> dict[str, Any]:
    """Returns the object of ``king evaluate --json``, in points a deal.

    Bounds are null where fewer than two units leave no interval; ``benchmark`` is null where the
    seeds or the variant are not those of the benchmark. ``faults`` is there where there were any.
    """
    data: dict[str, Any] = {
        "benchmark": result.benchmark,
        "candidate": result.candidate,
        "against": result.against,
        "variant": result.variant,
        "start": result.start,
        "deals": result.deals,
        "margin": result.margin.mean,
        "low": _finite(result.margin.low),
        "high": _finite(result.margin.high),
        "by_contract": {
            name: {
                "margin": stratum.margin.mean,
                "low": _finite(stratum.margin.low),
                "high": _finite(stratum.margin.high),
                "deals": stratum.deals,
            }
            for name, stratum in result.strata.items()
        },
        "declared": result.declared,
    }
    if any(result.faults):
        data["faults"] = {"candidate": result.faults[0], "against": result.faults[1]}
    if result.matches is not None:
        data |= {
            "matches": result.matches.points.count,
            "points": result.matches.points.mean,
            "first": result.matches.first.mean,
            "first_low": _finite(result.matches.first.low),
            "first_high": _finite(result.matches.first.high),
            "mean_rank": result.matches.rank.mean,
        }
    return data


def format_margin(margin: Estimate, digits: int = 2) -> str:
    """Returns a mean with half its interval, such as ``+3.10 ± 0.42``."""
    if not math.isfinite(margin.half_width):
        return f"{margin.mean:+.{digits}f}"
    return f"{margin.mean:+.{digits}f} ± {margin.half_width:.{digits}f}"


def format_interval(margin: Estimate, digits: int = 2) -> str:
    """Returns the bounds of an interval, such as ``+2.68 .. +3.52``."""
    if not math.isfinite(margin.half_width):
        return "-"
    return f"{margin.low:+.{digits}f} .. {margin.high:+.{digits}f}"


def title(result: Evaluation) -> str:
    """Returns one line that says what was played."""
    options = "".join(f", {name}={value}" for name, value in result.options.items())
    if result.matches is not None:
        what = f"{result.matches.points.count:,} matches"
    else:
        what = f"{result.deals:,} deals" + (" from play on" if result.start == "play" else "")
    return f"{result.candidate} against {result.against}: {result.variant}{options}, {what}"


def _source(result: Evaluation) -> str:
    """Returns where the deals come from."""
    if result.pairs:
        seats = "pairs: each deal played in both seats of either team with the same cards"
    else:
        seats = "each deal played in every seat with the same cards"
    version = f"benchmark {result.benchmark}, " if result.benchmark else ""
    origin = f"seed list {result.seed_list}" if result.seed_list else f"seed {result.seed}"
    return f"{version}{origin}; {seats}"


def _shares(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {share:.1%}" for name, share in shares.items())


def table(result: Evaluation) -> Table:
    """Returns the margins in total and by stratum."""
    out = Table(title=title(result), caption=_source(result), title_justify="left")
    out.add_column("points a deal")
    out.add_column("margin", justify="right")
    out.add_column("95 % interval", justify="right")
    out.add_column("deals", justify="right")
    out.add_column("differs *", justify="center")
    total = result.margin
    out.add_row(
        "all",
        format_margin(total),
        format_interval(total),
        f"{result.deals:,}",
        "",
        end_section=True,
    )
    for name, stratum in result.strata.items():
        out.add_row(
            name,
            format_margin(stratum.margin),
            format_interval(stratum.margin),
            f"{stratum.deals:,}",
            "yes" if stratum.differs else "no",
        )
    return out


def to_text(result: Evaluation) -> RenderableType:
    """Returns the whole report for the terminal."""
    lines = ["* from 0, after Holm's correction over the rows"]
    if result.pairs:
        lines.append("margin of a pair: (own team minus other team) / 2; places go by team")
    for name, count in zip((result.candidate, result.against), result.faults, strict=True):
        if count:
            lines.append(f"lost by a fault of {name}: {count:,} deals of a seating")
    if result.declared:
        lines.append(f"declared at the table: {_shares(result.declared)}")
    if result.declared_by_candidate:
        lines.append(f"by {result.candidate}: {_shares(result.declared_by_candidate)}")
    if result.matches is not None:
        figures = result.matches
        points = f"{format_margin(figures.points, 1)} ({format_interval(figures.points, 1)})"
        first = f"{figures.first.mean:.1%}"
        if math.isfinite(figures.first.half_width):
            first += f" ({figures.first.low:.1%} .. {figures.first.high:.1%})"
        rank = f"{figures.rank.mean:.2f}"
        if math.isfinite(figures.rank.half_width):
            rank += f" ± {figures.rank.half_width:.2f}"
        lines.append(f"points a match: {points}; first places: {first}; mean rank: {rank}")
    return Group(table(result), *(Text(line) for line in lines))
