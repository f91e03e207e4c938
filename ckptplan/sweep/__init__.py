"""Grids of runs: axes of keys and values, evaluated point by point or as arrays, on any executor."""
