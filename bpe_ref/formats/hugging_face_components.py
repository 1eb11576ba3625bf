"""Normalizers, pre-tokenizers, post-processors and decoders, from JSON and to JSON.

A component is a JSON object with its type name under "type" and its fields under their names; the
classes have the same fields. So one reader serves them all: it looks up the class, and reads each
field by the type that the class declares.

Which fields may be absent is the library's choice (`_MAY_BE_ABSENT`). Files written before there
were type names may leave out some of these; those are recognised by their fields
(`_KNOWN_BY_FIELDS`).

Where the engine differs
    It ignores fields that it does not know. Where a post-processor or a decoder lacks a field of
    its type, the engine tries the other types, so that a `RobertaProcessing` without `trim_offsets`
    becomes a `BertProcessing`. It also takes a list instead of some objects. All of these are
    errors here.
"""

from collections.abc import Callable, Mapping
from dataclasses import InitVar, fields
from functools import cache
from types import MappingProxyType
from typing import Any, Final, get_type_hints

from bpe_ref.components import by_name
from bpe_ref.decoders import DECODERS
from bpe_ref.errors import VocabularyError, VocabularyFileError
from bpe_ref.formats.json_nodes import Node
from bpe_ref.normalizers.bert import BertNormalizer
from bpe_ref.normalizers.normalization_forms import NFC, NFD, NFKC, NFKD
from bpe_ref.normalizers.precompiled import Precompiled
from bpe_ref.normalizers.replacing import Prepend, Replace
from bpe_ref.normalizers.rewriting import ByteLevel as ByteLevelNormalizer
from bpe_ref.normalizers.rewriting import Lowercase, Nmt
from bpe_ref.normalizers.sequence import Sequence as NormalizerSequence
from bpe_ref.normalizers.stripping import Strip, StripAccents
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.post_processors import POST_PROCESSORS
from bpe_ref.post_processors.templates import SequencePiece, SpecialPiece, SpecialToken
from bpe_ref.pre_tokenizers import character_classes as classes
from bpe_ref.pre_tokenizers import split_by_pattern as splits
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.metaspace import Metaspace
from bpe_ref.pre_tokenizers.sequence import Sequence
from bpe_ref.pre_tokenizers.unicode_scripts import UnicodeScripts
from bpe_ref.quirks import Quirks
from bpe_ref.vocabulary.merges import ID_LIMIT

DEEPEST: Final = 100
"""The most sequences that may be nested in one another."""


KINDS: Final[Mapping[str, Mapping[str, type]]] = MappingProxyType(
    {
        "normalizer": by_name(
            *(BertNormalizer, ByteLevelNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, Nmt),
            *(Precompiled, Prepend, Replace, NormalizerSequence, Strip, StripAccents),
        ),
        "pre_tokenizer": by_name(
            *(classes.BertPreTokenizer, ByteLevel, splits.CharDelimiterSplit, classes.Digits),
            *(splits.FixedLength, Metaspace, classes.Punctuation, Sequence, splits.Split),
            *(UnicodeScripts, classes.Whitespace, classes.WhitespaceSplit),
        ),
        "post_processor": POST_PROCESSORS,
        "decoder": DECODERS,
    }
)
"""The classes of each kind of component by type name; the kind is the file's key for it."""

_NOT_IN_FILES: Final = frozenset({"quirks", "errors", "joins_over_special"})
"""Fields of components that say how an engine reads them, and are no part of the format."""

_LISTS: Final = MappingProxyType(
    {
        "normalizers": "normalizer",
        "pretokenizers": "pre_tokenizer",
        "processors": "post_processor",
        "decoders": "decoder",
    }
)
"""The fields that hold a list of components, and of which kind."""

_MAY_BE_ABSENT: Final = MappingProxyType(
    {
        "BertNormalizer": {"strip_accents"},
        "ByteLevel": {"use_regex"},
        "Metaspace": {"prepend_scheme", "split", "add_prefix_space", "str_rep"},
        "Punctuation": {"behavior"},
        "FixedLength": {"length"},
    }
)

