"""``make demo``: an agent trained by self-play in a few minutes, and how it does.

Trains ``configs/demo.toml``, then plays 1,000 duplicate deals of the benchmark against each of
random, greedy and rule.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from train.cli import evaluation_during_training, one_line

CONFIG: Final = "demo"
NUM_DEALS: Final = 1000
EXPECTED: Final = {"random": 25.0, "greedy": 0.0, "rule": 0.0}
"""Points a deal that the lower bound of the interval should exceed, by baseline."""


def run_folder(parent: Path) -> Path:
    """Returns ``parent/demo``, numbered if that exists."""
    number = 1
    folder = parent / "demo"
    while folder.exists():
        number += 1
        folder = parent / f"demo-{number}"
    return folder


def report(folder: Path, num_deals: int = NUM_DEALS) -> tuple[Table, list[str]]:
    """Evaluates a run.

    Returns:
        One table, the total against each baseline and by stratum against ``rule``; and a line for
        each bound that is expected, saying whether it was reached.
    """
    from agents.registry import make_agent
    from train.evaluation.duplicate import evaluate
    from train.evaluation.report import format_interval, format_margin
    from train.evaluation.seeds import BENCHMARK, DEFAULT_SEED_LIST

    candidate = make_agent(str(folder))
    table = Table(
        title=f"{folder}: points a deal against three copies of a baseline",
        caption=f"benchmark {BENCHMARK}, seed list {DEFAULT_SEED_LIST}, international, "
        "each deal played in every seat with the same cards",
        title_justify="left",
    )
    table.add_column("against")
    table.add_column("deals", justify="right")
    table.add_column("margin", justify="right")
    table.add_column("95 % interval", justify="right")
    facts = []
    for baseline in EXPECTED:
        result = evaluate(candidate, baseline, "international", deals=num_deals)
        margin = result.margin
        table.add_row(
            baseline,
            f"{result.deals:,}",
            format_margin(margin),
            format_interval(margin),
            end_section=baseline != "greedy",
        )
        bound = EXPECTED[baseline]
        word = "above" if margin.low > bound else "NOT above"
        facts.append(
            f"lower bound against {baseline}: {margin.low:+.2f}, {word} the expected {bound:+g}"
        )
        if baseline == "rule":
            for name, stratum in result.strata.items():
                table.add_row(
                    f"  {name}",
                    f"{stratum.deals:,}",
                    format_margin(stratum.margin),
                    format_interval(stratum.margin),
                )
    return table, facts


def main() -> int:
    """Trains, evaluates and prints; returns the exit code."""
    started = time.monotonic()
    console = Console(width=None if sys.stdout.isatty() else 120)
    try:
        from train.config import load_config
        from train.loop import run_training

        config = load_config(CONFIG)
        folder = run_folder(Path("runs"))
        console.print(f"training configs/{CONFIG}.toml into {folder}")
        run_training(config, folder, evaluate=evaluation_during_training(config))
        console.print("evaluating ...")
        table, facts = report(folder)
    except KeyboardInterrupt:
        print("king: interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError) as error:
        print(one_line(error), file=sys.stderr)
        return 2
    console.print(table, highlight=False)
    for fact in facts:
        console.print(fact, highlight=False)
    minutes = (time.monotonic() - started) / 60
    console.print(f"\n{minutes:.1f} minutes in all. The run folder {folder} holds the config, the")
    console.print("metrics, the learning curve (curve.png) and the checkpoints. Next, for example:")
    console.print(f"  king play --against {folder}", highlight=False)
    console.print(f"  king evaluate {folder} --against rule --deals 4000", highlight=False)
    console.print("  king train configs/international.toml --minutes 10", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
