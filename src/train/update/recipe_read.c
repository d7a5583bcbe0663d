/* Recipes by name, with overrides behind it. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "op/typed.h"
#include "train/update/recipe_fields.h"

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
    while (n < length) {
        size_t next = word(text + n + 1, length - n - 1);
        enum hc_status status = hc_recipe_set(recipe, text + n + 1, next);
        if (status != HC_OK)
            return status;
        n += 1 + next;
    }
    return hc_recipe_check(recipe);
}
