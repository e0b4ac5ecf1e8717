"""RLlib's PPO (new API stack) by self-play, one module in all four seats, then our own evaluation.

``python -m train.frameworks.rllib --seconds 180``
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # nothing leaves this machine

import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from king_env.adapters.rllib import SHARED, KingRllibEnv, MaskedModule
from train.evaluation.duplicate import Evaluation
from train.frameworks.common import POINT_SCALE, VARIANT, Run


def configure(seed: int, smoke: bool) -> PPOConfig:
    """Returns the configuration; sampling and learning stay in this process."""
    module = RLModuleSpec(module_class=MaskedModule, model_config={"hidden": 128})
    size = 128 if smoke else 2048
    return (
        PPOConfig()
        .environment(
            KingRllibEnv,
            env_config={"variant": VARIANT, "episode": "deal", "scale": POINT_SCALE},
            disable_env_checking=True,  # the check draws actions without looking at the mask
        )
        .multi_agent(policies={SHARED}, policy_mapping_fn=lambda agent, episode, **_: SHARED)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={SHARED: module}))
        .env_runners(num_env_runners=0, batch_mode="complete_episodes")
        .learners(num_learners=0)
        .training(
            lr=1e-3,
            gamma=1.0,
            lambda_=0.9,
            entropy_coeff=0.01,
            use_kl_loss=False,
            grad_clip=0.5,
            train_batch_size_per_learner=size,
            minibatch_size=min(256, size),
            num_epochs=4,
            shuffle_batch_per_epoch=True,
        )
        .debugging(seed=seed, log_level="ERROR")
    )


def start_ray() -> None:
    """Starts Ray for this process only, also where a cluster runs on this machine."""
    logging.getLogger("ray").setLevel(logging.ERROR)
    ray.init(
        address="local",
        num_cpus=1,
        include_dashboard=False,
        object_store_memory=100_000_000,
        log_to_driver=False,
        ignore_reinit_error=True,
    )


def main(argv: Sequence[str] | None = None) -> Evaluation:
    """Trains and evaluates."""
    run = Run.read("rllib", 180, 1, argv)
    start_ray()
    algorithm = configure(run.seed, run.smoke).build_algo()
    while run.goes_on():
        algorithm.train()
    network = algorithm.get_module(SHARED).actor
    result = run.finish(network)
    algorithm.stop()
    os.rmdir(algorithm.logdir)  # Ray makes it in the home folder, and it stays empty
    ray.shutdown()
    return result


if __name__ == "__main__":
    main()
