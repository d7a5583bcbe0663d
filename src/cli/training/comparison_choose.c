/* The recipes of a comparison: how they are named, how many seeds each gets, and on which backends
   it is trained. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/training/comparison.h"
#include "op/typed.h"
#include "train/parallel/parallel.h"

/* The training on each of several backends. */
static struct hc_training one_of_several[HC_MAX_BACKENDS];

void hc_comparison_part(const struct hc_training *t)
{
    for (int b = 0; b < t->backend_count; b++) {
        one_of_several[b] = *t;
        one_of_several[b].backend = t->several[b];
        one_of_several[b].backend_count = 0;
        one_of_several[b].among_several = true;
    }
}

/* The number of the backend that the base runs on: host, or the first. */
static int base_backend(const struct hc_training *t)
{
    for (int b = 0; b < t->backend_count; b++)
        if (strcmp(t->several[b]->name, "host") == 0)
            return b;
    return 0;
}

static bool chosen(const struct hc_comparison *c, const char *name)
{
    for (int i = 0; i < c->recipes; i++)
        if (strcmp(c->recipe[i]->name, name) == 0)
            return true;
    return false;
}

/* `name` is `length` bytes long. */
static enum hc_status choose(struct hc_comparison *c, const char *name, size_t length, int seeds)
{
    const struct hc_recipe *recipe = hc_training_recipe(c->training, name, length);
    if (recipe == NULL)
        return HC_INVALID;
    /* hc_drift_check_ranks does this for the batches that drift cuts. */
    if (!c->drift && hc_parallel_check(c->training->ranks > 1 ? c->training->ranks : 1, recipe,
                                       c->training->batch) != HC_OK)
        return HC_INVALID;
    if (chosen(c, recipe->name))
        return hc_fail(HC_INVALID, "recipe %s is named twice", recipe->name);
    int backends = c->training->backend_count > 1 ? c->training->backend_count : 1;
    if (c->recipes + backends > HC_MAX_COMPARED)
        return hc_fail(HC_INVALID, "compare takes at most %d recipes%s", HC_MAX_COMPARED,
                       backends > 1 ? " on all backends together" : "");
    if (c->recipes == 0 || strcmp(recipe->name, "fp32") == 0)
        c->base = c->recipes + base_backend(c->training);
    for (int b = 0; b < backends; b++) {
        c->on[c->recipes] = backends > 1 ? &one_of_several[b] : NULL;
        c->recipe[c->recipes] = recipe;
        c->seeds_of[c->recipes++] = seeds;
    }
    if (c->seeds < seeds)
        c->seeds = seeds;
    return HC_OK;
}

/* Chooses all that are not named yet, except tf32's on the CPU, where they are fp32's again. */
static enum hc_status choose_all(struct hc_comparison *c, int seeds)
{
    int count;
    enum hc_status status = HC_OK;
    const struct hc_recipe *recipes = hc_recipes(&count);
    bool host = c->training->backend->host_memory;
    for (int i = 0; i < count && status == HC_OK; i++)
        if (!chosen(c, recipes[i].name) && !(host && recipes[i].tf32))
            status = choose(c, recipes[i].name, strlen(recipes[i].name), seeds);
    return status;
}

/* `word` is R or R:N, and `length` bytes long; `seeds` stands for N where there is none. */
static enum hc_status choose_word(struct hc_comparison *c, const char *word, size_t length,
                                  int seeds)
{
    const char *colon = memchr(word, ':', length);
    size_t name = colon == NULL ? length : (size_t)(colon - word);
    if (colon != NULL) {
        char *end;
        long n = isdigit((unsigned char)colon[1]) ? strtol(colon + 1, &end, 10) : 0;
        if (n < 1 || n > HC_MAX_SEEDS || end != word + length)
            return hc_fail(HC_INVALID,
                           "--recipes takes R or R:SEEDS, with 1 to %d seeds, not '%.*s'",
                           HC_MAX_SEEDS, (int)length, word);
        seeds = (int)n;
    }
    return name == 3 && memcmp(word, "all", 3) == 0 ? choose_all(c, seeds)
                                                    : choose(c, word, name, seeds);
}

enum hc_status hc_comparison_choose(struct hc_comparison *c, const char *list, int seeds)
{
    if (list == NULL)
        return hc_fail(HC_INVALID, "compare needs --recipes; see: halfcheck list recipes");
    for (const char *at = list; at != NULL;) {
        const char *word;
        size_t length;
        enum hc_status status = hc_list_next("--recipes", list, &at, &word, &length);
        if (status == HC_OK)
            status = choose_word(c, word, length, seeds);
        if (status != HC_OK)
            return status;
    }
    if (c->recipes < 2 && !c->drift)
        return hc_fail(HC_INVALID, "compare needs two recipes or more");
    return HC_OK;
}
