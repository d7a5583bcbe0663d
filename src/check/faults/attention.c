/* Wrong kernels of attention_general and its gradient. Most of them are right kernels of another
   call: a key more, no cap, no sink. They compute in fp64, so that nothing but the defect is
   wrong. */
#include "op/attention.h"

#include <math.h>
#include <stdlib.h>

#include "check/selftest/change.h"
#include "num/format.h"

enum defect {
    ONE_MORE_BEFORE,
    ONE_LESS_BEFORE,
    NOTHING_AFTER,
    BOTTOM_RIGHT,
    NO_CAP,
    CAP_OF_PRODUCTS, /* before the scale */
    NO_CAP_SLOPE,
    NO_SINK,
    SINK_NOT_IN_LSE,
    SINK_HAS_VALUE,
    HEADS_BY_TURNS,
    LAST_HEAD_ALONE,
    STORED_ANYWAY,
    E4M3_OF_ONE,
    E4M3_IN_THE_SUM,
    SINK_GRADIENT_UP,
    SINK_GRADIENT_OF_ONE_ROW,
    NO_SINK_IS_A_NUMBER,
    DEAD_NAN
};

struct subject {
    const struct hc_call *call;
    struct hc_attention a;
    enum defect defect;
    bool back;
};

static struct subject subject_of(const struct hc_call *call, const struct hc_fault *row)
{
    struct subject s = {call, hc_attention_of(call), (enum defect)(int)row->number,
                        call->op == HC_OP_attention_general_backward};
    s.a.before += (s.defect == ONE_MORE_BEFORE) - (s.defect == ONE_LESS_BEFORE);
    s.a.after = s.defect == NOTHING_AFTER ? 0 : s.a.after;
    s.a.diagonal = s.defect == BOTTOM_RIGHT ? s.a.keys - s.a.rows : s.a.diagonal;
    s.a.cap = s.defect == NO_CAP ? 0 : s.a.cap;
    if (s.defect == STORED_ANYWAY)
        s.a.weights = HC_WEIGHTS_STORED;
    return s;
}

static int64_t key_head(const struct subject *s, int64_t head)
{
    return s->defect == HEADS_BY_TURNS ? head % s->a.key_heads : head / s->a.sharing;
}

static double sink_of(const struct subject *s, int64_t head)
{
    return s->defect == NO_SINK ? -(double)INFINITY : hc_tensor_get(s->a.sink, head);
}

/* The score of a row and a key, and what its gradient is multiplied with. */
static double score(const struct subject *s, int64_t row, int64_t key, double *slope)
{
    const struct hc_attention *a = &s->a;
    double cap = s->defect == CAP_OF_PRODUCTS ? a->cap / a->scale : a->cap;
    double sum = 0;
    for (int64_t d = 0; d < a->depth; d++)
        sum += hc_in(s->call, HC_ATTENTION_Q, row * a->depth + d) *
               hc_in(s->call, HC_ATTENTION_K, key * a->depth + d);
    sum *= a->scale;
    double tangent = a->cap > 0 ? tanh(sum / cap) : 0;
    *slope = s->defect == NO_CAP_SLOPE ? 1 : 1 - tangent * tangent;
    return a->cap > 0 ? cap * tangent : sum;
}

static double stored(const struct subject *s, double p)
{
    double times = s->defect == E4M3_OF_ONE ? 1 : 256;
    if (s->a.weights == HC_WEIGHTS_AS_THEY_ARE)
        return p;
    if (s->a.weights == HC_WEIGHTS_E4M3 && !s->back)
        return hc_round(HC_E4M3, times * p) / times;
    return hc_round(s->call->in[HC_ATTENTION_Q].format, p);
}

static void forward_row(const struct subject *s, int64_t row, double *y)
{
    const struct hc_attention *a = &s->a;
    int64_t head = row / a->rows;
    int64_t start = hc_attention_first(a, row % a->rows);
    int64_t past = hc_attention_past(a, row % a->rows);
    int64_t first = key_head(s, head) * a->keys;
    double sink = sink_of(s, head);
    double slope;
    double max = sink;
    double sum = 0;
    for (int64_t u = start; u < past; u++)
        max = fmax(max, score(s, row, first + u, &slope));
    for (int64_t e = 0; e < a->width; e++)
        y[e] = s->defect == SINK_HAS_VALUE ? exp(sink - max) : 0;
    for (int64_t u = start; u < past; u++) {
        double p = exp(score(s, row, first + u, &slope) - max);
        sum += s->defect == E4M3_IN_THE_SUM ? stored(s, p) : p;
        for (int64_t e = 0; e < a->width; e++)
            y[e] += stored(s, p) * hc_in(s->call, HC_ATTENTION_V, (first + u) * a->width + e);
    }
    double rest =
        sink > -(double)INFINITY || s->defect == NO_SINK_IS_A_NUMBER ? exp(sink - max) : 0;
    for (int64_t e = 0; e < a->width; e++)
        hc_give(s->call, HC_ATTENTION_Y, row * a->width + e,
                past > start || s->defect == DEAD_NAN ? y[e] / (sum + rest) : 0);
    hc_give(s->call, HC_ATTENTION_LSE, row,
            max + log(s->defect == SINK_NOT_IN_LSE ? sum : sum + rest));
}

