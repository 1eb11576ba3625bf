r"""The sets that Oniguruma knows by name: `\p{...}`, `[[:...:]]`, `\w`, `\d`, `\s`, `\h`.

Definition
    A name is looked up without its spaces, hyphens and underscores, and in lower case. It is a
    general category, a script, a block (`InCyrillic`), a binary property, or one of POSIX's names,
    which are Unicode's sets here. No name has a value: neither `Script=Greek` nor `Age=6.0`.
    In brackets, `[:punct:]` is not `\p{Punct}`: it holds the symbols (category S) as well.

Source: doc/RE and doc/UNICODE_PROPERTIES of https://github.com/kkos/oniguruma, and tokenizers
0.23.3 as measured by `authoring/tables/make_oniguruma_tables.py`.
"""

from functools import cache, lru_cache

from bpe_ref.data import table
from bpe_ref.unicode_tables import CodePoints


def posix_set(name: str) -> CodePoints | None:
    """Return the set of `[:name:]`, or None if there is none.

    >>> posix_set("ascii").bit_count(), posix_set("letter")
    (128, None)
    """
    names = _sets().get(":" + name)
    return None if names is None else _decode(names)


def property_set(name: str) -> CodePoints | None:
    """Return the set of that name, or None if Oniguruma has none.

    >>> property_set(" upper-case LETTER").bit_count(), property_set("Elvish")
    (1858, None)
    """
    sets = _sets()
    bare = name.translate({ord(" "): None, ord("-"): None, ord("_"): None})
    names = sets.get(bare.lower()) if bare.isascii() and ":" not in bare else None
    return None if names is None else _decode(names)


@cache
def _sets() -> dict[str, str]:
    """Return for each name all names of the same set, by which the table has it."""
    names_of_sets = table("oniguruma_properties")
    return {name: names for names in names_of_sets for name in names.split()}


@lru_cache(maxsize=128)
def _decode(names: str) -> CodePoints:
    """Return the set: the entry counts the code points that are out, in, out, in ..."""
    steps = [int(step, 16) for step in table("oniguruma_properties")[names].split()]
    # Written as one binary number, last code point first: linear in the digits.
    digits = [("1" if at % 2 else "0") * length for at, length in enumerate(steps)]
    return int("".join(reversed(digits)) or "0", 2)
