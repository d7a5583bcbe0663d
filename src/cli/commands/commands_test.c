/* list, explain, selftest and bench. */
#include "cli/testing.h"

#include <jansson.h>

#include "check/selftest/fault.h"
#include "op/op.h"

Test(list, every_subject_has_rows_with_the_name_first, .init = enter_folder)
{
    const char *names[] = {"cases",       "ops",      "backends", "recipes",          "scalers",
                           "faults",      "formats",  "units",    "reports",          "mechanisms",
                           "corrections", "wrappers", "scales",   "scale-differences"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "$hc list %s | cut -f1 | grep -c '^[a-z0-9/-]*'",
                       names[i]);
        cr_expect_eq(run_shell(line)->status, 0, "%s", names[i]);
    }
    cr_expect_eq(lines_of(run_shell("$hc list ops")->out), HC_OP_COUNT);
    const struct ran *ran = run_shell("$hc list formats | grep ^fp16");
    cr_expect_str_eq(ran->out,
                     "fp16\t11\t-14\t15\t2\t0x1.ffcp+15\t0x1p-24\t0x1p-11\t16\tinfinity\n");
}

Test(list, units_have_their_numbers_and_where_these_come_from, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc list units | grep -e ^h100wgmma-e4m3-fp32 -e ^amx");
    cr_expect_str_eq(
        ran->out,
        "h100wgmma-e4m3-fp32\te4m3*e4m3+fp32=fp32\tfused\t32\t32\t13\ttoward zero\t13\t-133\t"
        "disputed\tMMA-Sim 2.1.1\n"
        "h100wgmma-e4m3-fp32@c785138\te4m3*e4m3+fp32=fp32\tfused\t32\t32\t13\ttoward zero\t13\t"
        "-126\tdisputed\tMMA-Sim c785138\n"
        "amx-bf16-fp32\tbf16*bf16+fp32=fp32\ttwo chains of fma\t32\t32\t-\tnearest\t23\t-\t"
        "measured\tmeasured on an Intel Xeon (Sapphire Rapids); Intel's SDM\n");
    cr_assert_eq(run_shell("$hc list units --json >units.json")->status, 0);
    json_t *rows = json_load_file("units.json", 0, NULL);
    size_t i;
    const json_t *row;
    int found = 0;
    json_array_foreach(rows, i, row)
    {
        const json_t *o = json_object_get(row, "description");
        const char *name = json_string_value(json_object_get(row, "name"));
        cr_assert(name && json_string_value(json_object_get(o, "instruction")), "row %zu", i);
        if (strcmp(name, "b200-nve2m1-fp32@c785138") != 0)
            continue;
        found++;
        cr_expect_str_eq(json_string_value(json_object_get(o, "scale")), "ue4m3");
        cr_expect_str_eq(json_string_value(json_object_get(o, "variant of")), "b200-nve2m1-fp32");
        cr_expect_str_eq(json_string_value(json_object_get(o, "NaN code")), "7fffffff");
        cr_expect_eq(json_integer_value(json_object_get(o, "group")), 16);
    }
    cr_expect_eq(found, 1);
    json_decref(rows);
}

Test(list, json_has_as_many_rows_as_the_text, .init = enter_folder)
{
    cr_assert_eq(run_shell("test $($hc list cases | wc -l) ="
                           " $($hc list cases --json | grep -c '\"name\":')")
                     ->status,
                 0);
}

Test(list, corrections_say_who_said_what_and_what_is_true, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc list corrections");
    const char *five = strstr(ran->out, "\nseeds/001-fp16-notebook/five-updates-on-a-master\n"
                                        "  source      fastai/fastai_old");
    cr_assert_eq(ran->status, 0);
    cr_assert_not_null(five, "%s", ran->out);
    cr_assert_not_null(strstr(five, "\n  correction  The notebook says"));
    cr_assert_not_null(strstr(ran->out, "\nfield/sum-overflow/uint8-normalise-half\n"));
    cr_assert_null(strstr(ran->out, "seeds/001-fp16-notebook/numbers-after-1"), "it is right");
    for (const char *at = ran->out; *at; at += strcspn(at, "\n") + 1)
        cr_expect_lt(strcspn(at, "\n"), 80, "%.100s", at);
    ran = run_shell("$hc list corrections --json | tr -d ' \\n' | grep -o "
                    "'\"says\":\"1.0005,[^}]*'");
    cr_assert_str_eq(ran->out, "\"says\":\"1.0005,1.0005,-,-,-\",\"is\":\"1.00050008,"
                               "1.0009765625exact,0.99951171875exact,5exact,3exact\"\n");
}

Test(explain, a_quote_says_how_far_the_text_is_off, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("$hc explain seeds/001-fp16-notebook/five-updates-on-a-master --backend exact");
    static const char *const words[] = {
        "\n  quoted  'if it is updated five times",
        "\n  formats fp32\n",
        "\n  fp16(master)                              1.0005      1.00097656   0.000477\n",
        "\n  The text is wrong.\n",
        "\n  not so  The notebook says",
        "  master/crosses-at-step-5-upwards  none differs\n",
        "\n  try     halfcheck calc 'master = 1' ",
        " --in fp32 "};
    cr_assert_eq(ran->status, 0);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        cr_expect_not_null(strstr(ran->out, words[i]), "%s\n%s", words[i], ran->out);
    ran = run_shell("$hc find 1.0005 notebook");
    cr_assert_eq(strncmp(ran->out, "seeds/001-fp16-notebook/five-updates", 36), 0, "%s", ran->out);
}

