"""What several normalizers do: put characters in the place of each, or leave some out."""

import re
from collections.abc import Callable

from bpe_ref.aligned_text import AlignedText, Change


def rewritten(text: AlignedText, rewrite: Callable[[str], str]) -> AlignedText:
    """Return the text with each character rewritten, never to nothing.

    Of what a character becomes, the first replaces it and the others are inserted.

    >>> rewritten(AlignedText.of("ab"), lambda character: character * 2).spans
    ((0, 1), (0, 1), (1, 2), (1, 2))
    """
    return text.transform(
        [
            (part, min(index, 1))
            for character in text.text
            for index, part in enumerate(rewrite(character))
        ]
    )


def without(text: AlignedText, unwanted: re.Pattern[str]) -> AlignedText:
    """Return the text without the characters that the pattern matches, each one alone.

    >>> import re
    >>> without(AlignedText.of("-a-b"), re.compile("-")).spans
    ((1, 2), (3, 4))
    """
    if not text.starts_with_insertion and not unwanted.search(text.text):
        return text
    changes: list[Change] = []
    removed_first = removed = 0
    for character in text.text:
        if unwanted.match(character):
            removed += 1
            continue
        if changes:
            changes[-1] = (changes[-1][0], -removed)
        else:
            removed_first = removed
        removed = 0
        changes.append((character, 0))
    if changes:
        changes[-1] = (changes[-1][0], -removed)
    return text.transform(changes, removed_first)
