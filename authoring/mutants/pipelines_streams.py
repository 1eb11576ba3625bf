"""Mutants that stream text wrongly, and that remember what they should not."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from authoring.cases.tokenizers import fixture_tokenizers
from authoring.mutants.mutant import AskPipeline, Mutant, Witness, pipeline_mutant
from authoring.mutants.pipelines import streams_text, tokenize_request
from bpe_ref.hugging_face.pipeline import Pipeline
from bpe_ref.like_tokenizers.decode_stream import DecodeStream
from tokenref.answers import Ok, Refused
from tokenref.engines.reference_pipeline import PipelineSession

Parts = tuple[list[str | None], str]
"""What each id gives, and what the end adds."""

_OP: Final = "detokenize_stream"
_REPLACEMENT: Final = "\ufffd"


def _streaming(
    mode: str, rule: Callable[[Pipeline, list[int], bool, Parts], Parts]
) -> Callable[[], AskPipeline]:
    """Return what changes the answers of one mode; the rule is given the right one too."""

    def ask(right: PipelineSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        answer = right.answer(op, request)
        if op != _OP or request["mode"] != mode or isinstance(answer, Refused):
            return answer
        before = list(answer.out["parts"]), str(answer.out["tail"])
        parts, tail = rule(right.pipeline, request["ids"], request["skip_special_tokens"], before)
        return Ok({"parts": parts, "tail": tail})

    return lambda: ask


def _text(pipeline: Pipeline, ids: list[int], skip: bool) -> str:
    return pipeline.decode(ids, skip_special_tokens=skip)


def _each_alone(pipeline: Pipeline, ids: list[int], skip: bool, _: Parts) -> Parts:
    return [_text(pipeline, [id_], skip) for id_ in ids], ""


def _never_waiting(pipeline: Pipeline, ids: list[int], skip: bool, _: Parts) -> Parts:
    """Print what the text so far has more, U+FFFD included."""
    parts: list[str | None] = []
    printed = ""
    for stop in range(1, len(ids) + 1):
        text = _text(pipeline, ids[:stop], skip)
        parts.append(text[len(printed) :])
        printed = text
    return parts, ""


def _no_tail(_: Pipeline, __: list[int], ___: bool, right: Parts) -> Parts:
    return right[0], ""


def _all_at_the_end(pipeline: Pipeline, ids: list[int], skip: bool, _: Parts) -> Parts:
    return [""] * len(ids), _text(pipeline, ids, skip)


def _no_replacements(_: Pipeline, __: list[int], ___: bool, right: Parts) -> Parts:
    parts, tail = right
    clean = [None if part is None else part.replace(_REPLACEMENT, "") for part in parts]
    return list(clean), tail.replace(_REPLACEMENT, "")


def _up_to_the_last_space(
    pipeline: Pipeline,
    ids: list[int],
    skip: bool,
    _: Parts,
) -> Parts:
    """Print whole words only, as a text streamer for people does."""
    parts: list[str | None] = []
    done = 0
    text = ""
    for stop in range(1, len(ids) + 1):
        text = _text(pipeline, ids[:stop], skip)
        end = max(text.rfind(" ") + 1, done)
        parts.append(text[done:end])
        done = end
    return parts, text[done:]


def _flushing(pipeline: Pipeline, ids: list[int], skip: bool, right: Parts) -> Parts:
    """Give with the last id whatever is left, where the engine's stream has no end."""
    parts, tail = right
    said = "".join(part or "" for part in parts)
    rest = _text(pipeline, ids, skip)[len(said) :]
    if parts and rest:
        return [*parts[:-1], (parts[-1] or "") + rest], tail
    return right


def _empty_for_none(_: Pipeline, __: list[int], ___: bool, right: Parts) -> Parts:
    return [part or "" for part in right[0]], right[1]


def _spaces_lost(_: Pipeline, __: list[int], ___: bool, right: Parts) -> Parts:
    """Decode each step's text without the space in front."""
    parts, tail = right
    return [None if part is None else part.lstrip(" ") for part in parts], tail


