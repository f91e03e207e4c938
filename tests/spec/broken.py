"""Specs that are wrong in one way each, with where and how the fault must be reported."""

from __future__ import annotations

from dataclasses import dataclass

GOOD = """\
name: a run
model: {parameters: 70e9, state: adam-14}
cluster: {gpus: 512, gpus_per_node: 8, layout: {tensor: 8, pipeline: 4, data: 16, shard: zero1}}
failures: {mtbf_per_gpu: 50_000 h}
storage: {write_bandwidth: 10 GB/s, read_bandwidth: 20 GB/s}
save:
  - {name: sharded, mode: sharded}
  - {name: async, mode: asynchronous, stall: 1 s}
restart: {total: 10 min}
training: {step_time: 5 s, duration: 30 d}
"""


@dataclass(frozen=True)
class Broken:
    """A fault: the bytes, the line (None: no position in the text), the key, and phrases of message and hint."""

    id: str
    data: bytes
    line: int | None
    key: str | None
    message: str
    hint: str


def _row(id_: str, old: str, new: str, line: int | None, key: str | None, message: str, hint: str) -> Broken:
    assert GOOD.count(old) == 1, (id_, old)
    return Broken(id_, GOOD.replace(old, new).encode(), line, key, message, hint)


_STEP = ("step_time: 5 s", "training.step_time", 10)
_WRITE = ("write_bandwidth: 10 GB/s", "storage.write_bandwidth", 5)
_PARAMETERS = ("parameters: 70e9", "model.parameters", 2)
_GPUS = ("gpus: 512", "cluster.gpus", 3)
_MTBF = ("mtbf_per_gpu: 50_000 h", "failures.mtbf_per_gpu", 4)
_TOTAL = ("{total: 10 min}", "restart", 9)
_LAYOUT = ("{tensor: 8, pipeline: 4, data: 16, shard: zero1}", "cluster.layout", 3)
_ASYNC = ("mode: asynchronous, stall: 1 s", "save[1]", 8)


def _value(of: tuple[str, str, int], id_: str, value: str, message: str, hint: str) -> Broken:
    """The value of one key replaced."""
    old, key, line = of
    return _row(id_, old, f"{old.partition(':')[0]}: {value}", line, key, message, hint)


_UNITS = [
    _value(_STEP, "time without unit", "5", "has no unit", "5 s"),
    _value(_STEP, "quoted time without unit", "'5'", "has no unit", "5 s"),
    _value(_STEP, "bare m", "5 m", "minutes, months or milli", "5 min"),
    _value(_STEP, "bare M", "5 M", "minutes, months or milli", "5 ms"),
    _value(_STEP, "months", "2 months", "no fixed length", "60 d"),
    _value(_STEP, "compound duration", "1h30m", "several parts", "5400 s"),
    _value(_STEP, "clock duration", "10:30", "several parts", "one number and one unit"),
    _value(_STEP, "wrong case", "5 S", "case-sensitive", "5 s"),
    _value(_STEP, "unknown time unit", "5 parsec", "not a unit of time", "5 s"),
    _value(_STEP, "size for time", "5 GB", "unit of a size", "5 s"),
    _value(_STEP, "thousands comma", "'50,000 h'", "comma", "50_000 h"),
    _value(_STEP, "decimal comma", "'1,5 h'", "comma", "1.5 h"),
    _value(_STEP, "words", "five seconds", "not a time", "5 s"),
    _value(_STEP, "auto where no auto is", "auto", "not a time", "5 s"),
    _value(_WRITE, "bits or bytes", "10 Gb/s", "bits or bytes", "10 Gbit/s or 10 GB/s"),
    _value(_WRITE, "bits or bytes, ps", "10 Gbps", "bits or bytes", "10 GB/s"),
    _value(_WRITE, "lower case gbps", "1 gbps", "case-sensitive", "1 Gbit/s or 1 GB/s"),
    _value(_WRITE, "lower case kb/s", "1 kb/s", "bits or bytes", "1 kbit/s or 1 kB/s"),
    _value(_WRITE, "bytes ps", "10 GBps", "not a unit here", "10 GB/s"),
    _value(_WRITE, "per second missing", "10 GB", "a rate is wanted", "10 GB/s"),
    _value(_WRITE, "lower case rate", "10 gb/s", "case-sensitive", "10 GB/s"),
    _value(_WRITE, "KB", "10 KB/s", "case-sensitive", "10 kB/s or 10 KiB/s"),
    _value(_WRITE, "per minute", "10 GB/min", "not a unit of rate", "per second"),
    _value(_WRITE, "rate without unit", "10e9", "has no unit", "2 TB/s"),
    _value(_PARAMETERS, "billions", "70B", "not part of a number", "70e9"),
    _value(_PARAMETERS, "comma in a number", "'70,000,000,000'", "comma", "70_000_000_000"),
    _value(_GPUS, "unit on a pure number", "512 GPUs", "no unit", "512"),
    _row("per second superfluous", "gpus_per_node: 8", "gpus_per_node: 8, host_memory_per_node: 2 TB/s", 3,
         "cluster.host_memory_per_node", "a size is wanted", "2 TB"),
    _row("percent above one", *(_ASYNC[0], f"{_ASYNC[0]}, training_speed_while_flushing: 95"), 8,
         "save[1].training_speed_while_flushing", "more than the whole", "95 %"),
    _row("rate per 1000 node-days", "mtbf_per_gpu: 50_000 h", "rate_per_node_day: 6.5 per 1000 node-days", 4,
         "failures.rate_per_node_day", "no unit", "6.5e-3"),
]  # fmt: skip

