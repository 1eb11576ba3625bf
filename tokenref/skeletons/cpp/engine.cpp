// An engine that tokenref can judge. Put your own code where it says YOUR CODE.
//
// tokenref writes one JSON message per line to standard input; each is answered by
// one line on standard output. Print anything else to std::cerr.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <unordered_map>

#include "json.hpp"

using Object = std::map<std::string, Json>;
using List = std::vector<Json>;

static const Object OPS = {
    {"encode", Object{{"profiles", List{"definition", "tiktoken"}}}},
    {"top_k", Object{{"profiles", List{"standard"}}}},
};
static const std::size_t LONGEST = 2000;  // bytes of the longest text: the example takes quadratic time

// The question has no answer: a code from fixtures/README.md, and a message.
struct Refused {
    std::string code, message;
};

// This engine cannot be asked that.
struct Skipped {
    std::string reason;
};

struct Token {
    std::int64_t id, rank;
};

struct Vocabulary {
    std::unordered_map<std::string, Token> tokens;
    bool whole_piece = false;
};

// ---- YOUR CODE: the two functions below are examples. Call your own engine instead. ----

// Returns the tokens of a text: of all neighbours the lowest rank is merged first.
static std::vector<std::int64_t> encode(const Vocabulary &vocabulary, const std::string &text) {
    auto whole = vocabulary.tokens.find(text);
    if (vocabulary.whole_piece && whole != vocabulary.tokens.end()) return {whole->second.id};
    std::vector<std::string> parts;
    for (char byte : text) {
        parts.emplace_back(1, byte);
        if (!vocabulary.tokens.count(parts.back())) throw Refused{"MISSING_BYTE", "a byte of the text is no token"};
    }
    for (;;) {
        std::size_t best = parts.size();
        std::int64_t lowest = 0;
        for (std::size_t at = 0; at + 1 < parts.size(); at++) {
            auto joined = vocabulary.tokens.find(parts[at] + parts[at + 1]);
            if (joined == vocabulary.tokens.end() || (best < parts.size() && joined->second.rank >= lowest)) continue;
            best = at;
            lowest = joined->second.rank;
        }
        if (best == parts.size()) break;
        parts[best] += parts[best + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    std::vector<std::int64_t> ids;
    for (const std::string &part : parts) ids.push_back(vocabulary.tokens.at(part).id);
    return ids;
}

// Returns the k tokens of the largest number; of equals, those of the lowest ids.
static std::vector<std::size_t> top_k(const std::vector<double> &row, double impossible, std::size_t k) {
    std::vector<std::size_t> ids;
    for (std::size_t token = 0; token < row.size(); token++)
        if (row[token] > impossible) ids.push_back(token);
    std::stable_sort(ids.begin(), ids.end(), [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
    ids.resize(std::min(k, ids.size()));
    std::sort(ids.begin(), ids.end());
    return ids;
}

// ---- What follows is the protocol. It rarely needs a change. ----

static std::string read_hex(const std::string &digits) {
    std::string bytes;
    for (std::size_t at = 0; at < digits.size(); at += 2) bytes += static_cast<char>(std::stoi(digits.substr(at, 2), nullptr, 16));
    return bytes;
}

// Reads a vocabulary file, or says why this engine has none such.
static Vocabulary read_vocabulary(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(path + " cannot be read");
    const Json plain = JsonReader::read(std::string(std::istreambuf_iterator<char>(file), {}));
    if (!plain.has("rule") || plain.get("rule", Json::string).text != "concatenation") throw Skipped{"merges by concatenation only"};
    for (const char *name : {"pattern", "normalization"})
        if (plain.has(name) && plain.members.at(name).kind != Json::null) throw Skipped{std::string("has no ") + name};
    Vocabulary vocabulary;
    for (const Json &token : plain.get("tokens", Json::list).entries) {
        const auto &[spelled, id, rank] = std::tie(token.entries.at(0), token.entries.at(1), token.entries.at(2));
        if (id.kind != Json::integer || rank.kind != Json::integer) throw Skipped{"has ids of 63 bits only"};
        vocabulary.tokens[read_hex(spelled.text)] = {id.number, rank.number};
    }
    vocabulary.whole_piece = plain.get("whole_piece", Json::boolean).truth;
    return vocabulary;
}

// Returns the bytes of a text, which is given in one of three ways.
static std::string read_text(const Json &question) {
    std::string text;
    if (question.has("text")) {
        text = question.get("text", Json::string).text;
    } else if (question.has("bytes")) {
        text = read_hex(question.get("bytes", Json::string).text);
    } else {
        const Json &recipe = question.get("recipe", Json::object);
        auto part = [&](const char *name) { return read_hex(recipe.get(name, Json::string).text); };
        const std::string unit = part("unit");
        text = part("before");
        for (std::int64_t times = recipe.get("times", Json::integer).number; times > 0 && text.size() <= LONGEST; times--) text += unit;
        text += part("after");
    }
    if (text.size() > LONGEST) throw Skipped{"takes no text of more than " + std::to_string(LONGEST) + " bytes"};
    return text;
}

// Returns the number that the bits of a type stand for.
static double number(const std::string &type, std::uint64_t bits) {
    if (type == "f16") {
        const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
        double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
        if (exponent == 0x1f) size = fraction ? NAN : INFINITY;
        return bits & 0x8000 ? -size : size;
    }
    if (type == "f64") {
        double wide;
        std::memcpy(&wide, &bits, sizeof wide);
        return wide;
    }
    const std::uint32_t half = static_cast<std::uint32_t>(type == "bf16" ? bits << 16 : bits);  // the upper half of an f32
    float narrow;
    std::memcpy(&narrow, &half, sizeof narrow);
    return narrow;
}

static std::vector<double> from_digits(const std::string &type, const std::string &digits) {
    const std::size_t size = type == "f64" ? 16 : type == "f32" ? 8 : 4;
    std::vector<double> row;
    for (std::size_t at = 0; at < digits.size(); at += size) row.push_back(number(type, std::stoull(digits.substr(at, size), nullptr, 16)));
    return row;
}

// Returns the numbers of a row: big-endian hexadecimal digits, or a recipe for them.
static std::vector<double> read_floats(const Json &floats) {
    if (!floats.has("gen")) return from_digits(floats.members.begin()->first, floats.members.begin()->second.as(Json::string, "digits").text);
    const std::string type = floats.get("dtype", Json::string).text;
    std::vector<double> row;
    std::uint64_t state = std::stoull(floats.get("seed", Json::string).text, nullptr, 16);
    const std::uint64_t n = static_cast<std::uint64_t>(floats.get("n", Json::integer).number);
    const std::uint64_t span = static_cast<std::uint64_t>(floats.get("span", Json::integer).number);
    for (std::uint64_t at = 0; at < n; at++) {
        std::uint64_t word = state += 0x9e3779b97f4a7c15u;  // SplitMix64
        word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
        word = (word ^ word >> 27) * 0x94d049bb133111ebu;
        row.push_back(std::ldexp(static_cast<double>((word ^ word >> 31) % span), type == "f16" ? -7 : type == "bf16" ? -4 : -20));
    }
    if (floats.has("put"))
        for (const Json &one : floats.get("put", Json::list).entries)
            row.at(static_cast<std::size_t>(one.entries.at(0).number)) = from_digits(type, one.entries.at(1).text).at(0);
    return row;
}

// Returns the answer of one case.
static Json answer(const std::string &op, const Json &question, const Vocabulary *vocabulary) {
    if (op == "encode") {
        if (vocabulary == nullptr) throw Skipped{"no vocabulary is loaded"};
        const auto ids = encode(*vocabulary, read_text(question));
        return Object{{"ids", List(ids.begin(), ids.end())}};
    }
    if (op == "top_k") {
        const bool probs = question.has("probs");
        const double lowest = probs ? 0.0 : -INFINITY;
        const auto row = read_floats(question.get(probs ? "probs" : "logits", Json::object));
        const bool allowed = std::all_of(row.begin(), row.end(), [&](double number) { return number >= lowest && number < INFINITY; });
        if (!allowed || std::none_of(row.begin(), row.end(), [&](double number) { return number > lowest; }))
            throw Refused{"INVALID_ROW", "no token is possible, or a number is not allowed"};
        std::int64_t k = 0;
        for (const char *name : {"k", "least"}) {
            const auto &params = question.get("params", Json::object).members;
            const auto count = params.find(name);
            if (count == params.end() && k > 0) continue;  // there need not be a least number
            if (count == params.end() || count->second.kind != Json::integer || count->second.number < 1)
                throw Refused{"INVALID_PARAMETER", std::string(name) + " must be a whole number from 1"};
            k = std::max(k, count->second.number);
        }
        List keep;
        for (std::size_t token : top_k(row, lowest, static_cast<std::size_t>(k))) keep.emplace_back(static_cast<std::int64_t>(token));
        return Object{{"keep", keep}};
    }
    throw Skipped{"has no operation " + op};
}

// Adds what became of a call to a reply: exactly one of ok, err, skip, crash.
static Json guarded(Object reply, const std::function<Json()> &call) {
    try {
        reply["ok"] = call();
    } catch (const Refused &refused) {
        reply["err"] = Object{{"code", refused.code}, {"msg", refused.message}};
    } catch (const Skipped &skipped) {
        reply["skip"] = Object{{"reason", skipped.reason}};
    } catch (const std::exception &error) {
        reply["crash"] = Object{{"msg", error.what()}};
    } catch (...) {
        reply["crash"] = Object{{"msg", "an exception of an unknown type"}};
    }
    return reply;
}

int main() {
    std::string line, loaded;
    Vocabulary vocabulary;  // only the last one is kept, under its digest
    while (std::getline(std::cin, line)) {
        const Json message = JsonReader::read(line);
        const std::string cmd = message.get("cmd", Json::string).text;
        const std::string digest = message.has("vocab") ? message.members.at("vocab").text : "";
        Json reply;
        if (cmd == "hello") {
            reply = Object{{"proto", std::int64_t{1}}, {"impl", Object{{"name", "my-engine"}, {"version", "0.1"}, {"language", "c++"}}}, {"ops", OPS}};
        } else if (cmd == "load") {
            loaded.clear();
            reply = guarded({{"id", message.get("id", Json::string)}}, [&] {
                vocabulary = read_vocabulary(message.get("path", Json::string).text);
                loaded = digest;
                return Object{};
            });
        } else if (cmd == "run") {
            const std::string op = message.get("op", Json::string).text;
            List results;
            for (const Json &one : message.get("cases", Json::list).entries)
                results.push_back(guarded({{"k", one.get("k", Json::string)}}, [&] {
                    const bool known = !digest.empty() && digest == loaded;
                    return answer(op, one.get("in", Json::object), known ? &vocabulary : nullptr);
                }));
            reply = Object{{"id", message.get("id", Json::string)}, {"results", results}};
        } else {
            break;  // bye
        }
        std::cout << reply.write() << std::endl;  // endl flushes
    }
}
