"""The names that a DCP metadata file may mention: exact pairs, since a prefix would let dotted names through."""

from __future__ import annotations

from ckptplan.checkpoint.pickles.names import DTYPES, PATHS, Names
from ckptplan.checkpoint.pickles.values import Global

METADATA_MODULE = "torch.distributed.checkpoint.metadata"
PLANNER_MODULE = "torch.distributed.checkpoint.planner"
OLD_MODULE = "torch.distributed._shard.sharded_tensor.metadata"  # up to torch 2.2

METADATA = Global(METADATA_MODULE, "Metadata")
TENSOR = Global(METADATA_MODULE, "TensorStorageMetadata")
BYTES = Global(METADATA_MODULE, "BytesStorageMetadata")
CHUNK = Global(METADATA_MODULE, "ChunkStorageMetadata")
INDEX = Global(METADATA_MODULE, "MetadataIndex")
STORAGE = Global("torch.distributed.checkpoint.filesystem", "_StorageInfo")
SIZE = Global("torch", "Size")
PROPERTIES = (Global(METADATA_MODULE, "TensorProperties"), Global(OLD_MODULE, "TensorProperties"))

# All that torch 2.2 to 2.13 and Megatron write, and nothing else.
ALLOWED: Names = DTYPES | PATHS | {
    METADATA, TENSOR, BYTES, CHUNK, INDEX, STORAGE, SIZE, *PROPERTIES,
    Global(METADATA_MODULE, "StorageMeta"), Global(METADATA_MODULE, "_MEM_FORMAT_ENCODING"),
    Global(OLD_MODULE, "MEM_FORMAT_ENCODING"), Global("torch.serialization", "_get_layout"),
    *(Global(PLANNER_MODULE, name) for name in ("SavePlan", "WriteItem", "WriteItemType", "TensorWriteData")),
}  # fmt: skip
