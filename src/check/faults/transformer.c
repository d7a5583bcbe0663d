/* Wrong kernels of a transformer's ops: attention, tables of rows, turned pairs, and norms that
   keep their statistics. Each computes in fp64, or spoils what a sound kernel gave, so that nothing
   but its defect is wrong. */
#include <math.h>
#include <stdlib.h>

#include "check/selftest/change.h"
#include "num/format.h"
#include "op/later.h"

enum defect {
    SCALE_IN_BF16,
    NO_SCALE,
    MASK_LATE,
    MASK_EARLY,
    MASK_TOP_LEFT,
    SUM_IN_BF16,
    NOT_RESCALED,
    V_NOT_RESCALED,
    NO_SHIFT,
    LAST_LOST,
    DEAD_NAN,
    DEAD_MEAN,
    DEAD_FIRST,
    ZERO_TIMES,
    Y_IN_BF16,
    LSE_IN_BF16,
    LSE_WITHOUT_MAX,
    LSE_OF_2,
    NO_SUM,
    ROUNDED_FIRST,
    DK_IN_BF16,
    DV_IN_BF16,
    NEXT_ROW,
    IN_A_BYTE,
    LAST_WINS,
    NO_PADDING,
    SWAPPED
};

static enum defect defect_of(const struct hc_fault *row)
{
    return (enum defect)(int)row->number;
}

static double add(bool in_bf16, double sum, double term)
{
    return in_bf16 ? hc_round(HC_BF16, sum + term) : sum + term;
}

/* How many keys row t sees. */
static int64_t seen(const struct hc_call *call, enum defect defect, int64_t t)
{
    int64_t rows = call->in[HC_ATTENTION_Q].shape[1];
    int64_t keys = call->in[HC_ATTENTION_K].shape[1];
    int64_t n = hc_defined_flag(call, 1) ? t + 1 + keys - rows : keys;
    if (hc_defined_flag(call, 1) && defect == MASK_TOP_LEFT)
        n = t + 1;
    n += (defect == MASK_LATE) - (defect == MASK_EARLY);
    n = n < 1 && defect == DEAD_FIRST ? 1 : n;
    return n < 0 ? 0 : n < keys ? n : keys;
}

static double score(const struct hc_call *call, enum defect defect, int64_t row, int64_t u)
{
    const struct hc_tensor *q = &call->in[HC_ATTENTION_Q];
    int64_t key = row / q->shape[1] * call->in[HC_ATTENTION_K].shape[1] + u;
    int64_t n = q->shape[2];
    double scale = hc_attention_scale(call);
    double s = 0;
    for (int64_t d = 0; d < n; d++)
        s += hc_tensor_get(q, row * n + d) * hc_in(call, HC_ATTENTION_K, key * n + d);
    if (call->op == HC_OP_attention && defect == NO_SCALE)
        return s;
    return s * (defect == SCALE_IN_BF16 ? hc_round(HC_BF16, scale) : scale);
}

enum { TILE = 3 };

/* A row over tiles of keys: weights are those beside the largest score so far, and what was summed
   is rescaled when that rises. fp32 has the exponential, which overflows. */
static void row_of(const struct hc_call *call, enum defect defect, int64_t row, double *y)
{
    const struct hc_tensor *q = &call->in[HC_ATTENTION_Q];
    int64_t keys = call->in[HC_ATTENTION_K].shape[1];
    int64_t width = call->in[HC_ATTENTION_V].shape[2];
    int64_t first = row / q->shape[1] * keys;
    int64_t n = seen(call, defect, row % q->shape[1]);
    bool dead = n == 0 && defect == DEAD_MEAN;
    double max = defect == NO_SHIFT ? 0 : -(double)INFINITY;
    double sum = 0;
    for (int64_t e = 0; e < width; e++)
        y[e] = 0;
    n = dead ? keys : n - (defect == LAST_LOST && n > 1);
    for (int64_t u = 0; u < n; u++) {
        double old = max;
        for (int64_t k = u; u % TILE == 0 && k < u + TILE && k < n && defect != NO_SHIFT; k++)
            max = fmax(max, dead ? 0 : score(call, defect, row, k));
        double rescale = max > old && u > 0 ? exp(old - max) : 1;
        double p = hc_round(HC_FP32, exp((dead ? 0 : score(call, defect, row, u)) - max));
        sum = add(defect == SUM_IN_BF16, defect == NOT_RESCALED ? sum : sum * rescale, p);
        for (int64_t e = 0; e < width; e++)
            y[e] = add(defect == Y_IN_BF16,
                       y[e] * (defect == NOT_RESCALED || defect == V_NOT_RESCALED ? 1 : rescale),
                       p * hc_in(call, HC_ATTENTION_V, (first + u) * width + e));
    }
    for (int64_t u = n; u < keys && defect == ZERO_TIMES; u++)
        for (int64_t e = 0; e < width; e++)
            y[e] += 0 * hc_in(call, HC_ATTENTION_V, (first + u) * width + e);
    for (int64_t e = 0; e < width; e++)
        hc_give(call, HC_ATTENTION_Y, row * width + e, n || defect == DEAD_NAN ? y[e] / sum : 0);
    double lse = dead ? -(double)INFINITY : (defect == LSE_WITHOUT_MAX ? 0 : max) + log(sum);
    lse = defect == LSE_OF_2 ? lse / log(2) : lse;
    hc_give(call, HC_ATTENTION_LSE, row, defect == LSE_IN_BF16 ? hc_round(HC_BF16, lse) : lse);
}

