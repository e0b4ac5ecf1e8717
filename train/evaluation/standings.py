"""The tables of a leaderboard: for the terminal, as Markdown, as JSON and as a picture."""

from __future__ import annotations

import io
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from king_env.files import replacing
from train.evaluation.intervals import Estimate, holm
from train.evaluation.leaderboard import (
    DEALS,
    FIRST,
    MARGIN,
    MATCHES,
    RANK,
    Board,
    Setting,
)
from train.evaluation.ratings import Rating, rate
from train.evaluation.report import format_interval, format_margin
from train.evaluation.tally import Tally, combine


@dataclass(frozen=True)
class Line:
    """An agent's figures.

    Attributes:
        name: the agent.
        margin: points a deal in one seat against three copies, mean over the opponents; of pairs,
            half the difference of the teams.
        three: points a deal of each of three copies against one other; None for pairs.
        wins: share of first places in a deal, ties split.
        opponents: the margin by opponent.
        strata: the margin by stratum, mean over the opponents.
        differs: opponents and strata whose margin differs from 0 after Holm's correction over all
            opponents, or all strata, of the leaderboard.
        match_margin: points a deal in whole matches, or None where it played none.
        match_wins: share of first places in a match, or None.
        match_rank: mean rank in a match, or None.
        ms_per_move: milliseconds a decision; NaN where unknown.
        deals: deals in which it took part, each counted once for all seatings, matches included.
        faults: deals lost by a fault, by kind.
        last_fault: what was wrong last, or "".
        rating: Plackett-Luce.
    """

    name: str
    margin: Estimate
    three: Estimate | None
    wins: Estimate
    opponents: dict[str, Estimate]
    strata: dict[str, Estimate]
    match_margin: Estimate | None
    match_wins: Estimate | None
    match_rank: Estimate | None
    ms_per_move: float
    deals: int
    faults: dict[str, int]
    last_fault: str
    rating: Rating
    differs: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Standings:
    """A leaderboard's figures, the best first.

    Attributes:
        setting: what was played.
        lines: the agents.
        spent_s: time spent.
        deals: deals of all cells, each counted once for all seatings.
        pairs: both seats of a team were played.
    """

    setting: Setting
    lines: list[Line]
    spent_s: float
    deals: int
    pairs: bool


def standings(board: Board, quantities: tuple[str, ...]) -> Standings:
    """Returns the figures of a board as they stand; agents that have not played stand last.

    Args:
        board: what has been played.
        quantities: names of the quantities, see ``leaderboard``.
    """
    games = {
        (cell.candidate, cell.against): board.records[cell].signs
        for cell in board.cells()
        if cell.kind == DEALS and board.units(cell)
    }
    ratings = rate(board.names, games)
    lines = [_line(board, name, quantities, ratings[name]) for name in board.names]
    for group in ("opponents", "strata"):
        family = [(line, name) for line in lines for name in getattr(line, group)]
        p_values = [getattr(line, group)[name].p_value for line, name in family]
        for (line, name), differs in zip(family, holm(p_values), strict=True):
            if differs:
                line.differs.add(f"{group}:{name}")
    lines.sort(key=lambda line: -line.margin.mean if math.isfinite(line.margin.mean) else math.inf)
    return Standings(
        board.setting, lines, board.spent_s, board.num_deals, board.setting.variant.spec.partnership
    )


def _tallies(board: Board, name: str, kind: str) -> list[tuple[str, Tally, float]]:
    """Returns an agent's cells as the candidate: opponent, tally and sign.

    Of pairs there is one cell for both, in which the other's margin has the other sign.
    """
    found = []
    for cell in board.cells():
        if cell.kind == kind and board.units(cell):
            if cell.candidate == name:
                found.append((cell.against, board.records[cell].tally, 1.0))
            elif board.setting.variant.spec.partnership and cell.against == name:
                found.append((cell.candidate, board.records[cell].tally, -1.0))
    return found


def _mean(cells: list[tuple[str, Tally, float]], quantity: int, total: float = 0.0) -> Estimate:
    """Returns the mean over opponents; of pairs q becomes ``total`` - q for the other team."""
    parts = [(tally, sign / len(cells)) for _, tally, sign in cells]
    made = combine(parts, quantity)
    shift = total * sum(sign < 0 for _, _, sign in cells) / max(1, len(cells))
    return Estimate(
        made.mean + shift, made.low + shift, made.high + shift, made.count, made.p_value
    )


