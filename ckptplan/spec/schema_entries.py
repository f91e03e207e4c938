"""What a key, a group and a list of a spec are made of: form, unit, default, meaning."""

from typing import Literal, NamedTuple, TypeAlias

Form = Literal[
    "time",
    "size",
    "rate",
    "power",
    "number",
    "fraction",
    "integer",
    "integers",
    "text",
    "names",
    "choice",
    "bytes",
    "time or auto",
    "state",
    "date",
    "axes",
]


class Key(NamedTuple):
    """A value. ``zero`` says whether zero makes sense; ``default`` is a sentence or a value for people.

    ``exact`` keys take no range; a ``plain`` fraction is no share of anything, and is shown without percent.
    """

    form: Form
    about: str
    default: str = ""
    example: str = ""
    zero: bool = False
    choices: tuple[str, ...] = ()
    required: bool = False
    exact: bool = False
    plain: bool = False

    @property
    def shown_as(self) -> Form:
        """The form by which people read its values."""
        return "number" if self.plain else self.form


class Group(NamedTuple):
    """A mapping. ``preset`` says whether it may take values by the name of a preset.

    A value alone in its place is that of the key ``shorthand``.
    """

    about: str
    keys: "dict[str, Entry]"
    preset: bool = False
    required: bool = False
    shorthand: str = ""


class Many(NamedTuple):
    """A list of mappings."""

    about: str
    item: Group
    required: bool = False
    example: str = ""


Entry: TypeAlias = Key | Group | Many
