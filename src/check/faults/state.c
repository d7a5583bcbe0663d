/* Results that depend on earlier calls, on what lay in memory, or on whether a call is in place. */
#include <stdlib.h>
#include <string.h>

#include "check/selftest/change.h"

/* State between calls, which a kernel must not keep. A process has one fault. */
static struct {
    int calls;
    bool known[HC_OP_ROOM];
    union hc_params params[HC_OP_ROOM];
    struct hc_tensor result;
} kept;

/* The first call's parameters serve all later calls of the op. */
static void first_parameters(struct hc_call *call, double number)
{
    (void)number;
    if (!kept.known[call->op])
        kept.params[call->op] = call->params;
    kept.known[call->op] = true;
    call->params = kept.params[call->op];
}

/* A call whose output has the last one's size repeats the last result. */
static enum hc_status last_result(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_FIRST];
    size_t bytes = hc_tensor_bytes(out);
    if (kept.result.data && kept.result.format == out->format &&
        hc_tensor_bytes(&kept.result) == bytes && hc_tensor_count(&kept.result) > 1) {
        memcpy(out->data, kept.result.data, bytes);
        return HC_OK;
    }
    enum hc_status status = site->right(queue, call);
    free(kept.result.data);
    kept.result = *out;
    kept.result.data = hc_fault_copy(out);
    return status;
}

/* One call of a hundred leaves out its first element. */
static enum hc_status hundredth_call(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_FIRST];
    uint64_t was = hc_tensor_count(out) > 0 ? hc_tensor_bits(out, 0) : 0;
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK && ++kept.calls % 100 == 0 && hc_tensor_count(out) > 0)
        hc_tensor_set_bits(out, 0, was);
    return status;
}

/* Gradients are divided by the scale of the call before. */
static enum hc_status earlier_scale(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    static float earlier;
    struct hc_call bad = *call;
    float scale = (float)hc_tensor_get(&call->in[HC_UNSCALE_SCALE], 0);
    if (earlier == 0)
        earlier = scale;
    bad.in[HC_UNSCALE_SCALE].data = &earlier;
    enum hc_status status = site->right(queue, &bad);
    earlier = scale;
    return status;
}

static bool is_in_place(const struct hc_call *call)
{
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        for (int i = 0; i < hc_ops[call->op].inputs; i++)
            if (call->out[o].data && call->out[o].data == call->in[i].data)
                return true;
    return false;
}

/* In place the op is applied twice. */
static enum hc_status twice(const struct hc_fault_site *site, struct hc_queue *queue,
                            const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    return status == HC_OK && is_in_place(call) ? site->right(queue, call) : status;
}

/* In place of another operand than the first, the first one is there before the others are read. */
static enum hc_status first_copied(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_OUT];
    if (is_in_place(call) && call->in[HC_X].format == out->format)
        memmove(out->data, call->in[HC_X].data, hc_tensor_bytes(out));
    return site->right(queue, call);
}

static enum hc_status refused(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    if (is_in_place(call))
        return hc_fail(HC_UNSUPPORTED, "%s: not in place", hc_ops[call->op].name);
    return site->right(queue, call);
}

/* In place every second element is read where its neighbour has been written. */
static bool odd_in_place(const struct hc_changed_element *e)
{
    return is_in_place(e->call) && e->i % 2 == 1;
}

static uint64_t neighbour(const struct hc_changed_element *e, uint64_t bits)
{
    (void)bits;
    return hc_changed_right(e, e->i - 1);
}

/* Zeros are not written. */
static bool is_zero(const struct hc_changed_element *e)
{
    return hc_changed_right(e, e->i) == 0;
}

static const struct hc_change added = {hc_everywhere, hc_added, 0, HC_FIRST};
static const struct hc_change zeros_kept = {is_zero, hc_kept, 0, HC_FIRST};
static const struct hc_change neighbours = {odd_in_place, neighbour, 0, HC_FIRST};

