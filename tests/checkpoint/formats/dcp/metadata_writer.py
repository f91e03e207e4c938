"""The stand-ins for torch's classes of benchmarks/metadata.py, whose pickles are those of torch byte for byte."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

from ckptplan.checkpoint.formats.dcp.metadata import DcpMetadata, assembled, understood
from ckptplan.checkpoint.formats.dcp.metadata_names import ALLOWED
from ckptplan.checkpoint.formats.dcp.records_columns import Columns
from ckptplan.checkpoint.formats.dcp.records_frames import unframed
from ckptplan.checkpoint.formats.dcp.records_machine import LEAPING, RecordMachine
from ckptplan.checkpoint.manifest import Fault
from ckptplan.checkpoint.pickles.loading import LIMITS, load_pickle

BENCHMARK = Path(__file__).parents[4] / "benchmarks" / "metadata.py"


def _writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("metadata_benchmark", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


WRITER: Any = _writer()


def opcode_by_opcode(data: bytes) -> DcpMetadata:
    """The metadata by the plain interpretation."""
    return assembled(understood(load_pickle(data, ".metadata", ALLOWED).value, ".metadata"), ".metadata")


def in_lockstep(data: bytes) -> tuple[DcpMetadata, int]:
    """The metadata by leaps, and how many records were leapt over."""
    whole = unframed(data)
    machine = RecordMachine(whole, ".metadata", ALLOWED, LIMITS)
    value = machine.run(LEAPING, whole.ends)
    found = assembled(understood(value, ".metadata", Columns(machine)), ".metadata")
    return found, sum(run.last - run.first for run in machine.runs)


def _faults(found: tuple[Fault, ...]) -> object:
    """Faults without order; which ones are told is open where there are more of a kind: their numbers then."""
    if not any(fault.key is None and " more " in fault.message for fault in found):
        return set(found)
    return Counter((fault.flaw, fault.key is None and fault.message) for fault in found)


def plain(found: DcpMetadata) -> dict[str, Any]:
    """All of the metadata as plain values, files by their names, faults without order."""
    names = (*found.file_names, None)
    tensors = {
        key: {
            "dtype": each.dtype, "shape": each.shape, "offsets": each.offsets.tolist(), "sizes": each.sizes.tolist(),
            "files": [names[file] for file in each.files], "starts": each.item_offsets.tolist(),
            "bytes": each.item_bytes.tolist(), "packed": each.packed,
        }
        for key, each in found.tensors.items()
    }  # fmt: skip
    objects = {
        key: None if item is None else item._replace(file=names[item.file]) for key, item in found.objects.items()
    }
    rest = found._replace(tensors=None, objects=None, file_names=set(found.file_names), faults=_faults(found.faults))
    return {"tensors": tensors, "objects": objects, **rest._asdict() | {"tensors": tensors, "objects": objects}}
