"""A dask cluster as an engine: one of its own on this machine, or the workers of a scheduler that is running."""

from __future__ import annotations

import gc
import logging
import pickle
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from typing import Any, NamedTuple

from ckptplan.errors import InputError, UsageError, printable
from ckptplan.sweep import dask_greeting
from ckptplan.sweep.columns import Columns
from ckptplan.sweep.dask_task import evaluate_there, versions_here
from ckptplan.sweep.processes import sheltered
from ckptplan.sweep.runner import MOST_LOSSES, Evaluate, Lost, Runner

WORKERS_S = 30.0  # for its first worker to be there; a cluster that adapts starts one when it sees work
_COUNT_AGAIN_S = 10.0
_LOGGERS = ("distributed", "distributed.client", "distributed.worker", "distributed.scheduler", "tornado.application")


class DaskEngine(Runner):
    """A client of a scheduler, through ``get_executor``. The study is one task, which each worker fetches once."""

    def __init__(self, jobs: int, address: str | None = None) -> None:
        self._jobs, self._address = jobs, address
        self._stack = ExitStack()
        self._is_open = False
        self._client: Any = None
        self._executor: Any = None
        self._study: Any = None  # the task that holds what is evaluated
        self._round = 0  # connections made so far
        self._sent: dict[Future[Columns], int] = {}
        self._threads, self._counted_s = jobs, 0.0

    @property
    def ahead(self) -> int:
        """Two chunks for each thread of the workers; those of a running cluster come and go."""
        if self._address is not None and time.monotonic() > self._counted_s + _COUNT_AGAIN_S:
            if self._client.status == "running":
                with suppress(OSError):  # just lost: the next result says so
                    self._threads = sum(self._client.ncores().values())
            self._counted_s = time.monotonic()
        return 2 * max(self._jobs, self._threads)

    def start(self, evaluate: Evaluate) -> None:
        """Connect, and send what is evaluated."""
        self._library = _library()
        self._payload, self._versions = pickle.dumps(evaluate, pickle.HIGHEST_PROTOCOL), versions_here()
        self._connect()

    def submit(self, chunk: Any) -> Future[Columns]:
        """Have a chunk evaluated by any worker."""
        if self._client.status == "closed":  # lost while nothing was waited for
            self._connect()
        with _quiet():
            future: Future[Columns] = self._executor.submit(evaluate_there, self._study, self._versions, chunk)
        self._sent[future] = self._round
        return future

    def result(self, future: Future[Columns]) -> Columns:
        """The columns of a future that is done."""
        sent = self._sent.pop(future, 0)  # 0: of a connection that was lost
        try:
            return future.result()
        except self._library.KilledWorker:
            raise Lost("the workers that were busy with it ended abruptly", final=True) from None
        except (CancelledError, self._library.CommClosedError):
            if sent == self._round:
                self._connect()
            raise Lost(f"the connection to {self._where} was lost") from None
        except ImportError as error:
            raise self._strange(f"a worker cannot import what the sweep needs: {error}") from error
        except RuntimeError as error:
            if "deserializ" not in str(error):
                raise
            raise self._strange(f"it cannot read what the sweep sends: {error.__cause__ or error}") from error

    def stop(self) -> None:
        """Cancel what is not finished and disconnect; workers of its own end."""
        if self._is_open:
            with _quiet(), sheltered():
                self._is_open = False
                self._stack.close()
                for future in self._sent:  # the loop that would have said so has ended
                    if not future.done():
                        future.set_exception(CancelledError())
                self._client = self._executor = self._study = None
                gc.collect()  # a lost connection leaves sockets to be found here, where nobody is warned of them
        self._sent.clear()

    @property
    def _where(self) -> str:
        return "the local cluster" if self._address is None else f"the scheduler {printable(self._address)}"

    def _strange(self, said: str) -> InputError:
        """The error for an engine whose programs are not those of this process."""
        return InputError(
            f"{self._where}: {said}",
            hint=f"install ckptplan {self._versions['ckptplan']} with its dependencies there, on scheduler and workers",
        )

    def _connect(self) -> None:
        """Connect for the first time, or once more."""
        self.stop()
        self._is_open, self._round = True, self._round + 1
        with _quiet():
            try:
                self._open()
            except (OSError, RuntimeError) as error:  # TimeoutError among them
                self.stop()
                raise InputError(
                    f"{self._where} cannot be used: {getattr(error, 'strerror', None) or error}",
                    hint="is it running, and may this machine connect to it?" if self._address else None,
                ) from error
            except BaseException:
                self.stop()
                raise

    def _open(self) -> None:
        self._stack.enter_context(_silent())
        if self._address is None:
            where = self._own_cluster()
        else:
            where = self._address
            dask_greeting.greeted(where, dask_greeting.CONNECT_S if self._round > 1 else 0.0)
        self._client = self._library.Client(where, timeout=dask_greeting.CONNECT_S, set_as_default=False)
        self._stack.callback(self._client.close)
        self._executor = self._client.get_executor(pure=False)  # what is run again must not be looked up
        self._stack.callback(self._executor.shutdown, wait=False)
        # A task and not data, so that the scheduler makes it again if its worker is lost; bytes, that any worker takes.
        self._study = self._client.submit(bytes, self._payload, pure=False)
        self._stack.callback(self._study.release)
        try:
            self._client.wait_for_workers(1, timeout=WORKERS_S)
        except TimeoutError:
            raise InputError(f"{self._where} has no workers", hint="start some: dask worker HOST:PORT") from None

    def _own_cluster(self) -> Any:
        """Workers on this machine that listen on the loopback alone, quiet, with their files in a folder that goes."""
        from tempfile import TemporaryDirectory

        folder = self._stack.enter_context(TemporaryDirectory(prefix="ckptplan-", ignore_cleanup_errors=True))
        self._stack.enter_context(self._library.settings({"temporary-directory": folder}))
        with sheltered():
            cluster = self._library.LocalCluster(
                n_workers=self._jobs,
                threads_per_worker=1,
                host="127.0.0.1",
                protocol="tcp://",
                dashboard_address=None,
                # No page is served, but its port is opened all the same.
                scheduler_kwargs={
                    "dashboard": False,
                    "dashboard_address": "127.0.0.1:0",
                    "allowed_failures": MOST_LOSSES - 1,
                },
                silence_logs=logging.CRITICAL + 1,
                local_directory=folder,
            )
            return self._stack.enter_context(cluster)


class _Library(NamedTuple):
    """What is used of the package distributed, which has no types."""

    Client: Any
    LocalCluster: Any
    KilledWorker: Any
    CommClosedError: Any
    settings: Any


def _library() -> _Library:
    """The package, or how to get it."""
    try:
        names = vars(import_module("distributed"))
        killed = import_module("distributed.scheduler").KilledWorker
        closed = import_module("distributed.comm").CommClosedError
        settings = import_module("dask.config").set
    except ImportError:
        raise UsageError(
            "the executor dask needs the package distributed", hint="pip install '.[dask]' from the source tree"
        ) from None
    return _Library(names["Client"], names["LocalCluster"], killed, closed, settings)


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings of the engine while it is called: what matters comes as an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _silent() -> Iterator[None]:
    """No logs of the engine on a terminal, at whatever moment they come."""
    handlers = [handler for name in _LOGGERS for handler in logging.getLogger(name).handlers]
    levels = [handler.level for handler in handlers]
    try:
        for handler in handlers:
            handler.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for handler, level in zip(handlers, levels, strict=True):
            handler.setLevel(level)
