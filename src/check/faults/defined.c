/* Wrong kernels of ops that definitions say. Each computes in fp64, so that nothing but its defect
   is wrong. */
#include <math.h>

#include "check/selftest/change.h"
#include "num/format.h"
#include "op/later.h"

enum defect {
    EPS_OUTSIDE,
    NO_EPS,
    ROUNDED_FIRST,
    OVER_LESS,
    SUM_IN_BF16,
    NO_WEIGHT,
    LAST_LOST,
    NO_ROOT,
    ONE_RSTD,
    NO_RSTD,
    NO_SHIFT,
    NO_SUM,
    BY_TANH,
    BY_SIGMOID,
    BY_ERF,
    NO_CUBE,
    NO_DENSITY,
    NO_BIAS,
    SWAPPED
};

static enum defect defect_of(const struct hc_fault *row)
{
    return (enum defect)(int)row->number;
}

static double add(enum defect defect, double sum, double term)
{
    return defect == SUM_IN_BF16 ? hc_round(HC_BF16, sum + term) : sum + term;
}

static void rms(const struct hc_call *call, const struct hc_fault *row)
{
    const struct hc_tensor *x = &call->in[HC_RMS_X];
    enum defect defect = defect_of(row);
    int64_t n = x->shape[1];
    double eps = defect == NO_EPS ? 0 : hc_defined_real(call, 0);
    for (int64_t t = 0; t < x->shape[0]; t++) {
        double sum = 0;
        for (int64_t d = 0; d < n - (defect == LAST_LOST); d++)
            sum = add(defect, sum, pow(hc_tensor_get(x, t * n + d), 2));
        double mean = sum / (double)(n - (defect == OVER_LESS && n > 1));
        double root = defect == EPS_OUTSIDE ? sqrt(mean) + eps : sqrt(mean + eps);
        for (int64_t d = 0; d < n; d++) {
            double y = hc_tensor_get(x, t * n + d) / root;
            if (defect == ROUNDED_FIRST)
                y = hc_round(call->out[HC_RMS_Y].format, y);
            hc_give(call, HC_RMS_Y, t * n + d,
                    defect == NO_WEIGHT ? y : y * hc_in(call, HC_RMS_W, d));
        }
    }
}

static void rms_backward(const struct hc_call *call, const struct hc_fault *row)
{
    const struct hc_tensor *x = &call->in[HC_RMS_BWD_X];
    enum defect defect = defect_of(row);
    int64_t n = x->shape[1];
    for (int64_t t = 0; t < x->shape[0]; t++) {
        double r = hc_in(call, HC_RMS_BWD_RSTD, t);
        double sum = 0;
        for (int64_t i = t * n; i < (t + 1) * n; i++)
            sum += hc_in(call, HC_RMS_BWD_DY, i) * hc_in(call, HC_RMS_BWD_W, i % n) *
                   hc_in(call, HC_RMS_BWD_X, i);
        double c = defect == NO_ROOT ? 0 : sum / (double)n * (defect == ONE_RSTD ? r : r * r);
        for (int64_t i = t * n; i < (t + 1) * n; i++)
            hc_give(call, HC_RMS_BWD_DX, i,
                    r * (hc_in(call, HC_RMS_BWD_DY, i) * hc_in(call, HC_RMS_BWD_W, i % n) -
                         hc_in(call, HC_RMS_BWD_X, i) * c));
    }
    for (int64_t d = 0; d < n; d++) {
        double sum = 0;
        for (int64_t t = 0; t < x->shape[0]; t++)
            sum = add(defect, sum,
                      hc_in(call, HC_RMS_BWD_DY, t * n + d) * hc_in(call, HC_RMS_BWD_X, t * n + d) *
                          (defect == NO_RSTD ? 1 : hc_in(call, HC_RMS_BWD_RSTD, t)));
        hc_give(call, HC_RMS_BWD_DW, d, sum);
    }
}

