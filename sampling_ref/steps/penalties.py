"""The steps that change logits because of the past: penalties, biases, masks."""

from collections.abc import Iterable

from sampling_ref.lz.penalty import lz_penalty
from sampling_ref.penalties.allowed import allowed
from sampling_ref.penalties.bad_words import bad_words
from sampling_ref.penalties.begin_suppress import begin_suppress
from sampling_ref.penalties.decaying import decaying
from sampling_ref.penalties.dry import dry
from sampling_ref.penalties.dry_longest import dry_longest
from sampling_ref.penalties.dry_nearby import dry_nearby
from sampling_ref.penalties.encoder_no_repeat_ngram import encoder_no_repeat_ngram
from sampling_ref.penalties.encoder_repetition import encoder_repetition
from sampling_ref.penalties.exponential_decay_length import exponential_decay_length
from sampling_ref.penalties.forced_bos import forced_bos
from sampling_ref.penalties.forced_eos import forced_eos
from sampling_ref.penalties.frequency import frequency
from sampling_ref.penalties.logit_bias import logit_bias
from sampling_ref.penalties.min_length import min_length
from sampling_ref.penalties.min_new_tokens import min_new_tokens
from sampling_ref.penalties.no_repeat_ngram import no_repeat_ngram
from sampling_ref.penalties.prefix_allowed import prefix_allowed
from sampling_ref.penalties.presence import presence
from sampling_ref.penalties.remove_invalid import remove_invalid_values
from sampling_ref.penalties.repetition import repetition
from sampling_ref.penalties.repetition_frequency_presence import penalties
from sampling_ref.penalties.sequence_bias import read_biases, sequence_bias
from sampling_ref.penalties.suppress import suppress
from sampling_ref.row import TokenId
from sampling_ref.situation import Situation
from sampling_ref.steps.step import Values, all_tokens, no_tokens, row_step


def _biased(situation: Situation, values: Values) -> Iterable[TokenId]:
    return [token for token in values["biases"] if token < situation.size]


def _last_of_sequences(situation: Situation, values: Values) -> Iterable[TokenId]:
    return {sequence[-1] for sequence in read_biases(values["biases"], situation.size)}


def _ends(situation: Situation, values: Values) -> Iterable[TokenId]:
    ends = values["ends"]
    return [end for end in ([ends] if isinstance(ends, int) else ends) if end < situation.size]


def _of_encoder(situation: Situation, values: Values) -> Iterable[TokenId]:
    given = values["encoder_input"]
    if given is None:
        return set(situation.history[: situation.prompt_length])
    return {token for token in given if token < situation.size}


PENALTY_STEPS = (
    row_step(
        "repetition_penalty",
        repetition,
        "tokens seen before are made less likely by {penalty}",
        numbers=("penalty",),
    ),
    row_step(
        "frequency_penalty",
        frequency,
        "each time a token was seen costs it {penalty}",
        numbers=("penalty",),
    ),
    row_step(
        "presence_penalty",
        presence,
        "having been seen at all costs a token {penalty}",
        numbers=("penalty",),
    ),
    row_step(
        "penalties",
        penalties,
        "tokens seen before: repetition {repetition}, frequency {frequency}, presence {presence}",
        numbers=("repetition", "frequency", "presence"),
    ),
    row_step(
        "decaying_penalties",
        decaying,
        "tokens seen before, the less the longer ago: repetition {repetition}, "
        "frequency {frequency}, presence {presence}",
        numbers=("repetition", "frequency", "presence"),
    ),
    row_step(
        "encoder_repetition",
        encoder_repetition,
        "tokens of the encoder's input are made likelier by {penalty}",
        touched=_of_encoder,
        numbers=("penalty",),
    ),
    row_step(
        "no_repeat_ngram",
        no_repeat_ngram,
        "no {ngram_size} tokens in a row may come a second time",
        touched=no_tokens,
    ),
    row_step(
        "encoder_no_repeat_ngram",
        encoder_no_repeat_ngram,
        "no {ngram_size} tokens in a row may come from the encoder's input",
        touched=no_tokens,
    ),
    row_step(
        "dry",
        dry,
        "what would go on repeating more than {allowed_length} tokens costs "
        "{multiplier} * {base}**(excess)",
        numbers=("multiplier", "base"),
    ),
    row_step(
        "dry_nearby",
        dry_nearby,
        "what would go on repeating more than {allowed_length} tokens costs "
        "{multiplier} * {base}**(excess)",
        numbers=("multiplier", "base"),
    ),
    row_step(
        "dry_longest",
        dry_longest,
        "what would go on the longest repetition costs {multiplier} * {base}**(excess)",
        numbers=("multiplier", "base"),
    ),
    row_step(
        "lz",
        lz_penalty,
        "{strength} times the bits by which each token lengthens the LZ code",
        touched=all_tokens,
    ),
    row_step(
        "logit_bias",
        logit_bias,
        "numbers added to single tokens",
        touched=_biased,
        numbers=("biases",),
    ),
    row_step(
        "sequence_bias",
        sequence_bias,
        "numbers added to the tokens that would complete sequences",
        touched=_last_of_sequences,
        numbers=("biases",),
    ),
    row_step("bad_words", bad_words, "no bad word may be completed", touched=no_tokens),
    row_step(
        "min_length",
        min_length,
        "no end before the sequence has {length} tokens",
        touched=no_tokens,
    ),
    row_step(
        "min_new_tokens",
        min_new_tokens,
        "no end before {count} tokens follow the prompt",
        touched=no_tokens,
    ),
    row_step("forced_bos", forced_bos, "the first token is {token}", touched=no_tokens),
    row_step(
        "forced_eos",
        forced_eos,
        "at length {max_length} the end is forced",
        touched=no_tokens,
    ),
    row_step("suppress", suppress, "some tokens never come", touched=no_tokens),
    row_step(
        "begin_suppress",
        begin_suppress,
        "some tokens do not come right after the prompt",
        touched=no_tokens,
    ),
    row_step(
        "remove_invalid_values",
        remove_invalid_values,
        "impossible tokens get the smallest number of 32 bits",
        touched=no_tokens,
    ),
    row_step(
        "exponential_decay_length",
        exponential_decay_length,
        "from {start} tokens on the end becomes likelier by powers of {growth}",
        touched=_ends,
    ),
    row_step("allowed_tokens", allowed, "only some tokens are allowed", touched=no_tokens),
    row_step(
        "prefix_allowed_tokens",
        prefix_allowed,
        "only what a function of the history allows",
        touched=no_tokens,
    ),
)

REWARD_OF_64_BITS = row_step(
    "encoder_repetition",
    encoder_repetition,
    "tokens of the encoder's input are made likelier by {penalty}",
    touched=_of_encoder,
)
"""The reward for programs that calculate its reciprocal with 64 bits, and use it with 32."""
