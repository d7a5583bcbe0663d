/* What a call of attention or attention_general says, forward or backward: which keys a row sees,
   which heads share keys, how a score and a weight are made, and where operands of the backward
   pass stand. attention has the usual value of each option of attention_general. */
#ifndef HC_OP_ATTENTION_H
#define HC_OP_ATTENTION_H

#include "op/defined.h"

/* How weights are stored before a product: in the format of q, not at all, or 256 of them in e4m3,
   which the gradient does not know. */
enum hc_attention_weights {
    HC_WEIGHTS_STORED,
    HC_WEIGHTS_AS_THEY_ARE,
    HC_WEIGHTS_E4M3,
    HC_WEIGHTS_COUNT
};

/* The options of attention_general, in order. */
enum {
    HC_ATTENTION_SCALE,
    HC_ATTENTION_CAUSAL,
    HC_ATTENTION_TOP_LEFT,
    HC_ATTENTION_BEFORE,
    HC_ATTENTION_AFTER,
    HC_ATTENTION_CAP,
    HC_ATTENTION_WEIGHTS
};

/* The bytes that an option of the call has. */
static inline unsigned char *hc_attention_option(struct hc_call *call, int option)
{
    return call->params.later + (size_t)option * sizeof(double);
}

struct hc_attention {
    int64_t heads, rows, depth; /* of q */
    int64_t key_heads, keys, width;
    int64_t sharing; /* so many heads of q have one of k and v */
    double scale;
    double cap; /* 0: none */
    bool causal;
    int64_t diagonal; /* row t is at the place of key t + diagonal */
    int64_t before;
    int64_t after;
    enum hc_attention_weights weights;
    const struct hc_tensor *sink; /* NULL: none */
    const struct hc_tensor *o;    /* of the backward pass, as lse and dy */
    const struct hc_tensor *lse;
    const struct hc_tensor *dy;
};

static inline bool hc_attention_is_general(enum hc_op op)
{
    return op == HC_OP_attention_general || op == HC_OP_attention_general_backward;
}

/* No axis has more places than 2^24: what lies beyond all keys is as far as this. */
static inline int64_t hc_attention_places(int64_t n)
{
    const int64_t most = INT64_C(1) << 25;
    return n > most ? most : n < -most ? -most : n;
}

static inline struct hc_attention hc_attention_of(const struct hc_call *call)
{
    const int64_t *q = call->in[HC_ATTENTION_Q].shape;
    const int64_t *v = call->in[HC_ATTENTION_V].shape;
    bool general = hc_attention_is_general(call->op);
    struct hc_attention a;
    memset(&a, 0, sizeof a);
    a.heads = q[0];
    a.rows = q[1];
    a.depth = q[2];
    a.key_heads = v[0];
    a.keys = v[1];
    a.width = v[2];
    a.sharing = v[0] ? q[0] / v[0] : 1;
    a.scale = hc_attention_scale(call);
    a.causal = hc_defined_flag(call, HC_ATTENTION_CAUSAL);
    a.diagonal = a.keys - a.rows;
    a.before = hc_attention_places(INT64_MAX);
    a.o = &call->in[HC_ATTENTION_BWD_O + general];
    a.lse = &call->in[HC_ATTENTION_BWD_LSE + general];
    a.dy = &call->in[HC_ATTENTION_BWD_DY + general];
    if (!general)
        return a;
    a.diagonal = hc_defined_flag(call, HC_ATTENTION_TOP_LEFT) ? 0 : a.diagonal;
    a.before = hc_attention_places(hc_defined_integer(call, HC_ATTENTION_BEFORE));
    a.after = hc_attention_places(hc_defined_integer(call, HC_ATTENTION_AFTER));
    a.cap = hc_defined_real(call, HC_ATTENTION_CAP);
    a.weights = (enum hc_attention_weights)hc_defined_integer(call, HC_ATTENTION_WEIGHTS);
    a.sink = &call->in[HC_ATTENTION_SINK];
    return a;
}

HC_INLINE int64_t hc_attention_within(int64_t at, int64_t n)
{
    return at < 0 ? 0 : at < n ? at : n;
}

/* Row t sees the keys from the first one up to the one before the past one. */
HC_INLINE int64_t hc_attention_first(const struct hc_attention *a, int64_t t)
{
    return a->causal ? hc_attention_within(t + a->diagonal - a->before, a->keys) : 0;
}

HC_INLINE int64_t hc_attention_past(const struct hc_attention *a, int64_t t)
{
    int64_t past = a->causal ? t + a->diagonal + a->after + 1 : a->keys;
    int64_t first = hc_attention_first(a, t);
    past = hc_attention_within(past, a->keys);
    return past < first ? first : past;
}

#endif
