"""King for PettingZoo's AEC interface: one seat acts at a time.

An episode is a match or a single deal. Rewards are points, paid to all four seats whenever they are
scored; their sum over the episode is the score. The mask is ``observation["action_mask"]`` and the
same array in ``infos[agent]["action_mask"]``: all zero for a seat that is not to act.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from king_env.engine import batch, observe
from king_env.engine.actions import NUM_ACTIONS, ActionId
from king_env.engine.layout import NOBODY, NUM_SEATS
from king_env.game import Game, IllegalActionError
from king_env.rules.catalogue import Variant, load_variant

AGENTS: Final = [f"player_{seat}" for seat in range(NUM_SEATS)]
_SEAT_OF: Final = {agent: seat for seat, agent in enumerate(AGENTS)}
_RESET_OPTIONS: Final = ("match", "dealer", "hands")

Observation = dict[str, npt.NDArray[Any]]


def env(**kwargs: Any) -> AECEnv[str, Any, Any]:
    """Returns King with PettingZoo's usual wrappers; arguments as ``raw_env``.

    An illegal action ends the episode with a reward of -1 for the seat that made it.
    """
    wrapped: Any = raw_env(**kwargs)
    wrapped = wrappers.TerminateIllegalWrapper(wrapped, illegal_reward=-1)
    wrapped = wrappers.AssertOutOfBoundsWrapper(wrapped)
    return wrappers.OrderEnforcingWrapper(wrapped)


class raw_env(AECEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo is untyped
    """King, four seats ``player_0`` .. ``player_3``.

    Args:
        variant: a variant's name or the path of a variant file.
        options: options of the variant.
        episode: ``"match"`` or ``"deal"``.
        start: ``"play"`` skips choice and auction (deals only).
        reward: ``"step"`` pays points as they are scored, ``"deal"`` at the end of their deal.
        render_mode: ``"ansi"`` (``render`` returns text), ``"human"`` (steps print it) or None.

    Raises:
        VariantError: if the variant or an option is not allowed.
        ValueError: if another argument is not allowed.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # PettingZoo declares it so
        "name": "king_v0",
        "render_modes": ["ansi", "human"],
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        variant: str | Path | Variant = "international",
        *,
        options: Mapping[str, object] | None = None,
        episode: str = "match",
        start: str = "decision",
        reward: str = "step",
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        if reward not in ("step", "deal"):
            raise ValueError(f"reward: found {reward!r}; allowed: step, deal")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode: found {render_mode!r}; allowed: ansi, human, None")
        self.variant = variant if isinstance(variant, Variant) else load_variant(variant, options)
        self.render_mode = render_mode
        self._episode = episode
        self._start = start
        self._by_deal = int(reward == "deal")
        self._seed: int | None = None
        self._warned: set[str] = set()
        self._match = 0
        self.game = Game(self.variant, episode=episode, start=start)
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        low = np.zeros(observe.NUM_FEATURES, dtype=np.float32)
        low[observe.NUM_BITS :] = -observe.NUMBER_BOUND
        high = np.ones(observe.NUM_FEATURES, dtype=np.float32)
        high[observe.NUM_BITS :] = observe.NUMBER_BOUND
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(low, high, dtype=np.float32),
                    "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), dtype=np.int8),
                }
            )
            for agent in AGENTS
        }
        self.action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in AGENTS}
        self.state_space = spaces.Box(
            np.concatenate([np.zeros(observe.NUM_HIDDEN, dtype=np.float32), low]),
            np.concatenate([np.ones(observe.NUM_HIDDEN, dtype=np.float32), high]),
            dtype=np.float32,
        )
        self._no_mask = np.zeros(NUM_ACTIONS, dtype=np.int8)
        self._no_mask.flags.writeable = False
        self._bits = np.zeros((1, observe.NUM_WORDS), dtype=np.uint64)
        self._numbers = np.zeros((1, observe.NUM_NUMBERS), dtype=np.int16)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the observation space of an agent, the same object every time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the action space of an agent, the same object every time."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Starts an episode.

        Args:
            seed: seed of the deals; None goes on with the next match of the seed in use.
            options: ``match``: number of the match or deal under the seed; ``hands``: four hands of
                card names for the first deal; ``dealer``: its dealer.

        Raises:
            ValueError: if a known option has a value that is not allowed.
        """
        wanted = dict(options or {})
        for key in sorted(set(wanted) - set(_RESET_OPTIONS) - self._warned):
            self._warned.add(key)
            allowed = ", ".join(_RESET_OPTIONS)
            warnings.warn(f"reset option {key!r} is unknown; allowed: {allowed}", stacklevel=2)
        if seed is not None:
            self._seed, self._match = int(seed), 0
        elif self._seed is None:
            self._seed = int(np.random.default_rng().integers(2**63))
        else:
            self._match += 1
        match = wanted.get("match", self._match)
        if not isinstance(match, (int, np.integer)) or match < 0:
            raise ValueError(f"reset option match: found {match!r}; allowed: 0 and more")
        self._match = int(match)
        self.game = Game(
            self.variant,
            seed=self._seed,
            match=self._match,
            episode=self._episode,
            start=self._start,
        )
        if "hands" in wanted or "dealer" in wanted:
            hands = wanted.get("hands", self.game.deals[0].dealt)
            self.game.set_hands(hands, wanted.get("dealer"))
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos = {agent: {"action_mask": self._no_mask} for agent in AGENTS}
        mask = np.zeros(NUM_ACTIONS, dtype=np.int8)
        observe.mask_to_int8(self.game.games, 0, mask)
        self.agent_selection = AGENTS[self.game.actor or 0]
        self.infos[self.agent_selection]["action_mask"] = mask

    def observe(self, agent: str) -> Observation:
        """Returns ``observation``, `[F]` float32 of what an agent may know, and ``action_mask``."""
        out = np.empty(observe.NUM_FEATURES, dtype=np.float32)
        game = self.game
        batch.observe_single(
            game.plain_games, game.plain_tables, 0, _SEAT_OF[agent], self._bits, self._numbers, out
        )
        return {"observation": out, "action_mask": self.infos[agent]["action_mask"]}

    def state(self) -> npt.NDArray[np.float32]:
        """Returns everything, hidden cards too: all hands, cards to come, then seat 0's view."""
        out = np.empty(observe.NUM_HIDDEN + observe.NUM_FEATURES, dtype=np.float32)
        game = self.game
        observe.observe_state(game.games, 0, out)
        batch.observe_single(
            game.plain_games,
            game.plain_tables,
            0,
            0,
            self._bits,
            self._numbers,
            out[observe.NUM_HIDDEN :],
        )
        return out

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
        mask = np.zeros(NUM_ACTIONS, dtype=np.int8)
        status = self.game.advance(int(action), self._by_deal, mask)
        infos = self.infos
        infos[agent]["action_mask"] = self._no_mask
        actor = status[batch.STATUS_ACTOR]
        if actor == NOBODY:
            self.terminations = dict.fromkeys(AGENTS, True)
            self.agent_selection = AGENTS[0]
        else:
            self.agent_selection = AGENTS[actor]
            infos[self.agent_selection]["action_mask"] = mask
        # Most actions score nothing: no loop over the seats then.
        totals = self._cumulative_rewards
        totals[agent] = 0
        self.rewards = dict(zip(AGENTS, status[:NUM_SEATS], strict=True))
        if any(status[:NUM_SEATS]):
            for name, reward in self.rewards.items():
                totals[name] += reward
        if self.render_mode == "human":
            print(self.game)

    def render(self) -> str | None:
        """Returns the table as text, all cards open."""
        if self.render_mode is None:
            warnings.warn("render() without a render_mode; allowed: ansi, human", stacklevel=2)
            return None
        if self.render_mode == "human":
            print(self.game)
            return None
        return str(self.game)

    def clone(self) -> raw_env:
        """Returns a copy that goes its own way; the continuation is the same."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.game = self.game.clone()
        if self.agents:
            other.agents = list(self.agents)
            other.rewards = dict(self.rewards)
            other._cumulative_rewards = dict(self._cumulative_rewards)
            other.terminations = dict(self.terminations)
            other.truncations = dict(self.truncations)
            other.infos = {agent: dict(info) for agent, info in self.infos.items()}
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> raw_env:
        """Returns a clone."""
        return self.clone()

    def close(self) -> None:
        """Does nothing: there is nothing to close."""


__all__ = ["AGENTS", "env", "raw_env"]
