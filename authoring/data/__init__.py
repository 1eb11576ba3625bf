"""Tables of cases as data: one TOML file for a module of `authoring.cases`, one row for a case.

Characters that cannot be seen or told apart are written as escapes.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def tables(name: str) -> dict[str, list[Any]]:
    """Return the tables of a file, each a list of rows.

    >>> tables("words")["digits"][0]
    ['fraction', '1½ cups', 'A fraction character is a number']
    """
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
