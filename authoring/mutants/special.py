"""Mutants that find special tokens too often, too seldom, or with their surroundings."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from authoring.mutants.mutant import (
    RIGHT,
    Witness,
    answering,
    bytewise,
    encode,
    replacing,
    replacing_tool,
)
from bpe_ref import Special, TokenId, Tokenizer, Vocabulary
from tokenref.answers import Ok, Refused
from tokenref.engines.reference import ReferenceSession

Stretches: TypeAlias = Iterator[tuple[str, str | None]]


def _any_of(texts: frozenset[str], *, longest_first: bool = True, flags: int = 0) -> str:
    ordered = sorted(texts, key=lambda text: (-len(text) if longest_first else len(text), text))
    return ("(?i)" if flags else "") + "|".join(map(re.escape, ordered))


def _ask(text: str, *, allowed: str | list[str] = "all", **ids: int) -> Witness:
    """Return the witness "the tokens of a text with special ones" over single bytes."""
    specials = {f"<{name}>": token for name, token in ids.items()} or {"<x>": 256}
    return _asked(bytewise(special_tokens=specials), text, allowed)


def _asked(vocabulary: Vocabulary, text: str, allowed: str | list[str] = "all") -> Witness:
    request = {"text": text, "allowed": allowed, "disallowed": "all"}
    return Witness(vocabulary, "special", request)


@replacing("split_special", _asked(bytewise(special_tokens={"<x>": 256, "<x><y>": 257}), "<x><y>"))
def shortest_special_wins(text: str, allowed: frozenset[str]) -> Stretches:
    """When two special tokens start at the same place, the shorter one wins. In tiktoken it is
    whichever a hash map yields first.
    """
    start = 0
    if allowed:
        for found in re.finditer(_any_of(allowed, longest_first=False), text):
            yield text[start : found.start()], found.group()
            start = found.end()
    yield text[start:], None


@replacing("split_special", _asked(bytewise(special_tokens={"ab": 256, "bcd": 257}), "abcd"))
def special_one_after_the_other(text: str, allowed: frozenset[str]) -> Stretches:
    """The text is split by one special token after another, so the order of the list beats the
    order of the text. Seen in teaching code.
    """
    stretches: list[tuple[str, str | None]] = [(text, None)]
    for special in sorted(allowed, key=lambda name: (-len(name), name)):
        finer: list[tuple[str, str | None]] = []
        for stretch, end in stretches:
            *parts, last = stretch.split(special)
            finer += [(part, special) for part in parts] + [(last, end)]
        stretches = finer
    yield from stretches


@replacing_tool(
    "special",
    Witness(
        bytewise(special_tokens={"<x>": 256, "<x><y>": 257}),
        "special",
        {"text": "<x><y>", "allowed": ["<x>"], "disallowed": []},
    ),
)
def special_hidden_by_a_longer_one(
    tokenizer: Tokenizer, text: str, special: Special
) -> list[TokenId]:
    """The longest special token at a place is found first and only then checked, so that one which
    is not allowed hides a shorter one which is.
    """
    treatment = tokenizer.treatment(special)
    RIGHT.refuse_special(text, treatment.refused)
    ids = tokenizer.added.ids
    found: list[TokenId] = []
    start = 0
    for match in re.finditer(_any_of(frozenset(ids)), text) if ids else ():
        if match.group() not in treatment.ordinary:
            found += tokenizer.encode(text[start : match.start()], special="ordinary")
            found.append(ids[match.group()])
            start = match.end()
    return found + tokenizer.encode(text[start:], special="ordinary")


@replacing("split_special", _ask("<x>"))
def special_never_found(text: str, _: frozenset[str]) -> Stretches:
    """Allowed special tokens are encoded as text. gh-markt/cpp-tiktoken#5."""
    yield text, None


@replacing("split_special", _ask("<x><x>"))
def special_found_once(text: str, allowed: frozenset[str]) -> Stretches:
    """Only the first special token is found."""
    stretch, special = next(RIGHT.split_special(text, allowed))
    yield stretch, special
    if special is not None:
        yield text[len(stretch) + len(special) :], None


@replacing("split_special", _ask("<x>a"))
def special_at_the_start_missed(text: str, allowed: frozenset[str]) -> Stretches:
    """A special token at position 0 is missed because 0 is read as "not found"."""
    stretches = list(RIGHT.split_special(text, allowed))
    first, special = stretches[0]
    if first or special is None:
        yield from stretches
    else:
        following, end = stretches[1]
        yield special + following, end
        yield from stretches[2:]


@replacing("split_special", _ask("<X>"))
def special_in_any_case(text: str, allowed: frozenset[str]) -> Stretches:
    """Special tokens are found in any case."""
    names = {name.casefold(): name for name in allowed}
    start = 0
    if allowed:
        for found in re.finditer(_any_of(allowed, flags=re.IGNORECASE), text):
            yield text[start : found.start()], names.get(found.group().casefold())
            start = found.end()
    yield text[start:], None


