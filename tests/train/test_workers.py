"""Sums over processes that learn together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import torch

from train.workers import Channel, ProcessGone, workers

SIZE = 3
LENGTH = 1000
LAST = [1.0, -2.0, 0.5]


def values_of(rank: int, number: int) -> npt.NDArray[np.float64]:
    return np.random.default_rng([rank, number]).standard_normal(LENGTH)


def take_part(channel: Channel, rounds: int) -> None:
    """What every process does; one that finds anything wrong ends, which the others are told."""
    for number in range(rounds):
        parts = [values_of(rank, number) for rank in range(SIZE)]
        own = parts[channel.rank]
        assert (channel.total(own) == parts[0] + parts[1] + parts[2]).all()
        mean = torch.from_numpy(own.astype(np.float32))
        channel.average(mean)
        single = [part.astype(np.float32) for part in parts]
        assert (mean.numpy() == (single[0] + single[1] + single[2]) / np.float32(SIZE)).all()
        said = np.array(LAST) if channel.rank == 0 else np.full(3, 7.0)
        assert channel.from_leader(said).tolist() == LAST
    channel.total(np.zeros(1))  # until here nothing was wrong anywhere


@pytest.mark.parametrize("room_bytes", [1 << 16, 1001])
def test_sums_are_the_same_bits_in_all_processes_and_any_room(room_bytes: int) -> None:
    with workers(SIZE, take_part, (50,), room_bytes=room_bytes) as channel:
        take_part(channel, 50)


def take_a_sum(channel: Channel) -> None:
    channel.total(np.zeros(1))


def test_a_process_that_ends_early_is_named() -> None:
    with (
        pytest.raises(ProcessGone, match=r"learning process 1 \(0 leads, 3 in all\) has ended"),
        workers(SIZE, take_a_sum, ()) as channel,
    ):
        for _ in range(2):
            channel.total(np.zeros(1))


def test_one_process_says_nothing() -> None:
    with workers(1, take_part, (1,)) as channel:
        values = np.arange(3.0)
        assert channel.total(values) is values
        assert channel.from_leader(values) is values
