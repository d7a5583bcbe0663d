/* When a number parts from the real one, and when it stands still.

   A format has done what it can as long as its number is the nearest to the real one. That is the
   question that hc_calc_nearest answers, and the first step at which the answer is no is where the
   two part. The real number is itself known to +-rad only. If it lies so near to the middle between
   two numbers that either may be the nearest, both are accepted. */
#include "cli/calc/calc.h"

#include <math.h>

#include "num/ulp.h"

bool hc_calc_nearest(const struct hc_calc_cell *cell, const struct hc_calc_real *real)
{
    const struct hc_exact *x = &real->value;
    enum hc_format format = cell->format == HC_FORMAT_COUNT ? HC_FP64 : cell->format;
    if (isnan(x->hi) || isnan(cell->want))
        return isnan(x->hi) && isnan(cell->want);
    if (isinf(cell->want) && isfinite(x->hi))
        return false;
    if (hc_decode(format, hc_encode(format, x->hi, x->lo, HC_NEAREST)) == cell->want)
        return true;
    double distance = fabs((cell->want - x->hi) - x->lo);
    double half = hc_ulp(format, x->hi) / 2;
    return distance <= half + real->rad && real->rad > 0;
}

static bool differ(double a, double b)
{
    return a != b && !(isnan(a) && isnan(b));
}

bool hc_calc_stalls(const struct hc_calc_run *run, int item, int arm)
{
    const struct hc_calc_row *changed = &run->course[item * HC_CALC_ARMS + arm].changed;
    const struct hc_calc_cell *cell = &run->last.cell[item][arm];
    const struct hc_exact *then = &changed->real[item].value;
    const struct hc_exact *now = &run->last.real[item].value;
    bool moved = differ(then->hi, now->hi) || then->lo != now->lo;
    if (!run->calc->loop || hc_calc_nearest(cell, &run->last.real[item]))
        return false;
    return !isfinite(cell->want) || (moved && run->last.step - changed->step > 1);
}
