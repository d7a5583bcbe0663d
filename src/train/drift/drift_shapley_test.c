/* Shares against their definition, the mean over all orders, in whole numbers. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/drift/drift.h"
#include "train/drift/drift_shapley.h"
#include "train/update/recipe_fields.h"

enum { MOST = 8, SUBSETS = 1 << MOST };

/* All orders of `players` one after the other: the next permutation in the order of the alphabet;
   false after the last. */
static bool next_order(int *order, int players)
{
    int i = players - 2;
    while (i >= 0 && order[i] > order[i + 1])
        i--;
    if (i < 0)
        return false;
    int j = players - 1;
    while (order[j] < order[i])
        j--;
    int kept = order[i];
    order[i] = order[j];
    order[j] = kept;
    for (int a = i + 1, b = players - 1; a < b; a++, b--) {
        kept = order[a];
        order[a] = order[b];
        order[b] = kept;
    }
    return true;
}

/* players! times each share, exactly: the sum over all orders of what the player adds. */
static int64_t sums_over_orders(const int64_t *value, int players, int64_t *sum)
{
    int order[MOST];
    int64_t orders = 0;
    for (int i = 0; i < players; i++) {
        order[i] = i;
        sum[i] = 0;
    }
    do {
        uint32_t set = 0;
        for (int i = 0; i < players; i++) {
            sum[order[i]] += value[set | 1U << order[i]] - value[set];
            set |= 1U << order[i];
        }
        orders++;
    } while (next_order(order, players));
    return orders;
}

/* What pair (a, b) adds together beyond one by one, summed over the orders in which both come as
   one: a stands for the two. */
static int64_t pair_over_orders(const int64_t *value, int players, int a, int b, int64_t *orders)
{
    int order[MOST];
    int n = 0;
    int64_t sum = 0;
    for (int i = 0; i < players; i++)
        if (i != b)
            order[n++] = i;
    *orders = 0;
    do {
        uint32_t s = 0;
        for (int i = 0; order[i] != a; i++)
            s |= 1U << order[i];
        uint32_t with_a = s | 1U << a;
        uint32_t with_b = s | 1U << b;
        sum += value[with_a | with_b] - value[with_a] - value[with_b] + value[s];
        ++*orders;
    } while (next_order(order, n));
    return sum;
}

static void widen(const int64_t *value, int players, double *wide)
{
    for (int s = 0; s < 1 << players; s++)
        wide[s] = (double)value[s];
}

/* The bound of drift_shapley.c with the largest that is added, and one more rounding, of `want`. */
static double bound(int64_t largest)
{
    return 47 * (DBL_EPSILON / 2) * 2 * (double)largest;
}

static void expect_shares(const int64_t *value, int players, int64_t largest)
{
    double wide[SUBSETS];
    double got[MOST];
    int64_t sum[MOST];
    int64_t orders = sums_over_orders(value, players, sum);
    double total = 0;
    widen(value, players, wide);
    hc_shapley(wide, players, got);
    for (int i = 0; i < players; i++) {
        double want = (double)sum[i] / (double)orders;
        cr_expect(fabs(got[i] - want) <= bound(largest), "share %d of %d: %.17g, not %.17g", i,
                  players, got[i], want);
        total += got[i];
        for (int j = 0; j < players; j++) {
            if (j == i)
                continue;
            double pair = (double)pair_over_orders(value, players, i, j, &orders) / (double)orders;
            cr_expect(fabs(hc_shapley_pair(wide, players, i, j) - pair) <= 2 * bound(largest),
                      "pair %d, %d of %d", i, j, players);
            orders = sums_over_orders(value, players, sum);
        }
    }
    cr_expect(fabs(total - wide[(1 << players) - 1]) <= players * bound(largest));
}

static uint32_t random_state = 1;

static int64_t random_below(int64_t most)
{
    random_state = random_state * 1664525U + 1013904223U;
    return (int64_t)(random_state >> 8) % most;
}

