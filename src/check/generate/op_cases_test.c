/* Every generated case can fail, and its bound is neither silly nor beaten by the format-exact
   backend. */
#include "check/generate/cases.h"
#include "check/generate/op_space.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound/bound.h"
#include "check/runner.h"
#include "op/later.h"

static const struct hc_case **pointers(int *n)
{
    const struct hc_case_table *table = hc_op_cases();
    const struct hc_case **all = malloc((size_t)table->count * sizeof(struct hc_case *));
    for (int i = 0; i < table->count; i++)
        all[i] = &table->cases[i];
    *n = table->count;
    return all;
}

static void run(const struct hc_backend *backend, enum hc_level level,
                bool (*report)(const struct hc_result *, void *), void *context)
{
    int n;
    const struct hc_case **all = pointers(&n);
    struct hc_run_options options = {.cases = all,
                                     .case_count = n,
                                     .backends = &backend,
                                     .backend_count = 1,
                                     .level = level,
                                     .threads = 1,
                                     .report = report,
                                     .context = context};
    cr_assert_eq(hc_run_cases(&options), HC_OK);
    free(all);
}

/* The first number of the format, away from zero, that lies beyond the bound. */
static uint64_t beyond(enum hc_format format, const struct hc_exact *want, double bound)
{
    double far = want->hi + copysign(bound, want->hi);
    uint64_t bits = hc_encode(format, far, 0, HC_NEAREST);
    while (hc_bound_error(format, want, hc_decode(format, bits)) <= bound)
        bits++;
    return bits;
}

static bool can_be_wrong;
static bool is_empty;

/* exact, and then its first element moved just beyond what the contract allows. */
static enum hc_status just_wrong(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_FIRST];
    const struct hc_backend *exact = hc_backend_by_name("exact");
    uint64_t bits = 0;
    is_empty = hc_tensor_count(y) == 0;
    can_be_wrong = !is_empty;
    if (is_empty)
        return exact->kernel[call->op](queue, call);
    struct hc_exact want = hc_reference_value(call, 0, 0);
    struct hc_element first = {call, 0, 0};
    double bound = hc_bound(&first, &exact->accumulator, &want);
    if (hc_bound_bits(&first, &want, &bits))
        bits = isnan(hc_decode(y->format, bits)) ? 0 : bits ^ 1;
    else if (isinf(bound))
        can_be_wrong = false;
    else if (!isfinite(want.hi))
        bits = 0;
    else
        bits = beyond(y->format, &want, bound);
    enum hc_status status = exact->kernel[call->op](queue, call);
    if (can_be_wrong)
        hc_tensor_set_bits(y, 0, bits);
    return status;
}

static int runs;
static int unbounded;

static bool must_fail(const struct hc_result *result, void *context)
{
    (void)context;
    runs++;
    unbounded += !can_be_wrong && !is_empty;
    if (!can_be_wrong && !is_empty && getenv("HC_SHOW"))
        (void)fprintf(stderr, "%s: its first element may be anything\n", result->what->name);
    if (can_be_wrong)
        cr_assert_eq(result->verdict, HC_FAIL, "%s: %s", result->what->name, result->note);
    return true;
}

Test(opcase, every_case_fails_when_one_element_lies_just_beyond_its_bound)
{
    struct hc_backend wrong = *hc_backend_by_name("exact");
    for (int op = 0; op < HC_OP_COUNT; op++)
        wrong.kernel[op] = just_wrong;
    bool few = getenv("HALFCHECK_SHORT_TESTS");
    run(&wrong, few ? HC_QUICK : HC_STANDARD, must_fail, NULL);
    cr_assert_gt(runs, few ? 50 : 2000);
    cr_assert_lt(unbounded * (few ? 10 : 100), runs, "%d of %d", unbounded, runs);
}

/* Largest error / bound; and where the result is fp32, so that no last rounding covers the rest. */
static double worst[HC_OP_ROOM];
static double worst_wide[HC_OP_ROOM];

static bool keep_worst(const struct hc_result *result, void *context)
{
    (void)context;
    cr_assert_eq(result->verdict, HC_PASS, "%s: %s", result->what->name, result->note);
    char name[64];
    size_t length = strcspn(result->what->name + 3, "/");
    memcpy(name, result->what->name + 3, length);
    name[length] = '\0';
    enum hc_op op = hc_op_by_name(name);
    if (result->bound > 0 && strcmp(result->unit, "abs") == 0)
        worst[op] = fmax(worst[op], result->error / result->bound);
    if (result->bound > 0 && strcmp(result->unit, "abs") == 0 &&
        (strstr(result->what->name, "/fp32/") || strstr(result->what->name, "-fp32/")))
        worst_wide[op] = fmax(worst_wide[op], result->error / result->bound);
    return true;
}

