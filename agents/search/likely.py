"""Worlds that explain the play seen: how likely the others' cards were, had these been their hands.

The deal is played again in a world. Whoever played a card that the rule-based agent would not have
chosen with that hand is less likely to have held it: a world's likelihood falls by a factor of e
for every ``SOFTNESS`` of the points that such cards cost by the agent's own scores. Players who
think otherwise than the agent are thus believed capable of anything, but of some things less.

Source: Rebstock, Solinas, Buro, Sturtevant 2019, "Policy based inference in trick-taking card
games" (weighing worlds by a policy); Gumbel 1954 (the largest of weights with his noise is a draw
in proportion to them).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from agents.hand_values import CARD_WEIGHTS
from agents.kernels.cards import card_score, sight_of
from agents.search.worlds import draw_world
from king_env.engine.jit import inline, lowest, outline
from king_env.engine.layout import NUM_SEATS, ONE, ZERO, i64, u64
from king_env.engine.play import legal_cards, play_card, played_in
from king_env.engine.rng import draw
from king_env.engine.step import first_leader

CANDIDATES: Final = 8
"""Uniform worlds of which one is drawn in proportion to their likelihoods."""

SOFTNESS: Final = 0.1
"""In units of ``point_scale``, the points of a usual deal."""

CANDIDATE: Final = 3_000_000
"""Number of the draw that keys a candidate's cards; its chance to be drawn comes next."""

_TOP_52: Final = u64(12)
_SCALE: Final = 2.0**-52


@outline
def regret_of_play(worlds: Any, w: Any, room: Any, t: Any, seat: Any) -> Any:
    """Returns the points that the cards seen cost their players, by the rule-based agent's scores.

    Args:
        worlds: games; ``worlds[w]`` is in PLAY with all hands known, and the deal is played again
            in ``worlds[room]``.
        w: the world.
        room: where there is room.
        t: its rule table.
        seat: the seat that looks; its own cards tell it nothing.

    Returns:
        The points, or 0 where the record does not tell how the deal was played.
    """
    worlds[room] = worlds[w]
    seen = worlds[w].deal
    g = worlds[room]
    d = g.deal
    for other in range(NUM_SEATS):
        d.hands[other] |= d.played[other]
        d.played[other] = ZERO
        d.taken[other] = ZERO
        d.not_held[other] = ZERO
    d.trick_cards = ZERO
    d.trick_number = 0
    d.trick_size = 0
    d.broken = 0
    d.actor = first_leader(g, t)
    regret = 0.0
    for _ in range(4 * i64(seen.trick_number) + i64(seen.trick_size)):
        actor = i64(d.actor)
        card = played_in(seen, actor, i64(d.trick_number))
        if card < 0:
            return 0.0
        left = legal_cards(d, t, d.hands[actor])
        if actor != seat and left & (left - ONE) != ZERO:
            regret += regret_of_card(d, t, left, card)
        play_card(d, t, card)
    return regret


@inline
def regret_of_card(d: Any, t: Any, legal: Any, card: Any) -> Any:
    """Returns how much more the best of the legal cards scores than one of them."""
    hand, unseen, beaten, beating, group = sight_of(d, t)
    own = -1e300
    best = -1e300
    left = legal
    while left != ZERO:
        other = i64(lowest(left))
        left &= left - ONE
        score = card_score(d, t, hand, unseen, beaten, beating, other, group, CARD_WEIGHTS, i64(-1))
        best = max(best, score)
        if other == card:
            own = score
    return best - own


@inline
def draw_likely_world(
    view: Any, worlds: Any, w: Any, room: Any, t: Any, seat: Any, key: Any
) -> bool:
    """Draws a world into ``worlds[w]`` in proportion to its likelihood among ``CANDIDATES``.

    Args:
        view: the game in PLAY, blanked for the seat that looks.
        worlds: games; ``worlds[room]`` and the next are overwritten.
        w: where to put the world.
        room: where there is room.
        t: its rule table.
        seat: the seat that looks.
        key: the world's random key.

    Returns:
        False: the view contradicts itself.
    """
    best = -1e300
    scale = 1.0 / (SOFTNESS * t.point_scale)
    for n in range(CANDIDATES):
        worlds[room] = view
        if not draw_world(worlds[room], t, seat, draw(key, CANDIDATE + 2 * n)):
            return False
        uniform = (1.0 * i64(draw(key, CANDIDATE + 2 * n + 1) >> _TOP_52) + 0.5) * _SCALE
        weight = -np.log(-np.log(uniform))
        weight -= scale * regret_of_play(worlds, room, room + 1, t, seat)
        if weight > best:
            best = weight
            worlds[w] = worlds[room]
    return True


@inline
def draw_fitting_world(view: Any, worlds: Any, t: Any, seat: Any, key: Any, weighed: Any) -> bool:
    """Draws a world that fits a view into ``worlds[0]``; False: the view contradicts itself.

    With ``weighed`` likely ones come more often, and ``worlds[2]`` and ``worlds[3]`` are room.
    """
    if weighed:
        return draw_likely_world(view, worlds, i64(0), i64(2), t, seat, key)
    worlds[0] = view
    return draw_world(worlds[0], t, seat, key)
