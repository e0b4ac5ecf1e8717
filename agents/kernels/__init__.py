"""Compiled policies on a game record, chosen by a small integer; doors for Python in ``doors``.

A policy reads only what the seat to act may know, so it gives the same action on the true record
and on one blanked by ``king_env.engine.sample.hide``.
"""

from __future__ import annotations

from agents.ids import GREEDY, RANDOM, RULE
from agents.kernels.doors import act_rows, advance
from agents.kernels.policies import choose_action

__all__ = ["GREEDY", "RANDOM", "RULE", "act_rows", "advance", "choose_action"]
