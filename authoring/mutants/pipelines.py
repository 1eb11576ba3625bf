"""Whole tokenizers with one component wrong: what the mutants of them are made of.

A mutant changes the components of one kind, wherever in the tokenizer they
stand. A tokenizer without such a component stays the very object it was, which
says at once that the mutant cannot be seen there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from authoring.cases.tokenizers import fixture_tokenizers, token_ids
from authoring.mutants.mutant import AskPipeline, PreparePipeline, Witness
from bpe_ref.added_tokens import AddedToken, AddedVocabulary, Cut
from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Token
from bpe_ref.decoders import DecoderSequence
from bpe_ref.encoding import Encoding
from bpe_ref.hugging_face.pipeline import Pipeline
from bpe_ref.models.bpe import BPE
from bpe_ref.normalizers import Sequence as NormalizerSequence
from bpe_ref.post_processors import PostProcessor, PostProcessorSequence
from bpe_ref.pre_tokenizers import Sequence as PreSequence
from bpe_ref.profile import Profile
from tokenref.answers import Ok, Refused
from tokenref.engines.reference_pipeline import PipelineSession

SEQUENCES: Final[Mapping[type, str]] = {
    NormalizerSequence: "normalizers",
    PreSequence: "pretokenizers",
    PostProcessorSequence: "processors",
    DecoderSequence: "decoders",
}
"""The components that are made of others, and the field with these."""


# ---- components that follow a rule


@dataclass(frozen=True)
class Rewriting:
    """A normalizer by a rule."""

    rule: Callable[[AlignedText], AlignedText]

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return what the rule says."""
        return self.rule(text)

    def normalize_text(self, text: str) -> str:
        """Return the text only."""
        return self.rule(AlignedText.of(text)).text


@dataclass(frozen=True)
class Cutting:
    """A pre-tokenizer by a rule."""

    rule: Callable[[AlignedText], list[AlignedText]]

    def cut(self, text: AlignedText) -> list[AlignedText]:
        """Return what the rule says."""
        return self.rule(text)

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        """Return the texts of the pieces."""
        return [piece.text for piece in self.rule(AlignedText.of(text))]


@dataclass(frozen=True)
class Decoding:
    """A decoder by a rule."""

    rule: Callable[[Sequence[str]], list[str]]

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        """Return what the rule says."""
        return self.rule(tokens)


@dataclass(frozen=True)
class Processing:
    """A post-processor by a rule about what the right one returns."""

    right: PostProcessor
    rule: Callable[[PostProcessor, Sequence[Encoding], bool], list[Encoding]]

    def added_tokens(self, *, is_pair: bool) -> int:
        """Return how many tokens the right one adds."""
        return self.right.added_tokens(is_pair=is_pair)

    def process_encodings(
        self, encodings: Sequence[Encoding], *, add_special_tokens: bool
    ) -> list[Encoding]:
        """Return what the rule says."""
        return self.rule(self.right, encodings, add_special_tokens)


@dataclass(frozen=True)
class Model:
    """A model by a rule about pieces."""

    right: BPE
    rule: Callable[[BPE, str], list[Token]]
    borders: None = None
    """Nobody asks for them where offsets are wanted."""

    @property
    def vocab(self) -> Mapping[str, int]:
        """The right one's."""
        return self.right.vocab

    @property
    def strings(self) -> Mapping[int, str]:
        """The right one's."""
        return self.right.strings

    def tokenize(self, piece: str, draw: object = None) -> list[Token]:
        """Return what the rule says."""
        return self.rule(self.right, piece)


@dataclass(frozen=True)
class Added:
    """Added tokens by a rule about where they are in a text."""

    right: AddedVocabulary
    rule: Callable[[AddedVocabulary, str, bool], list[Cut]]

    def __getattr__(self, name: str) -> Any:
        """Return what the right one has."""
        return getattr(self.right, name)

    def cut(self, text: str, *, normalized: bool, special_as_text: bool = False) -> list[Cut]:
        """Return what the rule says."""
        return self.rule(self.right, text, normalized)


# ---- putting them in


def mapped(part: Any, kind: type | tuple[type, ...], change: Callable[[Any], Any]) -> Any:
    """Return a component with the change made to all that are of a kind.

    >>> from bpe_ref.decoders import Fuse
    >>> mapped(DecoderSequence((Fuse(),)), Fuse, lambda _: "?")
    DecoderSequence(decoders=('?',))
    """
    if isinstance(part, kind):
        return change(part)
    name = SEQUENCES.get(type(part))
    if name is None:
        return part
    inner = getattr(part, name)
    after = tuple(mapped(one, kind, change) for one in inner)
    same = all(new is old for new, old in zip(after, inner, strict=True))
    return part if same else replace(part, **{name: after})


def changing(
    section: str, kind: type | tuple[type, ...], change: Callable[[Any], Any]
) -> PreparePipeline:
    """Return what makes a change to all components of a kind in a section, as "normalizer"."""

    def prepare(pipeline: Pipeline) -> Pipeline:
        before = getattr(pipeline, section)
        after = None if before is None else mapped(before, kind, change)
        fields: dict[str, Any] = {section: after}
        return pipeline if after is before else replace(pipeline, **fields)

    return prepare


