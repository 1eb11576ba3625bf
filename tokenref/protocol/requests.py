"""Files of requests and of responses, for a program that runs on another machine.

Keys are numbers in the order of the file, and so are the ids of runs and loads, so judging a
million answers needs only a few bytes for each. The file does not say which record a key
belongs to; judging finds the record by the question itself.

Responses are judged line by line, in bounded memory: every answer against every record that asks
its question. If a question has several answers, the worst one counts. Only that judgement is kept,
so a million answers need no more memory than the records.

An engine of this program can answer such a file too, for example on a machine with a GPU. It
declares the operations that it answers, and those are only known at the end. So the answers wait in
a temporary file until hello is written.
"""

import tempfile
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from bpe_ref import BpeError, Vocabulary
from bpe_ref.formats.files import read_unpacked
from bpe_ref.formats.plain_json import parse_plain_json
from tokenref.answers import (
    NO_SUCH_OP,
    UNDECLARED,
    Answer,
    Crashed,
    Engine,
    Malformed,
    NotAsked,
    Ok,
    Refused,
    TimedOut,
    Unsupported,
    answers_of,
    has_only_ids,
    quiet_standard_error,
    why_none,
)
from tokenref.catalogue import LARGEST_BATCH, Catalogue, batches
from tokenref.diagnosis.facts import DIFFERS, result_of
from tokenref.errors import InputError, InvalidRunError
from tokenref.files import lines_of
from tokenref.judge import FAILURES, judge
from tokenref.packaged import fixtures_folder
from tokenref.protocol.channel import LONGEST_LINE
from tokenref.protocol.messages import (
    PROTO,
    HelloAnswer,
    HelloRequest,
    Loading,
    LoadRequest,
    ProtocolError,
    Request,
    Response,
    Result,
    RunRequest,
    decode,
    line_of,
    load_outcome,
    loading_of,
    message_slices,
    read_hello,
    read_result,
    said,
    shown,
)
from tokenref.record import OWN_DRAW_OPS, Case, RecordError, op_of
from tokenref.record_files import FixturePath, read_file
from tokenref.result import Result as CaseResult
from tokenref.result import answer_digest
from tokenref.subjects import SAMPLERS, OneSession, Subject, TokenizerFile

PathOf = Callable[[Loading], str]
"""Returns the path where the program finds a vocabulary or tokenizer."""


def export(
    cases: Sequence[Case],
    catalogue: Catalogue,
    fixtures: str,
    path_of: PathOf,
    *,
    seed: int = 0,
    repeat: int = 1,
    largest: int = LARGEST_BATCH,
) -> Iterator[bytes]:
    """Yield the lines of a file of requests: each case `repeat` times, and the canaries.

    `fixtures` is the digest of the manifest. Cases whose vocabulary is missing are skipped.
    """
    asked = [*cases] * repeat + [*catalogue.canaries]
    asked = [case for case in asked if not isinstance(catalogue.subject(case.vocab), str)]
    exported = {"fixtures": fixtures, "cases": len(asked), "seed": seed}
    yield line_of({"cmd": "hello", "proto": PROTO, "about": exported})
    key = run = load = 0
    loaded: str | None = None
    for batch in batches(asked, seed, largest):
        together = [asked[number] for number in batch]
        first = together[0]
        message = {"cmd": "run", "id": "", "op": op_of(first), "profile": first.profile}
        subject = catalogue.subject(first.vocab)
        if isinstance(subject, Vocabulary | TokenizerFile):
            loading = loading_of(subject, catalogue.name(first.vocab))
            message[loading.kind] = loading.digest
            if loading.digest != loaded:
                loaded = loading.digest
                about = {"id": f"l{load}", loading.kind: loaded, "path": path_of(loading)}
                yield line_of({"cmd": "load", **about})
                load += 1
        requests = [msgspec.to_builtins(case.input) for case in together]
        for part in message_slices(requests, largest):
            questions = [{"k": str(k), "in": each} for k, each in enumerate(requests[part], key)]
            key += len(questions)
            yield line_of(message | {"id": f"b{run}", "cases": questions})
            run += 1
    yield line_of({"cmd": "bye"})


