"""Sums over processes that learn together."""

import numpy as np
import pytest
import torch

from train.workers import Channel, ProcessGone, workers

SIZE = 3
LENGTH = 1000


def values_of(rank: int, number: int) -> np.ndarray:
    return np.random.default_rng([rank, number]).standard_normal(LENGTH)


def take_part(channel: Channel, rounds: int) -> None:
    for number in range(rounds):
        channel.total(values_of(channel.rank, number))
        channel.average(torch.from_numpy(values_of(channel.rank, number).astype(np.float32)))
        channel.from_leader(np.zeros(3))


@pytest.mark.parametrize("room", [1 << 16, 1001])
def test_sums_are_the_same_bits_in_any_room(room):
    rounds = 50
    with workers(SIZE, take_part, (rounds,), room=room) as channel:
        for number in range(rounds):
            expected = values_of(0, number) + values_of(1, number) + values_of(2, number)
            assert (channel.total(values_of(0, number)) == expected).all()
            mean = torch.from_numpy(values_of(0, number).astype(np.float32))
            channel.average(mean)
            parts = [values_of(rank, number).astype(np.float32) for rank in range(SIZE)]
            assert (mean.numpy() == (parts[0] + parts[1] + parts[2]) / np.float32(SIZE)).all()
            assert channel.from_leader(np.array([1.0, -2.0, 0.5])).tolist() == [1, -2, 0.5]


def test_a_process_that_ends_early_is_named():
    with (
        pytest.raises(ProcessGone, match=r"process [12] of 3 has ended"),
        workers(SIZE, take_part, (1,)) as channel,
    ):
        take_part(channel, 2)


def test_one_process_says_nothing():
    with workers(1, take_part, (1,)) as channel:
        values = np.arange(3.0)
        assert channel.total(values) is values
        assert channel.from_leader(values) is values
