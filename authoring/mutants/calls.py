"""Mutants that remember what they should not: each call alone is answered rightly.

Only several calls on one tokenizer tell them from the reference (operation `session`). What they
remember begins anew with each question.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final, TypeAlias

from authoring.mutants.mutant import Ask, Mutant, Witness, bytewise, mutant
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


def remembering(begin: Callable[[], Callable[[Right, str, Request], Given]]) -> Ask:
    """Return what answers the calls of a session by what `begin` returns, and the rest rightly.

    >>> callable(remembering(lambda: lambda right, op, request: right(op, request)))
    True
    """

    def ask(session: ReferenceSession, op: str, request: Request) -> Given:
        if op != SESSION:
            return session.answer(op, request)
        call = begin()
        answer = answer_calls(lambda called, given: call(session.answer, called, given), request)
        assert isinstance(answer, Ok)  # noqa: S101 - as of the reference
        return answer

    return ask


def _cached_by(key: Callable[[str, Request], Hashable]) -> Ask:
    """Return what keeps answers, refusals too, under a key that is too short."""

    def begin() -> Callable[[Right, str, Request], Given]:
        kept: dict[Hashable, Given] = {}

        def call(right: Right, op: str, request: Request) -> Given:
            short = key(op, request)
            if short not in kept:
                kept[short] = right(op, request)
            return kept[short]

        return call

    return remembering(begin)


def _whole(op: str, request: Request) -> Hashable:
    """Return a key that is long enough."""
    return op, canonical_json(dict(request))


def _without(*names: str) -> Callable[[str, Request], Hashable]:
    def key(op: str, request: Request) -> Hashable:
        return _whole(op, {name: part for name, part in request.items() if name not in names})

    return key


def _text_alone(op: str, request: Request) -> Hashable:
    """Return the text of what asks for tokens, whatever is special in it."""
    return request["text"] if "text" in request and op != "count" else _whole(op, request)


def _by_length(op: str, request: Request) -> Hashable:
    return (op, len(request["text"])) if op == "encode" and "text" in request else object()


def _by_letters(op: str, request: Request) -> Hashable:
    letters = tuple(sorted(request["text"])) if op == "encode" and "text" in request else object()
    return op, letters


_LONGEST_KEY: Final = 64


def _by_beginning(op: str, request: Request) -> Hashable:
    return (op, request["text"][:_LONGEST_KEY]) if "text" in request else object()


def _joined() -> Callable[[Right, str, Request], Given]:
    """Begin each text with what the last one left open, as one decoder for all calls does."""
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


def _refused_kept() -> Callable[[Right, str, Request], Given]:
    """Keep the ids before a refusal for the next text."""
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


def _refuses_once_more() -> Callable[[Right, str, Request], Given]:
    """After a refusal, give it again for the next call."""
    last: list[Refused] = []

    def call(right: Right, op: str, request: Request) -> Given:
        if last:
            return last.pop()
        answer = right(op, request)
        if isinstance(answer, Refused):
            last.append(answer)
        return answer

    return call


def _allowed_kept() -> Callable[[Right, str, Request], Given]:
    """Whatever was allowed once stays allowed."""
    allowed: set[str] = set()
    everything = [False]

    def call(right: Right, op: str, request: Request) -> Given:
        if op != "special":
            return right(op, request)
        everything[0] = everything[0] or request["allowed"] == "all"
        allowed.update(() if request["allowed"] == "all" else request["allowed"])
        return right(op, {**request, "allowed": "all" if everything[0] else sorted(allowed)})

    return call


def _encoded_is_text_only() -> Callable[[Right, str, Request], Given]:
    """Once special tokens were looked for, they are found in every text."""
    looked: list[bool] = []

    def call(right: Right, op: str, request: Request) -> Given:
        if op == "special" and request["allowed"]:
            looked.append(True)
        if op == "encode" and looked and "text" in request:
            return right("special", {"text": request["text"], "allowed": "all", "disallowed": []})
        return right(op, request)

    return call


def _buffer_not_emptied() -> Callable[[Right, str, Request], Given]:
    """Write the tokens over those of the last text, and return all that are there."""
    buffer: list[int] = []

    def call(right: Right, op: str, request: Request) -> Given:
        answer = right(op, request)
        if op != "encode" or isinstance(answer, Refused):
            return answer
        ids = answer.out["ids"]
        buffer[: len(ids)] = ids
        return Ok({"ids": list(buffer)})

    return call


def _goes_on() -> Callable[[Right, str, Request], Given]:
    """Take a text that begins with the last one for its continuation."""
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


def _given_once() -> Callable[[Right, str, Request], Given]:
    """Empty the list that was given when it is asked for again: it is the cache's own."""
    given: set[Hashable] = set()

    def call(right: Right, op: str, request: Request) -> Given:
        answer, key = right(op, request), _whole(op, request)
        if op == "encode" and key in given and isinstance(answer, Ok):
            return Ok({"ids": []})
        given.add(key)
        return answer

    return call


