"""King in OpenSpiel: its own checks, perft, resampling, rewards, seeds, bots."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pyspiel: Any = pytest.importorskip("pyspiel", reason="open_spiel is not installed")

from king_env import cards  # noqa: E402
from king_env.adapters.open_spiel import (  # noqa: E402
    SHORT_NAME,
    IsmctsBot,
    SeatRewards,
    UniformBot,
    state_of,
)
from king_env.game import Game  # noqa: E402
from tests.frameworks.smoke import run_script  # noqa: E402
from tests.golden.make import PERFT  # noqa: E402
from tests.playing import SHIPPED, pick  # noqa: E402
from train.evaluation.duplicate import evaluate  # noqa: E402

GOLDEN = json.loads(PERFT.read_text(encoding="utf-8"))
THREE = ["international", "russian_ordered", "turkish_short_pairs"]
DRAWS = pyspiel.UniformProbabilitySampler(0.0, 1.0)


def load(variant: str, episode: str = "deal", seed: int = 0) -> Any:
    return pyspiel.load_game(SHORT_NAME, {"variant": variant, "episode": episode, "seed": seed})


def play_on(state: Any, rng: random.Random, num_decisions: int | None = None) -> Any:
    """Plays at random to the end, or to the decision after a number of decisions."""
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(rng.choice([outcome for outcome, _ in state.chance_outcomes()]))
        elif num_decisions == 0:
            break
        else:
            state.apply_action(pick(state.king, rng))
            num_decisions = None if num_decisions is None else num_decisions - 1
    return state


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("variant", THREE)
def test_random_simulation(variant: str, episode: str) -> None:
    deal = episode == "deal"
    pyspiel.random_sim_test(
        load(variant, episode), num_sims=3 if deal else 1, serialize=deal, verbose=False
    )


@pytest.mark.parametrize("variant", SHIPPED)
def test_every_variant_plays_a_deal(variant: str) -> None:
    state = play_on(load(variant).new_initial_state(), random.Random(variant))
    assert state.king.is_over


def count_lines(state: Any, depth: int) -> int:
    if state.is_terminal():
        return 1
    if depth == 1:
        return len(state.legal_actions())
    return sum(count_lines(state.child(action), depth - 1) for action in state.legal_actions())


@pytest.mark.parametrize("variant", SHIPPED)
def test_perft(variant: str) -> None:
    for position in GOLDEN[variant][:8]:
        deal = Game(variant, seed=GOLDEN["seed"], match=position["deal"], episode="deal")
        state = load(variant, seed=GOLDEN["seed"]).new_initial_state()
        state.apply_action(position["deal"])
        hands = deal.deals[0].dealt
        for place in range(len(hands[0])):
            for hand in hands:
                state.apply_action(cards.parse_card(hand[place]))
        for name in position["actions"]:
            state.apply_action(state.string_to_action(name))
        for depth, lines in enumerate(position["lines"], 1):
            if lines < 300:
                assert count_lines(state, depth) == lines


@pytest.mark.parametrize("variant", ["international", "turkish_short_pairs"])
def test_rewards_add_up_to_the_scores(variant: str) -> None:
    rng = random.Random(1)
    state = load(variant, "match").new_initial_state()
    sums = np.zeros(4)
    while not state.is_terminal():
        play_on(state, rng, 0)
        state.apply_action(pick(state.king, rng))
        sums += state.rewards()
    scores = np.array(state.king.scores)
    if variant.endswith("pairs"):
        scores = scores + scores[[2, 3, 0, 1]]
    assert sums.tolist() == scores.tolist() == state.returns()


def test_rewards_reach_the_seats_through_the_rl_environment() -> None:
    rl_environment = pytest.importorskip("open_spiel.python.rl_environment")
    env = rl_environment.Environment(load("international", "match"))
    env.seed(3)
    rng = random.Random(3)
    rewards = SeatRewards()
    sums = np.zeros(4)
    step = rewards.read(env.reset())
    while not step.last():
        player = step.current_player()
        if step.rewards is not None:
            sums[player] += step.rewards[player]
        step = rewards.read(env.step([rng.choice(step.observations["legal_actions"][player])]))
    sums += step.rewards
    assert sums.tolist() == env.get_state.king.scores


def test_masks() -> None:
    rng = random.Random(2)
    game = load("international")
    decisions = 0
    while decisions < 10_000:
        state = game.new_initial_state()
        while True:
            play_on(state, rng, 0)
            if state.is_terminal():
                break
            legal = state.legal_actions()
            assert legal and legal == state.king.legal_actions
            assert np.flatnonzero(state.legal_actions_mask()).tolist() == legal
            state.apply_action(rng.choice(legal))
            decisions += 1


def test_same_seed_same_episode() -> None:
    rl_environment = pytest.importorskip("open_spiel.python.rl_environment")

    def trace(seed: int) -> list[Any]:
        env = rl_environment.Environment(load("international"))
        env.seed(seed)
        step, found = env.reset(), []
        while not step.last():
            player = step.current_player()
            found.append((player, step.observations["info_state"][player]))
            step = env.step([step.observations["legal_actions"][player][0]])
        return [*found, step.rewards]

    assert trace(3) == trace(3) != trace(4)


def test_the_parameter_seed_is_that_of_the_set_ups() -> None:
    def set_ups(seed: int) -> list[str]:
        game = load("russian_ordered", seed=seed)
        found = []
        for number in range(game.num_setups):
            state = game.new_initial_state()
            state.apply_action(number)
            found.append(state.information_state_string(0))  # dealer and choices used up
        return found

    assert set_ups(3) == set_ups(3) != set_ups(4)


def test_same_choices_same_episode() -> None:
    ends = [play_on(load("rifki", "match").new_initial_state(), random.Random(5)) for _ in range(2)]
    assert ends[0].history() == ends[1].history()
    assert ends[0].returns() == ends[1].returns()


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("variant", THREE)
def test_resampled_states_look_the_same(variant: str, episode: str) -> None:
    rng = random.Random(f"{variant} {episode}")
    for number in range(20):
        state = play_on(load(variant, episode).new_initial_state(), rng, number * 5)
        if state.is_terminal():
            continue
        for player in range(4):
            other = state.resample_from_infostate(player, DRAWS)
            assert other.information_state_string(player) == state.information_state_string(player)
            assert np.array_equal(
                other.information_state_tensor(player), state.information_state_tensor(player)
            )
            assert other.current_player() == state.current_player()
            assert other.returns() == state.returns()
            if player == state.current_player():
                assert other.legal_actions() == state.legal_actions()
            play_on(other, rng, 3)


def test_resampling_changes_hidden_cards_only() -> None:
    state = play_on(load("international").new_initial_state(), random.Random(1), 4)
    hands = {tuple(state.king.deals[0].dealt[0])}
    own = state.king.deals[0].dealt[1]
    for _ in range(10):
        other = state.resample_from_infostate(1, DRAWS)
        hands.add(tuple(other.king.deals[0].dealt[0]))
        assert other.king.deals[0].dealt[1] == own
    assert len(hands) == 11


@pytest.mark.parametrize("variant", SHIPPED)
def test_information_states_hide_what_is_hidden(variant: str) -> None:
    """A permuted world has the same information state: see resampling; and seats differ."""
    state = play_on(load(variant).new_initial_state(), random.Random(variant), 2)
    if not state.is_terminal():
        assert len({state.information_state_string(player) for player in range(4)}) == 4


@pytest.mark.parametrize("start", ["decision", "play"])
@pytest.mark.parametrize("variant", SHIPPED)
def test_a_view_becomes_a_state(variant: str, start: str) -> None:
    for number in range(8):
        rng = random.Random(f"{variant} {number}")
        game = Game(variant, seed=7, match=number, episode="deal", start=start)
        for _ in range(number * 4):
            if not game.is_over:
                game.push(pick(game, rng))
        if game.is_over:
            continue
        view = game.view(game.actor or 0)
        state = state_of(view, np.random.default_rng(number))
        assert state.king is not None and state.current_player() == game.actor
        assert state.legal_actions() == game.legal_actions
        assert np.array_equal(state.king.view(view.seat).observation, view.observation)


def test_bots_are_agents() -> None:
    for bot in (UniformBot(), IsmctsBot(simulations=3)):
        result = evaluate(bot, "random", "international", deals=1)
        assert result.deals == 1
    assert evaluate("king_env.adapters.open_spiel:UniformBot", "random", deals=1).deals == 1


def test_ismcts_plays_a_deal_on_states() -> None:
    bot = IsmctsBot(simulations=5)
    rng = random.Random(4)
    game = load("international")
    state = play_on(game.new_initial_state(), rng, 40)
    player = bot.make_bot(game, state.current_player(), np.random.RandomState(1))
    while not state.is_terminal():
        action = player.step(state)
        assert action in state.legal_actions()
        state.apply_action(action)


def test_ismcts_plays_a_match_through_resampled_states() -> None:
    """OpenSpiel's search against its random bots, all on OpenSpiel's states, chance nodes drawn."""
    bots = pytest.importorskip("open_spiel.python.bots.uniform_random")
    rng = np.random.RandomState(1)
    game = load("international", "match")
    searcher = IsmctsBot(simulations=2).make_bot(game, 0, rng)
    players = [searcher, *[bots.UniformRandomBot(seat, rng) for seat in range(1, 4)]]
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, shares = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choice(outcomes, p=shares))
        else:
            state.apply_action(players[state.current_player()].step(state))
    assert state.returns() == state.king.scores


def test_our_agents_beat_their_random_bot() -> None:
    assert evaluate("rule", UniformBot(), "international", deals=10).margin.low > 0


def test_a_wrong_parameter_is_named() -> None:
    with pytest.raises(Exception, match="variant"):
        load("no_such_variant")


def test_script(tmp_path: Path) -> None:
    run_script("open_spiel", tmp_path)
