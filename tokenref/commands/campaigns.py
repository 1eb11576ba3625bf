"""Run a campaign of `tokenref fuzz`, from its options to its exit code."""

import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

from tokenref.answers import Engine, LoadsProfiles, LoadsTokenizers, Unsupported, has_only_ids
from tokenref.catalogue import Selection as Chosen
from tokenref.catalogue import open_catalogue
from tokenref.commands.endings import reached
from tokenref.commands.paths import output_console, progress_bar, shown_in
from tokenref.commands.text import naming_options
from tokenref.errors import InputError, InvalidRunError
from tokenref.fuzzing.campaign import (
    COMMAND,
    Done,
    comparer_for,
    executor_named,
    made_smaller,
    no_longer_failing,
    open_engine,
    run_campaign,
)
from tokenref.fuzzing.comparing import Comparer
from tokenref.fuzzing.drawn_questions import drawn, plan_of, questions_of, three_questions
from tokenref.fuzzing.findings import Finding, LikelyBugs, finding_of, likely_bugs, named_subject
from tokenref.fuzzing.journal import Bug, Footer, Journal, Writer, open_journal, read_journal
from tokenref.fuzzing.plan import GROUP, Limits, Plan, Question, Selection, Shard, kind_of
from tokenref.fuzzing.printing import (
    print_bugs,
    print_finding,
    print_question,
    print_summary,
    sentence_of,
)
from tokenref.fuzzing.shrinking import shrunk
from tokenref.goldens import open_own
from tokenref.known import differences_of, read_known, unlisted
from tokenref.protocol.channel import Patience
from tokenref.protocol.engine import ProtocolEngine, incidents_of
from tokenref.record import OPS
from tokenref.reports.terminal import print_incidents, print_line
from tokenref.result import length
from tokenref.runner import run_engine
from tokenref.strategies import SAMPLER_QUESTIONS, TOKENIZER_QUESTIONS, VOCABULARY_QUESTIONS
from tokenref.strategies.sampler_questions import profiles_of
from tokenref.subjects import SAMPLERS, TokenizerFile

QUESTIONS: Final = {*VOCABULARY_QUESTIONS, *TOKENIZER_QUESTIONS, *SAMPLER_QUESTIONS}
"""Operations that campaigns can ask about."""

CLEAN, FAILURES, NOTHING_COMPARED, INTERRUPTED = 0, 1, 3, 130
"""Exit codes."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The options that define the campaign."""

    engine: str
    ops: Sequence[str]
    profiles: Sequence[str]
    ignored: Sequence[str]
    subjects: Sequence[str]
    pattern: str | None
    seed: int | None
    cases: int | None
    shard: str
    state: Path | None
    patience: Patience
    every: bool = False
    """Whether known differences are findings, too."""
    known_path: Path | None = None
    """The list of known differences that replaces the default one."""
    records: Sequence[Path] = ()
    """Own records that are on this list, too."""
    ids_only: bool = False
    no_pairs: bool = False


def campaign(
    wanted: Wanted,
    seconds: float | None,
    shrink_seconds: float,
    most: int,
    executor_name: str | None,
) -> int:
    """Run a campaign, print it, and return the exit code."""
    engine = open_engine(wanted.engine, wanted.patience)
    plan = plan_for(wanted, engine)
    journal = Journal(plan) if wanted.state is None else open_journal(wanted.state, plan)
    writer = None if wanted.state is None else Writer(wanted.state, journal)
    executor = None if executor_name is None else executor_named(executor_name)
    run = CampaignRun(journal, writer, most)
    why, interrupted = "interrupted", False
    begin = time.monotonic()
    until = None if seconds is None else time.time() + seconds + shrink_seconds
    limits = Limits(seconds=shrink_seconds, until=until)
    comparer = comparer_for(plan, engine)
    try:
        if gone := no_longer_failing(journal, comparer):
            print_line(
                output_console(),
                f"no longer failing: {', '.join(gone)}. If you have changed the engine, delete "
                f"{wanted.state} or name another file: a campaign is about one engine",
                "yellow",
            )
        if any(finding.unfinished for finding in journal.findings.values()):
            run.take_smaller(made_smaller(journal, comparer, limits))
            seconds = None if seconds is None else max(0.0, begin + seconds - time.monotonic())
        why = run_campaign(
            journal,
            run.take,
            comparer,
            patience=wanted.patience,
            limits=limits,
            seconds=seconds,
            executor=executor,
        )
    except KeyboardInterrupt:
        interrupted = True
    finally:
        run.end(why)
        if executor is not None:
            executor.shutdown(wait=not interrupted)
    if journal.findings and not interrupted:
        _print_likely_causes(engine, journal, wanted.patience.restarts)
    incidents = {engine.name: unlisted(incidents_of(engine), plan.known)}  # it may fail at its end
    if print_incidents(output_console(), incidents) or journal.findings or journal.incidents():
        return FAILURES
    if interrupted:
        return INTERRUPTED
    compared = any(
        {"same", "failed", "known"} & fates.keys() for fates in journal.counts().values()
    )
    return CLEAN if compared and not run.trouble else NOTHING_COMPARED


