"""N games with one learner's seat each: what the Gymnasium environments share.

An episode is a deal or a match. The learner's seat changes from episode to episode, see
``king_env.engine.seats.take_seats``, unless one is given. Rewards are the learner's own points (its
team's in a partnership) since it last acted, whoever's turn they were scored in.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from king_env.engine import batch, observe, seats
from king_env.engine.actions import NUM_ACTIONS, NUM_MASK_WORDS
from king_env.engine.layout import NOBODY, Games, Tables, allocate
from king_env.envs.batch import Opponents
from king_env.envs.opponents import (
    OpponentsLike,
    PolicyOpponents,
    are_compiled,
    find_agents,
)
from king_env.envs.spaces import mask_space, vector_space
from king_env.game import Game, IllegalActionError
from king_env.rules.catalogue import Variant, load_variant
from king_env.rules.tables import make_tables

Rows: TypeAlias = npt.NDArray[np.int64]

FORMS: Final = {
    "float": seats.FORM_FLOAT,
    "dense": seats.FORM_DENSE,
    "packed": seats.FORM_PACKED,
}
"""Forms of an observation by the name that ``obs`` has."""

OBS_FORMATS: Final = ("dict", "flat")


def observation_space(obs: str, obs_format: str) -> spaces.Space[Any]:
    """Returns the space of one observation.

    Args:
        obs: ``"float"``: a float32 vector, bits as 0 and 1, then numbers divided by their scales;
            ``"dense"``: ``bits`` as uint8 0/1 and ``numbers`` as int16; ``"packed"``: ``bits`` in
            uint64 words.
        obs_format: ``"dict"``: with ``action_mask``; ``"flat"``: the vector alone.
    """
    mask = mask_space()
    if obs == "float":
        if obs_format == "flat":
            return vector_space()
        return spaces.Dict({"observation": vector_space(), "action_mask": mask})
    numbers = spaces.Box(-32768, 32767, (observe.NUM_NUMBERS,), dtype=np.int16)
    bits: spaces.Space[Any]
    if obs == "dense":
        bits = spaces.Box(0, 1, (observe.NUM_BITS,), dtype=np.uint8)
    else:
        bits = spaces.Box(0, 2**64 - 1, (observe.NUM_WORDS,), dtype=np.uint64)
    return spaces.Dict({"bits": bits, "numbers": numbers, "action_mask": mask})


class Outputs:
    """Arrays for the observations and masks of ``size`` games, made once.

    Attributes:
        action_mask: `[size, A]` int8, 1 for legal actions.
        observation: what the environment returns: an array, or a dict of arrays.
    """

    def __init__(self, size: int, obs: str, obs_format: str) -> None:
        num_floats = size if obs == "float" else 0
        num_others = size - num_floats
        width = observe.NUM_WORDS * (8 if obs == "dense" else 1)
        self.floats = np.empty((num_floats, observe.NUM_FEATURES), dtype=np.float32)
        self.bits = np.empty((num_others, width), dtype=np.uint64)
        self.numbers = np.empty((num_others, observe.NUM_NUMBERS), dtype=np.int16)
        self.masks = np.empty((size, NUM_MASK_WORDS * 8), dtype=np.uint64)
        self.action_mask = self.masks.view(np.int8)[:, :NUM_ACTIONS]
        self.observation: Any
        if obs == "float":
            self.observation = self.floats
            if obs_format == "dict":
                self.observation = {"observation": self.floats, "action_mask": self.action_mask}
        else:
            bits: npt.NDArray[Any] = self.bits
            if obs == "dense":
                bits = self.bits.view(np.uint8)[:, : observe.NUM_BITS]
            self.observation = {
                "bits": bits,
                "numbers": self.numbers,
                "action_mask": self.action_mask,
            }

    def observation_of(self, row: int) -> Any:
        """Returns one game's observation: views of the arrays."""
        if isinstance(self.observation, dict):
            return {name: array[row] for name, array in self.observation.items()}
        return self.observation[row]


