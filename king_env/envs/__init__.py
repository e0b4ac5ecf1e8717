"""Environments: PettingZoo AEC and the batched self-play environment."""
