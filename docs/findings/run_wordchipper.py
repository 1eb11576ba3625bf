"""Run the findings about wordchipper, with the file of cl100k_base that bpe-openai contains."""

import gzip
import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from wordchipper import Tokenizer
from wordchipper.compat import tiktoken


def outcome(action: Callable[[], object]) -> str:
    """Return the result, or the name of the exception."""
    try:
        return repr(action())
    except BaseException as error:
        return type(error).__name__


def opened() -> tiktoken.Encoding:
    """Return cl100k_base. The engine finds its file in a folder, and so fetches nothing."""
    content = (files("bpe_openai") / "data" / "cl100k_base.tiktoken.gz").read_bytes()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "openai" / "cl100k_base" / "cl100k_base.tiktoken"
        path.parent.mkdir(parents=True)
        path.write_bytes(gzip.decompress(content))
        os.environ |= dict.fromkeys(("WORDCHIPPER_CACHE_DIR", "WORDCHIPPER_DATA_DIR"), folder)
        return tiktoken.get_encoding("cl100k_base")


ENCODING = opened()
END = "<|endoftext|>"


def allowed_set() -> tuple[str, str]:
    return "[100257]", outcome(lambda: ENCODING.encode(END, allowed_special={END}))


def byte_that_is_no_text() -> tuple[str, str]:
    return "187", outcome(lambda: ENCODING.encode_single_token(b"\xff"))


def unknown_id() -> tuple[str, str]:
    return "KeyError", outcome(lambda: ENCODING.decode([100256]))


def surrogate() -> tuple[str, str]:
    return "[5809]", outcome(lambda: ENCODING.encode("\ud83d"))


def readme_special_tokens() -> tuple[str, str]:
    called = outcome(lambda: vars(Tokenizer)["get_special_tokens"])
    return "a method", "none" if called == "KeyError" else "a method"


def readme_models() -> tuple[str, str]:
    return "r50k_base", "r50k_base" if "r50k_base" in Tokenizer.available_models() else (
        next(name for name in Tokenizer.available_models() if "r50k_base" in name)
    )


FINDINGS = [
    allowed_set,
    byte_that_is_no_text,
    unknown_id,
    surrogate,
    readme_special_tokens,
    readme_models,
]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t", flush=True)
