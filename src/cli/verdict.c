#include "cli/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/colour.h"
#include "op/text.h"
#include "op/wrap.h"

/* Where the error comes from, as shares of the bound. */
static void print_answers(const struct hc_result *result)
{
    if (result->error == 0 || isnan(result->implementation) || isnan(result->format))
        return;
    hc_print(stdout, "  of the bound, the implementation (got against exact) uses %.3g\n",
             result->implementation);
    hc_print(stdout, "  and the format (exact against real) %.3g\n", result->format);
}

/* How near the result came to its bound, in words where the numbers would be zeros. */
static void error_text(const struct hc_result *result, char *text, size_t size)
{
    bool truths = strcmp(result->unit, "claims") == 0;
    bool counts = strcmp(result->unit, "bits") == 0;
    *text = '\0';
    if (result->error == 0 && result->bound == 0)
        (void)snprintf(text, size, ", all %s", truths ? "hold" : "equal to the bit");
    else if (result->error == 0)
        (void)hc_text_write(text, size, "; every error is 0, bound %.4g %s", result->bound,
                            result->unit);
    else if (result->bound > 0)
        (void)hc_text_write(text, size, "; error %.4g, bound %.4g %s, error/bound %.3g",
                            result->error, result->bound, result->unit,
                            hc_ratio(result->error, result->bound));
    else if (!truths)
        (void)hc_text_write(text, size, "; %s%.4g %s", counts ? "" : "error ", result->error,
                            counts ? "differ" : result->unit);
}

void hc_print_verdict(const struct hc_result *result, int column, bool answers)
{
    const char *verdict = hc_verdict_names[result->verdict];
    char error[160];
    char line[240];
    error_text(result, error, sizeof error);
    (void)snprintf(line, sizeof line, ": %lld checked%s", (long long)result->checked, error);
    column += hc_colour_word(stdout, hc_colour_of(result->verdict), 0, verdict);
    if (result->checked)
        hc_print_wrapped(stdout, column, 6, line);
    else
        (void)putchar('\n');
    if (result->note[0])
        hc_print_wrapped(stdout, printf("  "), 2, result->note);
    if (answers)
        print_answers(result);
}
