r"""What an unfinished text may become: its stable tokens, and every way the rest can go on.

Definition
    Let t be a text, after its last special token, and let a *continuation* be
    any bytes c that the vocabulary can encode. The *cover* of c is the
    shortest beginning of the tokens of t + c whose bytes cover t. The stable
    tokens are what all covers begin with (their last tokens never count as
    stable); the completions are the rests of the covers. An empty t has none.

    t + c is encoded as `Tokenizer.encode_bytes` does. A tokenizer that
    normalizes does so first; continuations are of what comes out.

Source: openai/tiktoken 0.14.0, `encode_with_unstable` (`_encode_unstable_native`
in src/lib.rs). tiktoken's own answer is another (`complete=False`), see below.

How the covers are found
    The last token of a cover starts in t, at some p, and its bytes begin with t[p:]. So try every p
    and every such token k, and ask whether some continuation makes k a token there. Let e be what k
    adds to t.

    Without a pattern the question is whether k is compatible with the last token of t[:p]: the
    tokens before a border do not depend on what comes after it, and e itself is the continuation.
    This is exact.

    With a pattern, the piece that holds k starts at some q, and where it can start depends on what
    follows e. If a piece can be t[q:] + e, the question is the same for that piece. If it is longer
    in every case (or is a token that the vocabulary takes whole), k must also be compatible with
    the token after it, so every token is tried there. What may follow is tried with *witnesses*.

Witnesses
    A pattern sees of a character only which of its sets hold it (see `patterns.stand_ins`), so one
    character of each class that it cannot tell apart stands for the whole class. To see how the end
    of a piece depends on what follows, it is enough to try those characters, a byte that is no
    text, each word that the pattern spells letter by letter ("ll" and "ve" of the contractions),
    and after white space, whose runs give their last character away to what follows, every two
    characters. A character with a byte that the vocabulary lacks is no witness.

    This is exact for patterns that look no further beyond a border, as the registry's do; for
    others every completion found is one, but some may be missing.

tiktoken's answer
    Its stable tokens are those before the last piece; if that piece begins with a token of white
    space only, also without the white tokens before it. The rest of the text is joined with the
    rest of each token that can straddle its end, and encoded; of the tokens that come out, those
    that cover the rest are a completion. Joined bytes that are not UTF-8 are one piece, without the
    whole-piece rule. Every token that begins with the whole rest is a completion, whether an
    encoding can hold it there or not. A rest that ends in white space is also cut before its last
    character. A text that ends in a special token is stable as a whole.

    So it misses covers whose pieces need the next character, lists some sequences that no
    continuation gives, and where e stops inside a character it ignores the pattern. Which of its
    tokens are stable is not always so: o200k's "a'" may become "a's".
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from operator import itemgetter
from typing import Final

from bpe_ref.added_tokens import Recognised, Treatment
from bpe_ref.decoders.utf8_stream import length_from
from bpe_ref.errors import ParameterError
from bpe_ref.given_text import without_surrogates
from bpe_ref.models.byte_bpe import ByteBPE, encode_quickly, pieces_of_bytes
from bpe_ref.patterns.nodes import sets_in
from bpe_ref.patterns.rust import compile_rust
from bpe_ref.patterns.stand_ins import atoms_of
from bpe_ref.patterns.unicode_tables import EVERY_CODE_POINT, CodePoints, to_ranges, white_space
from bpe_ref.registry import REGISTRY
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.compatibility import build_derivations, compatibility
from bpe_ref.vocabulary.merges import TokenId

Tokens = tuple[TokenId, ...]

_ESCAPE = re.compile(r"\\[pP]\{[^}]*\}|\\.", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]{2,}")
_SURROGATES: CodePoints = ((1 << 0x800) - 1) << 0xD800
_NO_TEXT = 0x80  # the first byte that alone is no character


@cache
def _white() -> tuple[bytes, ...]:
    """Return every character that is white space, as bytes."""
    return tuple(map(str.encode, white_space()))


@dataclass(frozen=True)
class _Witnesses:
    """What may follow a text, one of each kind, as bytes; see the module."""

    general: tuple[bytes, ...]
    """Nothing; one character of each class; the words; a byte that is no text."""

    pairs: tuple[bytes, ...]
    """Two characters, of each class each."""

    classes: tuple[CodePoints, ...]
    """The code points by class."""

    symbols: frozenset[int]
    """The bytes that the vocabulary can encode."""

    def after(self, data: bytes) -> tuple[bytes, ...]:
        """Return what may follow these bytes; where they stop inside a character, its rest too."""
        part = _incomplete_end(data)
        if not part:
            return self.general + self.pairs if data.endswith(_white()) else self.general
        missing = length_from(part[0]) - len(part)
        least = part[0] & (0xFF >> (len(part) + missing + 1))  # of the code points that begin so
        for byte in part[1:]:
            least = least << 6 | byte & 0x3F
        reach = ((1 << (1 << 6 * missing)) - 1) << (least << 6 * missing)
        found = (_first_of(members & reach, self.symbols) for members in self.classes)
        return self.general + tuple(
            character[len(part) :] for character in found if character is not None
        )


def _witnesses(vocabulary: Vocabulary) -> _Witnesses:
    symbols = frozenset(map(ord, vocabulary.symbol_of_letter))
    if vocabulary.text.pattern is None:
        return _Witnesses((b"",), (), (EVERY_CODE_POINT & ~_SURROGATES,), symbols)
    classes = _classes(vocabulary)
    found = [_first_of(members, symbols) for members in classes]
    characters = [character for character in found if character is not None]
    spelled = _WORD.findall(_ESCAPE.sub(" ", vocabulary.text.pattern))
    words = [word.encode() for word in spelled if symbols.issuperset(word.encode())]
    no_text = [bytes([byte]) for byte in sorted(symbols) if byte >= _NO_TEXT][:1]
    general = tuple(dict.fromkeys([b"", *characters, *words, *no_text]))
    pairs = tuple(map(b"".join, product(characters, repeat=2)))
    return _Witnesses(general, pairs, classes, symbols)


def _classes(vocabulary: Vocabulary) -> tuple[CodePoints, ...]:
    """Return the classes of characters that the pattern cannot tell apart."""
    expression = compile_rust(vocabulary.text.pattern or "", vocabulary.text.tables)
    sets = [*sets_in(expression.node), expression.words]
    return tuple(atoms_of(EVERY_CODE_POINT & ~_SURROGATES, sets))


def _first_of(members: CodePoints, symbols: frozenset[int]) -> bytes | None:
    """Return the first character of a class whose bytes are all symbols, or None."""
    for first, last in to_ranges(members):
        for code_point in range(first, last + 1):
            content = chr(code_point).encode()
            if symbols.issuperset(content):
                return content
    return None


def _incomplete_end(data: bytes) -> bytes:
    """Return the beginning of a character that UTF-8 text stops in; b"" if there is none."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return data[error.start :]
    return b""


