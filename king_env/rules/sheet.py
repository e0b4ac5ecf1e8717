"""A rule sheet in English, made from a variant's data."""

from __future__ import annotations

from king_env.rules.catalogue import Variant, rungs_allowed, value_text
from king_env.rules.spec import (
    LADDER,
    AuctionSpec,
    ChoiceSpec,
    ContractSpec,
    DealSpec,
    OrderSpec,
    VariantSpec,
)

_LEAD_TEXT = {
    "free": "",
    "no_hearts": "hearts may not be led, but from a hand of hearts only",
    "until_broken": "hearts may not be led before one was played to an earlier trick, but from a "
    "hand of hearts only",
    "king_only": "the king of hearts may not be led, but as the last card",
}
_VOID_TEXT = {
    "free": "",
    "must_trump": "a player who cannot follow suit must trump",
    "force_king": "a player who cannot follow suit must throw the king of hearts",
    "force_penalty": "a player who cannot follow suit must throw a penalty card",
}
_LEADER_TEXT = {
    "dealer": "the dealer leads",
    "next": "the player after the dealer leads",
    "declarer": "the declarer leads",
}
_ORDER_TEXT = {
    "S": "spades, hearts, diamonds or clubs (that suit is trump)",
    "NT": "NT (no trump)",
    "LAST": "LAST (the last card dealt to the declarer is shown, its suit is trump)",
    "MISERE": "MISERE (no trump, ranks reversed)",
}


def contract_points(contract: ContractSpec, pack: int) -> str:
    """Returns what a contract counts, with the total of a deal."""
    men = {"KJ": "king or jack", "K": "king", "J": "jack"}[contract.men]
    suit = pack // 4
    units = [
        (contract.trick, "each trick", suit),
        (contract.heart, "each heart", suit),
        (contract.queen, "each queen", 4),
        (contract.man, f"each {men}", 4 * len(contract.men)),
        (contract.king_of_hearts, "the king of hearts", 1),
        (contract.last, "each of the last two tricks", 2),
        (contract.constant, "everybody at the end", 4),
    ]
    parts = [f"{value:+d} for {what}" for value, what, _ in units if value]
    total = sum(value * count for value, _, count in units)
    return f"{', '.join(parts) or 'nothing counts'} (deal total {total:+d})"


def contract_rules(contract: ContractSpec) -> str:
    """Returns the restrictions of a contract in words."""
    parts = []
    if contract.trump == "declared":
        parts.append("the declarer names the trump suit")
    if contract.trump == "last_card":
        parts.append("the declarer's last card dealt is shown, its suit is trump")
    if contract.ranks == "reversed":
        parts.append("ranks are reversed, the lowest card is the highest")
    parts += [text for text in (_LEAD_TEXT[contract.lead], _VOID_TEXT[contract.void]) if text]
    if contract.overtrump and contract.void == "must_trump":
        parts.append("higher than the trumps in the trick where he can")
    if contract.follow_king:
        parts.append("the king of hearts must be played when another leads hearts")
    if contract.duck:
        parts.append("a penalty card that a higher card in the trick beats must be played")
    return "; ".join(parts)


def schedule_line(deal: DealSpec, first: int, spec: VariantSpec) -> str:
    """Returns one line of the schedule."""
    last = first + deal.times - 1
    numbers = f"deal {first}" if deal.times == 1 else f"deals {first} to {last}"
    chooser = "the dealer" if deal.chooser == "dealer" else "the player after the dealer"
    if deal.decision == "none":
        contract = spec.contract[spec.contract_index(deal.contract)]
        what = contract.title or contract.id
    elif deal.decision == "auction":
        what = f"{chooser} may declare, or sell that right in an auction"
    elif deal.decision == "order":
        what = f"{chooser} orders the deal"
    else:
        what = f"{chooser} chooses the contract, see below"
    early = f", on his first {deal.first_cards} cards" if deal.first_cards else ""
    return f"  {numbers}: {what}{early}; {_LEADER_TEXT[deal.leader]}"


