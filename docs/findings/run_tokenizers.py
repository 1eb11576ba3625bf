"""Run the findings about bpe-openai, rs-bpe and tiktoken."""

import os
from collections.abc import Callable

import bpe_openai
import tiktoken
from rs_bpe.bpe import openai


def outcome(action: Callable[[], object]) -> str:
    """Return the result, or the name of the exception."""
    try:
        return repr(action())
    except BaseException as error:
        return type(error).__name__


def bpe_openai_negative_id() -> tuple[str, str]:
    encoding = bpe_openai.get_encoding("cl100k_base")
    return "an error", outcome(lambda: encoding.decode([-1]))


def rs_bpe_unknown_id() -> tuple[str, str]:
    child = os.fork()
    if not child:
        os.close(2)
        openai.cl100k_base().decode([10**8])
        os._exit(0)
    signalled = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    return "an error", "segmentation fault" if signalled else "none"


def tiktoken_negative_token() -> tuple[str, str]:
    letters = {bytes([i]): i for i in range(256)}
    encoding = tiktoken.Encoding(
        "bytes", pat_str="(?s:.)+", mergeable_ranks=letters, special_tokens={}
    )
    return "KeyError", outcome(lambda: encoding.decode_single_token_bytes(-1))


FINDINGS = [bpe_openai_negative_id, rs_bpe_unknown_id, tiktoken_negative_token]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t", flush=True)