Test(list, refuses_other_subjects, .init = enter_folder)
{
    expect_refusal("$hc list planets",
                   "list: unknown 'planets'; there are: components, cases, ops, ");
    expect_refusal("$hc list ops cases", "cases");
}

Test(explain, tells_claim_source_numbers_and_verdict, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc explain rounding/after-one");
    cr_assert_eq(ran->status, 0);
    const char *words[] = {"claim", "source", "0x3c01", "PASS"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        cr_expect_not_null(strstr(ran->out, words[i]), "%s", words[i]);
}

Test(explain, tells_one_backend_up_to_a_screen_and_of_others_the_verdict, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc explain order/every-sequence");
    cr_assert_eq(ran->status, 0);
    cr_expect_leq(lines_of(ran->out), 40, "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "\non exact:\n"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "\non host: PASS: "), "%s", ran->out);
    cr_expect_eq(
        run_shell("$hc explain order/every-sequence | awk 'NR < 8 && length > 80' | grep .")
            ->status,
        1);
    ran = run_shell("$hc explain order/every-sequence --all --backend host,exact");
    cr_expect_gt(lines_of(ran->out), 300);
    cr_expect_not_null(strstr(ran->out, "\non host:\n"));
    cr_expect_not_null(strstr(ran->out, "\non exact: PASS: "));
    ran = run_shell("$hc explain order/every-sequence --backend host");
    cr_expect_null(strstr(ran->out, "on exact"), "%s", ran->out);
    ran = run_shell("$hc explain bits/add/fp16"); /* compares with exact: told on another */
    cr_expect_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "\non host:\n"), "%s", ran->out);
    cr_expect_null(strstr(ran->out, "on exact:"), "%s", ran->out);
}

Test(explain, refuses_what_is_no_case, .init = enter_folder)
{
    expect_refusal("$hc explain", "exactly one CASE, SLUG, op/NAME or component");
    expect_refusal("$hc explain 'rounding/*'", "rounding/*");
    expect_refusal("$hc explain bits/add/fp16 --backend exact", "with exact");
    expect_refusal("$hc explain size/adam/fp32/16778243 --backend exact", "chosen takes too long");
    expect_refusal("$hc explain rounding/after-oen", "did you mean 'rounding/after-one'?");
    expect_refusal("$hc explain rounding/after-one --backend abacus", "abacus");
}

Test(selftest, every_planted_fault_is_caught, .init = enter_folder)
{
    int n = hc_fault_count();
    cr_expect_geq(n, 200);
    const struct ran *ran = run_shell("$hc selftest --json > s.json");
    cr_assert_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    json_t *all = json_load_file("s.json", 0, NULL);
    cr_assert_eq((int)json_array_size(json_object_get(all, "faults")), n);
    json_t *row;
    size_t i;
    cr_expect_eq((int)json_array_size(json_object_get(all, "classes")), HC_FAULT_CLASSES);
    json_array_foreach(json_object_get(all, "classes"), i, row)
    {
        json_int_t planted = json_integer_value(json_object_get(row, "planted"));
        cr_expect_eq(planted, json_integer_value(json_object_get(row, "caught")));
        cr_expect_geq(json_integer_value(json_object_get(row, "cases")), 2, "%s",
                      json_string_value(json_object_get(row, "name")));
        n -= (int)planted;
    }
    cr_expect_eq(n, 0);
    json_decref(all);
}

Test(selftest, prints_a_table_by_class_and_names_what_nothing_caught, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc selftest rounding-one-more");
    cr_assert_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "\nstochastic           1        1          1 "), "%s",
                       ran->out);
    cr_expect_null(strstr(ran->out, "SURVIVES"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "1 of 1 planted faults caught"), "%s", ran->out);
    expect_refusal("$hc selftest no-such-fault", "no fault");
}

Test(bench, counts_what_a_step_gives_to_cuda_where_no_device_is, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc bench training/darknet16 --backend cuda-counted");
    cr_expect_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "launches/step"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "bytes/step"), "%s", ran->out);
    cr_expect_null(strstr(ran->out, "images/s"), "%s", ran->out);
}

Test(bench, measures_any_backend, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc bench 'rate/*' --backend cuda-emulated --json r.json");
    cr_assert_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_assert_not_null(strstr(ran->out, "of a copy"), "%s", ran->out);
    cr_assert_not_null(strstr(ran->out, "of gemm"), "%s", ran->out);
    cr_assert_null(strstr(ran->out, "SKIPPED"), "%s", ran->out);
    cr_assert_eq(run_shell("grep -q '\"backend\": \"cuda-emulated\"' r.json")->status, 0);
}

Test(bench, writes_rates_and_ratios, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc bench reference/add-fp16 --json rates.json");
    cr_assert_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_assert_not_null(strstr(ran->out, "elements/s"));
    cr_assert_eq(run_shell("grep -q '\"ratio\"' rates.json")->status, 0);
    expect_refusal("$hc bench none-such", "none-such");
    expect_refusal("$hc bench reference/add-fp16 --backend host", "leave out --backend");
    expect_refusal("$hc bench --backend none-such", "no backend 'none-such'");
    expect_refusal("$hc bench --backend host,exact",
                   "bench measures on one backend, not on host,exact");
    expect_refusal("$hc bench reference/add-fp16 --json /nonexistent/r", "cannot write");
}
