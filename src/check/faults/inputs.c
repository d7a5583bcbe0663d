/* Kernels that change their inputs or write outside their outputs. Their results are right. */
#include <stdlib.h>
#include <string.h>

#include "check/selftest/change.h"

/* Whether input i must keep its bytes, because it is not also an output. */
static bool stays(const struct hc_call *call, int i)
{
    const struct hc_tensor *t = &call->in[i];
    bool output = !t->data || hc_tensor_count(t) == 0;
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        output = output || call->out[o].data == t->data;
    return !output;
}

/* Changes made to the caller's own inputs, before or after the sound kernel. */
struct spoiled {
    hc_where *where;
    hc_what *what;
    int slot; /* or HC_ALL_SLOTS */
    bool before;
};

static void spoil(const struct hc_call *call, const struct spoiled *row)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++) {
        const struct hc_tensor *t = &call->in[i];
        bool integers = hc_is_integer(&hc_formats[t->format]);
        if (!stays(call, i) || (row->slot == HC_ALL_SLOTS ? integers : row->slot != i))
            continue;
        struct hc_changed_element e = {call, t->format, 0, hc_tensor_count(t), 0, t->data, t->data};
        for (; e.i < e.n; e.i++)
            if (row->where(&e))
                hc_tensor_set_bits(t, e.i, row->what(&e, hc_tensor_bits(t, e.i)));
    }
}

static enum hc_status spoils(const struct hc_fault_site *site, struct hc_queue *queue,
                             const struct hc_call *call)
{
    const struct spoiled *row = site->fault->data;
    if (row->before)
        spoil(call, row);
    enum hc_status status = site->right(queue, call);
    if (!row->before && status == HC_OK)
        spoil(call, row);
    return status;
}

/* Writes one byte that far past the end of a tensor's bytes, or before their beginning if
   negative. */
struct reach {
    int64_t bytes;
    bool input; /* of the first input, otherwise of the first output */
};

static enum hc_status reaches(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    const struct reach *reach = site->fault->data;
    const struct hc_tensor *t = reach->input ? &call->in[HC_FIRST] : &call->out[HC_FIRST];
    enum hc_status status = site->right(queue, call);
    if (status != HC_OK || !t->data)
        return status;
    unsigned char *at = t->data;
    at += reach->bytes < 0 ? reach->bytes : (int64_t)hc_tensor_bytes(t) + reach->bytes - 1;
    *at = (unsigned char)(*at + 1);
    return status;
}

static enum hc_status past_scratch(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    size_t bytes = hc_backend_by_name("exact")->scratch(queue, call);
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK && call->scratch && bytes > 0)
        ((unsigned char *)call->scratch)[bytes]++;
    return status;
}

