"""Tokenizers for the post-processors."""

from collections.abc import Iterator
from typing import Final

from authoring.tokenizer_files.document import (
    Content,
    Described,
    added,
    byte_letters,
    byte_level,
    component,
    described,
    plain,
    sequence,
    template,
)

_NAMES: Final = ("<unk>", "<s>", "</s>", "<sep>")
_SPECIAL: Final = [added(name, "special", id_=number) for number, name in enumerate(_NAMES)]
_TABLE: Final = {"<s>": [("<s>", 1)], "</s>": [("</s>", 2)], "<sep>": [("<sep>", 3)]}
BOS: Final = template("<s> $A", "<s> $A <s>:1 $B:1", {"<s>": [("<s>", 1)]})


def processors(*components: Content) -> Content:
    """Return post-processors one after the other."""
    return sequence("processors", *components)


def tokenizers() -> Iterator[Described]:
    """Yield these tokenizers."""
    for name, about, post_processor in _of_words():
        yield described(
            f"post_{name}",
            about,
            plain(first=_NAMES),
            pre_tokenizer=component("WhitespaceSplit"),
            post_processor=post_processor,
            added_tokens=_SPECIAL,
        )
    for name, about, prefix_space, post_processor in _of_bytes():
        yield described(
            f"post_{name}",
            about,
            byte_letters(first=_NAMES),
            pre_tokenizer=byte_level(prefix_space=prefix_space, trim=True),
            post_processor=post_processor,
            decoder=byte_level(),
            added_tokens=_SPECIAL,
        )


def _of_words() -> Iterator[tuple[str, str, Content | None]]:
    yield "none", "No post-processor, pairs included", None
    yield "template_bos", "A template puts a special token in front", BOS
    yield (
        "template_pair",
        "Templates as BERT has them, written out",
        template("<s> $A </s>", "<s> $A </s> $B:1 </s>:1", _TABLE),
    )
    yield (
        "template_types",
        "A template with type ids beyond 1, the second text first, and one special token twice",
        template("$A:3 <sep>:2", "<s>:5 $B:4 <sep>:2 $A:3 <sep>:7", _TABLE),
    )
    yield (
        "template_long",
        "One name in the template stands for three tokens",
        template(
            "<both> $A </s>",
            "<both> $A </s> $B </s>",
            {"<both>": [("<s>", 1), ("<sep>", 3), ("<s>", 1)], "</s>": [("</s>", 2)]},
        ),
    )
    yield (
        "template_bare",
        "A template without special tokens gives type ids only",
        template("$A:1", "$A:1 $B:2", {}),
    )
    yield (
        "bert",
        "BERT's post-processor",
        component("BertProcessing", sep=["<sep>", 3], cls=["<s>", 1]),
    )
    yield (
        "sequence",
        "A byte level that numbers the texts, then a template",
        processors(byte_level(trim=False), BOS),
    )
    yield "sequence_empty", "An empty sequence of post-processors", processors()


def _of_bytes() -> Iterator[tuple[str, str, bool, Content]]:
    for trim in (True, False):
        for space in (True, False):
            yield (
                f"byte_level{'_trim' * trim}{'_space' * space}",
                (
                    f"Offsets are {'' if trim else 'not '}trimmed, "
                    f"{'with' if space else 'without'} a space in front"
                ),
                space,
                byte_level(prefix_space=space, trim=trim),
            )
    for trim, space in ((True, True), (True, False), (False, False)):
        yield (
            f"roberta{'_trim' * trim}{'_space' * space}",
            (
                f"RoBERTa's post-processor, offsets {'' if trim else 'not '}trimmed, "
                f"{'with' if space else 'without'} a space in front"
            ),
            space,
            component(
                "RobertaProcessing",
                sep=["</s>", 2],
                cls=["<s>", 1],
                trim_offsets=trim,
                add_prefix_space=space,
            ),
        )
    yield (
        "trim_and_template",
        "Offsets are trimmed, then a template is put around",
        False,
        processors(byte_level(trim=True), template("<s> $A </s>", "<s> $A </s> $B:1", _TABLE)),
    )
