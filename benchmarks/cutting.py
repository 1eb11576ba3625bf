"""Measure how the time of counting and cutting grows with the text, for each kind of file.

    python -m benchmarks.cutting [FOLDER]

FOLDER has `gpt2.tokenizer.json.gz` and `mistral01.tokenizer.json.gz`, by default
`../shared/tokenizers`. The other kinds are made of their tokens: with the pre-tokenizer of
DeepSeek, with NFKC, with the normalizer, pattern and end-of-word suffix of CLIP, and as a
SentencePiece model. In the first table the text is prose, in the second one it is one long piece:
`chunks` of random letters, of Chinese characters without punctuation, and so on. Each number is the
processor time of one call. A first call builds the tables and is not measured. The growth is the
ratio of the last two numbers; if it is much more than 4, the time is not linear.
"""

import gzip
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from time import process_time
from types import MappingProxyType
from typing import Final

from benchmarks.texts import english_prose
from bpe_ref import Tokenizer, load
from bpe_ref.models.bpe import BPE
from bpe_ref.models.sentencepiece import Piece, SentencePieceModel
from bpe_ref.normalizers.normalization_forms import NFC, NFKC
from bpe_ref.normalizers.replacing import Replace
from bpe_ref.normalizers.rewriting import Lowercase
from bpe_ref.normalizers.sentencepiece import NormalizationRules, SentencePieceNormalizer
from bpe_ref.normalizers.sequence import Sequence
from bpe_ref.patterns.matches import Regex
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.sequence import Sequence as Steps
from bpe_ref.pre_tokenizers.split_by_pattern import Split
from bpe_ref.vocabulary.byte_alphabet import BYTE_PIECES

SHARED: Final = Path(__file__).resolve().parent.parent.parent / "shared" / "tokenizers"
SIZES: Final = (1_000, 4_000, 16_000, 64_000)
MOST: Final = 200
OVERLAP: Final = 20

DEEPSEEK: Final = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ\u30a0-ヿ]+",
    (
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"
        r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
        r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
)
CLIP: Final = (
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d"
    r"|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
)
PIECES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "letters": "abcdefghijklmnopqrstuvwxyz",
        "base64": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "Chinese": "".join(map(chr, range(0x4E00, 0x9FA0))),
        "digits": "0123456789",
        "emoji": "".join(map(chr, range(0x1F600, 0x1F640))),
        "marks": "e\u0301",
        "a": "a",
        "spaces": " ",
        "line ends": "\n",
    }
)
"""What the long pieces consist of, at random; but `marks` repeats as it is."""

CALLS: Final[Mapping[str, Callable[[Tokenizer, str], object]]] = MappingProxyType(
    {
        "chunks": lambda tokenizer, text: tokenizer.chunks(text, MOST, OVERLAP),
        "count_till_limit": lambda tokenizer, text: tokenizer.count_till_limit(text, 10**9),
        "growing": lambda tokenizer, text: tokenizer.growing().extend(text),
    }
)


def unpacked(path: Path) -> Tokenizer:
    """Return the tokenizer of a compressed file."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "tokenizer.json"
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        return load(plain)


def with_suffix(model: BPE, suffix: str) -> BPE:
    """Return a model whose words end with the suffix: each token stands there with it too."""
    tokens = [*model.vocab, *(token + suffix for token in model.vocab)]
    merges = [*model.merges, *((left, right + suffix) for left, right in model.merges)]
    ids = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    return BPE(ids, merges, end_of_word_suffix=suffix, unk_token=next(iter(ids)))


def as_sentencepiece(model: BPE) -> Tokenizer:
    """Return a SentencePiece model with the tokens of another model, in its order."""
    pieces = [Piece("<unk>", kind="unknown"), *(Piece(text, kind="byte") for text in BYTE_PIECES)]
    known = {piece.text for piece in pieces} | {"<s>", "</s>"}
    pieces += [
        Piece(token, -float(id_)) for token, id_ in model.vocab.items() if token not in known
    ]
    rules = NormalizationRules(remove_extra_whitespaces=False)  # as models of type BPE have it
    spelled = SentencePieceModel(pieces, rules, byte_fallback=True)
    return Tokenizer(spelled, SentencePieceNormalizer(rules, spelled.user_defined))


def kinds(folder: Path) -> dict[str, Tokenizer]:
    """Return a tokenizer of each kind."""
    gpt2 = unpacked(folder / "gpt2.tokenizer.json.gz")
    mistral = unpacked(folder / "mistral01.tokenizer.json.gz")
    letters = ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=False)
    splits = [Split(Regex(source), "Isolated", invert=False) for source in DEEPSEEK]
    clip = Sequence((NFC(), Replace(Regex(r"\s+"), " "), Lowercase()))
    words = Split(Regex(CLIP), "Removed", invert=True)
    if not isinstance(gpt2.model, BPE) or not isinstance(mistral.model, BPE):
        raise TypeError("both files must have a model of type BPE")
    return {
        "byte level (GPT-2)": gpt2,
        "NFKC, byte level": gpt2.replace(normalizer=NFKC()),
        "three Splits (DeepSeek)": gpt2.replace(pre_tokenizer=Steps([*splits, letters])),
        "end-of-word suffix (CLIP)": gpt2.replace(
            model=with_suffix(gpt2.model, "</w>"),
            normalizer=clip,
            pre_tokenizer=Steps([words, letters]),
        ),
        "spaces as ▁ (Mistral)": mistral,
        "SentencePiece": as_sentencepiece(mistral.model),
        "tiktoken (tiny)": load("tiny"),
    }


def seconds_of(call: Callable[[str], object], text: str) -> float:
    """Return the processor time of a call."""
    start = process_time()
    call(text)
    return process_time() - start


def long_piece(name: str) -> str:
    """Return a text that is one long piece for many patterns.

    >>> long_piece("a")[:3], len(long_piece("marks"))
    ('aaa', 64000)
    """
    part = PIECES[name]
    if name == "marks":
        return part * (SIZES[-1] // len(part))
    return "".join(Random(5).choices(part, k=SIZES[-1]))


def row(kind: str, name: str, call: Callable[[str], object], text: str) -> str:
    """Return a row of a table: the times of a call, and how they grow."""
    call(text[: SIZES[0]])
    times = [seconds_of(call, text[:size]) for size in SIZES]
    shown = " | ".join(f"{seconds:.2f}" for seconds in times)
    return f"| {kind} | {name} | {shown} | {times[-1] / times[-2]:.1f} |\n"


def main() -> None:
    """Print two tables in Markdown."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED
    prose = english_prose(SIZES[-1])
    head = " | ".join(f"{size:,}" for size in SIZES)
    known = kinds(folder)
    for what in ("call", "text"):
        sys.stdout.write(
            f"| file | {what} | {head} | growth |\n|---|---|{'---|' * (len(SIZES) + 1)}\n"
        )
        for kind, tokenizer in known.items():
            for name in CALLS if what == "call" else PIECES:
                call = CALLS[name if what == "call" else "chunks"]
                text = prose if what == "call" else long_piece(name)
                shown = f"`{name}`" if what == "call" else name
                sys.stdout.write(row(kind, shown, partial(call, tokenizer), text))
                sys.stdout.flush()
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