_NUMBERS = [
    _value(_PARAMETERS, "zero parameters", "0", "zero", "405e9"),
    _value(_PARAMETERS, "negative parameters", "-70e9", "negative", "405e9"),
    _value(_PARAMETERS, "nan parameters", ".nan", "not a finite number", "405e9"),
    _value(_PARAMETERS, "infinite parameters", ".inf", "not a finite number", "405e9"),
    _value(_PARAMETERS, "number too large for a float", "1e999", "not a finite number", "405e9"),
    _value(_PARAMETERS, "beyond reason", "1e200", "outside all reason", "405e9"),
    _value(_PARAMETERS, "less than one parameter", "0.5", "fewer parameters than one", "405e9"),
    _value(_GPUS, "zero gpus", "0", "zero", "16384"),
    _value(_GPUS, "negative gpus", "-8", "negative", "gpus: 16384"),
    _value(_GPUS, "half a gpu", "512.5", "not a whole number", "512 or 513"),
    _value(_GPUS, "letter O", "1O24", "1O24 is not a number", "write 1024, with digits only"),
    _value(_GPUS, "letter O before the digits", "1OO", "is not a number", "write 100,"),
    _value(_MTBF, "time beyond reason", "1e300y", "1e300y is outside all reason: 1e-18 to 1e+24 s", "50_000 h"),
    _value(_GPUS, "too many gpus", "1e12", "more than", "digit"),
    _value(_GPUS, "infinite gpus", "inf", "not a finite number", "16384"),
    _value(_MTBF, "zero mtbf", "0 h", "zero", "50_000 h"),
    _value(_MTBF, "negative mtbf", "-3 h", "negative", "50_000 h"),
    _value(_MTBF, "nan mtbf", "nan", "not a finite number", "50_000 h"),
    _value(_MTBF, "infinite mtbf", "inf h", "not a time", "50_000 h"),
    _value(_WRITE, "zero bandwidth", "0 GB/s", "zero", "2 TB/s"),
    _value(_STEP, "zero step", "0 s", "zero", "5 s"),
    _row("zero stall", "stall: 1 s", "stall: 0 s", 8, "save[1].stall", "zero", "100 ms"),
    _row("word for load", "{total: 10 min}", "{load: automatic}", 9, "restart.load", "not a time",
         "write auto, or a time with its unit such as 2 min"),
    _row("negative phase", "{total: 10 min}", "{detect: -1 s}", 9, "restart.detect", "negative", "60 s"),
]  # fmt: skip

