# ruff: noqa: S106 - the names of tokens are no passwords

"""A folder as transformers reads it: recorded answers of two versions, and the installed one.

`RECORDED` was made by `AutoTokenizer.from_pretrained` of transformers 4.57.6 with tokenizers
0.22.2, and of 5.23.0 with 0.23.3. None stands for an error.
"""

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import ParameterError, VocabularyFileError, load
from bpe_ref.data import document
from bpe_ref.formats.hugging_face import parse_tokenizer_json
from bpe_ref.formats.transformers import like_transformers
from bpe_ref.loading import LIKE_TRANSFORMERS
from tests.broken_files import broken_bytes, broken_json, is_read_or_refused
from tests.test_cli_text import tokenref

OLD, NEW = LIKE_TRANSFORMERS
TEXT: Final = "ab a12 <s>.A B ."
FLAGS: Final = {"lstrip": False, "rstrip": False, "normalized": False, "single_word": False}
BYTE_LEVEL: Final = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}
SPLIT: Final = {
    "type": "Split",
    "pattern": {"Regex": "12| "},
    "behavior": "Isolated",
    "invert": False,
}
PREFIX: Final = {
    "type": "Sequence",
    "normalizers": [
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    ],
}
TOKENS: Final = [
    *("<s>", "</s>", "<unk>", "a", "b", "Ġ", "▁", "ab", "Ġa", "▁a", ".", "1", "2", "12", "A", "B"),
    *("▁A", "ĠA", "Ġ."),
]
MERGES: Final = ["a b", "Ġ a", "▁ a", "1 2", "▁ A", "Ġ A", "Ġ ."]


def frame(*before: str) -> dict[str, Any]:
    """Return the template that puts tokens before a text."""
    pieces = [{"SpecialToken": {"id": name, "type_id": 0}} for name in before]
    a, b = ({"Sequence": {"id": name, "type_id": number}} for number, name in enumerate("AB"))
    table = {name: {"id": name, "ids": [TOKENS.index(name)], "tokens": [name]} for name in before}
    single = [*pieces, a]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, b],
        "special_tokens": table,
    }


def of_bytes(**sections: Any) -> dict[str, Any]:
    """Return a tokenizer.json that cuts and spells as GPT-2."""
    decoder = {**BYTE_LEVEL, "add_prefix_space": True}
    return of_letters(**{"pre_tokenizer": BYTE_LEVEL, "decoder": decoder, **sections})


def of_letters(**sections: Any) -> dict[str, Any]:
    """Return a tokenizer.json that takes a text as one piece."""
    added = [{"id": 0, "content": "<s>", **FLAGS, "special": True}]
    model = {"type": "BPE", "vocab": dict(zip(TOKENS, range(99), strict=False)), "merges": MERGES}
    decoder = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    joined = {"type": "Sequence", "decoders": [decoder, {"type": "Fuse"}]}
    return {"added_tokens": added, "model": model, "decoder": joined, **sections}


def of_words(**sections: Any) -> dict[str, Any]:
    """Return a tokenizer.json of BERT's kind."""
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ab", "a", "A", "##12", "b", ".", "<s>"]
    return {
        "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
        | {"strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": dict(zip(vocab, range(99), strict=False)),
        },
        **sections,
    }


def named(name: str, **settings: Any) -> dict[str, Any]:
    return {"tokenizer_config.json": {"tokenizer_class": name, **settings}}


