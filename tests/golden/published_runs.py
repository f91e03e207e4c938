"""What the plan of each shipped spec must come out as, every number in the rounding it was printed with.

Numbers are text: the last digit printed gives the tolerance. Exact values hold for exponential failures that may also
strike a recovery. They were computed once, outside this package, from the formulas of the cited papers.
"""

from __future__ import annotations

from typing import NamedTuple


class Facts(NamedTuple):
    """Per spec: size in total and per GPU [bytes], MTBF of the job [s, h] and of one GPU [h], restart [s]."""

    spec: str
    size_bytes: str
    size_per_gpu_bytes: str
    mtbf_s: str
    mtbf_h: str
    mtbf_per_gpu_h: str
    restart_s: str


class Optimum(NamedTuple):
    """Per spec and strategy: costs of a save [s], intervals by each method [s], exact optimum, shares [percent]."""

    spec: str
    strategy: str
    stall_s: str
    flush_s: str
    effective_stall_s: str
    young_s: str
    daly_s: str
    exact_s: str
    steps: int
    goodput: str
    save_percent: str
    rework_percent: str
    restart_percent: str
    goodput_at_young: str
    goodput_safe: str


class Given(NamedTuple):
    """Per spec and strategy: what an interval in use [s] yields, and how far below the optimum it is [points]."""

    spec: str
    strategy: str
    interval_s: float
    goodput: str
    save_percent: str
    rework_percent: str
    restart_percent: str
    points_below: str


# fmt: off
FACTS = (
    Facts("llama3-405b", "5.670e12", "0.346e9", "11135.1", "3.093", "50677", "600"),
    Facts("llama3-70b", "987.75e9", "1.93e9", "356322.7", "98.979", "50677", "350"),
    Facts("opt-175b", "1.750e12", "1.76e9", "49371.4", "13.714", "13605", "7200"),
    Facts("bloom-176b", "2.467e12", "6.43e9", "604800.0", "168.000", "64512", "960"),
    Facts("glm-130b", "1.820e12", "2.37e9", "465091.2", "129.192", "99219", "2880"),
    Facts("megascale-175b", "2.450e12", "0.199e9", "24192.0", "6.720", "82575", "870"),
    Facts("gpt3-10k", "2.450e12", "0.245e9", "14896.6", "4.138", "41379", "384.5"),
    Facts("rsc-1", "980.00e9", "0.0817e9", "8861.5", "2.462", "29538", "300"),
    Facts("rsc-2", "98.00e9", "0.0239e9", "72115.4", "20.032", "82051", "300"),
    Facts("palm-540b", "6.484e12", "1.06e9", "29296.9", "8.138", "50000", "900"),
    Facts("marin-704", "4.320e12", "6.14e9", "259143.8", "71.984", "50677", "600"),
    Facts("crusoe-70b", "846.64e9", "0.456e9", "44326.3", "12.313", "22853", "600"),
    Facts("google-405b-432", "5.682e12", "13.2e9", "422308.4", "117.308", "50677", "570"),
    Facts("tinyllama-16", "13.20e9", "0.825e9", "2060640.0", "572.400", "9158", "8010"),
    Facts("lab-64", "94.34e9", "1.47e9", "515160.0", "143.100", "9158", "3114"),
    Facts("spot-24", "4.08e9", "0.17e9", "568.3", "0.158", "4", "200"),
)

