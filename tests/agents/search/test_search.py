"""Search agents: legal everywhere, blind, deterministic, and right where the answer is plain."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from agents.ids import RANDOM, RULE
from agents.registry import AgentError, agent_names, make_agent
from agents.search.policies import SearchAgent
from king_env.cards import CARD_NAMES
from king_env.engine import batch, sample, step
from king_env.engine.layout import PHASE_PLAY, PHASES, Games, allocate
from king_env.game import Game
from king_env.policy import BatchPolicy, View, decision_keys
from tests.agents.search.positions import deals, endgames, move_on
from tests.playing import VARIANTS
from tests.rules.factories import find_variant

SEARCHES = [
    "pimc:4",
    "pimc:3,endgame=3",
    "pimc:2,endgame=3,solver=maxn,weigh=1",
    "ismcts:40",
    "ismcts:30,weigh=1",
]

SETTINGS: list[tuple[str, Mapping[str, object]]] = [
    *((name, {}) for name in VARIANTS),
    ("international", {"a.ultimatum.timing": "both", "a.auction.bid_binds_deal": False}),
    (
        "international",
        {
            "a.auction.match": "same_value",
            "a.negotiation.max_requests": 3,
            "a.auction.plus8_binding": "ultimatum_only",
        },
    ),
    ("russian_auction", {"b.v1.buy_timing": "before_order", "b.v1.payment_cap": "tricks_taken"}),
]


def search(name: str) -> SearchAgent:
    agent = make_agent(name)
    assert isinstance(agent, SearchAgent)
    return agent


def ask(agent: SearchAgent, games: Games, tables: Any, rows: Any, seed: int) -> Any:
    """What an agent does in the games of ``rows``, and the keys of its decisions."""
    keys = np.zeros(len(rows), dtype=np.uint64)
    agent_seed: Any = np.uint64(seed)
    decision_keys(games, rows, agent_seed, keys)
    views = allocate(len(rows))
    sample.hide_actors(games, tables, rows, views)
    return agent.act_batch(views, tables, keys), keys, views


@pytest.mark.parametrize("name", SEARCHES)
def test_legal_and_blind_in_every_phase_of_every_variant(name: str) -> None:
    """Legal at every decision; the same whatever the hidden cards, and one by one."""
    agent = search(name)
    assert isinstance(agent, BatchPolicy) and agent.name == name
    variants = [find_variant(*setting) for setting in SETTINGS]
    games, tables = deals(variants, 40, 2)
    in_play = np.zeros(len(games), dtype=np.int64)
    worlds = allocate(1)
    phases = set()
    turn = 0
    while (count := batch.rows_in_play(games, in_play)) > 0:
        rows = in_play[:count].copy()
        # Random and sensible play reach all phases; the agent is asked now and then.
        often = np.where(games.deal.phase[rows] == PHASE_PLAY, 17, 2)
        asked = rows[(rows + turn) % often == 0]
        phases |= set(games.deal.phase[asked].tolist())
        actions, keys, views = ask(agent, games, tables, asked, 8)
        assert batch.first_illegal(games.deal.legal[asked], actions) < 0
        for row in range(turn % 5, len(asked), 5):
            seat = int(views[row].deal.actor)
            world_keys = keys[row : row + 1] + np.uint64(1)
            assert sample.sample_worlds(views, tables, row, seat, worlds, 0, 1, world_keys) == 1
            other = allocate(1)
            sample.hide(worlds, tables, 0, seat, other, 0)
            for same in (other, worlds):
                again = agent.act_batch(same, tables, keys[row : row + 1])
                assert again[0] == actions[row]
        for policy in (RANDOM, RULE):
            movers = rows[rows % 2 == (policy == RULE)]
            if movers.size:
                move_on(games, tables, movers, 3, policy)
        turn += 1
    assert {PHASES[phase] for phase in phases} == set(PHASES) - {"OVER"}


@pytest.mark.parametrize("name", SEARCHES)
def test_same_action_whatever_the_batch(name: str) -> None:
    games, tables = endgames([find_variant("international", {})], 30, 4, 30)
    rows = np.arange(len(games), dtype=np.int64)
    agent = search(name)
    together, keys, views = ask(agent, games, tables, rows, 5)
    fresh = search(name)
    for row in rows[::-3]:
        alone = fresh.act_batch(views[row : row + 1], tables, keys[row : row + 1])
        assert alone[0] == together[row]
    seat = int(games.deal.actor[0])
    view = View(find_variant("international", {}), games, tables, 0, seat)
    drawn = np.random.default_rng(7).integers(0, 2**64, 1, dtype=np.uint64)
    expected = agent.act_batch(view.record, tables, drawn)[0]
    assert agent.act(view, np.random.default_rng(7)) == expected


def cut(contract: str, hands: list[str], trick: str = "") -> tuple[Games, Any]:
    """A deal of `international` with these cards left; seat 0 leads, and ``trick`` is played.

    Who played the other cards is told at random, and that nobody is known to be out of anything.
    """
    variant = find_variant("international", {})
    match = next((k for k, deal in enumerate(variant.spec.deals) if deal.contract == contract), 6)
    game = Game(variant, seed=1, match=match, episode="deal")
    d = game.games.deal
    masks = [sum(1 << CARD_NAMES.index(card) for card in hand.split()) for hand in hands]
    gone = [card for card in range(52) if not sum(masks) >> card & 1]
    for seat, mask in enumerate(masks):
        d.hands[0, seat] = mask
        d.played[0, seat] = sum(1 << card for card in gone[seat::4])
    d.taken[0] = d.played[0]
    d.trick_number = 13 - len(hands[0].split())
    d.phase = PHASE_PLAY
    d.contract = variant.spec.contract_index(contract)
    d.trump = 4
    d.broken = 1
    d.leader = d.actor = 0
    step.refresh_legal(game.games, game.tables, 0)
    for card in trick.split():
        assert step.step(game.games, game.tables, 0, CARD_NAMES.index(card)) == 0
    return game.games, game.tables


@pytest.mark.parametrize("name", ["pimc:20", "pimc:20,endgame=4", "ismcts:300"])
@pytest.mark.parametrize(
    ("contract", "hands", "trick", "best"),
    [
        # Out of the led suit: the king goes now, or it takes a heart trick later.
        ("no_king", ["3S 4H", "KH 2C", "4S 5H", "5S 6H"], "3S", "KH"),
        ("no_queens", ["3S 4H", "QH 2C", "4S 5H", "5S 6H"], "3S", "QH"),
        # Last to play: the ace now and the two, which nobody can follow to, take both tricks.
        ("positive", ["KS 3C", "QS 4C", "JS 5C", "AS 2S"], "KS QS JS", "AS"),
        # The trick holds three hearts: duck.
        ("no_hearts", ["9H 8H", "7H 7C", "6H 6C", "2H AH"], "9H 7H 6H", "2H"),
        # Lead the two: whoever must beat it takes the first of the last tricks, and the next.
        ("no_last2", ["2S 3H", "4S 5H", "5S 6H", "6S 7H"], "", "2S"),
    ],
)
def test_plain_cases(name: str, contract: str, hands: list[str], trick: str, best: str) -> None:
    """The search itself finds them, with play-outs and first choice at random."""
    games, tables = cut(contract, hands, trick)
    agent = search(f"{name},policy=random,caution=0,trust=0")
    rows = np.zeros(1, dtype=np.int64)
    for seed in range(5):
        actions, _, _ = ask(agent, games, tables, rows, seed)
        assert CARD_NAMES[actions[0]] == best


def test_forced_moves_need_no_worlds() -> None:
    games, tables = cut("no_tricks", ["3S 4H", "KS 2C", "4S 5H", "5S 6H"], "3S")
    games.deal.hands[0, 2] = 0  # no deal fits any more, and nobody asks
    actions, _, _ = ask(search("pimc:20"), games, tables, np.zeros(1, dtype=np.int64), 1)
    assert CARD_NAMES[actions[0]] == "KS"


def test_better_than_the_policy_it_plays_out() -> None:
    """Against three that play at random, searching with random play-outs gains a lot."""
    variant = find_variant("international", {})
    agent = search("pimc:10,policy=random")
    gained = []
    for seat in range(4):
        games, tables = deals([variant], 40, 6, "play")
        in_play = np.zeros(len(games), dtype=np.int64)
        while (count := batch.rows_in_play(games, in_play)) > 0:
            rows = in_play[:count].copy()
            own = games.deal.actor[rows] == seat
            if (~own).any():
                move_on(games, tables, rows[~own], 3)
            if own.any():
                actions, _, _ = ask(agent, games, tables, rows[own], 4)
                batch.step_rows(games, tables, rows[own], actions, 0)
        gained.append(games.totals[:, seat] - games.totals.mean(axis=1))
    margins = np.mean(gained, axis=0)
    assert margins.mean() - 2 * margins.std() / len(margins) ** 0.5 > 20


SCRIPT = """
import numpy as np
from agents.registry import make_agent
from tests.agents.search.test_search import SEARCHES, ask
from tests.agents.search.positions import deals, endgames
from tests.rules.factories import find_variant
found = []
for name in SEARCHES:
    agent = make_agent(name.replace("40", "12"))
    for variant, most in (("international", 9), ("tiny_three", 12)):
        games, tables = endgames([find_variant(variant, {})], 6, 4, most)
        rows = np.arange(len(games), dtype=np.int64)
        found += ask(agent, games, tables, rows, 5)[0].tolist()
