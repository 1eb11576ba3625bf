"""All questions, and all vocabularies, that are one step smaller. Large steps come first.

A request is plain JSON and is made smaller part by part: texts and lists lose a half, a quarter,
..., one entry; characters become `a`; numbers move towards 0; optional parts are removed. The
caller checks whether the result is still valid and still fails. A vocabulary loses tokens, merges,
rules or odd numbers.

A token of a sampler is removed from all rows at once, and from the history and everything else
that names tokens; later tokens move up. The weight of a removed token goes to the heaviest token,
so that weights still sum to 1.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate, count, takewhile
from math import fsum, inf, isfinite
from typing import Any, Final, TypeAlias, TypeVar

from bpe_ref import TextRules, TokenId, Vocabulary, vocabulary_by_concatenation, vocabulary_by_pair
from bpe_ref.vocabulary.merges import ByConcatenation
from tokenref.floats import FloatsError, is_numbers, pack, type_of, unpack
from tokenref.fuzzing.plan import Request
from tokenref.record import SAMPLER_OPS

Changes: TypeAlias = Callable[[str, Any], Iterator[Any]]
"""What a value may be replaced by, given its key."""

_Cut = TypeVar("_Cut", str, bytes, list[Any])
_Part = TypeVar("_Part", str, bytes)

HEXADECIMAL: Final = frozenset({"bytes", "push", "pushes", "before", "unit", "after"})
"""Keys whose strings are bytes."""

_OPTIONAL: Final = frozenset({"pair", "uniforms", "state"})
"""Keys that a request may do without."""

_PLAIN_SIGNS: Final = ("a", " ", "0")
"""What a character is replaced by, the plainest first."""

ROWS: Final = frozenset({"logits", "probs", "target", "draft"})
"""Keys of rows: a number for each token."""

_NAMES_TOKENS: Final = frozenset(
    {
        *("history", "tokens", "prompt", "ends", "encoder_input", "protected", "words"),
        *("accept", "token"),
    }
)
"""Keys whose whole numbers are tokens."""


def smaller_requests(op: str, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield requests that are one step smaller, boldest first. They may be no requests at all.

    What is on is turned off before a text gets shorter, because an empty one may need it.

    >>> [each["text"] for each in smaller_requests("encode", {"text": "xy"})]
    ['', 'y', 'x', 'aa', 'ay', 'xa', '  ', ' y', 'x ', '00', '0y', 'x0']
    """
    if "recipe" in request:
        recipe = request["recipe"]
        parts = (recipe["before"], recipe["unit"] * recipe["times"], recipe["after"])
        yield {"bytes": "".join(parts)}
    if op in SAMPLER_OPS:
        yield from smaller_sampling(request)
    for key, value in sorted(request.items(), key=lambda item: item[1] is not True):
        if key in _OPTIONAL:
            yield {other: kept for other, kept in request.items() if other != key}
        for smaller in _with_one_changed(key, value, _smaller):
            yield {**request, key: smaller}


def _with_one_changed(key: str, value: Any, changes: Changes) -> Iterator[Any]:
    """Yield a value with one part changed: itself, an entry, or a part of an entry."""
    yield from changes(key, value)
    if isinstance(value, list):
        for place, entry in enumerate(value):
            for changed in _with_one_changed(key, entry, changes):
                yield [*value[:place], changed, *value[place + 1 :]]
    elif isinstance(value, dict) and not is_numbers(value):
        for inner, entry in value.items():
            for changed in _with_one_changed(inner, entry, changes):
                yield {**value, inner: changed}


