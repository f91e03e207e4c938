"""Faults of the keys of the fault spectrum: classes, watchdog, tiers, guards, batches, power."""

from __future__ import annotations

from tests.spec.broken import Broken

SLOTS = {
    "power": "{compute: 700 W, save: 500 W, restart: 300 W}",
    "source": "interruptions: {count: 40, over: 30 d}",
    "class": "{kind: silent corruption, share: 5 %}",
    "watchdog": "{timeout: 10 min, false_alarms_per_day: 0.2}",
    "tier": "{kind: local ssd, write: background, bandwidth_per_node: 5 GB/s}",
    "verification": "{time: 30 s}",
    "retention": "{keep_all: 6 h, then_every: 2 h, then_for: 7 d}",
    "restart": "{detect: 60 s, replace: 2 min, initialise: 3 min, load: 2 min}",
    "spares": "{nodes: 8, repair: 12 h}",
    "prediction": "{recall: 60 %, precision: 80 %}",
    "training": "{step_time: 5 s, global_batch: 2048, micro_batch: 2}",
}
_TEXT = """\
name: a run
model: {parameters: 70e9, state: adam-14}
cluster: {gpus: 512, gpus_per_node: 8, layout: {tensor: 8, pipeline: 4}, power: <power>}
failures:
  <source>
  classes:
    - {kind: hang, share: 10 %}
    - <class>
  watchdog: <watchdog>
storage:
  tiers:
    - {kind: host memory, stall: 1 s}
    - <tier>
    - {kind: file system, bandwidth: 100 GB/s}
verification: <verification>
retention: <retention>
restart: <restart>
spares: <spares>
prediction: <prediction>
training: <training>
"""
_LINES = {name: _TEXT[: _TEXT.index(f"<{name}>")].count("\n") + 1 for name in SLOTS}
_KEYS = {
    "power": "cluster.power",
    "source": "failures",
    "class": "failures.classes[1]",
    "watchdog": "failures.watchdog",
    "tier": "storage.tiers[1]",
}


def spectrum(**changes: str) -> str:
    """The good spec of the fault spectrum, with some of its parts written otherwise."""
    text = _TEXT
    for name, written in {**SLOTS, **changes}.items():
        text = text.replace(f"<{name}>", written)
    return text


def _in(slot: str, id_: str, written: str, key: str, message: str, hint: str) -> Broken:
    """One part of the spec written otherwise; ``key`` is relative to it."""
    group = _KEYS.get(slot, slot)
    return Broken(f"{slot}: {id_}", spectrum(**{slot: written}).encode(), _LINES[slot], f"{group}{key}", message, hint)


def _text(id_: str, old: str, new: str, line: int, key: str, message: str, hint: str) -> Broken:
    """Any part of the text replaced."""
    text = spectrum()
    assert text.count(old) == 1, (id_, old)
    return Broken(id_, text.replace(old, new).encode(), line, key, message, hint)


def _class(id_: str, written: str, key: str, message: str, hint: str) -> Broken:
    return _in("class", id_, f"{{{written}}}", key, message, hint)


def _tier(id_: str, written: str, key: str, message: str, hint: str) -> Broken:
    return _in("tier", id_, f"{{{written}}}", key, message, hint)


def _peer(id_: str, written: str, key: str, message: str, hint: str) -> Broken:
    return _tier(id_, f"kind: peer memory, stall: 1 s, {written}", key, message, hint)


def _retention(id_: str, written: str, key: str, message: str, hint: str) -> Broken:
    return _in("retention", id_, f"{{{written}}}", key, message, hint)


def _alarms(id_: str, written: str, key: str, message: str, hint: str) -> Broken:
    return _in("watchdog", id_, f"{{false_alarms_per_day: 0.2, {written}}}", key, message, hint)