_ALIASES: Final = MappingProxyType({"Bert": "BertNormalizer"})

_KNOWN_BY_FIELDS: Final = MappingProxyType(
    {
        "normalizer": ("BertNormalizer", "Strip", "Sequence", "Precompiled", "Replace", "Prepend"),
        "pre_tokenizer": (),
        "post_processor": ("RobertaProcessing", "BertProcessing", "TemplateProcessing"),
        "decoder": ("BPEDecoder", "Replace", "Strip", "WordPiece"),
    }
)
"""The types whose name may be missing."""

_REFUSED: Final = MappingProxyType({("decoder", "CTC"): "is for speech and is not supported"})


def read_component(node: Node, kind: str, quirks: Quirks, depth: int = 0) -> Any:
    """Return the component of that kind that a JSON value describes, or None for null.

    Raises `VocabularyFileError` if it describes none.

    >>> from bpe_ref.quirks import STRICT
    >>> read_component(Node({"type": "Fuse"}, "x.json"), "decoder", STRICT)
    Fuse()
    """
    if node.value is None and depth == 0:
        return None
    if depth > DEEPEST:
        raise VocabularyFileError(
            f"{node.source}: {kind} must have at most {DEEPEST} sequences in one another, "
            "it has more"
        )
    name = _type_name(node, kind)
    component = KINDS[kind][name]
    declared = _declared(component)
    absent = _MAY_BE_ABSENT.get(name, set())
    node.only(set(declared) - absent, absent | {"type"})
    arguments = {
        key: _read_field(node.field(key), key, hint, quirks, depth)
        for key, hint in declared.items()
        if key in node.value
    }
    if any(field.name == "quirks" for field in fields(component)):
        arguments["quirks"] = quirks
    with node.located():
        return component(**arguments)


def write_component(component: object, kind: str) -> dict[str, Any] | None:
    """Return the JSON value that describes a component.

    Raises `VocabularyError` for one that the format does not have.

    >>> from bpe_ref.decoders import BPEDecoder
    >>> write_component(BPEDecoder("_"), "decoder")
    {'type': 'BPEDecoder', 'suffix': '_'}
    """
    if component is None:
        return None
    names = (name for name, known in KINDS[kind].items() if known is type(component))
    name = next(names, None)
    if name is None:
        raise VocabularyError(f"a tokenizer.json has no {kind} {type(component).__name__}")
    content: dict[str, Any] = {"type": name}
    for field in fields(component):  # type: ignore[arg-type]  # all components are dataclasses
        if field.name not in _NOT_IN_FILES:
            content[field.name] = _write_value(getattr(component, field.name), field.name)
    return content


def _type_name(node: Node, kind: str) -> str:
    """Return the type of a component, in the table's words."""
    known = KINDS[kind]
    given = node.fields()
    if "type" in given:
        name = node.field("type").text()
        if kind == "normalizer":
            name = _ALIASES.get(name, name)
        if (kind, name) in _REFUSED:
            node.field("type").fail(f"must be a type for text, {name} {_REFUSED[kind, name]}")
        return node.field("type").choice(tuple(known)) if name not in known else name
    for name in _KNOWN_BY_FIELDS[kind]:
        declared = set(_declared(known[name]))
        if given.keys() <= declared and declared - _MAY_BE_ABSENT.get(name, set()) <= given.keys():
            return name
    return node.fail("must have the key 'type'")


@cache
def _declared(component: type) -> Mapping[str, Any]:
    """Return the fields of a component, and their types."""
    hints = get_type_hints(component)
    return {
        name: hint.type if isinstance(hint, InitVar) else hint
        for name, hint in hints.items()
        if name not in _NOT_IN_FILES
    }


