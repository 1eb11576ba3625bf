"""Pre-tokenizers cut as Hugging Face tokenizers 0.23.3 does: the same texts, the same offsets."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import product
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import PreTokenizedString, Tokenizer, normalizers
from tokenizers import Regex as EngineRegex
from tokenizers import pre_tokenizers as engine

from bpe_ref import ParameterError
from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import PreTokenizer
from bpe_ref.formats.hugging_face_components import KINDS as COMPONENTS
from bpe_ref.patterns.matches import Literal, Regex, find_matches
from bpe_ref.pre_tokenizers.character_classes import CharacterClass
from bpe_ref.pre_tokenizers.sequence import needs_alignment
from bpe_ref.pre_tokenizers.splitting import BEHAVIORS, ranges
from bpe_ref.pre_tokenizers.unicode_scripts import script_of
from bpe_ref.vocabulary.byte_alphabet import (
    BYTE_OF_LETTER,
    LETTER_OF_BYTE,
    from_letters,
    to_letters,
)
from tests.texts import CAMPAIGN, drawn, text_of

PRE_TOKENIZERS: Final = COMPONENTS["pre_tokenizer"]
ours = SimpleNamespace(**PRE_TOKENIZERS)

BOTH: Final = (False, True)
SNAKE: Final = {
    "Removed": "removed",
    "Isolated": "isolated",
    "MergedWithPrevious": "merged_with_previous",
    "MergedWithNext": "merged_with_next",
    "Contiguous": "contiguous",
}
LITERALS: Final = (" ", "-", "a", "''", "", "\n", "é", ".")
REGEXES: Final = (
    r"\s+",
    r"\p{L}+|\p{N}",
    r"\d",
    r"[^\s\p{L}\p{N}]+",
    r"",
    r"a*",
    r"(?=\p{Lu})",
    r"\b",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|\s+(?!\S)|\s+",
)
PATTERNS: Final[tuple[Literal | Regex, ...]] = (*map(Literal, LITERALS), *map(Regex, REGEXES))
Pair: TypeAlias = tuple[engine.PreTokenizer, PreTokenizer]
"""A component of the engine's and ours."""


def split_name(pattern: Literal | Regex, behavior: str, *, invert: bool) -> str:
    return f"Split {pattern} {behavior} {invert}"


def splits() -> Iterator[tuple[str, Pair]]:
    for pattern in PATTERNS:
        same = EngineRegex(pattern.source) if isinstance(pattern, Regex) else pattern.text
        for behavior, invert in product(BEHAVIORS, BOTH):
            theirs = engine.Split(same, SNAKE[behavior], invert)
            component = ours.Split(pattern, behavior, invert)
            yield split_name(pattern, behavior, invert=invert), (theirs, component)


def others() -> Iterator[tuple[str, Pair]]:
    for prefix, regex in product(BOTH, BOTH):
        yield (
            f"ByteLevel {prefix} {regex}",
            (
                engine.ByteLevel(add_prefix_space=prefix, use_regex=regex),
                ours.ByteLevel(prefix, trim_offsets=True, use_regex=regex),
            ),
        )
    for letter, scheme, split in product("▁_ a", ("first", "never", "always"), BOTH):
        if (letter, scheme, split) == (" ", "never", False):
            continue  # it changes nothing
        yield (
            f"Metaspace {letter} {scheme} {split}",
            (engine.Metaspace(letter, scheme, split), ours.Metaspace(letter, scheme, split)),
        )
    for individual in BOTH:
        yield f"Digits {individual}", (engine.Digits(individual), ours.Digits(individual))
    for behavior in BEHAVIORS:
        yield (
            f"Punctuation {behavior}",
            (engine.Punctuation(SNAKE[behavior]), ours.Punctuation(behavior)),
        )
    for letter in " a'é-]\\":
        yield (
            f"CharDelimiterSplit {letter}",
            (engine.CharDelimiterSplit(letter), ours.CharDelimiterSplit(letter)),
        )
    for length in (1, 2, 3, 5):
        yield f"FixedLength {length}", (engine.FixedLength(length), ours.FixedLength(length))
    yield "Whitespace", (engine.Whitespace(), ours.Whitespace())
    yield "WhitespaceSplit", (engine.WhitespaceSplit(), ours.WhitespaceSplit())
    yield "BertPreTokenizer", (engine.BertPreTokenizer(), ours.BertPreTokenizer())
    yield "UnicodeScripts", (engine.UnicodeScripts(), ours.UnicodeScripts())


