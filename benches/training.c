/* Whole trainings of Darknet-16, in images a second: recipes against fp32, in turns. The first
   epoch of a training makes plans and is not counted. On a CPU the lost bits of each step are
   measured, as `train` does there; on a device they are not, since that takes many times as long
   as the step. Backends that count what they are given show a step's launches and bytes, too. */
#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "bench.h"
#include "benches/inner/calls.h"
#include "benches/inner/subject.h"

enum { TURNS = 3, MOST = 64, NEVER = 1 << 30 };

/* fp32 and what is compared with it. apex-fp16opt-dynamic overflows in its first steps, and the
   weights of fp16-pure become NaN: neither may take longer for it. */
static const struct {
    const char *name;
    double least; /* on a CPU; 0: no claim */
} rows[] = {
    {"fp32", 0},        {"tf32", 0},         {"amp", 0.75},
    {"amp-bf16", 0.75}, {"fp16-pure", 0.75}, {"apex-fp16opt-dynamic", 0.75},
};
enum { NAMES = sizeof rows / sizeof rows[0] };

struct racer {
    const struct hc_recipe *recipe;
    double best;         /* images/s of an epoch */
    double least;        /* of the first's that is claimed on a CPU; 0: none */
    struct hc_work work; /* of a step; all 0 where the backend does not count */
};

/* The best rate of the epochs after the first. */
static bool watch(const struct hc_progress *progress, void *context)
{
    double *best = context;
    if (progress->evaluated && progress->epoch > 0)
        *best = fmax(*best, progress->images_per_second);
    return true;
}

/* Backends that run only when they are named have no speed: a step of theirs is counted. */
static bool is_timed(const struct hc_backend *backend)
{
    return !backend->on_request;
}

/* An epoch has a few steps if each takes a tenth of a second, and many on a device. */
static enum hc_status race(const struct hc_backend *backend, int batch, int turns, int n,
                           struct racer *racers)
{
    int steps = !is_timed(backend) ? 2 : backend->host_memory ? 4 : batch > 64 ? 20 : 200;
    struct hc_dataset set = {0};
    struct hc_data_options data = {.train_per_class = (steps * batch + HC_CLASSES - 1) / HC_CLASSES,
                                   .test_per_class = 1};
    enum hc_status status = hc_dataset_open(&data, &set);
    for (int turn = 0; turn < turns; turn++)
        for (int r = 0; r < n && status == HC_OK; r++) {
            struct hc_train_result result;
            struct hc_train_options options = {.recipe = racers[r].recipe,
                                               .network = &hc_darknet16,
                                               .data = &set,
                                               .backend = backend,
                                               .epochs = is_timed(backend) ? 3 : 1,
                                               .batch = batch,
                                               .seed = 1,
                                               .measure_every = backend->host_memory ? 0 : NEVER,
                                               .progress = watch,
                                               .context = &racers[r].best};
            status = hc_train(&options, &result);
            racers[r].work = result.step_work;
        }
    hc_dataset_close(&set);
    return status;
}

static void run_copy(void *context)
{
    (void)hc_subject_run(context);
}

/* A copy's bytes/s on the backend's device, both ways counted. 0 if it cannot be measured. */
static double copy_rate(const struct hc_backend *backend)
{
    enum { BLOCKS = 16384, TIMES = 4 };
    struct hc_subject copy;
    struct hc_call shapes = hc_copy_call(HC_FP32, BLOCKS);
    void (*const works[])(void *) = {run_copy};
    double seconds = 0;
    enum hc_status status = hc_subject_open(&copy, backend, &shapes, TIMES);
    if (status == HC_OK)
        hc_bench_time(works, 1, &copy, 3, 0.05, &seconds);
    hc_subject_close(&copy);
    return status == HC_OK ? TIMES * hc_call_bytes(&shapes) / seconds : 0;
}

/* What a step is made of; and the images/s against those of a device that does nothing but move
   the step's bytes as fast as it copies. */
