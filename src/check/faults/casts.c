/* Wrong conversions between formats, from fp64 down to one byte, and back. */
#include <math.h>
#include <stdlib.h>

#include "check/selftest/change.h"
#include "check/selftest/fault.h"
#include "num/bits.h"
#include "num/directed.h"
#include "num/format.h"
#include "num/narrow8.h"

/* Defects of conversions that a checker of conversions must be able to catch. Most are of fp32 to
   fp16, to nearest. */

/* What a conversion has to decide: the code below |x|, without sign, and whether |x| is the middle
   between that code's value and the next one's. */
struct place {
    uint16_t below;
    bool tie;
};

static struct place place_of(float x)
{
    float size = fabsf(x);
    uint16_t below = hc_fp16_directed(size, HC_TOWARD_ZERO);
    float low = hc_fp16_value(below);
    float high = below < 0x7bff ? hc_fp16_value((uint16_t)(below + 1)) : 65536.0f;
    return (struct place){below, size - low == high - size};
}

static uint16_t signed_as(float x, uint16_t code)
{
    return (uint16_t)((signbit(x) ? 0x8000u : 0) | code);
}

static uint16_t ties_toward_zero(float x, uint16_t right)
{
    struct place p = place_of(x);
    return p.tie ? signed_as(x, p.below) : right;
}

static uint16_t ties_away(float x, uint16_t right)
{
    struct place p = place_of(x);
    return p.tie ? signed_as(x, (uint16_t)(p.below + 1)) : right;
}

static uint16_t subnormal_ties_away(float x, uint16_t right)
{
    return place_of(x).below < 0x400 ? ties_away(x, right) : right;
}

static uint16_t overflow_at_65536(float x, uint16_t right)
{
    return fabsf(x) < 65536.0f && (right & 0x7fffu) == 0x7c00 ? signed_as(x, 0x7bff) : right;
}

static uint16_t keeps_half_of_tiny(float x, uint16_t right)
{
    return fabsf(x) == 0x1p-25f ? signed_as(x, 1) : right;
}

static uint16_t truncates(float x, uint16_t right)
{
    (void)right;
    return hc_fp16_directed(x, HC_TOWARD_ZERO);
}

static uint16_t flushes(float x, uint16_t right)
{
    return (right & 0x7fffu) < 0x400 ? signed_as(x, 0) : right;
}

/* Looks only at the upper two of the 13 bits that are cut from a normal value. */
static uint16_t loses_sticky(float x, uint16_t right)
{
    return isfinite(x) ? hc_fp16_bits(hc_fp32_value(hc_fp32_bits(x) & ~0x7ffu)) : right;
}

static uint16_t nan_to_infinity(float x, uint16_t right)
{
    return isnan(x) ? signed_as(x, 0x7c00) : right;
}

static uint16_t loses_sign_of_zero(float x, uint16_t right)
{
    (void)x;
    return right == 0x8000 ? 0 : right;
}

struct mutant {
    uint16_t (*of)(float x, uint16_t right);
};

static void mutated(const struct hc_call *call, const struct hc_fault *row)
{
    const struct mutant *mutant = row->data;
    const float *x = call->in[HC_X].data;
    uint16_t *h = call->out[HC_OUT].data;
    bool meant = call->in[HC_X].format == HC_FP32 && call->out[HC_OUT].format == HC_FP16 &&
                 call->params.cast.direction == HC_NEAREST;
    for (int64_t i = 0; meant && i < hc_tensor_count(&call->out[HC_OUT]); i++)
        h[i] = mutant->of(x[i], h[i]);
}

static void through_fp32(const struct hc_call *call)
{
    const double *x = call->in[HC_X].data;
    uint16_t *h = call->out[HC_OUT].data;
    bool meant = call->in[HC_X].format == HC_FP64 && call->out[HC_OUT].format == HC_FP16;
    for (int64_t i = 0; meant && i < hc_tensor_count(&call->out[HC_OUT]); i++)
        h[i] = hc_fp16_directed((float)x[i], call->params.cast.direction);
}

/* fp32 becomes bf16 by its upper 16 bits. */
static void upper_bits(const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_OUT];
    bool meant = call->in[HC_X].format == HC_FP32 && out->format == HC_BF16 &&
                 call->params.cast.direction == HC_NEAREST;
    for (int64_t i = 0; meant && i < hc_tensor_count(out); i++) {
        float x = ((const float *)call->in[HC_X].data)[i];
        if (isfinite(x))
            hc_tensor_set_bits(out, i, hc_fp32_bits(x) >> 16);
    }
}

