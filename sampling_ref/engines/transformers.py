"""Hugging Face transformers: the processors of `generate()`, sampling."""

from sampling_ref.engines.profile import Draw, Greedy, Logprobs, Parameter, Profile, Stage
from sampling_ref.numbers.torch32 import TORCH32

PROCESS = "src/transformers/generation/logits_process.py"
UTILS = "src/transformers/generation/utils.py"
CONFIG = "src/transformers/generation/configuration_utils.py"

NO_FLOAT = "The engine only accepts Python floats, so it refuses 2 instead of 2.0."
FITS = (
    f"{NO_FLOAT} It accepts infinity, and values that are 0 or infinite in 32 bits: then "
    "rows contain NaN."
)
NEGATIVE = "generate() treats negative numbers as 0."
OUTSIDE = "The engine ignores ids outside the row, or fails in torch; here they are errors."
NEW_BY_DEFAULT = 20
OUTER = "generate() skips it for 1 and more and for 0 and less; the processor refuses these."

TRANSFORMERS = Profile(
    name="transformers",
    title="Hugging Face transformers",
    repository="https://github.com/huggingface/transformers",
    version="5.23.0",
    parameters=(
        Parameter("do_sample", default=True, allowed="flag", source=f"{CONFIG}:613"),
        Parameter("sequence_bias", None, "words with numbers or None", "f32", f"{PROCESS}:1352"),
        Parameter("encoder_input_ids", None, "tokens or None", source=f"{UTILS}:2986"),
        Parameter("encoder_repetition_penalty", 1.0, "(0, inf) or None", "f64", f"{PROCESS}:479"),
        Parameter("repetition_penalty", 1.0, "(0, inf) or None", "f32", f"{PROCESS}:358"),
        Parameter("prompt_ignore_length", 0, "whole [0, inf)", source=f"{PROCESS}:358"),
        Parameter("no_repeat_ngram_size", 0, "whole [0, inf) or None", source=f"{PROCESS}:1144"),
        Parameter(
            "encoder_no_repeat_ngram_size", 0, "whole [0, inf) or None", source=f"{PROCESS}:1211"
        ),
        Parameter("bad_words_ids", None, "some words or None", source=f"{PROCESS}:1487"),
        Parameter("min_length", 0, "whole [0, inf) or None", source=f"{UTILS}:2053"),
        Parameter("min_new_tokens", None, "whole [0, inf) or None", source=f"{PROCESS}:203"),
        Parameter("eos_token_id", None, "token or tokens or None", source=f"{UTILS}:2405"),
        Parameter("prefix_allowed_tokens_fn", None, "anything", source=f"{PROCESS}:1568"),
        Parameter("forced_bos_token_id", None, "whole [0, inf) or None", source=f"{PROCESS}:1628"),
        Parameter("forced_eos_token_id", None, "token or tokens or None", source=f"{PROCESS}:1675"),
        Parameter("max_length", None, "whole [1, inf) or None", source=f"{UTILS}:2046"),
        Parameter("max_new_tokens", None, "whole [1, inf) or None", source=f"{UTILS}:2027"),
        Parameter("remove_invalid_values", default=False, allowed="flag"),
        Parameter(
            "exponential_decay_length_penalty",
            None,
            "decay start or None",
            "f64",
            f"{PROCESS}:1786",
        ),
        Parameter("suppress_tokens", None, "tokens or None", source=f"{PROCESS}:1939"),
        Parameter("begin_suppress_tokens", None, "tokens or None", source=f"{PROCESS}:1892"),
        Parameter("temperature", 1.0, "(0, inf) or None", "f32", f"{PROCESS}:288"),
        Parameter("top_h", None, "(0, 1] or None", "f64", f"{PROCESS}:663"),
        Parameter("top_k", 50, "whole [0, inf) or None", source=f"{PROCESS}:610"),
        Parameter("top_p", 1.0, "[0, 1] or None", "f64", f"{PROCESS}:544"),
        Parameter("min_p", None, "[0, 1] or None", "f32", f"{PROCESS}:780"),
        Parameter("typical_p", 1.0, "(0, 1] or None", "f64", f"{PROCESS}:862"),
        Parameter("epsilon_cutoff", 0.0, "[0, 1] or None", "f64", f"{PROCESS}:937"),
        Parameter("eta_cutoff", 0.0, "[0, 1] or None", "f64", f"{PROCESS}:1018"),
        Parameter("min_tokens_to_keep", 1, "whole [1, inf)", source=f"{UTILS}:1608"),
        Parameter("renormalize_logits", default=False, allowed="flag", source=f"{UTILS}:1655"),
    ),
    aliases={"typical": "typical_p"},
    engine_rules={
        "do_sample": "The engine's own default is False: it only samples on request. False makes "
        "it ignore the parameters of sampling, from temperature to eta_cutoff, whatever numbers "
        "they are.",
        "sequence_bias": f"{NO_FLOAT} It takes NaN and infinite biases.",
        "encoder_input_ids": "None is the prompt, as in generate() for decoder-only models.",
        "encoder_repetition_penalty": f"{FITS} The reciprocal is calculated with 64 bits, and "
        f"used with 32.",
        "repetition_penalty": FITS,
        "prompt_ignore_length": "generate() passes the length of the padding on the left. None "
        "is 0.",
        "no_repeat_ngram_size": NEGATIVE,
        "encoder_no_repeat_ngram_size": NEGATIVE,
        "bad_words_ids": "The engine ignores an empty word among others.",
        "min_length": f"Ignored if min_new_tokens is given, even as 0. {NEGATIVE}",
        "min_new_tokens": NEGATIVE,
        "eos_token_id": f"{OUTSIDE} generate() fails if none of several is given.",
        "forced_bos_token_id": "The engine counts negative ids from the end.",
        "max_length": "Used if there is no max_new_tokens; without both, 20 tokens follow the "
        "prompt. generate() refuses lengths that the prompt already has.",
        "exponential_decay_length_penalty": "The engine also accepts negative starts and "
        "factors, and fails without eos_token_id; here the step then does nothing.",
        "suppress_tokens": OUTSIDE,
        "begin_suppress_tokens": OUTSIDE,
        "temperature": f"0 is refused with the advice to set do_sample to False. {FITS}",
        "top_k": "As an argument of generate(), None turns it off; in a GenerationConfig "
        "it means the default.",
        "top_p": "The message says '> 0 and < 1', but 0, 1 and NaN are accepted. "
        "generate() skips the step for NaN and for more than 1.",
        "typical_p": "1 and more turn it off; the processor itself requires less than 1.",
        "epsilon_cutoff": OUTER,
        "eta_cutoff": OUTER,
    },
    stages=(
        Stage(
            "sequence_bias",
            {"biases": "sequence_bias"},
            off_if="sequence_bias is None",
            source=f"{PROCESS}:1242",
        ),
        Stage(
            "encoder_repetition",
            {"penalty": "encoder_repetition_penalty", "encoder_input": "encoder_input_ids"},
            off_if="encoder_repetition_penalty is None or encoder_repetition_penalty == 1.0",
            source=f"{PROCESS}:440",
        ),
        Stage(
            "repetition_penalty",
            {"penalty": "repetition_penalty", "skipped": "prompt_ignore_length"},
            {
                "method": "by sign",
                "counting": "distinct",
                "arithmetic": "division",
                "scope": "all",
                "window": None,
            },
            off_if="repetition_penalty is None or repetition_penalty == 1.0",
            note="The prompt counts; generate() only skips the padding on its left.",
            source=f"{PROCESS}:306",
        ),
        Stage(
            "no_repeat_ngram",
            {"ngram_size": "no_repeat_ngram_size"},
            off_if="no_repeat_ngram_size is None or no_repeat_ngram_size == 0",
            source=f"{PROCESS}:1102",
        ),
        Stage(
            "encoder_no_repeat_ngram",
            {"ngram_size": "encoder_no_repeat_ngram_size", "encoder_input": "encoder_input_ids"},
            off_if="encoder_no_repeat_ngram_size is None or encoder_no_repeat_ngram_size == 0",
            source=f"{PROCESS}:1173",
        ),
        Stage(
            "bad_words",
            {"words": "bad_words_ids", "ends": "eos_token_id"},
            {"scope": "all"},
            off_if="bad_words_ids is None",
            note="A word that is just an end token is ignored.",
            source=f"{PROCESS}:1432",
        ),
        Stage(
            "min_length",
            {"length": "min_length", "ends": "eos_token_id"},
            off_if="min_length is None or min_length == 0 or eos_token_id is None or "
            "min_new_tokens >= 0",
            note="min_new_tokens replaces it.",
            source=f"{PROCESS}:101",
        ),
        Stage(
            "min_new_tokens",
            {"count": "min_new_tokens", "ends": "eos_token_id"},
            off_if="min_new_tokens is None or min_new_tokens == 0 or eos_token_id is None",
            source=f"{PROCESS}:164",
        ),
        Stage(
            "prefix_allowed_tokens",
            {"allowed_after": "prefix_allowed_tokens_fn"},
            {"when_none": "force"},
            off_if="prefix_allowed_tokens_fn is None",
            note="The function takes the history; in the engine, a batch index precedes it.",
            source=f"{PROCESS}:1521",
        ),
        Stage(
            "forced_bos",
            {"token": "forced_bos_token_id"},
            off_if="forced_bos_token_id is None",
            source=f"{PROCESS}:1596",
        ),
        Stage(
            "forced_eos",
            {"max_length": "max_length", "ends": "forced_eos_token_id"},
            {"new_tokens": None},
            off_if="forced_eos_token_id is None or max_length is None or max_new_tokens >= 0",
            source=f"{PROCESS}:1641",
        ),
        Stage(
            "forced_eos",
            {"new_tokens": "max_new_tokens", "ends": "forced_eos_token_id"},
            {"max_length": None},
            off_if="forced_eos_token_id is None or max_new_tokens is None",
            note="It replaces max_length.",
            source=f"{UTILS}:2027",
        ),
        Stage(
            "forced_eos",
            {"ends": "forced_eos_token_id"},
            {"max_length": None, "new_tokens": NEW_BY_DEFAULT},
            off_if="forced_eos_token_id is None or max_length >= 0 or max_new_tokens >= 0",
            note="Without both lengths, 20 tokens follow the prompt.",
            source=f"{UTILS}:2046",
        ),
        Stage(
            "remove_invalid_values",
            choices={"largest": 3.4028234663852886e38},
            off_if="remove_invalid_values == False",
            note="Impossible tokens get a finite logit here.",
            source=f"{PROCESS}:1697",
        ),
        Stage(
            "exponential_decay_length",
            {
                "start": "exponential_decay_length_penalty.0",
                "growth": "exponential_decay_length_penalty.1",
                "ends": "eos_token_id",
            },
            off_if="exponential_decay_length_penalty is None or eos_token_id is None",
            source=f"{PROCESS}:1718",
        ),
        Stage(
            "suppress",
            {"tokens": "suppress_tokens"},
            off_if="suppress_tokens is None",
            source=f"{PROCESS}:1910",
        ),
        Stage(
            "begin_suppress",
            {"tokens": "begin_suppress_tokens", "forced": "forced_bos_token_id"},
            off_if="begin_suppress_tokens is None",
            source=f"{PROCESS}:1857",
        ),
        Stage(
            "temperature",
            {"temperature": "temperature"},
            {"zero": "error", "added": 0},
            off_if="temperature is None or temperature == 1.0",
            source=f"{PROCESS}:238",
        ),
        Stage(
            "top_h",
            {"alpha": "top_h"},
            {"entropy": "shared", "best": 100, "ties": "lowest id", "least": 1},
            off_if="top_h is None",
            source=f"{PROCESS}:627",
        ),
        Stage(
            "top_k",
            {"k": "top_k", "least": "min_tokens_to_keep"},
            {"ties": "all", "zero": "error", "beyond": "all"},
            off_if="top_k is None or top_k == 0",
            source=f"{PROCESS}:571",
        ),
        Stage(
            "top_p",
            {"p": "top_p", "least": "min_tokens_to_keep"},
            {
                "walked": "upwards",
                "ties": "highest id",
                "zero": "best",
                "boundary": "reach",
                "base": "what is left",
            },
            off_if="top_p is None or top_p >= 1.0",
            note="An ascending sort; tokens are removed while the sum is at most 1 - p.",
            source=f"{PROCESS}:502",
        ),
        Stage(
            "min_p",
            {"m": "min_p", "least": "min_tokens_to_keep"},
            {"equality": "kept", "above_one": "error", "ties": "lowest id"},
            off_if="min_p is None",
            source=f"{PROCESS}:733",
        ),
        Stage(
            "typical",
            {"mass": "typical_p", "least": "min_tokens_to_keep"},
            {"boundary": "reach", "ties": "all", "zero": "error"},
            off_if="typical_p is None or typical_p >= 1.0",
            source=f"{PROCESS}:809",
        ),
        Stage(
            "epsilon",
            {"cutoff": "epsilon_cutoff", "least": "min_tokens_to_keep"},
            {"ties": "all", "equality": "kept"},
            off_if="epsilon_cutoff is None or epsilon_cutoff == 0.0 or epsilon_cutoff >= 1.0",
            source=f"{PROCESS}:897",
        ),
        Stage(
            "eta",
            {"cutoff": "eta_cutoff", "least": "min_tokens_to_keep"},
            {"ties": "all", "equality": "kept", "scale": None},
            off_if="eta_cutoff is None or eta_cutoff == 0.0 or eta_cutoff >= 1.0",
            source=f"{PROCESS}:966",
        ),
        Stage("logprobs", off_if="renormalize_logits == False", source=f"{PROCESS}:1820"),
    ),
    draw=Draw(
        "exponential race",
        noise="-log(1-u)",
        uniform="53 bits of two words, the high one first; one for each token",
        own_stream="torch mt19937",
        source=f"{UTILS}:3122, torch.multinomial on a CPU",
    ),
    rounded=TORCH32,
    greedy=Greedy(
        condition="do_sample == False",
        after=(
            *("sequence_bias", "encoder_repetition", "repetition_penalty", "no_repeat_ngram"),
            *("encoder_no_repeat_ngram", "bad_words", "min_length", "min_new_tokens"),
            *("prefix_allowed_tokens", "forced_bos", "forced_eos", "remove_invalid_values"),
            *("exponential_decay_length", "suppress", "begin_suppress", "logprobs"),
        ),
        unread=(
            *("temperature", "top_h", "top_k", "top_p", "min_p", "typical_p"),
            *("epsilon_cutoff", "eta_cutoff"),
        ),
        note="torch.argmax: on a CPU the first of equal numbers.",
        source=f"{UTILS}:3122",
    ),
    logprobs=(
        Logprobs("output_scores", "everything", f"{UTILS}:3122"),
        Logprobs("output_logits", "nothing", f"{UTILS}:3122"),
    ),
    notes=(
        "Classifier-free guidance and watermarks need a model or a key, and are not described.",
        "With beams, min_tokens_to_keep is one more than the number of end tokens.",
        "On a GPU, torch has another random stream.",
    ),
)
