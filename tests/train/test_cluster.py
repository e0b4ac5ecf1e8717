"""Training with actors: the same run whoever plays, lost actors, and what is said.

The slow tests need Ray and start it on this machine: two of its nodes, no dashboard, no statistics.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from king_env.view import legal_ids
from train import cli, loop
from train.checkpoint import RunError
from train.cluster import FINGERPRINT, LOSSES, REQUIREMENT, Cluster, Setup
from train.config import NetworkConfig, TableConfig, load_config, to_toml
from train.loop import run_training
from train.player import Part
from train.rollout import Opponent

from .helpers import ROOT, digest, tiny

PARTS = [Part(1, number, 1, 0, 0, cloning=True) for number in range(3)]


# ---------------------------------------------------------------- without Ray


class _RayError(Exception):
    pass


class _RayTaskError(_RayError):
    cause = ValueError("bad\nin some way")


class _Task:
    def __init__(self, method: str, arguments: tuple[Any, ...]) -> None:
        self.method = method
        self.arguments = arguments


class FakeRay:
    """Ray in one process: a task is done when it is waited for.

    Args:
        set_up: what set-ups give, one after another, or an error; good ones when it has run out.
        play: likewise what parts give; the number of the part when it has run out.
    """

    exceptions = SimpleNamespace(RayError=_RayError, RayTaskError=_RayTaskError)

    def __init__(self, set_up: Sequence[Any] = (), play: Sequence[Any] = ()) -> None:
        self.script = {"set_up": list(set_up), "play": list(play)}
        self.cores = 2
        self.started = 0
        self.killed = 0

    def put(self, value: object) -> object:
        return value

    def remote(self, **options: object) -> Any:
        assert options == {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0}
        return lambda kind: SimpleNamespace(remote=self.start)

    def start(self) -> Any:
        self.started += 1

        def method(name: str) -> Any:
            return SimpleNamespace(remote=lambda *arguments: _Task(name, arguments))

        return SimpleNamespace(set_up=method("set_up"), play=method("play"))

    def wait(self, tasks: list[Any], num_returns: int, timeout: float) -> tuple[list[Any], Any]:
        return tasks[:num_returns], tasks[num_returns:]

    def get(self, task: _Task) -> Any:
        script = self.script[task.method]
        answer = script.pop(0) if script else None
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            return answer
        return FINGERPRINT if task.method == "set_up" else task.arguments[1].number

    def kill(self, handle: object) -> None:
        self.killed += 1

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": float(self.cores)}

    def nodes(self) -> list[dict[str, bool]]:
        return [{"Alive": True}, {"Alive": False}]


def make_cluster(ray: FakeRay, wanted: int | None = None) -> tuple[Cluster, list[str]]:
    setup = Setup(tiny(shards=3), (), Opponent(), np.zeros(0, dtype=np.int64))
    lines: list[str] = []
    return Cluster(ray, setup, wanted, lines.append), lines


def test_parts_come_back_in_order_and_lost_ones_are_played_again() -> None:
    gone = _RayError("the actor died\nfor some reason")
    ray = FakeRay(play=[None, gone, None, gone])
    cluster, lines = make_cluster(ray)
    assert lines == ["ray: 2 actors on 1 machine"]
    assert cluster.play({}, PARTS) == [0, 1, 2]  # type: ignore[comparison-overlap]
    assert not ray.script["play"] and ray.started == 4 and ray.killed == 2
    assert (
        lines[1:]
        == ["ray: an actor was lost, another is started, no decision is lost (the actor died)"] * 2
    )


def test_machines_that_join_are_used_as_far_as_there_are_parts() -> None:
    ray = FakeRay()
    cluster, _ = make_cluster(ray)
    assert ray.started == 2
    ray.cores = 10
    cluster.play({}, PARTS)
    assert ray.started == 3


def test_actors_that_cannot_work_end_the_run() -> None:
    with pytest.raises(RunError, match=f"the start of an actor failed {LOSSES} times: no module"):
        make_cluster(FakeRay(set_up=[_RayError("no module")] * LOSSES), 1)
    cluster, _ = make_cluster(FakeRay(play=[_RayError("killed")] * LOSSES), 1)
    with pytest.raises(RunError, match=f"part 0 failed {LOSSES} times: killed"):
        cluster.play({}, PARTS)
    cluster, _ = make_cluster(FakeRay(play=[_RayTaskError("Traceback")]), 1)
    with pytest.raises(RunError, match=r"an actor has failed: ValueError: bad$"):
        cluster.play({}, PARTS)


def test_an_agent_that_cannot_be_sent_is_refused() -> None:
    setup = Setup(tiny(), (), Opponent(agent=lambda: None), np.zeros(0))  # type: ignore[arg-type]
    with pytest.raises(RunError, match=r"tables\.against: .* cannot be sent to actors"):
        Cluster(FakeRay(), setup, 1, print)


def test_another_version_on_a_machine_is_refused() -> None:
    there = FINGERPRINT | {"numpy": "1.0"}
    with pytest.raises(RunError, match=r"^ray: numpy: a machine of the cluster has 1\.0, this"):
        make_cluster(FakeRay(set_up=[there]), 1)


def test_without_ray_one_line_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["train", "international", "--ray"]) == 2
    message = capsys.readouterr().err
    assert message == f'king: --ray: Ray is not installed: pip install "{REQUIREMENT}"\n'
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["ray"] == [REQUIREMENT]
    assert not list(tmp_path.iterdir())


def test_a_host_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert cli.main(["train", "international", "--ray", f"127.0.0.1:{port}"]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"king: ray '127.0.0.1:{port}': no answer: ")
    assert message.count("\n") == 1 and not list(tmp_path.iterdir())


def test_runs_with_actors_that_cannot_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "find_ray", lambda address: None)
    out = tmp_path / "run"
    with pytest.raises(RunError, match="actors: found 5; allowed: 1 to 4, the shards"):
        run_training(tiny(shards=4), out, ray="local", actors=5, progress=False)
    with pytest.raises(RunError, match="actors: only with ray"):
        run_training(tiny(shards=4), out, actors=2, progress=False)
    assert not out.exists()
    run_training(tiny(total_decisions=1), out, progress=False)
    (out / "config.toml").write_text(to_toml(tiny(workers=2)))
    with pytest.raises(RunError, match="2 processes learn, and with ray only one can"):
        run_training(tiny(), out, resume=out, ray="local", progress=False)


# ---------------------------------------------------------------- with Ray


class Dying:
    """An agent that plays its first legal action, and once kills the process it is in.

    Args:
        folder: each process that receives the agent leaves a file there; one that finds ``now``
            takes that away and dies.
    """

    name = "dying"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = folder / "now"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        (self.folder / str(os.getpid())).write_text("")

    def act(self, view: Any, rng: Any) -> int:
        raise NotImplementedError

    def act_batch(self, views: Any, tables: Any, keys: Any) -> Any:
        if self.mark.exists():
            with suppress(FileNotFoundError):  # another process was quicker
                self.mark.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        return np.array([legal_ids(view.deal.legal)[0] for view in views])


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A cluster of two nodes on this machine, one core each."""
    pytest.importorskip("ray", reason="ray is not installed")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster as Nodes

    settings = {"num_cpus": 1, "object_store_memory": 100 << 20}
    with tempfile.TemporaryDirectory(prefix="king-ray-", ignore_cleanup_errors=True) as folder:
        head = {**settings, "include_dashboard": False, "temp_dir": folder}
        cluster = Nodes(initialize_head=True, head_node_args=head)
        try:
            cluster.add_node(**settings)
            cluster.settings = settings
            yield cluster
        finally:
            cluster.shutdown()


