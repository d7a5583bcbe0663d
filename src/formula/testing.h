/* What tests of the parser share. */
#ifndef HC_FORMULA_TESTING_H
#define HC_FORMULA_TESTING_H

#include <criterion/criterion.h>
#include <string.h>

#include "formula/program.h"

/* w and grad are values, x is a list, eps and n are constants, and acc is a cast of arms. */
static inline struct hc_program *hc_some_program(void)
{
    struct hc_formula_error error;
    struct hc_program *program = hc_program_new();
    cr_assert_not_null(program);
    cr_assert(hc_program_add_cast(program, "acc"));
    cr_assert_not_null(hc_program_parse(
        program, "w = 1; grad = 2; x = [1, 2, 3]; eps := 1e-8; n := 3", false, &error));
    return program;
}

/* The text is refused, with ^~~ below what is marked, and leaves nothing behind in the program. */
static inline void hc_refuse_formula(const char *text, bool shown, const char *carets,
                                     const char *what)
{
    struct hc_formula_error error;
    struct hc_program *program = hc_some_program();
    int names = hc_program_names(program);
    int nodes = hc_program_nodes(program);
    cr_assert_null(hc_program_parse(program, text, shown, &error), "'%s' is refused", text);
    cr_expect_str_eq(error.what, what, "'%s': want \"%s\", got \"%s\"", text, what, error.what);
    cr_expect_eq(error.text, text);
    cr_expect_eq(error.at, (int)strspn(carets, " "), "'%s': got %d", text, error.at);
    cr_expect_eq(error.at + error.length, (int)strlen(carets), "'%s': got %d", text, error.length);
    cr_expect_eq(hc_program_names(program), names);
    cr_expect_eq(hc_program_nodes(program), nodes);
    hc_program_free(program);
}

static inline void refuse(const char *text, const char *carets, const char *what)
{
    hc_refuse_formula(text, false, carets, what);
}

static inline void refuse_shown(const char *text, const char *carets, const char *what)
{
    hc_refuse_formula(text, true, carets, what);
}

#endif
