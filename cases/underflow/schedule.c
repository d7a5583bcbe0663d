/* The learning rate's schedule and a skipped step, in the trainer itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "case.h"

/* The columns of steps.csv that matter here. */
struct row {
    long long step;
    double scale;
    int skipped;
    double lr;
};

static bool read_row(FILE *file, struct row *row)
{
    char line[4096];
    return fgets(line, sizeof line, file) &&
           sscanf(line, "%lld,%*[^,],%*[^,],%lf,%d,%lf", &row->step, &row->scale, &row->skipped,
                  &row->lr) == 4;
}

/* Checks every row: the rate is the schedule's at that step, skipped or not; the scale halves after
   a skipped step. The file has 9 digits. */
static void compare(struct hc_check *check, FILE *file, int64_t steps, double max_lr, double scale)
{
    char header[4096];
    struct row row;
    int64_t rows = 0;
    int skipped = 0;
    bool more = fgets(header, sizeof header, file) != NULL;
    while (more && read_row(file, &row)) {
        hc_say(check, "step %2lld: scale 2^%-2.0f lr %.6g%s", row.step, log2(row.scale), row.lr,
               row.skipped ? ", skipped" : "");
        double lr = hc_one_cycle(max_lr, steps, rows).lr;
        hc_claim_within(check, "lr", lr, row.lr, 5e-9 * lr);
        hc_claim_within(check, "scale", scale, row.scale, 5e-9 * scale);
        scale = row.skipped ? scale / 2 : scale;
        skipped += row.skipped;
        rows++;
    }
    hc_claim_value(check, "steps", (double)steps, (double)rows);
    hc_claim_true(check, "some were skipped, some were not", skipped > 0 && skipped < rows);
}

static void clear(const char *folder)
{
    static const char *const names[] = {"steps.csv", "epochs.csv", "gradients.csv", "checkpoint"};
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)remove(path);
    }
    (void)rmdir(folder);
}

/* GradScaler starts at 2^24, so that the first steps overflow: 16 steps of the tiny Darknet. */
static void moves_on(struct hc_check *check)
{
    enum { STEPS = 16, BATCH = 2 };
    char folder[] = "/tmp/halfcheck-schedule-XXXXXX";
    char path[128];
    struct hc_dataset data;
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    struct hc_data_options set = {.classes = "airplane,dog",
                                  .seed = hc_check_seed(check),
                                  .train_per_class = STEPS * BATCH / 2,
                                  .test_per_class = 1};
    struct hc_train_options options = {.recipe = &recipe,
                                       .network = &hc_darknet_tiny,
                                       .data = &data,
                                       .backend = hc_check_backend(check),
                                       .digest = hc_check_digest(check),
                                       .epochs = 1,
                                       .batch = BATCH,
                                       .max_lr = 1e-3,
                                       .seed = hc_check_seed(check),
                                       .out = folder};
    struct hc_train_result result;
    recipe.scaler.initial = 0x1p24F;
    if (!hc_check_ok(check, hc_dataset_open(&set, &data)))
        return;
    if (!mkdtemp(folder)) {
        (void)hc_check_ok(check, hc_fail(HC_IO, "%s: cannot be made", folder));
    } else if (hc_check_ok(check, hc_train(&options, &result))) {
        (void)snprintf(path, sizeof path, "%s/steps.csv", folder);
        FILE *file = fopen(path, "r");
        if (file) {
            compare(check, file, STEPS, options.max_lr, ldexp(1, 24));
            (void)fclose(file);
        } else {
            (void)hc_check_ok(check, hc_fail(HC_IO, "%s: cannot be read", path));
        }
    }
    clear(folder);
    hc_dataset_close(&data);
}

static const struct hc_case cases[] = {
    {.name = "underflow/skip-moves-the-schedule",
     .title = "GradScaler's rule: the learning rate's schedule moves on in a skipped step, as "
              "torch's scheduler.step() does",
     .source = "pytorch 2.15.0 torch/amp/grad_scaler.py: only optimizer.step() is left out",
     .level = HC_STANDARD,
     .run = moves_on},
};

HC_CASES(underflow_schedule, cases);
