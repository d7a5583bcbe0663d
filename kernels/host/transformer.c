/* Ops of definitions/ that move rows or turn pairs, and swiglu, in blocks that threads share. */
#include <string.h>

#include "kernels/exact/exact.h"
#include "kernels/host/host.h"
#include "op/defined.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void swiglu_block(const struct hc_queue *queue, const void *context, int64_t at, int64_t n)
{
    const struct hc_call *call = context;
    float buffer[3][HC_HOST_BLOCK];
    const float *gate = hc_host_view(queue, &call->in[HC_SWIGLU_GATE], at, n, buffer[0]);
    const float *up = hc_host_view(queue, &call->in[HC_SWIGLU_UP], at, n, buffer[1]);
    float *y = hc_host_target(&call->out[HC_SWIGLU_Y], at, buffer[2]);
    queue->loops->swiglu(gate, up, n, y);
    hc_host_flush(queue, &call->out[HC_SWIGLU_Y], at, n, y);
}

enum hc_status hc_host_swiglu(struct hc_queue *queue, const struct hc_call *call)
{
    hc_host_each_block(queue, hc_tensor_count(&call->in[HC_FIRST]), swiglu_block, call);
    return HC_OK;
}

static void swiglu_back_block(const struct hc_queue *queue, const void *context, int64_t at,
                              int64_t n)
{
    const struct hc_call *call = context;
    float buffer[5][HC_HOST_BLOCK];
    const float *gate = hc_host_view(queue, &call->in[HC_SWIGLU_BWD_GATE], at, n, buffer[0]);
    const float *up = hc_host_view(queue, &call->in[HC_SWIGLU_BWD_UP], at, n, buffer[1]);
    const float *dy = hc_host_view(queue, &call->in[HC_SWIGLU_BWD_DY], at, n, buffer[2]);
    float *dgate = hc_host_target(&call->out[HC_SWIGLU_BWD_DGATE], at, buffer[3]);
    float *dup = hc_host_target(&call->out[HC_SWIGLU_BWD_DUP], at, buffer[4]);
    queue->loops->swiglu_back(gate, up, dy, n, dgate, dup);
    hc_host_flush(queue, &call->out[HC_SWIGLU_BWD_DGATE], at, n, dgate);
    hc_host_flush(queue, &call->out[HC_SWIGLU_BWD_DUP], at, n, dup);
}

enum hc_status hc_host_swiglu_backward(struct hc_queue *queue, const struct hc_call *call)
{
    hc_host_each_block(queue, hc_tensor_count(&call->in[HC_FIRST]), swiglu_back_block, call);
    return HC_OK;
}

/* One head's row at a time: the second half of it meets the first. */
enum hc_status hc_host_rotary_halves(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_ROTARY_X];
    const struct hc_tensor *to = &call->out[HC_ROTARY_Y];
    int64_t n = x->shape[2];
    int64_t half = n / 2;
    if (n > HC_HOST_BLOCK)
        return hc_exact_run(queue, call);
#pragma omp parallel for num_threads(hc_host_team(queue, hc_tensor_count(x)))
    for (int64_t row = 0; row < x->shape[0] * x->shape[1]; row++) {
        float buffer[2][HC_HOST_BLOCK];
        int64_t turn = row % x->shape[1] * n;
        const float *from = hc_host_view(queue, x, row * n, n, buffer[0]);
        const float *co = (const float *)call->in[HC_ROTARY_CO].data + turn;
        const float *si = (const float *)call->in[HC_ROTARY_SI].data + turn;
        float *y = hc_host_target(to, row * n, buffer[1]);
#pragma omp simd
        for (int64_t d = 0; d < half; d++)
            y[d] = from[d] * co[d] + -from[d + half] * si[d];
#pragma omp simd
        for (int64_t d = half; d < n; d++)
            y[d] = from[d] * co[d] + from[d - half] * si[d];
        hc_host_flush(queue, to, row * n, n, y);
    }
    return HC_OK;
}

/* The first index beyond the table is the error. */
static enum hc_status check_rows(const struct hc_call *call, const struct hc_tensor *id,
                                 int64_t rows)
{
    const int32_t *at = id->data;
    for (int64_t i = 0; i < id->shape[0]; i++)
        if (at[i] >= rows)
            return hc_fail(HC_INVALID, "%s: id[%lld] is %d, and the table has %lld rows",
                           hc_ops[call->op].name, (long long)i, (int)at[i], (long long)rows);
    return HC_OK;
}

enum hc_status hc_host_embedding(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *w = &call->in[HC_EMBEDDING_W];
    const struct hc_tensor *id = &call->in[HC_EMBEDDING_ID];
    const struct hc_tensor *y = &call->out[HC_EMBEDDING_Y];
    const int32_t *at = id->data;
    int64_t n = w->shape[1];
    if (check_rows(call, id, w->shape[0]) != HC_OK)
        return HC_INVALID;
#pragma omp parallel for num_threads(hc_host_team(queue, hc_tensor_count(y)))
    for (int64_t i = 0; i < id->shape[0]; i++)
        for (int64_t d = 0; d < n; d += HC_HOST_BLOCK) {
            float buffer[2][HC_HOST_BLOCK] = {{0}};
            int64_t count = least(HC_HOST_BLOCK, n - d);
            const float *row =
                at[i] < 0 ? buffer[1] : hc_host_view(queue, w, at[i] * n + d, count, buffer[0]);
            queue->loops->store(y->format, row, count, hc_host_element(y, i * n + d));
        }
    return HC_OK;
}

/* Each thread has some columns, whose sums run over the rows of dy in order. */
enum hc_status hc_host_embedding_backward(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *dy = &call->in[HC_EMBEDDING_BWD_DY];
    const struct hc_tensor *id = &call->in[HC_EMBEDDING_BWD_ID];
    const struct hc_tensor *dw = &call->out[HC_EMBEDDING_BWD_DW];
    const int32_t *at = id->data;
    int64_t padding = hc_defined_integer(call, 0);
    int64_t n = dy->shape[1];
    float *sum = call->scratch;
    if (check_rows(call, id, dw->shape[0]) != HC_OK)
        return HC_INVALID;
    enum { COLUMNS = 64 };
#pragma omp parallel for num_threads(hc_host_team(queue, hc_tensor_count(dy)))
    for (int64_t d = 0; d < n; d += COLUMNS) {
        float buffer[COLUMNS];
        int64_t count = least(COLUMNS, n - d);
        for (int64_t v = 0; v < dw->shape[0]; v++)
            memset(sum + v * n + d, 0, (size_t)count * sizeof *sum);
        for (int64_t i = 0; i < id->shape[0]; i++) {
            const float *from = hc_host_view(queue, dy, i * n + d, count, buffer);
            float *to = sum + (at[i] < 0 ? 0 : at[i]) * n + d;
            for (int64_t k = 0; k < count && at[i] >= 0 && at[i] != padding; k++)
                to[k] += from[k];
        }
        for (int64_t v = 0; v < dw->shape[0]; v++)
            queue->loops->store(dw->format, sum + v * n + d, count, hc_host_element(dw, v * n + d));
    }
    return HC_OK;
}

size_t hc_host_embedding_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return (size_t)hc_tensor_count(&call->out[HC_EMBEDDING_BWD_DW]) * sizeof(float);
}