LISTED: Final = {"0": {"content": "<s>", **FLAGS, "lstrip": True}, "30": {"content": "12", **FLAGS}}
CUT: Final = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
FILLED: Final = {
    "strategy": {"Fixed": 20},
    "direction": "Right",
    "pad_to_multiple_of": None,
    "pad_id": 2,
    "pad_type_id": 0,
    "pad_token": "<unk>",
}
FOLDERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "plain": {"tokenizer.json": of_bytes(), **named("PreTrainedTokenizerFast")},
    "plain prefix": {
        "tokenizer.json": of_bytes(pre_tokenizer={**BYTE_LEVEL, "add_prefix_space": True}),
        **named("PreTrainedTokenizerFast"),
    },
    "plain flags": {
        "tokenizer.json": of_bytes(),
        **named("PreTrainedTokenizerFast", added_tokens_decoder=LISTED, bos_token="<new>"),
    },
    "plain sizes": {
        "tokenizer.json": of_bytes(truncation=CUT, padding=FILLED),
        **named("PreTrainedTokenizerFast", model_max_length=1, padding_side="left"),
    },
    "plain cleaning": {
        "tokenizer.json": of_bytes(),
        **named("PreTrainedTokenizerFast", clean_up_tokenization_spaces=True),
    },
    "special map": {
        "tokenizer.json": of_bytes(),
        **named("PreTrainedTokenizerFast", additional_special_tokens=["12"]),
        "special_tokens_map.json": {
            "bos_token": {"content": "<s>", **FLAGS},
            "pad_token": {"content": "A", **FLAGS, "lstrip": True},
        },
        "added_tokens.json": {"B": 40},
    },
    "unknown": {"tokenizer.json": of_bytes(), **named("OurTokenizer")},
    "Llama of bytes": {"tokenizer.json": of_bytes(), **named("LlamaTokenizerFast")},
    "Llama": {"tokenizer.json": of_letters(normalizer=PREFIX), **named("LlamaTokenizer")},
    "Llama template": {
        "tokenizer.json": of_letters(normalizer=PREFIX, post_processor=frame("<unk>")),
        **named("LlamaTokenizerFast", add_bos_token=False, add_eos_token=True, legacy=True),
    },
    "Llama prefix": {
        "tokenizer.json": of_letters(normalizer=PREFIX),
        **named("LlamaTokenizer", add_prefix_space=False),
    },
    "Llama no BOS": {"tokenizer.json": of_letters(), **named("LlamaTokenizer", bos_token=None)},
    "Llama of phi3": {
        "tokenizer.json": of_letters(normalizer=PREFIX),
        **named("LlamaTokenizer"),
        "config.json": {"model_type": "phi3"},
    },
    "Gemma": {"tokenizer.json": of_letters(), **named("GemmaTokenizer")},
    "GPT2": {
        "tokenizer.json": of_bytes(
            pre_tokenizer={
                "type": "Sequence",
                "pretokenizers": [SPLIT, {**BYTE_LEVEL, "use_regex": False}],
            }
        ),
        **named("GPT2Tokenizer"),
    },
    "GPT2 of qwen2": {
        "tokenizer.json": of_bytes(normalizer={"type": "Lowercase"}),
        **named("GPT2Tokenizer"),
        "config.json": {"model_type": "qwen2"},
    },
    "type alone": {"tokenizer.json": of_bytes(), "config.json": {"model_type": "gpt_neox"}},
    "Qwen2": {"tokenizer.json": of_bytes(), **named("Qwen2TokenizerFast", pad_token="<s>")},
    "Qwen3.5": {"tokenizer.json": of_bytes(), **named("Qwen3_5Tokenizer")},
    "GPTNeoX": {"tokenizer.json": of_bytes(), **named("GPTNeoXTokenizer", add_eos_token=True)},
    "Cohere": {
        "tokenizer.json": of_bytes(post_processor=frame("<s>")),
        **named("CohereTokenizer", bos_token="<s>", add_prefix_space=True),
    },
    "Roberta": {"tokenizer.json": of_bytes(), **named("RobertaTokenizer", mask_token="A")},
    "Bert": {"tokenizer.json": of_words(), **named("BertTokenizer")},
    "Bert cased": {
        "tokenizer.json": of_words(),
        **named("BertTokenizerFast", do_lower_case=False, clean_up_tokenization_spaces=True),
    },
}
RECORDED: Final[Mapping[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "like_transformers.json").read_text()
)


