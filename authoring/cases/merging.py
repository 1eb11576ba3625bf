"""Cases about the order of merges: ties, runs of one letter, every short text over a and b."""

from collections.abc import Iterator
from itertools import product
from typing import Final

from authoring.cases.draft import Draft
from authoring.cases.rivals import EVERYDAY, contrast, differing, fails
from authoring.cases.vocabularies import PARITY_LETTERS, RUN_ORDERS, vocabulary_named
from authoring.data import tables
from bpe_ref import tokenizer_of
from bpe_ref.tiny import tiny_vocabulary
from tokenref.questions.text import TextInput

LONGEST_RUN: Final = 40
COMPLETE_TO: Final = 3
"""Every text over a and b of up to that many letters is a case."""

LONGEST_SHORT: Final = 6
ENOUGH: Final = 20
"""How many texts over a and b there are for one vocabulary at most."""

FLAG_OF_RIVAL: Final = {
    "longest first": "GreedyTrap",
    "fewest tokens": "FewestTrap",
    "rightmost": "LeftmostTie",
    "whole rounds": "OneAtATime",
    "rule by rule": "OneAtATime",
    "any spelling": "ByPair",
    "trusting heap": "StaleHeap",
    "ids as ranks": "IdNotRank",
    "first listing": "DuplicateMerge",
    "8-bit ranks": "HighRank",
    "9-bit ranks": "HighRank",
    "16-bit ranks": "HighRank",
    "24-bit ranks": "HighRank",
    "float ranks": "HighRank",
    "signed ranks": "HighRank",
}

_RIVALS: Final = (*EVERYDAY, "trusting heap", "ids as ranks")

_EXHAUSTIVE: Final = {
    "doubles": _RIVALS,
    "triples": _RIVALS,
    "quadruples": _RIVALS,
    "improper_run": _RIVALS,
    "improper_letters": _RIVALS,
    "nontopological": _RIVALS,
    "ambiguous_splits": _RIVALS,
    "tokens_in_all_sizes": _RIVALS,
    "dead_tokens": _RIVALS,
    "holes": _RIVALS,
    "shuffled_ids": _RIVALS,
    "readme": _RIVALS,
    "letters_abc": _RIVALS,
    "pair_unlisted": (*_RIVALS, "any spelling"),
    "pair_unlisted_letters": (*_RIVALS, "any spelling"),
    "pair_out_of_order": (*_RIVALS, "any spelling"),
    "pair_duplicate": (*_RIVALS, "first listing"),
    "pair_two_ways": (*_RIVALS, "any spelling"),
    "pair_no_merges": (*_RIVALS, "any spelling"),
}
"""Which vocabularies get every short text, and which mistakes are looked for there."""

MOST_PIECES: Final = 60
"""How many pieces of ordinary texts are cases."""

_HIGH: Final = ("8-bit ranks", "9-bit ranks", "16-bit ranks", "24-bit ranks", "float ranks")


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    yield from _runs()
    for vocabulary, rivals in _EXHAUSTIVE.items():
        yield from _short_texts(vocabulary, rivals)
    yield from _high_ranks()
    yield from _parity()
    yield from _given_pieces()


def encode_draft(
    topic: str, slug: str, vocabulary: str, text: str, rivals: tuple[str, ...]
) -> Draft:
    """Return a case that quotes, and is failed by, those of the rivals that are wrong here."""
    named = vocabulary_named(vocabulary)
    piece = text.encode()
    wrong = differing(named, piece, rivals)
    flags = {FLAG_OF_RIVAL[name] for name in wrong} | {"MergeOrder"}
    by_pair = vocabulary.startswith("pair_")
    return Draft(
        op="encode",
        topic=topic,
        slug=slug,
        vocabulary=vocabulary,
        request=TextInput(text=text),
        why=f"{text} with {vocabulary}: {contrast(named, piece, rivals)}",
        flags=sorted(flags | ({"ByPair"} if by_pair else set())),
        spec="docs/bpe.md#by-pair" if by_pair else "docs/bpe.md#definition",
        purposes=fails(*wrong),
    )


