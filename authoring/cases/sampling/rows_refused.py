"""What must be refused, and its neighbours on the other side of each edge that must not.

A parameter outside its domain, a row that means nothing, a history that is not of the row.
"""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator, Sequence
from math import inf, nan
from typing import Any, Final

from authoring.cases.sampling.chain_draft import ChainTopic, alone, chain_request
from authoring.cases.sampling.draft import SamplerDraft, refuses
from authoring.cases.sampling.row_draft import Topic, row_request
from tokenref.floats import pack
from tokenref.verdicts import Exact

PARAMETERS: Final = Topic("refused", ("ParameterDomain",), "docs/sampling.md#errors")
ROWS: Final = Topic("refused", ("InvalidRow",), "docs/sampling.md#rows")
HISTORIES: Final = Topic("refused", ("InvalidHistory",), "docs/sampling.md#errors")
CHAINS: Final = ChainTopic(
    "refused", ("ParameterDomain", "EngineProfile"), "docs/sampling.md#errors"
)
CHAIN_ROWS: Final = ChainTopic("refused", ("InvalidRow", "EngineProfile"), "docs/sampling.md#rows")

ROW: Final = [2.0, 1.0, 0.5]
PAST: Final = [0, 1, 0]
NEAR: Final = 2.0**-149

BY_RULE: Final[Sequence[tuple[str, str, dict[str, Any], dict[str, Any], str]]] = (
    ("repetition_penalty", "zero", {"penalty": 0.0}, {"penalty": 2.0**-20}, "a repetition penalty of 0 would divide by it"),
    ("repetition_penalty", "negative", {"penalty": -1.0}, {"penalty": 0.5}, "a negative repetition penalty turns signs"),
    ("repetition_penalty", "infinite", {"penalty": inf}, {"penalty": 2.0**20}, "an infinite repetition penalty makes NaN of a zero"),
    ("repetition_penalty", "nan", {"penalty": nan}, {"penalty": 1.5}, "NaN is not a repetition penalty"),
    ("repetition_penalty", "window", {"penalty": 2.0, "window": -1}, {"penalty": 2.0, "window": 0}, "a window has no negative length"),
    ("repetition_penalty", "skipped", {"penalty": 2.0, "skipped": -1}, {"penalty": 2.0, "skipped": 1}, "no negative number of tokens can be left out"),
    ("frequency_penalty", "infinite", {"penalty": inf}, {"penalty": -2.0}, ("an infinite frequency penalty cannot be "
                                                                           "subtracted")),
    ("frequency_penalty", "nan", {"penalty": nan}, {"penalty": 2.0}, "NaN is not a frequency penalty"),
    ("presence_penalty", "infinite", {"penalty": -inf}, {"penalty": -2.0}, "an infinite reward cannot be added"),
    ("penalties", "zero", {"repetition": 0.0}, {"repetition": 0.5}, "the repetition penalty among three must be above 0"),
    ("penalties", "nan", {"frequency": nan}, {"frequency": 0.25}, "the frequency penalty among three must be a number"),
    ("decaying_penalties", "zero", {"repetition": 0.0}, {"repetition": 0.5, "sustain": 1, "decay": 1}, "a fading repetition penalty must be above 0"),
    ("decaying_penalties", "decay", {"repetition": 2.0, "decay": -1}, {"repetition": 2.0, "decay": 0}, "a decay has no negative length"),
    ("dry", "multiplier", {"multiplier": -1.0}, {"multiplier": 0.25}, "a negative DRY multiplier would reward repetition"),
    ("dry", "base", {"multiplier": 1.0, "base": 0.5}, {"multiplier": 1.0, "base": 1.0}, "a DRY base below 1 weakens with length"),
    ("dry", "allowed", {"multiplier": 1.0, "allowed_length": -1}, {"multiplier": 1.0, "allowed_length": 0}, "an allowed length is not negative"),
    ("lz", "strength", {"strength": -0.5}, {"strength": 0.0}, "a negative LZ strength would reward repetition"),
    ("lz", "buffer", {"strength": 1.0, "buffer": 0}, {"strength": 1.0, "buffer": 1}, "a buffer has at least one token"),
    ("lz", "window", {"strength": 1.0, "window": -1}, {"strength": 1.0, "window": 1, "buffer": 1}, "an LZ window is not negative"),
    ("no_repeat_ngram", "zero", {"ngram_size": 0}, {"ngram_size": 1}, "an n-gram has at least one token"),
    ("logit_bias", "infinite", {"biases": {0: inf}}, {"biases": {0: -inf}}, "a bias of plus infinity would make NaN of a ban"),
    ("logit_bias", "nan", {"biases": {0: nan}}, {"biases": {2: 0.5}}, "NaN is not a bias"),
    ("logit_bias", "token", {"biases": {3: 1.0}}, {"biases": {2: 1.0}}, "a bias for a token that the row does not have"),
    ("sequence_bias", "empty", {"biases": {(): 1.0}}, {"biases": {(0,): 1.0}}, "a sequence of no tokens cannot be completed"),
    ("bad_words", "empty", {"words": [[]]}, {"words": [[0]]}, "a bad word has at least one token"),
    ("min_length", "negative", {"length": -1, "ends": 0}, {"length": 0, "ends": 0}, "a least length is not negative"),
    ("exponential_decay_length", "growth", {"start": 0, "growth": 0.0, "ends": 0}, {"start": 0, "growth": 0.5, "ends": 0}, "a growth of 0 would take the end away"),
    ("temperature", "zero", {"temperature": 0.0}, {"temperature": 2.0**-10}, "by the standard rule a temperature of 0 is an error"),
    ("temperature", "negative", {"temperature": -1.0}, {"temperature": 1.0}, "a negative temperature turns the row around"),
    ("temperature", "nan", {"temperature": nan}, {"temperature": 4.0}, "NaN is not a temperature"),
    ("temperature", "infinite", {"temperature": inf}, {"temperature": 2.0**30}, ("logits cannot be divided by an infinite "
                                                                                "temperature")),
    ("dynamic_temperature", "spread", {"temperature": 1.0, "spread": nan}, {"temperature": 1.0, "spread": 0.25}, "NaN is not a spread"),
    ("smoothing", "zero", {"smoothing_factor": 0.0}, {"smoothing_factor": 0.25}, "a smoothing factor of 0 would make the row even"),
    ("smoothing", "negative", {"smoothing_factor": -1.0}, {"smoothing_factor": 2.0}, "a negative smoothing factor turns the row around"),
)  # fmt: skip

