"""Each example of ``docs/frameworks.md`` runs as it stands, where its framework is installed."""

from __future__ import annotations

import logging
import os
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from king_env.adapters import EXTRAS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "frameworks.md").read_text(encoding="utf-8")
SECTIONS = dict(part.split("\n", 1) for part in re.split(r"(?m)^## ", PAGE)[1:])
FRAMEWORKS = {
    "OpenSpiel": "pyspiel",
    "RLCard": "rlcard",
    "TorchRL": "torchrl",
    "Tianshou": "tianshou",
    "RLlib, new API stack": "ray.rllib",
    "AgileRL": "agilerl",
    "skrl": "skrl",
    "stable-baselines3": "sb3_contrib",
}
"""The framework of each section, by the name it is imported under."""

OWN = {"What is the same everywhere": "", "No framework, in CleanRL's style": "train"}
"""Sections without a framework, and the extra that they name."""


def test_every_section_is_known() -> None:
    assert SECTIONS.keys() == FRAMEWORKS.keys() | OWN.keys()


@pytest.mark.parametrize("section", SECTIONS)
def test_the_install_line_names_the_extra_and_its_versions(section: str) -> None:
    extra = EXTRAS[FRAMEWORKS[section]] if section in FRAMEWORKS else OWN[section]
    pins = {"": "", "train": "constraints.txt"}.get(extra, f"constraints-{extra}.txt")
    wanted = [f'pip install -c {pins} -e ".[{extra}]"'] if extra else []
    assert re.findall(r"(?m)^pip install .*", SECTIONS[section]) == wanted


@pytest.mark.parametrize("section", SECTIONS)
def test_the_example_runs(section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if section in FRAMEWORKS:
        pytest.importorskip(FRAMEWORKS[section])
        import torch

        torch.set_num_threads(1)
    if section.startswith("RLlib"):
        from train.frameworks.rllib import start_ray

        start_ray()
    if section == "skrl":  # it logs once more at exit, when pytest has closed the stream
        logging.getLogger("skrl").setLevel(logging.WARNING)
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", SECTIONS[section], re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(textwrap.dedent(block), section, "exec"), names)
    if section.startswith("RLlib"):
        names["algorithm"].stop()
        os.rmdir(names["algorithm"].logdir)  # in the home folder
        names["ray"].shutdown()
