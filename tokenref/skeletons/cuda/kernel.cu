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
#include <map>
#include <new>
#include <stdexcept>
#include <string>
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
    softmax, logprobs, temperature, token_mask, top_k, top_p, min_p, greedy, draw,
    repetition_penalty, frequency_penalty, presence_penalty, logit_bias, steps
};
enum class Type { f64, f32, f16, bf16 };
enum class Status : std::int32_t { not_answered, right, invalid_row };

// A row of the batch, and its parameters. Those that the operation does not have are 0.
struct Row {
    std::size_t place;       // the row begins with number place * stride of the buffer
    std::size_t length;      // numbers of the row, with padding
    std::size_t vocab_size;  // the numbers from here on are padding: they are neither kept nor drawn nor counted
    std::int64_t k, least;
    double p, m, temperature, uniform, penalty;
    bool has_mask, draws;
    std::size_t first_token, tokens, prompt_length;  // the history: tokens of them, the first ones are the prompt
    std::size_t first_bias, biases;
    std::size_t first_step, steps;
};

struct Bias {
    std::size_t token;
    double number;
};

// One step of a fused kernel. A penalty and a bias alone are questions with one step.
struct Step {
    Op op;
    std::int64_t k, least;
    double number;           // p, m, the temperature or the penalty
    std::size_t vocab_size;  // of a mask: the tokens from here on are banned
};

// What the example below remembers about a number.
struct Scratch {
    std::uint64_t key;  // as large as the number; 0 for an impossible token
    double weight;
    double logit;                       // what the steps so far left
    std::uint32_t occurred, generated;  // how often in the history, and behind the prompt
};

