/* Wrong kernels of ops with options: softmax with a mask, its logarithm, cross-entropy, dropout,
   parts of an attention, norms of a sum, and the loss of a product. Each computes in fp64, so that
   nothing but its defect is wrong. */
#include <math.h>
#include <stdlib.h>

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
    OF_THE_RESULT,
    NO_ONE_HOT,
    NO_SMOOTHING,
    SMOOTHED_OVER_OTHERS,
    NO_Z_LOSS,
    Z_LOSS_HALF,
    NO_CAP,
    CAP_WITHOUT_SLOPE,
    IGNORED_COUNTED,
    IGNORED_KEPT,
    NO_WEIGHT,
    WEIGHT_NOT_COUNTED,
    LSE_IN_BF16,
    LSE_WITHOUT_MAX,
    INCLUSIVE,
    INVERTED,
    SCALE_OF_BITS,
    SWAPPED,
    NOT_NORMALISED,
    NO_LSE_GRADIENT,
    SAME_SIGN,
    NO_RESIDUAL,
    NO_OFFSET,
    OTHER_CAST,
    SUM_NOT_STORED,
    EPS_OUTSIDE,
    OVER_LESS,
    NO_BIAS,
    NO_ROOT,
    NO_RSTD,
    LOGITS_IN_BF16,
    CHUNK_LOST,
    CHUNKS_NOT_ADDED,
    OTHER_STORE
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

/* The gradients of softmax_general and log_softmax. */
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

static double capped(const struct hc_call *call, enum defect defect, int64_t i, double *tangent)
{
    double cap = defect == NO_CAP ? 0 : hc_defined_real(call, HC_CE_CAP);
    double z = hc_in(call, HC_CE_Z, i);
    *tangent = cap > 0 ? tanh(z / cap) : 0;
    return cap > 0 ? cap * *tangent : z;
}

/* The weight of a row's target, or 0 if it does not count; and what the loss is divided by. */
static double weight_of(const struct hc_call *call, enum defect defect, int64_t n)
{
    int64_t target = (int64_t)hc_in(call, HC_CE_TARGET, n);
    if (target == hc_defined_integer(call, HC_CE_IGNORE) && defect != IGNORED_KEPT)
        return 0;
    return defect == NO_WEIGHT || target < 0 ? 1 : hc_in(call, HC_CE_W, target);
}

static double divisor_of(const struct hc_call *call, enum defect defect)
{
    int64_t reduction = hc_defined_integer(call, HC_CE_REDUCTION);
    int64_t rows = call->in[HC_CE_Z].shape[0];
    double sum = 0;
    for (int64_t n = 0; n < rows; n++)
        sum += defect == WEIGHT_NOT_COUNTED ? weight_of(call, defect, n) > 0
                                            : weight_of(call, defect, n);
    if (reduction == HC_CE_MEAN && defect == IGNORED_COUNTED)
        return (double)rows;
    return reduction == HC_CE_MEAN  ? sum
           : reduction == HC_CE_SUM ? 1
                                    : hc_defined_real(call, HC_CE_TOTAL);
}

/* A row that counts, of weight w. */
static double loss_of(const struct hc_call *call, enum defect defect, int64_t n, double w,
                      double lse)
{
    int64_t classes = call->in[HC_CE_Z].shape[1];
    int64_t target = (int64_t)hc_in(call, HC_CE_TARGET, n);
    double smoothing = defect == NO_SMOOTHING ? 0 : hc_defined_real(call, HC_CE_SMOOTHING);
    double zeta = defect == NO_Z_LOSS ? 0 : hc_defined_real(call, HC_CE_ZETA);
    bool others = defect == SMOOTHED_OVER_OTHERS && classes > 1;
    double tangent;
    double sum = 0;
    double loss = w * (lse - capped(call, defect, n * classes + target, &tangent));
    for (int64_t c = 0; c < classes && smoothing > 0; c++)
        if (!others || c != target)
            sum +=
                hc_in(call, HC_CE_W, c) * (lse - capped(call, defect, n * classes + c, &tangent));
    loss = smoothing > 0 ? (1 - smoothing) * loss + smoothing * sum / (double)(classes - others)
                         : loss;
    return loss + zeta * (defect == Z_LOSS_HALF ? lse : lse * lse);
}

