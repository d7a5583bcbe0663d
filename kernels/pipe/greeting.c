/* Reads a greeting by a table of its keys. A key that is not in it is refused: a typing error that
   was passed over would leave an op untested. */
#include "kernels/pipe/greeting.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "kernels/pipe/offer.h"
#include "op/text.h"
#include "op/typed.h"

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
    {"definitions", hc_offer_read_definitions, false},
    {"ops", hc_offer_read_ops, true},
    {"layout", read_layout, false},
    {"accumulator", hc_offer_read_accumulator, false},
    {"borders", hc_offer_read_borders, false},
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
