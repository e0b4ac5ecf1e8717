"""Networks made up for tests, as checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from agents.neural.weights import FORMAT, KIND, tensor_shapes
from king_env.engine.actions import NUM_ACTIONS
from king_env.engine.observe import NUM_FEATURES, OBSERVATION_VERSION


def write_network(
    folder: Path,
    name: str = "0001",
    *,
    spread: float = 0.0,
    rule_prior: float = 1.0,
    width: int = 8,
) -> Path:
    """Writes a checkpoint with random weights; returns its ``.safetensors`` file.

    ``spread`` is the standard deviation of what the policy head holds: with 0 and a ``rule_prior``
    the network plays exactly as the rule-based agent does.
    """
    rng = np.random.default_rng(5)
    columns = np.arange(0, NUM_FEATURES, 3)
    tensors = {
        key: rng.normal(0, 0.3, shape).astype(np.float32)
        for key, shape in tensor_shapes(len(columns), width).items()
    }
    for key in ("policy.weight", "policy.bias"):
        tensors[key] *= np.float32(spread)
    meta = {
        "format": FORMAT,
        "kind": KIND,
        "observation_version": OBSERVATION_VERSION,
        "num_features": NUM_FEATURES,
        "num_actions": NUM_ACTIONS,
        "columns": columns.tolist(),
        "canonical_suits": spread > 0,  # sorted suits break ties otherwise than the rule agent
        "rule_prior": rule_prior,
    }
    file = folder / f"{name}.safetensors"
    save_file(tensors, file)
    file.with_suffix(".json").write_text(json.dumps(meta))
    return file
