"""Golden records as parameters of a test, and a program under test that answers them.

Numbers of records are Python numbers, and `check` judges an answer.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

import msgspec
import pytest

from tokenref.answers import Ok, Refused
from tokenref.catalogue import Catalogue, open_catalogue
from tokenref.floats import FloatsError, Type, pack, type_of, unpack
from tokenref.judge import judge
from tokenref.protocol.channel import StartError
from tokenref.protocol.opening import GreetingError, open_program
from tokenref.questions.sampling import unpack_parameters
from tokenref.record import OPS, Case, op_of
from tokenref.reports.readable import readable_json
from tokenref.runner import Sessions
from tokenref.verdicts import ErrorCode, MustRefuse


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

_ROWS: Final = frozenset({"draft", "target"})
"""Parts that are lists of rows."""


_WIDEST: Final = 200


class NoCasesError(Exception):
    """A selection without golden records, which would make a test that proves nothing."""


@dataclass(frozen=True, repr=False)
class Golden:
    """One golden record.

    The parts of the question are attributes: `case.probs`, `case.history`, `case.text`, `case.ids`.
    Numbers are lists of floats, and `params` contains Python values.

    >>> case = cases("count", ids="bpe/count/texts/*")[0].values[0]
    >>> case.op, case.id.startswith("bpe/count/texts/")
    ('count', True)
    """

    record: Case

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
        if name not in request:
            raise AttributeError(
                f"a question of {self.op} has {', '.join(request)}, but no {name!r}"
            )
        if name in _NUMBERS:
            return unpack(request[name])
        if name in _ROWS and isinstance(request[name], list):
            return [unpack(row) for row in request[name]]
        return unpack_parameters(request[name]) if name == "params" else request[name]

    @property
    def type(self) -> Type:
        """The type of the question's row, which is also that of numbers in the answer."""
        request = self.request
        return next((type_of(request[name]) for name in _NUMBERS if name in request), "f32")

    def check(self, **answer: Any) -> None:
        """Raise `AssertionError` with one sentence unless the answer is right.

        The parts have the names of the record's `out`: `keep`, `logits`, `probs`, `token`, `ids`.
        Kept tokens may be in any order.

        >>> case = cases("count", ids="bpe/count/texts/*")[0].values[0]
        >>> case.check(count=-1)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        AssertionError: bpe/count/texts/...: count: expected ..., got -1. ...
        """
        __tracebackhide__ = True
        self._judge(Ok({name: self._part(name, plain(value)) for name, value in answer.items()}))

    def check_refused(self, code: ErrorCode) -> None:
        """Raise `AssertionError` unless the input must be refused with this code."""
        __tracebackhide__ = True
        self._judge(Refused(code, "it was refused"))

    def _part(self, name: str, value: Any) -> Any:
        if name == "keep" and isinstance(value, list):
            return sorted(value)
        if name in _NUMBERS and isinstance(value, list):
            try:
                return pack(value, self.type)
            except (FloatsError, TypeError) as error:
                raise AssertionError(f"{self.id}: {name}: {error}") from None
        return value

    def _judge(self, answer: Ok | Refused) -> None:
        __tracebackhide__ = True
        subject = catalogue().subject(self.record.vocab)
        if isinstance(subject, str):
            raise NoCasesError(f"{self.id} cannot be judged here: {subject}")
        if detail := judge(self.record, answer, subject).detail:
            raise AssertionError(f"{self.id}: {detail}. Why the case exists: {self.why}")


def cases(
    *ops: str,
    profile: str | None = None,
    flags: Sequence[str] = (),
    ids: str = "*",
    refused: bool | None = None,
) -> list[Any]:
    """Return golden records for `pytest.mark.parametrize`, with their ids.

    `profile` is the name of a rule or an engine, and `ids` may contain `*` and `?`. `refused`
    selects only inputs that must be refused, or none of them. Records whose vocabulary is missing
    are left out. Raises `NoCasesError` if no record is left. (If only this shard has none, the list
    is empty and pytest skips the test.)

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
    fixtures = catalogue()
    index, count = SELECTED.shard
    chosen = [
        case
        for case in fixtures.cases
        if (not ops or op_of(case) in ops)
        and (profile is None or case.profile == profile)
        and fnmatchcase(case.id, ids)
        and (refused is None or isinstance(case.verdict, MustRefuse) is refused)
        and all(not wanted or set(wanted) & set(case.flags) for wanted in (flags, SELECTED.flags))
        and not isinstance(fixtures.subject(case.vocab), str)
    ]
    if not chosen:
        asked = {"op": " ".join(ops), "profile": profile, "flags": " ".join(flags), "ids": ids}
        asked |= {"--tokenref-flags": " ".join(SELECTED.flags)}
        says = ", ".join(
            f"{name} {value}" for name, value in asked.items() if value not in {None, "", "*"}
        )
        raise NoCasesError(f"no golden record matches {says or 'anything'}")
    mine = (case for case in chosen if _shard_of(case.id, count) == index)
    return [pytest.param(Golden(case), id=case.id) for case in mine]


def _shard_of(case_id: str, count: int) -> int:
    """Return the shard of a record, which never changes."""
    return int.from_bytes(sha256(case_id.encode()).digest()[:8], "big") % count


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """Return the golden records of the package, read once.

    >>> catalogue() is catalogue()
    True
    """
    return open_catalogue()


@contextmanager
def driven(command: str) -> Iterator[Callable[[Golden], None]]:
    """Start a program, and yield a function that runs a record with it. End it afterwards.

    If it does not start or does not answer hello, pytest ends with one sentence.
    """
    try:
        engine = open_program(command)
    except (StartError, GreetingError) as error:
        raise pytest.UsageError(str(error)) from None
    sessions = Sessions(engine, catalogue())

    def ask(case: Golden) -> None:
        judgement = sessions.judge(case.record)
        if judgement.status in {"unsupported", "skip", "not_run"}:
            pytest.skip(judgement.detail)
        if judgement.status != "pass":
            pytest.fail(
                f"{case.id}: {judgement.status}: {judgement.detail}. Why the case exists: "
                f"{case.why}",
                pytrace=False,
            )

    try:
        yield ask
    finally:
        engine.close()
