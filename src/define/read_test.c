/* What the reader of definitions takes, and how it refuses the rest: one sentence, and the place.
 */
#include <stdio.h>
#include <string.h>

#include "define/library.h"
#include "define/testing.h"

/* The text is refused at what stands between two bars in it, of which it is rid before. */
static void refuse(const char *marked, const char *what)
{
    char text[512];
    const char *first = strchr(marked, '|');
    cr_assert(first && strlen(marked) < sizeof text);
    const char *second = strchr(first + 1, '|');
    cr_assert_not_null(second);
    int at = (int)(first - marked);
    int length = (int)(second - first - 1);
    (void)snprintf(text, sizeof text, "%.*s%.*s%s", at, marked, length, first + 1, second + 1);

    struct hc_formula_error error;
    struct hc_definition *d = hc_definition_read(text, &error);
    cr_assert_null(d, "'%s' is refused", text);
    cr_expect_str_eq(error.what, what, "'%s': want \"%s\", got \"%s\"", text, what, error.what);
    cr_expect_eq(error.at, at, "'%s': want %d, got %d", text, at, error.at);
    length = length ? length : 1; /* at the end */
    cr_expect_eq(error.length, length, "'%s': want %d, got %d", text, length, error.length);
}

Test(read, the_library_is_read_and_its_names_are_those_of_its_files)
{
    int count = 0;
    for (const struct hc_library_text *row = hc_library; row->name; row++, count++) {
        struct hc_definition *d = defined(row->text);
        cr_expect_str_eq(d->name, row->name);
        cr_expect(count == 0 || strcmp(row[-1].name, row->name) < 0, "%s", row->name);
        hc_definition_free(d);
    }
    cr_expect_gt(count, 4);
    cr_expect_null(hc_library_find("none"));
}

Test(read, a_definition_knows_inputs_options_axes_and_results)
{
    struct hc_definition *d = defined("# A comment.\n"
                                      "op f(x[n, c], at[n]: index c; a = 2, b = 0.5, on = true)\n"
                                      "axis i = N * a\n"
                                      "y[i] = sum(n: x[n, at[n]] * b where on)\n"
                                      "return y: fp32\n");
    cr_expect_eq(d->inputs, 2);
    cr_expect_eq(d->tensor[1].index_axis, hc_definition_axis(d, "c"));
    cr_expect_eq(d->option[0].type, HC_OPTION_INTEGER);
    cr_expect_eq(d->option[1].type, HC_OPTION_REAL);
    cr_expect_eq(d->option[2].type, HC_OPTION_TRUTH);
    cr_expect_eq(d->axes, 3);
    cr_expect_not_null(d->axis[2].extent);
    cr_expect_eq(d->results, 1);
    cr_expect_eq(d->tensor[d->result[0]].format, HC_FP32);
    hc_definition_free(d);
}

Test(read, a_line_goes_on_in_brackets_and_behind_blanks_and_an_operator)
{
    struct hc_definition *d = defined("op f(x[n],\n     w[n])\n"
                                      "axis n_ = N\n"
                                      "y[n] = x[n] * sum(n_: w[n_]\n)\n"
                                      "    + 1\n"
                                      "    where n > 0\n"
                                      "return y");
    hc_definition_free(d);
}

Test(read, names_are_told_where_they_are_wrong)
{
    refuse("op f(x[n])\ny[n] = |z|[n]\nreturn y",
           "'z' is no input, axis, option or tensor of an equation above");
    refuse("op f(xyz[n])\ny[n] = |xyu|[n]\nreturn y",
           "'xyu' is no input, axis, option or tensor of an equation above; did you mean 'xyz'?");
    refuse("op f(x[n])\ny[|m|] = x[0]\nreturn y",
           "'m' is no axis: no input has it, and no line 'axis m = ...'");
    refuse("op f(x[n], |x|[n])\ny[n] = x[n]\nreturn y",
           "'x' is a tensor and can be no name of an input");
    refuse("op f(x[n], |N|[n])\ny[n] = x[n]\nreturn y",
           "'N' is the extent of an axis and can be no name of an input");
}

