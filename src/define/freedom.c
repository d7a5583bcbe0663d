#include "define/freedom.h"

#include <stdio.h>

/* What a definition does, a bit each. */
enum {
    DOES_SUM = 1,
    DOES_PRODUCT = 2,
    DOES_QUOTIENT = 4,
    DOES_ROOT = 8,
    DOES_FUNCTION = 16,
    DOES_EXP = 32,
    DOES_SHIFT = 64,
    DOES_STORE = 128,
    DOES_NUMBER = 256,
    DOES_MAYBE_STORE = 512,
    DOES_VARIANCE = 1024
};

static unsigned does(const struct hc_definition *d)
{
    unsigned bits = 0;
    for (int i = 0; i < d->tensors; i++)
        bits |= d->tensor[i].shift ? DOES_SHIFT : 0;
    for (int i = 0; i < d->options; i++)
        bits |= d->option[i].type == HC_OPTION_REAL ? DOES_NUMBER : 0;
    for (int i = 0; i < d->expressions; i++) {
        const struct hc_expression *e = d->expression[i];
        if (e->type != HC_TYPE_REAL)
            continue;
        if (e->kind == HC_EXPRESSION_STORE && e->format == HC_FORMAT_COUNT)
            bits |= e->optional ? DOES_MAYBE_STORE : DOES_STORE;
        bits |= e->moment ? DOES_VARIANCE : 0;
        if (e->kind == HC_EXPRESSION_NUMBER)
            bits |= DOES_NUMBER;
        if (e->kind == HC_EXPRESSION_OVER)
            bits |= e->reduction == HC_OVER_SUM    ? DOES_SUM
                    : e->reduction == HC_OVER_MEAN ? DOES_SUM | DOES_QUOTIENT
                    : e->reduction == HC_OVER_PROD ? DOES_PRODUCT
                                                   : 0;
        if (e->kind != HC_EXPRESSION_APPLY)
            continue;
        bits |= e->function == HC_FN_div                                ? DOES_QUOTIENT
                : e->function == HC_FN_sqrt                             ? DOES_ROOT
                : e->function == HC_FN_exp                              ? DOES_EXP | DOES_FUNCTION
                : hc_functions[e->function].kind == HC_FUNCTION_LIBRARY ? DOES_FUNCTION
                : hc_functions[e->function].kind == HC_FUNCTION_OP      ? DOES_PRODUCT
                                                                        : 0;
    }
    return bits;
}

int hc_freedoms_of(const struct hc_definition *definition, const struct hc_freedoms *freedoms,
                   struct hc_freedom freedom[HC_MAX_FREEDOMS])
{
    static const struct {
        unsigned when;
        const char *what;
        const char *cost; /* %g: a number of the freedoms */
        int number;       /* 1: 2 F; 2: C; 3: T; 4: 2 F + 1 */
    } rows[] = {
        {DOES_PRODUCT, "round each product, sum and difference", "u of it", 0},
        {DOES_PRODUCT, "fuse a product with a sum", "nothing", 0},
        {DOES_SUM, "sum n terms in any order", "(n - 1) u of the sum of their magnitudes", 0},
        {DOES_QUOTIENT, "divide, or multiply with a reciprocal", "2.5 u of the quotient", 0},
        {DOES_ROOT, "take roots, or reciprocal roots", "1.5 u of the root", 0},
        {DOES_FUNCTION, "take exp, log, tanh and their like", "%g u of the result", 1},
        {DOES_EXP, "take exp(x) as a power of 2", "1.25 u |x| of the result", 0},
        {DOES_VARIANCE, "take a variance by Welford's formulas",
         "3 n u of sqrt(q v), q the mean of squares", 0},
        {DOES_SHIFT, "shift by another number", "%g u in each difference with it", 2},
        {DOES_SHIFT, "add it back rounded anew", "3 u of the shift", 0},
        {DOES_SHIFT, "sum over tiles and rescale them", "%g u of the sum a tile but the first", 4},
        {DOES_STORE, "store, as the text says", "half an ulp of the tensors' format", 0},
        {DOES_MAYBE_STORE, "store or not, as the text says", "half an ulp of the tensors' format",
         0},
        {DOES_NUMBER, "round the text's numbers and options", "u of each that needs it", 0},
        {~0U, "round each result", "half an ulp of its format", 0},
    };
    const double numbers[] = {0, 2 * freedoms->ulps, freedoms->shift, freedoms->tile,
                              2 * freedoms->ulps + 1};
    unsigned bits = does(definition);
    int count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!(rows[i].when & bits) && rows[i].when != ~0U)
            continue;
        (void)snprintf(freedom[count].what, sizeof freedom->what, "%s", rows[i].what);
        const char *at = rows[i].cost;
        char number[32] = "";
        if (rows[i].number) {
            (void)snprintf(number, sizeof number, "%g", numbers[rows[i].number]);
            at += 2;
        }
        (void)snprintf(freedom[count].cost, sizeof freedom->cost, "%s%s", number, at);
        count++;
    }
    return count;
}
