"""Run one engine on a selection of cases.

A panic or exception of the engine is a crash of that case, and the run continues. What the engine
writes to standard error meanwhile is kept out of the report (Rust prints a message for each
panic).

The canaries of the selected operations, records with wrong answers, are run too. An engine that
gives such an answer fails the canary. If the judge accepts the reference's answer to a canary too,
it cannot be trusted, and the run is invalid.
"""

import time
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, zip_longest
from typing import Any, Final

import msgspec

from tokenref.answers import (
    UNDECLARED,
    Answer,
    Crashed,
    Declares,
    DeclaresOperations,
    Engine,
    HasIncidents,
    NotAsked,
    Ok,
    Unsupported,
    answer_question,
    answers_of,
    has_only_ids,
    quiet_standard_error,
    without_log,
)
from tokenref.catalogue import CANARY, Catalogue, batches
from tokenref.diagnosis import try_hint
from tokenref.diagnosis.diagnose import diagnose
from tokenref.diagnosis.facts import DIFFERS, result_of
from tokenref.diagnosis.signatures import Diagnosis
from tokenref.judge import FAILURES, PASS, judge
from tokenref.judging_samplers import short
from tokenref.known import Known, differences_of, entry_for, stale_globs, unlisted, with_known
from tokenref.protocol.engine import incident_of
from tokenref.record import OWN_DRAW_OPS, Case, op_of, rows_op
from tokenref.result import Result, size
from tokenref.subjects import OneSession, Subject, load_subject
from tokenref.verdicts import Judgement, Status


@dataclass
class Run:
    """The results of all selected cases with one engine."""

    engine: str
    version: str
    selected: int
    results: list[Result] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    """Why the run is invalid, if it is: the self-check failed, or no cases were run."""

    stale: list[str] = field(default_factory=list)
    """Known differences that did not occur in a complete run."""

    incidents: list[str] = field(default_factory=list)
    """Failures that no single case caused, such as questions that fail only together."""

    known_incidents: int = 0
    """How many incidents are known differences."""

    again: list[str] = field(default_factory=list)
    command: str = "check"
    """The arguments of `tokenref check` that select this engine; if empty, its name."""

    restarts: int = 0
    """How often the engine was restarted."""

    def take_incidents(self, incidents: Sequence[str], known: Sequence[Known]) -> None:
        """Keep the incidents that are not listed, and the number of the others."""
        self.incidents = unlisted(incidents, known)
        self.known_incidents = len(incidents) - len(self.incidents)

    def count(self, *statuses: Status) -> int:
        """Return the number of cases with one of these statuses."""
        return sum(result.judgement.status in statuses for result in self.results)

    @property
    def answered(self) -> int:
        """The number of cases that were answered, correctly or not."""
        return len(self.results) - self.count("unsupported", "skip", "not_run")

    @property
    def is_valid(self) -> bool:
        """Whether every selected case has a result and the judge can be trusted."""
        return not self.trouble and len(self.results) == self.selected

    @property
    def failures(self) -> list[Result]:
        """The results that make the run fail."""
        return [result for result in self.results if result.judgement.status in FAILURES]

    @cached_property
    def diagnoses(self) -> list[Diagnosis]:
        """The likely causes of the failures."""
        found = try_hint(lambda: diagnose(self.results, reference=_answer_again))
        return (try_hint(lambda: diagnose(self.results)) or []) if found is None else found

    @cached_property
    def causes(self) -> dict[str, str]:
        """The likely causes by the ids of the cases that fail."""
        return {case_id: each.name for each in self.diagnoses for case_id in each.ids}

    @property
    def exit_code(self) -> int:
        """The exit code: 0 clean, 1 failures, 3 invalid."""
        if not self.is_valid:
            return 3
        return 1 if self.failures or self.stale or self.incidents else 0


