// An engine of kernels that tokenref can judge. Put your own kernel where it says YOUR CODE.
//
//     nvcc -std=c++17 -O2 -o engine kernel.cu             the kernel runs on the GPU
//     c++ -x c++ -std=c++17 -O2 -o engine kernel.cu       a loop on the CPU does the same
//
// tokenref writes one JSON message per line to standard input; each is answered by one line on
// standard output. Print anything else to std::cerr.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "json.hpp"
#include "sha256.hpp"

#ifdef __CUDACC__
#define ON_BOTH __host__ __device__
static void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    const std::string message = std::string("CUDA: ") + cudaGetErrorString(error);
    if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver || cudaDeviceSynchronize() == cudaSuccess)
        throw std::runtime_error(message);
    std::cerr << message << std::endl;  // a kernel has failed: this process cannot use the GPU any more,
    std::_Exit(1);                      // so tokenref starts another one for the next questions
}
#else
#define ON_BOTH
#endif

// ---- What a kernel is asked ----

enum class Op {
    softmax, logprobs, temperature, token_mask, top_k, top_p, min_p, typical, greedy, draw,
    repetition_penalty, frequency_penalty, presence_penalty, penalties, logit_bias, steps
};
ON_BOTH inline bool is_filter(Op op) { return op >= Op::top_k && op <= Op::typical; }
enum class Type { f64, f32, f16, bf16 };
enum class Status : std::int32_t { not_answered, right, invalid_row };

// The parameters of a row or a step. Those that its operation does not have have no effect.
struct Parameters {
    std::size_t vocab_size;  // the numbers from here on are padding: they are neither kept nor drawn nor counted
    std::int64_t k, least;
    double p, m, temperature;  // p is the mass of `typical`, too
    double repetition, frequency, presence;
    std::int64_t window, skipped;  // penalties see the last `window` tokens, without the first `skipped` ones
};

// A row of the batch, and its parameters.
struct Row : Parameters {
    std::size_t place;   // the row begins with number place * stride of the buffer
    std::size_t length;  // numbers of the row, with padding
    double uniform;      // the random number, unless the row has its `own`: those of a stream of a seed
    bool has_mask, draws, own;
    std::uint64_t seed, stream;
    std::size_t first_token, tokens, prompt_length;  // the history: tokens of them, the first ones are the prompt
    std::size_t first_bias, biases;
    std::size_t first_step, steps;
};

struct Bias {
    std::size_t token;
    double number;
};

// One step of a fused kernel. A penalty and a bias alone are questions with one step.
struct Step : Parameters {
    Op op;
};

// What the example below remembers about a number.
struct Scratch {
    std::uint64_t key;  // as large as the number; 0 for an impossible token
    double weight;
    double logit;            // what the steps so far left
    std::uint32_t occurred;  // how often in the part of the history that a penalty sees
};

// One call: the rows of a question in one buffer, and a place for each answer. The host and kernels can use all
// pointers. `numbers`, `out` and `kept` have `stride` entries for each row, at the same places.
struct Batch {
    Op op;
    Type type;           // of `numbers` and `out`: double, float, half or bfloat16, with the bits of the question
    bool probabilities;  // the rows are probabilities or weights, not logits
    std::size_t rows, stride, mask_words;
    std::size_t draws;    // the tokens to draw for each row: 1 or, by own numbers, more, as if called so often
    std::size_t longest;  // the number of tokens of the longest row
    const Row *row;
    const std::uint32_t *masks;  // mask_words for each row; token t has bit t % 32 of word t / 32, 1 if it is allowed
    const std::int32_t *history;  // those of row r begin at row[r].first_token, and so on
    const Bias *biases;
    const Step *steps;
    unsigned char *numbers;      // each call gets its own, so they may be overwritten
    unsigned char *out;          // softmax, logprobs, temperature, penalties, logit_bias, token_mask: the new numbers
    unsigned char *kept;         // top_k, top_p, min_p, typical, steps: 1 for the tokens that are kept, else 0
    std::int32_t *token;         // greedy, draw, steps with a draw: the tokens, `draws` for each row
    Status *status;              // one for each row
    Scratch *scratch;            // `longest` entries for each row, in the order of `row`
};

// Drafts to be judged (speculative), or one draft of which only the residual is asked.
struct Drafts {
    Type type;  // of `draft`, `target` and `out`
    bool residual;
    std::size_t drafts, vocab_size;
    const unsigned char *draft, *target;  // weights: a row of each draft; as many of the target and, unless `residual`, one more
    const std::int32_t *drafted;          // the tokens
    const double *uniforms;               // one for each draft, and one for the token at the end
    std::int32_t *token;                  // write the accepted drafts and one more token here,
    std::int32_t *accepted;               // the number of accepted drafts here,
    unsigned char *out;                   // the residual as probabilities here,
    Status *status;                       // and the status here
    Scratch *scratch;                     // `vocab_size` entries
};

// ---- Numbers as bits. The protocol below needs these functions, too. ----

ON_BOTH inline std::uint64_t get_bits(const unsigned char *numbers, Type type, std::size_t at) {
    std::uint64_t wide;
    std::uint32_t single;
    std::uint16_t half;
    if (type == Type::f64) return std::memcpy(&wide, numbers + 8 * at, 8), wide;
    if (type == Type::f32) return std::memcpy(&single, numbers + 4 * at, 4), single;
    return std::memcpy(&half, numbers + 2 * at, 2), half;
}

ON_BOTH inline void put_bits(unsigned char *numbers, Type type, std::size_t at, std::uint64_t bits) {
    const std::uint32_t single = static_cast<std::uint32_t>(bits);
    const std::uint16_t half = static_cast<std::uint16_t>(bits);
    if (type == Type::f64) std::memcpy(numbers + 8 * at, &bits, 8);
    else if (type == Type::f32) std::memcpy(numbers + 4 * at, &single, 4);
    else std::memcpy(numbers + 2 * at, &half, 2);
}

ON_BOTH inline double from_bits(Type type, std::uint64_t bits) {
    if (type == Type::f16) {
        const int exponent = bits >> 10 & 0x1f;
        const double fraction = static_cast<double>(bits & 0x3ff);
        double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
        if (exponent == 0x1f) size = fraction > 0 ? NAN : INFINITY;
        return bits & 0x8000 ? -size : size;
    }
    if (type == Type::f64) {
        double wide;
        std::memcpy(&wide, &bits, sizeof wide);
        return wide;
    }
    const std::uint32_t upper = static_cast<std::uint32_t>(type == Type::bf16 ? bits << 16 : bits);
    float narrow;
    std::memcpy(&narrow, &upper, sizeof narrow);
    return narrow;
}

