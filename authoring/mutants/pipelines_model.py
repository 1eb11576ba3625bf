"""Mutants whose model, in a whole tokenizer, turns pieces into other tokens."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from authoring.mutants.pipelines import (
    afterwards,
    component,
    model_by,
    preparing_pipeline,
    quirks_without,
    tokenizes,
    with_tokens,
)
from bpe_ref.added_tokens import AddedToken
from bpe_ref.components import Token
from bpe_ref.models.bpe import BPE
from bpe_ref.models.merging import Symbol, merge
from bpe_ref.tokenizer import Tokenizer
from tokenref.engines.reference import PipelineSession


def _tokens_of(model: BPE, symbols: Sequence[Symbol]) -> list[Token]:
    """Return symbols as adjacent tokens."""
    tokens: list[Token] = []
    start = 0
    for token, length in symbols:
        tokens.append(Token(token, model.strings[token], start, start + length))
        start += length
    return tokens


def _unknown(model: BPE) -> list[int]:
    known = None if model.unk_token is None else model.vocab.get(model.unk_token)
    return [] if known is None else [known]


def _looked_up(
    model: BPE, piece: str, has_prefix: Callable[[int], bool], has_suffix: Callable[[int], bool]
) -> list[Token]:
    """Merge symbols that are looked up with the prefix and the suffix at other places.

    The functions are given how many letters are before or behind the symbol.
    """
    symbols: list[Symbol] = []
    for place, letter in enumerate(piece):
        prefix = model.continuing_subword_prefix if has_prefix(place) else None
        suffix = model.end_of_word_suffix if has_suffix(len(piece) - 1 - place) else None
        found = model.vocab.get((prefix or "") + letter + (suffix or ""))
        ids = _unknown(model) if found is None else [found]
        symbols += [(token, len(letter.encode())) for token in ids]
    return _tokens_of(model, merge(model.ranked, symbols))


def _has_plain_letters(model: BPE) -> bool:
    return not (model.continuing_subword_prefix or model.end_of_word_suffix)


def _drops_characters(model: BPE) -> bool:
    can_be_dropped = model.unk_token is None and not model.byte_fallback
    is_plain = not model.dropout and not model.ignore_merges and _has_plain_letters(model)
    return can_be_dropped and is_plain


# ---- answers


def _spans(
    request: Mapping[str, Any], out: dict[str, Any], change: Callable[[str, int], int]
) -> None:
    """Change the places in the offsets of a single text."""
    if "pair" not in request:
        out["offsets"] = [
            [change(request["text"], place) for place in span] for span in out["offsets"]
        ]


def _without(out: dict[str, Any], dropped: set[int]) -> None:
    for key, values in out.items():
        if key != "overflowing":
            out[key] = [value for at, value in enumerate(values) if at not in dropped]


@component("model", BPE, tokenizes("merges_as_pairs", "abc"))
def tokenize_first_duplicate_merge(right: BPE) -> BPE:
    """If a merge is listed twice, the first place counts. ohdearquant/lattice#259."""
    merges = list(dict.fromkeys(right.merges))
    return right if len(merges) == len(right.merges) else replace(right, merges=merges)


@component("model", BPE, tokenizes("merges_as_text", "#version:"))
def tokenize_version_lines_merge(right: BPE) -> BPE:
    """A merge that begins with #version is a merge like any other; the library drops it."""
    if "#version:" not in right.vocab:
        return right
    return replace(right, merges=[*right.merges, ("#version", ":")])


@component("model", BPE, tokenizes("ignore_merges", "hello"))
def tokenize_no_whole_pieces(right: BPE) -> BPE:
    """Pieces that are tokens are merged anyway."""
    return replace(right, ignore_merges=False)


@component("model", BPE, tokenizes("ignore_merges_off", "hello"))
def tokenize_always_whole_pieces(right: BPE) -> BPE:
    """Pieces that are tokens are taken whole although the file does not say so."""
    return replace(right, ignore_merges=True)


