/* What all backends have in common is wrong. */
#include <math.h>

#include "check/selftest/change.h"
#include "num/format.h"
#include "num/rng.h"
#include "op/counts.h"

/* Defects of arithmetic that the backends share: the subject and the backend that it is compared
   with have them both, so that equal bits say nothing. MPFR, integers and published answers must
   see them. Most rows are the defect of a row elsewhere; the others show only at extremes. */

/* -0 where there is no term and alpha is negative. */
static void alpha_times_nothing(const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    bool signed_zero = call->in[HC_GEMM_A].shape[p->transpose_a ? 0 : 1] == 0 && p->alpha < 0;
    for (int64_t i = 0; signed_zero && i < hc_tensor_count(&call->out[HC_GEMM_OUT]); i++)
        if (hc_out(call, HC_GEMM_OUT, i) == 0)
            hc_give(call, HC_GEMM_OUT, i, -0.0);
}

/* The count is rounded before 1 is added. */
static void t_rounded_twice(const struct hc_call *call)
{
    double taken = hc_round(HC_FP32, hc_in(call, HC_RATES_COUNTS, HC_COUNT_TAKEN));
    hc_give(call, HC_RATES_HYPER, 2, taken + 1);
}

/* Products are added to a narrow sum unrounded. */
static enum hc_status products_kept(const struct hc_fault_site *site, const struct hc_call *call)
{
    enum hc_format f = call->params.reduce.accumulator;
    double sum = 0;
    if (f == HC_FP32)
        return hc_right(site, call);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_REDUCE_X]); i++)
        sum = hc_round(f, sum + hc_in(call, HC_REDUCE_X, i) * hc_in(call, HC_DOT_Y, i));
    hc_give(call, HC_REDUCE_OUT, 0, sum);
    return HC_OK;
}

/* Defects of the other arithmetic that all backends share (kernels/element/, src/num/): each is in
   the subject and in `exact`, and shows in few bits, for few parameters or beyond a count that a
   short test never reaches. */

/* The bits of a NaN: which of them a 16-bit or fp32 result loses. */
enum { NO_SIGN, NO_PAYLOAD, QUIET };

static void change_nan(const struct hc_tensor *t, int64_t i, int which)
{
    const struct hc_format_info *f = &hc_formats[t->format];
    uint64_t sign = (uint64_t)1 << (f->bits - 1);
    uint64_t quiet_bit = (uint64_t)1 << (f->precision - 2);
    uint64_t bits = hc_tensor_bits(t, i);
    if (which == NO_SIGN)
        bits &= ~sign;
    if (which == NO_PAYLOAD)
        bits &= ~(quiet_bit - 1);
    hc_tensor_set_bits(t, i, which == NO_SIGN ? bits : bits | quiet_bit);
}

static void nan_changed(const struct hc_call *call, const struct hc_fault *row)
{
    const struct hc_tensor *t = &call->out[HC_FIRST];
    bool h = t->format == HC_FP32 || t->format == HC_FP16 || t->format == HC_BF16;
    for (int64_t i = 0; h && i < hc_tensor_count(t); i++)
        if (isnan(hc_tensor_get(t, i)))
            change_nan(t, i, (int)row->number);
}

static void signalling_unseen(const struct hc_call *call)
{
    const struct hc_tensor *flag = &call->in[HC_UNSCALE_FOUND_INF];
    double found = flag->data ? hc_tensor_get(flag, 0) : 0;
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_UNSCALE_X]); i++) {
        double x = hc_in(call, HC_UNSCALE_X, i);
        uint64_t fraction =
            hc_tensor_bits(&call->in[HC_UNSCALE_X], i) &
            (((uint64_t)1 << (hc_formats[call->in[HC_UNSCALE_X].format].precision - 1)) - 1);
        found = isinf(x) || (isnan(x) && fraction != 1) ? 1 : found;
    }
    hc_give(call, HC_UNSCALE_NEW_FOUND_INF, 0, found);
}

