"""ChatStream's three penalties: processors, how they are put together, a worked example.

Qualiteg, "Three penalties in LLM sampling" (in Japanese;
https://blog.qualiteg.com/making_penalty_processor).
"""

from sampling_ref.chatstream.processors import (
    FrequencyPenaltyProcessor,
    LogitsProcessor,
    PresencePenaltyProcessor,
    RepetitionPenaltyProcessor,
    process_all,
)
from sampling_ref.chatstream.worked_example import as_coded, as_published, exactly

__all__ = [
    "FrequencyPenaltyProcessor",
    "LogitsProcessor",
    "PresencePenaltyProcessor",
    "RepetitionPenaltyProcessor",
    "as_coded",
    "as_published",
    "exactly",
    "process_all",
]
