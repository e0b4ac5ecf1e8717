"""Worlds in bulk, each proved by playing the deal again in it. ``python -m tests.engine.feasible``.

A world is feasible if its hands are of the right size, hold every unseen card once, agree with what
the seat knows, and could have been played as the deal was: every card was legal when it was played.
The proof uses the rules of play alone, not what the engine has noted about who lacks what.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.ids import RANDOM, RULE
from agents.kernels import act_rows
from king_env.engine import batch, sample, step
from king_env.engine.layout import NO_CARD, PHASE_OVER, PHASE_PLAY, Games, Tables, allocate
from king_env.policy import decision_keys
from king_env.rules.tables import tables_of
from tests.playing import VARIANTS
from tests.rules.factories import find_variant

WORLDS_PER_VIEW = 64
EVERY = 5
"""Decisions from one look at the table to the next."""

Bools = npt.NDArray[np.bool_]


def wrong_cards(world: Any, view: Any, pack: int, hand_size: int, seat: int) -> Bools:
    """Which of `[W]` worlds do not hold the right cards."""
    d, seen = world.deal, view.deal
    held = d.hands | d.undealt
    whole = held | seen.played
    wrong: Bools = np.bitwise_or.reduce(whole, axis=1) != np.uint64(pack)
    wrong |= (np.bitwise_count(whole) != hand_size).any(axis=1)
    wrong |= (np.bitwise_count(d.hands) + np.bitwise_count(seen.played) != seen.dealt).any(axis=1)
    wrong |= (held & seen.played).any(axis=1)
    wrong |= d.hands[:, seat] != seen.hands[seat]
    if seen.shown != NO_CARD:
        shown = whole[:, seen.shown_owner] >> np.uint64(seen.shown)
        wrong |= shown & np.uint64(1) == 0
    return wrong


def unplayable(worlds: Games, start: Games, tables: Tables, cards: list[int]) -> Bools:
    """In which of `[W]` worlds the deal could not have been played: some card was not legal."""
    games = allocate(len(worlds))
    games[:] = start[0]
    games.deal.hands[:] = worlds.deal.hands | worlds.deal.played
    rows = np.arange(len(games), dtype=np.int64)
    bad = np.zeros(len(games), dtype=np.bool_)
    for row in range(len(games)):
        step.refresh_legal(games, tables, row)
    for card in cards:
        legal = games.deal.legal[rows, card >> 6] >> np.uint64(card & 63) & np.uint64(1)
        bad[rows[legal == 0]] = True
        rows = rows[legal == 1]
        batch.step_rows(games, tables, rows, np.full(len(rows), card, dtype=np.int64), 0)
    return bad


def infeasible_worlds(variant: str, count: int, seed: int) -> tuple[int, int]:
    """Draws at least ``count`` worlds at all places of deals; returns (drawn, infeasible).

    Deals are played at random and by the rule-based agent in turn, seen from all seats in turn.
    """
    spec = find_variant(variant, {}).spec
    tables = tables_of(find_variant(variant, {}))
    game, start, view = allocate(1), allocate(1), allocate(1)
    worlds = allocate(WORLDS_PER_VIEW)
    row = np.zeros(1, dtype=np.int64)
    skip = np.zeros(1, dtype=np.uint8)
    keys, actions = np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.int64)
    rng = np.random.default_rng(seed)
    kernel_seed: Any = np.uint64(seed)
    drawn, infeasible, number = 0, 0, 0
    while drawn < count:
        numbers = np.array([number], dtype=np.int64)
        batch.begin_episodes(game, tables, row, kernel_seed, numbers, 0, skip, 0)
        cards: list[int] = []
        turn = number  # so that all places come about
        while game.deal.phase[0] != PHASE_OVER and drawn < count:
            d = game.deal[0]
            in_play = d.phase == PHASE_PLAY
            if in_play and not cards:
                start[0] = game[0]
            if turn % EVERY == 0:
                seat = turn // EVERY % 4
                sample.hide(game, tables, 0, seat, view, 0)
                world_keys = rng.integers(0, 2**64, WORLDS_PER_VIEW, dtype=np.uint64)
                found = sample.sample_worlds(
                    view, tables, 0, seat, worlds, 0, WORLDS_PER_VIEW, world_keys
                )
                bad = wrong_cards(worlds, view[0], int(tables.pack[0]), spec.hand_size, seat)
                if in_play:
                    bad |= unplayable(worlds, start, tables, cards)
                bad[found:] = True
                drawn += WORLDS_PER_VIEW
                infeasible += int(bad.sum())
            decision_keys(game, row, kernel_seed, keys)
            act_rows(game, tables, row, (RANDOM, RULE)[number % 2], keys, actions)
            if in_play:
                cards.append(int(actions[0]))
            batch.step_rows(game, tables, row, actions, 0)
            turn += 1
        number += 1
    return drawn, infeasible


def main() -> None:
    """Prints worlds drawn and infeasible ones, by variant and in all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, default=1_000_000, help="in all variants together")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    totals = [0, 0]
    for variant in VARIANTS:
        drawn, infeasible = infeasible_worlds(variant, -(-args.worlds // len(VARIANTS)), args.seed)
        print(f"{variant:28} {drawn:10,} worlds {infeasible:6,} infeasible", flush=True)
        totals = [totals[0] + drawn, totals[1] + infeasible]
    print(f"{'all':28} {totals[0]:10,} worlds {totals[1]:6,} infeasible")


if __name__ == "__main__":
    main()
