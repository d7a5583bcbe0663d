/* Axes of whose places each stands alone. */
#include "cli/define/rows.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect(const char *text, const char *alone)
{
    struct hc_formula_error error;
    struct hc_definition *d = hc_definition_read(text, &error);
    char names[64] = "";
    cr_assert(d, "%s: %s", text, error.text);
    for (int i = 0; i < d->axes; i++)
        if (hc_define_stands_alone(d, i))
            (void)strncat(names, d->axis[i].name, sizeof names - strlen(names) - 1);
    cr_expect_str_eq(names, alone, "%s", text);
    hc_definition_free(d);
}

Test(rows, stand_alone_where_nothing_reads_another_one)
{
    expect("op a(x[t, d], w[d])\ns[t] = sum(d: x[t,d])\ny[t, d] = x[t,d] * w[d] / s[t]\nreturn y\n",
           "t");
    expect("op a(x[t, d], w[d])\ny[t, d] = x[t,d] * w[d]\nreturn y\n", "td");
    expect("op a(x[v, d], i[n]: index v)\ny[n, d] = x[i[n],d]\nreturn y\n", "dn");
}

Test(rows, do_not_where_a_sum_a_place_an_extent_or_a_neighbour_is_read)
{
    expect("op a(x[t, d])\ny[d] = sum(t: x[t,d])\nreturn y\n", "d");
    expect("op a(x[t, d])\nm[d] = mean(t: x[t,d])\ny[t, d] = x[t,d] / m[d]\nreturn y\n", "d");
    expect("op a(x[t, d])\ny[t, d] = x[t,d] * t\nreturn y\n", "d");
    expect("op a(x[t, d])\ny[t, d] = x[t,d] * T\nreturn y\n", "d");
    expect("op a(x[t, d])\ny[t, d] = x[t,d] - x[T - 1 - t,d]\nreturn y\n", "d");
    expect("op a(x[t, d])\ny[-1, d] = 0\nscan t: y[t, d] = y[t-1,d] + x[t,d]\nreturn y\n", "d");
}
