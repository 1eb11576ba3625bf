"""Likely causes: seeded bugs are named, other bugs are not taken for one of them."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, count, pairwise
from math import exp, inf, log, nan
from pathlib import Path
from random import Random
from struct import pack as pack_bits
from time import process_time
from typing import Any, ClassVar, TypeAlias

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from authoring.mutants.mutant import EngineWithHandler, Mutant
from authoring.mutants.samplers import SamplersWithHandler, other_parameters, other_row
from authoring.mutants.signatures import OTHER_RULES
from authoring.mutants.table import MUTANTS
from bpe_ref import TextRules, Vocabulary
from bpe_ref.encoders import NOT_BPE
from bpe_ref.vocabulary.merges import ByConcatenation
from sampling_ref import PROFILES
from tokenref.answers import Answer, Engine, Ok, Refused, Unsupported
from tokenref.catalogue import Catalogue, open_catalogue
from tokenref.cli import main
from tokenref.diagnosis import RAISES
from tokenref.diagnosis.diagnose import _in_most, diagnose, is_of_few
from tokenref.diagnosis.facts import DIFFERS, ORDERED, PADDED, _right, facts_of, result_of
from tokenref.diagnosis.misread_questions import allowed_of, words_of
from tokenref.diagnosis.misreadings import misread, usual
from tokenref.diagnosis.questions import PROPERTIES
from tokenref.diagnosis.signatures import FEWEST, Known, Signature, known_causes
from tokenref.diagnosis.wrong_answers import _scanned
from tokenref.engines.reference import ReferenceSession
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.engines.table import engine as engine_named
from tokenref.floats import SMALLEST_NORMAL, Type, nearest, pack, size_of, type_of, unpack
from tokenref.judge import judge
from tokenref.protocol.messages import Result as Message
from tokenref.protocol.messages import read_result
from tokenref.questions.sampling import BatchInput, tokens_of
from tokenref.questions.text import TextInput
from tokenref.record import PIPELINE_OPS, Case, canonical_case, op_of, rows_op
from tokenref.result import Result, answer_digest, digest, length, row_questions, size
from tokenref.runner import Run, run_engine
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import Judgement, MustRefuse

SEED = 20261122
LONGEST_TOGETHER = 20_000
"""How long the questions are, together, that the signature of a bug names and that it is asked."""

UNCLEAR = "could not be compared, because they are long or have several steps"

KNOWN = {each.name: each for each in known_causes().causes}


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    """All records except canaries, which are no part of signatures."""
    found = open_catalogue()
    found.canaries = []
    return found


def some(cases: Sequence[Case], random: Random, signature: Signature | None = None) -> list[Case]:
    """Return some of the cases: of those in the signature two thirds, of the others 150."""
    hits = {case.id for case in cases if signature and digest(case.id) in signature.answers}
    hit = sorted((case for case in cases if case.id in hits), key=length)
    rest = [case for case in cases if length(case) <= 500 and case.id not in hits]
    some_hits = random.sample(hit, min(len(hit), max(FEWEST, len(hit) * 2 // 3), 150))
    together = accumulate(map(length, sorted(some_hits, key=length)))
    few = max(FEWEST, sum(total <= LONGEST_TOGETHER for total in together))
    chosen = [*sorted(some_hits, key=length)[:few], *random.sample(rest, min(len(rest), 150))]
    return sorted(chosen, key=lambda case: case.id)


def concerned(mutant: Mutant, catalogue: Catalogue) -> list[Case]:
    """Return the cases that a mutant may fail."""
    found = []
    for case in catalogue.cases:
        kind = SAMPLERS if case.vocab is None else mutant.witness.vocabulary
        if case.vocab is not None and (op_of(case) in PIPELINE_OPS) == isinstance(kind, Vocabulary):
            continue
        if mutant.concerns(kind, op_of(case), case.profile):
            found.append(case)
    return found


def run(engine: Engine, cases: Sequence[Case], catalogue: Catalogue) -> Run:
    return run_engine(engine, cases, catalogue)


def test_at_least_25_of_30_seeded_bugs_are_named_first(catalogue: Catalogue) -> None:
    """Each is asked other records than its signature has: two thirds of those, and 150 more."""
    random = Random(SEED)
    names = random.sample(sorted(MUTANTS), 30)
    first = {}
    for name in names:
        cases = some(concerned(MUTANTS[name], catalogue), random, KNOWN.get(name))
        engine = replace(MUTANTS[name].engine, with_stages=False)
        found = run(engine, cases, catalogue).diagnoses
        first[name] = found[0].name if found else "nothing"
    wrong = {name: said for name, said in first.items() if name not in said.split(" or ")}
    assert len(wrong) <= 5, wrong


# ---- bugs written as engines of their own


Outs: TypeAlias = dict[str, Any] | None


@dataclass(frozen=True)
class Small:
    """An engine that answers a few operations with a function, and supports nothing else."""

    answers: Mapping[str, Callable[[Any, Mapping[str, Any]], Outs]]
    name: str = "small"
    version: str = "1"

    def load(self, vocabulary: Vocabulary, name: str) -> "Loaded":
        return Loaded(self.answers, vocabulary)

    def load_profile(self, profile: str) -> "Loaded | Unsupported":
        return Loaded(self.answers, None) if profile == "standard" else Unsupported("no such rule")


@dataclass(frozen=True)
class Loaded:
    answers: Mapping[str, Callable[[Any, Mapping[str, Any]], Outs]]
    vocabulary: Vocabulary | None

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        out = self.answers[op](self.vocabulary, request) if op in self.answers else None
        return Unsupported("cannot do that") if out is None else Ok(out)


def rightmost_first(vocabulary: Vocabulary, request: Mapping[str, Any]) -> Outs:
    """Merge the rightmost of equal pairs first, in a vocabulary of ranks without a pattern."""
    text, ids = vocabulary.text, {content: token for token, content in vocabulary.tokens.items()}
    if not isinstance(vocabulary.rule, ByConcatenation) or "text" not in request:
        return None
    if text != TextRules() or vocabulary.special_tokens or len(ids) < len(vocabulary.tokens):
        return None
    parts = [bytes([byte]) for byte in request["text"].encode()]
    if not all(part in ids for part in parts):
        return None
    while True:
        pairs = [
            (vocabulary.rule.ranks[ids[a + b]], -at, at)
            for at, (a, b) in enumerate(pairwise(parts))
            if ids.get(a + b) in vocabulary.rule.ranks
        ]
        if not pairs:
            return {"ids": [ids[part] for part in parts]}
        _, _, at = min(pairs)
        parts[at : at + 2] = [b"".join(parts[at : at + 2])]


def always_divides(_: object, request: Mapping[str, Any]) -> Outs:
    (dtype,) = request["logits"]
    row = unpack(request["logits"])
    if set(request["params"]) != {"penalty"}:
        return None
    (penalty,) = unpack(request["params"]["penalty"])
    for token in set(request["history"]):
        row[token] = nearest(row[token] / penalty, dtype)
    return {"logits": pack(row, dtype)}


def last_of_equals(_: object, request: Mapping[str, Any]) -> Outs:
    row = unpack(request["logits"])
    return {"token": len(row) - 1 - row[::-1].index(max(row))}


def test_bugs_in_small_programs_are_named(catalogue: Catalogue) -> None:
    for op, wrong, name in (
        ("repetition_penalty", always_divides, "repetition-divides-negative-logits"),
        ("greedy", last_of_equals, "greedy-takes-the-last-of-equals"),
        ("encode", rightmost_first, "ties-from-the-right"),
    ):
        cases = [c for c in catalogue.cases if op_of(c) == op and length(c) < 200]
        found = run(Small({op: wrong}), cases, catalogue).diagnoses
        assert name in found[0].name, (op, found)


def test_greedy_encoding_is_named(catalogue: Catalogue) -> None:
    assert "greedy" in NOT_BPE
    adapter = engine_named("greedy")
    assert not isinstance(adapter, str)
    cases = [case for case in catalogue.cases if op_of(case) == "encode" and length(case) < 500]
    found = run(adapter, Random(SEED).sample(cases, 600), catalogue).diagnoses  # type: ignore[arg-type]
    assert "greedy" in found[0].name


@pytest.mark.parametrize("name", ["boundary.reach of top_p", "ties.highest-id of top_k"])
def test_another_rule_is_named(catalogue: Catalogue, name: str) -> None:
    rule = next(each for each in OTHER_RULES if each.name == name)
    found = run(rule.engine, concerned(rule, catalogue), catalogue).diagnoses
    assert f"the rule {name}" in found[0].sentence


def test_an_engine_with_the_rules_of_another_is_named(catalogue: Catalogue) -> None:
    rule = next(each for each in OTHER_RULES if each.name == "llama.cpp")
    found = run(rule.engine, concerned(rule, catalogue), catalogue).diagnoses
    assert "llama.cpp" in PROFILES
    assert found[0].sentence.endswith("match llama.cpp")


def test_the_commands_name_the_cause() -> None:
    select = ["--op", "encode", "--id", "bpe/encode/short_texts/*"]
    checked = CliRunner().invoke(main, ["check", "greedy", *select])
    assert checked.exit_code == 1
    assert re.search(r"These \d+ failures match the seeded bug greedy: ", checked.output)
    options = ["--op", "encode", "--cases", "60", "--seed", "1", "--shrink-seconds", "1"]
    fuzzed = CliRunner().invoke(main, ["fuzz", "greedy", *options])
    assert fuzzed.exit_code == 1
    said = r"golden records of encode: These \d+ failures match the seeded bug greedy: "
    assert re.search(said, " ".join(fuzzed.output.split()))
    bugs = re.search(r"(\d+) likely bugs?, the simplest", fuzzed.output)
    assert bugs is not None
    is_one = "so the likely bugs above may be one" in fuzzed.output
    assert is_one == (int(bugs[1]) > 1)


# ---- bugs that no mutant has


def _text(change: Callable[[str, dict[str, Any]], dict[str, Any]]) -> Engine:
    """Return the reference with a changed answer to questions about a text."""

    def handle(session: ReferenceSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        right = session.answer(op, request)
        return Ok(change(op, dict(right.out))) if isinstance(right, Ok) else right

    return EngineWithHandler(handle=handle)


def _ids(change: Callable[[list[int]], list[int]]) -> Engine:
    return _text(lambda _, out: {**out, "ids": change(list(out["ids"]))} if "ids" in out else out)


def _row(change: Callable[[Any, Any, Any], Sequence[float]]) -> Engine:
    return SamplersWithHandler(handle=other_row(change))


def _params(change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Engine:
    return SamplersWithHandler(handle=other_parameters(change))


def _swapped_case(session: ReferenceSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
    return session.answer(op, {**request, "text": request["text"].swapcase()}
                          if "text" in request else request)  # fmt: skip


def _late_draw(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    if "uniforms" not in request:
        return session.answer(op, request)
    (dtype,) = request["uniforms"]
    squared = [number * number for number in unpack(request["uniforms"])]
    return session.answer(op, {**request, "uniforms": pack(squared, dtype)})


UNKNOWN: Mapping[str, tuple[str, Engine]] = {
    "the first two tokens are exchanged": ("encode", _ids(lambda ids: [*ids[1::-1], *ids[2:]])),
    "every seventh token is missing": (
        "encode",
        _ids(lambda ids: [token for at, token in enumerate(ids) if at % 7 != 6]),
    ),
    "the case of letters is swapped": ("encode", EngineWithHandler(handle=_swapped_case)),
    "counts are even": ("count", _text(lambda _, out: {"count": out["count"] // 2 * 2})),
    "ids are increased": ("encode", _ids(lambda ids: [token + 1 for token in ids])),
    "p is squared": ("top_p", _params(lambda given: {"p": given["p"] ** 2})),
    "k is doubled": ("top_k", _params(lambda given: {"k": given["k"] * 2})),
    "the temperature is squared": (
        "temperature",
        _params(lambda given: {"temperature": given["temperature"] ** 2}),
    ),
    "the last number is reversed": (
        "repetition_penalty",
        _row(lambda _, after, __: [*after[:-1], -after[-1]]),
    ),
    "u is squared": ("draw", SamplersWithHandler(handle=_late_draw)),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_bug_that_no_mutant_has_is_not_taken_for_one(catalogue: Catalogue, name: str) -> None:
    op, wrong = UNKNOWN[name]
    cases = [case for case in catalogue.cases if op_of(case) == op and length(case) <= 500]
    finished = run(wrong, Random(SEED).sample(cases, min(len(cases), 400)), catalogue)
    assert finished.failures
    names = {each.name.partition(":")[0] for each in finished.diagnoses}
    assert names <= {"invalid input", "long inputs", "crash"}


# ---- how it is decided


def case(slug: str, text: str = "a") -> Case:
    from tests.results_files import record

    return record("count", slug, input=TextInput(text=text))


def results(wrong: Mapping[str, str], right: str) -> Iterator[Result]:
    yield from (
        Result(case(slug), Judgement("fail"), answer=answer) for slug, answer in wrong.items()
    )
    yield from (Result(case(slug), Judgement("pass")) for slug in right)


def bug(name: str, **answers: str) -> Signature:
    by_id = {digest(case(slug).id): answer for slug, answer in answers.items()}
    return Signature("bug", name, "It is wrong", by_id)


def test_two_bugs_are_named_and_what_is_left_is_not() -> None:
    known = [bug("one", a="1", b="1", c="1"), bug("other", d="2", e="2", f="2")]
    failed = dict.fromkeys("abc", "1") | dict.fromkeys("def", "2")
    found = diagnose(results(failed, "xyz"), Known(known))
    assert [(each.name, len(each.ids)) for each in found] == [("one", 3), ("other", 3)]
    assert diagnose(results(failed | dict.fromkeys("ghijk", "3"), "xyz"), Known(known)) == []


def test_a_cause_that_predicts_failures_of_records_that_pass_is_not_named() -> None:
    known = [bug("one", a="1", b="1", c="1", x="1")]
    assert diagnose(results(dict.fromkeys("abc", "1"), "xyz"), Known(known)) == []
    assert len(diagnose(results(dict.fromkeys("abc", "1"), "yz"), Known(known))) == 1


def test_failures_on_long_inputs_do_not_hide_the_cause_of_the_others() -> None:
    known = Known([bug("one", a="1", b="1", c="1")], frozenset(digest(case(s).id) for s in "xyz"))
    (one,) = diagnose(results(dict.fromkeys("abcxyz", "1"), ""), known)
    assert (one.name, len(one.ids)) == ("one", 6)
    assert one.sentence.endswith(f"; 3 of them {UNCLEAR}")


def test_a_cause_is_not_guessed_for_most_of_its_group() -> None:
    known = Known([bug("one", a="1", b="1", c="1")], frozenset(digest(case(s).id) for s in "wxyz"))
    one, others = diagnose(results(dict.fromkeys("abcwxyz", "1"), ""), known)
    assert [(each.name, len(each.ids)) for each in (one, others)] == [
        ("one", 3),
        ("long inputs", 4),
    ]


def test_what_was_left_out_of_a_cause_proves_no_other_one() -> None:
    """Only the second bug was asked the long inputs; alone, it would explain them."""
    long = frozenset(digest(case(slug).id) for slug in "xyz")
    every = [bug("one", **dict.fromkeys("abcd", "1")), bug("other", **dict.fromkeys("xyz", "1"))]
    (found,) = diagnose(results(dict.fromkeys("abcdxyz", "1"), ""), Known(every, long))
    assert (found.name, len(found.ids)) == ("one", 7)
    (found,) = diagnose(results(dict.fromkeys("xyz", "1"), "abcd"), Known(every, long))
    assert found.name == "other"


def test_long_inputs_have_the_only_cause_of_their_operation() -> None:
    fact = "the list ends after 64 tokens"
    short = [replace(each, facts=[fact]) for each in results(dict.fromkeys("abc", "1"), "")]
    long = [*results(dict.fromkeys("xy", "2"), "")]
    known = Known([], frozenset(digest(each.case.id) for each in long))
    (found,) = diagnose([*short, *long], known)
    assert found.sentence == f"These 5 failures have in common: {fact}; 2 of them {UNCLEAR}"


def test_a_fact_that_says_more_is_named_though_a_vague_one_holds_more_often() -> None:
    vague, telling = "all probabilities are off: the sum is too small", "the sum lacks one block"
    seen = [
        replace(each, facts=[*[telling] * (at < 4), vague])
        for at, each in enumerate(results(dict.fromkeys("abcdef", "1"), ""))
    ]
    assert [each.name for each in diagnose(seen, Known([]))] == [telling]


def test_the_size_of_every_question_is_known(catalogue: Catalogue) -> None:
    """Failures are sorted by it, also those of batches that are given as one row."""
    sizes = {op_of(each): size(each) for each in catalogue.cases if length(each) < 10_000}
    assert sizes.keys() >= {op_of(each) for each in catalogue.cases}
    assert sizes["stat_batch"][0] == 2


def test_only_misreadings_that_can_explain_most_are_answered_for_long_rows(
    catalogue: Catalogue,
) -> None:
    """What is misread is found with the shortest rows, and nothing else is calculated."""
    asked = list[int]()

    def reference(case: Case, request: Mapping[str, Any]) -> Answer:
        asked.append(tokens_of([request]))
        return SamplerSession(case.profile).answer(op_of(case), request)

    rows = [c for c in catalogue.cases if (op_of(c), c.profile) == ("softmax", "standard")]
    rows = [c for c in rows if not isinstance(c.verdict, MustRefuse)]
    nothing = Ok({"probs": pack([0.0])})
    failed = [result_of(c, nothing, Judgement("fail")) for c in rows if "/long/" not in c.id]
    failed += [Result(c, Judgement("fail"), answer="?") for c in rows if "/long/" in c.id]
    diagnose(failed, Known([]), reference=reference)
    assert len(failed) > 40
    assert asked
    assert max(asked) < 1000


def test_causes_that_the_records_cannot_distinguish_are_all_named() -> None:
    known = [bug("one", a="1", b="1", c="1"), bug("same", a="1", b="1", c="1")]
    (found,) = diagnose(results(dict.fromkeys("abc", "1"), "xyz"), Known(known))
    assert found.name == "one or same"
    assert found.sentence == (
        'These 3 failures match the seeded bug one: "It is wrong", or '
        'the seeded bug same: "It is wrong"'
    )


def test_a_program_that_hangs_on_long_texts_is_not_called_quadratic() -> None:
    seen = [
        Result(case("short", "a" * 192), Judgement("pass"), 0.045),
        Result(case("long", "a" * 254), Judgement("timeout"), 310),
    ]
    (found,) = diagnose(seen, Known([]))
    assert found.name == "no answer"
    assert found.sentence == (
        "1 text of 254 or more characters got no answer in time, but one of 192 took only 4.5e-05 s"
    )


def test_a_known_wrong_answer_is_an_answer_in_time() -> None:
    """So a program that hangs is not said to take quadratic time because of its other bugs."""
    seen = [
        Result(case("shortest", "a" * 14), Judgement("pass"), 0.05),
        Result(case("short", "a" * 90), Judgement("xfail"), 0.05, got="{'ids': [1]}"),
        Result(case("long", "a" * 101), Judgement("timeout"), 550),
    ]
    assert [each.name for each in diagnose(seen, Known([]))] == ["no answer"]


@pytest.mark.parametrize(("longest", "is_named"), [(14, True), (30, False)])
def test_texts_that_are_cut_have_their_length_in_common(longest: int, is_named: bool) -> None:
    seen = [
        Result(case(f"of-{n}", "a" * n), Judgement("fail" if 14 < n != longest else "pass"))
        for n in range(5, 31)
    ]
    says = "all texts of 15 or more characters fail, and all shorter ones pass"
    assert any(says in each.sentence for each in diagnose(seen, Known([]))) == is_named


@pytest.mark.parametrize(("seconds", "is_named"), [(0.01, True), (0.2, True), (1.0, False)])
def test_timeouts_on_long_texts_are_named_if_time_is_quadratic(
    seconds: float, is_named: bool
) -> None:
    seen = [
        Result(case("short", "a" * 5_000), Judgement("pass"), seconds * 1000),
        Result(case("long", "a" * 20_000), Judgement("timeout"), 2500),
    ]
    found = diagnose(seen, Known([]))
    assert [each.name.startswith("timeout") for each in found] == [not is_named]
    if is_named:
        assert found[0].sentence == (
            "Running time appears to be quadratic: 1 text of 20,000 or more characters took too "
            f"long, but one of 5,000 only {seconds:.2g} s"
        )


# ---- mistakes of one kernel


def batches_of(of_rows: str, cases: Sequence[Case]) -> list[Case]:
    """Return the batches that are asked quickly, and records of the same operation alone."""
    return [
        each
        for each in cases
        if each.profile == "standard"
        and ((op_of(each) == "batch" and length(each) < 100_000) or op_of(each) == of_rows)
        and length(each) < (100_000 if op_of(each) == "batch" else 500)
    ]


def in_batches_of(of_rows: str, part: str, place: Callable[[int, int], int]) -> Engine:
    """Return an engine whose kernel for one operation gives each row a part of another one."""

    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        if op != "batch" or request["op"] != of_rows:
            return session.answer(op, request)
        rows = request["rows"]
        others = [rows[place(number, len(rows))] for number in range(len(rows))]
        changed = [{**row, part: other[part]} for row, other in zip(rows, others, strict=True)]
        return session.answer(op, {**request, "rows": changed})

    return SamplersWithHandler(handle=handle)


def test_a_seeded_bug_in_the_batches_of_one_operation_is_named(catalogue: Catalogue) -> None:
    wrong = in_batches_of("draw", "uniforms", lambda _, __: 0)
    found = run(wrong, batches_of("draw", catalogue.cases), catalogue).diagnoses
    assert found[0].name == "batch-throws-one-coin"
    assert "match, in some operations only, the seeded bug" in found[0].sentence


def test_draws_by_the_number_of_the_other_row_of_a_pair_are_named(catalogue: Catalogue) -> None:
    wrong = in_batches_of(
        "draw", "uniforms", lambda row, count: row ^ 1 if row ^ 1 < count else row
    )
    found = run(wrong, batches_of("draw", catalogue.cases), catalogue).diagnoses
    assert [each.name for each in found] == ["uniforms of the other row of a pair"]


def test_a_coin_that_falls_wrong_in_some_rows_is_not_that_of_another_row(
    catalogue: Catalogue,
) -> None:
    case = catalogue.records["sampling/batch/long/draw-own-257-rows"]
    right = msgspec.to_builtins(case.out)["rows"]
    wrong = [{"token": 1} if row % 5 == 0 else out for row, out in enumerate(right)]
    assert not any("right answer of row" in fact for fact in facts_of(case, Ok({"rows": wrong})))


def test_a_batch_with_parts_of_other_rows_is_named_though_no_mutant_does_it(
    catalogue: Catalogue,
) -> None:
    wrong = in_batches_of("top_k", "params", lambda row, _: row % 64)
    found = run(wrong, batches_of("top_k", catalogue.cases), catalogue).diagnoses
    assert [each.name for each in found] == ["params of row r modulo 64"]
    assert found[0].sentence.endswith("batches with the params of row r modulo 64")


def fused_with(change: Callable[[list[Any]], list[Any]]) -> SamplersWithHandler:
    """Return an engine whose fused kernel applies other steps than it was asked for."""

    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        if op != "steps":
            return session.answer(op, request)
        return session.answer(op, {**request, "steps": change(list(request["steps"]))})

    return SamplersWithHandler(handle=handle)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda steps: steps[::-1], "steps in the reverse order"),
        (
            lambda steps: [s for s in steps for _ in range(1 + (s["step"] == "temperature"))],
            "steps with temperature twice",
        ),
        (
            lambda steps: sorted(steps, key=lambda one: one["step"] == "temperature"),
            "steps with temperature at the end",
        ),
        (
            lambda steps: [s for s in steps if s["step"] != "logit_bias"] or steps,
            "steps without logit_bias",
        ),
        (
            lambda steps: sorted(
                steps, key=lambda one: one["step"] not in {"top_k", "top_p", "min_p"}
            ),
            "steps with all filters in front",
        ),
    ],
)
def test_a_fused_kernel_with_other_steps_is_named(
    catalogue: Catalogue, change: Callable[[list[Any]], list[Any]], name: str
) -> None:
    cases = [each for each in catalogue.cases if op_of(each) == "steps" and length(each) < 1500]
    engine = replace(fused_with(change), with_stages=False)
    found = run(engine, cases, catalogue).diagnoses
    assert found[0].name == name
    assert f"resemble {name}" in found[0].sentence


def top_p_unscaled(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    """Stop at p itself, not at p of the sum of the weights."""
    if op != "top_p" or not isinstance(session.answer(op, request), Ok):
        return session.answer(op, request)
    logits, (p,) = request.get("logits"), unpack(request["params"]["p"])
    row = unpack(logits or request["probs"])
    weights = [exp(number - max(row)) for number in row] if logits else row
    order = sorted(range(len(row)), key=lambda token: (-weights[token], token))
    order = [token for token in order if weights[token] > 0]
    sums = enumerate(accumulate(weights[token] for token in order), start=1)
    count = next((number for number, each in sums if p < 1 and each >= p), len(order))
    least = request["params"].get("least", 1)
    return Ok({"keep": sorted(order[: max(count, least)])})


def top_p_by_halvings(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    if op != "top_p" or request["params"].keys() != {"p"}:
        return session.answer(op, request)
    (p,) = unpack(request["params"]["p"])
    if p >= 1 or not isinstance(session.answer(op, request), Ok):
        return session.answer(op, request)
    row = unpack(request.get("logits", request.get("probs")))
    weights = [exp(number - max(row)) for number in row] if "logits" in request else row
    low, high = 0.0, max(weights)
    for _ in range(8):
        middle = (low + high) / 2
        if sum(each for each in weights if each >= middle) >= p * sum(weights):
            low = middle
        else:
            high = middle
    return Ok({"keep": [t for t, each in enumerate(weights) if each and each >= low]})


def min_p_of_whole_blocks(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    if op != "min_p" or not isinstance(session.answer(op, request), Ok):
        return session.answer(op, request)
    row = unpack(request.get("logits", request.get("probs")))
    whole = max(row[: len(row) // 256 * 256] or row)
    factor = exp(whole - max(row)) if "logits" in request else whole / max(row)
    (m,) = unpack(request["params"]["m"])
    params = {**request["params"], "m": pack([m * factor], "f64")}
    return session.answer(op, {**request, "params": params})


def logprobs_by_a_narrow_sum(
    session: SamplerSession, op: str, request: Mapping[str, Any]
) -> Answer:
    right = session.answer(op, request)
    if op != "logprobs" or not isinstance(right, Ok) or "f32" in request["logits"]:
        return right
    dtype = type_of(request["logits"])
    row, total = unpack(request["logits"]), 0.0
    for number in row if dtype != "f64" else ():
        total = nearest(total + exp(number - max(row)), dtype)
    logs = [n if n == -inf else nearest(n - max(row) - log(total), dtype) for n in row if total]
    return Ok({"logprobs": pack(logs, dtype)}) if total else right


def accepted_by_p(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    if op != "speculative" or not isinstance(right, Ok) or request["params"]:
        return right
    rows = {name: [unpack(row) for row in request[name]] for name in ("target", "draft")}
    uniforms = unpack(request["uniforms"])
    for place, token in enumerate(request["tokens"]):
        shares = [number / sum(rows["target"][place]) for number in rows["target"][place]]
        if uniforms[place] >= shares[token]:
            offered = [number / sum(rows["draft"][place]) for number in rows["draft"][place]]
            left = [max(p - q, 0.0) for p, q in zip(shares, offered, strict=True)]
            if not sum(left):
                return Refused("INVALID_ROW", "nothing is left")
            sums = list(accumulate(left))
            drawn = next(at for at, each in enumerate(sums) if each > uniforms[-1] * sums[-1])
            return Ok({"accepted": place, "tokens": [*request["tokens"][:place], drawn]})
    last = list(accumulate(rows["target"][-1]))
    drawn = next(at for at, each in enumerate(last) if each > uniforms[-1] * last[-1])
    return Ok({"accepted": len(request["tokens"]), "tokens": [*request["tokens"], drawn]})


def counted_to(most: int) -> Callable[..., Answer]:
    """Return an engine's handler whose counters end at a number."""

    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        if op != "frequency_penalty":
            return session.answer(op, request)
        start, window = request["prompt_length"], request["params"].get("window")
        start = start if window is None else max(start, len(request["history"]) - window)
        after = request["history"][start:]
        kept = [token for at, token in enumerate(after) if after[:at].count(token) < most]
        return session.answer(op, {**request, "history": kept, "prompt_length": 0})

    return handle