def model_with(**fields: Any) -> PreparePipeline:
    """Return what gives the model other fields."""

    def prepare(pipeline: Pipeline) -> Pipeline:
        if all(getattr(pipeline.model, name) == value for name, value in fields.items()):
            return pipeline
        return replace(pipeline, model=replace(pipeline.model, **fields))

    return prepare


def model_by(
    rule: Callable[[BPE, str], list[Token]], applies: Callable[[BPE], object]
) -> PreparePipeline:
    """Return what makes the model follow a rule, if it is one to which that applies."""

    def prepare(pipeline: Pipeline) -> Pipeline:
        if not applies(pipeline.model):
            return pipeline
        wrong: Any = Model(pipeline.model, rule)
        return replace(pipeline, model=wrong)

    return prepare


def without_choice(profile: Profile, choice: str) -> Profile:
    """Return the profile with one choice taken back."""
    fields: dict[str, Any] = {choice: False}
    return replace(profile, **fields)


def profile_without(choice: str, *sections: str) -> PreparePipeline:
    """Return what takes back one choice of the engine, in the sections that make it.

    The sections are fields of the pipeline; none means the pipeline itself.
    """

    def turned(part: Any) -> Any:
        name = SEQUENCES.get(type(part))
        if name is not None:
            inner = getattr(part, name)
            after = tuple(map(turned, inner))
            same = all(new is old for new, old in zip(after, inner, strict=True))
            return part if same else replace(part, **{name: after})
        if part is None or not hasattr(part, "profile"):
            return part
        return replace(part, profile=without_choice(part.profile, choice))

    def prepare(pipeline: Pipeline) -> Pipeline:
        if not sections:
            return replace(pipeline, profile=without_choice(pipeline.profile, choice))
        before = {section: getattr(pipeline, section) for section in sections}
        after = {section: turned(part) for section, part in before.items()}
        same = all(after[section] is part for section, part in before.items())
        return pipeline if same else replace(pipeline, **after)

    return prepare


def added_with(change: Callable[[AddedToken], AddedToken]) -> PreparePipeline:
    """Return what changes the added tokens one by one."""

    def prepare(pipeline: Pipeline) -> Pipeline:
        after = tuple(map(change, pipeline.added_tokens))
        if after == tuple(pipeline.added_tokens):
            return pipeline
        return replace(pipeline, added_tokens=after)

    return prepare


def added_by(
    rule: Callable[[AddedVocabulary, str, bool], list[Cut]],
    applies: Callable[[AddedToken], object] = lambda _: True,
) -> PreparePipeline:
    """Return what makes the added tokens follow a rule, if there is one to which that applies."""

    def prepare(pipeline: Pipeline) -> Pipeline:
        if not any(map(applies, pipeline.added_tokens)):
            return pipeline
        return with_added(pipeline, lambda right: Added(right, rule))

    return prepare


def with_added(pipeline: Pipeline, wrong: Callable[[AddedVocabulary], Any]) -> Pipeline:
    """Return the tokenizer with other added tokens."""
    after = replace(pipeline)
    vars(after)["added"] = wrong(pipeline.added)
    return after


# ---- questions and answers


def afterwards(
    op: str, change: Callable[[PipelineSession, Mapping[str, Any], dict[str, Any]], None]
) -> Callable[[], AskPipeline]:
    """Return what changes the right answers to one operation, in place."""

    def ask(right: PipelineSession, asked: str, request: Mapping[str, Any]) -> Ok | Refused:
        answer = right.answer(asked, request)
        if asked != op or isinstance(answer, Refused):
            return answer
        out = dict(answer.out)
        change(right, request, out)
        return Ok(out)

    return lambda: ask


def tokenizes(name: str, text: str, pair: str | None = None, *, special: bool = True) -> Witness:
    """Return the witness "what this tokenizer makes of a text"."""
    return Witness(
        fixture_tokenizers()[name], "tokenize", tokenize_request(text, pair, special=special)
    )


def tokenize_request(text: str, pair: str | None = None, *, special: bool = True) -> dict[str, Any]:
    """Return a request for tokens.

    >>> tokenize_request("a")
    {'text': 'a', 'add_special_tokens': True}
    """
    request: dict[str, Any] = {"text": text, "add_special_tokens": special}
    return request if pair is None else {**request, "pair": pair}


def detokenizes(name: str, *tokens: str | int, skip: bool = True) -> Witness:
    """Return the witness "the text of these tokens"."""
    request = {"ids": token_ids(name, tokens), "skip_special_tokens": skip}
    return Witness(fixture_tokenizers()[name], "detokenize", request)


def streams_text(name: str, *tokens: str | int, mode: str = "engine") -> Witness:
    """Return the witness "the text of these tokens, one by one"."""
    request = {"ids": token_ids(name, tokens), "skip_special_tokens": True, "mode": mode}
    return Witness(fixture_tokenizers()[name], "detokenize_stream", request)
