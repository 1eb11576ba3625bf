"""Mutants that draw with random numbers of their own, each right in every number it is given."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import floor, inf, log
from random import Random
from typing import Any, Final

from authoring.mutants.mutant import Mutant, mutant
from authoring.mutants.own_numbers import (
    Habits,
    Numbers,
    OwnNumbersEngine,
    Step,
    Wheel,
    is_accepted,
    streams_of,
)
from authoring.mutants.samplers import Request, question
from tokenref.engines.reference_laws import Shares, shares_of_logits, shares_of_row
from tokenref.floats import nearest, pack
from tokenref.questions.sampling import pack_parameters


def _noise(step: Step, number: Numbers) -> list[float]:
    """Return exponential noise for each token of a row."""
    return [-log(1 - number()) for _ in step.target[0].weights]


def _winner(row: Wheel, noise: Sequence[float]) -> int:
    """Return the token that wins a race: of the weights over the noise the largest one."""
    races = [weight / (each or inf) for weight, each in zip(row.weights, noise, strict=True)]
    return races.index(max(races))


_WINDOW: Final = 12
"""Rows that the wrong engine has noise for."""


_DRAWS: Final = {
    "probs": pack([0.5, 0.25, 0.109375, 0.125, 0.015625, 0.0]),
    "params": {},
    "draws": 2048,
}
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


def habit(op: str, request: Mapping[str, Any], name: str) -> Callable[[Callable[..., Any]], Mutant]:
    """Return a decorator: the function replaces a habit of the right engine (`Habits`)."""

    def engine(label: str, wrong: Callable[..., Any]) -> OwnNumbersEngine:
        return OwnNumbersEngine(label, habits=Habits(**{name: wrong}))

    return mutant(question(op, request), engine, ops={op}, profiles={"standard"})


@habit("stat", _DRAWS, "shares")
def own_draws_are_hotter(law: Sequence[float]) -> list[float]:
    """The temperature of the drawn distribution is 5 % too high."""
    return [share ** (1 / 1.05) for share in law]


@habit("stat", _DRAWS, "shares")
def own_draws_have_no_tail(law: Sequence[float]) -> list[float]:
    """The least likely tokens, a tenth together, are never drawn; vllm#43150 in the extreme."""
    kept, gone = list(law), 0.0
    for token in sorted(range(len(law)), key=law.__getitem__):
        gone += law[token]
        if gone > 0.1:
            break
        kept[token] = 0.0
    return kept


@habit("stat", _DRAWS, "shares")
def own_draws_miss_the_second_best(law: Sequence[float]) -> list[float]:
    """The second best token is never drawn."""
    second = sorted(range(len(law)), key=law.__getitem__)[-2]
    return [0.0 if token == second else share for token, share in enumerate(law)]


@habit("stat", _DRAWS, "shares")
def own_draws_are_one_off(law: Sequence[float]) -> list[float]:
    """The id after the right one is drawn."""
    return [*law[-1:], *law[:-1]]


@habit("stat", _DRAWS, "shares")
def own_draws_leak(law: Sequence[float]) -> list[float]:
    """One draw in fifty is uniform over all tokens, including impossible ones."""
    return [0.98 * share + 0.02 / len(law) for share in law]


@habit("stat", _DRAWS, "number")
def own_numbers_have_5_bits(number: float) -> float:
    """The random numbers are multiples of 1/32: a token with less weight is drawn twice as often or
    never. After the 16-bit noise of vllm#43150.
    """
    return floor(number * 32) / 32


@habit(
    "stat", {**_DRAWS, "probs": pack([1 - 2.0**-10, *[2.0**-18] * 256]), "draws": 1 << 17}, "number"
)
def own_numbers_have_16_bits(number: float) -> float:
    """Random numbers are multiples of 2^-16."""
    return int(number * 2**16) / 2**16


@habit("stat", {"probs": pack([0.0] * 1024 + [1.0]), "params": {}, "draws": 64}, "shares")
def own_draws_have_ids_of_10_bits(law: Sequence[float]) -> list[float]:
    """The place of a token among the candidates has ten bits."""
    folded = list(law)
    for token in range(1024, len(law)):
        folded[token % 1024] += folded[token]
        folded[token] = 0.0
    return folded


