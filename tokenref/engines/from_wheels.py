"""The code of engines in their wheels, which are not installed.

Installed, vLLM and SGLang would need gigabytes. Their samplers only need torch. So the few modules
that sample are compiled from the source in the wheel, by an import hook that is in place only while
they are loaded. Everything else of the two packages is a stand-in. What a stand-in must contain is
listed here for each module. Any other attribute is `Nothing`, which is false and does nothing.

The wheels are in the folder `.wheels`, or in the folder that `TOKENREF_WHEELS` names.
"""

import ast
import importlib
import linecache
import os
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

VERSIONS: Final = {
    "vllm": "0.33.0",
    "sglang": "0.5.23",
    "exllamav2": "0.3.2",
    "exllamav3": "1.4.1",
    "aphrodite-engine": "0.10.0",
    "flashinfer-python": "0.7.2.post1",
    "chatstream": "0.3.0",
}
VARIABLE: Final = "TOKENREF_WHEELS"

VLLM: Final = (
    "vllm.v1.sample.sampler",
    "vllm.v1.sample.rejection_sampler",
    "vllm.v1.sample.metadata",
    "vllm.v1.sample.ops.topk_topp_sampler",
    "vllm.v1.sample.ops.penalties",
    "vllm.v1.sample.ops.bad_words",
    "vllm.v1.sample.logits_processor.builtin",
    "vllm.v1.sample.logits_processor.interface",
    "vllm.v1.sample.logits_processor.state",
    "vllm.model_executor.layers.utils",
    "vllm.sampling_params",
    "vllm.logprobs",
)
APHRODITE: Final = tuple(
    f"aphrodite.v1.sample.ops.{name}"
    for name in (
        *("top_a", "tfs", "eta_cutoff", "epsilon_cutoff", "typical_p", "top_nsigma", "xtc"),
        "mirostat",
    )
)
CHATSTREAM: Final = tuple(
    f"chatstream.token_samplers.{name}"
    for name in (
        *("logits_processor", "token_sampler_base", "token_sampler_builder"),
        *("processor.logits_check_processor", "processor.repetition_penalty_processor"),
        *("processor.temperature_processor", "sampler.top_n_sampler_def"),
        *("sampler.softmax_sampler", "sampler.isolated_top_k_softmax_sampler"),
        *("sampler.top_k_sampler", "sampler.top_p_sampler", "presets.token_sampler_hft"),
    )
)
EXLLAMAV3: Final = tuple(
    f"exllamav3.{name}"
    for name in (
        *("util.tensor", "generator.sampler.sampler", "generator.sampler.custom"),
        "generator.sampler.presets",
    )
)
SGLANG: Final = (
    "sglang.srt.environ",
    "sglang.srt.layers.sampler",
    "sglang.srt.sampling.sampling_params",
    "sglang.srt.sampling.penaltylib",
    "sglang.srt.sampling.penaltylib.orchestrator",
    "sglang.srt.sampling.penaltylib.frequency_penalty",
    "sglang.srt.sampling.penaltylib.presence_penalty",
    "sglang.srt.sampling.penaltylib.repetition_penalty",
    "sglang.srt.sampling.penaltylib.min_new_tokens",
    "sglang.srt.sampling.sampling_batch_info",
)


def wheels_folder() -> Path:
    """Return the folder of the wheels."""
    return Path(os.environ.get(VARIABLE) or ".wheels")


def wheel(name: str) -> Path:
    """Return the path of an engine's wheel. Raises `FileNotFoundError` if there is none."""
    version, file = VERSIONS[name], name.replace("-", "_")
    found = sorted(wheels_folder().glob(f"{file}-{version}-*.whl"))
    if not found:
        command = "pip download --no-deps --only-binary :all: --dest .wheels"
        raise FileNotFoundError(f"its wheel is missing; {command} {name}=={version}")
    return found[0]