/* Memory that ends the program where there is none. */
static double *numbers(int64_t n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    if (!x)
        exit(2);
    return x;
}

static void attention(const struct hc_call *call, const struct hc_fault *row)
{
    const struct hc_tensor *q = &call->in[HC_ATTENTION_Q];
    double *y = numbers(call->in[HC_ATTENTION_V].shape[2]);
    for (int64_t i = 0; i < q->shape[0] * q->shape[1]; i++)
        row_of(call, defect_of(row), i, y);
    free(y);
}

/* What row `row` and key u give: the weight and the gradient of the score. */
static void pair(const struct hc_call *call, enum defect defect, int64_t row, int64_t u, double *p,
                 double *ds)
{
    int64_t rows = call->in[HC_ATTENTION_Q].shape[1];
    int64_t width = call->in[HC_ATTENTION_BWD_DY].shape[2];
    int64_t key = row / rows * call->in[HC_ATTENTION_K].shape[1] + u;
    double lse = hc_in(call, HC_ATTENTION_BWD_LSE, row);
    double a = 0;
    double dp = 0;
    for (int64_t e = 0; e < width; e++) {
        double dy = hc_in(call, HC_ATTENTION_BWD_DY, row * width + e);
        a = add(defect == SUM_IN_BF16, a, dy * hc_in(call, HC_ATTENTION_BWD_O, row * width + e));
        dp += dy * hc_in(call, HC_ATTENTION_BWD_V, key * width + e);
    }
    *p = exp(score(call, defect, row, u) - lse) * (defect == LSE_WITHOUT_MAX ? 1.0625 : 1);
    *ds = *p * (dp - (defect == NO_SUM ? 0 : a));
    if (defect == ROUNDED_FIRST)
        *ds = hc_round(HC_BF16, *ds);
}

static void attention_backward(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const int64_t *q = call->in[HC_ATTENTION_BWD_Q].shape;
    const int64_t *v = call->in[HC_ATTENTION_BWD_V].shape;
    double scale = hc_attention_scale(call);
    double *dq = numbers(q[0] * q[1] * q[2]);
    double *dk = numbers(v[0] * v[1] * q[2]);
    double *dv = numbers(v[0] * v[1] * v[2]);
    for (int64_t i = 0; i < q[0] * q[1]; i++)
        for (int64_t u = 0; u < seen(call, defect, i % q[1]); u++) {
            int64_t key = i / q[1] * v[1] + u;
            double p;
            double ds;
            pair(call, defect, i, u, &p, &ds);
            for (int64_t d = 0; d < q[2]; d++) {
                double *k = &dk[key * q[2] + d];
                dq[i * q[2] + d] += ds * hc_in(call, HC_ATTENTION_BWD_K, key * q[2] + d);
                *k = add(defect == DK_IN_BF16, *k,
                         ds * hc_in(call, HC_ATTENTION_BWD_Q, i * q[2] + d));
            }
            for (int64_t e = 0; e < v[2]; e++) {
                double *to = &dv[key * v[2] + e];
                *to = add(defect == DV_IN_BF16, *to,
                          p * hc_in(call, HC_ATTENTION_BWD_DY, i * v[2] + e));
            }
        }
    for (int64_t i = 0; i < q[0] * q[1] * q[2]; i++)
        hc_give(call, HC_ATTENTION_BWD_DQ, i, scale * dq[i]);
    for (int64_t i = 0; i < v[0] * v[1] * q[2]; i++)
        hc_give(call, HC_ATTENTION_BWD_DK, i, defect == NO_SCALE ? dk[i] : scale * dk[i]);
    for (int64_t i = 0; i < v[0] * v[1] * v[2]; i++)
        hc_give(call, HC_ATTENTION_BWD_DV, i, dv[i]);
    free(dq);
    free(dk);
    free(dv);
}

