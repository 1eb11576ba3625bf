"""Mutants that stream text wrongly, and that remember what they should not."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from authoring.mutants.mutant import Mutant, PipelineHandler, PipelinesWithHandler, Witness, mutant
from authoring.mutants.pipelines import (
    answering_pipeline,
    remembering_pipeline,
    streams_text,
    tokenize_request,
)
from authoring.tokenizer_files.table import fixture_tokenizers
from bpe_ref import DecodingError
from bpe_ref.like_tokenizers.decode_stream import DecodeStream
from tokenref.answers import Ok, Refused
from tokenref.engines.reference import PipelineSession, ReferenceEngine

Parts = tuple[list[str | None], str]
"""What each id gives, and what the end adds."""

_OP: Final = "detokenize_stream"
_REPLACEMENT: Final = "\ufffd"


Rule: TypeAlias = Callable[[PipelineSession, list[int], bool, Parts], Parts]
"""Streams: from the session, the ids, whether special tokens are skipped, the right parts."""


def streaming(mode: str, witness: Witness) -> Callable[[Rule], Mutant]:
    """Return a decorator: the function streams text in one mode."""

    def engine(label: str, rule: Rule) -> ReferenceEngine:
        def handle(right: PipelineSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
            answer = right.answer(op, request)
            if op != _OP or request["mode"] != mode or isinstance(answer, Refused):
                return answer
            before = list(answer.out["parts"]), str(answer.out["tail"])
            skip = request["skip_special_tokens"]
            parts, tail = rule(right, request["ids"], skip, before)
            return Ok({"parts": parts, "tail": tail})

        return PipelinesWithHandler(label, begin=lambda: handle)

    return mutant(witness, engine)


def _text(session: PipelineSession, ids: list[int], skip: bool) -> str:
    return session.decode(ids, skip_special_tokens=skip)


def _each_alone(session: PipelineSession, ids: list[int], skip: bool, _: Parts) -> Parts:
    return [_text(session, [id_], skip) for id_ in ids], ""


def _never_waiting(session: PipelineSession, ids: list[int], skip: bool, _: Parts) -> Parts:
    """Print what the text so far has more, U+FFFD included."""
    parts: list[str | None] = []
    printed = ""
    for stop in range(1, len(ids) + 1):
        text = _text(session, ids[:stop], skip)
        parts.append(text[len(printed) :])
        printed = text
    return parts, ""


# ---- what is remembered from one call to the next


def _after(name: str, op: str, first: Mapping[str, Any], then: Mapping[str, Any]) -> Witness:
    return Witness(fixture_tokenizers()[name], op, then, before=((op, first),))


_HALF: Final = streams_text("decoder_byte_level", "Ã").request
_WHOLE: Final = streams_text("decoder_byte_level", "t", "h").request


@streaming("certain", streams_text("decoder_byte_level", "Ã", "©", mode="certain"))
def text_stream_each_alone(
    session: PipelineSession, ids: list[int], skip: bool, right: Parts
) -> Parts:
    """Each token is decoded separately. vllm-project/vllm#8627, huggingface/tokenizers#1141."""
    return _each_alone(session, ids, skip, right)


@streaming("certain", streams_text("decoder_byte_level", "Ã", mode="certain"))
def text_stream_never_waits(
    session: PipelineSession, ids: list[int], skip: bool, right: Parts
) -> Parts:
    """Incomplete characters are shown as U+FFFD, and their ends are lost. smg-project/smg#710."""
    return _never_waiting(session, ids, skip, right)


@streaming("certain", streams_text("decoder_byte_level", "Ã", mode="certain"))
def text_stream_no_tail(_: PipelineSession, __: list[int], ___: bool, right: Parts) -> Parts:
    """An open end is lost because there is no flush. waybarrios/vllm-mlx#109."""
    return right[0], ""


@streaming("certain", streams_text("decoder_fuse", " ", mode="certain"))
def text_stream_all_at_the_end(
    session: PipelineSession, ids: list[int], skip: bool, _: Parts
) -> Parts:
    """Nothing is emitted before the end."""
    return [""] * len(ids), _text(session, ids, skip)


@streaming("certain", streams_text("decoder_fuse", "\ufffd", mode="certain"))
def text_stream_no_replacements(
    _: PipelineSession, __: list[int], ___: bool, right: Parts
) -> Parts:
    """U+FFFD is removed from the text, even where it is genuine.
    replicate/cog-llama-template#75.
    """
    parts, tail = right
    clean = [None if part is None else part.replace(_REPLACEMENT, "") for part in parts]
    return list(clean), tail.replace(_REPLACEMENT, "")


@streaming("certain", streams_text("decoder_fuse", "the", mode="certain"))
def text_stream_whole_words(
    session: PipelineSession, ids: list[int], skip: bool, _: Parts
) -> Parts:
    """Text is emitted word by word, later than it is certain."""
    parts: list[str | None] = []
    done = 0
    text = ""
    for stop in range(1, len(ids) + 1):
        text = _text(session, ids[:stop], skip)
        end = max(text.rfind(" ") + 1, done)
        parts.append(text[done:end])
        done = end
    return parts, text[done:]


