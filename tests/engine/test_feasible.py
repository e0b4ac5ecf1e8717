"""No world that could not be: in bulk; ``python -m tests.engine.feasible`` draws a million."""

from __future__ import annotations

from typing import Any

import pytest

from king_env.engine import sample
from tests.engine.feasible import infeasible_worlds
from tests.playing import VARIANTS


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_no_infeasible_world(variant: str) -> None:
    drawn, infeasible = infeasible_worlds(variant, 8000, 3)
    assert drawn >= 8000 and infeasible == 0


@pytest.mark.parametrize("variant", ["international", "rifki"])
def test_the_proof_notices_what_a_sampler_forgets(
    variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert infeasible_worlds(variant, 2000, 3)[1] == 0
    hide = sample.hide

    def forget(games: Any, tables: Any, i: int, seat: int, views: Any, j: int) -> None:
        hide(games, tables, i, seat, views, j)
        views.deal.not_held[j] = 0

    monkeypatch.setattr(sample, "hide", forget)
    assert infeasible_worlds(variant, 2000, 3)[1] > 100
