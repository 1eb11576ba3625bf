"""Questions to a whole tokenizer: texts of its own words, pairs of them, and ids."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from bpe_ref import BpeError, Tokenizer
from tokenref.strategies.texts import mostly, texts

Request: TypeAlias = dict[str, Any]

_MOST_WORDS: Final = 400


def tokens_of(tokenizer: Tokenizer) -> list[int]:
    """Return the ids of a tokenizer, with its added tokens; every n-th if there are many."""
    found = sorted(set(tokenizer.vocab.values()))
    return found[:: -(-len(found) // _MOST_WORDS)]


def words_of_tokenizer(tokenizer: Tokenizer) -> list[str]:
    """Return the texts of a tokenizer's tokens: decoded, and as written in the vocabulary.

    Added tokens come as often as a third of all others together: most goes wrong about them.
    """
    words = dict.fromkeys(
        word
        for token in tokens_of(tokenizer)
        for word in (_decoded(tokenizer, token), tokenizer.id_to_token(token))
        if word
    )
    ordinary = tokenizer.model.vocab
    added = [word for word in tokenizer.vocab if word not in ordinary]
    times = 1 + len(words) // (3 * len(added)) if added else 0
    return [*words, *added * times]


def _decoded(tokenizer: Tokenizer, token: int) -> str:
    """Return the text of a token; an empty text if the decoder refuses it."""
    try:
        return tokenizer.decode([token])
    except BpeError:
        return ""


def _encoded(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the ids of a text; an empty list if a character has no token."""
    try:
        return tokenizer.encode(text)
    except BpeError:
        return []


def _tokenize(_: Tokenizer, words: list[str]) -> st.SearchStrategy[Request]:
    one = {"text": texts(*words, longest=8), "add_special_tokens": st.booleans()}
    pair = st.fixed_dictionaries({**one, "pair": texts(*words, longest=4)})
    return mostly(st.fixed_dictionaries(one), pair, 4)


def _detokenize(
    tokenizer: Tokenizer, words: list[str], **more: st.SearchStrategy[Any]
) -> st.SearchStrategy[Request]:
    known = tokens_of(tokenizer)
    unknown = st.sampled_from([known[-1] + 1, known[-1] + 2, 99_999])
    listed = st.lists(mostly(st.sampled_from(known), unknown, 32), max_size=8)
    of_text = texts(*words, longest=4).map(partial(_encoded, tokenizer))
    ids = listed | st.tuples(listed, of_text).map(lambda drawn: drawn[0] + drawn[1])
    return st.fixed_dictionaries({"ids": ids, "skip_special_tokens": st.booleans(), **more})


Questions: TypeAlias = Callable[[Tokenizer, list[str]], st.SearchStrategy[Request]]

TOKENIZER_QUESTIONS: Final[Mapping[str, Questions]] = MappingProxyType(
    {
        "tokenize": _tokenize,
        "detokenize": _detokenize,
        "detokenize_stream": partial(_detokenize, mode=st.sampled_from(["certain", "engine"])),
    }
)
"""The strategy for the questions of each operation, given a tokenizer and its texts."""