_TYPES = [
    _value(_PARAMETERS, "list for a number", "[70e9]", "a list where a number belongs", "405e9"),
    _value(_PARAMETERS, "group for a number", "{billions: 70}", "a group of keys where a number", "405e9"),
    _value(_PARAMETERS, "truth value for a number", "true", "true is not a number", "405e9"),
    _value(_PARAMETERS, "null for a number", "null", "no value", "405e9"),
    _value(_STEP, "no is not false", "no", "not a time", "5 s"),
    _row("scalar for a group", "cluster: {gpus: 512, gpus_per_node: 8, "
         "layout: {tensor: 8, pipeline: 4, data: 16, shard: zero1}}", "cluster: 512", 3, "cluster",
         "where a group of keys belongs", "gpus"),
    _row("list for a group", "restart: {total: 10 min}", "restart: [10 min]", 9, "restart",
         "a list where a group of keys belongs", "restart"),
    _row("group for the list of strategies",
         "save:\n  - {name: sharded, mode: sharded}\n  - {name: async, mode: asynchronous, stall: 1 s}",
         "save: {mode: sharded}", 6, "save", "where a list belongs", "- "),
    _row("empty list of strategies",
         "save:\n  - {name: sharded, mode: sharded}\n  - {name: async, mode: asynchronous, stall: 1 s}",
         "save: []", 6, "save", "empty", "mode"),
    _row("no strategies",
         "save:\n  - {name: sharded, mode: sharded}\n  - {name: async, mode: asynchronous, stall: 1 s}\n",
         "", 1, "save", "missing", "mode"),
    _row("text for a strategy", "- {name: sharded, mode: sharded}", "- sharded", 7, "save[0]",
         "where a group of keys belongs", "name"),
    _row("unknown mode", "mode: sharded", "mode: shardedd", 7, "save[0].mode", "not one of", "did you mean sharded"),
    _row("unknown shard", "shard: zero1", "shard: zero4", 3, "cluster.layout.shard", "not one of", "did you mean zero"),
    _row("group for state", "state: adam-14", "state: {bytes_per_parameter: 14}", 2, "model.state",
         "where a ledger or a list belongs", "- "),
    _row("empty state", "state: adam-14", "state: []", 2, "model.state", "empty", "adam-14"),
    _row("state without bytes", "state: adam-14", "state: [{name: weights}]", 2, "model.state[0]",
         "is missing", "bytes_per_parameter: 4"),
    _row("state with both sizes", "state: adam-14", "state: [{name: w, bytes_per_parameter: 2, bytes: 3}]", 2,
         "model.state[0]", "both", "one of them"),
    _row("state twice", "state: adam-14",
         "state: [{name: w, bytes_per_parameter: 2}, {name: w, bytes_per_parameter: 4}]", 2,
         "model.state", "listed twice", "own name"),
    _row("empty name", "name: a run", "name: ''", 1, "name", "empty", "name"),
    Broken("a text alone", b"adam-14\n", 1, None, "a spec is a group of keys", "spec init"),
    Broken("a list alone", b"- a\n- b\n", 1, None, "a spec is a group of keys", "spec init"),
]  # fmt: skip

