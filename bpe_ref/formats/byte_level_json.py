r"""A byte-level vocabulary as `tokenizer.json`, the format of Hugging Face tokenizers.

What is written
    model            BPE: tokens in the letters of the byte-level alphabet, merges as a list
                     (`merges_text`), `ignore_merges` for whole pieces
    normalizer       NFC, where the vocabulary asks for it
    pre-tokenizer    Split by the pattern in Oniguruma's dialect, then ByteLevel
    decoder          ByteLevel
    added tokens     the special tokens

    Special tokens are in the model's vocabulary as well: the library ignores the ids of added
    tokens and takes the model's. No merge leads there, and text that spells one is cut out before.

What cannot be written, and is an error
    *Ids* above 2^32-1, and two special tokens with one id.
    *A special token that an ordinary token could be taken for*: one with the spelling of a token,
    or in letters of the alphabet beyond ASCII.
    *A pattern* that Oniguruma cannot say, or whose tables it does not have: see
    `patterns.rust`. Oniguruma has its own idea of `\w`.

Where the library differs all the same
    It drops bytes that are no tokens, which are errors here. It always finds special tokens.

Source: tokenizers 0.23.3 as executed.
"""

import os
from typing import Final

from bpe_ref.added_tokens import AddedToken, AddedTokens
from bpe_ref.components import PreTokenizer
from bpe_ref.decoders import ByteLevel as ByteLevelDecoder
from bpe_ref.errors import PatternError, VocabularyError
from bpe_ref.formats.files import write_file
from bpe_ref.formats.hugging_face_writing import dump_tokenizer_json
from bpe_ref.formats.merges_text import byte_level_merges
from bpe_ref.models.bpe import BPE
from bpe_ref.normalizers.normalization_forms import NFC
from bpe_ref.patterns.matches import Regex
from bpe_ref.patterns.rust import asks_for_words, to_oniguruma
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.sequence import Sequence
from bpe_ref.pre_tokenizers.split_by_pattern import Split
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary import TextRules, Vocabulary
from bpe_ref.vocabulary.byte_alphabet import BYTE_OF_LETTER, to_letters
from bpe_ref.vocabulary.merges import ID_LIMIT

_OWN_TABLES: Final = "unicode-16.0-oniguruma"
_LIKE_OWN_TABLES: Final = "unicode-16.0"  # the same but for words
_MADE_BY_NFC: Final = frozenset("K;`")
"""The ASCII characters that NFC makes of others: of U+212A, U+037E and U+1FEF."""


def write_tokenizer_json(vocabulary: Vocabulary, path: str | os.PathLike[str]) -> None:
    """Write a vocabulary as a `tokenizer.json`.

    Raises `VocabularyError` (or `PatternError`) for what the format cannot say,
    with the reason, and `VocabularyFileError` where the file cannot be written.

    >>> from bpe_ref.vocabulary import vocabulary_by_concatenation
    >>> write_tokenizer_json(vocabulary_by_concatenation({b"a": 1 << 32}), "example.json")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyError: ids must be at most 2^32-1 in a tokenizer.json, got 4294967296
    """
    write_file(dump_byte_level_json(vocabulary), path)


def dump_byte_level_json(vocabulary: Vocabulary) -> bytes:
    """Return the content of the `tokenizer.json` of a vocabulary.

    Raises `VocabularyError` or `PatternError` for what the format cannot say.

    >>> from bpe_ref.vocabulary import vocabulary_by_concatenation
    >>> import json
    >>> vocabulary = vocabulary_by_concatenation({b" ": 0, b"a": 1, b" a": 2})
    >>> model = json.loads(dump_byte_level_json(vocabulary))["model"]
    >>> model["vocab"], model["merges"]
    ({'Ġ': 0, 'a': 1, 'Ġa': 2}, [['Ġ', 'a']])
    """
    text = vocabulary.text
    if text.normalization not in (None, "nfc"):
        raise VocabularyError(f"the normalization must be nfc or none, got {text.normalization!r}")
    specials = _special_ids(vocabulary)
    vocab = {to_letters(content): token for token, content in sorted(vocabulary.tokens.items())}
    merges = [
        (to_letters(left), to_letters(right)) for left, right in byte_level_merges(vocabulary)
    ]
    by_id = sorted(specials.items(), key=lambda item: item[1])
    tokenizer = Tokenizer(
        BPE(vocab | specials, merges, ignore_merges=text.whole_piece),
        normalizer=None if text.normalization is None else NFC(),
        pre_tokenizer=_pre_tokenizer(text),
        decoder=ByteLevelDecoder(add_prefix_space=False, trim_offsets=True, use_regex=False),
        added_tokens=AddedTokens(
            [AddedToken(name, normalized=False, special=True) for name, _ in by_id]
        ),
    )
    return dump_tokenizer_json(tokenizer) + b"\n"


def _pre_tokenizer(text: TextRules) -> PreTokenizer:
    """Return the component that cuts with the pattern and spells the pieces."""
    spelling = ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=False)
    pattern = text.pattern
    if pattern is None:
        return spelling
    if text.tables != _OWN_TABLES:
        if text.tables != _LIKE_OWN_TABLES:
            raise PatternError(f"the tables must be {_OWN_TABLES}, got {text.tables}")
        if asks_for_words(pattern):
            raise PatternError(
                rf"a pattern must not use \w, \W, \b or \B, which mean something else to "
                f"Oniguruma, got {pattern!r:.80}"
            )
        pattern = to_oniguruma(pattern)
    return Sequence([Split(Regex(pattern), "Removed", invert=True), spelling])


def _special_ids(vocabulary: Vocabulary) -> dict[str, int]:
    """Return the special tokens; raise `VocabularyError` for one that cannot be written."""
    specials = dict(vocabulary.special_tokens)
    highest = max([*vocabulary.tokens, *specials.values()])
    if highest >= ID_LIMIT:
        raise VocabularyError(f"ids must be at most 2^32-1 in a tokenizer.json, got {highest}")
    if len(set(specials.values())) < len(specials):
        raise VocabularyError(
            "each special token must have an id of its own in a tokenizer.json, but two share one"
        )
    spellings = set(map(to_letters, vocabulary.tokens.values()))
    text = vocabulary.text
    for name in specials:
        in_letters = not name.isascii() and BYTE_OF_LETTER.keys() >= set(name)
        made = text.whole_piece and text.normalization and not _MADE_BY_NFC.isdisjoint(name)
        if name in spellings or in_letters or made:
            raise VocabularyError(
                "a special token must be told from ordinary tokens by its letters in a "
                f"tokenizer.json, got {name!r:.80}"
            )
    return specials
