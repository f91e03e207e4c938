"""Faults of the keys that describe one run: law, evidence, saves, work, and what is not known exactly."""

from __future__ import annotations

from tests.spec.broken import Broken, _row

_RATE = "{mtbf_per_gpu: 50_000 h}"
_SOURCE = "mtbf_per_gpu: 50_000 h"
_STALL = "mode: asynchronous, stall: 1 s"
_RUN = "step_time: 5 s, duration: 30 d"


def _law(id_: str, law: str, key: str, message: str, hint: str) -> Broken:
    return _row(id_, _RATE, f"{{{_SOURCE}, law: {law}}}", 4, f"failures.law{key}", message, hint)


def _counted(id_: str, value: str, key: str, message: str, hint: str) -> Broken:
    return _row(id_, _RATE, f"{{interruptions: {value}}}", 4, f"failures.interruptions{key}", message, hint)


def _saved(id_: str, more: str, key: str, message: str, hint: str) -> Broken:
    return _row(id_, _STALL, f"{_STALL}, {more}", 8, f"save[1].{key}", message, hint)


def _trained(id_: str, value: str, key: str, message: str, hint: str) -> Broken:
    return _row(id_, _RUN, value, 10, f"training.{key}", message, hint)


_LAWS = [
    _law("law of no name", "{name: zipf}", ".name", "not one of exponential", "write one of"),
    _law("law almost named", "{name: wiebull, shape: 1}", ".name", "not one of", "did you mean weibull"),
    _law("weibull without shape", "{name: weibull}", "", "weibull needs shape", "shape: 0.7"),
    _law("log-normal without sigma", "{name: lognormal}", "", "lognormal needs sigma", "sigma: 1.5"),
    _law("recorded without file", "{name: recorded}", "", "recorded needs file", "file: gaps.csv"),
    _law("sigma of a weibull", "{name: weibull, shape: 0.7, sigma: 1}", ".sigma", "belongs to lognormal", "lognormal"),
    _law("shape without law", "{shape: 0.7}", ".shape", "belongs to weibull and gamma", "name: weibull"),
    _law("shape of zero", "{name: gamma, shape: 0}", ".shape", "zero", "0.7"),
    _law("shape beyond reason", "{name: gamma, shape: 1000}", ".shape", "outside 0.1 to 50", "0.7"),
    _law("sigma beyond reason", "{name: lognormal, sigma: 9}", ".sigma", "outside 0.05 to 4", "1.5"),
    _law("law of a rack", "{name: weibull, shape: 0.7, of: rack}", ".of", "not one of job, node", "job, node"),
    _law("law as a word", "weibull", "", "where a group of keys belongs", "law: {"),
    _law("recorded of nodes", "{name: recorded, file: gaps.csv, of: node}", ".of", "those of the job", "of: job"),
    _row(
        "survival above one", _RATE, f"{{{_SOURCE}, host_copy_survives: 1.4}}", 4, "failures.host_copy_survives",
        "1.4", "fraction from 0 to 1",
    ),
]  # fmt: skip

_EVIDENCE = [
    _counted("negative count", "{count: -1, over: 54 d}", ".count", "negative", "419"),
    _counted("range of a count", "{count: 3 .. 9, over: 54 d}", ".count", "makes no sense", "its uncertainty follows"),
    _counted("until whenever", "{count: 3, over: 54 d, until: later}", ".until", "not one of time, failure", "failure"),
    _counted("until none", "{count: 0, over: 54 d, until: failure}", ".until", "none was counted", "until: time"),
    _row(
        "prior without shape", _RATE, "{interruptions: {count: 3, over: 5 d}, prior: {mtbf_per_gpu: 50_000 h}}", 4,
        "failures.prior.shape", "missing", "shape: 1",
    ),
    _row(
        "prior without count", _RATE, f"{{{_SOURCE}, prior: {{shape: 1, mtbf_per_gpu: 1000 h}}}}", 4,
        "failures.prior", "no interruptions are given", "interruptions",
    ),
]  # fmt: skip

