"""Tokenizers as well-known models have them, made small: all kinds of components together."""

from collections.abc import Iterator
from typing import Final

from authoring.tokenizer_files.document import (
    BYTE_TOKENS,
    LETTERS,
    Described,
    added,
    as_it_is,
    byte_letters,
    byte_level,
    component,
    described,
    letters,
    metaspace,
    plain,
    regex,
    replace,
    sequence,
    template,
    text,
)
from authoring.tokenizer_files.normalizers import bert
from authoring.tokenizer_files.pre_tokenizers import cuts, split

_U: Final = "\u2581"
_CAPITALS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MERGES: Final = f"t h, th e, {_U} the, {_U} a, i n, h e, l l, he ll, hell o, {_U} hello"
_LLAMA_PATTERN: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN_PATTERN: Final = _LLAMA_PATTERN.replace("{1,3}", "")
_LLAMA_DECODER: Final = sequence(
    "decoders",
    replace(text(_U), " "),
    component("ByteFallback"),
    component("Fuse"),
    component("Strip", content=" ", start=1, stop=0),
)
_BOS: Final = template("<s> $A", "<s> $A <s>:1 $B:1", {"<s>": [("<s>", 1)]})


def tokenizers() -> Iterator[Described]:
    """Yield these tokenizers."""
    fallback = letters(
        [_U, *LETTERS.strip(), *_CAPITALS, "<", ">", "/"],
        _MERGES,
        first=["<unk>", "<s>", "</s>", *BYTE_TOKENS],
        fuse_unk=True,
        byte_fallback=True,
    )
    specials = [added("<unk>", "special"), added("<s>", "special"), added("</s>", "special")]
    yield described(
        "family_gpt2",
        "As GPT-2 has it",
        byte_letters(words=["<|endoftext|>"]),
        added_tokens=[added("<|endoftext|>", "normalized", "special")],
        pre_tokenizer=byte_level(trim=True),
        post_processor=byte_level(prefix_space=True, trim=False),
        decoder=byte_level(prefix_space=True, trim=True),
    )
    yield described(
        "family_llama2",
        "As Llama 2 has it: bytes for what is missing, one underline in front",
        fallback,
        added_tokens=specials,
        normalizer=sequence(
            "normalizers", component("Prepend", prepend=_U), replace(text(" "), _U)
        ),
        post_processor=_BOS,
        decoder=_LLAMA_DECODER,
    )
    yield described(
        "family_mistral",
        "As Mistral has it: an underline before the first text only, nothing cut",
        fallback,
        added_tokens=[*specials, added("[INST]", "special"), added("[/INST]", "special")],
        pre_tokenizer=metaspace("first", split=False),
        post_processor=_BOS,
        decoder=_LLAMA_DECODER,
    )
    yield described(
        "family_phi3",
        "As Phi-3 has it: special tokens take the white space behind them",
        fallback,
        added_tokens=[
            *specials[:2],
            added("</s>", "rstrip"),
            added("<|end|>", "rstrip", "special"),
            added("<|user|>", "rstrip", "special"),
        ],
        normalizer=sequence(
            "normalizers", component("Prepend", prepend=_U), replace(text(" "), _U)
        ),
        decoder=_LLAMA_DECODER,
    )
    yield described(
        "family_gemma",
        "As Gemma has it: underlines for spaces, none in front",
        fallback,
        added_tokens=[*specials, added("\n\n", "normalized"), added("<start>", "special")],
        normalizer=replace(text(" "), _U),
        pre_tokenizer=split(text(" "), "MergedWithPrevious"),
        post_processor=_BOS,
        decoder=sequence(
            "decoders", replace(text(_U), " "), component("ByteFallback"), component("Fuse")
        ),
    )
    yield described(
        "family_llama3",
        "As Llama 3 has it: pieces taken whole, one special token in front",
        byte_letters(words=["Ġworld", "hello", "<|begin|>"], ignore_merges=True),
        added_tokens=[added("<|begin|>", "special"), added("<|eot|>", "special")],
        pre_tokenizer=cuts(split(regex(_LLAMA_PATTERN)), byte_level(use_regex=False)),
        post_processor=sequence(
            "processors",
            byte_level(prefix_space=True, trim=False),
            template(
                "<|begin|> $A", "<|begin|> $A <|begin|>:1 $B:1", {"<|begin|>": [("<|begin|>", 258)]}
            ),
        ),
        decoder=byte_level(),
    )
    yield described(
        "family_qwen",
        "As Qwen has it: composed first, digits one by one",
        byte_letters(),
        normalizer=component("NFC"),
        added_tokens=[added("<|im_start|>", "special"), added("<|im_end|>", "special")],
        pre_tokenizer=cuts(split(regex(_QWEN_PATTERN)), byte_level(use_regex=False)),
        post_processor=byte_level(),
        decoder=byte_level(),
    )
    yield described(
        "family_clip",
        "As CLIP has it: small letters, suffixes, and RoBERTa's frame",
        byte_letters(
            "t h, th e</w>, c a, ca t</w>, i n, l l</w>",
            first=("<unk>", "<s>", "</s>"),
            words=[f"{letter}</w>" for letter in "abcdefghijklmnopqrstuvwxyz0123456789.,!?'©"],
            end_of_word_suffix="</w>",
        ),
        normalizer=sequence(
            "normalizers", component("NFC"), replace(regex(r"\s+"), " "), component("Lowercase")
        ),
        pre_tokenizer=cuts(
            split(regex(r"'s|'t|'ll|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "Removed", invert=True),
            byte_level(use_regex=False),
        ),
        post_processor=component(
            "RobertaProcessing",
            sep=["</s>", 2],
            cls=["<s>", 1],
            trim_offsets=False,
            add_prefix_space=False,
        ),
        decoder=sequence("decoders", component("BPEDecoder", suffix="</w>"), byte_level()),
        added_tokens=specials,
    )
    yield described(
        "family_bert",
        "As BERT would have it with merges: cleaned, cut at marks, framed, cut to ten",
        plain("éèñ中文日本", first=["<unk>", "<s>", "</s>"]),
        truncation={
            "direction": "Right",
            "max_length": 10,
            "strategy": "LongestFirst",
            "stride": 0,
        },
        added_tokens=specials,
        normalizer=bert(clean=True, chinese=True, accents=None, lower=True),
        pre_tokenizer=component("BertPreTokenizer"),
        post_processor=component("BertProcessing", sep=["</s>", 2], cls=["<s>", 1]),
        decoder=component("WordPiece", prefix="##", cleanup=True),
    )
    yield _without_types()


def _without_types() -> Described:
    """Return a tokenizer as files had it before there were type names."""
    model = plain("éΣ", first=["<unk>", "<s>", "</s>"], as_text=True)
    del model["type"]
    bare_template = template("<s> $A", "<s> $A $B:1", {"<s>": [("<s>", 1)]})
    del bare_template["type"]
    return as_it_is(
        "without_types",
        "An old file: components without type names, few sections",
        {
            "version": "1.0",
            "added_tokens": [added("<s>", "special", id_=1)],
            "normalizer": {
                "normalizers": [
                    {"strip_left": True, "strip_right": False},
                    {"pattern": text("!"), "content": "."},
                ]
            },
            "pre_tokenizer": component("WhitespaceSplit"),
            "post_processor": bare_template,
            "decoder": {"suffix": "</w>"},
            "model": model,
        },
    )