def _print_likely_causes(engine: Engine, journal: Journal, restarts: int) -> None:
    """Ask golden records of the operations that fail, and print what explains their failures.

    The causes are known by the wrong answers to records, not by random questions. So an operation
    in which the engine only died or was late is left out, and the engine may be restarted as often
    as in a run of the records.
    """
    findings = journal.findings.values()
    answered = [finding for finding in findings if finding.status in {"fail", "wrong_error"}]
    ops = sorted({str(finding.record["op"]) for finding in answered})
    if not ops:
        return
    if isinstance(engine, ProtocolEngine):
        engine.patience = replace(engine.patience, restarts=engine.restarts + restarts)
    catalogue = open_catalogue()
    cases = [case for case in catalogue.select(Chosen(ops=ops)) if length(case) <= _LONGEST]
    with progress_bar() as bar:
        task = bar.add_task("golden records", total=len(cases))
        shown = shown_in(bar, task)
        plan = journal.plan
        how: dict[str, Any] = {"known": plan.known, "ids_only": plan.ids_only}
        run = run_engine(engine, cases, catalogue, progress=shown, **how)
    is_one = len(run.diagnoses) == 1 and len(run.diagnoses[0].ids) == len(run.failures)
    for each in () if run.trouble else run.diagnoses:  # a part of the records may mislead
        where = f"golden records of {', '.join(ops)}"
        sentence = f"{where}: {each.sentence}, for example {each.ids[0]}"
        if is_one and len(likely_bugs(answered)) > 1:
            sentence += ". It explains all failures there, so the likely bugs above may be one"
        print_line(output_console(), sentence, above="\n")


_LONGEST: Final = 2_000
"""The length of the longest records that are asked to find a cause."""


