"""Mutants that draw with random numbers of their own, each right in every number it is given."""

from collections.abc import Iterator, Mapping, Sequence
from math import floor, inf, log
from random import Random
from typing import Any, Final

from authoring.mutants.mutant import Mutant, Witness
from authoring.mutants.own_numbers import (
    Habits,
    Numbers,
    OwnNumbersEngine,
    Step,
    Wheel,
    is_accepted,
    streams_of,
)
from authoring.mutants.samplers import question
from tokenref.engines.reference_laws import Shares, shares_of_logits
from tokenref.floats import nearest, pack
from tokenref.questions.sampling import pack_parameters

# ---- counts of single draws


def _hotter(law: Sequence[float]) -> list[float]:
    return [share ** (1 / 1.05) for share in law]


def _without_its_tail(law: Sequence[float]) -> list[float]:
    """Cut the lightest tokens off that have a tenth together."""
    kept, gone = list(law), 0.0
    for token in sorted(range(len(law)), key=law.__getitem__):
        gone += law[token]
        if gone > 0.1:
            break
        kept[token] = 0.0
    return kept


def _without_the_second(law: Sequence[float]) -> list[float]:
    second = sorted(range(len(law)), key=law.__getitem__)[-2]
    return [0.0 if token == second else share for token, share in enumerate(law)]


def _one_off(law: Sequence[float]) -> list[float]:
    return [*law[-1:], *law[:-1]]


def _leaking(law: Sequence[float]) -> list[float]:
    return [0.98 * share + 0.02 / len(law) for share in law]


def _of_5_bits(number: float) -> float:
    return floor(number * 32) / 32


# ---- speculative steps


def _unfiltered(row: Sequence[float], _: Mapping[str, Any]) -> Shares:
    return shares_of_logits(row, {})


def _in_16_bits(row: Sequence[float], params: Mapping[str, Any]) -> Shares:
    return shares_of_logits([nearest(logit, "bf16") for logit in row], params)


def _noise(step: Step, number: Numbers) -> list[float]:
    """Return exponential noise for each token of a row."""
    return [-log(1 - number()) for _ in step.target[0].weights]


def _winner(row: Wheel, noise: Sequence[float]) -> int:
    """Return the token that wins a race: of the weights over the noise the largest one."""
    races = [weight / (each or inf) for weight, each in zip(row.weights, noise, strict=True)]
    return races.index(max(races))


def _shared_noise(step: Step, number: Numbers) -> list[int]:
    """Draw a draft by a race, and what replaces it by the same race."""
    noises = [_noise(step, number) for _ in step.offered]
    drafts = [_winner(row, noise) for row, noise in zip(step.offered, noises, strict=True)]
    for place, draft in enumerate(drafts):
        if not is_accepted(step, place, draft, number()):
            return [*drafts[:place], _winner(step.left[place], noises[place])]
    return [*drafts, step.target[-1].draw(number())]


def _shared_with_bonus(step: Step, number: Numbers) -> list[int]:
    """Draw the token behind the drafts by the race that drew the last of them."""
    noises = [_noise(step, number) for _ in step.offered]
    drafts = [_winner(row, noise) for row, noise in zip(step.offered, noises, strict=True)]
    for place, draft in enumerate(drafts):
        if not is_accepted(step, place, draft, number()):
            return [*drafts[:place], step.left[place].draw(number())]
    return [*drafts, _winner(step.target[-1], noises[-1])]


def _tested_by_its_draw(step: Step, number: Numbers) -> list[int]:
    """Test a draft with the number that drew it."""
    drafts = list[int]()
    for place, row in enumerate(step.offered):
        drawn_with = number()
        draft = row.draw(drawn_with)
        if not is_accepted(step, place, draft, drawn_with):
            return [*drafts, step.left[place].draw(number())]
        drafts.append(draft)
    return [*drafts, step.target[-1].draw(number())]


# ---- batches

_WINDOW: Final = 12
"""Rows that the wrong engine has noise for."""


