"""Every small vocabulary, every short text, every encoder: nothing is sampled here.

The sweeps are plain loops, because a call per case would be most of their
cost. About a minute in all.
"""

from collections.abc import Iterator
from itertools import permutations, product

from bpe_ref import Vocabulary, vocabulary_by_concatenation, vocabulary_by_pair
from bpe_ref.encoders import ENCODERS, NOT_BPE
from bpe_ref.encoders.naive import encode_naive

LONGEST_TEXT = 6
TEXTS = [
    bytes(letters)
    for length in range(LONGEST_TEXT + 1)
    for letters in product(b"ab", repeat=length)
]
"""All texts over {a, b} of up to six letters, by rising length: 127."""

SYMBOLS = [[b"ab".index(letter) for letter in text] for text in TEXTS]
"""The same as symbols: in all the vocabularies here a is 0 and b is 1."""

WORDS = [bytes(letters) for length in (2, 3, 4) for letters in product(b"ab", repeat=length)]
"""All words over {a, b} of two to four letters: 28."""

CLEVER = {name: encode for name, encode in ENCODERS.items() if name not in {*NOT_BPE, "naive"}}

Encodings = dict[bytes, list[int]]
"""Every text, by rising length, and its encoding by definition."""

Parts = tuple[bytes, ...]


def ways_to_cut(text: bytes) -> list[Parts]:
    """Return all sequences of non-empty parts of a text, those with longer parts first first."""
    if not text:
        return [()]
    return [
        (text[:length], *rest)
        for length in range(len(text), 0, -1)
        for rest in ways_to_cut(text[length:])
    ]


def small_vocabularies() -> Iterator[tuple[Parts, Vocabulary]]:
    """Yield all vocabularies of a, b and up to three longer tokens, in every order of these."""
    for count in range(4):
        for words in permutations(WORDS, count):
            tokens = (b"a", b"b", *words)
            ranks = {token: rank for rank, token in enumerate(tokens)}
            yield tokens, vocabulary_by_concatenation(ranks)


def first_that_fits(ways: list[Parts], tokens: frozenset[bytes]) -> Parts:
    """Return the first way to cut a text into these tokens only."""
    return next(parts for parts in ways if tokens.issuperset(parts))


def check_encoders(vocabulary: Vocabulary, tokens: Parts) -> Encodings:
    """Check every encoder of BPE on every text; return the encodings."""
    encodings: Encodings = {}
    for text, symbols in zip(TEXTS, SYMBOLS, strict=True):
        expected = encode_naive(vocabulary, symbols)
        for name, encode in CLEVER.items():
            assert encode(vocabulary, symbols) == expected, (name, tokens, text)
        encodings[text] = expected
    return encodings


def check_matching(
    vocabulary: Vocabulary, tokens: Parts, ways: dict[str, list[list[Parts]]]
) -> None:
    """Check greedy and minimal matching on every text.

    By exhaustion: of all `ways` to cut the text into tokens, sorted as the definition prefers
    them, the first.
    """
    ids, known = {token: place for place, token in enumerate(tokens)}, frozenset(tokens)
    for name, preferred in ways.items():
        for text, symbols, sorted_ways in zip(TEXTS, SYMBOLS, preferred, strict=True):
            expected = [ids[part] for part in first_that_fits(sorted_ways, known)]
            assert ENCODERS[name](vocabulary, symbols) == expected, (name, tokens, text)


def check_parts(tokens: Parts, encodings: Encodings) -> None:
    """Check corollaries I, II and IIa.

    I
        The encoding of a text spells it. So it is valid, and any other
        spelling of the text is not: that one encodes to this one.
    II
        Without its first or its last token a valid sequence is valid, and so
        by induction is every part of it. This is IIa as well: the last (or
        first) token and the text determine the rest, which is the encoding
        of the rest of the text.
    """
    for text, encoded in encodings.items():
        assert b"".join([tokens[token] for token in encoded]) == text, ("I", tokens, text)
        if encoded:
            after = text[len(tokens[encoded[0]]) :]
            assert encodings[after] == encoded[1:], ("II, first", tokens, text)
            before = text[: len(text) - len(tokens[encoded[-1]])]
            assert encodings[before] == encoded[:-1], ("II, last", tokens, text)


