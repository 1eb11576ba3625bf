"""Batches: a row has the same answer alone, among others, and at any place.

Each batch has rows that would come out otherwise with their neighbour's parameters, numbers or
history: the purposes prove it. Cuts lie well inside a gap between two probabilities.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose, refuses, told_apart
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import pack
from tokenref.questions.sampling import pack_parameters
from tokenref.record import Case
from tokenref.rules import STANDARD

SPEC: Final = "docs/sampling.md#engines"

A: Final = (3.0, 1.0, 2.0, 0.0, -1.0, 2.5)
B: Final = (-1.0, 4.0, 0.5, 2.0, 1.0, 3.0)
C: Final = (0.5, -2.0, 1.5, 5.0, -3.0, 0.0)
FLAT: Final = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625)
MASKED: Final = (-inf, -inf, 7.0, -inf, -inf, -inf)
TIED: Final = (2.0, 1.0, 2.0, 0.0, 2.0, -1.0)

_OFF: Final[Mapping[str, Mapping[str, Any]]] = {
    "transformers": {"top_k": 0},
    "vllm": {},
    "sglang": {},
    "flashinfer": {},
    "tensorrt-llm": {"temperature": 1.0},
}
"""The engines that take batches, and what turns their filters off."""

_MAIN: Final = ("transformers", "vllm")
_EXTRA: Final = ("-alone", "-twice", "-8-rows")
"""Cases that two engines' rules are enough for."""

_GREEDY: Final = ("vllm", "sglang", "tensorrt-llm")
_PENALTIES: Final = {"vllm": "output", "sglang": "output", "tensorrt-llm": "all"}
_RACES: Final = ("vllm", "sglang", "tensorrt-llm", "transformers")


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from told_apart(_all())


def _all() -> Iterator[SamplerDraft]:
    for engine in _OFF:
        for case in _filters(engine):
            if engine in _MAIN or not case.slug.endswith(_EXTRA):
                yield case
        yield from _draws(engine)
    for engine in _PENALTIES:
        yield from _penalties(engine)
    yield from _rules()
    yield from _coins()


def _case(
    topic: str,
    slug: str,
    profile: str,
    op: str,
    rows: Sequence[Mapping[str, Any]],
    why: str,
    flags: Sequence[str],
    purposes: Sequence[SamplerPurpose] = (),
) -> SamplerDraft:
    return SamplerDraft(
        op="batch",
        topic=topic,
        slug=f"{profile}-{slug}",
        profile=profile,
        request={"op": op, "rows": [dict(row) for row in rows]},
        why=why,
        flags=sorted(flags),
        spec=SPEC,
        purposes=purposes,
    )


def own(part: str) -> SamplerPurpose:
    """Return the purpose "every row but the first would differ with the row before's part"."""

    def check(case: Case) -> None:
        asked = msgspec.to_builtins(case.input)
        found = msgspec.to_builtins(case.out)["rows"]
        session = SamplerSession(case.profile)
        for place in range(1, len(asked["rows"])):
            row = {**asked["rows"][place], part: asked["rows"][place - 1][part]}
            answer = session.answer(asked["op"], row)
            if isinstance(answer, Ok) and answer.out == found[place]:
                raise PurposeError(f"{case.id}: row {place} must show whose {part} it has")

    return check


def _row(
    logits: Sequence[float],
    params: Mapping[str, Any],
    history: Sequence[int] = (),
    prompt: int = 0,
    uniforms: Sequence[float] | None = None,
) -> dict[str, Any]:
    numbers = {} if uniforms is None else {"uniforms": pack(uniforms)}
    return {
        "logits": pack(logits),
        "history": list(history),
        "prompt_length": prompt,
        "params": pack_parameters(params),
        **numbers,
    }


