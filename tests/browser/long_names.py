"""Specs whose every name has 80 characters, in words or in one piece."""

from __future__ import annotations

import json
from functools import partial

LETTERS = 80
_WORDS = "checkpoints of the whole state to the parallel file system of the second site, kept for a week"


def named(first: str, between: str) -> str:
    """A quoted name of 80 characters that begins with a word of its own."""
    return json.dumps(f"{first} {_WORDS}"[:LETTERS].replace(" ", between))


def _one_tier(between: str, copies: int) -> str:
    """Several strategies, a state of its own, a range."""
    name = partial(named, between=between)
    saves = [(mode, f"{mode}-{number}") for number in range(copies) for mode in ("sharded", "asynchronous")]
    return f"""\
name: {name("pretraining")}
model:
  parameters: 70e9
  state:
    - {{name: {name("masters")}, kind: master weights, bytes_per_parameter: 4, loss: {name("lost")}}}
    - {{name: weights, kind: weights, bytes_per_parameter: 2}}
cluster: {{gpus: 512, gpus_per_node: 8, layout: {{tensor: 8, data: 64, shard: zero1}}}}
failures: {{interruptions: {{count: 40, over: 30 d}}}}
storage: {{write_bandwidth: 100 GB/s}}
save:
{"".join(f"  - {{name: {name(word)}, mode: {mode}, stall: 5 s}}{chr(10)}" for mode, word in saves)}\
restart: {{total: 10 min}}
training: {{step_time: 5 s, duration: 54 d}}
"""


def _tiers(between: str) -> str:
    """Classes of failures and tiers."""
    name = partial(named, between=between)
    return f"""\
name: {name("pretraining")}
model: {{parameters: 70e9, state: adam-14}}
cluster: {{gpus: 512, gpus_per_node: 8, layout: {{tensor: 8, data: 64, shard: zero1}}}}
failures:
  interruptions: {{count: 40, over: 30 d}}
  classes:
    - {{name: {name("crashes")}, share: 40 %, loses: process}}
    - {{kind: loss spike, name: {name("spikes")}, every: 20 d, back_steps: 50, lag_steps: 5}}
storage:
  tiers:
    - {{kind: host memory, name: {name("memory")}, stall: 2 s, load: 10 s}}
    - {{kind: file system, name: {name("files")}, write: background, bandwidth: 100 GB/s, load: 2 min}}
    - {{kind: object store, name: {name("objects")}, write: background, bandwidth: 20 GB/s, load: 5 min}}
restart: {{detect: 60 s, replace: 2 min, initialise: 3 min, load: 2 min}}
training: {{step_time: 5 s, duration: 54 d}}
"""


SPECS = {
    "pieces": partial(_one_tier, "_", 1),
    "many-words": partial(_one_tier, " ", 3),
    "many-pieces": partial(_one_tier, "_", 3),
    "tiers-in-pieces": partial(_tiers, "_"),
}
