"""One record per engine: what it does, in which order, and where its source says so."""

from collections.abc import Mapping
from types import MappingProxyType

from sampling_ref.profiles.antigravity import ANTIGRAVITY
from sampling_ref.profiles.chatstream import CHATSTREAM
from sampling_ref.profiles.llama_cpp import LLAMA_CPP
from sampling_ref.profiles.model import Profile
from sampling_ref.profiles.openai import OPENAI
from sampling_ref.profiles.transformers import TRANSFORMERS

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (TRANSFORMERS, LLAMA_CPP, CHATSTREAM, ANTIGRAVITY, OPENAI)
    }
)
"""Every profile by its name."""
