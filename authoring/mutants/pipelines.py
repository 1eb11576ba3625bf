"""Decorators for mutants of whole tokenizers, which have one wrong component.

A mutant changes all components of one kind, wherever they are in the tokenizer.
A tokenizer without such a component stays the same object, which shows at once
that the mutant makes no difference there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from authoring.mutants.mutant import (
    Mutant,
    PipelineHandler,
    PipelinesWithHandler,
    PreparePipeline,
    Witness,
    mutant,
)
from authoring.tokenizer_files.table import fixture_tokenizers, token_ids
from bpe_ref.added_tokens import AddedToken, AddedVocabulary, Cut
from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Model as AnyModel
from bpe_ref.components import Token
from bpe_ref.decoders import DecoderSequence
from bpe_ref.encoding import Encoding
from bpe_ref.models.bpe import BPE
from bpe_ref.normalizers.sequence import Sequence as NormalizerSequence
from bpe_ref.post_processors import PostProcessor, PostProcessorSequence
from bpe_ref.pre_tokenizers.sequence import Sequence as PreSequence
from bpe_ref.quirks import Quirks
from bpe_ref.tokenizer import Tokenizer
from tokenref.answers import Ok, Refused
from tokenref.engines.reference import PipelineSession, ReferenceEngine

SEQUENCES: Final[Mapping[type, str]] = {
    NormalizerSequence: "normalizers",
    PreSequence: "pretokenizers",
    PostProcessorSequence: "processors",
    DecoderSequence: "decoders",
}
"""Components that contain others, and the field that holds them."""


# ---- components that follow a rule


@dataclass(frozen=True)
class Rewriting:
    """A normalizer that follows a rule."""

    rule: Callable[[AlignedText], AlignedText]

    def normalize(self, text: AlignedText) -> AlignedText:
        """Apply the rule."""
        return self.rule(text)

    def normalize_text(self, text: str) -> str:
        """Return the text only."""
        return self.rule(AlignedText.of(text)).text


@dataclass(frozen=True)
class Cutting:
    """A pre-tokenizer that follows a rule."""

    rule: Callable[[AlignedText], list[AlignedText]]

    def cut(self, text: AlignedText) -> list[AlignedText]:
        """Apply the rule."""
        return self.rule(text)

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        """Return the texts of the pieces."""
        return [piece.text for piece in self.rule(AlignedText.of(text))]


@dataclass(frozen=True)
class Decoding:
    """A decoder that follows a rule."""

    rule: Callable[[Sequence[str]], list[str]]

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        """Apply the rule."""
        return self.rule(tokens)


@dataclass(frozen=True)
class Processing:
    """A post-processor that follows a rule, which is given the right one."""

    right: PostProcessor
    rule: Callable[[PostProcessor, Sequence[Encoding], bool], list[Encoding]]

    def added_tokens(self, *, is_pair: bool) -> int:
        """Return how many tokens the right one adds."""
        return self.right.added_tokens(is_pair=is_pair)

    def process_encodings(
        self, encodings: Sequence[Encoding], *, add_special_tokens: bool
    ) -> list[Encoding]:
        """Apply the rule."""
        return self.rule(self.right, encodings, add_special_tokens)


@dataclass(frozen=True)
class Model:
    """A model that follows a rule about pieces."""

    right: AnyModel
    rule: Callable[[Any, str], list[Token]]
    borders: None = None
    """Not needed where offsets are wanted."""

    @property
    def vocab(self) -> Mapping[str, int]:
        """The vocabulary of the right model."""
        return self.right.vocab

    @property
    def strings(self) -> Mapping[int, str]:
        """The vocabulary of the right model."""
        return self.right.strings

    def tokenize(self, piece: str, draw: object = None) -> list[Token]:
        """Apply the rule."""
        return self.rule(self.right, piece)


@dataclass(frozen=True)
class Added:
    """Added tokens that are found in a text by a rule."""

    right: AddedVocabulary
    rule: Callable[[AddedVocabulary, str, bool], list[Cut]]

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the right one."""
        return getattr(self.right, name)

    def cut(self, text: str, *, normalized: bool, treatment: object = None) -> list[Cut]:
        """Apply the rule."""
        return self.rule(self.right, text, normalized)

    def split(self, text: str) -> None:
        """Return None, so that the rule is asked."""


# ---- what a wrong function replaces


def component(
    section: str,
    kind: type | tuple[type, ...],
    witness: Witness,
    *,
    ops: Iterable[str] | None = None,
) -> Callable[[Callable[[Any], Any]], Mutant]:
    """Return a decorator: the function changes each component of a kind in a section.

    The section is a field of the tokenizer, as "normalizer". The kind `object` means the section
    as a whole. `ops` are the operations whose answers may differ, if not all.
    """

    def engine(label: str, change: Callable[[Any], Any]) -> ReferenceEngine:
        return ReferenceEngine(label, prepare_tokenizer=partial(changed, section, kind, change))

    return mutant(witness, engine, ops=ops)


def changed(
    section: str, kind: type | tuple[type, ...], change: Callable[[Any], Any], pipeline: Tokenizer
) -> Tokenizer:
    """Return the tokenizer with a change made to all components of a kind in a section."""
    before = getattr(pipeline, section)
    after = None if before is None else mapped(before, kind, change)
    fields: dict[str, Any] = {section: after}
    return pipeline if after is before else replace(pipeline, **fields)


