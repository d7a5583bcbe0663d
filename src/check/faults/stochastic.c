/* Defects of stochastic rounding and of compensated weights. */
#include "check/selftest/change.h"

#include <stdlib.h>
#include <string.h>

#include "num/stochastic.h"

/* SGD uses its count of steps for random numbers only. */
static enum hc_status same_each_step(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    struct hc_call bad = *call;
    const struct hc_tensor *told = &call->in[HC_SGD_HYPER];
    float hyper[HC_HYPER_COUNT] = {[HC_HYPER_LR] = (float)hc_tensor_get(told, HC_HYPER_LR),
                                   [HC_HYPER_BETA1] = (float)hc_tensor_get(told, HC_HYPER_BETA1),
                                   [HC_HYPER_STEP] = 1};
    bad.in[HC_SGD_HYPER] = hc_tensor1(HC_FP32, HC_HYPER_COUNT, hyper);
    return site->right(queue, &bad);
}

static struct hc_tensor element(const struct hc_tensor *t, int64_t i)
{
    unsigned char *data = t->data;
    return hc_tensor1(t->format, 1, data + i * hc_formats[t->format].bytes);
}

/* Each element rounds as the first does. */
static enum hc_status same_each_element(const struct hc_fault_site *site, struct hc_queue *queue,
                                        const struct hc_call *call)
{
    enum hc_status status = HC_OK;
    if (!call->params.sgd.stochastic.on)
        return site->right(queue, call);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_SGD_W]) && status == HC_OK; i++) {
        struct hc_call one = *call;
        for (int k = 0; k < 3; k++)
            one.in[k] = element(&call->in[k], i);
        for (int k = 0; k < 2; k++)
            one.out[k] = element(&call->out[k], i);
        status = site->right(queue, &one);
    }
    return status;
}

/* Adds 1 to 65536 instead of 0 to 65535, or random numbers of `number` bits. */
static enum hc_status other_random(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    const struct hc_stochastic *s = &call->params.sgd.stochastic;
    int64_t n = hc_tensor_count(&call->in[HC_SGD_W]);
    struct hc_call wide = *call;
    if (!s->on)
        return site->right(queue, call);
    float *w = malloc(((size_t)n + 1) * sizeof *w);
    if (!w)
        return hc_fail(HC_NO_MEMORY, "no memory for a fault's weights");
    for (int64_t i = 0; i < n; i++)
        w[i] = (float)hc_tensor_get(&call->in[HC_SGD_W], i);
    wide.in[HC_SGD_W] = wide.out[HC_SGD_NEW_W] = hc_tensor1(HC_FP32, n, w);
    wide.params.sgd.stochastic.on = false;
    uint32_t t = (uint32_t)hc_tensor_get(&call->in[HC_SGD_HYPER], HC_HYPER_STEP);
    enum hc_status status = site->right(queue, &wide);
    int bits = (int)site->fault->number;
    for (int64_t i = 0; i < n && status == HC_OK; i++) {
        uint32_t random = hc_round_random(s->seed, t, (uint64_t)(s->first + i));
        random = bits ? random >> (16 - bits) << (16 - bits) : random + 1;
        hc_tensor_set_bits(&call->out[HC_SGD_NEW_W], i, hc_bf16_stochastic(w[i], random));
    }
    free(w);
    return status;
}

/* A skipped step negates the compensation. */
static enum hc_status moves(const struct hc_fault_site *site, struct hc_queue *queue,
                            const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    bool skipped = hc_is_set(&call->in[HC_ADAM_FOUND_INF]);
    const struct hc_tensor *c = &call->out[HC_ADAM_NEW_COMPENSATION];
    for (int64_t i = 0; status == HC_OK && skipped && c->data && i < hc_tensor_count(c); i++)
        hc_tensor_set(c, i, -hc_tensor_get(c, i));
    return status;
}

static const struct hc_fault faults[] = {
    {"rounding-same-each-step", "weights are rounded with the same random numbers at each step",
     HC_FAULT_STOCHASTIC, "sgd", "stochastic/*", .wrong = same_each_step},
    {"rounding-same-each-element", "all weights are rounded with one random number",
     HC_FAULT_STOCHASTIC, "sgd", "stochastic/*", .wrong = same_each_element},
    {"rounding-one-more", "the random numbers of stochastic rounding are one too large",
     HC_FAULT_STOCHASTIC, "sgd", "stochastic/*", .wrong = other_random},
    {"rounding-two-bits", "stochastic rounding has random numbers of two bits", HC_FAULT_STOCHASTIC,
     "sgd", "stochastic/*", .wrong = other_random, .number = 2},
    {"compensation-wrong-sign", "SGD subtracts the compensation", HC_FAULT_STOCHASTIC, "sgd",
     "stochastic/*",
     .inputs = &(const struct hc_change){hc_everywhere, hc_negated, 0, HC_SGD_COMPENSATION}},
    {"compensation-not-carried", "AdamW's compensation is 0 after each step", HC_FAULT_STOCHASTIC,
     "adamw", "stochastic/*",
     .outputs = &(const struct hc_change){hc_everywhere, hc_to_zero, 0, HC_ADAM_NEW_COMPENSATION}},
    {"compensation-moves-when-skipped", "a skipped step of AdamW negates the compensation",
     HC_FAULT_STOCHASTIC, "adamw", "stochastic/*", .wrong = moves},
};

HC_FAULTS(stochastic, faults);
