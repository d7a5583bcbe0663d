#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/judge/cut.h"
#include "check/family/family.h"
#include "check/subnormals.h"
#include "num/stochastic.h"
#include "op/descriptor.h"

struct hc_cut_blocks {
    struct hc_cut_blocks *before;
    void *block;
};

static void *new_block(struct hc_cut *cut, size_t bytes)
{
    struct hc_cut_blocks *owner = malloc(sizeof *owner);
    void *block = owner ? aligned_alloc(64, (bytes + 64) / 64 * 64) : NULL;
    if (!block) {
        cut->no_memory = true;
        free(owner);
        return NULL;
    }
    *owner = (struct hc_cut_blocks){cut->blocks, block};
    cut->blocks = owner;
    return block;
}

/* Frees the blocks that were made since `until`. */
static void free_blocks(struct hc_cut *cut, const struct hc_cut_blocks *until)
{
    while (cut->blocks != until) {
        struct hc_cut_blocks *owner = cut->blocks;
        cut->blocks = owner->before;
        free(owner->block);
        free(owner);
    }
}

void hc_cut_close(struct hc_cut *cut)
{
    free_blocks(cut, NULL);
}

/* Entries before, along and behind a dimension. */
static void extents(const struct hc_tensor *t, int dimension, int64_t *outer, int64_t *inner)
{
    *outer = *inner = 1;
    for (int d = 0; d < t->rank; d++)
        *(d < dimension ? outer : inner) *= d == dimension ? 1 : t->shape[d];
}

/* For the cuts (by op). Keeps n entries along a dimension of a tensor, those of a list, or below
   those from `from` on; the element's index follows. False, and nothing is changed, if there is no
   memory. */
static bool cut_pick(struct hc_cut *cut, struct hc_tensor *t, int dimension, const int64_t *entries,
                     int64_t n)
{
    int64_t outer;
    int64_t inner;
    int64_t old = t->shape[dimension];
    extents(t, dimension, &outer, &inner);
    size_t bytes = (size_t)inner * (size_t)hc_formats[t->format].bytes;
    unsigned char *to = new_block(cut, (size_t)(outer * n) * bytes);
    if (!to)
        return false;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t k = 0; k < n; k++)
            memcpy(to + (size_t)(o * n + k) * bytes,
                   (const unsigned char *)t->data + (size_t)(o * old + entries[k]) * bytes, bytes);
    if (t == &cut->call.out[cut->out]) {
        int64_t entry = cut->index / inner % old;
        int64_t now = 0;
        while (now < n && entries[now] != entry)
            now++;
        cut->index = (cut->index / inner / old * n + now) * inner + cut->index % inner;
    }
    t->data = to;
    t->shape[dimension] = n;
    return true;
}

static bool cut_range(struct hc_cut *cut, struct hc_tensor *t, int dimension, int64_t from,
                      int64_t n)
{
    if (from < 0 || n < 1 || from + n > t->shape[dimension])
        return false;
    int64_t *entries = malloc((size_t)n * sizeof *entries);
    cut->no_memory |= !entries;
    for (int64_t k = 0; entries && k < n; k++)
        entries[k] = from + k;
    bool good = entries && cut_pick(cut, t, dimension, entries, n);
    free(entries);
    return good;
}

static bool same(const struct hc_exact *a, const struct hc_exact *b)
{
    return memcmp(&a->hi, &b->hi, sizeof a->hi) == 0 && a->lo == b->lo;
}

/* Judges the element of the call that is tried, as its backend reads that. False if there is no
   memory. */
static bool judge_again(const struct hc_cut *tried, const struct hc_judge *judge,
                        struct hc_judged_element *e)
{
    struct hc_judge again = *judge;
    struct hc_flushed flushed = {0};
    bool good = !judge->given || hc_flushed_open(&flushed, &tried->call);
    again.call = judge->given ? &flushed.call : &tried->call;
    again.has_exact = false;
    if (good)
        hc_judge_element(&again, tried->out, tried->index, e);
    hc_flushed_close(&flushed);
    return good;
}