Test(shapley, shares_and_pairs_are_the_mean_over_all_orders)
{
    int64_t value[SUBSETS] = {0};
    for (int players = 2; players <= 6; players++)
        for (int s = 1; s < 1 << players; s++) {
            value[s] = random_below(1000000);
            if (s == (1 << players) - 1)
                expect_shares(value, players, 1000000);
        }
}

Test(shapley, eight_players_are_the_mean_over_all_40320_orders)
{
    int64_t value[SUBSETS] = {0};
    double wide[SUBSETS];
    double got[MOST];
    int64_t sum[MOST];
    for (int s = 1; s < SUBSETS; s++)
        value[s] = random_below(1 << 20);
    cr_assert_eq(sums_over_orders(value, MOST, sum), 40320);
    widen(value, MOST, wide);
    hc_shapley(wide, MOST, got);
    for (int i = 0; i < MOST; i++)
        cr_expect(fabs(got[i] - (double)sum[i] / 40320) <= bound(1 << 20), "share %d", i);
}

/* One left glove and two right ones; a pair is worth 1. The owner of the left one gets 2/3. */
Test(shapley, gloves_are_shared_as_shapley_shares_them)
{
    const double value[8] = {[3] = 1, [5] = 1, [7] = 1};
    double got[3];
    hc_shapley(value, 3, got);
    cr_expect(fabs(got[0] - 2.0 / 3) <= 4 * DBL_EPSILON);
    cr_expect(fabs(got[1] - 1.0 / 6) <= 4 * DBL_EPSILON);
    cr_expect(fabs(got[2] - 1.0 / 6) <= 4 * DBL_EPSILON);
}

/* Player 4 adds nothing to any set, and 1 and 2 add the same to each. All numbers are whole, and
   the two sum the same numbers in another order, which is exact. */
Test(shapley, one_who_adds_nothing_has_nothing_and_equals_have_equal_shares)
{
    double value[32] = {0};
    double got[5];
    for (uint32_t s = 1; s < 32; s++) {
        int equals = hc_members(s & 6U);
        bool first = s & 1U;
        bool fourth = s & 8U;
        value[s] = 100 * first + 7 * equals * equals - 30 * (first && equals == 2) - 40 * fourth +
                   13 * (fourth && equals > 0);
    }
    hc_shapley(value, 5, got);
    cr_expect_eq(got[4], 0);
    cr_expect_eq(got[1], got[2]);
    cr_expect_neq(got[1], 0);
    cr_expect(got[3] < 0);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(hc_shapley_pair(value, 5, i, 4), 0, "%d", i);
    cr_expect_eq(hc_shapley_pair(value, 5, 0, 1), hc_shapley_pair(value, 5, 0, 2));
}

/* Errors that simply add up: the share of each is its product with the sum of all, and the
   interaction of two is twice their product. e[1] points against the sum. */
Test(shapley, of_errors_that_add_up_a_share_is_the_product_with_their_sum)
{
    static const int64_t e[4][3] = {{7, -2, 3}, {-5, 1, 0}, {4, 4, -1}, {0, 9, 2}};
    int64_t value[16];
    double wide[16];
    double got[4];
    for (int s = 0; s < 16; s++) {
        value[s] = 0;
        for (int x = 0; x < 3; x++) {
            int64_t sum = 0;
            for (int i = 0; i < 4; i++)
                sum += s >> i & 1 ? e[i][x] : 0;
            value[s] += sum * sum;
        }
    }
    widen(value, 4, wide);
    hc_shapley(wide, 4, got);
    for (int i = 0; i < 4; i++) {
        int64_t product = 0;
        for (int x = 0; x < 3; x++)
            product += e[i][x] * (e[0][x] + e[1][x] + e[2][x] + e[3][x]);
        cr_expect(fabs(got[i] - (double)product) <= bound(200), "%d: %g", i, got[i]);
        cr_expect_eq(product < 0, i == 1);
        for (int j = 0; j < i; j++) {
            int64_t both = 0;
            for (int x = 0; x < 3; x++)
                both += e[i][x] * e[j][x];
            cr_expect(fabs(hc_shapley_pair(wide, 4, i, j) - 2 * (double)both) <= 2 * bound(200));
        }
    }
}

