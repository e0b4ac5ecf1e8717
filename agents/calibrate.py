"""Calibrates the rule-based agent on play with itself: ``python -m agents.calibrate``.

Card weights: at a share of the decisions of self-played deals, every legal card is played out to
the end of the deal, and the points it leads to are regressed on the card's terms, for each kind of
counting, situation and stage. The new weights play the next round. Hand values: the things a hand
took are regressed on its cards. Both go to ``agents/hand_values.py``. The same seed gives the same
file on one machine.

It knows the shipped variants, and contracts in which the units of the negative deals are wanted.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.kernels import fitting
from agents.kernels.cards import (
    FOLLOWING,
    LAST_TO_PLAY,
    LEADING,
    NUM_COUNTS,
    NUM_GROUPS,
    NUM_KINDS,
    NUM_ROWS,
    NUM_STAGES,
    NUM_TERMS,
    OUT_OF_SUIT,
    TERMS,
    TRUMP_KIND,
)
from agents.kernels.hands import (
    FIRST_CARDS,
    HEARTS_COUNT,
    KING_COUNT,
    KNOWN_ROW,
    LAST_ROW,
    LONG_PACK,
    NO_SUIT,
    NUM_HAND_ROWS,
    NUM_HAND_TERMS,
    RIVAL_PLUS_ROW,
    RIVAL_ROW,
    SHORT_PACK,
)
from king_env.cards import HEARTS
from king_env.engine import batch
from king_env.engine.actions import ORDER
from king_env.engine.layout import NUM_SEATS, PHASE_PLAY, Tables, allocate
from king_env.engine.order import ORDER_NO_TRUMP, ORDER_WRITE
from king_env.rules.catalogue import load_variant
from king_env.rules.spec import ContractSpec, DealSpec, VariantSpec
from king_env.rules.tables import TRUMP_LAST_CARD, make_tables

Floats = npt.NDArray[np.float64]

NUM_PLAYED_ORDERS: Final = ORDER_WRITE
ORDER_LAST, ORDER_MISERE = ORDER_NO_TRUMP + 1, ORDER_NO_TRUMP + 2
RULE_SET: Final = fitting.FIRST_SET
COUNT_FIELDS: Final = ("trick", "last", "heart", "queen", "man", "king_of_hearts")
SITUATIONS: Final = {
    LEADING: "leading",
    FOLLOWING: "following",
    LAST_TO_PLAY: "last to play",
    OUT_OF_SUIT: "out of the suit",
}
STAGES: Final = ("9 cards and more", "5 to 8", "3 or 4", "2")
OUTPUT: Final = Path(__file__).with_name("hand_values.py")

RIDGE: Final = 20.0
HAND_RIDGE: Final = 30.0


def wanted_spec(spec: VariantSpec) -> VariantSpec:
    """Returns a variant whose deals pay for what the variant's negative deals punish."""
    wanted = []
    for contract in spec.contract:
        values = {field: -getattr(contract, field) for field in COUNT_FIELDS}
        if contract.constant == 0 and sum(values.values()) > 0 and not contract.trick:
            changes: dict[str, Any] = {**values, "id": f"take_{contract.id}", "lead": "free"}
            wanted.append(dataclasses.replace(contract, **changes))
    contracts: tuple[ContractSpec, ...] = (*spec.contract, *wanted)
    schedule = tuple(DealSpec(contract=contract.id) for contract in wanted)
    return dataclasses.replace(spec, contract=contracts, schedule=schedule)


def specs_of_pack(pack: int) -> list[VariantSpec]:
    """Returns what is calibrated on, for a pack: auctioned, chosen and wanted contracts."""
    first = load_variant("international", {"a.pack": pack}).spec
    second = dataclasses.replace(load_variant("turkish_short").spec, pack=pack)
    return [first, second, wanted_spec(first)]


SHARES: Final = (0.55, 0.3, 0.15)
"""Share of the deals played by each of ``specs_of_pack``."""


def _seed(seed: int) -> Any:
    """Returns a seed as kernels take it."""
    return np.uint64(seed)


def start(tables: Tables, variant: int, seed: int, numbers: Any, skip: int = 1) -> Any:
    """Returns deals of a suite, at PLAY unless ``skip`` is 0, everybody playing by weight set 0."""
    count = len(numbers)
    games: Any = allocate(count)
    games.variant[:] = variant
    games.control[:] = RULE_SET
    rows = np.arange(count, dtype=np.int64)
    skips = np.full(count, skip, dtype=np.uint8)
    batch.begin_episodes(games, tables, rows, _seed(seed), numbers, 0, skips, 0)
    return games


