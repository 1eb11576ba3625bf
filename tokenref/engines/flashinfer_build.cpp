// What kernels of FlashInfer and SGLang need, and C functions that run them. `flashinfer_samplers`
// compiles this in front of, and behind, the kernels. With nvcc they are the engines' own, and only
// the random numbers are given. On a CPU blocks have one thread, which the templates allow, so what
// threads do together is trivial. A block works on one row.
#if defined(TOKENREF_BEFORE) && defined(__CUDACC__)
#include <curand_kernel.h>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

__device__ const float* given_numbers;  // for each row; without them the generator is cuRAND's
__device__ int* numbers_taken;

struct Numbers {
    curandStatePhilox4_32_10_t own;
    int taken;
};
__device__ void start(uint64_t seed, uint64_t row, uint64_t offset, Numbers* numbers) {
    if (!given_numbers) curand_init(seed, row, offset, &numbers->own);
    numbers->taken = 0;
}
// The first number of a row is given. After a rejection any other will do.
__device__ float next_number(Numbers* numbers) {
    if (!given_numbers) return curand_uniform(&numbers->own);
    numbers_taken[blockIdx.x] = ++numbers->taken;
    return numbers->taken > 1 ? 0.5f : given_numbers[blockIdx.x];
}
__device__ float4 curand_uniform4(Numbers* numbers) { return curand_uniform4(&numbers->own); }
#define curandStatePhilox4_32_10_t Numbers
#define curand_init start
#define curand_uniform next_number
#elif defined(TOKENREF_BEFORE)
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>
#define __global__ static
#define __device__
#define __shared__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline
#define __syncthreads()
#define __expf expf
#define FLASHINFER_SAMPLING_LAUNCH_BOUNDS(threads)
using std::isinf;
using std::max;
using std::min;

static struct { uint32_t x, y; } threadIdx, blockIdx, gridDim;
static const float* given_numbers;
static int numbers_taken;
struct curandStatePhilox4_32_10_t {};
static void curand_init(uint64_t, uint64_t, uint64_t, curandStatePhilox4_32_10_t*) {
    numbers_taken = 0;
}
// The first number of a row is given. After a rejection any other will do.
static float curand_uniform(curandStatePhilox4_32_10_t*) {
    return numbers_taken++ ? 0.5f : given_numbers[blockIdx.x];
}

struct float2 { float x, y; };
static float2 make_float2(float x, float y) { return {x, y}; }
static float __fmul_rn(float x, float y) { return x * y; }
static float ieee_mul(float x, float y) { return x * y; }
static float ieee_add(float x, float y) { return x + y; }
static float ieee_div(float x, float y) { return x / y; }
template <class N> N __shfl_up_sync(unsigned, N, unsigned);
template <class N> N __shfl_xor_sync(unsigned, N, unsigned);
template <class N> N __shfl_sync(unsigned, N, unsigned);
template <class N, class M> void atomicMin(N* at, M other) { *at = std::min(*at, N(other)); }
template <class N> N ceil_div(N x, N y) { return (x + y - 1) / y; }
static size_t round_up(size_t x, size_t y) { return ceil_div(x, y) * y; }
namespace cuda { namespace std { using ::std::numeric_limits; } }

struct MaxReduceOp { template <class N> N operator()(N x, N y) const { return ::std::max(x, y); } };

namespace cub {
enum BlockScanAlgorithm { BLOCK_SCAN_WARP_SCANS };
enum BlockReduceAlgorithm { BLOCK_REDUCE_WARP_REDUCTIONS };

struct OneThread {
    struct TempStorage {};
    OneThread(TempStorage&) {}
};

template <class N, int Threads, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS>
struct BlockReduce : OneThread {
    using OneThread::OneThread;
    template <class Op> N Reduce(N own, Op) { return own; }
    N Sum(N own) { return own; }
    template <int Size, class Op> N Reduce(N (&own)[Size], Op op) {
        for (int at = 1; at < Size; at++) own[0] = op(own[0], own[at]);
        return own[0];
    }
    template <int Size> N Sum(N (&own)[Size]) {
        N sum = own[0];
        for (int at = 1; at < Size; at++) sum += own[at];
        return sum;
    }
};

template <class N, int Threads, BlockScanAlgorithm> struct BlockScan : OneThread {
    using OneThread::OneThread;
    template <int Size> void InclusiveSum(N (&own)[Size], N (&sums)[Size]) {
        for (int at = 0; at < Size; at++) sums[at] = own[at] + (at ? sums[at - 1] : 0);
    }
};

template <class N, int Threads> struct BlockAdjacentDifference : OneThread {
    using OneThread::OneThread;
    template <int Size, class Op> void FlagHeads(N (&heads)[Size], N (&own)[Size], Op op, N first) {
        for (int at = 0; at < Size; at++) heads[at] = op(at ? own[at - 1] : first, own[at]);
    }
};
}  // namespace cub

