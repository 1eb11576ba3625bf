"""Hypothesis strategies for questions to tokenizers and samplers, aimed at where they go wrong.

texts     texts made of atoms; vocabularies unlike trained ones
rows     rows with ties and thresholds; numbers and parameters at which decisions change
tokenizer_questions, sampler_questions     questions of each operation
"""

from tokenref.strategies.rows import dyadic_weights as dyadic_weights
from tokenref.strategies.rows import histories as histories
from tokenref.strategies.rows import invalid_rows as invalid_rows
from tokenref.strategies.rows import logits as logits
from tokenref.strategies.rows import near_boundary as near_boundary
from tokenref.strategies.rows import profile_parameters as profile_parameters
from tokenref.strategies.rows import step_parameters as step_parameters
from tokenref.strategies.rows import stepped as stepped
from tokenref.strategies.rows import uniforms as uniforms
from tokenref.strategies.sampler_questions import SAMPLER_QUESTIONS as SAMPLER_QUESTIONS
from tokenref.strategies.sampler_questions import adaptive_p as adaptive_p
from tokenref.strategies.sampler_questions import chains as chains
from tokenref.strategies.sampler_questions import even_rows as even_rows
from tokenref.strategies.sampler_questions import mirostat as mirostat
from tokenref.strategies.sampler_questions import plain_rows as plain_rows
from tokenref.strategies.sampler_questions import race_numbers as race_numbers
from tokenref.strategies.sampler_questions import races as races
from tokenref.strategies.sampler_questions import sampler_calls as sampler_calls
from tokenref.strategies.sampler_questions import steps as steps
from tokenref.strategies.texts import atoms as atoms
from tokenref.strategies.texts import long_runs as long_runs
from tokenref.strategies.texts import mostly as mostly
from tokenref.strategies.texts import texts as texts
from tokenref.strategies.texts import vocabularies as vocabularies
from tokenref.strategies.texts import vocabularies_of_letters as vocabularies_of_letters
from tokenref.strategies.texts import vocabularies_of_texts as vocabularies_of_texts
from tokenref.strategies.tokenizer_questions import TOKENIZER_QUESTIONS as TOKENIZER_QUESTIONS
from tokenref.strategies.tokenizer_questions import VOCABULARY_QUESTIONS as VOCABULARY_QUESTIONS
from tokenref.strategies.tokenizer_questions import growing_calls as growing_calls
from tokenref.strategies.tokenizer_questions import texts_of as texts_of