@preparing_pipeline(tokenizes("dropout_one", "hello"))
def tokenize_whole_pieces_despite_dropout(pipeline: Tokenizer) -> Tokenizer:
    """Pieces are taken whole although dropout is on."""
    return quirks_without(pipeline, "ignore_merges_off_with_dropout", "model")


@component("model", BPE, tokenizes("dropout_one", "thethe"))
def tokenize_dropout_ignored(right: BPE) -> BPE:
    """Dropout is not read from the file."""
    return replace(right, dropout=None)


@model_by(
    tokenizes("byte_fallback_partial", "日"),
    lambda model: model.byte_fallback and _has_plain_letters(model),
)
def tokenize_orphan_bytes(model: BPE, piece: str) -> list[Token]:
    """Bytes of a character that have a token become that token, the others become the unknown
    token. ohdearquant/lattice#259.
    """
    symbols: list[Symbol] = []
    for letter in piece:
        if letter in model.vocab:
            symbols.append((model.vocab[letter], len(letter.encode())))
            continue
        for byte in letter.encode():
            found = model.vocab.get(f"<0x{byte:02X}>")
            symbols += [(token, 1) for token in ([found] if found is not None else _unknown(model))]
    return _tokens_of(model, merge(model.ranked, symbols))


@component("model", BPE, tokenizes("byte_fallback", "é"))
def tokenize_no_byte_fallback(right: BPE) -> BPE:
    """Missing characters never become bytes. ollama/ollama#15232."""
    return replace(right, byte_fallback=False)


@component("model", BPE, tokenizes("unk_fused", "££"))
def tokenize_unk_not_fused(right: BPE) -> BPE:
    """Unknown tokens are not fused."""
    return replace(right, fuse_unk=False)


@component("model", BPE, tokenizes("unk", "££"))
def tokenize_unk_always_fused(right: BPE) -> BPE:
    """Unknown tokens are fused although the file does not say so."""
    return replace(right, fuse_unk=True)


@afterwards("tokenize", tokenizes("unk_between_words", "£££-££"))
def tokenize_unk_fused_over_pieces(
    session: PipelineSession, _: Mapping[str, Any], out: dict[str, Any]
) -> None:
    """Unknown tokens are fused across the border of two pieces."""
    model = session.tokenizer.model
    if isinstance(model, BPE) and model.fuse_unk:
        unknown = _unknown(model)
        pairs = enumerate(pairwise(out["ids"]), start=1)
        _without(out, {at for at, (one, other) in pairs if one == other and one in unknown})


@preparing_pipeline(tokenizes("byte_fallback_partial", "xa"))
def tokenize_unk_in_order(pipeline: Tokenizer) -> Tokenizer:
    """Unknown tokens and bytes are in the order of the text, which is not the engine's order."""
    return quirks_without(pipeline, "unknown_after_bytes", "model")


@model_by(tokenizes("no_unk", "abc"), _drops_characters)
def tokenize_holes_stop_merges(model: BPE, piece: str) -> list[Token]:
    """Nothing merges across a dropped character."""
    symbols: list[Symbol] = []
    stretch = ""
    for letter in piece:
        if letter in model.vocab:
            stretch += letter
            continue
        symbols += merge(model.ranked, model.symbols(stretch))
        stretch = ""
    return _tokens_of(model, [*symbols, *merge(model.ranked, model.symbols(stretch))])


@model_by(tokenizes("no_unk", "bd"), _drops_characters)
def tokenize_offsets_count_holes(model: BPE, piece: str) -> list[Token]:
    """Offsets do not shift where a character was dropped; in the library they do."""
    places = [
        (len(piece[:at].encode()), len(piece[: at + 1].encode()))
        for at, letter in enumerate(piece)
        if letter in model.vocab
    ]
    tokens: list[Token] = []
    at = 0
    for token, _ in merge(model.ranked, [(id_, 1) for id_, _ in model.symbols(piece)]):
        size = len(model.strings[token])
        tokens.append(Token(token, model.strings[token], places[at][0], places[at + size - 1][1]))
        at += size
    return tokens


@preparing_pipeline(tokenizes("no_unk", "b"))
def tokenize_missing_refused(pipeline: Tokenizer) -> Tokenizer:
    """A character without a token is an error where the library drops it."""
    return quirks_without(pipeline, "missing_characters_dropped", "model")


