/* The scale rules; below are those with a state. A power of two is found by looking for it: the
   least one that is not exceeded, or the greatest one that does not exceed. ldexp of a number with
   at most 24 bits is exact in fp64 over the whole range. */
#include <math.h>
#include <mpfr.h>

#include "num/format.h"
#include "reference/split.h"
#include "reference_scale.h"

/* One operation of fp32 arithmetic at a time: the real result, rounded once. */

static double rounded(mpfr_t x)
{
    struct hc_exact exact;
    hc_split(x, &exact);
    return hc_decode(HC_FP32, hc_encode(HC_FP32, exact.hi, exact.lo, HC_NEAREST));
}

/* What MPFR's function of an mpfr_t and a double gives, rounded to fp32. */
static double of_both(double x, double y,
                      int (*function)(mpfr_ptr, mpfr_srcptr, double, mpfr_rnd_t))
{
    mpfr_t z;
    mpfr_init2(z, HC_REFERENCE_PRECISION);
    mpfr_set_d(z, x, MPFR_RNDN);
    (void)function(z, z, y, MPFR_RNDN);
    double fp32 = rounded(z);
    mpfr_clear(z);
    return fp32;
}

static double fp32_quotient(double x, double y)
{
    return of_both(x, y, mpfr_div_d);
}

static double fp32_product(double x, double y)
{
    return of_both(x, y, mpfr_mul_d);
}

/* log2 x rounded to nearest in fp32; x is positive. */
static double fp32_log2(double x)
{
    mpfr_t l;
    mpfr_init2(l, HC_REFERENCE_PRECISION);
    mpfr_set_d(l, x, MPFR_RNDN);
    mpfr_log2(l, l, MPFR_RNDN);
    double fp32 = rounded(l);
    mpfr_clear(l);
    return fp32;
}

static const double fp32_max = 0x1.fffffep127;

/* The least k with x <= unit 2^k. x and unit are positive and finite. */
static int least(double x, double unit)
{
    int k = -1100;
    (void)frexp(x / unit, &k);
    for (k -= 3; x > ldexp(unit, k);)
        k++;
    return k;
}

/* The greatest k with unit 2^k <= x. */
static int greatest(double x, double unit)
{
    int k;
    (void)frexp(x / unit, &k);
    for (k += 3; x < ldexp(unit, k);)
        k--;
    return k;
}

/* x with its significand rounded to `bits` bits, half an ulp added and the rest dropped. */
static double to_bits(double x, int bits)
{
    double ulp = ldexp(1, greatest(x, 1) - bits + 1);
    return floor(x / ulp + 0.5) * ulp;
}

/* The integer nearest to log2(x / y). */
static int nearest(double x, double y)
{
    mpfr_t lx;
    mpfr_t ly;
    mpfr_inits2(256, lx, ly, (mpfr_ptr)0);
    mpfr_set_d(lx, x, MPFR_RNDN);
    mpfr_set_d(ly, y, MPFR_RNDN);
    mpfr_log2(lx, lx, MPFR_RNDN);
    mpfr_log2(ly, ly, MPFR_RNDN);
    mpfr_sub(lx, lx, ly, MPFR_RNDN);
    int k = (int)mpfr_get_si(lx, MPFR_RNDN);
    mpfr_clears(lx, ly, (mpfr_ptr)0);
    return k;
}

/* The exponent of a block's scale before it is clamped. The amax is positive and finite; a quotient
   of 0 stands for any small exponent. */
static int exponent(enum hc_scale_rule rule, enum hc_format codes, double amax)
{
    double max = hc_format_max(codes);
    int emax = hc_formats[codes].emax;
    double q;
    switch (rule) {
    case HC_SCALE_MX_FLOOR:
    case HC_SCALE_AO18_FLOOR:
        return greatest(amax, 1) - emax;
    case HC_SCALE_MX_EVEN:
    case HC_SCALE_AO_EVEN:
    case HC_SCALE_AO18_EVEN:
        return greatest(to_bits(amax, hc_formats[codes].precision), 1) - emax;
    case HC_SCALE_MX_CEIL:
    case HC_SCALE_AO18_CEIL:
        return least(amax, 1) - emax;
    case HC_SCALE_MX_NEAREST:
        return nearest(amax, max);
    case HC_SCALE_MX_FLOOR_DIV:
        return greatest(amax, max);
    case HC_SCALE_MX_TE:
    case HC_SCALE_AO_RCEIL:
        q = fp32_product(amax, fp32_quotient(1, max));
        return q > 0 ? least(q, 1) : -200;
    case HC_SCALE_MX_CUBLAS:
        q = fp32_quotient(amax, max);
        return q > 0 ? least(q, 1) : -200;
    case HC_SCALE_AO18_RCEIL:
        q = fp32_quotient(amax, max);
        return q > 0 ? (int)ceil(fp32_log2(q)) : -200;
    default:
        return least(amax, max);
    }
}

