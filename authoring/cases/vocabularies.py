"""The vocabularies that come with the fixtures: `tiny`, and small ones that are odd on purpose.

A trained vocabulary hides most mistakes: its tokens were made in rank order,
each from two earlier ones, and its ids are its ranks. Each vocabulary here
breaks one such habit, and its `why` says which. Those of a few letters have no
pattern, so that a text is one piece and nothing but the merging is in question.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Final

from bpe_ref import TextRules, Vocabulary, vocabulary_by_concatenation, vocabulary_by_pair
from bpe_ref.formats.plain_json import NamedVocabulary
from bpe_ref.registry import REGISTRY
from bpe_ref.tiny import tiny_vocabulary
from bpe_ref.vocabulary.merges import ByConcatenation

REAL_NAMES: Final = ("cl100k_base", "o200k_base")
"""Vocabularies that cases use and that are too large to ship; they are found by name."""

ORIGINAL_CL100K_PATTERN: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The cl100k pattern as OpenAI first published it; tiktoken has since written it otherwise."""

RUN_ORDERS: Final[Mapping[str, Sequence[int]]] = MappingProxyType(
    {
        "runs_rising": (1, 2, 3, 4, 5, 6, 7),
        "runs_falling": (1, 7, 6, 5, 4, 3, 2),
        "runs_powers": (1, 2, 4, 8, 16),
        "runs_fibonacci": (1, 2, 3, 5, 8, 13),
        "runs_odd_first": (1, 3, 2, 5, 4),
        "runs_three_first": (1, 2, 3, 6, 4, 9),
    }
)
"""The lengths of the tokens of one letter, in rank order."""

FAR_LETTERS: Final = "abcdefghijklmn"
"""The letters of `last_letter_decides`, the vocabulary of example E9."""

PARITY_LETTERS: Final = "abcdefghijklmnopqrstuvwx"

LENGTHS_OF_TOKENS: Final = (64, 65, 100, 101, 128, 129, 256, 257, 512, 513, 1000, 1024, 2048, 4096)
"""Lengths of tokens of `longer_tokens`, at and beyond those at which a buffer may end."""

BRANCHES: Final[Mapping[str, int]] = MappingProxyType({"a": 64, "b": 100, "c": 128, "d": 256})
"""How many longer tokens of `branches` begin with two of a letter."""

PAIRED_CHARACTERS: Final = " \n\raA1'sS.\t"
"""The characters of `all_pairs`: one or two of each kind that a pattern knows."""

MANY_SPECIALS: Final = tuple(f"<|{number}|>" for number in range(300))
"""The special tokens of `specials_many`: more than a byte can count."""

_RUN_WHYS: Final = {
    "runs_rising": "Runs of one letter, shorter ones first: every pair ties with its neighbours.",
    "runs_falling": "Runs of one letter, the longest ranks first although it is made last.",
    "runs_powers": "Runs of 1, 2, 4, 8 and 16 letters: a text is cut as its length in binary.",
    "runs_fibonacci": "Runs of Fibonacci lengths: 8 and 13 are sums of two others, yet dead.",
    "runs_odd_first": "Runs in which a longer one ranks before the shorter one that makes it.",
    "runs_three_first": "Runs in which 6 ranks before the 4 that it is made from; 9 comes last.",
}


def ranked(
    tokens: Iterable[str | bytes],
    *,
    text: TextRules | None = None,
    specials: Mapping[str, int] | None = None,
) -> Vocabulary:
    """Return a vocabulary by concatenation whose ids and ranks are the places in the list."""
    listed = [token.encode() if isinstance(token, str) else token for token in tokens]
    ranks = {token: rank for rank, token in enumerate(listed)}
    return vocabulary_by_concatenation(ranks, text=text, special_tokens=specials)


def _spelled(tokens: str, *, text: TextRules | None = None) -> Vocabulary:
    """Return a vocabulary as `ranked` does; `tokens` is written "a b ab"."""
    return ranked(tokens.split(), text=text)


def _paired(tokens: str, merges: str) -> Vocabulary:
    """Return a vocabulary by pair; `merges` is written "a+b a+bc"."""
    ids = {token.encode(): token_id for token_id, token in enumerate(tokens.split())}
    pairs = [merge.encode().split(b"+") for merge in merges.split()]
    return vocabulary_by_pair(ids, [(left, right) for left, right in pairs])


