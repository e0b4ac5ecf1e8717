"""Plays whole deals or matches with the batched environment, keeps every decision of the learner.

Trajectories belong to seats: what follows a decision is the same seat's next decision, and what the
seat scores meanwhile, whoever's turn it was, is that decision's reward. Forced moves are played by
the engine and are no decisions.

A rollout starts fresh deals, or matches, whose numbers are a pure function of (seed, iteration,
part), so a run that goes on after a stop needs no state of the environment.

Axes: N games, M games in play, S seats, D decisions, W words, K numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from agents.base import CompiledOpponents
from agents.kernels import RULE, act_rows
from agents.neural import features
from agents.neural.features import permuted_cards
from agents.neural.opinions import rule_points
from agents.registry import make_agent
from king_env.cards import NUM_CARDS
from king_env.engine import observe
from king_env.engine.actions import NUM_ACTIONS
from king_env.engine.batch import collect_rewards, side_score
from king_env.engine.jit import inline, kernel
from king_env.engine.layout import (
    NO_TRUMP,
    ONE,
    PHASE_OVER,
    PHASE_PLAY,
    SUIT_MASKS,
    ZERO,
    Games,
    Tables,
    allocate,
    i64,
    u64,
)
from king_env.engine.rng import draw
from king_env.engine.step import nth_legal, num_legal
from king_env.envs.batch import BatchEnv
from king_env.policy import BatchPolicy, ask, decision_keys
from king_env.rules.catalogue import Variant
from king_env.rules.spec import MAX_CONTRACTS
from train.config import DrawConfig
from train.matches import deals_of, first_places, rank_utility

KINDS: Final = ("decide", "lead", "follow", "discard")
"""Kinds of decision: choice and auction, first card of a trick, in suit, void in the suit led."""
DECIDE, LEAD, FOLLOW, DISCARD = range(len(KINDS))

GAMES_PER_PART: Final = 1 << 16
"""Bound on the games of a part of an iteration."""
PARTS: Final = 1 << 6
"""Bound on the parts of an iteration, over all processes."""

NUM_HIDDEN: Final = 3
"""Hands that a seat does not see: those of the three seats after it."""

DECISIONS_PER_DEAL: Final = 36
"""About how many decisions four learners make in a deal; sets the number of deals."""

Actor: TypeAlias = Callable[
    [
        npt.NDArray[np.uint64],
        npt.NDArray[np.int16],
        npt.NDArray[np.float32],
        npt.NDArray[np.uint64],
        npt.NDArray[np.uint64],
    ],
    tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], npt.NDArray[np.float32]],
]
"""Words, numbers, opinions of the rule-based agent, legal actions and random keys in; actions,
log-probabilities and values out."""


class Labeller(Protocol):
    """Says of some decisions what each action is worth, see ``train.teach``."""

    def picks(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Returns which of `[M]` decisions it labels, by their random keys."""

    def leads(
        self,
        games: Games,
        tables: Tables,
        rows: npt.NDArray[np.int64],
        orders: npt.NDArray[np.uint8],
        keys: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.float32]:
        """Returns by how many point scales each action leads the rule-based agent's, `[L, A]`."""


@dataclass(frozen=True)
class Deals:
    """Deals to play, or matches.

    Attributes:
        numbers: `[N]` int64, deals of the suite, or matches.
        skip: `[N]` uint8, 1: the deal starts at its first card.
        control: `[N, 4]` uint8, who plays a seat: 0 the learner, else a compiled policy.
        frozen: `[N, 4]` uint8, number, from 1, of the agent that is not compiled, does not learn
            and plays the seat, whose control is 0; 0: nobody of that kind.
        snapshot: `[N]` bool, the learner's earlier selves sit in the other seats.
    """

    numbers: npt.NDArray[np.int64]
    skip: npt.NDArray[np.uint8]
    control: npt.NDArray[np.uint8]
    frozen: npt.NDArray[np.uint8]
    snapshot: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Opponent:
    """Who sits in the other seats of mixed tables.

    Attributes:
        policy_id: a compiled policy's id; 0 for another agent.
        agent: that agent, or None.
        whole_team: in partnerships the learner has both seats of a team.
    """

    policy_id: int = RULE
    agent: BatchPolicy | None = None
    whole_team: bool = False


