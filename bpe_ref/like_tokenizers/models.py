"""The one model, under the name and with the defaults of `tokenizers.models`."""
# ruff: noqa: N802 -- the library's name

from collections.abc import Iterable, Mapping

from bpe_ref.models import bpe as definition
from bpe_ref.vocabulary.merges import TokenId


def BPE(
    vocab: Mapping[str, TokenId] | None = None,
    merges: Iterable[tuple[str, str]] | None = None,
    *,
    dropout: float | None = None,
    unk_token: str | None = None,
    continuing_subword_prefix: str | None = None,
    end_of_word_suffix: str | None = None,
    fuse_unk: bool | None = None,
    byte_fallback: bool = False,
    ignore_merges: bool = False,
) -> definition.BPE:
    """Return a BPE model; without a vocabulary, one that knows nothing.

    >>> BPE({"a": 0}, []).vocab
    {'a': 0}
    """
    return definition.BPE(
        {} if vocab is None else dict(vocab),
        [] if merges is None else [(first, second) for first, second in merges],
        dropout=dropout,
        unk_token=unk_token,
        continuing_subword_prefix=continuing_subword_prefix,
        end_of_word_suffix=end_of_word_suffix,
        fuse_unk=bool(fuse_unk),
        byte_fallback=byte_fallback,
        ignore_merges=ignore_merges,
    )
