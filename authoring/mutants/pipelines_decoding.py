"""Mutants that turn tokens into other text."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from authoring.mutants.mutant import AskPipeline, Mutant, Witness, pipeline_mutant
from authoring.mutants.pipelines import (
    Decoding,
    afterwards,
    changing,
    detokenizes,
    profile_without,
)
from bpe_ref.decoders import (
    CLEANUP,
    BPEDecoder,
    ByteFallback,
    ByteLevel,
    DecoderSequence,
    Fuse,
    Metaspace,
    Replace,
    Strip,
    WordPiece,
)
from bpe_ref.hugging_face.pipeline import Pipeline
from bpe_ref.patterns.matches import Regex, matches
from tokenref.answers import Ok, Refused
from tokenref.engines.reference_pipeline import PipelineSession

_NOTHING: Final = DecoderSequence(())
_U: Final = "\u2581"


def _asked(change: Callable[[PipelineSession, dict[str, Any]], None]) -> Callable[[], AskPipeline]:
    """Return what changes questions for text before they are asked."""

    def ask(right: PipelineSession, op: str, request: Any) -> Ok | Refused:
        if op != "detokenize":
            return right.answer(op, request)
        asked = dict(request)
        change(right, asked)
        return right.answer(op, asked)

    return lambda: ask


def _unknown_as_unk(session: PipelineSession, request: dict[str, Any]) -> None:
    """Take the unknown token for ids that no token has."""
    pipeline = session.pipeline
    unknown = pipeline.token_to_id("<unk>")
    if unknown is not None:
        request["ids"] = [
            unknown if pipeline.id_to_token(id_) is None else id_ for id_ in request["ids"]
        ]


def _letter_by_letter(right: ByteLevel) -> Decoding:
    """Read each token's bytes as text by themselves."""
    return Decoding(lambda tokens: ["".join(right.decode_chain([one])[0] for one in tokens)])


def _byte_by_byte(right: ByteFallback) -> Decoding:
    """Read each byte token as text by itself."""
    return Decoding(lambda tokens: [text for one in tokens for text in right.decode_chain([one])])


def _left_out(_: ByteFallback) -> Decoding:
    """Leave bytes out that are no text."""

    def rule(tokens: Sequence[str]) -> list[str]:
        after = ByteFallback().decode_chain(tokens)
        return [text for text in after if text != "\ufffd" or "\ufffd" in tokens]

    return Decoding(rule)


def _all_stripped(right: Strip) -> Decoding:
    """Strip as often as it stands there, on the sides where something is to be stripped."""

    def rule(tokens: Sequence[str]) -> list[str]:
        after = [token.lstrip(right.content) if right.start else token for token in tokens]
        return [token.rstrip(right.content) if right.stop else token for token in after]

    return Decoding(rule)


def _only_first_stripped(right: Strip) -> Decoding:
    """Strip the first string only."""
    return Decoding(lambda tokens: [*right.decode_chain(tokens[:1]), *tokens[1:]])


def _one_space_less(right: Metaspace) -> Any:
    """Take one leading underline out of the first token, and make spaces of its others."""
    if right.prepend_scheme == "never":
        return right
    letter = right.replacement
    return Decoding(
        lambda tokens: [
            (token if number else token.removeprefix(letter)).replace(letter, " ")
            for number, token in enumerate(tokens)
        ]
    )


def _space_at_the_end(right: BPEDecoder) -> Decoding:
    """Make a space of the last suffix too."""
    return Decoding(lambda tokens: [token.replace(right.suffix, " ") for token in tokens])


def _suffix_at_the_end_only(right: BPEDecoder) -> Decoding:
    """Take for a suffix only what ends a string."""

    def rule(tokens: Sequence[str]) -> list[str]:
        last = len(tokens) - 1
        return [
            token.removesuffix(right.suffix) + " " * (number != last)
            if token.endswith(right.suffix)
            else token
            for number, token in enumerate(tokens)
        ]

    return Decoding(rule)


def _cleaned_at_the_end(right: WordPiece) -> Any:
    """Clean up the text as a whole."""
    if not right.cleanup:
        return right
    bare = replace(right, cleanup=False)

    def rule(tokens: Sequence[str]) -> list[str]:
        text = "".join(bare.decode_chain(tokens))
        for old, new in CLEANUP:
            text = text.replace(old, new)
        return [text]

    return Decoding(rule)


def _first_prefix_lost(right: WordPiece) -> Decoding:
    """Take the prefix from the first string too."""
    return Decoding(
        lambda tokens: right.decode_chain(
            [*(token.removeprefix(right.prefix) for token in tokens[:1]), *tokens[1:]]
        )
    )


def _first_match_only(right: Replace) -> Decoding:
    """Replace the first match in each string."""

    def once(token: str) -> str:
        found = matches(right.pattern, token)
        if not found:
            return token
        start, end = found[0]
        return token[:start] + right.content + token[end:]

    return Decoding(lambda tokens: list(map(once, tokens)))


