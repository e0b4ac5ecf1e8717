"""Small parts that the tests of training share."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from agents.neural import kernels
from agents.neural.network import ActorCritic
from king_env.rules.catalogue import Variant, load_variant
from train import loop
from train.config import (
    CloneConfig,
    DrawConfig,
    NetworkConfig,
    OutputConfig,
    PPOConfig,
    TrainConfig,
    to_toml,
)
from train.loop import run_training
from train.rollout import Actor, Decisions, Strata, columns_in_use, draw_deals, play

TINY = TrainConfig(
    workers=1,
    seed=3,
    total_decisions=9_000,
    network=NetworkConfig(width=32),
    clone=CloneConfig(decisions=3_000, most=3_000, batch=128),
    ppo=PPOConfig(decisions_per_iteration=3_000, minibatch=512),
    output=OutputConfig(checkpoint_every_s=0.0, eval_every_decisions=0),
)
"""A run of seconds."""

DRAW = DrawConfig()

_COLUMNS: dict[tuple[str, DrawConfig, bool], npt.NDArray[np.int64]] = {}

ROOT = Path(__file__).resolve().parents[2]


def tiny(**changes: Any) -> TrainConfig:
    return dataclasses.replace(TINY, **changes)


def variants_of(*names: str) -> list[Variant]:
    return [load_variant(name) for name in names]


def columns_of(
    variants: Sequence[Variant], draw: DrawConfig, canonical: bool
) -> npt.NDArray[np.int64]:
    """Returns what ``columns_in_use`` does, which plays thousands of deals, once a process."""
    key = (json.dumps([variant.data for variant in variants]), draw, canonical)
    if key not in _COLUMNS:
        _COLUMNS[key] = columns_in_use(variants, draw, canonical)
    return _COLUMNS[key]


def small_network(
    variants: Sequence[Variant], canonical: bool = True, rule_prior: float = 0.0
) -> ActorCritic:
    columns = columns_of(variants, DRAW, canonical)
    network = ActorCritic(columns, 32, seed=1, rule_prior=rule_prior)
    with torch.no_grad():  # a policy that prefers some actions
        network.policy_weight.mul_(100.0)
    return network


def actor_of(network: ActorCritic) -> Actor:
    """Returns what draws actions from the policy of a network."""

    def act(words: Any, numbers: Any, points: Any, mask: Any, keys: Any) -> Any:
        with torch.no_grad():
            logits, values = network(words, numbers, points)
        actions = np.empty(len(words), dtype=np.int64)
        log_probs = np.empty(len(words), dtype=np.float32)
        kernels.choose(logits.numpy(), mask, keys, 1, actions, log_probs)
        return actions, log_probs, values.numpy()

    return act


def sampled(
    network: ActorCritic,
    variants: Sequence[Variant],
    num_self: int,
    num_rule: int = 0,
    iteration: int = 0,
    canonical: bool = True,
    draw: DrawConfig = DRAW,
    privileged: bool = False,
) -> Decisions:
    """Plays with the policy of a network."""
    deals = draw_deals(draw, variants, 5, iteration, 0, num_self, num_rule)
    strata = Strata(variants)
    act = actor_of(network)
    return play(variants, draw, strata, deals, 5, canonical, act, privileged=privileged)


class Stop(Exception):
    """What stops a run."""


def stopped(config: TrainConfig, out: Path, at: int, device: str = "cpu") -> Path:
    """Returns a run that died inside an iteration; each one before it was saved."""
    made = 0
    iterate = loop._Learner.iterate

    def dying(self: loop._Learner, budget: loop.Budget | None) -> dict[str, object] | None:
        nonlocal made
        made += 1
        if made == at:
            raise Stop
        return iterate(self, budget)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop._Learner, "iterate", dying)
        with pytest.raises(Stop):
            run_training(config, out, progress=False, device=device)
    return out


def digest(run: Path) -> str:
    """Returns a hash of the newest checkpoint: what plays and what learning goes on from."""
    newest = json.loads((run / "latest.json").read_text())["checkpoint"]
    file = run / newest
    parts = [file, file.with_suffix(".training.safetensors")]
    return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()


SCRIPT = """
import sys
from pathlib import Path
from train.config import load_config
from train.loop import run_training
if __name__ == "__main__":
    out = Path(sys.argv[2])
    resume = out if sys.argv[3] == "resume" else None
    run_training(load_config(sys.argv[1]), out, resume=resume, progress=False)
"""


def start(
    tmp_path: Path, config: TrainConfig, out: Path, how: str, own_group: bool = False
) -> subprocess.Popen[bytes]:
    """Starts a run, ``new`` or ``resume``, if asked in a process group of its own."""
    (tmp_path / "run.py").write_text(SCRIPT)
    (tmp_path / "config.toml").write_text(to_toml(config))
    command = [sys.executable, "run.py", "config.toml", str(out), how]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=own_group)
