"""The checks of `tokenref doctor`: hello, load, a few questions per operation, a canary, and bye.

The questions are short records. After a mistake that breaks the conversation, the program is
restarted for the next operation. So one run finds the mistakes in all operations.
"""

import json
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec

from bpe_ref import Vocabulary
from tokenref.answers import (
    UNDECLARED,
    Crashed,
    Malformed,
    NoAnswer,
    Ok,
    PartialSums,
    Refused,
    Skipped,
    why_none,
)
from tokenref.catalogue import CANARY, Catalogue, is_large
from tokenref.diagnosis import try_hint
from tokenref.diagnosis.diagnose import diagnose
from tokenref.diagnosis.facts import VAGUE, result_of
from tokenref.diagnosis.signatures import FEWEST
from tokenref.doctor.conversation import (
    Conversation,
    Finding,
    Said,
    StopError,
    hint_on_answer,
    hint_on_code,
    near,
)
from tokenref.judge import judge
from tokenref.protocol.channel import Patience
from tokenref.protocol.messages import HelloAnswer, loading_of, shown
from tokenref.protocol.opening import arguments_of
from tokenref.readable import readable_json
from tokenref.record import (
    OWN_DRAW_OPS,
    PIPELINE_OPS,
    SAMPLER_OPS,
    Case,
    canonical_case,
    canonical_json,
    form_of,
    op_of,
)
from tokenref.result import Result
from tokenref.rounding.arithmetics import ARITHMETICS
from tokenref.rules import rule_names
from tokenref.subjects import TokenizerFile
from tokenref.verdicts import MustRefuse, Row, Rows, Survey

_SHORT: Final = 100
"""Maximum length of a short question, in characters. Very short ones reveal few mistakes."""

SMOKE_CASES: Final = 3
"""How many records with an answer are tried per operation."""


_NOT_SHORT: Final = (MustRefuse, Row, Rows, Survey)


_LONG_SUMS: Final = ("softmax", "logprobs", "batch")
"""The operations with records whose limit follows from the partial sums of long rows."""


@dataclass(frozen=True)
class Trial:
    """Records of one operation, one profile, and at most one vocabulary."""

    op: str
    profile: str
    vocab: str | None
    answered: Sequence[Case]
    """Short records with an answer, shortest first."""

    refused: Sequence[Case]
    """At most one record that must be refused."""


def trials(catalogue: Catalogue, op: str, profiles: Sequence[str]) -> Iterator[Trial]:
    """Yield the trials for an operation: those with shipped vocabularies first, short ones first.

    >>> from tokenref.catalogue import open_catalogue
    >>> first = next(trials(open_catalogue(), "encode", ["definition"]))
    >>> len(first.answered), len(first.refused), first.profile
    (3, 1, 'definition')
    """
    groups: dict[tuple[str, str | None], list[Case]] = {}
    for case in catalogue.cases:
        if op_of(case) == op and case.profile in profiles and not is_large(case):
            groups.setdefault((case.profile, case.vocab), []).append(case)
    found = []
    for (profile, vocab), cases in groups.items():
        cases.sort(key=_length)
        answered = [case for case in cases if not isinstance(case.verdict, _NOT_SHORT)]
        refused = [case for case in cases if isinstance(case.verdict, MustRefuse)]
        if answered:
            found.append(Trial(op, profile, vocab, _spread(answered), refused[:1]))
    # Of these, those with all kinds of records come first, then ordinary text, then short records.
    found.sort(
        key=lambda trial: (
            not is_shipped(catalogue, trial.vocab),
            len(trial.answered) < SMOKE_CASES,
            not trial.refused,
            not any("Prose" in case.flags for case in trial.answered),
            sum(map(_length, trial.answered)),
        )
    )
    yield from found


def is_shipped(catalogue: Catalogue, vocab: str | None) -> bool:
    """Return whether nothing must be loaded or the fixtures contain the file."""
    return vocab is None or catalogue.entry(vocab).path is not None