static void cross_entropy(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const int64_t *z = call->in[HC_CE_Z].shape;
    double loss = 0;
    double tangent;
    bool counts = false;
    for (int64_t n = 0; n < z[0]; n++) {
        double max = -(double)INFINITY;
        double sum = 0;
        double w = weight_of(call, defect, n);
        for (int64_t c = 0; c < z[1]; c++)
            max = fmax(max, capped(call, defect, n * z[1] + c, &tangent));
        for (int64_t c = 0; c < z[1] - (defect == LAST_LOST); c++)
            sum = add(defect == SUM_IN_BF16, sum,
                      exp(capped(call, defect, n * z[1] + c, &tangent) - max));
        double lse = max + log(sum);
        lse = defect == LSE_IN_BF16 ? hc_round(HC_BF16, lse) : lse;
        double one = w != 0 ? loss_of(call, defect, n, w, lse) : 0;
        counts = counts || w != 0;
        loss += one;
        hc_give(call, HC_CE_LSE, n, lse);
        hc_give(call, HC_CE_ROWS, n, one);
    }
    bool none = !counts && hc_defined_integer(call, HC_CE_EMPTY) == 1;
    hc_give(call, HC_CE_LOSS, 0, none ? 0 : loss / divisor_of(call, defect));
}

static void cross_entropy_backward(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const int64_t *z = call->in[HC_CE_Z].shape;
    double smoothing = defect == NO_SMOOTHING ? 0 : hc_defined_real(call, HC_CE_SMOOTHING);
    double zeta = defect == NO_Z_LOSS ? 0 : hc_defined_real(call, HC_CE_ZETA);
    double k = hc_in(call, HC_CE_BWD_DLOSS, 0) / divisor_of(call, defect);
    double weights = 0;
    for (int64_t c = 0; c < z[1]; c++)
        weights += hc_in(call, HC_CE_W, c) / (double)z[1];
    for (int64_t i = 0; i < z[0] * z[1]; i++) {
        double w = weight_of(call, defect, i / z[1]);
        double lse = hc_in(call, HC_CE_BWD_LSE, i / z[1]);
        double tangent;
        double p = exp(capped(call, defect, i, &tangent) - lse);
        p = defect == ROUNDED_FIRST ? hc_round(HC_BF16, p) : p;
        bool hot = i % z[1] == (int64_t)hc_in(call, HC_CE_TARGET, i / z[1]);
        double f = (1 - smoothing) * w + smoothing * weights +
                   (defect == Z_LOSS_HALF ? 1 : 2) * zeta * lse;
        double g = f * p - smoothing * hc_in(call, HC_CE_W, i % z[1]) / (double)z[1] -
                   (hot && defect != NO_ONE_HOT ? (1 - smoothing) * w : 0);
        double slope = defect == CAP_WITHOUT_SLOPE ? 1 : 1 - tangent * tangent;
        hc_give(call, HC_CE_BWD_DZ, i, w != 0 ? k * g * slope : 0);
    }
}

static void dropout(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    double p = hc_defined_real(call, HC_DROPOUT_P);
    double threshold = (double)hc_defined_integer(call, HC_DROPOUT_THRESHOLD);
    double scale = defect == NO_SCALE        ? 1
                   : defect == SCALE_IN_BF16 ? hc_round(HC_BF16, 1 / (1 - p))
                   : defect == SCALE_OF_BITS ? 256 / threshold
                                             : 1 / (1 - p);
    for (int64_t i = 0; i < call->in[HC_DROPOUT_X].shape[0]; i++) {
        double bits = hc_in(call, HC_DROPOUT_BITS, i);
        bool kept = bits < threshold || (defect == INCLUSIVE && bits == threshold);
        hc_give(call, HC_DROPOUT_Y, i,
                kept != (defect == INVERTED) ? hc_in(call, HC_DROPOUT_X, i) * scale : 0);
    }
}