/* fp64 becomes a subnormal half by a cut. */
static void subnormals_cut(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_X];
    bool meant = x->format == HC_FP64 && call->out[HC_OUT].format == HC_FP16 &&
                 call->params.cast.direction == HC_NEAREST;
    for (int64_t i = 0; meant && i < hc_tensor_count(x); i++)
        if (fabs(hc_tensor_get(x, i)) < 0x1p-14)
            hc_tensor_set_bits(&call->out[HC_OUT], i,
                               hc_encode(HC_FP16, hc_tensor_get(x, i), 0, HC_TOWARD_ZERO));
}

/* fp32 becomes e4m3 through bf16, or with `number` the largest number where e4m3 has none. */
static void into_e4m3(const struct hc_call *call, const struct hc_fault *row)
{
    const struct hc_tensor *x = &call->in[HC_X];
    const struct hc_tensor *out = &call->out[HC_OUT];
    bool meant =
        x->format == HC_FP32 && out->format == HC_E4M3 && call->params.cast.direction == HC_NEAREST;
    for (int64_t i = 0; meant && i < hc_tensor_count(x); i++) {
        double value = hc_tensor_get(x, i);
        if (row->number == 0)
            hc_tensor_set(out, i, hc_round(HC_BF16, value));
        else if (!isnan(value) && isnan(hc_tensor_get(out, i)))
            hc_tensor_set(out, i, copysign(hc_format_max(HC_E4M3), value));
    }
}

/* Defects of conversions into formats of one byte, as emulations and kernels have had them, and of
   the way back. */

/* A conversion of the fp32 number x into `to`, of which `right` is the right code. */
struct into {
    enum hc_format to;
    bool saturate;
    float x;
    uint8_t right;
};

static uint8_t code_of(const struct into *c, float x)
{
    struct hc_narrow8 n = hc_narrow8_of(&hc_formats[c->to], c->saturate);
    return hc_narrow8(&n, hc_fp32_bits(x));
}

static uint8_t signed_as_bytes(const struct into *c, uint64_t magnitude)
{
    const struct hc_format_info *f = &hc_formats[c->to];
    return (uint8_t)(magnitude | (signbit(c->x) && f->sign ? UINT64_C(1) << (f->bits - 1) : 0));
}

static uint8_t largest_of(const struct into *c)
{
    return signed_as_bytes(c, hc_encode(c->to, hc_format_max(c->to), 0, HC_NEAREST));
}

/* The code of the number below |x|, without the sign. */
static uint64_t below(const struct into *c)
{
    return hc_encode_saturated(c->to, fabs((double)c->x), 0, HC_TOWARD_ZERO);
}

/* Whether |x| is the middle of two neighbours of the format. */
static bool is_tie(const struct into *c)
{
    double low = hc_decode(c->to, below(c));
    double high = hc_decode(c->to, below(c) + 1);
    return fabs((double)c->x) == (low + high) / 2;
}

static uint8_t through_fp16(const struct into *c)
{
    return code_of(c, hc_fp16_value(hc_fp16_bits(c->x)));
}

static uint8_t through_bf16(const struct into *c)
{
    return code_of(c, hc_bf16_value(hc_bf16_bits(c->x)));
}

static uint8_t ties_away_bytes(const struct into *c)
{
    return is_tie(c) ? signed_as_bytes(c, below(c) + 1) : c->right;
}

static uint8_t ties_to_zero(const struct into *c)
{
    return is_tie(c) ? signed_as_bytes(c, below(c)) : c->right;
}

static uint8_t truncates_bytes(const struct into *c)
{
    return isfinite(c->x) ? signed_as_bytes(c, below(c)) : c->right;
}

static uint8_t loses_sticky_bytes(const struct into *c)
{
    uint32_t bits = hc_fp32_bits(c->x);
    return isfinite(c->x) ? code_of(c, hc_fp32_value(bits & ~0xfffffu)) : c->right;
}

static uint8_t flushes_bytes(const struct into *c)
{
    double normal = ldexp(1, hc_formats[c->to].emin);
    return fabs(hc_decode(c->to, c->right)) < normal ? signed_as_bytes(c, 0) : c->right;
}

/* The fraction wraps to 0, and the exponent stays. */
static uint8_t loses_carry(const struct into *c)
{
    uint64_t ones = (UINT64_C(1) << (hc_formats[c->to].precision - 1)) - 1;
    bool carried = isfinite(c->x) && (below(c) & ones) == ones &&
                   c->right == signed_as_bytes(c, below(c) + 1) && below(c) > ones;
    return carried ? signed_as_bytes(c, below(c) & ~ones) : c->right;
}

