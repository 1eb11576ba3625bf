"""Mutants that count parts of a text wrongly, or cut it in the wrong place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Final, TypeAlias

from authoring.mutants.growing import encoded
from authoring.mutants.mutant import Mutant, Witness, bytewise, mutant, replacing_tool, spelled
from bpe_ref import ENCODERS, ParameterError, Tokenizer, Vocabulary
from tokenref.engines.reference import ReferenceEngine, Tools, cut, till_limit

CountPart: TypeAlias = Callable[[Vocabulary, bytes, int, int], int]
"""Counts the tokens of a part: of the vocabulary, the piece, start and stop."""

# ---- intervals


def _borders(vocabulary: Vocabulary, piece: bytes) -> list[int]:
    """Return where the tokens of a piece end, with 0 in front."""
    sizes = (len(vocabulary.tokens[token]) for token in encoded(vocabulary, piece))
    return list(accumulate(sizes, initial=0))


# ---- limits


# ---- splits


def _count(tokenizer: Tokenizer, text: str) -> int:
    return len(tokenizer.encode(text))


def _refusing(found: int, text: str, most: int) -> int:
    if found == 0 and text:
        raise ParameterError("most", most, "must be enough for one character")
    return found


# ---- chunks


# ---- witnesses

_RUNS: Final = "a aa aaa aaaa"


def part_counts(tokens: str, piece: str, *ranges: tuple[int, int]) -> Witness:
    """Return the witness "how many tokens have these ranges".

    >>> part_counts("a", "aa", (0, 1)).request
    {'bytes': '6161', 'ranges': [[0, 1]]}
    """
    request = {"bytes": piece.encode().hex(), "ranges": [list(part) for part in ranges]}
    return Witness(spelled(tokens), "intervals", request)


def at_most(vocabulary: Vocabulary, text: str, limit: int) -> Witness:
    """Return the witness "how many tokens, if not too many"."""
    return Witness(vocabulary, "limit", {"text": text, "limit": limit})


def beginning(vocabulary: Vocabulary, text: str, most: int) -> Witness:
    """Return the witness "the longest beginning with at most `most` tokens"."""
    return Witness(vocabulary, "split", {"text": text, "most": most})


def chunked(vocabulary: Vocabulary, text: str, most: int, overlap: int = 0) -> Witness:
    """Return the witness "the chunks of at most `most` tokens"."""
    return Witness(vocabulary, "chunks", {"text": text, "most": most, "overlap": overlap})


def far_letters() -> Vocabulary:
    """Return example E9: a text falls apart until its last letter joins all of them."""
    letters = "abcdefghijklmn"
    ends = [letters[at:] for at in range(len(letters) - 2, -1, -1)]
    return spelled(" ".join([*letters, "!", *ends, "!a"]))


def _special() -> Vocabulary:
    return bytewise(r"\w+|\W", special_tokens={"<|end|>": 300})


@dataclass(frozen=True)
class WrongCounter:
    """Counts parts of a piece by a rule: of the vocabulary, the piece, start and stop."""

    rule: CountPart
    vocabulary: Vocabulary
    piece: bytes

    def count(self, start: int, stop: int) -> int:
        """Return the number that the rule gives."""
        return self.rule(self.vocabulary, self.piece, start, stop)


def interval(witness: Witness) -> Callable[[CountPart], Mutant]:
    """Return a decorator: the function counts the tokens of a part of a piece."""

    def engine(label: str, rule: CountPart) -> ReferenceEngine:
        return ReferenceEngine(label, tools=Tools(interval_counter=partial(WrongCounter, rule)))

    return mutant(witness, engine)


@interval(part_counts("a aa", "aa", (1, 2)))
def interval_prefix_difference(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    """The count of the longer beginning less that of the shorter one, as if counts added up."""
    return len(encoded(vocabulary, piece[:stop])) - len(encoded(vocabulary, piece[:start]))


@interval(part_counts("a aa", "aa", (0, 1)))
def interval_suffix_difference(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    """The count of the longer end less that of the shorter one."""
    return len(encoded(vocabulary, piece[start:])) - len(encoded(vocabulary, piece[stop:]))


@interval(part_counts("a aa", "aa", (0, 1)))
def interval_tokens_inside(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    """The tokens of the whole piece that lie inside the range."""
    borders = _borders(vocabulary, piece)
    pairs = pairwise(borders)
    return sum(start <= first and last <= stop for first, last in pairs)


@interval(part_counts("a aa", "aa", (1, 1)))
def interval_tokens_touched(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    """The tokens of the whole piece that the range touches."""
    borders = _borders(vocabulary, piece)
    pairs = pairwise(borders)
    return sum(first < stop and start < last for first, last in pairs)


@interval(part_counts("a aa aaa", "aaaaaa", (0, 6)))
def interval_first_common_border(
    vocabulary: Vocabulary, piece: bytes, start: int, stop: int
) -> int:
    """At the first border that a search from the start and the whole piece's encoding share, the
    rest is taken for known; but only an equal token makes them agree.
    """
    ends = _borders(vocabulary, piece[:stop])
    symbols = vocabulary.symbols(piece[start:stop])
    own = ENCODERS["greedy"](vocabulary, symbols)
    at = start
    for number, token in enumerate(own, start=1):
        at += len(vocabulary.tokens[token])
        if at in ends:
            return number + len(ends) - 1 - ends.index(at)
    return len(own)


@interval(part_counts("a b c bc abc", "abc", (0, 2)))
def interval_looking_beyond(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    """The encoder reads on behind the end of the range."""
    at, count = start, 0
    for token in encoded(vocabulary, piece[start:]):
        if at >= stop:
            break
        at += len(vocabulary.tokens[token])
        count += 1
    return count


@interval(part_counts("a", "aa", (0, 1)))
def interval_stop_included(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    """The byte at the stop is counted too."""
    return len(encoded(vocabulary, piece[start : stop + 1]))


@interval(part_counts("a", "aa", (1, 1)))
def interval_never_empty(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    """An empty range has one token."""
    return max(1, len(encoded(vocabulary, piece[start:stop])))


def _most_of_beginnings(tokenizer: Tokenizer, text: str) -> int:
    """Return how many tokens the beginning of a text has that has the most."""
    growing = tokenizer.growing(special="ordinary")
    counts = [growing.count]
    for character in text:
        growing.push(character)
        counts.append(growing.count)
    return max(counts)


@replacing_tool("till_limit", at_most(far_letters(), "!abcdefghijklmn", 2))
def limit_ten_more(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    """The search gives up ten tokens above the limit, a guess that GitHub's bpe makes: a text of
    two tokens is refused with a limit of two.
    """
    over = limit + 10
    return (
        None if _most_of_beginnings(tokenizer, text) > over else till_limit(tokenizer, text, limit)
    )


@replacing_tool("till_limit", at_most(spelled("a aa aaaa"), "aaaa", 1))
def limit_some_beginning(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    """The text is given up as soon as some beginning of it has more tokens."""
    most = _most_of_beginnings(tokenizer, text)
    return None if most > limit else tokenizer.count(text, special="ordinary")


@replacing_tool("till_limit", at_most(spelled("a"), "aa", 2))
def limit_excluded(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    """Exactly as many tokens as the limit are too many."""
    found = tokenizer.count(text, special="ordinary")
    return found if found < limit else None


@replacing_tool("till_limit", at_most(bytewise(r"\w+|\W"), "ab cd", 2))
def limit_per_piece(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    """Each piece is compared with the limit instead of their sum."""
    counts = [
        tokenizer.count(piece, special="ordinary")
        for piece in tokenizer.pieces(text, special="ordinary")
    ]
    return None if any(count > limit for count in counts) else sum(counts)


@replacing_tool("till_limit", at_most(bytewise(r"\w+|\W"), "ab cd", 4))
def limit_budget_folded(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    """The budget of a piece is lowered by the piece before only (github/rust-gems 56214efd)."""
    before = total = 0
    for piece in tokenizer.pieces(text, special="ordinary"):
        count = tokenizer.count(piece, special="ordinary")
        if count > limit - before:
            return None
        before = count
        total += count
    return total


@replacing_tool("till_limit", at_most(spelled("a"), "aa", 1))
def limit_limit_as_answer(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    """If there are more tokens, the limit itself is returned."""
    return min(limit, tokenizer.count(text, special="ordinary"))


@replacing_tool("split", beginning(spelled("a b ab bab"), "bab", 1))
def split_binary_search(tokenizer: Tokenizer, text: str, most: int) -> int:
    """Counts are assumed to rise with the text, and a binary search is used."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if _count(tokenizer, text[:middle]) <= most:
            low = middle
        else:
            high = middle - 1
    return _refusing(low, text, most)


