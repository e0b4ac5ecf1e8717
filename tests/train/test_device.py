"""Learning on another device than the CPU.

Where there is no GPU, runs on torch's device ``meta``, whose tensors hold no numbers, show that all
that learns is there and stays there; what is fetched from there reads as 0.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.numpy import load_file
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from agents.neural.weights import find_checkpoint
from train import cli, loop
from train.checkpoint import RunError, load_learner
from train.config import NetworkConfig, TableConfig, TeachConfig
from train.loop import find_device, run_training
from train.metrics import read_metrics
from train.ppo import step

from .helpers import TINY, Stop, stopped, tiny

EVERYTHING = tiny(
    network=NetworkConfig(width=32, rule_prior=1.0, privileged=True),
    teach=TeachConfig(share=0.5, worlds=0, keep=2),
    tables=TableConfig(snapshot_share=0.2, pool_size=2),
    ppo=dataclasses.replace(TINY.ppo, ema=0.9, magnet=0.1),
)
"""A tiny run that goes through all code that learns."""

COPIES = (torch.ops.aten.copy_, torch.ops.aten._to_copy)


class OneDevice(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch gives it no types
    """Lets nothing but a copy take tensors of several devices; single numbers may lie anywhere.

    A number fetched from a tensor without numbers is 1.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        leaves = tree_leaves((args, kwargs))
        found = {leaf.device for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.dim()}
        assert len(found) < 2 or func.overloadpacket in COPIES, f"{func}: {found}"
        if func is torch.ops.aten._local_scalar_dense.default and args[0].is_meta:
            return 1.0
        return func(*args, **(kwargs or {}))


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a device that computes nothing."""
    adam = torch.optim.Adam

    def fetch(tensor: torch.Tensor) -> torch.Tensor:
        return torch.zeros(tensor.shape, dtype=tensor.dtype) if tensor.is_meta else tensor

    def plain_adam(parameters: Any, **options: Any) -> torch.optim.Optimizer:
        return adam(parameters, **{**options, "fused": False})  # it has no kernel of its own

    monkeypatch.setattr(loop, "find_device", torch.device)
    monkeypatch.setattr(loop, "_compile", lambda *args: None)
    monkeypatch.setattr(torch.Tensor, "cpu", fetch)
    monkeypatch.setattr(torch.optim, "Adam", plain_adam)
    with OneDevice():  # type: ignore[no-untyped-call]
        yield "meta"


def test_all_that_learns_is_on_the_device(tmp_path: Path, elsewhere: str) -> None:
    run = stopped(EVERYTHING, tmp_path / "run", 4, device=elsewhere)
    run_training(EVERYTHING, run, resume=run, progress=False, device=elsewhere)
    phases = {entry["phase"] for entry in read_metrics(run / "metrics.jsonl")}
    assert phases == {"clone", "gate", "ppo"}
    for suffix in (".safetensors", ".training.safetensors"):
        tensors = load_file(find_checkpoint(run).with_suffix(suffix))
        assert not any(tensor.any() for tensor in tensors.values())
    further = tmp_path / "further"
    run_training(EVERYTHING, further, init=run, progress=False, device=elsewhere)


def test_gradients_of_several_processes_meet_on_the_cpu(elsewhere: str) -> None:
    network = torch.nn.Linear(3, 1, device=elsewhere)
    optimizer = torch.optim.Adam(network.parameters())
    averaged: list[torch.Tensor] = []
    channel: Any = SimpleNamespace(size=2, average=averaged.append)
    step(network, optimizer, network(torch.ones(5, 3, device=elsewhere)).sum(), channel, 1.0)
    assert [(len(values), values.device.type) for values in averaged] == [(4, "cpu")]


def test_an_optimizer_goes_on_where_its_weights_are(tmp_path: Path) -> None:
    arrays = {f"weights.{name}": torch.ones(2).numpy() for name in ("a.b", "c.d")}
    for name in ("exp_avg", "exp_avg_sq"):
        arrays[f"{name}.a.b"] = torch.ones(2).numpy()
    arrays["step.a.b"] = torch.tensor(7.0).numpy()
    module = torch.nn.Module()
    for key in ("a_b", "c_d"):
        module.register_parameter(key, torch.nn.Parameter(torch.zeros(2, device="meta")))
    optimizer = torch.optim.Adam(module.parameters())
    load_learner(arrays, tmp_path, module, optimizer)
    (state,) = optimizer.state.values()
    assert {name: value.device.type for name, value in state.items()} == {
        "step": "meta", "exp_avg": "meta", "exp_avg_sq": "meta"
    }  # fmt: skip


def test_a_device_that_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert cli.main(["train", "international", "--device", "cuda"]) == 2
    said = capsys.readouterr().err
    assert said == f"king: device: found 'cuda'; torch {torch.__version__} finds here: cpu\n"
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for name in ("cuda:2", "meta", "gpu", ""):
        with pytest.raises(RunError, match=r"finds here: cpu, cuda, cuda:0, cuda:1$"):
            find_device(name)


def test_a_device_that_cannot_be_used_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_kernel(*args: object, **options: object) -> torch.Tensor:
        raise RuntimeError("CUDA error: no kernel image\nmore lines")

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch, "ones", no_kernel)
    with pytest.raises(RunError, match=r"device 'cuda:0': .* cannot use it: CUDA .* image$"):
        find_device("cuda:0")


def test_a_device_without_room_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried\nmore lines")

    monkeypatch.setattr(loop._Learner, "iterate", full)
    with pytest.raises(
        RunError, match=r"^CUDA out of memory\. Tried; (start anew|go on with --resume .*)$"
    ):
        run_training(tiny(), tmp_path / "run", progress=False)


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_gpu_learns_as_the_cpu_does(tmp_path: Path, workers: int) -> None:
    config = dataclasses.replace(EVERYTHING, workers=workers)
    torch.cuda.reset_peak_memory_stats()
    runs = [
        run_training(config, tmp_path / device, progress=False, device=device)
        for device in ("cpu", "cuda")
    ]
    assert torch.cuda.max_memory_allocated() > 0
    ours, theirs = (read_metrics(run / "metrics.jsonl")[0] for run in runs)
    for name in ("clone_loss", "value_loss"):
        assert theirs[name] == pytest.approx(ours[name], rel=1e-3)


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_run_goes_on_with_another_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stopped(EVERYTHING, tmp_path / "run", 3)
    made = 0
    iterate = loop._Learner.iterate

    def one_more(self: Any, budget: Any) -> Any:
        nonlocal made
        made += 1
        if made > 1:
            raise Stop
        return iterate(self, budget)

    with monkeypatch.context() as patch:
        patch.setattr(loop._Learner, "iterate", one_more)
        with pytest.raises(Stop):
            run_training(EVERYTHING, run, resume=run, progress=False, device="cuda")
    run_training(EVERYTHING, run, resume=run, progress=False)
    numbers = [entry["iteration"] for entry in read_metrics(run / "metrics.jsonl")]
    assert numbers == list(range(1, len(numbers) + 1))
