"""Networks that play: features, compiled inference without torch, and the module they learn in."""
