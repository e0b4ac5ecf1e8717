"""King as an RLCard environment: ``rlcard.make("king", config={"variant": "rifki"})``.

Importing this module registers it. Beside RLCard's own ``seed`` and ``allow_step_back`` the
configuration takes ``variant``, ``episode`` (``"deal"`` by default, or ``"match"``) and ``start``.

* ``state["obs"]`` is the observation of the other environments, ``state["raw_obs"]`` the seat's
  ``View``, from which agents of ours can play.
* RLCard pays at the end only. ``transitions`` gives each decision the points scored until the next
  decision of the same seat instead; their sum is the payoff.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from king_env.adapters import framework
from king_env.engine import observe
from king_env.engine.actions import NUM_ACTIONS, ActionId
from king_env.engine.layout import NUM_SEATS
from king_env.game import Game
from king_env.policy import Policy
from king_env.rules.catalogue import load_variant
from king_env.view import View

_env: Any = framework("rlcard.envs.env")
_registration: Any = framework("rlcard.envs.registration")

ENV_ID: Final = "king"


class _Table:
    """The game as RLCard's ``Env`` wants it; ``np_random`` and ``allow_step_back`` come from there.

    Args:
        config: configuration of the environment.
    """

    np_random: np.random.RandomState
    allow_step_back: bool

    def __init__(self, config: dict[str, Any]) -> None:
        self.variant = load_variant(config.get("variant", "international"))
        self.episode = config.get("episode", "deal")
        self.start = config.get("start", "decision")
        self.king = Game(self.variant, episode=self.episode, start=self.start)
        self._earlier: list[Game] = []

    def init_game(self) -> tuple[View, int]:
        """Starts an episode drawn by ``np_random``; returns the view of the seat to act, and it."""
        seed, match = (int(self.np_random.randint(2**31)) for _ in range(2))
        self.king = Game(
            self.variant, seed=seed, match=match, episode=self.episode, start=self.start
        )
        self._earlier.clear()
        return self.get_state(self.get_player_id()), self.get_player_id()

    def step(self, action: ActionId) -> tuple[View, int]:
        """Plays an action; returns the view of the seat to act, and that seat."""
        if self.allow_step_back:
            self._earlier.append(self.king.clone())
        self.king.push(action)
        return self.get_state(self.get_player_id()), self.get_player_id()

    def step_back(self) -> bool:
        """Takes an action back; False at the start."""
        if not self._earlier:
            return False
        self.king = self._earlier.pop()
        return True

    def get_num_players(self) -> int:
        """Returns the number of seats."""
        return NUM_SEATS

    def get_num_actions(self) -> int:
        """Returns the number of actions."""
        return NUM_ACTIONS

    def get_player_id(self) -> int:
        """Returns the seat to act; 0 when the episode is over."""
        return self.king.actor or 0

    def is_over(self) -> bool:
        """Tells whether the episode is over."""
        return self.king.is_over

    def get_state(self, player_id: int) -> View:
        """Returns what a seat may know."""
        return self.king.view(player_id)

    def payoffs(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Returns the points so far, of the team in partnership variants."""
        return np.array(self.king.side_scores, dtype=np.float64)


class KingEnv(_env.Env):  # type: ignore[misc]  # RLCard is untyped
    """King with the interface of RLCard's environments.

    Args:
        config: see the head of this file.

    Raises:
        VariantError: if the variant is not allowed.
        ValueError: if another value is not allowed.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self.name = ENV_ID
        self.game = _Table(config)
        super().__init__(config)
        self.state_shape = [[observe.NUM_FEATURES] for _ in range(NUM_SEATS)]
        self.action_shape = [None for _ in range(NUM_SEATS)]

    def _extract_state(self, state: View) -> dict[str, Any]:
        return state_of(state) | {
            "action_record": self.action_recorder,
            "points": float(self.game.payoffs()[state.seat]),
        }

    def _decode_action(self, action_id: int) -> ActionId:
        return int(action_id)

    def _get_legal_actions(self) -> OrderedDict[ActionId, None]:
        return OrderedDict.fromkeys(self.game.king.legal_actions)

    def get_payoffs(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Returns the scores of the episode, `[4]`."""
        return self.game.payoffs()

    def get_perfect_information(self) -> dict[str, Any]:
        """Returns the table with all cards open."""
        king = self.game.king
        hands = [king.view(seat).hand for seat in range(NUM_SEATS)]
        return {"hands": hands, "table": str(king), "current_player": self.get_player_id()}


def state_of(view: View) -> dict[str, Any]:
    """Returns the RLCard state of a seat, but for ``action_record`` and ``points``."""
    legal = view.legal_actions
    return {
        "obs": view.observation,
        "legal_actions": OrderedDict.fromkeys(legal),
        "raw_obs": view,
        "raw_legal_actions": [view.names.format(action) for action in legal],
    }


def transitions(trajectory: Sequence[Any], scale: float = 1.0) -> list[list[Any]]:
    """Returns ``[state, action, reward, next state, done]`` for each decision of a seat.

    Args:
        trajectory: one seat's part of what ``env.run`` returns.
        scale: what rewards are divided by.
    """
    states, actions = trajectory[::2], trajectory[1::2]
    found = []
    for k, action in enumerate(actions):
        reward = (states[k + 1]["points"] - states[k]["points"]) / scale
        found.append([states[k], action, reward, states[k + 1], k == len(actions) - 1])
    if found:
        found[0][2] += states[0]["points"] / scale  # paid before the first decision
    return found


class RlcardAgent:
    """An agent of RLCard's as one of ours.

    Args:
        name: name in tables.
        agent: the agent, greedy where it knows the difference.
    """

    def __init__(self, name: str, agent: Any) -> None:
        self.name = name
        self.agent = agent

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        """Returns a legal action for the seat of the view, which is to act."""
        return int(self.agent.eval_step(state_of(view))[0])


class KingAgent:
    """An agent of ours as one of RLCard's.

    Args:
        policy: the agent.
        seed: seed of what it draws.
    """

    use_raw = False

    def __init__(self, policy: Policy, seed: int = 0) -> None:
        self.policy = policy
        self._rng = np.random.default_rng(seed)

    def step(self, state: dict[str, Any]) -> ActionId:
        """Returns an action."""
        return self.policy.act(state["raw_obs"], self._rng)

    def eval_step(self, state: dict[str, Any]) -> tuple[ActionId, dict[str, Any]]:
        """Returns an action, and nothing to say about it."""
        return self.step(state), {}


_registration.register(env_id=ENV_ID, entry_point="king_env.adapters.rlcard:KingEnv")
