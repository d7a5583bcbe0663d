#include "train/update/recipe_fields.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/typed.h"
#include "train/parallel/wrapper.h"

static const char *const masters[] = {"none", "from-model", "from-fp32", NULL};
static const char *const optimizers[] = {"sgd", "adam", NULL};
static const char *const decays[] = {"decoupled", "l2", "scaled", "model", NULL};
static const char *const truths[] = {"false", "true", NULL};

static const struct field fields[] = {
    {"model", FORMAT, offsetof(struct hc_recipe, model), NULL},
    {"norm", FORMAT, offsetof(struct hc_recipe, norm), NULL},
    {"statistics", FORMAT, offsetof(struct hc_recipe, statistics), NULL},
    {"loss", FORMAT, offsetof(struct hc_recipe, loss), NULL},
    {"gradient", FORMAT, offsetof(struct hc_recipe, gradient), NULL},
    {"state", FORMAT, offsetof(struct hc_recipe, state), NULL},
    {"arithmetic", FORMAT, offsetof(struct hc_recipe, arithmetic), NULL},
    {"tf32", TRUTH, offsetof(struct hc_recipe, tf32), truths},
    {"masters", CHOICE, offsetof(struct hc_recipe, masters), masters},
    {"flat", TRUTH, offsetof(struct hc_recipe, flat), truths},
    {"apart", TRUTH, offsetof(struct hc_recipe, apart), truths},
    {"norm_rounded", TRUTH, offsetof(struct hc_recipe, norm_rounded), truths},
    {"scaler", SCALER, offsetof(struct hc_recipe, scaler.rule), NULL},
    {"loss_scale", SINGLE, offsetof(struct hc_recipe, scaler.initial), NULL},
    {"growth", SINGLE, offsetof(struct hc_recipe, scaler.growth), NULL},
    {"backoff", SINGLE, offsetof(struct hc_recipe, scaler.backoff), NULL},
    {"interval", COUNT, offsetof(struct hc_recipe, scaler.interval), NULL},
    {"reciprocal", TRUTH, offsetof(struct hc_recipe, reciprocal), truths},
    {"sum_loss", TRUTH, offsetof(struct hc_recipe, sum_loss), truths},
    {"optimizer", CHOICE, offsetof(struct hc_recipe, optimizer), optimizers},
    {"rate", FACTOR, offsetof(struct hc_recipe, rate), NULL},
    {"nesterov", TRUTH, offsetof(struct hc_recipe, nesterov), truths},
    {"beta2", REAL, offsetof(struct hc_recipe, beta2), NULL},
    {"eps", REAL, offsetof(struct hc_recipe, eps), NULL},
    {"eps_inside", TRUTH, offsetof(struct hc_recipe, eps_inside), truths},
    {"weight_decay", REAL, offsetof(struct hc_recipe, weight_decay), NULL},
    {"decay", CHOICE, offsetof(struct hc_recipe, decay), decays},
    {"decay_norm", TRUTH, offsetof(struct hc_recipe, decay_norm), truths},
    {"group_rates", LIST, offsetof(struct hc_recipe, group_rates), NULL},
    {"group_decays", LIST, offsetof(struct hc_recipe, group_decays), NULL},
    {"split_bn_bias", TRUTH, offsetof(struct hc_recipe, split_bn_bias), truths},
    {"clip", REAL, offsetof(struct hc_recipe, clip), NULL},
    {"clip_groups", TRUTH, offsetof(struct hc_recipe, clip_groups), truths},
    {"clip_scaled", TRUTH, offsetof(struct hc_recipe, clip_scaled), truths},
    {"stochastic", TRUTH, offsetof(struct hc_recipe, stochastic), truths},
    {"kahan", TRUTH, offsetof(struct hc_recipe, kahan), truths},
    {"rate_inside", TRUTH, offsetof(struct hc_recipe, rate_inside), truths},
    {"order", CHOICE, offsetof(struct hc_recipe, order), hc_adam_order_names},
    {"shards", WHOLE, offsetof(struct hc_recipe, shards), NULL},
    {"wrapper", CHOICE, offsetof(struct hc_recipe, wrapper), hc_wrapper_names},
    {"algorithm", CHOICE, offsetof(struct hc_recipe, algorithm), hc_algorithm_names},
    {"reduce", CHOICE, offsetof(struct hc_recipe, reduce), hc_reduce_names},
    {"predivide", OWN_FACTOR, offsetof(struct hc_recipe, predivide), NULL},
    {"bucket", OWN_COUNT, offsetof(struct hc_recipe, bucket), NULL},
    {"norm_sync", TRUTH, offsetof(struct hc_recipe, norm_sync), truths},
    {"quant", CHOICE, offsetof(struct hc_recipe, quant), hc_quant_names},
    {"amax_history", WHOLE, offsetof(struct hc_recipe, amax_history), NULL},
    {"plain_ends", WHOLE, offsetof(struct hc_recipe, plain_ends), NULL},
};

