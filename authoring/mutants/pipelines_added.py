"""Mutants that find added tokens where they are not, or miss them where they are."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from authoring.mutants.pipelines import (
    added_by,
    added_with,
    preparing_pipeline,
    tokenizes,
    with_added,
    with_tokens,
    without_choice,
)
from bpe_ref.added_tokens import (
    RECOGNISE_ALL,
    AddedToken,
    AddedVocabulary,
    Cut,
    Treatment,
    treatment_of,
)
from bpe_ref.tokenizer import Tokenizer

Order = Callable[[list[tuple[int, str]]], Iterable[tuple[int, str]]]
"""In which order the tokens, ids and texts as the file lists them, are tried at a place."""

_ASCII_SPACES: Final = " \t\n\r\f\v"


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _is_ascii_word(letter: str) -> bool:
    return letter.isascii() and _is_word(letter)


def _longest(listed: list[tuple[int, str]]) -> Iterable[tuple[int, str]]:
    return sorted(listed, key=lambda row: -len(row[1]))


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
                if right.quirks.rejected_match_hides:
                    at = stop - 1
                    break
                continue
            before, behind = text[done:start], text[stop:]
            left = len(before) - len(before.rstrip(spaces)) if token.lstrip else 0
            more = len(behind) - len(behind.lstrip(spaces)) if token.rstrip else 0
            if done < start - left:
                cuts.append(Cut(done, start - left, None))
            cuts.append(
                Cut(start - left, stop + more, id_) if spaces_in_token else Cut(start, stop, id_)
            )
            done = stop + more
            at = (stop if right.quirks.stripped_text_repeats else done) - 1
            break
        at += 1
    if done < len(text):
        cuts.append(Cut(done, len(text), None))
    return cuts


def _has_strip(token: AddedToken) -> bool:
    return token.lstrip or token.rstrip


def _without(pipeline: Tokenizer, choice: str) -> Tokenizer:
    """Return the tokenizer with added tokens that lack one of the engine's choices."""
    quirks = without_choice(pipeline.added_tokens.quirks, choice)
    wrong = replace(pipeline.added_tokens, quirks=quirks)
    return with_added(pipeline, wrong.with_ids(pipeline.model.vocab, pipeline.normalizer))


def _with_ids(pipeline: Tokenizer, id_of: Callable[[AddedToken, int], int]) -> Tokenizer:
    """Return the tokenizer with other ids for added tokens that the vocabulary lacks."""
    right = pipeline.added
    moved = {
        old: old if token.content in pipeline.model.vocab else id_of(token, old)
        for old, token in right.tokens.items()
    }
    if all(old == new for old, new in moved.items()):
        return pipeline
    return with_added(pipeline, _Renumbered(right, moved))


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
        self.may_be_in = right.may_be_in
        self.is_skipped = right.is_skipped

    def split(self, text: str) -> None:
        """Return None, so that the ids are those of `cut`."""

    def cut(
        self, text: str, *, normalized: bool, treatment: Treatment = RECOGNISE_ALL
    ) -> list[Cut]:
        """Return the right cuts with the other ids."""
        return [
            Cut(start, stop, None if token is None else self._moved[token])
            for start, stop, token in self._right.cut(
                text, normalized=normalized, treatment=treatment
            )
        ]


@preparing_pipeline(tokenizes("added_ids", "<y>"))
def tokenize_ids_of_the_file(pipeline: Tokenizer) -> Tokenizer:
    """Added tokens have the ids that the file gives, which the library does not read."""
    return _with_ids(pipeline, lambda token, old: old if token.id is None else token.id)


@preparing_pipeline(tokenizes("added_ids", "<y>"))
def tokenize_ids_from_the_greatest(pipeline: Tokenizer) -> Tokenizer:
    """The next free id is one more than the greatest id, not the number of tokens."""
    vocab = pipeline.model.vocab
    more = max(vocab.values(), default=-1) + 1 - len(vocab)
    return _with_ids(pipeline, lambda _, old: old + more)


