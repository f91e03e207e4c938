"""The shipped specs of the fault spectrum: the published causes as counted, and a case in which every part agrees."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import pytest

from ckptplan.load import load
from ckptplan.plan import Plan, plan
from tests.cli.harness import ckptplan

PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "failures" / "published" / "llama3_405b_table5.csv"
# Rows of table 5 and the classes of the spec that hold them; three of the faulty GPUs are the manual ones.
NAMES = {
    "Faulty GPU": ("faulty GPU", "manual work"),
    "GPU HBM3 Memory": ("GPU HBM3 memory",),
    "Software Bug": ("software bug",),
    "Network Switch/Cable": ("network switch or cable",),
    "Host Maintenance": ("host maintenance",),
    "GPU SRAM Memory": ("GPU SRAM memory",),
    "GPU System Processor": ("GPU system processor",),
    "NIC": ("NIC",),
    "NCCL Watchdog Timeouts": ("watchdog timeout",),
    "Silent Data Corruption": ("silent data corruption",),
    "GPU Thermal Interface + Sensor": ("GPU thermal interface or sensor",),
    "SSD": ("SSD",),
    "Power Supply": ("power supply",),
    "Server Chassis": ("server chassis",),
    "IO Expansion Board": ("IO expansion board",),
    "Dependency": ("dependency",),
    "CPU": ("CPU",),
    "System Memory": ("system memory",),
}


@cache
def plan_of(name: str) -> Plan:
    """The plan of a shipped spec."""
    return plan(load(name).scenario)


def shares(name: str) -> dict[str, float]:
    """Share of the interruptions of each class that has one."""
    return {one.name: one.share for one in load(name).scenario.failures.classes if one.share is not None}


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published table is not here")
def test_causes_are_those_of_the_published_table() -> None:
    """Every row of the table is in the spec with its count, and all rows are."""
    found = shares("llama3-405b-causes")
    with PUBLISHED.open(encoding="utf-8") as file:
        rows = {row["component"]: int(row["interruption_count"]) for row in csv.DictReader(file)}
    assert set(rows) == set(NAMES)
    for row, count in rows.items():
        assert sum(found[name] for name in NAMES[row]) * 419 == pytest.approx(count, rel=1e-12)


def test_causes_add_up() -> None:
    """The counts make up all 419, about 78 % of them hardware, 7 hangs and 6 silent corruptions."""
    found = shares("llama3-405b-causes")
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-12)
    other = ("software bug", "host maintenance", "watchdog timeout", "dependency")
    hardware = sum(share for name, share in found.items() if name not in other)
    assert round(hardware * 419) == 324
    assert hardware == pytest.approx(0.78, abs=0.01)
    assert round(found["watchdog timeout"] * 419) == 7
    assert round(found["silent data corruption"] * 419) == 6
    assert "The counts are used" in (Path(__file__).parents[2] / "configs" / "llama3-405b-causes.yaml").read_text()


def test_lost_time_by_class_adds_up() -> None:
    """What the classes take, with saves and waiting, is all that is lost."""
    made = plan_of("llama3-405b-causes")
    best = made.best
    lost = sum(one.lost_fraction for one in made.classes)
    # The table is of the interval to type, so that its shares go with the goodput of whole steps.
    assert best.goodput_steps is not None
    assert best.goodput_steps + lost == pytest.approx(1.0 - best.save_fraction, abs=2e-3)
    assert {one.name for one in made.classes} == {*shares("llama3-405b-causes"), "planned maintenance"}


@pytest.mark.parametrize("name", ["llama3-405b-causes", "spectrum-16384"])
def test_the_parts_agree_to_the_printed_digit(name: str) -> None:
    """What optimize, retain, scale and simulate say of the same way of saving is the same number."""
    optimum = json.loads(ckptplan("optimize", name, "-f", "json").out)
    printed = f"{100 * optimum['best']['goodput']:.2f}"
    simulated = json.loads(ckptplan("simulate", name, "--runs", "50", "-f", "json").out)
    assert f"{100 * simulated['prediction']['predicted']:.2f}" == printed
    assert simulated["prediction"]["holds"]
    for command in ("retain", "scale"):
        assert printed in ckptplan(command, name).out