/* The exponent of the scale of an infinite amax; 128 stands for NaN, here and below. */
static int of_infinity(enum hc_scale_rule rule, enum hc_format codes)
{
    switch (rule) {
    case HC_SCALE_MX_RP:
    case HC_SCALE_MX_TE:
    case HC_SCALE_MX_CUBLAS:
    case HC_SCALE_AO18_RCEIL:
        return 127;
    case HC_SCALE_AO18_FLOOR:
    case HC_SCALE_AO18_EVEN:
    case HC_SCALE_AO18_CEIL:
        return 128 - hc_formats[codes].emax;
    default:
        return 128;
    }
}

/* max(amax, 1e-4) / M, where 1e-4 is fp32's; a NaN is kept or dropped. */
static double deepseek_scale(enum hc_format codes, double amax, int keeps_nan)
{
    double floor4 = hc_round(HC_FP32, 1e-4);
    if (isnan(amax))
        return keeps_nan ? amax : fp32_quotient(floor4, hc_format_max(codes));
    return fp32_quotient(fmax(amax, floor4), hc_format_max(codes));
}

static int power_of_block(enum hc_scale_rule rule, enum hc_format codes, double amax)
{
    if (rule == HC_SCALE_DEEPGEMM_UE8M0) {
        double sf = deepseek_scale(codes, amax, 1);
        int k = isfinite(sf) ? least(sf, 1) : 127;
        return k < -126 ? -126 : k > 127 ? 127 : k;
    }
    if (isnan(amax))
        return 128;
    if (isinf(amax))
        return of_infinity(rule, codes);
    int k = amax > 0 ? exponent(rule, codes, amax) : -127;
    /* FM rounded up is infinite in fp32, which torchao then sees. */
    if (rule == HC_SCALE_AO_EVEN && amax > 0 &&
        to_bits(amax, hc_formats[codes].precision) == 0x1p128)
        return 128;
    return k < -127 ? -127 : k > 127 ? 127 : k;
}

/* A block's scale 2^k, and what its elements are multiplied by. torchao 0.18 divides by no less
   than 2^-126, by inf where the scale is NaN, and under RCEIL by 1 in place of 2^-127. */
static struct hc_stated_scale of_power(enum hc_scale_rule rule, int k)
{
    int is_old =
        rule == HC_SCALE_AO18_FLOOR || rule == HC_SCALE_AO18_EVEN || rule == HC_SCALE_AO18_CEIL;
    struct hc_stated_scale s = {k == 128 ? (double)NAN : ldexp(1, k), 0, (uint64_t)(k + 127)};
    s.encode = k == 128 ? (is_old ? 0 : (double)NAN) : ldexp(1, -k);
    if (k == -127 && is_old)
        s.encode = 0x1p126;
    if (k == -127 && rule == HC_SCALE_AO18_RCEIL)
        s.encode = 1;
    return s;
}

static struct hc_stated_scale of_pair(double decode, double encode)
{
    struct hc_stated_scale s = {decode, encode, hc_encode(HC_FP32, decode, 0, HC_NEAREST)};
    return s;
}

static double power_below(double s)
{
    return isnan(s) || isinf(s) || s == 0 ? s : ldexp(1, greatest(s, 1));
}

/* TransformerEngine's multiplier; `limit` is what an infinite quotient becomes. */
static double te(enum hc_format codes, double amax, double limit)
{
    if (amax == 0 || isinf(amax) || isnan(amax))
        return 1;
    return fmin(fp32_quotient(hc_format_max(codes), amax), limit);
}

static double te_reference(enum hc_format codes, double amax)
{
    if (amax == 0)
        return 1;
    double s = fp32_quotient(hc_format_max(codes), amax);
    return isnan(s) ? s : fmin(s, fp32_max);
}

/* M times the reciprocal, both rounded to 53 bits, and then to fp32. */
static double torchao(enum hc_format codes, double amax)
{
    mpfr_t r;
    mpfr_init2(r, 53);
    mpfr_set_d(r, isnan(amax) ? amax : fmax(amax, 1e-12), MPFR_RNDN);
    mpfr_ui_div(r, 1, r, MPFR_RNDN);
    mpfr_mul_d(r, r, hc_format_max(codes), MPFR_RNDN);
    double s = hc_round(HC_FP32, mpfr_get_d(r, MPFR_RNDN));
    mpfr_clear(r);
    return s;
}

/* The multiplier of the rules that have one. */
static double multiplier(enum hc_scale_rule rule, enum hc_format codes, enum hc_format x,
                         double amax)
{
    double s;
    switch (rule) {
    case HC_SCALE_TE_CURRENT:
        return te(codes, amax, fp32_max);
    case HC_SCALE_TE_CURRENT_POW2:
        return power_below(te(codes, amax, fp32_max));
    case HC_SCALE_TE_REFERENCE:
        return te_reference(codes, amax);
    case HC_SCALE_TE_REFERENCE_POW2:
        s = te_reference(codes, amax);
        return isnan(s) ? 0.5 : power_below(s);
    case HC_SCALE_TE_BLOCK:
    case HC_SCALE_TE_BLOCK_FP32:
        s = fp32_quotient(hc_format_max(codes), amax);
        s = isinf(s) && amax > 0 ? hc_format_max(x) : te(codes, amax, fp32_max);
        return rule == HC_SCALE_TE_BLOCK ? power_below(s) : s;
    case HC_SCALE_TORCHAO:
        return torchao(codes, amax);
    case HC_SCALE_TORCHAO_POW2:
        s = torchao(codes, amax);
        return s > 0 && !isinf(s) ? ldexp(1, (int)floor(fp32_log2(s))) : s;
    default:
        return amax;
    }
}

