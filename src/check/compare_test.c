/* hc_claim_call: what it lets pass, what it catches, and when it trusts nothing. */
#include "check/check.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "check/runner.h"
#include "num/rng.h"

static struct hc_result result;
static void (*body)(struct hc_check *);

static void call_body(struct hc_check *check)
{
    body(check);
}

static bool keep(const struct hc_result *got, void *context)
{
    (void)context;
    result = *got;
    return true;
}

/* Runs a case on exact, with `kernel` in place of one op's. */
static void run(void (*run_body)(struct hc_check *), enum hc_op op, hc_kernel *kernel)
{
    static const struct hc_case what = {
        .name = "test/compare", .title = "", .source = "", .run = call_body};
    static const struct hc_case *const cases[] = {&what};
    struct hc_backend backend = *hc_backend_by_name("exact");
    const struct hc_backend *backends[] = {&backend};
    backend.kernel[op] = kernel;
    body = run_body;
    struct hc_run_options options = {.cases = cases,
                                     .case_count = 1,
                                     .backends = backends,
                                     .backend_count = 1,
                                     .level = HC_STANDARD,
                                     .threads = 1,
                                     .report = keep};
    cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
}

static hc_kernel *right(enum hc_op op)
{
    return hc_backend_by_name("exact")->kernel[op];
}

/* C = A B in fp16, n x n; A's elements are `first` or, if that is 0, different; B's at most
   `second`. */
static void product(struct hc_check *check, int64_t n, double first, double second)
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

static void waves(struct hc_check *check)
{
    product(check, 20, 0, 1);
}

static void large(struct hc_check *check)
{
    product(check, 100, 0, 1);
}

static void nans(struct hc_check *check)
{
    product(check, 20, (double)NAN, 1);
}

static void vanishing(struct hc_check *check)
{
    product(check, 20, 0x1p-24, 0x1p-8);
}

static enum hc_status last_is_wrong(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = right(call->op)(queue, call);
    int64_t last = hc_tensor_count(&call->out[HC_FIRST]) - 1;
    hc_tensor_set(&call->out[HC_FIRST], last, hc_tensor_get(&call->out[HC_FIRST], last) + 1);
    return status;
}

/* Adds a little, inside the bound. */
static enum hc_status a_bit_off(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = right(call->op)(queue, call);
    const struct hc_tensor *y = &call->out[HC_FIRST];
    uint64_t bits = hc_tensor_bits(y, 3);
    hc_tensor_set_bits(y, 3, bits + 1);
    return status;
}

static enum hc_status lacking(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return hc_fail(HC_UNSUPPORTED, "no %s here", hc_ops[call->op].name);
}

static enum hc_status broken(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    (void)call;
    return hc_fail(HC_DEVICE, "the device is on fire");
}

Test(compare, tells_the_formats_error_from_the_implementations)
{
    run(waves, HC_OP_gemm, right(HC_OP_gemm));
    cr_assert_eq(result.verdict, HC_PASS, "%s", result.note);
    cr_assert_eq(result.implementation, 0);
    cr_assert(result.format > 0.3 && result.format <= 1);
    cr_assert_eq(result.format, result.error / result.bound);

    run(waves, HC_OP_gemm, last_is_wrong);
    cr_assert_eq(result.verdict, HC_FAIL);
    cr_assert(result.implementation > 10 && result.format <= 1);
    cr_assert(strstr(result.note, "gemm[399]: want "), "%s", result.note);
}

Test(compare, looks_at_the_last_element_of_a_large_output)
{
    run(large, HC_OP_gemm, last_is_wrong);
    cr_assert_eq(result.verdict, HC_FAIL);
    cr_assert(result.looked_at < 10000 && result.looked_at < result.looked_of);
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

static void momentum(struct hc_check *check)
{
    struct hc_call call = {.op = HC_OP_sgd, .params.sgd = {.arithmetic = HC_FP32}};
    for (int i = 0; i < 3; i++)
        call.in[i] = hc_check_vector(check, HC_FP32, 40);
    call.in[HC_SGD_HYPER] = hc_check_vector(check, HC_FP32, 3);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 40; k++)
            hc_tensor_set(&call.in[i], k, sin(100.0 * i + k));
    hc_tensor_set(&call.in[HC_SGD_HYPER], HC_HYPER_LR, 0.1);
    hc_tensor_set(&call.in[HC_SGD_HYPER], HC_HYPER_BETA1, 0.9);
    call.out[HC_SGD_NEW_W] =
        call.in[HC_SGD_W]; /* in place: what was there is what the reference needs */
    call.out[HC_SGD_NEW_MOMENTUM] = call.in[HC_SGD_MOMENTUM];
    hc_claim_call(check, &call);
}

