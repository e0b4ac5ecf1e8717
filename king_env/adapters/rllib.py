"""King for Ray RLlib's new API stack: a multi-agent environment, and a module that knows masks.

Each step returns an observation for the seat to act only, rewards for all four seats: RLlib counts
to each decision what its seat is paid until its next one. Observations are ``{"observations": [F],
"action_mask": [A]}``, float32, the names that RLlib's own example module looks for too.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from gymnasium import spaces

from king_env import king_v0
from king_env.adapters import MASKED, framework
from king_env.engine import observe
from king_env.engine.actions import NUM_ACTIONS
from king_env.envs.core import AGENTS

_multi_agent: Any = framework("ray.rllib.env.multi_agent_env")
_columns: Any = framework("ray.rllib.core.columns")
_module: Any = framework("ray.rllib.core.rl_module.torch.torch_rl_module")
_values: Any = framework("ray.rllib.core.rl_module.apis.value_function_api")
torch: Any = framework("torch")

SHARED: Final = "shared"
"""Name of the module that plays all four seats."""


class KingRllibEnv(_multi_agent.MultiAgentEnv):  # type: ignore[misc]  # RLlib is untyped
    """King, four agents ``player_0`` .. ``player_3``, of which one acts.

    Args:
        config: arguments of ``king_v0.raw_env``; ``scale`` is what rewards are divided by. Seeds
            come through ``reset``, from ``config.debugging(seed=...)``.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # Gymnasium declares it so

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        arguments = dict(config or {})
        self._scale = float(arguments.pop("scale", 1))
        self._seed: int | None = None
        self.king = king_v0.raw_env(**arguments)
        self.possible_agents = list(AGENTS)
        self.agents = list(AGENTS)
        inner: Any = self.king.observation_space(AGENTS[0])
        space = spaces.Dict(
            {
                "observations": inner["observation"],
                "action_mask": spaces.Box(0.0, 1.0, (NUM_ACTIONS,), np.float32),
            }
        )
        self.observation_spaces = dict.fromkeys(AGENTS, space)
        self.action_spaces = dict.fromkeys(AGENTS, spaces.Discrete(NUM_ACTIONS))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Starts an episode; see ``raw_env.reset``.

        A seed that comes again goes on with the next deal: RLlib gives its environments the same
        one at the start of every sample, and would learn the same few deals by heart.
        """
        if seed is not None:
            seed, self._seed = (None if seed == self._seed else seed), seed
        self.king.reset(seed, options)
        self.agents = list(AGENTS)
        agent = self.king.agent_selection
        return {agent: self._observe(agent)}, {}

    def step(self, action_dict: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Plays the action of the agent to act; at the end infos have each agent's ``score``."""
        king = self.king
        king.step(int(action_dict[king.agent_selection]))
        over = king.game.is_over
        seen = AGENTS if over else [king.agent_selection]
        observations = {agent: self._observe(agent) for agent in seen}
        rewards = {agent: king.rewards[agent] / self._scale for agent in AGENTS}
        infos: dict[str, Any] = {}
        if over:
            self.agents = []
            scores = zip(AGENTS, king.game.scores, strict=True)
            infos = {agent: {"score": score} for agent, score in scores}
        terminated = dict.fromkeys(seen, over) | {"__all__": over}
        return observations, rewards, terminated, {"__all__": False}, infos

    def _observe(self, agent: str) -> dict[str, Any]:
        seen = self.king.observe(agent)
        return {
            "observations": seen["observation"],
            "action_mask": seen["action_mask"].astype(np.float32),
        }


class MaskedModule(_module.TorchRLModule, _values.ValueFunctionAPI):  # type: ignore[misc]  # as above
    """Two perceptrons, for logits of legal actions and for values.

    ``model_config={"hidden": 128}`` sets their width.
    """

    def setup(self) -> None:
        """Makes the networks."""
        size, width = observe.NUM_FEATURES, int((self.model_config or {}).get("hidden", 128))
        nn = torch.nn
        self.actor = nn.Sequential(nn.Linear(size, width), nn.ReLU(), nn.Linear(width, NUM_ACTIONS))
        self.critic = nn.Sequential(nn.Linear(size, width), nn.ReLU(), nn.Linear(width, 1))

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        seen = batch[_columns.Columns.OBS]
        logits = self.actor(seen["observations"])
        legal = seen["action_mask"] > 0
        return {_columns.Columns.ACTION_DIST_INPUTS: torch.where(legal, logits, MASKED)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Any:
        """Returns values of observations."""
        return self.critic(batch[_columns.Columns.OBS]["observations"]).squeeze(-1)