class SeatGames:
    """N games, each with a learner in one seat and opponents in the others.

    Args:
        variant: a variant name, path or loaded variant; a list gives game i entry i mod length.
        num_games: N.
        options: options of the variant.
        opponents: an agent's name or an agent, or three of them.
        seat: the learner's seat, or None: another one in every episode.
        episode: ``"deal"`` or ``"match"``.
        start: ``"play"`` skips choice and auction (deals only).
        reward: ``"step"`` pays points as they are scored, ``"deal"`` at the end of their deal.
        skip_forced: play the learner's moves that have no alternative.
        illegal: ``"raise"`` or ``"terminate"``.
        obs: ``"float"``, ``"dense"`` or ``"packed"``, see ``observation_space``.
        obs_format: ``"dict"`` or ``"flat"``.

    Raises:
        VariantError: if the variant or an option is not allowed.
        ValueError: if another argument is not allowed.
    """

    def __init__(
        self,
        variant: str | Path | Variant | Sequence[str | Variant],
        num_games: int,
        *,
        options: Mapping[str, object] | None,
        opponents: OpponentsLike,
        seat: int | None,
        episode: str,
        start: str,
        reward: str,
        skip_forced: bool,
        illegal: str,
        obs: str,
        obs_format: str,
    ) -> None:
        _check("episode", episode, ("deal", "match"))
        _check("start", start, ("decision", "play"))
        _check("reward", reward, ("step", "deal"))
        _check("illegal", illegal, ("raise", "terminate"))
        _check("obs", obs, tuple(FORMS))
        _check("obs_format", obs_format, OBS_FORMATS)
        if obs_format == "flat" and obs != "float":
            raise ValueError("obs_format='flat' goes with obs='float' only")
        if episode == "match" and start == "play":
            raise ValueError("start='play' goes with episode='deal' only")
        if seat is not None and seat not in range(4):
            raise ValueError(f"seat: found {seat!r}; allowed: 0 to 3, None")
        if num_games < 1:
            raise ValueError(f"num_envs: found {num_games}; allowed: 1 and more")
        one = isinstance(variant, (str, Path, Variant))
        names: list[Any] = [variant] if one else list(variant)  # type: ignore[arg-type]
        if not names:
            raise ValueError("variant: found an empty list; expected at least one variant")
        self.variants: list[Variant] = [
            name if isinstance(name, Variant) else load_variant(name, options) for name in names
        ]
        self.agents = find_agents(opponents)
        self.num_games = num_games
        self.strict = illegal == "raise"
        self.obs = obs
        self.obs_format = obs_format
        self.seed = 0
        self.numbers = np.zeros(num_games, dtype=np.int64)
        self.seats = np.zeros(num_games, dtype=np.int64)
        self.reward = np.zeros(num_games, dtype=np.float64)
        self.ended = np.zeros(num_games, dtype=np.bool_)
        self.closed = np.ones(num_games, dtype=np.uint8)
        self._fixed = -1 if seat is None else int(seat)
        self._match = int(episode == "match")
        self._by_deal = int(reward == "deal")
        self._skip_forced = bool(skip_forced)
        self._skip = np.full(num_games, start == "play", dtype=np.uint8)
        self._fouls = np.zeros(num_games, dtype=np.uint8)
        self._rewards = np.zeros((num_games, 4), dtype=np.int32)
        self._compiled = are_compiled(self.agents)
        self._distinct = list({id(agent): agent for agent in self.agents}.values())
        ids = [1 + self._distinct.index(agent) for agent in self.agents]
        if self._compiled:
            ids = [int(getattr(agent, "policy_id", 0)) for agent in self.agents]
        self._control = np.array(ids, dtype=np.uint8)
        self.games: Games = allocate(num_games)
        self.games.variant[:] = np.arange(num_games) % len(self.variants)
        self._make_arrays()

    def _make_arrays(self) -> None:
        """Makes what a copy makes anew: tables, scratch, plain views and the opponents."""
        self.tables: Tables = make_tables([loaded.spec for loaded in self.variants])
        # numba takes plain arrays six times faster than recarrays.
        self._games: Any = self.games.view(np.ndarray)
        self._tables: Any = self.tables.view(np.ndarray)
        self._scratch = (
            np.zeros((1, observe.NUM_WORDS), dtype=np.uint64),
            np.zeros((1, observe.NUM_NUMBERS), dtype=np.int16),
        )
        self._opponents: Opponents = self._make_opponents()

    def _make_opponents(self) -> Opponents:
        if self._compiled:
            first: Any = self.agents[0]
            made: Opponents = first.opponents(self.seed, skip_forced=self._skip_forced)
            return made
        return PolicyOpponents(
            self._distinct,
            self.variants,
            self.num_games,
            self.seed,
            skip_forced=self._skip_forced,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Returns what a copy or a pickle holds."""
        state = dict(self.__dict__)
        for name in ("tables", "_games", "_tables", "_scratch"):
            state.pop(name)
        if self._compiled:
            state.pop("_opponents")
        state["games"] = np.array(self.games)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores it; plain opponents keep the actions of the deal so far."""
        kept = state.get("_opponents")
        self.__dict__.update(state)
        self.games = allocate(self.num_games)
        self.games[:] = state["games"]
        self._make_arrays()
        if kept is not None:
            self._opponents = kept

    def reseed(self, seed: int) -> None:
        """Takes another seed for the deals, and for what the opponents draw.

        Raises:
            ValueError: if it is out of range.
        """
        if not 0 <= seed < 2**64:
            raise ValueError(f"seed: found {seed}; allowed: 0 to 2**64 - 1")
        self.seed = int(seed)
        self._opponents = self._make_opponents()

    def begin(self, rows: Rows) -> None:
        """Starts episode ``numbers[i]`` in each game i of ``rows``.

        An episode that opponents finish without a decision of the learner's is passed over: the
        game goes on to its next, N further on.
        """
        while rows.size:
            seats.take_seats(
                self._games,
                self._tables,
                rows,
                self.numbers,
                self._match,
                self._fixed,
                self._control,
                self.seats,
            )
            batch.begin_episodes(
                self._games,
                self._tables,
                rows,
                np.uint64(self.seed),
                self.numbers,
                self._match,
                self._skip,
                0,
            )
            self.closed[rows] = 0
            self._advance()
            rows = rows[self.games.deal.actor[rows] == NOBODY]
            self.numbers[rows] += self.num_games

    def act(self, actions: npt.NDArray[Any], waiting: npt.NDArray[np.uint8]) -> None:
        """Applies the learners' actions, except in games that wait; opponents do not move yet.

        Raises:
            ValueError: if the actions are malformed.
            IllegalActionError: if one is not legal, with ``illegal="raise"``; nothing has changed.
        """
        given = np.asarray(actions)
        if given.shape != (self.num_games,) or given.dtype.kind not in "iu":
            raise ValueError(
                f"actions: expected {self.num_games} integers, "
                f"found shape {given.shape} of {given.dtype}"
            )
        given = np.ascontiguousarray(given, dtype=np.int64)
        if self._compiled:
            wrong = seats.act(
                self._games, self._tables, given, waiting, int(self.strict), self._fouls
            )
        else:
            wrong = self._act_plain(given, waiting)
        if wrong >= 0:
            where = f"game {wrong}: " if self.num_games > 1 else ""
            raise IllegalActionError(where + self.why_illegal(wrong, int(given[wrong])))

    def _act_plain(self, actions: npt.NDArray[np.int64], waiting: npt.NDArray[np.uint8]) -> int:
        """As ``seats.act``, by way of the opponents, whose views show these actions."""
        rows = np.flatnonzero(waiting == 0)
        mask = self.games.deal.legal
        self._fouls[:] = 0
        for row in rows:
            if batch.first_illegal(mask[row : row + 1], actions[row : row + 1]) == 0:
                if self.strict:
                    return int(row)
                self._fouls[row] = 1
        rows = rows[self._fouls[rows] == 0]
        opponents: Any = self._opponents
        opponents.push(self.games, self.tables, rows, actions[rows])
        return -1

    def settle(self, waiting: npt.NDArray[np.uint8]) -> int:
        """Lets the opponents move, pays; fills ``reward`` and ``ended``, returns how many ended."""
        self._advance()
        count = seats.settle(
            self._games,
            self._tables,
            waiting,
            self._fouls,
            self.seats,
            self._by_deal,
            self._rewards,
            self.reward,
            self.ended,
        )
        if count:
            self.closed[self.ended] = 1
        return count

    def observe(self, rows: Rows, out: Outputs) -> None:
        """Writes what the learners of ``rows`` may know into rows 0, 1, ... of the outputs."""
        seats.observe_seats(
            self._games,
            self._tables,
            rows,
            self.seats,
            self.closed,
            FORMS[self.obs],
            *self._scratch,
            out.floats,
            out.bits,
            out.numbers,
            out.masks,
        )

    def why_illegal(self, game: int, action: int) -> str:
        """Returns one line: action, seat, phase and the rule that forbids it."""
        return self.game(game).why_illegal(action)

    def game(self, index: int) -> Game:
        """Returns a copy of a game as it stands, to look at; its log of actions is empty."""
        variant = self.variants[int(self.games.variant[index])]
        return Game.from_batch(variant, self.games, index)

    def _advance(self) -> None:
        games = self._games if self._compiled else self.games
        tables = self._tables if self._compiled else self.tables
        self._opponents.advance(games, tables, 0, self.num_games)


class OptionReader:
    """Reads reset options: warns once of each unknown key."""

    def __init__(self, *allowed: str) -> None:
        self._allowed = allowed
        self._warned: set[str] = set()

    def read(self, options: Mapping[str, Any] | None) -> dict[str, Any]:
        """Returns the options as a dict."""
        wanted = dict(options or {})
        for key in sorted(set(wanted) - set(self._allowed) - self._warned):
            self._warned.add(key)
            allowed = ", ".join(self._allowed)
            warnings.warn(f"reset option {key!r} is unknown; allowed: {allowed}", stacklevel=3)
        return wanted


def _check(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name}: found {value!r}; allowed: {', '.join(allowed)}")
