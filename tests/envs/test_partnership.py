"""In partnership variants every environment pays a seat what its team scores, and scores stay."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from agents.base import CompiledOpponents
from king_env.envs.aec import AGENTS, raw_env
from king_env.envs.batch import BatchEnv
from king_env.envs.parallel import parallel_env
from king_env.game import Game
from tests.playing import pick

PARTNERS: dict[str, object] = {"d.partnership": True}


def team_scores(game: Game) -> list[int]:
    """The score of each seat's team, added up by hand."""
    first, second, third, fourth = game.scores
    return [first + third, second + fourth, first + third, second + fourth]


@pytest.mark.parametrize("episode", ["deal", "match"])
def test_all_environments_pay_teams_action_by_action(episode: str) -> None:
    how: dict[str, Any] = {"options": PARTNERS, "episode": episode}
    aec, parallel = raw_env("turkish_short", **how), parallel_env("turkish_short", **how)
    batches = [
        BatchEnv("turkish_short", 1, **how, seed=3, skip_forced=False, autoreset=autoreset)
        for autoreset in ("disabled", "next_step")  # one pass, and step by step
    ]
    # A compiled opponent that has no seat to play pays through another kernel.
    batches.append(
        BatchEnv("turkish_short", 1, **how, seed=3, skip_forced=False,
                 opponents=CompiledOpponents(0, skip_forced=False))
    )  # fmt: skip
    aec.reset(seed=3)
    parallel.reset(seed=3)
    for batch in batches:
        batch.reset()
    rng = random.Random(3)
    paid = 0
    while not aec.game.is_over:
        before = team_scores(aec.game)
        actor, action = aec.agent_selection, pick(aec.game, rng)
        aec.step(action)
        expected = [now - then for now, then in zip(team_scores(aec.game), before, strict=True)]
        assert list(aec.rewards.values()) == expected
        assert list(parallel.step({actor: action})[1].values()) == expected
        for batch in batches:
            assert batch.step(np.array([action])).reward[0].tolist() == expected
        assert expected[0] == expected[2] and expected[1] == expected[3]
        paid += any(expected)
    assert paid and parallel.agents == []
    # Records keep the scores of seats.
    log = aec.game.to_record()["deals"][-1]
    assert len(set(log["scores"])) > 2 or episode == "match"
    assert aec.game.scores == parallel.game.scores


def test_deal_rewards_are_paid_to_teams() -> None:
    environment = parallel_env("turkish_short", options=PARTNERS, reward="deal")
    environment.reset(seed=4)
    rng = random.Random(4)
    finished = 0
    for _ in range(120):
        actor = AGENTS[environment.game.actor or 0]
        rewards = environment.step({actor: pick(environment.game, rng)})[1]
        logs = [log for log in environment.game.deals if log.scores is not None]
        if len(logs) > finished:
            finished, scores = len(logs), logs[-1].scores
            assert scores is not None
            teams = [scores[0] + scores[2], scores[1] + scores[3]]
            assert list(rewards.values()) == teams * 2
        else:
            assert not any(rewards.values())
    assert finished == 2