def first_weights() -> Floats:
    """Returns plain weights to start from: duck and shed danger, or win cheaply."""
    weights = np.zeros((NUM_KINDS, NUM_GROUPS, NUM_TERMS))
    unwanted, wanted = weights[:NUM_COUNTS], weights[NUM_COUNTS:]
    unwanted[..., TERMS.index("takes_if_ducked")] = -1.0
    unwanted[..., TERMS.index("below")] = 1.0
    unwanted[..., TERMS.index("unit")] = 1.0
    wanted[..., TERMS.index("takes_if_fought")] = 1.0
    wanted[..., TERMS.index("below")] = -0.5
    return weights.reshape(NUM_ROWS, NUM_TERMS)


def solve_cards(gram: Floats, moment: Floats) -> Floats:
    """Returns the ridge regression of each row, shrunk towards that of all stages together."""
    weights = np.zeros((NUM_ROWS, NUM_TERMS))
    ridge = RIDGE * np.eye(NUM_TERMS)
    for first in range(0, NUM_ROWS, NUM_STAGES):
        rows = slice(first, first + NUM_STAGES)
        pooled = np.linalg.solve(gram[rows].sum(0) + ridge, moment[rows].sum(0))
        for row in range(first, first + NUM_STAGES):
            rest = moment[row] - gram[row] @ pooled
            weights[row] = pooled + np.linalg.solve(gram[row] + ridge, rest)
    return weights


def fit_cards(rounds: int, deals: int, percent: int, seed: int) -> Floats:
    """Returns card weights after some rounds of play-outs; the last two have twice the deals."""
    weights: Floats = first_weights()
    tables = make_tables(specs_of_pack(52) + specs_of_pack(32))
    shares = [0.8 * share for share in SHARES] + [0.2 * share for share in SHARES]
    worlds = allocate(1)
    room = np.zeros((52, NUM_TERMS + 1))
    for number in range(rounds):
        began = time.perf_counter()
        gram = np.zeros((NUM_ROWS, NUM_TERMS, NUM_TERMS))
        moment = np.zeros((NUM_ROWS, NUM_TERMS))
        count = np.zeros(NUM_ROWS)
        size = deals * (2 if number >= rounds - 2 else 1)
        for variant, share in enumerate(shares):
            numbers = np.arange(int(size * share), dtype=np.int64)
            games = start(tables, variant, seed + number, numbers)
            fitting.gather(
                games, tables, worlds, _seed(seed), percent, weights, np.eye(NUM_TERMS),
                room, gram, moment, count,
            )  # fmt: skip
        weights = solve_cards(gram, moment)
        took = time.perf_counter() - began
        print(
            f"cards, round {number + 1}: {int(count.sum()):,} decisions, {took:.0f} s", flush=True
        )
    return np.asarray(np.round(weights, 3), dtype=np.float64)


def _regress(terms: Floats, taken: Floats) -> Floats:
    """Returns the ridge regression of what was taken; the constant is not shrunk."""
    ridge = HAND_RIDGE * np.eye(NUM_HAND_TERMS)
    ridge[-1, -1] = 0.0
    return np.asarray(np.linalg.solve(terms.T @ terms + ridge, terms.T @ taken), dtype=np.float64)


def _terms(
    games: Any,
    tables: Tables,
    specials: npt.NDArray[np.int64],
    flips: npt.NDArray[np.int64] | None = None,
) -> Floats:
    """Returns `[N, 4, H]` terms of the hands as they are now."""
    out = np.zeros((len(games), NUM_SEATS, NUM_HAND_TERMS))
    if flips is None:
        flips = np.zeros(len(games), dtype=np.int64)
    fitting.hand_terms(games, tables, specials, flips, np.eye(NUM_HAND_TERMS), out)
    return out


