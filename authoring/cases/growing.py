"""Cases about texts that grow and shrink: appending, prepending, tokens that are certain, parts."""

from collections.abc import Iterator
from typing import Final

from authoring.cases.blame import blamed, blaming
from authoring.cases.draft import Draft
from authoring.cases.random_texts import row_of_tokens
from authoring.cases.splitmix import SplitMix64
from authoring.cases.vocabularies import vocabulary_named
from tokenref.questions.sequences import Call, CallsInput, EagerInput
from tokenref.questions.text import IntervalsInput

SPEC: Final = "docs/cutting.md#growing"
SEED: Final = 0x67_72_6F_77

VOCABULARIES: Final = (
    *("readme", "doubles", "triples", "quadruples", "runs_rising", "runs_falling", "runs_powers"),
    *("runs_fibonacci", "runs_odd_first", "runs_three_first", "improper_run", "improper_letters"),
    *("nontopological", "ambiguous_splits", "tokens_in_all_sizes", "dead_tokens", "holes"),
    *("shuffled_ids", "improper_outside", "pair_unlisted", "pair_out_of_order", "pair_two_ways"),
    *("pair_duplicate", "zero_bytes", "utf8_parts"),
)
"""Each has its own way of being unlike a trained vocabulary."""

_TRIES: Final = 60
_EACH: Final = 2
_LONGEST: Final = 24
_PART: Final = 3


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    yield from _by_hand()
    for place, vocabulary in enumerate(VOCABULARIES):
        generator = SplitMix64(SEED + place)
        for op in ("append", "prepend"):
            yield from _growing(op, vocabulary, generator)
        yield from _eager(vocabulary, generator)
        yield from _intervals(vocabulary, generator)


def pushes(*contents: bytes) -> list[Call]:
    """Return the calls that push each of these.

    >>> pushes(b"a")
    [Call(push='61', truncate=UNSET)]
    """
    return [Call(push=content.hex()) for content in contents]


def letters_of(text: bytes) -> list[bytes]:
    """Return the bytes of a text one by one."""
    return [text[at : at + 1] for at in range(len(text))]


def _by_hand() -> Iterator[Draft]:
    for op, text in (("append", b"abacbb"), ("prepend", b"bbcaba")):
        yield blaming(
            op,
            "growing",
            "readme",
            "readme",
            CallsInput(calls=pushes(*letters_of(text))),
            f"The example of GitHub's README, to {op} byte by byte: the sixth lowers the count.",
            ["Growing", "CountFalls"],
            spec=SPEC,
        )
        yield blaming(
            op,
            "growing",
            "empty",
            "readme",
            CallsInput(calls=[*pushes(b""), Call(truncate=0), *pushes(b"ab", b"")]),
            f"Nothing is pushed to {op}, nothing is cut off: neither changes anything.",
            ["Growing", "EmptyInput"],
            spec=SPEC,
        )
    yield blaming(
        "eager",
        "growing",
        "never-certain",
        "doubles",
        EagerInput(pushes=[b"a".hex()] * 9),
        (
            "aa and a: whether the next a merges with the last one is open until another letter "
            "follows."
        ),
        ["Eager", "OneLetterRun"],
        spec=SPEC,
    )
    yield blaming(
        "eager",
        "growing",
        "empty-pushes",
        "doubles",
        EagerInput(pushes=["61", "", "61", ""]),
        "Nothing is pushed twice: no end of the text, so what is open stays open.",
        ["Eager", "EmptyInput"],
        spec=SPEC,
    )
    yield blaming(
        "eager",
        "growing",
        "parity",
        "parity_from_the_right",
        EagerInput(pushes=[letter.hex() for letter in letters_of(b"abcdefghij")]),
        "Couples from the right: every further letter changes every token, so none is certain.",
        ["Eager", "DeepBacktracking"],
        spec=SPEC,
    )


