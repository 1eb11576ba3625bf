"""minbpe's `.model` files: a pattern, special tokens, and merges by ids.

    minbpe v1
    <the pattern>
    1
    <|endoftext|> 259
    101 32
    116 256

Definition
    The ids of the 256 bytes are 0 to 255. Behind the first line, which names the format, are the
    pattern (an empty line for none), the number of special tokens, and each one with its id. Every
    further line is a merge of two ids; the merges make the ids 256, 257 and so on.

Source: `Tokenizer.save` and `Tokenizer.load` in minbpe/base.py of karpathy/minbpe.

What the source leaves open, and what holds here
    *White space in a special token.* minbpe writes such a file and cannot read it. Here both are
    errors.
    *The pattern* loses white space at its ends when minbpe reads it, and a pattern with line ends
    breaks the file. Reading does the same here; writing such a pattern is an error.
    *What minbpe does with it.* `RegexTokenizer.load` keeps the pattern it was made with and ignores
    the file's; `BasicTokenizer` never cuts. Here the file's pattern is used.
    *All occurrences at once.* minbpe merges the best pair everywhere before it looks again. As the
    parts of a merge are always made before it, that is the same as one merge at a time.
    *Two merges that spell the same token* get two ids in minbpe. A vocabulary here has one id for
    one string of bytes, so this is an error, as is a merge that comes twice or has unknown ids.
    *Numbers* are ASCII digits; minbpe reads them with Python's `int`.
    *Line ends* are LF, CR or CR LF.
"""

import os
import re
from collections.abc import Sequence
from typing import Final

from bpe_ref.errors import VocabularyError, VocabularyFileError
from bpe_ref.formats.files import as_text, located, write_file
from bpe_ref.formats.merges_text import byte_level_merges
from bpe_ref.vocabulary import TextRules, Vocabulary, vocabulary_by_pair
from bpe_ref.vocabulary.merges import ID_LIMIT, TokenId

FIRST_LINE: Final = "minbpe v1"

MAXIMUM_TOKEN_BYTES: Final = 64 * 2**20
"""A line of ten bytes can double a token: thirty lines would make a gigabyte."""

_BYTES: Final = 256
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_NUMBER: Final = re.compile(r"[0-9]{1,10}", re.ASCII)


def parse_minbpe(data: bytes, source: str) -> Vocabulary:
    r"""Return the vocabulary in the content of such a file; `source` names it in errors.

    Raises `VocabularyFileError`.

    >>> vocabulary = parse_minbpe(b"minbpe v1\n\n1\n<end> 300\n97 97\n256 97\n", "example")
    >>> vocabulary.tokens[257], vocabulary.special_tokens["<end>"]
    (b'aaa', 300)
    >>> parse_minbpe(b"minbpe v1\n\n0\n97 256\n", "example")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: example, line 4: a merge must join ids below 256, got 97 256
    """
    lines = _LINE_END.split(as_text(data, source))
    if lines[-1] == "":
        lines.pop()
    if not lines or lines[0].strip() != FIRST_LINE:
        found = lines[0] if lines else ""
        raise VocabularyFileError(f"{source}, line 1 must be {FIRST_LINE!r}, got {found!r:.80}")
    pattern = _line(lines, 1, source, "the pattern").strip()
    count = _number(_line(lines, 2, source, "the number of special tokens").strip(), source, 3)
    specials: dict[str, TokenId] = {}
    for at in range(3, 3 + count):
        line = _line(lines, at, source, "a special token")
        parts = line.split()
        if len(parts) != 2:
            raise VocabularyFileError(
                f"{source}, line {at + 1}: a special token must be text without white space, "
                f"a space and its id, got {line!r:.80}"
            )
        if parts[0] in specials:
            raise VocabularyFileError(
                f"{source}, line {at + 1}: each special token must come once, "
                f"but {parts[0]!r:.80} comes twice"
            )
        specials[parts[0]] = _number(parts[1], source, at + 1)
    ids, merges = _merges(lines, 3 + count, source)
    text = TextRules(pattern=pattern or None)
    with located(f"{source}: "):
        return vocabulary_by_pair(ids, merges, text=text, special_tokens=specials)


