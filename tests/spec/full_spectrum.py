"""Two specs that between them write every key of the fault spectrum."""

from __future__ import annotations

from tests.spec.broken_faults import spectrum

FULL = """\
model: {parameters: 70e9}
cluster:
  gpus: 512
  layout: {tensor: 8, pipeline: 4}
  power: {compute: 1.1 kW, save: 600 W, restart: 0.0003 MW}
failures:
  interruptions: {count: 40, over: 30 d}
  classes:
    - {name: faulty GPU, share: 40 %, replace: 150 s, initialise: 4 min, load: 90 s, warm_up: 30 s, loses: memory}
    - {kind: hang, count: 4, detect: 12 min}
    - {kind: slow node, every: 10 d, slowdown: 10 %, detect: 2 h, detect_delay: fixed}
    - {kind: silent corruption, mtbf_per_gpu: 500_000 h, loses: node}
    - {kind: loss spike, every: 20 d, back_steps: 50, lag_steps: 5, skipped_batches: 200}
    - {kind: preemption, every: 9 d, notice: 30 s, total: 8 min, loses: nodes}
    - {kind: maintenance, every: 30 d, notice: 1 h, loses: process}
  watchdog: {timeout: 11 min, false_alarms_per_day: 0.2, seen_at: 5 min, decay: 90 s}
storage:
  tiers:
    - {kind: host memory, bandwidth_per_gpu: 25 GB/s, capacity_per_node: 1 TB}
    - {kind: peer memory, stall: 2 s, bandwidth_per_node: 25 GB/s, replicas: 3, lost_at_once: 4, simultaneous: 5 %}
    - {kind: local ssd, name: scratch, write: background, drain: 40 s, endurance_per_node: 56 PB,
       survives: [faulty GPU, slow node, hang, other, maintenance], read_bandwidth_per_node: 10 GB/s}
    - {kind: file system, write: background, bandwidth: 100 GB/s, read_bandwidth: 200 GB/s, latency: 2 s,
       training_speed_while_draining: 98 %, capacity: 2 PB, survives: all}
    - {kind: object store, stall: 9 min, load: 20 min}
verification: {time: 30 s, per_save: 2}
retention: {probability: 99 %, keep_all: 6 h, then_every: 2 h, then_for: 7 d, archive_every: 1 d, capacity: 500 TB}
restart: {detect: 60 s, replace: 2 min, initialise: 3 min, load: 2 min}
spares: {nodes: 8, repair: 12 h, most_waiting: 2 %, failing: always}
prediction: {recall: 60 %, precision: 80 %, save: 40 s}
training: {step_time: 5 s, step_noise: 2 %, noise: exponential, scaling_exponent: 0.95, global_batch: 2048,
           micro_batch: 4}
"""
# A spec has either these or those above.
ELSE = spectrum(spares="{nodes: 0, repair: 1 d, reshard: 2 min}", retention="{keep: 10}")
