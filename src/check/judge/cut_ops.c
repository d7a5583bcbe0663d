/* The cuts by op. Each takes away what one element of the output does not read. */
#include <math.h>
#include <stdlib.h>

#include "check/judge/cut.h"
#include "num/stochastic.h"
#include "op/descriptor.h"

int64_t hc_cut_coordinate(const struct hc_cut *cut, int dimension)
{
    const struct hc_tensor *t = &cut->call.out[cut->out];
    int64_t inner = 1;
    for (int d = dimension + 1; d < t->rank; d++)
        inner *= t->shape[d];
    return cut->index / inner % t->shape[dimension];
}

bool hc_cut_only(struct hc_cut *cut, struct hc_tensor *t, int dimension, int64_t at)
{
    return !t->data || hc_cut_range(cut, t, dimension, at, 1);
}

/* Vectors: the same stretch of every tensor that has as many elements as the first input. */
static bool stretch(struct hc_cut *cut, int64_t from, int64_t n)
{
    struct hc_call *call = &cut->call;
    int64_t count = hc_tensor_count(&call->in[HC_FIRST]);
    bool good = true;
    for (int s = 0; s < hc_slot_count(call->op) && good; s++) {
        struct hc_tensor *t = hc_slot_tensor(call, s);
        if (!t->data || hc_slot(call->op, s)->size != HC_SIZE_FIRST)
            continue;
        *t = hc_tensor1(t->format, count, t->data);
        good = hc_cut_range(cut, t, 0, from, n);
    }
    return good;
}

/* Stochastic rounding knows an element by its place, and a call begins with a whole block. */
static bool one_element(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    int64_t from = cut->index;
    if (hc_descriptor(call->op)->out[cut->out].size != HC_SIZE_FIRST)
        return false;
    if (hc_optimizer_stochastic(call->op, &call->params) &&
        hc_optimizer_stochastic(call->op, &call->params)->on) {
        from -= from % HC_ROUND_BLOCK;
        struct hc_stochastic *s =
            call->op == HC_OP_sgd ? &call->params.sgd.stochastic : &call->params.adam.stochastic;
        s->first += from;
    }
    return stretch(cut, from, cut->index - from + 1);
}

/* Whether any gradient overflowed: one that did is enough, and any one if none did. */
static bool one_overflow(struct hc_cut *cut)
{
    const struct hc_tensor *x = &cut->call.in[HC_UNSCALE_X];
    int64_t n = hc_tensor_count(x);
    int64_t at = 0;
    while (at < n && isfinite(hc_tensor_get(x, at)))
        at++;
    return cut->call.op == HC_OP_unscale && cut->out == HC_UNSCALE_NEW_FOUND_INF && n > 0 &&
           stretch(cut, at < n ? at : 0, 1);
}

bool hc_cut_zeros(struct hc_cut *cut, struct hc_tensor *a, int a_dimension, struct hc_tensor *b,
                  int b_dimension)
{
    int64_t n = a->shape[a_dimension];
    int64_t products = hc_tensor_count(a) / (n ? n : 1);
    int64_t *entries = malloc((size_t)(n + 1) * sizeof *entries);
    cut->no_memory |= !entries;
    int64_t kept = 0;
    int64_t a_inner = a_dimension == a->rank - 1 ? 1 : products;
    int64_t b_inner = b_dimension == b->rank - 1 ? 1 : products;
    for (int64_t k = 0; entries && k < n; k++) {
        bool zero = true;
        for (int64_t i = 0; i < products && zero; i++) {
            int64_t at_a = i / a_inner * n * a_inner + k * a_inner + i % a_inner;
            int64_t at_b = i / b_inner * n * b_inner + k * b_inner + i % b_inner;
            zero = hc_tensor_get(a, at_a) * hc_tensor_get(b, at_b) == 0;
        }
        if (!zero)
            entries[kept++] = k;
    }
    if (entries && kept == 0)
        entries[kept++] = 0;
    bool good = entries && kept < n && hc_cut_pick(cut, a, a_dimension, entries, kept) &&
                (a == b || hc_cut_pick(cut, b, b_dimension, entries, kept));
    free(entries);
    return good;
}

static bool terms_of_reduction(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    struct hc_tensor *x = &call->in[HC_REDUCE_X];
    struct hc_tensor *y = call->op == HC_OP_dot ? &call->in[HC_DOT_Y] : x;
    *x = hc_tensor1(x->format, hc_tensor_count(x), x->data);
    *y = hc_tensor1(y->format, hc_tensor_count(y), y->data);
    return hc_cut_zeros(cut, x, 0, y, 0);
}

static bool one_row_and_column(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    const struct hc_gemm *p = &call->params.gemm;
    struct hc_tensor *c = &call->in[HC_GEMM_C];
    int64_t row = hc_cut_coordinate(cut, 0);
    int64_t column = hc_cut_coordinate(cut, 1);
    return hc_cut_only(cut, &call->in[HC_GEMM_A], p->transpose_a ? 1 : 0, row) &&
           hc_cut_only(cut, &call->in[HC_GEMM_B], p->transpose_b ? 0 : 1, column) &&
           (c->rank == 1 || hc_cut_only(cut, c, 0, row)) &&
           hc_cut_only(cut, c, c->rank == 1 ? 0 : 1, column) &&
           hc_cut_only(cut, &call->out[HC_GEMM_OUT], 0, row) &&
           hc_cut_only(cut, &call->out[HC_GEMM_OUT], 1, column);
}

