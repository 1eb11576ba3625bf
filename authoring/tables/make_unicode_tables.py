r"""Ask the installed engines about every code point and write `bpe_ref/data/unicode.json`.

Run it as `python -m authoring tables unicode`, under Python 3.11 (the supplement for
NFC is relative to its Unicode 14.0) with tiktoken 0.14.0, tokenizers 0.23.3 and bpe-openai 0.1.4
installed. Nothing is copied from the Unicode character database: each entry is an answer of an
engine, and `tests/test_unicode_tables.py` asks for them again.

How an engine is asked
    tiktoken drops the text that its pattern does not match. So with a vocabulary of the 256 bytes
    and the pattern `\p{Lu}`, the tokens of all code points in a row spell exactly the class.
    bpe-openai's voyage3_base normalizes before it encodes, so decoding its tokens is its NFC.
"""

import unicodedata
from collections.abc import Callable, Sequence
from itertools import groupby

import tiktoken
from tokenizers import Regex, pre_tokenizers

from authoring.tables import (
    CODE_POINT_COUNT,
    SCALARS,
    SURROGATES,
    as_ranges,
    write_table,
    written_table,
)

CATEGORIES = (
    *("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No"),
    *("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So"),
    *("Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn"),
)
FIRST_IDEOGRAPHIC_PLANE = 0x20000
EVERYTHING = "".join(SCALARS)
BYTES = {bytes([byte]): byte for byte in range(256)}
WORD_CATEGORIES = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "Pc"}

ORIGIN = "What the engines answered, code point by code point; ranges include both ends."


def tiktoken_class(pattern: str) -> set[int]:
    """Return the code points that tiktoken matches with `pattern`."""
    encoding = tiktoken.Encoding("probe", pat_str=pattern, mergeable_ranks=BYTES, special_tokens={})
    return {ord(c) for c in bytes(encoding.encode_ordinary(EVERYTHING)).decode()}


def oniguruma_class(pattern: str) -> set[int]:
    """Return the code points that the `Split` of tokenizers matches with `pattern`."""
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    return {ord(c) for piece, _ in split.pre_tokenize_str(EVERYTHING) for c in piece}


def isolated_after_a(pre_tokenize: Callable[[str], Sequence[object]]) -> set[int]:
    """Return the code points that do not stay in one piece with a letter before them."""
    return {ord(c) for c in EVERYTHING if len(pre_tokenize("a" + c)) > 1}


def categories() -> dict[int, str]:
    """Return the general category of every code point, surrogates included."""
    category = dict.fromkeys(SURROGATES, "Cs")
    for name in CATEGORIES:
        category |= dict.fromkeys(tiktoken_class(rf"\p{{{name}}}"), name)
    if len(category) != CODE_POINT_COUNT:
        raise ValueError(f"the categories must cover 1114112 code points, got {len(category)}")
    return category


def combining_class(voyage_nfc: Callable[[str], str], mark: str, known: dict[int, str]) -> int:
    """Return the combining class of `mark`: the one that it neither passes nor is passed by."""
    moves = [
        number
        for number, other in known.items()
        if other + mark != voyage_nfc(other + mark) or mark + other != voyage_nfc(mark + other)
    ]
    still = [number for number in known if number not in moves]
    # A starter stops reordering altogether, so that nothing moves.
    return still[0] if moves and len(still) == 1 else 0


