"""Cases about length: where engines change their method, and where they become slow or wrong."""

from collections.abc import Iterator
from typing import Final

from authoring.cases.draft import Draft
from tokenref.questions.text import Recipe, TextInput

_SPEC: Final = "docs/bpe.md#definition"

THRESHOLDS: Final = {
    98: "two below the 100 bytes at which tiktoken changes to a heap",
    99: "the last length that tiktoken merges by scanning",
    100: "the first length that tiktoken merges with a heap",
    101: "one beyond the 100 bytes at which tiktoken changes to a heap",
    127: "the largest signed byte",
    128: "one more than the largest signed byte",
    255: "the largest byte",
    256: "one more than the largest byte",
    257: "two more than the largest byte",
    511: "one below a block of 512",
    512: "a block of 512",
    513: "one above a block of 512",
    1000: "a piece ten times as long as tiktoken's short path",
    1023: "one below a block of 1,024",
    1025: "one above a block of 1,024",
}
"""Lengths in bytes, each with what is special about it."""

_FEWER_FROM: Final = 513

HUGE: Final = 99_999
"""Times, so that a text is very long and the reference still answers in a second."""


MANY: Final = 19_999
_HUGE_ONES: Final = frozenset({"letters", "carets", "spaces"})


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    yield from _thresholds()
    yield from _tokens_of_many_bytes()
    yield from _huge()
    yield from _overflow()
    yield from _pieces()


def _recipe(unit: str, times: int, before: str = "", after: str = "") -> TextInput:
    parts = [part.encode().hex() for part in (unit, before, after)]
    return TextInput(recipe=Recipe(unit=parts[0], times=times, before=parts[1], after=parts[2]))


def _thresholds() -> Iterator[Draft]:
    units = (
        ("doubles", "a", "every second letter ties with the next"),
        ("quadruples", "a", "tokens of one to four letters compete"),
        ("runs_falling", "a", "an improper order of ranks"),
        ("improper_letters", "ab", "an improper order of ranks over two letters"),
        ("ambiguous_splits", "ab", "tokens that can be made in several ways"),
        ("pair_out_of_order", "a", "by pair, with an earlier rule that applies later"),
        ("tiny", "a", "one word of one letter"),
        ("tiny_merging", "=", "one run of signs"),
    )
    for vocabulary, unit, what in units:
        for length, fact in THRESHOLDS.items():
            if length > _FEWER_FROM and vocabulary not in {"quadruples", "runs_falling", "tiny"}:
                continue
            times, odd = divmod(length, len(unit))
            yield Draft(
                op="encode",
                topic="lengths",
                slug=f"{vocabulary.replace('_', '-')}-{length}",
                vocabulary=vocabulary,
                request=_recipe(unit, times, after=unit[:odd]),
                why=f"{length} bytes of {unit} with {vocabulary}, {what}: {fact}.",
                flags=["LengthThreshold", "LongRun"],
                spec=_SPEC,
            )


def _tokens_of_many_bytes() -> Iterator[Draft]:
    lengths = {
        "a": (127, 128, 129, 255, 256, 257, 287, 288, 296, 299, 300, 301, 512, 600, 900),
        "b": (128, 256, 257, 258, 514),
        "c": (127, 128, 129, 192, 254, 255, 256, 510),
    }
    longest = {"a": 300, "b": 257, "c": 255}
    for letter, times_of in lengths.items():
        for times in times_of:
            yield Draft(
                op="encode",
                topic="long_tokens",
                slug=f"{letter}-{times}",
                vocabulary="long_token",
                request=_recipe(letter, times),
                why=f"{times} times {letter}, whose longest token has {longest[letter]} bytes: "
                "a length kept in one byte is another length.",
                flags=["LongToken", "LongRun"],
                spec=_SPEC,
            )
    for before, times, after in (("b", 300, ""), ("", 300, "b"), ("b", 256, "a"), ("c", 255, "c")):
        unit = "c" if before == "c" else "a"
        yield Draft(
            op="encode",
            topic="long_tokens",
            slug=f"{before or 'none'}-{unit}-{times}-{after or 'none'}",
            vocabulary="long_token",
            request=_recipe(unit, times, before, after),
            why=f"A token of {times} bytes or nearly so, with {before or 'nothing'} before it and "
            f"{after or 'nothing'} behind it.",
            flags=["LongToken"],
            spec=_SPEC,
        )


def _huge() -> Iterator[Draft]:
    texts = (
        ("letters", "tiny", "a", "", "", "one word; engines were once quadratic here"),
        ("carets", "tiny", "^", "", "", "one run of signs; a pattern engine once overflowed here"),
        ("spaces", "tiny", " ", "", "", "one piece of spaces, and nothing after them"),
        ("spaces-and-a-letter", "tiny", " ", "", "a", "the last space belongs to the letter"),
        ("newlines", "tiny", "\n", "", "", "each line end ends a match in this spelling"),
        ("contractions", "tiny", "'s", "", "", "a very long row of contractions"),
        ("underscores", "tiny", "_", "", "", "one run of signs; engines took seconds here"),
        ("ties", "doubles", "a", "", "", "ten thousand ties, each won by the left one"),
        ("improper", "runs_falling", "a", "", "", "the last token made ranks first, all along"),
    )
    for slug, vocabulary, unit, before, after, fact in texts:
        times = (HUGE if slug in _HUGE_ONES else MANY) // len(unit) - 1
        for op in ("encode", "count"):
            said = "Tokens" if op == "encode" else "Number of tokens"
            yield Draft(
                op=op,
                topic="huge",
                slug=slug,
                vocabulary=vocabulary,
                request=_recipe(unit, times, before, after),
                why=f"{said} of {times} times {unit!a} with {vocabulary}: {fact}.",
                flags=["LongRun", *(["Count"] if op == "count" else [])],
                spec="docs/bpe.md#counting" if op == "count" else _SPEC,
            )


def _overflow() -> Iterator[Draft]:
    yield Draft(
        op="count",
        topic="huge",
        slug="million-spaces-and-a-letter",
        vocabulary="tiny",
        request=_recipe(" ", 1_000_000, "", "a"),
        why="A million spaces and a letter: looking ahead from each of them, one call inside the "
        "other, is too much for the stack of a pattern engine that backtracks.",
        flags=["LongRun", "Count"],
        spec="docs/bpe.md#pieces",
    )


def _pieces() -> Iterator[Draft]:
    for name, sign in (("space", " "), ("newline", "\n"), ("digit", "0"), ("letter", "x")):
        for times in (99, 100, 1000):
            for vocabulary in ("tiny", "tiny_o200k", "tiny_r50k"):
                yield Draft(
                    op="encode",
                    topic="long_runs",
                    slug=f"{vocabulary.replace('_', '-')}-{name}-{times}",
                    vocabulary=vocabulary,
                    request=_recipe(sign, times, "x", "!"),
                    why=f"x, {times} times {sign!a}, and a sign, with {vocabulary}: where the run "
                    "is cut decides what it merges into.",
                    flags=["LongRun", "Pretokenization"],
                    spec="docs/bpe.md#pieces",
                )
