"""What a run shows while it goes on: a live line on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

LINE_EVERY_S: Final = 15.0
"""Seconds between lines where there is no terminal."""


class Reporter:
    """Shows progress on stderr.

    Args:
        run: the run folder, for the messages.
        enabled: False: say nothing.
    """

    def __init__(self, run: Path, enabled: bool) -> None:
        self.run = run
        self.enabled = enabled
        self.console = Console(stderr=True, quiet=not enabled, highlight=False)
        self.live = enabled and self.console.is_terminal
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[text]}"),
            console=self.console,
            disable=not self.live,
        )
        self.task = self.bar.add_task("train", total=None, text="")
        self.last_line = 0.0
        self.best = ""
        self.started = time.monotonic()

    def __enter__(self) -> Reporter:
        self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()

    def say(self, text: str) -> None:
        """Prints a line."""
        self.console.print(text, markup=False, soft_wrap=True)

    def show(self, entry: Mapping[str, Any], budget: Mapping[str, int], unknown: bool) -> None:
        """Shows the metrics of an iteration.

        Args:
            entry: the metrics.
            budget: decisions to learn from.
            unknown: the budget is not known yet.
        """
        cloning = entry["phase"] in ("clone", "gate")
        done = entry["cloned"] if cloning else entry["decisions"]
        total = budget["clone"] if cloning else budget["total"]
        parts = [f"{done / 1e6:.2f} M decisions", f"{entry['decisions_per_s'] / 1e3:.1f} k/s"]
        if cloning:
            parts.append(f"agreement {entry.get('agreement', 0.0):.3f}")
            parts.append(f"near {entry.get('near_agreement', 0.0):.3f}")
            parts.append(f"loss {entry.get('clone_loss', 0.0):.3f}")
        else:
            for name in ("policy_loss", "value_loss", "entropy", "kl"):
                parts.append(f"{name.removesuffix('_loss')} {entry.get(name, 0.0):.3f}")
            if "margin" in entry:
                parts.append(f"mixed tables {entry['margin']:+.1f} (sampled)")
        if self.best:
            parts.append(self.best)
        if not unknown and entry["decisions_per_s"] > 0 and done < total:
            left = (total - done) / entry["decisions_per_s"]
            parts.append(f"{left / 60:.1f} min left" + (" of cloning" if cloning else ""))
        text = "  ".join(parts)
        name = "clone" if cloning else "ppo"
        self.bar.update(
            self.task,
            description=name,
            completed=min(done, total),
            total=None if unknown and not cloning else total,
            text=text,
        )
        if self.enabled and not self.live:
            now = time.monotonic()
            if now - self.last_line >= LINE_EVERY_S or entry["phase"] == "gate":
                self.last_line = now
                self.say(f"[{now - self.started:6.0f} s] {name}: {text}")

    def evaluation(self, entry: Mapping[str, Any]) -> None:
        """Shows the figures of an evaluation."""
        figures = [
            f"{name[5:]} {value:+.1f}"
            for name, value in entry.items()
            if name.startswith("eval/") and not name.endswith(("/low", "/high"))
        ]
        self.best = "evaluated: " + ", ".join(figures)
        self.say(f"[{time.monotonic() - self.started:6.0f} s] {self.best}")

    def end(self, finished: bool) -> None:
        """Says how the run ended."""
        if finished:
            self.say(f"done: {self.run}")
        else:
            self.say(f"stopped: {self.run}; go on with --resume {self.run}")
