"""King for Gymnasium: one seat for the learner, the other three for given opponents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from king_env.engine.actions import NUM_ACTIONS
from king_env.envs.opponents import OpponentsLike
from king_env.envs.seats import OptionReader, Outputs, SeatGames, observation_space
from king_env.rules.catalogue import Variant

_ONE = np.zeros(1, dtype=np.int64)
_NOT_WAITING = np.zeros(1, dtype=np.uint8)


class KingSeatEnv(gymnasium.Env[Any, Any]):
    """One seat against opponents: ``gymnasium.make("king/KingSeat-v0", ...)``.

    The mask of legal actions, `[A]` int8, is ``info["action_mask"]`` and, the same array,
    ``observation["action_mask"]`` with ``obs_format="dict"``; ``action_masks()`` returns it too. It
    is all zero when the episode has ended. ``info`` also has ``seat``, the learner's, and
    ``match``, the number of the match or deal under the seed; at the end ``scores``, the points of
    all four seats.

    Rewards are points: the learner's own, or its team's in a partnership, scored since it last
    acted; their sum is its score. ``point_scale`` is what learners may divide them by.

    Args:
        variant: a variant's name, the path of a variant file, or a loaded variant.
        options: options of the variant.
        opponents: an agent's name (``"rule"``, a checkpoint, ...) or an agent for all other seats,
            or three, for the seats after the learner's in order; the second is its partner.
        seat: the learner's seat, or None: it changes from episode to episode, so that each place of
            the schedule falls to each seat equally often.
        episode: ``"deal"`` or ``"match"``.
        start: ``"play"`` skips choice and auction (deals only).
        reward: ``"step"`` pays points as they are scored, ``"deal"`` at the end of their deal.
        skip_forced: play the learner's moves that have no alternative.
        illegal: ``"raise"``: an illegal action is an error; ``"terminate"``: it ends the episode
            with a reward of -1, as checkers that sample without the mask want, and
            ``info["illegal"]`` says why.
        obs: ``"float"``, ``"dense"`` or ``"packed"``, see ``king_env.envs.seats``.
        obs_format: ``"dict"``, or ``"flat"``: the float vector alone.
        render_mode: ``"ansi"`` (``render`` returns text) or None.

    Raises:
        VariantError: if the variant or an option is not allowed.
        ValueError: if another argument is not allowed.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # Gymnasium declares it so
        "render_modes": ["ansi"],
        "render_fps": 2,
    }

    def __init__(
        self,
        variant: str | Path | Variant = "international",
        *,
        options: Mapping[str, object] | None = None,
        opponents: OpponentsLike = "rule",
        seat: int | None = None,
        episode: str = "deal",
        start: str = "decision",
        reward: str = "step",
        skip_forced: bool = True,
        illegal: str = "raise",
        obs: str = "float",
        obs_format: str = "dict",
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode: found {render_mode!r}; allowed: ansi, None")
        self.render_mode = render_mode
        self._seats = SeatGames(
            variant,
            1,
            options=options,
            opponents=opponents,
            seat=seat,
            episode=episode,
            start=start,
            reward=reward,
            skip_forced=skip_forced,
            illegal=illegal,
            obs=obs,
            obs_format=obs_format,
        )
        self.variant = self._seats.variants[0]
        self.point_scale = int(self._seats.tables.point_scale[0])
        self.observation_space = observation_space(obs, obs_format)
        self.action_space = spaces.Discrete(NUM_ACTIONS)
        self._options = OptionReader("match")
        self._next: int | None = None
        self._mask: npt.NDArray[np.int8] = np.zeros(NUM_ACTIONS, dtype=np.int8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode, up to the learner's first decision.

        Args:
            seed: seed of the deals, and of what opponents draw; None goes on with the next episode
                of the seed in use.
            options: ``match``: number of the match or deal under the seed. An episode in which
                nothing is left to decide for the learner is passed over.

        Raises:
            ValueError: if an option has a value that is not allowed.
        """
        super().reset(seed=seed)
        wanted = self._options.read(options)
        if seed is not None:
            self._seats.reseed(seed)
            self._next = 0
        elif self._next is None:
            self._seats.reseed(int(self.np_random.integers(2**63)))
            self._next = 0
        number = wanted.get("match", self._next)
        if not isinstance(number, (int, np.integer)) or number < 0:
            raise ValueError(f"reset option match: found {number!r}; allowed: 0 and more")
        self._seats.numbers[0] = number
        self._seats.begin(_ONE)
        self._next = int(self._seats.numbers[0]) + 1
        return self._observe()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Plays an action, then the opponents' up to the learner's next decision or the end.

        Raises:
            IllegalActionError: if it is not legal, with ``illegal="raise"``; nothing has changed.
            ResetNeeded: if the episode has ended.
        """
        games = self._seats
        if games.closed[0]:
            raise ResetNeeded("the episode has not begun or has ended: call reset")
        games.act(np.array([action]), _NOT_WAITING)
        games.settle(_NOT_WAITING)
        observation, info = self._observe()
        terminated = bool(games.ended[0])
        if terminated:
            info["scores"] = games.games.totals[0].astype(np.int64)
            if games.games.deal.actor[0] != 4:
                info["illegal"] = games.why_illegal(0, int(action))
        return observation, float(games.reward[0]), terminated, False, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Returns the mask of legal actions as sb3-contrib looks for it: `[A]` bool."""
        return self._mask.astype(np.bool_)

    def render(self) -> str | None:
        """Returns the table as text, all cards open."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() without a render_mode; allowed: ansi")
            return None
        return str(self._seats.game(0))

    def clone(self) -> KingSeatEnv:
        """Returns a copy that goes its own way; the continuation is the same."""
        from copy import deepcopy

        return deepcopy(self)

    def _observe(self) -> tuple[Any, dict[str, Any]]:
        games = self._seats
        out = Outputs(1, games.obs, games.obs_format)
        games.observe(_ONE, out)
        observation = out.observation_of(0)
        if isinstance(observation, dict):
            self._mask = observation["action_mask"]
        else:
            self._mask = out.action_mask[0]
        info = {
            "action_mask": self._mask,
            "seat": int(games.seats[0]),
            "match": int(games.numbers[0]),
        }
        return observation, info
