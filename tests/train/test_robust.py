"""What a run survives: kills, full disks, folders that cannot be written, numbers that are none."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.neural.policy import load_policy
from agents.neural.weights import CheckpointError
from train import loop
from train.checkpoint import RunError
from train.config import DrawConfig, NetworkConfig, TableConfig, TeachConfig
from train.folders import FolderError, only_one
from train.loop import run_training
from train.metrics import read_metrics

from .helpers import TINY, Stop, digest, start, stopped, tiny

EVERYTHING = tiny(
    total_decisions=9_000,
    network=NetworkConfig(width=32, privileged=True),
    clone=dataclasses.replace(TINY.clone, decisions=1_500, most=1_500),
    teach=TeachConfig(worlds=4, keep=3),
    tables=TableConfig(rule_share=0.3, snapshot_share=0.3, pool_size=2),
    ppo=dataclasses.replace(TINY.ppo, decisions_per_iteration=1_500, ema=0.8, magnet=0.05),
)
"""A tiny run with all that a resumed run must bring back."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_training(EVERYTHING, tmp_path_factory.mktemp("runs") / "whole", progress=False)


def test_two_runs_with_one_seed_are_the_same(whole: Path, tmp_path: Path) -> None:
    again = run_training(EVERYTHING, tmp_path / "again", progress=False)
    assert digest(again) == digest(whole)
    other = run_training(EVERYTHING, tmp_path / "other", seed=4, progress=False)
    assert digest(other) != digest(whole)


@pytest.mark.parametrize("at", [1, 3, 7])
def test_a_run_with_everything_goes_on_where_it_died(whole: Path, tmp_path: Path, at: int) -> None:
    run = stopped(EVERYTHING, tmp_path / "run", at)
    assert json.loads((run / "latest.json").read_text())["iteration"] == at - 1
    run_training(EVERYTHING, run, resume=run, progress=False)
    assert digest(run) == digest(whole)
    assert not (run / "labels").exists()  # it has come to its end
    assert _snapshots(run) >= set(json.loads((run / "latest.json").read_text())["pool"])


def test_a_run_whose_labels_are_gone_says_so(tmp_path: Path) -> None:
    run = stopped(EVERYTHING, tmp_path / "run", 6)
    assert list((run / "labels").iterdir())
    shutil.rmtree(run / "labels")
    with pytest.raises(RunError, match=r"labels: .*the run cannot go on as it was"):
        run_training(EVERYTHING, run, resume=run, progress=False)


@pytest.mark.slow
def test_what_a_learning_process_lacks_is_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = dataclasses.replace(EVERYTHING, workers=2)
    run = stopped(config, tmp_path / "run", 6)
    for file in (run / "labels").glob("*-1.safetensors"):
        file.unlink()
    capfd.readouterr()
    with pytest.raises(RunError, match=r"learning process 1 .* has ended; go on with --resume"):
        run_training(config, run, resume=run, progress=False)
    said = capfd.readouterr().err
    assert "king: learning process 1: labels: " in said and "Traceback" not in said


def test_labels_that_cannot_be_written_are_one_line(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "labels").parent.mkdir()
    (run / "labels").write_text("a file where a folder is to be")
    with pytest.raises(RunError, match=r"^run folder: .*labels: cannot be written"):
        run_training(EVERYTHING, run, progress=False)
    (run / "labels").unlink()
    run_training(EVERYTHING, run, resume=run, progress=False)


def test_a_run_from_other_weights_goes_on_where_it_died(whole: Path, tmp_path: Path) -> None:
    """The checkpoint of the start holds the weights handed on: they are not needed again."""
    config = dataclasses.replace(EVERYTHING, total_decisions=4_000)
    first = run_training(config, tmp_path / "first", init=whole, progress=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop._Learner, "iterate", _raise)
        with pytest.raises(Stop):
            run_training(config, tmp_path / "second", init=whole, progress=False)
    second = run_training(config, tmp_path, resume=tmp_path / "second", progress=False)
    assert digest(second) == digest(first)


def _raise(*args: object) -> None:
    raise Stop


def _snapshots(run: Path) -> set[int]:
    return {int(path.stem) for path in (run / "pool").glob("*.safetensors")}


