// JSON, as much of it as the protocol needs: a reader and a writer.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

struct Json {
    enum Kind { null, boolean, integer, real, string, list, object };

    Kind kind = null;
    bool truth = false;
    std::int64_t number = 0;  // of an integer; a real is whatever 64 bits do not hold
    std::string text;         // of a string, in UTF-8; of numbers their digits
    std::vector<Json> entries;
    std::map<std::string, Json> members;

    Json() = default;
    Json(std::int64_t value) : kind(integer), number(value), text(std::to_string(value)) {}
    Json(const char *value) : kind(string), text(value) {}
    Json(std::string value) : kind(string), text(std::move(value)) {}
    Json(std::vector<Json> value) : kind(list), entries(std::move(value)) {}
    Json(std::map<std::string, Json> value) : kind(object), members(std::move(value)) {}

    bool has(const std::string &name) const { return members.count(name) != 0; }

    // The member of that name, of that kind.
    const Json &get(const std::string &name, Kind wanted) const {
        auto found = members.find(name);
        if (found == members.end()) throw std::runtime_error("the key " + name + " is missing");
        return found->second.as(wanted, name);
    }

    const Json &as(Kind wanted, const std::string &name) const {
        if (kind != wanted) throw std::runtime_error(name + " is of another kind");
        return *this;
    }

    // The value on one line.
    std::string write() const {
        switch (kind) {
            case null: return "null";
            case boolean: return truth ? "true" : "false";
            case string: return quoted(text);
            case list: {
                std::string out;
                for (const Json &entry : entries) out += (out.empty() ? "" : ",") + entry.write();
                return "[" + out + "]";
            }
            case object: {
                std::string out;
                for (const auto &[name, value] : members) out += (out.empty() ? "" : ",") + quoted(name) + ":" + value.write();
                return "{" + out + "}";
            }
            default: return text;
        }
    }

    static std::string quoted(const std::string &text) {
        std::string out = "\"";
        for (char c : text) {
            char escape[8];
            if (static_cast<unsigned char>(c) < ' ') {
                std::snprintf(escape, sizeof escape, "\\u%04x", c);
                out += escape;
            } else {
                if (c == '"' || c == '\\') out += '\\';
                out += c;
            }
        }
        return out + "\"";
    }
};

class JsonReader {
public:
    // Returns the value that the whole text is; throws std::runtime_error if it is not JSON.
    static Json read(const std::string &text) {
        JsonReader reader(text);
        Json value = reader.value(0);
        if (reader.peek() != '\0' || reader.at != text.size()) reader.wrong("the end");
        return value;
    }

private:
    static const int deepest = 100;  // a deeper nesting is refused, or a hostile line could overflow the stack
    const std::string &text;
    std::size_t at = 0;

    explicit JsonReader(const std::string &from) : text(from) {}

    [[noreturn]] void wrong(const std::string &expected) const {
        throw std::runtime_error("not JSON: expected " + expected + " at byte " + std::to_string(at));
    }

    char peek() {
        while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n')) at++;
        return at < text.size() ? text[at] : '\0';
    }

    void take(char wanted) {
        if (peek() != wanted) wrong(std::string(1, wanted));
        at++;
    }

    bool took(const std::string &word) {
        if (text.compare(at, word.size(), word) != 0) return false;
        at += word.size();
        return true;
    }

    Json value(int depth) {
        if (depth > deepest) wrong("less nesting");
        Json result;
        char first = peek();
        if (first == '"') return quoted();
        if (first == '[') {
            result.kind = Json::list;
            members(']', [&] { result.entries.push_back(value(depth + 1)); });
        } else if (first == '{') {
            result.kind = Json::object;
            members('}', [&] {
                peek();
                std::string name = quoted();
                take(':');
                result.members[name] = value(depth + 1);
            });
        } else if (took("true")) {
            result.kind = Json::boolean;
            result.truth = true;
        } else if (took("false")) {
            result.kind = Json::boolean;
        } else if (!took("null")) {
            number(result);
        }
        return result;
    }

    // Reads what stands between brackets, with commas in between.
    template <class One>
    void members(char end, One one) {
        at++;
        if (peek() != end) {
            one();
            while (peek() == ',') {
                at++;
                one();
            }
        }
        take(end);
    }

    void number(Json &result) {
        std::size_t start = at;
        while (at < text.size() && std::string("0123456789+-.eE").find(text[at]) != std::string::npos) at++;
        result.text = text.substr(start, at - start);
        if (result.text.find_first_of("0123456789") == std::string::npos) wrong("a value");
        result.kind = Json::real;
        if (result.text.find_first_of("+.eE") != std::string::npos) return;
        try {
            result.number = std::stoll(result.text);
            result.kind = Json::integer;
        } catch (const std::out_of_range &) {
        }
    }

    std::string quoted() {
        static const std::string escapes = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
        std::string out;
        if (at >= text.size() || text[at++] != '"') wrong("a string");
        for (;;) {
            if (at >= text.size() || static_cast<unsigned char>(text[at]) < ' ') wrong("a closing quote");
            char c = text[at++];
            if (c == '"') return out;
            if (c != '\\') {
                out += c;
                continue;
            }
            c = at < text.size() ? text[at++] : '\0';
            std::size_t found = escapes.find(c);
            if (found != std::string::npos) out += meanings[found];
            else if (c == 'u') out += utf8(escaped());
            else wrong("an escape");
        }
    }

    std::uint32_t escaped() {
        std::uint32_t code = unit();
        if (code >= 0xd800 && code < 0xdc00) {  // the first half of a surrogate pair
            if (!took("\\u")) wrong("the second half of a surrogate pair");
            std::uint32_t low = unit();
            if (low < 0xdc00 || low >= 0xe000) wrong("the second half of a surrogate pair");
            return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        if (code >= 0xdc00 && code < 0xe000) wrong("no lone surrogate");
        return code;
    }

    std::uint32_t unit() {
        std::string digits = text.substr(at, 4);
        if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) wrong("four hexadecimal digits");
        at += 4;
        return static_cast<std::uint32_t>(std::stoul(digits, nullptr, 16));
    }

    static std::string utf8(std::uint32_t code) {
        std::string out;
        auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
        if (code < 0x80) {
            put(code);
            return out;
        }
        if (code < 0x800) put(0xc0 | code >> 6);
        else {
            if (code < 0x10000) put(0xe0 | code >> 12);
            else {
                put(0xf0 | code >> 18);
                put(0x80 | (code >> 12 & 0x3f));
            }
            put(0x80 | (code >> 6 & 0x3f));
        }
        put(0x80 | (code & 0x3f));
        return out;
    }
};