/* What is larger than the largest number overflows, also where it rounds to that number. */
static uint8_t decides_early(const struct into *c)
{
    bool beyond = isfinite(c->x) && fabs((double)c->x) > hc_format_max(c->to);
    return beyond ? code_of(c, copysignf(INFINITY, c->x)) : c->right;
}

static uint8_t overflows_at_480(const struct into *c)
{
    return isfinite(c->x) && fabsf(c->x) < 480 && fabsf(c->x) > 448 ? largest_of(c) : c->right;
}

static uint8_t always_saturates(const struct into *c)
{
    bool beyond = !isnan(c->x) && fabs((double)c->x) > hc_format_max(c->to);
    return beyond ? largest_of(c) : c->right;
}

static uint8_t never_saturates(const struct into *c)
{
    const struct into plain = {c->to, false, c->x, c->right};
    return code_of(&plain, c->x);
}

static uint8_t infinity_stays(const struct into *c)
{
    const struct into plain = {c->to, false, c->x, c->right};
    return isinf(c->x) ? code_of(&plain, c->x) : c->right;
}

static uint8_t nan_to_largest(const struct into *c)
{
    return isnan(c->x) ? largest_of(c) : c->right;
}

static uint8_t loses_sign_of_zero_bytes(const struct into *c)
{
    return hc_decode(c->to, c->right) == 0 ? 0 : c->right;
}

static uint8_t keeps_sign_of_zero(const struct into *c)
{
    return hc_decode(c->to, c->right) == 0 ? signed_as_bytes(c, 0) : c->right;
}

static uint8_t keeps_half_of_tiny_bytes(const struct into *c)
{
    return fabs((double)c->x) == hc_format_tiny(c->to) / 2 ? signed_as_bytes(c, 1) : c->right;
}

/* floor(|x| / tiny + 0.5) in fp32, which rounds the number below one half up. */
static uint8_t keeps_below_half_of_tiny(const struct into *c)
{
    float half = (float)hc_format_tiny(c->to) / 2;
    return fabsf(c->x) == nextafterf(half, 0) ? signed_as_bytes(c, 1) : c->right;
}

/* The exponent field of fp32 is e8m0's code. */
static uint8_t is_exponent_field(const struct into *c)
{
    return isfinite(c->x) ? (uint8_t)(hc_fp32_bits(c->x) >> 23) : c->right;
}

struct mutant_bytes {
    enum hc_format to;
    uint8_t (*of)(const struct into *c);
};

static void mutated_bytes(const struct hc_call *call, const struct hc_fault *row)
{
    const struct mutant_bytes *mutant = row->data;
    const float *x = call->in[HC_X].data;
    uint8_t *codes = call->out[HC_OUT].data;
    bool meant = call->in[HC_X].format == HC_FP32 && call->out[HC_OUT].format == mutant->to &&
                 call->params.cast.direction == HC_NEAREST;
    for (int64_t i = 0; meant && i < hc_tensor_count(&call->out[HC_OUT]); i++) {
        const struct into c = {mutant->to, call->params.cast.saturate, x[i], codes[i]};
        codes[i] = mutant->of(&c);
    }
}

/* The way back. */
struct reading {
    enum hc_format from;
    double (*of)(enum hc_format from, uint64_t code, double right);
};

static double without_subnormals(enum hc_format from, uint64_t code, double right)
{
    (void)code;
    return fabs(right) < ldexp(1, hc_formats[from].emin) ? copysign(0, right) : right;
}

static double with_ocps_bias(enum hc_format from, uint64_t code, double right)
{
    (void)from;
    (void)code;
    return 2 * right;
}

/* The shift of e8m0's code into fp32's exponent field gives 0 for code 0. */
static double by_shift(enum hc_format from, uint64_t code, double right)
{
    (void)from;
    return code == 0 ? 0 : right;
}

static double nan_is_a_number(enum hc_format from, uint64_t code, double right)
{
    (void)from;
    return isnan(right) ? copysign(480, code & 0x80 ? -1 : 1) : right;
}

static void misread(const struct hc_call *call, const struct hc_fault *row)
{
    const struct reading *reading = row->data;
    const struct hc_tensor *x = &call->in[HC_X];
    for (int64_t i = 0; x->format == reading->from && i < hc_tensor_count(x); i++)
        hc_give(call, HC_OUT, i, reading->of(x->format, hc_tensor_bits(x, i), hc_tensor_get(x, i)));
}

