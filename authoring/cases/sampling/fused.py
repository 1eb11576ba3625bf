"""Several steps in one kernel: top-k with top-p, penalties to the draw, min-p with temperature.

A fused kernel saves passes over the row, and so computes with what was there before a step: shares
of the whole row behind top-k, the largest logit before a temperature. The purposes prove that each
question tells this apart, and that its answer is far from every boundary.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft, told_apart
from authoring.cases.sampling.filters_long import long_row
from authoring.grids import grid
from tokenref.answers import Ok
from tokenref.catalogue import LARGE
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import pack, unpack
from tokenref.questions.sampling import pack_parameters
from tokenref.record import Case
from tokenref.rules import STANDARD

SPEC: Final = "docs/sampling.md#fused-kernels"
STEP: Final = 2.0**-9
"""How far the parameters and the random number are from every boundary."""

ROW: Final = (2.0, 3.0, 0.5, 2.5, 1.0, -1.0, 1.5, 0.0)
FLAT: Final = (0.25, 0.0, 0.5, 0.375, 0.125, 0.4375, 0.3125, 0.1875)

Steps = Sequence[tuple[str, Mapping[str, Any]]]

TOP_K_TOP_P: Final[tuple[tuple[str, Steps, str], ...]] = (
    ("k-then-p", [("top_k", {"k": 4}), ("top_p", {"p": 0.8125})], "top-p shares out what top-k left"),
    ("p-then-k", [("top_p", {"p": 0.8125}), ("top_k", {"k": 2})], "top-k takes what top-p left"),
    ("k-decides", [("top_k", {"k": 2}), ("top_p", {"p": 0.96875})], "two tokens are left by top-k, and top-p removes none"),
    ("p-decides", [("top_k", {"k": 7}), ("top_p", {"p": 0.3125})], "top-p leaves less than top-k"),
    ("k-of-one", [("top_k", {"k": 1}), ("top_p", {"p": 0.015625})], "one token is left by either"),
    ("k-beyond-the-row", [("top_k", {"k": 1000}), ("top_p", {"p": 0.71875})], "k is larger than the row, and does nothing"),
    ("p-of-one", [("top_k", {"k": 5}), ("top_p", {"p": 1.0})], "p is 1 and does nothing"),
    ("min-p-in-front", [("min_p", {"m": 0.15625}), ("top_p", {"p": 0.84375})], "top-p shares out what min-p left"),
    ("all-three", [("top_k", {"k": 6}), ("top_p", {"p": 0.90625}), ("min_p", {"m": 0.28125})], "min-p compares with the best token that is left"),
)  # fmt: skip

DRAWN: Final[tuple[tuple[str, Steps, str], ...]] = (
    ("temperature-top-k-top-p", [("temperature", {"temperature": 0.5}), ("top_k", {"k": 5}), ("top_p", {"p": 0.96875})], "temperature, top-k, top-p"),
    ("top-k-top-p-temperature", [("top_k", {"k": 5}), ("top_p", {"p": 0.90625}), ("temperature", {"temperature": 2.0})], "top-k, top-p, temperature"),
    ("temperature-min-p", [("temperature", {"temperature": 2.0}), ("min_p", {"m": 0.265625})], "temperature, then min-p"),
    ("min-p-temperature", [("min_p", {"m": 0.265625}), ("temperature", {"temperature": 2.0})], "min-p, then temperature"),
    ("penalties-temperature-top-p", [("repetition_penalty", {"penalty": 2.0}), ("frequency_penalty", {"penalty": 0.25}), ("presence_penalty", {"penalty": 0.5}), ("temperature", {"temperature": 0.5}), ("top_p", {"p": 0.953125})], "all penalties, temperature, top-p"),
    ("bias-temperature-top-k", [("logit_bias", {"biases": {5: 4.0, 1: -2.0}}), ("temperature", {"temperature": 0.75}), ("top_k", {"k": 3})], "a bias, temperature, top-k"),
)  # fmt: skip
"""Steps that a random number ends."""

BIASED: Final[tuple[tuple[str, Steps, str], ...]] = (
    ("temperature", [("temperature", {"temperature": 0.5}), ("logit_bias", {"biases": {5: 6.5}})], "what a temperature left"),
    ("mask", [("token_mask", {"tokens": [0, 1, 3, 6]}), ("logit_bias", {"biases": {5: 9.0}})], "minus infinity, behind a mask"),
)  # fmt: skip
"""A bias that is not the first step. Added to the logit of the question, it keeps other tokens."""

NUMBERS: Final = (0.0, 0.1875, 0.390625, 0.609375, 0.84375, 1 - 2.0**-24)


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from told_apart(_all())


def _all() -> Iterator[SamplerDraft]:
    for slug, steps, says in TOP_K_TOP_P:
        for name, row in (("steep", ROW), ("flat", FLAT)):
            yield _case(
                f"{slug}-{name}", {"logits": pack(row)}, steps, f"Fused, on a {name} row: {says}."
            )
    for slug, steps, says in DRAWN:
        for place, number in enumerate(NUMBERS):
            yield _case(
                f"{slug}-draw-{place}", {"logits": pack(ROW)}, steps,
                f"In one kernel: {says}, and a draw by the number {number!r}.",
                history=[1, 3, 3, 6, 1, 1], number=number,
            )  # fmt: skip
    for slug, steps, says in BIASED:
        yield _case(
            f"bias-behind-{slug}", {"logits": pack(ROW)}, [*steps, ("top_k", {"k": 2})],
            f"In one kernel: a bias is added to {says}, not to the logit of the question.",
        )  # fmt: skip
    yield _case(
        "penalty-k-twice", {"logits": pack(ROW)},
        [("frequency_penalty", {"penalty": 0.375}), ("top_k", {"k": 1}), ("temperature", {"temperature": 0.5}), ("top_k", {"k": 3})],
        "The prompt is not counted, the output is counted each time, and of two top-k steps each does its work.",
        history=[3, 1, 1], prompt_length=1,
    )  # fmt: skip
    for size, heavy in ((32_000, "32000-f32"), (128_256, "128256-f32")):
        numbers = long_row(heavy).plain()["logits"]
        for k, p, number in ((5, 0.890625, 0.5), (3, 0.6875, 0.9375)):
            steps = [("top_k", {"k": k}), ("top_p", {"p": p})]
            yield _case(
                f"long-{size}-{k}", {"logits": numbers}, steps,
                f"Of {size:,} tokens, top-k leaves {k} and top-p shares them out; one is drawn.",
                number=number, flags=("LongRow", LARGE),
            )  # fmt: skip
    for size in (257, 1025):
        put = {0: 3.0, size // 2: 2.5, size - 1: 3.5, 255: 2.0}
        numbers = msgspec.to_builtins(grid(size, size, span=1 << 10, put=put))
        yield _case(
            f"edges-{size}", {"logits": numbers},
            [("repetition_penalty", {"penalty": 2.0}), ("temperature", {"temperature": 0.5}), ("top_k", {"k": 3}), ("top_p", {"p": 0.9375})],
            f"Of {size:,} tokens, the best ones stand at the ends and in the middle, and one is penalised.",
            history=[size - 1], number=0.75, flags=("LongRow",),
        )  # fmt: skip
    yield from _behind_masks()


def _behind_masks() -> Iterator[SamplerDraft]:
    """Yield rows of which a mask leaves a few tokens of one block: all other blocks are empty."""
    for size in (2049, 8193):
        for slug, word in (("first", 0), ("middle", size // 64), ("last", size // 32 - 1)):
            put = {32 * word + token: token / 2 for token in range(1, 8)} | {size // 3: 9.0}
            numbers = msgspec.to_builtins(grid(size, size, span=8, put=put))
            yield _case(
                f"empty-blocks-{size}-{slug}", {"logits": numbers},
                [("token_mask", {"words": {word: 0b11101110}}), ("temperature", {"temperature": 2.0}), ("top_k", {"k": 5}), ("top_p", {"p": 0.75})],
                f"A mask leaves six of {size:,} tokens, all of them in the {slug} word: the maximum of every other block "
                "is minus infinity.",
                number=0.5625, flags=("LongRow", "MinusInfinity", "TokenMask", *[LARGE] * (size > 4097)),
            )  # fmt: skip


def _case(
    slug: str,
    row: Mapping[str, Any],
    steps: Steps,
    why: str,
    *,
    history: Sequence[int] = (),
    prompt_length: int = 0,
    number: float | None = None,
    flags: Sequence[str] = (),
) -> SamplerDraft:
    listed = [{"step": name, "params": pack_parameters(params)} for name, params in steps]
    draw = {} if number is None else {"draw": pack([number], "f64")}
    about = {"history": [*history], "prompt_length": prompt_length}
    return SamplerDraft(
        op="steps",
        topic="fused",
        slug=slug,
        profile=STANDARD,
        request={**row, **about, "steps": listed, **draw},
        why=why,
        flags=sorted({"Fused", *flags}),
        spec=SPEC,
        purposes=(is_far_from_boundaries,),
    )


def is_far_from_boundaries(case: Case) -> None:
    """Raise `PurposeError` if parameters or a random number a little off change the answer."""
    asked, right = msgspec.to_builtins(case.input), msgspec.to_builtins(case.out)
    for number in (-STEP, STEP):
        steps = [{**each, "params": _moved(each["params"], number)} for each in asked["steps"]]
        others = [{**asked, "steps": steps}]
        if "draw" in asked:
            u = unpack(asked["draw"])[0] + number
            others += [{**asked, "draw": pack([u], "f64")}] * (0 <= u < 1)
        for other in others:
            answer = SamplerSession(STANDARD).answer("steps", other)
            if not isinstance(answer, Ok) or answer.out != right:
                raise PurposeError(f"{case.id}: its answer must be far from boundaries")


def _moved(params: Mapping[str, Any], number: float) -> Mapping[str, Any]:
    """Return the parameters of a filter with a share that is a little off."""
    moved = {
        name: pack([unpack(value)[0] + number])
        for name, value in params.items()
        if name in {"p", "m"} and unpack(value)[0] < 1
    }
    return {**params, **moved}
