/* Sums that go wrong: in their accumulator, their terms or their order. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound/bound.h"
#include "check/selftest/change.h"
#include "check/selftest/factors.h"
#include "num/bits.h"
#include "num/format.h"

/* Defects of a sum's accumulator: too few bits, truncation instead of rounding, products or partial
   sums rounded on the way, small terms dropped. Most are invisible to random numbers of both signs,
   whose sums are a small part of the error that the contract allows. */

/* What an op does with the sum: it divides, adds, or scales. */
static float finished(const struct hc_call *call, int64_t out, float sum)
{
    const struct hc_gemm *g = &call->params.gemm;
    const struct hc_tensor *c = &call->in[HC_GEMM_C];
    if (call->op == HC_OP_avg_pool)
        return sum / (float)(call->params.pool.window * call->params.pool.window);
    if (call->op == HC_OP_sum_squares)
        return call->in[HC_SUM_SQUARES_PARTIAL].data
                   ? (float)hc_tensor_get(&call->in[HC_SUM_SQUARES_PARTIAL], 0) + sum
                   : sum;
    if (call->op != HC_OP_gemm)
        return sum;
    sum *= (float)g->alpha;
    if (g->beta == 0)
        return sum;
    int64_t j = c->rank == 1 ? out % call->out[HC_GEMM_OUT].shape[1] : out;
    return sum + (float)g->beta * (float)hc_tensor_get(c, j);
}

/* A way to add up; `number` is the row's. */
typedef float sum_of(const struct hc_factors *t, int number);

struct way {
    sum_of *sum;
    int number;
};

/* Adds up in that way where the accumulator is fp32; other calls run on the sound kernel. */
static enum hc_status wrongly_summed(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct way *way = site->fault->data;
    bool reduction = call->op == HC_OP_sum || call->op == HC_OP_dot;
    bool narrow = (reduction && call->params.reduce.accumulator != HC_FP32) ||
                  (call->op == HC_OP_gemm && call->params.gemm.half_accumulator);
    if (narrow || hc_call_fp64(call) || hc_call_tf32(call))
        return hc_right(site, call);
    size_t room = ((size_t)hc_call_length(call) + 1) * sizeof(float);
    struct hc_factors t = {malloc(room), malloc(room), 0};
    assert(t.x && t.y);
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_FIRST]); i++) {
        hc_factors_of(call, i, &t);
        hc_tensor_set(&call->out[HC_FIRST], i,
                      (double)finished(call, i, way->sum(&t, way->number)));
    }
    free(t.x);
    free(t.y);
    return HC_OK;
}

static float towards(double x, enum hc_direction direction)
{
    return (float)hc_decode(HC_FP32, hc_encode(HC_FP32, x, 0, direction));
}

/* Rounds each addition in that direction. fp64 holds a product, and nearly always its sum,
   exactly. */
static float directed(const struct hc_factors *t, int direction)
{
    float sum = 0;
    for (int64_t i = 0; i < t->n; i++)
        sum = towards((double)sum + (double)(t->x[i] * t->y[i]), (enum hc_direction)direction);
    return sum;
}

/* Rounds every partial sum into that format. */
static float in_format(const struct hc_factors *t, int format)
{
    double sum = 0;
    for (int64_t i = 0; i < t->n; i++)
        sum = hc_round((enum hc_format)format, sum + (double)(t->x[i] * t->y[i]));
    return (float)sum;
}

static float products_in_format(const struct hc_factors *t, int format)
{
    float sum = 0;
    for (int64_t i = 0; i < t->n; i++)
        sum += (float)hc_round((enum hc_format)format, (double)t->x[i] * (double)t->y[i]);
    return sum;
}

/* Rounds the sum so far into the format after every 16 terms. */
static float blocks_in_format(const struct hc_factors *t, int format)
{
    float sum = 0;
    for (int64_t i = 0; i < t->n; i++) {
        sum += t->x[i] * t->y[i];
        if (i % 16 == 15)
            sum = (float)hc_round((enum hc_format)format, (double)sum);
    }
    return sum;
}

static float in_order(const struct hc_factors *t)
{
    float sum = 0;
    for (int64_t i = 0; i < t->n; i++)
        sum += t->x[i] * t->y[i];
    return sum;
}

/* Half of all sums, chosen by a hash of the first factors, are off by 2^-number. */
static float half_of_them_off(const struct hc_factors *t, int number)
{
    uint32_t hash = (uint32_t)t->n;
    for (int64_t i = 0; i < t->n && i < 8; i++) {
        hash = (hash ^ hc_fp32_bits(t->x[i])) * 2654435761u;
        hash = ((hash ^ hash >> 15) + hc_fp32_bits(t->y[i])) * 2246822519u;
        hash ^= hash >> 13;
    }
    return in_order(t) * (hash >> 31 ? 1 + ldexpf(1, -number) : 1);
}

