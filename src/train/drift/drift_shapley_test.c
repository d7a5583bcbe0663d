/* Shares against their definition, the mean over all orders, in whole numbers. */
#include "train/drift/drift_shapley.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

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