// Returns the bits of the nearest number of the type.
ON_BOTH inline std::uint64_t to_bits(Type type, double number) {
    std::uint64_t bits = 0;
    if (type == Type::f64) return std::memcpy(&bits, &number, 8), bits;
    if (type == Type::f32) {
        const float narrow = static_cast<float>(number);
        return std::memcpy(&bits, &narrow, 4), bits;
    }
    const int digits = type == Type::f16 ? 11 : 8, lowest = type == Type::f16 ? -14 : -126;
    const std::uint64_t infinity = type == Type::f16 ? 0x7c00 : 0x7f80, sign = std::signbit(number) ? 0x8000 : 0;
    const double size = std::fabs(number);
    if (std::isnan(number)) return infinity + 1;
    if (std::isinf(number)) return sign | infinity;
    int exponent = size > 0 ? std::ilogb(size) : lowest;
    if (exponent < lowest) exponent = lowest;
    bits = static_cast<std::uint64_t>(std::rint(std::ldexp(size, digits - 1 - exponent)));  // units of the last place
    bits += static_cast<std::uint64_t>(exponent - lowest) << (digits - 1);
    return sign | (bits < infinity ? bits : infinity);
}

// ---- YOUR CODE: launch your kernels here. `launch` reads the batch, and writes the answer and the status of each row,
// ---- and `judge` does it for drafts. Your own generator belongs into `own_number`.

ON_BOTH void answer_row(const Batch &batch, std::size_t r);  // the examples
ON_BOTH void answer_drafts(const Drafts &drafts);

ON_BOTH inline std::uint64_t mixed(std::uint64_t word) {  // SplitMix64
    word += 0x9e3779b97f4a7c15u;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

// Returns random number `at` of a stream, from 0 to below 1.
ON_BOTH inline double own_number(std::uint64_t seed, std::uint64_t stream, std::uint64_t at) {
    return std::ldexp(static_cast<double>(mixed(mixed(mixed(seed) + stream) + at) >> 11), -53);
}

#ifdef __CUDACC__
static __global__ void example_kernel(Batch batch) {
    const std::size_t r = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
    if (r < batch.rows) answer_row(batch, r);
}

static void launch(const Batch &batch) {
    example_kernel<<<static_cast<unsigned>((batch.rows + 31) / 32), 32>>>(batch);
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
}

static __global__ void example_of_drafts(Drafts drafts) { answer_drafts(drafts); }

static void judge(const Drafts &drafts) {
    example_of_drafts<<<1, 1>>>(drafts);
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
}
#else
static void launch(const Batch &batch) {
    for (std::size_t r = 0; r < batch.rows; r++) answer_row(batch, r);
}

static void judge(const Drafts &drafts) { answer_drafts(drafts); }
#endif

// ---- An example: one thread answers a row. Your own kernel needs only `number_at` and `write_out` of it. ----

// Returns the count of the tokens whose key is at least `key`, or the sum of their weights.
ON_BOTH inline double sum_from(const Scratch *row, std::size_t n, std::uint64_t key, bool weights) {
    double sum = 0;
    for (std::size_t t = 0; t < n; t++)
        if (row[t].key >= key) sum += weights ? row[t].weight : 1;
    return sum;
}

// Keeps the first tokens, by falling number and then by rising id, until their count or weight is `enough`.
ON_BOTH inline void keep_first(const Scratch *row, std::size_t n, double enough, bool weights, unsigned char *kept) {
    std::uint64_t low = 1, high = ~std::uint64_t{0};  // find the largest key with enough tokens from it on
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2 + 1;
        if (sum_from(row, n, middle, weights) >= enough) low = middle;
        else high = middle - 1;
    }
    double sum = low == ~std::uint64_t{0} ? 0 : sum_from(row, n, low + 1, weights);
    for (std::size_t t = 0; t < n; t++) {
        if (row[t].key < low || (row[t].key == low && sum >= enough)) continue;
        if (row[t].key == low) sum += weights ? row[t].weight : 1;
        kept[t] = 1;
    }
}

ON_BOTH double number_at(const Batch &batch, std::size_t at) { return from_bits(batch.type, get_bits(batch.numbers, batch.type, at)); }
ON_BOTH void write_out(const Batch &batch, std::size_t at, double number) { put_bits(batch.out, batch.type, at, to_bits(batch.type, number)); }

// Masks a row, and returns whether a token is left.
ON_BOTH inline bool apply_mask(const Batch &batch, std::size_t r, std::size_t start) {
    const Row &row = batch.row[r];
    const std::uint32_t *mask = batch.masks + r * batch.mask_words;
    bool any = false;
    for (std::size_t t = 0; t < row.length; t++) {
        const bool allowed = t < row.vocab_size && (!row.has_mask || (mask[t / 32] >> t % 32 & 1));
        const double logit = allowed ? number_at(batch, start + t) : -INFINITY;
        write_out(batch, start + t, logit);
        any = any || logit > -INFINITY;
    }
    return any;
}

ON_BOTH inline std::uint64_t key_of(double number) {
    const std::uint64_t bits = to_bits(Type::f64, number + 0.0), sign = std::uint64_t{1} << 63;  // -0 becomes 0
    return bits & sign ? ~bits : bits | sign;
}

// Keeps the tokens that a filter keeps. `best` is the largest weight, and `total` their sum.
ON_BOTH inline void keep_tokens(Op op, const Parameters &asked, Scratch *row, std::size_t n, double best, double total, unsigned char *kept) {
    for (std::size_t t = 0; t < n; t++) kept[t] = op == Op::min_p && row[t].key > 0 && row[t].weight >= asked.m * best;
    if (op == Op::typical) {  // the nearer a logit is to the mean, the nearer is its surprise to the entropy
        double mean = 0;
        for (std::size_t t = 0; t < n; t++) mean += row[t].key > 0 ? row[t].weight / total * row[t].logit : 0;
        for (std::size_t t = 0; t < n; t++) row[t].key = row[t].key > 0 ? key_of(-std::fabs(row[t].logit - mean)) : 0;
    }
    if (op == Op::top_k) keep_first(row, n, static_cast<double>(asked.k), false, kept);
    if (op == Op::top_p || op == Op::typical) keep_first(row, n, asked.p < 1 ? asked.p * total : INFINITY, true, kept);
    if (op == Op::typical) {  // equals of the last one stay, too
        std::uint64_t last = ~std::uint64_t{0};
        for (std::size_t t = 0; t < n; t++) last = kept[t] && row[t].key < last ? row[t].key : last;
        for (std::size_t t = 0; t < n; t++) kept[t] = row[t].key >= last;
    }
    keep_first(row, n, static_cast<double>(asked.least), false, kept);
}

// Replaces the weights by their running sums, and returns the last one.
ON_BOTH inline double add_up(Scratch *row, std::size_t n) {
    for (std::size_t t = 1; t < n; t++) row[t].weight += row[t - 1].weight;
    return row[n - 1].weight;
}

// Returns the first token whose running sum of weights is more than the number's share of the total.
ON_BOTH inline std::int32_t draw_token(const Scratch *row, std::size_t n, double uniform) {
    const double total = row[n - 1].weight;
    const double share = uniform * total, rest = std::fma(uniform, total, -share);  // what the product's rounding left
    std::size_t low = 0, high = n - 1;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (row[middle].weight > share || (row[middle].weight == share && rest < 0)) high = middle;
        else low = middle + 1;
    }
    return static_cast<std::int32_t>(low);
}

