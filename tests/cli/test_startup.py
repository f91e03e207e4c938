"""Start-up stays light: asserted on the modules loaded, not on a clock."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROBE = """
import sys
from ckptplan.cli.edge import run
code = run({arguments!r})
print(*sorted(m for m in {watched!r} if m in sys.modules), code, sep="|", file=sys.stderr)
"""


def loaded(arguments: list[str], watched: tuple[str, ...]) -> list[str]:
    """Which of the watched modules a command loads."""
    program = _PROBE.format(arguments=arguments, watched=watched)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    *names, code = done.stderr.strip().splitlines()[-1].split("|")
    assert code == "0"
    return [name for name in names if name]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["optimize", "--help"],
        ["simulate", "--help"],
        ["online", "--help"],
        ["spec", "show", "--help"],
        ["--version"],
    ],
)
def test_help_loads_no_heavy_library(arguments: list[str]) -> None:
    """Help loads neither numpy, scipy, pydantic, yaml nor rich."""
    assert loaded(arguments, ("numpy", "scipy", "pydantic", "yaml", "rich", "matplotlib")) == []


@pytest.mark.parametrize("format_", ["json", "csv", "markdown", "table"])
def test_closed_form_optimize_loads_no_scipy(format_: str) -> None:
    """A closed-form plan loads no scipy and no matplotlib, and rich only for a table."""
    heavy = loaded(["optimize", "llama3-405b", "--format", format_], ("scipy", "matplotlib", "rich"))
    assert heavy == (["rich"] if format_ == "table" else [])


def test_exponential_plans_simulations_and_rules_load_no_scipy() -> None:
    """Counts, ends, host copies, verification and the online rules do without scipy too; a Weibull law may load it."""
    sets = ["--set", "failures.host_copy_survives=0.4", "--set", "failures.interruptions.count=3"]
    assert loaded(["optimize", "llama3-405b", "--verify", "-f", "json", *sets], ("scipy",)) == []
    assert loaded(["simulate", "llama3-405b", "--runs", "20", "-f", "json"], ("scipy",)) == []
    assert loaded(["online", "llama3-405b", "-f", "json"], ("scipy",)) == []


def test_the_controller_of_a_training_loop_loads_the_standard_library_only() -> None:
    """What runs in every rank of a training process loads neither numpy nor any other dependency."""
    program = "import sys; from ckptplan.online import IntervalController; print(*{m[:8] for m in sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"numpy", "scipy", "rich", "typer", "yaml", "pydantic"}
    assert heavy.isdisjoint(done.stdout.split())