def _numbered(numbers: Mapping[str, int]) -> Vocabulary:
    """Return a vocabulary by concatenation with these numbers as ids and ranks."""
    return vocabulary_by_concatenation({token.encode(): n for token, n in numbers.items()})


def _all_bytes() -> list[bytes]:
    return [bytes([byte]) for byte in range(256)]


def _with_specials(texts: Sequence[str], tokens: Sequence[str] = ()) -> Vocabulary:
    """Return a vocabulary of all bytes and some tokens, with special tokens from id 1000 on."""
    specials = {text: token for token, text in enumerate(texts, start=1000)}
    words = [token.encode() for token in tokens]
    return ranked([*_all_bytes(), *words], text=TextRules(r"\w+|\W"), specials=specials)


def _tiny_as(text: TextRules) -> Vocabulary:
    """Return the tokens of tiny under other rules."""
    tiny = tiny_vocabulary()
    assert isinstance(tiny.rule, ByConcatenation)  # noqa: S101 - it says so
    ranks = {content: tiny.rule.ranks[token] for token, content in tiny.tokens.items()}
    ids = {content: token for token, content in tiny.tokens.items()}
    return vocabulary_by_concatenation(
        ranks, ids=ids, text=text, special_tokens=tiny.special_tokens
    )


def _tinies() -> list[NamedVocabulary]:
    """Return tiny, and its tokens under other rules."""
    rules = tiny_vocabulary().text
    r50k, o200k = REGISTRY["r50k_base"].pattern, REGISTRY["o200k_base"].pattern
    variants = {
        "tiny": (
            "2,000 trained tokens under the cl100k pattern: the everyday case, whole pieces first.",
            rules,
        ),
        "tiny_merging": (
            "The tokens of tiny without the whole-piece rule; none is dead, so nothing differs.",
            replace(rules, whole_piece=False),
        ),
        "tiny_r50k": (
            "The tokens of tiny under GPT-2's pattern: digits in one run, no case folding.",
            replace(rules, pattern=r50k),
        ),
        "tiny_o200k": (
            "The tokens of tiny under the o200k pattern: words are cut where lower case ends.",
            replace(rules, pattern=o200k),
        ),
        "tiny_original_cl100k": (
            "The tokens of tiny under the first spelling of cl100k's pattern: other line ends.",
            replace(rules, pattern=ORIGINAL_CL100K_PATTERN),
        ),
        "tiny_nfc": (
            "The tokens of tiny behind NFC: a letter and its accent become one character first.",
            replace(rules, normalization="nfc"),
        ),
        "tiny_pieces": (
            "The tokens of tiny without a pattern: each text is one piece, cut in advance.",
            TextRules(),
        ),
    }
    return [NamedVocabulary(name, why, _tiny_as(text)) for name, (why, text) in variants.items()]


