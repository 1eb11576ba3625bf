"""The measurements, each made in a process of its own: `python -m benchmarks.measure NAME`.

Options come in as JSON on standard input, numbers go out as JSON on standard
output. Seconds are those of the process's own time (`time.process_time`), where
other programs on the machine disturb least; names that end in _wall are by the
clock on the wall.

A ratio to tiktoken is always of two runs that followed each other at once, and
what is reported is the median of several: a machine's speed changes from
second to second, and so both are affected alike. Where two of our own ways are
compared, or one at two lengths, it is the ratio of the least times of several
rounds: what disturbs can only add to a time.
"""

import gc
import json
import os
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from statistics import median
from time import perf_counter, process_time
from types import MappingProxyType
from typing import Any, Final

from tiktoken import Encoding

import bpe_ref
from benchmarks.texts import parts_of, random_letters
from bpe_ref import (
    ENCODERS,
    TextRules,
    Vocabulary,
    load,
    tokenizer_of,
    vocabulary_by_concatenation,
    vocabulary_of,
)
from bpe_ref.cutting.counting import TextIntervalCounter
from bpe_ref.cutting.growing import AppendCounter
from bpe_ref.cutting.safe_cuts import TextCounter, counter_of
from bpe_ref.cutting.splitting import each_chunk
from bpe_ref.formats.byte_level_json import dump_byte_level_json
from bpe_ref.growing.counting import IntervalCounter, count
from bpe_ref.growing.encoders import AppendEncoder, PrependEncoder
from bpe_ref.vocabulary.automata import automaton_of_made_tokens, automaton_of_reversed_tokens

Numbers = dict[str, float]

ENOUGH_SECONDS: Final = 0.2
"""A curve's point is measured again until so much time was spent on it, or ..."""

ENOUGH_CALLS: Final = 1000
"""... until it was measured so often."""

TOO_SLOW_SECONDS: Final = 1.0
"""An encoder is not asked for longer texts once it has taken that long for one."""

_STOPPED: Final = frozenset({"naive", "scan", "tokenizers"})
_LONG_PART: Final = 100_000
_ALL_IN_ONE: Final = "(?s:.+)"


@dataclass(frozen=True)
class Spent:
    """How long something took."""

    seconds: float
    seconds_wall: float


def time_of(action: Callable[[], object]) -> Spent:
    """Return how long one call takes, with nothing left over for the garbage collector.

    >>> time_of(list).seconds < 1
    True
    """
    gc.collect()
    wall, own = perf_counter(), process_time()
    action()
    return Spent(process_time() - own, perf_counter() - wall)


def as_tiktoken(vocabulary: Vocabulary) -> Encoding:
    """Return the same vocabulary in tiktoken.

    >>> as_tiktoken(vocabulary_of(load("tiny"))).name
    'measured'
    """
    return Encoding(
        "measured",
        pat_str=vocabulary.text.pattern or _ALL_IN_ONE,
        mergeable_ranks={content: token for token, content in vocabulary.tokens.items()},
        special_tokens=dict(vocabulary.special_tokens),
    )


def throughput(ours: Spent, theirs: Spent, name: str) -> Numbers:
    """Return our throughput as a share of theirs, of the same text.

    >>> throughput(Spent(2.0, 4.0), Spent(1.0, 1.0), "first")
    {'first': 0.5, 'first_wall': 0.25}
    """
    return {
        name: theirs.seconds / ours.seconds,
        f"{name}_wall": theirs.seconds_wall / ours.seconds_wall,
    }


def medians(rounds: Sequence[Numbers]) -> Numbers:
    """Return the median of each number.

    >>> medians([{"a": 1.0}, {"a": 5.0}, {"a": 2.0}])
    {'a': 2.0}
    """
    return {name: median(numbers[name] for numbers in rounds) for name in rounds[0]}


