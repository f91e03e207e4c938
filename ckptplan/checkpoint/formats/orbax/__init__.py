"""Orbax: pytrees of zarr arrays, in plain files or in an OCDBT database, and items beside them."""

from ckptplan.checkpoint.formats.orbax.reading import read, recognised

__all__ = ["read", "recognised"]
