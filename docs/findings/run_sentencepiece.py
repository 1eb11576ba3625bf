"""Run the findings about sentencepiece."""

from collections.abc import Callable
from io import BytesIO

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer


def outcome(action: Callable[[], object]) -> str:
    """Return the result, or the exception with its message."""
    try:
        return ascii(action())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def processor() -> SentencePieceProcessor:
    """Return a model of four characters."""
    written = BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(["ab ab ab"] * 10),
        model_writer=written,
        model_type="char",
        vocab_size=6,
        minloglevel=2,
    )
    return SentencePieceProcessor(model_proto=written.getvalue())


def high_id() -> tuple[str, str]:
    expected = outcome(lambda: processor().decode([2**31 - 1]))
    return expected, outcome(lambda: processor().decode([2**31]))


FINDINGS = [high_id]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t", flush=True)