def _line(board: Board, name: str, quantities: tuple[str, ...], rating: Rating) -> Line:
    cells = _tallies(board, name, DEALS)
    matches = _tallies(board, name, MATCHES)
    pairs = board.setting.variant.spec.partnership
    others = [
        board.records[cell].tally
        for cell in board.cells()
        if cell.kind == DEALS and cell.against == name and board.units(cell)
    ]
    three = None
    if not pairs:
        three = combine([(tally, -1 / 3 / len(others)) for tally in others], MARGIN)
    strata = {
        stratum: _mean(cells, column)
        for column, stratum in enumerate(quantities[3:], 3)
        if all(tally.count[column] for _, tally, _ in cells) and cells
    }
    agent = board.agents[name]
    schedule = len(board.setting.variant.spec.deals)
    took_part = [cell for cell in board.cells() if name in (cell.candidate, cell.against)]
    return Line(
        name=name,
        margin=_mean(cells, MARGIN),
        three=three,
        wins=_mean(cells, FIRST, 1.0),
        opponents={other: _mean([(other, tally, sign)], MARGIN) for other, tally, sign in cells},
        strata=strata,
        match_margin=_mean(matches, MARGIN) if matches else None,
        match_wins=_mean(matches, FIRST, 1.0) if matches else None,
        match_rank=_mean(matches, RANK, 3.0) if matches else None,
        ms_per_move=agent.ms_per_move,
        deals=sum(board.units(c) * (schedule if c.kind == MATCHES else 1) for c in took_part),
        faults=dict(agent.reasons),
        last_fault=agent.last_fault,
        rating=rating,
    )


# ---------------------------------------------------------------- as text


def origin(board: Standings) -> str:
    """Returns one line that names the benchmark, or says that it is not the benchmark."""
    setting = board.setting
    options = "".join(f", {name}={value}" for name, value in setting.variant.options.items())
    which = f"benchmark {setting.benchmark}" if setting.benchmark else "not the benchmark"
    return f"{which}; variant {setting.variant.name}{options}; seed list {setting.seed_list}"


def _notes(board: Standings) -> list[str]:
    """Returns what the figures mean."""
    if board.pairs:
        what = (
            "margin: points a deal, (own team minus other team) / 2, both seats of either team "
            "with the same cards"
        )
    else:
        what = (
            "margin: points a deal in one seat over the table mean, against three copies of each "
            "other agent, every seat with the same cards; three: of each of three copies against "
            "one other"
        )
    lines = [
        f"{what}; mean over the opponents, ± half a 95 % interval over deals",
        "wins: share of first places in a deal, in a match; ties split. Matches: among agents "
        "faster than 0.1 ms a move. ms: milliseconds a decision, many games at once where the "
        "agent can. "
        "rating: Plackett-Luce on the signs of the margins of deals, a second view",
        f"{board.deals:,} deals in {_duration(board.spent_s)}; * differs from 0 after Holm's "
        "correction over the table",
    ]
    for line in board.lines:
        if line.faults:
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in line.faults.items())
            lines.append(
                f"faults of {line.name}: {kinds}; an agent at fault loses the deal, its seats get "
                f"the lowest scores of the table; last: {line.last_fault}"
            )
    return lines


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _share(share: Estimate | None) -> str:
    if share is None or not math.isfinite(share.mean):
        return "-"
    if not math.isfinite(share.half_width):
        return f"{share.mean:.1%}"
    return f"{share.mean:.1%} ± {100 * share.half_width:.1f}"


def _margin(margin: Estimate | None, star: bool = False) -> str:
    if margin is None or not math.isfinite(margin.mean):
        return "-"
    return format_margin(margin) + (" *" if star else "")


def _speed(milliseconds: float) -> str:
    if math.isnan(milliseconds):
        return "-"
    return "< 0.001" if milliseconds < 0.001 else f"{milliseconds:.3g}"


def _tables(board: Standings) -> list[tuple[str, list[str], list[list[str]]]]:
    """Returns the tables: title, heads of the columns, rows of cells."""
    has_matches = any(line.match_wins is not None for line in board.lines)
    has_faults = any(line.faults for line in board.lines)
    heads = ["", "agent", "margin", "95 % interval"]
    heads += [] if board.pairs else ["three"]
    heads += ["wins"] + (["match margin", "match wins", "rank"] if has_matches else [])
    heads += ["ms a move", "deals", "rating"] + (["faults"] if has_faults else [])
    rows = []
    for place, line in enumerate(board.lines, 1):
        row = [str(place), line.name, _margin(line.margin), format_interval(line.margin)]
        row += [] if board.pairs else [_margin(line.three)]
        row += [_share(line.wins)]
        if has_matches:
            rank = line.match_rank
            row += [_margin(line.match_margin), _share(line.match_wins)]
            row += ["-" if rank is None else f"{rank.mean:.2f}"]
        row += [
            _speed(line.ms_per_move),
            f"{line.deals:,}",
            f"{line.rating.mu:.1f} ± {2 * line.rating.sigma:.1f}",
        ]
        row += [f"{sum(line.faults.values()):,}"] if has_faults else []
        rows.append(row)
    names = [line.name for line in board.lines]
    against = [
        [line.name]
        + [_margin(line.opponents.get(o), f"opponents:{o}" in line.differs) for o in names]
        for line in board.lines
    ]
    strata = list(dict.fromkeys(name for line in board.lines for name in line.strata))
    by_stratum = [
        [stratum]
        + [
            _margin(line.strata.get(stratum), f"strata:{stratum}" in line.differs)
            for line in board.lines
        ]
        for stratum in strata
    ]
    return [
        ("Leaderboard", heads, rows),
        ("Margin by opponent", ["agent \\ against", *names], against),
        ("Margin by stratum", ["stratum", *names], by_stratum),
    ]