/* As fp32 has the exponential, which overflows. */
static void softmax(const struct hc_call *call, const struct hc_fault *row)
{
    const struct hc_tensor *x = &call->in[HC_SOFTMAX_X];
    enum defect defect = defect_of(row);
    int64_t n = x->shape[1];
    for (int64_t from = 0; from < hc_tensor_count(x); from += n) {
        double sum = 0;
        double max = defect == NO_SHIFT ? 0 : -(double)INFINITY;
        for (int64_t i = from; i < from + n && defect != NO_SHIFT; i++)
            max = fmax(max, hc_tensor_get(x, i));
        for (int64_t i = from; i < from + n - (defect == LAST_LOST); i++)
            sum = add(defect, sum, hc_round(HC_FP32, exp(hc_tensor_get(x, i) - max)));
        for (int64_t i = from; i < from + n; i++) {
            double e = hc_round(HC_FP32, exp(hc_tensor_get(x, i) - max));
            hc_give(call, HC_SOFTMAX_Y, i,
                    (defect == ROUNDED_FIRST ? hc_round(HC_BF16, e) : e) / sum);
        }
    }
}

static void softmax_backward(const struct hc_call *call, const struct hc_fault *row)
{
    const struct hc_tensor *y = &call->in[HC_SOFTMAX_BWD_Y];
    enum defect defect = defect_of(row);
    int64_t n = y->shape[1];
    for (int64_t from = 0; from < hc_tensor_count(y); from += n) {
        double sum = 0;
        for (int64_t i = from; i < from + n && defect != NO_SUM; i++)
            sum = add(defect, sum, hc_tensor_get(y, i) * hc_in(call, HC_SOFTMAX_BWD_DY, i));
        for (int64_t i = from; i < from + n; i++)
            hc_give(call, HC_SOFTMAX_BWD_DX, i,
                    hc_tensor_get(y, i) * (hc_in(call, HC_SOFTMAX_BWD_DY, i) - sum));
    }
}

static double gelu_share(double x)
{
    return 0.5 * (1 + erf(x * 0.7071067811865476));
}

static double bend(double x, double cube)
{
    return tanh(0.7978845608028654 * (x + cube * x * x * x));
}

static void gelu(const struct hc_call *call, const struct hc_fault *row)
{
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_GELU_X]); i++) {
        double x = hc_in(call, HC_GELU_X, i);
        double by_tanh = x / 2 * (1 + bend(x, 0.044715));
        double by_sigmoid = x / (1 + exp(-1.702 * x));
        hc_give(call, HC_GELU_Y, i, defect_of(row) == BY_TANH ? by_tanh : by_sigmoid);
    }
}

static void gelu_backward(const struct hc_call *call, const struct hc_fault *row)
{
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_GELU_BWD_X]); i++) {
        double x = hc_in(call, HC_GELU_BWD_X, i);
        double factor = gelu_share(x);
        if (defect_of(row) != NO_DENSITY)
            factor += x * exp(-0.5 * x * x) * 0.3989422804014327;
        if (defect_of(row) == ROUNDED_FIRST)
            factor = hc_round(HC_BF16, factor);
        hc_give(call, HC_GELU_BWD_DX, i, hc_in(call, HC_GELU_BWD_DY, i) * factor);
    }
}

static void gelu_tanh(const struct hc_call *call, const struct hc_fault *row)
{
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_GELU_X]); i++) {
        double x = hc_in(call, HC_GELU_X, i);
        double y = defect_of(row) == BY_ERF ? x * gelu_share(x) : x / 2 * (1 + bend(x, 0.0447));
        hc_give(call, HC_GELU_Y, i, y);
    }
}

static void gelu_tanh_backward(const struct hc_call *call, const struct hc_fault *row)
{
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_GELU_BWD_X]); i++) {
        double x = hc_in(call, HC_GELU_BWD_X, i);
        double t = bend(x, 0.044715);
        double cube = defect_of(row) == NO_CUBE ? 0 : 3 * 0.044715 * x * x;
        double factor = 0.5 * (1 + t + x * (1 - t * t) * 0.7978845608028654 * (1 + cube));
        if (defect_of(row) == BY_ERF)
            factor = gelu_share(x) + x * exp(-0.5 * x * x) * 0.3989422804014327;
        hc_give(call, HC_GELU_BWD_DX, i, hc_in(call, HC_GELU_BWD_DY, i) * factor);
    }
}

