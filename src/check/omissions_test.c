/* What a partial backend leaves out is counted, and what it refuses for no reason of format is
   seen. */
#include "check/omissions.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/generate/cases.h"
#include "check/record/rows.h"
#include "op/digest.h"
#include "op/later.h"

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

/* Refuses what holds a NaN, an infinity or a subnormal, and the zeros with which that is found
   out. */
static enum hc_status ordinary_only(struct hc_queue *queue, const struct hc_call *call)
{
    bool zeros = true;
    bool special = false;
    double least = ldexp(1, hc_formats[call->in[HC_FIRST].format].emin);
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        for (int64_t k = 0; k < hc_tensor_count(&call->in[i]); k++) {
            double x = fabs(hc_tensor_get(&call->in[i], k));
            zeros &= x == 0;
            special |= !(x < INFINITY) || (x > 0 && x < least);
        }
    if (zeros || special)
        return hc_fail(HC_UNSUPPORTED, "%s is busy", hc_ops[call->op].name);
    return hc_backend_by_name("exact")->kernel[call->op](queue, call);
}

static enum hc_status half_only(struct hc_queue *queue, const struct hc_call *call)
{
    if (call->in[HC_FIRST].format != HC_FP16)
        return hc_fail(HC_UNSUPPORTED, "%s is for half", hc_ops[call->op].name);
    return hc_backend_by_name("exact")->kernel[call->op](queue, call);
}

static enum hc_status full_only(struct hc_queue *queue, const struct hc_call *call)
{
    if (call->in[HC_FIRST].format != HC_FP32)
        return hc_fail(HC_UNSUPPORTED, "%s is for fp32", hc_ops[call->op].name);
    return hc_backend_by_name("exact")->kernel[call->op](queue, call);
}

static const char *const *must_be_taken;

static bool keep(const struct hc_result *result, void *context)
{
    (void)context;
    cr_expect(result->verdict == HC_PASS || must_be_taken, "%s: %s", result->what->name,
              result->note);
    hc_rows_add(&rows, result, &options, NULL);
    return true;
}

/* The cases of two patterns on the backend `some`. */
static int run_some(const char *const patterns[2])
{
    static const struct hc_backend *const backends[] = {&some};
    const struct hc_case_table *table = hc_op_cases();
    const struct hc_case **cases = malloc((size_t)table->count * sizeof(struct hc_case *));
    for (int i = 0; i < table->count; i++)
        cases[i] = &table->cases[i];
    options = (struct hc_run_options){.cases = cases,
                                      .case_count = table->count,
                                      .patterns = patterns,
                                      .pattern_count = 2,
                                      .required = must_be_taken,
                                      .required_count = must_be_taken ? 1 : 0,
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

/* All cases of add and mul, on a backend with add alone. */
static int run_with(hc_kernel *add)
{
    some = *hc_backend_by_name("exact");
    some.name = "some";
    some.partial = true;
    memset(some.kernel, 0, sizeof some.kernel);
    some.kernel[HC_OP_add] = add;
    return run_some((const char *const[]){"op/add/*", "op/mul/*"});
}

/* An op that a definition says, each backend has as it likes, be it partial or not. */
Test(omissions, an_op_of_a_definition_without_a_kernel_is_left_out)
{
    some = *hc_backend_by_name("exact");
    some.name = "some";
    some.kernel[HC_OP_softmax] = NULL;
    int length = run_some((const char *const[]){"op/softmax/*", "op/silu/fp32/*"});
    const struct hc_omission *o = rows.omissions.row;
    cr_assert_eq(rows.omissions.count, 1);
    cr_assert(o->count[HC_OMITTED_ABSENT] > 20 && o->count[HC_OMITTED_REFUSED] == 0);
    cr_assert_str_eq(o->why[HC_OMITTED_ABSENT], "some has no softmax");
    cr_assert(rows.count > 5 && rows.count + hc_omission_total(o) == length);
    hc_rows_free(&rows);
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
    cr_assert_null(hc_omissions_fickle(&rows.omissions, HC_ALIKE_FORMATS, &i));
    hc_rows_free(&rows);
}

Test(omissions, a_kernel_that_refuses_what_it_takes_elsewhere_is_seen)
{
    int i = 0;
    (void)run_with(short_only);
    const struct hc_alike_calls *set = hc_omissions_fickle(&rows.omissions, HC_ALIKE_FORMATS, &i);
    cr_assert_not_null(set);
    cr_assert(set->taken > 0 && set->refused > 0);
    cr_assert_str_eq(set->why, "add is too long");
    hc_rows_free(&rows);
}

Test(omissions, a_kernel_that_refuses_by_the_numbers_fails_whatever_it_does_with_zeros)
{
    int first;
    int length = run_with(ordinary_only);
    int passed = rows.count;
    int left_out = hc_omissions_count(&rows.omissions, "some");
    cr_assert_eq(passed + left_out, length);
    cr_assert_eq(hc_rows_refuse(&rows, &options, NULL, &first), HC_OK);
    cr_assert_eq(first, passed);
    cr_assert_geq(rows.count - first, 3);
    cr_assert_eq(rows.count + hc_omissions_count(&rows.omissions, "some"), length);
    for (int i = first; i < rows.count; i++) {
        const struct hc_row *row = &rows.row[i];
        char repro[320];
        cr_expect_eq(row->verdict, HC_FAIL, "%s", row->name);
        cr_expect_not_null(strstr(row->note, "add is busy"), "%s", row->note);
        cr_expect(strncmp(row->name, "op/add/", 7) == 0, "%s", row->name);
        (void)snprintf(repro, sizeof repro, "halfcheck run %s op/add/", row->name);
        cr_expect(strncmp(row->repro, repro, strlen(repro)) == 0, "%s", row->repro);
    }
    hc_rows_free(&rows);
    (void)run_with(short_only);
    cr_assert_eq(hc_rows_refuse(&rows, &options, NULL, &first), HC_OK);
    cr_expect_eq(first, rows.count);
    hc_rows_free(&rows);
}

Test(omissions, what_must_be_taken_fails_where_it_is_left_out)
{
    static const char *const required[] = {"op/add/fp16/*"};
    must_be_taken = required;
    int length = run_with(full_only);
    int failed = hc_rows_count(&rows, HC_FAIL);
    cr_expect_gt(failed, 10);
    for (int i = 0; i < rows.count; i++)
        cr_expect_eq(rows.row[i].verdict == HC_FAIL,
                     strncmp(rows.row[i].name, "op/add/fp16/", 12) == 0, "%s", rows.row[i].name);
    cr_expect_eq(rows.count + hc_omissions_count(&rows.omissions, "some"), length);
    must_be_taken = NULL;
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

/* A step that is left out computes nothing, so whoever lacks the format can take it. */
Test(omissions, a_flag_makes_another_call)
{
    float w[2] = {1, 2};
    float flag = 0;
    struct hc_call call = {.op = HC_OP_sgd};
    for (int i = 0; i < hc_ops[HC_OP_sgd].inputs; i++)
        call.in[i] = hc_tensor1(HC_FP32, 2, w);
    call.in[HC_SGD_FOUND_INF] = hc_tensor1(HC_FP32, 1, &flag);
    uint64_t taken = hc_digest_form(&call);
    w[1] = 3;
    cr_expect_eq(hc_digest_form(&call), taken);
    flag = 1;
    cr_expect_neq(hc_digest_form(&call), taken);
}
