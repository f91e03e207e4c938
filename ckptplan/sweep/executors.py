"""The engines by name: ``serial``, ``threads``, ``processes``, ``dask``, ``dask://host:port``."""

from __future__ import annotations

from urllib.parse import urlsplit

from ckptplan.errors import UsageError, printable
from ckptplan.sweep.runner import InProcess, Runner

EXECUTORS = ("serial", "threads", "processes", "dask")  # and the address of a scheduler
ADDRESS = "dask://"
_ACCEPTED = f"{', '.join(EXECUTORS)}, or {ADDRESS}host:port of a scheduler that runs"


def executor_for(name: str, jobs: int) -> Runner:
    """The engine of a name, not yet started; a context that ends its workers.

    Parameters
    ----------
    name : str
        ``serial``: one chunk after another in this process, whatever ``jobs`` is. ``threads``: of this process.
        ``processes``: of this machine. ``dask``: a cluster of its own on this machine. ``dask://host:port``: the
        workers of a scheduler that is running.
    jobs : int
        Workers; with a scheduler that is running, the number of workers to keep busy at least. [1]

    Returns
    -------
    Runner
        What `ckptplan.sweep.running.run` takes. The same study gives the same bytes on each of them.

    Raises
    ------
    UsageError
        For a name, an address or a number that cannot be.
    """
    if jobs != int(jobs) or jobs < 1:
        raise UsageError(f"jobs must be a whole number of at least 1; got {jobs:g}")
    jobs = int(jobs)
    if name.startswith(ADDRESS):
        address = _address(name)
    elif name in EXECUTORS:
        address = None
    else:
        raise UsageError(f"no executor is called {printable(name)!r}", hint=f"accepted are {_ACCEPTED}")
    if name in {"serial", "threads"}:
        return InProcess(1 if name == "serial" else jobs)
    if name == "processes":
        from ckptplan.sweep.processes import Processes

        return Processes(jobs)
    from ckptplan.sweep.dask_engine import DaskEngine

    return DaskEngine(jobs, address)


def _address(name: str) -> str:
    """``tcp://host:port`` of ``dask://host:port``."""
    try:
        parts = urlsplit(name)
        host, port = parts.hostname, parts.port
    except ValueError:  # a port that is no number, brackets that do not close
        host = port = None
    if not host or not port or "@" in name or not name.isprintable() or parts[2:] not in {("", "", ""), ("/", "", "")}:
        raise UsageError(
            f"{printable(name)!r} is no address of a scheduler",
            hint="write dask://host:port, for example dask://10.0.0.7:8786",
        )
    return f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"