def passes(
    vocabulary: str, text: str, length: int = 0, like: tuple[int, str] | None = None
) -> Numbers:
    """Encode text through the pattern, for the first time in this process and again.

    The text is in parts of `length` characters, if that is not 0. `like` is the number of tokens
    and the pattern of another vocabulary, of which there is no file.
    """
    tokenizer = bpe_ref.load(vocabulary)
    if like is not None:
        most, pattern = like
        contents = vocabulary_of(tokenizer).tokens.items()
        ranks = {content: token for token, content in contents if token < most}
        rules = TextRules(pattern, whole_piece=True)
        tokenizer = tokenizer_of(vocabulary_by_concatenation(ranks, text=rules))
    encoding = as_tiktoken(vocabulary_of(tokenizer))
    tokenizer.encode("Hello, world!", special="ordinary")  # what is loaded on demand is loaded now
    encoding.encode_ordinary("Hello, world!")
    parts = parts_of(text, length)
    found: Numbers = {}
    for name in ("first", "repeated"):
        theirs = time_of(lambda: [encoding.encode_ordinary(part) for part in parts])
        ours = time_of(lambda: [tokenizer.encode(part, special="ordinary") for part in parts])
        found |= throughput(ours, theirs, name)
        found[f"{name}_seconds"] = ours.seconds
    return found


def unsplit(vocabulary: str, text: str, rounds: int) -> Numbers:
    """Encode text as one piece by backtracking, and pre-tokenized by tiktoken."""
    known = vocabulary_of(load(vocabulary))
    encoding, encode, piece = as_tiktoken(known), ENCODERS["backtracking"], text.encode()
    encode(known, known.symbols(piece[:1]))  # builds the tables
    found: list[Numbers] = []
    for _ in range(rounds):
        theirs = time_of(lambda: encoding.encode_ordinary(text))
        ours = time_of(lambda: encode(known, known.symbols(piece)))
        found.append(throughput(ours, theirs, "share") | {"seconds": ours.seconds})
    return medians(found)


