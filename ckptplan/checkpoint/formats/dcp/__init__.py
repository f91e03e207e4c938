"""Checkpoints of torch.distributed.checkpoint: metadata of global boxes, and files of stored items."""
