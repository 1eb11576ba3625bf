// What exllamav2's C++ samplers need of PyTorch, and C functions to call them. `exllamav2_samplers`
// compiles this in front of, and behind, the engine's own sources, in which it changes nothing.
#ifdef TOKENREF_BEFORE
#include <cmath>
#include <cstdint>
#include <cstring>
#include <cstdlib>
#include <vector>
// The engine's vector instructions write up to the next multiple of 32 numbers, and its filters
// read one number more, because its rows are larger in practice.
#define _mm_malloc(bytes, alignment) aligned_alloc(alignment, ((bytes) / 128 + 2) * 128)
#define _mm_free(memory) free(memory)
#define TORCH_CHECK(...)
#define Py_BEGIN_ALLOW_THREADS
#define Py_END_ALLOW_THREADS

namespace torch {
enum Type { kLong, kFloat, kBool };

struct Device {
    bool meta;
    bool is_meta() const { return meta; }
};

// A contiguous tensor that belongs to the caller.
struct Tensor {
    void* data = nullptr;
    std::vector<long> sizes_;
    Type type = kFloat;

    void* data_ptr() const { return data; }
    long size(int at) const { return sizes_[at < 0 ? at + sizes_.size() : at]; }
    Type dtype() const { return type; }
    Device device() const { return {data == nullptr}; }
    Tensor operator[](long at) const {
        long step = type == kLong ? 8 : type == kFloat ? 4 : 1;
        std::vector<long> rest(sizes_.begin() + 1, sizes_.end());
        for (long size : rest) step *= size;
        return {(char*) data + at * step, rest, type};
    }
    template <class Number> void operator=(Number number) {
        if (type == kLong) *(int64_t*) data = number;
        else *(float*) data = number;
    }
};
}  // namespace torch
#else
extern "C" void penalize(
    int64_t* tokens, int count, float repetition, int sustain, int decay, float frequency,
    float presence, float* logits, int size) {
    apply_rep_penalty({tokens, {1, count}, torch::kLong}, repetition, sustain, decay, frequency,
                      presence, {logits, {1, size}});
}

extern "C" float sample(
    float* logits, int size, float temperature, int top_k, float top_p, float top_a, float min_p,
    float tfs, float typical, float random, int64_t* token, float* share, float* shares,
    int64_t* tokens, bool mirostat, float mu, float tau, float eta, float last, float smoothing) {
    std::vector<float> state{mu};
    return sample_basic(
        {logits, {1, 1, size}}, temperature, top_k, top_p, top_a, min_p, tfs, typical, random,
        {token, {1, 1}, torch::kLong}, {share, {1, 1}}, {shares, {1, 1, size}},
        {tokens, {1, 1, size}, torch::kLong}, {}, mirostat, state, tau, eta, last, {}, 0.0f, 0.1f,
        0.0f, 0.0f, 1.0f, smoothing)[0];
}

extern "C" int filter(int step, int count, float* shares, int* tokens, float number) {
    switch (step) {
        case 0: return top_k_cpu(count, shares, tokens, (int) number);
        case 1: return top_p_cpu(count, shares, tokens, number);
        case 2: return top_a_cpu(count, shares, tokens, number);
        case 3: return min_p_cpu(count, shares, tokens, number);
        case 4: return tfs_cpu(count, shares, tokens, number);
        case 5: return multinomial_cpu(count, shares, tokens, number);
    }
    return -1;
}
#endif
