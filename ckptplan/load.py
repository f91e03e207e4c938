"""The public entry: a spec by path, by the name of a shipped config, or from standard input."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ckptplan.errors import InputError, printable

if TYPE_CHECKING:
    from ckptplan.spec.reading import Spec

_MOST_BYTES = 1 << 20  # a spec has a few kilobytes; the reader refuses what is longer
_ENDINGS = (".yaml", ".yml")
_STANDARD_INPUT = "standard input"
_INSTALLED = Path(__file__).parent / "configs"
_IN_SOURCE_TREE = Path(__file__).parent.parent / "configs"


@dataclass(frozen=True, slots=True)
class ShippedConfig:
    """A spec that ships with the program."""

    name: str
    path: Path
    description: str


def load(spec: str, *, sets: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Spec:
    """Read a spec and what overrides it.

    Parameters
    ----------
    spec : str
        A path, ``-`` for standard input, or the name of a shipped config.
    sets : sequence of str
        ``KEY=VALUE`` overrides, as of ``--set``.
    environment : mapping, optional
        Variables; ``os.environ`` by default.

    Raises
    ------
    InputError
        With every fault found.
    """
    data, file = bytes_of(spec)
    from ckptplan.beside import FilesBeside
    from ckptplan.spec.reading import read_spec

    files = FilesBeside(Path() if spec == "-" else Path(spec).parent)
    loaded = read_spec(
        data,
        file,
        sets=sets,
        environment=os.environ if environment is None else environment,
        files=files,
    )
    return replace(loaded, named=tuple(map(str, files.read)))


def shipped_configs() -> tuple[ShippedConfig, ...]:
    """The specs that ship with the program, by name."""
    return tuple(ShippedConfig(name, path, _description(path)) for name, path in shipped_files().items())


def shipped_files() -> dict[str, Path]:
    """The files of the shipped specs by name."""
    folder = next((folder for folder in (_INSTALLED, _IN_SOURCE_TREE) if folder.is_dir()), None)
    return {} if folder is None else {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _description(path: Path) -> str:
    """The ``name`` of a spec, found without reading all of it."""
    with path.open(encoding="utf-8") as lines:
        found = next((line for line in lines if line.startswith("name:")), "name:")
    return found.removeprefix("name:").partition(" #")[0].strip().strip("\"'")


def bytes_of(spec: str) -> tuple[bytes, str]:
    """The text of a spec by path, by the name of a shipped config or from standard input, and what messages call it."""
    if spec == "-":
        return _from_standard_input(), _STANDARD_INPUT
    if "\0" in spec or not spec:
        raise InputError(f"{spec!r} is no file name", hint="give a path, - for standard input, or a config's name")
    path = Path(spec)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return _shipped_or_missing(spec, error)
    if stat.S_ISDIR(mode):
        if spec not in shipped_files() and os.path.isfile(path / "config.json"):  # noqa: PTH113 - false where not readable
            raise InputError(
                f"{printable(spec)}: a folder with the config.json of a model, not a spec",
                hint="ckptplan spec init prints a spec; write model: {config: ./config.json} in it, or this folder",
            )
        # A folder that happens to have the name of a config does not hide it.
        return _shipped_or_missing(spec, IsADirectoryError(21, "it is a directory"))
    if not stat.S_ISREG(mode):
        raise InputError(
            f"{printable(spec)}: not a regular file but a pipe or device",
            hint="give a file, or - to read standard input",
        )
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES + 1), spec
    except OSError as error:
        raise InputError(
            f"{printable(spec)}: cannot be read: {error.strerror}", hint="check its permissions"
        ) from error


def _shipped_or_missing(spec: str, error: OSError) -> tuple[bytes, str]:
    shipped = shipped_files()
    found = shipped.get(spec)
    if found is not None:
        return found.read_bytes(), found.name
    reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror or "cannot be opened"
    if isinstance(error, FileNotFoundError) and os.sep not in spec and not spec.endswith(_ENDINGS):
        reason = "neither a file nor a shipped config"
    raise InputError(f"{printable(spec)}: {reason}", hint=_hint(spec, shipped)) from error


def _hint(spec: str, shipped: Mapping[str, Path]) -> str:
    from difflib import get_close_matches

    stem = Path(spec).name
    for ending in _ENDINGS:
        stem = stem.removesuffix(ending)
    near = get_close_matches(stem.lower(), shipped, n=1, cutoff=0.6)
    listed = "ckptplan configs lists the shipped ones"
    return f"did you mean {near[0]}? {listed}" if near else f"{listed}; ckptplan spec init prints one to start from"


def _from_standard_input() -> bytes:
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise InputError("standard input is closed", hint="pipe a spec into it, or give a file")
    try:
        data = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(
            f"standard input cannot be read: {error}", hint="pipe a spec into it, or give a file"
        ) from error
    return data or b""
