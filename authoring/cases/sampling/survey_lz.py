"""The LZ penalty: the worked examples, the edges, and what the published programs gave.

The examples are those of `docs/lz.md`: for each variant what it adds to a row of zeros at
strength 1, to four decimals, known before the reference was written. The numbers of the
published programs (github.com/tginart/lz-penalty at 027d2378; github.com/tginart/sglang at
d3879438 and ab08e697) come from running them. A logarithm's last bits are the library's, so
that the verdict is close.
"""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator, Sequence
from math import inf
from typing import Final

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose, differs_from
from authoring.cases.sampling.row_draft import Topic, becomes, row_request
from tokenref.floats import unpack
from tokenref.record import Case
from tokenref.rules import rule_name

TOPIC: Final = Topic("lz", ("LzPenalty",), "docs/lz.md#the-penalty")
VARIANTS: Final = Topic("lz", ("LzPenalty", "LzVariant"), "docs/lz.md#variants")
PROGRAMS: Final = Topic(
    "lz", ("LzPenalty", "LzVariant"), "docs/lz.md#what-the-published-programs-do"
)
PAPER: Final = Topic("lz", ("LzPenalty", "LzVariant"), "docs/lz.md#what-is-wrong-in-the-paper")

LOOP: Final = [1, 2, 3] * 33 + [1]
TIE: Final = [1, 2, 3, 7, 1, 2, 4, 8, 1, 2]
PARTIAL: Final = [9, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3]
SAME: Final = ("corrected", "paper", "codelength")

Example = tuple[str, list[int], int, int, int, str, dict[str, Sequence[float]]]

EXAMPLES: Final[Sequence[Example]] = (
    ("e1", [1, 2, 3, 4, 5, 1, 2, 3], 8, 8, 3,
     "the buffer 1 2 3 was followed by 4, so that 4 alone goes on with a repetition", {
        **{key: [3, 2.3219, 2, 1.585, -1.1699, 0, 3, 3] for key in SAME},
        "script": [-2.0794] * 4 + [1.2231] + [-2.0794] * 3,
        "fork_march": [0, -1, -1.415, -2, -1.8538, -0.6781, 0, 0],
        "fork_july": [0, -1.415, -2, -3, -0.6781, -1, 0, 0]}),
    ("e2", PARTIAL, 10, 8, 4,
     "only the last three tokens of the buffer 8 1 2 3 were there before", {
        "corrected": [3.3219, 2.8074, 2.585, 2.3219, -0.9069, 1.585, 1, 0, 3.3219, 3],
        "paper": [3.3219, 2.8074, 2.585, 2.3219, -1.3219, 1.585, 1, 0, 3.3219, 3],
        "codelength": [3.3219, 2.8074, 2.585, 2.3219, -0.9069, 1.585, 1, 0, 3.3219, 3],
        "script": [-2.3026] * 10}),
    ("e4", [5, 6, 7, 8, 5, 1, 2], 16, 4, 3,
     "the buffer 5 1 2, oldest token first, begins with a 5 that was there before", {
        **dict.fromkeys(SAME, [4] * 5 + [2, 1.585, 1, 0] + [4] * 7),
        "script": [-2.7726, -1.3863, -1.3863, -2.7726, -2.7726] + [-1.3863] * 4 + [-2.7726] * 7,
        "fork_march": [0, 0, -3.0] + [0] * 13,
        "fork_july": [0, 0, -4.0] + [0] * 13}),
    ("e5", TIE, 16, 8, 2,
     "there are two longest matches, the far one followed by 3, the near one by 4", {
        "corrected": [4, 2, 1.585, -0.6374, -1, 4, 4, 2.3219, 0] + [4] * 7,
        "paper": [4, 2, 1.585, -1.8074, -1.585, 4, 4, 2.3219, 0] + [4] * 7,
        "codelength": [4, 2, 1.585, 0.585, -1, 4, 4, 2.3219, 0] + [4] * 7,
        "script": [-2.7726] * 3 + [1.5754] * 2 + [-2.7726] * 11,
        "fork_march": [0, -2.415, -3, 0, -2.6977, 0, 0, 0, -2] + [0] * 7,
        "fork_july": [0, -3, -4, 0, -2, 0, 0, 0, -2.415] + [0] * 7}),
    ("e9", [4, 5, 6, 7, 1, 2, 3], 8, 4, 3,
     "what was just written is in the buffer only, so that it counts as new", {
        **{key: [3, 3, 3, 3, 2, 1.585, 1, 0] for key in SAME},
        "script": [-2.0794] * 8,
        "fork_march": [0, 0, 0, -2, 0, 0, 0, 0],
        "fork_july": [0, 0, 0, -3, 0, 0, 0, 0]}),
)  # fmt: skip