def run_engine(
    engine: Engine,
    cases: Sequence[Case],
    catalogue: Catalogue,
    *,
    known: Sequence[Known] = (),
    complete: bool = False,
    progress: Callable[[int], None] | None = None,
    seed: int = 0,
    ids_only: bool = False,
) -> Run:
    """Run the cases: those of one vocabulary together, otherwise in an order given by `seed`.

    `complete` means that all cases are run, so that every entry of `known` for this engine must be
    seen to differ. `progress` is called from time to time with the number of finished cases.
    `ids_only` is whether only the ids of answers to `tokenize` are judged, as always if the engine
    says that it has nothing else. The results are in the order of the cases.
    """
    run = Run(engine.name, engine.version, 0)
    known = differences_of(known, run.engine, run.version)
    chosen = {case.id for case in cases if case.id.startswith(CANARY)}
    ops = {op_of(case) for case in cases}
    cases = [case for case in cases if not case.id.startswith(CANARY)]
    asked = [*cases, *(each for each in catalogue.canaries if op_of(each) in ops)]
    results: dict[int, Result] = {}
    with quiet_standard_error():
        sessions = Sessions(engine, catalogue, ids_only=ids_only)
        fatal = known_to_end(asked, engine, known)
        for ends, several in groupby(
            batches(asked, seed, last=fatal), lambda batch: asked[batch[0]].id in fatal
        ):
            if (
                ends
                and isinstance(engine, HasIncidents)
                and any(each.id in fatal for each in cases)
            ):
                engine.close()  # in order: a crash would hide the leaks of all questions before
            for batch in several:
                restarts = engine.restarts if isinstance(engine, HasIncidents) else 0
                answered = sessions.results([asked[number] for number in batch], once=ends)
                results.update(zip(batch, answered, strict=True))
                if ends and isinstance(engine, HasIncidents):
                    engine.forgive(engine.restarts - restarts)
                if progress is not None:
                    progress(min(len(results), len(cases)))
        if isinstance(engine, HasIncidents):
            _ask_failures_again(results, sessions, seed)
    in_order = [results[number] for number in range(len(asked))]
    run.trouble, judged = check_judge(in_order[len(cases) :], catalogue, chosen)
    run.results = with_known_results([*in_order[: len(cases)], *judged], engine.name, known)
    run.selected = len(run.results)
    run.trouble += [f"the engine was abandoned: {reason}" for reason in sessions.lost]
    if isinstance(engine, HasIncidents):
        run.take_incidents(engine.incidents, known)
        run.again = list(engine.again)
        run.restarts = engine.restarts
    if complete and not run.trouble:
        find_stale(run, known, catalogue)
    conclude(run)
    return run


_MOST_IDS: Final = 3
"""How many records of a batch an incident names."""


def _add_ids(incidents: list[str], there: int, cases: Sequence[Case]) -> None:
    """Say how to ask these cases again in the incidents after the first `there`."""
    again = " ".join(f"--id {case.id}" for case in cases[:_MOST_IDS])
    if len(cases) > _MOST_IDS:
        again = f"--op {op_of(cases[0])}, for {again} and {len(cases) - _MOST_IDS:,} more"
    for at, incident in enumerate(incidents[there:], there):
        said = without_log(incident)
        incidents[at] = f"{said}; ask again with {again}{incident.removeprefix(said)}"


def known_to_end(cases: Sequence[Case], engine: Engine, known: Sequence[Known]) -> set[str]:
    """Return the ids of cases that end another program, according to its known differences.

    They are asked last, in a process of their own, and alone, so that each ends it only once. They
    do not count towards the limit. Nor do the canaries, which no list has.
    """
    if not isinstance(engine, HasIncidents):
        return set()
    entries = {case.id: entry_for(engine.name, case.id, known) for case in cases}
    return {
        name
        for name, entry in entries.items()
        if name.startswith(CANARY) or (entry and entry.status in {"crash", "timeout"})
    }


_MOST_AGAIN: Final = 200
"""How many failures are asked again to see whether the answers differ."""