BY_ENGINE: Final[Sequence[tuple[str, str, dict[str, Any], dict[str, Any], str]]] = (
    ("transformers", "temperature-zero", {"temperature": 0.0}, {"temperature": 2.0**-10}, "a temperature of 0"),
    ("transformers", "temperature-negative", {"temperature": -1.0}, {"temperature": 3.0}, "a negative temperature"),
    ("transformers", "penalty-zero", {"repetition_penalty": 0.0}, {"repetition_penalty": 0.5}, "a repetition penalty of 0"),
    ("transformers", "top-p-above", {"top_p": -0.25}, {"top_p": 0.25}, "a negative top-p"),
    ("transformers", "min-p-above", {"min_p": 1.5}, {"min_p": 1.0}, "a min-p above 1"),
    ("transformers", "bad-words-empty", {"bad_words_ids": []}, {"bad_words_ids": [[2]]}, "an empty list of bad words"),
    ("vllm", "presence-above", {"presence_penalty": 2.5}, {"presence_penalty": 2.0}, "a presence penalty above 2"),
    ("vllm", "frequency-below", {"frequency_penalty": -2.5}, {"frequency_penalty": -2.0}, "a frequency penalty below -2"),
    ("vllm", "repetition-zero", {"repetition_penalty": 0.0}, {"repetition_penalty": 0.25}, "a repetition penalty of 0"),
    ("vllm", "temperature-above", {"temperature": 2.5}, {"temperature": 2.0}, "a temperature above 2"),
    ("vllm", "temperature-negative", {"temperature": -0.5}, {"temperature": 0.0}, "a negative temperature"),
    ("vllm", "top-p-zero", {"top_p": 0.0}, {"top_p": 2.0**-10}, "a top-p of 0"),
    ("vllm", "top-p-above", {"top_p": 1.25}, {"top_p": 1.0}, "a top-p above 1"),
    ("vllm", "top-k-below", {"top_k": -2}, {"top_k": -1}, "a top-k of -2"),
    ("vllm", "min-p-negative", {"min_p": -0.25}, {"min_p": 0.0}, "a negative min-p"),
    ("sglang", "top-k-zero", {"top_k": 0}, {"top_k": -1}, "a top-k of 0"),
    ("sglang", "repetition-above", {"repetition_penalty": 2.5}, {"repetition_penalty": 2.0}, "a repetition penalty above 2"),
    ("sglang", "temperature-negative", {"temperature": -0.5}, {"temperature": 0.0}, "a negative temperature"),
    ("mlx-lm", "min-p-above", {"min_p": 1.25}, {"min_p": 1.0, "temp": 1.0}, "a min-p above 1"),
    ("mlx-lm", "xtc-threshold", {"xtc_threshold": 0.75}, {"xtc_threshold": 0.5}, "an XTC threshold above one half"),
    ("mlx-lm", "repetition-negative", {"repetition_penalty": -1.0}, {"repetition_penalty": 0.0}, ("a negative repetition penalty, although "
                                                                                                 "0 turns it off")),
    ("openai", "bias-above", {"logit_bias": {0: 101.0}}, {"logit_bias": {0: 100.0}}, "a bias above 100"),
    ("openai", "presence-above", {"presence_penalty": 2.25}, {"presence_penalty": 2.0}, "a presence penalty above 2"),
    ("openai", "temperature-above", {"temperature": 2.25}, {"temperature": 2.0}, "a temperature above 2"),
    ("exllamav3", "top-p-above", {"top_p": 1.5}, {"top_p": 1.0}, "a top-p above 1"),
    ("tensorrt-llm", "top-k-negative", {"top_k": -1}, {"top_k": 2}, "a negative top-k"),
    ("flashinfer", "temperature-zero", {"temperature": 0.0}, {"temperature": 0.5}, "a temperature of 0"),
)  # fmt: skip


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for op, slug, bad, good, why in BY_RULE:
        yield PARAMETERS.case(
            op, f"{op}.{slug}", "standard", row_request(ROW, PAST, **bad),
            f"Must be refused: {why}.", refuses("INVALID_PARAMETER"), verdict=Exact(),
        )  # fmt: skip
        yield PARAMETERS.case(
            op, f"{op}.{slug}-edge", "standard", row_request(ROW, PAST, **good),
            f"Must be answered, because only values beyond it are invalid: {why}.",
        )  # fmt: skip
    for name, slug, bad, good, why in BY_ENGINE:
        yield CHAINS.case(
            "chain", f"{name}.{slug}", name, chain_request(ROW, {**alone(name), **bad}, PAST),
            f"{name} refuses {why}.", refuses("INVALID_PARAMETER"),
        )  # fmt: skip
        yield CHAINS.case(
            "chain", f"{name}.{slug}-edge", name, chain_request(ROW, {**alone(name), **good}, PAST),
            f"{name} refuses {why}, but not this.", meets=True,
        )  # fmt: skip
    yield from _rows()
    yield from _histories()