def _merging() -> dict[str, tuple[str, Vocabulary]]:
    """Return the vocabularies of a few letters that merge by concatenation."""
    far, parity = FAR_LETTERS, PARITY_LETTERS
    suffixes = [far[start:] for start in range(len(far) - 2, -1, -1)]
    couples = [parity[start : start + 2] for start in range(len(parity) - 2, -1, -1)]
    doubling = [letter * 2**power for power in range(9) for letter in "ab"]
    return {
        "readme": (
            "The example of the README of GitHub's bpe: one more letter can make the count drop.",
            _spelled("a b c ab cb ac bb cbb acbb"),
        ),
        "doubles": (
            "The smallest vocabulary in which two equal merges compete for one letter.",
            ranked(["a", "aa"]),
        ),
        "triples": (
            "Runs of up to three letters by concatenation; the twin of pair_unlisted.",
            ranked(["a", "aa", "aaa"]),
        ),
        "quadruples": (
            "Runs of up to four letters, where a heap meets entries that have become stale.",
            ranked(["a", "aa", "aaa", "aaaa"]),
        ),
        "letters_abc": (
            "Three letters whose word can be made in two ways; the twin of pair_unlisted_letters.",
            _spelled("a b c ab bc abc"),
        ),
        "improper_run": (
            "aaa ranks before the aa that it is made from, which defeats tables of valid pairs.",
            ranked(["a", "aaa", "aa"]),
        ),
        "improper_letters": (
            "aba ranks before the ab that it is made from, which defeats backtracking encoders.",
            _spelled("a b aa aba ab"),
        ),
        "nontopological": (
            "Every token ranks before the parts that it is made from, three levels deep.",
            _spelled("a b babab abab bab ab ba"),
        ),
        "ambiguous_splits": (
            "Every long token can be cut into two tokens in several ways; one way alone is taken.",
            _spelled("a b ab ba aba bab abab baba"),
        ),
        "tokens_in_all_sizes": (
            "All words of two letters over a and b, then some of three, so that every pair merges.",
            _spelled("a b bb ba ab aa aab bba"),
        ),
        "dead_tokens": (
            "abab, abc and bbb never arise: another merge comes first, or a part is missing.",
            _spelled("a b c ba abab abc bbb"),
        ),
        "dead_tokens_whole": (
            "The same dead tokens, but a piece that is one of them is taken whole.",
            _spelled("a b c ba abab abc bbb", text=TextRules(whole_piece=True)),
        ),
        "last_letter_decides": (
            "A text falls apart letter by letter until its last one comes and joins all of them.",
            ranked([*far, "!", *suffixes, "!a"]),
        ),
        "parity_from_the_right": (
            "Couples of letters, the last ones first: each further letter changes every token.",
            ranked([*parity, *couples]),
        ),
        "long_token": (
            "Tokens of 128, 255, 256, 257 and 300 bytes: more than a byte can count.",
            ranked(
                [
                    *doubling,
                    *("a" * length for length in (288, 296, 300)),
                    *("b" * length for length in (257,)),
                    *("c" * 2**power for power in range(8)),
                    *("c" * (256 - 2**power) for power in range(6, -1, -1)),
                ]
            ),
        ),
        "holes": (
            "Ids with gaps between them, also at 0, as where a file leaves a line out.",
            _numbered({"a": 2, "b": 3, "c": 7, "ab": 11, "bc": 12, "abc": 30, "cab": 31}),
        ),
        "high_ranks": (
            "Ranks that become others if cut to 8, 9, 16 or 24 bits, or kept as 32-bit floats.",
            _numbered(
                {
                    **{letter: place for place, letter in enumerate("abcdefghijklmnop")},
                    "bc": 0x0150,
                    "ab": 0x0201,  # lower than bc in 8 and in 9 bits
                    "ef": 0xFFFF,
                    "de": 0x1_0004,  # lower than ef in 16 bits
                    "hi": 0x20_0000,
                    "gh": 0x100_0008,  # lower than hi in 24 bits
                    "kl": 0x100_0010,
                    "jk": 0x100_0011,  # equal to kl as a 32-bit float
                    "no": 0x7FFF_FFF0,
                    "mn": 0x7FFF_FFF1,
                }
            ),
        ),
        "ranks_beyond_i32": (
            "Ranks and ids from 2 to the 31st on, which signed 32-bit numbers turn negative.",
            _numbered({"a": 0, "b": 1, "c": 2, "bc": 0x7FFF_FFFF, "ab": 0x8000_0000}),
        ),
        "improper_outside": (
            "ab ranks after both tokens that it helps to make, which a rising queue has passed.",
            _spelled("x a b y aby xab ab"),
        ),
        "dead_runs_whole": (
            "Runs of 16 and 40 letters that only a whole piece can be, among shorter ones.",
            ranked(["a", "a" * 16, "aa", "a" * 40], text=TextRules(whole_piece=True)),
        ),
        "zero_bytes": (
            "Tokens with zero bytes at either end and inside, where C would end a string.",
            ranked(["\0", "a", "\0\0", "a\0", "\0a", "a\0a"]),
        ),
        "end_of_text": (
            "A pattern that asks for the end of the text, which is not before a last line end.",
            ranked(["a", "\n", "aa", "aaa"], text=TextRules(r"a+$|a|\n")),
        ),
        "one_letter": ("A single token, of one byte: nothing ever merges.", ranked(["a"])),
        "all_pairs": (
            "Every pair of some characters is a token: text that is cut otherwise merges otherwise.",
            ranked(
                [
                    *PAIRED_CHARACTERS,
                    *(one + other for one in PAIRED_CHARACTERS for other in PAIRED_CHARACTERS),
                ],
                text=TextRules(REGISTRY["cl100k_base"].pattern),
            ),
        ),
        "longer_tokens": (
            "Tokens of up to 4,096 bytes: at and beyond the lengths at which buffers end.",
            ranked([*_long_runs("d"), "e"]),
        ),
        "branches": (
            "Letters that begin 64 to 256 tokens of three or four letters, and some more.",
            ranked(_branches()),
        ),
    }


