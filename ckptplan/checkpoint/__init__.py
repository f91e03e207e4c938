"""Checkpoints on disk: every format read into one manifest; audit, reshard and average work on that alone."""
