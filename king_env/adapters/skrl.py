"""King for skrl: many learners' seats at once, and a policy that knows masks.

skrl has no masks: they travel in the observation, a dict that skrl flattens, and the policy unpacks
them. Opponents are agents, so what the other seats do lies between two steps of the learner.
"""

from __future__ import annotations

from typing import Any

from king_env.adapters import MASKED, framework
from king_env.adapters.seats import make_seats
from king_env.engine import observe
from king_env.engine.actions import NUM_ACTIONS

_wrappers: Any = framework("skrl.envs.wrappers.torch")
_models: Any = framework("skrl.models.torch")
_spaces: Any = framework("skrl.utils.spaces.torch")
torch: Any = framework("torch")


def make_env(num_envs: int, scale_rewards: bool = False, **kwargs: Any) -> Any:
    """Returns seats of King wrapped for skrl's agents and trainers; arguments as ``make_seats``."""
    env = make_seats(num_envs, scale_rewards, obs_format="dict", **kwargs)
    return _wrappers.wrap_env(env, wrapper="gymnasium", verbose=False)


def unpack(model: Any, inputs: dict[str, Any]) -> tuple[Any, Any]:
    """Returns observations `[M, F]` and masks `[M, A]`, bool, of a model's inputs."""
    parts = _spaces.unflatten_tensorized_space(model.observation_space, inputs["observations"])
    return parts["observation"].float(), parts["action_mask"] > 0


def perceptron(outputs: int, hidden: int) -> Any:
    """Returns a network of observations."""
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(observe.NUM_FEATURES, hidden), nn.ReLU(), nn.Linear(hidden, outputs)
    )


class MaskedPolicy(_models.CategoricalMixin, _models.Model):  # type: ignore[misc]  # skrl is untyped
    """A perceptron whose logits of illegal actions are all but minus infinity.

    Args:
        env: the environment, for its spaces.
        hidden: width of its layer.
    """

    def __init__(self, env: Any, hidden: int = 128) -> None:
        _models.Model.__init__(
            self, observation_space=env.observation_space, action_space=env.action_space
        )
        _models.CategoricalMixin.__init__(self, unnormalized_log_prob=True)
        self.network = perceptron(NUM_ACTIONS, hidden)

    def compute(self, inputs: dict[str, Any], role: str = "") -> tuple[Any, dict[str, Any]]:
        """Returns logits."""
        seen, legal = unpack(self, inputs)
        return torch.where(legal, self.network(seen), MASKED), {}


class Value(_models.DeterministicMixin, _models.Model):  # type: ignore[misc]  # skrl is untyped
    """A perceptron of values.

    Args:
        env: the environment, for its spaces.
        hidden: width of its layer.
    """

    def __init__(self, env: Any, hidden: int = 128) -> None:
        _models.Model.__init__(
            self, observation_space=env.observation_space, action_space=env.action_space
        )
        _models.DeterministicMixin.__init__(self)
        self.network = perceptron(1, hidden)

    def compute(self, inputs: dict[str, Any], role: str = "") -> tuple[Any, dict[str, Any]]:
        """Returns values."""
        return self.network(unpack(self, inputs)[0]), {}