def _smaller(key: str, value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from cuts(value)
    elif value is True:
        yield False
    elif value == "all" and key in {"allowed", "disallowed"}:
        yield []
    elif isinstance(value, int) and value is not False:
        yield from _smaller_numbers(value)
    elif isinstance(value, str) and key in HEXADECIMAL:
        yield from map(bytes.hex, _smaller_bytes(bytes.fromhex(value)))
    elif isinstance(value, str) and key in {"text", "pair"}:
        yield from _smaller_text(value)


def _smaller_numbers(number: int) -> Iterator[int]:
    """Yield whole numbers that are nearer to 0: for 9, these are 0, 1, 4, 7 and 8."""
    parts = takewhile(bool, (abs(number) >> power for power in count(2)))
    nearer = (number - part if number > 0 else number + part for part in (*parts, 1))
    steps = (0, 1, int(number / 2), *nearer)
    yield from (
        step for step in dict.fromkeys(steps) if (abs(step), step < 0) < (abs(number), number < 0)
    )


def cuts(whole: _Cut) -> Iterator[_Cut]:
    """Yield a sequence without its halves, its quarters, ... and each single entry.

    >>> list(cuts("abc"))
    ['', 'bc', 'ac', 'ab']
    """
    size = len(whole)
    while size:
        for start in range(0, len(whole), size):
            yield whole[:start] + whole[start + size :]
        size //= 2


def _smaller_text(text: str) -> Iterator[str]:
    yield from cuts(text)
    for plain in _PLAIN_SIGNS:
        yield from map("".join, _replaced(text, plain))


def _smaller_bytes(content: bytes) -> Iterator[bytes]:
    yield from cuts(content)
    singles = [content[at : at + 1] for at in range(len(content))]
    yield from map(b"".join, _replaced(singles, b"a"))


def _replaced(parts: Sequence[_Part], plain: _Part) -> Iterator[list[_Part]]:
    """Yield what is left if all parts, or those of one kind, are replaced by something plain."""
    if any(part != plain for part in parts):
        yield [plain] * len(parts)
    for kind in dict.fromkeys(parts):
        if kind != plain:
            yield [plain if part == kind else part for part in parts]


def numbers_in(value: Any, key: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield all numbers in a request, each with the key that it belongs to.

    >>> list(numbers_in({"draft": [{"f16": "3c00"}]}))
    [('draft', {'f16': '3c00'})]
    """
    if isinstance(value, dict) and is_numbers(value):
        yield key, value
    elif isinstance(value, dict):
        for inner, entry in value.items():
            yield from numbers_in(entry, inner)
    elif isinstance(value, list):
        for entry in value:
            yield from numbers_in(entry, key)


def hardness(request: Any) -> float:
    """Return how hard the numbers of a request are to read: the digits of each, added up.

    >>> hardness({"probs": pack([0.5, 0.5])}) < hardness({"probs": pack([0.3125, 0.6875])})
    True
    """
    often = Counter(number for _, row in numbers_in(request) for number in unpack(row))
    return fsum(
        times * (len(repr(number)) + abs(number) / 1000 if isfinite(number) else len("-inf.0"))
        for number, times in often.items()
    )


_PER_TOKEN: Final = frozenset({"uniforms"})
"""Keys of numbers of which some draws need one for each token."""

_PLAIN: Final = (0.0, 1.0, 0.5, 2.0)
_SIMPLEST: Final[Mapping[int, Sequence[float]]] = {
    1: (1.0,),
    2: (0.5, 0.5),
    3: (0.5, 0.25, 0.25),
    4: (0.5, 0.25, 0.125, 0.125),
}
_LONGEST: Final = 64
"""Tokens of the longest row in which single ones are tried; a longer one loses parts."""


def smaller_sampling(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield requests with fewer tokens, fewer parameters, or a plainer number."""
    size, rows = _size(request), _rows_alone(request)
    part = max(size // 2, 1)
    while part:
        for start in range(0, size, part) if part > 1 or size <= _LONGEST else ():
            gone = range(start, min(start + part, size))
            before = max(start - part, 0)
            if rows and start and all(row[before:start] == row[start : gone.stop] for row in rows):
                continue  # without these tokens it is the same as without those before
            if len(gone) < size:
                yield _without(request, gone, size)
        part //= 2
    params = request.get("params", {})
    for name in params:
        yield {**request, "params": {key: params[key] for key in params if key != name}}
    if "probs" in request:
        for few, weights in _SIMPLEST.items():
            if few <= size:
                shorter = _without(request, range(few, size), size) if few < size else request
                yield from _with_simplest_weights(shorter, weights)
    yield from _in_32_bits(request)
    yield from _with_one_changed("", request, _plainer)


def _rows_alone(request: Mapping[str, Any]) -> list[list[float]]:
    """Return the rows of a request in which nothing else is about a single token, or none."""
    params = request.get("params", {})
    parts = [request[key] for key in request.keys() - ROWS - {"params"}] + [*params.values()]
    if all(
        isinstance(part, int) or (is_numbers(part) and len(unpack(part)) == 1) for part in parts
    ):
        return [unpack(row) for key, row in numbers_in(request) if key in ROWS]
    return []


def _with_simplest_weights(
    request: Mapping[str, Any], weights: Sequence[float]
) -> Iterator[dict[str, Any]]:
    """Yield the request about the simplest weights, each number at one of their sums.

    A failure at a boundary needs both to change at once.
    """
    row = {"probs": pack(weights, type_of(request["probs"]))}
    sums = sorted({*weights, *accumulate(weights)})
    yield {**request, **row}
    params = request.get("params", {})
    for name, value in params.items():
        if isinstance(value, dict) and is_numbers(value):
            for point in sums:
                yield {**request, **row, "params": {**params, name: pack([point])}}
    if "uniforms" in request:
        for point in (0.0, *sums[:-1]):
            yield {**request, **row, "uniforms": pack([point], type_of(request["uniforms"]))}


def _in_32_bits(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the request with all its rows in 32 bits, if they represent the numbers."""
    rows = {key: request[key] for key in ROWS & request.keys() if isinstance(request[key], dict)}
    try:
        plain = {key: pack(unpack(row)) for key, row in rows.items()}
    except FloatsError:
        return
    if plain != rows:
        yield {**request, **plain}


def _size(request: Mapping[str, Any]) -> int:
    """Return the length of the rows of a request; 0 if they differ or there are none."""
    sizes = {len(unpack(row)) for key, row in numbers_in(request) if key in ROWS}
    return sizes.pop() if len(sizes) == 1 else 0


def _without(request: Mapping[str, Any], gone: range, size: int) -> dict[str, Any]:
    """Return a request without some tokens of its rows."""
    kept = [token for token in range(size) if token not in gone]
    place = {token: number for number, token in enumerate(kept)}

    def changed(value: Any, key: str) -> Any:
        if isinstance(value, dict):
            if key in ROWS and is_numbers(value):
                return _shorter(value, kept, is_weights=key != "logits")
            if key in _PER_TOKEN and is_numbers(value) and len(unpack(value)) == size:
                return pack([unpack(value)[token] for token in kept], type_of(value))
            if key == "biases" and "map" in value:
                pairs = [[changed(name, "token"), number] for name, number in value["map"]]
                return {"map": [pair for pair in pairs if pair[0] not in (None, [])]}
            return {inner: changed(entry, inner) for inner, entry in value.items()}
        if isinstance(value, list):
            entries = [changed(entry, key) for entry in value]
            return [entry for entry in entries if entry is not None]
        if key in _NAMES_TOKENS and isinstance(value, int) and not isinstance(value, bool):
            return place.get(value)
        return value

    result = {key: changed(value, key) for key, value in request.items()}
    if "prompt_length" in result:
        lost = len(request["history"]) - len(result["history"])
        result["prompt_length"] = max(0, request["prompt_length"] - lost)
    return result


def _shorter(row: Mapping[str, str], kept: Sequence[int], *, is_weights: bool) -> dict[str, str]:
    numbers, dtype = unpack(row), type_of(row)
    left = [numbers[token] for token in kept]
    finite = [number for number in numbers if isfinite(number)]
    if is_weights and left and len(finite) == len(numbers):
        heaviest = max(range(len(left)), key=left.__getitem__)
        left[heaviest] += sum(numbers) - sum(left)
    try:
        return pack(left, dtype)
    except FloatsError:
        return pack([numbers[token] for token in kept], dtype)


def _plainer(key: str, value: Any) -> Iterator[dict[str, str]]:
    """Yield numbers with one of them replaced by a plainer one; weights pass weight on."""
    if not is_numbers(value) or len(numbers_now := unpack(value)) > _LONGEST:
        return
    moves = _moved_weights if key in {"probs", "target", "draft"} else _replaced_numbers
    for numbers in moves(numbers_now):
        with suppress(FloatsError):
            yield pack(numbers, type_of(value))


def _replaced_numbers(numbers: Sequence[float]) -> Iterator[list[float]]:
    plainer: list[Callable[[float], float]] = [*(lambda _, n=n: n for n in _PLAIN), _rounded]
    for change in plainer:
        for at, number in enumerate(numbers):
            if number in (inf, -inf) or change(number) != number:
                yield [*numbers[:at], change(number), *numbers[at + 1 :]]


def _rounded(number: float) -> float:
    return float(round(number)) if isfinite(number) else 0.0


def _moved_weights(numbers: Sequence[float]) -> Iterator[list[float]]:
    """Yield weights in which one is the same as another, or none, and a third takes the rest."""
    for at in range(len(numbers)):
        for to in range(len(numbers)):
            if to == at:
                continue
            for part in (0.0, 0.25, 0.5):
                moved = list(numbers)
                moved[at], moved[to] = part, moved[to] + moved[at] - part
                if moved[to] >= 0 and part != numbers[at]:
                    yield moved


# ---- vocabularies


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
    for smaller in _smaller_ones(vocabulary, request) if is_small else ():
        yield smaller, request
    yield from _plainer_letters(vocabulary, request)
    yield from _shorter_words(vocabulary, request) if is_small else ()


def _smaller_ones(vocabulary: Vocabulary, request: Request) -> Iterator[Vocabulary]:
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
    off: dict[str, Any] = {"pattern": None, "normalization": None, "whole_piece": False}
    for name, plain in off.items():
        if getattr(text, name) != plain:
            yield _with(vocabulary, text=replace(text, **{name: plain}))
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
