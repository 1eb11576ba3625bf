"""Claims about the registered vocabularies, where their files are found, and models' names."""

import gzip
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha1, sha256
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
import regex
import tiktoken.load
import tiktoken.model
from tiktoken_ext import openai_public

from bpe_ref import finding, registry
from bpe_ref.errors import ParameterError, UnknownVocabularyError, VocabularyFileError
from bpe_ref.finding import default_folder, find
from bpe_ref.formats.byte_level_json import write_tokenizer_json
from bpe_ref.loading import load
from bpe_ref.registry import (
    MODEL_PREFIXES,
    MODELS,
    REGISTRY,
    RegisteredVocabulary,
    encoding_name_for_model,
)
from bpe_ref.tokenizer import vocabulary_of
from bpe_ref.vocabulary import TextRules, Vocabulary
from tests.real_vocabularies import gpt2_original_files, real_file, real_vocabulary, rebuilt_file
from tokenref.fetching import fetch_vocabulary

SMALL = b"YQ== 0\nYg== 1\nYWI= 2\n"
VARIABLES = ("TOKENREF_VOCABULARIES", "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", "XDG_CACHE_HOME")
OF_TIKTOKEN = [name for name in REGISTRY if name != "voyage3_base"]
VOYAGE3_SPACES = ("a  b", "a \n\n b  ", "  \n", " \u3000x", "\r\n\r\n\t")


@pytest.fixture
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no vocabulary to be found, in any of the places."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(finding, "_bpe_openai_folder", lambda: None)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> RegisteredVocabulary:
    """Register a vocabulary of three tokens as cl100k_base."""
    entry = replace(
        REGISTRY["cl100k_base"],
        sha256=sha256(SMALL).hexdigest(),
        token_count=3,
        special_tokens=(("<|end|>", 7),),
    )
    monkeypatch.setattr(registry, "REGISTRY", {"cl100k_base": entry})
    monkeypatch.setattr(finding, "REGISTRY", {"cl100k_base": entry})
    return entry


def loaded(name: str | Path) -> Vocabulary:
    return vocabulary_of(load(name))


def cache_key(url: str | None) -> str:
    assert url is not None
    return sha1(url.encode(), usedforsecurity=False).hexdigest()


def run_python(script: str, environment: dict[str, str]) -> str:
    """Return what a script prints in an interpreter of its own."""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()


# --- what is registered ---------------------------------------------------------------------


def test_every_vocabulary_of_tiktoken_and_one_of_github_are_registered() -> None:
    assert set(REGISTRY) == {*openai_public.ENCODING_CONSTRUCTORS, "voyage3_base"}
    assert all(entry.name == name for name, entry in REGISTRY.items())


