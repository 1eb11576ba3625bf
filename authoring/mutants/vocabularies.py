"""Mutants that lose or mix up tokens when they load a vocabulary."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Final

from authoring.mutants.mutant import Prepare, decode, encode, preparing, spelled
from bpe_ref import (
    ENCODERS,
    TextRules,
    TokenId,
    Vocabulary,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
)
from bpe_ref.vocabulary.compatibility import build_derivations
from bpe_ref.vocabulary.merges import ByConcatenation, ByPair, Merge


def renumbered(vocabulary: Vocabulary, new: Callable[[TokenId], TokenId]) -> Vocabulary:
    """Return the vocabulary with other ids; a special token whose id is taken is left out.

    >>> dict(renumbered(spelled("a b"), lambda token: token + 5).tokens)
    {5: b'a', 6: b'b'}
    """
    tokens = {new(token): content for token, content in vocabulary.tokens.items()}
    spellings = {token: content.decode("latin-1") for token, content in tokens.items()}
    ids = {spelling: token for token, spelling in spellings.items()}
    rule = vocabulary.rule
    special = {
        text: token for text, token in vocabulary.special_tokens.items() if token not in tokens
    }
    if isinstance(rule, ByPair):
        table = {
            (new(left), new(right)): Merge(merge.rank, new(merge.result))
            for (left, right), merge in rule.table.items()
        }
        merges = [(new(left), new(right)) for left, right in rule.merges]
        return Vocabulary(tokens, ByPair(merges, table), vocabulary.text, special)
    ranks = {new(token): rank for token, rank in rule.ranks.items()}
    return Vocabulary(tokens, ByConcatenation(spellings, ids, ranks), vocabulary.text, special)


def without(wanted: Callable[[bytes], bool]) -> Prepare:
    """Drop all tokens of two bytes and more that are not wanted.

    >>> dict(without(lambda content: content != b"ab")(spelled("a b ab")).tokens)
    {0: b'a', 1: b'b'}
    """

    @wraps(wanted)
    def prepare(vocabulary: Vocabulary) -> Vocabulary:
        lost = {
            token
            for token, content in vocabulary.tokens.items()
            if len(content) > 1 and not wanted(content)
        }
        return without_tokens(vocabulary, lost)

    return prepare


def without_tokens(vocabulary: Vocabulary, lost: set[TokenId]) -> Vocabulary:
    """Return the vocabulary without some tokens and the merges that they are part of.

    A vocabulary that would lose all of its tokens keeps them.
    """
    if not lost or lost >= vocabulary.tokens.keys():
        return vocabulary
    kept = {content: token for token, content in vocabulary.tokens.items() if token not in lost}
    rule, tokens = vocabulary.rule, vocabulary.tokens
    text, special = vocabulary.text, vocabulary.special_tokens
    if isinstance(rule, ByPair):
        pairs = [
            pair
            for pair in rule.merges
            if lost.isdisjoint(pair) and rule.table[pair].result not in lost
        ]
        merges = [(tokens[left], tokens[right]) for left, right in pairs]
        return vocabulary_by_pair(kept, merges, text=text, special_tokens=special)
    ranks = {content: rule.ranks[token] for content, token in kept.items()}
    return vocabulary_by_concatenation(ranks, ids=kept, text=text, special_tokens=special)


_WHOLE: Final = TextRules(whole_piece=True)


@preparing(encode(spelled("a b", ids=[0, 2]), "b"))
def ids_by_line_number(vocabulary: Vocabulary) -> Vocabulary:
    """Tokens are numbered by their line, so ids after a hole are one too low. GitHub's bpe ignores
    the column of ids, and p50k_base has a hole at 50256.
    """
    lines = {token: line for line, token in enumerate(sorted(vocabulary.tokens))}
    return renumbered(vocabulary, lines.__getitem__)


@preparing(encode(spelled("b a"), "a"))
def bytes_in_order(vocabulary: Vocabulary) -> Vocabulary:
    """The single bytes are assumed to have their ids in order. In GPT-2's vocabulary and its
    descendants the printable ones come first, so the id of ! is 0.
    """
    letters = vocabulary.symbol_of_letter
    new = dict(zip(letters.values(), sorted(letters.values()), strict=True))
    return renumbered(vocabulary, lambda token: new.get(token, token))


@preparing(decode(spelled("a b c abc", text=_WHOLE), 3))
def dead_tokens_removed(vocabulary: Vocabulary) -> Vocabulary:
    """Tokens that merging cannot make are removed as useless, but a piece equal to one of them is
    taken whole. Llama-3 has 588 of them; openai/tiktoken#60.
    """
    alive = vocabulary.remember(build_derivations).places
    return without_tokens(vocabulary, set(vocabulary.tokens) - alive.keys())


@preparing(encode(spelled(f"a {'a' * 128}", text=_WHOLE), "a" * 128))
@without
def tokens_from_128_bytes_lost(content: bytes) -> bool:
    """Tokens of 128 bytes and more do not fit the length in a signed byte. tokie's is unsigned;
    cl100k_base and o200k_base have tokens of exactly 128 bytes.
    """
    return len(content) < 128


@preparing(encode(spelled(f"a {'a' * 256}", text=_WHOLE), "a" * 256))
@without
def tokens_from_256_bytes_lost(content: bytes) -> bool:
    """Tokens of 256 bytes and more do not fit the length in a byte. tokie."""
    return len(content) < 256


@preparing(
    encode(vocabulary_by_concatenation({b"\xc3": 0, b"\xa9": 1, b" ": 2, b" \xc3": 3}), " \u00e9")
)
@without
def tokens_that_are_no_text_lost(content: bytes) -> bool:
    """Tokens are stored as text, so those that contain part of a character are lost."""
    return content.decode("utf-8", "ignore").encode() == content


@preparing(encode(vocabulary_by_concatenation({b" ": 0, b"  ": 1}), "  "))
@without
def blank_tokens_lost(content: bytes) -> bool:
    """The file is read by lines and words, so tokens that consist of white space are lost."""
    return bool(content.strip())


@preparing(encode(vocabulary_by_concatenation({b"\0": 0, b"\0\0": 1}), "\0\0"))
@without
def tokens_with_zero_byte_lost(content: bytes) -> bool:
    """A zero byte ends a string, so tokens that contain one are lost. After ports to C."""
    return b"\0" not in content


@preparing(encode(spelled("a aa"), "aa"))
def last_token_lost(vocabulary: Vocabulary) -> Vocabulary:
    """The last line of the file is lost, because it has no line end."""
    last = max(vocabulary.tokens)
    return without_tokens(vocabulary, {last} if len(vocabulary.tokens[last]) > 1 else set())


@preparing(
    encode(vocabulary_by_pair({b"#": 0, b"##": 1}, [(b"#", b"#")]), "##"),
    encode_symbols=ENCODERS["heap"],
)
def merges_like_comments_lost(vocabulary: Vocabulary) -> Vocabulary:
    """merges.txt begins with a line `#version`, so similar lines are skipped and their merges lost:
    Hugging Face's library drops lines that begin with it, others drop all that begin with #.
    """
    rule = vocabulary.rule
    if not isinstance(rule, ByPair):
        return vocabulary
    kept = [pair for pair in rule.merges if not vocabulary.tokens[pair[0]].startswith(b"#")]
    table = {pair: merge for pair, merge in rule.table.items() if pair in set(kept)}
    return replace(vocabulary, rule=ByPair(kept, table))


@preparing(decode(spelled("a", special_tokens={"<x>": 5, "<y>": 5}), 5))
def shared_special_id_has_last_name(vocabulary: Vocabulary) -> Vocabulary:
    """When two special tokens share an id, the last name wins when decoding. o200k_harmony gives
    200018 two names.
    """
    return replace(vocabulary, special_tokens=dict(list(vocabulary.special_tokens.items())[::-1]))