#define INTO(name, title, class_, format, id, of)                                                  \
    {                                                                                              \
        "cast-" format "-" name, (title), (class_), "cast", "rounding/fp32-to-" format "/*",       \
            .after_by = mutated_bytes, .data = &(const struct mutant_bytes)                        \
        {                                                                                          \
            (id), (of)                                                                             \
        }                                                                                          \
    }
#define READ(name, title, format, id, of)                                                          \
    {                                                                                              \
        "cast-" format "-" name, (title), HC_FAULT_SPECIALS, "cast",                               \
            "rounding/" format "-decoded", .after_by = misread, .data = &(const struct reading)    \
        {                                                                                          \
            (id), (of)                                                                             \
        }                                                                                          \
    }

/* Defects in reading fp8: another bias, special codes taken for numbers or numbers for special
   codes, lost bits, and one format taken for the other. */

/* What a code of the format is taken for. */
typedef double read_code(enum hc_format format, uint64_t code);

struct reader {
    read_code *read;
};

/* The product in fp32 of factors that were read so. */
static enum hc_status misread_fp8(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct reader *reader = site->fault->data;
    struct hc_call wide = *call;
    if (!hc_is_fp8(call->in[HC_GEMM_A].format))
        return hc_right(site, call);
    for (int slot = HC_GEMM_A; slot <= HC_GEMM_B; slot++) {
        const struct hc_tensor *t = &call->in[slot];
        int64_t n = hc_tensor_count(t);
        wide.in[slot].format = HC_FP32;
        wide.in[slot].data = aligned_alloc(64, ((size_t)n * sizeof(float) + 64) / 64 * 64);
        if (!wide.in[slot].data)
            abort();
        for (int64_t i = 0; i < n; i++)
            hc_tensor_set(&wide.in[slot], i, reader->read(t->format, hc_tensor_bits(t, i)));
    }
    enum hc_status status = hc_right(site, &wide);
    free(wide.in[HC_GEMM_A].data);
    free(wide.in[HC_GEMM_B].data);
    return status;
}

static double signed_as_fp8(uint64_t code, double magnitude)
{
    return code >> 7 ? -magnitude : magnitude;
}

/* The bias of AMD's FNUZ codes is larger by one. */
static double fnuz_bias(enum hc_format format, uint64_t code)
{
    return hc_decode(format, code) / 2;
}

static double fnuz_zero(enum hc_format format, uint64_t code)
{
    return code == 0x80 ? (double)NAN : hc_decode(format, code);
}

static double e4m3_nan_as_480(enum hc_format format, uint64_t code)
{
    return format == HC_E4M3 && (code & 0x7f) == 0x7f ? signed_as_fp8(code, 480)
                                                      : hc_decode(format, code);
}

/* As IEEE's formats have it: no numbers above 240. */
static double e4m3_of_ieee(enum hc_format format, uint64_t code)
{
    if (format != HC_E4M3 || (code & 0x78) != 0x78)
        return hc_decode(format, code);
    return code & 7 ? (double)NAN : signed_as_fp8(code, (double)INFINITY);
}

/* As OCP's e4m3 has it: no infinity, and one NaN. */
static double e5m2_of_e4m3(enum hc_format format, uint64_t code)
{
    if (format != HC_E5M2 || (code & 0x7c) != 0x7c || (code & 3) == 3)
        return hc_decode(format, code);
    return signed_as_fp8(code, ldexp(4 + (double)(code & 3), 14));
}

static double nan_as_infinity(enum hc_format format, uint64_t code)
{
    double x = hc_decode(format, code);
    return isnan(x) ? signed_as_fp8(code, (double)INFINITY) : x;
}

static double last_bit_lost(enum hc_format format, uint64_t code)
{
    double x = hc_decode(format, code);
    return isfinite(x) ? hc_decode(format, code & ~UINT64_C(1)) : x;
}

static double subnormals_lost(enum hc_format format, uint64_t code)
{
    double x = hc_decode(format, code);
    return fabs(x) < ldexp(1, hc_formats[format].emin) ? 0 : x;
}

static double unsigned_code(enum hc_format format, uint64_t code)
{
    return hc_decode(format, code & 0x7f);
}

static void ocp_codes(struct hc_call *call)
{
    for (int slot = HC_GEMM_A; slot <= HC_GEMM_B; slot++)
        if (hc_is_fnuz(call->in[slot].format))
            call->in[slot].format = call->in[slot].format == HC_E4M3FNUZ ? HC_E4M3 : HC_E5M2;
}

