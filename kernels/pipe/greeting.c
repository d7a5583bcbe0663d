#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "kernels/pipe/greeting.h"
#include "op/descriptor.h"
#include "op/params.h"
#include "op/typed.h"
#include "op/text.h"

/* Reads an array of words as bits 1 << number; name_of gives the words by number. */
static enum hc_status read_words(const char *op, const char *key, const json_t *value,
                                 const char *(*name_of)(enum hc_op op, int number), unsigned *set)
{
    enum hc_op number_of_op = hc_op_by_name(op);
    size_t i;
    json_t *element;
    *set = 0;
    if (!json_is_array(value) || json_array_size(value) == 0)
        return hc_fail(HC_INVALID, "the \"%s\" of %s are no array of words", key, op);
    json_array_foreach(value, i, element)
    {
        const char *word = json_string_value(element);
        const char *name;
        int n = 0;
        struct hc_nearest nearest = hc_nearest_to(word ? word : "", word ? strlen(word) : 0);
        while ((name = name_of(number_of_op, n)) && (!word || strcmp(name, word) != 0)) {
            hc_nearest_try(&nearest, name);
            n++;
        }
        if (!name)
            return hc_fail(HC_INVALID, "'%s' is none of the \"%s\" of %s%s",
                           word ? word : "something", key, op, hc_nearest_hint(&nearest));
        *set |= 1u << n;
    }
    return HC_OK;
}

static const char *format_name(enum hc_op op, int number)
{
    (void)op;
    return number < HC_FORMAT_COUNT ? hc_formats[number].name : NULL;
}

static const char *order_name(enum hc_op op, int number)
{
    const struct hc_param *order = hc_op_param(op, "order");
    return order ? hc_param_choice(order, number) : NULL;
}

/* The formats of a first input that a program has where it names none: not fp64, and not the fp8 of
   an op that multiplies it, which few programs have. */
static unsigned usual_formats(enum hc_op op)
{
    const struct hc_descriptor *d = hc_descriptor(op);
    unsigned fp64 = d->fp64 ? 1u << HC_FP64 : 0;
    unsigned fp8 = d->in[HC_FIRST].format == HC_ALLOW_FLOAT_OR_FP8 ? HC_FP8_FORMATS : 0;
    return hc_slot_formats(op, HC_FIRST, false) & ~fp64 & ~fp8;
}

static enum hc_status read_op(struct hc_greeting *g, enum hc_op op, const json_t *value)
{
    const char *key;
    json_t *words;
    const char *name = hc_ops[op].name;
    enum hc_status status = HC_OK;
    if (!json_is_object(value))
        return hc_fail(HC_INVALID, "in \"ops\", %s is no object", name);
    g->has[op] = true;
    g->formats[op] = usual_formats(op);
    json_object_foreach((json_t *)value, key, words)
    {
        if (strcmp(key, "formats") == 0)
            status = read_words(name, key, words, format_name, &g->formats[op]);
        else if (strcmp(key, "orders") == 0 && hc_op_param(op, "order"))
            status = read_words(name, key, words, order_name, &g->orders[op]);
        else
            status = hc_fail(HC_INVALID, "%s has no '%s'; it has \"formats\"%s", name, key,
                             hc_op_param(op, "order") ? " and \"orders\"" : "");
        if (status != HC_OK)
            return status;
    }
    unsigned wrong = g->formats[op] & ~hc_slot_formats(op, HC_FIRST, false);
    for (int f = 0; f < HC_FORMAT_COUNT; f++)
        if (wrong >> f & 1)
            return hc_fail(HC_INVALID, "the first input of %s is never %s", name,
                           hc_formats[f].name);
    return HC_OK;
}

