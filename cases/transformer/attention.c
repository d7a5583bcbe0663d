/* Attention on inputs that show more than random ones: sums that every right order settles to the
   bit, scores that rise and fall, values whose roundings lean to one side, rows that see nothing or
   little, and keys that a row must not see. */
#include <math.h>

#include "case.h"
#include "op/later.h"
#include "op/params.h"

struct size {
    int64_t heads, rows, depth, keys, width;
};

static struct hc_tensor make(struct hc_check *check, enum hc_format format, int64_t a, int64_t b,
                             int64_t c)
{
    struct hc_tensor t = {.format = format, .rank = 3, .shape = {a, b, c}};
    return hc_check_tensor(check, t);
}

static struct hc_call forward(struct hc_check *check, enum hc_format format, struct size n,
                              bool causal)
{
    struct hc_call call = {.op = HC_OP_attention};
    call.in[HC_ATTENTION_Q] = make(check, format, n.heads, n.rows, n.depth);
    call.in[HC_ATTENTION_K] = make(check, format, n.heads, n.keys, n.depth);
    call.in[HC_ATTENTION_V] = make(check, format, n.heads, n.keys, n.width);
    call.out[HC_ATTENTION_Y] = make(check, format, n.heads, n.rows, n.width);
    call.out[HC_ATTENTION_LSE] = hc_check_tensor(check, hc_tensor2(HC_FP32, n.heads, n.rows, NULL));
    hc_params_usual(call.op, &call.params);
    (void)hc_param_read(call.op, &call.params, "causal", causal ? "true" : "false");
    return call;
}

static struct hc_call backward(struct hc_check *check, enum hc_format format, struct size n,
                               bool causal)
{
    struct hc_call call = {.op = HC_OP_attention_backward};
    call.in[HC_ATTENTION_BWD_Q] = make(check, format, n.heads, n.rows, n.depth);
    call.in[HC_ATTENTION_BWD_K] = make(check, format, n.heads, n.keys, n.depth);
    call.in[HC_ATTENTION_BWD_V] = make(check, format, n.heads, n.keys, n.width);
    call.in[HC_ATTENTION_BWD_O] = make(check, format, n.heads, n.rows, n.width);
    call.in[HC_ATTENTION_BWD_LSE] =
        hc_check_tensor(check, hc_tensor2(HC_FP32, n.heads, n.rows, NULL));
    call.in[HC_ATTENTION_BWD_DY] = make(check, format, n.heads, n.rows, n.width);
    call.out[HC_ATTENTION_BWD_DQ] = make(check, format, n.heads, n.rows, n.depth);
    call.out[HC_ATTENTION_BWD_DK] = make(check, format, n.heads, n.keys, n.depth);
    call.out[HC_ATTENTION_BWD_DV] = make(check, format, n.heads, n.keys, n.width);
    hc_params_usual(call.op, &call.params);
    (void)hc_param_read(call.op, &call.params, "causal", causal ? "true" : "false");
    return call;
}

static void fill_normal(struct hc_check *check, struct hc_tensor *t, uint64_t stream)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_tensor_set(t, i, hc_random_normal(hc_check_seed(check), stream, (uint64_t)i));
}

/* Integers from -2 to 2, but for 0. */
static void fill_integers(struct hc_check *check, struct hc_tensor *t, uint64_t stream)
{
    static const double few[] = {-2, -1, 1, 2};
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_tensor_set(t, i, few[hc_random(hc_check_seed(check), stream, (uint64_t)i) % 4]);
}

static const enum hc_format formats[] = {HC_FP32, HC_BF16, HC_FP16};

static void claim_settled(struct hc_check *check, const struct hc_tensor *got, const double *want,
                          const char *what)
{
    struct hc_comparisons all = {.what = what};
    for (int64_t i = 0; i < hc_tensor_count(got); i++) {
        double right = hc_round(got->format, want[i]);
        all.checked++;
        if (!(hc_tensor_get(got, i) == right))
            hc_comparisons_wrong(&all, "%s in %s, element %lld: want %.9g, got %.9g", what,
                                 hc_formats[got->format].name, (long long)i, right,
                                 hc_tensor_get(got, i));
    }
    hc_claim_comparisons(check, &all);
}

