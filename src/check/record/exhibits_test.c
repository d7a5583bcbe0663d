#include "check/record/exhibits.h"

#include <criterion/criterion.h>
#include <math.h>

Test(exhibits, a_table_comes_back_to_the_bit)
{
    struct hc_exhibits shown = {0};
    struct hc_exhibits read;
    hc_exhibits_add(&shown, "w", HC_FP32, 1, 0.1, 0.9, 0x1p-1074);
    shown.exhibit[0].buggy_format = HC_FP16;
    hc_exhibits_add(&shown, "steps", HC_FORMAT_COUNT, (double)NAN, -(double)INFINITY, -0.0, 0);
    json_t *array = hc_exhibits_write(&shown);
    cr_assert_null(hc_exhibits_wrong(array), "%s", hc_exhibits_wrong(array));
    hc_exhibits_read(array, &read);
    cr_assert_eq(read.count, 2);
    cr_assert_str_eq(read.exhibit[0].name, "w");
    cr_assert_eq(read.exhibit[0].buggy_format, HC_FP16);
    cr_assert_eq(read.exhibit[0].format, HC_FP32);
    cr_assert_eq(read.exhibit[0].fixed, 0.1);
    cr_assert_eq(read.exhibit[0].rad, 0x1p-1074);
    cr_assert_eq(read.exhibit[1].format, HC_FORMAT_COUNT);
    cr_assert(isnan(read.exhibit[1].buggy) && isinf(read.exhibit[1].fixed));
    cr_assert(signbit(read.exhibit[1].real));
    json_decref(array);
    cr_assert_null(hc_exhibits_write(NULL));
}

Test(exhibits, what_is_no_table_is_refused)
{
    static const char *const texts[] = {
        "{}", "[1]", "[{\"name\": \"w\"}]",
        "[{\"name\": \"w\", \"buggy_format\": \"fp16\", \"format\": \"fp32\", \"buggy\": \"x\", "
        "\"fixed\": \"1\", \"real\": \"1\", \"rad\": \"0\"}]",
        "[{\"name\": \"w\", \"buggy_format\": \"fp16\", \"format\": \"fp32\", \"buggy\": \"1\", "
        "\"fixed\": 1, \"real\": \"1\", \"rad\": \"0\"}]"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json_t *document = json_loads(texts[i], 0, NULL);
        cr_assert_not_null(hc_exhibits_wrong(document), "%s", texts[i]);
        json_decref(document);
    }
}

Test(exhibits, no_more_lines_are_read_than_a_table_has)
{
    struct hc_exhibits shown = {0};
    for (int i = 0; i < HC_MAX_EXHIBITS; i++)
        hc_exhibits_add(&shown, "w", HC_FP32, i, i, i, 0);
    json_t *array = hc_exhibits_write(&shown);
    (void)json_array_append(array, json_array_get(array, 0));
    hc_exhibits_read(array, &shown);
    cr_assert_eq(shown.count, HC_MAX_EXHIBITS);
    json_decref(array);
}