ON_BOTH inline void draw_tokens(const Batch &batch, std::size_t r, Scratch *scratch, std::size_t n) {
    const Row &row = batch.row[r];
    add_up(scratch, n);
    for (std::size_t at = 0; at < batch.draws; at++)
        batch.token[r * batch.draws + at] = draw_token(scratch, n, row.own ? own_number(row.seed, row.stream, at) : row.uniform);
}

// ---- A fused kernel: each step changes the logits that the step before left. -inf is a token that is gone. ----

// Sets keys and weights of the tokens that are left, and returns the sum of the weights; 0 if there are none.
ON_BOTH inline double weigh(Scratch *row, std::size_t n) {
    double best = -INFINITY, total = 0;
    for (std::size_t t = 0; t < n; t++) best = row[t].logit > best ? row[t].logit : best;
    for (std::size_t t = 0; t < n; t++) {
        const bool left = row[t].logit > -INFINITY;
        row[t].key = left ? key_of(row[t].logit) : 0;
        row[t].weight = left ? std::exp(row[t].logit - best) : 0;
        total += row[t].weight;
    }
    return total;
}

// Applies a filter. `kept` serves as scratch.
ON_BOTH inline void filter(const Step &step, Scratch *row, std::size_t n, unsigned char *kept) {
    keep_tokens(step.op, step, row, n, 1, weigh(row, n), kept);
    for (std::size_t t = 0; t < n; t++)
        if (!kept[t]) row[t].logit = -INFINITY;
}

// Counts the tokens that a penalty sees: those behind the prompt or, where repetitions count, all.
ON_BOTH inline void count_history(const Batch &batch, const Row &asked, const Step &step, Scratch *row) {
    const bool all = step.op == Op::repetition_penalty || step.op == Op::penalties;
    std::size_t first = all ? static_cast<std::size_t>(step.skipped) : asked.prompt_length;
    if (asked.tokens > static_cast<std::size_t>(step.window)) {
        const std::size_t last = asked.tokens - static_cast<std::size_t>(step.window);
        first = first < last ? last : first;
    }
    for (std::size_t t = 0; t < asked.vocab_size; t++) row[t].occurred = 0;
    for (std::size_t at = first; at < asked.tokens; at++) row[batch.history[asked.first_token + at]].occurred++;
}

ON_BOTH inline void apply_step(const Batch &batch, std::size_t r, const Step &step, Scratch *row, unsigned char *kept) {
    const Row &asked = batch.row[r];
    const std::uint32_t *mask = batch.masks + r * batch.mask_words;
    const bool is_penalty = step.op >= Op::repetition_penalty && step.op <= Op::penalties;
    if (is_filter(step.op)) filter(step, row, asked.vocab_size, kept);
    if (is_penalty) count_history(batch, asked, step, row);
    if (step.op == Op::logit_bias)
        for (std::size_t b = asked.first_bias; b < asked.first_bias + asked.biases; b++) row[batch.biases[b].token].logit += batch.biases[b].number;
    for (std::size_t t = 0; t < asked.vocab_size; t++) {
        double &logit = row[t].logit;
        if (step.op == Op::temperature) logit /= step.temperature;
        if (is_penalty && row[t].occurred) {
            logit = logit < 0 ? logit * step.repetition : logit / step.repetition;
            logit -= step.frequency * row[t].occurred + step.presence;
        }
        if (step.op == Op::token_mask && (t >= step.vocab_size || (asked.has_mask && !(mask[t / 32] >> t % 32 & 1)))) logit = -INFINITY;
    }
}

ON_BOTH inline void answer_steps(const Batch &batch, std::size_t r) {
    const Row &row = batch.row[r];
    const std::size_t start = row.place * batch.stride, n = row.vocab_size;
    Scratch *scratch = batch.scratch + r * batch.longest;
    batch.status[r] = Status::invalid_row;
    if (n == 0) return;
    for (std::size_t t = 0; t < n; t++) {
        scratch[t].logit = number_at(batch, start + t);
        if (!(scratch[t].logit < INFINITY)) return;
    }
    for (std::size_t s = row.first_step; s < row.first_step + row.steps; s++) {
        apply_step(batch, r, batch.steps[s], scratch, batch.kept + start);
        if (batch.op == Op::steps && weigh(scratch, n) == 0) return;
    }
    for (std::size_t t = 0; t < n; t++) {
        batch.kept[start + t] = scratch[t].logit > -INFINITY;
        if (batch.op != Op::steps) write_out(batch, start + t, scratch[t].logit);
    }
    if (weigh(scratch, n) == 0 && batch.op == Op::steps) return;
    if (row.draws) draw_tokens(batch, r, scratch, n);
    batch.status[r] = Status::right;
}

ON_BOTH void answer_row(const Batch &batch, std::size_t r) {
    if (batch.op >= Op::repetition_penalty) return answer_steps(batch, r);
    const Row &row = batch.row[r];
    const std::size_t start = row.place * batch.stride, n = row.vocab_size;
    const double lowest = batch.probabilities ? 0 : -INFINITY;
    double best = lowest;
    std::size_t best_token = 0;
    batch.status[r] = Status::invalid_row;
    for (std::size_t t = 0; t < (batch.op == Op::token_mask ? row.length : n); t++) {
        const double number = number_at(batch, start + t);
        if (!(number >= lowest && number < INFINITY)) return;
        if (number > best) best = number, best_token = t;
    }
    if (n == 0 || (best == lowest && batch.op != Op::temperature)) return;

    Scratch *scratch = batch.scratch + r * batch.longest;
    double total = 0;
    for (std::size_t t = 0; t < n; t++) {
        const double number = number_at(batch, start + t);
        scratch[t].key = number == lowest ? 0 : key_of(number);
        scratch[t].weight = batch.probabilities ? number : std::exp(number - best);
        scratch[t].logit = batch.op == Op::typical && batch.probabilities ? std::log2(number) : number;
        total += scratch[t].weight;
    }
    for (std::size_t t = 0; t < n; t++) {
        if (batch.op == Op::softmax) write_out(batch, start + t, scratch[t].weight / total);
        if (batch.op == Op::logprobs) write_out(batch, start + t, number_at(batch, start + t) - best - std::log(total));
        if (batch.op == Op::temperature) write_out(batch, start + t, number_at(batch, start + t) / row.temperature);
    }
    if (is_filter(batch.op)) keep_tokens(batch.op, row, scratch, n, batch.probabilities ? best : 1, total, batch.kept + start);
    if (batch.op == Op::greedy) batch.token[r] = static_cast<std::int32_t>(best_token);
    if (batch.op == Op::draw) draw_tokens(batch, r, scratch, n);
    if (batch.op == Op::token_mask && !apply_mask(batch, r, start)) return;
    batch.status[r] = Status::right;
}

// ---- Drafts ----

ON_BOTH inline double weight_at(const Drafts &asked, const unsigned char *rows, std::size_t place, std::size_t t) {
    return from_bits(asked.type, get_bits(rows, asked.type, place * asked.vocab_size + t));
}

