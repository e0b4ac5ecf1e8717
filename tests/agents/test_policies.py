"""Compiled policies: legal, blind to what is hidden, deterministic, the same by every door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from agents.base import CompiledAgent, CompiledOpponents
from agents.ids import GREEDY, POLICY_IDS, RANDOM, RULE
from agents.kernels import act_rows, advance
from king_env.engine import batch, sample
from king_env.engine.layout import PHASE_OVER, allocate
from king_env.envs.batch import BatchEnv
from king_env.policy import BatchPolicy, View, decision_keys
from king_env.rules.catalogue import Variant
from king_env.rules.tables import make_tables
from tests.rules.factories import find_variant

POLICIES = sorted(set(POLICY_IDS.values()))

SETTINGS: list[tuple[str, Mapping[str, object]]] = [
    ("international", {}),
    ("international", {"a.pack": 32, "a.table32": "balanced160"}),
    ("international", {"a.must_trump": True, "a.must_overtrump": True, "a.allow_no_trump": False}),
    (
        "international",
        {"a.ultimatum.timing": "both", "a.ultimatum.fallback": "free", "a.auction.max_plus": 6},
    ),
    (
        "international",
        {
            "a.auction.match": "same_value",
            "a.auction.bid_binds_deal": False,
            "a.negotiation.max_requests": 3,
            "a.lead_positive": "declarer",
        },
    ),
    (
        "international",
        {
            "early_end": "auto",
            "a.no_king_force": "first_opportunity",
            "a.failed.criterion": "best_value",
            "a.ultimatum.demands": "eight_only",
            "a.ultimatum.respondents": "holder",
        },
    ),
    ("turkish_short", {}),
    ("turkish_short", {"d.force_penalty": "discard_and_duck", "d.must_overtrump": True}),
    ("turkish_short", {"d.global_cap": 2, "d.hearts_lead": "never"}),
    ("turkish_short", {"d.match": "full", "d.partnership": True}),
    ("tiny_three", {}),
    ("tiny_counter", {}),
]


def all_variants() -> list[Variant]:
    return [find_variant(name, options) for name, options in SETTINGS]


def kernel_seed(seed: int) -> Any:
    return np.uint64(seed)


def new_matches(variants: list[Variant], count: int, seed: int) -> tuple[Any, Any]:
    """`count` matches of each variant, and the rule tables."""
    tables = make_tables([variant.spec for variant in variants])
    games = allocate(count * len(variants))
    games.variant[:] = np.arange(len(games)) % len(variants)
    rows = np.arange(len(games), dtype=np.int64)
    skip = np.zeros(len(games), dtype=np.uint8)
    batch.begin_episodes(games, tables, rows, kernel_seed(seed), rows, 1, skip, 0)
    return games, tables


def decide(games: Any, tables: Any, rows: Any, policy: int, agent_seed: int) -> tuple[Any, Any]:
    keys = np.zeros(len(rows), dtype=np.uint64)
    decision_keys(games, rows, kernel_seed(agent_seed), keys)
    actions = np.full(len(rows), -1, dtype=np.int64)
    act_rows(games, tables, rows, policy, keys, actions)
    return actions, keys


@pytest.mark.parametrize("policy", POLICIES)
def test_legal_and_blind_over_whole_matches(policy: int) -> None:
    """Legal at every decision; the same on the blanked record and with other hidden cards."""
    games, tables = new_matches(all_variants(), 4, 3)
    in_play = np.zeros(len(games), dtype=np.int64)
    worlds = allocate(2)
    decisions = 0
    while True:
        rows = in_play[: batch.rows_in_play(games, in_play)].copy()
        if rows.size == 0:
            break
        actions, keys = decide(games, tables, rows, policy, 8)
        words = games.deal.legal[rows, actions >> 6]
        assert ((words >> (actions & 63).astype(np.uint64)) & np.uint64(1) == 1).all()
        views = allocate(len(rows))
        sample.hide_actors(games, tables, rows, views)
        blind = np.full(len(rows), -1, dtype=np.int64)
        own_rows = np.arange(len(rows), dtype=np.int64)
        act_rows(views, tables, own_rows, policy, keys, blind)
        assert (blind == actions).all()
        for row in range(decisions % 7, len(rows), 7):
            seat = int(views[row].deal.actor)
            world_keys = keys[row] + np.arange(2, dtype=np.uint64)
            assert sample.sample_worlds(views, tables, row, seat, worlds, 0, 2, world_keys) == 2
            again = np.full(2, -1, dtype=np.int64)
            pair = np.arange(2, dtype=np.int64)
            act_rows(worlds, tables, pair, policy, np.repeat(keys[row], 2), again)
            assert (again == actions[row]).all()
        batch.step_rows(games, tables, rows, actions, 0)
        decisions += 1
    assert decisions > 500


@pytest.mark.parametrize("policy", POLICIES)
def test_advance_equals_single_decisions(policy: int) -> None:
    games, tables = new_matches(all_variants(), 1, 4)
    twins = games.copy()
    twins.control[:] = policy
    made = advance(twins, tables, 0, len(twins), kernel_seed(5), 0)
    in_play = np.zeros(len(games), dtype=np.int64)
    steps = 0
    while (count := batch.rows_in_play(games, in_play)) > 0:
        rows = in_play[:count].copy()
        actions, _ = decide(games, tables, rows, policy, 5)
        batch.step_rows(games, tables, rows, actions, 0)
        steps += count
    assert made == steps
    assert games.view(np.ndarray)["totals"].tolist() == twins.totals.tolist()


def test_same_game_whatever_the_batch() -> None:
    variant = find_variant("international", {})
    totals: dict[int, list[list[int]]] = {}
    for size in (1, 8):
        env = BatchEnv(variant, size, episode="match", seed=6, opponents=CompiledOpponents(9))
        control = np.full((size, 4), RULE, dtype=np.uint8)
        control[:, 1:3] = [RANDOM, GREEDY]
        for first in range(0, 8, size):
            numbers = np.arange(first, first + size, dtype=np.int64)
            assert env.reset(numbers=numbers, control=control).rows.size == 0
            for number in numbers:
                totals.setdefault(int(number), []).append(
                    env.games.totals[int(number) - first].tolist()
                )
    assert all(one == other for one, other in totals.values())
    assert len({tuple(pair[0]) for pair in totals.values()}) == 8


def test_random_draws_follow_the_agent_seed() -> None:
    games, tables = new_matches([find_variant("international", {})], 4, 7)
    games.control[:] = RANDOM
    results = []
    for agent_seed in (1, 1, 2):
        copy = games.copy()
        advance(copy, tables, 0, 4, kernel_seed(agent_seed), 0)
        results.append(copy.totals.tolist())
    assert results[0] == results[1] != results[2]


def test_opponents_stop_at_the_caller() -> None:
    """A seat with control 0 decides; forced moves are played for it only where asked."""
    games, tables = new_matches([find_variant("turkish_short", {})], 30, 8)
    games.control[:, 1:] = GREEDY
    for skip_forced in (False, True):
        copy = games.copy()
        CompiledOpponents(3, skip_forced=skip_forced).advance(copy, tables, 0, len(copy))
        rows = np.arange(len(copy), dtype=np.int64)
        for _ in range(60):
            assert (copy.deal.actor == 0).all()
            legal = copy.deal.legal
            sizes = [sum(int(word).bit_count() for word in words) for words in legal]
            assert min(sizes) >= (2 if skip_forced else 1)
            actions, _ = decide(copy, tables, rows, RANDOM, 1)
            batch.step_rows(copy, tables, rows, actions, 0)
            CompiledOpponents(3, skip_forced=skip_forced).advance(copy, tables, 0, len(copy))


@pytest.mark.parametrize("name", sorted(POLICY_IDS))
def test_act_equals_act_batch(name: str) -> None:
    agent = CompiledAgent(name, POLICY_IDS[name], 1)
    assert isinstance(agent, BatchPolicy)
    variants = [find_variant("international", {}), find_variant("turkish_short", {})]
    games, tables = new_matches(variants, 3, 9)
    rows = np.arange(len(games), dtype=np.int64)
    for step in range(120):
        rng = np.random.default_rng(step)
        keys = rng.integers(0, 2**64, len(rows), dtype=np.uint64)
        views = allocate(len(rows))
        sample.hide_actors(games, tables, rows, views)
        together = agent.act_batch(views, tables, keys)
        kernel = np.full(len(rows), -1, dtype=np.int64)
        act_rows(games, tables, rows, agent.policy_id, keys, kernel)
        assert together.tolist() == kernel.tolist()
        rng = np.random.default_rng(step)  # draws the same keys one by one
        for row in rows:
            seat = int(games.deal.actor[row])
            view = View(variants[row % 2], games, tables, int(row), seat)
            assert agent.act(view, rng) == together[row]
        batch.step_rows(games, tables, rows, together, 0)


def margins(candidate: int, against: int, deals: int, skip: int) -> Any:
    """`[deals]` points of the candidate over the table mean, meaned over the four seats."""
    variant = find_variant("international", {})
    tables = make_tables([variant.spec])
    numbers = np.arange(deals, dtype=np.int64)
    total = np.zeros(deals)
    for seat in range(4):
        games = allocate(deals)
        games.control[:] = against
        games.control[:, seat] = candidate
        skips = np.full(deals, skip, dtype=np.uint8)
        batch.begin_episodes(games, tables, numbers, kernel_seed(11), numbers, 0, skips, 0)
        advance(games, tables, 0, deals, kernel_seed(12), 0)
        assert (games.deal.phase == PHASE_OVER).all()
        total += games.totals[:, seat] - games.totals.mean(1)
    return total / 4


@pytest.mark.parametrize(
    ("against", "skip", "bound"),
    [(RANDOM, 1, 35), (GREEDY, 1, 22), (RANDOM, 0, 35), (GREEDY, 0, 20)],
)
def test_rule_beats_the_others(against: int, skip: int, bound: float) -> None:
    found = margins(RULE, against, 500, skip)
    assert found.mean() - 1.96 * found.std() / len(found) ** 0.5 > bound


def test_a_table_of_equals_is_even() -> None:
    assert np.abs(margins(RULE, RULE, 100, 0).mean()) < 1e-9
