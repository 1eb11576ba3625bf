"""All engines by name. A real engine is only imported when it is used."""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from platform import python_version
from shlex import quote
from shutil import which
from typing import Any, Final

from bpe_ref import ENCODERS, Vocabulary
from tokenref.answers import Answer, Engine, Session, Unsupported, request_text
from tokenref.engines.node_packages import NODE_PACKAGES, node_package
from tokenref.errors import InputError
from tokenref.protocol.opening import open_function


@dataclass(frozen=True)
class Unavailable:
    """A known engine that is not installed, or that cannot be imported here."""

    name: str
    reason: str


_TOKENIZERS: Final[Mapping[str, tuple[str, str, str]]] = {
    "tiktoken": ("tiktoken", "tiktoken", "tiktoken:TiktokenEngine"),
    "tokenizers": ("tokenizers", "tokenizers", "tokenizers:TokenizersEngine"),
    "bpe-openai": ("bpe_openai._bindings", "bpe-openai", "own_encodings:BpeOpenaiEngine"),
    "rs-bpe": ("rs_bpe.bpe", "rs-bpe", "own_encodings:RsBpeEngine"),
    "wordchipper": ("wordchipper", "wordchipper", "own_encodings:WordchipperEngine"),
    "kitoken": ("kitoken", "kitoken", "json_engines:KitokenEngine"),
    "tokie": ("tokie", "tokie", "json_engines:TokieEngine"),
    "splintr-rs": ("splintr", "splintr-rs", "json_engines:SplintrEngine"),
    "fastokens": ("fastokens", "fastokens", "json_engines:FastokensEngine"),
    "gigatoken": ("gigatoken", "gigatoken", "json_engines:GigatokenEngine"),
    "iree-tokenizer": ("iree.tokenizer", "iree-tokenizer", "json_engines:IreeTokenizerEngine"),
    "sentencepiece": ("sentencepiece", "sentencepiece", "sentencepiece:SentencepieceEngine"),
    "onnxruntime-extensions": (
        "onnxruntime_extensions.pp_api",
        "onnxruntime-extensions",
        "json_engines:OnnxruntimeExtensionsEngine",
    ),
    "mistral-common": (
        "mistral_common.tokens.tokenizers.tekken",
        "mistral-common",
        "mistral_common:MistralCommonEngine",
    ),
    "llguidance": ("llguidance", "llguidance", "grammars:LLGuidanceEngine"),
    "xgrammar": ("xgrammar", "xgrammar", "grammars:XGrammarEngine"),
    "outlines-core": ("outlines_core", "outlines-core", "grammars:OutlinesCoreEngine"),
}
"""Maps an engine to the required module, its package, and the class of its adapter."""

_SAMPLERS: Final[Mapping[str, tuple[str, str, str]]] = {
    "transformers": ("transformers", "transformers", "transformers_samplers:TransformersSession"),
    "llama.cpp": ("llama_cpp", "llama-cpp-python", "llama_cpp_samplers:LlamaCppSession"),
    "torch": ("torch", "torch", "torch_samplers:TorchSession"),
    "numpy": ("numpy", "numpy", "numpy_draws:NumpySession"),
    "mlx-lm": ("mlx.core", "mlx-lm", "mlx_lm_samplers:MlxLmSession"),
    "randomgen": ("randomgen", "randomgen", "random_words:RandomgenSession"),
    "mmh3": ("mmh3", "mmh3", "random_words:Mmh3Session"),
    "pandas": ("pandas", "pandas", "pandas_filters:PandasSession"),
}
"""The same of sampling engines, with the class of the sessions of its adapter."""

_WHEELS: Final[Mapping[str, str]] = {
    "vllm": "vllm_samplers:VllmSession",
    "sglang": "sglang_samplers:SglangSession",
    "exllamav2": "exllamav2_samplers:Exllamav2Session",
    "sglang-kernels": "triton_kernels:SglangKernelsSession",
    "vllm-kernels": "triton_kernels:VllmKernelsSession",
    "exllamav3": "exllamav3_samplers:Exllamav3Session",
    "aphrodite-engine": "aphrodite_samplers:AphroditeSession",
    "flashinfer": "flashinfer_samplers:FlashinferSession",
    "chatstream": "chatstream_samplers:ChatstreamSession",
}
"""Sampling engines that run out of their wheels, with the class of the sessions."""

_ON_DEVICES: Final = frozenset(
    {"torch", "transformers", "vllm", "vllm-kernels", "sglang", "sglang-kernels", "flashinfer"}
)
"""The engines that run on the device of TOKENREF_TORCH_DEVICE."""

QUADRATIC: Final = frozenset({"naive", "scan"})
LONGEST_QUADRATIC: Final = 2000
"""Maximum length of a text for a quadratic encoder, in characters."""