@added_by(tokenizes("added_flags", "<s>"), lambda token: token.special)
def tokenize_special_as_text(right: AddedVocabulary, text: str, normalized: bool) -> list[Cut]:
    """Special tokens in a text are read as ordinary text. gh-markt/cpp-tiktoken#5."""
    as_text = treatment_of("ordinary", right.special, right.ids)
    return right.cut(text, normalized=normalized, treatment=as_text)


@preparing_pipeline(tokenizes("added_flags", "<n>"))
def tokenize_added_special_only(pipeline: Tokenizer) -> Tokenizer:
    """Added tokens that are not special are read as ordinary text."""
    special = tuple(token for token in pipeline.added_tokens.tokens if token.special)
    is_changed = len(special) < len(pipeline.added_tokens.tokens)
    return with_tokens(pipeline, special) if is_changed else pipeline


@preparing_pipeline(tokenizes("added_flags", "<r> a"))
@added_with
def tokenize_rstrip_ignored(token: AddedToken) -> AddedToken:
    """White space after a token with rstrip is kept. huggingface/transformers#33371."""
    return replace(token, rstrip=False)


@preparing_pipeline(tokenizes("added_flags", "a <l>"))
@added_with
def tokenize_lstrip_ignored(token: AddedToken) -> AddedToken:
    """White space before a token with lstrip is kept. huggingface/transformers#16336,
    NVIDIA/TensorRT-Model-Connect#1322.
    """
    return replace(token, lstrip=False)


@preparing_pipeline(tokenizes("added_flags", "a <l>"))
@added_with
def tokenize_strips_swapped(token: AddedToken) -> AddedToken:
    """lstrip removes the white space after the token and rstrip that before it."""
    return replace(token, lstrip=token.rstrip, rstrip=token.lstrip)


@added_by(tokenizes("added_flags", "<r>\u3000a"), _has_strip)
def tokenize_strip_ascii(right: AddedVocabulary, text: str, normalized: bool) -> list[Cut]:
    """lstrip and rstrip remove only ASCII white space. NVIDIA/TensorRT-Model-Connect#1322."""
    return _found(right, text, normalized, spaces=_ASCII_SPACES)


@added_by(tokenizes("added_flags", "<r>\u200ba"), _has_strip)
def tokenize_strip_zero_width(right: AddedVocabulary, text: str, normalized: bool) -> list[Cut]:
    """lstrip and rstrip also remove U+200B, which is not white space.
    NVIDIA/TensorRT-Model-Connect#1322.
    """
    return _found(right, text, normalized, spaces=f"{_ASCII_SPACES}\xa0\u2003\u2028\u3000\u200b")


@added_by(tokenizes("added_flags", "<r> a"), _has_strip)
def tokenize_strip_not_in_offsets(right: AddedVocabulary, text: str, normalized: bool) -> list[Cut]:
    """White space that a token absorbs is not in its offsets."""
    return _found(right, text, normalized, spaces_in_token=False)


@preparing_pipeline(tokenizes("added_repeats", "<a>  b"))
def tokenize_white_space_once(pipeline: Tokenizer) -> Tokenizer:
    """White space that one added token absorbed cannot become another one."""
    has_strip = any(map(_has_strip, pipeline.added_tokens.tokens))
    return _without(pipeline, "stripped_text_repeats") if has_strip else pipeline


@preparing_pipeline(tokenizes("added_flags", "swords"))
@added_with
def tokenize_single_word_ignored(token: AddedToken) -> AddedToken:
    """single_word tokens are found inside words."""
    return replace(token, single_word=False)


@added_by(tokenizes("added_flags", "éword"), lambda token: token.single_word)
def tokenize_single_word_ascii(right: AddedVocabulary, text: str, normalized: bool) -> list[Cut]:
    """Only ASCII letters next to a single_word token forbid it."""
    return _found(right, text, normalized, is_word=_is_ascii_word)