/* Tries one cut. It stays if the element is still in the call, and still as wrong. */
static void attempt(struct hc_cut *cut, hc_cutter *cutter, const struct hc_judge *judge,
                    const struct hc_judged_element *whole)
{
    struct hc_cut tried = *cut;
    struct hc_judged_element e = {0};
    if (cutter(&tried) && hc_call_check(&tried.call) == HC_OK &&
        tried.index < hc_tensor_count(&tried.call.out[tried.out]) &&
        !judge_again(&tried, judge, &e))
        tried.no_memory = true;
    if (e.wrong && e.got_bits == whole->got_bits && same(&e.want, &whole->want)) {
        *cut = tried;
        return;
    }
    cut->no_memory |= tried.no_memory;
    free_blocks(&tried, cut->blocks);
}

enum hc_status hc_cut_down(struct hc_cut *cut, const struct hc_judge *judge, int out, int64_t index)
{
    struct hc_judged_element whole;
    hc_judge_element(judge, out, index, &whole);
    *cut = (struct hc_cut){
        .call = judge->given ? *judge->given : *judge->call, .out = out, .index = index};
    for (hc_cutter *const *cutter = hc_family(cut->call.op)->cuts; cutter && *cutter; cutter++)
        attempt(cut, *cutter, judge, &whole);
    if (cut->no_memory)
        return hc_fail(HC_NO_MEMORY, "no memory to cut the problem down");
    return HC_OK;
}

/* The cuts by op. Each takes away what one element of the output does not read. */
static int64_t cut_coordinate(const struct hc_cut *cut, int dimension)
{
    const struct hc_tensor *t = &cut->call.out[cut->out];
    int64_t inner = 1;
    for (int d = dimension + 1; d < t->rank; d++)
        inner *= t->shape[d];
    return cut->index / inner % t->shape[dimension];
}

