"""What decides a race: leads over the policy's own choice, shrunk and less their noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agents.search import race


def plain(function: Any) -> Any:
    """A helper of the kernels as a function of Python."""
    return getattr(function, "py_func", function)


def sums_of(leads: list[float], scores: tuple[float, float]) -> Any:
    """The sums of a favourite and of one action that leads it so in some worlds."""
    sums = np.zeros((2, race.NUM_SUMS))
    sums[:, race.SCORE] = scores
    for lead in leads:
        sums[:, race.VALUE] = (5.0, 5.0 + lead)
        plain(race.count_leads)(sums, 2)
    return sums


def lead(leads: list[float], scores: tuple[float, float], trust: float, caution: float) -> float:
    sums = sums_of(leads, scores)
    return float(plain(race.lead_of)(sums, 1, len(leads), trust, caution))


LEADS = [12.0, -3.0, 5.0, 0.0, 9.5]


def test_without_trust_and_caution_it_is_the_mean() -> None:
    assert lead(LEADS, (7.0, 1.0), 0, 0) == pytest.approx(np.mean(LEADS))


def test_caution_is_in_standard_errors_of_the_mean() -> None:
    error = np.std(LEADS, ddof=1) / np.sqrt(len(LEADS))
    assert lead(LEADS, (0.0, 0.0), 0, 1.5) == pytest.approx(np.mean(LEADS) - 1.5 * error)


def test_scores_count_as_so_many_worlds() -> None:
    expected = np.mean([*LEADS, -6.0, -6.0, -6.0])
    assert lead(LEADS, (7.0, 1.0), 3, 0) == pytest.approx(expected)
    # A score is never in an action's favour: then it counts as worlds without a lead.
    expected = np.mean([*LEADS, 0.0, 0.0, 0.0])
    assert lead(LEADS, (1.0, 7.0), 3, 0) == pytest.approx(expected)


def test_one_world_has_no_noise_that_could_be_known() -> None:
    assert lead([4.0], (0.0, 0.0), 0, 1) == pytest.approx(4.0)


@pytest.mark.parametrize("size", [2, 3, 7, 14])
@pytest.mark.parametrize("worlds", [1, 20, 80])
def test_a_race_spends_what_it_has(size: int, worlds: int) -> None:
    """W worlds for each action on average, and the last two meet the most."""
    alive, done, spent = size, 0, 0
    spend = worlds * size
    while spend >= alive:
        now = plain(race.next_worlds)(spend, alive)
        done, spent, spend = done + now, spent + now * alive, spend - now * alive
        alive = (alive + 1) // 2 if alive > 2 else alive
    assert spend < alive and spent <= worlds * size
    assert worlds <= done
