/* Every row of the recipe table through some steps of a minute network. */
#include <criterion/criterion.h>
#include <regex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/run/trainer.h"

/* Five epochs of eight steps. */
enum { IMAGES = 32, BATCH = 8, EPOCHS = 5, EPOCH = 2 * IMAGES / BATCH, STEPS = EPOCHS * EPOCH };

static struct hc_dataset data;

static void make(void)
{
    struct hc_data_options options = {
        .classes = "airplane,dog", .seed = 5, .train_per_class = IMAGES, .test_per_class = 8};
    cr_assert_eq(hc_dataset_open(&options, &data), HC_OK, "%s", hc_message());
}

static void unmake(void)
{
    hc_dataset_close(&data);
}

TestSuite(recipes, .init = make, .fini = unmake);

struct course {
    int steps;
    double loss[STEPS];  /* fp32 numbers */
    double scale[STEPS]; /* after the step */
    struct hc_train_result result;
};

static bool keep(const struct hc_progress *progress, void *context)
{
    struct course *course = context;
    cr_assert_leq(progress->step, STEPS);
    course->steps = (int)progress->step;
    course->loss[progress->step - 1] = progress->loss;
    course->scale[progress->step - 1] = progress->scale;
    return true;
}

static void train(const struct hc_recipe *recipe, int epochs, struct course *course)
{
    static const struct hc_network minute = {.name = "minute",
                                             .side = 32,
                                             .channels = 3,
                                             .width = 4,
                                             .groups = 1,
                                             .blocks = {1},
                                             .strides = {4}};
    struct hc_train_options options = {.recipe = recipe,
                                       .network = &minute,
                                       .data = &data,
                                       .backend = hc_backend_by_name("exact"),
                                       .epochs = epochs,
                                       .batch = BATCH,
                                       .max_lr = 1e-2,
                                       .seed = 11,
                                       .progress = keep,
                                       .context = course};
    memset(course, 0, sizeof *course);
    cr_assert_eq(hc_train(&options, &course->result), HC_OK, "%s: %s", recipe->name, hc_message());
    cr_assert_eq(course->steps, epochs * EPOCH, "%s", recipe->name);
}

static double mean(const double *loss)
{
    double sum = 0;
    for (int i = 0; i < EPOCH; i++)
        sum += loss[i];
    return sum / EPOCH;
}

/* What a row's course must be where it is not: finite, from a mean loss of 0.71 in the first epoch
   to less than 3/4 of that in the last, every step taken. */
struct want {
    const char *name;
    bool nan;     /* no loss is a number after the first step: eps is 0 in half */
    double below; /* of the first epoch's loss; 0: 3/4 */
    int skips;    /* steps at least, at the start */
};

static const struct want wants[] = {
    {.name = "fp16-pure", .nan = true},
    {.name = "apex-O3", .nan = true},
    /* made for batches of 64 */
    {.name = "sum-loss-fp16", .below = 0.97},
    /* At the start the gradients of the logits are half the scale / 8: infinite from 2^21 on. */
    {.name = "apex-fp16opt-dynamic", .skips = 32 - 20},
    {.name = "fastai2-nonnative", .skips = 24 - 20},
};

static const struct want *want_of(const char *name)
{
    static const struct want usual = {.name = NULL};
    for (size_t i = 0; i < sizeof wants / sizeof wants[0]; i++)
        if (strcmp(wants[i].name, name) == 0)
            return &wants[i];
    return &usual;
}

