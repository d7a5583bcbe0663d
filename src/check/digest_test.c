#include "check/digest.h"

#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>

#include "check/runner.h"
#include "check/sweep/sweep.h"

static struct hc_result result;
static void (*body)(struct hc_check *check);
static hc_kernel *sound;
static int calls;

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

static const struct hc_backend *exact(void)
{
    return hc_backend_by_name("exact");
}

/* Runs a case on a backend; the result is in `result`, its digest is returned. */
static uint64_t run_on(const struct hc_backend *backend, void (*run)(struct hc_check *check),
                       enum hc_level level, bool bits_only, int threads)
{
    static const struct hc_case what = {
        .name = "test/digest", .title = "", .source = "", .run = call_body};
    static const struct hc_case *const cases[] = {&what};
    struct hc_run_options options = {.cases = cases,
                                     .case_count = 1,
                                     .backends = &backend,
                                     .backend_count = 1,
                                     .level = level,
                                     .bits_only = bits_only,
                                     .threads = threads,
                                     .report = keep};
    body = run;
    cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
    return result.digest;
}

static void sums(struct hc_check *check)
{
    struct hc_call call = {.op = HC_OP_add};
    call.in[HC_X] = hc_check_vector(check, HC_FP16, 300);
    call.in[HC_Y] = hc_check_vector(check, HC_FP16, 300);
    call.out[HC_OUT] = hc_check_vector(check, HC_FP16, 300);
    for (int64_t i = 0; i < 300; i++) {
        hc_tensor_set(&call.in[HC_X], i, sin((double)i));
        hc_tensor_set(&call.in[HC_Y], i, cos((double)i));
    }
    hc_claim_call(check, &call);
}

/* Two calls: the second one overwrites its input. */
static void in_place(struct hc_check *check)
{
    struct hc_call call = {.op = HC_OP_axpy, .params.axpy.alpha = 0.5};
    call.in[HC_X] = hc_check_vector(check, HC_FP32, 100);
    call.in[HC_Y] = hc_check_vector(check, HC_FP32, 100);
    call.out[HC_OUT] = call.in[HC_Y];
    for (int64_t i = 0; i < 100; i++)
        hc_tensor_set(&call.in[HC_X], i, sin((double)i));
    (void)(hc_do(check, &call) == HC_OK && hc_do(check, &call) == HC_OK);
    (void)hc_claim_within(check, "y", hc_tensor_get(&call.in[HC_X], 3),
                          hc_tensor_get(&call.out[HC_OUT], 3), 1e-6);
}

static void product(struct hc_check *check)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1}};
    call.in[HC_GEMM_A] = hc_check_tensor(check, hc_tensor2(HC_FP32, 9, 9, NULL));
    call.in[HC_GEMM_B] = hc_check_tensor(check, hc_tensor2(HC_FP32, 9, 9, NULL));
    call.out[HC_GEMM_OUT] = hc_check_tensor(check, hc_tensor2(HC_FP32, 9, 9, NULL));
    for (int64_t i = 0; i < 81; i++) {
        hc_tensor_set(&call.in[HC_GEMM_A], i, sin((double)i));
        hc_tensor_set(&call.in[HC_GEMM_B], i, cos((double)i));
    }
    hc_claim_call(check, &call);
}

static void sums_and_product(struct hc_check *check)
{
    sums(check);
    product(check);
}

/* The sound kernel, and then one bit of one element is another. */
static enum hc_status with_one_bit(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = sound(queue, call);
    uint64_t bits = hc_tensor_bits(&call->out[HC_OUT], 123);
    hc_tensor_set_bits(&call->out[HC_OUT], 123, bits ^ 1);
    calls++;
    return status;
}

static struct hc_backend changed(enum hc_op op, hc_kernel *kernel)
{
    struct hc_backend backend = *exact();
    sound = backend.kernel[op];
    backend.kernel[op] = kernel;
    return backend;
}

