"""Masks of allowed tokens: words, booleans and lists, padding, batches, before and after filters."""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.batches import own
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose, gives, refuses
from authoring.cases.sampling.row_draft import Row, Topic, row_request, tabled
from authoring.cases.sampling.rows_long import told
from authoring.grids import grid
from tokenref.answers import Ok
from tokenref.catalogue import LARGE
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import pack
from tokenref.questions.sampling import pack_parameters
from tokenref.record import Case
from tokenref.verdicts import Exact

SPEC: Final = "docs/sampling.md#masks"
MASKS: Final = Topic("masks", ("TokenMask",), SPEC)
SIZES: Final = Topic("sizes", ("BitMask", "TokenMask"), SPEC)
REFUSED: Final = Topic("refused", ("ParameterDomain", "TokenMask"), SPEC)
EMPTY: Final = Topic("refused", ("NothingLeft", "TokenMask"), SPEC)

FOUR: Final = [0.5, 2.0, -1.0, 1.5]
ALL: Final = 2**32 - 1
TOP: Final = 2**31
HIGH: Final = "high first"

SMALL: Final = (
    Row("words", {"words": [0b1010]}, FOUR, [], [-inf, 2, -inf, 1.5],
        "Bits 1 and 3 of the only word allow tokens 1 and 3: the lowest bit is token 0.", flags=("BitMask",)),
    Row("words-high-first", {"words": [0b0101 << 28], "bits": HIGH}, FOUR, [], [-inf, 2, -inf, 1.5],
        "The same two tokens, where the highest bit is token 0.", flags=("BitMask",)),
    Row("words-low-first-by-name", {"words": [0b1010], "bits": "low first"}, FOUR, [], [-inf, 2, -inf, 1.5],
        "The order that is meant without a name, by its name.", flags=("BitMask",)),
    Row("booleans", {"booleans": [False, True, False, True]}, FOUR, [], [-inf, 2, -inf, 1.5],
        "One boolean for each token; true allows it."),
    Row("tokens", {"tokens": [3, 1]}, FOUR, [], [-inf, 2, -inf, 1.5],
        "A list of allowed ids, not in order: the row keeps its own order."),
    Row("tokens-twice", {"tokens": [1, 1, 1]}, FOUR, [], [-inf, 2, -inf, -inf],
        "An id that is listed three times is allowed like one that is listed once."),
    Row("no-mask", {}, [0.5, -0.0, -inf, 1.5], [], [0.5, -0.0, -inf, 1.5],
        "Without a mask no bit of the row changes."),
    Row("all-allowed", {"words": [ALL]}, FOUR, [], FOUR, "A mask that allows everything changes nothing.",
        flags=("BitMask",)),
    Row("bits-beyond-the-row", {"words": [ALL << 4 & ALL | 0b0001]}, FOUR, [], [0.5, -inf, -inf, -inf],
        "The 28 bits beyond the row belong to no token.", flags=("BitMask",)),
    Row("impossible-stays", {"words": [0b0011]}, [-inf, 2, 1, 1], [], [-inf, 2, -inf, -inf],
        "An allowed token that was impossible stays impossible.", flags=("MinusInfinity",)),
    Row("zeros-keep-their-signs", {"words": [0b0111]}, [0.0, -0.0, 1, 1], [], [0.0, -0.0, 1, -inf],
        "Logits of tokens that stay keep every bit, also the sign of a zero."),
    Row("zeros-in-padding", {"booleans": [True, True], "vocab_size": 2}, [-0.0, 0.0, -0.0, 0.0], [],
        [-0.0, 0.0, -inf, -inf], "Zeros keep their signs in a row with padding.", flags=("PaddedMask",)),
    Row("largest-masked", {"tokens": [2]}, [2.0**127, 2, -(2.0**127), 1], [], [-inf, -inf, -(2.0**127), -inf],
        "The only token left has the smallest logit of all, and keeps it."),
    Row("history-does-not-count", {"tokens": [0, 2]}, FOUR, [1, 3, 3], [0.5, -inf, -1, -inf],
        "A mask belongs to one position: the tokens so far do not change it."),
    Row("padding", {"booleans": [True, True, True], "vocab_size": 3}, FOUR, [], [0.5, 2, -1, -inf],
        "A row of four for a vocabulary of three: the last entry is padding.", flags=("PaddedMask",)),
    Row("padding-without-mask", {"vocab_size": 2}, FOUR, [], [0.5, 2, -inf, -inf],
        "Padding is impossible in a row without a mask, too.", flags=("PaddedMask",)),
    Row("padding-allowed-by-bits", {"words": [ALL], "vocab_size": 2}, FOUR, [], [0.5, 2, -inf, -inf],
        "Bits of the last word that belong to padding allow nothing.", flags=("BitMask", "PaddedMask")),
    Row("padding-allowed-high-first", {"words": [ALL], "bits": HIGH, "vocab_size": 3}, FOUR, [], [0.5, 2, -1, -inf],
        "The same where the highest bit is token 0: the bit of token 3 is ignored.",
        flags=("BitMask", "PaddedMask")),
    Row("padding-allowed-by-booleans", {"booleans": [False, True, True, True], "vocab_size": 3}, FOUR, [],
        [-inf, 2, -1, -inf], "A boolean for the padding is ignored.", flags=("PaddedMask",)),
    Row("padding-is-the-best", {"words": [0b11], "vocab_size": 2}, [1, 0, 9, 9], [], [1, 0, -inf, -inf],
        "The largest logits are those of the padding.", flags=("PaddedMask",)),
    Row("vocabulary-as-long-as-the-row", {"words": [0b1001], "vocab_size": 4}, FOUR, [], [0.5, -inf, -inf, 1.5],
        "A vocabulary of the row's size: there is no padding.", flags=("PaddedMask",)),
    Row("map-of-words", {"words": {0: 0b1000}}, FOUR, [], [-inf, -inf, -inf, 1.5],
        "A mask as a map of the words that are not 0.", flags=("BitMask",)),
    Row("map-of-booleans", {"booleans": {2: True, 0: False}}, FOUR, [], [-inf, -inf, -1, -inf],
        "A mask as a map of booleans: tokens that are not in it are not allowed."),
    Row("f16", {"words": [0b0110]}, FOUR, [], [-inf, 2, -1, -inf], "A mask on logits of 16 bits.",
        dtype="f16", flags=("SixteenBit",)),
    Row("bf16", {"words": [0b1001]}, FOUR, [], [0.5, -inf, -inf, 1.5], "A mask on logits of bfloat16.",
        dtype="bf16", flags=("SixteenBit",)),
    Row("f64", {"booleans": [True, False, False, True]}, FOUR, [], [0.5, -inf, -inf, 1.5],
        "A mask on logits of 64 bits.", dtype="f64"),
)  # fmt: skip

