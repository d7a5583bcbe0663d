/* The fields of a recipe by name, to be listed and overridden. */
#ifndef HC_TRAIN_UPDATE_RECIPE_FIELDS_H
#define HC_TRAIN_UPDATE_RECIPE_FIELDS_H

#include <stddef.h>

#include "train/update/recipe.h"

enum { HC_FIELD_TEXT = 208 };

int hc_recipe_fields(void);
const char *hc_recipe_field_key(int field);

/* Its value as hc_recipe_set takes it; where the recipe leaves a number to the scaler's rule, the
   rule's. */
void hc_recipe_field_text(const struct hc_recipe *recipe, int field, char text[HC_FIELD_TEXT]);

/* Whether it is a field that came after the first checkpoints, and has the value that every recipe had
   before: their identities leave it out. */
bool hc_recipe_field_is_quiet(const struct hc_recipe *recipe, int field);

/* "key=value" (`length` bytes of it). Numbers of layer groups stand between commas or slashes. HC_INVALID with a line that names the keys, or the values; what
   contradicts another field is hc_recipe_check's. */
enum hc_status hc_recipe_set(struct hc_recipe *recipe, const char *assignment, size_t length);

/* A recipe of the table with overrides: "amp", "amp+eps=1e-4+loss_scale=1024" (`length` bytes of it).
   Its name is then that text, with slashes for commas, kept in `name`. HC_INVALID with one line, also where overrides
   contradict each other. */
enum { HC_RECIPE_NAME = 200 };
enum hc_status hc_recipe_read(struct hc_recipe *recipe, char name[HC_RECIPE_NAME], const char *text,
                              size_t length);

#endif