def fit_hands(cards: Floats, deals: int, seed: int) -> tuple[Floats, Floats]:
    """Returns hand weights and the mean of what each row stands for, packs one after the other."""
    weights = np.zeros((3, NUM_HAND_ROWS, NUM_HAND_TERMS))
    means = np.zeros((3, NUM_HAND_ROWS))
    for place, pack in ((LONG_PACK, 52), (SHORT_PACK, 32)):
        specs = specs_of_pack(pack)
        tables = make_tables(specs)
        samples: dict[int, list[tuple[Floats, Floats]]] = {}
        for variant, spec in enumerate(specs):
            numbers = np.arange(int(deals * SHARES[variant]), dtype=np.int64)
            games = start(tables, variant, seed, numbers)
            fitting.mix_starts(games, tables, _seed(seed))
            _sample_hands(spec, games, tables, cards, samples)
        for row, parts in samples.items():
            terms = np.concatenate([part[0] for part in parts])
            taken = np.concatenate([part[1] for part in parts])
            weights[place, row] = _regress(terms, taken)
            means[place, row] = taken.mean()
            if row == TRUMP_KIND:
                means[place, row] = _mean_of_best_suit(tables, seed, weights[place, row])
        _fit_rival(tables, cards, deals, seed + 1, weights, means, place)
    _fit_orders(cards, deals, seed + 2, weights, means)
    shape = (3 * NUM_HAND_ROWS, NUM_HAND_TERMS)
    return np.round(weights, 3).reshape(shape), np.round(means, 3).reshape(-1)


def _mean_of_best_suit(tables: Tables, seed: int, row: Floats) -> float:
    """Returns the expected tricks of an average hand that names its best trump suit."""
    games = start(tables, 0, seed, np.arange(5000, dtype=np.int64))
    suits = [_terms(games, tables, np.full(len(games), suit)) @ row for suit in range(4)]
    return float(np.max(suits, axis=0).mean())


def _sample_hands(
    spec: VariantSpec,
    games: Any,
    tables: Tables,
    cards: Floats,
    samples: dict[int, list[tuple[Floats, Floats]]],
) -> None:
    """Plays deals and files each hand's terms, and what it took, under the row of its contract."""
    contracts = games.deal.contract.astype(np.int64)
    trumps = games.deal.trump.astype(np.int64)
    declarers = games.deal.declarer.astype(np.int64)
    by_contract = {}
    for index, contract in enumerate(spec.contract):
        value, count = max(
            (abs(getattr(contract, field)), number) for number, field in enumerate(COUNT_FIELDS)
        )
        points = getattr(contract, COUNT_FIELDS[count])
        kind = count + NUM_COUNTS * (points > 0)
        special = HEARTS if count in (HEARTS_COUNT, KING_COUNT) else NO_SUIT
        by_contract[index] = (kind, special, points, contract.constant)
        assert value > 0
    specials = np.array([by_contract[contract][1] for contract in contracts])
    specials = np.where(trumps < NO_SUIT, trumps, specials)
    terms = _terms(games, tables, specials)
    fitting.play_all(games, tables, _seed(0), cards)
    for index, (kind, _, points, constant) in by_contract.items():
        for trump in (False, True):
            rows = np.flatnonzero((contracts == index) & ((trumps < NO_SUIT) == trump))
            if rows.size == 0:
                continue
            taken = (games.totals[rows] - constant) / points
            if trump:
                # Only the declarer's hand: the others did not choose the suit.
                seats = declarers[rows]
                part = terms[rows, seats], taken[np.arange(rows.size), seats]
            else:
                part = terms[rows].reshape(-1, NUM_HAND_TERMS), taken.reshape(-1)
            samples.setdefault(TRUMP_KIND if trump else kind, []).append(part)


def _fit_rival(
    tables: Tables, cards: Floats, deals: int, seed: int, weights: Floats, means: Floats, place: int
) -> None:
    """Fits the points, in plus units, of a hand whose rival declares what suits him best."""
    numbers = np.arange(deals, dtype=np.int64)
    numbers = numbers[numbers % 10 >= 6]  # the auctioned deals of the schedule
    games = start(tables, 0, seed, numbers, skip=0)
    flat = weights.reshape(-1, NUM_HAND_TERMS)
    fitting.declare_all(games, tables, flat, means.reshape(-1))
    declarers = games.deal.declarer.astype(np.int64)
    plus = games.deal.contract == tables[0].plus_contract
    trump = games.deal.trump < NO_SUIT
    terms = _terms(games, tables, np.full(len(games), NO_SUIT, dtype=np.int64))
    fitting.play_all(games, tables, _seed(0), cards)
    points = games.totals / tables[0].plus_unit
    others = np.ones((len(games), NUM_SEATS), dtype=np.bool_)
    others[np.arange(len(games)), declarers] = False
    for row, deals_of_row in ((RIVAL_ROW, others), (RIVAL_PLUS_ROW, others & plus[:, None])):
        weights[place, row] = _regress(terms[deals_of_row], points[deals_of_row])
        means[place, row] = points[deals_of_row].mean()
    print(
        f"auctions: the declarer makes {points[~others].mean():.2f} plus units, the others "
        f"{points[others].mean():.2f}; trump {np.mean(plus & trump):.2f}, "
        f"no trump {np.mean(plus & ~trump):.2f}, nulls {np.mean(~plus):.2f}",
        flush=True,
    )


