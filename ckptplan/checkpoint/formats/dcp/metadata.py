"""The metadata file of torch DCP: what is stored, and where, as arrays."""

from __future__ import annotations

from typing import Any

from ckptplan.checkpoint.formats.dcp.metadata_assembly import assembled
from ckptplan.checkpoint.formats.dcp.metadata_content import content_of
from ckptplan.checkpoint.formats.dcp.metadata_names import ALLOWED
from ckptplan.checkpoint.formats.dcp.metadata_tables import Unreadable
from ckptplan.checkpoint.formats.dcp.metadata_types import DcpItem, DcpMetadata, DcpTensor
from ckptplan.checkpoint.pickles.loading import load_pickle
from ckptplan.errors import InputError, Place, Problem

__all__ = ["DcpItem", "DcpMetadata", "DcpTensor", "read_metadata"]


def read_metadata(data: bytes, where: str) -> DcpMetadata:
    """The content of a ``.metadata`` file; InputError for anything else, and for names that it has no need of."""
    return _understood(load_pickle(data, where, ALLOWED).value, where)


def _understood(value: Any, where: str) -> DcpMetadata:
    try:
        return assembled(content_of(value), where)
    except Unreadable as wrong:
        hint = "is it the metadata file of a torch DCP checkpoint, and whole?"
        raise InputError(Problem(f"no DCP metadata: {wrong}", Place(where), hint=hint)) from None
