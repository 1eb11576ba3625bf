/* An engine that tokenref can judge. Put your own code where it says YOUR CODE.
 *
 * tokenref writes one JSON message per line to standard input; each is answered by
 * one line on standard output. Print anything else to standard error. */
#define _XOPEN_SOURCE 700

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

static const char OPS[] = "{\"encode\":{\"profiles\":[\"definition\",\"tiktoken\"]},\"top_k\":{\"profiles\":[\"standard\"]}}";

enum { LONGEST = 2000 }; /* bytes of the longest text: the example takes quadratic time */

/* A case ends early as one of these; `end_case` jumps back to where it began. */
typedef enum { REFUSED = 1, SKIPPED, CRASHED } ending;
static sigjmp_buf case_start;
static const char *end_code, *end_message;

static void end_case(ending how, const char *code, const char *message) {
    end_code = code; /* of REFUSED: a code from fixtures/README.md */
    end_message = message;
    siglongjmp(case_start, how);
}

typedef struct { const char *bytes; size_t length; int64_t id, rank; } token;
typedef struct { token *tokens; size_t count; int whole_piece; char *digest; } vocabulary;

static int by_bytes(const void *one, const void *other) {
    const token *a = one, *b = other;
    int order = memcmp(a->bytes, b->bytes, a->length < b->length ? a->length : b->length);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static const token *find(const vocabulary *from, const char *bytes, size_t length) {
    token wanted = {bytes, length, 0, 0};
    return bsearch(&wanted, from->tokens, from->count, sizeof wanted, by_bytes);
}

/* ---- YOUR CODE: the two functions below are examples. Call your own engine instead. ---- */

/* Writes the tokens of a text, at most one per byte, and returns how many there are. Of all
 * neighbours the lowest rank is merged first. */
static size_t encode(const vocabulary *with, const char *text, size_t length, int64_t *ids) {
    const token *whole = with->whole_piece ? find(with, text, length) : NULL;
    if (whole != NULL) return *ids = whole->id, 1;
    size_t *starts = json_allocate((length + 1) * sizeof *starts); /* freed after the message */
    for (size_t i = 0; i <= length; i++) starts[i] = i; /* part i is starts[i] to starts[i + 1] */
    for (size_t i = 0; i < length; i++)
        if (find(with, text + i, 1) == NULL) end_case(REFUSED, "MISSING_BYTE", "a byte of the text is no token");
    size_t parts = length;
    for (;;) {
        size_t at = 0;
        const token *best = NULL;
        for (size_t i = 0; i + 1 < parts; i++) {
            const token *joined = find(with, text + starts[i], starts[i + 2] - starts[i]);
            if (joined != NULL && (best == NULL || joined->rank < best->rank)) best = joined, at = i;
        }
        if (best == NULL) break;
        memmove(starts + at + 1, starts + at + 2, (parts - at - 1) * sizeof *starts);
        parts--;
    }
    for (size_t i = 0; i < parts; i++) ids[i] = find(with, text + starts[i], starts[i + 1] - starts[i])->id;
    return parts;
}

/* Marks the k tokens of the largest number; of equals, those of the lowest ids. */
static void top_k(const double *row, size_t length, double impossible, int64_t k, char *kept) {
    while (k-- > 0) {
        size_t best = length;
        for (size_t i = 0; i < length; i++)
            if (!kept[i] && row[i] > impossible && (best == length || row[i] > row[best])) best = i;
        if (best == length) return;
        kept[best] = 1;
    }
}

/* ---- What follows is the protocol. It rarely needs a change. ---- */

static json *need(json *value, json_kind kind) {
    if (value == NULL || value->kind != kind) end_case(CRASHED, "", "a part of the question is missing, or of another kind");
    return value;
}

static size_t digits_of(const char *type) { return strcmp(type, "f64") == 0 ? 16 : strcmp(type, "f32") == 0 ? 8 : 4; }

static int hex_digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

static char *read_hex(const char *digits, size_t length) {
    char *bytes = json_allocate(length / 2 + 1);
    for (size_t i = 0; i < length / 2; i++) bytes[i] = (char)(hex_digit(digits[2 * i]) << 4 | hex_digit(digits[2 * i + 1]));
    return bytes;
}

/* Reads the bytes of a text, which is given in one of three ways. */
static const char *read_text(const json *question, size_t *length) {
    json *text = json_get(question, "text"), *hex = json_get(question, "bytes"), *recipe = json_get(question, "recipe");
    const char *bytes;
    if (recipe != NULL) {
        json *parts[] = {need(json_get(recipe, "before"), JSON_STRING), need(json_get(recipe, "unit"), JSON_STRING), need(json_get(recipe, "after"), JSON_STRING)};
        int64_t times = need(json_get(recipe, "times"), JSON_INTEGER)->integer, counts[] = {1, times, 1};
        if (times > LONGEST || parts[0]->length + parts[1]->length * (size_t)times + parts[2]->length > 2 * LONGEST)
            end_case(SKIPPED, "", "takes no text of more than 2000 bytes");
        char *digits = json_allocate(2 * LONGEST);
        size_t filled = 0;
        for (int part = 0; part < 3; part++)
            for (int64_t i = 0; i < counts[part]; i++, filled += parts[part]->length) memcpy(digits + filled, parts[part]->string, parts[part]->length);
        bytes = read_hex(digits, filled);
        *length = filled / 2;
    } else if (hex != NULL) {
        bytes = read_hex(need(hex, JSON_STRING)->string, hex->length);
        *length = hex->length / 2;
    } else {
        bytes = need(text, JSON_STRING)->string;
        *length = text->length;
    }
    if (*length > LONGEST) end_case(SKIPPED, "", "takes no text of more than 2000 bytes");
    return bytes;
}

/* Returns the number that hexadecimal digits of a type stand for. */
static double number(const char *type, const char *digits) {
    uint64_t bits = 0;
    for (size_t i = 0, size = digits_of(type); i < size; i++) bits = bits << 4 | (uint64_t)hex_digit(digits[i]);
    union { uint64_t bits; double number; } wide = {bits};
    union { uint32_t bits; float number; } narrow = {(uint32_t)bits};
    if (strcmp(type, "f64") == 0) return wide.number;
    if (strcmp(type, "bf16") == 0) narrow.bits <<= 16; /* the upper half of an f32 */
    if (strcmp(type, "f16") != 0) return narrow.number;
    int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    double size = exponent == 0 ? ldexp(fraction, -24) : exponent < 0x1f ? ldexp(1024 + fraction, exponent - 25) : fraction ? NAN : INFINITY;
    return bits & 0x8000 ? -size : size;
}

/* Reads the numbers of a row: big-endian hexadecimal digits, or a recipe for them. */
static double *read_floats(const json *floats, size_t *length) {
    json *recipe = json_get(floats, "gen"), *put = json_get(floats, "put");
    const char *type = recipe ? need(json_get(floats, "dtype"), JSON_STRING)->string : need(floats->first, JSON_STRING)->name;
    *length = recipe ? (size_t)need(json_get(floats, "n"), JSON_INTEGER)->integer : floats->first->length / digits_of(type);
    double *row = json_allocate((*length + 1) * sizeof *row);
    if (recipe == NULL) {
        for (size_t i = 0; i < *length; i++) row[i] = number(type, floats->first->string + i * digits_of(type));
        return row;
    }
    uint64_t state = strtoull(need(json_get(floats, "seed"), JSON_STRING)->string, NULL, 16);
    uint64_t span = (uint64_t)need(json_get(floats, "span"), JSON_INTEGER)->integer;
    for (size_t i = 0; i < *length; i++) { /* SplitMix64 */
        uint64_t word = state += 0x9e3779b97f4a7c15u;
        word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
        word = (word ^ word >> 27) * 0x94d049bb133111ebu;
        row[i] = ldexp((double)((word ^ word >> 31) % span), type[0] == 'b' ? -4 : digits_of(type) == 4 ? -7 : -20);
    }
    for (json *one = put ? put->first : NULL; one != NULL; one = one->next) {
        json *place = need(one->first, JSON_INTEGER);
        if (place->integer < 0 || (size_t)place->integer >= *length) end_case(CRASHED, "", "a number is put outside of the row");
        row[place->integer] = number(type, need(place->next, JSON_STRING)->string);
    }
    return row;
}

static void answer_encode(const json *question, const vocabulary *with) {
    size_t length;
    if (with == NULL) end_case(SKIPPED, "", "no vocabulary is loaded");
    const char *text = read_text(question, &length);
    int64_t *ids = json_allocate((length + 1) * sizeof *ids);
    size_t count = encode(with, text, length, ids);
    json_put("{\"ids\":[");
    for (size_t i = 0; i < count; i++) {
        if (i) json_put(",");
        json_put_integer(ids[i]);
    }
    json_put("]}");
}

static void answer_top_k(const json *question) {
    json *probs = json_get(question, "probs"), *params = json_get(question, "params");
    json *k = json_get(params, "k"), *least = json_get(params, "least");
    size_t length, possible = 0;
    double lowest = probs ? 0.0 : -INFINITY, *row = read_floats(need(probs ? probs : json_get(question, "logits"), JSON_OBJECT), &length);
    for (size_t i = 0; i < length; i++) {
        if (!(row[i] >= lowest && row[i] < INFINITY)) end_case(REFUSED, "INVALID_ROW", "a number is not allowed");
        possible += row[i] > lowest;
    }
    if (possible == 0) end_case(REFUSED, "INVALID_ROW", "no token is possible");
    if (k == NULL || k->kind != JSON_INTEGER || k->integer < 1 || (least != NULL && (least->kind != JSON_INTEGER || least->integer < 1)))
        end_case(REFUSED, "INVALID_PARAMETER", "k must be a whole number from 1");
    char *kept = json_allocate(length);
    memset(kept, 0, length);
    top_k(row, length, lowest, least != NULL && least->integer > k->integer ? least->integer : k->integer, kept);
    json_put("{\"keep\":[");
    for (size_t i = 0, first = 1; i < length; i++)
        if (kept[i]) {
            if (!first) json_put(",");
            json_put_integer((int64_t)i);
            first = 0;
        }
    json_put("]}");
}

/* Reads a vocabulary file, or says why this engine has none such. Empties `into` first. */
static void read_vocabulary(const char *path, const char *digest, vocabulary *into) {
    for (size_t i = 0; i < into->count; i++) free((void *)into->tokens[i].bytes);
    free(into->tokens);
    free(into->digest);
    memset(into, 0, sizeof *into);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) end_case(CRASHED, "", "the vocabulary file cannot be read");
    size_t length = (size_t)ftell(file);
    char *content = json_allocate(length + 1);
    rewind(file);
    length = fread(content, 1, length, file);
    fclose(file);
    json *plain = json_read(content, length);
    if (plain == NULL) end_case(CRASHED, "", "the vocabulary file is not JSON");
    if (!json_is(json_get(plain, "rule"), "concatenation")) end_case(SKIPPED, "", "merges by concatenation only");
    json *pattern = json_get(plain, "pattern"), *form = json_get(plain, "normalization");
    if (pattern == NULL || pattern->kind != JSON_NULL || form == NULL || form->kind != JSON_NULL)
        end_case(SKIPPED, "", "has no patterns and no normalization");
    json *tokens = need(json_get(plain, "tokens"), JSON_LIST);
    into->tokens = calloc(tokens->length + 1, sizeof(token));
    into->digest = calloc(strlen(digest) + 1, 1);
    if (into->tokens == NULL || into->digest == NULL) abort();
    for (json *entry = tokens->first; entry != NULL; entry = entry->next) {
        json *hex = need(entry->first, JSON_STRING), *id = need(hex->next, JSON_INTEGER), *rank = need(id->next, JSON_INTEGER);
        token *new = &into->tokens[into->count];
        new->length = hex->length / 2;
        char *bytes = malloc(new->length + 1);
        if (bytes == NULL) abort();
        memcpy(bytes, read_hex(hex->string, hex->length), new->length);
        new->bytes = bytes;
        new->id = id->integer;
        new->rank = rank->integer;
        into->count++;
    }
    qsort(into->tokens, into->count, sizeof(token), by_bytes);
    json *whole = json_get(plain, "whole_piece");
    into->whole_piece = whole != NULL && whole->kind == JSON_TRUE;
    strcpy(into->digest, digest);
}

