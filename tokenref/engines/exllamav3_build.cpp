// What exllamav3's CUDA kernels need on a CPU, and C functions that run them. `exllamav3_samplers`
// compiles this in front of, and behind, the kernels of the engine, whose blocks have one thread.
#ifdef TOKENREF_BEFORE
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#define __global__ static
#define __device__ static
#define __shared__ static
#define __launch_bounds__(threads)
#define __forceinline__ inline
#define __syncthreads()
#define __logf logf
#define MIN std::min

typedef _Float16 half;
struct half2 { half x, y; };
static half __low2half(half2 pair) { return pair.x; }
static half __high2half(half2 pair) { return pair.y; }
static half2 __floats2half2_rn(float x, float y) { return {half(x), half(y)}; }
static float __half2float(half number) { return number; }

static struct { int x; } threadIdx, blockIdx;
static const float* given_numbers;
struct curandStatePhilox4_32_10_t { int place; };
static void curand_init(uint32_t, int place, int, curandStatePhilox4_32_10_t* state) {
    state->place = place;
}
static float curand_uniform(curandStatePhilox4_32_10_t* state) {
    return given_numbers[state->place];
}

static unsigned __float_as_uint(float number) { return *(unsigned*) &number; }
static float __uint_as_float(unsigned bits) { return *(float*) &bits; }
template <class N> static N swapped(N* at, N next) { std::swap(*at, next); return next; }
static unsigned atomicMax(unsigned* at, unsigned other) { return swapped(at, std::max(*at, other)); }
static unsigned atomicMin(unsigned* at, unsigned other) { return swapped(at, std::min(*at, other)); }
static float atomicAdd(float* at, float more) { return swapped(at, *at + more); }
#else
#define BLOCKS(count) for (blockIdx.x = 0; blockIdx.x < (count); blockIdx.x++)

extern "C" void repetition(
    const float* row, float* out, const uint64_t* tokens, int count, int size, float penalty, int sustain,
    int decay) {
    BLOCKS(size / BLOCK_VOCAB_SPAN + 1)
        apply_rep_pens_kernel<false>(row, out, tokens, count, size, penalty, sustain, decay);
}

extern "C" void presence_frequency(
    const float* row, float* out, const uint64_t* tokens, int count, int size, float presence,
    float frequency, int sustain, int decay) {
    BLOCKS(size / BLOCK_VOCAB_SPAN + 1)
        apply_pres_freq_pens_kernel<false>(
            row, out, tokens, count, size, presence, frequency, sustain, decay);
}

extern "C" void noise(int kind, const void* row, void* out, int size, const float* numbers) {
    given_numbers = numbers;
    if (kind == 0) BLOCKS(size / 2) gumbel_noise_kernel_f16((half*) row, (half*) out, size, 0);
    if (kind == 1) BLOCKS(size) gumbel_noise_kernel_f32((float*) row, (float*) out, size, 0);
    if (kind == 2) BLOCKS(size) gumbel_noise_kernel_log((float*) row, (float*) out, size, 0);
}
#endif
