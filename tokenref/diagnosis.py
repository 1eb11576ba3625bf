"""Name the likely cause of failures: a seeded bug, another rule, or another engine's rules.

`causes.json.xz` contains a signature of each known cause: which records fail, and with which
answers. `python -m authoring mutants` writes it. Answers are compared by digests, in which numbers
are rounded, because engines calculate in different precisions.

A cause *explains* a failure if its signature has the record with this answer. The cause that
explains most is taken first, then the one that explains most of the rest. A cause is named only if
almost no record of its signature passed or has another answer, and if the named causes together
explain nearly all failures of its operations. Invalid inputs that are not refused are a group of
their own, because many engines check less. All other failures have no known cause.
"""

import json
import lzma
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from sys import intern
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from tokenref.answers import Answer, Crashed, Ok, Refused, TimedOut, request_text
from tokenref.floats import numbers_of
from tokenref.judge import FAILURES, runs_of
from tokenref.questions.text import DecodeInput, SpecialInput, TextInput
from tokenref.record import OWN_DRAW_OPS, Case, canonical_json, op_of
from tokenref.verdicts import Judgement, MustRefuse, Status

PATH: Final = Path(__file__).parent / "causes.json.xz"

NEARLY_ALL: Final = 0.9
"""The share of its predictions that must occur, and of the failures that must be explained."""

FEWEST: Final = 3
"""How many failures a cause must explain to be named, unless its whole signature is smaller."""

MOST_ALIKE: Final = 3
"""How many causes that explain the same failures are named; more are no explanation."""

Kind: TypeAlias = Literal["bug", "rule", "engine"]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one case."""

    case: Case
    judgement: Judgement
    milliseconds: float = 0.0
    """The time it took; for cases asked together, the mean."""

    got: str = ""
    """The answer as JSON if it is wrong, truncated if it is long."""

    log: str = ""
    """The last part of the engine's standard error, if it crashed or timed out."""

    answer: str = ""
    """The digest of the answer if it is wrong."""

    @property
    def status(self) -> Status:
        """The status of the judgement."""
        return self.judgement.status


@dataclass(frozen=True)
class Signature:
    """What a cause makes fail."""

    kind: Kind
    name: str
    says: str
    answers: Mapping[str, str]
    """The digests of the wrong answers, by the digests of the records' ids."""


class Diagnosis(NamedTuple):
    """Failures with the same likely cause."""

    name: str
    """The name of the cause. If the records cannot distinguish several, the names of all."""

    sentence: str
    ids: Sequence[str]
    """The records that fail."""


def _in_words(cause: Signature) -> str:
    if cause.kind == "bug":
        return f'the seeded bug {cause.name}: "{cause.says}"'
    return f"the rule {cause.name}" if cause.kind == "rule" else cause.says