PLAIN: Final = dict(others())
SPLITS: Final = dict(splits())
PAIRS: Final = PLAIN | SPLITS

NORMALIZERS: Final = {
    "nothing": None,
    "decomposed": normalizers.NFKD(),
    "composed": normalizers.NFKC(),
    "without marks": normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
    "with something in front": normalizers.Prepend("▁ "),
    "with more spaces": normalizers.Replace(EngineRegex("[aeio]"), " -1 "),
    "with less": normalizers.Replace(EngineRegex("[ a1]+"), ""),
    "stripped": normalizers.Strip(),
    "lower case": normalizers.Lowercase(),
}
"""What changes the text beforehand, so that one original character is none or many."""


def engine_pieces(
    theirs: engine.PreTokenizer, text: str, normalizer: normalizers.Normalizer | None = None
) -> list[tuple[str, Any]]:
    prepared = PreTokenizedString(text)
    if normalizer is not None:
        prepared.normalize(normalizer.normalize)
    theirs.pre_tokenize(prepared)
    found = prepared.get_splits(offset_referential="original", offset_type="char")
    # Where nothing cuts, in an empty Sequence, an empty text stays: it has no tokens either way.
    return [(piece, offsets) for piece, offsets, _ in found if piece]


def our_pieces(component: PreTokenizer, text: AlignedText) -> list[tuple[str, Any]]:
    return [(piece.text, (piece.start, piece.end)) for piece in component.cut(text)]


def normalized(text: str, normalizer: normalizers.Normalizer) -> AlignedText:
    """Return what the engine's normalizer makes of a text, with its alignment.

    Each character is isolated, so that its offsets are its range of the original.
    """
    if normalizer is None or not text:
        return AlignedText.of(text)
    prepared = PreTokenizedString(text)
    prepared.normalize(normalizer.normalize)
    (_, (start, end), _), *_ = prepared.get_splits("original", "char")
    engine.FixedLength(1).pre_tokenize(prepared)
    letters = prepared.get_splits("original", "char")
    return AlignedText(
        "".join(letter for letter, _, _ in letters),
        tuple(offsets for _, offsets, _ in letters),
        start,
        end,
    )


TEXTS: Final = text_of(" a", "-]\\", "''A", "\n▁_", "é.", "1")
CHANGES: Final = st.sampled_from(list(NORMALIZERS.values()))
KINDS: Final = sorted({name.partition(" ")[0] for name in PAIRS})
NAMES: Final = st.sampled_from(KINDS).flatmap(
    lambda kind: st.sampled_from([name for name in PAIRS if name.partition(" ")[0] == kind])
)


class Census:
    """How many texts each component met, and how many of them it cut or changed."""

    def __init__(self) -> None:
        self.met: Counter[str] = Counter()
        self.changed: Counter[str] = Counter()

    def count(self, name: str, text: str, pieces: list[tuple[str, Any]]) -> None:
        self.met[name] += 1
        self.changed[name] += [piece for piece, _ in pieces] != ([text] if text else [])

    def quiet(self) -> list[str]:
        """Return the components that changed less than 5 % of their texts."""
        return [name for name, met in self.met.items() if self.changed[name] * 20 < met]


def sequence_of(names: Sequence[str]) -> Pair:
    pairs = [PAIRS[name] for name in names]
    return engine.Sequence([theirs for theirs, _ in pairs]), ours.Sequence(
        [one for _, one in pairs]
    )


