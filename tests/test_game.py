"""The readable game: copies, pictures, and why an action is refused."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from king_env import IllegalActionError
from king_env.cards import CARD_NAMES
from king_env.game import Game
from king_env.rules.catalogue import VariantError
from king_env.rules.spec import ContractSpec, VariantSpec
from king_env.view import View
from tests.playing import VARIANTS, new_game, pick, play

PACK = [rank + suit for suit in "SHDC" for rank in "AKQJT98765432"]


# ---------------------------------------------------------------- moves and copies


@pytest.mark.parametrize("variant", VARIANTS)
def test_names_and_ids_are_the_same_move(variant: str) -> None:
    by_id, by_name = (new_game(variant, seed=1) for _ in range(2))
    rng = random.Random(1)
    for _ in range(150):
        if by_id.is_over:
            break
        action = pick(by_id, rng)
        name = by_id.names.format(action)
        assert name in by_id.legal_names()
        by_id.check(action)
        by_id.check(name)
        scalar: Any = np.int32(action)
        by_id.push(scalar)
        by_name.push(name)
    assert by_id.games.tobytes() == by_name.games.tobytes()


@pytest.mark.parametrize("variant", ["turkish_short", "turkish_short_pairs"])
def test_a_side_is_a_seat_or_its_team(variant: str) -> None:
    game = new_game(variant, seed=1)
    play(game, random.Random(1), 100)
    assert len(set(game.scores)) > 1
    pairs = variant.endswith("pairs")
    teams = [game.scores[0] + game.scores[2], game.scores[1] + game.scores[3]]
    assert game.side_scores == (teams * 2 if pairs else game.scores)


COPIES: list[Callable[[Game], Game]] = [
    Game.clone,
    copy.deepcopy,
    lambda game: pickle.loads(pickle.dumps(game)),
]
COPY_NAMES = ["clone", "deepcopy", "pickle"]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "make",
    [
        *(pytest.param(make, id=name) for make, name in zip(COPIES, COPY_NAMES, strict=True)),
        pytest.param(copy.copy, id="copy"),
    ],
)
def test_a_copy_in_mid_deal_goes_on_alike_and_alone(
    variant: str, make: Callable[[Game], Game]
) -> None:
    for moves in (0, 5, 40, 133):
        game = play(new_game(variant, seed=moves), random.Random(moves), moves)
        before = str(game), game.games.tobytes(), repr(game.deals), game.scores
        other = make(game)
        assert (str(other), other.games.tobytes(), repr(other.deals), other.scores) == before
        play(other, random.Random(3))
        assert (str(game), game.games.tobytes(), repr(game.deals), game.scores) == before
        play(game, random.Random(3))
        assert game.is_over and other.is_over
        assert game.to_record() == other.to_record()
        assert game.games.tobytes() == other.games.tobytes()


def test_deals_and_matches_of_a_game() -> None:
    game = new_game("international", seed=1, match=8, episode="deal")
    assert game.position == 8 and game.phase == "BID"
    play(game, random.Random(1))
    assert game.is_over and game.actor is None and game.legal_actions == []
    assert len(game.deals) == 1 and sum(game.scores) == 325
    game = new_game("international", seed=1, match=8, episode="deal", start="play")
    assert game.phase == "PLAY" and game.contract is not None


@pytest.mark.parametrize(
    ("how", "parts"),
    [
        ({"episode": "game"}, ["episode", "'game'", "match, deal"]),
        ({"start": "later"}, ["start", "'later'", "decision"]),
        ({"start": "play"}, ["start", "'play'"]),
        ({"seed": -1}, ["seed", "-1"]),
        ({"seed": 2**64}, ["seed", "2**64"]),
        ({"match": -1}, ["match", "-1"]),
        ({"seed": 1.5}, ["seed", "1.5"]),
    ],
)
def test_wrong_arguments_are_named(how: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(ValueError) as caught:
        Game("international", **how)
    for part in parts:
        assert part in str(caught.value)


def test_a_wrong_variant_is_named() -> None:
    with pytest.raises(VariantError, match="'chess'"):
        Game("chess")
    with pytest.raises(VariantError, match=r"a\.pack"):
        Game("international", {"a.pack": 40})


def test_given_hands_must_be_the_pack() -> None:
    game = new_game("international", seed=1)
    hands = [PACK[seat::4] for seat in range(4)]
    game.set_hands(hands, 3)
    assert game.deals[0].dealt == hands and game.deals[0].dealer == 3 == game.actor
    for wrong in (
        hands[:3],
        [hands[0][:12], *hands[1:]],
        [hands[0], hands[0], *hands[2:]],
        [["1S", *hands[0][1:]], *hands[1:]],
    ):
        with pytest.raises(ValueError):
            game.set_hands(wrong)
    with pytest.raises(ValueError, match="dealer"):
        game.set_hands(hands, 4)
    play(game, random.Random(1), 1)
    with pytest.raises(ValueError, match="before the first action"):
        game.set_hands(hands)


# ---------------------------------------------------------------- deals set up by hand


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_position_overrides_i_mod_k(variant: str) -> None:
    num_deals = len(new_game(variant).variant.spec.deals)
    for position in range(num_deals):
        for number in (position, position + num_deals):
            plain = new_game(variant, seed=4, match=number, episode="deal")
            given = new_game(variant, seed=4, match=number, episode="deal", position=position)
            assert plain.position == given.position == position
            assert plain.games.tobytes() == given.games.tobytes()
    # Another number under the same seed: other cards and another past at the same position.
    one, two = (
        new_game(variant, seed=4, match=n, episode="deal", position=num_deals - 1) for n in (0, 1)
    )
    assert one.position == two.position == num_deals - 1 and one.legal_actions
    assert one.deals[0].dealt != two.deals[0].dealt
    play(one, random.Random(1))
    assert one.is_over and len(one.deals) == 1


def test_the_past_of_a_position_is_drawn_from_seed_and_number() -> None:
    pasts = set()
    for number in range(12):
        games = [
            new_game("turkish_short", seed=4, match=number, episode="deal", position=10)
            for _ in range(2)
        ]
        used = [game.games.used[0].tobytes() for game in games]
        assert used[0] == used[1]
        assert int(games[0].games.used[0].sum()) == 10
        pasts.add(used[0])
    assert len(pasts) > 6


@pytest.mark.parametrize("dealer", range(4))
@pytest.mark.parametrize("position", range(20))
def test_the_past_turns_with_the_dealer(position: int, dealer: int) -> None:
    options: dict[str, object] = {"d.global_cap": 2}
    game = new_game("turkish_short", options, seed=position, match=position, episode="deal")
    before = [game.legal_names(), sorted(game.games.used[0].tolist())]
    game.set_dealer(dealer)
    assert game.deals[0].dealer == dealer and game.actor == (dealer + 1) % 4
    assert [game.legal_names(), sorted(game.games.used[0].tolist())] == before
    made = game.games.used[0].sum(axis=1).tolist()
    # Who chose in the deals before: each dealer's next seat in turn.
    expected = [0, 0, 0, 0]
    for back in range(1, position + 1):
        expected[(dealer + 1 - back) % 4] += 1
    assert made == expected
    assert game.seed == position, "the cards are still those of the seed"


CONTRACTS: list[tuple[str, int, str, str | None]] = [
    ("international", 6, "positive", "S"),
    ("international", 7, "positive", "NT"),
    ("international", 9, "nulls", None),
    ("international", 2, "no_queens", None),
    ("turkish_short", 0, "koz", "H"),
    ("turkish_short", 3, "kupa", None),
    ("russian_auction", 9, "ordered", "C"),
    ("russian_auction", 12, "ordered", "NT"),
    ("russian_auction", 12, "ordered_misere", None),
    ("russian_ordered", 2, "take_boys", None),
    ("rifki", 1, "koz", "S"),
]


@pytest.mark.parametrize(("variant", "position", "contract", "trump"), CONTRACTS)
@pytest.mark.parametrize("start", ["decision", "play"])
def test_a_deal_with_a_given_contract_starts_at_play(
    variant: str, position: int, contract: str, trump: str | None, start: str
) -> None:
    how: dict[str, Any] = {"seed": 2, "match": position, "episode": "deal", "start": start}
    undecided = new_game(variant, seed=2, match=position, episode="deal")
    by_method = new_game(variant, **how)
    by_method.set_contract(contract, trump)
    game = new_game(variant, **how, contract=contract, trump=trump)
    assert game.games.tobytes() == by_method.games.tobytes()
    assert game.phase == "PLAY" and game.deals[0].actions == []
    assert game.contract is not None and game.contract.id == contract
    assert game.deals[0].contract == game.contract.record_name
    deal = game.record.deal
    assert int(deal.trump) == ("SHDC".index(trump) if trump in tuple("SHDC") else 4)
    assert game.deals[0].dealt == undecided.deals[0].dealt
    decided = undecided.phase != "PLAY"
    assert int(deal.declarer) == (int(undecided.record.deal.chooser) if decided else 4)
    chosen = game.games.used[0].astype(int) - undecided.games.used[0]
    quotas = game.variant.spec.phases.choose is not None
    assert chosen.sum() == quotas and (chosen >= 0).all()
    assert int(deal.dealt) == game.variant.spec.hand_size
    play(game, random.Random(1))
    # Nobody pays: what is scored is what the tricks are worth.
    koz = 50 if variant == "rifki" else 40
    tricks = {"positive": 25, "koz": koz, "nulls": -75, "ordered": 3, "ordered_misere": 3}
    if contract in tricks:
        base = 325 if contract == "nulls" else 0
        taken = [int(tricks_of) for tricks_of in deal.tricks]
        assert game.scores == [base + tricks[contract] * number for number in taken]


def test_a_deal_by_the_last_card_shows_it() -> None:
    game = new_game("russian_auction", seed=2, match=9, episode="deal", contract="ordered_last")
    deal = game.record.deal
    shown, owner = int(deal.shown), int(deal.shown_owner)
    assert game.phase == "PLAY" and owner == int(deal.declarer) == int(deal.chooser)
    assert CARD_NAMES[shown] == game.deals[0].dealt[owner][-1] and int(deal.trump) == shown // 13


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_contract_that_can_be_declared_can_be_given(variant: str) -> None:
    """What the refusal of a wrong one lists as allowed is allowed, and is what players reach."""
    spec = new_game(variant).variant.spec
    seen = set()
    for position in range(len(spec.deals)):
        how: dict[str, Any] = {"seed": 1, "match": position, "episode": "deal"}
        with pytest.raises(ValueError, match="allowed: ") as caught:
            new_game(variant, **how, contract="?")
        for contract in str(caught.value).split("allowed: ")[1].split(", which ")[0].split(", "):
            declared = spec.contract[spec.contract_index(contract)].trump == "declared"
            game = new_game(variant, **how, contract=contract, trump="H" if declared else None)
            assert game.phase == "PLAY" and game.contract is not None
            assert game.contract.id == contract and game.legal_actions
            if (contract, spec.deals[position].decision) not in seen:
                seen.add((contract, spec.deals[position].decision))
                assert play(game, random.Random(position)).is_over
    played = {contract for contract, _ in seen}
    assert played == {contract.id for contract in spec.contract if in_use(spec, contract)}


def in_use(spec: VariantSpec, contract: ContractSpec) -> bool:
    """Whether some deal of the match can have a contract."""
    fixed = {deal.contract for deal in spec.deals}
    decisions = {deal.decision for deal in spec.deals}
    auction, order = spec.phases.auction, spec.phases.order
    if auction is not None and "auction" in decisions:
        fixed |= {auction.plus, auction.minus}
    if order is not None and "order" in decisions:
        fixed |= set(order.contracts().values())
    return contract.id in fixed or ("choose" in decisions and contract.slot >= 0)


def test_a_contract_can_be_changed_and_survives_other_changes() -> None:
    hands = [PACK[seat::4] for seat in range(4)]
    game = new_game("turkish_short", seed=1, match=5, episode="deal", start="play")
    drawn = game.games.used[0].copy()
    assert int(drawn.sum()) == 6
    for contract, trump in (("koz", "C"), ("koz", "D"), ("kupa", None)):
        if contract not in {name.split(":")[1] for name in undecided(game)}:
            continue
        game.set_contract(contract, trump)
        assert int(game.games.used[0].sum()) == 6, "the choice made before is taken back"
        game.set_hands(hands, 2)
        game.set_dealer(1)
        assert game.phase == "PLAY" and game.deals[0].contract == contract
        assert game.deals[0].dealt == hands and game.actor == 2
        assert int(game.games.used[0].sum()) == 6
    # Hands given to a deal that starts at PLAY leave it there.
    game = new_game("international", seed=1, match=7, episode="deal", start="play")
    game.set_hands(hands, 3)
    assert game.phase == "PLAY" and game.deals[0].dealer == 3


def undecided(game: Game) -> list[str]:
    """The names of the choices open at the start of a single deal."""
    fresh = new_game(game.variant.name, seed=1, match=5, episode="deal")
    return fresh.legal_names()


@pytest.mark.parametrize(
    ("variant", "how", "parts"),
    [
        ("international", {"position": 10}, ["position", "10", "0 to 9"]),
        ("international", {"position": -1}, ["position", "-1", "0 to 9"]),
        ("international", {"position": True}, ["position", "True"]),
        ("international", {"position": "6"}, ["position", "'6'"]),
        ("international", {"position": 3, "episode": "match"}, ["position", "3", "a deal only"]),
        ("international", {"contract": "nulls", "episode": "match"}, ["contract", "a deal only"]),
        ("international", {"trump": "S"}, ["trump", "'S'", "together with a contract"]),
        ("international", {"contract": "nulls"}, ["contract", "'nulls'", "no_tricks", "deal 0"]),
        ("international", {"position": 6, "contract": "no_king"}, ["'no_king'", "positive, nulls"]),
        ("international", {"position": 6, "contract": 5}, ["contract", "5", "positive, nulls"]),
        ("international", {"position": 6, "contract": "positive"}, ["trump", "S, H, D, C, NT"]),
        ("international", {"position": 6, "contract": "positive", "trump": "X"}, ["trump", "'X'"]),
        ("international", {"position": 6, "contract": "nulls", "trump": "S"}, ["trump", "nulls"]),
        ("russian_auction", {"position": 7, "contract": "no_king"}, ["ordered_last", "deal 7"]),
        ("russian_auction", {"position": 7, "contract": "ordered"}, ["trump", "S, H, D, C, NT"]),
        ("turkish_short", {"contract": "koz", "trump": "NT"}, ["trump", "'NT'", "S, H, D, C"]),
        ("turkish_short", {"contract": "positive"}, ["contract", "kupa, el, erkek"]),
    ],
)
def test_what_cannot_be_set_is_refused(variant: str, how: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(ValueError) as caught:
        new_game(variant, seed=1, **{"episode": "deal", **how})
    for part in parts:
        assert part in str(caught.value)


def test_a_contract_that_was_used_up_is_refused() -> None:
    refusals = 0
    for number in range(12, 20):
        game = new_game("turkish_short", seed=1, match=number, episode="deal")
        open_now = {name.split(":")[1] for name in game.legal_names()}
        before = game.games.tobytes(), repr(game.deals)
        for contract in ("kupa", "el", "erkek", "kiz", "rifki", "soniki", "koz"):
            if contract not in open_now:
                refusals += 1
                with pytest.raises(ValueError, match=f"contract: found '{contract}'; allowed: "):
                    game.set_contract(contract, "S" if contract == "koz" else None)
                assert (game.games.tobytes(), repr(game.deals)) == before
    assert refusals > 10


def test_a_deal_that_has_begun_cannot_be_set_up() -> None:
    game = new_game("international", seed=1, match=6, episode="deal")
    game.push("pass")
    changes: list[Callable[[], None]] = [
        lambda: game.set_contract("nulls"),
        lambda: game.set_dealer(1),
        lambda: game.set_used(game.games.used[0].tolist()),
    ]
    for change in changes:
        with pytest.raises(ValueError, match="before the first action"):
            change()


def test_used_comes_before_the_contract() -> None:
    game = new_game("turkish_short", seed=1, match=0, episode="deal", contract="el")
    used = np.zeros_like(game.games.used[0]).tolist()
    with pytest.raises(ValueError, match="used: set it before the contract"):
        game.set_used(used)
    game = new_game("turkish_short", seed=1, match=0, episode="deal")
    game.set_used(used)
    game.set_contract("el")
    with pytest.raises(ValueError, match="set the dealer before the contract"):
        game.set_dealer((game.deals[0].dealer + 1) % 4)


# ---------------------------------------------------------------- pictures

TABLE = """\
International King, deal 1 of 10, No tricks
PLAY: seat 2 is to act; dealer 0, trick 1
  seat 0  S:T62 H:J73 D:Q84 C:K95                tricks  0  deal     0  total      0
  seat 1  S:95 H:AT62 D:J73 C:Q84                tricks  0  deal     0  total      0
