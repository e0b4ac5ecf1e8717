"""Exact endgames against plain enumeration by the naive rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from agents.search.solver import Solver
from king_env.rules.tables import DECISION_AUCTION, DECISION_ORDER
from tests.agents.search.brute import solve
from tests.agents.search.positions import endgames
from tests.playing import VARIANTS
from tests.rules.factories import find_variant

SETTINGS: list[tuple[str, Mapping[str, object]]] = [
    *((name, {}) for name in VARIANTS),
    ("international", {"a.plus_settlement": "transfer_capped", "a.auction.bid_binds_deal": False}),
    ("international", {"a.must_trump": True, "a.must_overtrump": True}),
    ("international", {"early_end": "auto", "a.no_king_force": "void"}),
    ("russian_auction", {"b.v1.payment_cap": "tricks_taken", "b.v1.seller_may_refuse": False}),
    ("turkish_full_pairs", {"d.force_penalty": "discard_and_duck", "d.must_overtrump": True}),
]


def reachable(table: Any) -> set[int]:
    """The contracts that some deal of a match can have."""
    decisions = set(table.deal_decision[: table.num_deals].tolist())
    found = set(table.deal_contract[: table.num_deals].tolist())
    if DECISION_ORDER in decisions:
        found |= set(table.order_contract.tolist())
    if DECISION_AUCTION in decisions:
        found |= {int(table.plus_contract), int(table.minus_contract)}
    return (found | set(table.slot_contract.tolist())) - {-1}


@pytest.mark.parametrize(
    ("count", "cards"),
    [(40, 3), pytest.param(200, 4, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(("name", "options"), SETTINGS)
def test_equals_enumeration(
    name: str, options: Mapping[str, object], count: int, cards: int
) -> None:
    """Every contract of every variant, up to ``cards`` cards each, at any point of a trick."""
    variant = find_variant(name, options)
    rng = np.random.default_rng(0)
    contracts = set()
    for start in ("decision", "play"):
        most = rng.integers(3, 4 * cards + 1, count)
        games, tables = endgames([variant], count, 1, most, start)
        roots = rng.integers(0, 4, len(games))
        payoffs, _ = Solver(table_size=1 << 14).solve(games, tables, roots)
        _, vectors = Solver(maxn=True, table_size=1 << 14).solve(games, tables, roots)
        for row in range(len(games)):
            expected = solve(variant, name, games[row], int(roots[row]))
            assert 4 * payoffs[row] == expected[0], row
            assert tuple(vectors[row]) == expected[1], row
            contracts.add(int(games[row].deal.contract))
    if cards == 4:
        assert contracts == reachable(tables[0])
