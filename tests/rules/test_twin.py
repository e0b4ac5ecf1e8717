"""The compiled engine against the slow twin: legal sets, phase, actor, scores at every decision."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tests.naive import OPTIONS, is_short
from tests.rules.factories import EngineMatch, find_variant
from tests.rules.twins import VARIANTS, is_refused, play_both, random_options, shuffled

# Tests with options; the two tiny games have none but `early_end`.
NAMED = [variant for variant in VARIANTS if not variant.startswith("tiny")]


@pytest.mark.parametrize("variant", VARIANTS)
def test_engine_equals_the_twin(variant: str) -> None:
    deals = number = 0
    while deals < 96:
        deals += play_both(variant, {}, f"{variant} {number}")
        number += 1


@pytest.mark.parametrize("variant", NAMED)
def test_engine_equals_the_twin_under_random_options(variant: str) -> None:
    rng = random.Random(variant)
    for number in range(6):
        options = random_options(variant, rng)
        play_both(variant, options, f"{variant} options {number}", num_deals=20)


@pytest.mark.parametrize("variant", VARIANTS)
def test_both_know_the_same_options(variant: str) -> None:
    """Defaults, other values, and each pair of values that the rules refuse."""
    engine = {entry.name: entry for entry in find_variant(variant, {}).spec.option}
    assert set(engine) - {"first_dealer"} == set(OPTIONS[variant])
    for name, values in OPTIONS[variant].items():
        assert engine[name].default == values[0]
        assert sorted(map(str, engine[name].values)) == sorted(map(str, values))
    names = sorted({"a.pack", "a.table32", "d.match", "d.global_cap"} & set(OPTIONS[variant]))
    for values in product(*(OPTIONS[variant][name] for name in names)):
        options = dict(zip(names, values, strict=True))
        if is_refused(variant, options):
            with pytest.raises(ValueError):
                EngineMatch(variant, options, 0, shuffled(False, "refused"))
        else:
            EngineMatch(variant, options, 0, shuffled(is_short(variant, options), "allowed"))


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_engine_equals_the_twin_for_long(variant: str) -> None:
    deals = number = 0
    while deals < 2000:
        deals += play_both(variant, {}, f"{variant} long {number}")
        number += 1


@pytest.mark.slow
@pytest.mark.parametrize("variant", NAMED)
def test_engine_equals_the_twin_under_many_options(variant: str) -> None:
    """50 settings a variant, 700 in all."""
    rng = random.Random(f"{variant} many")
    for number in range(50):
        play_both(variant, random_options(variant, rng), f"{variant} many {number}")
