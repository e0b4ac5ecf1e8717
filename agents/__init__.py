"""Agents for the King suite: random, greedy, rule-based, neural; made by name in ``registry``."""
