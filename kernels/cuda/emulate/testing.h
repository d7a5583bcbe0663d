/* For the tests of gemm and of convolutions through the stand-ins: calls on small integers, whose
   sums are exact in fp32 in any order, and a library that can alter the arguments of a call. */
#ifndef HC_KERNELS_CUDA_EMULATE_TESTING_H
#define HC_KERNELS_CUDA_EMULATE_TESTING_H

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/emulate/library.h"
#include "kernels/cuda/library/handles.h"
#include "kernels/exact/testing.h"

/* The queue's library: the stand-ins, of which a test replaces functions. */
static struct hc_library altered;
static struct hc_queue *queue;

static inline void begin(void)
{
    cr_assert_eq(
        hc_backend_by_name("cuda-emulated")->open(hc_backend_by_name("cuda-emulated"), &queue, 1),
        HC_OK, "%s", hc_message());
    altered = hc_library_emulated;
    queue->libraries->library = &altered;
}

static inline void end(void)
{
    hc_backend_by_name("cuda-emulated")->close(queue);
}

/* Runs the call with `missing` bytes less scratch than it asks for, between the backend's guards.
   Returns how many elements differ from the reference, or -1 if the call failed. */
static inline int64_t run(struct hc_call *call, size_t missing)
{
    const struct hc_backend *backend = hc_backend_by_name("cuda-emulated");
    size_t bytes = backend->scratch(queue, call);
    int64_t wrong = 0;
    cr_assert_eq(hc_call_check(call), HC_OK, "%s", hc_message());
    call->scratch = bytes ? backend->allocate(queue, bytes - missing) : NULL;
    enum hc_status status = backend->kernel[call->op](queue, call);
    backend->release(queue, call->scratch);
    call->scratch = NULL;
    if (status != HC_OK)
        return -1;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_FIRST]); i++)
        wrong += hc_decode(call->out[HC_FIRST].format, wanted(call, HC_FIRST, i)) !=
                 hc_tensor_get(&call->out[HC_FIRST], i); /* +0 is -0 */
    return wrong;
}

/* A copy of the shape with zeroed memory of its own, aligned as cuDNN's plans rely on. */
static inline struct hc_tensor aligned(struct hc_tensor t)
{
    struct hc_tensor wider = made(hc_tensor1(t.format, hc_tensor_count(&t) + 16, NULL));
    t.data = (char *)wider.data + (16 - (uintptr_t)wider.data % 16) % 16;
    return t;
}

static inline struct hc_tensor integers(struct hc_tensor shape, int64_t salt)
{
    struct hc_tensor t = aligned(shape);
    for (int64_t i = 0; i < hc_tensor_count(&t); i++)
        hc_tensor_set(&t, i, (double)((i * 3 + salt * 7 + i * i % 17) % 9 - 4));
    return t;
}

#endif