def _ask_failures_again(results: dict[int, Result], sessions: "Sessions", seed: int) -> None:
    """Ask a program the shortest questions of each operation that it failed again.

    Note whose answers differ. If a third of those of an operation do, that stands for all of it.
    """
    failed: dict[str, list[int]] = {}
    for number, seen in results.items():
        if seen.status == "fail" and op_of(seen.case) not in OWN_DRAW_OPS:
            failed.setdefault(rows_op(seen.case), []).append(number)
    for of_op in failed.values():
        of_op.sort(key=lambda number: size(results[number].case))
    in_turn = [number for each in zip_longest(*failed.values()) for number in each]
    again = [number for number in in_turn if number is not None][:_MOST_AGAIN]
    cases = [results[number].case for number in again]
    asked, differ = Counter[str](), set[int]()
    for batch in batches(cases, seed + 1):  # among other questions than before
        for place, now in zip(batch, sessions.results([cases[at] for at in batch]), strict=True):
            if now.status == "not_run":  # the program is lost
                continue
            before = results[again[place]]
            asked[rows_op(now.case)] += 1
            if (now.status, now.answer) != (before.status, before.answer):
                differ.add(again[place])
    for op, of_op in failed.items():
        is_whole = len(differ.intersection(of_op)) >= max(asked[op] / 3, 1)
        for number in of_op if is_whole else differ.intersection(of_op):
            results[number] = replace(results[number], facts=[DIFFERS])


def check_judge(
    canaries: Sequence[Result], catalogue: Catalogue, chosen: Container[str] = ()
) -> tuple[list[str], list[Result]]:
    """Return why the judge cannot be trusted, if so, and the engine's results of canaries.

    An engine fails the canaries whose wrong answer it gave, and passes the others, which are
    returned only if they are among the `chosen` ids. The judge must reject the right answer to each
    canary that is failed. If it judged none at all, it must do so for the catalogue's first one.
    """
    trouble: list[str] = []
    results: list[Result] = []
    given = [result for result in canaries if result.judgement.status == "pass"]
    asked = given
    if all(each.judgement.status in {"unsupported", "skip", "not_run"} for each in canaries):
        asked = [Result(each, PASS) for each in catalogue.canaries if each.vocab is None][:1]
    for result in asked:
        case, subject = result.case, catalogue.subject(result.case.vocab)
        assert not isinstance(subject, str)  # noqa: S101 - the engine has answered about it
        right = _right_answer(case, subject)
        if judge(case, right, subject).status not in {"fail", "wrong_error"}:
            trouble.append(
                f"self-check failed: the judge accepted a known-wrong answer (canary {case.id})"
            )
        elif given:
            shown = right.out if isinstance(right, Ok) else getattr(right, "code", "an error")
            expected = short(shown)
            detail = f"expected {expected}, got the known-wrong answer of a canary"
            results.append(replace(result, judgement=Judgement("fail", detail)))
    for result in canaries:
        if result.case.id in chosen and result not in given:
            is_wrong = result.judgement.status in {"fail", "wrong_error"}
            results.append(replace(result, judgement=PASS) if is_wrong else result)
    return trouble, results


def _answer_again(case: Case, request: Mapping[str, Any]) -> Answer:
    """Return the reference's answer to another question to the sampler of a case."""
    from tokenref.engines.reference_samplers import SamplerSession

    return SamplerSession(case.profile).answer(op_of(case), request)


def _right_answer(case: Case, subject: Subject) -> Answer:
    """Return the reference's answer to a canary."""
    from tokenref.engines.reference import ReferenceEngine
    from tokenref.engines.reference_laws import example_of_draws

    request = msgspec.to_builtins(case.input)
    if op_of(case) in OWN_DRAW_OPS:
        return Ok(example_of_draws(op_of(case), case.profile, request))
    session = load_subject(ReferenceEngine(), subject, "canary", case.profile)
    assert not isinstance(session, Unsupported)  # noqa: S101 - it can load everything
    return answer_question(session, op_of(case), request)


def find_stale(run: Run, known: Sequence[Known], catalogue: Catalogue) -> None:
    """Add the known differences that a run of all cases, perhaps without large ones, disproves."""
    not_run = {case.id: "not_run" for case in catalogue.cases}
    statuses = {result.case.id: str(result.judgement.status) for result in run.results}
    reasons = {each.case.id: each.judgement.detail for each in run.results}
    run.stale = stale_globs(known, run.engine, not_run | statuses, reasons)


