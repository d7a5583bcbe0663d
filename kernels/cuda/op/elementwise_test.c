/* Elementwise device kernels, emulated: more elements than one round of the grid's vectors has, and
   a rest. */
#include <string.h>

#include "kernels/cuda/kernel/vector.h"
#include "kernels/cuda/launch.h"
#include "kernels/exact/testing.h"
#include "num/rng.h"

enum { ROUND = HC_CUDA_BLOCKS * HC_CUDA_THREADS * HC_DK_WIDE, COUNT = ROUND + 3 * HC_DK_WIDE + 5 };

/* `shift` elements behind a place that is aligned to 64. */
static struct hc_tensor placed(enum hc_format format, int64_t shift)
{
    struct hc_tensor wider = made(hc_tensor1(format, COUNT + 64, NULL));
    size_t bytes = (size_t)hc_formats[format].bytes;
    char *aligned = (char *)wider.data + (64 - (uintptr_t)wider.data % 64) % 64;
    return hc_tensor1(format, COUNT, aligned + (size_t)shift * bytes);
}

static struct hc_tensor drawn(enum hc_format format, int64_t shift, uint64_t stream)
{
    struct hc_tensor t = placed(format, shift);
    for (int64_t i = 0; i < COUNT; i++)
        hc_tensor_set_bits(&t, i,
                           hc_random(7, stream, (uint64_t)i) >> (format == HC_FP32 ? 32 : 48));
    return t;
}

static enum hc_status run_on(const char *name, const struct hc_call *call)
{
    const struct hc_backend *backend = hc_backend_by_name(name);
    struct hc_queue *queue = NULL;
    cr_assert_eq(backend->open(backend, &queue, 1), HC_OK);
    enum hc_status status = backend->kernel[call->op](queue, call);
    backend->close(queue);
    return status;
}

static bool is_nan(enum hc_format format, uint64_t bits)
{
    double value = hc_decode(format, bits);
    return value != value;
}

/* The same bits as `exact`, but for those of a NaN that is computed. */
static void expect_same(struct hc_call call, bool computed)
{
    struct hc_tensor got = call.out[HC_OUT];
    struct hc_tensor want = placed(got.format, 0);
    int64_t wrong = 0;
    cr_assert_eq(run_on("cuda-emulated", &call), HC_OK, "%s", hc_message());
    call.out[HC_OUT] = want;
    cr_assert_eq(run_on("exact", &call), HC_OK, "%s", hc_message());
    for (int64_t i = 0; i < COUNT; i++) {
        uint64_t w = hc_tensor_bits(&want, i);
        uint64_t g = hc_tensor_bits(&got, i);
        wrong += w != g && !(computed && is_nan(got.format, w) && is_nan(got.format, g));
    }
    cr_expect_eq(wrong, 0, "%s into %s: %lld", hc_ops[call.op].name, hc_formats[got.format].name,
                 (long long)wrong);
}

Test(cuda_elementwise, in_vectors_and_the_rest_have_the_bits_of_exact)
{
    expect_same((struct hc_call){.op = HC_OP_cast,
                                 .in = {drawn(HC_FP32, 0, 1)},
                                 .out = {placed(HC_FP16, 0)},
                                 .params.cast = {HC_NEAREST}},
                false);
    expect_same((struct hc_call){.op = HC_OP_master_to_model,
                                 .in = {drawn(HC_BF16, 0, 2)},
                                 .out = {placed(HC_FP32, 0)}},
                false);
    expect_same((struct hc_call){.op = HC_OP_add,
                                 .in = {drawn(HC_FP16, 0, 3), drawn(HC_FP32, 0, 4)},
                                 .out = {placed(HC_BF16, 0)}},
                true);
}

/* One tensor is not aligned to a vector. */
Test(cuda_elementwise, element_by_element_has_the_same_bits)
{
    expect_same((struct hc_call){.op = HC_OP_add,
                                 .in = {drawn(HC_FP16, 1, 3), drawn(HC_FP16, 0, 4)},
                                 .out = {placed(HC_FP16, 0)}},
                true);
}
