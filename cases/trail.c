#include "cases/trail.h"

#include <math.h>
#include <stdio.h>

void hc_running_tally_note(struct hc_running_tally *tally, int64_t step, double want, double got)
{
    tally->checked++;
    if (hc_fp64_bits(want) == hc_fp64_bits(got) || (isnan(want) && isnan(got)))
        return;
    if (tally->wrong++ == 0)
        (void)snprintf(tally->first, sizeof tally->first, "step %lld: want %.9g, got %.9g",
                       (long long)step, want, got);
}

void hc_running_tally_claim(struct hc_check *check, const struct hc_running_tally *tally)
{
    hc_claim_sweep(check, tally->checked, tally->wrong, tally->wrong ? tally->first : NULL);
}

bool hc_running_tally_row(int64_t step)
{
    int64_t power = 1;
    if (step <= 5)
        return true;
    while (power * 10 <= step)
        power *= 10;
    return step == power || step == 2 * power || step == 5 * power;
}