def _unstable_as_tiktoken(
    tokenizer: Tokenizer, model: ByteBPE, text: str, treatment: Treatment
) -> tuple[list[TokenId], set[Tokens]]:
    vocabulary = model.vocabulary
    tokens: list[TokenId] = []
    unstable = 0  # how many tokens the last piece has; 0 after a special token
    for start, stop, special in tokenizer.added.cut(text, normalized=False, treatment=treatment):
        if special is not None:
            tokens.append(special)
            unstable = 0
            continue
        for piece in tokenizer.pieces(text[start:stop], special="ordinary"):
            encoded = model.ids(piece)
            unstable = len(encoded)
            tokens += encoded
    if unstable == 0:
        return tokens, set()
    if _is_blank(vocabulary, tokens[-unstable]):
        while unstable < len(tokens) and _is_blank(vocabulary, tokens[-unstable - 1]):
            unstable += 1
    rest = tokenizer.decode_bytes(tokens[-unstable:])
    return tokens[:-unstable], _completions(tokenizer, vocabulary, rest)


def _by_alphabet(vocabulary: Vocabulary) -> list[tuple[bytes, TokenId]]:
    """Return the bytes and id of every token, in the order of the bytes."""
    return sorted((content, token) for token, content in vocabulary.tokens.items())


def _beginning_with(vocabulary: Vocabulary, start: bytes) -> list[tuple[bytes, TokenId]]:
    """Return the bytes and id of every token that begins with these bytes."""
    tokens = vocabulary.remember(_by_alphabet)
    first = last = bisect_left(tokens, start, key=itemgetter(0))
    while last < len(tokens) and tokens[last][0].startswith(start):
        last += 1
    return tokens[first:last]


def _completions(tokenizer: Tokenizer, vocabulary: Vocabulary, rest: bytes) -> set[Tokens]:
    # whether it can stand there is not asked
    found: set[Tokens] = {(token,) for _, token in _beginning_with(vocabulary, rest)}
    for start in range(1, len(rest)):
        for content, _ in _beginning_with(vocabulary, rest[start:]):
            joined = rest[:start] + content
            try:
                encoded = tokenizer.encode(joined.decode("utf-8"), special="ordinary")
            except UnicodeDecodeError:
                encoded = _merged(vocabulary, joined)
            found.add(_covering(vocabulary, encoded, len(rest)))
    # a split may appear before white space: \s+(?!\S) leaves the last space to what follows
    white = next((space for space in _white() if rest.endswith(space)), b"")
    before = rest[: len(rest) - len(white)]
    if white and before:
        found.add((*_merged(vocabulary, before), *_merged(vocabulary, white)))
    return found