// One call: the rows of a question in one buffer, and a place for each answer. The host and kernels can use all
// pointers. `numbers`, `out` and `kept` have `stride` entries for each row, at the same places.
struct Batch {
    Op op;
    Type type;           // of `numbers` and `out`: double, float, half or bfloat16, with the bits of the question
    bool probabilities;  // the rows are probabilities or weights, not logits
    std::size_t rows, stride, mask_words;
    std::size_t longest;  // the number of tokens of the longest row
    const Row *row;
    const std::uint32_t *masks;  // mask_words for each row; token t has bit t % 32 of word t / 32, 1 if it is allowed
    const std::int32_t *history;  // those of row r begin at row[r].first_token, and so on
    const Bias *biases;
    const Step *steps;
    unsigned char *numbers;      // each call gets its own, so they may be overwritten
    unsigned char *out;          // softmax, logprobs, temperature, penalties, logit_bias, token_mask: the new numbers
    unsigned char *kept;         // top_k, top_p, min_p, steps: 1 for the tokens that are kept, else 0
    std::int32_t *token;         // greedy, draw, steps with a draw: the token, one for each row
    Status *status;              // one for each row
    Scratch *scratch;            // `longest` entries for each row, in the order of `row`
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

// ---- YOUR CODE: launch your kernel here. It reads the batch, and writes the answer and the status of each row. ----

ON_BOTH void answer_row(const Batch &batch, std::size_t r);  // the example

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
#else
static void launch(const Batch &batch) {
    for (std::size_t r = 0; r < batch.rows; r++) answer_row(batch, r);
}
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

// Returns the first token whose running sum of weights is more than the number's share of the total.
ON_BOTH inline std::int32_t draw_token(const Scratch *row, double uniform, double total) {
    const double share = uniform * total, rest = std::fma(uniform, total, -share);  // what the product's rounding left
    double sum = 0;
    std::int32_t t = 0;
    while (!((sum += row[t].weight) > share || (sum == share && rest < 0))) t++;
    return t;
}

// ---- A fused kernel: each step changes the logits that the step before left. -inf is a token that is gone. ----

ON_BOTH inline std::uint64_t key_of(double number) {
    const std::uint64_t bits = to_bits(Type::f64, number + 0.0), sign = std::uint64_t{1} << 63;  // -0 becomes 0
    return bits & sign ? ~bits : bits | sign;
}

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

// Applies top-k, top-p or min-p. `kept` serves as scratch.
ON_BOTH inline void filter(const Step &step, Scratch *row, std::size_t n, unsigned char *kept) {
    const double total = weigh(row, n);
    for (std::size_t t = 0; t < n; t++) kept[t] = step.op == Op::min_p && row[t].key > 0 && row[t].weight >= step.number;
    if (step.op == Op::top_k) keep_first(row, n, static_cast<double>(step.k), false, kept);
    if (step.op == Op::top_p) keep_first(row, n, step.number < 1 ? step.number * total : INFINITY, true, kept);
    keep_first(row, n, static_cast<double>(step.least), false, kept);
    for (std::size_t t = 0; t < n; t++)
        if (!kept[t]) row[t].logit = -INFINITY;
}

ON_BOTH inline void apply_step(const Batch &batch, std::size_t r, const Step &step, Scratch *row, unsigned char *kept) {
    const Row &asked = batch.row[r];
    const std::uint32_t *mask = batch.masks + r * batch.mask_words;
    if (step.op == Op::top_k || step.op == Op::top_p || step.op == Op::min_p) filter(step, row, asked.vocab_size, kept);
    if (step.op == Op::logit_bias)
        for (std::size_t b = asked.first_bias; b < asked.first_bias + asked.biases; b++) row[batch.biases[b].token].logit += batch.biases[b].number;
    for (std::size_t t = 0; t < asked.vocab_size; t++) {
        double &logit = row[t].logit;
        if (step.op == Op::temperature) logit /= step.number;
        if (step.op == Op::repetition_penalty && row[t].occurred) logit = logit < 0 ? logit * step.number : logit / step.number;
        if (step.op == Op::frequency_penalty && row[t].generated) logit -= step.number * row[t].generated;
        if (step.op == Op::presence_penalty && row[t].generated) logit -= step.number;
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
        scratch[t].occurred = scratch[t].generated = 0;
        if (!(scratch[t].logit < INFINITY)) return;
    }
    for (std::size_t at = 0; at < row.tokens; at++) {
        Scratch &token = scratch[batch.history[row.first_token + at]];
        token.occurred++;
        if (at >= row.prompt_length) token.generated++;
    }
    for (std::size_t s = row.first_step; s < row.first_step + row.steps; s++) {
        apply_step(batch, r, batch.steps[s], scratch, batch.kept + start);
        if (batch.op == Op::steps && weigh(scratch, n) == 0) return;
    }
    for (std::size_t t = 0; t < n; t++) {
        batch.kept[start + t] = scratch[t].logit > -INFINITY;
        if (batch.op != Op::steps) write_out(batch, start + t, scratch[t].logit);
    }
    const double total = weigh(scratch, n);
    if (batch.op == Op::steps && total == 0) return;
    if (row.draws) batch.token[r] = draw_token(scratch, row.uniform, total);
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
        total += scratch[t].weight;
    }
    unsigned char *kept = batch.kept + start;
    const bool filters = batch.op == Op::top_k || batch.op == Op::top_p || batch.op == Op::min_p;
    const double needed = row.m * (batch.probabilities ? best : 1);
    for (std::size_t t = 0; t < n; t++) {
        if (filters) kept[t] = batch.op == Op::min_p && scratch[t].key > 0 && scratch[t].weight >= needed;
        if (batch.op == Op::softmax) write_out(batch, start + t, scratch[t].weight / total);
        if (batch.op == Op::logprobs) write_out(batch, start + t, number_at(batch, start + t) - best - std::log(total));
        if (batch.op == Op::temperature) write_out(batch, start + t, number_at(batch, start + t) / row.temperature);
    }
    if (batch.op == Op::top_k) keep_first(scratch, n, static_cast<double>(row.k), false, kept);
    if (batch.op == Op::top_p) keep_first(scratch, n, row.p < 1 ? row.p * total : INFINITY, true, kept);
    if (filters) keep_first(scratch, n, static_cast<double>(row.least), false, kept);
    if (batch.op == Op::greedy) batch.token[r] = static_cast<std::int32_t>(best_token);
    if (batch.op == Op::draw) batch.token[r] = draw_token(scratch, row.uniform, total);
    if (batch.op == Op::token_mask && !apply_mask(batch, r, start)) return;
    batch.status[r] = Status::right;
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
    {"min_p", Op::min_p}, {"greedy", Op::greedy}, {"draw", Op::draw},
    {"repetition_penalty", Op::repetition_penalty}, {"frequency_penalty", Op::frequency_penalty},
    {"presence_penalty", Op::presence_penalty}, {"logit_bias", Op::logit_bias}, {"steps", Op::steps},
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

// Returns the numbers of a row: hexadecimal digits, or a recipe for them.
static Numbers read_numbers(const Json &given) {
    if (!given.has("gen")) {
        const auto &[type, digits] = *given.members.begin();
        return from_digits(TYPES.at(type), digits.as(Json::string, "digits").text);
    }
    Numbers numbers{TYPES.at(given.get("dtype", Json::string).text), {}};
    std::uint64_t state = std::stoull(given.get("seed", Json::string).text, nullptr, 16);
    const std::uint64_t span = static_cast<std::uint64_t>(given.get("span", Json::integer).number);
    const int step = numbers.type == Type::f16 ? -7 : numbers.type == Type::bf16 ? -4 : -20;
    for (std::int64_t left = given.get("n", Json::integer).number; left > 0; left--) {
        std::uint64_t word = state += 0x9e3779b97f4a7c15u;  // SplitMix64
        word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
        word = (word ^ word >> 27) * 0x94d049bb133111ebu;
        numbers.bits.push_back(to_bits(numbers.type, std::ldexp(static_cast<double>((word ^ word >> 31) % span), step)));
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

static void read_uniform(const Json &given, Row &row) {
    const Numbers uniforms = read_numbers(given);
    row.uniform = uniforms.bits.size() == 1 ? from_bits(uniforms.type, uniforms.bits[0]) : NAN;
    if (!(row.uniform >= 0 && row.uniform < 1)) throw Refused{"INVALID_UNIFORM", "there must be one number in [0, 1)"};
    if (DRAWS_IN_32_BITS && static_cast<double>(static_cast<float>(row.uniform)) != row.uniform) throw Skipped{"has random numbers of 32 bits"};
}

static void read_parameters(Op op, const Json &question, Row &row) {
    row.k = row.least = 0;
    row.p = row.m = row.temperature = row.penalty = 0;
    if (op == Op::top_k) {
        const Object &params = params_of(question, {"k", "least"});
        row.k = whole(params, "k", 1);
        row.least = whole(params, "least", 1, 1);
    } else if (op == Op::top_p) {
        const Object &params = params_of(question, {"p", "least"});
        row.p = real(params, "p");
        row.least = whole(params, "least", 0, 1);
        if (!(row.p > 0 && row.p <= 1)) refuse("p", "a number in (0, 1]");
    } else if (op == Op::min_p) {
        const Object &params = params_of(question, {"m", "least"});
        row.m = real(params, "m");
        row.least = whole(params, "least", 0, 1);
        if (!(row.m >= 0 && row.m <= 1)) refuse("m", "a number in [0, 1]");
    } else if (op == Op::temperature) {
        row.temperature = real(params_of(question, {"temperature"}), "temperature");
        if (!(row.temperature > 0 && row.temperature < INFINITY)) refuse("temperature", "a number above 0");
    } else if (op == Op::repetition_penalty || op == Op::frequency_penalty || op == Op::presence_penalty) {
        row.penalty = real(params_of(question, {"penalty"}), "penalty");
        if (!std::isfinite(row.penalty) || (op == Op::repetition_penalty && row.penalty <= 0)) refuse("penalty", "a number, and above 0 for repetitions");
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
        const double number = of_step == Op::top_p ? read.p : of_step == Op::min_p ? read.m : of_step == Op::temperature ? read.temperature : read.penalty;
        call.steps.push_back({of_step, read.k, read.least, number, read.vocab_size});
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
    if (batch.op == Op::top_k || batch.op == Op::top_p || batch.op == Op::min_p || batch.op == Op::steps) {
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
    for (const auto &[spelled, type] : TYPES)
        if (type == batch.type) return Object{{name, Object{{spelled, to_digits(type, call.out.data(), start, count)}}}};
    throw std::logic_error("no such type");
}

// Returns the answer of one question: one row, or a batch of them.
static Json answer(const std::string &name, const Json &question) {
    const bool is_batch = name == "batch";
    const auto op = OPS.find(is_batch ? question.get("op", Json::string).text : name);
    if (op == OPS.end()) throw Skipped{"has no operation " + (is_batch ? question.get("op", Json::string).text : name)};
    std::vector<const Json *> questions;
    if (is_batch)
        for (const Json &row : question.get("rows", Json::list).entries) questions.push_back(&row);
    else questions.push_back(&question);
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
