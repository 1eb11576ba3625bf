/* JSON, as much of it as the protocol needs: a reader and a writer.
 *
 * What is read lives until json_free_all(). Strings are UTF-8, and may hold zero bytes. */
#ifndef JSON_H
#define JSON_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_INTEGER, JSON_REAL, JSON_STRING, JSON_LIST, JSON_OBJECT } json_kind;

typedef struct json {
    json_kind kind;
    int64_t integer;          /* of JSON_INTEGER; JSON_REAL is all that 64 bits do not hold */
    const char *string;       /* of JSON_STRING; of numbers their digits */
    size_t length;            /* bytes of the string, or entries of a list or an object */
    const char *name;         /* of a member of an object */
    struct json *first, *next; /* the first entry of a list or an object; the next in the same */
} json;

/* ---- Memory: one list of blocks, freed together ---- */

typedef struct json_block { struct json_block *next; } json_block;
static json_block *json_blocks;

static void *json_allocate(size_t size) {
    json_block *block = malloc(sizeof(json_block) + 16 + size);
    if (block == NULL) abort();
    block->next = json_blocks;
    json_blocks = block;
    return (char *)block + 16;
}

static void json_free_all(void) {
    while (json_blocks != NULL) {
        json_block *next = json_blocks->next;
        free(json_blocks);
        json_blocks = next;
    }
}

/* ---- Reader ---- */

enum { JSON_DEEPEST = 100 }; /* a deeper nesting is refused, or a hostile line could overflow the stack */

typedef struct { const char *at, *end; } json_reader;

static json *json_value(json_reader *in, int depth);

static char json_peek(json_reader *in) {
    while (in->at < in->end && strchr(" \t\r\n", *in->at) != NULL && *in->at) in->at++;
    return in->at < in->end ? *in->at : '\0';
}

