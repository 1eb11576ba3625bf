"""Claims about reading and writing the tiktoken format."""

import gzip
import os
import tracemalloc
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref.errors import VocabularyError, VocabularyFileError
from bpe_ref.formats.files import MAXIMUM_SIZE, read_unpacked, write_atomically
from bpe_ref.formats.tiktoken import _parse_by_line, _parse_in_bulk, parse_tiktoken, write_tiktoken
from bpe_ref.vocabulary.merges import ID_LIMIT
from tests.real_vocabularies import real_file

SMALL = b"YQ== 0\nYg== 1\nYWI= 2\n"


def read_tiktoken(path: str | os.PathLike[str]) -> dict[bytes, int]:
    return parse_tiktoken(read_unpacked(path), os.fspath(path))


def test_writing_through_a_link_changes_what_it_leads_to(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomically(b"new", link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    write_atomically(b"gone", os.devnull)
    assert not Path(os.devnull).is_file()
    with pytest.raises(IsADirectoryError):
        write_atomically(b"x", tmp_path)
    assert list(tmp_path.iterdir()) == []


def rank_tables() -> st.SearchStrategy[dict[bytes, int]]:
    """Draw tokens with distinct ranks, in any order, with holes."""
    return st.dictionaries(
        st.binary(min_size=1, max_size=8), st.integers(0, ID_LIMIT - 1), min_size=1, max_size=20
    ).filter(lambda ranks: len(set(ranks.values())) == len(ranks))


def text_of(ranks: dict[bytes, int]) -> bytes:
    """Return the text that the format asks for, in the order given."""
    return b"".join(b64encode(token) + f" {rank}\n".encode() for token, rank in ranks.items())


@st.composite
def damaged_texts(draw: st.DrawFn) -> bytes:
    """Draw a well-formed text with up to three places overwritten, cut out or doubled."""
    text = text_of(draw(rank_tables()))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(start + 4, len(text))))
        piece = draw(st.sampled_from([b"", b"=", b" ", b"\n", b"\r\n", b"-", b"0", b"A", b"_"]))
        text = text[:start] + (piece or text[start:end] * draw(st.integers(0, 2))) + text[end:]
    return text


def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("written")

    @given(rank_tables())
    def round_trip(ranks: dict[bytes, int]) -> None:
        write_tiktoken(ranks, folder / "some.tiktoken")
        assert read_tiktoken(folder / "some.tiktoken") == ranks

    round_trip()


def test_tokens_are_written_by_rank(tmp_path: Path) -> None:
    write_tiktoken({b"ab": 9, b"a": 3, b"b": 5}, tmp_path / "some.tiktoken")
    assert (tmp_path / "some.tiktoken").read_bytes() == b"YQ== 3\nYg== 5\nYWI= 9\n"


@pytest.mark.parametrize("file", ["r50k_base", "p50k_base", "cl100k_base", "voyage3_base"])
def test_a_real_file_is_read_in_bulk_and_written_byte_for_byte(file: str, tmp_path: Path) -> None:
    content = real_file(file)
    ranks = _parse_in_bulk(content)
    assert ranks is not None
    assert ranks == {
        b64decode(line.split()[0]): int(line.split()[1]) for line in content.splitlines()
    }
    write_tiktoken(ranks, tmp_path / "again.tiktoken")
    assert (tmp_path / "again.tiktoken").read_bytes() == content


def test_the_rank_is_in_its_column_and_not_the_line_number() -> None:
    assert parse_tiktoken(b"YWI= 70000\nYQ== 5\nYg== 3\n", "x") == {b"ab": 70000, b"a": 5, b"b": 3}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SMALL.removesuffix(b"\n"), id="no last line end"),
        pytest.param(SMALL.replace(b"\n", b"\r\n"), id="CR LF"),
        pytest.param(b"\n" + SMALL.replace(b"\n", b"\n\n"), id="empty lines"),
        pytest.param(SMALL.replace(b" ", b" 0000000000000"), id="leading zeros"),
    ],
)
def test_these_are_the_same_vocabulary(text: bytes) -> None:
    assert parse_tiktoken(text, "x") == {b"a": 0, b"b": 1, b"ab": 2}