def _count_of_the_last() -> Callable[[Right, str, Request], Given]:
    """Count the tokens that were encoded last, if any were."""
    last: list[int] = []

    def call(right: Right, op: str, request: Request) -> Given:
        answer = right(op, request)
        if op == "encode" and isinstance(answer, Ok):
            last[:] = [len(answer.out["ids"])]
        return Ok({"count": last[0]}) if op == "count" and last else answer

    return call


_FULL: Final = 16


def _full_and_wrong() -> Callable[[Right, str, Request], Given]:
    """Keep few answers; a place that is used again keeps the old text's answer."""
    kept: dict[int, Given] = {}
    places: dict[Hashable, int] = {}

    def call(right: Right, op: str, request: Request) -> Given:
        if op != "encode":
            return right(op, request)
        key = _whole(op, request)
        place = places.setdefault(key, len(places) % _FULL)
        return kept.setdefault(place, right(op, request))

    return call


def _session(*calls: tuple[str, Request]) -> Witness:
    asked = [{"op": op, "in": dict(request)} for op, request in calls]
    return Witness(_SPECIAL, SESSION, {"calls": asked})


def _encode(text: str) -> tuple[str, Request]:
    return "encode", {"text": text}


def _special(allowed: object, disallowed: object = ()) -> tuple[str, Request]:
    given = {"text": "<x>", "allowed": allowed, "disallowed": disallowed or []}
    return "special", given


_SEVENTEEN: Final = tuple(_encode(chr(97 + number)) for number in range(_FULL + 1))

CALLS: Final[tuple[Mutant, ...]] = tuple(
    mutant(name, story, witness, ask=ask)
    for name, story, witness, ask in (
        (
            "calls-decoder-shared",
            "One decoder for all calls: half a character starts the next text. gpt-tokenizer 4.",
            _session(("decode", _OPEN), ("decode", _LETTER)),
            remembering(_joined),
        ),
        (
            "calls-refused-kept",
            "What was decoded before a refusal stays in the buffer and begins the next text; own.",
            _session(("decode", {"ids": [98, 999]}), ("decode", _LETTER)),
            remembering(_refused_kept),
        ),
        (
            "calls-refused-again",
            "The error of the last call is reported by the next one, too; own.",
            _session(_special([], "all"), _encode("a")),
            remembering(_refuses_once_more),
        ),
        (
            "calls-allowed-kept",
            "What was allowed once stays allowed: the set of the caller is added to; own.",
            _session(_special(["<x>"]), _special([])),
            remembering(_allowed_kept),
        ),
        (
            "calls-special-switched-on",
            "A switch for special tokens stays on, also where nothing is special; own.",
            _session(_special("all"), _encode("<x>")),
            remembering(_encoded_is_text_only),
        ),
        (
            "calls-cached-without-allowed",
            "Answers are kept under the text alone, whatever is special in it; own.",
            _session(_special("all"), _special([])),
            _cached_by(_text_alone),
        ),
        (
            "calls-cached-without-disallowed",
            "Answers are kept without what is disallowed, so that it is not refused; own.",
            _session(_special([]), _special([], "all")),
            _cached_by(_without("disallowed")),
        ),
        (
            "calls-cached-without-errors",
            "Texts are kept under the ids alone, whatever is to be done about bytes; own.",
            _session(("decode", _OPEN), ("decode", {"ids": _OPEN["ids"]})),
            _cached_by(_without("errors")),
        ),
        (
            "calls-cached-by-length",
            "The hash of a text is its length, and nothing else is compared; own.",
            _session(_encode("a"), _encode("b")),
            _cached_by(_by_length),
        ),
        (
            "calls-cached-by-letters",
            "The hash of a text is the sum of its letters, and nothing else is compared; own.",
            _session(_encode("ab"), _encode("ba")),
            _cached_by(_by_letters),
        ),
        (
            "calls-cached-by-beginning",
            f"Only the first {_LONGEST_KEY} characters of a text are its key; own.",
            _session(_encode("a" * 64 + "b"), _encode("a" * 64 + "c")),
            _cached_by(_by_beginning),
        ),
        (
            "calls-buffer-not-emptied",
            "Tokens are written over the last ones; a shorter text keeps the others' end; own.",
            _session(_encode("ab"), _encode("c")),
            remembering(_buffer_not_emptied),
        ),
        (
            "calls-go-on",
            "A text that begins with the last one is only encoded from there on; own.",
            Witness(
                bytewise(None, b"ab"),
                SESSION,
                {"calls": [{"op": "encode", "in": {"text": text}} for text in ("a", "ab")]},
            ),
            remembering(_goes_on),
        ),
        (
            "calls-given-once",
            "The cache gives its own list away, and who gets it empties it; own.",
            _session(_encode("a"), _encode("a")),
            remembering(_given_once),
        ),
        (
            "calls-count-of-the-last",
            "The tokens of the last text are counted, and not those of this one; own.",
            _session(_encode("ab"), ("count", {"text": "a"})),
            remembering(_count_of_the_last),
        ),
        (
            "calls-full-cache",
            f"A cache of {_FULL} places gives a place's old answer to its new text; own.",
            _session(*_SEVENTEEN),
            remembering(_full_and_wrong),
        ),
    )
)
"""The mutants."""
