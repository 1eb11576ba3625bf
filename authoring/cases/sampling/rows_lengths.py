"""Steps that depend on how long the text is: its least length, its forced ends, its decay."""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator
from math import inf
from typing import Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.row_draft import Row, Topic, tabled

LEAST: Final = Topic("lengths", ("LeastLength",), "docs/engines.md#min_length")
NEW: Final = Topic("lengths", ("LeastLength",), "docs/engines.md#min_new_tokens")
FIRST: Final = Topic("lengths", ("ForcedToken",), "docs/engines.md#forced_bos")
LAST: Final = Topic("lengths", ("ForcedToken",), "docs/engines.md#forced_eos")
BEGIN: Final = Topic("lengths", ("TokenMask",), "docs/engines.md#begin_suppress")
DECAY: Final = Topic("lengths", ("LengthDecay",), "docs/engines.md#exponential_decay_length")

ONES: Final = [1.0, 1.0, 1.0]
NO_END: Final = [-inf, 1, 1]

LEASTS: Final = (
    Row("below", {"length": 3, "ends": 0}, ONES, [1, 1], NO_END,
        "Two tokens of three: the text must not end yet."),
    Row("reached", {"length": 3, "ends": 0}, ONES, [1, 1, 1], ONES,
        "Exactly the least length is reached, and the text may end; one token too long is the usual mistake."),
    Row("beyond", {"length": 3, "ends": 0}, ONES, [1, 1, 1, 1], ONES,
        "The least length was passed long ago."),
    Row("empty", {"length": 1, "ends": 0}, ONES, [], NO_END,
        "The history is empty, and the minimum is one token."),
    Row("zero", {"length": 0, "ends": 0}, ONES, [], ONES,
        "A minimum length of zero bans nothing.", flags=("PenaltyOff",)),
    Row("several-ends", {"length": 3, "ends": [0, 2]}, ONES, [1], [-inf, 1, -inf],
        "All tokens that end a text are forbidden, not only the first of them."),
    Row("prompt-counts", {"length": 3, "ends": 0}, ONES, [1, 1, 1], ONES,
        "The prompt counts for the length of the sequence.", prompt=2, flags=("PenaltyScope",)),
)  # fmt: skip

NEWS: Final = (
    Row("below", {"count": 2, "ends": 0}, ONES, [1, 1], NO_END,
        "One token follows the prompt, and two are the least.", prompt=1),
    Row("reached", {"count": 2, "ends": 0}, ONES, [1, 1, 1], ONES,
        "Exactly two tokens follow the prompt, and the text may end.", prompt=1),
    Row("prompt-does-not-count", {"count": 2, "ends": 0}, ONES, [1, 1, 1], NO_END,
        "Three tokens, all in the prompt: there are no new tokens yet.", prompt=3,
        flags=("PenaltyScope",)),
    Row("zero", {"count": 0, "ends": 0}, ONES, [1], ONES,
        "No new tokens are required.", prompt=1, flags=("PenaltyOff",)),
    Row("several-ends", {"count": 1, "ends": [0, 1]}, ONES, [2], [-inf, -inf, 1],
        "All ends are forbidden until the count is reached.", prompt=1),
)  # fmt: skip

FIRSTS: Final = (
    Row("first", {"token": 1}, ONES, [2], [-inf, 0, -inf],
        "The text has one token, so that the next one is forced: logit 0, all others impossible."),
    Row("not-first", {"token": 1}, ONES, [2, 2], ONES,
        "The text has two tokens; the forced place has passed."),
    Row("impossible", {"token": 1}, [1, -inf, 1], [2], [-inf, 0, -inf],
        "The forced token becomes possible even if it was not.", flags=("MinusInfinity",)),
    Row("token-zero", {"token": 0}, ONES, [2], [0, -inf, -inf],
        "Token 0 may be forced; a truth test would treat it as absent."),
)  # fmt: skip

LASTS: Final = (
    Row("last", {"max_length": 3, "ends": 0}, ONES, [1, 1], [0, -inf, -inf],
        "One token is left until the largest length: it is the end, with the logit 0."),
    Row("one-before", {"max_length": 3, "ends": 0}, ONES, [1], ONES,
        "Two tokens are left; nothing is forced yet."),
    Row("too-late", {"max_length": 3, "ends": 0}, ONES, [1, 1, 1], ONES,
        "The maximum length is already exceeded, so nothing is forced."),
    Row("several-ends", {"max_length": 2, "ends": [0, 2]}, [5, 1, 1], [1], [0, -inf, 0],
        "Several end tokens get the same logit, whatever the model predicts."),
    Row("new-tokens", {"max_length": None, "ends": 0, "new_tokens": 2}, ONES, [1, 1, 1], [0, -inf, -inf],
        "Counted from the end of the prompt, one of two new tokens is left.", prompt=2,
        flags=("PenaltyScope",)),
    Row("impossible", {"max_length": 2, "ends": 0}, [-inf, 1, 1], [1], [0, -inf, -inf],
        "The end becomes possible even if it was banned before.", flags=("MinusInfinity",)),
)  # fmt: skip

