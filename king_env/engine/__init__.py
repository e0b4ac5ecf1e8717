"""Compiled kernels over one game record: deal, choose, bid, play, score, observe, sample worlds."""
