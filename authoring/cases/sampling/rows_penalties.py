"""Penalties by their rules: repetition, frequency, presence, and those that fade with distance.

Every logit and every penalty is a small multiple of a power of two, so that nothing is rounded
and only the rule can be wrong; a few cases use penalties that are used in practice. exllamav2 and
exllamav3 have the penalties that fade.
"""

from collections.abc import Iterator
from math import inf
from typing import Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.row_draft import Row, Topic, row_request, tabled
from tokenref.rules import rule_names


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _penalties_cases()
    yield from _fading_cases()


# ---- repetition, frequency and presence

REPETITION: Final = Topic("penalties", ("PenaltySign",), "docs/engines.md#repetition_penalty")
FREQUENCY: Final = Topic("penalties", ("PenaltyCount",), "docs/engines.md#frequency_penalty")
PRESENCE: Final = Topic("penalties", ("PenaltyOnce",), "docs/engines.md#presence_penalty")
TOGETHER: Final = Topic("penalties", ("PenaltyOrder",), "docs/engines.md#penalties")


TWO: Final = {"penalty": 2.0}
SIGNS: Final = [4.0, -4.0, 0.0, -0.0, -inf, 1.0]
EACH: Final = [0, 1, 2, 3, 4]

REPETITIONS: Final = (
    Row("signs", TWO, SIGNS, EACH, [2, -8, 0, -0.0, -inf, 1],
        "A positive logit is divided and a negative one multiplied; who divides both makes the repeat of an unlikely token likelier.",
        rival="method.divide"),
    Row("reward", {"penalty": 0.5}, SIGNS, EACH, [8, -2, 0, -0.0, -inf, 1],
        "A penalty below 1 rewards: the positive logit grows and the negative one moves up to zero."),
    Row("one-is-off", {"penalty": 1.0}, SIGNS, EACH, SIGNS,
        "A repetition penalty of 1 changes no bit of the row, not even the sign of a zero.",
        flags=("PenaltyOff",)),
    Row("empty-history", TWO, SIGNS, [], SIGNS,
        ("The history is empty, so no token is a repetition; an index computed from an empty "
        "list must not hit token 0."),
        flags=("PenaltyOff",)),
    Row("both-ends", TWO, [4, 4, 4, 4], [0, 3], [2, 4, 4, 2],
        "The first and the last token of the vocabulary are penalised like all others; a size that is one too small loses the last."),
    Row("last-token-alone", TWO, [4, 4, 4], [2], [4, 4, 2],
        "Only the last id of the vocabulary occurs, the place of a spare column for padding in several kernels."),
    Row("three-times", TWO, [8, 8], [0, 0, 0], [4, 8],
        "A token that occurred three times is divided once; dividing for each occurrence compounds to an eighth.",
        flags=("PenaltyOnce",), rival="counting.each-occurrence"),
    Row("three-times-negative", TWO, [-8, 8], [0, 1, 0, 0], [-16, 4],
        ("A negative logit that occurred three times is multiplied once, whatever is between the "
        "occurrences."),
        flags=("PenaltyOnce",), rival="counting.each-occurrence"),
    Row("shifted", TWO, [12, 11], [0], [6, 11],
        "The row of logits plus ten: division is not invariant under a shift, so the repeat is now the less likely one.",
        rival="method.subtract"),
    Row("not-shifted", TWO, [2, 1], [0], [1, 1],
        ("The same row without the ten is levelled: what a division does depends on where zero "
        "is."),
        rival="method.subtract"),
    Row("window-two", {**TWO, "window": 2}, [2, 2, 2], [0, 1, 2], [2, 1, 1],
        "A window of two sees the last two tokens; the first two are what a program takes that counts from the wrong end.",
        flags=("PenaltyWindow",)),
    Row("window-exactly", {**TWO, "window": 3}, [2, 2, 2], [0, 1, 2], [1, 1, 1],
        "A token exactly as far back as the window is long is still seen.",
        flags=("PenaltyWindow",)),
    Row("window-one-short", {**TWO, "window": 3}, [2, 2, 2, 2], [0, 1, 2, 3], [2, 1, 1, 1],
        "A token one further back than the window is long is not seen any more.",
        flags=("PenaltyWindow",)),
    Row("window-longer", {**TWO, "window": 64}, [2, 2, 2], [0, 1], [1, 1, 2],
        "The window is longer than the history; the part that is not there must not be read as zeros, which are token 0.",
        flags=("PenaltyWindow",)),
    Row("window-longer-without-zero", {**TWO, "window": 64}, [2, 2, 2], [1], [2, 1, 2],
        ("A buffer of 64 entries contains one token; the other 63 entries are empty and not "
        "token 0."),
        flags=("PenaltyWindow",)),
    Row("window-none", {**TWO, "window": 0}, [2, 2, 2], [0, 1, 2], [2, 2, 2],
        "A window of no tokens sees nothing; the slice from minus zero on is the whole history in some languages.",
        flags=("PenaltyWindow",)),
    Row("window-repeats", {**TWO, "window": 2}, [2, 2], [1, 0, 0, 0], [1, 2],
        "Occurrences outside the window do not count, and those inside count once together.",
        flags=("PenaltyWindow",)),
    Row("skipped-padding", {**TWO, "skipped": 2}, [2, 2], [0, 0, 1], [2, 1],
        "Two tokens of padding on the left are left out; counting them penalises the padding's token.",
        flags=("PenaltyScope",)),
    Row("skipped-all", {**TWO, "skipped": 3}, [2, 2], [0, 0, 1], [2, 2],
        "All tokens are skipped, so nothing is penalised.",
        flags=("PenaltyScope",)),
    Row("prompt-counts", TWO, [2, 2, 2], [0, 1], [1, 1, 2],
        "The token that occurs in the prompt alone is penalised under the standard scope.",
        prompt=1, flags=("PenaltyScope",), rival="scope.output"),
    Row("output-only", TWO, [2, 2, 2], [0, 1], [2, 1, 2],
        "Only what was generated is penalised; the token of the prompt keeps its logit.",
        {"scope": "output"}, 1, ("PenaltyScope",), "standard"),
    Row("prompt-only", TWO, [2, 2, 2], [0, 1], [1, 2, 2],
        "Only the prompt is penalised, not what was generated.",
        {"scope": "prompt"}, 1, ("PenaltyScope",), "standard"),
    Row("output-of-nothing", TWO, [2, 2], [0, 1], [2, 2],
        "The whole history is the prompt, so nothing was generated and nothing is penalised.",
        {"scope": "output"}, 2, ("PenaltyScope",)),
    Row("in-both", TWO, [2, 2], [0, 0], [1, 2],
        "The token occurs in the prompt and in the output, and is penalised once.",
        prompt=1, flags=("PenaltyScope", "PenaltyOnce"), rival="counting.each-occurrence"),
    Row("as-in-the-paper", TWO, SIGNS, EACH, [2, -2, 0, -0.0, -inf, 1],
        "The rule as the paper has it divides every logit, which brings a negative one closer to zero.",
        {"method": "divide"}, rival="standard"),
    Row("subtracted", TWO, SIGNS, EACH, [2, -6, -2, -2, -inf, 1],
        "The penalty is subtracted, whatever the sign, and minus infinity stays what it is.",
        {"method": "subtract"}, rival="standard"),
    Row("subtracted-not-negative", {"penalty": -1.5}, [2, 2], [0], [3.5, 2],
        "A negative number that is subtracted rewards; as a divisor it would be an error.",
        {"method": "subtract"}),
    Row("each-occurrence", TWO, [8, -1, 3], [2, 0, 1, 0], [2, -2, 1.5],
        "Each occurrence divides or multiplies once more: twice for the token that occurred twice.",
        {"counting": "each occurrence"}, flags=("PenaltyOnce",), rival="standard"),
    Row("each-occurrence-window", {**TWO, "window": 2}, [8, 8], [0, 1, 0, 0], [2, 8],
        "The occurrences in the window compound, the ones before it do not.",
        {"counting": "each occurrence"}, flags=("PenaltyOnce", "PenaltyWindow"), rival="standard"),
    Row("reciprocal", {"penalty": 4.0}, SIGNS, EACH, [1, -16, 0, -0.0, -inf, 1],
        ("Multiplying by one over the penalty gives the same result if that number needs no "
        "rounding."),
        {"arithmetic": "reciprocal"}),
    Row("reciprocal-of-three", {"penalty": 3.0}, [5.0, -5.0, 7.0, 0.3125], [0, 1, 2], None,
        "One over three is rounded before it is multiplied: the last bit may differ from that of a division.",
        {"arithmetic": "reciprocal"}),
    Row("usual", {"penalty": 1.1}, [5.5, -3.25, 0.1, 2.0], [0, 1, 2], None,
        "The penalty 1.1 of many a default; a program that rounds once or twice is as good."),
    Row("usual-strong", {"penalty": 1.3}, [17.25, -8.5, 0.75, 2.0], [3, 0, 1], None,
        "The penalty 1.3 on logits of usual size, with a history that is not sorted."),
    Row("tiny", {"penalty": 2.0**-20}, [2.0**-10, -1.0, 4.0], [0, 1], [1024.0, -(2.0**-20), 4.0],
        "A tiny penalty makes the positive logit huge and the negative one tiny; both are powers of two."),
    Row("into-subnormal", {"penalty": 2.0**20}, [2.0**-120, 1.0], [0], [2.0**-140, 1.0],
        "The quotient is a subnormal number of 32 bits; flushing it to zero loses it.",
        flags=("Subnormal",)),
    Row("f16", TWO, [4, -4, 0.5, 2], [0, 1], [2, -8, 0.5, 2],
        "Logits of 16 bits: the quotient and the product need no rounding there either.",
        dtype="f16", flags=("SixteenBit",)),
    Row("bf16", TWO, [4, -4, 0.5, 2], [0, 1, 1], [2, -8, 0.5, 2],
        "Logits of bfloat16: the quotient and the product need no rounding there either.",
        dtype="bf16", flags=("SixteenBit",)),
    Row("f64", TWO, [4, -4, 0.1, 2], [0, 1, 2], [2, -8, 0.05, 2],
        "Logits of 64 bits keep all of them: half of 0.1 is 0.05 there, to the last bit.",
        dtype="f64"),
    Row("bf16-rounds", {"penalty": 1.25}, [3.0, -3.0, 1.0], [0, 1], None,
        "Three divided by 1.25 needs more digits than bfloat16 has; rounding once or twice is as good.",
        dtype="bf16", flags=("SixteenBit",)),
    Row("f16-rounds", {"penalty": 1.25}, [3.0, -3.0, 1.0], [0, 1], None,
        "Three divided by 1.25 needs more digits than binary16 has; rounding once or twice is as good.",
        dtype="f16", flags=("SixteenBit",)),
    Row("all-impossible", TWO, [-inf, -inf], [0, 1], [-inf, -inf],
        ("A penalty accepts a row without a possible token: nothing changes, and nothing becomes "
        "NaN."),
        flags=("MinusInfinity",)),
    Row("one-token", TWO, [3.0], [0, 0], [1.5],
        "A vocabulary of one token: its only logit is divided once."),
)  # fmt: skip

