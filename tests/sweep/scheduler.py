"""A program that is a dask scheduler with its workers, on the loopback, until its standard input ends."""

from __future__ import annotations

import sys

from distributed import LocalCluster


def main(workers: str, program: str, port: str) -> None:
    """Print the address; ``program`` is what the workers have of ckptplan: same, none, or other."""
    if program == "none":
        sys.modules["ckptplan"] = None  # type: ignore[assignment]
    elif program == "other":
        import ckptplan

        ckptplan.__version__ = "0.0.1"
    with LocalCluster(
        n_workers=int(workers),
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        scheduler_port=int(port),
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
    ) as cluster:
        sys.stdout.write(cluster.scheduler_address + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
