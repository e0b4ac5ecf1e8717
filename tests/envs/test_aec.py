"""The PettingZoo environment: the field's own kits, rewards, copies, bad input."""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, render_test, seed_test

from king_env import IllegalActionError, king_v0
from king_env.envs.aec import AGENTS, env, raw_env
from king_env.envs.parallel import parallel_env
from king_env.rules.catalogue import VariantError
from tests.playing import SHIPPED, VARIANTS, new_game, pick, play
from tests.rules.factories import find_variant

EPISODES = ["match", "deal"]
Make = Callable[..., Any]


def finish(environment: Any, rng: random.Random) -> dict[str, int]:
    """Plays to the end as a user would; returns the sum of the rewards each seat was given."""
    sums = dict.fromkeys(AGENTS, 0)
    for agent in environment.agent_iter(100_000):
        observation, reward, termination, truncation, info = environment.last()
        sums[agent] += reward
        if termination or truncation:
            environment.step(None)
            continue
        mask = observation["action_mask"]
        assert mask is info["action_mask"]
        environment.step(int(rng.choice(np.flatnonzero(mask).tolist())))
    assert environment.agents == []
    return sums


# ---------------------------------------------------------------- PettingZoo's own tests


@pytest.mark.parametrize("make", [env, raw_env])
@pytest.mark.parametrize("episode", EPISODES)
@pytest.mark.parametrize("variant", SHIPPED)
def test_api(variant: str, episode: str, make: Make) -> None:
    with warnings.catch_warnings():
        # The test passes an option of its own.
        warnings.filterwarnings("ignore", message="reset option")
        api_test(make(variant=variant, episode=episode), num_cycles=60)


@pytest.mark.parametrize("make", [env, raw_env])
def test_api_with_history(make: Make) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="reset option")
        api_test(make(variant="international", episode="deal", history=True), num_cycles=100)
    seed_test(lambda: make(variant="turkish_short", history=True), num_cycles=60)


@pytest.mark.parametrize("make", [env, raw_env])
@pytest.mark.parametrize("episode", EPISODES)
@pytest.mark.parametrize("variant", SHIPPED)
def test_seed(variant: str, episode: str, make: Make) -> None:
    seed_test(lambda: make(variant=variant, episode=episode), num_cycles=60)


