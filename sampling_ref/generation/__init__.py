"""From a prompt to a text: the loop, what happens in it, and what it took."""

from sampling_ref.generation.events import CACHE_FULL as CACHE_FULL
from sampling_ref.generation.events import Event as Event
from sampling_ref.generation.events import Finished as Finished
from sampling_ref.generation.events import Prefilled as Prefilled
from sampling_ref.generation.events import Reason as Reason
from sampling_ref.generation.events import Times as Times
from sampling_ref.generation.events import Token as Token
from sampling_ref.generation.events import show as show
from sampling_ref.generation.loop import generate as generate
from sampling_ref.generation.ngrams import NgramModel as NgramModel
from sampling_ref.generation.parts import Choice as Choice
from sampling_ref.generation.parts import Decoder as Decoder
from sampling_ref.generation.parts import Model as Model
from sampling_ref.generation.parts import Sampler as Sampler
from sampling_ref.generation.parts import Texts as Texts
from sampling_ref.generation.repetition import Loop as Loop
from sampling_ref.generation.repetition import is_degenerate as is_degenerate
from sampling_ref.generation.repetition import most_repeated as most_repeated
