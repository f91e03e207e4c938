"""Checkpoints of Megatron-LM: torch_dist on top of DCP, and the older layout of one file per model-parallel rank."""