/* As fp32 has the exponential, which overflows. */
static void merge(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const int64_t *a = call->in[HC_MERGE_A].shape;
    for (int64_t i = 0; i < a[0] * a[1]; i++) {
        double la = hc_in(call, HC_MERGE_LA, i);
        double lb = hc_in(call, HC_MERGE_LB, i);
        double max = defect == NO_SHIFT ? 0 : fmax(la, lb);
        bool dead = isinf(fmax(la, lb)) && fmax(la, lb) < 0 && defect != DEAD_NAN;
        double wa = hc_round(HC_FP32, exp(la - max));
        double wb = hc_round(HC_FP32, exp(lb - max));
        double sum = defect == NOT_NORMALISED ? 1 : wa + wb;
        double lse = (defect == LSE_WITHOUT_MAX ? 0 : max) + log(wa + wb);
        if (defect == SWAPPED)
            la = wa, wa = wb, wb = la;
        hc_give(call, HC_MERGE_LSE, i,
                dead                    ? -(double)INFINITY
                : defect == LSE_IN_BF16 ? hc_round(HC_BF16, lse)
                                        : lse);
        for (int64_t e = i * a[2]; e < (i + 1) * a[2]; e++)
            hc_give(call, HC_MERGE_Y, e,
                    dead ? 0
                         : (wa * hc_in(call, HC_MERGE_A, e) + wb * hc_in(call, HC_MERGE_B, e)) /
                               sum);
    }
}

static void merge_backward(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const int64_t *a = call->in[HC_MERGE_A].shape;
    for (int64_t i = 0; i < a[0] * a[1]; i++) {
        double lse = hc_in(call, HC_MERGE_BWD_LSE, i);
        bool dead = isinf(lse) && lse < 0 && defect != DEAD_NAN;
        double pa = dead ? 0 : exp(hc_in(call, HC_MERGE_LA, i) - lse);
        double pb = dead ? 0 : exp(hc_in(call, HC_MERGE_LB, i) - lse);
        double dlse = defect == NO_LSE_GRADIENT ? 0 : hc_in(call, HC_MERGE_BWD_DLSE, i);
        double sum = 0;
        for (int64_t e = i * a[2]; e < (i + 1) * a[2]; e++) {
            double dy = hc_in(call, HC_MERGE_BWD_DY, e);
            double apart = hc_in(call, HC_MERGE_A, e) - hc_in(call, HC_MERGE_B, e);
            sum = add(defect == SUM_IN_BF16, sum, dy * apart);
            hc_give(call, HC_MERGE_BWD_DA, e, defect == NO_WEIGHT ? dy : pa * dy);
            hc_give(call, HC_MERGE_BWD_DB, e, pb * dy);
        }
        sum *= defect == SAME_SIGN ? -1 : 1;
        hc_give(call, HC_MERGE_BWD_DLA, i, pa * ((defect == NO_SUM ? 1 : pb) * sum + dlse));
        hc_give(call, HC_MERGE_BWD_DLB, i, pb * (dlse - pa * sum * (defect == SAME_SIGN ? -1 : 1)));
    }
}

static double in_format(const struct hc_call *call, double x)
{
    return hc_round(call->in[HC_FIRST].format, x);
}

/* What the norm of a sum sees. */
static double sum_at(const struct hc_call *call, enum defect defect, int64_t i)
{
    int stored = call->op == HC_OP_add_rms_norm ? HC_ADD_STORED : HC_ADD_LN_STORED;
    double sum = hc_in(call, HC_ADD_X, i) + (defect == NO_RESIDUAL ? 0 : hc_in(call, HC_ADD_R, i));
    bool rounds = hc_defined_flag(call, stored) != (defect == SUM_NOT_STORED);
    return rounds ? in_format(call, sum) : sum;
}

