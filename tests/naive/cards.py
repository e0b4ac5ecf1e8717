"""Cards, contracts, legal cards and tricks (rule text 1.1 to 1.4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

SEATS = (0, 1, 2, 3)
SUITS = "SHDC"
RANKS = "AKQJT98765432"  # high to low
SHORT_RANKS = "AKQJT987"
CARD_UNITS = {"heart", "man", "queen", "king", "any_king", "jack"}


def rank(card: str) -> str:
    """The rank letter of a card."""
    return card[0]


def suit(card: str) -> str:
    """The suit letter of a card."""
    return card[1]


@dataclass(frozen=True)
class Contract:
    """What a deal counts and how it is played.

    `units`: points for each unit of 1.3 (`trick heart man queen king last2`; with `b.boys` also
    `any_king` and `jack`, the four kings and the four jacks).
    `start`: points everybody has before the first trick (the 325 of nulls).
    `lead`: `free no_hearts until_broken king_only`; `void`: `free must_trump force_king
    force_penalty`.
    `king_on_hearts`: the holder of the king of hearts must play it when another leads hearts.
    """

    name: str
    units: Mapping[str, int]
    start: int = 0
    lead: str = "free"
    void: str = "free"
    must_overtrump: bool = False
    duck: bool = False
    king_on_hearts: bool = False
    reversed_ranks: bool = False

    def counts(self, card: str) -> bool:
        """Whether the card is a unit of this contract, "a penalty card of the contract"."""
        return any(name in self.units for name in card_units(card))

    def strength(self, card: str) -> int:
        """A number that is larger for the higher of two cards of a suit in this contract."""
        below_ace = RANKS.index(rank(card))
        return below_ace if self.reversed_ranks else -below_ace


def card_units(card: str) -> list[str]:
    """The units a card is by itself; the king of hearts is several of them."""
    units = []
    if suit(card) == "H":
        units.append("heart")
    if rank(card) in "KJ":
        units.append("man")
    if rank(card) == "K":
        units.append("any_king")
    if rank(card) == "J":
        units.append("jack")
    if rank(card) == "Q":
        units.append("queen")
    if card == "KH":
        units.append("king")
    return units


def trick_points(contract: Contract, cards: Sequence[str], number: int, num_tricks: int) -> int:
    """Points for taking these four cards as trick `number` (from 1) of `num_tricks`."""
    units = ["trick"]
    if number >= num_tricks - 1:
        units.append("last2")
    for card in cards:
        units += card_units(card)
    return sum(contract.units.get(unit, 0) for unit in units)


def trick_winner(trick: Sequence[tuple[int, str]], contract: Contract, trump: str | None) -> int:
    """The seat that takes the trick: highest trump if any, else highest card of the led suit."""
    deciding = suit(trick[0][1])
    if any(suit(card) == trump for _, card in trick):
        assert trump is not None
        deciding = trump
    candidates = [(contract.strength(card), seat) for seat, card in trick if suit(card) == deciding]
    return max(candidates)[1]


# ---------------------------------------------------------------------------------------------
# Legal cards (1.2)


def legal_cards(
    hand: Collection[str],
    trick: Sequence[str],
    contract: Contract,
    trump: str | None,
    hearts_broken: bool,
) -> set[str]:
    """The cards of the hand that may be played to the cards already in the trick.

    Each rule names the cards it wants; when the hand has none of them it asks nothing.
    `hearts_broken`: a heart has been played to an earlier trick of the deal.
    """
    hand = set(hand)
    if not trick:
        return _wanted_lead(hand, contract, hearts_broken) or hand
    led = suit(trick[0])
    following = {card for card in hand if suit(card) == led}
    if following:
        return _wanted_following(following, trick, contract) or following
    return _wanted_when_void(hand, trick, contract, trump) or hand


def _wanted_lead(hand: set[str], contract: Contract, hearts_broken: bool) -> set[str]:
    if contract.lead == "king_only":
        return hand - {"KH"}
    if contract.lead == "no_hearts" or (contract.lead == "until_broken" and not hearts_broken):
        return {card for card in hand if suit(card) != "H"}
    return hand


def _wanted_following(following: set[str], trick: Sequence[str], contract: Contract) -> set[str]:
    if contract.king_on_hearts and "KH" in following:
        return {"KH"}
    if contract.duck:
        led = suit(trick[0])
        highest = max(contract.strength(card) for card in trick if suit(card) == led)
        return {
            card
            for card in following
            if contract.counts(card) and contract.strength(card) < highest
        }
    return following


def _wanted_when_void(
    hand: set[str], trick: Sequence[str], contract: Contract, trump: str | None
) -> set[str]:
    if contract.void == "force_king":
        return hand & {"KH"}
    if contract.void == "force_penalty":
        return {card for card in hand if contract.counts(card)}
    if contract.void == "must_trump":
        trumps = {card for card in hand if suit(card) == trump}
        if contract.must_overtrump:
            lying = [contract.strength(card) for card in trick if suit(card) == trump]
            higher = {card for card in trumps if all(contract.strength(card) > s for s in lying)}
            return higher or trumps
        return trumps
    return hand
