"""King for PettingZoo's parallel interface: all four seats step together, one of them acts.

King is played in turn. At each step every agent gets an observation; only the mask of the seat to
act holds a 1, and only its action counts. What the other three send is not looked at: anything will
do, and they may be left out. (``Discrete.sample`` picks action 0 on an empty mask.) See
``envs.core`` for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from pettingzoo import ParallelEnv

from king_env.engine.layout import NUM_SEATS
from king_env.envs.core import AGENTS, RENDER_MODES, KingCore, Observation
from king_env.game import IllegalActionError
from king_env.rules.catalogue import Variant

Infos: TypeAlias = dict[str, dict[str, Any]]


class parallel_env(KingCore, ParallelEnv[str, Any, Any]):  # type: ignore[misc]  # as raw_env
    """King, four seats ``player_0`` .. ``player_3``, which step together.

    Args:
        variant: a variant's name, the path of a variant file, or a loaded variant.
        illegal: what follows an illegal action of the seat to act. ``"end"``: the episode ends with
            a reward of -1 for that seat, whose info says why under ``illegal_action``, as ``env()``
            does through PettingZoo's wrapper; ``"raise"``: IllegalActionError, as ``raw_env()``.
        **kwargs: as ``raw_env``.

    Raises:
        VariantError: if the variant or an option is not allowed.
        ValueError: if another argument is not allowed.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # PettingZoo declares it so
        "name": "king_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": True,
        "render_fps": 2,
    }

    def __init__(
        self,
        variant: str | Path | Variant = "international",
        *,
        illegal: str = "end",
        **kwargs: Any,
    ) -> None:
        if illegal not in ("end", "raise"):
            raise ValueError(f"illegal: found {illegal!r}; allowed: end, raise")
        super().__init__(variant, **kwargs)
        self._raises = illegal == "raise"

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Observation], Infos]:
        """Starts an episode; arguments and errors as ``raw_env.reset``.

        Returns:
            Observations and infos by agent.
        """
        self._begin(seed, options)
        return self._seen()

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, Observation], dict[str, int], dict[str, bool], dict[str, bool], Infos]:
        """Plays the action of the seat to act.

        Args:
            actions: actions by agent. That of the seat to act must be there and legal; those of the
                others are ignored, whatever they are, and may be left out.

        Returns:
            Observations, rewards, terminations, truncations and infos by agent: of all four, with
            the last step too; then ``agents`` is empty, and further steps give empty dicts.

        Raises:
            ValueError: if the action of the seat to act is missing; nothing has changed.
            IllegalActionError: if it is not legal and ``illegal="raise"``; nothing has changed.
        """
        if not self.agents:
            return {}, {}, {}, {}, {}
        agent = AGENTS[self.game.actor or 0]
        if agent not in actions:
            found = ", ".join(map(str, actions)) or "none"
            raise ValueError(f"actions: found {found}; expected that of {agent}, who is to act")
        action = actions[agent]
        rewards = dict.fromkeys(AGENTS, 0)
        try:
            if action is None:
                raise IllegalActionError(f"action None of {agent}: the episode goes on")
            status = self._advance(agent, action)
            rewards = dict(zip(AGENTS, status[:NUM_SEATS], strict=True))
        except IllegalActionError as error:
            if self._raises:
                raise
            rewards[agent] = -1
            self.terminations = dict.fromkeys(AGENTS, True)
            self.infos[agent] = {"action_mask": self._no_mask, "illegal_action": str(error)}
        if self.terminations[agent]:
            self.agents = []
        if self.render_mode == "human":
            print(self.game)
        observations, infos = self._seen()
        return observations, rewards, dict(self.terminations), dict(self.truncations), infos

    def _seen(self) -> tuple[dict[str, Observation], Infos]:
        """Returns observations and infos; the dicts are the caller's."""
        observations = {agent: self.observe(agent) for agent in AGENTS}
        return observations, {agent: dict(info) for agent, info in self.infos.items()}


__all__ = ["parallel_env"]