enum {
    FIELDS = sizeof fields / sizeof fields[0],
    NUMBER = HC_FIELD_TEXT / HC_MAX_LAYER_GROUPS /* with 17 digits, sign, point, exponent */
};

/* Every choice is stored as an int is. */
_Static_assert(sizeof(enum hc_format) == sizeof(int) && sizeof(enum hc_masters) == sizeof(int) &&
                   sizeof(enum hc_optimizer) == sizeof(int) &&
                   sizeof(enum hc_decay) == sizeof(int) &&
                   sizeof(enum hc_adam_order) == sizeof(int) &&
                   sizeof(enum hc_scaler_rule) == sizeof(int) &&
                   sizeof(enum hc_quant_row) == sizeof(int),
               "an enumeration is no int");

int hc_recipe_fields(void)
{
    return FIELDS;
}

const char *hc_recipe_field_key(int field)
{
    return fields[field].key;
}

bool hc_recipe_field_is_quiet(const struct hc_recipe *recipe, int field)
{
    const struct field *f = &fields[field];
    const unsigned char *at = (const unsigned char *)recipe + f->at;
    static const unsigned char zero[sizeof(double)];
    return f->at >= offsetof(struct hc_recipe, group_rates) && memcmp(at, zero, bytes_of(f)) == 0;
}

static void fill_in(struct hc_recipe *recipe)
{
    struct hc_scaler_update rule = hc_scaler_params(&recipe->scaler);
    recipe->scaler.initial = hc_scaler_initial(&recipe->scaler);
    recipe->scaler.growth = rule.growth;
    recipe->scaler.backoff = rule.backoff;
    recipe->scaler.interval = rule.interval;
    recipe->rate = recipe->rate > 0 ? recipe->rate : 1;
}

/* With as many digits as it takes to read it back. */
static void number_text(double number, char text[NUMBER])
{
    int digits = 1;
    do
        (void)snprintf(text, NUMBER, "%.*g", digits, number);
    while (strtod(text, NULL) != number && digits++ < 17);
}

static void list_text(const struct hc_per_layer_group *list, char text[HC_FIELD_TEXT])
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < list->n; i++) {
        char number[NUMBER];
        number_text(list->value[i], number);
        used += (size_t)snprintf(text + used, HC_FIELD_TEXT - used, "%s%s", i ? "/" : "", number);
    }
}

void hc_recipe_field_text(const struct hc_recipe *recipe, int field, char text[HC_FIELD_TEXT])
{
    struct hc_recipe whole = *recipe;
    const struct field *f = &fields[field];
    const unsigned char *at = (const unsigned char *)&whole + f->at;
    double real = 0;
    float single = 0;
    int choice = 0;
    fill_in(&whole);
    if (is_double(f))
        memcpy(&real, at, sizeof real);
    else if (f->kind == SINGLE)
        memcpy(&single, at, sizeof single);
    else if (f->kind == TRUTH)
        choice = *(const bool *)at;
    else if (f->kind != LIST)
        memcpy(&choice, at, sizeof choice);
    if (is_own(f) && real == 0 && choice == 0)
        (void)snprintf(text, HC_FIELD_TEXT, "%s", HC_FIELD_OWN);
    else if (f->names)
        (void)snprintf(text, HC_FIELD_TEXT, "%s", f->names[choice]);
    else if (f->kind == FORMAT)
        (void)snprintf(text, HC_FIELD_TEXT, "%s", hc_formats[choice].name);
    else if (f->kind == SCALER)
        (void)snprintf(text, HC_FIELD_TEXT, "%s", hc_scalers[choice].name);
    else if (is_count(f))
        (void)snprintf(text, HC_FIELD_TEXT, "%d", choice);
    else if (f->kind == LIST)
        list_text((const struct hc_per_layer_group *)(const void *)at, text);
    else
        number_text(is_double(f) ? real : (double)single, text);
}

