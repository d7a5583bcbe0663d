/* The values of parameters: usual ones, as text, as JSON, and read from text. */
#include "op/params.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/descriptor.h"
#include "op/typed.h"

const char *const hc_param_kinds[HC_PARAM_KIND_COUNT] = {
    [HC_PARAM_REAL] = "real",     [HC_PARAM_SINGLE] = "real", [HC_PARAM_INTEGER] = "integer",
    [HC_PARAM_LONG] = "integer",  [HC_PARAM_FLAG] = "flag",   [HC_PARAM_WORD] = "word",
    [HC_PARAM_FORMAT] = "format", [HC_PARAM_SEED] = "seed",
};

const struct hc_param *hc_op_params(enum hc_op op)
{
    static const struct hc_param none[] = {{0}};
    const struct hc_param *params = hc_descriptor(op)->params;
    return params ? params : none;
}

const struct hc_param *hc_op_param(enum hc_op op, const char *name)
{
    const struct hc_param *p = hc_op_params(op);
    while (p->name && strcmp(p->name, name) != 0)
        p++;
    return p->name ? p : NULL;
}

size_t hc_param_size(const struct hc_param *param)
{
    static const size_t sizes[HC_PARAM_KIND_COUNT] = {
        [HC_PARAM_REAL] = sizeof(double), [HC_PARAM_SINGLE] = sizeof(float),
        [HC_PARAM_INTEGER] = sizeof(int), [HC_PARAM_LONG] = sizeof(int64_t),
        [HC_PARAM_FLAG] = sizeof(bool),   [HC_PARAM_WORD] = sizeof(int),
        [HC_PARAM_FORMAT] = sizeof(int),  [HC_PARAM_SEED] = sizeof(uint64_t),
    };
    return sizes[param->kind];
}

const char *hc_param_choice(const struct hc_param *param, int choice)
{
    if (param->kind == HC_PARAM_FORMAT)
        return choice >= 0 && choice < HC_FORMAT_COUNT ? hc_formats[choice].name : NULL;
    return choice >= 0 && choice < param->word_count ? param->words[choice] : NULL;
}

/* The values of parameters: usual ones, as text, as JSON, and read from text. */

static int elements(const struct hc_param *param)
{
    return param->count ? param->count : 1;
}

/* One value of any kind. */
union value {
    double real;
    float single;
    int integer;
    int64_t whole;
    bool flag;
    uint64_t seed;
};

static union value get(const struct hc_param *p, const union hc_params *params, int i)
{
    union value v = {.seed = 0};
    size_t size = hc_param_size(p);
    memcpy(&v, (const char *)params + p->offset + (size_t)i * size, size);
    return v;
}

static void set(const struct hc_param *p, union hc_params *params, int i, const union value *v)
{
    size_t size = hc_param_size(p);
    memcpy((char *)params + p->offset + (size_t)i * size, v, size);
}

/* A NaN is "nan", whatever its sign is. */
static int print_real(char *text, size_t size, double number)
{
    return number == number ? snprintf(text, size, "%a", number) : snprintf(text, size, "nan");
}

static size_t print(const struct hc_param *p, const union hc_params *params, int i, char *text,
                    size_t size)
{
    union value v = get(p, params, i);
    const char *choice;
    int length = 0;
    switch (p->kind) {
    case HC_PARAM_REAL:
        length = print_real(text, size, v.real);
        break;
    case HC_PARAM_SINGLE:
        length = print_real(text, size, (double)v.single);
        break;
    case HC_PARAM_INTEGER:
        length = snprintf(text, size, "%d", v.integer);
        break;
    case HC_PARAM_LONG:
        length = snprintf(text, size, "%" PRId64, v.whole);
        break;
    case HC_PARAM_FLAG:
        length = snprintf(text, size, "%s", v.flag ? "true" : "false");
        break;
    case HC_PARAM_SEED:
        length = snprintf(text, size, "0x%" PRIx64, v.seed);
        break;
    default:
        choice = hc_param_choice(p, v.integer);
        length = snprintf(text, size, "%s", choice ? choice : "?");
    }
    return (size_t)length;
}

void hc_param_text(const struct hc_param *param, const union hc_params *params,
                   char text[HC_PARAM_TEXT])
{
    size_t used = 0;
    for (int i = 0; i < elements(param); i++) {
        if (i)
            text[used++] = ',';
        used += print(param, params, i, text + used, HC_PARAM_TEXT - used);
    }
}

void hc_param_json(const struct hc_param *param, const union hc_params *params,
                   char text[HC_PARAM_TEXT])
{
    enum hc_param_kind kind = param->kind;
    bool bare = kind == HC_PARAM_INTEGER || kind == HC_PARAM_LONG || kind == HC_PARAM_FLAG;
    size_t used = 0;
    for (int i = 0; i < elements(param); i++) {
        char value[HC_PARAM_TEXT];
        (void)print(param, params, i, value, sizeof value);
        used += (size_t)snprintf(text + used, HC_PARAM_TEXT - used, bare ? "%s%s" : "%s\"%s\"",
                                 i              ? ", "
                                 : param->count ? "["
                                                : "",
                                 value);
    }
    if (param->count)
        (void)snprintf(text + used, HC_PARAM_TEXT - used, "]");
}

