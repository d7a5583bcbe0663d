#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record.h"
#include "cli/command.h"

const struct hc_command hc_command_gate;

/* Below this error/bound a result is not said to have grown: where the baseline hit the real value by
   luck, any other order of summation is infinitely many times worse. */
#define LOW 0.05

struct comparison {
    struct hc_record baseline;
    struct hc_record record;
    double growth; /* error/bound may be that many times the baseline's */
    bool same_level;
    int worse;
    int better;
    int still_bad;
};

/* How much a verdict says, best first: MISTRUSTED and SKIPPED say nothing at all. */
static int rank(enum hc_verdict verdict)
{
    static const int ranks[HC_VERDICT_COUNT] = {
        [HC_PASS] = 0,          [HC_SKIPPED] = 1, [HC_MISTRUSTED] = 1,
        [HC_UNIMPLEMENTED] = 1, [HC_ERROR] = 2,   [HC_FAIL] = 3,
    };
    return ranks[verdict];
}

static void say_worse(struct comparison *c, const struct hc_row *row, const char *what)
{
    printf("worse   %-44s %-14s %s\n", row->name, row->backend, what);
    c->worse++;
}

static void compare_verdicts(struct comparison *c, const struct hc_row *was,
                             const struct hc_row *is)
{
    char text[400];
    (void)snprintf(text, sizeof text, "%s, was %s%s%s", hc_verdict_names[is->verdict],
                   hc_verdict_names[was->verdict], is->note[0] ? ": " : "", is->note);
    if (rank(is->verdict) > rank(was->verdict)) {
        say_worse(c, is, text);
    } else if (rank(is->verdict) < rank(was->verdict)) {
        printf("better  %-44s %-14s %s\n", is->name, is->backend, text);
        c->better++;
    } else if (rank(is->verdict) > 1) {
        c->still_bad++;
    }
}

/* Both passed: what may have eroded all the same. Errors are compared by their share of the bound,
   except that a bound which was raised for the same inputs is itself a loss. */
static void compare_numbers(struct comparison *c, const struct hc_row *was, const struct hc_row *is)
{
    char text[160];
    double before = hc_ratio(was->error, was->bound);
    double after = hc_ratio(is->error, is->bound);
    bool same_inputs = was->seed == is->seed && c->same_level;
    if (same_inputs && is->checked < was->checked) {
        (void)snprintf(text, sizeof text, "%lld comparisons, were %lld", (long long)is->checked,
                       (long long)was->checked);
        say_worse(c, is, text);
    }
    if (same_inputs && is->error == was->error && is->bound > was->bound) {
        (void)snprintf(text, sizeof text, "bound %.4g %s, was %.4g", is->bound, is->unit,
                       was->bound);
        say_worse(c, is, text);
    } else if (after > c->growth * fmax(before, LOW)) {
        (void)snprintf(text, sizeof text, "error/bound %.3g, was %.3g", after, before);
        say_worse(c, is, text);
    }
}

static void compare_rows(struct comparison *c)
{
    for (int i = 0; i < c->baseline.count; i++) {
        const struct hc_row *was = &c->baseline.rows[i];
        const struct hc_row *is = hc_record_find(&c->record, was->name, was->backend);
        if (!is) {
            say_worse(c, was, "missing from the record");
            continue;
        }
        compare_verdicts(c, was, is);
        if (was->verdict == HC_PASS && is->verdict == HC_PASS)
            compare_numbers(c, was, is);
    }
    for (int i = 0; i < c->record.count; i++) {
        const struct hc_row *is = &c->record.rows[i];
        char text[400];
        if (rank(is->verdict) < 2 || hc_record_find(&c->baseline, is->name, is->backend))
            continue;
        (void)snprintf(text, sizeof text, "new, and %s: %s", hc_verdict_names[is->verdict],
                       is->note);
        say_worse(c, is, text);
    }
}

/* Which machine or software is another one: it may be the reason. */
static void compare_environments(const struct comparison *c)
{
    const char *key;
    json_t *is;
    json_t *environment = json_object_get(c->record.document, "environment");
    json_object_foreach(environment, key, is)
    {
        const json_t *was = json_object_get(c->baseline.environment, key);
        if (strcmp(key, "date") == 0 || json_equal(was, is))
            continue;
        char *old = was ? json_dumps(was, JSON_ENCODE_ANY) : NULL;
        char *new = json_dumps(is, JSON_ENCODE_ANY);
        printf("%-10s %s, was %s\n", key, new ? new : "?", old ? old : "null");
        free(old);
        free(new);
    }
}

static int compare(struct comparison *c)
{
    const json_t *was = json_object_get(c->baseline.document, "level");
    const json_t *is = json_object_get(c->record.document, "level");
    c->same_level = json_equal(was, is) == 1;
    compare_environments(c);
    if (!c->same_level)
        puts("level      differs: counts and bounds are not compared");
    compare_rows(c);
    printf("\n%d results against %d: %d worse, %d better, %d as bad as before\n", c->record.count,
           c->baseline.count, c->worse, c->better, c->still_bad);
    return c->worse ? HC_CLAIM_FAILED : HC_AS_CLAIMED;
}

static int run(int argc, char **argv)
{
    const char *baseline = NULL;
    struct comparison c = {.growth = 2};
    const struct hc_option options[] = {
        {.name = "baseline", .value = "FILE", .text = &baseline, .help = "the record to hold to"},
        {.name = "growth",
         .value = "X",
         .real = &c.growth,
         .least = 1,
         .most = 1e6,
         .help = "how many times the baseline's error/bound a passing result may\n"
                 "have (default 2: one bit of the headroom)"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_gate, options, argc, argv, &words, &status))
        return status;
    if (!baseline || words != 1)
        return hc_complain("gate: --baseline FILE and one record; see: halfcheck gate --help");
    if (hc_record_read(baseline, &c.baseline) != HC_OK)
        return hc_complain_message();
    if (hc_record_read(argv[1], &c.record) == HC_OK && c.baseline.count > 0)
        status = compare(&c);
    else
        status = c.baseline.count ? hc_complain_message()
                                  : hc_complain("%s: a baseline without results", baseline);
    hc_record_free(&c.baseline);
    hc_record_free(&c.record);
    return status;
}

const struct hc_command hc_command_gate = {
    .name = "gate",
    .usage = "--baseline FILE RECORD [--growth X]",
    .summary = "say what got worse since a baseline",
    .text = "Both are records of halfcheck run. Worse is: a verdict that was PASS and is not; one\n"
            "that became FAIL or ERROR; a result that is missing; a new one that fails; a passing\n"
            "one with fewer comparisons, a raised bound, or an error/bound that grew (from 0.05\n"
            "of the bound on). What failed in the baseline already may go on failing. Differences\n"
            "of the machines and their software come first.",
    .run = run,
};
