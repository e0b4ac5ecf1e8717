"""Rules as data: a variant file becomes a validated spec, and a spec a table of numbers."""
