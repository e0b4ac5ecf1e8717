"""An agent that tells what calibrated choices are worth: rule's cards, greedy's choices.

``king evaluate rule --against tests.agents.choices:GreedyChoices`` gives the figure.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents.ids import GREEDY, RULE
from agents.kernels import act_rows
from king_env.engine.layout import PHASE_PLAY, Games, Tables
from king_env.view import View


class GreedyChoices:
    """Plays cards as ``rule`` and decides before the play as ``greedy``: its longest suit."""

    name = "greedy choices"

    def act(self, view: View, rng: np.random.Generator) -> int:
        """Returns a legal action for the seat of the view."""
        keys = np.zeros(1, dtype=np.uint64)
        return int(self.act_batch(view.record, view.tables, keys)[0])

    def act_batch(
        self, views: Games, tables: Tables, keys: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Returns a legal action for the seat to act of each view."""
        actions = np.zeros(len(views), dtype=np.int64)
        playing = views.deal.phase == PHASE_PLAY
        for policy, rows in ((RULE, np.flatnonzero(playing)), (GREEDY, np.flatnonzero(~playing))):
            chosen = np.zeros(len(rows), dtype=np.int64)
            act_rows(views, tables, rows, policy, keys[rows], chosen)
            actions[rows] = chosen
        return actions
