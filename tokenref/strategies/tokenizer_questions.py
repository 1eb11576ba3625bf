"""Questions to vocabularies and whole tokenizers: one strategy per operation, a record's `in`.

`texts` draws texts. This module draws the other parts of questions where they go wrong: unknown
ids, empty ranges, calls that undo a push, limits that are met exactly.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from string import punctuation
from typing import Any, Final, TypeAlias, TypeVar

from hypothesis import find  # noqa: F401 - used in the examples
from hypothesis import strategies as st

from bpe_ref import BpeError, Tokenizer, Vocabulary, tokenizer_of
from bpe_ref.grammar import Grammar, GrammarMatcher
from bpe_ref.models.byte_bpe import encode_bytes
from tokenref.strategies.texts import long_runs, mostly, texts, words_of

Request: TypeAlias = dict[str, Any]
_Word = TypeVar("_Word", str, bytes)

_LONGEST_PIECE: Final = 40
_FEW: Final = 8
_MOST: Final = 24
"""Positions are drawn as multiples of this fraction of a length."""

_BAD_BYTES: Final = (
    *(b"\xff", b"\xc3", b"\x80", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xe4\xbd", b"\xf5", b"\xc0"),
)
"""Bytes that are not UTF-8: stray, truncated, a surrogate, beyond Unicode, overlong."""


_ODD_TEXTS: Final = tuple(
    text.encode() for text in ("\ufeff", "\r\n", "\ufffd", " !", " n't", " a", "\U0001f600")
)
"""Texts that decoders often change: BOMs, line ends, replacement characters, leading spaces."""


def texts_of(vocabulary: Vocabulary, longest: int = 12) -> st.SearchStrategy[str]:
    """Return a strategy for texts for which the vocabulary matters.

    If a vocabulary lacks bytes, nearly all texts are made of its own words.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> find(texts_of(vocabulary_by_concatenation({b"a": 0, b"aa": 1})), lambda text: len(text) > 2)
    'aaa'
    """
    words = _own_words(vocabulary)
    if not words:
        return texts(longest=longest)
    own = st.lists(_repeated(words), max_size=longest).map("".join)
    if len(vocabulary.symbol_of_letter) == 256:
        return mostly(texts(*words, longest=longest), own, 3)
    return mostly(own, texts(*words, longest=longest), 16)


def _own_words(vocabulary: Vocabulary) -> list[str]:
    """Return the texts of a vocabulary whose bytes are all tokens."""
    known = {ord(letter) for letter in vocabulary.symbol_of_letter}
    return [word for word in words_of(vocabulary) if known.issuperset(word.encode())]


def _repeated(words: Sequence[_Word]) -> st.SearchStrategy[_Word]:
    """Return a strategy for a word, sometimes two or three times in a row."""
    parts = st.tuples(st.sampled_from(words), st.sampled_from([1, 1, 1, 2, 3]))
    return parts.map(lambda drawn: drawn[0] * drawn[1])


def pieces_of(vocabulary: Vocabulary, longest: int = _LONGEST_PIECE) -> st.SearchStrategy[bytes]:
    """Return a strategy for pieces that spell tokens, some of them several times in a row.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> find(pieces_of(vocabulary_by_concatenation({b"a": 0})), lambda piece: len(piece) == 2)
    b'aa'
    """
    known = {ord(letter) for letter in vocabulary.symbol_of_letter}
    words = [content for content in vocabulary.tokens.values() if known.issuperset(content)]
    if len(words) > 256:
        words = [content for content in words if len(content) > 1] + words[::16]
    if not words:
        return st.just(b"")
    words.sort(key=len)
    return st.lists(_repeated(words), max_size=_FEW).map(lambda parts: b"".join(parts)[:longest])


def _text_inputs(vocabulary: Vocabulary) -> st.SearchStrategy[Request]:
    text = texts_of(vocabulary).map(_as_text)
    own = _own_words(vocabulary)
    run = long_runs(own).map(_as_text) if own else text
    return mostly(text, run, 20)


def _texts_and_bytes(vocabulary: Vocabulary) -> st.SearchStrategy[Request]:
    part = mostly(texts_of(vocabulary, 3).map(str.encode), st.sampled_from(_BAD_BYTES), 3)
    octets = st.lists(part, max_size=4).map(lambda parts: {"bytes": b"".join(parts).hex()})
    return mostly(_text_inputs(vocabulary), octets, 10)


def _as_text(text: str) -> Request:
    return {"text": text}


def _special(vocabulary: Vocabulary) -> st.SearchStrategy[Request]:
    names = list(vocabulary.special_tokens)
    which: st.SearchStrategy[Any] = st.sampled_from(["all", []])
    text = texts_of(vocabulary)
    if names:
        which |= st.lists(st.sampled_from(names), unique=True)
        text = texts(*names, *_near(names), longest=8)
    return st.fixed_dictionaries({"text": text, "allowed": which, "disallowed": which})


def _near(names: Sequence[str]) -> list[str]:
    """Return texts that are nearly special tokens: truncated, overlapping, in another case."""
    cut = [part for name in names if len(name) > 1 for part in (name[:-1], name[1:])]
    overlapping = [
        name + other[size:]
        for name in names
        for other in names
        for size in range(1, min(len(name), len(other)))
        if name.endswith(other[:size])
    ]
    spaced = [f" {name} " for name in names]
    return [*cut, *overlapping, *overlapping, *map(str.upper, names), *spaced]


def ids_for(vocabulary: Vocabulary) -> st.SearchStrategy[list[int]]:
    """Return a strategy for ids: of texts, of any tokens, of bytes that are not UTF-8.

    Occasionally one is unknown.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> find(ids_for(vocabulary_by_concatenation({b"a": 0})), lambda ids: ids == [0, 0])
    [0, 0]
    """
    letters, special = vocabulary.symbol_of_letter, list(vocabulary.special_tokens.values())
    ordinary = list(vocabulary.tokens)
    long = [token for token in ordinary if len(vocabulary.tokens[token]) > 1]
    ways = [
        st.sampled_from(tokens).map(lambda token: [token])
        for tokens in (ordinary, long, special)
        if tokens
    ]
    if len(letters) == 256:
        odd = st.sampled_from([*_BAD_BYTES, *_ODD_TEXTS])
        spelled = mostly(texts(longest=3).map(str.encode), odd, 3)
        ways.append(spelled.map(lambda content: [letters[chr(byte)] for byte in content]))
    largest = max([*ordinary, *special])
    unknown = st.sampled_from([-1, largest + 1, 2**31, 2**32, 2**63, 2**64])
    parts: st.SearchStrategy[list[list[int]]] = st.lists(st.one_of(*ways), max_size=_FEW)
    known = parts.map(lambda drawn: [token for part in drawn for token in part])
    broken = st.tuples(known, unknown, known).map(lambda drawn: [*drawn[0], drawn[1], *drawn[2]])
    return mostly(known, broken, 16)


def _decode(vocabulary: Vocabulary) -> st.SearchStrategy[Request]:
    ids = ids_for(vocabulary)
    errors = st.sampled_from(["strict", "replace"])
    to_text = st.fixed_dictionaries({"ids": ids, "errors": errors})
    return mostly(to_text, st.fixed_dictionaries({"ids": ids}), 3)


def _canonical(vocabulary: Vocabulary) -> st.SearchStrategy[Request]:
    tokenizer = tokenizer_of(vocabulary)

    def in_two_parts(drawn: tuple[bytes, int]) -> list[int]:
        piece, cut = drawn
        return [t for part in (piece[:cut], piece[cut:]) for t in encode_bytes(tokenizer, part)]

    cut = st.tuples(pieces_of(vocabulary, 16), st.integers(0, 9)).map(in_two_parts)
    return st.fixed_dictionaries({"ids": ids_for(vocabulary) | cut})


def _stream(vocabulary: Vocabulary) -> st.SearchStrategy[Request]:
    errors = st.sampled_from(["strict", "replace", "replace"])
    return st.fixed_dictionaries({"ids": ids_for(vocabulary), "errors": errors})


def growing_calls(vocabulary: Vocabulary) -> st.SearchStrategy[list[Request]]:
    """Return a strategy for calls on a growing text: pushes and truncations.

    A truncation leaves any length that there is.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> find(growing_calls(vocabulary_by_concatenation({b"a": 0})), lambda calls: len(calls) == 2)
    [{'push': ''}, {'push': ''}]
    """
    push: st.SearchStrategy[bytes | int] = pieces_of(vocabulary, 12)
    return st.lists(mostly(push, st.integers(0, _MOST), 4), max_size=_FEW).map(_calls)


def _calls(drawn: Sequence[bytes | int]) -> list[Request]:
    """Return pushes unchanged, and truncations to a fraction of the current length."""
    calls, length = list[Request](), 0
    for each in drawn:
        if isinstance(each, bytes):
            length += len(each)
            calls.append({"push": each.hex()})
        else:
            length = length * each // _MOST
            calls.append({"truncate": length})
    return calls


def _intervals(vocabulary: Vocabulary) -> st.SearchStrategy[Request]:
    place = st.integers(0, _MOST)
    ranges = st.lists(st.tuples(place, place).map(sorted), max_size=5)

    def within(drawn: tuple[bytes, list[list[int]]]) -> Request:
        piece, parts = drawn
        shares = [[at * len(piece) // _MOST for at in part] for part in parts]
        return {"bytes": piece.hex(), "ranges": shares}

    return st.tuples(pieces_of(vocabulary, 24), ranges).map(within)


def _limit(vocabulary: Vocabulary) -> st.SearchStrategy[Request]:
    tokenizer = tokenizer_of(vocabulary)

    def near_the_count(drawn: tuple[str, int]) -> Request:
        text, more = drawn
        try:  # as many as there are, or one more or less
            count = tokenizer.count(text)
        except BpeError:
            count = 1
        return {"text": text, "limit": max(0, count + more)}

    text = texts_of(vocabulary, 8)
    near = st.tuples(text, st.integers(-1, 1)).map(near_the_count)
    return near | st.fixed_dictionaries({"text": text, "limit": st.integers(0, 12)})


def _chunks(vocabulary: Vocabulary) -> st.SearchStrategy[Request]:
    sizes = st.tuples(st.integers(1, 6), st.integers(0, 5))
    return st.tuples(texts_of(vocabulary, 5), sizes).map(
        lambda drawn: {
            "text": drawn[0],
            "most": drawn[1][0],
            "overlap": min(drawn[1][1], drawn[1][0] - 1),
        }
    )


def _session(vocabulary: Vocabulary) -> st.SearchStrategy[Request]:
    """Draw calls about only one or two texts, so that several calls share a text."""
    names = list(vocabulary.special_tokens)
    text = texts(*names, longest=4) if names else texts_of(vocabulary, 4)
    which: st.SearchStrategy[Any] = st.sampled_from(["all", [], *([name] for name in names[:4])])
    decoding = _decode(vocabulary).map(lambda given: {"op": "decode", "in": given})

    def about(text: str) -> st.SearchStrategy[Request]:
        special = {"text": st.just(text), "allowed": which, "disallowed": which}
        plain = [{"op": op, "in": _as_text(text)} for op in ("encode", "count")]
        return st.sampled_from(plain) | st.fixed_dictionaries(special).map(
            lambda given: {"op": "special", "in": given}
        )

    def several(few: Sequence[str]) -> st.SearchStrategy[Request]:
        call = st.sampled_from(few).flatmap(about) | decoding
        return st.lists(call, min_size=2, max_size=5).map(lambda calls: {"calls": calls})

    return st.lists(text, min_size=1, max_size=2).flatmap(several)


@st.composite
def _grammar_masks(draw: st.DrawFn, vocabulary: Vocabulary) -> Request:
    """Draw a pattern of characters of the vocabulary, and calls that mostly are allowed."""
    texts = (data.decode("utf-8", "ignore") for data in vocabulary.tokens.values())
    letters = sorted({letter for text in texts for letter in text} - {"<", ">"})[:40] or ["a"]
    escaped = [f"\\{letter}" if letter in punctuation else letter for letter in letters]
    part = st.sampled_from([*escaped, "."])
    patterns = st.recursive(
        part,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map("".join),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
            st.tuples(inner, st.sampled_from("*+?")).map(lambda pair: f"({pair[0]}){pair[1]}"),
            st.tuples(inner, st.sampled_from(["{2}", "{0,2}", "{1,}"])).map(
                lambda pair: f"({pair[0]}){pair[1]}"
            ),
        ),
        max_leaves=6,
    )
    pattern = draw(patterns)
    matcher, calls, accepted = GrammarMatcher(Grammar(pattern), vocabulary), list[Request](), 0
    for _ in range(draw(st.integers(0, 4))):
        allowed = matcher.allowed()
        if accepted and (not allowed or draw(st.integers(0, 3)) == 0):
            count = draw(st.integers(1, accepted))
            matcher.rollback(count)
            calls.append({"rollback": count})
            accepted -= count
        elif allowed:
            token = draw(st.sampled_from(allowed))
            matcher.accept(token)
            calls.append({"accept": token})
            accepted += 1
    return {"pattern": pattern, "calls": calls}


VOCABULARY_QUESTIONS: Final[Mapping[str, Callable[[Vocabulary], st.SearchStrategy[Request]]]] = {
    "pieces": _text_inputs,
    "encode": _texts_and_bytes,
    "count": _texts_and_bytes,
    "special": _special,
    "decode": _decode,
    "offsets": lambda vocabulary: ids_for(vocabulary).map(lambda ids: {"ids": ids}),
    "stream": _stream,
    **dict.fromkeys(
        ("append", "prepend"),
        lambda vocabulary: st.fixed_dictionaries({"calls": growing_calls(vocabulary)}),
    ),
    "eager": lambda vocabulary: st.lists(pieces_of(vocabulary, 12).map(bytes.hex), max_size=6).map(
        lambda parts: {"pushes": parts}
    ),
    "intervals": _intervals,
    "limit": _limit,
    "split": lambda vocabulary: st.fixed_dictionaries(
        {"text": texts_of(vocabulary, 8), "most": st.integers(1, 9)}
    ),
    "chunks": _chunks,
    # Only the end of a text can be completed, and finding all covers takes long.
    "completions": lambda vocabulary: st.fixed_dictionaries(
        {"text": texts_of(vocabulary, 3).map(lambda text: text[-50:]), "complete": st.booleans()}
    ),
    "canonical": _canonical,
    "grammar_mask": _grammar_masks,
    "session": _session,
}
"""The strategy for the questions of each operation, given a vocabulary."""

_OF_PIECES: Final = frozenset(
    {"append", "prepend", "eager", "intervals", "canonical", "grammar_mask"}
)
"""Operations that treat a text as one piece and ignore the vocabulary's pattern."""


