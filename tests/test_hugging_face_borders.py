"""Places that no merge can cross: quick ways find borders only, and the tokens stay the same."""

from collections.abc import Sequence as Many
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref.added_tokens import RECOGNISE_ALL, AddedToken, AddedTokens
from bpe_ref.encoders.naive import encode_naive
from bpe_ref.encoding import Encoding
from bpe_ref.models import borders as borders_module
from bpe_ref.models import partwise
from bpe_ref.models.borders import MOST_PAIRS, Borders, CharacterBorders, joined
from bpe_ref.models.bpe import BPE
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.normalizers.nfc import PinnedNFC
from bpe_ref.normalizers.normalization_forms import NFC
from bpe_ref.normalizers.replacing import Replace
from bpe_ref.normalizers.rewriting import ByteLevel as Letters
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.pieces import encode_pieces, pieces_of
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.pre_tokenizers.sequence import Sequence
from bpe_ref.pre_tokenizers.split_by_pattern import Split
from bpe_ref.quick_ids import QuickIds, writes_letters
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary import vocabulary_by_concatenation
from bpe_ref.vocabulary.byte_alphabet import LETTER_OF_BYTE, from_letters, read_letters, to_letters
from tests.texts import drawn

LETTERS = "_abc12xy"
tokens = st.lists(st.text(LETTERS, min_size=2, max_size=4), max_size=6)
texts = st.text(LETTERS, min_size=1, max_size=16)


@pytest.mark.parametrize("falls_back", [False, True])
def test_what_is_cut_by_kind_is_cut_at_borders_only(*, falls_back: bool) -> None:
    cuts: list[int] = []

    @drawn(500)
    @given(tokens, texts, st.sets(st.sampled_from(LETTERS)))
    def check(made: list[str], text: str, known: set[str]) -> None:
        vocab = {letter: id_ for id_, letter in enumerate(sorted(known))}
        borders = Borders(vocab, joined(made), falls_back=falls_back)
        parts = borders.cut_by_kind(text)
        assert "".join(parts) == text
        assert all(parts)
        for left, right in pairwise(parts):
            assert borders.is_border(left[-1], right[0])
        for part in parts:
            if borders.is_unjoined(part):
                assert borders.cut(part) == list(part)
        cuts.append(len(parts) - 1)

    check()
    assert sum(map(bool, cuts)) > len(cuts) / 20


def test_letters_and_other_characters_of_ascii_are_cut_apart_at_borders_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(borders_module, "FEW", 0)
    cuts: list[int] = []
    alike = st.one_of(*(st.text(kind, min_size=2, max_size=4) for kind in ("▁aZé", "▁1.é", "▁a1")))

    @drawn(500)
    @given(st.lists(alike, max_size=5), st.text("▁▁aZ1.\n", min_size=1, max_size=16))
    def check(made: list[str], text: str) -> None:
        borders = Borders({}, joined(["▁a", "▁Z", *made]), falls_back=True)
        parts = borders.cut_by_kind(text)
        cuts.append(len(parts) - 1 if "joints" not in vars(borders) else 0)
        assert "".join(parts) == text
        assert all(parts)
        for left, right in pairwise(parts):
            assert borders.is_border(left[-1], right[0])

    check()
    assert sum(map(bool, cuts)) > len(cuts) / 20


@pytest.mark.parametrize("falls_back", [False, True])
def test_what_is_cut_before_the_letter_is_cut_at_borders_only(*, falls_back: bool) -> None:
    cuts: list[int] = []

    @drawn(500)
    @given(tokens, texts)
    def check(made: list[str], text: str) -> None:
        vocab = {letter: id_ for id_, letter in enumerate(LETTERS[:-1])}
        borders = Borders(vocab, joined(made), falls_back=falls_back)
        head, *tails = borders.cut_before_letter(text)
        parts = [head, *(borders.letter + tail for tail in tails)]
        assert "".join(parts) == text
        parts = [part for part in parts if part]
        for left, right in pairwise(parts):
            assert borders.is_border(left[-1], right[0])
        cuts.append(len(parts) - 1)

    check()
    assert sum(map(bool, cuts)) > len(cuts) / 20


