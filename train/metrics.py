"""What is logged: every metric with its meaning, the JSONL file, the learning curve."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from torch import Tensor

from train.checkpoint import replace_file, run_error
from train.rollout import KINDS
from train.workers import Channel

METRICS: Final[Mapping[str, str]] = {
    "phase": "clone, gate (measured without learning), ppo, evaluation",
    "passed": "at the gate: the agreement is what the config asks for",
    "iteration": "number of the iteration, from 1",
    "cloned": "decisions of the rule-based agent learned from",
    "decisions": "own decisions learned from",
    "seconds": "time since this process started the run or went on with it",
    "decisions_per_s": "decisions learned from in this iteration a second, rollout included",
    "learning_rate": "learning rate of the iteration",
    "entropy_coef": "weight of the entropy bonus",
    "magnet_coef": "weight of the divergence from the policy that PPO started with",
    "policy_loss": "clipped surrogate loss of PPO, normalised advantages",
    "value_loss": "half the squared error of the value, point scales",
    "critic_loss": "the same of the value that sees all hands",
    "explained_variance": "1 - variance of (return - value) / variance of return",
    "entropy": "entropy of the policy over legal actions, nats",
    "kl": "estimate of the divergence of the old policy from the new one, nats",
    "magnet_kl": "divergence of the policy from the one that PPO started with, nats",
    "clipped": "share of decisions whose ratio lies outside the clip range",
    "clone_loss": "cross-entropy against the rule-based agent's opinion, or its action, nats",
    "lead": "point scales by which search prefers the most likely action to the rule-based agent's",
    "agreement": "share of decisions on which the most likely action is the rule-based agent's",
    "near_agreement": "the same, or one valued within a 64th of the point scale of its own",
    "regret": "64ths of the point scale by which the rule-based agent prefers its own action",
    "ruffs_found": "share of the rule-based agent's winning ruffs where the network wins too",
    "margin": "points a deal over the table mean, sampled play, among three of tables.against",
    "margin_se": "its standard error, deals taken as independent",
    "pool_margin": "the same among three copies of an earlier self",
    "pool_margin_se": "its standard error",
    "first_places": "share of matches won among three of tables.against, shared places split",
}
"""Metrics by name. ``NAME/KIND`` and ``NAME/STRATUM`` are the same over a kind of decision (decide,
lead, follow, discard) or over what is played (a contract; auction, choose), ``VARIANT:NAME`` where
there are several variants; ``margin/VARIANT`` is then that of a whole variant. ``eval/...`` are
what the evaluation handed in returns."""


class Sums:
    """Sums and counts of metrics, in total and by group; the same names in every process.

    Args:
        strata: names of the strata.
    """

    NAMES: Final = (
        "policy_loss", "value_loss", "critic_loss", "entropy", "kl", "clipped", "magnet_kl",
        "clone_loss", "lead", "agreement", "near_agreement", "regret", "ruffs_found",
    )  # fmt: skip

    def __init__(self, strata: Sequence[str]) -> None:
        self._labels = {"kind": list(KINDS), "stratum": list(strata)}
        self._width = 1 + len(KINDS) + len(strata)
        self._values = np.zeros((len(self.NAMES), self._width, 2))

    def add(
        self,
        name: str,
        values: Tensor,
        groups: Mapping[str, npt.NDArray[np.uint8]] | None = None,
    ) -> None:
        """Adds one value a decision, with the group numbers of the decisions."""
        row = self._values[self.NAMES.index(name)]
        numbers = values.detach().cpu().numpy().astype(np.float64)
        row[0] += (numbers.sum(), len(numbers))
        start = 1
        for group, labels in self._labels.items():
            if groups is not None:
                part = row[start : start + len(labels)]
                part[:, 0] += np.bincount(groups[group], numbers, len(labels))
                part[:, 1] += np.bincount(groups[group], minlength=len(labels))
            start += len(labels)

    def means(self, channel: Channel) -> dict[str, float]:
        """Returns the means over all processes of what occurred."""
        total = channel.total(self._values.reshape(-1)).reshape(self._values.shape)
        labels = [""] + [f"/{label}" for group in self._labels.values() for label in group]
        return {
            name + label: float(value / count)
            for name, row in zip(self.NAMES, total, strict=True)
            for label, (value, count) in zip(labels, row, strict=True)
            if count > 0
        }


class MetricsFile:
    """``metrics.jsonl`` of a run folder: one JSON object a line.

    Args:
        path: the file.
        iteration: lines of later iterations are dropped: the run goes on from there.

    Attributes:
        evaluated: iterations that the lines kept say were evaluated.
    """

    def __init__(self, path: Path, iteration: int) -> None:
        self._path = path
        kept = [
            entry for entry in read_metrics(path) if int(entry.get("iteration", 0)) <= iteration
        ]
        self.evaluated = [e["iteration"] for e in kept if e.get("phase") == "evaluation"]
        text = "".join(json.dumps(entry) + "\n" for entry in kept)
        replace_file(path, text.encode())

    def write(self, entry: Mapping[str, Any]) -> None:
        """Appends a line; numbers that are not finite become null."""
        clean = {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in entry.items()
        }
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(clean) + "\n")
        except OSError as error:
            raise run_error(self._path, error) from None


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Returns the lines of a metrics file; a last line cut short by a kill is left out."""
    if not path.is_file():
        return []
    entries = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries


