"""A vocabulary: tokens, merge rule, special tokens, and how text is cut for it.

Representation
    Every token has an id, the bytes it decodes to, and a *spelling*: its symbols, one letter each.
    Here symbols are bytes, and the letter of a byte is the character with the same number, so
    `spelling` is `token_bytes.decode("latin-1")`. Encoders see letters and ids only, so they need
    not know what a symbol is.

Rank and id
    are two numbers. The rank orders merges, the id is what comes out. Ids may have holes and need
    not be in rank order (DeepSeek puts its special tokens at 0 and 1; p50k_base has no 50256).

Two special tokens may share an id (o200k_harmony calls 200018 both `<|endofprompt|>` and
`<|reserved_200018|>`); the one listed first is what the id decodes to. No other two tokens may.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar, cast

from bpe_ref.errors import SymbolError, TokenIdError, VocabularyError, shown
from bpe_ref.vocabulary.merges import (
    ByConcatenation,
    ByPair,
    Merge,
    MergeRule,
    Pair,
    Spelling,
    TokenId,
)

DEFAULT_TABLES = "unicode-16.0"

_Table = TypeVar("_Table")


@dataclass(frozen=True)
class TextRules:
    """What happens to text before its pieces are merged.

    >>> TextRules().pattern is None
    True
    """

    pattern: str | None = None
    """The pre-tokenization pattern; None leaves the text in one piece."""

    tables: str = DEFAULT_TABLES
    r"""What the pattern's \p{L}, \s and so on mean: a name from `unicode_tables`."""

    normalization: str | None = None
    """`"nfc"`, or None: the text is taken as it is."""

    whole_piece: bool = False
    """Whether a piece that is itself a token becomes that token without any merge."""