/* Setting a field of a recipe from text. */

static const char *field_value_name(const struct field *f, int i)
{
    if (f->kind == FORMAT)
        return i < HC_FORMAT_COUNT ? hc_formats[i].name : NULL;
    if (f->kind == SCALER)
        return i < HC_SCALER_COUNT ? hc_scalers[i].name : NULL;
    return f->names[i];
}

/* Those that hc_recipe_check has anything for. */
static bool offered(const struct field *f, int i)
{
    return f->kind != FORMAT || i == HC_FP64 || i == HC_FP32 || i == HC_BF16 || i == HC_FP16;
}

static enum hc_status set_name(struct hc_recipe *recipe, const struct field *f, const char *value)
{
    char known[320] = "";
    unsigned char *at = (unsigned char *)recipe + f->at;
    for (int i = 0; field_value_name(f, i); i++) {
        size_t used = strlen(known);
        if (!offered(f, i))
            continue;
        if (strcmp(field_value_name(f, i), value) != 0) {
            (void)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                           field_value_name(f, i));
            continue;
        }
        if (f->kind == TRUTH)
            *(bool *)at = i != 0;
        else
            memcpy(at, &i, sizeof i);
        return HC_OK;
    }
    return hc_fail(HC_INVALID, "%s is one of %s, not '%s'", f->key, known, value);
}

/* What a number of this kind is, for people. */
static const char *number_kind(const struct field *f)
{
    if (f->kind == WHOLE)
        return "whole number from 0 to 2^30";
    if (is_count(f))
        return is_own(f) ? "whole number from 1 to 2^30, or 'wrapper'"
                         : "whole number from 1 to 2^30";
    if (f->kind == SINGLE)
        return "number from 1.4e-45 to 3.4e38, fp32's range";
    if (f->kind == FACTOR)
        return "number above 0, up to fp32's 3.4e38";
    return is_own(f) ? "number above 0, up to fp32's 3.4e38, or 'wrapper'"
                     : "number from 0 to fp32's 3.4e38";
}

static enum hc_status set_number(struct hc_recipe *recipe, const struct field *f, const char *value)
{
    unsigned char *at = (unsigned char *)recipe + f->at;
    if (is_own(f) && strcmp(value, HC_FIELD_OWN) == 0) {
        memset(at, 0, bytes_of(f));
        return HC_OK;
    }
    char *end;
    double number = strtod(value, &end);
    float single = (float)number;
    bool good = end != value && !*end && isfinite(single) && number >= 0;
    if (f->kind == SINGLE)
        good = good && single > 0;
    if (f->kind == FACTOR || f->kind == OWN_FACTOR)
        good = good && number > 0;
    if (is_count(f))
        good = good && number >= (f->kind != WHOLE) && number <= 0x1p30 && number == floor(number);
    if (!good)
        return hc_fail(HC_INVALID, "%s is a %s, not '%s'", f->key, number_kind(f), value);
    int count = is_count(f) ? (int)number : 0;
    if (is_double(f))
        memcpy(at, &number, sizeof number);
    else if (f->kind == SINGLE)
        memcpy(at, &single, sizeof single);
    else
        memcpy(at, &count, sizeof count);
    return HC_OK;
}

/* A number for each layer group; nothing: none. */
static enum hc_status set_list(struct hc_recipe *recipe, const struct field *f, const char *value)
{
    struct hc_per_layer_group list = {0};
    const char *at = value;
    bool good = true;
    while (*value && good) {
        char *end;
        double number = strtod(at, &end);
        good = end != at && list.n < HC_MAX_LAYER_GROUPS && isfinite((float)number) && number >= 0;
        if (good)
            list.value[list.n++] = number;
        if (!*end)
            break;
        good = good && (*end == '/' || *end == ',');
        at = end + 1;
    }
    if (!good)
        return hc_fail(
            HC_INVALID,
            "%s is up to %d numbers from 0 to fp32's 3.4e38, such as 0.1/0.3/1, not '%s'", f->key,
            HC_MAX_LAYER_GROUPS, value);
    memcpy((unsigned char *)recipe + f->at, &list, sizeof list);
    return HC_OK;
}