static enum hc_status leave_without_rows(const struct hc_fault_site *site,
                                         const struct hc_call *call)
{
    return call->in[HC_ATTENTION_BWD_Q].shape[1] ? hc_right(site, call) : HC_OK;
}

static void embedding(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const struct hc_tensor *w = &call->in[HC_EMBEDDING_W];
    int64_t n = w->shape[1];
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_EMBEDDING_Y]); i++) {
        int64_t at = (int64_t)hc_in(call, HC_EMBEDDING_ID, i / n);
        at = defect == NEXT_ROW ? (at + 1) % w->shape[0] : defect == IN_A_BYTE ? at % 256 : at;
        double x = at < 0 ? 0 : hc_tensor_get(w, at * n + i % n);
        hc_give(call, HC_EMBEDDING_Y, i, defect == ROUNDED_FIRST ? hc_round(HC_BF16, x) : x);
    }
}

static void embedding_backward(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const struct hc_tensor *dy = &call->in[HC_EMBEDDING_BWD_DY];
    int64_t n = dy->shape[1];
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_EMBEDDING_BWD_DW]); i++) {
        double sum = 0;
        bool padding = i / n == hc_defined_integer(call, 0) && defect != NO_PADDING;
        for (int64_t k = 0; k < dy->shape[0] && !padding; k++)
            if ((int64_t)hc_in(call, HC_EMBEDDING_BWD_ID, k) == i / n)
                sum = add(defect == SUM_IN_BF16, defect == LAST_WINS ? 0 : sum,
                          hc_tensor_get(dy, k * n + i % n));
        hc_give(call, HC_EMBEDDING_BWD_DW, i, sum);
    }
}

static void rotary(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const struct hc_tensor *x = &call->in[HC_ROTARY_X];
    int64_t n = x->shape[2];
    for (int64_t i = 0; i < hc_tensor_count(x); i++) {
        int64_t d = i % n;
        int64_t at = i % (x->shape[1] * n);
        bool first = defect == NEXT_ROW ? d % 2 == 0 : d < n / 2;
        int64_t apart = defect == NEXT_ROW ? n > 1 : n / 2;
        bool inside = first ? d + apart < n : true;
        double z = !inside ? 0 : first ? -hc_tensor_get(x, i + apart) : hc_tensor_get(x, i - apart);
        double co = hc_in(call, HC_ROTARY_CO, at);
        double si = hc_in(call, HC_ROTARY_SI, at) * (defect == SWAPPED ? -1 : 1);
        if (defect == ROUNDED_FIRST) {
            co = hc_round(HC_BF16, co);
            si = hc_round(HC_BF16, si);
        }
        hc_give(call, HC_ROTARY_Y, i, hc_tensor_get(x, i) * co + z * si);
    }
}

static void swiglu_backward(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    bool swapped = defect == SWAPPED;
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_SWIGLU_BWD_GATE]); i++) {
        double gate = hc_in(call, HC_SWIGLU_BWD_GATE, i);
        double dy = hc_in(call, HC_SWIGLU_BWD_DY, i);
        double s = 1 / (1 + exp(-gate));
        s = defect == ROUNDED_FIRST ? hc_round(HC_BF16, s) : s;
        double slope = defect == NO_SUM ? s : s * (1 + gate * (1 - s));
        hc_give(call, swapped ? HC_SWIGLU_BWD_DUP : HC_SWIGLU_BWD_DGATE, i,
                dy * hc_in(call, HC_SWIGLU_BWD_UP, i) * slope);
        hc_give(call, swapped ? HC_SWIGLU_BWD_DGATE : HC_SWIGLU_BWD_DUP, i, dy * gate * s);
    }
}

static void kept_rms(const struct hc_call *call, const struct hc_fault *row)
{
    for (int64_t t = 0; t < call->in[HC_RMS_X].shape[0]; t++) {
        double rstd = hc_out(call, HC_RMS_RSTD, t);
        hc_give(call, HC_RMS_RSTD, t,
                defect_of(row) == SWAPPED ? 1 / rstd : hc_round(HC_BF16, rstd));
    }
}

static void kept_layer(const struct hc_call *call, const struct hc_fault *row)
{
    for (int64_t t = 0; t < call->in[HC_LN_X].shape[0]; t++) {
        double mu = hc_out(call, HC_LN_MU, t);
        double rstd = hc_out(call, HC_LN_RSTD, t);
        bool swapped = defect_of(row) == SWAPPED;
        hc_give(call, HC_LN_MU, t, swapped ? rstd : hc_round(HC_BF16, mu));
        hc_give(call, HC_LN_RSTD, t, swapped ? mu : rstd);
    }
}

static const struct hc_fault faults[] = {
#include "check/faults/transformer.def"
};

HC_FAULTS(transformer, faults);
