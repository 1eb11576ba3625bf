"""Files of requests: the messages of a run, for a program that runs on another machine.

Keys are numbers in the order of the file, and so are the ids of runs and loads, so judging a
million answers needs only a few bytes for each. The file does not say which record a key
belongs to; judging finds the record by the question itself.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET

from bpe_ref import Vocabulary
from tokenref.catalogue import LARGEST_BATCH, Catalogue, batches
from tokenref.errors import InvalidRunError
from tokenref.files import lines_of
from tokenref.protocol.batches import Loading, loading_of, message_slices
from tokenref.protocol.messages import (
    PROTO,
    HelloRequest,
    LoadRequest,
    Request,
    RunRequest,
    line_of,
)
from tokenref.protocol.reading import ProtocolError, decode, shown
from tokenref.record import Case, op_of
from tokenref.subjects import TokenizerFile

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
    subject = message.vocab if message.tokenizer is UNSET else message.tokenizer
    about = None if subject is UNSET else subject
    for question in message.cases:
        if question.k != str(len(questions.of_key)):
            raise InvalidRunError(
                f"{where}: the key must be '{len(questions.of_key)}', got {question.k!r:.80}"
            )
        content = _content(message.op, message.profile, about, question.input)
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
