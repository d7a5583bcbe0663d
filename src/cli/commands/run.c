#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cases/registry.h"
#include "check/facts.h"
#include "check/fault.h"
#include "check/output.h"
#include "check/rows.h"
#include "cli/choose.h"
#include "cli/command.h"
#include "cli/left_out.h"
#include "cli/stop.h"
#include "cli/table.h"

const struct hc_command hc_command_run;

static const char default_record[] = "out/record.json";

struct settings {
    const char *backends;
    const char *json;
    const char *junit;
    const char *fault;
    int level;
    bool tap;
    bool strict;
    bool verbose;
};

struct session {
    struct settings settings;
    struct hc_run_options run;
    const struct hc_backend *backends[HC_MAX_BACKENDS];
    struct hc_rows rows;
    struct hc_table table;
    json_t *facts; /* by backend; check/facts.h */
};

static void starting(const struct hc_case *what, const char *backend, void *context)
{
    struct session *s = context;
    hc_table_starting(&s->table, what->name, backend);
}

static bool report(const struct hc_result *result, void *context)
{
    struct session *s = context;
    hc_rows_add(&s->rows, result, &s->run, s->settings.fault);
    const struct hc_row *row = &s->rows.row[s->rows.count - 1];
    hc_table_row(&s->table, row);
    if (s->settings.tap)
        hc_tap_row(stdout, s->rows.count, row, s->settings.strict);
    return hc_stop_signal() == 0;
}

static void closing(const struct hc_backend *backend, struct hc_queue *queue, void *context)
{
    struct session *s = context;
    json_t *facts = json_object();
    if (backend->describe)
        backend->describe(queue, hc_fact_keep, facts);
    (void)json_object_set_new(s->facts, backend->name, facts);
}

static bool read_settings(struct session *s, int argc, char **argv, int *status)
{
    struct settings *set = &s->settings;
    const struct hc_option options[] = {
        {.name = "backend",
         .value = "B[,B]",
         .text = &set->backends,
         .help = "run on these backends (default: all that can run here, save\n"
                 "cuda-emulated; see halfcheck list backends)"},
        {.name = "level",
         .value = "LEVEL",
         .choice = &set->level,
         .choices = hc_level_names,
         .help = "quick, standard (default), or exhaustive: every input where that can\n"
                 "be done at all"},
        {.name = "seed",
         .value = "N",
         .seed = &s->run.seed,
         .help = "seed of all random inputs (default 0)"},
        {.name = "json",
         .value = "FILE",
         .text = &set->json,
         .help = "where the record goes (default out/record.json)"},
        {.name = "junit",
         .value = "FILE",
         .text = &set->junit,
         .help = "also write a JUnit XML file"},
        {.name = "tap",
         .flag = &set->tap,
         .help = "print the Test Anything Protocol instead of the table"},
        {.name = "strict",
         .flag = &set->strict,
         .help = "let UNIMPLEMENTED and MISTRUSTED count as failures"},
        {.name = "verbose", .flag = &set->verbose, .help = "also show what passed"},
        {.name = "fault",
         .value = "NAME",
         .text = &set->fault,
         .help = "plant this defect in the backend that it is for, and run on that alone\n"
                 "(see halfcheck list faults)"},
        {0},
    };
    s->run.patterns = (const char *const *)argv + 1;
    return hc_read_options(&hc_command_run, options, argc, argv, &s->run.pattern_count, status);
}

static enum hc_status plant(struct session *s)
{
    const struct hc_fault *fault = hc_fault_by_name(s->settings.fault);
    if (!fault)
        return hc_fail(HC_INVALID, "no fault '%s'; see: halfcheck list faults", s->settings.fault);
    const char *place = fault->place == HC_PLACE_EXACT ? "exact" : "host";
    if (s->settings.backends && strcmp(s->settings.backends, place) != 0)
        return hc_fail(HC_INVALID, "the fault %s is planted in the backend %s alone, not in '%s'",
                       fault->name, place, s->settings.backends);
    struct hc_plant plant = hc_fault_plant(fault);
    s->backends[0] = plant.subject;
    s->run.exact = plant.exact;
    s->run.backend_count = 1;
    return HC_OK;
}

