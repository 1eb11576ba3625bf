"""Random bits as values: a seed and a number of words taken are a generator's whole state.

mt19937             C++, torch on a CPU, numpy's RandomState, Python (32-bit words)
philox              cuRAND and torch on CUDA (4x32), numpy (4x64); counter and key
threefry            mlx (2x32); counter and key
pcg64               numpy's default_rng (64)
chacha              Rust's StdRng (32)
isaac64             mistral.rs (64)
xoshiro256plusplus  Rust's SmallRng (64)
splitmix64          seeds xoshiro256++ (64)
murmur              SGLang and vLLM with a seed for each request; keyed, no stream
seed_sequence       turns numpy's seeds into states
words               checks words and seeds; splits 64-bit words and joins 32-bit ones
uniforms            from words to numbers in [0, 1), engine by engine
sources             the random numbers of a chain: given ones, or an engine's own stream
"""
