"""The reference under tiktoken's names: replace the engine by changing one import.

    import bpe_ref.like_tiktoken as tiktoken

Every public function, method, property, default and kind of error is that of tiktoken 0.14.0
(https://github.com/openai/tiktoken); what they do is done by this package. To run a program that
says `import tiktoken` itself:

    import sys
    import bpe_ref.like_tiktoken
    sys.modules["tiktoken"] = bpe_ref.like_tiktoken

Where it differs
    Vocabularies are found, never downloaded (see `finding`). Plugins (`tiktoken_ext`) are not
    looked for: `Encoding(...)` takes any vocabulary. Threads are not used: `num_threads` is only
    checked. Of two special tokens that begin at one place the longer one wins; in tiktoken that is
    up to a hash table. What comes from tiktoken's own checks (a disallowed special token, an
    unknown token, name or model) has its kind of error; so has what is of the wrong type. A byte
    that the vocabulary lacks is a `SymbolError`; tiktoken panics. Of patterns only what can be
    pinned is taken (see `pre_tokenizers.pattern`).
"""

from bpe_ref.like_tiktoken.core import Encoding
from bpe_ref.like_tiktoken.model import encoding_for_model, encoding_name_for_model
from bpe_ref.like_tiktoken.registry import get_encoding, list_encoding_names

__version__ = "0.14.0"

__all__ = [
    "Encoding",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
]