@pytest.mark.parametrize("name", OF_TIKTOKEN)
def test_pattern_special_tokens_address_and_digest_are_those_of_tiktoken(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[tuple[str, str]] = []

    def load(url: str, expected_hash: str) -> dict[bytes, int]:
        loaded.append((url, expected_hash))
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", load)
    monkeypatch.setattr(openai_public, "data_gym_to_mergeable_bpe_ranks", lambda **_: {})
    theirs = openai_public.ENCODING_CONSTRUCTORS[name]()
    entry = REGISTRY[name]
    assert entry.pattern == theirs["pat_str"]
    assert entry.special_tokens == tuple(theirs["special_tokens"].items())
    assert entry.text_rules() == TextRules(entry.pattern, entry.tables, None, whole_piece=True)
    if name == "gpt2":  # tiktoken has other files for it; the tokens are compared below
        assert loaded == []
        assert entry == replace(REGISTRY["r50k_base"], name="gpt2")
    else:
        assert loaded == [(entry.url, entry.sha256)]
        assert str(entry.url).endswith(f"/{entry.file}.tiktoken")


@pytest.mark.parametrize("name", [name for name in OF_TIKTOKEN if name != "gpt2"])
def test_a_vocabulary_has_the_tokens_ids_and_ranks_of_tiktoken(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = REGISTRY[name]
    (tmp_path / cache_key(entry.url)).write_bytes(real_file(entry.file))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    theirs = tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[name]())
    ours = loaded(name)
    assert {content: token for token, content in ours.tokens.items()} == theirs._mergeable_ranks
    assert ours.special_tokens == theirs._special_tokens
    assert ours.text.pattern == theirs._pat_str
    assert len(ours.tokens) == entry.token_count


def test_gpt2_has_the_tokens_that_tiktoken_builds_from_the_original_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    originals = gpt2_original_files()
    if originals is None:
        pytest.skip("there is no GPT-2 tokenizer file beside the checkout")
    folder = "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main"
    for file, content in zip(("vocab.bpe", "encoder.json"), originals, strict=True):
        (tmp_path / cache_key(f"{folder}/{file}")).write_bytes(content)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    theirs = openai_public.gpt2()["mergeable_ranks"]
    ours = real_vocabulary("gpt2")
    assert {content: token for token, content in ours.tokens.items()} == theirs


@pytest.mark.parametrize("file", ["r50k_base", "p50k_base"])
def test_the_file_rebuilt_for_tests_is_the_original_one(file: str) -> None:
    content = rebuilt_file(file)
    if content is None:
        pytest.skip("there is no GPT-2 tokenizer file beside the checkout")
    assert sha256(content).hexdigest() == REGISTRY[file].sha256


def test_p50k_base_has_no_token_where_its_special_token_is() -> None:
    vocabulary = real_vocabulary("p50k_base")
    assert vocabulary.token_bytes(50255) == b" gazed"
    assert vocabulary.token_bytes(50256) == b"<|endoftext|>"
    assert vocabulary.token_bytes(50257) == b"  "
    assert vocabulary.token_bytes(50280) == b" " * 25


def test_of_two_special_tokens_with_one_id_the_first_listed_is_what_tiktoken_decodes_to() -> None:
    special_tokens = dict(REGISTRY["o200k_harmony"].special_tokens)
    theirs = tiktoken.Encoding(
        "harmony",
        pat_str=".",
        mergeable_ranks={bytes([byte]): byte for byte in range(256)},
        special_tokens=special_tokens,
    )
    twice = [name for name, token in special_tokens.items() if token == 200018]
    assert twice == ["<|endofprompt|>", "<|reserved_200018|>"]
    first: dict[int, str] = {}
    for name, token in special_tokens.items():
        first.setdefault(token, name)
    assert first == {token: theirs.decode([token]) for token in special_tokens.values()}


@pytest.mark.parametrize(
    "text",
    ["I'M 12345 ok", "x = 1;\n\n\n", "don'T'll", "e\u0301t\u00e9", "!!\r\n", *VOYAGE3_SPACES],
)
def test_the_pattern_of_voyage3_cuts_as_github_does(text: str) -> None:
    bindings = pytest.importorskip("bpe_openai._bindings")
    entry = REGISTRY["voyage3_base"]
    assert entry.normalization == "nfc"
    normalized = normalize("NFC", text)
    theirs = bindings.tokenizer_for_encoding("voyage3_base")
    assert regex.findall(entry.pattern, normalized) == theirs.pretokenize(normalized)
    assert theirs.encode(text) == theirs.encode(normalized)


def test_voyage3_has_as_many_tokens_as_registered_and_no_shortcut() -> None:
    vocabulary = real_vocabulary("voyage3_base")
    assert len(vocabulary.tokens) == REGISTRY["voyage3_base"].token_count
    assert vocabulary.special_tokens == {}
    assert not vocabulary.text.whole_piece


# --- where files are found ------------------------------------------------------------------


@pytest.mark.usefixtures("_nowhere")
def test_places_are_searched_in_the_order_documented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: RegisteredVocabulary
) -> None:
    monkeypatch.setattr(finding, "_bpe_openai_folder", lambda: tmp_path / "wheel")
    monkeypatch.setenv("TOKENREF_VOCABULARIES", f"{tmp_path}/first{os.pathsep}{tmp_path}/second")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    expected = [
        tmp_path / "first" / "cl100k_base.tiktoken",
        tmp_path / "first" / "cl100k_base.tiktoken.gz",
        tmp_path / "second" / "cl100k_base.tiktoken",
        tmp_path / "second" / "cl100k_base.tiktoken.gz",
        tmp_path / "cache" / cache_key(small.url),
        tmp_path / "wheel" / "data" / "cl100k_base.tiktoken.gz",
    ]
    for path in expected:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(SMALL) if path.suffix == ".gz" else SMALL)
    for path in expected:
        assert find("cl100k_base") == path
        assert loaded("cl100k_base").tokens == {0: b"a", 1: b"b", 2: b"ab"}
        path.unlink()
    with pytest.raises(UnknownVocabularyError):
        find("cl100k_base")


@pytest.mark.usefixtures("_nowhere")
@pytest.mark.parametrize("extension", [".tiktoken", ".tiktoken.gz"])
def test_the_folder_of_downloads_is_the_last_place(tmp_path: Path, extension: str) -> None:
    path = tmp_path / "home" / ".cache" / "tokenref" / f"p50k_base{extension}"
    path.parent.mkdir(parents=True)
    path.touch()
    assert find("p50k_edit") == path