static bool terms_of_gemm(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    const struct hc_gemm *p = &call->params.gemm;
    if (hc_tensor_count(&call->out[HC_GEMM_OUT]) != 1)
        return false;
    return hc_cut_zeros(cut, &call->in[HC_GEMM_A], p->transpose_a ? 0 : 1, &call->in[HC_GEMM_B],
                        p->transpose_b ? 1 : 0);
}

/* The element's row of codes of one factor, and the row of scales that it has. */
static bool one_row_of_codes(struct hc_cut *cut, int codes, int scales, int64_t row, int64_t rows)
{
    struct hc_call *call = &cut->call;
    return hc_cut_only(cut, &call->in[codes], 0, row) &&
           hc_cut_only(cut, &call->in[scales], 0, rows > 0 ? row / rows : 0);
}

static bool one_row_and_column_of_codes(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    const struct hc_gemm_q *p = &call->params.gemm_q;
    struct hc_tensor *c = &call->in[HC_GEMM_Q_C];
    int64_t row = hc_cut_coordinate(cut, 0);
    int64_t column = hc_cut_coordinate(cut, 1);
    return one_row_of_codes(cut, HC_GEMM_Q_A, HC_GEMM_Q_A_SCALES, row, p->a_rows) &&
           one_row_of_codes(cut, HC_GEMM_Q_B, HC_GEMM_Q_B_SCALES, column, p->b_rows) &&
           (!c->data || (hc_cut_only(cut, c, 0, row) && hc_cut_only(cut, c, 1, column))) &&
           hc_cut_only(cut, &call->out[HC_GEMM_Q_OUT], 0, row) &&
           hc_cut_only(cut, &call->out[HC_GEMM_Q_OUT], 1, column);
}

/* Batch norm: the channel, in all tensors that have channels. */
static bool one_channel(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    const struct hc_tensor *out = &call->out[cut->out];
    int64_t channel = hc_cut_coordinate(cut, out->rank - 1);
    bool good = true;
    for (int s = 0; s < hc_slot_count(call->op) && good; s++) {
        struct hc_tensor *t = hc_slot_tensor(call, s);
        bool has = hc_slot(call->op, s)->size != HC_SIZE_RULE;
        good = !has || hc_cut_only(cut, t, t->rank - 1, channel);
    }
    return good;
}

/* Batch norm over running statistics: one number of the channel. */
static bool one_number(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    struct hc_tensor *x = &call->in[HC_BN_X];
    struct hc_tensor *y = &call->out[HC_BN_Y];
    if (x->shape[x->rank - 1] != 1)
        return false;
    *x = hc_tensor2(x->format, hc_tensor_count(x), 1, x->data);
    *y = hc_tensor2(y->format, hc_tensor_count(y), 1, y->data);
    int64_t at = cut->index;
    return hc_cut_only(cut, x, 0, at) && hc_cut_only(cut, y, 0, at);
}

/* The gradient of a sum of losses: its row. With the mean, the number of rows is part of it. */
static bool one_example(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    int64_t row = hc_cut_coordinate(cut, 0);
    return call->params.xent.sum && hc_cut_only(cut, &call->in[HC_XENT_LOGITS], 0, row) &&
           hc_cut_only(cut, &call->in[HC_XENT_LABELS], 0, row) &&
           hc_cut_only(cut, &call->out[HC_XENT_DLOGITS], 0, row);
}

static bool one_window(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    bool backward = call->op == HC_OP_avg_pool_bwd;
    struct hc_tensor *x = backward ? &call->out[HC_POOL_BWD_DX] : &call->in[HC_POOL_X];
    struct hc_tensor *y = backward ? &call->in[HC_POOL_BWD_DY] : &call->out[HC_POOL_Y];
    int64_t window = call->params.pool.window;
    bool good = true;
    for (int d = 0; d < 4 && good; d++) {
        int64_t size = d == 1 || d == 2 ? window : 1;
        int64_t at = hc_cut_coordinate(cut, d);
        int64_t entry = backward ? at / size : at;
        good = hc_cut_range(cut, x, d, entry * size, size) && hc_cut_range(cut, y, d, entry, 1);
    }
    return good;
}

/* An average over ranks: the element of each. In a ring its order depends on its place. */
static bool one_of_each_rank(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    int64_t at = cut->index;
    return call->params.all_reduce.algorithm != HC_COLLECTIVE_RING &&
           hc_cut_only(cut, &call->in[HC_ALL_REDUCE_X], 1, at) &&
           hc_cut_only(cut, &call->out[HC_ALL_REDUCE_OUT], 0, at);
}

hc_cutter *const hc_cut_averages[] = {one_of_each_rank, NULL};
hc_cutter *const hc_cut_vectors[] = {one_element, one_overflow, NULL};
hc_cutter *const hc_cut_reductions[] = {terms_of_reduction, NULL};
hc_cutter *const hc_cut_gemm[] = {one_row_and_column, terms_of_gemm, NULL};
hc_cutter *const hc_cut_gemm_q[] = {one_row_and_column_of_codes, NULL};
hc_cutter *const hc_cut_pool[] = {one_window, NULL};
hc_cutter *const hc_cut_norm[] = {one_channel, NULL};
hc_cutter *const hc_cut_norm_inferred[] = {one_channel, one_number, NULL};
hc_cutter *const hc_cut_rows_of_loss[] = {one_example, NULL};