* seat 2  S:Q84 H:K95 D:AT62 C:J73               tricks  0  deal     0  total      0
  seat 3  S:J73 H:Q84 D:K95 C:AT62               tricks  0  deal     0  total      0
trick: 0:AS  1:KS"""

SEEN = """\
International King, deal 1 of 10, No tricks
PLAY: seat 2 is to act; dealer 0, trick 1
  seat 0  12 cards                               tricks  0  deal     0  total      0
  seat 1  12 cards                               tricks  0  deal     0  total      0
* seat 2  S:Q84 H:K95 D:AT62 C:J73               tricks  0  deal     0  total      0
  seat 3  13 cards                               tricks  0  deal     0  total      0
trick: 0:AS  1:KS"""


def test_the_table_as_text() -> None:
    game = new_game("international", seed=1)
    game.set_hands([PACK[seat::4] for seat in range(4)], 0)
    game.push("AS")
    game.push("KS")
    assert str(game) == TABLE
    assert str(game.view(2)) == SEEN


def test_the_auction_as_text() -> None:
    game = new_game("international", seed=1, match=6, episode="deal")
    dealer = game.deals[0].dealer
    first = (dealer + 1) % 4
    game.push("bid:+3")
    assert f"call +3 held by seat {first}" in str(game)
    game.push("pass")
    game.push("pass")
    game.push("negotiate:+5")
    assert "asked for +5" in str(game)
    game.push("decline")
    assert "declined +5" in str(game)
    game.push("accept")
    assert f"call +3 bought by seat {first}" in str(game)
    game.push("declare:H")
    assert f"Positive, trump H, declared by seat {first}" in str(game)
    unplayed = new_game("international", seed=1, match=6, episode="deal")
    for name in ("pass", "pass", "pass", "take_unplayed"):
        unplayed.push(name)
    assert "taken unplayed" in str(unplayed) and "OVER" in str(unplayed)


def test_a_view_shows_a_seat_and_no_more() -> None:
    game = play(new_game("turkish_short", seed=1), random.Random(1), 31)
    for seat in range(4):
        view = game.view(seat)
        assert isinstance(view, View) and view.seat == seat
        record = view.record[0]
        for other in range(4):
            assert bool(record.deal.hands[other]) == (other == seat)
            assert not record.deal.undealt[other]
        assert int(record.seed) == 0
        assert (record.deal.order == 255).all()
        assert view.history == tuple(game.deals[-1].actions)
        assert view.phase == game.phase
        assert len(view.trick) == int(game.record.deal.trick_size)
        assert view.contract == game.deals[-1].contract
        # A view is a copy: what is done to it stays there.
        view.record.deal.hands[0, seat] = 0
        assert int(game.record.deal.hands[seat])


# ---------------------------------------------------------------- refused actions


def hands_with(*first: str) -> list[list[str]]:
    """Four hands that hold the given cards; the rest is dealt out."""
    held = [names.split() for names in first]
    taken = {name for names in held for name in names}
    rest = [name for name in PACK if name not in taken]
    return [names + [rest.pop() for _ in range(13 - len(names))] for names in held]


def opened(
    variant: str, options: dict[str, object], position: int, hands: list[list[str]], *moves: str
) -> Game:
    game = new_game(variant, options, match=position, episode="deal")
    game.set_hands(hands, 0)
    for move in moves:
        game.push(move)
    return game


SPADES = "AS KS QS JS TS 9S 8S 7S 6S 5S 4S 3S 2S"


def refused(game: Game, action: int | str) -> str:
    before = game.games.tobytes(), repr(game.deals)
    for door in (game.check, game.push):
        with pytest.raises(IllegalActionError) as caught:
            door(action)
        assert (game.games.tobytes(), repr(game.deals)) == before
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_card_that_is_not_in_the_hand() -> None:
    game = opened("international", {}, 0, hands_with(SPADES, "AH", "KH", "QH"))
    message = refused(game, "AH")
    for part in ("AH", "seat 0", "PLAY", "not in the hand"):
        assert part in message


def test_a_suit_that_must_be_followed() -> None:
    game = opened("international", {}, 0, hands_with("AS", "KS AH", "QS", "JS"), "AS")
    message = refused(game, "AH")
    for part in ("AH", "seat 1", "PLAY", "suit S must be followed", "KS"):
        assert part in message


@pytest.mark.parametrize(
    ("variant", "options", "position", "moves", "rule"),
    [
        ("international", {}, 1, (), "lead rule no_hearts of no_hearts"),
        ("international", {}, 4, (), "lead rule king_only of no_king"),
        ("turkish_short", {}, 0, ("contract:kupa",), "lead rule until_broken of kupa"),
    ],
)
def test_a_lead_rule(
    variant: str, options: dict[str, object], position: int, moves: tuple[str, ...], rule: str
) -> None:
    seat = 1 if variant == "turkish_short" else 0
    held = ["", "", "", ""]
    held[seat] = "KH AS AC"
    game = opened(variant, options, position, hands_with(*held), *moves)
    message = refused(game, "KH")
    for part in ("KH", f"seat {seat}", "PLAY", rule, "allowed: "):
        assert part in message


@pytest.mark.parametrize(
    ("variant", "options", "position", "moves", "hand", "card", "rule"),
    [
        ("international", {"a.no_king_force": "void"}, 4, (), "KH", "AD", "force_king of no_king"),
        ("international", {"a.must_trump": True}, 6,
         ("pass", "pass", "pass", "refuse", "declare:H"), "2H", "AD", "must_trump of positive"),
        ("turkish_short", {"d.force_penalty": "discard"}, 3, ("contract:kiz",), "QH", "AD",
         "force_penalty of kiz"),
    ],
)  # fmt: skip
def test_a_void_rule(
    variant: str,
    options: dict[str, object],
    position: int,
    moves: tuple[str, ...],
    hand: str,
    card: str,
    rule: str,
) -> None:
    lead = 1 if variant == "turkish_short" else 0
    rest = " ".join(f"{rank}D" for rank in "AKJT98765432")
    held = ["", "", "", ""]
    held[lead], held[(lead + 1) % 4] = SPADES, f"{hand} {rest}"
    game = opened(variant, options, position, hands_with(*held), *moves, "AS")
    message = refused(game, card)
    for part in (card, f"seat {(lead + 1) % 4}", "PLAY", f"void rule {rule}", f"allowed: {hand}"):
        assert part in message


def test_the_duty_to_overtrump() -> None:
    options: dict[str, object] = {"a.must_trump": True, "a.must_overtrump": True}
    moves = ("pass", "pass", "pass", "refuse", "declare:H", "AS", "TH")
    no_spades = " ".join(f"{rank}D" for rank in "KJT9876543")
    game = opened(
        "international", options, 6,
        hands_with(SPADES, "TH AC KC QC JC TC 9C 8C 7C 6C 5C 4C 3C", f"2H AH AD {no_spades}", ""),
        *moves,
    )  # fmt: skip
    message = refused(game, "2H")
    for part in ("2H", "seat 2", "trump", "allowed: AH"):
        assert part in message


def test_the_duty_to_duck() -> None:
    game = opened(
        "turkish_short", {"d.force_penalty": "discard_and_duck"}, 0,
        hands_with("", "KS", "QS AS 2S", ""), "contract:kiz", "KS",
    )  # fmt: skip
    message = refused(game, "2S")
    for part in ("2S", "seat 2", "PLAY", "duck", "allowed: QS"):
        assert part in message


def test_the_duty_to_play_the_king_under_a_heart_lead() -> None:
    options: dict[str, object] = {"a.no_king_force": "first_opportunity"}
    game = opened("international", options, 4, hands_with("AH", "KH 2H", "", ""), "AH")
    message = refused(game, "2H")
    for part in ("2H", "seat 1", "PLAY", "follow_king", "allowed: KH"):
        assert part in message


def test_calls_and_choices() -> None:
    game = new_game("international", seed=1, match=6, episode="deal")
    game.push("bid:+3")
    message = refused(game, "bid:+2")
    for part in ("bid:+2", f"seat {game.actor}", "BID", "bid:-1"):
        assert part in message
    assert "match" in refused(game, "match")
    assert "contract" not in refused(game, "AS")
    game = new_game("turkish_short", seed=1)
    game.push("contract:kupa")
    while game.position == 0:
        game.push(game.legal_actions[0])
    for _ in range(3):
        play(game, random.Random(1), 53)
    assert game.position == 4 and game.phase == "CHOOSE"
    message = refused(game, "contract:kupa")
    for part in ("contract:kupa", f"seat {game.actor}", "CHOOSE", "contract:el"):
        assert part in message


def test_ids_that_do_not_exist_and_a_game_that_is_over() -> None:
    game = new_game("international", seed=1)
    for action in (-1, 149, 10**9):
        assert str(action) in refused(game, action)
    assert "only a card" in refused(game, "pass")
    with pytest.raises(ValueError, match="'ZZ'"):
        game.push("ZZ")
    over = play(game, random.Random(1))
    assert "the game is over" in refused(over, "AS")


def test_an_id_beyond_64_bits() -> None:
    assert "2**70" not in refused(new_game("international", seed=1), 2**70)
