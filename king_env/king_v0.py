"""King for PettingZoo: ``env()`` with the usual wrappers, ``raw_env()`` without."""

from king_env.envs.aec import env, raw_env

__all__ = ["env", "raw_env"]
