"""Mutants whose model, in a whole tokenizer, turns pieces into other tokens."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from authoring.mutants.mutant import Mutant, pipeline_mutant
from authoring.mutants.pipelines import (
    afterwards,
    model_by,
    model_with,
    profile_without,
    tokenizes,
)
from bpe_ref.added_tokens import AddedToken
from bpe_ref.components import Token
from bpe_ref.hugging_face.pipeline import Pipeline
from bpe_ref.models.bpe import BPE
from bpe_ref.models.merging import Symbol, merge
from tokenref.engines.reference_pipeline import PipelineSession


def _told(model: BPE, symbols: Sequence[Symbol]) -> list[Token]:
    """Return symbols as tokens, one behind the other."""
    tokens: list[Token] = []
    start = 0
    for token, length in symbols:
        tokens.append(Token(token, model.strings[token], start, start + length))
        start += length
    return tokens


def _unknown(model: BPE) -> list[int]:
    known = None if model.unk_token is None else model.vocab.get(model.unk_token)
    return [] if known is None else [known]


def _looked_up(model: BPE, piece: str, spelling: Callable[[BPE, str, int], str]) -> list[Token]:
    """Merge symbols that are looked up by another spelling than the right one."""
    symbols: list[Symbol] = []
    for place, letter in enumerate(piece):
        found = model.vocab.get(spelling(model, piece, place))
        ids = _unknown(model) if found is None else [found]
        symbols += [(token, len(letter.encode())) for token in ids]
    return _told(model, merge(model.ranked, symbols))


def _prefix_everywhere(model: BPE, piece: str, place: int) -> str:
    suffix = model.end_of_word_suffix if place == len(piece) - 1 else None
    return (model.continuing_subword_prefix or "") + piece[place] + (suffix or "")


def _prefix_nowhere(model: BPE, piece: str, place: int) -> str:
    return piece[place] + (model.end_of_word_suffix or "" if place == len(piece) - 1 else "")


def _suffix_everywhere(model: BPE, piece: str, place: int) -> str:
    prefix = model.continuing_subword_prefix if place else None
    return (prefix or "") + piece[place] + (model.end_of_word_suffix or "")


def _suffix_nowhere(model: BPE, piece: str, place: int) -> str:
    return (model.continuing_subword_prefix or "" if place else "") + piece[place]


def _orphans(model: BPE, piece: str) -> list[Token]:
    """Give each byte by itself its token, or the unknown one."""
    symbols: list[Symbol] = []
    for letter in piece:
        if letter in model.vocab:
            symbols.append((model.vocab[letter], len(letter.encode())))
            continue
        for byte in letter.encode():
            found = model.vocab.get(f"<0x{byte:02X}>")
            symbols += [(token, 1) for token in ([found] if found is not None else _unknown(model))]
    return _told(model, merge(model.ranked, symbols))


def _stopped_by_holes(model: BPE, piece: str) -> list[Token]:
    """Merge each stretch between characters that vanish by itself."""
    symbols: list[Symbol] = []
    stretch = ""
    for letter in piece:
        if letter in model.vocab:
            stretch += letter
            continue
        symbols += merge(model.ranked, model.symbols(stretch))
        stretch = ""
    return _told(model, [*symbols, *merge(model.ranked, model.symbols(stretch))])


def _holes_kept_in_offsets(model: BPE, piece: str) -> list[Token]:
    """Let positions count the characters that vanished."""
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


def _longest_first(model: BPE, piece: str) -> list[Token]:
    """Take the longest token that fits, from the left."""
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


def _has_plain_letters(model: BPE) -> bool:
    return not (model.continuing_subword_prefix or model.end_of_word_suffix)


def _first_counts(pipeline: Pipeline) -> Pipeline:
    """Keep of merges that are there twice the first."""
    merges = list(dict.fromkeys(pipeline.model.merges))
    if len(merges) == len(pipeline.model.merges):
        return pipeline
    return replace(pipeline, model=replace(pipeline.model, merges=merges))


def _with_version_lines(pipeline: Pipeline) -> Pipeline:
    """Take lines that begin with #version for merges, where they can be."""
    model = pipeline.model
    if "#version:" not in model.vocab:
        return pipeline
    return replace(pipeline, model=replace(model, merges=[*model.merges, ("#version", ":")]))


def _byte_tokens_in_text(pipeline: Pipeline) -> Pipeline:
    """Find `<0x41>` in a text as if it were an added token."""
    spelled = [f"<0x{byte:02X}>" for byte in range(256)]
    found = [
        AddedToken(token, normalized=False) for token in spelled if token in pipeline.model.vocab
    ]
    if not found or not pipeline.model.byte_fallback:
        return pipeline
    return replace(pipeline, added_tokens=(*pipeline.added_tokens, *found))