class Nothing:
    """Whatever is asked of it, it is nothing: false, callable, a decorator, a base class."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Forget what is given."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Return what is decorated, or nothing."""
        is_decorated = len(args) == 1 and not kwargs and callable(args[0])
        return args[0] if is_decorated and not isinstance(args[0], Nothing) else self

    def __getattr__(self, name: str) -> "Nothing":
        """Return nothing for every attribute that is not Python's own."""
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()

    def __bool__(self) -> bool:
        """Be false."""
        return False

    def __iter__(self) -> Iterator[object]:
        """Hold nothing."""
        return iter(())

    def __getitem__(self, key: object) -> "Nothing":
        """Return nothing, as where a type gets parameters."""
        return Nothing()

    def __or__(self, other: object) -> "Nothing":
        """Return nothing, as where two types become a union."""
        return self

    __ror__ = __or__

    def __mro_entries__(self, bases: tuple[type, ...]) -> tuple[type, ...]:
        """Stand for a base class that has nothing."""
        return (object,)


class StandIn(ModuleType):
    """A module of which nobody has said what it gives."""

    def __getattr__(self, name: str) -> object:
        """Return nothing for every attribute that is not Python's own."""
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class _Source(InspectLoader):
    """Loads a module from its source."""

    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:
        return self._source

    def get_code(self, fullname: str) -> CodeType:
        """Return the code, and remember the source for Triton, which compiles functions of it."""
        name, lines = f"<{fullname}>", self._source.splitlines(keepends=True)
        linecache.cache[name] = (len(self._source), None, lines, name)
        return self.source_to_code(self._source, name)


class FromWheel(MetaPathFinder, Loader):
    """Imports a package: some modules from their source in a wheel, all others as stand-ins."""

    def __init__(
        self, path: Path, wanted: tuple[str, ...], given: Mapping[str, Mapping[str, object]]
    ) -> None:
        self._package = wanted[0].partition(".")[0]
        self._wanted, self._given = wanted, given
        self._archive = zipfile.ZipFile(path)

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        """Claim every module of the package."""
        del path, target
        if fullname.partition(".")[0] != self._package:
            return None
        return ModuleSpec(fullname, self, is_package=self._file(fullname) is None)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return an empty module, or one that gives nothing."""
        return ModuleType(spec.name) if spec.name in self._wanted else StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Give a stand-in what it must have; run the source of what is wanted."""
        vars(module).update(self._given.get(module.__name__, {}))
        if module.__name__ in self._wanted:
            file = self._file(module.__name__) or f"{module.__name__.replace('.', '/')}/__init__.py"
            _Source(self._archive.read(file).decode()).exec_module(module)

    def _file(self, name: str) -> str | None:
        """Return the file of a wanted module that is not a package, or None."""
        file = f"{name.replace('.', '/')}.py"
        return file if name in self._wanted and file in self._archive.namelist() else None

    def functions(self, file: str, *names: str) -> dict[str, Any]:
        """Return single functions of a file that cannot be run as a whole."""
        import torch

        tree = ast.parse(self._archive.read(file))
        tree.body = [node for node in tree.body if getattr(node, "name", None) in names]
        future = ast.parse("from __future__ import annotations")
        tree.body = [*future.body, *tree.body]
        module = ModuleType(file)
        vars(module)["torch"] = torch
        _Source(ast.unparse(tree)).exec_module(module)
        return {name: getattr(module, name) for name in names}


@contextmanager
def _hooked(hook: FromWheel) -> Iterator[None]:
    """Put an import hook in place; small functions are run as written, not compiled by torch."""

    def as_written(*_: object, **__: object) -> Callable[[object], object]:
        return lambda function: function

    import torch

    sys.meta_path.insert(0, hook)
    try:
        with patch.object(torch, "compile", as_written):
            yield
    finally:
        sys.meta_path.remove(hook)


def _false(*_: object, **__: object) -> bool:
    return False


