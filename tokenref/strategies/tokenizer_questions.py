"""Questions to a whole tokenizer: texts of its own words, pairs of them, and ids."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from bpe_ref import Pipeline
from tokenref.strategies.texts import mostly, texts

Request: TypeAlias = dict[str, Any]

_MOST_WORDS: Final = 400


def tokens_of(pipeline: Pipeline) -> list[int]:
    """Return the ids of a tokenizer's tokens, its added ones included; of many, every n-th."""
    found = sorted(pipeline.vocabulary(with_added_tokens=True).values())
    return found[:: -(-len(found) // _MOST_WORDS)]


def words_of_tokenizer(pipeline: Pipeline) -> list[str]:
    """Return the texts that a tokenizer knows: what each token decodes to, and how it is written."""
    words = dict.fromkeys(
        word
        for token in tokens_of(pipeline)
        for word in (
            pipeline.decode([token], skip_special_tokens=False),
            pipeline.id_to_token(token),
        )
        if word
    )
    return list(words)


def _tokenize(pipeline: Pipeline, words: list[str]) -> st.SearchStrategy[Request]:  # noqa: ARG001 - one shape for all
    one = {"text": texts(*words, longest=8), "add_special_tokens": st.booleans()}
    pair = st.fixed_dictionaries({**one, "pair": texts(*words, longest=4)})
    return mostly(st.fixed_dictionaries(one), pair, 4)


def _ids(pipeline: Pipeline, words: list[str]) -> st.SearchStrategy[list[int]]:
    listed = st.lists(st.sampled_from(tokens_of(pipeline)), max_size=8)
    of_text = texts(*words, longest=4).map(lambda text: pipeline.ids(text, add_special_tokens=True))
    return listed | st.tuples(listed, of_text).map(lambda drawn: drawn[0] + drawn[1])


def _detokenize(pipeline: Pipeline, words: list[str]) -> st.SearchStrategy[Request]:
    ids = _ids(pipeline, words)
    return st.fixed_dictionaries({"ids": ids, "skip_special_tokens": st.booleans()})


def _detokenize_stream(pipeline: Pipeline, words: list[str]) -> st.SearchStrategy[Request]:
    parts: dict[str, st.SearchStrategy[Any]] = {
        "ids": _ids(pipeline, words),
        "skip_special_tokens": st.booleans(),
        "mode": st.sampled_from(["certain", "engine"]),
    }
    return st.fixed_dictionaries(parts)


Questions: TypeAlias = Callable[[Pipeline, list[str]], st.SearchStrategy[Request]]

TOKENIZER_QUESTIONS: Final[Mapping[str, Questions]] = MappingProxyType(
    {
        "tokenize": _tokenize,
        "detokenize": _detokenize,
        "detokenize_stream": _detokenize_stream,
    }
)
"""What draws the questions of each operation, given a tokenizer and the texts that it knows."""
