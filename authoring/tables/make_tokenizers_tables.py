r"""Ask the components of `tokenizers` about every code point.

Run it as `python -m authoring tables tokenizers`, under Python 3.11 (Unicode 14.0) with
tokenizers 0.23.3 installed. It writes `normalizers.json` and `scripts.json` in `bpe_ref/data`.
Nothing is copied from the Unicode character database: each entry is an answer of the engine, and
`tests/test_hugging_face_normalizers.py` and `test_hugging_face_pre_tokenizers.py` ask for them
again.

How grapheme clusters are asked for
    A `Precompiled` whose rules are the first bytes of characters makes one X of every cluster
    shorter than six bytes, and one X of every character of a longer one. So the number of Xs tells
    where a cluster ends, if the text around it is chosen well.

How scripts are asked for
    A character has no script if it vanishes alone. Two characters with a script have the same one
    if they stay together. All that have one, in order, come as pieces that end wherever the script
    changes: it is enough to compare the first character of each piece with one of each script known
    so far.
"""

import unicodedata
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from tokenizers import normalizers, pre_tokenizers

from authoring.tables import SCALARS, as_ranges, write_table, written_table
from authoring.tokenizer_files.charsmaps import compile_charsmap
from bpe_ref.patterns.unicode_tables import category

Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: Final[tuple[Form, ...]] = ("NFC", "NFD", "NFKC", "NFKD")
SCRIPT = "make_tokenizers_tables.py"
FIRST_BYTES = [*range(1, 0x80), *range(0xC2, 0xF5)]
SOME_MARKS = "\u0334\u3099\u0316\u0301\u0345"  # of the classes 1, 8, 220, 230 and 240


def unknown_to_the_forms() -> set[str]:
    """Return assigned characters that this Python may normalize otherwise than the engine.

    Everything that Unicode 14.0 lacks is among them, so that newer versions of Python agree.
    """
    forms: dict[Form, Callable[[str], str]] = {
        form: getattr(normalizers, form)().normalize_str for form in FORMS
    }
    unknown = {
        c
        for c in SCALARS
        if category(ord(c)) != "Cn"
        and (
            unicodedata.category(c) == "Cn"
            or any(ask(c) != unicodedata.normalize(form, c) for form, ask in forms.items())
        )
    }
    for c in SCALARS:  # marks that it does not order
        if unicodedata.combining(c) and c not in unknown:
            texts = [text for other in SOME_MARKS for text in (f"a{c}{other}", f"a{other}{c}")]
            if any(forms["NFD"](text) != unicodedata.normalize("NFD", text) for text in texts):
                unknown.add(c)
    for c in sorted(unknown):  # composites that it does not compose
        if forms["NFD"](c) == c:
            unknown.update(unicodedata.normalize("NFD", c))
    wrong = [c for c in unknown if forms["NFKD"](c) != c]
    if wrong:
        raise ValueError(f"what the engine does not know it must leave alone, got {wrong}")
    return unknown


def lowercase_words() -> list[str]:
    """Return `first-last/step+distance` for each run of letters, without U+0130."""
    ask = normalizers.Lowercase().normalize_str
    mapped = [(ord(c), ord(ask(c)) - ord(c)) for c in SCALARS if c != "\u0130" and ask(c) != c]
    words = []
    while mapped:
        run = [mapped[0]]
        step = 2 if len(mapped) > 1 and mapped[1][0] == mapped[0][0] + 2 else 1
        for entry in mapped[1:]:
            if entry != (run[-1][0] + step, run[-1][1]):
                break
            run.append(entry)
        mapped = mapped[len(run) :]
        words.append(f"{run[0][0]:X}-{run[-1][0]:X}/{step}{run[0][1]:+X}")
    return words


