"""Compare complete encodings of a user's text: each engine with the reference.

What a result says about the first difference
    The line and the byte of the file where the first differing token starts, the tokens on both
    sides from there, and a short part of the text that differs by itself. That part is searched
    greedily: starting with the line, or else the whole text, both ends are cut as long as the
    difference stays. So it is small, but not provably the smallest.

What is left open
    Special tokens are treated as text, but for a tokenizer.json that does not merge bytes: it is
    asked as a whole, without its template. If the text of others is normalized, the byte is counted
    in the normalized text.

The whole file and all its tokens are held in memory: 20 times the size of the file was measured,
and 200 times with tokenizers, which keeps the spelling and offsets of every token. Hence `LARGEST`
in `tokenref.files`. Larger files can be split.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, TypeAlias

from bpe_ref import BpeError, TokenId, TokenIdError, Tokenizer, Vocabulary
from tokenref.answers import (
    Answer,
    Crashed,
    Engine,
    Ok,
    Refused,
    Session,
    TimedOut,
    Unsupported,
    guarded,
    quiet_standard_error,
    why_none,
)
from tokenref.errors import InputError
from tokenref.files import read_bytes, text_of
from tokenref.judge import first_difference
from tokenref.subjects import OneSession, TokenizerSubject, encoding_of, load_text_subject

SHOWN: Final = 3
"""How many tokens are shown on each side of a difference."""

LONGEST_STRETCH: Final = 1 << 20
"""Maximum length of a text that is searched for a smaller difference, in characters."""

CorpusStatus: TypeAlias = Literal["same", "different", "refused", "unsupported", "crash"]
Tokens: TypeAlias = Sequence[tuple[TokenId, bytes | None]]
"""Tokens with their bytes; None for an unknown id."""


@dataclass(frozen=True)
class Difference:
    """Where two encodings first differ."""

    line: int
    """From 1."""

    byte: int
    """From 0, in the file."""

    expected: Tokens
    got: Tokens
    smallest: str
    """A short text that is encoded differently by itself; empty if none was found."""


@dataclass(frozen=True)
class CorpusResult:
    """What became of the text with one engine."""

    engine: str
    version: str
    status: CorpusStatus
    detail: str = ""
    """Why there is no encoding to compare, in one line."""

    tokens: int = 0
    """Number of tokens from the engine."""

    difference: Difference | None = None


@dataclass(frozen=True)
class Comparison:
    """The compared text, and the result of each engine."""

    text: str
    """The path of the file."""

    text_sha256: str
    """The digest of the file's bytes."""

    text_bytes: int
    vocabulary: str
    """The name or path."""

    vocabulary_digest: str
    results: Sequence[CorpusResult]

    notes: Sequence[str] = ()
    """What the file of the vocabulary lacks."""


@dataclass(frozen=True)
class _Reference:
    """The correct encoding."""

    text: str
    size: int
    subject: TokenizerSubject
    tokenizer: Tokenizer
    ids: "array[int]"

    def encode(self, text: str) -> list[TokenId]:
        """Return the right ids of a text."""
        return _right(self.subject, self.tokenizer, text)

    def answer(self, session: Session, text: str) -> Answer:
        """Return what an engine says; what has no ids is no answer, but a crash."""
        op, _ = encoding_of(self.subject)
        options = {"add_special_tokens": False} if op == "tokenize" else {}
        answer = guarded(lambda: session.answer(op, {"text": text, **options}))
        if not isinstance(answer, Ok):
            return answer
        ids = guarded(lambda: list(answer.out["ids"]))
        if isinstance(ids, Crashed) or not all(type(each) is int for each in ids):
            return Crashed(f"its answer must have a list of ids, got {answer.out!r:.200}")
        return Ok({"ids": ids})

    def place_of(self, at: int) -> int:
        """Return the byte of the text where one of the right tokens begins."""
        if isinstance(self.subject, Vocabulary):
            return len(self.tokenizer.decode_bytes(list(self.ids[:at])))
        offsets = self.tokenizer.tokenize(self.text, add_special_tokens=False).offsets
        return len(self.text[: offsets[at][0]].encode()) if at < len(offsets) else self.size

    def shown(self, ids: Sequence[TokenId]) -> Tokens:
        """Return a few tokens with their bytes."""
        shown: list[tuple[TokenId, bytes | None]] = []
        for token in ids[:SHOWN]:
            try:
                shown.append((token, self.tokenizer.token_bytes(token)))
            except TokenIdError:
                shown.append((token, None))
        return shown


def _right(subject: TokenizerSubject, tokenizer: Tokenizer, text: str) -> list[TokenId]:
    if isinstance(subject, Vocabulary):
        return tokenizer.encode(text, special="ordinary")
    return tokenizer.encode(text, add_special_tokens=False)