def to_text(board: Standings) -> RenderableType:
    """Returns the tables for the terminal."""
    parts: list[RenderableType] = [Text(origin(board), style="bold")]
    for title, heads, rows in _tables(board):
        table = Table(title=title, title_justify="left")
        # The first table is wide; ± says what the interval says, and Markdown has them all.
        shown = [index for index, head in enumerate(heads) if head not in ("95 % interval", "rank")]
        for index in shown:
            named = heads[index].startswith(("agent", "stratum"))
            table.add_column(Text(heads[index]), justify="left" if named else "right")
        for row in rows:
            table.add_row(*(Text(row[index]) for index in shown))
        parts.append(table)
    return Group(*parts, *(Text(line) for line in _notes(board)))


def to_markdown(board: Standings) -> str:
    """Returns the tables as Markdown."""
    lines = [f"**{origin(board)}**", ""]
    for title, heads, rows in _tables(board):
        lines += [f"### {title}", ""]
        body = [heads, ["---"] * len(heads), *rows]
        lines += ["| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in body]
        lines.append("")
    return "\n".join(lines + [f"* {note}" for note in _notes(board)]) + "\n"


# ---------------------------------------------------------------- as data


def _data(found: Estimate | None) -> dict[str, Any] | None:
    """Returns an estimate for JSON, which knows neither NaN nor infinity."""
    if found is None or not math.isfinite(found.mean):
        return None
    return {
        "mean": found.mean,
        "low": found.low if math.isfinite(found.low) else None,
        "high": found.high if math.isfinite(found.high) else None,
        "units": found.count,
    }


def to_json(board: Standings) -> dict[str, Any]:
    """Returns the object of ``king leaderboard --json``, in points a deal.

    ``benchmark`` is null where the variant is not the benchmark's; an estimate is null where
    nothing was played, its bounds where fewer than two units leave no interval.
    """
    return {
        "benchmark": board.setting.benchmark,
        "seed_list": board.setting.seed_list,
        "variant": board.setting.variant.name,
        "options": dict(board.setting.variant.options),
        "pairs": board.pairs,
        "deals": board.deals,
        "seconds": board.spent_s,
        "agents": [
            {
                "name": line.name,
                "margin": _data(line.margin),
                "three": _data(line.three),
                "wins": _data(line.wins),
                "by_opponent": {name: _data(e) for name, e in line.opponents.items()},
                "by_stratum": {name: _data(e) for name, e in line.strata.items()},
                "match_margin": _data(line.match_margin),
                "match_wins": _data(line.match_wins),
                "match_rank": _data(line.match_rank),
                "ms_per_move": None if math.isnan(line.ms_per_move) else line.ms_per_move,
                "deals": line.deals,
                "faults": line.faults,
                "last_fault": line.last_fault,
                "rating": vars(line.rating),
            }
            for line in board.lines
        ],
    }


def draw(board: Standings) -> bytes:
    """Returns the picture as PNG: margins with their intervals, those by opponent small beside."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lines = board.lines[::-1]
    figure = Figure(figsize=(8, 1.6 + 0.55 * len(lines)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for row, line in enumerate(lines):
        for size, entry in [("small", e) for e in line.opponents.values()] + [
            ("large", line.margin)
        ]:
            if not math.isfinite(entry.mean):
                continue
            width = entry.half_width if math.isfinite(entry.half_width) else 0.0
            axes.errorbar(
                entry.mean,
                row + (0.18 if size == "small" else 0),
                xerr=width,
                fmt="o",
                color="tab:blue" if size == "large" else "0.65",
                markersize=6 if size == "large" else 3,
                capsize=3 if size == "large" else 0,
            )
    axes.set_yticks(range(len(lines)), [line.name for line in lines])
    axes.set_ylim(-0.6, len(lines) - 0.4)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xlabel("margin, points a deal, with 95 % intervals (gray: by opponent)")
    axes.set_title(origin(board), fontsize=9)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    return picture.getvalue()


def write(board: Standings, folder: Path) -> None:
    """Writes ``leaderboard.md``, ``leaderboard.json`` and ``leaderboard.png``, each atomically.

    Raises:
        OSError: if a file cannot be written.
    """
    files = {
        "leaderboard.md": to_markdown(board).encode(),
        "leaderboard.json": (json.dumps(to_json(board), indent=1) + "\n").encode(),
        "leaderboard.png": draw(board),
    }
    for name, content in files.items():
        with replacing(folder / name) as file:
            file.write(content)
