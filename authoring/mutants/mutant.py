"""Mutants: the reference with one deliberate mistake each, and a question that shows it.

Fixtures that cannot tell a mutant from the reference would not notice the same
mistake in a real engine.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, TypeAlias, TypeVar

from bpe_ref import (
    Steps,
    TextRules,
    TokenId,
    Vocabulary,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
)
from bpe_ref.hugging_face.pipeline import Pipeline
from tokenref.answers import Answer, Engine, Ok, Refused, Unsupported
from tokenref.engines.reference import EncodeSymbols, ReferenceEngine, ReferenceSession
from tokenref.engines.reference_pipeline import PipelineSession
from tokenref.engines.tools import Tools
from tokenref.subjects import Subject, load_subject

Prepare: TypeAlias = Callable[[Vocabulary], Vocabulary]

PreparePipeline: TypeAlias = Callable[[Pipeline], Pipeline]

Ask: TypeAlias = Callable[[ReferenceSession, str, Mapping[str, Any]], Ok | Refused]
"""Answers a request, given a session of the reference: for mistakes outside the components."""

AskPipeline: TypeAlias = Callable[[PipelineSession, str, Mapping[str, Any]], Ok | Refused]
"""The same for a request to a whole tokenizer."""


@dataclass(frozen=True)
class Witness:
    """A minimal question that a mutant answers wrongly."""

    vocabulary: Subject
    op: str
    request: Mapping[str, Any]
    before: Sequence[tuple[str, Mapping[str, Any]]] = ()
    """Questions to ask first, for mutants that remember what they should not."""

    rules: str = ""
    """The profile of the question; empty: the usual one for its subject."""

    @property
    def profile(self) -> str:
        """The profile of the question."""
        if self.rules:
            return self.rules
        return "definition" if isinstance(self.vocabulary, Vocabulary) else "hugging-face"

    def ask(self, engine: Engine) -> Answer:
        """Return an engine's answer. Raise whatever a mutant raises."""
        session = load_subject(engine, self.vocabulary, "witness", self.profile)
        if isinstance(session, Unsupported):
            return session
        for op, request in self.before:
            session.answer(op, request)
        return session.answer(self.op, self.request)


@dataclass(frozen=True)
class Mutant:
    """The reference with one mistake in it."""

    name: str
    """A slug that never changes."""

    story: str
    """The mistake in a sentence, and where it was seen, unless it is invented."""

    engine: ReferenceEngine
    witness: Witness
    ops: frozenset[str] | None = None
    """The operations that it may answer differently from the reference; None: all."""

    profiles: frozenset[str] | None = None
    """The profiles under which it may do so; None: all."""

    def concerns(self, subject: Subject, op: str, profile: str) -> bool:
        """Return whether its answers may differ from the reference's."""
        return (
            type(subject) is type(self.witness.vocabulary)
            and (self.ops is None or op in self.ops)
            and (self.profiles is None or profile in self.profiles)
        )


@dataclass(frozen=True)
class AskedEngine(ReferenceEngine):
    """A reference whose requests and answers go through `ask`.

    >>> from tokenref.answers import Ok
    >>> engine = AskedEngine(ask=lambda session, op, request: Ok({"count": 7}))
    >>> engine.load(vocabulary_by_concatenation({b"a": 0}), "one").answer("count", {"text": "a"})
    Ok(out={'count': 7})
    """

    ask: Ask = ReferenceSession.answer

    def load(self, vocabulary: Vocabulary, name: str) -> ReferenceSession:
        """Load a vocabulary."""
        right = super().load(vocabulary, name)
        assert isinstance(right, ReferenceSession)  # noqa: S101 - it can load everything
        return AskedSession(right.tokenizer, right.with_stages, right.tools, self.ask)


