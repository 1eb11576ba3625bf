"""Training: the definition, the quick trainer, and what others make of the same texts."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken._educational import bpe_train
from tokenizers import Tokenizer as HuggingFaceTokenizer
from tokenizers import models, trainers

from bpe_ref import TextRules, Vocabulary, tokenizer_of, vocabulary_by_concatenation
from bpe_ref.auditing import audit
from bpe_ref.encoders.naive import encode_naive
from bpe_ref.errors import ParameterError, PatternError
from bpe_ref.formats.tiktoken import parse_tiktoken, write_tiktoken
from bpe_ref.learning import Learned, learn_naive, merge_everywhere
from bpe_ref.learning.incremental import learn_incrementally
from bpe_ref.learning.training import TrainingProgress, train
from bpe_ref.vocabulary.merges import TokenId
from tests.strategies import examples

WORDS = TextRules(pattern=r"\S+|\s+")
MOST = 12
"""How many tokens are learned where no test says otherwise."""


def letters(alphabet: str) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=1, max_size=14)


def words() -> st.SearchStrategy[str]:
    """Draw a word in which pairs compete: few letters, runs, and words made of words."""
    run = st.tuples(st.sampled_from("ab"), st.integers(1, 9)).map(lambda run: run[0] * run[1])
    part = st.sampled_from(["a", "b", "ab", "ba", "aab", "abb", "aba", "abab", "c"])
    return (
        letters("a")
        | letters("ab")
        | letters("abc")
        | st.lists(part | run, min_size=1, max_size=6).map("".join)
    )


def pieces() -> st.SearchStrategy[dict[bytes, int]]:
    """Draw pieces and how often each occurs; few numbers, so that sums often tie."""
    piece = words().map(str.encode) | st.binary(max_size=8)
    return st.dictionaries(piece, st.sampled_from([1, 1, 1, 2, 3]), max_size=6)


def texts() -> st.SearchStrategy[list[str]]:
    """Draw texts of a few words each."""
    return st.lists(st.lists(words(), max_size=5).map(" ".join), max_size=5)


def learned_tokens(vocabulary: Vocabulary) -> list[bytes]:
    """Return what was learned, in order."""
    return [vocabulary.tokens[token] for token in range(256, len(vocabulary.tokens))]


def spelled(learning: Iterator[Learned]) -> list[tuple[bytes, bytes]]:
    """Return the two halves of each token learned."""
    tokens = [bytes([byte]) for byte in range(256)]
    halves = []
    for left, right, _ in learning:
        halves.append((tokens[left], tokens[right]))
        tokens.append(tokens[left] + tokens[right])
    return halves


def final_states(pieces: Mapping[bytes, int], learned: list[Learned]) -> dict[bytes, list[TokenId]]:
    """Return what training leaves of each piece."""
    states = {piece: list(piece) for piece in pieces}
    for result, (left, right, _) in enumerate(learned, 256):
        for piece, tokens in states.items():
            states[piece] = merge_everywhere(tokens, (left, right), result)
    return states


# ---- the quick trainer is the definition


@examples(1000)
@given(pieces(), st.integers(1, 4), st.none() | st.integers(1, 7))
def test_the_quick_trainer_learns_what_the_definition_learns(
    pieces: dict[bytes, int], min_count: int, longest: int | None
) -> None:
    quick = learn_incrementally(pieces, min_count=min_count, max_token_length=longest)
    naive = learn_naive(pieces, min_count=min_count, max_token_length=longest)
    assert list(quick) == list(naive)


@examples(150)
@given(texts(), st.integers(256, 256 + MOST))
def test_train_learns_what_the_definition_learns(texts: list[str], size: int) -> None:
    cut = tokenizer_of(vocabulary_by_concatenation({b"a": 0}, text=WORDS)).pieces
    pieces = Counter(piece.encode() for text in texts for piece in cut(text))
    halves = spelled(islice(learn_naive(pieces), size - 256))
    vocabulary = train(texts, size, text_rules=WORDS)
    assert learned_tokens(vocabulary) == [left + right for left, right in halves]


# ---- what the source leaves open


def test_of_equally_frequent_pairs_the_lowest_left_id_wins() -> None:
    assert next(learn_naive({b"ba": 2, b"ac": 2})) == Learned(97, 99, 2)


def test_of_these_the_lowest_right_id_wins() -> None:
    assert next(learn_naive({b"ac": 2, b"ab": 2})) == Learned(97, 98, 2)


def test_an_older_token_wins_against_a_newer_one() -> None:
    halves = spelled(learn_naive({b"aax": 3, b"bc": 3}))
    assert halves == [(b"a", b"a"), (b"b", b"c"), (b"aa", b"x")]


def test_overlapping_occurrences_all_count() -> None:
    assert list(learn_naive({b"aaa": 1})) == [Learned(97, 97, 2)]
    assert next(learn_naive({b"aaaa": 1, b"bc": 2})) == Learned(97, 97, 3)


def test_a_pair_that_overlaps_itself_is_merged_from_left_to_right() -> None:
    assert merge_everywhere([1, 1, 1, 1, 1], (1, 1), 2) == [2, 2, 1]
    assert spelled(learn_incrementally({b"aaab": 2})) == [
        (b"a", b"a"),
        (b"a", b"b"),
        (b"aa", b"ab"),
    ]


def test_the_text_of_the_wikipedia_example() -> None:
    assert learned_tokens(train(["aaabdaaabac"], 300)) == [b"aa", b"ab", b"aaab"]


def test_nothing_is_merged_across_the_border_of_a_piece() -> None:
    vocabulary = train(["ab ab ab"], 300, text_rules=WORDS)
    assert learned_tokens(vocabulary) == [b"ab"]


def test_a_piece_that_occurs_twice_counts_twice() -> None:
    assert list(learn_naive({b"ab": 5})) == [Learned(97, 98, 5)]
    assert list(learn_incrementally({b"ab": 5})) == [Learned(97, 98, 5)]


def test_too_little_text_makes_a_smaller_vocabulary() -> None:
    assert len(train(["abab"], 100_000).tokens) == 257


def test_a_pair_that_is_too_rare_is_not_learned() -> None:
    assert learned_tokens(train(["ababa"], 300, min_count=3)) == []
    assert learned_tokens(train(["ababab"], 257, min_count=3)) == [b"ab"]
    assert learned_tokens(train(["ab"], 300, min_count=1)) == [b"ab"]


def test_a_pair_that_is_too_long_gives_way_to_the_next_one() -> None:
    vocabulary = train(["abcabcabc xy"], 300, max_token_length=2, min_count=1, text_rules=WORDS)
    assert learned_tokens(vocabulary) == [b"ab", b"xy"]
    assert learned_tokens(train(["abab"], 300, max_token_length=1)) == []


@pytest.mark.parametrize("texts", [[], [""], ["", ""]])
def test_without_text_there_are_the_bytes(texts: list[str]) -> None:
    vocabulary = train(texts, 300)
    assert vocabulary.tokens == {byte: bytes([byte]) for byte in range(256)}


def test_a_size_of_256_learns_nothing() -> None:
    assert len(train(["aaaa"], 256).tokens) == 256


def test_special_tokens_come_after_what_was_learned_and_do_not_count() -> None:
    vocabulary = train(["abab"], 257, special_tokens=["<b>", "<a>"])
    assert (len(vocabulary.tokens), vocabulary.special_tokens) == (257, {"<b>": 257, "<a>": 258})


def test_special_tokens_in_the_texts_are_ordinary_text() -> None:
    vocabulary = train(["<s><s>"], 300, special_tokens=["<s>"])
    assert learned_tokens(vocabulary) == [b"<s", b"<s>"]


# ---- what follows from the definition


@examples(300)
@given(pieces(), st.integers(1, 3), st.none() | st.integers(2, 7))
def test_encoding_a_piece_arrives_at_the_state_that_training_left(
    pieces: dict[bytes, int], min_count: int, longest: int | None
) -> None:
    learning = learn_naive(pieces, min_count=min_count, max_token_length=longest)
    learned = list(islice(learning, MOST))
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [left + right for left, right in spelled(iter(learned))]
    assert len(set(tokens)) == len(tokens), "no token is learned twice"

    vocabulary = vocabulary_by_concatenation({content: i for i, content in enumerate(tokens)})
    for piece, state in final_states(pieces, learned).items():
        assert encode_naive(vocabulary, vocabulary.symbols(piece)) == state


@examples(150)
@given(texts(), st.integers(256, 256 + MOST), st.none() | st.integers(2, 5))
def test_an_audit_of_what_was_trained_finds_nothing(
    texts: list[str], size: int, longest: int | None
) -> None:
    vocabulary = train(texts, size, max_token_length=longest, special_tokens=["<end>"])
    found = audit(vocabulary)
    assert (found.dead_tokens, found.improper_tokens, found.holes) == ((), (), ())
    assert (found.missing_bytes, found.ids_follow_ranks) == (b"", True)


@examples(100)
@given(st.data())
def test_the_order_of_the_texts_does_not_matter(data: st.DataObject) -> None:
    drawn = data.draw(texts())
    shuffled = data.draw(st.permutations(drawn))
    one, other = train(drawn, 256 + MOST), train(shuffled, 256 + MOST)
    assert learned_tokens(one) == learned_tokens(other)


@examples(100)
@given(texts())
def test_a_smaller_vocabulary_is_the_beginning_of_a_larger_one(texts: list[str]) -> None:
    larger = learned_tokens(train(texts, 256 + MOST))
    for size in range(256, 256 + MOST):
        assert learned_tokens(train(texts, size)) == larger[: size - 256]


@examples(100)
@given(pieces(), st.integers(1, 3), st.integers(2, 5))
def test_the_same_text_several_times_makes_every_count_so_many_times_as_high(
    pieces: dict[bytes, int], min_count: int, times: int
) -> None:
    once = learn_incrementally(pieces, min_count=min_count)
    often = learn_incrementally(
        {piece: times * count for piece, count in pieces.items()}, min_count=times * min_count
    )
    assert [(left, right, times * count) for left, right, count in once] == list(often)


@examples(100)
@given(pieces())
def test_no_pair_is_left_that_could_be_merged(pieces: dict[bytes, int]) -> None:
    states = final_states(pieces, list(learn_incrementally(pieces)))
    counts: Counter[tuple[TokenId, TokenId]] = Counter()
    for piece, tokens in states.items():
        for pair in pairwise(tokens):
            counts[pair] += pieces[piece]
    assert all(count < 2 for count in counts.values())


# ---- text rules


def test_training_sees_the_pieces_that_encoding_will_see() -> None:
    composed = TextRules(normalization="nfc")
    assert learned_tokens(train(["e\u0301" * 2], 257, text_rules=composed)) == ["é".encode()]
    assert learned_tokens(train(["é" * 2], 257)) == ["é".encode()]


def test_a_lone_surrogate_is_trained_on_as_the_replacement_character() -> None:
    assert train(["\ud800" * 3], 258).digest() == train(["\ufffd" * 3], 258).digest()


def test_the_text_rules_are_those_of_the_vocabulary() -> None:
    assert train(["a b"], 256, text_rules=WORDS).text == WORDS


def test_a_trained_vocabulary_survives_the_tiktoken_format(tmp_path: Path) -> None:
    vocabulary = train(["the cat sat on the mat", "the\n\u00e9t\u00e9"], 300, text_rules=WORDS)
    path = tmp_path / "trained.tiktoken"
    write_tiktoken({content: token for token, content in vocabulary.tokens.items()}, path)
    read = vocabulary_by_concatenation(parse_tiktoken(path.read_bytes(), str(path)), text=WORDS)
    assert read.digest() == vocabulary.digest()


# ---- long work


def test_texts_are_read_one_at_a_time() -> None:
    handed_out = 0
    seen: list[tuple[int, int]] = []

    def one_after_the_other() -> Iterator[str]:
        nonlocal handed_out
        for _ in range(3):
            handed_out += 1
            yield "abab"

    def look(progress: TrainingProgress) -> None:
        seen.append((handed_out, progress.texts))

    train(one_after_the_other(), 256, progress=look)
    assert seen == [(1, 1), (2, 2), (3, 3)]


def test_progress_is_reported_after_every_text_and_every_token() -> None:
    reports: list[TrainingProgress] = []
    train(["abab", "cab"], 300, text_rules=WORDS, progress=reports.append)
    assert reports == [
        TrainingProgress(texts=1, pieces=1, tokens=256, size=300, count=0),
        TrainingProgress(texts=2, pieces=2, tokens=256, size=300, count=0),
        TrainingProgress(texts=2, pieces=2, tokens=257, size=300, count=3),
    ]


def test_progress_can_stop_a_training_by_raising() -> None:
    def stop(progress: TrainingProgress) -> None:
        raise KeyboardInterrupt(progress.texts)

    with pytest.raises(KeyboardInterrupt, match="1"):
        train(["abab"] * 10, 300, progress=stop)


# ---- what others make of it


def merges_of_hugging_face(words: list[str], most: int) -> list[tuple[bytes, bytes]]:
    """Return what Hugging Face's trainer merges; its ids of printable ASCII are in our order."""
    alphabet = sorted({letter for word in words for letter in word})
    tokenizer = HuggingFaceTokenizer(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=len(alphabet) + most,
        min_frequency=2,
        initial_alphabet=alphabet,
        special_tokens=[],
        show_progress=False,
    )
    tokenizer.train_from_iterator(words, trainer)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [(left.encode(), right.encode()) for left, right in merges]


