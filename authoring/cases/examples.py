"""The worked examples of where encoders differ, by their numbers, E1 to E13.

Each is the smallest input known to tell one way of encoding from another, and
each answer was known before it was computed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from authoring.cases.draft import Draft, answers, refuses
from authoring.cases.rivals import fails
from authoring.cases.vocabularies import FAR_LETTERS
from tokenref.questions.text import TextInput


@dataclass(frozen=True)
class _Example:
    slug: str
    vocabulary: str
    text: str
    tokens: tuple[int, ...] | None
    """The tokens; None if the text is refused."""

    why: str
    flags: tuple[str, ...]
    rivals: tuple[str, ...] = ()
    spec: str = "docs/bpe.md#definition"


_BY_PAIR: Final = "docs/bpe.md#by-pair"
_MISSING: Final = "docs/bpe.md#missing-bytes"
_PIECES: Final = "docs/bpe.md#pieces"
_WHOLE: Final = "docs/bpe.md#whole-piece"

_EXAMPLES: Final = (
    _Example(
        "e1-readme-three-tokens",
        "readme",
        "abacb",
        (3, 0, 4),
        "E1: merging gives ab|a|cb. Taking the longest token first gives ab|ac|b instead.",
        ("MergeOrder", "GreedyTrap"),
        ("longest first",),
    ),
    _Example(
        "e1-readme-append-drops-a-token",
        "readme",
        "abacbb",
        (3, 8),
        "E1: one more b after abacb lets acbb arise: two tokens for six letters, three for five.",
        ("MergeOrder", "GreedyTrap", "DeepBacktracking"),
    ),
    _Example(
        "e2-leftmost",
        "doubles",
        "aaa",
        (1, 0),
        "E2: two equal merges compete for the middle letter and the left wins: aa|a, not a|aa.",
        ("LeftmostTie",),
        ("rightmost",),
    ),
    _Example(
        "e3-by-concatenation",
        "triples",
        "aaa",
        (2,),
        "E3: by concatenation aa and a join, since aaa is a token; see e3-by-pair for the twin.",
        ("ByPair", "MergeOrder"),
    ),
    _Example(
        "e3-by-pair",
        "pair_unlisted",
        "aaa",
        (1, 0),
        "E3: by pair aa and a do not join, since only a and aa are listed: aa|a.",
        ("ByPair",),
        ("any spelling",),
        _BY_PAIR,
    ),
    _Example(
        "e3b-by-concatenation",
        "letters_abc",
        "abc",
        (5,),
        "E3': by concatenation ab and c join into abc; the twin by pair has two tokens here.",
        ("ByPair", "MergeOrder"),
    ),
    _Example(
        "e3b-by-pair",
        "pair_unlisted_letters",
        "abc",
        (3, 2),
        "E3': ab is made first, and then only a and bc could make abc: ab|c by pair.",
        ("ByPair",),
        ("any spelling",),
        _BY_PAIR,
    ),
    _Example(
        "e4-best-first-is-not-rule-by-rule",
        "pair_out_of_order",
        "aaa",
        (2,),
        "E4: making aa brings an earlier rule, aa with a, into play; rule by rule stops at aa|a.",
        ("ByPair", "ImproperRank"),
        ("rule by rule",),
        _BY_PAIR,
    ),
    _Example(
        "e5-one-place-at-a-time",
        "pair_out_of_order",
        "aaaa",
        (2, 0),
        "E5: after the first aa the better rule takes aa and a: aaa|a; whole rounds give aa|aa.",
        ("ByPair", "ImproperRank", "OneAtATime"),
        ("whole rounds", "rule by rule"),
        _BY_PAIR,
    ),
    _Example(
        "e6-stale-heap-entry",
        "quadruples",
        "aaaaa",
        (1, 2),
        "E6: aa|aaa; a heap that merges whatever stands where an old entry points gives aaaa|a.",
        ("StaleHeap", "LeftmostTie"),
        ("trusting heap",),
    ),
    _Example(
        "e7-improper-run",
        "improper_run",
        "aaaa",
        (1, 0),
        "E7: aaa|a, but a table of valid pairs that trusts rank order gives a|aaa; its own "
        "self-check passes.",
        ("ImproperRank",),
        ("whole rounds",),
    ),
    _Example(
        "e8-improper-letters",
        "improper_letters",
        "abaa",
        (4, 2),
        "E8: ab|aa, since aa comes first; backtracking that trusts rank order gives aba|a.",
        ("ImproperRank", "DeepBacktracking"),
        ("longest first",),
    ),
    _Example(
        "e9-before-the-last-letter",
        "last_letter_decides",
        f"!{FAR_LETTERS[:-1]}",
        (28, *range(1, 13)),
        "E9, one letter short: nothing but !a joins, so these are thirteen tokens.",
        ("DeepBacktracking",),
    ),
    _Example(
        "e9-the-last-letter-joins-all",
        "last_letter_decides",
        f"!{FAR_LETTERS}",
        (14, 27),
        "E9: the last letter joins all fourteen into one, so two tokens; a count that gives up "
        "at a limit plus ten gave up here.",
        ("DeepBacktracking", "GreedyTrap"),
        ("longest first",),
    ),
    _Example(
        "e10-missing-in-the-middle",
        "missing_bytes",
        "xab",
        None,
        "E10: x has no token; backtracking once answered ab|b for this, silently.",
        ("MissingByte",),
        spec=_MISSING,
    ),
    _Example(
        "e10-missing-at-the-end",
        "missing_bytes",
        "abx",
        None,
        "E10: x has no token; backtracking once answered ab for this and dropped the x.",
        ("MissingByte",),
        spec=_MISSING,
    ),
    _Example(
        "e10-missing-in-between",
        "missing_bytes",
        "axb",
        None,
        "E10: x has no token; backtracking once answered with no tokens at all for this.",
        ("MissingByte",),
        spec=_MISSING,
    ),
    _Example(
        "e10-missing-alone",
        "missing_bytes",
        "x",
        None,
        "E10: the whole text is one byte without a token; no tokens would be silently wrong.",
        ("MissingByte",),
        spec=_MISSING,
    ),
    _Example(
        "e11-pieces-come-first-cl100k",
        "cl100k_base",
        "  !",
        (220, 758),
        "E11: the pattern keeps one space for the sign; merging without pieces joins both spaces.",
        ("Pretokenization", "RealVocabulary"),
        spec=_PIECES,
    ),
    _Example(
        "e11-pieces-come-first-o200k",
        "o200k_base",
        "  !",
        (220, 1073),
        "E11: as with cl100k, the second space belongs to the sign: the shortest text that tells.",
        ("Pretokenization", "RealVocabulary"),
        spec=_PIECES,
    ),
    _Example(
        "e12-whole-piece",
        "shortcut",
        "abc",
        (256,),
        "E12: nothing merges into abc, but the piece is a token and the vocabulary takes it whole.",
        ("WholePiece", "DeadToken"),
        spec=_WHOLE,
    ),
    _Example(
        "e12-no-whole-piece-rule",
        "shortcut_off",
        "abc",
        (97, 98, 99),
        "E12: the same tokens without the whole-piece rule: nothing merges into abc.",
        ("WholePiece", "DeadToken", "GreedyTrap"),
        ("longest first",),
        _WHOLE,
    ),
    _Example(
        "e12-not-the-whole-piece",
        "shortcut",
        "abcd",
        (97, 98, 99, 100),
        "E12: abc is only a part of this piece, so the whole-piece rule does not apply.",
        ("WholePiece", "DeadToken", "GreedyTrap"),
        ("longest first",),
        _WHOLE,
    ),
    _Example(
        "e13-duplicate-merge",
        "pair_duplicate",
        "abc",
        (0, 4),
        "E13: a with b is listed first and last, and the last place counts: a|bc, not ab|c.",
        ("ByPair", "DuplicateMerge"),
        ("first listing",),
        _BY_PAIR,
    ),
)


def drafts() -> Iterator[Draft]:
    """Yield the examples."""
    for example in _EXAMPLES:
        known = refuses("MISSING_BYTE") if example.tokens is None else answers(*example.tokens)
        yield Draft(
            op="encode",
            topic="examples",
            slug=example.slug,
            vocabulary=example.vocabulary,
            request=TextInput(text=example.text),
            why=example.why,
            flags=example.flags,
            spec=example.spec,
            purposes=(known, *fails(*example.rivals)),
        )
