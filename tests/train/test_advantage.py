from __future__ import annotations

import numpy as np
import pytest

from train.advantage import gae

f32 = np.float32


def test_two_seats_worked_by_hand() -> None:
    # Decisions 0, 2, 3 belong to one seat, 1 and 4 to another. lambda = 0.5, gamma = 1.
    reward = np.array([1, 0, -2, 3, 4], dtype=f32)
    value = np.array([0.5, 1, 2, -1, 0.25], dtype=f32)
    following = np.array([2, 4, 3, -1, -1], dtype=np.int32)
    # Seat a: delta_3 = 3 + 1 = 4; delta_2 = -2 - 1 - 2 = -5; delta_0 = 1 + 2 - 0.5 = 2.5.
    #         A_3 = 4; A_2 = -5 + 0.5 * 4 = -3; A_0 = 2.5 + 0.5 * -3 = 1.
    # Seat b: delta_4 = 4 - 0.25 = 3.75; delta_1 = 0 + 0.25 - 1 = -0.75.
    #         A_4 = 3.75; A_1 = -0.75 + 0.5 * 3.75 = 1.125.
    expected = [1, 1.125, -3, 4, 3.75]
    assert gae(reward, value, following, 0.5).tolist() == pytest.approx(expected)


def test_lambda_one_gives_the_whole_return_and_lambda_zero_one_step() -> None:
    reward = np.array([1, 2, 3], dtype=f32)
    value = np.array([10, 20, 30], dtype=f32)
    following = np.array([1, 2, -1], dtype=np.int32)
    assert (gae(reward, value, following, 1.0) + value).tolist() == [6, 5, 3]
    assert gae(reward, value, following, 0.0).tolist() == [1 + 20 - 10, 2 + 30 - 20, 3 - 30]