def auction_lines(auction: AuctionSpec) -> list[str]:
    """Returns the auction and its settlement in words."""
    calls = " ".join(f"{LADDER[rung]:+d}" for rung in rungs_allowed(auction.max_plus))
    top = f"+{auction.max_plus}"
    lines = [
        "The others bid in turn from the auctioneer's next; a pass is for good.",
        f"Calls, low to high: {calls}.",
        f"Plus N is worth {auction.plus_unit} N points, minus N is worth {auction.minus_unit} N.",
    ]
    if auction.match != "off":
        same = "the same call"
        if auction.match == "same_value":
            same = "the same call or the one of equal value"
        lines.append(f"A bidder who sits before the holder may match with {same} and takes over.")
    if auction.plus8_binding == "always":
        lines.append(f"A final {top} buys at once; otherwise the auctioneer accepts or refuses.")
    else:
        lines.append("The auctioneer accepts or refuses every offer.")
    if auction.max_requests:
        often = times_word(auction.max_requests)
        lines.append(f"He may ask the holder for a call of more worth, {often}.")
    if auction.ultimatum:
        demand = f"{top} only" if auction.ultimatum_demands == "eight_only" else "any higher call"
        who = {"all": "all three", "active": "those still bidding", "holder": "the holder"}
        fallback = "nulls" if auction.ultimatum_fallback == "negative" else "what he likes"
        when = ", before the bidding or after it" if auction.ultimatum_timing == "both" else ""
        lines.append(
            f"He may put an ultimatum ({demand}{when}) to {who[auction.ultimatum_respondents]}, in "
            f"order; the first to accept buys; if all reject he must play {fallback}."
        )
    if auction.failed_criterion != "never":
        by_count = auction.failed_criterion == "offer_count"
        measure = "fewer offers than" if by_count else "a best offer below"
        own, other = auction.unplayed
        lines.append(
            f"After {measure} {auction.failed_threshold} he may take it unplayed: {own} tricks "
            f"for him, {other} for each other, at {auction.plus_unit} points."
        )
    if auction.allow_no_trump:
        lines.append("The declarer of a plus deal may name a trump suit or no trump (NT).")
    if auction.bid_binds_deal:
        lines.append("A plus call buys a trump or no-trump deal, a minus call buys nulls.")
    else:
        lines.append("The buyer may declare any deal.")
    capped = " (at most the tricks he took)" if auction.plus_settlement == "transfer_capped" else ""
    lines.append(
        f"Settlement: after plus N the buyer pays the auctioneer {auction.plus_unit} N{capped};"
    )
    if auction.minus_settlement == "absorb_capped":
        lines.append(
            f"after minus N {auction.minus_unit} for each trick the auctioneer took, N at most."
        )
    else:
        lines.append(f"after minus N he pays N times {auction.minus_unit}.")
    if not auction.allow_no_trump:
        lines.append("No trump may not be declared.")
    return lines


def order_lines(order: OrderSpec) -> list[str]:
    """Returns ordering, buying and their settlement in words."""
    names = [_ORDER_TEXT[name] for name in order.contracts() if name in _ORDER_TEXT]
    if order.write:
        points = order.write * order.unit
        names.append(f"WRITE2 (no play, {points:+d} for everybody)")
    lines = [f"The orderer names one of: {', '.join(names)}."]
    if order.buying == "off":
        return lines
    when = "Before he orders" if order.buying == "before_order" else "After his order"
    lines += [
        f"{when} the others bid tricks from his next on, 1 to {order.max_bid}, each bid above the "
        "last; a pass is for good.",
        "He accepts or refuses the best bid." if order.seller_may_refuse else "The best bid buys.",
        "A buyer orders anew, from the same list.",
    ]
    capped = ", at most for the tricks he took" if order.payment == "tricks_taken" else ""
    lines.append(f"At the end the buyer pays the orderer {order.unit} for each trick bid{capped}.")
    return lines


def quota_lines(choose: ChoiceSpec, spec: VariantSpec) -> list[str]:
    """Returns the quotas of free choice in words."""
    lines = []
    for group in choose.group:
        members = [c for c in spec.contract if c.group == group.id and c.slot >= 0]
        names = ", ".join(c.title or c.id for c in members)
        lines.append(f"Each player chooses {group.per_player} from: {names}")
        for field, who in (("per_player", "by one player"), ("per_table", "by all together")):
            limits = {getattr(contract, field) for contract in members} - {0}
            for limit in sorted(limits):
                some = [c.title or c.id for c in members if getattr(c, field) == limit]
                which = "each" if len(some) == len(members) else ", ".join(some)
                lines.append(f"    {which} at most {times_word(limit)} {who}")
    return lines