/* Keeps entry `at` of a tensor; an absent one stays as it is. */
static bool cut_only(struct hc_cut *cut, struct hc_tensor *t, int dimension, int64_t at)
{
    return !t->data || cut_range(cut, t, dimension, at, 1);
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
        good = cut_range(cut, t, 0, from, n);
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

/* Takes away the entries of two tensors, along one dimension each, in which every product is 0. The
   dimension is the first or the last of each, and their other elements come in the same order. */
static bool cut_zeros(struct hc_cut *cut, struct hc_tensor *a, int a_dimension, struct hc_tensor *b,
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
    bool good = entries && kept < n && cut_pick(cut, a, a_dimension, entries, kept) &&
                (a == b || cut_pick(cut, b, b_dimension, entries, kept));
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
    return cut_zeros(cut, x, 0, y, 0);
}

static bool one_row_and_column(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    const struct hc_gemm *p = &call->params.gemm;
    struct hc_tensor *c = &call->in[HC_GEMM_C];
    int64_t row = cut_coordinate(cut, 0);
    int64_t column = cut_coordinate(cut, 1);
    return cut_only(cut, &call->in[HC_GEMM_A], p->transpose_a ? 1 : 0, row) &&
           cut_only(cut, &call->in[HC_GEMM_B], p->transpose_b ? 0 : 1, column) &&
           (c->rank == 1 || cut_only(cut, c, 0, row)) &&
           cut_only(cut, c, c->rank == 1 ? 0 : 1, column) &&
           cut_only(cut, &call->out[HC_GEMM_OUT], 0, row) &&
           cut_only(cut, &call->out[HC_GEMM_OUT], 1, column);
}

static bool terms_of_gemm(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    const struct hc_gemm *p = &call->params.gemm;
    if (hc_tensor_count(&call->out[HC_GEMM_OUT]) != 1)
        return false;
    return cut_zeros(cut, &call->in[HC_GEMM_A], p->transpose_a ? 0 : 1, &call->in[HC_GEMM_B],
                     p->transpose_b ? 1 : 0);
}

/* The element's row of codes of one factor, and the row of scales that it has. */
static bool one_row_of_codes(struct hc_cut *cut, int codes, int scales, int64_t row, int64_t rows)
{
    struct hc_call *call = &cut->call;
    return cut_only(cut, &call->in[codes], 0, row) &&
           cut_only(cut, &call->in[scales], 0, rows > 0 ? row / rows : 0);
}

static bool one_row_and_column_of_codes(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    const struct hc_gemm_q *p = &call->params.gemm_q;
    struct hc_tensor *c = &call->in[HC_GEMM_Q_C];
    int64_t row = cut_coordinate(cut, 0);
    int64_t column = cut_coordinate(cut, 1);
    return one_row_of_codes(cut, HC_GEMM_Q_A, HC_GEMM_Q_A_SCALES, row, p->a_rows) &&
           one_row_of_codes(cut, HC_GEMM_Q_B, HC_GEMM_Q_B_SCALES, column, p->b_rows) &&
           (!c->data || (cut_only(cut, c, 0, row) && cut_only(cut, c, 1, column))) &&
           cut_only(cut, &call->out[HC_GEMM_Q_OUT], 0, row) &&
           cut_only(cut, &call->out[HC_GEMM_Q_OUT], 1, column);
}

/* Batch norm: the channel, in all tensors that have channels. */
static bool one_channel(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    const struct hc_tensor *out = &call->out[cut->out];
    int64_t channel = cut_coordinate(cut, out->rank - 1);
    bool good = true;
    for (int s = 0; s < hc_slot_count(call->op) && good; s++) {
        struct hc_tensor *t = hc_slot_tensor(call, s);
        bool has = hc_slot(call->op, s)->size != HC_SIZE_RULE;
        good = !has || cut_only(cut, t, t->rank - 1, channel);
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
    return cut_only(cut, x, 0, at) && cut_only(cut, y, 0, at);
}

/* The gradient of a sum of losses: its row. With the mean, the number of rows is part of it. */
static bool one_example(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    int64_t row = cut_coordinate(cut, 0);
    return call->params.xent.sum && cut_only(cut, &call->in[HC_XENT_LOGITS], 0, row) &&
           cut_only(cut, &call->in[HC_XENT_LABELS], 0, row) &&
           cut_only(cut, &call->out[HC_XENT_DLOGITS], 0, row);
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
        int64_t at = cut_coordinate(cut, d);
        int64_t entry = backward ? at / size : at;
        good = cut_range(cut, x, d, entry * size, size) && cut_range(cut, y, d, entry, 1);
    }
    return good;
}

/* An average over ranks: the element of each. In a ring its order depends on its place. */
static bool one_of_each_rank(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    int64_t at = cut->index;
    return call->params.all_reduce.algorithm != HC_COLLECTIVE_RING &&
           cut_only(cut, &call->in[HC_ALL_REDUCE_X], 1, at) &&
           cut_only(cut, &call->out[HC_ALL_REDUCE_OUT], 0, at);
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

/* The cuts of convolutions. */

/* conv2d: the image and the filter of the element. */
static bool image_and_filter(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    int64_t image = cut_coordinate(cut, 0);
    int64_t filter = cut_coordinate(cut, 3);
    return cut_only(cut, &call->in[HC_CONV_X], 0, image) &&
           cut_only(cut, &call->in[HC_CONV_W], 0, filter) &&
           cut_only(cut, &call->out[HC_CONV_Y], 0, image) &&
           cut_only(cut, &call->out[HC_CONV_Y], 3, filter);
}

/* conv2d: the rows (columns) that the element's window reads. A window that lies in the image needs
   no padding in this dimension, but there is one padding for both: cuts of both are tried as one.
   At a border the padding stays, and rows are cut in whole strides, so that the window lies at the
   border as before. */
static bool window_along(struct hc_cut *cut, int dimension, bool inside)
{
    struct hc_call *call = &cut->call;
    const struct hc_conv *p = &call->params.conv;
    struct hc_tensor *x = &call->in[HC_CONV_X];
    struct hc_tensor *y = &call->out[HC_CONV_Y];
    int64_t taps = call->in[HC_CONV_W].shape[dimension];
    int64_t at = cut_coordinate(cut, dimension);
    int64_t first = at * p->stride - p->pad;
    int64_t end = first + taps < x->shape[dimension] ? first + taps : x->shape[dimension];
    if (inside)
        return cut_range(cut, x, dimension, first, taps) && cut_only(cut, y, dimension, at);
    int64_t strides = first > 0 ? first / p->stride : 0;
    int64_t from = strides * p->stride;
    int64_t rows = end - from;
    int64_t left = (rows + 2 * p->pad - taps) / p->stride + 1;
    return cut_range(cut, x, dimension, from, rows) && cut_range(cut, y, dimension, strides, left);
}

static bool window_inside(struct hc_cut *cut)
{
    bool good = window_along(cut, 1, true) && window_along(cut, 2, true);
    cut->call.params.conv.pad = 0;
    return good;
}

static bool rows_at_border(struct hc_cut *cut)
{
    return window_along(cut, 1, false);
}

static bool columns_at_border(struct hc_cut *cut)
{
    return window_along(cut, 2, false);
}

static bool channels_of_window(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    const struct hc_tensor *x = &call->in[HC_CONV_X];
    const struct hc_tensor *w = &call->in[HC_CONV_W];
    bool alike = x->shape[0] == 1 && w->shape[0] == 1 && x->shape[1] == w->shape[1] &&
                 x->shape[2] == w->shape[2];
    return alike && cut_zeros(cut, &call->in[HC_CONV_X], 3, &call->in[HC_CONV_W], 3);
}

/* conv2d_bwd_data: the image and the channel of the element. */
static bool image_and_channel(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    struct hc_tensor *dx = &call->out[HC_CONV_BWD_DATA_DX];
    int64_t image = cut_coordinate(cut, 0);
    int64_t channel = cut_coordinate(cut, 3);
    return cut_only(cut, &call->in[HC_CONV_BWD_DATA_DY], 0, image) &&
           cut_only(cut, &call->in[HC_CONV_BWD_DATA_W], 3, channel) &&
           cut_only(cut, dx, 0, image) && cut_only(cut, dx, 3, channel);
}

/* conv2d_bwd_data: the rows (columns) of dy that the element takes, and those of dx that belong to
   them. */
static bool gradient_along(struct hc_cut *cut, int dimension)
{
    struct hc_call *call = &cut->call;
    const struct hc_conv *p = &call->params.conv;
    struct hc_tensor *dy = &call->in[HC_CONV_BWD_DATA_DY];
    struct hc_tensor *dx = &call->out[HC_CONV_BWD_DATA_DX];
    int64_t taps = call->in[HC_CONV_BWD_DATA_W].shape[dimension];
    int64_t at = cut_coordinate(cut, dimension);
    int64_t low = at + p->pad - taps + 1;
    int64_t first = low > 0 ? (low + p->stride - 1) / p->stride : 0;
    int64_t last = (at + p->pad) / p->stride;
    last = last < dy->shape[dimension] ? last : dy->shape[dimension] - 1;
    int64_t from = first * p->stride;
    int64_t rows = (last - first) * p->stride + taps - 2 * p->pad;
    rows = rows > at - from + 1 ? rows : at - from + 1;
    return cut_range(cut, dy, dimension, first, last - first + 1) &&
           cut_range(cut, dx, dimension, from, rows);
}

static bool gradient_rows(struct hc_cut *cut)
{
    return gradient_along(cut, 1);
}

static bool gradient_columns(struct hc_cut *cut)
{
    return gradient_along(cut, 2);
}

/* conv2d_bwd_filter: the channel of the images and the filter of the element. */
static bool channel_and_filter(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    struct hc_tensor *dw = &call->out[HC_CONV_BWD_FILTER_DW];
    int64_t filter = cut_coordinate(cut, 0);
    int64_t channel = cut_coordinate(cut, 3);
    return cut_only(cut, &call->in[HC_CONV_BWD_FILTER_X], 3, channel) &&
           cut_only(cut, &call->in[HC_CONV_BWD_FILTER_DY], 3, filter) &&
           cut_only(cut, dw, 0, filter) && cut_only(cut, dw, 3, channel);
}

hc_cutter *const hc_cut_conv2d[] = {image_and_filter,  window_inside,      rows_at_border,
                                    columns_at_border, channels_of_window, NULL};
hc_cutter *const hc_cut_conv2d_bwd_data[] = {image_and_channel, gradient_rows, gradient_columns,
                                             NULL};
hc_cutter *const hc_cut_conv2d_bwd_filter[] = {channel_and_filter, NULL};
