"""The metadata file of torch DCP: what is stored, and where, as arrays."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ckptplan.checkpoint.formats.dcp.metadata_assembly import assembled
from ckptplan.checkpoint.formats.dcp.metadata_content import Content, content_of
from ckptplan.checkpoint.formats.dcp.metadata_names import ALLOWED
from ckptplan.checkpoint.formats.dcp.metadata_tables import Unreadable
from ckptplan.checkpoint.formats.dcp.metadata_types import DcpItem, DcpMetadata, DcpTensor
from ckptplan.checkpoint.formats.dcp.records_columns import Columns
from ckptplan.checkpoint.formats.dcp.records_frames import unframed
from ckptplan.checkpoint.formats.dcp.records_machine import LEAPING, RecordMachine, Unfit
from ckptplan.checkpoint.pickles.loading import LIMITS, check_length, load_pickle
from ckptplan.errors import InputError, Place, Problem

__all__ = ["DcpItem", "DcpMetadata", "DcpTensor", "read_metadata"]


_PROTOCOL_4 = (b"\x80\x04", b"\x80\x05")


def read_metadata(data: bytes, where: str) -> DcpMetadata:
    """The content of a ``.metadata`` file; InputError for anything else, and for names that it has no need of.

    Records that look like one before them are read in lockstep; a file that does not keep to the ways of the pickler is
    interpreted opcode by opcode.
    """
    check_length(data, where, LIMITS)
    if data[:2] in _PROTOCOL_4:
        with suppress(Unfit):
            return _leaping(data, where)
    return assembled(understood(load_pickle(data, where, ALLOWED).value, where), where)


def _leaping(data: bytes, where: str) -> DcpMetadata:
    whole = unframed(data)
    machine = RecordMachine(whole, where, ALLOWED, LIMITS)
    value = machine.run(LEAPING, whole.ends)
    content = understood(value, where, Columns(machine))
    found = assembled(content, where)
    if found.entries < sum(len(table.keys) for table in content.storage.values()):
        raise Unfit  # of two entries for the same key the later one counts, and columns do not keep their order
    return found


def understood(value: Any, where: str, columns: Columns | None = None) -> Content:
    """The parts of a Metadata object, or the error that says why it is none."""
    try:
        return content_of(value, columns)
    except Unreadable as wrong:
        hint = "is it the metadata file of a torch DCP checkpoint, and whole?"
        raise InputError(Problem(f"no DCP metadata: {wrong}", Place(where), hint=hint)) from None