def make_opponent(name: str, whole_team: bool = False) -> Opponent:
    """Returns the opponent of a name: a compiled policy, or an agent that decides in batches.

    Raises:
        ValueError: if there is no such agent, or it decides in one game at a time.
    """
    agent = make_agent(name)
    policy_id = int(getattr(agent, "policy_id", 0))
    if policy_id:
        return Opponent(policy_id, None, whole_team)
    if not isinstance(agent, BatchPolicy):
        raise ValueError(
            f"agent {name!r}: decides in one game at a time, too slow to learn against; allowed: "
            "random, greedy, rule, networks, agents with act_batch"
        )
    return Opponent(0, agent, whole_team)


@dataclass(frozen=True)
class Decisions:
    """The decisions of a rollout in the order made; suits are in canonical order.

    Attributes:
        words: `[D, W]` uint64, packed bits of the observation.
        numbers: `[D, K]` int16.
        mask: `[D, 3]` uint64, legal actions.
        action: `[D]` int64, the action taken, or the label to learn.
        log_prob: `[D]` float32, its log-probability when it was taken.
        value: `[D]` float32, the value estimate then.
        reward: `[D]` float32, what the seat is paid until its next decision, see ``play``.
        following: `[D]` int32, index of the same seat's next decision, or -1.
        kind: `[D]` uint8, see ``KINDS``.
        stratum: `[D]` uint8, see ``Strata``.
        ruff: `[D]` bool, the seat is void and may win the trick with a trump.
        results: the learner's points over the table mean, summed and squared, and its seats, at
            tables with rule-based players and at those with snapshots, by stratum: `[2, T, 3]`
            float64. A team's count once.
        firsts: `[2]` float64, first places of the learner, or its team, in matches with rule-based
            players, shared ones split, and its seats or teams there.
        before: `[N, 4]` float32, what seats are paid before their first decision, which no decision
            is paid for.
        score: `[N, 4]` float32, what seats are paid in all.
        points: `[D, A]` float32, the rule-based agent's opinion, see ``agents.neural.opinions``.
        labelled: `[L]` int64, the decisions that search labelled.
        leads: `[L, A]` float32, point scales by which it prefers actions to the rule-based agent's.
        hidden: `[D, 3]` uint64, the hands that the seat does not see; `[0, 3]` where nobody asks.
        game: `[D]` int32, the game of a decision.
        seat: `[D]` uint8, its seat.
    """

    words: npt.NDArray[np.uint64]
    numbers: npt.NDArray[np.int16]
    mask: npt.NDArray[np.uint64]
    action: npt.NDArray[np.int64]
    log_prob: npt.NDArray[np.float32]
    value: npt.NDArray[np.float32]
    reward: npt.NDArray[np.float32]
    following: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    stratum: npt.NDArray[np.uint8]
    ruff: npt.NDArray[np.bool_]
    results: npt.NDArray[np.float64]
    firsts: npt.NDArray[np.float64]
    before: npt.NDArray[np.float32]
    score: npt.NDArray[np.float32]
    points: npt.NDArray[np.float32]
    labelled: npt.NDArray[np.int64]
    leads: npt.NDArray[np.float32]
    hidden: npt.NDArray[np.uint64]
    game: npt.NDArray[np.int32]
    seat: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.action)


class Strata:
    """Names of what is played, for metrics: contracts, trump apart from no-trump, and choices.

    With several variants each has its own, ``VARIANT:NAME``.

    Attributes:
        names: the strata.
        groups: strata by variant, where there are several.
        table: `[V, 2 MAX_CONTRACTS + 1]` uint8: the stratum by variant of contract c with trump
            (2c), without (2c + 1), and of decisions before the first card (last).
    """

    def __init__(self, variants: Sequence[Variant]) -> None:
        self.names: list[str] = []
        self.groups: dict[str, list[int]] = {}
        self.table = np.zeros((len(variants), 2 * MAX_CONTRACTS + 1), dtype=np.uint8)
        for index, variant in enumerate(variants):
            spec = variant.spec
            prefix = f"{variant.name}:" if len(variants) > 1 else ""
            for number, contract in enumerate(spec.contract):
                both = contract.trump == "declared" and spec.phases.auction is not None
                name = prefix + contract.id
                self.table[index, 2 * number] = self._number(f"{name}:trump" if both else name)
                self.table[index, 2 * number + 1] = self._number(
                    f"{name}:no_trump" if both else name
                )
            decisions = sorted({deal.decision for deal in spec.deals} - {"none"})
            self.table[index, -1] = self._number(prefix + (decisions[0] if decisions else "none"))
            if prefix:
                used = self.table[index, [*range(2 * len(spec.contract)), -1]]
                self.groups[variant.name] = sorted(set(used.tolist()))

    def _number(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)


