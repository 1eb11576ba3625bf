"""Bugs that no single call can show, and what shows them instead."""

from typing import Final, NamedTuple


class Beyond(NamedTuple):
    """One bug of samplers that one question with everything given cannot show."""

    bug: str
    seen: str
    reason: str
    caught: str


BEYOND: Final = (
    Beyond(
        "The generator is seeded by the clock for every token.",
        "private-mind#255",
        "the random numbers, or the words, are given",
        "`random_words/places` (a stream goes on), `sequence/steering` (reset); the clock: `stat`",
    ),
    Beyond(
        "Padding of a batch is counted by penalties.",
        "text-generation-inference#1765",
        "one row has no padding",
        "`batch/penalties`",
    ),
    Beyond(
        "Penalties do not see accepted drafts, or still see rejected ones.",
        "vllm#18902, vllm#33433",
        "the history is given",
        "`sequence/penalties`, `sequence/windows`, `sequence/lengths`",
    ),
    Beyond(
        "The answer depends on how many rows there are.",
        "vllm#50979, sglang#33539",
        "one row is one row",
        "`batch/filters` and `batch/rules` (alone, twice, of 8 and of 9 rows)",
    ),
    Beyond(
        "Mirostat's mu starts anew for every token.",
        "llama-cpp-python#914, LLamaSharp#71",
        "the state is given: a wrong return shows, a lost one does not",
        "`sequence/steering`",
    ),
    Beyond(
        "The draft's row that is reported is not the one it was drawn from.",
        "transformers#47932, DeepSpec#31",
        "the row is given, and needs the engine's own drafter",
        "`stat_speculative/chain`: the engine drafts by itself, from filtered rows and from rows "
        "that bf16 does not hold",
    ),
    Beyond(
        "Draft and replacement share their noise.",
        "vllm#47386",
        "each number is given by itself",
        "given numbers: `speculative/chain`; the engine's own noise: `stat_speculative/chain`",
    ),
    Beyond(
        "The noise has a floor, so that the tail is drawn too often or never.",
        "vllm#43150",
        "the engine's own noise is not in a record",
        "given numbers: `draw/races`; its own: `stat/laws`",
    ),
    Beyond(
        "The window of noise wraps: rows are correlated.",
        "vllm#59786",
        "each row's own law is right",
        "repeated blocks in one row: `stat/laws`; each two rows of a call, and of two calls that "
        "follow each other: `stat_batch/rows`",
    ),
    Beyond(
        "A seed is ignored in a batch of seeded and unseeded rows.",
        "vllm#51226",
        "a seed is no part of a question about a row",
        "given numbers: `batch/draws`; own seeds, alone and in company: `seeds/batches`",
    ),
    Beyond(
        "Noise belongs to places in one path, and to tokens in another.",
        "sglang#35697",
        "that two paths differ needs two calls",
        "`draw/races` for each path, `batch/draws` and `batch/filters` for both at once",
    ),
    Beyond(
        "A row that does not lie in one piece is read wrongly.",
        "vllm#42684",
        "a record does not say how a row lies in memory",
        "`batch/filters`: rows of one matrix have the usual stride",
    ),
    Beyond(
        "The offset of the stream is not advanced between two calls.",
        "aiter#2035",
        "one call has one offset",
        "`random_words/places`, `random_words/counters`; its own stream: `stat`, `stat_batch`",
    ),
    Beyond(
        "Rows are changed in place, and the next call sees that.",
        "vllm-ascend#2881",
        "each call is given its own rows",
        "`batch/filters` (the same row twice), `speculative/tree`",
    ),
    Beyond(
        "The order of penalties is that of a hash table.",
        "sglang's penalties without overlap",
        "the order is the same within one process",
        "run twice with other hash seeds; the order itself: `penalties`",
    ),
)
