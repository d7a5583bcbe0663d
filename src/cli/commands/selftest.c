/* Plants every fault, as many at once as there are cores, and prints by class which were caught. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/registry.h"
#include "check/record/json.h"
#include "check/selftest/hunt.h"
#include "check/runner.h"
#include "check/timing.h"
#include "cli/backend_options.h"
#include "cli/colour.h"
#include "cli/command.h"
#include "op/typed.h"

const struct hc_command hc_command_selftest;

enum { MAX_AT_ONCE = 64 };

struct selftest {
    const struct hc_case *const *cases;
    int case_count;
    uint64_t seed;
    struct hc_backend_options backends;
    const struct hc_hunt_subject *subject; /* NULL: the faults' own backends */
    int unfit;                             /* faults that do not fit into the subject, */
    int unseen;                            /* of which no case runs there, */
    int allowed;                           /* and that are none in a backend of free order */
    bool json;
    bool verbose;
    int length;     /* how many faults match */
    json_t *faults; /* a row for each */
    int by_luck;    /* how many were caught by one result alone */
    int planted[HC_FAULT_CLASSES];
    int caught[HC_FAULT_CLASSES];
    unsigned char *by[HC_FAULT_CLASSES]; /* by case: it caught a fault of the class */
};

/* Prints a fault that nothing caught, and with `verbose` also the others. */
static void print_outcome(const struct selftest *s, const struct hc_fault *fault,
                          const struct hc_hunt_result *outcome)
{
    char pattern[HC_GLOB];
    bool caught = hc_hunt_caught(fault, outcome);
    bool by_luck = hc_hunt_by_luck(fault, outcome);
    const char *what = outcome->unfit             ? "unfit"
                       : outcome->allowed         ? "allowed"
                       : !hc_hunt_counts(outcome) ? "unseen"
                       : !caught                  ? "SURVIVES"
                       : by_luck                  ? "BY LUCK"
                                                  : "caught";
    bool bad = strcmp(what, "SURVIVES") == 0 || strcmp(what, "BY LUCK") == 0;
    if (s->json || (!bad && !s->verbose))
        return;
    if (hc_terminal_draws(stderr))
        hc_terminal_clear(stderr);
    (void)hc_colour_word(stdout, bad ? HC_COLOUR_FAIL : HC_PLAIN, 9, what);
    printf(" %-32s %-12s %s\n", fault->name, hc_fault_classes[fault->class_].name, fault->title);
    if (outcome->message[0])
        printf("%10s%s\n", "", outcome->message);
    for (int p = 0; p < outcome->patterns; p++) {
        (void)hc_fault_glob(fault->patterns, p, pattern);
        if (outcome->caught_by[p] >= 0)
            printf("%10sby %s\n", "", s->cases[outcome->caught_by[p]]->name);
        else if (outcome->caught_by[p] == HC_HUNT_NO_CASE)
            printf("%10sno case of '%s' runs there\n", "", pattern);
        else
            printf("%10sno case of '%s' catches it\n", "", pattern);
    }
    if (by_luck)
        printf(
            "%10sno other case of these patterns catches it, and not that one with other seeds\n",
            "");
    (void)fflush(stdout);
}

static void keep_outcome(struct selftest *s, const struct hc_fault *fault,
                         const struct hc_hunt_result *outcome)
{
    bool caught = hc_hunt_caught(fault, outcome);
    json_t *by = json_array();
    s->unfit += outcome->unfit;
    s->allowed += outcome->allowed;
    s->unseen += !outcome->unfit && !outcome->allowed && !hc_hunt_counts(outcome);
    if (!hc_hunt_counts(outcome)) {
        json_decref(by);
        print_outcome(s, fault, outcome);
        return;
    }
    s->planted[fault->class_]++;
    s->caught[fault->class_] += caught;
    s->by_luck += hc_hunt_by_luck(fault, outcome);
    for (int p = 0; p < outcome->patterns; p++)
        if (outcome->caught_by[p] >= 0) {
            s->by[fault->class_][outcome->caught_by[p]] = 1;
            (void)json_array_append_new(by, json_string(s->cases[outcome->caught_by[p]]->name));
        }
    (void)json_array_append_new(
        s->faults,
        json_pack("{s:s, s:s, s:s, s:b, s:i, s:o, s:s}", "name", fault->name, "class",
                  hc_fault_classes[fault->class_].name, "in",
                  fault->backend ? fault->backend : hc_fault_places[fault->place], "caught", caught,
                  "results", outcome->results, "by", by, "note", outcome->message));
    print_outcome(s, fault, outcome);
}

