"""Biases and bans by their rules: single tokens, sequences, bad words, n-grams, allowed tokens."""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator
from math import inf
from typing import Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.row_draft import Row, Topic, tabled

BIAS: Final = Topic("biases", ("LogitBias",), "docs/engines.md#logit_bias")
SEQUENCE: Final = Topic("biases", ("SequenceBias",), "docs/engines.md#sequence_bias")
WORDS: Final = Topic("biases", ("SequenceBias",), "docs/engines.md#bad_words")
NGRAM: Final = Topic("ngrams", ("NGramBan",), "docs/engines.md#no_repeat_ngram")
OF_ENCODER: Final = Topic("ngrams", ("NGramBan",), "docs/engines.md#encoder_no_repeat_ngram")
REWARD: Final = Topic("encoder", ("PenaltySign",), "docs/engines.md#encoder_repetition")
MASK: Final = Topic("masks", ("TokenMask",), "docs/engines.md#suppress")
ALLOW: Final = Topic("masks", ("TokenMask",), "docs/engines.md#allowed_tokens")
PREFIX: Final = Topic("masks", ("TokenMask",), "docs/engines.md#prefix_allowed_tokens")
INVALID: Final = Topic("masks", ("MinusInfinity",), "docs/engines.md#remove_invalid_values")

LEAST: Final = -(2.0**128 - 2.0**104)
ONES: Final = [1.0, 1.0, 1.0, 1.0]

BIASES: Final = (
    Row("added", {"biases": {1: 0.5, 3: -2.0}}, [1, -1, 0, 1], [], [1, -0.5, 0, -1],
        "A bias is added to its token's logit; a negative one makes it less likely."),
    Row("hundred", {"biases": {0: 100.0, 1: -100.0}}, ONES, [], [101, -99, 1, 1],
        "A bias of 100 is added like any other: it neither bans nor forces the token."),
    Row("minus-infinity", {"biases": {2: -inf}}, ONES, [], [1, 1, -inf, 1],
        "A bias of minus infinity bans the token.", flags=("MinusInfinity",)),
    Row("on-impossible", {"biases": {0: 100.0}}, [-inf, 1], [], [-inf, 1],
        "No bias brings an impossible token back.", flags=("MinusInfinity",)),
    Row("minus-infinity-twice", {"biases": {0: -inf}}, [-inf, 1], [], [-inf, 1],
        "Minus infinity less infinity is minus infinity, and no NaN.", flags=("MinusInfinity",)),
    Row("nothing", {"biases": {}}, [1, -0.0], [], [1, -0.0], "Without biases no bit of the row changes.",
        flags=("PenaltyOff",)),
    Row("all-banned", {"biases": {0: -inf, 1: -inf}}, [1, 1], [], [-inf, -inf],
        "Nothing keeps a token possible: all may be banned by biases.", flags=("MinusInfinity",)),
    Row("ends", {"biases": {0: 1.0, 3: 1.0}}, ONES, [], [2, 1, 1, 2],
        "The first and the last token of the vocabulary get their biases."),
    Row("limit", {"biases": {0: 150.0, 1: -150.0, 2: 100.0}, "limit": 100.0}, ONES, [], [101, -99, 101, 1],
        "Biases are clamped to a limit before they are added."),
    Row("cancels", {"biases": {0: -1.5}}, [1.5, 1], [], [0, 1],
        "A bias that takes a logit to zero leaves zero, without a sign."),
    Row("rounds", {"biases": {0: 0.1, 1: 1e-9}}, [0.7, 1.0], [], None,
        "A sum that needs rounding, and a bias that is too small to change the logit."),
    Row("bf16", {"biases": {0: 0.5}}, [1.0, 2.0], [], [1.5, 2], "A bias on logits of bfloat16.",
        dtype="bf16", flags=("SixteenBit",)),
    Row("history-does-not-count", {"biases": {0: 1.0}}, [1, 1], [0, 0, 0], [2, 1],
        "A bias is added once, however often the token occurred.", flags=("PenaltyOnce",)),
)  # fmt: skip


def _pairs(*pairs: tuple[list[int], float]) -> dict[str, object]:
    """Return biases of sequences: a map whose keys are sequences."""
    return {"biases": {tuple(tokens): bias for tokens, bias in pairs}}


