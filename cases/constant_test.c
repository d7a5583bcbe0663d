/* The cases that are not generated, on backends whose kernels write one number into every output.
   Where that is another result than the right one, no case may pass or skip. */
#include <criterion/criterion.h>
#include <math.h>

#include "cases/registry.h"
#include "check/runner.h"

static bool did; /* the case that runs has an output that must differ */
static int judged;
static double constant;

static enum hc_status wrong(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = hc_backend_by_name("exact")->kernel[call->op](queue, call);
    for (int o = 0; o < hc_ops[call->op].outputs && status == HC_OK; o++) {
        const struct hc_tensor *t = &call->out[o];
        int64_t n = t->data && t->format != HC_I32 ? hc_tensor_count(t) : 0;
        for (int64_t i = 0; i < n; i++) {
            double was = hc_tensor_get(t, i);
            hc_tensor_set(t, i, constant);
            did |= was != hc_tensor_get(t, i) && !(isnan(was) && isnan(constant));
        }
    }
    return status;
}

static void starting(const struct hc_case *what, const char *backend, void *context)
{
    (void)what;
    (void)backend;
    (void)context;
    did = false;
}

static bool look(const struct hc_result *result, void *context)
{
    (void)context;
    judged += did;
    cr_expect(!did || result->verdict == HC_FAIL, "%s on kernels that write %g: %s, %s",
              result->what->name, constant, hc_verdict_names[result->verdict], result->note);
    return true;
}

static bool is_asked(const struct hc_case *what)
{
    static const char *const others[] = {"op/*", "border/*", "bits/*", "training/*",
                                         "master/optimizer-sees-fp32"}; /* asks for formats alone */
    return !hc_matches(others, 5, what->name);
}

Test(constant, kernels_that_write_one_number_fail_every_case)
{
    static const double numbers[] = {NAN, 0, 1, INFINITY};
    static const struct hc_case *asked[4096];
    int n = 0;
    int count;
    const struct hc_case *const *all = hc_all_cases(&count);
    struct hc_backend backend = *hc_backend_by_name("exact");
    const struct hc_backend *backends[] = {&backend};
    for (int i = 0; i < count; i++)
        if (is_asked(all[i]))
            asked[n++] = all[i];
    struct hc_run_options options = {.cases = asked,
                                     .case_count = n,
                                     .backends = backends,
                                     .backend_count = 1,
                                     .level = HC_QUICK,
                                     .threads = 1,
                                     .starting = starting,
                                     .report = look};
    backend.name = "constant";
    for (int op = 0; op < HC_OP_COUNT; op++)
        backend.kernel[op] = wrong;
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        constant = numbers[k];
        cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
    }
    cr_assert_gt(judged, 300, "%d", judged);
}