/* Finds out what cannot work before anything runs. */
static enum hc_status prepare(struct session *s)
{
    struct settings *set = &s->settings;
    enum hc_status status =
        set->fault ? plant(s)
                   : hc_choose_backends(set->backends, s->backends, &s->run.backend_count);
    if (status == HC_OK && !set->json) {
        set->json = default_record;
        if (mkdir("out", 0777) != 0 && errno != EEXIST)
            status = hc_fail(HC_IO, "cannot make the folder out: %s (--json FILE writes elsewhere)",
                             strerror(errno));
    }
    if (status == HC_OK)
        status = hc_output_probe(set->json);
    if (status == HC_OK && set->junit)
        status = hc_output_probe(set->junit);
    s->run.level = (enum hc_level)set->level;
    s->run.backends = s->backends;
    s->run.cases = hc_all_cases(&s->run.case_count);
    s->run.starting = starting;
    s->run.report = report;
    s->run.closing = closing;
    s->run.context = s;
    s->table = hc_table_new(set->tap ? NULL : stdout, set->verbose, hc_run_length(&s->run));
    return status;
}

static enum hc_status write_files(const struct session *s)
{
    const char *name;
    json_t *facts;
    json_t *record = hc_record_new();
    json_object_foreach(s->facts, name, facts)
        hc_record_set_facts(record, name, json_incref(facts));
    (void)json_object_set_new(record, "level", json_string(hc_level_names[s->run.level]));
    bool all = !s->settings.backends && !s->settings.fault;
    (void)json_object_set_new(record, "left_out",
                              all ? hc_left_out(s->settings.tap ? NULL : stdout) : json_object());
    for (int i = 0; i < s->rows.count; i++)
        hc_record_add(record, &s->rows.row[i]);
    enum hc_status status = hc_record_write(record, s->settings.json);
    json_decref(record);
    if (status == HC_OK && s->settings.junit)
        status = hc_junit_write(&s->rows, s->settings.strict, s->settings.junit);
    return status;
}

/* What the rows come to. A run that could check nothing has shown nothing. */
static int conclude(const struct session *s)
{
    const struct hc_rows *rows = &s->rows;
    int bad = 0;
    for (int i = 0; i < rows->count; i++)
        bad += hc_verdict_is_bad(rows->row[i].verdict, s->settings.strict);
    if (bad > hc_rows_count(rows, HC_ERROR))
        return HC_CLAIM_FAILED;
    if (hc_stop_signal() && rows->count < hc_run_length(&s->run))
        return hc_complain("stopped by signal %d after %d results", hc_stop_signal(), rows->count);
    if (bad)
        return hc_complain("%d of %d cases could not run to their end", bad, rows->count);
    if (hc_rows_count(rows, HC_SKIPPED) == rows->count)
        return hc_complain("nothing was checked: %s",
                           rows->count ? rows->row[0].note : "no case runs there");
    return HC_AS_CLAIMED;
}

static int run(int argc, char **argv)
{
    int status;
    struct session s = {.settings.level = HC_STANDARD};
    if (!read_settings(&s, argc, argv, &status))
        return status;
    s.facts = json_object();
    hc_stop_on_request();
    bool ready = prepare(&s) == HC_OK && hc_run_cases(&s.run) == HC_OK;
    hc_table_quiet(&s.table);
    if (!ready) {
        json_decref(s.facts);
        return hc_complain_message();
    }
    if (s.settings.tap)
        hc_tap_plan(stdout, s.rows.count);
    hc_table_summary(&s.table, &s.rows);
    enum hc_status written = write_files(&s);
    if (written != HC_OK)
        status = hc_complain_message();
    else if (!s.settings.tap)
        printf("record: %s\n", s.settings.json);
    if (written == HC_OK)
        status = conclude(&s);
    hc_rows_free(&s.rows);
    json_decref(s.facts);
    return status;
}

const struct hc_command hc_command_run = {
    .name = "run",
    .usage = "[PATTERN...] [options]",
    .summary = "check the components on every backend",
    .text = "PATTERN is a glob over case names, in which * matches / too: 'eps/*', 'op/conv2d*'.\n"
            "Without one, all cases run. What does not pass is shown as it comes, with its\n"
            "error, the bound that its contract allows, and the command that reproduces it;\n"
            "then counts by component and backend.\n\n"
            "A backend that is not named and cannot run here (no GPU, say) is left out, with one\n"
            "line that says why; one that is named yields SKIPPED results. cuda-emulated runs the\n"
            "GPU's kernels on the CPU, slowly, and only when it is named.\n\n"
            "verdicts: PASS; FAIL; SKIPPED (cannot run here: no GPU, no data); UNIMPLEMENTED\n"
            "(the backend lacks an op); MISTRUSTED (ran, but exercised nothing); ERROR (the\n"
            "environment failed).",
    .run = run,
};
