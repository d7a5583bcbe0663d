/* Ops that compute something else than their formula: a term, a parameter or an operand is
   wrong. */
#include <math.h>
#include <stdlib.h>

#include "check/selftest/change.h"
#include "num/format.h"

/* Terms of a formula that are missing, misplaced or added. */

/* Element i of input `slot` becomes the old element from(i). */
static void rearrange(struct hc_call *call, int slot,
                      int64_t (*from)(const struct hc_tensor *t, int64_t i))
{
    struct hc_tensor old = call->in[slot];
    old.data = hc_fault_copy(&old);
    for (int64_t i = 0; i < hc_tensor_count(&old); i++)
        hc_tensor_set_bits(&call->in[slot], i, hc_tensor_bits(&old, from(&old, i)));
    free(old.data);
}

/* [K, R, S, C] turned by half a circle: a convolution in the mathematical sense. */
static int64_t turned(const struct hc_tensor *w, int64_t i)
{
    int64_t c = i % w->shape[3];
    int64_t place = i / w->shape[3];
    int64_t area = w->shape[1] * w->shape[2];
    return (place / area * area + area - 1 - place % area) * w->shape[3] + c;
}

static void turned_filter(struct hc_call *call)
{
    rearrange(call, HC_CONV_SECOND, turned);
}

/* Each row of pixels is the one above it, the first one stays. */
static int64_t row_above(const struct hc_tensor *x, int64_t i)
{
    int64_t row = x->shape[2] * x->shape[3];
    return i / row % x->shape[1] > 0 ? i - row : i;
}

static void padded_above(struct hc_call *call)
{
    if (call->params.conv.pad != 0)
        rearrange(call, HC_CONV_FIRST, row_above);
}

/* The running variance takes the biased variance of the batch. */
static void biased_variance(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    double m = (double)hc_tensor_count(x) / fmax((double)x->shape[3], 1);
    for (int64_t c = 0; m > 1 && c < hc_tensor_count(&call->out[HC_BN_NEW_VARIANCE]); c++) {
        double kept = (1 - call->params.bn.momentum) * hc_in(call, HC_BN_VARIANCE, c);
        double batch = hc_out(call, HC_BN_NEW_VARIANCE, c) - kept;
        hc_give(call, HC_BN_NEW_VARIANCE, c, kept + batch * (m - 1) / m);
    }
}

/* exp(z) without subtracting the largest logit. */
static void plain_exponentials(const struct hc_call *call)
{
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    double loss = 0;
    for (int64_t row = 0; row < z->shape[0]; row++) {
        double sum = 0;
        for (int64_t j = 0; j < z->shape[1]; j++)
            sum = hc_round(HC_FP32,
                           sum + hc_round(HC_FP32, exp(hc_tensor_get(z, row * z->shape[1] + j))));
        int64_t label = (int64_t)hc_in(call, HC_XENT_LABELS, row);
        loss += log(sum) - hc_tensor_get(z, row * z->shape[1] + label);
    }
    if (z->format != HC_FP64)
        hc_give(call, HC_XENT_LOSS, 0, call->params.xent.sum ? loss : loss / (double)z->shape[0]);
}

/* Every output times a number. */
static void times(const struct hc_call *call, const struct hc_fault *row)
{
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_FIRST]); i++)
        hc_give(call, HC_FIRST, i, hc_out(call, HC_FIRST, i) * row->number);
}

/* The mean over a batch of N rows, and its gradient, is taken over N + 1. */
static void over_one_more(const struct hc_call *call)
{
    double n = (double)call->in[HC_FIRST].shape[0];
    bool mean = !call->params.xent.sum;
    for (int64_t i = 0; mean && i < hc_tensor_count(&call->out[HC_FIRST]); i++)
        hc_give(call, HC_FIRST, i, hc_out(call, HC_FIRST, i) * n / (n + 1));
}

/* The upstream gradient, which holds the loss scale, is taken to be 1. */
static void without_upstream(struct hc_call *call)
{
    static double one[1];
    call->in[HC_XENT_UPSTREAM].data = one;
    hc_tensor_set(&call->in[HC_XENT_UPSTREAM], 0, 1);
}

/* The optimizer gets another count of steps. */
struct steps {
    double factor;
    double more;
};

static void other_steps(struct hc_call *call, const struct hc_fault *row)
{
    const struct steps *steps = row->data;
    const struct hc_tensor *hyper = &call->in[hc_optimizer_slots(call->op)->hyper];
    double t = hc_tensor_get(hyper, HC_HYPER_STEP);
    hc_tensor_set(hyper, HC_HYPER_STEP, fmax(t * steps->factor + steps->more, 1));
}

/* The decay is not multiplied by the rate. */
static void decay_without_rate(struct hc_call *call)
{
    double rate = hc_in(call, HC_ADAM_HYPER, HC_HYPER_LR);
    if (rate > 0)
        call->params.adam.weight_decay /= rate;
}

/* The slope does not apply at 0: x < 0 is tested instead of x > 0. */
static void gradient_at_zero(const struct hc_call *call)
{
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_LEAKY_BWD_Y]); i++)
        if (hc_in(call, HC_LEAKY_BWD_Y, i) == 0)
            hc_give(call, HC_LEAKY_BWD_DX, i, hc_in(call, HC_LEAKY_BWD_DY, i));
}

/* The detector sees NaNs alone with `number`, and without it infinities alone. */
static void sees_one_kind(const struct hc_call *call, const struct hc_fault *row)
{
    bool found = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_UNSCALE_X]); i++) {
        double x = hc_in(call, HC_UNSCALE_X, i);
        found = found || (row->number != 0 ? isnan(x) : isinf(x));
    }
    hc_give(call, HC_UNSCALE_NEW_FOUND_INF, 0, found);
}