@dataclass(frozen=True)
class AskedSession(ReferenceSession):
    """A session of an `AskedEngine`."""

    ask: Ask = ReferenceSession.answer

    def answer(self, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        """Answer one request."""
        right = ReferenceSession(self.tokenizer, self.with_stages, self.tools)
        return self.ask(right, op, request)


@dataclass(frozen=True)
class AskedPipelines(ReferenceEngine):
    """A reference whose requests to a whole tokenizer go through what `begin` returns.

    `begin` is called for each session, so sessions share no memory.
    """

    begin: Callable[[], AskPipeline] = lambda: PipelineSession.answer

    def leaves_as_it_is(self, content: bytes, name: str, profile: str) -> bool:
        """Return false, because questions or answers may be changed."""
        return False

    def load_tokenizer(self, content: bytes, name: str, profile: str) -> "AskedPipeline":
        """Load a whole tokenizer."""
        right = super().load_tokenizer(content, name, profile)
        assert isinstance(right, PipelineSession)  # noqa: S101 - it loads nothing else
        return AskedPipeline(right, self.begin())


@dataclass(frozen=True)
class AskedPipeline:
    """A session of `AskedPipelines`."""

    right: PipelineSession
    ask: AskPipeline

    def answer(self, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        """Answer one request."""
        return self.ask(self.right, op, request)


Wrong = TypeVar("Wrong", bound=Callable[..., Any])
"""A wrong function: its name is the mutant's with underscores, its docstring the description."""


def mutant(
    witness: Witness,
    engine: Callable[[str, Wrong], ReferenceEngine],
    *,
    ops: Iterable[str] | None = None,
    profiles: Iterable[str] | None = None,
) -> Callable[[Wrong], Mutant]:
    """Return a decorator that turns a wrong function into a mutant.

    The mutant has the name of the function, with hyphens, and its docstring. `engine` builds the
    wrong engine from a label and the function. The decorators below say what the function replaces.

    >>> @replacing("whole_piece", encode(spelled("a aa"), "aa"))
    ... def whole_piece_never(vocabulary: Vocabulary, piece: bytes) -> None:
    ...     "No piece is taken whole."
    >>> whole_piece_never.name, whole_piece_never.story
    ('whole-piece-never', 'No piece is taken whole.')
    """

    def declare(wrong: Wrong) -> Mutant:
        name = wrong.__name__.replace("_", "-")
        return Mutant(
            name=name,
            story=" ".join((wrong.__doc__ or "").split()),
            engine=engine(f"mutant {name}", wrong),
            witness=witness,
            ops=None if ops is None else frozenset(ops),
            profiles=None if profiles is None else frozenset(profiles),
        )

    return declare


def named(name: str, story: str, wrong: Wrong) -> Wrong:
    """Return a function with a mutant's name and description, for mutants made in a loop."""
    wrong.__name__, wrong.__doc__ = name, story
    return wrong


def declared(module: ModuleType) -> list[Mutant]:
    """Return the mutants of a module in the order of their definition, also those in tuples."""
    found: list[Mutant] = []
    for value in vars(module).values():
        if isinstance(value, Mutant):
            found.append(value)
        elif isinstance(value, tuple):
            found += [each for each in value if isinstance(each, Mutant)]
    return found


# ---- what a wrong function replaces

RIGHT: Final = Steps()
"""The right components of a tokenizer, which wrong ones build on."""


def replacing(
    component: str, witness: Witness, *, prepare: Prepare | None = None
) -> Callable[[Callable[..., Any]], Mutant]:
    """Return a decorator: the function replaces a component of the tokenizer."""

    def engine(label: str, wrong: Callable[..., Any]) -> ReferenceEngine:
        steps = Steps(**{component: wrong})
        return ReferenceEngine(label, steps=steps, prepare=prepare or unchanged)

    return mutant(witness, engine)


def preparing(
    witness: Witness, *, encode_symbols: EncodeSymbols | None = None
) -> Callable[[Prepare], Mutant]:
    """Return a decorator: the function changes the vocabulary when it is loaded.

    Name an encoder if the default one does not read the rule that the function changes.
    """
    steps = Steps() if encode_symbols is None else Steps(encode_symbols=encode_symbols)
    return mutant(witness, lambda label, wrong: ReferenceEngine(label, steps=steps, prepare=wrong))


def answering(witness: Witness) -> Callable[[Ask], Mutant]:
    """Return a decorator: the function answers requests, given a session of the reference."""
    return mutant(witness, lambda label, wrong: AskedEngine(label, ask=wrong))


def replacing_tool(tool: str, witness: Witness) -> Callable[[Callable[..., Any]], Mutant]:
    """Return a decorator: the function replaces a tool of the reference, as `chunks`."""
    return mutant(
        witness, lambda label, wrong: ReferenceEngine(label, tools=Tools(**{tool: wrong}))
    )


def unchanged(vocabulary: Vocabulary) -> Vocabulary:
    """Return the vocabulary as it is."""
    return vocabulary


def by_name(mutants: Iterable[Mutant]) -> dict[str, Mutant]:
    """Return the mutants by name. Raise `ValueError` for a name that is used twice."""
    table: dict[str, Mutant] = {}
    for each in mutants:
        if each.name in table:
            raise ValueError(f"a mutant's name must be unique, {each.name!r} is used twice")
        table[each.name] = each
    return table


# ---- small vocabularies for witnesses


def spelled(
    tokens: str,
    *,
    text: TextRules | None = None,
    special_tokens: Mapping[str, TokenId] | None = None,
    ids: Iterable[TokenId] | None = None,
) -> Vocabulary:
    """Return the vocabulary of these tokens, separated by spaces, ranked as listed.

    >>> dict(spelled("a aa").tokens)
    {0: b'a', 1: b'aa'}
    """
    ranks = {token.encode(): rank for rank, token in enumerate(tokens.split(" "))}
    given = None if ids is None else dict(zip(ranks, ids, strict=True))
    return vocabulary_by_concatenation(ranks, ids=given, text=text, special_tokens=special_tokens)


def paired(tokens: str, merges: str) -> Vocabulary:
    """Return the vocabulary of these tokens and merges, each merge as `left+right`.

    >>> paired("a aa", "a+a").merge(0, 0)
    Merge(rank=0, result=1)
    """
    ids = {token.encode(): number for number, token in enumerate(tokens.split(" "))}
    pairs = [tuple(part.encode() for part in merge.split("+")) for merge in merges.split(" ")]
    return vocabulary_by_pair(ids, [(left, right) for left, right in pairs])


def bytewise(
    pattern: str | None = None,
    *more: bytes,
    whole_piece: bool = False,
    special_tokens: Mapping[str, TokenId] | None = None,
) -> Vocabulary:
    """Return the vocabulary of all bytes, each with its value as id, and some more tokens.

    >>> bytewise(None, b"ab").ids["ab"]
    256
    """
    contents = [*(bytes([byte]) for byte in range(256)), *more]
    return vocabulary_by_concatenation(
        {content: rank for rank, content in enumerate(contents)},
        text=TextRules(pattern, whole_piece=whole_piece),
        special_tokens=special_tokens,
    )


def encode(vocabulary: Vocabulary, content: str | bytes) -> Witness:
    """Return the witness "the tokens of this text"."""
    return Witness(vocabulary, "encode", _text(content))


def count(vocabulary: Vocabulary, content: str | bytes) -> Witness:
    """Return the witness "the number of tokens of this text"."""
    return Witness(vocabulary, "count", _text(content))


def pieces(pattern: str | None, content: str) -> Witness:
    """Return the witness "the pieces of this text, cut by this pattern"."""
    return Witness(bytewise(pattern), "pieces", _text(content))


def decode(vocabulary: Vocabulary, *ids: TokenId, errors: str | None = None) -> Witness:
    """Return the witness "the bytes of these tokens", or the text if `errors` is given."""
    request = {"ids": list(ids)} if errors is None else {"ids": list(ids), "errors": errors}
    return Witness(vocabulary, "decode", request)


def _text(content: str | bytes) -> dict[str, Any]:
    return {"text": content} if isinstance(content, str) else {"bytes": content.hex()}