@examples(200)
@given(st.lists(words(), max_size=8))
def test_hugging_face_learns_the_same_ties_and_overlaps_included(words: list[str]) -> None:
    pieces = Counter(word.encode() for word in words)
    ours = spelled(islice(learn_incrementally(pieces), MOST))
    assert merges_of_hugging_face(words, MOST) == ours


@examples(200)
@given(st.lists(words(), min_size=1, max_size=8))
def test_tiktoken_s_educational_trainer_differs_in_ties_only(words: list[str]) -> None:
    pieces = Counter(word.encode() for word in words)
    # a merge at best halves a word, and their trainer fails when nothing is left to merge
    most = (max(map(len, words)) - 1).bit_length()
    ranks = bpe_train(" ".join(words), 256 + most, r"\S+", visualise=None)
    tokens = sorted(ranks, key=ranks.__getitem__)

    states = {piece: list(piece) for piece in pieces}
    for result, content in enumerate(tokens[256:], 256):
        counts: Counter[tuple[TokenId, TokenId]] = Counter()
        for piece, state in states.items():
            for pair in pairwise(state):
                counts[pair] += pieces[piece]
        highest = max(counts.values())
        theirs = [pair for pair in counts if tokens[pair[0]] + tokens[pair[1]] == content]
        assert [counts[pair] for pair in theirs] == [highest]
        states = {
            piece: merge_everywhere(state, theirs[0], result) for piece, state in states.items()
        }