class CorpusComparer:
    """Engines and the reference with one vocabulary, which each loads once for all texts."""

    def __init__(self, name: str, engines: Sequence[Engine], pattern: str | None = None) -> None:
        """Load the vocabulary, a registered name or a path. Raises `BpeError`.

        `pattern` is used for a file that holds none, as for `subjects.load_text_subject`.
        """
        self._name, self._engines = name, [(engine, OneSession(engine)) for engine in engines]
        self._subject, self._tokenizer = load_text_subject(name, pattern)

    def compare(self, path: Path) -> Comparison:
        """Compare how each engine encodes a text file with the reference.

        Raises `InputError` if the file is unreadable, too large or not UTF-8, and if the reference
        refuses the text.

        >>> from pathlib import Path
        >>> CorpusComparer("tiny", []).compare(Path("no/such.txt"))
        Traceback (most recent call last):
        tokenref.errors.InputError: no/such.txt cannot be read: No such file or directory
        """
        text = text_of(read_bytes(path), str(path))
        subject, tokenizer = self._subject, self._tokenizer
        try:
            ids = array("Q", _right(subject, tokenizer, text))
        except BpeError as error:
            raise InputError(f"{path} cannot be encoded: {error}") from None
        encoded = text.encode()  # a text has one UTF-8 encoding, so these are the file's bytes
        reference = _Reference(text, len(encoded), subject, tokenizer, ids)
        _, profile = encoding_of(subject)
        with quiet_standard_error():
            results = [
                _compare(reference, engine, loaded.load(subject, self._name, profile))
                for engine, loaded in self._engines
            ]
        return Comparison(
            text=str(path),
            text_sha256=sha256(encoded).hexdigest(),
            text_bytes=len(encoded),
            vocabulary=self._name,
            vocabulary_digest=subject.digest(),
            results=results,
            notes=tokenizer.notes,
        )


def _compare(
    reference: _Reference, engine: Engine, session: Session | Unsupported | Crashed
) -> CorpusResult:
    """Return the result of one engine."""

    def result(status: CorpusStatus, detail: str = "") -> CorpusResult:
        return CorpusResult(engine.name, engine.version, status, detail)

    if isinstance(session, Unsupported | Crashed):
        status: CorpusStatus = "crash" if isinstance(session, Crashed) else "unsupported"
        return result(status, why_none(session))
    answer = reference.answer(session, reference.text)
    if isinstance(answer, Refused):
        return result("refused", answer.message)
    if not isinstance(answer, Ok):
        has_crashed = isinstance(answer, Crashed | TimedOut)
        return result("crash" if has_crashed else "unsupported", why_none(answer))
    ids: Sequence[TokenId] = answer.out["ids"]
    same = len(ids) == len(reference.ids) and all(map(int.__eq__, ids, reference.ids))
    return CorpusResult(
        engine=engine.name,
        version=engine.version,
        status="same" if same else "different",
        tokens=len(ids),
        difference=None if same else _difference(reference, session, ids),
    )


def _difference(reference: _Reference, session: Session, ids: Sequence[TokenId]) -> Difference:
    """Return the first difference between two encodings."""
    at = first_difference(reference.ids, ids)
    place = reference.place_of(at)
    line = reference.text.encode()[:place].count(b"\n")

    def differs(stretch: str) -> bool:
        answer = reference.answer(session, stretch)
        return not isinstance(answer, Ok) or list(answer.out["ids"]) != reference.encode(stretch)

    lines = reference.text.split("\n")
    stretches = [lines[line], "\n".join(lines[max(0, line - 1) : line + 2]), reference.text]
    found = next(
        (text for text in stretches if len(text) <= LONGEST_STRETCH and differs(text)), None
    )
    return Difference(
        line=line + 1,
        byte=place,
        expected=reference.shown(reference.ids[at:]),
        got=reference.shown(ids[at:]),
        smallest="" if found is None else shrink(found, differs),
    )


def shrink(text: str, differs: Callable[[str], bool]) -> str:
    """Return a short part of a text that differs, by cutting ever smaller parts off its ends.

    >>> shrink("one two three four", lambda text: "wo" in text)
    'wo'
    """
    step = len(text) // 2
    while step:
        if len(text) > step and differs(text[step:]):
            text = text[step:]
        elif len(text) > step and differs(text[:-step]):
            text = text[:-step]
        else:
            step //= 2
    return text


def corpus_exit_code(compared: Sequence[Comparison]) -> int:
    """Return 0 if all engines agree, 1 if not, 3 if one encoded no text with a vocabulary.

    >>> corpus_exit_code([])
    3
    """
    statuses: dict[tuple[str, str], set[CorpusStatus]] = defaultdict(set)
    for each in compared:
        for result in each.results:
            statuses[result.engine, each.vocabulary].add(result.status)
    if not statuses or {"unsupported"} in statuses.values():
        return 3
    return int(any(found - {"same", "unsupported"} for found in statuses.values()))
