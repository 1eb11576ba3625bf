"""Golden records as parameters of a test, and a program under test that answers them.

Numbers in records are Python numbers here, and `check` judges an answer.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from bpe_ref.cutting.splitting import Chunk
from tokenref.answers import UNDECLARED, Declared, Ok, Refused, as_text, request_text
from tokenref.catalogue import LARGE, Catalogue, is_large, open_catalogue
from tokenref.files import files_named
from tokenref.floats import FloatsError, Type, is_numbers, pack, type_of, unpack
from tokenref.goldens import open_own
from tokenref.judge import judge
from tokenref.known import Known, differences_of, read_known, unlisted, with_known
from tokenref.protocol.channel import Patience, StartError
from tokenref.protocol.engine import incidents_of
from tokenref.protocol.opening import GreetingError, open_program
from tokenref.questions.sampling import unpack_parameters
from tokenref.readable import readable_json
from tokenref.record import OPERATIONS, OPS, Case, RecordError, op_of
from tokenref.runner import Sessions, known_to_end
from tokenref.verdicts import ErrorCode, MustRefuse, Rows, Verdict


def plain(value: Any) -> Any:
    """Return arrays and tensors as lists of Python numbers.

    >>> plain((1, 2.5, [True]))
    [1, 2.5, [True]]
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, list | tuple | range):
        return [plain(entry) for entry in value]
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return value


@dataclass
class Selected:
    """The restrictions from pytest's options."""

    flags: Sequence[str] = ()
    shard: tuple[int, int] = (0, 1)
    """The index of this shard from 0, and the number of shards."""


SELECTED: Final = Selected()
"""Set by the plugin from its options, before tests are collected."""

_NUMBERS: Final = frozenset({"probs", "logits", "uniforms", "logprobs"})
"""Parts of questions and answers that are numbers of one type."""

_WIDEST: Final = 200


class NoCasesError(Exception):
    """A selection without golden records, which would make a test that proves nothing."""


class AnswerError(Exception):
    """An answer in a form that no record has."""


@dataclass(frozen=True, repr=False)
class Golden:
    """One golden record.

    The parts of the question are attributes: `case.probs`, `case.history`, `case.text`, `case.ids`.
    Numbers are lists of floats, and `params` contains Python values. `text` is the whole text, also
    if the record contains only bytes or a recipe.

    >>> case = cases("count", ids="bpe/count/texts/*")[0].values[0]
    >>> case.op, case.id.startswith("bpe/count/texts/")
    ('count', True)
    """

    record: Case
    catalogue: Catalogue
    """The records that it belongs to."""

    def __repr__(self) -> str:
        """Return the question with floats in decimal, which pytest shows with a failure."""
        return f"<{self.id}: {readable_json(self.request, _WIDEST)}>"

    @property
    def id(self) -> str:
        """The record's permanent id."""
        return self.record.id

    @property
    def op(self) -> str:
        """The operation."""
        return op_of(self.record)

    @property
    def profile(self) -> str:
        """The profile that the answer follows."""
        return self.record.profile

    @property
    def why(self) -> str:
        """Why the record exists."""
        return self.record.why

    @property
    def request(self) -> dict[str, Any]:
        """The question in the form of the record."""
        content: dict[str, Any] = msgspec.to_builtins(self.record.input)
        return content

    @property
    def is_refused(self) -> bool:
        """Whether the input must be refused; then call `check_refused`."""
        return isinstance(self.record.verdict, MustRefuse)

    def __getattr__(self, name: str) -> Any:
        """Return a part of the question. Raises `AttributeError` for an unknown part."""
        request = self.request
        if name == "text" and not request.keys().isdisjoint({"bytes", "recipe"}):
            text = as_text(request_text(request))
            if text is None:
                raise AttributeError(f"the question of {self.id} is bytes that are not UTF-8")
            return text
        if name not in request:
            raise AttributeError(
                f"a question of {self.op} has {', '.join(request)}, but no {name!r}"
            )
        return _unpacked(request[name], name)

    @property
    def type(self) -> Type:
        """The type of the question's row, which is also that of numbers in the answer."""
        request = self.request
        return next((type_of(request[name]) for name in _NUMBERS if name in request), "f32")

    def check(self, *, only_given: bool = False, **answer: Any) -> None:
        """Raise `AssertionError` with one sentence unless the answer is right.

        The parts have the names of the record's `out`: `keep`, `logits`, `probs`, `token`, `ids`.
        Kept tokens may be ids in any order, a mask, or the row that is left. `chunks` may be
        those of `Tokenizer.chunks`, whose third part, the number of tokens, is not judged. Of an
        answer to `tokenize`, all parts are judged, or with `only_given` those that are given; `ids`
        may be given alone without it. `rows`, the answer to a batch, has one entry for each row of
        each call: what `keep` or `logits` may be, or a dict of parts. Masks and rows end where the
        padding of the batch begins (`vocab_size`).

        >>> case = cases("count", ids="bpe/count/texts/*")[0].values[0]
        >>> case.check(count=-1)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        AssertionError: bpe/count/texts/...: count: expected ..., got -1. ...
        """
        __tracebackhide__ = True
        request = self.request
        right = msgspec.to_builtins(self.record.out) or _like(self.record.verdict, request)
        declared = UNDECLARED.for_op(self.op, ids_only=answer.keys() == {"ids"})
        try:
            _check_names(answer, self.op, only_given=only_given)
            if only_given:
                declared = Declared(fields=[*answer])
            self._judge(Ok(_packed(plain(answer), right, request)), declared)
        except AnswerError as error:
            raise AssertionError(f"{self.id}: {error}") from None

    def check_refused(self, code: ErrorCode) -> None:
        """Raise `AssertionError` unless the input must be refused with this code."""
        __tracebackhide__ = True
        self._judge(Refused(code, "it was refused"))

    def _judge(self, answer: Ok | Refused, declared: Declared = UNDECLARED) -> None:
        __tracebackhide__ = True
        subject = self.catalogue.subject(self.record.vocab)
        if isinstance(subject, str):
            raise NoCasesError(f"{self.id} cannot be judged here: {subject}")
        if detail := judge(self.record, answer, subject, declared).detail:
            raise AssertionError(f"{self.id}: {detail}. Why the case exists: {self.why}")


