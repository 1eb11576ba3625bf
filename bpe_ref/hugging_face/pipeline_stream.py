"""Text from the tokens of a pipeline, one token at a time.

Each token's string goes through the decoder as `streaming` has it: after each
comes the text that no later token can change, and joined the pieces are what
`Pipeline.decode` makes of all the tokens at once.

What the source leaves open
    Ids that no token has, and special tokens that are skipped, bring nothing,
    and what is waiting goes on waiting (see `Pipeline.decoded_strings`).
"""

from typing import Final

from bpe_ref.decoders.chain_stream import ChainStream
from bpe_ref.errors import ParameterError
from bpe_ref.hugging_face.pipeline import Pipeline
from bpe_ref.vocabulary.merges import TokenId


class PipelineStream:
    """Tokens in, text out."""

    def __init__(self, pipeline: Pipeline, *, skip_special_tokens: bool = True) -> None:
        """Start empty. Raises `ParameterError` for what is no pipeline."""
        if not isinstance(pipeline, Pipeline):
            raise ParameterError("pipeline", pipeline, "must be a Pipeline")
        self._pipeline: Final = pipeline
        self._skip: Final = skip_special_tokens
        self._chain: Final = ChainStream(pipeline.decoder)

    def push(self, token: TokenId) -> str:
        """Return the text that is certain now and was not before; often "".

        Raises `TokenIdError` for what is no id, and `DecodingError` where the decoder does.
        """
        strings = self._pipeline.decoded_strings([token], skip_special_tokens=self._skip)
        return "".join(map(self._chain.push, strings))

    def finish(self) -> str:
        """Return the rest of the text; the stream is then as new. Raises `DecodingError`."""
        return self._chain.finish()


def stream_decoder(pipeline: Pipeline, *, skip_special_tokens: bool = True) -> PipelineStream:
    """Return a decoder that takes one token at a time.

    >>> from bpe_ref.decoders import ByteFallback
    >>> from bpe_ref.models.bpe import BPE
    >>> vocab = {"a": 0, "<0xC3>": 1, "<0xA9>": 2}
    >>> stream = stream_decoder(Pipeline(BPE(vocab, []), decoder=ByteFallback()))
    >>> [stream.push(token) for token in (0, 1, 2, 0)], stream.finish()
    (['a', '', '', 'éa'], '')
    """
    return PipelineStream(pipeline, skip_special_tokens=skip_special_tokens)
