/* Names and numbers that people type: a recipe with overrides, an arm, a decimal number, a day. */
#include <stdlib.h>
#include <string.h>

#include "cli/gate/allowances.h"
#include "formula/arm.h"
#include "fuzz.h"
#include "reference.h"
#include "train/update/recipe_fields.h"

static void fuzz_words(const uint8_t *data, size_t size)
{
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct hc_arm arm;
    bool exact;
    char *text = hc_fuzz_string(data, size < 4000 ? size : 4000);
    struct hc_real *number = hc_real_new(0);
    if (text) {
        (void)hc_recipe_read(&recipe, name, text, strlen(text));
        (void)hc_arm_read(text, &arm);
        (void)hc_real_read(number, text, &exact);
        (void)hc_date_read(text);
    }
    hc_real_free(number);
    free(text);
}

const struct hc_fuzz_target hc_fuzz_words = {"words", fuzz_words};
