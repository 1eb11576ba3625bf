"""Which pipelines write and merge text in a way whose safe cuts `by_letters` knows.

Nothing but spaces is replaced, by one other character, and a text put in front,
by `Prepend`, `Replace` or `Metaspace`; not cut into pieces, or by `Metaspace`.
`Split` at spaces counts as not cut, where no spaces are left. The files of
Llama 2, Mistral 7B and Gemma are such.

What makes a pipeline unknown: any other component; added tokens that ask for
the characters around them (`single_word`) or strip white space; dropout; and,
unless `Metaspace` splits, a model with `ignore_merges`, prefix or suffix.
"""

from dataclasses import replace

from bpe_ref.added_tokens import AddedVocabulary, Recognised
from bpe_ref.cutting.added_text import added_spans, written_tokens
from bpe_ref.cutting.by_letters import CountedByLetters, Writing
from bpe_ref.cutting.by_pieces import SpecialTokens
from bpe_ref.cutting.letter_borders import borders_of
from bpe_ref.cutting.longest import longest_of, normalizer_steps
from bpe_ref.cutting.whole import Components
from bpe_ref.models.bpe import BPE
from bpe_ref.normalizers.replacing import Prepend, Replace
from bpe_ref.patterns.matches import Literal
from bpe_ref.pre_tokenizers.metaspace import Metaspace
from bpe_ref.pre_tokenizers.split_by_pattern import Split
from bpe_ref.quick_ids import QuickIds


def by_letters(tokenizer: Components, special: Recognised = "recognise") -> CountedByLetters | None:
    """Return what is known of a pipeline of the second kind; None for any other.

    >>> from bpe_ref.tokenizer import Tokenizer
    >>> from bpe_ref.models.bpe import BPE
    >>> from bpe_ref.pre_tokenizers import Metaspace
    >>> model = BPE({"▁": 0, "a": 1, "▁a": 2}, [("▁", "a")])
    >>> mistral = Tokenizer(model, pre_tokenizer=Metaspace(prepend_scheme="first", split=False))
    >>> found = by_letters(mistral)
    >>> found.is_safe_cut("", "a", " "), found.count("a"), found.count_rest("a")
    (True, 1, 1)
    """
    model, normalizer = tokenizer.model, tokenizer.normalizer
    treatment = tokenizer.treatment(special)
    if not isinstance(model, BPE):
        return None
    tokens = list(tokenizer.added.tokens.values())
    writing = _writing(tokenizer)
    borders = borders_of(model)
    if writing is None or (borders is None and not writing.splits) or model.drops_merges:
        return None
    if any(token.single_word or token.lstrip or token.rstrip for token in tokens):
        return None
    written = written_tokens(tokenizer)
    pre_tokenizer = tokenizer.pre_tokenizer
    first = later = QuickIds(model, AddedVocabulary([]), None, None)
    if isinstance(pre_tokenizer, Metaspace):
        scheme = "always" if pre_tokenizer.prepend_scheme == "always" else "never"
        first = QuickIds(
            model, AddedVocabulary([]), None, replace(pre_tokenizer, prepend_scheme="never")
        )
        later = QuickIds(
            model, AddedVocabulary([]), None, replace(pre_tokenizer, prepend_scheme=scheme)
        )
    puts_in_front = any(isinstance(step, Prepend) for step in normalizer_steps(normalizer)) or (
        isinstance(pre_tokenizer, Metaspace) and pre_tokenizer.prepend_scheme != "never"
    )
    return CountedByLetters(
        lambda text: len(tokenizer.encode(text, add_special_tokens=False, special=special)),
        lambda text: added_spans(tokenizer, text, treatment),
        tokenizer.added,
        treatment,
        lambda text: len(later.ids(text)),
        lambda text: len(first.ids(text)),
        writing,
        borders,
        SpecialTokens(frozenset(written), lambda _: ()).pairs(),
        frozenset(text[-1] for text in written),
        longest_of(tokenizer),
        rest_is_alone=not puts_in_front,
    )


def _writing(tokenizer: Components) -> Writing | None:
    normalizers = normalizer_steps(tokenizer.normalizer)
    pre_tokenizer = tokenizer.pre_tokenizer
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
