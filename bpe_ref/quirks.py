"""What the engine does otherwise than its own definitions say, one named choice each.

Source: Hugging Face tokenizers 0.23.3, as executed. `HUGGING_FACE` is what the
library does; `STRICT` does what the words of the format say instead.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Quirks:
    """The choices. Every field is True for the engine's own way.

    >>> STRICT.ids_from_vocabulary
    False
    """

    name: str

    ids_from_vocabulary: bool
    """An added token's id in the file is not read: it gets the vocabulary's, or the next free one.
    Else the id is the file's, and a contradiction is an error."""

    version_lines_dropped: bool
    """A merge written as a string that starts with `#version` is skipped. Else it is a merge."""

    unknown_after_bytes: bool
    """Bytes that stand for a missing character overtake an unknown token still waiting to be
    fused. Else the tokens come in the order of the text."""

    missing_characters_dropped: bool
    """Without an unknown token, a character that the vocabulary lacks vanishes, and merges join
    over it. Else it is an error."""

    stripped_text_repeats: bool
    """White space taken by `rstrip` is still there for the next added token to match. Else each
    character is part of one token."""

    rejected_match_hides: bool
    """A `single_word` token inside a word, or a special token that is read as text, is rejected
    together with every added token inside it. Else those are looked for."""

    ignore_merges_off_with_dropout: bool
    """`ignore_merges` is ignored where dropout is above 0."""

    unknown_ids_dropped: bool
    """Decoding skips ids that no token has. Else they are an error."""

    byte_fallback_all_or_nothing: bool
    """A run of byte tokens that is not UTF-8 as a whole becomes one U+FFFD per byte. Else only
    what is wrong in it is replaced, by the rule in `decoders.to_bytes`."""

    byte_fallback_reads_any_number: bool
    """`<0x+1>` and `<0xaB>` are byte tokens too. Else only two upper-case hexadecimal digits."""

    byte_level_maps_added_tokens: bool
    """Decoding reads added tokens as byte letters too, where all their letters are. Else an added
    token is its text."""

    short_strip_fails: bool
    """The `Strip` decoder stops where a token is too short to strip (the library panics). Else it
    strips what there is."""

    short_max_length_ignored: bool
    """A truncation length below the number of tokens that the template adds cuts nothing. Else it
    is an error."""

    normalized_form_shown: bool
    """An added token that normalization changes goes by its normalized form in decoding, and is
    then not recognised as special. Else it goes by its content."""

    insertions_may_stand_for_nothing: bool
    """What `Replace` puts at the very beginning for an empty match, and the first character after
    an empty `Prepend`, stand for nothing in the original; most normalizers after it then repeat the
    beginning of the text. Else they stand for what the first character stands for."""

    precompiled_by_clusters: bool
    """`Precompiled` applies the shortest rule to each short grapheme cluster, or to each character,
    and misplaces what vanishes. Else the longest rule at each place, as SentencePiece does."""


HUGGING_FACE = Quirks("hugging-face", *[True] * 16)
STRICT = Quirks("strict", *[False] * 16)
QUIRKS = {quirks.name: quirks for quirks in (HUGGING_FACE, STRICT)}
"""Both by the name of their profile."""
