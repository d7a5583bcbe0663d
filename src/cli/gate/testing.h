/* Records of a few results, and what `halfcheck gate` says of them, for tests. */
#ifndef HC_CLI_GATE_TESTING_H
#define HC_CLI_GATE_TESTING_H

#include "cli/testing.h"

#include <math.h>

#include "check/record/invocation.h"
#include "check/record/record.h"

/* How the records of these tests came about, where a test does not say otherwise. */
static const struct hc_invocation usual = {.level = "quick", .seed = 5};

static inline void write_run(const char *path, const struct hc_invocation *run, int count,
                             const struct hc_row *rows)
{
    json_t *record = hc_record_new();
    if (run)
        hc_record_set_invocation(record, run);
    for (int i = 0; i < count; i++)
        hc_record_add(record, &rows[i]);
    cr_assert_eq(hc_record_write(record, path), HC_OK);
    json_decref(record);
}

static inline void write_record(const char *path, int count, const struct hc_row *rows)
{
    write_run(path, &usual, count, rows);
}

static inline struct hc_row passing(const char *name)
{
    return (struct hc_row){.name = name,
                           .backend = "exact",
                           .verdict = HC_PASS,
                           .checked = 100,
                           .error = 0x1p-12,
                           .bound = 0x1p-10,
                           .unit = "abs",
                           .implementation = (double)NAN,
                           .format = (double)NAN,
                           .seed = 5,
                           .note = "",
                           .repro = "halfcheck run"};
}

static const char gate[] = "$hc gate --baseline old.json new.json";

/* Whether the words stand in a text, wherever its lines are broken. */
static inline bool says(const char *text, const char *words)
{
    static char flat[1 << 16];
    size_t n = 0;
    for (const char *c = text; *c && n + 1 < sizeof flat; c++) {
        bool blank = *c == ' ' || *c == '\n';
        if (!blank || (n && flat[n - 1] != ' '))
            flat[n++] = blank ? ' ' : *c;
    }
    flat[n] = '\0';
    return strstr(flat, words) != NULL;
}

/* The gate's verdict on `is` after `was`, and that it says so. */
static inline void expect(struct hc_row was, struct hc_row is, int status, const char *word)
{
    write_record("old.json", 1, &was);
    write_record("new.json", 1, &is);
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, status, "%s: %s%s", word, ran->out, ran->err);
    cr_expect(says(ran->out, word), "%s: %s", word, ran->out);
    const char *last = strstr(ran->out, status ? "\nFAIL: " : "\nPASS: ");
    cr_expect(last && !strchr(strchr(last + 1, '\n') + 1, '\n'), "%s", ran->out);
}

/* The same with something allowed. */
static inline void expect_allowed(const char *kinds, struct hc_row was, struct hc_row is,
                                  int status)
{
    char line[200];
    (void)snprintf(line, sizeof line, "%s %s", gate, kinds);
    write_record("old.json", 1, &was);
    write_record("new.json", 1, &is);
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, status, "%s: %s%s", kinds, ran->out, ran->err);
}

#endif