def plot_curve(run: Path) -> None:
    """Draws ``curve.png``: margins at training tables and evaluations over decisions learned."""
    from matplotlib.figure import Figure

    entries = read_metrics(run / "metrics.jsonl")
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    ppo = [entry for entry in entries if entry.get("phase") == "ppo"]
    margins = [entry for entry in ppo if entry.get("margin") is not None]
    if margins:
        axes.plot(
            [entry["decisions"] / 1e6 for entry in margins],
            smoothed([entry["margin"] for entry in margins], 0.8),
            color="tab:gray",
            label="training tables with three others (sampled play, smoothed)",
        )
    names = sorted({key for entry in entries for key in entry if key.startswith("eval/")})
    names = [name for name in names if not name.endswith(("/low", "/high"))]
    if len(names) > 8:  # of several variants: the strongest baseline
        names = [name for name in names if name.endswith("/rule")]
    for name in names:
        points = [entry for entry in entries if entry.get(name) is not None]
        x = [entry["decisions"] / 1e6 for entry in points]
        line = axes.plot(x, [entry[name] for entry in points], "o-", label=name[5:])
        banded = [entry for entry in points if entry.get(f"{name}/low") is not None]
        if banded:
            axes.fill_between(
                [entry["decisions"] / 1e6 for entry in banded],
                [entry[f"{name}/low"] for entry in banded],
                [entry[f"{name}/high"] for entry in banded],
                color=line[0].get_color(),
                alpha=0.2,
            )
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xlabel("own decisions learned from, millions")
    axes.set_ylabel("points a deal over the table mean")
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower center", ncols=2)
    _save_figure(figure, run / "curve.png")


def plot_contracts(run: Path) -> None:
    """Draws ``contracts.png``: margins by stratum at training tables over decisions learned.

    One small picture each, all on one scale: sampled play among three rule-based players, smoothed.
    """
    from matplotlib.figure import Figure

    entries = [e for e in read_metrics(run / "metrics.jsonl") if e.get("phase") == "ppo"]
    names = list(dict.fromkeys(key for e in entries for key in e if key.startswith("margin/")))
    if not names:
        return
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(2.6 * columns, 0.6 + 1.9 * rows), layout="constrained")
    panels = list(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
    for axes, name in zip(panels, names, strict=False):
        points = [entry for entry in entries if entry.get(name) is not None]
        x = [entry["decisions"] / 1e6 for entry in points]
        axes.plot(x, smoothed([entry[name] for entry in points], 0.9), color="tab:blue")
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set_title(name.removeprefix("margin/"), fontsize="small")
    for axes in panels[len(names) :]:
        axes.set_axis_off()
    figure.supxlabel("own decisions learned from, millions", fontsize="small")
    figure.supylabel("points a deal over the table mean", fontsize="small")
    _save_figure(figure, run / "contracts.png")


def smoothed(values: Sequence[float], stay: float) -> list[float]:
    """Returns the values with each mixed into those before: ``s <- stay s + (1 - stay) v``."""
    out: list[float] = []
    for value in values:
        out.append(stay * out[-1] + (1 - stay) * value if out else value)
    return out


def _save_figure(figure: Any, path: Path) -> None:
    """Writes a picture."""
    import io

    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    replace_file(path, picture.getvalue())