@pytest.mark.parametrize("make", [env, raw_env])
@pytest.mark.parametrize("variant", SHIPPED)
def test_render(variant: str, make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    render_test(lambda **kwargs: make(variant=variant, episode="deal", **kwargs))
    environment = make(variant=variant, render_mode="ansi")
    environment.reset(seed=1)
    assert environment.unwrapped.variant.spec.title in environment.render()
    human = make(variant=variant, render_mode="human")
    human.reset(seed=1)
    capsys.readouterr()
    human.render()
    assert "seat 0" in capsys.readouterr().out


def test_render_without_a_mode_warns() -> None:
    environment = raw_env()
    environment.reset(seed=1)
    with pytest.warns(UserWarning, match="ansi"):
        assert environment.render() is None


# ---------------------------------------------------------------- spaces and masks


@pytest.mark.parametrize("variant", VARIANTS)
def test_observations_masks_and_infos(variant: str) -> None:
    environment = raw_env(find_variant(variant, {}))
    environment.reset(seed=2)
    rng = random.Random(2)
    for agent in AGENTS:
        assert environment.action_space(agent) is environment.action_space(agent)
        assert environment.observation_space(agent) is environment.observation_space(agent)
    for _ in range(150):
        if not all(not done for done in environment.terminations.values()):
            break
        for agent in AGENTS:
            seen = environment.observe(agent)
            again = environment.observe(agent)
            assert np.array_equal(seen["observation"], again["observation"])
            assert seen["observation"].dtype == np.float32
            assert seen in environment.observation_space(agent)
            mask = seen["action_mask"]
            assert mask is environment.infos[agent]["action_mask"]
            assert mask.dtype == np.int8
            if agent == environment.agent_selection:
                assert set(np.flatnonzero(mask)) == set(environment.game.legal_actions)
            else:
                assert not mask.any()
        action: Any = np.int32(pick(environment.game, rng))  # what a network hands in
        environment.step(action)


def test_observe_changes_nothing() -> None:
    environment = raw_env("turkish_short")
    environment.reset(seed=2)
    rng = random.Random(2)
    for _ in range(40):
        before = environment.game.games.tobytes()
        for agent in AGENTS:
            environment.observe(agent)
        environment.state()
        environment.last()
        assert environment.game.games.tobytes() == before
        environment.step(pick(environment.game, rng))


# ---------------------------------------------------------------- rewards


@pytest.mark.parametrize("reward", ["step", "deal"])
@pytest.mark.parametrize("episode", EPISODES)
@pytest.mark.parametrize(
    ("variant", "options"),
    [("international", {}), ("turkish_short", {}), ("turkish_short", {"d.partnership": True})],
)
def test_the_sum_of_rewards_is_the_score(
    variant: str, options: dict[str, object], episode: str, reward: str
) -> None:
    for make in (env, raw_env):
        for match in range(2 if episode == "match" else 12):
            environment = make(variant=variant, options=options, episode=episode, reward=reward)
            environment.reset(seed=3, options={"match": match})
            sums = list(finish(environment, random.Random(match)).values())
            scores = environment.unwrapped.game.scores
            if "d.partnership" in options:
                scores = [scores[seat] + scores[(seat + 2) % 4] for seat in range(4)]
            assert sums == scores


def test_rewards_come_when_points_are_scored() -> None:
    by_step = raw_env("international")
    by_deal = raw_env("international", reward="deal")
    for environment in (by_step, by_deal):
        environment.reset(seed=4)
    rng = random.Random(4)
    finished = 0
    while not by_step.game.is_over:
        before = by_step.game.scores
        action = pick(by_step.game, rng)
        by_step.step(action)
        by_deal.step(action)
        gained = [now - then for now, then in zip(by_step.game.scores, before, strict=True)]
        assert list(by_step.rewards.values()) == gained
        logs = by_deal.game.deals
        done = sum(log.scores is not None for log in logs)
        expected = logs[done - 1].scores if done > finished else [0, 0, 0, 0]
        assert list(by_deal.rewards.values()) == expected
        finished = done


def test_all_four_seats_end_together() -> None:
    environment = raw_env("turkish_short", episode="deal")
    environment.reset(seed=5)
    rng = random.Random(5)
    while not environment.game.is_over:
        assert not any(environment.terminations.values())
        environment.step(pick(environment.game, rng))
    assert environment.terminations == dict.fromkeys(AGENTS, True)
    assert environment.truncations == dict.fromkeys(AGENTS, False)
    assert all(type(value) is bool for value in environment.terminations.values())
    for agent in AGENTS:
        assert not environment.observe(agent)["action_mask"].any()


# ---------------------------------------------------------------- seeds, copies


@pytest.mark.parametrize("variant", SHIPPED)
def test_the_same_seed_is_the_same_match(variant: str) -> None:
    environment = raw_env(variant)
    dealt = []
    for _ in range(2):
        environment.reset(seed=6)
        finish(environment, random.Random(6))
        dealt.append([log.dealt for log in environment.game.deals])
    assert dealt[0] == dealt[1]
    assert dealt[0] == [
        log.dealt for log in play(new_game(variant, seed=6), random.Random(1)).deals
    ]
    # Without a seed the next match of the same seed follows.
    environment.reset()
    assert environment.game.deals[0].dealt == new_game(variant, seed=6, match=1).deals[0].dealt
    environment.reset(seed=6)
    assert environment.game.deals[0].dealt == dealt[0][0]


def test_without_any_seed_the_cards_are_new() -> None:
    environments = [raw_env() for _ in range(3)]
    for environment in environments:
        environment.reset()
    dealt = [str(environment.game.deals[0].dealt) for environment in environments]
    assert len(set(dealt)) == 3


COPIES: list[Callable[[Any], Any]] = [
    copy.deepcopy,
    lambda environment: pickle.loads(pickle.dumps(environment)),
    lambda environment: environment.clone(),
]


@pytest.mark.parametrize("copier", COPIES, ids=["deepcopy", "pickle", "clone"])
@pytest.mark.parametrize("make", [raw_env, env])
@pytest.mark.parametrize("variant", SHIPPED)
def test_a_copy_in_mid_deal_goes_on_alike(
    variant: str, make: Make, copier: Callable[[Any], Any]
) -> None:
    environment = make(variant=variant)
    if copier is COPIES[2] and make is env:
        pytest.skip("the wrappers have no clone")
    environment.reset(seed=7)
    rng = random.Random(7)
    for _ in range(77):
        environment.step(pick(environment.unwrapped.game, rng))
    other = copier(environment)
    assert other.agent_selection == environment.agent_selection
    for agent in AGENTS:
        one, two = environment.observe(agent), other.observe(agent)
        assert np.array_equal(one["observation"], two["observation"])
        assert np.array_equal(one["action_mask"], two["action_mask"])
    before = environment.unwrapped.game.games.tobytes()
    ours = finish(other, random.Random(1))
    assert environment.unwrapped.game.games.tobytes() == before
    assert not any(environment.terminations.values())
    assert finish(environment, random.Random(1)) == ours
    assert other.unwrapped.game.scores == environment.unwrapped.game.scores
    other.reset()
    environment.reset()
    one, two = (e.unwrapped.game.deals[0].dealt for e in (environment, other))
    assert one == two


# ---------------------------------------------------------------- illegal actions


def test_raw_env_refuses_an_illegal_action_and_changes_nothing() -> None:
    environment = raw_env("international")
    environment.reset(seed=1)
    illegal = next(action for action in range(52) if action not in environment.game.legal_actions)
    before = environment.game.games.tobytes(), environment.agent_selection
    wrong: list[Any] = [illegal, 149, -1, np.int32(60)]
    for action in wrong:
        with pytest.raises(IllegalActionError) as caught:
            environment.step(action)
        assert "\n" not in str(caught.value)
        assert (environment.game.games.tobytes(), environment.agent_selection) == before
    assert "seat" in str(caught.value) and "PLAY" in str(caught.value)
    with pytest.raises(IllegalActionError, match="None"):
        environment.step(None)
    environment.step(environment.game.legal_actions[0])


def test_env_ends_the_episode_after_an_illegal_action(
    capsys: pytest.CaptureFixture[str],
) -> None:
    environment = env(variant="international")
    environment.reset(seed=1)
    loser = environment.agent_selection
    legal = environment.unwrapped.game.legal_actions
    environment.step(next(action for action in range(52) if action not in legal))
    assert all(environment.terminations.values())
    assert environment.rewards[loser] == -1
    assert sum(environment.rewards.values()) == -1
    # The next episode is a clean one.
    environment.reset(seed=1)
    assert sum(finish(environment, random.Random(1)).values()) == 0


# ---------------------------------------------------------------- reset options


def test_given_hands_and_dealer() -> None:
    pack = [rank + suit for suit in "SHDC" for rank in "AKQJT98765432"]
    hands = [pack[13 * seat : 13 * seat + 13] for seat in range(4)]
    environment = raw_env("international")
    for dealer in range(4):
        environment.reset(seed=1, options={"hands": hands, "dealer": dealer})
        assert environment.game.deals[0].dealt == hands
        assert environment.agent_selection == f"player_{dealer}"
        environment.step(environment.game.legal_actions[0])
    environment.reset(seed=1, options={"dealer": 2})
    assert environment.game.deals[0].dealer == 2
    assert environment.game.deals[0].dealt == new_game("international", seed=1).deals[0].dealt
    environment.reset(seed=1, options={"match": 4})
    assert (
        environment.game.deals[0].dealt == new_game("international", seed=1, match=4).deals[0].dealt
    )


def test_given_position_contract_and_trump() -> None:
    for make in (raw_env, parallel_env):
        environment = make("international", episode="deal")
        options = {"position": 6, "contract": "positive", "trump": "H", "match": 3, "dealer": 2}
        environment.reset(seed=1, options=options)
        game = environment.game
        expected = new_game("international", seed=1, match=3, episode="deal", position=6)
        assert game.deals[0].dealt == expected.deals[0].dealt
        assert game.position == 6 and game.phase == "PLAY" and game.actor == 2
        assert game.deals[0].contract == "positive" and int(game.record.deal.trump) == 1
        assert int(game.record.deal.declarer) == 2
        # The next episode is an ordinary one.
        environment.reset()
        assert environment.game.position == 4 and environment.game.deals[0].contract == "no_king"
        environment.reset(options={"position": 8})
        assert environment.game.phase == "BID" and environment.game.position == 8
    koz = raw_env("turkish_short", episode="deal", start="play")
    koz.reset(seed=1, options={"contract": "koz", "trump": "D", "dealer": 0})
    assert koz.game.deals[0].contract == "koz" and koz.agent_selection == "player_1"


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"match": -1}, ["match", "-1", "0 to"]),
        ({"match": "x"}, ["match", "'x'"]),
        ({"match": True}, ["match", "True"]),
        ({"dealer": 4}, ["dealer", "4", "0 to 3"]),
        ({"dealer": "north"}, ["dealer", "'north'"]),
        ({"hands": [["AS"]]}, ["hands", "four hands of 13", "sizes 1"]),
        ({"hands": [["1S"] * 13] * 4}, ["hands", "'1S'"]),
        ({"hands": [["AS"] * 13] * 4}, ["hands", "each once"]),
        ({"hands": 5}, ["hands", "5"]),
        ({"position": 10}, ["position", "10", "0 to 9"]),
        ({"position": "last"}, ["position", "'last'", "0 to 9"]),
        ({"contract": "no_king"}, ["contract", "'no_king'", "no_tricks"]),
        ({"position": 6, "contract": "chess"}, ["contract", "'chess'", "positive, nulls"]),
        ({"position": 6, "contract": "positive"}, ["trump", "S, H, D, C, NT"]),
        ({"position": 6, "contract": "positive", "trump": "s"}, ["trump", "'s'", "S, H, D, C"]),
        ({"position": 6, "trump": "S"}, ["trump", "'S'", "together with a contract"]),
    ],
)
@pytest.mark.parametrize("make", [raw_env, parallel_env])
def test_a_bad_value_of_a_known_option_is_refused(
    options: dict[str, Any], parts: list[str], make: Make
) -> None:
    environment = make("international", episode="deal")
    environment.reset(seed=3)
    before = environment.game
    with pytest.raises(ValueError, match=r"^reset option ") as caught:
        environment.reset(seed=1, options=options)
    for part in parts:
        assert part in str(caught.value)
    assert environment.game is before
    environment.reset()
    assert environment.game.seed == 3, "a reset that is refused changes nothing"