_LONGEST_REQUEST: Final = 2**26
"""Maximum length of a line of requests, in bytes. tokenref writes much shorter lines."""

_ORDER: Final = msgspec.json.Encoder(order="sorted")
_REQUEST: Final = msgspec.json.Decoder(Request)


@dataclass
class Questions:
    """The questions of a file of requests: for each key, the number of its question."""

    fixtures: str
    seed: int
    cases: list[list[Case]] = field(default_factory=list)
    """The cases of each question; most have one."""

    of_key: "array[int]" = field(default_factory=lambda: array("l"))
    runs: "array[int]" = field(default_factory=lambda: array("l", [0]))
    """The first key of each run, and at the end the number of keys."""

    loads: list[str] = field(default_factory=list)
    """The digest of each load."""


def requests_of(path: Path) -> Iterator[tuple[str, Request]]:
    """Yield each message of a file of requests with its place. Raises `InvalidRunError`."""
    for number, line in lines_of(path, _LONGEST_REQUEST):
        where = f"{path}, line {number}"
        try:
            message: Request = decode(_REQUEST, line, "")
        except ProtocolError as error:
            raise InvalidRunError(f"{where}: not a request: {error}") from None
        yield where, message


def read_requests(path: Path, catalogue: Catalogue) -> Questions:
    """Read the questions of a file and find their records. Raises `InvalidRunError`."""
    known: dict[bytes, int] = {}
    by_content: dict[bytes, list[Case]] = {}
    for case in (*catalogue.cases, *catalogue.canaries):
        subject = case.vocab
        content = _content(op_of(case), case.profile, subject, msgspec.to_builtins(case.input))
        by_content.setdefault(content, []).append(case)
    questions: Questions | None = None
    ended = False
    for where, message in requests_of(path):
        if questions is None:
            if not isinstance(message, HelloRequest) or message.about is UNSET:
                raise InvalidRunError(f"{where}: must be the hello that `tokenref export` writes")
            questions = Questions(message.about.fixtures, message.about.seed)
            promised = message.about.cases
        elif isinstance(message, LoadRequest):
            if message.id != f"l{len(questions.loads)}":
                raise InvalidRunError(f"{where}: the id must be 'l{len(questions.loads)}'")
            questions.loads.append(message.subject)
        elif isinstance(message, RunRequest):
            _add(questions, message, where, known, by_content)
        else:
            ended = True
    if questions is None or not ended or len(questions.of_key) != promised:
        raise InvalidRunError(f"{path}: the file is truncated: export it again")
    return questions


def _add(
    questions: Questions,
    message: RunRequest,
    where: str,
    known: dict[bytes, int],
    by_content: Mapping[bytes, list[Case]],
) -> None:
    """Add the questions of one run."""
    if message.id != f"b{len(questions.runs) - 1}":
        raise InvalidRunError(f"{where}: the id must be 'b{len(questions.runs) - 1}'")
    for question in message.cases:
        if question.k != str(len(questions.of_key)):
            raise InvalidRunError(
                f"{where}: the key must be '{len(questions.of_key)}', got {question.k!r:.80}"
            )
        content = _content(message.op, message.profile, message.subject, question.input)
        if content not in known:
            if content not in by_content:
                raise InvalidRunError(
                    f"{where}: no record asks the question {question.k!r}: "
                    f"{shown(_ORDER.encode(question.input))}"
                )
            known[content] = len(questions.cases)
            questions.cases.append(by_content[content])
        questions.of_key.append(known[content])
    questions.runs.append(len(questions.of_key))


def _content(op: str, profile: str, about: str | None, request: Mapping[str, Any]) -> bytes:
    return blake2b(_ORDER.encode([op, profile, about, request]), digest_size=16).digest()


# ---- responses


_SHOWN: Final = 5
"""How many wrong lines are listed; the others are counted."""

_WORST: Final = (
    *("crash", "timeout", "fail", "wrong_error", "not_run", "skip", "unsupported", "pass"),
)
"""Statuses from worst to best: the worst judgement of a case counts."""

_RANK: Final = {status: rank for rank, status in enumerate(_WORST)}


_RESPONSE: Final = msgspec.json.Decoder(Response)