_BAD: Final[Sequence[tuple[str, Mapping[str, Any], str, str]]] = (
    ("words-too-few", {"words": []}, "INVALID_PARAMETER", "a mask of no words is too short for four tokens"),
    ("words-too-many", {"words": [1, 1]}, "INVALID_PARAMETER", "two words are more than a row of four tokens needs"),
    ("word-of-33-bits", {"words": [2**32]}, "INVALID_PARAMETER", "a word has 32 bits, not 33"),
    ("word-negative", {"words": [-1]}, "INVALID_PARAMETER", "a word is given without a sign"),
    ("word-beyond", {"words": {1: 1}}, "INVALID_PARAMETER", "a map has a word that the row has no tokens for"),
    ("booleans-too-few", {"booleans": [True] * 3}, "INVALID_PARAMETER", "three booleans are too few for four tokens"),
    ("booleans-too-many", {"booleans": [True] * 5}, "INVALID_PARAMETER", "five booleans are too many for four tokens"),
    ("booleans-too-few-for-the-vocabulary", {"booleans": [True] * 2, "vocab_size": 3}, "INVALID_PARAMETER",
     "two booleans are too few for a vocabulary of three"),
    ("boolean-a-number", {"booleans": [1, 1, 1, 1]}, "INVALID_PARAMETER", "a number is no boolean"),
    ("two-masks", {"words": [1], "booleans": [True] * 4}, "INVALID_PARAMETER", "a row has one mask and not two"),
    ("bits-unknown", {"words": [1], "bits": "middle first"}, "INVALID_PARAMETER", "there are two orders of bits"),
    ("vocabulary-of-nothing", {"vocab_size": 0}, "INVALID_PARAMETER", "a vocabulary has at least one token"),
    ("vocabulary-beyond-the-row", {"vocab_size": 5}, "INVALID_PARAMETER", "a vocabulary has no tokens beyond the row"),
    ("token-beyond-the-row", {"tokens": [4]}, "INVALID_HISTORY", "an allowed id is that of a token of the row"),
    ("token-negative", {"tokens": [-1]}, "INVALID_HISTORY", "an allowed id is not counted from the end"),
    ("token-in-the-padding", {"tokens": [0, 3], "vocab_size": 3}, "INVALID_HISTORY",
     "an allowed id is that of a token of the vocabulary, not of the padding"),
)  # fmt: skip

