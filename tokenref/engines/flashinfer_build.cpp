// What CUDA kernels of FlashInfer and SGLang need on a CPU, and C functions that run them.
// `flashinfer_samplers` compiles this in front of, and behind, the kernels. Blocks have one thread,
// which the templates allow, so what threads do together is trivial. A block works on one row.
#ifdef TOKENREF_BEFORE
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
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
#else
namespace sglang::speculative_sampling {
alignas(64) uint8_t smem_sampling[1 << 12];
}

using namespace flashinfer::sampling;
#define BLOCKS(count) for (gridDim.x = count, blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
#define ONE 1, SCAN_ALGO, REDUCE_ALGO, 1, false, float, int
#define RANDOM size, nullptr, 0, nullptr, 0, 0, 0

extern "C" void softmax(float* rows, float* out, float* temperatures, int count, int size) {
    BLOCKS(count) OnlineSoftmaxFusedKernel<1, 1, float, false>(rows, out, temperatures, 1, size);
}

// Draw a token for each row, and return which rows took more than one number.
extern "C" void draw(
    int kernel, float* rows, int count, int size, int* k, float* p, const float* numbers,
    int* tokens, bool* rejected) {
    bool valid[count];
    given_numbers = numbers;
    BLOCKS(count) {
        switch (kernel) {
            case 0: SamplingFromProbKernel<ONE>(rows, tokens, valid, nullptr, RANDOM); break;
            case 1: TopKSamplingFromProbKernel<ONE>(rows, tokens, valid, nullptr, k, 0, RANDOM); break;
            case 2: TopPSamplingFromProbKernel<ONE>(rows, tokens, valid, nullptr, p, 0, RANDOM); break;
            case 3: MinPSamplingFromProbKernel<ONE>(rows, p, tokens, valid, nullptr, 0, RANDOM); break;
            case 4: TopKTopPSamplingFromProbKernel<ONE>(
                rows, k, p, tokens, valid, nullptr, 0, 0, RANDOM);
        }
        rejected[blockIdx.x] = numbers_taken > 1;
        if (!valid[blockIdx.x]) tokens[blockIdx.x] = -1;
    }
}

extern "C" void verify(
    int* tokens, int* path, int* accepted, int64_t* nodes, float* numbers, float* last,
    float* target, float* draft, int deepest, int count, int size, float single, float sum) {
    BLOCKS(1)
        sglang::speculative_sampling::TreeSpeculativeSamplingTargetOnly<
            1, SCAN_ALGO, REDUCE_ALGO, 1, false, float, int, int64_t>(
            tokens, path, accepted, nodes, nodes + count, nodes + 2 * count, nodes + 3 * count,
            numbers, last, target, draft, 1, deepest, count, size, single, sum);
}
#endif
