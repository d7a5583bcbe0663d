/* A unit that flushes subnormal factors, or aligns them as if they were normal, is judged so, and
   only if it says so. */
#include "check/testing.h"

/* C = A B in bf16, 8 x 8. Every `normal`-th element of A is about 1, the others are 2^-128; B is
   about 2^100. */
static int normal;

static void products(struct hc_check *check)
{
    enum { N = 8 };
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1}};
    struct hc_tensor square = hc_tensor2(HC_BF16, N, N, NULL);
    call.in[HC_GEMM_A] = hc_check_tensor(check, square);
    call.in[HC_GEMM_B] = hc_check_tensor(check, square);
    call.out[HC_GEMM_OUT] = hc_check_tensor(check, square);
    for (int i = 0; i < N * N; i++) {
        hc_tensor_set(&call.in[HC_GEMM_A], i,
                      normal && i % normal == 0 ? 1 + (1 + i % 7) / 32.0 : 0x1p-128);
        hc_tensor_set(&call.in[HC_GEMM_B], i, 0x1p100 * (1 + i * 7 % 11 / 32.0));
    }
    hc_claim_call(check, &call);
}

static enum hc_status flushes(struct hc_queue *queue, const struct hc_call *call)
{
    static uint16_t a[64];
    struct hc_call changed = *call;
    memcpy(a, call->in[HC_GEMM_A].data, sizeof a);
    for (int i = 0; i < 64; i++)
        a[i] &= a[i] & 0x7f80 ? 0xffff : 0x8000;
    changed.in[HC_GEMM_A].data = a;
    return right(HC_OP_gemm)(queue, &changed);
}

static enum hc_verdict verdict_of(bool states, int normal_rows, hc_kernel *kernel)
{
    states_flushing = states;
    normal = normal_rows;
    run(products, HC_OP_gemm, kernel);
    return result.verdict;
}

Test(flushed, a_unit_that_flushes_and_says_so_is_right)
{
    cr_assert_eq(verdict_of(true, 2, flushes), HC_PASS, "%s", result.note);
    cr_assert_eq(verdict_of(false, 2, right(HC_OP_gemm)), HC_PASS, "%s", result.note);
}

/* All elements of every second row are subnormal. */
Test(flushed, a_unit_that_flushes_in_silence_or_only_says_so_is_wrong)
{
    cr_assert_eq(verdict_of(true, 16, flushes), HC_PASS, "%s", result.note);
    cr_assert_eq(verdict_of(false, 16, flushes), HC_FAIL);
    cr_assert_eq(verdict_of(true, 16, right(HC_OP_gemm)), HC_FAIL);
    cr_assert_eq(verdict_of(true, 0, right(HC_OP_gemm)), HC_FAIL);
}

Test(flushed, where_nothing_but_subnormals_is_multiplied_nothing_is_shown)
{
    cr_assert_eq(verdict_of(true, 0, flushes), HC_SKIPPED);
    cr_assert(strstr(result.note, "flushes subnormals"), "%s", result.note);
}

static bool subnormal; /* a factor of each sum */

/* Sums of four terms in fp16: one of 2^-24 * 1, the others about 2^-38. V100 keeps 23 bits below
   2^-14, the exponent of all subnormals, and so cuts off what lies below 2^-37. */
static void aligned_products(struct hc_check *check)
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

static struct hc_accumulator says_nothing(const struct hc_backend *backend,
                                          const struct hc_call *call)
{
    struct hc_accumulator a = hc_backend_by_name(backend->name)->accumulates(backend, call);
    a.aligns_subnormals = false;
    return a;
}

static enum hc_verdict verdict_on(const char *name, bool says_so, bool with_subnormals)
{
    struct hc_backend backend = *hc_backend_by_name(name);
    if (!says_so)
        backend.accumulates = says_nothing;
    subnormal = with_subnormals;
    run_on(&backend, aligned_products);
    return result.verdict;
}

Test(raised, a_unit_that_cuts_beside_a_subnormal_and_says_so_is_right)
{
    cr_assert_eq(verdict_on("sim-v100", true, true), HC_PASS, "%s", result.note);
    cr_assert_eq(verdict_on("sim-v100", true, false), HC_PASS, "%s", result.note);
}

Test(raised, a_unit_that_says_nothing_of_it_is_wrong)
{
    cr_assert_eq(verdict_on("sim-v100", false, true), HC_FAIL);
    cr_assert_eq(verdict_on("sim-v100", false, false), HC_PASS, "%s", result.note);
}

/* Cases without a pattern of their own run everywhere; sim-* have one, which holds unless somebody
   names them. */
Test(default_cases, hold_unless_the_backend_is_named)
{
    static const struct hc_case probe = {
        .name = "units/probe", .title = "", .source = "", .run = aligned_products};
    static const struct hc_case other = {
        .name = "test/raised", .title = "", .source = "", .run = aligned_products};
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
