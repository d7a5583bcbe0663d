/* Every case of bits/ fails over one bit in any output. */
#include "check/generate/cases.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/runner.h"

static struct hc_backend backend;
static const struct hc_backend *host;
static int slot;  /* the output that is spoilt; -1: none */
static bool late; /* its last number that is no NaN, else its first */

static void spoil(const struct hc_tensor *t)
{
    int64_t n = hc_tensor_count(t);
    for (int64_t k = 0; k < n; k++) {
        int64_t i = late ? n - 1 - k : k;
        if (isnan(hc_tensor_get(t, i)))
            continue;
        hc_tensor_set_bits(t, i, hc_tensor_bits(t, i) ^ 1);
        return;
    }
}

static enum hc_status spoilt(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = host->kernel[call->op](queue, call);
    int last = hc_ops[call->op].outputs - 1;
    while (last > 0 && !call->out[last].data)
        last--;
    if (status == HC_OK && slot >= 0)
        spoil(&call->out[slot < last ? slot : last]);
    return status;
}

struct tally {
    int passed;
    int failed;
};

static bool report(const struct hc_result *result, void *context)
{
    struct tally *tally = context;
    tally->passed += result->verdict == HC_PASS;
    tally->failed += result->verdict == HC_FAIL;
    cr_assert(slot < 0 || result->verdict == HC_FAIL, "%s survives one other bit",
              result->what->name);
    return true;
}

static struct tally run(const struct hc_backend *on)
{
    const struct hc_case_table *table = hc_bit_cases();
    const struct hc_case **all = malloc((size_t)table->count * sizeof(struct hc_case *));
    for (int i = 0; i < table->count; i++)
        all[i] = &table->cases[i];
    struct tally tally = {0};
    struct hc_run_options options = {
        .cases = all,
        .case_count = table->count,
        .backends = &on,
        .backend_count = 1,
        .level = slot >= 0 && getenv("HALFCHECK_SHORT_TESTS") ? HC_QUICK : HC_STANDARD,
        .threads = 1,
        .report = report,
        .context = &tally};
    enum hc_status status = hc_run_cases(&options);
    cr_assert_eq(status, strcmp(on->name, "exact") == 0 ? HC_INVALID : HC_OK);
    free(all);
    return tally;
}

static void prepare(void)
{
    host = hc_backend_by_name("host");
    backend = *host;
    slot = -1;
    for (int op = 0; op < HC_OP_COUNT; op++)
        backend.kernel[op] = spoilt;
}

TestSuite(bits, .init = prepare);

Test(bits, every_settled_op_has_cases_and_host_passes_them)
{
    struct tally tally = run(&backend);
    cr_assert_eq(tally.passed, hc_bit_cases()->count);
    for (int op = 0; op < HC_OP_COUNT; op++) {
        char name[64];
        bool found = false;
        (void)snprintf(name, sizeof name, "bits/%s/", hc_ops[op].name);
        for (int i = 0; i < hc_bit_cases()->count; i++)
            found |= strncmp(hc_bit_cases()->cases[i].name, name, strlen(name)) == 0;
        bool settled =
            hc_ops[op].class_ == HC_CLASS_ELEMENTWISE || hc_ops[op].class_ == HC_CLASS_OPTIMIZER;
        cr_assert(found || !settled, "%s", hc_ops[op].name);
    }
}

Test(bits, every_case_fails_over_one_bit_of_its_first_output)
{
    slot = 0;
    cr_assert_gt(run(&backend).failed, 0);
}

Test(bits, every_case_fails_over_one_bit_at_the_end_of_its_last_output)
{
    slot = HC_MAX_OUT;
    late = true;
    cr_assert_gt(run(&backend).failed, 0);
}

Test(bits, exact_is_not_compared_with_itself)
{
    struct tally tally = run(hc_backend_by_name("exact"));
    cr_assert_eq(tally.passed + tally.failed, 0);
}