namespace flashinfer {
template <class N, uint32_t Size> struct vec_t {
    N own[Size];
    N& operator[](uint32_t at) { return own[at]; }
    void fill(N number) { std::fill_n(own, Size, number); }
    template <class From> void cast_load(const From* at) { std::copy_n(at, Size, own); }
    template <class To> void cast_store(To* at) const { std::copy_n(own, Size, at); }
    void load(const N* at) { cast_load(at); }
    void store(N* at) const { cast_store(at); }
};
namespace sampling {
using namespace cub;
alignas(64) uint8_t smem[1 << 12], smem_sampling[1 << 12];
constexpr auto SCAN_ALGO = BLOCK_SCAN_WARP_SCANS;
constexpr auto REDUCE_ALGO = BLOCK_REDUCE_WARP_REDUCTIONS;
#elif defined(__CUDACC__)
using namespace flashinfer::sampling;

// Numbers that are copied to the device, and back if they are not constant.
template <class N> struct There {
    N *here, *at = nullptr;
    size_t bytes;
    There(N* here, size_t count) : here(here), bytes(count * sizeof(N)) {
        cudaMalloc((void**)&at, bytes);
        cudaMemcpy((void*)at, here, bytes, cudaMemcpyHostToDevice);
    }
    ~There() {
        if constexpr (!std::is_const_v<N>) cudaMemcpy(here, at, bytes, cudaMemcpyDeviceToHost);
        cudaFree((void*)at);
    }
};

static cudaError_t ended(cudaError_t error) {
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    return error == cudaSuccess ? cudaGetLastError() : error;
}

extern "C" int softmax(float* rows, float* out, float* temperatures, int count, int size) {
    const size_t whole = size_t(count) * size;
    There<float> there(rows, whole), result(out, whole), each(temperatures, count);
    std::vector<char> none(size_t(count) * (size / 8192 + 1) * 64);
    There<char> space(none.data(), none.size());
    return ended(OnlineSoftmax<float>(
        there.at, result.at, count, size, each.at, 1, space.at, none.size(), false));
}

static cudaError_t drawn(
    int kernel, float* rows, int draws, int size, int* k, float* p, int* out, bool* valid,
    int* row_of, uint64_t seed) {
#define ANY true, nullptr, seed, nullptr, 0
    auto untyped_k = (float*)k;  // as the engine passes it
    switch (kernel) {
        case 0: return SamplingFromProb(rows, out, valid, row_of, draws, size, ANY);
        case 1: return TopKSamplingFromProb(rows, out, valid, row_of, untyped_k, draws, 0, size, ANY);
        case 2: return TopPSamplingFromProb(rows, out, valid, row_of, p, draws, 0.f, size, ANY);
        case 3: return MinPSamplingFromProb(rows, p, out, valid, row_of, draws, 0, size, ANY);
        default: return TopKTopPSamplingFromProb(
            rows, k, p, out, valid, row_of, draws, 0, 0.f, size, ANY);
    }
}

// Draw tokens, each from the row with the given index, and return which took more than one number.
extern "C" int draw(
    int kernel, float* rows, int count, int size, int* k, float* p, int draws, int* row_of,
    const float* numbers, int* tokens, bool* rejected, uint64_t seed) {
    std::vector<int> taken(draws);
    cudaError_t error;
    {
        There<float> there(rows, size_t(count) * size), there_p(p, count);
        There<int> there_k(k, count), of(row_of, draws), out(tokens, draws), counted(taken.data(), draws);
        There<bool> valid(rejected, draws);
        There<const float> given(numbers, numbers ? draws : 0);
        const float* where = numbers ? given.at : nullptr;
        cudaMemcpyToSymbol(given_numbers, &where, sizeof where);
        cudaMemcpyToSymbol(numbers_taken, &counted.at, sizeof counted.at);
        error = ended(drawn(
            kernel, there.at, draws, size, there_k.at, there_p.at, out.at, valid.at, of.at, seed));
    }
    for (int at = 0; at < draws; at++) {
        if (!rejected[at]) tokens[at] = -1;  // so far, whether it is valid
        rejected[at] = taken[at] > 1;
    }
    return error;
}

template <int Vector> static void verify_by(
    int* tokens, int* path, int* accepted, int64_t* nodes, float* numbers, float* last,
    float* target, float* draft, int deepest, int count, int size, float single, float sum) {
    auto kernel = sglang::speculative_sampling::TreeSpeculativeSamplingTargetOnly<
        1024, SCAN_ALGO, REDUCE_ALGO, Vector, true, float, int, int64_t>;
    constexpr size_t shared = sizeof(SamplingTempStorage<1024, SCAN_ALGO, REDUCE_ALGO>);
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    kernel<<<1, 1024, shared>>>(
        tokens, path, accepted, nodes, nodes + count, nodes + 2 * count, nodes + 3 * count,
        numbers, last, target, draft, 1, deepest, count, size, single, sum);
}

extern "C" int verify(
    int* tokens, int* path, int* accepted, int64_t* nodes, float* numbers, float* last,
    float* target, float* draft, int deepest, int count, int size, float single, float sum) {
    There<int> there_tokens(tokens, count), there_path(path, count), there_accepted(accepted, 1);
    There<int64_t> there_nodes(nodes, 4 * count);
    There<float> there_numbers(numbers, count), there_last(last, 1);
    There<float> there_target(target, size_t(count) * size), there_draft(draft, size_t(count) * size);
    const auto by = size % 4 == 0 ? verify_by<4> : size % 2 == 0 ? verify_by<2> : verify_by<1>;
    by(there_tokens.at, there_path.at, there_accepted.at, there_nodes.at, there_numbers.at,
       there_last.at, there_target.at, there_draft.at, deepest, count, size, single, sum);
    return ended(cudaSuccess);
}
#else
namespace sglang::speculative_sampling {
alignas(64) uint8_t smem_sampling[1 << 12];
}

using namespace flashinfer::sampling;
#define BLOCKS(count) for (gridDim.x = count, blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
#define ONE 1, SCAN_ALGO, REDUCE_ALGO, 1, false, float, int
#define RANDOM size, nullptr, 0, nullptr, 0, 0, 0

extern "C" int softmax(float* rows, float* out, float* temperatures, int count, int size) {
    BLOCKS(count) OnlineSoftmaxFusedKernel<1, 1, float, false>(rows, out, temperatures, 1, size);
    return 0;
}

// Draw tokens, each from the row with the given index, and return which took more than one number.
extern "C" int draw(
    int kernel, float* rows, int, int size, int* k, float* p, int draws, int* row_of,
    const float* numbers, int* tokens, bool* rejected, uint64_t) {
    std::vector<char> flags(draws);
    const auto valid = (bool*)flags.data();
    given_numbers = numbers;
    BLOCKS(draws) {
        switch (kernel) {
            case 0: SamplingFromProbKernel<ONE>(rows, tokens, valid, row_of, RANDOM); break;
            case 1: TopKSamplingFromProbKernel<ONE>(rows, tokens, valid, row_of, k, 0, RANDOM); break;
            case 2: TopPSamplingFromProbKernel<ONE>(rows, tokens, valid, row_of, p, 0, RANDOM); break;
            case 3: MinPSamplingFromProbKernel<ONE>(rows, p, tokens, valid, row_of, 0, RANDOM); break;
            case 4: TopKTopPSamplingFromProbKernel<ONE>(
                rows, k, p, tokens, valid, row_of, 0, 0, RANDOM);
        }
        rejected[blockIdx.x] = numbers_taken > 1;
        if (!valid[blockIdx.x]) tokens[blockIdx.x] = -1;
    }
    return 0;
}

extern "C" int verify(
    int* tokens, int* path, int* accepted, int64_t* nodes, float* numbers, float* last,
    float* target, float* draft, int deepest, int count, int size, float single, float sum) {
    BLOCKS(1)
        sglang::speculative_sampling::TreeSpeculativeSamplingTargetOnly<
            1, SCAN_ALGO, REDUCE_ALGO, 1, false, float, int, int64_t>(
            tokens, path, accepted, nodes, nodes + count, nodes + 2 * count, nodes + 3 * count,
            numbers, last, target, draft, 1, deepest, count, size, single, sum);
    return 0;
}
#endif
