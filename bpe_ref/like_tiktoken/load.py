"""Files in the tiktoken format, under the names of `tiktoken.load`. Nothing is downloaded."""

from hashlib import sha256
from pathlib import Path

from bpe_ref.errors import VocabularyFileError
from bpe_ref.formats.files import read_unpacked
from bpe_ref.formats.tiktoken import parse_tiktoken, write_tiktoken


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Return the tokens and ranks in a file.

    Raises `ValueError` for a file that is not in the format, cannot be read, or
    has another sha256 than expected.

    >>> load_tiktoken_bpe("nowhere.tiktoken")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: nowhere.tiktoken cannot be read: No such file or directory
    """
    content = read_unpacked(Path(tiktoken_bpe_file))
    if expected_hash is not None and sha256(content).hexdigest() != expected_hash:
        raise VocabularyFileError(
            f"{tiktoken_bpe_file} must have sha256 {expected_hash}, "
            f"got {sha256(content).hexdigest()}"
        )
    return parse_tiktoken(content, tiktoken_bpe_file)


def dump_tiktoken_bpe(bpe_ranks: dict[bytes, int], tiktoken_bpe_file: str) -> None:
    """Write tokens by rank. Raises `ValueError` for what the format cannot hold.

    >>> dump_tiktoken_bpe({b"a": -1}, "example.tiktoken")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyError: a rank must be a whole number from 0 to 2^32-1, got -1 for b'a'
    """
    write_tiktoken(bpe_ranks, tiktoken_bpe_file)
