/* The cases units/flush-* on a backend that flushes, or says so, or both. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "cases/registry.h"
#include "check/runner.h"

static hc_kernel *sound;

/* The product, where everything that came of a number below 2^-126 is 0: in these cases all that is
   smaller than 2^-29. */
static enum hc_status flushing(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = sound(queue, call);
    const struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    for (int64_t i = 0; i < hc_tensor_count(out); i++)
        if (fabs(hc_tensor_get(out, i)) < 0x1p-29)
            hc_tensor_set(out, i, 0);
    return status;
}

static bool keep(const struct hc_result *result, void *context)
{
    *(enum hc_verdict *)context = result->verdict;
    cr_expect_eq(result->checked, 4, "%d", (int)result->checked);
    return true;
}

static enum hc_verdict verdict(bool flushes, bool says_so)
{
    struct hc_backend backend = *hc_backend_by_name("exact");
    const struct hc_backend *backends[] = {&backend};
    const struct hc_case *gemm = hc_case_by_name("units/flush-gemm-bf16");
    enum hc_verdict verdict = HC_ERROR;
    struct hc_run_options options = {.backends = backends,
                                     .backend_count = 1,
                                     .cases = &gemm,
                                     .case_count = 1,
                                     .level = HC_QUICK,
                                     .threads = 1,
                                     .report = keep,
                                     .context = &verdict};
    sound = backend.kernel[HC_OP_gemm];
    backend.name = "subject";
    backend.accumulator.flushes = says_so;
    if (flushes)
        backend.kernel[HC_OP_gemm] = flushing;
    cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
    return verdict;
}

Test(flush, has_to_be_declared_and_to_happen)
{
    cr_expect_eq(verdict(false, false), HC_PASS);
    cr_expect_eq(verdict(true, true), HC_PASS);
    cr_expect_eq(verdict(true, false), HC_FAIL);
    cr_expect_eq(verdict(false, true), HC_FAIL);
}