def canaries(catalogue: Catalogue, abilities: Mapping[str, Sequence[str]]) -> list[Case]:
    """Return the canaries for the operations and profiles that a program declares."""
    return [
        case
        for case in catalogue.canaries
        if case.profile in abilities.get(op_of(case), ()) and is_shipped(catalogue, case.vocab)
    ]


def _spread(cases: Sequence[Case]) -> Sequence[Case]:
    """Return the first, the middle and the last of the short records.

    Records with 16-bit floats are short but test something other than the operation.
    """
    wide = [case for case in cases if "SixteenBit" not in case.flags] or cases
    short = [case for case in wide if _length(case) <= _SHORT]
    if not short:  # one that engines without numbers of 64 bits can answer
        return sorted(wide, key=lambda case: b'"f64"' in canonical_case(case))[:1]
    return [short[at] for at in sorted({0, len(short) // 2, len(short) - 1})]


def _length(case: Case) -> int:
    return len(canonical_json(msgspec.to_builtins(case.input)))


_MANY: Final = 64
"""Number of questions in the largest run that a runner sends."""

_WIDEST: Final = 300


def examine(
    command: str, catalogue: Catalogue, patience: Patience, *, ids_only: bool = False
) -> Iterator[Finding]:
    """Yield findings about a program as they are made. `ids_only` is as for `run_engine`.

    Raises `StartError` if the command is invalid or cannot be started.
    """
    arguments = arguments_of(command)
    with tempfile.TemporaryDirectory(prefix="tokenref-") as folder:
        visit = _Visit(arguments, catalogue, patience, Path(folder), ids_only=ids_only)
        yield from visit.walk()


class _Visit:
    """The checks of one program."""

    def __init__(
        self,
        arguments: Sequence[str],
        catalogue: Catalogue,
        patience: Patience,
        folder: Path,
        *,
        ids_only: bool,
    ) -> None:
        self._arguments = arguments
        self._catalogue = catalogue
        self._patience = patience
        self._folder = folder
        self._ids_only = ids_only
        self._seen = list[Result]()

    def walk(self) -> Iterator[Finding]:
        try:
            with self._conversation() as (conversation, hello):
                self._ids_only |= hello.impl.ids_only
                yield Finding("ok", "start", f"{shlex.join(self._arguments)} was started")
                yield from about_hello(hello, profiles_of(self._catalogue.cases))
                yield conversation.bye()
        except StopError as stop:
            yield stop.finding
            return
        abilities = {op: ability.profiles for op, ability in hello.ops.items()}
        for op, profiles in abilities.items():
            try:
                with self._conversation() as (conversation, _):
                    yield from self._about_op(conversation, op, profiles, hello)
            except StopError as stop:
                yield replace(stop.finding, about=op)
        try:
            with self._conversation() as (conversation, _):
                yield from self._about_canaries(conversation, abilities)
        except StopError as stop:
            yield replace(stop.finding, about="canary")
        for each in try_hint(lambda: diagnose(self._seen, fewest=1)) or ():
            hint = "a few questions prove little; tokenref check compares all records"
            if len(each.ids) >= FEWEST or not each.ids[0].startswith("sampling/"):
                yield Finding("note", "likely cause", f"{each.sentence}", hint=hint)

    @contextmanager
    def _conversation(self) -> Iterator[tuple[Conversation, HelloAnswer]]:
        conversation = Conversation(self._arguments, self._patience)
        try:
            yield conversation, conversation.hello()
        finally:
            conversation.end()

    def _about_op(
        self, conversation: Conversation, op: str, profiles: Sequence[str], hello: HelloAnswer
    ) -> Iterator[Finding]:
        """Yield the findings for a few questions of one operation."""
        reasons: list[str] = []
        left = iter(trials(self._catalogue, op, profiles))
        for trial in left:
            instead = self._load(conversation, op, trial.vocab)
            if isinstance(instead, Crashed):
                said = f"loading {self._catalogue.name(trial.vocab)} failed: {instead.message}"
                right = '{"id":"l0","skip":{"reason":"has no pattern"}}'
                advice = "if the engine does not support it, answer with skip and a reason"
                yield Finding("problem", op, said, right=right, hint=advice)
                return
            if instead is not None:
                reasons.append(why_none(instead))
                continue
            found = list(self._about_trial(conversation, trial, hello))
            if all(each.kind == "note" for each in found):  # all was skipped
                reasons += [each.text for each in found[:1]]
                continue
            yield from found
            yield from self._about_refusals(conversation, chain([trial], left))
            return
        if reasons:
            skipped = f"all {len(reasons)} vocabularies were skipped, the first one: {reasons[0]}"
            absent = next((reason for reason in reasons if "is not available: " in reason), "")
            yield Finding("note", op, f"no question was answered: {skipped}", hint=absent)

    def _about_refusals(
        self, conversation: Conversation, left: Iterable[Trial]
    ) -> Iterator[Finding]:
        """Yield the finding for one question that must be refused, unless it is skipped."""
        for trial in left:
            if trial.refused and self._load(conversation, trial.op, trial.vocab) is None:
                found = self._about_refusal(conversation, trial, trial.refused[0])
                if found is not None:
                    yield found
                    return

    def _load(self, conversation: Conversation, about: str, vocab: str | None) -> NoAnswer | None:
        """Load the subject of records. Return None if that worked, else an answer."""
        if vocab is None:
            return None
        subject, name = self._catalogue.subject(vocab), self._catalogue.name(vocab)
        if not isinstance(subject, Vocabulary | TokenizerFile):
            return Skipped(f"{name} is not available: tokenref vocabulary fetch {name}")
        loading = loading_of(subject, name)
        path = self._folder / f"{loading.kind}-{name}.json"
        if not path.exists():
            path.write_bytes(loading.content())
        return conversation.load(about, loading.kind, vocab, path)

    def _ask(self, conversation: Conversation, trial: Trial, cases: Sequence[Case]) -> list[Said]:
        message: dict[str, Any] = {"op": trial.op, "profile": trial.profile}
        if trial.vocab is not None:
            message["tokenizer" if trial.op in PIPELINE_OPS else "vocab"] = trial.vocab
        right = None if cases[0].id.startswith(CANARY) else self._right(cases[0])
        questions = [msgspec.to_builtins(case.input) for case in cases]
        return conversation.run(message, questions, right)

    def _right(self, case: Case) -> dict[str, Any]:
        """Return the judged parts of the right answer to a record, or one of the right form.

        Stages are no such parts. Counts of own draws have no other right answer.
        """
        if isinstance(case.verdict, MustRefuse):
            return {"err": {"code": case.verdict.codes[0], "msg": "..."}}
        if case.out is None:
            return {"ok": json.loads(form_of(op_of(case), 0))}
        out = msgspec.to_builtins(case.out)
        parts = UNDECLARED.for_op(op_of(case), ids_only=self._ids_only).fields or out.keys()
        return {"ok": {name: out[name] for name in parts if name != "stages"}}

    def _about_trial(
        self, conversation: Conversation, trial: Trial, hello: HelloAnswer
    ) -> Iterator[Finding]:
        subject = self._catalogue.subject(trial.vocab)
        assert not isinstance(subject, str)  # noqa: S101 - the program has just loaded it
        where = f"{self._catalogue.name(trial.vocab)}, profile {trial.profile}"
        said = self._ask(conversation, trial, trial.answered)
        parts = UNDECLARED.for_op(trial.op, ids_only=self._ids_only)
        passed = 0
        for case, one in zip(trial.answered, said, strict=True):
            answer, judgement = one.answer, judge(case, one.answer, subject, parts)
            self._seen.append(result_of(case, answer, judgement))
            fact = next(iter(self._seen[-1].facts), "")
            passed += judgement.status == "pass"
            if judgement.status not in {"pass", "skip"}:
                text = f"{judgement.status}: {judgement.detail}"
                yield _about_answer(case, one, text, fact, self._right(case))
            if judgement.status == "skip":
                yield Finding("note", trial.op, f"{case.id} was skipped: {judgement.detail}")
            if judgement.status == "pass" and isinstance(answer, Ok):
                given = answer.out.get("stages", ())
                missing = sorted(each for each in hello.ops[trial.op].stages if each not in given)
                if missing and "stages" in msgspec.to_builtins(case.out):
                    stages = ", ".join(missing)
                    declared = f"hello promises the stages {stages}, but the answer lacks them"
                    yield Finding("note", trial.op, declared)
        if passed:
            where += f"; only {', '.join(parts.fields)}" if parts.fields else ""
            correct = f"{passed} of the first {len(said)} questions are correct ({where})"
            yield Finding("ok", trial.op, correct)
        if trial.op in OWN_DRAW_OPS or all(isinstance(one.answer, Skipped) for one in said):
            return  # its own draws differ from call to call
        yield from self._about_many(conversation, trial, hello)

    def _about_refusal(
        self, conversation: Conversation, trial: Trial, case: Case
    ) -> Finding | None:
        """Return a finding about a question that must be refused, or None if it is skipped."""
        subject = self._catalogue.subject(trial.vocab)
        assert not isinstance(subject, str)  # noqa: S101 - the program has just loaded it
        (said,) = self._ask(conversation, trial, [case])
        answer = said.answer
        if isinstance(answer, Skipped):
            return None
        judgement = judge(case, answer, subject)
        self._seen.append(result_of(case, answer, judgement))
        if judgement.status == "pass" and isinstance(answer, Refused):
            return Finding("ok", trial.op, f"invalid input is refused correctly: {answer.code}")
        suggestion = ""
        if isinstance(answer, Crashed):
            suggestion = "validate the input first; a crash does not count as a refusal"
            if "a code must be" in answer.message:
                suggestion = hint_on_code(str(said.result["err"]["code"]))
        return Finding(
            "problem",
            trial.op,
            f"{case.id} must be refused: {judgement.status}: {judgement.detail}",
            said.shown,
            _result(said, self._right(case)),
            suggestion,
            _question(case),
            is_answer=isinstance(answer, Ok | Refused) and not isinstance(answer, Malformed),
        )

    def _about_many(
        self, conversation: Conversation, trial: Trial, hello: HelloAnswer
    ) -> Iterator[Finding]:
        """Yield a finding if a question is answered differently in a batch."""
        many = min(_MANY, hello.limits.batch)
        cases = [trial.answered[place % len(trial.answered)] for place in range(many)]
        alone = self._ask(conversation, trial, trial.answered)
        together = self._ask(conversation, trial, cases)
        for place, said in enumerate(together):
            if said.answer != alone[place % len(alone)].answer:
                differs = (
                    f"{cases[place].id} is answered differently as number {place} of {many} "
                    f"questions: {said.answer!r:.120}, "
                    f"alone {alone[place % len(alone)].answer!r:.120}"
                )
                advice = "a question must not change the answer to another; "
                advice += "each answer has the key of its question"
                yield Finding("problem", trial.op, differs, hint=advice)
                return

    def _about_canaries(
        self, conversation: Conversation, abilities: Mapping[str, Sequence[str]]
    ) -> Iterator[Finding]:
        """Yield the findings for the canaries, whose recorded answers are wrong."""
        tried = rejected = 0
        for case in canaries(self._catalogue, abilities):
            op = op_of(case)
            subject = self._catalogue.subject(case.vocab)
            if isinstance(subject, str) or self._load(conversation, op, case.vocab) is not None:
                continue
            trial = Trial(op, case.profile, case.vocab, [case], [])
            (said,) = self._ask(conversation, trial, [case])
            judgement = judge(case, said.answer, subject)
            tried += judgement.status not in {"skip", "unsupported"}
            is_other = isinstance(said.answer, Malformed)  # and so no answer to reject
            rejected += judgement.status in {"fail", "wrong_error"} and not is_other
            asked = _question(case)
            if judgement.status == "pass":
                wrong = f"{case.id}: the program gave the known-wrong answer of a canary"
                found = Finding("problem", "canary", wrong, said.shown, hint=case.why, asked=asked)
                yield replace(found, is_answer=True)
            elif is_other or judgement.status in {"crash", "timeout"}:
                lacks = f"{case.id}: {judgement.status}: {judgement.detail}"
                yield Finding("problem", "canary", lacks, said.shown, asked=asked)
        if rejected:
            checked = f"self-check: {rejected} of {tried} known-wrong answers were rejected"
            yield Finding("ok" if rejected == tried else "note", "canary", checked)


def _about_answer(
    case: Case, said: Said, text: str, fact: str, right: Mapping[str, Any]
) -> Finding:
    is_right_form = isinstance(said.answer, Ok) and not isinstance(said.answer, Malformed)
    suggestion = hint_on_answer(said.result.get("ok")) or fact * (fact not in VAGUE)
    if isinstance(said.answer, Crashed) and "a code must be" in said.answer.message:
        suggestion = hint_on_code(str(said.result["err"]["code"]))
    return Finding(
        "problem",
        op_of(case),
        f"{case.id}: {text}",
        said.shown,
        "" if case.out is None and is_right_form else _result(said, right),
        suggestion or case.why,
        _question(case),
        is_answer=is_right_form or isinstance(said.answer, Refused),
    )


def _question(case: Case) -> str:
    return readable_json(msgspec.to_builtins(case.input), _WIDEST)


def _result(said: Said, content: Mapping[str, Any]) -> str:
    """Return a correct result for the same key."""
    return shown(msgspec.json.encode({"k": said.result.get("k", "01"), **content}))


def profiles_of(cases: Iterable[Case]) -> dict[str, set[str]]:
    """Return the profiles in the records of each operation."""
    found: dict[str, set[str]] = {}
    for case in cases:
        found.setdefault(op_of(case), set()).add(case.profile)
    return found


def about_hello(hello: HelloAnswer, profiles: Mapping[str, AbstractSet[str]]) -> Iterator[Finding]:
    """Yield what the program is, and what it declares that no record asks about or that is unknown.

    `profiles` are the profiles in the records of each operation.
    """
    language = f", {hello.impl.language}" if hello.impl.language else ""
    name = f"{hello.impl.name} {hello.impl.version}{language}"
    yield Finding("ok", "hello", f"it is {name}; operations: {', '.join(hello.ops) or 'none'}")
    if not hello.ops:
        right = '"ops":{"encode":{"profiles":["definition"]}}'
        yield Finding("problem", "hello", "the answer to hello lists no operation", right=right)
    for op, ability in hello.ops.items():
        if op not in profiles:
            yield Finding("note", op, "the fixtures have no records of this operation")
            continue
        yield from _about_profiles(op, ability.profiles, sorted(profiles[op]))
        yield from _about_sums(op, ability.declared().arithmetic)


def _about_sums(op: str, declared: str | PartialSums | None) -> Iterator[Finding]:
    """Yield whether what is declared about sums has no effect on how answers are judged."""
    if isinstance(declared, PartialSums) and op not in _LONG_SUMS:
        said = f"accum of {op} must be a label: partial sums are for {', '.join(_LONG_SUMS)}"
        yield Finding("problem", op, said, hint=f"labels: {', '.join(ARITHMETICS)}")
    elif isinstance(declared, str) and declared not in ARITHMETICS and op != "chain":
        said = f"accum of {op}: unknown label {declared!r:.80}{near(declared, ARITHMETICS)}"
        yield Finding("problem", op, said, hint=f"labels: {', '.join(ARITHMETICS)}")


def _about_profiles(op: str, named: Sequence[str], known: Sequence[str]) -> Iterator[Finding]:
    """Yield which of the declared profiles occur in no record."""
    asked = set(known) & set(named)
    rules = set(rule_names(op)) if asked and op in SAMPLER_OPS else set()
    rare = [profile for profile in named if profile not in asked and profile in rules]
    if rare:
        verb = "declared rule has" if len(rare) == 1 else "declared rules have"
        said = f"{len(rare)} {verb} no records; only `tokenref fuzz` asks about them"
        yield Finding("note", op, said, hint=", ".join(rare)[:400])
    for profile in named:
        if profile not in asked and profile not in rare:
            missing = f"no record of {op} has the profile {profile!r}{near(profile, known)}"
            advice = f"profiles of {op}: {', '.join(known)}"[:400]
            yield Finding("note" if asked else "problem", op, missing, hint=advice)
