"""The texts that are measured: made from the standard library, which lies on every machine.

Another version of Python has other texts, so `fingerprint` goes into the
report: numbers are comparable where it is the same.
"""

import ast
import re
import sysconfig
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from pydoc_data.topics import topics
from random import Random
from string import ascii_lowercase

CHARACTERS = 1_000_000
"""The most characters that a text has."""

_SHORTEST_PARAGRAPH = 100


def python_code(characters: int = CHARACTERS) -> str:
    """Return the standard library's own top-level modules, by name, as they stand.

    >>> len(python_code(30))
    30
    """
    return "".join(map(_read, _modules()))[:characters]


def english_prose(characters: int = CHARACTERS) -> str:
    r"""Return what Python's documentation says in whole sentences, a paragraph a line.

    First that of `help()`'s topics, then that of the docstrings of the same
    modules. A paragraph counts as prose if it has 100 characters or more,
    begins with a capital letter and ends with a full stop, a question mark or
    an exclamation mark.

    >>> english_prose(20).isascii()
    True
    """
    sections = [topics[name] for name in sorted(topics)]
    sections += [docstring for path in _modules() for docstring in _docstrings(_read(path))]
    paragraphs = (paragraph for section in sections for paragraph in paragraphs_of(section))
    return "\n\n".join(paragraphs)[:characters]


def random_letters(length: int = CHARACTERS) -> str:
    """Return that many random lowercase letters, always the same.

    >>> random_letters(5)
    'dwtgm'
    """
    return "".join(Random(1).choices(ascii_lowercase, k=length))  # noqa: S311 - not a secret


def paragraphs_of(section: str) -> Iterator[str]:
    r"""Yield the paragraphs that are prose, each on one line.

    >>> long = "This sentence is repeated, and it is about nothing but itself. " * 2
    >>> len(list(paragraphs_of(f"{long}\n\n    x = 1\n\n{long}\n")))
    2
    """
    for block in re.split(r"\n\s*\n", section):
        paragraph = " ".join(block.split())
        is_long = len(paragraph) >= _SHORTEST_PARAGRAPH
        if is_long and paragraph[0].isupper() and paragraph[-1] in ".!?":
            yield paragraph


def fingerprint(text: str) -> str:
    """Return the first digits of a text's sha256.

    >>> fingerprint("")
    'e3b0c44298fc'
    """
    return sha256(text.encode()).hexdigest()[:12]


def _modules() -> list[Path]:
    """Return the standard library's top-level modules that do not begin with `_`, by name."""
    return sorted(
        path
        for path in Path(sysconfig.get_path("stdlib")).glob("*.py")
        if not path.name.startswith("_")
    )


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _docstrings(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""
