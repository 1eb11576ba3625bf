"""A vocabulary as one plain JSON file: everything that it means, and nothing else.

Unlike vendors' formats it can say every vocabulary that this package can hold: ids that are not
ranks, holes, missing bytes, lists of merges with duplicates. Keys:

rule            "concatenation" or "pair"
whole_piece     whether a piece that is a token is taken without merging
normalization   null or "nfc"
pattern         null (one piece), or the pre-tokenization pattern
tables          null, or which Unicode tables the pattern means
special_tokens  [text, id] each; of two with one id the first is what it decodes to
tokens          [bytes in hex, id, rank] each; by pair the rank is null
merges          [left id, right id] each, first merge first; by concatenation empty

and, where they are given, `digest` (the sha256 of the meaning, see `Vocabulary.digest`, which is
then checked), and for people `name` and `why`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bpe_ref.errors import ParameterError, VocabularyError
from bpe_ref.formats.files import located
from bpe_ref.formats.json_nodes import Node, parse_json
from bpe_ref.vocabulary import (
    DEFAULT_TABLES,
    TextRules,
    Vocabulary,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
)
from bpe_ref.vocabulary.merges import ByConcatenation

_KEYS: Final = {
    *("rule", "whole_piece", "normalization", "pattern", "tables"),
    *("special_tokens", "tokens", "merges"),
}
_MAY_BE_ABSENT: Final = {"digest", "name", "why"}


@dataclass(frozen=True)
class NamedVocabulary:
    """A vocabulary with its name, and why it exists."""

    name: str
    why: str
    vocabulary: Vocabulary


def dump_plain_json(named: NamedVocabulary | Vocabulary) -> bytes:
    """Return the content of the file: ASCII, one line per token and merge.

    A vocabulary alone is written without a name. Raises `ParameterError` for anything else.

    >>> vocabulary = vocabulary_by_concatenation({b"a": 0})
    >>> data = dump_plain_json(NamedVocabulary("one", "the smallest", vocabulary))
    >>> parse_plain_json(data, "one.json").vocabulary.digest() == vocabulary.digest()
    True
    """
    if isinstance(named, Vocabulary):
        named = NamedVocabulary("", "", named)
    vocabulary = getattr(named, "vocabulary", None)
    if not isinstance(vocabulary, Vocabulary):
        of = "must be a vocabulary, which `vocabulary_of` returns for a tokenizer"
        raise ParameterError("named", named, of)
    text, rule = vocabulary.text, vocabulary.rule
    by_concatenation = isinstance(rule, ByConcatenation)
    ranks = rule.ranks if isinstance(rule, ByConcatenation) else {}
    content: dict[str, Any] = {
        "name": named.name,
        "why": named.why,
        "digest": vocabulary.digest(),
        "rule": "concatenation" if by_concatenation else "pair",
        "whole_piece": text.whole_piece,
        "normalization": text.normalization,
        "pattern": text.pattern,
        "tables": None if text.pattern is None else text.tables,
    }
    lists: dict[str, list[list[Any]]] = {
        "special_tokens": [
            [special, token] for special, token in vocabulary.special_tokens.items()
        ],
        "tokens": [
            [content.hex(), token, ranks.get(token)]
            for token, content in sorted(vocabulary.tokens.items())
        ],
        "merges": [] if isinstance(rule, ByConcatenation) else [list(pair) for pair in rule.merges],
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    compact = json.JSONEncoder(separators=(",", ":")).encode
    for key, entries in lists.items():
        rows = ",\n".join(map(compact, entries))
        lines.append(f"{json.dumps(key)}: [\n{rows}\n]" if entries else f"{json.dumps(key)}: []")
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")


def parse_plain_json(data: bytes | Node, source: str) -> NamedVocabulary:
    """Return the vocabulary of such a file; `source` names it in errors.

    Raises `VocabularyFileError` for what is not such a file, or has another
    digest than it says.

    >>> parse_plain_json(b"[]", "x.json")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: x.json: the file must be an object, got a list
    """
    root = parse_json(data, source)
    root.only(_KEYS, _MAY_BE_ABSENT)
    words = {key: root.field(key).text() for key in sorted(_MAY_BE_ABSENT & root.value.keys())}
    with located(f"{source}: "):
        vocabulary = _vocabulary(root)
    if words.get("digest") not in (None, vocabulary.digest()):
        root.field("digest").fail(f"must be that of the content, {vocabulary.digest()}")
    return NamedVocabulary(words.get("name", ""), words.get("why", ""), vocabulary)


def _vocabulary(root: Node) -> Vocabulary:
    """Build the vocabulary; raise `VocabularyError` for bad entries."""
    rules = {
        key: None if root.value[key] is None else root.field(key).text()
        for key in ("pattern", "tables", "normalization")
    }
    if (rules["pattern"] is None) != (rules["tables"] is None):
        raise VocabularyError("a vocabulary must have both a pattern and its tables, or neither")
    text = TextRules(
        pattern=rules["pattern"],
        tables=rules["tables"] or DEFAULT_TABLES,
        normalization=rules["normalization"],
        whole_piece=root.field("whole_piece").flag(),
    )
    listed = _rows(root.field("special_tokens"), {"text": str, "id": int})
    special_tokens = dict(listed)
    if len(special_tokens) < len(listed):
        raise VocabularyError("each special token must be listed once, but one is twice")
    ids, ranks = _tokens(root.field("tokens"))
    pairs = _rows(root.field("merges"), {"left id": int, "right id": int})
    if root.field("rule").choice(("concatenation", "pair")) == "concatenation":
        if pairs:
            raise VocabularyError("by concatenation there must be no list of merges, got one")
        return vocabulary_by_concatenation(ranks, ids=ids, text=text, special_tokens=special_tokens)
    bytes_of = {token: token_bytes for token_bytes, token in ids.items()}
    merges: list[tuple[bytes, bytes]] = []
    for pair in pairs:
        if not bytes_of.keys() >= set(pair):
            raise VocabularyError(f"a merge must join two tokens by their ids, got {pair}")
        merges.append((bytes_of[pair[0]], bytes_of[pair[1]]))
    return vocabulary_by_pair(ids, merges, text=text, special_tokens=special_tokens)


def _tokens(node: Node) -> tuple[dict[bytes, int], dict[bytes, int]]:
    """Return the ids and the ranks by token; raise `VocabularyError` for a bad entry."""
    ids: dict[bytes, int] = {}
    ranks: dict[bytes, int] = {}
    form = {"bytes in hex": str, "id": int, "rank": (int, type(None))}
    for spelled, token, rank in _rows(node, form):
        try:
            token_bytes: bytes | None = bytes.fromhex(spelled)
        except ValueError:
            token_bytes = None
        if token_bytes is None or token_bytes.hex() != spelled:
            raise VocabularyError(f"a token must be in lower-case hexadecimal, got {spelled!r}")
        if token_bytes in ids:
            raise VocabularyError(f"each token must be listed once, but {token_bytes!r} is twice")
        ids[token_bytes], ranks[token_bytes] = token, rank
    return ids, ranks


def _rows(node: Node, form: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the entries of a list as tuples, each with values of these types."""
    if not isinstance(node.value, list):
        node.fail("must be a list")
    types = tuple(form.values())
    for number, row in enumerate(node.value):
        if type(row) is not list or len(row) != len(types) or not all(map(isinstance, row, types)):
            node.elements()[number].fail(f"must be [{', '.join(form)}]")
    return list(map(tuple, node.value))
