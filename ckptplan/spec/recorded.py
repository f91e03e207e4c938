"""A record of failures that the spec names, as the source of the rate, of classes and of the restart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ckptplan.cost.scenario import EXPONENTIAL, Evidence, Failures, Law
from ckptplan.fit.counting import COUNTED, MERGE_S, Counting, Per
from ckptplan.fit.record import Outcome
from ckptplan.spec.hints import nearest, shown
from ckptplan.spec.named_files import read_named
from ckptplan.spec.schema_record import RECORD, ROLES
from ckptplan.spec.tree import ListNode, Node, ScalarNode
from ckptplan.units import format_time

if TYPE_CHECKING:
    from ckptplan.cost.classes import FailureClass
    from ckptplan.cost.scenario import Cluster
    from ckptplan.fit.planning import RecordedFailures
    from ckptplan.spec.record import Record

_GROUP = "failures.record"
# Options of the command line as keys of a spec, where they have another name.
_KEYS = {"tz": "zone", "recent": "part: recent", "recorded-gpus": "gpus", "as": "format", "column": "columns"}
# Keys that only a reader needs, as they are written.
_FOR_THE_READER = (
    "format",
    "zone",
    "unit",
    "date_order",
    "since",
    "until",
    "nodes",
    "minimum_run",
    "job_name",
    "user",
    "account",
    "partition",
)


def build_recorded(
    record: Record, cluster: Cluster, prior: tuple[float, float] | None, law: Law, survives: float
) -> Failures | None:
    """The failures of a record, or None if a fault was noted."""
    found = _read(record, cluster)
    if found is None:
        return None
    path = f"{_GROUP}.file"
    for warning in found.warnings:
        record.warn(path, _in_keys(warning), f"ckptplan fit {' '.join(_files(record))} shows all that the record says")
    gpus = found.gpus
    if gpus is None:
        gpus = float(cluster.gpus)
        if found.failures:
            message = "the record does not say how many GPUs its job had; the planned number is taken"
            record.warn(path, message, "write record: {file: ..., gpus: N}")
    exposure_gpu_s = found.over_s * gpus
    shape, prior_gpu_s = (0.5, 0.0) if prior is None else prior
    evidence = Evidence(found.failures, exposure_gpu_s, found.until_failure, shape, prior_gpu_s)
    # As for interruptions: a prior that is given counts, and without a failure that of Jeffreys does.
    weighed_s = (exposure_gpu_s + prior_gpu_s) / (found.failures + shape)
    mtbf_s = exposure_gpu_s / found.failures if found.failures and prior is None else weighed_s
    classes = _classes(record, found, gpus)
    record.recovery = found.recovery
    record.note(_GROUP, found.text, found.text, record.origin(path))
    return Failures(mtbf_s, "record", evidence, _law(record, found, cluster, law, bool(classes)), survives, classes)


def _in_keys(text: str) -> str:
    """A sentence that names options of the command line, in the keys of the spec."""

    def key(option: re.Match[str]) -> str:
        name = _KEYS.get(option[1], option[1].replace("-", "_"))
        return name if name.partition(":")[0] in RECORD.keys else option[0]  # not an option of sacct

    return re.sub(r"--([a-z][a-z-]*)", key, text)


def _read(record: Record, cluster: Cluster) -> RecordedFailures | None:
    fields = record.fields
    counting = _counting(record, cluster)
    given = (key for key in _FOR_THE_READER if fields.has(f"{_GROUP}.{key}"))
    keys: dict[str, Any] = {key: record.take(f"{_GROUP}.{key}") for key in given}
    codes = fields.given.get(f"{_GROUP}.exit_codes")
    if codes is not None:
        keys["exit_codes"] = tuple(_names(codes.node))
    columns = {r: record.take(f"{_GROUP}.columns.{r}") for r in ROLES if fields.has(f"{_GROUP}.columns.{r}")}
    if columns:
        keys["columns"] = tuple(columns.items())
    if counting is None or not fields.whole(_GROUP):
        return None
    names = _files(record)
    record.note(f"{_GROUP}.file", ", ".join(names), ", ".join(names), record.origin(f"{_GROUP}.file"))
    return read_named(fields, f"{_GROUP}.file", record.files, lambda files: files.failures(names, keys, counting))


def _files(record: Record) -> tuple[str, ...]:
    return tuple(_names(record.fields.given[f"{_GROUP}.file"].node))


def _counting(record: Record, cluster: Cluster) -> Counting | None:
    fields = record.fields
    per = record.take(f"{_GROUP}.per") if fields.has(f"{_GROUP}.per") else None
    outcomes = _outcomes(record)
    if not fields.whole(_GROUP):
        return None
    gpus = record.take(f"{_GROUP}.gpus") if fields.has(f"{_GROUP}.gpus") else None
    nodes = record.take(f"{_GROUP}.nodes") if fields.has(f"{_GROUP}.nodes") else None
    return Counting(
        per=None if per is None else Per(per),
        outcomes=outcomes,
        merge_s=record.take(f"{_GROUP}.merge", MERGE_S),
        gpus=gpus,
        gpus_per_node=record.take(f"{_GROUP}.gpus_per_node", cluster.gpus_per_node, origin="cluster.gpus_per_node"),
        nodes=nodes,
        recent=record.take(f"{_GROUP}.part", "all") == "recent",
    )


def _outcomes(record: Record) -> frozenset[Outcome] | None:
    path = f"{_GROUP}.count"
    given = record.fields.given.get(path)
    if given is None:
        return None
    names = _names(given.node)
    for name in names:
        if name not in COUNTED:
            near = nearest(name, tuple(COUNTED))
            hint = f"did you mean {near}?" if near else f"write one or more of {', '.join(COUNTED)}"
            record.fields.fault(path, f"{shown(name)} cannot be counted", hint)
            return None
    record.note(path, ", ".join(names), ", ".join(names), given.node.origin)
    return frozenset(COUNTED[name] for name in names)


def _names(node: Node) -> list[str]:
    items = node.items if isinstance(node, ListNode) else [node]
    return [item.raw.strip() for item in items if isinstance(item, ScalarNode)]


def _law(record: Record, found: RecordedFailures, cluster: Cluster, law: Law, has_classes: bool) -> Law:
    """That of the spec, else that of the record where it is of a job as large as this one."""
    from ckptplan.fit.planning import same_size

    if "failures.law" in record.fields.groups or has_classes or found.law == EXPONENTIAL:
        return law
    path = f"{_GROUP}.file"
    if not same_size(found.gpus, cluster.gpus):
        message = f"{found.law_reason}, but of a job of another size, whose law is another: exponential is planned with"
        record.warn(path, message, "write failures: {law: ...} to plan with a law")
        return law
    record.note("failures.law", str(found.law.name), f"{found.law.name}, {found.law.shape:.4g}", record.origin(path))
    return found.law


def _classes(record: Record, found: RecordedFailures, gpus: float) -> tuple[FailureClass, ...]:
    """Preemption and maintenance of the record, unless the spec has classes of its own."""
    if not found.others:
        return ()
    path = f"{_GROUP}.file"
    kinds = " and ".join(f"{one.ends:,} of {one.kind}" for one in found.others)
    if record.fields.lengths.get("failures.classes"):
        record.warn(path, f"{kinds} in the record are not counted beside the classes of the spec", "add such classes")
        return ()
    for key in ("law", "host_copy_survives"):
        if f"failures.{key}" in record.fields.groups or record.fields.has(f"failures.{key}"):
            record.warn(path, f"{kinds} in the record are not counted beside {key}", f"delete failures.{key}")
            return ()
    from ckptplan.cost.classes import BUILT_IN, FailureClass, FailureKind

    classes = []
    for number, one in enumerate(found.others):
        kind, mtbf_s = FailureKind(one.kind), one.mtbf_s * gpus
        built_in = BUILT_IN[kind]
        record.note(f"failures.classes[{number}].kind", one.kind, one.kind, record.origin(path))
        people = f"{format_time(mtbf_s)}: {one.ends:,} in the record"
        record.note(f"failures.classes[{number}].mtbf_per_gpu", mtbf_s, people, record.origin(path), "s")
        classes.append(
            FailureClass(
                one.kind,
                kind,
                mtbf_per_gpu_s=mtbf_s,
                detect_s=built_in.detect_s,
                loses=built_in.loses,
                notice_s=built_in.notice_s or 0.0,
            )
        )
    return tuple(classes)