SEQUENCES: Final = (
    Row("single", _pairs(([1], 0.5)), ONES, [], [1, 1.5, 1, 1],
        "A sequence of one token always gets its bias, even at the very beginning."),
    Row("completes", _pairs(([0, 1, 2], 2.0)), ONES, [3, 0, 1], [1, 1, 3, 1],
        "The history ends with all but the last token of the sequence, which gets the bias."),
    Row("does-not-complete", _pairs(([0, 1, 2], 2.0)), ONES, [0, 1, 3], ONES,
        "The start of the sequence occurred, but not at the end of the history."),
    Row("partly", _pairs(([0, 1, 2], 2.0)), ONES, [3, 0], ONES,
        ("Only the first token of the sequence occurred, so nothing is biased yet, not even its "
        "second token.")),
    Row("short-history", _pairs(([0, 1, 2], 2.0)), ONES, [1], ONES,
        ("The sequence is longer than the history; the comparison must not begin before the "
        "history.")),
    Row("history-just-long-enough", _pairs(([0, 1], 2.0)), ONES, [0], [1, 3, 1, 1],
        "The whole history is the start of the sequence."),
    Row("added-up", _pairs(([2], 0.5), ([1, 2], 0.25), ([0, 1, 2], 1.0)), ONES, [0, 1], [1, 1, 2.75, 1],
        "Three sequences end with one token, and all their biases are added."),
    Row("ban", _pairs(([0, 1], -inf)), ONES, [0], [1, -inf, 1, 1],
        "A bias of minus infinity bans the completion.", flags=("MinusInfinity",)),
    Row("in-the-prompt", _pairs(([0, 1], 2.0)), ONES, [0], [1, 3, 1, 1],
        "The sequence may begin in the prompt.", prompt=1, flags=("PenaltyScope",)),
    Row("repeated-token", _pairs(([0, 0], 2.0)), ONES, [0, 0], [3, 1, 1, 1],
        "A sequence of the same token twice, after that token occurred twice."),
    Row("impossible", _pairs(([0], 5.0)), [-inf, 1], [], [-inf, 1],
        "A sequence's bias brings no impossible token back.", flags=("MinusInfinity",)),
)  # fmt: skip

BAD: Final = (
    Row("single", {"words": [[1]]}, ONES, [], [1, -inf, 1, 1],
        "A bad word of one token is banned at once."),
    Row("completes", {"words": [[0, 1, 2]]}, ONES, [0, 1], [1, 1, -inf, 1],
        "The last token of a bad word is banned if the rest precedes it."),
    Row("one-token-late", {"words": [[0, 1, 2]]}, ONES, [0, 1, 3], ONES,
        "One token later the bad word cannot be completed any more; a history without its newest token would ban here."),
    Row("not-yet", {"words": [[0, 1, 2]]}, ONES, [0], ONES,
        "The bad word is begun only; its second token stays possible."),
    Row("short-history", {"words": [[0, 1, 2]]}, ONES, [], ONES,
        "A bad word is longer than the history."),
    Row("across-the-prompt", {"words": [[0, 1, 2]]}, ONES, [0, 1], [1, 1, -inf, 1],
        "A bad word that begins in the prompt is banned by the standard rule.", prompt=1,
        flags=("PenaltyScope",), rival="scope.output"),
    Row("output-only", {"words": [[0, 1, 2]]}, ONES, [0, 1], ONES,
        "A bad word that begins in the prompt is allowed if only the output counts.",
        {"scope": "output"}, 1, ("PenaltyScope",), "standard"),
    Row("output-only-completes", {"words": [[0, 1, 2]]}, ONES, [3, 0, 1], [1, 1, -inf, 1],
        "A bad word in the output is banned if only the output counts.",
        {"scope": "output"}, 1, ("PenaltyScope",)),
    Row("the-end-stays", {"words": [[3], [1]], "ends": [3]}, ONES, [], [1, -inf, 1, 1],
        "A bad word that is just the end token is ignored, so that a text can end."),
    Row("the-end-in-a-longer-word", {"words": [[0, 3]], "ends": [3]}, ONES, [0], [1, 1, 1, -inf],
        "A longer bad word with the end of text in it counts."),
    Row("all-banned", {"words": [[0], [1], [2], [3]]}, ONES, [], [-inf] * 4,
        "Every token is a bad word: the row has no possible token, and that is its answer.",
        flags=("MinusInfinity",)),
    Row("several", {"words": [[0, 1], [2], [0, 2, 3]]}, ONES, [3, 0], [1, -inf, -inf, 1],
        "Several bad words, of which two are completed by a token each."),
)  # fmt: skip

TWO_GRAMS: Final = {"ngram_size": 2}

