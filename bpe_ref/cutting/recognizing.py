"""Which pipelines are of a kind whose safe cuts are known.

*By pieces* (see `by_pieces`): normalized not at all or to NFC; cut by
`ByteLevel` with its pattern or without one, or by `Split` with a pattern of
`file_patterns` (every piece kept) and `ByteLevel` without pattern and prefix.
The files of GPT-2, RoBERTa, Llama 3, Qwen 2, gpt-oss and Mistral Nemo are such.
The model may be any; only without a pattern it must spell all bytes.

*By letters* (see `by_letters`): nothing but spaces is replaced, by one other
character, and a text put in front, by `Prepend`, `Replace` or `Metaspace`; not
cut into pieces, or by `Metaspace`. `Split` at spaces counts as not cut, where
no spaces are left. The files of Llama 2, Mistral 7B and Gemma are such.

What makes a pipeline unknown: any other component; added tokens that ask for
the characters around them (`single_word`), or, by letters, strip white space;
dropout; a template that repeats or omits the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bpe_ref.aligned_text import AlignedText
from bpe_ref.cutting.borders import BorderRule
from bpe_ref.cutting.by_letters import CountedByLetters, Writing
from bpe_ref.cutting.by_pieces import CountedByPieces, Pieces, SpecialTokens
from bpe_ref.cutting.file_patterns import rule_of_source
from bpe_ref.cutting.letter_borders import borders_of
from bpe_ref.cutting.longest import (
    longest_of,
    normalizer_steps,
    pre_tokenizer_steps,
    spells_all_bytes,
)
from bpe_ref.cutting.whole import Span
from bpe_ref.hugging_face.byte_alphabet import BYTE_OF_LETTER, from_letters, to_letters
from bpe_ref.hugging_face.encoding import Encoding
from bpe_ref.hugging_face.model import BPE
from bpe_ref.hugging_face.normalizers.forms import NFC
from bpe_ref.hugging_face.normalizers.replacing import Prepend, Replace
from bpe_ref.hugging_face.patterns import Literal, Regex
from bpe_ref.hugging_face.pipeline import Pipeline
from bpe_ref.hugging_face.post_processors import process
from bpe_ref.hugging_face.pre_tokenizers.byte_level import GPT2_PATTERN, ByteLevel
from bpe_ref.hugging_face.pre_tokenizers.metaspace import Metaspace
from bpe_ref.hugging_face.pre_tokenizers.split_by_pattern import Split
from bpe_ref.vocabulary import TextRules, Vocabulary, vocabulary_by_pair


def repeats_nothing(pipeline: Pipeline) -> bool:
    """Return whether the template, without its special tokens, is the text.

    >>> repeats_nothing(Pipeline(BPE({"a": 0}, [])))
    True
    """
    one = Encoding.of([(0, "", (0, 0), 0)])
    return len(process(pipeline.post_processor, one, add_special_tokens=False).ids) == 1


def added_spans(pipeline: Pipeline, text: str) -> Sequence[Span]:
    """Return where the added tokens are in a text without surrogates, with what they strip.

    >>> from bpe_ref.hugging_face.added_tokens import AddedToken
    >>> added_spans(Pipeline(BPE({"a": 0}, []), added_tokens=[AddedToken("<s>")]), "a<s>")
    [(1, 4)]
    """
    added, as_text = pipeline.added, pipeline.encode_special_tokens
    if pipeline.normalizer is not None and added.has(normalized=True):
        pieces = pipeline.pieces(text)
        return [(piece.start, piece.end) for piece, token in pieces if token is not None]
    spans: list[Span] = []
    for start, stop, token in added.cut(text, normalized=False, special_as_text=as_text):
        if token is not None:
            spans.append((start, stop))
            continue
        inner = added.cut(text[start:stop], normalized=True, special_as_text=as_text)
        spans += [(start + cut.start, start + cut.stop) for cut in inner if cut.token is not None]
    return spans


# ---- by pieces


@dataclass(frozen=True)
class _Cutting:
    """What a pre-tokenizer that ends in a byte level does."""

    rule: BorderRule | None
    patterned: bool
    before_letters: Split | ByteLevel | None
    prefix: bool


def by_pieces(pipeline: Pipeline) -> CountedByPieces | None:
    """Return what is known of a pipeline of the first kind; None for any other.

    >>> from bpe_ref.hugging_face.pre_tokenizers import ByteLevel
    >>> gpt2 = ByteLevel(add_prefix_space=False, trim_offsets=True)
    >>> found = by_pieces(Pipeline(BPE({"a": 0}, []), pre_tokenizer=gpt2))
    >>> found.is_safe_cut("", "a", " "), found.is_safe_cut("", " ", "a")
    (True, False)
    """
    normalizers = normalizer_steps(pipeline.normalizer)
    normalized = bool(normalizers)
    if not all(isinstance(step, NFC) for step in normalizers):
        return None
    cutting = _cutting(pipeline, normalized=normalized)
    tokens = list(pipeline.added.tokens.values())
    if cutting is None or any(token.single_word for token in tokens):
        return None
    written = _written_tokens(pipeline)
    if normalized and any(token.normalized for token in tokens):
        vocabulary = None  # long pieces would have to know where normalization moves them
    else:
        vocabulary = _bytes_of(pipeline.model)
    if vocabulary is None and not cutting.patterned:
        return None
    if pipeline.model.drops_merges:
        return None

    def cut(text: str) -> list[str]:
        if pipeline.normalizer is not None:
            text = pipeline.normalizer.normalize_text(text)
        if isinstance(cutting.before_letters, ByteLevel):
            return cutting.before_letters.plain_pieces(text)
        if cutting.before_letters is not None:
            return cutting.before_letters.cut_text(text)
        return [text] if text else []

    model = pipeline.model
    pieces = Pieces(
        cut=cut,
        count=lambda piece: len(model.tokenize_ids(to_letters(piece.encode()))),
        rule=cutting.rule,
        patterned=cutting.patterned,
        normalized=normalized,
        vocabulary=vocabulary,
        prefix=" " if cutting.prefix else "",
    )
    specials = SpecialTokens(
        frozenset(written),
        lambda text: added_spans(pipeline, text),
        take_before=any(token.lstrip for token in tokens),
        take_behind=frozenset(text for text, takes in written.items() if takes),
    )
    return CountedByPieces(
        lambda text: len(pipeline.ids(text, add_special_tokens=False)),
        specials,
        specials.pairs(),
        pieces,
        longest_of(pipeline),
    )


def _cutting(pipeline: Pipeline, *, normalized: bool) -> _Cutting | None:
    steps = pre_tokenizer_steps(pipeline.pre_tokenizer)
    if not steps or not isinstance(last := steps[-1], ByteLevel):
        return None
    if len(steps) == 1:
        rule = rule_of_source(GPT2_PATTERN, normalized=normalized) if last.use_regex else None
        return _Cutting(rule, last.use_regex, last, last.add_prefix_space)
    split = steps[0]
    if len(steps) > 2 or not last.only_writes or not isinstance(split, Split):  # noqa: PLR2004
        return None
    keeps_all = split.behavior == "Isolated" or (split.behavior == "Removed" and split.invert)
    if not keeps_all or not isinstance(split.pattern, Regex):
        return None
    rule = rule_of_source(split.pattern.source, normalized=normalized)
    return (
        None if rule is None else _Cutting(rule, patterned=True, before_letters=split, prefix=False)
    )


def _written_tokens(pipeline: Pipeline) -> dict[str, bool]:
    """Return the added tokens as they are and as normalized, and which strip what follows."""
    normalizer = pipeline.normalizer
    found: dict[str, bool] = {}
    for token in pipeline.added.tokens.values():
        texts = {token.content}
        if token.normalized and normalizer is not None:
            texts.add(normalizer.normalize(AlignedText.of(token.content)).text)
        for text in texts:
            found[text] = found.get(text, False) or token.rstrip
    return found


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


# ---- by letters


def by_letters(pipeline: Pipeline) -> CountedByLetters | None:
    """Return what is known of a pipeline of the second kind; None for any other.

    >>> from bpe_ref.hugging_face.pre_tokenizers import Metaspace
    >>> model = BPE({"▁": 0, "a": 1, "▁a": 2}, [("▁", "a")])
    >>> mistral = Pipeline(model, pre_tokenizer=Metaspace(prepend_scheme="first", split=False))
    >>> found = by_letters(mistral)
    >>> found.is_safe_cut("", "a", " "), found.count("a"), found.count_rest("a")
    (True, 1, 1)
    """
    model, normalizer = pipeline.model, pipeline.normalizer
    tokens = list(pipeline.added.tokens.values())
    writing = _writing(pipeline)
    borders = borders_of(model)
    if writing is None or (borders is None and not writing.splits) or model.drops_merges:
        return None
    if any(token.single_word or token.lstrip or token.rstrip for token in tokens):
        return None
    written = _written_tokens(pipeline)
    pre_tokenizer = pipeline.pre_tokenizer
    first = later = Pipeline(model)
    if isinstance(pre_tokenizer, Metaspace):
        scheme = "always" if pre_tokenizer.prepend_scheme == "always" else "never"
        first = Pipeline(model, pre_tokenizer=replace(pre_tokenizer, prepend_scheme="never"))
        later = Pipeline(model, pre_tokenizer=replace(pre_tokenizer, prepend_scheme=scheme))
    puts_in_front = any(isinstance(step, Prepend) for step in normalizer_steps(normalizer)) or (
        isinstance(pre_tokenizer, Metaspace) and pre_tokenizer.prepend_scheme != "never"
    )
    return CountedByLetters(
        lambda text: len(pipeline.ids(text, add_special_tokens=False)),
        lambda text: added_spans(pipeline, text),
        pipeline.added,
        pipeline.encode_special_tokens,
        lambda text: len(later.ids(text)),
        lambda text: len(first.ids(text)),
        writing,
        borders,
        SpecialTokens(frozenset(written), lambda _: ()).pairs(),
        frozenset(text[-1] for text in written),
        longest_of(pipeline),
        rest_is_alone=not puts_in_front,
    )


def _writing(pipeline: Pipeline) -> Writing | None:
    normalizers = normalizer_steps(pipeline.normalizer)
    pre_tokenizer = pipeline.pre_tokenizer
    if isinstance(pre_tokenizer, Metaspace):
        if normalizers:
            return None
        return Writing(pre_tokenizer.replacement, pre_tokenizer.split, str)
    replaces = [step for step in normalizers if isinstance(step, Replace)]
    prepends = [step for step in normalizers if isinstance(step, Prepend)]
    if len(replaces) > 1 or len(prepends) > 1 or len(replaces) + len(prepends) < len(normalizers):
        return None
    if prepends and not prepends[0].prepend:
        return None
    if not replaces:
        return Writing(" ", splits=False, rest=str) if pre_tokenizer is None else None
    spaces = replaces[0]
    if spaces.pattern != Literal(" ") or len(spaces.content) != 1:
        return None
    gemma = Split(Literal(" "), "MergedWithPrevious", invert=False)
    if pre_tokenizer not in (None, gemma) or spaces.content == " ":
        return None
    return Writing(spaces.content, splits=False, rest=spaces.normalize_text)
