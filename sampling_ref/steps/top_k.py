"""Top-k filtering.

Fan, Lewis and Dauphin, "Hierarchical Neural Story Generation", ACL 2018, section 5.1
(https://arxiv.org/abs/1805.04833). The rule:

    Keep the k most probable tokens.

Ties
    Tokens as probable as the k-th may be more than there is room for. Either exactly k
    stay, those of the lowest ids or of the highest, or all of them stay, which makes more
    than k. Programs that compare with the k-th value keep all; programs that sort keep
    exactly k, and if their sort is not stable it is an accident which ones.
k larger than the row
    Every possible token is kept. Some programs call it an error, also where k is the
    whole length (`beyond="error"`).
k = 0
    No such filter, an empty set, or an error: engines have all three.
Least
    Never fewer than `least` tokens: k is raised to it, as transformers does.
Impossible tokens
    A token of no weight is never kept, even if fewer than k tokens are left then.
Order
    An engine that sorts leaves the candidates in the order of its sort.
"""

from typing import Literal

from sampling_ref.errors import ParameterError
from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import read_whole
from sampling_ref.row import Candidates, Ties
from sampling_ref.steps.step import rule


@rule("keeps the {k} most probable tokens", whys={"ties all": ", and the equals of the last one"})
def top_k(
    candidates: Candidates,
    k: int,
    *,
    ties: Ties = "lowest id",
    zero: Literal["error", "off", "none"] = "error",
    beyond: Literal["all", "error"] = "all",
    least: int = 1,
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the k candidates of the largest logits.

    >>> top_k([1.0, 2.0, 2.0, 2.0, 3.0], k=3).tokens
    [1, 2, 4]
    >>> top_k([1.0, 2.0, 2.0, 2.0, 3.0], k=3, ties="highest id").tokens
    [2, 3, 4]
    >>> top_k([1.0, 2.0, 2.0, 2.0, 3.0], k=3, ties="all").tokens
    [1, 2, 3, 4]
    """
    read_whole("least", least, 1)
    here = numbers.of(candidates)
    size = len(here.values)
    if beyond == "error" and read_whole("k", k) >= size:
        raise ParameterError("k", k, f"must be below the length of the row, {size}")
    if read_whole("k", k, 1 if zero == "error" else 0) == 0:
        return here.keep(here.possible() if zero == "off" else [])
    return here.keep(here.largest(max(k, least), ties), "falling")
