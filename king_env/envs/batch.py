"""The batched environment: N games in step, arrays in and out, all seats played by the caller.

A step takes one action for each game still in play and returns, for each of them, what the next
seat to act may know. Trajectories belong to seats: ``seat`` says whose decision a row is, and
``reward`` pays all four seats whenever points are scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from king_env.engine import batch, observe
from king_env.engine.actions import NUM_ACTIONS, NUM_MASK_WORDS
from king_env.engine.layout import Games, Tables, allocate
from king_env.rules.catalogue import Variant, load_variant
from king_env.rules.tables import make_tables

AUTORESET: Final = ("disabled", "next_step", "same_step")


class Opponents(Protocol):
    """Plays the seats whose ``control`` is not 0, in compiled code."""

    def advance(self, games: Games, tables: Tables, first: int, last: int) -> None:
        """Plays games ``first .. last - 1`` until a seat with control 0 is to act, or the end."""


@dataclass
class BatchStep:
    """What a step gives. Arrays are reused by the next step: copy what is kept.

    Axes: N games, M games in play.

    Attributes:
        rows: `[M]` int64, the games in play, ascending.
        seat: `[M]` int64, the seat to act in each.
        bits: `[M, W]` uint64 packed bits, or `[M, B]` uint8 with ``obs="dense"``.
        numbers: `[M, K]` int16, see ``observe.NUMBER_BLOCKS``.
        mask: `[M, 3]` uint64 packed, or `[M, A]` int8 with ``obs="dense"``.
        reward: `[N, 4]` int32, points each seat scored since the step before.
        done: `[N]` bool, the episode ended with this step.
    """

    rows: npt.NDArray[np.int64]
    seat: npt.NDArray[np.int64]
    bits: npt.NDArray[Any]
    numbers: npt.NDArray[np.int16]
    mask: npt.NDArray[Any]
    reward: npt.NDArray[np.int32]
    done: npt.NDArray[np.bool_]


class BatchEnv:
    """N games in step.

    Args:
        variant: a variant name, path or loaded variant; a list gives game i entry i mod length.
        num_envs: N.
        options: options of the variant.
        episode: ``"deal"`` or ``"match"``.
        start: ``"decision"``, or ``"play"`` to skip choice and auction (deals only).
        seed: seed of the deals, 0 .. 2**64 - 1.
        reward: ``"step"`` pays points as they are scored, ``"deal"`` at the end of their deal.
        skip_forced: play moves that have no alternative in the engine.
        obs: ``"packed"`` or ``"dense"``.
        autoreset: ``"disabled"``: games that are over leave ``rows``; ``"same_step"``: a game that
            ends starts its next episode in the same step; ``"next_step"``: it stays in ``rows``
            with an empty mask for one step, whose action is ignored.
        opponents: plays seats whose ``games.control`` is not 0.

    Slot i plays episodes i, i + N, i + 2N, ... of the seed.
    """

    def __init__(
        self,
        variant: str | Path | Variant | Sequence[str | Variant] = "international",
        num_envs: int = 1024,
        *,
        options: Mapping[str, object] | None = None,
        episode: str = "deal",
        start: str = "decision",
        seed: int = 0,
        reward: str = "step",
        skip_forced: bool = True,
        obs: str = "packed",
        autoreset: str = "disabled",
        opponents: Opponents | None = None,
    ) -> None:
        _check("episode", episode, ("deal", "match"))
        _check("start", start, ("decision", "play"))
        _check("reward", reward, ("step", "deal"))
        _check("obs", obs, ("packed", "dense"))
        _check("autoreset", autoreset, AUTORESET)
        if num_envs < 1:
            raise ValueError(f"num_envs: found {num_envs}; allowed: 1 and more")
        if episode == "match" and start == "play":
            raise ValueError("start='play' goes with episode='deal' only")
        _check_seed(seed)
        names: list[Any] = [variant] if isinstance(variant, (str, Path, Variant)) else list(variant)
        if not names:
            raise ValueError("variant: found an empty list; expected at least one variant")
        self.variants: list[Variant] = [
            name if isinstance(name, Variant) else load_variant(name, options) for name in names
        ]
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": autoreset}
        self.tables: Tables = make_tables([loaded.spec for loaded in self.variants])
        self.games: Games = allocate(num_envs)
        self.games.variant[:] = np.arange(num_envs) % len(self.variants)
        self.opponents = opponents
        self.seed = seed
        self._match = int(episode == "match")
        self._by_deal = int(reward == "deal")
        self._forced = int(skip_forced)
        self._dense = obs == "dense"
        self._autoreset = autoreset
        self._skip = np.full(num_envs, start == "play", dtype=np.uint8)
        self._numbers = np.arange(num_envs, dtype=np.int64)
        self._rows = np.zeros(num_envs, dtype=np.int64)
        self._seats = np.zeros(num_envs, dtype=np.int64)
        self._spare = np.zeros(num_envs, dtype=np.int64)
        self._pending = np.zeros(num_envs, dtype=np.bool_)
        self._bits = np.zeros((num_envs, observe.NUM_WORDS), dtype=np.uint64)
        self._expanded = np.zeros(
            (num_envs if self._dense else 0, observe.NUM_WORDS * 8), np.uint64
        )
        self._values = np.zeros((num_envs, observe.NUM_NUMBERS), dtype=np.int16)
        self._mask = np.zeros((num_envs, NUM_MASK_WORDS), dtype=np.uint64)
        self._expanded_mask = np.zeros(
            (num_envs if self._dense else 0, NUM_MASK_WORDS * 8), np.uint64
        )
        self._reward = np.zeros((num_envs, 4), dtype=np.int32)
        self._done = np.zeros(num_envs, dtype=np.bool_)
        self._step: BatchStep | None = None

    def reset(
        self,
        *,
        seed: int | None = None,
        numbers: npt.NDArray[np.int64] | None = None,
        skip: npt.NDArray[np.uint8] | None = None,
        control: npt.NDArray[np.uint8] | None = None,
    ) -> BatchStep:
        """Starts an episode in every game.

        Args:
            seed: a new seed of the deals.
            numbers: `[N]` int64, the match or the deal of the suite each game plays; default: its
                own number. Deal i takes schedule position i mod K.
            skip: `[N]` uint8, games whose deal starts at PLAY.
            control: `[N, 4]` uint8, who plays each seat: 0 the caller, else ``opponents``.
        """
        if seed is not None:
            _check_seed(seed)
            self.seed = seed
        if control is not None:
            self.games.control[:] = control
        if skip is not None:
            self._skip[:] = skip
        self._numbers[:] = np.arange(self.num_envs) if numbers is None else numbers
        self._reward[:] = 0
        self._done[:] = False
        self._pending[:] = False
        self._begin(np.arange(self.num_envs, dtype=np.int64))
        if self._autoreset != "disabled":
            self._restart(np.flatnonzero(self._over()))
        return self._observe()

    def step(self, actions: npt.NDArray[Any]) -> BatchStep:
        """Applies one action to each game in ``rows`` of the step before.

        Args:
            actions: `[M]` integers, legal action ids.

        Raises:
            ValueError: if an action is not legal; nothing has changed.
        """
        if self._step is None:
            raise ValueError("step before reset")
        rows = self._step.rows
        actions = np.ascontiguousarray(actions, dtype=np.int64)
        if actions.shape != rows.shape:
            raise ValueError(f"actions: expected shape {rows.shape}, found {actions.shape}")
        mask = self._mask[: len(rows)]
        acting = rows
        waiting = self._pending[rows] if self._autoreset == "next_step" else None
        if waiting is not None and waiting.any():
            acting, actions, mask = rows[~waiting], actions[~waiting], mask[~waiting]
        wrong = batch.first_illegal(mask, actions)
        if wrong >= 0:
            game = int(acting[wrong])
            seat = int(self.games.deal.actor[game])
            raise ValueError(
                f"action {int(actions[wrong])} is not legal for seat {seat} of game {game}"
            )
        self._reward[:] = 0
        self._done[:] = False
        if self.opponents is None and waiting is None:
            return self._show(self._step_alone(rows, actions))
        batch.step_rows(self.games, self.tables, acting, actions, self._forced)
        if self.opponents is not None:
            self.opponents.advance(self.games, self.tables, 0, self.num_envs)
        batch.collect_rewards(self.games, self.tables, acting, self._by_deal, self._reward)
        self._done[acting] = self._over()[acting]
        if self._autoreset == "same_step":
            self._restart(np.flatnonzero(self._done))
        elif waiting is not None:
            self._restart(rows[waiting])
            self._pending[:] = self._done
        return self._observe()

    def _step_alone(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> int:
        """Steps and observes in one pass: what can be done where no opponent plays between."""
        self._spare, self._rows = self._rows, self._spare
        return batch.step_all(
            self.games,
            self.tables,
            rows,
            actions,
            np.uint64(self.seed),
            self._numbers,
            self._match,
            self._skip,
            self._forced,
            self._by_deal,
            int(self._autoreset == "same_step"),
            self._reward,
            self._done,
            self._rows,
            self._seats,
            self._bits,
            self._values,
            self._mask,
            int(self._dense),
            self._expanded,
            self._expanded_mask,
        )

    @property
    def mask_words(self) -> npt.NDArray[np.uint64]:
        """Legal actions of the rows of the last step, packed, whatever ``obs`` is: `[M, 3]`."""
        return self._mask[: 0 if self._step is None else len(self._step.rows)]

    def _over(self) -> npt.NDArray[np.bool_]:
        return self.games.deal.actor == 4  # type: ignore[no-any-return]

    def _restart(self, rows: npt.NDArray[np.int64]) -> None:
        """Starts the next episode of games; one that opponents finish alone is passed over."""
        while rows.size:
            self._numbers[rows] += self.num_envs
            self._begin(rows)
            rows = rows[self._over()[rows]]

    def _begin(self, rows: npt.NDArray[np.int64]) -> None:
        batch.begin_episodes(
            self.games,
            self.tables,
            rows,
            np.uint64(self.seed),
            self._numbers,
            self._match,
            self._skip,
            self._forced,
        )
        if self.opponents is not None:
            self.opponents.advance(self.games, self.tables, 0, self.num_envs)

    def _observe(self) -> BatchStep:
        if self._autoreset == "next_step":
            self._rows[:] = np.arange(self.num_envs)
            count = self.num_envs
        else:
            count = batch.rows_in_play(self.games, self._rows)
        observe.observe_actors(
            self.games,
            self.tables,
            self._rows[:count],
            self._bits[:count],
            self._values[:count],
            self._mask[:count],
        )
        self._seats[:count] = self.games.deal.actor[self._rows[:count]]
        if self._dense:
            observe.expand(self._bits[:count], self._expanded[:count])
            observe.expand(self._mask[:count], self._expanded_mask[:count])
        return self._show(count)

    def _show(self, count: int) -> BatchStep:
        """Returns the step whose first ``count`` rows have been observed."""
        rows = self._rows[:count]
        bits: npt.NDArray[Any] = self._bits[:count]
        mask: npt.NDArray[Any] = self._mask[:count]
        if self._dense:
            bits = self._expanded[:count].view(np.uint8)[:, : observe.NUM_BITS]
            mask = self._expanded_mask[:count].view(np.int8)[:, :NUM_ACTIONS]
        self._step = BatchStep(
            rows,
            self._seats[:count],
            bits,
            self._values[:count],
            mask,
            self._reward,
            self._done,
        )
        return self._step


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed: found {seed}; allowed: 0 to 2**64 - 1")


def _check(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name}: found {value!r}; allowed: {', '.join(allowed)}")
