"""King for stable-baselines3: many learners' seats at once as its ``VecEnv``, with masks.

One batched engine plays all games, where SB3's own vector environments step them one by one in
Python. sb3-contrib's MaskablePPO asks for masks through ``env_method("action_masks")``, and through
wrappers such as ``VecMonitor`` and ``VecNormalize`` too. Opponents are agents, so what the other
seats do lies between two steps of the learner.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from king_env.adapters import framework
from king_env.adapters.seats import make_seats

_vec_env: Any = framework("stable_baselines3.common.vec_env")

Array = npt.NDArray[Any]

BY_GAME: Final = ("point_scale", "variants")
"""Attributes with an entry a game; others are the same in all games."""

METHODS: Final = ("action_masks", "mask_words", "render")
"""What ``env_method`` calls."""


class KingSb3VecEnv(_vec_env.VecEnv):  # type: ignore[misc]  # mypy skips SB3
    """N learners, each in a seat of its own game: ``KingSeatVectorEnv`` under SB3's names.

    Observations are the float vectors, `[N, F]`. A game that has ended begins anew in the same
    step: its info has ``terminal_observation`` and ``scores``, `[4]`, beside the ``seat`` and
    ``match`` of what has ended, and ``reset_infos`` those of what has begun. Rewards are float32,
    which holds points exactly.

    A seed is one of all games: game i plays deals i, i + N, i + 2N, ... of it.

    Args:
        num_envs: number of games, N.
        scale_rewards: divide rewards by the points of a mean deal, for learning.
        **kwargs: as ``KingSeatVectorEnv``: ``variant``, ``opponents``, ``seat``, ``episode``, ...
    """

    def __init__(self, num_envs: int, scale_rewards: bool = False, **kwargs: Any) -> None:
        self.env = make_seats(num_envs, scale_rewards, obs_format="flat", **kwargs)
        super().__init__(num_envs, self.env.single_observation_space, self.env.single_action_space)
        self.actions: Array = np.zeros(num_envs, dtype=np.int64)

    def reset(self) -> Any:
        """Starts all games, with the seed of ``seed`` and the options of ``set_options`` if any.

        Raises:
            ValueError: if options are given for some of the games only, or are not allowed.
        """
        options = {}
        for name in sorted({name for given in self._options for name in given}):
            if not all(name in given for given in self._options):
                raise ValueError(f"set_options: {name} is wanted for all games or for none")
            options[name] = np.array([given[name] for given in self._options])
        seen, infos = self.env.reset(seed=self._seeds[0], options=options or None)
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [self._told(infos, game) for game in range(self.num_envs)]
        return seen

    def step_async(self, actions: Array) -> None:
        """Takes the actions of the next step, `[N]`."""
        self.actions = actions

    def step_wait(self) -> tuple[Any, Array, Array, list[dict[str, Any]]]:
        """Plays up to the learners' next decisions.

        Returns:
            Observations; rewards; which games have ended; infos.

        Raises:
            IllegalActionError: if an action is not legal; nothing has changed.
        """
        seen, rewards, over, _, infos = self.env.step(self.actions)
        told = [self._told(infos, game) for game in range(self.num_envs)]
        for game in np.flatnonzero(over).tolist():
            self.reset_infos[game] = told[game]
            final = infos["final_info"]
            told[game] = self._told(final, game) | {
                "scores": final["scores"][game],
                "terminal_observation": infos["final_obs"][game],
            }
        return seen, rewards.astype(np.float32), over, told

    @staticmethod
    def _told(infos: dict[str, Any], game: int) -> dict[str, Any]:
        """Returns what is told of a game; no episode is ever cut short."""
        return {
            "seat": int(infos["seat"][game]),
            "match": int(infos["match"][game]),
            "TimeLimit.truncated": False,
        }

    def close(self) -> None:
        """Closes the games."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns an attribute of the games.

        Raises:
            AttributeError: if they have no such attribute.
        """
        value = getattr(self.env.unwrapped, attr_name)
        by_game = attr_name in BY_GAME
        return [value[game] if by_game else value for game in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuses: one engine plays all games, as it was told when it was made."""
        raise AttributeError(f"{attr_name}: games cannot be changed; make another environment")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Calls ``action_masks``, ``mask_words`` or ``render`` of the games.

        Raises:
            AttributeError: if it is another method, which would concern all games.
        """
        if method_name not in METHODS:
            raise AttributeError(f"method: found {method_name}; allowed: {', '.join(METHODS)}")
        result = getattr(self.env.unwrapped, method_name)(*method_args, **method_kwargs)
        games = self._get_indices(indices)
        return [None if result is None else result[game] for game in games]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Tells that no game has a wrapper of its own."""
        return [False for _ in self._get_indices(indices)]
