/* What a right implementation may do, with what it costs: the table of define/value.h for people,
   as far as it matters to a definition. */
#include <math.h>
#include <stdio.h>

#include "cli/define/define.h"
#include "define/enclosure.h"

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
    DOES_VARIANCE = 1024,
    DOES_COMPARE = 2048,
    DOES_GRADIENT = 4096
};

/* What of it needs a freedom. */
static unsigned does(const struct hc_definition *d)
{
    unsigned bits = 0;
    for (int i = 0; i < d->tensors; i++) {
        bits |= d->tensor[i].shift ? DOES_SHIFT : 0;
        bits |= d->tensor[i].gradient ? DOES_GRADIENT : 0;
    }
    for (int i = 0; i < d->options; i++)
        bits |= d->option[i].type == HC_OPTION_REAL ? DOES_NUMBER : 0;
    for (int i = 0; i < d->expressions; i++) {
        const struct hc_expression *e = d->expression[i];
        if (e->kind == HC_EXPRESSION_APPLY && !e->exact && hc_function_orders(e->function))
            bits |= DOES_COMPARE;
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

/* How sums may be ordered, and what that costs. */
static void sum_texts(const struct hc_freedoms *f, char order[64], char depth[64])
{
    bool blocks = f->order == HC_SUMS_BLOCKS;
    (void)snprintf(order, 64, "sum n terms in any order");
    (void)snprintf(depth, 64, "(n - 1) u of the sum of magnitudes");
    if (f->order == HC_SUMS_PAIRS)
        (void)snprintf(order, 64, "sum n terms in pairs");
    if (f->order == HC_SUMS_PAIRS)
        (void)snprintf(depth, 64, "log2 n u of the sum of magnitudes");
    if (blocks)
        (void)snprintf(order, 64, "sum n terms in lanes or blocks of %d", f->block);
    if (blocks)
        (void)snprintf(depth, 64, "(n/%d + %g) u of the sum of magnitudes", f->block,
                       ceil(log2(f->block)) - 1);
}

void hc_define_print_freedoms(const struct hc_definition *definition,
                              const struct hc_freedoms *freedoms)
{
    char order[64];
    char depth[64];
    sum_texts(freedoms, order, depth);
    const struct {
        unsigned when;
        const char *what;
        const char *cost;
        int number; /* that stands before it: 1: 2 F; 2: C; 3: 2 F + 1 */
    } rows[] = {
        {DOES_PRODUCT, "round each product, sum and difference", "u of it", 0},
        {DOES_PRODUCT, "fuse a product with a sum", "nothing", 0},
        {DOES_PRODUCT | DOES_QUOTIENT, "group products and quotients otherwise",
         "what their parts overflow or underflow", 0},
        {DOES_SUM, order, depth, 0},
        {DOES_QUOTIENT, "divide, or multiply with a reciprocal", "2.5 u of the quotient", 0},
        {DOES_ROOT, "take roots, or reciprocal roots", "1.5 u of the root", 0},
        {DOES_FUNCTION, "take exp, log, tanh and their like", " u of the result", 1},
        {DOES_EXP, "take exp(x) as a power of 2", "1.25 u |x| of the result", 0},
        {DOES_VARIANCE, "take a variance by Welford's formulas",
         "3 n u of sqrt(q v), q the mean of squares", 0},
        {DOES_SHIFT, "shift by another number", " u in each difference with it", 2},
        {DOES_SHIFT, "add it back rounded anew", "3 u of the shift", 0},
        {DOES_SHIFT, "sum over tiles and rescale them", " u of the sum a tile but the first", 3},
        {DOES_STORE, "store, as the text says", "half an ulp if it may fall either way", 0},
        {DOES_MAYBE_STORE, "store or not, as the text says", "half an ulp of the tensors' format",
         0},
        {DOES_NUMBER, "round the text's numbers and options", "u of each that needs it", 0},
        {DOES_COMPARE, "choose either where a NaN is compared", "what is chosen, or NaN", 0},
        {DOES_GRADIENT, "group infinities of a gradient otherwise", "infinity for NaN", 0},
        {~0U, "round each result", "half an ulp of its format", 0},
    };
    const char *factors = freedoms->rounds_factors ? hc_formats[freedoms->factors].name : "";
    const double numbers[] = {0, 2 * freedoms->ulps, freedoms->shift, 2 * freedoms->ulps + 1};
    unsigned bits = does(definition);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!(rows[i].when & bits) && rows[i].when != ~0U)
            continue;
        printf("  %-38s ", rows[i].what);
        if (rows[i].number)
            printf("%g", numbers[rows[i].number]);
        printf("%s\n", rows[i].cost);
    }
    if (freedoms->rounds_factors)
        printf("  %-38s %s's u of the product, each\n", "round the factors of summed products",
               factors);
    if (freedoms->flush)
        printf("  %-38s %s\n", "take 0 for what is below normal", "the least normal number");
}

void hc_define_print_allowable(void)
{
    static const struct {
        const char *word;
        const char *cost;
    } rows[] = {
        {"order=pairs", "log2 n u of the sum of magnitudes, not (n - 1) u"},
        {"order=blocks(B)", "(n/B - 1 + log2 B) u: B lanes, or blocks of B"},
        {"compute=FORMAT", "its u and its range, not fp32's"},
        {"factors=tf32", "2^-11 of a summed product for each factor; or bf16"},
        {"ulps=F", "2 F u of exp, log, tanh and their like, not 4 u"},
        {"shift=C", "C u in each difference with a shift, not 1 u"},
        {"tile=T", "tiles of T terms that are rescaled, not 16; 0: none"},
        {"flush=yes", "the least normal number, where that is reached"},
    };
    printf("\nIts owner may state otherwise (--allow WORD), which costs\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        printf("  %-18s %s\n", rows[i].word, rows[i].cost);
}

enum hc_status hc_define_allow(const struct hc_words *words, struct hc_freedoms *freedoms)
{
    enum hc_status status = HC_OK;
    for (int i = 0; i < words->count && status == HC_OK; i++)
        status = hc_freedoms_allow(freedoms, words->word[i]);
    return status;
}