def test_only_one_process_works_in_a_run_folder(whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    with only_one(run):
        with pytest.raises(FolderError, match=r"run: another process is at work there$"):
            run_training(EVERYTHING, run, progress=False)
    with only_one(whole):
        before = digest(whole)
        with pytest.raises(FolderError, match="another process is at work there"):
            run_training(EVERYTHING, whole, resume=whole, progress=False)
    assert digest(whole) == before
    assert not (run / "latest.json").exists()


OWN_VARIANT = """
parent = "russian_auction"
id = "mine"
title = "Mine"
summary = "a variant of a user"
source = "a user"

[options]
"b.stage2" = "%s"
"""


def test_a_run_does_not_go_on_by_other_rules(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(OWN_VARIANT % "v3")
    config = dataclasses.replace(EVERYTHING, variants=(str(file),))
    run = stopped(config, tmp_path / "run", 3)
    file.write_text(OWN_VARIANT % "v1")
    with pytest.raises(RunError, match="mine: its rules are not those that the run began with"):
        run_training(config, run, resume=run, progress=False)


def test_evaluated_checkpoints_stay_after_a_stop(tmp_path: Path) -> None:
    output = dataclasses.replace(EVERYTHING.output, eval_every_decisions=100_000)
    config = dataclasses.replace(EVERYTHING, output=output)
    seen: list[str] = []
    iterate = loop._Learner.iterate

    def evaluate(checkpoint: Path) -> dict[str, float]:
        seen.append(checkpoint.stem)
        return {"rule": 0.0}

    def dying(self: loop._Learner, budget: loop.Budget | None) -> dict[str, object] | None:
        if seen:  # the checkpoint is still among those that can be gone on with
            raise Stop
        return iterate(self, budget)

    run = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop._Learner, "iterate", dying)
        with pytest.raises(Stop):
            run_training(config, run, evaluate=evaluate, progress=False)
    run_training(config, run, resume=run, evaluate=evaluate, progress=False)
    assert (run / "checkpoints" / f"{seen[0]}.safetensors").is_file()


def test_what_a_kill_leaves_behind_is_cleared(whole: Path, tmp_path: Path) -> None:
    run = stopped(EVERYTHING, tmp_path / "run", 4)
    half = run / "checkpoints" / ".0004.safetensors.tmp"
    half.write_bytes(b"half")
    lost = run / "checkpoints" / "0400.safetensors"  # written, but not pointed to yet
    lost.write_bytes((run / "checkpoints" / "0003.safetensors").read_bytes())
    assert json.loads((run / "latest.json").read_text())["iteration"] == 3
    (run / "metrics.jsonl").open("a").write('{"iteration": 3, "pha')
    run_training(EVERYTHING, run, resume=run, progress=False)
    assert not half.exists() and not lost.exists()
    numbers = [entry["iteration"] for entry in read_metrics(run / "metrics.jsonl")]
    assert numbers == sorted(set(numbers))
    assert len((run / "metrics.jsonl").read_text().splitlines()) == len(numbers)


def test_a_run_stopped_before_its_first_checkpoint_starts_anew(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop._Leader, "run", _raise)
        with pytest.raises(Stop):
            run_training(tiny(), run, progress=False)
    assert (run / "config.toml").is_file()
    (run / "budget.json").write_text(
        '{"clone": 1, "most": 1, "total": 1, "minutes": null, "open": []}'
    )
    with pytest.raises(CheckpointError, match=r"no run to go on with.*starts anew"):
        run_training(tiny(), run, resume=run, progress=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop._Learner, "iterate", _raise)
        with pytest.raises(Stop):
            run_training(tiny(), run, progress=False)
    assert load_policy(run).weights.meta["progress"]["iteration"] == 0
    assert json.loads((run / "budget.json").read_text())["total"] == tiny().total_decisions


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file can grow beyond a size: what a full disk does, but on every machine."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [20_000, 0], ids=["weights", "everything"])
def test_a_full_disk_is_one_line_and_the_run_goes_on_later(
    whole: Path, tmp_path: Path, size: int
) -> None:
    saves = 0
    save = loop._Leader._save
    log = loop._Leader._log

    def full(self: loop._Leader) -> Path:
        nonlocal saves
        saves += 1
        if saves < 6 or size == 0:
            return save(self)
        with largest_file(size):
            return save(self)

    def full_log(self: loop._Leader, entry: Any) -> None:
        if saves < 5 or size > 0:
            log(self, entry)
            return
        with largest_file(size):
            log(self, entry)

    run = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop._Leader, "_save", full)
        patch.setattr(loop._Leader, "_log", full_log)
        with pytest.raises(RunError, match=r"^run folder: .*: cannot be written: .*$") as caught:
            run_training(EVERYTHING, run, progress=False)
    assert "\n" not in str(caught.value)
    assert load_policy(run).weights.width == 32
    run_training(EVERYTHING, run, resume=run, progress=False)
    assert digest(run) == digest(whole)


def test_a_folder_that_cannot_be_written_is_one_line(whole: Path, tmp_path: Path) -> None:
    run = stopped(EVERYTHING, tmp_path / "run", 3)
    shutil.move(run / "checkpoints", tmp_path / "aside")
    shutil.copytree(tmp_path / "aside", run / "checkpoints")
    save = loop._Leader._save

    def blocked(self: loop._Leader) -> Path:
        shutil.rmtree(run / "checkpoints")
        (run / "checkpoints").write_text("in the way")
        return save(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop._Leader, "_save", blocked)
        with pytest.raises(RunError, match=r"checkpoints: cannot be written"):
            run_training(EVERYTHING, run, resume=run, progress=False)
    (run / "checkpoints").unlink()
    shutil.move(tmp_path / "aside", run / "checkpoints")
    run_training(EVERYTHING, run, resume=run, progress=False)
    assert digest(run) == digest(whole)


