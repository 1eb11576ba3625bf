"""NFC is that of Unicode 16.0, on every Python."""

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref.data import table
from bpe_ref.normalizers import nfc as normalization
from bpe_ref.normalizers.nfc import nfc, nfc_by_definition
from bpe_ref.patterns.unicode_tables import TABLES, to_ranges

SCALARS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
MARKS = [
    chr(c)
    for first, last in to_ranges(TABLES["unicode-16.0"].code_points("M"))
    for c in range(first, last + 1)
]
COMPOSITIONS = {
    chr(int(composite, 16)): "".join(chr(int(part, 16)) for part in parts.split("+"))
    for composite, parts in (
        entry.split("=") for entry in table("unicode")["NEW_COMPOSITIONS"].split()
    )
}
NEW_MARKS = [
    chr(int(entry.split("=")[0], 16)) for entry in table("unicode")["NEW_COMBINING_CLASSES"].split()
]
BASES = [*"ae \u00e2\u1ea1\uac00\u1100\u1161\u11a8\u0958\u2126\u212b", *COMPOSITIONS]
PARTS = sorted({part for parts in COMPOSITIONS.values() for part in parts})
texts = st.lists(
    st.sampled_from(BASES)
    | st.sampled_from(MARKS)
    | st.sampled_from(NEW_MARKS)
    | st.sampled_from(PARTS)
    | st.characters(exclude_categories=["Cs"]),
    max_size=8,
).map("".join)


def voyage_nfc() -> Callable[[str], str]:
    """bpe-openai's voyage3_base normalizes before it encodes."""
    bpe_openai = pytest.importorskip("bpe_openai", reason="bpe-openai is not installed")
    voyage = bpe_openai.get_encoding("voyage3_base")
    return lambda text: str(voyage.decode(voyage.encode_ordinary(text)))


def tokenizers_nfc() -> Callable[[str], str]:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    normalize: Callable[[str], str] = tokenizers.normalizers.NFC().normalize_str
    return normalize


def test_every_code_point_normalizes_as_in_voyage3_base() -> None:
    engine = voyage_nfc()
    assert [c for c in SCALARS if engine(c) != nfc(c)] == []
    assert [
        c for c in SCALARS if unicodedata.category(c) != "Co" and nfc_by_definition(c) != nfc(c)
    ] == []


@pytest.mark.parametrize("neighbour", ["\u0301", "\u0334", "\u0316", "\u3099"])
def test_every_mark_is_ordered_as_in_voyage3_base(neighbour: str) -> None:
    engine = voyage_nfc()
    for mark in MARKS:
        for text in (f"a{mark}{neighbour}", f"a{neighbour}{mark}"):
            assert nfc(text) == nfc_by_definition(text) == engine(text)


@given(texts)
def test_sequences_normalize_as_in_voyage3_base(text: str) -> None:
    assert nfc(text) == nfc_by_definition(text) == voyage_nfc()(text)


@given(texts)
def test_normalizing_twice_changes_nothing(text: str) -> None:
    assert nfc(nfc(text)) == nfc(text)


@pytest.mark.parametrize("composite", COMPOSITIONS)
def test_the_new_composites_compose(composite: str) -> None:
    assert nfc(COMPOSITIONS[composite]) == composite
    assert nfc(composite) == composite


def test_the_nfc_of_tokenizers_is_that_of_unicode_9() -> None:
    """It leaves 120 marks unordered that came later, and misses 21 composites."""
    engine = tokenizers_nfc()
    neighbours = "\u0301\u0334\u0316"
    unordered = [
        mark
        for mark in MARKS
        if any(
            engine(text) != nfc(text)
            for other in neighbours
            for text in (f"a{mark}{other}", f"a{other}{mark}")
        )
    ]
    assert len(unordered) == 120
    assert "\u1df6" in unordered  # Unicode 10.0
    assert "\u1dfb" not in unordered  # Unicode 9.0
    composites = {**COMPOSITIONS, "\U00011938": "\U00011935\U00011930"}
    assert [c for c, parts in composites.items() if engine(parts) == c] == []


@given(st.text(st.characters(max_codepoint=0x7FC), max_size=8))
def test_elsewhere_the_nfc_of_tokenizers_agrees(text: str) -> None:
    assert tokenizers_nfc()(text) == nfc(text)


@pytest.mark.parametrize("text", ["", "a", "\ud800\u0301", "\u0301", "\u0301\u0316"])
def test_edges_follow_the_definition(text: str) -> None:
    assert nfc(text) == nfc_by_definition(text) == unicodedata.normalize("NFC", text)


def test_what_only_a_newer_python_knows_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """U+1ACF and U+0323 would change places if a Python with Unicode 17.0 were believed."""
    newer = frozenset("\u1acf")
    monkeypatch.setattr(normalization, "_hidden", lambda: newer)
    monkeypatch.setattr(normalization, "_disputed", lambda: newer)
    monkeypatch.setattr(unicodedata, "combining", lambda c: 230 if c in "\u1acf\u0301" else 220)
    assert nfc("q\u1acf\u0323") == "q\u1acf\u0323"
    assert nfc("q\u0301\u0323") == "q\u0323\u0301"


def test_python_has_its_own_version_which_is_why_this_module_exists() -> None:
    if unicodedata.unidata_version >= "16":
        pytest.skip("this Python has Unicode 16.0 or later")
    assert nfc("\U000105d2\u0307") != unicodedata.normalize("NFC", "\U000105d2\u0307")