_SAVES = [
    _saved("nothing in flight", "in_flight: 0", "in_flight", "zero", "in_flight: 2"),
    _saved("half in flight", "in_flight: 1.5", "in_flight", "not a whole number", "1 or 2"),
    _saved("copy out sideways", "copy_out: lazy", "copy_out", "not one of blocking, overlapped", "overlapped"),
    _saved("quick while flushing", "step_time_while_flushing: 4 s", "step_time_while_flushing", "shorter than", "exch"),
    _saved("unit of a slow step", "step_time_while_flushing: 6", "step_time_while_flushing", "no unit", "6.1 s"),
    _saved(
        "slow-down twice", "training_speed_while_flushing: 0.9, step_time_while_flushing: 6 s",
        "step_time_while_flushing", "wanted once", "keep",
    ),
    _saved("link without share", "shared_link: {bandwidth: 50 GB/s}", "shared_link.exposed_communication", "missing",
           "0.2"),
    _saved("share above one", "shared_link: {bandwidth: 50 GB/s, exposed_communication: 2}",
           "shared_link.exposed_communication", "more than the whole", "0.02"),
    _row("in flight while blocking", "{name: sharded, mode: sharded}", "{name: sharded, mode: sharded, in_flight: 2}",
         7, "save[0].in_flight", "belongs to mode asynchronous", "asynchronous"),
    _row("link while blocking", "{name: sharded, mode: sharded}",
         "{name: sharded, mode: sharded, shared_link: {bandwidth: 1 GB/s, exposed_communication: 0.1}}",
         7, "save[0].shared_link", "belongs to mode asynchronous", "asynchronous"),
]  # fmt: skip

_WORK = [
    _trained("work twice", "step_time: 5 s, duration: 30 d, steps: 9", "steps", "wanted once", "keep one"),
    _trained("steps without a time", "steps: 9000", "steps", "need the time of a step", "step_time"),
    _trained("tokens alone", "step_time: 5 s, tokens: 1e12", "tokens", "tokens_per_step is missing", "16.8e6"),
    _trained("tokens per step alone", "step_time: 5 s, tokens_per_step: 1e6", "tokens_per_step", "tokens is missing",
             "15.6e12"),
    _trained("tokens exchanged", "step_time: 5 s, tokens: 1e6, tokens_per_step: 1e12", "tokens_per_step", "more than",
             "exchanged"),
    _trained("tokens with a letter", "step_time: 5 s, tokens: 15T, tokens_per_step: 1e6", "tokens", "15T", "15e12"),
    _trained("no date", "step_time: 5 s, start: tomorrow", "start", "not a date", "2026-12-01"),
    _trained("date that is none", "step_time: 5 s, start: 2026-02-30", "start", "not a date", "2026-12-01"),
    _trained("forward longer than a step", "step_time: 5 s, forward_backward: 6 s", "forward_backward", "longer",
             "optimizer step"),
]  # fmt: skip


def _step(id_: str, value: str, message: str, hint: str) -> Broken:
    return _row(id_, "step_time: 5 s", f"step_time: {value}", 10, "training.step_time", message, hint)


_SPREADS = [
    _step("range the wrong way", "9 s .. 4 s", "not below", "lower one first"),
    _step("range of three", "1 s .. 2 s .. 3 s", "not a range", "40 s .. 90 s"),
    _step("range without an end", "4 s ..", "not a range", "40 s .. 90 s"),
    _step("range without units", "4 .. 9", "no unit", "5 s"),
    _step("range of sizes", "4 GB .. 9 GB", "unit of a size", "5 s"),
    _step("mean without cv", "{mean: 5 s}", "both", "cv: 0.3"),
    _step("cv of a word", "{mean: 5 s, cv: much}", "not a number above 0", "cv: 0.3"),
    _step("cv of zero", "{mean: 5 s, cv: 0}", "not a number above 0", "cv: 0.3"),
    _step("cv beyond reason", "{mean: 5 s, cv: 99}", "up to 10", "cv: 0.3"),
    _step("mean without unit", "{mean: 5, cv: 0.1}", "no unit", "5 s"),
    _step("mean with more", "{mean: 5 s, cv: 0.1, sd: 1 s}", "nothing else", "cv: 0.3"),
    _row("range of gpus", "gpus: 512", "gpus: 400 .. 512", 3, "cluster.gpus", "makes no sense", "write the number"),
    _row(
        "cv of a share", _STALL, f"{_STALL}, training_speed_while_flushing: {{mean: 0.9, cv: 0.5}}", 8,
        "save[1].training_speed_while_flushing", "no share of mean 0.9", "below 0.33",
    ),
]  # fmt: skip

BROKEN_RUN = [*_LAWS, *_EVIDENCE, *_SAVES, *_WORK, *_SPREADS]