HALF: Final = {"penalty": 0.5}

FREQUENCIES: Final = (
    Row("counted", HALF, [2, 2, 2], [0, 0, 0, 1], [0.5, 1.5, 2],
        "Each occurrence costs the penalty once: three times, once, not at all."),
    Row("negative-logits", HALF, [-2, -0.0, 0.0], [0, 0, 1, 2], [-3, -0.5, -0.5],
        "What is subtracted does not depend on the logit's sign."),
    Row("impossible", HALF, [-inf, 2], [0, 1], [-inf, 1.5],
        "An impossible token stays impossible, whatever is subtracted.", flags=("MinusInfinity",)),
    Row("reward", {"penalty": -0.5}, [2, 2], [0, 0, 1], [3, 2.5],
        "A negative frequency penalty rewards repetition, once for each occurrence."),
    Row("off", {"penalty": 0.0}, [2, -0.0, 0.0], [0, 1, 2], [2, -0.0, 0.0],
        "A frequency penalty of 0 changes nothing, whatever the history is.", flags=("PenaltyOff",)),
    Row("empty-history", HALF, [2, 2], [], [2, 2],
        "The history is empty, so nothing is counted.", flags=("PenaltyOff",)),
    Row("output-only", {"penalty": 1.0}, [8, 8, 8], [0, 0, 1], [8, 7, 8],
        "By OpenAI's rule, tokens in the prompt are not counted.",
        prompt=2, flags=("PenaltyScope",), rival="scope.all"),
    Row("prompt-counts", {"penalty": 1.0}, [8, 8, 8], [0, 0, 1], [6, 7, 8],
        "In engines that count the prompt, its two occurrences cost twice the penalty.",
        {"scope": "all"}, 2, ("PenaltyScope",), "standard"),
    Row("prompt-only", {"penalty": 1.0}, [8, 8, 8], [0, 0, 1], [6, 8, 8],
        "Only the prompt is counted, not what was generated.",
        {"scope": "prompt"}, 2, ("PenaltyScope",), "standard"),
    Row("output-longer-than-a-window", HALF, [0, 0], [1] * 10 + [0] * 30, [-15, 0],
        "Thirty generated tokens all count; a default window of twenty would count two thirds of them.",
        prompt=10, flags=("PenaltyScope", "PenaltyWindow")),
    Row("window", {**HALF, "window": 3}, [2, 2], [0, 0, 0, 0, 1], [1, 1.5],
        "Two of the four occurrences lie in the window of three and cost once each.",
        flags=("PenaltyWindow",)),
    Row("window-none", {**HALF, "window": 0}, [2, 2], [0, 0, 1], [2, 2],
        "A window of no tokens counts nothing.", flags=("PenaltyWindow",)),
    Row("window-in-output", {**HALF, "window": 3}, [2, 2, 2], [0, 0, 0, 1], [2, 1.5, 2],
        "The window reaches back into the prompt, which the standard scope does not count.",
        prompt=3, flags=("PenaltyWindow", "PenaltyScope"), rival="scope.all"),
    Row("skipped", {"penalty": 1.0, "skipped": 1}, [8, 8, 8], [0, 0, 1], [7, 7, 8],
        "The first token of the prompt is left out, the second one counts.",
        {"scope": "all"}, 2, ("PenaltyScope",)),
    Row("divided", TWO, [8, -8, 8], [0, 0, 1, 1], [2, -2, 8],
        "Dividing by the penalty to the power of the count, as ChatStream does, brings negative logits closer to zero.",
        {"method": "divide"}, rival="standard"),
    Row("one-by-one", {"penalty": 0.1}, [2.0, 2.0], [0] * 7 + [1], None,
        "Seven subtractions round seven times, one product rounds once; both are this rule.",
        {"arithmetic": "one by one"}),
    Row("at-once", {"penalty": 0.1}, [2.0, 2.0], [0] * 7 + [1], None,
        "The product of the penalty and the count is subtracted at once."),
    Row("ends", HALF, [1, 1, 1, 1], [3, 0, 3], [0.5, 1, 1, 0],
        "The first and the last token of the vocabulary are counted like all others."),
    Row("many", {"penalty": 0.25}, [0, 1], [0] * 200, [-50, 1],
        "Two hundred occurrences cost two hundred times; a count in eight bits with a sign turns at 128."),
    Row("very-many", {"penalty": 0.25}, [0, 1], [0] * 300, [-75, 1],
        "Three hundred occurrences cost three hundred times; a count in eight bits begins anew at 256."),
    Row("bf16", HALF, [2, -2, 1], [0, 0, 1], [1, -2.5, 1],
        "Frequency on logits of bfloat16, where nothing is rounded.", dtype="bf16",
        flags=("SixteenBit",)),
    Row("f16", HALF, [2, -2, 1], [0, 0, 1], [1, -2.5, 1],
        "Frequency on logits of binary16, where nothing is rounded.", dtype="f16",
        flags=("SixteenBit",)),
)  # fmt: skip

