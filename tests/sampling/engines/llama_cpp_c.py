"""llama.cpp's C samplers in a process of their own, driven without a model.

An assertion in the engine ends its process, so the engine runs in a child: `Engine` starts this
file as a program and exchanges lines of JSON with it. A request is a chain of samplers and a
list of events:

    ["apply", tokens, logits, sorted]     let the chain work on candidates
    ["accept", token]                     accept a token; null: the one selected last

The answer has one entry for each "apply": tokens, logits, probabilities, the flag
`sorted`, and the index of the selected candidate, -1 if there is none. All floats are 32-bit
numbers written as 64-bit ones, which is exact.

A sampler is a list: its name and the arguments of its C function, in their order. `n_vocab`
stands first where the C function has it. A `dry` sampler ends with its breakers: none, or
sequences of tokens (given through the constructor of the engine's own tests, a C++ symbol).
With a vocabulary file it may end with strings instead.
"""

import ctypes
import importlib.util
import json
import os
import subprocess
import sys
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_bool,
    c_char_p,
    c_float,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_void_p,
)
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self


class Result(NamedTuple):
    """What a chain leaves."""

    tokens: list[int]
    logits: list[float]
    probabilities: list[float]
    is_sorted: bool
    selected: int

    @property
    def token(self) -> int:
        """The selected token."""
        return self.tokens[self.selected]


class EngineStopped(Exception):  # noqa: N818 - the engine's end is expected of an empty row
    """The engine ended its process."""


class Engine:
    """A running child; use it in a `with` statement."""

    def __init__(self, vocabulary: Path | None = None) -> None:
        command = [sys.executable, __file__, *([str(vocabulary)] if vocabulary else [])]
        self.child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"GGML_NO_BACKTRACE": "1"},
        )

    def __enter__(self) -> Self:
        """Return the engine, which runs already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let the child end."""
        self.child.communicate()

    def ask(self, request: Any) -> Any:
        """Send a request and return the answer."""
        stdin, stdout = self.child.stdin, self.child.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line.startswith("["):
            raise EngineStopped(f"exit code {self.child.wait()}")
        return json.loads(line)

    def run(self, samplers: list[list[Any]], events: list[list[Any]]) -> list[Result]:
        """Run a chain through events; return what each "apply" leaves."""
        return [Result(*answer) for answer in self.ask([samplers, events])]

    def apply(
        self,
        sampler: list[Any],
        logits: list[float],
        tokens: list[int] | None = None,
        *,
        is_sorted: bool = False,
        history: list[int] | None = None,
    ) -> Result:
        """Apply one sampler once, after it accepted a history."""
        tokens = list(range(len(logits))) if tokens is None else tokens
        events: list[list[Any]] = [["accept", token] for token in history or []]
        return self.run([sampler], [*events, ["apply", tokens, logits, is_sorted]])[0]


# What follows runs in the child.


class TokenData(Structure):
    """A candidate."""

    _fields_ = [("id", c_int32), ("logit", c_float), ("p", c_float)]


class TokenDataArray(Structure):
    """The candidates."""

    _fields_ = [
        ("data", POINTER(TokenData)),
        ("size", c_size_t),
        ("selected", c_int64),
        ("sorted", c_bool),
    ]


class LogitBias(Structure):
    """A token and its bias."""

    _fields_ = [("token", c_int32), ("bias", c_float)]


class Vector(Structure):
    """A std::vector of GCC's C++ library: begin, end, end of storage."""

    _fields_ = [("begin", c_void_p), ("end", c_void_p), ("storage", c_void_p)]


SIGNATURES: dict[str, list[Any]] = {
    "dist": [c_uint32],
    "greedy": [],
    "logit_bias": [c_int32, c_int32, c_void_p],
    "min_p": [c_float, c_size_t],
    "mirostat": [c_int32, c_uint32, c_float, c_float, c_int32],
    "mirostat_v2": [c_uint32, c_float, c_float],
    "penalties": [c_int32, c_int32, c_float, c_float, c_float],
    "temp": [c_float],
    "temp_ext": [c_float, c_float, c_float],
    "top_k": [c_int32],
    "top_n_sigma": [c_float],
    "top_p": [c_float, c_size_t],
    "typical": [c_float, c_size_t],
    "xtc": [c_float, c_float, c_size_t, c_uint32],
    "adaptive_p": [c_float, c_float, c_uint32],
    "dry": [c_void_p, c_float, c_float, c_int32, c_int32, POINTER(c_char_p), c_size_t],
    "grammar": [c_void_p, c_char_p, c_char_p],
}
DRY_WITH_TOKENS = "_Z30llama_sampler_init_dry_testingffiiRKSt6vectorIS_IiSaIiEESaIS1_EE"