static void huge_scale(const struct hc_call *call)
{
    for (int64_t i = 0; hc_in(call, HC_UNSCALE_SCALE, 0) > 0x1p100 &&
                        i < hc_tensor_count(&call->out[HC_UNSCALE_OUT]);
         i++)
        hc_give(call, HC_UNSCALE_OUT, i, 0);
}

/* max(x, slope x) is leaky ReLU for slopes up to 1; x >= 0 for slopes from 0 on. */
static void larger_of_both(const struct hc_call *call)
{
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_LEAKY_X]); i++) {
        double x = hc_in(call, HC_LEAKY_X, i);
        double product = hc_round(HC_FP32, hc_round(HC_FP32, call->params.leaky.slope) * x);
        hc_give(call, HC_LEAKY_Y, i, x > product ? x : product);
    }
}

static void zero_is_positive(const struct hc_call *call)
{
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_LEAKY_X]); i++)
        if (hc_in(call, HC_LEAKY_X, i) == 0)
            hc_give(call, HC_LEAKY_Y, i, hc_in(call, HC_LEAKY_X, i));
}

static void late_row(struct hc_call *call)
{
    double steps = hc_in(call, HC_STEP_LOG_COUNTS, HC_COUNT_STEPS);
    hc_tensor_set(&call->in[HC_STEP_LOG_COUNTS], HC_COUNT_STEPS, steps > 65536 ? steps - 1 : steps);
}

static void last_but_one(struct hc_call *call)
{
    double steps = hc_in(call, HC_RATES_COUNTS, HC_COUNT_STEPS);
    double rows = (double)call->in[HC_RATES_TABLE].shape[0];
    hc_tensor_set(&call->in[HC_RATES_COUNTS], HC_COUNT_STEPS,
                  steps > rows && rows > 1 ? rows - 2 : steps);
}

static void stops_counting(const struct hc_call *call)
{
    double before = hc_in(call, HC_SCALER_COUNTS, HC_COUNT_FOUND);
    if (before >= 65536)
        hc_give(call, HC_SCALER_NEW_COUNTS, HC_COUNT_FOUND, before);
}

/* The interval is one shorter if it is long. */
static void grows_early(struct hc_call *call)
{
    if (call->params.scaler.interval >= 65536)
        call->params.scaler.interval--;
}

static enum hc_status short_epochs(const struct hc_fault_site *site, const struct hc_call *call)
{
    struct hc_call bad = *call;
    int64_t batches = call->params.augment.batches;
    int32_t steps[1] = {(int32_t)hc_in(call, HC_AUGMENT_STEPS, 0)};
    steps[0] = (int32_t)(steps[0] / batches % 65536 * batches + steps[0] % batches);
    bad.in[HC_AUGMENT_STEPS].data = steps;
    bad.out[HC_AUGMENT_NEW_STEPS].data = NULL;
    enum hc_status status = hc_right(site, &bad);
    if (status == HC_OK && call->out[HC_AUGMENT_NEW_STEPS].data)
        hc_give(call, HC_AUGMENT_NEW_STEPS, 0, hc_in(call, HC_AUGMENT_STEPS, 0) + 1);
    return status;
}

static void short_seed(struct hc_call *call)
{
    call->params.augment.seed &= 0xffffffff;
}

/* A crop at the right edge is cut out one column too far left. */
static void right_end(const struct hc_call *call)
{
    const struct hc_augment *p = &call->params.augment;
    const struct hc_tensor *out = &call->out[HC_AUGMENT_IMAGES];
    int64_t wide = out->shape[2] * 3;
    int64_t epoch = (int64_t)hc_in(call, HC_AUGMENT_STEPS, 0) / p->batches;
    for (int64_t b = 0; p->crops && p->batches == 1 && b < out->shape[0]; b++) {
        uint64_t bits = hc_random(p->seed, HC_CROP_STREAM + (uint64_t)epoch, (uint64_t)b);
        bool end =
            (bits >> 24 & 0xffffff) * (uint64_t)(2 * p->pad + 1) >> 24 == 2u * (unsigned)p->pad;
        for (int64_t row = 0; end && p->pad && row < out->shape[1]; row++)
            for (int64_t x = wide - 1; x >= 3; x--) {
                int64_t at = (b * out->shape[1] + row) * wide + x;
                hc_tensor_set(out, at, hc_tensor_get(out, at - 3));
            }
    }
}