def test_pieces_and_offsets_are_the_engines() -> None:
    census = Census()

    @drawn(500)
    @given(TEXTS)
    def compare(text: str) -> None:
        aligned = AlignedText.of(text)
        for name, (theirs, component) in PLAIN.items():
            expected = engine_pieces(theirs, text)
            assert our_pieces(component, aligned) == expected, name
            census.count(name, text, expected)

    compare()
    assert census.quiet() == []


def test_pieces_and_offsets_of_a_split_are_the_engines() -> None:
    census = Census()
    patterns = st.sampled_from(PATTERNS)

    @drawn(500)
    @given(TEXTS, st.lists(patterns, min_size=3, max_size=3, unique=True))
    def compare(text: str, chosen: list[Literal | Regex]) -> None:
        aligned = AlignedText.of(text)
        for pattern, behavior, invert in product(chosen, BEHAVIORS, BOTH):
            theirs, component = SPLITS[split_name(pattern, behavior, invert=invert)]
            expected = engine_pieces(theirs, text)
            assert our_pieces(component, aligned) == expected, component
            census.count(f"{behavior} {invert}", text, expected)
            census.count(repr(pattern), text, expected)

    compare()
    assert census.quiet() == []


def test_offsets_are_the_engines_behind_a_normalizer() -> None:
    census = Census()

    @drawn(500)
    @given(TEXTS, CHANGES, st.lists(NAMES, min_size=3, max_size=6, unique=True))
    def compare(text: str, normalizer: normalizers.Normalizer, names: list[str]) -> None:
        aligned = normalized(text, normalizer)
        for name in names:
            theirs, component = PAIRS[name]
            expected = engine_pieces(theirs, text, normalizer)
            assert our_pieces(component, aligned) == expected, name
            census.count(name.partition(" ")[0], text, expected)

    compare()
    assert census.quiet() == []


def test_a_sequence_cuts_as_the_engines() -> None:
    census = Census()

    @drawn(500)
    @given(TEXTS, CHANGES, st.lists(NAMES, min_size=2, max_size=4))
    def compare(text: str, normalizer: normalizers.Normalizer, names: list[str]) -> None:
        theirs, component = sequence_of(names)
        expected = engine_pieces(theirs, text, normalizer)
        assert our_pieces(component, normalized(text, normalizer)) == expected
        census.count("Sequence", text, expected)

    compare()
    assert census.quiet() == []


@drawn(500)
@given(TEXTS, st.lists(NAMES, min_size=8, max_size=16, unique=True), st.booleans())
def test_text_alone_is_cut_the_same(text: str, names: list[str], at_start: bool) -> None:
    original = (
        AlignedText.of(text) if at_start else AlignedText.of("x" + text).slice(1, 1 + len(text))
    )
    for name in names:
        component = PAIRS[name][1]
        assert component.cut_text(text, at_start) == [p.text for p in component.cut(original)], name


@drawn(500)
@given(TEXTS, st.lists(NAMES, min_size=2, max_size=4), st.booleans(), CHANGES)
def test_text_alone_is_cut_the_same_by_a_sequence(
    text: str, names: list[str], at_start: bool, normalizer: normalizers.Normalizer
) -> None:
    component = sequence_of(names)[1]
    aligned = AlignedText.of(text) if needs_alignment(component) else normalized(text, normalizer)
    if text and not at_start:
        aligned = moved(aligned)
    expected = [piece.text for piece in component.cut(aligned)]
    assert component.cut_text(aligned.text, at_start or not text) == expected


def moved(text: AlignedText) -> AlignedText:
    """Return the text as part of an original that begins with one character more."""
    spans = tuple((start + 1, end + 1) for start, end in text.spans)
    return AlignedText(text.text, spans, text.start + 1, text.end + 1)


# The planes that hold characters; in a campaign, all of them.
PLANES: Final = range(0x11) if CAMPAIGN > 1 else (0, 1, 2, 3, 14)
LETTERS: Final = "a".join(
    chr(c) for plane in PLANES for c in range(plane << 16, plane + 1 << 16) if c >> 11 != 0x1B
)


