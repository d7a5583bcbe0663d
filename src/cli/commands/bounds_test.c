/* `halfcheck bounds`: the quantiles of a record that was written by hand, and what it refuses. */
#include "cli/testing.h"

/* A result of the case with that error, of a bound of 1. */
static void add(char *text, size_t size, const char *name, const char *backend, const char *error,
                const char *bound, const char *unit)
{
    size_t used = strlen(text);
    (void)snprintf(
        text + used, size - used,
        "%s{\"case\": \"%s\", \"backend\": \"%s\", \"verdict\": \"PASS\", \"checked\": 1, "
        "\"error\": \"%s\", \"bound\": \"%s\", \"unit\": \"%s\", \"seed\": \"0\", "
        "\"seconds\": 0, \"note\": \"\", \"repro\": \"\"}",
        used ? ", " : "", name, backend, error, bound, unit);
}

/* Another result of op/sum/fp16, 7/16 of its bound, and that near to the line. */
static void add_line(char *text, size_t size, const char *name, const char *line)
{
    add(text, size, name, "exact", "0x1.cp-2", "0x1p+0", "abs");
    size_t used = strlen(text) - 1;
    (void)snprintf(text + used, size - used, ", \"line\": \"%s\"}", line);
}

static void write_record(const char *results)
{
    static char text[1 << 14];
    (void)snprintf(text, sizeof text, "{\"schema\": 1, \"environment\": {}, \"results\": [%s]}",
                   results);
    write_text("r.json", text);
}

Test(bounds, shows_quantiles_by_op_and_formats, .init = enter_folder)
{
    char results[1 << 13] = "";
    for (int i = 1; i <= 8; i++) {
        char name[64];
        char error[32];
        (void)snprintf(name, sizeof name, "op/sum/fp16/%d/normal", i);
        (void)snprintf(error, sizeof error, "%a", i == 1 ? 0.03125 : i / 16.0);
        add(results, sizeof results, name, "exact", error, "0x1p+0", "abs");
    }
    add_line(results, sizeof results, "op/sum/fp16/11/normal", "0x1p-2");
    add_line(results, sizeof results, "op/sum/fp16/12/normal", "0x1p-1");
    add(results, sizeof results, "op/dot/fp32/1/normal", "exact", "0x1p-3", "0x1p-1", "abs");
    add(results, sizeof results, "op/dot/fp32/2/normal", "exact", "0x0p+0", "0x0p+0", "ulp");
    add(results, sizeof results, "eps/1", "exact", "0x1p-3", "0x1p-1", "abs");
    write_record(results);
    const struct ran *ran = run_shell("$hc bounds r.json");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_expect_str_eq(ran->out,
                     "op                 formats            results       min    median      90 %  "
                     "     max   below 0.05   of line\n"
                     "dot                fp32                     1      0.25      0.25      0.25  "
                     "    0.25        0.0 %         -\n"
                     "sum                fp16                    10     0.031      0.31      0.44  "
                     "     0.5       10.0 %       0.5\n"
                     "all                                        11     0.031      0.31      0.44  "
                     "     0.5        9.1 %       0.5\n",
                     "%s", ran->out);
}

Test(bounds, refuses_what_has_none, .init = enter_folder)
{
    char results[1 << 10] = "";
    add(results, sizeof results, "eps/1", "exact", "0x1p-3", "0x1p-1", "abs");
    write_record(results);
    const struct ran *ran = run_shell("$hc bounds r.json");
    cr_expect_eq(ran->status, 2);
    cr_expect_str_eq(ran->err, "halfcheck: r.json: no result of a case op/* has a bound\n", "%s",
                     ran->err);
    ran = run_shell("$hc bounds none.json");
    cr_expect_eq(ran->status, 2);
    cr_expect(strstr(ran->err, "cannot read none.json"), "%s", ran->err);
    ran = run_shell("$hc bounds");
    cr_expect_eq(ran->status, 2);
    cr_expect(strstr(ran->err, "exactly one record"), "%s", ran->err);
}
