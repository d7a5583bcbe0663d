/* Whatever text stands in a record, `report` shows it as text. The fields are found by walking the
   record, so that a new one comes with the test. */
#include <jansson.h>

#include "cli/testing.h"
#include "cli/report/wellformed.h"

static const char *const hostile[] = {
    "';system('touch pwned');a='",
    "\";system(\"touch pwned\");a=\"",
    "`touch pwned`",
    "$(touch pwned)",
    "<script>alert(1)</script>",
    "\"><script>alert(1)</script>",
    "]]></style></title></svg><script>alert(1)</script>",
    "two\nlines\rand\ta tab\033[2J\001",
    "'",
    "\"",
    "\\",
    "@x @open_svg",
    "%s%n%s%n",
    "&amp; &nbsp; &",
    "{/Symbol a}_{b}^{c",
    "< touch pwned",
    "| touch pwned",
    "\xc2\x85\xe2\x80\xa8\xef\xbf\xbe\xf0\x9f\x98\x80",
    "https://a.b/\" onclick=\"alert(1) javascript:alert(1)",
    "",
};
enum { HOSTILE = sizeof hostile / sizeof hostile[0], LONG = 5000, MOST_FIELDS = 400 };

/* A text of the record: a member of an object, or an element of an array; or an object's key. */
struct field {
    json_t *holder;
    char key[128];
    size_t index;
    bool is_key;
};

static struct field fields[MOST_FIELDS];
static int count;

static void walk(json_t *value, bool keys_are_free)
{
    const char *key;
    void *next;
    json_t *member;
    size_t index;
    json_object_foreach_safe(value, next, key, member)
    {
        struct field field = {.holder = value, .is_key = keys_are_free};
        cr_assert_lt(count, MOST_FIELDS - 1);
        (void)snprintf(field.key, sizeof field.key, "%s", key);
        bool free_below =
            keys_are_free || strcmp(key, "environment") == 0 || strcmp(key, "backends") == 0;
        walk(member, free_below);
        if (json_is_string(member)) {
            field.is_key = false;
            fields[count++] = field;
        }
        if (keys_are_free) {
            field.is_key = true;
            fields[count++] = field;
        }
    }
    json_array_foreach(value, index, member)
    {
        walk(member, keys_are_free);
        if (json_is_string(member))
            fields[count++] = (struct field){.holder = value, .index = index};
    }
}

/* Puts the text in the field's place; a number behind it keeps texts apart. */
static void put(struct field *field, const char *text, int number)
{
    char *whole = malloc(strlen(text) + 16);
    (void)sprintf(whole, "%s%d", text, number);
    if (field->is_key) {
        json_t *member = json_incref(json_object_get(field->holder, field->key));
        (void)json_object_del(field->holder, field->key);
        cr_assert_eq(json_object_set_new(field->holder, whole, member), 0);
    } else if (json_is_object(field->holder))
        (void)json_object_set_new(field->holder, field->key, json_string(whole));
    else
        (void)json_array_set_new(field->holder, field->index, json_string(whole));
    free(whole);
}

static json_t *load(void)
{
    json_t *record = json_load_file("small.json", 0, NULL);
    cr_assert_not_null(record);
    count = 0;
    walk(record, false);
    cr_assert_gt(count, 40, "%d fields", count);
    return record;
}

/* A record of few results, with a picture that has a mark, the table of a bug, and facts of a
   backend. */
static void make_small(void)
{
    enter_folder();
    cr_assert_eq(run_shell("$hc run batchnorm/running-mean-bf16-operations rounding/after-one"
                           " eps/recipes field/hidden-overflow/nan-to-num-hides"
                           " --backend exact,host --json r.json")
                     ->status,
                 0);
    json_t *record = json_load_file("r.json", 0, NULL);
    json_t *result;
    json_t *pictures = NULL;
    size_t i;
    json_array_foreach(json_object_get(record, "results"), i, result)
    {
        if (!pictures)
            pictures = json_deep_copy(json_object_get(result, "pictures"));
        if (i % 2)
            (void)json_object_set_new(result, "verdict", json_string("FAIL"));
    }
    cr_assert_not_null(pictures);
    json_t *marks = json_object_get(json_array_get(pictures, 0), "marks");
    (void)json_array_append_new(marks, json_pack("{s:s, s:s}", "x", "0x1p+3", "text", "a mark"));
    result = json_array_get(json_object_get(record, "results"), 0);
    (void)json_object_set_new(result, "pictures", pictures);
    (void)json_object_set_new(result, "implementation", json_string("0x1p-3"));
    (void)json_object_set_new(result, "format", json_string("0x1p-1"));
    (void)json_object_set_new(
        record, "backends",
        json_pack("{s:{s:s}, s:{s:s}}", "exact", "plan", "a plan", "host", "gpu", "none"));
    cr_assert_eq(json_dump_file(record, "small.json", 0), 0);
    json_decref(record);
}

