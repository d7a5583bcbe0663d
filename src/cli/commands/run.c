#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases/registry.h"
#include "check/record/facts.h"
#include "check/selftest/fault.h"
#include "op/output.h"
#include "check/record/invocation.h"
#include "check/record/rows.h"
#include "cli/choose.h"
#include "cli/command.h"
#include "cli/run/left_out.h"
#include "cli/stop.h"
#include "cli/run/table.h"
#include "op/typed.h"

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
    FILE *out;             /* for people: stderr where stdout is a file's */
    json_t *facts;         /* by backend; check/record/facts.h */
    int started;           /* cases on backends */
    enum hc_status status; /* of keeping the results */
};

static void starting(const struct hc_case *what, const char *backend, void *context)
{
    struct session *s = context;
    s->started++;
    hc_table_starting(&s->table, what->name, backend);
}

static bool report(const struct hc_result *result, void *context)
{
    struct session *s = context;
    s->status = hc_rows_add(&s->rows, result, &s->run, s->settings.fault);
    if (s->status != HC_OK)
        return false;
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
        backend->describe(queue, hc_facts_add, facts);
    (void)json_object_set_new(s->facts, backend->name, facts);
}

/* Why the run ended before its last case; NULL: it did not. */
static const char *cut(const struct session *s)
{
    static char text[96];
    int length = hc_run_length(&s->run);
    if (!hc_stop_signal() || s->started >= length)
        return NULL;
    (void)snprintf(text, sizeof text, "stopped by signal %d after %d of %d results",
                   hc_stop_signal(), s->started, length);
    return text;
}

/* Whether the run may replace the default record: what it leaves out, nobody may miss there. */
static bool is_whole(const struct session *s)
{
    return s->run.pattern_count == 0 && !s->settings.fault && !cut(s);
}

static bool read_settings(struct session *s, int argc, char **argv, int *status)
{
    struct settings *set = &s->settings;
    const struct hc_option options[] = {
        {.name = "backend",
         .value = "B[,B]",
         .list = &set->backends,
         .help = "run on these backends (default: all that can run here, except\n"
                 "cuda-emulated; see halfcheck list backends)"},
        {.name = "level",
         .value = "LEVEL",
         .choice = &set->level,
         .choices = hc_level_names,
         .help = "quick, standard (default), or exhaustive: every input, wherever that is\n"
                 "feasible"},
        {.name = "seed",
         .value = "N",
         .seed = &s->run.seed,
         .help = "seed of all random inputs (default 0)"},
        {.name = "jobs",
         .value = "N",
         .count = &s->run.workers,
         .least = 1,
         .most = 16,
         .help = "cases that run at the same time on the CPU (default: one per core, or one\n"
                 "with --fault); the results do not depend on it"},
        {.name = "json",
         .value = "FILE",
         .text = &set->json,
         .help = "write the record here; with -, it goes to standard output and the table\n"
                 "to standard error. By default a run of all cases writes out/record.json,\n"
                 "and a run with patterns, with a fault, or interrupted writes none"},
        {.name = "junit",
         .value = "FILE",
         .text = &set->junit,
         .help = "also write JUnit XML; - as with --json"},
        {.name = "tap",
         .flag = &set->tap,
         .help = "print the Test Anything Protocol instead of the table"},
        {.name = "strict",
         .flag = &set->strict,
         .help = "count UNIMPLEMENTED and MISTRUSTED as failures"},
        {.name = "verbose", .flag = &set->verbose, .help = "also print what passed"},
        {.name = "fault",
         .value = "NAME",
         .text = &set->fault,
         .help = "plant this defect in the backend that it belongs to, and run only there\n"
                 "(see halfcheck list faults)"},
        {0},
    };
    s->run.patterns = (const char *const *)argv + 1;
    return hc_read_options(&hc_command_run, options, argc, argv, &s->run.pattern_count, status);
}

static enum hc_status no_fault(const char *name)
{
    struct hc_nearest nearest = hc_nearest_to(name, strlen(name));
    for (int i = 0; i < hc_fault_count(); i++)
        hc_nearest_try(&nearest, hc_fault_at(i)->name);
    return hc_fail(HC_INVALID, "no fault '%s'%s; see: halfcheck list faults", name,
                   hc_nearest_hint(&nearest));
}