@pytest.mark.usefixtures("_nowhere")
def test_the_cache_of_tiktoken_is_found_by_its_own_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = cache_key(REGISTRY["o200k_base"].url)
    folders = [tmp_path / "tiktoken", tmp_path / "gym", tmp_path / "temporary" / "data-gym-cache"]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / key).touch()
    assert find("o200k_harmony") == folders[2] / key
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(folders[1]))
    assert find("o200k_harmony") == folders[1] / key
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folders[0]))
    assert find("o200k_harmony") == folders[0] / key
    (tmp_path / key).touch()  # in the working folder, where an empty name must not lead
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    with pytest.raises(UnknownVocabularyError):
        find("o200k_harmony")


def test_where_tiktoken_puts_a_file_is_where_it_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TOKENREF_VOCABULARIES", raising=False)
    monkeypatch.setattr(tiktoken.load, "read_file", lambda _: SMALL)
    url = REGISTRY["r50k_base"].url
    assert url is not None
    tiktoken.load.read_file_cached(url)
    assert find("r50k_base").read_bytes() == SMALL


@pytest.mark.usefixtures("_nowhere")
def test_a_file_found_nowhere_is_one_sentence_with_every_place_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENREF_VOCABULARIES", "mine")
    with pytest.raises(UnknownVocabularyError) as caught:
        find("gpt2")
    assert str(caught.value) == (
        "vocabulary gpt2 was found nowhere: there is no mine/r50k_base.tiktoken, "
        "no mine/r50k_base.tiktoken.gz, "
        f"no {tmp_path}/temporary/data-gym-cache/{cache_key(REGISTRY['gpt2'].url)}, "
        f"no {tmp_path}/home/.cache/tokenref/r50k_base.tiktoken, "
        f"no {tmp_path}/home/.cache/tokenref/r50k_base.tiktoken.gz; "
        "run `tokenref vocabulary fetch gpt2`, or name its folder in TOKENREF_VOCABULARIES"
    )


@pytest.mark.usefixtures("_nowhere")
def test_for_a_file_that_nobody_offers_the_remedy_is_the_package_that_carries_it() -> None:
    with pytest.raises(
        UnknownVocabularyError, match="install the package bpe-openai, which carries it, or name"
    ):
        find("voyage3_base")


def test_the_package_bpe_openai_is_used_and_not_imported() -> None:
    pytest.importorskip("bpe_openai")
    script = (
        "import sys; from bpe_ref.finding import find; print(find('voyage3_base'));"
        "assert not {'bpe_openai', 'tiktoken'} & set(sys.modules)"
    )
    environment = {k: v for k, v in os.environ.items() if k not in VARIABLES}
    found = Path(run_python(script, environment))
    assert found.name == "voyage3_base.tiktoken.gz"
    assert found.parent.name == "data"


@pytest.mark.parametrize("stand_in", [None, "module without a spec"])
def test_a_package_that_is_absent_is_no_place(
    stand_in: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bpe_openai", stand_in)
    assert finding._bpe_openai_folder() is None


@pytest.mark.usefixtures("_nowhere")
def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.tiktoken").write_bytes(SMALL)
    for name in ("mine.tiktoken", f".{os.sep}mine.tiktoken", str(tmp_path / "mine.tiktoken")):
        assert find(name) == Path(name)
        assert loaded(name).tokens == {0: b"a", 1: b"b", 2: b"ab"}
    assert loaded(Path("mine.tiktoken")).tokens == {0: b"a", 1: b"b", 2: b"ab"}
    assert find("not there/mine.tiktoken") == Path("not there/mine.tiktoken")


@pytest.mark.usefixtures("_nowhere")
def test_a_registered_name_is_not_a_file_of_that_name_but_a_path_is(tmp_path: Path) -> None:
    (tmp_path / "gpt2").write_bytes(SMALL)
    nowhere = (
        r"^vocabulary gpt2 was found nowhere: .*; \./gpt2 is what this folder has by that name$"
    )
    with pytest.raises(UnknownVocabularyError, match=nowhere):
        find("gpt2")
    assert len(loaded(Path("gpt2")).tokens) == 3


@pytest.mark.usefixtures("_nowhere")
def test_the_package_that_carries_a_file_is_named_beside_the_download() -> None:
    remedies = "; run `tokenref vocabulary fetch cl100k_base`, or install the package bpe-openai, "
    with pytest.raises(UnknownVocabularyError, match=f"{remedies}which carries it, or name its"):
        find("cl100k_base")
    with pytest.raises(UnknownVocabularyError, match=r"^((?!bpe-openai, which).)*$"):
        find("p50k_base")


@pytest.mark.usefixtures("_nowhere")
@pytest.mark.parametrize("name", ["cl100k", "", "CL100K_BASE", "x" * 5000, "a\0b"])
def test_an_unknown_name_is_told_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownVocabularyError) as caught:
        loaded(name)
    start, end = f"there is no file {name!r}"[:500], str(caught.value)[-400:]
    assert str(caught.value).startswith(start)
    assert end.endswith(
        "', and no vocabulary of that name; did you mean 'cl100k_base'?"
        if "100" in name
        else "', and no vocabulary of that name; known names are tiny, book, odd, gpt2, r50k_base, "
        "p50k_base, p50k_edit, cl100k_base, o200k_base, o200k_harmony, voyage3_base, "
        "and those of `tokenref vocabulary list`"
    )


