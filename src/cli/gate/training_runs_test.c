/* The comparison of trainings against what it promises, by simulation. Accuracies are drawn from
   normal distributions by a counter-based generator, so that each run of this test is the same. */
#include "cli/gate/training_runs.h"

#include <criterion/criterion.h>
#include <math.h>

#include "cli/statistics/power.h"
#include "num/rng.h"

enum { MOST = 64, EXPERIMENTS = 1000 };

/* Box and Muller (1958). */
static double normal(uint64_t stream, uint64_t index)
{
    double u = ((double)(hc_random(20, stream, 2 * index) >> 11) + 0.5) * 0x1p-53;
    double v = (double)(hc_random(20, stream, 2 * index + 1) >> 11) * 0x1p-53;
    return sqrt(-2 * log(u)) * cos(2 * 3.141592653589793 * v);
}

/* So many runs of a mean accuracy in percent, with a spread of which the part `shared` belongs to
   the seed, on 10,000 images. */
struct recipe {
    double mean;
    double spread;
    double shared;
    uint64_t first_seed;
    int count;
};

static struct hc_training_set draw(const struct recipe *r, uint64_t stream,
                                   struct hc_outcome runs[MOST])
{
    static double epochs[2][MOST][5];
    static int side;
    side = 1 - side;
    for (int i = 0; i < r->count; i++) {
        uint64_t seed = r->first_seed + (uint64_t)i;
        double own = normal(2 * stream + 1, seed + 1000 * (uint64_t)side);
        double z =
            r->shared * normal(1000000 + stream, seed) + sqrt(1 - r->shared * r->shared) * own;
        double accuracy = round(100 * (r->mean + r->spread * z)) / 1e4;
        for (int e = 0; e < 5; e++)
            epochs[side][i][e] = accuracy * (0.8 + 0.05 * e);
        runs[i] = (struct hc_outcome){.recipe = "amp",
                                      .backend = "host",
                                      .seed = seed,
                                      .settings = "",
                                      .reason = "",
                                      .test_images = 10000,
                                      .learned = true,
                                      .accuracy = accuracy,
                                      .test_loss = own,
                                      .train_loss = own,
                                      .accuracy_by_epoch = epochs[side][i],
                                      .epochs = 5};
    }
    return (struct hc_training_set){runs, r->count};
}

static struct hc_training_verdict verdict_of(const struct recipe *was, const struct recipe *is,
                                             uint64_t experiment)
{
    static struct hc_outcome old[MOST];
    static struct hc_outcome new[MOST];
    struct hc_training_verdict verdict;
    struct hc_training_question q = {.margin = 0.5};
    q.was = draw(was, experiment, old);
    q.is = draw(is, experiment, new);
    cr_assert_eq(hc_training_judge(&q, &verdict), HC_OK);
    return verdict;
}

static bool passes(enum hc_training_answer answer)
{
    return answer < HC_TRAINS_WORSE;
}

/* The share of experiments in which the gate passes; of those that have found a slower training. */
static double share(const struct recipe *was, const struct recipe *is, double *slower)
{
    int passed = 0;
    int slow = 0;
    for (int i = 0; i < EXPERIMENTS; i++) {
        struct hc_training_verdict v = verdict_of(was, is, (uint64_t)i);
        passed += passes(v.answer);
        slow += v.slower;
    }
    if (slower)
        *slower = (double)slow / EXPERIMENTS;
    return (double)passed / EXPERIMENTS;
}

/* Four deviations of a share of EXPERIMENTS. */
static double four(double p)
{
    return 4 * sqrt(p * (1 - p) / EXPERIMENTS);
}

static int needed(double deviation, int paired)
{
    struct hc_plan_of_runs plan = {
        .margin = 0.5, .deviation = deviation, .power = 0.8, .level = 0.05, .paired = paired};
    return hc_runs_needed(&plan);
}

/* The null control and the planted loss, with the seeds that the plan asks for: the same recipe
   passes in 80 of 100 experiments or more (not worse passes, too, which the plan does not count),
   a loss of the margin in 5 of 100 or fewer. */
Test(training_runs, other_seeds_pass_as_planned_and_a_planted_loss_fails)
{
    int n = needed(0.3, 0);
    struct recipe was = {.mean = 95.5, .spread = 0.3, .first_seed = 1, .count = n};
    struct recipe same = {.mean = 95.5, .spread = 0.3, .first_seed = 101, .count = n};
    struct recipe loss = {.mean = 95.0, .spread = 0.3, .first_seed = 101, .count = n};
    struct recipe more = {.mean = 94.5, .spread = 0.3, .first_seed = 101, .count = n};
    double slower;
    cr_assert_lt(n, MOST);
    double null = share(&was, &same, &slower);
    cr_expect_geq(null, 0.8 - four(0.8), "%g", null);
    cr_expect_leq(slower, 0.05 + four(0.05), "%g", slower);
    double planted = share(&was, &loss, (double *)0);
    cr_log_info("%d seeds a side: the same passes %.3f, a loss %.3f; slower %.3f", n, null, planted,
                slower);
    cr_expect_leq(planted, 0.05 + four(0.05), "%g", planted);
    cr_expect_geq(planted, 0.05 - four(0.05), "%g: the test is not as sharp as it could be",
                  planted);
    cr_expect_leq(share(&was, &more, (double *)0), 0.001);
}

