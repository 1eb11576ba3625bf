"""Measure a `tokenizer.json` beside the library that it is made for.

    python -m benchmarks.tokenizer_files

Options come in as JSON on standard input, numbers go out as JSON on standard
output, as in `measure.py`. The library is Hugging Face tokenizers; `run.py`
says in the environment that it has one thread. It is asked as its users do:
`tokenizer.encode(part).ids`, for one part of the text after the other.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Final

from tokenizers import Tokenizer

from benchmarks.measure import Numbers, throughput, time_of
from benchmarks.texts import parts_of
from bpe_ref.formats.hugging_face import parse_tokenizer_json

_GZIP: Final = b"\x1f\x8b"


def passes(path: str, text: str, length: int) -> Numbers:
    """Load a file, encode a text in parts for the first time in this process, and again.

    Then also return everything about the tokens, and decode them. Of loading, the number is ours as
    a multiple of the library's; of the others it is our throughput as a multiple of the library's.
    Raises `ValueError` if the ids are not the same.
    """
    content = Path(path).read_bytes()
    if content.startswith(_GZIP):
        content = gzip.decompress(content)
    string = content.decode()
    loading = time_of(lambda: Tokenizer.from_str(string))
    our_loading = time_of(lambda: parse_tokenizer_json(content, path))
    theirs, ours = Tokenizer.from_str(string), parse_tokenizer_json(content, path)
    found = {
        "load": our_loading.seconds / loading.seconds,
        "load_wall": our_loading.seconds_wall / loading.seconds_wall,
    }
    theirs.encode("Hello, world!")  # what is loaded on demand is loaded now
    ours.encode("Hello, world!")
    parts = parts_of(text, length)
    for name in ("first", "repeated"):
        their_time = time_of(lambda: [theirs.encode(part).ids for part in parts])
        our_time = time_of(lambda: [ours.encode(part) for part in parts])
        found |= throughput(our_time, their_time, name)
        found[f"{name}_seconds"] = our_time.seconds
    rows = [theirs.encode(part).ids for part in parts]
    for name, theirs_do, ours_do in (
        (
            "tokenize",
            lambda: [(one.ids, one.tokens, one.offsets) for one in map(theirs.encode, parts)],
            lambda: [ours.tokenize(part) for part in parts],
        ),
        (
            "decode",
            lambda: [theirs.decode(row, skip_special_tokens=False) for row in rows],
            lambda: [ours.decode(row) for row in rows],
        ),
    ):
        their_time, our_time = time_of(theirs_do), time_of(ours_do)
        found |= throughput(our_time, their_time, name)
    for number, part in enumerate(parts):
        if ours.encode(part) != theirs.encode(part).ids:
            raise ValueError(f"the ids must be the library's, but those of part {number} are not")
    return found


if __name__ == "__main__":
    json.dump(passes(**json.load(sys.stdin)), sys.stdout)
