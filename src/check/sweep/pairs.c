#include "check/sweep/pairs.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#include "num/bits.h"
#include "num/clones.h"
#include "num/format.h"

/* A real number that lies at a double or beside it is rounded once into fp16 or bf16. What that
   needs to know of a format, as bits of doubles. */
struct hc_nearest16 {
    int cut;           /* bits of a double's fraction that the format lacks */
    uint64_t bias;     /* difference of the exponents' biases, at the exponent's place */
    uint64_t normal;   /* the smallest normal value */
    uint64_t anchor;   /* a power of two whose ulp is the smallest subnormal */
    uint64_t infinity; /* codes */
    uint64_t nan;
};

static const struct hc_nearest16 hc_nearest_fp16 = {
    42, 0x3f00000000000000u, 0x3f10000000000000u, 0x41b0000000000000u, 0x7c00, 0x7e00};
static const struct hc_nearest16 hc_nearest_bf16 = {
    45, 0x3800000000000000u, 0x3810000000000000u, 0x3ae0000000000000u, 0x7f80, 0x7fc0};

/* The code nearest to `value` plus something of the sign of `rest` that is smaller than half an ulp
   of value (rest NaN counts as 0: value is infinite or NaN then). First value is moved to the odd
   neighbour on the real number's side, which no tie and no code can be (Boldo and Melquiond 2008);
   53 bits are far more than the 11 + 2 needed. A subnormal result is what adding the anchor leaves
   in the last bits; a normal one is cut by integer arithmetic. */
HC_INLINE uint16_t hc_nearest16(const struct hc_nearest16 *f, double value, double rest)
{
    uint64_t bits = hc_fp64_bits(value);
    uint64_t sign = bits >> 63;
    uint64_t magnitude = bits & 0x7fffffffffffffffu;
    double outward = hc_fp64_value(hc_fp64_bits(rest) ^ sign << 63);
    uint64_t beyond = outward > 0;
    uint64_t short_of = outward < 0;
    uint64_t odd = (magnitude - short_of) | beyond | short_of;
    uint64_t half = ((uint64_t)1 << (f->cut - 1)) - 1;
    uint64_t rebased = odd - f->bias;
    uint64_t normal = (rebased + half + (rebased >> f->cut & 1)) >> f->cut;
    double anchored = hc_fp64_value(odd) + hc_fp64_value(f->anchor);
    uint64_t subnormal = hc_fp64_bits(anchored) - f->anchor;
    /* Masks instead of branches: these loops are vectorised. */
    uint64_t code = normal ^ ((normal ^ subnormal) & (0 - (uint64_t)(odd < f->normal)));
    code ^= (code ^ f->infinity) & (0 - (uint64_t)(code > f->infinity));
    code ^= (code ^ f->nan) & (0 - (uint64_t)(magnitude > 0x7ff0000000000000u));
    return (uint16_t)(sign << 15 | code);
}

/* Each of these gives the exact result as a double and the sign of what the double lacks; operands
   are values of fp16 or bf16. Nothing overflows or underflows in fp64: results lie between 2^-266
   and 2^256. add: 2Sum (Knuth) gives the error of a sum exactly. mul: at most 22 bits, exact. div
   and sqrt: fma gives the remainder exactly (Markstein); it has the sign of the error times the
   divisor's. */
HC_CLONED uint16_t add(const struct hc_nearest16 *f, double x, double y)
{
    double sum = x + y;
    double y_part = sum - x;
    return hc_nearest16(f, sum, (x - (sum - y_part)) + (y - y_part));
}

HC_CLONED uint16_t mul(const struct hc_nearest16 *f, double x, double y)
{
    return hc_nearest16(f, x * y, 0);
}

HC_CLONED uint16_t div(const struct hc_nearest16 *f, double x, double y)
{
    double quotient = x / y;
    double remainder = fma(-quotient, y, x);
    return hc_nearest16(f, quotient, y < 0 ? -remainder : remainder);
}

static const struct hc_nearest16 *target(enum hc_format format)
{
    return format == HC_FP16 ? &hc_nearest_fp16 : &hc_nearest_bf16;
}

static float value_of(enum hc_format format, uint16_t code)
{
    return format == HC_FP16 ? hc_fp16_value(code) : hc_bf16_value(code);
}