def random_piece(vocabulary: str, encoder: str, length: int, rounds: int) -> Numbers:
    """Encode one piece of random letters, a tenth of it, and all of it by tiktoken."""
    known = vocabulary_of(load(vocabulary))
    encoding, encode = as_tiktoken(known), ENCODERS[encoder]
    piece = random_letters(length).encode()
    tenth = piece[: length // 10]
    encode(known, known.symbols(piece[:1]))  # builds the tables
    found: list[Numbers] = []
    for _ in range(rounds):
        short = time_of(lambda: encode(known, known.symbols(tenth)))
        ours = time_of(lambda: encode(known, known.symbols(piece)))
        theirs = time_of(lambda: encoding._encode_single_piece(piece))  # noqa: SLF001 - no other way
        found.append(
            {
                "growth": ours.seconds / short.seconds,
                "growth_wall": ours.seconds_wall / short.seconds_wall,
                "to_tiktoken": ours.seconds / theirs.seconds,
                "to_tiktoken_wall": ours.seconds_wall / theirs.seconds_wall,
                "seconds": ours.seconds,
                "tiktoken_seconds": theirs.seconds,
            }
        )
    return medians(found)


def memory(vocabulary: str, text: str) -> Numbers:
    """Encode a text with every encoder's tables there; return the most memory ever used."""
    tokenizer = bpe_ref.load(vocabulary)
    known = vocabulary_of(tokenizer)
    tokenizer.encode(text, special="ordinary")
    for encode in ENCODERS.values():
        encode(known, known.symbols(text[:100].encode()))
    # in kilobytes, on macOS in bytes
    unit = 1 if sys.platform == "darwin" else 1024
    return {"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6}


def _tiktoken(vocabulary: Vocabulary) -> Callable[[bytes], object]:
    return as_tiktoken(vocabulary)._encode_single_piece  # noqa: SLF001 - no other way


def _tokenizers(vocabulary: Vocabulary) -> Callable[[bytes], object]:
    """Return the BPE of Hugging Face tokenizers without a pattern, so that all is one piece."""
    from tokenizers import Tokenizer

    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    unsplit = replace(vocabulary, text=TextRules())
    made = Tokenizer.from_str(dump_byte_level_json(unsplit).decode())
    return lambda piece: made.encode(piece.decode(errors="ignore")).ids


def _bpe_openai(vocabulary: Vocabulary) -> Callable[[bytes], object]:
    """Return GitHub's encoder, which has its own vocabulary and always applies its pattern."""
    from bpe_openai import _bindings

    encode = _bindings.tokenizer_for_encoding(VOCABULARY).encode
    return lambda piece: encode(piece.decode(errors="ignore"))


VOCABULARY: Final = "cl100k_base"

PEERS: Final[Mapping[str, Callable[[Vocabulary], Callable[[bytes], object]]]] = MappingProxyType(
    {"tiktoken": _tiktoken, "tokenizers": _tokenizers, "bpe_openai": _bpe_openai}
)
"""Encoders of other projects, by the name of their Python module: vocabulary to encoder."""


def curve(
    vocabulary: str, encoder: str, text: str, lengths: Sequence[int], *, least: bool = False
) -> Numbers:
    """Return the seconds that one piece of each length takes, by length: the median, or least."""
    known = vocabulary_of(load(vocabulary))
    content = text.encode()
    encode: Callable[[bytes], object]
    if encoder == "appending":
        encode = lambda piece: appended(known, piece)  # noqa: E731
    elif encoder in PEERS:
        encode = PEERS[encoder](known)
    else:
        reference = ENCODERS[encoder]
        encode = lambda piece: reference(known, known.symbols(piece))  # noqa: E731
    encode(content[:1])  # builds the tables
    found: Numbers = {}
    for length in lengths:
        seconds = _seconds_for(encode, content[:length], min if least else median)
        found[str(length)] = seconds
        if encoder in _STOPPED and seconds > TOO_SLOW_SECONDS:
            break
    return found


def _seconds_for(
    encode: Callable[[bytes], object], piece: bytes, chosen: Callable[[Sequence[float]], float]
) -> float:
    """Return the median (or what is chosen) of as many calls as fit into `ENOUGH_SECONDS`."""
    seconds: list[float] = []
    while not seconds or (sum(seconds) < ENOUGH_SECONDS and len(seconds) < ENOUGH_CALLS):
        own = process_time()
        encode(piece)
        seconds.append(process_time() - own)
    return chosen(seconds)


def appended(vocabulary: Vocabulary, piece: bytes) -> AppendEncoder:
    """Append a piece byte by byte, the number of tokens known after each.

    >>> appended(vocabulary_of(load("tiny")), b"ab").token_count <= 2
    True
    """
    encoder = AppendEncoder(vocabulary)
    push = encoder.push
    for byte in piece:
        push(byte)
    return encoder


def prepended(vocabulary: Vocabulary, piece: bytes) -> PrependEncoder:
    """Put a piece in front of nothing, byte by byte, from its end.

    >>> prepended(vocabulary_of(load("tiny")), b"ab").piece
    b'ab'
    """
    encoder = PrependEncoder(vocabulary)
    push = encoder.push
    for byte in reversed(piece):
        push(byte)
    return encoder


def appending(vocabulary: str, text: str, rounds: int) -> Numbers:
    """Append a text byte by byte, and put it in front likewise, beside one backtracking pass."""
    known, piece = vocabulary_of(load(vocabulary)), text.encode()
    encode = ENCODERS["backtracking"]
    encode(known, known.symbols(piece[:1]))  # builds the tables
    found: Numbers = {
        "automaton_seconds": time_of(lambda: known.remember(automaton_of_made_tokens)).seconds,
        "reversed_seconds": time_of(lambda: known.remember(automaton_of_reversed_tokens)).seconds,
    }
    appended(known, piece[:1])
    times = [
        {
            "backtracking": time_of(lambda: encode(known, known.symbols(piece))).seconds,
            "appending": time_of(lambda: appended(known, piece)).seconds,
            "prepending": time_of(lambda: prepended(known, piece)).seconds,
        }
        for _ in range(rounds)
    ]
    least = least_of(times)
    return found | {
        "appending": least["appending"] / least["backtracking"],
        "prepending": least["prepending"] / least["backtracking"],
    }


def intervals(vocabulary: str, text: str, length: int, times: int, rounds: int) -> Numbers:
    """Count parts of a text, and encode each of them."""
    known, piece = vocabulary_of(load(vocabulary)), text.encode()
    encode = ENCODERS["backtracking"]
    starts = some_starts(len(piece) - length, times)
    encode(known, known.symbols(piece[:1]))  # builds the tables
    appended(known, piece[:1])
    counter = IntervalCounter(known, piece)

    def count_each() -> list[int]:
        return [counter.count(start, start + length) for start in starts]

    def encode_each() -> list[int]:
        return [len(encode(known, known.symbols(piece[s : s + length]))) for s in starts]

    if count_each() != encode_each():
        raise AssertionError("the counts are wrong")  # what is wrong need not be measured
    least = least_of(
        [
            {
                "preparing": time_of(lambda: IntervalCounter(known, piece)).seconds,
                "counting": time_of(count_each).seconds,
                "encoding": time_of(encode_each).seconds,
            }
            for _ in range(rounds)
        ]
    )
    return {
        "faster": least["encoding"] / least["counting"],
        "with_preparing": least["encoding"] / (least["counting"] + least["preparing"]),
        "microseconds": least["counting"] / times * 1e6,
    }


GROWING: Final[Mapping[str, Callable[[Vocabulary, str], object]]] = MappingProxyType(
    {
        "appending": lambda known, text: appended(known, text.encode()),
        "prepending": lambda known, text: prepended(known, text.encode()),
        "interval counting, preparation": lambda known, text: IntervalCounter(known, text.encode()),
        "counting without a list": lambda known, text: count(known, text.encode()),
        "appending characters": lambda known, text: AppendCounter(_counter(known)).extend(text),
        "interval counting, characters": lambda known, text: TextIntervalCounter(
            _counter(known), text
        ),
        "chunks of 50 tokens": lambda known, text: [*each_chunk(_counter(known), text, 50)],
        "chunks of 50 tokens, overlap 5": lambda known, text: [
            *each_chunk(_counter(known), text, 50, 5)
        ],
    }
)
"""What must take time in proportion to the text; from the fifth on with pattern and specials."""


def growth(vocabulary: str, what: str, text: str, lengths: Sequence[int], rounds: int) -> Numbers:
    """Return how many times longer a text takes than the one before it in `lengths`."""
    known = vocabulary_of(load(vocabulary))
    action = GROWING[what]
    action(known, text[:1000])  # builds the tables
    seconds: list[float] = []
    for length in lengths:
        # Many parts where one is too short to be measured; different ones, as a short text that
        # is given again and again lies in the processor's cache with all that it needs.
        calls = max(1, 100_000 // length)
        last = len(text) - length
        parts = [text[start : start + length] for start in some_starts(last, calls)]
        if calls == 1:
            parts = [text[:length]]

        def each(parts: Sequence[str] = parts) -> None:
            for part in parts:
                action(known, part)

        least = min(time_of(each).seconds for _ in range(rounds))
        seconds.append(least / calls)
    found = {
        f"growth_{n}": b / a for n, a, b in zip(lengths[1:], seconds, seconds[1:], strict=False)
    }
    return found | {"seconds": seconds[-1]}


def counting_curve(vocabulary: str, encoder: str, text: str, lengths: Sequence[int]) -> Numbers:
    """Return the seconds that counting one part of each length takes, by length."""
    known, piece = vocabulary_of(load(vocabulary)), text.encode()
    appended(known, piece[:1])
    counter = IntervalCounter(known, piece)
    encode = ENCODERS["backtracking"]
    encode(known, known.symbols(piece[:1]))
    found: Numbers = {}
    for length in lengths:
        few = encoder != "intervals" and length >= _LONG_PART
        starts = some_starts(len(piece) - length, 3 if few else 100)

        def each(length: int = length, starts: Sequence[int] = starts) -> None:
            for start in starts:
                if encoder == "intervals":
                    counter.count(start, start + length)
                else:
                    encode(known, known.symbols(piece[start : start + length]))

        found[str(length)] = min(time_of(each).seconds for _ in range(3)) / len(starts)
    return found


def some_starts(last: int, times: int) -> list[int]:
    """Return that many places from 0 to `last`, always the same.

    >>> max(some_starts(9, 100))
    9
    """
    generator = Random(1)
    return [generator.randint(0, max(last, 0)) for _ in range(times)]


def least_of(rounds: Sequence[Numbers]) -> Numbers:
    """Return the least of each number.

    >>> least_of([{"a": 2.0}, {"a": 1.0}])
    {'a': 1.0}
    """
    return {name: min(numbers[name] for numbers in rounds) for name in rounds[0]}


def _counter(known: Vocabulary) -> TextCounter:
    return known.remember(_counter_of)


def _counter_of(known: Vocabulary) -> TextCounter:
    return counter_of(tokenizer_of(known))


def fastest(vocabulary: str, text: str, length: int, rounds: int) -> Numbers:
    """Return megabytes per second of processor time: ours, tiktoken's, and fast packages'.

    The text is in parts, encoded again and again by one call each. The time of all threads counts.
    What is not installed is left out.
    """
    from tokenref.answers import Unsupported
    from tokenref.engines.json_engines import GigatokenEngine, IreeTokenizerEngine
    from tokenref.engines.own_encodings import WordchipperEngine

    known = vocabulary_of(tokenizer := load(vocabulary))
    encoders: dict[str, Callable[[str], object]] = {
        "ours": lambda part: tokenizer.encode(part, special="ordinary"),
        "tiktoken": as_tiktoken(known).encode_ordinary,
    }
    for engine in (GigatokenEngine("any"), IreeTokenizerEngine("any")):
        with suppress(ImportError):
            opened = engine.load(known, vocabulary).tokenizer(frozenset())
            if not isinstance(opened, Unsupported):  # it is not installed
                encoders[engine.name] = partial(engine.encode, opened, added=False)
    with suppress(ImportError):
        session: Any = WordchipperEngine("any").load(known, vocabulary)
        encoders["wordchipper"] = session.encode
    parts = parts_of(text, length)
    found: Numbers = {}
    for name, encode in encoders.items():
        wrong = sum(encode(part) != tokenizer.encode(part, special="ordinary") for part in parts)
        if wrong:
            found[f"{name}, parts of {len(parts)} with other ids"] = wrong
    seconds = [
        {
            name: time_of(lambda encode=encode: list(map(encode, parts))).seconds  # type: ignore[misc]
            for name, encode in encoders.items()
        }
        for _ in range(rounds)
    ]
    size = len(text.encode()) / 1e6
    return {**{name: size / taken for name, taken in medians(seconds).items()}, **found}


MEASUREMENTS: Final[Mapping[str, Callable[..., Numbers]]] = MappingProxyType(
    {
        "passes": passes,
        "fastest": fastest,
        "unsplit": unsplit,
        "random_piece": random_piece,
        "memory": memory,
        "curve": curve,
        "appending": appending,
        "intervals": intervals,
        "growth": growth,
        "counting_curve": counting_curve,
    }
)


if __name__ == "__main__":
    json.dump(MEASUREMENTS[sys.argv[1]](**json.load(sys.stdin)), sys.stdout)
