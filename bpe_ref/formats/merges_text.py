"""`merges.txt` and `vocab.json`: a list of merges, and the ids of the tokens.

    #version: 0.2
    Ġ t
    h e

`merges.txt` has a merge on each line, first merge first, as two tokens and one space between them.
`vocab.json` has an object from token to id. Tokens are written in the letters of the byte-level
alphabet (`vocabulary.byte_alphabet`). Pairs merge if they are on the list. GPT-2's `vocab.bpe` has
the form of `merges.txt`.

Source: `BPE::read_file` and `BPE::save` of Hugging Face tokenizers 0.23.3
(tokenizers/src/models/bpe/model.rs).

What the source leaves open, and what holds here
    *The line `#version`.* See `Quirks.version_lines_dropped`. The very first line, if it begins so,
    is never a merge; if it does not, it is one, though GPT-2's own program drops it in any case.
    *The last line* may end without a line feed (GPT-2's own program drops it then). An empty line
    is refused, and so is anything but two tokens and one space.
    *Special tokens* are among the others in `vocab.json`, and nothing says which they are. They are
    ordinary tokens that no merge makes unless they are named to the reader.
    *The pattern* is in neither file.
    *Tokens in other letters* (an end of word, an unknown token in CJK letters) are no bytes: an
    error, unless they are named as special tokens.
"""

import json
import os
from collections.abc import Collection
from typing import Final

from bpe_ref.errors import VocabularyError, VocabularyFileError
from bpe_ref.formats.files import as_text, located, read_unpacked, write_file
from bpe_ref.formats.json_nodes import parse_json
from bpe_ref.quirks import HUGGING_FACE, Quirks
from bpe_ref.vocabulary import TextRules, Vocabulary, vocabulary_by_pair
from bpe_ref.vocabulary.byte_alphabet import from_letters, to_letters
from bpe_ref.vocabulary.compatibility import build_derivations
from bpe_ref.vocabulary.merges import ID_LIMIT, ByPair, TokenId

_VERSION: Final = "#version"


def read_merges_text(
    merges_path: str | os.PathLike[str],
    vocab_path: str | os.PathLike[str],
    *,
    text: TextRules | None = None,
    special_tokens: Collection[str] = (),
    quirks: Quirks = HUGGING_FACE,
) -> Vocabulary:
    """Return the vocabulary of the two files, by pair.

    `special_tokens` names the tokens of `vocab.json` that are special. Raises
    `VocabularyFileError`, which names the file and the place.

    >>> read_merges_text("nowhere/merges.txt", "nowhere/vocab.json")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: nowhere/merges.txt cannot be read: No such file ...
    """
    merges_source, vocab_source = os.fspath(merges_path), os.fspath(vocab_path)
    merges = parse_merges(read_unpacked(merges_path), merges_source, quirks=quirks)
    listed = parse_ids(read_unpacked(vocab_path), vocab_source)
    for name in special_tokens:
        if name not in listed:
            raise VocabularyFileError(f"{vocab_source}: the special token {name!r} is missing")
    ids = {
        token_bytes(token, f"{vocab_source}: the token"): number
        for token, number in listed.items()
        if token not in special_tokens
    }
    pairs = []
    for left, right, place in merges:
        pairs.append((token_bytes(left, place), token_bytes(right, place)))
        for part in (*pairs[-1], pairs[-1][0] + pairs[-1][1]):
            if part not in ids:
                raise VocabularyFileError(
                    f"{place}: a merge must join two tokens into a third, "
                    f"but {to_letters(part)!r:.80} is not in {vocab_source}"
                )
    specials = {name: listed[name] for name in special_tokens}
    with located(f"{vocab_source}: "):
        return vocabulary_by_pair(ids, pairs, text=text, special_tokens=specials)


def write_merges_text(
    vocabulary: Vocabulary, merges_path: str | os.PathLike[str], vocab_path: str | os.PathLike[str]
) -> None:
    """Write a vocabulary as the two files; special tokens go to `vocab.json` with the others.

    The pattern and all other rules about text are written nowhere. Raises
    `VocabularyError` for a vocabulary that the files cannot hold, and
    `VocabularyFileError` where they cannot be written.
    """
    merges = [
        (to_letters(left), to_letters(right)) for left, right in byte_level_merges(vocabulary)
    ]
    if any(left.startswith(_VERSION) for left, _ in merges):
        raise VocabularyError(
            f"a merge must not begin with {_VERSION!r}, for the reader drops such lines"
        )
    ids = {to_letters(content): token for token, content in vocabulary.tokens.items()}
    for name, token in vocabulary.special_tokens.items():
        if name in ids or token >= ID_LIMIT:
            raise VocabularyError(f"special token {name!r} cannot be told from an ordinary one")
        ids[name] = token
    if len(set(ids.values())) < len(ids):
        raise VocabularyError("each token must have an id of its own, but two share one")
    lines = "".join(f"{left} {right}\n" for left, right in merges)
    by_id = dict(sorted(ids.items(), key=lambda item: item[1]))
    write_file(f"{_VERSION}: 0.2\n{lines}".encode(), merges_path)
    write_file(json.dumps(by_id, ensure_ascii=False).encode(), vocab_path)


