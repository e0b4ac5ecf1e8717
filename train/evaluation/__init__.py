"""Fixed deals, every seat, honest intervals. Imports ``king_env`` and ``agents`` only."""