def ask_again(wanted: Wanted, index: int, shrink_seconds: float) -> int:
    """Ask one question of a campaign again, print the outcome, and return the exit code."""
    engine = open_engine(wanted.engine, wanted.patience)
    plan = plan_for(wanted, engine)
    if wanted.seed is None:
        raise InputError("--at needs --seed, the seed of the campaign")
    comparer, console = comparer_for(plan, engine), output_console()
    question = questions_of(plan.selection, plan.seed, index // GROUP)[index % GROUP]
    (outcome,) = comparer.compare([question])
    print_question(console, outcome)
    if outcome.fate == "failed":
        small = shrunk(outcome, comparer, Limits(seconds=shrink_seconds))
        name = f"{engine.name} {engine.version}"
        finding = finding_of(outcome, small, index=index, seed=plan.seed, engine=name)
        print_finding(console, finding, plan)
    if print_incidents(console, {engine.name: incidents_of(engine)}) or outcome.fate == "failed":
        return FAILURES
    return CLEAN if outcome.fate in {"same", "known"} else NOTHING_COMPARED


def plan_for(wanted: Wanted, engine: Engine) -> Plan:
    """Return the plan for the options. Raises `InputError` if they leave nothing to ask."""
    shard = read_shard(wanted.shard)
    if wanted.pattern is not None and not wanted.subjects:
        raise InputError("--pattern needs --vocabulary, a file that holds no pattern")
    with naming_options("pattern"):
        known = () if wanted.ops else supported(engine, wanted.subjects, wanted.pattern)
        selection = Selection(
            ops=[op for op in OPS if op in (wanted.ops or known)],
            profiles=list(wanted.profiles) or supported_profiles(engine),
            subjects=list(wanted.subjects),
            pattern=wanted.pattern,
            pairs=not wanted.no_pairs,
        )
        _must_fit(selection)
    if isinstance(engine, ProtocolEngine) and engine.hello.ops.keys().isdisjoint(selection.ops):
        raise InvalidRunError(
            f"nothing can be compared: {engine.name} does not declare {', '.join(selection.ops)}, "
            f"only {', '.join(engine.hello.ops)}"
        )
    seed = wanted.seed
    state = wanted.state
    if seed is None and state is not None and state.exists() and state.stat().st_size:
        seed = read_journal(state).plan.seed
    listed = [] if wanted.every else read_known(wanted.known_path, [engine.name])
    for path in wanted.records:
        open_own(path)  # a file that is wrong ends the command here, not at the first failure
    return plan_of(
        seed=secrets.randbits(32) if seed is None else seed,
        engine=wanted.engine,
        engine_version=engine.version,
        selection=selection,
        ignored=list(wanted.ignored),
        known=differences_of(listed, engine.name, engine.version),
        records=[*map(str, wanted.records)],
        ids_only=wanted.ids_only or has_only_ids(engine),
        cases=wanted.cases,
        again=_options(wanted),
        shard=shard,
    )


def _options(wanted: Wanted) -> list[str]:
    """Return the options that select the questions, as they were given."""
    program = wanted.engine.removeprefix(COMMAND)
    options = [wanted.engine] if program == wanted.engine else ["--cmd", program]
    for name, values in (
        ("--op", wanted.ops),
        ("--profile", wanted.profiles),
        ("--ignore", wanted.ignored),
        ("--vocabulary", wanted.subjects),
        ("--pattern", [] if wanted.pattern is None else [wanted.pattern]),
        ("--known", [] if wanted.known_path is None else [str(wanted.known_path)]),
        ("--records", map(str, wanted.records)),
    ):
        options += [part for value in values for part in (name, value)]
    flags = {"--all": wanted.every, "--ids-only": wanted.ids_only, "--no-pairs": wanted.no_pairs}
    return [*options, *(flag for flag, is_given in flags.items() if is_given)]


def supported(
    engine: Engine, subjects: Sequence[str] = (), pattern: str | None = None
) -> list[str]:
    """Return the operations that an engine declares, or that it answers when tried.

    >>> from tokenref.engines.table import engine
    >>> "tokenize" in supported(engine("tokenizers")), "tokenize" in supported(engine("tiktoken"))
    (True, False)
    """
    if isinstance(engine, ProtocolEngine):
        return [op for op in OPS if op in engine.hello.ops and op in QUESTIONS]
    lacking = set() if isinstance(engine, LoadsTokenizers) else {"tokenizer"}
    lacking |= set() if isinstance(engine, LoadsProfiles) else {"sampler"}
    asked = [op for op in OPS if op in QUESTIONS and kind_of(op) not in lacking]
    return [op for op in asked if _answers(Comparer(engine), op, subjects, pattern)]


def _answers(comparer: Comparer, op: str, subjects: Sequence[str], pattern: str | None) -> bool:
    """Return whether an engine answers any of a few questions of an operation."""
    questions: Iterable[Question]
    if kind_of(op) == "sampler":
        questions = (
            Question(op, each, SAMPLERS, "", drawn(SAMPLER_QUESTIONS[op](each), "probe", op, each))
            for each in profiles_of(op)
        )
    else:
        wants_tokenizer = kind_of(op) == "tokenizer"
        usual = ("unk", "post_template_bos") if wants_tokenizer else ("tiny", "byte_order")
        questions = (
            each
            for name in subjects or usual
            if isinstance(named_subject(name, pattern), TokenizerFile) == wants_tokenizer
            for each in three_questions(op, name, pattern)
        )
    return any(comparer.compare([one])[0].fate != "unsupported" for one in questions)


def supported_profiles(engine: Engine) -> list[str]:
    """Return the sampler profiles that an engine supports; an empty list means all of them.

    >>> from tokenref.engines.table import engine
    >>> supported_profiles(engine("reference")), supported_profiles(engine("heap"))
    ([], [])
    """
    known = list(dict.fromkeys(name for op in SAMPLER_QUESTIONS for name in profiles_of(op)))
    if isinstance(engine, ProtocolEngine):
        declared = {name for ability in engine.hello.ops.values() for name in ability.profiles}
        return [name for name in known if name in declared]
    if not isinstance(engine, LoadsProfiles):
        return []
    taken = [name for name in known if not isinstance(engine.load_profile(name), Unsupported)]
    return [] if taken == known else taken


def read_shard(text: str) -> Shard:
    """Return the shard written as `i/n`. Raises `InputError`.

    >>> read_shard("2/3")
    Shard(number=2, count=3)
    """
    number, _, count = text.partition("/")
    if number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return Shard(int(number), int(count))
    raise InputError(f"--shard must be I/N with 1 <= I <= N, got {text!r}")


def _must_fit(selection: Selection) -> None:
    """Raise `InputError` if the selection leaves nothing to ask."""
    if not selection.ops:
        raise InputError(
            "the engine answers no operation that can be fuzzed; an engine with its own "
            "vocabulary needs --vocabulary, for example --vocabulary cl100k_base"
        )
    for op in selection.ops:
        if op not in QUESTIONS:
            able = [each for each in OPS if each in QUESTIONS and kind_of(each) == kind_of(op)]
            raise InputError(f"the operation {op} cannot be fuzzed, only {', '.join(able)}")
    kinds = {kind_of(op) for op in selection.ops}
    known = {name for op in selection.ops if op in SAMPLER_QUESTIONS for name in profiles_of(op)}
    if kinds == {"sampler"} and selection.profiles and known.isdisjoint(selection.profiles):
        raise InputError(
            f"a profile must be one of {', '.join(sorted(known))}, "
            f"got {', '.join(selection.profiles)}"
        )
    for name in selection.subjects:
        subject = named_subject(name, selection.pattern)
        kind = "tokenizer" if isinstance(subject, TokenizerFile) else "vocabulary"
        if kind not in kinds:
            ops = ("tokenize", "detokenize") if kind == "tokenizer" else ("encode", "decode")
            op = ops[not {"decode", "detokenize"}.isdisjoint(selection.ops)]
            rule = f"but no --op is about one; use --op {op}"
            raise InputError(f"--vocabulary {name} is a {kind}, {rule}")
    if len(selection.subjects) and len(kinds - {"sampler"}) > 1:
        raise InputError("--vocabulary needs operations of one kind: select them with --op")


ALIKE: Final = 10
"""A campaign also ends after this many findings per likely bug of `--most`."""


class CampaignRun:
    """A running campaign."""

    def __init__(self, journal: Journal, writer: Writer | None, most: int) -> None:
        """Print what the journal already contains. The campaign ends after `most` likely bugs."""
        self.trouble = False
        self._journal, self._writer, self._most = journal, writer, most
        self._console = output_console()
        self._bugs = LikelyBugs(journal.findings.values())
        self._shown: set[str] = set()
        plan = journal.plan
        groups = None if plan.groups is None else -(-plan.groups // plan.shard.count)
        self._shown_bar = ExitStack()
        self._bar = self._shown_bar.enter_context(
            progress_bar(
                TextColumn("{task.completed:,} groups"),
                BarColumn(),
                TextColumn("{task.fields[found]:,} likely bugs"),
                TimeElapsedColumn(),
            )
        )
        self._task = self._bar.add_task("", total=groups, found=0)
        if journal.groups:
            found = sentence_of(len(self._bugs), len(journal.findings))
            self._console.print(
                f"resuming after {len(journal.groups):,} groups, {found}", highlight=False
            )

    def take_smaller(self, findings: Iterable[Finding]) -> None:
        """Keep findings of an earlier campaign that were now shrunk further."""
        try:
            for finding in findings:
                self._keep(finding)
        finally:
            self._bugs = LikelyBugs(self._journal.findings.values())

    def take(self, done: Done) -> bool:
        """Keep the results of a group, and return whether to continue.

        Findings are written before the group is marked as done. If the campaign ends in between,
        the group is run again.
        """
        if done.findings:
            reached(FAILURES)
        for finding in done.findings:
            known = self._journal.findings
            if not finding.is_kept(known):
                continue
            is_new = finding.sum not in known
            self._keep(finding)
            if is_new and self._bugs.add(finding):
                self._shown.add(finding.sum)
                print_finding(self._console, finding, self._journal.plan)
        self._journal.add(done.group)
        if self._writer is not None:
            self._writer.write(done.group)
        self.trouble = bool(done.trouble)
        done_groups, bugs = len(self._journal.groups), len(self._bugs)
        self._bar.update(self._task, completed=done_groups, found=bugs)
        return len(self._bugs) < self._most and len(self._journal.findings) < ALIKE * self._most

    def end(self, why: str) -> None:
        """Print a summary, and write which findings are likely the same bug."""
        self._shown_bar.close()
        bugs = likely_bugs(self._journal.findings.values())
        if self._writer is not None:
            ids = [[str(one.record["id"]) for one in (bug.first, *bug.others)] for bug in bugs]
            together = [Bug(first=first, others=others) for first, *others in ids]
            self._writer.write(Footer(why=why, bugs=together))
            self._writer.close()
        plan = self._journal.plan
        print_bugs(self._console, bugs, plan, self._shown)
        sentence = f"{why} (seed {plan.seed}, shard {plan.shard})"
        print_summary(self._console, self._journal, bugs, sentence)

    def _keep(self, finding: Finding) -> None:
        self._journal.add(finding)
        if self._writer is not None:
            self._writer.write(finding)