/* Parts 1, 2, 3 of wholes 2, 4, 12: the ratio is 1/3, the parts are off by 1/3, 2/3 and -1, whose
   squares sum to 14/9. The error is sqrt(14/9 * 3 / 2) / 18 = sqrt(7/3) / 18. */
Test(shapley, the_error_of_a_share_is_that_of_a_ratio_of_sums)
{
    const double part[] = {1, 2, 3};
    const double whole[] = {2, 4, 12};
    cr_expect(fabs(hc_share_error(part, whole, 3) - sqrt(7.0 / 3) / 18) < 1e-15);
    cr_expect_eq(hc_share_error(whole, whole, 3), 0);
    cr_expect(isnan(hc_share_error(part, whole, 1)));
}

/* Shares of real drifts: they sum to the squared error of all sources, whose parts are those that
   the table of sources has. */

enum { STEPS = 2 };

static struct hc_dataset set;

static struct hc_drift_study *study_on(const char *backend, int ranks, uint64_t seed)
{
    struct hc_drift_study *study;
    struct hc_data_options data = {.seed = 1, .train_per_class = 2, .test_per_class = 1};
    cr_assert_eq(hc_dataset_open(&data, &set), HC_OK);
    struct hc_drift_options options = {.network = &hc_darknet_tiny,
                                       .data = &set,
                                       .backend = hc_backend_by_name(backend),
                                       .threads = 1,
                                       .batch = 4,
                                       .ranks = ranks,
                                       .steps = STEPS,
                                       .lr = 3e-4,
                                       .seed = seed};
    cr_assert_eq(hc_drift_open(&study, &options), HC_OK, "%s", hc_message());
    return study;
}

static void end(struct hc_drift_study *study)
{
    hc_drift_close(study);
    hc_dataset_close(&set);
}

static struct hc_recipe read_recipe(const char *text)
{
    struct hc_recipe recipe;
    static char name[HC_RECIPE_NAME];
    cr_assert_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_OK, "%s", hc_message());
    return recipe;
}

static void measure(struct hc_drift_study *study, const struct hc_recipe *recipe,
                    struct hc_drift *drift, const struct hc_drift_shares *like,
                    struct hc_drift_shares *shares)
{
    cr_assert_eq(hc_drift_measure(study, recipe, drift), HC_OK, "%s", hc_message());
    cr_assert_eq(hc_drift_measure_shares(study, drift, like, shares), HC_OK, "%s", hc_message());
}

/* A sum of n squares is off by n u of itself at most, and the table and the shares sum the 13,494
   squares of each step in two orders: 2 * 2^15 * 2^-53 and a few more roundings are below 1e-11.
   Shares are off by 46 u of the mean that is added, which is no more than the largest value. */
static void expect_close(double got, double want, double largest, const char *what,
                         const char *recipe)
{
    cr_expect(fabs(got - want) <= 1e-11 * largest, "%s: %s %.17g, not %.17g", recipe, what, got,
              want);
}

static void expect_shares_of(const struct hc_drift *d, const struct hc_drift_shares *s,
                             bool weights)
{
    const double *alone = weights ? d->alone_free : d->alone_gradient;
    double all = alone[HC_SOURCE_COUNT];
    double sum = 0;
    double largest = all * all;
    uint32_t sources = 0;
    const char *name = d->recipe->name;
    cr_expect(s->players > 1 && s->players <= HC_MAX_PLAYERS, "%s: %d", name, s->players);
    cr_expect_eq(s->steps, weights ? 1 : STEPS, "%s", name);
    for (int i = 0; i < s->players; i++)
        largest = fmax(largest, s->player[i].alone);
    expect_close(s->all, all * all, largest, "square of all", name);
    for (int i = 0; i < s->players; i++) {
        const struct hc_drift_player *p = &s->player[i];
        sum += p->share;
        cr_expect_eq(sources & p->sources, 0, "%s: player %d", name, i);
        sources |= p->sources;
        for (int k = 0; k < HC_SOURCE_COUNT; k++)
            if (p->sources == UINT32_C(1) << k && k != HC_SOURCE_UNIT)
                expect_close(p->alone, alone[k] * alone[k], largest, hc_source_names[k], name);
        cr_expect_eq(isnan(p->error), weights, "%s: player %d", name, i);
    }
    expect_close(sum, s->all, largest, "sum of shares", name);
    cr_expect_eq(sources,
                 hc_drift_sources(d) & (uint32_t)(weights ? HC_ALL_SOURCES : HC_PASS_SOURCES), "%s",
                 name);
}

