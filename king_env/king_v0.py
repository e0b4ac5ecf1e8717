"""King for PettingZoo: ``env()`` with the usual wrappers, ``raw_env()``, ``parallel_env()``."""

from king_env.envs.aec import env, raw_env
from king_env.envs.gymnasium_ids import register as register_gymnasium
from king_env.envs.parallel import parallel_env
from king_env.envs.registration import register

__all__ = ["env", "parallel_env", "raw_env"]

register()
register_gymnasium()
