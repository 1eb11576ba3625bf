"""The gate: every mutant runs over the fixtures, and none may survive.

A mutant is *killed* by a case if its answer does not pass. A mutant that no case kills
*survives*: a real engine with the same mistake would pass too. A mutant that more than a quarter
of the cases on subjects of its kind kill is *too crude*: any test would find it, so it does not
count.

Only final answers are compared, not stages, because engines need not report them. Mutants of
vocabularies get cases about vocabularies, those of whole tokenizers cases about these. Texts of
more than `LONGEST` bytes are left out: they find engines that are slow or run out of stack, and
every mutant would have to encode them. Texts of more than `SHORT` bytes and rows of more than
`SHORT_ROW` tokens are asked only of mutants that fewer than `FEW` others kill, the shortest first,
until `FEW` records kill them. Texts of more than `SHORT_TO_CUT` bytes are cut only by mutants about
cutting.

The controls come first. The reference must pass every case, otherwise the kills mean nothing, and
it must fail every canary, which has a wrong answer. Negative controls, which are right in another
way than the reference, must pass. The reference cannot answer questions about an engine's own
random numbers; their control is `own_numbers`.

A mutant that fewer than `FEW` records kill hangs on them. `authoring/data/rare_kills.toml` says
which records these are, and why no others kill it. The gate compares: a kill that is not listed, or
listed and gone, may be one for the wrong reason.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, islice
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from authoring.data import tables
from authoring.mutants.mutant import Mutant, SessionWithHandler, leaves_as_it_is
from authoring.mutants.own_numbers import OwnNumbersEngine
from authoring.mutants.samplers import Remembering, SamplerWithHandler
from authoring.mutants.table import CONTROLS, MUTANTS
from bpe_ref import Tokenizer, Vocabulary
from bpe_ref.models.byte_bpe import ByteBPE, encode_quickly
from bpe_ref.vocabulary.merges import TokenId
from tokenref.answers import Answer, Crashed, Session, Unsupported, request_text
from tokenref.catalogue import is_large
from tokenref.engines.reference import ReferenceEngine
from tokenref.judge import FAILURES, judge
from tokenref.record import OWN_DRAW_OPS, Case, canonical_json, op_of
from tokenref.result import answer_digest
from tokenref.subjects import SAMPLERS, Subject, TokenizerFile, load_subject, together
from tokenref.verdicts import Survey

REQUIRED: Final = 35
"""How many mutants must be killed without being too crude."""

LARGEST_SHARE: Final = 0.25
"""The share of the cases on subjects of its kind that may kill a mutant that is not too crude."""

LONGEST: Final = 70_000
"""Bytes of the longest text that mutants get."""

SHORT: Final = 1_100
"""Bytes up to which a text is asked of every mutant."""

SHORT_ROW: Final = 1_100
"""Tokens of a row up to which every mutant is asked about it."""

CUTTING: Final = ("chunks", "split")

SHORT_TO_CUT: Final = 150
"""Bytes up to which every mutant cuts a text: one whose safe cuts are unknown counts for long."""

FEW: Final = 3
"""A mutant with fewer killers than this gets the long texts and rows, and an explanation."""

Fate: TypeAlias = Literal["survived", "killed", "too crude", "not run"]


class RareKill(NamedTuple):
    """Why only a few records kill a mutant."""

    records: Sequence[str]
    why: str
    """What shows the mistake there, and why nothing else does."""


def rare_kills() -> dict[str, RareKill]:
    """Return the explanations by the mutant's name.

    >>> all(len(kill.why) > 20 for kill in rare_kills().values())
    True
    """
    return {name: RareKill(records, why) for name, records, why in tables("rare_kills")["kills"]}


class Fixtures(Protocol):
    """The parts of a catalogue that the gate needs."""

    @property
    def cases(self) -> Sequence[Case]:
        """The cases."""

    @property
    def canaries(self) -> Sequence[Case]:
        """Cases with wrong answers."""

    def subject(self, digest: str) -> Subject | str:
        """Return a vocabulary or tokenizer by its digest, or the reason why it is unavailable."""


@dataclass
class Trial:
    """The result of one mutant."""

    mutant: Mutant
    asked: int = 0
    killers: list[Case] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    """The digests of its wrong answers, by the id of the killer."""

    @property
    def share(self) -> float:
        """The share of the cases that kill it."""
        return len(self.killers) / self.asked if self.asked else 0.0

    @property
    def fate(self) -> Fate:
        """The fate of the mutant."""
        if not self.asked:
            return "not run"
        if not self.killers:
            return "survived"
        return "too crude" if self.share > LARGEST_SHARE else "killed"

    @property
    def flags(self) -> Counter[str]:
        """How many killers have each flag."""
        return Counter(flag for case in self.killers for flag in case.flags)


@dataclass
class GateReport:
    """The results of all mutants."""

    trials: list[Trial]
    asked: int
    """The number of cases that ran."""

    flags: list[str]
    """The flags of these cases."""

    not_run: list[str] = field(default_factory=list)
    """Why the other cases did not run: one sentence per reason."""

    trouble: list[str] = field(default_factory=list)
    """Why the gate proves nothing, if it does not."""

    required: int = REQUIRED
    left_out: list[str] = field(default_factory=list)
    """The ids of the cases that not every mutant was asked, because they are long."""

    others: list[Trial] = field(default_factory=list)
    """The results of other rules, which are no bugs and may survive."""

    def with_fate(self, fate: Fate) -> list[Trial]:
        """Return the trials with this fate."""
        return [trial for trial in self.trials if trial.fate == fate]

    @property
    def ok(self) -> bool:
        """Whether every mutant was killed, enough of them count, and the controls were right."""
        counting = len(self.with_fate("killed"))
        return not self.trouble and not self.with_fate("survived") and counting >= self.required

    @property
    def unique_killers(self) -> dict[str, list[str]]:
        """The cases without which some mutant would survive, by id, and those mutants."""
        unique: dict[str, list[str]] = {}
        for trial in self.trials:
            if len(trial.killers) == 1:
                unique.setdefault(trial.killers[0].id, []).append(trial.mutant.name)
        return unique

    @property
    def idle_cases(self) -> int:
        """How many cases kill no mutant at all."""
        return self.asked - len({case.id for trial in self.trials for case in trial.killers})

    @property
    def idle_flags(self) -> list[str]:
        """The flags that kill no mutant at all."""
        busy = {flag for trial in self.trials for flag in trial.flags}
        return [flag for flag in self.flags if flag not in busy]

    def matrix(self) -> dict[str, dict[str, int]]:
        """Return for each mutant how many cases of each flag kill it; flags without are left out.

        >>> GateReport([], asked=0, flags=[]).matrix()
        {}
        """
        return {trial.mutant.name: dict(sorted(trial.flags.items())) for trial in self.trials}


def run_gate(
    fixtures: Fixtures,
    *,
    mutants: Mapping[str, Mutant] = MUTANTS,
    controls: Mapping[str, Mutant] = CONTROLS,
    others: Iterable[Mutant] = (),
    required: int = REQUIRED,
    rare: Mapping[str, RareKill] | None = None,
) -> GateReport:
    """Run the mutants, and what is right in another way, over all cases that can be asked.

    `rare` are the explanations of kills by fewer than `FEW` records; None: they are not compared.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Nothing:
    ...     cases = canaries = ()
    >>> run_gate(Nothing()).trouble
    ['there is no case to run']
    """
    questions, missing = _questions(fixtures.cases, fixtures)
    canaries, _ = _questions(fixtures.canaries, fixtures)
    flags = sorted({flag for question in questions for flag in question.case.flags})
    trials = [Trial(each) for each in mutants.values()]
    report = GateReport(trials, len(questions), flags, missing, required=required)
    short = {each.case.id for each in questions if not (each.is_long or each.is_cut_slowly)}
    report.left_out = [case.id for case in fixtures.cases if case.id not in short]
    report.others = [Trial(each) for each in others]
    if not questions:
        report.trouble.append("there is no case to run")
    long: list[_Question] = []
    for _, group in groupby(questions, key=_loaded_together):
        together = _controlled(list(group), report)
        long += [question for question in together if question.is_long]
        together = [question for question in together if not question.is_long]
        _try([*trials, *report.others], together)
        for control in controls.values():
            asked = _concerned(control, together)
            report.trouble += [
                f"{case.id} calls {control.name} wrong, which is right in another way"
                for case, _ in (_failures(control.engine, asked) if asked else [])
            ]
    for _, group in groupby(long, key=_loaded_together):
        together = sorted(group, key=lambda question: _length(question.request))
        _try([trial for trial in trials if len(trial.killers) < FEW], together, FEW)
    if rare is not None:
        report.trouble += unexplained(trials, rare)
    for _, group in groupby(canaries, key=_loaded_together):
        together = list(group)
        failed = [case for case, _ in _failures(OwnNumbersEngine(), together)]
        report.trouble += [
            "self-check failed: the judge accepted a known-wrong answer "
            f"(canary {question.case.id})"
            for question in together
            if question.case not in failed
        ]
    return report


def unexplained(trials: Iterable[Trial], rare: Mapping[str, RareKill]) -> list[str]:
    """Return a sentence for each mutant whose few killers are not those of its explanation.

    >>> unexplained([], {"no-such": RareKill(["bpe/encode/a/b"], "There is only this one.")})
    ['rare_kills.toml explains no-such, which is no mutant that few records kill']
    """
    few = {trial.mutant.name: trial for trial in trials if 0 < len(trial.killers) < FEW}
    found = [
        f"rare_kills.toml explains {name}, which is no mutant that few records kill"
        for name in rare
        if name not in few
    ]
    for name, trial in few.items():
        ids = sorted(case.id for case in trial.killers)
        if name not in rare:
            found.append(f"only {' and '.join(ids)} kill {name}: say why in rare_kills.toml")
        elif ids != sorted(rare[name].records):
            found.append(f"{name} is killed by {' and '.join(ids)}, rare_kills.toml names others")
    return found


def _try(
    trials: Iterable[Trial], questions: Sequence["_Question"], enough: int | None = None
) -> None:
    """Ask mutants questions, all of one vocabulary or profile, until they have enough killers."""
    for trial in trials:
        about = trial.mutant.witness.vocabulary
        if questions and type(questions[0].subject) is type(about):
            trial.asked += len(questions)  # those it must answer rightly as well
        asked = _concerned(trial.mutant, questions)
        if asked:
            more = None if enough is None else enough - len(trial.killers)
            for case, answer in islice(_failures(trial.mutant.engine, asked), more):
                trial.killers.append(case)
                trial.answers[case.id] = answer_digest(op_of(case), answer)


def _concerned(mutant: Mutant, questions: Sequence["_Question"]) -> list["_Question"]:
    """Return the questions that a mutant may answer otherwise than the reference."""
    return [
        question
        for question in questions
        if mutant.concerns(question.subject, question.op, question.case.profile)
        and (mutant.witness.op in CUTTING or not question.is_cut_slowly)
    ]


@dataclass(frozen=True)
class _Question:
    """A case, ready to be asked many times."""

    case: Case
    subject: Subject
    op: str
    request: Mapping[str, Any]
    right: Answer | None = None
    """What the reference says, once it has passed: an equal answer needs no judge."""

    @property
    def is_long(self) -> bool:
        """Whether only mutants that hardly anything shorter kills are asked this."""
        if self.case.vocab is not None:
            return _length(self.request) > SHORT
        return is_large(self.case) or any(
            isinstance(part, dict) and part.get("n", 0) > SHORT_ROW
            for name in ("probs", "logits", "target")
            for part in _parts(self.request.get(name))
        )

    @property
    def is_cut_slowly(self) -> bool:
        """Whether only mutants about cutting are asked this."""
        return self.op in CUTTING and _length(self.request) > SHORT_TO_CUT


def _questions(cases: Iterable[Case], fixtures: Fixtures) -> tuple[list[_Question], list[str]]:
    """Return the cases that can be asked, by vocabulary, and why the others cannot."""
    questions: list[_Question] = []
    missing: dict[str, list[str]] = {}
    for case in sorted(cases, key=together):
        subject = SAMPLERS if case.vocab is None else fixtures.subject(case.vocab)
        if isinstance(subject, str):
            missing.setdefault(subject, []).append(case.id)
        else:
            request = msgspec.to_builtins(case.input)
            if isinstance(case.verdict, Survey):
                missing.setdefault("nothing is expected of them", []).append(case.id)
                continue
            if case.vocab is not None and _length(request) > LONGEST:
                missing.setdefault(f"their text has more than {LONGEST} bytes", []).append(case.id)
                continue
            questions.append(_Question(case, subject, op_of(case), request))
    return questions, [f"{len(ids)} cases: {reason}" for reason, ids in missing.items()]


def _parts(value: Any) -> Sequence[Any]:
    """Return the rows of a part of a question, which may be one row or a list of them."""
    return value if isinstance(value, list) else [value]


def _loaded_together(question: _Question) -> tuple[str, str]:
    """Return a key that is the same for cases which one session answers."""
    return question.case.vocab or "", question.case.profile


def _length(request: Mapping[str, Any]) -> int:
    """Return the number of bytes of a request's text, or of its ids."""
    if not {"text", "bytes", "recipe"}.isdisjoint(request):
        content = request_text(request)
        return len(content if isinstance(content, bytes) else content.encode())
    return len(request["ids"]) if "ids" in request else len(canonical_json(request))