def _as_text(right: Replace) -> Any:
    return _NOTHING if isinstance(right.pattern, Regex) else right


def _joined_without_spaces(pipeline: Pipeline) -> Pipeline:
    return replace(pipeline, decoder=Fuse()) if pipeline.decoder is None else pipeline


def _without_decoder(pipeline: Pipeline) -> Pipeline:
    return pipeline if pipeline.decoder is None else replace(pipeline, decoder=None)


def _reversed(pipeline: Pipeline) -> Pipeline:
    right = pipeline.decoder
    if not isinstance(right, DecoderSequence):
        return pipeline
    return replace(pipeline, decoder=DecoderSequence(right.decoders[::-1]))


def _first_only(pipeline: Pipeline) -> Pipeline:
    right = pipeline.decoder
    if not isinstance(right, DecoderSequence):
        return pipeline
    return replace(pipeline, decoder=DecoderSequence(right.decoders[:1]))


def _mutant(
    name: str, story: str, witness: Witness, kind: type, change: Callable[[Any], Any]
) -> Mutant:
    prepare = changing("decoder", kind, change)
    return pipeline_mutant(f"detokenize-{name}", story, witness, prepare=prepare)


DECODING: Final[tuple[Mutant, ...]] = (
    pipeline_mutant(
        "detokenize-special-shown",
        "Special tokens are in the text although they should be left out. Own.",
        detokenizes("decoder_fuse", "the", "</s>"),
        begin=_asked(lambda _, request: request.update(skip_special_tokens=False)),
    ),
    pipeline_mutant(
        "detokenize-special-never-shown",
        "Special tokens are left out although the caller wants them. Own.",
        detokenizes("decoder_fuse", "the", "</s>", skip=False),
        begin=_asked(lambda _, request: request.update(skip_special_tokens=True)),
    ),
    pipeline_mutant(
        "detokenize-added-skipped",
        "All added tokens are left out with the special ones. Own.",
        detokenizes("decoder_fuse", "the", "<t>"),
        prepare=lambda pipeline: (
            replace(
                pipeline,
                added_tokens=tuple(replace(token, special=True) for token in pipeline.added_tokens),
            )
            if not all(token.special for token in pipeline.added_tokens)
            else pipeline
        ),
    ),
    pipeline_mutant(
        "detokenize-unknown-id-refused",
        "An id without a token is an error where the library drops it. Own.",
        detokenizes("decoder_fuse", "the", 9999),
        prepare=profile_without("unknown_ids_dropped"),
    ),
    pipeline_mutant(
        "detokenize-unknown-id-as-unk",
        "An id without a token becomes the unknown token. Own.",
        detokenizes("decoder_fuse", "the", 9999),
        begin=_asked(_unknown_as_unk),
    ),
    pipeline_mutant(
        "detokenize-added-not-bytes",
        "Added tokens are taken as text, though their letters stand for bytes to the library. Own.",
        detokenizes("added_bytes", "é!"),
        prepare=lambda pipeline: (
            replace(
                pipeline,
                profile=replace(pipeline.profile, byte_level_maps_added_tokens=False),
            )
            if pipeline.added_tokens
            else pipeline
        ),
    ),
    _mutant(
        "letter-by-letter",
        "The bytes of each token are read by themselves, so that characters over two tokens are "
        "lost. vllm-project/vllm#8627.",
        detokenizes("decoder_byte_level", "æ", "Ĺ", "¥"),
        ByteLevel,
        _letter_by_letter,
    ),
    _mutant(
        "bytes-shown",
        "Byte tokens are shown as they are written. huggingface/transformers#48041.",
        detokenizes("decoder_byte_fallback", "<0x41>"),
        ByteFallback,
        lambda _: _NOTHING,
    ),
    _mutant(
        "byte-by-byte",
        "Each byte token is read by itself. smg-project/smg#710.",
        detokenizes("decoder_byte_fallback", "<0xC3>", "<0xA9>"),
        ByteFallback,
        _byte_by_byte,
    ),
    pipeline_mutant(
        "detokenize-parts-of-bytes",
        "In a run of bytes that is no text as a whole, only what is wrong is replaced, as "
        "SentencePiece does; the library replaces each byte. Own.",
        detokenizes("decoder_byte_fallback", "<0x41>", "<0xFF>"),
        prepare=profile_without("byte_fallback_all_or_nothing", "decoder"),
    ),
    pipeline_mutant(
        "detokenize-exact-byte-tokens",
        "<0x+1> is no byte token; it is one to the library. Own.",
        detokenizes("decoder_byte_fallback", "<0x+1>"),
        prepare=profile_without("byte_fallback_reads_any_number", "decoder"),
    ),
    _mutant(
        "bad-bytes-left-out",
        "Bytes that are no text are left out. replicate/cog-llama-template#75.",
        detokenizes("decoder_byte_fallback", "<0xFF>"),
        ByteFallback,
        _left_out,
    ),
    _mutant(
        "strips-all",
        "A strip takes all there is instead of so many. Own.",
        detokenizes("decoder_strip", "  "),
        Strip,
        _all_stripped,
    ),
    _mutant(
        "strips-first-only",
        "Only the first token is stripped. Own.",
        detokenizes("decoder_strip", "the", " "),
        Strip,
        _only_first_stripped,
    ),
    _mutant(
        "strips-nothing",
        "The space in front stays. Own.",
        detokenizes("decoder_strip", " "),
        Strip,
        lambda _: _NOTHING,
    ),
    _mutant(
        "metaspace-first-space-kept",
        "The underline in front becomes a space. Own.",
        detokenizes("decoder_metaspace_always", f"{_U}the"),
        Metaspace,
        lambda right: replace(right, prepend_scheme="never"),
    ),
    _mutant(
        "metaspace-one-space-less",
        "Only the leading underline of the first token vanishes; to the library all in it do. Own.",
        detokenizes("decoder_metaspace_always", f"a{_U}b"),
        Metaspace,
        _one_space_less,
    ),
    _mutant(
        "metaspace-never-ignored",
        "The underline in front vanishes although none was put there. huggingface/tokenizers#1141.",
        detokenizes("decoder_metaspace_never", f"{_U}the"),
        Metaspace,
        lambda right: replace(right, prepend_scheme="always"),
    ),
    _mutant(
        "suffix-at-the-end",
        "The suffix of the last word becomes a space too. Own.",
        detokenizes("decoder_bpe", "the</w>"),
        BPEDecoder,
        _space_at_the_end,
    ),
    _mutant(
        "suffix-inside-kept",
        "A suffix inside a token stays; the library replaces it there too. Own.",
        detokenizes("decoder_bpe", "a</w>b"),
        BPEDecoder,
        _suffix_at_the_end_only,
    ),
    _mutant(
        "cleanup-off",
        "Spaces before marks stay. Own.",
        detokenizes("decoder_word_piece_cleanup", "the", "."),
        WordPiece,
        lambda right: replace(right, cleanup=False),
    ),
    _mutant(
        "cleanup-always",
        "Spaces before marks vanish although the file does not say so: x != y becomes x!= y. "
        "huggingface/transformers#44915, ml-explore/mlx-lm#1347.",
        detokenizes("decoder_word_piece", "the", "."),
        WordPiece,
        lambda right: replace(right, cleanup=True),
    ),
    _mutant(
        "cleanup-over-tokens",
        "The text is cleaned up as a whole; the library cleans up token by token. "
        "huggingface/swift-transformers#391.",
        detokenizes("decoder_word_piece_cleanup", "the", "'", "t"),
        WordPiece,
        _cleaned_at_the_end,
    ),
    _mutant(
        "first-prefix-lost",
        "The first token loses its prefix too. Own.",
        detokenizes("decoder_word_piece", "##s"),
        WordPiece,
        _first_prefix_lost,
    ),
    _mutant(
        "replace-once",
        "Only the first match in each token is replaced. Own.",
        detokenizes("decoder_replace_text", f"{_U}{_U}"),
        Replace,
        _first_match_only,
    ),
    _mutant(
        "expression-as-text",
        "The expression of a Replace is looked for as text. Own.",
        detokenizes("decoder_replace_regex", "the"),
        Replace,
        _as_text,
    ),
    _mutant(
        "not-fused",
        "Tokens are not joined before they are stripped, so that each loses its space. "
        "huggingface/tokenizers#1141.",
        detokenizes("decoder_llama", f"{_U}the", f"{_U}cat"),
        Fuse,
        lambda _: _NOTHING,
    ),
    pipeline_mutant(
        "detokenize-joined-without-spaces",
        "Without a decoder tokens are joined as they are. Own.",
        detokenizes("decoder_none", "the", "cat"),
        prepare=_joined_without_spaces,
    ),
    pipeline_mutant(
        "detokenize-no-decoder",
        "The decoder is not read from the file. Own.",
        detokenizes("decoder_fuse", "the", "cat"),
        prepare=_without_decoder,
    ),
    pipeline_mutant(
        "detokenize-decoders-reversed",
        "The last decoder of a sequence comes first. Own.",
        detokenizes("decoder_llama", f"{_U}the"),
        prepare=_reversed,
    ),
    pipeline_mutant(
        "detokenize-first-decoder-only",
        "Of a sequence of decoders only the first is used. Own.",
        detokenizes("decoder_llama", "<0x41>"),
        prepare=_first_only,
    ),
    pipeline_mutant(
        "detokenize-ends-trimmed",
        "White space at the ends of the text is lost. huggingface/tokenizers#1141.",
        detokenizes("decoder_fuse", " ", "the"),
        begin=afterwards("detokenize", lambda _, __, out: out.update(text=out["text"].strip())),
    ),
)
"""Mutants of `detokenize`."""
