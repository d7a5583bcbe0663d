#include "check/record/picture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "check/record/rows.h"

enum { LONG = 12345 };

static const double few[][2] = {{1, 0x1.fffffffffffffp-1}, {2, 0}, {3, (double)INFINITY}};

static void with_pictures(struct hc_check *check)
{
    static const struct hc_frame frame = {
        .title = "it's", .x = "steps", .y = "%", .log_y = true, .marks = {{0.1, "here"}}};
    struct hc_picture *picture = hc_picture_new(check, &frame);
    (void)hc_picture_new(check, &frame); /* no points: not in the record */
    for (int i = 0; i < 3; i++)
        hc_point(check, picture, "few", few[i][0], few[i][1]);
    for (int i = 1; i <= LONG; i++)
        hc_point(check, picture, "long", i, -i);
    hc_claim_true(check, "claimed", true);
}

static void without_pictures(struct hc_check *check)
{
    hc_claim_true(check, "claimed", true);
}

static const struct hc_case with = {.name = "a/with", .once = true, .run = with_pictures};
static const struct hc_case without = {.name = "a/without", .once = true, .run = without_pictures};
static const struct hc_case *const cases[] = {&with, &without};

static struct hc_rows rows;

static bool keep(const struct hc_result *result, void *context)
{
    hc_rows_add(&rows, result, context, NULL);
    return true;
}

/* Both cases run, the record as text. */
static char *record_text(void)
{
    struct hc_run_options options = {
        .cases = cases, .case_count = 2, .level = HC_QUICK, .report = keep};
    options.context = &options;
    cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
    json_t *record = hc_record_new();
    for (int i = 0; i < rows.count; i++)
        hc_record_add(record, &rows.row[i]);
    hc_rows_free(&rows);
    char *text = json_dumps(record, 0);
    json_decref(record);
    return text;
}

static enum hc_status read_back(const char *text, struct hc_record *record)
{
    char path[] = "/tmp/halfcheck-picture-XXXXXX";
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    cr_assert_eq(close(file), 0);
    enum hc_status status = hc_record_read(path, record);
    cr_assert_eq(unlink(path), 0);
    return status;
}

static const json_t *series_of(const struct hc_record *record, size_t index)
{
    const json_t *picture = json_array_get(record->rows[0].pictures, 0);
    return json_array_get(json_object_get(picture, "series"), index);
}

static int read_points(const json_t *series, double (*points)[2])
{
    const char *x = json_string_value(json_object_get(series, "x"));
    const char *y = json_string_value(json_object_get(series, "y"));
    int count = 0;
    while (hc_picture_next(&x, &points[count][0]) && hc_picture_next(&y, &points[count][1]))
        count++;
    return count;
}

Test(picture, survives_writing_and_reading)
{
    struct hc_record record;
    double points[LONG][2];
    char *text = record_text();
    cr_assert_eq(read_back(text, &record), HC_OK, "%s", hc_message());
    const json_t *picture = json_array_get(record.rows[0].pictures, 0);
    cr_expect_eq(json_array_size(record.rows[0].pictures), 1);
    cr_expect_str_eq(json_string_value(json_object_get(picture, "title")), "it's");
    cr_expect(json_is_true(json_object_get(picture, "log_y")));
    cr_expect(json_is_false(json_object_get(picture, "bars")));
    cr_expect_str_eq(json_string_value(json_object_get(series_of(&record, 0), "name")), "few");
    cr_assert_eq(read_points(series_of(&record, 0), points), 3);
    cr_expect_eq(memcmp(points, few, sizeof few), 0);
    hc_record_free(&record);
    free(text);
}

Test(picture, a_long_series_is_thinned_evenly_and_keeps_its_ends)
{
    struct hc_record record;
    double points[LONG][2];
    char *text = record_text();
    cr_assert_eq(read_back(text, &record), HC_OK, "%s", hc_message());
    int count = read_points(series_of(&record, 1), points);
    cr_expect_leq(count, HC_SERIES_POINTS + 1);
    cr_expect_geq(count, HC_SERIES_POINTS / 2);
    for (int i = 0; i < count; i++)
        cr_assert_eq(points[i][1], -points[i][0]);
    for (int i = 2; i < count - 1; i++)
        cr_assert_eq(points[i][0] - points[i - 1][0], points[1][0] - points[0][0]);
    cr_expect_eq(points[0][0], 1);
    cr_expect_eq(points[count - 1][0], LONG);
    hc_record_free(&record);
    free(text);
}

Test(picture, a_case_without_one_has_none)
{
    struct hc_record record;
    char *text = record_text();
    cr_assert_eq(read_back(text, &record), HC_OK, "%s", hc_message());
    cr_assert_str_eq(record.rows[1].name, "a/without");
    cr_expect_null(record.rows[1].pictures);
    hc_record_free(&record);
    free(text);
}

/* The record with the first `from` in it replaced by `to`, of the same length, is refused. */
static void expect_refused(const char *from, const char *to)
{
    struct hc_record record;
    char *text = record_text();
    char *at = strstr(text, from);
    cr_assert_not_null(at, "%s", from);
    memcpy(at, to, strlen(from));
    cr_expect_eq(read_back(text, &record), HC_INVALID, "%s", to);
    cr_expect_not_null(strstr(hc_message(), "picture"), "%s", hc_message());
    free(text);
}

Test(picture, a_damaged_one_is_refused)
{
    expect_refused("\"0x1p+0 0x1p+1", "\"0x1p+0 Ox1p+1");
    expect_refused("\"0x1p+0 0x1p+1", "\"0x1p+0,0x1p+1");
    expect_refused("\"0x1p+0 0x1p+1", "\"0x1p+0x0x1p+1");
    expect_refused("\"0x1p+0 0x1p+1", "\"0x1.000000p+1");
    expect_refused("\"name\": \"few\"", "\"nome\": \"few\"");
    expect_refused("\"log_y\": true", "\"log_y\": null");
    expect_refused("\"marks\"", "\"morks\"");
    expect_refused("\"text\"", "\"tixt\"");
    expect_refused("\"series\"", "\"sirees\"");
    expect_refused("\"title\"", "\"titel\"");
}
