/* hc_claim_call mistrusts a right result that says nothing about its kernel. */
#include "check/testing.h"

#include "num/rng.h"
#include "op/defined.h"

static void nans(struct hc_check *check)
{
    product(check, 20, (double)NAN, 1);
}

static void vanishing(struct hc_check *check)
{
    product(check, 20, 0x1p-24, 0x1p-8);
}

Test(compare, mistrusts_results_that_say_nothing)
{
    run(nans, HC_OP_gemm, right(HC_OP_gemm));
    cr_assert_eq(result.verdict, HC_MISTRUSTED);
    cr_assert(strstr(result.note, "NaN or infinite by definition"), "%s", result.note);

    run(vanishing, HC_OP_gemm, right(HC_OP_gemm));
    cr_assert_eq(result.verdict, HC_MISTRUSTED);
    cr_assert(strstr(result.note, "results are zero"), "%s", result.note);
}

/* Terms that cancel to less than the contract allows a sum in fp32 to be off. */
static void cancelling(struct hc_check *check)
{
    enum { ROWS = 5, TERMS = 64 };
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1}};
    call.in[HC_GEMM_A] = hc_check_tensor(check, hc_tensor2(HC_FP32, ROWS, TERMS, NULL));
    call.in[HC_GEMM_B] = hc_check_tensor(check, hc_tensor2(HC_FP32, TERMS, ROWS, NULL));
    call.out[HC_GEMM_OUT] = hc_check_tensor(check, hc_tensor2(HC_FP32, ROWS, ROWS, NULL));
    for (int i = 0; i < ROWS * TERMS; i++) {
        bool last = i % TERMS == TERMS - 1;
        hc_tensor_set(&call.in[HC_GEMM_A], i, last ? -(TERMS - 1) : 1 + 0x1p-22 * (i % 5));
        hc_tensor_set(&call.in[HC_GEMM_B], i,
                      i < ROWS * (TERMS - 1) ? 1 + 0x1p-21 * (i * 7 % 11) : 1);
    }
    hc_claim_call(check, &call);
}

Test(compare, mistrusts_bounds_that_exceed_the_values)
{
    run(cancelling, HC_OP_gemm, right(HC_OP_gemm));
    cr_assert_eq(result.verdict, HC_MISTRUSTED);
    cr_assert(strstr(result.note, "25 of 25 results are not larger than their bound"), "%s",
              result.note);
}

/* One sum that happens to be small says as much as any other. */
static void small_by_chance(struct hc_check *check)
{
    struct hc_call call = {.op = HC_OP_sum, .params.reduce = {HC_FP32}};
    call.in[HC_REDUCE_X] = hc_check_vector(check, HC_FP32, 64);
    call.out[HC_REDUCE_OUT] = hc_check_vector(check, HC_FP32, 1);
    for (int i = 0; i < 64; i++)
        hc_tensor_set(&call.in[HC_REDUCE_X], i, i == 63 ? -63 : 1 + 0x1p-23);
    hc_claim_call(check, &call);
}

Test(compare, trusts_one_sum_that_is_small_by_chance)
{
    run(small_by_chance, HC_OP_sum, right(HC_OP_sum));
    cr_assert_eq(result.verdict, HC_PASS, "%s", result.note);
}

static void random_sum(struct hc_check *check)
{
    struct hc_call call = {.op = HC_OP_sum, .params.reduce = {HC_FP32}};
    call.in[HC_REDUCE_X] = hc_check_vector(check, HC_FP32, 4096);
    call.out[HC_REDUCE_OUT] = hc_check_vector(check, HC_FP32, 1);
    for (int i = 0; i < 4096; i++)
        hc_tensor_set(&call.in[HC_REDUCE_X], i, 1 + hc_random_uniform(3, 4, (uint64_t)i));
    hc_claim_call_on(check, &call, HC_INPUTS_RANDOM);
}

static enum hc_status suspiciously_off(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = right(call->op)(queue, call);
    hc_tensor_set(&call->out[HC_FIRST], 0, hc_tensor_get(&call->out[HC_FIRST], 0) * (1 + 0x1p-14));
    return status;
}

Test(compare, mistrusts_an_error_that_rounding_does_not_come_to_though_it_keeps_the_bound)
{
    run(random_sum, HC_OP_sum, right(HC_OP_sum));
    cr_assert_eq(result.verdict, HC_PASS, "%s", result.note);
    run(random_sum, HC_OP_sum, suspiciously_off);
    cr_assert_eq(result.verdict, HC_MISTRUSTED);
    cr_assert(result.error < result.bound);
    cr_assert(strstr(result.note, "independent roundings"), "%s", result.note);
}

static void integers(struct hc_check *check)
{
    struct hc_call call = {.op = HC_OP_avg_pool, .params.pool = {2}};
    call.in[HC_POOL_X] = hc_check_tensor(check, hc_tensor4(HC_FP32, 1, 8, 8, 4, NULL));
    call.out[HC_POOL_Y] = hc_check_tensor(check, hc_tensor4(HC_FP32, 1, 4, 4, 4, NULL));
    for (int i = 0; i < 256; i++)
        hc_tensor_set(&call.in[HC_POOL_X], i, i);
    hc_claim_call(check, &call);
}

