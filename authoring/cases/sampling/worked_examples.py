"""The worked examples of the published descriptions, as records.

ChatStream
    Qualiteg, "Three penalties in LLM sampling" (in Japanese;
    https://blog.qualiteg.com/making_penalty_processor): "Qualiteg" was generated once;
    repetition 1.2, frequency 0.8, presence 1.5, temperature 0.7, top-k 50, top-p 0.9.
Antigravity
    Chapter 5 of its book, "Tokenizer and sampling", with the steps that its text spells out.
LZ penalty
    Its examples are in `survey_lz`.
"""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator
from math import inf, log
from typing import Any, Final

from authoring.cases.sampling.chain_draft import ChainTopic, alone, chain_request
from authoring.cases.sampling.draft import SamplerDraft, gives
from authoring.cases.sampling.row_draft import Topic, becomes, row_request
from tokenref.floats import pack

ARTICLE: Final = ChainTopic("examples", ("Published",), "docs/engines.md#chatstream")
STEPS: Final = Topic("examples", ("Published",), "docs/engines.md#chatstream")
BOOK: Final = ChainTopic("examples", ("Published",), "docs/engines.md#antigravity")
BOOK_STEPS: Final = Topic("examples", ("Published",), "docs/engines.md#antigravity")
TEXTS: Final = "docs/findings.md#published-texts"

WORDS: Final = ("Qualiteg", "May", "Change", "the", "World", "with", "ChatStream")
LOGITS: Final = [2.0, 1.5, 1.0, 0.5, 0.3, 0.2, 0.1]
ALL: Final[dict[str, Any]] = {
    "repetition_penalty": 1.2,
    "frequency_penalty": 0.8,
    "presence_penalty": 1.5,
    "temperature": 0.7,
    "top_k": 50,
    "top_p": 0.9,
}


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _chatstream()
    yield from _antigravity()


def _chatstream() -> Iterator[SamplerDraft]:
    multiplied = {**ALL, "frequency_penalty": 1.25}
    for slug, params, kept, why in (
        ("as-coded", ALL, [0, 1, 2, 3, 4],
         "ChatStream's worked example as its code calculates it: the logit is divided by the frequency penalty 0.8."),
        ("as-written", multiplied, [0, 1, 2, 3, 4, 5],
         "ChatStream's worked example as its text calculates it: the logit is multiplied by 0.8, here as a division by 1.25."),
        ("as-published", {**multiplied, "top_k": 5}, [0, 1, 2, 3],
         "ChatStream's worked example with the five tokens that the article goes on with: May, Change, Qualiteg and the are left."),
    ):  # fmt: skip
        request = chain_request(LOGITS, params, [0])
        yield ARTICLE.case(
            "chain", f"chatstream.{slug}", "chatstream", request, why, gives(keep=kept), spec=TEXTS
        )
        yield ARTICLE.case(
            "distribution", f"chatstream.{slug}", "chatstream", request,
            f"{why[:-1]}, and the probabilities of what is left.", spec=TEXTS,
        )  # fmt: skip
    for op, parameter, penalty, says in (
        ("repetition_penalty", "repetition_penalty", 1.2, "2.0 divided by 1.2 is about 1.67"),
        ("frequency_penalty", "frequency_penalty", 1.25, "two divided by 1.25 once is 1.6"),
        ("presence_penalty", "presence_penalty", 1.5, "2.0 divided by 1.5 is about 1.33"),
        ("temperature", "temperature", 0.7, "the temperature 0.7 on the article's seven logits"),
    ):
        yield STEPS.case(
            op, f"chatstream.{op}", "chatstream", row_request(LOGITS, [0], **{parameter: penalty}),
            f"A single step of ChatStream's worked example: {says}.", spec=f"docs/engines.md#{op}",
        )  # fmt: skip
    for op in ("repetition_penalty", "frequency_penalty", "presence_penalty"):
        count = 2 if op == "frequency_penalty" else 1
        for method, answer in (
            ("multiplicative", [4 / 2**count, -4 / 2**count, 4]),
            ("subtractive", [4 - 2 * count, -4 - 2 * count, 4]),
        ):
            yield STEPS.case(
                op, f"chatstream.{op}-{method}", "chatstream",
                row_request([4.0, -4.0, 4.0], [0, 1, 1, 0], penalty_method=method, **{op: 2.0}),
                f"ChatStream's {op.replace('_', ' ')}, {method}, on a positive and a negative logit that occurred twice each.",
                becomes(*answer), spec=f"docs/engines.md#{op}", flags=("PenaltySign",),
            )  # fmt: skip


