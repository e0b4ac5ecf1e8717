"""King in stable-baselines3: rewards, masks through MaskablePPO, seeds, wrappers, the script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

from king_env.adapters.sb3 import KingSb3VecEnv
from king_env.engine import observe
from king_env.engine.actions import NUM_ACTIONS
from king_env.envs.seat import KingSeatEnv
from tests.frameworks.seats import draw
from tests.frameworks.smoke import run_script


def make_learner(env: Any, **settings: Any) -> Any:
    return MaskablePPO("MlpPolicy", env, seed=1, device="cpu", **settings)


@pytest.mark.parametrize("variant", ["international", "rifki", "turkish_short_pairs"])
def test_rewards_add_up_to_the_scores(variant: str) -> None:
    env = KingSb3VecEnv(4, variant=variant, episode="match", opponents="random")
    rng = np.random.default_rng(1)
    env.seed(1)
    env.reset()
    sums, ended = np.zeros(4), 0
    while ended < 8:
        _, rewards, over, infos = env.step(draw(get_action_masks(env), rng))
        assert rewards.dtype == np.float32
        sums += rewards
        for game in np.flatnonzero(over):
            scores, seat = infos[game]["scores"], infos[game]["seat"]
            team = scores[(seat + 2) % 4] if variant.endswith("pairs") else 0
            assert sums[game] == scores[seat] + team
            sums[game] = 0
            ended += 1


def test_an_episode_ends_and_the_next_begins_in_one_step() -> None:
    """Game by game it is what ``KingSeatEnv`` shows of the same deals."""
    env = KingSb3VecEnv(2, opponents="rule")
    alone = [KingSeatEnv(obs_format="flat", opponents="rule") for _ in range(2)]
    env.seed(5)
    seen = env.reset()
    assert seen.shape == (2, observe.NUM_FEATURES) and env.observation_space.contains(seen[0])
    numbers = [0, 1]
    for game, other in enumerate(alone):
        first, info = other.reset(seed=5, options={"match": game})
        assert np.array_equal(first, seen[game])
        assert env.reset_infos[game]["seat"] == info["seat"]
    ended = 0
    while ended < 6:
        masks = get_action_masks(env)
        actions = masks.argmax(axis=1)
        seen, rewards, over, infos = env.step(actions)
        for game, other in enumerate(alone):
            assert np.array_equal(masks[game], other.action_masks())
            now, reward, ends, _, info = other.step(actions[game])
            assert reward == rewards[game] and ends == over[game]
            assert infos[game]["match"] == numbers[game]
            assert infos[game]["TimeLimit.truncated"] is False
            assert ("terminal_observation" in infos[game]) == ends
            if ends:
                ended += 1
                assert np.array_equal(now, infos[game]["terminal_observation"])
                assert np.array_equal(info["scores"], infos[game]["scores"])
                numbers[game] += 2
                now, _ = other.reset(options={"match": numbers[game]})
                assert env.reset_infos[game]["match"] == numbers[game]
            assert np.array_equal(now, seen[game])


def test_same_seed_same_episodes() -> None:
    def trace(seed: int) -> list[Any]:
        env, rng = KingSb3VecEnv(4, True, opponents="random"), np.random.default_rng(1)
        env.seed(seed)
        env.reset()
        found = []
        for _ in range(40):
            seen, rewards, _, _ = env.step(draw(get_action_masks(env), rng))
            found.append((seen.sum(), rewards.tolist()))
        return found

    assert trace(3) == trace(3) != trace(4)


def test_the_learner_is_seeded_with_its_environment() -> None:
    def learn() -> Any:
        learner = make_learner(KingSb3VecEnv(4, opponents="random"), n_steps=32, batch_size=64)
        return learner.learn(256).policy.action_net.weight.detach().numpy()

    assert np.array_equal(learn(), learn())


def test_options_choose_the_deals() -> None:
    env = KingSb3VecEnv(3, opponents="random")
    env.seed(1)
    env.set_options([{"match": 7}, {"match": 5}, {"match": 7}])
    seen = env.reset()
    assert [info["match"] for info in env.reset_infos] == [7, 5, 7]
    assert np.array_equal(seen[0], seen[2]) and not np.array_equal(seen[0], seen[1])
    env.set_options([{"match": 7}, {}, {}])
    with pytest.raises(ValueError, match="match is wanted for all games or for none"):
        env.reset()


def test_attributes_and_methods() -> None:
    env = KingSb3VecEnv(3, variant=["international", "rifki"], opponents="random")
    env.reset()
    assert is_masking_supported(env) and not env.has_attr("no_such_thing")
    masks = env.env_method("action_masks")
    assert [mask.shape for mask in masks] == [(NUM_ACTIONS,)] * 3
    assert masks[0].dtype == np.bool_ and all(mask.any() for mask in masks)
    assert np.array_equal(env.env_method("action_masks", indices=[2])[0], masks[2])
    scales = env.get_attr("point_scale")
    assert scales[0] == scales[2] and env.get_attr("point_scale", 1) == [scales[1]]
    assert env.env_is_wrapped(object) == [False] * 3
    with pytest.raises(AttributeError, match="allowed: action_masks"):
        env.env_method("reset")
    with pytest.raises(AttributeError, match="make another environment"):
        env.set_attr("render_mode", "ansi")
    env.close()


class Watch(BaseCallback):  # type: ignore[misc]  # mypy skips SB3
    """Sees that each decision is legal and finite, and that rewards add up to scores."""

    def __init__(self, num_envs: int) -> None:
        super().__init__()
        self.sums = np.zeros(num_envs)
        self.decisions = self.ended = 0

    def _on_step(self) -> bool:
        now = self.locals
        assert now["action_masks"][np.arange(len(self.sums)), now["actions"]].all()
        assert np.isfinite(now["log_probs"].numpy()).all()
        self.sums += now["rewards"]
        self.decisions += len(self.sums)
        for game in np.flatnonzero(now["dones"]):
            info = now["infos"][game]
            assert self.sums[game] == info["scores"][info["seat"]]
            assert info["episode"]["r"] == self.sums[game]  # VecMonitor's
            self.sums[game] = 0
            self.ended += 1
        return True


def test_the_learner_draws_legal_actions_and_its_rewards_are_the_scores() -> None:
    """The engine refuses what is not legal."""
    env = VecMonitor(KingSb3VecEnv(32, opponents="random", skip_forced=False))
    learner = make_learner(env, n_steps=64, batch_size=512, n_epochs=1)
    watch = Watch(32)
    learner.learn(10_000, callback=watch)
    assert watch.decisions >= 10_000 and watch.ended > 100
    batch = learner.rollout_buffer
    taken = batch.actions.reshape(-1, 1).astype(int)
    assert np.take_along_axis(batch.action_masks.reshape(len(taken), -1), taken, 1).all()


def test_wrappers_and_files(tmp_path: Path) -> None:
    env = VecNormalize(VecMonitor(KingSb3VecEnv(4, opponents="random")), norm_reward=False)
    learner = make_learner(env, n_steps=16, batch_size=64).learn(128)
    learner.save(tmp_path / "learner")
    again = MaskablePPO.load(tmp_path / "learner", env=env, device="cpu")
    env.training = False
    found = []
    for which in (learner, again):
        env.seed(2)
        found.append(evaluate_policy(which, env, 8, return_episode_rewards=True)[0])
    assert found[0] == found[1] and len(found[0]) == 8


def test_a_single_seat_needs_no_adapter() -> None:
    env = KingSeatEnv(obs_format="flat", opponents="random")
    assert make_learner(env, n_steps=64, batch_size=64).learn(64).num_timesteps == 64


def test_script(tmp_path: Path) -> None:
    run_script("sb3", tmp_path)