_NOTHING: Final[Sequence[tuple[str, Sequence[float], Mapping[str, Any], str]]] = (
    ("no-bit", FOUR, {"words": [0]}, "A mask without a bit leaves nothing, not token 0."),
    ("no-boolean", FOUR, {"booleans": [False] * 4}, "Booleans that are all false leave nothing."),
    ("no-token", FOUR, {"tokens": []}, "An empty list of allowed ids leaves nothing; it is not a missing mask."),
    ("no-token-of-one", [1.0], {"tokens": []}, "An empty list leaves nothing of a row of one token either."),
    ("no-token-and-padding", FOUR, {"tokens": [], "vocab_size": 2}, "An empty list leaves nothing, padding or not."),
    ("empty-map", FOUR, {"words": {}}, "An empty map of words is a mask of zeros, and not a missing mask."),
    ("only-padding-bits", FOUR, {"words": [0b1100], "vocab_size": 2}, "The only bits belong to padding, so nothing is left."),
    ("only-bits-beyond-the-row", FOUR, {"words": [TOP]}, "The only bit belongs to no token of the row."),
    ("only-impossible", [-inf, 2, -inf, 1], {"words": [0b0101]}, "All allowed tokens were impossible before."),
    ("no-possible-token", [-inf] * 4, {}, "A row without a possible token has nothing left, even without a mask."),
    ("all-possible-in-the-padding", [-inf, -inf, 1, 2], {"vocab_size": 2}, "The possible tokens are all padding."),
)  # fmt: skip


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from tabled("token_mask", MASKS, SMALL)
    for slug, params, code, rule in _BAD:
        yield REFUSED.case(
            "token_mask", slug, "standard", row_request(FOUR, **params), f"A mask is refused: {rule}.",
            refuses(code), verdict=Exact(),
        )  # fmt: skip
    for slug, row, params, why in _NOTHING:
        yield EMPTY.case(
            "token_mask", slug, "standard", row_request(row, **params), why,
            refuses("INVALID_ROW"), verdict=Exact(),
        )  # fmt: skip
    yield from _sizes()
    yield from _batches()
    yield from _orders()
    yield from _long_rows()


