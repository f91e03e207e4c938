"""Asynchronous saves in a plan: memory, floor, slow-down, and which way of saving is better."""

from __future__ import annotations

import pytest

from ckptplan.errors import InputError
from ckptplan.load import load
from ckptplan.plan import Plan, plan
from ckptplan.plan.advice import break_even_s
from ckptplan.plan.case import cases_of

_SAVES = "save=[{{name: background, mode: asynchronous, {}}}, {{name: blocking, mode: sharded, stall: 98.8 s}}]"
_SLOW_STORAGE = "storage={write_bandwidth: 2 GB/s}"


def _planned(background: str, *sets: str, config: str = "llama3-70b", **options: object) -> Plan:
    """A plan whose first strategy is asynchronous as written."""
    spec = load(config, sets=[_SAVES.format(background), *sets])
    return plan(spec.scenario, methods=["exact"], **options)  # type: ignore[arg-type]


def _said(text: str, sentences: tuple[str, ...]) -> list[str]:
    return [sentence for sentence in sentences if text in sentence]


def test_each_save_in_flight_takes_a_buffer() -> None:
    """Two saves in flight pin twice the bytes of a node."""
    one, two = (_planned(f"stall: 1 s, in_flight: {n}").saves[0] for n in (1, 2))
    assert two.host_memory_per_node_bytes == 2 * one.host_memory_per_node_bytes
    assert one.host_memory_per_node_bytes == pytest.approx(8 * 1.929e9, rel=1e-3)


def test_buffers_that_do_not_fit_are_said_with_their_numbers() -> None:
    """Two buffers of 15.4 GB in a node of 20 GB: the plan says so, and how many would fit."""
    memory = "cluster.host_memory_per_node=20 GB"
    (sentence,) = _said("per node", _planned("stall: 1 s, in_flight: 2", memory).warnings)
    assert "30.87 GB per node in 2 buffers, which has 20 GB; in_flight: 1 would fit" in sentence


def test_strict_refuses_buffers_that_do_not_fit() -> None:
    """With strict, what would be a warning is an error, and nothing is planned."""
    with pytest.raises(InputError, match="do not fit"):
        _planned("stall: 1 s, in_flight: 2", "cluster.host_memory_per_node=20 GB", strict=True)


def test_more_saves_in_flight_lower_the_floor() -> None:
    """A flush given as 500 s forces an interval of 500 s; two in flight allow half of it, less half of the stall."""
    one, two = (
        _planned(f"stall: 2 s, flush: 500 s, in_flight: {n}", "storage={read_bandwidth: 20 GB/s}") for n in (1, 2)
    )
    assert one.records[0].interval_floor_s == 500.0
    assert two.records[0].interval_floor_s == 249.0
    assert _said("2 flushes at one time", two.assumptions)


def test_saves_in_flight_share_the_storage() -> None:
    """A flush that the write bandwidth bounds does not get faster beside another one: the floor stays."""
    one, four = (_planned(f"stall: 2 s, in_flight: {n}", _SLOW_STORAGE) for n in (1, 4))
    transfer_s = four.saves[0].transfer_s
    assert transfer_s == pytest.approx(493.9, abs=0.1)
    assert four.records[0].interval_floor_s == pytest.approx(transfer_s - 2.0)
    assert one.records[0].interval_floor_s == pytest.approx(transfer_s)


def test_an_overlapped_copy_blocks_for_what_does_not_fit() -> None:
    """A copy of 1.93 GB at 1 GB/s beside 1.5 s of forward and backward blocks for the remaining 0.43 s."""
    written = "copy_out: overlapped, copy_bandwidth: 1 GB/s"
    save = _planned(written, "training.forward_backward=1.5 s").saves[0]
    assert save.stall_s == pytest.approx(0.4292, abs=1e-4)
    assert save.hidden_copy_s == pytest.approx(1.5)
    assert save.flush_s == pytest.approx(save.write_s + 1.5)


def test_an_overlapped_copy_that_fits_blocks_nobody() -> None:
    """Beside 90 % of a step of 8.7 s the same copy is hidden whole; the flush alone slows training."""
    written = "copy_out: overlapped, copy_bandwidth: 1 GB/s, training_speed_while_flushing: 0.9"
    made = _planned(written)
    save = made.saves[0]
    assert save.stall_s == 0.0
    assert made.records[0].effective_stall_s == pytest.approx(0.1 * save.write_s)
    assert _said("beside forward and backward", made.assumptions)


def test_a_shared_link_gives_the_slow_down() -> None:
    """A flush of 156 MB/s per node on a link of 1 GB/s slows the exposed 30 % of a step by its share of the link."""
    save = _planned("shared_link: {bandwidth: 1 GB/s, exposed_communication: 30 %}").saves[0]
    share = save.host_memory_per_node_bytes / save.write_s / 1e9
    assert save.training_speed_while_flushing == pytest.approx(1 / (0.7 + 0.3 / (1 - share)))
    assert 0.9 < save.training_speed_while_flushing < 1.0


def test_a_given_interval_below_the_floor_is_raised_and_said() -> None:
    """60 s are raised to the 98.8 s of the flush, in whole steps, and the record keeps what was asked."""
    record = next(r for r in _planned("stall: 1 s", intervals_s=[60.0]).records if r.given and r.flush_s)
    assert record.asked_interval_s == 60.0
    assert record.interval_s == pytest.approx(12 * 8.7)
    assert "raised from 60 s" in record.status


def test_strict_refuses_an_interval_below_the_floor() -> None:
    """With strict the same interval is an error that names the least one."""
    with pytest.raises(InputError, match="shorter than the flush allows") as caught:
        _planned("stall: 1 s", intervals_s=[60.0], strict=True)
    assert "104 s" in str(caught.value.problems[0].hint)


