"""Mutants that remember what they should not: each call alone is answered rightly.

Only several calls on one tokenizer tell them from the reference (operation `session`). What they
remember begins anew with each question.
"""

from collections.abc import Callable, Hashable, Mapping
from functools import partial, wraps
from typing import Any, Final, TypeAlias

from authoring.mutants.mutant import EngineWithHandler, Mutant, Witness, bytewise, mutant
from tokenref.answers import SESSION, Ok, Refused, answer_calls
from tokenref.engines.reference import ReferenceSession
from tokenref.record import canonical_json

Request: TypeAlias = Mapping[str, Any]
Given: TypeAlias = Ok | Refused

Right: TypeAlias = Callable[[str, Request], Given]
"""What asks the reference."""

_SPECIAL: Final = bytewise(special_tokens={"<x>": 256, "<y>": 257})
_OPEN: Final = {"ids": [0xF0, 0x9F], "errors": "replace"}
_LETTER: Final = {"ids": [97], "errors": "replace"}


Call: TypeAlias = Callable[[Right, str, Request], Given]
"""How one call of a session is answered."""


def remembering(witness: Witness) -> Callable[[Callable[[], Call]], Mutant]:
    """Return a decorator: what the function returns answers the calls of one session."""

    def engine(label: str, begin: Callable[[], Call]) -> EngineWithHandler:
        def handle(session: ReferenceSession, op: str, request: Request) -> Given:
            if op != SESSION:
                return session.answer(op, request)
            answer = answer_calls(partial(begin(), session.answer), request)
            assert isinstance(answer, Ok)  # noqa: S101 - as of the reference
            return answer

        return EngineWithHandler(label, handle=handle)

    return mutant(witness, engine, ops={SESSION})


def cached_by(witness: Witness) -> Callable[[Callable[[str, Request], Hashable]], Mutant]:
    """Return a decorator: answers are kept under the key that the function returns."""

    def declare(key: Callable[[str, Request], Hashable]) -> Mutant:
        @wraps(key)
        def begin() -> Call:
            kept: dict[Hashable, Given] = {}

            def call(right: Right, op: str, request: Request) -> Given:
                short = key(op, request)
                if short not in kept:
                    kept[short] = right(op, request)
                return kept[short]

            return call

        return remembering(witness)(begin)

    return declare


def _whole(op: str, request: Request) -> Hashable:
    """Return a key that is long enough."""
    return op, canonical_json(dict(request))


def _without(op: str, request: Request, name: str) -> Hashable:
    return _whole(op, {part: given for part, given in request.items() if part != name})


def _is_open(answer: Given) -> bool:
    """Return whether some bytes are the beginning of a character, and not all of it."""
    if isinstance(answer, Refused):
        return False
    data = bytes.fromhex(answer.out["bytes"])
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start == 0 and error.reason == "unexpected end of data"
    return False


def _session(*calls: tuple[str, Request]) -> Witness:
    asked = [{"op": op, "in": dict(request)} for op, request in calls]
    return Witness(_SPECIAL, SESSION, {"calls": asked})


def _encode(text: str) -> tuple[str, Request]:
    return "encode", {"text": text}


def _special(allowed: object, disallowed: object = ()) -> tuple[str, Request]:
    given = {"text": "<x>", "allowed": allowed, "disallowed": disallowed or []}
    return "special", given


_SEVENTEEN: Final = tuple(_encode(chr(97 + number)) for number in range(17))


@remembering(_session(("decode", _OPEN), ("decode", _LETTER)))
def calls_decoder_shared() -> Call:
    """All calls share one decoder, so half a character starts the next text. gpt-tokenizer 4."""
    kept: list[int] = []

    def call(right: Right, op: str, request: Request) -> Given:
        if op != "decode" or request.get("errors") != "replace":
            return right(op, request)
        ids = [*kept, *request["ids"]]
        answer = right(op, {**request, "ids": ids})
        kept.clear()
        for size in range(min(3, len(ids)), 0, -1):
            if _is_open(right("decode", {"ids": ids[-size:]})):
                kept.extend(ids[-size:])
                break
        return answer

    return call


@remembering(_session(("decode", {"ids": [98, 999]}), ("decode", _LETTER)))
def calls_refused_kept() -> Call:
    """The text decoded before a refusal stays in the buffer and begins the next text."""
    kept: list[int] = []

    def call(right: Right, op: str, request: Request) -> Given:
        if op != "decode":
            return right(op, request)
        answer = right(op, request)
        if isinstance(answer, Refused):
            kept[:] = request["ids"][:1]
            return answer
        given = {**request, "ids": [*kept, *request["ids"]]}
        kept.clear()
        return right(op, given)

    return call


@remembering(_session(_special([], "all"), _encode("a")))
def calls_refused_again() -> Call:
    """The next call reports the error of the last one too."""
    last: list[Refused] = []

    def call(right: Right, op: str, request: Request) -> Given:
        if last:
            return last.pop()
        answer = right(op, request)
        if isinstance(answer, Refused):
            last.append(answer)
        return answer

    return call