Test(compare, demands_the_bits_of_exact_where_the_order_is_stated)
{
    run(momentum, HC_OP_sgd, right(HC_OP_sgd));
    cr_assert_eq(result.verdict, HC_PASS, "%s", result.note);
    run(momentum, HC_OP_sgd, a_bit_off);
    cr_assert_eq(result.verdict, HC_FAIL);
    cr_assert(strstr(result.note, "exact gives"), "%s", result.note);
    cr_assert(strcmp(result.unit, "bits") == 0);
}

Test(compare, says_what_a_backend_lacks_and_what_broke)
{
    run(waves, HC_OP_gemm, NULL);
    cr_assert_eq(result.verdict, HC_UNIMPLEMENTED);
    run(waves, HC_OP_gemm, lacking);
    cr_assert_eq(result.verdict, HC_UNIMPLEMENTED);
    cr_assert(strstr(result.note, "no gemm here"));
    run(waves, HC_OP_gemm, broken);
    cr_assert_eq(result.verdict, HC_ERROR);
    cr_assert(strstr(result.note, "on fire"));
}

static void bad_label(struct hc_check *check)
{
    struct hc_call call = {.op = HC_OP_xent};
    call.in[HC_XENT_LOGITS] = hc_check_tensor(check, hc_tensor2(HC_FP32, 1, 3, NULL));
    call.in[HC_XENT_LABELS] = hc_check_vector(check, HC_I32, 1);
    call.out[HC_XENT_LOSS] = hc_check_vector(check, HC_FP32, 1);
    hc_tensor_set(&call.in[HC_XENT_LABELS], 0, 3);
    hc_claim_call(check, &call);
}

Test(compare, refuses_labels_that_are_no_classes)
{
    run(bad_label, HC_OP_xent, right(HC_OP_xent));
    cr_assert_eq(result.verdict, HC_ERROR);
    cr_assert_eq(strcmp(result.note, "xent: label 3 is not a class of 0 to 2"), 0, "%s",
                 result.note);
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

static int runs;

/* Counts the step that it makes: w = w + 1, in place. */
static enum hc_status counted(struct hc_queue *queue, const struct hc_call *call)
{
    runs++;
    return right(HC_OP_add)(queue, call);
}

/* A claim runs the call as hc_do does and says how that went, so that a case that updates in place
   need not run the call again to see its result. */
static void steps_once(struct hc_check *check)
{
    struct hc_call call = {.op = HC_OP_add};
    call.in[HC_X] = hc_check_vector(check, HC_FP32, 1);
    call.in[HC_Y] = hc_check_vector(check, HC_FP32, 1);
    call.out[HC_OUT] = call.in[HC_X];
    hc_tensor_set(&call.in[HC_Y], 0, 1);
    cr_assert_eq(hc_claim_call(check, &call), HC_OK);
    cr_assert_eq(hc_tensor_get(&call.out[HC_OUT], 0), 1);
}

Test(compare, a_claim_runs_its_call_as_one_step_and_returns_the_status)
{
    runs = 0;
    run(steps_once, HC_OP_add, counted);
    cr_assert_eq(result.verdict, HC_PASS, "%s", result.note);
    cr_assert_eq(runs, 2, "once, and once more to see whether it repeats");
}

static void says_what_failed(struct hc_check *check)
{
    struct hc_call call = {.op = HC_OP_add};
    call.in[HC_X] = call.in[HC_Y] = hc_check_vector(check, HC_FP32, 1);
    call.out[HC_OUT] = hc_check_vector(check, HC_FP32, 1);
    cr_assert_eq(hc_claim_call(check, &call), HC_UNSUPPORTED);
    cr_assert_eq(hc_claim_call_on(check, &call, HC_INPUTS_RANDOM), HC_UNSUPPORTED);
    cr_assert_eq(hc_claim_call_met(check, &call), HC_UNSUPPORTED);
}

Test(compare, a_claim_about_a_call_that_cannot_run_says_so)
{
    run(says_what_failed, HC_OP_add, NULL);
    cr_assert_eq(result.verdict, HC_UNIMPLEMENTED);
}
