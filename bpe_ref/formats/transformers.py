"""What Hugging Face transformers makes of a folder: its tokenizer is not always the file's.

Definition
    `AutoTokenizer.from_pretrained(folder)` reads `tokenizer.json` and `tokenizer_config.json`, which
    names a class (`tokenizer_class`). The class, its settings there, and the tokens that these
    files list change the tokenizer:

    transformers 4   The components are the file's. Some classes put BOS and EOS around a text as
                     `add_bos_token` and `add_eos_token` say (the Llama class adds BOS if the folder
                     says nothing), whatever the file's template is. `add_prefix_space`, false if it
                     is missing, counts, and not the file's.
    transformers 5   A class of its own takes only the tokens, the merges and the template from the
                     file. The rest is built in: a folder with GPT-4o's file and the class GPT2Tokenizer
                     is cut by GPT-2's pattern. `add_bos_token` and `add_eos_token` mean nothing.

    In both, the tokens that `added_tokens_decoder` lists are added with their flags, and so are the
    special tokens that are named but missing (`bos_token`, ..., the class has some of its own).
    Without `added_tokens_decoder`, `special_tokens_map.json` and `added_tokens.json` are read, too.
    `clean_up_tokenization_spaces` removes spaces before punctuation when decoding; version 5 does
    that only if the model is not BPE. Nothing is truncated or padded unless the call asks for it.

Source: transformers 4.57.6 with tokenizers 0.22.2, and 5.23.0 with 0.23.3, as executed:
models/auto/tokenization_auto.py, tokenization_utils_base.py, tokenization_utils_fast.py (version 4),
tokenization_utils_tokenizers.py (version 5), and the classes. `data/transformers.json` has what is
built in.

What the source leaves open, and what holds here
    *Classes* that the table does not have are an error, except for names that version 5 does not
    know either: it reads the file then. Classes of a folder's own code are not run.
    *The class in config.json* counts if `tokenizer_config.json` names none; in version 5, its
    `model_type` can also overrule the class.
    *`split_special_tokens`* is an argument here: `special="ordinary"`.
    *`model_max_length`, `padding_side`, `truncation_side`* mean nothing for a call without options.
    *What fails there* is an error here, too: a class that adds a BOS without one, for example.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from bpe_ref.added_tokens import AddedToken, AddedTokens
from bpe_ref.components import Model
from bpe_ref.data import document
from bpe_ref.decoders import DecoderSequence, Fuse, Replace
from bpe_ref.encoding import Encoding
from bpe_ref.errors import BpeError, VocabularyFileError
from bpe_ref.formats.files import read_unpacked
from bpe_ref.formats.generation import MODEL_CONFIG, SPECIAL_TOKENS_MAP, TOKENIZER_CONFIG
from bpe_ref.formats.hugging_face_components import ID_LIMIT, read_component, write_component
from bpe_ref.formats.json_nodes import Node, parse_json
from bpe_ref.models.bpe import BPE
from bpe_ref.models.word_piece import WordPiece
from bpe_ref.normalizers.bert import BertNormalizer
from bpe_ref.patterns.matches import Literal
from bpe_ref.post_processors import PostProcessor, RobertaProcessing, TemplateProcessing, process
from bpe_ref.post_processors.templates import Piece, SequencePiece, SpecialPiece, SpecialToken
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.sequence import Sequence as PreTokenizers
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary.merges import TokenId

VERSIONS: Final = ("transformers-4", "transformers-5")
"""What `load(folder, like=...)` accepts."""

_TOKENIZER: Final = "tokenizer.json"
_ADDED: Final = "added_tokens.json"
_FILE_AS_IT_IS: Final = "PreTrainedTokenizer"
_ANY_BACKEND: Final = ("TokenizersBackend", "PreTrainedTokenizer", "MistralCommonBackend")
_NAMED: Final = tuple(
    f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
)
_FORCED: Final = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
_MODEL: Final = ("unk_token", "fuse_unk", "byte_fallback", "ignore_merges", "dropout")
_LONGEST: Final = 120
_FLAGS: Final = ("single_word", "lstrip", "rstrip", "normalized", "special")
_CLEANED: Final = (
    *((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'")),
    *((" n't", "n't"), (" 'm", "'m"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re")),
)


def like_transformers(tokenizer: Tokenizer, folder: Path, version: str) -> Tokenizer:
    """Return the tokenizer of the folder's tokenizer.json as transformers changes it.

    Its `changes` say how. Raises `VocabularyFileError` if the folder's files cannot be read, or
    name a class that is not known here.
    """
    files = {
        name: parse_json(read_unpacked(folder / name), str(folder / name))
        for name in (TOKENIZER_CONFIG, SPECIAL_TOKENS_MAP, MODEL_CONFIG, _ADDED)
        if (folder / name).exists()
    }
    for root in files.values():
        root.fields()  # which must be an object
    old = version == VERSIONS[0]
    byte_level = not old and b'"ByteLevel"' in read_unpacked(folder / _TOKENIZER)
    name = _old_class(files, folder) if old else _new_class(files, folder, byte_level=byte_level)
    try:
        made = _Class(name, old, files, tokenizer, str(folder)).tokenizer()
    except VocabularyFileError:
        raise
    except BpeError as error:
        raise VocabularyFileError(f"{folder}, as {version} reads it: {error}") from None
    return replace(made, changes=tuple(_changes(tokenizer, made, name)))


# ---- the class


def _value(files: Mapping[str, Node], file: str, key: str) -> Any:
    """Return the value of a key in a file, or None if there is none."""
    return files[file].value.get(key) if file in files else None


def _class_of(files: Mapping[str, Node]) -> str:
    """Return the class that the files name, without "Fast", or no text."""
    for file in (TOKENIZER_CONFIG, MODEL_CONFIG):
        if _value(files, file, "tokenizer_class") is not None:
            return files[file].field("tokenizer_class").text().removesuffix("Fast")
    return ""


def _registered(files: Mapping[str, Node], version: str) -> str:
    """Return the class, without "Fast", that a version has for the model's type, or no text."""
    model_type = _value(files, MODEL_CONFIG, "model_type")
    for name, model_types in document("transformers")[version]["model_types"].items():
        if model_type in model_types:
            return str(name).removesuffix("Fast")
    return ""