def digest(content: str | bytes, size: int = 4) -> str:
    """Return a short digest in hexadecimal.

    >>> digest("bpe/encode/example")
    '205f4bd2'
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    return blake2b(data, digest_size=size).hexdigest()


def answer_digest(op: str, answer: Answer) -> str:
    """Return the digest of an answer without its stages, with numbers rounded to three digits.

    >>> same = [{"probs": {"f32": "3eaaaaab"}}, {"probs": {"f64": "3fd5555555555555"}}]
    >>> len({answer_digest("softmax", Ok(out)) for out in same})
    1
    """
    if isinstance(answer, Refused):
        return digest(answer.code, 2)
    if not isinstance(answer, Ok) or op in OWN_DRAW_OPS:  # draws are never the same twice
        return digest(type(answer).__name__, 2)
    try:
        out = {key: _rounded(part) for key, part in answer.out.items() if key != "stages"}
        if "ids" in out or "runs" in out:
            out = {"runs": runs_of(out)} | {k: out[k] for k in out if k not in {"ids", "runs"}}
        return digest(canonical_json(out), 2)
    except (TypeError, ValueError, RecursionError):
        return digest("not an answer", 2)


def _rounded(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_rounded(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    numbers = numbers_of(value)
    if numbers is not None:
        return [intern(f"{number:.3g}") for number in numbers]
    return {key: _rounded(entry) for key, entry in value.items()}


# ---- the file


class Known(NamedTuple):
    """What is known about causes."""

    causes: Sequence[Signature]
    left_out: frozenset[str] = frozenset()
    """The digests of the records with inputs that are too long to ask every cause about them."""


def unpack_known(data: bytes) -> Known:
    """Return the content of the file, which `authoring.mutants.signatures` packs."""
    content = json.loads(data)
    records = _parts(content["records"], 8)
    found = []
    for kind, name, says, steps, of_answers in content["causes"]:
        answers, at = {}, 0
        for step, answer in zip(steps, _parts(of_answers, 4), strict=True):
            at += step
            answers[records[at]] = answer
        found.append(Signature(kind, name, says, answers))
    return Known(found, frozenset(_parts(content["left_out"], 8)))


def _parts(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@cache
def known_causes() -> Known:
    """Return what the package knows about causes."""
    return unpack_known(lzma.decompress(PATH.read_bytes()))


# ---- the diagnosis


@dataclass
class _Match:
    """How the signature of a cause fits the results."""

    causes: list[Signature]
    hits: frozenset[str]
    """The failures that it explains."""

    others: frozenset[str]
    """The failures that it predicts, with other answers."""

    passed: int
    """How many records that passed it predicts to fail."""

    def gain(self, left: set[str]) -> int:
        """Return how much the cause explains of what is left, less its wrong predictions."""
        return len(self.hits & left) - 2 * self.passed - len(self.others & left)

    def is_likely(
        self, others: Iterable["_Match"], failed: Mapping[str, Result], fewest: int
    ) -> bool:
        """Return whether the cause can be named together with the others."""
        shared = {record for each in others for record in (*each.hits, *each.others)}
        wrong = self.passed + len(self.others - shared)
        if len(self.hits) < NEARLY_ALL * (len(self.hits) + wrong):
            return False
        if len(self.hits) < fewest and all(len(c.answers) > len(self.hits) for c in self.causes):
            return False
        explained = shared | self.hits | self.others
        of_area = Counter(map(_area, failed.values()))
        left = Counter(_area(failed[record]) for record in failed.keys() - explained)
        own = Counter(_area(failed[record]) for record in self.hits)
        share = sum(count * (1 - left[area] / of_area[area]) for area, count in own.items())
        return len(self.causes) <= MOST_ALIKE and share >= NEARLY_ALL * len(self.hits)


def _area(seen: Result) -> tuple[str, bool]:
    """Return the operation, and whether the input is invalid: engines often accept too much."""
    return op_of(seen.case), isinstance(seen.case.verdict, MustRefuse)


def _is_right(seen: Result) -> bool:
    """Return whether the answer about a text is right, apart from its stages."""
    case = seen.case
    if case.vocab is None or case.out is None or seen.status != "fail":
        return False
    return seen.answer == answer_digest(op_of(case), Ok(msgspec.to_builtins(case.out)))


def diagnose(
    results: Iterable[Result], known: Known | None = None, *, fewest: int = FEWEST
) -> list[Diagnosis]:
    """Return the likely causes of failures, and the failures that each explains.

    A cause that explains less than `fewest` failures is named only if its signature is not larger.
    """
    results = list(results)
    slow = too_slow(results)
    found = [slow] if slow else []
    passed = {digest(seen.case.id) for seen in results if seen.status == "pass"}
    wrong = (seen for seen in results if seen.status in FAILURES - {"timeout", "xpass"})
    failed = {digest(seen.case.id): seen for seen in wrong}
    stages = [seen.case.id for seen in failed.values() if _is_right(seen)]
    failed = {record: seen for record, seen in failed.items() if not _is_right(seen)}
    if not failed and not stages:
        return found
    known = known or known_causes()
    matches = _matches(known.causes, passed, failed)
    hit = {record for match in matches for record in match.hits}
    long = [failed.pop(record).case.id for record in known.left_out - hit if record in failed]
    left, chosen = set(failed), list[_Match]()
    while matches:
        best = max(matches, key=lambda match: match.gain(left))
        if best.gain(left) <= 0:
            break
        chosen.append(best)
        matches.remove(best)
        left -= best.hits
    while True:
        likely = [
            match
            for match in chosen
            if match.is_likely([each for each in chosen if each is not match], failed, fewest)
        ]
        if likely == chosen:
            break
        chosen = likely
    named = set[str]()
    for match in chosen:
        ids = [failed[record].case.id for record in failed if record in match.hits - named]
        these = f"These {len(ids):,} failures match" if len(ids) > 1 else "This failure matches"
        sentence = f"{these} {', or '.join(map(_in_words, match.causes))}"
        found.append(Diagnosis(" or ".join(each.name for each in match.causes), sentence, ids))
        named |= match.hits
    accepted = [
        seen.case.id
        for record, seen in failed.items()
        if record not in named and isinstance(seen.case.verdict, MustRefuse)
    ]
    others = (
        ("stages", "failure is", "failures are", "in a stage only; the answer is right", stages),
        (
            *("long inputs", "failure is", "failures are"),
            "about inputs too long to be compared with known causes",
            sorted(long),
        ),
        (
            *("invalid input", "invalid input was", "invalid inputs were"),
            "not refused with the right code",
            accepted,
        ),
    )
    for name, one, many, says, ids in others:
        if ids:
            sentence = f"{len(ids):,} {many if len(ids) > 1 else one} {says}"
            found.append(Diagnosis(name, sentence, ids))
    return found


def _matches(
    signatures: Iterable[Signature], passed: set[str], failed: Mapping[str, Result]
) -> list[_Match]:
    """Return how each cause fits that explains anything. Causes that fit equally are together."""
    together: dict[tuple[object, ...], _Match] = {}
    for each in signatures:
        predicted = frozenset(record for record in each.answers if record in failed)
        hits = frozenset(r for r in predicted if failed[r].answer == each.answers[r])
        if hits:
            fit = hits, predicted - hits, len(passed.intersection(each.answers))
            together.setdefault(fit, _Match([], *fit)).causes.append(each)
    for match in together.values():
        match.causes.sort(key=lambda cause: len(cause.answers))
    return list(together.values())


# ---- time


def length(case: Case) -> int:
    """Return the length of a question in characters, bytes or ids, else as JSON."""
    match case.input:
        case DecodeInput(ids=ids):
            return len(ids)
        case TextInput() as given:
            return len(request_text(msgspec.to_builtins(given)))
        case SpecialInput(text=text):
            return len(text)
    return len(canonical_json(msgspec.to_builtins(case.input)))


def too_slow(results: Iterable[Result]) -> Diagnosis | None:
    """Return the timeouts on long texts, if running time appears to be quadratic.

    It does if the engine gave up at a length that it would have reached in time if its running time
    were proportional to the length.
    """
    timed = [
        (length(each.case), each.milliseconds / 1000, each)
        for each in results
        if isinstance(each.case.input, TextInput)
    ]
    answered = [(size, time) for size, time, each in timed if each.status in {"pass", "fail"}]
    longest = max((size for size, _ in answered), default=0)
    late = [(size, time, each) for size, time, each in timed if each.status == "timeout"]
    beyond = [(size, time) for size, time, _ in late if size > longest]
    if not longest or not beyond:
        return None
    # Questions in one message share its time, so the shortest time says most.
    seconds = min(time for size, time in answered if size > longest / 2)
    shortest, waited = min(beyond)[0], max(time for _, time in beyond)
    if waited < seconds * (shortest / longest) ** _ABOVE_LINEAR:
        return None
    texts = f"{len(late):,} texts" if len(late) > 1 else "1 text"
    texts += f" of {shortest:,} or more characters"
    but = f"but one of {longest:,}"
    if waited > seconds * (2 * shortest / longest) ** _ABOVE_ANY:
        name = "no answer"
        sentence = f"{texts} got no answer in time, {but} took only {seconds:.2g} s"
    else:
        name = "quadratic time"
        sentence = f"Running time appears to be quadratic: {texts} took too long, {but} only "
        sentence += f"{seconds:.2g} s"
    return Diagnosis(name, sentence, [each.case.id for _, _, each in late])


_ABOVE_LINEAR: Final = 1.4
"""The exponent from which growth is taken to be quadratic, because measured times are inexact."""

_ABOVE_ANY: Final = 4
"""The exponent above which a program hangs rather than being slow. The shorter of the texts that
were answered may have taken the shortest time, so lengths are compared with half of the longest."""


_LONGEST_GOT: Final = 2000
"""Maximum length of an answer in the report, in characters."""


def result_of(
    case: Case, answer: Answer, judgement: Judgement, milliseconds: float = 0.0
) -> Result:
    """Return the result of a case: its judgement and the relevant parts of the answer."""
    got = log = wrong = ""
    if judgement.status in FAILURES:
        wrong = answer_digest(op_of(case), answer)
    if isinstance(answer, Crashed | TimedOut):
        log = answer.log
    elif isinstance(answer, Ok) and judgement.status in FAILURES:
        got = _text(answer.out)
    return Result(case, judgement, milliseconds, got, log, wrong)


def _text(out: Mapping[str, Any]) -> str:
    """Return an answer as JSON as far as possible, truncated if it is long."""
    try:
        text = json.dumps(out, default=repr)
    except (ValueError, RecursionError) as error:
        text = f"cannot be written as JSON: {error}"
    return (
        text if len(text) <= _LONGEST_GOT else f"{text[:_LONGEST_GOT]} ... ({len(text)} characters)"
    )