def _read_field(node: Node, key: str, hint: object, quirks: Quirks, depth: int) -> Any:
    if key in _LISTS:
        return tuple(
            read_component(element, _LISTS[key], quirks, depth + 1) for element in node.elements()
        )
    if key in _READERS:
        return _READERS[key](node)
    if hint in (bool | None, str | None) and node.value is None:
        return None
    return _READER_OF_TYPE[hint](node)


def _pattern(node: Node) -> Literal | Regex:
    """Return a pattern: literal text, or a regular expression that can be used."""
    match node.value:
        case {"String": str(text), **others} if not others:
            return Literal(text)
        case {"Regex": str(source), **others} if not others:
            pattern = Regex(source)
            with node.located():
                pattern.compile()
            return pattern
    return node.fail('must be {"String": ...} or {"Regex": ...}')


def _named_id(node: Node) -> tuple[str, int]:
    elements = node.elements()
    if len(elements) != 2:
        node.fail("must be a token and its id")
    return elements[0].text(), elements[1].whole(ID_LIMIT)


def _template(node: Node) -> tuple[SequencePiece | SpecialPiece, ...]:
    return tuple(map(_piece, node.elements()))


def _piece(node: Node) -> SequencePiece | SpecialPiece:
    names = node.fields().keys()
    if names == {"Sequence"}:
        inner = node.field("Sequence")
        inner.only({"id", "type_id"}, set())
        return SequencePiece(
            inner.field("id").choice(("A", "B")), inner.field("type_id").whole(ID_LIMIT)
        )
    if names == {"SpecialToken"}:
        inner = node.field("SpecialToken")
        inner.only({"id", "type_id"}, set())
        return SpecialPiece(inner.field("id").text(), inner.field("type_id").whole(ID_LIMIT))
    return node.fail('must be {"Sequence": ...} or {"SpecialToken": ...}')


def _special_tokens(node: Node) -> dict[str, SpecialToken]:
    return {key: _special_token(entry) for key, entry in node.entries().items()}


def _special_token(node: Node) -> SpecialToken:
    """Return what a template's table says about a name."""
    node.only({"id", "ids", "tokens"}, set())
    ids = tuple(element.whole(ID_LIMIT) for element in node.field("ids").elements())
    tokens = tuple(element.text() for element in node.field("tokens").elements())
    with node.located():
        return SpecialToken(node.field("id").text(), ids, tokens)


_READERS: Final[Mapping[str, Callable[[Node], Any]]] = MappingProxyType(
    {
        "pattern": _pattern,
        "sep": _named_id,
        "cls": _named_id,
        "single": _template,
        "pair": _template,
        "special_tokens": _special_tokens,
    }
)
"""How fields are read that are no plain values, by name."""

_READER_OF_TYPE: Final[Mapping[Any, Callable[[Node], Any]]] = MappingProxyType(
    {
        str: Node.text,
        bool: Node.flag,
        int: lambda node: node.whole(1 << 64),
        str | None: Node.text,
        bool | None: Node.flag,
    }
)
"""How the other fields are read, by the type that the class declares."""


def _write_value(value: Any, key: str) -> Any:
    if key in _LISTS:
        return [write_component(element, _LISTS[key]) for element in value]
    if isinstance(value, Literal | Regex):
        kind = "String" if isinstance(value, Literal) else "Regex"
        return {kind: value.text if isinstance(value, Literal) else value.source}
    if key in {"single", "pair"}:
        return [_write_piece(piece) for piece in value]
    if key == "special_tokens":
        return {
            name: {"id": token.id, "ids": list(token.ids), "tokens": list(token.tokens)}
            for name, token in value.items()
        }
    return list(value) if isinstance(value, tuple) else value


def _write_piece(piece: SequencePiece | SpecialPiece) -> dict[str, Any]:
    kind = "Sequence" if isinstance(piece, SequencePiece) else "SpecialToken"
    return {kind: {"id": piece.id, "type_id": piece.type_id}}