@pytest.mark.usefixtures("_nowhere")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("QWEN3", "did you mean 'qwen3'?"),
        ("Llama-3.1", "did you mean 'llama3_1'?"),
        ("llama", "did you mean 'llama3_1'?"),
        ("mistral", "did you mean 'mistral_v1' or 'mistral_v3'?"),
        ("p50k", "did you mean 'p50k_base' or 'p50k_edit'?"),
        ("gpt-4o-mini", "the model of that name uses o200k_base"),
        ("GPT4O", "the model of that name uses o200k_base"),
        ("-", "known names are tiny, book, odd, llama3_1, mistral_v1, mistral_v3, qwen3, gpt2, "),
    ],
)
def test_names_of_downloaded_tokenizers_are_suggested_however_they_are_written(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENREF_VOCABULARIES", f"{tmp_path / 'there'}{os.pathsep}{tmp_path}/no")
    for file in ("qwen3/tokenizer.json", "llama3_1/tokenizer.json", "mistral_v1.model"):
        (tmp_path / "there" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "there" / file).touch()
    for file in ("mistral_v3.model", ".hidden", "readme.txt", "gpt2.tiktoken"):
        (tmp_path / "there" / file).touch()
    with pytest.raises(UnknownVocabularyError) as caught:
        load(name)
    assert f"', and no vocabulary of that name; {said}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("https://x.org/tokenizer.json", "must be a name or a path: nothing is downloaded"),
        ("HTTP://x.org", "must be a name or a path: nothing is downloaded"),
        ("~/x.json", "cannot be read: ~ is not expanded; give the folder"),
        ("~user/x.json", "cannot be read: ~ is not expanded; give the folder"),
        ("a~/x.json", "cannot be read: No such file or directory"),
    ],
)
def test_addresses_and_folders_of_users_are_not_resolved(name: str, reason: str) -> None:
    with pytest.raises(VocabularyFileError) as caught:
        load(name)
    assert str(caught.value) == f"{name} {reason}"


def test_a_folder_may_be_called_as_the_shell_calls_the_one_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "~").mkdir()
    write_tokenizer_json(vocabulary_of(load("tiny")), tmp_path / "~" / "x.json")
    monkeypatch.chdir(tmp_path)
    assert len(load("~/x.json")) == len(load("tiny"))


def test_a_model_cannot_be_downloaded_but_its_vocabulary_can(tmp_path: Path) -> None:
    for name, used in (("gpt-4o", "o200k_base"), ("text-embedding-3-small", "cl100k_base")):
        sentence = f"name must be a vocabulary, such as {used}, which the model of that name uses"
        with pytest.raises(UnknownVocabularyError, match=f"^{sentence}, got '{name}'$"):
            fetch_vocabulary(name, tmp_path)


@pytest.mark.usefixtures("_nowhere")
def test_the_name_of_a_model_is_no_vocabulary_but_leads_to_one() -> None:
    for name in ("gpt-4o-mini", "gpt4o", "GPT-4o"):
        with pytest.raises(UnknownVocabularyError, match=r"that name uses o200k_base$"):
            loaded(name)


@pytest.mark.usefixtures("_nowhere")
def test_the_exact_name_of_a_model_is_that_of_its_vocabulary_unless_a_file_has_it(
    tmp_path: Path, small: RegisteredVocabulary
) -> None:
    with pytest.raises(UnknownVocabularyError, match="vocabulary cl100k_base was found nowhere"):
        load("gpt-4")
    default_folder().mkdir(parents=True)
    (default_folder() / "cl100k_base.tiktoken").write_bytes(SMALL)
    assert (load("gpt-4").name, len(load("gpt-4"))) == ("cl100k_base", 4)
    with pytest.raises(ParameterError, match="must not be given for cl100k_base"):
        load("gpt-4", pattern="gpt2")
    write_tokenizer_json(vocabulary_of(load("tiny")), tmp_path / "gpt-4")
    assert load("gpt-4").encode("to be") == load("tiny").encode("to be")


