/* A formula of calc: statements, and expressions. What is wrong with it is put into words, too.

   The byte 255, which is in no text of UTF-8, and the one behind it stand for a word of the
   language, so that a fuzzer, which changes bytes, changes words, too. New functions are among them
   at once. */
#include "formula/program.h"

#include <stdlib.h>
#include <string.h>

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

/* What is no function's spelling. */
static const char *const words[] = {
    " if ",
    " else ",
    " and ",
    "or ",
    "not ",
    "**",
    "**=",
    ":=",
    "np.",
    "torch.",
    "F.",
    "0x",
    "_",
    "0x1p-",
    "step",
    "pi",
    "nan",
    "\u2212",
    "(",
    ")",
    "[",
    "]",
    ", ",
    "i: ",
    "pow(",
    "rint(",
    "where(",
    "maximum(",
    "x",
    "1",
    "fp16",
    "_rz(",
    "_sat(",
    "half(",
    "mx-rp, ",
    "e4m3, ",
    "float8_e5m2(",
    "; y = ",
    "# ",
    "\n",
};
enum { WORDS = sizeof words / sizeof *words, LONGEST = 16 };

/* The text with its words; there are fewer than 128 of them. */
static char *spelled(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size * LONGEST + 1);
    size_t used = 0;
    for (size_t i = 0; text && i < size; i++) {
        unsigned which = data[i] == 255 && i + 1 < size ? data[++i] % (HC_FUNCTION_COUNT + WORDS)
                                                        : HC_FUNCTION_COUNT + WORDS;
        const char *word = which < HC_FUNCTION_COUNT           ? hc_functions[which].spelling
                           : which < HC_FUNCTION_COUNT + WORDS ? words[which - HC_FUNCTION_COUNT]
                                                               : "";
        size_t length = strnlen(word, LONGEST);
        memcpy(text + used, length ? word : (const char *)&data[i], length ? length : 1);
        used += length ? length : 1;
    }
    return text;
}

static void fuzz_formula(const uint8_t *data, size_t size)
{
    char *text = spelled(data, size);
    if (text) {
        parse(text, false);
        parse(text, true);
        hc_formula_plain(text);
        parse(text, false);
    }
    free(text);
}

const struct hc_fuzz_target hc_fuzz_formula = {"formula", fuzz_formula};
