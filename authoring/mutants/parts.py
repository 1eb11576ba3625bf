"""Mutants that count parts of a text wrongly, or cut it in the wrong place."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Final

from authoring.mutants.growing import encoded
from authoring.mutants.mutant import Mutant, Witness, bytewise, mutant, spelled
from bpe_ref import ENCODERS, ParameterError, Tokenizer, Vocabulary
from tokenref.engines.tools import Tools, cut, split, till_limit

# ---- intervals


@dataclass(frozen=True)
class WrongCounter:
    """Counts parts of a piece by a rule: of the vocabulary, the piece, start and stop."""

    vocabulary: Vocabulary
    piece: bytes
    rule: Callable[[Vocabulary, bytes, int, int], int]

    def count(self, start: int, stop: int) -> int:
        """Return what the rule says."""
        return self.rule(self.vocabulary, self.piece, start, stop)


def _prefix_difference(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    return len(encoded(vocabulary, piece[:stop])) - len(encoded(vocabulary, piece[:start]))


def _suffix_difference(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    return len(encoded(vocabulary, piece[start:])) - len(encoded(vocabulary, piece[stop:]))


def _borders(vocabulary: Vocabulary, piece: bytes) -> list[int]:
    """Return where the tokens of a piece end, with 0 in front."""
    sizes = (len(vocabulary.tokens[token]) for token in encoded(vocabulary, piece))
    return list(accumulate(sizes, initial=0))


def _tokens_inside(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    borders = _borders(vocabulary, piece)
    pairs = pairwise(borders)
    return sum(start <= first and last <= stop for first, last in pairs)


def _tokens_touched(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    borders = _borders(vocabulary, piece)
    pairs = pairwise(borders)
    return sum(first < stop and start < last for first, last in pairs)


def _first_common_border(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    """Take longest tokens up to the first border that the beginning's encoding has as well."""
    ends = _borders(vocabulary, piece[:stop])
    symbols = vocabulary.symbols(piece[start:stop])
    own = ENCODERS["greedy"](vocabulary, symbols)
    at = start
    for number, token in enumerate(own, start=1):
        at += len(vocabulary.tokens[token])
        if at in ends:
            return number + len(ends) - 1 - ends.index(at)
    return len(own)


