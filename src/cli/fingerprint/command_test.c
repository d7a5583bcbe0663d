/* halfcheck fingerprint, and run --fingerprint. */
#include "cli/testing.h"

#include <jansson.h>

#include "cli/run/fingerprints.h"

static void export_loopback(void)
{
    enter_folder();
    cr_assert_eq(setenv("loopback", HC_LOOPBACK, 1), 0);
}

Test(fingerprint, fits_80_columns, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc fingerprint --formats fp16,bf16,fp32 --backend "
                                      "exact,host,cuda-emulated,sim-h100,sim-mi300");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "exact, fp16\n"));
    cr_expect_not_null(strstr(ran->out, "exact, fp32\n"));
    for (const char *at = ran->out; *at; at += strcspn(at, "\n") + 1)
        cr_expect_leq(strcspn(at, "\n"), 80, "%.100s", at);
}

Test(fingerprint, json_says_the_same, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc fingerprint --backend exact --formats bf16 --json -");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(strstr(ran->err, "exact, bf16\n"), "the text goes to the other stream");
    json_t *all = json_loads(ran->out, 0, NULL);
    json_t *f = json_array_get(all, 0);
    cr_assert_eq(json_array_size(all), 1);
    cr_expect_str_eq(json_string_value(json_object_get(f, "format")), "bf16");
    cr_expect(json_is_true(json_object_get(f, "follows")));
    cr_expect_not_null(json_object_get(json_object_get(f, "findings"), "order"));
    json_t *a = json_object_get(f, "accumulator");
    cr_expect_eq(json_integer_value(json_object_get(a, "precision")), 24);
    cr_expect_eq(json_integer_value(json_object_get(a, "block")), 1);
    cr_expect(json_is_false(json_object_get(a, "aligns_subnormals")));
    json_decref(all);
}

static bool accumulates(const char *backend, const char *format, const char *key)
{
    char line[160];
    (void)snprintf(line, sizeof line, "$hc fingerprint --backend %s --formats %s --json -", backend,
                   format);
    json_t *all = json_loads(run_shell(line)->out, 0, NULL);
    json_t *found = json_object_get(json_array_get(all, 0), "accumulator");
    cr_assert(json_is_boolean(json_object_get(found, key)), "%s", key);
    bool is = json_is_true(json_object_get(found, key));
    json_decref(all);
    return is;
}

Test(fingerprint, json_says_how_subnormals_are_taken, .init = enter_folder)
{
    cr_expect(accumulates("sim-a100", "fp16", "aligns_subnormals"));
    cr_expect(!accumulates("sim-a100", "bf16", "flushes"));
    cr_expect(accumulates("sim-avx512bf16", "bf16", "flushes"));
    cr_expect(!accumulates("sim-avx512bf16", "bf16", "aligns_subnormals"));
}

Test(fingerprint, that_cannot_be_had_is_none_in_the_record_of_a_run, .init = export_loopback)
{
    const struct ran *ran =
        run_shell("$hc run op/gemm/fp16 --level quick --fingerprint --json a.json "
                  "--backend \"pipe:$loopback exact zeros\"");
    cr_expect_not_null(strstr(ran->out, "gives 0 where 1 is exact: no fingerprint"), "%s",
                       ran->out);
    ran = run_shell("grep -c '\"loopback fp16\": \"none\"' a.json");
    cr_expect_str_eq(ran->out, "1\n");
}

Test(fingerprint, refuses_what_it_cannot_do, .init = export_loopback)
{
    expect_refusal("$hc fingerprint --formats i32",
                   "'i32' is no format that gemm takes; there are: fp16");
    expect_refusal("$hc fingerprint --formats fp16,fp16", "fp16 twice");
    expect_refusal("$hc fingerprint --formats ''", "--formats");
    expect_refusal("$hc fingerprint host", "takes no 'host'");
    expect_refusal("$hc fingerprint --backend nobody", "no backend 'nobody'");
    expect_refusal("$hc fingerprint --backend pipe:false", "before it greeted");
    expect_refusal("$hc fingerprint --backend \"pipe:$loopback exact only=add\"", "has no gemm");
    expect_refusal("$hc fingerprint --formats fp16,u8", "'u8' is no format that gemm takes");
    expect_refusal("$hc fingerprint --backend \"pipe:$loopback exact zeros\" --formats fp16",
                   "gives 0 where 1 is exact: no fingerprint");
}

Test(fingerprint, of_others_is_kept_beside_a_failure, .init = export_loopback)
{
    const struct ran *ran =
        run_shell("$hc fingerprint --backend exact --backend "
                  "\"pipe:$loopback exact zeros\" --formats fp16 --json f.json");
    cr_expect_eq(ran->status, 2);
    cr_expect_not_null(strstr(ran->out, "exact, fp16\n"));
    ran = run_shell("grep -c '\"error\": \"' f.json; grep -c '\"text\": \"plain' f.json");
    cr_expect_str_eq(ran->out, "1\n1\n");
}