def parse_merges(
    content: bytes, source: str, *, quirks: Quirks = HUGGING_FACE
) -> list[tuple[str, str, str]]:
    r"""Return the merges in the text of a file: left, right, and their place for errors.

    Raises `VocabularyFileError`.

    >>> parse_merges("#version: 0.2\nĠ t\n".encode(), "example")
    [('Ġ', 't', 'example, line 2')]
    """
    decoded = as_text(content, source)
    merges: list[tuple[str, str, str]] = []
    for number, line in enumerate(decoded.removesuffix("\n").split("\n"), start=1):
        place = f"{source}, line {number}"
        if line.startswith(_VERSION) and (number == 1 or quirks.version_lines_dropped):
            continue
        parts = line.removesuffix("\r").split(" ")
        if len(parts) != 2 or not all(parts):
            if number == 1 and not decoded:
                break  # an empty file: no merges
            raise VocabularyFileError(
                f"{place}: a merge must be two tokens and one space, got {line!r:.80}"
            )
        merges.append((parts[0], parts[1], place))
    return merges


def parse_ids(content: bytes, source: str) -> dict[str, TokenId]:
    """Return the ids in a `vocab.json`, by token as it is written. Raises `VocabularyFileError`.

    >>> parse_ids(b'{"a": 0, "b": "1"}', "example")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: example: b must be a whole number from 0 to ..., got '1'
    """
    root = parse_json(content, source)
    ids: dict[str, TokenId] = {}
    token_of: dict[TokenId, str] = {}
    for token in root.fields():
        number = root.value[token]
        if type(number) is not int or not 0 <= number < ID_LIMIT:
            number = root.field(token).whole(ID_LIMIT)
        if number in token_of:
            raise VocabularyFileError(
                f"{source}: each id must belong to one token, "
                f"but {number} is given to {token_of[number]!r:.80} and to {token!r:.80}"
            )
        ids[token], token_of[number] = number, token
    return ids


def token_bytes(token: str, place: str) -> bytes:
    """Return the bytes of a token in byte-level letters. Raises `VocabularyFileError`.

    >>> token_bytes("Ġa", "example"), token_bytes("a b", "example")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: example 'a b' must be in byte-level letters, ' ' is none
    """
    try:
        return from_letters(token)
    except KeyError as missing:
        raise VocabularyFileError(
            f"{place} {token!r:.80} must be in byte-level letters, {missing.args[0]!r} is none"
        ) from None


def byte_level_merges(vocabulary: Vocabulary) -> list[tuple[bytes, bytes]]:
    """Return the merges of a vocabulary as pairs of tokens' bytes, first merge first.

    By pair they are the vocabulary's own list. By concatenation each token that merging can make
    has one pair that it is made from, its *split*, and the list is these pairs by the rank of what
    they make. That is the same function for every vocabulary: whenever a token comes to be, it does
    so from its split (`compatibility` has the proof). Dead tokens, which no merge makes, have no
    pair: they are found only where a piece that is a token is taken whole.

    >>> from bpe_ref.vocabulary import vocabulary_by_concatenation
    >>> byte_level_merges(vocabulary_by_concatenation({b"a": 0, b"aaa": 1, b"aa": 2}))
    [(b'aa', b'a'), (b'a', b'a')]
    """
    rule, tokens = vocabulary.rule, vocabulary.tokens
    if isinstance(rule, ByPair):
        return [(tokens[left], tokens[right]) for left, right in rule.merges]
    made = vocabulary.remember(build_derivations)
    ids, lefts, rights = made.ids, made.lefts, made.rights
    places = sorted(range(made.symbols, len(ids)), key=lambda place: rule.ranks[ids[place]])
    return [(tokens[ids[lefts[place]]], tokens[ids[rights[place]]]) for place in places]