def _first_border_of_the_rest(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    """Encode from the start as if the piece went on, and stop where the part ends."""
    at, count = start, 0
    for token in encoded(vocabulary, piece[start:]):
        if at >= stop:
            break
        at += len(vocabulary.tokens[token])
        count += 1
    return count


def _stop_included(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    return len(encoded(vocabulary, piece[start : stop + 1]))


def _never_empty(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    return max(1, len(encoded(vocabulary, piece[start:stop])))


# ---- limits


def _ten_more(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    """Give up where some beginning has more than ten tokens more than the limit."""
    over = limit + 10
    counts = (tokenizer.count(text[:end]) for end in range(len(text) + 1))
    return None if max(counts) > over else till_limit(tokenizer, text, limit)


def _some_beginning(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    counts = (tokenizer.count(text[:end]) for end in range(len(text) + 1))
    return None if max(counts) > limit else tokenizer.count(text)


def _limit_excluded(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    found = tokenizer.count(text)
    return found if found < limit else None


def _limit_per_piece(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    counts = [tokenizer.count(piece) for piece in tokenizer.pieces(text)]
    return None if any(count > limit for count in counts) else sum(counts)


def _budget_folded(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    """Take from the budget of each piece only what the piece before used."""
    before = total = 0
    for piece in tokenizer.pieces(text):
        count = tokenizer.count(piece)
        if count > limit - before:
            return None
        before = count
        total += count
    return total


def _limit_as_answer(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    return min(limit, tokenizer.count(text))


# ---- splits


def _count(tokenizer: Tokenizer, text: str) -> int:
    return len(tokenizer.encode(text, allowed_special="all"))


def _refusing(found: int, text: str, most: int) -> int:
    if found == 0 and text:
        raise ParameterError("most", most, "must be enough for one character")
    return found


def _binary_search(tokenizer: Tokenizer, text: str, most: int) -> int:
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if _count(tokenizer, text[:middle]) <= most:
            low = middle
        else:
            high = middle - 1
    return _refusing(low, text, most)


def _first_over(tokenizer: Tokenizer, text: str, most: int) -> int:
    over = (k for k in range(len(text) + 1) if _count(tokenizer, text[:k]) > most)
    return _refusing(next(over, len(text) + 1) - 1, text, most)


def _tokens_of_the_whole(tokenizer: Tokenizer, text: str, most: int) -> int:
    """Take the first tokens of the whole text, and leave out what is no whole character."""
    content = tokenizer.decode_bytes(tokenizer.encode(text, allowed_special="all")[:most])
    return _refusing(len(content.decode("utf-8", "ignore")), text, most)


def _in_bytes(tokenizer: Tokenizer, text: str, most: int) -> int:
    return len(text[: split(tokenizer, text, most)].encode())


def _utf16(tokenizer: Tokenizer, text: str, most: int) -> int:
    return len(text[: split(tokenizer, text, most)].encode("utf-16-le")) // 2


def _special_as_text(tokenizer: Tokenizer, text: str, most: int) -> int:
    fits = (k for k in range(len(text), 0, -1) if tokenizer.count(text[:k]) <= most)
    return _refusing(next(fits, 0), text, most)


def _through_special(tokenizer: Tokenizer, text: str, most: int) -> int:
    """Count right, and cut inside special tokens too."""
    fits = (k for k in range(len(text), 0, -1) if _count(tokenizer, text[:k]) <= most)
    return _refusing(next(fits, 0), text, most)


def _at_pieces(tokenizer: Tokenizer, text: str, most: int) -> int:
    """Cut between pieces only."""
    ends = list(accumulate(map(len, tokenizer.pieces(text)), initial=0))
    return _refusing(max(end for end in ends if _count(tokenizer, text[:end]) <= most), text, most)


def _one_more(tokenizer: Tokenizer, text: str, most: int) -> int:
    """Take one character at least, whatever it costs."""
    try:
        return split(tokenizer, text, most)
    except ParameterError:
        return min(1, len(text))


# ---- chunks


def _groups(tokenizer: Tokenizer, text: str, most: int, overlap: int) -> list[tuple[int, int]]:
    """Cut the tokens of the whole text into groups, and these into whole characters."""
    ids = tokenizer.encode(text, allowed_special="all")
    step = most - overlap
    ends = [len(tokenizer.decode_bytes(ids[:n]).decode("utf-8", "ignore")) for n in range(len(ids))]
    ends.append(len(text))
    return [(ends[n], ends[min(n + most, len(ids))]) for n in range(0, len(ids), step)]


def _no_overlap(tokenizer: Tokenizer, text: str, most: int, _: int) -> list[tuple[int, int]]:
    return cut(tokenizer, text, most, 0)


def _overlap_in_characters(
    tokenizer: Tokenizer, text: str, most: int, overlap: int
) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = start + split(tokenizer, text[start:], most)
        found.append((start, end))
        start = end if end == len(text) else max(start + 1, end - overlap)
    return found


def _last_dropped(
    tokenizer: Tokenizer, text: str, most: int, overlap: int
) -> Sequence[tuple[int, int]]:
    """Drop a last chunk that is not full."""
    found = cut(tokenizer, text, most, overlap)
    short = found and _count(tokenizer, text[slice(*found[-1])]) < most
    return found[:-1] if short and len(found) > 1 else found


def _end_included(
    tokenizer: Tokenizer, text: str, most: int, overlap: int
) -> Sequence[tuple[int, int]]:
    return [(start, end - 1) for start, end in cut(tokenizer, text, most, overlap)]


def _greedy_sums(tokenizer: Tokenizer, text: str, most: int, _: int) -> list[tuple[int, int]]:
    """Add up what each piece has, as if counts always added up, and cut between pieces."""
    found: list[tuple[int, int]] = []
    start = at = total = 0
    for piece in tokenizer.pieces(text):
        count = tokenizer.count(piece)
        if total and total + count > most:
            found.append((start, at))
            start, total = at, 0
        at += len(piece)
        total += count
    return [*found, (start, len(text))] if text else []


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
    """Return the witness "the longest beginning of so many tokens"."""
    return Witness(vocabulary, "split", {"text": text, "most": most})


def chunked(vocabulary: Vocabulary, text: str, most: int, overlap: int = 0) -> Witness:
    """Return the witness "the chunks of so many tokens"."""
    return Witness(vocabulary, "chunks", {"text": text, "most": most, "overlap": overlap})


def far_letters() -> Vocabulary:
    """Return example E9: a text falls apart until its last letter joins all of them."""
    letters = "abcdefghijklmn"
    ends = [letters[at:] for at in range(len(letters) - 2, -1, -1)]
    return spelled(" ".join([*letters, "!", *ends, "!a"]))


def _special() -> Vocabulary:
    return bytewise(r"\w+|\W", special_tokens={"<|end|>": 300})


def _interval(
    name: str,
    story: str,
    witness: Witness,
    rule: Callable[[Vocabulary, bytes, int, int], int],
) -> Mutant:
    def counter(vocabulary: Vocabulary, piece: bytes) -> WrongCounter:
        return WrongCounter(vocabulary, piece, rule)

    return mutant(f"interval-{name}", story, witness, tools=Tools(interval_counter=counter))


def _limit(name: str, story: str, witness: Witness, rule: Any) -> Mutant:
    return mutant(f"limit-{name}", story, witness, tools=Tools(till_limit=rule))


def _split(name: str, story: str, witness: Witness, rule: Any) -> Mutant:
    return mutant(f"split-{name}", story, witness, tools=Tools(split=rule))


def _chunks(name: str, story: str, witness: Witness, rule: Any) -> Mutant:
    return mutant(f"chunks-{name}", story, witness, tools=Tools(chunks=rule))


PARTS: Final[Iterable[Mutant]] = (
    _interval(
        "prefix-difference",
        "The count of the longer beginning less that of the shorter one, as if counts added up; "
        "own.",
        part_counts("a aa", "aa", (1, 2)),
        _prefix_difference,
    ),
    _interval(
        "suffix-difference",
        "The count of the longer end less that of the shorter one; own.",
        part_counts("a aa", "aa", (0, 1)),
        _suffix_difference,
    ),
    _interval(
        "tokens-inside",
        "The tokens of the whole piece that lie inside the range; own.",
        part_counts("a aa", "aa", (0, 1)),
        _tokens_inside,
    ),
    _interval(
        "tokens-touched",
        "The tokens of the whole piece that the range touches; own.",
        part_counts("a aa", "aa", (1, 1)),
        _tokens_touched,
    ),
    _interval(
        "first-common-border",
        "At the first border that a search from the start and the whole piece's encoding share, "
        "the rest is taken for known; but only an equal token makes them agree.",
        part_counts("a aa aaa", "aaaaaa", (0, 6)),
        _first_common_border,
    ),
    _interval(
        "looking-beyond",
        "The encoder reads on behind the end of the range; own.",
        part_counts("a b c bc abc", "abc", (0, 2)),
        _first_border_of_the_rest,
    ),
    _interval(
        "stop-included",
        "The byte at the stop is counted too; own.",
        part_counts("a", "aa", (0, 1)),
        _stop_included,
    ),
    _interval(
        "never-empty",
        "An empty range has one token; own.",
        part_counts("a", "aa", (1, 1)),
        _never_empty,
    ),
    _limit(
        "ten-more",
        "The search gives up ten tokens above the limit, a guess that GitHub's bpe makes: a text "
        "of two tokens is refused with a limit of two.",
        at_most(far_letters(), "!abcdefghijklmn", 2),
        _ten_more,
    ),
    _limit(
        "some-beginning",
        "The text is given up as soon as some beginning of it has more tokens; own.",
        at_most(spelled("a aa aaaa"), "aaaa", 1),
        _some_beginning,
    ),
    _limit(
        "excluded",
        "As many tokens as the limit are too many; own.",
        at_most(spelled("a"), "aa", 2),
        _limit_excluded,
    ),
    _limit(
        "per-piece",
        "Each piece is held against the limit, not their sum; own.",
        at_most(bytewise(r"\w+|\W"), "ab cd", 2),
        _limit_per_piece,
    ),
    _limit(
        "budget-folded",
        "The budget of a piece is lowered by the piece before only (github/rust-gems 56214efd).",
        at_most(bytewise(r"\w+|\W"), "ab cd", 4),
        _budget_folded,
    ),
    _limit(
        "limit-as-answer",
        "Where there are more, the limit itself is the answer; own.",
        at_most(spelled("a"), "aa", 1),
        _limit_as_answer,
    ),
    _split(
        "binary-search",
        "Counts are taken to rise with the text, and searched by halves; own.",
        beginning(spelled("a b ab bab"), "bab", 1),
        _binary_search,
    ),
    _split(
        "first-over",
        "The text is cut before the first character that makes it too long; a longer beginning "
        "may fit again.",
        beginning(spelled("a aa aaaa"), "aaaaaaaa", 1),
        _first_over,
    ),
    _split(
        "tokens-of-the-whole",
        "The whole text is encoded, its first tokens are taken, and what is no whole character "
        "is dropped: the naive way that the README of GitHub's bpe begins with.",
        beginning(spelled("a b c bc ab"), "abc", 1),
        _tokens_of_the_whole,
    ),
    _split(
        "in-bytes",
        "The place is given in bytes; own.",
        beginning(bytewise(), "éa", 2),
        _in_bytes,
    ),
    _split(
        "utf16",
        "The place is given in UTF-16 units, as strings in JavaScript have them; own.",
        beginning(bytewise(), "😀a", 4),
        _utf16,
    ),
    _split(
        "special-as-text",
        "Special tokens are counted as text; own.",
        beginning(_special(), "a<|end|>b", 2),
        _special_as_text,
    ),
    _split(
        "through-special",
        "A special token is cut where its first character fits into a token before it; own.",
        beginning(bytewise(None, b"a<", special_tokens={"<|end|>": 300}), "a<|end|>", 1),
        _through_special,
    ),
    _split(
        "at-pieces",
        "Only borders of pieces are places to cut; own.",
        beginning(bytewise(r"\w+|\W"), "abc d", 2),
        _at_pieces,
    ),
    _split(
        "one-at-least",
        "A first character that has too many tokens is taken all the same; own.",
        beginning(bytewise(), "é", 1),
        _one_more,
    ),
    _chunks(
        "groups-of-tokens",
        "The tokens of the whole text are cut into groups, each group alone may have more or "
        "fewer, and one of parts of characters is empty (README of GitHub's bpe).",
        chunked(spelled("a b c bc ab"), "abcab", 1),
        _groups,
    ),
    _chunks(
        "no-overlap",
        "The overlap is forgotten; own.",
        chunked(spelled("a b"), "abab", 2, 1),
        _no_overlap,
    ),
    _chunks(
        "overlap-in-characters",
        "The overlap is counted in characters; own.",
        chunked(spelled("a b ab"), "ababab", 2, 1),
        _overlap_in_characters,
    ),
    _chunks(
        "last-dropped",
        "The last chunk is lost where it is not full; own.",
        chunked(spelled("a b"), "aba", 2),
        _last_dropped,
    ),
    _chunks(
        "end-included",
        "The end of a chunk is its last character, and not the one behind; own.",
        chunked(spelled("a b"), "ab", 1),
        _end_included,
    ),
    _chunks(
        "sums-of-pieces",
        "Pieces are put together as long as their counts add up to no more; a piece that alone "
        "has more becomes a chunk all the same; own.",
        chunked(bytewise(r"\w+|\W"), "abc d", 2),
        _greedy_sums,
    ),
)
"""Mutants of `intervals`, `limit`, `split` and `chunks`."""