@replacing_tool("split", beginning(spelled("a aa aaaa"), "aaaaaaaa", 1))
def split_first_over(tokenizer: Tokenizer, text: str, most: int) -> int:
    """The text is cut before the first character that makes it too long; a longer beginning may fit
    again.
    """
    over = (k for k in range(len(text) + 1) if _count(tokenizer, text[:k]) > most)
    return _refusing(next(over, len(text) + 1) - 1, text, most)


@replacing_tool("split", beginning(spelled("a b c bc ab"), "abc", 1))
def split_tokens_of_the_whole(tokenizer: Tokenizer, text: str, most: int) -> int:
    """The whole text is encoded, the first tokens are taken, and incomplete characters are dropped:
    the naive way that the README of GitHub's bpe begins with.
    """
    content = tokenizer.decode_bytes(tokenizer.encode(text)[:most])
    return _refusing(len(content.decode("utf-8", "ignore")), text, most)


@replacing_tool("split", beginning(bytewise(), "éa", 2))
def split_in_bytes(tokenizer: Tokenizer, text: str, most: int) -> int:
    """The position is in bytes."""
    return len(text[: tokenizer.split_at(text, most)].encode())


@replacing_tool("split", beginning(bytewise(), "😀a", 4))
def split_utf16(tokenizer: Tokenizer, text: str, most: int) -> int:
    """The position is in UTF-16 units, as in JavaScript strings."""
    return len(text[: tokenizer.split_at(text, most)].encode("utf-16-le")) // 2


