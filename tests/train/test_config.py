from __future__ import annotations

import dataclasses
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from train.config import ConfigError, TrainConfig, config_names, find_config, load_config, to_toml

SHIPPED = ["demo", "family", "family_match", "international", "turkish_short"]


def test_shipped_configs_are_whole_and_allowed() -> None:
    assert set(SHIPPED) <= set(config_names())
    for name in SHIPPED:
        given = tomllib.loads(find_config(name).read_text(encoding="utf-8"))
        for field in dataclasses.fields(TrainConfig):
            assert field.name in given, name
            value = getattr(load_config(name), field.name)
            if dataclasses.is_dataclass(value):
                parts = {part.name for part in dataclasses.fields(value)}
                assert set(given[field.name]) == parts, (name, field.name)


def test_a_config_survives_writing_and_reading(tmp_path: Path) -> None:
    config = TrainConfig(
        variants=("turkish_short",), options={"d.match": "full", "d.partnership": True}, seed=7
    )
    path = tmp_path / "run.toml"
    path.write_text(to_toml(config), encoding="utf-8")
    assert load_config(path) == config


def test_every_field_has_a_sentence() -> None:
    def check(kind: type) -> None:
        for field in dataclasses.fields(kind):
            assert field.metadata["doc"], field.name
            if dataclasses.is_dataclass(field.default):
                check(type(field.default))

    check(TrainConfig)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("lr = 1", ["unknown key 'lr'", "allowed: variants"]),
        ("[ppo]\nlerning_rate = 1e-3", ["ppo", "unknown key 'lerning_rate'"]),
        ("[ppo]\nlr = '1e-3'", ["ppo.lr", "expected a number", "'1e-3'"]),
        ("[ppo]\nclip = 7.0", ["ppo.clip", "found 7.0", "allowed: 0.01 to 1.0"]),
        ("seed = true", ["seed", "expected a whole number", "True"]),
        ("workers = 0", ["workers", "found 0", "allowed: 1 to"]),
        ("variants = ['internatinal']", ["variants", "internatinal", "international"]),
        ("options = {'a.nothing' = 1}", ["a.nothing"]),
        ("[draw]\ndrawn_contracts = [1, 2]", ["drawn_contracts", "three weights"]),
        ("[clone]\ndecisions = 9\nmost = 3", ["clone.most", "found 3"]),
        ("[teach]\nepochs = 1\nkeep = 9", ["teach.keep", "found 9", "allowed: 1"]),
        ("[ppo]\nminibatch = 100000", ["ppo.minibatch", "up to decisions_per_iteration"]),
        ("seed = ", ["not valid TOML"]),
    ],
)
def test_errors_name_the_place_and_what_is_allowed(
    tmp_path: Path, text: str, parts: list[str]
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    message = str(caught.value)
    assert "bad.toml" in message and "\n" not in message
    for part in parts:
        assert part in message


def test_an_unknown_config_lists_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"no such file.*demo.*international"):
        find_config("intrenational")
    with pytest.raises(ConfigError, match="no such file"):
        find_config("elsewhere/demo.txt")


def test_reading_a_config_needs_neither_torch_nor_numba() -> None:
    code = (
        "import sys; from train.config import load_config; load_config('demo');"
        "assert not {'torch', 'numba'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
