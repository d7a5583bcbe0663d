#include <string.h>

#include "cli/command.h"
#include "cli/define/define.h"
#include "cli/ranks/ranks.h"
#include "cli/run/fingerprints.h"
#include "cli/run/run_command.h"
#include "cli/run/shared_rows.h"
#include "cli/stop.h"

const struct hc_command hc_command_run;

/* The options that say which cases run, and how. */
static int add_case_options(struct hc_run_command *s, struct hc_option *options)
{
    struct hc_run_settings *set = &s->settings;
    const struct hc_option rows[] = {
        {.include = hc_backend_options(
             &set->backends, HC_SEVERAL_BACKENDS | HC_TAKES_ORDER | HC_TAKES_FALLBACK,
             "run on these backends (default: all that can run here, except\n"
             "cuda-emulated, and on sim-* the cases units/* alone; see halfcheck list\n"
             "backends), or on a program behind a pipe: pipe:COMMAND")},
        {.name = "level",
         .value = "LEVEL",
         .choice = &set->level,
         .choices = hc_level_names,
         .help = "quick, standard (default), or exhaustive: every input, wherever that is\n"
                 "feasible"},
        {.name = "fingerprint",
         .flag = &set->fingerprint,
         .help = "first find out how gemm sums on each backend, not only on a GPU: the record\n"
                 "keeps it, gate notices a change, and results are MISTRUSTED if their bounds\n"
                 "assume a finer sum"},
        {.name = "no-fingerprint",
         .flag = &set->no_fingerprint,
         .help = "do this for no backend, not even for a GPU"},
        {.name = "bits-only",
         .flag = &s->options.bits_only,
         .help = "run the kernels and compare nothing: results are SKIPPED and have digests,\n"
                 "which gate compares with those of a baseline"},
        {.name = "seed",
         .value = "N",
         .seed = &s->options.seed,
         .help = "seed of all random inputs (default 0)"},
        {.name = "jobs",
         .value = "N",
         .count = &s->options.workers,
         .least = 1,
         .most = HC_MAX_WORKERS,
         .help = "cases that run at the same time on the CPU (default: one for each core that\n"
                 "the process may use, or one with --fault); the results do not depend on it"},
        {.include = hc_define_own_options()},
        {.name = "require",
         .value = "PATTERN",
         .words = &set->required,
         .help = "fail the chosen cases of these names if the backend has no kernel for them or\n"
                 "refuses them, instead of leaving them out; may be repeated"},
        {.name = "shard",
         .value = "I/N",
         .text = &set->shard,
         .help = "run only part I of N, counted from 1. The parts are disjoint, complete, and\n"
                 "take about as long as each other; halfcheck merge puts their records together"},
        {.name = "times",
         .value = "RECORD",
         .text = &set->times,
         .help = "divide the cases by the seconds in this record; give the same record to all\n"
                 "shards or ranks"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* The options that say what is written and printed, and which fault is planted. */
static int add_output_options(struct hc_run_settings *set, struct hc_option *options)
{
    const struct hc_option rows[] = {
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
        {.name = "verbose",
         .flag = &set->verbose,
         .help = "also print what passed, what was left out of each component and why, the\n"
                 "largest call of each op, and seconds and names beside the counts; these lines\n"
                 "are longer than 80 columns, but not on a terminal that is narrower"},
        {.name = "fault",
         .value = "FAULT",
         .text = &set->fault,
         .help = "plant this defect in the backend that it belongs to, and run only there\n"
                 "(see halfcheck list faults)"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

static bool read_settings(struct hc_run_command *s, int argc, char **argv, int *status)
{
    struct hc_option options[HC_MAX_OPTIONS + 1] = {0};
    int n = add_case_options(s, options);
    (void)add_output_options(&s->settings, options + n);
    s->options.patterns = (const char *const *)argv + 1;
    return hc_read_options(&hc_command_run, options, argc, argv, &s->options.pattern_count, status);
}

/* As many as there are cores for this rank. */
static int default_jobs(void)
{
    int cores = hc_ranks_cores();
    return cores < HC_MAX_WORKERS ? cores : HC_MAX_WORKERS;
}

/* Whatever cannot work on one rank ends all of them before the first case. */
static enum hc_status run_cases(struct hc_run_command *s)
{
    enum hc_status status = hc_run_command_prepare(s);
    if (status == HC_OK)
        status = hc_run_fingerprints(s);
    status = hc_run_share_begin(s, status);
    if (status == HC_OK && s->options.share)
        hc_run_begins(s);
    hc_run_report_crashes(s);
    if (status == HC_OK)
        status = hc_run_cases(&s->options);
    if (status == HC_OK)
        status = s->status;
    hc_table_quiet(&s->table);
    status = hc_run_share_end(s, status);
    if (status == HC_OK && hc_ranks_speaks())
        status = hc_run_command_refuse(s);
    if (status == HC_OK && s->started == 0 && !s->options.share)
        hc_run_begins(s);
    return status;
}

/* Prints the end and writes the files. */
static int conclude_run(struct hc_run_command *s)
{
    for (int i = 0; s->settings.tap && i < s->rows.omissions.count; i++)
        hc_tap_omission(stdout, ++s->tests, &s->rows.omissions.row[i]);
    if (s->settings.tap)
        hc_tap_plan(stdout, s->tests);
    hc_table_summary(&s->table, &s->rows, &s->options);
    enum hc_status written = hc_run_command_write(s);
    int status = written == HC_OK ? hc_run_command_status(s) : hc_complain_message();
    hc_run_ends(s, status, written == HC_OK);
    return status;
}

static int run_run(int argc, char **argv)
{
    int status;
    struct hc_run_command s = {.settings.level = HC_STANDARD, .options.workers = default_jobs()};
    if (!read_settings(&s, argc, argv, &status))
        return status;
    s.facts = json_object();
    s.fingerprints = json_object();
    hc_stop_on_request();
    if (run_cases(&s) != HC_OK)
        status = hc_complain_message();
    else if (hc_ranks_speaks())
        status = conclude_run(&s);
    else
        status = HC_AS_CLAIMED;
    hc_run_report_crashes(NULL);
    hc_rows_free(&s.rows);
    json_decref(s.facts);
    json_decref(s.fingerprints);
    return status;
}

const struct hc_command hc_command_run = {
    .name = "run",
    .usage = "[PATTERN...] [options]",
    .summary = "check the components on every backend",
    .text = "PATTERN is the beginning of case names up to a slash, such as eps or op/conv2d, or\n"
            "a glob over whole names, in which * matches / too: 'op/*/fp16*'. Without a pattern\n"
            "all cases run. A line at the beginning says what is going to run, and the last\n"
            "line is PASS, FAIL or ERROR, with the reason. Each result that does not pass is\n"
            "printed as it comes, with its error, the bound that its contract allows, and the\n"
            "command that reproduces it. Counts by component and backend follow. Meanwhile a\n"
            "line on standard error says how far the run is. If that is no terminal, it comes\n"
            "every ten seconds; the variable HALFCHECK_PROGRESS sets another number of seconds,\n"
            "and 0 means never.\n\n"
            "A backend that cannot run here (for want of a GPU, say) is left out, with one line\n"
            "that says why. If --backend names it, its results are SKIPPED. cuda-emulated runs\n"
            "the GPU's kernels on the CPU, slowly, and only if it is named.\n\n"
            "A partial backend has only some of the ops. Cases that need another op are left\n"
            "out there, and counted in a line and by component in the record; calls that its\n"
            "kernels refused are counted apart. --require PATTERN names cases that must not be\n"
            "left out. A kernel that refuses a call and takes another that differs in nothing\n"
            "but the numbers in its tensors fails; with --strict, so does one that refuses\n"
            "calls in formats that it takes elsewhere. A backend on which every case was left\n"
            "out always fails.\n\n"
            "Under mpirun or srun all ranks share the cases. When they are done, rank 0 prints\n"
            "and writes what one process would.\n\n"
            "verdicts: PASS; FAIL; SKIPPED (cannot run here: no GPU, no data); UNIMPLEMENTED (the\n"
            "backend lacks an op); MISTRUSTED (the claims hold, but show little; the result says\n"
            "why); ERROR (the environment failed).",
    .on_ranks = true,
    .run = run_run,
};