Test(read, places_and_types_are_told_where_they_are_wrong)
{
    refuse("op f(x[n, c])\ny[n] = |x[n|]\nreturn y", "x has 2 axes, and not 1");
    refuse("op f(x[n])\ny[n] = x[n|,| n]\nreturn y", "x has 1 axis, and here are more");
    refuse("op f(x[n])\ny[n] = x[|n * 0.5|]\nreturn y",
           "'n * 0.5' is a real number, and should be an integer");
    refuse("op f(x[n])\ny[n] = x[n] where |x[n]|\nreturn y",
           "'x[n]' is a real number, and should be a truth");
    refuse("op f(x[n])\ny = x[|n|]\nreturn y",
           "axis n stands neither on the left side nor in a sum around");
    refuse("op f(x[n])\ny[n] = sum(|n|: x[n])\nreturn y",
           "'n' has a meaning here already: the sum needs another axis, or an equation of its own");
    refuse("op f(x[n])\ny[n] = |gelu|(x[n])\nreturn y", "there is no function 'gelu'");
}

Test(read, a_scan_has_a_start_and_reads_its_own_element_before)
{
    struct hc_definition *d = defined("op ema(x[t]; b = 0.9)\nm[-1] = 0\n"
                                      "scan t: m[t] = b * m[t-1] + (1 - b) * x[t]\nreturn m");
    cr_expect_eq(d->tensor[1].scan, 0);
    cr_expect_not_null(d->tensor[1].before);
    hc_definition_free(d);
    refuse("op f(x[t])\nscan t: |m[t]| = m[t-1] + x[t]\nreturn m",
           "a scan starts from a line above it, such as 'm[-1] = 0'");
    refuse("op f(x[t])\nm[-1] = 0\nscan t: m[t] = m[|t-2|] + x[t]\nreturn m",
           "a scan over t reads its own element at t - 1, and otherwise at the same place");
}

Test(read, what_is_not_used_is_told)
{
    refuse("op f(x[n], |w|[n])\ny[n] = x[n]\nreturn y", "w is not used");
    refuse("op f(x[n])\n|z[n] = x[n]|\ny[n] = x[n]\nreturn y", "z is not used");
}

Test(read, what_is_missing_is_told)
{
    refuse("||", "'op', with which a definition begins, is missing");
    refuse("op f(x[n])\ny[n] = x[n]||", "'return' with the results is missing");
    refuse("op f(x[n])\ny[n] = x[n] +| |\nreturn y", "a number, a name or '(' is missing");
    refuse("op f(x[n])\ny[n] = x[n] |$| 2\nreturn y", "'$' means nothing in a definition");
}

/* Numbers of the text that no input can mend are told when it is read. */
Test(read, sizes_that_no_call_could_have_are_told)
{
    refuse("op f(x[n])\naxis i = |1099511627776|\ny[i] = x[i mod N]\nreturn y",
           "axis i would have 1099511627776 places; it may have from 0 to 2147483647");
    refuse("op f(x[n]; k = -3)\naxis i = |k|\ny[i] = x[i]\nreturn y",
           "axis i would have -3 places; it may have from 0 to 2147483647");
    refuse("op f(x[n])\naxis i = |floor(3 / 0)|\ny[i] = x[i]\nreturn y",
           "an index is divided by 0");
    refuse("op f(x[n])\naxis i = 1000000\naxis j = 1000000\n|y[n] = sum(i, j: x[n])|\nreturn y",
           "an element of y takes more than 2^28 operations");
    refuse("op f(x[n])\naxis i = 2000000000\naxis j = I\n|y[i, j] = x[0] * i|\nreturn y",
           "y has more than 2^40 elements");
    hc_definition_free(defined("op f(x[n])\naxis i = N - 5\ny[i] = x[i]\nreturn y"));
}

/* No text makes the reader read beyond it, or recurse without an end. */
Test(read, deep_and_long_texts_are_refused)
{
    static char text[HC_LONGEST_DEFINITION + 2];
    struct hc_formula_error error;
    static const char *const repeated[] = {"(", "-", "not ", "x[", "sum(n:", "1+", "exp("};
    for (size_t i = 0; i < sizeof repeated / sizeof repeated[0]; i++) {
        size_t used = (size_t)snprintf(text, sizeof text, "op f(x[n])\ny = ");
        while (used + 8 < HC_LONGEST_DEFINITION)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s", repeated[i]);
        cr_expect_null(hc_definition_read(text, &error), "%s", repeated[i]);
        cr_expect_neq(error.what[0], '\0');
    }
    memset(text, ' ', sizeof text - 1);
    cr_expect_null(hc_definition_read(text, &error));
    cr_expect_str_eq(error.what, "a definition has at most 65536 characters");
}