void hc_pairs_init(struct hc_pairs *pairs, enum hc_op op, enum hc_format format)
{
    assert(format == HC_FP16 || format == HC_BF16);
    pairs->op = op;
    pairs->format = format;
    pairs->nan = (uint16_t)target(format)->nan;
    pairs->infinity = (uint16_t)target(format)->infinity;
    pairs->binade = format == HC_FP16 ? 1024 : 128;
    for (uint32_t code = 0; code < 65536; code++)
        pairs->value[code] = value_of(format, (uint16_t)code);
}

HC_CLONES static void add_row(const struct hc_nearest16 *f, double x, const float *y, uint32_t n,
                              uint16_t *want)
{
#pragma omp simd
    for (uint32_t i = 0; i < n; i++)
        want[i] = add(f, x, (double)y[i]);
}

HC_CLONES static void sub_row(const struct hc_nearest16 *f, double x, const float *y, uint32_t n,
                              uint16_t *want)
{
#pragma omp simd
    for (uint32_t i = 0; i < n; i++)
        want[i] = add(f, x, -(double)y[i]);
}

HC_CLONES static void mul_row(const struct hc_nearest16 *f, double x, const float *y, uint32_t n,
                              uint16_t *want)
{
#pragma omp simd
    for (uint32_t i = 0; i < n; i++)
        want[i] = mul(f, x, (double)y[i]);
}

HC_CLONES static void div_row(const struct hc_nearest16 *f, double x, const float *y, uint32_t n,
                              uint16_t *want)
{
#pragma omp simd
    for (uint32_t i = 0; i < n; i++)
        want[i] = div(f, x, (double)y[i]);
}

/* Sums in which one operand disappears. With exponents at least precision + 2 apart the smaller
   operand is less than half the distance from the larger one to its nearer neighbour, 2^(e -
   precision - 1). Fills the binade at `from` and returns true if it is one of these. */
static bool absorbed(struct hc_pairs *pairs, uint32_t from)
{
    uint32_t apart = (uint32_t)hc_formats[pairs->format].precision + 2;
    uint32_t binade = pairs->binade;
    assert(binade > 0);
    uint32_t ex = (pairs->x & 0x7fffu) / binade;
    uint32_t ey = (from & 0x7fffu) / binade;
    uint32_t sign = pairs->op == HC_OP_sub ? 0x8000 : 0;
    uint16_t *want = pairs->want + from;
    if (ex == pairs->infinity / binade || ey == pairs->infinity / binade)
        return false;
    if (ey >= (ex ? ex : 1) + apart)
        for (uint32_t i = 0; i < binade; i++)
            want[i] = (uint16_t)((from + i) ^ sign);
    else if (ex >= (ey ? ey : 1) + apart)
        for (uint32_t i = 0; i < binade; i++)
            want[i] = pairs->x;
    else
        return false;
    return true;
}

void hc_pairs_define(const struct hc_pairs *pairs, uint16_t x, uint32_t from, uint32_t n,
                     uint16_t *want)
{
    static void (*const row[HC_OP_ROOM])(const struct hc_nearest16 *, double, const float *,
                                         uint32_t, uint16_t *) = {
        [HC_OP_add] = add_row, [HC_OP_sub] = sub_row, [HC_OP_mul] = mul_row, [HC_OP_div] = div_row};
    row[pairs->op](target(pairs->format), (double)pairs->value[x], pairs->value + from, n, want);
}

/* want[from .. from + binade - 1]. */
static void define(struct hc_pairs *pairs, uint32_t from)
{
    if ((pairs->op == HC_OP_add || pairs->op == HC_OP_sub) && absorbed(pairs, from))
        return;
    hc_pairs_define(pairs, pairs->x, from, pairs->binade, pairs->want + from);
}

void hc_pairs_at(struct hc_pairs *pairs, uint16_t x)
{
    pairs->x = x;
    if ((x & 0x7fffu) > pairs->infinity) {
        for (uint32_t y = 0; y < 65536; y++)
            pairs->want[y] = pairs->nan;
        return;
    }
    for (uint32_t from = 0; from < 65536; from += pairs->binade)
        define(pairs, from);
}

uint16_t hc_exact_sqrt_code(enum hc_format format, uint16_t x)
{
    double value = (double)value_of(format, x);
    double root = sqrt(value);
    return hc_nearest16(target(format), root, fma(-root, root, value));
}

/* The product is exact, the sum is 2Sum's. */
uint16_t hc_exact_fma_code(enum hc_format format, uint16_t x, uint16_t y, uint16_t z)
{
    double product = (double)value_of(format, x) * (double)value_of(format, y);
    return add(target(format), product, (double)value_of(format, z));
}
