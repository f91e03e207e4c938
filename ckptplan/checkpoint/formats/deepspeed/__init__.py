"""DeepSpeed ZeRO: partitions of flat vectors, one file per rank, and the universal layout made from them."""

from ckptplan.checkpoint.formats.deepspeed.reading import read, recognised

__all__ = ["read", "recognised"]