Test(digest, one_bit_of_one_element_changes_it)
{
    struct hc_backend wrong = changed(HC_OP_add, with_one_bit);
    uint64_t before = run_on(exact(), sums, HC_STANDARD, false, 1);
    cr_expect_eq(result.verdict, HC_PASS);
    cr_expect_neq(before, 0);
    uint64_t after = run_on(&wrong, sums, HC_STANDARD, false, 1);
    cr_expect_eq(result.verdict, HC_FAIL);
    cr_expect_neq(after, 0);
    cr_expect_neq(after, before);
    cr_expect_gt(calls, 0);
}

Test(digest, is_the_same_on_every_backend_that_owes_these_bits)
{
    static void (*const bodies[])(struct hc_check *) = {sums, in_place};
    for (int i = 0; i < 2; i++)
        cr_expect_eq(run_on(exact(), bodies[i], HC_QUICK, false, 1),
                     run_on(hc_backend_by_name("host"), bodies[i], HC_QUICK, false, 2));
}

Test(digest, without_a_reference_it_is_the_same_and_nothing_is_claimed)
{
    static void (*const bodies[])(struct hc_check *) = {sums, in_place, product};
    for (int i = 0; i < 3; i++) {
        uint64_t want = run_on(exact(), bodies[i], HC_STANDARD, false, 1);
        cr_expect_eq(run_on(exact(), bodies[i], HC_STANDARD, true, 1), want);
        cr_expect_eq(result.verdict, HC_SKIPPED);
        cr_expect_eq(result.checked, 0);
        cr_expect_str_eq(result.note, "not held against a reference");
    }
    struct hc_backend wrong = changed(HC_OP_add, with_one_bit);
    uint64_t want = run_on(exact(), sums, HC_STANDARD, false, 1);
    cr_expect_neq(run_on(&wrong, sums, HC_STANDARD, true, 1), want);
    cr_expect_eq(result.verdict, HC_SKIPPED); /* nobody knows yet; the gate does */
}

static enum hc_status that_writes_too_far(struct hc_queue *queue, const struct hc_call *call)
{
    ((uint16_t *)call->out[HC_OUT].data)[300] = 7;
    return sound(queue, call);
}

Test(digest, what_no_kernel_may_do_fails_without_a_reference_too)
{
    struct hc_backend wrong = changed(HC_OP_add, that_writes_too_far);
    (void)run_on(&wrong, sums, HC_STANDARD, true, 1);
    cr_expect_eq(result.verdict, HC_FAIL);
}

Test(digest, is_absent_where_bits_are_not_promised)
{
    struct hc_backend fickle = *exact();
    fickle.nondeterministic = true;
    cr_expect_eq(run_on(&fickle, sums_and_product, HC_STANDARD, false, 1), 0);
    cr_expect_neq(run_on(&fickle, sums, HC_STANDARD, false, 1), 0);
    struct hc_backend any_order = *exact();
    any_order.free_order = true;
    cr_expect_eq(run_on(&any_order, sums_and_product, HC_STANDARD, false, 1), 0);
    cr_expect_neq(run_on(&any_order, sums, HC_STANDARD, false, 1), 0);
}

static void sweep(struct hc_check *check)
{
    hc_sweep_from_fp32(check, HC_FP16, HC_NEAREST);
    hc_sweep_fma(check, HC_BF16);
    hc_sweep_pairs(check, HC_OP_mul, HC_FP16);
}

Test(digest, of_a_sweep_does_not_depend_on_threads_or_backend)
{
    uint64_t want = run_on(exact(), sweep, HC_QUICK, false, 1);
    cr_expect_neq(want, 0);
    cr_expect_eq(run_on(exact(), sweep, HC_QUICK, false, 2), want);
    cr_expect_eq(run_on(hc_backend_by_name("host"), sweep, HC_QUICK, true, 3), want);
    struct hc_backend wrong = changed(HC_OP_mul, with_one_bit);
    cr_expect_neq(run_on(&wrong, sweep, HC_QUICK, true, 2), want);
}
