"""King as an OpenSpiel game: ``pyspiel.load_game("python_king", {"variant": "rifki"})``.

Importing this module registers the game. Its parameters are those of ``king_env.game.Game``:
``variant``, ``options`` (``key=value``, comma-separated), ``episode`` and ``seed``.

Chance is explicit. The first node draws the set-up: the dealer of a match, or for a deal its number
in the suite of deals of ``seed``, which fixes schedule position, dealer and choices used up before.
Then each deal takes one node a card: card p goes to seat p mod 4.

* Information states have perfect recall: own cards, and all actions of the episode in order. The
  tensor holds the observation and the actions of the current deal; of earlier deals only scores and
  choices used up have any bearing, and both are in the observation.
* Rewards are points, paid as they are scored; in partnership variants those of the team.
* ``resample_from_infostate`` draws the hidden cards of the current deal uniformly from those that
  fit what the player knows; deals that are over stay as they were.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from king_env import cards
from king_env.adapters import framework
from king_env.engine import observe
from king_env.engine.actions import NUM_ACTIONS, ActionId
from king_env.engine.layout import NO_CARD, NUM_SEATS
from king_env.game import TRUMPS, Game
from king_env.history import MAX_HISTORY, NUM_FIELDS, history_of
from king_env.rules.catalogue import Variant, largest_deal_score, load_variant, mean_deal_size
from king_env.view import View

pyspiel: Any = framework("pyspiel")

SHORT_NAME: Final = "python_king"

SETUPS: Final = 32
"""Set-ups of a single deal for each position of the schedule: dealer, choices used up before."""

GAME_TYPE: Final = pyspiel.GameType(
    short_name=SHORT_NAME,
    long_name="King",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.GENERAL_SUM,
    reward_model=pyspiel.GameType.RewardModel.REWARDS,
    max_num_players=NUM_SEATS,
    min_num_players=NUM_SEATS,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification={
        "variant": "international",
        "options": "",
        "episode": "match",
        "seed": 0,
    },
)


class KingGame(pyspiel.Game):  # type: ignore[misc]  # OpenSpiel is untyped
    """King with the rules of its parameters.

    Args:
        params: see the head of this file.
        variant: a loaded variant, in place of the parameters ``variant`` and ``options``.

    Raises:
        VariantError: if the variant or an option is not allowed.
        ValueError: if another parameter is not allowed.
    """

    def __init__(
        self, params: dict[str, Any] | None = None, variant: Variant | None = None
    ) -> None:
        given = dict(GAME_TYPE.parameter_specification) | dict(params or {})
        pairs = [pair.partition("=") for pair in str(given["options"]).split(",") if pair]
        options = {key.strip(): value.strip() for key, _, value in pairs}
        self.variant = variant or load_variant(str(given["variant"]), options)
        self.episode = str(given["episode"])
        self.seed = int(given["seed"])
        first = self.new_game(0)  # says what is wrong with a parameter
        spec = self.variant.spec
        self.pack = list(cards.cards_of(cards.pack_mask(spec.pack)))
        num_deals = len(spec.deals) if self.episode == "match" else 1
        self.num_setups = NUM_SEATS if self.episode == "match" else SETUPS * len(spec.deals)
        bound = max(largest_deal_score(spec, contract.id) for contract in spec.contract)
        bound *= num_deals * (2 if spec.partnership else 1)
        self.history_size = MAX_HISTORY * NUM_FIELDS
        info = pyspiel.GameInfo(
            num_distinct_actions=NUM_ACTIONS,
            max_chance_outcomes=max(self.num_setups, cards.NUM_CARDS),
            num_players=NUM_SEATS,
            min_utility=-float(bound),
            max_utility=float(bound),
            utility_sum=None,
            max_game_length=num_deals * MAX_HISTORY,
        )
        self.num_chance_nodes = 1 + num_deals * spec.pack
        self.names = first.names
        super().__init__(GAME_TYPE, info, params or {})

    def new_game(self, number: int) -> Game:
        """Returns the game of a set-up; its cards are not those of the chance nodes yet."""
        game = Game(
            self.variant,
            seed=self.seed,
            match=number if self.episode == "deal" else 0,
            episode=self.episode,
        )
        if self.episode == "match" and self.variant.spec.first_dealer == "lot":
            game.set_dealer(number)
        return game

    def max_chance_nodes_in_history(self) -> int:
        """Returns the number of chance nodes of an episode."""
        return self.num_chance_nodes

    def new_initial_state(self) -> KingState:
        """Returns the state before anything is drawn."""
        return KingState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> KingObserver:
        """Returns an observer, see OpenSpiel's ``observation.py``."""
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        return KingObserver(self, kind, params)