@pytest.mark.parametrize("part", ["network", "critic"])
def test_a_poisoned_weight_stops_the_run_at_the_last_good_checkpoint(
    whole: Path, tmp_path: Path, part: str
) -> None:
    iterate = loop._Learner.iterate

    def poisoned(self: loop._Learner, budget: loop.Budget | None) -> dict[str, object] | None:
        if self.progress.iteration == 4:
            next(getattr(self, part).parameters()).data[:3] = np.nan
        return iterate(self, budget)

    run = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop._Learner, "iterate", poisoned)
        with pytest.raises(RunError, match=r"iteration 5: .*not a finite number; the last good"):
            run_training(EVERYTHING, run, progress=False)
    assert json.loads((run / "latest.json").read_text())["iteration"] == 4
    assert all(np.isfinite(t).all() for t in load_policy(run).weights.tensors.values())
    run_training(EVERYTHING, run, resume=run, progress=False)
    assert digest(run) == digest(whole)


class Payload:
    """Unpickling it leaves a trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return (Path.touch, (self.trace,))


def test_loading_a_checkpoint_executes_nothing(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    newest = run / json.loads((run / "latest.json").read_text())["checkpoint"]
    trace = tmp_path / "executed"
    for file in (newest, newest.with_suffix(".training.safetensors")):
        good = file.read_bytes()
        file.write_bytes(pickle.dumps(Payload(trace)))
        with pytest.raises(CheckpointError, match="not a whole safetensors file"):
            run_training(EVERYTHING, run, resume=run, progress=False)
        file.write_bytes(good)
    assert not trace.exists()
    pickle.loads(pickle.dumps(Payload(trace)))
    assert trace.exists()  # the payload is a real one

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("something is unpickled")

    import torch

    for module, name in ((pickle, "load"), (pickle, "loads"), (torch, "load"), (np, "load")):
        monkeypatch.setattr(module, name, refuse)
    run_training(EVERYTHING, run, resume=run, progress=False)
    files = [path for path in run.rglob("*") if path.is_file() and path.name != ".lock"]
    kinds = {path.suffix for path in files}
    assert kinds == {".json", ".jsonl", ".safetensors", ".toml"}


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("mode", ["deal", "match"])
def test_a_run_killed_again_and_again_ends_the_same(tmp_path: Path, size: int, mode: str) -> None:
    config = dataclasses.replace(
        EVERYTHING,
        workers=size,
        total_decisions=40_000,
        draw=DrawConfig(mode=mode),
        clone=dataclasses.replace(TINY.clone, decisions=20_000, most=20_000),
    )
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert start(tmp_path, config, whole, "new").wait(600) == 0
    rng = random.Random(size)
    how = "new"
    phases = set()
    for target in (0, 2, 6, 12):
        process = start(tmp_path, config, killed, how)
        assert wait_for(killed, target)
        time.sleep(rng.random() * 0.5)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        phases.add(json.loads((killed / "latest.json").read_text())["phase"])
        how = "resume"
    assert phases == {"clone", "ppo"}
    assert json.loads((killed / "latest.json").read_text())["decisions"] < 40_000
    assert start(tmp_path, config, killed, "resume").wait(600) == 0
    assert digest(killed) == digest(whole)
    assert not [path for path in killed.rglob("*") if path.suffix == ".tmp"]


@pytest.mark.slow
def test_a_learning_process_that_is_lost_is_told(tmp_path: Path) -> None:
    config = dataclasses.replace(
        EVERYTHING,
        workers=3,
        output=dataclasses.replace(EVERYTHING.output, eval_every_decisions=3_000),
    )
    victims = []

    def kill(checkpoint: Path) -> dict[str, float]:
        if load_policy(checkpoint).weights.meta["progress"]["decisions"]:
            victims.extend(multiprocessing.active_children()[-1:])
            victims[0].kill()
        return {}

    whole = run_training(config, tmp_path / "whole", progress=False)
    run = tmp_path / "run"
    told = r"learning process [12] \(0 leads, 3 in all\) has ended; go on with --resume .*run$"
    with pytest.raises(RunError, match=told):
        run_training(config, run, progress=False, evaluate=kill)
    assert len(victims) == 1 and not multiprocessing.active_children()
    run_training(config, run, resume=run, progress=False)
    assert digest(run) == digest(whole)


def wait_for(run: Path, iteration: int) -> bool:
    """Waits until a run has saved an iteration."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        pointer = run / "latest.json"
        if pointer.is_file() and json.loads(pointer.read_text())["iteration"] >= iteration:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.slow
def test_a_full_disk_is_one_line_of_the_command(tmp_path: Path) -> None:
    from train.config import to_toml

    (tmp_path / "run.toml").write_text(to_toml(EVERYTHING))
    code = (
        "import resource, sys\n"
        "from train import cli\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))\n"
        "sys.exit(cli.main(['train', 'run.toml', '--out', 'run', '--quiet']))\n"
    )
    path = os.pathsep.join([str(Path(__file__).resolve().parents[2]), os.environ.get("PATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if "cannot be written" in line]
    assert len(lines) == 1 and "Traceback" not in done.stderr