_KEYS = [
    _row("unknown key, near", "write_bandwidth:", "write_bandwith:", 5, "storage.write_bandwith", "unknown key",
         "did you mean write_bandwidth?"),
    _row("unknown key, hyphens", "write_bandwidth:", "write-bandwidth:", 5, "storage.write-bandwidth", "unknown key",
         "did you mean write_bandwidth?"),
    _row("unknown group", "training:", "trainning:", 10, "trainning", "unknown key", "did you mean training?"),
    _row("unknown key, far", "name: a run", "colour: blue", 1, "colour", "unknown key", "keys here: name, model, "),
    _row("unknown key of a group, far", "read_bandwidth", "colour", 5, "storage.colour", "unknown key",
         "keys here: preset, write_bandwidth, "),
    _row("key of another group", "name: a run", "step_time: 5 s", 1, "step_time", "unknown key", "under training"),
    _row("preset where there are none", "step_time: 5 s", "preset: fast", 10, "training.preset", "unknown key", ""),
    _row("key given twice", "name: a run", "name: a run\nname: b", 2, "name", "given twice, first in line 1", "one"),
    _row("key given twice deep", "gpus: 512", "gpus: 512, gpus: 256", 3, "cluster.gpus", "given twice", "keep one"),
    _row("key given twice in a list", "{name: sharded, mode: sharded}", "{mode: sharded, mode: gathered}", 7,
         "save[0].mode", "given twice", "keep one"),
    _row("parameters missing", "parameters: 70e9, ", "", 2, "model.parameters", "missing", "parameters: 405e9"),
    _row("two sources of the model", "parameters: 70e9", "parameters: 70e9, config: config.json", 2, "model",
         "parameters and config are given", "keep one"),
    _row("three sources of the model", "parameters: 70e9", "checkpoint: a, parameters: 70e9, config: b", 2, "model",
         "checkpoint and parameters and config are given", "keep one"),
    _row("config that is a group of keys", "parameters: 70e9", "config: {a: 1}", 2, "model.config", "a group of keys",
         "./config.json"),
    _row("config that is empty", "parameters: 70e9", "config: ''", 2, "model.config", "empty", "name"),
    _row("checkpoint without a value", "parameters: 70e9", "checkpoint: ", 2, "model.checkpoint", "no value", "leave"),
    _row("config in a spec that is no file", "parameters: 70e9", "config: config.json", 2, "model.config",
         "only through ckptplan.load", "as a file"),
    _row("layers of fewer stages", "pipeline: 4", "pipeline: 4, layers_per_stage: [7, 8, 8]", 3,
         "cluster.layout.layers_per_stage", "layers of 3 stages, but pipeline is 4", "each stage"),
    _row("layers that are no list", "pipeline: 4", "pipeline: 4, layers_per_stage: 8", 3,
         "cluster.layout.layers_per_stage", "the value 8", "[7, 8, 8, 7]"),
    _row("layers that are an empty list", "pipeline: 4", "pipeline: 4, layers_per_stage: []", 3,
         "cluster.layout.layers_per_stage", "empty", "[7, 8, 8, 7]"),
    _row("layers that are no numbers", "pipeline: 4", "pipeline: 4, layers_per_stage: [7, 8, eight, 7]", 3,
         "cluster.layout.layers_per_stage", "not a number", "layers_per_stage: "),
    _row("layers that are a list of lists", "pipeline: 4", "pipeline: 4, layers_per_stage: [[7, 8, 8, 7]]", 3,
         "cluster.layout.layers_per_stage", "a list where", "[7, 8, 8, 7]"),
    _row("a stage without a layer", "pipeline: 4", "pipeline: 4, layers_per_stage: [7, 8, 0, 7]", 3,
         "cluster.layout.layers_per_stage", "zero", "layers_per_stage: "),
    _row("cluster missing", "cluster: {gpus: 512, gpus_per_node: 8, "
         "layout: {tensor: 8, pipeline: 4, data: 16, shard: zero1}}\n", "", 1, "cluster", "missing", "gpus: 16384"),
    _row("unknown ledger", "state: adam-14", "state: adam14", 2, "model.state", "no ledger", "did you mean adam-14?"),
    _row("unknown ledger of Adam", "state: adam-14", "state: adam-15", 2, "model.state", "no ledger",
         "did you mean adam-14, the default? ledgers: adam-12, adam-14"),
    _row("ledger of Adam, other signs", "state: adam-14", "state: adam18", 2, "model.state", "no ledger",
         "did you mean adam-18?"),
    _row("optimizer for a ledger", "state: adam-14", "state: adamw", 2, "model.state", "no ledger", "adam-14, the"),
    _row("unknown listed state", "state: adam-14", "state: [adam-14, emma]", 2, "model.state[1]", "no ledger", "ema"),
    _row("unknown preset", "{total: 10 min}", "{preset: crush}", 9, "restart.preset", "no preset", "crash"),
    _row("unknown storage preset", "{write_bandwidth: 10 GB/s, read_bandwidth: 20 GB/s}", "{preset: lustre-lage}", 5,
         "storage.preset", "no preset", "did you mean lustre-large?"),
    _row("unknown preset, far", "{write_bandwidth: 10 GB/s, read_bandwidth: 20 GB/s}", "{preset: zzz}", 5,
         "storage.preset", "no preset", "tectonic"),
]  # fmt: skip