def times_word(number: int) -> str:
    """Returns ``once``, ``twice`` or ``N times``."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def played_contracts(spec: VariantSpec) -> list[ContractSpec]:
    """Returns the contracts that can come up in a match."""
    names = {deal.contract for deal in spec.deals}
    decisions = {deal.decision for deal in spec.deals}
    if spec.phases.choose is not None and "choose" in decisions:
        names |= {contract.id for contract in spec.contract if contract.slot >= 0}
    if spec.phases.order is not None and "order" in decisions:
        names |= set(spec.phases.order.contracts().values())
    if spec.phases.auction is not None and "auction" in decisions:
        names |= {spec.phases.auction.plus, spec.phases.auction.minus}
    return [contract for contract in spec.contract if contract.id in names]


def table_lines(spec: VariantSpec) -> list[str]:
    """Returns what holds in every deal."""
    direction = "clockwise" if spec.step > 0 else "counter-clockwise"
    ranks = "A K Q J 10 9 8 7" + (" 6 5 4 3 2" if spec.pack == 52 else "")
    dealer = "by lot" if spec.first_dealer == "lot" else f"seat {spec.first_dealer}"
    lines = [
        f"Four players, {spec.pack} cards, {spec.hand_size} each; high to low: {ranks}.",
        f"Dealing and play go {direction}. First dealer: {dealer}; then the next player deals.",
        "Suit must be followed; a player who cannot may play any card unless the contract says "
        "otherwise.",
        "The highest trump, else the highest card of the suit led, wins the trick; its taker leads "
        "next.",
    ]
    if spec.early_end == "auto":
        lines.append("A deal ends when all cards that count have been taken.")
    if spec.partnership:
        lines.append("Seats 0 and 2 play seats 1 and 3; the points of a team count together.")
    return lines


def rule_sheet(variant: Variant) -> str:
    """Returns the rules of a variant as text that a reader can play from."""
    spec = variant.spec
    lines = [f"{spec.title} ({variant.name})", spec.summary, f"Source: {spec.source}"]
    if variant.changes:
        lines += ["", f"Differs from {spec.parent} in"]
        lines += [f"  {change}" for change in variant.changes]
    lines += ["", "Play", *(f"  {line}" for line in table_lines(spec))]
    lines += ["", f"Schedule ({len(spec.deals)} deals)"]
    number = 1
    for deal in spec.schedule:
        if deal.times:
            lines.append(schedule_line(deal, number, spec))
            number += deal.times
    lines += ["", "Contracts"]
    for contract in played_contracts(spec):
        points = contract_points(contract, spec.pack)
        lines.append(f"  {contract.title or contract.id} [{contract.record_name}]: {points}")
        rules = contract_rules(contract)
        if rules:
            lines.append(f"      {rules}")
    decisions = {deal.decision for deal in spec.deals}
    if spec.phases.choose is not None and "choose" in decisions:
        title = "Choice" if spec.phases.choose.phase == "CHOOSE" else "Orders"
        lines += ["", title, *(f"  {line}" for line in quota_lines(spec.phases.choose, spec))]
    if spec.phases.order is not None and "order" in decisions:
        lines += ["", "Orders", *(f"  {line}" for line in order_lines(spec.phases.order))]
    if spec.phases.auction is not None and "auction" in decisions:
        lines += ["", "Auction", *(f"  {line}" for line in auction_lines(spec.phases.auction))]
    who = "team with the highest total" if spec.partnership else "highest total"
    lines += ["", f"The {who} wins; equal totals share the place."]
    if spec.option:
        lines += ["", "Options (--option NAME=VALUE); * marks those changed here"]
        for option in spec.option:
            values = ", ".join(value_text(value) for value in option.values)
            mark = "*" if option.name in variant.options else " "
            lines.append(f" {mark}{option.name} = {value_text(option.default)}   [{values}]")
            lines.append(f"      {option.doc}")
    return "\n".join(lines)