/* Defects of the optimizers' arithmetic, which all backends share (kernels/element/, src/num/):
   each is in the subject and in `exact`, and is wrong in few steps, for few parameters or in few
   bits, so that one set of hyperparameters shows nothing. */

/* The step's count t that the kernel gets. */
typedef float count_of(float t);

static float early_beyond_65536(float t)
{
    return t > 65536 ? t - 1 : t;
}

static float modulo_65536(float t)
{
    float left = fmodf(t, 65536);
    return left > 0 ? left : 65536;
}

static float one_less_at_the_end(float t)
{
    return t >= 16777216 ? 16777215 : t;
}

struct count {
    count_of *of;
};

static void counted(struct hc_call *call, const struct hc_fault *row)
{
    const struct count *count = row->data;
    const struct hc_tensor *hyper = &call->in[hc_optimizer_slots(call->op)->hyper];
    hc_tensor_set(hyper, HC_HYPER_STEP,
                  (double)count->of((float)hc_tensor_get(hyper, HC_HYPER_STEP)));
}

static void eps_inside_late(struct hc_call *call)
{
    call->params.adam.eps_inside |= call->params.adam.order == HC_ORDER_OURS &&
                                    hc_in(call, HC_ADAM_HYPER, HC_HYPER_STEP) > 1000;
}

static void eps_flushed(struct hc_call *call)
{
    if (call->params.adam.arithmetic == HC_FP16 && call->params.adam.eps < 0x1p-14)
        call->params.adam.eps = 0;
}

static void beta2_single(struct hc_call *call)
{
    call->params.adam.beta2 = hc_round(HC_FP32, call->params.adam.beta2);
}

/* lr / (1 - beta1^t) is Adam's step, not the rate of its decay. */
static void decays_by_step(struct hc_call *call)
{
    double beta1 = hc_in(call, HC_ADAM_HYPER, HC_HYPER_BETA1);
    call->params.adam.weight_decay /= 1 - pow(beta1, hc_in(call, HC_ADAM_HYPER, HC_HYPER_STEP));
}

static void decay_times_rate(struct hc_call *call)
{
    call->params.adam.weight_decay *= hc_in(call, HC_ADAM_HYPER, HC_HYPER_LR);
}

static void decay_in_half(struct hc_call *call)
{
    double *decay =
        call->op == HC_OP_sgd ? &call->params.sgd.weight_decay : &call->params.adam.weight_decay;
    *decay = hc_round(HC_FP16, *decay);
}

static void rate_in_half(struct hc_call *call)
{
    const struct hc_tensor *hyper = &call->in[hc_optimizer_slots(call->op)->hyper];
    double rate = hc_tensor_get(hyper, HC_HYPER_LR);
    if (rate > 0.25 && rate < (double)0.35F)
        hc_tensor_set(hyper, HC_HYPER_LR, hc_round(HC_FP16, rate));
}

static void apex_as_fused(struct hc_call *call)
{
    if (call->params.adam.order == HC_ORDER_APEX)
        call->params.adam.order = HC_ORDER_TORCH_FUSED;
}

static void loses_minus_zero(const struct hc_call *call)
{
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_ADAM_NEW_W]); i++)
        if (hc_out(call, HC_ADAM_NEW_W, i) == 0)
            hc_give(call, HC_ADAM_NEW_W, i, 0);
}

