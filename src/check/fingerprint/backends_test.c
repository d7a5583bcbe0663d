/* Backends that are not as simple as a unit, or no backends at all. */
#include <stdio.h>

#include "check/fingerprint/testing.h"

static enum hc_status right(struct hc_queue *queue, const struct hc_call *call)
{
    return hc_backend_by_name("exact")->kernel[HC_OP_gemm](queue, call);
}

Test(fingerprint, calls_plain_sums_plain)
{
    struct hc_fingerprint f = fingerprint_of_kernel(right, HC_BF16);
    cr_expect(hc_fingerprint_is_plain(&f));
    cr_expect_eq(f.main.order, HC_SUM_IN_ORDER);
    cr_expect_eq(f.main.c, HC_SUM_C_LAST);
    cr_expect(f.main.rounded);
    for (int i = 0; i < f.other_count; i++)
        cr_expect(f.other[i].same);
    cr_expect_eq(f.other_count, 3);
}

Test(fingerprint, costs_few_calls)
{
    kernel_calls = 0;
    struct hc_fingerprint f = fingerprint_of_unit(hc_unit_by_name("a100-bf16-fp32"));
    cr_expect_lt(f.calls, 300);
    cr_expect_leq(kernel_calls, 2 * f.calls, "each call is run twice by its guards");
}

/* A library that leaves C out of the unit. */
static enum hc_status c_afterwards(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_call without = *call;
    without.params.gemm.beta = 0;
    enum hc_status status = unit_gemm(queue, &without);
    int64_t n = call->out[HC_GEMM_OUT].shape[1];
    for (int64_t i = 0; i < n && call->params.gemm.beta != 0; i++) {
        double sum = hc_tensor_get(&call->out[HC_GEMM_OUT], i * n + i);
        hc_tensor_set(&call->out[HC_GEMM_OUT], i * n + i,
                      sum + hc_tensor_get(&call->in[HC_GEMM_C], i * n + i));
    }
    return status;
}

Test(fingerprint, names_a_unit_whose_library_adds_c_afterwards)
{
    unit_under_test = *hc_unit_by_name("h100wgmma-bf16-fp32");
    struct hc_fingerprint f = fingerprint_of_kernel(c_afterwards, HC_BF16);
    cr_expect_eq(f.main.c, HC_SUM_C_LAST);
    cr_expect(is_named(&f, "h100wgmma-bf16-fp32"));
}

static enum hc_status no_c(struct hc_queue *queue, const struct hc_call *call)
{
    if (call->params.gemm.beta != 0)
        return hc_fail(HC_UNSUPPORTED, "no C");
    return unit_gemm(queue, call);
}

Test(fingerprint, names_a_unit_that_is_given_no_c)
{
    unit_under_test = *hc_unit_by_name("a100-fp16-fp32");
    struct hc_fingerprint f = fingerprint_of_kernel(no_c, HC_FP16);
    cr_expect_eq(f.main.c, HC_SUM_C_NONE);
    cr_expect(is_named(&f, "a100-fp16-fp32"));
}

/* One element comes from plain fp32. */
static enum hc_status plain_vectors(struct hc_queue *queue, const struct hc_call *call)
{
    return call->out[HC_GEMM_OUT].shape[1] == 1 ? right(queue, call) : unit_gemm(queue, call);
}

Test(fingerprint, says_which_sizes_sum_otherwise)
{
    unit_under_test = *hc_unit_by_name("a100-fp16-fp32");
    struct hc_fingerprint f = fingerprint_of_kernel(plain_vectors, HC_FP16);
    struct hc_accumulator a;
    char text[HC_FINGERPRINT_TEXT];
    cr_expect(is_named(&f, "a100-fp16-fp32"));
    cr_expect(!f.other[0].same);
    cr_expect_eq(f.other[0].found.order, HC_SUM_IN_ORDER);
    cr_expect(f.other[1].same && f.other[2].same);
    cr_expect(hc_fingerprint_accumulator(&f, &a));
    cr_expect_eq(a.block, 8, "the coarser of the two");
    hc_fingerprint_text(&f, text);
    cr_expect_not_null(strstr(text, "-fp16-fp32; not at 1 x 1 x 64; bits "), "%s", text);
}

