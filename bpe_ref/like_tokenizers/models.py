"""The models, under the names and with the defaults of `tokenizers.models`."""
# ruff: noqa: N802 -- the library's name

from collections.abc import Iterable, Mapping

from bpe_ref.models import bpe, unigram, word_level, word_piece
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
) -> bpe.BPE:
    """Return a BPE model; without a vocabulary, one that knows nothing.

    >>> BPE({"a": 0}, []).vocab
    {'a': 0}
    """
    return bpe.BPE(
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


def Unigram(
    vocab: Iterable[tuple[str, float]] | None = None,
    unk_id: TokenId | None = None,
    byte_fallback: bool | None = None,
) -> unigram.Unigram:
    """Return a Unigram model; without a vocabulary, one that has only `<unk>`.

    >>> Unigram([("?", 0.0), ("a", -1.0)], 0).vocab, Unigram().vocab
    ({'?': 0, 'a': 1}, {'<unk>': 0})
    """
    if vocab is None:
        return unigram.Unigram([("<unk>", 0.0)], 0)
    return unigram.Unigram([(token, score) for token, score in vocab], unk_id, bool(byte_fallback))


def WordPiece(
    vocab: Mapping[str, TokenId] | None = None,
    *,
    unk_token: str = "[UNK]",  # noqa: S107 -- not a password
    max_input_chars_per_word: int = 100,
    continuing_subword_prefix: str = "##",
) -> word_piece.WordPiece:
    """Return a WordPiece model; without a vocabulary, one that knows nothing.

    >>> WordPiece({"a": 0}).vocab
    {'a': 0}
    """
    return word_piece.WordPiece(
        {} if vocab is None else dict(vocab),
        unk_token,
        continuing_subword_prefix,
        max_input_chars_per_word,
    )


def WordLevel(
    vocab: Mapping[str, TokenId] | None = None,
    unk_token: str = "<unk>",  # noqa: S107 -- not a password
) -> word_level.WordLevel:
    """Return a WordLevel model; without a vocabulary, one that knows nothing.

    >>> WordLevel({"a": 0}).vocab
    {'a': 0}
    """
    return word_level.WordLevel({} if vocab is None else dict(vocab), unk_token)
