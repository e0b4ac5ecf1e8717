from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from train.checkpoint import RunError
from train.config import DrawConfig, TeachConfig
from train.labels import FOLDER, Labels, LabelStore, labels_of
from train.rollout import Strata, draw_deals, play
from train.teach import Teacher

from .helpers import variants_of


@pytest.fixture(scope="module")
def labels() -> list[Labels]:
    """Labels of four iterations."""
    variants = variants_of("international")
    draw = DrawConfig()
    teacher = Teacher(TeachConfig(share=0.5, worlds=2))
    made = []
    for iteration in range(4):
        deals = draw_deals(draw, variants, 3, iteration, 0, 3, 0)
        played = play(variants, draw, Strata(variants), deals, 3, True, None, labeller=teacher)
        made.append(labels_of(played))
    return made


def key_of(labels: Labels) -> list[bytes]:
    return sorted(
        b"".join(column[row].tobytes() for column in vars(labels).values())
        for row in range(len(labels))
    )


def test_the_newest_iterations_are_drawn_from_each_label_once(
    labels: list[Labels], tmp_path: Path
) -> None:
    store = LabelStore(tmp_path, 0, keep=3)
    for iteration, made in enumerate(labels):
        store.add(iteration, made)
    assert store.newest is labels[3]
    rng = np.random.default_rng(1)
    everything = store.draw(10_000, rng)
    assert key_of(everything) == sorted(key for made in labels[1:] for key in key_of(made))
    some = store.draw(7, rng)
    assert len(some) == 7
    assert set(key_of(some)) < set(key_of(everything))


def test_labels_come_back_from_the_run_folder(labels: list[Labels], tmp_path: Path) -> None:
    for rank in range(2):
        store = LabelStore(tmp_path, rank, keep=3)
        for iteration, made in enumerate(labels[:3]):
            store.add(iteration, made)
    with pytest.raises(RunError, match=r"labels: .*0003-1.safetensors: .*a new one with --init"):
        LabelStore(tmp_path, 1, keep=3).load(0, 4)
    again = LabelStore(tmp_path, 1, keep=3)
    again.load(0, 3)
    again.add(3, labels[3])
    store.add(3, labels[3])
    one, other = (which.draw(50, np.random.default_rng(5)) for which in (store, again))
    for name, column in vars(one).items():
        assert np.array_equal(column, vars(other)[name]), name
    assert len(list((tmp_path / FOLDER).iterdir())) == 7
    store.prune(oldest=3)  # the next iteration needs 1, 2 and itself
    left = sorted(path.stem for path in (tmp_path / FOLDER).iterdir())
    assert left == ["0001-0", "0001-1", "0002-0", "0002-1", "0003-1"]


def test_with_one_iteration_nothing_is_written(labels: list[Labels], tmp_path: Path) -> None:
    store = LabelStore(tmp_path, 0, keep=1)
    for iteration, made in enumerate(labels):
        store.add(iteration, made)
    assert len(store.draw(10_000, np.random.default_rng(1))) == len(labels[3])
    assert not list(tmp_path.iterdir())
