"""Games at random places of random deals, made by the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agents.ids import RANDOM
from agents.kernels import act_rows
from king_env.engine import batch
from king_env.engine.layout import PHASE_PLAY, Games, Tables, allocate
from king_env.policy import decision_keys
from king_env.rules.catalogue import Variant
from king_env.rules.tables import make_tables


def deals(
    variants: Sequence[Variant], count: int, seed: int, start: str = "decision"
) -> tuple[Games, Tables]:
    """`count` deals of each variant, at their start."""
    tables = make_tables([variant.spec for variant in variants])
    games = allocate(count * len(variants))
    games.variant[:] = np.arange(len(games)) // count
    rows = np.arange(len(games), dtype=np.int64)
    skip = np.full(len(games), start == "play", dtype=np.uint8)
    kernel_seed: Any = np.uint64(seed)
    batch.begin_episodes(games, tables, rows, kernel_seed, rows % count, 0, skip, 0)
    return games, tables


def move_on(games: Games, tables: Tables, rows: Any, seed: int, policy: int = RANDOM) -> None:
    """One decision of a policy in each game of ``rows``."""
    keys = np.zeros(len(rows), dtype=np.uint64)
    agent_seed: Any = np.uint64(seed)
    decision_keys(games, rows, agent_seed, keys)
    actions = np.zeros(len(rows), dtype=np.int64)
    act_rows(games, tables, rows, policy, keys, actions)
    batch.step_rows(games, tables, rows, actions, 0)


def cards_left(games: Games) -> Any:
    """`[N]` cards in all hands together."""
    return np.bitwise_count(games.deal.hands).sum(axis=1, dtype=np.int64)


def endgames(
    variants: Sequence[Variant],
    count: int,
    seed: int,
    most: Any,
    start: str = "decision",
    policy: int = RANDOM,
) -> tuple[Games, Tables]:
    """Deals played on until at most ``most`` cards are left (a number, or one for each game).

    Deals that are over by then are left out.
    """
    games, tables = deals(variants, count, seed, start)
    in_play = np.zeros(len(games), dtype=np.int64)
    while True:
        rows = in_play[: batch.rows_in_play(games, in_play)]
        early = (games.deal.phase != PHASE_PLAY) | (cards_left(games) > most)
        rows = rows[early[rows]].copy()
        if not rows.size:
            break
        move_on(games, tables, rows, seed, policy)
    kept = np.flatnonzero(games.deal.phase == PHASE_PLAY)
    chosen = allocate(len(kept))
    chosen[:] = games[kept]
    return chosen, tables