_OF_CLASSES = [
    _text("classes without a source", "  interruptions: {count: 40, over: 30 d}\n", "", 4, "failures",
          "no source of the failure rate; classes with every or mtbf_per_gpu come on top of it",
          "of all that no class with a rate of its own names"),
    _in("class", "a word", "hang", "", "where a group of keys belongs", "classes[1]: {"),
    _in("class", "a list", "[hang]", "", "a list where a group of keys belongs", "classes[1]: {"),
    _text("classes as a group", "\n    - {kind: hang, share: 10 %}\n    - {kind: silent corruption, share: 5 %}",
          " {hang: 10 %}", 6, "failures.classes", "where a list belongs", "begin each entry with '- '"),
    _text("classes without one", "\n    - {kind: hang, share: 10 %}\n    - {kind: silent corruption, share: 5 %}",
          " []", 6, "failures.classes", "the list is empty", "kind: hang"),
    _class("unknown kind, near", "kind: slow nodes, share: 5 %", ".kind", "not one of crash",
           "did you mean slow node?"),
    _class("unknown kind, far", "kind: gremlin, share: 5 %", ".kind", "not one of crash", "hang, slow node, silent"),
    _class("unknown kind, case", "kind: Hang, share: 5 %", ".kind", "not one of crash", "did you mean hang?"),
    _class("unknown key", "kind: crash, share: 5 %, replce: 2 min", ".replce", "unknown key", "did you mean replace?"),
    _class("unknown key for a rate", "kind: crash, shares: 5 %", ".shares", "unknown key", "did you mean share?"),
    _class("key of its group", "kind: crash, share: 5 %, timeout: 9 min", ".timeout", "unknown key", "watchdog"),
    _class("empty name", "kind: crash, share: 5 %, name: ''", ".name", "empty", "write a name"),
    _class("name that is a list", "kind: crash, share: 5 %, name: [a]", ".name", "a list where a text belongs", "name"),
    _class("share above the whole", "kind: crash, share: 35", ".share", "more than the whole", "35 % or 0.35"),
    _class("share that is negative", "kind: crash, share: -0.1", ".share", "negative", "fraction from 0 to 1"),
    _class("share with a unit", "kind: crash, share: 5 GB", ".share", "not a fraction", "share: 35 %"),
    _class("share without a value", "kind: crash, share: ", ".share", "no value", "share: 35 %"),
    _class("count that is negative", "kind: crash, count: -4", ".count", "negative", "count: 148"),
    _class("count as a range", "kind: crash, count: 3 .. 9", ".count", "makes no sense", "write the number"),
    _class("count in percent", "kind: crash, count: 5 %", ".count", "a pure number has no unit", "write 5"),
    _class("every 0 h", "kind: crash, every: 0 h", ".every", "zero makes no sense", "every: 21 h"),
    _class("every without a unit", "kind: crash, every: 21", ".every", "has no unit", "every: 21 h"),
    _class("mtbf of zero", "kind: crash, mtbf_per_gpu: 0 h", ".mtbf_per_gpu", "zero makes no sense", "500_000 h"),
    _class("mtbf in bytes", "kind: crash, mtbf_per_gpu: 5 GB", ".mtbf_per_gpu", "unit of a size", "500_000 h"),
    _class("detect in months", "kind: crash, share: 5 %, detect: 1 M", ".detect", "minutes, months or milli", "1 min"),
    _class("detect that is negative", "kind: crash, share: 5 %, detect: -1 s", ".detect", "negative", "10 min"),
    _class("delay of no law", "kind: slow node, share: 5 %, detect_delay: gamma", ".detect_delay",
           "not one of exponential, fixed", "exponential, fixed"),
    _class("replace without a unit", "kind: crash, share: 5 %, replace: 120", ".replace", "has no unit", "2 min"),
    _class("initialise in bytes", "kind: crash, share: 5 %, initialise: 1 B", ".initialise", "unit of a size", "3 min"),
    _class("load auto", "kind: crash, share: 5 %, load: auto", ".load", "not a time", "load: 2 min"),
    _class("warm_up of several parts", "kind: crash, share: 5 %, warm_up: 1m30s", ".warm_up", "several parts", "90 s"),
    _class("total as a list", "kind: crash, share: 5 %, total: [1 s]", ".total", "a list where a time belongs",
           "10 min"),
    _class("loses a rack", "kind: crash, share: 5 %, loses: rack", ".loses", "not one of process, memory, node",
           "nodes"),
    _class("loses almost a process", "kind: crash, share: 5 %, loses: proces", ".loses", "not one of", "process?"),
    _class("slowdown of zero", "kind: slow node, share: 5 %, slowdown: 0", ".slowdown", "zero makes no sense", "10 %"),
    _class("slowdown as a time", "kind: slow node, share: 5 %, slowdown: 9 s", ".slowdown", "not a fraction", "10 %"),
    _class("notice that is negative", "kind: preemption, share: 5 %, notice: -9 s", ".notice", "negative", "30 s"),
    _class("back by zero steps", "kind: loss spike, every: 9 d, back_steps: 0", ".back_steps", "zero",
           "back_steps: 100"),
    _class("back by half a step", "kind: loss spike, every: 9 d, back_steps: 9.5", ".back_steps", "whole number",
           "9 or"),
    _class("lag as a time", "kind: loss spike, every: 9 d, lag_steps: 9 s", ".lag_steps", "no unit", "write 9"),
    _class("lag as a range", "kind: loss spike, every: 9 d, lag_steps: 5 .. 9", ".lag_steps", "makes no sense",
           "number"),
    _class("skipped below zero", "kind: loss spike, every: 9 d, skipped_batches: -1", ".skipped_batches", "negative",
           "skipped_batches: 350"),
    _in("watchdog", "a number", "600", "", "where a group of keys belongs", "timeout: 10 min"),
    _alarms("timeout of zero", "timeout: 0 s", ".timeout", "zero makes no sense", "10 min"),
    _alarms("timeout without unit", "timeout: 600", ".timeout", "has no unit", "timeout: 10 min"),
    _in("watchdog", "alarms with a unit", "{false_alarms_per_day: 2 / d}", ".false_alarms_per_day", "no unit",
        "write 2"),
    _in("watchdog", "alarms below zero", "{false_alarms_per_day: -1}", ".false_alarms_per_day", "negative", "0.2"),
    _alarms("seen at zero", "seen_at: 0 s", ".seen_at", "zero makes no sense", "5 min"),
    _alarms("decay of zero", "decay: 0 s", ".decay", "zero makes no sense", "60 s"),
    _alarms("unknown key", "timout: 9 min", ".timout", "unknown key", "did you mean timeout?"),
]  # fmt: skip