def ordered_spec() -> VariantSpec:
    """Returns ordered deals of the Russian game that nobody may buy."""
    spec = load_variant("russian_auction").spec
    ordered = next(deal for deal in spec.schedule if deal.decision == "order")
    assert spec.phases.order is not None
    order = dataclasses.replace(spec.phases.order, buying="off")
    phases = dataclasses.replace(spec.phases, order=order)
    return dataclasses.replace(spec, schedule=(ordered,), phases=phases)


def _fit_orders(cards: Floats, deals: int, seed: int, weights: Floats, means: Floats) -> None:
    """Fits the tricks that the first cards lead to: by own order, and when a rival orders."""
    tables = make_tables([ordered_spec()])
    numbers = np.arange(deals, dtype=np.int64)
    games = start(tables, 0, seed, numbers, skip=0)
    orders = np.random.default_rng(seed).integers(0, NUM_PLAYED_ORDERS, deals)
    specials = np.where(orders < NO_SUIT, orders, NO_SUIT)
    flips = np.where(orders == ORDER_MISERE, 1, 0)
    terms = _terms(games, tables, specials, flips)
    orderers = games.deal.chooser.astype(np.int64)
    batch.step_rows(games, tables, numbers, ORDER + orders, 0)
    fitting.play_all(games, tables, _seed(0), cards)
    tricks = games.totals / tables[0].trick_price
    suit, last = orders < NO_SUIT, orders == ORDER_LAST
    plain = ~suit & ~last
    wanted = NUM_COUNTS + COUNT_FIELDS.index("trick")
    _file(weights, means, wanted, terms[plain].reshape(-1, NUM_HAND_TERMS), tricks[plain].ravel())
    for row, rows in ((TRUMP_KIND, suit), (LAST_ROW, last)):
        seats = orderers[rows]
        _file(weights, means, row, terms[rows, seats], tricks[rows, seats])
    _fit_rival_orders(tables, cards, deals, seed + 1, weights, means)


def _fit_rival_orders(
    tables: Tables, cards: Floats, deals: int, seed: int, weights: Floats, means: Floats
) -> None:
    """Fits the tricks of first cards whose rival orders what suits him best, known or not."""
    numbers = np.arange(deals, dtype=np.int64)
    games = start(tables, 0, seed, numbers, skip=0)
    dealt = games.copy()
    fitting.order_all(games, tables, weights.reshape(-1, NUM_HAND_TERMS), means.reshape(-1))
    played = np.flatnonzero(games.deal.phase == PHASE_PLAY)
    contracts = games.deal.contract[played]
    trumps = games.deal.trump[played].astype(np.int64)
    last = tables[0].trump[contracts] == TRUMP_LAST_CARD
    specials = np.where(last, NO_SUIT, trumps)
    flips = tables[0].reversed[contracts].astype(np.int64)
    others = np.ones((len(played), NUM_SEATS), dtype=np.bool_)
    others[np.arange(len(played)), games.deal.chooser[played]] = False
    dealt = dealt[played]
    known = _terms(dealt, tables, specials, flips)
    unknown = _terms(dealt, tables, np.full(len(played), NO_SUIT, dtype=np.int64))
    fitting.play_all(games, tables, _seed(0), cards)
    tricks = games.totals[played] / tables[0].trick_price
    _file(weights, means, KNOWN_ROW, known[others], tricks[others])
    _file(weights, means, RIVAL_ROW, unknown[others], tricks[others])
    print(
        f"orders: the orderer takes {tricks[~others].mean():.2f} tricks, the others "
        f"{tricks[others].mean():.2f}; written {1 - len(played) / deals:.2f}, "
        f"suit {np.mean(~last & (trumps < NO_SUIT)):.2f}, last {last.mean():.2f}, "
        f"misere {flips.mean():.2f}",
        flush=True,
    )


