"""Words for columns: the titles of tables, groups of columns, and what a word that somebody wrote stands for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ckptplan.sweep.measures import MEASURES

_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "gpus": "GPUs",
        "mtbf_s": "MTBF",
        "restart_total_s": "restart",
        "effective_stall_s": "effective",
        "asked_interval_s": "asked",
        "interval_floor_s": "floor",
        "interval_steps": "steps",
        "typed_interval_s": "typed",
        "goodput_typed": "goodput %",
        "goodput": "account %",
        "goodput_exact": "exact %",
        "goodput_steps": "of steps %",
        "useful_gpus": "useful GPUs",
        "lost_gpu_hours": "lost GPU-hours",
        "gpu_hours": "GPU-hours",
        "gpu_hours_lost": "GPU-hours lost",
    }
)
_FRACTIONS = ("save_fraction", "rework_fraction", "restart_fraction", "slow_fraction", "waiting_fraction")
GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "shares": (*_FRACTIONS, "goodput"),  # they add up to 1
        "run": ("expected_s", "sd_s", "p5_s", "p50_s", "p95_s", "failures", "saves"),
        "simulated": ("simulated_goodput", "simulated_goodput_error", "simulated_wall_s", "simulated_p95_s"),
    }
)
LISTED = "list"  # the word that prints them all
_NEAREST = 3


def title_of(name: str) -> str:
    """What stands above a column in a table."""
    plain = name.removesuffix("_fraction").removesuffix("_s").replace("_", " ")
    return _TITLES.get(name, f"{plain} %" if MEASURES[name].unit == "1" else plain)


def columns_of(word: str) -> tuple[str, ...]:
    """The columns that a name, a group or a title of a table stands for; none where it is no such word."""
    plain = word.casefold()
    if plain in MEASURES:
        return (plain,)
    if plain in GROUPS:
        return GROUPS[plain]
    found = _by_title().get(plain)
    return () if found is None else (found,)


def meant_by(word: str) -> str:
    """What may have been meant by a word that stands for nothing, and how to see all."""
    from difflib import get_close_matches

    words = {**{title: title for title in _by_title()}, **{name: name for name in (*MEASURES, *GROUPS)}}
    near = get_close_matches(word[:100].casefold(), words, n=_NEAREST, cutoff=0.5)
    known = "ckptplan sweep --show list prints all"
    return f"did you mean {' or '.join(near)}? {known}" if near else known


def _by_title() -> dict[str, str]:
    """Columns by their titles, also without the sign for percent where no other column is called so."""
    titles = {title_of(name).casefold(): name for name in reversed(tuple(MEASURES))}
    plain = {title.removesuffix(" %"): name for title, name in titles.items()}
    return {title: name for title, name in {**plain, **titles}.items() if title not in MEASURES and title not in GROUPS}
