"""Mutants that turn tokens into other text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from authoring.mutants.pipelines import (
    Decoding,
    added_with,
    afterwards,
    answering_pipeline,
    beforehand,
    component,
    detokenizes,
    preparing_pipeline,
    quirks_without,
)
from bpe_ref.added_tokens import AddedToken
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
from bpe_ref.decoders.stream import Stream
from bpe_ref.patterns.matches import Regex, matches
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary.merges import TokenId
from tokenref.answers import Ok, Refused
from tokenref.engines.reference import PipelineSession

_NOTHING: Final = DecoderSequence(())
_U: Final = "\u2581"


@beforehand("detokenize", detokenizes("decoder_fuse", "the", "</s>"))
def detokenize_special_shown(request: dict[str, Any]) -> None:
    """Special tokens are in the text although they should be skipped."""
    request.update(skip_special_tokens=False)


@beforehand("detokenize", detokenizes("decoder_fuse", "the", "</s>", skip=False))
def detokenize_special_never_shown(request: dict[str, Any]) -> None:
    """Special tokens are skipped although the caller wants them."""
    request.update(skip_special_tokens=True)


@preparing_pipeline(detokenizes("decoder_fuse", "the", "<t>"))
@added_with
def detokenize_added_skipped(token: AddedToken) -> AddedToken:
    """All added tokens are skipped, not only the special ones."""
    return replace(token, special=True)


class _Refusing(Tokenizer):
    """A tokenizer that never skips unknown ids."""

    def decode(self, ids: Iterable[TokenId], **how: Any) -> str:
        """Return the text of tokens."""
        return super().decode(ids, **{**how, "unknown_ids": "refuse"})

    def stream(self, **how: Any) -> Stream:
        """Return a decoder that takes one token at a time."""
        return super().stream(**{**how, "unknown_ids": "refuse"})


@preparing_pipeline(detokenizes("decoder_fuse", "the", 9999))
def detokenize_unknown_id_refused(pipeline: Tokenizer) -> Tokenizer:
    """An id without a token is an error where the library drops it."""
    return _Refusing(**{entry.name: getattr(pipeline, entry.name) for entry in fields(pipeline)})


@answering_pipeline(detokenizes("decoder_fuse", "the", 9999))
def detokenize_unknown_id_as_unk(
    right: PipelineSession, op: str, request: Mapping[str, Any]
) -> Ok | Refused:
    """An id without a token becomes the unknown token."""
    tokenizer = right.tokenizer
    unknown = tokenizer.token_to_id("<unk>")
    if op != "detokenize" or unknown is None:
        return right.answer(op, request)
    known = set(tokenizer.vocab.values())
    ids = [id_ if id_ in known else unknown for id_ in request["ids"]]
    return right.answer(op, {**request, "ids": ids})


@preparing_pipeline(detokenizes("added_bytes", "é!"))
def detokenize_added_not_bytes(pipeline: Tokenizer) -> Tokenizer:
    """Added tokens are used as text although the library reads their letters as bytes."""
    is_changed = pipeline.added_tokens.tokens
    return quirks_without(pipeline, "byte_level_maps_added_tokens") if is_changed else pipeline


@component("decoder", ByteLevel, detokenizes("decoder_byte_level", "æ", "Ĺ", "¥"))
def detokenize_letter_by_letter(right: ByteLevel) -> Decoding:
    """The bytes of each token are decoded separately, so characters that span tokens are lost.
    vllm-project/vllm#8627.
    """
    return Decoding(lambda tokens: ["".join(right.decode_chain([one])[0] for one in tokens)])


@component("decoder", ByteFallback, detokenizes("decoder_byte_fallback", "<0x41>"))
def detokenize_bytes_shown(_: ByteFallback) -> Any:
    """Byte tokens are shown as they are spelled. huggingface/transformers#48041."""
    return _NOTHING


@component("decoder", ByteFallback, detokenizes("decoder_byte_fallback", "<0xC3>", "<0xA9>"))
def detokenize_byte_by_byte(right: ByteFallback) -> Decoding:
    """Each byte token is decoded separately. smg-project/smg#710."""
    return Decoding(lambda tokens: [text for one in tokens for text in right.decode_chain([one])])


@preparing_pipeline(detokenizes("decoder_byte_fallback", "<0x41>", "<0xFF>"))
def detokenize_parts_of_bytes(pipeline: Tokenizer) -> Tokenizer:
    """In a run of bytes that is not text as a whole, only the wrong part is replaced, as in
    SentencePiece; the library replaces each byte.
    """
    return quirks_without(pipeline, "byte_fallback_all_or_nothing", "decoder")


