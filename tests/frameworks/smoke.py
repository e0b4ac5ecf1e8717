"""What the tests of the frameworks share: smoke runs of a script, and its agent by name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from agents.registry import make_agent
from train.evaluation.duplicate import evaluate


def run_script(name: str, folder: Path) -> None:
    """Runs a script for seconds; what it wrote must be an agent that ``king evaluate`` takes.

    The same seed must write the same weights, another one others.
    """
    main = import_module(f"train.frameworks.{name}").main
    path, same, other = (folder / f"{which}.safetensors" for which in ("first", "same", "other"))
    result = main(["--smoke", "--out", str(path)])
    assert result.variant == "international" and result.deals > 0
    main(["--smoke", "--out", str(same), "--seed", "1"])
    main(["--smoke", "--out", str(other), "--seed", "2"])
    assert path.read_bytes() == same.read_bytes() != other.read_bytes()
    agent = make_agent(f"train.frameworks.common:MlpAgent,path={path}")
    again = evaluate(agent, "random", "international", deals=result.deals)
    assert again.margin.mean == result.margin.mean
