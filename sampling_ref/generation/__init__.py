"""From a prompt to a text: the loop, what happens in it, and what it took."""

from sampling_ref.generation.events import CACHE_FULL, Event, Finished, Prefilled, Reason, Token
from sampling_ref.generation.loop import generate
from sampling_ref.generation.parts import Choice, Decoder, Model, Sampler, Texts
from sampling_ref.generation.showing import show
from sampling_ref.generation.times import Times

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
