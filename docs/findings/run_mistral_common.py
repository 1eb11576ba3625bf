"""Run the findings about mistral-common."""

from base64 import b64encode
from collections.abc import Callable

from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy, TokenizerVersion
from mistral_common.tokens.tokenizers.tekken import SpecialTokenInfo, Tekkenizer, TokenInfo

KEEP = SpecialTokenPolicy.KEEP


def outcome(action: Callable[[], object]) -> str:
    """Return the result, or the name of the exception."""
    try:
        return ascii(action())
    except Exception as error:
        return type(error).__name__


def opened(*ranks: int) -> Tekkenizer:
    """Return a tokenizer of the bytes and the special tokens <s>, </s>, with these ranks."""
    vocab = [
        TokenInfo(rank=byte, token_bytes=b64encode(bytes([byte])).decode(), token_str=None)
        for byte in range(256)
    ]
    special = [
        SpecialTokenInfo(rank=rank, token_str=name, is_control=True)
        for rank, name in zip(ranks, ("<s>", "</s>"), strict=True)
    ]
    return Tekkenizer(vocab, special, r"\S+|\s+", 258, 2, TokenizerVersion.v15)


def negative_id() -> tuple[str, str]:
    return "an error", outcome(lambda: opened(0, 1).decode([-1], KEEP))


def special_rank() -> tuple[str, str]:
    tekkenizer = opened(1, 0)
    return "'<s>'", outcome(lambda: tekkenizer.decode([tekkenizer.get_special_token("<s>")], KEEP))


def split_character() -> tuple[str, str]:
    return "'\\xe9'", outcome(lambda: opened(0, 1).decode([0xC3 + 2, 0, 0xA9 + 2]))


FINDINGS = [negative_id, special_rank, split_character]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t", flush=True)
