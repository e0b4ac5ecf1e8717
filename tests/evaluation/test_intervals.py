from __future__ import annotations

import math

import numpy as np
import pytest

from train.evaluation.intervals import estimate, holm, t_cdf, t_quantile

# Student's t, upper 2.5 % points, from the usual table.
TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 10: 2.228, 29: 2.045, 120: 1.980}


@pytest.mark.parametrize(("degrees", "quantile"), TABLE.items())
def test_t_quantile_agrees_with_the_table(degrees: int, quantile: float) -> None:
    assert t_quantile(0.975, degrees) == pytest.approx(quantile, abs=6e-4)
    assert t_quantile(0.025, degrees) == pytest.approx(-quantile, abs=6e-4)


def test_t_cdf_has_closed_forms_for_one_and_two_degrees() -> None:
    for t in (-3.0, -0.5, 0.0, 0.1, 2.0):
        assert t_cdf(t, 1) == pytest.approx(0.5 + math.atan(t) / math.pi)
        assert t_cdf(t, 2) == pytest.approx(0.5 + t / (2 * math.sqrt(2 + t * t)))
    assert t_cdf(math.inf, 5) == 1 and t_cdf(-math.inf, 5) == 0


def test_t_quantile_inverts_the_distribution() -> None:
    for degrees in (1, 2, 7, 50, 198):
        for probability in (0.001, 0.3, 0.5, 0.9, 0.9995):
            found = t_cdf(t_quantile(probability, degrees), degrees)
            assert found == pytest.approx(probability, abs=1e-9)
    with pytest.raises(ValueError, match="probability"):
        t_quantile(1.0, 3)


def test_estimate_worked_by_hand() -> None:
    # 1 2 3 6: mean 3, squares of the differences 4 + 1 + 0 + 9 = 14, variance 14 / 3,
    # standard error sqrt(14 / 3 / 4) = 1.0801, t(3) = 3.1824.
    found = estimate([1.0, 2.0, 3.0, 6.0])
    assert found.mean == 3 and found.count == 4
    assert found.half_width == pytest.approx(3.1824 * math.sqrt(14 / 12), abs=1e-3)
    assert found.low == pytest.approx(3 - found.half_width)
    # t = 3 / 1.0801 = 2.7775 with 3 degrees of freedom: between 0.05 and 0.10 two-sided.
    assert 0.05 < found.p_value < 0.10


def test_estimate_uses_the_normal_quantile_from_200_on() -> None:
    values = np.tile([0.0, 2.0], 100)
    error = values.std(ddof=1) / math.sqrt(200)
    assert estimate(values).half_width == pytest.approx(1.959964 * error, rel=1e-6)
    assert estimate(values[:198]).half_width > 1.97 * values[:198].std(ddof=1) / math.sqrt(198)


def test_estimate_of_few_or_equal_values() -> None:
    assert estimate([]).count == 0 and math.isnan(estimate([]).mean)
    one = estimate([4.0])
    assert one.mean == 4 and one.low == -math.inf and one.high == math.inf and one.p_value == 1
    zero, two = estimate([0.0] * 5), estimate([2.0] * 5)
    assert (zero.low, zero.high, zero.p_value) == (0, 0, 1)
    assert (two.low, two.high, two.p_value) == (2, 2, 0)


def test_the_interval_covers_the_truth_95_times_of_100() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(2000):
        found = estimate(rng.normal(1.0, 3.0, 8))
        covered += found.low <= 1.0 <= found.high
    assert 0.935 < covered / 2000 < 0.965


def test_holm_worked_by_hand() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04 against 0.0125, 0.01667, 0.025, 0.05: it stops at the third.
    assert holm([0.01, 0.04, 0.03, 0.005]) == [True, False, False, True]
    assert holm([0.04]) == [True]
    assert holm([0.04, 0.9]) == [False, False]
    assert holm([]) == []