def missing_symbol(byte: int, place: int) -> SymbolError:
    """Return the error for a byte that is not a token of its own.

    >>> missing_symbol(97, 0)
    SymbolError('byte 0x61 at position 0 of the piece is not a token of this vocabulary, so ...')
    """
    return SymbolError(
        f"byte 0x{byte:02X} at position {place} of the piece is not a token "
        "of this vocabulary, so the piece cannot be encoded"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """Tokens and the rules that make them. Build one with the two functions below.

    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2})
    >>> vocabulary.symbols(b"ab"), vocabulary.merge(0, 1)
    ([0, 1], Merge(rank=2, result=2))
    """

    tokens: Mapping[TokenId, bytes]
    """The bytes of every token but the special ones."""

    rule: MergeRule
    text: TextRules = field(default_factory=TextRules)
    special_tokens: Mapping[str, TokenId] = field(default_factory=dict)

    spellings: Mapping[TokenId, Spelling] = field(init=False)
    ids: Mapping[Spelling, TokenId] = field(init=False)
    symbol_of_letter: Mapping[str, TokenId] = field(init=False)
    special_bytes: Mapping[TokenId, bytes] = field(init=False)
    _symbols: dict[str, TokenId] = field(init=False)
    _letters: dict[TokenId, str] = field(init=False)
    _remembered: dict[object, object] = field(init=False, default_factory=dict)

    def __repr__(self) -> str:
        """Return the numbers of tokens, not the tokens themselves."""
        special = f"{len(self.special_tokens)} special tokens"
        return f"<Vocabulary, {len(self.tokens)} ordinary and {special}>"

    def __post_init__(self) -> None:
        """Check the parts against each other and fill in what follows from them."""
        if self.text.pattern is not None and not _is_unicode(self.text.pattern):
            raise VocabularyError(
                f"a pattern must be text without surrogates, got {self.text.pattern!r}"
            )
        spellings: Mapping[TokenId, Spelling]
        ids: Mapping[Spelling, TokenId]
        if isinstance(self.rule, ByConcatenation):
            # the rule was built from the same tables; two copies would only cost memory
            spellings, ids = self.rule.spellings, self.rule.ids
        else:
            spellings = {token: content.decode("latin-1") for token, content in self.tokens.items()}
            ids = {spelling: token for token, spelling in spellings.items()}
        object.__setattr__(self, "tokens", MappingProxyType(dict(self.tokens)))
        object.__setattr__(self, "special_tokens", MappingProxyType(dict(self.special_tokens)))
        object.__setattr__(self, "spellings", MappingProxyType(spellings))
        object.__setattr__(self, "ids", MappingProxyType(ids))
        symbols = {letter: ids[letter] for letter in map(chr, range(256)) if letter in ids}
        letters = {symbol: letter for letter, symbol in symbols.items()}
        # the same without the wrapping, which costs time where there are a million symbols
        object.__setattr__(self, "_symbols", symbols)
        object.__setattr__(self, "_letters", letters)
        object.__setattr__(self, "symbol_of_letter", MappingProxyType(symbols))
        special_bytes = _special_bytes(self.tokens, self.special_tokens)
        object.__setattr__(self, "special_bytes", MappingProxyType(special_bytes))

    def __reduce__(self) -> tuple[object, ...]:
        """Return what makes this vocabulary again, for pickle and copy."""
        return Vocabulary, (dict(self.tokens), self.rule, self.text, dict(self.special_tokens))

    def merge(self, left: TokenId, right: TokenId) -> Merge | None:
        """Return what becomes of the adjacent tokens `left` and `right`, if anything."""
        return self.rule.merge(left, right)

    def symbols(self, piece: bytes) -> list[TokenId]:
        """Return the symbols that a piece starts out as: one per byte.

        Raises `SymbolError` for a byte that is not a token of its own.

        >>> vocabulary_by_concatenation({b"a": 5}).symbols(b"ax")
        Traceback (most recent call last):
        bpe_ref.errors.SymbolError: byte 0x78 at position 1 of the piece is not a token ...
        """
        try:
            return list(map(self._symbols.__getitem__, piece.decode("latin-1")))
        except KeyError as missing:
            letter: str = missing.args[0]
            place = piece.index(ord(letter))
            raise missing_symbol(ord(letter), place) from None

    def spell(self, symbols: Sequence[TokenId]) -> Spelling:
        """Return the letters of a sequence of symbols.

        Raises `SymbolError` for an id that is not a symbol: encoders start
        from single symbols, never from merged tokens.

        >>> vocabulary_by_concatenation({b"a": 5, b"aa": 6}).spell([5, 5])
        'aa'
        """
        known = self._letters
        if not isinstance(symbols, Sequence):
            raise SymbolError(f"symbols must be a sequence of ids, got {symbols!r}")
        if set(map(type, symbols)) <= {int}:  # True would pass for 1 as a key
            try:
                return "".join(map(known.__getitem__, symbols))
            except KeyError:
                pass
        at = next(i for i, s in enumerate(symbols) if type(s) is not int or s not in known)
        raise SymbolError(
            f"symbol {at} must be the id of a single-symbol token, got {symbols[at]!r}"
        )

    def token_bytes(self, token: TokenId) -> bytes:
        """Return the bytes that a token, special or not, decodes to.

        Raises `TokenIdError` for anything that is not an id of this vocabulary.

        >>> vocabulary_by_concatenation({b"a": 5}).token_bytes(6)
        Traceback (most recent call last):
        bpe_ref.errors.TokenIdError: token id must be one of this vocabulary's, got 6
        """
        if type(token) is int:
            found = self.tokens.get(token)
            if found is None:
                found = self.special_bytes.get(token)
            if found is not None:
                return found
        raise TokenIdError(f"token id must be one of this vocabulary's, got {token!r}")

    def remember(self, build: "Callable[[Vocabulary], _Table]") -> _Table:
        """Return `build(self)`, built once and kept as long as the vocabulary lives."""
        if build not in self._remembered:
            self._remembered[build] = build(self)
        return cast("_Table", self._remembered[build])

    def digest(self) -> str:
        """Return the sha256 of the vocabulary's meaning, whatever file it came from.

        The canonical text is described in `canonical_lines`.

        >>> vocabulary_by_concatenation({b"a": 0}).digest()[:16]
        'sha256:...'
        """
        return self.remember(_digest)


def vocabulary_by_concatenation(
    ranks: Mapping[bytes, int],
    *,
    ids: Mapping[bytes, TokenId] | None = None,
    text: TextRules | None = None,
    special_tokens: Mapping[str, TokenId] | None = None,
) -> Vocabulary:
    """Build a vocabulary whose pairs merge by concatenation.

    `ranks` gives each token's bytes its rank; `ids` gives it its id, where
    that is another number. Raises `VocabularyError`, naming the token.

    >>> vocabulary_by_concatenation({b"a": 0, b"": 1})
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyError: a token must have at least one byte, got b'' with id 1
    """
    id_of = ranks if ids is None else ids
    if ids is not None and ids.keys() != ranks.keys():
        odd = next(iter(ids.keys() ^ ranks.keys()))
        raise VocabularyError(f"every token must have a rank and an id, {odd!r} has only one")
    _check_tokens(id_of)
    if ids is not None:
        _check_numbers("rank", ranks)
    # Bulk operations: a real vocabulary has 100,000 tokens and more, and is waited for.
    numbers = list(id_of.values())
    letters = [content.decode("latin-1") for content in id_of]
    rule = ByConcatenation(
        spellings=dict(zip(numbers, letters, strict=True)),
        ids=dict(zip(letters, numbers, strict=True)),
        ranks=dict(zip(numbers, map(ranks.__getitem__, id_of), strict=True)),
    )
    tokens = dict(zip(numbers, id_of, strict=True))
    return Vocabulary(tokens, rule, *_rest(text, special_tokens))


def vocabulary_by_pair(
    ids: Mapping[bytes, TokenId],
    merges: Iterable[tuple[bytes, bytes]],
    *,
    text: TextRules | None = None,
    special_tokens: Mapping[str, TokenId] | None = None,
) -> Vocabulary:
    """Build a vocabulary whose pairs merge if they are on a list.

    `merges` are pairs of token bytes, first merge first. A pair that is listed
    twice has its last place as its rank. Raises `VocabularyError`.

    >>> vocabulary = vocabulary_by_pair({b"a": 0, b"aa": 1}, [(b"a", b"a")])
    >>> vocabulary.merge(0, 0)
    Merge(rank=0, result=1)
    """
    _check_tokens(ids)
    listed: list[Pair] = []
    table: dict[Pair, Merge] = {}
    if not isinstance(merges, Iterable):
        raise VocabularyError(f"merges must be pairs of bytes, got {shown(merges)}")
    for rank, pair in enumerate(merges):
        try:
            left, right = pair
            parts = (left, right, left + right)
        except (TypeError, ValueError):
            raise VocabularyError(
                f"merge {rank} must be a pair of bytes, got {shown(pair)}"
            ) from None
        for part in parts:
            if part not in ids:
                raise VocabularyError(
                    f"merge {rank} must join two tokens into a third, but {part!r} is not a token"
                )
        listed.append((ids[left], ids[right]))
        table[listed[-1]] = Merge(rank, ids[left + right])
    tokens = {token: content for content, token in ids.items()}
    return Vocabulary(tokens, ByPair(listed, table), *_rest(text, special_tokens))


def canonical_lines(vocabulary: Vocabulary) -> Iterable[str]:
    r"""Yield the canonical text of a vocabulary, line by line, without line ends.

    First the rules, as `name TAB value`, then the special tokens by id (those
    that share one as listed), as `special TAB id TAB text in hex`, then the
    tokens by id, as
    `spelling in hex TAB rank TAB id` (no rank by pair), then the merges as
    listed, as `left id TAB right id` (none by concatenation).

    >>> list(canonical_lines(vocabulary_by_concatenation({b"a": 0})))[-1]
    '61\t0\t0'
    """
    text, rule = vocabulary.text, vocabulary.rule
    yield f"rule\t{'concatenation' if isinstance(rule, ByConcatenation) else 'pair'}"
    yield f"whole_piece\t{'yes' if text.whole_piece else 'no'}"
    yield f"normalization\t{text.normalization or 'none'}"
    yield f"tables\t{text.tables if text.pattern is not None else 'none'}"
    yield f"pattern\t{'none' if text.pattern is None else text.pattern.encode().hex()}"
    for content, token in sorted(vocabulary.special_tokens.items(), key=lambda item: item[1]):
        yield f"special\t{token}\t{content.encode().hex()}"
    if isinstance(rule, ByConcatenation):
        for token in sorted(vocabulary.tokens):
            yield f"{vocabulary.tokens[token].hex()}\t{rule.ranks[token]}\t{token}"
    else:
        for token in sorted(vocabulary.tokens):
            yield f"{vocabulary.tokens[token].hex()}\t\t{token}"
        for left, right in rule.merges:
            yield f"{left}\t{right}"


def _digest(vocabulary: Vocabulary) -> str:
    from hashlib import sha256  # slow to load, and most programs ask for no digest

    hasher = sha256()
    for line in canonical_lines(vocabulary):
        hasher.update(line.encode())
        hasher.update(b"\n")
    return f"sha256:{hasher.hexdigest()}"


def _rest(
    text: TextRules | None, special_tokens: Mapping[str, TokenId] | None
) -> tuple[TextRules, dict[str, TokenId]]:
    """Return the text rules and special tokens; raise `VocabularyError` for anything else."""
    if not isinstance(text, TextRules | None):
        raise VocabularyError(f"text must be TextRules or None, got {shown(text)}")
    if not isinstance(special_tokens, Mapping | None):
        raise VocabularyError(
            f"special_tokens must be a mapping of texts to ids, got {shown(special_tokens)}"
        )
    return text or TextRules(), dict(special_tokens or {})


def _check_tokens(ids: Mapping[bytes, TokenId]) -> None:
    """Raise `VocabularyError` unless these are distinct, non-empty tokens with proper ids."""
    if not isinstance(ids, Mapping):
        raise VocabularyError(f"the tokens must be a mapping of bytes to ids, got {shown(ids)}")
    if not set(map(type, ids)) <= {bytes}:
        culprit = next(content for content in ids if type(content) is not bytes)
        raise VocabularyError(f"a token must be bytes, got {culprit!r}")
    if b"" in ids:
        raise VocabularyError(
            f"a token must have at least one byte, got b'' with id {shown(ids[b''])}"
        )
    if not ids:
        raise VocabularyError("a vocabulary must have at least one token, got none")
    _check_numbers("id", ids)


def _check_numbers(what: str, numbers: Mapping[bytes, int]) -> None:
    """Raise `VocabularyError` unless each number is a distinct non-negative int."""
    values = numbers.values()
    if set(map(type, values)) == {int} and min(values) >= 0 and len(set(values)) == len(values):
        return
    # Something is wrong; now one by one, to name the first culprit.
    seen: dict[int, bytes] = {}
    for content, number in numbers.items():
        if type(number) is not int or number < 0:
            raise VocabularyError(
                f"the {what} of token {content!r} must be a whole number from 0, "
                f"got {shown(number)}"
            )
        if number in seen:
            raise VocabularyError(
                f"each {what} must belong to one token, "
                f"but {what} {shown(number)} is given to {seen[number]!r} and to {content!r}"
            )
        seen[number] = content


def _special_bytes(
    tokens: Mapping[TokenId, bytes], special_tokens: Mapping[str, TokenId]
) -> dict[TokenId, bytes]:
    """Return what each special id decodes to; raise `VocabularyError` for a bad one."""
    special_bytes: dict[TokenId, bytes] = {}
    for content, token in special_tokens.items():
        if type(content) is not str or not content or not _is_unicode(content):
            raise VocabularyError(
                f"a special token must be non-empty text without surrogates, got {content!r}"
            )
        if type(token) is not int or token < 0:
            raise VocabularyError(
                f"the id of special token {content!r} must be a whole number from 0, "
                f"got {shown(token)}"
            )
        if token in tokens:
            raise VocabularyError(
                f"special token {content!r} must have an id of its own, "
                f"but {shown(token)} is the id of {tokens[token]!r}"
            )
        special_bytes.setdefault(token, content.encode())
    return special_bytes


def _is_unicode(text: str) -> bool:
    """Return whether a text can be written in UTF-8: whether it holds no surrogates."""
    return isinstance(text, str) and not any("\ud800" <= letter <= "\udfff" for letter in text)
