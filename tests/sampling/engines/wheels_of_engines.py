"""The modules of vLLM and SGLang that sample; without their wheels, a test module is skipped."""

from types import SimpleNamespace

import pytest

pytest.importorskip("torch", reason="the engines' samplers need PyTorch")

from tokenref.engines import from_wheels


def _modules(name: str) -> SimpleNamespace:
    try:
        from_wheels.wheel(name)
    except FileNotFoundError as error:
        pytest.skip(str(error), allow_module_level=True)
    found: SimpleNamespace = getattr(from_wheels, name)()
    return found


def vllm() -> SimpleNamespace:
    return _modules("vllm")


def sglang() -> SimpleNamespace:
    return _modules("sglang")
