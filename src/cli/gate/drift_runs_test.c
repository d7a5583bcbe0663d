/* The comparison of drifts: false alarms and planted growth, by simulation. */
#include "cli/gate/drift_runs.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "num/rng.h"

enum { NUMBERS = 40, MOST = 8 };

static double normal(uint64_t stream, uint64_t index)
{
    double u = ((double)(hc_random(21, stream, 2 * index) >> 11) + 0.5) * 0x1p-53;
    double v = (double)(hc_random(21, stream, 2 * index + 1) >> 11) * 0x1p-53;
    return sqrt(-2 * log(u)) * cos(2 * 3.141592653589793 * v);
}

struct side {
    struct hc_drift_outcome runs[MOST];
    struct hc_drift_number numbers[MOST][NUMBERS];
};

static char names[NUMBERS][32];

/* Numbers about 0.1 with a spread of 0.3 in their logarithm, of which half is the seed's and
   half the noise's; all (-1) or one of them grown by a factor. */
static struct hc_drift_set draw(struct side *s, uint64_t experiment, uint64_t noise, uint64_t first,
                                int count, double factor, int only)
{
    for (int k = 0; k < NUMBERS; k++)
        (void)snprintf(names[k], sizeof names[k],
                       k == 0   ? "gradient"
                       : k == 1 ? "weights"
                                : "gradient of %d",
                       k);
    for (int i = 0; i < count; i++) {
        uint64_t seed = first + (uint64_t)i;
        for (int k = 0; k < NUMBERS; k++) {
            double shared = normal(2 * experiment, seed * NUMBERS + (uint64_t)k);
            double own = normal(2 * experiment + 1, 1000000 * noise + seed * NUMBERS + (uint64_t)k);
            double grown = only < 0 || only == k ? factor : 1;
            s->numbers[i][k] = (struct hc_drift_number){
                names[k], 0.1 * grown * exp(0.3 * sqrt(0.5) * (shared + own))};
        }
        s->runs[i] = (struct hc_drift_outcome){.recipe = "amp",
                                               .backend = "host",
                                               .seed = seed,
                                               .settings = "",
                                               .numbers = s->numbers[i],
                                               .count = NUMBERS};
    }
    return (struct hc_drift_set){s->runs, count};
}

static struct side old;
static struct side new;

/* How many numbers of the second set have the change. */
static int count_of(const struct hc_drift_set *was, const struct hc_drift_set *is,
                    enum hc_drift_change change)
{
    int count = 0;
    for (int k = 0; k < NUMBERS; k++) {
        struct hc_drift_verdict v;
        cr_assert_eq(hc_drift_judge(was, is, k, &v), HC_OK);
        count += v.change == change;
    }
    return count;
}

/* 5 % of recipes at most have a number that is called grown though nothing has changed. */
Test(drift_runs, without_a_change_a_recipe_is_rarely_called_worse)
{
    enum { EXPERIMENTS = 400 };
    for (int paired = 0; paired < 2; paired++) {
        int alarms = 0;
        for (int i = 0; i < EXPERIMENTS; i++) {
            struct hc_drift_set was = draw(&old, (uint64_t)i, 1, 1, 5, 1, -1);
            struct hc_drift_set is = draw(&new, (uint64_t)i, 2, paired ? 1 : 101, 5, 1, -1);
            alarms += count_of(&was, &is, HC_DRIFT_GROWN) > 0;
        }
        cr_expect_leq(alarms, EXPERIMENTS * 0.05 + 4 * sqrt(EXPERIMENTS * 0.05 * 0.95),
                      "paired %d: %d", paired, alarms);
    }
}

Test(drift_runs, a_planted_growth_is_found_where_it_was_planted)
{
    int found = 0;
    int elsewhere = 0;
    for (int i = 0; i < 100; i++) {
        struct hc_drift_verdict v;
        struct hc_drift_set was = draw(&old, (uint64_t)i, 1, 1, 8, 1, -1);
        struct hc_drift_set is = draw(&new, (uint64_t)i, 2, 1, 8, 4, 7);
        cr_assert_eq(hc_drift_judge(&was, &is, 7, &v), HC_OK);
        found += v.change == HC_DRIFT_GROWN;
        elsewhere += count_of(&was, &is, HC_DRIFT_GROWN) - (v.change == HC_DRIFT_GROWN);
    }
    cr_expect_geq(found, 90);
    cr_expect_leq(elsewhere, 5 + 9);
}

/* The same seeds, each number larger by 2 %: shown by pairs, and no reason for an alarm. */
Test(drift_runs, what_is_less_than_seeds_differ_moved_and_is_no_worse)
{
    struct hc_drift_set was = draw(&old, 3, 1, 1, 5, 1, -1);
    struct hc_drift_set is = draw(&new, 3, 1, 1, 5, 1, -1);
    cr_expect_eq(count_of(&was, &is, HC_DRIFT_SAME), NUMBERS);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < NUMBERS; k++)
            new.numbers[i][k].value *= 1.02;
    cr_expect_eq(count_of(&was, &is, HC_DRIFT_MOVED), NUMBERS);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < NUMBERS; k++)
            new.numbers[i][k].value *= 4;
    cr_expect_eq(count_of(&was, &is, HC_DRIFT_GROWN), NUMBERS);
    cr_expect_eq(count_of(&is, &was, HC_DRIFT_SHRUNK), NUMBERS);
}

Test(drift_runs, zeros_nans_and_single_seeds_are_told_apart)
{
    struct hc_drift_verdict v;
    struct hc_drift_set was = draw(&old, 3, 1, 1, 3, 1, -1);
    struct hc_drift_set is = draw(&new, 3, 1, 1, 3, 1, -1);
    for (int i = 0; i < 3; i++)
        old.numbers[i][5].value = new.numbers[i][5].value = 0;
    cr_assert_eq(hc_drift_judge(&was, &is, 5, &v), HC_OK);
    cr_expect_eq(v.change, HC_DRIFT_SAME);
    new.numbers[1][5].value = 1e-9;
    cr_assert_eq(hc_drift_judge(&was, &is, 5, &v), HC_OK);
    cr_expect_eq(v.change, HC_DRIFT_GROWN, "what was never touched is touched");
    new.numbers[1][6].value = (double)NAN;
    cr_assert_eq(hc_drift_judge(&was, &is, 6, &v), HC_OK);
    cr_expect_eq(v.change, HC_DRIFT_GROWN);
    cr_assert_eq(hc_drift_judge(&is, &was, 6, &v), HC_OK);
    cr_expect_eq(v.change, HC_DRIFT_UNKNOWN);
    old.numbers[0][7].value = 0;
    for (int i = 0; i < 3; i++)
        new.numbers[i][7].value *= 1000;
    cr_assert_eq(hc_drift_judge(&was, &is, 7, &v), HC_OK);
    cr_expect_eq(v.change, HC_DRIFT_GROWN, "a zero of one seed excuses no other");
    cr_assert_eq(hc_drift_judge(&is, &was, 7, &v), HC_OK);
    cr_expect_neq(v.change, HC_DRIFT_GROWN);
    cr_expect_neq(v.change, HC_DRIFT_UNKNOWN);
    was.count = is.count = 1;
    cr_assert_eq(hc_drift_judge(&was, &is, 0, &v), HC_OK);
    cr_expect(v.change == HC_DRIFT_SAME && v.equal);
    new.numbers[0][0].value *= 2;
    cr_assert_eq(hc_drift_judge(&was, &is, 0, &v), HC_OK);
    cr_expect_eq(v.change, HC_DRIFT_UNKNOWN);
}
