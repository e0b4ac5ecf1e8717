"""Environments: PettingZoo, Gymnasium (one seat, single and batched), batched self-play."""
