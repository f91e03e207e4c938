"""A study and its columns as an evaluation would give them, made without one."""

from __future__ import annotations

import numpy as np

from ckptplan.load import load
from ckptplan.sweep.columns import Columns, Labels
from ckptplan.sweep.measures import MEASURES
from ckptplan.sweep.study import Axis, Member, Study

COLUMNS = ("strategy", "interval_s", "interval_steps", "goodput_typed", "size_bytes", "status")
GPUS = Axis("cluster.gpus", (8, 16, 1024), ("8", "16", "1,024"))
BANDWIDTH = Axis("storage.write_bandwidth", (1e10, 2.5e10), ("10 GB/s", "25 GB/s"), "bytes/s")
GIVEN = Axis("interval", (60.0, 0.1, 1e22), ("60 s", "100 ms", "1e22 s"), "s")


def study(*axes: Axis, columns: tuple[str, ...] = COLUMNS) -> Study:
    """One spec over these axes."""
    spec = load("llama3-405b")
    return Study((Member("llama", spec.scenario, spec.with_values, spec.si),), axes, columns)


def columns_of(asked: Study, statuses: tuple[str, ...] = ("ok", 'no "room", here')) -> Columns:
    """Numbers of all sizes, in rows of which every fifth could not be planned."""
    generator = np.random.default_rng(1)
    sizes = [len(axis.values) for axis in asked.axes]
    grid = np.meshgrid(*(np.array(axis.values) for axis in asked.axes), indexing="ij")
    found: dict = {axis.key: values.reshape(-1) for axis, values in zip(asked.axes, grid, strict=True)}
    rows = int(np.prod(sizes))
    lost = np.arange(rows) % 5 == 4
    for name in asked.columns:
        measure = MEASURES[name]
        if name == "status":
            found[name] = Labels(lost.astype(np.int32), statuses)
        elif measure.text:
            found[name] = Labels(np.where(lost, -1, np.arange(rows) % 2).astype(np.int32), ("one", "other"))
        else:
            values = generator.random(rows) * (1.0 if measure.unit == "1" else 10.0 ** generator.integers(-3, 18, rows))
            found[name] = np.where(lost, np.nan, np.floor(values) if measure.whole else values)
    return found