games, tables = deals([find_variant("tiny_counter", {})], 2, 3)
found += ask(make_agent("pimc:1"), games, tables, np.arange(2), 5)[0].tolist()
print(found)
"""


def test_the_same_without_the_compiler() -> None:
    found = []
    for disabled in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        done = subprocess.run(
            [sys.executable, "-W", "ignore::RuntimeWarning", "-c", SCRIPT],
            check=True, capture_output=True, text=True, env=environment, timeout=300,
        )  # fmt: skip
        found.append(done.stdout)
    assert found[0] == found[1] and len(found[0]) > 50


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pimc:0", r"number of worlds: found '0'; allowed: 1..10000"),
        ("pimc:many", r"number of worlds: found 'many'"),
        ("pimc:20,endgame=9", r"endgame: found '9'; allowed: 0..7"),
        ("pimc:20,solver=best", r"solver: found 'best'; allowed: paranoid, maxn"),
        ("pimc:20,caution=x", r"caution: found 'x'; allowed: 0 to 10"),
        ("pimc:20,trust=-1", r"trust: found '-1'; allowed: 0 to 1000"),
        ("ismcts,weigh=2", r"weigh: found '2'; allowed: 0, 1"),
        ("pimc:20,policy=net", r"policy: found 'net'; allowed: random, greedy, rule"),
        ("pimc:20,endgam=5", r"unknown key 'endgam'; did you mean 'endgame'"),
        ("pimcc", r"did you mean 'pimc'"),
        ("ismcts:0", r"number of iterations: found '0'"),
        ("ismcts,exploration=-1", r"exploration: found '-1'; allowed: 0 to 100"),
        ("ismcts,endgame=5", r"unknown key 'endgame'"),
    ],
)
def test_wrong_names(name: str, message: str) -> None:
    with pytest.raises(AgentError, match=message) as error:
        make_agent(name)
    assert "\n" not in str(error.value)


def test_names() -> None:
    assert {"pimc", "ismcts"} <= set(agent_names())
    assert search("pimc").name == "pimc" and search(" ismcts:50 ").name == "ismcts:50"