_OF_TIERS = [
    _in("tier", "a word", "peer memory", "", "where a group of keys belongs", "kind: host memory"),
    _tier("no kind", "stall: 5 s", ".kind", "missing", "host memory or peer memory or local ssd"),
    _tier("unknown kind, near", "kind: localssd, stall: 5 s", ".kind", "not one of host memory", "mean local ssd?"),
    _tier("unknown kind, far", "kind: tape, stall: 5 s", ".kind", "not one of host memory", "object store"),
    _tier("unknown key", "kind: local ssd, bandwith: 5 GB/s", ".bandwith", "unknown key", "did you mean bandwidth?"),
    _tier("key of storage", "kind: local ssd, stall: 1 s, write_bandwidth_per_writer: 1 TB/s",
          ".write_bandwidth_per_writer", "unknown key", "did you mean"),
    _tier("written lazily", "kind: local ssd, write: lazily, stall: 1 s", ".write", "not one of blocking, background",
          "blocking, background"),
    _tier("almost in the background", "kind: local ssd, write: backgrund, drain: 1 s", ".write", "not one of",
          "did you mean background?"),
    _tier("stall without a unit", "kind: local ssd, stall: 5", ".stall", "has no unit", "stall: 5 s"),
    _tier("stall below zero", "kind: local ssd, stall: -5 s", ".stall", "negative", "stall: 5 s"),
    _tier("drain in bytes", "kind: local ssd, write: background, drain: 5 GB", ".drain", "unit of a size", "2 min"),
    _tier("speed above one", "kind: local ssd, write: background, drain: 9 s, training_speed_while_draining: 98",
          ".training_speed_while_draining", "more than the whole", "98 %"),
    _tier("bandwidth as a size", "kind: local ssd, bandwidth: 5 GB", ".bandwidth", "a rate is wanted", "5 GB/s"),
    _tier("bandwidth of zero", "kind: local ssd, bandwidth: 0 GB/s", ".bandwidth", "zero makes no sense", "2 TB/s"),
    _tier("bits or bytes of a node", "kind: local ssd, bandwidth_per_node: 5 Gb/s", ".bandwidth_per_node",
          "bits or bytes", "5 GB/s"),
    _tier("bandwidth of a GPU in lower case", "kind: local ssd, bandwidth_per_gpu: 25 gb/s", ".bandwidth_per_gpu",
          "case-sensitive", "25 GB/s"),
    _tier("read bandwidth without a unit", "kind: local ssd, stall: 1 s, read_bandwidth: 5e9", ".read_bandwidth",
          "has no unit", "2 TB/s"),
    _tier("read bandwidth of a node as a time", "kind: local ssd, stall: 1 s, read_bandwidth_per_node: 5 s",
          ".read_bandwidth_per_node", "unit of a time", "10 GB/s"),
    _tier("latency without a unit", "kind: local ssd, stall: 1 s, latency: 2", ".latency", "has no unit", "2 s"),
    _tier("load auto", "kind: local ssd, stall: 1 s, load: auto", ".load", "not a time", "load: 10 s"),
    _tier("capacity as a rate", "kind: local ssd, stall: 1 s, capacity: 2 PB/s", ".capacity", "a size is wanted",
          "2 PB"),
    _tier("capacity of zero", "kind: local ssd, stall: 1 s, capacity: 0 PB", ".capacity", "zero makes no sense",
          "2 PB"),
    _tier("capacity of a node, bits or bytes", "kind: local ssd, stall: 1 s, capacity_per_node: 2 Tb",
          ".capacity_per_node", "bits or bytes", "2 TB"),
    _tier("survives a group", "kind: local ssd, stall: 1 s, survives: {hang: true}", ".survives",
          "a group of keys where a name belongs", "[crash, hang]"),
    _tier("survives nothing", "kind: local ssd, stall: 1 s, survives: []", ".survives", "empty", "[crash, hang]"),
    _tier("survives null", "kind: local ssd, stall: 1 s, survives: [hang, null]", ".survives", "where a name belongs",
          "[crash, hang]"),
    _tier("survives a list in a list", "kind: local ssd, stall: 1 s, survives: [[hang]]", ".survives",
          "a list where a name belongs", "[crash, hang]"),
    _peer("replicas of zero", "replicas: 0", ".replicas", "zero makes no sense", "replicas: 2"),
    _peer("replicas and a half", "replicas: 2.5", ".replicas", "not a whole number", "2 or 3"),
    _peer("replicas as a range", "replicas: 2 .. 3", ".replicas", "makes no sense", "write the number"),
    _peer("no node lost at once", "lost_at_once: 0", ".lost_at_once", "zero makes no sense", "lost_at_once: 2"),
    _peer("simultaneous above one", "simultaneous: 5", ".simultaneous", "more than the whole", "5 %"),
    _tier("endurance as a rate", "kind: local ssd, stall: 1 s, endurance_per_node: 5 PB/s", ".endurance_per_node",
          "a size is wanted", "5 PB"),
    _tier("endurance of zero", "kind: local ssd, stall: 1 s, endurance_per_node: 0 PB", ".endurance_per_node", "zero",
          "56 PB"),
]  # fmt: skip