/* Differences of pairs whose runs share nothing but a name have the spread times the root of 2. */
Test(training_runs, pairs_pass_as_planned_and_a_planted_loss_fails)
{
    for (double shared = 0; shared < 1; shared += 0.9) {
        double deviation = 0.3 * sqrt(2 * (1 - shared * shared));
        int n = needed(deviation, 1);
        struct recipe was = {95.5, 0.3, shared, 1, n};
        struct recipe loss = {95.0, 0.3, shared, 1, n};
        cr_assert_lt(n, MOST);
        double null = share(&was, &was, (double *)0);
        double planted = share(&was, &loss, (double *)0);
        cr_log_info("%d pairs, shared %g: the same passes %.3f, a loss %.3f", n, shared, null,
                    planted);
        cr_expect_geq(null, 0.8 - four(0.8), "shared %g: %g", shared, null);
        cr_expect_leq(planted, 0.05 + four(0.05), "shared %g: %g", shared, planted);
    }
}

/* A loss of two margins is called worse, not only not shown. */
Test(training_runs, a_loss_of_two_margins_is_called_worse)
{
    int n = needed(0.3, 0);
    int worse = 0;
    struct recipe was = {95.5, 0.3, 0, 1, n};
    struct recipe loss = {94.5, 0.3, 0, 101, n};
    struct recipe gain = {96.5, 0.3, 0, 101, n};
    for (int i = 0; i < 200; i++) {
        worse += verdict_of(&was, &loss, (uint64_t)i).answer == HC_TRAINS_WORSE;
        cr_expect_eq(verdict_of(&was, &gain, (uint64_t)i).answer, HC_TRAINS_BETTER);
    }
    cr_expect_geq(worse, 195);
}

/* Whoever asks after few seeds plans with a spread that is not well known: a plan may be too small
   by luck and miss its power, but the loss is caught all the same. docs/training-gate.md has the
   numbers. */
Test(training_runs, a_plan_from_a_few_seeds_catches_a_loss_all_the_same)
{
    enum { PILOTED = 100 };
    static const int pilots[] = {3, 10};
    for (int p = 0; p < 2; p++) {
        int null = 0;
        int planted = 0;
        int planned = 0;
        for (int i = 0; i < PILOTED; i++) {
            static struct hc_outcome old[MOST];
            static struct hc_outcome new[MOST];
            struct hc_training_plan plan;
            struct recipe pilot = {95.5, 0.3, 0, 1, pilots[p]};
            struct recipe other = {95.5, 0.3, 0, 501, pilots[p]};
            struct hc_training_question q = {.margin = 0.5};
            q.was = draw(&pilot, 5000 + (uint64_t)i, old);
            q.is = draw(&other, 5000 + (uint64_t)i, new);
            cr_assert_eq(hc_training_plan(&q, &plan), HC_OK);
            cr_expect(plan.range[0] <= plan.needed && plan.needed <= plan.range[1]);
            int n = plan.needed < MOST ? plan.needed : MOST - 1;
            struct recipe was = {95.5, 0.3, 0, 1, n};
            struct recipe same = {95.5, 0.3, 0, 101, n};
            struct recipe loss = {95.0, 0.3, 0, 101, n};
            null += passes(verdict_of(&was, &same, (uint64_t)i).answer);
            planted += passes(verdict_of(&was, &loss, (uint64_t)i).answer);
            planned += n;
        }
        double of = PILOTED;
        cr_log_info("pilot of %d a side: %.1f seeds, the same passes %.3f, a loss %.3f", pilots[p],
                    planned / of, null / of, planted / of);
        cr_expect_geq(null / of, 0.7, "pilot %d: %g", pilots[p], null / of);
        cr_expect_leq(planted / of, 0.05 + four(0.05) * sqrt(EXPERIMENTS / of), "%g", planted / of);
    }
}

Test(training_runs, identical_runs_need_no_seeds_and_failed_ones_do_not_count)
{
    struct hc_outcome old[MOST];
    struct hc_outcome new[MOST];
    struct hc_training_verdict v;
    struct hc_training_plan plan;
    struct recipe one = {95.5, 0.3, 0, 1, 4};
    struct hc_training_question q = {.margin = 0.5};
    q.was = draw(&one, 7, old);
    q.is = q.was;
    q.is.count = 1;
    cr_assert_eq(hc_training_judge(&q, &v), HC_OK);
    cr_expect_eq(v.answer, HC_TRAINS_IDENTICAL);
    q.is = draw(&one, 8, new);
    q.is.count = 2;
    cr_assert_eq(hc_training_judge(&q, &v), HC_OK);
    cr_expect_eq(v.answer, HC_TRAINS_TOO_FEW);
    q.is.count = 4;
    new[0].learned = false;
    new[3].accuracy = (double)NAN;
    cr_assert_eq(hc_training_judge(&q, &v), HC_OK);
    cr_expect_eq(v.answer, HC_TRAINS_TOO_FEW);
    cr_expect_eq(v.is, 2);
    q.is.count = q.was.count = 1;
    cr_assert_eq(hc_training_plan(&q, &plan), HC_OK);
    cr_expect_eq(plan.needed, 0, "one run has no spread");
}

