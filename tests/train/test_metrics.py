"""What a run shows besides its JSON lines: pictures and TensorBoard."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from pathlib import Path

import pytest

from train.board import Board
from train.checkpoint import RunError
from train.loop import run_training
from train.metrics import plot_contracts, read_metrics, smoothed

from .helpers import TINY, tiny


@pytest.fixture(scope="module", autouse=True)
def no_pictures() -> None:
    """Here runs do draw."""


def test_smoothing_mixes_each_value_into_those_before() -> None:
    assert smoothed([4.0, 0.0, 8.0], 0.5) == [4.0, 2.0, 5.0]
    assert smoothed([], 0.9) == []


def test_contracts_get_a_small_picture_each(tmp_path: Path) -> None:
    from matplotlib import image

    def height(names: list[str]) -> int:
        lines = [
            {"phase": "ppo", "decisions": 1000 * i, **{f"margin/{n}": float(i) for n in names}}
            for i in range(4)
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / "metrics.jsonl").write_text(text)
        plot_contracts(tmp_path)
        return int(image.imread(tmp_path / "contracts.png").shape[0])

    (tmp_path / "metrics.jsonl").write_text(json.dumps({"phase": "clone"}) + "\n")
    plot_contracts(tmp_path)
    assert not (tmp_path / "contracts.png").exists()  # nothing to draw yet
    one, three = height(["auction", "nulls"]), height([f"contract {i}" for i in range(9)])
    assert three > 2 * one


def test_a_run_draws_its_curves(tmp_path: Path) -> None:
    run = run_training(tiny(), tmp_path / "run", progress=False)
    for name in ("curve.png", "contracts.png"):
        assert (run / name).read_bytes()[:4] == b"\x89PNG"
    assert not (run / "tensorboard").exists()


def test_without_tensorboard_there_is_one_line_and_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    config = tiny(output=dataclasses.replace(TINY.output, tensorboard=True))
    with pytest.raises(RunError, match=r"^tensorboard: not installed; install the extra .*$"):
        run_training(config, tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()


def test_events_are_the_metrics(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    config = tiny(output=dataclasses.replace(TINY.output, tensorboard=True))
    run = run_training(config, tmp_path / "run", progress=False)
    lines = [e for e in read_metrics(run / "metrics.jsonl") if e["phase"] == "ppo"]
    events = _events(run, "policy_loss")
    assert [step for step, _ in events] == [line["cloned"] + line["decisions"] for line in lines]
    for (_, value), line in zip(events, lines, strict=True):
        assert math.isclose(value, line["policy_loss"], rel_tol=1e-5, abs_tol=1e-7)
    assert _events(run, "margin/no_hearts")
    # A run that goes on drops what came after its checkpoint.
    board = Board(run, events[1][0])
    board.write({"cloned": 0, "decisions": events[1][0] + 5, "policy_loss": 7.0, "phase": "ppo"})
    board.close()
    again = _events(run, "policy_loss")
    assert again[:2] == events[:2] and again[2:] == [(events[1][0] + 5, 7.0)]


def _events(run: Path, tag: str) -> list[tuple[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars(tag)]
