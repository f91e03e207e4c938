"""Values that the parser of options refuses: what was given, where it came from, and what would be accepted."""

from __future__ import annotations

import pytest

from tests.cli.harness import Tell

RUN = ("optimize", "tinyllama-16")


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("--steps", "x"), "--steps x: not a whole number", "a whole number from 1 to 1,000,000,000,000"),
        (("--steps", "1.5"), "--steps 1.5: not a whole number", "a whole number from 1 to"),
        (("--steps", "0"), "--steps 0: less than 1", "a whole number from 1 to"),
        (("--steps", "9" * 13), f"--steps {'9' * 13}: more than 1,000,000,000,000", "a whole number from 1 to"),
        (("--seed", "-1"), "--seed -1: less than 0", "write a whole number, 0 or more"),
        (("--keep", "0"), "--keep 0: less than 1", "write a whole number, 1 or more"),
        (("--fail-under", "3"), "--fail-under 3: more than 1", "write a number from 0 to 1"),
        (("--fail-under", ""), "--fail-under '': not a number", "write a number from 0 to 1"),
        (("--gpu-hour-price", "$3"), "--gpu-hour-price $3: not a number", "write a number, 0 or more"),
        (("-f", "jason"), "--format jason: not known", "did you mean json?"),
        (("-f", "x\x1b[31m" + "y" * 99), "--format x?[31m", "one of table, json, csv, markdown"),
        (("--theme", "it's"), "--theme it's: not known", "one of light, dark"),
    ],
)
def test_a_value_is_refused_in_words_of_the_house(tell: Tell, arguments: tuple[str, ...], said: str, hint: str) -> None:
    """The option, the value as given, what is wrong with it and what to write; two lines without control characters."""
    told = tell(*RUN, *arguments)
    assert (told.code, told.out) == (2, "")
    first, second = told.err.splitlines()
    assert first.startswith(f"error: {said}")
    assert hint in second
    assert "\x1b" not in told.err
    assert len(first) < 100


def test_a_number_without_bounds_is_refused_in_the_same_words(tell: Tell) -> None:
    """The weight of a moving mean is any number."""
    told = tell("average", "a", "b", "-o", "c.safetensors", "--ema", "u")
    assert told.err == "error: --ema u: not a number\n  hint: write a number\n"


@pytest.mark.parametrize(("variable", "value"), [("CKPTPLAN_FORMAT", "xml"), ("CKPTPLAN_GPU_HOUR_PRICE", "-3")])
def test_the_environment_is_named_only_where_the_value_came_from_there(
    tell: Tell, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    """A variable that is set is no part of the mistake where the option was typed."""
    monkeypatch.setenv(variable, value)
    assert f"error: {variable}={value}: " in tell(*RUN).err
    option = "--" + variable.removeprefix("CKPTPLAN_").lower().replace("_", "-")
    told = tell(*RUN, option, "no")
    assert f"error: {option} no: " in told.err
    assert variable not in told.err


def test_what_has_no_value_stays_in_the_words_of_the_parser(tell: Tell) -> None:
    """An unknown option and a missing argument point at the help."""
    assert "No such option: --stepz" in tell(*RUN, "--stepz", "1").err
    assert tell("optimize").err.endswith("hint: ckptplan optimize --help lists what is accepted\n")