def _only(logits: Sequence[float], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the question of one filter, which needs no history."""
    return {"logits": pack(logits), "params": pack_parameters(params)}


def _filters(engine: str) -> Iterator[SamplerDraft]:
    off = _OFF[engine]
    two = {**off, "top_k": 2}
    near = {**off, "top_p": 0.75}
    yield _case(
        "filters", "alone", engine, "top_k", [_only(A, two)],
        "A batch of one row: the answer that all other batches must repeat.", ["BatchRow"],
    )  # fmt: skip
    yield _case(
        "filters", "twice", engine, "top_k", [_only(A, two), _only(A, two)],
        "The same row twice: a second row that reads the first one's memory, or nothing, differs.",
        ["BatchRow"],
    )  # fmt: skip
    rows = [_only(each, two) for each in (A, B, C, FLAT, B, C, A, B, C)]
    yield _case(
        "filters", "9-rows", engine, "top_k", rows,
        "A batch of nine rows: some kernels change between eight and nine, answers must not.",
        ["BatchSize"], [own("logits")],
    )  # fmt: skip
    for size in (8, 9):
        rows = [_only(each, two) for each in (TIED, B, C, FLAT, A, B, C, A, B)[:size]]
        yield _case(
            "filters", f"ties-{size}-rows", engine, "top_k", rows,
            f"Three tokens tie for two places, in a batch of {size} rows: as many are kept as in a batch of one.",
            ["BatchSize"], [own("logits")],
        )  # fmt: skip
    yield _case(
        "filters", "ties-alone", engine, "top_k", [_only(TIED, two)],
        "Three tokens tie for two places: what this engine keeps in a batch of one row.",
        ["BatchSize"],
    )  # fmt: skip
    for slug, order, why in (
        ("in-order", (A, B, C), "Three rows of different shape: each is sorted and cut for itself."),
        ("permuted", (C, A, B), "Three rows in another order: the answers are exchanged with them."),
        ("masked-neighbour", (MASKED, A, MASKED),
         "A row of one possible token on both sides: minus infinity must not leak, nor sums over it."),
        ("large-neighbour", ([x * 1024 for x in C], FLAT),
         "A neighbour with logits in the thousands: a maximum over the whole batch makes all others zero."),
    ):  # fmt: skip
        yield _case(
            "filters", slug, engine, "top_p", [_only(each, near) for each in order], why,
            ["BatchRow"], [own("logits")],
        )  # fmt: skip
    if engine == "transformers":
        return  # it has one set of parameters for a batch
    yield _case(
        "filters", "own-k", engine, "top_k",
        [_only(FLAT, {**off, "top_k": k}) for k in (1, 3, 2, 6, 5)],
        "Each row has its own k: sorting for the largest k of the batch must not keep more in the others.",
        ["BatchParameters"], [own("params")],
    )  # fmt: skip
    yield _case(
        "filters", "own-p", engine, "top_p",
        [_only(B, {**off, "top_p": p}) for p in (0.5, 0.96875, 0.75)],
        "Each row has its own p.", ["BatchParameters"], [own("params")],
    )  # fmt: skip
    yield _case(
        "filters", "one-filtered", engine, "chain", [_row(A, off), _row(A, two), _row(A, off)],
        "Only the middle row has a filter: with one row filtered, the others must not be.",
        ["BatchParameters"], [own("params")],
    )  # fmt: skip
    yield _case(
        "filters", "one-unfiltered", engine, "chain", [_row(A, two), _row(A, off), _row(A, near)],
        "Only the middle row has no filter: it must keep everything.",
        ["BatchParameters"], [own("params")],
    )  # fmt: skip
    if engine != "tensorrt-llm":
        yield _case(
            "filters", "one-min-p", engine, "chain",
            [_row(A, off), _row(A, {**off, "min_p": 0.5}), _row(A, {**off, "min_p": 0.25})],
            "Each row has its own min-p, one has none: 0 is not the neighbour's.",
            ["BatchParameters"], [own("params")],
        )  # fmt: skip
    yield _case(
        "filters", "own-temperature", engine, "chain",
        [_row(A, {**off, "top_p": 0.625, "temperature": t}) for t in (0.5, 2.0, 1.0)],
        "Each row has its own temperature before the same cut: a column that is not spread gives one to all.",
        ["BatchParameters"], [own("params")],
    )  # fmt: skip


def _draws(engine: str) -> Iterator[SamplerDraft]:
    off = _OFF[engine]
    even = (0.0,) * 4
    if engine not in _RACES:
        numbers: list[list[float]] = [[0.125], [0.875], [0.375], [0.625]]
    else:
        best = 0.0625 if engine == "transformers" else 0.9375
        numbers = [[best if place == row else 0.5 for place in range(4)] for row in (0, 3, 1, 2)]
    rows = [_row(even, off, uniforms=each) for each in numbers]
    yield _case(
        "draws", "own-numbers", engine, "sample", rows,
        "Four equal rows with separate numbers draw four tokens. Shared noise draws one.",
        ["BatchRow"], [own("uniforms")],
    )  # fmt: skip
    yield _case(
        "draws", "alone", engine, "sample", rows[1:2],
        "The second of these rows alone: its number must not depend on how many rows there are.",
        ["BatchRow"],
    )  # fmt: skip
    yield _case(
        "draws", "reversed", engine, "sample", rows[::-1],
        "The same rows the other way round: the tokens are exchanged with them.", ["BatchRow"],
        [own("uniforms")],
    )  # fmt: skip
    if engine in _GREEDY:
        greedy = {**off, "temperature": 0.0}
        yield _case(
            "draws", "greedy-neighbour", engine, "sample",
            [_row(A, greedy, uniforms=[]), _row(even, off, uniforms=numbers[1]),
             _row(B, greedy, uniforms=[])],
            "Greedy rows next to one that draws: each row's own temperature decides.",
            ["BatchParameters"],
        )  # fmt: skip


def _penalties(engine: str) -> Iterator[SamplerDraft]:
    prompt = 0 if _PENALTIES[engine] == "output" else 1
    repeat = {"repetition_penalty": 2.0}
    row = (4.0, -4.0, 2.0, 8.0)
    yield _case(
        "penalties", "own-history", engine, "repetition_penalty",
        [_row(row, repeat, history, prompt) for history in ([1], [0, 2, 3], [3, 3, 3, 3])],
        "Histories of one, three and four tokens: each row is penalised for its own.",
        ["BatchRow"], [own("history")],
    )  # fmt: skip
    yield _case(
        "penalties", "padding", engine, "repetition_penalty",
        [_row(row, repeat, history) for history in ([1, 2, 3, 1, 2, 3], [], [1])],
        ("A long history next to an empty one: the padding of short ones is not a token, and "
        "certainly not token 0."),
        ["BatchRow"], [own("history")],
    )  # fmt: skip
    yield _case(
        "penalties", "own-penalty", engine, "repetition_penalty",
        [_row(row, {"repetition_penalty": p}, [0, 1], prompt) for p in (1.0, 2.0, 0.5, 1.5)],
        "Each row has its own penalty, the first one none.", ["BatchParameters"], [own("params")],
    )  # fmt: skip
    yield _case(
        "penalties", "own-frequency", engine, "frequency_penalty",
        [_row(row, {"frequency_penalty": f}, [0, 0, 1], prompt) for f in (0.0, 0.5, 1.0)],
        "Each row has its own frequency penalty for the same counts.", ["BatchParameters"],
        [own("params")],
    )  # fmt: skip


def _rules() -> Iterator[SamplerDraft]:
    """Yield batches of single filters and rows, apart from any engine."""
    rows = {"top_k": "k", "top_p": "p", "min_p": "m"}
    falling, mixed = (0.5, 0.25, 0.125, 0.125), (0.125, 0.5, 0.125, 0.25)
    even = (0.25,) * 4
    for op, name in rows.items():
        values = (
            (1, 3, 2)
            if op == "top_k"
            else (0.5, 0.875, 0.75)
            if op == "top_p"
            else (0.75, 0.375, 0.25)
        )

        def one(row: Sequence[float], value: Any, name: str = name) -> dict[str, Any]:
            return {"probs": pack(row), "params": pack_parameters({name: value})}

        yield _case(
            "rules", f"{op}-own-parameters", STANDARD, op,
            [one(mixed, value) for value in values],
            f"One row with three values of {name}: each answer is that of its own value.",
            ["BatchParameters"], [own("params")],
        )  # fmt: skip
        for size in (1, 9):
            every = [falling, mixed, falling, mixed, falling, mixed, falling, mixed, falling][:size]
            yield _case(
                "rules", f"{op}-{size}-rows", STANDARD, op, [one(row, values[1]) for row in every],
                f"Two rows in turn, {size} in all: ids come from each row's own sort.",
                ["BatchSize"],
            )  # fmt: skip
        yield _case(
            "rules", f"{op}-even-neighbour", STANDARD, op,
            [one(even, values[0]), one(mixed, values[0]), one(even, values[0])],
            "A row of equals on both sides, where every token ties.", ["BatchRow"],
        )  # fmt: skip
    good = {"probs": pack(falling), "params": {"k": 2}}
    for slug, bad in (("nan", (0.5, float("nan"), 0.5)), ("all-zero", (0.0, 0.0, 0.0))):
        yield _case(
            "refused", f"{slug}-row", STANDARD, "top_k",
            [good, {"probs": pack(bad), "params": {"k": 2}}, good],
            ("One of three rows is invalid: the batch is refused, and no neighbour gets its "
            "answer."),
            ["InvalidRow"], [refuses("INVALID_ROW")],
        )  # fmt: skip
    yield _case(
        "refused", "one-parameter", STANDARD, "top_k",
        [good, {"probs": pack(falling), "params": {"k": -1}}],
        "One of two rows has an invalid k: the batch is refused.",
        ["ParameterDomain"], [refuses("INVALID_PARAMETER")],
    )  # fmt: skip


def _coins() -> Iterator[SamplerDraft]:
    params = {"temp": 1.0, "xtc_probability": 0.5, "xtc_threshold": 0.125}
    rows = [_row(B, params, uniforms=[u]) for u in (0.25, 0.75, 0.125, 0.875)]
    yield _case(
        "draws", "own-coins", "mlx-lm", "xtc", rows,
        ("Four equal rows with separate coins: one coin for the whole batch removes the best "
        "tokens of all rows or of none."),
        ["BatchRow"], [own("uniforms")],
    )  # fmt: skip