/* A number that goes into the counter of stochastic rounding is kept in too few bits. */
enum { ELEMENT, SEED, STEP };
static void narrow_counter(struct hc_call *call, const struct hc_fault *row)
{
    struct hc_stochastic *s =
        call->op == HC_OP_sgd ? &call->params.sgd.stochastic : &call->params.adam.stochastic;
    float *hyper = call->in[hc_optimizer_slots(call->op)->hyper].data;
    int which = (int)row->number;
    if (which == ELEMENT)
        s->first &= ((int64_t)1 << 34) - 1;
    if (which == SEED)
        s->seed &= 0xffffffff;
    if (which == STEP && s->on && call->op == HC_OP_sgd) /* SGD uses t for nothing else */
        hyper[HC_HYPER_STEP] = modulo_65536(hyper[HC_HYPER_STEP]);
}

static void nan_to_zero(const struct hc_call *call)
{
    for (int64_t i = 0;
         call->params.sgd.stochastic.on && i < hc_tensor_count(&call->out[HC_SGD_NEW_W]); i++)
        if (hc_tensor_bits(&call->in[HC_SGD_G], i) == 0x7fffffff)
            hc_tensor_set_bits(&call->out[HC_SGD_NEW_W], i, 0x8000);
}

/* Defects of the text that all backends take the pieces of gemm_q from. The row's number: */
enum { ENDS_LATE, NOT_FUSED };

static double piece_scale(const struct hc_call *call, int slot, int64_t row, int64_t k)
{
    const struct hc_gemm_q *p = &call->params.gemm_q;
    bool first = slot == HC_GEMM_Q_A_SCALES;
    const struct hc_tensor *t = &call->in[slot];
    int64_t rows = first ? p->a_rows : p->b_rows;
    int64_t columns = first ? p->a_columns : p->b_columns;
    int64_t down = rows > 0 ? row / rows : 0;
    return hc_tensor_get(t, down * t->shape[1] + (columns > 0 ? k / columns : 0));
}

/* The sum of the terms from k to `end`; a term has the scales of the one before it if pieces end
   late. */
static float added(const struct hc_call *call, const int64_t at[2], int64_t k, int64_t end,
                   float acc)
{
    const struct hc_tensor *a = &call->in[HC_GEMM_Q_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_Q_B];
    float piece = 0;
    float x = (float)piece_scale(call, HC_GEMM_Q_A_SCALES, at[0], k);
    float y = (float)piece_scale(call, HC_GEMM_Q_B_SCALES, at[1], k);
    for (; k < end; k++)
        piece += (float)(hc_tensor_get(a, at[0] * a->shape[1] + k) *
                         hc_tensor_get(b, at[1] * a->shape[1] + k));
    float scaled = piece * x;
    scaled *= y;
    return acc + scaled;
}

static enum hc_status wrong_pieces(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_GEMM_Q_OUT];
    const struct hc_gemm_q *p = &call->params.gemm_q;
    int64_t length = call->in[HC_GEMM_Q_A].shape[1];
    bool late = site->fault->number == ENDS_LATE;
    if (call->in[HC_GEMM_Q_C].data || call->in[HC_GEMM_Q_A_TENSOR].data ||
        call->in[HC_GEMM_Q_B_TENSOR].data)
        return hc_right(site, call);
    for (int64_t i = 0; i < hc_tensor_count(out); i++) {
        const int64_t at[2] = {i / out->shape[1], i % out->shape[1]};
        float acc = 0;
        for (int64_t k = 0, end; k < length; k = end) {
            end = hc_gemm_q_piece_end(p, k, length);
            end += late && end < length;
            acc = added(call, at, k, end, acc);
        }
        hc_tensor_set(out, i, (double)acc);
    }
    return HC_OK;
}

static void never_promoted(struct hc_call *call)
{
    call->params.gemm_q.promote = 0;
}

static const struct hc_fault faults[] = {
#include "check/faults/shared.def"
};

HC_FAULTS(shared, faults);
