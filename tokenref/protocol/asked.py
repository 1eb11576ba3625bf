"""The questions that were asked in a file, each with the records that ask it."""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET

from tokenref.catalogue import Catalogue
from tokenref.protocol.messages import HelloRequest, LoadRequest, Request, RunRequest
from tokenref.protocol.reading import ProtocolError, decode, shown
from tokenref.record import Case, op_of

_LONGEST_REQUEST: Final = 2**26
"""Bytes of the longest line of requests; tokenref itself writes far shorter ones."""

_ORDER: Final = msgspec.json.Encoder(order="sorted")
_REQUEST: Final = msgspec.json.Decoder(Request)


class ExchangeError(Exception):
    """A file of requests or responses that cannot be judged; the sentence names file and line."""


@dataclass
class Questions:
    """What a file of requests asks: for each key the question, by number."""

    fixtures: str
    seed: int
    cases: list[list[Case]] = field(default_factory=list)
    """The cases of each question; most have one."""

    of_key: "array[int]" = field(default_factory=lambda: array("l"))
    runs: "array[int]" = field(default_factory=lambda: array("l", [0]))
    """The first key of each run, and at the end the number of keys."""

    loads: list[str] = field(default_factory=list)
    """The digest of each load."""


def lines_of(path: Path, longest: int) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of each line. Raises `ExchangeError`."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(longest + 1):
                number += 1
                if len(line) > longest:
                    raise ExchangeError(
                        f"{path}, line {number}: a line has at most {longest:,} bytes"
                    )
                yield number, line
    except OSError as error:
        raise ExchangeError(f"{path}: cannot be read: {error.strerror or error}") from None


def requests_of(path: Path) -> Iterator[tuple[str, Request]]:
    """Yield each message of a file of requests, and where it stands. Raises `ExchangeError`."""
    for number, line in lines_of(path, _LONGEST_REQUEST):
        where = f"{path}, line {number}"
        try:
            message: Request = decode(_REQUEST, line, "")
        except ProtocolError as error:
            raise ExchangeError(f"{where}: not a request: {error}") from None
        yield where, message


def read_requests(path: Path, catalogue: Catalogue) -> Questions:
    """Read what was asked, and find the record of each question. Raises `ExchangeError`."""
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
                raise ExchangeError(f"{where}: must be the hello that `tokenref export` writes")
            questions = Questions(message.about.fixtures, message.about.seed)
            promised = message.about.cases
        elif isinstance(message, LoadRequest):
            if message.id != f"l{len(questions.loads)}":
                raise ExchangeError(f"{where}: the id must be 'l{len(questions.loads)}'")
            questions.loads.append(
                str(message.tokenizer if message.vocab is UNSET else message.vocab)
            )
        elif isinstance(message, RunRequest):
            _add(questions, message, where, known, by_content)
        else:
            ended = True
    if questions is None or not ended or len(questions.of_key) != promised:
        raise ExchangeError(f"{path}: the file is cut off: export it again")
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
        raise ExchangeError(f"{where}: the id must be 'b{len(questions.runs) - 1}'")
    subject = message.vocab if message.tokenizer is UNSET else message.tokenizer
    about = None if subject is UNSET else subject
    for question in message.cases:
        if question.k != str(len(questions.of_key)):
            raise ExchangeError(
                f"{where}: the key must be '{len(questions.of_key)}', got {question.k!r:.80}"
            )
        content = _content(message.op, message.profile, about, question.input)
        if content not in known:
            if content not in by_content:
                raise ExchangeError(
                    f"{where}: no record asks the question {question.k!r}: "
                    f"{shown(_ORDER.encode(question.input))}"
                )
            known[content] = len(questions.cases)
            questions.cases.append(by_content[content])
        questions.of_key.append(known[content])
    questions.runs.append(len(questions.of_key))


def _content(op: str, profile: str, about: str | None, request: Mapping[str, Any]) -> bytes:
    return blake2b(_ORDER.encode([op, profile, about, request]), digest_size=16).digest()