LOOPING: Final = {
    "corrected": (1.0, -1.9556, 1.585, 5.6439),
    "paper": (1.0, -0.4608, 1.585, 5.6439),
    "codelength": (1.0, -1.9556, 1.585, 5.6439),
    "script": (-3.912, 1.0167, -3.912, -3.912),
    "fork_march": (-4.6439, -5.4304, -4.0589, 0.0),
    "fork_july": (-5.6439, -4.0589, -4.6439, 0.0),
}
"""The third example: what tokens 1, 2, 3 and 7 get; 2 goes on with the loop, 7 is new."""

PERIODS: Final = (
    (1, -0.956, -1.956),
    (2, 0.044, -1.541),
    (3, -1.956, -1.956),
    (8, 2.044, -1.126),
    (32, 4.044, -1.0),
)
"""Loops: their period, what the compressor itself says, what the cases say."""

PUBLISHED: Final = (
    ("330330330330330330330330330330330", 8, 64, 8,
     "-2.079442 -2.079442 -2.079442 1.092709 -2.079442 -2.079442 -2.079442 -2.079442",
     "-2 0 0 -2.425564 0 0 0 0", "-3 0 0 -1.415038 0 0 0 0"),
    ("0000000000000000000000000", 6, 8, 4,
     "1.169899 -1.791759 -1.791759 -1.791759 -1.791759 -1.791759",
     "-1.920577 0 0 0 0 0", "-2.584963 0 0 0 0 0"),
    ("4004", 6, 5, 2, "0 -1.791759 -1.791759 -1.791759 0 -1.791759",
     "-1 0 0 0 -1.584963 0", "-1.584963 0 0 0 -2.584963 0"),
    ("35413353504250442423155442544223410343", 8, 3, 1,
     "-0.6931472 -2.079442 -2.079442 -0.6931472 -0.6931472 -2.079442 -2.079442 -2.079442",
     "0 0 0 -2 -1.707519 0 0 0", "0 0 0 -3 -2 0 0 0"),
    ("210011121001112100111210011121001112", 4, 16, 2, "-1.386294 -1.386294 -1.386294 -1.386294",
     "0 -0.4716792 -1 0", "0 0 -2 0"),
    ("552455245524552455245524552455245", 8, 32, 8,
     "-2.079442 -2.079442 -2.079442 -2.079442 -2.079442 1.092709 -2.079442 -2.079442",
     "0 0 -1.5 0 -1.415038 -2.389794 0 0", "0 0 -1.415038 0 -2 -1 0 0"),
    ("0000010110111011011111", 3, 2, 1, "-1.098612 -0.6931472 -1.098612",
     "0 -0.5849625 0", "0 -1.584962 0"),
)  # fmt: skip
"""Histories, sizes of vocabulary, window and buffer; rows of the script, of March, of July."""


def adds(decimals: int, row: dict[int, float]) -> SamplerPurpose:
    """Return the purpose "the logits of these tokens are these numbers, to `decimals` decimals"."""

    def check(case: Case) -> None:
        logits = unpack(msgspec.to_builtins(case.out)["logits"])
        for token, number in row.items():
            if abs(logits[token] - number) > 10.0**-decimals:
                raise PurposeError(f"{case.id}: {token} must be {number}, got {logits[token]}")

    return check


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for name, history, size, window, buffer, what, rows in EXAMPLES:
        for variant, row in rows.items():
            yield VARIANTS.case(
                "lz",
                f"{name}.{variant}",
                rule_name("lz", variant=variant),
                row_request([0.0] * size, history, strength=1.0, window=window, buffer=buffer),
                f"Worked example {name.upper()} by the variant {variant}: {what}.",
                adds(4, dict(enumerate(row))),
            )
    for variant, (one, two, three, new) in LOOPING.items():
        yield VARIANTS.case(
            "lz",
            f"e3.{variant}",
            rule_name("lz", variant=variant),
            row_request([0.0] * 50, LOOP, strength=1.0),
            f"Worked example E3 by the variant {variant}: a loop of three tokens, a hundred long, of which 2 comes next.",
            adds(4, {1: one, 2: two, 3: three, 7: new}),
        )
    yield from _periods()
    yield from _programs()
    yield from _edges()


def _periods() -> Iterator[SamplerDraft]:
    for period, by_length, by_cases in PERIODS:
        history = [place % period for place in range(600)]
        following = 600 % period
        for variant, change in (("corrected", by_cases), ("codelength", by_length)):
            yield VARIANTS.case(
                "lz",
                f"period-{period}.{variant}",
                rule_name("lz", variant=variant),
                row_request([0.0] * 34, history, strength=1.0),
                f"An endless loop of period {period} by the variant {variant}: its period may divide the buffer, and then nothing follows the nearest match.",
                adds(3, {following: change}),
            )


