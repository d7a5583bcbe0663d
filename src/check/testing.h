/* For the tests of comparisons: a case on a backend, or on exact with a kernel in place of one of
   its own. */
#ifndef HC_CHECK_TESTING_H
#define HC_CHECK_TESTING_H

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "check/runner.h"

static struct hc_result result;
static bool states_flushing; /* what the backend says of its sums */
static void (*body)(struct hc_check *);

static inline void call_body(struct hc_check *check)
{
    body(check);
}

static inline bool keep(const struct hc_result *got, void *context)
{
    (void)context;
    result = *got;
    return true;
}

/* Runs a case on a backend; what other cases were held to may be known. */
static inline void run_knowing(const struct hc_backend *backend,
                               void (*run_body)(struct hc_check *), struct hc_known *known)
{
    static const struct hc_case what = {
        .name = "test/compare", .title = "", .source = "", .run = call_body};
    static const struct hc_case *const cases[] = {&what};
    struct hc_run_options options = {.cases = cases,
                                     .case_count = 1,
                                     .backends = &backend,
                                     .backend_count = 1,
                                     .level = HC_STANDARD,
                                     .threads = 1,
                                     .known = known,
                                     .report = keep};
    body = run_body;
    cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
}

static inline void run_on(const struct hc_backend *backend, void (*run_body)(struct hc_check *))
{
    run_knowing(backend, run_body, NULL);
}

/* Runs a case on exact, with `kernel` in place of one op's. */
static inline void run(void (*run_body)(struct hc_check *), enum hc_op op, hc_kernel *kernel)
{
    struct hc_backend backend = *hc_backend_by_name("exact");
    backend.kernel[op] = kernel;
    backend.accumulator.flushes = states_flushing;
    run_on(&backend, run_body);
}

static inline hc_kernel *right(enum hc_op op)
{
    return hc_backend_by_name("exact")->kernel[op];
}

/* C = A B in fp16, n x n; A's elements are `first` or, if that is 0, different; B's at most
   `second`. */
static inline void product(struct hc_check *check, int64_t n, double first, double second)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1}};
    struct hc_tensor square = hc_tensor2(HC_FP16, n, n, NULL);
    call.in[HC_GEMM_A] = hc_check_tensor(check, square);
    call.in[HC_GEMM_B] = hc_check_tensor(check, square);
    call.out[HC_GEMM_OUT] = hc_check_tensor(check, square);
    for (int64_t i = 0; i < n * n; i++) {
        hc_tensor_set(&call.in[HC_GEMM_A], i, first != 0 ? first : sin((double)i));
        hc_tensor_set(&call.in[HC_GEMM_B], i, second * cos((double)i));
    }
    hc_claim_call(check, &call);
}

#endif
