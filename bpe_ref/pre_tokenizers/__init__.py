"""The pre-tokenizers of a `tokenizer.json`, in a file each, or a few of a kind in one.

    splitting          the five behaviors: what becomes of the matches of a pattern
    character_classes  matches that are single characters
    split_by_pattern   Split
    byte_level         ByteLevel
    metaspace          Metaspace
    sequence           Sequence
    punctuation        Punctuation, BertPreTokenizer
    digits, whitespace, char_delimiter_split, unicode_scripts, fixed_length

Each component cuts twice: `cut` keeps track of the original, `cut_text` is the
same for text alone, faster, for whoever needs no offsets.
"""
