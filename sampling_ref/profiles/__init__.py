"""One record per engine: what it does, in which order, and where its source says so."""

from collections.abc import Mapping
from types import MappingProxyType

from sampling_ref.profiles.antigravity import ANTIGRAVITY
from sampling_ref.profiles.candle import CANDLE
from sampling_ref.profiles.chatstream import CHATSTREAM
from sampling_ref.profiles.exllamav2 import EXLLAMAV2
from sampling_ref.profiles.exllamav3 import EXLLAMAV3
from sampling_ref.profiles.flashinfer import FLASHINFER
from sampling_ref.profiles.llama_cpp import LLAMA_CPP
from sampling_ref.profiles.mistral_rs import MISTRAL_RS
from sampling_ref.profiles.mlx_lm import MLX_LM
from sampling_ref.profiles.model import Profile
from sampling_ref.profiles.openai import OPENAI
from sampling_ref.profiles.sglang import SGLANG
from sampling_ref.profiles.tensorrt_llm import TENSORRT_LLM
from sampling_ref.profiles.transformers import TRANSFORMERS
from sampling_ref.profiles.vllm import VLLM

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