def check_extensions(tokens: Parts, encodings: Encodings) -> None:
    """Check corollary IIIa: a valid pair extends a valid sequence."""
    for last, sequences in group(encodings, -1).items():
        for token, content in enumerate(tokens):
            pair = tokens[last] + content
            if len(pair) <= LONGEST_TEXT and encodings[pair] == [last, token]:
                for text, encoded in sequences:
                    if len(text) + len(content) > LONGEST_TEXT:
                        break
                    assert encodings[text + content] == [*encoded, token], ("IIIa", tokens, text)


def check_compositions(tokens: Parts, encodings: Encodings) -> None:
    """Check corollary III: two valid sequences that share a token are valid together."""
    starting = group(encodings, 0)
    for shared, sequences in group(encodings, -1).items():
        length = len(tokens[shared])
        rests = [(text[length:], encoded[1:]) for text, encoded in starting.get(shared, ())]
        for text, encoded in sequences:
            room = LONGEST_TEXT - len(text)
            for rest, rest_encoded in rests:
                if len(rest) > room:
                    break
                assert encodings[text + rest] == encoded + rest_encoded, ("III", tokens, text)


def group(encodings: Encodings, place: int) -> dict[int, list[tuple[bytes, list[int]]]]:
    """Return texts and encodings by the token at one place, still by rising length."""
    groups: dict[int, list[tuple[bytes, list[int]]]] = {}
    for text, encoded in encodings.items():
        if encoded:
            groups.setdefault(encoded[place], []).append((text, encoded))
    return groups


def test_all_encoders_and_corollaries_hold_for_every_small_vocabulary_and_text() -> None:
    """All 20,441 vocabularies of up to three longer tokens, all 127 texts."""
    longest_first = [ways_to_cut(text) for text in TEXTS]
    fewest_first = [sorted(ways, key=len) for ways in longest_first]  # stable
    ways = {"greedy": longest_first, "minimal": fewest_first}
    matched: set[frozenset[bytes]] = set()
    count = 0
    for tokens, vocabulary in small_vocabularies():
        if frozenset(tokens) not in matched:  # these encoders do not look at ranks
            matched.add(frozenset(tokens))
            check_matching(vocabulary, tokens, ways)
        encodings = check_encoders(vocabulary, tokens)
        check_parts(tokens, encodings)
        check_extensions(tokens, encodings)
        check_compositions(tokens, encodings)
        count += 1
    assert count == 20_441


def test_all_encoders_agree_for_every_set_of_merges_of_one_letter() -> None:
    """All subsets of the ten merges into aa .. aaaaa, in four orders each, runs up to 12.

    The method is that of mtc-inc-bpe: runs of one letter are where merges
    compete most.
    """
    runs = [b"a" * length for length in range(13)]
    ids = {run: place for place, run in enumerate(runs[1:6])}
    merges = [(runs[i], runs[j]) for i in range(1, 5) for j in range(1, 6 - i)]
    assert len(merges) == 10
    count = 0
    for kept in product([False, True], repeat=len(merges)):
        subset = [merge for merge, keep in zip(merges, kept, strict=True) if keep]
        middle = len(subset) // 2
        orders = (
            subset,
            subset[::-1],
            subset[middle:] + subset[:middle],
            subset[1::2] + subset[::2],
        )
        for ordered in orders:
            vocabulary = vocabulary_by_pair(ids, ordered)
            for run in runs:
                symbols = vocabulary.symbols(run)
                expected = encode_naive(vocabulary, symbols)
                for name, encode in CLEVER.items():
                    assert encode(vocabulary, symbols) == expected, (name, ordered, run)
            count += 1
    assert count == 4096
    known = frozenset(ids)
    vocabulary = vocabulary_by_pair(ids, ())  # greedy and minimal do not look at merges
    for run in runs:
        ways = ways_to_cut(run)
        symbols = vocabulary.symbols(run)
        for name, sorted_ways in (("greedy", ways), ("minimal", sorted(ways, key=len))):
            expected = [ids[part] for part in first_that_fits(sorted_ways, known)]
            assert ENCODERS[name](vocabulary, symbols) == expected