_CHECKS = [
    _row("no failure source", "{mtbf_per_gpu: 50_000 h}", "{}", 4, "failures", "no source", "mtbf_per_gpu: 50_000 h"),
    _row("two failure sources", "{mtbf_per_gpu: 50_000 h}", "{mtbf_per_gpu: 50_000 h, mtbf: 3 h}", 4, "failures",
         "mtbf_per_gpu and mtbf are given", "keep"),
    _row("interruptions incomplete", "{mtbf_per_gpu: 50_000 h}", "{interruptions: {count: 419}}", 4,
         "failures.interruptions.over", "missing", "over: 54 d"),
    _row("layout product", "data: 16", "data: 15", 3, "cluster.layout",
         "tensor 8 x pipeline 4 x data 15 = 480 GPUs, but cluster.gpus is 512", "data: 16"),
    _row("layout does not divide", _LAYOUT[0], "{tensor: 7}", 3, "cluster.layout", "do not divide by tensor 7", "511"),
    _row("layout above gpus", _LAYOUT[0], "{tensor: 1024}", 3, "cluster.layout", "do not divide", "1024"),
    _row("hsdp undecided", _LAYOUT[0], "{shard: hsdp}", 3, "cluster.layout", "needs data or replicas", "data"),
    _row("expert does not divide", "shard: zero1", "shard: zero1, expert: 3", 3, "cluster.layout.expert",
         "does not divide data 16", "divisor"),
    _row("more experts than parameters", "parameters: 70e9", "parameters: 70e9, expert_parameters: 80e9", 2,
         "model.expert_parameters", "more than model.parameters", "part of"),
    _row("peak below sustained", "read_bandwidth: 20 GB/s", "peak_write_bandwidth: 1 GB/s", 5,
         "storage.peak_write_bandwidth", "below the sustained", "exchanged"),
    _row("names not unique", "name: async", "name: sharded", 8, "save[1].name", "taken by save[0]", "own name"),
    _row("default names not unique", "{name: async, mode: asynchronous, stall: 1 s}", "{stall: 3 s}", 8, "save[1]",
         "taken by save[0]", "own name"),
    _row("flush of a synchronous save", "mode: sharded", "mode: sharded, flush: 9 s", 7, "save[0].flush",
         "belongs to mode asynchronous", "mode: asynchronous"),
    _row("copy bandwidth of a synchronous save", "mode: sharded", "mode: gathered, copy_bandwidth: 9 GB/s", 7,
         "save[0].copy_bandwidth", "belongs to mode asynchronous", "mode: asynchronous"),
    Broken("nothing to compute a stall from",
           GOOD.replace("write_bandwidth: 10 GB/s, ", "").replace("stall: 1 s", "flush: 9 s").encode(), 7,
           "save[0]", "stall is not given", "write_bandwidth: 10 GB/s"),
    Broken("nothing to compute a flush from",
           GOOD.replace("write_bandwidth: 10 GB/s, ", "").replace("mode: sharded", "stall: 9 s").encode(), 8,
           "save[1]", "flush is not given", "flush: 60 s"),
    _row("total and phases", "{total: 10 min}", "{total: 10 min, detect: 60 s}", 9, "restart.total",
         "total and detect", "keep"),
    Broken("load auto without a read bandwidth",
           GOOD.replace(", read_bandwidth: 20 GB/s", "").replace("{total: 10 min}", "{load: auto}").encode(), 9,
           "restart.load", "auto needs storage.read_bandwidth", "20 GB/s"),
    _row("per contradicts", "state: adam-14", "state: [{name: w, bytes_per_parameter: 2, per: job}]", 2,
         "model.state[0].per", "yet per job", "bytes"),
    _row("unknown strike", "training:", "assume: {failures_strike: never}\ntraining:", 10, "assume.failures_strike",
         "not one of safe, R, DR", "safe, R, DR"),
]  # fmt: skip


def _levels(count: int) -> bytes:
    return b"model: " + b"[" * count + b"]" * count + b"\n"


def _bomb() -> bytes:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    return "\n".join(lines).encode()