@pytest.mark.parametrize(
    "options", [{"position": 3}, {"contract": "no_tricks"}, {"position": 6, "contract": "nulls"}]
)
def test_a_match_takes_neither_position_nor_contract(options: dict[str, Any]) -> None:
    environment = raw_env("international")
    with pytest.raises(ValueError, match=r"reset option (position|contract): .* a deal only"):
        environment.reset(seed=1, options=options)


def test_an_unknown_option_warns_once() -> None:
    environment = raw_env("international")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        environment.reset(seed=1, options={"colour": "red"})
        assert len(caught) == 1
        for part in ("'colour'", "hands", "dealer", "match", "position", "contract", "trump"):
            assert part in str(caught[0].message)
        environment.reset(seed=1, options={"colour": "red"})
        assert len(caught) == 1


@pytest.mark.parametrize(
    ("arguments", "error", "parts"),
    [
        ({"variant": "chess"}, VariantError, ["'chess'", "international"]),
        ({"options": {"a.pack": 40}}, VariantError, ["a.pack", "40"]),
        ({"episode": "game"}, ValueError, ["episode", "'game'", "match, deal"]),
        ({"start": "play"}, ValueError, ["start", "'play'"]),
        ({"reward": "trick"}, ValueError, ["reward", "'trick'", "step, deal"]),
        ({"render_mode": "rgb_array"}, ValueError, ["render_mode", "ansi"]),
    ],
)
def test_wrong_arguments_are_named(
    arguments: dict[str, Any], error: type[Exception], parts: list[str]
) -> None:
    for make in (env, raw_env):
        with pytest.raises(error) as caught:
            make(**arguments)
        for part in parts:
            assert part in str(caught.value)


def test_the_names_of_the_package() -> None:
    assert king_v0.env is env and king_v0.raw_env is raw_env
    environment = king_v0.env()
    assert environment.metadata["name"] == "king_v0"
    assert environment.possible_agents == ["player_0", "player_1", "player_2", "player_3"]
