"""Results to standard output or to a file, warnings to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ckptplan.cli.options import Format
from ckptplan.errors import InputError, Problem, UsageError

if TYPE_CHECKING:
    from ckptplan.render.screen import Screen
    from ckptplan.render.sheet import Sheet


def screen_for(output: Path | None) -> Screen:
    """What the destination can show."""
    from ckptplan.render.screen import Screen

    return Screen() if output is not None else Screen.of(sys.stdout)


def text_as(
    format_: Format,
    output: Path | None,
    *,
    document: Callable[[], Mapping[str, object]],
    sheets: Callable[[], Sequence[Sheet]],
    markdown: Callable[[], str],
    report: Callable[[Screen], str],
) -> str:
    """One result in the format that was asked for; only that form of it is made."""
    if format_ is Format.MARKDOWN:
        return markdown()
    if format_ is Format.TABLE:
        return report(screen_for(output))
    from ckptplan.render.sheet import to_csv, to_json

    return to_json(document()) if format_ is Format.JSON else to_csv(sheets())


def refuse_overwriting(output: Path | None, inputs: Iterable[str], option: str = "-o") -> None:
    """A result must not replace what it was made from: a spec, a record, or a file that a spec names."""
    for name in inputs:
        if output is not None and name != "-" and is_same(output, Path(name)):
            raise UsageError(f"{option} {output} would overwrite an input", hint=f"give another file with {option}")


def is_same(output: Path, source: Path) -> bool:
    """Whether two names are of one file that is there."""
    try:
        return output.exists() and source.exists() and output.samefile(source)
    except (OSError, ValueError):
        return False  # what cannot be opened is said when it is written


def emit(text: str, output: Path | None) -> None:
    """Write the result to standard output, or to a file that appears whole or not at all."""
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()  # the answer stands before the warnings, also where both go to one place
        return
    try:
        replace(output, text.encode())
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot write {output}: {reason}", hint="give another file with -o") from error


def replace(output: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all."""
    with replacing(output) as file:
        file.write(data)


@contextmanager
def replacing(output: Path) -> Iterator[BinaryIO]:
    """A file aside, which takes the place of the output once it is whole; a device or a pipe is written to."""
    if output.exists() and not output.is_file():
        # A device or a pipe (/dev/stdout) cannot be replaced.
        if output.is_dir():
            raise IsADirectoryError(21, "it is a directory")
        with output.open("wb") as device:
            yield device
        return
    import tempfile

    target = output.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    aside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        aside.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        aside.replace(target)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise


def _umask() -> int:
    """What this process takes from the permissions of new files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def warn(warnings: Iterable[str | Problem]) -> None:
    """Warnings on standard error, wrapped to its width."""
    for warning in warnings:
        if isinstance(warning, Problem):
            sys.stderr.write(f"warning: {warning.render()}\n")
        else:
            from ckptplan.render.screen import Screen

            screen = Screen.of(sys.stderr)
            sys.stderr.write(screen.paragraph(warning, indent="  ", first="warning: ") + "\n")
