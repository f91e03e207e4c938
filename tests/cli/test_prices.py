"""Prices as every command takes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.harness import Tell, ckptplan

_COMMANDS = {
    "optimize": ("llama3-405b", "--interval", "1h"),
    "scale": ("llama3-405b",),
    "levers": ("llama3-405b",),
    "report": ("llama3-405b", "--format", "md"),
    "sweep": ("llama3-405b", "--over", "cluster.gpus=1024,2048"),
    "compare": ("rsc-1", "rsc-2"),
}


@pytest.mark.parametrize("command", _COMMANDS)
@pytest.mark.parametrize(
    ("price", "why"),
    [
        ("1e308", "more than a billion for one GPU-hour"),
        ("1e10", "billion"),
        ("nan", "not a finite"),
        ("-1", "less than 0"),
    ],
)
def test_every_command_refuses_what_is_no_price(tell: Tell, command: str, price: str, why: str) -> None:
    """One error that names the option and the value, from each command that takes a price, and no result."""
    told = tell(command, *_COMMANDS[command], "--gpu-hour-price", price)
    assert (told.code, told.out) == (2, "")
    assert "--gpu-hour-price" in told.err
    assert why in told.err
    assert "inf" not in told.err.replace("infinite", "")


@pytest.mark.parametrize("command", _COMMANDS)
def test_a_price_of_a_billion_is_taken(tell: Tell, command: str) -> None:
    """The bound itself is a price, and no number overflows by it."""
    told = tell(command, *_COMMANDS[command], "--gpu-hour-price", "1e9")
    assert told.code == 0, told.err
    assert "inf " not in told.out


@pytest.mark.parametrize("value", ["1e308", "nan", "-1", "dear"])
def test_a_bad_price_of_the_environment_names_its_variable(value: str) -> None:
    """Who typed no price is told where the one that is refused stands."""
    ran = ckptplan("scale", "llama3-405b", env={"CKPTPLAN_GPU_HOUR_PRICE": value})
    assert ran.code == 2
    assert "CKPTPLAN_GPU_HOUR_PRICE" in ran.err


def test_a_dear_price_of_the_environment_is_not_called_an_option() -> None:
    """The variable with its value stands in place of the option, which nobody gave; a typed price goes before it."""
    env = {"CKPTPLAN_GPU_HOUR_PRICE": "1e308"}
    assert "error: CKPTPLAN_GPU_HOUR_PRICE=1e+308: more than a billion" in ckptplan("scale", "lab-64", env=env).err
    assert ckptplan("scale", "lab-64", "--gpu-hour-price", "2", env=env).code == 0


@pytest.mark.parametrize("worth", ["1e308", "nan", "inf"])
def test_a_useful_hour_is_worth_no_more_than_a_price(tell: Tell, worth: str) -> None:
    """What a useful GPU-hour is worth is bounded as the price is, and the error names the option."""
    told = tell("scale", "lab-64", "--gpu-hour-price", "2", "--useful-hour-worth", worth)
    assert (told.code, told.out) == (2, "")
    assert "error: --useful-hour-worth" in told.err


def test_a_price_in_a_file_is_bounded_too(tell: Tell, tmp_path: Path) -> None:
    """That of the sweep group is refused with its line."""
    study = tmp_path / "study.yaml"
    study.write_text(
        "sweep:\n  specs: [lab-64]\n  over: {cluster.gpus: [64, 128]}\n  gpu_hour_price: 1e12\n", encoding="utf-8"
    )
    told = tell("sweep", str(study))
    assert told.code != 0
    assert "study.yaml:4" in told.err
    assert "more than a billion for one GPU-hour" in told.err