@dataclass
class Verdicts:
    """The results of all cases, and what is wrong with the responses."""

    hello: HelloAnswer
    questions: Questions
    catalogue: Catalogue
    results: list[CaseResult] = field(default_factory=list)
    canaries: list[CaseResult] = field(default_factory=list)
    """The results of canaries whose wrong answers were given."""

    trouble: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin without any answer."""
        self._answered = bytearray(len(self.questions.of_key))
        self._worst: dict[str, CaseResult] = {}  # which has no long answers
        self._differ: set[str] = set()
        self._wrong_lines = 0
        self._answers = self._of_others = 0
        self._unloaded: dict[str, Answer] = {}

    def problem(self, place: str, error: ProtocolError | str) -> None:
        """Note a wrong line. Only the first few are kept."""
        self._wrong_lines += 1
        if self._wrong_lines <= _SHOWN:
            self.trouble.append(f"{place}{error}")

    def read(self, line: bytes) -> None:
        """Judge a line of responses. Raises `ProtocolError`."""
        if not line.endswith(b"\n"):
            raise ProtocolError("the line is truncated", "", line)
        response = decode(_RESPONSE, line, "run")
        questions = self.questions
        if response.id.startswith("l"):
            at = _number(response.id[1:], len(questions.loads))
            if at is None or response.results is not UNSET:
                reason = f"nothing was loaded as {response.id!r:.80}"
                raise ProtocolError(reason, "$.id", line, "load")
            instead = load_outcome(response)
            if instead is not None:
                self._unloaded[questions.loads[at]] = instead
            return
        run = _number(response.id[1:], len(questions.runs) - 1) if response.id[:1] == "b" else None
        if run is None or (response.ok, response.err) != (UNSET, UNSET):
            raise ProtocolError(f"no run had the id {response.id!r:.80}", "$.id", line, "run")
        if response.results is UNSET:
            whole = said(response) or Crashed("")  # one of the two is there
            for key in range(questions.runs[run], questions.runs[run + 1]):
                self._take(key, whole)
            return
        for at, result in enumerate(response.results):
            asked = _number(result.k, len(questions.of_key))
            if asked is not None:
                question = questions.cases[questions.of_key[asked]]
                answer = read_result(result, op_of(question[0]))
                self._answers += result.ok is not UNSET
                self._of_others += isinstance(answer, Malformed) and self._is_of_another(result)
                self._take(asked, answer)
            else:  # a line may contain a million of them
                reason = f"the key {result.k!r:.80} was not asked"
                is_shown = self._wrong_lines < _SHOWN
                place = f"$.results[{at}].k"
                self.problem("", ProtocolError(reason, place, line, "run") if is_shown else reason)

    def _is_of_another(self, result: Result) -> bool:
        """Return whether an answer of the wrong form has that of another declared operation."""
        return not all(isinstance(read_result(result, op), Malformed) for op in self.hello.ops)

    def _take(self, key: int, answer: Answer) -> None:
        """Judge an answer to a question."""
        if self._answered[key]:
            answer = Crashed(f"the key '{key}' is answered twice")
        self._answered[key] = 1
        for case in self.questions.cases[self.questions.of_key[key]]:
            self._note(case, answer)

    def _note(self, case: Case, answer: Answer) -> None:
        """Judge an answer by one record, and keep the judgement if it is the worst."""
        ability = self.hello.ops.get(op_of(case))
        declared = ability.declared() if ability else UNDECLARED
        declared = declared.for_op(op_of(case), ids_only=self.hello.impl.ids_only)
        judgement = judge(case, answer, SAMPLERS, declared)
        before = self._worst.get(case.id)
        if before is not None and op_of(case) not in OWN_DRAW_OPS:
            wrong = answer_digest(op_of(case), answer) if judgement.status in FAILURES else ""
            if (wrong, judgement.status) != (before.answer, before.status):
                self._differ.add(case.id)
        if before is None or _RANK[judgement.status] < _RANK[before.status]:
            if judgement.status in FAILURES and isinstance(answer, Ok):
                subject = self.catalogue.subject(case.vocab)
                if isinstance(subject, Vocabulary):  # by which the detail shows bytes
                    detailed = judge(case, answer, subject)
                    judgement = detailed if detailed.status != "pass" else judgement
            self._worst[case.id] = result_of(case, answer, judgement)

    def conclude(self) -> None:
        """Set the results of all cases."""
        questions = self.questions
        missing = 0
        lacking = bytearray(len(questions.cases))
        for key, question in enumerate(questions.of_key):
            if not self._answered[key]:
                lacking[question] = 1
                missing += self._instead(questions.cases[question][0]) is None
        canaries = {case.id for case in self.catalogue.canaries}
        for number, cases in enumerate(questions.cases):
            for case in cases:
                result = self._result(case, is_answered=not lacking[number])
                if case.id not in canaries:
                    self.results.append(result)
                elif result.status == "pass":
                    self.canaries.append(result)
        if self._of_others and self._of_others == self._answers and (missing or self._wrong_lines):
            self.trouble.insert(
                0,
                "the responses do not seem to answer these requests: each of the "
                f"{self._answers:,} answers that were expected has the form of another operation",
            )
        if self._wrong_lines > _SHOWN:
            self.trouble.append(f"and {self._wrong_lines - _SHOWN:,} more wrong lines")
        if missing:
            asked = len(questions.of_key)
            self.trouble.append(f"{missing:,} of {asked:,} questions have no answer")

    def _result(self, case: Case, *, is_answered: bool) -> CaseResult:
        instead = self._instead(case)
        if instead is not None:
            return result_of(case, instead, judge(case, instead, SAMPLERS))
        if not is_answered:
            self._note(case, NotAsked("no answer"))
        result = self._worst[case.id]
        is_unsteady = case.id in self._differ and result.status in FAILURES
        return replace(result, facts=[DIFFERS]) if is_unsteady else result

    def _instead(self, case: Case) -> Answer | None:
        """Return the answer to all questions, if hello or load already determined it."""
        op = op_of(case)
        ability = self.hello.ops.get(op)
        if ability is None:
            return Unsupported(f"{NO_SUCH_OP} {op}")
        if case.profile not in ability.profiles:
            return Unsupported(f"does not declare the profile {case.profile}")
        return self._unloaded.get(case.vocab) if case.vocab is not None else None


def judge_responses(
    path: Path, questions: Questions, catalogue: Catalogue, *, ids_only: bool = False
) -> Verdicts:
    """Judge a file of responses. Raises `InvalidRunError` if it does not begin with hello."""
    lines = lines_of(path, LONGEST_LINE)
    first = next(lines, None)
    if first is None:
        raise InvalidRunError(f"{path}: the file is empty")
    try:
        hello = read_hello(first[1])
    except ProtocolError as error:
        raise InvalidRunError(f"{path}, line 1: not an answer to hello: {error}") from None
    impl = msgspec.structs.replace(hello.impl, ids_only=ids_only or hello.impl.ids_only)
    verdicts = Verdicts(msgspec.structs.replace(hello, impl=impl), questions, catalogue)
    for number, line in lines:
        try:
            verdicts.read(line)
        except ProtocolError as error:
            verdicts.problem(f"{path}, line {number}: ", error)
    verdicts.conclude()
    return verdicts


def _number(text: str, below: int) -> int | None:
    """Return the number of a key or an id, or None if it was never given.

    >>> _number("7", 8), _number("8", 8), _number("07", 8), _number("x", 8)
    (7, None, None, None)
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 18):
        return None
    number = int(text)
    return number if number < below and str(number) == text else None


