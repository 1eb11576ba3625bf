"""Which pipelines normalize, cut and merge in a way whose safe cuts `by_pieces` knows.

Normalized not at all or to NFC; cut by `ByteLevel` with its pattern or without
one, or by `Split` with a pattern of `file_patterns` (every piece kept) and
`ByteLevel` without pattern and prefix. The files of GPT-2, RoBERTa, Llama 3,
Qwen 2, gpt-oss and Mistral Nemo are such. The model may be any; only without a
pattern it must spell all bytes.

What makes a pipeline unknown: any other component; added tokens that ask for
the characters around them (`single_word`); dropout.
"""

from dataclasses import dataclass

from bpe_ref.added_tokens import Recognised
from bpe_ref.cutting.added_text import added_spans, written_tokens
from bpe_ref.cutting.borders import BorderRule
from bpe_ref.cutting.by_pieces import CountedByPieces, Pieces, SpecialTokens
from bpe_ref.cutting.file_patterns import rule_of_source
from bpe_ref.cutting.longest import (
    longest_of,
    normalizer_steps,
    pre_tokenizer_steps,
    spells_all_bytes,
)
from bpe_ref.cutting.whole import Components
from bpe_ref.models.bpe import BPE
from bpe_ref.normalizers.forms import NFC
from bpe_ref.patterns.matches import Regex
from bpe_ref.pre_tokenizers.byte_level import GPT2_PATTERN, ByteLevel
from bpe_ref.pre_tokenizers.split_by_pattern import Split
from bpe_ref.vocabulary import TextRules, Vocabulary, vocabulary_by_pair
from bpe_ref.vocabulary.byte_alphabet import BYTE_OF_LETTER, from_letters, to_letters


@dataclass(frozen=True)
class _Cutting:
    """What a pre-tokenizer that ends in a byte level does."""

    rule: BorderRule | None
    patterned: bool
    before_letters: Split | ByteLevel | None
    prefix: bool


def by_pieces(tokenizer: Components, special: Recognised = "recognise") -> CountedByPieces | None:  # noqa: C901 -- one list of conditions
    """Return what is known of a pipeline of the first kind; None for any other.

    >>> from bpe_ref.tokenizer import Tokenizer
    >>> from bpe_ref.pre_tokenizers import ByteLevel
    >>> gpt2 = ByteLevel(add_prefix_space=False, trim_offsets=True)
    >>> found = by_pieces(Tokenizer(BPE({"a": 0}, []), pre_tokenizer=gpt2))
    >>> found.is_safe_cut("", "a", " "), found.is_safe_cut("", " ", "a")
    (True, False)
    """
    model, treatment = tokenizer.model, tokenizer.treatment(special)
    if not isinstance(model, BPE):
        return None
    normalizers = normalizer_steps(tokenizer.normalizer)
    normalized = bool(normalizers)
    if not all(isinstance(step, NFC) for step in normalizers):
        return None
    cutting = _cutting(tokenizer, normalized=normalized)
    tokens = list(tokenizer.added.tokens.values())
    if cutting is None or any(token.single_word for token in tokens):
        return None
    written = written_tokens(tokenizer)
    if normalized and any(token.normalized for token in tokens):
        vocabulary = None  # long pieces would have to know where normalization moves them
    else:
        vocabulary = _bytes_of(model)
    if vocabulary is None and not cutting.patterned:
        return None
    if model.drops_merges:
        return None

    def cut(text: str) -> list[str]:
        if tokenizer.normalizer is not None:
            text = tokenizer.normalizer.normalize_text(text)
        if isinstance(cutting.before_letters, ByteLevel):
            return cutting.before_letters.plain_pieces(text)
        if cutting.before_letters is not None:
            return cutting.before_letters.cut_text(text)
        return [text] if text else []

    pieces = Pieces(
        cut=cut,
        count=lambda piece: len(model.ids(to_letters(piece.encode()))),
        rule=cutting.rule,
        patterned=cutting.patterned,
        normalized=normalized,
        vocabulary=vocabulary,
        prefix=" " if cutting.prefix else "",
    )
    specials = SpecialTokens(
        frozenset(written),
        lambda text: added_spans(tokenizer, text, treatment),
        take_before=any(token.lstrip for token in tokens),
        take_behind=frozenset(text for text, takes in written.items() if takes),
    )
    return CountedByPieces(
        lambda text: len(tokenizer.encode(text, add_special_tokens=False, special=special)),
        specials,
        specials.pairs(),
        pieces,
        longest_of(tokenizer),
    )


def _cutting(tokenizer: Components, *, normalized: bool) -> _Cutting | None:
    steps = pre_tokenizer_steps(tokenizer.pre_tokenizer)
    if not steps or not isinstance(last := steps[-1], ByteLevel):
        return None
    if len(steps) == 1:
        rule = rule_of_source(GPT2_PATTERN, normalized=normalized) if last.use_regex else None
        return _Cutting(rule, last.use_regex, last, last.add_prefix_space)
    split = steps[0]
    if len(steps) > 2 or not last.only_writes or not isinstance(split, Split):
        return None
    keeps_all = split.behavior == "Isolated" or (split.behavior == "Removed" and split.invert)
    if not keeps_all or not isinstance(split.pattern, Regex):
        return None
    rule = rule_of_source(split.pattern.source, normalized=normalized)
    return (
        None if rule is None else _Cutting(rule, patterned=True, before_letters=split, prefix=False)
    )


def _bytes_of(model: BPE) -> Vocabulary | None:
    """Return what merges the bytes of a piece; None if not every byte is a symbol by itself."""
    if model.continuing_subword_prefix or model.end_of_word_suffix or model.drops_merges:
        return None
    if not spells_all_bytes(model):
        return None
    used = {*BYTE_OF_LETTER}
    for left, right in model.merges:
        used |= {left, right, left + right}
    if model.ignore_merges:
        used |= {token for token in model.vocab if BYTE_OF_LETTER.keys() >= set(token)}
    try:
        merges = [(from_letters(left), from_letters(right)) for left, right in model.merges]
    except KeyError:  # a merge that no piece of bytes can have
        return None
    ids = {from_letters(token): model.vocab[token] for token in used if token}
    return vocabulary_by_pair(ids, merges, text=TextRules(whole_piece=model.ignore_merges))