static void counts(struct hc_bench_run *run, int batch, const struct racer *racer, double copy)
{
    const struct hc_work *work = &racer->work;
    if (work->kernels + work->calls == 0)
        return;
    hc_bench_rate(run, &(struct hc_rate){.what = racer->recipe->name,
                                         .rate = (double)(work->kernels + work->calls),
                                         .unit = "launches/step"});
    hc_bench_rate(run, &(struct hc_rate){
                           .what = racer->recipe->name, .rate = work->bytes, .unit = "bytes/step"});
    if (copy > 0)
        hc_bench_rate(run, &(struct hc_rate){.what = racer->recipe->name,
                                             .rate = racer->best * work->bytes / batch,
                                             .unit = "bytes/s",
                                             .against = "a copy",
                                             .other = copy});
}

/* The others are compared with the first. */
static void images_a_second(struct hc_bench_run *run, int batch, int turns, int n,
                            struct racer *racers)
{
    const struct hc_backend *backend = hc_bench_backend(run);
    if (race(backend, batch, turns, n, racers) != HC_OK) {
        hc_bench_skip(run, hc_message());
        return;
    }
    double copy = backend->work && is_timed(backend) ? copy_rate(backend) : 0;
    for (int r = 0; r < n; r++) {
        counts(run, batch, &racers[r], copy);
        if (!is_timed(backend))
            continue;
        hc_bench_rate(run, &(struct hc_rate){.what = racers[r].recipe->name,
                                             .rate = racers[r].best,
                                             .unit = "images/s",
                                             .against = r ? racers[0].recipe->name : NULL,
                                             .other = racers[0].best,
                                             .least = backend->host_memory ? racers[r].least : 0});
    }
}

static void named(struct hc_bench_run *run, int batch)
{
    struct racer racers[NAMES];
    for (int r = 0; r < NAMES; r++)
        racers[r] = (struct racer){hc_recipe_by_name(rows[r].name), 0, rows[r].least, {0}};
    images_a_second(run, batch, TURNS, NAMES, racers);
}

static void small(struct hc_bench_run *run)
{
    named(run, 64);
}

static void large(struct hc_bench_run *run)
{
    if (hc_bench_backend(run)->host_memory)
        hc_bench_skip(run, "for devices: on a CPU it is as fast as batch 64");
    else
        named(run, 1024);
}

/* One turn: the slowest rows take twenty times as long as fp32. */
static void all(struct hc_bench_run *run)
{
    struct racer racers[MOST];
    int n;
    const struct hc_recipe *recipes = hc_recipes(&n);
    assert(n <= MOST);
    for (int r = 0; r < n; r++)
        racers[r] = (struct racer){&recipes[r], 0, 0, {0}};
    images_a_second(run, 64, 1, n, racers);
}

/* fp32, and all that multiplies codes. They have no claim on a device, where nobody measured. */
static void below_half(struct hc_bench_run *run)
{
    enum { BELOW_HALF_TURNS = 2 };
    struct racer racers[MOST] = {{hc_recipe_by_name("fp32"), 0, 0, {0}}};
    int all;
    int n = 1;
    const struct hc_recipe *recipes = hc_recipes(&all);
    for (int r = 0; r < all; r++)
        if (recipes[r].quant != HC_BY_NONE) {
            assert(n < MOST);
            racers[n++] = (struct racer){&recipes[r], 0, 0.25, {0}};
        }
    images_a_second(run, 64, BELOW_HALF_TURNS, n, racers);
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
    {.name = "training/below-half",
     .title = "the same with the recipes that multiply codes below half",
     .run = below_half,
     .on_any = true},
    {.name = "training/recipes",
     .title = "the same with every recipe, once",
     .run = all,
     .on_any = true},
};

const struct hc_bench_table hc_benches_training;
const struct hc_bench_table hc_benches_training = {benches, sizeof benches / sizeof benches[0]};
