/* A formula of calc: statements, and expressions. What is wrong with it is put into words, too. */
#include "formula/program.h"

#include <stdlib.h>

#include "fuzz.h"

static void parse(const char *text, bool expressions)
{
    struct hc_formula_error error = {0};
    char words[1024];
    struct hc_program *program = hc_program_new();
    if (program && !hc_program_parse(program, text, expressions, &error))
        hc_formula_error_text(&error, words, sizeof words);
    hc_program_free(program);
}

static void run(const uint8_t *data, size_t size)
{
    char *text = hc_fuzz_string(data, size);
    if (text) {
        parse(text, false);
        parse(text, true);
    }
    free(text);
}

const struct hc_fuzz_target hc_fuzz_formula = {"formula", run};
