"""Types of stored elements: one spelling for all formats, that of torch and numpy."""

from __future__ import annotations

# Bits of one element. Sub-byte types make "bytes = elements x size" wrong: use `size_bytes`.
BITS = {
    "bool": 8, "uint8": 8, "int8": 8, "float8_e4m3fn": 8, "float8_e5m2": 8, "float8_e8m0fnu": 8,
    "float8_e4m3fnuz": 8, "float8_e5m2fnuz": 8, "int16": 16, "uint16": 16, "float16": 16, "bfloat16": 16,
    "int32": 32, "uint32": 32, "float32": 32, "int64": 64, "uint64": 64, "float64": 64, "complex32": 32,
    "complex64": 64, "complex128": 128, "float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6,
}  # fmt: skip

# Names that safetensors uses.
OF_SAFETENSORS = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu", "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "I16": "int16", "U16": "uint16", "F16": "float16", "BF16": "bfloat16", "I32": "int32", "U32": "uint32",
    "F32": "float32", "I64": "int64", "U64": "uint64", "F64": "float64", "C64": "complex64",
    "F4": "float4_e2m1fn", "F6_E2M3": "float6_e2m3fn", "F6_E3M2": "float6_e3m2fn",
}  # fmt: skip
TO_SAFETENSORS = {name: short for short, name in OF_SAFETENSORS.items()}

FLOATING = frozenset(name for name in BITS if "float" in name)


def size_bytes(dtype: str, elements: int) -> int:
    """Bytes that so many elements take. [bytes]."""
    return elements * BITS[dtype] // 8