def _antigravity() -> Iterator[SamplerDraft]:
    name = "antigravity"
    yield BOOK_STEPS.case(
        "repetition_penalty", "antigravity.each-occurrence", name,
        row_request([8.0, -1.0, 3.0], [2, 0, 1, 0, 1], repetition_penalty=2.0, repetition_window=4),
        "The text's loop goes over the tokens of the window, so that a token that stands there twice is penalised twice.",
        becomes(2, -4, 3), flags=("PenaltyOnce", "PenaltyWindow"),
        spec="docs/engines.md#repetition_penalty",
    )  # fmt: skip
    for window, logit in ((0, 8.0), (1, 4.0), (2, 2.0), (3, 2.0)):
        yield BOOK_STEPS.case(
            "repetition_penalty", f"antigravity.window-{window}", name,
            row_request([8.0, 8.0, 8.0], [1, 0, 0], repetition_penalty=2.0, repetition_window=window),
            f"A window of the last {window} tokens, two of which are token 0.",
            becomes(logit, 4.0 if window == 3 else 8.0, 8.0), flags=("PenaltyWindow",),
            spec="docs/engines.md#repetition_penalty",
        )  # fmt: skip
    for slug, row, token, why in (
        (
            "equals",
            [0.0, 2.0, 2.0, 1.0],
            2,
            "The text's greedy choice is max_by, which returns the last of equals.",
        ),
        (
            "zeros",
            [-0.0, 0.0, -0.0],
            1,
            "The text compares by total_cmp, by which plus zero is above minus zero.",
        ),
        (
            "impossible",
            [-inf, -5.0, -5.0],
            2,
            "The last of two equal negative logits, the first token impossible.",
        ),
    ):
        yield BOOK.case(
            "sample", f"antigravity.greedy-{slug}", name,
            chain_request(row, {"temperature": 0.0}, uniforms=[]), why, gives(token=token),
            flags=("GreedyTie",), meets=True, spec="docs/engines.md#when-an-engine-draws-nothing",
        )  # fmt: skip
    off = alone(name)
    yield BOOK.case(
        "chain", "antigravity.exceeds", name, chain_request([0.0] * 4, {**off, "top_p": 0.5}),
        "The running sum must exceed top-p: one half is met by two of four equal tokens, and a third is kept.",
        gives(keep=[0, 1, 2]), meets=True, flags=("Crossing",), spec="docs/engines.md#top_p",
    )  # fmt: skip
    yield BOOK.case(
        "chain", "antigravity.whole-row", name,
        chain_request([log(share) for share in (0.4, 0.3, 0.2, 0.1)], {**off, "top_k": 2, "top_p": 0.5}),
        "Probabilities are not made to sum to 1 after top-k: 2/5 does not exceed one half, so both tokens stay.",
        gives(keep=[0, 1]), flags=("RenormalizedBase",), spec="docs/engines.md#top_p",
    )  # fmt: skip
    for r, token in ((0.25, 2), (0.75, 0), (0.9375, 1)):
        yield BOOK.case(
            "sample", f"antigravity.draw-{int(r * 16)}", name,
            chain_request([1.0, 0.0, 2.0], off, uniforms=[r]),
            (f"The draw subtracts probabilities, the largest first, from {r} of their sum until "
            "nothing is left."),
            gives(token=token), flags=("DrawGivenNumber",),
        )  # fmt: skip
    for slug, history in (("empty", []), ("repeating", [2, 2, 0])):
        request = chain_request([1.0, 0.5, 3.0, -1.0, 2.0, 0.25], {}, history)
        yield BOOK.case(
            "chain", f"antigravity.defaults-{slug}", name, request,
            f"The defaults of the command line, penalty 1.1 over 64 tokens, temperature 0.8, top-k 40, top-p 0.9, with a history that is {slug}.",
            spec="docs/engines.md#the-order-of-the-steps",
        )  # fmt: skip
    yield BOOK.case(
        "distribution", "antigravity.greedy", name, chain_request([1.0, 3.0, 2.0], {"temperature": 0.0}),
        "At temperature 0 nothing is scaled, sorted or drawn: all the probability is the best token's.",
        gives(probs=pack([0.0, 1.0, 0.0])), flags=("TemperatureZero",),
    )  # fmt: skip
