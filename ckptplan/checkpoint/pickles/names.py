"""Names that honest checkpoints mention: exact pairs, no prefixes, since a name may hold dots that lead elsewhere."""

from __future__ import annotations

from ckptplan.checkpoint.dtypes import BITS

Names = frozenset[tuple[str, str]]

BUILTINS = ("builtins", "__builtin__")  # the second is how protocols 0 to 2 spell it
SETS = frozenset((module, name) for module in BUILTINS for name in ("set", "frozenset"))
PLAIN = SETS | {(module, name) for module in BUILTINS for name in ("bytes", "bytearray", "complex", "object")}
CONTAINERS = frozenset({("collections", "OrderedDict"), ("collections", "defaultdict"), ("collections", "Counter"),
                        ("collections", "deque")})  # fmt: skip
TYPES = frozenset((module, name) for module in BUILTINS for name in ("list", "dict", "int", "float", "str", "tuple"))

DTYPES: Names = frozenset(("torch", name) for name in (
    *BITS, "qint8", "quint8", "qint32", "quint4x2", "quint2x4", "float4_e2m1fn_x2", "uint1", "uint2", "uint3",
    "uint4", "uint5", "uint6", "uint7", "int1", "int2", "int3", "int4", "int5", "int6", "int7", "bits8", "bits16",
))  # fmt: skip
STORAGES: Names = frozenset(
    (module, f"{kind}Storage")
    for module in ("torch", "torch.cuda")
    for kind in (
        "Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool", "ComplexFloat",
        "ComplexDouble", "QInt8", "QUInt8", "QInt32", "QUInt4x2", "QUInt2x4",
    )
) | {("torch.storage", name) for name in ("UntypedStorage", "TypedStorage", "_LegacyStorage")}  # fmt: skip
REBUILDERS: Names = frozenset(("torch._utils", f"_rebuild_{what}") for what in (
    "tensor", "tensor_v2", "tensor_v3", "parameter", "parameter_with_state", "sparse_tensor", "qtensor",
    "meta_tensor_no_storage", "device_tensor_from_numpy", "device_tensor_from_cpu_tensor", "wrapper_subclass",
    "nested_tensor",
)) | {("torch._tensor", "_rebuild_from_type_v2")}  # fmt: skip
TORCH: Names = DTYPES | STORAGES | REBUILDERS | {
    ("torch", "Size"), ("torch", "device"), ("torch", "Tensor"), ("torch.serialization", "_get_layout"),
    ("torch.nn.parameter", "Parameter"), ("torch.nn.parameter", "Buffer"),
}  # fmt: skip
NUMPY: Names = frozenset(
    (f"{package}.{module}", name)
    for package in ("numpy.core", "numpy._core")
    for module, name in (("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"))
) | {("numpy", "dtype"), ("numpy", "ndarray")}  # fmt: skip
PATHS: Names = frozenset(
    (module, name) for module in ("pathlib", "pathlib._local")
    for name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath", "Path")
)  # fmt: skip
COPYREG: Names = frozenset((module, "_reconstructor") for module in ("copyreg", "copy_reg"))
OTHERS: Names = COPYREG | {
    ("_codecs", "encode"), ("argparse", "Namespace"), ("datetime", "datetime"), ("datetime", "timedelta"),
    ("datetime", "date"), ("datetime", "timezone"), ("uuid", "UUID"), ("fractions", "Fraction"),
    ("decimal", "Decimal"),
}  # fmt: skip

# Names whose use does nothing but make values.
KNOWN: Names = PLAIN | CONTAINERS | TYPES | TORCH | NUMPY | PATHS | OTHERS
