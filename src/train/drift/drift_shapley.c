#include "train/drift/drift_shapley.h"

#include <assert.h>
#include <math.h>

enum { MOST = 32 };

int hc_members(uint32_t set)
{
    int n = 0;
    for (; set; set &= set - 1)
        n++;
    return n;
}

/* A set S of s others comes before a player in s! (n - 1 - s)! of the n! orders of n players, that
   is with probability 1 / (n C(n - 1, s)). `sum` has the sums over all S of each size.

   What is added to S is rounded once, C(n - 1, s) of them are summed, the sum is divided by a whole
   number, and n such quotients are summed. So to first order the mean is off by at most
   (C(n - 1, s) + n + 3) u times the mean of the added numbers without their signs. That is 46 u
   for eight players. */
static double mean_over_orders(const double sum[MOST], int players)
{
    assert(players < MOST);
    double mean = 0;
    double choices = 1;
    for (int s = 0; s < players; s++) {
        mean += sum[s] / (players * choices);
        choices = choices * (players - 1 - s) / (s + 1);
    }
    return mean;
}

void hc_shapley(const double *value, int players, double *share)
{
    for (int i = 0; i < players; i++) {
        double sum[MOST] = {0};
        uint32_t own = UINT32_C(1) << i;
        for (uint32_t s = 0; s < UINT32_C(1) << players; s++)
            if (!(s & own))
                sum[hc_members(s)] += value[s | own] - value[s];
        share[i] = mean_over_orders(sum, players);
    }
}

double hc_shapley_pair(const double *value, int players, int i, int j)
{
    double sum[MOST] = {0};
    uint32_t a = UINT32_C(1) << i;
    uint32_t b = UINT32_C(1) << j;
    for (uint32_t s = 0; s < UINT32_C(1) << players; s++)
        if (!(s & (a | b)))
            sum[hc_members(s)] += (value[s | a | b] - value[s | a]) - (value[s | b] - value[s]);
    return mean_over_orders(sum, players - 1);
}

/* The ratio's error is, to first order, that of the mean of part - ratio * whole, divided by the
   mean whole (Cochran, Sampling Techniques, 3rd ed. 1977, chapter 6). Those numbers have mean 0,
   and one degree of freedom is spent on that. */
double hc_share_error(const double *part, const double *whole, int n)
{
    double parts = 0;
    double wholes = 0;
    double squares = 0;
    for (int k = 0; k < n; k++) {
        parts += part[k];
        wholes += whole[k];
    }
    for (int k = 0; k < n; k++) {
        double off = part[k] - parts / wholes * whole[k];
        squares += off * off;
    }
    return n < 2 ? (double)NAN : sqrt(squares * n / (n - 1)) / fabs(wholes);
}