static const struct hc_fault faults[] = {
    {"gemm-rounds-its-inputs", "a matrix product rounds its inputs into bf16 in place",
     HC_FAULT_INPUTS, "gemm", "op/gemm/fp32/* products/*", .wrong = spoils,
     .data = &(const struct spoiled){hc_everywhere, hc_through_bf16, HC_ALL_SLOTS, true}},
    {"all-round-their-inputs", "every op rounds its inputs into bf16 in place", HC_FAULT_INPUTS,
     "*", "op/add/* op/conv2d/* op/adam/* training/step-fp32", .wrong = spoils,
     .data = &(const struct spoiled){hc_everywhere, hc_through_bf16, HC_ALL_SLOTS, true},
     .place = HC_PLACE_HOST},
    {"conv-zeroes-its-pixels", "a convolution leaves its pixels 0", HC_FAULT_INPUTS, "conv2d",
     "op/conv2d/*", .wrong = spoils,
     .data = &(const struct spoiled){hc_everywhere, hc_to_zero, HC_CONV_X, false}},
    {"conv-zeroes-its-filter-on-a-device", "a convolution on a device leaves its filter 0",
     HC_FAULT_INPUTS, "conv2d conv2d_bwd_data", "op/conv2d/* op/conv2d_bwd_data/*", .wrong = spoils,
     .data = &(const struct spoiled){hc_everywhere, hc_to_zero, HC_CONV_SECOND, false},
     .place = HC_PLACE_HOST, .rebuild = hc_play_device},
    {"norm-normalises-in-place", "batch norm changes the last pixel that it reads", HC_FAULT_INPUTS,
     "bn_train bn_leaky_train", "op/bn_train/* op/bn_leaky_train/*", .wrong = spoils,
     .data = &(const struct spoiled){hc_at_the_end, hc_negated, HC_BN_X, false}},
    {"loss-shifts-its-logits", "the loss leaves one of its logits an ulp off", HC_FAULT_INPUTS,
     "xent", "op/xent/*", .wrong = spoils,
     .data = &(const struct spoiled){hc_at_one, hc_one_ulp_up, HC_XENT_LOGITS, false},
     .place = HC_PLACE_HOST},
    {"sgd-decays-its-gradient", "SGD flushes subnormal gradients in place", HC_FAULT_INPUTS, "sgd",
     "op/sgd/* bits/sgd/*", .wrong = spoils,
     .data = &(const struct spoiled){hc_everywhere, hc_flushed, HC_SGD_G, false}},
    {"adam-clears-its-gradient", "Adam leaves its gradient 0", HC_FAULT_INPUTS, "adam adamw",
     "op/adam/* bits/adamw/*", .wrong = spoils,
     .data = &(const struct spoiled){hc_everywhere, hc_to_zero, HC_ADAM_G, false},
     .place = HC_PLACE_HOST},
    {"unscale-clears-found", "unscale clears the overflow flag that it reads", HC_FAULT_INPUTS,
     "unscale", "op/unscale/* bits/unscale/*", .wrong = spoils,
     .data = &(const struct spoiled){hc_everywhere, hc_to_zero, HC_UNSCALE_FOUND_INF, false}},
    {"labels-cleared", "the gradient of the loss leaves its labels 0", HC_FAULT_INPUTS, "xent_bwd",
     "op/xent_bwd/*", .wrong = spoils,
     .data = &(const struct spoiled){hc_everywhere, hc_to_zero, HC_XENT_LABELS, false}},
    {"add-writes-behind", "add writes a byte past the end of its output", HC_FAULT_OUTSIDE, "add",
     "op/add/* bits/add/*", .wrong = reaches, .data = &(const struct reach){1, false}},
    {"mul-writes-before", "mul writes a byte before its output", HC_FAULT_OUTSIDE, "mul",
     "op/mul/* bits/mul/*", .wrong = reaches, .data = &(const struct reach){-1, false},
     .place = HC_PLACE_HOST},
    {"gemm-writes-a-row-behind", "a matrix product writes 16 bytes past the end of its output",
     HC_FAULT_OUTSIDE, "gemm", "op/gemm/*", .wrong = reaches,
     .data = &(const struct reach){16, false}, .place = HC_PLACE_HOST},
    {"conv-writes-behind-on-a-device", "a convolution on a device writes behind its output",
     HC_FAULT_OUTSIDE, "conv2d", "op/conv2d/*", .wrong = reaches,
     .data = &(const struct reach){1, false}, .rebuild = hc_play_device},
    {"norm-writes-before-on-a-device", "batch norm on a device writes before its output",
     HC_FAULT_OUTSIDE, "bn_train bn_bwd", "op/bn_train/* op/bn_bwd/*", .wrong = reaches,
     .data = &(const struct reach){-4, false}, .place = HC_PLACE_HOST, .rebuild = hc_play_device},
    {"sgd-writes-behind", "SGD writes 64 bytes past the end of the weights", HC_FAULT_OUTSIDE,
     "sgd", "op/sgd/* bits/sgd/*", .wrong = reaches, .data = &(const struct reach){64, false}},
    {"leaky-writes-behind-its-input", "leaky ReLU writes a byte past the end of its input",
     HC_FAULT_OUTSIDE, "leaky_relu", "op/leaky_relu/*", .wrong = reaches,
     .data = &(const struct reach){1, true}, .place = HC_PLACE_HOST},
    {"pool-writes-before-its-input", "a mean over windows writes a byte before its input",
     HC_FAULT_OUTSIDE, "avg_pool", "op/avg_pool/*", .wrong = reaches,
     .data = &(const struct reach){-1, true}},
    {"gemm-writes-behind-its-scratch", "a matrix product writes a byte past the end of its scratch",
     HC_FAULT_OUTSIDE, "gemm conv2d_bwd_filter", "op/gemm/* op/conv2d_bwd_filter/*",
     .wrong = past_scratch},
    {"step-log-writes-behind", "the step log writes one word past its last row", HC_FAULT_OUTSIDE,
     "step_log", "op/step_log/* bits/step_log/*", .wrong = reaches,
     .data = &(const struct reach){4, false}},
};

HC_FAULTS(inputs, faults);