def mapped(part: Any, kind: type | tuple[type, ...], change: Callable[[Any], Any]) -> Any:
    """Return a component with the change made to all that are of a kind.

    >>> from bpe_ref.decoders import Fuse
    >>> mapped(DecoderSequence((Fuse(),)), Fuse, lambda _: "?")
    DecoderSequence(decoders=('?',))
    """
    if isinstance(part, kind):
        after = change(part)
        return part if after == part else after
    name = SEQUENCES.get(type(part))
    if name is None:
        return part
    inner = getattr(part, name)
    parts = tuple(mapped(one, kind, change) for one in inner)
    same = all(new is old for new, old in zip(parts, inner, strict=True))
    return part if same else replace(part, **{name: parts})


def model_by(
    witness: Witness, applies: Callable[[BPE], object]
) -> Callable[[Callable[[BPE, str], list[Token]]], Mutant]:
    """Return a decorator: the function turns pieces into tokens, for models to which it applies."""

    def engine(label: str, rule: Callable[[BPE, str], list[Token]]) -> ReferenceEngine:
        def change(model: BPE) -> Any:
            return Model(model, rule) if applies(model) else model

        return ReferenceEngine(label, prepare_tokenizer=partial(changed, "model", BPE, change))

    return mutant(witness, engine)


def preparing_pipeline(witness: Witness) -> Callable[[PreparePipeline], Mutant]:
    """Return a decorator: the function changes a whole tokenizer when it is loaded."""
    return mutant(witness, lambda label, wrong: ReferenceEngine(label, prepare_tokenizer=wrong))


def answering_pipeline(witness: Witness) -> Callable[[PipelineHandler], Mutant]:
    """Return a decorator: the function answers requests to a whole tokenizer."""
    return mutant(witness, lambda label, wrong: PipelinesWithHandler(label, begin=lambda: wrong))


def remembering_pipeline(witness: Witness) -> Callable[[Callable[[], PipelineHandler]], Mutant]:
    """Return a decorator: what the function returns answers the requests of one session."""
    return mutant(witness, lambda label, wrong: PipelinesWithHandler(label, begin=wrong))


def beforehand(op: str, witness: Witness) -> Callable[[Callable[[dict[str, Any]], object]], Mutant]:
    """Return a decorator: the function changes questions of one operation, in place."""

    def engine(label: str, change: Callable[[dict[str, Any]], object]) -> ReferenceEngine:
        def handle(right: PipelineSession, asked: str, request: Mapping[str, Any]) -> Ok | Refused:
            if asked == op:
                request = dict(request)
                change(request)
            return right.answer(asked, request)

        return PipelinesWithHandler(label, begin=lambda: handle)

    return mutant(witness, engine)


Change: TypeAlias = Callable[[PipelineSession, Mapping[str, Any], dict[str, Any]], object]
"""Changes a right answer in place: from the session, the request and the answer."""


def afterwards(op: str, witness: Witness) -> Callable[[Change], Mutant]:
    """Return a decorator: the function changes the right answers to one operation, in place."""

    def engine(label: str, change: Change) -> ReferenceEngine:
        def handle(right: PipelineSession, asked: str, request: Mapping[str, Any]) -> Ok | Refused:
            answer = right.answer(asked, request)
            if asked != op or isinstance(answer, Refused):
                return answer
            out = dict(answer.out)
            change(right, request, out)
            return Ok(out)

        return PipelinesWithHandler(label, begin=lambda: handle)

    return mutant(witness, engine)


def added_with(change: Callable[[AddedToken], AddedToken]) -> PreparePipeline:
    """Change the added tokens one by one."""

    @wraps(change)
    def prepare(pipeline: Tokenizer) -> Tokenizer:
        after = tuple(map(change, pipeline.added_tokens.tokens))
        if after == tuple(pipeline.added_tokens.tokens):
            return pipeline
        return with_tokens(pipeline, after)

    return prepare


def added_by(
    witness: Witness, applies: Callable[[AddedToken], object] = lambda _: True
) -> Callable[[Callable[[AddedVocabulary, str, bool], list[Cut]]], Mutant]:
    """Return a decorator: the function finds added tokens, if there is one to which it applies."""

    def engine(
        label: str, rule: Callable[[AddedVocabulary, str, bool], list[Cut]]
    ) -> ReferenceEngine:
        def prepare(pipeline: Tokenizer) -> Tokenizer:
            if not any(map(applies, pipeline.added_tokens.tokens)):
                return pipeline
            return with_added(pipeline, Added(pipeline.added, rule))

        return ReferenceEngine(label, prepare_tokenizer=prepare)

    return mutant(witness, engine)


def with_tokens(pipeline: Tokenizer, tokens: Sequence[AddedToken]) -> Tokenizer:
    """Return the tokenizer with other added tokens, treated as before."""
    return replace(pipeline, added_tokens=replace(pipeline.added_tokens, tokens=tokens))


def with_added(pipeline: Tokenizer, wrong: Any) -> Tokenizer:
    """Return the tokenizer with another search for added tokens."""
    after = replace(pipeline)
    vars(after)["added"] = wrong
    return after


def without_choice(quirks: Quirks, choice: str) -> Quirks:
    """Return the quirks with one choice taken back."""
    fields: dict[str, Any] = {choice: False}
    return replace(quirks, **fields)


@runtime_checkable
class HasQuirks(Protocol):
    """A component that keeps the choices of an engine."""

    quirks: Quirks


def quirks_without(pipeline: Tokenizer, choice: str, *sections: str) -> Tokenizer:
    """Return the tokenizer with one choice of the engine taken back, in the sections that make it.

    The sections are fields of the tokenizer; none means its added tokens.
    """

    def turned(part: Any) -> Any:
        return replace(part, quirks=without_choice(part.quirks, choice))

    if not sections:
        return replace(pipeline, added_tokens=turned(pipeline.added_tokens))
    for section in sections:
        pipeline = changed(section, HasQuirks, turned, pipeline)
    return pipeline


# ---- witnesses


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