/* The detector checks the quotients. */
static void looks_after(const struct hc_call *call)
{
    bool found = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]);
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_UNSCALE_OUT]); i++)
        found = found || !isfinite(hc_out(call, HC_UNSCALE_OUT, i));
    hc_give(call, HC_UNSCALE_NEW_FOUND_INF, 0, found);
}

/* A NaN flag is treated as 0. */
static void nan_is_not_found(struct hc_call *call)
{
    if (call->in[HC_SCALER_FOUND_INF].data && isnan(hc_in(call, HC_SCALER_FOUND_INF, 0)))
        call->in[HC_SCALER_FOUND_INF] = hc_tensor1(HC_FP32, 0, NULL);
}

/* Parameters and operands that are ignored or confused. */

static void without_beta(struct hc_call *call)
{
    call->params.gemm.beta = call->params.gemm.beta != 0 ? 1 : 0;
}

/* A square matrix is not transposed. (For a vector times a matrix there is no other shape.) */
static void as_it_lies(struct hc_call *call)
{
    const struct hc_tensor *a = &call->in[HC_GEMM_A];
    if (call->params.gemm.transpose_a) {
        int64_t rows = a->shape[0];
        call->in[HC_GEMM_A].shape[0] = a->shape[1];
        call->in[HC_GEMM_A].shape[1] = rows;
        call->params.gemm.transpose_a = false;
    }
}

/* Row 0 of C is added to every row. */
static void broadcast(struct hc_call *call)
{
    if (call->in[HC_GEMM_C].data && call->in[HC_GEMM_C].rank == 2 &&
        call->in[HC_GEMM_C].shape[0] > 0)
        call->in[HC_GEMM_C] = hc_tensor1(call->in[HC_GEMM_C].format, call->in[HC_GEMM_C].shape[1],
                                         call->in[HC_GEMM_C].data);
}

static void up_for_down(struct hc_call *call)
{
    if (call->params.cast.direction == HC_DOWNWARD)
        call->params.cast.direction = HC_TOWARD_ZERO;
}

static void slope(struct hc_call *call, const struct hc_fault *row)
{
    call->params.leaky.slope *= row->number;
}

/* The first factor is used twice. */
static void squared(struct hc_call *call)
{
    call->in[HC_Y] = call->in[HC_X];
}

static void gain_for_offset(struct hc_call *call)
{
    struct hc_tensor gain = call->in[HC_BN_GAMMA];
    call->in[HC_BN_GAMMA] = call->in[HC_BN_BETA];
    call->in[HC_BN_BETA] = gain;
}

/* Defects of the components of mixed precision: an epsilon, a loss scale, a master's copy, a decay,
   batch norm with leaky ReLU, running statistics. */

static void eps_in_half(struct hc_call *call)
{
    call->params.adam.eps = hc_round(HC_FP16, call->params.adam.eps);
}

static void eps_inside(struct hc_call *call)
{
    call->params.adam.eps_inside = true;
}

static void never_found(const struct hc_call *call)
{
    bool given = call->in[HC_UNSCALE_FOUND_INF].data;
    hc_give(call, HC_UNSCALE_NEW_FOUND_INF, 0, given ? hc_in(call, HC_UNSCALE_FOUND_INF, 0) : 0);
}

static void truncated(const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_MODEL_COPY];
    for (int64_t i = 0; i < hc_tensor_count(out); i++)
        hc_tensor_set_bits(
            out, i, hc_encode(out->format, hc_in(call, HC_MODEL_MASTER, i), 0, HC_TOWARD_ZERO));
}

static void decay_in_gradient(struct hc_call *call)
{
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_ADAM_W]); i++)
        hc_tensor_set(&call->in[HC_ADAM_G], i,
                      hc_in(call, HC_ADAM_G, i) +
                          call->params.adam.weight_decay * hc_in(call, HC_ADAM_W, i));
    call->params.adam.weight_decay = 0;
}

static void momentum_swapped(struct hc_call *call)
{
    call->params.bn.momentum = 1 - call->params.bn.momentum;
}

static void statistics_in_half(const struct hc_call *call)
{
    for (int slot = HC_BN_NEW_MEAN; slot <= HC_BN_NEW_VARIANCE; slot++)
        for (int64_t c = 0; c < hc_tensor_count(&call->out[slot]); c++)
            hc_give(call, slot, c, hc_round(HC_FP16, hc_out(call, slot, c)));
}

/* The op writes into an fp32 tensor, which is rounded afterwards. */
static enum hc_status slope_first(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_BN_Y];
    struct hc_call bad = *call;
    struct hc_tensor *wide = &bad.out[HC_BN_Y];
    wide->format = HC_FP32;
    wide->data = malloc(hc_tensor_bytes(wide) + 1);
    if (!wide->data)
        return hc_fail(HC_NO_MEMORY, "no memory for a fault's tensor");
    enum hc_status status = hc_right(site, &bad);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(y); i++)
        hc_tensor_set(y, i, hc_tensor_get(wide, i));
    free(wide->data);
    return status;
}

static void sign_of_x(struct hc_call *call)
{
    call->in[HC_BN_LEAKY_BWD_Y] = call->in[HC_BN_LEAKY_BWD_X];
}

static void scale_in_half(struct hc_call *call)
{
    hc_tensor_set(&call->in[HC_UNSCALE_SCALE], 0,
                  hc_round(HC_FP16, hc_in(call, HC_UNSCALE_SCALE, 0)));
}

static const struct hc_fault faults[] = {
#include "check/faults/formula.def"
};

HC_FAULTS(formula, faults);
