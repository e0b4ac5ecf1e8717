"""Many machines with Ray: actors play the parts of an iteration, one process learns.

The weights go out once an iteration through Ray's object store, decisions come back. Parts are
handed to whichever actor is free; a part gives the same decisions wherever it is played, so an
actor that is lost costs time only: its part is played again, and another actor is started.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from agents.neural.network import ActorCritic
from king_env.policy import BatchPolicy
from king_env.rules.catalogue import Variant
from train.checkpoint import RunError, first_line, package_versions
from train.config import TrainConfig
from train.player import Part, Player
from train.rollout import Decisions, Opponent

REQUIREMENT: Final = "ray>=2.60,<3"
"""What the extra ``ray`` of the package asks for."""
LOCAL: Final = "local"
"""The address that starts Ray on this machine, for this run alone."""
STORE_BYTES: Final = 512 << 20
"""Object store of a Ray that we start: room for the decisions of an iteration."""
ANSWER_S: Final = 10.0
"""Seconds to wait for the host of a cluster."""
START_S: Final = 60.0
"""Seconds to wait for all actors before the run begins with those that have started."""
REMIND_S: Final = 30.0
"""Seconds between lines that say that no actor can be had."""
LOSSES: Final = 5
"""Actors lost in a row, over one part or before any has started, that end the run."""


def _fingerprint() -> dict[str, str]:
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for package in ("agents", "king_env", "train"):
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return {**package_versions(), "sources": digest.hexdigest()[:16]}


FINGERPRINT: Final = _fingerprint()
"""Versions of what decides how a part is played, our own sources included, as this process was
started: an edit on the way does not count."""

Say = Callable[[str], object]
"""Is told, a line at a time, what happens to actors."""


@dataclass(frozen=True)
class Setup:
    """What an actor needs once.

    Attributes:
        config: the run.
        variants: its variants; another machine need not have a user's files.
        opponent: who sits in the other seats of mixed tables.
        columns: `[C]` int64, the features that the network uses.
    """

    config: TrainConfig
    variants: Sequence[Variant]
    opponent: Opponent
    columns: npt.NDArray[np.int64]


class Actor:
    """Plays parts in a process of its own, on some machine of the cluster."""

    def set_up(self, pickled: bytes) -> dict[str, str]:
        """Makes the player of a ``Setup``; returns what must be the same on every machine."""
        torch.set_num_threads(1)
        setup: Setup = pickle.loads(pickled)
        network = setup.config.network
        self.network = ActorCritic(setup.columns, network.width, rule_prior=network.rule_prior)
        self.snapshots: dict[int, BatchPolicy] = {}
        self.player = Player(setup.config, setup.variants, setup.opponent, self.network)
        return FINGERPRINT

    def play(
        self, tensors: Mapping[str, npt.NDArray[np.float32]], part: Part, *snapshots: bytes
    ) -> Decisions:
        """Plays a part with the weights given, by their names in a checkpoint.

        Args:
            tensors: the weights.
            part: the part.
            snapshots: those that the part names.
        """
        self.network.load_tensors(tensors)
        known = self.snapshots
        self.snapshots = {
            number: known.get(number) or pickle.loads(pickled)
            for number, pickled in zip(part.snapshots, snapshots, strict=True)
        }
        return self.player.play(part, tuple(self.snapshots.values()))


@dataclass
class _Member:
    """An actor as the learner sees it.

    Attributes:
        handle: Ray's handle.
        task: what it is doing, or None: it waits for a part.
        part: place of the part that it plays; -1 while it is being set up.
    """

    handle: Any
    task: Any
    part: int = -1


class Cluster:
    """The actors of a run.

    Args:
        ray: the module, connected.
        setup: what actors need.
        wanted: number of actors; None: one a core of the cluster, machines that join included, as
            far as there are parts.
        say: is told when actors come and go.
    """

    def __init__(self, ray: Any, setup: Setup, wanted: int | None, say: Say) -> None:
        self._ray = ray
        try:
            # Arrays that lie in Ray's store are read-only, which an agent's kernels need not bear.
            self._setup = ray.put(pickle.dumps(setup))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            name = setup.config.tables.against
            raise RunError(
                f"tables.against: agent {name!r} cannot be sent to actors: {first_line(error)}"
            ) from None
        self._wanted = wanted
        self._most = setup.config.shards
        self._say = say
        self._kind = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Actor)
        self._members: list[_Member] = []
        self._failures = 0  # in a row, of actors that were being set up
        self._snapshots: dict[int, Any] = {}  # in Ray's store, by iteration
        self._lost: dict[int, int] = {}  # by part, in this iteration
        self._start()

    # -------------------------------------------------- actors come and go

    def _start(self) -> None:
        """Waits for the actors; after a time for the first only."""
        self._recruit()
        start = time.monotonic()
        while self._starting():
            late = time.monotonic() - start > START_S
            if late and any(member.task is None for member in self._members):
                break
            self._wait(REMIND_S if late else START_S - (time.monotonic() - start))
        missing = self._starting()
        count = len(self._members) - missing
        nodes = sum(bool(node["Alive"]) for node in self._ray.nodes())
        later = f"; {missing} more join when there are free cores" if missing else ""
        self._say(f"ray: {_count(count, 'actor')} on {_count(nodes, 'machine')}{later}")

    def _starting(self) -> int:
        """Returns how many actors are being set up."""
        return sum(member.part < 0 for member in self._members)

    def _recruit(self) -> None:
        """Asks for the actors that are missing."""
        wanted = self._wanted
        if wanted is None:
            cores = int(self._ray.cluster_resources().get("CPU", 0))
            wanted = min(self._most, max(1, cores))
        while len(self._members) < wanted:
            handle = self._kind.remote()
            self._members.append(_Member(handle, handle.set_up.remote(self._setup)))

    def _wait(self, timeout_s: float) -> tuple[int, Decisions] | None:
        """Waits until an actor has done something.

        Returns:
            the place of a part and its decisions, or None: it was something else, or nothing.

        Raises:
            RunError: if actors cannot do their work.
        """
        tasks = {member.task: member for member in self._members if member.task is not None}
        done, _ = self._ray.wait(list(tasks), num_returns=1, timeout=max(0.1, timeout_s))
        if not done:
            if all(member.part < 0 for member in self._members):
                self._say("ray: no actor can be had; waiting for a free core")
            return None
        member = tasks[done[0]]
        errors = self._ray.exceptions
        try:
            result = self._ray.get(done[0])
        except errors.RayTaskError as error:
            cause = getattr(error, "cause", None) or error
            reason = f"{type(cause).__name__}: {first_line(cause)}"
            raise RunError(f"ray: an actor has failed: {reason}") from None
        except errors.RayError as error:
            self._replace(member, first_line(error))
            return None
        place, member.task = member.part, None
        if place >= 0:
            return place, result
        self._failures = 0
        member.part = 0
        for name, found in result.items():
            if found != FINGERPRINT[name]:
                raise RunError(
                    f"ray: {name}: a machine of the cluster has {found}, this one has "
                    f"{FINGERPRINT[name]}; install the same everywhere"
                )
        return None

    def _replace(self, member: _Member, reason: str) -> None:
        """Strikes an actor off that was lost and asks for another."""
        self._members.remove(member)
        self._ray.kill(member.handle)  # it may be out of reach only
        if member.part < 0:
            self._failures += 1
            losses = self._failures
        else:
            self._lost[member.part] = losses = self._lost.get(member.part, 0) + 1
        if losses >= LOSSES:
            what = "the start of an actor" if member.part < 0 else f"part {member.part}"
            raise RunError(f"ray: {what} failed {losses} times: {reason}")
        self._say(f"ray: an actor was lost, another is started, no decision is lost ({reason})")
        self._recruit()

    # -------------------------------------------------- an iteration

    def play(
        self,
        tensors: Mapping[str, npt.NDArray[np.float32]],
        parts: Sequence[Part],
        snapshots: Mapping[int, BatchPolicy] = {},
    ) -> list[Decisions]:
        """Has parts played with weights; returns their decisions in the order of the parts.

        Args:
            tensors: the weights, by their names in a checkpoint.
            parts: the parts.
            snapshots: those that the parts name, by the iteration they were taken at.

        Raises:
            RunError: if actors cannot do their work.
        """
        weights = self._ray.put(dict(tensors))
        known = self._snapshots
        self._snapshots = {
            number: known.get(number) or self._ray.put(pickle.dumps(snapshot))
            for number, snapshot in snapshots.items()
        }
        earlier = list(self._snapshots.values())
        made: dict[int, Decisions] = {}
        self._lost = {}
        self._recruit()
        while len(made) < len(parts):
            busy = {m.part for m in self._members if m.task is not None}
            todo = [place for place in range(len(parts)) if place not in made.keys() | busy]
            idle = [member for member in self._members if member.task is None]
            for member, place in zip(idle, todo, strict=False):
                member.part = place
                member.task = member.handle.play.remote(weights, parts[place], *earlier)
            result = self._wait(REMIND_S)
            if result is not None:
                made[result[0]] = result[1]
        return [made[place] for place in range(len(parts))]


@contextmanager
def cluster(address: str, actors: int | None, setup: Setup, say: Say) -> Iterator[Cluster]:
    """Connects to a Ray cluster, or starts one on this machine, and gives its actors.

    Args:
        address: ``local``, ``auto`` (the cluster that this machine is in) or ``HOST:PORT``.
        actors: see ``Cluster``.
        setup: what actors need.
        say: is told when actors come and go.

    Raises:
        RunError: if there is no such cluster, or its actors cannot work.
    """
    ray = find_ray(address)
    # A socket's path has a narrow bound, which the temporary folder of some systems would break.
    folder = tempfile.mkdtemp(prefix="king-ray-", dir="/tmp" if os.path.isdir("/tmp") else None)
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == LOCAL:
        settings |= {
            "num_cpus": max(actors or 1, os.cpu_count() or 1),
            "include_dashboard": False,
            "object_store_memory": STORE_BYTES,
            "_temp_dir": folder,
        }
    try:
        try:
            ray.init(address=address, **settings)
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise RunError(
                f"ray {address!r}: {first_line(error)}; allowed: {LOCAL}, auto, or HOST:PORT of "
                "a cluster that this machine is in"
            ) from None
        yield Cluster(ray, setup, actors, say)
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def find_ray(address: str) -> Any:
    """Returns the module of Ray.

    Args:
        address: see ``cluster``; where it names a host, that must answer.

    Raises:
        RunError: if Ray is not installed, or there is no answer.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ModuleNotFoundError:
        raise RunError(f'--ray: Ray is not installed: pip install "{REQUIREMENT}"') from None
    host, _, port = address.rpartition(":")
    if port.isdecimal():  # Ray itself would try for minutes
        try:
            socket.create_connection((host.strip("[]"), int(port)), ANSWER_S).close()
        except (OSError, OverflowError) as error:
            raise RunError(f"ray {address!r}: no answer: {first_line(error)}") from None
    return ray


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
