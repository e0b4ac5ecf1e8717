"""Agents for the tests, and a table played one game at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from king_env.engine.actions import ActionId
from king_env.engine.layout import Games, Tables
from king_env.game import Game
from king_env.policy import Policy, ask_one, decision_keys
from king_env.rules.catalogue import Variant
from king_env.view import View, legal_ids


class LastCard:
    """Plays the legal action with the highest id; one view at a time."""

    name = "last"

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        return view.legal_actions[-1]


class Drawer:
    """Draws from the generator it is handed; one view at a time."""

    name = "drawer"

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        return int(rng.choice(view.legal_actions))


class BatchedDrawer(Drawer):
    """Draws from its keys, many games at once."""

    name = "batched"

    def act_batch(
        self, views: Games, tables: Tables, keys: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        legal = [legal_ids(view.deal.legal) for view in views]
        return np.array(
            [ids[int(key) % len(ids)] for ids, key in zip(legal, keys, strict=True)], dtype=np.int64
        )


def play_one(
    variant: Variant,
    agents: Sequence[Policy],
    *,
    seed: int,
    number: int,
    agent_seed: int,
    episode: str = "deal",
    start: str = "decision",
) -> Game:
    """Plays one game between four agents through ``Game``."""
    game = Game(variant, seed=seed, match=number, episode=episode, start=start)
    keys = np.zeros(1, dtype=np.uint64)
    rows = np.zeros(1, dtype=np.int64)
    key_seed: Any = np.uint64(agent_seed)
    while game.actor is not None:
        legal = game.legal_actions
        if len(legal) == 1:
            game.push(legal[0])
            continue
        decision_keys(game.games, rows, key_seed, keys)
        game.push(ask_one(agents[game.actor], game.view(game.actor), keys[0]))
    return game
