"""Search over sampled worlds: flat Monte-Carlo, exact endgames, information-set tree search.

``worlds`` draws deals that fit a view and plays them out, ``pimc`` and ``ismcts`` decide by them,
``endgame`` solves the last tricks of a deal with open cards, ``policies`` makes agents of it all.
"""