@remembering(_session(_special(["<x>"]), _special([])))
def calls_allowed_kept() -> Call:
    """Special tokens that were allowed once stay allowed because the caller's set is changed."""
    allowed: set[str] = set()
    everything = [False]

    def call(right: Right, op: str, request: Request) -> Given:
        if op != "special":
            return right(op, request)
        everything[0] = everything[0] or request["allowed"] == "all"
        allowed.update(() if request["allowed"] == "all" else request["allowed"])
        return right(op, {**request, "allowed": "all" if everything[0] else sorted(allowed)})

    return call


@remembering(_session(_special("all"), _encode("<x>")))
def calls_special_switched_on() -> Call:
    """A switch for special tokens stays on, even where nothing is special."""
    looked: list[bool] = []

    def call(right: Right, op: str, request: Request) -> Given:
        if op == "special" and request["allowed"]:
            looked.append(True)
        if op == "encode" and looked and "text" in request:
            return right("special", {"text": request["text"], "allowed": "all", "disallowed": []})
        return right(op, request)

    return call


@cached_by(_session(_special("all"), _special([])))
def calls_cached_without_allowed(op: str, request: Request) -> Hashable:
    """Answers are cached by the text alone, whatever is special in it."""
    return request["text"] if "text" in request and op != "count" else _whole(op, request)


@cached_by(_session(_special([]), _special([], "all")))
def calls_cached_without_disallowed(op: str, request: Request) -> Hashable:
    """Answers are cached without the disallowed tokens, so nothing is refused."""
    return _without(op, request, "disallowed")


@cached_by(_session(("decode", _OPEN), ("decode", {"ids": _OPEN["ids"]})))
def calls_cached_without_errors(op: str, request: Request) -> Hashable:
    """Texts are cached by the ids alone, however bytes are to be handled."""
    return _without(op, request, "errors")


@cached_by(_session(_encode("a"), _encode("b")))
def calls_cached_by_length(op: str, request: Request) -> Hashable:
    """The hash of a text is its length, and texts are not compared."""
    return (op, len(request["text"])) if op == "encode" and "text" in request else object()


@cached_by(_session(_encode("ab"), _encode("ba")))
def calls_cached_by_letters(op: str, request: Request) -> Hashable:
    """The hash of a text is the sum of its letters, and texts are not compared."""
    letters = tuple(sorted(request["text"])) if op == "encode" and "text" in request else object()
    return op, letters


@cached_by(_session(_encode("a" * 64 + "b"), _encode("a" * 64 + "c")))
def calls_cached_by_beginning(op: str, request: Request) -> Hashable:
    """Only the first 64 characters of a text are its key."""
    return (op, request["text"][:64]) if "text" in request else object()


@remembering(_session(_encode("ab"), _encode("c")))
def calls_buffer_not_emptied() -> Call:
    """Tokens are written over the last ones; a shorter text keeps the end of the longer one."""
    buffer: list[int] = []

    def call(right: Right, op: str, request: Request) -> Given:
        answer = right(op, request)
        if op != "encode" or isinstance(answer, Refused):
            return answer
        ids = answer.out["ids"]
        buffer[: len(ids)] = ids
        return Ok({"ids": list(buffer)})

    return call


@remembering(
    Witness(
        bytewise(None, b"ab"),
        SESSION,
        {"calls": [{"op": "encode", "in": {"text": text}} for text in ("a", "ab")]},
    )
)
def calls_go_on() -> Call:
    """A text that begins with the last one is encoded only from there on."""
    last: list[tuple[str, list[int]]] = []

    def call(right: Right, op: str, request: Request) -> Given:
        answer = right(op, request)
        if op != "encode" or "text" not in request or isinstance(answer, Refused):
            return answer
        text, ids = request["text"], list(answer.out["ids"])
        if last and last[-1][0] and text != last[-1][0] and text.startswith(last[-1][0]):
            rest = right(op, {"text": text.removeprefix(last[-1][0])})
            if isinstance(rest, Ok):
                ids = [*last[-1][1], *rest.out["ids"]]
        last.append((text, ids))
        return Ok({"ids": ids})

    return call


@remembering(_session(_encode("a"), _encode("a")))
def calls_given_once() -> Call:
    """The cache returns its own list, and the caller empties it."""
    given: set[Hashable] = set()

    def call(right: Right, op: str, request: Request) -> Given:
        answer, key = right(op, request), _whole(op, request)
        if op == "encode" and key in given and isinstance(answer, Ok):
            return Ok({"ids": []})
        given.add(key)
        return answer

    return call


@remembering(_session(_encode("ab"), ("count", {"text": "a"})))
def calls_count_of_the_last() -> Call:
    """The tokens of the last text are counted instead of this one."""
    last: list[int] = []

    def call(right: Right, op: str, request: Request) -> Given:
        answer = right(op, request)
        if op == "encode" and isinstance(answer, Ok):
            last[:] = [len(answer.out["ids"])]
        return Ok({"count": last[0]}) if op == "count" and last else answer

    return call


@remembering(_session(*_SEVENTEEN))
def calls_full_cache() -> Call:
    """A cache of 16 places gives a place's old answer to its new text."""
    kept: dict[int, Given] = {}
    places: dict[Hashable, int] = {}

    def call(right: Right, op: str, request: Request) -> Given:
        if op != "encode":
            return right(op, request)
        key = _whole(op, request)
        place = places.setdefault(key, len(places) % 16)
        return kept.setdefault(place, right(op, request))

    return call
