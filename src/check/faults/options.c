/* Wrong kernels of ops with options: softmax with a mask, and its logarithm. Each computes in fp64,
   so that nothing but its defect is wrong. */
#include <math.h>

#include "check/selftest/change.h"
#include "num/format.h"
#include "op/later.h"

enum defect {
    SCALE_IN_BF16,
    SCALE_LAST,
    NO_SCALE,
    NO_MASK,
    MASK_LATE,
    MASK_FINITE,
    DEAD_NAN,
    NO_SHIFT,
    NO_SUM,
    SUM_IN_BF16,
    LAST_LOST,
    ROUNDED_FIRST,
    OF_THE_RESULT
};

static enum defect defect_of(const struct hc_fault *row)
{
    return (enum defect)(int)row->number;
}

static double add(bool in_bf16, double sum, double term)
{
    return in_bf16 ? hc_round(HC_BF16, sum + term) : sum + term;
}

/* The logit of a row at place u. */
static double logit(const struct hc_call *call, enum defect defect, int64_t row, int64_t u)
{
    const int64_t *n = call->in[HC_SOFTMAX_X].shape;
    double x = hc_in(call, HC_SOFTMAX_X, row * n[2] + u);
    double mask = defect == NO_MASK ? 0 : hc_in(call, HC_SOFTMAX_MASK, row % n[1] * n[2] + u);
    double scale = hc_defined_real(call, HC_SOFTMAX_SCALE);
    if (defect == MASK_FINITE && mask == -(double)INFINITY)
        mask = -4;
    if (defect == SCALE_LAST)
        return (x + mask) * scale;
    return x * (defect == SCALE_IN_BF16 ? hc_round(HC_BF16, scale) : scale) + mask;
}

static void softmax(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const int64_t *n = call->in[HC_SOFTMAX_X].shape;
    double without[] = {0, (double)NAN, 1 / (double)n[2]};
    double dead = without[defect == DEAD_NAN ? 1 : hc_defined_integer(call, HC_SOFTMAX_DEAD)];
    for (int64_t i = 0; i < n[0] * n[1]; i++) {
        int64_t diagonal = i % n[1] + 1 + n[2] - n[1] + (defect == MASK_LATE);
        int64_t past =
            hc_defined_flag(call, HC_SOFTMAX_CAUSAL) && diagonal < n[2] ? diagonal : n[2];
        double max = -(double)INFINITY;
        double sum = 0;
        bool sees = false;
        past = past < 0 ? 0 : past;
        for (int64_t u = 0; u < past; u++) {
            sees = sees || logit(call, defect, i, u) != -(double)INFINITY;
            max = fmax(max, logit(call, defect, i, u));
        }
        for (int64_t u = 0; u < past - (defect == LAST_LOST && past > 1); u++)
            sum = add(defect == SUM_IN_BF16, sum, exp(logit(call, defect, i, u) - max));
        for (int64_t u = 0; u < n[2]; u++)
            hc_give(call, HC_SOFTMAX_Y, i * n[2] + u,
                    !sees      ? dead
                    : u < past ? exp(logit(call, defect, i, u) - max) / sum
                               : 0);
    }
}

/* Of softmax_general and of log_softmax. */
static void backward(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const struct hc_tensor *y = &call->in[HC_SOFTMAX_BWD_Y];
    bool log = call->op == HC_OP_log_softmax_backward;
    int64_t n = y->shape[y->rank - 1];
    double scale = log || defect == NO_SCALE ? 1 : hc_defined_real(call, HC_SOFTMAX_SCALE);
    scale = defect == SCALE_IN_BF16 ? hc_round(HC_BF16, scale) : scale;
    for (int64_t from = 0; from < hc_tensor_count(y); from += n) {
        double sum = 0;
        for (int64_t i = from; i < from + n - (defect == LAST_LOST) && defect != NO_SUM; i++)
            sum = add(defect == SUM_IN_BF16, sum,
                      hc_in(call, HC_SOFTMAX_BWD_DY, i) * (log ? 1 : hc_tensor_get(y, i)));
        for (int64_t i = from; i < from + n; i++) {
            double dy = hc_in(call, HC_SOFTMAX_BWD_DY, i);
            double p = defect == OF_THE_RESULT ? hc_tensor_get(y, i) : exp(hc_tensor_get(y, i));
            p = defect == ROUNDED_FIRST ? hc_round(HC_BF16, p) : p;
            hc_give(call, HC_SOFTMAX_BWD_DX, i,
                    log ? dy - p * sum : scale * hc_tensor_get(y, i) * (dy - sum));
        }
    }
}

/* As fp32 has the exponential, which overflows and underflows. */
static void log_softmax(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const struct hc_tensor *x = &call->in[HC_SOFTMAX_X];
    int64_t n = x->shape[1];
    for (int64_t from = 0; from < hc_tensor_count(x); from += n) {
        double max = defect == NO_SHIFT ? 0 : -(double)INFINITY;
        double sum = 0;
        for (int64_t i = from; i < from + n && defect != NO_SHIFT; i++)
            max = fmax(max, hc_tensor_get(x, i));
        for (int64_t i = from; i < from + n - (defect == LAST_LOST); i++)
            sum =
                add(defect == SUM_IN_BF16, sum, hc_round(HC_FP32, exp(hc_tensor_get(x, i) - max)));
        for (int64_t i = from; i < from + n; i++) {
            double y = hc_round(HC_FP32, exp(hc_tensor_get(x, i) - max) / sum);
            hc_give(call, HC_SOFTMAX_Y, i,
                    defect == OF_THE_RESULT ? log(y) : hc_tensor_get(x, i) - max - log(sum));
        }
    }
}

static const struct hc_fault faults[] = {
#include "check/faults/options.def"
};

HC_FAULTS(options, faults);