Test(fingerprint, of_a_format_that_is_not_taken_says_so, .init = export_loopback)
{
    static const char command[] = "$hc fingerprint --json f.json --backend "
                                  "\"pipe:$loopback exact only=gemm format=fp16\"";
    char asked[200];
    (void)snprintf(asked, sizeof asked, "%s --formats fp16,bf16", command);
    const struct ran *ran = run_shell(asked);
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "\n\nloopback, bf16\n  not taken      loopback"), "%s",
                       ran->out);
    cr_expect_eq(run_shell("grep -q '\"not_taken\": \"loopback' f.json")->status, 0);
    ran = run_shell(command);
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_expect_null(strstr(ran->out, "not taken"), "nobody asked for it: %s", ran->out);
}

Test(fingerprint, of_a_format_that_the_machine_had_no_unit_for_says_so, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc fingerprint --backend sim-v100 --formats fp16,bf16");
    const char *bf16 = strstr(ran->out, "sim-v100, bf16\n  unit           none of the backend's");
    cr_assert_not_null(bf16, "%s", ran->out);
    cr_expect_eq(strstr(ran->out, "  unit "), strstr(bf16, "  unit "), "%s", ran->out);
}

/* fp8 is probed unasked where a unit for it is named, or where somebody's own backend takes it. */
Test(fingerprint, of_fp8_is_of_the_backends_that_may_have_a_unit_for_it, .init = export_loopback)
{
    const struct ran *ran = run_shell("$hc fingerprint --backend sim-h100,sim-a100,exact");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "equals         h100wgmma-e4m3-fp32 "), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "equals         h100wgmma-e5m2-fp32 "), "%s", ran->out);
    cr_expect_null(strstr(ran->out, "sim-a100, e4m3"));
    cr_expect_null(strstr(ran->out, "exact, e5m2"));
    ran = run_shell("$hc fingerprint --backend exact --formats e5m2");
    cr_expect_not_null(strstr(ran->out, "exact, e5m2\n"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "equals         plain fp32 in that order"), "%s", ran->out);
    ran = run_shell("$hc fingerprint --backend \"pipe:$loopback sim-b200 only=gemm\"");
    cr_expect_not_null(strstr(ran->out, "equals         b200-e4m3-fp32 "), "%s", ran->out);
}

/* A failure in one format is no reason to be silent of the next. */
Test(fingerprint, of_each_format_is_told_though_all_fail, .init = export_loopback)
{
    const struct ran *ran = run_shell("$hc fingerprint --backend \"pipe:$loopback exact zeros\" "
                                      "--formats bf16,fp16 --json f.json");
    cr_expect_eq(ran->status, 2);
    ran = run_shell(
        "grep -c '\"error\": \"' f.json; grep -o '\"[bf]*p*f*16\"' f.json | tr '\\n' ' '");
    cr_expect_str_eq(ran->out, "2\n\"bf16\" \"fp16\" ");
}

Test(fingerprint, stands_in_the_record_of_a_run_that_asks_for_it, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc run op/gemm/fp16 --backend exact --level quick "
                                      "--fingerprint --json a.json; $hc run op/gemm/fp16 --backend "
                                      "exact --level quick --json b.json");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "fingerprint of exact fp16: plain fp32, in order; bits "));
    ran = run_shell("grep -c '\"exact fp16\": \"plain fp32, in order; bits ' a.json; "
                    "grep -c fingerprint b.json");
    cr_expect_str_eq(ran->out, "1\n0\n");
    cr_expect_eq(run_shell("$hc gate --baseline a.json a.json")->status, 0);
    ran = run_shell("$hc gate --baseline a.json b.json");
    cr_expect_eq(ran->status, 1);
    cr_expect_not_null(strstr(ran->out, "none in the record"), "%s", ran->out);
}

Test(fingerprint, begins_every_run_on_a_device, .init = enter_folder)
{
    struct hc_run_settings none = {.fingerprint = false};
    struct hc_run_settings asks = {.fingerprint = true};
    struct hc_backend device = *hc_backend_by_name("exact");
    cr_expect(!hc_run_wants_fingerprint(&none, &device));
    cr_expect(hc_run_wants_fingerprint(&asks, &device));
    device.host_memory = false;
    cr_expect(hc_run_wants_fingerprint(&none, &device));
    device.kernel[HC_OP_gemm] = NULL;
    cr_expect(!hc_run_wants_fingerprint(&asks, &device));
}