/* The next fault, from *i on, that matches one of the words, or NULL. */
static const struct hc_fault *next_fault(const char *const *words, int count, int *i)
{
    while (*i < hc_fault_count()) {
        const struct hc_fault *fault = hc_fault_at((*i)++);
        if (hc_matches(words, count, fault->name) ||
            hc_matches(words, count, hc_fault_classes[fault->class_].name))
            return fault;
    }
    return NULL;
}

/* Says what is going to be planted; returns how many faults match. */
static int begin(struct selftest *s, const char *const *words, int count)
{
    int at = 0;
    while (next_fault(words, count, &at))
        s->length++;
    if (!s->json && s->length > 0)
        printf("planting %d fault%s\n", s->length,
               s->length == 1 ? "" : "s, each in a process of its own");
    (void)fflush(stdout);
    return s->length;
}

static void show_progress(const struct selftest *s, int done, const char *name)
{
    char line[128];
    if (s->json || !hc_terminal_draws(stderr))
        return;
    (void)snprintf(line, sizeof line, "[%d/%d] %.90s", done, s->length, name);
    if (done < s->length)
        hc_terminal_redraw(stderr, line);
    else
        hc_terminal_clear(stderr);
}

/* A ring of hunts: when all places are taken, the oldest is waited for. */
static enum hc_status hunt_all(struct selftest *s, const char *const *words, int count)
{
    struct hc_hunt hunts[MAX_AT_ONCE];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int places = cores < 1 ? 1 : cores < MAX_AT_ONCE ? (int)cores : MAX_AT_ONCE;
    int begun = 0;
    int ended = 0;
    int at = 0;
    enum hc_status status = HC_OK;
    const struct hc_fault *fault = next_fault(words, count, &at);
    while (ended < begun || (fault && status == HC_OK)) {
        if (fault && status == HC_OK && begun - ended < places) {
            status = hc_hunt_begin(&hunts[begun % places], fault, s->cases, s->case_count, s->seed,
                                   s->subject);
            begun += status == HC_OK;
            fault = next_fault(words, count, &at);
            continue;
        }
        struct hc_hunt *oldest = &hunts[ended++ % places];
        struct hc_hunt_result outcome = hc_hunt_end(oldest);
        keep_outcome(s, oldest->fault, &outcome);
        show_progress(s, ended, oldest->fault->name);
    }
    return status;
}

static int cases_of(const struct selftest *s, int class_)
{
    int n = 0;
    for (int i = 0; i < s->case_count; i++)
        n += s->by[class_][i];
    return n;
}

static void print_table(const struct selftest *s, int planted, int caught, double seconds)
{
    printf("%-13s %8s %8s %10s   %s\n", "class", "planted", "caught", "by cases",
           "what goes wrong");
    for (int c = 0; c < HC_FAULT_CLASSES; c++)
        if (s->planted[c])
            printf("%-13s %8d %8d %10d   %s\n", hc_fault_classes[c].name, s->planted[c],
                   s->caught[c], cases_of(s, c), hc_fault_classes[c].title);
    printf("\n%d of %d planted faults caught; %.1f s\n", caught, planted, seconds);
    if (s->by_luck)
        printf("%d of them by one result alone, which is too few\n", s->by_luck);
    if (s->subject)
        printf(
            "not counted: %d that do not fit into the backend (it lacks their ops, or they change\n"
            "more than a kernel), %d whose cases are left out there, %d that are within the\n"
            "bounds which hold in any order\n",
            s->unfit, s->unseen, s->allowed);
}

static enum hc_status print_json(const struct selftest *s, double seconds)
{
    json_t *classes = json_array();
    for (int c = 0; c < HC_FAULT_CLASSES; c++)
        if (s->planted[c])
            (void)json_array_append_new(classes, json_pack("{s:s, s:i, s:i, s:i}", "name",
                                                           hc_fault_classes[c].name, "planted",
                                                           s->planted[c], "caught", s->caught[c],
                                                           "cases", cases_of(s, c)));
    json_t *all = json_pack("{s:I, s:f, s:o, s:O}", "seed", (json_int_t)s->seed, "seconds", seconds,
                            "classes", classes, "faults", s->faults);
    enum hc_status status = hc_json_print(stdout, all);
    json_decref(all);
    return status;
}

