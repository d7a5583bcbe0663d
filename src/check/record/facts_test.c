#include "check/record/facts.h"

#include "check/record/record.h"
#include "cli/testing.h"

static void describe(struct hc_queue *queue, hc_tell *tell, void *context)
{
    tell("gpu", "Device One", context);
    tell("cudnn", "9.1.0", context);
    tell("odd", "\xff", context);
    if (queue)
        tell("conv2d", "engine 7", context);
}

static const char *unavailable(void)
{
    return "not here";
}

static const char *text_of(const json_t *record, const char *first, const char *second,
                           const char *third)
{
    const json_t *o = json_object_get(json_object_get(record, first), second);
    return json_string_value(third ? json_object_get(o, third) : o);
}

static struct hc_queue *some_queue(void)
{
    static char nothing;
    return (struct hc_queue *)&nothing;
}

Test(facts, of_a_backend_stand_under_its_name_and_those_of_the_machine_in_the_environment)
{
    json_t *record = hc_record_new();
    struct hc_backend backend = {.name = "one", .describe = describe};
    hc_record_describe(record, &backend, some_queue());
    cr_expect_str_eq(text_of(record, "backends", "one", "gpu"), "Device One");
    cr_expect_str_eq(text_of(record, "backends", "one", "conv2d"), "engine 7");
    cr_expect_str_eq(text_of(record, "backends", "one", "odd"), "\\xff");
    cr_expect_str_eq(text_of(record, "environment", "gpu", NULL), "Device One");
    cr_expect_str_eq(text_of(record, "environment", "cudnn", NULL), "9.1.0");
    cr_expect_null(json_object_get(json_object_get(record, "environment"), "conv2d"));
    json_decref(record);
}

Test(facts, are_not_asked_of_a_backend_that_has_none_or_is_not_there)
{
    json_t *record = hc_record_new();
    struct hc_backend silent = {.name = "silent"};
    struct hc_backend absent = {.name = "absent", .describe = describe, .unavailable = unavailable};
    hc_record_describe(record, &silent, NULL);
    hc_record_describe(record, &absent, NULL);
    cr_expect_null(json_object_get(record, "backends"));
    cr_expect(json_is_null(json_object_get(json_object_get(record, "environment"), "cublas")));
    json_decref(record);
}

static void make_record(void)
{
    enter_folder();
    const struct ran *ran = run_shell("$hc run 'op/conv2d/fp32/1x3*'"
                                      " --backend cuda-emulated,exact --json a.json");
    cr_assert_eq(ran->status, 0, "%s%s", ran->out, ran->err);
}

Test(facts, of_a_run_name_the_plan_of_each_convolution, .init = make_record)
{
    const char *name;
    json_t *fact;
    int plans = 0;
    struct hc_record record;
    cr_assert_eq(hc_record_read("a.json", &record), HC_OK, "%s", hc_message());
    json_object_foreach(json_object_get(record.backends, "cuda-emulated"), name, fact) plans +=
        strncmp(name, "conv2d fp32, x 1x3x3x16", 23) == 0 &&
        strncmp(json_string_value(fact), "engine 0", 8) == 0;
    cr_expect_gt(plans, 0);
    cr_expect_null(json_object_get(record.backends, "exact"));
    hc_record_free(&record);
    cr_assert_eq(run_shell("$hc report a.json --out page")->status, 0);
    cr_expect_eq(run_shell("grep -q 'conv2d fp32, x 1x3x3x16.*engine 0' page/report.html")->status,
                 0);
}

Test(facts, that_are_no_texts_are_refused, .init = make_record)
{
    expect_refusal("sed 's/\"backends\": {/\"backends\": {\"x\": 3,/' a.json >b.json;"
                   " $hc report b.json --out page",
                   "backends");
    expect_refusal("sed 's/\"engine 0[^\"]*\"/7/' a.json >b.json; $hc report b.json --out page",
                   "not a string");
}

Test(facts, of_a_training_stand_in_its_record, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc train --recipe fp32 --network darknet-tiny --images 16"
                                      " --batch 8 --epochs 1 --backend host --out t; "
                                      "grep -c '\"host\": {' t/run.json");
    cr_assert_eq(ran->out[strlen(ran->out) - 2], '1', "%s%s", ran->out, ran->err);
}
