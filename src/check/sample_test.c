/* Which elements are looked at, and that no other one can be wrong. */
#include "check/sample.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/generate/cases.h"
#include "check/runner.h"
#include "check/check_inner.h"

enum { COUNT = 10000, SAMPLE = 100 };

static float values[COUNT];

/* Samples an output of COUNT elements as the case of that name does. */
static int64_t take(const char *name, uint64_t seed, int64_t *index)
{
    const struct hc_case what = {.name = name};
    struct hc_check check = {.what = &what, .seed = seed};
    struct hc_claim claim = {.check = &check, .call = {.op = HC_OP_sum}};
    claim.call.out[HC_REDUCE_OUT] = hc_tensor1(HC_FP32, COUNT, values);
    return hc_sample(&claim, 0, SAMPLE, index);
}

static void fill(void)
{
    for (int i = 0; i < COUNT; i++)
        values[i] = 1;
}

Test(sample, places_hang_on_the_seed_and_on_the_cases_name)
{
    int64_t a[SAMPLE];
    int64_t b[SAMPLE];
    fill();
    cr_assert_eq(take("op/a", 1, a), take("op/a", 1, b));
    cr_expect_eq(memcmp(a, b, sizeof a), 0);
    (void)take("op/b", 1, b);
    cr_expect_neq(memcmp(a, b, sizeof a), 0);
    (void)take("op/a", 2, b);
    cr_expect_neq(memcmp(a, b, sizeof a), 0);
}

Test(sample, places_are_different_and_lie_in_every_stretch)
{
    int64_t index[SAMPLE];
    fill();
    int64_t n = take("op/a", 3, index);
    cr_assert(n > SAMPLE - 3, "%lld", (long long)n);
    cr_expect_eq(index[0], 0);
    cr_expect_eq(index[n - 1], COUNT - 1);
    for (int64_t k = 1; k < n; k++)
        cr_expect(index[k] > index[k - 1] &&
                  index[k] - index[k - 1] <= 2 * COUNT / (SAMPLE - 2) + 1);
}

Test(sample, special_values_are_looked_at)
{
    const float special[] = {NAN, INFINITY, -INFINITY, -0.0f, 0x1p-140f};
    int64_t index[SAMPLE];
    for (int s = 0; s < 5; s++) {
        fill();
        int64_t at = 4321 + 77 * s;
        values[at] = special[s];
        int64_t n = take("op/a", 5, index);
        bool found = false;
        for (int64_t k = 0; k < n; k++)
            found |= index[k] == at;
        cr_expect(found, "%g is not looked at", (double)special[s]);
    }
}

/* A logit of -inf gives an ordinary 0. */
Test(sample, special_inputs_are_looked_at_where_results_are_ordinary)
{
    static float logits[COUNT];
    int64_t index[SAMPLE];
    const struct hc_case what = {.name = "op/a"};
    struct hc_check check = {.what = &what};
    struct hc_claim claim = {.check = &check, .call = {.op = HC_OP_xent_bwd}};
    fill();
    logits[5678] = -INFINITY;
    claim.call.in[HC_FIRST] = hc_tensor2(HC_FP32, COUNT / 10, 10, logits);
    claim.call.out[HC_FIRST] = hc_tensor2(HC_FP32, COUNT / 10, 10, values);
    int64_t n = hc_sample(&claim, 0, SAMPLE, index);
    bool found = false;
    for (int64_t k = 0; k < n; k++)
        found |= index[k] == 5678;
    cr_expect(found);
}

static int64_t wrong_at;

/* host, with one element of the first output off by a hundredth. */
static enum hc_status one_wrong(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_FIRST];
    enum hc_status status = hc_backend_by_name("host")->kernel[call->op](queue, call);
    int64_t at = hc_tensor_count(y) ? wrong_at % hc_tensor_count(y) : 0;
    double value = hc_tensor_count(y) ? hc_tensor_get(y, at) : 0;
    if (hc_tensor_count(y))
        hc_tensor_set(y, at, value * 1.01 + copysign(0.01, value));
    return status;
}

static bool must_fail(const struct hc_result *result, void *context)
{
    int *runs = context;
    cr_expect_eq(result->verdict, HC_FAIL, "%s, element %lld: %s", result->what->name,
                 (long long)wrong_at, result->note);
    (*runs)++;
    return true;
}

/* A conv2d's 700 elements were looked at in 151 places. */
Test(sample, no_element_of_a_large_output_may_be_wrong)
{
    static const char *const patterns[] = {"op/conv2d/fp32/2x7x5x6-k10r3/normal",
                                           "op/conv2d_bwd_data/fp16/2x7x5x6-k10r3/normal",
                                           "op/conv2d_bwd_filter/bf16-fp32/2x7x5x6-k10r3/normal",
                                           "op/gemm/fp32/13x9x33*/normal",
                                           "op/bn_train/fp32/17x4x4x16/normal",
                                           "op/bn_bwd/fp16/17x4x4x16/normal",
                                           "op/xent_bwd/fp32/17x10/normal"};
    const struct hc_case_table *table = hc_op_cases();
    const struct hc_case **all = malloc((size_t)table->count * sizeof(struct hc_case *));
    struct hc_backend wrong = *hc_backend_by_name("host");
    const struct hc_backend *backend = &wrong;
    int runs = 0;
    for (int i = 0; i < table->count; i++)
        all[i] = &table->cases[i];
    for (int op = 0; op < HC_OP_COUNT; op++)
        wrong.kernel[op] = one_wrong;
    for (wrong_at = 3; wrong_at < 700; wrong_at += 41) {
        struct hc_run_options options = {.cases = all,
                                         .case_count = table->count,
                                         .patterns = patterns,
                                         .pattern_count = sizeof patterns / sizeof patterns[0],
                                         .backends = &backend,
                                         .backend_count = 1,
                                         .level = HC_STANDARD,
                                         .threads = 1,
                                         .report = must_fail,
                                         .context = &runs};
        cr_assert_eq(hc_run_cases(&options), HC_OK);
    }
    cr_expect_geq(runs, 7 * 17);
    free(all);
}
