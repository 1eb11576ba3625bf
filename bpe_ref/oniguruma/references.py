r"""Back references: `\1`, `\k<1>`, `\k<name>`.

Definition
    The text that the group captured last. A name may belong to several groups; the last one of
    them that captured something counts. A number that is no group is an error, or octal digits if
    it has more than one digit.

Source: https://github.com/kkos/oniguruma, doc/RE section 8, and tokenizers 0.23.3 as executed.
"""

import re

from bpe_ref.oniguruma.cursor import Cursor
from bpe_ref.oniguruma.nodes import Again

_NAME = re.compile(r"k(?:<([A-Za-z_][A-Za-z0-9_]*)>|'([A-Za-z_][A-Za-z0-9_]*)')")
_NUMBER = re.compile(r"k<([1-9][0-9]{0,3})>|k'([1-9][0-9]{0,3})'|([1-9][0-9]*)")
_ALWAYS_A_REFERENCE = 9
_MOST_DIGITS = 4


def read_reference(cursor: Cursor, *, folded: bool) -> Again | None:
    """Read a back reference behind its backslash, or None if something else comes."""
    start = cursor.at
    if match := cursor.accept_match(_NAME):
        name = match[1] or match[2]
        if name not in cursor.names:
            raise cursor.error(f"no group before has the name {name!r}", start)
        numbers = cursor.names[name]
    elif match := _NUMBER.match(cursor.pattern, start):
        digits = match[1] or match[2] or match[3]
        number = int(digits[: _MOST_DIGITS + 1])
        if match[3] and number > max(_ALWAYS_A_REFERENCE, cursor.groups):
            return None
        if cursor.names_only:
            raise cursor.error("a back reference by number does not go with named groups")
        if number > cursor.groups:
            raise cursor.error(f"there is no group {number}")
        cursor.at = match.end()
        numbers = (number,)
    elif cursor.peek(2) in {"k<", "k'"}:
        raise cursor.error("this kind of back reference has no translation")
    else:
        return None
    if folded:
        raise cursor.error("a back reference without regard to case has no translation", start)
    return Again(numbers)
