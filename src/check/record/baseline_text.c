/* What a baseline's lines are made of: names, digests and what MPFR judged as words, and the
   members of a record's document, a path and JSON in one line. */
#include "check/record/baseline_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static bool has_meaning(const char *text, size_t length)
{
    static const char *const words[] = {"backend", "unit", "digits",   "usual", "part",
                                        "results", "end",  "training", "drift"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0)
            return true;
    return false;
}

void hc_baseline_escape(FILE *out, const char *text, size_t length, const char *also, bool begins)
{
    bool escapes = begins && has_meaning(text, length);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool plain = c > ' ' && c < 0x7f && c != '%' && !strchr(also, c) && !(escapes && i == 0);
        (void)fprintf(out, plain ? "%c" : "%%%02x", c);
    }
    if (length == 0)
        (void)fputc('%', out);
}

bool hc_baseline_unescape(char *text)
{
    char *to = text;
    if (strcmp(text, "%") == 0)
        *text = '\0';
    for (const char *from = text; *from; to++) {
        char hex[3] = {0};
        char *end;
        if (*from != '%') {
            *to = *from++;
            continue;
        }
        (void)strncpy(hex, from + 1, 2);
        long code = strspn(hex, "0123456789abcdef") == 2 ? strtol(hex, &end, 16) : 0;
        if (code == 0)
            return false;
        *to = (char)code;
        from += 3;
    }
    *to = '\0';
    return true;
}

void hc_baseline_digest(uint64_t digest, char text[HC_BASELINE_DIGEST_TEXT])
{
    for (int i = 0; i < 4; i++)
        text[i] = base64[digest >> (58 - 6 * i) & 63];
    text[4] = '\0';
}

bool hc_baseline_read_digest(const char *text, uint64_t *digest)
{
    *digest = 0;
    for (int i = 0; i < 4; i++) {
        const char *at = text[i] ? strchr(base64, text[i]) : NULL;
        if (!at)
            return false;
        *digest |= (uint64_t)(at - base64) << (58 - 6 * i);
    }
    return text[4] == '\0';
}

bool hc_baseline_has_sight(const struct hc_row *row)
{
    return row->looked_of > 0 || row->largest.work > 0;
}

bool hc_baseline_same_sight(const struct hc_row *a, const struct hc_row *b)
{
    return a->looked_at == b->looked_at && a->looked_of == b->looked_of &&
           a->special == b->special && a->largest.work == b->largest.work;
}

void hc_baseline_print_sight(FILE *out, const struct hc_row *row)
{
    if (row->looked_at != row->looked_of)
        (void)fprintf(out, "%" PRId64 "/", row->looked_at);
    (void)fprintf(out, "%" PRId64, row->looked_of);
    if (row->special)
        (void)fprintf(out, "+%" PRId64, row->special);
    if (row->largest.work)
        (void)fprintf(out, "*%" PRId64, row->largest.work);
}

/* Reads the digits at *at, which end before `end`, and moves *at behind them. */
static bool count_at(const char **at, const char *end, int64_t *count)
{
    const char *from = *at;
    *count = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && *at - from < 19; ++*at)
        *count = *at - from < 18 ? *count * 10 + (**at - '0') : *count;
    return *at > from && *at - from <= 18;
}

/* The count behind the sign, if it stands there; else there is none, which is right, too. */
static bool count_behind(char sign, const char **at, const char *end, int64_t *count)
{
    if (*at == end || **at != sign)
        return true;
    ++*at;
    return count_at(at, end, count);
}

bool hc_baseline_read_sight(const char *text, size_t length, struct hc_row *row)
{
    const char *end = text + length;
    row->special = row->largest.work = 0;
    if (!count_at(&text, end, &row->looked_at))
        return false;
    row->looked_of = row->looked_at;
    return count_behind('/', &text, end, &row->looked_of) &&
           count_behind('+', &text, end, &row->special) &&
           count_behind('*', &text, end, &row->largest.work) && text == end;
}

/* The members of a record's document as lines of a baseline: a path and JSON in one line. */

enum { DEPTH = 3 };

/* Bytes with a meaning in a path. */
static const char meaning[] = ".[]";

