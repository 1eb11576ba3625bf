"""Answer a file of requests with an engine of this program, as any other program would.

This lets an engine run on another machine, for example one with a GPU: `tokenref export` writes
the requests, and the file of answers is judged elsewhere.

An engine declares the operations that it answers, and those are only known at the end. So the
answers wait in a temporary file until hello is written.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from msgspec import UNSET

from bpe_ref import BpeError, Vocabulary
from bpe_ref.formats.files import read_unpacked
from bpe_ref.formats.plain_json import parse_plain_json
from tokenref.answers import (
    Answer,
    Crashed,
    Engine,
    Ok,
    Refused,
    Session,
    TimedOut,
    Unsupported,
    answers_of,
    guarded,
    quiet_standard_error,
    why_none,
)
from tokenref.catalogue import fixtures_folder
from tokenref.errors import InvalidRunError
from tokenref.protocol.messages import PROTO, HelloRequest, LoadRequest, RunRequest, line_of
from tokenref.protocol.requests import requests_of
from tokenref.record import RecordError
from tokenref.record_files import FixturePath, read_file
from tokenref.subjects import SAMPLERS, Subject, TokenizerFile, load_subject

_LONGEST_MESSAGE: Final = 2000
"""Characters of a message for people."""


@dataclass
class _Loaded:
    """The loaded subject, and the engine's sessions for it by profile."""

    digest: str | None = None
    subject: Subject = SAMPLERS
    name: str = ""
    sessions: dict[str, Session | Unsupported | Crashed] = field(default_factory=dict)


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
        yield line_of({"proto": PROTO, "impl": about, "ops": ops})
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
    loaded, first = _Loaded(), True
    for where, message in requests_of(path):
        if first != isinstance(message, HelloRequest):
            raise InvalidRunError(f"{where}: hello must be the first line and must not be repeated")
        first = False
        if isinstance(message, LoadRequest):
            loaded = _load(message, where, path.parent)
            yield None, line_of({"id": message.id, "ok": {}})
        elif isinstance(message, RunRequest):
            answers = _run(engine, loaded, message, where)
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
    except (BpeError, RecordError, ValueError) as error:
        raise InvalidRunError(f"{where}: {path} cannot be loaded: {error}") from None
    if found != digest:
        raise InvalidRunError(f"{where}: {path} must have the digest {digest}, got {found}")
    return _Loaded(digest, subject, name)


def _run(engine: Engine, loaded: _Loaded, message: RunRequest, where: str) -> Sequence[Answer]:
    asked = message.vocab if message.tokenizer is UNSET else message.tokenizer
    if asked is UNSET:
        about = loaded if loaded.digest is None else _Loaded()
    elif asked == loaded.digest:
        about = loaded
    else:
        raise InvalidRunError(f"{where}: {asked} was not loaded before")
    if message.profile not in about.sessions:
        about.sessions[message.profile] = guarded(
            lambda: load_subject(engine, about.subject, about.name, message.profile)
        )
    session = about.sessions[message.profile]
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