/* With q = 0 all weights are 1, and they add up to 512, a power of two. v are small integers, so
   that no sum is rounded in fp32, whatever its order is. */
static void settled(struct hc_check *check)
{
    enum { ROWS = 3, KEYS = 512, WIDTH = 5 };
    for (int f = 0; f < 3; f++) {
        struct hc_call call =
            forward(check, formats[f], (struct size){1, ROWS, 4, KEYS, WIDTH}, false);
        double want[ROWS * WIDTH] = {0};
        fill_normal(check, &call.in[HC_ATTENTION_K], 1);
        fill_integers(check, &call.in[HC_ATTENTION_V], 2);
        for (int64_t i = 0; i < KEYS * WIDTH; i++) { /* most are of one sign, and 4 is one more */
            double v = hc_tensor_get(&call.in[HC_ATTENTION_V], i);
            hc_tensor_set(&call.in[HC_ATTENTION_V], i, i % 3 ? 1 + fabs(v) : v);
        }
        for (int64_t i = 0; i < ROWS * WIDTH; i++)
            for (int64_t u = 0; u < KEYS; u++)
                want[i] += hc_tensor_get(&call.in[HC_ATTENTION_V], u * WIDTH + i % WIDTH) / KEYS;
        if (hc_do(check, &call) != HC_OK)
            return;
        claim_settled(check, &call.out[HC_ATTENTION_Y], want, "y");
        for (int64_t t = 0; t < ROWS; t++)
            (void)hc_claim_within(check, "lse", log(KEYS),
                                  hc_tensor_get(&call.out[HC_ATTENTION_LSE], t), 0x1p-20);
    }
}

/* Scores and log-sums of 0 make every weight 1; all else are integers, and the scale is 1/2. With
   q = 0 there are dq and dv, with k = 0 dk and dv. A column of dv and dk has 512 terms. */
static void settled_gradient(struct hc_check *check)
{
    enum { T = 512, U = 3, D = 4, E = 2 };
    double *dq = hc_check_memory(check, T * D * sizeof *dq);
    double dk[U * D];
    double dv[U * E];
    for (int f = 0; f < 6; f++) {
        struct hc_call call = backward(check, formats[f / 2], (struct size){1, T, D, U, E}, false);
        const struct hc_tensor *in = call.in;
        for (int i = 0; i < 6; i++)
            if (i != HC_ATTENTION_BWD_LSE && i != (f % 2 ? HC_ATTENTION_BWD_Q : HC_ATTENTION_BWD_K))
                fill_integers(check, &call.in[i], (uint64_t)i);
        memset(dq, 0, T * D * sizeof *dq);
        memset(dk, 0, sizeof dk);
        memset(dv, 0, sizeof dv);
        for (int t = 0; t < T; t++) {
            hc_tensor_set(&in[HC_ATTENTION_BWD_DY], t * E, 1 + t % 2); /* one of one sign */
            for (int u = 0; u < U; u++) {
                double ds = 0;
                for (int e = 0; e < E; e++) {
                    double dy = hc_tensor_get(&in[HC_ATTENTION_BWD_DY], t * E + e);
                    dv[u * E + e] += dy;
                    ds += dy * (hc_tensor_get(&in[HC_ATTENTION_BWD_V], u * E + e) -
                                hc_tensor_get(&in[HC_ATTENTION_BWD_O], t * E + e));
                }
                for (int d = 0; d < D; d++) {
                    dq[t * D + d] += ds / 2 * hc_tensor_get(&in[HC_ATTENTION_BWD_K], u * D + d);
                    dk[u * D + d] += ds / 2 * hc_tensor_get(&in[HC_ATTENTION_BWD_Q], t * D + d);
                }
            }
        }
        if (hc_do(check, &call) != HC_OK)
            return;
        claim_settled(check, &call.out[HC_ATTENTION_BWD_DQ], dq, "dq");
        claim_settled(check, &call.out[HC_ATTENTION_BWD_DK], dk, "dk");
        claim_settled(check, &call.out[HC_ATTENTION_BWD_DV], dv, "dv");
    }
}