static const struct hc_fault faults[] = {
    {"gemm-adds-to-its-output", "a matrix product adds to what lay in its output", HC_FAULT_STATE,
     "gemm", "op/gemm/*", .outputs = &added},
    {"conv-adds-to-its-output", "a convolution adds to what lay in its output", HC_FAULT_STATE,
     "conv2d conv2d_bwd_data", "op/conv2d/* op/conv2d_bwd_data/*", .outputs = &added,
     .place = HC_PLACE_HOST},
    {"conv-filter-adds-to-its-output", "a convolution's filter gradient adds to what lay there",
     HC_FAULT_STATE, "conv2d_bwd_filter", "op/conv2d_bwd_filter/*", .outputs = &added},
    {"sum-adds-to-its-output", "a sum begins with what lay in its output", HC_FAULT_STATE,
     "sum dot", "op/sum/* op/dot/*", .outputs = &added, .place = HC_PLACE_HOST},
    {"zeros-not-written", "elements that are 0 are not written", HC_FAULT_STATE,
     "mul fma leaky_relu_bwd unscale", "op/mul/* op/leaky_relu_bwd/* bits/unscale/*",
     .outputs = &zeros_kept},
    {"pool-gradient-adds", "the gradient of a mean adds to what lay in its output", HC_FAULT_STATE,
     "avg_pool_bwd xent_bwd", "op/avg_pool_bwd/* op/xent_bwd/*", .outputs = &added},
    {"gemm-plans-by-shape", "a matrix product keeps the first call's parameters", HC_FAULT_STATE,
     "gemm", "op/gemm/*", .change = first_parameters, .place = HC_PLACE_HOST},
    {"norm-plans-by-shape", "batch norm with leaky ReLU keeps the first call's parameters",
     HC_FAULT_STATE, "bn_leaky_* bn_*", "batchnorm/*", .change = first_parameters},
    {"adam-plans-by-shape", "Adam keeps the first call's parameters", HC_FAULT_STATE, "adam",
     "op/adam/fp32/* bits/adam/*", .change = first_parameters},
    {"cast-keeps-a-direction", "casts keep the first call's direction", HC_FAULT_STATE, "cast",
     "op/cast/* bits/cast/*", .change = first_parameters, .place = HC_PLACE_HOST},
    {"unscale-earlier-scale", "gradients are divided by the scale of those before", HC_FAULT_STATE,
     "unscale", "bits/unscale/* training/restated-steps-amp", .wrong = earlier_scale},
    {"add-gives-the-last-result", "add repeats its last result for another call of that size",
     HC_FAULT_STATE, "add", "op/add/* bits/add/*", .wrong = last_result},
    {"conv-gives-the-last-result",
     "a convolution repeats its last result for another call of that size", HC_FAULT_STATE,
     "conv2d", "op/conv2d/*", .wrong = last_result, .place = HC_PLACE_HOST},
    {"every-hundredth-call", "every hundredth call leaves out its first element", HC_FAULT_STATE,
     "*", "op/* bits/*", .wrong = hundredth_call, .place = HC_PLACE_HOST},
    {"leaky-twice-in-place", "in place leaky ReLU is applied twice", HC_FAULT_IN_PLACE,
     "leaky_relu leaky_relu_bwd", "op/leaky_relu/*in-place* op/leaky_relu_bwd/*in-place*",
     .wrong = twice, .place = HC_PLACE_HOST},
    {"add-twice-in-place", "in place arithmetic is applied twice", HC_FAULT_IN_PLACE,
     "add sub mul div", "op/add/*in-place* op/mul/*in-place*", .wrong = twice},
    {"adam-twice-in-place", "in place an optimizer steps twice", HC_FAULT_IN_PLACE,
     "sgd adam adamw", "op/sgd/*in-place* op/adam/*in-place*", .wrong = twice,
     .place = HC_PLACE_HOST},
    {"unscale-twice-in-place", "in place gradients are unscaled twice", HC_FAULT_IN_PLACE,
     "unscale", "op/unscale/*in-place* order/*", .wrong = twice},
    {"scale-overwrites-in-place", "in place scale reads an element after its neighbour is written",
     HC_FAULT_IN_PLACE, "scale axpy", "op/scale/*in-place* op/axpy/*in-place*",
     .outputs = &neighbours, .place = HC_PLACE_HOST},
    {"adamw-overwrites-in-place",
     "in place AdamW writes weights before it has read their neighbours", HC_FAULT_IN_PLACE,
     "adamw", "op/adamw/*in-place*", .outputs = &neighbours},
    {"first-operand-copied-in-place",
     "in place of another operand arithmetic copies its first one there before it reads",
     HC_FAULT_IN_PLACE, "add sub mul div fma axpy leaky_relu_bwd",
     "op/add/*in-place-of-y/* op/fma/*in-place-of-z/* op/axpy/*in-place-of-y/* "
     "op/leaky_relu_bwd/*in-place-of-dy/*",
     .wrong = first_copied},
    {"statistics-twice-in-place", "in place running statistics are updated twice",
     HC_FAULT_IN_PLACE, "bn_train bn_leaky_train",
     "op/bn_train/*in-place* op/bn_leaky_train/*in-place*", .wrong = twice},
    {"squares-twice-in-place", "in place a sum of squares is added twice", HC_FAULT_IN_PLACE,
     "sum_squares", "op/sum_squares/*in-place*", .wrong = twice, .place = HC_PLACE_HOST},
    {"fma-not-in-place", "fma refuses to work in place", HC_FAULT_IN_PLACE, "fma sqrt",
     "op/fma/*in-place* op/sqrt/*in-place*", .wrong = refused, .shown = HC_UNIMPLEMENTED},
    {"scaler-twice-in-place", "in place a scale is updated twice", HC_FAULT_IN_PLACE,
     "scaler_update", "scaler/one-update", .wrong = twice, .place = HC_PLACE_HOST},
};

HC_FAULTS(state, faults);
