"""What the tests of the frameworks share: the smoke run of a script, and its agent by name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from agents.registry import make_agent
from train.evaluation.duplicate import evaluate


def run_script(name: str, folder: Path) -> None:
    """Runs a script for seconds; what it wrote must be an agent that ``king evaluate`` takes."""
    path = folder / f"{name}.safetensors"
    result = import_module(f"train.frameworks.{name}").main(["--smoke", "--out", str(path)])
    assert result.variant == "international" and result.deals > 0
    agent = make_agent(f"train.frameworks.common:MlpAgent,path={path}")
    again = evaluate(agent, "random", "international", deals=result.deals)
    assert again.margin.mean == result.margin.mean