def engine_names() -> tuple[str, ...]:
    """Return the names of all engines: the real ones, the reference, its encoders.

    >>> engine_names()[:5]
    ('tiktoken', 'tokenizers', 'bpe-openai', 'rs-bpe', 'wordchipper')
    """
    return (
        *_TOKENIZERS,
        "reference",
        *NODE_PACKAGES,
        *_SAMPLERS,
        *_WHEELS,
        "mistral.rs",
        "rust-rand",
        "libstdc++",
        "python",
        *ENCODERS,
    )


def engine(name: str) -> Engine | Unavailable:
    """Return an engine by its name. Raises `InputError` for an unknown name.

    >>> engine("heap").name
    'heap'
    >>> engine("heaps")
    Traceback (most recent call last):
    tokenref.errors.InputError: there is no engine 'heaps'; did you mean 'heap'? ...
    """
    openers = {
        "reference": _own,
        "python": _of_python,
        "rust-rand": _of_crates,
        "mistral.rs": _of_crates,
        "libstdc++": _of_compiler,
        **dict.fromkeys(ENCODERS, _own),
        **dict.fromkeys(NODE_PACKAGES, _of_node),
        **dict.fromkeys(_WHEELS, _of_wheel),
    }
    if name in openers:
        return openers[name](name)
    if name.startswith("py:"):
        return open_function(name)
    if name not in _TOKENIZERS and name not in _SAMPLERS:
        raise InputError(_unknown(name))
    module, package, adapter = _TOKENIZERS.get(name) or _SAMPLERS[name]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about itself, to its own developers
            import_module(module)
        missing = _missing_device(name)
        if missing:
            return Unavailable(name, missing)
        return _adapted(name, adapter, version(package))
    except ModuleNotFoundError as error:
        reason = f"cannot be imported: ModuleNotFoundError: {error}; pip install {package}"
        return Unavailable(name, reason)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - compiled modules raise anything when they break
        return Unavailable(name, f"cannot be imported: {type(error).__name__}: {error}")


def _missing_device(name: str) -> str | None:
    """Return why an engine cannot run on the selected device, or None."""
    from tokenref.engines.torch_draws import device_name, missing_device

    if name not in _ON_DEVICES:
        return None
    if name == "flashinfer" and device_name() != "cpu" and which("nvcc") is None:
        return "nvcc is not installed"
    return missing_device()


def _unknown(name: str) -> str:
    """Return the message about an unknown name."""
    if os.sep in name or Path(name).is_file():
        return f"to test a program, use --cmd {quote(name)}: {name!r} is not the name of an engine"
    near = get_close_matches(name.lower(), engine_names(), 1)
    if near:
        hint = f"did you mean {near[0]!r}? `tokenref engines` lists all"
        return f"there is no engine {name!r}; {hint}"
    return f"an engine must be one of {', '.join(engine_names())}, got {name!r}"


def _of_python(name: str) -> Engine:
    return _adapted(name, "python_draws:PythonSession", python_version())


def _of_crates(name: str) -> Engine | Unavailable:
    from tokenref.engines.mistral_rs_samplers import VERSION as OF_MISTRAL_RS
    from tokenref.engines.mistral_rs_samplers import source
    from tokenref.engines.rust_draws import CRATES, VERSION, crate

    try:
        for one in CRATES:
            crate(one)
        if name == "mistral.rs":
            source()
    except FileNotFoundError as error:
        return Unavailable(name, str(error))
    if which(os.environ.get("RUSTC") or "rustc") is None:
        return Unavailable(name, "rustc is not installed")
    if name == "mistral.rs":
        return _adapted(name, "mistral_rs_samplers:MistralRsSession", OF_MISTRAL_RS)
    return _adapted(name, "rust_draws:RustSession", VERSION)


def _of_compiler(name: str) -> Engine | Unavailable:
    from tokenref.engines.libstdcxx_draws import compiler, version

    if which(compiler()) is None:
        return Unavailable(name, f"{compiler()} is not installed")
    return _adapted(name, "libstdcxx_draws:LibstdcxxSession", version())


def _of_wheel(name: str) -> Engine | Unavailable:
    """Return an engine that is not installed, whose code is in its wheel."""
    from tokenref.engines.from_wheels import VERSIONS, wheel

    package, has_kernels, _ = name.partition("-kernels")
    package = {"flashinfer": "flashinfer-python"}.get(package, package)
    try:
        wheel(package)
        import_module("torch")
        missing = _missing_device(name)
        if missing:
            return Unavailable(name, missing)
        if name == "sglang-kernels":  # which include its headers
            wheel("flashinfer-python")
        if has_kernels and find_spec("triton") is None:
            return Unavailable(name, "cannot be imported; pip install triton")
    except (FileNotFoundError, ModuleNotFoundError) as error:
        return Unavailable(name, str(error))
    return _adapted(name, _WHEELS[name], VERSIONS[package])


