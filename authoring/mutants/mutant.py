"""Mutants: the reference with one deliberate mistake each, and a question that shows it.

Fixtures that cannot tell a mutant from the reference would not notice the same
mistake in a real engine.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as dataclass_replace
from functools import partial
from types import ModuleType
from typing import Any, Final, TypeAlias, TypeVar

from bpe_ref import (
    Special,
    TextRules,
    TokenId,
    Tokenizer,
    Vocabulary,
    tokenizer_of,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
)
from bpe_ref.added_tokens import Treatment, any_of
from bpe_ref.decoders.to_bytes import bytes_to_text, decode_bytes
from bpe_ref.models.byte_bpe import ByteBPE, EncodeSymbols, encode_quickly
from tokenref.answers import Answer, Engine, Ok, Refused, Unsupported
from tokenref.engines.reference import (
    PipelineSession,
    ReferenceEngine,
    ReferenceSession,
    Tools,
    with_encoder,
)
from tokenref.subjects import Subject, TokenizerFile, load_subject, read_tokenizer

Prepare: TypeAlias = Callable[[Vocabulary], Vocabulary]

PreparePipeline: TypeAlias = Callable[[Tokenizer], Tokenizer]

Handler: TypeAlias = Callable[[ReferenceSession, str, Mapping[str, Any]], Ok | Refused]
"""Answers a request, given a session of the reference: for mistakes outside the components."""

PipelineHandler: TypeAlias = Callable[[PipelineSession, str, Mapping[str, Any]], Ok | Refused]
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

    description: str
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
class EngineWithHandler(ReferenceEngine):
    """A reference whose requests and answers go through `handle`.

    >>> from tokenref.answers import Ok
    >>> engine = EngineWithHandler(handle=lambda session, op, request: Ok({"count": 7}))
    >>> engine.load(vocabulary_by_concatenation({b"a": 0}), "one").answer("count", {"text": "a"})
    Ok(out={'count': 7})
    """

    handle: Handler = ReferenceSession.answer

    def load(self, vocabulary: Vocabulary, name: str) -> ReferenceSession:
        """Load a vocabulary."""
        right = super().load(vocabulary, name)
        assert isinstance(right, ReferenceSession)  # noqa: S101 - it can load everything
        parts = (right.tokenizer, right.with_stages, right.tools)
        return SessionWithHandler(*parts, handle=self.handle)


@dataclass(frozen=True)
class Remembering(ReferenceSession):
    """A reference that knows some answers already: most mutants ask first what is right."""

    known: Mapping[tuple[str, int], Ok | Refused] = field(default_factory=dict)
    """By the operation and the identity of the request."""

    def answer(self, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        """Answer one request."""
        return self.known.get((op, id(request))) or super().answer(op, request)


@dataclass(frozen=True)
class SessionWithHandler(Remembering):
    """A session of an `EngineWithHandler`. The known answers are those of the reference."""

    handle: Handler = ReferenceSession.answer

    def answer(self, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        """Answer one request."""
        right = Remembering(self.tokenizer, self.with_stages, self.tools, self.known)
        return self.handle(right, op, request)


@dataclass(frozen=True)
class PipelinesWithHandler(ReferenceEngine):
    """A reference whose requests to a whole tokenizer go through what `begin` returns.

    `begin` is called for each session, so sessions share no memory.
    """

    begin: Callable[[], PipelineHandler] = lambda: PipelineSession.answer

    def load_tokenizer(self, content: bytes, name: str, profile: str) -> "PipelineWithHandler":
        """Load a whole tokenizer."""
        right = super().load_tokenizer(content, name, profile)
        assert isinstance(right, PipelineSession)  # noqa: S101 - it loads nothing else
        return PipelineWithHandler(right, self.begin())


def leaves_as_it_is(engine: ReferenceEngine, file: TokenizerFile, profile: str) -> bool:
    """Return whether an engine leaves a tokenizer unchanged, so it answers correctly.

    Only returning the same object counts; False proves nothing.
    """
    if isinstance(engine, PipelinesWithHandler):  # which may change questions or answers
        return False
    tokenizer = read_tokenizer(file.content, file.name, profile)
    return engine.prepare_tokenizer(tokenizer) is tokenizer


@dataclass(frozen=True)
class PipelineWithHandler:
    """A session of `PipelinesWithHandler`."""

    right: PipelineSession
    handle: PipelineHandler

    def answer(self, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        """Answer one request."""
        return self.handle(self.right, op, request)


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
    >>> whole_piece_never.name, whole_piece_never.description
    ('whole-piece-never', 'No piece is taken whole.')
    """

    def declare(wrong: Wrong) -> Mutant:
        name = wrong.__name__.replace("_", "-")
        return Mutant(
            name=name,
            description=" ".join((wrong.__doc__ or "").split()),
            engine=engine(f"mutant {name}", wrong),
            witness=witness,
            ops=None if ops is None else frozenset(ops),
            profiles=None if profiles is None else frozenset(profiles),
        )

    return declare