OPTIMA = (
    Optimum("llama3-405b", "synchronous", "60", "0", "60", "1155.9", "1116.3", "1116.3",
            223, "0.85255", "4.58", "4.92", "5.25", "0.85250", "0.85375"),
    Optimum("llama3-405b", "asynchronous", "5", "2.835", "5", "333.7", "330.4", "330.4",
            66, "0.91920", "1.39", "1.44", "5.25", "0.91919", "0.92048"),
    Optimum("llama3-70b", "gathered", "493.9", "0", "493.9", "18760.6", "18432.7", "18432.8",
            2119, "0.94734", "2.54", "2.63", "0.10", "0.94733", "0.94734"),
    Optimum("llama3-70b", "sharded", "98.78", "0", "98.78", "8390.0", "8324.3", "8324.3",
            957, "0.97568", "1.16", "1.18", "0.10", "0.97568", "0.97568"),
    Optimum("llama3-70b", "asynchronous", "77.2e-3", "98.78", "77.2e-3", "234.5", "234.5", "234.5",
            27, "0.99808", "0.03", "0.06", "0.10", "0.99808", "0.99808"),
    Optimum("opt-175b", "sharded", "87.5", "0", "87.5", "2939.4", "2881.3", "2881.3",
            140, "0.81386", "2.47", "2.57", "13.57", "0.81385", "0.82179"),
    Optimum("opt-175b", "asynchronous", "5", "87.5", "5", "702.6", "699.3", "699.3",
            34, "0.85055", "0.61", "0.77", "13.57", "0.85055", "0.85884"),
    Optimum("bloom-176b", "synchronous", "40", "0", "40", "6955.9", "6929.2", "6929.2",
            66, "0.98698", "0.57", "0.57", "0.16", "0.98698", "0.98698"),
    Optimum("glm-130b", "synchronous", "91", "0", "91", "9200.4", "9139.8", "9139.8",
            103, "0.97430", "0.97", "0.98", "0.62", "0.97430", "0.97432"),
    Optimum("megascale-175b", "two-stage", "5", "49", "5", "491.9", "488.5", "488.5",
            77, "0.94328", "0.97", "1.17", "3.53", "0.94328", "0.94388"),
    Optimum("gpt3-10k", "synchronous", "24.5", "0", "24.5", "854.4", "838.1", "838.1",
            84, "0.91969", "2.69", "2.79", "2.55", "0.91968", "0.91999"),
    Optimum("gpt3-10k", "local then shared", "0.3418", "24.5", "0.3418", "100.9", "100.7", "100.7",
            10, "0.96634", "0.33", "0.49", "2.55", "0.96634", "0.96666"),
    Optimum("rsc-1", "blocking 5 min", "300", "0", "300", "2305.8", "2110.2", "2110.3",
            211, "0.73649", "10.47", "12.55", "3.33", "0.73580", "0.73691"),
    Optimum("rsc-1", "blocking 10 s", "10", "0", "10", "421.0", "414.3", "414.3",
            41, "0.92151", "2.22", "2.30", "3.33", "0.92151", "0.92203"),
    Optimum("rsc-2", "blocking 5 min", "300", "0", "300", "6577.9", "6379.5", "6379.5",
            3190, "0.90775", "4.27", "4.54", "0.42", "0.90772", "0.90776"),
    Optimum("rsc-2", "blocking 10 s", "10", "0", "10", "1201.0", "1194.3", "1194.3",
            597, "0.97936", "0.82", "0.83", "0.42", "0.97936", "0.97936"),
    Optimum("palm-540b", "synchronous", "64.84", "0", "64.84", "1949.2", "1906.2", "1906.2",
            108, "0.90665", "3.08", "3.23", "3.03", "0.90664", "0.90707"),
    Optimum("marin-704", "asynchronous", "1", "61.7", "12.12", "2506.1", "2498.1", "2498.1",
            148, "0.98788", "0.48", "0.50", "0.23", "0.98788", "0.98788"),
    Optimum("crusoe-70b", "threads", "0.78", "437", "241.1", "4623.5", "4464.2", "4464.2",
            382, "0.88327", "4.77", "5.56", "1.34", "0.88322", "0.88335"),
    Optimum("crusoe-70b", "process + cached plan", "0.78", "67", "32.18", "1688.9", "1667.6", "1667.6",
            143, "0.94868", "1.83", "1.96", "1.34", "0.94868", "0.94876"),
    Optimum("google-405b-432", "persistent only", "2", "56.82", "4.841", "2022.1", "2018.8", "2018.8",
            45, "0.99375", "0.24", "0.25", "0.13", "0.99375", "0.99375"),
    Optimum("tinyllama-16", "gathered", "13.2", "0", "13.2", "7375.9", "7367.1", "7367.1",
            1349, "0.99256", "0.18", "0.18", "0.39", "0.99256", "0.99257"),
    Optimum("lab-64", "synchronous", "757.7", "0", "757.7", "27941.2", "27438.3", "27438.3",
            6860, "0.94103", "2.60", "2.70", "0.60", "0.94102", "0.94105"),
    Optimum("lab-64", "asynchronous", "2", "757.7", "17.15", "4204.1", "4192.7", "4192.7",
            1048, "0.98446", "0.40", "0.55", "0.60", "0.98446", "0.98448"),
    Optimum("spot-24", "synchronous", "10.2", "0", "10.2", "107.7", "101.0", "101.0",
            67, "0.57837", "5.84", "6.66", "29.67", "0.57816", "0.60826"),
    Optimum("spot-24", "asynchronous", "1", "10.2", "1.51", "41.4", "40.4", "40.4",
            27, "0.64227", "2.40", "3.71", "29.67", "0.64226", "0.67546"),
)

GIVEN = (
    Given("llama3-405b", "synchronous", 3600, "0.78721", "1.31", "14.72", "5.25", "6.53"),
    Given("llama3-405b", "synchronous", 300, "0.77692", "15.54", "1.52", "5.25", "7.56"),
    Given("llama3-70b", "sharded", 3600, "0.96730", "2.65", "0.52", "0.10", "0.84"),
    Given("llama3-70b", "asynchronous", 3600, "0.99368", "0.00", "0.53", "0.10", "0.44"),
    Given("bloom-176b", "synchronous", 10500, "0.98598", "0.38", "0.87", "0.16", "0.10"),
    Given("bloom-176b", "synchronous", 26250, "0.97538", "0.15", "2.15", "0.16", "1.16"),
    Given("glm-130b", "synchronous", 8850, "0.97429", "1.00", "0.95", "0.62", "0.00"),
    Given("glm-130b", "synchronous", 44250, "0.94526", "0.19", "4.66", "0.62", "2.90"),
    Given("rsc-1", "blocking 5 min", 3600, "0.71034", "5.92", "19.72", "3.33", "2.62"),
    Given("rsc-1", "blocking 10 s", 300, "0.91926", "3.06", "1.68", "3.33", "0.23"),
    Given("marin-704", "asynchronous", 900, "0.98251", "1.32", "0.19", "0.23", "0.54"),
    Given("google-405b-432", "persistent only", 1125, "0.99292", "0.43", "0.15", "0.13", "0.08"),
    Given("tinyllama-16", "gathered", 27305, "0.98905", "0.05", "0.66", "0.39", "0.35"),
    Given("lab-64", "synchronous", 3600, "0.81767", "17.21", "0.42", "0.60", "12.34"),
)
# fmt: on
