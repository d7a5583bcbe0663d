/* What tests of formulas share: a program to refuse texts in, and a trial, which is a formula in an
   arm, from its text to its values. */
#ifndef HC_FORMULA_TESTING_H
#define HC_FORMULA_TESTING_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula/event.h"

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

struct trial {
    struct hc_program *program;
    struct hc_evaluation *e;
};

static inline const struct hc_block *block_of(struct trial *t, const char *text, bool expressions)
{
    struct hc_formula_error error;
    char shown[500];
    const struct hc_block *block = hc_program_parse(t->program, text, expressions, &error);
    if (!block)
        hc_formula_error_text(&error, shown, sizeof shown);
    cr_assert(block, "%s", shown);
    return block;
}

static inline void run(struct trial *t, const char *text, int64_t step)
{
    struct hc_formula_error error = {.what = ""};
    enum hc_evaluated done = hc_evaluation_run(t->e, block_of(t, text, false), step, &error);
    cr_assert_eq(done, HC_EVALUATED, "%s: %s", text,
                 done == HC_EVALUATED_WRONGLY ? error.what : hc_message());
}

static inline struct trial begin_with(const char *in, const char *text,
                                      struct hc_evaluation_options options)
{
    struct trial t = {hc_program_new(), NULL};
    struct hc_arm arm;
    cr_assert_eq(hc_arm_read(in, &arm), HC_OK, "%s", hc_message());
    for (int i = 0; i < arm.casts; i++)
        cr_assert(hc_program_add_cast(t.program, arm.cast[i].name));
    t.e = hc_evaluation_open(t.program, &arm, &options);
    cr_assert(t.e);
    run(&t, text, 0);
    return t;
}

static inline struct trial begin(const char *in, const char *text)
{
    return begin_with(in, text, (struct hc_evaluation_options){0});
}

static inline void loop(struct trial *t, const char *text, int64_t steps)
{
    struct hc_formula_error error = {.what = ""};
    const struct hc_block *block = block_of(t, text, false);
    for (int64_t step = 1; step <= steps; step++)
        cr_assert_eq(hc_evaluation_run(t->e, block, step, &error), HC_EVALUATED, "%s", error.what);
}

static inline const struct hc_value *value_of(struct trial *t, const char *expression)
{
    struct hc_formula_error error = {.what = ""};
    enum hc_evaluated done;
    const struct hc_value *v =
        hc_evaluation_show(t->e, block_of(t, expression, true), 0, 0, &done, &error);
    cr_assert(v, "%s: %s", expression, error.what);
    return v;
}

static inline double want_of(struct trial *t, const char *expression)
{
    return value_of(t, expression)->want[0];
}

static inline void finish(struct trial *t)
{
    hc_evaluation_close(t->e);
    hc_program_free(t->program);
}

/* The want of one expression in an arm. */
static inline double want_in(const char *in, const char *expression)
{
    struct trial t = begin(in, "");
    double want = want_of(&t, expression);
    finish(&t);
    return want;
}

#endif