def _prefix_unchecked() -> AskPipeline:
    """Give the rest of the text, where what was given before is no beginning of it."""

    def ask(right: PipelineSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        answer = right.answer(op, request)
        if op != _OP or not isinstance(answer, Refused):
            return answer
        skip = request["skip_special_tokens"]
        parts, tail = _never_waiting(right.pipeline, request["ids"], skip, ([], ""))
        return Ok({"parts": parts, "tail": tail})

    return ask


# ---- what is remembered from one call to the next


def _longest_so_far() -> AskPipeline:
    """Fill up to the longest encoding of all calls so far, as if they were a batch."""
    longest = [0]

    def ask(right: PipelineSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        answer = right.answer(op, request)
        padding = right.pipeline.padding
        if op != "tokenize" or padding is None or isinstance(answer, Refused):
            return answer
        longest[0] = max(longest[0], len(answer.out["ids"]))
        asked = dict(request)
        encoding = right.pipeline.encode(
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

    return ask


def _by_text_alone() -> AskPipeline:
    """Remember answers by their text, whatever else was asked."""
    known: dict[str, Ok | Refused] = {}

    def ask(right: PipelineSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        if op != "tokenize":
            return right.answer(op, request)
        return known.setdefault(request["text"], right.answer(op, request))

    return ask


def _special_tokens_stay_off() -> AskPipeline:
    """Add no more special tokens once a caller did not want any."""
    off = [False]

    def ask(right: PipelineSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        if op != "tokenize":
            return right.answer(op, request)
        off[0] = off[0] or not request["add_special_tokens"]
        return right.answer(op, {**request, "add_special_tokens": not off[0]})

    return ask


def _stream_goes_on() -> AskPipeline:
    """Go on with the stream of the call before."""
    streams: dict[bool, DecodeStream] = {}

    def ask(right: PipelineSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        if op != _OP or request["mode"] != "engine":
            return right.answer(op, request)
        skip = request["skip_special_tokens"]
        stream = streams.setdefault(skip, DecodeStream(skip_special_tokens=skip))
        parts = [stream.step(right.pipeline, id_) for id_ in request["ids"]]
        return Ok({"parts": parts, "tail": ""})

    return ask


def _after(name: str, op: str, first: Mapping[str, Any], then: Mapping[str, Any]) -> Witness:
    return Witness(fixture_tokenizers()[name], op, then, before=((op, first),))


_HALF: Final = streams_text("decoder_byte_level", "Ã").request
_WHOLE: Final = streams_text("decoder_byte_level", "t", "h").request

STREAMS: Final[tuple[Mutant, ...]] = (
    pipeline_mutant(
        "text-stream-each-alone",
        "Each token is decoded by itself. vllm-project/vllm#8627, huggingface/tokenizers#1141.",
        streams_text("decoder_byte_level", "Ã", "©", mode="certain"),
        begin=_streaming("certain", _each_alone),
    ),
    pipeline_mutant(
        "text-stream-never-waits",
        "Incomplete characters are shown as U+FFFD, and their ends are lost. smg-project/smg#710.",
        streams_text("decoder_byte_level", "Ã", mode="certain"),
        begin=_streaming("certain", _never_waiting),
    ),
    pipeline_mutant(
        "text-stream-no-tail",
        "What is still open at the end is lost: there is no flush. waybarrios/vllm-mlx#109.",
        streams_text("decoder_byte_level", "Ã", mode="certain"),
        begin=_streaming("certain", _no_tail),
    ),
    pipeline_mutant(
        "text-stream-all-at-the-end",
        "Nothing is given before the end. Own.",
        streams_text("decoder_fuse", " ", mode="certain"),
        begin=_streaming("certain", _all_at_the_end),
    ),
    pipeline_mutant(
        "text-stream-no-replacements",
        "U+FFFD is taken out of the text, those that are really there too. "
        "replicate/cog-llama-template#75.",
        streams_text("decoder_fuse", "\ufffd", mode="certain"),
        begin=_streaming("certain", _no_replacements),
    ),
    pipeline_mutant(
        "text-stream-whole-words",
        "Text comes word by word, later than it is certain. Own.",
        streams_text("decoder_fuse", "the", mode="certain"),
        begin=_streaming("certain", _up_to_the_last_space),
    ),
    pipeline_mutant(
        "text-stream-engine-flushes",
        "The last token gives what is left, where the library's stream keeps it. Own.",
        streams_text("decoder_byte_level", "Ã"),
        begin=_streaming("engine", _flushing),
    ),
    pipeline_mutant(
        "text-stream-engine-empty-text",
        "Where the library's stream waits it gives nothing; this one an empty text. Own.",
        streams_text("decoder_byte_level", "Ã"),
        begin=_streaming("engine", _empty_for_none),
    ),
    pipeline_mutant(
        "text-stream-engine-each-alone",
        "The engine's stream decodes each token by itself. vllm-project/vllm#8627.",
        streams_text("decoder_llama", "\u2581the", "\u2581cat"),
        begin=_streaming("engine", _each_alone),
    ),
    pipeline_mutant(
        "text-stream-engine-never-waits",
        "The engine's stream gives U+FFFD for incomplete characters. smg-project/smg#710.",
        streams_text("decoder_byte_level", "Ã", "©"),
        begin=_streaming("engine", _never_waiting),
    ),
    pipeline_mutant(
        "text-stream-engine-spaces-lost",
        "The space in front of each part is lost. huggingface/tokenizers#1141.",
        streams_text("decoder_llama", "\u2581the", "\u2581cat"),
        begin=_streaming("engine", _spaces_lost),
    ),
    pipeline_mutant(
        "text-stream-engine-prefix-unchecked",
        "Nobody notices that later tokens change the text of earlier ones, which is an error in "
        "the library. Own.",
        streams_text("decoder_bpe", "a</w>b", "the</w>"),
        begin=_prefix_unchecked,
    ),
    pipeline_mutant(
        "session-padding-remembered",
        "Encodings are filled up to the longest of all calls before. Own.",
        _after(
            "pad_longest",
            "tokenize",
            tokenize_request("a c e"),
            tokenize_request("a"),
        ),
        begin=_longest_so_far,
    ),
    pipeline_mutant(
        "session-cache-by-text-alone",
        "Answers are remembered by the text, whatever else was asked. Own.",
        _after(
            "post_template_bos",
            "tokenize",
            tokenize_request("a"),
            tokenize_request("a", special=False),
        ),
        begin=_by_text_alone,
    ),
    pipeline_mutant(
        "session-special-tokens-stay-off",
        "Once a caller wanted no special tokens, nobody gets any. Own.",
        _after(
            "post_template_bos",
            "tokenize",
            tokenize_request("a", special=False),
            tokenize_request("a"),
        ),
        begin=_special_tokens_stay_off,
    ),
    pipeline_mutant(
        "session-stream-goes-on",
        "A stream begins with what the stream before it kept. Own.",
        _after("decoder_byte_level", _OP, _HALF, _WHOLE),
        begin=_stream_goes_on,
    ),
)
"""Mutants of `detokenize_stream`, and of what a session remembers."""