def test_without_ties_tiktoken_s_educational_trainer_learns_the_same() -> None:
    words = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3 + ["wide"]
    learned = list(islice(learn_naive(Counter(word.encode() for word in words)), 5))
    assert len({count for _, _, count in learned}) == 3, "there are ties in this one"

    words = ["abcdef"] * 8 + ["bc"] * 4 + ["bcd"] * 2 + ["ef"]
    pieces = Counter(word.encode() for word in words)
    ours = [left + right for left, right in spelled(islice(learn_naive(pieces), 3))]
    theirs = bpe_train(" ".join(words), 259, r"\S+", visualise=None)
    assert list(theirs)[256:] == ours == [b"bc", b"bcd", b"ef"]


# ---- what cannot be asked for


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"size": 255}, "size must be a whole number from 256 to 4294967296, got 255"),
        ({"size": 300.0}, "size must be a whole number from 256 to 4294967296, got 300.0"),
        ({"size": True}, "size must be a whole number from 256 to 4294967296, got True"),
        ({"min_count": 0}, "min_count must be a whole number from 1, got 0"),
        ({"min_count": 1.5}, "min_count must be a whole number from 1, got 1.5"),
        ({"max_token_length": 0}, "max_token_length must be a whole number from 1, or None, got 0"),
        (
            {"max_token_length": "9"},
            "max_token_length must be a whole number from 1, or None, got '9'",
        ),
        ({"special_tokens": "<s>"}, "special_tokens must be texts that are not empty, got '<s>'"),
        ({"special_tokens": [""]}, "special_tokens must be texts that are not empty, got ['']"),
        ({"special_tokens": [b"x"]}, "special_tokens must be texts that are not empty, got [b'x']"),
        ({"special_tokens": ["x", "x"]}, "special_tokens must be different texts, got ['x', 'x']"),
        ({"texts": "abc"}, "texts must be several texts, not one, got <class 'str'>"),
        ({"texts": [b"abc"]}, "text must be a str, got b'abc'"),
    ],
)
def test_bad_arguments_are_refused_in_a_sentence(
    arguments: dict[str, object], sentence: str
) -> None:
    complete: dict[str, object] = {"texts": ["abc"], "size": 300, **arguments}
    with pytest.raises(ParameterError) as refusal:
        train(**complete)  # type: ignore[arg-type]
    assert str(refusal.value) == sentence


def test_bad_arguments_are_refused_before_any_text_is_read() -> None:
    texts = iter(["a", "b"])
    with pytest.raises(ParameterError):
        train(texts, 300, min_count=0)
    with pytest.raises(PatternError):
        train(texts, 300, text_rules=TextRules(pattern="["))
    assert list(texts) == ["a", "b"]
