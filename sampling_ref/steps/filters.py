"""The steps that remove tokens."""

from sampling_ref.filters.epsilon import epsilon_logits
from sampling_ref.filters.eta import eta_logits
from sampling_ref.filters.min_p import min_p_logits
from sampling_ref.filters.tail_free import tail_free_logits
from sampling_ref.filters.top_a import top_a_logits
from sampling_ref.filters.top_h import top_h_logits
from sampling_ref.filters.top_k import top_k_logits
from sampling_ref.filters.top_n_sigma import top_n_sigma_logits
from sampling_ref.filters.top_p import top_p_logits
from sampling_ref.filters.typical import typical_logits
from sampling_ref.filters.xtc import xtc_logits
from sampling_ref.steps.step import filter_step

FILTER_STEPS = (
    filter_step("top_k", top_k_logits, "the {k} largest are kept"),
    filter_step("top_p", top_p_logits, "the likeliest are kept, until their sum reaches {p}"),
    filter_step("min_p", min_p_logits, "what has at least {m} of the largest share is kept"),
    filter_step(
        "typical",
        typical_logits,
        "those whose surprise is nearest to the entropy are kept, until they sum to {mass}",
    ),
    filter_step("epsilon", epsilon_logits, "what has at least the share {cutoff} is kept"),
    filter_step(
        "eta",
        eta_logits,
        "what has at least the share {cutoff}, or less where the entropy is high, is kept",
    ),
    filter_step(
        "top_n_sigma",
        top_n_sigma_logits,
        "what lies at most {n} standard deviations below the maximum is kept",
    ),
    filter_step("top_a", top_a_logits, "what has at least {a} times the largest share squared"),
    filter_step(
        "top_h",
        top_h_logits,
        "the likeliest are kept whose entropy is at most {alpha} times the whole",
    ),
    filter_step("tail_free", tail_free_logits, "what comes before the flat tail is kept ({z})"),
    filter_step(
        "xtc",
        xtc_logits,
        "of the tokens above {threshold} only the least likely is kept, "
        "with probability {probability}",
    ),
)
