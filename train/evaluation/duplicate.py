"""The duplicate protocol: the same cards with the candidate in every seat.

For each deal the candidate sits in each of the four seats against three copies of the baseline.
The unit of statistics is the mean over the four seatings of (own score minus table mean); the
interval is over deals, since seatings of the same cards are never independent. In a partnership
the candidate takes both seats of a team, and the unit is the mean over the two seatings of (team
minus other team) / 2. Whole matches likewise, with the match as the unit. A table of equals has
margin 0.

Deals are grouped by a stratum that is fixed before the deal: the scheduled contract, or that there
is an ``auction``, an ``order`` or a ``choice``; where decisions are skipped, the contract drawn.
What players declared is reported as shares only. An agent at fault loses the deal, see ``match``.

Axes: D units (deals or matches), R seatings, K deals of a unit, S seats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from agents.registry import make_agent
from king_env.policy import Policy
from king_env.rules.catalogue import OptionValue, Variant, load_variant
from train.evaluation.intervals import Estimate, estimate, holm
from train.evaluation.match import (
    CHUNK,
    Results,
    TableRunner,
    is_decided,
    label,
    stratum_of_position,
)
from train.evaluation.seeds import BENCHMARK, DEFAULT_SEED_LIST, VARIANTS, benchmark_seed
from train.evaluation.spread import Work, play_spread


@dataclass(frozen=True)
class Stratum:
    """One group of deals.

    Attributes:
        margin: points a deal.
        deals: number of deals, each counted once for all its seatings.
        differs: the margin differs from 0 after Holm's correction over the strata.
    """

    margin: Estimate
    deals: int
    differs: bool


@dataclass(frozen=True)
class MatchFigures:
    """What only whole matches show. A unit is a match, all seatings of it together.

    Attributes:
        points: points a match, own minus table mean; of pairs, half the difference of the teams.
        first: share of first places, ties split; of pairs, among the two teams.
        rank: mean rank, 1 is best, ties share their ranks; likewise.
    """

    points: Estimate
    first: Estimate
    rank: Estimate


@dataclass(frozen=True)
class Evaluation:
    """The outcome of an evaluation.

    Attributes:
        benchmark: version of the benchmark, or None where its variants or seeds were left.
        seed_list: name of the seed list, or None.
        seed: seed of the deals.
        candidate: name of the candidate.
        against: name of the baseline.
        variant: name of the variant.
        options: options that differ from the variant's own.
        start: ``"decision"`` or ``"play"``.
        deals: deals, each counted once for all its seatings.
        margin: points a deal; the unit is a deal, or a match.
        strata: by stratum, in the order of the schedule.
        declared: shares of what was declared where players decide, by name.
        declared_by_candidate: the same where the candidate declared.
        matches: figures of whole matches, or None.
        faults: deals lost by a fault, of the candidate and of the baseline, seatings counted apart.
        pairs: the candidate took both seats of a team; a margin is half the difference of the
            teams, and places are those of teams.
    """

    benchmark: str | None
    seed_list: str | None
    seed: int
    candidate: str
    against: str
    variant: str
    options: dict[str, OptionValue]
    start: str
    deals: int
    margin: Estimate
    strata: dict[str, Stratum] = field(default_factory=dict)
    declared: dict[str, float] = field(default_factory=dict)
    declared_by_candidate: dict[str, float] = field(default_factory=dict)
    matches: MatchFigures | None = None
    faults: tuple[int, int] = (0, 0)
    pairs: bool = False


def seatings(partnership: bool) -> npt.NDArray[np.int64]:
    """Returns `[R, 4]` seatings: 1 where the candidate sits, 0 for the baseline."""
    if partnership:
        return np.array([[1, 0, 1, 0], [0, 1, 0, 1]], dtype=np.int64)
    return np.eye(4, dtype=np.int64)


def own_margins(
    scores: npt.NDArray[np.int64], seating: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Returns the candidate's margins.

    Args:
        scores: `[D, R, K, 4]`, points by seat.
        seating: `[R, 4]`, see ``seatings``.

    Returns:
        `[D, R, K]`: own score minus table mean; with two seats a team's score minus the mean of the
        two teams, which is half of the difference.
    """
    num_own = int(seating[0].sum())
    own = np.einsum("drks,rs->drk", scores, seating)
    margins: npt.NDArray[np.float64] = own - scores.sum(axis=-1) * (num_own / 4)
    return margins