def test_the_better_way_is_recommended_and_says_why() -> None:
    """Where a background save slows training for longer than a blocking one blocks, the blocking one is best."""
    slow = "stall: 1 s, flush: 400 s, training_speed_while_flushing: 0.5"
    made = _planned(slow)
    assert made.best.strategy == "blocking"
    (sentence,) = _said("beats background", made.advice)
    assert "training slowed to 50 %" in sentence


def test_a_blocking_save_that_is_not_in_the_spec_is_named() -> None:
    """A lone asynchronous strategy that loses to its own write time says so, with the gain."""
    lone = "save=[{mode: asynchronous, stall: 30 s, flush: 60 s, training_speed_while_flushing: 0}]"
    spec = load("marin-704", sets=[lone])
    (sentence,) = plan(spec.scenario).advice
    assert "loses to a blocking save" in sentence
    assert "mode: sharded" in sentence


def test_the_break_even_is_named_where_the_background_wins() -> None:
    """A good asynchronous save says which blocking stall would still be worse."""
    (sentence,) = _said("wins against any blocking save longer than", _planned("stall: 1 s").advice)
    assert sentence.startswith("background")


def test_a_surviving_host_copy_raises_goodput() -> None:
    """Only the failures that lose the host copy pay for the flush."""
    none, some, most = (
        _planned("stall: 1 s, flush: 300 s", f"failures.host_copy_survives={share}") for share in (0, 0.5, 0.9)
    )
    goodputs = [made.optima()[0].goodput_exact for made in (none, some, most)]
    assert goodputs == sorted(goodputs)
    assert goodputs[0] < goodputs[2]
    assert _said("host copy survives 50 %", some.assumptions)
    for made in (some, most):
        record = made.records[0]
        total = record.goodput_exact + record.save_fraction + record.rework_fraction + record.restart_fraction
        assert total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    "sets",
    [
        (),
        ("failures.host_copy_survives=0.5",),
        ("failures.law={name: weibull, shape: 0.6}",),
        ("save[0].in_flight=2", "save[0].flush=20000 s"),
    ],
)
def test_a_blocking_save_at_the_break_even_is_as_good(sets: tuple[str, ...]) -> None:
    """Whatever the law, the host copies and the buffers, the stall that is named gives the goodput of the flush."""
    spec = load("llama3-70b", sets=[_SAVES.format("stall: 4 s, flush: 300 s"), "training={}", *sets])
    background = cases_of(spec.scenario)[0]
    limit_s = break_even_s(background)
    blocking = [f"save=[{{name: blocking, mode: sharded, stall: {limit_s:.9g} s}}]", "training={}"]
    rival = cases_of(
        load("llama3-70b", sets=[*blocking, *[one for one in sets if one.startswith("failures")]]).scenario
    )[0]
    best = [case.goodput(case.optimum(case.method)) for case in (background, rival)]
    assert best[0] == pytest.approx(best[1], abs=2e-7)


def test_the_reason_is_the_slow_down_where_the_floor_does_not_bind() -> None:
    """437 s at 45 % speed lose for their slow-down, though 0.78 s alone would be due again before the flush ends."""
    slow = "{name: threads, mode: asynchronous, stall: 0.78 s, flush: 437 s, training_speed_while_flushing: 0.45}"
    saves = f"save=[{slow}, {{name: blocking, mode: sharded, stall: 100 s}}]"
    made = plan(load("crusoe-70b", sets=[saves]).scenario, methods=["exact"])
    (sentence,) = _said("blocking beats threads", made.advice)
    assert "each save costs 241 s, of which 240 s is training slowed to 45 %" in sentence


def test_the_reason_is_the_floor_where_it_binds() -> None:
    """A flush of two hours loses to a blocking save of 60 s because it forces an interval of two hours."""
    long = "{name: long, mode: asynchronous, stall: 1 s, flush: 2 h}"
    saves = f"save=[{long}, {{name: blocking, mode: sharded, stall: 60 s}}]"
    made = plan(load("crusoe-70b", sets=[saves]).scenario, methods=["exact"])
    (sentence,) = _said("blocking beats long", made.advice)
    assert "its flush of 7,200 s forces an interval of 7,200 s" in sentence


def test_a_flush_cannot_outrun_the_link_it_shares() -> None:
    """A computed flush takes at least what the link needs for the bytes of a node; a given one is doubted."""
    link = "shared_link: {bandwidth: 100 MB/s, exposed_communication: 30 %}"
    computed = _planned(link).saves[0]
    assert computed.write_s == pytest.approx(computed.host_memory_per_node_bytes / 1e8)
    assert computed.binds == "the shared link"
    assert _said("measure the flush again", _planned(f"flush: 9 s, {link}").warnings)


def test_a_given_stall_hides_no_more_than_fits() -> None:
    """Of an overlapped copy with a given stall no more is hidden than forward and backward take."""
    made = _planned("copy_out: overlapped, stall: 1 s, copy_bandwidth: 10 MB/s")
    assert made.saves[0].hidden_copy_s == pytest.approx(0.9 * 8.7)
    assert _said("shorter than the copy", made.warnings)


def test_overlapping_flushes_that_slow_training_are_said_to_be_approximate() -> None:
    """More than one flush at a time, each of which slows training, is counted as in the long run from the start."""
    made = _planned("stall: 1 s, flush: 400 s, in_flight: 4, training_speed_while_flushing: 0.9")
    assert _said("flushes that overlap slow training", made.assumptions)