def written(folder: Path, files: Mapping[str, Any]) -> Path:
    """Write the files of a folder."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    return folder


def answered(tokenizer: Any) -> dict[str, Any]:
    """Return the ids of a text and of a pair, and the text of the ids, by either's methods."""
    ids = [tokenizer.encode(TEXT), tokenizer.encode("ab", "A")]
    return {"ids": ids, "text": [tokenizer.decode(one) for one in ids]}


def loaded(folder: Path, version: str) -> dict[str, Any] | None:
    """Return the answers of the reference."""
    try:
        return answered(load(folder, like=version))
    except VocabularyFileError:
        return None


@pytest.mark.parametrize("version", LIKE_TRANSFORMERS)
@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_read_as_that_version_did(name: str, version: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "folder", FOLDERS[name])
    assert loaded(folder, version) == RECORDED[name][version]
    assert load(folder).encode(TEXT) == load(folder / "tokenizer.json").encode(TEXT)


def test_the_recorded_folders_tell_the_versions_apart() -> None:
    different = [name for name in FOLDERS if RECORDED[name][OLD] != RECORDED[name][NEW]]
    assert len(different) >= 15


def test_what_changes_is_said_in_words(tmp_path: Path) -> None:
    folder = written(tmp_path / "folder", FOLDERS["Llama template"])
    assert load(folder).changes == ()
    assert load(folder, like=OLD).changes == (
        "post_processor: LlamaTokenizer makes 'A </s>', the file '<unk> A'",
        "added_tokens: '</s>' is added, its id is 1",
        "added_tokens: '<unk>' is added, its id is 2",
    )
    assert load(folder, like=NEW).changes[:2] == (
        "normalizer: LlamaTokenizer has none, the file Prepend, Replace",
        "pre_tokenizer: LlamaTokenizer has Metaspace, the file none",
    )
    assert load(folder, like=NEW).audit().changes == load(folder, like=NEW).changes
    other = written(tmp_path / "other", FOLDERS["plain sizes"])
    assert load(other, like=NEW).changes[:2] == (
        "truncation: not used unless the call asks for it",
        "padding: not used unless the call asks for it",
    )


def test_special_tokens_that_are_text_are_said_too(tmp_path: Path) -> None:
    files = {"tokenizer.json": of_bytes(), **named("GPT2Tokenizer", split_special_tokens=True)}
    folder = written(tmp_path / "folder", files)
    for version in LIKE_TRANSFORMERS:
        assert load(folder, like=version).changes[-1] == (
            'split_special_tokens: not done here; pass special="ordinary" for it'
        )


def test_folders_that_cannot_be_read_so_are_refused(tmp_path: Path) -> None:
    other = written(tmp_path / "other", {"tokenizer.json": of_bytes(), **named("XLNetTokenizer")})
    for version in LIKE_TRANSFORMERS:
        with pytest.raises(VocabularyFileError, match=r"known here for .*, got XLNetTokenizer"):
            load(other, like=version)
    words = written(tmp_path / "words", {"tokenizer.json": of_words(), **named("GPT2Tokenizer")})
    with pytest.raises(VocabularyFileError, match="GPT2Tokenizer cannot have the model WordPiece"):
        load(words, like=NEW)
    odd = written(
        tmp_path / "odd",
        {"tokenizer.json": of_bytes(), **named("GPT2Tokenizer", bos_token={"content": "a"})},
    )
    with pytest.raises(VocabularyFileError, match="bos_token must be text"):
        load(odd, like=OLD)
    with pytest.raises(VocabularyFileError, match=r"tiny must be a folder with a tokenizer\.json"):
        load("tiny", like=NEW)
    with pytest.raises(ParameterError, match="like must be one of"):
        load(odd, like="transformers")


