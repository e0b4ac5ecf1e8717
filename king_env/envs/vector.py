"""King for Gymnasium, batched: N learners in step, opponents played by the engine.

Axes: N games, A actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from king_env.engine.actions import NUM_ACTIONS
from king_env.envs.opponents import OpponentsLike
from king_env.envs.seats import OptionReader, Outputs, SeatGames, observation_space
from king_env.rules.catalogue import Variant

Array = npt.NDArray[Any]
Infos = dict[str, Any]


class KingSeatVectorEnv(VectorEnv[Any, Any, Array]):
    """N learners: ``gymnasium.make_vec("king/KingSeat-v0", N, ...)``.

    Slot i plays episodes i, i + N, i + 2N, ... of the seed, each as ``KingSeatEnv`` does; arguments
    that are not named here are its arguments. ``infos`` has ``action_mask``, `[N, A]` int8, and
    ``seat`` and ``match``, `[N]` int64, each with its ``_name``, `[N]` bool, which games it is of;
    where episodes have ended also ``scores``, `[N, 4]` int64. With SAME_STEP what belongs to the
    episode that has ended is in ``final_obs`` and ``final_info``, and the rest is the new one's.

    Args:
        num_envs: N.
        variant: a variant; a list gives game i entry i mod length.
        autoreset_mode: what happens to a game that has ended. ``NEXT_STEP``: its next action is
            ignored, and that step begins the next episode; ``SAME_STEP``: it begins at once;
            ``DISABLED``: ``reset`` with ``options={"reset_mask": ...}`` has to begin it.
        copy: True: each call returns arrays of its own. False: arrays are made once, and the ones
            returned are written anew by the call after the next, so that an observation and the one
            before can be used together.

    Raises:
        VariantError: if the variant or an option is not allowed.
        ValueError: if another argument is not allowed.
    """

    def __init__(
        self,
        num_envs: int = 1,
        variant: str | Path | Variant | Sequence[str | Variant] = "international",
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
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise ValueError(f"render_mode: found {render_mode!r}; allowed: ansi, None")
        try:
            self._mode = AutoresetMode(autoreset_mode)
        except ValueError:
            allowed = ", ".join(mode.value for mode in AutoresetMode)
            raise ValueError(
                f"autoreset_mode: found {autoreset_mode!r}; allowed: {allowed}"
            ) from None
        self.metadata = {"render_modes": ["ansi"], "autoreset_mode": self._mode}
        self.render_mode = render_mode
        self.num_envs = num_envs
        self._seats = SeatGames(
            variant,
            num_envs,
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
        self.variants = self._seats.variants
        self.point_scale = self._seats.tables.point_scale[self._seats.games.variant].astype(int)
        self.single_observation_space = observation_space(obs, obs_format)
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._options = OptionReader("match", "reset_mask")
        self._rows = np.arange(num_envs, dtype=np.int64)
        self._everyone = np.ones(num_envs, dtype=np.bool_)
        self._waiting = np.zeros(num_envs, dtype=np.uint8)
        self._begun = False
        self._copy = copy
        self._pair = [] if copy else [self._new_outputs(num_envs) for _ in range(2)]
        self._out = self._pair[0] if self._pair else self._new_outputs(0)

    def _new_outputs(self, size: int) -> Outputs:
        return Outputs(size, self._seats.obs, self._seats.obs_format)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Infos]:
        """Starts an episode in every game, or in some.

        Args:
            seed: seed of the deals, and of what opponents draw; None goes on with the next episodes
                of the seed in use.
            options: ``match``: `[N]` numbers of matches or deals under the seed, or the number of
                game 0's, those of the others following it; ``reset_mask``: `[N]` bool, the games
                to start (the others stay as they are; not with ``seed``).

        Raises:
            ValueError: if an option has a value that is not allowed.
        """
        super().reset(seed=seed)
        wanted = self._options.read(options)
        mask = self._read_mask(wanted.get("reset_mask"), seed)
        fresh = seed is not None
        if seed is not None:
            self._seats.reseed(seed)
        elif not self._begun:
            self._seats.reseed(int(self.np_random.integers(2**63)))
            fresh = True
        numbers = self._seats.numbers
        rows = np.flatnonzero(mask)
        if "match" in wanted:
            numbers[rows] = self._read_numbers(wanted["match"])[rows]
        elif fresh:
            numbers[rows] = rows
        else:
            numbers[rows] += self.num_envs
        self._begun = True
        self._waiting[rows] = 0
        self._seats.begin(rows)
        return self._observe(), self._infos(mask)

    def _read_mask(self, mask: Any, seed: int | None) -> npt.NDArray[np.bool_]:
        if mask is None:
            return self._everyone
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise ValueError(f"reset option reset_mask: expected a bool array, found {mask!r:.80}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"reset option reset_mask: expected shape ({self.num_envs},) and one game at least"
            )
        if seed is not None and not mask.all():
            raise ValueError("reset option reset_mask: a new seed starts all games")
        if not self._begun and not mask.all():
            raise ValueError("reset option reset_mask: the first reset starts all games")
        return mask

    def _read_numbers(self, match: Any) -> npt.NDArray[np.int64]:
        given = np.asarray(match)
        if given.dtype.kind in "iu" and given.shape == ():
            given = given + np.arange(self.num_envs)
        if given.dtype.kind not in "iu" or given.shape != (self.num_envs,) or given.min() < 0:
            raise ValueError(
                f"reset option match: found {match!r:.80}; allowed: 0 and more, one number or "
                f"{self.num_envs}"
            )
        return given.astype(np.int64)

    def step(self, actions: Array) -> tuple[Any, Array, Array, Array, Infos]:
        """Plays an action in each game, then the opponents' up to the learner's next decision.

        Args:
            actions: `[N]` integers; ignored in games that begin their next episode.

        Returns:
            Observations; rewards, `[N]` float64 points; terminations, `[N]` bool; truncations, all
            False; infos.

        Raises:
            ValueError: if the actions are malformed.
            IllegalActionError: if one is not legal, with ``illegal="raise"``; nothing has changed.
            ResetNeeded: before the first reset, or where a game has ended and nobody began its next
                episode.
        """
        games = self._seats
        waiting = self._waiting
        if not self._begun:
            raise ResetNeeded("call reset before step")
        if self._mode is AutoresetMode.DISABLED and waiting.any():
            over = np.flatnonzero(waiting).tolist()
            raise ResetNeeded(f"games {over[:8]} have ended: reset them with reset_mask")
        games.act(actions, waiting)
        begun = np.flatnonzero(waiting)
        if begun.size:
            games.numbers[begun] += self.num_envs
            games.begin(begun)
        count = games.settle(waiting)
        infos: Infos = {}
        ended = games.ended.copy()
        if count and self._mode is AutoresetMode.SAME_STEP:
            self._close(ended, infos)
        else:
            waiting[:] = games.ended
        observations = self._observe()
        infos = self._infos(self._everyone) | infos
        if count and self._mode is not AutoresetMode.SAME_STEP:
            infos |= self._ending(ended)
        reward = games.reward.copy()
        return observations, reward, ended, np.zeros(self.num_envs, dtype=np.bool_), infos

    def mask_words(self) -> npt.NDArray[np.uint64]:
        """Returns the legal actions packed, action a is bit a % 64 of word a // 64: `[N, 3]`."""
        words = self._seats.games.deal.legal.copy()
        words[self._seats.closed != 0] = 0
        return words  # type: ignore[no-any-return]

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Returns the masks of legal actions: `[N, A]` bool."""
        return self._out.action_mask.astype(np.bool_)

    def render(self) -> tuple[str, ...] | None:
        """Returns each table as text, all cards open; None without a render_mode."""
        if self.render_mode is None:
            return None
        return tuple(str(self._seats.game(i)) for i in range(self.num_envs))

    def _observe(self) -> Any:
        """Observes all games; returns arrays of their own, or the other ones of the pair."""
        if self._copy:
            self._out = self._new_outputs(self.num_envs)
        else:
            self._out = self._pair[self._out is self._pair[0]]
        self._seats.observe(self._rows, self._out)
        return self._out.observation

    def _infos(self, mask: npt.NDArray[np.bool_]) -> Infos:
        games = self._seats
        infos: Infos = {
            "action_mask": self._out.action_mask,
            "seat": games.seats.copy(),
            "match": games.numbers.copy(),
        }
        infos |= {f"_{name}": mask.copy() for name in tuple(infos)}
        return infos

    def _ending(self, ended: npt.NDArray[np.bool_]) -> Infos:
        """Returns what is told of episodes that have ended."""
        games = self._seats
        scores = np.zeros((self.num_envs, 4), dtype=np.int64)
        scores[ended] = games.games.totals[ended]
        return {"scores": scores, "_scores": ended.copy()}

    def _close(self, ended: npt.NDArray[np.bool_], infos: Infos) -> None:
        """Tells of the episodes that have ended, then begins the next ones."""
        games = self._seats
        rows = np.flatnonzero(ended)
        out = self._new_outputs(len(rows))
        games.observe(rows, out)
        final = np.full(self.num_envs, None, dtype=object)
        for row, i in enumerate(rows):
            final[i] = out.observation_of(row)
        masks = np.zeros((self.num_envs, NUM_ACTIONS), dtype=np.int8)
        details: Infos = {
            "action_mask": masks,
            "seat": np.where(ended, games.seats, 0),
            "match": np.where(ended, games.numbers, 0),
        }
        details |= {f"_{name}": ended.copy() for name in tuple(details)}
        details |= self._ending(ended)
        infos |= {
            "final_obs": final,
            "_final_obs": ended.copy(),
            "final_info": details,
            "_final_info": ended.copy(),
        }
        games.numbers[rows] += self.num_envs
        games.begin(rows)