def _wrapped(number: Numbers, rows: int, calls: int) -> Iterator[Sequence[float]]:
    """Give the rows behind the window the numbers of the first ones."""
    for _ in range(calls):
        window = [number() for _ in range(min(rows, _WINDOW))]
        yield [window[row % _WINDOW] for row in range(rows)]


def _one_for_all(number: Numbers, rows: int, calls: int) -> Iterator[Sequence[float]]:
    for _ in range(calls):
        yield [number()] * rows


def _one_further(number: Numbers, rows: int, calls: int) -> Iterator[Sequence[float]]:
    """Begin each call one number after the beginning of the last one."""
    stream = [number() for _ in range(rows + calls)]
    for call in range(calls):
        yield stream[call : call + rows]


def _every_call_twice(number: Numbers, rows: int, calls: int) -> Iterator[Sequence[float]]:
    """Advance the stream after every second call only."""
    for call in range(calls):
        if call % 2 == 0:
            window = [number() for _ in range(rows)]
        yield window


# ---- seeds


def _ignored_in_company(number: Numbers, seeds: Sequence[int | None]) -> list[Numbers]:
    return [number] * len(seeds) if None in seeds else streams_of(number, seeds)


def _moved_by_place(number: Numbers, seeds: Sequence[int | None]) -> list[Numbers]:
    return streams_of(number, [s if s is None else s + row for row, s in enumerate(seeds)])


def _of_the_first(number: Numbers, seeds: Sequence[int | None]) -> list[Numbers]:
    first = next((seed for seed in seeds if seed is not None), None)
    return streams_of(number, [seed if seed is None else first for seed in seeds])


def _one_stream_for_equals(number: Numbers, seeds: Sequence[int | None]) -> list[Numbers]:
    """Keep streams by their seeds, so that two rows of one seed take turns."""
    streams = {seed: Random(seed).random for seed in seeds if seed is not None}
    return [number if seed is None else streams[seed] for seed in seeds]


def _begun_anew(number: Numbers, seeds: Sequence[int | None]) -> list[Numbers]:
    """Seed the stream again for every token."""
    return [
        number if seed is None else lambda seed=seed: Random(seed).random()  # type: ignore[misc]
        for seed in seeds
    ]


def _default_seed(number: Numbers, seeds: Sequence[int | None]) -> list[Numbers]:
    return [Random(seed or 0).random for seed in seeds]


# ---- the mutants

_SHARES: Final = [0.5, 0.25, 0.109375, 0.125, 0.015625, 0.0]
_DRAWS: Final = {"probs": pack(_SHARES), "params": {}, "draws": 2048}
_STEP: Final = {
    "draft": [pack([0.0, 100.1875, 99.6875])],
    "target": [pack([0.0, 99.75, 100.0]), pack([100.0, 0.0, 100.0])],
    "draft_params": pack_parameters({"k": 1}),
    "params": {},
    "draws": 64,
}
_CALLS: Final = {"probs": pack([1 / 256] * 256), "params": {}, "rows": _WINDOW + 2, "draws": 4}
_SEEDED: Final = {
    "probs": pack([1 / 256] * 256),
    "params": {},
    "batches": [[7], [None, 7, 7], [9, 8, 7]],
    "tokens": 4,
}


def _mutant(name: str, story: str, witness: Witness, **habits: Any) -> Mutant:
    engine = OwnNumbersEngine(f"mutant {name}", habits=Habits(**habits))
    profiles = frozenset({witness.profile})
    return Mutant(name, story, engine, witness, frozenset({witness.op}), profiles)


def _draws(name: str, story: str, **habits: Any) -> Mutant:
    return _mutant(name, story, question("stat", _DRAWS), **habits)


def _step(name: str, story: str, **habits: Any) -> Mutant:
    return _mutant(name, story, question("stat_speculative", _STEP), **habits)


def _batch(name: str, story: str, **habits: Any) -> Mutant:
    return _mutant(name, story, question("stat_batch", _CALLS), **habits)


def _seeds(name: str, story: str, **habits: Any) -> Mutant:
    return _mutant(name, story, question("seeds", _SEEDED), **habits)


