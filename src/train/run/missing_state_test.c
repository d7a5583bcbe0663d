/* Checkpoints of a real run of which a piece was left out, or kept in another format, as other
   systems' loaders have it: each is refused with one line that names the piece. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/run/checkpoint_contents.h"
#include "train/update/recipe_fields.h"
#include "train/run/trainer.h"

static struct hc_dataset data;
static char folder[] = "/tmp/halfcheck-lacking-XXXXXX";
static char path[64];

static void make(void)
{
    struct hc_data_options options = {
        .classes = "airplane,dog", .seed = 5, .train_per_class = 8, .test_per_class = 2};
    cr_assert_eq(hc_dataset_open(&options, &data), HC_OK, "%s", hc_message());
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/checkpoint", folder);
}

static void unmake(void)
{
    static const char *const names[] = {"steps.csv", "epochs.csv", "gradients.csv", "checkpoint"};
    for (int i = 0; i < 4; i++) {
        char file[64];
        (void)snprintf(file, sizeof file, "%s/%s", folder, names[i]);
        (void)unlink(file);
    }
    (void)rmdir(folder);
    hc_dataset_close(&data);
}

TestSuite(lacking, .init = make, .fini = unmake);

static enum hc_status train_under(const struct hc_recipe *recipe, bool resume)
{
    static const struct hc_network minute = {.name = "minute",
                                             .side = 32,
                                             .channels = 3,
                                             .width = 2,
                                             .groups = 1,
                                             .blocks = {1},
                                             .strides = {2}};
    struct hc_train_result result;
    struct hc_train_options o = {.recipe = recipe,
                                 .network = &minute,
                                 .data = &data,
                                 .backend = hc_backend_by_name("exact"),
                                 .epochs = 1,
                                 .batch = 8,
                                 .seed = 11,
                                 .out = folder,
                                 .resume = resume};
    return hc_train(&o, &result);
}

static enum hc_status train(bool resume)
{
    return train_under(hc_recipe_by_name("amp"), resume);
}

static void take_apart(struct hc_checkpoint_contents *parts)
{
    cr_assert_eq(hc_checkpoint_unpack(path, parts), HC_OK, "%s", hc_message());
    cr_assert_gt(parts->count, 20);
}

/* Without the blobs whose names begin so, or with half of each one's bytes. */
static void refused(const struct hc_checkpoint_contents *parts, const char *prefix, bool halved,
                    const char *want)
{
    struct hc_blob blob[HC_CONTENTS_BLOBS];
    int count = 0;
    int changed = 0;
    for (int i = 0; i < parts->count; i++) {
        bool meant = strncmp(parts->name[i], prefix, strlen(prefix)) == 0;
        changed += meant;
        if (meant && !halved)
            continue;
        blob[count] = parts->blob[i];
        blob[count++].bytes /= meant ? 2 : 1;
    }
    cr_assert_gt(changed, 0, "%s", prefix);
    cr_assert_eq(hc_checkpoint_write(path, parts->identity, blob, count), HC_OK, "%s",
                 hc_message());
    cr_assert_eq(train(true), HC_INVALID, "%s", prefix);
    cr_assert_not_null(strstr(hc_message(), want), "%s", hc_message());
    cr_assert_null(strchr(hc_message(), '\n'));
}

Test(lacking, every_piece_that_was_left_out_or_cast_is_named)
{
    static struct hc_checkpoint_contents parts;
    cr_assert_eq(train(false), HC_OK, "%s", hc_message());
    take_apart(&parts);
    refused(&parts, "scale and counts", false,
            "lacks \"scale and counts of the scaler\" of this run's state");
    refused(&parts, "step counts", false,
            "lacks \"step counts of the optimizer\" of this run's state");
    refused(&parts, "master ", false, "lacks \"master ");
    refused(&parts, "m ", false, "lacks \"m ");
    refused(&parts, "v ", false, "lacks \"v ");
    refused(&parts, "statistic ", false, "lacks \"statistic ");
    refused(&parts, "v ", true, " bytes of \"v ");
    refused(&parts, "m ", true, " bytes of \"m ");
    cr_assert_eq(hc_checkpoint_write(path, parts.identity, parts.blob, parts.count), HC_OK);
    cr_assert_eq(train(true), HC_OK, "%s", hc_message());
}

/* Without them a weight is off by up to half an ulp, and nothing else would show it. */
Test(lacking, compensations_that_were_left_out_are_named)
{
    static struct hc_checkpoint_contents parts;
    const struct hc_recipe *recipe = hc_recipe_by_name("bf16-kahan");
    struct hc_blob blob[HC_CONTENTS_BLOBS];
    int count = 0;
    cr_assert_eq(train_under(recipe, false), HC_OK, "%s", hc_message());
    take_apart(&parts);
    for (int i = 0; i < parts.count; i++)
        if (strncmp(parts.name[i], "compensation ", 13) != 0)
            blob[count++] = parts.blob[i];
    cr_assert_lt(count, parts.count);
    cr_assert_eq(hc_checkpoint_write(path, parts.identity, blob, count), HC_OK);
    cr_assert_eq(train_under(recipe, true), HC_INVALID);
    cr_assert_not_null(strstr(hc_message(), "lacks \"compensation "), "%s", hc_message());
}

/* What a row was when the run began: overrides that keep its name stand for a table that was
   edited. */
Test(lacking, a_row_that_was_changed_since_is_named_by_its_field)
{
    static const char *const changes[] = {
        "norm=fp16",        "statistics=fp16",    "loss=fp16",
        "state=fp16",       "norm_rounded=true",  "scaler=apex-amp",
        "loss_scale=1024",  "growth=4",           "backoff=0.25",
        "interval=7",       "reciprocal=false",   "sum_loss=true",
        "optimizer=sgd",    "rate=0.5",           "beta2=0.9",
        "eps=0.0001",       "eps_inside=true",    "weight_decay=0",
        "decay=l2",         "decay_norm=false",   "apart=true",
        "flat=true",        "masters=from-model", "group_rates=0.5/1",
        "group_decays=0/1", "split_bn_bias=true", "clip=1"};
    cr_assert_eq(train(false), HC_OK, "%s", hc_message());
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct hc_recipe changed = *hc_recipe_by_name("amp");
        cr_assert_eq(hc_recipe_set(&changed, changes[i], strlen(changes[i])), HC_OK, "%s",
                     hc_message());
        cr_expect_eq(train_under(&changed, true), HC_INVALID, "%s", changes[i]);
        cr_expect_not_null(strstr(hc_message(), changes[i]), "%s: %s", changes[i], hc_message());
    }
    cr_assert_eq(train(true), HC_OK, "%s", hc_message());
}

/* Fields that came later stand in an identity where they are not what all recipes had before. */
Test(lacking, a_field_that_one_of_the_two_runs_has_not_is_named)
{
    struct hc_recipe clipped = *hc_recipe_by_name("amp");
    clipped.clip = 0.5;
    cr_assert_eq(train(false), HC_OK, "%s", hc_message());
    cr_assert_eq(train_under(&clipped, true), HC_INVALID);
    cr_assert_not_null(strstr(hc_message(), "another run: it has no clip=0.5"), "%s", hc_message());
    cr_assert_eq(train_under(&clipped, false), HC_OK, "%s", hc_message());
    cr_assert_eq(train(true), HC_INVALID);
    cr_assert_not_null(strstr(hc_message(), "its clip=0.5, which this run has not"), "%s",
                       hc_message());
}