@pytest.mark.slow
def test_two_nodes_train_as_one_process_does(
    nodes: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = tiny(shards=4)
    alone = run_training(config, tmp_path / "alone", progress=False)
    runs = [
        run_training(config, tmp_path / f"{actors}", ray=nodes.address, actors=actors)
        for actors in (1, None)
    ]
    said = capfd.readouterr().err
    assert "ray: 1 actor on 2 machines" in said and "ray: 2 actors on 2 machines" in said
    assert [digest(run) for run in runs] == [digest(alone)] * 2
    assert load_config(runs[0] / "config.toml") == config


@pytest.mark.slow
def test_earlier_selves_and_hidden_hands_travel(nodes: Any, tmp_path: Path) -> None:
    config = tiny(
        shards=3,
        total_decisions=24_000,
        tables=TableConfig(snapshot_share=0.4, pool_size=2),
        network=NetworkConfig(width=32, privileged=True),
    )
    alone = run_training(config, tmp_path / "alone", progress=False)
    run = run_training(config, tmp_path / "run", ray=nodes.address, progress=False)
    assert len(json.loads((run / "latest.json").read_text())["pool"]) == 2
    assert digest(run) == digest(alone)


@pytest.mark.slow
def test_lost_actors_change_nothing(
    nodes: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process is killed in the middle of a part, then a whole node goes and another comes."""
    config = tiny(shards=4, total_decisions=24_000)
    folder = tmp_path / "processes"
    folder.mkdir()
    agent = Dying(folder)
    opponent = Opponent(0, agent)
    monkeypatch.setattr(loop, "make_opponent", lambda *names: opponent)
    alone = run_training(config, tmp_path / "alone", progress=False)
    done: list[str] = []

    def disturb(checkpoint: Path) -> Mapping[str, float]:
        if not done:
            agent.mark.write_text("")
        elif len(done) == 1:
            assert not agent.mark.exists()
            deadline = time.monotonic() + 120
            while len(list(folder.iterdir())) < 3:  # until both nodes have an actor again
                assert time.monotonic() < deadline
                time.sleep(0.1)
            nodes.remove_node(nodes.list_all_nodes()[-1], allow_graceful=False)
        elif len(done) == 2:
            nodes.add_node(**nodes.settings)
        done.append(checkpoint.stem)
        return {"rule": 0.0}

    output = dataclasses.replace(config.output, eval_every_decisions=1)
    often = dataclasses.replace(config, output=output)
    run = run_training(often, tmp_path / "run", evaluate=disturb, ray=nodes.address)
    said = capfd.readouterr().err
    assert len(done) > 4
    # Ray may put the next actor on the node that it has not yet found to be gone.
    assert said.count("an actor was lost, another is started, no decision is lost") >= 2
    assert digest(run) == digest(alone)


@pytest.mark.slow
def test_the_command_stops_and_goes_on(tmp_path: Path) -> None:
    """Ray on this machine for the run alone: Ctrl-C, then --resume; nothing of it is left."""
    pytest.importorskip("ray", reason="ray is not installed")
    config = tiny(shards=4, total_decisions=60_000)
    alone = run_training(config, tmp_path / "alone", progress=False)
    (tmp_path / "run.toml").write_text(to_toml(config))
    command = [sys.executable, "-m", "train.cli", "train"]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    settings: dict[str, Any] = {
        "cwd": tmp_path,
        "env": {**os.environ, "PYTHONPATH": path},
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
        "text": True,
        "start_new_session": True,
    }
    arguments = ["run.toml", "--out", "run", "--ray", "local", "--actors", "2"]
    process = subprocess.Popen([*command, *arguments], **settings)
    deadline = time.monotonic() + 300
    pointer = tmp_path / "run" / "latest.json"
    while time.monotonic() < deadline and process.poll() is None:
        if pointer.is_file() and json.loads(pointer.read_text())["iteration"] >= 4:
            break
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: every process gets it
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert re.search("stopped: run; go on with --resume run", said), said
    assert "lost" not in said
    assert json.loads(pointer.read_text())["decisions"] < 60_000
    again = subprocess.run([*command, "--resume", "run", "--ray"], timeout=600, **settings)
    assert again.returncode == 0, again.stdout
    assert digest(tmp_path / "run") == digest(alone)