/* No rule grows its scale within so few steps, and each halves it. */
static void judge(const struct hc_recipe *row, const struct course *course)
{
    const struct want *want = want_of(row->name);
    const struct hc_train_result *result = &course->result;
    double first = mean(course->loss);
    double last = mean(course->loss + STEPS - EPOCH);
    cr_expect(isfinite(course->loss[0]), "%s: the first loss is %g", row->name, course->loss[0]);
    for (int s = 1; s < STEPS; s++)
        cr_expect_eq(!isfinite(course->loss[s]), want->nan, "%s: loss %g in step %d", row->name,
                     course->loss[s], s);
    if (!want->nan)
        cr_expect_lt(last, (want->below > 0 ? want->below : 0.75) * first, "%s: from %g to %g",
                     row->name, first, last);
    cr_expect(want->skips ? result->skipped >= want->skips : result->skipped == 0,
              "%s: %d steps skipped", row->name, (int)result->skipped);
    for (int s = 0; s < want->skips; s++)
        cr_expect_eq(course->scale[s], ldexp((double)hc_scaler_initial(&row->scaler), -s - 1),
                     "%s: scale %g after step %d", row->name, course->scale[s], s);
    cr_expect_eq(result->final_scale,
                 ldexp((double)hc_scaler_initial(&row->scaler), -(int)result->skipped), "%s",
                 row->name);
}

Test(recipes, every_row_trains_or_shows_its_defect)
{
    int n;
    const struct hc_recipe *rows = hc_recipes(&n);
    for (int r = 0; r < n; r++) {
        struct course course;
        train(&rows[r], EPOCHS, &course);
        judge(&rows[r], &course);
    }
}

static bool same(const char *one, const char *other)
{
    struct hc_recipe recipes[] = {*hc_recipe_by_name(one), *hc_recipe_by_name(other)};
    struct course courses[2];
    for (int i = 0; i < 2; i++) {
        if (want_of(recipes[i].name)->nan)
            recipes[i].eps = 1e-4;
        train(&recipes[i], 1, &courses[i]);
    }
    cr_assert(isfinite(courses[0].loss[EPOCH - 1]), "%s", one);
    return memcmp(courses[0].loss, courses[1].loss, sizeof courses[0].loss) == 0 &&
           courses[0].result.final_scale == courses[1].result.final_scale;
}

/* Flat masters or not, Apex's name or torch's: while nothing overflows. */
/* Whoever doubts a row must find what it was read from: a release, a commit, a paper's version, a
   numbered thread, a dated page. */
Test(recipes, every_source_says_which_version_it_is)
{
    regex_t version;
    int n;
    const struct hc_recipe *recipes = hc_recipes(&n);
    cr_assert_eq(regcomp(&version,
                         "@[0-9a-f]{8}|[0-9]+[.][0-9]+[.][0-9]+|arXiv [0-9.]+v[0-9]|forums [0-9]+|"
                         "[.]com 20[0-9][0-9]|^no system",
                         REG_EXTENDED | REG_NOSUB),
                 0);
    for (int i = 0; i < n; i++)
        cr_expect_eq(regexec(&version, recipes[i].source, 0, NULL, 0), 0, "%s: %s", recipes[i].name,
                     recipes[i].source);
    for (int i = 0; i < HC_SCALER_COUNT; i++)
        cr_expect_eq(regexec(&version, hc_scalers[i].source, 0, NULL, 0), 0, "%s: %s",
                     hc_scalers[i].name, hc_scalers[i].source);
    regfree(&version);
}

Test(recipes, rows_of_one_rule_give_the_same_bits)
{
    static const char *const pairs[][2] = {
        {"fp32", "apex-O0"},
        {"fp16-pure", "apex-O3"},
        {"amp", "apex-O1"},
        {"fastai-004b", "fastai-004b-flat"},
        {"fastai-004b", "fastai-1.0.61-static"},
        {"fastai-1.0.61", "fastai-1.0.61-flat"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        cr_expect(same(pairs[i][0], pairs[i][1]), "%s and %s", pairs[i][0], pairs[i][1]);
    cr_expect_not(same("fp32", "tf32"));
    cr_expect_not(same("amp", "apex-O2"));
    cr_expect_not(same("fastai-1.0.61", "fastai-1.0.61-clip"));
}