static enum hc_status plant(struct session *s)
{
    const struct hc_fault *fault = hc_fault_by_name(s->settings.fault);
    if (!fault)
        return no_fault(s->settings.fault);
    const char *place = fault->place == HC_PLACE_EXACT ? "exact" : "host";
    if (s->settings.backends && strcmp(s->settings.backends, place) != 0)
        return hc_fail(HC_INVALID, "the fault %s belongs to the backend %s, not to '%s'",
                       fault->name, place, s->settings.backends);
    s->run.workers = 1; /* wrong kernels share what they keep between calls */
    struct hc_fault_backends plant = hc_fault_plant(fault);
    s->backends[0] = plant.subject;
    s->run.exact = plant.exact;
    s->run.backend_count = 1;
    return HC_OK;
}

/* Finds out what cannot work before anything runs. */
static enum hc_status prepare(struct session *s)
{
    struct settings *set = &s->settings;
    bool json = set->json && strcmp(set->json, "-") == 0;
    bool junit = set->junit && strcmp(set->junit, "-") == 0;
    s->out = json || junit ? stderr : stdout;
    if (json + junit + set->tap > 1)
        return hc_fail(HC_INVALID, "only one of --json -, --junit - and --tap can write to stdout");
    enum hc_status status =
        set->fault ? plant(s)
                   : hc_choose_backends(set->backends, s->backends, &s->run.backend_count);
    if (status == HC_OK && !set->json && is_whole(s)) {
        set->json = default_record;
        if (mkdir("out", 0777) != 0 && errno != EEXIST)
            status = hc_fail(HC_IO, "cannot make the folder out: %s (--json FILE writes elsewhere)",
                             strerror(errno));
    }
    if (status == HC_OK && set->json && set->junit && hc_output_same(set->json, set->junit))
        status = hc_fail(HC_INVALID, "--json and --junit name the same file: %s", set->junit);
    if (status == HC_OK && set->json)
        status = hc_output_probe(set->json);
    if (status == HC_OK && set->junit)
        status = hc_output_probe(set->junit);
    s->run.level = (enum hc_level)set->level;
    s->run.backends = s->backends;
    s->run.cases = hc_all_cases(&s->run.case_count);
    if (!s->run.cases)
        return status == HC_OK ? HC_NO_MEMORY : status;
    s->run.starting = starting;
    s->run.report = report;
    s->run.closing = closing;
    s->run.omissions = &s->rows.omissions;
    s->run.context = s;
    s->table = hc_table_new(set->tap ? NULL : s->out, set->verbose, hc_run_length(&s->run));
    return status;
}

/* Takes the reference to left_out. */
static enum hc_status write_record(const struct session *s, json_t *left_out)
{
    const char *name;
    json_t *facts;
    json_t *record = hc_record_new();
    json_object_foreach(s->facts, name, facts)
        hc_record_set_facts(record, name, json_incref(facts));
    struct hc_invocation run = {.command = hc_command_line(),
                                .patterns = s->run.patterns,
                                .pattern_count = s->run.pattern_count,
                                .level = hc_level_names[s->run.level],
                                .seed = s->run.seed,
                                .backends = s->run.backends,
                                .backend_count = s->run.backend_count,
                                .fault = s->settings.fault,
                                .cut = cut(s)};
    hc_record_set_invocation(record, &run);
    (void)json_object_set_new(record, "left_out", left_out);
    for (int i = 0; i < s->rows.count; i++)
        hc_record_add(record, &s->rows.row[i]);
    enum hc_status status = hc_record_write(record, s->settings.json);
    json_decref(record);
    return status;
}

static void say_no_record(const struct session *s)
{
    const char *what = cut(s)              ? "an interrupted run"
                       : s->settings.fault ? "a run with a planted fault"
                                           : "a run of some cases";
    (void)fprintf(s->out, "no record: %s does not replace %s; --json FILE writes one\n", what,
                  default_record);
}

static enum hc_status write_files(struct session *s)
{
    struct settings *set = &s->settings;
    bool all = !set->backends && !set->fault;
    json_t *left_out = all ? hc_left_out(set->tap ? NULL : s->out) : json_object();
    hc_left_out_cases(left_out, &s->rows.omissions);
    if (set->json == default_record && cut(s))
        set->json = NULL;
    enum hc_status status = HC_OK;
    if (set->json)
        status = write_record(s, left_out);
    else
        json_decref(left_out);
    if (status == HC_OK && set->junit)
        status = hc_junit_write(&s->rows, set->strict, set->junit);
    if (status == HC_OK && !set->tap && !set->json)
        say_no_record(s);
    else if (status == HC_OK && !set->tap && strcmp(set->json, "-") != 0)
        (void)fprintf(s->out, "record: %s\n", set->json);
    return status;
}

