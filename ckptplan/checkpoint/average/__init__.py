"""The mean of neighbouring checkpoints, and whether it is likely to make sense."""
