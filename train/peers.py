"""Other game libraries measured beside ours, in the same run and in the same process.

A decision is an action that a player applies; what the library does between (dealing card by card,
resets, drawing a random legal action) is inside the time, for us and for them. A library that is
not installed is named and passed over: ``pip install "king-env[bench]"`` brings all but pgx.
"""

from __future__ import annotations

import importlib
import os
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import numpy as np

Run = Callable[[], int]
"""Plays for a fraction of a second; returns the decisions made."""


MASKABLE_ENVS, MASKABLE_STEPS = 64, 64
"""Games that MaskablePPO plays at once, and steps of a rollout; more make it no faster."""


@dataclass(frozen=True)
class Peer:
    """A library's loop.

    Attributes:
        key: what stands behind our row's name.
        against: our row that it is the peer of.
        distribution: what to install.
        module: what it is imported as.
        what: the game and the way it is driven.
        make: sets it up, given the imported module.
        extra: the extra of the distribution that it needs, in brackets.
        clock: what its time is measured with. Libraries may use threads of their own, so by default
            the time of all threads counts.
    """

    key: str
    against: str
    distribution: str
    module: str
    what: str
    make: Callable[[Any], Run]
    extra: str = ""
    clock: Callable[[], float] = time.process_time

    def label(self) -> str:
        """Returns the library with its version, and what is measured."""
        return f"{self.distribution} {version(self.distribution)} {self.what}"

    def load(self) -> Run | None:
        """Returns its loop, or None where the library is not installed."""
        try:
            version(self.distribution)
            module = importlib.import_module(self.module)
        except (PackageNotFoundError, ImportError):
            return None
        return self.make(module)


# Played out; by itself the game ends after the bidding with a double-dummy solver, far slower.
_BRIDGE: Final = "bridge(use_double_dummy_result=false)"


def _openspiel_loop(name: str, num_games: int, with_tensor: bool) -> Callable[[Any], Run]:
    """Python drives the game; with_tensor: the seat to act is observed before each action."""

    def make(pyspiel: Any) -> Run:
        game = pyspiel.load_game(name)
        rng = random.Random(1)
        observes = game.get_type().provides_observation_tensor

        def run() -> int:
            decisions = 0
            for _ in range(num_games):
                state = game.new_initial_state()
                while not state.is_terminal():
                    legal = state.legal_actions()
                    if not state.is_chance_node():
                        decisions += 1
                        if with_tensor and observes:
                            state.observation_tensor()
                        elif with_tensor:  # hearts has no other
                            state.information_state_tensor()
                    # Cards are dealt with equal chances in both games.
                    state.apply_action(legal[int(rng.random() * len(legal))])
            return decisions

        return run

    return make


def _openspiel_bots(name: str, num_games: int) -> Callable[[Any], Run]:
    """The whole game is played in C++ by uniformly random bots."""

    def make(pyspiel: Any) -> Run:
        game = pyspiel.load_game(name)
        players = range(game.num_players())
        bots = [pyspiel.make_uniform_random_bot(player, player) for player in players]
        state = game.new_initial_state()
        pyspiel.evaluate_bots(state, bots, 0)
        dealt = sum(entry.player < 0 for entry in state.full_history())
        count = 0

        def run() -> int:
            nonlocal count
            decisions = 0
            for _ in range(num_games):
                state = game.new_initial_state()
                pyspiel.evaluate_bots(state, bots, count)
                decisions += len(state.history()) - dealt
                count += 1
            return decisions

        return run

    return make


def _rlcard_bridge(rlcard: Any) -> Run:
    """``env.step`` gives the next player's state with its features each time."""
    env = rlcard.make("bridge", config={"seed": 1})
    rng = random.Random(1)

    def run() -> int:
        decisions = 0
        for _ in range(20):
            state, _ = env.reset()
            while not env.is_over():
                state, _ = env.step(rng.choice(list(state["legal_actions"])))
                decisions += 1
        return decisions

    return run


def _connect_four(connect_four: Any) -> Run:
    """PettingZoo's loop as ours: the mask of the agent selected, a legal action, ``step``."""
    env = connect_four.raw_env()
    rng = random.Random(1)

    def run() -> int:
        decisions = 0
        for game in range(100):
            env.reset(seed=game)
            while True:
                agent = env.agent_selection
                if env.terminations[agent]:
                    break
                mask = env.observe(agent)["action_mask"]
                env.step(rng.choice(np.flatnonzero(mask).tolist()))
                decisions += 1
        return decisions

    return run


def _pgx_table(folder: Path) -> Path:
    """Writes deals for pgx's bridge bidding, with made-up results, and returns the file.

    Its own table is a large download; results matter to the score only, not to the speed.
    """
    rng = np.random.default_rng(1)
    owners = np.array([rng.permutation(np.repeat(np.arange(4), 13)) for _ in range(4096)])
    powers = 4 ** np.arange(12, -1, -1)
    keys = (owners.reshape(-1, 4, 13) * powers).sum(axis=2)
    path = folder / "deals.npy"
    np.save(path, np.stack([keys, rng.integers(0, 2**20, keys.shape)]).astype(np.int32))
    return path