static enum hc_status read_ops(struct hc_greeting *greeting, const json_t *value)
{
    const char *name;
    json_t *offered;
    if (!json_is_object(value) || (json_object_size(value) == 0 && !greeting->defines))
        return hc_fail(HC_INVALID, "\"ops\" is no object of ops");
    json_object_foreach((json_t *)value, name, offered)
    {
        enum hc_op op = hc_op_by_name(name);
        struct hc_nearest nearest = hc_nearest_to(name, strlen(name));
        for (int i = 0; i < HC_OP_COUNT; i++)
            hc_nearest_try(&nearest, hc_ops[i].name);
        if ((int)op == HC_OP_COUNT)
            return hc_fail(HC_INVALID, "there is no op '%s'%s; see: halfcheck list ops", name,
                           hc_nearest_hint(&nearest));
        enum hc_status status = read_op(greeting, op, offered);
        if (status != HC_OK)
            return status;
    }
    return HC_OK;
}

/* true: it is asked for every definition; or an array of digests. */
static enum hc_status read_definitions(struct hc_greeting *greeting, const json_t *value)
{
    size_t i;
    json_t *element;
    greeting->defines = true;
    if (json_is_true(value))
        return HC_OK;
    if (!json_is_array(value) || json_array_size(value) == 0 ||
        json_array_size(value) > HC_GREETING_DIGESTS)
        return hc_fail(HC_INVALID,
                       "\"definitions\" is neither true nor an array of 1 to %d digests",
                       HC_GREETING_DIGESTS);
    json_array_foreach(value, i, element)
    {
        const char *digest = json_string_value(element);
        if (!digest || strlen(digest) != HC_GREETING_DIGEST ||
            strspn(digest, "0123456789abcdef") != HC_GREETING_DIGEST)
            return hc_fail(HC_INVALID,
                           "in \"definitions\", '%.40s' is no digest of %d hexadecimal digits, as "
                           "halfcheck define prints it",
                           digest ? digest : "something", HC_GREETING_DIGEST);
        memcpy(greeting->digest[greeting->digests++], digest, HC_GREETING_DIGEST + 1);
    }
    return HC_OK;
}

/* A number that an int does not hold is as impossible as other large ones; it must not wrap. */
static int as_int(json_int_t n)
{
    return n < INT_MIN || n > INT_MAX ? INT_MAX : (int)n;
}

static enum hc_status no_factors(const char *word)
{
    struct hc_nearest nearest = hc_nearest_to(word, strlen(word));
    for (int f = 0; f < HC_FORMAT_COUNT; f++)
        hc_nearest_try(&nearest, hc_formats[f].name);
    return hc_fail(HC_INVALID,
                   "\"accumulator\": '%.40s' in \"flushes\" is no format, such as bf16 or tf32, "
                   "nor an op's, such as gemm/bf16%s",
                   word, hc_nearest_hint(&nearest));
}

/* "bf16", in all ops, or "gemm/bf16", in one. False if it is neither. */
static bool read_flushed(struct hc_greeting *g, const char *word)
{
    char name[40];
    const char *slash = strchr(word, '/');
    enum hc_format format = hc_format_by_name(slash ? slash + 1 : word);
    size_t length = slash ? (size_t)(slash - word) : 0;
    if (format == HC_FORMAT_COUNT || length >= sizeof name)
        return false;
    memcpy(name, word, length);
    name[length] = '\0';
    if (slash && (int)hc_op_by_name(name) == HC_OP_COUNT)
        return false;
    for (int op = 0; op < HC_OP_COUNT; op++)
        if (!slash || strcmp(hc_ops[op].name, name) == 0)
            g->flushed[op] |= 1u << format;
    return true;
}

/* true, false, or the formats of factors whose products are flushed. */
static enum hc_status read_flushes(struct hc_greeting *g, const json_t *value)
{
    size_t i;
    json_t *element;
    if (value && !json_is_array(value) && !json_is_boolean(value))
        return hc_fail(HC_INVALID, "\"accumulator\": \"flushes\" is neither true nor false nor an "
                                   "array of formats");
    g->accumulator.flushes = json_is_true(value);
    memset(g->flushed, 0, sizeof g->flushed);
    json_array_foreach(value, i, element)
    {
        const char *word = json_string_value(element);
        if (!word || !read_flushed(g, word))
            return no_factors(word ? word : "something");
    }
    return HC_OK;
}