def cluster_classes() -> dict[str, set[str]]:
    """Return the classes of the rules for grapheme clusters, as far as they can be told apart."""
    rules = {bytes([byte]): "X" for byte in FIRST_BYTES}
    ask = normalizers.Precompiled(compile_charsmap(rules)).normalize_str

    def count(text: str) -> int:
        return len(ask(text))

    scalars = SCALARS[1:]
    joined = {c for c in scalars if count("a" + c) == 1}
    extend = {c for c in joined if count(f"\u00a9{c}\u200d\u00a9\u0301") == 5}
    before = {
        c: tuple(count(f"{c}{jamo}\u0301") == 3 for jamo in "\u1100\u1161\u11a8")
        for c in scalars
        if c > "\u0fff" and not "\uac00" <= c <= "\ud7a3"
    }
    return {
        "CONTROL": {c for c in SCALARS if count(c + "\u0301\u0301") == 2},
        "EXTEND": extend - {"\u200d"},
        "SPACING_MARK": joined - extend,
        "PREPEND": {c for c in scalars if count(c + "a") == 1},
        "LEADING": {c for c, joins in before.items() if joins == (True, True, False)},
        "VOWEL": {c for c, joins in before.items() if joins == (False, True, True)},
        "TRAILING": {c for c, joins in before.items() if joins == (False, False, True)},
        "PICTOGRAPHIC": {c for c in scalars if count(c + "\u200d\u00a9\u0301") == 4},
        "CONSONANT": {c for c in scalars if count(c + "\u094d\u0915\u0301") == 4},
        "LINKER": {c for c in joined if count(f"\u0915{c}\u0915\u0301") == 4},
    }


def answering(ask: Callable[[str], str], answer: str) -> str:
    """Return the ranges of characters that become `answer`."""
    return as_ranges(ord(c) for c in SCALARS if c != answer and ask(c) == answer)


def bert(part: str) -> Callable[[str], str]:
    """Return a BertNormalizer that does one of its four things only."""
    parts = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    normalizer = normalizers.BertNormalizer(**{name: name == part for name in parts})
    return normalizer.normalize_str


CLUSTER_REASONS = {
    "CONTROL": "GCB=Control, and CR and LF.",
    "EXTEND": "GCB=Extend.",
    "SPACING_MARK": "GCB=SpacingMark.",
    "PREPEND": "GCB=Prepend.",
    "LEADING": "GCB=L.",
    "VOWEL": "GCB=V.",
    "TRAILING": "GCB=T.",
    "PICTOGRAPHIC": "Extended_Pictographic.",
    "CONSONANT": "InCB=Consonant.",
    "LINKER": "InCB=Linker.",
}


def normalizer_table() -> str:
    """Return the content of `normalizers.json`."""
    clean = bert("clean_text")
    classes = cluster_classes()
    entries = {
        "UNKNOWN_TO_FORMS": (
            "NFC, NFD, NFKC and NFKD: assigned in Unicode 16.0, and nothing special to the engine.",
            as_ranges(map(ord, unknown_to_the_forms())),
        ),
        "LOWERCASE": (
            "Lowercase: first and last letter, their step, and the distance to the small letter.",
            " ".join(lowercase_words()),
        ),
        "COMBINING_MARKS": (
            "StripAccents: what it removes.",
            answering(normalizers.StripAccents().normalize_str, ""),
        ),
        "BERT_ACCENTS": (
            "BertNormalizer, strip_accents: what it removes after NFD.",
            answering(bert("strip_accents"), ""),
        ),
        "BERT_REMOVED": ("BertNormalizer, clean_text: what it removes.", answering(clean, "")),
        "BERT_SPACES": ("The same: what becomes a space.", answering(clean, " ")),
        "BERT_CHINESE": (
            "BertNormalizer, handle_chinese_chars: what it puts spaces around.",
            as_ranges(ord(c) for c in SCALARS if len(bert("handle_chinese_chars")(c)) == 3),
        ),
    }
    for name, members in classes.items():
        entries[name] = CLUSTER_REASONS[name], as_ranges(map(ord, members))
    return written_table(
        SCRIPT,
        "What the normalizers of tokenizers 0.23.3 answered; ranges include both ends.",
        entries,
    )


def script_table() -> str:
    """Return the content of `scripts.json`."""
    return written_table(
        SCRIPT,
        "The scripts of UnicodeScripts in tokenizers 0.23.3, each named after its first character; "
        "ranges include both ends. No other character has a script.",
        {
            unicodedata.name(chr(script[0]), "a control character"): ("", as_ranges(script))
            for script in scripts_of_characters()
        },
    )


def scripts_of_characters() -> list[list[int]]:
    """Return the code points of each script, in the order of their first ones."""
    cut = pre_tokenizers.UnicodeScripts().pre_tokenize_str
    scripted = [c for c in SCALARS if cut(c) != []]
    scripts: list[list[int]] = []
    for run, _ in cut("".join(scripted)):
        members = next((one for one in scripts if len(cut(chr(one[0]) + run)) == 1), None)
        if members is None:
            members = []
            scripts.append(members)
        members += map(ord, run)
    return scripts


def main() -> None:
    """Write both tables."""
    write_table("normalizers", normalizer_table())
    write_table("scripts", script_table())


if __name__ == "__main__":
    main()