def conclude(run: Run) -> None:
    """Add what is only known when all cases have a result: whether any was run."""
    if not run.answered:
        details = Counter(each.judgement.detail for each in run.results if each.judgement.detail)
        reason = "all are unsupported, skipped, or lack their vocabulary or answer"
        for detail, count in details.most_common(1):
            reason = f"{detail} ({count:,} of {len(run.results):,})"
        run.trouble.append(f"no cases were run: {reason}")


def with_known_results(
    results: Sequence[Result], engine: str, known: Sequence[Known]
) -> list[Result]:
    """Return the results with the known differences of an engine marked."""
    return [
        replace(each, judgement=with_known(each.judgement, engine, each.case.id, known))
        for each in results
    ]


class Sessions:
    """One engine with one loaded subject at a time. `ids_only` is as for `run_engine`."""

    def __init__(self, engine: Engine, catalogue: Catalogue, *, ids_only: bool = False) -> None:
        self.lost: list[str] = []
        """Why questions were not asked, if the engine was abandoned."""

        self._engine, self._loaded = engine, OneSession(engine)
        self._program = engine if isinstance(engine, HasIncidents) else None
        self._catalogue = catalogue
        self._ids_only = ids_only or has_only_ids(engine)

    def results(self, cases: Sequence[Case], *, once: bool = False) -> list[Result]:
        """Run cases of one operation, profile and vocabulary, and judge the answers.

        A case at which a program crashes or is late is asked again, in a new process if this one
        has ended. With an answer now, the case is not the cause: that is an incident. With `once`,
        as for cases that are known to end the program, it is not asked again.
        """
        found = self._results(cases)
        program = self._program
        for at, seen in enumerate(found):
            if once or program is None or seen.status not in {"crash", "timeout"}:
                continue
            restarts = program.restarts
            program.forgive(1)  # even if it is the last restart
            [now] = self._results([seen.case])
            program.forgive(program.restarts - restarts - 1)
            if now.status in {"crash", "timeout", "not_run"}:
                continue
            how = f" once, at {seen.case.id}, which was answered when asked again"
            there = len(program.incidents)
            program.incidents.append(incident_of(seen.judgement.detail, how, seen.log))
            _add_ids(program.incidents, there, [seen.case])
            found[at] = now
        return found

    def _results(self, cases: Sequence[Case]) -> list[Result]:
        """Run the cases once."""
        start = self._clock()
        first = cases[0]
        subject = self._catalogue.subject(first.vocab)
        if isinstance(subject, str):
            engine, lacks = self._engine, None
            if isinstance(engine, DeclaresOperations):
                lacks = engine.lacks(op_of(first), first.profile)
            reason = (
                Judgement("unsupported", lacks.reason) if lacks else Judgement("not_run", subject)
            )
            return [Result(case, reason, 0.0) for case in cases]
        session = self._loaded.load(subject, self._catalogue.name(first.vocab), first.profile)
        op, declared = op_of(first), UNDECLARED
        answers: Sequence[Answer]
        if isinstance(session, Unsupported | Crashed):
            answers = [session] * len(cases)
        else:
            requests = [msgspec.to_builtins(case.input) for case in cases]
            incidents = self._program.incidents if self._program else []
            there = len(incidents)
            # another program cannot raise here
            answers = answers_of(session, op, requests, guard=self._program is None)
            _add_ids(incidents, there, cases)
            if isinstance(session, Declares):
                declared = session.declared(op)
            declared = declared.for_op(op, ids_only=self._ids_only)
        for answer in answers:
            if isinstance(answer, NotAsked) and answer.reason not in self.lost:
                self.lost.append(answer.reason)
        pairs = list(zip(cases, answers, strict=True))
        before = self._catalogue.replaced.get(first.vocab or "", ())
        judged = [judge(case, answer, subject, declared, before) for case, answer in pairs]
        each = max(0.0, self._clock() - start) * 1000 / len(cases)
        return [result_of(*pair, judged[at], each) for at, pair in enumerate(pairs)]

    def _clock(self) -> float:
        """Return the seconds of a clock that stops while the program gives no answer."""
        return time.perf_counter() - (self._program.seconds_lost if self._program else 0.0)