/* Drops terms below 2^-number of the sum so far. */
static float small_ones_dropped(const struct hc_factors *t, int number)
{
    float sum = 0;
    for (int64_t i = 0; i < t->n; i++) {
        float p = t->x[i] * t->y[i];
        if (fabsf(p) >= ldexpf(fabsf(sum), -number))
            sum += p;
    }
    return sum;
}

/* Interleaved lanes that forget their last round if it has fewer than `number` terms. */
static float last_round_lost(const struct hc_factors *t, int number)
{
    struct hc_factors rest = *t;
    rest.n = t->n < number ? t->n : t->n / number * number;
    return in_order(&rest);
}

/* A fixed-point accumulator with that many bits after the point. */
static float fixed_point(const struct hc_factors *t, int bits)
{
    double sum = 0;
    for (int64_t i = 0; i < t->n; i++)
        sum += rint(ldexp((double)(t->x[i] * t->y[i]), bits));
    return (float)ldexp(sum, -bits);
}

/* The saved 1 / deviation with the variance taken in one pass, as the mean of squares less the
   square of the mean. */
static void one_pass(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    int64_t channels = x->shape[3];
    int64_t n = hc_tensor_count(x);
    int64_t whole_rows = n / channels;
    float rows = (float)whole_rows;
    for (int64_t c = 0; c < channels; c++) {
        float sum = 0;
        float squares = 0;
        for (int64_t i = c; i < n; i += channels) {
            sum += (float)hc_tensor_get(x, i);
            squares += (float)(hc_tensor_get(x, i) * hc_tensor_get(x, i));
        }
        float mean = sum / rows;
        float variance = fmaxf(squares / rows - mean * mean, 0);
        hc_tensor_set(&call->out[HC_BN_SAVED_INVSTD], c,
                      1 / sqrt((double)variance + call->params.bn.eps));
    }
}

static const struct way cut = {directed, HC_TOWARD_ZERO};
static const struct way bf16 = {in_format, HC_BF16};
static const struct way fp16 = {in_format, HC_FP16};
static const struct way tf32 = {in_format, HC_TF32};
static const struct way bf16_products = {products_in_format, HC_BF16};
static const struct way tf32_products = {products_in_format, HC_TF32};
static const struct way fp16_blocks = {blocks_in_format, HC_FP16};
static const struct way off = {half_of_them_off, 16};
static const struct way dropped = {small_ones_dropped, 22};
static const struct way fixed = {fixed_point, 8};

/* Defects of sums of products: inputs cut to tf32 where fp32 is meant, sums in half where fp32 is
   meant. */

static enum hc_status as_tf32(const struct hc_fault_site *site, const struct hc_call *call)
{
    struct hc_call bad = *call;
    if (call->in[HC_FIRST].format != HC_FP32)
        return hc_right(site, call);
    for (int slot = HC_FIRST; slot <= HC_FIRST + 1; slot++) {
        float *x = bad.in[slot].data = hc_fault_copy(&call->in[slot]);
        for (int64_t i = 0; i < hc_tensor_count(&call->in[slot]); i++)
            x[i] = hc_tf32_round(x[i]);
    }
    enum hc_status status = hc_right(site, &bad);
    free(bad.in[HC_FIRST].data);
    free(bad.in[HC_FIRST + 1].data);
    return status;
}

static void summed_in_half(struct hc_call *call)
{
    call->params.gemm.half_accumulator = call->in[HC_GEMM_A].format == HC_FP16;
}

/* Defects of convolutions as products of matrices. */

/* Where the padding of the left side is, im2col copies the image's edge. */
static void edge_for_padding(const struct hc_call *call)
{
    const struct hc_columns *p = &call->params.columns;
    const struct hc_tensor *columns = &call->out[HC_IM2COL_COLUMNS];
    int64_t channels = call->in[HC_IM2COL_X].shape[3];
    int64_t across = (call->in[HC_IM2COL_X].shape[2] + 2 * (int64_t)p->pad - p->kernel) / p->stride;
    for (int64_t i = 0; i < hc_tensor_count(columns); i++) {
        int64_t s = i / channels % p->kernel;
        int64_t q = i / channels / p->kernel / p->kernel % (across + 1);
        if (q == 0 && s < p->pad && p->pad < p->kernel)
            hc_tensor_set_bits(columns, i, hc_tensor_bits(columns, i + (p->pad - s) * channels));
    }
}

/* col2im gets columns whose last place of the filter is 0. */
static enum hc_status last_place_forgotten(const struct hc_fault_site *site,
                                           const struct hc_call *call)
{
    struct hc_call bad = *call;
    const struct hc_tensor *columns = &call->in[HC_COL2IM_COLUMNS];
    int64_t channels = call->out[HC_COL2IM_DX].shape[3];
    int64_t places = (int64_t)call->params.columns.kernel * call->params.columns.kernel;
    bad.in[HC_COL2IM_COLUMNS].data = hc_fault_copy(columns);
    for (int64_t i = 0; i < hc_tensor_count(columns); i++)
        if (i / channels % places == places - 1)
            hc_tensor_set_bits(&bad.in[HC_COL2IM_COLUMNS], i, 0);
    enum hc_status status = hc_right(site, &bad);
    free(bad.in[HC_COL2IM_COLUMNS].data);
    return status;
}

