"""GPT-2's own two files: `vocab.bpe`, a list of merges, and `encoder.json`, the ids.

    #version: 0.2
    Ġ t
    h e

Definition
    The ids of the 256 bytes are 0 to 255 in the order of the byte-level alphabet: first the bytes
    that are their own letters, then the others. Each merge, in the order of the file, makes the
    token with the next id. `encoder.json` repeats these ids, and has those of the special tokens.
    Since every id is a rank, pairs may merge by concatenation, as tiktoken has it.

Source: `data_gym_to_mergeable_bpe_ranks` in tiktoken/load.py of openai/tiktoken 0.14.0; encoder.py
of openai/gpt-2.

What the source leaves open, and what holds here
    *Contradictions* between the two files are errors, as in tiktoken; so are two merges that make
    the same token, which tiktoken takes if the ids fit.
    *Special tokens* are `<|endoftext|>` and `<|startoftext|>`, if `encoder.json` has them: tiktoken
    drops these two, here they keep their ids.
    *Lines.* As in `merges_text`. GPT-2's program and tiktoken drop the first and the last line
    whatever they are; here the first one must begin with `#version`.
    *The pattern* is in GPT-2's source, not in the files: pass it as `text`.
    *By pair or by concatenation* is not the same for every list of merges; GPT-2's program merges
    by pair. If one could differ from the other, it is an error.
"""

import json
import os
from typing import Final

from bpe_ref.errors import VocabularyError, VocabularyFileError
from bpe_ref.formats.files import located, read_unpacked, write_file
from bpe_ref.formats.merges_text import byte_level_merges, parse_ids, parse_merges, token_bytes
from bpe_ref.vocabulary import TextRules, Vocabulary, vocabulary_by_concatenation
from bpe_ref.vocabulary.byte_alphabet import LETTER_OF_BYTE, to_letters
from bpe_ref.vocabulary.merges import ByConcatenation

SPECIAL_TOKENS: Final = ("<|endoftext|>", "<|startoftext|>")

BYTE_ORDER: Final = sorted(range(256), key=lambda byte: (LETTER_OF_BYTE[byte] != chr(byte), byte))
"""The bytes by their ids."""


def read_gpt2(
    vocab_bpe: str | os.PathLike[str],
    encoder_json: str | os.PathLike[str],
    *,
    text: TextRules | None = None,
) -> Vocabulary:
    """Return the vocabulary of the two files.

    Raises `VocabularyFileError`, which names the file and the place.

    >>> read_gpt2("nowhere/vocab.bpe", "nowhere/encoder.json")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: nowhere/vocab.bpe cannot be read: No such file or directory
    """
    merges_source, ids_source = os.fspath(vocab_bpe), os.fspath(encoder_json)
    merges, listed = read_unpacked(vocab_bpe), read_unpacked(encoder_json)
    if not merges.startswith(b"#version"):
        raise VocabularyFileError(
            f"{merges_source}, line 1 must begin with '#version', got {merges[:20]!r}"
        )
    ranks = {bytes([byte]): rank for rank, byte in enumerate(BYTE_ORDER)}
    pairs: list[tuple[bytes, bytes]] = []
    for left, right, place in parse_merges(merges, merges_source):
        pair = (token_bytes(left, place), token_bytes(right, place))
        made = b"".join(pair)
        if made in ranks:
            raise VocabularyFileError(
                f"{place}: each merge must make a new token, {to_letters(made)!r:.80} is there"
            )
        for part in pair:
            if part not in ranks:
                raise VocabularyFileError(
                    f"{place}: a merge must join tokens of lines before, "
                    f"{to_letters(part)!r:.80} is none"
                )
        ranks[made] = len(ranks)
        pairs.append(pair)
    ids = parse_ids(listed, ids_source)
    specials: dict[str, int] = {name: ids.pop(name) for name in SPECIAL_TOKENS if name in ids}
    for content, rank in ranks.items():
        found = ids.pop(to_letters(content), None)
        if found != rank:
            raise VocabularyFileError(
                f"{ids_source}: the id of {to_letters(content)!r:.80} must be its rank {rank}, "
                f"got {found}"
            )
    for odd in ids:
        raise VocabularyFileError(f"{ids_source}: {odd!r:.80} must be in {merges_source}")
    with located(f"{ids_source}: "):
        vocabulary = vocabulary_by_concatenation(ranks, text=text, special_tokens=specials)
    _check_pairs(vocabulary, pairs, merges_source)
    return vocabulary


def write_gpt2(
    vocabulary: Vocabulary, vocab_bpe: str | os.PathLike[str], encoder_json: str | os.PathLike[str]
) -> None:
    """Write a vocabulary as the two files. The rules about text are written nowhere.

    Raises `VocabularyError` for a vocabulary that the files cannot hold (ids that
    are not ranks or begin otherwise, dead tokens, other special tokens), and
    `VocabularyFileError` where they cannot be written.
    """
    rule, tokens = vocabulary.rule, vocabulary.tokens
    if not isinstance(rule, ByConcatenation):
        raise VocabularyError("the vocabulary must merge by concatenation")
    for number, (token, content) in enumerate(sorted(tokens.items())):
        if rule.ranks[token] != token or token != number:
            raise VocabularyError(
                f"ids must be ranks without holes, but {content!r} has id {token}, "
                f"rank {rule.ranks[token]} and place {number}"
            )
    for rank, byte in enumerate(BYTE_ORDER):
        if tokens.get(rank) != bytes([byte]):
            raise VocabularyError(
                f"token {rank} must be byte 0x{byte:02X}, got {tokens.get(rank)!r}"
            )
    merges = byte_level_merges(vocabulary)
    made = {left + right for left, right in merges}
    for content in list(tokens.values())[len(BYTE_ORDER) :]:
        if content not in made:
            raise VocabularyError(f"merges must make every token, but not {content!r}")
    for name in vocabulary.special_tokens:
        if name not in SPECIAL_TOKENS:
            raise VocabularyError(f"a special token must be one of {SPECIAL_TOKENS}, got {name!r}")
    ids = {to_letters(content): token for token, content in sorted(tokens.items())}
    lines = [f"{to_letters(left)} {to_letters(right)}\n" for left, right in merges]
    write_file("".join(["#version: 0.2\n", *lines]).encode(), vocab_bpe)
    encoder = json.dumps({**ids, **vocabulary.special_tokens})
    write_file(encoder.encode(), encoder_json)


def _check_pairs(vocabulary: Vocabulary, pairs: list[tuple[bytes, bytes]], source: str) -> None:
    """Raise `VocabularyFileError` unless the pairs listed are those that ever occur."""
    live = {left + right: (left, right) for left, right in byte_level_merges(vocabulary)}
    for number, pair in enumerate(pairs):
        if live.get(b"".join(pair)) != pair:
            left, right = map(to_letters, pair)
            raise VocabularyFileError(
                f"{source}, merge {number} ({left!r:.40} and {right!r:.40}) never happens, "
                "so by pair and by concatenation are not the same"
            )
