/* A definition: its text, its gradient, and the gradient's text, which is one again.

   As in formula.c the byte 255 and the one behind it stand for a word of the language. */
#include "define/definition.h"

#include <stdlib.h>
#include <string.h>

#include "define/gradient/adjoint.h"
#include "fuzz.h"

static const char *const words[] = {
    "op f(",
    "x[n, c]",
    "w[c]",
    "at[n]: index c",
    "; eps = 1e-6",
    ")\n",
    "return ",
    "y",
    "y[n]",
    "y[n,c]",
    " = ",
    "sum(",
    "mean(",
    "max(",
    "count(",
    "any(",
    "n: ",
    "c: ",
    "n, c: ",
    "c < ",
    " where ",
    " and ",
    " or ",
    "not ",
    " mod ",
    "floor(",
    "select(",
    "either(",
    "exp(",
    "log(",
    "sqrt(",
    "tanh(",
    "shift ",
    "store ",
    "store? ",
    "scan n: ",
    "axis i = ",
    "[-1] = ",
    "[n-1]",
    "x[n,c]",
    "w[c]",
    "at[n]",
    "e4m3(",
    "fp32",
    ": ",
    "\n",
    "    + ",
    "(",
    ")",
    "[",
    "]",
    ", ",
    " * ",
    " / ",
    " - ",
    "^2",
    "1",
    "0.5",
    "N",
    "C",
    "true",
    " <= ",
    " == ",
    "# ",
};
enum { WORDS = sizeof words / sizeof *words, LONGEST = 16 };

static void fuzz_definition(const uint8_t *data, size_t size)
{
    struct hc_formula_error error = {0};
    char shown[1024];
    char *gradient = NULL;
    char *text = calloc(1, size * LONGEST + 1);
    size_t used = 0;
    for (size_t i = 0; text && i < size; i++) {
        bool spelled = data[i] == 255 && i + 1 < size;
        const char *word = spelled ? words[data[++i] % WORDS] : (const char *)&data[i];
        size_t length = spelled ? strlen(word) : 1;
        memcpy(text + used, word, length);
        used += length;
    }
    struct hc_definition *d = text ? hc_definition_read(text, &error) : NULL;
    if (text && !d)
        hc_formula_error_text(&error, shown, sizeof shown);
    if (d && hc_adjoint_text(d, &gradient) == HC_OK) {
        struct hc_definition *again = hc_definition_read(gradient, &error);
        hc_definition_free(again);
    }
    hc_definition_free(d);
    free(gradient);
    free(text);
}

const struct hc_fuzz_target hc_fuzz_definition = {"definition", fuzz_definition};
