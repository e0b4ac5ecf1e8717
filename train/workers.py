"""Processes that learn together: each plays and learns from its share, gradients are averaged.

Every process runs the same loop on its own deals and holds the same weights. With one process
nothing is sent. Sums over processes are made in a fixed order, so that runs with the same number of
processes give the same bits.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from torch import Tensor


class Channel:
    """What a process says to the others.

    Attributes:
        rank: number of this process; 0 leads.
        size: number of processes.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank = rank
        self.size = size

    def average(self, values: Tensor) -> None:
        """Replaces a tensor by its mean over the processes."""
        if self.size > 1:
            dist.all_reduce(values)
            values /= self.size

    def total(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Returns the sum of an array over the processes."""
        if self.size == 1:
            return values
        tensor = torch.from_numpy(np.array(values, dtype=np.float64))
        dist.all_reduce(tensor)
        return np.asarray(tensor.numpy())

    def from_leader(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Returns the array that process 0 passes in."""
        if self.size == 1:
            return values
        tensor = torch.from_numpy(np.array(values, dtype=np.float64))
        dist.broadcast(tensor, 0)
        return np.asarray(tensor.numpy())


def _join(store: str, rank: int, size: int) -> Channel:
    """Meets the other processes at a file."""
    if sys.platform == "linux":  # a host name that does not resolve would stop gloo
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    return Channel(rank, size)


def _work(store: str, rank: int, size: int, target: Callable[..., None], args: Any) -> None:
    """Runs in a worker process; ends quietly when the leader has gone."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the leader decides when to stop
    torch.set_num_threads(1)
    channel = _join(store, rank, size)
    try:
        target(channel, *args)
    except RuntimeError:
        if _has_leader():
            raise
        os._exit(1)
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _has_leader() -> bool:
    parent = multiprocessing.parent_process()
    return parent is not None and parent.is_alive()


@contextmanager
def workers(size: int, target: Callable[..., None], args: Any) -> Iterator[Channel]:
    """Starts ``size - 1`` processes that run ``target(channel, *args)``; gives our own channel.

    Processes are spawned, never forked: start them when the kernels have been compiled.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    if size == 1:
        try:
            yield Channel()
        finally:
            torch.set_num_threads(threads)
        return
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="king-train-") as folder:
        store = str(Path(folder) / "meeting")
        processes: list[BaseProcess] = [
            context.Process(target=_work, args=(store, rank, size, target, args), daemon=True)
            for rank in range(1, size)
        ]
        for process in processes:
            process.start()
        try:
            yield _join(store, 0, size)
            for process in processes:
                process.join(30)
        finally:
            for process in processes:
                if process.is_alive():
                    process.terminate()
                process.join(10)
            dist.destroy_process_group()
            torch.set_num_threads(threads)
