"""The same writes and reads by fio, where it is installed."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from ckptplan.errors import InputError, printable
from ckptplan.measure.blocks import PAGE_BYTES
from ckptplan.measure.doubts import doubts
from ckptplan.measure.folder import OwnFolder, own_folder
from ckptplan.measure.host import file_system_of, host_memory
from ckptplan.measure.reading import Past
from ckptplan.measure.repeats import Repeats
from ckptplan.measure.room import fitting
from ckptplan.measure.setting import Announce, Progress, Setting, told
from ckptplan.measure.storage import StorageMeasured

_PATIENCE_S = 10.0
_LONGEST_OUTPUT = 16_000_000
_JOB = "ckptplan"


class FioRates(NamedTuple):
    """What one run of fio says: its rate, its time, those of its jobs, and why it does not stand."""

    bytes_per_s: float
    seconds: float
    jobs_bytes_per_s: tuple[float, ...]
    faults: tuple[str, ...] = ()


RatesOf = Callable[[str, str], FioRates]  # of a JSON text, for "write" or "read"


def fio_program() -> str:
    """The path of fio.

    Raises
    ------
    InputError
        If it is not installed.
    """
    found = shutil.which("fio")
    if found is None:
        raise InputError("fio is not installed", hint="install it, or leave --with fio out: ckptplan writes by itself")
    return found


def measure_with_fio(
    directory: str,
    setting: Setting,
    rates_of: RatesOf,
    *,
    progress: Progress | None = None,
    announce: Announce | None = None,
) -> StorageMeasured:
    """Let fio write and read back what a save writes, several times.

    Parameters
    ----------
    directory : str
        As of ``measure_storage``.
    setting : Setting
        Likewise.
    rates_of : callable
        Reads what fio printed.
    progress : callable, optional
        Called before each run; fio does not tell more.
    announce : callable, optional
        Called before the first byte with what is measured instead, if not all fits.

    Raises
    ------
    InputError
        If fio is not installed or fails.
    """
    program = fio_program()
    writes: list[FioRates] = []
    reads: list[FioRates] = []
    with own_folder(directory) as folder:
        memory = host_memory()
        fitted, notes = fitting(directory, setting, memory=memory)
        told(notes, announce)
        fitted = _whole_blocks(fitted)
        for number in range(fitted.writers):
            folder.expect(f"{_JOB}.{number}")
        for number in range(1, fitted.repeats + 1):
            for access, found in (("write", writes), ("read", reads)):
                if access == "write" or fitted.read:
                    what = f"fio: {access} {number} of {fitted.repeats}"
                    if progress is not None:
                        progress(what, 0, fitted.writers * fitted.size_bytes)
                    found.append(_run(program, folder, fitted, access, rates_of))
            folder.empty()
            for writer in range(fitted.writers):
                folder.expect(f"{_JOB}.{writer}")
    measured = StorageMeasured(
        folder=directory,
        by=_version(program),
        setting=fitted,
        file_system=file_system_of(directory),
        memory=memory,
        sustained=Repeats(tuple(one.bytes_per_s for one in writes)),
        burst=None,
        writers=Repeats(tuple(rate for one in writes for rate in one.jobs_bytes_per_s)),
        seconds=Repeats(tuple(one.seconds for one in writes)),
        read=Repeats(tuple(one.bytes_per_s for one in reads)) if reads else None,
        past=(Past.DIRECT if fitted.direct else Past.INVALIDATED) if reads else None,
        notes=notes,
    )
    return measured._replace(notes=(*doubts(measured), *notes))


def _whole_blocks(setting: Setting) -> Setting:
    """What fio writes of it: it leaves out what fills no block."""
    block_bytes = min(setting.block_bytes, max(PAGE_BYTES, setting.size_bytes // PAGE_BYTES * PAGE_BYTES))
    size_bytes = max(block_bytes, setting.size_bytes // block_bytes * block_bytes)
    return setting._replace(block_bytes=block_bytes, size_bytes=size_bytes)


def arguments(setting: Setting, access: str, folder: str) -> list[str]:
    """The options of fio for one run; its files lie in the folder, wherever it is started."""
    escaped = folder.replace(":", "\\:")  # fio takes several folders, with colons between
    return [
        f"--name={_JOB}",
        f"--directory={escaped}",
        f"--filename_format={_JOB}.$jobnum",
        f"--rw={access}",
        f"--bs={setting.block_bytes}",
        f"--size={setting.size_bytes}",
        f"--numjobs={setting.writers}",
        f"--direct={int(setting.direct)}",
        "--ioengine=psync",
        "--thread",
        "--refill_buffers",
        "--fallocate=none",
        "--invalidate=1",
        "--output-format=json",
        "--eta=never",
        *(["--end_fsync=1"] if access == "write" else []),
    ]


def _run(program: str, folder: OwnFolder, setting: Setting, access: str, rates_of: RatesOf) -> FioRates:
    text = _output([program, *arguments(setting, access, folder.path)], folder.path)
    found = rates_of(text, access)
    if found.faults:
        raise InputError(f"fio could not measure {printable(folder.path)}: {found.faults[0]}", hint=_hint(text))
    return found


def _output(command: list[str], folder: str) -> str:
    """What fio prints; it ends with us, and so do its jobs."""
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        process = subprocess.Popen(  # noqa: S603 - the path of fio, and numbers
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
        )
    except OSError as error:
        raise InputError(
            f"{printable(command[0])} cannot be run: {error.strerror or error}", hint="leave --with fio out"
        ) from error
    try:
        out, _ = process.communicate()
    except BaseException:
        _end(process)
        raise
    finally:
        if process.stdout is not None:
            process.stdout.close()
    text = out[:_LONGEST_OUTPUT].decode("utf-8", "replace")
    if process.returncode and "{" not in text:
        raise InputError(f"fio ended with {process.returncode}: {_first(text)}", hint=_hint(text))
    return text


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE_S)
            return


def _first(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return printable(lines[0])[:200] if lines else "it printed nothing"


def _hint(text: str) -> str:
    if "No space left" in text:
        return "give a smaller --size, or another folder"
    if "Invalid argument" in text:
        return "leave --direct out, or give another --block"
    return "run the same without --with fio, which says more of what storage refuses"


def _version(program: str) -> str:
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=_PATIENCE_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return "fio"
    return printable(done.stdout.strip())[:40] or "fio"