def _check_names(given: Mapping[str, Any], op: str, *, only_given: bool) -> None:
    """Raise `AnswerError` for a field that no answer has, or if not all fields can be judged."""
    fields = OPERATIONS[op].answer.__struct_encode_fields__
    for name in given.keys() - {*fields}:
        raise AnswerError(f"unknown field {name!r}; the fields are {', '.join(fields)}")
    if only_given and (op != "tokenize" or not given):
        raise AnswerError(
            f"only_given needs parts of an answer to tokenize, got {[*given]} for {op}"
        )


def kept_tokens(result: Any, row: Sequence[float], *, logits: bool) -> list[int]:
    """Return the ids that a result keeps, ascending: ids, a mask, or the row that is left.

    >>> row = [1.0, 0.0]
    >>> [kept_tokens(kept, row, logits=True) for kept in ([1, 0], [True, False], [-inf, 0.0])]
    [[0, 1], [0], [1]]
    """
    if not isinstance(result, list):
        raise AnswerError(f"the result must be ids, a mask or a row, got {result!r:.80}")
    is_mask = bool(result) and all(isinstance(entry, bool) for entry in result)
    if is_mask or any(isinstance(entry, float) for entry in result):
        if len(result) != len(row):
            what = f"the {'mask' if is_mask else 'row'} must have {len(row)} entries"
            raise AnswerError(f"{what} like the question, got {len(result)}")
        gone = -inf if logits and not is_mask else 0
        return [token for token, entry in enumerate(result) if entry != gone]
    for token in result:
        if not isinstance(token, int) or isinstance(token, bool):
            raise AnswerError(f"the result must be ids, a mask or a row, got {token!r:.80} in it")
        if not 0 <= token < len(row):
            raise AnswerError(f"{token} is not a token of a row of {len(row)}")
    repeated = [token for token, count in Counter(result).items() if count > 1]
    if repeated:
        raise AnswerError(f"the token {min(repeated)} is kept twice")
    return sorted(result)