static int json_unit(json_reader *in) { /* four hexadecimal digits, or -1 */
    int unit = 0;
    if (in->end - in->at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char c = *in->at++;
        int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (digit < 0) return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

static char *json_utf8(char *out, long code) {
    if (code < 0x80) { *out++ = (char)code; return out; }
    if (code < 0x800) { *out++ = (char)(0xc0 | code >> 6); }
    else {
        if (code < 0x10000) { *out++ = (char)(0xe0 | code >> 12); }
        else { *out++ = (char)(0xf0 | code >> 18); *out++ = (char)(0x80 | (code >> 12 & 0x3f)); }
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
    }
    *out++ = (char)(0x80 | (code & 0x3f));
    return out;
}

static const char *json_string(json_reader *in, size_t *length) {
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (json_peek(in) != '"') return NULL;
    const char *close = ++in->at;
    while (close < in->end && *close != '"') close += *close == '\\' ? 2 : 1;
    if (close >= in->end) return NULL;
    char *start = json_allocate((size_t)(close - in->at) + 1), *out = start; /* no escape is shorter than its bytes */
    while (in->at < close) {
        char c = *in->at++;
        if ((unsigned char)c < ' ') return NULL;
        if (c != '\\') { *out++ = c; continue; }
        c = *in->at++;
        if (c != 'u') {
            const char *found = c ? strchr(escapes, c) : NULL;
            if (found == NULL) return NULL;
            *out++ = meanings[found - escapes];
            continue;
        }
        long code = json_unit(in);
        if (code >= 0xd800 && code < 0xdc00) { /* the first half of a surrogate pair */
            if (in->end - in->at < 6 || in->at[0] != '\\' || in->at[1] != 'u') return NULL;
            in->at += 2;
            long low = json_unit(in);
            code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : -1;
        } else if (code >= 0xdc00 && code < 0xe000) code = -1;
        if (code < 0) return NULL;
        out = json_utf8(out, code);
    }
    *out = '\0';
    *length = (size_t)(out - start);
    in->at = close + 1;
    return start;
}

static int json_members(json_reader *in, json *into, int depth) {
    char end = into->kind == JSON_LIST ? ']' : '}';
    json **last = &into->first;
    in->at++;
    if (json_peek(in) == end) return in->at++, 1;
    for (;;) {
        const char *name = NULL;
        size_t ignored;
        if (into->kind == JSON_OBJECT) {
            if ((name = json_string(in, &ignored)) == NULL || json_peek(in) != ':') return 0;
            in->at++;
        }
        if ((*last = json_value(in, depth + 1)) == NULL) return 0;
        (*last)->name = name;
        last = &(*last)->next;
        into->length++;
        char next = json_peek(in);
        if (next != ',' && next != end) return 0;
        in->at++;
        if (next == end) return 1;
    }
}

static json *json_value(json_reader *in, int depth) {
    static const struct { const char *word; json_kind kind; } words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
    json *value = json_allocate(sizeof *value);
    memset(value, 0, sizeof *value);
    char c = json_peek(in);
    if (depth > JSON_DEEPEST) return NULL;
    if (c == '"') {
        value->kind = JSON_STRING;
        return (value->string = json_string(in, &value->length)) != NULL ? value : NULL;
    }
    if (c == '[' || c == '{') {
        value->kind = c == '[' ? JSON_LIST : JSON_OBJECT;
        return json_members(in, value, depth) ? value : NULL;
    }
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(words[i].word);
        if ((size_t)(in->end - in->at) >= length && memcmp(in->at, words[i].word, length) == 0) {
            value->kind = words[i].kind;
            in->at += length;
            return value;
        }
    }
    const char *start = in->at;
    int digits = 0, plain = 1, minus = c == '-';
    uint64_t size = 0;
    for (in->at += minus; in->at < in->end && strchr("0123456789+-.eE", *in->at) != NULL && *in->at; in->at++) {
        unsigned digit = (unsigned)(*in->at - '0');
        if (digit > 9 || size > ((uint64_t)INT64_MAX - digit) / 10) plain = 0;
        else size = size * 10 + digit;
        digits += digit <= 9;
    }
    if (digits == 0) return NULL;
    value->kind = plain ? JSON_INTEGER : JSON_REAL;
    value->integer = minus ? -(int64_t)size : (int64_t)size;
    value->string = start;
    value->length = (size_t)(in->at - start);
    return value;
}

/* Returns the value that the whole text is, or NULL if it is not JSON. */
static json *json_read(const char *text, size_t length) {
    json_reader in = {text, text + length};
    json *value = json_value(&in, 0);
    return value != NULL && json_peek(&in) == '\0' && in.at == in.end ? value : NULL;
}

/* Returns a member of an object, or NULL where there is none. */
static json *json_get(const json *object, const char *name) {
    if (object == NULL || object->kind != JSON_OBJECT) return NULL;
    for (json *member = object->first; member != NULL; member = member->next)
        if (strcmp(member->name, name) == 0) return member;
    return NULL;
}

/* Returns whether a value is this string. */
static int json_is(const json *value, const char *string) {
    return value != NULL && value->kind == JSON_STRING && value->length == strlen(string) && memcmp(value->string, string, value->length) == 0;
}

/* ---- Writer: what is put is collected in json_out ---- */

static struct { char *text; size_t length, room; } json_out;

static void json_put(const char *text) {
    size_t length = strlen(text);
    if (json_out.length + length + 1 > json_out.room) {
        json_out.room = 2 * (json_out.length + length) + 1024;
        json_out.text = realloc(json_out.text, json_out.room);
        if (json_out.text == NULL) abort();
    }
    memcpy(json_out.text + json_out.length, text, length + 1);
    json_out.length += length;
}

static void json_put_integer(int64_t number) {
    char digits[32];
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    json_put(digits);
}

static void json_put_string(const char *string, size_t length) {
    char piece[8];
    json_put("\"");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)string[i];
        if (c < ' ') snprintf(piece, sizeof piece, "\\u%04x", c);
        else snprintf(piece, sizeof piece, c == '"' || c == '\\' ? "\\%c" : "%c", c);
        json_put(piece);
    }
    json_put("\"");
}

#endif