def worth_asking(op: str, vocabulary: Vocabulary) -> bool:
    """Return whether an operation makes sense for a vocabulary.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> plain = vocabulary_by_concatenation({b"a": 0})
    >>> worth_asking("pieces", plain), worth_asking("append", plain)
    (False, True)
    """
    if op == "special":
        return bool(vocabulary.special_tokens)
    has_pattern = vocabulary.text.pattern is not None
    return not has_pattern if op in _OF_PIECES else has_pattern or op != "pieces"


# ---- whole tokenizers


_MOST_WORDS: Final = 400


def tokens_of(tokenizer: Tokenizer) -> list[int]:
    """Return the ids of a tokenizer, with its added tokens; every n-th if there are many."""
    found = sorted(set(tokenizer.vocab.values()))
    return found[:: -(-len(found) // _MOST_WORDS)]


def words_of_tokenizer(tokenizer: Tokenizer) -> list[str]:
    """Return the texts of a tokenizer's tokens: decoded, and as written in the vocabulary.

    Added tokens come as often as a third of all others together: most goes wrong about them.
    """
    words = dict.fromkeys(
        word
        for token in tokens_of(tokenizer)
        for word in (_decoded(tokenizer, token), tokenizer.id_to_token(token))
        if word
    )
    ordinary = tokenizer.model.vocab
    added = [word for word in tokenizer.vocab if word not in ordinary]
    times = 1 + len(words) // (3 * len(added)) if added else 0
    return [*words, *added * times]


def _decoded(tokenizer: Tokenizer, token: int) -> str:
    """Return the text of a token; an empty text if the decoder refuses it."""
    try:
        return tokenizer.decode([token])
    except BpeError:
        return ""


def _encoded(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the ids of a text; an empty list if a character has no token."""
    try:
        return tokenizer.encode(text)
    except BpeError:
        return []


def _tokenize(_: Tokenizer, words: list[str]) -> st.SearchStrategy[Request]:
    one = {"text": texts(*words, longest=8), "add_special_tokens": st.booleans()}
    pair = st.fixed_dictionaries({**one, "pair": texts(*words, longest=4)})
    return mostly(st.fixed_dictionaries(one), pair, 4)


def _detokenize(
    tokenizer: Tokenizer, words: list[str], **more: st.SearchStrategy[Any]
) -> st.SearchStrategy[Request]:
    known = tokens_of(tokenizer)
    unknown = st.sampled_from([known[-1] + 1, known[-1] + 2, 99_999])
    listed = st.lists(mostly(st.sampled_from(known), unknown, 32), max_size=8)
    of_text = texts(*words, longest=4).map(partial(_encoded, tokenizer))
    ids = listed | st.tuples(listed, of_text).map(lambda drawn: drawn[0] + drawn[1])
    return st.fixed_dictionaries({"ids": ids, "skip_special_tokens": st.booleans(), **more})


Questions: TypeAlias = Callable[[Tokenizer, list[str]], st.SearchStrategy[Request]]

TOKENIZER_QUESTIONS: Final[Mapping[str, Questions]] = {
    "tokenize": _tokenize,
    "detokenize": _detokenize,
    "detokenize_stream": partial(_detokenize, mode=st.sampled_from(["certain", "engine"])),
}
"""The strategy for the questions of each operation, given a tokenizer and its texts."""
