"""Golden files: perft counts, playthroughs, frozen play. ``python -m tests.golden.make``.

* ``perft.json``: positions (deal of a suite, then actions) with the number of lines of 1, 2, 3 ...
  actions from there. Any implementation of the rules that deals the same cards can be compared.
* ``playthroughs/VARIANT.txt``: a match as text. Of the first deal of each kind some decisions are
  written out: the table, the legal actions, the observation by block name.
* ``frozen.json``: a digest of what each frozen agent does, by variant. It is the one file that is
  never written anew: only what is missing in it is added.
"""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any, Final

import numpy as np

from agents.ids import POLICY_IDS, RANDOM
from agents.kernels import act_rows
from king_env import cards
from king_env.engine import batch, observe
from king_env.engine.layout import allocate
from king_env.engine.perft import perft
from king_env.game import Game
from king_env.policy import decision_keys
from king_env.rules.catalogue import load_variant
from king_env.rules.tables import tables_of
from tests.playing import SHIPPED, pick

FOLDER: Final = Path(__file__).parent
PERFT: Final = FOLDER / "perft.json"
PLAYTHROUGHS: Final = FOLDER / "playthroughs"
FROZEN: Final = FOLDER / "frozen.json"

SEED: Final = 20
MAX_LINES: Final = 1_000_000
MAX_DEPTH: Final = 12
FROZEN_DEALS: Final = 300


# ---------------------------------------------------------------- perft


