"""All vocabularies that are one step smaller: without some tokens, merges, rules or odd numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from bpe_ref import TextRules, TokenId, Vocabulary, vocabulary_by_concatenation, vocabulary_by_pair
from bpe_ref.vocabulary.merges import ByConcatenation
from tokenref.fuzzing.plan import Request
from tokenref.fuzzing.smaller_questions import HEXADECIMAL, cuts

_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyz"

_LARGEST: Final = 5_000
"""Tokens of the largest vocabulary that is made smaller: building a larger one takes too long."""


def smaller_vocabularies(
    vocabulary: Vocabulary, request: Request
) -> Iterator[tuple[Vocabulary, Request]]:
    """Yield vocabularies that are one step smaller, boldest first, with their requests.

    Ids keep their tokens as long as the request names some. The last vocabularies change together
    with the text.

    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2})
    >>> smaller = list(smaller_vocabularies(vocabulary, {"text": "a"}))
    >>> [list(each.tokens.values()) for each, _ in smaller[:4]]
    [[b'a'], [b'b', b'ab'], [b'a', b'ab'], [b'a', b'b']]
    """
    is_small = len(vocabulary.tokens) <= _LARGEST
    for smaller in _smaller(vocabulary, request) if is_small else ():
        yield smaller, request
    yield from _plainer_letters(vocabulary, request)
    yield from _shorter_words(vocabulary, request) if is_small else ()


def _smaller(vocabulary: Vocabulary, request: Request) -> Iterator[Vocabulary]:
    text = vocabulary.text
    used = [token for token in vocabulary.tokens if _is_used(vocabulary, token, request)]
    for kept in dict.fromkeys(map(tuple, [used, *cuts(list(vocabulary.tokens))])):
        if 0 < len(kept) < len(vocabulary.tokens):
            yield _with(vocabulary, tokens={token: vocabulary.tokens[token] for token in kept})
    for specials in cuts(list(vocabulary.special_tokens.items())):
        yield _with(vocabulary, special_tokens=dict(specials))
    if not isinstance(vocabulary.rule, ByConcatenation):
        for merges in cuts(list(vocabulary.rule.merges)):
            yield _with(vocabulary, merges=merges)
    for plainer in (
        replace(text, pattern=None),
        replace(text, normalization=None),
        replace(text, whole_piece=False),
    ):
        if plainer != text:
            yield _with(vocabulary, text=plainer)
    yield from _with_shorter_tokens(vocabulary)
    if "ids" not in request:
        yield from _renumbered(vocabulary)


def _with_shorter_tokens(vocabulary: Vocabulary) -> Iterator[Vocabulary]:
    for token, content in vocabulary.tokens.items():
        for shorter in (content[:1], content[:-1]):
            if shorter and shorter not in vocabulary.tokens.values():
                yield _with(vocabulary, tokens={**vocabulary.tokens, token: shorter})


def _shorter_words(
    vocabulary: Vocabulary, request: Request
) -> Iterator[tuple[Vocabulary, Request]]:
    """Yield vocabularies in which a token is shorter, with texts that spell it as it is now."""
    text = request.get("text")
    if not isinstance(text, str):
        return
    for token, content in sorted(vocabulary.tokens.items(), key=lambda item: -len(item[1])):
        for shorter in (content[: len(content) // 2], content[:-1], content[1:]):
            if len(shorter) > 1 and shorter not in vocabulary.tokens.values():
                try:
                    changed = text.encode().replace(content, shorter).decode()
                except UnicodeDecodeError:
                    continue
                tokens = {**vocabulary.tokens, token: shorter}
                yield _with(vocabulary, tokens=tokens), {**request, "text": changed}


def _plainer_letters(
    vocabulary: Vocabulary, request: Request
) -> Iterator[tuple[Vocabulary, Request]]:
    """Yield the vocabulary and the text with a, b, c ... for its bytes, in the order of the text.

    Only if there is no pattern, which may treat letters differently.
    """
    text, rules = request.get("text"), vocabulary.text
    if not isinstance(text, str) or rules.pattern is not None or rules.normalization is not None:
        return
    order = bytes(dict.fromkeys(text.encode() + b"".join(vocabulary.tokens.values())))
    if len(order) > len(_LETTERS) or vocabulary.special_tokens:
        return
    table = bytes.maketrans(order, _LETTERS[: len(order)])
    tokens = {token: content.translate(table) for token, content in vocabulary.tokens.items()}
    changed = text.encode().translate(table).decode()
    yield _with(vocabulary, tokens=tokens), {**request, "text": changed}


def size_of(vocabulary: Vocabulary) -> tuple[int, int, int, int, list[bytes]]:
    """Return what gets smaller: entries, bytes, rules, numbers, and then the order.

    >>> size_of(vocabulary_by_concatenation({b"a": 0, b"aa": 1}))
    (2, 3, 0, 2, [b'a', b'aa'])
    """
    text, rule, tokens = vocabulary.text, vocabulary.rule, vocabulary.tokens
    merges = 0 if isinstance(rule, ByConcatenation) else len(rule.merges)
    ranks = rule.ranks if isinstance(rule, ByConcatenation) else dict.fromkeys(tokens, 0)
    rules = (text.pattern is not None) + (text.normalization is not None) + text.whole_piece
    return (
        len(tokens) + merges + len(vocabulary.special_tokens),
        sum(map(len, tokens.values())),
        rules,
        sum(tokens) + sum(ranks.values()) + sum(vocabulary.special_tokens.values()),
        [tokens[token] for token in sorted(tokens, key=lambda token: (ranks[token], token))],
    )


def _is_used(vocabulary: Vocabulary, token: TokenId, request: Request) -> bool:
    """Return whether a request's texts contain a token, or its ids name it."""
    content = vocabulary.tokens[token]
    return token in request.get("ids", ()) or any(content in text for text in _texts(request))