// Returns the sum of a row of weights; NaN if one is not allowed.
ON_BOTH inline double sum_of(const Drafts &asked, const unsigned char *rows, std::size_t place) {
    double sum = 0;
    for (std::size_t t = 0; t < asked.vocab_size; t++) {
        const double weight = weight_at(asked, rows, place, t);
        sum += weight >= 0 && weight < INFINITY ? weight : NAN;
    }
    return sum;
}

ON_BOTH void answer_drafts(const Drafts &asked) {
    const std::size_t drafts = asked.drafts, n = asked.vocab_size;
    *asked.status = Status::invalid_row;
    for (std::size_t at = 0; at < drafts; at++)
        if (!(sum_of(asked, asked.draft, at) > 0)) return;
    for (std::size_t at = 0; at < drafts + !asked.residual; at++)
        if (!(sum_of(asked, asked.target, at) > 0)) return;
    std::size_t at = 0;
    double target = sum_of(asked, asked.target, 0), draft = 1;
    for (; at < drafts; target = sum_of(asked, asked.target, ++at)) {  // accepted if u < p / q
        draft = sum_of(asked, asked.draft, at);
        if (asked.residual) break;
        const std::size_t token = static_cast<std::size_t>(asked.drafted[at]);
        if (!(asked.uniforms[at] * weight_at(asked, asked.draft, at, token) * target < weight_at(asked, asked.target, at, token) * draft)) break;
        asked.token[at] = asked.drafted[at];
    }
    for (std::size_t t = 0; t < n; t++) {  // what is left of the target, or all of it if each draft was accepted
        const double whole = weight_at(asked, asked.target, at, t);
        const double left = at == drafts ? whole : whole * draft - weight_at(asked, asked.draft, at, t) * target;
        asked.scratch[t].logit = asked.scratch[t].weight = left > 0 ? left : 0;
    }
    const double total = add_up(asked.scratch, n);
    if (!(total > 0)) return;
    for (std::size_t t = 0; asked.residual && t < n; t++) put_bits(asked.out, asked.type, t, to_bits(asked.type, asked.scratch[t].logit / total));
    if (!asked.residual) asked.token[at] = draw_token(asked.scratch, n, asked.uniforms[drafts]);
    *asked.accepted = static_cast<std::int32_t>(at);
    *asked.status = Status::right;
}

// ---- What follows fills the batch and speaks the protocol. It rarely needs a change. ----

// Whether the kernel's random numbers have 32 bits. Then questions are skipped whose number needs 64: rounded, it may
// draw another token, or be 1.
constexpr bool DRAWS_IN_32_BITS = false;

// Whether the kernel has rows of 64 bits. If not, questions about them are skipped.
constexpr bool HAS_F64 = true;

using Object = std::map<std::string, Json>;
using List = std::vector<Json>;

static const std::map<std::string, Op> OPS = {
    {"softmax", Op::softmax}, {"logprobs", Op::logprobs}, {"temperature", Op::temperature},
    {"token_mask", Op::token_mask}, {"top_k", Op::top_k}, {"top_p", Op::top_p},
    {"min_p", Op::min_p}, {"typical", Op::typical}, {"greedy", Op::greedy}, {"draw", Op::draw},
    {"repetition_penalty", Op::repetition_penalty}, {"frequency_penalty", Op::frequency_penalty},
    {"presence_penalty", Op::presence_penalty}, {"penalties", Op::penalties}, {"logit_bias", Op::logit_bias},
    {"steps", Op::steps},
};
static bool is_step(Op op) { return op != Op::softmax && op != Op::logprobs && op != Op::greedy && op != Op::draw && op != Op::steps; }
static const std::map<std::string, Type> TYPES = {{"f64", Type::f64}, {"f32", Type::f32}, {"f16", Type::f16}, {"bf16", Type::bf16}};

// The question has no answer: a code from fixtures/README.md, and a message.
struct Refused {
    std::string code, message;
};

// This engine cannot be asked that.
struct Skipped {
    std::string reason;
};

// Memory that the host and kernels can use.
template <class T>
struct Shared {
    using value_type = T;
    Shared() = default;
    template <class U>
    Shared(const Shared<U> &) {}
    T *allocate(std::size_t count) {
#ifdef __CUDACC__
        void *memory = nullptr;
        check(cudaMallocManaged(&memory, count * sizeof(T)));
        return static_cast<T *>(memory);
#else
        return static_cast<T *>(::operator new(count * sizeof(T)));
#endif
    }
    void deallocate(T *memory, std::size_t) {
#ifdef __CUDACC__
        cudaFree(memory);
#else
        ::operator delete(memory);
#endif
    }
    bool operator==(const Shared &) const { return true; }
    bool operator!=(const Shared &) const { return false; }
};

template <class T>
using Array = std::vector<T, Shared<T>>;

static std::size_t bytes_of(Type type) { return type == Type::f64 ? 8 : type == Type::f32 ? 4 : 2; }

// The numbers of a question's row.
struct Numbers {
    Type type;
    std::vector<std::uint64_t> bits;
};

static Numbers from_digits(Type type, const std::string &digits) {
    const std::size_t width = 2 * bytes_of(type);
    Numbers numbers{type, {}};
    for (std::size_t at = 0; at < digits.size(); at += width) numbers.bits.push_back(std::stoull(digits.substr(at, width), nullptr, 16));
    return numbers;
}

// Returns numbers as big-endian hexadecimal digits.
static std::string to_digits(Type type, const unsigned char *numbers, std::size_t start, std::size_t count) {
    std::string digits;
    for (std::size_t t = 0; t < count; t++)
        for (std::size_t shift = 8 * bytes_of(type); shift > 0; shift -= 4)
            digits += "0123456789abcdef"[get_bits(numbers, type, start + t) >> (shift - 4) & 15];
    return digits;
}

static Json numbers_of(Type type, const unsigned char *numbers, std::size_t start, std::size_t count) {
    for (const auto &[spelled, each] : TYPES)
        if (each == type) return Object{{spelled, to_digits(type, numbers, start, count)}};
    throw std::logic_error("no such type");
}

// Returns the numbers of a row: hexadecimal digits, or a recipe for them.
static Numbers read_numbers(const Json &given) {
    if (!given.has("gen")) {
        const auto &[type, digits] = *given.members.begin();
        return from_digits(TYPES.at(type), digits.as(Json::string, "digits").text);
    }
    Numbers numbers{TYPES.at(given.get("dtype", Json::string).text), {}};
    std::uint64_t state = std::stoull(given.get("seed", Json::string).text, nullptr, 16) - 0x9e3779b97f4a7c15u;
    const std::uint64_t span = static_cast<std::uint64_t>(given.get("span", Json::integer).number);
    const int step = numbers.type == Type::f16 ? -7 : numbers.type == Type::bf16 ? -4 : -20;
    for (std::int64_t left = given.get("n", Json::integer).number; left > 0; left--) {
        const std::uint64_t word = mixed(state += 0x9e3779b97f4a7c15u);
        numbers.bits.push_back(to_bits(numbers.type, std::ldexp(static_cast<double>(word % span), step)));
    }
    if (given.has("put"))
        for (const Json &one : given.get("put", Json::list).entries)
            numbers.bits.at(static_cast<std::size_t>(one.entries.at(0).number)) = std::stoull(one.entries.at(1).text, nullptr, 16);
    std::string bytes;
    for (std::uint64_t bits : numbers.bits)
        for (std::size_t shift = 8 * bytes_of(numbers.type); shift > 0; shift -= 8) bytes += static_cast<char>(bits >> (shift - 8));
    if (sha256(bytes) != given.get("sha256", Json::string).text) throw std::runtime_error("a row made from its recipe has the wrong digest");
    return numbers;
}