def kinds_of_deals(variant: str) -> list[int]:
    """The first deal of each line of the schedule, and the last deal of the match."""
    spec = load_variant(variant).spec
    firsts, position = [], 0
    for line in spec.schedule:
        if line.times:
            firsts.append(position)
        position += line.times
    return sorted({*firsts, len(spec.deals) // 2, len(spec.deals) - 1})


def count_lines(game: Game) -> list[int]:
    """Lines of 1, 2, 3 ... actions, while there are not too many."""
    counts: list[int] = []
    while len(counts) < MAX_DEPTH and (not counts or counts[-1] * 6 < MAX_LINES):
        counts.append(perft(game.games, game.tables, 0, len(counts) + 1))
        if counts[-3:-1] == counts[-1:] * 2:
            break  # forced to the end, or over
    return counts


def perft_positions(variant: str) -> list[dict[str, Any]]:
    """Positions of a variant with their counts: before the deal, early and late in play."""
    positions = []
    for deal in kinds_of_deals(variant):
        rng = random.Random(f"{variant} {deal}")
        pack = load_variant(variant).spec.pack
        for num_actions in (0, 5, pack // 2, pack - 8):
            game = Game(variant, seed=SEED, match=deal, episode="deal")
            actions: list[str] = []
            while not game.is_over and len(actions) < num_actions:
                action = pick(game, rng)
                actions.append(game.names.format(action))
                game.push(action)
            positions.append({"deal": deal, "actions": actions, "lines": count_lines(game)})
    return positions


def perft_text() -> str:
    """The whole perft file: one position a line."""
    parts = []
    for variant in SHIPPED:
        lines = ",\n  ".join(json.dumps(position) for position in perft_positions(variant))
        parts.append(f' "{variant}": [\n  {lines}\n ]')
    return f'{{\n "seed": {SEED},\n' + ",\n".join(parts) + "\n}\n"


# ---------------------------------------------------------------- playthroughs


def bits_text(block: observe.Block, bits: list[int]) -> str:
    """A block of bits: cards by name where it is made of sets of cards, else positions."""
    if block.size % 52 == 0:
        sets = [bits[first : first + 52] for first in range(0, block.size, 52)]
        hands = [" ".join(cards.CARD_NAMES[c] for c in range(52) if held[c]) for held in sets]
        return " | ".join(hands)
    return " ".join(str(place) for place, bit in enumerate(bits) if bit)


def observation_lines(game: Game, seat: int) -> list[str]:
    """The blocks of an observation that are not all zero."""
    words = np.zeros((1, observe.NUM_WORDS), dtype=np.uint64)
    numbers = np.zeros((1, observe.NUM_NUMBERS), dtype=np.int16)
    observe.observe(game.games, game.tables, 0, seat, words, numbers, 0)
    bits = observe.unpack_bits(words, observe.NUM_BITS)[0].tolist()
    lines = []
    for block in observe.BIT_BLOCKS.values():
        part = bits[block.offset : block.offset + block.size]
        if any(part):
            lines.append(f"    {block.name}: {bits_text(block, part)}")
    for block in observe.NUMBER_BLOCKS.values():
        values = numbers[0, block.offset : block.offset + block.size].tolist()
        if any(values):
            lines.append(f"    {block.name}: {' '.join(map(str, values))}")
    return lines


def decision_lines(game: Game) -> list[str]:
    """A decision written out."""
    assert game.actor is not None
    lines = ["", *(f"  {line}" for line in str(game).splitlines())]
    lines.append(f"  legal: {' '.join(game.legal_names())}")
    lines.append(f"  seat {game.actor} observes")
    return lines + observation_lines(game, game.actor)


def is_shown(game: Game, num_actions: int, num_cards: int) -> bool:
    """Whether a decision is written out: some before play, the first cards, some later ones."""
    if game.phase != "PLAY":
        return num_actions < 4
    return num_cards in (0, 3, game.variant.spec.pack // 2 + 1)


def playthrough(variant: str) -> str:
    """A match of a variant as text."""
    rng = random.Random(variant)
    game = Game(variant, seed=SEED)
    spec = game.variant.spec
    firsts = kinds_of_deals(variant)
    lines = [f"{variant}, match 0 of seed {SEED}"]
    for position in range(len(spec.deals)):
        log = game.deals[-1]
        lines += ["", f"deal {position + 1}: dealer {log.dealer}"]
        lines += [f"  seat {seat} is dealt {' '.join(hand)}" for seat, hand in enumerate(log.dealt)]
        before = game.scores
        num_cards = 0
        while log.scores is None:
            in_play = game.phase == "PLAY"
            if position in firsts and is_shown(game, len(log.actions), num_cards):
                lines += decision_lines(game)
            actor, action = game.actor, pick(game, rng)
            game.push(action)
            if position in firsts:
                lines.append(f"  seat {actor}: {game.names.format(action)}")
            num_cards += in_play
        if position not in firsts:
            actions = [f"{seat}:{game.names.format(action)}" for seat, action in log.actions]
            lines.append("  " + " ".join(actions))
        gained = [now - then for now, then in zip(game.scores, before, strict=True)]
        assert gained == log.scores
        lines.append(f"  {log.contract}: scores {log.scores}, totals {game.scores}")
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------- frozen agents


def frozen_agents() -> list[str]:
    """The names with a number."""
    return [name for name in POLICY_IDS if "@" in name]


def play_digest(agent: str, variant: str) -> str:
    """A digest of what a compiled agent does at every decision of some hundred deals.

    One seat of each table plays at random, so that the agent is asked in odd places too.
    """
    games, tables = allocate(FROZEN_DEALS), tables_of(load_variant(variant))
    numbers = np.arange(FROZEN_DEALS, dtype=np.int64)
    seed: Any = np.uint64(SEED)
    skip = np.zeros(FROZEN_DEALS, dtype=np.uint8)
    batch.begin_episodes(games, tables, numbers, seed, numbers, 0, skip, 0)
    digest = hashlib.sha256()
    in_play = np.zeros(FROZEN_DEALS, dtype=np.int64)
    while (count := batch.rows_in_play(games, in_play)) > 0:
        rows = in_play[:count].copy()
        keys = np.zeros(count, dtype=np.uint64)
        decision_keys(games, rows, seed, keys)
        own, other = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        act_rows(games, tables, rows, POLICY_IDS[agent], keys, own)
        act_rows(games, tables, rows, RANDOM, keys, other)
        digest.update(own.astype("<i2").tobytes())
        odd = games.deal.actor[rows] == rows % 4
        batch.step_rows(games, tables, rows, np.where(odd, other, own), 0)
    return digest.hexdigest()[:16]


def frozen_text(known: dict[str, dict[str, str]]) -> str:
    """The file of digests: those known, and those of agents and variants that are new.

    Raises:
        SystemExit: if a frozen agent plays otherwise than it did.
    """
    found: dict[str, dict[str, str]] = {}
    for agent in frozen_agents():
        found[agent] = {variant: play_digest(agent, variant) for variant in SHIPPED}
        for variant, digest in known.get(agent, {}).items():
            if found[agent].get(variant, digest) != digest:
                raise SystemExit(frozen_message(agent, variant))
    return json.dumps(found, indent=1) + "\n"


def frozen_message(agent: str, variant: str) -> str:
    """What to do when a frozen agent plays otherwise than it did."""
    return (
        f"{agent} is frozen, and it plays otherwise in {variant}: give the new play a new number "
        f"(agents/ids.py); if it is the rules that changed, delete its entry in {FROZEN.name}"
    )


def main() -> None:
    """Writes all golden files anew, and adds to the one of frozen play."""
    known = json.loads(FROZEN.read_text(encoding="utf-8")) if FROZEN.exists() else {}
    FROZEN.write_text(frozen_text(known), encoding="utf-8")
    PERFT.write_text(perft_text(), encoding="utf-8")
    PLAYTHROUGHS.mkdir(exist_ok=True)
    for old in PLAYTHROUGHS.glob("*.txt"):
        old.unlink()
    for variant in SHIPPED:
        (PLAYTHROUGHS / f"{variant}.txt").write_text(playthrough(variant), encoding="utf-8")
    print(f"wrote {PERFT.name}, {FROZEN.name} and {len(SHIPPED)} playthroughs")


if __name__ == "__main__":
    main()