@given(rank_tables())
def test_a_well_formed_text_is_read_in_bulk(ranks: dict[bytes, int]) -> None:
    assert _parse_in_bulk(text_of(ranks)) == ranks


@given(damaged_texts())
def test_reading_in_bulk_never_differs_from_reading_by_line(text: bytes) -> None:
    in_bulk = _parse_in_bulk(text)
    if in_bulk is not None:
        assert _parse_by_line(text, "x") == in_bulk


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "x must hold at least one token, it holds none"),
        (b"\n\r\n\n", "x must hold at least one token, it holds none"),
        (SMALL + b"YW 3\n", "x, line 4: a token must be canonical base64, got b'YW'"),
        (SMALL + b"YWE 3\n", "x, line 4: a token must be canonical base64, got b'YWE'"),
        (SMALL + b"YW%h 3\n", "x, line 4: a token must be canonical base64, got b'YW%h'"),
        (SMALL + b"YW_h 3\n", "x, line 4: a token must be canonical base64, got b'YW_h'"),
        (SMALL + b"Yx== 3\n", "x, line 4: a token must be canonical base64, got b'Yx=='"),
        (SMALL + b"YWF= 3\n", "x, line 4: a token must be canonical base64, got b'YWF='"),
        (SMALL + b"YWFh= 3\n", "x, line 4: a token must be canonical base64, got b'YWFh='"),
        (SMALL + b"YQ==YQ== 3\n", "x, line 4: a token must be canonical base64, got b'YQ==YQ=='"),
        (SMALL + b"== 3\n", "x, line 4: a token must be canonical base64, got b'=='"),
        (b"\xef\xbb\xbf" + SMALL, "x, line 1: a token must be canonical base64, got b'\\xef\\xbb"),
        (SMALL + b" 3\n", "x, line 4: a token must have at least one byte, got b''"),
        (SMALL + b"YWE=\n", "x, line 4: a line must be a token, one space and a rank, got b'YWE='"),
        (SMALL + b"YWE= 3 4\n", "a token, one space and a rank, got b'YWE= 3 4'"),
        (SMALL + b"YWE=  3\n", "a token, one space and a rank, got b'YWE=  3'"),
        (SMALL + b"YWE=\t3\n", "a token, one space and a rank, got b'YWE=\\t3'"),
        (SMALL + b"YWE= 3 \n", "a token, one space and a rank, got b'YWE= 3 '"),
        (bytes(200), f"one space and a rank, got {bytes(60)!r} and 140 more"),
        (SMALL + b"YQ== 3\n", "x, line 4: each token must come once, but b'a' is also on line 1"),
        (SMALL + b"YWE= 1\n", "x, line 4: each rank must come once, but 1 is also on line 2"),
        (SMALL + b"YWE= 01\n", "x, line 4: each rank must come once, but 1 is also on line 2"),
        (SMALL + b"YWE= -1\n", "x, line 4: a rank must not be negative, got b'-1'"),
        (SMALL + b"YWE= \n", "x, line 4: a rank must be ASCII digits, got b''"),
        (SMALL + b"YWE= +3\n", "x, line 4: a rank must be ASCII digits, got b'+3'"),
        (SMALL + b"YWE= 1_0\n", "x, line 4: a rank must be ASCII digits, got b'1_0'"),
        (SMALL + b"YWE= 3.0\n", "x, line 4: a rank must be ASCII digits, got b'3.0'"),
        (SMALL + b"YWE= three\n", "x, line 4: a rank must be ASCII digits, got b'three'"),
        (SMALL + "YWE= \u0661\n".encode(), "a rank must be ASCII digits, got b'\\xd9\\xa1'"),
        (SMALL + b"YWE= 4294967296\n", "a rank must be at most 2^32-1, got b'4294967296'"),
        (
            SMALL + b"YWE= " + b"9" * 9000 + b"\n",
            f"at most 2^32-1, got {b'9' * 60!r} and 8940 more",
        ),
    ],
)
def test_a_bad_text_is_refused_in_one_sentence_with_the_place(text: bytes, sentence: str) -> None:
    with pytest.raises(VocabularyFileError) as caught:
        parse_tiktoken(text, "x")
    assert sentence in str(caught.value)


