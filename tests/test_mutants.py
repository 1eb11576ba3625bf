"""What mutants are, and what the gate says about them.

The gate over the real fixtures is run by `python -m authoring mutants`; here it meets small ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations

import msgspec
import pytest
from rich.console import Console

from authoring.cases.draft import Draft, finish
from authoring.mutants.gate import REQUIRED, GateReport, RareKill, Trial, rare_kills, run_gate
from authoring.mutants.mutant import (
    Mutant,
    Witness,
    by_name,
    bytewise,
    encode,
    leaves_as_it_is,
    preparing,
    spelled,
)
from authoring.mutants.printing import print_gate
from authoring.mutants.table import MUTANTS
from bpe_ref import TextRules, Vocabulary
from sampling_ref.steps.table import STEPS
from tokenref.answers import Answer, Crashed, Ok, Refused
from tokenref.catalogue import Selection, open_catalogue
from tokenref.diagnosis.signatures import known_causes
from tokenref.engines.reference import ReferenceEngine
from tokenref.questions.sampling import pack_parameters
from tokenref.questions.text import TextInput
from tokenref.record import Case, make_case, op_of
from tokenref.runner import run_engine
from tokenref.subjects import SAMPLERS, TokenizerFile

TWICE = spelled("a aa")
CUT = bytewise(r"\p{L}+|\s+", b"aa", b"ab", whole_piece=True)


@dataclass
class SmallFixtures:
    """A catalogue of a handful of cases."""

    cases: list[Case]
    canaries: list[Case] = field(default_factory=list)
    vocabularies: Mapping[str, Vocabulary] = field(
        default_factory=lambda: {each.digest(): each for each in (TWICE, CUT)}
    )

    def subject(self, digest: str) -> Vocabulary | str:
        return self.vocabularies.get(digest, "there is no such vocabulary")


def case(op: str, slug: str, vocabulary: Vocabulary, text: str, *flags: str) -> Case:
    draft = Draft(
        op, "small", slug, "small", TextInput(text=text), "A case for the tests of the gate.", flags
    )
    return finish(draft, vocabulary)


def some_cases() -> list[Case]:
    return [
        case("encode", "odd", TWICE, "aaa", "Ties"),
        case("encode", "even", TWICE, "aa", "Plain"),
        *(case("count", f"single_{times}", CUT, "b " * times, "Idle") for times in range(1, 9)),
    ]


def wrong(right: Case) -> Case:
    """Return the case with an answer that is not right."""
    content = msgspec.structs.asdict(right)
    content.pop("sum")
    content["out"] = replace_ids(content["out"])
    return make_case("encode", **content)


def replace_ids(out: object) -> object:
    return msgspec.structs.replace(out, ids=[0]) if isinstance(out, msgspec.Struct) else out


def answer_of(engine: ReferenceEngine, each: Mutant) -> Answer:
    return answer_to(each.witness, engine)


def answer_to(witness: Witness, engine: ReferenceEngine) -> Answer:
    return witness.ask(replace(engine, with_stages=False))


def is_the_reference(each: Mutant, witness: Witness) -> bool:
    """Tell whether a mutant says that it cannot be seen here."""
    file = witness.vocabulary
    return isinstance(file, TokenizerFile) and leaves_as_it_is(each.engine, file, witness.profile)


def only(*names: str) -> dict[str, Mutant]:
    return {name: MUTANTS[name] for name in names}


@preparing(encode(TWICE, "aaa"))
def control(vocabulary: Vocabulary) -> Vocabulary:
    """Change nothing: the reference itself. Own."""
    return vocabulary


# ---- mutants


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_answers_its_witness_wrongly(name: str) -> None:
    right = answer_of(ReferenceEngine(), MUTANTS[name])
    answer = answer_of(MUTANTS[name].engine, MUTANTS[name])
    assert answer != right
    assert not isinstance(answer, Crashed)


STEPWISE = ("draw", "mirostat_1", "mirostat_2", "speculative", *STEPS)


@cache
def smallest_records() -> list[Witness]:
    """Return the smallest question for each step, its rules, its parts and its parameters."""
    found: dict[object, tuple[int, Witness]] = {}
    for each in open_catalogue().cases:
        op, request = op_of(each), msgspec.to_builtins(each.input)
        if op in STEPWISE and (size := len(repr(request))) < 1_000:
            params = request.get("params", {})
            kinds = [(name, type(value)) for name, value in params.items()]
            key = (op, each.profile, *request, *kinds)
            if key not in found or size < found[key][0]:
                found[key] = size, Witness(SAMPLERS, op, request, rules=each.profile)
    return [question for _, question in found.values()]


def test_no_mutant_of_a_step_breaks_on_the_smallest_records() -> None:
    """The gate counts a mutant that breaks as killed, though the mistake is not seen."""
    for each in MUTANTS.values():
        for question in smallest_records() if each.ops else ():
            if each.concerns(SAMPLERS, question.op, question.profile):
                question.ask(each.engine)


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_has_a_slug_and_a_description(name: str) -> None:
    each = MUTANTS[name]
    assert each.name == name == name.lower().replace(" ", "-")
    assert each.engine.name == f"mutant {name}"
    assert len(each.description) > 20
    assert each.description.endswith(".")


@pytest.mark.parametrize("name", [name for name in MUTANTS if name.startswith("bad-bytes")])
def test_mutants_of_bad_bytes_do_not_break_where_a_byte_has_no_token(name: str) -> None:
    answer = encode(spelled("a"), b"a\xff").ask(MUTANTS[name].engine)
    assert isinstance(answer, Ok | Refused)


def test_a_mutant_of_two_steps_is_right_where_one_of_them_is_off() -> None:
    each = MUTANTS["transformers-top-k-before-repetition-penalty"]
    request = each.witness.request
    params = {**request["params"], **pack_parameters({"top_k": 0, "top_p": 0.5})}
    witness = replace(each.witness, request={**request, "params": params})
    assert answer_to(witness, each.engine) == answer_to(witness, ReferenceEngine())


@cache
def answer_to_witness(name: str, witness: str) -> str:
    """Return how a mutant answers the witness of another: as the reference, where it is that."""
    each, other = MUTANTS[name], MUTANTS[witness]
    asked = each.concerns(other.witness.vocabulary, other.witness.op, other.witness.profile)
    if not asked or is_the_reference(each, other.witness):
        return right_answer(witness)
    try:
        return repr(answer_of(each.engine, other))
    except Exception as error:  # noqa: BLE001 - a mutant may break in any way
        return type(error).__name__


@cache
def right_answer(witness: str) -> str:
    return repr(answer_of(ReferenceEngine(), MUTANTS[witness]))


def test_no_two_mutants_answer_all_records_and_all_witnesses_alike() -> None:
    """What the gate found says which of them answer all records alike."""
    known = known_causes()
    wrong = {
        cause.name: {
            record: answer
            for record, answer in cause.answers.items()
            if record not in known.left_out
        }
        for cause in known.causes
        if cause.kind == "bug"
    }
    by_length = sorted(MUTANTS, key=lambda name: len(repr(MUTANTS[name].witness.request)))
    alike = [
        (one, other)
        for one, other in combinations(by_length, 2)
        if wrong.get(one) == wrong.get(other)
        and all(
            answer_to_witness(one, witness) == answer_to_witness(other, witness)
            for witness in (one, other, *by_length)  # their own first: they nearly always differ
        )
    ]
    assert alike == []


def test_a_name_belongs_to_one_mutant() -> None:
    with pytest.raises(ValueError, match="'control' is used twice"):
        by_name([control, control])


def test_there_are_more_mutants_than_must_be_killed() -> None:
    assert len(MUTANTS) >= REQUIRED + 10


# ---- the gate


def test_a_mutant_is_killed_by_the_cases_that_it_answers_wrongly() -> None:
    report = run_gate(SmallFixtures(some_cases()), mutants=only("ties-from-the-right"), required=1)
    (trial,) = report.trials
    assert [killer.id for killer in trial.killers] == ["bpe/encode/small/odd"]
    assert (trial.fate, trial.asked, trial.share) == ("killed", 10, 0.1)
    assert report.matrix() == {"ties-from-the-right": {"Ties": 1}}
    assert report.unique_killers == {"bpe/encode/small/odd": ["ties-from-the-right"]}
    assert (report.idle_flags, report.idle_cases) == (["Idle", "Plain"], 9)
    assert report.ok


def test_the_reference_itself_survives() -> None:
    report = run_gate(SmallFixtures(some_cases()), mutants={"control": control}, required=0)
    assert [trial.mutant.name for trial in report.with_fate("survived")] == ["control"]
    assert not report.ok


def test_a_mutant_that_more_than_a_quarter_of_the_cases_kill_does_not_count() -> None:
    report = run_gate(SmallFixtures(some_cases()), mutants=only("count-is-one-more"), required=1)
    assert [trial.fate for trial in report.trials] == ["too crude"]
    assert not report.ok
    report.required = 0
    assert report.ok


def test_too_few_mutants_do_not_pass() -> None:
    fixtures = SmallFixtures(some_cases())
    assert not run_gate(fixtures, mutants=only("ties-from-the-right")).ok


def test_a_mutant_that_breaks_is_killed() -> None:
    def explode(_: Vocabulary) -> Vocabulary:
        raise RuntimeError("no")

    broken = replace(control, engine=replace(control.engine, prepare=explode))
    report = run_gate(SmallFixtures(some_cases()), mutants={"broken": broken})
    assert [trial.share for trial in report.trials] == [1.0]


def test_nothing_to_run_is_trouble() -> None:
    report = run_gate(SmallFixtures([]), required=0)
    assert report.trouble == ["there is no case to run"]
    assert not report.ok
    assert {trial.fate for trial in report.trials} == {"not run"}


def test_cases_without_their_vocabulary_are_counted_and_not_run() -> None:
    fixtures = SmallFixtures(some_cases(), vocabularies={TWICE.digest(): TWICE})
    report = run_gate(fixtures, mutants=only("ties-from-the-right"))
    assert report.asked == 2
    assert report.not_run == ["8 cases: there is no such vocabulary"]


def test_a_case_that_the_reference_fails_is_trouble() -> None:
    cases = some_cases()
    cases[0] = wrong(cases[0])
    report = run_gate(SmallFixtures(cases), mutants=only("count-is-pieces"), required=0)
    assert [sentence[:42] for sentence in report.trouble] == [
        "the reference fails bpe/encode/small/odd: "
    ]
    assert not report.ok


def test_a_mutant_that_few_records_kill_needs_an_explanation_that_names_them() -> None:
    name, killer = "ties-from-the-right", "bpe/encode/small/odd"

    def trouble(**rare: list[str]) -> list[str]:
        explained = {each: RareKill(records, "") for each, records in rare.items()}
        fixtures = SmallFixtures(some_cases())
        return run_gate(fixtures, mutants=only(name), required=1, rare=explained).trouble

    assert trouble(**{name: [killer]}) == []
    assert trouble() == [f"only {killer} kill {name}: say why in rare_kills.toml"]
    assert trouble(**{name: ["bpe/encode/small/even"]}) == [
        f"{name} is killed by {killer}, rare_kills.toml names others"
    ]
    assert trouble(**{name: [killer], "other": [killer]}) == [
        "rare_kills.toml explains other, which is no mutant that few records kill"
    ]


def test_explanations_of_rare_kills_are_short_sentences_in_the_order_of_the_mutants() -> None:
    rare = rare_kills()
    assert list(rare) == [name for name in MUTANTS if name in rare]
    for kill in rare.values():
        assert kill.why.endswith(".")
        assert len(kill.why) <= 160
        assert list(kill.records) == sorted(set(kill.records))


def test_no_seeded_bug_makes_a_run_invalid() -> None:
    """Some give exactly the wrong answer of a canary: they fail it, and the judge is trusted."""
    catalogue, failed = open_catalogue(), set[str]()
    finished = run_engine(ReferenceEngine(), catalogue.canaries, catalogue)
    assert finished.trouble == []
    subjects = [(each, catalogue.subject(each.vocab)) for each in catalogue.canaries]
    for mutant in MUTANTS.values():
        canaries = [
            each
            for each, subject in subjects
            if not isinstance(subject, str) and mutant.concerns(subject, op_of(each), each.profile)
        ]
        if not canaries:
            continue  # it fails them all, as the reference does
        finished = run_engine(mutant.engine, canaries, catalogue)
        assert (finished.trouble, finished.exit_code == 3) == ([], False), mutant.name
        failed |= {result.case.id for result in finished.failures}
    assert {"canary/encode/wrong-ids", "canary/stat/shares-exchanged"} <= failed


def test_a_run_of_one_operation_asks_the_canaries_of_this_operation_only() -> None:
    catalogue, greedy = open_catalogue(), MUTANTS["greedy-takes-the-last-of-equals"].engine
    for op, failed in (("top_k", []), ("greedy", ["canary/greedy/row-last-of-equals"])):
        cases = catalogue.select(Selection(ops=(op,)))
        names = [each.case.id for each in run_engine(greedy, cases, catalogue).failures]
        assert [name for name in names if name.startswith("canary/")] == failed


def test_a_canary_that_passes_is_trouble() -> None:
    right, *others = some_cases()
    fixtures = SmallFixtures(others, canaries=[wrong(right)])
    assert run_gate(fixtures, mutants={}, required=0).trouble == []
    fixtures.canaries.append(right)
    report = run_gate(fixtures, mutants={}, required=0)
    assert report.trouble == [
        "self-check failed: the judge accepted a known-wrong answer (canary bpe/encode/small/odd)"
    ]
    assert not report.ok


def test_stages_kill_nobody() -> None:
    whole = replace(CUT, text=TextRules(whole_piece=True))
    fixtures = SmallFixtures(
        [case("encode", "cut", whole, "a b")], vocabularies={whole.digest(): whole}
    )

    @preparing(encode(whole, "a b"))
    def pieces_only(vocabulary: Vocabulary) -> Vocabulary:
        """Cuts where nothing merges. Own."""
        return replace(vocabulary, text=TextRules(r"\p{L}| "))

    report = run_gate(fixtures, mutants={"pieces-only": pieces_only})
    assert [trial.fate for trial in report.trials] == ["survived"]


def test_the_report_names_survivors_first_and_says_what_is_wrong() -> None:
    fixtures = SmallFixtures(some_cases(), canaries=some_cases()[:1])
    mutants = only("ties-from-the-right", "count-is-one-more") | {"control": control}
    console = Console(width=200, no_color=True)
    with console.capture() as capture:
        print_gate(console, run_gate(fixtures, mutants=mutants))
    shown = capture.get()
    places = [shown.index(name) for name in ("control", "count-is-one-more", "ties-from-the")]
    assert places == sorted(places)
    for expected in (
        "trouble: self-check failed",
        "flags that kill nothing: Plain",
        "at least 35 mutants must be killed",
        "3 mutants: 1 killed, 1 too crude to count, 1 survived; 10 cases, 1 of them kill nothing",
    ):
        assert expected in shown


def test_a_mutant_that_was_asked_nothing_was_not_run() -> None:
    report = GateReport([Trial(control)], asked=0, flags=[], required=0)
    assert report.trials[0].share == 0
    assert [trial.fate for trial in report.trials] == ["not run"]