@inline
def stratum_of(g: Any, strata: Any) -> Any:
    """Returns the stratum of a game as it stands."""
    d = g.deal
    contract = i64(d.contract)
    if contract < 0:
        return strata[g.variant, strata.shape[1] - 1]
    return strata[g.variant, 2 * contract + (1 if d.trump == NO_TRUMP else 0)]


@kernel
def describe(games: Any, rows: Any, strata: Any, kind: Any, stratum: Any, ruff: Any) -> None:
    """Writes kind and stratum of the decision to make in each game of ``rows``."""
    for row in range(rows.shape[0]):
        g = games[rows[row]]
        d = g.deal
        stratum[row] = stratum_of(g, strata)
        ruff[row] = False
        if d.phase != PHASE_PLAY:
            kind[row] = DECIDE
            stratum[row] = strata[g.variant, strata.shape[1] - 1]
        elif d.trick_size == 0:
            kind[row] = LEAD
        elif d.hands[d.actor] & SUIT_MASKS[i64(d.trick[0]) // 13] != ZERO:
            kind[row] = FOLLOW
        else:
            kind[row] = DISCARD
            trumps = d.legal[0] & SUIT_MASKS[max(i64(0), min(i64(4), i64(d.trump)))]
            if i64(d.best) // 13 == d.trump:
                trumps &= ~((ONE << u64(i64(d.best) + 1)) - ONE)
            ruff[row] = trumps != ZERO


@kernel
def hidden_hands(games: Any, rows: Any, orders: Any, hands: Any) -> None:
    """Writes the cards of the seats after the one to act, those still to be dealt included.

    Args:
        games: `[N]` games.
        rows: `[M]` int64, indices of games.
        orders: `[M]` uint8, the canonical order of suits of each row.
        hands: `[M, 3]` uint64, out: cards with suits in that order.
    """
    for row in range(rows.shape[0]):
        d = games[rows[row]].deal
        for after in range(NUM_HIDDEN):
            seat = (i64(d.actor) + 1 + after) & 3
            cards = d.hands[seat] | d.undealt[seat]
            hands[row, after] = permuted_cards(cards, i64(orders[row]))


@kernel
def log_deals(
    games: Any,
    tables: Any,
    strata: Any,
    learner: Any,
    kind: Any,
    position: Any,
    stratum: Any,
    totals: Any,
    results: Any,
) -> None:
    """Adds what learners scored in deals that ended since the last call, and looks at the others.

    A deal counts to the stratum that it had when it was last looked at.

    Args:
        games: `[N]` games.
        tables: rule tables.
        strata: see ``Strata.table``.
        learner: `[N, 4]` bool, seats that count.
        kind: `[N]` int64, row of ``results`` for each game.
        position: `[N]` int64, in and out: the deal looked at; -1: the game is over.
        stratum: `[N]` uint8, in and out: its stratum.
        totals: `[N, 4]` int64, in and out: points of the deals before it.
        results: `[2, T, 3]` float64, see ``Decisions``; added to.
    """
    for i in range(games.shape[0]):
        if position[i] < 0:
            continue
        g = games[i]
        t = tables[g.variant]
        over = g.deal.phase == PHASE_OVER
        if g.position == position[i]:
            stratum[i] = stratum_of(g, strata)
        if over or g.position != position[i]:
            mean = 0.0
            for seat in range(4):
                mean += 0.25 * float(side_score(g, t, seat, 1) - totals[i, seat])
            for seat in range(4):
                scored = side_score(g, t, seat, 1)
                if learner[i, seat]:
                    margin = float(scored - totals[i, seat]) - mean
                    results[kind[i], stratum[i], 0] += margin
                    results[kind[i], stratum[i], 1] += margin * margin
                    results[kind[i], stratum[i], 2] += 1.0
                totals[i, seat] = scored
            position[i] = -1 if over else i64(g.position)
            stratum[i] = stratum_of(g, strata)


@kernel
def disturb(games: Any, rows: Any, keys: Any, share: float, actions: Any) -> None:
    """Replaces a share of actions by random legal ones."""
    for row in range(rows.shape[0]):
        if float(draw(keys[row], 1) >> u64(11)) < share * 9007199254740992.0:
            d = games[rows[row]].deal
            number = i64(draw(keys[row], 2) % u64(num_legal(d)))
            actions[row] = nth_legal(d, number)


def derived_seed(seed: int, *purpose: int) -> int:
    """Returns a seed for one purpose of a run, 0 .. 2**64 - 1."""
    return int(np.random.SeedSequence([seed, *purpose]).generate_state(1, np.uint64)[0])


def draw_deals(
    draw_config: DrawConfig,
    variants: Sequence[Variant],
    seed: int,
    iteration: int,
    part: int,
    num_self: int,
    num_rule: int,
    opponent: Opponent = Opponent(),
    num_snapshot: int = 0,
    pool_size: int = 0,
) -> Deals:
    """Draws the deals of an iteration.

    Args:
        draw_config: which deals.
        variants: game i plays variant i mod their number.
        seed: seed of the run.
        iteration: number of the iteration.
        part: number of the part in the iteration, see ``player``.
        num_self: games with four learners.
        num_rule: games with one learner among three rule-based players, or copies of another.
        opponent: who that is.
        num_snapshot: games with one learner among three copies of a snapshot.
        pool_size: snapshots there are; their numbers follow that of ``opponent``'s agent.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, iteration, part]))
    num_games = num_self + num_rule + num_snapshot
    assert num_games <= GAMES_PER_PART
    base = (iteration * PARTS + part) * GAMES_PER_PART
    numbers = base + np.arange(num_games, dtype=np.int64)
    skip = np.zeros(num_games, dtype=np.uint8)
    for index, variant in enumerate(variants if draw_config.mode == "deal" else ()):
        games = np.arange(index, num_games, len(variants))
        decisions = np.array([deal.decision != "none" for deal in variant.spec.deals])
        num_deals = len(decisions)
        position = rng.integers(0, num_deals, len(games))
        if decisions.any() and not decisions.all():
            is_open = rng.random(len(games)) < draw_config.open_share
            position = np.where(
                is_open,
                rng.choice(np.flatnonzero(decisions), len(games)),
                rng.choice(np.flatnonzero(~decisions), len(games)),
            )
        numbers[games] = numbers[games] * num_deals + position
        skip[games] = decisions[position] & (rng.random(len(games)) < draw_config.skip_share)
    others = np.zeros((num_games, 4), dtype=np.bool_)
    others[num_self:] = True
    mixed = np.arange(num_self, num_games)
    seats = rng.integers(0, 4, len(mixed))
    others[mixed, seats] = False
    if opponent.whole_team:
        in_team = np.array([variant.spec.partnership for variant in variants])
        others[mixed, (seats + 2) % 4] &= ~in_team[mixed % len(variants)]
    snapshot = np.zeros(num_games, dtype=np.bool_)
    snapshot[num_self + num_rule :] = True
    numbered = int(opponent.agent is not None)
    agent = np.full(num_games, numbered)
    if num_snapshot:
        agent[snapshot] = numbered + rng.integers(1, pool_size + 1, num_snapshot)
    compiled = np.where(snapshot, 0, opponent.policy_id)
    return Deals(
        numbers,
        skip,
        (others * compiled[:, None]).astype(np.uint8),
        (others * agent[:, None]).astype(np.uint8),
        snapshot,
    )


def play(
    variants: Sequence[Variant],
    draw_config: DrawConfig,
    strata: Strata,
    deals: Deals,
    seed: int,
    canonical: bool,
    actor: Actor | None,
    random_moves: float = 0.0,
    frozen: Sequence[BatchPolicy] = (),
    privileged: bool = False,
    labeller: Labeller | None = None,
) -> Decisions:
    """Plays deals or matches to the end and returns the learner's decisions.

    A seat is paid the points it scores over the table mean, in point scales. In a match they are
    divided by the square root of its number of deals too, so that returns spread as in deals; with
    its last decision it is paid ``rank_weight`` times the utility of its rank, see ``matches``.

    Args:
        variants: the variants.
        draw_config: deals or matches, weights of drawn contracts.
        strata: strata of ``variants``.
        deals: the deals.
        seed: seed of the run; deals and draws have streams of their own.
        canonical: sort the suits.
        actor: the policy; None plays the rule-based agent and ``action`` is its choice.
        random_moves: share of moves that are played at random instead; ``action`` stays.
        frozen: the agents that ``deals.frozen`` numbers; their decisions are not kept.
        privileged: keep the hands that are hidden from the seat, see ``critic``.
        labeller: what search says of some decisions is kept.
    """
    num_games = len(deals.numbers)
    env = BatchEnv(
        list(variants),
        num_games,
        episode=draw_config.mode,
        seed=derived_seed(seed, 1),
        opponents=CompiledOpponents(derived_seed(seed, 2)),
    )
    env.tables = env.tables.copy()  # never write to tables that others may share
    env.tables.share[:] = draw_config.drawn_contracts
    games: Games = env.games
    scale = env.tables.point_scale[games.variant].astype(np.float32)[:, None]
    length = deals_of(variants)[games.variant] if draw_config.mode == "match" else 1
    scale *= np.sqrt(length, dtype=np.float32).reshape(-1, 1)
    step = env.reset(numbers=deals.numbers, skip=deals.skip, control=deals.control)
    everyone = np.arange(num_games, dtype=np.int64)
    early = np.zeros((num_games, 4), dtype=np.int32)
    collect_rewards(games, env.tables, everyone, 0, early)
    before = (early - early.mean(1, keepdims=True)).astype(np.float32) / scale

    # `latest` is the index of each seat's latest decision, the one that points are paid to.
    latest = np.full((num_games, 4), -1, dtype=np.int32)
    capacity = int(np.sum(length * np.full(num_games, 128)))
    reward = np.zeros(capacity, dtype=np.float32)
    following = np.full(capacity, -1, dtype=np.int32)
    kept: dict[str, list[npt.NDArray[Any]]] = {}
    count = 0
    agent_seed: Any = np.uint64(derived_seed(seed, 3))
    views = allocate(num_games if frozen else 0)
    others = (deals.control != 0) | (deals.frozen != 0)
    learner = ~others & others.any(1, keepdims=True)
    pairs = np.array([variant.spec.partnership for variant in variants])[games.variant]
    learner[pairs, 2:] &= ~learner[pairs, :2]  # a team's result counts once
    results = np.zeros((2, len(strata.names), 3))
    log = (
        *(games, env.tables, strata.table, learner, deals.snapshot.astype(np.int64)),
        games.position.astype(np.int64),
        np.zeros(num_games, dtype=np.uint8),
        np.zeros((num_games, 4), dtype=np.int64),
        results,
    )
    log_deals(*log)
    while len(step.rows):
        if frozen:
            agent = deals.frozen[step.rows, step.seat]
            everything = step.rows.copy()
            all_played = np.zeros(len(everything), dtype=np.int64)
            for number in np.unique(agent[agent > 0]):
                apart = np.flatnonzero(agent == number)
                asked = (games, env.tables, everything[apart], agent_seed, views, ())
                all_played[apart] = ask(frozen[number - 1], variants, *asked)
            if agent.all():
                step = env.step(all_played)
                _pay(step.reward, everything, latest, scale, reward, before)
                log_deals(*log)
                continue
            own = np.flatnonzero(agent == 0)
        else:
            own = np.arange(len(step.rows))
        rows, seat, size = step.rows[own], step.seat[own], len(own)
        words, numbers, mask = step.bits[own], step.numbers[own], step.mask[own]
        orders = np.empty(size, dtype=np.uint8)
        features.relabel(games, env.tables, rows, int(canonical), words, numbers, mask, orders)
        kind, stratum = np.empty(size, dtype=np.uint8), np.empty(size, dtype=np.uint8)
        ruff = np.empty(size, dtype=np.bool_)
        describe(games, rows, strata.table, kind, stratum, ruff)
        hidden = np.empty((size if privileged else 0, NUM_HIDDEN), dtype=np.uint64)
        if privileged:
            hidden_hands(games, rows, orders, hidden)
        keys = np.empty(size, dtype=np.uint64)
        decision_keys(games, rows, agent_seed, keys)
        played = np.empty(size, dtype=np.int64)
        points = np.empty((size, NUM_ACTIONS), dtype=np.float32)
        rule_points(games, env.tables, rows, orders, np.empty(NUM_CARDS), points)
        labelled = np.empty(0, dtype=np.int64)
        leads = np.empty((0, NUM_ACTIONS), dtype=np.float32)
        if labeller is not None:
            labelled = labeller.picks(keys)
            leads = labeller.leads(
                games, env.tables, rows[labelled], orders[labelled], keys[labelled]
            )
        if actor is None:
            act_rows(games, env.tables, rows, RULE, keys, played)
            action = np.empty(size, dtype=np.int64)
            features.to_canonical(games, env.tables, rows, orders, played, action)
            log_prob = value = np.zeros(size, dtype=np.float32)
        else:
            action, log_prob, value = actor(words, numbers, points, mask, keys)
            features.to_real(games, env.tables, rows, orders, action, played)
        if random_moves > 0:
            disturb(games, rows, keys, random_moves, played)

        index = np.arange(count, count + size, dtype=np.int32)
        previous = latest[rows, seat]
        following[previous[previous >= 0]] = index[previous >= 0]
        latest[rows, seat] = index
        made = {
            "words": words,
            "numbers": numbers,
            "mask": mask,
            "action": action,
            "log_prob": log_prob,
            "value": value,
            "points": points,
            "labelled": count + labelled,
            "leads": leads,
            "hidden": hidden,
            "kind": kind,
            "stratum": stratum,
            "ruff": ruff,
            "game": rows.astype(np.int32),
            "seat": seat.astype(np.uint8),
        }
        for name, column in made.items():
            kept.setdefault(name, []).append(column)
        count += size

        if frozen:
            all_played[own] = played
            rows, played = everything, all_played
        step = env.step(played)
        _pay(step.reward, rows, latest, scale, reward, before)
        log_deals(*log)
    points = games.paid - games.paid.mean(1, keepdims=True)
    score = points.astype(np.float32) / scale
    firsts = np.zeros(2)
    if draw_config.mode == "match":
        utility = np.float32(draw_config.rank_weight) * rank_utility(games.paid)
        _credit(utility, everyone, latest, reward, before)
        score += utility
        mine = learner & ~deals.snapshot[:, None]
        places = first_places(games.paid)
        places[pairs] *= 2  # partners share theirs
        firsts[:] = (places[mine].sum(), mine.sum())
    return Decisions(
        **{name: np.concatenate(column) for name, column in kept.items()},
        reward=reward[:count].copy(),
        following=following[:count].copy(),
        results=results,
        firsts=firsts,
        before=before,
        score=score,
    )


def _pay(
    rewards: npt.NDArray[np.int32],
    rows: npt.NDArray[np.int64],
    latest: npt.NDArray[np.int32],
    scale: npt.NDArray[np.float32],
    reward: npt.NDArray[np.float32],
    before: npt.NDArray[np.float32],
) -> None:
    """Pays what a step scored to each seat's latest decision.

    Args:
        rewards: `[N, 4]` points of the step.
        rows: `[M]` games that were stepped.
        latest: `[N, 4]` index of each seat's latest decision, or -1.
        scale: `[N, 1]` point scales.
        reward: `[D]`, added to.
        before: `[N, 4]`, added to where a seat has not decided yet.
    """
    paid = rewards[rows]
    if paid.any():
        share = (paid - paid.mean(1, keepdims=True)).astype(np.float32) / scale[rows]
        _credit(share, rows, latest, reward, before)


def _credit(
    share: npt.NDArray[np.float32],
    rows: npt.NDArray[np.int64],
    latest: npt.NDArray[np.int32],
    reward: npt.NDArray[np.float32],
    before: npt.NDArray[np.float32],
) -> None:
    """Credits shares `[M, 4]` of the games ``rows`` to each seat's latest decision."""
    owner = latest[rows]
    reward[owner[owner >= 0]] += share[owner >= 0]
    before[rows] += np.where(owner < 0, share, 0)


def columns_in_use(
    variants: Sequence[Variant], draw_config: DrawConfig, canonical: bool
) -> npt.NDArray[np.int64]:
    """Returns `[C]` int64: the features that vary in random and rule-based play of variants.

    A pure function of the variants: the deals it plays are always the same.
    """
    strata = Strata(variants)
    num_games = 2048 if draw_config.mode == "deal" else math.ceil(2048 / deals_of(variants).mean())
    low: npt.NDArray[Any] | None = None
    high: npt.NDArray[Any] | None = None
    for round_number, random_moves in enumerate((1.0, 0.2, 0.02)):
        deals = draw_deals(draw_config, variants, 0, round_number, 0, num_games, 0)
        made = play(variants, draw_config, strata, deals, 0, canonical, None, random_moves)
        bits = observe.unpack_bits(made.words, observe.NUM_BITS)
        smallest = np.concatenate([bits.min(0), made.numbers.min(0)])
        largest = np.concatenate([bits.max(0), made.numbers.max(0)])
        low = smallest if low is None else np.minimum(low, smallest)
        high = largest if high is None else np.maximum(high, largest)
    return np.flatnonzero(low != high).astype(np.int64)
