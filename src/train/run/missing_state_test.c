/* Checkpoints of a real run of which a piece was left out, or kept in another format, as other
   systems' loaders have it: each is refused with one line that names the piece. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/run/checkpoint.h"
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

static void take_apart(struct hc_tensor_file *parts)
{
    cr_assert_eq(hc_checkpoint_open(parts, path), HC_OK, "%s", hc_message());
    cr_assert_gt(parts->count, 20);
}

enum change { LEFT_OUT, CAST, TURNED, CHANGES };

/* Writes the checkpoint with a tensor changed (or with all whose names begin so, up to a dot):
   without it, with elements of another format, or with another shape of as many. */
static void rewrite(const struct hc_tensor_file *parts, const char *prefix, enum change change)
{
    struct hc_named_tensor *tensors = calloc((size_t)parts->count, sizeof *tensors);
    int count = 0;
    int changed = 0;
    cr_assert_not_null(tensors);
    for (int i = 0; i < parts->count; i++) {
        const char *name = parts->tensors[i].name;
        bool begins = change < CHANGES && strncmp(name, prefix, strlen(prefix)) == 0;
        bool meant = begins && (name[strlen(prefix)] == '\0' || prefix[strlen(prefix) - 1] == '.');
        changed += meant;
        if (meant && change == LEFT_OUT)
            continue;
        tensors[count] = parts->tensors[i];
        struct hc_tensor *t = &tensors[count++].tensor;
        if (meant && change == CAST)
            t->format = t->format == HC_U8 ? HC_E4M3 : HC_BF16;
        if (meant && change == TURNED)
            *t = hc_tensor2(t->format, 1, hc_tensor_count(t), t->data);
    }
    cr_assert(changed > 0 || change == CHANGES, "%s", prefix);
    cr_assert_eq(hc_checkpoint_write(path, "a test", hc_checkpoint_identity(parts), tensors, count),
                 HC_OK, "%s", hc_message());
    free(tensors);
}

static void refused(const struct hc_tensor_file *parts, const char *prefix, enum change change,
                    const char *want)
{
    rewrite(parts, prefix, change);
    cr_assert_eq(train(true), HC_INVALID, "%s", prefix);
    cr_assert_not_null(strstr(hc_message(), want), "%s", hc_message());
    cr_assert_null(strchr(hc_message(), '\n'));
}

Test(lacking, every_piece_that_was_left_out_cast_or_turned_is_named)
{
    static const char *const pieces[] = {"scale",
                                         "optimizer.step",
                                         "counts.steps",
                                         "scaler.growth_tracker",
                                         "run.totals",
                                         "weights.2.inner.0.0.weight",
                                         "masters.5.bias",
                                         "optimizer.exp_avg.0.1.weight",
                                         "optimizer.exp_avg_sq.0.1.weight",
                                         "buffers.0.1.running_mean"};
    struct hc_tensor_file parts;
    char want[100];
    cr_assert_eq(train(false), HC_OK, "%s", hc_message());
    take_apart(&parts);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        (void)snprintf(want, sizeof want, "lacks \"%s\" of this run's state", pieces[i]);
        refused(&parts, pieces[i], LEFT_OUT, want);
        (void)snprintf(want, sizeof want, ": \"%s\" is ", pieces[i]);
        refused(&parts, pieces[i], CAST, want);
        refused(&parts, pieces[i], TURNED, want);
    }
    rewrite(&parts, "", CHANGES);
    cr_assert_eq(train(true), HC_OK, "%s", hc_message());
    hc_tensor_file_close(&parts);
}

/* Without them a weight is off by up to half an ulp, and nothing else would show it. */
Test(lacking, compensations_that_were_left_out_are_named)
{
    struct hc_tensor_file parts;
    const struct hc_recipe *recipe = hc_recipe_by_name("bf16-kahan");
    cr_assert_eq(train_under(recipe, false), HC_OK, "%s", hc_message());
    take_apart(&parts);
    rewrite(&parts, "optimizer.compensation.", LEFT_OUT);
    cr_assert_eq(train_under(recipe, true), HC_INVALID);
    cr_assert_not_null(strstr(hc_message(), "lacks \"optimizer.compensation."), "%s", hc_message());
    hc_tensor_file_close(&parts);
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
