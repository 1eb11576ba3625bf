"""Run the findings about llama.cpp's tokenizers, with the functions of llama.h."""

import ctypes
import os
import struct
import tempfile
from collections.abc import Callable

import llama_cpp as llama

SHOWN = [*range(33, 127), *range(161, 173), *range(174, 256)]
HIDDEN = [byte for byte in range(256) if byte not in SHOWN]
LETTERS = {byte: chr(byte) for byte in SHOWN} | {
    byte: chr(256 + place) for place, byte in enumerate(HIDDEN)
}


@llama.llama_log_callback  # type: ignore[untyped-decorator]  # of ctypes
def quiet(level: int, text: bytes, data: object) -> None:
    """Print nothing."""


llama.llama_log_set(quiet, ctypes.c_void_p())


def text(content: str) -> bytes:
    return struct.pack("<Q", len(content.encode())) + content.encode()


def vocabulary(pre: str, *words: str) -> object:
    """Return a vocabulary with the 256 bytes, the words, and what leads to them from the left."""
    tokens, merges = list(LETTERS.values()), []
    for word in words:
        letters = [LETTERS[byte] for byte in word.encode()]
        for at in range(1, len(letters)):
            merged = "".join(letters[: at + 1])
            if merged not in tokens:
                merges.append(f"{merged[:-1]} {merged[-1]}")
                tokens.append(merged)
    values = {"model": "gpt2", "pre": pre, "tokens": tokens, "merges": merges}
    keys = text("general.architecture") + struct.pack("<I", 8) + text("llama")
    for key, value in values.items():
        listed = [value] if isinstance(value, str) else value
        kind = struct.pack("<I", 8) if listed[0] is value else struct.pack("<IIQ", 9, 8, len(value))
        keys += text(f"tokenizer.ggml.{key}") + kind + b"".join(map(text, listed))
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, 1 + len(values)) + keys)
        file.flush()
        settings = llama.llama_model_default_params()
        settings.vocab_only = True
        model = llama.llama_model_load_from_file(file.name.encode(), settings)
        return llama.llama_model_get_vocab(model)


def encoded(vocab: object, content: str) -> list[int]:
    data = content.encode()
    ids = (llama.llama_token * (len(data) + 1))()
    return ids[: llama.llama_tokenize(vocab, data, len(data), ids, len(ids), False, False)]


def decoded(vocab: object, ids: list[int]) -> str:
    buffer = ctypes.create_string_buffer(1000)
    given = (llama.llama_token * len(ids))(*ids)
    size = llama.llama_detokenize(vocab, given, len(ids), buffer, len(buffer), False, False)
    return buffer.raw[:size].decode("utf-8", "replace")


def tokens(pre: str, content: str, *words: str) -> str:
    """Return the tokens of a text that is itself a token, besides other words."""
    vocab = vocabulary(pre, content, *words)
    return str([decoded(vocab, [token]) for token in encoded(vocab, content)])


def ending(action: Callable[[], object]) -> str:
    """Return how a child process ends: by itself, or by a signal."""
    child = os.fork()
    if not child:
        os.environ["GGML_NO_BACKTRACE"] = "1"
        os.close(2)
        action()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    signals = {6: "aborts", 11: "segmentation fault"}
    return signals[os.WTERMSIG(status)] if os.WIFSIGNALED(status) else "ends"


def gpt_4o_marks() -> tuple[str, str]:
    return str(["हि"]), tokens("gpt-4o", "हि", "ह", "ि")


def gpt_4o_capitals() -> tuple[str, str]:
    return str(["ÜBER"]), tokens("gpt-4o", "ÜBER", "Ü", "BER")


def tekken_marks() -> tuple[str, str]:
    return str(["हि"]), tokens("tekken", "हि", "ह", "ि")


def tekken_capitals() -> tuple[str, str]:
    return str(["ÜBER"]), tokens("tekken", "ÜBER", "Ü", "BER")


def kimi_marks() -> tuple[str, str]:
    return str(["हि"]), tokens("kimi-k2", "हि", "ह", "ि")


def kimi_case() -> tuple[str, str]:
    return str(["a", "B"]), tokens("kimi-k2", "aB")


def tiny_aya_case() -> tuple[str, str]:
    return str(["a", "B"]), tokens("tiny_aya", "aB")


def youtu_case() -> tuple[str, str]:
    return str(["a", "B", " "]), tokens("youtu", "aB ", "aB")  # which takes "aB" whole


def deepseek_coder_space() -> tuple[str, str]:
    return str(["\u3000", "A"]), tokens("deepseek-coder", "\u3000A", "\u3000")


def inverse() -> tuple[str, str]:
    vocab = vocabulary("llama-bpe", "a .")
    sample = "a . ' b"
    return sample, decoded(vocab, encoded(vocab, sample))


def unknown_id() -> tuple[str, str]:
    vocab = vocabulary("llama-bpe", "ab")
    return "ends", ending(lambda: decoded(vocab, [100_000]))


def long_word() -> tuple[str, str]:
    vocab = vocabulary("gpt-4o", "ab")
    return "ends", ending(lambda: encoded(vocab, "a" * 100_000))


FINDINGS = [
    *(gpt_4o_marks, gpt_4o_capitals, tekken_marks, tekken_capitals, kimi_marks, kimi_case),
    *(tiny_aya_case, youtu_case, deepseek_coder_space, inverse, unknown_id, long_word),
]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t", flush=True)