BEGINS: Final = (
    Row("at-the-beginning", {"tokens": [0, 2]}, ONES, [1, 1], [-inf, 1, -inf],
        "Right after the prompt, the tokens are impossible.", prompt=2),
    Row("later", {"tokens": [0, 2]}, ONES, [1, 1, 1], ONES,
        "One token later they are possible.", prompt=2),
    Row("no-prompt", {"tokens": [0]}, ONES, [], NO_END,
        "Without a prompt the beginning is the empty history."),
    Row("behind-the-forced", {"tokens": [0], "forced": 1}, ONES, [2, 1], NO_END,
        "A forced first token is counted: the place is the one after it.", prompt=1,
        flags=("ForcedToken",)),
    Row("before-the-forced", {"tokens": [0], "forced": 1}, ONES, [2], ONES,
        "At the position of the forced token itself, nothing is suppressed.", prompt=1,
        flags=("ForcedToken",)),
    Row("forced-behind-a-longer-prompt", {"tokens": [0], "forced": 1}, ONES, [2, 2], NO_END,
        "Behind a prompt of two tokens no first token is forced, and the place is not moved.",
        prompt=2, flags=("ForcedToken",)),
)  # fmt: skip

DECAYS: Final = (
    Row("positive", {"start": 2, "growth": 2.0, "ends": 0}, [4, 1, 1], [1, 1, 1], [8, 1, 1],
        "One token beyond the start the end gains its own size, two less one times."),
    Row("negative", {"start": 2, "growth": 2.0, "ends": 0}, [-4, 1, 1], [1, 1, 1], [0, 1, 1],
        "A negative logit gains, too: its size is added, and it is zero then.", flags=("PenaltySign",)),
    Row("second-token", {"start": 2, "growth": 2.0, "ends": 0}, [4, 1, 1], [1, 1, 1, 1], [16, 1, 1],
        "Two tokens beyond the start the factor is two squared."),
    Row("at-the-start", {"start": 2, "growth": 2.0, "ends": 0}, [4, 1, 1], [1, 1], [4, 1, 1],
        "At exactly the start nothing is added; one token too early is the usual mistake."),
    Row("prompt-does-not-count", {"start": 2, "growth": 2.0, "ends": 0}, [4, 1, 1], [1] * 5, [8, 1, 1],
        "The start is counted from the end of the prompt.", prompt=2, flags=("PenaltyScope",)),
    Row("zero-stays", {"start": 0, "growth": 2.0, "ends": 0}, [0.0, 1, 1], [1, 1], [0.0, 1, 1],
        "An end whose logit is 0 stays there, however long the text becomes."),
    Row("impossible", {"start": 0, "growth": 2.0, "ends": 0}, [-inf, 1, 1], [1, 1], [-inf, 1, 1],
        "An end that is impossible stays so; minus infinity plus infinity would be NaN.",
        flags=("MinusInfinity",)),
    Row("below-one", {"start": 0, "growth": 0.5, "ends": 0}, [4, 1, 1], [1], [2, 1, 1],
        "A growth below 1 makes the end less likely."),
    Row("several-ends", {"start": 0, "growth": 2.0, "ends": [0, 1]}, [4, -2, 1], [2], [8, 0, 1],
        "Every end grows by its own size."),
    Row("usual", {"start": 1, "growth": 1.01, "ends": 2}, [1.0, 2.0, 7.5], [0, 0, 0, 0], None,
        "A usual growth of one per cent, three tokens beyond the start."),
)  # fmt: skip

TABLES: Final = (
    ("min_length", LEAST, LEASTS),
    ("min_new_tokens", NEW, NEWS),
    ("forced_bos", FIRST, FIRSTS),
    ("forced_eos", LAST, LASTS),
    ("begin_suppress", BEGIN, BEGINS),
    ("exponential_decay_length", DECAY, DECAYS),
)


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for op, topic, rows in TABLES:
        yield from tabled(op, topic, rows)
