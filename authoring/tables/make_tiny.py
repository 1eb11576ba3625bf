"""Train `tiny` anew and write `bpe_ref/data/tiny.tiktoken`.

    python -m authoring tables tiny

Run it in the root of the project. The file is frozen, so on a clean checkout
this changes nothing.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from bpe_ref import Vocabulary, train
from bpe_ref.formats.tiktoken import write_tiktoken
from bpe_ref.learning.training import TrainingProgress
from bpe_ref.tiny import TINY_SIZE, TINY_SPECIAL_TOKENS, TINY_TEXT_RULES, tiny_corpus

REPORT_EVERY = 250


def report(progress: TrainingProgress) -> None:
    """Print a line now and then."""
    if progress.tokens % REPORT_EVERY == 0:
        sys.stdout.write(
            f"{progress.tokens} of {progress.size} tokens; "
            f"the last pair occurred {progress.count} times\n"
        )


def train_tiny(progress: Callable[[TrainingProgress], None] | None = None) -> Vocabulary:
    """Train tiny anew. Takes about a tenth of a second."""
    return train(
        [tiny_corpus()],
        TINY_SIZE,
        text_rules=TINY_TEXT_RULES,
        special_tokens=TINY_SPECIAL_TOKENS,
        progress=progress,
    )


def main() -> None:
    """Train, and write the file."""
    vocabulary = train_tiny(report)
    path = Path(__file__).parent.parent.parent / "bpe_ref" / "data" / "tiny.tiktoken"
    write_tiktoken({content: rank for rank, content in vocabulary.tokens.items()}, path)
    sys.stdout.write(f"wrote {len(vocabulary.tokens)} tokens to {path.name}\n")


if __name__ == "__main__":
    main()
