#include "check/record/baseline.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/record/decimal.h"
#include "check/record/invocation.h"
#include "num/rng.h"

static char folder[] = "/tmp/hc-baseline-XXXXXX";

static void enter_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static void leave_folder(void)
{
    (void)unlink("b.baseline");
    (void)unlink("c.baseline");
    cr_assert_eq(rmdir(folder), 0);
}

static struct hc_record record_of(const struct hc_row *rows, int count, uint64_t seed)
{
    struct hc_record record;
    json_t *document = hc_record_new();
    hc_record_set_invocation(document, &(struct hc_invocation){.level = "quick", .seed = seed});
    (void)json_object_set_new(document, "end", json_integer(3));
    (void)json_object_set_new(document, "a.b[]", json_pack("[{s:i},{}]", "x y", 1));
    for (int i = 0; i < count; i++)
        hc_record_add(document, &rows[i]);
    cr_assert_eq(hc_record_of("test", document, &record), HC_OK, "%s", hc_message());
    return record;
}

static char *text_of(const char *path, size_t *bytes)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    *bytes = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[*bytes] = '\0';
    return text;
}

static void expect_rounded(double was, double is)
{
    cr_expect(isnan(was) ? isnan(is) : is == hc_round_up(was, HC_BASELINE_DIGITS), "%a as %a", was,
              is);
}

/* Everything that a gate compares, and how it was made. */
static void expect_same(const struct hc_record *was, const struct hc_record *is)
{
    cr_assert_eq(was->count, is->count);
    static const char *const members[] = {"environment", "run", "end", "a.b[]"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        const json_t *a = json_object_get(was->document, members[i]);
        const json_t *b = json_object_get(is->document, members[i]);
        cr_expect(a ? json_equal(a, b) : !b, "%s", members[i]);
    }
    for (int i = 0; i < was->count; i++) {
        const struct hc_row *a = &was->rows[i];
        const struct hc_row *b = &is->rows[i];
        cr_assert_str_eq(a->name, b->name);
        cr_expect_str_eq(a->backend, b->backend);
        cr_expect_str_eq(a->unit, b->unit);
        cr_expect_eq(a->verdict, b->verdict);
        cr_expect_eq(a->checked, b->checked);
        cr_expect_eq(a->looked_at, b->looked_at, "%s", a->name);
        cr_expect_eq(a->looked_of, b->looked_of, "%s", a->name);
        cr_expect_eq(a->special, b->special, "%s", a->name);
        cr_expect_eq(a->largest.work, b->largest.work, "%s", a->name);
        cr_expect_eq(a->seed, b->seed);
        cr_expect_eq(a->digest_bits ? 24 : 0, b->digest_bits);
        cr_expect_eq(a->digest >> 40, b->digest >> 40, "%s", a->name);
        cr_expect_eq(b->digits, HC_BASELINE_DIGITS);
        expect_rounded(a->error, b->error);
        expect_rounded(a->bound, b->bound);
        if (a->verdict != HC_PASS)
            cr_expect_eq(strncmp(a->note, b->note, 90), 0, "%s", b->note);
    }
}

static void write_and_read(const struct hc_record *was, struct hc_record *is)
{
    cr_assert_eq(hc_baseline_write(was, "b.baseline"), HC_OK, "%s", hc_message());
    cr_assert_eq(hc_record_read("b.baseline", is), HC_OK, "%s", hc_message());
}