def load_library() -> Any:
    """Load the engine from the installed package."""
    specification = importlib.util.find_spec("llama_cpp")
    assert specification is not None
    assert specification.origin is not None
    library = ctypes.CDLL(str(Path(specification.origin).parent / "lib" / "libllama.so"))
    for name, arguments in SIGNATURES.items():
        function = getattr(library, f"llama_sampler_init_{name}")
        function.restype, function.argtypes = c_void_p, arguments
    library.llama_sampler_chain_default_params.restype = c_bool
    library.llama_sampler_chain_init.restype = c_void_p
    library.llama_sampler_chain_init.argtypes = [c_bool]
    library.llama_sampler_chain_add.argtypes = [c_void_p, c_void_p]
    library.llama_sampler_apply.argtypes = [c_void_p, POINTER(TokenDataArray)]
    library.llama_sampler_accept.argtypes = [c_void_p, c_int32]
    library.llama_sampler_free.argtypes = [c_void_p]
    return library


def make_dry_with_tokens(library: Any, arguments: list[Any], breakers: list[list[int]]) -> Any:
    """Make a DRY sampler with breakers of tokens, which only the engine's tests do."""
    buffers = [(c_int32 * max(1, len(breaker)))(*breaker) for breaker in breakers]
    vectors = (Vector * len(breakers))()
    for vector, buffer, breaker in zip(vectors, buffers, breakers, strict=True):
        vector.begin = ctypes.addressof(buffer)
        vector.end = vector.storage = vector.begin + 4 * len(breaker)
    begin = ctypes.addressof(vectors)
    end = begin + ctypes.sizeof(vectors)
    function = getattr(library, DRY_WITH_TOKENS)
    function.restype = c_void_p
    function.argtypes = [c_float, c_float, c_int32, c_int32, POINTER(Vector)]
    return function(*arguments, byref(Vector(begin, end, end)))


def make_sampler(library: Any, vocabulary: Any, name: str, arguments: list[Any]) -> Any:
    """Make a sampler."""
    make = getattr(library, f"llama_sampler_init_{name}")
    if name == "logit_bias":
        n_vocab, biases = arguments
        return make(
            n_vocab, len(biases), (LogitBias * len(biases))(*[LogitBias(*bias) for bias in biases])
        )
    if name == "dry":
        *numbers, breakers = arguments
        if breakers and isinstance(breakers[0], str):
            strings = [breaker.encode() for breaker in breakers]
            return make(vocabulary, *numbers, (c_char_p * len(strings))(*strings), len(strings))
        if breakers:
            return make_dry_with_tokens(library, numbers, breakers)
        return make(None, *numbers, None, 0)
    if name == "grammar":
        return make(vocabulary, *(argument.encode() for argument in arguments))
    return make(*arguments)


def run(library: Any, vocabulary: Any, samplers: list[Any], events: list[Any]) -> list[Any]:
    """Answer a request."""
    chain = library.llama_sampler_chain_init(c_bool(True))
    for name, *arguments in samplers:
        library.llama_sampler_chain_add(chain, make_sampler(library, vocabulary, name, arguments))
    answers: list[Any] = []
    for kind, *arguments in events:
        if kind == "accept":
            token = arguments[0]
            if token is None:
                token = answers[-1][0][answers[-1][4]]
            library.llama_sampler_accept(chain, token)
        else:
            tokens, logits, is_sorted = arguments
            data = (TokenData * len(tokens))()
            for item, token, logit in zip(data, tokens, logits, strict=True):
                item.id, item.logit = token, logit
            row = TokenDataArray(data, len(tokens), -1, is_sorted)
            library.llama_sampler_apply(chain, byref(row))
            kept = [row.data[place] for place in range(row.size)]
            fields = [[item.id for item in kept], [item.logit for item in kept]]
            answers.append([*fields, [item.p for item in kept], row.sorted, row.selected])
    library.llama_sampler_free(chain)
    return answers


def load_vocabulary(path: str) -> Any:
    """Load a model file that has a vocabulary only."""
    import llama_cpp.llama_cpp as bindings

    parameters = bindings.llama_model_default_params()
    parameters.vocab_only = True
    model = bindings.llama_model_load_from_file(path.encode(), parameters)
    return bindings.llama_model_get_vocab(model)


def describe_vocabulary(vocabulary: Any, texts: list[list[int]]) -> list[Any]:
    """Return the texts of all tokens, as DRY sees them, and the tokens of some texts."""
    import llama_cpp.llama_cpp as bindings

    no, yes = c_bool(False), c_bool(True)
    buffer = ctypes.create_string_buffer(1024)
    shown, tokens = [], []
    for token in range(bindings.llama_vocab_n_tokens(vocabulary)):
        length = bindings.llama_detokenize(
            vocabulary, (c_int32 * 1)(token), 1, buffer, 1024, no, yes
        )
        shown.append(list(buffer.raw[: max(0, length)]))
    for text in texts:
        room = (c_int32 * 256)()
        count = bindings.llama_tokenize(vocabulary, bytes(text), len(text), room, 256, no, no)
        tokens.append(list(room)[:count])
    return [shown, tokens]


def main() -> None:
    """Answer requests until the input ends."""
    library = load_library()
    vocabulary = load_vocabulary(sys.argv[1]) if sys.argv[1:] else None
    for line in sys.stdin:
        request = json.loads(line)
        if request[0] == "vocabulary":
            answer = describe_vocabulary(vocabulary, request[1])
        else:
            answer = run(library, vocabulary, *request)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