/* Averages over ranks that leave somebody out, divide in another place, round elsewhere or add in
   another order. */

/* The last ranks contribute nothing, but are counted. */
static void ranks_left_out(struct hc_call *call, double number)
{
    int64_t *ranks = &call->in[HC_ALL_REDUCE_X].shape[0];
    if (*ranks > (int64_t)number)
        *ranks -= (int64_t)number;
}

/* The average is over so many ranks more. */
static void counted_more(struct hc_call *call, double number)
{
    struct hc_all_reduce *p = &call->params.all_reduce;
    double ranks = (double)call->in[HC_ALL_REDUCE_X].shape[0];
    double *divisor = p->after == ranks ? &p->after : &p->before;
    if (*divisor == ranks)
        *divisor = ranks + number;
}

static void divisions_swapped(struct hc_call *call)
{
    struct hc_all_reduce *p = &call->params.all_reduce;
    double before = p->before;
    p->before = p->after;
    p->after = before;
}

/* By what is divided before and after is divided at once, after. */
static void divided_once(struct hc_call *call)
{
    struct hc_all_reduce *p = &call->params.all_reduce;
    p->after *= p->before;
    p->before = 1;
}

static void reciprocal_or_not(struct hc_call *call)
{
    call->params.all_reduce.multiplies = !call->params.all_reduce.multiplies;
}

/* Partial sums are kept in the format `number`. */
static void summed_in(struct hc_call *call, double number)
{
    if (call->in[HC_ALL_REDUCE_X].format != HC_FP64)
        call->params.all_reduce.sum = (enum hc_format)number;
}

/* Another algorithm in the place of the one in `data`. */
static enum hc_status in_other_order(const struct hc_fault_site *site, const struct hc_call *call)
{
    const enum hc_collective *of = site->fault->data;
    struct hc_call other = *call;
    if (call->params.all_reduce.algorithm == *of)
        other.params.all_reduce.algorithm = (enum hc_collective)site->fault->number;
    return hc_right(site, &other);
}

/* Rank r takes what rank r + `number` has: a ring begins elsewhere, and of a tree another leaf has
   no partner. */
static enum hc_status ranks_rotated(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_ALL_REDUCE_X];
    const enum hc_collective *of = site->fault->data;
    size_t ranks = (size_t)x->shape[0];
    size_t row = hc_tensor_bytes(x) / ranks;
    struct hc_call other = *call;
    if (call->params.all_reduce.algorithm != *of)
        return hc_right(site, call);
    char *rotated = hc_fault_copy(x);
    for (size_t r = 0; r < ranks && row > 0; r++)
        memcpy(rotated + r * row,
               (const char *)x->data + (r + (size_t)site->fault->number) % ranks * row, row);
    other.in[HC_ALL_REDUCE_X].data = rotated;
    enum hc_status status = hc_right(site, &other);
    free(rotated);
    return status;
}

/* What is left over when the vector is cut into equal chunks stays as rank 0 has it. */
static void rest_forgotten(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_ALL_REDUCE_X];
    if (call->params.all_reduce.algorithm != HC_COLLECTIVE_RING)
        return;
    for (int64_t i = x->shape[1] / x->shape[0] * x->shape[0]; i < x->shape[1]; i++)
        hc_tensor_set_bits(&call->out[HC_ALL_REDUCE_OUT], i, hc_tensor_bits(x, i));
}

/* The sum is taken in fp64. What stands around it, alpha and beta C, is scaled and added in fp32,
   where the call scales or adds at all. */
static enum hc_status scaled_in_fp32(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *c = &call->in[HC_GEMM_C];
    const struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    struct hc_call sum = *call;
    if (!hc_call_fp64(call) || (p->alpha == 1 && p->beta == 0))
        return hc_right(site, call);
    sum.params.gemm.alpha = 1;
    sum.params.gemm.beta = 0;
    enum hc_status status = hc_right(site, &sum);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(out); i++) {
        int64_t at = c->rank == 1 ? i % out->shape[1] : i;
        float x = (float)p->alpha * (float)hc_tensor_get(out, i);
        if (p->beta != 0)
            x += (float)p->beta * (float)hc_tensor_get(c, at);
        hc_tensor_set(out, i, (double)x);
    }
    return status;
}

static const enum hc_collective tree = HC_COLLECTIVE_TREE;
static const enum hc_collective ring = HC_COLLECTIVE_RING;

static const struct hc_fault faults[] = {
#include "check/faults/sums.def"
};

HC_FAULTS(sums, faults);
