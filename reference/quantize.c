/* quantize, dequantize and delayed_scale (op/quant.h). The scale rules are stated in scale_rule.c.
   Here stands the rest: blocks and their amaxes, Hadamard's matrix from the top, and codes as the
   definition has them: an element of the list of all values of the format.

   Sums, products and quotients of two fp32 numbers are formed in fp64 and rounded into fp32. That
   is as good as rounding once: a product is exact in fp64, which has its 48 bits at any exponent,
   and a sum of two p-bit numbers may be rounded into 2 p + 2 bits or more before (Figueroa, When is
   double rounding innocuous?, 1995), subnormal sums being exact. */
#include <math.h>
#include <stdlib.h>

#include "num/bits.h"
#include "num/stochastic.h"
#include "reference.h"
#include "reference/kept.h"
#include "reference/memory.h"
#include "reference_scale.h"

static double fp32(double x)
{
    return hc_round(HC_FP32, x);
}

/* Element (row, column) of what is quantised, before Hadamard's matrix. */
static double source(const struct hc_call *call, int64_t row, int64_t column)
{
    const struct hc_tensor *x = &call->in[HC_QUANTIZE_X];
    int64_t at =
        call->params.quantize.transpose ? column * x->shape[1] + row : row * x->shape[1] + column;
    return hc_tensor_get(x, at);
}

/* 16 neighbours times the signs and Sylvester's matrix, which is {{H, H}, {H, -H}} over that of
   half the size: the first half of the result are sums of both halves' products, the second half
   differences. */
static void multiply(double v[], int n)
{
    if (n == 1)
        return;
    multiply(v, n / 2);
    multiply(v + n / 2, n / 2);
    for (int i = 0; i < n / 2; i++) {
        double left = v[i];
        double right = v[n / 2 + i];
        v[i] = (double)(float)(left + right);
        v[n / 2 + i] = (double)(float)(left - right);
    }
}

/* The neighbours from `column` on, a multiple of 16; the result is how many. */
static int neighbours(const struct hc_call *call, int64_t row, int64_t column, double v[16])
{
    static const char signs[] = "+++-+------+-+--";
    int64_t end = call->out[HC_QUANTIZE_CODES].shape[1];
    int n = 0;
    for (; n < 16 && column + n < end; n++)
        v[n] = source(call, row, column + n);
    if (!call->params.quantize.hadamard)
        return n;
    for (int i = 0; i < 16; i++)
        v[i] = signs[i] == '-' ? -v[i] : v[i];
    multiply(v, 16);
    for (int i = 0; i < 16; i++)
        v[i] = fp32(v[i] / 4);
    return n;
}

struct range {
    int64_t from, to;
};

/* Block `number` of an extent. A size may be as large as 64 bits hold. */
static struct range block(int64_t extent, int64_t size, int64_t number)
{
    int64_t from = number * size;
    int64_t to = size == 0 || size > extent - from ? extent : from + size;
    return (struct range){from, to};
}

/* The largest magnitude of a part of what is quantised. */
static double largest_in(const struct hc_call *call, const struct hc_amax_part *part)
{
    double amax = 0;
    double v[16] = {0};
    for (int64_t row = part->top; row < part->bottom; row++)
        for (int64_t group = part->left / 16 * 16; group < part->right; group += 16) {
            int n = neighbours(call, row, group, v);
            for (int i = 0; i < n; i++)
                if (group + i >= part->left && group + i < part->right && fabs(v[i]) > amax)
                    amax = fabs(v[i]);
        }
    return amax;
}

static double largest(const struct hc_call *call, struct range rows, struct range columns)
{
    const struct hc_amax_part part = {rows.from, rows.to, columns.from, columns.to};
    return hc_amax(call, &part, largest_in);
}

static double largest_of_all(const struct hc_call *call)
{
    const int64_t *n = call->out[HC_QUANTIZE_CODES].shape;
    return largest(call, (struct range){0, n[0]}, (struct range){0, n[1]});
}

static bool same_number(double a, double b)
{
    return hc_fp64_bits(a) == hc_fp64_bits(b);
}

/* hc_stated_scale, computed once for elements that ask for it one after the other: those of a
   block. */
static struct hc_stated_scale stated_scale(enum hc_scale_rule rule, enum hc_format codes,
                                           enum hc_format x, double tensor_amax, double amax)
{
    static _Thread_local struct {
        bool known;
        enum hc_scale_rule rule;
        enum hc_format codes;
        enum hc_format x;
        double tensor_amax;
        double amax;
        struct hc_stated_scale scale;
    } last;
    if (!last.known || last.rule != rule || last.codes != codes || last.x != x ||
        !same_number(last.tensor_amax, tensor_amax) || !same_number(last.amax, amax)) {
        last.known = true;
        last.rule = rule;
        last.codes = codes;
        last.x = x;
        last.tensor_amax = tensor_amax;
        last.amax = amax;
        last.scale = hc_stated_scale(rule, codes, x, tensor_amax, amax);
    }
    return last.scale;
}

