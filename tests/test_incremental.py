"""What the encoders of growing texts claim, against encoding each text from scratch."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bpe_ref import ENCODERS, ParameterError, SymbolError, Vocabulary, vocabulary_by_concatenation
from bpe_ref.growing.encoders import AppendEncoder, PrependEncoder
from bpe_ref.vocabulary.automata import ROOT, Automaton
from bpe_ref.vocabulary.merges import TokenId
from bpe_ref.vocabulary.tries import NOTHING
from tests.strategies import examples, vocabularies, vocabularies_and_pieces
from tests.texts import drawn
from tokenref.strategies.tokenizer_questions import pieces_of

README = vocabulary_by_concatenation(
    {word: rank for rank, word in enumerate(b"a b c ab cb ac bb cbb acbb".split())}
)


def from_scratch(vocabulary: Vocabulary, piece: bytes) -> list[TokenId]:
    return ENCODERS["scan"](vocabulary, vocabulary.symbols(piece))


@given(vocabularies_and_pieces())
@drawn(300)
def test_every_prefix_is_as_if_encoded_from_scratch(case: tuple[Vocabulary, bytes]) -> None:
    vocabulary, piece = case
    encoder = AppendEncoder(vocabulary)
    for end, byte in enumerate(piece, start=1):
        encoder.push(byte)
        expected = from_scratch(vocabulary, piece[:end])
        assert encoder.tokens() == expected
        assert encoder.token_count == len(expected)
        assert encoder.prefix_counts()[end] == len(expected)
    assert encoder.piece == piece


@given(vocabularies_and_pieces())
@drawn(300)
def test_every_suffix_is_as_if_encoded_from_scratch(case: tuple[Vocabulary, bytes]) -> None:
    vocabulary, piece = case
    encoder = PrependEncoder(vocabulary)
    for size, byte in enumerate(reversed(piece), start=1):
        encoder.push(byte)
        expected = from_scratch(vocabulary, piece[-size:])
        assert encoder.tokens() == expected
        assert encoder.token_count == encoder.count_of(size) == len(expected)
    assert encoder.piece == piece


def test_appending_may_lower_the_count() -> None:
    encoder = AppendEncoder(README)
    counts = []
    for byte in b"abacbb":
        encoder.push(byte)
        counts.append(encoder.token_count)
    assert counts == [1, 1, 2, 2, 3, 2]


def test_prepending_takes_a_text_in_its_order() -> None:
    encoder = PrependEncoder(README)
    encoder.extend(b"bb")
    encoder.extend(b"abac")
    assert encoder.piece == b"abacbb"
    assert encoder.tokens() == from_scratch(README, b"abacbb")


class _Sequences(RuleBasedStateMachine):
    """Any sequence of pushes, extensions and truncations leaves what the text alone gives."""

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.vocabulary = data.draw(vocabularies())
        self.appended, self.prepended = AppendEncoder(self.vocabulary), b""
        self.prepender = PrependEncoder(self.vocabulary)
        self.text = b""

    @rule(data=st.data())
    def push(self, data: st.DataObject) -> None:
        letters = sorted(self.vocabulary.symbol_of_letter)
        byte = ord(data.draw(st.sampled_from(letters)))
        self.appended.push(byte)
        self.text += bytes([byte])
        self.prepender.push(byte)
        self.prepended = bytes([byte]) + self.prepended

    @rule(data=st.data())
    def extend(self, data: st.DataObject) -> None:
        piece = data.draw(pieces_of(self.vocabulary))
        self.appended.extend(piece)
        self.text += piece
        self.prepender.extend(piece)
        self.prepended = piece + self.prepended

    @precondition(lambda self: self.text)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        length = data.draw(st.integers(0, len(self.text)))
        self.appended.truncate(length)
        self.text = self.text[:length]
        self.prepender.truncate(length)
        self.prepended = self.prepended[len(self.prepended) - length :]

    @rule()
    def refuse(self) -> None:
        for encoder in (self.appended, self.prepender):
            with pytest.raises(SymbolError):
                encoder.push(ord("?"))
            with pytest.raises(ParameterError):
                encoder.truncate(len(encoder) + 1)

    @invariant()
    def as_from_scratch(self) -> None:
        if not hasattr(self, "text"):
            return
        expected = from_scratch(self.vocabulary, self.text)
        assert self.appended.tokens() == expected
        assert self.appended.token_count == len(expected)
        assert self.appended.piece == self.text
        expected = from_scratch(self.vocabulary, self.prepended)
        assert self.prepender.tokens() == expected
        assert self.prepender.token_count == len(expected)
        assert self.prepender.piece == self.prepended


_Sequences.TestCase.settings = settings(drawn(40), stateful_step_count=15)
TestSequences = _Sequences.TestCase


@pytest.mark.parametrize("kind", [AppendEncoder, PrependEncoder])
@pytest.mark.parametrize("byte", [256, -1, 1.5, "a", None])
def test_what_is_no_byte_is_refused(
    kind: type[AppendEncoder | PrependEncoder], byte: object
) -> None:
    vocabulary = vocabulary_by_concatenation({b"\0": 0, b"\0\0": 1, b"a": 2, b"\0a": 3})
    encoder = kind(vocabulary)
    encoder.push(0)
    with pytest.raises(ParameterError, match=r"byte must be an int in \[0, 255\], got"):
        encoder.push(byte)  # type: ignore[arg-type]  # that is the point
    assert encoder.tokens() == [0]


@pytest.mark.parametrize("kind", [AppendEncoder, PrependEncoder])
def test_bytes_before_an_unknown_one_stay(kind: type[AppendEncoder | PrependEncoder]) -> None:
    encoder = kind(README)
    with pytest.raises(SymbolError, match="byte 0x78 at position"):
        encoder.extend(b"abxab")
    assert encoder.piece == b"ab"


@pytest.mark.parametrize("kind", [AppendEncoder, PrependEncoder])
def test_text_is_no_piece(kind: type[AppendEncoder | PrependEncoder]) -> None:
    with pytest.raises(ParameterError, match="piece must be bytes, got 'ab'"):
        kind(README).extend("ab")  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize("kind", [AppendEncoder, PrependEncoder])
@pytest.mark.parametrize("length", [-1, 3, 1.0, True])
def test_a_length_that_is_none_is_refused(
    kind: type[AppendEncoder | PrependEncoder], length: int
) -> None:
    encoder = kind(README)
    encoder.extend(b"ab")
    with pytest.raises(ParameterError, match=r"length must be an int in \[0, 2\], got"):
        encoder.truncate(length)
    assert encoder.piece == b"ab"


# ---- the automaton


@given(
    st.lists(st.text("ab\xff", min_size=1, max_size=5), unique=True),
    st.text("abc\xff", max_size=30),
)
@examples(300)
def test_the_automaton_lists_what_ends_here_longest_first(words: list[str], text: str) -> None:
    automaton = Automaton({word: place for place, word in enumerate(words)})
    state = ROOT
    for end, letter in enumerate(text, start=1):
        state = automaton.step(state, ord(letter))
        found = []
        entry = automaton.ends[state]
        while entry != NOTHING:
            found.append(words[entry])
            entry = automaton.shorter[entry]
        ending = [word for word in words if text[:end].endswith(word)]
        assert found == sorted(ending, key=len, reverse=True)
        going_on = {word[:size] for word in words for size in range(len(word))} | {""}
        longest = max(size for size in range(end + 1) if text[end - size : end] in going_on)
        assert automaton.open_lengths[state] == longest


def test_the_automaton_takes_letters_that_are_bytes() -> None:
    with pytest.raises(ParameterError, match=r"entries must have letters below U\+0100, got"):
        Automaton({"a\u0100": 0})