# ---- answers of an engine of this program


_LONGEST_MESSAGE: Final = 2000
"""Characters of a message for people."""


class _Loaded(NamedTuple):
    """The loaded subject."""

    digest: str | None = None
    subject: Subject = SAMPLERS
    name: str = ""


def answer_requests(
    engine: Engine, path: Path, progress: Callable[[int], None] | None = None
) -> Iterator[bytes]:
    """Yield the lines of a file of responses. Raises `InvalidRunError` if the requests are invalid.

    `progress` is called with the number of questions of each run.
    """
    answered: dict[str, set[str]] = {}
    pairs: list[tuple[str, str] | None] = []
    with tempfile.TemporaryFile() as waiting:
        with quiet_standard_error():
            for pair, line in _answers(engine, path, answered, progress):
                pairs.append(pair)
                waiting.write(line)
        ops = {op: {"profiles": sorted(profiles)} for op, profiles in sorted(answered.items())}
        about = {"name": engine.name, "version": engine.version, "language": "python"}
        says = {"ids_only": True} if has_only_ids(engine) and "tokenize" in ops else {}
        yield line_of({"proto": PROTO, "impl": about | says, "ops": ops})
        waiting.seek(0)
        for pair, line in zip(pairs, waiting, strict=True):
            if pair is None or pair[1] in answered.get(pair[0], ()):
                yield line