NGRAMS: Final = (
    Row("two", TWO_GRAMS, ONES, [0, 1, 0], [1, -inf, 1, 1],
        "A 1 followed a 0, so no 1 may follow a 0 again."),
    Row("three", {"ngram_size": 3}, ONES, [0, 1, 2, 0, 1], [1, 1, -inf, 1],
        "The last two tokens occurred before, and the token that followed them is banned."),
    Row("three-not-yet", {"ngram_size": 3}, ONES, [0, 1, 2, 1], ONES,
        "Only one of the last two tokens is the same as before, so nothing is banned."),
    Row("one", {"ngram_size": 1}, ONES, [0, 2], [-inf, 1, -inf, 1],
        "With a size of one, no token may occur twice."),
    Row("one-empty", {"ngram_size": 1}, ONES, [], ONES,
        "With a size of one and an empty history, nothing is banned.", flags=("PenaltyOff",)),
    Row("history-shorter", {"ngram_size": 4}, ONES, [0, 1], ONES,
        "The history is shorter than the n-gram; counting from its end must not begin before it."),
    Row("history-one-short", {"ngram_size": 3}, ONES, [0, 1], ONES,
        "With the next token the history has one n-gram, which occurs once."),
    Row("history-one-short-equal", {"ngram_size": 3}, ONES, [1, 1], ONES,
        "Two equal tokens are no n-gram of three, and so none is repeated."),
    Row("history-exactly", {"ngram_size": 2}, ONES, [0, 0], [-inf, 1, 1, 1],
        "The only n-gram of the history overlaps with the next one."),
    Row("several", TWO_GRAMS, ONES, [0, 1, 0, 2, 0], [1, -inf, -inf, 1],
        "Two different tokens followed the last one before, and both are banned."),
    Row("all", TWO_GRAMS, [1.0, 1.0], [0, 0, 1, 0], [-inf, -inf],
        "Every possible continuation has occurred: no token is left.", flags=("MinusInfinity",)),
    Row("in-the-prompt", TWO_GRAMS, ONES, [0, 1, 0], [1, -inf, 1, 1],
        "The prompt's n-grams count like those of the output.", prompt=3, flags=("PenaltyScope",)),
    Row("longer-than-once", {"ngram_size": 3}, ONES, [0, 1, 2, 0, 1, 3, 0, 1], [1, 1, -inf, -inf],
        "The last two tokens occurred twice, with different continuations."),
    Row("negative-logits", TWO_GRAMS, [-1, -2, -inf], [0, 1, 0], [-1, -inf, -inf],
        "A ban is minus infinity, whatever the logits are."),
)  # fmt: skip

ENCODERS: Final = (
    Row("two", {"ngram_size": 2, "encoder_input": [0, 1, 2]}, ONES, [0], [1, -inf, 1, 1],
        "A pair of the encoder's input may not be repeated by the output."),
    Row("not-from-the-history", {"ngram_size": 2, "encoder_input": [2, 3]}, ONES, [0, 1, 0], ONES,
        "The history's own n-grams are not banned here, only the encoder's."),
    Row("three", {"ngram_size": 3, "encoder_input": [0, 1, 2, 3]}, ONES, [3, 1, 2], [1, 1, 1, -inf],
        "The last two tokens occur in the encoder's input, followed by 3."),
    Row("prompt-is-input", {"ngram_size": 2}, ONES, [0, 1, 0], [1, -inf, 1, 1],
        "Without an encoder input, the prompt is used.", prompt=2),
    Row("input-too-short", {"ngram_size": 3, "encoder_input": [0, 1]}, ONES, [0, 1], ONES,
        "The encoder's input is shorter than the n-gram."),
    Row("one", {"ngram_size": 1, "encoder_input": [0, 2]}, ONES, [], [-inf, 1, -inf, 1],
        "With a size of one, no token of the encoder's input may occur."),
)  # fmt: skip

REWARDS: Final = (
    Row("rewarded", {"penalty": 2.0, "encoder_input": [0, 1]}, [1, -1, 1], [], [2, -0.5, 1],
        "Tokens of the encoder's input become likelier: the reciprocal of the penalty is applied."),
    Row("once", {"penalty": 2.0, "encoder_input": [0, 0, 0]}, [1, 1], [], [2, 1],
        "Each token of the encoder's input is rewarded once.", flags=("PenaltyOnce",)),
    Row("below-one", {"penalty": 0.5, "encoder_input": [0, 1]}, [1, -1, 1], [], [0.5, -2, 1],
        "Below 1 the reward is a penalty."),
    Row("off", {"penalty": 1.0, "encoder_input": [0, 1]}, [1, -0.0], [], [1, -0.0],
        "A penalty of 1 does not change the encoder's tokens.", flags=("PenaltyOff",)),
    Row("prompt-is-input", {"penalty": 2.0}, [1, 1, 1], [0, 1], [2, 1, 1],
        "Without an encoder input, the tokens of the prompt are rewarded.", prompt=1),
    Row("not-the-history", {"penalty": 2.0, "encoder_input": [2]}, [1, 1, 1], [0, 1], [1, 1, 2],
        "The history is not the encoder's input."),
)  # fmt: skip