@pytest.mark.parametrize(
    "name",
    [
        *("BertPreTokenizer", "Digits True", "Punctuation Isolated", "Whitespace"),
        *("WhitespaceSplit", "UnicodeScripts", "ByteLevel False True"),
    ],
)
def test_every_character_is_taken_as_the_engine_takes_it(name: str) -> None:
    theirs, component = PAIRS[name]
    prepared = PreTokenizedString(LETTERS)
    theirs.pre_tokenize(prepared)
    expected = [piece for piece, _, _ in prepared.get_splits("original", "byte")]
    assert component.cut_text(LETTERS, at_start=True) == expected


def test_every_pair_of_scripts_is_told_apart_as_the_engine_does() -> None:
    one_of_each = {script_of(character): character for character in reversed(LETTERS)}
    assert len(one_of_each) == 136
    text = "".join(a + b for a in one_of_each.values() for b in one_of_each.values())
    expected = engine_pieces(engine.UnicodeScripts(), text)
    assert our_pieces(ours.UnicodeScripts(), AlignedText.of(text)) == expected


def test_every_arrangement_of_matches_is_cut_as_the_engine_does() -> None:
    texts = ["".join(letters) for size in range(7) for letters in product("a-", repeat=size)]
    for behavior, invert, text in product(BEHAVIORS, BOTH, texts):
        matches = find_matches(Literal("-"), text)
        spans = ranges(matches, behavior, invert=invert)
        split = engine.Split("-", SNAKE[behavior], invert).pre_tokenize_str(text)
        assert spans == [offsets for piece, offsets in split if piece], (behavior, invert, text)
        if not invert:
            digits = text.replace("-", "1")
            pieces = CharacterClass("tokenizers-digits", "N").cut(behavior, digits)
            assert pieces == [digits[start:end] for start, end in spans]


@drawn(500)
@given(TEXTS)
def test_letters_are_the_bytes_and_are_read_back(text: str) -> None:
    letters = to_letters(text.encode())
    assert from_letters(letters) == text.encode()
    assert engine_pieces(engine.ByteLevel(False, use_regex=False), text) == (
        [(letters, (0, len(text)))] if text else []
    )


def test_every_byte_has_a_letter_of_its_own() -> None:
    assert sorted(LETTER_OF_BYTE) == sorted(engine.ByteLevel.alphabet())
    assert [BYTE_OF_LETTER[letter] for letter in LETTER_OF_BYTE] == list(range(256))


def test_what_is_no_letter_stands_for_no_byte() -> None:
    with pytest.raises(KeyError):
        from_letters("a b")


def test_letters_of_one_character_share_its_offsets() -> None:
    (piece,) = ours.ByteLevel(add_prefix_space=False, trim_offsets=True).cut(AlignedText.of("né"))
    assert (piece.text, piece.spans) == ("nÃ©", ((0, 1), (1, 2), (1, 2)))


def test_a_prefixed_space_shares_the_offsets_of_the_first_character() -> None:
    (piece,) = ours.ByteLevel(add_prefix_space=True, trim_offsets=True).cut(AlignedText.of("a"))
    assert (piece.text, piece.spans) == ("Ġa", ((0, 1), (0, 1)))


def test_nothing_is_prefixed_to_the_empty_text() -> None:
    for component in (ours.Metaspace(), ours.ByteLevel(add_prefix_space=True, trim_offsets=True)):
        assert component.cut(AlignedText.of("")) == []
        assert component.cut_text("", at_start=True) == []


def test_nul_in_a_text_does_not_end_a_piece() -> None:
    component = ours.ByteLevel(add_prefix_space=False, trim_offsets=True)
    assert component.cut_text("a \0\0b", at_start=True) == ["a", "ĠĀĀ", "b"]