/* The same limits as for plug-ins: a bound must be derivable. */
static enum hc_status read_accumulator(struct hc_greeting *greeting, const json_t *value)
{
    struct hc_accumulator *a = &greeting->accumulator;
    json_error_t error;
    json_int_t precision = a->precision;
    json_int_t block = a->block;
    json_int_t extra_bits = a->extra_bits;
    int truncates = 0;
    json_t *flushes = NULL;
    int aligns_subnormals = 0;
    if (json_unpack_ex((json_t *)value, &error, JSON_STRICT, "{s:I, s?I, s?I, s?b, s?o, s?b}",
                       "precision", &precision, "block", &block, "extra_bits", &extra_bits,
                       "truncates", &truncates, "flushes", &flushes, "aligns_subnormals",
                       &aligns_subnormals) != 0)
        return hc_fail(HC_INVALID, "\"accumulator\": %.80s", error.text);
    a->precision = as_int(precision);
    a->block = as_int(block);
    a->extra_bits = as_int(extra_bits);
    a->truncates = truncates;
    a->aligns_subnormals = aligns_subnormals;
    if (hc_accumulator_possible(a))
        return read_flushes(greeting, flushes);
    return hc_fail(HC_INVALID, "\"accumulator\" is impossible: precision is 8 to 64, block 1 to "
                               "65536, extra_bits 0 to 64");
}

static const char *const extents[HC_EXTENT_COUNT] = {
    [HC_EXTENT_VECTOR] = "vector",
    [HC_EXTENT_TERMS] = "terms",
    [HC_EXTENT_GEMM_M] = "gemm_m",
    [HC_EXTENT_GEMM_N] = "gemm_n",
    [HC_EXTENT_GEMM_K] = "gemm_k",
    [HC_EXTENT_CONV_IMAGES] = "conv_images",
    [HC_EXTENT_CONV_CHANNELS] = "conv_channels",
    [HC_EXTENT_CONV_FILTERS] = "conv_filters",
    [HC_EXTENT_CONV_PIXELS] = "conv_pixels",
    [HC_EXTENT_CONV_IMAGE] = "conv_image",
    [HC_EXTENT_CONV_WEIGHTS] = "conv_weights",
    [HC_EXTENT_NORM_CHANNELS] = "norm_channels",
    [HC_EXTENT_NORM_ELEMENTS] = "norm_elements",
    [HC_EXTENT_POOL_CHANNELS] = "pool_channels",
    [HC_EXTENT_POOL_ELEMENTS] = "pool_elements",
    [HC_EXTENT_LOSS_ROWS] = "loss_rows",
    [HC_EXTENT_LOSS_CLASSES] = "loss_classes",
    [HC_EXTENT_TABLE_ROWS] = "table_rows",
};

static enum hc_status read_sizes(struct hc_greeting *g, int extent, const json_t *sizes, int *count)
{
    const json_int_t most = 1 << 24; /* a case crosses the border with tensors of this size */
    size_t i;
    json_t *size;
    if (!json_is_array(sizes))
        return hc_fail(HC_INVALID, "in \"borders\", %s is no array of sizes", extents[extent]);
    json_array_foreach(sizes, i, size)
    {
        json_int_t n = json_integer_value(size);
        if (n < 1 || n > most)
            return hc_fail(HC_INVALID, "in \"borders\", a size of %s is not 1 to %lld",
                           extents[extent], (long long)most);
        if (*count == HC_GREETING_BORDERS)
            return hc_fail(HC_INVALID, "\"borders\" has more than %d sizes", HC_GREETING_BORDERS);
        g->borders[(*count)++] = (struct hc_border){(enum hc_extent)extent, n};
    }
    return HC_OK;
}

