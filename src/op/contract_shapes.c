/* The shapes that belong together in a call. */
#include "op/contract.h"

#include <stdbool.h>
#include <stdio.h>

const char *hc_shape_text(const struct hc_tensor *t, char text[HC_SHAPE_TEXT])
{
    int at = snprintf(text, HC_SHAPE_TEXT, "[");
    for (int d = 0; d < t->rank && at < HC_SHAPE_TEXT - 6; d++)
        at += snprintf(text + at, HC_SHAPE_TEXT - (size_t)at, "%s%lld", d ? ", " : "",
                       (long long)t->shape[d]);
    (void)snprintf(text + at, HC_SHAPE_TEXT - (size_t)at, "]");
    return text;
}

/* shape[d] < 0 stands for any extent. */
static enum hc_status has_shape(const struct hc_call *call, const struct hc_tensor *t,
                                const char *name, int rank, const int64_t *shape)
{
    char got[HC_SHAPE_TEXT];
    char want[HC_SHAPE_TEXT];
    struct hc_tensor wanted = {.rank = rank};
    bool same = t->rank == rank;
    for (int d = 0; d < rank; d++) {
        wanted.shape[d] = shape[d] < 0 && same ? t->shape[d] : shape[d];
        same = same && wanted.shape[d] == t->shape[d];
    }
    if (same)
        return HC_OK;
    return hc_fail(HC_INVALID, "%s: %s has shape %s, not %s", hc_ops[call->op].name, name,
                   hc_shape_text(t, got), hc_shape_text(&wanted, want));
}

static enum hc_status has_rank(const struct hc_call *call, const struct hc_tensor *t,
                               const char *name, int rank)
{
    if (t->rank == rank)
        return HC_OK;
    return hc_fail(HC_INVALID, "%s: %s has rank %d, not %d", hc_ops[call->op].name, name, t->rank,
                   rank);
}

enum hc_status hc_shapes_gemm(const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *a = &call->in[0];
    const struct hc_tensor *c = &call->in[2];
    if (p->half_accumulator && a->format != HC_FP16)
        return hc_fail(HC_INVALID, "gemm: sums in fp16 of inputs that are %s",
                       hc_formats[a->format].name);
    enum hc_status status = has_rank(call, a, "in0", 2);
    if (status == HC_OK)
        status = has_rank(call, &call->out[0], "out0", 2);
    if (status != HC_OK)
        return status;
    int64_t m = a->shape[p->transpose_a ? 1 : 0];
    int64_t k = a->shape[p->transpose_a ? 0 : 1];
    int64_t n = call->out[0].shape[1];
    status = has_shape(call, &call->out[0], "out0", 2, (int64_t[]){m, n});
    if (status == HC_OK)
        status = has_shape(call, &call->in[1], "in1", 2,
                           p->transpose_b ? (int64_t[]){n, k} : (int64_t[]){k, n});
    if (status != HC_OK || p->beta == 0)
        return status;
    return c->rank == 1 ? has_shape(call, c, "in2", 1, (int64_t[]){n})
                        : has_shape(call, c, "in2", 2, (int64_t[]){m, n});
}

enum hc_status hc_shapes_conv(const struct hc_call *call)
{
    static const char *const names[3] = {"in0", "in1", "out0"};
    const struct hc_tensor *slot[3] = {&call->in[0], &call->in[1], &call->out[0]};
    /* Which slots are x, w and y. */
    static const int roles[3][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}};
    const int *role = roles[call->op - HC_OP_conv2d];
    const struct hc_tensor *x = slot[role[0]];
    const struct hc_tensor *w = slot[role[1]];
    int64_t stride = call->params.conv.stride;
    int64_t pad = call->params.conv.pad;
    enum hc_status status = HC_OK;
    for (int i = 0; i < 3 && status == HC_OK; i++)
        status = has_rank(call, slot[i], names[i], 4);
    if (status != HC_OK)
        return status;
    if (stride < 1 || pad < 0)
        return hc_fail(HC_INVALID, "%s: stride %lld, pad %lld", hc_ops[call->op].name,
                       (long long)stride, (long long)pad);
    if (w->shape[1] < 1 || w->shape[2] < 1 || x->shape[1] + 2 * pad < w->shape[1] ||
        x->shape[2] + 2 * pad < w->shape[2])
        return hc_fail(HC_INVALID, "%s: the filter does not fit into the padded image",
                       hc_ops[call->op].name);
    status = has_shape(call, w, names[role[1]], 4, (int64_t[]){-1, -1, -1, x->shape[3]});
    if (status != HC_OK)
        return status;
    int64_t p = (x->shape[1] + 2 * pad - w->shape[1]) / stride + 1;
    int64_t q = (x->shape[2] + 2 * pad - w->shape[2]) / stride + 1;
    return has_shape(call, slot[role[2]], names[role[2]], 4,
                     (int64_t[]){x->shape[0], p, q, w->shape[0]});
}