def _controlled(questions: Sequence[_Question], report: GateReport) -> list[_Question]:
    """Return the questions of one vocabulary that the reference passes, with its answers."""
    passed: list[_Question] = []
    answers = _answers(OwnNumbersEngine(), questions)
    for question, answer in zip(questions, answers, strict=True):
        judgement = judge(question.case, answer, question.subject)
        if judgement.status == "pass":
            passed.append(replace(question, right=answer))
        else:
            report.trouble.append(f"the reference fails {question.case.id}: {judgement.detail}")
    return passed


def _failures(
    engine: ReferenceEngine, questions: Sequence[_Question]
) -> Iterator[tuple[Case, Answer]]:
    """Yield cases, all of one vocabulary, that tell an engine from a right one, and its answers."""
    first = questions[0]
    if isinstance(first.subject, TokenizerFile) and _is_the_reference(engine, first):
        return
    for question, answer in zip(questions, _answers(engine, questions), strict=True):
        if answer != question.right:
            judgement = judge(question.case, answer, question.subject)
            if judgement.status in FAILURES:
                yield question.case, answer


def _is_the_reference(engine: ReferenceEngine, question: _Question) -> bool:
    """Tell whether a mutant says that it cannot be seen with this whole tokenizer."""
    if question.right is None:  # a canary, which the right answer must not pass
        return False
    subject = question.subject
    assert isinstance(subject, TokenizerFile)  # noqa: S101 - asked of no other
    try:
        return leaves_as_it_is(engine, subject, question.case.profile)
    except Exception:  # noqa: BLE001 - a mutant may break in any way
        return False