static enum hc_status read_borders(struct hc_greeting *greeting, const json_t *value)
{
    const char *name;
    json_t *sizes;
    int count = 0;
    if (!json_is_object(value))
        return hc_fail(HC_INVALID, "\"borders\" is no object of sizes");
    json_object_foreach((json_t *)value, name, sizes)
    {
        int extent = 0;
        struct hc_nearest nearest = hc_nearest_to(name, strlen(name));
        while (extent < HC_EXTENT_COUNT && strcmp(extents[extent], name) != 0)
            hc_nearest_try(&nearest, extents[extent++]);
        if (extent == HC_EXTENT_COUNT)
            return hc_fail(HC_INVALID, "in \"borders\", there is no extent '%s'%s", name,
                           hc_nearest_hint(&nearest));
        enum hc_status status = read_sizes(greeting, extent, sizes, &count);
        if (status != HC_OK)
            return status;
    }
    return HC_OK;
}

/* Reads a greeting by a table of its keys. A key that is not in it is refused: a typing error that
   was passed over would leave an op untested. */

/* Copies a text of the program as one line of UTF-8, as much of it as fits. */
static void copy_text(char *to, size_t size, const char *from)
{
    char character[5];
    size_t used = 0;
    size_t length;
    while ((length = hc_text_next(&from, character)) > 0 && used + length < size) {
        memcpy(to + used, character, length);
        used += length;
    }
    to[used] = '\0';
}

static enum hc_status read_version(struct hc_greeting *g, const json_t *value)
{
    (void)g;
    if (json_is_integer(value) && json_integer_value(value) == HC_PIPE_VERSION)
        return HC_OK;
    return hc_fail(HC_INVALID, "\"pipe\" is not %d, the version that halfcheck speaks",
                   HC_PIPE_VERSION);
}

static enum hc_status read_name(struct hc_greeting *g, const json_t *value)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
    const char *name = json_string_value(value);
    if (!name || !*name || name[strspn(name, letters)] || strlen(name) > 40)
        return hc_fail(HC_INVALID, "\"name\" is not 1 to 40 small letters, digits and - _ .");
    (void)snprintf(g->name, sizeof g->name, "%s", name);
    return HC_OK;
}

static enum hc_status read_title(struct hc_greeting *g, const json_t *value)
{
    if (!json_is_string(value))
        return hc_fail(HC_INVALID, "\"title\" is no string");
    copy_text(g->title, sizeof g->title, json_string_value(value));
    return HC_OK;
}

static enum hc_status read_layout(struct hc_greeting *g, const json_t *value)
{
    const char *layout = json_string_value(value);
    if (!layout || (strcmp(layout, "nchw") != 0 && strcmp(layout, "nhwc") != 0))
        return hc_fail(HC_INVALID, "\"layout\" is neither \"nchw\" nor \"nhwc\"");
    g->nchw = strcmp(layout, "nchw") == 0;
    return HC_OK;
}

static enum hc_status read_flag(const char *key, const json_t *value, bool *flag)
{
    *flag = json_is_true(value);
    if (json_is_boolean(value))
        return HC_OK;
    return hc_fail(HC_INVALID, "\"%s\" is neither true nor false", key);
}

static enum hc_status read_nondeterministic(struct hc_greeting *g, const json_t *value)
{
    return read_flag("nondeterministic", value, &g->nondeterministic);
}

static enum hc_status read_canonical(struct hc_greeting *g, const json_t *value)
{
    return read_flag("canonical_nan", value, &g->canonical_nan);
}

static enum hc_status read_parallel(struct hc_greeting *g, const json_t *value)
{
    return read_flag("parallel", value, &g->parallel);
}

static enum hc_status read_shared(struct hc_greeting *g, const json_t *value)
{
    return read_flag("shared", value, &g->shared);
}

