"""Lempel and Ziv's compressor, a penalty made from it, and models as compressors.

What the penalty is built of, in reading order:

    matches             window and buffer of a history (equation 1), the longest match
                        (definition 7), which tokens extend it and how far back each token is
    compressor          the compressor (definition 8), with bits that can be read back; bits of a
                        match, bits of a literal (propositions 1 and 2)
    changes             exact changes of length; added to logits with one rounding
    variants            what the paper prints, what it means, what was published
    steps/lz.py         `lz_penalty`: logits and a history in, logits out (equation 3)

The duality of prediction and compression (section 2.3), as running code:

    compressor_as_model a compressor becomes a next-token distribution
    arithmetic_coder    a model becomes a compressor

Source: Ginart et al., "LZ Penalty: An information-theoretic repetition penalty for
autoregressive language models", 2025 (https://arxiv.org/abs/2504.20131).
"""