/* ---- The loop ---- */

static void on_crash(int signal_number) {
    end_case(CRASHED, "", signal_number == SIGABRT ? "abort" : signal_number == SIGFPE ? "arithmetic error" : "segmentation fault");
}

/* Puts what became of a load or a case: exactly one of ok, err, skip, crash. */
static void guarded(const char *op, const json *question, const char *digest, vocabulary *with) {
    size_t start = json_out.length;
    int how = sigsetjmp(case_start, 1);
    if (how == 0) {
        json_put("\"ok\":");
        if (strcmp(op, "load") == 0) {
            read_vocabulary(need(json_get(question, "path"), JSON_STRING)->string, digest, with);
            json_put("{}");
        } else if (strcmp(op, "encode") == 0) {
            answer_encode(question, with->digest != NULL && strcmp(with->digest, digest) == 0 ? with : NULL);
        } else if (strcmp(op, "top_k") == 0) {
            answer_top_k(question);
        } else end_case(SKIPPED, "", "has no such operation");
        return;
    }
    json_out.length = start;
    json_put(how == REFUSED ? "\"err\":{\"code\":" : how == SKIPPED ? "\"skip\":{" : "\"crash\":{");
    if (how == REFUSED) json_put_string(end_code, strlen(end_code));
    json_put(how == REFUSED ? ",\"msg\":" : how == SKIPPED ? "\"reason\":" : "\"msg\":");
    json_put_string(end_message, strlen(end_message));
    json_put("}");
}

