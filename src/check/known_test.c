/* What is known of a call is given again for that call alone. */
#include "check/known.h"

#include <string.h>

#include "check/generate/integers.h"
#include "check/testing.h"

static float x[64], y[64], z[64];

static struct hc_claim claim_of_axpy(void)
{
    struct hc_claim claim = {.call = {.op = HC_OP_axpy, .params.axpy.alpha = 2},
                             .inputs = HC_INPUTS_RANDOM};
    claim.sums = (struct hc_accumulator){.precision = 24, .block = 1};
    claim.call.in[HC_X] = hc_tensor1(HC_FP32, 64, x);
    claim.call.in[HC_Y] = hc_tensor1(HC_FP32, 64, y);
    claim.call.out[HC_OUT] = hc_tensor1(HC_FP32, 64, z);
    return claim;
}

static bool is_known(struct hc_known *known, const struct hc_claim *claim)
{
    struct hc_expected e;
    return hc_known_read(hc_known_call(known, claim), HC_OUT, 7, &e) && e.want.hi == 3;
}

static void learn(struct hc_known *known, const struct hc_claim *claim)
{
    static const int64_t index[] = {1, 7, 9};
    static const struct hc_expected right[] = {{.want.hi = 1}, {.want.hi = 3}, {.want.hi = 5}};
    hc_known_keep(known, hc_known_call(known, claim), HC_OUT, 3, index, right);
}

Test(known, an_element_is_known_once_it_is_kept_and_no_other_is)
{
    struct hc_known *known = hc_known_new();
    struct hc_claim claim = claim_of_axpy();
    struct hc_expected e;
    cr_assert(!is_known(known, &claim));
    learn(known, &claim);
    cr_assert(is_known(known, &claim));
    cr_assert(!hc_known_read(hc_known_call(known, &claim), HC_OUT, 8, &e));
    cr_assert(!hc_known_read(hc_known_call(known, &claim), HC_OUT + 1, 7, &e));
    float elsewhere[64];
    memcpy(elsewhere, x, sizeof x);
    claim.call.in[HC_X].data = elsewhere;
    cr_assert(is_known(known, &claim), "the same numbers elsewhere");
    hc_known_free(known);
}

/* Each changes something that references or bounds may read. */
static void change(struct hc_claim *claim, int what)
{
    static float other[64];
    other[63] = -0.0F;
    struct hc_call *call = &claim->call;
    switch (what) {
    case 0:
        call->in[HC_Y].data = other;
        return;
    case 1:
        call->params.axpy.alpha = 3;
        return;
    case 2:
        call->in[HC_X] = call->in[HC_Y] = call->out[HC_OUT] = hc_tensor1(HC_FP32, 32, x);
        return;
    case 3:
        call->in[HC_X].format = HC_I32;
        return;
    case 4:
        call->out[HC_OUT].format = HC_BF16;
        return;
    case 5:
        call->out[HC_OUT] = hc_tensor2(HC_FP32, 8, 8, z);
        return;
    case 6:
        call->in[HC_Y].data = NULL;
        return;
    case 7:
        call->op = HC_OP_fma;
        return;
    case 8:
        claim->free = true;
        return;
    case 9:
        claim->inputs = HC_INPUTS_WHOLE;
        return;
    case 10:
        claim->sums.precision = 11;
        return;
    case 11:
        claim->sums.block = 4;
        return;
    case 12:
        claim->sums.extra_bits = 1;
        return;
    case 13:
        claim->sums.truncates = true;
        return;
    case 14:
        claim->sums.flushes = true;
        return;
    case 15:
        claim->sums.aligns_subnormals = true;
        return;
    case 16:
        claim->sums.takes_scales = true;
        return;
    default:
        claim->raised = true;
    }
}

enum { CHANGES = 18 };

Test(known, a_call_that_differs_in_anything_is_another)
{
    struct hc_known *known = hc_known_new();
    struct hc_claim claim = claim_of_axpy();
    learn(known, &claim);
    for (int i = 0; i < CHANGES; i++) {
        struct hc_claim other = claim;
        change(&other, i);
        cr_expect(!is_known(known, &other), "change %d", i);
    }
    cr_assert(is_known(known, &claim));
    hc_known_free(known);
}

Test(known, the_oldest_calls_are_forgotten_and_large_ones_are_not_kept)
{
    static float large[(4 << 20) / 4 + 1];
    struct hc_known *known = hc_known_new();
    struct hc_claim claim = claim_of_axpy();
    learn(known, &claim);
    struct hc_claim huge = claim_of_axpy();
    huge.call.in[HC_X] = hc_tensor1(HC_FP32, sizeof large / sizeof *large, large);
    cr_assert_null(hc_known_call(known, &huge));
    for (int i = 0; i < 255; i++) {
        struct hc_claim other = claim;
        other.call.params.axpy.alpha = 10 + i;
        learn(known, &other);
    }
    cr_assert(is_known(known, &claim));
    struct hc_claim last = claim;
    last.call.params.axpy.alpha = 9;
    learn(known, &last);
    cr_assert(is_known(known, &last));
    cr_assert(!is_known(known, &claim));
    hc_known_free(known);
    cr_assert_null(hc_known_call(NULL, &claim));
}

