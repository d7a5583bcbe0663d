/* How close results come to their bounds. A bound that no result comes near could hide an error. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/record.h"
#include "cli/command.h"
#include "op/text.h"
#include "op/wrap.h"

const struct hc_command hc_command_bounds;

/* The cases of an op in a set of formats: "op/gemm/fp16/...". The names belong to the record. */
struct key {
    const char *op;
    const char *formats;
    int op_length;
    int formats_length;
};

struct ratio {
    struct key key;
    double value; /* error / bound */
    double line;  /* error / line; NaN: none */
};

/* Returns false for cases that are not of an op, and for results without a bound. */
static bool ratio_of(const struct hc_row *row, struct ratio *ratio)
{
    const char *op = row->name + 3;
    const char *formats = strchr(op, '/');
    bool bounded = row->bound > 0 && isfinite(row->bound) && strcmp(row->unit, "abs") == 0;
    if (strncmp(row->name, "op/", 3) != 0 || !formats || !bounded)
        return false;
    formats++;
    ratio->key = (struct key){op, formats, (int)(formats - 1 - op), (int)strcspn(formats, "/")};
    ratio->value = hc_ratio(row->error, row->bound);
    ratio->line = row->line;
    return true;
}

static int compare_words(const char *x, int n, const char *y, int m)
{
    int order = strncmp(x, y, (size_t)(n < m ? n : m));
    return order ? order : n - m;
}

static int compare_keys(const struct key *x, const struct key *y)
{
    int order = compare_words(x->op, x->op_length, y->op, y->op_length);
    if (order == 0)
        order = compare_words(x->formats, x->formats_length, y->formats, y->formats_length);
    return order;
}

static int compare_ratios(const void *a, const void *b)
{
    const struct ratio *x = a;
    const struct ratio *y = b;
    int order = compare_keys(&x->key, &y->key);
    return order ? order : (x->value > y->value) - (x->value < y->value);
}

static int compare_values(const void *a, const void *b)
{
    const struct ratio *x = a;
    const struct ratio *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

static const double low = 0.05;

/* The largest error / line of n results, or "-". */
static void line_text(char *text, size_t size, const struct ratio *r, int n)
{
    double most = (double)NAN;
    for (int i = 0; i < n; i++)
        if (!isnan(r[i].line) && !(r[i].line <= most))
            most = r[i].line;
    (void)hc_text_write(text, size, isnan(most) ? "-" : "%.2g", most);
}

/* On a terminal the numbers stand below the names, since 80 columns have no room for both. */
static const char *before_numbers(void)
{
    return hc_terminal_columns(stdout, 0) > 0 ? "\n  " : " ";
}

/* Prints a line for n ratios in rising order. The p-quantile is the smallest ratio such that a
   share of at least p does not exceed it. */
static void print_line(const struct key *key, const struct ratio *r, int n)
{
    char line[256];
    char second[32];
    int below = 0;
    while (below < n && r[below].value < low)
        below++;
    line_text(second, sizeof second, r, n);
    (void)hc_text_write(line, sizeof line, "%-18.*s %-18.*s", key->op_length, key->op,
                        key->formats_length, key->formats);
    hc_text_line(stdout, line);
    (void)hc_text_write(line, sizeof line, "%7d %9.2g %9.2g %9.2g %9.3g %10.1f %% %9s", n,
                        r[0].value, r[(n - 1) / 2].value, r[(9 * n + 9) / 10 - 1].value,
                        r[n - 1].value, 100.0 * below / n, second);
    (void)printf("%s%s\n", before_numbers(), line);
}

static void print_table(struct ratio *r, int n)
{
    static const struct key all = {"all", "", 3, 0};
    (void)printf("%-18s %-18s%s%7s %9s %9s %9s %9s %12s %9s\n", "op", "formats", before_numbers(),
                 "results", "min", "median", "90 %", "max", "below 0.05", "of line");
    qsort(r, (size_t)n, sizeof *r, compare_ratios);
    for (int from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && compare_keys(&r[from].key, &r[to].key) == 0;)
            to++;
        print_line(&r[from].key, r + from, to - from);
    }
    qsort(r, (size_t)n, sizeof *r, compare_values);
    print_line(&all, r, n);
}

static int show(const char *path)
{
    struct hc_record record;
    if (hc_record_read(path, &record) != HC_OK)
        return hc_complain_message();
    struct ratio *ratios = calloc((size_t)record.count + 1, sizeof *ratios);
    int n = 0;
    int status = HC_AS_CLAIMED;
    for (int i = 0; ratios && i < record.count; i++)
        n += ratio_of(&record.rows[i], &ratios[n]);
    if (!ratios)
        status = hc_complain("no memory for %d results", record.count);
    else if (n == 0)
        status = hc_complain("%s: no result of a case op/* has a bound", path);
    else
        print_table(ratios, n);
    free(ratios);
    hc_record_free(&record);
    return status;
}

static int run_bounds(int argc, char **argv)
{
    const struct hc_option options[] = {{0}};
    int words;
    int status;
    if (!hc_read_options(&hc_command_bounds, options, argc, argv, &words, &status))
        return status;
    if (words != 1)
        return hc_complain("bounds needs exactly one record; see: halfcheck bounds --help");
    return show(argv[1]);
}

const struct hc_command hc_command_bounds = {
    .name = "bounds",
    .usage = "RECORD",
    .summary = "show how close the results of ops come to their bounds",
    .text = "A bound that no result comes near could hide an error. For each op and set of\n"
            "formats the table shows how many results have a bound and, of their error/bound, the\n"
            "minimum, the median, the 90th percentile, the maximum and the share below 0.05. The\n"
            "last column is the largest error relative to the second, lower line that is drawn\n"
            "for random sums. A result that must match bit for bit has no bound and is not\n"
            "counted. docs/bounds.md explains bounds and lines.",
    .run = run_bounds,
};