static void sum_rms(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const int64_t *x = call->in[HC_ADD_X].shape;
    double eps = hc_defined_real(call, HC_ADD_EPS);
    double offset = defect == NO_OFFSET ? 0 : hc_defined_real(call, HC_ADD_OFFSET);
    bool cast = (hc_defined_integer(call, HC_ADD_CAST) == 1) != (defect == OTHER_CAST);
    for (int64_t t = 0; t < x[0]; t++) {
        double squares = 0;
        for (int64_t i = t * x[1]; i < (t + 1) * x[1]; i++)
            squares = add(defect == SUM_IN_BF16, squares, pow(sum_at(call, defect, i), 2));
        double mean = squares / (double)x[1];
        double root = defect == EPS_OUTSIDE ? sqrt(mean) + eps : sqrt(mean + eps);
        hc_give(call, HC_ADD_RSTD, t, 1 / root);
        for (int64_t i = t * x[1]; i < (t + 1) * x[1]; i++) {
            double y = sum_at(call, defect, i) / root;
            double w = defect == NO_WEIGHT ? 1 : offset + hc_in(call, HC_ADD_W, i % x[1]);
            hc_give(call, HC_ADD_Y, i, (cast ? in_format(call, y) : y) * w);
        }
    }
}

static void sum_rms_backward(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const int64_t *x = call->in[HC_ADD_BWD_S].shape;
    double offset = defect == NO_OFFSET ? 0 : hc_defined_real(call, HC_ADD_BWD_OFFSET);
    bool cast = (hc_defined_integer(call, HC_ADD_BWD_CAST) == 1) != (defect == OTHER_CAST);
    for (int64_t t = 0; t < x[0]; t++) {
        double r = hc_in(call, HC_ADD_BWD_RSTD, t);
        double sum = 0;
        for (int64_t i = t * x[1]; i < (t + 1) * x[1]; i++)
            sum += hc_in(call, HC_ADD_BWD_DY, i) * (offset + hc_in(call, HC_ADD_BWD_W, i % x[1])) *
                   hc_in(call, HC_ADD_BWD_S, i);
        double c = defect == NO_ROOT ? 0 : sum / (double)x[1] * r * r;
        for (int64_t i = t * x[1]; i < (t + 1) * x[1]; i++) {
            double g =
                hc_in(call, HC_ADD_BWD_DY, i) * (offset + hc_in(call, HC_ADD_BWD_W, i % x[1]));
            hc_give(call, HC_ADD_BWD_DX, i,
                    (defect == NO_RESIDUAL ? 0 : hc_in(call, HC_ADD_BWD_DS, i)) +
                        r * (g - hc_in(call, HC_ADD_BWD_S, i) * c));
        }
    }
    for (int64_t d = 0; d < x[1]; d++) {
        double sum = 0;
        for (int64_t i = d; i < x[0] * x[1]; i += x[1]) {
            double h = hc_in(call, HC_ADD_BWD_S, i) *
                       (defect == NO_RSTD ? 1 : hc_in(call, HC_ADD_BWD_RSTD, i / x[1]));
            sum = add(defect == SUM_IN_BF16, sum,
                      hc_in(call, HC_ADD_BWD_DY, i) * (cast ? in_format(call, h) : h));
        }
        hc_give(call, HC_ADD_BWD_DW, d, sum);
    }
}