static bool is_in(const char *const *list, const char *key)
{
    while (*list && strcmp(*list, key) != 0)
        list++;
    return *list != NULL;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The path of a value: the object's, and the keys from there on. */
struct place {
    const struct place *above; /* NULL at the top */
    const char *key;
};

static void print_path(FILE *out, const struct place *place)
{
    if (place->above) {
        print_path(out, place->above);
        (void)fputc('.', out);
    }
    hc_baseline_escape(out, place->key, strlen(place->key), meaning, !place->above);
}

static void print_line(FILE *out, const struct place *place, const char *list, const json_t *value)
{
    print_path(out, place);
    (void)fprintf(out, "%s ", list);
    (void)json_dumpf(value, out,
                     JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    (void)fputc('\n', out);
}

static bool is_list_of_objects(const json_t *value)
{
    size_t i = 0;
    while (i < json_array_size(value) && json_is_object(json_array_get(value, i)))
        i++;
    return i > 0 && i == json_array_size(value);
}

static bool print_object(FILE *out, const json_t *object, const struct place *above, int depth,
                         const char *const *without);

static bool print_value(FILE *out, const struct place *place, const json_t *value, int depth)
{
    static const char *const all[] = {NULL};
    if (json_object_size(value) > 0 && depth < DEPTH)
        return print_object(out, value, place, depth, all);
    if (is_list_of_objects(value))
        for (size_t i = 0; i < json_array_size(value); i++)
            print_line(out, place, "[]", json_array_get(value, i));
    else
        print_line(out, place, "", value);
    return true;
}

/* False if there is no memory. */
static bool print_object(FILE *out, const json_t *object, const struct place *above, int depth,
                         const char *const *without)
{
    const char *key;
    json_t *value;
    size_t count = 0;
    const char **keys = malloc((json_object_size(object) + 1) * sizeof *keys);
    bool ok = keys != NULL;
    json_object_foreach((json_t *)object, key, value)
    {
        if (ok && !is_in(without, key))
            keys[count++] = key;
    }
    if (count)
        qsort(keys, count, sizeof *keys, by_key);
    for (size_t i = 0; i < count && ok; i++) {
        struct place place = {above, keys[i]};
        ok = print_value(out, &place, json_object_get(object, keys[i]), depth + 1);
    }
    free(keys);
    return ok;
}

bool hc_baseline_print_members(FILE *out, const json_t *object, const char *const *without)
{
    return print_object(out, object, NULL, 0, without);
}

/* The object under the key, which is made if there is none; NULL if something else is there. */
static json_t *object_at(json_t *object, const char *key)
{
    json_t *inner = json_object_get(object, key);
    if (inner)
        return json_is_object(inner) ? inner : NULL;
    (void)json_object_set_new(object, key, json_object());
    return json_object_get(object, key);
}

/* Takes the reference to the value. */
static const char *put(json_t *object, char *key, bool of_list, json_t *value)
{
    if (!hc_baseline_unescape(key)) {
        json_decref(value);
        return "the path has a wrong escape";
    }
    json_t *there = json_object_get(object, key);
    if (!of_list && !there) {
        (void)json_object_set_new(object, key, value);
        return NULL;
    }
    if (of_list && !there) {
        (void)json_object_set_new(object, key, json_array());
        there = json_object_get(object, key);
    }
    if (of_list && json_is_array(there)) {
        (void)json_array_append_new(there, value);
        return NULL;
    }
    json_decref(value);
    return "the path stands there twice";
}

const char *hc_baseline_read_member(json_t *object, char *line)
{
    char *space = strchr(line, ' ');
    if (!space)
        return "there is no value behind the path";
    *space = '\0';
    char *path = line;
    for (char *dot; (dot = strchr(path, '.')) != NULL; path = dot + 1) {
        *dot = '\0';
        object = hc_baseline_unescape(path) ? object_at(object, path) : NULL;
        if (!object)
            return "the path has a wrong escape, or leads through a value";
    }
    size_t length = strlen(path);
    bool of_list = length > 2 && strcmp(path + length - 2, "[]") == 0;
    if (of_list)
        path[length - 2] = '\0';
    json_t *value = json_loads(space + 1, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    return value ? put(object, path, of_list, value) : "what stands behind the path is no JSON";
}