def drawn_by(change: Callable[[float], float]) -> Callable[..., Answer]:
    """Return an engine's handler that draws by another random number than it was given."""

    def wrong(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        right = session.answer(op, request)
        if op != "draw" or not isinstance(right, Ok):
            return right
        numbers = [change(number) for number in unpack(request["uniforms"])]
        return session.answer(op, {**request, "uniforms": pack(numbers, "f64")})

    return wrong


def to_bfloat16(number: float) -> float:
    cut = unpack({"f32": pack_bits(">f", nearest(number, "f32"))[:2].hex() + "0000"})[0]
    return min(cut, 1 - 2**-53)


def zero_draws_zero(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    is_zero = op == "draw" and unpack(request["uniforms"])[0] == 0 and "count" not in request
    return Ok({"token": 0}) if is_zero and isinstance(right, Ok) else right


def logarithms_of_shares(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer("softmax", request)
    if op != "logprobs" or not isinstance(right, Ok) or "f32" not in request["logits"]:
        return session.answer(op, request)
    shares = unpack(right.out["probs"])
    numbers = [nearest(log(share), "f32") if share else -inf for share in shares]
    return Ok({"logprobs": pack(numbers)})


def revived(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    if op != "min_p" or not isinstance(right, Ok) or unpack(request["params"]["m"]) != [0.0]:
        return right
    return Ok({"keep": [*range(len(unpack(request.get("logits", request.get("probs")))))]})


def out_of(answer: Answer) -> Mapping[str, Any]:
    assert isinstance(answer, Ok)
    return answer.out


def without_a_carry(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    """Count in 64 of the counter's 128 bits."""
    right = session.answer(op, request)
    if op != "random_words" or not isinstance(right, Ok) or "counter" not in request:
        return right
    low = int(request["counter"][1] + request["counter"][0], 16)
    words: list[str] = []
    for at in range(request["taken"], request["taken"] + request["count"]):
        now = f"{(low + at // 4) % 2**64:016x}"
        counter = [now[8:], now[:8], *request["counter"][2:]]
        asked = {**request, "counter": counter, "taken": at % 4, "count": 1}
        words += out_of(session.answer(op, asked))["words"]
    return Ok({"words": words})


def penalised(counted: Callable[[list[int]], list[int]]) -> Callable[..., Answer]:
    """Return an engine's handler that counts the generated tokens otherwise."""

    def wrong(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        if op != "frequency_penalty":
            return session.answer(op, request)
        start = request["prompt_length"]
        before, after = request["history"][:start], request["history"][start:]
        return session.answer(op, {**request, "history": [*before, *counted(after)]})

    return wrong


def cut_off_in(*types: Type) -> Callable[[SamplerSession, str, Mapping[str, Any]], Answer]:
    def wrong(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        right = session.answer(op, request)
        dtype = next((each for each in types if each in request.get("logits", ())), None)
        if op != "softmax" or not isinstance(right, Ok) or dtype is None:
            return right
        wide = session.answer(op, {"logits": pack(unpack(request["logits"]), "f64")})
        exact, there = unpack(out_of(wide)["probs"]), unpack(right.out["probs"])
        bits = [int(pack([number], dtype)[dtype], 16) for number in there]
        cut = [b - (t > e) for b, t, e in zip(bits, there, exact, strict=True)]
        return Ok({"probs": {dtype: "".join(f"{each:04x}" for each in cut)}})

    return wrong


def temperature_last(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    steps = request.get("steps", ())
    last = sorted(steps, key=lambda one: one["step"] == "temperature")
    return session.answer(op, {**request, "steps": last} if steps else request)


def drawn_from_the_question(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    if op != "steps" or "draw" not in request or not isinstance(right, Ok):
        return right
    row, keep = unpack(request["logits"]), right.out["keep"]
    sums = list(accumulate(exp(row[token] - max(row)) for token in keep))
    (number,) = unpack(request["draw"])
    places = (at for at, total in enumerate(sums) if total > number * sums[-1])
    return Ok({**right.out, "token": keep[next(places, -1)]})


def filters_see_the_question(
    session: SamplerSession, op: str, request: Mapping[str, Any]
) -> Answer:
    """Let filters keep what they would keep of the logits that came with the question."""
    if op != "steps":
        return session.answer(op, request)
    steps = []
    for each in request["steps"]:
        alone = {key: part for key, part in request.items() if key != "draw"} | {"steps": [each]}
        kept = session.answer(op, alone) if each["step"] in {"top_k", "top_p", "min_p"} else None
        tokens = out_of(kept)["keep"] if isinstance(kept, Ok) else None
        mask = {"step": "token_mask", "params": {"tokens": tokens}}
        steps.append(each if tokens is None else mask)
    found = session.answer(op, {**request, "steps": steps})
    if not isinstance(found, Ok):
        return found
    return Ok({key: part for key, part in found.out.items() if key != "stages"})


def counted_anew(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    """Count equals at the cut of top-k anew in each 32 tokens."""
    right = session.answer(op, request)
    if op != "top_k" or request["params"].keys() != {"k"} or not isinstance(right, Ok):
        return right
    row = unpack(request.get("logits", request.get("probs")))
    cut = min(row[token] for token in right.out["keep"])
    most = sum(row[token] == cut for token in right.out["keep"])
    kept = [token for token, each in enumerate(row) if each > cut]
    for start in range(0, len(row), 32):
        kept += [t for t in range(start, min(start + 32, len(row))) if row[t] == cut][:most]
    return Ok({"keep": sorted(kept)})


def one_less_in_16_bits(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    if op != "top_k" or not isinstance(right, Ok) or len(right.out["keep"]) == 1:
        return right
    is_narrow = type_of(request.get("logits", request.get("probs"))) in {"f16", "bf16"}
    return Ok({"keep": right.out["keep"][:-1]}) if is_narrow else right


def mask_of_other_bytes(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    """Turn the bytes of each word of a mask, whatever form the mask had."""
    params, row = request.get("params", {}), request.get("logits", {})
    forms = params.keys() & {"words", "booleans", "tokens"}
    if op != "token_mask" or len(forms) != 1 or not isinstance(session.answer(op, request), Ok):
        return session.answer(op, request)
    (form,), size = forms, len(unpack(row))
    allowed = params[form]
    if form == "booleans":
        allowed = [token for token, each in enumerate(allowed) if each]
    if form == "words":
        last = 31 if "bits" in params else 0
        bits = range(32 * len(allowed))
        allowed = [bit for bit in bits if allowed[bit // 32] >> (bit % 32 ^ last) & 1]
    given = {key: value for key, value in params.items() if key not in {form, "bits"}}
    booleans = [(token ^ 24) in allowed for token in range(given.get("vocab_size", size))]
    return session.answer(op, {**request, "params": {**given, "booleans": booleans}})


@pytest.mark.parametrize(
    ("op", "wrong", "name"),
    [
        (
            "token_mask",
            mask_of_other_bytes,
            "answers with masks of which the bytes of each word are read in the other order",
        ),
        ("draw", zero_draws_zero, "answers with token 0 for the random number 0"),
        ("min_p", revived, "answers with every token kept for the threshold 0"),
        ("logprobs", logarithms_of_shares, "answers with the logarithm of a rounded probability"),
        (
            "frequency_penalty",
            penalised(
                lambda after: [t for at in range(0, len(after), 32) for t in {*after[at : at + 32]}]
            ),
            "answers with each token counted once in 32 tokens",
        ),
        (
            "frequency_penalty",
            penalised(
                lambda after: [t for t in {*after} for _ in range(max(1, after.count(t) - 1))]
            ),
            "answers with counts of repeated tokens that are too small by 1",
        ),
        ("softmax", cut_off_in("f16"), "answers with numbers of f16 cut off, not rounded"),
        (
            "softmax",
            cut_off_in("f16", "bf16"),
            "answers with numbers of 16 bits cut off, not rounded",
        ),
        ("steps", temperature_last, "steps with temperature at the end"),
        ("steps", drawn_from_the_question, "answers with a draw from the logits of the question"),
        (
            "steps",
            filters_see_the_question,
            "answers with filters that see the logits of the question",
        ),
        (
            "top_p",
            top_p_by_halvings,
            "answers with tokens above a threshold for p that 8 halvings found",
        ),
        ("logprobs", logprobs_by_a_narrow_sum, "answers with a sum in 16 bits"),
        (
            "top_p",
            top_p_unscaled,
            "answers with p or a random number that is not multiplied by the sum",
        ),
        (
            "speculative",
            accepted_by_p,
            "answers with drafts that are accepted if u < p, not if u < p / q",
        ),
        ("frequency_penalty", counted_to(127), "answers with counts that end at 127"),
    ],
)
def test_a_misread_question_is_named(
    catalogue: Catalogue,
    op: str,
    wrong: Callable[[SamplerSession, str, Mapping[str, Any]], Answer],
    name: str,
) -> None:
    cases = small(catalogue, op)
    found = run(SamplersWithHandler(handle=wrong), cases, catalogue).diagnoses
    assert found[0].name == name
    assert found[0].sentence.endswith(f"resemble {name}")


@pytest.mark.parametrize(
    ("op", "wrong", "name"),
    [
        (
            "min_p",
            min_p_of_whole_blocks,
            "answers with the largest number of whole blocks of 256 tokens",
        ),
        ("top_k", counted_anew, "answers with equal tokens counted anew in each block of 32"),
        ("top_k", one_less_in_16_bits, "rows have numbers of 16 bits, and all others pass"),
    ],
)
def test_what_only_longer_rows_show_is_named(
    catalogue: Catalogue, op: str, wrong: Callable[..., Answer], name: str
) -> None:
    cases = [c for c in catalogue.cases if (op_of(c), c.profile) == (op, "standard")]
    cases = [case for case in cases if size(case)[0] < 6000]
    found = run(SamplersWithHandler(handle=wrong), cases, catalogue).diagnoses
    assert found[0].name == name


def test_a_truncated_random_number_is_named(catalogue: Catalogue) -> None:
    cases = [c for c in catalogue.cases if (op_of(c), c.profile) == ("draw", "standard")]
    cases = [case for case in cases if tokens_of([msgspec.to_builtins(case.input)]) < 3000]
    found = run(SamplersWithHandler(handle=drawn_by(to_bfloat16)), cases, catalogue).diagnoses
    assert found[0].name == "answers with random numbers truncated to bfloat16"


def test_a_lost_carry_is_named(catalogue: Catalogue) -> None:
    cases = [case for case in catalogue.cases if case.profile == "philox4x32-10"]
    cases = [case for case in cases if op_of(case) == "random_words"]
    found = run(SamplersWithHandler(handle=without_a_carry), cases, catalogue).diagnoses
    assert [each.name for each in found] == ["answers with a counter of 64 bits, without a carry"]


def summed_in_blocks(size: int) -> Callable[..., Answer]:
    """Return an engine's handler whose sum has whole blocks only, if there is one."""

    def factor(weights: Sequence[float]) -> float:
        return sum(weights[: len(weights) // size * size] or weights) / sum(weights)

    def wrong(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok) or op not in {"softmax", "draw"} or "count" in request:
            return right
        given = request.get("logits", request.get("probs"))
        row = unpack(given)
        weights = [exp(number - max(row)) for number in row] if "logits" in request else row
        if op == "draw":
            moved = [
                min(number * factor(weights), 1 - 2**-53) for number in unpack(request["uniforms"])
            ]
            return session.answer(op, {**request, "uniforms": pack(moved, "f64")})
        total, dtype = sum(weights) * factor(weights), type_of(given)
        return Ok({"probs": pack([nearest(weight / total, dtype) for weight in weights], dtype)})

    return wrong


@pytest.mark.parametrize("size", [32, 64, 128, 512, 1024, 2048, 4096])
def test_a_lost_last_block_of_any_size_is_named(catalogue: Catalogue, size: int) -> None:
    cases = [
        case
        for case in catalogue.cases
        if op_of(case) in {"softmax", "draw"}
        and case.profile == "standard"
        and {"long", "sizes", "walks"} & {*case.id.split("/")}
        and tokens_of([msgspec.to_builtins(case.input)]) < 6000
    ]
    engine = SamplersWithHandler(handle=summed_in_blocks(size))
    found = run(engine, cases, catalogue).diagnoses
    assert found[0].name == f"the sum lacks the last block of {size:,} tokens"
    assert len(found[0].ids) > sum(len(each.ids) for each in found) / 2, found


def by_sum(of_blocks: Callable[[Sequence[float]], float]) -> Callable[..., dict[str, Any]]:
    """Return a change of probabilities to those by another sum of the weights."""

    def change(out: dict[str, Any]) -> dict[str, Any]:
        probs = unpack(out["probs"])
        factor = sum(probs) / of_blocks(probs)
        return {"probs": pack([nearest(each * factor, "f32") for each in probs])}

    return change


def without_odd(probs: Sequence[float]) -> float:
    return sum(probs[::2])


def by_a_tree(probs: Sequence[float]) -> float:
    """Add up blocks of 256 by halves: of an odd number, one is lost."""
    total = 0.0
    for at in range(0, len(probs), 256):
        block = [*probs[at : at + 256]]
        half = len(block) // 2
        while half:
            block[:half] = [block[i] + block[i + half] for i in range(half)]
            half //= 2
        total += block[0]
    return total


def with_what_is_left(probs: Sequence[float]) -> float:
    """Add up blocks of 256 in a memory that is not emptied."""
    total, memory = 0.0, [0.0] * 256
    for at in range(0, len(probs), 256):
        block = probs[at : at + 256]
        memory[: len(block)] = block
        for half in (128, 64, 32, 16, 8, 4, 2, 1):
            memory[:half] = [memory[i] + memory[i + half] for i in range(half)]
        total += memory[0]
    return total


def with_the_last_twice(probs: Sequence[float]) -> float:
    return sum(probs) + sum(probs[-1024:])


def with_maxima_of_blocks(out: dict[str, Any]) -> dict[str, Any]:
    probs = unpack(out["probs"])
    most = [max(probs[at : at + 256]) for at in range(0, len(probs), 256)]
    other = [nearest(each * max(probs) / most[at // 256], "f32") for at, each in enumerate(probs)]
    return {"probs": pack(other)}


def without_later_blocks(probs: Sequence[float]) -> float:
    return sum(probs[: (-(-len(probs) // 256) + 1) // 2 * 256])


def without_later_halves(probs: Sequence[float]) -> float:
    return sum(each for token, each in enumerate(probs) if token % 256 < 128)


def never_rescaled(probs: Sequence[float]) -> float:
    starts = range(0, len(probs), 256)
    sums = (sum(probs[at : at + 256]) / max(probs[: at + 256]) for at in starts)
    return sum(sums) * max(probs)


def small(catalogue: Catalogue, op: str) -> list[Case]:
    """Return records of an operation with short rows."""
    return [
        case
        for case in catalogue.cases
        if op_of(case) == op
        and case.profile == "standard"
        and length(case) < 3000
        and tokens_of([msgspec.to_builtins(case.input)]) < 500
    ]


def test_every_valid_question_can_be_misread(catalogue: Catalogue) -> None:
    """Rows of batches as well, in all types."""

    def reference(case: Case, request: Mapping[str, Any]) -> Answer:
        return SamplerSession(case.profile).answer(op_of(case), request)

    valid = [
        c for c in catalogue.cases if c.vocab is None and not isinstance(c.verdict, MustRefuse)
    ]
    batches = [c for c in valid if op_of(c) == "batch" and length(c) < 5000][::3]
    rows = [
        c for c in valid if op_of(c) in {"steps", "softmax", "logprobs", "min_p", "temperature"}
    ]
    said = set[str]()
    for case in (*batches, *(c for c in rows if length(c) < 1000)):
        for says, answer, _ in misread(case, reference, usual):
            assert isinstance(answer, Ok | Refused)
            said.add(says)
    assert "answers with numbers of bf16 cut off, not rounded" in said
    plain = {each.partition(" #")[0] for each in said}
    assert {
        "answers with 0 for subnormal numbers of rows in f32",
        "answers with k of at most 64",
    } <= plain


def test_a_misread_question_that_right_answers_contradict_is_not_named(
    catalogue: Catalogue,
) -> None:
    cases = small(catalogue, "speculative")

    def reference(case: Case, request: Mapping[str, Any]) -> Answer:
        return SamplerSession(case.profile).answer(op_of(case), request)

    says = "answers with drafts that are accepted if u < p, not if u < p / q"
    asked = [
        (case, answer)
        for case in cases
        for name, answer, _ in misread(case, reference, usual)
        if name == says
    ]
    seen = [
        result_of(case, answer, judge(case, answer, SAMPLERS))
        if number % 2
        else Result(case, Judgement("pass"))
        for number, (case, answer) in enumerate(asked)
    ]
    assert [each.name for each in diagnose(seen, Known([]), reference=reference)] == []


def test_questions_of_all_rules_and_engines_can_be_misread(catalogue: Catalogue) -> None:
    def reference(case: Case, request: Mapping[str, Any]) -> Answer:
        return SamplerSession(case.profile).answer(op_of(case), request)

    asked = {
        (op_of(case), case.profile, str(getattr(case.input, "op", ""))): case
        for case in catalogue.cases
        if case.id.startswith("sampling/") and length(case) < 3000
    }
    found = {name for case in asked.values() for name, _, _ in misread(case, reference, usual)}
    assert len(asked) > 500
    assert len(found) >= 3


def test_answers_that_cannot_be_judged_are_a_group_of_their_own() -> None:
    known = Known([bug("one", a="1", b="1", c="1")])
    seen = [*results(dict.fromkeys("abc", "1"), "x"), Result(case("y"), Judgement("crash", "no"))]
    assert [(each.name, len(each.ids)) for each in diagnose(seen, known)] == [
        ("one", 3),
        ("crash: no", 1),
    ]


def test_crashes_and_timeouts_with_the_same_message_are_one_group() -> None:
    """Pids, addresses and numbers are no difference, but what is on standard error is."""
    on_error = "it ended with exit status 1; its last line on standard error: "
    crashes = [f"{on_error}{said!r}" for said in ("==7== at 0x1f", "==9== at 0xa", "no memory")]
    seen = [Result(case(f"c{at}"), Judgement("crash", said)) for at, said in enumerate(crashes)]
    late = [f"no answer within {number} s (--timeout)" for number in (12, 14)]
    seen += [Result(case(f"t{at}"), Judgement("timeout", said)) for at, said in enumerate(late)]
    begin = on_error.replace("1", "*")
    assert [(each.name, each.sentence, len(each.ids)) for each in diagnose(seen, Known([]))] == [
        (
            "timeout: no answer within * s (--timeout)",
            "2 questions timed out: no answer within * s (--timeout)",
            2,
        ),
        (f"crash: {begin}==*== at *", f"2 questions crashed: {begin}==*== at *", 2),
        (f"crash: {begin}no memory", f"1 question crashed: {begin}no memory", 1),
    ]
    many = [Result(case(f"m{at}"), Judgement("crash", "x" * at)) for at in range(1, 23)]
    *_, rest = diagnose(many, Known([]))
    assert (rest.name, rest.sentence) == ("crash", "2 questions crashed with other messages")


def test_a_similar_cause_must_agree_with_failures_of_other_operations(catalogue: Catalogue) -> None:
    """It has the answers of nearly all failures of one, and others in another one."""
    valid = [case for case in catalogue.cases if not isinstance(case.verdict, MustRefuse)]
    rows, drawn = ([c for c in valid if op_of(c) == op][:9] for op in ("softmax", "greedy"))
    right, rows = drawn.pop(), rows[:8]
    wrong = {digest(case.id): "1" for case in [*rows[:6], *drawn, right]}
    wrong |= {digest(case.id): "2" for case in rows[6:]}
    known = Known([Signature("bug", "one", "It is wrong", wrong)])

    def found(answer: str) -> list[str]:
        seen = [Result(right, Judgement("pass"))]
        seen += [Result(case, Judgement("fail"), answer="1") for case in rows]
        seen += [Result(case, Judgement("fail"), answer=answer) for case in drawn]
        return [each.name for each in diagnose(seen, known)]

    assert found("1") == ["one"]
    assert found("3") == []


def test_draws_with_own_numbers_name_no_cause_if_something_else_fails_too() -> None:
    from tests.results_files import record

    own = record("stat", "own")
    seen = replace(next(results({"own": "1"}, "")), case=own)
    known = Known([Signature("bug", "own", "It is wrong", {digest(own.id): "1"})])
    assert [each.name for each in diagnose([seen], known)] == ["own"]
    assert diagnose([seen, *results({"other": "2"}, "")], known) == []


@pytest.mark.parametrize(
    ("batches", "said"),
    [
        (4, "These 4 failures have in common: it is odd"),
        (3, "Only 3 of 6 failures of top_k have in common: it is odd"),
        (1, None),
    ],
)
def test_a_fact_about_a_minority_says_so_or_is_not_named(
    catalogue: Catalogue, batches: int, said: str | None
) -> None:
    valid = [case for case in catalogue.cases if not isinstance(case.verdict, MustRefuse)]
    own = [case for case in valid if op_of(case) == "top_k"][: 3 if batches > 1 else 1]
    rows = [case for case in valid if isinstance(case.input, BatchInput)]
    shared = [case for case in rows if case.input.op == "top_k"][:batches]
    failed = [
        Result(case, Judgement("fail"), answer=str(at), facts=["it is odd"] if at < batches else [])
        for at, case in enumerate([*shared, *own])
    ]
    found = diagnose(failed, Known([]))
    assert [each.sentence for each in found] == ([said] if said else [])
    assert not found or is_of_few(found[0].name) == (batches == 3)


def without_the_last(probs: Sequence[float]) -> dict[str, str]:
    """Return probabilities whose sum lacks the last one."""
    return pack([nearest(each / (1 - probs[-1]), "f32") for each in probs])


def with_another_bit(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an answer with the lowest bit of its first number changed."""
    digits = row["probs"]["f32"]
    return {"probs": {"f32": f"{int(digits[:8], 16) ^ 1:08x}{digits[8:]}"}}


def with_another_first(row: Mapping[str, Any]) -> Mapping[str, Any]:
    first, *rest = unpack(row["logits"])
    return {"logits": pack([first + 8, *rest])}


def with_zeros_in_front(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"logits": pack([0.0, 0.0, 0.0, *unpack(row["logits"])[3:]])}


def with_turned_bytes(numbers: Mapping[str, str]) -> dict[str, str]:
    return {"f32": b"".join(pack_bits("<f", each) for each in unpack(numbers)).hex()}


@pytest.mark.parametrize(
    ("record", "change", "fact"),
    [
        (
            "sampling/softmax/sizes/row-257",
            lambda out: {"probs": without_the_last(unpack(out["probs"]))},
            "the sum lacks the last block of 256 tokens",
        ),
        (
            "sampling/softmax/softmax/ordinary",
            lambda out: {"probs": without_the_last(unpack(out["probs"]))},
            "the sum lacks the last block of 4 tokens",
        ),
        *(
            ("sampling/softmax/long/1024-f32", by_sum(summed), fact)
            for summed, fact in (
                (without_odd, "the sum lacks every second token"),
                (
                    lambda row: sum(x for at, x in enumerate(row) if at // 4 % 2 == 0),
                    "the sum lacks every second group of 4 tokens",
                ),
                (
                    lambda row: sum(x for at, x in enumerate(row) if at == 0 or at % 64),
                    "the sum lacks the first token of each block of 64 but one",
                ),
                (
                    lambda row: sum(x for at, x in enumerate(row) if at // 4 % 128 < 96),
                    "the sum lacks the last warp of each block of 128 threads that read 4 at once",
                ),
                (
                    lambda row: sum(x for at, x in enumerate(row) if at // 16 % 2 == 0),
                    "the sum lacks every second group of 16 tokens",
                ),
                (without_later_blocks, "the sum lacks the second half of the blocks of 256"),
                (without_later_halves, "the sum lacks the second half of each block of 256 tokens"),
                (with_the_last_twice, "the sum has the last block of 1,024 twice if it is full"),
                (never_rescaled, "the sum is not rescaled if a block of 256 has a larger maximum"),
            )
        ),
        (
            "sampling/softmax/sizes/row-101",
            by_sum(by_a_tree),
            "the sum lacks tokens that a tree of halves loses of a block of 256",
        ),
        (
            "sampling/softmax/sizes/row-257",
            by_sum(with_what_is_left),
            "the sum has what is left in memory behind the last block of 256",
        ),
        (
            "sampling/softmax/long/1024-f32",
            with_maxima_of_blocks,
            "each block of 256 subtracts its own maximum",
        ),
        (
            "sampling/batch/long/draw-mixed-and-padded",
            lambda out: {"rows": out["rows"][::-1]},
            "rows lie in another order in memory: perhaps `order` is ignored",
        ),
        (
            "sampling/temperature/temperature/into-subnormal",
            lambda out: {
                "logits": pack([n if abs(n) >= 2.0**-126 else 0.0 for n in unpack(out["logits"])])
            },
            "subnormal numbers are written as 0",
        ),
        (
            "sampling/batch/long/softmax-4097-twice",
            lambda out: {"rows": [*out["rows"][:-1], with_another_bit(out["rows"][-1])]},
            DIFFERS,
        ),
        (
            "sampling/batch/long/temperature-4097",
            lambda out: {"rows": [out["rows"][0], *map(with_zeros_in_front, out["rows"][1:])]},
            "only the first numbers of a row are wrong, as if the row before were written too far",
        ),
        (
            "sampling/batch/long/repetition-penalty-4097",
            lambda out: {"rows": [out["rows"][0], *map(with_another_first, out["rows"][1:])]},
            "only the number of token 0 is wrong, as if histories were padded with it",
        ),
        (
            "sampling/batch/long/softmax-empty-blocks-of-256",
            lambda out: {"rows": [{"probs": pack([nan] * 300)}] * len(out["rows"])},
            "numbers are NaN, and no token of a block of 256 is possible",
        ),
        (
            "sampling/greedy/sizes/row-65537-token-65536",
            lambda out: {"token": out["token"] % 65_536},
            "the token is right modulo 65,536",
        ),
        (
            "sampling/greedy/sizes/row-65537-token-65536",
            lambda out: {"token": out["token"] % 1024},
            "the token is right modulo 65,536",
        ),
        (
            "sampling/greedy/greedy/f16-below-zero",
            lambda _: {"token": 0},
            "all logits are negative",
        ),
        (
            "sampling/softmax/softmax/ordinary",
            lambda out: {"probs": with_turned_bytes(out["probs"])},
            "the bytes of each number are in the other order: digits begin with the highest byte",
        ),
        (
            "sampling/top_k/rows/f64-near",
            lambda _: {"keep": [0]},
            "the tokens' numbers are equal when rounded to binary32",
        ),
        (
            "sampling/top_k/rows/f64-near",
            lambda _: {"keep": [0]},
            "the tokens' numbers are equal without the 8 lowest bits of binary32",
        ),
        (
            "sampling/top_k/sizes/equal-65538",
            lambda _: {"keep": [32_769, 65_536, 65_537]},
            "other tokens of those that are equal are kept",
        ),
        (
            "sampling/steps/masks_long/row-65537-tokens",
            lambda out: {"keep": [t for t in out["keep"] if t < 32_768] + [*range(32_768, 65_537)]},
            "all tokens from 32,768 on are allowed, whatever the mask",
        ),
        (
            "sampling/residual/residuals/one-left-f32",
            lambda out: {"probs": pack([max(each, 2.0**-23) for each in unpack(out["probs"])])},
            "probabilities that must be 0 are positive",
        ),
        (
            "sampling/top_p/sizes/kept-1001",
            lambda out: {"keep": out["keep"][:512]},
            "the list ends after 512 tokens",
        ),
        (
            "sampling/top_p/sizes/kept-1001",
            lambda out: {"keep": out["keep"][::-1]},
            "kept tokens are not in ascending order",
        ),
        (
            "sampling/softmax/long/1024-f32",
            lambda out: {"probs": {"f32": out["probs"]["f32"][:-8] + 8 * "f"}},
            "the wrong numbers are NaN with all bits set: they were not written",
        ),
        (
            "sampling/draw/sizes/walk-517-token-511",
            lambda out: {"token": out["token"] + 1},
            "the last token of a block of 512 is left out",
        ),
        (
            "sampling/batch/long/greedy-512-rows",
            lambda out: {"rows": [out["rows"][max(row - 1, 0)] for row in range(512)]},
            "row r has the right answer of the row before",
        ),
        (
            "sampling/batch/long/draw-own-257-rows",
            lambda out: {"rows": [out["rows"][row % 128] for row in range(257)]},
            "row r has the right answer of row r modulo 128",
        ),
    ],
)
def test_a_wrong_answer_shows_facts_that_suggest_the_mistake(
    catalogue: Catalogue, record: str, change: Callable[[dict[str, Any]], dict[str, Any]], fact: str
) -> None:
    case = catalogue.records[record]
    request = msgspec.to_builtins(case.input)
    right = SamplerSession("standard").answer(op_of(case), request)
    assert isinstance(right, Ok)
    assert fact in facts_of(case, Ok(change(dict(right.out))))


def test_tokens_without_weight_are_impossible_but_logits_of_0_are_not(catalogue: Catalogue) -> None:
    said = "tokens are kept that are impossible"
    of_logits = catalogue.records["sampling/top_k/sizes/equal-65538"]
    assert 0.0 in of_logits.input.logits.values()
    assert said not in facts_of(of_logits, Ok({"keep": [0, 1, 65_537]}))
    valid = (c for c in catalogue.cases if op_of(c) == "top_k" and c.out is not None)
    of_probs = next(c for c in valid if c.input.probs and 0.0 in c.input.probs.values())
    lost = of_probs.input.probs.values().index(0.0)
    assert said in facts_of(of_probs, Ok({"keep": sorted({*of_probs.out.keep, lost})}))


def test_at_most_64_tokens_of_each_block_are_named(catalogue: Catalogue) -> None:
    def wrong(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        right = session.answer(op, request)
        if op != "top_k" or not isinstance(right, Ok):
            return right
        row = unpack(request.get("logits", request.get("probs")))
        order = sorted(range(len(row)), key=lambda token: (-row[token], token))
        found = [
            t for t in order if [o // 256 for o in order[: order.index(t)]].count(t // 256) < 64
        ]
        return Ok({"keep": sorted(found[: len(right.out["keep"])])})

    cases = [c for c in catalogue.cases if (op_of(c), c.profile) == ("top_k", "standard")]
    cases = [c for c in cases if 64 < size(c)[0] < 1100]
    found = run(SamplersWithHandler(handle=wrong), cases, catalogue).diagnoses
    assert found[0].name == "at most 64 tokens of each block of 256 are kept"


def test_fused_steps_have_the_cause_of_the_step_that_was_named(catalogue: Catalogue) -> None:
    """No bug and no exchanged part explains them, and no size of a block is lost."""
    fact = "at most 64 tokens of each block of 256 are kept"
    alone = [
        Result(each, Judgement("fail"), answer=str(at), facts=[fact])
        for at, each in enumerate(c for c in small(catalogue, "top_k")[:4])
    ]
    fused = [
        each
        for each in catalogue.cases
        if op_of(each) == "steps"
        and each.out is not None
        and {"top_k"} == {step.step for step in each.input.steps} - {"top_p"}
    ]
    seen = [*alone, Result(fused[0], Judgement("fail"), answer="none")]
    (found,) = diagnose(seen, Known([]))
    one = UNCLEAR.replace("they are long or have", "it is long or has")
    assert (len(found.ids), found.sentence.endswith(f"1 of them {one}")) == (5, True)


def test_rows_of_one_length_show_no_size_of_blocks(catalogue: Catalogue) -> None:
    case = catalogue.records["sampling/softmax/sizes/row-257"]
    engine = SamplersWithHandler(handle=summed_in_blocks(256))
    (found,) = run(engine, [case], catalogue).diagnoses
    assert found.sentence.startswith("Asked alone, this failure fits")
    assert "; or the sum lacks the last block" in found.sentence
    assert "the last block of" not in found.sentence


def test_a_sum_that_restarts_in_each_block_is_not_taken_for_a_softmax(catalogue: Catalogue) -> None:
    """Draws from probabilities know no maximum, and the last token shows no sum."""

    def wrong(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        right = session.answer(op, request)
        if op != "draw" or not isinstance(right, Ok) or "probs" not in request:
            return right
        row, (u,) = unpack(request["probs"]), unpack(request["uniforms"])[:1]
        sums = [sum(row[at // 256 * 256 : at + 1]) for at in range(len(row))]
        share = u * sum(row)
        return Ok({"token": next((t for t, s in enumerate(sums) if s > share), len(row) - 1)})

    cases = [c for c in catalogue.cases if (op_of(c), c.profile) == ("draw", "standard")]
    cases = [c for c in cases if "/sizes/" in c.id and size(c)[0] < 1100]
    found = run(SamplersWithHandler(handle=wrong), cases, catalogue).diagnoses
    assert found
    assert not any("sum is not rescaled" in f.name or "left in memory" in f.name for f in found)


def test_answers_that_differ_are_named_before_any_cause(catalogue: Catalogue) -> None:
    known = Known([bug("one", **dict.fromkeys("abcd", "1"))])
    seen = [
        replace(each, facts=[DIFFERS] if at < 3 else [])
        for at, each in enumerate(results(dict.fromkeys("abcd", "1"), ""))
    ]
    (found,) = diagnose(seen, known)
    assert found.sentence == f"These 4 failures have in common: {DIFFERS}"


def test_failures_of_steps_that_differ_elsewhere_say_so(catalogue: Catalogue) -> None:
    of_op = {
        op: [c for c in catalogue.cases if (op_of(c), c.profile) == (op, "standard")]
        for op in ("top_k", "steps")
    }
    fused = [c for c in of_op["steps"] if b'"step":"top_k"' in canonical_case(c)]
    seen = [Result(c, Judgement("fail"), answer="1", facts=[DIFFERS]) for c in of_op["top_k"][:5]]
    seen += [Result(c, Judgement("fail"), answer=str(at)) for at, c in enumerate(fused[:5])]
    found = {each.name: len(each.ids) for each in diagnose(seen, Known([]))}
    assert found == {DIFFERS: 5, f"elsewhere {DIFFERS}": 5}


class Racing(SamplersWithHandler):
    """Another program, as far as it matters here."""

    incidents: ClassVar[list[str]] = []
    again: ClassVar[list[str]] = []
    restarts: ClassVar = 0
    seconds_lost: ClassVar = 0.0

    def forgive(self, restarts: int) -> None:
        assert not restarts

    def close(self) -> None:
        """Nothing has to be ended."""


def test_what_fails_is_asked_again_and_a_race_is_named(catalogue: Catalogue) -> None:
    calls = count()

    def wrong(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        return Ok({"token": next(calls)}) if op == "greedy" else Unsupported("not here")

    cases = small(catalogue, "greedy")[:9]
    for engine, said in ((Racing(handle=wrong), True), (SamplersWithHandler(handle=wrong), False)):
        found = run(engine, cases, catalogue).diagnoses
        assert (DIFFERS in [each.name for each in found]) == said


def test_an_answer_of_another_form_is_wrong_and_shows_what_it_can(catalogue: Catalogue) -> None:
    case = catalogue.records["sampling/greedy/sizes/row-65537-token-65536"]
    for token, fact in ((-65_536, "the token is right modulo 65,536"), ("0", "another form")):
        answer = read_result(Message(k="0", ok={"token": token}), "greedy")
        assert judge(case, answer, SAMPLERS).status == "fail"
        assert fact in facts_of(case, answer)[0]


def test_one_missing_token_without_an_equal_is_not_said_to_equal_another(
    catalogue: Catalogue,
) -> None:
    case = catalogue.records["sampling/min_p/formulas/of-the-largest"]
    assert case.out.keep == [0, 1, 2, 3]
    assert facts_of(case, Ok({"keep": [0, 1, 2]})) == ("one token less is kept",)


def test_padding_that_is_left_and_filters_that_keep_all_or_none_are_named(
    catalogue: Catalogue,
) -> None:
    padded = catalogue.records["sampling/token_mask/masks/padding-without-mask"]
    row = {"logits": pack([0.5, 2.0, -1.0, 1.5], "f32")}
    said = "only numbers from `vocab_size` on are wrong: they must be -inf"
    assert facts_of(padded, Ok(row))[0] == said
    assert said not in facts_of(padded, Ok({"logits": pack([0.5, 1.0, -1.0, 1.5], "f32")}))
    case = catalogue.records["sampling/min_p/formulas/of-the-largest"]
    assert facts_of(case, Ok({"keep": []}))[0] == "no token is kept"
    every = facts_of(case, Ok({"keep": [*range(9)]}))
    assert every[0] == "all possible tokens are kept: the filter removes none"
    assert every[0] not in facts_of(case, Ok({"keep": [*range(8)]}))


def test_a_wrong_sum_of_numbers_in_16_bits_is_said(catalogue: Catalogue) -> None:
    case = catalogue.records["sampling/softmax/long/4097-f16"]
    right = _right(case)
    assert right is not None
    for factor, says in ((0.55, "large"), (1.3, "small")):
        probs = [nearest(x * factor, "f16") for x in unpack(right["probs"])]
        (said, *_) = facts_of(case, Ok({"probs": pack(probs, "f16")}))
        assert said == f"roughly, all probabilities are off by one factor: the sum is too {says}"


def test_long_inputs_are_said_to_have_a_fact_in_common(catalogue: Catalogue) -> None:
    case = catalogue.records["sampling/softmax/long/4097-f16"]
    seen = Result(case, Judgement("fail"), answer="1", facts=["a fact", "another"])
    none = replace(seen, facts=[])
    assert _in_most([seen, none]) == "; of 1, a fact"
    assert _in_most([seen, none, replace(seen, facts=["another"])]) == "; of 2, another"
    assert _in_most([seen, none, none]) == _in_most([]) == ""


@pytest.mark.parametrize("size", [4, 8, 16, 32, 64])
def test_rows_that_draw_like_rows_of_another_block_are_named(
    catalogue: Catalogue, size: int
) -> None:
    case = catalogue.records["sampling/stat_batch/rows/65-rows"]
    numbers = Random(SEED)
    calls = [[numbers.randrange(2) for _ in range(size)] for _ in range(case.input.draws)]
    like = {"tokens": [[call[row % size] for row in range(65)] for call in calls]}
    assert facts_of(case, Ok(like))[0] == f"row r draws the token of row r modulo {size}"
    other = {"tokens": [[numbers.randrange(2) for _ in range(65)] for _ in calls]}
    assert not facts_of(case, Ok(other))


def test_only_a_question_with_a_mask_has_one_that_is_misread(catalogue: Catalogue) -> None:
    said = "what is allowed is banned, and the rest is allowed, if the mask is one of words"
    near = catalogue.records["sampling/top_k/rows/f64-near"]
    assert said not in facts_of(near, Ok({"keep": [0]}))
    masked = next(
        case
        for case in catalogue.cases
        if op_of(case) == "steps"
        and case.out is not None
        and [step.step for step in case.input.steps] == ["token_mask"]
    )
    count = len(masked.input.logits.values())
    banned = [token for token in range(count) if token not in masked.out.keep]
    assert said in facts_of(masked, Ok({"keep": banned}))


def test_judge_says_that_the_answers_to_a_repeated_question_differ(tmp_path: Path) -> None:
    chosen = ["--op", "greedy", "--profile", "standard", "--id", "sampling/greedy/greedy/*"]
    requests, responses = tmp_path / "requests.jsonl", tmp_path / "responses.jsonl"
    exported = CliRunner().invoke(
        main, ["export", *chosen, "--repeat", "9", "--folder", str(tmp_path)]
    )
    assert exported.exit_code == 0
    lines = CliRunner().invoke(main, ["answer", "reference", str(requests)]).stdout
    odd = r'("k":"\d*[13579]","ok":\{"token":)'
    responses.write_text(re.sub(odd, r"\g<1>1", lines))
    judged = CliRunner().invoke(main, ["judge", str(requests), str(responses)])
    assert judged.exit_code == 1
    assert re.search(rf"These \d+ failures have in common: {DIFFERS}", judged.output)


# ---- kernels: parameters in narrow types, neighbouring rows, other sums


def with_parameter(name: str, change: Callable[[Any], Any]) -> Callable[..., Answer]:
    """Return an engine's handler that reads a parameter otherwise, alone and in steps."""

    def read(params: Mapping[str, Any]) -> dict[str, Any]:
        if name not in params or params[name] is None:
            return {**params}
        given = params[name]
        if not isinstance(given, dict):
            return {**params, name: change(given)}
        return {**params, name: pack([change(number) for number in unpack(given)], "f64")}

    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        changed = {**request}
        if "params" in request:
            changed["params"] = read(request["params"])
        if "steps" in request:
            steps = request["steps"]
            changed["steps"] = [{**step, "params": read(step["params"])} for step in steps]
        return session.answer(op, changed)

    return handle


def typical_by(distance: Callable[[float, float], float]) -> Callable[..., Answer]:
    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        right = session.answer(op, request)
        if op != "typical" or not isinstance(right, Ok):
            return right
        if not {"mass"} <= request["params"].keys() <= {"mass", "least"}:
            return right
        row, (mass,) = (
            unpack(request.get("logits") or request["probs"]),
            unpack(request["params"]["mass"]),
        )
        least = max(request["params"].get("least", 1), 1)
        if mass >= 1:
            return right
        weights = [exp(x - max(row)) for x in row] if "logits" in request else row
        probs = {token: each / sum(weights) for token, each in enumerate(weights) if each > 0}
        entropy = -sum(p * log(p) for p in probs.values())
        far = {token: distance(-log(p), entropy) for token, p in probs.items()}
        keep, total = list[int](), 0.0
        for token in sorted(far, key=lambda token: (far[token], token)):
            is_equal = len(keep) > 0 and far[token] == far[keep[-1]] and len(keep) >= least
            if total >= mass and len(keep) >= least and not is_equal:
                break
            keep.append(token)
            total += probs[token]
        return Ok({"keep": sorted(keep)})

    return handle


def log_to_base_2(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    if op != "logprobs" or not isinstance(right, Ok):
        return right
    row, dtype = unpack(request["logits"]), type_of(request["logits"])
    of_sum = log(sum(exp(x - max(row)) for x in row)) / log(2)
    logs = [x if x == -inf else nearest(x - max(row) - of_sum, dtype) for x in row]
    return Ok({"logprobs": pack(logs, dtype)})


def with_zeros_behind(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    """Let the lanes behind the end of a row in blocks of 256 count as logit 0."""
    right = session.answer(op, request)
    if op != "softmax" or not isinstance(right, Ok):
        return right
    row, dtype = unpack(request["logits"]), type_of(request["logits"])
    most = max([*row, 0.0])
    total = sum(exp(x - most) for x in row) + -len(row) % 256 * exp(-most)
    return Ok({"probs": pack([nearest(exp(x - most) / total, dtype) for x in row], dtype)})


def least_probable(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    if op != "top_p" or request["params"].keys() != {"p"} or not isinstance(right, Ok):
        return right
    row, (p,) = unpack(request.get("logits") or request["probs"]), unpack(request["params"]["p"])
    weights = [exp(x - max(row)) for x in row] if "logits" in request else row
    possible = [token for token, each in enumerate(weights) if each > 0]
    if p >= 1:
        return right
    keep, total = {max(possible, key=lambda token: weights[token])}, 0.0
    for token in sorted(possible, key=lambda token: (weights[token], token)):
        if total >= p * sum(weights):
            break
        keep.add(token)
        total += weights[token]
    return Ok({"keep": sorted(keep)})


def speculates(at_most: int) -> Callable[..., Answer]:
    """Return an engine's handler that looks at a few drafts only, then at the last target row."""

    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        right = session.answer(op, request)
        if op != "speculative" or not isinstance(right, Ok) or right.out["accepted"] < at_most:
            return right
        row, number = request["target"][-1], unpack(request["uniforms"])[-1:]
        drawn = session.answer(
            "draw", {"probs": row, "uniforms": pack(number, "f64"), "params": {}}
        )
        tokens = [*right.out["tokens"][:at_most], out_of(drawn)["token"]]
        return Ok({"accepted": at_most, "tokens": tokens})

    return handle


def judged_by(row: int, number: int) -> Callable[..., Answer]:
    """Return an engine's handler that judges a draft by a row or a number behind its own."""

    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        right = session.answer(op, request)
        if op != "speculative" or not isinstance(right, Ok) or request["params"]:
            return right
        numbers, tokens = unpack(request["uniforms"]), request["tokens"]
        shares = [[x / sum(p) for x in p] for p in map(unpack, request["target"])]
        offers = [[x / sum(q) for x in q] for q in map(unpack, request["draft"])]
        places = range(len(tokens))
        rejected = [
            at
            for at, token in enumerate(tokens)
            if numbers[at + number] * offers[at][token] >= shares[at + row][token]
        ]
        at = min([*rejected, len(tokens)])
        left = shares[at]
        if at in places:
            left = [max(p - q, 0.0) for p, q in zip(left, offers[at], strict=True)]
        if not any(left):
            return right
        drawn = {"probs": pack(left, "f64"), "uniforms": pack(numbers[-1:], "f64"), "params": {}}
        token = out_of(session.answer("draw", drawn))["token"]
        return Ok({"accepted": at, "tokens": [*tokens[:at], token]})

    return handle


def counted_in_4_bits(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    start, history = request.get("prompt_length", 0), request.get("history", [])
    window = request["params"].get("window", len(history)) if op == "frequency_penalty" else 0
    seen = history[max(start, len(history) - window) :]
    kept = [t for t in {*seen} for _ in range(seen.count(t) & 15)]
    if op != "frequency_penalty":
        return session.answer(op, request)
    return session.answer(op, {**request, "history": kept, "prompt_length": 0})


def counted_without_neighbours(
    session: SamplerSession, op: str, request: Mapping[str, Any]
) -> Answer:
    start, history = request.get("prompt_length", 0), request.get("history", [])
    window = request["params"].get("window", len(history)) if op == "frequency_penalty" else 0
    seen = history[max(start, len(history) - window) :]
    kept = [t for at, t in enumerate(seen) if seen[at + 1 : at + 2] != [t]]
    if op != "frequency_penalty":
        return session.answer(op, request)
    return session.answer(op, {**request, "history": kept, "prompt_length": 0})


def without_the_last_block(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    name = next((name for name in ("logits", "probs") if name in request), "")
    row = unpack(request[name]) if op == "top_k" and name else []
    whole = len(row) // 64 * 64
    if not whole:
        return session.answer(op, request)
    row[whole:] = [-inf if name == "logits" else 0.0] * (len(row) - whole)
    return session.answer(op, {**request, name: pack(row, type_of(request[name]))})


def of_probabilities_as_logits(
    session: SamplerSession, op: str, request: Mapping[str, Any]
) -> Answer:
    right = session.answer(op, request)
    if op != "top_p" or "probs" not in request or not isinstance(right, Ok):
        return right
    row = {"logits": pack(unpack(request["probs"]), "f64")}
    return session.answer(op, {**{k: v for k, v in request.items() if k != "probs"}, **row})


def without_each_32nd(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    if op != "frequency_penalty" or not isinstance(right, Ok):
        return right
    history, params = request["history"], {**request["params"]}
    kept = [at for at in range(len(history)) if at % 32 != 31]
    if "window" in params:
        params["window"] = sum(at >= len(history) - params["window"] for at in kept)
    start = sum(at < request["prompt_length"] for at in kept)
    changed = {"history": [history[at] for at in kept], "prompt_length": start, "params": params}
    return session.answer(op, {**request, **changed})


def with_padding(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    """Count token 0 for what a history of vectors of four lacks, in front of any window."""
    right = session.answer(op, request)
    history = request.get("history")
    if op != "frequency_penalty" or not isinstance(right, Ok) or not history:
        return right
    row, dtype = unpack(right.out["logits"]), type_of(right.out["logits"])
    (penalty,) = unpack(request["params"]["penalty"])
    row[0] = nearest(row[0] - penalty * (-len(history) % 4), dtype)
    return Ok({"logits": pack(row, dtype)})


def with_p_of_all(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    """Compare running sums of what is left with p of the sum of the question's weights."""
    right = session.answer(op, request)
    if op != "steps" or not isinstance(right, Ok):
        return right
    given = unpack(request["logits"])
    whole = sum(exp(logit - max(given)) for logit in given)

    def answer(name: str, one: Mapping[str, Any]) -> Answer:
        if name != "top_p":
            return session.answer(name, one)
        row, (p,) = unpack(one["logits"]), unpack(one["params"]["p"])
        order = [at for at in range(len(row)) if row[at] > -inf]
        order.sort(key=lambda token: -row[token])
        before = accumulate((exp(row[token] - max(row)) for token in order), initial=0.0)
        kept = [t for t, less in zip(order, before, strict=False) if p >= 1 or less < p * whole]
        return Ok({"keep": sorted({*kept, *order[: one["params"].get("least", 1)]})})

    return stepwise(session, request, answer)


def with_a_shorter_prompt(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    start = max(0, request.get("prompt_length", 0) - 1)
    return session.answer(
        op, {**request, "prompt_length": start} if "history" in request else request
    )


def bit_31_is_a_sign(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    if op != "token_mask" or not isinstance(right, Ok):
        return right
    logits = unpack(right.out["logits"])
    logits[31::32] = [-inf] * len(logits[31::32])
    if all(each == -inf for each in logits):
        return Refused("INVALID_ROW", "no token is left")
    return Ok({"logits": pack(logits, type_of(right.out["logits"]))})


def drawn_from_all(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    if op != "steps" or "draw" not in request or not isinstance(right, Ok):
        return right
    row = unpack(request["logits"])
    sums = list(accumulate(exp(each - max(row)) for each in row))
    (number,) = unpack(request["draw"])
    return Ok({**right.out, "token": next(t for t, s in enumerate(sums) if s > number * sums[-1])})


def stepwise(
    session: SamplerSession,
    request: Mapping[str, Any],
    answer: Callable[[str, Mapping[str, Any]], Answer],
) -> Answer:
    """Answer a question of several steps, given the answer to each of them alone."""
    row = unpack(request["logits"])
    for step in request["steps"]:
        one = {**request, "logits": pack(row, "f64"), "params": step["params"]}
        found = out_of(answer(step["step"], one))
        row = unpack(found["logits"]) if "logits" in found else row
        kept = {*found.get("keep", range(len(row)))}
        row = [number if at in kept else -inf for at, number in enumerate(row)]
    keep = {"keep": [at for at, number in enumerate(row) if number != -inf]}
    if "draw" not in request:
        return Ok(keep)
    drawn = {"logits": pack(row, "f64"), "uniforms": request["draw"], "params": {}}
    return Ok({**keep, **out_of(session.answer("draw", drawn))})


def by_magnitude(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    """Sort by the lower bits, in which negative numbers rise with their magnitude."""
    if not isinstance(right := session.answer(op, request), Ok) or "logits" not in request:
        return right
    row = unpack(request["logits"])
    if op == "steps":
        return stepwise(session, request, partial(by_magnitude, session))
    if op == "top_p":
        return Ok({"keep": sorted(top_p_by_magnitude(row, request["params"]))})
    if op not in {"top_k", "greedy"}:
        return right
    turned = [number if number == -inf else abs(number) for number in row]
    return session.answer(op, {**request, "logits": pack(turned, "f64")})


def top_p_by_magnitude(row: Sequence[float], params: Mapping[str, Any]) -> set[int]:
    order, (p,) = [at for at, number in enumerate(row) if number != -inf], unpack(params["p"])
    order.sort(key=lambda token: -abs(row[token]))
    sums = [*accumulate(exp(row[token] - max(row)) for token in order)]
    count = next((at for at, each in enumerate(sums, 1) if p < 1 and each >= p * sums[-1]), None)
    return {*order[:count], *order[: params.get("least", 1)]}


def drawn_by_halves(size: int, *, begins_again: bool) -> Callable[..., Answer]:
    """Return an engine's handler whose sums begin again in each block, or lose its last token."""

    def drawn(weights: Sequence[float], u: float) -> int:
        if not begins_again:
            weights = [0.0 if at % size == size - 1 else x for at, x in enumerate(weights)]
        sums = [*accumulate(weights)]
        if begins_again:
            blocks = (accumulate(weights[at : at + size]) for at in range(0, len(weights), size))
            sums = [each for block in blocks for each in block]
        token = bisect_right(sums, u * sums[-1], 0, len(sums) - 1)
        return min(token, max(at for at, x in enumerate(weights) if x))

    return partial(drawn_from, drawn)


def drawn_from(
    drawn: Callable[[Sequence[float], float], int],
    session: SamplerSession,
    op: str,
    request: Mapping[str, Any],
) -> Answer:
    """Draw single tokens in the order of their ids otherwise, by weights and a number."""
    right = session.answer(op, request)
    is_one = op == "draw" and isinstance(right, Ok) and "token" in right.out
    if not is_one or request.keys() & {"count", "order"}:
        return right
    row, (u,) = unpack(request.get("logits") or request["probs"]), unpack(request["uniforms"])
    return Ok({"token": drawn([exp(x - max(row)) for x in row] if "logits" in request else row, u)})


def scanned(weights: list[float], threads: int, read: int) -> list[float]:
    """Return the sums of a scan by doublings, of which the last one is missing."""
    out, carry, tile = [], 0.0, threads * read
    for begin in range(0, len(weights), tile):
        block = weights[begin : begin + tile]
        sums = [sum(block[at * read : (at + 1) * read]) for at in range(threads)]
        step = 1
        while step < threads // 2:
            sums = [own + (sums[at - step] if at >= step else 0.0) for at, own in enumerate(sums)]
            step *= 2
        for at, _ in enumerate(block):
            before = sums[at // read - 1] if at >= read else 0.0
            out.append(carry + before + sum(block[at // read * read : at + 1]))
        carry += sums[-1]
    return out


@given(
    weights=st.lists(st.integers(0, 9).map(float), max_size=100),
    threads=st.sampled_from([4, 8, 16]),
    read=st.sampled_from([1, 2, 4]),
)
def test_a_scan_without_its_last_step_gives_these_sums(
    weights: list[float], threads: int, read: int
) -> None:
    size = threads * read
    expected = scanned(weights, threads, read) if len(weights) > size // 2 else []
    assert [*_scanned(size, read, "f64", weights)] == expected


def drawn_by_late_blocks(weights: Sequence[float], u: float) -> int:
    """Draw by a scan of blocks, each of which gets the carry of the block before it too late."""
    sums, carry, late = list[float](), 0.0, 0.0
    for start in range(0, len(weights), 256):
        block = [*accumulate(weights[start : start + 256])]
        sums += [late + each for each in block]
        carry, late = carry + block[-1], carry
    return next((t for t, x in enumerate(sums) if x > u * sums[-1]), len(sums) - 1)


def drawn_by_a_scan(weights: Sequence[float], u: float) -> int:
    sums = scanned([*weights], 256, 4)
    return next((t for t, x in enumerate(sums) if x > u * sums[-1]), len(sums) - 1)


def without_the_token_that_reaches_p(
    session: SamplerSession, op: str, request: Mapping[str, Any]
) -> Answer:
    right = session.answer(op, request)
    if op != "top_p" or not isinstance(right, Ok):
        return right
    row = unpack(request.get("logits") or request["probs"])
    order = sorted(right.out["keep"], key=lambda token: (-row[token], token))
    fewest = max(len(order) - 1, int(request["params"].get("least", 1)), 1)
    return Ok({"keep": sorted(order[:fewest])})


def divided(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    """Divide negative logits, too, in `penalties`."""
    if op != "penalties" or not isinstance(session.answer(op, request), Ok):
        return session.answer(op, request)
    params, history = request["params"], request["history"]
    (by,) = unpack(params["repetition"]) if "repetition" in params else (1.0,)
    window = params.get("window", 64)
    seen = {*history[max(0, len(history) - (len(history) if window is None else window)) :]}
    row, dtype = unpack(request["logits"]), type_of(request["logits"])
    row = [x / by / by if x < 0 and token in seen else x for token, x in enumerate(row)]
    out = out_of(session.answer(op, {**request, "logits": pack(row, "f64")}))
    return Ok({"logits": pack([nearest(x, dtype) for x in unpack(out["logits"])], dtype)})


def without_signs_of_zero(row: list[float], dtype: Type) -> list[float]:
    return [0.0 if abs(number) < SMALLEST_NORMAL[dtype] else number for number in row]


def with_the_vector_before(row: list[float], dtype: Type) -> list[float]:
    whole = {"f64": 2, "f32": 4}.get(dtype, 8)
    end = len(row) // whole * whole
    return [row[at - whole] if whole <= end <= at else x for at, x in enumerate(row)]


def with_a_maximum_of_some(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    """Compare with the largest probability of each first group of 16 of two."""
    right = session.answer(op, request)
    if op != "min_p" or not isinstance(right, Ok) or "m" not in request["params"]:
        return right
    row, (m,) = unpack(request.get("logits") or request["probs"]), unpack(request["params"]["m"])
    weights = [exp(x - max(row)) for x in row] if "logits" in request else row
    part = max(x for at, x in enumerate(weights) if at // 16 % 2 == 0) / max(weights)
    params = {**request["params"], "m": pack([m * part], "f64")}
    return session.answer(op, {**request, "params": params}) if part else right


def with_a_narrow_window(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    """Read 8 bits of the window, which is a large number if there is none."""
    if op != "frequency_penalty" or not isinstance(right := session.answer(op, request), Ok):
        return session.answer(op, request)
    window = request["params"].get("window")
    if window is None and "window" in request["params"]:
        return right
    window = 2**63 - 1 if window is None else window
    return session.answer(op, {**request, "params": {**request["params"], "window": window % 256}})


def repeated(name: str, neutral: int) -> Callable[..., Answer]:
    """Return an engine's handler that applies one of three penalties for each occurrence."""

    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        right, params = session.answer(op, request), request["params"]
        if op != "penalties" or not isinstance(right, Ok) or name not in params:
            return right
        history, window = request["history"], params.get("window", 64)
        start = max(params.get("skipped", 0), 0 if window is None else len(history) - window)
        without = {**request, "params": {**params, name: neutral}}
        answer = session.answer(op, without) if name == "presence" else right
        row = {"logits": out_of(answer)["logits"] if name == "presence" else request["logits"]}
        dtype, row = type_of(row["logits"]), {"logits": pack(unpack(row["logits"]), "f64")}
        for token in history[start:]:
            one = {**row, "params": {"penalty": params[name]}, "history": [token]}
            row = {**out_of(session.answer(f"{name}_penalty", {**one, "prompt_length": 0}))}
        if name != "presence":
            row = {**out_of(session.answer(op, {**without, **row}))}
        return Ok({"logits": pack([nearest(x, dtype) for x in unpack(row["logits"])], dtype)})

    return handle


def one_draft_less(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    count = len(request["tokens"]) if op == "speculative" else 0
    if not count or not isinstance(right, Ok) or right.out["accepted"] < count:
        return right
    return Ok({"accepted": count - 1, "tokens": right.out["tokens"][:-1]})


def zero_behind_drafts(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    if op != "speculative" or not isinstance(right, Ok):
        return right
    *drafts, last = right.out["tokens"]
    is_all = len(drafts) == len(request["tokens"])
    return Ok({**right.out, "tokens": [*drafts, 0 if is_all else last]})


def with_an_absolute_threshold(
    session: SamplerSession, op: str, request: Mapping[str, Any]
) -> Answer:
    right = session.answer(op, request)
    if op != "min_p" or "probs" not in request or not isinstance(right, Ok):
        return right
    row, params = unpack(request["probs"]), request["params"]
    order = sorted(range(len(row)), key=lambda token: -row[token])
    least, (m,) = params.get("least", 1), unpack(params["m"])
    keep = {token for token in order if row[token] >= m and row[token]}
    return Ok({"keep": sorted({*keep, *(token for token in order[:least] if row[token])})})


def with_an_epsilon(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    if op != "residual" or not isinstance(right, Ok):
        return right
    p, q = (unpack(request[name]) for name in ("target", "draft"))
    left = [max(a / sum(p) - b / sum(q), 1e-9) for a, b in zip(p, q, strict=True)]
    dtype = type_of(right.out["probs"])
    return Ok({"probs": pack([nearest(x / sum(left), dtype) for x in left], dtype)})


def with_coins(
    used: Callable[[list[float]], list[float]],
) -> Callable[[SamplerSession, str, Mapping[str, Any]], Answer]:
    """Return what accepts drafts with other numbers, given those of all drafts and the last one."""

    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        if op != "speculative" or not isinstance(session.answer(op, request), Ok):
            return session.answer(op, request)
        coins = used(unpack(request["uniforms"]))
        return session.answer(op, {**request, "uniforms": pack(coins, "f64")})

    return handle


def with_the_row_of_the_last_draft(
    session: SamplerSession, op: str, request: Mapping[str, Any]
) -> Answer:
    if op != "speculative" or not request["draft"]:
        return session.answer(op, request)
    target = [*request["target"][:-1], request["draft"][-1]]
    return session.answer(op, {**request, "target": target})


def with_the_target_row(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    if op != "residual" or not isinstance(right, Ok):
        return right
    row, dtype = unpack(request["target"]), type_of(right.out["probs"])
    return Ok({"probs": pack([nearest(x / sum(row), dtype) for x in row], dtype)})


def with_uniforms_of_16_bits(
    session: SamplerSession, op: str, request: Mapping[str, Any]
) -> Answer:
    if op != "draw" or not isinstance(session.answer(op, request), Ok):
        return session.answer(op, request)
    numbers = [int(number * 65_536) / 65_536 for number in unpack(request["uniforms"])]
    return session.answer(op, {**request, "uniforms": pack(numbers, "f64")})


def with_narrow_exponents(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    """Round x - m before exp2, where the sum is taken of the right exponentials."""
    right = session.answer(op, request)
    if op != "softmax" or not isinstance(right, Ok):
        return right
    row, dtype = unpack(request["logits"]), type_of(right.out["probs"])
    total = sum(exp(logit - max(row)) for logit in row)
    weights = (2.0 ** nearest((logit - max(row)) / log(2), "f16") for logit in row)
    return Ok({"probs": pack([nearest(weight / total, dtype) for weight in weights], dtype)})


def drawn_in_32_bits(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    right = session.answer(op, request)
    if op != "draw" or not isinstance(right, Ok) or "token" not in right.out:
        return right
    (number,) = (nearest(each, "f32") for each in unpack(request["uniforms"]))
    if number == 1:
        return Ok({"token": len(unpack(request.get("logits") or request["probs"])) - 1})
    return session.answer(op, {**request, "uniforms": pack([number], "f64")})


def with_row(change: Callable[[list[float], Type], list[float]], ops: set[str]) -> Any:
    """Return an engine's handler that reads other logits, given those of a row and their type."""

    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        if op not in ops or "logits" not in request:
            return session.answer(op, request)
        dtype = type_of(request["logits"])
        row = change(unpack(request["logits"]), dtype)
        return session.answer(op, {**request, "logits": pack(row, dtype)})

    return handle


def with_places(places: Callable[[int, int], bool], ops: set[str]) -> Any:
    """Return an engine's handler that reads some places of a row only."""
    return with_row(
        lambda row, _: [x if places(at, len(row)) else -inf for at, x in enumerate(row)], ops
    )


def in_bf16(row: list[float], dtype: Type) -> list[float]:
    return [nearest(nearest(number, "bf16"), dtype) for number in row]


def without_a_vector(row: list[float], dtype: Type) -> list[float]:
    whole = len(row) - len(row) % {"f64": 2, "f32": 4}.get(dtype, 8)
    return [number if at < whole else 0.0 for at, number in enumerate(row)]


def with_one_above_all(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
    params = request["params"]
    if (
        op == "top_k"
        and "k" in params
        and params["k"] > size_of(request.get("logits") or request["probs"])
    ):
        params = {**params, "k": 1}
    return session.answer(op, {**request, "params": params})


@pytest.mark.parametrize(
    ("op", "wrong", "name"),
    [
        *(
            (op, wrong, "negative numbers in the wrong order, as their bits")
            for op, wrong in (
                ("top_k", by_magnitude),
                ("greedy", by_magnitude),
                ("top_p", by_magnitude),
            )
        ),
        (
            "draw",
            drawn_by_halves(1024, begins_again=True),
            "a sum that begins again in each block of 1,024 tokens",
        ),
        (
            "draw",
            drawn_by_halves(1024, begins_again=False),
            "the last token of each block of 1,024 left out",
        ),
        (
            "greedy",
            with_places(lambda at, _: at % 256 < 256 - 32, {"greedy"}),
            "the last 32 tokens of each block of 256 left out",
        ),
        (
            "softmax",
            with_places(lambda at, count: at < (count // 4 * 4 or count), {"softmax"}),
            "the last block of 4 tokens, if it is incomplete, left out",
        ),
        ("softmax", with_row(in_bf16, {"softmax"}), "numbers of the row rounded to bfloat16"),
        ("top_k", with_row(in_bf16, {"top_k"}), "numbers of the row rounded to bfloat16"),
        (
            "softmax",
            with_row(without_a_vector, {"softmax"}),
            "the last block of 16 bytes, if it is incomplete, read as 0",
        ),
        (
            "softmax",
            with_row(with_the_vector_before, {"softmax"}),
            "the last block of 16 bytes, if it is incomplete, read from the block before",
        ),
        (
            "temperature",
            with_row(without_signs_of_zero, {"temperature"}),
            "0 for subnormal numbers of rows, and for -0",
        ),
        (
            "draw",
            partial(drawn_from, drawn_by_a_scan),
            "a scan of blocks of 1,024 tokens without its last step, which adds 512 before",
        ),
        (
            "draw",
            partial(drawn_from, drawn_by_late_blocks),
            "a running sum that lacks the block before, in blocks of 256 tokens",
        ),
        ("draw", with_uniforms_of_16_bits, "random numbers cut off after 16 bits"),
        ("frequency_penalty", with_padding, "a history padded with token 0 to a multiple of 4"),
        ("steps", with_p_of_all, "p as a share of all tokens, also of those removed before"),
        (
            "top_p",
            without_the_token_that_reaches_p,
            "the token left out that makes the sum large enough",
        ),
        ("penalties", divided, "a repetition penalty that divides negative logits"),
        (
            "min_p",
            with_a_maximum_of_some,
            "the largest number of a row without every second group of 16 tokens",
        ),
        ("top_k", with_one_above_all, "k above the number of tokens taken for 1"),
        ("frequency_penalty", with_a_narrow_window, "window modulo 256"),
        ("frequency_penalty", counted_to(15), "counts that end at 15"),
        (
            "penalties",
            repeated("repetition", 1),
            "a repetition penalty that counts each occurrence",
        ),
        ("penalties", repeated("presence", 0), "a presence penalty that counts each occurrence"),
        ("speculative", one_draft_less, "one draft less if all are accepted"),
        ("speculative", zero_behind_drafts, "token 0 behind drafts that are all accepted"),
        (
            "min_p",
            with_an_absolute_threshold,
            "a threshold of min-p that is not multiplied by the largest probability",
        ),
        ("residual", with_an_epsilon, "a residual of at least 1e-09"),
        (
            "speculative",
            with_coins(lambda u: [*u[1:-1], *u[-2:]] if u[1:] else u),
            "drafts that are judged with the random number of the next draft",
        ),
        (
            "speculative",
            with_coins(lambda u: [*[1 - 2.0**-40] * (len(u) - 1), u[-1]]),
            "drafts that are accepted only if p >= q",
        ),
        (
            "speculative",
            with_coins(lambda u: [*u[:-1], u[0]]),
            "the first draft's random number behind the drafts",
        ),
        (
            "speculative",
            with_the_row_of_the_last_draft,
            "the last row of drafts for the target row behind them",
        ),
        ("residual", with_the_target_row, "the target row for the residual"),
        ("draw", drawn_in_32_bits, "random numbers rounded to binary32"),
        ("top_k", with_parameter("k", lambda k: k % 256 or 1), "k modulo 256, and at least 1"),
        (
            "temperature",
            with_parameter("temperature", lambda t: nearest(t, "bf16")),
            "temperature rounded to bf16",
        ),
        (
            "temperature",
            with_parameter("temperature", lambda t: max(t, 0.05)),
            "temperature of at least 0.05",
        ),
        ("frequency_penalty", with_parameter("window", lambda n: n + 1), "window too large by 1"),
        ("frequency_penalty", without_each_32nd, "a history without the last of each 32 tokens"),
        ("frequency_penalty", with_a_shorter_prompt, "a prompt that is too short by 1"),
        ("token_mask", bit_31_is_a_sign, "masks of which bit 31 of each word is never allowed"),
        ("logprobs", log_to_base_2, "the logarithm of the sum to base 2"),
        ("softmax", with_zeros_behind, "logit 0 for the tokens that the last block of 256 lacks"),
        ("top_p", least_probable, "the least probable tokens until their sum reaches p"),
        (
            "typical",
            typical_by(lambda s, h: abs(s - h / log(2))),
            "the entropy in bits, and surprises in nats",
        ),
        (
            "typical",
            typical_by(lambda s, h: abs(s - h / log(10))),
            "the entropy by logarithms to base 10, and surprises in nats",
        ),
        ("softmax", with_narrow_exponents, "exponents rounded to binary16"),
        (
            "typical",
            typical_by(lambda s, h: s - h),
            "the surprise less the entropy, with its sign, not the distance",
        ),
        (
            "typical",
            typical_by(lambda s, h: h - s),
            "the entropy less the surprise, with its sign, not the distance",
        ),
        (
            "typical",
            typical_by(lambda s, h: -abs(s - h)),
            "the tokens that are farthest from the entropy first",
        ),
        ("frequency_penalty", counted_in_4_bits, "counts modulo 16"),
        ("frequency_penalty", counted_without_neighbours, "equal neighbours counted once"),
        ("frequency_penalty", with_parameter("window", lambda _: 2**40), "window left out"),
        (
            "top_p",
            with_parameter("p", lambda p: round(p * 255) / 255 or p),
            "p in steps of 1 / 255",
        ),
        (
            "top_k",
            without_the_last_block,
            "the last block of 64 tokens, if it is incomplete, left out",
        ),
        ("top_p", of_probabilities_as_logits, "probabilities that are taken for logits"),
        ("speculative", judged_by(1, 0), "drafts that are judged by the next target row"),
        ("speculative", judged_by(0, 1), "drafts that are judged with the next random number"),
        ("speculative", speculates(2), "at most 2 drafts, and then the last target row"),
        ("steps", drawn_from_all, "a draw of any token from the logits of the question"),
    ],
)
def test_a_mistake_of_kernels_is_named(
    catalogue: Catalogue, op: str, wrong: Callable[..., Answer], name: str
) -> None:
    cases = [c for c in catalogue.cases if (op_of(c), c.profile) == (op, "standard")]
    cases = [case for case in cases if size(case)[0] < 2500 and length(case) < 20_000]
    found = run(SamplersWithHandler(handle=wrong), cases, catalogue).diagnoses
    assert f"answers with {name}" in found[0].name.split(" or ")


def test_tokens_of_weight_0_that_top_k_keeps_are_no_probabilities_taken_for_logits(
    catalogue: Catalogue,
) -> None:
    def with_impossible(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok) or "probs" not in request or "k" not in request["params"]:
            return right
        row = unpack(request["probs"])
        order = sorted(range(len(row)), key=lambda token: (-row[token], token))
        return Ok({"keep": sorted(order[: max(request["params"]["k"], len(right.out["keep"]))])})

    cases = [c for c in catalogue.cases if (op_of(c), c.profile) == ("top_k", "standard")]
    cases = [case for case in cases if size(case)[0] < 2500]
    said = run(SamplersWithHandler(handle=with_impossible), cases, catalogue).diagnoses[0].sentence
    assert "tokens are kept that are impossible" in said
    assert "taken for logits" not in said


def test_filters_of_steps_are_misread_as_those_that_are_asked_alone(catalogue: Catalogue) -> None:
    cases = [c for c in catalogue.cases if (op_of(c), c.profile) == ("steps", "standard")]
    cases = [case for case in cases if size(case)[0] < 2500 and length(case) < 20_000]
    engine = SamplersWithHandler(handle=by_magnitude, with_stages=False)
    failures = run(engine, cases, catalogue).failures
    assert len(failures) >= FEWEST
    for seen in failures:
        again = misread(
            seen.case, lambda _, asked: SamplerSession("standard").answer("steps", asked), usual
        )
        found = {said for said, answer, _ in again if answer_digest("steps", answer) == seen.answer}
        assert any("negative numbers in the wrong order, as their bits" in said for said in found)


@pytest.mark.parametrize("name", ["4097", "4097-bf16"])
def test_a_mistake_in_one_long_speculative_record_is_named_soon(
    catalogue: Catalogue, name: str
) -> None:
    cases = [catalogue.records[f"sampling/speculative/long/{name}"]]
    run_of_one = run(SamplersWithHandler(handle=accepted_by_p), cases, catalogue)
    start = process_time()
    (found,) = run_of_one.diagnoses
    assert "drafts that are accepted if u < p, not if u < p / q" in found.name
    assert process_time() - start < 10


def test_what_is_not_misread_for_lack_of_time_says_so(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [c for c in catalogue.cases if (op_of(c), c.profile) == ("speculative", "standard")]
    cases = [case for case in cases if size(case)[0] < 100]
    found = run(SamplersWithHandler(handle=speculates(2)), cases, catalogue)
    monkeypatch.setattr("tokenref.diagnosis.misreadings.MOST_SECONDS", 0)
    late = run(SamplersWithHandler(handle=speculates(2)), cases, catalogue).diagnoses[-1]
    assert late.name == "late diagnosis"
    assert late.sentence.endswith("not compared with all misread questions, for lack of time")
    assert {*late.ids} <= {each.case.id for each in found.failures}


def test_a_window_of_0_that_is_taken_for_all_is_named(catalogue: Catalogue) -> None:
    cases = [c for c in catalogue.cases if c.profile == "standard" and "/penalties/" in c.id]
    wrong = with_parameter("window", lambda n: 999 if n == 0 else n)
    (found,) = run(SamplersWithHandler(handle=wrong), cases, catalogue).diagnoses
    assert "answers with window 0 taken for all" in found.name.split(" or ")


def test_wrong_first_numbers_of_penalties_are_not_said_to_be_written_by_another_row(
    catalogue: Catalogue,
) -> None:
    said = "only the first numbers of a row are wrong, as if the row before were written too far"
    for name, is_said in (("presence-penalty-thrice", False), ("temperature-4097", True)):
        case = catalogue.records[f"sampling/batch/long/{name}"]
        out = SamplerSession("standard").answer("batch", msgspec.to_builtins(case.input))
        rows = [*out_of(out)["rows"]]
        numbers = unpack(rows[1]["logits"])
        rows[1] = {"logits": pack([8.0, 9.0, *numbers[2:]], type_of(rows[1]["logits"]))}
        assert (said in facts_of(case, Ok({"rows": rows}))) == is_said


def test_a_cause_of_a_minority_says_so_and_is_printed_behind_a_larger_rest(
    catalogue: Catalogue,
) -> None:
    cases = [c for c in catalogue.cases if (op_of(c), c.profile) == ("speculative", "standard")]
    wrong = catalogue.records["sampling/speculative/chain/nothing-left"]
    rule = KNOWN["if-equal.target of speculative"]
    failed = [Result(wrong, Judgement("wrong_error"), answer=rule.answers[digest(wrong.id)])]
    valid = [case for case in cases if not isinstance(case.verdict, MustRefuse)]
    failed += [Result(case, Judgement("fail"), answer="?") for case in valid[:11]]
    (found,) = diagnose(failed, Known([rule]))
    assert found.sentence == f"Only 1 of 12 failures of speculative matches the rule {rule.name}"
    assert is_of_few(found.name)
    (alone,) = diagnose(failed[:1], Known([rule]), fewest=1)
    assert not is_of_few(alone.name)


@pytest.mark.parametrize(("is_padded", "says_order"), [(True, False), (False, True)])
def test_another_order_is_added_only_if_rows_are_not_padded_as_well(
    catalogue: Catalogue, is_padded: bool, says_order: bool
) -> None:
    names = ["token-mask-mixed", "greedy-reversed", "greedy-apart-and-mixed", "softmax-reversed"]
    names = ["top-k", "top-p", "min-p", "draw"] if is_padded else names
    ends = "-apart-and-padded" if is_padded else ""
    cases = [catalogue.records[f"sampling/batch/long/{name}{ends}"] for name in names]
    known = Known([Signature("bug", "one", "It is wrong", {digest(c.id): "1" for c in cases})])
    order = "rows lie in another order in memory: perhaps `order` is ignored"
    failed = [Result(c, Judgement("fail"), answer="1", facts=(order,)) for c in cases]
    (found,) = diagnose(failed, known)
    assert (order in found.sentence) == says_order


def test_a_layout_with_padding_is_not_said_to_be_an_order_alone(catalogue: Catalogue) -> None:
    """A kernel may round the size of the vocabulary up, and read padding."""

    def rounded_up(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        padded = request.get("vocab_size", 32) % 32 and "probs" not in request["rows"][0]
        return session.answer(op, {**request, "vocab_size": 5} if padded else request)

    names = [f"{op}-mixed-and-padded" for op in ("top-k", "top-p", "min-p", "draw")]
    cases = [catalogue.records[f"sampling/batch/long/{name}"] for name in names]
    found = run(SamplersWithHandler(handle=rounded_up), cases, catalogue)
    assert len(found.failures) == len(cases)
    assert all(each.facts[-2:] == (PADDED, ORDERED) for each in found.failures)
    (said,) = diagnose(found.results, Known([]))
    assert PADDED in said.sentence


def test_numbers_that_are_nan_are_shown_and_named(catalogue: Catalogue) -> None:
    def without_numbers(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        right = session.answer(op, request)
        if op != "logprobs" or unpack(request["logits"])[0] != -inf or not isinstance(right, Ok):
            return right
        return Ok({"logprobs": pack([nan] * tokens_of([request]), type_of(right.out["logprobs"]))})

    cases = [c for c in catalogue.cases if (op_of(c), c.profile) == ("logprobs", "standard")]
    cases = [case for case in cases if size(case)[0] < 100]
    found = run(SamplersWithHandler(handle=without_numbers), cases, catalogue)
    shown = {each.case.id: each.judgement.detail for each in found.failures}
    detail = shown["sampling/logprobs/logprobs/impossible-first"]
    assert detail == "logprobs[0]: expected -inf, got nan (of another kind)"
    one = [each for each in found.results if each.status == "pass"]
    one += [each for each in found.failures if each.case.id.endswith("/impossible-first")]
    assert [each.name for each in diagnose(one, Known([]))] == ["all wrong numbers are nan"]


def test_parameters_of_the_first_row_of_a_pair_are_named(catalogue: Catalogue) -> None:
    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        rows = request.get("rows", ())
        if op != "batch" or request["op"] not in {"top_k", "top_p"}:
            return session.answer(op, request)
        rows = [{**row, "params": rows[at // 2 * 2]["params"]} for at, row in enumerate(rows)]
        return session.answer(op, {**request, "rows": rows})

    cases = [c for c in catalogue.cases if op_of(c) == "batch" and c.profile == "standard"]
    cases = [case for case in cases if size(case)[0] < 20_000]
    found = run(SamplersWithHandler(handle=handle), cases, catalogue).diagnoses
    assert found[0].name == "params of the first row of a pair"


def from_elsewhere(part: str, at: Callable[[int, int, int], int]) -> Callable[..., Answer]:
    """Return an engine's handler that reads numbers, histories or masks of rows at other places.

    They are one after the other in a buffer. `at` returns where a row begins, given the row, where
    it must, and the length of the longest. Behind the end of histories, the last are read again.
    """

    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        rows = [{**row} for row in request.get("rows", ())]
        if op != "batch" or not all(part == "history" or part in row for row in rows):
            return session.answer(op, request)
        layout = request.get("layout", {})
        given = [row.get(part, []) for row in rows]
        order = layout.get("order", range(len(rows)))
        if part == "history":
            starts = [*accumulate(map(len, given), initial=0)][:-1]
            buffer = [token for tokens in given for token in tokens]
        else:
            given = [unpack(each) for each in given]
            stride = max(layout.get("stride", 0), *map(len, given))
            starts, buffer = [stride * place for place in order], [nan] * (stride * len(rows))
            for start, numbers in zip(starts, given, strict=True):
                buffer[start : start + len(numbers)] = numbers
        for number, (row, start, each) in enumerate(zip(rows, starts, given, strict=True)):
            begin = min(at(number, start, max(map(len, given))), len(buffer) - len(each))
            found = buffer[begin : begin + len(each)]
            if part in row:
                row[part] = found if part == "history" else pack(found, type_of(row[part]))
        return session.answer(op, {**request, "rows": rows})

    return handle


@pytest.mark.parametrize(
    ("part", "at", "says"),
    [
        ("logits", lambda _, start, __: start // 4 * 4, "no multiples of 4,"),
        ("logits", lambda _, start, __: start % 2**16, "behind the first 65,536 numbers"),
        ("history", lambda row, _, longest: row * longest, "histories of several lengths"),
    ],
)
def test_batches_that_fail_by_where_their_rows_begin_are_named(
    catalogue: Catalogue, part: str, at: Callable[[int, int, int], int], says: str
) -> None:
    cases = [c for c in catalogue.cases if op_of(c) == "batch" and c.profile == "standard"]
    cases = [case for case in cases if size(case)[0] < (140_000, 20_000)[rows_op(case) == "steps"]]
    found = run(SamplersWithHandler(handle=from_elsewhere(part, at)), cases, catalogue).diagnoses
    assert any(says in each.name and len(each.ids) > FEWEST for each in found)


def test_masks_of_a_batch_that_begin_elsewhere_are_named(catalogue: Catalogue) -> None:
    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        if op != "batch" or request["op"] != "token_mask":
            return session.answer(op, request)
        count = tokens_of(request["rows"][:1])
        masks = [words_of(allowed_of(row["params"], count), count) for row in request["rows"]]
        words = [word for mask in masks for word in mask] + [0] * len(masks[0])
        rows = [
            {**row, "params": {"words": words[at * (count // 32) :][: len(masks[0])]}}
            for at, row in enumerate(request["rows"])
        ]
        return session.answer(op, {**request, "rows": rows})

    cases = [case for case in catalogue.cases if "token_mask" in {op_of(case), rows_op(case)}]
    cases = [case for case in cases if size(case)[0] < 20_000]
    found = run(SamplersWithHandler(handle=handle), cases, catalogue).diagnoses
    assert found[0].name.startswith("several masks have an incomplete last word")


def test_masks_by_the_place_of_a_row_are_named(catalogue: Catalogue) -> None:
    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        rows = request.get("rows", ())
        if op != "batch" or request["op"] != "token_mask" or "layout" not in request:
            return session.answer(op, request)
        masks = [rows[place]["params"] for place in request["layout"]["order"]]
        rows = [{**row, "params": mask} for row, mask in zip(rows, masks, strict=True)]
        return session.answer(op, {**request, "rows": rows})

    cases = [case for case in catalogue.cases if rows_op(case) == "token_mask"]
    cases = [case for case in cases if size(case)[0] < 20_000]
    (found,) = run(SamplersWithHandler(handle=handle), cases, catalogue).diagnoses
    assert found.name == "params of row n for the row at place n in memory"


def test_one_or_two_batches_that_fail_have_no_property_in_common(catalogue: Catalogue) -> None:
    cases = [c for c in catalogue.cases if op_of(c) == "batch" and c.profile == "standard"]
    valid = [case for case in cases if not isinstance(case.verdict, MustRefuse)]
    (has,) = (has for says, has in PROPERTIES.items() if says.startswith("more than 32 rows"))
    failed = [c for c in valid if has(msgspec.to_builtins(c.input), row_questions(c))]
    for many, is_named in ((1, False), (FEWEST - 1, False), (FEWEST, True)):
        wrong = failed[:many]
        seen = [Result(c, Judgement("fail" if c in wrong else "pass"), answer="1") for c in cases]
        said = [each.name for each in diagnose(seen, Known([])) if "pass" in each.name]
        assert bool(said) == is_named


def test_failures_with_other_numbers_in_a_fact_are_in_its_group(catalogue: Catalogue) -> None:
    ids = (f"sampling/{op}/sizes/row-{n}" for op in ("softmax", "logprobs") for n in (65, 101, 129))
    cases = [catalogue.records[each] for each in ids]
    valid = (case for case in catalogue.cases if not isinstance(case.verdict, MustRefuse))
    cases += [case for case in valid if op_of(case) == "softmax" and case not in cases][:34]
    says = "numbers that must be -inf are"
    facts = [f"{says} -10000.0"] * (len(cases) - 1) + [f"{says} -9.9"]
    pairs = zip(cases, facts, strict=True)
    seen = [Result(case, Judgement("fail"), answer="1", facts=[fact]) for case, fact in pairs]
    (found,) = diagnose(seen, Known([]))
    assert len(found.ids) == len(cases)
    assert found.sentence.endswith("are -10000.0; of 1 with other numbers")


@pytest.mark.parametrize(
    "record",
    ["sampling/penalties/penalties/default-window", "sampling/repetition_penalty/sizes/prompt-65"],
)
def test_a_narrow_counter_counts_prompts_and_what_is_in_a_default_window(
    catalogue: Catalogue, record: str
) -> None:
    def reference(_: Case, asked: Mapping[str, Any]) -> Answer:
        return SamplerSession("standard").answer(record.split("/")[1], asked)

    names = [name for name, _, _ in misread(catalogue.records[record], reference, usual)]
    assert "answers with counts modulo 16" in names


def test_a_rule_of_two_records_is_named(catalogue: Catalogue) -> None:
    """The other records of its signature are about other profiles."""

    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        return SamplerSession("boundary.exceed").answer(op, request)

    cases = [c for c in catalogue.cases if (op_of(c), c.profile) == ("typical", "standard")]
    found = run(SamplersWithHandler(handle=handle), cases, catalogue)
    assert len(found.failures) == 2
    assert [each.name for each in found.diagnoses] == ["boundary.exceed of typical"]


def test_numbers_that_are_compared_in_16_bits_are_named(catalogue: Catalogue) -> None:
    def handle(session: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        row = unpack(request["logits"]) if op == "greedy" and "logits" in request else []
        rounded = [nearest(number, "bf16") for number in row]
        return session.answer(op, {**request, "logits": pack(rounded, "f64")} if row else request)

    cases = [c for c in catalogue.cases if (op_of(c), c.profile) == ("greedy", "standard")]
    found = run(SamplersWithHandler(handle=handle), cases, catalogue).diagnoses
    assert "the tokens' numbers are equal when rounded to bfloat16" in found[0].name.split(" or ")


@pytest.mark.parametrize(
    ("bits", "laws"),
    [(8, ["falling", "long-tail", "between-16-bits"]), (11, ["long-tail", "between-16-bits"])],
)
def test_random_numbers_of_few_bits_are_seen(
    catalogue: Catalogue, bits: int, laws: Sequence[str]
) -> None:
    random = Random(SEED)
    for law in laws:
        case = catalogue.records[f"sampling/stat/laws/{law}"]
        sums = [*accumulate(unpack(msgspec.to_builtins(case.input)["probs"]))]
        for few in (False, True):
            numbers = (random.random() for _ in range(100_000))
            cut = (number * 2**bits // 1 / 2**bits if few else number for number in numbers)
            drawn = Counter(bisect_right(sums, number * sums[-1]) for number in cut)
            facts = facts_of(case, Ok({"counts": [[*pair] for pair in drawn.items()]}))
            assert (f"random numbers seem to have {bits} bits" in facts) == few, (law, facts)


@pytest.mark.parametrize(
    ("wrong", "fact"),
    [
        (lambda numbers: numbers[:256] * 391, "random numbers come again after 256 of them"),
        (lambda numbers: numbers[:25_000] * 4, "each random number is used several times"),
        (lambda numbers: [x * 0.99 for x in numbers], "random numbers seem to end at 0.99"),
    ],
)
def test_random_numbers_that_come_again_or_end_early_are_seen(
    catalogue: Catalogue, wrong: Callable[[list[float]], list[float]], fact: str
) -> None:
    random, case = Random(SEED), catalogue.records["sampling/stat/laws/long-tail"]
    sums = [*accumulate(unpack(msgspec.to_builtins(case.input)["probs"]))]
    right = [random.random() for _ in range(100_000)]
    for numbers in (right, wrong(right)[:100_000]):
        drawn = Counter(bisect_right(sums, number * sums[-1]) for number in numbers)
        facts = facts_of(case, Ok({"counts": [[*pair] for pair in drawn.items()]}))
        assert (fact in facts) == (numbers is not right), facts


def test_groups_that_say_least_are_printed_after_all_others(catalogue: Catalogue) -> None:
    """Long inputs stand behind failures without a cause, of which there are samples."""
    from tokenref.reports.terminal import in_order

    sizes = {"long inputs": 9, "stages": 1, "two": 2, "one token less is kept": 5, "three": 3}
    assert in_order(sizes, others=0) == (
        ["three", "two", "one token less is kept", "stages"],
        ["long inputs"],
    )
    assert in_order(sizes, others=6) == (
        ["three", "two", "stages"],
        ["one token less is kept", "long inputs"],
    )
    padded = next(iter(PROPERTIES))
    assert in_order({padded: 5, "two": 2}, others=0) == (["two", padded], [])


def test_late_draws_are_told_the_option_for_more_time(catalogue: Catalogue) -> None:
    case = next(case for case in catalogue.cases if op_of(case) == "stat")
    (found,) = diagnose([Result(case, Judgement("timeout", "2 s"))], Known([]))
    assert found.name == "late draws"
    assert "--timeout 60" in found.sentence


@pytest.mark.parametrize(
    ("calls", "fact"),
    [
        ([[0, 1, 2]] * 4, "every call draws the tokens of the first one"),
        ([[0, 0], [1, 1], [2, 2]], "all rows of a call draw the same token"),
        ([[0, 1], [0, 1], [2, 1], [2, 1]], "each random number is used several times"),
        ([[0, 0, 1, 1], [2, 1, 1, 0]], "two neighbouring rows share their random numbers"),
        (
            [[0, 1, 2], [1, 2, 0], [2, 0, 1]],
            "a call draws the tokens of the call before, moved by one row",
        ),
    ],
)
def test_draws_that_repeat_are_seen(
    catalogue: Catalogue, calls: list[list[int]], fact: str
) -> None:
    case = next(case for case in catalogue.cases if op_of(case) == "stat_batch")
    assert facts_of(case, Ok({"tokens": calls})) == (fact,)
    assert facts_of(case, Ok({"tokens": [[0, 1, 2], [2, 1, 0], [1, 1, 2]]})) == ()


def test_seeds_that_go_on_from_row_to_row_are_seen(catalogue: Catalogue) -> None:
    case = catalogue.records["sampling/seeds/batches/one-seed-twice"]
    numbers = count()
    rows = [[[next(numbers)] * 32 for _ in seeds] for seeds in case.input.batches]
    (fact,) = facts_of(case, Ok({"batches": rows}))
    assert "never draw the same tokens" in fact
    rows[1][0] = rows[0][0]
    assert facts_of(case, Ok({"batches": rows})) == ()


def test_draws_that_depend_on_the_place_of_a_seed_are_seen(catalogue: Catalogue) -> None:
    case = next(
        case
        for case in catalogue.cases
        if op_of(case) == "seeds"
        for seeds in case.input.batches
        if len({seed for seed in seeds if seed is not None}) < len(seeds) - seeds.count(None)
    )
    rows = [[[place] * 32 for place, _ in enumerate(seeds)] for seeds in case.input.batches]
    facts = facts_of(case, Ok({"batches": rows}))
    assert facts[0] == "what a seed draws depends on the row's place in the batch"
    rows = [[[0] * 32 for _ in seeds] for seeds in case.input.batches]
    assert facts_of(case, Ok({"batches": rows})) == ()


def test_every_record_has_a_size(catalogue: Catalogue) -> None:
    """Draws of a batch with own random numbers have a number of rows, not a list of them."""
    for case in catalogue.cases:
        if case.vocab is None:
            assert min(size(case)) >= 0


def test_every_question_may_have_a_property(catalogue: Catalogue) -> None:
    """A property that raises would lose the report."""
    for case in catalogue.cases:
        if case.vocab is None and size(case)[0] < 500:
            question, rows = msgspec.to_builtins(case.input), row_questions(case)
            assert {type(has(question, rows)) for has in PROPERTIES.values()} == {bool}, case.id


def test_a_hint_that_raises_loses_no_report(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [case for case in catalogue.cases if op_of(case) == "top_k" and length(case) < 500]

    def broken(*_: object) -> Iterator[str]:
        raise IndexError("a broken hint")

    monkeypatch.setattr("tokenref.diagnosis.row_facts._of_kept", broken)
    monkeypatch.setattr("tokenref.diagnosis.misreadings.usual", broken)
    engine = Small({"top_k": lambda _, __: {"keep": [0]}})
    with pytest.raises(IndexError, match="a broken hint"):
        run(engine, cases, catalogue)
    monkeypatch.delenv(RAISES)
    found = run(engine, cases, catalogue)
    assert len(found.results) == len(cases)
    assert found.failures
    monkeypatch.setattr("tokenref.diagnosis.diagnose.known_causes", broken)
    assert found.diagnoses == []
