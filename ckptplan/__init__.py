"""ckptplan: how often to save a training checkpoint, what that costs, and what to change first."""

__version__ = "0.1.0"