static enum hc_status set_field(struct hc_recipe *recipe, const struct field *f, const char *value)
{
    if (f->kind == LIST)
        return set_list(recipe, f, value);
    return is_double(f) || f->kind == SINGLE || is_count(f) ? set_number(recipe, f, value)
                                                            : set_name(recipe, f, value);
}

enum hc_status hc_recipe_set(struct hc_recipe *recipe, const char *assignment, size_t length)
{
    char known[600] = "";
    char text[HC_FIELD_TEXT];
    const char *equals = memchr(assignment, '=', length);
    size_t key = equals ? (size_t)(equals - assignment) : length;
    if (!equals || length - key - 1 >= sizeof text)
        return hc_fail(HC_INVALID, "an override is KEY=VALUE, not '%.*s'", (int)length, assignment);
    (void)snprintf(text, sizeof text, "%.*s", (int)(length - key - 1), equals + 1);
    struct hc_nearest nearest = hc_nearest_to(assignment, key);
    for (int i = 0; i < hc_recipe_fields(); i++) {
        const struct field *f = &fields[i];
        size_t used = strlen(known);
        hc_nearest_try(&nearest, f->key);
        if (strlen(f->key) == key && memcmp(f->key, assignment, key) == 0)
            return set_field(recipe, f, text);
        (void)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", f->key);
    }
    const char *hint = hc_nearest_hint(&nearest);
    return hint[0]
               ? hc_fail(HC_INVALID, "no field '%.*s'%s", (int)key, assignment, hint)
               : hc_fail(HC_INVALID, "no field '%.*s'; there are: %s", (int)key, assignment, known);
}

/* Recipes by name, with overrides behind it. */

/* The end of the word: a plus sign before a letter, so that 1e+4 is one. */
static size_t word(const char *text, size_t length)
{
    size_t n = 0;
    while (n < length && !(text[n] == '+' && n + 1 < length && isalpha((unsigned char)text[n + 1])))
        n++;
    return n;
}

enum hc_status hc_recipe_read(struct hc_recipe *recipe, char name[HC_RECIPE_NAME], const char *text,
                              size_t length)
{
    return hc_recipe_read_for(NULL, recipe, name, text, length);
}

enum hc_status hc_recipe_read_for(const struct hc_network *network, struct hc_recipe *recipe,
                                  char name[HC_RECIPE_NAME], const char *text, size_t length)
{
    char known[1000] = "";
    int count;
    const struct hc_recipe *recipes = hc_recipes(&count);
    const struct hc_recipe *found = NULL;
    size_t n = word(text, length);
    struct hc_nearest nearest = hc_nearest_to(text, n);
    for (int i = 0; i < count; i++) {
        size_t used = strlen(known);
        if (strlen(recipes[i].name) == n && memcmp(recipes[i].name, text, n) == 0)
            found = &recipes[i];
        (void)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                       recipes[i].name);
        hc_nearest_try(&nearest, recipes[i].name);
    }
    const char *hint = hc_nearest_hint(&nearest);
    if (!found)
        return hint[0]
                   ? hc_fail(HC_INVALID, "no recipe '%.*s'%s", (int)n, text, hint)
                   : hc_fail(HC_INVALID, "no recipe '%.*s'; there are: %s", (int)n, text, known);
    if (length >= HC_RECIPE_NAME)
        return hc_fail(HC_INVALID, "too many overrides");
    *recipe = *found;
    (void)snprintf(name, HC_RECIPE_NAME, "%.*s", (int)length, text);
    for (char *comma = name; (comma = strchr(comma, ',')) != NULL;)
        *comma = '/';
    recipe->name = name;
    enum hc_status status = HC_OK;
    const char *usual = network && network->trains_with ? network->trains_with : "";
    for (size_t next; *usual && status == HC_OK; usual += next + (usual[next] == '+')) {
        next = word(usual, strlen(usual));
        status = hc_recipe_set(recipe, usual, next);
    }
    while (n < length && status == HC_OK) {
        size_t next = word(text + n + 1, length - n - 1);
        status = hc_recipe_set(recipe, text + n + 1, next);
        n += 1 + next;
    }
    return status == HC_OK ? hc_recipe_check(recipe) : status;
}
