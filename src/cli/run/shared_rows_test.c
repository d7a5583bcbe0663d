#include "cli/run/shared_rows.h"

#include <math.h>

#include "cases/registry.h"
#include "cli/testing.h"

/* Two halves of the rows of one run, as two ranks have them. */
static struct hc_run_command half(int which, const struct hc_rows *rows)
{
    static const struct hc_backend *backends[2];
    backends[0] = hc_backend_by_name("exact");
    backends[1] = hc_backend_by_name("host");
    struct hc_run_command s = {.options = {.backends = backends, .backend_count = 2},
                               .started = 3 + which,
                               .facts = json_pack("{s:{s:s}}", which ? "host" : "exact", "of",
                                                  which ? "rank 1" : "rank 0")};
    for (int i = 0; i < rows->count; i++)
        if ((i * 7 / 3) % 2 == which)
            cr_assert_eq(hc_rows_take(&s.rows, &rows->row[i]), HC_OK);
    return s;
}

static void free_all(struct hc_run_command *s)
{
    hc_rows_free(&s->rows);
    json_decref(s->facts);
}

/* Rows with everything that a row can have, and numbers that decimals would not keep. */
static void fill(struct hc_rows *rows)
{
    static const char *const names[] = {"a/one", "a/two", "b/one", "c/one/x", "c/one/y"};
    for (int i = 0; i < 5; i++)
        for (int b = 0; b < 2; b++) {
            struct hc_row row =
                hc_row_claim(names[i], b ? "host" : "exact", i == 3 ? HC_FAIL : HC_PASS,
                             i == 2 ? INFINITY : 0x1.123456789abcdp-1030 * i, 0.1, "ulp");
            row.checked = INT64_C(0x20000000000001) + i;
            row.wrong = i == 3;
            row.looked_of = 10;
            row.looked_at = 7;
            row.special = 1;
            row.digest = 0x8000000000000001u + (unsigned)i;
            row.digest_bits = 64;
            row.seed = UINT64_MAX - (unsigned)i;
            row.seconds = 1.0 / 3;
            row.note = "a note with \"quotes\"\tand more";
            row.repro = "halfcheck run it";
            row.format = i == 4 ? 0x1p-1074 : (double)NAN;
            cr_assert_eq(hc_rows_take(rows, &row), HC_OK);
        }
}

static char *document_of(const struct hc_rows *rows)
{
    json_t *document = json_pack("{s:[]}", "results");
    for (int i = 0; i < rows->count; i++)
        hc_record_add(document, &rows->row[i]);
    char *text = json_dumps(document, JSON_INDENT(1));
    json_decref(document);
    return text;
}

Test(shared_rows, of_two_ranks_are_those_of_one)
{
    struct hc_rows rows = {0};
    char *text;
    fill(&rows);
    struct hc_run_command s = half(0, &rows);
    struct hc_run_command other = half(1, &rows);
    cr_assert_gt(s.rows.count, 0);
    cr_assert_gt(other.rows.count, 0);
    cr_assert_eq(hc_shared_rows_text(&other, &text), HC_OK);
    cr_assert_eq(hc_shared_rows_join(&s, 1, text, strlen(text)), HC_OK, "%s", hc_message());
    free(text);
    cr_assert_eq(hc_shared_rows_order(&s), HC_OK);
    char *want = document_of(&rows);
    char *got = document_of(&s.rows);
    cr_expect_str_eq(got, want);
    cr_expect_eq(s.started, 7);
    cr_expect_str_eq(json_string_value(json_object_get(json_object_get(s.facts, "host"), "of")),
                     "rank 1");
    free(want);
    free(got);
    free_all(&s);
    free_all(&other);
    hc_rows_free(&rows);
}

static void omit(struct hc_run_command *s, const char *name, const char *backend, const char *why,
                 enum hc_omitted kind)
{
    const struct hc_case what = {.name = name};
    struct hc_result result = {.what = &what, .backend = backend};
    (void)snprintf(result.note, sizeof result.note, "%s", why);
    hc_omissions_add(&s->rows.omissions, &result, kind);
}

Test(shared_rows, count_what_each_rank_left_out_and_keep_the_first_reason)
{
    struct hc_rows rows = {0};
    char *text;
    struct hc_run_command s = half(0, &rows);
    struct hc_run_command other = half(1, &rows);
    omit(&s, "b/two", "exact", "the second", HC_OMITTED_ABSENT);
    omit(&s, "c/one", "host", "of c", HC_OMITTED_REFUSED);
    omit(&other, "b/one", "exact", "the first", HC_OMITTED_ABSENT);
    omit(&other, "b/one", "host", "on host", HC_OMITTED_ORDER);
    omit(&other, "a/one", "exact", "of a", HC_OMITTED_UNASKED);
    const struct hc_alike_calls taken = {.backend = "host", .key = 9, .taken = 2};
    char why[] = "not so";
    const struct hc_alike_calls refused = {.backend = "host", .key = 9, .refused = 3, .why = why};
    hc_omissions_join_calls(&s.rows.omissions, &taken);
    hc_omissions_join_calls(&other.rows.omissions, &refused);
    cr_assert_eq(hc_shared_rows_text(&other, &text), HC_OK);
    cr_assert_eq(hc_shared_rows_join(&s, 1, text, strlen(text)), HC_OK, "%s", hc_message());
    free(text);
    cr_assert_eq(hc_shared_rows_order(&s), HC_OK);
    const struct hc_omissions *all = &s.rows.omissions;
    static const char *const want[][3] = {{"a", "exact", "of a"},
                                          {"b", "exact", "the first"},
                                          {"b", "host", "on host"},
                                          {"c", "host", "of c"}};
    cr_assert_eq(all->count, 4);
    for (int i = 0; i < 4; i++) {
        cr_expect_str_eq(all->row[i].component, want[i][0]);
        cr_expect_str_eq(all->row[i].backend, want[i][1]);
        cr_expect_str_eq(hc_omission_why(&all->row[i]), want[i][2]);
    }
    cr_expect_eq(all->row[1].count[HC_OMITTED_ABSENT], 2);
    int first = 0;
    const struct hc_alike_calls *fickle = hc_omissions_fickle(all, HC_ALIKE_FORMATS, &first);
    cr_assert_not_null(fickle);
    cr_expect_eq(fickle->taken, 2);
    cr_expect_eq(fickle->refused, 3);
    cr_expect_str_eq(fickle->why, "not so");
    free_all(&s);
    free_all(&other);
}

Test(shared_rows, refuse_what_is_cut_short)
{
    struct hc_rows rows = {0};
    char *text;
    fill(&rows);
    struct hc_run_command s = half(0, &rows);
    struct hc_run_command other = half(1, &rows);
    cr_assert_eq(hc_shared_rows_text(&other, &text), HC_OK);
    cr_expect_eq(hc_shared_rows_join(&s, 1, text, strlen(text) / 2), HC_INVALID);
    cr_expect_not_null(strstr(hc_message(), "rank 1"), "%s", hc_message());
    free(text);
    free_all(&s);
    free_all(&other);
    hc_rows_free(&rows);
}
