"""PPO in one file: advantages by seat against a plain sum, masks, the script with seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

import torch

from king_env import BatchEnv
from king_env.engine.observe import features
from tests.frameworks.smoke import run_script
from train.frameworks import cleanrl


def test_returns_of_each_seat_are_its_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """With lambda 1 and a critic that says 0, an advantage is what is paid from then on."""
    monkeypatch.setattr(cleanrl, "GAE_LAMBDA", 1.0)
    env = BatchEnv("international", 6, seed=3, obs="dense", episode="match")
    rng = np.random.default_rng(1)
    rows, seats, values, rewards = [], [], [], []
    step = env.reset()
    while step.rows.size:
        rows.append(step.rows.copy())
        seats.append(step.seat.copy())
        values.append(np.zeros(len(step.rows), dtype=np.float32))
        step = env.step((rng.random(step.mask.shape) * step.mask).argmax(axis=1))
        rewards.append(step.reward.astype(np.float32))
    found = cleanrl.advantages(rows, seats, values, rewards)
    row, seat = np.concatenate(rows), np.concatenate(seats)
    for game in range(6):
        for place in range(4):
            first = np.flatnonzero((row == game) & (seat == place))[0]
            start = next(k for k, part in enumerate(rows) if first < sum(map(len, rows[: k + 1])))
            before = sum(reward[game, place] for reward in rewards[:start])
            assert before + found[first] == env.games.totals[game, place]


def test_masks() -> None:
    network = cleanrl.Network()
    env = BatchEnv("international", 256, seed=1, obs="dense", autoreset="same_step")
    step = env.reset()
    decisions = 0
    while decisions < 10_000:
        mask = torch.from_numpy(step.mask.astype(bool))
        policy, _ = network(torch.from_numpy(features(step.bits, step.numbers)), mask)
        action = policy.sample()
        assert mask.gather(1, action[:, None]).all()
        assert torch.isfinite(policy.entropy()).all()
        step = env.step(action.numpy())
        decisions += len(action)


def test_script(tmp_path: Path) -> None:
    run_script("cleanrl", tmp_path)