def test_only_the_first_piece_of_the_original_gets_the_first_replacement() -> None:
    theirs, component = sequence_of(["CharDelimiterSplit -", "Metaspace ▁ first True"])
    for text, expected in (
        ("a-b", [("▁a", (0, 1)), ("b", (2, 3))]),
        ("-a-b", [("a", (1, 2)), ("b", (3, 4))]),
    ):
        assert engine_pieces(theirs, text) == expected
        assert our_pieces(component, AlignedText.of(text)) == expected


def test_every_letter_of_the_first_character_is_at_the_beginning() -> None:
    theirs, component = sequence_of(
        ["ByteLevel False True", "FixedLength 1", "Metaspace ▁ first True"]
    )
    expected = [("▁Ã", (0, 1)), ("▁©", (0, 1)), ("a", (1, 2))]
    assert engine_pieces(theirs, "éa") == expected
    assert our_pieces(component, AlignedText.of("éa")) == expected
    assert component.cut_text("éa", at_start=True) == ["▁Ã", "▁©", "a"]
    assert component.cut_text("éa", at_start=False) == ["Ã", "©", "a"]
    assert needs_alignment(component)


def test_what_no_script_begins_vanishes() -> None:
    assert ours.UnicodeScripts().cut_text("  a  я ") == ["a  ", "я "]
    assert ours.UnicodeScripts().cut_text("   ") == []


def test_an_empty_sequence_leaves_one_piece() -> None:
    assert ours.Sequence([]).cut(AlignedText.of("a b")) == [AlignedText.of("a b")]
    assert ours.Sequence([]).cut_text("a b") == ["a b"]
    assert ours.Sequence([]).cut_text("") == []


def test_text_inserted_before_everything_is_written_twice_as_in_the_engine() -> None:
    insert = normalizers.Replace(EngineRegex("^"), "X")
    aligned = AlignedText("Xab", ((0, 0), (0, 1), (1, 2)), 0, 2)
    alone = AlignedText("X", ((0, 0),), 0, 0)
    byte_level = PAIRS["ByteLevel False False"][1]
    theirs = engine.Sequence([engine.Split("X", "isolated"), PAIRS["ByteLevel False False"][0]])
    component = ours.Sequence([ours.Split(Literal("X"), "Isolated", invert=False), byte_level])
    assert engine_pieces(theirs, "ab", insert) == [("XX", (0, 0)), ("ab", (0, 2))]
    assert our_pieces(component, aligned) == [("XX", (0, 0)), ("ab", (0, 2))]
    # Where the engine panics, because the insertion is not alone, nothing is written twice.
    assert our_pieces(byte_level, aligned) == [("Xab", (0, 2))]
    assert our_pieces(byte_level, alone) == [("XX", (0, 0))]
    assert byte_level.cut_text("X", at_start=True) == ["X"]


METASPACES: Final = [
    {"replacement": "_", **dict(zip(("add_prefix_space", "prepend_scheme"), values, strict=True))}
    for values in product((None, False, True), ("first", "never", "always"))
]


@pytest.mark.parametrize(
    "fields",
    [
        *METASPACES,
        {"replacement": "_", "add_prefix_space": False},
        {"replacement": "_", "str_rep": "x"},
        {"replacement": "_", "str_rep": 3},
        {"replacement": "_", "split": False},
        {"replacement": "__"},
        {"replacement": ""},
        {"replacement": "_", "prepend_scheme": "often"},
        {"replacement": "_", "add_prefix_space": 1},
    ],
)
def test_old_metaspaces_load_or_fail_as_in_the_engine(fields: dict[str, Any]) -> None:
    whole = {"model": {"type": "BPE", "vocab": {}, "merges": []}}
    text = json.dumps(whole | {"pre_tokenizer": {"type": "Metaspace"} | fields})
    try:
        theirs = Tokenizer.from_str(text).pre_tokenizer
    except Exception:  # noqa: BLE001 -- the engine raises nothing narrower
        with pytest.raises(ParameterError):
            ours.Metaspace(**fields)
    else:
        component = ours.Metaspace(**fields)
        assert component.replacement == theirs.replacement
        assert component.prepend_scheme == theirs.prepend_scheme
        assert component.split == theirs.split