def test_borders_are_between_letters_that_are_tokens_and_in_no_token_side_by_side() -> None:
    borders = Borders({"a": 0, "b": 1, "c": 2}, joined(["ab"]), falls_back=False)
    pairs = [left + right for left in "abcx" for right in "abcx"]
    found = {pair for pair in pairs if borders.is_border(*pair)}
    assert found == {"aa", "ac", "ba", "bb", "bc", "ca", "cb", "cc"}
    assert all((borders.cut(pair) == list(pair)) == (pair in found) for pair in pairs)


@st.composite
def models_of_letters(draw: st.DrawFn) -> BPE:
    """Draw merges of letters, and of tokens that no merge makes; letters may be missing."""
    letters = [letter for letter in LETTERS if draw(st.integers(0, 9))]
    spellings, merges = [*letters, "bc", "2x"], []
    for _ in range(draw(st.integers(0, 12))):
        left, right = draw(st.sampled_from(spellings)), draw(st.sampled_from(spellings))
        spellings.append(left + right)
        merges.append((left, right))
    falls_back = draw(st.booleans())
    tokens = [*spellings, *(f"<0x{byte:02X}>" for byte in range(256 * falls_back)), "<unk>"]
    vocab = {token: id_ for id_, token in enumerate(dict.fromkeys(tokens))}
    unknown: dict[str, Any] = {"unk_token": "<unk>", "fuse_unk": True}
    return BPE(vocab, merges, byte_fallback=falls_back, **unknown)


def test_a_model_that_cuts_at_the_borders_of_its_merges_has_the_same_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(partwise, "_LONGEST_PART", 2)
    monkeypatch.setattr(partwise, "_WHOLE", 1)
    made: list[bool] = []

    @drawn(500)
    @given(models_of_letters(), texts)
    def check(model: BPE, text: str) -> None:
        expected = model.steps(text)[-1]
        assert model.partwise.ids(text) == expected
        every = Borders(
            model.vocab, joined(left + right for left, right in model.merges), falls_back=True
        )
        assert model.borders.joints <= every.joints
        made.append(model.borders.joints < every.joints)

    check()
    assert any(made)  # the inside of a token that nothing makes has borders


@st.composite
def models_of_runs(draw: st.DrawFn) -> BPE:
    """Draw merges of runs of one letter, and of others, of which a few may come before them."""
    runs = ["▁" * count for count in range(1, draw(st.integers(2, 6)))]
    pairs = [(one, other) for one in runs for other in runs if one + other in runs]
    spellings, mixed = ["▁", "a", "b", ".", draw(st.sampled_from(["a", *runs]))], []
    for _ in range(draw(st.integers(0, 8))):
        pair = draw(st.sampled_from(spellings)), draw(st.sampled_from(spellings))
        spellings.append("".join(pair))
        mixed.append(pair)
    at = draw(st.sampled_from([0, 0, 0, 1]))
    merges = [*mixed[:at], *draw(st.permutations(pairs)), *mixed[at:]]
    tokens = [*(f"<0x{byte:02X}>" for byte in range(256)), *runs, *spellings]
    vocab = {token: id_ for id_, token in enumerate(dict.fromkeys(tokens))}
    return BPE(vocab, merges, byte_fallback=True)


