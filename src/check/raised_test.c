/* A unit that aligns a subnormal factor as if it were normal is judged so, and only if it says
   so. */
#include <criterion/criterion.h>
#include <math.h>

#include "check/runner.h"

static struct hc_result result;
static bool subnormal; /* a factor of each sum */

/* Sums of four terms in fp16: one of 2^-24 * 1, the others about 2^-38. V100 keeps 23 bits below
   2^-14, the exponent of all subnormals, and so cuts off what lies below 2^-37. */
static void products(struct hc_check *check)
{
    enum { N = 8, K = 4 };
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1}};
    call.in[HC_GEMM_A] = hc_check_tensor(check, hc_tensor2(HC_FP16, N, K, NULL));
    call.in[HC_GEMM_B] = hc_check_tensor(check, hc_tensor2(HC_FP16, K, N, NULL));
    call.out[HC_GEMM_OUT] = hc_check_tensor(check, hc_tensor2(HC_FP32, N, N, NULL));
    for (int i = 0; i < N * K; i++) {
        double small = subnormal ? 0x1p-24 : 0x1p-14;
        hc_tensor_set(&call.in[HC_GEMM_A], i, i % K == 0 ? small : 0x1p-14 * (1 + i % 7 / 8.0));
        hc_tensor_set(&call.in[HC_GEMM_B], i, i / N == 0 ? 1 : 0x1p-24 * (1 + i * 5 % 11));
    }
    hc_claim_call(check, &call);
}

static bool keep(const struct hc_result *got, void *context)
{
    (void)context;
    result = *got;
    return true;
}

static struct hc_accumulator says_nothing(const struct hc_backend *backend,
                                          const struct hc_call *call)
{
    struct hc_accumulator a = hc_backend_by_name(backend->name)->accumulates(backend, call);
    a.aligns_subnormals = false;
    return a;
}

static enum hc_verdict verdict_of(const char *name, bool says_so, bool with_subnormals)
{
    static const struct hc_case what = {
        .name = "test/raised", .title = "", .source = "", .run = products};
    static const struct hc_case *const cases[] = {&what};
    struct hc_backend backend = *hc_backend_by_name(name);
    const struct hc_backend *backends[] = {&backend};
    if (!says_so)
        backend.accumulates = says_nothing;
    struct hc_run_options options = {.cases = cases,
                                     .case_count = 1,
                                     .backends = backends,
                                     .backend_count = 1,
                                     .level = HC_STANDARD,
                                     .threads = 1,
                                     .report = keep};
    subnormal = with_subnormals;
    cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
    return result.verdict;
}

Test(raised, a_unit_that_cuts_beside_a_subnormal_and_says_so_is_right)
{
    cr_assert_eq(verdict_of("sim-v100", true, true), HC_PASS, "%s", result.note);
    cr_assert_eq(verdict_of("sim-v100", true, false), HC_PASS, "%s", result.note);
}

Test(raised, a_unit_that_says_nothing_of_it_is_wrong)
{
    cr_assert_eq(verdict_of("sim-v100", false, true), HC_FAIL);
    cr_assert_eq(verdict_of("sim-v100", false, false), HC_PASS, "%s", result.note);
}

/* Cases without a pattern of their own run everywhere; sim-* have one, which holds unless somebody
   names them. */
Test(default_cases, hold_unless_the_backend_is_named)
{
    static const struct hc_case probe = {
        .name = "units/probe", .title = "", .source = "", .run = products};
    static const struct hc_case other = {
        .name = "test/raised", .title = "", .source = "", .run = products};
    static const struct hc_case *const cases[] = {&other, &probe};
    const struct hc_backend *backends[] = {hc_backend_by_name("exact"),
                                           hc_backend_by_name("sim-h100")};
    struct hc_run_options options = {.cases = cases,
                                     .case_count = 2,
                                     .backends = backends,
                                     .backend_count = 2,
                                     .level = HC_STANDARD,
                                     .threads = 1,
                                     .report = keep};
    cr_assert_eq(hc_run_length(&options), 4);
    options.by_default = true;
    cr_assert_eq(hc_run_length(&options), 3);
    cr_assert(hc_runs_on(&options, backends[1]));
    options.case_count = 1;
    cr_assert(!hc_runs_on(&options, backends[1]) && hc_runs_on(&options, backends[0]));
}