@added_by(tokenizes("added_flags", "word\u0301"), lambda token: token.single_word)
def tokenize_single_word_before_mark(
    right: AddedVocabulary, text: str, normalized: bool
) -> list[Cut]:
    """A mark right behind a single_word token does not forbid it."""
    return _found(right, text, normalized)


@added_by(tokenizes("added_flags", "\U00010400word"), lambda token: token.single_word)
def tokenize_single_word_plane_0(right: AddedVocabulary, text: str, normalized: bool) -> list[Cut]:
    """A letter beyond U+FFFF next to a single_word token does not forbid it."""
    return _found(
        right, text, normalized, is_word=lambda letter: letter < "\U00010000" and _is_word(letter)
    )


@preparing_pipeline(tokenizes("added_overlapping", "scat"))
def tokenize_rejected_does_not_hide(pipeline: Tokenizer) -> Tokenizer:
    """Where a single_word token is rejected, shorter tokens inside it are searched for."""
    has_word = any(token.single_word for token in pipeline.added_tokens.tokens)
    return _without(pipeline, "rejected_match_hides") if has_word else pipeline


@added_by(tokenizes("added_overlapping", "xyz"))
def tokenize_shortest_added_first(right: AddedVocabulary, text: str, normalized: bool) -> list[Cut]:
    """Of the added tokens that begin at one place the shortest is taken."""
    return _found(
        right, text, normalized, order=lambda listed: sorted(listed, key=lambda row: len(row[1]))
    )


@added_by(tokenizes("added_overlapping", "abc"))
def tokenize_first_listed_added_first(
    right: AddedVocabulary, text: str, normalized: bool
) -> list[Cut]:
    """Of the added tokens that begin at one place the one listed first is taken, as in an
    alternation of a regular expression.
    """
    return _found(right, text, normalized, order=list)


@preparing_pipeline(tokenizes("added_normalized", "foo"))
@added_with
def tokenize_normalized_ignored(token: AddedToken) -> AddedToken:
    """All added tokens are searched for in the original text. huggingface/transformers#23818."""
    return replace(token, normalized=False)


@preparing_pipeline(tokenizes("added_normalized", "bar"))
@added_with
def tokenize_normalized_always(token: AddedToken) -> AddedToken:
    """All added tokens are searched for in the normalized text."""
    return replace(token, normalized=True)


@preparing_pipeline(tokenizes("added_prepend", "</s>"))
@added_with
def tokenize_special_never_normalized(token: AddedToken) -> AddedToken:
    """Special tokens are searched for in the original text, whatever the file says, so </s> is
    found where the library finds four letters. huggingface/transformers#23818.
    """
    return replace(token, normalized=token.normalized and not token.special)


@added_by(tokenizes("added_flags", "<n> a"))
def tokenize_space_behind_added_lost(
    right: AddedVocabulary, text: str, normalized: bool
) -> list[Cut]:
    """Spaces after an added token are lost. huggingface/transformers#29774."""
    cuts: list[Cut] = []
    for cut in right.cut(text, normalized=normalized):
        start = cut.start
        if cut.token is None and cuts:
            while start < cut.stop and text[start] == " ":
                start += 1
        if start < cut.stop:
            cuts.append(Cut(start, cut.stop, cut.token))
    return cuts


@added_by(tokenizes("added_flags", "a <n>"))
def tokenize_space_before_added_lost(
    right: AddedVocabulary, text: str, normalized: bool
) -> list[Cut]:
    """Spaces before an added token are lost. huggingface/tokenizers#1544, #1786."""
    cuts: list[Cut] = []
    for cut in reversed(right.cut(text, normalized=normalized)):
        stop = cut.stop
        if cut.token is None and cuts:
            while stop > cut.start and text[stop - 1] == " ":
                stop -= 1
        if cut.start < stop:
            cuts.insert(0, Cut(cut.start, stop, cut.token))
    return cuts
