/* The numbers of halfcheck calc. What is expected is derived in the comments, or computed here by
   the machine's own fp32 arithmetic. */
#include "cli/calc/testing.h"

#include <sys/resource.h>

#include "num/bits.h"

Test(calc, fp32_follows_the_machine_step_by_step, .init = enter_folder)
{
    json_t *document = document_of("'w = 1' --each 'w = w - 1e-4' --steps 1000");
    volatile float w = 1;
    int64_t parts = -1;
    for (int step = 1; step <= 1000; step++) {
        w = w - 1e-4f;
        if (parts < 0 && w != (float)(1 - step * 1e-4))
            parts = step;
        if (step % 100 == 0)
            cr_expect_eq(value_of(cell_of(row_of(document, step), 0, 2)), (double)w, "%d", step);
    }
    cr_expect_eq(course_of(document, 2, "parts"), parts);
    cr_expect_eq(course_of(document, 2, "stands_from"), -1);
    cr_expect_eq(course_of(document, 0, "parts"), 3);
    cr_expect_eq(course_of(document, 0, "stands_from"), 0);
    cr_expect_eq(course_of(document, 1, "parts"), 20);
    cr_expect_str_eq(bits_of(cell_of(row_of(document, 1000), 0, 0)), "0x3c00");
    cr_expect_str_eq(bits_of(cell_of(row_of(document, 1000), 0, 1)), "0x3f80");
    json_decref(document);
}

/* 0.001 is 0.0010004 in fp16 and 0.00099945 in bf16. A sum stands still where this is below half
   an ulp: in fp16 from 4 on (2^-9 = 0.00195), in bf16 from 0.5 on (2^-9). */
Test(calc, sums_and_averages_stand_still_where_half_an_ulp_exceeds_the_term, .init = enter_folder)
{
    json_t *document = document_of("'s = sum(4096, 1e-3)'");
    const json_t *row = json_array_get(json_object_get(document, "rows"), 0);
    cr_expect_eq(value_of(cell_of(row, 0, 0)), 4);
    cr_expect_eq(value_of(cell_of(row, 0, 1)), 0.5);
    json_decref(document);
    document = document_of("'v = 0; g = 1' --each 'v = 0.999 * v + 0.001 * g * g' --steps 1000");
    cr_expect_eq(value_of(cell_of(row_of(document, 1000), 0, 1)), 0.5);
    cr_expect_gt(course_of(document, 1, "stands_from"), 100);
    json_decref(document);
}

/* bf16 arithmetic as fp32 arithmetic rounded to bf16: a product of two bf16 numbers is exact in
   fp32, and two roundings of a sum are one, since 24 bits are more than 2 * 8 + 2 (Figueroa). */
Test(calc, bf16_follows_fp32_arithmetic_rounded_to_bf16, .init = enter_folder)
{
    json_t *document =
        document_of("'v = 0; g = 0.3' --each 'v = 0.99 * v + 0.01 * g * g' --steps 500");
    float g = hc_bf16_round(0.3f);
    float keep = hc_bf16_round(0.99f);
    float add = hc_bf16_round(0.01f);
    volatile float v = 0;
    int64_t changed = 0;
    for (int step = 1; step <= 500; step++) {
        float kept = hc_bf16_round(keep * v);
        float next = hc_bf16_round(kept + hc_bf16_round(hc_bf16_round(add * g) * g));
        changed = next == v ? changed : step;
        v = next;
        if (step % 50 == 0)
            cr_expect_eq(value_of(cell_of(row_of(document, step), 0, 1)), (double)v, "%d", step);
    }
    cr_expect_eq(course_of(document, 1, "stands_from"), changed);
    cr_expect_gt(changed, 50);
    json_decref(document);
}

static long kilobytes_of(const char *line)
{
    struct rusage usage;
    cr_assert_eq(run_shell(line)->status, 0);
    cr_assert_eq(getrusage(RUSAGE_CHILDREN, &usage), 0); /* the most of all so far */
    return usage.ru_maxrss;
}

/* The address sanitizer would keep what is freed for a while. */
#define FREES "ASAN_OPTIONS=quarantine_size_mb=0:thread_local_quarantine_size_kb=0 "

/* A number of 8 bytes a step would be 4000 KiB. */
Test(calc, memory_does_not_grow_with_the_steps, .init = enter_folder)
{
    long few = kilobytes_of(FREES "$hc calc 'w = 1' --each 'w *= 1.000001' --steps 2000 --in fp32");
    long many = kilobytes_of(FREES "$hc calc 'w = 1' --each 'w *= 1.000001' --steps 5e5 --in fp32");
    cr_expect_lt(many - few, 2000, "%ld KiB, %ld KiB", few, many);
}

/* The bound on the error of the real number grows fourfold at every step of this map, so that 256
   bits are used up after some 110 steps, and 1024 after the 496th, where the bound began at the
   smallest number of fp64. */
Test(calc, a_chaotic_formula_gets_more_bits, .init = enter_folder)
{
    json_t *document =
        document_of("'x = 0.3' --each 'x = 4*x*(1-x)' --steps 400 --in fp64 --every 100");
    cr_expect_eq(json_integer_value(json_object_get(document, "precision")), 1024);
    cr_expect(json_is_null(json_object_get(document, "real_uncertain_from")));
    const json_t *shown = json_array_get(json_object_get(row_of(document, 400), "shown"), 0);
    /* By Python's decimal module with 400 digits, of which the map uses up 121. */
    double real = strtod(json_string_value(json_object_get(shown, "real_value")), NULL);
    cr_expect_float_eq(real, 0.350391256283690186, 1e-14, "%.17g", real);
    json_decref(document);
}