def test_the_command_reads_folders_so_and_audits_them(tmp_path: Path) -> None:
    folder = written(tmp_path / "folder", FOLDERS["GPT2"])
    options = ("--vocabulary", folder, "--like", NEW)
    assert json.loads(tokenref("encode", "ab a12", *options, "--json").output)["ids"] == [7, 8, 13]
    assert tokenref("count", "ab a12", *options).output == "3\n"
    assert tokenref("decode", "7", "8", *options).output == "ab a"
    change = "pre_tokenizer: GPT2Tokenizer has ByteLevel, the file Split, ByteLevel"
    audited = tokenref("audit", folder).output
    assert f"as transformers-5 {change}\n" in audited
    assert json.loads(tokenref("audit", folder, "--json").output)["changes"][NEW][0] == change
    other = written(tmp_path / "other", FOLDERS["unknown"])
    assert "as transformers-4 not known: " in tokenref("audit", other).output
    assert "as transformers-5 the same\n" in tokenref("audit", other).output
    assert "as transformers" not in tokenref("audit", other / "tokenizer.json").output


BREAKABLE: Final = {
    "tokenizer_config.json": named(
        "CohereTokenizerFast",
        added_tokens_decoder=LISTED,
        bos_token={"__type": "AddedToken", "content": "<s>", **FLAGS},
        additional_special_tokens=["12", "<more>"],
        extra_special_tokens={"image_token": "<i>"},
        add_prefix_space=True,
        clean_up_tokenization_spaces=False,
    )["tokenizer_config.json"],
    "special_tokens_map.json": FOLDERS["special map"]["special_tokens_map.json"]
    | {"additional_special_tokens": [{"content": "12", **FLAGS}], "unk_token": "<unk>"},
    "config.json": {"model_type": "cohere", "tokenizer_class": "GPT2Tokenizer"},
    "added_tokens.json": {"B": 40},
}


@given(
    st.sampled_from(sorted(BREAKABLE)), st.booleans(), st.sampled_from(LIKE_TRANSFORMERS), st.data()
)
def test_broken_settings_are_read_or_refused(
    name: str, lists: bool, version: str, data: st.DataObject
) -> None:
    contents = {"tokenizer.json": json.dumps(of_bytes()).encode()}
    tokenizer = parse_tokenizer_json(contents["tokenizer.json"], "folder/tokenizer.json")
    good = {file: dict(content) for file, content in BREAKABLE.items()}
    if not lists:
        del good["tokenizer_config.json"]["added_tokens_decoder"]
    contents |= {file: json.dumps(content).encode() for file, content in good.items()}
    contents[name] = data.draw(broken_json(good[name]) | broken_bytes(contents[name]))
    is_read_or_refused(lambda: like_transformers(tokenizer, contents, "folder", version), "folder")


# ---- the installed version


@pytest.fixture(scope="module")
def library() -> Any:
    """Return the library, which must be of a version that was recorded."""
    found = pytest.importorskip("transformers", reason="this test is about transformers")
    if found.__version__ not in {"4.57.6", "5.23.0"}:
        pytest.skip(f"transformers {found.__version__} was not recorded")
    found.logging.set_verbosity_error()
    return found


def asked(library: Any, folder: Path) -> dict[str, Any] | None:
    """Return the answers of the library, or None if it fails."""
    try:
        return answered(library.AutoTokenizer.from_pretrained(str(folder)))
    except Exception:  # noqa: BLE001 - it raises anything
        return None


def version_of(library: Any) -> str:
    return f"transformers-{library.__version__[0]}"


@pytest.mark.parametrize("name", FOLDERS)
def test_the_library_still_answers_so(name: str, tmp_path: Path, library: Any) -> None:
    folder = written(tmp_path / "folder", FOLDERS[name])
    assert asked(library, folder) == RECORDED[name][version_of(library)]


