"""Whether a checkpoint is whole, and whether it holds all that exact resume needs."""