static void sum_layer(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const int64_t *x = call->in[HC_ADD_X].shape;
    double eps = hc_defined_real(call, HC_ADD_EPS);
    for (int64_t t = 0; t < x[0]; t++) {
        double mean = 0;
        double squares = 0;
        for (int64_t i = t * x[1]; i < (t + 1) * x[1]; i++)
            mean = add(defect == SUM_IN_BF16, mean, sum_at(call, defect, i));
        mean /= (double)x[1];
        for (int64_t i = t * x[1]; i < (t + 1) * x[1]; i++)
            squares += pow(sum_at(call, defect, i) - mean, 2);
        double variance = squares / (double)(x[1] - (defect == OVER_LESS && x[1] > 1));
        double root = defect == EPS_OUTSIDE ? sqrt(variance) + eps : sqrt(variance + eps);
        hc_give(call, HC_ADD_MU, t, mean);
        hc_give(call, HC_ADD_LN_RSTD, t, 1 / root);
        for (int64_t i = t * x[1]; i < (t + 1) * x[1]; i++)
            hc_give(call, HC_ADD_Y, i,
                    (sum_at(call, defect, i) - mean) / root * hc_in(call, HC_ADD_W, i % x[1]) +
                        (defect == NO_BIAS ? 0 : hc_in(call, HC_ADD_B, i % x[1])));
    }
}

static void sum_layer_backward(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const int64_t *x = call->in[HC_ADD_BWD_S].shape;
    for (int64_t i = 0; i < x[0] * x[1]; i++) {
        double dx = hc_out(call, HC_ADD_BWD_DX, i);
        double ds = hc_in(call, HC_ADD_BWD_DS, i);
        double r = hc_in(call, HC_ADD_BWD_LN_RSTD, i / x[1]);
        double mean = 0;
        for (int64_t k = 0; k < x[1]; k++)
            mean += hc_in(call, HC_ADD_BWD_DY, i / x[1] * x[1] + k) * hc_in(call, HC_ADD_BWD_W, k) /
                    (double)x[1];
        if (defect == NO_RESIDUAL || defect == NO_SUM)
            hc_give(call, HC_ADD_BWD_DX, i, defect == NO_SUM ? dx + r * mean : dx - ds);
    }
    for (int64_t d = 0; d < x[1]; d++) {
        double dw = 0;
        double db = 0;
        for (int64_t i = d; i < x[0] * x[1]; i += x[1]) {
            double mu = defect == NO_ROOT ? 0 : hc_in(call, HC_ADD_BWD_MU, i / x[1]);
            dw += hc_in(call, HC_ADD_BWD_DY, i) * (hc_in(call, HC_ADD_BWD_S, i) - mu) *
                  hc_in(call, HC_ADD_BWD_LN_RSTD, i / x[1]);
            db = add(defect == SUM_IN_BF16, db, hc_in(call, HC_ADD_BWD_DY, i));
        }
        hc_give(call, HC_ADD_BWD_DW, d, dw);
        hc_give(call, HC_ADD_BWD_DB, d, db);
    }
}

/* A logit of a product, its softmax and its row's log-sum, without the last class of its sum. */
static double product(const struct hc_call *call, enum defect defect, int64_t n, int64_t c)
{
    int64_t depth = call->in[HC_LCE_X].shape[1];
    bool back = call->op == HC_OP_linear_cross_entropy_backward;
    bool stored = (back && hc_defined_flag(call, HC_LCE_STORED)) != (defect == OTHER_STORE);
    double z = 0;
    for (int64_t d = 0; d < depth; d++)
        z += hc_in(call, HC_LCE_X, n * depth + d) * hc_in(call, HC_LCE_W, c * depth + d);
    z = defect == LOGITS_IN_BF16 ? hc_round(HC_BF16, z) : z;
    return stored ? in_format(call, z) : z;
}

static double log_sum_of(const struct hc_call *call, enum defect defect, int64_t n)
{
    int64_t classes = call->in[HC_LCE_W].shape[0];
    double max = defect == NO_SHIFT ? 0 : -(double)INFINITY;
    double sum = 0;
    for (int64_t c = 0; c < classes && defect != NO_SHIFT; c++)
        max = fmax(max, product(call, defect, n, c));
    for (int64_t c = 0; c < classes - (defect == LAST_LOST && classes > 1); c++)
        sum = add(defect == SUM_IN_BF16, sum,
                  hc_round(HC_FP32, exp(product(call, defect, n, c) - max)));
    return max + log(sum);
}