def _old_class(files: Mapping[str, Node], folder: Path) -> str:
    """Return the class that transformers 4 uses."""
    version = VERSIONS[0]
    name = _class_of(files) or _registered(files, version)
    if name not in document("transformers")[version]["classes"]:
        raise VocabularyFileError(
            f"{folder} must have a tokenizer_class that is known here for {version}, "
            f"got {name or 'none'}"
        )
    return name


def _new_class(files: Mapping[str, Node], folder: Path, *, byte_level: bool) -> str:
    """Return the class that transformers 5 uses."""
    version = VERSIONS[1]
    content = document("transformers")[version]
    named, registered = _class_of(files), _registered(files, version)
    wrong = _value(files, MODEL_CONFIG, "model_type") in content["wrong_classes"]
    own_code = _value(files, TOKENIZER_CONFIG, "auto_map") is not None
    name = named or registered
    if not own_code and named:
        other = registered not in {"", named}
        if named == "LlamaTokenizer" and byte_level and not wrong:
            if registered != "MistralCommonBackend":
                return _FILE_AS_IT_IS
        if other and registered in _ANY_BACKEND:
            return _FILE_AS_IT_IS
        if other and wrong:
            name = registered
    name = content["aliases"].get(name, name)
    if name in content["classes"]:
        return str(name)
    if name in content["not_read"]:
        raise VocabularyFileError(
            f"{folder} must have a tokenizer_class that is known here for {version}, got {name}"
        )
    return _FILE_AS_IT_IS


# ---- what a class makes of the settings


