#include "check/record/facts.h"

#include <criterion/criterion.h>

#include "check/record/record.h"

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