@streaming("engine", streams_text("decoder_byte_level", "Ã"))
def text_stream_engine_flushes(
    session: PipelineSession, ids: list[int], skip: bool, right: Parts
) -> Parts:
    """The last token emits the rest, which the library's stream keeps."""
    parts, tail = right
    said = "".join(part or "" for part in parts)
    rest = _text(session, ids, skip)[len(said) :]
    if parts and rest:
        return [*parts[:-1], (parts[-1] or "") + rest], tail
    return right


@streaming("engine", streams_text("decoder_byte_level", "Ã"))
def text_stream_engine_empty_text(
    _: PipelineSession, __: list[int], ___: bool, right: Parts
) -> Parts:
    """An empty text is emitted where the library's stream waits and emits nothing."""
    return [part or "" for part in right[0]], right[1]


@streaming("engine", streams_text("decoder_llama", "\u2581the", "\u2581cat"))
def text_stream_engine_each_alone(
    session: PipelineSession, ids: list[int], skip: bool, right: Parts
) -> Parts:
    """The engine's stream decodes each token separately. vllm-project/vllm#8627."""
    return _each_alone(session, ids, skip, right)


@streaming("engine", streams_text("decoder_byte_level", "Ã", "©"))
def text_stream_engine_never_waits(
    session: PipelineSession, ids: list[int], skip: bool, right: Parts
) -> Parts:
    """The engine's stream emits U+FFFD for incomplete characters. smg-project/smg#710."""
    return _never_waiting(session, ids, skip, right)


@streaming("engine", streams_text("decoder_llama", "\u2581the", "\u2581cat"))
def text_stream_engine_spaces_lost(
    _: PipelineSession, __: list[int], ___: bool, right: Parts
) -> Parts:
    """The space in front of each part is lost. huggingface/tokenizers#1141."""
    parts, tail = right
    return [None if part is None else part.lstrip(" ") for part in parts], tail


@answering_pipeline(streams_text("decoder_bpe", "a</w>b", "the</w>"))
def text_stream_engine_prefix_unchecked(
    right: PipelineSession, op: str, request: Mapping[str, Any]
) -> Ok | Refused:
    """It goes unnoticed that later tokens change the text of earlier ones, which is an error in the
    library.
    """
    answer = right.answer(op, request)
    if op != _OP or not isinstance(answer, Refused):
        return answer
    skip = request["skip_special_tokens"]
    parts, tail = _never_waiting(right, request["ids"], skip, ([], ""))
    return Ok({"parts": parts, "tail": tail})


@remembering_pipeline(
    _after("pad_longest", "tokenize", tokenize_request("a c e"), tokenize_request("a"))
)
def session_padding_remembered() -> PipelineHandler:
    """Encodings are padded to the longest of all previous calls."""
    longest = [0]

    def handle(right: PipelineSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        answer = right.answer(op, request)
        padding = right.tokenizer.padding
        if op != "tokenize" or padding is None or isinstance(answer, Refused):
            return answer
        longest[0] = max(longest[0], len(answer.out["ids"]))
        asked = dict(request)
        encoding = right.tokenizer.tokenize(
            asked["text"], asked.get("pair"), add_special_tokens=asked["add_special_tokens"]
        )
        missing = longest[0] - len(encoding)
        if missing <= 0:
            return answer
        out = dict(answer.out)
        fill = {
            "ids": padding.pad_id,
            "tokens": padding.pad_token,
            "offsets": [0, 0],
            "type_ids": padding.pad_type_id,
            "words": None,
            "special_tokens_mask": 1,
            "attention_mask": 0,
        }
        for key, value in fill.items():
            filling = [value] * missing
            is_left = padding.direction == "Left"
            out[key] = [*filling, *out[key]] if is_left else [*out[key], *filling]
        return Ok(out)

    return handle


@remembering_pipeline(
    _after(
        "post_template_bos", "tokenize", tokenize_request("a"), tokenize_request("a", special=False)
    )
)
def session_cache_by_text_alone() -> PipelineHandler:
    """Answers are cached by the text, whatever else is in the request."""
    known: dict[str, Ok | Refused] = {}

    def handle(right: PipelineSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        if op != "tokenize":
            return right.answer(op, request)
        return known.setdefault(request["text"], right.answer(op, request))

    return handle


@remembering_pipeline(
    _after(
        "post_template_bos", "tokenize", tokenize_request("a", special=False), tokenize_request("a")
    )
)
def session_special_tokens_stay_off() -> PipelineHandler:
    """Once a caller wanted no special tokens, no caller gets any."""
    off = [False]

    def handle(right: PipelineSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        if op != "tokenize":
            return right.answer(op, request)
        off[0] = off[0] or not request["add_special_tokens"]
        return right.answer(op, {**request, "add_special_tokens": not off[0]})

    return handle


@remembering_pipeline(_after("decoder_byte_level", _OP, _HALF, _WHOLE))
def session_stream_goes_on() -> PipelineHandler:
    """A stream begins with what the previous stream kept."""
    streams: dict[bool, DecodeStream] = {}

    def handle(right: PipelineSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        if op != _OP or request["mode"] != "engine":
            return right.answer(op, request)
        skip = request["skip_special_tokens"]
        stream = streams.setdefault(skip, DecodeStream(skip_special_tokens=skip))
        try:
            parts = [stream.step(right, id_) for id_ in request["ids"]]
        except DecodingError as error:
            return Refused("INVALID_PREFIX", str(error))
        return Ok({"parts": parts, "tail": ""})

    return handle
