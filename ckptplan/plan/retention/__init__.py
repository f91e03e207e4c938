"""Which saves to keep, so that a clean one is left, and whether they fit."""