def named(name: str, description: str, wrong: Wrong) -> Wrong:
    """Return a function with a mutant's name and description, for mutants made in a loop."""
    wrong.__name__, wrong.__doc__ = name, description
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


@dataclass(frozen=True)
class Right:
    """The right functions, which wrong ones build on, by what they replace."""

    encode_symbols: EncodeSymbols = encode_quickly
    decode_bytes: Callable[[Vocabulary, Iterable[TokenId]], bytes] = decode_bytes
    bytes_to_text: Callable[[bytes, str], str] = bytes_to_text

    def whole_piece(self, vocabulary: Vocabulary, piece: bytes) -> TokenId | None:
        """Return the token that a piece becomes without any merge, or None."""
        return ByteBPE(vocabulary, vocabulary.text.whole_piece).whole_token(piece)

    def symbols(self, vocabulary: Vocabulary, piece: bytes) -> list[TokenId]:
        """Return the symbols of a piece."""
        return vocabulary.symbols(piece)

    def normalizer(self, vocabulary: Vocabulary) -> Callable[[str], str]:
        """Return what normalizes text."""
        normalizer = tokenizer_of(vocabulary).normalizer
        return str if normalizer is None else normalizer.normalize_text

    def cutter(self, vocabulary: Vocabulary) -> Callable[[str], list[str]]:
        """Return what cuts normalized text into pieces."""
        cutter = tokenizer_of(vocabulary).pre_tokenizer
        return (lambda text: [text] if text else []) if cutter is None else cutter.cut_text

    def refuse_special(self, text: str, disallowed: frozenset[str]) -> None:
        """Raise `SpecialTokenError` if the text spells one of these."""
        Treatment(frozenset(), disallowed).check(text)

    def split_special(self, text: str, allowed: frozenset[str]) -> Iterator[tuple[str, str | None]]:
        """Yield ordinary stretches, each with the special token that ends it, if any."""
        start = 0
        for found in any_of(allowed).finditer(text):
            yield text[start : found.start()], found.group()
            start = found.end()
        yield text[start:], None


RIGHT: Final = Right()


@dataclass(frozen=True, eq=False)
class _WrongModel(ByteBPE):
    """A model with another way to take pieces whole, or to spell them."""

    whole: Callable[[Vocabulary, bytes], TokenId | None] = RIGHT.whole_piece
    spell: Callable[[Vocabulary, bytes], list[TokenId]] = RIGHT.symbols

    def whole_token(self, piece: bytes) -> TokenId | None:
        """Return what the wrong function returns."""
        return self.whole(self.vocabulary, piece)

    def symbols(self, piece: bytes) -> list[TokenId]:
        """Return what the wrong function returns."""
        return self.spell(self.vocabulary, piece)


@dataclass(frozen=True)
class _WrongText:
    """A normalizer and a pre-tokenizer that know text only."""

    change: Callable[[str], Any]

    def normalize_text(self, text: str) -> str:
        """Return what the wrong function returns."""
        return str(self.change(text))

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        """Return what the wrong function returns."""
        return list(self.change(text))


