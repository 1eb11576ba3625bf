"""Steps that change a row, at sizes: histories, windows, n-grams, lists of tokens, long rows.

In a history of some size, token 0 occurs only at its beginning, token 1 only in the middle and token
2 only at the end. Whoever sees only the last 64 tokens, or only the first, loses one of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final

import msgspec

from authoring.cases.sampling.draft import SamplerDraft, gives, told_apart
from authoring.cases.sampling.row_draft import Topic, in_32_bits, row_request
from authoring.cases.splitmix import SplitMix64
from authoring.grids import grid
from tokenref.floats import Type
from tokenref.questions.sampling import pack_parameters
from tokenref.verdicts import Exact

SMALL: Final = (64, 100, 128, 256, 512, 1000, 1024)
BLOCKS: Final = (*SMALL, 2048, 4096)

ROW: Final = (2.0, 1.5, 1.0, 0.5, -0.5, -1.0, 3.0, -2.0)
"""A row of eight tokens. The last two occur in no history."""

_SEED: Final = 0x72_6F_77_73


def about(size: int) -> tuple[int, ...]:
    """Return a small size with its neighbours; of a large one, only the number beyond it.

    >>> about(64), about(2048)
    ((63, 64, 65), (2049,))
    """
    return (size - 1, size, size + 1) if size <= 256 else (size + 1,)


def history_of(size: int, *, seed: int = _SEED) -> list[int]:
    """Return a history: 0 at the beginning, 1 in the middle, 2 at the end, and 3 to 5 elsewhere.

    >>> history_of(5)[::2]
    [0, 1, 2]
    """
    generator = SplitMix64(seed)
    tokens = [3 + generator.below(3) for _ in range(size)]
    tokens[0], tokens[size // 2], tokens[-1] = 0, 1, 2
    return tokens


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from told_apart(_all())


def _all() -> Iterator[SamplerDraft]:
    yield from _histories()
    yield from _windows()
    yield from _counts()
    yield from _repetitions()
    yield from _high_ids()
    yield from _lists()
    yield from _lengths()
    yield from _long_rows()


def _topic(op: str, flag: str) -> Topic:
    page = "docs/lz.md#the-penalty" if op == "lz" else f"docs/engines.md#{op}"
    return Topic("sizes", (flag,), page)


# ---- histories

PENALTIES: Final[tuple[tuple[str, str, Mapping[str, Any], str], ...]] = (
    ("repetition_penalty", "standard", {"penalty": 2.0}, "PenaltyScope"),
    ("frequency_penalty", "standard", {"penalty": 0.0078125}, "PenaltyCount"),
    ("presence_penalty", "standard", {"penalty": 0.5}, "PenaltyOnce"),
    (
        "penalties",
        "standard",
        {"repetition": 2.0, "frequency": 0.0078125, "presence": 0.25, "window": None},
        "PenaltyOrder",
    ),
    (
        "decaying_penalties",
        "standard",
        {"repetition": 2.0, "sustain": 30, "decay": 4200, "presence": 0.5, "frequency": 0.0},
        "PenaltyFading",
    ),
)


def _histories() -> Iterator[SamplerDraft]:
    for op, profile, params, flag in PENALTIES:
        often = op == "repetition_penalty"
        for size in BLOCKS if often else (64, 100, 256, 1024):
            for length in about(size) if often else (size + 1,):
                yield _topic(op, flag).case(
                    op,
                    f"history-{length}",
                    profile,
                    row_request(ROW, history_of(length), **params),
                    f"A history of {length:,} tokens, in which one token occurs only at the "
                    "beginning, one in the middle and one at the end.",
                )
    for op, profile, params, flag in PENALTIES[:3]:
        for length in (65, 257, 1025):
            yield _topic(op, flag).case(
                op,
                f"prompt-{length}",
                profile,
                row_request(ROW, history_of(length + 9), prompt_length=length, **params),
                f"A prompt of {length:,} tokens and nine new ones: a length in a byte, or cut at a "
                "block, is another length.",
                flags=("PenaltyScope",),
            )
    for length in (65, 129, 257, 1025):
        history = history_of(length)
        yield _topic("encoder_repetition", "PenaltyScope").case(
            "encoder_repetition", f"input-{length}", "standard",
            row_request(ROW, [3], encoder_input=history, penalty=2.0),
            f"An input of the encoder with {length:,} tokens, one of them only at its beginning.",
        )  # fmt: skip


def _windows() -> Iterator[SamplerDraft]:
    asked = (
        ("repetition_penalty", {"penalty": 2.0}),
        ("frequency_penalty", {"penalty": 0.0078125}),
        ("presence_penalty", {"penalty": 0.5}),
        ("penalties", {"repetition": 2.0, "frequency": 0.0078125, "presence": 0.25}),
    )
    for op, params in asked:
        for size in (64, 100, 256, 1024):
            history = history_of(size + 2)
            for window in (size + 1, size + 2) if size > 256 else (size, size + 1, size + 2):
                yield _topic(op, "PenaltyWindow").case(
                    op,
                    f"window-{window}-of-{size + 2}",
                    "standard",
                    row_request(ROW, history, window=window, **params),
                    f"A window of {window:,} of {size + 2:,} tokens: the oldest token "
                    + ("is just in it." if window == size + 2 else "is outside it."),
                )
    for size in (64, 100, 256, 1024):
        history = history_of(size + 3)
        for sustain, decay in ((size + 2, 0), (size + 3, 0), (1, size + 1), (size, 2)):
            yield _topic("decaying_penalties", "PenaltyFading").case(
                "decaying_penalties",
                f"sustain-{sustain}-decay-{decay}",
                "standard",
                row_request(
                    ROW, history, repetition=2.0, sustain=sustain, decay=decay, presence=0.5,
                    frequency=0.0,
                ),
                f"Penalties at full strength for {sustain:,} tokens, which fade over {decay:,} more, "
                f"in a history of {size + 3:,}.",
            )  # fmt: skip
    for profile, name, extra in (
        ("llama.cpp", "repeat_last_n", {"repeat_penalty": 2.0}),
        ("mlx-lm", "repetition_context_size", {"repetition_penalty": 2.0}),
        ("antigravity", "repetition_window", {"repetition_penalty": 2.0}),
    ):
        op = "penalties" if profile == "llama.cpp" else "repetition_penalty"
        for size in (64, 100, 256, 1024):
            for window in (size + 1, size + 2):
                yield _topic(op, "PenaltyWindow").case(
                    op,
                    f"{profile}-window-{window}-of-{size + 2}",
                    profile,
                    row_request(ROW, history_of(size + 2), **{name: window}, **extra),
                    f"{profile} with a window of {window:,} of {size + 2:,} tokens.",
                    flags=("EngineProfile",),
                )


def _counts() -> Iterator[SamplerDraft]:
    for count in (127, 128, 255, 256, 257, 65_539):
        history = [1] * count
        yield _topic("frequency_penalty", "PenaltyCount").case(
            "frequency_penalty", f"count-{count}", "standard",
            row_request([0.0, 1024.0, 0.0], history, penalty=2.0**-10),
            f"A token occurred {count:,} times: a count in too few bits starts again, or is negative.",
        )  # fmt: skip
    for count in (128, 256, 257, 1025):
        yield _topic("penalties", "PenaltyCount").case(
            "penalties", f"count-{count}", "standard",
            row_request([0.0, 1024.0, 0.0], [1] * count, repetition=2.0, frequency=0.5, presence=0.25,
                        window=None),
            f"A token occurred {count:,} times, and costs half a logit for each.",
        )  # fmt: skip


# ---- repetitions


def _repetitions() -> Iterator[SamplerDraft]:
    for length in (64, 65, 101, 129, 257, 1025):
        # 6 7 follow each other only at the beginning, and then comes 1
        generator = SplitMix64(_SEED + length)
        filler = [3 + generator.below(3) for _ in range(length - 5)]
        history = [6, 7, 1, *filler, 6, 7]
        for op, params, flag, says in (
            ("no_repeat_ngram", {"ngram_size": 3}, "NGramBan", "the token that followed is banned"),
            (
                "dry",
                {"multiplier": 1.0, "base": 2.0, "allowed_length": 2, "window": None},
                "Dry",
                "the token that followed costs one",
            ),
            (
                "dry_longest",
                {"multiplier": 1.0, "base": 2.0, "allowed_length": 2},
                "Dry",
                "the token that followed costs one",
            ),
            (
                "dry_nearby",
                {"multiplier": 1.0, "base": 2.0, "allowed_length": 2},
                "Dry",
                "the token that followed costs one",
            ),
        ):
            yield _topic(op, flag).case(
                op,
                f"far-back-{length}",
                "standard",
                row_request(ROW, history, **params),
                f"The last two tokens occurred before at the beginning of {length:,} tokens only; "
                f"{says}.",
            )
        yield _topic("encoder_no_repeat_ngram", "NGramBan").case(
            "encoder_no_repeat_ngram",
            f"far-back-{length}",
            "standard",
            row_request(ROW, [6, 7], encoder_input=[*reversed(filler), 6, 7, 1], ngram_size=3),
            f"The last two tokens occur at the end of an encoder input of {len(filler) + 3:,} tokens.",
        )
    yield from _runs()


def _runs() -> Iterator[SamplerDraft]:
    """Yield long runs that occurred before, and many breakers."""
    for size in (64, 100, 256):
        for length in (size, size + 1):
            run = [token % 3 + 3 for token in history_of(length, seed=_SEED + 1)]
            history = [0, *run, 1, 2, *run]
            for n in (length, length + 1, length + 2):
                yield _topic("no_repeat_ngram", "NGramBan").case(
                    "no_repeat_ngram",
                    f"long-{n}-of-{length}",
                    "standard",
                    row_request(ROW, history, ngram_size=n),
                    f"The last {length:,} tokens occurred before; what completes {n:,} tokens is "
                    "banned" + (", and nothing does." if n == length + 2 else "."),
                )
            for window in (2 * length + 3, 2 * length + 2, length + 2):
                yield _topic("dry", "Dry").case(
                    "dry",
                    f"long-{length}-window-{window}",
                    "standard",
                    row_request(ROW, history, multiplier=0.125, base=1.0, allowed_length=length,
                                window=window),
                    f"The last {length:,} tokens occurred before, in a window of {window:,}.",
                    flags=("DryExponent",),
                )  # fmt: skip
    for most in (49, 50, 51, 70):
        run = [token % 3 + 3 for token in history_of(most, seed=_SEED + 2)]
        for op in ("dry_longest", "dry_nearby"):
            yield _topic(op, "Dry").case(
                op,
                f"run-{most}",
                "standard",
                row_request(ROW, [0, *run, 1, 2, *run], multiplier=0.125, base=1.0625,
                            allowed_length=2),
                f"A run of {most} tokens occurred before, and the search ends after 50.",
                flags=("DryExponent",),
            )  # fmt: skip
    for size in (64, 256):
        breakers = [[number % 6, 1 + number // 6 % 6, number // 36] for number in range(size)]
        history = [6, 7, 1, 5, 6, 7]
        yield _topic("dry", "DryBreaker").case(
            "dry",
            f"breakers-{size + 1}",
            "standard",
            row_request(ROW, history, multiplier=1.0, base=2.0, allowed_length=1, window=None,
                        breakers=[*breakers, [6]]),
            f"{size + 1} breakers, of which the last one ends the repetition.",
        )  # fmt: skip
    for window, buffer in (
        (63, 8),
        (64, 8),
        (100, 32),
        (128, 32),
        (255, 64),
        (256, 65),
        (512, 128),
    ):
        history = history_of(window + buffer + 3)
        history[3:12], history[-9:] = [6, 7, 0, 6, 6, 7, 1, 2, 6], [6, 7, 0, 6, 6, 7, 1, 2, 6]
        yield _topic("lz", "LzPenalty").case(
            "lz",
            f"window-{window}-buffer-{buffer}",
            "standard",
            row_request(ROW, history, strength=0.5, window=window, buffer=buffer),
            f"A window of {window} and a buffer of {buffer}, in a history of {len(history)}: the "
            "repetition began just beyond or in them.",
        )


# ---- ids that need more than a byte


def _sparse(size: int) -> list[float]:
    """Return a row that is flat but for a few tokens around 256.

    >>> _sparse(258)[255:]
    [2.0, -2.0, 3.0]
    """
    row = [0.5] * size
    row[0], row[1], row[255], row[256], row[257] = 1.0, -1.0, 2.0, -2.0, 3.0
    return row


def _high_ids() -> Iterator[SamplerDraft]:
    row = _sparse(262)
    history = [256, 257, 261, 256]
    first = [256, 5, 1, 256]
    asked: tuple[tuple[str, dict[str, Any], Sequence[int], str], ...] = (
        ("repetition_penalty", {"penalty": 2.0}, history, "PenaltyScope"),
        ("frequency_penalty", {"penalty": 0.5}, history, "PenaltyCount"),
        ("presence_penalty", {"penalty": 0.5}, history, "PenaltyOnce"),
        ("penalties", {"repetition": 2.0, "frequency": 0.5, "presence": 0.25}, history, "PenaltyOrder"),
        ("decaying_penalties", {"repetition": 2.0, "sustain": 2, "decay": 2, "presence": 0.5,
                                "frequency": 0.0}, history, "PenaltyFading"),
        ("no_repeat_ngram", {"ngram_size": 2}, [256, 257, 256], "NGramBan"),
        ("dry", {"multiplier": 1.0, "base": 2.0, "allowed_length": 1}, [256, 257, 256], "Dry"),
        ("dry_longest", {"multiplier": 1.0, "base": 2.0, "allowed_length": 1}, [256, 257, 256], "Dry"),
        ("dry_nearby", {"multiplier": 1.0, "base": 2.0, "allowed_length": 1}, [256, 257, 256], "Dry"),
        ("logit_bias", {"biases": {256: 1.0, 257: -1.0, 261: 0.5}}, [], "LogitBias"),
        ("sequence_bias", {"biases": {(256, 257): 1.0, (261,): 0.5}}, first, "SequenceBias"),
        ("bad_words", {"words": [[256, 257], [261]]}, first, "TokenMask"),
        ("suppress", {"tokens": [256, 261]}, [], "TokenMask"),
        ("allowed_tokens", {"tokens": [256, 257]}, [], "TokenMask"),
        ("min_length", {"length": 3, "ends": [256, 257]}, [1], "LeastLength"),
        ("forced_eos", {"max_length": 2, "ends": 257}, [1], "ForcedToken"),
        ("forced_bos", {"token": 256}, [1], "ForcedToken"),
        ("begin_suppress", {"tokens": [256]}, [], "TokenMask"),
        ("exponential_decay_length", {"start": 0, "growth": 2.0, "ends": 257}, [1], "LengthDecay"),
        ("encoder_repetition", {"encoder_input": [256, 261], "penalty": 2.0}, [], "PenaltyScope"),
    )  # fmt: skip
    for op, params, before, flag in asked:
        yield _topic(op, flag).case(
            op,
            "ids-beyond-a-byte",
            "standard",
            row_request(row, before, **params),
            "Tokens 256, 257 and 261 instead of 0, 1 and 5, which they are in a byte.",
        )


# ---- lists of tokens


def _lists() -> Iterator[SamplerDraft]:
    row = [float(1 + place % 7) for place in range(310)]
    for size in (64, 256, 300):
        for count in (size + 1,):
            tokens = [(place * 7) % 310 for place in range(count)]
            says = f"{count} tokens in the list, of which the last one counts too."
            yield _topic("logit_bias", "LogitBias").case(
                "logit_bias", f"tokens-{count}", "standard",
                row_request(row, biases=dict.fromkeys(tokens, 0.5)), says,
            )  # fmt: skip
            if size != 300:
                yield _topic("suppress", "TokenMask").case(
                    "suppress", f"tokens-{count}", "standard", row_request(row, tokens=tokens), says
                )
                yield _topic("allowed_tokens", "TokenMask").case(
                    "allowed_tokens", f"tokens-{count}", "standard", row_request(row, tokens=tokens),
                    says,
                )  # fmt: skip
    for size in (64, 100, 256, 1024):
        # only the last word can be completed
        words = [[0, 1 + number % 5, 3 + number % 3, number % 6] for number in range(size)]
        yield _topic("bad_words", "TokenMask").case(
            "bad_words", f"words-{size + 1}", "standard",
            row_request(ROW, [7, 6], words=[*words, [7, 6, 1]]),
            f"{size + 1:,} forbidden words, of which only the last one can be completed.",
        )  # fmt: skip
    for size in (64, 256):
        others = {(0, 1 + number % 7, number // 7 % 8, number // 56): 1.0 for number in range(size)}
        yield _topic("sequence_bias", "SequenceBias").case(
            "sequence_bias", f"sequences-{size + 1}", "standard",
            row_request(ROW, [7, 6], biases={**others, (7, 6, 1): 0.5}),
            f"{size + 1} sequences, of which only the last one can be completed.",
        )  # fmt: skip
    for size in (64, 100, 256):
        history = history_of(size)
        for slug, words in (("whole", [[*history, 1]]), ("not-whole", [[1, *history[1:], 1]])):
            yield _topic("bad_words", "TokenMask").case(
                "bad_words", f"long-{size + 1}-{slug}", "standard",
                row_request(ROW, history, words=words),
                f"A forbidden word of {size + 1} tokens, of which "
                + ("all but one are there." if slug == "whole" else "the first does not fit."),
            )  # fmt: skip
            yield _topic("sequence_bias", "SequenceBias").case(
                "sequence_bias", f"long-{size + 1}-{slug}", "standard",
                row_request(ROW, history, biases={tuple(words[0]): 1.0}),
                f"A sequence of {size + 1} tokens, of which "
                + ("all but one are there." if slug == "whole" else "the first does not fit."),
            )  # fmt: skip


# ---- steps that count the length of the text


def _lengths() -> Iterator[SamplerDraft]:
    row = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    for size in (64, 128, 256, 1024):
        for length in (size - 1, size):
            history = history_of(length)
            says = f"The text has {length:,} tokens, and the length that matters is {size:,}."
            for op, params, prompt, flag in (
                ("min_length", {"length": size, "ends": 0}, 0, "LeastLength"),
                ("min_new_tokens", {"count": size - 3, "ends": 0}, 3, "LeastLength"),
                ("forced_eos", {"max_length": size, "ends": 0}, 0, "ForcedToken"),
                ("begin_suppress", {"tokens": [0]}, size - 1, "TokenMask"),
                ("exponential_decay_length", {"start": size - 1, "growth": 2.0, "ends": 0}, 0, "LengthDecay"),
            ):  # fmt: skip
                yield _topic(op, flag).case(
                    op,
                    f"length-{length}-of-{size}",
                    "standard",
                    row_request(row, history, prompt_length=prompt, **params),
                    says,
                )
    for length, minimum in ((10, 266), (266, 10), (256, 255), (3, 65_539)):
        yield _topic("min_length", "LeastLength").case(
            "min_length", f"bits-{length}-of-{minimum}", "standard",
            row_request(row, history_of(length), length=minimum, ends=0),
            f"{length} of {minimum:,} tokens: in a few bits, another number.",
        )  # fmt: skip


# ---- long rows


def _long_rows() -> Iterator[SamplerDraft]:
    asked: tuple[tuple[str, str, dict[str, Any], str], ...] = (
        ("temperature", "standard", {"temperature": 0.5}, "Temperature"),
        ("dynamic_temperature", "standard", {"temperature": 1.0, "spread": 0.5, "exponent": 1.0}, "DynamicTemperature"),
        ("smoothing", "exllamav2", {"smoothing_factor": 0.5}, "Smoothing"),
        ("remove_invalid_values", "standard", {}, "InvalidNumber"),
        ("logit_bias", "standard", {"biases": {0: 1.0, 64: 1.0}}, "LogitBias"),
    )  # fmt: skip
    for size in (64, 256, 1024):
        for op, profile, params, flag in asked:
            yield _topic(op, flag).case(
                op,
                f"row-{size + 1}",
                profile,
                long_request(size + 1, params),
                f"A row of {size + 1:,} tokens: each of them changes, also the one behind the last "
                f"block of {size:,}.",
            )
    for size in (64, 100, 128, 256, 512, 1000, 1024, 2048, 4096, 1 << 15, 1 << 16):
        for length in (size - 1, size, size + 1):
            for place in sorted({length - 1, size // 2}):
                plain = msgspec.to_builtins(
                    grid(size, length, span=1 << 20, put={place: 2.0, 1: -inf})
                )
                yield Topic(
                    "sizes", ("GreedyTie",), "docs/engines.md#when-an-engine-draws-nothing"
                ).case(
                    "greedy",
                    f"row-{length}-token-{place}",
                    "standard",
                    {"logits": plain},
                    f"The best of {length:,} tokens is number {place:,}.",
                    verdict=Exact(),
                )
    for size in (32, 256, 1024):
        plain = msgspec.to_builtins(
            grid(size, size + 1, span=1 << 20, put={size - 1: 2.0, size: 2.0})
        )
        yield Topic("sizes", ("GreedyTie",), "docs/engines.md#when-an-engine-draws-nothing").case(
            "greedy",
            f"row-{size + 1}-equals",
            "standard",
            {"logits": plain},
            f"The best two are the last of {size:,} threads, and the first one's next token.",
            gives(token=size - 1),
            verdict=Exact(),
        )


def long_request(size: int, params: Mapping[str, Any], dtype: Type = "f32") -> dict[str, Any]:
    """Return a question about a row of this size, by a recipe.

    >>> long_request(65, {})["logits"]["n"]
    65
    """
    row = grid(size, size, span=1 << 20, dtype=dtype, put={size - 1: 2.0, size // 2: -1.5})
    return {
        "logits": msgspec.to_builtins(row),
        "history": [],
        "prompt_length": 0,
        "params": pack_parameters(in_32_bits(params)),
    }
