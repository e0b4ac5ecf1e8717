"""What always holds, on random play: rules.md 1.6, 2.8, 3.7, 4, 5, 6.6."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

import pytest

from king_env.cards import mask_of, pack_mask, parse_card
from king_env.engine.actions import NUM_ACTIONS
from king_env.game import DealLog, Game
from king_env.rules.spec import LADDER, ContractSpec
from king_env.view import legal_ids
from tests.playing import NO_OPTIONS, VARIANTS, new_game, pick, play
from tests.rules.factories import find_variant

RUSSIAN: dict[str | None, int] = {"ordered": 24, None: 24}
RUSSIAN |= {
    f"{sign}_{what}": unit * (96 if what == "all" else 16)
    for sign, unit in (("no", -1), ("take", 1))
    for what in ("tricks", "hearts", "boys", "girls", "king", "last2", "all")
}

# Rules.md 2.2, 2.3, 2.7, 3, 5 and 6.2; the tiny ones add up their own files.
TOTALS: dict[str, dict[str | None, int]] = {
    "international": {
        "no_tricks": -260, "no_hearts": -260, "no_queens": -200, "no_men": -240, "no_king": -160,
        "no_last2": -180, "positive": 325, "nulls": 325, None: 325,
    },
    "literal": {
        "no_tricks": -160, "no_hearts": -160, "no_queens": -200, "no_men": -240, "no_king": -160,
        "no_last2": -180, "positive": 200, "nulls": 200, None: 200,
    },
    "balanced160": {
        "no_tricks": -160, "no_hearts": -160, "no_queens": -160, "no_men": -160, "no_king": -160,
        "no_last2": -160, "positive": 240, "nulls": 240, None: 240,
    },
    "russian": RUSSIAN,
    "rifki": {
        "kupa": -390, "el": -650, "erkek": -480, "kiz": -400, "rifki": -320, "soniki": -360,
        "koz": 650,
    },
    "turkish": {
        "kupa": -325, "el": -325, "erkek": -320, "kiz": -320, "rifki": -320, "soniki": -320,
        "koz": 520,
    },
    "tiny_three": {"low": -16, "girls": -16, "suit": 24},
    "tiny_counter": {"hearts": -24, "king": -16, "tricks": -16, "koz": 16},
}  # fmt: skip
FAMILY = {
    "international_32": "literal",
    "international_32_balanced": "balanced160",
    "portuguese": "international",
    "rifki_pagat": "rifki",
}
"""Whose totals a variant has, where its name does not say."""

MATCH_SUMS = {
    "international": 0, "literal": -300, "balanced160": 0, "russian": 0, "rifki": 0,
}  # fmt: skip
SHORT = {"a.pack": 32}
BALANCED = {"a.pack": 32, "a.table32": "balanced160"}


def cards_of_log(game: Game, log: DealLog) -> list[tuple[int, int]]:
    return [(seat, action) for seat, action in log.actions if action < 52]


def check_deal(game: Game, log: DealLog, totals: Mapping[str | None, int]) -> None:
    """Laws I1, I3, I4 of a finished deal, from its log."""
    spec = game.variant.spec
    assert log.scores is not None
    assert sum(log.scores) == totals[log.contract]
    played = cards_of_log(game, log)
    assert len({card for _, card in played}) == len(played)
    for seat, card in played:
        assert card in map(parse_card, log.dealt[seat])
    contract = next((c for c in spec.contract if c.record_name == log.contract), None)
    if contract is None:  # unplayed
        assert not played
        return
    if len(played) < spec.pack:
        assert spec.early_end == "auto" and len(played) % 4 == 0
        assert not counted_cards(contract, spec.pack) & ~mask_of(card for _, card in played)
        assert not contract.trick and not contract.last
    else:
        assert mask_of(card for _, card in played) == pack_mask(spec.pack)


def counted_cards(contract: ContractSpec, pack: int) -> int:
    """The cards that are units of a contract."""
    mask = 0
    for card in range(52):
        suit, rank = card // 13, "23456789TJQKA"[card % 13]
        counts = (contract.heart and suit == 1) or (contract.queen and rank == "Q")
        counts = counts or (contract.man and rank in contract.men)
        if counts or (contract.king_of_hearts and suit == 1 and rank == "K"):
            mask |= 1 << card
    return mask & pack_mask(pack)


def watch(game: Game, rng: random.Random) -> None:
    """Plays to the end; the mask is never empty before it and only holds what can be done."""
    limit = 0
    while not game.is_over:
        legal = game.legal_actions
        assert legal and legal == sorted(set(legal)) and legal[-1] < NUM_ACTIONS
        deal = game.record.deal
        if game.phase == "PLAY":
            assert mask_of(legal) & ~int(deal.hands[int(deal.actor)]) == 0
        else:
            assert min(legal) >= 52
        game.push(pick(game, rng))
        limit += 1
        assert limit < 64 * 100
    assert game.legal_actions == []
    assert legal_ids(game.record.deal.legal) == []


def totals_of(variant: str) -> str:
    """The key of a variant's totals."""
    system = variant.partition("_")[0]
    return FAMILY.get(variant, system if system in TOTALS else variant)