/* All five come to the target in epoch 2, and then in 3: by the grain of an epoch that is shown. */
Test(training_runs, one_epoch_more_in_every_run_is_shown_to_be_slower)
{
    static const double early[] = {0.5, 0.95, 0.955};
    static const double late[] = {0.5, 0.94, 0.955};
    struct hc_outcome old[MOST];
    struct hc_outcome new[MOST];
    struct hc_training_verdict v;
    struct recipe one = {95.5, 0.1, 0, 1, 5};
    struct hc_training_question q = {.margin = 0.5, .target = 94.9, .epochs_level = 0.05 / 4};
    q.was = draw(&one, 7, old);
    q.is = draw(&one, 8, new);
    for (int i = 0; i < 5; i++) {
        old[i].accuracy_by_epoch = early;
        new[i].accuracy_by_epoch = late;
        old[i].epochs = new[i].epochs = 3;
    }
    cr_assert_eq(hc_training_judge(&q, &v), HC_OK);
    cr_expect(v.slower && !v.faster);
    cr_expect_eq(v.epochs_was, 2);
    cr_expect_eq(v.epochs_is, 3);
    q.target = 99;
    cr_assert_eq(hc_training_judge(&q, &v), HC_OK);
    cr_expect_eq(v.epochs_is, 4, "a run that never comes there counts one more than it had");
    cr_expect_not(v.slower);
}

/* Accuracies of spread 0.3 exactly, with losses of their own. */
static struct hc_training_set three(struct hc_outcome runs[MOST], uint64_t first, int64_t images)
{
    struct recipe one = {95.5, 0.3, 0, first, 3};
    struct hc_training_set set = draw(&one, first, runs);
    for (int i = 0; i < 3; i++) {
        runs[i].accuracy = 0.95 + 0.003 * i;
        runs[i].test_images = images;
        runs[i].train_loss = (double)first + i;
    }
    return set;
}

/* Without pairs the spread is that of both sets, 4 degrees of freedom, and as many runs are needed
   as the plan of this spread says; the same runs twice are one set, 2 degrees. */
Test(training_runs, a_plan_takes_the_spread_that_it_has)
{
    struct hc_outcome old[MOST];
    struct hc_outcome new[MOST];
    struct hc_training_plan plan;
    struct hc_training_question q = {.margin = 0.5};
    q.was = three(old, 1, 10000);
    q.is = three(new, 11, 10000);
    cr_assert_eq(hc_training_plan(&q, &plan), HC_OK);
    cr_expect_float_eq(plan.deviation, 0.3, 1e-12);
    cr_expect_eq(plan.freedom, 4);
    cr_expect_eq(plan.needed, needed(0.3, 0));
    q.is = q.was;
    cr_assert_eq(hc_training_plan(&q, &plan), HC_OK);
    cr_expect_eq(plan.freedom, 2);
    cr_expect_eq(plan.needed, needed(0.3, 0));
    q.is = three(new, 1, 10000);
    for (int i = 0; i < 3; i++) {
        new[i].accuracy += 0.004 * (i % 2);
        new[i].train_loss = 99;
    }
    cr_assert_eq(hc_training_plan(&q, &plan), HC_OK);
    cr_expect_eq(plan.freedom, 2);
    cr_expect(plan.paired);
    cr_expect_float_eq(plan.deviation, 0.4 / sqrt(3), 1e-9, "of 0, 0.4 and 0: %g", plan.deviation);
    cr_expect_eq(plan.needed, needed(0.4 / sqrt(3), 1));
}

/* On 100 images an image is a point: three pairs without a difference show nothing about half. */
Test(training_runs, accuracies_of_few_images_do_not_show_a_small_margin)
{
    struct hc_outcome old[MOST];
    struct hc_outcome new[MOST];
    struct hc_training_verdict v;
    struct hc_training_question q = {.margin = 0.5};
    q.was = three(old, 1, 100);
    q.is = three(new, 1, 100);
    for (int i = 0; i < 3; i++)
        new[i].train_loss = 99;
    cr_assert_eq(hc_training_judge(&q, &v), HC_OK);
    cr_expect_eq(v.answer, HC_TRAINS_NOT_SHOWN);
    for (int i = 0; i < 3; i++)
        old[i].test_images = new[i].test_images = 10000;
    cr_assert_eq(hc_training_judge(&q, &v), HC_OK);
    cr_expect_eq(v.answer, HC_TRAINS_EQUIVALENT);
}
