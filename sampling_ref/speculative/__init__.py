"""Speculative decoding: a cheap model drafts tokens, the target model accepts or rejects them.

The drafts change how soon a token comes out, never which law it follows. Read in this
order; each file adds one idea to the ones before it.

shares          a row as exact shares of its total; the token at a point of them
acceptance      accept or reject one draft
residual        what is left of the target when a draft is rejected; a mixture as the target
chain           several drafts in a row, up to the first rejection; the bonus token; draws
                from the target, compared with the drafts; penalties and masks in the loop
block           the same drafts judged together: accepts more of them
tree            several drafts for one place, and trees of them
target_only     a tree judged by the target alone (SGLang)
typical         Medusa's rule, which does not keep the law
law             the law of the output, by exact enumeration: the proof of all of the above
"""

from sampling_ref.speculative.acceptance import ACCEPTANCE_RULES as ACCEPTANCE_RULES
from sampling_ref.speculative.acceptance import AcceptanceRule as AcceptanceRule
from sampling_ref.speculative.acceptance import accept as accept
from sampling_ref.speculative.acceptance import acceptance_rate as acceptance_rate
from sampling_ref.speculative.block import block_breakpoints as block_breakpoints
from sampling_ref.speculative.block import verify_block as verify_block
from sampling_ref.speculative.chain import Verified as Verified
from sampling_ref.speculative.chain import chain_breakpoints as chain_breakpoints
from sampling_ref.speculative.chain import matching_breakpoints as matching_breakpoints
from sampling_ref.speculative.chain import processed_targets as processed_targets
from sampling_ref.speculative.chain import verify_by_matching as verify_by_matching
from sampling_ref.speculative.chain import verify_chain as verify_chain
from sampling_ref.speculative.law import law_of as law_of
from sampling_ref.speculative.law import output_law as output_law
from sampling_ref.speculative.law import target_law as target_law
from sampling_ref.speculative.residual import ensemble as ensemble
from sampling_ref.speculative.residual import residual as residual
from sampling_ref.speculative.target_only import target_only_breakpoints as target_only_breakpoints
from sampling_ref.speculative.target_only import verify_target_only as verify_target_only
from sampling_ref.speculative.tree import tree_breakpoints as tree_breakpoints
from sampling_ref.speculative.tree import verify_tree as verify_tree
from sampling_ref.speculative.typical import best_typical_candidate as best_typical_candidate
from sampling_ref.speculative.typical import is_typical as is_typical
