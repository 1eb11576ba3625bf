"""Cases about special tokens in text: allowed, disallowed, or text like any other."""

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from authoring.cases.draft import Draft, Purpose, answers, refuses
from authoring.data import tables
from tokenref.questions.text import SpecialInput

SPEC: Final = "docs/bpe.md#special-tokens"

Choice: TypeAlias = Literal["all"] | list[str]

_END: Final = "<|endoftext|>"
_PREFIX: Final = "<|fim_prefix|>"
_MIDDLE: Final = "<|fim_middle|>"

_MATRIX_TEXTS: Final = (
    ("none", "plain text", "a text without any special token"),
    ("one", f"a{_END}b", "one special token inside a text"),
    ("two", f"{_PREFIX}a{_MIDDLE}", "two different special tokens"),
    ("half", "<|endoftext", "half of a special token"),
)

_CHOICES: Final[tuple[tuple[str, Choice], ...]] = (
    ("all", "all"),
    ("none", []),
    ("end", [_END]),
    ("prefix", [_PREFIX]),
)


_AMBIGUOUS: Final = frozenset({"specials_prefix", "specials_ordinary"})
_NAMES: Final = frozenset({"specials_unicode", "specials_metacharacters", "specials_overlapping"})


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    yield from _matrix()
    for slug, vocabulary, text, allowed, disallowed, fact, *known in tables("special_tokens")[
        "texts"
    ]:
        purposes: tuple[Purpose, ...] = ()
        if known:
            refused = known[0] == "refused"
            purposes = (refuses("DISALLOWED_SPECIAL") if refused else answers(*known[0]),)
        flags = ["SpecialToken"]
        flags += ["SpecialPrefix"] if vocabulary in _AMBIGUOUS else []
        flags += ["SpecialNames"] if vocabulary in _NAMES else []
        flags += ["SharedId"] if vocabulary == "specials_shared" else []
        flags += ["SpecialRefused"] if known == ["refused"] else []
        yield Draft(
            op="special",
            topic="texts",
            slug=f"{vocabulary.replace('_', '-')}-{slug}",
            vocabulary=vocabulary,
            request=SpecialInput(text=text, allowed=allowed, disallowed=disallowed),
            why=f"{fact}, with {text!a:.40}.",
            flags=flags,
            spec=SPEC,
            profile="tiktoken" if vocabulary in _AMBIGUOUS else "definition",
            purposes=purposes,
        )


def _matrix() -> Iterator[Draft]:
    for slug, text, what in _MATRIX_TEXTS:
        for allowed_name, allowed in _CHOICES:
            for disallowed_name, disallowed in _CHOICES:
                yield Draft(
                    op="special",
                    topic="matrix",
                    slug=f"{slug}-{allowed_name}-{disallowed_name}",
                    vocabulary="tiny",
                    request=SpecialInput(text=text, allowed=allowed, disallowed=disallowed),
                    why=f"Allowed {allowed_name}, disallowed {disallowed_name}, and {what}: "
                    "all disallowed ones are all but the allowed.",
                    flags=["SpecialToken", "SpecialAllowed"],
                    spec=SPEC,
                )
