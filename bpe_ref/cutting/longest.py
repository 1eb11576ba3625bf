"""The most characters that a token stands for, and when no longer text can fit.

Definition
    A number m such that no text of more than m * n characters has n tokens. None if there may be no
    such number, or none is known.

Proof
    Every symbol is a character as it is written, or a byte of one, and a token is spelled by its
    symbols. So it stands for no more written characters than its own string has, if each character
    becomes a symbol and nothing is dropped: by the model, if every character that is no token
    becomes bytes or an unknown token of its own; by the byte level, if all letters of bytes are
    tokens; by the pre-tokenizer, unless it removes. An added token stands for its text, unless it
    takes the white space beside it too.

    Normalizing must not make text much shorter. What is put in front, and replaced by as much or
    more, makes none shorter. NFC and NFKC join: but the text has no more characters than its full
    decomposition, which is also that of its composed form, and no character decomposes canonically
    into more than `MOST_DECOMPOSED`.

Windows
    A number w such that, if w beginnings of a text in a row, each one character longer, have more
    than n tokens, all longer ones have. Added tokens must neither be in the text nor look at what
    is beside them.

    Let no token have more than w characters. Then of w places in a row one is a border of the
    encoding of any longer text. What is before a border is encoded as if it were alone (see "Only
    one merge makes a token" in `vocabulary.compatibility`). So the longer text has at least as many
    tokens as the beginning up to there. That needs merges of whole characters, one after the other
    as they are written, and a pre-tokenizer that never looks ahead.
"""

from itertools import chain
from typing import Final

from bpe_ref.components import Model, steps_of
from bpe_ref.cutting.long_pieces import Components
from bpe_ref.models.bpe import BPE
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.models.sentencepiece import BYTE_PIECES, SentencePieceModel
from bpe_ref.models.unigram import Unigram
from bpe_ref.normalizers.nfc import PinnedNFC
from bpe_ref.normalizers.normalization_forms import NFC, NFD, NFKC, NFKD
from bpe_ref.normalizers.replacing import Prepend, Replace
from bpe_ref.normalizers.rewriting import Lowercase
from bpe_ref.normalizers.sentencepiece import SentencePieceNormalizer
from bpe_ref.patterns.borders import borders_of
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.character_classes import Digits, Punctuation
from bpe_ref.pre_tokenizers.metaspace import Metaspace
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.pre_tokenizers.split_by_pattern import Split
from bpe_ref.vocabulary.byte_alphabet import BYTE_OF_LETTER

MOST_DECOMPOSED: Final = 4
"""The most characters of a full canonical decomposition."""


def longest_of(tokenizer: Components) -> int | None:
    """Return the most characters that a token stands for, see the module.

    >>> from bpe_ref.tokenizer import Tokenizer
    >>> longest_of(Tokenizer(BPE({"?": 0, "a": 1, "aa": 2}, [("a", "a")], unk_token="?")))
    2
    """
    normalizers = steps_of(tokenizer.normalizer)
    pre_tokenizers = steps_of(tokenizer.pre_tokenizer)
    if not all(map(_is_long, normalizers)) or not all(map(_keeps_all, pre_tokenizers)):
        return None
    added = tokenizer.added
    if any(token.lstrip or token.rstrip for token in added.tokens.values()):
        return None
    of_bytes = any(isinstance(step, ByteLevel) for step in pre_tokenizers)
    longest = _longest_of_model(tokenizer.model, of_bytes=of_bytes)
    if longest is None:
        return None
    times = sum(isinstance(step, NFC | NFKC | PinnedNFC) for step in normalizers)
    factor: int = MOST_DECOMPOSED**times
    return factor * max(longest, *map(len, [*added.ids, *added.strings.values(), ""]))


def ends_after_longest(tokenizer: Components) -> bool:
    """Return whether `longest_of`, if it is known, is also a window, see the module.

    >>> from bpe_ref.tokenizer import Tokenizer
    >>> ends_after_longest(Tokenizer(BPE({"a": 1, "aa": 2}, [("a", "a")])))
    True
    """
    if any(token.single_word for token in tokenizer.added.tokens.values()):
        return False
    steps = [*steps_of(tokenizer.normalizer), *steps_of(tokenizer.pre_tokenizer)]
    return all(map(_keeps_characters, steps)) and _merges_characters(tokenizer.model)


def _keeps_characters(step: object) -> bool:
    """Return whether each character stays one, and nothing depends on what follows it."""
    if isinstance(step, Replace | Split):
        pattern = step.pattern
        one = isinstance(pattern, Literal) and len(pattern.text) == 1
        return one and (len(step.content) == 1 if isinstance(step, Replace) else not step.invert)
    return isinstance(step, Prepend | SentencePieceNormalizer | Metaspace)


def _merges_characters(model: Model) -> bool:
    """Return whether every piece is merged, from characters or bytes that do not merge."""
    if isinstance(model, BPE):
        return model.always_merges and set(BYTE_PIECES).isdisjoint(
            chain.from_iterable(model.merges)
        )
    return isinstance(model, SentencePieceModel) and model.algorithm == "bpe"


def _longest_of_model(model: Model, *, of_bytes: bool) -> int | None:
    """Return the most symbols that a token has; None if a character may become no token."""
    if isinstance(model, ByteBPE):
        return max(map(len, model.vocabulary.tokens.values()), default=1)
    if isinstance(model, SentencePieceModel):
        return max(len(piece.text) for piece in model.pieces) if model.byte_fallback else None
    if isinstance(model, Unigram):
        return max(map(len, model.vocab), default=1) if model.gives_a_token else None
    if not isinstance(model, BPE) or model.drops_merges:
        return None
    if model.continuing_subword_prefix or model.end_of_word_suffix:
        return None
    spells_bytes = of_bytes and all(letter in model.vocab for letter in BYTE_OF_LETTER)
    if not spells_bytes and not model.gives_a_token:
        return None
    return max(map(len, model.vocab), default=1)


def _is_long(step: object) -> bool:
    """Return whether a normalizer makes no text shorter, or only by composing characters."""
    if isinstance(step, Replace):
        pattern = step.pattern
        return isinstance(pattern, Literal) and 0 < len(pattern.text) <= len(step.content)
    if isinstance(step, SentencePieceNormalizer):
        return step.rules.charsmap is None and not step.rules.remove_extra_whitespaces
    forms = NFC | NFKC | NFD | NFKD | PinnedNFC | Lowercase
    return isinstance(step, forms) or (isinstance(step, Prepend) and bool(step.prepend))


def _keeps_all(step: object) -> bool:
    """Return whether a pre-tokenizer drops nothing of the text."""
    if isinstance(step, Pattern):
        source = step.in_oniguruma
    elif isinstance(step, Split) and step.behavior == "Removed":
        source = step.pattern.source if step.invert and isinstance(step.pattern, Regex) else None
    elif isinstance(step, Punctuation):
        return step.behavior != "Removed"
    else:
        return isinstance(step, Split | ByteLevel | Metaspace | Digits)
    borders = None if source is None else borders_of(source)
    return borders is not None and borders.covers_all