@preparing_pipeline(detokenizes("decoder_byte_fallback", "<0x+1>"))
def detokenize_exact_byte_tokens(pipeline: Tokenizer) -> Tokenizer:
    """<0x+1> is not a byte token; in the library it is one."""
    return quirks_without(pipeline, "byte_fallback_reads_any_number", "decoder")


@component("decoder", ByteFallback, detokenizes("decoder_byte_fallback", "<0xFF>"))
def detokenize_bad_bytes_left_out(_: ByteFallback) -> Decoding:
    """Bytes that are not text are left out. replicate/cog-llama-template#75."""

    def rule(tokens: Sequence[str]) -> list[str]:
        after = ByteFallback().decode_chain(tokens)
        return [text for text in after if text != "\ufffd" or "\ufffd" in tokens]

    return Decoding(rule)


@component("decoder", Strip, detokenizes("decoder_strip", "  "))
def detokenize_strips_all(right: Strip) -> Decoding:
    """Strip removes all characters instead of the given number."""

    def rule(tokens: Sequence[str]) -> list[str]:
        after = [token.lstrip(right.content) if right.start else token for token in tokens]
        return [token.rstrip(right.content) if right.stop else token for token in after]

    return Decoding(rule)


@component("decoder", Strip, detokenizes("decoder_strip", "the", " "))
def detokenize_strips_first_only(right: Strip) -> Decoding:
    """Only the first token is stripped."""
    return Decoding(lambda tokens: [*right.decode_chain(tokens[:1]), *tokens[1:]])


@component("decoder", Strip, detokenizes("decoder_strip", " "))
def detokenize_strips_nothing(_: Strip) -> Any:
    """The space in front is kept."""
    return _NOTHING


@component("decoder", Metaspace, detokenizes("decoder_metaspace_always", f"{_U}the"))
def detokenize_metaspace_first_space_kept(right: Metaspace) -> Any:
    """The underline in front becomes a space."""
    return replace(right, prepend_scheme="never")


@component("decoder", Metaspace, detokenizes("decoder_metaspace_always", f"a{_U}b"))
def detokenize_metaspace_one_space_less(right: Metaspace) -> Any:
    """Only the leading underline of the first token is removed; the library removes all in it."""
    if right.prepend_scheme == "never":
        return right
    letter = right.replacement
    return Decoding(
        lambda tokens: [
            (token if number else token.removeprefix(letter)).replace(letter, " ")
            for number, token in enumerate(tokens)
        ]
    )


@component("decoder", Metaspace, detokenizes("decoder_metaspace_never", f"{_U}the"))
def detokenize_metaspace_never_ignored(right: Metaspace) -> Any:
    """The underline in front is removed although none was added. huggingface/tokenizers#1141."""
    return replace(right, prepend_scheme="always")


@component("decoder", BPEDecoder, detokenizes("decoder_bpe", "the</w>"))
def detokenize_suffix_at_the_end(right: BPEDecoder) -> Decoding:
    """The suffix of the last word becomes a space too."""
    return Decoding(lambda tokens: [token.replace(right.suffix, " ") for token in tokens])


@component("decoder", BPEDecoder, detokenizes("decoder_bpe", "a</w>b"))
def detokenize_suffix_inside_kept(right: BPEDecoder) -> Decoding:
    """A suffix inside a token is kept; the library replaces it."""

    def rule(tokens: Sequence[str]) -> list[str]:
        last = len(tokens) - 1
        return [
            token.removesuffix(right.suffix) + " " * (number != last)
            if token.endswith(right.suffix)
            else token
            for number, token in enumerate(tokens)
        ]

    return Decoding(rule)


@component("decoder", WordPiece, detokenizes("decoder_word_piece_cleanup", "the", "."))
def detokenize_cleanup_off(right: WordPiece) -> Any:
    """Spaces before punctuation are kept."""
    return replace(right, cleanup=False)


@component("decoder", WordPiece, detokenizes("decoder_word_piece", "the", "."))
def detokenize_cleanup_always(right: WordPiece) -> Any:
    """Spaces before punctuation are removed although the file does not say so: x != y becomes x!=
    y. huggingface/transformers#44915, ml-explore/mlx-lm#1347.
    """
    return replace(right, cleanup=True)


