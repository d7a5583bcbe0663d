/* A record is whole or is not written, whichever allocation fails. */
#include "check/record/json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "check/record/invocation.h"
#include "check/record/record.h"

static long until_failure; /* allocations that succeed before one fails; negative: all do */

static void *scarce(size_t bytes)
{
    return until_failure-- == 0 ? NULL : malloc(bytes);
}

static enum hc_status write_record(const char *path)
{
    static const char *const patterns[] = {"eps/*"};
    const struct hc_invocation invocation = {
        .patterns = patterns, .pattern_count = 1, .level = "quick"};
    struct hc_row row = {.name = "a/b",
                         .backend = "exact",
                         .verdict = HC_PASS,
                         .checked = 3,
                         .unit = "abs",
                         .implementation = (double)NAN,
                         .format = 0.5,
                         .line = (double)NAN,
                         .note = "bytes that are not UTF-8: \xff",
                         .repro = "halfcheck run a/b"};
    json_t *record = hc_record_new();
    hc_record_set_invocation(record, &invocation);
    hc_record_add(record, &row);
    row.name = "a/c";
    hc_record_add(record, &row);
    enum hc_status status = hc_record_write(record, path);
    json_decref(record);
    return status;
}

/* The file without its date, which is another one each time. */
static json_t *load(const char *path)
{
    json_t *record = json_load_file(path, 0, NULL);
    (void)json_object_del(json_object_get(record, "environment"), "date");
    return record;
}

Test(json, a_record_is_whole_or_refused_whichever_allocation_fails)
{
    char folder[] = "/tmp/halfcheck-json-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    hc_json_watch(scarce);
    until_failure = -1;
    cr_assert_eq(write_record("want.json"), HC_OK, "%s", hc_message());
    json_t *want = load("want.json");
    cr_assert_eq(json_array_size(json_object_get(want, "results")), 2);
    long refused = 0;
    for (enum hc_status status = HC_NO_MEMORY; status != HC_OK; refused++) {
        (void)unlink("got.json");
        hc_json_watch(scarce);
        until_failure = refused;
        status = write_record("got.json");
        until_failure = -1;
        cr_assert(status == HC_OK || status == HC_NO_MEMORY, "allocation %ld", refused);
        json_t *got = load("got.json");
        cr_expect_eq(got != NULL, status == HC_OK, "allocation %ld", refused);
        cr_expect(!got || json_equal(got, want), "allocation %ld", refused);
        json_decref(got);
    }
    cr_expect_gt(refused, 100);
    json_decref(want);
    cr_expect_eq(system("rm -f *.json"), 0);
    (void)rmdir(folder);
}
