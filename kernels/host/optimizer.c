/* SGD, Adam and AdamW, block by block. */
#include "kernels/exact/exact.h"
#include "kernels/host/host.h"

struct update {
    const struct hc_call *call;
    const struct hc_optimizer_slots *slots;
    enum hc_format arithmetic;
    uint32_t t;
    struct hc_sgd_step sgd;
    struct hc_adam_step adam;
};

/* n elements of a state tensor as fp32: in place where it is fp32 and stays where it is, else in
   `buffer`, since the output may be any other input's memory. NULL: the call has none. */
static float *state(const struct hc_queue *queue, const struct hc_call *call, int slot,
                    int new_slot, int64_t at, int64_t n, float *buffer)
{
    if (slot < 0 || !call->in[slot].data)
        return NULL;
    const struct hc_tensor *from = &call->in[slot];
    const struct hc_tensor *to = &call->out[new_slot];
    if (from->data == to->data && to->format == HC_FP32)
        return (float *)to->data + at;
    queue->loops->load(from->format, hc_host_element(from, at), n, buffer);
    return buffer;
}

static void update_block(const struct hc_queue *queue, const void *context, int64_t at, int64_t n)
{
    const struct update *u = context;
    const struct hc_call *call = u->call;
    const struct hc_optimizer_slots *s = u->slots;
    const struct hc_host_loops *loops = queue->loops;
    const struct hc_stochastic *stochastic = hc_optimizer_stochastic(call->op, &call->params);
    enum hc_format stored = call->in[s->w].format;
    bool is_sgd = call->op == HC_OP_sgd;
    float buffer[5][HC_HOST_BLOCK];
    float *w = state(queue, call, s->w, s->new_w, at, n, buffer[0]);
    float *m = state(queue, call, s->m, s->new_m, at, n, buffer[1]);
    float *v = state(queue, call, s->v, s->new_v, at, n, buffer[2]);
    float *c = state(queue, call, s->compensation, s->new_compensation, at, n, buffer[3]);
    const float *g = hc_host_view(queue, &call->in[s->g], at, n, buffer[4]);
    if (is_sgd && c)
        loops->sgd_kahan(u->arithmetic, stored, &u->sgd, w, g, m, c, n);
    else if (is_sgd)
        loops->sgd(u->arithmetic, &u->sgd, w, g, m, n);
    else if (c)
        loops->adam_kahan(u->arithmetic, stored, &u->adam, w, g, m, v, c, n);
    else
        loops->adam(u->arithmetic, &u->adam, w, g, m, v, n);
    if (stochastic->on)
        loops->store_stochastic(stochastic->seed, u->t, stochastic->first + at, w, n,
                                hc_host_element(&call->out[s->new_w], at));
    else
        hc_host_flush(queue, &call->out[s->new_w], at, n, w);
    hc_host_flush(queue, &call->out[s->new_m], at, n, m);
    if (v)
        hc_host_flush(queue, &call->out[s->new_v], at, n, v);
    if (c)
        hc_host_flush(queue, &call->out[s->new_compensation], at, n, c);
}

/* A step that is skipped copies bytes, as exact does. */
enum hc_status hc_host_optimizer(struct hc_queue *queue, const struct hc_call *call)
{
    struct update u = {.call = call, .slots = hc_optimizer_slots(call->op)};
    const float *found_inf = call->in[u.slots->found_inf].data;
    const float *hyper = call->in[u.slots->hyper].data;
    if (found_inf && *found_inf != 0)
        return hc_exact_run(queue, call);
    u.t = (uint32_t)hyper[HC_HYPER_STEP];
    if (call->op == HC_OP_sgd) {
        u.arithmetic = call->params.sgd.arithmetic;
        u.sgd = hc_sgd_coefficients(&call->params.sgd, hyper);
    } else {
        u.arithmetic = call->params.adam.arithmetic;
        u.adam = hc_adam_coefficients(&call->params.adam, call->op == HC_OP_adamw, hyper);
    }
    hc_host_each_block(queue, hc_tensor_count(&call->out[u.slots->new_w]), update_block, &u);
    return HC_OK;
}