PRESENCES: Final = (
    Row("once", HALF, [2, 2, 2], [0, 0, 0, 1], [1.5, 1.5, 2],
        "Having occurred at all costs the penalty, once, however often it was."),
    Row("negative-logits", HALF, [-2, -0.0, 0.0], [0, 0, 1, 2], [-2.5, -0.5, -0.5],
        "The presence penalty does not look at the logit's sign."),
    Row("impossible", HALF, [-inf, 2], [0, 1], [-inf, 1.5],
        "An impossible token stays impossible under a presence penalty.", flags=("MinusInfinity",)),
    Row("reward", {"penalty": -0.5}, [2, 2], [0, 0], [2.5, 2],
        "A negative presence penalty rewards what was there, once."),
    Row("off", {"penalty": 0.0}, [2, -0.0, 0.0], [0, 1, 2], [2, -0.0, 0.0],
        "A presence penalty of 0 changes nothing, whatever the history is.", flags=("PenaltyOff",)),
    Row("empty-history", HALF, [2, 2], [], [2, 2],
        "The history is empty, so no token has been present.", flags=("PenaltyOff",)),
    Row("output-only", {"penalty": 1.0}, [8, 8, 8], [0, 0, 1], [8, 7, 8],
        "By OpenAI's rule, presence in the prompt does not count.",
        prompt=2, flags=("PenaltyScope",), rival="scope.all"),
    Row("prompt-counts", {"penalty": 1.0}, [8, 8, 8], [0, 0, 1], [7, 7, 8],
        "In engines that include the prompt, a token there is penalised once.",
        {"scope": "all"}, 2, ("PenaltyScope",), "standard"),
    Row("prompt-only", {"penalty": 1.0}, [8, 8, 8], [0, 0, 1], [7, 8, 8],
        "Only presence in the prompt costs, not what was generated.",
        {"scope": "prompt"}, 2, ("PenaltyScope",), "standard"),
    Row("window", {**HALF, "window": 2}, [2, 2, 2], [0, 0, 1, 2], [2, 1.5, 1.5],
        "Tokens before the window do not count as present.", flags=("PenaltyWindow",)),
    Row("skipped", {"penalty": 1.0, "skipped": 2}, [8, 8, 8], [0, 0, 1], [8, 7, 8],
        "Both tokens of the prompt are left out, what was generated is not.",
        {"scope": "all"}, 2, ("PenaltyScope",)),
    Row("skipped-more-than-prompt", {"penalty": 1.0, "skipped": 3}, [8, 8, 8], [0, 0, 1], [8, 7, 8],
        "More tokens are to be left out than the prompt has: what was generated still counts.",
        {"scope": "all"}, 2, ("PenaltyScope",)),
    Row("argument-shift", HALF, [1, 0], [0], [0.5, 0],
        "Nothing is skipped; a call that shifts its arguments takes the prompt's length for the tokens to skip.",
        {"scope": "all"}, 1, ("PenaltyScope",)),
    Row("divided", TWO, [8, -8, 8], [0, 0, 1, 1], [4, -4, 8],
        "Dividing once, as ChatStream does, brings a negative logit closer to zero.",
        {"method": "divide"}, rival="standard"),
    Row("ends", HALF, [1, 1, 1, 1], [3, 0, 3], [0.5, 1, 1, 0.5],
        "The first and the last token of the vocabulary can be present like all others."),
    Row("bf16", HALF, [2, -2, 1], [0, 0, 1], [1.5, -2.5, 1],
        "Presence on logits of bfloat16, where nothing is rounded.", dtype="bf16",
        flags=("SixteenBit",)),
)  # fmt: skip