# ---- answers


def _spans(
    request: Mapping[str, Any], out: dict[str, Any], change: Callable[[str, int], int]
) -> None:
    """Change the places in the offsets of a single text."""
    if "pair" not in request:
        out["offsets"] = [
            [change(request["text"], place) for place in span] for span in out["offsets"]
        ]


def _in_bytes(_: PipelineSession, request: Mapping[str, Any], out: dict[str, Any]) -> None:
    _spans(request, out, lambda text, place: len(text[:place].encode()))


def _in_utf16(_: PipelineSession, request: Mapping[str, Any], out: dict[str, Any]) -> None:
    _spans(request, out, lambda text, place: len(text[:place].encode("utf-16-le")) // 2)


def _whole_pieces_nowhere(
    session: PipelineSession, request: Mapping[str, Any], out: dict[str, Any]
) -> None:
    """Give a piece that was taken whole no characters."""
    if session.pipeline.model.ignore_merges and "pair" not in request:
        words: list[int | None] = out["words"]
        out["offsets"] = [
            [span[0], span[0]] if word is not None and words.count(word) == 1 else span
            for word, span in zip(words, out["offsets"], strict=True)
        ]


def _without(out: dict[str, Any], dropped: set[int]) -> None:
    for key, values in out.items():
        if key != "overflowing":
            out[key] = [value for at, value in enumerate(values) if at not in dropped]


def _fused_over_pieces(session: PipelineSession, _: Mapping[str, Any], out: dict[str, Any]) -> None:
    """Fuse unknown tokens wherever they follow one another."""
    model = session.pipeline.model
    if model.fuse_unk:
        unknown = _unknown(model)
        pairs = enumerate(pairwise(out["ids"]), start=1)
        _without(out, {at for at, (one, other) in pairs if one == other and one in unknown})


MODEL: Final[tuple[Mutant, ...]] = (
    pipeline_mutant(
        "tokenize-first-duplicate-merge",
        "Of a merge that is listed twice the first place counts. ohdearquant/lattice#259.",
        tokenizes("merges_as_pairs", "abc"),
        prepare=_first_counts,
    ),
    pipeline_mutant(
        "tokenize-version-lines-merge",
        "A merge that begins with #version is a merge like others; the library drops it. Own.",
        tokenizes("merges_as_text", "#version:"),
        prepare=_with_version_lines,
    ),
    pipeline_mutant(
        "tokenize-no-whole-pieces",
        "Pieces that are tokens are merged all the same. Own.",
        tokenizes("ignore_merges", "hello"),
        prepare=model_with(ignore_merges=False),
    ),
    pipeline_mutant(
        "tokenize-always-whole-pieces",
        "Pieces that are tokens are taken whole where the file does not say so. Own.",
        tokenizes("ignore_merges_off", "hello"),
        prepare=model_with(ignore_merges=True),
    ),
    pipeline_mutant(
        "tokenize-whole-pieces-despite-dropout",
        "Pieces are taken whole although dropout is on. Own.",
        tokenizes("dropout_one", "hello"),
        prepare=profile_without("ignore_merges_off_with_dropout", "model"),
    ),
    pipeline_mutant(
        "tokenize-dropout-ignored",
        "Dropout is not read from the file. Own.",
        tokenizes("dropout_one", "thethe"),
        prepare=model_with(dropout=None),
    ),
    pipeline_mutant(
        "tokenize-orphan-bytes",
        "Of a character's bytes those with a token become it, the others the unknown token: "
        "orphans beside unk. ohdearquant/lattice#259.",
        tokenizes("byte_fallback_partial", "日"),
        prepare=model_by(_orphans, lambda model: model.byte_fallback and _has_plain_letters(model)),
    ),
    pipeline_mutant(
        "tokenize-no-byte-fallback",
        "Missing characters never become bytes. ollama/ollama#15232.",
        tokenizes("byte_fallback", "é"),
        prepare=model_with(byte_fallback=False),
    ),
    pipeline_mutant(
        "tokenize-unk-not-fused",
        "Unknown tokens are not fused. Own.",
        tokenizes("unk_fused", "££"),
        prepare=model_with(fuse_unk=False),
    ),
    pipeline_mutant(
        "tokenize-unk-always-fused",
        "Unknown tokens are fused where the file does not say so. Own.",
        tokenizes("unk", "££"),
        prepare=model_with(fuse_unk=True),
    ),
    pipeline_mutant(
        "tokenize-unk-fused-over-pieces",
        "Unknown tokens are fused over the border of two pieces. Own.",
        tokenizes("unk_between_words", "£££-££"),
        begin=afterwards("tokenize", _fused_over_pieces),
    ),
    pipeline_mutant(
        "tokenize-unk-in-order",
        "Unknown tokens and bytes come in the order of the text, which is not the engine's. Own.",
        tokenizes("byte_fallback_partial", "xa"),
        prepare=profile_without("unknown_after_bytes", "model"),
    ),
    pipeline_mutant(
        "tokenize-holes-stop-merges",
        "Nothing merges over a character that vanished. Own.",
        tokenizes("no_unk", "abc"),
        prepare=model_by(
            _stopped_by_holes,
            lambda model: (
                model.unk_token is None
                and not model.byte_fallback
                and not model.dropout
                and not model.ignore_merges
                and _has_plain_letters(model)
            ),
        ),
    ),
    pipeline_mutant(
        "tokenize-offsets-count-holes",
        "Offsets do not shift where a character vanished; the library's do. Own.",
        tokenizes("no_unk", "bd"),
        prepare=model_by(
            _holes_kept_in_offsets,
            lambda model: (
                model.unk_token is None
                and not model.byte_fallback
                and not model.dropout
                and not model.ignore_merges
                and _has_plain_letters(model)
            ),
        ),
    ),
    pipeline_mutant(
        "tokenize-missing-refused",
        "A character without a token is an error where the library drops it. Own.",
        tokenizes("no_unk", "b"),
        prepare=profile_without("missing_characters_dropped", "model"),
    ),
    pipeline_mutant(
        "tokenize-prefix-everywhere",
        "The first letter of a word is looked up with the prefix too. Own.",
        tokenizes("prefix", "the"),
        prepare=model_by(
            lambda model, piece: _looked_up(model, piece, _prefix_everywhere),
            lambda model: model.continuing_subword_prefix,
        ),
    ),
    pipeline_mutant(
        "tokenize-prefix-nowhere",
        "Letters are looked up without the prefix. Own.",
        tokenizes("prefix", "the"),
        prepare=model_by(
            lambda model, piece: _looked_up(model, piece, _prefix_nowhere),
            lambda model: model.continuing_subword_prefix,
        ),
    ),
    pipeline_mutant(
        "tokenize-suffix-everywhere",
        "Every letter is looked up with the suffix. Own.",
        tokenizes("suffix", "the"),
        prepare=model_by(
            lambda model, piece: _looked_up(model, piece, _suffix_everywhere),
            lambda model: model.end_of_word_suffix,
        ),
    ),
    pipeline_mutant(
        "tokenize-suffix-nowhere",
        "The last letter is looked up without the suffix. Own.",
        tokenizes("suffix", "the"),
        prepare=model_by(
            lambda model, piece: _looked_up(model, piece, _suffix_nowhere),
            lambda model: model.end_of_word_suffix,
        ),
    ),
    pipeline_mutant(
        "tokenize-longest-token-first",
        "The longest token that fits is taken, from the left, whatever the merges say. Own.",
        tokenizes("merges_as_pairs", "abcda"),
        prepare=model_by(
            _longest_first, lambda model: _has_plain_letters(model) and model.dropout is None
        ),
    ),
    pipeline_mutant(
        "tokenize-byte-tokens-in-text",
        "The text <0x41> becomes the token of a byte. zml/zml#37.",
        tokenizes("byte_fallback", "<0x41>"),
        prepare=_byte_tokens_in_text,
    ),
    pipeline_mutant(
        "tokenize-offsets-in-bytes",
        "Offsets are of bytes, so that all behind é are shifted. huggingface/tokenizers#156.",
        tokenizes("unk", "éa"),
        begin=afterwards("tokenize", _in_bytes),
    ),
    pipeline_mutant(
        "tokenize-offsets-in-utf16",
        "Offsets count an emoji twice, as JavaScript does. Own.",
        tokenizes("unk", "👍a"),
        begin=afterwards("tokenize", _in_utf16),
    ),
    pipeline_mutant(
        "tokenize-whole-pieces-nowhere",
        "A piece that is taken whole has the offsets (0, 0) or (6, 6). "
        "huggingface/tokenizers#1553.",
        tokenizes("ignore_merges", "hello"),
        begin=afterwards("tokenize", _whole_pieces_nowhere),
    ),
)
"""Mutants of the model."""
