/* Ops whose elements do not see each other, by blocks on all threads: the elementwise ones, to
   fp32, the op's loop, and back; stochastic_cast; and all_reduce. */
#include <stdatomic.h>
#include <string.h>

#include "kernels/exact/exact.h"
#include "kernels/host/host.h"
#include "kernels/element/quant.h"
#include "num/clones.h"
#include "kernels/element/collective.h"

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

/* stochastic_cast: block by block to fp32, and into formats of one byte in a loop that is
   vectorised. */

struct stochastic {
    const struct hc_call *call;
    struct hc_narrow8 narrow8;
};

HC_CLONES static void into_bytes(const struct hc_narrow8 *f, int bits, const float *x,
                                 const uint32_t *words, int64_t n, uint8_t *to)
{
    const struct hc_narrow8 by = *f;
    uint32_t mask = (UINT32_C(1) << bits) - 1;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        to[i] = hc_narrow8_random(&by, hc_fp32_bits(x[i]), bits, words[i] & mask);
}

static void block(const struct hc_queue *queue, const void *context, int64_t at, int64_t n)
{
    const struct stochastic *s = context;
    const uint32_t *words = s->call->in[HC_STOCHASTIC_WORDS].data;
    float buffer[HC_HOST_BLOCK];
    const float *x = hc_host_view(queue, &s->call->in[HC_STOCHASTIC_X], at, n, buffer);
    into_bytes(&s->narrow8, s->call->params.stochastic_cast.bits, x, words + at, n,
               hc_host_element(&s->call->out[HC_STOCHASTIC_OUT], at));
}

/* hc_narrow8_random takes 16 random bits at most. */
enum hc_status hc_host_stochastic_cast(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_format to = call->out[HC_STOCHASTIC_OUT].format;
    if (!hc_is_narrow8(&hc_formats[to]) || call->params.stochastic_cast.bits > 16)
        return hc_exact_run(queue, call);
    struct stochastic s = {call,
                           hc_narrow8_of(&hc_formats[to], call->params.stochastic_cast.saturate)};
    hc_host_each_block(queue, hc_tensor_count(&call->out[HC_STOCHASTIC_OUT]), block, &s);
    return HC_OK;
}

/* all_reduce: blocks of elements on all threads, with the text of `exact` for each. */

static void average_block(const struct hc_queue *queue, const void *context, int64_t at, int64_t n)
{
    const struct hc_call *call = context;
    const struct hc_tensor *x = &call->in[HC_ALL_REDUCE_X];
    const struct hc_tensor *out = &call->out[HC_ALL_REDUCE_OUT];
    struct hc_average a =
        hc_average_of(&call->params.all_reduce, x->format, x->data, x->shape[0], x->shape[1]);
    (void)queue;
    for (int64_t i = at; i < at + n; i++)
        hc_store(out->format, out->data, i, hc_element_all_reduce(&a, i));
}

enum hc_status hc_host_all_reduce(struct hc_queue *queue, const struct hc_call *call)
{
    hc_host_each_block(queue, call->in[HC_ALL_REDUCE_X].shape[1], average_block, call);
    return HC_OK;
}
