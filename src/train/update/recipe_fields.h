/* The fields of a recipe by name, to be listed and overridden. */
#ifndef HC_TRAIN_UPDATE_RECIPE_FIELDS_H
#define HC_TRAIN_UPDATE_RECIPE_FIELDS_H

#include <stddef.h>

#include "train/update/recipe.h"

/* The inside of a recipe's fields, for the files that show them and set them. */

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

/* The bytes of a field's value; for a list, those of the number that counts its elements. */
static inline size_t bytes_of(const struct field *f)
{
    return f->kind == TRUTH ? sizeof(bool) : is_double(f) ? sizeof(double) : sizeof(int);
}

enum { HC_FIELD_TEXT = 208 };

int hc_recipe_fields(void);
const char *hc_recipe_field_key(int field);

/* The field's value, in the form that hc_recipe_set takes. If the recipe leaves a number to the
   scaler's rule, it is the rule's. */
void hc_recipe_field_text(const struct hc_recipe *recipe, int field, char text[HC_FIELD_TEXT]);

/* Whether the field came after the first checkpoints and has the value that every recipe had before
   it. The identity of a checkpoint leaves such a field out. */
bool hc_recipe_field_is_quiet(const struct hc_recipe *recipe, int field);

/* Sets a field from "key=value" (`length` bytes of it). The numbers of a list are separated by
   commas or slashes. HC_INVALID with a line that names the keys, or the values. Contradictions
   between fields are found by hc_recipe_check. */
enum hc_status hc_recipe_set(struct hc_recipe *recipe, const char *assignment, size_t length);

/* Reads a recipe of the table with overrides: "amp", "amp+eps=1e-4+loss_scale=1024" (`length` bytes
   of it). Its name becomes that text, with slashes for commas, kept in `name`. HC_INVALID with one
   line, also if overrides contradict each other. */
enum { HC_RECIPE_NAME = 200 };
enum hc_status hc_recipe_read(struct hc_recipe *recipe, char name[HC_RECIPE_NAME], const char *text,
                              size_t length);

/* The same for a network: what it trains with (hc_network) comes before the overrides, and is not
   in the name. */
enum hc_status hc_recipe_read_for(const struct hc_network *network, struct hc_recipe *recipe,
                                  char name[HC_RECIPE_NAME], const char *text, size_t length);

#endif
