"""Texts on which tokenizers differ, made of atoms; and how many of them a test draws.

`TOKENREF_CAMPAIGN=40` multiplies every count, for a campaign outside CI.
"""
# ruff: noqa: RUF001 -- letters that look alike are the point

import os
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

CAMPAIGN: Final = int(os.environ.get("TOKENREF_CAMPAIGN", "1"))

WORDS: Final = (
    *("a", "ab", "the", "The", "HELLO", "hello", "world", "token", "izer", "don", "it", "x", "I"),
    *("straße", "STRASSE", "naïve", "été", "Über", "ſ", "K", "ﬁn", "İ", "ǅ", "ΟΔΟΣ", "Привет"),
)
CONTRACTIONS: Final = ("'s", "'S", "'t", "'re", "'VE", "'m", "'ll", "'d", "'", "'ſ", "’s", "''")
DIGITS: Final = ("0", "1", "12", "123", "1234", "٣", "²", "½", "Ⅷ", "一", "12.5", "1,000", "၁")
SPACES: Final = (
    *(" ", " ", " ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", "\r", " \n", "\n ", "\u00a0"),
    *("\u2003", "\u3000", "\u0085", "\u2028", "\u200b", "\ufeff", "\x0b", "\x0c", "\x1c", "\u180e"),
)
MARKS: Final = (
    *("\u0301", "\u0323", "\u0308", "e\u0301", "a\u0323\u0302", "\u0e33", "\u093f", "\u20e3"),
)
EMOJI: Final = ("😀", "👍🏽", "👨‍👩‍👧", "🇩🇪", "❤️", "\u200d", "\ufe0f")
SCRIPTS: Final = (
    *("你好", "世界", "日本語", "ひらがな", "カタカナ", "ー", "한국어", "가", "שלום", "مرحبا"),
    *("हिन्दी", "ไทย", "ελλ", "𝒜", "𐍈", "ｆｕｌｌ", "㎞", "豈", "\u1112\u1161\u11ab"),
)
PUNCTUATION: Final = (
    *(".", ",", "!", "?!", "...", "-", "--", "—", "_", "__", "(", ")", "[]", "{", "#", "$", "+"),
    *("=", "<", ">", "^", "`", "|", "~", "/", "\\", "@", "“", "”", "…", "。", "、", "¿", "«", "€"),
)
ODD: Final = ("\ufffd", "\u0000", "\x7f", "\u00ad", "▁", "Ġ", "Ċ", "##", "</w>", "<0x41>", "\ue000")


def text_of(*more: str, longest: int = 12) -> st.SearchStrategy[str]:
    """Draw a text of atoms; `more` are atoms of the tokenizer at hand, such as its special tokens.

    Nothing stands between two atoms unless an atom does: words glue to special tokens, marks to
    spaces.
    """
    kinds = [WORDS, SPACES, SPACES, CONTRACTIONS, DIGITS, MARKS, EMOJI, SCRIPTS, PUNCTUATION, ODD]
    atoms = st.one_of(*map(st.sampled_from, [*kinds, *([more, more] if more else [])]))
    characters = st.characters(exclude_categories=["Cs"])
    return st.lists(st.one_of(atoms, atoms, atoms, characters), max_size=longest).map("".join)


def drawn(count: int) -> settings:
    """Return settings for that many examples: in CI always the same ones, in a campaign others."""
    return settings(
        max_examples=count * CAMPAIGN,
        deadline=None,
        derandomize=CAMPAIGN == 1,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