@pytest.mark.parametrize("longest", [2, partwise._LONGEST_PART])
def test_runs_that_merge_first_are_cut_off_and_the_tokens_stay_the_same(
    longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(borders_module, "FEW", 0)
    monkeypatch.setattr(partwise, "_LONGEST_PART", longest)
    monkeypatch.setattr(partwise, "_WHOLE", 1)
    found: list[int] = []

    @drawn(1000)
    @given(models_of_runs(), st.text("▁▁▁ab.?\n", min_size=1, max_size=16))
    def check(model: BPE, text: str) -> None:
        expected = model.steps(text)[-1]
        assert model.partwise.ids(text) == expected
        found.append(model._longest_run)

    check()
    assert len(set(found)) > 3
    assert found.count(0) > len(found) / 20


BYTES = {letter: id_ for id_, letter in enumerate(LETTER_OF_BYTE)}
SPELLED = st.text("aéèи好妃😀", min_size=1, max_size=8)


@st.composite
def models(draw: st.DrawFn) -> BPE:
    """Draw merges of the letters of a few characters' bytes; some take pieces whole."""
    vocab, merges = dict(BYTES), []
    letters = to_letters("aéèи好妃😀".encode())
    for _ in range(draw(st.integers(0, 24))):
        left, right = (draw(st.sampled_from([*letters, *list(vocab)[256:]])) for _ in range(2))
        if left + right not in vocab:
            vocab[left + right] = len(vocab)
            merges.append((left, right))
    if ignore_merges := draw(st.booleans()):
        vocab[to_letters(draw(SPELLED).encode())] = len(vocab)
    return BPE(vocab, merges, ignore_merges=ignore_merges)


@st.composite
def models_of_characters(draw: st.DrawFn) -> BPE:
    """Draw merges of characters; others become bytes, or unknown, or nothing."""
    known = draw(st.sets(st.sampled_from("aéèи好😀 <b0x62>"), min_size=1))
    fallback, unknown = draw(st.sampled_from([256, 0xC0, 0])), draw(st.booleans())
    names = [*sorted(known), *(f"<0x{byte:02X}>" for byte in range(fallback)), *["?"] * unknown]
    vocab, merges = {name: id_ for id_, name in enumerate(names)}, []
    for _ in range(draw(st.integers(0, 8))):
        left, right = (draw(st.sampled_from([*list(vocab)[:8], *vocab])) for _ in range(2))
        if left + right not in vocab or draw(st.booleans()):
            vocab.setdefault(left + right, len(vocab))
            merges.append((left, right))
    return BPE(
        vocab,
        merges,
        unk_token="?" if unknown else None,
        fuse_unk=draw(st.booleans()),
        byte_fallback=fallback > 0,
        ignore_merges=draw(st.booleans()),
    )


def test_cut_between_characters_the_tokens_of_the_bytes_are_the_same() -> None:
    cut: list[bool] = []
    whole: list[bool] = []

    @drawn(500)
    @given(models(), SPELLED)
    def check(model: BPE, text: str) -> None:
        merging = replace(model, ignore_merges=False)

        def ids(model: BPE, piece: str) -> Many[int]:
            return model.steps(to_letters(piece.encode()))[-1]

        made = [from_letters(left + right) for left, right in model.merges]
        parts = CharacterBorders(made).cut(text)
        assert "".join(parts) == text
        assert [token for part in parts for token in ids(merging, part)] == ids(merging, text)
        assert model.ids_of_text(text) == ids(model, text)
        cut.append(len(parts) > 1)
        whole.append(len(parts) < len(text))

    check()
    assert sum(cut) > len(cut) / 20
    assert sum(whole) > len(whole) / 20


@drawn(500)
@given(st.lists(SPELLED.map(str.encode), max_size=12), st.booleans(), SPELLED)
def test_tokens_of_text_are_those_of_its_bytes(
    contents: list[bytes], whole: bool, text: str
) -> None:
    parts = (content[start:] for content in contents for start in range(len(content)))
    ranks = dict.fromkeys([*(bytes([byte]) for byte in range(256)), *parts])
    vocabulary = vocabulary_by_concatenation({content: rank for rank, content in enumerate(ranks)})
    model = ByteBPE(vocabulary, whole_piece=whole)
    assert model.ids(text) == model.ids_of_bytes(text.encode())
    assert model.ids(text) == ByteBPE(vocabulary, whole, encode_naive).ids(text)


def test_the_pairs_that_are_remembered_are_not_too_many() -> None:
    known = CharacterBorders([])
    known.cut("".join(map(chr, range(0x4E00, 0x4E00 + 20_000))))
    known.cut("".join(map(chr, range(0x10000, 0x10000 + MOST_PAIRS))))
    assert 0 < len(known) <= MOST_PAIRS


@pytest.mark.parametrize("flags", [{"ignore_merges": True}, {"dropout": 0.5}])
def test_pieces_are_not_cut_where_not_all_of_them_merge(flags: dict[str, Any]) -> None:
    model = BPE({**BYTES, to_letters("éè".encode()): 256}, [], **flags)
    pre_tokenizer = ByteLevel(add_prefix_space=False, trim_offsets=True)
    pipeline = Tokenizer(model, pre_tokenizer=pre_tokenizer)
    ids = [256] if "ignore_merges" in flags else [BYTES[x] for x in to_letters("éè".encode())]
    assert pipeline.encode("éè", draw=lambda: 0.9) == ids
    assert list(pipeline.tokenize("éè", draw=lambda: 0.9).ids) == ids


CUTS: list[Any] = [
    None,
    ByteLevel(add_prefix_space=False, trim_offsets=True),
    ByteLevel(add_prefix_space=True, trim_offsets=True),
    Split(Regex(r"\p{L}+"), "Isolated", invert=False),
    Split(Literal(" "), "MergedWithPrevious", invert=False),
    Split(Literal(" "), "Removed", invert=False),
    Pattern(r" ?\p{L}+"),
]
ADDED = [
    AddedToken("<é>", normalized=False),
    AddedToken("é<", special=False),
    AddedToken("<b>", rstrip=True),
]


SPELLINGS = [*"aéèи好妃😀 <b>e\u0301\u0958", "<é>", "<b>", "<0x62>"]


@pytest.mark.parametrize("letters", [True, False])
def test_tokens_without_origins_are_those_of_the_definition(*, letters: bool) -> None:
    quick: list[bool] = []

    @drawn(600)
    @given(
        models() if letters else models_of_characters(),
        st.sampled_from([None, NFC(), PinnedNFC(), Replace(Literal("è"), "é"), Letters()]),
        st.lists(st.sampled_from(CUTS), max_size=2, unique_by=id),
        st.lists(st.sampled_from(ADDED), max_size=2, unique_by=id),
        st.lists(st.sampled_from(SPELLINGS), max_size=12).map("".join),
        st.sampled_from([None, None, 3]),
    )
    def check(
        model: BPE,
        normalizer: Any,
        cuts: list[Any],
        added: list[AddedToken],
        text: str,
        word: int | None,
    ) -> None:
        writes = ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=False)
        steps = [*(cut for cut in cuts if cut is not None), *[writes] * letters]
        tokenizer = Tokenizer(
            model,
            normalizer=normalizer,
            pre_tokenizer=steps[0] if len(steps) == 1 else Sequence(steps),
            added_tokens=AddedTokens(added),
        )
        parts = normalizer, tokenizer.pre_tokenizer
        pieces = pieces_of(text, tokenizer.added, *parts)
        shown = []
        for piece, token in pieces:
            normalized = token is None or tokenizer.added.tokens[token].normalized
            cut = tokenizer.pre_tokenizer if token is None else None
            reads = normalized and writes_letters(normalizer, cut)
            shown.append(read_letters(piece.text) if reads else piece.text)
        assert tokenizer.pieces(text) == [piece.piece for piece in tokenizer.trace(text)] == shown
        expected = encode_pieces(model, pieces, text, 0)
        assert tokenizer.tokenize(text) == expected
        quick_ids = QuickIds(model, tokenizer.added, *parts)
        for _ in "again":
            assert tokenizer.encode(text) == list(expected.ids)
            columns = quick_ids.columns(text, RECOGNISE_ALL, word)
            if columns is not None:
                of_word = encode_pieces(model, pieces, text, 0, word)
                assert Encoding.of_columns(*columns) == of_word
        quick.append(columns is not None)

    check()
    assert len(quick) / 5 < sum(quick) < len(quick)
