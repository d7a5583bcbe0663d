/* The cases units/flush-* on a backend that flushes, or says so, or both. */
#include <criterion/criterion.h>
#include <math.h>

#include "cases/registry.h"
#include "check/runner.h"

static hc_kernel *sound;

static void flush(const struct hc_tensor *from, const struct hc_tensor *to, double least)
{
    for (int64_t i = 0; i < hc_tensor_count(from); i++) {
        double x = hc_tensor_get(from, i);
        hc_tensor_set(to, i, fabs(x) < least ? 0 : x);
    }
}

/* The product of the factors, where those below 2^-126 are 0, and then what is smaller than `least`
   is. */
static enum hc_status flush_below(double least, struct hc_queue *queue, const struct hc_call *call)
{
    static uint16_t factors[2][32 * 32];
    struct hc_call flushed = *call;
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(hc_tensor_bytes(&call->in[i]), sizeof factors[i]);
        flushed.in[i].data = factors[i];
        flush(&call->in[i], &flushed.in[i], 0x1p-126);
    }
    enum hc_status status = sound(queue, &flushed);
    flush(&call->out[HC_GEMM_OUT], &call->out[HC_GEMM_OUT], least);
    return status;
}

static enum hc_status flushing(struct hc_queue *queue, const struct hc_call *call)
{
    return flush_below(0x1p-126, queue, call);
}

/* Takes normal numbers, too. */
static enum hc_status greedy(struct hc_queue *queue, const struct hc_call *call)
{
    return flush_below(0x1p-120, queue, call);
}

static bool keep(const struct hc_result *result, void *context)
{
    *(enum hc_verdict *)context = result->verdict;
    cr_expect_eq(result->checked, 5, "%d", (int)result->checked);
    return true;
}

static enum hc_verdict verdict(hc_kernel *gemm_of_subject, bool says_so)
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
    if (gemm_of_subject)
        backend.kernel[HC_OP_gemm] = gemm_of_subject;
    cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
    return verdict;
}

Test(flush, has_to_be_declared_and_to_happen)
{
    cr_expect_eq(verdict(NULL, false), HC_PASS);
    cr_expect_eq(verdict(flushing, true), HC_PASS);
    cr_expect_eq(verdict(flushing, false), HC_FAIL);
    cr_expect_eq(verdict(NULL, true), HC_FAIL);
}

Test(flush, takes_no_normal_number)
{
    cr_expect_eq(verdict(greedy, true), HC_FAIL);
}
