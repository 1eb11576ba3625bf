"""One file per engine: its profile, and whatever no other engine does.

A profile says what an engine does, in which order, and where its source says so. The rules
themselves are in `steps/`, also those that few engines have, such as mirostat.

profile             what a profile consists of
draws               how engines draw
llama_cpp_order     how llama.cpp sorts its candidates
"""

from collections.abc import Mapping
from types import MappingProxyType

from sampling_ref.engines.antigravity import ANTIGRAVITY
from sampling_ref.engines.candle import CANDLE
from sampling_ref.engines.chatstream import CHATSTREAM
from sampling_ref.engines.exllamav2 import EXLLAMAV2
from sampling_ref.engines.exllamav3 import EXLLAMAV3
from sampling_ref.engines.flashinfer import FLASHINFER
from sampling_ref.engines.llama_cpp import LLAMA_CPP
from sampling_ref.engines.mistral_rs import MISTRAL_RS
from sampling_ref.engines.mlx_lm import MLX_LM
from sampling_ref.engines.openai import OPENAI
from sampling_ref.engines.profile import Profile
from sampling_ref.engines.sglang import SGLANG
from sampling_ref.engines.tensorrt_llm import TENSORRT_LLM
from sampling_ref.engines.transformers import TRANSFORMERS
from sampling_ref.engines.vllm import VLLM

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            *(TRANSFORMERS, LLAMA_CPP, VLLM, SGLANG, FLASHINFER, CANDLE, MISTRAL_RS, MLX_LM),
            *(EXLLAMAV2, EXLLAMAV3, TENSORRT_LLM, CHATSTREAM, ANTIGRAVITY, OPENAI),
        )
    }
)
"""Every profile by its name."""