@replacing("split_special", _ask("<x><x>"))
def special_repeated_once(text: str, allowed: frozenset[str]) -> Stretches:
    """The same special token twice in a row becomes one."""
    before: str | None = None
    for stretch, special in RIGHT.split_special(text, allowed):
        if stretch or special is None or special != before:
            yield stretch, special
        before = special


@replacing("split_special", _ask("<x>a"))
def special_doubled_at_the_start(text: str, allowed: frozenset[str]) -> Stretches:
    """The special token at the beginning appears twice: the template adds one, and so does the
    tokenizer. deepseek-ai/DeepSeek-R1#151, ggml-org/llama.cpp#7107 and many more.
    """
    for number, (stretch, special) in enumerate(RIGHT.split_special(text, allowed)):
        if number == 0 and not stretch and special is not None:
            yield stretch, special
        yield stretch, special


@replacing("split_special", _ask("a<x>b"))
def text_after_special_lost(text: str, allowed: frozenset[str]) -> Stretches:
    """The text after the last special token is dropped."""
    *found, rest = RIGHT.split_special(text, allowed)
    yield from found or [rest]


@replacing("split_special", _ask("a <x>"))
def space_before_special_lost(text: str, allowed: frozenset[str]) -> Stretches:
    """White space before a special token is dropped. huggingface/tokenizers#1544, #1786."""
    for stretch, special in RIGHT.split_special(text, allowed):
        yield (stretch if special is None else stretch.rstrip()), special


@replacing("split_special", _ask("<x> a"))
def space_after_special_lost(text: str, allowed: frozenset[str]) -> Stretches:
    """White space after a special token is dropped. huggingface/transformers#29774."""
    for number, (stretch, special) in enumerate(RIGHT.split_special(text, allowed)):
        yield (stretch.lstrip() if number else stretch), special


@replacing("split_special", _ask("<x>a"))
def space_after_special_added(text: str, allowed: frozenset[str]) -> Stretches:
    """A space is added after each special token. huggingface/transformers#27279, #24569."""
    for number, (stretch, special) in enumerate(RIGHT.split_special(text, allowed)):
        yield (f" {stretch}" if number and stretch else stretch), special


@replacing("refuse_special", _ask("<x>", allowed=[]))
def special_never_refused(_: str, __: frozenset[str]) -> None:
    """Disallowed special text is accepted. huggingface/tokenizers#1347,
    huggingface/transformers#25081.
    """


@replacing("refuse_special", _ask("a<x>", allowed=[]))
def special_refused_at_the_start_only(text: str, disallowed: frozenset[str]) -> None:
    """Disallowed special text is detected only at the start of the text."""
    longest = max(map(len, disallowed), default=0)
    RIGHT.refuse_special(
        text[:longest], frozenset(name for name in disallowed if text.startswith(name))
    )


@replacing("refuse_special", _ask("a\0<x>", allowed=[]))
def special_refused_before_nul_only(text: str, disallowed: frozenset[str]) -> None:
    """The search for disallowed special text ends at a NUL, as a search in a C string does."""
    RIGHT.refuse_special(text.partition("\0")[0], disallowed)


@answering(_ask("<x>", allowed=[]))
def special_always_allowed(
    session: ReferenceSession, op: str, request: Mapping[str, Any]
) -> Ok | Refused:
    """Special text becomes a special token whether or not it is allowed, so the author of the text
    can end the prompt. huggingface/tokenizers#1391, marcelroed/gigatoken#57.
    """
    if op == "special":
        request = {**request, "allowed": "all", "disallowed": []}
    return session.answer(op, request)


@answering(encode(bytewise(special_tokens={"<x>": 256}), "<x>"))
def special_in_ordinary_text(
    session: ReferenceSession, op: str, request: Mapping[str, Any]
) -> Ok | Refused:
    """Special text becomes a special token even where nothing is special.
    huggingface/tokenizers#1850, vllm-project/vllm#11691.
    """
    if op == "encode" and "text" in request:
        return session.answer("special", {**request, "allowed": "all", "disallowed": []})
    return session.answer(op, request)


@answering(encode(bytewise(special_tokens={"<x>": 256}), "<x>"))
def ordinary_text_refused(
    session: ReferenceSession, op: str, request: Mapping[str, Any]
) -> Ok | Refused:
    """Text that spells a special token is refused even where nothing is special.
    vectorize-io/hindsight#1891.
    """
    if op == "encode" and "text" in request:
        return session.answer("special", {**request, "allowed": [], "disallowed": "all"})
    return session.answer(op, request)
