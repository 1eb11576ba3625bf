"""Speculative decoding: a cheap model drafts tokens, the target model accepts or rejects them.

The drafts change how soon a token comes out, never which law it follows. Read in this
order; each file adds one idea to the ones before it.

shares          a row as exact shares of its total; the token at a point of them
acceptance      accept or reject one draft
residual        what is left of the target when a draft is rejected; a mixture as the target
chain           several drafts in a row, up to the first rejection; the bonus token; draws
                from the target, compared with the drafts
block           the same drafts judged together: accepts more of them
tree            several drafts for one place, and trees of them
target_only     a tree judged by the target alone (SGLang)
typical         Medusa's rule, which does not keep the law
law             the law of the output, by exact enumeration: the proof of all of the above
"""

from sampling_ref.speculative.acceptance import (
    ACCEPTANCE_RULES,
    AcceptanceRule,
    accept,
    acceptance_rate,
)
from sampling_ref.speculative.block import block_breakpoints, verify_block
from sampling_ref.speculative.chain import (
    Verified,
    chain_breakpoints,
    matching_breakpoints,
    verify_by_matching,
    verify_chain,
)
from sampling_ref.speculative.law import law_of, output_law, target_law
from sampling_ref.speculative.residual import ensemble, residual
from sampling_ref.speculative.target_only import target_only_breakpoints, verify_target_only
from sampling_ref.speculative.tree import tree_breakpoints, verify_tree, without_tokens
from sampling_ref.speculative.typical import best_typical_candidate, is_typical

__all__ = [
    "ACCEPTANCE_RULES",
    "AcceptanceRule",
    "Verified",
    "accept",
    "acceptance_rate",
    "best_typical_candidate",
    "block_breakpoints",
    "chain_breakpoints",
    "ensemble",
    "is_typical",
    "law_of",
    "matching_breakpoints",
    "output_law",
    "residual",
    "target_law",
    "target_only_breakpoints",
    "tree_breakpoints",
    "verify_block",
    "verify_by_matching",
    "verify_chain",
    "verify_target_only",
    "verify_tree",
    "without_tokens",
]
