"""The flags that records carry: each a kind of bug, with what it does to users, and where it was.

A flag says what a case hunts. `tokenref run --flag LeftmostTie` asks for all
cases that hunt wrong tie-breaks; a report by flag says what kind of thing an
engine gets wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class Flag:
    """One kind of bug."""

    description: str
    """What is asked for, and what the bug is."""

    effect: str
    """What goes wrong for users."""

    spec: str
    """Where the rule is written down."""

    links: tuple[str, ...] = ()
    """Where it really happened."""


def _flag(description: str, effect: str, anchor: str, *issues: str, page: str = "bpe") -> Flag:
    """Return a flag; issues are written owner/name#number."""
    links = (f"https://github.com/{issue.replace('#', '/issues/')}" for issue in issues)
    return Flag(description, effect, f"docs/{page}.md#{anchor}", tuple(links))


FLAGS: Final[Mapping[str, Flag]] = MappingProxyType(
    {
        "AddedIds": _flag(
            "An added token has the vocabulary's id, or the next free one; the file's is not read.",
            "All added tokens have other ids than the model was trained with.",
            "added-tokens",
            page="tokenizers",
        ),
        "AddedNormalized": _flag(
            "Some added tokens are looked for in the text, others in the normalized text.",
            "The end token is read as four letters, or letters are read as the end token.",
            "added-tokens",
            "huggingface/transformers#23818",
            page="tokenizers",
        ),
        "AddedStrip": _flag(
            "lstrip and rstrip take white space, all 25 characters of it, into the token.",
            "Spaces around special tokens are lost, doubled or left over.",
            "added-tokens",
            "huggingface/transformers#33371",
            "huggingface/transformers#16336",
            page="tokenizers",
        ),
        "AddedToken": _flag(
            "Added tokens are cut out of a text before it is normalized or cut into pieces.",
            "Control tokens are read as text, or text as control tokens.",
            "added-tokens",
            "huggingface/tokenizers#1544",
            page="tokenizers",
        ),
        "Affixes": _flag(
            "Symbols inside a word have a prefix, or the last one has a suffix.",
            "Every word of such a model falls into letters.",
            "model",
            page="tokenizers",
        ),
        "AlignedOffsets": _flag(
            "Offsets speak of the original, whatever normalization removed or inserted.",
            "Answers are cut out of a text in the wrong place.",
            "offsets",
            "huggingface/tokenizers#663",
            "huggingface/tokenizers#156",
            page="tokenizers",
        ),
        "ByteFallback": _flag(
            "A character without a token becomes tokens of its bytes, if all of them are there.",
            "Rare characters are lost, or shown as <0xE4>.",
            "model",
            "ollama/ollama#15232",
            "huggingface/transformers#48041",
            page="tokenizers",
        ),
        "ByteLevel": _flag(
            "Bytes are written as letters, with a space in front or not, cut by a pattern or not.",
            "All text with spaces or beyond ASCII becomes other tokens.",
            "pre-tokenizers",
            "huggingface/tokenizers#1057",
            page="tokenizers",
        ),
        "Cleanup": _flag(
            "Spaces before marks are taken out, token by token.",
            "Programs are changed: x != y becomes x!= y.",
            "decoders",
            "huggingface/transformers#44915",
            "ml-explore/mlx-lm#1347",
            page="tokenizers",
        ),
        "Decoder": _flag(
            "What a decoder makes of the strings of tokens.",
            "Spaces in answers are lost or doubled.",
            "decoders",
            "huggingface/tokenizers#1141",
            page="tokenizers",
        ),
        "Dropout": _flag(
            "Merges are passed over at random; with the probabilities 0 and 1 that is certain.",
            "A model that was trained with dropout is run with it, or the other way round.",
            "model",
            page="tokenizers",
        ),
        "EngineQuirk": _flag(
            "The engine does something that its documentation does not say.",
            "Whoever follows the documentation gets other tokens than the model was trained with.",
            "quirks",
            page="tokenizers",
        ),
        "Lengths": _flag(
            "Encodings are cut and filled up to a length.",
            "Batches have the wrong shape, or lose the end of a question.",
            "truncation",
            page="tokenizers",
        ),
        "MergesOfFile": _flag(
            "Merges are pairs or texts, and lines that begin with #version are none.",
            "All merges are shifted by one, or one is missing.",
            "files",
            page="tokenizers",
        ),
        "Metaspace": _flag(
            "Spaces are written as another letter, and one may be put in front.",
            "Text behind special tokens has a space too many or too few.",
            "pre-tokenizers",
            "huggingface/transformers#24569",
            "huggingface/transformers#27279",
            page="tokenizers",
        ),
        "ModelFlags": _flag(
            "What the flags of a model do: whole pieces, bytes, unknown tokens, affixes.",
            "A flag that is not read changes tokens without a word.",
            "model",
            "huggingface/tokenizers#1553",
            page="tokenizers",
        ),
        "Normalizer": _flag(
            "What a normalizer makes of a text, and where each character comes from.",
            "Text is encoded otherwise than in training, or offsets are shifted.",
            "normalizers",
            "google/sentencepiece#185",
            page="tokenizers",
        ),
        "OffsetsTrimmed": _flag(
            "White space is taken out of the offsets of tokens, or left in.",
            "Words that are marked in a text begin with a space, or lose a letter.",
            "offsets",
            "huggingface/transformers#3796",
            page="tokenizers",
        ),
        "OldFile": _flag(
            "Files from before there were type names, or from before some field.",
            "A model of some years ago does not load, or loads as another one.",
            "files",
            page="tokenizers",
        ),
        "Overflow": _flag(
            "What truncation cuts off comes in parts, which may overlap.",
            "The end of a long document is never looked at.",
            "truncation",
            "huggingface/tokenizers#1990",
            page="tokenizers",
        ),
        "Padding": _flag(
            "Encodings are filled up on the side, and to the multiple, that the file says.",
            "A model attends to padding, or finds it where it expects text.",
            "truncation",
            page="tokenizers",
        ),
        "PostProcessor": _flag(
            "What is put around a text: special tokens, type ids, marks of special tokens.",
            "The model never sees the beginning that it was trained with.",
            "post-processors",
            "vllm-project/vllm#27515",
            page="tokenizers",
        ),
        "PreTokenizer": _flag(
            "Where a text is cut before the model sees it.",
            "Words and signs are joined that the model never saw joined.",
            "pre-tokenizers",
            "ggml-org/llama.cpp#3502",
            "ggml-org/llama.cpp#6920",
            page="tokenizers",
        ),
        "SingleWord": _flag(
            "An added token that must be a word of its own, and hides others where it is not.",
            "Words that contain a token's text are torn apart.",
            "added-tokens",
            page="tokenizers",
        ),
        "SkippedSpecial": _flag(
            "Special tokens are left out of the text, or shown, as the caller wants.",
            "Control tokens appear in answers.",
            "decoders",
            "huggingface/transformers#30772",
            page="tokenizers",
        ),
        "SplitBehavior": _flag(
            "What becomes of the matches of a pattern: dropped, alone, or joined to a side.",
            "Delimiters are lost, or belong to the wrong word.",
            "pre-tokenizers",
            "ggml-org/llama.cpp#29211",
            page="tokenizers",
        ),
        "StrictProfile": _flag(
            "What the words of the format say, where the engine does something else.",
            "An engine that is more careful than the library is called wrong.",
            "quirks",
            page="tokenizers",
        ),
        "Template": _flag(
            "A template says where texts and special tokens stand, and of which type they are.",
            "Two tokens stand at the beginning where there should be one, or none.",
            "post-processors",
            "deepseek-ai/DeepSeek-R1#151",
            "ggml-org/llama.cpp#7107",
            page="tokenizers",
        ),
        "TextPair": _flag(
            "Two texts in one encoding, each with its own offsets, words and type.",
            "Question and context are mixed up.",
            "post-processors",
            page="tokenizers",
        ),
        "TextStream": _flag(
            "The text that tokens give one by one; nothing is lost, and nothing comes too late.",
            "Answers show replacement characters, lose their end, or repeat the prompt.",
            "decoders",
            "vllm-project/vllm#48853",
            "smg-project/smg#710",
            page="tokenizers",
        ),
        "Truncation": _flag(
            "Which text is cut, on which side, and what the template adds counts.",
            "The question is cut off instead of the document.",
            "truncation",
            page="tokenizers",
        ),
        "TypeIds": _flag(
            "The number that a token's part of the input has.",
            "The model takes the second text for the first.",
            "post-processors",
            page="tokenizers",
        ),
        "UnknownToken": _flag(
            "Unknown characters become the unknown token, fused or not, or vanish without one.",
            "Characters are lost, and text around them merges.",
            "model",
            "ohdearquant/lattice#259",
            page="tokenizers",
        ),
        "WholeTokenizer": _flag(
            "All components of a well-known model's tokenizer work together.",
            "Each part is right, and the tokens are not.",
            "files",
            page="tokenizers",
        ),
        "Canonical": _flag(
            "Whether some tokens are what their own text encodes to.",
            "A model is scored on, or continues from, tokens that it never saw in training.",
            "canonical",
            page="cutting",
        ),
        "Chunks": _flag(
            "A text is cut into chunks that have no more tokens than allowed, counted alone.",
            "A document is cut too early, too late, without end, or not covered.",
            "cutting",
            page="cutting",
        ),
        "Completions": _flag(
            "What may become of the end of a text that goes on.",
            "A prompt that ends inside a word is continued with a worse one.",
            "completions",
            page="cutting",
        ),
        "CountFalls": _flag(
            "One more character can lower the number of tokens.",
            "A budget is refused that would have been kept, or the other way round.",
            "growing",
            page="cutting",
        ),
        "Eager": _flag(
            "Tokens are given as soon as they are certain, and not before.",
            "A stream of tokens has to be taken back, or comes late.",
            "growing",
            page="cutting",
        ),
        "Growing": _flag(
            "The number of tokens while a text grows byte by byte.",
            "A buffer is sent too early, or exceeds the model's limit.",
            "growing",
            page="cutting",
        ),
        "Interval": _flag(
            "The number of tokens of a part, counted as if it were alone.",
            "Chunks are cut by counts that do not belong to them.",
            "growing",
            page="cutting",
        ),
        "Limit": _flag(
            "Whether a text has more tokens than allowed, and how many if not.",
            "A text that just fits is refused.",
            "cutting",
            page="cutting",
        ),
        "Offsets": _flag(
            "The character that a token starts in, also where it starts inside of one.",
            "Highlights and citations point to the wrong place.",
            "offsets",
            "openai/tiktoken#82",
            page="streaming",
        ),
        "Overlap": _flag(
            "The tokens at the end of a chunk that come again in the next.",
            "Context is lost at the borders, or the overlap never ends.",
            "cutting",
            page="cutting",
        ),
        "Split": _flag(
            "The longest beginning of a text that has no more tokens than allowed.",
            "A prompt is cut too short, too long, or inside a character.",
            "cutting",
            page="cutting",
        ),
        "Stream": _flag(
            "Text is given as soon as it is certain, and nothing is lost at the end.",
            "Users see broken characters, text that stalls, or no last character.",
            "certain",
            "vllm-project/vllm#48853",
            page="streaming",
        ),
        "TooLong": _flag(
            "One character has more tokens than allowed, and cannot be cut.",
            "The program loops for ever, or cuts a character into pieces.",
            "cutting",
            page="cutting",
        ),
        "Truncated": _flag(
            "The text is shortened, and then goes on.",
            "Tokens of text that was taken back are counted.",
            "growing",
            page="cutting",
        ),
        "ByPair": _flag(
            "By pair only listed pairs merge; a token that another pair spells is not made.",
            "A tokenizer converted between formats encodes some words otherwise than in training.",
            "by-pair",
            "huggingface/course#608",
        ),
        "ByteOrder": _flag(
            "The id of a single byte is what the vocabulary says, not the byte's value.",
            "All text that is not in tokens of several bytes becomes other text to the model.",
            "vocabularies",
        ),
        "Canary": _flag(
            "The recorded answer is wrong on purpose; a right engine fails the case.",
            "A comparison that compares nothing would report that all is well.",
            "definition",
        ),
        "CaseFolding": _flag(
            "Contractions are found in every case of letters, the long s included.",
            "Text in capitals is cut otherwise than the model was trained on.",
            "pieces",
        ),
        "Code": _flag(
            "Programs: indentation, signs in rows, line ends, names with digits.",
            "Prompts with programs in them cost more tokens and are understood worse.",
            "pieces",
            "rasbt/LLMs-from-scratch#944",
        ),
        "CodePointEdge": _flag(
            "The first and last code points of each length, and those that are no characters.",
            "Rare input is lost, cut off at a zero byte, or crashes the program.",
            "unicode",
            "ggml-org/llama.cpp#7530",
        ),
        "CombiningMark": _flag(
            "A combining mark is no letter, so it ends a run of letters in most patterns.",
            "Scripts with marks, and decomposed text, are cut otherwise than in training.",
            "unicode",
            "umran666/UniqToken#17",
        ),
        "Contraction": _flag(
            "'s, 't, 're and so on are pieces of their own, even where a word goes on.",
            "Frequent English words become other tokens.",
            "pieces",
        ),
        "Count": _flag(
            "Counting takes short cuts, and must still agree with encoding.",
            "Budgets are missed: prompts are refused or cut although they fit.",
            "counting",
        ),
        "DeadToken": _flag(
            "A token that no merging makes comes out only where a piece is taken whole.",
            "Words that are such tokens fall into letters, or tokens appear that never should.",
            "whole-piece",
            "openai/tiktoken#60",
        ),
        "Decoding": _flag(
            "Decoding joins bytes and adds and takes away nothing.",
            "Spaces or marks in answers are lost or doubled.",
            "decoding",
            "huggingface/transformers#44915",
            "huggingface/tokenizers#1141",
        ),
        "DeepBacktracking": _flag(
            "A letter at the end changes tokens far before it.",
            "Encoders that fix tokens after a window, or a count that stops early, are wrong.",
            "definition",
        ),
        "DigitGroup": _flag(
            "Runs of digits are cut into groups as the pattern says, from the left.",
            "Numbers become other tokens, and models calculate worse.",
            "pieces",
            "ggml-org/llama.cpp#6920",
            "ggml-org/llama.cpp#7063",
        ),
        "DuplicateMerge": _flag(
            "Of a merge that is listed twice the last place counts.",
            "A vocabulary with a duplicate encodes otherwise than where it came from.",
            "by-pair",
            "ohdearquant/lattice#259",
        ),
        "Emoji": _flag(
            "Emoji of several code points: skin tones, joiners, flags, variation selectors.",
            "Emoji fall apart or are joined to words they do not belong to.",
            "unicode",
        ),
        "EmptyInput": _flag(
            "Nothing goes in, nothing comes out, and that is no error.",
            "Programs crash on empty messages.",
            "definition",
        ),
        "FewestTrap": _flag(
            "The fewest tokens that spell a text are not its encoding.",
            "The model sees tokens in an order that training never showed it.",
            "definition",
        ),
        "GreedyTrap": _flag(
            "Taking the longest token first is not byte-pair encoding.",
            "The model sees tokens in an order that training never showed it.",
            "definition",
        ),
        "HighRank": _flag(
            "Ranks and ids are whole numbers of up to 32 bits, and are compared as such.",
            "With large vocabularies merges happen in another order.",
            "definition",
        ),
        "IdHole": _flag(
            "Ids may have gaps; what stands in a gap is no token.",
            "Ids are shifted by one behind a gap, or gaps decode to something.",
            "vocabularies",
        ),
        "IdNotRank": _flag(
            "The rank orders merges and the id is what comes out; they may differ.",
            "Merges happen in another order wherever special tokens come first.",
            "vocabularies",
        ),
        "ImproperRank": _flag(
            "A token may rank before the tokens that it is made from.",
            "Clever encoders that take ranks to rise are silently wrong.",
            "definition",
            "openai/tiktoken#60",
        ),
        "InvalidUtf8": _flag(
            "Bytes that are not UTF-8 are encoded as they are, as tiktoken does.",
            "Binary or cut-off input loses bytes, or crashes the program.",
            "bytes-that-are-not-utf8",
            "openai/tiktoken#82",
        ),
        "LeftmostTie": _flag(
            "Of equal ranks the leftmost merge comes first.",
            "Runs of one letter or sign become other tokens.",
            "definition",
        ),
        "LengthThreshold": _flag(
            "Lengths at which engines change their method, or a number its size.",
            "Long words are encoded wrongly, short ones rightly; tests seldom have long words.",
            "definition",
            "openai/tiktoken#195",
        ),
        "Letters": _flag(
            "All of category L are letters: title case, modifiers and letters without case too.",
            "Text in other languages is cut into single characters.",
            "unicode",
            "ggml-org/llama.cpp#7530",
        ),
        "LineEnd": _flag(
            "CR and LF belong to signs before them or are cut after, as the pattern says.",
            "Line ends, and the structure of text with them, become other tokens.",
            "white-space",
            "ggml-org/llama.cpp#7063",
        ),
        "LongRun": _flag(
            "A very long run that the pattern does not cut.",
            "The program takes minutes, or its stack overflows.",
            "definition",
            "openai/tiktoken#195",
            "openai/tiktoken#245",
            "coder/ai-tokenizer#6",
        ),
        "LongToken": _flag(
            "Tokens of 128 and more bytes, whose length does not fit into a byte.",
            "Long rows of signs become wrong tokens.",
            "definition",
        ),
        "MergeOrder": _flag(
            "The lowest rank of all merges first, wherever it stands.",
            "Words are cut otherwise than the model was trained on.",
            "definition",
            "rasbt/LLMs-from-scratch#558",
            "pie-project/pie#83",
        ),
        "MissingByte": _flag(
            "A byte without a token is an error, never fewer tokens.",
            "Parts of a text are silently lost.",
            "missing-bytes",
            "ollama/ollama#15232",
            "ohdearquant/lattice#259",
        ),
        "Normalization": _flag(
            "Where the vocabulary asks for NFC, text is put into NFC before it is cut.",
            "Decomposed text, as from file names, becomes other tokens.",
            "unicode",
        ),
        "NotWhiteSpace": _flag(
            "Characters that look or are called like spaces, and are none.",
            "Text from web pages is cut otherwise than in training.",
            "white-space",
            "umran666/UniqToken#17",
        ),
        "OneAtATime": _flag(
            "One merge at a time: a merge may bring an earlier one into play.",
            "Encoders that merge all places of a pair at once are wrong for some vocabularies.",
            "definition",
        ),
        "OneLetterRun": _flag(
            "A text of one letter, where every pair ties with the next.",
            "Rows of dashes, spaces or zeros become other tokens.",
            "definition",
            "google/sentencepiece#318",
        ),
        "OtherDigits": _flag(
            "Numbers are all of category N: other scripts' digits, fractions, Roman numerals.",
            "Numbers in other scripts become other tokens.",
            "unicode",
            "umran666/UniqToken#17",
        ),
        "PatternVariant": _flag(
            "The same text under another vocabulary's pattern is cut otherwise.",
            "An engine that has one pattern built in is wrong for all other vocabularies.",
            "pieces",
            "ggml-org/llama.cpp#3502",
            "ggml-org/llama.cpp#6920",
        ),
        "Pretokenization": _flag(
            "Merges never cross the border of a piece.",
            "Words and signs are joined that the model never saw joined.",
            "pieces",
            "ggml-org/llama.cpp#3502",
        ),
        "Prose": _flag(
            "A sentence in some language.",
            "Users of that language pay more and get worse answers.",
            "pieces",
        ),
        "Punctuation": _flag(
            "A space before a sign belongs to it; signs in a row are one piece.",
            "Punctuation becomes other tokens.",
            "pieces",
            "huggingface/tokenizers#1057",
        ),
        "Random": _flag(
            "A random row of tokens, kept because some wrong encoder fails it.",
            "Anything that nobody thought of.",
            "definition",
        ),
        "RealVocabulary": _flag(
            "A vocabulary that is in use, with its pattern and its special tokens.",
            "An engine reads the file wrongly: ids are shifted, or tokens are missing.",
            "vocabularies",
        ),
        "ReplaceMaximalPart": _flag(
            "U+FFFD stands once for each maximal part of a character that cannot be one.",
            "Answers show too many or too few replacement characters while they stream.",
            "decoding",
            "replicate/cog-llama-template#75",
        ),
        "Script": _flag(
            "Text in one of many scripts, with its own signs and marks.",
            "Users of that script pay more and get worse answers.",
            "unicode",
            "ggml-org/llama.cpp#7530",
        ),
        "SharedId": _flag(
            "Two special tokens with one id: both encode to it, and it decodes to the first.",
            "A name that nobody uses appears in the output.",
            "special-tokens",
        ),
        "SpecialAllowed": _flag(
            "Which special tokens are allowed, and which are an error, is the caller's choice.",
            "Users can end a prompt, or honest text is refused.",
            "special-tokens",
            "vectorize-io/hindsight#1891",
        ),
        "SpecialNames": _flag(
            "The text of a special token is taken literally, whatever is in it.",
            "Text that merely looks similar becomes a special token.",
            "special-tokens",
        ),
        "SpecialPrefix": _flag(
            "Of special tokens that begin at one place the longest is taken.",
            "The same text has different tokens from run to run.",
            "special-tokens",
        ),
        "SpecialRefused": _flag(
            "Special text that is not allowed is an error.",
            "Whoever writes the text can end the prompt.",
            "special-tokens",
            "huggingface/tokenizers#1347",
            "huggingface/transformers#25081",
        ),
        "SpecialToken": _flag(
            "Special tokens are cut out of text before anything else happens to it.",
            "Control tokens are read as text, or spaces around them are lost.",
            "special-tokens",
            "gh-markt/cpp-tiktoken#5",
            "huggingface/tokenizers#1544",
        ),
        "SplitCharacter": _flag(
            "Tokens hold parts of characters; only their bytes joined are text.",
            "Characters are lost or replaced where tokens are decoded one by one.",
            "decoding",
            "vllm-project/vllm#8627",
            "smg-project/smg#710",
        ),
        "StaleHeap": _flag(
            "A heap entry is stale when the tokens it speaks of are no longer there.",
            "Rare words are encoded wrongly, depending on what merged before.",
            "definition",
        ),
        "StrictDecode": _flag(
            "Bytes that are not text are an error if decoding is strict, and harmless as bytes.",
            "Errors pass unnoticed, or harmless bytes crash the program.",
            "decoding",
            "microsoft/PhiCookBook#14",
        ),
        "TrailingSpace": _flag(
            "White space at the end, or before a word, keeps or gives away its last character.",
            "Prompts that end in a space get worse answers than they need to.",
            "white-space",
            "huggingface/transformers#25069",
        ),
        "UnicodeVersion": _flag(
            "What a letter is depends on the version of Unicode; the tables are pinned.",
            "An update of a library changes tokens.",
            "unicode",
        ),
        "UnknownId": _flag(
            "An id without a token is an error, never nothing.",
            "Output is silently shortened, or memory is read that should not be.",
            "decoding",
        ),
        "UnmatchedText": _flag(
            "Text that the pattern does not match is dropped, and what follows is not.",
            "The rest of a text is lost, or text appears that should not.",
            "pieces",
        ),
        "WhiteSpace": _flag(
            "All 25 characters with the property White_Space are spaces, and no others.",
            "Text with typographic spaces is cut otherwise than in training.",
            "white-space",
            "ggml-org/llama.cpp#7530",
        ),
        "WholePiece": _flag(
            "A piece that is itself a token is taken whole, if the vocabulary says so.",
            "With some vocabularies frequent words fall into letters.",
            "whole-piece",
            "huggingface/tokenizers#1553",
        ),
    }
)
"""Every flag by name."""