def _pgx_bidding(bridge: Any) -> Run:
    """A compiled step of 1,024 games, resets and observations included."""
    import jax
    from pgx.experimental import auto_reset

    with tempfile.TemporaryDirectory() as folder:
        env = bridge.BridgeBidding(str(_pgx_table(Path(folder))))
    num_games, num_steps = 1024, 10
    step = jax.vmap(auto_reset(env.step, env.init))

    def advance(state: Any, key: Any) -> tuple[Any, Any]:
        key, draw, again = jax.random.split(key, 3)
        logits = jax.numpy.where(state.legal_action_mask, 0.0, -1e9)
        actions = jax.random.categorical(draw, logits)
        return step(state, actions, jax.random.split(again, num_games)), key

    advance = jax.jit(advance)
    key = jax.random.PRNGKey(1)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(key, num_games))

    def run() -> int:
        nonlocal state, key
        for _ in range(num_steps):
            state, key = advance(state, key)
        state.observation.block_until_ready()
        return num_games * num_steps

    return run


def _maskable_ppo(sb3_contrib: Any) -> Run:
    """A rollout and its update: our shipped config in its terms.

    The network is ours too: two hidden layers that policy and value share. SB3 learns in one seat
    of a table, so the other three are played by ``random``, which costs it next to nothing; ours
    plays all seats, or sits among three rule-based players, and has search label decisions.
    """
    import torch
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from torch import nn

    from king_env.adapters.sb3 import KingSb3VecEnv
    from train.config import load_config

    config = load_config("international")
    width = config.network.width

    class Trunk(BaseFeaturesExtractor):  # type: ignore[misc]  # mypy skips SB3
        def __init__(self, space: Any) -> None:
            super().__init__(space, width)
            self.layers = nn.Sequential(
                nn.Linear(space.shape[0], width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
            )

        def forward(self, observations: Any) -> Any:
            return self.layers(observations)

    env = KingSb3VecEnv(
        MASKABLE_ENVS,
        scale_rewards=True,
        variant=config.variants[0],
        episode="deal",
        opponents="random",
    )
    learner = sb3_contrib.MaskablePPO(
        "MlpPolicy",
        env,
        seed=1,
        n_steps=MASKABLE_STEPS,
        batch_size=config.ppo.minibatch,
        n_epochs=config.ppo.epochs,
        learning_rate=config.ppo.lr,
        gamma=1.0,
        gae_lambda=config.ppo.gae_lambda,
        policy_kwargs={"features_extractor_class": Trunk, "net_arch": []},
        device="cpu",
    )

    decisions = MASKABLE_ENVS * MASKABLE_STEPS

    def run() -> int:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            learner.learn(decisions, log_interval=None, reset_num_timesteps=False)
        finally:
            torch.set_num_threads(threads)
        return decisions

    return run


def _openspiel(key: str, against: str, what: str, make: Callable[[Any], Run]) -> Peer:
    return Peer(key, against, "open-spiel", "pyspiel", what, make)


PEERS: Final[dict[str, tuple[Peer, ...]]] = {
    "engine": (
        _openspiel(
            "openspiel_hearts_bots",
            "random_match",
            "hearts, random bots in C++",
            _openspiel_bots("hearts", 2000),
        ),
        _openspiel(
            "openspiel_bridge_bots",
            "random_match",
            "bridge, random bots in C++",
            _openspiel_bots(_BRIDGE, 2000),
        ),
        _openspiel(
            "openspiel_hearts",
            "step_packed",
            "hearts from Python, apply only",
            _openspiel_loop("hearts", 200, False),
        ),
        _openspiel(
            "openspiel_bridge",
            "step_packed",
            "bridge from Python, apply only",
            _openspiel_loop(_BRIDGE, 200, False),
        ),
        _openspiel(
            "openspiel_hearts_tensor",
            "step_dense",
            "hearts from Python, with tensors",
            _openspiel_loop("hearts", 30, True),
        ),
        _openspiel(
            "openspiel_bridge_tensor",
            "step_dense",
            "bridge from Python, with tensors",
            _openspiel_loop(_BRIDGE, 100, True),
        ),
        Peer(
            "pgx_bridge_bidding",
            "step_dense",
            "pgx",
            "pgx.bridge_bidding",
            "bridge bidding, batch 1,024",
            _pgx_bidding,
        ),
    ),
    "env": (
        _openspiel(
            "openspiel_hearts",
            "raw_env",
            "hearts from Python, apply only",
            _openspiel_loop("hearts", 200, False),
        ),
        Peer(
            "pettingzoo_connect_four",
            "raw_env",
            "pettingzoo",
            "pettingzoo.classic.connect_four.connect_four",
            "connect_four, raw loop",
            _connect_four,
            "[classic]",
        ),
        Peer("rlcard_bridge", "raw_env", "rlcard", "rlcard", "bridge, env.step", _rlcard_bridge),
    ),
    "train": (
        Peer(
            "maskable_ppo",
            "learned",
            "sb3-contrib",
            "sb3_contrib",
            "MaskablePPO, the same network and settings, against random",
            _maskable_ppo,
            clock=time.perf_counter,
        ),
    ),
}
"""By group of ours."""

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # the comparison is of one core