[[noreturn]] static void refuse(const std::string &name, const std::string &rule) {
    throw Refused{"INVALID_PARAMETER", name + " must be " + rule};
}

// Returns a parameter that is a whole number of at least `lowest`. One without a default must be there.
static std::int64_t whole(const Object &params, const std::string &name, std::int64_t lowest, std::int64_t otherwise = -1) {
    const auto found = params.find(name);
    if (found == params.end() && otherwise >= 0) return otherwise;
    if (found == params.end() || found->second.kind != Json::integer || found->second.number < lowest)
        refuse(name, "a whole number from " + std::to_string(lowest));
    return found->second.number;
}

// Returns a parameter that is a number; NaN if it is not there or is something else.
static double real(const Object &params, const std::string &name) {
    const auto found = params.find(name);
    if (found == params.end()) return NAN;
    if (found->second.kind == Json::integer) return static_cast<double>(found->second.number);
    if (found->second.kind != Json::object || found->second.has("map")) return NAN;
    const Numbers numbers = read_numbers(found->second);
    return from_bits(numbers.type, numbers.bits.at(0));
}

static const Object &params_of(const Json &question, const std::vector<std::string> &names) {
    static const Object none;
    if (!question.has("params")) return none;
    for (const auto &param : question.members.at("params").members) {
        bool known = false;
        for (const std::string &name : names) known = known || name == param.first;
        if (!known) throw Skipped{"has no parameter " + param.first};
    }
    return question.members.at("params").members;
}

// Returns the entries of `words` or `booleans`: a list, or a map in which all other places are 0 or false.
static std::vector<Json> mask_entries(const Json &given, const std::string &name, std::size_t needed, std::size_t most) {
    if (given.kind == Json::list) {
        if (given.entries.size() < needed || given.entries.size() > most) refuse("the length of " + name, "that of the row");
        return given.entries;
    }
    Json nothing = std::int64_t{0};
    if (name == "booleans") nothing.kind = Json::boolean;
    List entries(most, nothing);
    for (const Json &pair : given.get("map", Json::list).entries) {
        const Json &place = pair.entries.at(0);
        if (place.kind != Json::integer || place.number < 0 || place.number >= static_cast<std::int64_t>(most)) refuse("a place of " + name, "in the row");
        entries[static_cast<std::size_t>(place.number)] = pair.entries.at(1);
    }
    return entries;
}

// Reads a row's mask into words with the lowest bit first. Bits beyond the vocabulary stay as they are.
static std::vector<std::uint32_t> read_mask(const Json &question, Row &row) {
    const Object &params = params_of(question, {"words", "booleans", "tokens", "bits", "vocab_size"});
    if (params.count("vocab_size")) row.vocab_size = static_cast<std::size_t>(whole(params, "vocab_size", 1));
    if (row.vocab_size > row.length) refuse("vocab_size", "at most the length of the row");
    const auto order = params.find("bits");
    const bool high_first = order != params.end() && order->second.text == "high first";
    if (order != params.end() && !high_first && order->second.text != "low first") refuse("bits", "low first or high first");
    std::vector<std::uint32_t> mask((row.length + 31) / 32);
    for (const char *name : {"words", "booleans", "tokens"}) {
        const auto given = params.find(name);
        if (given == params.end() || given->second.kind == Json::null) continue;
        if (row.has_mask) refuse(name, "the only mask");
        row.has_mask = true;
        if (std::string(name) == "tokens") {
            for (const Json &token : given->second.as(Json::list, name).entries) {
                if (token.kind != Json::integer || token.number < 0 || token.number >= static_cast<std::int64_t>(row.vocab_size))
                    throw Refused{"INVALID_HISTORY", "a token of the mask is not in the vocabulary"};
                mask[static_cast<std::size_t>(token.number) / 32] |= 1u << token.number % 32;
            }
            continue;
        }
        const bool words = std::string(name) == "words";
        const std::size_t each = words ? 32 : 1;
        const List entries = mask_entries(given->second, name, (row.vocab_size + each - 1) / each, (row.length + each - 1) / each);
        for (std::size_t at = 0; at < entries.size(); at++) {
            if (!words && entries[at].kind != Json::boolean) refuse(name, "true or false");
            if (!words && entries[at].truth) mask[at / 32] |= 1u << at % 32;
            if (!words) continue;
            if (entries[at].kind != Json::integer || entries[at].number < 0 || entries[at].number > 0xffffffff) refuse(name, "words of 32 bits");
            const std::uint32_t word = static_cast<std::uint32_t>(entries[at].number);
            for (int bit = 0; bit < 32; bit++) mask[at] |= (word >> (high_first ? 31 - bit : bit) & 1) << bit;
        }
    }
    return mask;
}

static double uniform_of(double number) {
    if (!(number >= 0 && number < 1)) throw Refused{"INVALID_UNIFORM", "there must be one number in [0, 1) for each draw"};
    if (DRAWS_IN_32_BITS && static_cast<double>(static_cast<float>(number)) != number) throw Skipped{"has random numbers of 32 bits"};
    return number;
}

static void read_uniform(const Json &given, Row &row) {
    const Numbers uniforms = read_numbers(given);
    row.uniform = uniform_of(uniforms.bits.size() == 1 ? from_bits(uniforms.type, uniforms.bits[0]) : NAN);
}

