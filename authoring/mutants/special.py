"""Mutants that find special tokens too often, too seldom, or with their surroundings."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from authoring.mutants.mutant import (
    Mutant,
    Witness,
    bytewise,
    encode,
    mutant,
)
from bpe_ref import Steps, Vocabulary
from tokenref.answers import Ok, Refused
from tokenref.engines.reference import ReferenceSession

Stretches = Iterator[tuple[str, str | None]]

_split: Final = Steps().split_special
_refuse: Final = Steps().refuse_special


def _any_of(texts: frozenset[str], *, longest_first: bool = True, flags: int = 0) -> str:
    ordered = sorted(texts, key=lambda text: (-len(text) if longest_first else len(text), text))
    return ("(?i)" if flags else "") + "|".join(map(re.escape, ordered))


def _shortest_first(text: str, allowed: frozenset[str]) -> Stretches:
    start = 0
    if allowed:
        for found in re.finditer(_any_of(allowed, longest_first=False), text):
            yield text[start : found.start()], found.group()
            start = found.end()
    yield text[start:], None


def _in_any_case(text: str, allowed: frozenset[str]) -> Stretches:
    names = {name.casefold(): name for name in allowed}
    start = 0
    if allowed:
        for found in re.finditer(_any_of(allowed, flags=re.IGNORECASE), text):
            yield text[start : found.start()], names.get(found.group().casefold())
            start = found.end()
    yield text[start:], None


def _one_after_the_other(text: str, allowed: frozenset[str]) -> Stretches:
    """Split by the longest special token, each part by the next one, and so on."""
    stretches: list[tuple[str, str | None]] = [(text, None)]
    for special in sorted(allowed, key=lambda name: (-len(name), name)):
        finer: list[tuple[str, str | None]] = []
        for stretch, end in stretches:
            *parts, last = stretch.split(special)
            finer += [(part, special) for part in parts] + [(last, end)]
        stretches = finer
    yield from stretches


def _never_found(text: str, _: frozenset[str]) -> Stretches:
    yield text, None


def _found_once(text: str, allowed: frozenset[str]) -> Stretches:
    stretch, special = next(_split(text, allowed))
    yield stretch, special
    if special is not None:
        yield text[len(stretch) + len(special) :], None


def _missed_at_the_start(text: str, allowed: frozenset[str]) -> Stretches:
    stretches = list(_split(text, allowed))
    first, special = stretches[0]
    if first or special is None:
        yield from stretches
    else:
        following, end = stretches[1]
        yield special + following, end
        yield from stretches[2:]


def _rest_lost(text: str, allowed: frozenset[str]) -> Stretches:
    *found, rest = _split(text, allowed)
    yield from found or [rest]


def _repeated_once(text: str, allowed: frozenset[str]) -> Stretches:
    before: str | None = None
    for stretch, special in _split(text, allowed):
        if stretch or special is None or special != before:
            yield stretch, special
        before = special


def _doubled_at_the_start(text: str, allowed: frozenset[str]) -> Stretches:
    for number, (stretch, special) in enumerate(_split(text, allowed)):
        if number == 0 and not stretch and special is not None:
            yield stretch, special
        yield stretch, special


def _space_before_lost(text: str, allowed: frozenset[str]) -> Stretches:
    for stretch, special in _split(text, allowed):
        yield (stretch if special is None else stretch.rstrip()), special


def _space_after_lost(text: str, allowed: frozenset[str]) -> Stretches:
    for number, (stretch, special) in enumerate(_split(text, allowed)):
        yield (stretch.lstrip() if number else stretch), special


def _space_after_added(text: str, allowed: frozenset[str]) -> Stretches:
    for number, (stretch, special) in enumerate(_split(text, allowed)):
        yield (f" {stretch}" if number and stretch else stretch), special


def _refused_at_the_start(text: str, disallowed: frozenset[str]) -> None:
    longest = max(map(len, disallowed), default=0)
    _refuse(text[:longest], frozenset(name for name in disallowed if text.startswith(name)))


def _never_refused(_: str, __: frozenset[str]) -> None:
    """Let everything pass."""


def _all_allowed(session: ReferenceSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
    if op == "special":
        request = {**request, "allowed": "all", "disallowed": []}
    return session.answer(op, request)


def _found_in_ordinary_text(
    session: ReferenceSession, op: str, request: Mapping[str, Any]
) -> Ok | Refused:
    if op == "encode" and "text" in request:
        return session.answer("special", {**request, "allowed": "all", "disallowed": []})
    return session.answer(op, request)


def _refused_in_ordinary_text(
    session: ReferenceSession, op: str, request: Mapping[str, Any]
) -> Ok | Refused:
    if op == "encode" and "text" in request:
        return session.answer("special", {**request, "allowed": [], "disallowed": "all"})
    return session.answer(op, request)


def _ask(text: str, *, allowed: str | list[str] = "all", **ids: int) -> Witness:
    """Return the witness "the tokens of a text with special ones" over single bytes."""
    specials = {f"<{name}>": token for name, token in ids.items()} or {"<x>": 256}
    return _asked(bytewise(special_tokens=specials), text, allowed)


def _asked(vocabulary: Vocabulary, text: str, allowed: str | list[str] = "all") -> Witness:
    request = {"text": text, "allowed": allowed, "disallowed": "all"}
    return Witness(vocabulary, "special", request)


SPECIAL: Final[tuple[Mutant, ...]] = (
    mutant(
        "shortest-special-wins",
        "Of two special tokens that start at one place the shorter wins. In tiktoken it is "
        "whichever a hash map yields first.",
        _asked(bytewise(special_tokens={"<x>": 256, "<x><y>": 257}), "<x><y>"),
        steps=Steps(split_special=_shortest_first),
    ),
    mutant(
        "special-one-after-the-other",
        "The text is split by one special token after the other, so the order of the list beats "
        "the order of the text. Seen in teaching code.",
        _asked(bytewise(special_tokens={"ab": 256, "bcd": 257}), "abcd"),
        steps=Steps(split_special=_one_after_the_other),
    ),
    mutant(
        "special-never-found",
        "Allowed special tokens are encoded as text. gh-markt/cpp-tiktoken#5.",
        _ask("<x>"),
        steps=Steps(split_special=_never_found),
    ),
    mutant(
        "special-found-once",
        "Only the first special token is found. Own.",
        _ask("<x><x>"),
        steps=Steps(split_special=_found_once),
    ),
    mutant(
        "special-at-the-start-missed",
        "A special token at position 0 is missed, for 0 is taken for no position. Own.",
        _ask("<x>a"),
        steps=Steps(split_special=_missed_at_the_start),
    ),
    mutant(
        "special-in-any-case",
        "Special tokens are found whatever their case. Own.",
        _ask("<X>"),
        steps=Steps(split_special=_in_any_case),
    ),
    mutant(
        "special-repeated-once",
        "The same special token twice in a row is one. Own.",
        _ask("<x><x>"),
        steps=Steps(split_special=_repeated_once),
    ),
    mutant(
        "special-doubled-at-the-start",
        "The special token that begins a text comes twice: the template adds one, and so does the "
        "tokenizer. deepseek-ai/DeepSeek-R1#151, ggml-org/llama.cpp#7107 and many more.",
        _ask("<x>a"),
        steps=Steps(split_special=_doubled_at_the_start),
    ),
    mutant(
        "text-after-special-lost",
        "What follows the last special token is dropped. Own.",
        _ask("a<x>b"),
        steps=Steps(split_special=_rest_lost),
    ),
    mutant(
        "space-before-special-lost",
        "White space before a special token is dropped. huggingface/tokenizers#1544, #1786.",
        _ask("a <x>"),
        steps=Steps(split_special=_space_before_lost),
    ),
    mutant(
        "space-after-special-lost",
        "White space after a special token is dropped. huggingface/transformers#29774.",
        _ask("<x> a"),
        steps=Steps(split_special=_space_after_lost),
    ),
    mutant(
        "space-after-special-added",
        "A space is put after each special token. huggingface/transformers#27279, #24569.",
        _ask("<x>a"),
        steps=Steps(split_special=_space_after_added),
    ),
    mutant(
        "special-never-refused",
        "Disallowed special text is let pass. huggingface/tokenizers#1347, "
        "huggingface/transformers#25081.",
        _ask("<x>", allowed=[]),
        steps=Steps(refuse_special=_never_refused),
    ),
    mutant(
        "special-refused-at-the-start-only",
        "Disallowed special text is looked for at the start of the text only. Own.",
        _ask("a<x>", allowed=[]),
        steps=Steps(refuse_special=_refused_at_the_start),
    ),
    mutant(
        "special-always-allowed",
        "Special text becomes a special token whether it is allowed or not, so that whoever "
        "writes the text can end the prompt. huggingface/tokenizers#1391, marcelroed/gigatoken#57.",
        _ask("<x>", allowed=[]),
        ask=_all_allowed,
    ),
    mutant(
        "special-in-ordinary-text",
        "Special text becomes a special token even where nothing is special. "
        "huggingface/tokenizers#1850, vllm-project/vllm#11691.",
        encode(bytewise(special_tokens={"<x>": 256}), "<x>"),
        ask=_found_in_ordinary_text,
    ),
    mutant(
        "ordinary-text-refused",
        "Text that spells a special token is refused even where nothing is special. "
        "vectorize-io/hindsight#1891.",
        encode(bytewise(special_tokens={"<x>": 256}), "<x>"),
        ask=_refused_in_ordinary_text,
    ),
)
"""The mutants that handle special tokens wrongly."""
