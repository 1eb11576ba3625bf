"""How many tokens, or whether they are too many: without a list of them.

    `count` is the number of tokens that a piece encodes to, and
    `count_till_limit` the same if it is at most the limit, else None.

Source: `count` and `count_till_limit` of GitHub's `bpe` crate
(https://github.com/github/rust-gems/tree/main/crates/bpe). Theirs gives up
when its search holds more than the limit and ten tokens; ten is a guess, and
there is a piece of two tokens on which the search holds more than twelve.

When is it certain that a piece has more tokens than the limit?
    Call a place a *border* if a token of the final encoding ends there. The
    tokens before a border are the encoding of the prefix that ends there. So
    if there is a border b before the end of the piece, the final count is at
    least one more than the count of the prefix of length b.

    Of any `longest` places in a row, as many as the longest token has bytes,
    one is a border: a token that covered them all would be longer. So once
    `longest` prefixes in a row have at least `limit` tokens, and there is a
    byte more, the final count is above the limit. Else the last prefix itself
    tells the final count: its own.

How much is read
    No prefix has less than its length divided by `longest` tokens. So of a
    piece that is too long no more than `limit * longest` bytes are read, and
    one: that there is one more. Ordinarily it is much less.

A smaller window
    A token that covers the place `at` and goes on beyond it starts so many
    bytes before it that what is there up to `at` is the beginning of a longer
    token. The automaton knows the most bytes of which that is true
    (`open_lengths`). So among these last places, and `at` itself, is a border:
    never more than the longest token has bytes, mostly a few. This is the same
    proof with the window that is really needed, and `count_till_limit` uses it.

What the source leaves open
    A byte that is no token and comes after the place where it is certain is
    not read, and so is no error.
"""

from collections import deque
from collections.abc import Iterable, Iterator

from bpe_ref.automata import ROOT, automaton_of_made_tokens, lengths_of_made_tokens
from bpe_ref.compatibility import compatibility, joint_table
from bpe_ref.incremental.checks import as_bytes_given, check_count, raise_for_byte
from bpe_ref.vocabulary import Vocabulary


def count(vocabulary: Vocabulary, piece: Iterable[int]) -> int:
    """Return the number of tokens that a piece encodes to.

    Takes linear time, and as much memory as the longest token needs, however
    long the piece is: `piece` may be anything that yields bytes.

    Raises `SymbolError` for a byte that is not a token of its own.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1})
    >>> count(vocabulary, b"aaaaa")
    3
    """
    tokens = 0
    for tokens, _ in _counts_of_prefixes(vocabulary, piece):  # noqa: B007 - the last one is wanted
        pass
    return tokens


def count_till_limit(vocabulary: Vocabulary, piece: Iterable[int], limit: int) -> int | None:
    """Return the number of tokens that a piece encodes to if it is at most `limit`, else None.

    Reads no further than it must to be certain, see above.

    Raises `ParameterError` for a limit below 0, and `SymbolError` for a byte
    that is read and is not a token of its own.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1})
    >>> count_till_limit(vocabulary, b"aaaa", 2), count_till_limit(vocabulary, b"aaaaa", 2)
    (2, None)
    """
    check_count("limit", limit, 0)
    at = tokens = window = 0
    few_at = 0 if limit else -1  # the last place whose prefix has fewer tokens than the limit
    for following, open_length in _counts_of_prefixes(vocabulary, piece):
        # There is a byte behind `at`: it was just read.
        if few_at < at - window:
            return None
        at, tokens, window = at + 1, following, open_length
        if tokens < limit:
            few_at = at
    return tokens if tokens <= limit else None


def _counts_of_prefixes(vocabulary: Vocabulary, piece: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield, for each prefix but the empty one, its count, and how far back a token may begin.

    `letters`, `last_tokens` and `counts` go back as far as the longest token
    and the letter before it: no seam is looked at that lies further back.
    """
    automaton = vocabulary.remember(automaton_of_made_tokens)
    lengths = vocabulary.remember(lengths_of_made_tokens)
    compatible, crossed = vocabulary.remember(compatibility), vocabulary.remember(joint_table)
    kept = max(lengths, default=0) + 1
    letters: deque[int] = deque(maxlen=kept)
    last_tokens: deque[int] = deque([-1], maxlen=kept)
    counts: deque[int] = deque([0], maxlen=kept)
    known = set(map(ord, vocabulary.symbol_of_letter))
    state = ROOT
    for at, byte in enumerate(as_bytes_given("piece", piece)):
        if type(byte) is not int or byte not in known:
            raise_for_byte(byte, at)
        state = automaton.step(state, byte)
        letters.append(byte)
        token = automaton.ends[state]
        back = lengths[token]
        while (
            back <= at
            and crossed[letters[-back - 1] << 8 | letters[-back]]
            and not compatible(last_tokens[-back], token)
        ):
            token = automaton.shorter[token]
            back = lengths[token]
        counts.append(counts[-back] + 1)
        last_tokens.append(token)
        yield counts[-1], automaton.open_lengths[state]
