/* A unit that flushes subnormal factors is judged by what it says of itself. */
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

/* Of every second row all elements are subnormal. */
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
