"""The pre-tokenizers of a `tokenizer.json`, in a file each, or a few of a kind in one.

    splitting          the five behaviors: what becomes of the matches of a pattern
    character_classes  Digits, Punctuation, BertPreTokenizer, Whitespace, WhitespaceSplit
    split_by_pattern   Split, CharDelimiterSplit, FixedLength
    byte_level, metaspace, sequence, unicode_scripts

Each component cuts twice: `cut` keeps track of the original, `cut_text` is the
same for text alone, faster, for whoever needs no offsets.
"""