static void read_parameters(Op op, const Json &question, Row &row) {
    row.k = row.least = row.skipped = 0;
    row.p = row.m = row.temperature = 0;
    if (op == Op::top_k) {
        const Object &params = params_of(question, {"k", "least"});
        row.k = whole(params, "k", 1);
        row.least = whole(params, "least", 1, 1);
    } else if (op == Op::top_p) {
        const Object &params = params_of(question, {"p", "least"});
        row.p = real(params, "p");
        row.least = whole(params, "least", 0, 1);
        if (!(row.p > 0 && row.p <= 1)) refuse("p", "a number in (0, 1]");
    } else if (op == Op::typical) {
        const Object &params = params_of(question, {"mass", "least"});
        row.p = real(params, "mass");
        row.least = whole(params, "least", 0, 1);
        if (!(row.p > 0 && row.p <= 1)) refuse("mass", "a number in (0, 1]");
    } else if (op == Op::min_p) {
        const Object &params = params_of(question, {"m", "least"});
        row.m = real(params, "m");
        row.least = whole(params, "least", 0, 1);
        if (!(row.m >= 0 && row.m <= 1)) refuse("m", "a number in [0, 1]");
    } else if (op == Op::temperature) {
        row.temperature = real(params_of(question, {"temperature"}), "temperature");
        if (!(row.temperature > 0 && row.temperature < INFINITY)) refuse("temperature", "a number above 0");
    } else if (op >= Op::repetition_penalty && op <= Op::penalties) {
        std::vector<std::string> names = {"window", "penalty"};
        if (op == Op::repetition_penalty) names.push_back("skipped");
        if (op == Op::penalties) names = {"window", "repetition", "frequency", "presence"};
        const Object &params = params_of(question, names);
        const auto number = [&](Op alone, const char *name, double otherwise) {
            return op == alone ? real(params, "penalty") : params.count(name) ? real(params, name) : otherwise;
        };
        row.repetition = number(Op::repetition_penalty, "repetition", 1);
        row.frequency = number(Op::frequency_penalty, "frequency", 0);
        row.presence = number(Op::presence_penalty, "presence", 0);
        const bool finite = std::isfinite(row.repetition) && std::isfinite(row.frequency) && std::isfinite(row.presence);
        if (!finite || row.repetition <= 0) refuse("a penalty", "a number, and above 0 for repetitions");
        const std::int64_t every = std::numeric_limits<std::int64_t>::max();
        const bool unlimited = params.count("window") && params.at("window").kind == Json::null;
        row.window = unlimited ? every : whole(params, "window", 0, op == Op::penalties ? 64 : every);
        row.skipped = whole(params, "skipped", 0, 0);
    } else if (op == Op::draw) {
        if (question.has("count") || question.has("order")) throw Skipped{"cannot draw several tokens, or in an order of its own"};
        read_uniform(question.get("uniforms", Json::object), row);
    }
}

// Reads the history, and returns its tokens.
static std::vector<std::int32_t> read_history(const Json &question, Row &row) {
    std::vector<std::int32_t> history;
    if (!question.has("history")) return history;
    for (const Json &token : question.get("history", Json::list).entries) {
        if (token.kind != Json::integer || token.number < 0 || token.number >= static_cast<std::int64_t>(row.vocab_size))
            throw Refused{"INVALID_HISTORY", "a token of the history is not in the vocabulary"};
        history.push_back(static_cast<std::int32_t>(token.number));
    }
    const std::int64_t prompt_length = question.has("prompt_length") ? question.get("prompt_length", Json::integer).number : 0;
    if (prompt_length < 0 || prompt_length > static_cast<std::int64_t>(history.size()))
        refuse("prompt_length", "at most the length of the history");
    row.tokens = history.size();
    row.prompt_length = static_cast<std::size_t>(prompt_length);
    return history;
}

static std::vector<Bias> read_biases(const Json &question, const Row &row) {
    std::vector<Bias> biases;
    const Object &params = params_of(question, {"biases"});
    if (!params.count("biases")) refuse("biases", "a map");
    for (const Json &pair : params.at("biases").get("map", Json::list).entries) {
        const Json &token = pair.entries.at(0);
        const double number = real({{"bias", pair.entries.at(1)}}, "bias");
        if (token.kind != Json::integer || token.number < 0 || token.number >= static_cast<std::int64_t>(row.vocab_size)) refuse("a token of biases", "in the vocabulary");
        if (!(number < INFINITY)) refuse("a bias", "a number below infinity");
        biases.push_back({static_cast<std::size_t>(token.number), number});
    }
    return biases;
}

// A batch, and the memory that it points to. A copy has its own.
struct Call {
    Batch batch;
    Array<Row> rows;
    Array<std::uint32_t> masks;
    Array<std::int32_t> history;
    Array<Bias> biases;
    Array<Step> steps;
    Array<unsigned char> numbers, out, kept;
    Array<std::int32_t> tokens;
    Array<Status> statuses;
    Array<Scratch> scratch;
    std::size_t vocab_size;  // of the batch; 0 if it has none

    void answer() {
        batch.row = rows.data();
        batch.masks = masks.data();
        batch.history = history.data();
        batch.biases = biases.data();
        batch.steps = steps.data();
        batch.numbers = numbers.data();
        batch.out = out.data();
        batch.kept = kept.data();
        batch.token = tokens.data();
        batch.status = statuses.data();
        batch.scratch = scratch.data();
        launch(batch);
    }
};

static std::string which(std::size_t r, std::size_t rows) { return rows == 1 ? "" : "row " + std::to_string(r) + ": "; }

// Adds what the steps of a row need to the call, and returns the mask.
static std::vector<std::uint32_t> read_steps(Op op, const Json &question, Row &row, Call &call) {
    std::vector<std::uint32_t> mask;
    row.first_token = call.history.size();
    row.first_bias = call.biases.size();
    row.first_step = call.steps.size();
    for (std::int32_t token : read_history(question, row)) call.history.push_back(token);
    const List alone = {question};
    const List &steps = op == Op::steps ? question.get("steps", Json::list).entries : alone;
    std::size_t masks = 0;
    for (const Json &given : steps) {
        const auto found = op == Op::steps ? OPS.find(given.get("step", Json::string).text) : OPS.end();
        if (op == Op::steps && (found == OPS.end() || !is_step(found->second))) throw Skipped{"has no step " + given.get("step", Json::string).text};
        const Op of_step = op == Op::steps ? found->second : op;
        Row read = row;
        read_parameters(of_step, given, read);
        if (of_step == Op::token_mask) {
            if (++masks > 1) throw Skipped{"has one mask for each row"};
            mask = read_mask(given, read);
            row.has_mask = read.has_mask;
        }
        if (of_step == Op::logit_bias) {
            if (row.biases) throw Skipped{"has one list of biases for each row"};
            for (const Bias &bias : read_biases(given, row)) call.biases.push_back(bias);
            row.biases = call.biases.size() - row.first_bias;
        }
        call.steps.push_back({read, of_step});
    }
    row.steps = call.steps.size() - row.first_step;
    row.draws = question.has("draw");
    if (row.draws) read_uniform(question.get("draw", Json::object), row);
    return mask;
}