def _texts(value: Any, key: str = "") -> Iterator[bytes]:
    if isinstance(value, str):
        yield bytes.fromhex(value) if key in HEXADECIMAL else value.encode("utf-8", "replace")
    elif isinstance(value, Mapping):
        for inner, entry in value.items():
            yield from _texts(entry, inner)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry, key)


def _with(
    vocabulary: Vocabulary,
    *,
    tokens: Mapping[TokenId, bytes] | None = None,
    merges: Sequence[tuple[TokenId, TokenId]] | None = None,
    special_tokens: Mapping[str, TokenId] | None = None,
    text: TextRules | None = None,
) -> Vocabulary:
    """Return the vocabulary with something replaced."""
    tokens = vocabulary.tokens if tokens is None else tokens
    special_tokens = vocabulary.special_tokens if special_tokens is None else special_tokens
    text = vocabulary.text if text is None else text
    ids = {content: token for token, content in tokens.items()}
    rule = vocabulary.rule
    if isinstance(rule, ByConcatenation):
        ranks = {content: rule.ranks[token] for token, content in tokens.items()}
        return vocabulary_by_concatenation(ranks, ids=ids, text=text, special_tokens=special_tokens)
    pairs = [
        (tokens[left], tokens[right])
        for left, right in (rule.merges if merges is None else merges)
        if left in tokens and right in tokens and tokens[left] + tokens[right] in ids
    ]
    return vocabulary_by_pair(ids, pairs, text=text, special_tokens=special_tokens)


def _renumbered(vocabulary: Vocabulary) -> Iterator[Vocabulary]:
    """Yield the vocabulary with ranks, and then also ids, from 0 without holes."""
    rule, tokens, text = vocabulary.rule, vocabulary.tokens, vocabulary.text
    order = sorted(set(vocabulary.special_tokens.values()))  # those that share one go on sharing
    specials = {
        text: len(tokens) + order.index(token) for text, token in vocabulary.special_tokens.items()
    }
    ids = {tokens[token]: place for place, token in enumerate(sorted(tokens))}
    if not isinstance(rule, ByConcatenation):
        pairs = [(tokens[left], tokens[right]) for left, right in rule.merges]
        yield vocabulary_by_pair(ids, pairs, text=text, special_tokens=specials)
        return
    by_rank = sorted(tokens, key=rule.ranks.__getitem__)
    ranks = {tokens[token]: rank for rank, token in enumerate(by_rank)}
    in_order = sorted(tokens.values(), key=lambda content: (len(content), content))
    plain = {content: place for place, content in enumerate(in_order)}
    yield vocabulary_by_concatenation(plain, text=text, special_tokens=specials)
    for numbers in (ranks, ids):
        yield vocabulary_by_concatenation(ranks, ids=numbers, text=text, special_tokens=specials)
    own = {content: token for token, content in tokens.items()}
    yield vocabulary_by_concatenation(
        ranks, ids=own, text=text, special_tokens=vocabulary.special_tokens
    )
