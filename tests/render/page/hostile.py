"""A spec whose every text tries to be something else, and must stay text."""

from __future__ import annotations

import json

SCRIPT = "<script>alert(1)</script>"
# The reader of specs refuses what is not printable: reversed and hidden letters come through --title alone.
UNPRINTABLE = "\u202egnp.exe\u2066\u200b\ufeff\x1b[31m\x00\x07"
NAMES = {
    "run": f"</title></style></script>{SCRIPT}{{{{7*7}}}}{{% raw %}}<!--",
    "blocking": "\"><img src=x onerror=alert(2)> '`${8*8}` | a_b_ **c** [d](javascript:alert(3)) @e #1 GH-2 &lt;",
    "background": "\u05e9\u05dc\u05d5\u05dd abc \u6570\u636e \U0001f600 <svg onload=alert(4)>",
    "class": "<iframe src=http://192.0.2.1/></iframe>-->]]>",
    "tier": "<link rel=stylesheet href=//192.0.2.1/x> \\| $x$ :smile: www.example.org",
    "loss": "<a href=javascript:alert(6) ping=//192.0.2.1>&amp;</a>",
    "state": "<math><mi xlink:href=javascript:alert(5)>",
}


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def one_tier() -> str:
    """Two strategies, a ledger with a state of its own, a count of failures, a range."""
    return f"""\
name: {_quoted(NAMES["run"])}
model:
  parameters: 70e9
  state:
    - {{name: {_quoted(NAMES["state"])}, kind: master weights, bytes_per_parameter: 4, loss: {_quoted(NAMES["loss"])}}}
    - {{name: weights, kind: weights, bytes_per_parameter: 2}}
cluster: {{gpus: 512, gpus_per_node: 8, layout: {{tensor: 8, data: 64, shard: zero1}}}}
failures: {{interruptions: {{count: 40, over: 30 d}}}}
storage: {{write_bandwidth: 100 GB/s}}
save:
  - {{name: {_quoted(NAMES["blocking"])}, mode: sharded, stall: 60 s}}
  - {{name: {_quoted(NAMES["background"])}, mode: asynchronous, stall: 5 s}}
restart: {{total: 10 min}}
training: {{step_time: 5 s, duration: 54 d}}
"""


def tiers() -> str:
    """Classes of failures and tiers."""
    return f"""\
name: {_quoted(NAMES["run"])}
model: {{parameters: 70e9, state: adam-14}}
cluster: {{gpus: 512, gpus_per_node: 8, layout: {{tensor: 8, data: 64, shard: zero1}}}}
failures:
  interruptions: {{count: 40, over: 30 d}}
  classes:
    - {{name: {_quoted(NAMES["class"])}, share: 40 %, loses: process}}
    - {{kind: loss spike, every: 20 d, back_steps: 50, lag_steps: 5}}
storage:
  tiers:
    - {{kind: host memory, name: {_quoted(NAMES["tier"])}, stall: 2 s, load: 10 s}}
    - {{kind: file system, name: {_quoted(NAMES["background"])}, write: background, bandwidth: 100 GB/s, load: 2 min}}
restart: {{detect: 60 s, replace: 2 min, initialise: 3 min, load: 2 min}}
training: {{step_time: 5 s, duration: 54 d}}
"""