def _merged(vocabulary: Vocabulary, piece: bytes) -> list[TokenId]:
    return encode_quickly(vocabulary, vocabulary.symbols(piece))


def _covering(vocabulary: Vocabulary, tokens: list[TokenId], length: int) -> Tokens:
    """Return the first tokens that together have at least that many bytes, or all of them."""
    covered = 0
    for count, token in enumerate(tokens, 1):
        covered += len(vocabulary.tokens[token])
        if covered >= length:
            return tuple(tokens[:count])
    return tuple(tokens)


def _is_blank(vocabulary: Vocabulary, token: TokenId) -> bool:
    """Return whether a token, no special one, is white space only."""
    return token in vocabulary.tokens and not vocabulary.tokens[token].strip(b" \n\t")


_SURE: Final = frozenset(entry.pattern for entry in REGISTRY.values())
_LETTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_SPACES: Final = frozenset(" \t\r\n")


def encode_with_unstable(
    tokenizer: Tokenizer, text: str, *, special: Recognised = "recognise", complete: bool = True
) -> tuple[list[TokenId], set[Tokens]]:
    """Return the stable tokens of the text, and the completions.

    `complete=False` gives tiktoken's own answer. Raises `SpecialTokenError` and
    `SymbolError` as `Tokenizer.encode` does, and `ParameterError` for a tokenizer whose model does
    not merge the bytes of a vocabulary.

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> ranks = {b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"bc": 4}
    >>> tokenizer = tokenizer_of(vocabulary_by_concatenation(ranks))
    >>> encode_with_unstable(tokenizer, "cab")
    ([2], {(3,)})
    >>> sorted(encode_with_unstable(tokenizer, "ca")[1])
    [(0,), (3,)]
    """
    if not isinstance(tokenizer.model, ByteBPE):
        raise ParameterError("tokenizer", tokenizer, "must merge the bytes of a vocabulary")
    treatment = tokenizer.treatment(special)
    text = without_surrogates(text)
    treatment.check(text)
    if not complete:
        return _unstable_as_tiktoken(tokenizer, tokenizer.model, text, treatment)
    cuts = tokenizer.added.cut(text, normalized=False, treatment=treatment)
    rest = cuts.pop() if cuts and cuts[-1].token is None else None
    stable = [
        found
        for start, stop, token in cuts
        for found in (
            [token] if token is not None else tokenizer.encode(text[start:stop], special="ordinary")
        )
    ]
    unfinished = "" if rest is None else text[rest.start :]
    more, completions = _complete(tokenizer, tokenizer.model.vocabulary, unfinished)
    return stable + more, completions


def _complete(
    tokenizer: Tokenizer, vocabulary: Vocabulary, text: str
) -> tuple[list[TokenId], set[Tokens]]:
    """Return the stable tokens and the completions, as the module defines them."""
    if tokenizer.normalizer is not None:
        text = tokenizer.normalizer.normalize_text(text)
    tokenizer.encode(text, special="ordinary")  # raises for a byte that the vocabulary lacks
    border = _sure_border(vocabulary, text)
    before = tokenizer.encode(text[:border], special="ordinary")
    found = covers(tokenizer, text[border:])
    if not found:
        return before, set()
    first, last = min(found), max(found)
    most = min(map(len, found)) - 1
    same = next((at for at in range(most) if first[at] != last[at]), most)
    return [*before, *first[:same]], {cover[same:] for cover in found}


def _sure_border(vocabulary: Vocabulary, text: str) -> int:
    """Return a place before which nothing changes, whatever follows the text.

    No alternative of the registry's patterns goes on from a letter to white
    space, nor looks further than the next character. So pieces never cross such
    a place, and those before it do not depend on what comes after it.
    """
    if vocabulary.text.pattern in _SURE:
        for place in reversed(range(1, len(text))):
            if text[place - 1] in _LETTERS and text[place] in _SPACES:
                return place
    return 0


def covers(tokenizer: Tokenizer, text: str) -> set[Tokens]:
    """Return every cover of a normalized text in which nothing is special.

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> tokenizer = tokenizer_of(vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2}))
    >>> sorted(covers(tokenizer, "ba"))
    [(1, 0), (1, 2)]
    """
    search = _Search(tokenizer, text.encode())
    return {
        cover
        for start in search.starts()
        for _, token in _beginning_with(search.vocabulary, search.data[start:])
        for cover in search.covers_with(start, token)
    }