/* rates and journal: in0 [n, 2] or [n, 4]. */
enum hc_status hc_shapes_table(const struct hc_call *call)
{
    const struct hc_tensor *t = &call->in[0];
    enum hc_status status = has_rank(call, t, "in0", 2);
    if (status != HC_OK)
        return status;
    if (t->shape[0] < 1)
        return hc_fail(HC_INVALID, "%s: in0 has no rows", hc_ops[call->op].name);
    return has_shape(call, t, "in0", 2, (int64_t[]){t->shape[0], call->op == HC_OP_rates ? 2 : 4});
}

/* Statistics and gradients of no elements have no value. */
enum hc_status hc_shapes_batch(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[0];
    if (x->rank < 2)
        return has_rank(call, x, "in0", 4);
    if (x->shape[x->rank - 1] > 0 && hc_tensor_count(x) == 0)
        return hc_fail(HC_INVALID, "%s: an empty batch", hc_ops[call->op].name);
    return HC_OK;
}

enum hc_status hc_shapes_pool(const struct hc_call *call)
{
    bool backward = call->op == HC_OP_avg_pool_bwd;
    const struct hc_tensor *x = backward ? &call->out[0] : &call->in[0];
    const struct hc_tensor *y = backward ? &call->in[0] : &call->out[0];
    int64_t window = call->params.pool.window;
    enum hc_status status = has_rank(call, x, backward ? "out0" : "in0", 4);
    if (status != HC_OK)
        return status;
    if (window < 1 || x->shape[1] % window != 0 || x->shape[2] % window != 0)
        return hc_fail(HC_INVALID, "%s: extents %lld x %lld are no multiples of the window %lld",
                       hc_ops[call->op].name, (long long)x->shape[1], (long long)x->shape[2],
                       (long long)window);
    return has_shape(
        call, y, backward ? "in0" : "out0", 4,
        (int64_t[]){x->shape[0], x->shape[1] / window, x->shape[2] / window, x->shape[3]});
}

enum hc_status hc_shapes_loss(const struct hc_call *call)
{
    const struct hc_tensor *z = &call->in[0];
    enum hc_status status = has_rank(call, z, "in0", 2);
    if (status != HC_OK)
        return status;
    if (z->shape[1] < 1 || (z->shape[0] < 1 && call->op == HC_OP_xent))
        return hc_fail(HC_INVALID, "%s: no logits", hc_ops[call->op].name);
    return has_shape(call, &call->in[1], "in1", 1, (int64_t[]){z->shape[0]});
}

/* in1 is never out1, though both are labels. */
enum hc_status hc_shapes_augment(const struct hc_call *call)
{
    const struct hc_augment *p = &call->params.augment;
    const struct hc_tensor *pixels = &call->in[0];
    const struct hc_tensor *batch = &call->out[0];
    enum hc_status status = has_shape(call, pixels, "in0", 4, (int64_t[]){-1, -1, -1, 3});
    if (status == HC_OK)
        status = has_shape(call, batch, "out0", 4,
                           (int64_t[]){-1, pixels->shape[1], pixels->shape[2], 3});
    if (status == HC_OK)
        status = has_shape(call, &call->in[1], "in1", 1, pixels->shape);
    if (status == HC_OK)
        status = has_shape(call, &call->out[1], "out1", 1, batch->shape);
    if (status == HC_OK && call->out[2].data)
        status = has_shape(call, &call->out[2], "out2", 1, (int64_t[]){1});
    if (status != HC_OK)
        return status;
    if (hc_tensor_count(&call->in[2]) < 1)
        return hc_fail(HC_INVALID, "augment: no steps");
    if (call->in[1].data && call->in[1].data == call->out[1].data)
        return hc_fail(HC_INVALID, "augment: out1 overlaps in1");
    if (p->batches < 1 || p->pad < 0 || p->pad >= pixels->shape[1] || p->pad >= pixels->shape[2])
        return hc_fail(HC_INVALID, "augment: %lld batches, pad %d", (long long)p->batches, p->pad);
    return HC_OK;
}