def _file(weights: Floats, means: Floats, row: int, terms: Floats, taken: Floats) -> None:
    """Fits a row of first cards."""
    weights[FIRST_CARDS, row] = _regress(terms, taken)
    means[FIRST_CARDS, row] = taken.mean()


def _rows_text(rows: Floats, comments: list[str]) -> str:
    """Returns rows as thousandths, each under its comment."""
    lines = []
    for row, comment in zip(rows, comments, strict=True):
        lines.append(f"# {comment}")
        line = ""
        for value in np.atleast_1d(row):
            word = str(round(float(value) * 1000))
            if len(line) + len(word) + 1 > 96:
                lines.append(line)
                line = ""
            line = f"{line} {word}".strip()
        lines.append(line)
    return "\n".join(lines)


def kind_name(kind: int) -> str:
    """Returns the words for a kind of counting."""
    if kind == TRUMP_KIND:
        return "trick wanted, with trumps"
    wanted = "wanted" if kind >= NUM_COUNTS else "unwanted"
    return f"{COUNT_FIELDS[kind % NUM_COUNTS]} {wanted}"


def write_module(path: Path, cards: Floats, hands: Floats, means: Floats) -> None:
    """Writes the values as a Python module, so that the kernel cache sees them change."""
    card_comments = [
        f"{kind_name(row // NUM_GROUPS)}, {SITUATIONS[row % NUM_GROUPS // NUM_STAGES]}, "
        f"{STAGES[row % NUM_STAGES]}"
        for row in range(NUM_ROWS)
    ]
    rows = [kind_name(kind) for kind in range(NUM_KINDS)]
    rows += ["plus units when a rival declares", "plus units when he declares a plus deal"]
    rows += ["tricks when a rival plays a known order", "tricks of the order by the last card"]
    hands_of = ("52 cards", "32 cards", "first cards")
    hand_comments = [f"{which}: {row}" for which in hands_of for row in rows]
    text = f'''"""Calibrated values of the rule-based agent.

Generated by ``python -m agents.calibrate``. Thousandths, written by rows;
see ``agents.kernels.cards`` and ``agents.kernels.hands``.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt


def _table(text: str, width: int) -> npt.NDArray[np.float64]:
    """Returns `[rows, width]` values of text in thousandths; lines with # are comments."""
    words = " ".join(line for line in text.splitlines() if not line.startswith("#")).split()
    return np.array([int(word) for word in words]).reshape(-1, width) / 1000.0


_CARDS: Final = """
{_rows_text(cards, card_comments)}
"""

_HANDS: Final = """
{_rows_text(hands, hand_comments)}
"""

_MEANS: Final = """
{_rows_text(means[:, None], hand_comments)}
"""

CARD_WEIGHTS: Final = _table(_CARDS, {NUM_TERMS})
"""`[rows, terms]`, in things that count."""

HAND_WEIGHTS: Final = _table(_HANDS, {NUM_HAND_TERMS})
"""`[rows, terms]`, in things that count, or plus units."""

HAND_MEANS: Final = _table(_MEANS, 1)[:, 0]
"""`[rows]`, what an average hand takes."""
'''
    path.write_text(text)


def main(arguments: list[str] | None = None) -> int:
    """Runs the calibration and writes the module."""
    parser = argparse.ArgumentParser(prog="python -m agents.calibrate", description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--deals", type=int, default=40_000, help="deals of a round")
    parser.add_argument("--percent", type=int, default=25, help="share of decisions labelled")
    parser.add_argument("--hand-deals", type=int, default=120_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUTPUT)
    parser.add_argument("--only-hands", action="store_true", help="keep the card weights")
    options = parser.parse_args(arguments)
    if options.only_hands:
        from agents.hand_values import CARD_WEIGHTS

        cards = CARD_WEIGHTS
    else:
        cards = fit_cards(options.rounds, options.deals, options.percent, options.seed)
    hands, means = fit_hands(cards, options.hand_deals, options.seed + 1000)
    write_module(options.out, cards, hands, means)
    return 0


if __name__ == "__main__":
    sys.exit(main())
