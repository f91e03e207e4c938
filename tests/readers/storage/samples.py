"""Results of benchmarks, written for these tests from the formats that the programs print."""

from __future__ import annotations

import json
from typing import Any

IOR_TABLE = """IOR-4.1.0: MPI Coordinated Test of Parallel I/O
Began               : Mon Nov 30 10:00:00 2026
Command line        : ior -w -r -F -e -i 3 -t 16m -b 64g -o /mnt/ckpt/ior
Machine             : Linux n001
TestID              : 0
StartTime           : Mon Nov 30 10:00:00 2026
Path                : /mnt/ckpt
FS                  : 1.0 PiB   Used FS: 20.0%   Inodes: 100.0 Mi   Used Inodes: 1.0%

Options: 
api                 : POSIX
apiVersion          : 
test filename       : /mnt/ckpt/ior
access              : file-per-process
type                : independent
segments            : 1
ordering in a file  : sequential
ordering inter file : no tasks offsets
nodes               : 4
tasks               : 32
clients per node    : 8
repetitions         : 3
xfersize            : 16 MiB
blocksize           : 64 GiB
aggregate filesize  : 2 TiB

Results: 

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     40000      2500.00    0.012800    67108864   16384      0.010000   52.40      0.020000   52.43      0   
read      80000      5000.00    0.006400    67108864   16384      0.010000   26.20      0.010000   26.21      0   
remove    -          -          -           -          -          -          -          -          0.500000   0   
write     42000      2625.00    0.012200    67108864   16384      0.010000   49.90      0.020000   49.93      1   
write     38000      2375.00    0.013500    67108864   16384      0.010000   55.10      0.020000   55.19      2   
Max Write: 42000.00 MiB/sec (44040.19 MB/sec)
Max Read:  80000.00 MiB/sec (83886.08 MB/sec)

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s)
write       42000.00   38000.00   40000.00    1632.99    2625.00    2375.00    2500.00     102.06   52.51667
Finished            : Mon Nov 30 10:06:00 2026
"""  # noqa: W291 - IOR ends lines with blanks

IOR_CSV = """access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter
write,1000.0000,62.5000,0.1280,1048576.0000,16384.0000,0.0010,32.7000,0.0010,32.7680,8,0
read,2000.0000,125.0000,0.0640,1048576.0000,16384.0000,0.0010,16.3000,0.0010,16.3840,8,0
"""

ELBENCHO_COLUMNS = (
    "ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size,direct IO,random,random aligned,"
    "IO depth,shared paths,truncate,operation,time ms [first],time ms [last],entries/s [first],entries/s [last],"
    "IOPS [first],IOPS [last],MiB/s [first],MiB/s [last],CPU% [first],CPU% [last],entries [first],entries [last],"
    "MiB [first],MiB [last],rwmix read MiB/s [last],rwmix read MiB [last],version,command"
)


def elbencho_row(operation: str, ms: int, mib: int | None, *, direct: int = 0, hosts: int = 2, mixed: str = "") -> str:
    """One line of the CSV of elbencho: 16 threads on each host."""
    rate = "" if mib is None else str(mib * 1000 // ms)
    total = "" if mib is None else str(mib)
    return (
        f"2026-11-30T10:00:00.000+0000,,dir,1,{hosts},16,1,1,68719476736,16777216,{direct},0,,1,1,0,{operation},"
        f'{ms // 2},{ms},,,,,{rate},{rate},5,5,,,{total},{total},{mixed},{mixed},3.1.2,"elbencho" "-w"'
    )


def elbencho_json(operation: str, ms: int, bytes_: int | None, *, direct: bool = False) -> str:
    """One document of the JSON of elbencho, in which every value is text."""
    last: dict[str, Any] = {"elapsed_time_ms": str(ms), "cpu%": "5"}
    if bytes_ is not None:
        last |= {"bytes/s": str(bytes_ * 1000 // ms), "bytes": str(bytes_)}
    config = {
        "path_type": "dir", "paths": "1", "hosts": "2", "threads": "16", "file_size": "68719476736",
        "block_size": "16777216", "direct_io": str(direct).lower(), "random_offsets": "false", "version": "3.1.2",
    }  # fmt: skip
    return json.dumps(
        {"phase_type": operation, "phase_id": "x", "iso_start_date": "2026", "config": config, "first_done": last,
         "last_done": last}
    )  # fmt: skip


def fio_job(
    written: int = 0,
    read: int = 0,
    ms: int = 60_000,
    *,
    name: str = "ckpt",
    group: int = 0,
    error: int = 0,
    options: dict[str, str] | None = None,
    extra: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """One job as fio 3 writes it."""
    return {
        "jobname": name,
        "groupid": group,
        "error": error,
        "job options": {"rw": "write", "bs": "1M", **(options or {})},
        "read": _direction(read, ms),
        "write": _direction(written, ms),
        **(extra or {}),
    }


def _direction(bytes_: int, ms: int) -> dict[str, int]:
    ms = ms if bytes_ else 0
    rate = bytes_ * 1000 // ms if ms else 0
    return {"io_bytes": bytes_, "io_kbytes": bytes_ >> 10, "bw_bytes": rate, "bw": rate >> 10, "runtime": ms}


def fio(*jobs: dict[str, Any], **extra: Any) -> str:
    """A document of fio."""
    return json.dumps({"fio version": "fio-3.33", "timestamp": 1, "jobs": list(jobs), **extra}, indent=2)


def dlio(metric: dict[str, Any], **extra: Any) -> str:
    """A summary of DLIO for 8 hosts of 8 accelerators."""
    return json.dumps({"num_accelerators": 64, "num_hosts": 8, "hostname": "n1", "metric": metric, **extra})
