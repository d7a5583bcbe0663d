/* What a partial backend leaves out is counted, and what it refuses for no reason of format is
   seen. */
#include "check/omissions.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "check/generate/op_cases.h"
#include "check/record/rows.h"

static struct hc_backend some;
static struct hc_rows rows;
static struct hc_run_options options;

/* Refuses what is long. */
static enum hc_status short_only(struct hc_queue *queue, const struct hc_call *call)
{
    if (hc_tensor_count(&call->in[HC_FIRST]) > 100)
        return hc_fail(HC_UNSUPPORTED, "%s is too long", hc_ops[call->op].name);
    return hc_backend_by_name("exact")->kernel[call->op](queue, call);
}

static enum hc_status half_only(struct hc_queue *queue, const struct hc_call *call)
{
    if (call->in[HC_FIRST].format != HC_FP16)
        return hc_fail(HC_UNSUPPORTED, "%s is for half", hc_ops[call->op].name);
    return hc_backend_by_name("exact")->kernel[call->op](queue, call);
}

static bool keep(const struct hc_result *result, void *context)
{
    (void)context;
    cr_expect_eq(result->verdict, HC_PASS, "%s: %s", result->what->name, result->note);
    hc_rows_add(&rows, result, &options, NULL);
    return true;
}

/* All cases of add and mul, on a backend with add alone. */
static int run_with(hc_kernel *add)
{
    static const struct hc_backend *const backends[] = {&some};
    static const char *const patterns[] = {"op/add/*", "op/mul/*"};
    const struct hc_case_table *table = hc_op_cases();
    const struct hc_case **cases = malloc((size_t)table->count * sizeof(struct hc_case *));
    for (int i = 0; i < table->count; i++)
        cases[i] = &table->cases[i];
    some = *hc_backend_by_name("exact");
    some.name = "some";
    some.partial = true;
    memset(some.kernel, 0, sizeof some.kernel);
    some.kernel[HC_OP_add] = add;
    options = (struct hc_run_options){.cases = cases,
                                      .case_count = table->count,
                                      .patterns = patterns,
                                      .pattern_count = 2,
                                      .backends = backends,
                                      .backend_count = 1,
                                      .level = HC_STANDARD,
                                      .threads = 1,
                                      .report = keep,
                                      .omissions = &rows.omissions};
    cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
    int length = hc_run_length(&options);
    free(cases);
    return length;
}

Test(omissions, every_case_is_a_result_or_is_counted)
{
    int i = 0;
    int length = run_with(half_only);
    const struct hc_omission *o = rows.omissions.row;
    cr_assert_eq(rows.omissions.count, 1);
    cr_assert_str_eq(o->backend, "some");
    cr_assert_str_eq(o->component, "op");
    cr_assert(o->count[HC_OMITTED_ABSENT] > 5 && o->count[HC_OMITTED_REFUSED] > 5 &&
              rows.count > 5);
    cr_assert_eq(rows.count + hc_omission_total(o), length);
    cr_assert_eq(hc_omissions_count(&rows.omissions, "some"), hc_omission_total(o));
    cr_assert_eq(hc_omissions_count(&rows.omissions, "other"), 0);
    cr_assert_null(hc_omissions_fickle(&rows.omissions, &i));
    hc_rows_free(&rows);
}

Test(omissions, a_kernel_that_refuses_what_it_takes_elsewhere_is_seen)
{
    int i = 0;
    (void)run_with(short_only);
    const struct hc_call_formats *set = hc_omissions_fickle(&rows.omissions, &i);
    cr_assert_not_null(set);
    cr_assert(set->taken > 0 && set->refused > 0);
    cr_assert_str_eq(set->why, "add is too long");
    hc_rows_free(&rows);
}

Test(omissions, are_tests_that_are_skipped_in_tap_and_junit)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    (void)run_with(half_only);
    hc_tap_omission(out, 7, &rows.omissions.row[0]);
    (void)fclose(out);
    cr_assert_eq(strncmp(text, "ok 7 - op some # SKIP ", 22), 0, "%s", text);
    free(text);

    char path[] = "/tmp/hc-omissions-XXXXXX";
    char xml[4096];
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(hc_junit_write(&rows, false, path), HC_OK);
    FILE *in = fopen(path, "r");
    bool found = false;
    while (fgets(xml, sizeof xml, in))
        found |= strstr(xml, "<skipped type=\"left out\"") != NULL;
    (void)fclose(in);
    (void)remove(path);
    cr_assert(found);
    hc_rows_free(&rows);
}
