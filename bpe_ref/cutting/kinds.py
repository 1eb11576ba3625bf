r"""The kinds of characters that the registry's patterns tell apart, one letter each.

l lower case (Ll), u upper and title case (Lu, Lt), o other letters (Lm, Lo),
m marks (M), n numbers (N), b blanks (white space but \r and \n), r \r and \n,
q the apostrophe, s the slash, p everything else. x are surrogates, which are
no characters: nothing is known about them.
"""

from functools import cache
from typing import Final

from bpe_ref.patterns.unicode_tables import TABLES, UnicodeTables

LETTERS: Final = "luo"
NUMBERS: Final = "n"
BLANKS: Final = "b"
LINE_ENDS: Final = "r"
MARKS: Final = "m"
OTHERS: Final = "pqs"
KINDS: Final = LETTERS + NUMBERS + BLANKS + LINE_ENDS + MARKS + OTHERS


class Kinds(dict[str, str]):
    r"""The kind of each character, found when it is first asked for.

    >>> kinds = kinds_of("unicode-16.0")
    >>> "".join(map(kinds.__getitem__, "aB\u4f60\u0301 1\n\t'/!"))
    'luombnrbqsp'
    """

    def __init__(self, tables: UnicodeTables) -> None:
        """Take the tables that say which characters are letters, numbers and spaces."""
        super().__init__({"\r": "r", "\n": "r", "'": "q", "/": "s"})
        upper = tables.code_points("Lu") | tables.code_points("Lt")
        self._sets = (
            ("l", tables.code_points("Ll")),
            ("u", upper),
            ("o", tables.code_points("L")),
            ("m", tables.code_points("M")),
            ("n", tables.code_points("N")),
            ("b", tables.code_points("White_Space")),
            ("x", tables.code_points("Cs")),
        )

    def __missing__(self, character: str) -> str:
        """Look it up, and remember it: there are 1,114,112 at most."""
        code_point = ord(character)
        kind = next((kind for kind, members in self._sets if members >> code_point & 1), "p")
        self[character] = kind
        return kind


@cache  # one for each table, and there are four of them
def kinds_of(tables: str) -> Kinds:
    """Return the kinds of characters by a table's name."""
    return Kinds(TABLES[tables])
