"""The gate with samplers: mutants, negative controls, rows that are long, and the page."""

from collections import Counter
from dataclasses import dataclass, field, replace

import msgspec
import pytest

from authoring.data import tables
from authoring.grids import grid
from authoring.mutants.gate import run_gate
from authoring.mutants.mutant import Mutant
from authoring.mutants.page import mutants_page
from authoring.mutants.samplers import Request, answering
from authoring.mutants.table import CONTROLS, MUTANTS
from tokenref.answers import Ok
from tokenref.catalogue import open_catalogue
from tokenref.engines.reference import ReferenceEngine
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import pack
from tokenref.questions.sampling import pack_parameters
from tokenref.record import OPERATIONS, SAMPLER_OPS, Case, make_case
from tokenref.subjects import SAMPLERS, Subject
from tokenref.verdicts import Exact

SAMPLER_MUTANTS = {
    name: each for name, each in MUTANTS.items() if each.witness.vocabulary is SAMPLERS
}


@dataclass
class Records:
    cases: list[Case]
    canaries: list[Case] = field(default_factory=list)

    def subject(self, digest: str) -> Subject | str:
        raise AssertionError(f"no record here is about {digest}")


def top_k(slug: str, row: object, k: int, keep: list[int]) -> Case:
    request = {"probs": row, "params": pack_parameters({"k": k})}
    return make_case(
        "top_k",
        id=f"sampling/top_k/tests/{slug}",
        profile="standard",
        why="An example for the tests of the gate.",
        flags=["Ties"],
        spec="docs/sampling.md",
        verdict=Exact(),
        input=msgspec.convert(request, OPERATIONS["top_k"].question),
        out=msgspec.convert({"keep": keep}, OPERATIONS["top_k"].answer),
    )


TIED = top_k("tied", pack([0.5, 0.25, 0.25]), 2, [0, 1])
PLAIN = [top_k(f"plain-{k}", pack([0.5, 0.375, 0.125]), k, list(range(k))) for k in (1, 2, 3)]
LONG_ROW = msgspec.to_builtins(grid(1, 300, span=8, put={7: 0.5, 9: 0.25}))
LONG = top_k("long", LONG_ROW, 2, [7, 9])


def only(*names: str) -> dict[str, Mutant]:
    return {name: MUTANTS[name] for name in names}


def test_there_are_more_than_150_mutants_of_samplers_and_each_operation_has_one() -> None:
    assert len(SAMPLER_MUTANTS) > 150
    touched = {op for each in SAMPLER_MUTANTS.values() for op in each.ops or ()}
    assert touched <= set(SAMPLER_OPS)
    assert {"top_k", "top_p", "draw", "speculative", "chain", "batch", "sequence"} <= touched


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_is_right_in_another_way(name: str) -> None:
    control = CONTROLS[name]
    answer = control.witness.ask(control.engine)
    assert isinstance(answer, Ok)
    assert answer == control.witness.ask(ReferenceEngine())


def test_a_control_that_a_record_kills_is_trouble() -> None:
    wrong = {"control": replace(MUTANTS["top-k-keeps-all-equals"], name="control")}
    report = run_gate(Records([TIED, *PLAIN]), mutants={}, controls=wrong, required=0)
    assert report.trouble == [
        "sampling/top_k/tests/tied calls control wrong, which is right in another way"
    ]
    assert not report.ok


def test_a_mutant_is_asked_only_where_it_may_differ_and_counted_among_all() -> None:
    asked = Counter[str]()

    @answering("top_k", {"probs": pack([0.5]), "params": pack_parameters({"k": 1})})
    def counted(session: SamplerSession, op: str, request: Request) -> Ok:
        """Count what is asked. Own."""
        asked[op] += 1
        return Ok({"keep": []})

    greedy = make_case(
        "greedy",
        id="sampling/greedy/tests/one",
        profile="standard",
        why="An example for the tests of the gate.",
        flags=[],
        spec="docs/sampling.md",
        verdict=Exact(),
        input=msgspec.convert({"logits": pack([0.5])}, OPERATIONS["greedy"].question),
        out=msgspec.convert({"token": 0}, OPERATIONS["greedy"].answer),
    )
    cases = [TIED, *PLAIN, greedy]
    (trial,) = run_gate(Records(cases), mutants={"counted": counted}, required=0).trials
    assert asked == {"top_k": 4}
    assert (len(trial.killers), trial.asked) == (4, 5)


def test_long_rows_are_asked_of_mutants_that_nothing_shorter_kills() -> None:
    tied, first = "top-k-keeps-all-equals", "top-k-keeps-the-first-k"
    report = run_gate(Records([TIED, *PLAIN, LONG]), mutants=only(tied, first), required=0)
    killers = {trial.mutant.name: [case.id for case in trial.killers] for trial in report.trials}
    assert killers == {tied: [TIED.id], first: [LONG.id]}


def test_the_page_names_every_mutant_its_flags_and_what_one_call_cannot_show() -> None:
    report = run_gate(Records([TIED, *PLAIN]), mutants=only("top-k-keeps-all-equals"), required=0)
    page = mutants_page(report)
    assert "| `top-k-keeps-all-equals` | All tokens as heavy" in page
    assert "| 1 | Ties 1 |" in page
    assert all(bug in page for bug, *_ in tables("beyond")["bugs"])
    assert page == mutants_page(report)


def test_what_catches_a_bug_that_one_call_cannot_show_exists() -> None:
    topics = {case.id.rpartition("/")[0] for case in open_catalogue().cases}
    topics |= {topic.rpartition("/")[0] for topic in topics}
    named = {part for *_, caught in tables("beyond")["bugs"] for part in caught.split("`")[1::2]}
    assert {f"sampling/{name}" for name in named} <= topics