class _Kept:
    """Holds a state that never changes: copies of a state share it."""

    def __init__(self, state: KingState) -> None:
        self.state = state

    def __deepcopy__(self, memo: dict[int, Any]) -> _Kept:
        return self


class KingState(pyspiel.State):  # type: ignore[misc]  # OpenSpiel is untyped
    """An episode of King, chance nodes included.

    Attributes:
        king: the game, or None before its set-up is drawn; its cards are those of the chance nodes
            once ``dealt`` holds the whole pack.
        dealt: cards dealt by chance in the current deal, card p to seat p mod 4.
    """

    def __init__(self, game: KingGame) -> None:
        super().__init__(game)
        self.king: Game | None = None
        self.dealt: tuple[int, ...] = ()
        self._rewards = [0.0] * NUM_SEATS
        self._before: _Kept | None = None  # this state before the first card of the deal

    @property
    def _rules(self) -> KingGame:
        game: KingGame = self.get_game()
        return game

    def begin(self, game: Game) -> None:
        """Enters a game whose current deal is about to be dealt, in place of drawing a set-up."""
        self.king = game
        self.dealt = ()

    def current_player(self) -> int:
        """Returns the seat to act, or that chance is to act or the episode over."""
        if self.king is None:
            return int(pyspiel.PlayerId.CHANCE)
        if self.king.is_over:
            return int(pyspiel.PlayerId.TERMINAL)
        if len(self.dealt) < self.king.variant.spec.pack:
            return int(pyspiel.PlayerId.CHANCE)
        return int(self.king.actor or 0)

    def _legal_actions(self, player: int) -> list[ActionId]:
        return self.king.legal_actions if self.king and player == self.current_player() else []

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Returns set-ups, or the cards not dealt yet, all equally likely; empty for decisions."""
        if not self.is_chance_node():
            return []
        if self.king is None:
            outcomes = list(range(self._rules.num_setups))
        else:
            given = set(self.dealt)
            outcomes = [card for card in self._rules.pack if card not in given]
        share = 1.0 / len(outcomes)
        return [(outcome, share) for outcome in outcomes]

    def _apply_action(self, action: int) -> None:
        if not self.is_chance_node():
            self._play(action)
            return
        if self.king is None:
            self.begin(self._rules.new_game(action))
            return
        if not self.dealt:
            self._before = None
            self._before = _Kept(self.clone())
        self.dealt += (action,)
        if len(self.dealt) == self.king.variant.spec.pack:
            names = [cards.CARD_NAMES[card] for card in self.dealt]
            self.king.set_hands([names[seat::NUM_SEATS] for seat in range(NUM_SEATS)])

    def _play(self, action: ActionId) -> None:
        assert self.king is not None
        position = self.king.position
        mask = np.empty(NUM_ACTIONS, dtype=np.int8)
        status = self.king.advance(action, 0, mask)
        self._rewards = [float(points) for points in status[:NUM_SEATS]]
        if not self.king.is_over and self.king.position != position:
            self.dealt = ()

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return str(self._rules.names.format(action))
        return f"setup:{action}" if self.king is None else f"deal:{cards.CARD_NAMES[action]}"

    def is_terminal(self) -> bool:
        """Tells whether the episode is over."""
        return self.king is not None and self.king.is_over

    def rewards(self) -> list[float]:
        """Returns the points since the last decision, by seat; chance nodes between keep them."""
        return list(self._rewards)

    def returns(self) -> list[float]:
        """Returns the points so far, by seat."""
        if self.king is None:
            return [0.0] * NUM_SEATS
        return [float(score) for score in self.king.side_scores]

    def resample_from_infostate(self, player: int, rng: Callable[[], float]) -> KingState:
        """Returns a state that the player cannot tell from this one.

        Args:
            player: the player, whose own cards stay.
            rng: gives numbers from 0 to 1, such as ``pyspiel.UniformProbabilitySampler(0., 1.)``.
        """
        if self.king is None or self._before is None or self.is_chance_node():
            clone: KingState = self.clone()
            return clone
        draws = np.random.default_rng([int(rng() * 2**32) for _ in range(2)])
        log = self.king.deals[-1]
        if self.king.is_over:  # all that is left to know is known
            order = [[cards.parse_card(name) for name in hand] for hand in log.dealt]
        else:
            order = _complete(self.king.view(player), draws)
            order[player] = [cards.parse_card(name) for name in log.dealt[player]]
        return self._before.state.replay(order, [action for _, action in log.actions])

    def replay(self, order: list[list[int]], actions: list[ActionId]) -> KingState:
        """Returns this state, before the cards of a deal, with cards and actions applied."""
        state: KingState = self.clone()
        for place in range(len(order[0])):
            for seat in range(NUM_SEATS):
                state.apply_action(order[seat][place])
        for action in actions:
            state.apply_action(action)
        return state

    def knowledge(self, player: int) -> str:
        """Returns all that a player knows, with perfect recall."""
        game = self.king
        if game is None:
            return f"seat {player}"
        first = game.deals[0]
        lines = [f"seat {player} dealer {first.dealer} deal {game.position + 1 - len(game.deals)}"]
        if self._rules.episode == "deal":
            used = _used_before(game.variant, game.record)
            lines.append(f"used {used.tolist()} start {game.skipped}")
        spec = game.variant.spec
        for number, log in enumerate(game.deals):
            current = number == len(game.deals) - 1
            if current and not game.is_over and len(self.dealt) < spec.pack:
                break  # not dealt yet
            hand = log.dealt[player]
            early = spec.deals[game.position + 1 - len(game.deals) + number].first_cards
            arrived = int(game.record.deal.dealt) if current else spec.hand_size
            parts = [sorted(hand[:early]), sorted(hand[early:])]
            lines.append(
                " + ".join(" ".join(part) for part in parts[: 1 if arrived == early else 2] if part)
            )
            lines.append(
                " ".join(f"{seat}:{game.names.format(action)}" for seat, action in log.actions)
            )
        shown = int(game.record.deal.shown)
        if shown != NO_CARD:
            lines.append(f"shown {cards.CARD_NAMES[shown]}")
        return "\n".join(lines)

    def __str__(self) -> str:
        """Returns the table as text, all cards open."""
        if self.king is None:
            return "before the set-up"
        if self.is_chance_node():
            dealt = " ".join(cards.CARD_NAMES[card] for card in self.dealt)
            return f"deal {self.king.position + 1} being dealt: {dealt}"
        return str(self.king)


class KingObserver:
    """Observations and information states, see OpenSpiel's ``observation.py``.

    Attributes:
        tensor: the whole vector, float32.
        dict: its parts: ``observation``, as the environment's; with perfect recall ``history``, the
            rows of ``king_env.history``, flat, with actions divided by their number.
    """

    def __init__(self, game: KingGame, kind: Any, params: Any) -> None:
        if params:
            raise ValueError(f"observer parameters: found {params}; allowed: none")
        self._recall = bool(kind.perfect_recall)
        size = observe.NUM_FEATURES + (game.history_size if self._recall else 0)
        self.tensor = np.zeros(size, dtype=np.float32)
        self.dict: dict[str, npt.NDArray[np.float32]] = {
            "observation": self.tensor[: observe.NUM_FEATURES]
        }
        if self._recall:
            rest = self.tensor[observe.NUM_FEATURES :]
            self.dict["history"] = rest.reshape(MAX_HISTORY, NUM_FIELDS)

    def set_from(self, state: KingState, player: int) -> None:
        """Writes what a player knows."""
        self.tensor.fill(0)
        if state.king is None or state.is_chance_node():
            return
        observation = state.king.view(player).observation
        self.dict["observation"][:] = observation
        if self._recall:
            self.dict["history"][:] = history_of(state.king, player)

    def string_from(self, state: KingState, player: int) -> str:
        """Returns what a player knows: all of it with perfect recall, else the table."""
        if self._recall:
            return state.knowledge(player)
        if state.king is None or state.is_chance_node():
            return f"seat {player}: being dealt"
        return f"seat {player}\n{state.king.view(player)}"


def _complete(view: View, rng: np.random.Generator) -> list[list[int]]:
    """Returns hands in order of arrival, drawn from those that fit a view."""
    order = view.sample_worlds(1, rng)[0].deal.order
    return [[int(card) for card in hand[: view.variant.spec.hand_size]] for hand in order]


def _used_before(variant: Variant, record: Any) -> npt.NDArray[np.uint8]:
    """Returns the choices used up before the deal in progress, by seat and contract."""
    used: npt.NDArray[np.uint8] = record.used.copy()
    contract, declarer = int(record.deal.contract), int(record.deal.declarer)
    if contract >= 0 and declarer < NUM_SEATS and variant.spec.contract[contract].group:
        used[declarer, contract] -= 1
    return used


@lru_cache(maxsize=8)
def _single_deals(variant: Variant) -> KingGame:
    return KingGame({"episode": "deal"}, variant)


def state_of(view: View, rng: np.random.Generator) -> KingState:
    """Returns a state of the single deal that a view looks at, hidden cards drawn to fit it."""
    variant, record = view.variant, view.record[0]
    deal = Game(variant, episode="deal", position=int(record.position))
    deal.set_dealer(int(record.deal.dealer))
    deal.set_used(_used_before(variant, record).tolist())
    played = sum(int(mask).bit_count() for mask in record.deal.played)
    decided = variant.spec.deals[int(record.position)].decision != "none"
    if decided and record.deal.contract >= 0 and played == len(view.history):
        contract = variant.spec.contract[int(record.deal.contract)]
        trump = TRUMPS[int(record.deal.trump)] if contract.trump == "declared" else None
        deal.set_contract(contract.id, trump)
    games: Any = deal.games
    games.totals[0] = record.totals
    games.paid[0] = record.paid
    state = KingState(_single_deals(variant))
    state.begin(deal)
    return state.replay(_complete(view, rng), [action for _, action in view.history])


class BotAgent:
    """An OpenSpiel bot as an agent; it plays each deal for its own sake.

    Args:
        name: name in tables.
        make_bot: makes the bot of a decision, given the OpenSpiel game, the seat and a generator.
    """

    def __init__(
        self, name: str, make_bot: Callable[[KingGame, int, np.random.RandomState], Any]
    ) -> None:
        self.name = name
        self.make_bot = make_bot

    def act(self, view: View, rng: np.random.Generator) -> ActionId:
        """Returns a legal action for the seat of the view, which is to act."""
        draws = np.random.RandomState(int(rng.integers(2**32)))
        bot = self.make_bot(_single_deals(view.variant), view.seat, draws)
        return int(bot.step(state_of(view, rng)))


class UniformBot(BotAgent):
    """OpenSpiel's uniform random bot."""

    def __init__(self) -> None:
        bots = framework("open_spiel.python.bots.uniform_random")
        super().__init__(
            "open_spiel:uniform", lambda _, seat, rng: bots.UniformRandomBot(seat, rng)
        )


