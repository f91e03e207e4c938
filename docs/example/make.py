"""Write the record, the model and the measurement of the example in the README. All of it is made up.

``python docs/example/make.py`` rewrites the files; a test compares them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER = Path(__file__).parent
START = np.datetime64("2026-04-01T00:00:00")
DAYS = 60
NODES, PER_NODE = 128, 8
MTBF_PER_GPU_H = 42_000.0
COLUMNS = "JobID|JobName|Partition|State|ExitCode|Submit|Start|End|ElapsedRaw|NNodes|AllocTRES|NodeList"


class Run(NamedTuple):
    """One allocation, in seconds from the start of the record."""

    job: int
    name: str
    state: str
    code: str
    at_s: float
    length_s: float
    nodes: int


def record() -> str:
    """Runs of one large job with its requeues, and of small ones, as ``sacct -D -P`` prints them."""
    rng = np.random.default_rng(20260401)
    rows = [COLUMNS, *(row for run in (*_pretraining(rng), *_evaluations(rng)) for row in _rows(run))]
    return "\n".join(rows) + "\n"


def _pretraining(rng: np.random.Generator) -> Iterator[Run]:
    at_s, job, end_s = 0.0, 4000, DAYS * 86_400.0
    while at_s < end_s:
        life_s = rng.exponential(MTBF_PER_GPU_H * 3600.0 / (NODES * PER_NODE))
        limit_s = 7 * 86_400.0
        length_s = min(life_s, limit_s, end_s - at_s)
        if length_s == end_s - at_s:
            state, code = "RUNNING", "0:0"
        else:
            state, code = ("NODE_FAIL", "0:0") if rng.random() < 0.7 else ("FAILED", "1:0")
            state, code = (state, code) if life_s < limit_s else ("TIMEOUT", "0:0")
        yield Run(job, "pretrain-70b", state, code, at_s, length_s, NODES)
        at_s += length_s + rng.uniform(240.0, 1200.0)
        job += state == "TIMEOUT"


def _evaluations(rng: np.random.Generator) -> Iterator[Run]:
    states = ("COMPLETED", "COMPLETED", "COMPLETED", "FAILED", "CANCELLED by 1001", "TIMEOUT", "PREEMPTED")
    for job in range(60):
        at_s = rng.uniform(0.0, (DAYS - 1) * 86_400.0)
        state = states[int(rng.integers(len(states)))]
        length_s = rng.uniform(20.0, 300.0) if state == "FAILED" else rng.uniform(600.0, 14_400.0)
        code = "1:0" if state == "FAILED" else "0:0"
        yield Run(5000 + job, f"eval-{job % 7}", state, code, at_s, length_s, int(rng.integers(1, 5)))


def _rows(run: Run) -> Iterator[str]:
    """The allocation and its batch step."""
    start = START + np.timedelta64(int(run.at_s), "s")
    is_running = run.state == "RUNNING"
    end = "Unknown" if is_running else str(start + np.timedelta64(int(run.length_s), "s"))
    gpus, cpus = run.nodes * PER_NODE, run.nodes * 64
    tres = f"billing={cpus},cpu={cpus},gres/gpu={gpus},mem={run.nodes * 2}T,node={run.nodes}"
    times = f"{start}|{start}|{end}|{int(run.length_s)}|{run.nodes}"
    nodes = f"gpu[001-{run.nodes:03d}]" if run.nodes > 1 else "gpu001"
    yield f"{run.job}|{run.name}|train|{run.state}|{run.code}|{times}|{tres}|{nodes}"
    step = "CANCELLED" if run.state == "NODE_FAIL" else run.state.partition(" ")[0]
    yield f"{run.job}.batch|batch||{step}|{run.code}|{times}|{tres}|gpu001"


def model() -> str:
    """Dimensions of Llama 3 70B (Llama team, 2024, table 3), in the form of a Hugging Face config."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 8192,
        "intermediate_size": 28672,
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 8192,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }
    return json.dumps(config, indent=2) + "\n"


def measurement() -> str:
    """Eight writers of one node for two minutes with fsync, as ``fio --output-format=json`` prints them."""
    rate, seconds = 1_550_000_000, 120
    jobs = [
        {
            "jobname": "ckpt-write",
            "groupid": 0,
            "error": 0,
            "elapsed": seconds + 1,
            "job options": {"rw": "write", "bs": "16M", "size": "173g", "fsync_on_close": "1", "numjobs": "8"},
            "read": {"io_bytes": 0, "bw_bytes": 0, "bw": 0, "runtime": 0},
            "write": {
                "io_bytes": (rate + 9_000_000 * n) * seconds,
                "bw_bytes": rate + 9_000_000 * n,
                "bw": (rate + 9_000_000 * n) // 1024,
                "runtime": seconds * 1000,
            },
        }
        for n in range(8)
    ]
    options = {"directory": "/mnt/ckpt", "ioengine": "libaio", "direct": "1", "end_fsync": "1"}
    document = {"fio version": "fio-3.36", "timestamp": 1780272000, "global options": options, "jobs": jobs}
    return json.dumps(document, indent=1) + "\n"


def files() -> Iterator[tuple[Path, str]]:
    """Every file that is made, with its text."""
    yield FOLDER / "sacct.txt", record()
    yield FOLDER / "config.json", model()
    yield FOLDER / "fio.json", measurement()


if __name__ == "__main__":
    for path, text in files():
        path.write_text(text, encoding="utf-8")
