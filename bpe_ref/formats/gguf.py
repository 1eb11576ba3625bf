"""GGUF, the file format of llama.cpp: the tokenizer in its metadata.

Definition
    A file begins with `GGUF`, the version (2 or 3), the number of tensors, and the number of
    keys. Then each key has a name, a type and a value, which is a number, a flag, text, or a
    list. All numbers are little-endian. Tensors follow, which are not read.

    tokenizer.ggml.model       "gpt2" (BPE over bytes), "gemma4" (BPE over characters), "llama"
                               (SentencePiece BPE), "bert" (WordPiece) or "t5" (unigram)
    tokenizer.ggml.tokens      the strings of the tokens; the id is the place in the list
    tokenizer.ggml.token_type  1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
    tokenizer.ggml.scores      of "llama" and "t5"
    tokenizer.ggml.merges      of "gpt2" and "gemma4": texts `"a b"`, the first one first
    tokenizer.ggml.pre         of "gpt2": the name of a pre-tokenizer; see `data/llama_cpp.json`
    tokenizer.ggml.bos_token_id, eos_token_id, add_bos_token, add_eos_token, add_space_prefix
    tokenizer.ggml.unknown_token_id, seperator_token_id, normalizer.lowercase,
    normalizer.strip_accents   of "bert"
    tokenizer.ggml.precompiled_charsmap, remove_extra_whitespaces
                               of "t5"

How text is tokenized
    Control, unknown and user-defined tokens that the text spells are cut out first. For "llama",
    each stretch between them gets a space in front, unless `add_space_prefix` is false. For
    "gpt2", each pattern of the pre-tokenizer cuts the pieces of the one before. If the name of
    the model contains phi-3, all these tokens but `<unk>`, `<s>` and `<|endoftext|>` take the
    white space behind them. For "gemma4", spaces become `▁`, and lines are cut from line ends.
    For "bert", accents and control characters go, letters become small, and words are separated by
    white space, punctuation, ASCII symbols and Chinese characters. The first token of a word begins
    with `▁`, the others have no mark, and a word has no greatest length. For "t5", the text is
    normalized as SentencePiece does, and divided as by a Unigram model of tokenizers.

Source: docs/gguf.md of ggml-org/ggml; src/llama-vocab.cpp of llama.cpp, as vendored by the sdist of
llama-cpp-python 0.3.36.

What the source leaves open, and what holds here
    *Patterns* are matched as they are written. llama.cpp matches some of them by code of its own,
    and others with all letters beyond ASCII replaced by one, so that it differs in places.
    *Flags that are missing* are those of the pre-tokenizer's name for "gpt2"; for "llama", BOS is
    added and EOS is not. Without their ids, BOS and EOS are 11 for "gpt2", and 1 and 2 for "llama".
    *Control tokens* come from no text once they are cut out. llama.cpp merges ordinary text into
    `<s>` if there are tokens to make it of.
    *Accents* of "bert" go as there: of a character that is decomposed, only the first part is kept.
    So a Korean syllable becomes its first consonant. A text always gets BOS and the separator; the
    flags mean nothing, and the ids are 101 and 102 if they are missing, that of unknown words 100.
    *Scores of "t5"*: those of user-defined tokens count as 0. An unknown character has the lowest
    score of the normal ones minus 10, which is rounded to 32 bits there. `▁` at the end of a text
    goes as a space does. EOS is added unless a flag says no, BOS only if one says so.
    *Empty tokens* are called `[EMPTY_7]` by their ids, as there.
    *Line ends of "gemma4"* merge. There, several that are together a token are taken whole; no text
    was found for which that is another answer.
    *Tokens of certain names*, such as `<|im_end|>`, are control tokens, and a few are user-defined
    ones, whatever the file says, as there.
    *Unused tokens* are made like normal ones, as there.
    *Several unknown tokens*, for "llama": the first one stands for what no token stands for.
    *What is refused*: other models, unknown names of pre-tokenizers and those that stand for code
    instead of patterns, version 1, files for big-endian machines, text that is not UTF-8, and
    metadata beyond the first 64 MiB.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from struct import Struct
from types import MappingProxyType
from typing import Any, Final, NoReturn

from bpe_ref.added_tokens import AddedToken, AddedTokens
from bpe_ref.data import document
from bpe_ref.decoders import ByteFallback, DecoderSequence, Fuse, Replace, Strip
from bpe_ref.decoders import ByteLevel as ByteLevelDecoder
from bpe_ref.decoders.sentencepiece import SentencePieceDecoder
from bpe_ref.errors import VocabularyFileError, shown
from bpe_ref.formats.files import as_text, located
from bpe_ref.formats.sentencepiece import KINDS
from bpe_ref.models.bpe import BPE
from bpe_ref.models.sentencepiece import Piece, PieceKind, SentencePieceModel
from bpe_ref.models.unigram import Unigram
from bpe_ref.models.word_piece import WordPiece
from bpe_ref.normalizers.charsmap import Charsmap
from bpe_ref.normalizers.normalization_forms import NFD
from bpe_ref.normalizers.replacing import Replace as ReplaceText
from bpe_ref.normalizers.rewriting import Lowercase
from bpe_ref.normalizers.sentencepiece import (
    NormalizationRules,
    SentencePieceNormalizer,
    UserDefined,
)
from bpe_ref.normalizers.sequence import Sequence as Normalizers
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.post_processors import TemplateProcessing, framed
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.character_classes import WhitespaceSplit
from bpe_ref.pre_tokenizers.metaspace import Metaspace
from bpe_ref.pre_tokenizers.sequence import Sequence as PreTokenizers
from bpe_ref.pre_tokenizers.split_by_pattern import Split
from bpe_ref.quirks import STRICT
from bpe_ref.tokenizer import Tokenizer

MAGIC: Final = b"GGUF"

MOST_TOKENS: Final = 1 << 21
"""The most tokens of a file; the largest known vocabularies have an eighth of them."""

_PREFIX: Final = "tokenizer.ggml."
_VERSIONS: Final = (2, 3)
_FLAG: Final = 7
_TEXT: Final = 8
_LIST: Final = 9
_NUMBERS: Final[Mapping[int, str]] = MappingProxyType(
    {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", _FLAG: "?", 10: "Q", 11: "q", 12: "d"}
)
"""The format of each type of number, as `struct` writes it."""

_KINDS: Final[Mapping[int, PieceKind]] = MappingProxyType({**KINDS, 5: "normal"})
_CUT_OUT: Final = frozenset({"unknown", "control", "user-defined"})
_KEEP_SPACES: Final = frozenset({"<unk>", "<s>", "<|endoftext|>"})
_SPACE: Final = "\u2581"
_GPT2_IDS: Final = (11, 11)  # of BOS and EOS
_LLAMA_IDS: Final = (1, 2)
_NAMES: Final = MappingProxyType(
    {bool: "true or false", int: "a whole number", str: "text", list: "a list of texts"}
)
_T5_IDS: Final = (-1, 1)
_T5_UNKNOWN: Final = 2
_LONGEST_WORD: Final = 1 << 62
_HANGUL: Final = tuple(
    (chr(0xAC00 + 588 * number), chr(0xAC00 + 588 * number + 587), chr(0x1100 + number))
    for number in range(19)
)
"""The first and the last syllable with each initial consonant, and the consonant."""

_WORDS_ALONE: Final = (
    r"\p{P}$+<=>\^`|~\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}"
    r"\x{2B740}-\x{2B81F}\x{2B920}-\x{2CEAF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}"
)
"""The characters that are words of their own."""

_CLEANED: Final = ((" (?=[?!.,])", ""), (" ' ", "'"), (" (?='(?:s|m|re|ve))", ""))
_CODE: Final = frozenset({"kimi-k2", "afmoe"})


def parse_gguf(data: bytes, source: str) -> Tokenizer:
    """Return the tokenizer in the beginning of a file; `source` names it in errors.

    Raises `VocabularyFileError`.

    >>> parse_gguf(b"GGUF" + bytes([3, 0, 0, 0]) + bytes(16), "x.gguf")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: x.gguf must have the key tokenizer.ggml.model, it has none
    """
    metadata = _Metadata(_read_metadata(data, source), source)
    model = metadata.text("model")
    if model not in _MODELS:
        metadata.fail("model", f"must be one of {', '.join(_MODELS)}", model)
    with located(f"{source}: "):
        return _MODELS[model](metadata)


# ---- the file


def _read_metadata(data: bytes, source: str) -> dict[str, Any]:
    """Return the values of the keys that concern tokens, and the name of the model."""
    reader = _Reader(data, source, len(MAGIC))
    version = reader.number("I")
    if version not in _VERSIONS:
        big = int.from_bytes(data[4:8], "big") in _VERSIONS
        what = "written for a big-endian machine" if big else f"of version {version}"
        raise VocabularyFileError(f"{source} must be a GGUF file of version 2 or 3, it is {what}")
    reader.number("Q")  # of tensors
    values: dict[str, Any] = {}
    for _ in range(reader.number("Q")):
        key = reader.text()
        value = reader.value(reader.number("I"), wanted=key.startswith(_PREFIX))
        if key in values:
            raise VocabularyFileError(f"{source} must have the key {shown(key)} once only")
        if key.startswith(_PREFIX) or key == "general.name":
            values[key] = value
    return values


class _Reader:
    """Reads values one after the other.

    Invariant: every number of values is compared with the bytes that are left before anything is
    made of it. So time and memory are in proportion to the data.
    """

    def __init__(self, data: bytes, source: str, at: int) -> None:
        self.data = data
        self.source = source
        self.at = at

    def take(self, size: int) -> bytes:
        start = self.at
        if size > len(self.data) - start:
            raise VocabularyFileError(
                f"{self.source}, byte {start}: {size} bytes must follow, "
                f"but {len(self.data) - start} are left of the {len(self.data)} that are read"
            )
        self.at += size
        return self.data[start : self.at]

    def number(self, kind: str) -> Any:
        form = Struct(f"<{kind}")
        return form.unpack(self.take(form.size))[0]

    def text(self) -> str:
        start = self.at
        return as_text(self.take(self.number("Q")), f"{self.source}, the text at byte {start}")

    def value(self, kind: int, *, wanted: bool) -> Any:
        """Return a value of a type; of a list that is not wanted, None."""
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _TEXT:
            return self.text()
        if kind != _LIST:
            raise VocabularyFileError(
                f"{self.source}, byte {self.at}: the type of a value must be from 0 to 12, "
                f"got {kind}"
            )
        inner, count = self.number("I"), self.number("Q")
        if inner in _NUMBERS:
            form = _NUMBERS[inner]
            content = self.take(count * Struct(f"<{form}").size)
            return _numbers(form, content) if wanted else None
        if inner != _TEXT:
            raise VocabularyFileError(
                f"{self.source}, byte {self.at}: a list must be of numbers or texts, "
                f"got the type {inner}"
            )
        texts = (self.text() for _ in range(count))  # an endless count ends with the data
        return list(texts) if wanted else sum(0 for _ in texts)


def _numbers(form: str, content: bytes) -> Sequence[Any]:
    if form == "?":
        return [byte != 0 for byte in content]
    numbers: array[Any] = array(form)
    numbers.frombytes(content)
    if Struct("=I").pack(1) != Struct("<I").pack(1):
        numbers.byteswap()
    return numbers


# ---- what the keys say


@dataclass(frozen=True)
class _Metadata:
    """The values of the keys, and the checks of what they are."""

    values: Mapping[str, Any]
    source: str

    def fail(self, key: str, rule: str, value: object) -> NoReturn:
        raise VocabularyFileError(f"{self.source}: {_PREFIX}{key} {rule}, got {shown(value)}")

    def missing(self, key: str) -> NoReturn:
        raise VocabularyFileError(f"{self.source} must have the key {_PREFIX}{key}, it has none")

    def get(self, key: str, kind: type, default: Any) -> Any:
        """Return a value of a type, or the default if there is none."""
        value = self.values.get(_PREFIX + key, default)
        if value is not default and type(value) is not kind:
            self.fail(key, f"must be {_NAMES[kind]}", value)
        return value

    def text(self, key: str) -> str:
        """Return text, which must be there."""
        if _PREFIX + key not in self.values:
            self.missing(key)
        found: str = self.get(key, str, None)
        return found

    def numbers(self, key: str, default: float) -> Sequence[float]:
        """Return a list of numbers, one for each token."""
        count = len(self.tokens)
        found = self.values.get(_PREFIX + key)
        if found is None:
            return [default] * count
        if not isinstance(found, array) or len(found) < count:
            self.fail(key, f"must be a list of {count} numbers, one for each token", found)
        return found[:count]

    @cached_property
    def tokens(self) -> list[str]:
        """The strings of the tokens, which must all be different."""
        listed: list[str] | None = self.get("tokens", list, None)
        if listed is None:
            self.missing("tokens")
        if len(listed) > MOST_TOKENS:
            self.fail("tokens", f"must be at most {MOST_TOKENS} texts", len(listed))
        tokens = [text or f"[EMPTY_{token}]" for token, text in enumerate(listed)]
        first: dict[str, int] = {}
        for token, text in enumerate(tokens):
            if first.setdefault(text, token) != token:
                self.fail("tokens", f"must be different, but {first[text]} and {token} are", text)
        return tokens

    @cached_property
    def vocab(self) -> dict[str, int]:
        """The ids of the tokens by their strings."""
        return {text: token for token, text in enumerate(self.tokens)}

    def merges(self) -> list[tuple[str, str]]:
        """Return the merges: each is two tokens that the first space behind a character divides."""
        merges: list[tuple[str, str]] = []
        for rank, text in enumerate(self.get("merges", list, [])):
            at = text.find(" ", 1) if isinstance(text, str) else -1
            if at < 0:
                self.fail(f"merges[{rank}]", "must be two tokens and a space", text)
            merges.append((text[:at], text[at + 1 :]))
        return merges

    @cached_property
    def kinds(self) -> list[PieceKind]:
        """The kind of each token."""
        kinds = [_KINDS.get(int(kind), "normal") for kind in self.numbers("token_type", 1)]
        named: dict[PieceKind, list[str]] = document("llama_cpp")["kinds"]
        for kind, texts in named.items():
            for text in texts:
                if text in self.vocab:
                    kinds[self.vocab[text]] = kind
        return kinds

    def added_tokens(self) -> AddedTokens:
        """Return the tokens that are cut out of a text."""
        name = str(self.values.get("general.name", "")).lower()
        takes_spaces = "phi-3" in name or "phi3" in name
        return AddedTokens(
            tuple(
                AddedToken(
                    text,
                    normalized=False,
                    special=kind != "user-defined",
                    rstrip=takes_spaces and text not in _KEEP_SPACES,
                    id=token,
                )
                for token, (text, kind) in enumerate(zip(self.tokens, self.kinds, strict=True))
                if kind in _CUT_OUT
            ),
            quirks=STRICT,
        )

    def token(self, name: str, default: int) -> tuple[str, int]:
        """Return a token with a name, and its id, which must be there."""
        key = f"{name}_token_id"
        token: int = self.get(key, int, default)
        if not 0 <= token < len(self.tokens):
            self.fail(key, f"must be the id of a token, below {len(self.tokens)}", token)
        return self.tokens[token], token

    def charsmap(self) -> Charsmap | None:
        """Return the map of characters, if there is one."""
        key = "precompiled_charsmap"
        content = self.values.get(_PREFIX + key, array("B"))
        if not isinstance(content, array) or content.itemsize != 1:
            self.fail(key, "must be a list of bytes", content)
        return Charsmap(content.tobytes()) if content else None

    def frame(
        self, ids: tuple[int, int], *, adds_bos: bool, adds_eos: bool = False
    ) -> TemplateProcessing | None:
        """Return the template that adds BOS and EOS, given the defaults."""
        before = self.get("add_bos_token", bool, adds_bos)
        behind = self.get("add_eos_token", bool, adds_eos)
        bos = [self.token("bos", ids[0])] if before else []
        eos = [self.token("eos", ids[1])] if behind else []
        return framed((bos, eos)) if bos or eos else None


_UNNAMED: Final = (
    f"does not name its pre-tokenizer ({_PREFIX}pre), so it cuts texts as the one called default, "
    "probably not as the model does; llama.cpp warns, too: convert the model again"
)


def _gpt2(metadata: _Metadata) -> Tokenizer:
    """Return the tokenizer of a model that merges bytes."""
    name = metadata.get("pre", str, "default")
    if name == "gemma4":
        return _gemma4(metadata)
    if name in _CODE:
        metadata.fail("pre", "must be a pre-tokenizer that is a pattern, and not code", name)
    if name not in pre_tokenizers():
        metadata.fail("pre", "must be the name of a pre-tokenizer that is known here", name)
    is_named = _PREFIX + "pre" in metadata.values
    patterns, flags = pre_tokenizers()[name]
    splits = [Split(Regex(pattern), "Isolated", invert=False) for pattern in patterns]
    letters = ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    return Tokenizer(
        BPE(metadata.vocab, metadata.merges(), ignore_merges="ignore_merges" in flags),
        pre_tokenizer=PreTokenizers((*splits, letters)),
        post_processor=metadata.frame(_GPT2_IDS, adds_bos="add_bos" in flags),
        decoder=ByteLevelDecoder(add_prefix_space=False, trim_offsets=False),
        added_tokens=metadata.added_tokens(),
        notes=() if is_named else (f"{metadata.source} {_UNNAMED}",),
    )


def _gemma4(metadata: _Metadata) -> Tokenizer:
    """Return the tokenizer of a model that merges characters, of whole lines."""
    decoder = (Replace(Literal(_SPACE), " "), ByteFallback(STRICT), Fuse())
    return Tokenizer(
        BPE(metadata.vocab, metadata.merges(), byte_fallback=True),
        normalizer=ReplaceText(Literal(" "), _SPACE),
        pre_tokenizer=Split(Regex(r"[^\n]+|[\n]+"), "Isolated", invert=False),
        post_processor=metadata.frame(_GPT2_IDS, adds_bos=True),
        decoder=DecoderSequence(decoder),
        added_tokens=metadata.added_tokens(),
    )


def _llama(metadata: _Metadata) -> Tokenizer:
    """Return the tokenizer of a SentencePiece model."""
    tokens, kinds = metadata.tokens, metadata.kinds
    scores = metadata.numbers("scores", 0.0)
    unknown = kinds.index("unknown") if "unknown" in kinds else None
    pieces: list[Piece] = []
    for token, (text, score, kind) in enumerate(zip(tokens, scores, kinds, strict=True)):
        made: PieceKind = "normal" if kind == "user-defined" else kind
        pieces.append(
            Piece(text, score, "control" if kind == "unknown" and token != unknown else made)
        )
    rules = NormalizationRules(
        add_dummy_prefix=metadata.get("add_space_prefix", bool, True),
        remove_extra_whitespaces=False,
    )
    model = SentencePieceModel(pieces, rules, byte_fallback="byte" in kinds)
    return Tokenizer(
        model,
        normalizer=SentencePieceNormalizer(rules, model.user_defined),
        post_processor=metadata.frame(_LLAMA_IDS, adds_bos=True),
        decoder=SentencePieceDecoder(model),
        added_tokens=metadata.added_tokens(),
    )


def _bert(metadata: _Metadata) -> Tokenizer:
    """Return the tokenizer of a WordPiece model: the first token of a word begins with `▁`."""
    lowercase = metadata.get("normalizer.lowercase", bool, True)
    steps: list[tuple[str, str]] = []
    if strips := metadata.get("normalizer.strip_accents", bool, lowercase):
        steps += [(f"[{first}-{last}]", initial) for first, last, initial in _HANGUL]
    cleaned: list[Any] = [
        *(ReplaceText(Regex(pattern), content) for pattern, content in steps),
        *([NFD()] if strips else []),
        *([ReplaceText(Regex(r"\p{M}"), "")] if strips else []),
        ReplaceText(Regex(r"\s"), " "),
        ReplaceText(Regex(r"[\p{Cc}\p{Cf}\p{Co}\x{FFFD}]"), ""),
        *([Lowercase()] if lowercase else []),
        ReplaceText(Regex(f"(?<![^ {_WORDS_ALONE}]){_SPACE}"), _SPACE * 2),  # as the text has it
    ]
    pre_tokenizers = (
        WhitespaceSplit(),
        Split(Regex(f"[{_WORDS_ALONE}]"), "Isolated", invert=False),
        Metaspace(_SPACE, prepend_scheme="always", split=False),
    )
    decoders: list[Any] = [Replace(Literal(_SPACE), " "), Fuse()]
    decoders += [Replace(Regex(pattern), content) for pattern, content in _CLEANED]
    unknown, cls, sep = (
        metadata.token(key, default)
        for key, default in (("unknown", 100), ("bos", 101), ("seperator", 102))
    )
    return Tokenizer(
        WordPiece(
            metadata.vocab,
            unk_token=unknown[0],
            continuing_subword_prefix="",
            max_input_chars_per_word=_LONGEST_WORD,
        ),
        normalizer=Normalizers(tuple(cleaned)),
        pre_tokenizer=PreTokenizers(pre_tokenizers),
        post_processor=framed(([cls], [sep])),
        decoder=DecoderSequence(tuple(decoders)),
        added_tokens=metadata.added_tokens(),
    )


def _t5(metadata: _Metadata) -> Tokenizer:
    """Return the tokenizer of a unigram model."""
    tokens, kinds = metadata.tokens, metadata.kinds
    scores = metadata.numbers("scores", 0.0)
    prefix = metadata.get("add_space_prefix", bool, False)
    merged = metadata.get("remove_extra_whitespaces", bool, False)
    if prefix and not merged:
        metadata.fail("remove_extra_whitespaces", "must be true if add_space_prefix is", merged)
    rules = NormalizationRules(
        charsmap=metadata.charsmap(),
        add_dummy_prefix=merged,
        remove_extra_whitespaces=merged,
        symbol_is_space=False,
    )
    normal = [score for score, kind in zip(scores, kinds, strict=True) if kind == "normal"]
    lowest = min(normal, default=0.0)
    pieces: list[tuple[str, float]] = []
    for text, score, kind in zip(tokens, scores, kinds, strict=True):
        if kind == "normal":
            pieces.append((text, score))
        elif kind == "user-defined":
            pieces.append((text, 0.0))
        else:  # no text becomes it: spaces are escaped
            pieces.append((f" {text}", lowest))
    found = UserDefined(
        frozenset(text for text, kind in zip(tokens, kinds, strict=True) if kind == "user-defined")
    )
    steps: list[Any] = [Replace(Literal(_SPACE), " "), Fuse()]
    return Tokenizer(
        Unigram(pieces, metadata.token("unknown", _T5_UNKNOWN)[1]),
        normalizer=SentencePieceNormalizer(rules, found),
        post_processor=metadata.frame(_T5_IDS, adds_bos=False, adds_eos=True),
        decoder=DecoderSequence((*steps, *([Strip(" ", 1, 0)] if prefix else []))),
        added_tokens=replace(metadata.added_tokens(), ids_as_given=True),
    )


_MODELS: Final[Mapping[str, Callable[[_Metadata], Tokenizer]]] = MappingProxyType(
    {"gpt2": _gpt2, "gemma4": _gemma4, "llama": _llama, "bert": _bert, "t5": _t5}
)


@cache
def pre_tokenizers() -> Mapping[str, tuple[Sequence[str], frozenset[str]]]:
    """Return the patterns and the flags of each pre-tokenizer by its name.

    >>> len(pre_tokenizers()["starcoder"][0]), pre_tokenizers()["tekken"][1] >= {"add_bos"}
    (2, True)
    """
    content = document("llama_cpp")
    patterns = content["patterns"]
    return MappingProxyType(
        {
            name: (tuple(patterns[key]), frozenset(flags))
            for name, (key, *flags) in content["names"].items()
        }
    )
