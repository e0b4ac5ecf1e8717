"""King in skrl: rewards, masks through its policy, seeds, the script."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("skrl", reason="skrl is not installed")

import torch
from skrl.utils import set_seed

from king_env.adapters.seats import make_seats
from king_env.adapters.skrl import MaskedPolicy, make_env, unpack
from tests.frameworks.seats import check_rewards, check_seed
from tests.frameworks.smoke import run_script


@pytest.mark.parametrize("variant", ["international", "rifki", "turkish_short_pairs"])
def test_rewards_add_up_to_the_scores(variant: str) -> None:
    check_rewards(
        make_seats(4, False, variant=variant, episode="match", opponents="random"), variant
    )


def test_same_seed_same_episodes() -> None:
    check_seed(lambda: make_seats(4, True, opponents="random"))


def test_the_seed_of_skrl_is_the_seed_of_the_deals() -> None:
    def first(seed: int) -> torch.Tensor:
        set_seed(seed)
        seen: torch.Tensor = make_env(4, opponents="random").reset()[0]
        return seen

    assert torch.equal(first(3), first(3)) and not torch.equal(first(3), first(4))


def test_the_policy_draws_legal_actions_and_its_rewards_are_the_scores() -> None:
    """The engine refuses what is not legal."""
    env = make_env(32, opponents="random", skip_forced=False)
    policy = MaskedPolicy(env)
    observations, _ = env.reset()
    sums, decisions = np.zeros(32), 0
    while decisions < 10_000:
        with torch.no_grad():
            actions, outputs = policy.act({"observations": observations})
        _, legal = unpack(policy, {"observations": observations})
        assert legal.gather(1, actions).all() and torch.isfinite(outputs["log_prob"]).all()
        observations, rewards, over, _, info = env.step(actions)
        sums += rewards.flatten().numpy()
        decisions += len(actions)
        for row in torch.nonzero(over.flatten()).flatten().tolist():
            final = info["final_info"]
            assert sums[row] == final["scores"][row, final["seat"][row]]
            sums[row] = 0


def test_script(tmp_path: Path) -> None:
    run_script("skrl", tmp_path)