static void put_member(const char *before, const json *string) {
    json_put(before);
    json_put_string(string != NULL ? string->string : "", string != NULL ? string->length : 0);
}

int main(void) {
    static char second_stack[1 << 16]; /* so that an overflow of the first one is caught, too */
    stack_t stack = {.ss_sp = second_stack, .ss_size = sizeof second_stack};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
    for (int i = 0; i < 4; i++) sigaction(signals[i], &action, NULL);

    vocabulary loaded = {0}; /* only the last one is kept */
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, stdin)) > 0) {
        json *message = json_read(line, (size_t)length), *cmd = json_get(message, "cmd"), *vocab = json_get(message, "vocab");
        const char *digest = vocab != NULL && vocab->kind == JSON_STRING ? vocab->string : "";
        json_out.length = 0;
        if (json_is(cmd, "hello")) {
            json_put("{\"proto\":1,\"impl\":{\"name\":\"my-engine\",\"version\":\"0.1\",\"language\":\"c\"},\"ops\":");
            json_put(OPS);
        } else if (json_is(cmd, "load")) {
            put_member("{\"id\":", json_get(message, "id"));
            json_put(",");
            guarded("load", message, digest, &loaded);
        } else if (json_is(cmd, "run")) {
            json *op = json_get(message, "op"), *cases = json_get(message, "cases");
            const char *name = op != NULL && op->kind == JSON_STRING ? op->string : "";
            put_member("{\"id\":", json_get(message, "id"));
            json_put(",\"results\":[");
            for (json *one = cases ? cases->first : NULL; one != NULL; one = one->next) {
                put_member(one == cases->first ? "{\"k\":" : ",{\"k\":", json_get(one, "k"));
                json_put(",");
                guarded(name, json_get(one, "in"), digest, &loaded);
                json_put("}");
            }
            json_put("]");
        } else break; /* bye, or what is no message */
        json_put("}\n");
        fwrite(json_out.text, 1, json_out.length, stdout);
        fflush(stdout);
        json_free_all();
    }
    return 0;
}
