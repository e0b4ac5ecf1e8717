"""Whatever is drawn - variant, options, deals, actions - engine and twin say the same.

Unlike `test_twin.py` this shrinks: a difference comes with the fewest options and the shortest run
of actions that hypothesis found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from tests.naive import OPTIONS, SYSTEMS
from tests.rules.twins import VARIANTS, Twins, is_refused

SLOW_DRAWS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@dataclass(frozen=True)
class Setting:
    """What a match starts from, and the deal from which on its actions are drawn."""

    variant: str
    options: Mapping[str, object]
    first_dealer: int
    seed: int
    first_drawn: float
    """As a share of the match."""


@st.composite
def some_settings(draw: st.DrawFn) -> Setting:
    """A variant with a few options changed, as far as the rules allow."""
    variant = draw(st.sampled_from(VARIANTS))
    names = draw(st.lists(st.sampled_from(sorted(OPTIONS[variant])), unique=True, max_size=6))
    options = {name: draw(st.sampled_from(OPTIONS[variant][name][1:])) for name in names}
    assume(not is_refused(variant, options))
    return Setting(
        variant,
        options,
        first_dealer=draw(st.integers(0, 3)),
        seed=draw(st.integers(0, 2**16)),
        first_drawn=draw(st.sampled_from((0, 0.5, 0.6, 0.75, 0.95))),
    )


def check(setting: Setting, data: st.DataObject) -> None:
    """The property: at every decision that is drawn both sides tell the same."""
    event(f"system {SYSTEMS[setting.variant]}")
    twins = Twins(
        setting.variant, setting.options, setting.first_dealer, f"properties {setting.seed}"
    )
    naive = twins.naive
    while naive.deal_index < int(setting.first_drawn * naive.rules.num_deals):
        twins.push(min(naive.legal()))
    for _ in range(60):
        twins.compare(cards_too=True)
        if naive.phase == "OVER":
            break
        twins.push(data.draw(st.sampled_from(sorted(naive.legal())), naive.phase))


@settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=SLOW_DRAWS)
@given(some_settings(), st.data())
def test_engine_equals_the_twin_whatever_is_drawn(setting: Setting, data: st.DataObject) -> None:
    check(setting, data)


@pytest.mark.slow
@settings(max_examples=1500, deadline=None, suppress_health_check=SLOW_DRAWS)
@given(some_settings(), st.data())
def test_engine_equals_the_twin_for_many_draws(setting: Setting, data: st.DataObject) -> None:
    check(setting, data)