OWN_NUMBERS: Final = (
    _draws(
        "own-draws-are-hotter",
        "The temperature of what is drawn is 5 % too high. Own.",
        shares=_hotter,
    ),
    _draws(
        "own-draws-have-no-tail",
        "The lightest tokens, a tenth together, are never drawn; vllm#43150 to the extreme.",
        shares=_without_its_tail,
    ),
    _draws(
        "own-draws-miss-the-second-best",
        "The second best token is never drawn. Own.",
        shares=_without_the_second,
    ),
    _draws(
        "own-draws-are-one-off",
        "What is drawn is the place behind the token's. Own.",
        shares=_one_off,
    ),
    _draws(
        "own-draws-leak",
        "One draw in fifty is even over all tokens, impossible ones included. Own.",
        shares=_leaking,
    ),
    _draws(
        "own-numbers-have-5-bits",
        "The random numbers are multiples of 1/32: what is lighter is drawn twice as often, or "
        "never. Own, after the noise in 16 bits of vllm#43150.",
        number=_of_5_bits,
    ),
    _step(
        "own-draft-is-reported-unfiltered",
        "The draft is drawn from its filtered row and judged by the whole one; transformers#47932.",
        judged=_unfiltered,
    ),
    _step(
        "own-draft-is-drawn-unfiltered",
        "The draft is drawn from its whole row and judged by the filtered one; "
        "transformers#47932, the other way round.",
        offered=_unfiltered,
    ),
    _step(
        "own-draft-is-drawn-in-16-bits",
        "The draft is drawn in bf16 and judged by the row in 32 bits; DeepSpec#31.",
        offered=_in_16_bits,
    ),
    _step(
        "own-draft-and-replacement-share-their-noise",
        "The noise that drew a draft draws what replaces it; vllm#47386, vllm#54282.",
        taken=_shared_noise,
    ),
    _step(
        "own-draft-and-bonus-share-their-noise",
        "The noise that drew the last draft draws the token behind it. Own.",
        taken=_shared_with_bonus,
    ),
    _step(
        "own-draft-is-tested-by-the-number-that-drew-it",
        "One random number draws a draft and decides about it. Own.",
        taken=_tested_by_its_draw,
    ),
    _batch(
        "own-noise-window-wraps",
        f"Noise is there for {_WINDOW} rows; those behind them have that of the first; vllm#59786.",
        batches=_wrapped,
    ),
    _batch(
        "own-noise-is-one-for-all-rows",
        "One random number serves for all rows of a call; mlx-lm (S16).",
        batches=_one_for_all,
    ),
    _batch(
        "own-noise-is-advanced-by-one",
        "A call advances the stream by one number, however many it took; aiter#2035.",
        batches=_one_further,
    ),
    _batch(
        "own-noise-serves-two-calls",
        "Every second call draws with the numbers of the one before; aiter#2035.",
        batches=_every_call_twice,
    ),
    _seeds(
        "own-seed-is-ignored-in-company",
        "Where a row of the batch has no seed, those of the others are ignored; vllm#51226.",
        streams=_ignored_in_company,
    ),
    _seeds(
        "own-seed-is-moved-by-its-place",
        "A row's place in the batch is added to its seed. Own.",
        streams=_moved_by_place,
    ),
    _seeds(
        "own-seed-of-the-first-row-counts",
        "All rows with seeds have the first one's. Own.",
        streams=_of_the_first,
    ),
    _seeds(
        "own-seed-twice-is-one-stream",
        "Two rows of one seed take turns with one stream. Own.",
        streams=_one_stream_for_equals,
    ),
    _seeds(
        "own-seed-begins-anew-for-every-token",
        "Each token of a row is drawn with the first number of its seed; private-mind#255.",
        streams=_begun_anew,
    ),
    _seeds(
        "own-seed-is-there-by-default",
        "Rows without a seed all have the same default one. Own.",
        streams=_default_seed,
    ),
)
"""What no number that is given shows."""
