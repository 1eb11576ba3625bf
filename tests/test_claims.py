"""What `docs/claims/github-bpe.md` says of cl100k_base, whose file is not on every machine."""

from importlib.resources import files
from random import Random
from typing import Any

import pytest

from bpe_ref import Vocabulary
from bpe_ref.vocabulary.compatibility import build_derivations, compatible_by_definition, seam_test
from tests.real_vocabularies import real_vocabulary


class Counted(dict[int, int]):
    """A table that counts how often it was asked."""

    lookups = 0

    def __contains__(self, key: object) -> bool:
        """Count the question, and answer it."""
        Counted.lookups += 1
        return super().__contains__(key)


@pytest.fixture(scope="module")
def cl100k() -> Vocabulary:
    return real_vocabulary("cl100k_base")


def test_nearly_all_pairs_of_tokens_are_valid(cl100k: Vocabulary) -> None:
    made = build_derivations(cl100k)
    assert len(made.ids) == len(cl100k.tokens) == 100_256  # merging makes every token
    assert not made.disorderly
    seam, random = seam_test(made), Random(0)
    places = range(len(made.ids))
    valid = sum(seam(random.choice(places), random.choice(places)) for _ in range(20_000))
    assert 0.96 < valid / 20_000 < 0.98


def test_some_pairs_need_more_than_14_lookups(cl100k: Vocabulary) -> None:
    made: Any = build_derivations(cl100k)
    places = {cl100k.tokens[token]: place for token, place in made.places.items()}
    made.merged[:] = [Counted(found) for found in made.merged]
    seam, random = seam_test(made), Random(0)

    def lookups(left: int, right: int) -> int:
        Counted.lookups = 0
        seam(left, right)
        return Counted.lookups

    assert lookups(places[b" NotSupportedException"], places[b"/" * 80 + b"\n\n"]) == 17
    ids = range(len(made.ids))
    found = [lookups(random.choice(ids), random.choice(ids)) for _ in range(20_000)]
    assert sum(count > 13 for count in found) < 20


def test_how_many_tokens_end_at_a_position_and_how_many_are_tried(cl100k: Vocabulary) -> None:
    text = files("bpe_ref.data").joinpath("tiny_corpus.txt").read_bytes()[:2000]
    ids = {spelling: token for token, spelling in cl100k.tokens.items()}
    last: dict[int, int] = {}
    found = tried = 0
    for end in range(1, len(text) + 1):
        starts = range(max(0, end - 128), end)
        ending = [ids[text[start:end]] for start in starts if text[start:end] in ids]
        found += len(ending)
        for token in ending:
            tried += 1
            before = last.get(end - len(cl100k.tokens[token]))
            if before is None or compatible_by_definition(cl100k, before, token):
                last[end] = token
                break
    assert (round(found / len(text), 1), round(tried / len(text), 1)) == (2.8, 1.1)
