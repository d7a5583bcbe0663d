/* Whole trainings of Darknet-16 by the trainer itself, in images a second: recipes against fp32, turn by
   turn. The first epoch of a training makes plans and is not counted. On a CPU what each step loses is
   measured, as `train` does there; on a device it is not, since that costs many times the step. */
#include <math.h>
#include <stddef.h>

#include "bench.h"

enum { TURNS = 3, RECIPES = 4, NEVER = 1 << 30 };

static const char *const names[RECIPES] = {"fp32", "tf32", "amp", "amp-bf16"};

struct racer {
    const struct hc_recipe *recipe;
    double best; /* images/s of an epoch */
};

/* The best rate of an epoch but the first. */
static bool watch(const struct hc_progress *progress, void *context)
{
    double *best = context;
    if (progress->evaluated && progress->epoch > 0)
        *best = fmax(*best, progress->images_per_second);
    return true;
}

/* A few steps an epoch where each takes a tenth of a second, many on a device. */
static enum hc_status race(const struct hc_backend *backend, int batch, struct racer *racers)
{
    int steps = backend->host_memory ? 4 : batch > 64 ? 20 : 200;
    struct hc_dataset set = {0};
    struct hc_data_options data = {.train_per_class = (steps * batch + HC_CLASSES - 1) / HC_CLASSES,
                                   .test_per_class = 1};
    enum hc_status status = hc_dataset_open(&data, &set);
    for (int turn = 0; turn < TURNS; turn++)
        for (int r = 0; r < RECIPES && status == HC_OK; r++) {
            struct hc_train_result result;
            struct hc_train_options options = {.recipe = racers[r].recipe,
                                               .network = &hc_darknet16,
                                               .data = &set,
                                               .backend = backend,
                                               .epochs = 3,
                                               .batch = batch,
                                               .seed = 1,
                                               .measure_every = backend->host_memory ? 0 : NEVER,
                                               .progress = watch,
                                               .context = &racers[r].best};
            status = hc_train(&options, &result);
        }
    hc_dataset_close(&set);
    return status;
}

static void images_a_second(struct hc_bench_run *run, int batch)
{
    const struct hc_backend *backend = hc_bench_backend(run);
    struct racer racers[RECIPES];
    for (int r = 0; r < RECIPES; r++)
        racers[r] = (struct racer){hc_recipe_by_name(names[r]), 0};
    if (race(backend, batch, racers) != HC_OK) {
        hc_bench_skip(run, hc_message());
        return;
    }
    for (int r = 0; r < RECIPES; r++) {
        bool is_16_bit = racers[r].recipe->model != HC_FP32;
        double least = is_16_bit && backend->host_memory ? 0.75 : 0;
        hc_bench_rate(run, &(struct hc_rate){.what = racers[r].recipe->name,
                                             .rate = racers[r].best,
                                             .unit = "images/s",
                                             .against = r ? "fp32" : NULL,
                                             .other = racers[0].best,
                                             .least = least});
    }
}

static void small(struct hc_bench_run *run)
{
    images_a_second(run, 64);
}

static void large(struct hc_bench_run *run)
{
    if (hc_bench_backend(run)->host_memory)
        hc_bench_skip(run, "for devices: on a CPU it is as fast as batch 64");
    else
        images_a_second(run, 1024);
}

static const struct hc_bench benches[] = {
    {.name = "training/darknet16",
     .title = "trainings of Darknet-16, batch 64, in images a second: recipes against fp32",
     .run = small,
     .on_any = true},
    {.name = "training/darknet16-1024",
     .title = "the same with batch 1024",
     .run = large,
     .on_any = true},
};

const struct hc_bench_table hc_benches_training;
const struct hc_bench_table hc_benches_training = {benches, sizeof benches / sizeof benches[0]};