@model_by(tokenizes("prefix", "the"), lambda model: model.continuing_subword_prefix)
def tokenize_prefix_everywhere(model: BPE, piece: str) -> list[Token]:
    """The first letter of a word is looked up with the prefix too."""
    return _looked_up(model, piece, lambda _: True, lambda behind: not behind)


@model_by(tokenizes("prefix", "the"), lambda model: model.continuing_subword_prefix)
def tokenize_prefix_nowhere(model: BPE, piece: str) -> list[Token]:
    """Letters are looked up without the prefix."""
    return _looked_up(model, piece, lambda _: False, lambda behind: not behind)


@model_by(tokenizes("suffix", "the"), lambda model: model.end_of_word_suffix)
def tokenize_suffix_everywhere(model: BPE, piece: str) -> list[Token]:
    """Every letter is looked up with the suffix."""
    return _looked_up(model, piece, bool, lambda _: True)


@model_by(tokenizes("suffix", "the"), lambda model: model.end_of_word_suffix)
def tokenize_suffix_nowhere(model: BPE, piece: str) -> list[Token]:
    """The last letter is looked up without the suffix."""
    return _looked_up(model, piece, bool, lambda _: False)


@model_by(
    tokenizes("merges_as_pairs", "abcda"),
    lambda model: _has_plain_letters(model) and model.dropout is None,
)
def tokenize_longest_token_first(model: BPE, piece: str) -> list[Token]:
    """The longest token that fits is taken, from the left, regardless of merges."""
    tokens: list[Token] = []
    at = 0
    while at < len(piece):
        ends = range(len(piece), at, -1)
        end = next((end for end in ends if piece[at:end] in model.vocab), None)
        if end is None:
            return model.tokenize(piece)
        start = len(piece[:at].encode())
        size = len(piece[at:end].encode())
        tokens.append(Token(model.vocab[piece[at:end]], piece[at:end], start, start + size))
        at = end
    return tokens


@preparing_pipeline(tokenizes("byte_fallback", "<0x41>"))
def tokenize_byte_tokens_in_text(pipeline: Tokenizer) -> Tokenizer:
    """The text <0x41> becomes the token of a byte. zml/zml#37."""
    model = pipeline.model
    if not isinstance(model, BPE) or not model.byte_fallback:
        return pipeline
    spelled = [f"<0x{byte:02X}>" for byte in range(256)]
    found = [
        AddedToken(token, normalized=False, id=model.vocab[token])
        for token in spelled
        if token in model.vocab
    ]
    if not found:
        return pipeline
    return with_tokens(pipeline, (*pipeline.added_tokens.tokens, *found))


@afterwards("tokenize", tokenizes("unk", "éa"))
def tokenize_offsets_in_bytes(
    _: PipelineSession, request: Mapping[str, Any], out: dict[str, Any]
) -> None:
    """Offsets are in bytes, so everything after é is shifted. huggingface/tokenizers#156."""
    _spans(request, out, lambda text, place: len(text[:place].encode()))


@afterwards("tokenize", tokenizes("unk", "👍a"))
def tokenize_offsets_in_utf16(
    _: PipelineSession, request: Mapping[str, Any], out: dict[str, Any]
) -> None:
    """Offsets count an emoji twice, as JavaScript does."""
    _spans(request, out, lambda text, place: len(text[:place].encode("utf-16-le")) // 2)


@afterwards("tokenize", tokenizes("ignore_merges", "hello"))
def tokenize_whole_pieces_nowhere(
    session: PipelineSession, request: Mapping[str, Any], out: dict[str, Any]
) -> None:
    """A piece that is taken whole has the offsets (0, 0) or (6, 6). huggingface/tokenizers#1553."""
    model = session.tokenizer.model
    if isinstance(model, BPE) and model.ignore_merges and "pair" not in request:
        words: list[int | None] = out["words"]
        out["offsets"] = [
            [span[0], span[0]] if word is not None and words.count(word) == 1 else span
            for word, span in zip(words, out["offsets"], strict=True)
        ]
