"""A trained network looked at: what its values are worth, and where it left the rule-based agent.

It plays fresh deals as it does while it learns: four copies, actions drawn from the policy. Nothing
is learned from them.

Axes: D decisions, L of them that search looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.kernels import RULE, act_rows
from agents.neural import features, kernels
from agents.neural.policy import NeuralPolicy
from king_env.engine.layout import NUM_SEATS, Games, Tables
from king_env.game import Game
from king_env.policy import Policy
from king_env.rules.catalogue import Variant, load_variant, mean_deal_size
from train.advantage import gae
from train.config import DrawConfig, TeachConfig
from train.evaluation.intervals import Estimate, interval
from train.rollout import KINDS, Strata, draw_deals, play
from train.teach import Teacher

SEARCHED: Final = 0.25
"""Share of the decisions that search looks at."""


@dataclass(frozen=True)
class Review:
    """Decisions of a network.

    Attributes:
        strata: names of what is played: contracts, and decisions before the play.
        kind: `[D]` uint8, see ``rollout.KINDS``.
        stratum: `[D]` uint8, index in ``strata``.
        game: `[D]` int32, the deal of a decision; decisions of a deal share its luck.
        value: `[D]` float64, points over the table mean that the network expected from there on.
        came: `[D]` float64, those that came.
        searched: `[L]` int64, the decisions that search looked at.
        changed: `[L]` bool, the most likely action there is not the rule-based agent's.
        lead: `[L]` float64, points by which search prefers it.
    """

    strata: list[str]
    kind: npt.NDArray[np.uint8]
    stratum: npt.NDArray[np.uint8]
    game: npt.NDArray[np.int32]
    value: npt.NDArray[np.float64]
    came: npt.NDArray[np.float64]
    searched: npt.NDArray[np.int64]
    changed: npt.NDArray[np.bool_]
    lead: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bin:
    """Decisions whose values are alike.

    Attributes:
        value: mean of what was expected, points.
        came: mean of what came, with an interval over deals.
        decisions: their number.
    """

    value: float
    came: Estimate
    decisions: int


@dataclass(frozen=True)
class Change:
    """A kind of decision beside the rule-based agent.

    Attributes:
        kind: lead, follow, ...; see ``rollout.KINDS``.
        decisions: decisions looked at.
        agreement: share of them with the rule-based agent's action.
        lead: points by which search prefers the others, the mean over those.
    """

    kind: str
    decisions: int
    agreement: float
    lead: Estimate


class _Searcher(Teacher):
    """Labels decisions, and keeps what the rule-based agent does there (canonical suits)."""

    def __init__(self, worlds: int) -> None:
        super().__init__(TeachConfig(share=SEARCHED, worlds=worlds))
        self.choices: list[npt.NDArray[np.int64]] = []

    def leads(
        self,
        games: Games,
        tables: Tables,
        rows: npt.NDArray[np.int64],
        orders: npt.NDArray[np.uint8],
        keys: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.float32]:
        """See ``Teacher.leads``."""
        choice = np.empty(len(rows), dtype=np.int64)
        act_rows(games, tables, rows, RULE, keys, choice)
        canonical = np.empty_like(choice)
        features.to_canonical(games, tables, rows, orders, choice, canonical)
        self.choices.append(canonical)
        return super().leads(games, tables, rows, orders, keys)


def review(
    policy: NeuralPolicy,
    variant: str | Variant = "international",
    deals: int = 1000,
    *,
    worlds: int = 16,
    seed: int = 0,
) -> Review:
    """Returns what a network that has learned in deals decides in fresh ones.

    Args:
        policy: the network.
        variant: the rules.
        deals: number of deals.
        worlds: worlds in which search plays out each action.
        seed: seed of deals, draws and search.

    Raises:
        ValueError: if a number is not allowed.
    """
    for name, number, least in (("deals", deals, 1), ("worlds", worlds, 1)):
        if number < least:
            raise ValueError(f"{name}: found {number}; allowed: {least} and more")
    loaded = variant if isinstance(variant, Variant) else load_variant(variant)
    draw = DrawConfig()
    strata = Strata([loaded])
    searcher = _Searcher(worlds)

    def act(words: Any, numbers: Any, points: Any, mask: Any, keys: Any) -> Any:
        logits, values = policy.judge(words, numbers, points)
        actions = np.empty(len(words), dtype=np.int64)
        log_probs = np.empty(len(words), dtype=np.float32)
        kernels.choose(logits, mask, keys, 1, actions, log_probs)
        return actions, log_probs, values

    made = play(
        [loaded],
        draw,
        strata,
        draw_deals(draw, [loaded], seed, 0, 0, deals, 0),
        seed,
        policy.weights.canonical,
        act,
        labeller=searcher,
    )
    scale = float(mean_deal_size(loaded.spec))
    came = made.value + gae(made.reward, made.value, made.following, 1.0)
    seen = made.labelled
    logits, _ = policy.judge(made.words[seen], made.numbers[seen], made.points[seen])
    likely = np.empty(len(seen), dtype=np.int64)
    kernels.choose(
        logits,
        made.mask[seen],
        np.zeros(len(seen), dtype=np.uint64),
        0,
        likely,
        np.empty(len(seen), dtype=np.float32),
    )
    return Review(
        strata=strata.names,
        kind=made.kind,
        stratum=made.stratum,
        game=made.game,
        value=scale * made.value.astype(np.float64),
        came=scale * came.astype(np.float64),
        searched=seen,
        changed=likely != np.concatenate(searcher.choices),
        lead=scale * made.leads[np.arange(len(seen)), likely].astype(np.float64),
    )


def calibration(found: Review, stratum: str | None = None, bins: int = 8) -> list[Bin]:
    """Returns what was expected beside what came, in bins of about as many decisions each.

    A value head is calibrated where the two are equal in each bin.

    Args:
        found: decisions.
        stratum: one of ``found.strata``; None takes all.
        bins: number of bins; fewer where there are fewer decisions.

    Raises:
        ValueError: if there is no such stratum, or ``bins`` is not allowed.
    """
    if bins < 1:
        raise ValueError(f"bins: found {bins}; allowed: 1 and more")
    rows = np.arange(len(found.value))
    if stratum is not None:
        if stratum not in found.strata:
            raise ValueError(f"stratum: found {stratum!r}; allowed: {', '.join(found.strata)}")
        rows = np.flatnonzero(found.stratum == found.strata.index(stratum))
    rows = rows[np.argsort(found.value[rows], kind="stable")]
    return [
        Bin(float(found.value[part].mean()), _by_deal(found.came, found.game, part), len(part))
        for part in np.array_split(rows, bins)
        if len(part)
    ]


def changes(found: Review) -> list[Change]:
    """Returns where the network left the rule-based agent, by kind of decision.

    Search plays out with the rule-based agent in every seat, and hidden cards as if they were dealt
    anew: it judges a change as one move among rule-based players.
    """
    out = []
    for number, kind in enumerate(KINDS):
        looked = np.flatnonzero(found.kind[found.searched] == number)
        changed = looked[found.changed[looked]]
        if len(looked):
            lead = _by_deal(found.lead, found.game[found.searched], changed)
            out.append(Change(kind, len(looked), 1 - len(changed) / len(looked), lead))
    return out


def _by_deal(
    values: npt.NDArray[np.float64], game: npt.NDArray[np.int32], rows: npt.NDArray[np.int64]
) -> Estimate:
    """Returns the mean of ``values[rows]``; deals are what is independent, decisions are not."""
    if not len(rows):
        return Estimate(math.nan, -math.inf, math.inf, 0)
    mean = float(values[rows].mean())
    sums = np.bincount(game[rows], values[rows] - mean)
    num_deals = len(np.unique(game[rows]))
    if num_deals == 1:
        return Estimate(mean, -math.inf, math.inf, 1)
    error = math.sqrt(float((sums**2).sum()) * num_deals / (num_deals - 1)) / len(rows)
    return interval(mean, error, num_deals)


def play_deal(game: Game, agents: Sequence[Policy], rng: np.random.Generator) -> list[str]:
    """Plays a deal to its end and tells how it went.

    Args:
        game: a deal, ``episode="deal"``; it is played on.
        agents: who plays each seat.
        rng: chance of the agents.

    Returns:
        A line for each decision before the play, one for each trick, in the order played, with
        ``*`` behind the card that won it, and one for the points.

    Raises:
        ValueError: if there are not as many agents as seats, or the game is a match.
    """
    if game.episode != "deal":
        raise ValueError(f"game: found episode {game.episode!r}; allowed: deal")
    if len(agents) != NUM_SEATS:
        raise ValueError(f"agents: found {len(agents)}; allowed: {NUM_SEATS}")
    lines: list[str] = []
    trick: list[str] = []
    while (seat := game.actor) is not None:
        action = agents[seat].act(game.view(seat), rng)
        name = game.names.format(action)
        before = game.record.deal.tricks.copy()
        decides = game.phase != "PLAY"
        game.push(action)
        if decides:
            lines.append(f"seat {seat}  {name}")
            continue
        trick.append(f"{seat}:{name}")
        taken = np.flatnonzero(game.record.deal.tricks != before)
        if len(taken):
            winner = f"{taken[0]}:"
            cards = [card + ("*" if card.startswith(winner) else " ") for card in trick]
            lines.append(f"{int(game.record.deal.tricks.sum()):2d}  " + " ".join(cards).rstrip())
            trick = []
    lines.append("points  " + " ".join(f"{points:+d}" for points in game.scores))
    return lines