def test_the_largest_rank_is_allowed() -> None:
    assert parse_tiktoken(b"YQ== 4294967295\n", "x") == {b"a": 4294967295}


def test_the_line_is_counted_in_the_file_with_its_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "some.tiktoken"
    path.write_bytes(b"YQ== 0\r\n\r\nYg== zero\r\n")
    with pytest.raises(VocabularyFileError) as caught:
        read_tiktoken(path)
    assert str(caught.value) == f"{path}, line 3: a rank must be ASCII digits, got b'zero'"


@pytest.mark.parametrize("name", ["some.tiktoken", "some.tiktoken.gz"])
@pytest.mark.parametrize(
    "pack",
    [
        pytest.param(bytes, id="plain"),
        pytest.param(gzip.compress, id="gzip"),
        pytest.param(
            lambda text: gzip.compress(text[:9]) + gzip.compress(text[9:]), id="two members"
        ),
    ],
)
def test_gzip_is_told_by_its_first_bytes_and_not_by_the_name(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    (tmp_path / name).write_bytes(pack(SMALL))
    assert read_tiktoken(tmp_path / name) == {b"a": 0, b"b": 1, b"ab": 2}


def test_gzip_that_is_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(SMALL)
    path = tmp_path / "some.tiktoken.gz"
    for length in range(2, len(packed)):
        path.write_bytes(packed[:length])
        with pytest.raises(VocabularyFileError) as caught:
            read_tiktoken(path)
        assert str(caught.value) == (
            f"{path} must be whole, but its gzip data is cut off after {length} bytes"
        )


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda packed: packed[:-8] + b"\0" + packed[-7:], id="checksum"),
        pytest.param(lambda packed: packed[:2] + b"\7" + packed[3:], id="method"),
        pytest.param(lambda packed: packed[:10] + b"\xff" * 9 + packed[19:], id="data"),
        pytest.param(lambda packed: packed + b"more", id="something after it"),
    ],
)
def test_corrupt_gzip_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "some.tiktoken.gz"
    path.write_bytes(damage(gzip.compress(SMALL)))
    with pytest.raises(VocabularyFileError) as caught:
        read_tiktoken(path)
    assert str(caught.value).startswith(f"{path} must be sound gzip data: ")


@pytest.fixture
def _traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("_traced")
def test_two_gigabytes_of_zeros_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "zeros.tiktoken"
    with path.open("wb") as file:
        file.truncate(2 * 2**30)  # a hole, no disk
    with pytest.raises(VocabularyFileError) as caught:
        read_tiktoken(path)
    assert str(caught.value) == f"{path} must have at most {MAXIMUM_SIZE} bytes, it has more"
    assert tracemalloc.get_traced_memory()[1] < 2**20


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
def test_an_endless_file_is_refused() -> None:
    with pytest.raises(VocabularyFileError, match=r"^/dev/zero must have at most 67108864 bytes"):
        read_tiktoken("/dev/zero")


@pytest.mark.usefixtures("_traced")
def test_a_gigabyte_packed_small_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.tiktoken.gz"
    path.write_bytes(gzip.compress(bytes(2**26)) * 16)
    tracemalloc.reset_peak()
    with pytest.raises(VocabularyFileError) as caught:
        read_tiktoken(path)
    assert str(caught.value) == (
        f"{path} must have at most {MAXIMUM_SIZE} bytes unpacked, it has more"
    )
    assert tracemalloc.get_traced_memory()[1] < 4 * MAXIMUM_SIZE


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.tiktoken"
    path.write_bytes(SMALL + b"YWE= " + b"3".zfill(MAXIMUM_SIZE - len(SMALL) - 5))
    assert path.stat().st_size == MAXIMUM_SIZE
    packed = tmp_path / "large.tiktoken.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), compresslevel=1))
    assert read_tiktoken(path) == read_tiktoken(packed) == {b"a": 0, b"b": 1, b"ab": 2, b"aa": 3}