def _answers(
    engine: Engine,
    path: Path,
    answered: dict[str, set[str]],
    progress: Callable[[int], None] | None,
) -> Iterator[tuple[tuple[str, str] | None, bytes]]:
    """Yield the answer to each run, with its operation and profile, and to each load."""
    sessions, loaded, first = OneSession(engine), _Loaded(), True
    for where, message in requests_of(path):
        if first != isinstance(message, HelloRequest):
            raise InvalidRunError(f"{where}: hello must be the first line and must not be repeated")
        first = False
        if isinstance(message, LoadRequest):
            loaded = _load(message, where, path.parent)
            yield None, line_of({"id": message.id, "ok": {}})
        elif isinstance(message, RunRequest):
            answers = _run(sessions, loaded, message, where)
            if not all(isinstance(answer, Unsupported) for answer in answers):
                answered.setdefault(message.op, set()).add(message.profile)
            results = [
                {"k": question.k, **_written(answer)}
                for question, answer in zip(message.cases, answers, strict=True)
            ]
            yield (message.op, message.profile), line_of({"id": message.id, "results": results})
            if progress is not None:
                progress(len(answers))
    if first:
        raise InvalidRunError(f"{path}: the file is empty")


def _load(message: LoadRequest, where: str, folder: Path) -> _Loaded:
    """Return the subject to load: a file next to the requests, or one of the fixtures."""
    digest = message.subject
    path: FixturePath = folder / message.path
    is_beside = path.exists()
    if not is_beside:
        path = fixtures_folder() / message.path
    subject: TokenizerFile | Vocabulary
    try:
        content = read_unpacked(folder / message.path) if is_beside else read_file(path)
        if message.vocab is UNSET:
            subject, name = TokenizerFile(path.stem, content), path.stem
        else:
            named = parse_plain_json(content, str(path))
            subject, name = named.vocabulary, named.name
        found = subject.digest()
    except (BpeError, InputError, RecordError, ValueError) as error:
        raise InvalidRunError(f"{where}: {path} cannot be loaded: {error}") from None
    if found != digest:
        raise InvalidRunError(f"{where}: {path} must have the digest {digest}, got {found}")
    return _Loaded(digest, subject, name)


def _run(
    sessions: OneSession, loaded: _Loaded, message: RunRequest, where: str
) -> Sequence[Answer]:
    if message.subject is None:
        loaded = _Loaded()
    elif message.subject != loaded.digest:
        raise InvalidRunError(f"{where}: {message.subject} was not loaded before")
    session = sessions.load(loaded.subject, loaded.name, message.profile)
    if isinstance(session, Unsupported | Crashed):
        return [session] * len(message.cases)
    return answers_of(session, message.op, [question.input for question in message.cases])


def _written(answer: Answer) -> dict[str, Any]:
    """Return an answer in the form of a result.

    >>> _written(Refused("INVALID_ROW", "no"))
    {'err': {'code': 'INVALID_ROW', 'msg': 'no'}}
    """
    if isinstance(answer, Ok):
        return {"ok": answer.out}
    if isinstance(answer, Refused):
        return {"err": {"code": answer.code, "msg": answer.message[:_LONGEST_MESSAGE]}}
    why = why_none(answer)[:_LONGEST_MESSAGE]
    return (
        {"crash": {"msg": why}}
        if isinstance(answer, Crashed | TimedOut)
        else {"skip": {"reason": why}}
    )