/* Rising scores, so that the maximum rises in every tile, and falling ones, so that none does. */
static void steep(struct hc_check *check)
{
    enum { KEYS = 300 };
    for (int way = 0; way < 2; way++) {
        struct hc_call call = forward(check, HC_FP32, (struct size){1, 2, 1, KEYS, 3}, false);
        for (int i = 0; i < 2; i++)
            hc_tensor_set(&call.in[HC_ATTENTION_Q], i, 1 + 0.5 * i);
        for (int u = 0; u < KEYS; u++)
            hc_tensor_set(&call.in[HC_ATTENTION_K], u, (way ? KEYS - u : u) / 16.0);
        fill_normal(check, &call.in[HC_ATTENTION_V], 1);
        (void)hc_claim_call(check, &call);
    }
}

/* Two keys share the largest score, and values are bf16 numbers of one sign in [2, 4): their sum
   ends on a tie of bf16 in each second place, and the small rest of the row always breaks it the
   same way. Whoever rounds the sum to bf16 on the way leans: by 0.18 of an ulp in the mean (arXiv
   2510.04212). A right result is rounded once, by anything within half an ulp. */
static void ties(struct hc_check *check)
{
    enum { HEADS = 64, KEYS = 12, WIDTH = 64, COUNT = HEADS * WIDTH };
    struct hc_call call = forward(check, HC_BF16, (struct size){HEADS, 1, 1, KEYS, WIDTH}, false);
    struct hc_tensor *v = &call.in[HC_ATTENTION_V];
    double mean = 0;
    for (int h = 0; h < HEADS; h++)
        hc_tensor_set(&call.in[HC_ATTENTION_Q], h, 4);
    for (int u = 0; u < HEADS * KEYS; u++)
        hc_tensor_set(&call.in[HC_ATTENTION_K], u, u % KEYS < 2 ? 0 : -1 - u % KEYS / 8.0);
    for (int64_t i = 0; i < hc_tensor_count(v); i++)
        hc_tensor_set(v, i, -2 - 2 * hc_random_uniform(hc_check_seed(check), 3, (uint64_t)i));
    if (hc_do(check, &call) != HC_OK)
        return;
    for (int64_t i = 0; i < COUNT; i++) {
        double sum = 0;
        double want = 0;
        for (int u = 0; u < KEYS; u++) {
            double p = exp(4 * hc_tensor_get(&call.in[HC_ATTENTION_K], u));
            sum += p;
            want += p * hc_tensor_get(v, (i / WIDTH * KEYS + u) * WIDTH + i % WIDTH);
        }
        want /= sum;
        mean +=
            (hc_tensor_get(&call.out[HC_ATTENTION_Y], i) - want) / hc_ulp(HC_BF16, want) / COUNT;
    }
    (void)hc_claim_within(check, "the mean error in ulp of bf16", 0, mean, 4 / sqrt(12.0 * COUNT));
}

