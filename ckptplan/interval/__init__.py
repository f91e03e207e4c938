"""The optimizers and the breakdown of wall time: pure numpy, seconds in, seconds and shares out."""
