"""A module whose import fails."""

raise ZeroDivisionError("division by zero")
