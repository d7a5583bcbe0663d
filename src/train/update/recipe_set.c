/* Setting a field of a recipe from text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/typed.h"
#include "train/update/recipe_fields_inner.h"

static const char *name_of(const struct field *f, int i)
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
    for (int i = 0; name_of(f, i); i++) {
        size_t used = strlen(known);
        if (!offered(f, i))
            continue;
        if (strcmp(name_of(f, i), value) != 0) {
            (void)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                           name_of(f, i));
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

static enum hc_status set(struct hc_recipe *recipe, const struct field *f, const char *value)
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
        const struct field *f = hc_recipe_field(i);
        size_t used = strlen(known);
        hc_nearest_try(&nearest, f->key);
        if (strlen(f->key) == key && memcmp(f->key, assignment, key) == 0)
            return set(recipe, f, text);
        (void)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", f->key);
    }
    const char *hint = hc_nearest_hint(&nearest);
    return hint[0]
               ? hc_fail(HC_INVALID, "no field '%.*s'%s", (int)key, assignment, hint)
               : hc_fail(HC_INVALID, "no field '%.*s'; there are: %s", (int)key, assignment, known);
}