ALL_THREE: Final = {"repetition": 2.0, "frequency": 1.0, "presence": 0.5, "window": None}
SOME: Final = [0, 0, 1]

TOGETHERS: Final = (
    Row("repetition-first", ALL_THREE, [2, -2, 5], SOME, [-1.5, -5.5, 5],
        "The division is done before the subtraction, so the sign is still the model's."),
    Row("repetition-last", ALL_THREE, [2, -2, 5], SOME, [-1, -7, 5],
        ("The subtraction is done before the division, which then multiplies logits that have "
        "become negative."),
        {"order": "repetition last"}, rival="standard"),
    Row("sign-turns", {"repetition": 2.0, "frequency": 2.0, "window": None}, [1, 0], [0], [-2, 0],
        "Subtracting first turns the sign, and the division becomes a multiplication.",
        {"order": "repetition last"}, rival="standard"),
    Row("sign-stays", {"repetition": 2.0, "frequency": 2.0, "window": None}, [1, 0], [0], [-1.5, 0],
        "Dividing first leaves half of 1, from which 2 is taken."),
    Row("no-sign-turns", {"repetition": 2.0, "frequency": 1.0, "window": None}, [2, 0], [0], [0, 0],
        "Half of 2 less 1 is 0; the other order gives a half."),
    Row("no-sign-turns-last", {"repetition": 2.0, "frequency": 1.0, "window": None}, [2, 0], [0], [0.5, 0],
        "Half of what is left of 2 after 1 is taken is a half; the other order gives 0.",
        {"order": "repetition last"}, rival="standard"),
    Row("window", {**ALL_THREE, "window": 2}, [2, 2, 2], [0, 1, 1], [2, -1.5, 2],
        "All three look at the same window, which token 0 has left.", flags=("PenaltyWindow",)),
    Row("default-window", {"repetition": 2.0}, [2, 2], [0] + [1] * 64, [2, 1],
        "The default window contains 64 tokens, and token 0 is the sixty-fifth.",
        flags=("PenaltyWindow",)),
    Row("default-window-edge", {"repetition": 2.0}, [2, 2], [0] + [1] * 63, [1, 1],
        "The oldest of 64 tokens is within the default window of 64.",
        flags=("PenaltyWindow",)),
    Row("window-none", {**ALL_THREE, "window": 0}, [2, -2, 5], SOME, [2, -2, 5],
        "A window of no tokens switches all three off.", flags=("PenaltyWindow", "PenaltyOff")),
    Row("additive-sees-output", ALL_THREE, [2, 2, 5], [0, 1], [1, -0.5, 5],
        "The subtractions look at the output only and the division at everything.",
        {"additive_scope": "output"}, 1, ("PenaltyScope",), "standard"),
    Row("additive-sees-all", ALL_THREE, [2, 2, 5], [0, 1], [-0.5, -0.5, 5],
        "All three look at the prompt as well.", {}, 1, ("PenaltyScope",), "additive-scope.output"),
    Row("all-off", {"repetition": 1.0, "frequency": 0.0, "presence": 0.0}, SIGNS, EACH, SIGNS,
        "Three penalties at their neutral values change no bit.", flags=("PenaltyOff",)),
    Row("presence-and-frequency", {"frequency": 0.5, "presence": 0.25}, [2, 2, 2], SOME, [0.75, 1.25, 2],
        "Frequency counts twice and presence once for the token that occurred twice."),
    Row("usual", {"repetition": 1.1, "frequency": 0.2, "presence": 0.1}, [9.5, -3.5, 6.0], SOME, None,
        "Usual values of all three; each operation may be rounded or all of them once."),
    Row("impossible", ALL_THREE, [-inf, 2], [0, 0], [-inf, 2],
        "An impossible token stays impossible under all three.", flags=("MinusInfinity",)),
)  # fmt: skip

