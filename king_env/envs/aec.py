"""King for PettingZoo's AEC interface: one seat acts at a time. See ``envs.core`` for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from king_env.engine import batch
from king_env.engine.actions import ActionId
from king_env.engine.layout import NOBODY, NUM_SEATS
from king_env.envs.core import AGENTS, RENDER_MODES, KingCore
from king_env.game import IllegalActionError


def env(**kwargs: Any) -> AECEnv[str, Any, Any]:
    """Returns King with PettingZoo's usual wrappers; arguments as ``raw_env``.

    An illegal action ends the episode with a reward of -1 for the seat that made it.
    """
    wrapped: Any = raw_env(**kwargs)
    wrapped = wrappers.TerminateIllegalWrapper(wrapped, illegal_reward=-1)
    wrapped = wrappers.AssertOutOfBoundsWrapper(wrapped)
    return wrappers.OrderEnforcingWrapper(wrapped)


class raw_env(KingCore, AECEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo is untyped
    """King, four seats ``player_0`` .. ``player_3``; arguments and errors as ``KingCore``."""

    metadata: dict[str, Any] = {  # noqa: RUF012  # PettingZoo declares it so
        "name": "king_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Starts an episode.

        Args:
            seed: seed of the deals; None goes on with the next match of the seed in use.
            options: ``match``: number of the match or deal under the seed; ``hands``: four hands of
                card names for the first deal; ``dealer``: its dealer. For ``episode="deal"`` also
                ``position``: place of the deal in the match's schedule, from 0; ``contract`` and,
                where it is declared with one, ``trump`` (``S H D C``, or ``NT`` for none): the deal
                starts at PLAY with this contract, declared by the seat that would choose, and
                nobody pays. An unknown key warns once.

        Raises:
            ValueError: if a known option has a value that is not allowed; nothing has changed.
        """
        self._begin(seed, options)
        self.rewards = dict.fromkeys(AGENTS, 0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0)
        self.agent_selection = AGENTS[self.game.actor or 0]

    def step(self, action: ActionId | None) -> None:
        """Plays an action for the agent selected; None for one whose episode has ended.

        Raises:
            IllegalActionError: if the action is not legal; nothing has changed.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if action is None:
            raise IllegalActionError(f"action None of {agent}: the episode goes on")
        status = self._advance(agent, action)
        actor = status[batch.STATUS_ACTOR]
        self.agent_selection = AGENTS[0 if actor == NOBODY else actor]
        # Most actions score nothing: no loop over the seats then.
        totals = self._cumulative_rewards
        totals[agent] = 0
        self.rewards = dict(zip(AGENTS, status[:NUM_SEATS], strict=True))
        if any(status[:NUM_SEATS]):
            for name, reward in self.rewards.items():
                totals[name] += reward
        if self.render_mode == "human":
            print(self.game)


__all__ = ["AGENTS", "env", "raw_env"]
