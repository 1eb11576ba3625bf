"""Mutants of whole tokenizers that are right about short texts only."""

from collections.abc import Mapping
from typing import Any, Final

from authoring.mutants.pipelines import afterwards, beforehand, detokenizes, streams_text, tokenizes
from tokenref.answers import Ok
from tokenref.engines.reference import PipelineSession

_WORDS: Final = "the " * 300


@afterwards("tokenize", tokenizes("family_bert", "the" + " " * 300 + "and"))
def pipeline_offsets_in_a_byte(
    _: PipelineSession, __: Mapping[str, Any], out: dict[str, Any]
) -> None:
    """Offsets are kept in a byte."""
    out["offsets"] = [[start & 0xFF, stop & 0xFF] for start, stop in out["offsets"]]


@afterwards("tokenize", tokenizes("family_bert", "the" + " " * 1100 + "and"))
def pipeline_offsets_of_1024(
    _: PipelineSession, __: Mapping[str, Any], out: dict[str, Any]
) -> None:
    """A table of offsets has 1,024 entries, and its last one is used for all that are beyond."""
    out["offsets"] = [[min(start, 1024), min(stop, 1024)] for start, stop in out["offsets"]]


@afterwards("tokenize", tokenizes("family_gpt2", "the a " * 150))
def pipeline_words_in_a_byte(
    _: PipelineSession, __: Mapping[str, Any], out: dict[str, Any]
) -> None:
    """The number of a piece is kept in a byte with a sign."""
    out["words"] = [word if word is None else word & 0x7F for word in out["words"]]


@afterwards("tokenize", tokenizes("family_gpt2", "the a " * 60))
def pipeline_masks_of_64(_: PipelineSession, __: Mapping[str, Any], out: dict[str, Any]) -> None:
    """The attention mask is one word of 64 bits."""
    out["attention_mask"] = [bit if at < 64 else 0 for at, bit in enumerate(out["attention_mask"])]


@beforehand("tokenize", tokenizes("family_gpt2", _WORDS))
def pipeline_text_of_512(request: dict[str, Any]) -> None:
    """Only the first 512 characters of a text are read."""
    request["text"] = request["text"][:512]


@beforehand("tokenize", tokenizes("added_flags", "a<n>" * 130, special=False))
def pipeline_added_at_most_128(request: dict[str, Any]) -> None:
    """The matches of added tokens are kept in a list of 128, and what follows is lost."""
    parts = request["text"].split("<n>")
    if len(parts) > 129:
        request["text"] = "<n>".join(parts[:129])


@beforehand("detokenize", detokenizes("family_gpt2", *["the"] * 1025))
def pipeline_decodes_1024(request: dict[str, Any]) -> None:
    """No more than 1,024 tokens are decoded."""
    request["ids"] = request["ids"][:1024]


@afterwards("detokenize", detokenizes("family_llama2", *["▁the"] * 70))
def pipeline_decodes_in_blocks_of_64(
    right: PipelineSession, request: Mapping[str, Any], out: dict[str, Any]
) -> None:
    """Tokens become text in blocks of 64, each of which begins as a text does."""
    ids = request["ids"]
    parts = [
        right.answer("detokenize", {**request, "ids": ids[at : at + 64]})
        for at in range(0, len(ids), 64)
    ]
    if all(isinstance(part, Ok) for part in parts):
        out["text"] = "".join(part.out["text"] for part in parts if isinstance(part, Ok))


@afterwards("detokenize_stream", streams_text("family_llama2", *["▁the"] * 110, mode="certain"))
def pipeline_stream_window_of_100(
    right: PipelineSession, request: Mapping[str, Any], out: dict[str, Any]
) -> None:
    """A stream forgets its first tokens after 100, and what comes next begins as a text does."""
    ids = request["ids"]
    if len(ids) <= 100:
        return
    parts = [
        right.answer("detokenize_stream", {**request, "ids": part})
        for part in (ids[:100], ids[100:])
    ]
    if all(isinstance(part, Ok) for part in parts):
        first, second = (dict(part.out) for part in parts if isinstance(part, Ok))
        out["parts"] = [*first["parts"], *second["parts"]]
        out["tail"] = (first.get("tail") or "") + (second.get("tail") or "")