def _texts(vocabulary: str, generator: SplitMix64) -> Iterator[bytes]:
    """Yield texts that spell tokens of a vocabulary, each once."""
    named = vocabulary_named(vocabulary)
    words = [content.decode("latin-1") for _, content in sorted(named.tokens.items())]
    words = words[-40:]
    seen: set[bytes] = set()
    for _ in range(_TRIES):
        text = row_of_tokens(generator, words, 7)[:_LONGEST].encode("latin-1")
        if len(text) > _PART and text not in seen:
            seen.add(text)
            yield text


def _growing(op: str, vocabulary: str, generator: SplitMix64) -> Iterator[Draft]:
    kept = 0
    seen: set[str] = set()
    for text in _texts(vocabulary, generator):
        calls = _sequence(op, text, generator, steady=kept == 0)
        names = blamed(op, vocabulary, CallsInput(calls=calls))
        if kept and seen.issuperset(names):
            continue
        seen.update(names)
        kept += 1
        how = "byte by byte" if kept == 1 else "with cuts in between"
        yield blaming(
            op,
            "growing",
            f"{vocabulary.replace('_', '-')}-{kept}",
            vocabulary,
            CallsInput(calls=calls),
            f"{text!r:.40} {'appended' if op == 'append' else 'put in front'}, {how}, with "
            f"{vocabulary}.",
            ["Growing", *(["Truncated"] if kept > 1 else [])],
            spec=SPEC,
        )
        if kept == _EACH + 1:
            return


def _sequence(op: str, text: bytes, generator: SplitMix64, *, steady: bool) -> list[Call]:
    """Return calls that spell a text: one byte each, or in parts with cuts in between."""
    parts = letters_of(text)
    if steady:
        return pushes(*(reversed(parts) if op == "prepend" else parts))
    calls: list[Call] = []
    length = 0
    while parts and len(calls) < _LONGEST:
        size = 1 + generator.below(_PART)
        taken, parts = parts[:size], parts[size:]
        calls += pushes(b"".join(taken))
        length += len(taken)
        if generator.below(2):
            length = generator.below(length + 1)
            calls.append(Call(truncate=length))
    return calls


def _eager(vocabulary: str, generator: SplitMix64) -> Iterator[Draft]:
    kept = 0
    seen: set[str] = set()
    for text in _texts(vocabulary, generator):
        parts = letters_of(text)
        if kept % 2:
            parts = [text[at : at + _PART] for at in range(0, len(text), _PART)]
        request = EagerInput(pushes=[part.hex() for part in parts])
        names = blamed("eager", vocabulary, request)
        if kept and seen.issuperset(names):
            continue
        seen.update(names)
        kept += 1
        yield blaming(
            "eager",
            "growing",
            f"{vocabulary.replace('_', '-')}-{kept}",
            vocabulary,
            request,
            f"{text!r:.40}: each token of {vocabulary} as soon as nothing can change it any more, "
            f"in {len(parts)} parts.",
            ["Eager"],
            spec=SPEC,
        )
        if kept == _EACH:
            return


def _intervals(vocabulary: str, generator: SplitMix64) -> Iterator[Draft]:
    kept = 0
    seen: set[str] = set()
    for text in _texts(vocabulary, generator):
        request = IntervalsInput(octets=text.hex(), ranges=_ranges(len(text), generator))
        names = blamed("intervals", vocabulary, request)
        if kept and seen.issuperset(names):
            continue
        seen.update(names)
        kept += 1
        yield blaming(
            "intervals",
            "growing",
            f"{vocabulary.replace('_', '-')}-{kept}",
            vocabulary,
            request,
            f"Parts of {text!r:.40}, each counted as if it were alone, with {vocabulary}.",
            ["Interval"],
            spec=SPEC,
        )
        if kept == _EACH:
            return


def _ranges(length: int, generator: SplitMix64) -> list[tuple[int, int]]:
    """Return the whole, an empty part, and some others."""
    found = [(0, length), (length, length), (length // 2, length // 2)]
    while len(found) < 12:
        start = generator.below(length)
        found.append((start, start + 1 + generator.below(length - start)))
    return found