static void layer(const struct hc_call *call, const struct hc_fault *row)
{
    const struct hc_tensor *x = &call->in[HC_LN_X];
    enum defect defect = defect_of(row);
    int64_t n = x->shape[1];
    double eps = hc_defined_real(call, 0);
    for (int64_t from = 0; from < hc_tensor_count(x); from += n) {
        double sum = 0;
        double squares = 0;
        for (int64_t i = from; i < from + n; i++)
            sum = add(defect, sum, hc_tensor_get(x, i));
        for (int64_t i = from; i < from + n; i++)
            squares += pow(hc_tensor_get(x, i) - sum / (double)n, 2);
        double variance = squares / (double)(n - (defect == OVER_LESS && n > 1));
        double root = defect == EPS_OUTSIDE ? sqrt(variance) + eps : sqrt(variance + eps);
        for (int64_t i = from; i < from + n; i++) {
            double y = (hc_tensor_get(x, i) - sum / (double)n) / root;
            if (defect == ROUNDED_FIRST)
                y = hc_round(call->out[HC_LN_Y].format, y);
            y *= hc_in(call, HC_LN_W, i % n);
            hc_give(call, HC_LN_Y, i, defect == NO_BIAS ? y : y + hc_in(call, HC_LN_B, i % n));
        }
    }
}

static double normal_at(const struct hc_call *call, int64_t i, int64_t n)
{
    return (hc_in(call, HC_LN_BWD_X, i) - hc_in(call, HC_LN_BWD_MU, i / n)) *
           hc_in(call, HC_LN_BWD_RSTD, i / n);
}

static void layer_backward(const struct hc_call *call, const struct hc_fault *row)
{
    const struct hc_tensor *dy = &call->in[HC_LN_BWD_DY];
    enum defect defect = defect_of(row);
    int64_t n = dy->shape[1];
    for (int64_t from = 0; from < hc_tensor_count(dy); from += n) {
        double mean = 0;
        double along = 0;
        for (int64_t i = from; i < from + n; i++) {
            double g = hc_tensor_get(dy, i) * hc_in(call, HC_LN_BWD_W, i % n);
            mean += defect == NO_SUM ? 0 : g / (double)n;
            along += defect == NO_ROOT ? 0 : g * normal_at(call, i, n) / (double)n;
        }
        for (int64_t i = from; i < from + n; i++)
            hc_give(call, HC_LN_BWD_DX, i,
                    hc_in(call, HC_LN_BWD_RSTD, i / n) *
                        (hc_tensor_get(dy, i) * hc_in(call, HC_LN_BWD_W, i % n) - mean -
                         normal_at(call, i, n) * along));
    }
    for (int64_t d = 0; d < n; d++) {
        double db = 0;
        for (int64_t t = 0; t < dy->shape[0]; t++)
            db = add(defect, db, hc_tensor_get(dy, t * n + d));
        hc_give(call, HC_LN_BWD_DB, d, db);
    }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void silu(const struct hc_call *call, const struct hc_fault *row)
{
    (void)row;
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_SILU_X]); i++) {
        double x = hc_in(call, HC_SILU_X, i);
        hc_give(call, HC_SILU_Y, i, x * hc_round(HC_BF16, sigmoid(x)));
    }
}

static void silu_backward(const struct hc_call *call, const struct hc_fault *row)
{
    (void)row;
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_SILU_BWD_X]); i++)
        hc_give(call, HC_SILU_BWD_DX, i,
                hc_in(call, HC_SILU_BWD_DY, i) * sigmoid(hc_in(call, HC_SILU_BWD_X, i)));
}

static void swiglu(const struct hc_call *call, const struct hc_fault *row)
{
    bool swapped = defect_of(row) == SWAPPED;
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_SWIGLU_GATE]); i++) {
        double gate = hc_in(call, swapped ? HC_SWIGLU_UP : HC_SWIGLU_GATE, i);
        double half = gate * sigmoid(gate);
        if (!swapped)
            half = hc_round(call->out[HC_SWIGLU_Y].format, half);
        hc_give(call, HC_SWIGLU_Y, i,
                half * hc_in(call, swapped ? HC_SWIGLU_GATE : HC_SWIGLU_UP, i));
    }
}

static const struct hc_fault faults[] = {
#include "check/faults/defined.def"
};

HC_FAULTS(defined, faults);