double hc_stated_tensor_scale(enum hc_scale_rule rule, enum hc_format codes, double tensor_amax)
{
    double most = hc_format_max(codes) * 448;
    if (rule == HC_SCALE_NVFP4_TORCHAO)
        return fp32_quotient(tensor_amax, most);
    if (rule != HC_SCALE_NVFP4_TE)
        return 1;
    double s = fp32_quotient(most, tensor_amax);
    return tensor_amax == 0 || s == 0 ? 1 : fp32_quotient(1, fmin(s, fp32_max));
}

/* A block's ue4m3 scale b and encoding factor under TransformerEngine: S is what the tensor scale
   is the reciprocal of. */
static struct hc_stated_scale nvfp4_te(enum hc_format codes, double tensor_amax, double amax)
{
    double most = fp32_quotient(hc_format_max(codes) * 448, tensor_amax);
    double big = tensor_amax == 0 || most == 0 ? 1 : fmin(most, fp32_max);
    double c = fp32_product(big, fp32_quotient(1, hc_format_max(codes)));
    double b = fmin(fp32_product(amax, c), fp32_max);
    struct hc_stated_scale s;
    s.stored = hc_encode_saturated(HC_UE4M3, b, 0, HC_NEAREST);
    s.decode = hc_decode(HC_UE4M3, s.stored);
    s.encode = fmin(fp32_quotient(1, fp32_product(s.decode, fp32_quotient(1, big))), fp32_max);
    return s;
}

static struct hc_stated_scale nvfp4_torchao(enum hc_format codes, double tensor_amax, double amax)
{
    double p = fp32_quotient(tensor_amax, hc_format_max(codes) * 448);
    double b = fp32_quotient(fp32_quotient(amax, hc_format_max(codes)), p);
    struct hc_stated_scale s;
    s.stored = hc_encode_saturated(HC_UE4M3, isnan(b) ? b : fmax(b, 0x1p-6), 0, HC_NEAREST);
    s.decode = hc_decode(HC_UE4M3, s.stored);
    s.encode = fp32_quotient(fp32_quotient(1, p), s.decode);
    return s;
}

struct hc_stated_scale hc_stated_scale(enum hc_scale_rule rule, enum hc_format codes,
                                       enum hc_format x, double tensor_amax, double amax)
{
    double sf;
    switch (rule) {
    case HC_SCALE_DEEPGEMM:
        sf = deepseek_scale(codes, amax, 1);
        return of_pair(sf, fp32_quotient(1, sf));
    case HC_SCALE_DEEPSEEK_UE8M0:
        sf = deepseek_scale(codes, amax, 0);
        sf = isinf(sf) ? sf : ldexp(1, (int)ceil(fp32_log2(sf)));
        return of_pair(sf, fp32_quotient(1, sf));
    case HC_SCALE_NVFP4_TE:
        return nvfp4_te(codes, tensor_amax, amax);
    case HC_SCALE_NVFP4_TORCHAO:
        return nvfp4_torchao(codes, tensor_amax, amax);
    default:
        if (hc_scale_format(rule) == HC_E8M0)
            return of_power(rule, power_of_block(rule, codes, amax));
        sf = multiplier(rule, codes, x, amax);
        return of_pair(fp32_quotient(1, sf), sf);
    }
}

/* The scale rules with a state. The kernels' text walks the history in place; here the window is
   classified first, and the new scale and each new entry have formulas of their own. */

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
static double delayed_multiplier(const struct traits *t, double max, int margin, double amax)
{
    double scaled = t->late_margin ? max : fp32_product(max, ldexp(1, -margin));
    double s =
        t->reciprocal ? fp32_product(scaled, fp32_quotient(1, amax)) : fp32_quotient(scaled, amax);
    return t->late_margin ? fp32_quotient(s, ldexp(1, margin)) : s;
}

static double ms_amp(double max, int margin, double amax, double scale)
{
    if (isinf(amax)) /* the exponent of M / inf is below 0, and the kept scale is inverted */
        return fp32_quotient(1, scale);
    if (!(amax > 0))
        return scale;
    double q = delayed_multiplier(&traits[HC_DELAYED_MS_AMP], max, 0, amax);
    int e = isinf(q) ? 1000 : (int)floor(fp32_log2(q)) - margin;
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
        s = fp32_quotient(1, m > 0 && isfinite(m) ? delayed_multiplier(t, max, p->margin, m)
                                                  : fp32_quotient(1, scale));
    else
        s = !idle && m > 0 && isfinite(m) ? delayed_multiplier(t, max, p->margin, m) : scale;
    return t->is_limited && isinf(s) ? fp32_max : s;
}
