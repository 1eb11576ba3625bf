"""Mutants of what happens behind the model: templates, offsets trimmed, truncation, padding."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from authoring.mutants.mutant import AskPipeline, Mutant, PreparePipeline, pipeline_mutant
from authoring.mutants.pipelines import (
    Processing,
    afterwards,
    changing,
    tokenizes,
)
from bpe_ref.encoding import Encoding
from bpe_ref.hugging_face.pipeline import Pipeline
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
from tokenref.answers import Ok, Refused
from tokenref.engines.reference_pipeline import PipelineSession

_PER_TOKEN: Final = (
    *("ids", "tokens", "offsets", "type_ids", "words", "special_tokens_mask", "attention_mask"),
)

# ---- answers, changed


def _on_parts(
    change: Callable[[dict[str, Any]], None],
) -> Callable[[PipelineSession, Mapping[str, Any], dict[str, Any]], None]:
    """Return what changes an answer and its overflowing parts alike."""

    def on_all(_: PipelineSession, __: Mapping[str, Any], out: dict[str, Any]) -> None:
        change(out)
        for part in out["overflowing"]:
            change(part)

    return on_all


def _double_bos(_: PipelineSession, request: Mapping[str, Any], out: dict[str, Any]) -> None:
    """Put the first token there twice, if the template put it there."""
    if request["add_special_tokens"] and out["ids"] and out["special_tokens_mask"][0]:
        for key in _PER_TOKEN:
            out[key] = [out[key][0], *out[key]]


def _set(key: str, value: int) -> Callable[[dict[str, Any]], None]:
    def change(part: dict[str, Any]) -> None:
        part[key] = [value] * len(part[key])

    return change


def _attention_everywhere(part: dict[str, Any]) -> None:
    part["attention_mask"] = [1] * len(part["ids"])


def _padding_not_special(part: dict[str, Any]) -> None:
    part["special_tokens_mask"] = [
        special and attended
        for special, attended in zip(
            part["special_tokens_mask"], part["attention_mask"], strict=True
        )
    ]


def _overflow_lost(_: PipelineSession, __: Mapping[str, Any], out: dict[str, Any]) -> None:
    out["overflowing"] = []


def _overflow_backwards(_: PipelineSession, __: Mapping[str, Any], out: dict[str, Any]) -> None:
    out["overflowing"] = out["overflowing"][::-1]


def _words_of_the_pair_go_on(
    _: PipelineSession, request: Mapping[str, Any], out: dict[str, Any]
) -> None:
    """Let the words of the second text count on from those of the first."""
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


# ---- questions, changed


def _asked(change: Callable[[dict[str, Any]], None]) -> Callable[[], AskPipeline]:
    """Return what changes questions for tokens before they are asked."""

    def ask(right: PipelineSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        if op != "tokenize":
            return right.answer(op, request)
        asked = dict(request)
        change(asked)
        return right.answer(op, asked)

    return lambda: ask


def _swap(request: dict[str, Any]) -> None:
    if "pair" in request:
        request["text"], request["pair"] = request["pair"], request["text"]


def _space_for_nothing(request: dict[str, Any]) -> None:
    request["text"] = request["text"] or " "


# ---- post-processors


def _of_parts_only(
    right: PostProcessor,
    encodings: Sequence[Encoding],
    add_special_tokens: bool,
) -> list[Encoding]:
    """Frame the texts, and leave their overflowing parts as they are."""
    after = right.process_encodings(
        [replace(encoding, overflowing=()) for encoding in encodings],
        add_special_tokens=add_special_tokens,
    )
    if len(encodings) > 1 or not encodings:
        return right.process_encodings(encodings, add_special_tokens=add_special_tokens)
    parts = encodings[0].overflowing
    return [*after[:-1], replace(after[-1], overflowing=parts)] if parts else after


def _frames_overflow_not(pipeline: Pipeline) -> Pipeline:
    if pipeline.truncation is None or pipeline.post_processor is None:
        return pipeline
    return replace(pipeline, post_processor=Processing(pipeline.post_processor, _of_parts_only))


def _processor(kind: type | tuple[type, ...], change: Callable[[Any], Any]) -> PreparePipeline:
    return changing("post_processor", kind, change)


def _types_by_text(right: TemplateProcessing) -> TemplateProcessing:
    """Give each text its number as type, and special tokens type 0."""

    def plain(pieces: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(replace(piece, type_id=int(piece.id == "B")) for piece in pieces)

    return replace(right, single=plain(right.single), pair=plain(right.pair))


def _one_id_per_name(right: TemplateProcessing) -> TemplateProcessing:
    """Take of a special token that stands for several ids the first."""
    return replace(
        right,
        special_tokens={
            name: replace(token, ids=token.ids[:1], tokens=token.tokens[:1])
            for name, token in right.special_tokens.items()
        },
    )


def _one_middle_separator(right: RobertaProcessing) -> Processing:
    """Put one separator between two texts instead of two."""
    bert = BertProcessing(right.sep, right.cls)
    bare = ByteLevel(right.add_prefix_space, right.trim_offsets)

    def rule(_: PostProcessor, encodings: Sequence[Encoding], add: bool) -> list[Encoding]:
        trimmed = bare.process_encodings(encodings, add_special_tokens=add)
        framed = bert.process_encodings(trimmed, add_special_tokens=add)
        return [encoding.of_type(0) for encoding in framed]

    return Processing(right, rule)


def _types_as_bert(right: RobertaProcessing) -> Processing:
    """Give the second text type 1."""

    def rule(_: PostProcessor, encodings: Sequence[Encoding], add: bool) -> list[Encoding]:
        after = right.process_encodings(encodings, add_special_tokens=add)
        return [encoding.of_type(number) for number, encoding in enumerate(after)]

    return Processing(right, rule)


def _first_processor_only(pipeline: Pipeline) -> Pipeline:
    right = pipeline.post_processor
    if not isinstance(right, PostProcessorSequence) or len(right.processors) <= 1:
        return pipeline
    return replace(pipeline, post_processor=PostProcessorSequence(right.processors[:1]))


def _without_processor(pipeline: Pipeline) -> Pipeline:
    return pipeline if pipeline.post_processor is None else replace(pipeline, post_processor=None)


# ---- lengths


def _cut(change: Callable[[Truncation, Pipeline], Truncation | None]) -> PreparePipeline:
    """Return what changes how encodings are cut."""

    def prepare(pipeline: Pipeline) -> Pipeline:
        if pipeline.truncation is None:
            return pipeline
        after = change(pipeline.truncation, pipeline)
        return pipeline if after == pipeline.truncation else replace(pipeline, truncation=after)

    return prepare


def _filled(change: Callable[[Padding], Padding | None]) -> PreparePipeline:
    """Return what changes how encodings are filled up."""

    def prepare(pipeline: Pipeline) -> Pipeline:
        if pipeline.padding is None:
            return pipeline
        after = change(pipeline.padding)
        return pipeline if after == pipeline.padding else replace(pipeline, padding=after)

    return prepare


def _other_side(part: Any) -> Any:
    return replace(part, direction="Left" if part.direction == "Right" else "Right")


class _Halves(Truncation):
    """Cuts both texts of a pair to half of the length."""

    def _lengths(self, encoding: Encoding, pair: Encoding | None, most: int) -> tuple[int, int]:
        if self.strategy != "LongestFirst" or pair is None:
            return super()._lengths(encoding, pair, most)
        return most - most // 2, most // 2


def _halves(right: Truncation, _: Pipeline) -> Truncation:
    if right.strategy != "LongestFirst":
        return right
    return _Halves(right.max_length, right.stride, right.strategy, right.direction, right.profile)


class _Uncounted(Truncation):
    """Does not count what the template adds."""

    def truncate(
        self, encoding: Encoding, pair: Encoding | None = None, added_tokens: int = 0
    ) -> tuple[Encoding, Encoding | None]:
        """Return the encodings, cut to `max_length` before anything is added."""
        return super().truncate(encoding, pair, 0 * added_tokens)


def _uncounted(right: Truncation, pipeline: Pipeline) -> Truncation:
    if pipeline.post_processor is None:
        return right
    return _Uncounted(
        right.max_length, right.stride, right.strategy, right.direction, right.profile
    )


class _AtMostAll(Truncation):
    """Leaves no text where the template alone is too long."""

    def truncate(
        self, encoding: Encoding, pair: Encoding | None = None, added_tokens: int = 0
    ) -> tuple[Encoding, Encoding | None]:
        """Return the encodings, cut so that nothing or more is left."""
        return super().truncate(encoding, pair, min(added_tokens, self.max_length))


def _at_most_all(right: Truncation, _: Pipeline) -> Truncation:
    return _AtMostAll(
        right.max_length, right.stride, right.strategy, right.direction, right.profile
    )


AFTER: Final[tuple[Mutant, ...]] = (
    pipeline_mutant(
        "tokenize-template-forgotten",
        "No special tokens are put around a text. Own.",
        tokenizes("post_template_bos", "a"),
        begin=_asked(lambda request: request.update(add_special_tokens=False)),
    ),
    pipeline_mutant(
        "tokenize-template-always",
        "Special tokens are put around a text although the caller does not want them. Own.",
        tokenizes("post_template_bos", "a", special=False),
        begin=_asked(lambda request: request.update(add_special_tokens=True)),
    ),
    pipeline_mutant(
        "tokenize-double-bos",
        "The special token in front is there twice. deepseek-ai/DeepSeek-R1#151, "
        "ggml-org/llama.cpp#7107, abetlen/llama-cpp-python#1439.",
        tokenizes("post_template_bos", "a"),
        begin=afterwards("tokenize", _double_bos),
    ),
    pipeline_mutant(
        "tokenize-no-post-processor",
        "The post-processor is not read from the file. Own.",
        tokenizes("post_template_bare", "a"),
        prepare=_without_processor,
    ),
    pipeline_mutant(
        "tokenize-first-processor-only",
        "Of a sequence of post-processors only the first is used. Own.",
        tokenizes("post_sequence", "a"),
        prepare=_first_processor_only,
    ),
    pipeline_mutant(
        "tokenize-texts-swapped",
        "The second text of a pair comes first. Own.",
        tokenizes("post_none", "a", "b"),
        begin=_asked(_swap),
    ),
    pipeline_mutant(
        "tokenize-pair-lost",
        "The second text of a pair is lost. Own.",
        tokenizes("post_none", "a", "b"),
        begin=_asked(lambda request: request.pop("pair", None)),
    ),
    pipeline_mutant(
        "tokenize-nothing-is-a-space",
        "An empty text is encoded as if it were a space, since text is always put in front. Own.",
        tokenizes("pre_byte_level_space", ""),
        begin=_asked(_space_for_nothing),
    ),
    pipeline_mutant(
        "tokenize-types-zero",
        "All type ids are 0. Own.",
        tokenizes("post_none", "a", "b"),
        begin=afterwards("tokenize", _on_parts(_set("type_ids", 0))),
    ),
    pipeline_mutant(
        "tokenize-template-types-by-text",
        "The type ids of a template are not read: each text has its number. Own.",
        tokenizes("post_template_types", "a"),
        prepare=_processor(TemplateProcessing, _types_by_text),
    ),
    pipeline_mutant(
        "tokenize-template-one-id",
        "Of a name in a template that stands for several tokens only the first is used. Own.",
        tokenizes("post_template_long", "a"),
        prepare=_processor(TemplateProcessing, _one_id_per_name),
    ),
    pipeline_mutant(
        "tokenize-special-mask-zero",
        "The mask does not mark special tokens. Own.",
        tokenizes("post_template_bos", "a"),
        begin=afterwards("tokenize", _on_parts(_set("special_tokens_mask", 0))),
    ),
    pipeline_mutant(
        "tokenize-words-of-pair-go-on",
        "The words of the second text are numbered on from those of the first. Own.",
        tokenizes("post_none", "a b", "c d"),
        begin=afterwards("tokenize", _words_of_the_pair_go_on),
    ),
    pipeline_mutant(
        "tokenize-roberta-one-separator",
        "One separator stands between two texts where RoBERTa has two. Own.",
        tokenizes("post_roberta", "a", "b"),
        prepare=_processor(RobertaProcessing, _one_middle_separator),
    ),
    pipeline_mutant(
        "tokenize-roberta-types",
        "The second text has type 1 where RoBERTa has 0 throughout. Own.",
        tokenizes("post_roberta", "a", "b"),
        prepare=_processor(RobertaProcessing, _types_as_bert),
    ),
    pipeline_mutant(
        "tokenize-bert-as-roberta",
        "Two separators stand between two texts where BERT has one. Own.",
        tokenizes("post_bert", "a", "b"),
        prepare=_processor(
            BertProcessing,
            lambda right: RobertaProcessing(
                right.sep, right.cls, trim_offsets=False, add_prefix_space=False
            ),
        ),
    ),
    pipeline_mutant(
        "tokenize-offsets-always-trimmed",
        "Spaces are taken out of the offsets where the file does not say so. "
        "huggingface/transformers#3796.",
        tokenizes("post_byte_level", "a b"),
        prepare=_processor(
            (ByteLevel, RobertaProcessing), lambda right: replace(right, trim_offsets=True)
        ),
    ),
    pipeline_mutant(
        "tokenize-offsets-never-trimmed",
        "Spaces stay in the offsets where the file wants them out. huggingface/transformers#3058.",
        tokenizes("post_byte_level_trim", "a b"),
        prepare=_processor(
            (ByteLevel, RobertaProcessing), lambda right: replace(right, trim_offsets=False)
        ),
    ),
    pipeline_mutant(
        "tokenize-offsets-trimmed-at-the-start",
        "Of the first token a character is taken out for the space that was put in front. Own.",
        tokenizes("post_byte_level_trim_space", "a"),
        prepare=_processor(
            (ByteLevel, RobertaProcessing),
            lambda right: replace(right, add_prefix_space=False) if right.trim_offsets else right,
        ),
    ),
    pipeline_mutant(
        "tokenize-overflow-not-framed",
        "Overflowing parts get no special tokens. Own.",
        tokenizes("truncate_framed", "a c e g i k"),
        prepare=_frames_overflow_not,
    ),
    pipeline_mutant(
        "tokenize-not-truncated",
        "Truncation is not read from the file. Own.",
        tokenizes("truncate", "a c e g i k"),
        prepare=_cut(lambda _, __: None),
    ),
    pipeline_mutant(
        "tokenize-stride-ignored",
        "Overflowing parts do not overlap. Own.",
        tokenizes("truncate_stride_right", "a c e g i k"),
        prepare=_cut(lambda right, _: replace(right, stride=0)),
    ),
    pipeline_mutant(
        "tokenize-truncated-other-side",
        "The other side of the text is cut off. Own.",
        tokenizes("truncate", "a c e g i k"),
        prepare=_cut(lambda right, _: _other_side(right)),
    ),
    pipeline_mutant(
        "tokenize-pair-cut-in-halves",
        "Both texts of a pair are cut to half, though one is short. Own.",
        tokenizes("truncate_odd", "a", "a c e g i k m"),
        prepare=_cut(_halves),
    ),
    pipeline_mutant(
        "tokenize-strategy-ignored",
        "Whichever text is to be cut, the longest one is. Own.",
        tokenizes("truncate_only_first", "a c e g i k", "m o q s"),
        prepare=_cut(lambda right, _: replace(right, strategy="LongestFirst")),
    ),
    pipeline_mutant(
        "tokenize-template-not-counted",
        "What the template adds comes on top of the greatest length. Own.",
        tokenizes("truncate_framed", "a c e g i k"),
        prepare=_cut(_uncounted),
    ),
    pipeline_mutant(
        "tokenize-short-length-cuts",
        "A length below that of the template cuts everything; in the library a subtraction wraps "
        "around, and nothing is cut. Own.",
        tokenizes("truncate_too_short", "a"),
        prepare=_cut(_at_most_all),
    ),
    pipeline_mutant(
        "tokenize-overflow-lost",
        "What is cut off is lost: encoding stops where there are enough tokens. "
        "huggingface/tokenizers#1990.",
        tokenizes("truncate", "a c e g i k"),
        begin=afterwards("tokenize", _overflow_lost),
    ),
    pipeline_mutant(
        "tokenize-overflow-backwards",
        "The parts that are cut off come last one first. Own.",
        tokenizes("truncate", "a c e g i k m o q s u w y"),
        begin=afterwards("tokenize", _overflow_backwards),
    ),
    pipeline_mutant(
        "tokenize-not-padded",
        "Padding is not read from the file. Own.",
        tokenizes("pad_fixed", "a"),
        prepare=_filled(lambda _: None),
    ),
    pipeline_mutant(
        "tokenize-padded-other-side",
        "The other side is filled up. Own.",
        tokenizes("pad_fixed", "a"),
        prepare=_filled(_other_side),
    ),
    pipeline_mutant(
        "tokenize-multiple-ignored",
        "The length is not rounded up to a multiple. Own.",
        tokenizes("pad_multiple", "a"),
        prepare=_filled(lambda right: replace(right, pad_to_multiple_of=None)),
    ),
    pipeline_mutant(
        "tokenize-padding-id-zero",
        "Padding has the id 0, whatever the file says. Own.",
        tokenizes("pad_fixed", "a"),
        prepare=_filled(lambda right: replace(right, pad_id=0)),
    ),
    pipeline_mutant(
        "tokenize-padding-type-zero",
        "Padding has the type 0, whatever the file says. Own.",
        tokenizes("pad_type", "a"),
        prepare=_filled(lambda right: replace(right, pad_type_id=0)),
    ),
    pipeline_mutant(
        "tokenize-padding-attended",
        "The mask tells a model to attend to padding. Own.",
        tokenizes("pad_fixed", "a"),
        begin=afterwards("tokenize", _on_parts(_attention_everywhere)),
    ),
    pipeline_mutant(
        "tokenize-padding-not-special",
        "Padding is not marked as special. Own.",
        tokenizes("pad_fixed", "a"),
        begin=afterwards("tokenize", _on_parts(_padding_not_special)),
    ),
)
"""Mutants of post-processors, truncation and padding."""
