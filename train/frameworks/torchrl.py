"""TorchRL's PPO by self-play, one network in all four seats, then our own evaluation.

``python -m train.frameworks.torchrl --seconds 120``
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.modules import MaskedCategorical, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from king_env.adapters.torchrl import GROUP, acting, make_env
from train.evaluation.duplicate import Evaluation
from train.frameworks.common import NUM_ACTIONS, NUM_FEATURES, POINT_SCALE, VARIANT, Run


def perceptron(outputs: int) -> nn.Module:
    """Returns a network of observations."""
    return nn.Sequential(nn.Linear(NUM_FEATURES, 128), nn.ReLU(), nn.Linear(128, outputs))


def actor_of(network: nn.Module, *group: str) -> Any:
    """Returns the actor that reads and writes the keys of a group."""
    logits = TensorDictModule(
        network, in_keys=[(*group, "observation", "observation")], out_keys=[(*group, "logits")]
    )
    return ProbabilisticActor(
        logits,
        in_keys={"logits": (*group, "logits"), "mask": (*group, "action_mask")},
        out_keys=[(*group, "action")],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        log_prob_key=(*group, "log_prob"),
    )


def critic_of(network: nn.Module, *group: str) -> Any:
    """Returns the critic that reads and writes the keys of a group."""
    return TensorDictModule(
        network, in_keys=[(*group, "observation", "observation")], out_keys=[(*group, "value")]
    )


def main(argv: Sequence[str] | None = None) -> Evaluation:
    """Trains and evaluates."""
    run = Run.read("torchrl", 120, 2, argv)
    torch.set_num_threads(1)
    torch.manual_seed(run.seed)
    env = make_env(run.seed, variant=VARIANT, episode="deal")
    policy, value = perceptron(NUM_ACTIONS), perceptron(1)
    player = actor_of(policy, GROUP)
    advantages = GAE(gamma=1.0, lmbda=0.98, value_network=critic_of(value, GROUP))
    advantages.set_keys(
        reward=(GROUP, "reward"),
        done=(GROUP, "done"),
        terminated=(GROUP, "terminated"),
        value=(GROUP, "value"),
        advantage=(GROUP, "advantage"),
        value_target=(GROUP, "value_target"),
    )
    loss = ClipPPOLoss(
        actor_of(policy), critic_of(value), entropy_coeff=0.01, normalize_advantage=True
    )
    loss.set_keys(
        action="action", sample_log_prob="log_prob", value="value",
        advantage="advantage", value_target="value_target",
    )  # fmt: skip
    optimizer = torch.optim.Adam(loss.parameters(), 1e-3)
    while run.goes_on():
        with torch.no_grad():
            deals = [env.rollout(10_000, player) for _ in range(2 if run.smoke else 16)]
            for deal in deals:
                deal["next", GROUP, "reward"] /= POINT_SCALE
                advantages(deal)
        decisions = torch.cat([acting(deal) for deal in deals])
        for _ in range(4):
            for rows in torch.randperm(len(decisions)).split(256):  # type: ignore[no-untyped-call]
                parts = loss(decisions[rows])
                total = parts["loss_objective"] + parts["loss_critic"] + parts["loss_entropy"]
                optimizer.zero_grad()
                total.backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()
    return run.finish(policy)


if __name__ == "__main__":
    main()