def _of_node(name: str) -> Engine | Unavailable:
    """Return an engine that is an npm package."""
    found = node_package(name)
    if isinstance(found, str):
        return Unavailable(name, found)
    if name == "tokenizers-js":
        return _adapted(name, "json_engines:TokenizersJsEngine", found.version)
    return found


def _adapted(name: str, adapter: str, installed: str) -> Engine:
    """Return the engine of an adapter, with the version that is installed."""
    place, _, adapted = adapter.partition(":")
    found = getattr(import_module(f"tokenref.engines.{place}"), adapted)
    from tokenref.engines.json_process import isolated

    if name == "llama.cpp":
        from tokenref.engines.llama_cpp_tokenizer import LlamaCppTokenizers

        return Tokenizing(name, installed, found, isolated(LlamaCppTokenizers(installed)))
    if hasattr(found, "profiles"):
        return Sampling(name, installed, found)
    return isolated(found(installed))


def available(name: str) -> Engine:
    """Return an engine by its name. Raises `InputError` if it is unknown or not installed."""
    found = engine(name)
    if isinstance(found, Unavailable):
        raise InputError(f"{name} is unavailable: {found.reason}")
    return found


def _own(name: str) -> Engine:
    """Return the reference, or one of its encoders."""
    from tokenref.engines.reference import ReferenceEngine, with_encoder

    if name not in ENCODERS:
        return ReferenceEngine()
    encoder = ReferenceEngine(name=name, prepare_tokenizer=with_encoder(ENCODERS[name]))
    if name not in QUADRATIC:
        return encoder
    return BoundedEngine(name, encoder.version, encoder, LONGEST_QUADRATIC)


@dataclass(frozen=True)
class Sampling:
    """An engine that has samplers and no tokenizer.

    >>> from tokenref.engines.numpy_draws import NumpySession
    >>> Sampling("numpy", "2.3", NumpySession).load_profile("vllm")
    Unsupported(reason='does not implement the profile vllm')
    """

    name: str
    version: str
    session: Any
    """The class of its sessions; its `profiles` are the engine's own and the rules of its steps."""

    def load(self, vocabulary: Vocabulary, name: str) -> Session | Unsupported:
        return Unsupported("has no tokenizer, only samplers")

    def load_profile(self, profile: str) -> Session | Unsupported:
        profiles = self.session.profiles
        if profile in profiles:
            session: Session = self.session(profile)
            if self.name in _ON_DEVICES:
                from tokenref.engines.torch_draws import OnDevice, device_name

                return session if device_name() == "cpu" else OnDevice(session)
            return session
        if self.name in profiles:
            return Unsupported(f"implements the profile {self.name}, not {profile}")
        return Unsupported(f"does not implement the profile {profile}")


@dataclass(frozen=True)
class Tokenizing(Sampling):
    """An engine that has samplers, and a tokenizer that reads a tokenizer.json."""

    tokenizer: Any
    ids_only: bool = True

    def load(self, vocabulary: Vocabulary, name: str) -> Session | Unsupported:
        found: Session | Unsupported = self.tokenizer.load(vocabulary, name)
        return found

    def load_tokenizer(self, content: bytes, name: str, profile: str) -> Session | Unsupported:
        found: Session | Unsupported = self.tokenizer.load_tokenizer(content, name, profile)
        return found


@dataclass(frozen=True)
class BoundedEngine:
    """Another engine, for texts of at most `longest` characters or bytes.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> from tokenref.engines.reference import ReferenceEngine
    >>> engine = BoundedEngine("slow", "0.1.0", ReferenceEngine("slow"), longest=2)
    >>> session = engine.load(vocabulary_by_concatenation({b"a": 0}), "one")
    >>> session.answer("count", {"text": "aaa"})
    Unsupported(reason='is not run on texts of more than 2 characters (quadratic time)')
    """

    name: str
    version: str
    engine: Engine
    longest: int

    def load(self, vocabulary: Vocabulary, name: str) -> "BoundedSession | Unsupported":
        session = self.engine.load(vocabulary, name)
        if isinstance(session, Unsupported):
            return session
        return BoundedSession(session, self.longest)


@dataclass(frozen=True)
class BoundedSession:
    """Another engine's session, for short texts."""

    session: Session
    longest: int

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        has_text = not {"text", "bytes", "recipe"}.isdisjoint(request)
        if has_text and len(request_text(request)) > self.longest:
            return Unsupported(
                f"is not run on texts of more than {self.longest} characters (quadratic time)"
            )
        return self.session.answer(op, request)