@cache
def vllm() -> SimpleNamespace:
    """Return vLLM's modules that sample, by the last part of their names."""
    import torch

    given: dict[str, Mapping[str, object]] = {}
    hook = FromWheel(wheel("vllm"), (*VLLM, "vllm.v1.sample.ops.logprobs"), given)

    class ValidationError(ValueError):
        def __init__(self, message: str, **_: object) -> None:
            super().__init__(message)

    def padded(rows: list[list[int]], pad: int, dtype: torch.dtype, **_: object) -> torch.Tensor:
        width = max(map(len, rows), default=0)
        filled = [[*row, *[pad] * (width - len(row))] for row in rows]
        return torch.tensor(filled, dtype=dtype).reshape(len(rows), width)

    def tensor(data: Any, *_: object, dtype: torch.dtype | None = None, **__: object) -> Any:
        return torch.as_tensor(data, dtype=dtype)

    class Plain:
        pass

    # A platform that has no kernels of its own: torch samples.
    names = ("is_cpu", "is_cuda", "is_xpu", "is_cuda_alike", "is_rocm")
    platform = SimpleNamespace(**dict.fromkeys(names, _false), simple_compile_backend="eager")
    envs = {"VLLM_BATCH_INVARIANT": False, "VLLM_MAX_N_SEQUENCES": 16384}
    penalty = "apply_repetition_penalties_torch"  # for a GPU it has a compiled one
    (of_torch,) = hook.functions("vllm/_custom_ops.py", penalty).values()
    given |= {
        "vllm": {"envs": SimpleNamespace(**envs)},
        "vllm.envs": envs,
        "vllm._custom_ops": {"apply_repetition_penalties": of_torch},
        "vllm.config.model": {
            "PROCESSED_LOGPROBS_MODES": ("processed_logits", "processed_logprobs")
        },
        "vllm.platforms": {"current_platform": platform},
        "vllm.utils.gpu_sync_debug": {"gpu_sync_allowed": lambda **_: nullcontext()},
        "vllm.triton_utils": {"HAS_TRITON": False},
        "vllm.utils.torch_utils": {
            "PIN_MEMORY": False,
            "make_tensor_with_pad": padded,
            "async_tensor_h2d": tensor,
        },
        "vllm.exceptions": {"VLLMValidationError": ValidationError},
        "vllm.v1.serial_utils": {"PydanticMsgspecMixin": Plain},
        "vllm.v1.outputs": {"SamplerOutput": SimpleNamespace, "LogprobsTensors": SimpleNamespace},
    }
    return _modules(hook, VLLM)


@cache
def sglang() -> SimpleNamespace:
    """Return SGLang's modules that sample, by the last part of their names."""
    given: dict[str, Mapping[str, object]] = {}
    hook = FromWheel(wheel("sglang"), SGLANG, given)
    parts = {
        "kernel": SimpleNamespace(sampling_backend="pytorch"),
        "deterministic": SimpleNamespace(
            rl_on_policy_target=None, enable_deterministic_inference=False
        ),
        "features": SimpleNamespace(
            enable_custom_logit_processor=False, sampling_mask_max_tokens=None
        ),
    }
    asked = (
        *("get_bool_env_var", "is_cuda", "is_gfx1250_supported", "is_hip", "is_musa", "is_npu"),
        *("is_xpu", "is_pin_memory_available"),
    )
    given |= {
        "sglang.srt.utils": {"is_npu": _false, "get_compiler_backend": lambda: "eager"},
        "sglang.srt.utils.common": dict.fromkeys(asked, _false),
        "sglang.srt.layers.dp_attention": {"is_dp_attention_enabled": _false},
        "sglang.srt.runtime_context": {"get_exec": lambda: SimpleNamespace(**parts)},
        "sglang.srt.managers.schedule_batch": {"ScheduleBatch": type("ScheduleBatch", (), {})},
        "sglang.kernels.ops.sampling": hook.functions(
            "sglang/kernels/ops/sampling/__init__.py", "softmax"
        ),
        "sglang.srt.sampling.watermarking.core": {
            "normalize_watermark_request": lambda request: request,
            "WatermarkRequestConfig": type(None),
        },
    }
    with _hooked(hook):  # what the engine imports only when it is called
        importlib.import_module("sglang.srt.managers.schedule_batch")
        importlib.import_module("sglang.kernels.cake_kernels.sampling")
    return _modules(hook, SGLANG)