def _programs() -> Iterator[SamplerDraft]:
    for number, (digits, size, window, buffer, *rows) in enumerate(PUBLISHED):
        for variant, row in zip(("script", "fork_march", "fork_july"), rows, strict=True):
            history = [int(digit) for digit in digits]
            yield PROGRAMS.case(
                "lz",
                f"published-{number}.{variant}",
                rule_name("lz", variant=variant),
                row_request([0.0] * size, history, strength=1.0, window=window, buffer=buffer),
                f"What the published program of {variant} gave for history {number}, run with PyTorch.",
                adds(5, dict(enumerate(map(float, row.split())))),
            )


def _edges() -> Iterator[SamplerDraft]:
    one = {"strength": 1.0, "window": 2, "buffer": 1}
    for slug, logits, history, params, variant, answer, why, prompt in (
        ("ban-as-printed", [0.0] * 4, [1, 2, 1], one, "paper", [2.0, 1.0, -inf, 2.0],
         "For a match of one token the printed equation takes the logarithm of 0: the continuation is banned.", 0),
        ("no-ban", [0.0] * 4, [1, 2, 1], one, "corrected", [2.0, 1.0, -1.0, 2.0],
         "As derived, a match of one token costs its continuation one bit and bans nothing.", 0),
        ("strength-zero", [1.0, -0.0, 2.0, -inf], [1, 2, 1], {**one, "strength": 0.0}, "corrected",
         [1.0, -0.0, 2.0, -inf], "A strength of 0 leaves the row as it is, to the last bit.", 0),
        ("strength-zero-as-printed", [1.0, 2.0, 2.0, 1.0], [1, 2, 1], {**one, "strength": 0.0}, "paper",
         [1.0, 2.0, 2.0, 1.0], "A strength of 0 leaves the row as it is, also where the change is minus infinity.", 0),
        ("impossible", [0.0, -inf, 0.0, 0.0], [1, 2, 1], one, "corrected", [2.0, -inf, -1.0, 2.0],
         "An impossible token stays impossible, whatever is added.", 0),
        ("empty-history", [0.0] * 4, [], one, "corrected", [2.0] * 4,
         "Nothing was said: every token is new, and all get log2 of the vocabulary's size.", 0),
        ("shorter-than-buffer", [0.0] * 4, [1, 2, 3], {"strength": 1.0, "window": 8, "buffer": 3}, "corrected", [2.0] * 4,
         "The history is no longer than the buffer: the window is empty and nothing changes in effect.", 0),
        ("one-beyond-the-buffer", [0.0] * 4, [1, 2, 3, 3], {"strength": 1.0, "window": 8, "buffer": 3}, "corrected",
         [2.0, 0.0, 2.0, 2.0], "One token has left the buffer for the window, where its distance is 1.", 0),
        ("window-none", [0.0] * 4, [1, 2, 1, 2, 1], {"strength": 1.0, "window": 0, "buffer": 1}, "corrected", [2.0] * 4,
         "A window of no tokens makes all of them new.", 0),
        ("window-edge", [0.0] * 8, [5, 6, 7, 4, 4], {"strength": 1.0, "window": 2, "buffer": 1}, "corrected", None,
         "Only two tokens before the buffer are looked at; token 5 and 6 have left the window.", 0),
        ("negative-strengthless", [4.0, 4.0, 4.0, 4.0], [1, 2, 1], {**one, "strength": 0.5}, "corrected",
         [5.0, 4.5, 3.5, 5.0], "The strength scales the bits that are added.", 0),
        ("prompt-is-seen", [0.0] * 4, [1, 2, 1], one, "corrected", [2.0, 1.0, -1.0, 2.0],
         "The paper's history is the whole context, the prompt included.", 2),
        ("fork-sees-the-output", [0.0] * 4, [1, 2, 1], one, "fork_july", [0.0] * 4,
         "The fork sees what was generated only: one token, in which nothing repeats.", 2),
        ("default-sizes", [0.0] * 4, [1, 2] * 20, {"strength": 1.0}, "corrected", None,
         "The default buffer holds 32 tokens, and eight have left it for the window.", 0),
        ("usual-strength", [3.5, -1.25, 0.5, 2.0], [1, 2, 3] * 12, {"strength": 0.15}, "corrected", None,
         "The paper's strength on an ordinary row, in a loop of three.", 0),
    ):  # fmt: skip
        purposes = [] if answer is None else [becomes(*answer)]
        if variant == "paper" and answer is not None and -inf in answer:
            purposes.append(differs_from("standard"))
        topic = PAPER if variant == "paper" else TOPIC
        yield topic.case(
            "lz",
            slug,
            rule_name("lz", variant=variant),
            row_request(logits, history, prompt_length=prompt, **params),
            why,
            *purposes,
        )
