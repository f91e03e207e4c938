"""Pickles read as data: nothing is imported, nothing is called."""