/* Five rows and two keys: the first three rows see none. */
static void dead(struct hc_check *check)
{
    enum { ROWS = 5, KEYS = 2, DEPTH = 3 };
    struct size n = {1, ROWS, DEPTH, KEYS, DEPTH};
    for (int f = 0; f < 3; f++) {
        struct hc_call call = forward(check, formats[f], n, true);
        struct hc_call back = backward(check, formats[f], n, true);
        for (int i = 0; i < 3; i++) {
            fill_normal(check, &call.in[i], (uint64_t)i);
            back.in[i] = call.in[i];
        }
        if (hc_claim_call_met(check, &call) != HC_OK)
            return;
        back.in[HC_ATTENTION_BWD_O] = call.out[HC_ATTENTION_Y];
        back.in[HC_ATTENTION_BWD_LSE] = call.out[HC_ATTENTION_LSE];
        fill_normal(check, &back.in[HC_ATTENTION_BWD_DY], 5);
        if (hc_claim_call_met(check, &back) != HC_OK)
            return;
        for (int64_t i = 0; i < (ROWS - KEYS) * DEPTH; i++) {
            (void)hc_claim_true(check, "y is 0 in a row that sees no key",
                                hc_tensor_get(&call.out[HC_ATTENTION_Y], i) == 0);
            (void)hc_claim_true(check, "dq is 0 there",
                                hc_tensor_get(&back.out[HC_ATTENTION_BWD_DQ], i) == 0);
        }
        for (int64_t i = 0; i < ROWS - KEYS; i++)
            (void)hc_claim_value(check, "lse of such a row", -(double)INFINITY,
                                 hc_tensor_get(&call.out[HC_ATTENTION_LSE], i));
        for (int64_t i = 0; i < KEYS * DEPTH; i++)
            (void)hc_claim_true(check, "no gradient of k and v is NaN",
                                isfinite(hc_tensor_get(&back.out[HC_ATTENTION_BWD_DK], i)) &&
                                    isfinite(hc_tensor_get(&back.out[HC_ATTENTION_BWD_DV], i)));
    }
}

/* Two heads share one of keys. A window of the two keys before a row leaves the first row without
   any, and the sink of the first head is none. */
static void dead_window(struct hc_check *check)
{
    enum { HEADS = 2, ROWS = 5, DEPTH = 3 };
    struct hc_tensor per_head = hc_check_vector(check, HC_FP32, HEADS);
    struct hc_tensor lse = hc_check_tensor(check, hc_tensor2(HC_FP32, HEADS, ROWS, NULL));
    struct hc_tensor q = make(check, HC_FP32, HEADS, ROWS, DEPTH);
    struct hc_tensor k = make(check, HC_FP32, 1, ROWS, DEPTH);
    struct hc_tensor v = make(check, HC_FP32, 1, ROWS, DEPTH);
    struct hc_tensor y = make(check, HC_FP32, HEADS, ROWS, DEPTH);
    struct hc_tensor dy = make(check, HC_FP32, HEADS, ROWS, DEPTH);
    struct hc_call call = {
        .op = HC_OP_attention_general, .in = {q, k, v, per_head}, .out = {y, lse}};
    struct hc_call back = {
        .op = HC_OP_attention_general_backward,
        .in = {q, k, v, per_head, y, lse, dy},
        .out = {make(check, HC_FP32, HEADS, ROWS, DEPTH), make(check, HC_FP32, 1, ROWS, DEPTH),
                make(check, HC_FP32, 1, ROWS, DEPTH), hc_check_vector(check, HC_FP32, HEADS)}};
    struct hc_tensor *const drawn[] = {&q, &k, &v, &dy};
    for (int i = 0; i < 4; i++)
        fill_normal(check, drawn[i], (uint64_t)i);
    hc_tensor_set(&per_head, 0, -(double)INFINITY);
    hc_tensor_set(&per_head, 1, 0.5);
    hc_params_usual(call.op, &call.params);
    (void)hc_param_read(call.op, &call.params, "top_left", "true");
    (void)hc_param_read(call.op, &call.params, "before", "2");
    (void)hc_param_read(call.op, &call.params, "after", "-1");
    back.params = call.params;
    if (hc_claim_call_met(check, &call) != HC_OK || hc_claim_call_met(check, &back) != HC_OK)
        return;
    for (int64_t i = 0; i < HEADS * DEPTH; i++) {
        int64_t at = i / DEPTH * ROWS * DEPTH + i % DEPTH;
        (void)hc_claim_true(check, "y is 0 in a row that sees no key", hc_tensor_get(&y, at) == 0);
        (void)hc_claim_true(check, "dq is 0 there",
                            hc_tensor_get(&back.out[HC_ATTENTION_BWD_DQ], at) == 0);
    }
    (void)hc_claim_value(check, "lse of such a row without a sink", -(double)INFINITY,
                         hc_tensor_get(&lse, 0));
    (void)hc_claim_value(check, "lse of such a row is its sink", 0.5, hc_tensor_get(&lse, ROWS));
    (void)hc_claim_true(check, "the gradient of no sink is 0",
                        hc_tensor_get(&back.out[HC_ATTENTION_BWD_DSINK], 0) == 0);
}

