"""Pictures of a game as text, whole or as one seat may see it."""

from __future__ import annotations

from typing import Any

from king_env import cards
from king_env.engine.actions import call_name
from king_env.engine.layout import NO_CARD, NOBODY, NUM_SEATS, PHASES, UNKNOWN
from king_env.rules.spec import VariantSpec


def deal_title(spec: VariantSpec, deal: Any, position: int) -> str:
    """Returns one line: which deal, which contract, who declared."""
    total = len(spec.deals)
    what = spec.deals[position].decision
    parts = [f"{spec.title}, deal {position + 1} of {total}"]
    if int(deal.contract) >= 0:
        contract = spec.contract[int(deal.contract)]
        parts.append(contract.title or contract.id)
        trump = int(deal.trump)
        if 0 <= trump < 4:
            parts.append(f"trump {cards.SUITS[trump]}")
        elif contract.trump == "declared":
            parts.append("no trump")
        if contract.ranks == "reversed":
            parts.append("ranks reversed")
        if int(deal.declarer) != NOBODY:
            parts.append(f"declared by seat {int(deal.declarer)}")
    elif int(deal.unplayed):
        parts.append("taken unplayed")
    elif what != "none":
        parts.append(what)
    return ", ".join(parts)


def auction_line(deal: Any, tricks: bool) -> str:
    """Returns the state of the bidding in words, or an empty line; ``tricks``: bids are tricks."""
    parts = []
    if int(deal.call) != UNKNOWN and int(deal.holder) != NOBODY:
        verb = "bought by" if int(deal.buyer) != NOBODY else "held by"
        call = f"bid of {int(deal.call) + 1}" if tricks else f"call {call_name(int(deal.call))}"
        parts.append(f"{call} {verb} seat {int(deal.holder)}")
    if int(deal.asked) != UNKNOWN:
        parts.append(f"asked for {call_name(int(deal.asked))}")
    if int(deal.declined) != UNKNOWN:
        parts.append(f"declined {call_name(int(deal.declined))}")
    return "; ".join(parts)


def table_text(spec: VariantSpec, game: Any, seat: int | None = None) -> str:
    """Returns a game as text.

    Args:
        spec: the variant.
        game: the game record.
        seat: show only this seat's cards; None shows all.
    """
    deal = game.deal
    phase = PHASES[int(deal.phase)]
    lines = [deal_title(spec, deal, int(game.position))]
    actor = int(deal.actor)
    turn = "nobody is to act" if actor == NOBODY else f"seat {actor} is to act"
    lines.append(f"{phase}: {turn}; dealer {int(deal.dealer)}, trick {int(deal.trick_number) + 1}")
    bids_tricks = spec.deals[int(game.position)].decision == "order"
    auction = auction_line(deal, bids_tricks)
    if auction:
        lines.append(auction)
    for player in range(NUM_SEATS):
        hand = int(deal.hands[player])
        num_left = int(deal.dealt) - int(deal.played[player]).bit_count()
        shown = cards.format_hand(hand) if seat is None or seat == player else f"{num_left} cards"
        if seat is None and int(deal.undealt[player]):
            shown += f"  to come {cards.format_hand(int(deal.undealt[player]))}"
        total = int(game.totals[player]) + int(deal.points[player])
        lines.append(
            f"{'*' if player == actor else ' '} seat {player}  {shown:<38} tricks "
            f"{int(deal.tricks[player]):2d}  deal {int(deal.points[player]):5d}  total {total:6d}"
        )
    if int(deal.shown) != NO_CARD:
        owner = int(deal.shown_owner)
        lines.append(f"shown: {cards.CARD_NAMES[int(deal.shown)]} of seat {owner}")
    trick = [int(card) for card in deal.trick[: int(deal.trick_size)]]
    if trick:
        leader = int(deal.leader)
        played = [
            f"{(leader + spec.step * place) % 4}:{cards.CARD_NAMES[card]}"
            for place, card in enumerate(trick)
        ]
        lines.append("trick: " + "  ".join(played))
    return "\n".join(lines)
