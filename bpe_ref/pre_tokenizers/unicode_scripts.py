"""`UnicodeScripts`: cut where the script of the letters changes.

Definition
    Every character belongs to one script, or to none. A piece begins at every character whose
    script is not that of the last character before it that has one, and reaches to the next such
    place. Characters without a script therefore stay with what is before them.

Source: pre_tokenizers/unicode_scripts/ of Hugging Face tokenizers 0.23.3, after SentencePiece's
trainer. The table is its own, of about Unicode 9, measured by
`authoring/tables/make_tokenizers_tables.py`. Hiragana, katakana and the mark U+30FC count as Han
there; the space has no script, and neither has what that table does not know. Digits and
punctuation are of a script of their own, Common.

What the source leaves open
    *What is before the first character that has a script* is in no piece: leading spaces vanish,
    and so does a text without any script.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bpe_ref.aligned_text import AlignedText, Span
from bpe_ref.data import table
from bpe_ref.patterns.unicode_tables import ranges_in

_NONE: Final = 0


@dataclass(frozen=True)
class UnicodeScripts:
    """Cuts between scripts.

    >>> UnicodeScripts().cut_text(" ab, я")
    ['ab', ', ', 'я']
    """

    def cut(self, text: AlignedText) -> list[AlignedText]:
        return [text.slice(start, end) for start, end in _runs(text.text)]

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        return [text[start:end] for start, end in _runs(text)]


def _runs(text: str) -> list[Span]:
    """Return the half-open ranges of the pieces."""
    starts = []
    last = _NONE
    for at, character in enumerate(text):
        script = script_of(character)
        if script not in {_NONE, last}:
            starts.append(at)
            last = script
    return list(zip(starts, [*starts[1:], len(text)], strict=True)) if starts else []


@lru_cache(maxsize=4096)
def script_of(character: str) -> int:
    """Return the number of a character's script in the table, or 0 for none.

    >>> script_of("あ") == script_of("漢"), script_of(" ")
    (True, 0)
    """
    firsts, scripts = _table()
    return scripts[bisect_right(firsts, ord(character)) - 1]


@lru_cache(maxsize=1)
def _table() -> tuple[list[int], list[int]]:
    """Return two parallel lists: from `firsts[i]` up to the next one, all have `scripts[i]`."""
    parts = enumerate(table("scripts").values(), start=1)
    ranges = sorted((*ends, number) for number, part in parts for ends in ranges_in(part))
    firsts, scripts = [0], [_NONE]
    for first, last, number in ranges:
        if firsts[-1] == first:  # the range before ended here, or nothing has begun yet
            scripts[-1] = number
        else:
            firsts.append(first)
            scripts.append(number)
        firsts.append(last + 1)
        scripts.append(_NONE)
    return firsts, scripts
