/* Runs whose batches are cut into shards: whatever the number of ranks, they are the same run. */
#include <math.h>
#include <string.h>

#include "train/parallel/parallel.h"
#include "train/run/testing.h"
#include "train/update/recipe_fields.h"

TestSuite(ranks, .init = open_data, .fini = remove_folder);

enum { MOST = 1 << 18, FILES = 4 };

static const char *const names[FILES] = {"checkpoint", "steps.csv", "gradients.csv", "epochs.csv"};

/* The speed, a measurement, is left out. */
static size_t without_speed(unsigned char *text, size_t size)
{
    size_t kept = 0;
    int column = 0;
    for (size_t i = 0; i < size; i++) {
        column = text[i] == '\n' ? 0 : column + (text[i] == ',');
        if (column != 5)
            text[kept++] = text[i];
    }
    return kept;
}

struct outcome {
    struct hc_train_result result;
    size_t size[FILES];
    unsigned char bytes[FILES][MOST];
};

static const struct hc_recipe *recipe(const char *text)
{
    static struct hc_recipe read;
    static char name[HC_RECIPE_NAME];
    cr_assert_eq(hc_recipe_read(&read, name, text, strlen(text)), HC_OK, "%s", hc_message());
    return &read;
}

static struct hc_train_options of(const char *text)
{
    struct hc_train_options o = options("fp32");
    o.recipe = recipe(text);
    o.checkpoint_every = 3;
    return o;
}

static void look(struct outcome *outcome)
{
    for (int i = 0; i < FILES; i++)
        outcome->size[i] = read_file(names[i], outcome->bytes[i], MOST);
    outcome->size[3] = without_speed(outcome->bytes[3], outcome->size[3]);
}

static void train(const struct hc_train_options *o, int ranks, struct outcome *outcome)
{
    cr_assert_eq(hc_train_ranks(o, ranks, &outcome->result), HC_OK, "%s on %d ranks: %s",
                 o->recipe->name, ranks, hc_message());
    cr_assert_eq(outcome->result.steps, 10, "%s", outcome->result.reason);
    look(outcome);
}

static void same(const char *what, int ranks, const struct outcome *want, const struct outcome *got)
{
    for (int i = 0; i < FILES; i++)
        cr_assert(want->size[i] == got->size[i] &&
                      memcmp(want->bytes[i], got->bytes[i], want->size[i]) == 0,
                  "%s on %d ranks: another %s", what, ranks, names[i]);
}

static struct outcome want;
static struct outcome got;

Test(ranks, any_number_of_ranks_trains_to_the_same_bits)
{
    static const char *const texts[] = {"fp32+shards=8", "amp+shards=8", "apex-O2+shards=8",
                                        "amp-bf16+shards=8", "fastai-004b+shards=8"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        struct hc_train_options o = of(texts[t]);
        train(&o, 1, &want);
        for (int ranks = 2; ranks <= 8; ranks *= 2) {
            train(&o, ranks, &got);
            same(texts[t], ranks, &want, &got);
        }
    }
}