def _long_runs(letter: str) -> Iterator[str]:
    """Yield runs of a letter in rank order: powers of two, and what sums of them make."""
    for power in range(13):
        yield letter * 2**power
    for length in (65, 96, 100, 101, 129, 257, 513, 768, 896, 960, 992, 1000):
        yield letter * length


def _branches() -> Iterator[str]:
    """Yield letters, then tokens that begin with aa, with bb, and so on, more of each."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    yield from letters
    yield from (letter * 2 for letter in BRANCHES)
    for letter, count in BRANCHES.items():
        ends = [one + other for one in letters for other in ("", *letters)]
        yield from (letter * 2 + end for end in ends[:count])


def _shuffled() -> Vocabulary:
    """Return a vocabulary whose ids are in another order than its ranks."""
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abc": 5, b"cab": 6}
    ids = {b"a": 6, b"b": 5, b"c": 4, b"bc": 3, b"ab": 2, b"abc": 1, b"cab": 0}
    return vocabulary_by_concatenation(ranks, ids=ids)


def _pairs() -> dict[str, tuple[str, Vocabulary]]:
    """Return the vocabularies that merge by pair."""
    return {
        "pair_unlisted": (
            "By pair, a joins aa but aa does not join a, although both spell the token aaa.",
            _paired("a aa aaa", "a+a a+aa"),
        ),
        "pair_unlisted_letters": (
            "By pair, abc is made from a and bc only, but ab is made first.",
            _paired("a b c ab bc abc", "a+b b+c a+bc"),
        ),
        "pair_out_of_order": (
            "By pair, aa joins a before aa itself is made: rule by rule is not best first.",
            _paired("a aa aaa", "aa+a a+a"),
        ),
        "pair_duplicate": (
            "By pair, one merge is listed twice, and its last place counts.",
            _paired("a b c ab bc", "a+b b+c a+b"),
        ),
        "pair_two_ways": (
            "By pair, one token is made from two pairs of different rank.",
            _paired("a b ab ba aba", "b+a a+b a+ba ab+a"),
        ),
        "pair_hashes": (
            "By pair, merges of hashes, which a reader of merge files may take for comments.",
            _paired("# v ## #v ##v", "#+# #+v ##+v"),
        ),
        "pair_ids_beyond_u32": (
            "By pair, with an id beyond 32 bits: b and c have the packed key of a and b.",
            vocabulary_by_pair({b"b": 0, b"a": 1, b"c": 1 << 32, b"ab": 2}, [(b"a", b"b")]),
        ),
        "pair_no_merges": (
            "By pair with an empty list: tokens of two letters exist, but nothing makes them.",
            _paired("a b ab", ""),
        ),
    }


def _bytes() -> dict[str, tuple[str, Vocabulary]]:
    """Return the vocabularies about bytes, pieces, and the text that they spell."""
    parts = ["e4bd", "bda0", "a0e5", "e5a5", "a5bd", "f09f", "9f98", "9880", "98", "c3a9", "a9c3"]
    split = [bytes.fromhex(part) for part in parts if len(part) > 2]
    return {
        "missing_bytes": (
            "Only the bytes of a and b have tokens, so nearly every other text cannot be encoded.",
            ranked(["a", "b", "ab"]),
        ),
        "missing_bytes_whole": (
            "A token of two bytes that have no tokens themselves: it is a whole piece or nothing.",
            ranked(["a", "b", "ab", "\u00e9"], text=TextRules(whole_piece=True)),
        ),
        "shortcut": (
            "All bytes and abc, which no merge makes but which is taken as a whole piece.",
            ranked([*_all_bytes(), b"abc"], text=TextRules(whole_piece=True)),
        ),
        "shortcut_off": (
            "All bytes and abc, which no merge makes and which is therefore dead.",
            ranked([*_all_bytes(), b"abc"]),
        ),
        "byte_order": (
            "All bytes in reverse: the id of a byte is not its value, as in GPT-2's vocabulary.",
            ranked(reversed(_all_bytes())),
        ),
        "utf8_parts": (
            "Tokens that cut characters of two, three and four bytes, and that join two of them.",
            ranked([*_all_bytes(), *split]),
        ),
        "specials_half_eaten": (
            "A token that ends with what the special token begins with.",
            ranked([*_all_bytes(), b"a<"], specials={"<|end|>": 300}),
        ),
        "loop_of_parts": (
            "A token that neither starts nor ends at a character, and can go on for ever.",
            ranked([*_all_bytes(), b"\xbd\xa0", b"\xbd\xa0\xe4"]),
        ),
        "only_lowercase": (
            "A pattern that covers lower-case letters only: the rest of a text has no piece.",
            _spelled("a b c d ab bc cd abcd", text=TextRules("[a-z]+")),
        ),
    }


def _specials() -> dict[str, tuple[str, Vocabulary]]:
    """Return the vocabularies with special tokens that are easily confused."""
    return {
        "specials_prefix": (
            "Special tokens that begin with one another: the longest at a place must win.",
            _with_specials(["<|a|>", "<|a|><|b|>", "<|b|>", "<|a|><"]),
        ),
        "specials_ordinary": (
            "Special tokens whose texts are ordinary tokens too, under other ids.",
            _with_specials(["abc", "ab", "\n"], ["ab", "abc", "bc"]),
        ),
        "specials_unicode": (
            "Special tokens beyond ASCII, some of which are canonically equivalent.",
            _with_specials(["\u00abend\u00bb", "\u6587\u672b", "\U0001f6d1", "\u00e9", "e\u0301"]),
        ),
        "specials_metacharacters": (
            "Special tokens full of characters that mean something in a regular expression.",
            _with_specials(["[x]", "a.c", "$^", "(?i)", "\\d", ".*", "a|b", "#"]),
        ),
        "specials_overlapping": (
            "Special tokens of which the end of one is the beginning of another.",
            _with_specials(["<ab>", "b><c", "<c>", "<<ab>>"]),
        ),
        "specials_many": (
            "Three hundred special tokens, and runs of one letter between them.",
            ranked(
                [*"<|>0123456789", *("a" * 2**power for power in range(13)), "b", "ab"],
                specials={name: 1000 + number for number, name in enumerate(MANY_SPECIALS)},
            ),
        ),
        "specials_nfc": (
            "Special tokens next to NFC: one is not in NFC itself, one is what others become by it.",
            ranked(
                [*_all_bytes(), "\u00e9", "\u00f4", "<\u00e9"],
                text=TextRules(r"\p{L}\p{M}*|.|\n", normalization="nfc"),
                specials={
                    "<\u00e9>": 1000,
                    "<o\u0302>": 1001,
                    "\u212b": 1002,
                    "<x>": 1003,
                    "\u0301": 1004,
                },
            ),
        ),
        "specials_shared": (
            "Two special tokens with one id, which decodes to the first, as in o200k_harmony.",
            ranked(
                [*_all_bytes()],
                text=TextRules(r"\w+|\W"),
                specials={"<|end|>": 300, "<|reserved|>": 300, "<|start|>": 301},
            ),
        ),
    }


@cache
def fixture_vocabularies() -> Mapping[str, NamedVocabulary]:
    """Return every vocabulary that is shipped with the fixtures, by name.

    >>> dict(fixture_vocabularies()["doubles"].vocabulary.tokens)
    {0: b'a', 1: b'aa'}
    """
    described = {
        **{
            name: (_RUN_WHYS[name], ranked("a" * length for length in lengths))
            for name, lengths in RUN_ORDERS.items()
        },
        **_merging(),
        "shuffled_ids": (
            "Ids in the reverse order of ranks, so that taking one for the other shows.",
            _shuffled(),
        ),
        **_pairs(),
        **_bytes(),
        **_specials(),
    }
    odd = [NamedVocabulary(name, why, vocabulary) for name, (why, vocabulary) in described.items()]
    return MappingProxyType({named.name: named for named in [*_tinies(), *odd]})


def vocabulary_named(name: str) -> Vocabulary:
    """Return a vocabulary that is shipped with the fixtures.

    >>> len(vocabulary_named("readme").tokens)
    9
    """
    return fixture_vocabularies()[name].vocabulary
