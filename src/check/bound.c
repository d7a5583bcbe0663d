#include "check/bound.h"

double hc_bound(const struct hc_call *call, const struct hc_accumulator *accumulator, int out,
                const struct hc_want *want)
{
    (void)call;
    (void)accumulator;
    (void)out;
    (void)want;
    return 0;
}
