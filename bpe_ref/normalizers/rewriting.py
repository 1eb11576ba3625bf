"""What several normalizers do: put one character, or some, in the place of each."""

from collections.abc import Callable

from bpe_ref.aligned_text import AlignedText


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