def _with_wrong(component: str, wrong: Callable[..., Any], tokenizer: Tokenizer) -> Tokenizer:
    """Return a tokenizer of bytes with one component replaced."""
    model = tokenizer.model
    if not isinstance(model, ByteBPE):
        return tokenizer
    known = model.vocabulary, model.whole_piece, model.encode_symbols
    match component:
        case "encode_symbols":
            return tokenizer.replace(model=dataclass_replace(model, encode_symbols=wrong))
        case "whole_piece":
            return tokenizer.replace(model=_WrongModel(*known, whole=wrong))
        case "symbols":
            return tokenizer.replace(model=_WrongModel(*known, spell=wrong))
        case "normalizer":
            return tokenizer.replace(normalizer=_WrongText(wrong(model.vocabulary)))
        case _:
            return tokenizer.replace(pre_tokenizer=_WrongText(wrong(model.vocabulary)))


def _special_by(component: str, wrong: Callable[..., Any]) -> Tools:
    """Return the tools with another way to refuse or to find special tokens."""
    functions: dict[str, Callable[..., Any]] = {
        "refuse_special": RIGHT.refuse_special,
        "split_special": RIGHT.split_special,
        component: wrong,
    }

    def encode(tokenizer: Tokenizer, text: str, special: Special) -> list[TokenId]:
        treatment = tokenizer.treatment(special)
        functions["refuse_special"](text, treatment.refused)
        ids = tokenizer.added.ids
        found: list[TokenId] = []
        stretches = functions["split_special"](text, frozenset(ids) - treatment.ordinary)
        for stretch, special_token in stretches:
            found += tokenizer.encode(stretch, special="ordinary")
            if special_token is not None:
                found.append(ids[special_token])
        return found

    return Tools(special=encode)


def replacing(
    component: str, witness: Witness, *, prepare: Prepare | None = None
) -> Callable[[Callable[..., Any]], Mutant]:
    """Return a decorator: the function replaces a component of the tokenizer."""

    def engine(label: str, wrong: Callable[..., Any]) -> ReferenceEngine:
        vocabulary = prepare or unchanged
        if component in ("decode_bytes", "bytes_to_text"):
            return ReferenceEngine(label, tools=Tools(**{component: wrong}), prepare=vocabulary)
        if component in ("refuse_special", "split_special"):
            return ReferenceEngine(label, tools=_special_by(component, wrong), prepare=vocabulary)
        changed = partial(_with_wrong, component, wrong)
        return ReferenceEngine(label, prepare_tokenizer=changed, prepare=vocabulary)

    return mutant(witness, engine)


def preparing(
    witness: Witness, *, encode_symbols: EncodeSymbols | None = None
) -> Callable[[Prepare], Mutant]:
    """Return a decorator: the function changes the vocabulary when it is loaded.

    Name an encoder if the default one does not read the rule that the function changes.
    """
    encoder = with_encoder(encode_symbols or encode_quickly)
    return mutant(
        witness,
        lambda label, wrong: ReferenceEngine(label, prepare_tokenizer=encoder, prepare=wrong),
    )


def answering(witness: Witness) -> Callable[[Handler], Mutant]:
    """Return a decorator: the function answers requests, given a session of the reference."""
    return mutant(witness, lambda label, wrong: EngineWithHandler(label, handle=wrong))


def replacing_tool(tool: str, witness: Witness) -> Callable[[Callable[..., Any]], Mutant]:
    """Return a decorator: the function replaces a tool of the reference, as `chunks`."""
    return mutant(
        witness,
        lambda label, wrong: ReferenceEngine(label, tools=Tools(**{tool: wrong})),
        ops={"session", *OPS_OF_TOOLS.get(tool, [tool])},
    )


OPS_OF_TOOLS: Final = {
    "append_encoder": ["append"],
    "prepend_encoder": ["prepend"],
    "eager_encoder": ["eager"],
    "interval_counter": ["intervals"],
    "till_limit": ["limit"],
    "decode_bytes": ["decode"],
    "bytes_to_text": ["decode"],
    "is_canonical": ["canonical"],
    "matcher": ["grammar_mask"],
}
"""The operations that use a tool, unless it has the operation's name."""


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