class IsmctsBot(BotAgent):
    """OpenSpiel's information set MCTS in Python, with random rollouts to the end of the deal.

    Args:
        simulations: worlds and rollouts a decision.
        exploration: the UCT constant, in points; 0: the variant's mean deal total of a seat.
    """

    def __init__(self, simulations: int = 100, exploration: float = 0) -> None:
        ismcts = framework("open_spiel.python.algorithms.ismcts")
        mcts = framework("open_spiel.python.algorithms.mcts")

        def make_bot(game: KingGame, seat: int, rng: np.random.RandomState) -> Any:
            weight = float(exploration) or float(mean_deal_size(game.variant.spec))
            evaluator = mcts.RandomRolloutEvaluator(1, rng)
            return ismcts.ISMCTSBot(game, evaluator, weight, int(simulations), random_state=rng)

        super().__init__(f"open_spiel:ismcts:{simulations}", make_bot)


class SeatRewards:
    """Counts to each player what was paid since its last decision.

    OpenSpiel's ``rl_environment`` gives the rewards of the last action only, and its agents look at
    them when they are to act: of a trick they would see what the last card of it paid to them only
    where they act next. Pass every time step through ``read``.

    Args:
        scale: what rewards are divided by.
    """

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self._owed = np.zeros(NUM_SEATS)

    def read(self, time_step: Any) -> Any:
        """Returns the time step with those rewards, for who acts now, or for all at the end."""
        if time_step.first():
            self._owed[:] = 0
            return time_step
        self._owed += time_step.rewards
        rewards = (self._owed / self.scale).tolist()
        if not time_step.last():
            self._owed[time_step.current_player()] = 0
        return time_step._replace(rewards=rewards)


pyspiel.register_game(GAME_TYPE, KingGame)