static double counted_rows(const struct hc_call *call, enum defect defect)
{
    int64_t rows = call->in[HC_LCE_X].shape[0];
    int64_t kept = 0;
    for (int64_t n = 0; n < rows; n++)
        kept += defect == IGNORED_COUNTED ||
                (int64_t)hc_in(call, HC_LCE_TARGET, n) != hc_defined_integer(call, HC_LCE_IGNORE);
    return (double)kept;
}

static void linear_loss(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    double loss = 0;
    for (int64_t n = 0; n < call->in[HC_LCE_X].shape[0]; n++) {
        int64_t target = (int64_t)hc_in(call, HC_LCE_TARGET, n);
        if (target != hc_defined_integer(call, HC_LCE_IGNORE))
            loss += log_sum_of(call, defect, n) - product(call, defect, n, target);
    }
    hc_give(call, HC_LCE_LOSS, 0, loss / counted_rows(call, defect));
}

/* The gradient of a logit, before the loss's own. */
static double logit_gradient(const struct hc_call *call, enum defect defect, int64_t n, int64_t c,
                             double lse)
{
    int64_t target = (int64_t)hc_in(call, HC_LCE_TARGET, n);
    bool hot = c == target && defect != NO_ONE_HOT;
    double k = hc_in(call, HC_LCE_DLOSS, 0) / counted_rows(call, defect);
    double g = (exp(product(call, defect, n, c) - lse) - hot) * k;
    bool stored = hc_defined_flag(call, HC_LCE_STORED) != (defect == OTHER_STORE);
    if (target == hc_defined_integer(call, HC_LCE_IGNORE) && defect != IGNORED_KEPT)
        return 0;
    return stored ? in_format(call, g) : g;
}

static void linear_loss_backward(const struct hc_call *call, const struct hc_fault *row)
{
    enum defect defect = defect_of(row);
    const int64_t *x = call->in[HC_LCE_X].shape;
    int64_t classes = call->in[HC_LCE_W].shape[0];
    int64_t chunk = hc_defined_integer(call, HC_LCE_CHUNK);
    double *g = calloc((size_t)(x[0] * classes) + 1, sizeof *g);
    if (!g)
        exit(2); /* a fault runs in a process of its own */
    for (int64_t n = 0; n < x[0]; n++) {
        double lse = log_sum_of(call, defect, n);
        for (int64_t c = 0; c < classes; c++)
            g[n * classes + c] = logit_gradient(call, defect, n, c, lse);
        for (int64_t d = 0; d < x[1]; d++) {
            double dx = 0;
            for (int64_t c = 0; c < classes; c++)
                dx = add(defect == SUM_IN_BF16, dx,
                         g[n * classes + c] * hc_in(call, HC_LCE_W, c * x[1] + d));
            hc_give(call, HC_LCE_DX, n * x[1] + d, dx);
        }
    }
    for (int64_t i = 0; i < classes * x[1]; i++) {
        double all = 0;
        for (int64_t from = 0; from < x[0]; from += chunk) {
            int64_t past = from + chunk < x[0] ? from + chunk : x[0];
            double sum = 0;
            for (int64_t n = from; n < past - (defect == CHUNK_LOST && past - from > 1); n++)
                sum += g[n * classes + i / x[1]] * hc_in(call, HC_LCE_X, n * x[1] + i % x[1]);
            all = in_format(call, (defect == CHUNKS_NOT_ADDED ? 0 : all) + sum);
        }
        hc_give(call, HC_LCE_DW, i, all);
    }
    free(g);
}

static const struct hc_fault faults[] = {
#include "check/faults/options.def"
};

HC_FAULTS(options, faults);