_Head = tuple[int, Tokens]
"""Where the piece that holds the straddling token starts, and the tokens before it."""


class _Search:
    """The covers of one text that is in nothing special, token by token."""

    def __init__(self, tokenizer: Tokenizer, data: bytes) -> None:
        self.data: Final = data
        assert isinstance(tokenizer.model, ByteBPE)  # noqa: S101 -- checked at the entrance
        self._model: Final = tokenizer.model
        self.vocabulary: Final = self._model.vocabulary
        self._places: Final = self.vocabulary.remember(build_derivations).places
        self._compatible: Final = self.vocabulary.remember(compatibility)
        self._witnesses: Final = self.vocabulary.remember(_witnesses)
        self._cut: Final = _byte_cutter(tokenizer, self._model)
        self._encode: Final[Callable[[bytes], Tokens | None]] = cache(self._piece)
        self._merge: Final[Callable[[bytes], Tokens | None]] = cache(self._merged)

    def starts(self) -> range:
        """Return where a token that reaches the end of the text can start."""
        longest = max(map(len, self.vocabulary.tokens.values()))
        return range(max(0, len(self.data) - longest), len(self.data))

    def covers_with(self, start: int, token: TokenId) -> Iterator[Tokens]:
        """Yield the covers that end with this token at this place."""
        spelled = self.data[:start] + self.vocabulary.tokens[token]
        settled: set[_Head] = set()
        others: set[_Head] = set()
        for more in self._witnesses.after(spelled):
            found = self._find(spelled + more, start, len(spelled))
            if found is None or found[0] in settled:
                continue
            head, piece = found
            if self._holds(piece, token, start - head[0]):
                settled.add(head)
                yield self._cover(head, start, token)
            else:
                others.add(head)
        for head in others - settled:
            if self._can_follow(head, spelled, token, start):
                yield self._cover(head, start, token)

    def _find(self, data: bytes, start: int, end: int) -> tuple[_Head, bytes] | None:
        """Return the piece that holds `data[start:end]`, and what is before it, if one does."""
        at = 0
        before: list[TokenId] = []
        for piece in self._cut(data):
            if at + len(piece) > start:
                return ((at, tuple(before)), piece) if at + len(piece) >= end else None
            tokens = self._encode(piece)
            if tokens is None:
                return None
            before += tokens
            at += len(piece)
        return None

    def _holds(self, piece: bytes, token: TokenId, start: int) -> bool:
        at = 0
        for found in self._encode(piece) or ():
            if at >= start:
                return at == start and found == token
            at += len(self.vocabulary.tokens[found])
        return False

    def _cover(self, head: _Head, start: int, token: TokenId) -> Tokens:
        between = self._merge(self.data[head[0] : start]) or ()
        return (*head[1], *between, token)

    def _can_follow(self, head: _Head, spelled: bytes, token: TokenId, start: int) -> bool:
        """Return whether some token can follow in the same piece and leave `token` as it is."""
        before = self._merge(self.data[head[0] : start])
        place = self._places.get(token)
        if place is None or before is None:
            return False
        if before and not self._compatible(self._places[before[-1]], place):
            return False
        return any(
            found[0] == head and self._holds(found[1], token, start - head[0])
            for content in self._companions(place)
            for more in self._witnesses.after(spelled + content)
            if (found := self._find(spelled + content + more, start, len(spelled))) is not None
        )

    def _companions(self, place: int) -> Iterator[bytes]:
        """Yield the bytes of each token that can follow, by merging alone."""
        for following, content in self.vocabulary.tokens.items():
            other = self._places.get(following)
            if other is not None and self._compatible(place, other):
                yield content

    def _piece(self, piece: bytes) -> Tokens | None:
        """Return the tokens of a piece, or None if the vocabulary lacks one of its bytes."""
        token = self._model.whole_token(piece)
        return self._merge(piece) if token is None else (token,)

    def _merged(self, piece: bytes) -> Tokens | None:
        known = self.vocabulary.symbol_of_letter
        symbols = [known.get(letter) for letter in piece.decode("latin-1")]
        if None in symbols:
            return None
        return tuple(encode_quickly(self.vocabulary, self.vocabulary.symbols(piece)))


def _byte_cutter(tokenizer: Tokenizer, model: ByteBPE) -> Callable[[bytes], Sequence[bytes]]:
    """Return what cuts bytes as `encode_bytes` does."""
    cutter = tokenizer.pre_tokenizer

    def cut(text: str) -> list[str]:
        if cutter is None:
            return [text] if text else []
        return cutter.cut_text(text)

    return lambda data: pieces_of_bytes(model, cut, data)