@dataclass(frozen=True)
class _Class:
    """A class of transformers, the files of a folder, and the tokenizer of its tokenizer.json."""

    name: str
    old: bool
    files: Mapping[str, Node]
    file: Tokenizer
    folder: str

    @cached_property
    def described(self) -> Mapping[str, Any]:
        """What is built into the class."""
        known: Mapping[str, Any] = document("transformers")[VERSIONS[not self.old]]["classes"]
        return known.get(self.name, {"defaults": {}})

    @cached_property
    def given(self) -> Node:
        """The settings of the folder."""
        config = self.files.get(TOKENIZER_CONFIG, Node({}, self.folder))
        if config.value.get("added_tokens_decoder") is not None:
            return config
        special = self.files.get(SPECIAL_TOKENS_MAP, Node({}, "")).value.items()
        marked = {
            key: {**value, "__type": "AddedToken", "special": True}
            if isinstance(value, dict) and key != "extra_special_tokens"
            else value
            for key, value in special
        }
        return Node({**config.value, **marked}, config.source)

    @cached_property
    def settings(self) -> Node:
        """The settings of the folder, and those of the class where there are none."""
        return Node({**self.described["defaults"], **self.given.value}, self.given.source)

    def flag(self, key: str) -> bool:
        """Return a setting, which must be true, or else false, null or missing."""
        return self.settings.value.get(key) is not None and self.settings.field(key).flag()

    # -- tokens

    @cached_property
    def listed(self) -> Sequence[AddedToken]:
        """The tokens that are added again, with their flags there: those with the lowest ids first."""
        found: dict[int, AddedToken] = {}
        if self.given.value.get("added_tokens_decoder") is not None:
            for digits, entry in self.given.field("added_tokens_decoder").entries().items():
                if not (digits.isascii() and digits.isdigit()):
                    entry.fail("must be under an id")
                found[int(digits)] = _added_token(entry)
        else:
            special = {_content(token) for token in self._special({}).values()}
            for content, entry in self.files.get(_ADDED, Node({}, "")).entries().items():
                found[entry.whole(ID_LIMIT)] = AddedToken(
                    content, normalized=content not in special, special=content in special
                )
            found |= {self.file.added.ids[token.content]: token for token in self._of_file}
        return [token for _, token in sorted(found.items())]

    @cached_property
    def _of_file(self) -> Sequence[AddedToken]:
        return [replace(t, id=None) for t in self.file.added_tokens.tokens if t.content]

    @cached_property
    def special(self) -> Mapping[str, str | AddedToken]:
        """The special tokens by their names; those of a list are numbered."""
        return self._special({token.content: token for token in self.listed})

    def _special(self, listed: Mapping[str, AddedToken]) -> dict[str, str | AddedToken]:
        """Return the special tokens, with the flags of a listed one where it has the text."""
        settings = {key: node for key, node in self.settings.entries().items() if node.value}
        found = {}
        for key in _NAMED:
            if key in settings:
                token = _token(settings[key])
                is_given = key in self.given.value
                found[key] = listed.get(_content(token), token) if is_given else token
        lists = ["additional_special_tokens"] if self.old else ["extra_special_tokens"]
        if not self.old and "extra_special_tokens" not in settings:
            lists = ["additional_special_tokens"]
        extra = settings.get("extra_special_tokens", Node({}, ""))
        others = {}
        if not self.old:
            others = {
                key: _token(node)
                for key, node in settings.items()
                if key.endswith("_token") and key not in _NAMED and not isinstance(node.value, bool)
            }
        if isinstance(extra.value, dict):
            others |= {key: _token(node) for key, node in extra.entries().items()}
        numbered = {
            f"{key}[{number}]": _token(node)
            for key in lists
            if key in settings and isinstance(settings[key].value, list)
            for number, node in enumerate(settings[key].elements())
        }
        return found | numbered | others if self.old else found | others | numbered

    def added_tokens(self) -> AddedTokens:
        """Return the tokens of the file, unless the class drops them, and those added to them."""
        kept = [] if "model" in self.described else list(self._of_file)
        added = list(self.listed)
        known = {token.content for token in (*kept, *added)}
        for name, token in self.special.items():
            if isinstance(token, str):
                if token not in known and token not in map(_content, added[len(self.listed) :]):
                    added.append(AddedToken(token, special=True, normalized=False))
            elif token not in added and (self.old or token.content not in known):
                added.append(token)
        marked = {
            _content(token)
            for name, token in self.special.items()
            if self.old or not name.endswith("]")
        }
        added = [replace(t, special=t.special or t.content in marked) for t in added]
        if not self.old and self.name == "Qwen2Tokenizer":
            texts = map(_content, self.special.values())
            added += [AddedToken(text, special=True, normalized=False) for text in texts]
        if not self.old and self.name == "CohereTokenizer":
            added += [
                AddedToken(token, special=True, normalized=False)
                if isinstance(token, str)
                else replace(token, special=True)
                for token in self.special.values()
            ]
        return AddedTokens((*kept, *added), self.file.added_tokens.quirks)

    # -- components

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer."""
        parts = self._built_in() if "model" in self.described else self._adjusted()
        made = replace(
            self.file, added_tokens=self.added_tokens(), truncation=None, padding=None, **parts
        )
        made = replace(made, post_processor=self._post_processor(made))
        cleans_up = self.flag("clean_up_tokenization_spaces")
        if not cleans_up or (
            not self.old and isinstance(made.model, BPE) and not self.flag(_FORCED)
        ):
            return made
        if made.decoder is None:
            self.settings.fail("must not clean up spaces without a decoder")
        steps = (Replace(Literal(old), new) for old, new in _CLEANED)
        return replace(made, decoder=DecoderSequence((made.decoder, Fuse(), *steps)))

    def _built_in(self) -> dict[str, Any]:
        """Return the components that a class has instead of the file's."""
        values = dict(self.settings.value)
        prefix = values.get("add_prefix_space")
        if self.name == "LlamaTokenizer":
            prefix = prefix is not False
            values["prefix_length"] = int(prefix)
            values["prepend_scheme"] = "always" if values["legacy"] else "first"
            if not prefix:
                values["prepend_scheme"] = "never"
        values["add_prefix_space"] = prefix or False
        model: Model
        options = _filled(self.described["model"], values)
        if self.name == "BertTokenizer" and isinstance(self.file.model, WordPiece):
            model = WordPiece(self.file.model.vocab, **options)
        elif self.name != "BertTokenizer" and isinstance(self.file.model, BPE):
            old = self.file.model
            model = BPE(old.vocab, old.merges, quirks=old.quirks, **options)
        else:
            kind = type(self.file.model).__name__
            raise VocabularyFileError(f"{self.folder}: {self.name} cannot have the model {kind}")
        return {"model": model} | {
            kind: read_component(
                Node(_filled(self.described[kind], values), self.settings.source, kind),
                kind,
                self.file.added_tokens.quirks,
            )
            for kind in ("normalizer", "pre_tokenizer", "decoder")
        }

    def _adjusted(self) -> dict[str, Any]:
        """Return the components of the file that settings change."""
        if not self.old:
            return {}
        prefix = self.settings.value.get("add_prefix_space", False)
        found: dict[str, Any] = {}
        cutting = self.file.pre_tokenizer
        if self.name == "LlamaTokenizer" and prefix is not None:
            self.settings.field("add_prefix_space").fail(
                "must be null, because the class is built from another file otherwise"
            )
        if isinstance(cutting, ByteLevel) and isinstance(prefix, bool):
            found["pre_tokenizer"] = replace(cutting, add_prefix_space=prefix)
        elif isinstance(cutting, PreTokenizers) and self.name == "CohereTokenizer" and prefix:
            found["pre_tokenizer"] = PreTokenizers(
                [
                    replace(step, add_prefix_space=True) if isinstance(step, ByteLevel) else step
                    for step in cutting.pretokenizers
                ]
            )
        normalizer = self.file.normalizer
        if self.name == "BertTokenizer" and isinstance(normalizer, BertNormalizer):
            found["normalizer"] = replace(
                normalizer,
                lowercase=self.flag("do_lower_case"),
                strip_accents=self.settings.value["strip_accents"],
                handle_chinese_chars=self.flag("tokenize_chinese_chars"),
            )
        return found

    def _post_processor(self, made: Tokenizer) -> PostProcessor | None:
        """Return the post-processor, which names tokens of the tokenizer."""
        frames = self.old and "add_bos_token" in self.described["defaults"]
        if frames:
            bos, eos = self.flag("add_bos_token"), self.flag("add_eos_token")
            return self._frame(made, ["bos_token"] if bos else [], ["eos_token"] if eos else [])
        if not self.old and self.name == "GPTNeoXTokenizer":
            return None
        if not self.old and self.name == "BertTokenizer":
            return self._frame(made, ["cls_token"], ["sep_token"], first_only=True)
        if not self.old and self.name == "RobertaTokenizer":
            sep, cls = self._named_id(made, "sep_token"), self._named_id(made, "cls_token")
            trim, prefix = self.flag("trim_offsets"), self.flag("add_prefix_space")
            return RobertaProcessing(sep, cls, trim_offsets=trim, add_prefix_space=prefix)
        found = self.file.post_processor
        if self.old and self.name == "RobertaTokenizer" and isinstance(found, RobertaProcessing):
            trim, prefix = self.flag("trim_offsets"), self.flag("add_prefix_space")
            return replace(found, trim_offsets=trim, add_prefix_space=prefix)
        return found

    def _named_id(self, made: Tokenizer, key: str) -> tuple[str, TokenId]:
        """Return the text and the id of a special token, which must be there."""
        if key not in self.special:
            self.settings.fail(f"must have a {key}, because {self.name} adds it")
        content = _content(self.special[key])
        number = made.token_to_id(content)
        return content, 0 if number is None else number

    def _frame(
        self, made: Tokenizer, before: list[str], behind: list[str], *, first_only: bool = False
    ) -> TemplateProcessing:
        """Return the template that puts tokens before and behind each text."""
        names = {key: self._named_id(made, key) for key in (*before, *behind)}
        special = {text: SpecialToken(text, (id_,), (text,)) for text, id_ in names.values()}

        def pieces(text: str, number: int) -> list[Piece]:
            first = [] if first_only and number else before
            return [
                *(SpecialPiece(names[key][0], number) for key in first),
                SequencePiece(text, number),
                *(SpecialPiece(names[key][0], number) for key in behind),
            ]

        single = pieces("A", 0)
        return TemplateProcessing(tuple(single), (*single, *pieces("B", 1)), special)