def normalization_supplement(category: dict[int, str]) -> tuple[dict[int, int], dict[int, str]]:
    """Return what Unicode 14.0 lacks: combining classes, and canonical decompositions."""
    if unicodedata.unidata_version != "14.0.0":
        raise ValueError(f"Unicode must be 14.0.0, got {unicodedata.unidata_version}")
    import bpe_openai  # warns when it is imported

    voyage = bpe_openai.get_encoding("voyage3_base")

    def nfc(text: str) -> str:
        return str(voyage.decode(voyage.encode_ordinary(text)))

    # One mark for each combining class; not one that composes or decomposes.
    known: dict[int, str] = {}
    seconds: set[str] = set()
    for c in EVERYTHING:
        number = unicodedata.combining(c)
        parts = unicodedata.decomposition(c)
        if number and not parts and number not in known:
            known[number] = c
        if parts and not parts.startswith("<") and " " in parts:
            seconds.add(chr(int(parts.split()[1], 16)))
    new = [
        chr(c)
        for c, name in category.items()
        if name not in {"Cn", "Cs"} and unicodedata.category(chr(c)) == "Cn"
    ]
    classes = {
        ord(c): number
        for c in new
        if category[ord(c)][0] == "M" and (number := combining_class(nfc, c, known))
    }
    # A composite's second part is a mark or a vowel sign: an old one, or a new neighbour.
    decompositions = {}
    for first in new:
        if ord(first) >= FIRST_IDEOGRAPHIC_PLANE:
            continue  # nothing there composes
        neighbours = {c for c in new if ord(c) >> 7 == ord(first) >> 7}
        for second in seconds | neighbours:
            together = nfc(first + second)
            if len(together) == 1:
                decompositions[ord(together)] = first + second
    return classes, decompositions


def content() -> str:
    """Return the content of the table's file."""
    category = categories()
    in_order = (category[c] for c in range(CODE_POINT_COUNT))
    runs = [f"{name}{len(list(group))}" for name, group in groupby(in_order)]
    numbers = {c for c, name in category.items() if name[0] == "N"}
    word = {c for c, name in category.items() if name in WORD_CATEGORIES}
    rust_word, oniguruma_word = tiktoken_class(r"\w"), oniguruma_class(r"\w")
    digits = isolated_after_a(pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str)
    punctuation = isolated_after_a(pre_tokenizers.Punctuation().pre_tokenize_str)
    if not (word <= rust_word and word <= oniguruma_word and numbers <= digits):
        raise ValueError("a class must contain the categories it extends")
    classes, decompositions = normalization_supplement(category)
    class_words = [f"{c:X}={number}" for c, number in sorted(classes.items())]
    composition_words = [
        f"{c:X}={ord(parts[0]):X}+{ord(parts[1]):X}" for c, parts in sorted(decompositions.items())
    ]
    entries = {
        "CATEGORIES": (
            "General category and length of each run of code points, from 0: tiktoken 0.14.0.",
            " ".join(runs),
        ),
        "WHITE_SPACE": (r"`\s` of tiktoken.", as_ranges(tiktoken_class(r"\s"))),
        "HAN": (r"`\p{Han}` of tiktoken.", as_ranges(tiktoken_class(r"\p{Han}"))),
        "RUST_WORD_EXTRA": (
            r"`\w` of tiktoken beyond the categories L, M, Nd, Nl and Pc.",
            as_ranges(rust_word - word),
        ),
        "ONIGURUMA_WORD_EXTRA": (
            r"`\w` of the `Split` of tokenizers 0.23.3 beyond the same categories.",
            as_ranges(oniguruma_word - word),
        ),
        "DIGITS_EXTRA": (
            "What the `Digits` of tokenizers 0.23.3 isolates beyond the category N.",
            as_ranges(digits - numbers),
        ),
        "PUNCTUATION": (
            "What the `Punctuation` of tokenizers 0.23.3 isolates.",
            as_ranges(punctuation),
        ),
        "NEW_COMBINING_CLASSES": (
            "Canonical combining classes that Unicode 14.0 lacks: bpe-openai 0.1.4, voyage3_base.",
            " ".join(class_words),
        ),
        "NEW_COMPOSITIONS": (
            "Primary composites that Unicode 14.0 lacks, with their two parts: the same engine.",
            " ".join(composition_words),
        ),
    }
    return written_table("make_unicode_tables.py", ORIGIN, entries)


def main() -> None:
    """Write the table."""
    write_table("unicode", content())


if __name__ == "__main__":
    main()