@replacing_tool("split", beginning(bytewise(), "a\r\nb", 2))
def split_keeps_line_ends(tokenizer: Tokenizer, text: str, most: int) -> int:
    """A text is never cut between CR and LF."""
    place = tokenizer.split_at(text, most)
    return place - (text[place - 1 : place + 1] == "\r\n")


@replacing_tool("split", beginning(_special(), "a<|end|>b", 2))
def split_special_as_text(tokenizer: Tokenizer, text: str, most: int) -> int:
    """Special tokens are counted as text."""
    fits = (
        k for k in range(len(text), 0, -1) if tokenizer.count(text[:k], special="ordinary") <= most
    )
    return _refusing(next(fits, 0), text, most)


@replacing_tool(
    "split", beginning(bytewise(None, b"a<", special_tokens={"<|end|>": 300}), "a<|end|>", 1)
)
def split_through_special(tokenizer: Tokenizer, text: str, most: int) -> int:
    """A special token is cut where its first character fits into the token before it."""
    fits = (k for k in range(len(text), 0, -1) if _count(tokenizer, text[:k]) <= most)
    return _refusing(next(fits, 0), text, most)


@replacing_tool("split", beginning(bytewise(r"\w+|\W"), "abc d", 2))
def split_at_pieces(tokenizer: Tokenizer, text: str, most: int) -> int:
    """The text is cut only at the borders of pieces."""
    ends = list(accumulate(map(len, tokenizer.pieces(text, special="ordinary")), initial=0))
    return _refusing(max(end for end in ends if _count(tokenizer, text[:end]) <= most), text, most)


