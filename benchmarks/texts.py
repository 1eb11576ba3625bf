"""The texts that are measured: made from the standard library, which lies on every machine.

Another version of Python has other texts, so `fingerprint` goes into the
report: numbers are comparable where it is the same. Of text in many scripts
there is none, so that one is made up (`mixed_scripts`), and always the same.
"""

import ast
import re
import sysconfig
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from pydoc_data.topics import topics
from random import Random
from string import ascii_lowercase
from types import MappingProxyType
from typing import Final, NamedTuple

CHARACTERS = 1_000_000
"""The most characters that a text has."""

_SHORTEST_PARAGRAPH = 100


class Script(NamedTuple):
    """How words are written: with which letters, how many of them, and what stands between."""

    letters: str
    lengths: tuple[int, int]
    between: str = " "
    stop: str = ". "


def _from(first: int, last: int, step: int = 1) -> str:
    return "".join(map(chr, range(first, last + 1, step)))


SCRIPTS: Final[Mapping[str, Script]] = MappingProxyType(
    {
        "Latin": Script(ascii_lowercase + "áàâäãåąćčçďéèêëęěíîïłńňñóôöõøřśšşťúůüýźżž", (2, 10)),
        "Greek": Script(_from(0x3AC, 0x3CE), (2, 10)),
        "Cyrillic": Script(_from(0x430, 0x44F), (2, 10)),
        "Hebrew": Script(_from(0x5D0, 0x5EA), (2, 6)),
        "Arabic": Script(_from(0x627, 0x63A) + _from(0x641, 0x64A), (2, 7)),
        "Devanagari": Script(_from(0x915, 0x939) + _from(0x93E, 0x94C), (2, 8), stop="\u0964 "),
        "Thai": Script(_from(0xE01, 0xE2E) + _from(0xE30, 0xE39), (2, 6), "", " "),
        "Hangul": Script(_from(0xAC00, 0xD7A3, 16), (1, 4)),
        "Kana": Script(_from(0x3042, 0x3093), (1, 4), "", "\u3002"),
        "Han": Script(_from(0x4E00, 0x59B7), (1, 2), "", "\u3002"),
        "emoji": Script(_from(0x1F600, 0x1F64F), (1, 2), stop="! "),
    }
)
"""The scripts of `mixed_scripts`. Letters are named by code point, so no table decides on them."""

_WORDS = 5000  # of each script


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


def mixed_scripts(characters: int = CHARACTERS) -> str:
    """Return a text of eleven scripts, made up, of which each paragraph is in one.

    A script has 5,000 words. Their letters are drawn at random, and the words of a sentence from
    those, of both the k-th one with a weight of 1/k, as in real text: a few are everywhere, most
    are seldom seen. Of emoji there is one paragraph in a hundred, and that is short.

    >>> len(mixed_scripts(30))
    30
    """
    random = Random(1)
    words = {name: _words(script, random) for name, script in SCRIPTS.items()}
    weights = list(accumulate(1 / place for place in range(1, _WORDS + 1)))
    names, often = list(SCRIPTS), [1 if name == "emoji" else 10 for name in SCRIPTS]
    paragraphs: list[str] = []
    length = 0
    while length < characters:
        name = random.choices(names, often)[0]
        script = SCRIPTS[name]
        sentences = (
            script.between.join(
                random.choices(words[name], cum_weights=weights, k=random.randint(5, 20))
            )
            for _ in range(1 if name == "emoji" else random.randint(2, 6))
        )
        paragraph = "".join(sentence + script.stop for sentence in sentences).rstrip() + "\n\n"
        paragraphs.append(paragraph)
        length += len(paragraph)
    return "".join(paragraphs)[:characters]


def _words(script: Script, random: Random) -> list[str]:
    letters = random.sample(script.letters, len(script.letters))
    weights = list(accumulate(1 / place for place in range(1, len(letters) + 1)))
    return [
        "".join(random.choices(letters, cum_weights=weights, k=random.randint(*script.lengths)))
        for _ in range(_WORDS)
    ]


def random_letters(length: int = CHARACTERS) -> str:
    """Return that many random lowercase letters, always the same.

    >>> random_letters(5)
    'dwtgm'
    """
    return "".join(Random(1).choices(ascii_lowercase, k=length))


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


def parts_of(text: str, length: int) -> list[str]:
    """Return a text in parts of that many characters; in one part if that is 0.

    >>> parts_of("abc", 2), parts_of("abc", 0)
    (['ab', 'c'], ['abc'])
    """
    if not length:
        return [text]
    return [text[start : start + length] for start in range(0, len(text), length)]


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
