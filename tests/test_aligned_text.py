"""Where characters come from, however often a text is changed and cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref.aligned_text import AlignedText, Change
from tests.texts import drawn

INSERTED_FIRST = AlignedText("_abc", ((0, 0), (0, 1), (1, 2), (2, 3)), 0, 3)


@st.composite
def changes_of(draw: st.DrawFn, length: int) -> tuple[list[Change], int]:
    """Draw changes that use up a text of that length, and how much of it goes first."""
    left = length - (removed_first := draw(st.integers(0, length)))
    changes: list[Change] = []
    while left:
        change = draw(st.integers(1 - left, 1))
        changes.append((draw(st.sampled_from("xyz")), change))
        left -= 1 - change if change <= 0 else 0
    return changes, removed_first


@st.composite
def changed_texts(draw: st.DrawFn) -> AlignedText:
    text = AlignedText.of(draw(st.text(min_size=1, max_size=6)))
    for _ in range(draw(st.integers(0, 3))):
        if not text.starts_with_insertion:
            text = text.transform(*draw(changes_of(len(text.text))))
    return text


@drawn(500)
@given(changed_texts())
def test_there_is_one_range_per_character_and_they_rise(text: AlignedText) -> None:
    assert len(text.spans) == len(text.text)
    assert list(text.spans) == sorted(text.spans)
    assert all(text.start <= start <= end <= text.end for start, end in text.spans)


@drawn(500)
@given(changed_texts())
def test_a_text_can_be_put_together_from_its_slices(text: AlignedText) -> None:
    pieces = [text.slice(at, at + 1) for at in range(len(text.text))]
    assert "".join(piece.text for piece in pieces) == text.text
    assert [span for piece in pieces for span in piece.spans] == list(text.spans)
    assert [(piece.start, piece.end) for piece in pieces] == list(text.spans)


@drawn(500)
@given(changed_texts(), changed_texts())
def test_a_slice_is_changed_like_a_text_of_its_own(before: AlignedText, text: AlignedText) -> None:
    whole = AlignedText.of(before.text + text.text)
    own = AlignedText.of(text.text)
    shift = len(before.text)
    changes: list[Change] = [("x", 1), ("y", 0)] if text.text else [("x", 1)]
    piece = whole.slice(shift, shift + len(text.text)).transform(changes)
    alone = own.transform(changes)
    assert piece.text == alone.text
    if text.text:
        assert list(piece.spans) == [(a + shift, b + shift) for a, b in alone.spans]


@drawn(500)
@given(changed_texts(), st.text(max_size=3))
def test_a_prefix_stands_for_what_the_first_character_stands_for(
    text: AlignedText, prefix: str
) -> None:
    longer = text.prepend(prefix)
    if not text.text:
        assert longer == text
    else:
        assert longer.text == prefix + text.text
        assert longer.spans == (*[text.spans[0]] * len(prefix), *text.spans)


def test_removed_characters_are_in_no_range() -> None:
    text = AlignedText.of("abcd").transform([("b", -1), ("d", 0)], 1)
    assert text == AlignedText("bd", ((1, 2), (3, 4)), 0, 4)


def test_an_emptied_text_still_knows_what_it_is_about() -> None:
    assert AlignedText.of("abc").transform([], 3) == AlignedText("", (), 0, 3)
    assert AlignedText.of("abc").slice(1, 3).transform([]) == AlignedText("", (), 1, 3)


def test_an_insertion_before_everything_stands_for_nothing_at_the_start_of_its_piece() -> None:
    piece = AlignedText.of("abc").slice(1, 3).transform([("x", 1), ("b", 0), ("c", 0)])
    assert piece.spans == ((1, 1), (1, 2), (2, 3))
    assert piece.starts_with_insertion


def test_an_insertion_before_everything_is_repeated_by_the_next_change() -> None:
    """The engine's own way; `tests/test_hugging_face_normalizers.py` asks it."""
    text = INSERTED_FIRST.transform([("_", 0), ("a", 0), ("b", -1)])
    assert text.text == "__ab"
    assert text.spans == ((0, 0), (0, 1), (1, 2), (2, 3))


def test_where_the_engine_crashes_the_change_is_what_is_meant() -> None:
    text = INSERTED_FIRST.transform([(letter, 0) for letter in "_ABC"])
    assert text == AlignedText("_ABC", INSERTED_FIRST.spans, 0, 3)


def test_a_piece_of_nothing_but_an_insertion_is_repeated() -> None:
    piece = INSERTED_FIRST.slice(0, 1).transform([("_", 0)])
    assert piece == AlignedText("__", ((0, 0), (0, 0)), 0, 0)


@pytest.mark.parametrize("text", ["", "a"])
def test_no_change_changes_nothing(text: str) -> None:
    aligned = AlignedText.of(text)
    assert aligned.transform([(letter, 0) for letter in text]) == aligned
