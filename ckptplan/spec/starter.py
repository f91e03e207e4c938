"""The commented spec that ``ckptplan spec init`` prints; it runs as it is."""

from __future__ import annotations

STARTER = """\
# A spec for ckptplan, format version 1. Try:  ckptplan optimize THIS_FILE
# Times, sizes and rates carry their unit: 5 s, 10 min, 3.09 h, 54 d; 80 GB (1e9 bytes), 80 GiB; 2 TB/s, 400 Gbit/s.
# What is not known exactly may be a range, 40 s .. 90 s, or a distribution, {mean: 60 s, cv: 0.3}.
# Every number below is an example: replace it with yours. Keys behind a # are optional and show what may be written.

name: my run

model:
  parameters: 70e9                # or, beside this file, config: ./config.json (Hugging Face) or checkpoint: ./weights
  state: adam-14                  # what a checkpoint holds; 14 bytes per parameter: 16-bit copy, fp32 master, moments
  # state: [adam-14, ema]         # more than one ledger entry; or a list of {name: ..., bytes_per_parameter: ...}
  # expert_parameters: 60e9       # mixture of experts: those in routed experts
  # trainable_fraction: 1 %       # parameter-efficient tuning

cluster:
  gpus: 512
  gpus_per_node: 8
  # host_memory_per_node: 2 TB    # checks that an asynchronous save fits
  layout: {tensor: 8, pipeline: 4, shard: zero1}   # data follows from gpus: 512 / (8 x 4) = 16
  # power: {compute: 700 W, save: 500 W, restart: 300 W}   # of one GPU and its share of the node

failures:                         # exactly one of these
  interruptions: {count: 12, over: 30 d}   # unplanned stops of this job; add gpus: N if counted on another number
  # mtbf: 60 h                    # of the whole job
  # mtbf_per_gpu: 50_000 h
  # mtbf_per_node: 260 d
  # rate_per_node_day: 6.5e-3     # 6.5 per 1000 node-days
  # preset: llama3-2024
  # law: {name: weibull, shape: 0.7}       # or {name: recorded, file: gaps.csv}, beside this file
  # prior: {shape: 1, mtbf_per_gpu: 50_000 h}   # what was believed before counting, worth one failure
  # host_copy_survives: 40 %      # failures (process crashes) that leave the copy in host memory
  # classes: [{kind: hang, share: 5 %}, {kind: silent corruption, share: 1.4 %}]   # what none claims is a crash
  # watchdog: {timeout: 10 min, false_alarms_per_day: 0.2}   # finds the class hang

storage:                          # or  preset: lustre-small
  write_bandwidth: 20 GB/s        # aggregate and sustained, as measured by a save, not as sold
  read_bandwidth: 40 GB/s
  # write_bandwidth_per_node: 4 GB/s
  # write_bandwidth_per_writer: 2 GB/s
  # latency: 2 s                  # fixed time of one save
  # tiers: [{kind: host memory, stall: 1 s}, {kind: file system, write: background, bandwidth: 20 GB/s}]

save:                             # one or more strategies, compared side by side
  - name: sharded                 # every GPU writes its part; training stands still meanwhile
    mode: sharded
    # stall: 60 s                 # measured; left out, it is computed from storage
  - name: asynchronous            # training stands still for the copy to host memory only
    mode: asynchronous
    copy_bandwidth: 25 GB/s       # GPU to host, per GPU
    training_speed_while_flushing: 0.95   # compare step times during and between saves; or one of these:
    # step_time_while_flushing: 5.3 s
    # shared_link: {bandwidth: 50 GB/s, exposed_communication: 20 %}   # per node; share of a step that waits for it
    # copy_out: overlapped        # with forward and backward, up to the optimizer step
    # in_flight: 2                # saves whose flush may be under way at one time; each holds a buffer

# verification: {time: 30 s}      # a check before each save, which finds the class silent corruption
# retention: {keep_all: 6 h, then_every: 2 h, then_for: 7 d}   # which saves are kept; or  keep: 10

restart:                          # or  total: 10 min
  detect: 60 s
  replace: 2 min
  initialise: 3 min
  load: auto                      # bytes that all ranks read over read_bandwidth
  warm_up: 1 min

# spares: {nodes: 2, repair: 12 h}          # nodes that stand by
# prediction: {recall: 60 %, precision: 80 %}   # of a predictor of failures

training:
  step_time: 5 s                  # turns the interval into steps
  duration: 30 d                  # of all steps, without saves and failures; or steps, or tokens and tokens_per_step
  # start: 2026-12-01
  # global_batch: 1024            # sequences of one step: with micro_batch, which numbers of replicas it allows
  # step_noise: 2 %               # standard deviation of one rank's step over its mean; all wait for the slowest
  # scaling_exponent: 0.95        # throughput grows as the number of GPUs to this power

# assume: {failures_strike: DR}   # a further failure may strike the whole recovery; or R, or safe
"""