static void nothing(struct hc_check *check)
{
    struct hc_call call = backward(check, HC_FP32, (struct size){2, 0, 3, 4, 2}, true);
    fill_normal(check, &call.in[HC_ATTENTION_BWD_K], 1);
    memset(call.out[HC_ATTENTION_BWD_DK].data, 0xa5,
           hc_tensor_bytes(&call.out[HC_ATTENTION_BWD_DK]));
    memset(call.out[HC_ATTENTION_BWD_DV].data, 0xa5,
           hc_tensor_bytes(&call.out[HC_ATTENTION_BWD_DV]));
    if (hc_do(check, &call) != HC_OK)
        return;
    for (int64_t i = 0; i < 2 * 4 * 3; i++)
        (void)hc_claim_true(check, "dk is 0",
                            hc_tensor_get(&call.out[HC_ATTENTION_BWD_DK], i) == 0);
    for (int64_t i = 0; i < 2 * 4 * 2; i++)
        (void)hc_claim_true(check, "dv is 0",
                            hc_tensor_get(&call.out[HC_ATTENTION_BWD_DV], i) == 0);
}

/* The last key is infinite, and its value NaN. Row 0 sees key 0 alone, and is its value. */
static void unseen(struct hc_check *check)
{
    enum { T = 37, D = 6 };
    for (int f = 0; f < 3; f++) {
        struct hc_call call = forward(check, formats[f], (struct size){1, T, D, T, D}, true);
        for (int i = 0; i < 3; i++)
            fill_normal(check, &call.in[i], (uint64_t)i);
        for (int64_t d = 0; d < D; d++) {
            hc_tensor_set(&call.in[HC_ATTENTION_K], (T - 1) * D + d, (double)INFINITY);
            hc_tensor_set(&call.in[HC_ATTENTION_V], (T - 1) * D + d, (double)NAN);
        }
        if (hc_claim_call(check, &call) != HC_OK)
            return;
        for (int64_t i = 0; i < T * D; i++)
            (void)hc_claim_true(check, "y is finite in all rows but the last",
                                isfinite(hc_tensor_get(&call.out[HC_ATTENTION_Y], i)) ==
                                    (i < (T - 1) * D));
        for (int64_t d = 0; d < D; d++)
            (void)hc_claim_value(check, "y of the first row",
                                 hc_tensor_get(&call.in[HC_ATTENTION_V], d),
                                 hc_tensor_get(&call.out[HC_ATTENTION_Y], d));
    }
}

/* So many keys that sums kept in bf16 leave the bound. What the forward pass gives goes into its
   gradient. */
static void long_rows(struct hc_check *check)
{
    struct size n = {1, 512, 4, 512, 3};
    struct hc_call call = forward(check, HC_BF16, n, true);
    struct hc_call back = backward(check, HC_BF16, n, true);
    for (int i = 0; i < 3; i++) {
        fill_normal(check, &call.in[i], (uint64_t)i);
        back.in[i] = call.in[i];
    }
    if (hc_claim_call(check, &call) != HC_OK)
        return;
    back.in[HC_ATTENTION_BWD_O] = call.out[HC_ATTENTION_Y];
    back.in[HC_ATTENTION_BWD_LSE] = call.out[HC_ATTENTION_LSE];
    fill_normal(check, &back.in[HC_ATTENTION_BWD_DY], 5);
    (void)hc_claim_call(check, &back);
}

