"""Fixtures of the tests of the rules."""

from __future__ import annotations

import pytest

from tests.rules.factories import FACTORIES, MatchFactory


@pytest.fixture(params=sorted(FACTORIES))
def make(request: pytest.FixtureRequest) -> MatchFactory:
    """Each implementation of the rules."""
    return FACTORIES[request.param]
