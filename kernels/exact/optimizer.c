#include <string.h>

#include "kernels/element/adam.h"
#include "kernels/exact/double.h"
#include "kernels/exact/exact.h"
#include "kernels/element/load.h"
#include "kernels/element/sgd.h"
#include "num/stochastic.h"

/* Whether the step is to be left out; the outputs then hold what the inputs held. */
static bool left_out(const struct hc_call *call, const struct hc_tensor *found)
{
    static const int sgd[] = {0, 2, 5};
    static const int adam[] = {0, 2, 3, 6};
    const int *input_of = call->op == HC_OP_sgd ? sgd : adam;
    if (!found->data || *(const float *)found->data == 0)
        return false;
    for (int i = 0; i < hc_ops[call->op].outputs; i++) {
        const struct hc_tensor *from = &call->in[input_of[i]];
        if (from->data && from->data != call->out[i].data && hc_tensor_count(from))
            memcpy(call->out[i].data, from->data, hc_tensor_bytes(from));
    }
    return true;
}

/* The new weight i of step t into out0. */
static void store_weight(const struct hc_call *call, const struct hc_stochastic *s, uint32_t t,
                         int64_t i, float w)
{
    const struct hc_tensor *out = &call->out[0];
    if (s->on)
        ((uint16_t *)out->data)[i] =
            hc_bf16_stochastic(w, hc_round_random(s->seed, t, (uint64_t)(s->first + i)));
    else
        hc_store(out->format, out->data, i, w);
}

enum hc_status hc_exact_sgd(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const struct hc_tensor *in = call->in;
    const struct hc_tensor *out = call->out;
    enum hc_format f = call->params.sgd.arithmetic;
    if (left_out(call, &in[4]))
        return HC_OK;
    if (hc_is_double(call)) {
        hc_double_sgd(call);
        return HC_OK;
    }
    uint32_t t = (uint32_t)((const float *)in[3].data)[2];
    struct hc_sgd_step step = hc_sgd_coefficients(&call->params.sgd, in[3].data);
    int64_t n = hc_tensor_count(&out[0]);
    for (int64_t i = 0; i < n; i++) {
        float w = hc_load(in[0].format, in[0].data, i);
        float v = hc_load(in[2].format, in[2].data, i);
        float g = hc_load(in[1].format, in[1].data, i);
        if (in[5].data) {
            float c = hc_load(in[5].format, in[5].data, i);
            hc_element_sgd_kahan(f, in[0].format, &step, &w, g, &v, &c);
            hc_store(out[2].format, out[2].data, i, c);
        } else {
            hc_element_sgd(f, &step, &w, g, &v);
        }
        store_weight(call, &call->params.sgd.stochastic, t, i, w);
        hc_store(out[1].format, out[1].data, i, v);
    }
    return HC_OK;
}

static void adam(const struct hc_call *call, bool decoupled)
{
    const struct hc_tensor *in = call->in;
    const struct hc_tensor *out = call->out;
    enum hc_format f = call->params.adam.arithmetic;
    if (left_out(call, &in[5]))
        return;
    if (hc_is_double(call)) {
        hc_double_adam(call, decoupled);
        return;
    }
    uint32_t t = (uint32_t)((const float *)in[4].data)[2];
    struct hc_adam_step step = hc_adam_coefficients(&call->params.adam, decoupled, in[4].data);
    int64_t n = hc_tensor_count(&out[0]);
    for (int64_t i = 0; i < n; i++) {
        float w = hc_load(in[0].format, in[0].data, i);
        float m = hc_load(in[2].format, in[2].data, i);
        float v = hc_load(in[3].format, in[3].data, i);
        float g = hc_load(in[1].format, in[1].data, i);
        if (in[6].data) {
            float c = hc_load(in[6].format, in[6].data, i);
            hc_element_adam_kahan(f, in[0].format, &step, &w, g, &m, &v, &c);
            hc_store(out[3].format, out[3].data, i, c);
        } else {
            hc_element_adam(f, &step, &w, g, &m, &v);
        }
        store_weight(call, &call->params.adam.stochastic, t, i, w);
        hc_store(out[1].format, out[1].data, i, m);
        hc_store(out[2].format, out[2].data, i, v);
    }
}

enum hc_status hc_exact_adam(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    adam(call, false);
    return HC_OK;
}

enum hc_status hc_exact_adamw(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    adam(call, true);
    return HC_OK;
}
