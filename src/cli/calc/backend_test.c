/* calc on a backend that is wrong. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "check/selftest/fault.h"
#include "cli/calc/input.h"
#include "cli/calc/calc.h"
#include "cli/command.h"

/* What is told about w = 40000 + 40000 step by step on a backend; *right is what
   hc_calc_print_findings returns. */
static char *told_on(const struct hc_backend *backend, bool *right)
{
    static struct hc_calc_run run;
    struct hc_calc calc = {.backend = backend};
    struct hc_calc_typed typed = {.each = "w = w + 20000", .in = "fp16", .steps = "4"};
    char *text = NULL;
    size_t size = 0;
    cr_assert_eq(hc_calc_read(&calc, &typed, "w = 1"), HC_AS_CLAIMED);
    cr_assert_eq(backend->open(backend, &calc.queue, 0), HC_OK);
    cr_assert_eq(hc_calc_run(&run, &calc), HC_AS_CLAIMED);
    FILE *out = open_memstream(&text, &size);
    *right = hc_calc_print_findings(&run, out);
    (void)fclose(out);
    hc_calc_free(&run);
    backend->close(calc.queue);
    hc_program_free(calc.program);
    return text;
}

/* 1 + 20000 + 20000 + 20000 is 60000; the fourth step overflows, and the planted kernel gives the
   largest number instead. */
Test(backend, a_wrong_bit_is_named_with_its_step_and_its_place)
{
    bool right;
    const struct hc_backend *exact = hc_backend_by_name("exact");
    char *text = told_on(exact, &right);
    cr_expect(right);
    cr_expect_not_null(strstr(text, "fp16: exact has the definition's bits in all 4 operations\n"),
                       "%s", text);
    free(text);
    const struct hc_fault *fault = hc_fault_by_name("add-saturates");
    cr_assert_not_null(fault);
    text = told_on(hc_faulty_backend(exact, fault), &right);
    cr_expect(!right);
    cr_expect_not_null(strstr(text, " differs from the definition in 1 of 4 operations,\n"), "%s",
                       text);
    cr_expect_not_null(
        strstr(text, "first at step 4 in 'w + 20000': want inf (0x7c00), got 65504 (0x7bff)"), "%s",
        text);
    free(text);
}