def _unpacked(value: Any, name: str = "") -> Any:
    """Return a part of a question with the numbers in it as floats."""
    if name == "params":
        return unpack_parameters(value)
    if isinstance(value, list):
        return [_unpacked(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if "gen" in value or is_numbers(value):
        return unpack(value)[0] if name == "mu" else unpack(value)
    return {key: _unpacked(entry, key) for key, entry in value.items()}


def _like(verdict: Verdict, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of the answer to a batch of long rows, of which a record has no copy."""
    if not isinstance(verdict, Rows):
        return {}
    rows = zip(verdict.rows, request["rows"], strict=True)
    return {"rows": [{row.part: asked["logits"]} for row, asked in rows] * request.get("calls", 1)}


def _packed(
    answer: Mapping[str, Any], right: Mapping[str, Any], request: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an answer in the form of a record, with numbers in the types of the right answer."""
    packed: dict[str, Any] = {}
    for name, value in answer.items():
        expected = right.get(name)
        row = next((request[name] for name in ("probs", "logits") if name in request), None)
        if name == "keep" and row is not None:
            numbers = unpack(row)[: request.get("vocab_size")]
            packed[name] = kept_tokens(value, numbers, logits="logits" in request)
        elif name == "rows" and "rows" in request and isinstance(value, list):
            padding = {"vocab_size": request["vocab_size"]} if "vocab_size" in request else {}
            rows = [{**row, **padding} for row in request["rows"]] * request.get("calls", 1)
            packed[name] = _packed_rows(value, expected or [], rows)
        elif name == "chunks" and isinstance(value, list):
            packed[name] = [
                chunk[:2] if isinstance(chunk, list) and len(chunk) == len(Chunk._fields) else chunk
                for chunk in value
            ]
        elif isinstance(value, dict):
            given = expected if isinstance(expected, dict) else {}
            packed[name] = _packed(value, given, {})
        elif name in {*_NUMBERS, "mu", "past"}:
            dtype = type_of(expected or row or {})
            try:
                packed[name] = pack(value if isinstance(value, list) else [value], dtype)
            except (FloatsError, TypeError) as error:
                raise AnswerError(f"{name}: {error}") from None
        else:
            packed[name] = value
    return packed


def _packed_rows(
    answers: Sequence[Any], right: Sequence[Mapping[str, Any]], requests: Sequence[Any]
) -> list[dict[str, Any]]:
    """Return the answer to each row of a batch. One that is not a dict is its only part."""
    if len(answers) != len(requests):
        raise AnswerError(f"rows: expected {len(requests)} rows, got {len(answers)}")
    packed = []
    for place, (answer, request) in enumerate(zip(answers, requests, strict=True)):
        expected = right[place] if right else {}
        names = [name for name in expected if name != "stages"] or ["keep"]
        if not isinstance(answer, dict) and len(names) > 1:
            raise AnswerError(f"rows[{place}] must be a dict with {', '.join(names)}")
        parts = answer if isinstance(answer, dict) else {names[0]: answer}
        try:
            packed.append(_packed(parts, expected, request))
        except AnswerError as error:
            raise AnswerError(f"rows[{place}]: {error}") from None
    return packed


def cases(
    *ops: str,
    profile: str | None = None,
    flags: Sequence[str] = (),
    ids: str = "*",
    refused: bool | None = None,
    vocabulary: str | None = None,
    records: str | Path | Sequence[str | Path] | None = None,
) -> list[Any]:
    """Return golden records for `pytest.mark.parametrize`, with their ids.

    `profile` is the name of a rule or an engine, and `ids` may contain `*` and `?`. `refused`
    selects only inputs that must be refused, or none of them. `vocabulary` is the name of a
    vocabulary or tokenizer. Records whose vocabulary is missing are left out.

    `records` is a file with your own golden records, written by `tokenref fill` or `promote`, a
    folder, a pattern such as `*.jsonl`, or several of these; a file is read once. Then `vocabulary`
    is a name or path, which is needed only if the vocabulary is not next to them.

    Raises `NoCasesError` if no record is left. (If only this shard has none, the list is empty and
    pytest skips the test.)

    >>> len(cases("encode", ids="bpe/encode/examples/*")) > 10
    True
    >>> cases("encode", ids="nothing")
    Traceback (most recent call last):
    tokenref.pytest.golden.NoCasesError: no golden record matches op encode, ids nothing
    """
    for op in ops:
        if op not in OPS:
            near = get_close_matches(op, OPS, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise NoCasesError(f"unknown operation {op!r}{meant}")
    paths = [records] if isinstance(records, str | Path) else records or []
    named = [file for path in paths for file in files_named(str(path), "records", ".jsonl")]
    files = [catalogue()] if records is None else [_own(path, vocabulary) for path in named]
    index, count = SELECTED.shard
    found = [
        Golden(case, fixtures)
        for fixtures in files
        for case in fixtures.cases
        if (not ops or op_of(case) in ops)
        and (vocabulary in {None, fixtures.name(case.vocab)} or records is not None)
        and (profile is None or case.profile == profile)
        and fnmatchcase(case.id, ids)
        and (refused is None or isinstance(case.verdict, MustRefuse) is refused)
        and all(not wanted or set(wanted) & set(case.flags) for wanted in (flags, SELECTED.flags))
        and (not is_large(case) or LARGE in {*flags, *SELECTED.flags} or case.id == ids)
    ]
    subjects = [each.catalogue.subject(each.record.vocab) for each in found]
    chosen = [each for each, it in zip(found, subjects, strict=True) if not isinstance(it, str)]
    if not chosen:
        asked = {"op": " ".join(ops), "profile": profile, "flags": " ".join(flags), "ids": ids}
        asked |= {"vocabulary": vocabulary, "records": " ".join(map(str, paths))}
        asked |= {"--tokenref-flags": " ".join(SELECTED.flags)}
        says = ", ".join(
            f"{name} {value}" for name, value in asked.items() if value not in {None, "", "*"}
        )
        names = [entry.name for each in files for entry in each.manifest.subjects]
        near = get_close_matches(vocabulary or "", names, n=1) if vocabulary not in names else []
        says = says or "anything"
        says += "".join(f"; did you mean {name!r}?" for name in near)
        says += "".join(f"; {reason}" for reason in dict.fromkeys(map(str, subjects)))
        raise NoCasesError(f"no golden record matches {says}")
    numbers = {each.id: sha256(each.id.encode()).digest()[:8] for each in chosen}  # never change
    mine = (each for each in chosen if int.from_bytes(numbers[each.id], "big") % count == index)
    return [pytest.param(each, id=each.id) for each in mine]


def _own(path: Path, vocabulary: str | None) -> Catalogue:
    """Return a user's own records, read once unless the file changes."""
    there = path.stat() if path.is_file() else None
    return _opened(path.absolute(), vocabulary, there and (there.st_mtime_ns, there.st_size))


@lru_cache
def _opened(path: Path, vocabulary: str | None, _: object) -> Catalogue:
    return open_own(path, vocabulary)


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """Return the golden records of the package, read once.

    >>> catalogue() is catalogue()
    True
    """
    return open_catalogue()


@contextmanager
def driven(
    command: str, patience: Patience, known_path: Path | None = None
) -> Iterator[Callable[[Golden], None]]:
    """Start a program, and yield a function that runs a record with it. End it afterwards.

    If it does not start or does not answer hello, or if the list of known differences is invalid,
    pytest ends with one sentence. If the program fails in another way than by an answer, or was
    given up, that is an error after the last test.
    """
    try:
        engine = open_program(command, patience)
    except (StartError, GreetingError) as error:
        raise pytest.UsageError(str(error)) from None
    sessions: dict[int, Sessions] = {}

    def ask(case: Golden) -> None:
        if id(case.catalogue) not in sessions:
            sessions[id(case.catalogue)] = Sessions(engine, case.catalogue)
        restarts = engine.restarts
        once = bool(known_to_end([case.record], engine, known))
        judgement = sessions[id(case.catalogue)].results([case.record], once=once)[0].judgement
        judgement = with_known(judgement, engine.name, case.id, known)
        if judgement.status == "xfail":
            engine.forgive(engine.restarts - restarts)
            pytest.xfail(judgement.detail)
        if judgement.status in {"unsupported", "skip", "not_run"}:
            pytest.skip(judgement.detail)
        if judgement.status != "pass":
            pytest.fail(
                f"{case.id}: {judgement.status}: {judgement.detail}. Why the case exists: "
                f"{case.why}",
                pytrace=False,
            )

    known: list[Known] = []
    try:
        listed = [] if known_path is None else read_known(known_path, [engine.name])
        known = differences_of(listed, engine.name, engine.version)
        yield ask
    except RecordError as error:
        raise pytest.UsageError(str(error)) from None
    finally:
        incidents = unlisted(incidents_of(engine), known)
    for reason in {reason: None for each in sessions.values() for reason in each.lost}:
        incidents.append(f"the engine was abandoned: {reason}")
    if incidents:
        pytest.fail(f"{engine.name}: {'; '.join(incidents)}", pytrace=False)