static void expect_no_trace(const char *what)
{
    cr_expect_eq(run_shell("find . -name 'pwned*' -print -delete | grep .")->status, 1,
                 "%s: ran a command", what);
}

/* The report is a sound page and status 0, or one line and status 2. Returns the status. */
static int expect_harmless(const char *what)
{
    static char page[1 << 22];
    (void)remove("page/report.html");
    const struct ran *ran = run_shell("$hc report t.json --out page");
    int status = ran->status;
    if (status == 0) {
        read_text("page/report.html", page, sizeof page);
        const char *fault = hc_malformed(page);
        cr_expect_str_eq(ran->err, "", "%s: %s", what, ran->err);
        cr_expect_null(strstr(page, "<script"), "%s: a script in the page", what);
        cr_expect_null(fault, "%s: malformed at: %.200s", what, fault ? fault : "");
    } else {
        cr_expect_eq(status, 2, "%s: status %d", what, status);
        cr_expect_eq(lines_of(ran->err), 1, "%s: %s", what, ran->err);
    }
    expect_no_trace(what);
    return status;
}

/* Which fields take any text is found out by trying each; `taken` are those. */
static void try_each(bool *taken)
{
    int fields_in_all = count;
    for (int f = 0; f < fields_in_all; f++) {
        char all[4096] = "";
        json_t *record = load();
        for (int h = 0; h < HOSTILE; h++)
            (void)strcat(all, hostile[h]);
        put(&fields[f], all, f);
        cr_assert_eq(json_dump_file(record, "t.json", 0), 0);
        taken[f] = expect_harmless(fields[f].key) == 0;
        json_decref(record);
    }
}

Test(report_texts, any_text_in_any_field_is_shown_as_text, .init = make_small, .timeout = 300)
{
    static bool taken[MOST_FIELDS];
    char text[LONG + 1];
    int free_fields = 0;
    json_decref(load());
    int fields_in_all = count;
    try_each(taken);
    for (int f = 0; f < fields_in_all; f++)
        free_fields += taken[f];
    cr_expect_gt(free_fields, fields_in_all / 2, "%d of %d", free_fields, fields_in_all);
    memset(text, 'x', LONG);
    text[LONG] = '\0';
    for (int h = 0; h <= HOSTILE; h++) {
        json_t *record = load();
        for (int f = 0; f < fields_in_all; f++)
            if (taken[f])
                put(&fields[f], h < HOSTILE ? hostile[h] : text, f);
        cr_assert_eq(json_dump_file(record, "t.json", 0), 0);
        cr_expect_eq(expect_harmless(h < HOSTILE ? hostile[h] : "a long text"), 0);
        json_decref(record);
    }
}

/* Paths are shown, too, and need not be UTF-8. */
Test(report_texts, any_path_is_shown_as_text, .init = make_small)
{
    static const char *const paths[] = {
        "it''s \"a\" `touch pwned` $(touch pwned) <script>alert(1)<",
        "two\nlines",
        "\xff\xfe",
        "-- ;touch pwned",
    };
    static char page[1 << 22];
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char name[256];
        (void)snprintf(name, sizeof name, "./%s", paths[i]);
        cr_assert_eq(rename(i ? "t.json" : "small.json", name), 0);
        cr_assert_eq(setenv("record", name, 1), 0);
        const struct ran *ran = run_shell("$hc report \"$record\" \"$record\" --out \"$record.d\"");
        cr_expect_eq(ran->status, 0, "%s", ran->err);
        cr_expect_str_eq(ran->err, "");
        expect_no_trace(paths[i]);
        (void)snprintf(name, sizeof name, "./%s.d/report.html", paths[i]);
        read_text(name, page, sizeof page);
        cr_expect_null(strstr(page, "<script"));
        cr_expect_null(hc_malformed(page), "%.200s", hc_malformed(page));
        cr_assert_eq(rename(getenv("record"), "t.json"), 0);
        expect_refusal("$hc report \"$record.none\" --out page", "none");
    }
}