/* The scale of the block with this number in each direction. */
static struct hc_stated_scale scale_of(const struct hc_call *call, int64_t down, int64_t across)
{
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    enum hc_format x = call->in[HC_QUANTIZE_X].format;
    if (p->rule == HC_SCALE_GIVEN)
        return stated_scale(p->rule, codes->format, x, 0,
                            hc_tensor_get(&call->in[HC_QUANTIZE_SCALE], 0));
    double amax = largest(call, block(codes->shape[0], p->rows, down),
                          block(codes->shape[1], p->columns, across));
    bool levels = hc_scale_rules[p->rule].kind == HC_SCALE_OF_LEVELS;
    return stated_scale(p->rule, codes->format, x, levels ? largest_of_all(call) : 0, amax);
}

/* The last code of a positive number that is at most x, of codes from 0 to that of the largest
   number: their values grow. */
static int code_below(enum hc_format format, double x)
{
    int low = 0;
    int high = (1 << (hc_formats[format].bits - 1)) - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        double value = hc_decode(format, (uint64_t)middle);
        if (value <= x && value <= hc_format_max(format)) /* NaN is not */
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* t, which is not NaN, in the format: the nearest value, of two the one with the even code; or with
   k random bits the one above if the units of 2^-k of the way to it, and r, come to 2^k. Beyond the
   largest value there is no other. */
static double rounded(enum hc_format format, double t, int k, uint32_t r)
{
    double x = fabs(t);
    int code = code_below(format, x);
    double below = hc_decode(format, (uint64_t)code);
    if (below < hc_format_max(format) && x > below) {
        double above = hc_decode(format, (uint64_t)code + 1);
        double way = (x - below) / (above - below); /* exact: over a power of two */
        bool nearer = way > 0.5 || (way == 0.5 && code % 2 == 1);
        bool up = k == 0 ? nearer : floor(ldexp(way, k)) + r >= ldexp(1, k);
        below = up ? above : below;
    }
    bool zero = below == 0 && hc_formats[format].special == HC_SPECIAL_FNUZ;
    return zero ? 0 : copysign(below, t);
}

static double code_of(const struct hc_call *call, int64_t index)
{
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    int64_t row = index / codes->shape[1];
    int64_t column = index % codes->shape[1];
    struct hc_stated_scale scale =
        scale_of(call, p->rows == 0 ? 0 : row / p->rows, p->columns == 0 ? 0 : column / p->columns);
    double v[16] = {0};
    neighbours(call, row, column / 16 * 16, v);
    double t = fp32(v[column % 16] * scale.encode);
    uint32_t r = hc_round_random(p->seed, (uint32_t)p->step, (uint64_t)index);
    if (isnan(t)) /* without a NaN it is the largest number */
        return hc_formats[codes->format].special == HC_SPECIAL_NONE ? hc_format_max(codes->format)
                                                                    : t;
    return rounded(codes->format, t, p->random_bits,
                   p->random_bits ? r >> (16 - p->random_bits) : 0);
}

/* A number as it is; of results that are stated to the last bit there is nothing to round. */
static void give(struct hc_exact *want, double value)
{
    *want = (struct hc_exact){value, 0, fabs(value)};
}

hc_reference hc_reference_quantize;
void hc_reference_quantize(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    const struct hc_tensor *scales = &call->out[HC_QUANTIZE_SCALES];
    (void)precision; /* every operation is exact, or rounded into fp32 by the contract */
    switch (e->out) {
    case HC_QUANTIZE_CODES:
        give(want, code_of(call, e->index));
        return;
    case HC_QUANTIZE_SCALES:
        give(want, scale_of(call, e->index / scales->shape[1], e->index % scales->shape[1]).decode);
        return;
    case HC_QUANTIZE_TENSOR:
        give(want, hc_stated_tensor_scale(p->rule, codes->format, largest_of_all(call)));
        return;
    default:
        give(want, largest_of_all(call));
    }
}

hc_reference hc_reference_dequantize;
void hc_reference_dequantize(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_dequantize *p = &call->params.dequantize;
    const struct hc_tensor *codes = &call->in[HC_DEQUANTIZE_CODES];
    const struct hc_tensor *scales = &call->in[HC_DEQUANTIZE_SCALES];
    const struct hc_tensor *tensor = &call->in[HC_DEQUANTIZE_TENSOR];
    int64_t row = e->index / codes->shape[1];
    int64_t column = e->index % codes->shape[1];
    int64_t block = (p->rows == 0 ? 0 : row / p->rows) * scales->shape[1] +
                    (p->columns == 0 ? 0 : column / p->columns);
    (void)precision;
    double once = fp32(hc_tensor_get(codes, e->index) * hc_tensor_get(scales, block));
    give(want, tensor->data ? once * hc_tensor_get(tensor, 0) : once);
}

hc_reference hc_reference_delayed_scale;
void hc_reference_delayed_scale(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *history = &call->in[HC_DELAYED_HISTORY];
    int64_t tensors = history->shape[1];
    int64_t t = e->index % tensors;
    int64_t length = history->shape[0];
    double *entries = hc_reference_memory(2 * (size_t)length * sizeof *entries);
    (void)precision;
    for (int64_t i = 0; i < length; i++)
        entries[i] = hc_tensor_get(history, i * tensors + t);
    double next = hc_stated_delayed(
        &call->params.delayed_scale, hc_tensor_get(&call->in[HC_DELAYED_AMAX], t),
        hc_tensor_get(&call->in[HC_DELAYED_SCALE], t), entries, length, entries + length);
    give(want, e->out == HC_DELAYED_NEW_SCALE ? next : entries[length + e->index / tensors]);
    free(entries);
}