@pytest.mark.parametrize(
    ("kind", "fields", "sentence"),
    [
        ("Digits", [1], "individual_digits must be a bool, got 1"),
        ("CharDelimiterSplit", [""], "delimiter must be one character, got ''"),
        ("CharDelimiterSplit", [None], "delimiter must be one character, got None"),
        ("FixedLength", [0], "length must be at least 1, got 0"),
        ("FixedLength", [True], "length must be an int, got True"),
        ("FixedLength", ["5"], "length must be an int, got '5'"),
        ("Metaspace", ["ab"], "replacement must be one character, got 'ab'"),
        ("Metaspace", ["_", "maybe"], "prepend_scheme must be one of first, never, always, got "),
        ("Metaspace", ["_", []], "prepend_scheme must be one of first, never, always, got []"),
        ("Metaspace", ["_", "first", None], "split must be a bool, got None"),
        ("Metaspace", ["_", "first", True, 0], "add_prefix_space must be a bool, got 0"),
        (
            "Metaspace",
            ["_", "always", True, False],
            "prepend_scheme must be \"never\" where add_prefix_space is false, got 'always'",
        ),
        ("Metaspace", ["_", "first", True, None, 3], "str_rep must be a str, got 3"),
        ("Punctuation", ["removed"], "behavior must be one of Removed, Isolated, "),
        ("Punctuation", [{}], "behavior must be one of Removed, Isolated, "),
        ("ByteLevel", [0, True], "add_prefix_space must be a bool, got 0"),
        ("ByteLevel", [True, None], "trim_offsets must be a bool, got None"),
        ("ByteLevel", [True, True, ""], "use_regex must be a bool, got ''"),
        ("Split", ["x", "Removed", False], "pattern must be a Literal or a Regex, got 'x'"),
        ("Split", [Literal("x"), "Gone", False], "behavior must be one of Removed, Isolated, "),
        ("Split", [Literal("x"), "Removed", 2], "invert must be a bool, got 2"),
        ("Sequence", ["ab"], "pretokenizers must be a list of pre-tokenizers, got 'ab'"),
        ("Sequence", [3], "pretokenizers must be a list of pre-tokenizers, got 3"),
        ("Sequence", [[3]], "pretokenizers must be a list of pre-tokenizers, got [3]"),
    ],
)
def test_a_wrong_field_is_one_sentence(kind: str, fields: list[Any], sentence: str) -> None:
    with pytest.raises(ParameterError) as raised:
        PRE_TOKENIZERS[kind](*fields)
    assert str(raised.value).startswith(sentence)


def test_an_unknown_behavior_is_an_error() -> None:
    with pytest.raises(ParameterError, match="behavior must be one of Removed, Isolated, "):
        ranges([], "Gone")


def test_every_type_name_of_the_format_has_its_class() -> None:
    assert set(PRE_TOKENIZERS) == {*(name.partition(" ")[0] for name in PAIRS), "Sequence"}
    for name, component in PRE_TOKENIZERS.items():
        assert component.__name__ == name
        assert engine.__dict__[name]


@pytest.mark.parametrize("kind", sorted(PRE_TOKENIZERS.keys() - {"Sequence"}))
def test_the_fields_are_those_of_the_format(kind: str) -> None:
    theirs, component = next(pair for name, pair in PAIRS.items() if name.partition(" ")[0] == kind)
    written = json.loads(theirs.__getstate__())
    assert written.pop("type") == kind
    assert [field.name for field in fields(type(component))] == list(written)  # type: ignore[arg-type]


def test_arguments_are_left_as_they_were() -> None:
    text = AlignedText.of("a b-1 éя")
    for _, component in PAIRS.values():
        component.cut(text)
    assert text == AlignedText.of("a b-1 éя")