TABLES: Final = (
    ("repetition_penalty", REPETITION, REPETITIONS),
    ("frequency_penalty", FREQUENCY, FREQUENCIES),
    ("presence_penalty", PRESENCE, PRESENCES),
    ("penalties", TOGETHER, TOGETHERS),
)


def _penalties_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for op, topic, rows in TABLES:
        yield from tabled(op, topic, rows)
    yield from _every_rule()


def _every_rule() -> Iterator[SamplerDraft]:
    """Yield one question for every rule of the four steps: each may be asked for by its name."""
    logits, history = [8.0, -8.0, 6.0, 1.0], [0, 2, 0, 1, 2]
    for op, topic, _ in TABLES:
        params = ALL_THREE if op == "penalties" else TWO
        for name in rule_names(op):
            yield topic.case(
                op,
                f"rule.{name}",
                name,
                row_request(logits, history, prompt_length=2, **params),
                f"{op} by the rule {name}: signs, repeats and the prompt's end in one row.",
                flags=("PenaltyScope",),
            )


# ---- penalties that fade with distance

TOPIC: Final = Topic("fading", ("PenaltyFading",), "docs/engines.md#decaying_penalties")

FOURS: Final = [4.0, 4.0, 4.0, 4.0]
TWO_FADING: Final = {"repetition": 2.0}
PAST: Final = [3, 2, 1, 0]