// Puts the rows of a question into one buffer. All bytes that no row has are garbage.
static Call read_rows(Op op, const std::vector<const Json *> &questions, const Json &batch) {
    Call call{};
    std::vector<Numbers> given;
    std::vector<std::vector<std::uint32_t>> masks;
    for (const Json *question : questions) {
        const bool probabilities = question->has("probs");
        given.push_back(read_numbers(question->get(probabilities ? "probs" : "logits", Json::object)));
        const bool first = given.size() == 1;
        if (!first && (given.back().type != given[0].type || probabilities != call.batch.probabilities)) throw Skipped{"cannot mix types, or weights and logits, in a batch"};
        if (!HAS_F64 && given.back().type == Type::f64) throw Skipped{"has no rows of 64 bits"};
        call.batch.probabilities = probabilities;
        Row row{};
        row.place = given.size() - 1;
        row.length = row.vocab_size = given.back().bits.size();
        if (batch.has("vocab_size")) row.vocab_size = call.vocab_size = static_cast<std::size_t>(batch.get("vocab_size", Json::integer).number);
        if (row.vocab_size > row.length) throw Refused{"INVALID_ROW", which(row.place, questions.size()) + "it is shorter than the vocabulary"};
        try {
            if (op < Op::repetition_penalty) read_parameters(op, *question, row);
            if (op >= Op::repetition_penalty) masks.push_back(read_steps(op, *question, row, call));
            else masks.push_back(op == Op::token_mask ? read_mask(*question, row) : std::vector<std::uint32_t>());
        } catch (Refused &refused) {
            throw Refused{refused.code, which(row.place, questions.size()) + refused.message};
        }
        call.rows.push_back(row);
    }
    call.batch.op = op;
    call.batch.type = given[0].type;
    call.batch.rows = given.size();
    call.batch.draws = 1;
    for (const Row &row : call.rows) call.batch.longest = std::max(call.batch.longest, row.length);
    call.batch.stride = call.batch.longest;
    for (const auto &mask : masks) call.batch.mask_words = std::max(call.batch.mask_words, mask.size());
    if (batch.has("layout")) {
        const Json &layout = batch.get("layout", Json::object);
        const std::int64_t stride = layout.get("stride", Json::integer).number;
        call.batch.stride = std::max(call.batch.stride, static_cast<std::size_t>(stride));
        for (std::size_t r = 0; r < given.size(); r++)
            call.rows[r].place = static_cast<std::size_t>(layout.get("order", Json::list).entries.at(r).number);
    }
    const std::size_t numbers = given.size() * call.batch.stride, bytes = numbers * bytes_of(call.batch.type);
    call.numbers.assign(bytes, 0xff);
    call.out.assign(bytes, 0xff);
    call.kept.assign(numbers, 0xff);
    call.scratch.resize(given.size() * call.batch.longest);
    call.tokens.assign(given.size(), -1);
    call.statuses.assign(given.size(), Status::not_answered);
    call.masks.assign(given.size() * call.batch.mask_words, 0x5a5a5a5a);
    for (std::size_t r = 0; r < given.size(); r++) {
        const std::size_t start = call.rows[r].place * call.batch.stride;
        for (std::size_t t = 0; t < given[r].bits.size(); t++) put_bits(call.numbers.data(), call.batch.type, start + t, given[r].bits[t]);
        if (call.rows[r].has_mask) std::copy(masks[r].begin(), masks[r].end(), call.masks.begin() + static_cast<std::ptrdiff_t>(r * call.batch.mask_words));
    }
    return call;
}

// Returns what a call answered for a row.
static Json answer_of(const Call &call, std::size_t r) {
    const Batch &batch = call.batch;
    const Row &row = call.rows[r];
    const std::size_t start = row.place * batch.stride;
    if (call.statuses[r] == Status::invalid_row)
        throw Refused{"INVALID_ROW", which(r, batch.rows) + "no token is possible, or a number is not allowed"};
    if (call.statuses[r] != Status::right) throw std::runtime_error(which(r, batch.rows) + "the kernel did not answer");
    if (batch.op == Op::greedy || batch.op == Op::draw) return Object{{"token", std::int64_t{call.tokens[r]}}};
    if (is_filter(batch.op) || batch.op == Op::steps) {
        List keep;
        for (std::size_t t = 0; t < row.length; t++) {
            if (call.kept[start + t] == 1) keep.emplace_back(static_cast<std::int64_t>(t));
            else if (t < row.vocab_size && call.kept[start + t] != 0) throw std::runtime_error(which(r, batch.rows) + "the kernel did not answer token " + std::to_string(t));
        }
        Object found = {{"keep", keep}};
        if (row.draws) found["token"] = std::int64_t{call.tokens[r]};
        return found;
    }
    const char *name = batch.op == Op::softmax ? "probs" : batch.op == Op::logprobs ? "logprobs" : "logits";
    const std::size_t count = batch.op != Op::token_mask ? row.vocab_size : call.vocab_size ? call.vocab_size : row.length;
    return Object{{name, numbers_of(batch.type, call.out.data(), start, count)}};
}

// Draws `draws` tokens for each of some copies of a row, with the kernel's own random numbers. A row without a seed is
// a request of its own: it has a stream of its own.
static std::vector<std::int32_t> draw_own(const Json &question, const List &seeds, const Json &draws) {
    static std::uint64_t requests = 0;
    const Object &params = params_of(question, {"temperature", "k", "p"});
    if (!params.empty() && question.has("probs")) throw Skipped{"has filters of logits"};
    Json row = question, steps = List();
    for (const auto &[name, step] : {std::pair{"temperature", "temperature"}, {"k", "top_k"}, {"p", "top_p"}})
        if (params.count(name)) steps.entries.push_back(Object{{"step", step}, {"params", Object{{name, params.at(name)}}}});
    row.members["steps"] = steps;
    row.members[params.empty() ? "uniforms" : "draw"] = Object{{"f32", "00000000"}};  // not used
    Call call = read_rows(params.empty() ? Op::draw : Op::steps, std::vector<const Json *>(seeds.size(), &row), Json());
    for (std::size_t r = 0; r < seeds.size(); r++) {
        const bool has_seed = seeds[r].kind == Json::integer;
        call.rows[r].own = true;
        call.rows[r].seed = has_seed ? static_cast<std::uint64_t>(seeds[r].number) : 0;
        call.rows[r].stream = has_seed ? 0 : ++requests;
    }
    call.batch.draws = static_cast<std::size_t>(draws.number);
    call.tokens.assign(seeds.size() * call.batch.draws, -1);
    call.answer();
    for (std::size_t r = 0; r < seeds.size(); r++) answer_of(call, r);  // which refuses invalid rows
    return {call.tokens.begin(), call.tokens.end()};
}

static Json answer_stat(const Json &question) {
    std::map<std::int32_t, std::int64_t> counts;
    for (std::int32_t token : draw_own(question, {Json()}, question.get("draws", Json::integer))) counts[token]++;
    List pairs;
    for (const auto &[token, count] : counts) pairs.push_back(List{std::int64_t{token}, count});
    return Object{{"counts", pairs}};
}

static Json answer_stat_batch(const Json &question) {
    const std::size_t rows = static_cast<std::size_t>(question.get("rows", Json::integer).number);
    const std::vector<std::int32_t> tokens = draw_own(question, List(rows), question.get("draws", Json::integer));
    List calls(tokens.size() / rows, List(rows));
    for (std::size_t at = 0; at < tokens.size(); at++) calls[at % calls.size()].entries[at / calls.size()] = std::int64_t{tokens[at]};
    return Object{{"tokens", calls}};
}

static Json answer_seeds(const Json &question) {
    List batches;
    for (const Json &seeds : question.get("batches", Json::list).entries) {
        const std::vector<std::int32_t> tokens = draw_own(question, seeds.entries, question.get("tokens", Json::integer));
        List rows(seeds.entries.size(), List());
        for (std::size_t at = 0; at < tokens.size(); at++) rows[at * rows.size() / tokens.size()].entries.emplace_back(std::int64_t{tokens[at]});
        batches.push_back(rows);
    }
    return Object{{"batches", batches}};
}

