#include "cases/trail.h"

#include <math.h>
#include <stdio.h>

void hc_trail_note(struct hc_trail *trail, int64_t step, double want, double got)
{
    trail->checked++;
    if (hc_fp64_bits(want) == hc_fp64_bits(got) || (isnan(want) && isnan(got)))
        return;
    if (trail->wrong++ == 0)
        (void)snprintf(trail->first, sizeof trail->first, "step %lld: want %.9g, got %.9g",
                       (long long)step, want, got);
}

void hc_trail_claim(struct hc_check *check, const struct hc_trail *trail)
{
    hc_claim_sweep(check, trail->checked, trail->wrong, trail->wrong ? trail->first : NULL);
}

bool hc_trail_row(int64_t step)
{
    int64_t power = 1;
    if (step <= 5)
        return true;
    while (power * 10 <= step)
        power *= 10;
    return step == power || step == 2 * power || step == 5 * power;
}
