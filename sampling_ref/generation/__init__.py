"""From a prompt to a text: the loop, what happens in it, and what it took."""

from sampling_ref.generation.events import (
    CACHE_FULL,
    Event,
    Finished,
    Prefilled,
    Reason,
    Times,
    Token,
    show,
)
from sampling_ref.generation.loop import generate
from sampling_ref.generation.parts import Choice, Decoder, Model, Sampler, Texts

__all__ = [
    "CACHE_FULL",
    "Choice",
    "Decoder",
    "Event",
    "Finished",
    "Model",
    "Prefilled",
    "Reason",
    "Sampler",
    "Texts",
    "Times",
    "Token",
    "generate",
    "show",
]
