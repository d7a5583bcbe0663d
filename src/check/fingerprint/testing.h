/* A backend whose gemm is a matrix unit, by its plain statement (unit/unit.h). */
#ifndef HC_CHECK_FINGERPRINT_TESTING_H
#define HC_CHECK_FINGERPRINT_TESTING_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/fingerprint/fingerprint.h"
#include "num/bits.h"

static struct hc_unit unit_under_test;
static int64_t kernel_calls;

/* Only outputs [i, i], with C in the chain; the others are 0. */
static enum hc_status unit_gemm(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *a = &call->in[HC_GEMM_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_B];
    const struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    int64_t n = out->shape[1];
    int64_t k = a->shape[1];
    uint32_t *x = malloc((size_t)k * sizeof *x);
    uint32_t *y = malloc((size_t)k * sizeof *y);
    (void)queue;
    kernel_calls++;
    memset(out->data, 0, hc_tensor_bytes(out));
    for (int64_t i = 0; i < n && i < out->shape[0]; i++) {
        for (int64_t j = 0; j < k; j++) {
            x[j] = (uint32_t)hc_tensor_bits(a, i * k + j);
            y[j] = (uint32_t)hc_tensor_bits(b, j * n + i);
        }
        uint32_t c = call->params.gemm.beta != 0
                         ? (uint32_t)hc_tensor_bits(&call->in[HC_GEMM_C], i * n + i)
                         : 0;
        hc_tensor_set_bits(out, i * n + i, hc_unit_dot(&unit_under_test, x, y, NULL, k, c));
    }
    free(x);
    free(y);
    return HC_OK;
}

/* The fingerprint of exact with that kernel; asserts that there is one. */
static inline struct hc_fingerprint fingerprint_of_kernel(hc_kernel *kernel, enum hc_format format)
{
    static struct hc_backend backend;
    struct hc_queue *queue;
    struct hc_fingerprint f;
    backend = *hc_backend_by_name("exact");
    backend.kernel[HC_OP_gemm] = kernel;
    cr_assert_eq(backend.open(&backend, &queue, 1), HC_OK);
    cr_assert_eq(hc_fingerprint(&backend, queue, format, &f), HC_OK, "%s", hc_message());
    backend.close(queue);
    return f;
}

static inline struct hc_fingerprint fingerprint_of_unit(const struct hc_unit *unit)
{
    unit_under_test = *unit;
    enum hc_format format = HC_FP32;
    for (int f = 0; f < HC_FORMAT_COUNT; f++)
        if (hc_operand_of((enum hc_format)f) == unit->a)
            format = (enum hc_format)f;
    return fingerprint_of_kernel(unit_gemm, format);
}

static inline bool is_named(const struct hc_fingerprint *f, const char *name)
{
    for (int i = 0; i < f->equal_count; i++)
        if (strcmp(f->equals[i]->name, name) == 0)
            return true;
    return false;
}

#endif
