"""Training: rollouts, cloning, PPO, checkpoints and metrics; evaluation beside it."""