def match_figures(
    totals: npt.NDArray[np.int64], seating: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Returns first places (ties split) and ranks (ties share) of the candidate, each `[D, R]`.

    Args:
        totals: `[D, R, 4]`, points of a match by seat.
        seating: `[R, 4]`, see ``seatings``; with two seats teams are compared.
    """
    if int(seating[0].sum()) == 2:
        totals = np.stack(
            [totals[..., 0] + totals[..., 2], totals[..., 1] + totals[..., 3]], axis=-1
        )
        seating = seating[:, :2]
    own = np.einsum("drs,rs->dr", totals, seating)[..., None]
    better = (totals > own).sum(axis=-1)
    equal = (totals == own).sum(axis=-1)  # oneself included
    first = np.where(better == 0, 1 / equal, 0.0)
    return first, better + (equal + 1) / 2


def evaluate(
    candidate: str | Policy,
    against: str | Policy,
    variant: str | Variant = "international",
    *,
    options: dict[str, object] | None = None,
    deals: int | None = None,
    matches: int | None = None,
    start: str = "decision",
    seed_list: str | None = None,
    seed: int | None = None,
    agent_seed: int | None = None,
    names: tuple[str, str] | None = None,
    workers: int = 1,
    progress: Callable[[int, int], object] | None = None,
) -> Evaluation:
    """Evaluates a candidate against three copies of a baseline on duplicate deals.

    In a partnership variant it plays both seats of a team against two copies.

    Args:
        candidate: an agent or its name.
        against: an agent or its name.
        variant: a loaded variant, or its name or path.
        options: options of a variant given by name.
        deals: number of deals; 1,000 where neither is given.
        matches: number of whole matches instead.
        start: ``"decision"``, or ``"play"`` for deals that start at PLAY.
        seed_list: name of a seed list; ``validation`` where neither is given.
        seed: a seed of one's own instead.
        agent_seed: seed of what agents draw; default: the seed of the deals, whose stream it is
            not.
        names: what to call candidate and baseline; default: their own names.
        workers: processes to play in; with more than one, agents are given by name. The results
            do not depend on it.
        progress: is told (games finished, games in all) now and then.

    Raises:
        ValueError: if a name, a number or a combination is not allowed.
    """
    if workers < 1:
        raise ValueError(f"workers: found {workers}; allowed: 1 and more")
    if workers > 1 and not (isinstance(candidate, str) and isinstance(against, str)):
        raise ValueError("workers: found an agent that is no name; allowed: 1, or agents by name")
    for name, number in (("deals", deals), ("matches", matches)):
        if number is not None and number < 1:
            raise ValueError(f"{name}: found {number}; allowed: 1 and more")
    if deals is not None and matches is not None:
        raise ValueError("deals and matches: give one of them")
    if seed is not None and seed_list is not None:
        raise ValueError("seed and seed list: give one of them")
    if seed is not None and not 0 <= seed < 2**64:
        raise ValueError(f"seed: found {seed}; allowed: 0 to 2**64 - 1")
    if seed is None:
        seed_list = seed_list or DEFAULT_SEED_LIST
        seed = benchmark_seed(seed_list)
    loaded = variant if isinstance(variant, Variant) else load_variant(variant, options)
    if names is None:
        own_names = [a if isinstance(a, str) else a.name for a in (candidate, against)]
        names = (own_names[0], own_names[1])
    players = [make_agent(a) if isinstance(a, str) else a for a in (against, candidate)]
    official = seed_list is not None and loaded.name in VARIANTS and not loaded.options
    runner = TableRunner(loaded, players, agent_seed=seed if agent_seed is None else agent_seed)
    seating = seatings(loaded.spec.partnership)
    num_units = matches or deals or 1000
    if workers > 1:
        if matches is not None and start == "play":
            raise ValueError("start: 'play' goes with deals only; a match starts at its decisions")
        work = Work(
            loaded,
            (str(against), str(candidate)),
            seed if agent_seed is None else agent_seed,
            seating,
            seed,
            matches is not None,
            start,
        )
        told = _counting(progress, num_units * len(seating))
        results = play_spread(work, num_units, workers, told)
    else:
        results = _play_units(
            runner, num_units, seating, seed, matches is not None, start, progress
        )
    return _summarize(
        Evaluation(
            benchmark=BENCHMARK if official and loaded.shipped else None,
            seed_list=seed_list,
            seed=seed,
            candidate=names[0],
            against=names[1],
            variant=loaded.name,
            options=dict(loaded.options),
            start=start,
            deals=num_units * results.scores.shape[1],
            margin=estimate([]),
            pairs=loaded.spec.partnership,
        ),
        runner,
        results,
        seating,
        matches is not None,
    )


def _play_units(
    runner: TableRunner,
    num_units: int,
    seating: npt.NDArray[np.int64],
    seed: int,
    whole_match: bool,
    start: str,
    progress: Callable[[int, int], object] | None,
) -> Results:
    """Plays every deal or match in every seating; games of a unit stand side by side."""
    num_seatings = len(seating)
    numbers = np.repeat(np.arange(num_units, dtype=np.int64), num_seatings)
    seats = np.tile(seating, (num_units, 1))
    told = _counting(progress, len(numbers))
    assert CHUNK % num_seatings == 0
    return runner.play(
        numbers, seats, seed=seed, whole_match=whole_match, start=start, progress=told
    )


def _counting(progress: Callable[[int, int], object] | None, total: int) -> Callable[[int], object]:
    """Returns a function that adds up finished games and passes (finished, in all) on."""
    done = 0

    def tell(games: int) -> None:
        nonlocal done
        done += games
        if progress is not None:
            progress(done, total)

    return tell


def _summarize(
    empty: Evaluation,
    runner: TableRunner,
    results: Results,
    seating: npt.NDArray[np.int64],
    whole_match: bool,
) -> Evaluation:
    """Fills in the figures."""
    variant = runner.variant
    num_seatings = len(seating)
    num_deals = results.scores.shape[1]
    scores = results.scores.reshape(-1, num_seatings, num_deals, 4)
    units_DK = own_margins(scores, seating).mean(axis=1)
    position_DK = results.position.reshape(-1, num_seatings, num_deals)[:, 0]
    if empty.start == "play":
        drawn = zip(
            results.contract[::num_seatings, 0], results.trump[::num_seatings, 0], strict=True
        )
        names = np.array([label(variant, int(c), int(t)) for c, t in drawn])[:, None]
        order = [contract.id for contract in variant.spec.contract] + ["no_trump"]
    else:
        by_position = [stratum_of_position(variant, k) for k in range(runner.num_deals)]
        names = np.array(by_position)[position_DK]
        order = by_position
    estimates = {}
    for name in dict.fromkeys(order):
        chosen = names == name
        if not chosen.any():
            continue
        if whole_match:  # the schedule is the same in every match
            values = units_DK[:, chosen[0]].mean(axis=1)
        else:
            values = units_DK[chosen]
        estimates[name] = (estimate(values), int(chosen.sum()))
    differs = holm([margin.p_value for margin, _ in estimates.values()])
    strata = {
        name: Stratum(margin, count, flag)
        for (name, (margin, count)), flag in zip(estimates.items(), differs, strict=True)
    }
    declared: dict[str, float] = {}
    by_candidate: dict[str, float] = {}
    if empty.start == "decision":
        declared, by_candidate = _declared(runner, results, np.tile(seating, (len(scores), 1)))
    matches = None
    if whole_match:
        first, rank = match_figures(scores.sum(axis=2), seating)
        matches = MatchFigures(
            estimate(units_DK.sum(axis=1)),
            estimate(first.mean(axis=1)),
            estimate(rank.mean(axis=1)),
        )
    return Evaluation(
        **{
            **{name: getattr(empty, name) for name in empty.__dataclass_fields__},
            "margin": estimate(units_DK.mean(axis=1)),
            "strata": strata,
            "declared": declared,
            "declared_by_candidate": by_candidate,
            "matches": matches,
            "faults": (int(results.faults[..., 1].sum()), int(results.faults[..., 0].sum())),
        }
    )


def _declared(
    runner: TableRunner, results: Results, seats: npt.NDArray[np.int64]
) -> tuple[dict[str, float], dict[str, float]]:
    """Returns the shares of what was declared where players decide: by all, by the candidate.

    Args:
        runner: who played.
        results: of games.
        seats: `[M, 4]`, 1 where the candidate sits.
    """
    decided = is_decided(runner.tables, results.position)
    declarer = np.minimum(results.declarer, 3)
    own = np.take_along_axis(seats, declarer, axis=1).astype(np.bool_)
    return _shares(runner.variant, results, decided), _shares(
        runner.variant, results, decided & own
    )


def _shares(variant: Variant, results: Results, chosen: npt.NDArray[np.bool_]) -> dict[str, float]:
    """Returns the shares of what was declared among the deals chosen, the largest first."""
    columns = np.stack(
        [results.contract[chosen], results.trump[chosen] == 4, results.unplayed[chosen]], axis=1
    ).astype(np.int64)
    kinds, counts = np.unique(columns, axis=0, return_counts=True)
    shares: dict[str, float] = {}
    for (contract, no_trump, unplayed), count in zip(kinds, counts, strict=True):
        name = label(variant, int(contract), 4 if no_trump else 0, bool(unplayed))
        shares[name] = shares.get(name, 0.0) + float(count) / max(1, int(chosen.sum()))
    return dict(sorted(shares.items(), key=lambda entry: -entry[1]))