/* A backend of which nothing ran has shown nothing: that is said of one that was asked for, by name or
   by asking for everything. */
static const struct hc_backend *left_out_whole(const struct session *s)
{
    for (int b = 0; b < s->run.backend_count; b++) {
        const struct hc_backend *backend = s->run.backends[b];
        bool ran = s->run.pattern_count > 0 && !s->settings.backends;
        for (int i = 0; i < s->rows.count && !ran; i++)
            ran = strcmp(s->rows.row[i].backend, backend->name) == 0;
        if (!ran && hc_omissions_count(&s->rows.omissions, backend->name))
            return backend;
    }
    return NULL;
}

/* What the rows come to. A run that could check nothing has shown nothing. */
static int conclude(const struct session *s)
{
    const struct hc_rows *rows = &s->rows;
    int bad = 0;
    for (int i = 0; i < rows->count; i++)
        bad += hc_verdict_is_bad(rows->row[i].verdict, s->settings.strict);
    if (cut(s))
        (void)hc_complain("%s", cut(s));
    if (bad > hc_rows_count(rows, HC_ERROR))
        return HC_CLAIM_FAILED;
    if (cut(s))
        return HC_WRONG;
    if (bad)
        return hc_complain("%d of %d cases ended with an error", bad, rows->count);
    int first = 0;
    const struct hc_call_formats *fickle = hc_omissions_fickle(&rows->omissions, &first);
    if (s->settings.strict && fickle) {
        (void)hc_complain("%s refused %lld calls in formats that it accepts elsewhere: %s",
                          fickle->backend, (long long)fickle->refused, fickle->why);
        return HC_CLAIM_FAILED;
    }
    const struct hc_backend *whole = left_out_whole(s);
    if (whole)
        return hc_complain("nothing was checked on %s: all %d cases were left out", whole->name,
                           hc_omissions_count(&rows->omissions, whole->name));
    if (hc_rows_count(rows, HC_SKIPPED) + hc_rows_count(rows, HC_UNIMPLEMENTED) == rows->count)
        return hc_complain("nothing was checked: %s",
                           rows->count ? rows->row[0].note : "no case runs there");
    return HC_AS_CLAIMED;
}

static int run(int argc, char **argv)
{
    int status;
    struct session s = {.settings.level = HC_STANDARD,
                        .run.workers = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    if (!read_settings(&s, argc, argv, &status))
        return status;
    s.facts = json_object();
    hc_stop_on_request();
    bool ready = prepare(&s) == HC_OK && hc_run_cases(&s.run) == HC_OK && s.status == HC_OK;
    hc_table_quiet(&s.table);
    if (!ready) {
        json_decref(s.facts);
        return hc_complain_message();
    }
    for (int i = 0; s.settings.tap && i < s.rows.omissions.count; i++)
        hc_tap_omission(stdout, s.rows.count + i + 1, &s.rows.omissions.row[i]);
    if (s.settings.tap)
        hc_tap_plan(stdout, s.rows.count + s.rows.omissions.count);
    hc_table_summary(&s.table, &s.rows);
    enum hc_status written = write_files(&s);
    status = written == HC_OK ? conclude(&s) : hc_complain_message();
    hc_rows_free(&s.rows);
    json_decref(s.facts);
    return status;
}

const struct hc_command hc_command_run = {
    .name = "run",
    .usage = "[PATTERN...] [options]",
    .summary = "check the components on every backend",
    .text = "PATTERN is a glob over case names, in which * matches / too: 'eps/*', 'op/conv2d*'.\n"
            "Without a pattern all cases run. Each result that does not pass is printed as it\n"
            "comes, with its error, the bound that its contract allows, and the command that\n"
            "reproduces it. Counts by component and backend follow.\n\n"
            "A backend that cannot run here (for want of a GPU, say) is left out, with one line\n"
            "that says why. If --backend names it, its results are SKIPPED. cuda-emulated runs\n"
            "the GPU's kernels on the CPU, slowly, and only if it is named.\n\n"
            "A partial backend has only some of the ops. Cases that need another op are left out\n"
            "there, and counted by component in the table and in the record; calls that its\n"
            "kernels refused are counted apart. With --strict a kernel fails that refuses calls\n"
            "in formats that it takes elsewhere. A backend on which every case was left out\n"
            "always fails.\n\n"
            "verdicts: PASS; FAIL; SKIPPED (cannot run here: no GPU, no data); UNIMPLEMENTED (the\n"
            "backend lacks an op); MISTRUSTED (the case ran, but exercised nothing); ERROR (the\n"
            "environment failed).",
    .run = run,
};
