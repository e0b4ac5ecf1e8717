"""Processes that learn together: each plays and learns from its share, gradients are averaged.

Every process runs the same loop on its own deals and holds the same weights. With one process
nothing is sent. Sums over processes are made in a fixed order, so that runs with the same number of
processes give the same bits.

Numbers lie in memory that all processes share; a byte in a pipe to or from process 0 tells when
they are there. Nothing but that byte is sent, as a step takes but a few milliseconds.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

ROOM_BYTES: Final = 1 << 22
"""What a process can say at once; what is longer is said in parts."""
READY: Final = b"."


class ProcessGone(RuntimeError):
    """Another process has ended before its time."""


class Channel:
    """What a process says to the others.

    Args:
        rank: number of this process; 0 leads.
        size: number of processes.
        rows: `[size + 1, B]` uint8 in shared memory: a row for each process, one for their sum.
        ends: of process 0 the pipes to the others, in order of rank; of those the pipe to it.
    """

    def __init__(
        self,
        rank: int = 0,
        size: int = 1,
        rows: npt.NDArray[np.uint8] | None = None,
        ends: Sequence[Connection] = (),
    ) -> None:
        self.rank = rank
        self.size = size
        self._rows = np.empty((size + 1, 0), dtype=np.uint8) if rows is None else rows
        self._ends = ends

    def average(self, values: Tensor) -> None:
        """Replaces a flat tensor on the CPU by its mean over the processes.

        Raises:
            ProcessGone: if another process has ended.
        """
        if self.size > 1:
            self._add_up(values.numpy())
            values /= self.size

    def total(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Returns the sum of a flat array over the processes.

        Raises:
            ProcessGone: if another process has ended.
        """
        if self.size == 1:
            return values
        out = np.array(values, dtype=np.float64)
        self._add_up(out)
        return out

    def from_leader(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Returns the flat array that process 0 passes in.

        Raises:
            ProcessGone: if another process has ended.
        """
        return self.total(values if self.rank == 0 else np.zeros_like(values))

    def _add_up(self, values: npt.NDArray[Any]) -> None:
        """Replaces a flat array by its sum over the processes."""
        num_bytes = self._rows.shape[1] // values.itemsize * values.itemsize
        rows = self._rows[:, :num_bytes].view(values.dtype)
        for start in range(0, len(values), rows.shape[1]):
            part = values[start : start + rows.shape[1]]
            places = rows[:, : len(part)]
            places[self.rank] = part
            # The sum has a row of its own: when all are ready, all have read the one before.
            if self.rank == 0:
                self._hear()
                np.add(places[0], places[1], out=places[-1])
                for row in places[2:-1]:
                    np.add(places[-1], row, out=places[-1])
                self._tell()
            else:
                self._tell()
                self._hear()
            part[:] = places[-1]

    def _tell(self) -> None:
        """Says to those at the other ends that numbers are there."""
        for end in self._ends:
            try:
                end.send_bytes(READY)
            except OSError:
                raise self._gone(end) from None

    def _hear(self) -> None:
        """Waits until those at the other ends have said so."""
        for end in self._ends:
            try:
                end.recv_bytes()
            except (EOFError, OSError):
                raise self._gone(end) from None

    def _gone(self, end: Connection) -> ProcessGone:
        rank = self._ends.index(end) + 1 if self.rank == 0 else 0
        return ProcessGone(f"learning process {rank} (0 leads, {self.size} in all) has ended")


def _work(
    memory: Any, end: Connection, rank: int, size: int, target: Callable[..., None], args: Any
) -> None:
    """Runs in a worker process; ends quietly when the leader has gone."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the leader decides when to stop
    torch.set_num_threads(1)
    try:
        channel = Channel(rank, size, _rows(memory, size), [end])
        channel._tell()
        target(channel, *args)
    except ProcessGone:
        pass


def _rows(memory: Any, size: int) -> npt.NDArray[np.uint8]:
    """Returns shared memory as a ``Channel`` wants it."""
    return np.frombuffer(memory, dtype=np.uint8).reshape(size + 1, -1)


@contextmanager
def workers(
    size: int, target: Callable[..., None], args: Any, room_bytes: int = ROOM_BYTES
) -> Iterator[Channel]:
    """Starts ``size - 1`` processes that run ``target(channel, *args)``; gives our own channel.

    It waits until all have started: from then on they ignore Ctrl-C. Processes are spawned, never
    forked: start them when the kernels have been compiled.

    Args:
        size: number of processes, this one included.
        target: what the others run.
        args: arguments after the channel; pickled.
        room_bytes: what is sent at once, 8 or more.

    Raises:
        ProcessGone: if a process cannot start.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    processes: list[BaseProcess] = []
    ends: list[Connection] = []
    try:
        if size == 1:
            yield Channel()
            return
        context = multiprocessing.get_context("spawn")
        memory = context.RawArray("B", (size + 1) * room_bytes)
        for rank in range(1, size):
            own, other = context.Pipe()
            arguments = (memory, other, rank, size, target, args)
            processes.append(context.Process(target=_work, args=arguments, daemon=True))
            ends.append(own)
            processes[-1].start()
            other.close()  # held open here, it would hide that the process has ended
        channel = Channel(0, size, _rows(memory, size), ends)
        channel._hear()
        yield channel
        for process in processes:
            process.join(30)
    finally:
        for process in processes:
            if process.is_alive():
                process.terminate()
                process.join(10)
        torch.set_num_threads(threads)