// Reads the rows of a draft or a target one after the other, and returns their number.
static std::size_t read_laws(const List &given, Drafts &asked, Array<unsigned char> &bytes) {
    for (const Json &row : given) {
        const Numbers numbers = read_numbers(row);
        const std::size_t n = numbers.bits.size(), end = bytes.size();
        if (asked.vocab_size == 0) asked.type = numbers.type, asked.vocab_size = n;
        if (n == 0 || n != asked.vocab_size) throw Refused{"INVALID_ROW", "rows have the same number of tokens"};
        if (numbers.type != asked.type) throw Skipped{"cannot mix types"};
        if (!HAS_F64 && numbers.type == Type::f64) throw Skipped{"has no rows of 64 bits"};
        bytes.resize(end + n * bytes_of(asked.type));
        for (std::size_t t = 0; t < n; t++) put_bits(bytes.data() + end, asked.type, t, numbers.bits[t]);
    }
    return given.size();
}

static Json answer_chain(const Json &question, bool residual) {
    params_of(question, {});
    const auto rows = [&](const char *name) { return residual ? List{question.get(name, Json::object)} : question.get(name, Json::list).entries; };
    Drafts asked{};
    Array<unsigned char> target, draft, out;
    Array<double> uniforms;
    Array<std::int32_t> drafted, tokens;
    Array<Status> status(1, Status::not_answered);
    asked.residual = residual;
    const std::size_t targets = read_laws(rows("target"), asked, target);
    asked.drafts = read_laws(rows("draft"), asked, draft);
    for (const Json &token : residual ? List() : rows("tokens")) {
        if (token.kind != Json::integer || token.number < 0 || token.number >= static_cast<std::int64_t>(asked.vocab_size))
            throw Refused{"INVALID_HISTORY", "a draft is not in the vocabulary"};
        drafted.push_back(static_cast<std::int32_t>(token.number));
    }
    if (!residual) {
        if (targets != asked.drafts + 1 || drafted.size() != asked.drafts) throw Refused{"INVALID_ROW", "each draft has a row, and the target one more"};
        const Numbers given = read_numbers(question.get("uniforms", Json::object));
        for (std::uint64_t bits : given.bits) uniforms.push_back(uniform_of(from_bits(given.type, bits)));
        if (uniforms.size() != targets) throw Refused{"INVALID_UNIFORM", "each draft has a number, and the token at the end"};
    }
    out.assign(asked.vocab_size * bytes_of(asked.type), 0xff);
    tokens.assign(asked.drafts + 2, -1);  // the last one is `accepted`
    Array<Scratch> scratch(asked.vocab_size);
    asked.target = target.data(), asked.draft = draft.data(), asked.drafted = drafted.data(), asked.uniforms = uniforms.data();
    asked.token = tokens.data(), asked.accepted = &tokens.back(), asked.out = out.data(), asked.status = status.data(), asked.scratch = scratch.data();
    judge(asked);
    if (status[0] == Status::invalid_row) throw Refused{"INVALID_ROW", "nothing is left, or a number is not allowed"};
    if (status[0] != Status::right) throw std::runtime_error("the kernel did not answer");
    if (residual) return Object{{"probs", numbers_of(asked.type, out.data(), 0, asked.vocab_size)}};
    List found;
    for (std::int32_t at = 0; at <= tokens.back(); at++) found.emplace_back(std::int64_t{tokens.at(static_cast<std::size_t>(at))});
    return Object{{"accepted", std::int64_t{tokens.back()}}, {"tokens", found}};
}

// The operations whose questions are not rows of a `Batch`.
static const std::map<std::string, Json (*)(const Json &)> OTHERS = {
    {"stat", answer_stat}, {"stat_batch", answer_stat_batch}, {"seeds", answer_seeds},
    {"speculative", [](const Json &question) { return answer_chain(question, false); }},
    {"residual", [](const Json &question) { return answer_chain(question, true); }},
};

// Returns the answer of one question: one row, or a batch of them.
static Json answer(const std::string &name, const Json &question) {
    const bool is_batch = name == "batch";
    const std::string &asked_op = is_batch ? question.get("op", Json::string).text : name;
    std::vector<const Json *> questions;
    if (is_batch)
        for (const Json &row : question.get("rows", Json::list).entries) questions.push_back(&row);
    else questions.push_back(&question);
    const auto other = OTHERS.find(asked_op);
    if (other != OTHERS.end()) {
        List rows;
        for (std::size_t r = 0; r < questions.size(); r++) {
            try {
                rows.push_back(other->second(*questions[r]));
            } catch (Refused &refused) {
                throw Refused{refused.code, which(r, questions.size()) + refused.message};
            }
        }
        return is_batch ? Json(Object{{"rows", rows}}) : rows.at(0);
    }
    const auto op = OPS.find(asked_op);
    if (op == OPS.end()) throw Skipped{"has no operation " + asked_op};
    const Call asked = read_rows(op->second, questions, is_batch ? question : Json());
    List answers;
    for (std::int64_t calls = question.has("calls") ? question.get("calls", Json::integer).number : 1; calls > 0; calls--) {
        Call call = asked;
        call.answer();
        for (std::size_t r = 0; r < questions.size(); r++) answers.push_back(answer_of(call, r));
    }
    return is_batch ? Json(Object{{"rows", answers}}) : answers.at(0);
}

// Adds what became of a question to a result: exactly one of ok, err, skip, crash.
static Json guarded(Object result, const std::function<Json()> &call) {
    try {
        result["ok"] = call();
    } catch (const Refused &refused) {
        result["err"] = Object{{"code", refused.code}, {"msg", refused.message}};
    } catch (const Skipped &skipped) {
        result["skip"] = Object{{"reason", skipped.reason}};
    } catch (const std::exception &error) {
        result["crash"] = Object{{"msg", error.what()}};
    }
    return result;
}

static Json hello() {
    const Object ability = {{"profiles", List{"standard"}}};
    Object ops = {{"batch", ability}};
    for (const auto &op : OPS) ops[op.first] = ability;
    for (const auto &op : OTHERS) ops[op.first] = ability;
    for (const char *name : {"top_p", "min_p"}) ops[name].members["accum"] = "f64";  // how the example sums
    const Object impl = {{"name", "my-kernels"}, {"version", "0.1"}, {"language", "c++"}};
    return Object{{"proto", std::int64_t{1}}, {"impl", impl}, {"ops", ops}};
}

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        const Json message = JsonReader::read(line);
        const std::string cmd = message.get("cmd", Json::string).text;
        Json reply;
        if (cmd == "hello") {
            reply = hello();
        } else if (cmd == "load") {
            reply = guarded({{"id", message.get("id", Json::string)}}, []() -> Json { throw Skipped{"has no tokenizer"}; });
        } else if (cmd == "run") {
            const std::string op = message.get("op", Json::string).text;
            List results;
            for (const Json &one : message.get("cases", Json::list).entries)
                results.push_back(guarded({{"k", one.get("k", Json::string)}}, [&] { return answer(op, one.get("in", Json::object)); }));
            reply = Object{{"id", message.get("id", Json::string)}, {"results", results}};
        } else {
            break;  // bye
        }
        std::cout << reply.write() << std::endl;  // endl flushes
    }
}