_OF_GUARDS = [
    _in("verification", "a time", "30 s", "", "where a group of keys belongs", "verification: {time: 30 s}"),
    _in("verification", "no time", "{per_save: 2}", ".time", "missing", "time: 30 s"),
    _in("verification", "no keys", "null", ".time", "missing", "time: 30 s"),
    _in("verification", "time of zero", "{time: 0 s}", ".time", "zero makes no sense", "30 s"),
    _in("verification", "time without a unit", "{time: 30}", ".time", "has no unit", "time: 30 s"),
    _in("verification", "no check", "{time: 30 s, per_save: 0}", ".per_save", "zero makes no sense", "per_save: 1"),
    _in("verification", "half a check", "{time: 30 s, per_save: 0.5}", ".per_save", "not a whole number", "1 or more"),
    _in("verification", "unknown key", "{time: 30 s, per_saves: 1}", ".per_saves", "unknown key", "per_save?"),
    _in("retention", "a number", "10", "", "where a group of keys belongs", "retention: {"),
    _retention("keep none", "keep: 0", ".keep", "zero makes no sense", "keep: 10"),
    _retention("keep a time", "keep: 6 h", ".keep", "no unit", "write 6"),
    _retention("keep for zero time", "keep_all: 0 h", ".keep_all", "zero makes no sense", "6 h"),
    _retention("archive without a unit", "keep_all: 6 h, archive_every: 1", ".archive_every", "has no unit", "1 d"),
    _retention("probability above one", "probability: 100.5 %", ".probability", "more than the whole", "99.9 %"),
    _retention("probability of zero", "probability: 0", ".probability", "zero makes no sense", "99.9 %"),
    _retention("probability as a range", "probability: 99 % .. 99.9 %", ".probability", "makes no sense", "the number"),
    _retention("capacity as a rate", "keep: 9, capacity: 5 TB/s", ".capacity", "a size is wanted", "5 TB"),
    _retention("unknown key", "keep: 9, keeps: 3", ".keeps", "unknown key", "did you mean keep?"),
    _in("spares", "a number", "8", "", "where a group of keys belongs", "nodes: 8, repair: 12 h"),
    _in("spares", "no repair", "{nodes: 8}", ".repair", "missing", "repair: 12 h"),
    _in("spares", "no nodes", "{repair: 12 h}", ".nodes", "missing", "nodes: 8"),
    _in("spares", "nodes below zero", "{nodes: -1, repair: 12 h}", ".nodes", "negative", "nodes: 8"),
    _in("spares", "nodes as a range", "{nodes: 4 .. 8, repair: 12 h}", ".nodes", "makes no sense", "write the number"),
    _in("spares", "nodes with a unit", "{nodes: 8 nodes, repair: 12 h}", ".nodes", "no unit", "write 8"),
    _in("spares", "repair of zero", "{nodes: 8, repair: 0 h}", ".repair", "zero makes no sense", "12 h"),
    _in("spares", "repair without a unit", "{nodes: 8, repair: 12}", ".repair", "has no unit", "repair: 12 h"),
    _in("spares", "waiting above one", "{nodes: 8, repair: 12 h, most_waiting: 5}", ".most_waiting", "the whole",
        "5 %"),
    _in("spares", "waiting never", "{nodes: 8, repair: 12 h, most_waiting: 0}", ".most_waiting", "zero", "1 %"),
    _in("spares", "failing at times", "{nodes: 8, repair: 12 h, failing: sometimes}", ".failing",
        "not one of running, always", "running, always"),
    _in("spares", "reshard of zero", "{nodes: 8, repair: 12 h, reshard: 0 s}", ".reshard", "zero makes no sense",
        "2 min"),
    _in("prediction", "no precision", "{recall: 60 %}", ".precision", "missing", "precision: 80 %"),
    _in("prediction", "no recall", "{precision: 80 %}", ".recall", "missing", "recall: 60 %"),
    _in("prediction", "recall above one", "{recall: 60, precision: 80 %}", ".recall", "more than the whole", "60 %"),
    _in("prediction", "precision above one", "{recall: 60 %, precision: 1.5}", ".precision", "the whole",
        "from 0 to 1"),
    _in("prediction", "recall of zero", "{recall: 0, precision: 80 %}", ".recall", "zero makes no sense", "60 %"),
    _in("prediction", "precision of zero", "{recall: 60 %, precision: 0 %}", ".precision", "zero makes no sense",
        "80 %"),
    _in("prediction", "save of zero", "{recall: 60 %, precision: 80 %, save: 0 s}", ".save", "zero", "60 s"),
    _in("prediction", "save without a unit", "{recall: 60 %, precision: 80 %, save: 60}", ".save", "has no unit",
        "60 s"),
    _in("power", "a number", "700 W", "", "where a group of keys belongs", "compute: 1.1 kW"),
    _in("power", "no restart", "{compute: 700 W, save: 500 W}", ".restart", "missing", "restart: 300 W"),
    _in("power", "no unit", "{compute: 700, save: 500 W, restart: 300 W}", ".compute", "has no unit", "1.1 kW"),
    _in("power", "lower case", "{compute: 1.1 kw, save: 500 W, restart: 300 W}", ".compute", "case-sensitive",
        "1.1 kW"),
    _in("power", "horses", "{compute: 1 hp, save: 500 W, restart: 300 W}", ".compute", "not a unit of power", "1.1 kW"),
    _in("power", "energy", "{compute: 700 W, save: 500 Wh, restart: 300 W}", ".save", "not a unit of power", "600 W"),
    _in("power", "a time", "{compute: 700 W, save: 500 W, restart: 300 s}", ".restart", "unit of a time", "300 W"),
    _in("power", "none in work", "{compute: 0 W, save: 500 W, restart: 300 W}", ".compute", "zero", "1.1 kW"),
    _in("power", "below zero", "{compute: 700 W, save: -1 W, restart: 300 W}", ".save", "negative", "600 W"),
    _in("power", "beyond reason", "{compute: 1e30 W, save: 1 W, restart: 1 W}", ".compute", "1e-18 to 1e+24 W", "kW"),
    _in("training", "noise above one", "{step_time: 5 s, step_noise: 2}", ".step_noise", "more than the whole", "2 %"),
    _in("training", "noise of no law", "{step_time: 5 s, step_noise: 2 %, noise: pink}", ".noise",
        "not one of normal, exponential", "normal, exponential"),
    _in("training", "exponent of zero", "{step_time: 5 s, scaling_exponent: 0}", ".scaling_exponent", "zero", "0.95"),
    _in("training", "exponent above one", "{step_time: 5 s, scaling_exponent: 1.2}", ".scaling_exponent", "the whole",
        "from 0 to 1"),
    _in("training", "batch of zero", "{step_time: 5 s, global_batch: 0}", ".global_batch", "zero", "2048"),
    _in("training", "half a micro-batch", "{step_time: 5 s, global_batch: 2048, micro_batch: 0.5}", ".micro_batch",
        "not a whole number", "1 or more"),
]  # fmt: skip

# Wrong by themselves. A text is not weighed by a schema.
_WEIGHED = {"power: beyond reason"}
FAULTY_VALUES = [row for row in [*_OF_CLASSES, *_OF_TIERS, *_OF_GUARDS] if row.id not in _WEIGHED]
FAULTY_WEIGHTS = [row for row in _OF_GUARDS if row.id in _WEIGHED]
