"""The most characters that a token of a pipeline stands for.

Definition
    A number m such that no text of more than m * n characters has n tokens.
    None if there may be no such number, or none is known.

Proof
    Every symbol is a character as it is written, or a byte of one, and a token
    is spelled by its symbols. So it stands for no more written characters than
    its own string has, if each character becomes a symbol and nothing is
    dropped: by the model, if every character that is no token becomes bytes or
    an unknown token of its own; by the byte level, if all letters of bytes are
    tokens; by the pre-tokenizer, unless it removes. An added token stands for
    its text, unless it takes the white space beside it too.

    Normalizing must not make text much shorter. What is put in front, and
    replaced by as much or more, makes none shorter. NFC joins: but the text has
    no more characters than its full decomposition, which is also that of its
    NFC form, and no character decomposes into more than `MOST_DECOMPOSED`.
"""

from typing import Final

from bpe_ref.cutting.file_patterns import BY_SOURCE
from bpe_ref.cutting.letter_borders import gives_a_token, is_plain
from bpe_ref.cutting.whole import Components
from bpe_ref.models.bpe import BPE
from bpe_ref.normalizers.forms import NFC
from bpe_ref.normalizers.replacing import Prepend, Replace
from bpe_ref.normalizers.sequence import Sequence as NormalizerSequence
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.digits import Digits
from bpe_ref.pre_tokenizers.metaspace import Metaspace
from bpe_ref.pre_tokenizers.punctuation import Punctuation
from bpe_ref.pre_tokenizers.sequence import Sequence
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
    model = tokenizer.model
    if not isinstance(model, BPE):
        return None
    normalizers = normalizer_steps(tokenizer.normalizer)
    pre_tokenizers = pre_tokenizer_steps(tokenizer.pre_tokenizer)
    if not all(map(_is_long, normalizers)) or not all(map(_keeps_all, pre_tokenizers)):
        return None
    if not is_plain(model) or any(
        token.lstrip or token.rstrip for token in tokenizer.added.tokens.values()
    ):
        return None
    of_bytes = any(isinstance(step, ByteLevel) for step in pre_tokenizers)
    if not (of_bytes and spells_all_bytes(model)) and not gives_a_token(model):
        return None
    tokens = [*model.vocab, *tokenizer.added.ids, *tokenizer.added.strings.values()]
    times = sum(isinstance(step, NFC) for step in normalizers)
    factor: int = MOST_DECOMPOSED**times
    return factor * max(map(len, tokens), default=1)


def spells_all_bytes(model: BPE) -> bool:
    """Return whether the letters of all bytes are tokens.

    >>> spells_all_bytes(BPE({"a": 0}, []))
    False
    """
    return all(letter in model.vocab for letter in BYTE_OF_LETTER)


def normalizer_steps(normalizer: object) -> list[object]:
    """Return the normalizers that work one after the other, sequences resolved.

    >>> normalizer_steps(None)
    []
    """
    if isinstance(normalizer, NormalizerSequence):
        return [step for part in normalizer.normalizers for step in normalizer_steps(part)]
    return [] if normalizer is None else [normalizer]


def pre_tokenizer_steps(pre_tokenizer: object) -> list[object]:
    """Return the pre-tokenizers that work one after the other, sequences resolved.

    >>> pre_tokenizer_steps(Sequence([Sequence([]), Digits(individual_digits=True)]))
    [Digits(individual_digits=True)]
    """
    if isinstance(pre_tokenizer, Sequence):
        return [step for part in pre_tokenizer.pretokenizers for step in pre_tokenizer_steps(part)]
    return [] if pre_tokenizer is None else [pre_tokenizer]


def _is_long(step: object) -> bool:
    """Return whether a normalizer makes no text shorter, or is NFC."""
    if isinstance(step, Replace):
        pattern = step.pattern
        return isinstance(pattern, Literal) and 0 < len(pattern.text) <= len(step.content)
    return isinstance(step, NFC) or (isinstance(step, Prepend) and bool(step.prepend))


def _keeps_all(step: object) -> bool:
    """Return whether a pre-tokenizer drops nothing of the text; known patterns match all of it."""
    if isinstance(step, Split) and step.invert and isinstance(step.pattern, Regex):
        return step.behavior != "Removed" or step.pattern.source in BY_SOURCE
    if isinstance(step, Split | Punctuation):
        return step.behavior != "Removed"
    return isinstance(step, ByteLevel | Metaspace | Digits)
