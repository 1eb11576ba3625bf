"""Mutants of what happens behind the model: templates, offsets trimmed, truncation, padding."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import wraps
from typing import Any, Final

from authoring.mutants.pipelines import (
    Change,
    Processing,
    afterwards,
    beforehand,
    component,
    preparing_pipeline,
    tokenizes,
)
from bpe_ref.encoding import Encoding
from bpe_ref.post_processors import (
    BertProcessing,
    ByteLevel,
    PostProcessor,
    PostProcessorSequence,
    RobertaProcessing,
    TemplateProcessing,
)
from bpe_ref.post_processors.padding import Padding
from bpe_ref.post_processors.truncation import Truncation
from bpe_ref.tokenizer import Tokenizer
from tokenref.engines.reference import PipelineSession

_PER_TOKEN: Final = (
    *("ids", "tokens", "offsets", "type_ids", "words", "special_tokens_mask", "attention_mask"),
)
_TRIMMING: Final = (ByteLevel, RobertaProcessing)

# ---- answers, changed


def _on_parts(change: Callable[[dict[str, Any]], None]) -> Change:
    """Change an answer and its overflowing parts alike."""

    @wraps(change)
    def on_all(_: PipelineSession, __: Mapping[str, Any], out: dict[str, Any]) -> None:
        for part in (out, *out["overflowing"]):
            change(part)

    return on_all


# ---- lengths


def _other_side(part: Any) -> Any:
    return replace(part, direction="Left" if part.direction == "Right" else "Right")


def _fields(right: Truncation) -> tuple[Any, ...]:
    return right.max_length, right.stride, right.strategy, right.direction, right.quirks


@beforehand("tokenize", tokenizes("post_template_bos", "a"))
def tokenize_template_forgotten(request: dict[str, Any]) -> None:
    """No special tokens are added around a text."""
    request.update(add_special_tokens=False)


@beforehand("tokenize", tokenizes("post_template_bos", "a", special=False))
def tokenize_template_always(request: dict[str, Any]) -> None:
    """Special tokens are added around a text although the caller does not want them."""
    request.update(add_special_tokens=True)


@afterwards("tokenize", tokenizes("post_template_bos", "a"))
def tokenize_double_bos(
    _: PipelineSession, request: Mapping[str, Any], out: dict[str, Any]
) -> None:
    """The special token at the start appears twice. deepseek-ai/DeepSeek-R1#151,
    ggml-org/llama.cpp#7107, abetlen/llama-cpp-python#1439.
    """
    if request["add_special_tokens"] and out["ids"] and out["special_tokens_mask"][0]:
        for key in _PER_TOKEN:
            out[key] = [out[key][0], *out[key]]


@component("post_processor", object, tokenizes("post_template_bare", "a"))
def tokenize_no_post_processor(_: object) -> Any:
    """The post-processor is not read from the file."""
    return None


@component("post_processor", PostProcessorSequence, tokenizes("post_sequence", "a"))
def tokenize_first_processor_only(right: PostProcessorSequence) -> Any:
    """Only the first post-processor of a sequence is used."""
    return PostProcessorSequence(right.processors[:1])


@beforehand("tokenize", tokenizes("post_none", "a", "b"))
def tokenize_texts_swapped(request: dict[str, Any]) -> None:
    """The second text of a pair comes first."""
    if "pair" in request:
        request["text"], request["pair"] = request["pair"], request["text"]


@beforehand("tokenize", tokenizes("post_none", "a", "b"))
def tokenize_pair_lost(request: dict[str, Any]) -> None:
    """The second text of a pair is lost."""
    request.pop("pair", None)


@beforehand("tokenize", tokenizes("pre_byte_level_space", ""))
def tokenize_nothing_is_a_space(request: dict[str, Any]) -> None:
    """An empty text is encoded as a space because a space is always put in front."""
    request["text"] = request["text"] or " "


@afterwards("tokenize", tokenizes("post_none", "a", "b"))
@_on_parts
def tokenize_types_zero(part: dict[str, Any]) -> None:
    """All type ids are zero."""
    part["type_ids"] = [0] * len(part["ids"])


@component("post_processor", TemplateProcessing, tokenizes("post_template_types", "a"))
def tokenize_template_types_by_text(right: TemplateProcessing) -> Any:
    """The type ids of a template are ignored: each text has its number."""

    def plain(pieces: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(replace(piece, type_id=int(piece.id == "B")) for piece in pieces)

    return replace(right, single=plain(right.single), pair=plain(right.pair))


@component("post_processor", TemplateProcessing, tokenizes("post_template_long", "a"))
def tokenize_template_one_id(right: TemplateProcessing) -> Any:
    """If a name in a template stands for several tokens, only the first is used."""
    first = {
        name: replace(token, ids=token.ids[:1], tokens=token.tokens[:1])
        for name, token in right.special_tokens.items()
    }
    return replace(right, special_tokens=first)


@afterwards("tokenize", tokenizes("post_template_bos", "a"))
@_on_parts
def tokenize_special_mask_zero(part: dict[str, Any]) -> None:
    """The mask does not mark special tokens."""
    part["special_tokens_mask"] = [0] * len(part["ids"])


@afterwards("tokenize", tokenizes("post_none", "a b", "c d"))
def tokenize_words_of_pair_go_on(
    _: PipelineSession, request: Mapping[str, Any], out: dict[str, Any]
) -> None:
    """The words of the second text continue the numbering of the first."""
    if "pair" not in request:
        return
    seen = highest = -1
    shift = 0
    words = []
    for word in out["words"]:
        if word is not None and word < seen:
            shift = highest + 1
        seen = seen if word is None else word
        words.append(None if word is None else word + shift)
        highest = highest if word is None else max(highest, word + shift)
    out["words"] = words


@component("post_processor", RobertaProcessing, tokenizes("post_roberta", "a", "b"))
def tokenize_roberta_one_separator(right: RobertaProcessing) -> Any:
    """There is one separator between two texts where RoBERTa has two."""
    bert = BertProcessing(right.sep, right.cls)
    bare = ByteLevel(right.add_prefix_space, right.trim_offsets)

    def rule(_: PostProcessor, encodings: Sequence[Encoding], add: bool) -> list[Encoding]:
        trimmed = bare.process_encodings(encodings, add_special_tokens=add)
        framed = bert.process_encodings(trimmed, add_special_tokens=add)
        return [encoding.of_type(0) for encoding in framed]

    return Processing(right, rule)


@component("post_processor", RobertaProcessing, tokenizes("post_roberta", "a", "b"))
def tokenize_roberta_types(right: RobertaProcessing) -> Any:
    """The second text has type 1 where RoBERTa always has 0."""

    def rule(_: PostProcessor, encodings: Sequence[Encoding], add: bool) -> list[Encoding]:
        after = right.process_encodings(encodings, add_special_tokens=add)
        return [encoding.of_type(number) for number, encoding in enumerate(after)]

    return Processing(right, rule)


@component("post_processor", BertProcessing, tokenizes("post_bert", "a", "b"))
def tokenize_bert_as_roberta(right: BertProcessing) -> Any:
    """There are two separators between two texts where BERT has one."""
    return RobertaProcessing(right.sep, right.cls, trim_offsets=False, add_prefix_space=False)


@component("post_processor", BertProcessing, tokenizes("post_bert", "a", ""))
def tokenize_bert_empty_second(right: BertProcessing) -> Any:
    """An empty second text is taken for none, and gets no separator."""

    def rule(_: PostProcessor, encodings: Sequence[Encoding], add: bool) -> list[Encoding]:
        given = encodings if all(map(len, encodings[1:])) else encodings[:1]
        return right.process_encodings(given, add_special_tokens=add)

    return Processing(right, rule)


@component("post_processor", _TRIMMING, tokenizes("post_byte_level", "a b"))
def tokenize_offsets_always_trimmed(right: Any) -> Any:
    """Spaces are excluded from the offsets although the file does not say so.
    huggingface/transformers#3796.
    """
    return replace(right, trim_offsets=True)


@component("post_processor", _TRIMMING, tokenizes("post_byte_level_trim", "a b"))
def tokenize_offsets_never_trimmed(right: Any) -> Any:
    """Spaces are included in the offsets although the file excludes them.
    huggingface/transformers#3058.
    """
    return replace(right, trim_offsets=False)


@component("post_processor", _TRIMMING, tokenizes("post_byte_level_trim_space", "a"))
def tokenize_offsets_trimmed_at_the_start(right: Any) -> Any:
    """The first token loses a character in its offsets for the space that was put in front."""
    return replace(right, add_prefix_space=False) if right.trim_offsets else right


@preparing_pipeline(tokenizes("truncate_framed", "a c e g i k"))
def tokenize_overflow_not_framed(pipeline: Tokenizer) -> Tokenizer:
    """Overflowing parts get no special tokens."""
    if pipeline.truncation is None or pipeline.post_processor is None:
        return pipeline

    def rule(right: PostProcessor, encodings: Sequence[Encoding], add: bool) -> list[Encoding]:
        if len(encodings) > 1 or not encodings:
            return right.process_encodings(encodings, add_special_tokens=add)
        bare = [replace(encoding, overflowing=()) for encoding in encodings]
        after = right.process_encodings(bare, add_special_tokens=add)
        parts = encodings[0].overflowing
        return [*after[:-1], replace(after[-1], overflowing=parts)] if parts else after

    return replace(pipeline, post_processor=Processing(pipeline.post_processor, rule))


@component("truncation", Truncation, tokenizes("truncate", "a c e g i k"))
def tokenize_not_truncated(_: Truncation) -> Any:
    """Truncation is not read from the file."""
    return None


@component("truncation", Truncation, tokenizes("truncate_stride_right", "a c e g i k"))
def tokenize_stride_ignored(right: Truncation) -> Any:
    """Overflowing parts do not overlap."""
    return replace(right, stride=0)


@component("truncation", Truncation, tokenizes("truncate", "a c e g i k"))
def tokenize_truncated_other_side(right: Truncation) -> Any:
    """The other side of the text is cut off."""
    return _other_side(right)


@component("truncation", Truncation, tokenizes("truncate_odd", "a", "a c e g i k m"))
def tokenize_pair_cut_in_halves(right: Truncation) -> Truncation:
    """Both texts of a pair are cut to half the length although one is short."""

    class Halves(Truncation):
        def _lengths(self, encoding: Encoding, pair: Encoding | None, most: int) -> tuple[int, int]:
            if pair is None:
                return super()._lengths(encoding, pair, most)
            return most - most // 2, most // 2

    return Halves(*_fields(right)) if right.strategy == "LongestFirst" else right


@component("truncation", Truncation, tokenizes("truncate_only_first", "a c e g i k", "m o q s"))
def tokenize_strategy_ignored(right: Truncation) -> Any:
    """The longest text is cut, whichever the strategy names."""
    return replace(right, strategy="LongestFirst")


@preparing_pipeline(tokenizes("truncate_framed", "a c e g i k"))
def tokenize_template_not_counted(pipeline: Tokenizer) -> Tokenizer:
    """The special tokens of the template are not counted towards the maximum length."""

    class Uncounted(Truncation):
        def truncate(
            self, encoding: Encoding, pair: Encoding | None = None, added_tokens: int = 0
        ) -> tuple[Encoding, Encoding | None]:
            return super().truncate(encoding, pair, 0 * added_tokens)

    if pipeline.truncation is None or pipeline.post_processor is None:
        return pipeline
    return replace(pipeline, truncation=Uncounted(*_fields(pipeline.truncation)))


@component("truncation", Truncation, tokenizes("truncate_too_short", "a"))
def tokenize_short_length_cuts(right: Truncation) -> Truncation:
    """A maximum length below that of the template cuts everything; in the library a subtraction
    wraps around and nothing is cut.
    """

    class AtMostAll(Truncation):
        def truncate(
            self, encoding: Encoding, pair: Encoding | None = None, added_tokens: int = 0
        ) -> tuple[Encoding, Encoding | None]:
            return super().truncate(encoding, pair, min(added_tokens, self.max_length))

    return AtMostAll(*_fields(right))


@afterwards("tokenize", tokenizes("truncate", "a c e g i k"))
def tokenize_overflow_lost(_: PipelineSession, __: Mapping[str, Any], out: dict[str, Any]) -> None:
    """The overflow is lost: encoding stops when there are enough tokens.
    huggingface/tokenizers#1990.
    """
    out["overflowing"] = []


@afterwards("tokenize", tokenizes("truncate", "a c e g i k m o q s u w y"))
def tokenize_overflow_backwards(
    _: PipelineSession, __: Mapping[str, Any], out: dict[str, Any]
) -> None:
    """The overflowing parts are in reverse order."""
    out["overflowing"] = out["overflowing"][::-1]


@component("padding", Padding, tokenizes("pad_fixed", "a"))
def tokenize_not_padded(_: Padding) -> Any:
    """Padding is not read from the file."""
    return None


@component("padding", Padding, tokenizes("pad_fixed", "a"))
def tokenize_padded_other_side(right: Padding) -> Any:
    """Padding is added on the other side."""
    return _other_side(right)


@component("padding", Padding, tokenizes("pad_fixed", ""))
def tokenize_nothing_not_padded(right: Padding) -> Any:
    """Padding goes behind the last token, and so where there is none, there is no padding."""

    class BehindTokens(Padding):
        """Leaves an empty encoding empty."""

        def pad_to(self, encoding: Encoding, length: int) -> Encoding:
            """Pad."""
            return super().pad_to(encoding, length) if len(encoding) else encoding

    if right.direction == "Left":
        return right
    return BehindTokens(**{each.name: getattr(right, each.name) for each in fields(right)})


@component("padding", Padding, tokenizes("pad_multiple", "a"))
def tokenize_multiple_ignored(right: Padding) -> Any:
    """The length is not rounded up to a multiple."""
    return replace(right, pad_to_multiple_of=None)


@component("padding", Padding, tokenizes("pad_fixed", "a"))
def tokenize_padding_id_zero(right: Padding) -> Any:
    """Padding has the id 0, whatever the file says."""
    return replace(right, pad_id=0)


@component("padding", Padding, tokenizes("pad_type", "a"))
def tokenize_padding_type_zero(right: Padding) -> Any:
    """Padding has the type 0, whatever the file says."""
    return replace(right, pad_type_id=0)


@afterwards("tokenize", tokenizes("pad_fixed", "a"))
@_on_parts
def tokenize_padding_attended(part: dict[str, Any]) -> None:
    """The mask tells a model to attend to padding."""
    part["attention_mask"] = [1] * len(part["ids"])


@afterwards("tokenize", tokenizes("pad_fixed", "a"))
@_on_parts
def tokenize_padding_not_special(part: dict[str, Any]) -> None:
    """Padding is not marked as special."""
    part["special_tokens_mask"] = [
        special and attended
        for special, attended in zip(
            part["special_tokens_mask"], part["attention_mask"], strict=True
        )
    ]