Test(compare, mistrusts_results_that_needed_no_rounding)
{
    run(integers, HC_OP_avg_pool, right(HC_OP_avg_pool));
    cr_assert_eq(result.verdict, HC_MISTRUSTED);
    cr_assert(strstr(result.note, "needed rounding"), "%s", result.note);
}

/* The model's state in fp16 with fp16 arithmetic, where squares of 300 overflow. */
static void overflowing(struct hc_check *check)
{
    struct hc_call call = {.op = HC_OP_adamw, .params.adam = {.beta2 = 0.5, .eps = 1}};
    call.params.adam.arithmetic = HC_FP16;
    for (int i = 0; i < 4; i++)
        call.in[i] = hc_check_vector(check, HC_FP16, 40);
    call.in[HC_ADAM_HYPER] = hc_check_vector(check, HC_FP32, 3);
    for (int i = 0; i < 3; i++)
        call.out[i] = hc_check_vector(check, HC_FP16, 40);
    for (int i = 0; i < 40; i++)
        hc_tensor_set(&call.in[HC_ADAM_G], i, 500 + i);
    hc_tensor_set(&call.in[HC_ADAM_HYPER], HC_HYPER_LR, 1e-2);
    hc_tensor_set(&call.in[HC_ADAM_HYPER], HC_HYPER_STEP, 1);
    hc_claim_call(check, &call);
}

Test(compare, mistrusts_what_the_contract_does_not_bound)
{
    run(overflowing, HC_OP_adamw, right(HC_OP_adamw));
    cr_assert_eq(result.verdict, HC_MISTRUSTED, "%s", result.note);
    cr_assert(strstr(result.note, "the contract bounds only"), "%s", result.note);
}

static void half_way_to_nothing(struct hc_check *check)
{
    enum { TERMS = 1200 };
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1, .half_accumulator = true}};
    call.in[HC_GEMM_A] = hc_check_tensor(check, hc_tensor2(HC_FP16, 2, TERMS, NULL));
    call.in[HC_GEMM_B] = hc_check_tensor(check, hc_tensor2(HC_FP16, TERMS, 2, NULL));
    call.out[HC_GEMM_OUT] = hc_check_tensor(check, hc_tensor2(HC_FP32, 2, 2, NULL));
    for (int i = 0; i < 2 * TERMS; i++) {
        hc_tensor_set(&call.in[HC_GEMM_A], i, 1 + hc_random_uniform(3, 5, (uint64_t)i));
        hc_tensor_set(&call.in[HC_GEMM_B], i, 1 + hc_random_uniform(3, 6, (uint64_t)i));
    }
    hc_claim_call(check, &call);
}

Test(compare, mistrusts_few_results_that_may_be_half_of_their_terms_off)
{
    run(half_way_to_nothing, HC_OP_gemm, right(HC_OP_gemm));
    cr_assert_eq(result.verdict, HC_MISTRUSTED, "%s", result.note);
    cr_assert(strstr(result.note, "half of the terms or more in 4 of 4"), "%s", result.note);
}

/* Half of the elements are 0, which needs no rounding and has a bound, and the results of the others
   are settled to the bit, since their real values lie far from the middle of two numbers. */
static void zeros_among_settled(struct hc_check *check)
{
    enum { EACH = 40 };
    struct hc_call call = {.op = HC_OP_silu};
    call.in[HC_SILU_X] = hc_check_vector(check, HC_BF16, 2 * EACH);
    call.out[HC_SILU_Y] = hc_check_vector(check, HC_BF16, 2 * EACH);
    for (int i = 0; i < EACH; i++)
        hc_tensor_set(&call.in[HC_SILU_X], 2 * i, 1 + 0x1p-7 * i);
    hc_claim_call(check, &call);
}

Test(compare, trusts_settled_results_beside_loose_zeros)
{
    run(zeros_among_settled, HC_OP_silu, right(HC_OP_silu));
    cr_expect_eq(result.verdict, HC_PASS, "%s", result.note);
}

/* One result is loose and smaller than its bound; the others, subnormal numbers, are settled. */
static void one_loose_among_settled(struct hc_check *check)
{
    struct hc_call call = {.op = HC_OP_silu};
    call.in[HC_SILU_X] = hc_check_vector(check, HC_FP32, 20);
    call.out[HC_SILU_Y] = hc_check_vector(check, HC_BF16, 20);
    for (int i = 0; i < 20; i++)
        hc_tensor_set(&call.in[HC_SILU_X], i, i ? ldexp(5 + i, -130) : 0x1p-133);
    hc_claim_call(check, &call);
}

Test(compare, trusts_settled_results_beside_one_that_is_loose)
{
    run(one_loose_among_settled, HC_OP_silu, right(HC_OP_silu));
    cr_expect_eq(result.verdict, HC_PASS, "%s", result.note);
}
