"""Every 32-bit twin, by the name that profiles use."""

from collections.abc import Mapping
from types import MappingProxyType

from sampling_ref.twins.antigravity import ANTIGRAVITY
from sampling_ref.twins.llama_cpp import LLAMA_CPP
from sampling_ref.twins.plain import PLAIN
from sampling_ref.twins.transformers import TRANSFORMERS
from sampling_ref.twins.twin import Twin

TWINS: Mapping[str, Twin] = MappingProxyType(
    {"": PLAIN, "llama.cpp": LLAMA_CPP, "antigravity": ANTIGRAVITY, "transformers": TRANSFORMERS}
)
"""The empty name is for engines without a twin of their own."""
