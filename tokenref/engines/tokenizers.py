"""Hugging Face tokenizers as an engine: https://github.com/huggingface/tokenizers.

What it can express
    Both merge rules, over the byte-level alphabet, in which a token is spelled with one visible
    letter per byte. By pair, the merges are the vocabulary's list. By concatenation, they are all
    ways to split each token into two, in the order of the ranks; the table of splits that our own
    encoders use is not consulted. The order among the splits of one token does not matter: whenever
    a token is made, its last merge is the last merge of its own bytes by themselves, which is
    always the same one (`bpe_ref.vocabulary.compatibility` contains the proof). So only one of all
    those splits ever occurs.

    `ignore_merges` means that a piece that is a token is not merged. A pattern with Oniguruma's
    tables is already in Oniguruma's dialect; one with tiktoken's tables is translated. Text that it
    does not match is dropped by `Split(behavior="removed", invert=True)`, which keeps the matches
    apart.

Special tokens
    Their ids cannot be chosen: an added token gets the id that the model has for its text, else the
    next free id. So the model for each selection of allowed tokens contains their texts with their
    ids. No merge leads to them. Ordinary text cannot either, because text that spells one in the
    byte-level alphabet is recognised as special before. Unsupported are special tokens that are
    spelled like a token, that are made of the alphabet's letters beyond ASCII, or that share their
    id with another one in the same text. Text cannot be disallowed; questions in which a disallowed
    text occurs are unsupported.

What it answers
    Only text. Pieces are those of `pre_tokenize_str`. `decode` returns text with U+FFFD for invalid
    UTF-8, so if U+FFFD occurs, bytes and strict text are unsupported. It never refuses an id; an
    `OverflowError` for a negative id is a crash.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from bpe_ref import TextRules, Vocabulary
from bpe_ref.errors import PatternError
from bpe_ref.patterns.rust import asks_for_words, to_oniguruma
from bpe_ref.vocabulary.byte_alphabet import BYTE_OF_LETTER, to_letters
from bpe_ref.vocabulary.merges import ByPair
from tokenref.answers import Answer, Ok, Refused, Unsupported
from tokenref.engines.json_files import JsonEngine, VocabularySession

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer
    from tokenizers.pre_tokenizers import PreTokenizer


_OWN_TABLES: Final = "unicode-16.0-oniguruma"
_LIKE_OWN_TABLES: Final = "unicode-16.0"  # the same but for words
_IDS: Final = 1 << 32


@dataclass(frozen=True)
class TokenizersEngine:
    """Hugging Face tokenizers with any vocabulary that it can express.

    >>> from bpe_ref import vocabulary_by_pair
    >>> TokenizersEngine("0.23.3").load(vocabulary_by_pair({b"a": 1 << 32}, []), "large")
    Unsupported(reason='only has 32-bit ids')
    """

    version: str
    name: str = "tokenizers"

    def load(self, vocabulary: Vocabulary, name: str) -> "TokenizersSession | Unsupported":
        text = vocabulary.text
        if max([*vocabulary.tokens, *vocabulary.special_bytes]) >= _IDS:
            return Unsupported("only has 32-bit ids")
        if text.normalization not in {None, "nfc"}:
            return Unsupported(f"cannot express the normalization {text.normalization!r}")
        cut = _pre_tokenizer(text)
        if isinstance(cut, Unsupported):
            return cut
        session = TokenizersSession(_Built(self.version), vocabulary, cut, _merges(vocabulary))
        session.tokenizer(frozenset())  # built now, so that no answer is slow because of it
        return session

    def load_tokenizer(
        self, content: bytes, name: str, profile: str
    ) -> "FileSession | Unsupported":
        """Load a tokenizer.json, its own format, or return why that is impossible.

        >>> TokenizersEngine("0.23.3").load_tokenizer(b"{}", "empty", "strict")
        Unsupported(reason='only reads a tokenizer.json in its own way')
        """
        if profile != "hugging-face":
            return Unsupported("only reads a tokenizer.json in its own way")
        from tokenizers import Tokenizer

        return FileSession(Tokenizer.from_buffer(content))


def _pre_tokenizer(text: TextRules) -> "PreTokenizer | Unsupported":
    """Return a pre-tokenizer that splits text with the pattern and spells the pieces."""
    from tokenizers import Regex, pre_tokenizers

    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    if text.pattern is None:
        return byte_level
    pattern = text.pattern
    if text.tables != _OWN_TABLES:
        if text.tables != _LIKE_OWN_TABLES or asks_for_words(pattern):
            return Unsupported(f"only has the tables {_OWN_TABLES}")
        try:
            pattern = to_oniguruma(pattern)
        except PatternError as error:
            return Unsupported(str(error))
    try:
        compiled = Regex(pattern)
    except Exception as error:  # noqa: BLE001 - it raises this very class
        return Unsupported(f"its pattern does not compile: {error}")
    split = pre_tokenizers.Split(compiled, behavior="removed", invert=True)
    return pre_tokenizers.Sequence([split, byte_level])


def _merges(vocabulary: Vocabulary) -> list[tuple[str, str]]:
    """Return the list of merges in letters, first merge first."""
    rule = vocabulary.rule
    spelled = {token: to_letters(content) for token, content in vocabulary.tokens.items()}
    if isinstance(rule, ByPair):
        return [(spelled[left], spelled[right]) for left, right in rule.merges]
    known = set(spelled.values())
    return [
        (word[:cut], word[cut:])
        for word in (spelled[token] for token in sorted(rule.ranks, key=rule.ranks.__getitem__))
        for cut in range(1, len(word))
        if word[:cut] in known and word[cut:] in known
    ]


class _Built(JsonEngine):
    """Tokenizers that are built of their parts."""

    name = "tokenizers"


@dataclass(frozen=True, eq=False)
class TokenizersSession(VocabularySession):
    """Hugging Face tokenizers with a vocabulary loaded."""

    pre_tokenizer: "PreTokenizer"
    merges: list[tuple[str, str]] = field(repr=False)

    def _needed(self, text: str, allowed: frozenset[str]) -> frozenset[str]:
        """Return the allowed texts; of those with the same id, only the ones that occur, if any."""
        by_id: dict[int, list[str]] = {}
        for content in sorted(allowed):
            by_id.setdefault(self.vocabulary.special_tokens[content], []).append(content)
        needed: list[str] = []
        for names in by_id.values():
            needed += [content for content in names if content in text] or names[:1]
        return frozenset(needed)

    def pieces(self, text: str | None) -> Answer:
        if text is None:
            return Unsupported("accepts only text")
        tokenizer = self.tokenizer(frozenset())
        if isinstance(tokenizer, Unsupported):
            return tokenizer
        normalizer = tokenizer.normalizer
        normalized = text if normalizer is None else normalizer.normalize_str(text)
        pieces = [piece for piece, _ in self.pre_tokenizer.pre_tokenize_str(normalized)]
        return Ok(
            {"pieces": [bytes(map(BYTE_OF_LETTER.__getitem__, piece)).hex() for piece in pieces]}
        )

    def _build(self, allowed: frozenset[str]) -> "Tokenizer | Unsupported":
        from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers

        text = self.vocabulary.text
        vocab = {to_letters(content): token for token, content in self.vocabulary.tokens.items()}
        specials = self.specials(allowed, vocab)
        if isinstance(specials, Unsupported):
            return specials
        model = models.BPE(
            vocab=vocab | specials, merges=self.merges, ignore_merges=text.whole_piece
        )
        tokenizer = Tokenizer(model)
        tokenizer.pre_tokenizer = self.pre_tokenizer
        tokenizer.decoder = decoders.ByteLevel()
        if text.normalization == "nfc":
            tokenizer.normalizer = normalizers.NFC()
        tokenizer.add_special_tokens(
            [AddedToken(content, special=True, normalized=False) for content in specials]
        )
        return tokenizer


@dataclass(frozen=True, eq=False)
class FileSession:
    """Hugging Face tokenizers with a tokenizer.json loaded."""

    tokenizer: "Tokenizer"

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        match op:
            case "tokenize":
                return self._tokenize(request)
            case "detokenize":
                skipped = request["skip_special_tokens"]
                return Ok({"text": self.tokenizer.decode(request["ids"], skipped)})
        if request["mode"] != "engine":
            return Unsupported("only streams in its own way")
        return self._stream(request)

    def _tokenize(self, request: Mapping[str, Any]) -> Ok:
        encoding = self.tokenizer.encode(
            request["text"], request.get("pair"), add_special_tokens=request["add_special_tokens"]
        )
        return Ok({**_part(encoding), "overflowing": list(map(_part, encoding.overflowing))})

    def _stream(self, request: Mapping[str, Any]) -> Answer:
        from tokenizers.decoders import DecodeStream

        stream = DecodeStream(skip_special_tokens=request["skip_special_tokens"])
        parts: list[str | None] = []
        for token in request["ids"]:
            try:
                parts.append(stream.step(self.tokenizer, token))
            except Exception as error:
                if "prefix" in str(error).lower():
                    return Refused("INVALID_PREFIX", str(error))
                raise
        return Ok({"parts": parts, "tail": ""})


def _part(encoding: "Encoding") -> dict[str, Any]:
    """Return an encoding in the form of a record, without overflowing parts."""
    return {
        "ids": encoding.ids,
        "tokens": encoding.tokens,
        "offsets": [list(span) for span in encoding.offsets],
        "type_ids": encoding.type_ids,
        "words": encoding.word_ids,
        "special_tokens_mask": encoding.special_tokens_mask,
        "attention_mask": encoding.attention_mask,
    }