static int refuse_fault(const char *const *words, int count)
{
    const char *word = count == 1 ? words[0] : "";
    struct hc_nearest nearest = hc_nearest_to(word, strlen(word));
    for (int c = 0; c < HC_FAULT_CLASSES; c++)
        hc_nearest_try(&nearest, hc_fault_classes[c].name);
    for (int i = 0; i < hc_fault_count(); i++)
        hc_nearest_try(&nearest, hc_fault_at(i)->name);
    return hc_complain("selftest: no fault matches%s; see: halfcheck list faults",
                       hc_nearest_hint(&nearest));
}

static int conclude_selftest(const struct selftest *s, double seconds)
{
    int planted = 0;
    int caught = 0;
    for (int c = 0; c < HC_FAULT_CLASSES; c++) {
        planted += s->planted[c];
        caught += s->caught[c];
    }
    if (!planted)
        return hc_complain("selftest: no fault that matches fits into the backend and has a case "
                           "that runs there");

    if (s->json && print_json(s, seconds) != HC_OK)
        return hc_complain_message();
    if (!s->json)
        print_table(s, planted, caught, seconds);
    /* A backend from outside may have one op, and one case of it. */
    bool luck = s->by_luck && !s->subject;
    return caught < planted || luck ? HC_CLAIM_FAILED : HC_AS_CLAIMED;
}

static const struct hc_backend *choose(const void *context)
{
    const struct hc_backend *backend;
    return hc_choose_backend("faults are planted", context, "host", &backend) == HC_OK ? backend
                                                                                       : NULL;
}

static int run_selftest(int argc, char **argv)
{
    struct selftest s = {0};
    const struct hc_option options[] = {
        {.include = hc_backend_options(
             &s.backends, HC_TAKES_ORDER,
             "plant the faults between this backend and the cases (default: in exact and\n"
             "host, as the faults' rows say). A program is started for each fault")},
        {.name = "seed",
         .value = "N",
         .seed = &s.seed,
         .help = "seed of the cases' random inputs (default 0)"},
        {.name = "json", .flag = &s.json, .help = "print a JSON object instead of the table"},
        {.name = "verbose", .flag = &s.verbose, .help = "also print each fault that was caught"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_selftest, options, argc, argv, &words, &status))
        return status;
    const struct hc_hunt_subject subject = {choose, &s.backends, hc_backend_order(&s.backends)};
    if (s.backends.named.count)
        s.subject = &subject;
    s.cases = hc_all_cases(&s.case_count);
    if (!s.cases)
        return hc_complain_message();
    unsigned char *by = calloc(HC_FAULT_CLASSES, (size_t)s.case_count);
    if (!by)
        return hc_complain("selftest: no memory to count %d cases", s.case_count);
    for (int c = 0; c < HC_FAULT_CLASSES; c++)
        s.by[c] = by + (size_t)c * (size_t)s.case_count;
    s.faults = json_array();
    double start = hc_clock();
    if (begin(&s, (const char *const *)argv + 1, words) == 0)
        status = refuse_fault((const char *const *)argv + 1, words);
    else if (hunt_all(&s, (const char *const *)argv + 1, words) == HC_OK)
        status = conclude_selftest(&s, hc_clock() - start);
    else
        status = hc_complain_message();
    json_decref(s.faults);
    free(by);
    return status;
}

const struct hc_command hc_command_selftest = {
    .name = "selftest",
    .usage = "[PATTERN...] [options]",
    .summary = "plant every known fault and check that the cases catch it",
    .text =
        "Plants each fault of halfcheck list faults in a process of its own. A fault is\n"
        "caught if, for each pattern of cases that its row names, one case fails with the\n"
        "fault and passes without it. PATTERN is a glob over faults or their classes.\n\n"
        "The table says for each class how many faults were planted, how many of them were\n"
        "caught, and by how many different cases (for each pattern, the first case that did).\n"
        "A fault must be caught by two results: of two cases, or of one with two seeds. If only\n"
        "one result catches it, that may be luck, and counts as a failure.\n\n"
        "With --backend the faults are planted in that backend: its kernels compute, and the\n"
        "fault changes what they get or give. A program may sum in any order unless --order\n"
        "names one, so some faults are none for it; they are counted apart.",
    .run = run_selftest,
};
