/* The field's algorithms against the bounds of any order. Right ones keep their bounds on inputs
   that a search has made as bad as it can; wrong ones break them on each draw of ordinary inputs.
   HALFCHECK_WRITE=1 writes the table of both, which stands in docs/bounds.md, and which this test
   holds against what it finds. */
#include "check/bound/testing_field.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound/bound.h"
#include "check/bound/testing_field_calls.h"

enum { RESTARTS = 12, CLIMBS = 100, DRAWS = 10 };

#define TABLE HC_SOURCE "/reports/measured/field-algorithms.txt"

static double drawn(uint64_t stream, uint64_t *n)
{
    return hc_random_uniform(27, stream, (*n)++);
}

/* Inputs with a mean of up to 2^17, and deviations from it of anything between 2^-20 of it and 4
   times of it; half of them take two values only. */
static void restart(struct inputs *in, const struct field *field, uint64_t *n)
{
    static const int sizes[] = {2, 3, 4, 5, 8, 13, 16, 33, 64};
    in->count = sizes[(int)(9 * drawn(1, n))];
    double centre = field->family == LOGITS ? 0 : ldexp(1 + drawn(1, n), (int)(18 * drawn(1, n)));
    double spread = field->family == LOGITS ? ldexp(1 + drawn(1, n), (int)(9 * drawn(1, n)) - 2)
                                            : ldexp(centre, 2 - (int)(23 * drawn(1, n)));
    bool two = drawn(1, n) < 0.5;
    for (int i = 0; i < in->count; i++)
        for (int k = 0; k < 2; k++) {
            double at = two ? floor(2 * drawn(1, n)) : drawn(1, n);
            in->x[k][i] = (double)(float)(centre + spread * (at - 0.5));
        }
}

/* One number becomes another one near it, or a copy of its neighbour, or anything in between. */
static void change(struct inputs *in, uint64_t *n)
{
    int i = (int)(in->count * drawn(2, n));
    int j = (int)(in->count * drawn(2, n));
    double *x = in->x[drawn(2, n) < 0.7 ? 0 : 1];
    double way = drawn(2, n);
    if (way < 0.4)
        x[i] = (double)(float)(x[i] + (floor(9 * drawn(2, n)) - 4) * hc_ulp(HC_FP32, x[i]));
    else if (way < 0.6)
        x[i] = x[j];
    else
        x[i] = (double)(float)(x[i] + (x[j] - x[i]) * 2 * (drawn(2, n) - 0.25));
}

/* The largest error / bound that random restarts and climbing from each of them find. */
static double search(const struct field *field)
{
    static struct inputs best;
    static struct inputs next;
    uint64_t n = 0;
    double largest = 0;
    for (int start = 0; start < RESTARTS; start++) {
        restart(&best, field, &n);
        double here = ratio(field, &best);
        for (int climb = 0; climb < CLIMBS; climb++) {
            next = best;
            for (double more = 0; more < 0.5; more = drawn(3, &n))
                change(&next, &n);
            double there = ratio(field, &next);
            if (there >= here) {
                best = next;
                here = there;
            }
        }
        largest = fmax(largest, here);
    }
    return largest;
}

/* The least error / bound of some draws of normal numbers. */
static double least_of_draws(const struct field *field)
{
    static struct inputs in;
    double least = (double)INFINITY;
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        in.count = field->count;
        for (int i = 0; i < in.count; i++)
            for (uint64_t k = 0; k < 2; k++)
                in.x[k][i] =
                    (double)(float)(field->centre +
                                    field->deviation * hc_random_normal(k, draw, (uint64_t)i));
        least = fmin(least, ratio(field, &in));
    }
    return least;
}

/* A row of the table and the number that ends it. */
static void describe(const struct field *field, double found, char *text, size_t size)
{
    char inputs[64] = "the worst that a search finds";
    if (!field->right)
        (void)snprintf(inputs, sizeof inputs, "%d numbers, mean %g, deviation %g", field->count,
                       field->centre, field->deviation);
    (void)snprintf(text, size, "%-7s %-11s %-56s %-40s %.2g\n", field->right ? "right" : "wrong",
                   field->of, field->name, inputs, found);
}

static void add_row(FILE *table, const struct field *field)
{
    char want[256] = "";
    char got[256];
    double found = field->right ? search(field) : least_of_draws(field);
    describe(field, found, got, sizeof got);
    if (field->right)
        cr_expect(found <= 1, "%s: %s is right, and comes to %g of its bound", field->of,
                  field->name, found);
    else
        cr_expect(found > 1, "%s: %s is wrong, and comes to %g of its bound only", field->of,
                  field->name, found);
    if (getenv("HALFCHECK_WRITE")) {
        (void)fputs(got, table);
        return;
    }
    /* The last bits of exponentials depend on the C library. */
    (void)fgets(want, sizeof want, table);
    size_t words = strlen(got) > 118 ? 118 : strlen(got);
    cr_expect(strncmp(want, got, words) == 0 && strlen(want) > words &&
                  fabs(atof(want + words) - found) <= 0.1 * found,
              "the table has\n%sand this finds\n%s", want, got);
}

Test(field, right_algorithms_keep_their_bounds_and_wrong_ones_break_them)
{
    FILE *table = fopen(TABLE, getenv("HALFCHECK_WRITE") ? "w" : "r");
    cr_assert_not_null(table, "%s", TABLE);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].right)
            add_row(table, &fields[i]);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (!fields[i].right)
            add_row(table, &fields[i]);
    (void)fclose(table);
}