@pytest.mark.parametrize(
    ("variant", "options", "table"),
    [(variant, {}, totals_of(variant)) for variant in VARIANTS]
    + [
        ("international", SHORT, "literal"),
        ("international", BALANCED, "balanced160"),
        ("international", {"early_end": "auto"}, "international"),
        ("russian_auction", {"b.boys": "J4", "early_end": "never"}, "russian"),
        ("russian_auction", {"b.v1.buy_timing": "before_order"}, "russian"),
        ("russian_salad", {"b.v2.order": "full_hand"}, "russian"),
        ("turkish_short", {"early_end": "auto"}, "turkish"),
        ("turkish_short", {"d.global_cap": 2}, "turkish"),
        ("rifki", {"e.per_player_unique": True}, "rifki"),
        ("tiny_counter", {"early_end": "never"}, "tiny_counter"),
    ],
)
def test_laws_of_every_deal(variant: str, options: dict[str, object], table: str) -> None:
    num_deals = len(find_variant(variant, options).spec.deals)
    for number in range(max(2, 40 // num_deals)):
        game = new_game(variant, options, seed=21, match=number)
        watch(game, random.Random(number))
        assert len(game.deals) == num_deals
        for log in game.deals:
            check_deal(game, log, TOTALS[table])
        columns = zip(*(log.scores or [] for log in game.deals), strict=True)
        assert game.scores == [sum(column) for column in columns]
        check_match(game, table, options)


def check_match(game: Game, table: str, options: Mapping[str, object]) -> None:
    """Laws of 2.8, 3.7, 4, 5 and 6.6 over a match."""
    contracts = Counter(log.contract for log in game.deals)
    if table in MATCH_SUMS:
        assert sum(game.scores) == MATCH_SUMS[table]
    if table in ("international", "literal", "balanced160"):
        fixed = ["no_tricks", "no_hearts", "no_queens", "no_men", "no_king", "no_last2"]
        assert [log.contract for log in game.deals[:6]] == fixed
        assert set(contracts) <= {*fixed, "positive", "nulls", None}
        assert len({log.dealer for log in game.deals[6:]}) == 4
    elif game.variant.spec.id == "russian_ordered":
        by_orderer = orders_by_seat(game)
        assert all(chosen.total() == len(chosen) == 14 for chosen in by_orderer.values())
        assert set(contracts.values()) == {4}
    elif table == "russian":
        check_russian(game)
    else:
        check_quotas(game, table, options)


def check_russian(game: Game) -> None:
    """Rules.md 3.7: stage sums, orderers, LAST, rising bids."""
    scores = [sum(log.scores or []) for log in game.deals]
    assert sum(scores[:7]) == -192 and sum(scores[7:]) == 192
    order = game.variant.spec.deals[7].decision == "order"
    ordered = game.deals[7 : {15: 15, 12: 11, 14: 7}[len(game.deals)]]
    assert len(game.deals) in (15, 12, 14) and order == bool(ordered)
    orderers = Counter((log.dealer + 1) % 4 for log in ordered)
    assert set(orderers.values()) <= {len(ordered) // 4}
    for log in ordered:
        names = [game.names.format(action) for _, action in log.actions]
        bids = [int(name[4:]) for name in names if name.startswith("buy:")]
        assert bids == sorted(set(bids))
        assert 1 <= sum(name.startswith("order:") for name in names) <= 2


def orders_by_seat(game: Game) -> dict[int, Counter[str]]:
    """The contracts that each seat chose, where the first action of a deal is the choice."""
    chosen: dict[int, Counter[str]] = {seat: Counter() for seat in range(4)}
    for log in game.deals:
        assert log.contract is not None
        chosen[log.actions[0][0]][log.contract] += 1
    return chosen


def check_quotas(game: Game, table: str, options: Mapping[str, object]) -> None:
    """Rules.md 5 and 6.6: quotas are met exactly, limits are kept, sums follow."""
    contracts = Counter(log.contract for log in game.deals)
    trump = "suit" if table == "tiny_three" else "koz"
    full = len(game.deals) == 40
    quotas = {"turkish": (6, 4) if full else (3, 2), "rifki": (3, 2)}
    quotas |= {"tiny_three": (1, 1), "tiny_counter": (2, 1)}
    unique = table != "rifki" or bool(options.get("e.per_player_unique"))
    for chosen in orders_by_seat(game).values():
        penalties, trumps = quotas[table]
        assert chosen.pop(trump) == trumps
        assert chosen.total() == penalties
        assert max(chosen.values()) == 1 or not unique
    total = sum(game.scores)
    if table == "tiny_counter":
        assert all(contracts[name] <= 3 for name in ("hearts", "king", "tricks"))
    if table == "turkish":
        assert total == (600 if full else 320 - 5 * (contracts["kupa"] + contracts["el"]))
    if options.get("d.global_cap") == 2:
        assert total == 300
    if table == "rifki" or options.get("d.global_cap") == 2:
        assert all(contracts[name] == 2 for name in TOTALS[table] if name != "koz")


@pytest.mark.parametrize("variant", VARIANTS)
def test_early_end_never_changes_scores(variant: str) -> None:
    shorter = 0
    for number in range(4):
        auto = new_game(variant, {"early_end": "auto"}, seed=3, match=number)
        never = new_game(variant, {"early_end": "never"}, seed=3, match=number)
        rng = random.Random(number)
        finished = 0
        while not auto.is_over:
            action = pick(auto, rng)
            auto.push(action)
            never.push(action)
            now = sum(log.scores is not None for log in auto.deals)
            if now > finished:
                finished = now
                while sum(log.scores is not None for log in never.deals) < now:
                    shorter += 1
                    never.push(rng.choice(never.legal_actions))
                assert auto.deals[now - 1].scores == never.deals[now - 1].scores
        assert never.is_over and auto.scores == never.scores
    assert shorter > 0 or variant == "tiny_three"


@pytest.mark.parametrize("match_option", ["same_call", "same_value", "off"])
def test_laws_of_the_auction(match_option: str) -> None:
    """Rules.md 2.8: rungs never fall, a match moves the holder towards p1, no call after a pass."""
    most = 0
    sold_at_eight = 0
    for number in range(80):
        rng = random.Random(f"{match_option} {number}")
        options = {"a.auction.match": match_option}
        match = 10 * number + 6 + number % 4
        game = new_game("international", options, seed=8, match=match, episode="deal")
        auctioneer = game.deals[0].dealer
        passed: set[int] = set()
        floor, calls = -1, 0
        holder: int | None = None
        timid = rng.random()
        while not game.is_over and game.phase == "BID":
            seat = game.actor
            assert seat is not None and seat != auctioneer and seat not in passed
            low = [a for a in game.legal_actions if game.names.format(a)[:3] == "bid"][:1]
            matches = [a for a in game.legal_actions if game.names.format(a)[:5] == "match"]
            action = rng.choice((matches or low) if low + matches and rng.random() < timid else
                                game.legal_actions)  # fmt: skip
            name = game.names.format(action)
            if name == "pass":
                passed.add(seat)
            elif name.startswith("match"):
                assert match_option != "off" and holder is not None
                assert (seat - auctioneer) % 4 < (holder - auctioneer) % 4
                holder = seat
            else:
                rung = [f"{call:+d}" for call in LADDER].index(name.removeprefix("bid:"))
                assert rung > floor
                floor, holder = rung, seat
            game.push(action)
            calls += 1
        most = max(most, calls)
        assert calls <= 21
        if floor == 9:
            sold_at_eight += 1
            assert int(game.record.deal.buyer) == holder
            assert game.phase == "DECLARE" and game.actor == holder
        else:
            assert game.phase == "DECIDE" and game.actor == auctioneer
        play(game, rng)
        declared = [a for _, a in game.deals[0].actions if game.names.format(a)[:7] == "declare"]
        assert len(declared) <= 1
    assert most >= 9 and sold_at_eight > 5


def test_the_longest_auction_has_at_most_21_calls() -> None:
    """Every raise by one rung, every match possible: the bound of 2.4."""
    game = new_game("international", seed=1, match=6, episode="deal")
    calls = 0
    while game.phase == "BID":
        names = game.legal_names()
        raises = [name for name in names if name.startswith("bid")]
        game.push("match" if "match" in names else raises[0] if raises else "pass")
        calls += 1
    assert 15 <= calls <= 21


def test_the_same_seed_and_actions_give_the_same_state() -> None:
    for variant in VARIANTS:
        game = play(new_game(variant, seed=6), random.Random(variant), 300)
        again = new_game(variant, seed=6)
        for log in game.deals:
            for seat, action in log.actions:
                assert again.actor == seat
                again.push(action)
        assert again.games.tobytes() == game.games.tobytes()


def test_wrong_actions_change_nothing() -> None:
    rng = random.Random(4)
    for variant in VARIANTS:
        game = new_game(variant, seed=2)
        while not game.is_over:
            before = game.games.tobytes()
            wrong = set(rng.sample([*range(-3, NUM_ACTIONS + 3)], 8)) - set(game.legal_actions)
            for action in wrong if rng.random() < 0.1 else ():
                with pytest.raises(ValueError):
                    game.push(action)
            assert game.games.tobytes() == before
            game.push(pick(game, rng))


def test_partnership_only_changes_what_a_seat_plays_for() -> None:
    single = new_game("turkish_short", seed=4)
    pairs = new_game("turkish_short", {"d.partnership": True}, seed=4)
    rng = random.Random(1)
    while not single.is_over:
        action = pick(single, rng)
        assert pairs.legal_actions == single.legal_actions
        single.push(action)
        pairs.push(action)
    assert pairs.scores == single.scores


def test_options_do_not_leak_between_games() -> None:
    play(new_game("international", BALANCED, seed=1), random.Random(1))
    plain = play(new_game("international", NO_OPTIONS, seed=1), random.Random(1))
    assert sum(plain.scores) == 0 and len(plain.deals[0].dealt[0]) == 13