def write_minbpe(vocabulary: Vocabulary, path: str | os.PathLike[str]) -> None:
    """Write a vocabulary as a minbpe `.model` file, which `load` and minbpe read.

    Raises `VocabularyError` for a vocabulary that the format cannot hold, saying
    why, and `VocabularyFileError` where the file cannot be written.
    """
    text = vocabulary.text
    pattern = text.pattern or ""
    if pattern != pattern.strip() or _LINE_END.search(pattern):
        raise VocabularyError(
            "a pattern must have no line ends, and no white space at its ends, "
            f"for a minbpe file, got {pattern!r:.80}"
        )
    if text.normalization is not None or text.whole_piece:
        raise VocabularyError(
            "a minbpe file holds no normalization and takes no piece whole, "
            f"got {text.normalization!r} and {text.whole_piece}"
        )
    for name in vocabulary.special_tokens:
        if name.split() != [name]:
            raise VocabularyError(
                f"a special token must have no white space for a minbpe file, got {name!r:.80}"
            )
    merges = byte_level_merges(vocabulary)
    _check_ids(vocabulary, merges)
    id_of = {content: token for token, content in vocabulary.tokens.items()}
    specials = vocabulary.special_tokens
    lines = [FIRST_LINE, pattern, str(len(specials))]
    lines += [f"{name} {token}" for name, token in specials.items()]
    lines += [f"{id_of[left]} {id_of[right]}" for left, right in merges]
    write_file("".join(f"{line}\n" for line in lines).encode(), path)


def _check_ids(vocabulary: Vocabulary, merges: Sequence[tuple[bytes, bytes]]) -> None:
    """Raise `VocabularyError` unless the ids are those that minbpe would give."""
    expected = [bytes([byte]) for byte in range(_BYTES)] + [left + right for left, right in merges]
    for token, content in enumerate(expected):
        if vocabulary.tokens.get(token) != content:
            raise VocabularyError(
                f"for a minbpe file the id {token} must be that of {content!r:.80}, "
                f"got {vocabulary.tokens.get(token)!r:.80}"
            )
    known = set(expected[:_BYTES])
    for left, right in merges:
        if not {left, right} <= known:
            raise VocabularyError(
                "for a minbpe file a merge must join tokens made before it, "
                f"got {left!r:.40} and {right!r:.40}"
            )
        known.add(left + right)
    if len(vocabulary.tokens) > len(expected):
        odd = max(vocabulary.tokens)
        raise VocabularyError(
            f"for a minbpe file a merge must make every token, but none makes {odd}"
        )


def _line(lines: list[str], at: int, source: str, what: str) -> str:
    """Return a line; raise `VocabularyFileError` if the file ends before it."""
    if at >= len(lines):
        raise VocabularyFileError(f"{source}, line {at + 1} must have {what}, but there is none")
    return lines[at]


def _number(digits: str, source: str, line: int) -> int:
    """Return a number; raise `VocabularyFileError` unless it is one that an id may have."""
    if not _NUMBER.fullmatch(digits) or int(digits) >= ID_LIMIT:
        raise VocabularyFileError(
            f"{source}, line {line}: a number must be digits, at most 2^32-1, got {digits!r:.80}"
        )
    return int(digits)


def _merges(
    lines: list[str], start: int, source: str
) -> tuple[dict[bytes, TokenId], list[tuple[bytes, bytes]]]:
    """Return the ids and the merges of the lines from `start` on; raise `VocabularyFileError`."""
    contents = [bytes([byte]) for byte in range(_BYTES)]
    ids = {content: token for token, content in enumerate(contents)}
    merges: list[tuple[bytes, bytes]] = []
    size = 0
    for at in range(start, len(lines)):
        place = f"{source}, line {at + 1}"
        parts = lines[at].split()
        if len(parts) != 2:
            raise VocabularyFileError(f"{place}: a merge must be two ids, got {lines[at]!r:.80}")
        left, right = (_number(part, source, at + 1) for part in parts)
        if max(left, right) >= len(contents):
            raise VocabularyFileError(
                f"{place}: a merge must join ids below {len(contents)}, got {left} {right}"
            )
        made = contents[left] + contents[right]
        size += len(made)
        if size > MAXIMUM_TOKEN_BYTES:
            raise VocabularyFileError(
                f"{place}: all tokens together must have at most {MAXIMUM_TOKEN_BYTES} bytes"
            )
        if made in ids:
            raise VocabularyFileError(
                f"{place}: two ids must not have the same bytes, "
                f"but {made[:60]!r} is also {ids[made]}"
            )
        merges.append((contents[left], contents[right]))
        ids[made] = len(contents)
        contents.append(made)
    return ids, merges