def _rows() -> Iterator[SamplerDraft]:
    for slug, row, why in (
        ("nan", [1.0, nan], "NaN is among the logits, and has no probability"),
        ("inf", [1.0, inf], "plus infinity is among the logits"),
        ("empty", [], "the row has no token"),
    ):
        for op, params in (
            ("repetition_penalty", {"penalty": 2.0}),
            ("temperature", {"temperature": 2.0}),
            ("lz", {"strength": 1.0}),
        ):
            yield ROWS.case(
                op, f"{op}.row-{slug}", "standard", row_request(row, (), **params),
                f"{op.capitalize()}: {why}.", refuses("INVALID_ROW"), verdict=Exact(),
            )  # fmt: skip
        for op in ("softmax", "logprobs", "greedy"):
            yield ROWS.case(
                op, f"{op}.row-{slug}", "standard", {"logits": pack(row)},
                f"{op.capitalize()}: {why}.", refuses("INVALID_ROW"), verdict=Exact(),
            )  # fmt: skip
    for op in ("softmax", "logprobs", "greedy"):
        yield ROWS.case(
            op, f"{op}.row-impossible", "standard", {"logits": pack([-inf, -inf])},
            (f"{op.capitalize()}: no token of the row is possible, and 0 divided by 0 is not an "
            "answer."),
            refuses("INVALID_ROW"), verdict=Exact(), flags=("MinusInfinity",),
        )  # fmt: skip
    for name in ("transformers", "vllm", "sglang", "flashinfer", "mistral.rs", "openai"):
        for slug, row in (("nan", [1.0, nan]), ("inf", [1.0, inf]), ("impossible", [-inf, -inf])):
            count = 1 if name in {"flashinfer", "mistral.rs", "openai"} else 2
            yield CHAIN_ROWS.case(
                "sample", f"{name}.row-{slug}", name,
                chain_request(row, {}, uniforms=[0.5] * count),
                f"{name} draws nothing from a row that is {slug}; token 0, or any token, would be a silent mistake.",
                refuses("INVALID_ROW"),
            )  # fmt: skip


def _histories() -> Iterator[SamplerDraft]:
    for slug, history, prompt, why in (
        ("beyond", [0, 3], 0, "a token of the history is one beyond the row"),
        (
            "negative",
            [0, -1],
            0,
            "a token of the history is negative, and would count from the end",
        ),
        ("prompt", [0, 1], 3, "the prompt is longer than the history"),
    ):
        for op, params in (
            ("repetition_penalty", {"penalty": 2.0}),
            ("frequency_penalty", {"penalty": 0.5}),
            ("dry", {"multiplier": 1.0}),
            ("no_repeat_ngram", {"ngram_size": 2}),
        ):
            yield HISTORIES.case(
                op, f"{op}.history-{slug}", "standard",
                row_request(ROW, history, prompt_length=prompt, **params),
                f"{op.capitalize().replace('_', ' ')}: {why}.",
                refuses("INVALID_PARAMETER" if slug == "prompt" else "INVALID_HISTORY"),
                verdict=Exact(),
            )  # fmt: skip
    yield HISTORIES.case(
        "repetition_penalty", "repetition_penalty.history-last", "standard",
        row_request(ROW, [2, 2], prompt_length=2, penalty=2.0),
        "The last token of the row, and a prompt as long as the history, are both allowed.",
    )  # fmt: skip