@component("decoder", WordPiece, detokenizes("decoder_word_piece_cleanup", "the", "'", "t"))
def detokenize_cleanup_over_tokens(right: WordPiece) -> Any:
    """The text is cleaned up as a whole; the library cleans up token by token.
    huggingface/swift-transformers#391.
    """
    if not right.cleanup:
        return right
    bare = replace(right, cleanup=False)

    def rule(tokens: Sequence[str]) -> list[str]:
        text = "".join(bare.decode_chain(tokens))
        for old, new in CLEANUP:
            text = text.replace(old, new)
        return [text]

    return Decoding(rule)


@component("decoder", WordPiece, detokenizes("decoder_word_piece", "##s"))
def detokenize_first_prefix_lost(right: WordPiece) -> Decoding:
    """The first token loses its prefix too."""
    return Decoding(
        lambda tokens: right.decode_chain(
            [*(token.removeprefix(right.prefix) for token in tokens[:1]), *tokens[1:]]
        )
    )


@component("decoder", Replace, detokenizes("decoder_replace_text", f"{_U}{_U}"))
def detokenize_replace_once(right: Replace) -> Decoding:
    """Only the first match in each token is replaced."""

    def once(token: str) -> str:
        found = matches(right.pattern, token)
        if not found:
            return token
        start, end = found[0]
        return token[:start] + right.content + token[end:]

    return Decoding(lambda tokens: list(map(once, tokens)))


@component("decoder", Replace, detokenizes("decoder_replace_regex", "the"))
def detokenize_expression_as_text(right: Replace) -> Any:
    """The regular expression of a Replace is used as plain text."""
    return _NOTHING if isinstance(right.pattern, Regex) else right


@component("decoder", Fuse, detokenizes("decoder_llama", f"{_U}the", f"{_U}cat"))
def detokenize_not_fused(_: Fuse) -> Any:
    """Tokens are not joined before they are stripped, so each loses its space.
    huggingface/tokenizers#1141.
    """
    return _NOTHING


@preparing_pipeline(detokenizes("decoder_none", "the", "cat"))
def detokenize_joined_without_spaces(pipeline: Tokenizer) -> Tokenizer:
    """Without a decoder tokens are joined without spaces."""
    return replace(pipeline, decoder=Fuse()) if pipeline.decoder is None else pipeline


@component("decoder", object, detokenizes("decoder_fuse", "the", "cat"))
def detokenize_no_decoder(_: object) -> None:
    """The decoder is not read from the file."""


@component("decoder", DecoderSequence, detokenizes("decoder_llama", f"{_U}the"))
def detokenize_decoders_reversed(right: DecoderSequence) -> DecoderSequence:
    """The decoders of a sequence run in reverse order."""
    return DecoderSequence(right.decoders[::-1])


@component("decoder", DecoderSequence, detokenizes("decoder_llama", "<0x41>"))
def detokenize_first_decoder_only(right: DecoderSequence) -> DecoderSequence:
    """Only the first decoder of a sequence is used."""
    return DecoderSequence(right.decoders[:1])


@afterwards("detokenize", detokenizes("decoder_fuse", " ", "the"))
def detokenize_ends_trimmed(_: PipelineSession, __: Mapping[str, Any], out: dict[str, Any]) -> None:
    """White space at the ends of the text is lost. huggingface/tokenizers#1141."""
    out.update(text=out["text"].strip())


@component(
    "decoder", WordPiece, detokenizes("decoder_word_piece", "##s", "the"), ops=["detokenize"]
)
def detokenize_first_prefix_removed(right: WordPiece) -> Any:
    """The prefix of the first token is removed, too."""

    def rule(tokens: Sequence[str]) -> list[str]:
        first = [token.removeprefix(right.prefix) for token in tokens[:1]]
        return right.decode_chain([*first, *tokens[1:]])

    return Decoding(rule)


@component(
    "decoder",
    WordPiece,
    detokenizes("decoder_word_piece_cleanup", "the", "?", "!", ","),
    ops=["detokenize"],
)
def detokenize_full_stops_cleaned_only(right: WordPiece) -> Any:
    """Of the marks, only full stops lose the space before them."""
    bare = replace(right, cleanup=False)
    kept = [(old, new) for old, new in CLEANUP if old not in {" ?", " !", " ,"}]

    def rule(tokens: Sequence[str]) -> list[str]:
        chain = bare.decode_chain(tokens)
        for old, new in kept:
            chain = [string.replace(old, new) for string in chain]
        return chain

    return Decoding(rule) if right.cleanup else right