Test(fingerprint, of_the_same_bits_has_the_same_text_and_of_others_another)
{
    char first[HC_FINGERPRINT_TEXT];
    char again[HC_FINGERPRINT_TEXT];
    char other[HC_FINGERPRINT_TEXT];
    struct hc_unit changed = *hc_unit_by_name("a100-bf16-fp32");
    struct hc_fingerprint f = fingerprint_of_unit(&changed);
    hc_fingerprint_text(&f, first);
    f = fingerprint_of_unit(&changed);
    hc_fingerprint_text(&f, again);
    cr_expect_str_eq(first, again);
    changed.nan = 0x7fc00000;
    f = fingerprint_of_unit(&changed);
    hc_fingerprint_text(&f, other);
    cr_expect_str_neq(first, other, "a NaN alone");
}

static void expect_no_fingerprint(hc_kernel *kernel, enum hc_status want, const char *words)
{
    static struct hc_backend backend;
    struct hc_queue *queue;
    struct hc_fingerprint f;
    backend = *hc_backend_by_name("exact");
    backend.kernel[HC_OP_gemm] = kernel;
    backend.nondeterministic = true;
    cr_assert_eq(backend.open(&backend, &queue, 1), HC_OK);
    cr_expect_eq(hc_fingerprint(&backend, queue, HC_FP16, &f), want);
    cr_expect_not_null(strstr(hc_message(), words), "%s", hc_message());
    backend.close(queue);
}

static enum hc_status all_nan(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_GEMM_OUT]); i++)
        hc_tensor_set(&call->out[HC_GEMM_OUT], i, (double)NAN);
    return HC_OK;
}

static int64_t dice;

static enum hc_status now_and_then(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = right(queue, call);
    uint64_t bits = hc_tensor_bits(&call->out[HC_GEMM_OUT], 0);
    if (dice++ > 60 && dice % 5 == 0)
        hc_tensor_set_bits(&call->out[HC_GEMM_OUT], 0, bits ^ 1);
    return status;
}

static enum hc_status no_fp16(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return hc_fail(HC_UNSUPPORTED, "gemm takes no %s here",
                   hc_formats[call->in[HC_GEMM_A].format].name);
}

static enum hc_status dies(struct hc_queue *queue, const struct hc_call *call)
{
    return dice++ < 40 ? right(queue, call) : hc_fail(HC_DEVICE, "the device is gone");
}

Test(fingerprint, is_refused_where_there_is_nothing_to_find)
{
    expect_no_fingerprint(NULL, HC_UNSUPPORTED, "gemm");
    expect_no_fingerprint(no_fp16, HC_UNSUPPORTED, "gemm takes no fp16 here");
    expect_no_fingerprint(all_nan, HC_DEVICE, "gives nan where 0 is exact: no fingerprint");
    expect_no_fingerprint(now_and_then, HC_DEVICE, "other bits for the same call: no fingerprint");
    dice = 0;
    expect_no_fingerprint(dies, HC_DEVICE, "the device is gone");
}

/* Its stand-ins for cuBLAS and cuDNN have an H100's unit (kernels/cuda/emulate/sum.c). */
Test(fingerprint, names_the_unit_of_the_emulated_cuda)
{
    static const enum hc_format formats[] = {HC_FP16, HC_BF16, HC_TF32};
    const struct hc_backend *b = hc_backend_by_name("cuda-emulated");
    struct hc_queue *queue;
    cr_assert_eq(b->open(b, &queue, 1), HC_OK);
    for (int i = 0; i < 3; i++) {
        struct hc_fingerprint f;
        char want[32];
        (void)snprintf(want, sizeof want, "h100wgmma-%s-fp32", hc_formats[formats[i]].name);
        cr_assert_eq(hc_fingerprint(b, queue, formats[i], &f), HC_OK, "%s", hc_message());
        cr_expect(is_named(&f, want), "%s", want);
        cr_expect_eq(f.main.c, HC_SUM_C_LAST);
        for (int o = 0; o < f.other_count; o++)
            cr_expect(f.other[o].same, "%s at size %d", want, o);
    }
    b->close(queue);
}