@replacing_tool("split", beginning(bytewise(), "é", 1))
def split_one_at_least(tokenizer: Tokenizer, text: str, most: int) -> int:
    """A first character with too many tokens is accepted."""
    try:
        return tokenizer.split_at(text, most)
    except ParameterError:
        return min(1, len(text))


@replacing_tool("chunks", chunked(spelled("a b c bc ab"), "abcab", 1))
def chunks_groups_of_tokens(
    tokenizer: Tokenizer, text: str, most: int, overlap: int
) -> list[tuple[int, int]]:
    """The tokens of the whole text are cut into groups. Each group alone may have more or fewer
    tokens, and a group of parts of characters is empty (README of GitHub's bpe).
    """
    ids = tokenizer.encode(text)
    step = most - overlap
    ends = [len(tokenizer.decode_bytes(ids[:n]).decode("utf-8", "ignore")) for n in range(len(ids))]
    ends.append(len(text))
    return [(ends[n], ends[min(n + most, len(ids))]) for n in range(0, len(ids), step)]


@replacing_tool("chunks", chunked(spelled("a b"), "abab", 2, 1))
def chunks_no_overlap(tokenizer: Tokenizer, text: str, most: int, _: int) -> list[tuple[int, int]]:
    """The overlap is forgotten."""
    return cut(tokenizer, text, most, 0)


@replacing_tool("chunks", chunked(spelled("a b ab"), "ababab", 2, 1))
def chunks_overlap_in_characters(
    tokenizer: Tokenizer, text: str, most: int, overlap: int
) -> list[tuple[int, int]]:
    """The overlap is counted in characters."""
    found: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = start + tokenizer.split_at(text[start:], most)
        found.append((start, end))
        start = end if end == len(text) else max(start + 1, end - overlap)
    return found


@replacing_tool("chunks", chunked(spelled("a b c ab bc"), "aabcc", 3, 1))
def chunks_overlap_by_tokens(
    tokenizer: Tokenizer, text: str, most: int, overlap: int
) -> list[tuple[int, int]]:
    """The overlap is the last tokens of the chunk before, not the longest end that has so many
    tokens by itself.
    """
    found: list[tuple[int, int]] = []
    start = end = 0
    while end < len(text):
        end = start + tokenizer.split_at(text[start:], most)
        found.append((start, end))
        ids = tokenizer.encode(text[start:end])
        again = tokenizer.decode_bytes(ids[len(ids) - overlap :] if overlap else [])
        start = max(start + 1, end - len(again.decode("utf-8", "ignore")))
    return found


@replacing_tool("chunks", chunked(spelled("a b"), "aba", 2))
def chunks_last_dropped(
    tokenizer: Tokenizer, text: str, most: int, overlap: int
) -> Sequence[tuple[int, int]]:
    """The last chunk is lost if it is not full."""
    found = cut(tokenizer, text, most, overlap)
    short = found and _count(tokenizer, text[slice(*found[-1])]) < most
    return found[:-1] if short and len(found) > 1 else found


@replacing_tool("chunks", chunked(spelled("a b"), "ab", 1))
def chunks_end_included(
    tokenizer: Tokenizer, text: str, most: int, overlap: int
) -> Sequence[tuple[int, int]]:
    """The end of a chunk is its last character instead of the one after it."""
    return [(start, end - 1) for start, end in cut(tokenizer, text, most, overlap)]


@replacing_tool("chunks", chunked(bytewise(r"\w+|\W"), "abc d", 2))
def chunks_sums_of_pieces(
    tokenizer: Tokenizer, text: str, most: int, _: int
) -> list[tuple[int, int]]:
    """Pieces are joined while their counts add up to no more than the limit; a piece that alone has
    more becomes a chunk anyway.
    """
    found: list[tuple[int, int]] = []
    start = at = total = 0
    for piece in tokenizer.pieces(text, special="ordinary"):
        count = tokenizer.count(piece, special="ordinary")
        if total and total + count > most:
            found.append((start, at))
            start, total = at, 0
        at += len(piece)
        total += count
    return [*found, (start, len(text))] if text else []
