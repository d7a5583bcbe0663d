/* The scale rules with a state. The kernels' text walks the history in place; here the window is
   classified first, and the new scale and each new entry have formulas of their own. */
#include <math.h>

#include "num/format.h"
#include "reference/fp32.h"
#include "reference_scale.h"

static const double fp32_max = 0x1.fffffep127;

/* What the rules do differently. */
struct traits {
    int idle_stays;  /* an idle step leaves the history as it is */
    int keeps_nan;   /* a NaN among the amaxes is the largest of them */
    int reciprocal;  /* M times a reciprocal in place of a division */
    int late_margin; /* the margin divides the quotient, not M */
    int is_limited;  /* an infinite scale becomes fp32's largest number */
};

static const struct traits traits[HC_DELAYED_RULE_COUNT] = {
    [HC_DELAYED_TE] = {.idle_stays = 1, .is_limited = 1},
    [HC_DELAYED_TE_UNFUSED] = {.keeps_nan = 1, .reciprocal = 1, .late_margin = 1, .is_limited = 1},
    [HC_DELAYED_TE_JAX] = {.keeps_nan = 1, .late_margin = 1},
    [HC_DELAYED_FLAX] = {.keeps_nan = 1, .late_margin = 1},
    [HC_DELAYED_MS_AMP] = {.reciprocal = 1},
};

/* The largest amax of the window: `slot0` and history[1] on. */
static double largest(const struct traits *t, double slot0, const double *history, int64_t length)
{
    double m = slot0;
    for (int64_t i = 1; i < length; i++) {
        if (t->keeps_nan && isnan(history[i]))
            return history[i];
        if (isnan(m) ? !t->keeps_nan : history[i] > m)
            m = history[i];
    }
    return m;
}

/* M 2^-margin over a positive, finite amax. */
static double multiplier(const struct traits *t, double max, int margin, double amax)
{
    double scaled = t->late_margin ? max : hc_fp32_product(max, ldexp(1, -margin));
    double s = t->reciprocal ? hc_fp32_product(scaled, hc_fp32_quotient(1, amax))
                             : hc_fp32_quotient(scaled, amax);
    return t->late_margin ? hc_fp32_quotient(s, ldexp(1, margin)) : s;
}

static double ms_amp(double max, int margin, double amax, double scale)
{
    if (isinf(amax)) /* the exponent of M / inf is below 0, and the kept scale is inverted */
        return hc_fp32_quotient(1, scale);
    if (!(amax > 0))
        return scale;
    double q = multiplier(&traits[HC_DELAYED_MS_AMP], max, 0, amax);
    int e = isinf(q) ? 1000 : (int)floor(hc_fp32_log2(q)) - margin;
    if (e >= 128 || e <= -128) /* 2^|e| is infinite */
        return e > 0 ? (double)INFINITY : 0;
    return ldexp(1, e);
}

/* What slot i holds after the step. `slot0` is what it held at its end. */
static double entry(enum hc_delayed_rule rule, double amax, double slot0, const double *history,
                    int64_t length, int64_t i)
{
    int stays = rule == HC_DELAYED_MS_AMP || (traits[rule].idle_stays && slot0 == 0);
    if (i == 0)
        return rule == HC_DELAYED_FLAX || rule == HC_DELAYED_MS_AMP ? amax : 0;
    if (stays)
        return history[i];
    return i == length - 1 ? slot0 : history[i + 1];
}

double hc_stated_delayed(const struct hc_delayed_scale *p, double amax, double scale,
                         const double *history, int64_t length, double *new_history)
{
    const struct traits *t = &traits[p->rule];
    double max = hc_format_max(p->codes);
    double slot0 = p->rule == HC_DELAYED_FLAX || amax == 0 ? history[0] : amax;
    for (int64_t i = 0; new_history && i < length; i++)
        new_history[i] = entry(p->rule, amax, slot0, history, length, i);
    if (p->rule == HC_DELAYED_MS_AMP)
        return ms_amp(max, p->margin, amax, scale);
    double m = p->most_recent ? slot0 : largest(t, slot0, history, length);
    int idle = t->idle_stays && slot0 == 0;
    double s;
    if (p->rule == HC_DELAYED_FLAX)
        s = hc_fp32_quotient(1, m > 0 && isfinite(m) ? multiplier(t, max, p->margin, m)
                                                     : hc_fp32_quotient(1, scale));
    else
        s = !idle && m > 0 && isfinite(m) ? multiplier(t, max, p->margin, m) : scale;
    return t->is_limited && isinf(s) ? fp32_max : s;
}