SUPPRESSED: Final = (
    Row("some", {"tokens": [0, 2]}, ONES, [], [-inf, 1, -inf, 1],
        "Suppressed tokens become impossible, the first of the vocabulary included."),
    Row("last", {"tokens": [3]}, ONES, [], [1, 1, 1, -inf],
        "The last token of the vocabulary can be suppressed."),
    Row("none", {"tokens": []}, ONES, [], ONES, "Nothing is suppressed by an empty list."),
    Row("twice", {"tokens": [1, 1]}, ONES, [], [1, -inf, 1, 1],
        "A token that is listed twice is impossible and does not become NaN."),
    Row("all", {"tokens": [0, 1, 2, 3]}, ONES, [], [-inf] * 4,
        "All tokens may be suppressed; what to do then is not this step's business.",
        flags=("MinusInfinity",)),
    Row("impossible-already", {"tokens": [0]}, [-inf, 1], [], [-inf, 1],
        "Suppressing an impossible token leaves it impossible.", flags=("MinusInfinity",)),
)  # fmt: skip

ALLOWED: Final = (
    Row("some", {"tokens": [1, 3]}, ONES, [], [-inf, 1, -inf, 1],
        "Only what is listed stays possible."),
    Row("all", {"tokens": [0, 1, 2, 3]}, ONES, [], ONES, ("All tokens are listed, so nothing "
                                                         "changes.")),
    Row("impossible-stays", {"tokens": [0, 1]}, [-inf, 1, 1], [], [-inf, 1, -inf],
        "Being allowed makes no impossible token possible.", flags=("MinusInfinity",)),
    Row("logits-stay", {"tokens": [1]}, [5, -3, 9], [], [-inf, -3, -inf],
        "The allowed token keeps its logit, however unlikely it is."),
)  # fmt: skip


def _after(*pairs: tuple[list[int], list[int]]) -> dict[str, object]:
    """Return what may follow some histories, as a map."""
    return {"allowed_after": {tuple(history): allowed for history, allowed in pairs}}


PREFIXES: Final = (
    Row("by-history", _after(([0], [1, 2]), ([0, 1], [3])), ONES, [0, 1], [-inf, -inf, -inf, 1],
        "What may follow depends on the whole history, not on its first token."),
    Row("at-the-beginning", _after(([], [2]), ([0], [1])), ONES, [], [-inf, -inf, 1, -inf],
        "The function is also called with an empty history."),
    Row("logits-stay", _after(([1], [0, 3])), [4, 3, 2, -1], [1], [4, -inf, -inf, -1],
        "Allowed tokens keep their logits."),
    Row("forced", _after(([1], [0, 3])), [-inf, 3, 2, -inf], [1], [0, -inf, -inf, 0],
        "Every allowed token was impossible: by the standard rule each gets the logit 0.",
        flags=("MinusInfinity",), rival="when-none.leave"),
    Row("left", _after(([1], [0, 3])), [-inf, 3, 2, -inf], [1], [-inf] * 4,
        "Every allowed token was impossible, and is left so: the row has no possible token.",
        {"when_none": "leave"}, 0, ("MinusInfinity",), "standard"),
    Row("one-is-possible", _after(([1], [0, 3])), [-inf, 3, 2, 5], [1], [-inf, -inf, -inf, 5],
        "One allowed token is possible, so that the others stay impossible.",
        flags=("MinusInfinity",)),
)  # fmt: skip

INVALIDS: Final = (
    Row("impossible", {}, [-inf, 0.0, 5.0], [], [LEAST, 0, 5],
        ("Minus infinity becomes the smallest number of 32 bits, so the token is no longer "
        "banned.")),
    Row("nothing", {}, [1.0, -0.0], [], [1, -0.0], "A row of ordinary numbers is left as it is."),
    Row("all", {}, [-inf, -inf], [], [LEAST, LEAST], "A row without a possible token becomes even."),
    Row("other-largest", {"largest": 65504.0}, [-inf, 1.0], [], [-65504, 1],
        "The largest number is that of the type: here that of binary16.", flags=("SixteenBit",)),
)  # fmt: skip

TABLES: Final = (
    ("logit_bias", BIAS, BIASES),
    ("sequence_bias", SEQUENCE, SEQUENCES),
    ("bad_words", WORDS, BAD),
    ("no_repeat_ngram", NGRAM, NGRAMS),
    ("encoder_no_repeat_ngram", OF_ENCODER, ENCODERS),
    ("encoder_repetition", REWARD, REWARDS),
    ("suppress", MASK, SUPPRESSED),
    ("allowed_tokens", ALLOW, ALLOWED),
    ("prefix_allowed_tokens", PREFIX, PREFIXES),
    ("remove_invalid_values", INVALID, INVALIDS),
)


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for op, topic, rows in TABLES:
        yield from tabled(op, topic, rows)