_TEXTS = [
    Broken("empty file", b"", None, None, "empty", "spec init"),
    Broken("comments only", b"# nothing\n", None, None, "empty", "spec init"),
    Broken("null document", b"---\n...\n", 2, None, "a spec is a group of keys", "spec init"),
    Broken("several documents", GOOD.encode() + b"---\n" + GOOD.encode(), 11, None, "a second document", "keep one"),
    Broken("utf-16", GOOD.encode("utf-16"), None, None, "UTF-16", "UTF-8"),
    Broken("utf-16 without mark", GOOD.encode("utf-16-le"), None, None, "UTF-16", "UTF-8"),
    Broken("utf-16, other order", GOOD.encode("utf-16-be"), None, None, "UTF-16", "UTF-8"),
    Broken("utf-32", GOOD.encode("utf-32"), None, None, "UTF-16 or UTF-32", "UTF-8"),
    Broken("latin-1", GOOD.replace("a run", "caf\xe9").encode("latin-1"), 1, None, "0xE9 is not UTF-8", "UTF-8"),
    Broken("nul byte", GOOD.replace("a run", "a\0run").encode(), 1, None, "control character (U+0000)", "delete"),
    Broken("escape character", GOOD.replace("total", "to\x1btal").encode(), 9, None, "control character", "delete"),
    Broken(
        "invisible letter",
        GOOD.replace("name: sharded", 'name: "a\\u200bb"').encode(),
        7,
        "save[0].name",
        "an invisible character (U+200B)",
        "without this character",
    ),
    Broken(
        "escape in a name",
        GOOD.replace("name: sharded", 'name: "a\\eb"').encode(),
        7,
        "save[0].name",
        "a control character (U+001B)",
        "without this character",
    ),
    Broken(
        "line break in a name",
        GOOD.replace("name: sharded", 'name: "a\\nb"').encode(),
        7,
        "save[0].name",
        "a line break (U+000A)",
        "one line",
    ),
    Broken(
        "line separator in a name",
        GOOD.replace("name: sharded", 'name: "a\\Lb"').encode(),
        7,
        "save[0].name",
        "a line break (U+2028)",
        "one line",
    ),
    Broken(
        "wide blank in a name",
        GOOD.replace("name: sharded", 'name: "a\\u3000b"').encode(),
        7,
        "save[0].name",
        "an unusual blank (U+3000)",
        "without this character",
    ),
    Broken(
        "letter for private use in a name",
        GOOD.replace("name: sharded", 'name: "a\\ue000b"').encode(),
        7,
        "save[0].name",
        "an unprintable character (U+E000)",
        "without this character",
    ),
    Broken("tab indentation", b"model:\n\tparameters: 70e9\n", 2, None, "cannot start a value", "spaces"),
    Broken("unclosed bracket", b"model: [1, 2\n", 2, None, "not closed", "close"),
    Broken("unclosed quote", b"name: 'a run\n", 2, None, "not closed", "close the quote"),
    Broken("bracket in a text", b"name: [bold]x\nmodel: {}\n", 1, None, "key was expected", "begins with [ or {"),
    Broken("second colon", b"name: a: b\n", 1, None, "second colon", "quote"),
    Broken("no colon", b"name a run\nmodel: {}\n", 2, None, "colon", "key"),
    Broken("tag", GOOD.replace("70e9", "!!float 70e9").encode(), 2, None, "tags such as !!float", "delete the tag"),
    Broken("python tag", b"!!python/object/apply:os.system [ls]\n", 1, None, "tags such as", "delete the tag"),
    Broken("custom tag", GOOD.replace("70e9", "!billion 70").encode(), 2, None, "tags such as !billion", "delete"),
    Broken("merge key", b"base: &b {total: 10 min}\nrestart:\n  <<: *b\n", 3, None, "merge keys", "preset"),
    Broken("alias bomb", _bomb(), 5, None, "more than 20,000 values", "hundred"),
    Broken("alias of itself", b"model: &m [*m]\n", 1, None, "contains itself", "write the value"),
    Broken("alias without anchor", b"model: *nobody\n", 1, None, "no anchor", "quote"),
    Broken("200 levels", _levels(200), 1, None, "more than 32 levels", "four levels"),
    Broken("100,000 levels", _levels(100_000), 1, None, "more than 32 levels", "four levels"),
    Broken("many values", b"a: [" + b"1, " * 100_000 + b"1]\n", 1, None, "more than 20,000 values", "hundred"),
    Broken("huge file", GOOD.encode() + b"#" * (1 << 20), None, None, "larger than 1 MiB", "right file"),
    Broken("list as key", b"[a, b]: c\n", 1, None, "cannot be a key", "key: value"),
    Broken("binary", bytes(range(128, 256)), 1, None, "not UTF-8", "UTF-8"),
]

BROKEN: list[Broken] = [*_UNITS, *_NUMBERS, *_TYPES, *_KEYS, *_CHECKS, *_TEXTS]
