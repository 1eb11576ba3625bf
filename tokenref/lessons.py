"""Where the book teaches an operation: the section for each, with its pictures and examples."""

from collections.abc import Mapping
from typing import Final

_SECTIONS: Final[Mapping[str, str]] = {
    "merging.md#the-definition": "encode",
    "merging.md#what-is-always-true": "append prepend intervals",
    "texts.md#pre-tokenization": "pieces tokenize",
    "texts.md#special-tokens": "special session",
    "texts.md#streaming": "decode stream offsets detokenize detokenize_stream eager",
    "texts.md#counting-and-cutting": "count limit split chunks completions canonical",
    "logits.md#softmax": "softmax logprobs top_logprobs prompt_logprobs batch",
    "logits.md#temperature": "temperature dynamic_temperature smoothing greedy",
    "logits.md#penalties-and-their-signs": (
        "repetition_penalty frequency_penalty presence_penalty penalties decaying_penalties "
        "encoder_repetition no_repeat_ngram encoder_no_repeat_ngram dry dry_nearby dry_longest"
    ),
    "logits.md#masks-and-biases": (
        "logit_bias sequence_bias bad_words min_length min_new_tokens forced_bos forced_eos "
        "suppress begin_suppress remove_invalid_values exponential_decay_length allowed_tokens "
        "token_mask prefix_allowed_tokens grammar_mask"
    ),
    "loops.md#the-experiment": "lz",
    "filters.md#top-k": "top_k",
    "filters.md#top-p-and-min-p": "top_p min_p",
    "filters.md#typical-top-n-sigma-and-others": (
        "typical epsilon eta top_n_sigma top_a tail_free top_h xtc mirostat_1 mirostat_2 adaptive_p"
    ),
    "filters.md#the-order-of-steps": "chain steps distribution sequence",
    "draws.md#inverse-cdf": "draw sample",
    "draws.md#where-random-numbers-come-from": "random_words uniforms seeds",
    "draws.md#speculative-decoding": "speculative speculative_steps residual",
    "oracles.md#why-cosine-similarity-is-not-a-test": "stat stat_speculative stat_batch",
}

_BY_OPERATION: Final[Mapping[str, str]] = {
    op: f"docs/book/{section}" for section, ops in _SECTIONS.items() for op in ops.split()
}


def lesson(op: str) -> str:
    """Return the section of the book that teaches an operation.

    >>> lesson("min_p")
    'docs/book/filters.md#top-p-and-min-p'
    """
    return _BY_OPERATION[op]
