#include "check/record/shard.h"

#include <criterion/criterion.h>
#include <math.h>

#include "num/rng.h"

enum { MANY = 5000 };

/* The seconds of the longest and of the shortest shard; each unit must be in one of them. */
static void spread(const double *seconds, int count, int of, double *most, double *least)
{
    static int shard[MANY];
    double load[64] = {0};
    cr_assert_eq(hc_shard_plan(seconds, count, of, shard), HC_OK);
    for (int i = 0; i < count; i++) {
        cr_assert(shard[i] >= 1 && shard[i] <= of, "unit %d is in shard %d", i, shard[i]);
        load[shard[i] - 1] += seconds[i];
    }
    *most = *least = load[0];
    for (int s = 1; s < of; s++) {
        *most = fmax(*most, load[s]);
        *least = fmin(*least, load[s]);
    }
}

Test(shard, gives_the_longest_units_to_shards_of_their_own)
{
    const double seconds[] = {1, 8, 1, 4, 1, 1};
    const int want[] = {3, 1, 3, 2, 3, 3};
    int got[6];
    cr_assert_eq(hc_shard_plan(seconds, 6, 3, got), HC_OK);
    for (int i = 0; i < 6; i++)
        cr_expect_eq(got[i], want[i], "unit %d: want shard %d, got %d", i, want[i], got[i]);
}

Test(shard, balances_many_units_to_the_longest_of_them)
{
    static double seconds[MANY];
    double most;
    double least;
    for (int of = 1; of <= 64; of = of * 2 + 1) {
        double longest = 0;
        for (int i = 0; i < MANY; i++) {
            double u = hc_random_uniform(3, 0, (uint64_t)i);
            seconds[i] = 0.001 / (u + 0.001);
            longest = fmax(longest, seconds[i]);
        }
        spread(seconds, MANY, of, &most, &least);
        cr_expect_leq(most - least, longest, "%d shards: %g s to %g s", of, least, most);
    }
}

Test(shard, spreads_units_of_unknown_length)
{
    static double seconds[MANY];
    static int shard[MANY];
    int count[16] = {0};
    for (int i = 0; i < MANY; i++)
        seconds[i] = i % 3 == 0 ? (double)NAN : i % 3 == 1 ? 0 : -1;
    cr_assert_eq(hc_shard_plan(seconds, MANY, 16, shard), HC_OK);
    for (int i = 0; i < MANY; i++)
        count[shard[i] - 1]++;
    for (int s = 0; s < 16; s++)
        cr_expect(count[s] == MANY / 16 || count[s] == MANY / 16 + 1, "%d units", count[s]);
}

Test(shard, takes_more_shards_than_units)
{
    const double seconds[] = {1, 1};
    int shard[2];
    cr_assert_eq(hc_shard_plan(seconds, 2, 1000, shard), HC_OK);
    cr_expect_eq(shard[0], 1);
    cr_expect_eq(shard[1], 2);
    cr_expect_eq(hc_shard_plan(seconds, 0, 5, shard), HC_OK);
}
