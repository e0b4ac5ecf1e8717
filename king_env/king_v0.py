"""King for PettingZoo: ``env()`` with the usual wrappers, ``raw_env()`` without."""

from king_env.envs.aec import env, raw_env
from king_env.envs.gymnasium_ids import register as register_gymnasium
from king_env.envs.registration import register

__all__ = ["env", "raw_env"]

register()
register_gymnasium()
