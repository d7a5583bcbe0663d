/* hc_claim_call: what it lets pass, what it catches, and what it says of a call that cannot run. */
#include "check/testing.h"

static void waves(struct hc_check *check)
{
    product(check, 20, 0, 1);
}

static void large(struct hc_check *check)
{
    product(check, 100, 0, 1);
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
    cr_assert_eq(result.checked, 2 * 400); /* with MPFR and with exact */
    cr_assert_eq(result.wrong, 2);
}

Test(compare, looks_at_the_last_element_of_a_large_output)
{
    run(large, HC_OP_gemm, last_is_wrong);
    cr_assert_eq(result.verdict, HC_FAIL);
    cr_assert(result.looked_at < 10000 && result.looked_at < result.looked_of);
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