def _answers(engine: ReferenceEngine, questions: Sequence[_Question]) -> Iterator[Answer]:
    """Let an engine answer questions of one vocabulary, without stages."""
    session: Session | Unsupported | Crashed
    try:
        first = questions[0]
        silent = replace(engine, with_stages=False)
        if isinstance(first.subject, Vocabulary):
            prepared = partial(_remembering, engine.prepare_tokenizer)
            silent = replace(silent, prepare_tokenizer=prepared)
        name = first.subject.name if isinstance(first.subject, TokenizerFile) else engine.name
        session = load_subject(silent, first.subject, name, first.case.profile)
    except Exception as error:  # noqa: BLE001 - a mutant may break in any way
        session = _crash(error)
    if isinstance(session, SessionWithHandler):
        session = replace(session, known=_known(questions))
    elif (
        isinstance(session, SamplerWithHandler)
        and session.right.tools == ReferenceEngine().sampler_tools
    ):
        profile, tools = session.right.profile, session.right.tools
        session = replace(session, right=Remembering(profile, tools, _known(questions)))
    for question in questions:
        if isinstance(session, Unsupported | Crashed):
            yield session
            continue
        try:
            answer = session.answer(question.op, question.request)
        except Exception as error:  # noqa: BLE001 - a mutant may break in any way
            answer = _crash(error)
        yield answer


def _remembering(prepare: Callable[[Tokenizer], Tokenizer], tokenizer: Tokenizer) -> Tokenizer:
    """Return a prepared tokenizer: merging that is right is not done again for every mutant."""
    tokenizer = prepare(tokenizer)
    model = tokenizer.model
    if isinstance(model, ByteBPE) and model.encode_symbols is encode_quickly:
        return tokenizer.replace(model=replace(model, encode_symbols=_merged))
    return tokenizer


def _merged(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    known, key = vocabulary.remember(_merged_before), tuple(symbols)
    if key not in known:
        known[key] = encode_quickly(vocabulary, symbols)
    return [*known[key]]


def _merged_before(_: Vocabulary) -> dict[tuple[TokenId, ...], list[TokenId]]:
    return {}


def _known(questions: Iterable[_Question]) -> dict[tuple[str, int], Any]:
    """Return what the reference says to questions, by operation and identity of the request."""
    return {
        (each.op, id(each.request)): each.right
        for each in questions
        if each.right is not None and each.op not in OWN_DRAW_OPS
    }


def _crash(error: Exception) -> Crashed:
    return Crashed(f"{type(error).__name__}: {error}"[:300])