/* Both factors are read as the first one is. */
static void one_format(struct hc_call *call)
{
    if (hc_is_fp8(call->in[HC_GEMM_A].format))
        call->in[HC_GEMM_B].format = call->in[HC_GEMM_A].format;
}

#define READ_FP8(name_, title_, patterns_, function)                                               \
    {                                                                                              \
        .name = "fp8-" name_, .title = (title_), .class_ = HC_FAULT_SPECIALS, .ops = "gemm",       \
        .patterns = (patterns_), .wrong = misread_fp8, .data = &(const struct reader)              \
        {                                                                                          \
            function                                                                               \
        }                                                                                          \
    }

/* Defects of rounding with given random bits. */

/* A number's magnitude in units of 2^-k of the last place of `to` at it, and its random bits. */
struct cut {
    const struct hc_stochastic_cast *p;
    enum hc_format to;
    double x; /* with its sign */
    int last;
    double units;
    uint32_t word;
    double r;
};

static struct cut cut_of(const struct hc_call *call, int64_t i)
{
    struct cut c;
    c.p = &call->params.stochastic_cast;
    c.to = call->out[HC_STOCHASTIC_OUT].format;
    c.x = hc_in(call, HC_STOCHASTIC_X, i);
    const struct hc_format_info *f = &hc_formats[c.to];
    int exponent = c.x == 0 || ilogb(c.x) < f->emin ? f->emin : ilogb(c.x);
    c.last = exponent - f->precision + 1;
    c.units = ldexp(fabs(c.x), c.p->bits - c.last);
    c.word = (uint32_t)hc_tensor_bits(&call->in[HC_STOCHASTIC_WORDS], i);
    c.r = (double)(c.word & ((UINT32_C(1) << c.p->bits) - 1));
    return c;
}

static double kept(const struct cut *c, double units)
{
    return copysign(ldexp(floor(ldexp(units, -c->p->bits)), c->last), c->x);
}

static double to_nearest(const struct cut *c)
{
    return c->x;
}

static double by_the_nearest_unit(const struct cut *c)
{
    return kept(c, rint(c->units) + c->r);
}

static double only_beyond(const struct cut *c)
{
    return kept(c, floor(c->units) + c->r - 1 < 0 ? 0 : floor(c->units) + c->r - 1);
}

/* A negative number goes toward +infinity where a positive one goes away from 0. */
static double toward_infinity(const struct cut *c)
{
    double mask = ldexp(1, c->p->bits) - 1;
    return kept(c, floor(c->units) + (c->x < 0 ? mask - c->r : c->r));
}

static double by_the_upper_bits(const struct cut *c)
{
    return kept(c, floor(c->units) + (double)(c->word >> (32 - c->p->bits)));
}

/* The last place of a subnormal result is taken for that of a normal one with its exponent. */
static double subnormal_as_normal(const struct cut *c)
{
    const struct hc_format_info *f = &hc_formats[c->to];
    struct cut own = *c;
    own.last = (c->x == 0 ? f->emin : ilogb(c->x)) - f->precision + 1;
    return kept(&own, floor(ldexp(fabs(c->x), c->p->bits - own.last)) + c->r);
}

/* TransformerEngine's ptx.cuh, whose fma rounds into fp32. */
static double by_fma(const struct cut *c)
{
    float step = ldexpf(1, c->last);
    float t = fmaf(ldexpf((float)c->r, -c->p->bits), step, fabsf((float)c->x));
    return copysign((double)(floorf(t / step) * step), c->x);
}

struct mistake {
    double (*of)(const struct cut *c);
};

static void mistaken(const struct hc_call *call, const struct hc_fault *row)
{
    const struct mistake *mistake = row->data;
    const struct hc_tensor *out = &call->out[HC_STOCHASTIC_OUT];
    for (int64_t i = 0; i < hc_tensor_count(out); i++) {
        struct cut c = cut_of(call, i);
        if (isfinite(c.x) && c.x != 0)
            hc_tensor_set_bits(out, i,
                               (c.p->saturate ? hc_encode_saturated
                                              : hc_encode)(c.to, mistake->of(&c), 0, HC_NEAREST));
    }
}

#define WRONG(name, title, of)                                                                     \
    {                                                                                              \
        "random-bits-" name, (title), HC_FAULT_STOCHASTIC, "stochastic_cast",                      \
            "rounding/stochastic/*", .after_by = mistaken, .data = &(const struct mistake)         \
        {                                                                                          \
            of                                                                                     \
        }                                                                                          \
    }

static const struct hc_fault faults[] = {
#include "check/faults/casts.def"
};

HC_FAULTS(casts, faults);
