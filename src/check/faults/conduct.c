/* Kernels that give the right result but break a rule of src/backend.h (hc_kernel), and kernels
   that only seem to work. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/selftest/change.h"

static bool is_also_output(const struct hc_call *call, int i)
{
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        if (call->out[o].data == call->in[i].data)
            return true;
    return false;
}

/* Number of elements of an input, 0 if it is also an output. */
static int64_t own_count(const struct hc_call *call, int i)
{
    return call->in[i].data && !is_also_output(call, i) ? hc_tensor_count(&call->in[i]) : 0;
}

static enum hc_status rounded_inputs(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        for (int64_t k = 0; k < own_count(call, i) && call->in[i].format != HC_I32; k++)
            hc_tensor_set(&call->in[i], k, hc_round(HC_BF16, hc_tensor_get(&call->in[i], k)));
    return site->right(queue, call);
}

static enum hc_status zeroed_inputs(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        for (int64_t k = 0; k < own_count(call, i); k++)
            hc_tensor_set_bits(&call->in[i], k, 0);
    return status;
}

/* Flushes subnormal inputs in place, as some hardware would. */
static enum hc_status flushed_inputs(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_FIRST];
    double least = ldexp(1, hc_formats[x->format].emin);
    for (int64_t k = 0; k < own_count(call, 0); k++)
        if (fabs(hc_tensor_get(x, k)) < least)
            hc_tensor_set_bits(x, k, 0);
    return site->right(queue, call);
}

/* Also writes an element beside the first output: -1 is the one before it, n >= 0 the one n past
   its end. */
static enum hc_status beside(const struct hc_fault_site *site, struct hc_queue *queue,
                             const struct hc_call *call)
{
    int64_t at = (int64_t)site->fault->number;
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *y = &call->out[HC_FIRST];
    if (status == HC_OK && y->data)
        hc_tensor_set_bits(y, at < 0 ? at : hc_tensor_count(y) + at, 0);
    return status;
}

/* The same beside the first input. */
static enum hc_status beside_input(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    int64_t at = (int64_t)site->fault->number;
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *x = &call->in[HC_FIRST];
    if (status == HC_OK && x->data)
        hc_tensor_set_bits(x, at < 0 ? at : hc_tensor_count(x) + at, 0);
    return status;
}

/* Writes only the first 1 / `number` of the elements, or none. */
static enum hc_status part(const struct hc_fault_site *site, struct hc_queue *queue,
                           const struct hc_call *call)
{
    int64_t of = (int64_t)site->fault->number;
    struct hc_call aside = *call;
    const struct hc_tensor *y = &call->out[HC_FIRST];
    if (!y->data)
        return site->right(queue, call);
    aside.out[HC_FIRST].data = hc_fault_copy(y);
    enum hc_status status = site->right(queue, &aside);
    int64_t n = of && status == HC_OK ? hc_tensor_count(y) / of : 0;
    memcpy(y->data, aside.out[HC_FIRST].data, (size_t)n * (size_t)hc_formats[y->format].bytes);
    free(aside.out[HC_FIRST].data);
    return status;
}

/* State between calls. A process has one fault. */
static struct {
    const void *seen;
    int calls;
} kept;

/* Does nothing for an output that it has just seen. */
static enum hc_status once(const struct hc_fault_site *site, struct hc_queue *queue,
                           const struct hc_call *call)
{
    if (kept.seen == call->out[HC_FIRST].data)
        return HC_OK;
    kept.seen = call->out[HC_FIRST].data;
    return site->right(queue, call);
}

static enum hc_status by_turns(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *y = &call->out[HC_FIRST];
    if (status == HC_OK && kept.calls++ % 2 && hc_tensor_count(y) > 0)
        hc_tensor_set_bits(y, 0, hc_tensor_bits(y, 0) ^ 1);
    return status;
}

/* Adds the first element of the old output to the new one. */
static enum hc_status onto_output(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_FIRST];
    double was = hc_tensor_count(y) > 0 && !is_also_output(call, 0) ? hc_tensor_get(y, 0) : 0;
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK && was != 0)
        hc_tensor_set(y, 0, hc_tensor_get(y, 0) + was);
    return status;
}

/* Refuses numbers of unusual size. */
static enum hc_status only_easy(const struct hc_fault_site *site, struct hc_queue *queue,
                                const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_FIRST];
    for (int64_t i = 0; x->data && i < hc_tensor_count(x); i++) {
        double size = fabs(hc_tensor_get(x, i));
        if (size != 0 && !(size > 0x1p-8 && size < 0x1p8))
            return hc_fail(HC_UNSUPPORTED, "%s: not such numbers", hc_ops[call->op].name);
    }
    return site->right(queue, call);
}

/* Right at the sizes that a test would use: up to 66, powers of two, and 255 to 258. Otherwise the
   middle element is off by one bit. */
static enum hc_status at_known_sizes(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *y = &call->out[HC_FIRST];
    int64_t n = y->data ? hc_tensor_count(y) : 0;
    bool known = n <= 66 || (n & (n - 1)) == 0 || (n >= 255 && n <= 258);
    if (status == HC_OK && !known)
        hc_tensor_set_bits(y, n / 2, hc_tensor_bits(y, n / 2) ^ 1);
    return status;
}

