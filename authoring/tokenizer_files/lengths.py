"""Tokenizers for truncation and padding."""

from collections.abc import Iterator
from typing import Final

from authoring.tokenizer_files.document import (
    Content,
    Described,
    added,
    component,
    described,
    letters,
    template,
)

_NAMES: Final = ("<unk>", "<s>", "</s>", "<pad>")
_FRAME: Final = template(
    "<s> $A </s>", "<s> $A </s> $B:1 </s>:1", {"<s>": [("<s>", 1)], "</s>": [("</s>", 2)]}
)


def truncation(
    max_length: int,
    stride: int = 0,
    strategy: str = "LongestFirst",
    direction: str | None = "Right",
) -> Content:
    """Return how a text is cut; without a direction, as old files have it."""
    fields = {"max_length": max_length, "strategy": strategy, "stride": stride}
    return fields if direction is None else {"direction": direction, **fields}


def padding(
    strategy: str | Content = "BatchLongest",
    direction: str = "Right",
    multiple: int | None = None,
    type_id: int = 0,
) -> Content:
    """Return how encodings are filled up."""
    return {
        "strategy": strategy,
        "direction": direction,
        "pad_to_multiple_of": multiple,
        "pad_id": 3,
        "pad_type_id": type_id,
        "pad_token": "<pad>",
    }


def tokenizers() -> Iterator[Described]:
    """Yield these tokenizers."""
    for name, about, cut, fill, framed in _lengths():
        yield described(
            name,
            about,
            letters("abcdefghijklmnopqrstuvwxyz ", "a b, c d", first=_NAMES),
            truncation=cut,
            padding=fill,
            pre_tokenizer=component("WhitespaceSplit"),
            post_processor=_FRAME if framed else None,
            added_tokens=[
                added(token, "special", id_=number) for number, token in enumerate(_NAMES)
            ],
        )


def _lengths() -> Iterator[tuple[str, str, Content | None, Content | None, bool]]:
    yield "truncate", "Cut to five tokens", truncation(5), None, False
    yield (
        "truncate_left",
        "Cut to five tokens, the last ones",
        truncation(5, direction="Left"),
        None,
        False,
    )
    yield (
        "truncate_old",
        "Cut to four tokens, no direction given",
        truncation(4, direction=None),
        None,
        False,
    )
    yield (
        "truncate_framed",
        "Cut to six tokens, those of the template counted",
        truncation(6),
        None,
        True,
    )
    for direction in ("Right", "Left"):
        yield (
            f"truncate_stride_{direction.lower()}",
            (
                f"Cut to six tokens from the {'left' if direction == 'Right' else 'right'}, "
                "of which the next part has two again"
            ),
            truncation(6, 2, direction=direction),
            None,
            True,
        )
    for strategy, name, about in (
        ("OnlyFirst", "first", "Cut to nine tokens, only the first text"),
        ("OnlySecond", "second", "Cut to nine tokens, only the second text"),
    ):
        yield f"truncate_only_{name}", about, truncation(9, 1, strategy), None, True
    yield "truncate_odd", "Cut a pair to seven tokens, an odd number", truncation(7), None, False
    yield "truncate_zero", "Cut to nothing", truncation(0), None, False
    yield (
        "truncate_too_short",
        "Cut to one token, fewer than the template has",
        truncation(1),
        None,
        True,
    )
    yield (
        "truncate_to_frame",
        "Cut to two tokens, as many as the template has",
        truncation(2),
        None,
        True,
    )
    yield "pad_fixed", "Filled up to eight tokens", None, padding({"Fixed": 8}), False
    yield (
        "pad_left",
        "Filled up to eight tokens, in front",
        None,
        padding({"Fixed": 8}, "Left"),
        True,
    )
    yield "pad_multiple", "Filled up to a multiple of four", None, padding(multiple=4), True
    yield "pad_longest", "Filled up to the longest, which is the only one", None, padding(), True
    yield "pad_type", "Filled up to six with type 5", None, padding({"Fixed": 6}, type_id=5), True
    yield (
        "pad_and_truncate",
        "Cut to five tokens with overlap, and filled up to a multiple of eight",
        truncation(5, 1),
        padding({"Fixed": 6}, multiple=8),
        True,
    )
    yield (
        "pad_left_and_truncate",
        "Cut to five tokens from the right, and filled up in front",
        truncation(5, 1, direction="Left"),
        padding({"Fixed": 7}, "Left"),
        False,
    )
    yield "truncate_long", "Cut to 100 tokens, 70 of them again", truncation(100, 70), None, True
    yield "pad_long", "Filled up to 130 tokens", None, padding({"Fixed": 130}), True
