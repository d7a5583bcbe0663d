/* The inside of a recipe's fields, for the files that show them and set them. */
#ifndef HC_TRAIN_UPDATE_RECIPE_FIELDS_INNER_H
#define HC_TRAIN_UPDATE_RECIPE_FIELDS_INNER_H

#include "train/update/recipe_fields.h"

/* OWN_FACTOR and OWN_COUNT are left to the wrapper where they are 0. */
enum kind {
    FORMAT,
    TRUTH,
    REAL,
    FACTOR,
    SINGLE,
    COUNT,
    WHOLE,
    SCALER,
    CHOICE,
    LIST,
    OWN_FACTOR,
    OWN_COUNT
};

struct field {
    const char *key;
    enum kind kind;
    size_t at;
    const char *const *names; /* of a CHOICE, in the order of its enumeration; ends with NULL */
};

/* The row of the table (recipe_fields.c). */
const struct field *hc_recipe_field(int field);

/* A number that is left to the wrapper. */
#define HC_FIELD_OWN "wrapper"

static inline bool is_double(const struct field *f)
{
    return f->kind == REAL || f->kind == FACTOR || f->kind == OWN_FACTOR;
}

static inline bool is_count(const struct field *f)
{
    return f->kind == COUNT || f->kind == WHOLE || f->kind == OWN_COUNT;
}

static inline bool is_own(const struct field *f)
{
    return f->kind == OWN_FACTOR || f->kind == OWN_COUNT;
}

/* Of a list, those of the number of its elements. */
static inline size_t bytes_of(const struct field *f)
{
    return f->kind == TRUTH ? sizeof(bool) : is_double(f) ? sizeof(double) : sizeof(int);
}

#endif
