"""Read `tokenizer.json`, the file format of Hugging Face tokenizers.

Definition
    A JSON object with the keys `version` ("1.0"), `truncation`, `padding`, `added_tokens`,
    `normalizer`, `pre_tokenizer`, `post_processor`, `decoder` and `model`. All may be missing but
    the model. What they hold is described where it is read, here and in `hugging_face_components`.

    A model has a "type" and a `vocab`. The types and their other fields:

    BPE        `merges`: pairs of tokens `["a", "b"]`, or all of them texts `"a b"`, as files
               had it before 2024. All other fields may be missing or null.
    WordPiece  `unk_token`, `continuing_subword_prefix`, `max_input_chars_per_word`
    WordLevel  `unk_token`
    Unigram    `unk_id` and `byte_fallback`, which may be missing. Its `vocab` is a list of
               tokens with their scores; that of the others leads from token to id.

    Without a "type", a model is the first of these types of which it has all required fields.

Source: tokenizer/serialization.rs, models/*/serialization.rs and models/mod.rs of Hugging Face
tokenizers 0.23.3.

What the source leaves open
    *Merges as text* that start with `#version`: see `Quirks.version_lines_dropped`.
    *Null* is refused by the library for `version` and `added_tokens`.

Where the engine differs
    It does not see unknown keys of a model and of an added token, and keys that come twice; here
    they are errors, as is everything that is not understood. A model without a type that has
    `unk_id` must be a Unigram model. Of a score with more than 15 digits, the engine divides the
    digits, rounded to a float, by a power of ten. About an eighth of the scores that need 17 digits
    are off by one unit in the last place then, and paths with nearly equal sums may be others. Here
    scores are read exactly.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from bpe_ref.added_tokens import AddedToken, AddedTokens
from bpe_ref.components import Model
from bpe_ref.formats.files import located, no_collection
from bpe_ref.formats.hugging_face_components import read_component
from bpe_ref.formats.json_nodes import Node, parse_json
from bpe_ref.models.bpe import BPE
from bpe_ref.models.unigram import Unigram
from bpe_ref.models.word_level import WordLevel
from bpe_ref.models.word_piece import WordPiece
from bpe_ref.post_processors.padding import Padding
from bpe_ref.post_processors.truncation import DIRECTIONS, STRATEGIES, Truncation
from bpe_ref.quirks import HUGGING_FACE, Quirks
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary.merges import ID_LIMIT

VERSION: Final = "1.0"
"""The only version of the format."""

_SECTIONS: Final = {
    *("version", "truncation", "padding", "added_tokens"),
    *("normalizer", "pre_tokenizer", "post_processor", "decoder"),
}
_TOKEN_FLAGS: Final = ("single_word", "lstrip", "rstrip", "normalized", "special")
_LENGTH_LIMIT: Final = 1 << 64


@no_collection()
def parse_tokenizer_json(
    data: bytes | Node, source: str, quirks: Quirks = HUGGING_FACE, name: str = ""
) -> Tokenizer:
    """Return the tokenizer that is the content of a file; `source` names it in errors.

    It has the name `name`, or else that of the file.

    Raises `VocabularyFileError`.

    >>> data = b'{"model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}'
    >>> parse_tokenizer_json(data, "x.json").encode("abba")
    [2, 1, 0]
    """
    root = parse_json(data, source)
    root.only({"model"}, _SECTIONS)
    sections = root.entries()
    if "version" in sections and sections["version"].text() != VERSION:
        sections["version"].fail(f"must be {VERSION!r}")
    components = {
        kind: read_component(sections[kind], kind, quirks)
        for kind in ("normalizer", "pre_tokenizer", "post_processor", "decoder")
        if kind in sections
    }
    added_tokens = sections["added_tokens"].elements() if "added_tokens" in sections else []
    with located(f"{source}: added_tokens: "):
        return Tokenizer(
            model=_model(sections["model"], quirks),
            added_tokens=AddedTokens(tuple(map(_added_token, added_tokens)), quirks),
            truncation=_truncation(sections.get("truncation"), quirks),
            padding=_padding(sections.get("padding")),
            name=name or source,
            **components,
        )


def _scored(node: Node) -> tuple[str, float]:
    if not isinstance(node.value, list) or len(node.value) != 2:
        node.fail("must be a token and its score")
    text, score = node.value
    if isinstance(text, str) and type(score) is float:
        return text, score
    token, number = node.elements()
    return token.text(), number.number()


MODELS: Final[Mapping[str, type[Model]]] = MappingProxyType(
    {"BPE": BPE, "WordPiece": WordPiece, "WordLevel": WordLevel, "Unigram": Unigram}
)
"""The class of each type of model; a file has their fields in the order of `FIELDS`."""

FIELDS: Final = MappingProxyType(
    {
        "BPE": (
            *("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"),
            *("fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"),
        ),
        "WordPiece": (
            *("unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"),
        ),
        "WordLevel": ("vocab", "unk_token"),
        "Unigram": ("unk_id", "vocab", "byte_fallback"),
    }
)
_MAY_BE_NULL: Final = {"BPE": {*FIELDS["BPE"]} - {"vocab", "merges"}, "Unigram": {"unk_id"}}
_MAY_BE_ABSENT: Final = {"BPE": _MAY_BE_NULL["BPE"], "Unigram": {"unk_id", "byte_fallback"}}


def _model(node: Node, quirks: Quirks) -> Model:
    name = _model_type(node)
    absent = _MAY_BE_ABSENT.get(name, set[str]())
    node.only({*FIELDS[name]} - absent, {"type", *absent})
    options: dict[str, Any] = {"quirks": quirks} if name == "BPE" else {}
    for key in FIELDS[name]:
        if key not in node.value or (
            node.value[key] is None and key in _MAY_BE_NULL.get(name, set[str]())
        ):
            continue
        entry = node.field(key)
        if key == "vocab" and name == "Unigram":
            options["pieces"] = [_scored(element) for element in entry.elements()]
        else:
            options[key] = _merges(entry, quirks) if key == "merges" else _READERS[key](entry)
    with located(f"{node.source}: model."):
        return MODELS[name](**options)


def _model_type(node: Node) -> str:
    """Return the type of a model, recognised by its fields if it has no "type"."""
    given = node.fields()
    if "type" in given:
        return node.field("type").choice(tuple(MODELS))
    for name in ["Unigram"] if "unk_id" in given else MODELS:
        if {*FIELDS[name]} - _MAY_BE_ABSENT.get(name, set[str]()) <= given.keys():
            return name
    return node.fail(f"must have the key 'type', one of {', '.join(MODELS)}")


def _vocab(node: Node) -> dict[str, int]:
    vocab = node.fields()
    if not all(type(id_) is int and 0 <= id_ < ID_LIMIT for id_ in vocab.values()):
        for entry in node.entries().values():
            entry.whole(ID_LIMIT)
    return vocab


_READERS: Final[Mapping[str, Callable[[Node], Any]]] = MappingProxyType(
    {
        "vocab": _vocab,
        "dropout": Node.number,
        **dict.fromkeys(("fuse_unk", "byte_fallback", "ignore_merges"), Node.flag),
        **dict.fromkeys(
            ("unk_token", "continuing_subword_prefix", "end_of_word_suffix"), Node.text
        ),
        **dict.fromkeys(("unk_id", "max_input_chars_per_word"), lambda n: n.whole(_LENGTH_LIMIT)),
    }
)
"""How the fields of models are read, but for merges, and the scores of Unigram."""


def _merges(node: Node, quirks: Quirks) -> Sequence[tuple[str, str]]:
    """Return the pairs that merge; unlike a list, a tuple is searched for garbage only once."""
    merges = node.value
    if not isinstance(merges, list):
        node.fail("must be a list")
    if merges and isinstance(merges[0], str):
        return _merges_of_text(node, quirks)
    pairs: list[tuple[str, str]] = []
    for pair in merges:
        if type(pair) is not list or len(pair) != 2 or not (type(pair[0]) is type(pair[1]) is str):
            node.elements()[len(pairs)].fail("must be a pair of tokens")
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)


def _merges_of_text(node: Node, quirks: Quirks) -> Sequence[tuple[str, str]]:
    """Return the pairs that merge, from `"a b"`."""
    lines: list[str] = []
    for number, line in enumerate(node.value):
        if not isinstance(line, str):
            node.elements()[number].fail("must be text, as the first one is")
        if line.startswith("#version") and quirks.version_lines_dropped:
            continue
        if line.count(" ") != 1:
            node.elements()[number].fail("must be two tokens with one space between them")
        lines.append(line)
    tokens = iter(" ".join(lines).split(" "))
    return tuple(zip(tokens, tokens, strict=False))


def _added_token(node: Node) -> AddedToken:
    fields = node.fields()
    if fields.keys() != {"id", "content", *_TOKEN_FLAGS}:
        node.only({"id", "content", *_TOKEN_FLAGS}, set())
    flags = {
        flag: fields[flag] if isinstance(fields[flag], bool) else node.field(flag).flag()
        for flag in _TOKEN_FLAGS
    }
    return AddedToken(
        content=node.field("content").text(), id=node.field("id").whole(ID_LIMIT), **flags
    )


def _truncation(node: Node | None, quirks: Quirks) -> Truncation | None:
    if node is None or node.value is None:
        return None
    node.only({"max_length", "strategy", "stride"}, {"direction"})
    return Truncation(
        max_length=node.field("max_length").whole(_LENGTH_LIMIT),
        stride=node.field("stride").whole(_LENGTH_LIMIT),
        strategy=node.field("strategy").choice(STRATEGIES),
        direction=node.field("direction").choice(DIRECTIONS)
        if "direction" in node.value
        else "Right",
        quirks=quirks,
    )


def _padding(node: Node | None) -> Padding | None:
    if node is None or node.value is None:
        return None
    node.only(
        {"strategy", "direction", "pad_id", "pad_type_id", "pad_token"}, {"pad_to_multiple_of"}
    )
    strategy = node.field("strategy")
    length = None
    if strategy.value != "BatchLongest":
        if not isinstance(strategy.value, dict) or strategy.value.keys() != {"Fixed"}:
            strategy.fail('must be "BatchLongest" or {"Fixed": ...}')
        length = strategy.field("Fixed").whole(_LENGTH_LIMIT)
    multiple = None
    if node.value.get("pad_to_multiple_of") is not None:
        multiple = node.field("pad_to_multiple_of").whole(_LENGTH_LIMIT)
    return Padding(
        length=length,
        direction=node.field("direction").choice(DIRECTIONS),
        pad_to_multiple_of=multiple,
        pad_id=node.field("pad_id").whole(ID_LIMIT),
        pad_type_id=node.field("pad_type_id").whole(ID_LIMIT),
        pad_token=node.field("pad_token").text(),
    )
