"""What the AEC and the parallel environment share: arguments, spaces, episodes, observations.

An episode is a match or a single deal. Rewards are points, paid to all four seats whenever they are
scored; their sum over the episode is the score. In partnership variants a seat's points are those
of its team. The mask is ``observation["action_mask"]`` and the same array in
``infos[agent]["action_mask"]``: all zero for a seat that is not to act.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from king_env.engine import batch, observe
from king_env.engine.actions import NUM_ACTIONS
from king_env.engine.layout import NOBODY, NUM_SEATS
from king_env.envs.spaces import mask_space, vector_space
from king_env.game import Game
from king_env.history import history_of, history_space
from king_env.rules.catalogue import Variant, load_variant

AGENTS: Final = [f"player_{seat}" for seat in range(NUM_SEATS)]
SEAT_OF: Final = {agent: seat for seat, agent in enumerate(AGENTS)}
RENDER_MODES: Final = ("ansi", "human")
RESET_OPTIONS: Final = ("match", "position", "dealer", "hands", "contract", "trump")

Observation = dict[str, npt.NDArray[Any]]


class KingCore:
    """King, four seats ``player_0`` .. ``player_3``, without a turn order of its own.

    Args:
        variant: a variant's name, the path of a variant file, or a loaded variant.
        options: options of the variant.
        episode: ``"match"`` or ``"deal"``.
        start: ``"play"`` skips choice and auction (deals only).
        reward: ``"step"`` pays points as they are scored, ``"deal"`` at the end of their deal.
        history: observations also hold ``history``, the public actions of the deal in order, see
            ``king_env.history``.
        render_mode: ``"ansi"`` (``render`` returns text), ``"human"`` (steps print it) or None.

    Raises:
        VariantError: if the variant or an option is not allowed.
        ValueError: if another argument is not allowed.
    """

    def __init__(
        self,
        variant: str | Path | Variant = "international",
        *,
        options: Mapping[str, object] | None = None,
        episode: str = "match",
        start: str = "decision",
        reward: str = "step",
        history: bool = False,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        if reward not in ("step", "deal"):
            raise ValueError(f"reward: found {reward!r}; allowed: step, deal")
        if render_mode not in (None, *RENDER_MODES):
            raise ValueError(f"render_mode: found {render_mode!r}; allowed: ansi, human, None")
        self.variant = variant if isinstance(variant, Variant) else load_variant(variant, options)
        self.render_mode = render_mode
        self._episode = episode
        self._start = start
        self._by_deal = int(reward == "deal")
        self._history = bool(history)
        self._seed: int | None = None
        self._warned: set[str] = set()
        self._match = 0
        self.game = Game(self.variant, episode=episode, start=start)
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        self.infos: dict[str, dict[str, Any]] = {}
        self.terminations: dict[str, bool] = {}
        self.truncations: dict[str, bool] = {}
        vector = vector_space()
        self.observation_spaces = {}
        for agent in AGENTS:
            parts: dict[str, spaces.Space[Any]] = {
                "observation": vector_space(),
                "action_mask": mask_space(),
            }
            if history:
                parts["history"] = history_space()
            self.observation_spaces[agent] = spaces.Dict(parts)
        self.action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in AGENTS}
        self.state_space = spaces.Box(
            np.concatenate([np.zeros(observe.NUM_HIDDEN, dtype=np.float32), vector.low]),
            np.concatenate([np.ones(observe.NUM_HIDDEN, dtype=np.float32), vector.high]),
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

    def _begin(self, seed: int | None, options: Mapping[str, Any] | None) -> None:
        """Starts an episode; an option that is refused changes nothing.

        Args:
            seed: seed of the deals; None goes on with the next match of the seed in use.
            options: see ``raw_env.reset``.

        Raises:
            ValueError: if a known option has a value that is not allowed.
        """
        wanted = dict(options or {})
        for key in sorted(set(wanted) - set(RESET_OPTIONS) - self._warned):
            self._warned.add(key)
            allowed = ", ".join(RESET_OPTIONS)
            warnings.warn(f"reset option {key!r} is unknown; allowed: {allowed}", stacklevel=3)
        number = self._match + 1
        if seed is not None:
            number = 0
        elif self._seed is None:
            seed, number = int(np.random.default_rng().integers(2**63)), 0
        else:
            seed = self._seed
        match = wanted.get("match", number)
        whole = isinstance(match, (int, np.integer)) and not isinstance(match, bool)
        if not whole or not 0 <= match < 2**63:
            raise ValueError(f"reset option match: found {match!r}; allowed: 0 to 2**63 - 1")
        seed, match = int(seed), int(match)
        if not 0 <= seed < 2**64:
            raise ValueError(f"seed: found {seed}; allowed: 0 to 2**64 - 1")
        try:
            game = Game(
                self.variant,
                seed=seed,
                match=match,
                episode=self._episode,
                start=self._start,
                position=wanted.get("position"),
            )
            if wanted.get("dealer") is not None:
                game.set_dealer(wanted["dealer"])
            if wanted.get("hands") is not None:
                game.set_hands(wanted["hands"])
            if wanted.get("contract") is not None:
                game.set_contract(wanted["contract"], wanted.get("trump"))
            elif wanted.get("trump") is not None:
                raise ValueError(
                    f"trump: found {wanted['trump']!r}; allowed: together with a contract only"
                )
        except ValueError as error:
            raise ValueError(f"reset option {error}") from None
        self._seed, self._match, self.game = seed, match, game
        self.agents = list(AGENTS)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos = {agent: {"action_mask": self._no_mask} for agent in AGENTS}
        mask = np.zeros(NUM_ACTIONS, dtype=np.int8)
        observe.mask_to_int8(game.games, 0, mask)
        self.infos[AGENTS[game.actor or 0]]["action_mask"] = mask

    def _advance(self, agent: str, action: Any) -> list[int]:
        """Plays an action for the agent to act, and moves masks and terminations on.

        Returns:
            The status of ``batch.step_single``: four rewards, then the seat to act, or NOBODY.

        Raises:
            IllegalActionError: if the action is not legal; nothing has changed.
        """
        mask = np.zeros(NUM_ACTIONS, dtype=np.int8)
        status = self.game.advance(int(action), self._by_deal, mask)
        infos = self.infos
        infos[agent]["action_mask"] = self._no_mask
        actor = status[batch.STATUS_ACTOR]
        if actor == NOBODY:
            self.terminations = dict.fromkeys(AGENTS, True)
        else:
            infos[AGENTS[actor]]["action_mask"] = mask
        return status

    def observe(self, agent: str) -> Observation:
        """Returns what an agent may know.

        ``observation``, `[F]` float32; ``action_mask``, `[A]` int8; where it was asked for
        ``history``, `[H, 3]` int16.
        """
        out = np.empty(observe.NUM_FEATURES, dtype=np.float32)
        game = self.game
        seat = SEAT_OF[agent]
        batch.observe_single(
            game.plain_games, game.plain_tables, 0, seat, self._bits, self._numbers, out
        )
        seen = {"observation": out, "action_mask": self.infos[agent]["action_mask"]}
        if self._history:
            seen["history"] = history_of(game, seat)
        return seen

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

    def render(self) -> str | None:
        """Returns the table as text, all cards open."""
        if self.render_mode is None:
            warnings.warn("render() without a render_mode; allowed: ansi, human", stacklevel=2)
            return None
        if self.render_mode == "human":
            print(self.game)
            return None
        return str(self.game)

    def clone(self) -> Self:
        """Returns a copy that goes its own way; the continuation is the same."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.game = self.game.clone()
        for name in ("agents", "rewards", "_cumulative_rewards", "terminations", "truncations"):
            if name in self.__dict__:
                setattr(other, name, getattr(self, name).copy())
        other.infos = {agent: dict(info) for agent, info in self.infos.items()}
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Returns a clone."""
        return self.clone()

    def close(self) -> None:
        """Does nothing: there is nothing to close."""