@cache
def sglang_kernels() -> SimpleNamespace:
    """Return SGLang's module with a Triton kernel. Without a GPU, Triton must interpret."""
    names = ("sglang.kernels.ops.speculative.reject_sampling",)
    return _modules(FromWheel(wheel("sglang"), names, {}), names)


@cache
def vllm_kernels() -> SimpleNamespace:
    """Return vLLM's modules with Triton kernels. Without a GPU, Triton must interpret."""
    import torch
    import triton
    import triton.language

    names = (
        "vllm.model_executor.warmup.jit_warmup",
        "vllm.model_executor.warmup.jit_warmup_triton_helper",
        "vllm.v1.sample.ops.topk_topp_triton",
        "vllm.v1.sample.rejection_sampler",
        "vllm.v1.worker.gpu.sample.gumbel",
    )
    is_cuda = torch.cuda.is_available

    def processors(device: int | None = None) -> int:
        count: int = torch.cuda.get_device_properties(device or 0).multi_processor_count
        return count

    given = {
        "vllm.platforms": {"current_platform": SimpleNamespace(is_cuda_alike=is_cuda)},
        "vllm.triton_utils": {"HAS_TRITON": True, "triton": triton, "tl": triton.language},
        "vllm.utils.gpu_sync_debug": {"gpu_sync_allowed": nullcontext},
        "vllm.utils.math_utils": {"next_power_of_2": triton.next_power_of_2},
        "vllm.utils.platform_utils": {"num_compute_units": processors},
    }
    return _modules(FromWheel(wheel("vllm"), names, given), names)


@cache
def aphrodite() -> SimpleNamespace:
    """Return Aphrodite's modules of single operations, by the last part of their names."""
    return _modules(FromWheel(wheel("aphrodite-engine"), APHRODITE, {}), APHRODITE)


@cache
def chatstream() -> SimpleNamespace:
    """Return ChatStream's modules that sample, by the last part of their names."""
    return _modules(FromWheel(wheel("chatstream"), CHATSTREAM, {}), CHATSTREAM)


@cache
def exllamav3(extension: object) -> SimpleNamespace:
    """Return exllamav3's modules that sample, with its extension."""
    hook = FromWheel(
        wheel("exllamav3"),
        EXLLAMAV3,
        {
            "exllamav3.ext": {"exllamav3_ext": extension},
            "exllamav3.util": {"profile_opt": lambda function: function},
        },
    )
    return _modules(hook, EXLLAMAV3)


@cache
def exllamav2(extension: object) -> Any:
    """Return exllamav2's class that samples, with its C++ extension."""
    import torch

    name = "exllamav2.generator.sampler"
    none = torch.empty((1, 1), device="meta")
    hook = FromWheel(
        wheel("exllamav2"),
        (name,),
        {"exllamav2.ext": {"exllamav2_ext": extension, "none_tensor": none}},
    )
    return _modules(hook, (name,)).sampler.ExLlamaV2Sampler


def _modules(hook: FromWheel, names: tuple[str, ...]) -> SimpleNamespace:
    with _hooked(hook):
        modules = {name: importlib.import_module(name) for name in names}
        if names is VLLM:
            importlib.import_module("vllm._custom_ops")
    return SimpleNamespace(**{name.rpartition(".")[2]: module for name, module in modules.items()})
