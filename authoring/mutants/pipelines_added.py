"""Mutants that find added tokens where they are not, or miss them where they are."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from authoring.mutants.mutant import Mutant, pipeline_mutant
from authoring.mutants.pipelines import (
    added_by,
    added_with,
    tokenizes,
    with_added,
    without_choice,
)
from bpe_ref.added_tokens import AddedToken, AddedVocabulary, Cut
from bpe_ref.hugging_face.pipeline import Pipeline

Order = Callable[[list[tuple[int, str]]], Iterable[tuple[int, str]]]
"""In which order the tokens, ids and texts as the file lists them, are tried at a place."""

_ASCII_SPACES: Final = " \t\n\r\f\v"


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _is_ascii_word(letter: str) -> bool:
    return letter.isascii() and _is_word(letter)


def _in_order(listed: list[tuple[int, str]]) -> Iterable[tuple[int, str]]:
    return listed


def _longest(listed: list[tuple[int, str]]) -> Iterable[tuple[int, str]]:
    return sorted(listed, key=lambda row: -len(row[1]))


def _shortest(listed: list[tuple[int, str]]) -> Iterable[tuple[int, str]]:
    return sorted(listed, key=lambda row: len(row[1]))


def _found(
    right: AddedVocabulary,
    text: str,
    normalized: bool,
    *,
    order: Order = _longest,
    spaces: str | None = None,
    is_word: Callable[[str], bool] = _is_word,
    spaces_in_token: bool = True,
) -> list[Cut]:
    """Look for added tokens in the simplest way, with places for mistakes."""
    listed = [
        (id_, right.strings[id_] if normalized else token.content)
        for id_, token in right.tokens.items()
        if token.normalized == normalized
    ]
    cuts: list[Cut] = []
    done = at = 0
    while at < len(text):
        for id_, content in order(listed):
            token = right.tokens[id_]
            start, stop = at, at + len(content)
            if not content or not text.startswith(content, at):
                continue
            around = text[max(at - 1, 0) : at] + text[stop : stop + 1]
            if token.single_word and any(map(is_word, around)):
                at = stop - 1
                break
            before, behind = text[done:start], text[stop:]
            left = len(before) - len(before.rstrip(spaces)) if token.lstrip else 0
            more = len(behind) - len(behind.lstrip(spaces)) if token.rstrip else 0
            if done < start - left:
                cuts.append(Cut(done, start - left, None))
            cuts.append(
                Cut(start - left, stop + more, id_) if spaces_in_token else Cut(start, stop, id_)
            )
            done = stop + more
            at = stop - 1
            break
        at += 1
    if done < len(text):
        cuts.append(Cut(done, len(text), None))
    return cuts


def _has_strip(token: AddedToken) -> bool:
    return token.lstrip or token.rstrip


def _special_as_text(right: AddedVocabulary, text: str, normalized: bool) -> list[Cut]:
    return right.cut(text, normalized=normalized, special_as_text=True)


def _space_behind_lost(right: AddedVocabulary, text: str, normalized: bool) -> list[Cut]:
    """Drop spaces behind added tokens."""
    cuts: list[Cut] = []
    for cut in right.cut(text, normalized=normalized):
        start = cut.start
        if cut.token is None and cuts:
            while start < cut.stop and text[start] == " ":
                start += 1
        if start < cut.stop:
            cuts.append(Cut(start, cut.stop, cut.token))
    return cuts


def _space_before_lost(right: AddedVocabulary, text: str, normalized: bool) -> list[Cut]:
    """Drop spaces before added tokens."""
    cuts: list[Cut] = []
    for cut in reversed(right.cut(text, normalized=normalized)):
        stop = cut.stop
        if cut.token is None and cuts:
            while stop > cut.start and text[stop - 1] == " ":
                stop -= 1
        if cut.start < stop:
            cuts.insert(0, Cut(cut.start, stop, cut.token))
    return cuts


def _with_ids(pipeline: Pipeline, id_of: Callable[[AddedToken, int], int]) -> Pipeline:
    """Return the tokenizer with other ids for added tokens that the vocabulary lacks."""
    right = pipeline.added
    moved = {
        old: old if token.content in pipeline.model.vocab else id_of(token, old)
        for old, token in right.tokens.items()
    }
    if all(old == new for old, new in moved.items()):
        return pipeline

    def with_moved(_: AddedVocabulary) -> "_Renumbered":
        return _Renumbered(right, moved)

    return with_added(pipeline, with_moved)


class _Renumbered:
    """Added tokens with other ids."""

    def __init__(self, right: AddedVocabulary, moved: dict[int, int]) -> None:
        """Take the ids of the right one and what they become."""
        self._right, self._moved = right, moved
        self.ids = {content: moved[id_] for content, id_ in right.ids.items()}
        self.tokens = {moved[id_]: token for id_, token in right.tokens.items()}
        self.strings = {moved[id_]: string for id_, string in right.strings.items()}
        self.special = right.special
        self.has = right.has
        self.is_skipped = right.is_skipped

    def cut(self, text: str, *, normalized: bool, special_as_text: bool = False) -> list[Cut]:
        """Return the right cuts with the other ids."""
        return [
            Cut(start, stop, None if token is None else self._moved[token])
            for start, stop, token in self._right.cut(
                text, normalized=normalized, special_as_text=special_as_text
            )
        ]


def _ids_of_the_file(pipeline: Pipeline) -> Pipeline:
    return _with_ids(pipeline, lambda token, old: old if token.id is None else token.id)


def _ids_from_the_greatest(pipeline: Pipeline) -> Pipeline:
    vocab = pipeline.model.vocab
    more = max(vocab.values(), default=-1) + 1 - len(vocab)
    return _with_ids(pipeline, lambda _, old: old + more)


ADDED: Final[tuple[Mutant, ...]] = (
    pipeline_mutant(
        "tokenize-ids-of-the-file",
        "Added tokens have the ids that the file gives, which the library does not read. Own.",
        tokenizes("added_ids", "<y>"),
        prepare=_ids_of_the_file,
    ),
    pipeline_mutant(
        "tokenize-ids-from-the-greatest",
        "The next free id is one more than the greatest, not the number of tokens. Own.",
        tokenizes("added_ids", "<y>"),
        prepare=_ids_from_the_greatest,
    ),
    pipeline_mutant(
        "tokenize-special-as-text",
        "Special tokens in a text are read as ordinary text. gh-markt/cpp-tiktoken#5.",
        tokenizes("added_flags", "<s>"),
        prepare=added_by(_special_as_text, lambda token: token.special),
    ),
    pipeline_mutant(
        "tokenize-added-special-only",
        "Added tokens that are not special are read as ordinary text. Own.",
        tokenizes("added_flags", "<n>"),
        prepare=lambda pipeline: (
            replace(pipeline, added_tokens=tuple(t for t in pipeline.added_tokens if t.special))
            if not all(token.special for token in pipeline.added_tokens)
            else pipeline
        ),
    ),
    pipeline_mutant(
        "tokenize-rstrip-ignored",
        "White space behind a token with rstrip stays. huggingface/transformers#33371.",
        tokenizes("added_flags", "<r> a"),
        prepare=added_with(lambda token: replace(token, rstrip=False)),
    ),
    pipeline_mutant(
        "tokenize-lstrip-ignored",
        "White space before a token with lstrip stays. huggingface/transformers#16336, "
        "NVIDIA/TensorRT-Model-Connect#1322.",
        tokenizes("added_flags", "a <l>"),
        prepare=added_with(lambda token: replace(token, lstrip=False)),
    ),
    pipeline_mutant(
        "tokenize-strips-swapped",
        "lstrip takes the white space behind and rstrip that before. Own.",
        tokenizes("added_flags", "a <l>"),
        prepare=added_with(lambda token: replace(token, lstrip=token.rstrip, rstrip=token.lstrip)),
    ),
    pipeline_mutant(
        "tokenize-strip-ascii",
        "lstrip and rstrip take white space of ASCII only. NVIDIA/TensorRT-Model-Connect#1322.",
        tokenizes("added_flags", "<r>\u3000a"),
        prepare=added_by(
            lambda right, text, normalized: _found(right, text, normalized, spaces=_ASCII_SPACES),
            _has_strip,
        ),
    ),
    pipeline_mutant(
        "tokenize-strip-zero-width",
        "lstrip and rstrip take U+200B too, which is no white space. "
        "NVIDIA/TensorRT-Model-Connect#1322.",
        tokenizes("added_flags", "<r>\u200ba"),
        prepare=added_by(
            lambda right, text, normalized: _found(
                right, text, normalized, spaces=f"{_ASCII_SPACES}\xa0\u2003\u2028\u3000\u200b"
            ),
            _has_strip,
        ),
    ),
    pipeline_mutant(
        "tokenize-strip-not-in-offsets",
        "White space that a token takes is not in its offsets. Own.",
        tokenizes("added_flags", "<r> a"),
        prepare=added_by(
            lambda right, text, normalized: _found(right, text, normalized, spaces_in_token=False),
            _has_strip,
        ),
    ),
    pipeline_mutant(
        "tokenize-white-space-once",
        "White space that one added token took cannot be another one. Own.",
        tokenizes("added_repeats", "<a>  b"),
        prepare=lambda pipeline: (
            with_added(pipeline, lambda _: _repeating_not(pipeline))
            if any(map(_has_strip, pipeline.added_tokens))
            else pipeline
        ),
    ),
    pipeline_mutant(
        "tokenize-single-word-ignored",
        "single_word tokens are found inside words. Own.",
        tokenizes("added_flags", "swords"),
        prepare=added_with(lambda token: replace(token, single_word=False)),
    ),
    pipeline_mutant(
        "tokenize-single-word-ascii",
        "Only letters of ASCII beside a single_word token forbid it. Own.",
        tokenizes("added_flags", "éword"),
        prepare=added_by(
            lambda right, text, normalized: _found(right, text, normalized, is_word=_is_ascii_word),
            lambda token: token.single_word,
        ),
    ),
    pipeline_mutant(
        "tokenize-rejected-does-not-hide",
        "Where a single_word token is rejected, shorter ones inside it are looked for. Own.",
        tokenizes("added_overlapping", "scat"),
        prepare=lambda pipeline: (
            with_added(pipeline, lambda _: _hiding_not(pipeline))
            if any(token.single_word for token in pipeline.added_tokens)
            else pipeline
        ),
    ),
    pipeline_mutant(
        "tokenize-shortest-added-first",
        "Of added tokens that begin at one place the shortest is taken. Own.",
        tokenizes("added_overlapping", "xyz"),
        prepare=added_by(
            lambda right, text, normalized: _found(right, text, normalized, order=_shortest)
        ),
    ),
    pipeline_mutant(
        "tokenize-first-listed-added-first",
        "Of added tokens that begin at one place the one listed first is taken: an alternation "
        "of a regular expression. Own.",
        tokenizes("added_overlapping", "abc"),
        prepare=added_by(
            lambda right, text, normalized: _found(right, text, normalized, order=_in_order)
        ),
    ),
    pipeline_mutant(
        "tokenize-normalized-ignored",
        "All added tokens are looked for in the text as it is. huggingface/transformers#23818.",
        tokenizes("added_normalized", "foo"),
        prepare=added_with(lambda token: replace(token, normalized=False)),
    ),
    pipeline_mutant(
        "tokenize-normalized-always",
        "All added tokens are looked for in the normalized text. Own.",
        tokenizes("added_normalized", "bar"),
        prepare=added_with(lambda token: replace(token, normalized=True)),
    ),
    pipeline_mutant(
        "tokenize-special-never-normalized",
        "Special tokens are looked for in the text as it is, whatever the file says, so that "
        "</s> is found where the library finds four letters. huggingface/transformers#23818.",
        tokenizes("added_prepend", "</s>"),
        prepare=added_with(
            lambda token: replace(token, normalized=token.normalized and not token.special)
        ),
    ),
    pipeline_mutant(
        "tokenize-space-behind-added-lost",
        "Spaces behind an added token are lost. huggingface/transformers#29774.",
        tokenizes("added_flags", "<n> a"),
        prepare=added_by(_space_behind_lost),
    ),
    pipeline_mutant(
        "tokenize-space-before-added-lost",
        "Spaces before an added token are lost. huggingface/tokenizers#1544, #1786.",
        tokenizes("added_flags", "a <n>"),
        prepare=added_by(_space_before_lost),
    ),
)
"""Mutants of added tokens."""


def _repeating_not(pipeline: Pipeline) -> AddedVocabulary:
    return _by_other_profile(pipeline, "stripped_text_repeats")


def _hiding_not(pipeline: Pipeline) -> AddedVocabulary:
    return _by_other_profile(pipeline, "rejected_match_hides")


def _by_other_profile(pipeline: Pipeline, choice: str) -> AddedVocabulary:
    """Return the added tokens without one of the engine's choices."""
    return AddedVocabulary(
        pipeline.added_tokens,
        pipeline.model.vocab,
        pipeline.normalizer,
        without_choice(pipeline.profile, choice),
    )