/* What one row of a table is given 600 times adds up to more than bf16 can count. */
static void counted(struct hc_check *check)
{
    enum { ROWS = 600, TABLE = 3 };
    for (int f = 0; f < 3; f++) {
        struct hc_call call = {.op = HC_OP_embedding_backward};
        double want[2 * TABLE] = {0, 0, ROWS, -3 * ROWS, 0, 0};
        call.in[HC_EMBEDDING_BWD_DY] =
            hc_check_tensor(check, hc_tensor2(formats[f], ROWS, 2, NULL));
        call.in[HC_EMBEDDING_BWD_ID] = hc_check_vector(check, HC_I32, ROWS);
        call.out[HC_EMBEDDING_BWD_DW] =
            hc_check_tensor(check, hc_tensor2(formats[f], TABLE, 2, NULL));
        hc_params_usual(call.op, &call.params);
        for (int64_t i = 0; i < ROWS; i++) {
            hc_tensor_set(&call.in[HC_EMBEDDING_BWD_DY], 2 * i, 1);
            hc_tensor_set(&call.in[HC_EMBEDDING_BWD_DY], 2 * i + 1, -3);
            hc_tensor_set(&call.in[HC_EMBEDDING_BWD_ID], i, 1);
        }
        if (hc_do(check, &call) != HC_OK)
            return;
        claim_settled(check, &call.out[HC_EMBEDDING_BWD_DW], want, "dw");
    }
}

#define SPECIFIED "flash-attention 2, arXiv 2307.08691; definitions/attention.op"

static const struct hc_case cases[] = {
    {"transformer/attention-settled",
     "equal scores of 512 keys and small integers leave one result, whatever the order is",
     SPECIFIED, .level = HC_STANDARD, .run = settled},
    {"transformer/attention-gradient-settled",
     "weights of 1 and small integers leave one gradient, whatever the order is",
     "pytorch aten/src/ATen/native/cpu/FlashAttentionKernel.cpp, which gathers dk and dv in bf16 "
     "over blocks of rows",
     .level = HC_STANDARD, .run = settled_gradient},
    {"transformer/attention-steep", "scores may rise in every tile, or fall in all of them",
     SPECIFIED, .level = HC_STANDARD, .run = steep},
    {"transformer/attention-ties",
     "errors of results in bf16 do not lean to one side, where sums end on ties",
     "arXiv 2510.04212, 'Why Low-Precision Transformer Training Fails'", .level = HC_STANDARD,
     .run = ties},
    {"transformer/attention-dead-rows",
     "a row that sees no key is 0, its log-sum -infinity, and no gradient is NaN",
     "Dao-AILab/flash-attention issue 334; flash-attention's README on bottom-right masks",
     .level = HC_STANDARD, .run = dead},
    {"transformer/attention-dead-windows",
     "a row whose window has no key is 0, with a sink and without, and no gradient is NaN",
     "contract in definitions/attention_general.op", .level = HC_STANDARD, .run = dead_window},
    {"transformer/attention-gradient-of-nothing",
     "without rows the gradients of keys and values are zeros, and are written",
     "contract in definitions/attention_backward.op", .level = HC_STANDARD, .run = nothing},
    {"transformer/attention-unseen-keys",
     "what a row does not see does not reach it, though it is infinite or NaN",
     "contract in definitions/attention.op", .level = HC_STANDARD, .run = unseen},
    {"transformer/attention-long",
     "attention over 512 keys and its gradient, of what the forward pass gave, in bf16", SPECIFIED,
     .level = HC_EXHAUSTIVE, .run = long_rows},
    {"transformer/embedding-gradient-counts",
     "what one row of a table is given 600 times adds up in fp32",
     "tenstorrent/tt-metal issue 53386; PyTorch's embedding_dense_backward on a CPU",
     .level = HC_STANDARD, .run = counted},
};

HC_CASES(transformer_attention, cases);
