"""llama.cpp's samplers on a processor, operation by operation in 32 bits.

The exact steps of this package say what should come out; this folder says what llama.cpp's
C samplers do come out with, to the last bit, and in which order. Engine: llama.cpp as in
the source archive llama_cpp_python 0.3.36 (src/llama-sampler.cpp,
https://github.com/ggml-org/llama.cpp), built with GCC's C++ library on x86-64.

Foundations
    candidates.py       what may be in a list of candidates; reading of 32-bit parameters
    libstdcxx_order.py  the order in which std::sort and std::partial_sort leave equals
    libstdcxx_random.py words of a generator to uniform numbers and to an index
    falling_order.py    the engine's own sort: by buckets, where there are many candidates
    softmax.py          probabilities, summed in 32 bits in the order of the candidates

Filters: candidates and parameters in, candidates out
    logit_bias.py  penalties.py  dry.py (dry_breakers.py)  top_n_sigma.py  top_k.py
    typical.py  top_p.py  min_p.py  xtc.py (takes a random word)  temperature.py
    dynamic_temperature.py  infill.py

Selectors: candidates and an iterator of 32-bit words in, a token out, and a new state
    greedy.py  dist.py  mirostat.py  mirostat_v2.py  adaptive_p.py

Parameters have the names and the defaults of the C functions. Nothing is remembered here: a
history is the list of accepted tokens, a state is an argument and a result.
"""