Test(drift_shares, they_sum_to_the_squared_error_of_all_sources)
{
    static const struct {
        const char *backend, *recipe;
    } rows[] = {{"host", "fp32"},
                {"host", "adamw16"},
                {"host", "amp-bf16"},
                {"host", "fp8-te-current"},
                {"sim-h100", "amp"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_drift d;
        struct hc_drift_shares s[HC_DRIFT_QUANTITIES];
        struct hc_recipe recipe = read_recipe(rows[i].recipe);
        struct hc_drift_study *study = study_on(rows[i].backend, 0, 1);
        measure(study, &recipe, &d, NULL, s);
        expect_shares_of(&d, &s[HC_DRIFT_OF_GRADIENT], false);
        expect_shares_of(&d, &s[HC_DRIFT_OF_WEIGHTS], true);
        end(study);
    }
}

/* Seven sources of the passes of half stand alone; of the ten that move weights, the seven that do
   most, and the others are one player. Nothing rounds in fp64. */
Test(drift_shares, those_that_do_least_are_put_in_together)
{
    struct hc_drift d;
    struct hc_drift_shares s[HC_DRIFT_QUANTITIES];
    struct hc_recipe recipe = read_recipe("adamw16");
    struct hc_drift_study *study = study_on("host", 0, 1);
    measure(study, &recipe, &d, NULL, s);
    cr_assert_eq(s[HC_DRIFT_OF_GRADIENT].players, 7);
    for (int i = 0; i < 7; i++)
        cr_expect_eq(hc_members(s[HC_DRIFT_OF_GRADIENT].player[i].sources), 1);
    const struct hc_drift_shares *w = &s[HC_DRIFT_OF_WEIGHTS];
    double all = d.alone_free[HC_SOURCE_COUNT] * d.alone_free[HC_SOURCE_COUNT];
    double least_apart = (double)INFINITY;
    double most_of_others = 0;
    cr_assert_eq(w->players, HC_MAX_PLAYERS);
    cr_expect_eq(hc_members(w->player[HC_MAX_PLAYERS - 1].sources), 3);
    for (int k = 0; k < HC_SOURCE_COUNT; k++) {
        double does = fmax(d.alone_free[k] * d.alone_free[k],
                           fabs(all - d.without_free[k] * d.without_free[k]));
        if (w->player[HC_MAX_PLAYERS - 1].sources & UINT32_C(1) << k)
            most_of_others = fmax(most_of_others, does);
        else if (hc_drift_sources(&d) & UINT32_C(1) << k)
            least_apart = fmin(least_apart, does);
    }
    cr_expect(most_of_others <= least_apart, "%g, %g", most_of_others, least_apart);
    recipe = read_recipe("fp64");
    measure(study, &recipe, &d, NULL, s);
    for (int q = 0; q < HC_DRIFT_QUANTITIES; q++)
        cr_expect(s[q].players == 0 && s[q].all == 0 && s[q].passes == 0);
    end(study);
}

/* What the second recipe does is what the first did, and the runs are known. */
Test(drift_shares, what_two_recipes_have_in_common_is_run_once)
{
    struct hc_drift d;
    struct hc_drift_shares first[HC_DRIFT_QUANTITIES];
    struct hc_drift_shares second[HC_DRIFT_QUANTITIES];
    struct hc_recipe recipe = read_recipe("fastai-004b");
    struct hc_recipe flat = read_recipe("fastai-004b-flat");
    struct hc_drift_study *study = study_on("host", 0, 1);
    measure(study, &recipe, &d, NULL, first);
    measure(study, &flat, &d, NULL, second);
    for (int q = 0; q < HC_DRIFT_QUANTITIES; q++) {
        int known = 2 + first[q].players;
        int runs = (1 << first[q].players) - known;
        cr_expect(first[q].passes > 0 && first[q].passes <= (int64_t)runs * STEPS, "%lld",
                  (long long)first[q].passes);
        cr_expect_eq(second[q].passes, 0);
        cr_expect_eq(second[q].all, first[q].all);
        for (int i = 0; i < first[q].players; i++)
            cr_expect_eq(second[q].player[i].share, first[q].player[i].share);
    }
    end(study);
}

/* Over ranks the average is a source as well, so some are put in together; another seed has the
   players that it is given. */
Test(drift_shares, another_seed_has_the_players_of_the_first)
{
    struct hc_drift d;
    struct hc_drift_shares first[HC_DRIFT_QUANTITIES];
    struct hc_drift_shares second[HC_DRIFT_QUANTITIES];
    struct hc_recipe recipe = read_recipe("fp16-bn32");
    struct hc_drift_study *study = study_on("host", 2, 1);
    measure(study, &recipe, &d, NULL, first);
    cr_expect(hc_drift_sources(&d) & UINT32_C(1) << HC_SOURCE_REDUCTION);
    expect_shares_of(&d, &first[HC_DRIFT_OF_GRADIENT], false);
    end(study);
    study = study_on("host", 2, 2);
    first[HC_DRIFT_OF_WEIGHTS] = (struct hc_drift_shares){
        .players = 2,
        .player = {{.sources = HC_PASS_SOURCES}, {.sources = HC_ALL_SOURCES & ~HC_PASS_SOURCES}}};
    measure(study, &recipe, &d, first, second);
    const struct hc_drift_shares *w = &second[HC_DRIFT_OF_WEIGHTS];
    double all = d.alone_free[HC_SOURCE_COUNT];
    cr_expect_eq(w->players, 2);
    cr_expect_eq(w->player[1].sources, HC_ALL_SOURCES & ~HC_PASS_SOURCES);
    expect_close(w->player[0].share + w->player[1].share, all * all, all * all, "sum", "fp16-bn32");
    expect_close(w->interaction[0][1], all * all - w->player[0].alone - w->player[1].alone,
                 all * all, "interaction", "fp16-bn32");
    for (int i = 0; i < first[HC_DRIFT_OF_GRADIENT].players; i++)
        cr_expect_eq(second[HC_DRIFT_OF_GRADIENT].player[i].sources,
                     first[HC_DRIFT_OF_GRADIENT].player[i].sources);
    end(study);
}

/* At a scale of 2^18 the first step overflows, and the second does not at the half of it. At twice
   that, all do; what is left of the drift is the free run. */
Test(drift_shares, steps_in_which_a_set_of_sources_overflows_are_left_out)
{
    static const char *const recipes[] = {"amp+loss_scale=524288", "amp+loss_scale=262144"};
    struct hc_drift_study *study = study_on("host", 0, 1);
    for (int steps = 0; steps < STEPS; steps++) {
        struct hc_drift d;
        struct hc_drift_shares s[HC_DRIFT_QUANTITIES];
        struct hc_recipe recipe = read_recipe(recipes[steps]);
        measure(study, &recipe, &d, NULL, s);
        const struct hc_drift_shares *g = &s[HC_DRIFT_OF_GRADIENT];
        double sum = 0;
        for (int i = 0; i < g->players; i++)
            sum += g->player[i].share;
        cr_expect_eq(d.finite, steps);
        cr_expect_eq(g->steps, steps);
        if (steps == 0)
            cr_expect(isnan(g->all) && isnan(g->player[0].share));
        else
            expect_close(sum, d.all.error * d.all.error, g->all, "sum of shares", recipes[steps]);
        expect_shares_of(&d, &s[HC_DRIFT_OF_WEIGHTS], true);
    }
    end(study);
}
