"""Names in a pickle that no honest checkpoint calls: what its own library would run on loading it."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from ckptplan.checkpoint.pickles.values import Global

# Of the standard library only this is harmless: it makes values and does nothing else.
_HARMLESS_MODULES = frozenset({"datetime", "_datetime", "decimal", "_decimal", "fractions", "uuid", "_strptime"})
_HARMLESS = {
    "builtins": frozenset(
        {
            "bool", "bytearray", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "object", "range",
            "set", "slice", "str", "tuple", "NoneType", "Ellipsis", "NotImplemented", "unicode", "long", "xrange",
        }
    ),
    "collections": frozenset({"OrderedDict", "defaultdict", "deque", "Counter", "ChainMap", "UserDict", "UserList"}),
    "copyreg": frozenset({"_reconstructor", "__newobj__", "__newobj_ex__"}),
    "argparse": frozenset({"Namespace"}),
    "types": frozenset({"SimpleNamespace", "MappingProxyType", "NoneType"}),
    "enum": frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "auto"}),
    "pathlib": frozenset({"Path", "PosixPath", "WindowsPath", "PurePath", "PurePosixPath", "PureWindowsPath"}),
    "codecs": frozenset({"encode"}),
    "io": frozenset({"BytesIO", "StringIO"}),
    "re": frozenset({"_compile", "RegexFlag"}),
    "array": frozenset({"array", "_array_reconstructor"}),
    "random": frozenset({"Random"}),
    "logging": frozenset({"getLogger", "Logger"}),
    "time": frozenset({"struct_time"}),
    "string": frozenset({"Template"}),
}  # fmt: skip
_SAME = {
    "__builtin__": "builtins", "copy_reg": "copyreg", "_codecs": "codecs", "_io": "io", "_collections": "collections",
    "pathlib._local": "pathlib", "_random": "random",
}  # fmt: skip

# Beyond the standard library: packages whose names run, load, install or fetch something.
_STANDARD = frozenset(sys.stdlib_module_names) | {"__builtin__", "copy_reg", "commands", "nt", "distutils", "imp"}
_RUNNING = frozenset(
    {
        "pip", "setuptools", "pkg_resources", "cloudpickle", "dill", "joblib", "requests", "httpx", "aiohttp",
        "urllib3", "paramiko", "fabric", "sh", "plumbum", "IPython", "jedi", "pexpect", "ptyprocess", "invoke",
        "sympy",
    }
)  # fmt: skip
_RUNNING_MODULES = (
    "numpy.testing", "numpy.f2py", "numpy.distutils", "numpy.lib.npyio", "numpy.lib._npyio_impl", "torch.hub",
    "torch.package", "torch.serialization", "torch.utils.cpp_extension", "torch.utils.model_zoo", "torch._inductor",
    "torch._dynamo", "torch.fx", "torch.jit", "torch.distributed.run", "torch.distributed.rpc", "pandas.io",
)  # fmt: skip
_RUNNING_NAMES = frozenset(
    {
        "Popen", "__import__", "call", "check_call", "check_output", "compile", "delattr", "eval", "exec", "execfile",
        "execute", "fork", "getattr", "globals", "import_module", "load", "load_library", "loads", "locals", "open",
        "_load_from_bytes", "popen", "read_pickle", "run",
        "run_module", "run_path", "runstring", "setattr", "spawn", "system", "unlink",
    }
)  # fmt: skip


def hostile(foreign: Iterable[Global]) -> tuple[Global, ...]:
    """Those names that no honest checkpoint calls.

    Of the standard library everything but a short list of plain types; of other libraries what runs, loads or fetches.
    Classes of configurations are none of these: ``argparse.Namespace``, ``transformers.TrainingArguments``.
    """
    return tuple(dict.fromkeys(name for name in foreign if _is_hostile(name)))


def _is_hostile(name: Global) -> bool:
    module = _SAME.get(name.module, name.module)
    top = module.partition(".")[0]
    if "." in name.name and not all(part[:1].isupper() for part in name.name.split(".")):
        return True  # pickle follows the dots through whatever the module has imported: metadata, os.system
    if top in _STANDARD or not top:
        return module not in _HARMLESS_MODULES and name.name not in _HARMLESS.get(module, frozenset())
    if top in _RUNNING or any(module == one or module.startswith(f"{one}.") for one in _RUNNING_MODULES):
        return True
    return name.name in _RUNNING_NAMES