@habit("stat", {"logits": pack([0.0, 1.0]), "params": {"k": 1}, "draws": 64}, "row")
def own_draws_are_not_filtered(request: Request) -> Shares:
    """Tokens are drawn from the row as it was before temperature, top-k and top-p."""
    return shares_of_row({**request, "params": {}})


@habit(
    "stat_batch", {"logits": pack([0.0, 1.0]), "params": {"k": 1}, "rows": 2, "draws": 64}, "row"
)
def own_batches_are_not_cut(request: Request) -> Shares:
    """Rows of a batch are divided by their temperature, but top-k and top-p are left out."""
    params = {name: value for name, value in request["params"].items() if name == "temperature"}
    return shares_of_row({**request, "params": params if "rows" in request else request["params"]})


@habit("stat_speculative", _STEP, "judged")
def own_draft_is_reported_unfiltered(row: Sequence[float], params: Mapping[str, Any]) -> Shares:
    """The draft is drawn from its filtered row and judged by the whole one; transformers#47932."""
    return shares_of_logits(row, {})


@habit("stat_speculative", _STEP, "offered")
def own_draft_is_drawn_unfiltered(row: Sequence[float], params: Mapping[str, Any]) -> Shares:
    """The draft is drawn from its whole row and judged by the filtered one; the reverse of
    transformers#47932.
    """
    return shares_of_logits(row, {})


@habit("stat_speculative", _STEP, "offered")
def own_draft_is_drawn_in_16_bits(row: Sequence[float], params: Mapping[str, Any]) -> Shares:
    """The draft is drawn in bf16 and judged by the row in 32 bits; DeepSpec#31."""
    return shares_of_logits([nearest(logit, "bf16") for logit in row], params)


@habit("stat_speculative", _STEP, "taken")
def own_draft_and_replacement_share_their_noise(step: Step, number: Numbers) -> list[int]:
    """The noise that drew a draft draws what replaces it; vllm#47386, vllm#54282."""
    noises = [_noise(step, number) for _ in step.offered]
    drafts = [_winner(row, noise) for row, noise in zip(step.offered, noises, strict=True)]
    for place, draft in enumerate(drafts):
        if not is_accepted(step, place, draft, number()):
            return [*drafts[:place], _winner(step.left[place], noises[place])]
    return [*drafts, step.target[-1].draw(number())]


@habit("stat_speculative", _STEP, "taken")
def own_draft_and_bonus_share_their_noise(step: Step, number: Numbers) -> list[int]:
    """The noise that drew the last draft also draws the bonus token."""
    noises = [_noise(step, number) for _ in step.offered]
    drafts = [_winner(row, noise) for row, noise in zip(step.offered, noises, strict=True)]
    for place, draft in enumerate(drafts):
        if not is_accepted(step, place, draft, number()):
            return [*drafts[:place], step.left[place].draw(number())]
    return [*drafts, _winner(step.target[-1], noises[-1])]


@habit("stat_speculative", _STEP, "taken")
def own_draft_is_tested_by_the_number_that_drew_it(step: Step, number: Numbers) -> list[int]:
    """The random number that draws a draft also decides about it."""
    drafts = list[int]()
    for place, row in enumerate(step.offered):
        drawn_with = number()
        draft = row.draw(drawn_with)
        if not is_accepted(step, place, draft, drawn_with):
            return [*drafts, step.left[place].draw(number())]
        drafts.append(draft)
    return [*drafts, step.target[-1].draw(number())]


@habit("stat_batch", _CALLS, "batches")
def own_noise_window_wraps(number: Numbers, rows: int, calls: int) -> Iterator[Sequence[float]]:
    """There is noise for 12 rows; later rows reuse it from the first; vllm#59786."""
    for _ in range(calls):
        window = [number() for _ in range(min(rows, _WINDOW))]
        yield [window[row % _WINDOW] for row in range(rows)]


