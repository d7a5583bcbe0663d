/* Elementwise ops: block by block to fp32, the op's loop, and back. */
#include <stdatomic.h>
#include <string.h>

#include "kernels/exact/exact.h"
#include "kernels/host/host.h"

struct map {
    const struct hc_call *call;
    struct hc_map_scalars scalars;
};

static void map_block(const struct hc_queue *queue, const void *context, int64_t at, int64_t n)
{
    const struct map *m = context;
    const struct hc_call *call = m->call;
    float buffer[4][HC_HOST_BLOCK];
    const float *in[3] = {0};
    for (int slot = 0; slot < m->scalars.inputs; slot++)
        in[slot] = hc_host_view(queue, &call->in[slot], at, n, buffer[slot]);
    float *out = hc_host_target(&call->out[HC_OUT], at, buffer[3]);
    queue->loops->map[call->op](in, out, n, &m->scalars);
    hc_host_flush(queue, &call->out[HC_OUT], at, n, out);
}

enum hc_status hc_host_map(struct hc_queue *queue, const struct hc_call *call)
{
    struct map m = {call, hc_map_scalars_of(call)};
    hc_host_each_block(queue, hc_tensor_count(&call->out[HC_OUT]), map_block, &m);
    return HC_OK;
}

struct unscale {
    const struct hc_call *call;
    struct hc_map_scalars scalars;
    atomic_bool *found_inf;
};

/* The detector reads x before the output, which may be x's memory, is written. */
static void unscale_block(const struct hc_queue *queue, const void *context, int64_t at, int64_t n)
{
    const struct unscale *u = context;
    const struct hc_tensor *to = &u->call->out[HC_UNSCALE_OUT];
    float buffer[2][HC_HOST_BLOCK];
    const float *in[3] = {hc_host_view(queue, &u->call->in[HC_UNSCALE_X], at, n, buffer[0])};
    float *out = hc_host_target(to, at, buffer[1]);
    if (queue->loops->any_nonfinite(in[HC_X], n))
        atomic_store(u->found_inf, true);
    queue->loops->map[HC_OP_unscale](in, out, n, &u->scalars);
    hc_host_flush(queue, to, at, n, out);
}

enum hc_status hc_host_unscale(struct hc_queue *queue, const struct hc_call *call)
{
    const float *found_before = call->in[HC_UNSCALE_FOUND_INF].data;
    atomic_bool found_inf = found_before && *found_before != 0;
    if (found_inf && call->in[HC_UNSCALE_OVERRIDE].data)
        return hc_exact_run(queue, call);
    struct unscale u = {call, hc_map_scalars_of(call), &found_inf};
    hc_host_each_block(queue, hc_tensor_count(&call->in[HC_UNSCALE_X]), unscale_block, &u);
    *(float *)call->out[HC_UNSCALE_NEW_FOUND_INF].data = found_inf ? 1 : 0;
    return HC_OK;
}

struct cast {
    const struct hc_tensor *from;
    const struct hc_tensor *to;
    enum hc_direction direction;
    struct hc_narrow8 narrow8; /* where `to` is a format of one byte */
    const float *values;       /* of the codes, where `from` is one */
};

/* n elements as fp32, which holds all values of the formats that come here. */
static const float *cast_view(const struct hc_queue *queue, const struct cast *c, int64_t at,
                              int64_t n, float *buffer)
{
    const uint8_t *codes = hc_host_element(c->from, at);
    if (!c->values)
        return hc_host_view(queue, c->from, at, n, buffer);
    for (int64_t i = 0; i < n; i++)
        buffer[i] = c->values[codes[i]];
    return buffer;
}

/* From fp64 it is to nearest, and into 16 bits by way of fp32 rounded to odd (num/directed.h). */
static void cast_block(const struct hc_queue *queue, const void *context, int64_t at, int64_t n)
{
    const struct cast *c = context;
    void *to = hc_host_element(c->to, at);
    float buffer[HC_HOST_BLOCK];
    if (c->from->format == HC_FP64 && c->to->format == HC_FP64) {
        memcpy(to, hc_host_element(c->from, at), (size_t)n * sizeof(double));
    } else if (c->from->format == HC_FP64) {
        float *out = hc_host_target(c->to, at, buffer);
        queue->loops->narrow(c->to->format != HC_FP32, hc_host_element(c->from, at), n, out);
        hc_host_flush(queue, c->to, at, n, out);
    } else {
        const float *in = cast_view(queue, c, at, n, buffer);
        if (c->to->format == HC_FP64)
            queue->loops->widen(in, n, to);
        else if (hc_is_narrow8(&hc_formats[c->to->format]))
            queue->loops->narrow8(&c->narrow8, in, n, to);
        else if (c->direction == HC_NEAREST)
            queue->loops->store(c->to->format, in, n, to);
        else
            queue->loops->store_directed(c->to->format, c->direction, in, n, to);
    }
}

/* From H or a format of one byte into a format of one byte, or from a format of one byte into H; to
   nearest. */
static bool casts_bytes(const struct cast *c, bool saturate)
{
    enum hc_format from = c->from->format;
    enum hc_format to = c->to->format;
    bool byte_from = hc_is_narrow8(&hc_formats[from]);
    bool byte_to = hc_is_narrow8(&hc_formats[to]);
    return c->direction == HC_NEAREST && (byte_from || byte_to) && (hc_is_h(from) || byte_from) &&
           (byte_to || (hc_is_h(to) && !saturate));
}

/* cast and master_to_model: among H and between H and fp64, but not from fp64 in a direction, nor
   saturating; and what casts_bytes names. */
enum hc_status hc_host_cast(struct hc_queue *queue, const struct hc_call *call)
{
    bool cast = call->op == HC_OP_cast;
    bool saturate = cast && call->params.cast.saturate;
    struct cast c = {&call->in[HC_X], &call->out[HC_OUT],
                     cast ? call->params.cast.direction : HC_NEAREST, .values = NULL};
    enum hc_format from = c.from->format;
    enum hc_format to = c.to->format;
    bool known = (hc_is_h(from) || from == HC_FP64) && (hc_is_h(to) || to == HC_FP64);
    bool rounds_fp64 = from == HC_FP64 && to != HC_FP64 && c.direction != HC_NEAREST;
    bool bytes = casts_bytes(&c, saturate);
    float values[256];
    if (!bytes && (!known || rounds_fp64 || saturate))
        return hc_exact_run(queue, call);
    if (hc_is_narrow8(&hc_formats[to]))
        c.narrow8 = hc_narrow8_of(&hc_formats[to], saturate);
    for (int i = 0; i < 256 && bytes && hc_is_narrow8(&hc_formats[from]); i++)
        values[i] = (float)hc_decode(from, (uint64_t)i);
    c.values = bytes && hc_is_narrow8(&hc_formats[from]) ? values : NULL;
    if (c.from->data != c.to->data || bytes)
        hc_host_each_block(queue, hc_tensor_count(c.to), cast_block, &c);
    return HC_OK;
}
