#include "train/parallel/wrapper.h"
#include "train/update/recipe_fields_inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

const struct field *hc_recipe_field(int field)
{
    return &fields[field];
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
