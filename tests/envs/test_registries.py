"""One id for all variants in the registries of Gymnasium and PettingZoo."""

from __future__ import annotations

import random
import warnings
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest

from king_env import king_v0
from king_env.envs.gymnasium_ids import SEAT_ID
from king_env.envs.registration import ENV_ID
from king_env.envs.seat import KingSeatEnv
from king_env.envs.vector import KingSeatVectorEnv
from tests.playing import SHIPPED, pick


@pytest.fixture(autouse=True)
def _no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_there_are_fourteen() -> None:
    assert len(SHIPPED) == 14


@pytest.mark.parametrize("variant", SHIPPED)
def test_gymnasium_make(variant: str) -> None:
    env = gymnasium.make(SEAT_ID, variant=variant, opponents="random")
    assert isinstance(env.unwrapped, KingSeatEnv) and env.unwrapped.variant.name == variant
    _, info = env.reset(seed=1)
    over = False
    while not over:
        _, _, over, _, info = env.step(np.flatnonzero(info["action_mask"])[0])
    assert len(info["scores"]) == 4


@pytest.mark.parametrize("mode", ["vector_entry_point", "sync"])
@pytest.mark.parametrize("variant", SHIPPED)
def test_gymnasium_make_vec(variant: str, mode: str) -> None:
    envs: Any = gymnasium.make_vec(
        SEAT_ID, 3, vectorization_mode=mode, variant=variant, opponents="random"
    )
    assert isinstance(envs, KingSeatVectorEnv) == (mode == "vector_entry_point")
    if isinstance(envs, KingSeatVectorEnv):
        assert {rules.name for rules in envs.variants} == {variant}
    else:
        assert [rules.name for rules in envs.get_attr("variant")] == [variant] * 3
    _, infos = envs.reset(seed=1)
    ended = np.zeros(3, dtype=np.bool_)
    while not ended.all():
        _, _, over, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
        ended |= over


@pytest.mark.skipif(not hasattr(pettingzoo, "register"), reason="PettingZoo 1.26 has no registry")
@pytest.mark.parametrize("variant", SHIPPED)
def test_pettingzoo_make(variant: str) -> None:
    env: Any = pettingzoo.make("aec", ENV_ID, variant=variant, episode="deal")
    assert isinstance(env.unwrapped, king_v0.raw_env) and env.unwrapped.variant.name == variant
    rng = random.Random(variant)
    env.reset(seed=1)
    while not env.unwrapped.game.is_over:
        env.step(pick(env.unwrapped.game, rng))
    assert all(env.terminations.values())

    together: Any = pettingzoo.make("parallel", ENV_ID, variant=variant, episode="deal")
    assert isinstance(together.unwrapped, king_v0.parallel_env)
    assert together.unwrapped.variant.name == variant
    together.reset(seed=1)
    while together.agents:
        action = pick(together.unwrapped.game, rng)
        together.step(dict.fromkeys(together.agents, action))
