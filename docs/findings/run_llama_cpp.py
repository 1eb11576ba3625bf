"""Run the findings about llama.cpp, through llama-cpp-python's functions for llama.h."""

import ctypes
import math
import os
from collections.abc import Callable

import llama_cpp as llama


def chain(row: list[float], *samplers: object) -> list[int]:
    """Return the ids that remain possible after the samplers."""
    data = (llama.llama_token_data * max(1, len(row)))(
        *(llama.llama_token_data(i, logit, 0.0) for i, logit in enumerate(row))
    )
    candidates = llama.llama_token_data_array(data, len(row), -1, False)
    for sampler in samplers:
        llama.llama_sampler_apply(sampler, ctypes.byref(candidates))
    left = [candidates.data[i] for i in range(candidates.size)]
    return sorted(one.id for one in left if one.logit > -math.inf)


def aborts(action: Callable[[], object]) -> str:
    """Return what a child process did: "ends", or "aborts"."""
    child = os.fork()
    if not child:
        os.environ["GGML_NO_BACKTRACE"] = "1"
        os.close(2)
        action()
        os._exit(0)
    return "aborts" if os.WIFSIGNALED(os.waitpid(child, 0)[1]) else "ends"


def typical_impossible() -> tuple[str, str]:
    row = [math.log(one) for one in (0.4, 0.2, 0.2, 0.2)]
    typical = llama.llama_sampler_init_typical(0.5, 1)
    return str(chain(row, typical)), str(chain([*row, -math.inf], typical))


def bias_after_sort() -> tuple[str, str]:
    bias = (llama.llama_logit_bias * 1)(llama.llama_logit_bias(1, 5.0))
    steps = [
        llama.llama_sampler_init_top_k(2),
        llama.llama_sampler_init_logit_bias(2, 1, bias),
        llama.llama_sampler_init_min_p(0.5, 1),
    ]
    return str(chain([2.0, 1.0], steps[1], steps[2])), str(chain([2.0, 1.0], *steps))


def empty_row() -> tuple[str, str]:
    samplers = [
        llama.llama_sampler_init_top_p(0.5, 1),
        llama.llama_sampler_init_typical(0.5, 1),
        llama.llama_sampler_init_min_p(0.5, 1),
        llama.llama_sampler_init_top_k(1),
    ]
    found = [aborts(lambda one=one: chain([], one)) for one in samplers]
    return "ends, ends, ends, ends", ", ".join(found)


FINDINGS = [typical_impossible, bias_after_sort, empty_row]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t", flush=True)