def _runs() -> Iterator[Draft]:
    for vocabulary, lengths in RUN_ORDERS.items():
        named = vocabulary_named(vocabulary)
        order = ", ".join(map(str, lengths))
        for times in range(1, LONGEST_RUN + 1):
            piece = b"a" * times
            wrong = differing(named, piece, _RIVALS)
            cut = [len(named.tokens[token]) for token in _tokens(vocabulary, piece)]
            by = f"; not so for {', '.join(wrong)}" if wrong else "; hardly any way is wrong here"
            yield Draft(
                op="encode",
                topic="runs",
                slug=f"{vocabulary.removeprefix('runs_')}-{times:02}",
                vocabulary=vocabulary,
                request=TextInput(text="a" * times),
                why=f"{times} times a, with tokens of {order} letters in rank order, is cut into "
                f"{_in_runs(cut)}{by}.",
                flags=sorted({FLAG_OF_RIVAL[name] for name in wrong} | {"OneLetterRun"}),
                purposes=fails(*wrong),
            )


def _tokens(vocabulary: str, piece: bytes) -> list[int]:
    """Return the tokens of a piece by the definition."""
    from bpe_ref import ENCODERS

    named = vocabulary_named(vocabulary)
    return ENCODERS["naive"](named, named.symbols(piece))


def _in_runs(lengths: list[int]) -> str:
    """Return "3x2+1" for 2, 2, 2, 1."""
    parts: list[tuple[int, int]] = []
    for length in lengths:
        if parts and parts[-1][1] == length:
            parts[-1] = (parts[-1][0] + 1, length)
        else:
            parts.append((1, length))
    return "+".join(f"{times}x{length}" if times > 1 else str(length) for times, length in parts)


def _short_texts(vocabulary: str, rivals: tuple[str, ...]) -> Iterator[Draft]:
    named = vocabulary_named(vocabulary)
    letters = [chr(byte) for byte in range(256) if chr(byte) in named.symbol_of_letter]
    kept = 0
    for length in range(1, LONGEST_SHORT + 1):
        for word in product(letters, repeat=length):
            text = "".join(word)
            wrong = differing(named, text.encode(), rivals)
            wanted = length <= min(COMPLETE_TO, 4 - len(letters) // 2) or wrong
            if wanted and (kept < ENOUGH or length <= COMPLETE_TO):
                kept += 1
                yield encode_draft("short_texts", f"{vocabulary}-{text}", vocabulary, text, rivals)


def _high_ranks() -> Iterator[Draft]:
    for text in ("abc", "def", "ghi", "jkl", "mno", "abcabc", "defabc", "ghijkl", "jklmno", "bcab"):
        yield encode_draft("high_ranks", f"several-{text}", "high_ranks", text, _HIGH)
    for text in ("abc", "ab", "bc", "aabcc", "abcabc"):
        yield encode_draft("high_ranks", f"i32-{text}", "ranks_beyond_i32", text, ("signed ranks",))


def _parity() -> Iterator[Draft]:
    for length in range(2, len(PARITY_LETTERS) + 1):
        text = PARITY_LETTERS[:length]
        couples = length // 2
        yield Draft(
            op="encode",
            topic="backtracking",
            slug=f"parity-{length:02}",
            vocabulary="parity_from_the_right",
            request=TextInput(text=text),
            why=f"The first {length} letters pair up from the right into {couples} couples"
            + (", and a is left over." if length % 2 else ", with none left over.")
            + " One letter less, and every couple is another one.",
            flags=["DeepBacktracking", "MergeOrder"],
            purposes=fails("longest first") if length % 2 else (),
        )
    for text in ("abcdefghijklm", "!abcdefgh", "!abcdefghijklmnabcdefghijklmn", "bcdefghijklmn!"):
        yield encode_draft(
            "backtracking", f"far-{text.replace('!', 'x')}", "last_letter_decides", text, EVERYDAY
        )


def _given_pieces() -> Iterator[Draft]:
    """Yield pieces of ordinary texts, for engines that cannot cut text by tiny's pattern."""
    named = vocabulary_named("tiny_pieces")
    texts = [
        text
        for name in ("words", "code", "apostrophes", "digits")
        for _, text, _ in tables("words")[name]
    ]
    pieces = dict.fromkeys(
        piece for text in texts for piece in tokenizer_of(tiny_vocabulary()).pieces(text)
    )
    found = 0
    for text in pieces:
        wrong = differing(named, text.encode(), EVERYDAY)
        if not wrong or found == MOST_PIECES:
            continue
        found += 1
        yield Draft(
            op="encode",
            topic="given_pieces",
            slug=f"piece-{found:02}",
            vocabulary="tiny_pieces",
            request=TextInput(text=text),
            why=f"{text!a} as a piece of its own, whatever cuts texts: "
            f"{contrast(named, text.encode(), EVERYDAY)}",
            flags=sorted({FLAG_OF_RIVAL[name] for name in wrong} | {"MergeOrder"}),
            spec="docs/bpe.md#definition",
            purposes=fails(*wrong),
        )