Test(opcase, exact_holds_every_bound_and_comes_near_it)
{
    run(hc_backend_by_name("exact"), HC_STANDARD, keep_worst, NULL);
    for (int op = 0; op < HC_OP_COUNT; op++) {
        if (!hc_opspace((enum hc_op)op).sets->name)
            continue; /* it has cases of its own */
        if (hc_ops[op].class_ == HC_CLASS_COLLECTIVE)
            continue; /* its bits are stated; bound/all_reduce_test.c comes near its bound */
        if (hc_ops[op].class_ == HC_CLASS_QUANT)
            continue; /* its bits are stated, and have no other bound */
        if (op == HC_OP_embedding || op == HC_OP_swap_axes)
            continue; /* they copy */
        if (getenv("HC_SHOW"))
            (void)fprintf(stderr, "%-20s %.3f %.3f\n", hc_ops[op].name, worst[op], worst_wide[op]);
        uint64_t bits;
        struct hc_exact want = {1, 0, 1};
        struct hc_call call = {.op = (enum hc_op)op};
        call.in[HC_X] = call.out[HC_OUT] = hc_tensor1(HC_FP32, 1, NULL);
        call.in[HC_Y] = call.in[HC_X];
        if (hc_ops[op].class_ == HC_CLASS_ELEMENTWISE || hc_ops[op].class_ == HC_CLASS_CONTROL ||
            op == HC_OP_avg_pool_bwd)
            cr_assert(hc_bound_bits(&(struct hc_element){&call, 0, 0}, &want, &bits), "%s",
                      hc_ops[op].name);
        else
            cr_assert(worst_wide[op] > 0.05, "%s: %g", hc_ops[op].name, worst_wide[op]);
    }
}

Test(opcase, names_are_unique_and_every_op_has_cases)
{
    const struct hc_case_table *table = hc_op_cases();
    int of_op[HC_OP_ROOM] = {0};
    for (int i = 0; i < table->count; i++) {
        const char *name = table->cases[i].name;
        cr_assert_eq(strncmp(name, "op/", 3), 0);
        for (int op = 0; op < HC_OP_COUNT; op++) {
            size_t length = strlen(hc_ops[op].name);
            of_op[op] += strncmp(name + 3, hc_ops[op].name, length) == 0 && name[3 + length] == '/';
        }
        for (int j = i + 1; j < table->count; j++)
            cr_assert_neq(strcmp(name, table->cases[j].name), 0, "%s", name);
    }
    for (int op = 0; op < HC_OP_COUNT; op++)
        cr_assert(of_op[op] >= 20 || !hc_opspace((enum hc_op)op).sets->name, "%s: %d",
                  hc_ops[op].name, of_op[op]);
}

static int quick_runs;

static bool count_quick(const struct hc_result *result, void *context)
{
    (void)result;
    (void)context;
    quick_runs++;
    return true;
}

Test(opcase, the_quick_level_has_one_to_six_cases_an_op)
{
    run(hc_backend_by_name("exact"), HC_QUICK, count_quick, NULL);
    cr_assert(quick_runs >= HC_OP_COUNT && quick_runs <= 6 * HC_OP_COUNT, "%d", quick_runs);
}

/* A kernel that says that all is well and writes nothing. */
static enum hc_status nothing_written(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    is_empty = hc_tensor_count(&call->out[HC_FIRST]) == 0;
    return HC_OK;
}

static bool must_not_pass(const struct hc_result *result, void *context)
{
    int *failures = context;
    const char *name = result->what->name;
    bool kept = strstr(name, "-in-place") != NULL; /* found-inf: nothing is to be written */
    *failures += result->verdict == HC_FAIL;
    if (!is_empty && !kept)
        cr_assert_eq(result->verdict, HC_FAIL, "%s: %s", name, hc_verdict_names[result->verdict]);
    return true;
}

Test(opcase, no_case_passes_when_nothing_is_written)
{
    int failures = 0;
    struct hc_backend idle = *hc_backend_by_name("exact");
    for (int op = 0; op < HC_OP_COUNT; op++)
        idle.kernel[op] = nothing_written;
    bool few = getenv("HALFCHECK_SHORT_TESTS");
    run(&idle, few ? HC_QUICK : HC_STANDARD, must_not_pass, &failures);
    cr_assert_gt(failures, few ? 50 : 4000, "%d", failures);
}