ROWS: Final = (
    Row("no-decay", TWO_FADING, FOURS, PAST, [2, 2, 2, 2],
        "Without ranges the whole history is penalised at full strength."),
    Row("signs", TWO_FADING, [4, -4, 0.0, -0.0, -inf], [0, 1, 2, 3, 4], [2, -8, 0.0, -0.0, -inf],
        "A fading penalty divides positive logits and multiplies negative ones, as the plain one does.",
        flags=("PenaltySign",)),
    Row("sustain", {**TWO_FADING, "sustain": 2}, FOURS, PAST, [2, 2, 4, 4],
        "Only the newest two tokens are penalised; there is no decay beyond them."),
    Row("sustain-excluded", {**TWO_FADING, "sustain": 2}, FOURS, PAST, [2, 4, 4, 4],
        "Where the oldest of the range is excluded, a range of two covers one token.",
        {"last": "excluded"}, rival="standard"),
    Row("sustain-one-excluded", {**TWO_FADING, "sustain": 1}, FOURS, PAST, FOURS,
        "If the oldest token of the range is excluded, a range of one covers nothing.",
        {"last": "excluded"}, rival="standard"),
    Row("sustain-none", {**TWO_FADING, "sustain": 0}, FOURS, PAST, FOURS,
        "A range of no tokens penalises nothing.", flags=("PenaltyOff",)),
    Row("presence-late", {"presence": 1.0, "sustain": 1, "decay": 2}, [2, 2, 2, 2], PAST, [1, 1, 1.5, 2],
        "The line begins after the first fading token: full, full, half, nothing."),
    Row("presence-early", {"presence": 1.0, "sustain": 1, "decay": 2}, [2, 2, 2, 2], PAST, [1, 1.5, 2, 2],
        "The line begins with the first fading token: full, half, nothing.",
        {"line": "early"}, rival="standard"),
    Row("presence-decay-four", {"presence": 1.0, "sustain": 4, "decay": 4}, [2] * 10, list(range(10)),
        [2, 2, 1.75, 1.5, 1.25, 1, 1, 1, 1, 1],
        "Ten tokens, four at full strength and four fading by quarters."),
    Row("presence-decay-four-early", {"presence": 1.0, "sustain": 4, "decay": 4}, [2] * 10, list(range(10)),
        [2, 2, 2, 1.75, 1.5, 1.25, 1, 1, 1, 1],
        "The same ranges with the early line: one token fewer is penalised.",
        {"line": "early"}, rival="standard"),
    Row("result-fades", {**TWO_FADING, "sustain": 1, "decay": 2}, FOURS, PAST, [2, 2, 3, 4],
        "The result fades: halfway between 2 and 4 is 3.",
        {"fading": "result"}, rival="standard"),
    Row("penalty-fades", {"repetition": 3.0, "sustain": 1, "decay": 2}, FOURS, PAST, None,
        "The penalty fades: halfway between 3 and 1 is 2, and 4 divided by that is 2."),
    Row("negative-result-fades", {**TWO_FADING, "sustain": 1, "decay": 2}, [-4, -4, -4, -4], PAST, [-8, -8, -6, -4],
        "Halfway between a negative logit and twice that.", {"fading": "result"}, rival=""),
    Row("frequency", {"frequency": 0.5}, [2, 2], [0, 0, 0, 1], [0.5, 1.5],
        "Each occurrence costs its own share, all at full strength here.", flags=("PenaltyCount",)),
    Row("frequency-fades", {"frequency": 1.0, "sustain": 1, "decay": 2}, [4, 4], [0, 0, 0, 0], [1.5, 4],
        "Each of four occurrences costs what is left of the penalty at its distance: 1, 1, a half and nothing.",
        flags=("PenaltyCount",)),
    Row("newest-counts", {**TWO_FADING, "sustain": 1, "decay": 2}, [4, 4, 4], [0, 1, 0], None,
        ("The newest occurrence decides the strength: token 0 has full strength although it also "
        "occurred earlier.")),
    Row("presence-newest", {"presence": 1.0, "sustain": 1, "decay": 2}, [4, 4, 4], [0, 1, 2, 0], [3, 3.5, 3],
        "Presence is charged once, at the strength of the newest occurrence.", flags=("PenaltyOnce",)),
    Row("all-three", {"repetition": 2.0, "frequency": 0.5, "presence": 0.25}, [4, -4, 4], [0, 0, 1], [0.75, -8.75, 4],
        "Division first, then presence, then each occurrence.", flags=("PenaltyOrder",)),
    Row("empty-history", {**TWO_FADING, "sustain": 2, "decay": 2}, FOURS, [], FOURS,
        "The history is empty, so nothing fades.", flags=("PenaltyOff",)),
    Row("neutral", {"sustain": 2, "decay": 2}, [4, -0.0], [0, 1], [4, -0.0],
        "Neutral penalties change no bit, at any distance.", flags=("PenaltyOff",)),
    Row("longer-than-history", {**TWO_FADING, "sustain": 100, "decay": 100}, [4, 4], [0], [2, 4],
        "Both ranges are longer than the history."),
    Row("usual", {"repetition": 1.15, "sustain": 2, "decay": 3}, [9.5, -3.25, 6.0, 4.0, 2.0, 1.0], [5, 4, 3, 2, 1, 0], None,
        "A usual penalty that fades over three tokens, with roundings at every step or once."),
    Row("bf16", {"presence": 0.5}, [2, -2, 1], [0, 1], [1.5, -2.5, 1],
        "A fading penalty on logits of bfloat16.", dtype="bf16", flags=("SixteenBit",)),
)  # fmt: skip


def _fading_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from tabled("decaying_penalties", TOPIC, ROWS)
    params = {"repetition": 2.0, "frequency": 0.5, "presence": 0.25, "sustain": 1, "decay": 2}
    for name in rule_names("decaying_penalties"):
        yield TOPIC.case(
            "decaying_penalties",
            f"rule.{name}",
            name,
            row_request([6.0, -6.0, 6.0, 6.0, 6.0], [4, 3, 2, 0, 1, 0], **params),
            f"Repetition, frequency and presence that fade, by the rule {name}.",
        )
    for name in rule_names("decaying_penalties"):
        yield TOPIC.case(
            "decaying_penalties",
            f"rule-without-decay.{name}",
            name,
            row_request([6.0, 6.0, 6.0, 6.0], [3, 2, 1, 0], repetition=2.0, sustain=3),
            f"Whether the third token back is in a range of three without a decay, by the rule {name}.",
        )