static bool read_choice(const struct hc_param *p, const char *text, int *number)
{
    const char *choice;
    for (*number = 0; (choice = hc_param_choice(p, *number)) != NULL; (*number)++)
        if (strcmp(choice, text) == 0)
            return true;
    return false;
}

static bool read_flag(const char *text, bool *flag)
{
    *flag = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return *flag || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

static bool read_whole(const struct hc_param *p, const char *text, char **end, union value *v)
{
    bool small = p->kind == HC_PARAM_INTEGER;
    long long whole = strtoll(text, end, 10);
    if (small)
        v->integer = (int)whole;
    else
        v->whole = whole;
    return !errno && (!small || (whole >= INT_MIN && whole <= INT_MAX));
}

/* Whether the whole text is a value of the parameter's kind. A real that is too large or too small
   becomes what strtod says: an infinity, or the nearest number. */
static bool read_value(const struct hc_param *p, const char *text, union value *v)
{
    char *end = (char *)text;
    bool good = !isspace((unsigned char)text[0]);
    errno = 0;
    switch (p->kind) {
    case HC_PARAM_REAL:
        v->real = strtod(text, &end);
        break;
    case HC_PARAM_SINGLE:
        v->single = strtof(text, &end);
        break;
    case HC_PARAM_INTEGER:
    case HC_PARAM_LONG:
        good &= read_whole(p, text, &end, v);
        break;
    case HC_PARAM_SEED:
        v->seed = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
        good &= !errno && isdigit((unsigned char)text[0]);
        break;
    case HC_PARAM_FLAG:
        return read_flag(text, &v->flag);
    default:
        return read_choice(p, text, &v->integer);
    }
    return good && end != text && *end == '\0';
}

/* Adds a name to a list in a text of so many bytes, or "..." in place of the first that leaves no
   room for that: whether it was the name. */
static bool add_name(char *text, size_t size, const char *between, const char *name)
{
    static const char rest[] = ", ...";
    size_t used = strlen(text);
    bool fits = used + strlen(between) + strlen(name) + sizeof rest <= size;
    (void)snprintf(text + used, size - used, "%s%s", fits ? between : "", fits ? name : rest);
    return fits;
}

/* "true or false", "one of ours, torch-fused", "a whole number". */
static void expected(const struct hc_param *p, char text[HC_PARAM_TEXT])
{
    static const char *const kinds[HC_PARAM_KIND_COUNT] = {
        [HC_PARAM_REAL] = "a number",          [HC_PARAM_SINGLE] = "a number",
        [HC_PARAM_INTEGER] = "a whole number", [HC_PARAM_LONG] = "a whole number",
        [HC_PARAM_FLAG] = "true or false",     [HC_PARAM_SEED] = "a number from 0 to 2^64 - 1",
    };
    const char *choice;
    (void)snprintf(text, HC_PARAM_TEXT, "%s", kinds[p->kind] ? kinds[p->kind] : "one of");
    if (p->count)
        (void)snprintf(text, HC_PARAM_TEXT, "%d numbers with commas between", p->count);
    for (int i = 0; (choice = hc_param_choice(p, i)) != NULL; i++)
        if (!add_name(text, HC_PARAM_TEXT, i ? ", " : " ", choice))
            return;
}

static enum hc_status no_param(enum hc_op op, const char *name)
{
    char known[256] = "";
    bool room = true;
    struct hc_nearest nearest = hc_nearest_to(name, strlen(name));
    for (const struct hc_param *p = hc_op_params(op); p->name; p++) {
        room = room && add_name(known, sizeof known, known[0] ? ", " : "", p->name);
        hc_nearest_try(&nearest, p->name);
    }
    if (!known[0])
        return hc_fail(HC_INVALID, "%s has no parameters, so no '%s'", hc_ops[op].name, name);
    const char *hint = hc_nearest_hint(&nearest);
    return hc_fail(HC_INVALID, "%s has no parameter '%s'%s it has %s", hc_ops[op].name, name,
                   hint[0] ? hint : ";", known);
}

enum hc_status hc_param_read(enum hc_op op, union hc_params *params, const char *name,
                             const char *text)
{
    const struct hc_param *p = hc_op_param(op, name);
    if (!p)
        return no_param(op, name);
    union hc_params changed = *params;
    const char *at = text;
    int i = 0;
    for (bool good = true; good && i < elements(p); i += good) {
        char element[64] = "";
        union value v = {.seed = 0};
        size_t length = strcspn(at, p->count ? "," : "");
        good = length < sizeof element && (i == elements(p) - 1) == (at[length] == '\0');
        memcpy(element, at, good ? length : 0);
        good = good && read_value(p, element, &v);
        set(p, &changed, i, &v);
        at += length + (at[length] == ',');
    }
    if (i == elements(p)) {
        *params = changed;
        return HC_OK;
    }
    char wanted[HC_PARAM_TEXT];
    expected(p, wanted);
    return hc_fail(HC_INVALID, "%s: %s is %s, not '%s'", hc_ops[op].name, name, wanted, text);
}

void hc_params_usual(enum hc_op op, union hc_params *params)
{
    memset(params, 0, sizeof *params);
    for (const struct hc_param *p = hc_op_params(op); p->name; p++) {
        enum hc_status status = hc_param_read(op, params, p->name, p->usual);
        assert(status == HC_OK);
        (void)status;
    }
}