def test_an_empty_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(VocabularyFileError) as caught:
        read_tiktoken(tmp_path / "empty")
    assert str(caught.value) == f"{tmp_path / 'empty'} must hold at least one token, it holds none"


def test_a_missing_file_and_a_folder_are_refused_by_name(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none", "No such file or directory"), (tmp_path, ".*")):
        with pytest.raises(VocabularyFileError, match=rf"^{path} cannot be read: {reason}$"):
            read_tiktoken(path)


def test_a_path_with_a_nul_is_refused() -> None:
    with pytest.raises(VocabularyFileError, match=r"^'a\\x00b' cannot be read: "):
        read_tiktoken("a\0b")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="this system has no /proc/self/mem")
def test_a_file_that_opens_and_cannot_be_read_is_refused() -> None:
    with pytest.raises(VocabularyFileError, match=r"^/proc/self/mem cannot be read: Input/output"):
        read_tiktoken("/proc/self/mem")


@pytest.mark.parametrize(
    ("ranks", "sentence"),
    [
        ({}, "a vocabulary must have at least one token, got none"),
        ({b"": 0}, "a token must be at least one byte, got b''"),
        ({"a": 0}, "a token must be at least one byte, got 'a'"),
        ({b"a": -1}, "a rank must be a whole number from 0 to 2^32-1, got -1 for b'a'"),
        ({b"a": 2**32}, "from 0 to 2^32-1, got 4294967296 for b'a'"),
        ({b"a": 1.5}, "from 0 to 2^32-1, got 1.5 for b'a'"),
        ({b"a": True}, "from 0 to 2^32-1, got True for b'a'"),
        ({b"a": 1, b"b": 1}, "one token, but 1 is given to b'a' and to b'b'"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(
    ranks: dict[bytes, int], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(VocabularyError) as caught:
        write_tiktoken(ranks, tmp_path / "some.tiktoken")
    assert sentence in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "some.tiktoken"
    write_tiktoken({b"a": 0}, path)

    def full_disk(_self: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(VocabularyFileError) as caught:
        write_tiktoken({b"b": 0}, path)
    assert str(caught.value) == f"{path} cannot be written: No space left on device"
    assert list(tmp_path.iterdir()) == [path]
    assert read_tiktoken(path) == {b"a": 0}


def test_a_write_onto_a_folder_or_into_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    for path in (tmp_path / "folder", tmp_path / "none" / "some.tiktoken"):
        with pytest.raises(VocabularyFileError, match=f"^{path} cannot be written: "):
            write_tiktoken({b"a": 0}, path)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_reader_never_sees_half_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.tiktoken"
    write_atomically(b"old", path)
    seen: list[bytes] = []
    replace = Path.replace

    def watched(self: Path, target: Path) -> Path:
        seen.extend([path.read_bytes(), self.read_bytes()])
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    write_atomically(b"new" * 100_000, path)
    assert seen == [b"old", b"new" * 100_000]
    assert path.read_bytes() == b"new" * 100_000


@pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX")
def test_the_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    write_atomically(b"", tmp_path / "written")
    (tmp_path / "touched").touch()
    assert (tmp_path / "written").stat().st_mode == (tmp_path / "touched").stat().st_mode


def test_any_order_of_lines_is_the_same_vocabulary() -> None:
    lines = real_file("cl100k_base").splitlines(keepends=True)
    backwards = b"".join(reversed(lines))
    assert parse_tiktoken(backwards, "x") == parse_tiktoken(b"".join(lines), "x")