/* Memory that ends the program where there is none. */
static double *numbers(int64_t n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    if (!x)
        exit(2);
    return x;
}

static void forward(const struct hc_call *call, const struct hc_fault *row)
{
    const struct subject s = subject_of(call, row);
    double *y = numbers(s.a.width);
    for (int64_t i = 0; i < s.a.heads * s.a.rows; i++)
        forward_row(&s, i, y);
    free(y);
}

/* What a row and a key of one head give: to dq, and to dk and dv of the key's head. */
static void pair(const struct subject *s, int64_t row, int64_t key, double along, double *dq,
                 double *dk, double *dv)
{
    const struct hc_attention *a = &s->a;
    double slope;
    double p = exp(score(s, row, key, &slope) - hc_tensor_get(a->lse, row));
    double dp = 0;
    for (int64_t e = 0; e < a->width; e++)
        dp += hc_tensor_get(a->dy, row * a->width + e) *
              hc_in(s->call, HC_ATTENTION_BWD_V, key * a->width + e);
    double ds = stored(s, p * (dp - along) * slope);
    for (int64_t d = 0; d < a->depth; d++) {
        dq[row * a->depth + d] += ds * hc_in(s->call, HC_ATTENTION_BWD_K, key * a->depth + d);
        dk[key * a->depth + d] += ds * hc_in(s->call, HC_ATTENTION_BWD_Q, row * a->depth + d);
    }
    for (int64_t e = 0; e < a->width; e++)
        dv[key * a->width + e] += stored(s, p) * hc_tensor_get(a->dy, row * a->width + e);
}

static void backward_row(const struct subject *s, int64_t row, double *dq, double *dk, double *dv,
                         double *dsink)
{
    const struct hc_attention *a = &s->a;
    int64_t head = row / a->rows;
    int64_t first = key_head(s, head) * a->keys;
    double along = 0;
    for (int64_t e = 0; e < a->width; e++)
        along += hc_tensor_get(a->dy, row * a->width + e) * hc_tensor_get(a->o, row * a->width + e);
    for (int64_t u = hc_attention_first(a, row % a->rows); u < hc_attention_past(a, row % a->rows);
         u++)
        pair(s, row, first + u, along, dq, dk, dv);
    bool counts = s->defect != SINK_GRADIENT_OF_ONE_ROW || row % a->rows == 0;
    if (counts && (sink_of(s, head) > -(double)INFINITY || s->defect == NO_SINK_IS_A_NUMBER))
        dsink[head] -= exp(sink_of(s, head) - hc_tensor_get(a->lse, row)) * along;
}

static void give_all(const struct hc_call *call, int slot, const double *x, double factor)
{
    for (int64_t i = 0; i < hc_tensor_count(&call->out[slot]); i++)
        hc_give(call, slot, i, factor * x[i]);
}

static void backward(const struct hc_call *call, const struct hc_fault *row)
{
    const struct subject s = subject_of(call, row);
    const struct hc_attention *a = &s.a;
    double *dq = numbers(a->heads * a->rows * a->depth);
    double *dk = numbers(a->key_heads * a->keys * a->depth);
    double *dv = numbers(a->key_heads * a->keys * a->width);
    double *dsink = numbers(a->heads);
    for (int64_t i = 0; i < a->heads * a->rows; i++) {
        int64_t head = i / a->rows;
        int64_t first = key_head(&s, head) * a->keys;
        backward_row(&s, i, dq, dk, dv, dsink);
        bool lost = s.defect == LAST_HEAD_ALONE && (i + 1) % a->rows == 0 &&
                    head % a->sharing < a->sharing - 1;
        for (int64_t k = 0; lost && k < a->keys * a->depth; k++)
            dk[first * a->depth + k] = 0;
    }
    give_all(call, HC_ATTENTION_BWD_DQ, dq, a->scale);
    give_all(call, HC_ATTENTION_BWD_DK, dk, a->scale);
    give_all(call, HC_ATTENTION_BWD_DV, dv, 1);
    give_all(call, HC_ATTENTION_BWD_DSINK, dsink, s.defect == SINK_GRADIENT_UP ? -1 : 1);
    free(dq);
    free(dk);
    free(dv);
    free(dsink);
}

static const struct hc_fault faults[] = {
#include "check/faults/attention.def"
};

HC_FAULTS(attention, faults);