def words_of(tokens: Sequence[int], size: int, *, high_first: bool = False) -> list[int]:
    """Return the mask that allows these tokens, as words.

    >>> words_of([0, 33], 40), words_of([0, 33], 40, high_first=True)
    ([1, 2], [2147483648, 1073741824])
    """
    words = [0] * -(-size // 32)
    for token in tokens:
        words[token // 32] |= 1 << (31 - token % 32 if high_first else token % 32)
    return words


def _sizes() -> Iterator[SamplerDraft]:
    """Yield rows whose last word is nearly full, full, and just begun."""
    for size in (31, 32, 33, 63, 64, 65):
        row = [float(token % 7) for token in range(size)]
        kept = sorted({0, 1, 30, size // 2, size - 2, size - 1})
        forms: tuple[tuple[str, dict[str, Any], str], ...] = (
            ("low", {"words": words_of(kept, size)}, "words, lowest bit first"),
            ("high", {"words": words_of(kept, size, high_first=True), "bits": HIGH}, "words, highest bit first"),
            ("booleans", {"booleans": [token in kept for token in range(size)]}, "booleans"),
            ("tokens", {"tokens": kept[::-1]}, "a list of ids that fall"),
        )  # fmt: skip
        for slug, params, form in forms:
            yield SIZES.case(
                "token_mask", f"row-{size}-{slug}", "standard", row_request(row, dtype="f16", **params),
                f"{size} tokens, of which the first and the last are allowed, by {form}.",
            )  # fmt: skip
        yield SIZES.case(
            "token_mask", f"row-{size}-last", "standard",
            row_request(row, words=words_of([size - 1], size)),
            f"Only the last of {size} tokens is allowed.",
        )  # fmt: skip
        yield SIZES.case(
            "token_mask", f"row-{size}-padded", "standard",
            row_request(row, words=[ALL] * -(-size // 32), vocab_size=size - 1),
            f"{size} entries for {size - 1} tokens: every bit is 1, and the last entry is padding.",
            flags=["PaddedMask"],
        )  # fmt: skip
        yield SIZES.case(
            "token_mask", f"row-{size}-padded-without-mask", "standard",
            row_request(row, vocab_size=size - 2),
            f"{size} entries for {size - 2} tokens, without a mask: the last two are padding.",
            flags=["PaddedMask"],
        )  # fmt: skip
    row = [1.0] * 100
    for size, words in ((64, 2), (64, 4), (65, 3), (33, 2)):
        yield SIZES.case(
            "token_mask", f"padded-{size}-of-100-words-{words}", "standard",
            row_request(row, words=[ALL] * words, vocab_size=size),
            f"100 entries for {size} tokens, and {words} words: no word beyond the vocabulary is needed, and none counts.",
            flags=["PaddedMask"],
        )  # fmt: skip
    yield SIZES.case(
        "token_mask", "padded-65-of-100-words-2", "standard",
        row_request(row, words=[ALL] * 2, vocab_size=65),
        "Two words end before the last of 65 tokens, and must not be read beyond their end.",
        refuses("INVALID_PARAMETER"), flags=["PaddedMask"], verdict=Exact(),
    )  # fmt: skip
    yield SIZES.case(
        "token_mask", "one-word-for-33", "standard", row_request([1.0] * 33, words=[ALL]),
        "One word for 33 tokens: the bit of the last token is not there, whatever is behind the word.",
        refuses("INVALID_PARAMETER"), verdict=Exact(),
    )  # fmt: skip
    one = words_of([5, 40, 70], 96)
    for slug, ordered in (("in-order", one), ("reversed", one[::-1])):
        yield SIZES.case(
            "token_mask", f"three-words-{slug}", "standard", row_request([1.0] * 96, words=ordered),
            f"Three words, each with another bit ({slug.replace('-', ' ')}): the first word has the first 32 tokens.",
        )  # fmt: skip
    yield SIZES.case(
        "token_mask", "sign-bit", "standard", row_request([1.0] * 64, words=[TOP, TOP | 1]),
        "The highest bit of a word allows a token: a shift of a signed number spreads it.",
    )  # fmt: skip


# ---- batches


def _batch(
    slug: str,
    rows: Sequence[tuple[Sequence[float], Mapping[str, Any]]],
    why: str,
    *purposes: SamplerPurpose,
    flags: Sequence[str] = ("BatchRow",),
) -> SamplerDraft:
    asked = [row_request(row, **params) for row, params in rows]
    return SamplerDraft(
        op="batch",
        topic="masks",
        slug=slug,
        profile="standard",
        request={"op": "token_mask", "rows": asked},
        why=why,
        flags=sorted({*flags, "TokenMask"}),
        spec=SPEC,
        purposes=purposes,
    )


def _batches() -> Iterator[SamplerDraft]:
    forty = [float(token) for token in range(40)]
    yield _batch(
        "own-words",
        [(FOUR, {"words": [bits]}) for bits in (0b0001, 0b1000, 0b0110, 0b1111, 0b0100)],
        "Five rows, each with its own mask: a mask of the row before allows other tokens.",
        own("params"),
    )  # fmt: skip
    yield _batch(
        "some-without",
        [(FOUR, {"words": [0b0001]}), (FOUR, {}), (FOUR, {"words": [0b1000]}), (FOUR, {})],
        "Two rows of four have no mask: they keep everything, whatever the mask of the row before is.",
        own("params"), flags=("BatchRow", "StaleMask"),
    )  # fmt: skip
    yield _batch(
        "first-without",
        [(FOUR, {}), (FOUR, {"words": [0b0010]}), (FOUR, {"words": [0b0001]})],
        "Only the first row has no mask, so the first mask belongs to the second row.",
        own("params"), flags=("BatchRow", "StaleMask"),
    )  # fmt: skip
    yield _batch(
        "none-with", [(FOUR, {}), ([2.0, 1.0, 0.0, 3.0], {})],
        "A batch without any mask.", own("logits"),
    )  # fmt: skip
    yield _batch(
        "all-forms",
        [(FOUR, {"words": [0b0010]}), (FOUR, {"words": [TOP], "bits": HIGH}),
         (FOUR, {"booleans": [False, False, True, False]}), (FOUR, {"tokens": [3]}), (FOUR, {})],
        "The rows of a batch may have masks of different forms.", own("params"),
    )  # fmt: skip
    yield _batch(
        "two-words",
        [(forty, {"words": words_of([token], 40)}) for token in (0, 39, 31, 32, 7)],
        "Masks of two words each: the words of a row begin at twice its number.", own("params"),
        flags=("BatchRow", "BitMask"),
    )  # fmt: skip
    yield _batch(
        "own-vocabulary",
        [(FOUR, {"words": [ALL], "vocab_size": size}) for size in (4, 2, 3, 1)],
        "Rows of one length with vocabularies of four sizes.", own("params"),
        flags=("BatchRow", "PaddedMask"),
    )  # fmt: skip
    yield _batch(
        "lengths",
        [([1.0] * size, {"words": words_of([size - 1], size)}) for size in (33, 4, 65, 32)],
        "Rows of four lengths, and masks of one to three words.", flags=("BatchRow", "BitMask"),
    )  # fmt: skip
    many = [(FOUR, {"words": [1 << number % 4]} if number % 3 else {}) for number in range(33)]
    yield _batch(
        "33-rows", many, "33 rows, every third without a mask.", own("params"),
        flags=("BatchSize", "StaleMask"),
    )  # fmt: skip
    for place, row in enumerate(("first", "second", "last")):
        rows: list[tuple[Sequence[float], Mapping[str, Any]]] = [(FOUR, {"words": [0b1111]})] * 3
        rows[place] = (FOUR, {"words": [0]})
        yield _batch(
            f"nothing-left-in-the-{row}", rows,
            f"The {row} row of three has nothing left, so the batch is refused.",
            refuses("INVALID_ROW"), flags=("BatchRow", "NothingLeft"),
        )  # fmt: skip
    yield _batch(
        "no-token-in-the-second", [(FOUR, {"tokens": [1]}), (FOUR, {"tokens": []}), (FOUR, {})],
        "The second row allows an empty list of ids, which is no missing mask: the batch is refused.",
        refuses("INVALID_ROW"), flags=("BatchRow", "NothingLeft"),
    )  # fmt: skip
    yield _batch(
        "too-short-in-the-last",
        [(forty, {"words": [1, 1]}), (forty, {"words": [1, 1]}), (forty, {"words": [1]})],
        "The mask of the last row is one word too short: the word behind it belongs to nobody.",
        refuses("INVALID_PARAMETER"),
    )  # fmt: skip


# ---- before and after filters


def _orders() -> Iterator[SamplerDraft]:
    """Yield chains of a mask and filters, in both orders."""
    row = [3.0, 2.5, 2.0, 1.0, 0.0]
    mask: tuple[str, dict[str, Any]] = ("token_mask", {"words": [0b11100]})
    two: tuple[str, dict[str, Any]] = ("token_mask", {"tokens": [1, 4]})
    for name, params, which, chosen in (
        ("top_k", {"k": 3}, "three allowed", mask),
        ("top_p", {"p": 0.75}, "three allowed", mask),
        ("min_p", {"m": 0.25}, "three allowed", mask),
        ("top_a", {"a": 0.5}, "three allowed", mask),
        ("typical", {"mass": 0.75}, "three allowed", mask),
        ("epsilon", {"cutoff": 0.125}, "three allowed", mask),
        ("top_k", {"k": 3}, "two allowed", two),
        ("top_p", {"p": 0.9375}, "two allowed", two),
        ("min_p", {"m": 0.0625}, "two allowed", two),
    ):
        step, dashed, slug = (name, params), name.replace("_", "-"), which.replace(" ", "-")
        yield _chained(
            f"{dashed}-then-mask-{slug}", row, [step, chosen],
            f"The mask comes after {dashed} and removes tokens that it kept ({which}).",
        )  # fmt: skip
        yield _chained(
            f"mask-then-{dashed}-{slug}", row, [chosen, step],
            f"The mask comes before {dashed}, which sees only what is allowed ({which}).",
        )  # fmt: skip
    yield _chained(
        "top-p-then-mask-leaves-nothing", row, [("top_p", {"p": 0.5}), ("token_mask", {"tokens": [4]})],
        "Top-p keeps only tokens that the mask does not allow: an error, never token 0.",
        refuses("INVALID_ROW"), flags=("NothingLeft",),
    )  # fmt: skip
    yield _chained(
        "top-k-then-mask-leaves-nothing", row, [("top_k", {"k": 2}), mask],
        "Top-k keeps two tokens and the mask allows the other three: an error, never token 0.",
        refuses("INVALID_ROW"), flags=("NothingLeft",),
    )  # fmt: skip
    yield _chained(
        "mask-between", row, [("top_k", {"k": 4}), mask, ("top_p", {"p": 0.625})],
        "The mask stands between top-k and top-p: top-p shares out what both left.",
        gives(keep=[2]),
    )  # fmt: skip
    yield _chained(
        "mask-penalty-temperature-top-p", row,
        [mask, ("repetition_penalty", {"penalty": 4.0}), ("temperature", {"temperature": 0.5}), ("top_p", {"p": 0.75})],
        "A mask, a penalty on the best token that it allows, a temperature and top-p, in this order.",
        history=[2],
    )  # fmt: skip
    yield _chained(
        "two-masks", row, [("token_mask", {"tokens": [0, 1, 2]}), ("token_mask", {"words": [0b10110]})],
        "Two masks, one after the other, allow what both allow.", gives(keep=[1, 2]),
    )  # fmt: skip
    yield _chained(
        "padding-then-top-k", row, [("token_mask", {"vocab_size": 3}), ("top_k", {"k": 4})],
        "Top-k of four with three tokens and two entries of padding.", gives(keep=[0, 1, 2]),
        flags=("PaddedMask",),
    )  # fmt: skip
    yield _chained(
        "padding-then-top-p", [3.0, 2.5, 2.0, 9.0, 9.0], [("token_mask", {"vocab_size": 3}), ("top_p", {"p": 0.75})],
        "The largest logits are padding: they count for nothing in the sum of top-p.", gives(keep=[0, 1]),
        flags=("PaddedMask",),
    )  # fmt: skip


def _chained(
    slug: str,
    row: Sequence[float] | Mapping[str, Any],
    steps: Sequence[tuple[str, Mapping[str, Any]]],
    why: str,
    *purposes: SamplerPurpose,
    history: Sequence[int] = (),
    flags: Sequence[str] = ("MaskOrder",),
    topic: str = "masks",
) -> SamplerDraft:
    return SamplerDraft(
        op="steps",
        topic=topic,
        slug=slug,
        profile="standard",
        request={
            "logits": dict(row) if isinstance(row, Mapping) else pack(row),
            "history": list(history),
            "prompt_length": 0,
            "steps": [{"step": name, "params": pack_parameters(params)} for name, params in steps],
        },
        why=why,
        flags=sorted({*flags, "TokenMask"}),
        spec=SPEC,
        purposes=purposes or (other_order_differs,),
    )


def other_order_differs(case: Case) -> None:
    """Raise `PurposeError` if the steps in another order give the same answer."""
    asked = msgspec.to_builtins(case.input)
    other = SamplerSession("standard").answer("steps", {**asked, "steps": asked["steps"][::-1]})
    if isinstance(other, Ok) and other.out["keep"] == msgspec.to_builtins(case.out)["keep"]:
        raise PurposeError(f"{case.id}: the order of the steps must decide")


# ---- long rows


def _long_rows() -> Iterator[SamplerDraft]:
    """Yield masks of long rows, which keep a few tokens at the edges of words and blocks."""
    size = 128_256
    kept = [0, 31, (1 << 13) - 1, 1 << 13, (1 << 15) - 1, 1 << 15, (1 << 16) - 1, 1 << 16, size - 1]
    words = {place: word for place, word in enumerate(words_of(kept, size)) if word}
    logits = msgspec.to_builtins(grid(size, size, span=4))
    yield SIZES.case(
        "token_mask", f"long-{size}", "standard",
        {"logits": logits, "history": [], "prompt_length": 0, "params": pack_parameters({"words": words})},
        f"A few of {size:,} tokens are allowed, at the edges of words, of blocks, and of words of 8 and 16 bits.",
        verdict=told("logits"), flags=("LongRow", LARGE), spec="docs/sampling.md#long-rows",
    )  # fmt: skip
    sizes = [edge + step for edge in (1 << 10, 1 << 15, 1 << 16) for step in (-1, 0, 1)]
    for size in (*sizes, 128_256):
        row = msgspec.to_builtins(grid(size, size, span=1 << 10, put={0: -inf}))
        half = size // 2
        kept = sorted({0, 1, 31, 32, half - 1, half, size - 33, size - 2, size - 1})
        low = {place: word for place, word in enumerate(words_of(kept, size)) if word}
        mirrored = words_of(kept, size, high_first=True)
        high = {place: word for place, word in enumerate(mirrored) if word}
        padded = size - 5
        beyond = {**low, (size - 1) // 32: ALL, padded // 32: ALL}
        asked: tuple[tuple[str, Mapping[str, Any], str], ...] = (
            ("low", {"words": low}, "by words, lowest bit first"),
            ("high", {"words": high, "bits": HIGH}, "by words, highest bit first"),
            ("tokens", {"tokens": kept[::-1]}, "by a list of ids that fall"),
            ("padded", {"words": beyond, "vocab_size": padded}, "by words, and the last five entries are padding"),
        )  # fmt: skip
        for slug, params, form in asked:
            if slug in {"low", "padded"} or size in {1025, (1 << 16) + 1, 128_256}:
                yield _chained(
                    f"row-{size}-{slug}", row, [("token_mask", params)],
                    f"A few of {size:,} tokens are allowed, at the edges of words and blocks, {form}.",
                    _keeps([token for token in kept if 0 < token < (padded if slug == "padded" else size)]),
                    topic="masks_long", flags=("BitMask", *(["PaddedMask"] if slug == "padded" else [])),
                )  # fmt: skip


def _keeps(tokens: Sequence[int]) -> SamplerPurpose:
    """Return the purpose "these tokens are kept", perhaps among others."""

    def check(case: Case) -> None:
        lost = set(tokens) - set(case.out.keep)
        if lost:
            raise PurposeError(f"{case.id}: must keep {sorted(lost)}, too")

    return check