static enum hc_status read_facts(struct hc_greeting *g, const json_t *value)
{
    const char *name;
    json_t *fact;
    if (!json_is_object(value) || json_object_size(value) > HC_GREETING_FACTS)
        return hc_fail(HC_INVALID, "\"facts\" is no object of at most %d texts", HC_GREETING_FACTS);
    json_object_foreach((json_t *)value, name, fact)
    {
        struct hc_greeting_fact *f = &g->fact[g->facts];
        if (!json_is_string(fact))
            return hc_fail(HC_INVALID, "in \"facts\", '%s' is no string", name);
        copy_text(f->name, sizeof f->name, name);
        copy_text(f->fact, sizeof f->fact, json_string_value(fact));
        g->facts++;
    }
    return HC_OK;
}

static const struct {
    const char *key;
    enum hc_status (*read)(struct hc_greeting *g, const json_t *value);
    bool needed;
} keys[] = {
    {"pipe", read_version, true},
    {"name", read_name, true},
    {"title", read_title, false},
    {"definitions", read_definitions, false},
    {"ops", read_ops, true},
    {"layout", read_layout, false},
    {"accumulator", read_accumulator, false},
    {"borders", read_borders, false},
    {"nondeterministic", read_nondeterministic, false},
    {"canonical_nan", read_canonical, false},
    {"parallel", read_parallel, false},
    {"shared", read_shared, false},
    {"facts", read_facts, false},
};

enum { KEYS = sizeof keys / sizeof keys[0] };

static enum hc_status unknown_key(const char *key)
{
    struct hc_nearest nearest = hc_nearest_to(key, strlen(key));
    for (size_t k = 0; k < KEYS; k++)
        hc_nearest_try(&nearest, keys[k].key);
    return hc_fail(HC_INVALID, "there is no key '%s'%s", key, hc_nearest_hint(&nearest));
}

static enum hc_status read_keys(struct hc_greeting *g, const json_t *greeting)
{
    const char *key;
    json_t *value;
    for (size_t k = 0; k < KEYS; k++) {
        value = json_object_get(greeting, keys[k].key);
        if (!value && keys[k].needed)
            return hc_fail(HC_INVALID, "it lacks \"%s\"", keys[k].key);
        enum hc_status status = value ? keys[k].read(g, value) : HC_OK;
        if (status != HC_OK)
            return status;
    }
    json_object_foreach((json_t *)greeting, key, value)
    {
        size_t k = 0;
        while (k < KEYS && strcmp(keys[k].key, key) != 0)
            k++;
        if (k == KEYS)
            return unknown_key(key);
    }
    return HC_OK;
}

enum hc_status hc_greeting_read(struct hc_greeting *greeting, const char *who, const char *line,
                                size_t length)
{
    json_error_t error;
    json_t *document = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    memset(greeting, 0, sizeof *greeting);
    greeting->accumulator = (struct hc_accumulator){.precision = 24, .block = 1};
    enum hc_status status;
    if (!document)
        status = hc_fail(HC_INVALID, "it is no JSON: %.80s", error.text);
    else if (!json_is_object(document))
        status = hc_fail(HC_INVALID, "it is no object");
    else
        status = read_keys(greeting, document);
    json_decref(document);
    char why[256];
    (void)snprintf(why, sizeof why, "%s", hc_message());
    return status == HC_OK ? HC_OK : hc_fail(status, "%.120s greets wrongly: %s", who, why);
}

bool hc_greeting_same(const struct hc_greeting *one, const struct hc_greeting *other)
{
    return strcmp(one->name, other->name) == 0 && one->nchw == other->nchw &&
           memcmp(one->has, other->has, sizeof one->has) == 0 &&
           memcmp(one->formats, other->formats, sizeof one->formats) == 0 &&
           memcmp(one->orders, other->orders, sizeof one->orders) == 0 &&
           one->defines == other->defines && one->digests == other->digests &&
           memcmp(one->digest, other->digest, sizeof one->digest) == 0;
}
