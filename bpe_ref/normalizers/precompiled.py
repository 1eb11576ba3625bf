"""`Precompiled`: the rewrite rules of a SentencePiece model.

Definition
    SentencePiece goes through the text from left to right and replaces, at each place, the longest
    match of a rule; what no rule matches stays. That is what happens under `STRICT`.

Where the engine differs
    It goes through the text by grapheme clusters. A cluster shorter than six bytes that begins with
    a match is replaced as a whole, by the replacement for the *shortest* match; what else is in the
    cluster is lost. Any other cluster is taken character by character, and each that begins with a
    match is replaced in the same way. Rules from more than one cluster never apply.

    Its alignment counts characters: if something becomes longer, its last characters are inserted;
    if shorter, the last character written so far is said to have removed those after it. So where
    something that vanishes is at the very beginning, it is forgotten, and every later character
    stands for the one before its own; and where it is after an inserted character, that one stands
    for it.

Source: normalizers/precompiled.rs of Hugging Face tokenizers 0.23.3, and its crate spm_precompiled
0.1; `Normalizer` in src/normalizer.cc of google/sentencepiece for the definition.
"""

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bpe_ref.aligned_text import AlignedText, Change
from bpe_ref.errors import VocabularyError
from bpe_ref.normalizers.charsmap import Charsmap
from bpe_ref.normalizers.grapheme_clusters import grapheme_clusters, has_plain_clusters
from bpe_ref.quirks import HUGGING_FACE, Quirks

_SHORT: Final = 6  # a cluster with fewer bytes is looked up as a whole
_MODELS: Final = 8  # charsmaps kept in memory; a process rarely has more than one


@dataclass(frozen=True)
class Precompiled:
    r"""The rules, in base64 as the file has them.

    Raises `VocabularyError` if they are not a charsmap in base64.

    >>> Precompiled("AAA=")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyError: precompiled_charsmap must have at least 4 bytes, got 2
    """

    precompiled_charsmap: str
    quirks: Quirks = HUGGING_FACE

    def __post_init__(self) -> None:
        """Raise `VocabularyError` unless it is a charsmap."""
        if not isinstance(self.precompiled_charsmap, str):
            raise VocabularyError(
                "precompiled_charsmap must be a str, "
                f"got a {type(self.precompiled_charsmap).__name__}"
            )
        _charsmap(self.precompiled_charsmap)

    def normalize(self, text: AlignedText) -> AlignedText:
        changes: list[Change] = []
        removed_first = 0
        modified = False
        for old, new in self._parts(text.text):
            if new is None:
                changes += [(character, 0) for character in old]
                continue
            modified = True
            changes += [(letter, int(index >= len(old))) for index, letter in enumerate(new)]
            surplus = len(old) - len(new)
            if surplus <= 0:
                continue
            if self.quirks.precompiled_by_clusters:
                if changes:
                    letter, change = changes[-1]
                    changes[-1] = (letter, change - surplus)
            elif not _remove_after(changes, surplus):
                removed_first += surplus
        return text.transform(changes, removed_first) if modified else text

    def normalize_text(self, text: str) -> str:
        if self.quirks.precompiled_by_clusters and has_plain_clusters(text):
            search = _charsmap(self.precompiled_charsmap).shortest_match
            found = ((character, search(character.encode(), 0)) for character in set(text))
            return text.translate({ord(old): match[1] for old, match in found if match})
        return "".join([old if new is None else new for old, new in self._parts(text)])

    def _parts(self, text: str) -> Iterator[tuple[str, str | None]]:
        """Yield the parts of the text, and what each becomes, if a rule matches it."""
        charsmap = _charsmap(self.precompiled_charsmap)
        if not self.quirks.precompiled_by_clusters:
            yield from _longest_matches(charsmap, text)
            return
        known: dict[str, str | None] = {}  # what a part becomes

        def replacement(part: str) -> str | None:
            if part not in known:
                match = charsmap.shortest_match(part.encode(), 0)
                known[part] = match and match[1]
            return known[part]

        for cluster in grapheme_clusters(text):
            yield from _cluster_parts(cluster, replacement)


def _cluster_parts(
    cluster: str, replacement: Callable[[str], str | None]
) -> Iterator[tuple[str, str | None]]:
    if len(cluster) == 1:
        yield cluster, replacement(cluster)
        return
    if len(cluster.encode()) < _SHORT:
        new = replacement(cluster)
        if new is not None:
            yield cluster, new
            return
    for character in cluster:
        yield character, replacement(character)


def _longest_matches(charsmap: Charsmap, text: str) -> Iterator[tuple[str, str | None]]:
    at = 0
    while at < len(text):
        match = charsmap.longest_match(text, at)
        length, new = match or (1, None)
        yield text[at : at + length], new
        at += length


def _remove_after(changes: list[Change], count: int) -> bool:
    """Say that characters are removed after the last that was not inserted, if there is one."""
    for index in range(len(changes) - 1, -1, -1):
        letter, change = changes[index]
        if change <= 0:
            changes[index] = (letter, change - count)
            return True
    return False


@lru_cache(maxsize=_MODELS)
def _charsmap(text: str) -> Charsmap:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = None
    if data is None or base64.b64encode(data).decode() != text:
        raise VocabularyError(f"precompiled_charsmap must be in base64, got {text[:20]!r}")
    return Charsmap(data)