/* Computes, and then reports that it could not. */
static enum hc_status refused(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    (void)site->right(queue, call);
    return hc_fail(HC_UNSUPPORTED, "%s: not today", hc_ops[call->op].name);
}

static void *allocate(struct hc_queue *queue, size_t bytes)
{
    (void)queue;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void release(struct hc_queue *queue, void *memory)
{
    (void)queue;
    free(memory);
}

/* Memory of its own behind copies, like a device's. */
static void set_apart(struct hc_backend *faulty)
{
    faulty->host_memory = false;
    faulty->allocate = allocate;
    faulty->release = release;
}

static const struct hc_fault faults[] = {
    {"inputs-in-bf16", "inputs are rounded to bf16 in place", HC_FAULT_INPUTS, "*",
     "op/* bits/* eps/* rounding/*", .wrong = rounded_inputs},
    {"gemm-inputs-in-bf16", "a matrix product rounds its inputs to bf16 in place", HC_FAULT_INPUTS,
     "gemm", "op/gemm/*", .wrong = rounded_inputs, .place = HC_PLACE_HOST},
    {"conv-inputs-in-bf16-apart", "a convolution rounds its inputs on the device", HC_FAULT_INPUTS,
     "conv2d", "op/conv2d/*", .wrong = rounded_inputs, .rebuild = set_apart},
    {"inputs-zeroed", "inputs are zeroed after a correct result", HC_FAULT_INPUTS, "*",
     "op/* bits/*", .wrong = zeroed_inputs, .place = HC_PLACE_HOST},
    {"inputs-zeroed-apart", "inputs are zeroed on the device after a correct result",
     HC_FAULT_INPUTS, "*", "op/* bits/*", .wrong = zeroed_inputs, .rebuild = set_apart},
    {"sum-flushes-its-inputs", "a sum flushes its subnormal terms in place", HC_FAULT_INPUTS,
     "sum dot sum_squares", "op/sum/* op/dot/*", .wrong = flushed_inputs},
    {"one-before", "the element before an output is written", HC_FAULT_OUTSIDE, "*", "op/* bits/*",
     .wrong = beside, .number = -1},
    {"one-before-apart", "the element before an output is written on the device", HC_FAULT_OUTSIDE,
     "*", "op/* bits/*", .wrong = beside, .number = -1, .rebuild = set_apart},
    {"one-behind", "the element behind an output is written", HC_FAULT_OUTSIDE, "*", "op/* bits/*",
     .wrong = beside, .place = HC_PLACE_HOST},
    {"one-behind-apart", "the element behind an output is written on the device", HC_FAULT_OUTSIDE,
     "*", "op/* bits/*", .wrong = beside, .rebuild = set_apart},
    {"eight-behind-add", "add writes the eighth element past the end of its output",
     HC_FAULT_OUTSIDE, "add sub mul", "op/add/* bits/add/*", .wrong = beside, .number = 7},
    {"before-an-input", "the element before an input is written", HC_FAULT_OUTSIDE,
     "cast scale gemm", "op/cast/* op/scale/* op/gemm/*", .wrong = beside_input, .number = -1},
    {"behind-an-input", "the element behind an input is written", HC_FAULT_OUTSIDE,
     "adam bn_train xent", "op/adam/* op/bn_train/* op/xent/*", .wrong = beside_input,
     .place = HC_PLACE_HOST},
    {"writes-nothing", "no op writes anything", HC_FAULT_CHEAT, "*", "op/* bits/* eps/* rounding/*",
     .wrong = part},
    {"writes-nothing-apart", "no op writes anything on the device", HC_FAULT_CHEAT, "*",
     "op/* bits/*", .wrong = part, .rebuild = set_apart},
    {"writes-half", "the second half of an output is not written", HC_FAULT_CHEAT, "*",
     "op/* bits/*", .wrong = part, .number = 2, .place = HC_PLACE_HOST},
    {"once-by-pointer", "nothing is computed for an output that was just computed", HC_FAULT_CHEAT,
     "*", "op/* bits/*", .wrong = once},
    {"off-by-turns", "every second call is off by one bit", HC_FAULT_STATE, "*", "op/* bits/*",
     .wrong = by_turns},
    {"adds-to-its-output", "a result is added to what its output held", HC_FAULT_STATE, "*", "op/*",
     .wrong = onto_output, .place = HC_PLACE_HOST},
    {"refuses-what-is-hard", "numbers that are not of ordinary size are refused", HC_FAULT_CHEAT,
     "*", "op/*", .wrong = only_easy},
    {"right-at-known-sizes", "results are correct only at the sizes that tests have",
     HC_FAULT_CHEAT, "add scale cast adam",
     "border/add/* border/scale/* border/cast/* border/adam/*", .wrong = at_known_sizes,
     .place = HC_PLACE_HOST},
    {"refuses-and-writes", "a call is refused after its output is written", HC_FAULT_CHEAT,
     "conv2d gemm", "op/conv2d/* op/gemm/*", .wrong = refused},
};

HC_FAULTS(conduct, faults);