def _content(token: str | AddedToken) -> str:
    return token if isinstance(token, str) else token.content


def _token(node: Node) -> str | AddedToken:
    """Return a special token: a text, or one with flags, which is marked as such."""
    marked = isinstance(node.value, dict) and node.value.get("__type") == "AddedToken"
    return _added_token(node) if marked else node.text()


def _added_token(node: Node) -> AddedToken:
    """Return a token with flags. They may be missing; `normalized` is then that it is not special."""
    node.only({"content"}, {"__type", *_FLAGS})
    flags = {flag: node.field(flag).flag() for flag in _FLAGS if flag in node.value}
    return AddedToken(
        node.field("content").text(), **{"normalized": not flags.get("special", False), **flags}
    )


def _filled(described: Any, values: Mapping[str, Any]) -> Any:
    """Return a JSON value with the settings in the place of their names."""
    if isinstance(described, dict):
        return {key: _filled(value, values) for key, value in described.items()}
    if isinstance(described, list):
        return [_filled(value, values) for value in described]
    if isinstance(described, str) and described.startswith("$"):
        return values[described[1:]]
    return described


# ---- what is different, in words


def _changes(file: Tokenizer, made: Tokenizer, name: str) -> Iterator[str]:
    """Yield a sentence for each difference that ids or decoded texts can have."""
    for kind in ("normalizer", "pre_tokenizer", "decoder"):
        old, new = (
            _essential(
                write_component(getattr(one, kind), kind), is_cutting=kind == "pre_tokenizer"
            )
            for one in (file, made)
        )
        if old != new:
            yield f"{kind}: {name} has {_shown(new)}, the file {_shown(old)}"
    for key in _MODEL:
        old, new = (getattr(one.model, key, None) or None for one in (file, made))
        if old != new:
            yield f"model: {name} has {key} {_shown(new)}, the file {_shown(old)}"
    for is_pair in (False, True):
        old, new = (_framed(one, is_pair=is_pair) for one in (file, made))
        if old != new:
            yield f"post_processor: with {name} {new!r}, with the file {old!r}"
            break
    for part in ("truncation", "padding"):
        if getattr(file, part) is not None:
            yield f"{part}: not used unless the call asks for it"
    before, behind = (
        {token.content: (id_, replace(token, id=None)) for id_, token in one.added.tokens.items()}
        for one in (file, made)
    )
    for content in dict.fromkeys((*before, *behind)):
        if content not in behind:
            yield f"added_tokens: {content!r} is text like any other"
        elif content not in before:
            yield f"added_tokens: {content!r} is added, its id is {behind[content][0]}"
        elif before[content] != behind[content]:
            differing = [
                f"{flag} {_shown(getattr(behind[content][1], flag))}"
                for flag in _FLAGS
                if getattr(before[content][1], flag) != getattr(behind[content][1], flag)
            ]
            moved = before[content][0] != behind[content][0]
            differing += [f"the id {behind[content][0]}"] * moved
            yield f"added_tokens: {content!r} has {', '.join(differing)}"


def _framed(tokenizer: Tokenizer, *, is_pair: bool) -> str:
    """Return what the post-processor makes of the text A, or of A and B."""
    a, b = (Encoding.of([(0, letter, (0, 0), 0)]) for letter in "AB")
    return " ".join(process(tokenizer.post_processor, a, b if is_pair else None).tokens)


def _essential(described: Any, *, is_cutting: bool) -> Any:
    """Return a component without what changes offsets only, or nothing."""
    match described:
        case {"type": "ByteLevel", "trim_offsets": _, **rest}:
            return rest if is_cutting else {"type": "ByteLevel"}
        case {"type": "Sequence", "normalizers": []}:
            return None
        case {"type": "Sequence", "decoders": list(steps)} | {
            "type": "Sequence",
            "pretokenizers": list(steps),
        }:
            return [_essential(step, is_cutting=is_cutting) for step in steps]
    return described


def _shown(value: object) -> str:
    """Return a JSON value in a few words."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