def test_the_library_splits_special_tokens_if_it_is_told_to(tmp_path: Path, library: Any) -> None:
    files = {"tokenizer.json": of_bytes(), **named("GPT2Tokenizer", split_special_tokens=True)}
    folder = written(tmp_path / "folder", files)
    theirs = library.AutoTokenizer.from_pretrained(str(folder))
    ours = load(folder, like=version_of(library))
    assert theirs.encode("ab<s>A") == ours.encode("ab<s>A", special="ordinary")
    assert theirs.encode("ab<s>A") != ours.encode("ab<s>A")


def test_the_library_agrees_on_random_folders(tmp_path: Path, library: Any) -> None:
    agreed = 0
    for number, files in enumerate(random_folders(random.Random(5), 60)):
        folder = written(tmp_path / str(number), files)
        found = loaded(folder, version_of(library))
        if found is not None:
            assert found == asked(library, folder), files
            agreed += 1
    assert agreed >= 40


def random_folders(source: random.Random, count: int) -> Iterator[Mapping[str, Any]]:
    """Yield folders with settings drawn at random, each missing more often than not."""

    def flag(name: str, chance: float = 0.3) -> dict[str, Any]:
        return {name: source.random() < 0.5} if source.random() < chance else {}

    def token(content: str) -> str | dict[str, Any]:
        if source.random() < 0.5:
            return content
        flags = {key: source.random() < 0.3 for key in FLAGS if key != "single_word"}
        return {"__type": "AddedToken", "content": content, **flags}

    for _ in range(count):
        make, classes = source.choice(
            [
                (
                    of_bytes,
                    ("GPT2", "Qwen2", "GPTNeoX", "Cohere", "Roberta", "Llama", "PreTrained"),
                ),
                (of_letters, ("Llama", "Llama", "Gemma", "PreTrained")),
            ]
        )
        file = make(
            normalizer=source.choice([None, PREFIX, {"type": "NFC"}]),
            post_processor=source.choice([None, frame("<s>")]),
        )
        settings: dict[str, Any] = {"clean_up_tokenization_spaces": source.random() < 0.3}
        for name in ("add_bos_token", "add_eos_token", "add_prefix_space", "legacy"):
            settings |= flag(name)
        for name in ("bos_token", "eos_token", "unk_token", "pad_token", "mask_token"):
            if source.random() < 0.3:
                settings[name] = token(source.choice(["<s>", "</s>", "<unk>", "12", "<new>"]))
        if source.random() < 0.3:
            settings["added_tokens_decoder"] = LISTED
        if source.random() < 0.2:
            settings["additional_special_tokens"] = ["A", "<more>"][: source.randint(1, 2)]
        suffix = source.choice(["", "Fast"])
        yield {
            "tokenizer.json": file,
            **named(f"{source.choice(classes)}Tokenizer{suffix}", **settings),
        }


def test_the_table_has_the_classes_of_the_library(library: Any) -> None:
    from transformers.models.auto import tokenization_auto as auto

    if version_of(library) == OLD:
        pytest.skip("the names are those of version 5")
    content = document("transformers")[NEW]
    listed = {one: name for name, types in content["model_types"].items() for one in types}
    named = {one: name or "" for one, name in auto.TOKENIZER_MAPPING_NAMES.items()}
    for one, name in named.items():
        if name == "MistralCommonBackend":  # if mistral-common is installed
            named[one] = "TokenizersBackend"
    assert listed == named
    assert set(content["wrong_classes"]) == auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS
    offered = {name for name in dir(library) if name.endswith(("Tokenizer", "TokenizerFast"))}
    classes = {**content["classes"], **content["aliases"]}
    offered |= {name for name in auto.TOKENIZER_MAPPING_NAMES.values() if name is not None}
    for name in offered:
        short = name.removesuffix("Fast")
        if short != "MistralCommonBackend":
            assert (short in classes) != (short in content["not_read"]), name
    for name, other in content["aliases"].items():
        found = getattr(auto.tokenizer_class_from_name(name), "__name__", "")
        assert found == (other or found)
        assert other or found in {"TokenizersBackend", "PythonBackend"}