@pytest.mark.usefixtures("_nowhere")
def test_a_folder_and_a_pipe_are_said_to_be_no_files(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(VocabularyFileError, match="folder must hold one of tokenizer"):
        loaded("folder")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(VocabularyFileError, match="pipe cannot be read: it is a pipe"):
        loaded("pipe")


@pytest.mark.usefixtures("_nowhere")
def test_downloads_go_to_the_first_folder_named_or_to_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert default_folder() == tmp_path / "home" / ".cache" / "tokenref"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_folder() == tmp_path / "home" / ".cache" / "tokenref"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_folder() == tmp_path / "xdg" / "tokenref"
    monkeypatch.setenv("TOKENREF_VOCABULARIES", f"{os.pathsep}one{os.pathsep}two")
    assert default_folder() == Path("one")


# --- what is loaded -------------------------------------------------------------------------


@pytest.mark.usefixtures("_nowhere")
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_registered_file_with_another_digest_is_an_error_and_the_next_place_is_not_tried(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    small: RegisteredVocabulary,
    pack: Callable[[bytes], bytes],
) -> None:
    for folder, content in (("wrong", SMALL + b"YWE= 3\n"), ("right", SMALL)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "cl100k_base.tiktoken").write_bytes(pack(content))
    monkeypatch.setenv("TOKENREF_VOCABULARIES", f"wrong{os.pathsep}right")
    with pytest.raises(VocabularyFileError) as caught:
        loaded("cl100k_base")
    assert str(caught.value) == (
        f"wrong{os.sep}cl100k_base.tiktoken must be cl100k_base.tiktoken with sha256 "
        f"{small.sha256}, got {sha256(SMALL + b'YWE= 3' + bytes([10])).hexdigest()}"
    )


@pytest.mark.usefixtures("_nowhere", "small")
def test_a_name_brings_its_rules_and_special_tokens_and_a_path_brings_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cl100k_base.tiktoken"
    path.write_bytes(SMALL)
    monkeypatch.setenv("TOKENREF_VOCABULARIES", str(tmp_path))
    named, bare = loaded("cl100k_base"), loaded(path)
    assert named.text == REGISTRY["cl100k_base"].text_rules()
    assert named.special_tokens == {"<|end|>": 7}
    assert (bare.text, bare.special_tokens) == (TextRules(), {})


def test_what_is_seldom_needed_is_not_imported() -> None:
    script = "import sys, bpe_ref.registry; print(*sys.modules)"
    seldom_needed = {"bpe_openai", "gzip", "importlib.metadata", "tiktoken", "urllib.request"}
    assert not seldom_needed & set(run_python(script, dict(os.environ)).split())


# --- models ---------------------------------------------------------------------------------


def test_the_models_and_prefixes_are_those_of_tiktoken_in_its_order() -> None:
    assert tiktoken.model.MODEL_TO_ENCODING == MODELS
    assert list(tiktoken.model.MODEL_PREFIX_TO_ENCODING.items()) == list(MODEL_PREFIXES.items())


@pytest.mark.parametrize(
    "model",
    [
        *tiktoken.model.MODEL_TO_ENCODING,
        *tiktoken.model.MODEL_PREFIX_TO_ENCODING,
        *(f"{model}-2024-05-13" for model in tiktoken.model.MODEL_TO_ENCODING),
        *(f"ft:{model}:acme" for model in tiktoken.model.MODEL_TO_ENCODING),
        "",
        "GPT-4",
        "gpt",
        "cl100k_base",
    ],
)
def test_a_model_has_the_vocabulary_that_tiktoken_gives_it(model: str) -> None:
    try:
        theirs = tiktoken.model.encoding_name_for_model(model)
    except KeyError:
        with pytest.raises(UnknownVocabularyError) as caught:
            encoding_name_for_model(model)
        assert str(caught.value) == (
            f"a model must be one that tiktoken 0.14.0 knows by name or prefix, got {model!r}"
        )
    else:
        assert encoding_name_for_model(model) == theirs


def test_every_vocabulary_of_a_model_is_registered() -> None:
    named: dict[str, Any] = {**MODELS, **MODEL_PREFIXES}
    assert set(named.values()) <= set(REGISTRY)
