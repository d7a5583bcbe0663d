/* Defects of a sum's accumulator: too few bits, truncation instead of rounding, products or partial
   sums rounded on the way, small terms dropped. Most are invisible to random numbers of both signs,
   whose sums are a small part of the error that the contract allows. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "check/bound/bound.h"
#include "check/selftest/change.h"
#include "check/selftest/factors.h"
#include "num/bits.h"

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
static enum hc_status wrongly_summed(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    const struct way *way = site->fault->data;
    bool reduction = call->op == HC_OP_sum || call->op == HC_OP_dot;
    bool narrow = (reduction && call->params.reduce.accumulator != HC_FP32) ||
                  (call->op == HC_OP_gemm && call->params.gemm.half_accumulator);
    if (narrow || hc_call_fp64(call) || hc_call_tf32(call))
        return site->right(queue, call);
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
static enum hc_status one_pass(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    int64_t channels = x->shape[3];
    int64_t n = hc_tensor_count(x);
    int64_t whole_rows = n / channels;
    float rows = (float)whole_rows;
    enum hc_status status = site->right(queue, call);
    for (int64_t c = 0; status == HC_OK && c < channels; c++) {
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
    return status;
}

static const struct hc_change mean_in_fp16 = {hc_everywhere, hc_through_fp16, 0, HC_BN_SAVED_MEAN};
static const struct hc_change dgamma_in_bf16 = {hc_everywhere, hc_through_bf16, 0,
                                                HC_BN_BWD_DGAMMA};
static const struct hc_change dbeta_in_fp16 = {hc_everywhere, hc_through_fp16, 0, HC_BN_BWD_DBETA};
static const struct hc_change dbeta_down = {hc_everywhere, hc_one_ulp_down, 0, HC_BN_BWD_DBETA};
static const struct hc_change loss_in_bf16 = {hc_everywhere, hc_through_bf16, 0, HC_XENT_LOSS};
static const struct hc_change loss_down = {hc_everywhere, hc_one_ulp_down, 0, HC_XENT_LOSS};

static const struct way cut = {directed, HC_TOWARD_ZERO};
static const struct way upward = {directed, HC_UPWARD};
static const struct way bf16 = {in_format, HC_BF16};
static const struct way fp16 = {in_format, HC_FP16};
static const struct way tf32 = {in_format, HC_TF32};
static const struct way bf16_products = {products_in_format, HC_BF16};
static const struct way tf32_products = {products_in_format, HC_TF32};
static const struct way fp16_products = {products_in_format, HC_FP16};
static const struct way fp16_blocks = {blocks_in_format, HC_FP16};
static const struct way bf16_blocks = {blocks_in_format, HC_BF16};
static const struct way off = {half_of_them_off, 16};
static const struct way far_off = {half_of_them_off, 14};
static const struct way dropped = {small_ones_dropped, 22};
static const struct way lost = {last_round_lost, 4};
static const struct way fixed = {fixed_point, 8};

#define CLASS HC_FAULT_ACCUMULATOR
#define WRONG .wrong = wrongly_summed

static const struct hc_fault faults[] = {
    {"sum-cuts", "sum cuts its partial sums instead of rounding them", CLASS, "sum", "op/sum/*/cut",
     WRONG, .data = &cut},
    {"sum-rounds-up", "sum rounds its partial sums upward", CLASS, "sum", "op/sum/*/stagnation",
     WRONG, .data = &upward},
    {"sum-in-bf16", "sum rounds its partial sums into bf16", CLASS, "sum", "op/sum/*/whole", WRONG,
     .data = &bf16},
    {"sum-in-fp16", "sum rounds its partial sums into half", CLASS, "sum", "op/sum/*/whole", WRONG,
     .data = &fp16},
    {"sum-in-tf32", "sum rounds its partial sums into tf32", CLASS, "sum", "op/sum/*/whole", WRONG,
     .data = &tf32, .place = HC_PLACE_HOST},
    {"sum-blocks-in-fp16", "sum keeps its sum in half between blocks of 16 terms", CLASS, "sum",
     "op/sum/*/whole", WRONG, .data = &fp16_blocks},
    {"sum-half-of-them-off", "sum is off by 2^-16 in half of all sums", CLASS, "sum",
     "op/sum/*/whole", WRONG, .data = &off},
    {"sum-suspiciously-off", "sum is off by 2^-16 in half of all sums, more than rounding explains",
     CLASS, "sum", "op/sum/*/positive", WRONG, .data = &far_off, .shown = HC_MISTRUSTED},
    {"sum-drops-small-terms", "sum drops terms below 2^-22 of the sum so far", CLASS, "sum",
     "op/sum/*/cut", WRONG, .data = &dropped},
    {"sum-last-round-lost", "sum forgets the last n mod 4 terms", CLASS, "sum", "op/sum/*/whole",
     WRONG, .data = &lost, .place = HC_PLACE_HOST},
    {"sum-in-fixed-point", "sum has 8 bits after the point", CLASS, "sum",
     "op/sum/*/whole op/sum/*/normal", WRONG, .data = &fixed},
    {"dot-cuts", "dot cuts its partial sums instead of rounding them", CLASS, "dot", "op/dot/*/cut",
     WRONG, .data = &cut, .place = HC_PLACE_HOST},
    {"dot-in-fp16", "dot rounds its partial sums into half", CLASS, "dot", "op/dot/*/whole", WRONG,
     .data = &fp16},
    {"dot-products-in-bf16", "dot rounds its products into bf16", CLASS, "dot", "op/dot/*/whole",
     WRONG, .data = &bf16_products},
    {"dot-products-in-tf32", "dot rounds its products into tf32", CLASS, "dot", "op/dot/*/whole",
     WRONG, .data = &tf32_products},
    {"dot-half-of-them-off", "dot is off by 2^-16 in half of all sums", CLASS, "dot",
     "op/dot/*/whole", WRONG, .data = &off, .place = HC_PLACE_HOST},
    {"norm-cuts", "the sum of squares cuts its partial sums", CLASS, "sum_squares",
     "op/sum_squares/*/cut", WRONG, .data = &cut},
    {"norm-in-bf16", "the sum of squares has its partial sums in bf16", CLASS, "sum_squares",
     "op/sum_squares/*/whole", WRONG, .data = &bf16, .place = HC_PLACE_HOST},
    {"norm-squares-in-tf32", "the squares of a norm are rounded into tf32", CLASS, "sum_squares",
     "op/sum_squares/*/whole", WRONG, .data = &tf32_products},
    {"norm-squares-in-half", "the squares of a norm are rounded into half, where 256^2 is infinite",
     CLASS, "sum_squares", "op/sum_squares/*/whole clipping/*", WRONG, .data = &fp16_products},
    {"norm-half-of-them-off", "the sum of squares is off by 2^-16 half of the time", CLASS,
     "sum_squares", "op/sum_squares/*/whole", WRONG, .data = &off},
    {"gemm-cuts", "a matrix product cuts its partial sums", CLASS, "gemm", "op/gemm/*/cut", WRONG,
     .data = &cut},
    {"gemm-in-tf32", "a matrix product has its partial sums in tf32", CLASS, "gemm",
     "op/gemm/*/whole", WRONG, .data = &tf32},
    {"gemm-products-in-bf16", "a matrix product rounds its products into bf16", CLASS, "gemm",
     "op/gemm/*/whole", WRONG, .data = &bf16_products, .place = HC_PLACE_HOST},
    {"gemm-blocks-in-bf16", "a matrix product keeps its sums in bf16 between blocks of 16 terms",
     CLASS, "gemm", "op/gemm/*/whole", WRONG, .data = &bf16_blocks},
    {"gemm-half-of-them-off", "a matrix product is off by 2^-16 in half of its elements", CLASS,
     "gemm", "op/gemm/*/whole", WRONG, .data = &off},
    {"conv2d-cuts", "a convolution cuts its partial sums", CLASS, "conv2d", "op/conv2d/*/cut",
     WRONG, .data = &cut},
    {"conv2d-products-in-tf32", "a convolution rounds its products into tf32", CLASS, "conv2d",
     "op/conv2d/*/whole", WRONG, .data = &tf32_products, .place = HC_PLACE_HOST},
    {"conv2d-half-of-them-off", "a convolution is off by 2^-16 in half of its elements", CLASS,
     "conv2d", "op/conv2d/*/whole", WRONG, .data = &off},
    {"conv2d-data-in-fp16", "a convolution's data gradient is summed in half", CLASS,
     "conv2d_bwd_data", "op/conv2d_bwd_data/*/whole", WRONG, .data = &fp16},
    {"conv2d-data-cuts", "a convolution's data gradient cuts its partial sums", CLASS,
     "conv2d_bwd_data", "op/conv2d_bwd_data/*/cut", WRONG, .data = &cut, .place = HC_PLACE_HOST},
    {"conv2d-filter-blocks-in-fp16",
     "a filter's gradient is kept in half between blocks of 16 terms", CLASS, "conv2d_bwd_filter",
     "op/conv2d_bwd_filter/*/whole", WRONG, .data = &fp16_blocks},
    {"conv2d-filter-cuts", "a filter's gradient cuts its partial sums", CLASS, "conv2d_bwd_filter",
     "op/conv2d_bwd_filter/*/cut", WRONG, .data = &cut},
    {"pool-in-bf16", "average pooling has its partial sums in bf16", CLASS, "avg_pool",
     "op/avg_pool/*/whole", WRONG, .data = &bf16},
    {"pool-half-of-them-off", "average pooling is off by 2^-16 in half of its elements", CLASS,
     "avg_pool", "op/avg_pool/*/whole", WRONG, .data = &off, .place = HC_PLACE_HOST},
    {"norm-mean-in-fp16", "batch norm's mean is rounded into half", CLASS, "bn_train",
     "op/bn_train/*/stagnation", .outputs = &mean_in_fp16},
    {"norm-one-pass", "batch norm takes its variance in one pass, which cancels", CLASS, "bn_train",
     "op/bn_train/*/cancellation", .wrong = one_pass},
    {"norm-gain-gradient-in-bf16", "the gradient of batch norm's gain is summed up in bf16", CLASS,
     "bn_bwd", "op/bn_bwd/*/whole", .outputs = &dgamma_in_bf16, .place = HC_PLACE_HOST},
    {"norm-offset-gradient-in-fp16", "the gradient of batch norm's offset is summed up in half",
     CLASS, "bn_leaky_bwd", "op/bn_leaky_bwd/*/whole", .outputs = &dbeta_in_fp16},
    {"norm-offset-gradient-down", "the gradient of batch norm's offset is an ulp too small", CLASS,
     "bn_bwd", "op/bn_bwd/*/whole", .outputs = &dbeta_down},
    {"loss-in-bf16", "the loss is summed up in bf16", CLASS, "xent", "op/xent/*/whole",
     .outputs = &loss_in_bf16, .place = HC_PLACE_HOST},
    {"loss-down", "the loss is an ulp too small", CLASS, "xent", "op/xent/*/whole",
     .outputs = &loss_down},
};

HC_FAULTS(accumulator, faults);
