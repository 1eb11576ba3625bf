"""What Hugging Face transformers makes of a folder: its tokenizer is not always the file's.

Definition
    `AutoTokenizer.from_pretrained(folder)` reads `tokenizer.json`, and `tokenizer_config.json`,
    which names a class (`tokenizer_class`). The class, the settings there, and the tokens that
    these files list change the tokenizer:

    transformers 4   The components are the file's. Some classes put BOS and EOS around a text as
                     `add_bos_token` and `add_eos_token` say, whatever the file's template is; if
                     they are missing, a Llama class adds BOS. `add_prefix_space` of the settings
                     counts, not the file's; if it is missing, it is false.
    transformers 5   A class of its own takes the tokens, the merges and the template from the
                     file. All else is built in: a folder with the file of GPT-4o and the class
                     GPT2Tokenizer is cut by the pattern of GPT-2. `add_bos_token` and
                     `add_eos_token` mean nothing.

    In both, the tokens that `added_tokens_decoder` lists are added with their flags, and so are the
    special tokens that are named but missing (`bos_token`, ..., the class has some of its own).
    Without `added_tokens_decoder`, `special_tokens_map.json` and `added_tokens.json` are read, too.
    `clean_up_tokenization_spaces` removes spaces before punctuation when decoding; version 5 does
    that only if the model is not BPE. Nothing is truncated or padded unless the call asks for it.

Source: transformers 4.57.6 with tokenizers 0.22.2, and 5.23.0 with 0.23.3, as executed:
models/auto/tokenization_auto.py, tokenization_utils_base.py, tokenization_utils_fast.py in version
4, tokenization_utils_tokenizers.py in version 5, and the classes. What is built in is in
`data/transformers.json`.

What the source leaves open, and what holds here
    *Classes* that the table does not have are an error, except for names that version 5 does not
    know either: it reads the file then. Code in the folder (`auto_map`) is not run.
    *The class in config.json* counts if `tokenizer_config.json` names none; in version 5, its
    `model_type` can also overrule the class.
    *`split_special_tokens`* is an argument of each call here, `special="ordinary"`, and only said
    in `changes`.
    *`model_max_length`, `padding_side`, `truncation_side`* mean nothing for a call without options.
    *What fails there* is an error here, too: a class that adds a BOS without one, for example.
    *A token that is listed again as a normalized one* is found in both texts by tokenizers 0.22.
    Here, as in 0.23, it is found in the normalized text only.
    *A Bert class of version 4* with other settings than the file, if an added token is normalized:
    the library then looks for the token in its old form. That is an error here.
    *Other files*: version 4 builds a Llama class from `tokenizer.model` if `add_prefix_space` is
    given, and version 5 reads Mistral's `tekken.json` if mistral-common is installed. The first is
    an error here; the second is not looked at.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from bpe_ref.added_tokens import AddedToken, AddedTokens
from bpe_ref.components import Model
from bpe_ref.data import document
from bpe_ref.decoders import CLEANUP, DecoderSequence, Fuse, Replace
from bpe_ref.encoding import Encoding
from bpe_ref.errors import BpeError, VocabularyFileError
from bpe_ref.formats.generation import MODEL_CONFIG, SPECIAL_TOKENS_MAP, TOKENIZER_CONFIG
from bpe_ref.formats.hugging_face_components import read_component, write_component
from bpe_ref.formats.json_nodes import Node, parse_json, shown
from bpe_ref.models.bpe import BPE
from bpe_ref.models.word_piece import WordPiece
from bpe_ref.normalizers.bert import BertNormalizer
from bpe_ref.patterns.matches import Literal
from bpe_ref.post_processors import (
    PostProcessor,
    RobertaProcessing,
    TemplateProcessing,
    framed,
    process,
)
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.sequence import Sequence as PreTokenizers
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary.merges import ID_LIMIT, TokenId

_OLD: Final = "transformers-4"
_NEW: Final = "transformers-5"
_TOKENIZER: Final = "tokenizer.json"
_ADDED: Final = "added_tokens.json"
_FILE_AS_IT_IS: Final = "PreTrainedTokenizer"
_MISTRAL: Final = "MistralCommonBackend"
FILES: Final = (_TOKENIZER, TOKENIZER_CONFIG, SPECIAL_TOKENS_MAP, MODEL_CONFIG, _ADDED)
"""The files of a folder that are read."""

_NAMED: Final = tuple(
    f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
)
_FORCED: Final = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
_ADDITIONAL: Final = "additional_special_tokens"
_EXTRA: Final = "extra_special_tokens"
_MODEL: Final = (
    *("unk_token", "fuse_unk", "byte_fallback", "ignore_merges", "dropout"),
    *("continuing_subword_prefix", "end_of_word_suffix", "max_input_chars_per_word"),
)
_FLAGS: Final = ("single_word", "lstrip", "rstrip", "normalized", "special")
_CLEANED: Final = tuple(pair for pair in CLEANUP if pair[0] != " do not")


def like_transformers(
    tokenizer: Tokenizer, contents: Mapping[str, bytes], folder: str, version: str
) -> Tokenizer:
    """Return the tokenizer of a folder's tokenizer.json as transformers changes it.

    `contents` has the files of the folder by their names, those of `FILES` that are there. The
    `changes` of the result say what is different. Raises `VocabularyFileError` for files that
    cannot be read, or name a class that is not known here.
    """
    files = {
        name: parse_json(content, f"{folder}/{name}")
        for name, content in contents.items()
        if name != _TOKENIZER
    }
    for root in files.values():
        root.fields()  # which must be an object
    if version == _OLD:
        name = _old_class(files, folder)
    else:
        byte_level = b'"ByteLevel"' in contents[_TOKENIZER]
        name = _new_class(files, folder, byte_level=byte_level)
    its_class = _Class(name, version, files, tokenizer, folder)
    try:
        made = its_class.tokenizer()
    except VocabularyFileError:
        raise
    except BpeError as error:
        raise VocabularyFileError(f"{folder}, as {version} reads it: {error}") from None
    changes = [*_changes(tokenizer, made, name)]
    if its_class.flag("split_special_tokens"):
        changes.append('split_special_tokens: not done here; pass special="ordinary" for it')
    return replace(made, changes=tuple(changes))


# ---- the class


def _value(files: Mapping[str, Node], file: str, key: str) -> Any:
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


def _old_class(files: Mapping[str, Node], folder: str) -> str:
    """Return the class that transformers 4 uses."""
    name = _class_of(files) or _registered(files, _OLD)
    if name not in document("transformers")[_OLD]["classes"]:
        raise VocabularyFileError(
            f"{folder} must have a tokenizer_class that is known here for {_OLD}, "
            f"got {name or 'none'}"
        )
    return name


def _new_class(files: Mapping[str, Node], folder: str, *, byte_level: bool) -> str:
    """Return the class that transformers 5 uses."""
    content = document("transformers")[_NEW]
    named, registered = _class_of(files), _registered(files, _NEW)
    wrong = _value(files, MODEL_CONFIG, "model_type") in content["wrong_classes"]
    own_code = _value(files, TOKENIZER_CONFIG, "auto_map") is not None
    name = named or registered
    if not own_code and named:
        other = registered not in {"", named}
        if named == "LlamaTokenizer" and byte_level and not wrong and registered != _MISTRAL:
            return _FILE_AS_IT_IS
        if other and registered in {"TokenizersBackend", _FILE_AS_IT_IS, _MISTRAL}:
            return _FILE_AS_IT_IS
        if other and wrong:
            name = registered
    name = content["aliases"].get(name, name)
    if name in content["classes"]:
        return str(name)
    if name in content["not_read"]:
        raise VocabularyFileError(
            f"{folder} must have a tokenizer_class that is known here for {_NEW}, got {name}"
        )
    return _FILE_AS_IT_IS


# ---- what a class makes of the settings


@dataclass(frozen=True)
class _Class:
    """A class of transformers, the files of a folder, and the tokenizer of its tokenizer.json."""

    name: str
    version: str
    files: Mapping[str, Node]
    file: Tokenizer
    folder: str

    @property
    def old(self) -> bool:
        """Whether this is version 4."""
        return self.version == _OLD

    @cached_property
    def described(self) -> Mapping[str, Any]:
        """What is built into the class."""
        known = document("transformers")[self.version]["classes"]
        found: dict[str, Any] = known.get(self.name, {"defaults": {}})
        return found

    @cached_property
    def given(self) -> Node:
        """The settings of the folder."""
        config = self.files.get(TOKENIZER_CONFIG, Node({}, self.folder))
        values = dict(config.value)
        if not self.old and _ADDITIONAL in values and not values.get(_EXTRA):
            values[_EXTRA] = values.pop(_ADDITIONAL)
        if values.get("added_tokens_decoder") is None:
            for key, node in self.files.get(SPECIAL_TOKENS_MAP, Node({}, "")).entries().items():
                values[key] = _marked(node.value, is_token=key != _EXTRA)
                if key == (_ADDITIONAL if self.old else _EXTRA) and isinstance(node.value, list):
                    own = config.field(key).elements() if config.value.get(key) else []
                    own = [entry.value for entry in own]
                    tokens = (_marked(entry.value) for entry in node.elements())
                    values[key] = [*own, *(token for token in tokens if token not in own)]
        return Node(values, config.source)

    @cached_property
    def settings(self) -> Node:
        """The settings of the folder, and those of the class where there are none."""
        padding = self.file.padding
        own = {} if padding is None else {"pad_token": padding.pad_token}
        return Node({**own, **self.described["defaults"], **self.given.value}, self.given.source)

    def flag(self, key: str) -> bool:
        """Return a setting, which must be true, or else false, null or missing."""
        return self.settings.value.get(key) is not None and self.settings.field(key).flag()

    # -- tokens

    @cached_property
    def listed(self) -> Sequence[AddedToken]:
        """The tokens that are added with the flags they have there, by rising ids."""
        found: dict[int, AddedToken] = {}
        if self.given.value.get("added_tokens_decoder") is not None:
            listed = self.given.field("added_tokens_decoder").entries_by_id()
            found |= {id_: _added_token(entry) for id_, entry in listed.items()}
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
        legacy = self.old and self.given.value.get("added_tokens_decoder") is None
        tokens = self._of_file if legacy else self.listed
        return self._special({token.content: token for token in tokens})

    def _special(self, listed: Mapping[str, AddedToken]) -> dict[str, str | AddedToken]:
        """Return the special tokens, with the flags of a listed one where it has the text."""
        settings = {key: node for key, node in self.settings.entries().items() if node.value}
        found = {}
        for key in _NAMED:
            if key in settings:
                token = _token(settings[key])
                if key in self.given.value:
                    token = listed.get(_content(token), token)
                flags = self.described.get("flags", {}).get(key)
                if isinstance(token, str) and flags is not None:
                    token = AddedToken(token, **flags)
                found[key] = token
        extra = settings.get(_EXTRA, Node({}, ""))
        is_list = not self.old and isinstance(self.settings.value.get(_EXTRA, {}), list | None)
        others = {}
        if not self.old:
            others = {
                key: _token(node)
                for key, node in settings.items()
                if key.endswith("_token") and key not in _NAMED and not isinstance(node.value, bool)
            }
        if isinstance(extra.value, dict):
            others |= {key: _token(node) for key, node in extra.entries().items()}
        several = settings.get(_EXTRA if is_list else _ADDITIONAL, Node([], ""))
        numbered = {node.place: _token(node) for node in several.elements()}
        return found | numbered | others if self.old else found | others | numbered

    def added_tokens(self) -> AddedTokens:
        """Return the tokens of the file, unless the class drops them, and those added to them."""
        kept = [] if "model" in self.described else self._of_file
        known = {token.content for token in (*kept, *self.listed)}
        seen: set[str] = set()
        new: list[str | AddedToken] = []
        for token in self.special.values():
            is_known = _content(token) in known and (isinstance(token, str) or not self.old)
            is_second = self.old and _content(token) in seen
            if not is_known and not is_second and token not in (*self.listed, *new):
                new.append(token)
            seen.add(_content(token))
        marked = {
            _content(token)
            for name, token in self.special.items()
            if self.old or not name.endswith("]")
        }
        added = [
            replace(token, special=token.special or token.content in marked)
            for token in map(_with_flags, (*self.listed, *new))
        ]
        if not self.old and self.name == "Qwen2Tokenizer":
            added += [_with_flags(_content(token)) for token in self.special.values()]
        elif not self.old and self.name == "CohereTokenizer":
            added += [replace(_with_flags(token), special=True) for token in self.special.values()]
        quirks = self.file.added_tokens.quirks
        if self.old:  # tokenizers 0.22 shows an added token as it is
            quirks = replace(quirks, normalized_form_shown=False)
        return AddedTokens((*kept, *added), quirks)

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
        tokens = {key: _content(token) for key, token in self.special.items()}
        values = {**self.settings.value, **tokens}
        if self.name == "LlamaTokenizer":
            prefix = values["add_prefix_space"] is not False
            values["prefix_length"] = int(prefix)
            values["prepend_scheme"] = "always" if values["legacy"] else "first"
            if not prefix:
                values["prepend_scheme"] = "never"
        elif self.described["defaults"].get("add_prefix_space", False) is None:
            values["add_prefix_space"] = values["add_prefix_space"] or False
        return {"model": self._model(_filled(self.described["model"], values))} | {
            kind: read_component(
                Node(_filled(self.described[kind], values), self.settings.source, kind),
                kind,
                self.file.added_tokens.quirks,
            )
            for kind in ("normalizer", "pre_tokenizer", "decoder")
        }

    def _model(self, options: Mapping[str, Any]) -> Model:
        """Return the model with the tokens and merges of the file."""
        old = self.file.model
        if self.name == "BertTokenizer" and isinstance(old, WordPiece):
            return WordPiece(old.vocab, **options)
        if self.name != "BertTokenizer" and isinstance(old, BPE):
            return BPE(old.vocab, old.merges, quirks=old.quirks, **options)
        kind = type(old).__name__
        raise VocabularyFileError(f"{self.folder}: {self.name} cannot have the model {kind}")

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
            found["normalizer"] = changed = replace(
                normalizer,
                lowercase=self.flag("do_lower_case"),
                strip_accents=self.settings.value["strip_accents"],
                handle_chinese_chars=self.flag("tokenize_chinese_chars"),
            )
            if changed != normalizer and any(t.normalized for t in self.added_tokens().tokens):
                self.settings.fail("must not change the normalizer of normalized added tokens")
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
            prefix = self.settings.value.get("add_prefix_space", False)
            trim = self.settings.value["trim_offsets"]
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
        first, last = ([self._named_id(made, key) for key in keys] for keys in (before, behind))
        return framed((first, last), ([] if first_only else first, last))


def _content(token: str | AddedToken) -> str:
    return token if isinstance(token, str) else token.content


def _with_flags(token: str | AddedToken) -> AddedToken:
    return AddedToken(token, special=True, normalized=False) if isinstance(token, str) else token


def _token(node: Node) -> str | AddedToken:
    """Return a special token: a text, or one with flags, which is marked as such."""
    marked = isinstance(node.value, dict) and node.value.get("__type") == "AddedToken"
    return _added_token(node) if marked else node.text()


def _marked(value: Any, *, is_token: bool = True) -> Any:
    """Return the value of a special token, marked as one with flags if it has them."""
    if isinstance(value, dict) and is_token:
        return {**value, "__type": "AddedToken", "special": True}
    return value


def _added_token(node: Node) -> AddedToken:
    """Return a token with flags. If `normalized` is missing, a special token is not."""
    node.only({"content"}, {"__type", *_FLAGS})
    flags = {flag: node.field(flag).flag() for flag in _FLAGS if flag in node.value}
    return AddedToken(
        node.field("content").text(), **{"normalized": not flags.get("special", False), **flags}
    )


def _filled(described: Any, values: Mapping[str, Any]) -> Any:
    """Return a JSON value in which names are replaced by the settings."""
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
            _essential(write_component(getattr(one, kind), kind), kind) for one in (file, made)
        )
        if old != new:
            is_other = _types(old) != _types(new)
            words = [_types(one) if is_other else shown(one) for one in (new, old)]
            yield f"{kind}: {name} has {words[0]}, the file {words[1]}"
    for key in _MODEL:
        values = [getattr(one.model, key, None) or None for one in (made, file)]
        if values[0] != values[1]:
            yield f"model: {name} has {key} {shown(values[0])}, the file {shown(values[1])}"
    for is_pair in (False, True):
        ours, its = (_framed(one, is_pair=is_pair) for one in (made, file))
        if ours != its:
            yield f"post_processor: {name} makes {ours!r}, the file {its!r}"
            break
    for part in ("truncation", "padding"):
        if getattr(file, part) is not None:
            yield f"{part}: not used unless the call asks for it"
    yield from _changed_tokens(file, made)


def _changed_tokens(file: Tokenizer, made: Tokenizer) -> Iterator[str]:
    """Yield a sentence for each added token that is gone, new or different."""
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
            (old_id, old), (new_id, new) = before[content], behind[content]
            flags = [flag for flag in _FLAGS if getattr(old, flag) != getattr(new, flag)]
            words = [f"{flag} {getattr(new, flag)}" for flag in flags]
            words += [f"the id {new_id}"] * (old_id != new_id)
            yield f"added_tokens: {content!r} has {', '.join(words)}"


def _framed(tokenizer: Tokenizer, *, is_pair: bool) -> str:
    """Return what the post-processor makes of the text A, or of A and B."""
    a, b = (Encoding.of([(0, letter, (0, 0), 0)]) for letter in "AB")
    return " ".join(process(tokenizer.post_processor, a, b if is_pair else None).tokens)


def _essential(described: dict[str, Any] | None, kind: str) -> list[dict[str, Any]]:
    """Return the steps of a component, without settings that change no id and no text."""
    match described:
        case None:
            return []
        case {"type": "Sequence"}:
            steps = next(value for key, value in described.items() if key != "type")
            return [one for step in steps for one in _essential(step, kind)]
        case {"type": "ByteLevel"} if kind == "decoder":
            return [{"type": "ByteLevel"}]
        case {"type": "ByteLevel"}:
            return [{key: value for key, value in described.items() if key != "trim_offsets"}]
    return [described]


def _types(steps: Sequence[Any]) -> str:
    return ", ".join(step["type"] for step in steps) or "none"
