"""The cases about whole tokenizers: every component and flag is there, and the engine agrees."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import msgspec
import pytest

from authoring.cases import sizes_pipelines
from authoring.cases.draft import Draft
from authoring.cases.pipelines import drafts
from authoring.cases.vocabularies import fixture_vocabularies
from authoring.tokenizer_files.table import described_tokenizers, fixture_tokenizers
from bpe_ref.formats.hugging_face import parse_tokenizer_json
from bpe_ref.formats.hugging_face_components import KINDS
from bpe_ref.quirks import QUIRKS
from tests.drafted import cases_of
from tokenref.answers import Unsupported, guarded, quiet_standard_error
from tokenref.engines.tokenizers import TokenizersEngine
from tokenref.judge import judge
from tokenref.record import PIPELINE_OPS, Case, op_of
from tokenref.record_files import dump_records
from tokenref.subjects import load_subject
from tokenref.verdicts import MustRefuse

LISTS = ("normalizers", "pretokenizers", "processors", "decoders")
BEHAVIORS = {"Removed", "Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext"}
SWITCHES = {
    "ByteLevel": ("add_prefix_space", "trim_offsets", "use_regex"),
    "Split": ("invert",),
    "Metaspace": ("split",),
    "Digits": ("individual_digits",),
    "Strip": ("strip_left", "strip_right"),
    "BertNormalizer": ("clean_text", "handle_chinese_chars", "lowercase"),
    "RobertaProcessing": ("trim_offsets", "add_prefix_space"),
    "WordPiece": ("cleanup",),
}


@cache
def files() -> dict[str, Any]:
    return {name: json.loads(file.content) for name, file in fixture_tokenizers().items()}


@cache
def pipeline_drafts() -> tuple[Draft, ...]:
    return (*drafts(), *sizes_pipelines.drafts())


@cache
def cases() -> tuple[tuple[str, Case], ...]:
    drafts = pipeline_drafts()
    return tuple(zip((draft.vocabulary for draft in drafts), cases_of(drafts), strict=True))


def components(part: Any) -> Iterator[Any]:
    """Yield a component and those that it is made of."""
    if part is None:
        return
    yield part
    for name in LISTS:
        for inner in part.get(name, ()):
            yield from components(inner)


def values_of(section: str, type_name: str, field: str) -> set[Any]:
    """Return every value that a field of a component has somewhere."""
    return {
        json.dumps(part[field]) if isinstance(part[field], dict) else part[field]
        for content in files().values()
        for part in components(content.get(section))
        if part.get("type") == type_name and field in part
    }


# ---- tokenizers


@pytest.mark.parametrize("section", KINDS)
def test_every_component_has_a_tokenizer(section: str) -> None:
    used = {
        part.get("type")
        for content in files().values()
        for part in components(content.get(section))
    }
    assert set(KINDS[section]) - used == set()


@pytest.mark.parametrize("section", KINDS)
def test_every_switch_of_a_component_is_on_somewhere_and_off_elsewhere(section: str) -> None:
    for type_name, fields in SWITCHES.items():
        if type_name not in KINDS[section] or (section, type_name) == ("decoder", "Metaspace"):
            continue
        for field in fields:
            values = values_of(section, type_name, field)
            is_decoder = section == "decoder" and type_name == "ByteLevel"
            idle = {"trim_offsets"} if section == "pre_tokenizer" else {"use_regex"}
            if field in idle | ({"trim_offsets"} if is_decoder else set()):
                continue  # they mean nothing there
            assert not values or values >= {True, False}, f"{section} {type_name} {field}"


def test_every_choice_of_a_component_is_made() -> None:
    assert values_of("pre_tokenizer", "Split", "behavior") == BEHAVIORS
    assert values_of("pre_tokenizer", "Punctuation", "behavior") == BEHAVIORS
    schemes = {"always", "first", "never"}
    assert values_of("pre_tokenizer", "Metaspace", "prepend_scheme") == schemes
    assert values_of("decoder", "Metaspace", "prepend_scheme") == schemes
    assert values_of("pre_tokenizer", "Metaspace", "add_prefix_space") == {True}
    assert values_of("normalizer", "BertNormalizer", "strip_accents") == {None, True, False}
    for section, type_name in (
        ("pre_tokenizer", "Split"),
        ("normalizer", "Replace"),
        ("decoder", "Replace"),
    ):
        patterns = values_of(section, type_name, "pattern")
        assert {next(iter(json.loads(pattern))) for pattern in patterns} == {"String", "Regex"}


def test_every_flag_of_the_model_is_on_somewhere_and_off_elsewhere() -> None:
    everywhere = [content["model"] for content in files().values()]
    assert {model.get("type") for model in everywhere} == {"BPE", "Unigram", "WordPiece", None}
    models = [model for model in everywhere if "merges" in model]
    for flag in ("fuse_unk", "byte_fallback", "ignore_merges"):
        assert {model[flag] for model in models if flag in model} == {True, False}
    for text in ("unk_token", "continuing_subword_prefix", "end_of_word_suffix"):
        assert {model[text] is None for model in models if text in model} == {True, False}
    assert {model.get("dropout") for model in models} == {None, 0.0, 1.0}
    assert {type(merge) for model in models for merge in model["merges"]} == {str, list}
    assert any("type" not in model for model in models)
    assert any(merge[:8] == "#version" for m in models for merge in m["merges"] if merge[0] == "#")
    assert any(len(set(map(str, m["merges"]))) < len(m["merges"]) for m in models)
    fallbacks = {
        sum(token.startswith("<0x") for token in model["vocab"])
        for model in models
        if model.get("byte_fallback")
    }
    assert {5, 256} <= fallbacks


def test_every_flag_of_added_tokens_is_on_somewhere_and_off_elsewhere() -> None:
    listed = [token for content in files().values() for token in content["added_tokens"]]
    for flag in ("single_word", "lstrip", "rstrip", "normalized", "special"):
        assert {token[flag] for token in listed} == {True, False}


def test_truncation_and_padding_have_every_choice() -> None:
    cuts = [content["truncation"] for content in files().values() if content.get("truncation")]
    assert {cut.get("direction") for cut in cuts} == {"Left", "Right", None}
    assert {cut["strategy"] for cut in cuts} == {"LongestFirst", "OnlyFirst", "OnlySecond"}
    assert {cut["stride"] for cut in cuts} > {0}
    fills = [content["padding"] for content in files().values() if content.get("padding")]
    assert {fill["direction"] for fill in fills} == {"Left", "Right"}
    assert {type(fill["strategy"]) for fill in fills} == {str, dict}
    assert {fill["pad_to_multiple_of"] for fill in fills} > {None}
    assert {fill["pad_type_id"] for fill in fills} > {0}


def test_every_tokenizer_is_small_says_why_it_is_there_and_is_used() -> None:
    for name, tokenizer in described_tokenizers().items():
        assert len(tokenizer.file.content) < 12_000, name
        assert tokenizer.about[0].isupper()
        assert tokenizer.about[-1] not in ".,:"
        parse_tokenizer_json(tokenizer.file.content, name)
    assert {draft.vocabulary for draft in pipeline_drafts()} == set(fixture_tokenizers())
    assert not set(fixture_tokenizers()) & set(fixture_vocabularies())
    digests = Counter(file.digest() for file in fixture_tokenizers().values())
    assert set(digests.values()) == {1}


# ---- cases


def test_every_operation_and_profile_has_cases() -> None:
    by_op = Counter((draft.op, draft.profile) for draft in pipeline_drafts())
    assert {op for op, _ in by_op} == set(PIPELINE_OPS)
    assert {profile for _, profile in by_op} == {"hugging-face", "strict"}
    assert 500 <= len(pipeline_drafts()) <= 900
    codes = Counter(
        (op_of(case), code)
        for _, case in cases()
        if isinstance(case.verdict, MustRefuse)
        for code in case.verdict.codes
    )
    assert codes.keys() >= {
        ("tokenize", "MISSING_CHARACTER"),
        ("detokenize", "UNKNOWN_ID"),
        ("detokenize_stream", "INVALID_PREFIX"),
    }


def test_records_and_files_together_are_below_1200_kilobytes() -> None:
    records = len(dump_records("bpe/all.jsonl", [case for _, case in cases()]))
    assert records + sum(len(file.content) for file in fixture_tokenizers().values()) < 1_200_000


def test_a_strict_case_has_another_answer_than_the_engine() -> None:
    answers = {draft.id: case for draft, (_, case) in zip(pipeline_drafts(), cases(), strict=True)}
    strict = [draft for draft in pipeline_drafts() if draft.profile == "strict"]
    assert len(strict) > 30
    for draft in strict:
        other = answers[draft.id.removesuffix("-strict")]
        assert (other.out, other.verdict) != (answers[draft.id].out, answers[draft.id].verdict)


def test_the_library_passes_every_case_of_its_profile() -> None:
    named = fixture_tokenizers()
    engine = TokenizersEngine("0.23.3")
    found: Counter[str] = Counter()
    failed = []
    with quiet_standard_error():
        for name, case in cases():
            session = load_subject(engine, named[name], name, case.profile)
            request = msgspec.to_builtins(case.input)
            if isinstance(session, Unsupported):
                continue
            answer = guarded(partial(session.answer, op_of(case), request))
            status = judge(case, answer, named[name]).status
            found[status] += 1
            if status not in {"pass", "unsupported"}:
                failed.append(case.id)
    assert failed == []
    assert found["pass"] > 600


def test_both_profiles_are_known() -> None:
    assert {draft.profile for draft in pipeline_drafts()} == set(QUIRKS)