static struct hc_known *shared;

static void claim_squares(struct hc_check *check)
{
    product(check, 40, 0, 1);
}

static struct hc_result run_shared(hc_kernel *kernel)
{
    struct hc_backend backend = *hc_backend_by_name("exact");
    if (kernel)
        backend.kernel[HC_OP_gemm] = kernel;
    run_knowing(&backend, claim_squares, shared);
    struct hc_result got = result;
    got.seconds = 0;
    return got;
}

static enum hc_status wrong(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = right(HC_OP_gemm)(queue, call);
    hc_tensor_set(&call->out[HC_GEMM_OUT], 3, hc_tensor_get(&call->out[HC_GEMM_OUT], 3) + 1);
    return status;
}

Test(known, results_are_the_same_and_a_wrong_kernel_is_found_as_before)
{
    struct hc_result alone = run_shared(NULL);
    shared = hc_known_new();
    struct hc_result first = run_shared(NULL);
    struct hc_result second = run_shared(NULL);
    struct hc_result faulty = run_shared(wrong);
    cr_assert_eq(alone.verdict, HC_PASS);
    cr_assert_gt(alone.error, 0);
    const struct hc_result *both[] = {&first, &second};
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(both[i]->verdict, alone.verdict);
        cr_expect_eq(both[i]->checked, alone.checked);
        cr_expect_eq(both[i]->error, alone.error);
        cr_expect_eq(both[i]->bound, alone.bound);
        cr_expect_eq(both[i]->looked_at, alone.looked_at);
        cr_expect_eq(both[i]->format, alone.format);
    }
    cr_assert_eq(faulty.verdict, HC_FAIL);
    hc_known_free(shared);
}

/* Inputs are found by the case, the seed and their size, and they are copies. */
Test(known, inputs_that_were_drawn_are_those_of_their_case_and_seed)
{
    static const struct hc_case one = {.name = "one"};
    static const struct hc_case two = {.name = "two"};
    struct hc_check check = {.what = &one, .seed = 3, .known = hc_known_new()};
    struct hc_call call = claim_of_axpy().call;
    cr_assert(!hc_known_inputs(&check, &call));
    x[63] = 5;
    y[0] = 7;
    hc_known_keep_inputs(&check, &call);
    x[63] = y[0] = 0;
    cr_assert(hc_known_inputs(&check, &call));
    cr_assert(x[63] == 5 && y[0] == 7);
    check.seed = 4;
    cr_assert(!hc_known_inputs(&check, &call), "another seed");
    check.seed = 3;
    check.what = &two;
    cr_assert(!hc_known_inputs(&check, &call), "another case");
    check.what = &one;
    call.in[HC_X].shape[0] = 32;
    cr_assert(!hc_known_inputs(&check, &call), "another size");
    hc_known_free(check.known);
    check.known = NULL;
    hc_known_keep_inputs(&check, &call);
    cr_assert(!hc_known_inputs(&check, &call), "nothing is kept");
}

/* A call on integers is found by its case and all that its numbers follow from. */
Test(known, integers_are_those_of_their_case_and_call)
{
    static const struct hc_case one = {.name = "one"};
    static const struct hc_case two = {.name = "two"};
    static double want[64];
    struct hc_check check = {.what = &one, .known = hc_known_new()};
    struct hc_integers first = {
        .call = claim_of_axpy().call, .precision = 24, .seed = 3, .number = 1, .want = {want}};
    bool filled = false;
    cr_assert(!hc_known_integers(&check, &first, &filled));
    x[63] = 5;
    y[0] = 7;
    want[63] = 9;
    hc_known_keep_integers(&check, &first, true);
    x[63] = y[0] = 0;
    want[63] = 0;
    cr_assert(hc_known_integers(&check, &first, &filled) && filled);
    cr_assert(x[63] == 5 && y[0] == 7 && want[63] == 9);
    struct hc_integers other[] = {first, first, first, first, first, first};
    other[0].precision = 11;
    other[1].seed = 4;
    other[2].number = 2;
    other[3].call.params.axpy.alpha = 3;
    other[4].call.in[HC_X].shape[0] = 32;
    other[5].call.out[HC_OUT].format = HC_FP16;
    for (int i = 0; i < 6; i++)
        cr_expect(!hc_known_integers(&check, &other[i], &filled), "%d", i);
    hc_known_keep_integers(&check, &other[0], false);
    cr_assert(hc_known_integers(&check, &other[0], &filled) && !filled, "it could not be filled");
    cr_assert(hc_known_integers(&check, &first, &filled) && filled, "both are kept");
    check.what = &two;
    cr_assert(!hc_known_integers(&check, &first, &filled), "another case");
    hc_known_free(check.known);
}
