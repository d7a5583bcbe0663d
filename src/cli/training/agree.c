#include "cli/training/agree.h"

#include <stdio.h>
#include <string.h>

#include "cli/ranks/ranks.h"
#include "op/digest.h"
#include "train/run/made_on.h"
#include "train/update/recipe_fields.h"

enum { TEXT = 2048 };

static uint64_t digest_of_images(uint64_t state, const struct hc_images *images)
{
    size_t count = (size_t)images->count;
    state = hc_digest_bytes(state, images->labels, count * sizeof *images->labels);
    return hc_digest_bytes(state, images->pixels, count * HC_IMAGE_BYTES);
}

static void describe_recipes(const struct hc_recipe *const *recipes, int n, char text[TEXT])
{
    char value[HC_FIELD_TEXT];
    uint64_t digest = 0;
    int used = 0;
    for (int i = 0; i < n; i++) {
        for (int field = 0; field < hc_recipe_fields(); field++) {
            hc_recipe_field_text(recipes[i], field, value);
            digest = hc_digest_bytes(digest, value, strlen(value));
        }
        if (used < TEXT - 32)
            used += snprintf(text + used, (size_t)(TEXT - 32 - used), "%s%s", i ? ", " : "",
                             recipes[i]->name);
    }
    used = used < TEXT - 32 ? used : TEXT - 33;
    (void)snprintf(text + used, (size_t)(TEXT - used), " [%016llx]", (unsigned long long)digest);
}

/* The digest comes first, because where the images come from may be a long path. */
static void describe_data(const struct hc_dataset *set, char text[TEXT])
{
    uint64_t digest = digest_of_images(digest_of_images(0, &set->train), &set->test);
    (void)snprintf(text, TEXT, "%016llx: %s", (unsigned long long)digest, set->origin);
}

static void describe_backend(const struct hc_backend *backend,
                             const struct hc_recipe *const *recipes, int n, char text[TEXT])
{
    char made[TEXT] = "";
    char shown[HC_MADE_ON_SHOWN];
    for (int i = 0; i < n; i++) {
        char words[TEXT] = "";
        hc_made_on(backend, NULL, recipes[i], words, sizeof words);
        size_t used = strlen(made);
        if (!strstr(made, words))
            (void)snprintf(made + used, sizeof made - used, "%s", words);
    }
    const char *words = made + (made[0] == ' ');
    hc_made_on_show(words, (int)strlen(words), shown);
    size_t used = strlen(text);
    (void)snprintf(text + used, TEXT - used, "%s%s%s%s", used ? ", " : "", backend->name,
                   shown[0] ? ": " : "", shown);
}

enum hc_status hc_training_agree(const struct hc_training *t, enum hc_status mine,
                                 const struct hc_recipe *const *recipes, int n)
{
    char recipe[TEXT] = "";
    char data[TEXT] = "";
    char backends[TEXT] = "";
    if (!hc_ranks_several())
        return mine;
    if (mine == HC_OK) {
        describe_recipes(recipes, n, recipe);
        describe_data(&t->set, data);
        describe_backend(t->backend, recipes, n, backends);
        for (int b = 1; b < t->backend_count; b++)
            describe_backend(t->several[b], recipes, n, backends);
    }
    const struct hc_ranks_fact facts[] = {
        {"trains with", recipe}, {"has the images", data}, {"computes on", backends}};
    return hc_ranks_agree("training", mine, facts, 3);
}
