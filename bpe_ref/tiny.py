"""`tiny`: a vocabulary of 2,000 tokens that comes with the package.

It is there so that everything works without a download, and so that golden
records can be made that anybody can check. It was trained, by `training`, on
`data/tiny_corpus.txt`, which was written for the purpose: prose, twenty-odd
scripts, numbers, code, signs, and all kinds of white space.

What is in it, and why
    Text is cut as by cl100k_base, whose pattern has the most places to get
    wrong. There are contractions in both cases, runs of spaces and of line
    ends, groups of two and of three digits, words with and without a leading
    space, parts of code, characters of two to four bytes both whole and in
    parts, and some 400 tokens that two tokens make in more than one way,
    which is where an encoder that guesses guesses wrong.

It is frozen
    Tokens and ids never change; a test trains it anew and compares.
"""

from pathlib import Path
from typing import Final

from bpe_ref.formats.tiktoken import parse_tiktoken
from bpe_ref.patterns.registered import PATTERNS
from bpe_ref.vocabulary import TextRules, Vocabulary, vocabulary_by_concatenation

TINY_SIZE: Final = 2000
"""How many tokens tiny has, without the special ones."""

TINY_TEXT_RULES: Final = TextRules(PATTERNS["cl100k"].source, whole_piece=True)
"""How text is cut for tiny: as by cl100k_base, in tiktoken 0.14.0's spelling."""

TINY_SPECIAL_TOKENS: Final = ("<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
"""The special tokens of tiny; their ids are 2000 and on, in this order."""

SMALL: Final = {
    "book": ("a", "b", "c", "ab", "cb", "ac", "bb", "cbb", "acbb"),
    "odd": ("a", "b", "c", "d", "abc", "cd", "ab"),
}
"""Tokens by rank. `book` is that of the book's first chapters. In `odd`, ab is made after abc, so
that the fast test of two neighbours fails."""


def tiny_vocabulary() -> Vocabulary:
    """Return the vocabulary that comes with the package.

    >>> vocabulary = tiny_vocabulary()
    >>> len(vocabulary.tokens), vocabulary.special_tokens["<|endoftext|>"]
    (2000, 2000)
    >>> [vocabulary.tokens[token] for token in (256, 258, 269)]
    [b'  ', b'he', b' the']
    """
    content = (Path(__file__).parent / "data" / "tiny.tiktoken").read_bytes()
    return vocabulary_by_concatenation(
        parse_tiktoken(content, "tiny.tiktoken"),
        text=TINY_TEXT_RULES,
        special_tokens={
            text: token for token, text in enumerate(TINY_SPECIAL_TOKENS, start=TINY_SIZE)
        },
    )


def small_vocabulary(name: str) -> Vocabulary:
    """Return one of the vocabularies of `SMALL`.

    >>> small_vocabulary("book").tokens[8]
    b'acbb'
    """
    return vocabulary_by_concatenation({token.encode(): at for at, token in enumerate(SMALL[name])})


def tiny_corpus() -> str:
    """Return the text that tiny was trained on, with its line ends as they are.

    >>> tiny_corpus()[:15]
    'A token is a pi'
    """
    return (Path(__file__).parent / "data" / "tiny_corpus.txt").read_bytes().decode()