/* Names, numbers, units and notes that come near the format's own signs. */
Test(baseline, keeps_what_a_gate_compares, .init = enter_folder, .fini = leave_folder)
{
    enum { NAMES = 15, BACKENDS = 3, COUNT = NAMES * BACKENDS };
    static const char *const names[NAMES] = {"a",      "a/b",       "a/b/c",  "a//b",       "a-b/c",
                                             "end 3",  "results 1", "%41",    "\xc3\xa9/x", "PASS",
                                             "part x", "a/b/",      "12,13a", "end",        "part"};
    static const char *const backends[BACKENDS] = {"exact", "-", "pipe:python3 \"x\" é"};
    static const char *const units[] = {"abs", "ulp", "another unit", "%"};
    static const double numbers[] = {0,       1,     1000,  0.1,    5e-324,           1.7e308,
                                     0x1p-11, 12345, 99999, 1e-300, (double)INFINITY, (double)NAN};
    struct hc_row rows[COUNT];
    for (int i = 0; i < COUNT; i++) {
        uint64_t r = hc_random(1, 0, (uint64_t)i);
        uint64_t of_name = hc_random(1, 1, (uint64_t)(i / BACKENDS));
        rows[i] =
            hc_row_claim(names[i / BACKENDS], backends[i % BACKENDS],
                         r % 3 ? HC_PASS : (enum hc_verdict)(r >> 8) % HC_VERDICT_COUNT,
                         numbers[of_name % 12], numbers[of_name / 12 % 12], units[(r >> 32) % 4]);
        rows[i].seed = 7;
        rows[i].checked = (int64_t)(r >> 40);
        rows[i].digest = hc_random(2, 0, (uint64_t)i);
        rows[i].digest_bits = r >> 63 ? 64 : 0;
        rows[i].looked_of = (int64_t)(of_name & 4 ? r >> 60 : of_name >> 40);
        rows[i].looked_at = of_name & 8 ? rows[i].looked_of : rows[i].looked_of / 3;
        rows[i].special = of_name & 16 ? 0 : rows[i].looked_at / 2;
        rows[i].largest.work = (int64_t)(of_name & 1 ? of_name >> 20 : r & 1);
        rows[i].note = "a \"note\"\n\x1b[31m with \\ and é, of more than a hundred bytes, so that "
                       "it is cut: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    }
    for (int i = 0; i < COUNT; i++)
        if (!rows[i].digest_bits)
            rows[i].digest = 0;
    struct hc_record was = record_of(rows, COUNT, 7);
    struct hc_record is;
    struct hc_record again;
    write_and_read(&was, &is);
    expect_same(&was, &is);
    cr_assert_eq(hc_baseline_write(&is, "c.baseline"), HC_OK);
    cr_assert_eq(hc_record_read("c.baseline", &again), HC_OK, "%s", hc_message());
    expect_same(&is, &again);
    hc_record_free(&was);
    hc_record_free(&is);
    hc_record_free(&again);
}

/* Like those of the standard cases: two backends, of which one made more comparisons, an error in
   half of the cases, and digests. */
static struct hc_record suite(int cases)
{
    static const char *const folders[] = {"fp32", "fp16-fp32", "bf16-state-bf16"};
    static const char *const sizes[] = {"257", "13x9x33-ta", "2x8x8x3-k5r3-s2"};
    static const char *const leaves[] = {"normal", "specials", "subnormals", "cancellation", "cut"};
    json_t *document = hc_record_new();
    hc_record_set_invocation(document, &(struct hc_invocation){.level = "standard"});
    for (int i = 0; i < cases; i++) {
        char name[80];
        (void)snprintf(name, sizeof name, "op/name%d/%s/%s/%s", i / 45, folders[i / 15 % 3],
                       sizes[i / 5 % 3], leaves[i % 5]);
        double bound = i % 2 ? ldexp(hc_random_uniform(3, 0, (uint64_t)i), -(i % 40)) : 0;
        for (int host = 0; host < 2; host++) {
            struct hc_row row = hc_row_claim(name, host ? "host" : "exact", HC_PASS,
                                             bound * (i % 10 == 1 && host ? 0.25 : 0.5), bound,
                                             i % 2 ? "abs" : "ulp");
            row.checked = 257 + (host ? i % 500 : 0);
            row.digest = hc_random(4, i % 10 == 1 && host, (uint64_t)i);
            row.digest_bits = 64;
            row.looked_of = row.checked;
            row.looked_at = i % 3 ? row.looked_of : 40;
            row.special = i % 5 ? 0 : 9;
            row.largest.work = 1000 * (i % 7) + 257;
            hc_record_add(document, &row);
        }
    }
    struct hc_record record;
    cr_assert_eq(hc_record_of("suite", document, &record), HC_OK, "%s", hc_message());
    return record;
}

/* The standard run has some 32,000 results. They shall have a baseline of less than a megabyte. */
Test(baseline, has_at_most_31_bytes_a_result, .init = enter_folder, .fini = leave_folder)
{
    enum { CASES = 3500 };
    size_t bytes;
    struct hc_record was = suite(CASES);
    struct hc_record is;
    write_and_read(&was, &is);
    expect_same(&was, &is);
    (void)text_of("b.baseline", &bytes);
    cr_expect_leq((double)bytes / (2 * CASES), 31, "%.2f", (double)bytes / (2 * CASES));
    hc_record_free(&was);
    hc_record_free(&is);
}

static enum hc_status parse(const char *text, size_t bytes)
{
    struct hc_record record;
    json_t *document;
    enum hc_status status = hc_baseline_parse("b", text, bytes, &document);
    if (status == HC_OK)
        status = hc_record_of("b", document, &record);
    if (status == HC_OK)
        hc_record_free(&record);
    return status;
}

/* Cut at any byte, it is no baseline any more. With any byte changed it is read, or refused in one
   line. */
Test(baseline, cut_or_changed_anywhere_is_refused_or_read, .init = enter_folder,
     .fini = leave_folder)
{
    size_t bytes;
    int read = 0;
    struct hc_record was = suite(4);
    cr_assert_eq(hc_baseline_write(&was, "b.baseline"), HC_OK);
    char *text = text_of("b.baseline", &bytes);
    for (size_t n = 0; n < bytes; n++) {
        cr_assert_eq(parse(text, n), HC_INVALID, "%zu of %zu bytes", n, bytes);
        cr_assert_null(strchr(hc_message(), '\n'));
    }
    for (size_t i = 0; i < bytes; i++)
        for (uint64_t k = 0; k < 12; k++) {
            char was_byte = text[i];
            text[i] = k < 6 ? "\n /0-e"[k] : (char)hc_random(5, k, i);
            enum hc_status status = parse(text, bytes);
            cr_assert(status == HC_OK || status == HC_INVALID, "%s", hc_message());
            read += status == HC_OK;
            text[i] = was_byte;
        }
    cr_expect_gt(read, 0);
    cr_expect_eq(parse(text, bytes), HC_OK);
    hc_record_free(&was);
}

static const char head[] = "halfcheck baseline 1\nbackend e \"exact\"\nunit a \"abs\"\ndigits 4\n"
                           "usual e\nenvironment.cores 2\nrun.backends []\nrun.command []\n"
                           "run.cut null\nrun.faults []\nrun.level \"quick\"\nrun.patterns []\n"
                           "run.seed \"0\"\n";

static void expect_line(const char *rest, const char *line)
{
    char text[4096];
    (void)snprintf(text, sizeof text, "%s%s", head, rest);
    enum hc_status status = parse(text, strlen(text));
    if (line)
        cr_expect(status == HC_INVALID && strstr(hc_message(), line), "'%s': %s", rest,
                  status == HC_OK ? "read" : hc_message());
    else
        cr_expect_eq(status, HC_OK, "'%s': %s", rest, hc_message());
}

Test(baseline, what_is_wrong_is_said_with_the_line)
{
    expect_line("results 1\na 1a -\nend 1\n", NULL);
    expect_line("results 1\na\n b 1a 1/2e3 AbC_\nend 1\n", NULL);
    expect_line("results 1\na 1a - FAIL \"x\"\nend 1\n", NULL);
    expect_line("results 1\na 1a @9 -\nend 1\n", NULL);
    expect_line("results 1\na 1a @3/9+2*18 1/2e3 -\nend 1\n", NULL);
    expect_line("results 1\na 1a @ -\nend 1\n", "no counts of elements: ''");
    expect_line("results 1\na 1a @x -\nend 1\n", "no counts of elements: 'x'");
    expect_line("results 1\na 1a @3/ -\nend 1\n", "no counts of elements: '3/'");
    expect_line("results 1\na 1a @3+ -\nend 1\n", "no counts of elements: '3+'");
    expect_line("results 1\na 1a @3*2+1 -\nend 1\n", "no counts of elements: '3*2+1'");
    expect_line("results 1\na 1a @99999999999999999999 -\nend 1\n", "no counts of elements");
    expect_line("results 1\na 1a @9/3 -\nend 1\n", "a negative count");
    expect_line("results 1\na 1a @3,3 -\nend 1\n", "neither one number or digest");
    expect_line("results 0\nend 0\n", NULL);
    expect_line("results 1\na 1a -\n", "line 15: no end: the file was cut short");
    expect_line("results 2\na 1a -\nend 1\n", "2 results were to stand above, and 1 do");
    expect_line("results 1\na 1a -\nend 2\n", "line 16: 1 results stand above");
    expect_line("results 1\na 1a -\nend 1\nx\n", "something stands behind the end");
    expect_line("results 1\n  a 1a -\nend 1\n", "line 15: no name, or indented too far");
    expect_line("results 1\na 1x -\nend 1\n", "no backends, count and unit");
    expect_line("results 1\na z 1a -\nend 1\n", "no backend has one of the letters 'z'");
    expect_line("results 1\na \xe5 1a -\nend 1\n", "no backend has one of the letters");
    expect_line("results 1\na 1,2a -\nend 1\n", "neither one number or digest");
    expect_line("results 1\na 1a -,-\nend 1\n", "neither one number or digest");
    expect_line("results 1\na 1a\nend 1\n", "no count or no digest");
    expect_line("results 1\na 1a Ab\nend 1\n", "no count or no digest: '1', 'Ab'");
    expect_line("results 1\na 1a Ab*_\nend 1\n", "no count or no digest");
    expect_line("results 1\na 1a x/y -\nend 1\n", "no error and bound: 'x/y'");
    expect_line("results 1\na 1a -1/2e0 -\nend 1\n", "no error and bound");
    expect_line("results 1\na 1a 1e5/ -\nend 1\n", "no error and bound");
    expect_line("results 1\na 99999999999999999999a -\nend 1\n", "no count or no digest");
    expect_line("results 1\na 1a - WRONG \"x\"\nend 1\n", "no verdict and note: 'WRONG'");
    expect_line("results 1\na 1a - FAIL x\nend 1\n", "no verdict and note: 'FAIL'");
    expect_line("results 2\na 1a -\na 1a -\nend 2\n", "duplicate result of a on exact");
    expect_line("results 1\na%2 1a -\nend 1\n", "a wrong escape in the name");
    expect_line("results 1\na 1a -\r\nend 1\n", "a byte that no baseline has");
    expect_line("run.seed \"1\"\nresults 0\nend 0\n", "the path stands there twice");
    expect_line("run.seed.x 1\nresults 0\nend 0\n", "leads through a value");
    expect_line("x [1\nresults 0\nend 0\n", "is no JSON");
    expect_line("x\nresults 0\nend 0\n", "no value behind the path");
    expect_line("results 0\nresults 0\nend 0\n", "no backends, count and unit");
    expect_line("results 0\npart \"x\"\nresults 0\nend 0\n", "a part has a name");
    cr_expect_eq(parse("halfcheck baseline 3\n", 21), HC_INVALID);
    cr_expect_not_null(strstr(hc_message(), "version '3'; this halfcheck reads versions 1 and 2"));
}

Test(baseline, of_a_record_that_does_not_say_how_it_was_made_is_none, .init = enter_folder,
     .fini = leave_folder)
{
    struct hc_row row = hc_row_claim("a", "exact", HC_PASS, 0, 0, "abs");
    struct hc_record record;
    json_t *document = hc_record_new();
    hc_record_add(document, &row);
    cr_assert_eq(hc_record_of("old", document, &record), HC_OK);
    cr_expect_eq(hc_baseline_write(&record, "b.baseline"), HC_INVALID);
    cr_expect_not_null(strstr(hc_message(), "does not say how it was made"));
    cr_expect_eq(access("b.baseline", F_OK), -1);
    hc_record_free(&record);
}