@habit("stat_batch", {**_CALLS, "rows": 65}, "batches")
def own_noise_for_64_rows(number: Numbers, rows: int, calls: int) -> Iterator[Sequence[float]]:
    """Streams are numbered modulo 64, and row 64 draws with that of the first row."""
    for _ in range(calls):
        window = [number() for _ in range(min(rows, 64))]
        yield [window[row % 64] for row in range(rows)]


@habit("stat_batch", _CALLS, "batches")
def own_noise_is_one_for_all_rows(
    number: Numbers, rows: int, calls: int
) -> Iterator[Sequence[float]]:
    """One random number is used for all rows of a call; mlx-lm (S16)."""
    for _ in range(calls):
        yield [number()] * rows


@habit("stat_batch", _CALLS, "batches")
def own_noise_is_advanced_by_one(
    number: Numbers, rows: int, calls: int
) -> Iterator[Sequence[float]]:
    """A call advances the stream by one number, however many it used; aiter#2035."""
    stream = [number() for _ in range(rows + calls)]
    for call in range(calls):
        yield stream[call : call + rows]


@habit("stat_batch", _CALLS, "batches")
def own_noise_serves_two_calls(number: Numbers, rows: int, calls: int) -> Iterator[Sequence[float]]:
    """Every second call uses the numbers of the previous one; aiter#2035."""
    for call in range(calls):
        if call % 2 == 0:
            window = [number() for _ in range(rows)]
        yield window


@habit("seeds", _SEEDED, "streams")
def own_seed_is_ignored_in_company(number: Numbers, seeds: Sequence[int | None]) -> list[Numbers]:
    """If a row of the batch has no seed, the seeds of the others are ignored; vllm#51226."""
    return [number] * len(seeds) if None in seeds else streams_of(number, seeds)


@habit("seeds", _SEEDED, "streams")
def own_seed_is_moved_by_its_place(number: Numbers, seeds: Sequence[int | None]) -> list[Numbers]:
    """A row's place in the batch is added to its seed."""
    return streams_of(number, [s if s is None else s + row for row, s in enumerate(seeds)])


@habit("seeds", _SEEDED, "streams")
def own_seed_of_the_first_row_counts(number: Numbers, seeds: Sequence[int | None]) -> list[Numbers]:
    """All seeded rows use the first row's seed."""
    first = next((seed for seed in seeds if seed is not None), None)
    return streams_of(number, [seed if seed is None else first for seed in seeds])


@habit("seeds", _SEEDED, "streams")
def own_seed_twice_is_one_stream(number: Numbers, seeds: Sequence[int | None]) -> list[Numbers]:
    """Two rows with one seed take turns with one stream."""
    streams = {seed: Random(seed).random for seed in seeds if seed is not None}
    return [number if seed is None else streams[seed] for seed in seeds]


@habit("seeds", _SEEDED, "streams")
def own_seed_begins_anew_for_every_token(
    number: Numbers, seeds: Sequence[int | None]
) -> list[Numbers]:
    """Each token of a row is drawn with the first number of its seed; private-mind#255."""
    return [
        number if seed is None else lambda seed=seed: Random(seed).random()  # type: ignore[misc]
        for seed in seeds
    ]


@habit("seeds", _SEEDED, "streams")
def own_seed_is_there_by_default(number: Numbers, seeds: Sequence[int | None]) -> list[Numbers]:
    """All rows without a seed use the same default seed."""
    return [Random(seed or 0).random for seed in seeds]


@habit("seeds", {**_SEEDED, "batches": [[7, (1 << 32) + 7]]}, "streams")
def own_seed_has_32_bits(number: Numbers, seeds: Sequence[int | None]) -> list[Numbers]:
    """The highest bits of a seed are lost."""
    return streams_of(number, [seed if seed is None else seed & 0xFFFFFFFF for seed in seeds])


@habit("seeds", {**_SEEDED, "batches": [[0], [0, 7]]}, "streams")
def own_seed_0_is_none(number: Numbers, seeds: Sequence[int | None]) -> list[Numbers]:
    """The seed 0 counts as no seed."""
    return streams_of(number, [seed or None for seed in seeds])
