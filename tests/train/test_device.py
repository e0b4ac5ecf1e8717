"""Learning on another device than the CPU.

Where there is no GPU, a run on torch's device ``meta``, whose tensors hold no numbers, shows that
all that learns stays on its device; what is fetched from there reads as 0.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from train import cli, loop
from train.checkpoint import RunError
from train.config import NetworkConfig, PPOConfig, TableConfig, TeachConfig, TrainConfig
from train.loop import find_device, run_training
from train.metrics import read_metrics

from .helpers import digest, tiny


def with_switches() -> TrainConfig:
    """A run that goes through all code that learns."""
    base = tiny()
    return tiny(
        network=NetworkConfig(width=32, rule_prior=1.0, privileged=True),
        teach=TeachConfig(share=0.5, worlds=0, keep=2),
        tables=TableConfig(snapshot_share=0.2, pool_size=2),
        ppo=PPOConfig(**{**vars(base.ppo), "ema": 0.9, "magnet": 0.1}),
    )


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> str:
    """A device that refuses tensors of another and computes nothing."""
    number, adam = torch.Tensor.__float__, torch.optim.Adam

    def fetch(tensor: torch.Tensor) -> Any:
        if tensor.device.type == "cpu":
            return tensor
        kind = str(tensor.dtype).removeprefix("torch.")
        return SimpleNamespace(numpy=lambda: np.zeros(tuple(tensor.shape), kind))

    def plain_adam(parameters: Any, **options: Any) -> torch.optim.Optimizer:
        return adam(parameters, **{**options, "fused": False})  # it has no kernel of its own

    monkeypatch.setattr(loop, "find_device", torch.device)
    monkeypatch.setattr(torch.Tensor, "cpu", fetch)
    monkeypatch.setattr(torch.Tensor, "__float__", lambda t: 0.0 if t.is_meta else number(t))
    monkeypatch.setattr(torch.optim, "Adam", plain_adam)
    return "meta"


def test_no_step_mixes_devices(tmp_path: Path, elsewhere: str) -> None:
    run = run_training(with_switches(), tmp_path / "run", progress=False, device=elsewhere)
    phases = {entry["phase"] for entry in read_metrics(run / "metrics.jsonl")}
    assert phases == {"clone", "gate", "ppo"}
    run_training(tiny(), tmp_path / "further", init=run, progress=False, device=elsewhere)


def test_a_device_that_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert cli.main(["train", "international", "--device", "cuda"]) == 2
    said = capsys.readouterr().err
    version = torch.__version__
    assert said == f"king: device: found 'cuda'; torch {version} can use here: cpu\n"
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [find_device(name).index for name in ("cpu", "cuda", "cuda:1")] == [None, None, 1]
    for name in ("cuda:2", "meta", "gpu", ""):
        with pytest.raises(RunError, match=r"can use here: cpu, cuda, cuda:0, cuda:1$"):
            find_device(name)


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_gpu_learns_as_the_cpu_does(tmp_path: Path, workers: int) -> None:
    config = tiny(workers=workers)
    runs = [
        run_training(config, tmp_path / device, progress=False, device=device)
        for device in ("cpu", "cuda")
    ]
    ours, theirs = (read_metrics(run / "metrics.jsonl")[0] for run in runs)
    for name in ("clone_loss", "value_loss"):
        assert theirs[name] == pytest.approx(ours[name], rel=1e-3)
    before = digest(runs[1])
    run_training(config, runs[1], resume=runs[1], progress=False)  # a finished run stays as it is
    assert digest(runs[1]) == before
