from __future__ import annotations

import dataclasses
import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch

from agents.base import CompiledOpponents
from agents.neural.policy import NeuralPolicy, load_policy
from agents.neural.weights import CheckpointError
from king_env.envs.batch import BatchEnv
from train.checkpoint import RunError
from train.config import (
    CloneConfig,
    NetworkConfig,
    PPOConfig,
    TeachConfig,
    TrainConfig,
    load_config,
)
from train.loop import run_training
from train.metrics import METRICS, read_metrics

from .helpers import digest, start, stopped, tiny


def margin_over(policy: NeuralPolicy, opponent: int, num_deals: int = 250) -> tuple[float, float]:
    """Returns the mean and standard error of points a deal over the table mean, four rotations."""
    env = BatchEnv("international", 4 * num_deals, seed=99, opponents=CompiledOpponents(1))
    games = np.arange(4 * num_deals)
    control = np.full((4 * num_deals, 4), opponent, dtype=np.uint8)
    control[games, games % 4] = 0
    step = env.reset(numbers=games // 4, control=control)
    while len(step.rows):
        batch = env.games[step.rows].view(np.recarray)
        step = env.step(policy.act_batch(batch, env.tables, np.zeros(len(batch), np.uint64)))
    points = env.games.paid.astype(float)
    deals = (points[games, games % 4] - points.mean(1)).reshape(-1, 4).mean(1)
    return float(deals.mean()), float(deals.std() / np.sqrt(num_deals))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny run, with an evaluation handed in."""

    def evaluate(checkpoint: Path) -> Mapping[str, float]:
        load_policy(checkpoint)
        return {"rule": -5.0, "rule/low": -6.0, "rule/high": -4.0}

    out = tmp_path_factory.mktemp("runs") / "tiny"
    return run_training(tiny(), out, evaluate=evaluate, progress=False)


def test_a_run_folder_holds_what_it_should(finished: Path) -> None:
    assert load_config(finished / "config.toml") == tiny()
    budget = json.loads((finished / "budget.json").read_text())
    assert budget["total"] == 9_000 and budget["open"] == []
    entries = read_metrics(finished / "metrics.jsonl")
    assert [e["phase"] for e in entries][:2] == ["clone", "clone"] or "gate" in {
        e["phase"] for e in entries
    }
    assert {"clone", "gate", "ppo", "evaluation"} == {e["phase"] for e in entries}
    for entry in entries:
        for name in entry:
            assert name.split("/")[0] in (*METRICS, "eval"), name
    last = [e for e in entries if e["phase"] == "ppo"][-1]
    assert last["decisions"] >= 9_000
    assert all(np.isfinite(v) for v in last.values() if isinstance(v, float))
    meta = json.loads(next((finished / "checkpoints").glob("0*.json")).read_text())
    assert {"columns", "config", "variants", "variant_data", "versions", "observation_version",
            "num_actions", "decisions"} <= set(meta)  # fmt: skip
    assert not [p for p in finished.rglob("*") if p.suffix in (".pt", ".pkl", ".tmp")]


def test_a_stopped_run_ends_as_if_it_had_not_stopped(finished: Path, tmp_path: Path) -> None:
    # Checkpoints are saved after every iteration; the run dies inside the fourth.
    out = stopped(tiny(), tmp_path / "stopped", 4)
    assert digest(out) != digest(finished)
    run_training(tiny(), out, resume=out, progress=False)
    assert digest(out) == digest(finished)
    numbers = [e["iteration"] for e in read_metrics(out / "metrics.jsonl")]
    assert numbers == sorted(numbers)


def test_another_seed_gives_another_network(finished: Path, tmp_path: Path) -> None:
    other = run_training(tiny(), tmp_path / "other", seed=8, progress=False)
    assert digest(other) != digest(finished)
    assert load_config(other / "config.toml").seed == 8


def test_weights_can_be_handed_on(finished: Path, tmp_path: Path) -> None:
    config = tiny(variants=("turkish_short",), total_decisions=3_000)
    run = run_training(config, tmp_path / "next", init=finished, progress=False)
    assert {e["phase"] for e in read_metrics(run / "metrics.jsonl")} == {"ppo"}
    columns = set(load_policy(finished).weights.columns.tolist())
    assert columns < set(load_policy(run).weights.columns.tolist())


def test_minutes_become_decisions_once(tmp_path: Path) -> None:
    run = run_training(tiny(), tmp_path / "timed", minutes=0.05, progress=False)
    budget = json.loads((run / "budget.json").read_text())
    assert budget["minutes"] == 0.05 and budget["open"] == []
    assert budget["clone"] <= 3_000
    last = json.loads((run / "latest.json").read_text())
    assert last["decisions"] >= budget["total"]


def test_runs_that_cannot_start(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="holds a run"):
        run_training(tiny(), finished, progress=False)
    with pytest.raises(CheckpointError, match="no run to go on with"):
        run_training(tiny(), tmp_path, resume=tmp_path, progress=False)
    with pytest.raises(RunError, match="seed: not with resume"):
        run_training(tiny(), finished, resume=finished, seed=1, progress=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        run_training(tiny(), tmp_path / "file" / "run", progress=False)


def test_a_loss_that_is_no_number_stops_the_run(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from train import advantage, loop

    calls = 0
    gae = advantage.gae

    def broken(*args: object) -> object:
        nonlocal calls
        calls += 1
        made = gae(*args)  # type: ignore[arg-type]
        return made * np.float32(np.nan) if calls == 4 else made

    monkeypatch.setattr(loop, "gae", broken)
    out = tmp_path / "run"
    with pytest.raises(RunError, match=r"not a finite number; the last good checkpoint"):
        run_training(tiny(), out, progress=False)
    assert all(np.isfinite(t).all() for t in load_policy(out).weights.tensors.values())


def test_a_tiny_run_beats_random(tmp_path: Path) -> None:
    config = TrainConfig(
        workers=1,
        total_decisions=30_000,
        # The network alone: with the rule-based agent's opinion it would win without learning.
        network=NetworkConfig(width=64, rule_prior=0.0),
        clone=CloneConfig(decisions=40_000, most=40_000, batch=256),
        teach=TeachConfig(share=0.0),
        ppo=PPOConfig(decisions_per_iteration=10_000, minibatch=1024),
        output=dataclasses.replace(TrainConfig().output, eval_every_decisions=0),
    )
    run = run_training(config, tmp_path / "run", progress=False)
    mean, error = margin_over(load_policy(run), 1)
    assert mean - 2 * error > 5, (mean, error)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2])
def test_a_killed_run_ends_as_if_it_had_not_been_killed(tmp_path: Path, size: int) -> None:
    config = tiny(workers=size, total_decisions=60_000)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert start(tmp_path, config, whole, "new").wait(300) == 0
    process = start(tmp_path, config, killed, "new")
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        pointer = killed / "latest.json"
        if pointer.is_file() and json.loads(pointer.read_text())["iteration"] >= 6:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    assert json.loads((killed / "latest.json").read_text())["decisions"] < 60_000
    assert start(tmp_path, config, killed, "resume").wait(300) == 0
    assert digest(killed) == digest(whole)


@pytest.mark.slow
def test_two_workers_give_the_same_bits_twice(tmp_path: Path) -> None:
    config = tiny(workers=2, total_decisions=20_000)
    runs = [tmp_path / "one", tmp_path / "two"]
    for run in runs:
        assert start(tmp_path, config, run, "new").wait(300) == 0
    assert digest(runs[0]) == digest(runs[1])


@pytest.mark.slow
def test_ctrl_c_saves_and_stops(tmp_path: Path) -> None:
    config = tiny(workers=2, total_decisions=10_000_000)
    process = start(tmp_path, config, tmp_path / "run", "new", own_group=True)
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and not (tmp_path / "run" / "latest.json").is_file():
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: every process gets it
    assert process.wait(60) == 0
    assert load_policy(tmp_path / "run").weights.width == 32


def test_threads_are_given_back(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        run_training(tiny(total_decisions=1), tmp_path / "run", progress=False)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
