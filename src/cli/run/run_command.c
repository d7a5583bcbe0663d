#define _XOPEN_SOURCE 700 /* SA_ONSTACK */
#include "cli/run/run_command.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend.h"
#include "cases/definitions.h"
#include "cases/registry.h"
#include "check/case_run.h"
#include "check/check.h"
#include "check/last_word.h"
#include "check/omissions.h"
#include "check/record/refusals.h"
#include "check/record/facts.h"
#include "check/record/invocation.h"
#include "check/selftest/fault.h"
#include "cli/backend_options.h"
#include "cli/command.h"
#include "cli/define/define.h"
#include "cli/lines.h"
#include "cli/ranks/ranks.h"
#include "cli/run/outside.h"
#include "cli/run/shard.h"
#include "cli/run/shared_rows.h"
#include "cli/run/table.h"
#include "cli/stop.h"
#include "op/output.h"
#include "op/text.h"
#include "op/typed.h"
#include "op/wrap.h"
#include "pipe.h"
/* The record of a run of all cases, unless --json names a file. */
static const char default_record[] = "out/record.json";

static void starting(const struct hc_case *what, const char *backend, void *context)
{
    struct hc_run_command *s = context;
    if (s->started++ == 0 && !s->options.share)
        hc_run_begins(s);
    hc_table_starting(&s->table, what->name, backend);
}

void hc_run_command_print(struct hc_run_command *s, int number)
{
    const struct hc_row *row = &s->rows.row[number];
    hc_table_row(&s->table, row);
    if (s->settings.tap)
        hc_tap_row(stdout, ++s->tests, row, s->settings.strict);
}

static bool report(const struct hc_result *result, void *context)
{
    struct hc_run_command *s = context;
    s->status = hc_rows_add(&s->rows, result, &s->options, s->settings.fault);
    if (s->status != HC_OK)
        return false;
    if (s->options.share)
        s->table.done++; /* rank 0 prints the results of all ranks when it has them */
    else
        hc_run_command_print(s, s->rows.count - 1);
    return hc_stop_signal() == 0;
}

enum hc_status hc_run_command_refuse(struct hc_run_command *s)
{
    int first;
    enum hc_status status = hc_rows_refuse(&s->rows, &s->options, s->settings.fault, &first);
    bool any = first < s->rows.count;
    for (int i = first; i < s->rows.count && status == HC_OK; i++)
        hc_run_command_print(s, i);
    return status == HC_OK && any ? hc_shared_rows_order(s) : status;
}

static void closing(const struct hc_backend *backend, struct hc_queue *queue, void *context)
{
    struct hc_run_command *s = context;
    json_t *facts = json_object();
    if (backend->describe)
        backend->describe(queue, hc_facts_add, facts);
    (void)json_object_set_new(s->facts, backend->name, facts);
}

const char *hc_run_command_cut(const struct hc_run_command *s)
{
    static char text[96];
    int number = hc_stop_signal() ? hc_stop_signal() : s->signal;
    if (!number || s->started >= s->length)
        return NULL;
    (void)snprintf(text, sizeof text, "stopped by signal %d after %d of %s", number, s->started,
                   hc_count(s->length, "result").text);
    return text;
}

/* Whether the run may replace the default record, in which nobody may miss a case. */
static bool is_whole(const struct hc_run_command *s)
{
    return s->options.pattern_count == 0 && !s->settings.fault && !s->options.shard &&
           !hc_run_command_cut(s);
}

static enum hc_status no_fault(const char *name)
{
    struct hc_nearest nearest = hc_nearest_to(name, strlen(name));
    for (int i = 0; i < hc_fault_count(); i++)
        hc_nearest_try(&nearest, hc_fault_at(i)->name);
    return hc_fail(HC_INVALID, "no fault '%s'%s; see: halfcheck list faults", name,
                   hc_nearest_hint(&nearest));
}

static enum hc_status plant(struct hc_run_command *s)
{
    const struct hc_fault *fault = hc_fault_by_name(s->settings.fault);
    if (!fault)
        return no_fault(s->settings.fault);
    const char *place = hc_fault_home(fault);
    const struct hc_words *named = &s->settings.backends.named;
    for (int i = 0; i < named->count; i++)
        if (strcmp(named->word[i], place) != 0)
            return hc_fail(HC_INVALID, "the fault %s belongs to the backend %s, not to '%s'",
                           fault->name, place, named->word[i]);
    if (s->settings.backends.fallback)
        return hc_fail(HC_INVALID, "a planted fault runs without --fallback");
    s->options.workers = 1; /* faulty kernels share their state between calls */
    struct hc_fault_backends plant = hc_fault_plant(fault);
    s->backends[0] = plant.subject;
    s->options.exact = plant.exact;
    s->options.backend_count = 1;
    return HC_OK;
}

static double seconds(const struct hc_case *what, const char *backend, void *context)
{
    const struct hc_run_command *s = context;
    return hc_shard_seconds(what->name, backend, s->options.level);
}

static enum hc_status prepare_shard(struct hc_run_command *s)
{
    const struct hc_run_settings *set = &s->settings;
    if (set->times && !set->shard && !hc_ranks_several())
        return hc_fail(HC_INVALID, "--times balances shards, so it needs --shard");
    enum hc_status status = HC_OK;
    if (set->shard) {
        s->options.shard = &s->shard;
        status = hc_shard_read(set->shard, &s->shard);
    }
    return status == HC_OK && set->times ? hc_shard_read_times(set->times) : status;
}

/* Whether nothing but cases of definitions is chosen, which few backends take. */
static bool is_of_definitions(const struct hc_run_options *options)
{
    int i = 0;
    while (i < options->pattern_count && hc_is_of_definitions(options->patterns[i]))
        i++;
    return i > 0 && i == options->pattern_count;
}

/* Leaves out the backends that run only their default_cases, or no definition, where none of these
   is chosen. */
static void leave_idle_out(struct hc_run_command *s)
{
    int kept = 0;
    bool definitions = is_of_definitions(&s->options);
    for (int b = 0; b < s->options.backend_count; b++)
        if ((!s->backends[b]->default_cases && !definitions) ||
            hc_runs_on(&s->options, s->backends[b]))
            s->backends[kept++] = s->backends[b];
    s->options.backend_count = kept;
}

/* Finds out before the first case whether the files can be written. Rank 0 alone writes them. */
static enum hc_status prepare_files(struct hc_run_command *s)
{
    struct hc_run_settings *set = &s->settings;
    enum hc_status status = HC_OK;
    if (!hc_ranks_speaks()) {
        set->json = set->junit = NULL;
        return HC_OK;
    }
    if (!set->json && is_whole(s)) {
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
    return status;
}

enum hc_status hc_run_command_prepare(struct hc_run_command *s)
{
    struct hc_run_settings *set = &s->settings;
    bool json = set->json && strcmp(set->json, "-") == 0;
    bool junit = set->junit && strcmp(set->junit, "-") == 0;
    s->out = (json || junit) && hc_ranks_speaks() ? stderr : stdout;
    if (s->options.pattern_count == 0)
        s->options.patterns = hc_definitions_own_patterns(&s->options.pattern_count);
    s->options.definitions = hc_define_own_words();
    s->folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (json + junit + set->tap > 1)
        return hc_fail(HC_INVALID, "only one of --json -, --junit - and --tap can write to stdout");
    enum hc_status status =
        set->fault ? plant(s)
                   : hc_choose_backends(&set->backends, s->backends, &s->options.backend_count);
    if (status == HC_OK)
        status = prepare_shard(s);
    if (status == HC_OK)
        status = prepare_files(s);
    s->options.seconds = seconds;
    s->options.level = (enum hc_level)set->level;
    s->options.required = set->required.word;
    s->options.required_count = set->required.count;
    s->options.order = hc_backend_order(&set->backends);
    s->options.fallback = set->backends.fallback;
    s->options.backends = s->backends;
    if (status == HC_OK)
        status = hc_cases_for_patterns(s->options.patterns, s->options.pattern_count);
    s->options.cases = hc_all_cases(&s->options.case_count);
    if (!s->options.cases)
        return status == HC_OK ? HC_NO_MEMORY : status;
    s->options.by_default = set->backends.named.count == 0;
    if (s->options.by_default)
        leave_idle_out(s);
    s->options.starting = starting;
    s->options.report = report;
    s->options.closing = closing;
    s->options.omissions = &s->rows.omissions;
    s->options.context = s;
    s->length = hc_run_length(&s->options);
    hc_run_share_out(s);
    s->table = hc_table_new(set->tap ? NULL : s->out, set->verbose, hc_run_length(&s->options));
    if (isnan(s->table.every))
        return hc_fail(HC_INVALID, "HALFCHECK_PROGRESS is '%s', not a number of seconds",
                       getenv("HALFCHECK_PROGRESS"));
    if (!hc_ranks_speaks())
        s->table.every = (double)INFINITY;
    s->table.narrow = s->options.backend_count == 1 && hc_all_outside(&s->options);
    return status;
}

/* The backends that a run on all backends leaves out. */

/* Prints the names of the left-out backends from `first` on that share its reason, and the
   reason. */
static void print_left_out(FILE *out, const struct hc_backend *const *backends, int n, int first)
{
    const char *why = hc_backend_left_out(backends[first]);
    char names[256] = "";
    for (int b = first; b < n; b++) {
        const char *other = hc_backend_left_out(backends[b]);
        if (other && strcmp(other, why) == 0)
            hc_append(names, sizeof names, "%s%s", names[0] ? ", " : "", backends[b]->name);
    }
    hc_print_reason(out, hc_verdict_names[HC_SKIPPED], names, why);
}

/* An object with their names and the reasons. Also prints a line for each reason, unless `out`
   is NULL. */
static json_t *hc_left_out(FILE *out)
{
    int n;
    const struct hc_backend *const *backends = hc_backends(&n);
    json_t *left_out = json_object();
    for (int b = 0; b < n; b++) {
        const char *why = hc_backend_left_out(backends[b]);
        if (!why)
            continue;
        (void)json_object_set_new(left_out, backends[b]->name, json_string(why));
        int first = 0;
        while (!hc_backend_left_out(backends[first]) ||
               strcmp(hc_backend_left_out(backends[first]), why) != 0)
            first++;
        if (out && first == b)
            print_left_out(out, backends, n, b);
    }
    return left_out;
}

/* Adds to it, under the name of each backend that ran, what was left out by component:
   {"absent": N, "refused": N, "order": N, "unasked": N, "why": TEXT}. */
static void left_out_cases(json_t *left_out, const struct hc_omissions *omissions)
{
    for (int i = 0; i < omissions->count; i++) {
        const struct hc_omission *o = &omissions->row[i];
        json_t *of_backend = json_object_get(left_out, o->backend);
        if (!of_backend) {
            of_backend = json_object();
            (void)json_object_set_new(left_out, o->backend, of_backend);
        }
        json_t *counts = json_object();
        (void)json_object_set_new(counts, "absent", json_integer(o->count[HC_OMITTED_ABSENT]));
        (void)json_object_set_new(counts, "refused", json_integer(o->count[HC_OMITTED_REFUSED]));
        (void)json_object_set_new(counts, "order", json_integer(o->count[HC_OMITTED_ORDER]));
        (void)json_object_set_new(counts, "unasked", json_integer(o->count[HC_OMITTED_UNASKED]));
        (void)json_object_set_new(counts, "why", json_string(hc_omission_why(o)));
        (void)json_object_set_new(of_backend, o->component, counts);
    }
}

/* The files that a run leaves. A record of some cases, of a run with a fault or of one that was
   interrupted never replaces the default record: whoever gates on that relies on finding all. */

/* Takes the reference to left_out. */
static enum hc_status write_record(const struct hc_run_command *s, json_t *left_out)
{
    const char *name;
    json_t *facts;
    json_t *record = hc_record_new();
    json_object_foreach(s->facts, name, facts)
        hc_record_set_facts(record, name, json_incref(facts));
    const struct hc_invocation invocation = {.command = hc_command_line(),
                                             .patterns = s->options.patterns,
                                             .pattern_count = s->options.pattern_count,
                                             .level = hc_level_names[s->options.level],
                                             .seed = s->options.seed,
                                             .backends = s->options.backends,
                                             .backend_count = s->options.backend_count,
                                             .fault = s->settings.fault,
                                             .cut = hc_run_command_cut(s),
                                             .bits_only = s->options.bits_only,
                                             .ranks = s->share.of,
                                             .shard = s->options.shard};
    hc_record_set_invocation(record, &invocation);
    if (json_object_size(s->fingerprints) > 0)
        (void)json_object_set(json_object_get(record, "environment"), "fingerprint",
                              s->fingerprints);
    (void)json_object_set_new(record, "left_out", left_out);
    json_t *calls = hc_calls_json(&s->rows.omissions, HC_ALIKE_BUT_NUMBERS);
    if (json_array_size(calls) > 0)
        (void)json_object_set(record, "calls", calls);
    json_decref(calls);
    for (int i = 0; i < s->rows.count; i++)
        hc_record_add(record, &s->rows.row[i]);
    enum hc_status status = hc_record_write(record, s->settings.json);
    json_decref(record);
    return status;
}

static void say_no_record(const struct hc_run_command *s)
{
    const char *what = hc_run_command_cut(s) ? "an interrupted run"
                       : s->options.shard    ? "a shard"
                       : s->settings.fault   ? "a run with a planted fault"
                                             : "a run of some cases";
    char line[160];
    (void)snprintf(line, sizeof line, "no record: %s does not write %s (see --json)", what,
                   default_record);
    hc_print_wrapped(s->out, 0, 2, line);
}

enum hc_status hc_run_command_write(struct hc_run_command *s)
{
    struct hc_run_settings *set = &s->settings;
    if (s->folder >= 0 && fchdir(s->folder) != 0)
        return hc_fail(HC_IO,
                       "a kernel left the folder of the run, which cannot be entered again: %s",
                       strerror(errno));
    bool all = !set->backends.named.count && !set->fault;
    json_t *left_out = all ? hc_left_out(set->tap ? NULL : s->out) : json_object();
    left_out_cases(left_out, &s->rows.omissions);
    if (set->json == default_record && hc_run_command_cut(s))
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
        hc_print_line(s->out, "record: %s", set->json);
    return status;
}

/* A backend that was asked for, by name or by a run of everything, and on which no case ran; or
   NULL. */
static const struct hc_backend *left_out_whole(const struct hc_run_command *s)
{
    for (int b = 0; b < s->options.backend_count; b++) {
        const struct hc_backend *backend = s->options.backends[b];
        bool ran = s->options.pattern_count > 0 && !s->settings.backends.named.count;
        for (int i = 0; i < s->rows.count && !ran; i++)
            ran = strcmp(s->rows.row[i].backend, backend->name) == 0;
        if (!ran && hc_omissions_count(&s->rows.omissions, backend->name))
            return backend;
    }
    return NULL;
}

/* The exit status of a run. It is 1 if a claim failed. It is 2 if the run shows too little: a
   case ended with an error, the run was interrupted, or nothing was checked although something
   was asked for. */
int hc_run_command_status(const struct hc_run_command *s)
{
    const struct hc_rows *rows = &s->rows;
    int bad = 0;
    for (int i = 0; i < rows->count; i++)
        bad += hc_verdict_is_bad(rows->row[i].verdict, s->settings.strict);
    if (hc_run_command_cut(s))
        (void)hc_complain("%s", hc_run_command_cut(s));
    if (bad > hc_rows_count(rows, HC_ERROR))
        return HC_CLAIM_FAILED;
    if (hc_run_command_cut(s))
        return HC_WRONG;
    if (bad)
        return hc_complain("%d of %s ended with an error", bad, hc_count(rows->count, "case").text);
    int first = 0;
    const struct hc_alike_calls *fickle =
        hc_omissions_fickle(&rows->omissions, HC_ALIKE_FORMATS, &first);
    if (s->settings.strict && fickle) {
        (void)hc_complain("%s refused %s in formats that it accepts elsewhere: %s", fickle->backend,
                          hc_count(fickle->refused, "call").text, fickle->why);
        return HC_CLAIM_FAILED;
    }
    /* A shard may be empty, or hold nothing for a backend; merge sees whether all of them do. */
    const struct hc_backend *whole = s->options.shard ? NULL : left_out_whole(s);
    if (whole) {
        int count = hc_omissions_count(&rows->omissions, whole->name);
        return count == 1 ? hc_complain("nothing was checked on %s: its only case was left out",
                                        whole->name)
                          : hc_complain("nothing was checked on %s: all %d cases were left out",
                                        whole->name, count);
    }
    bool empty = s->options.shard && rows->count == 0;
    bool bits = false;
    for (int i = 0; i < rows->count && !bits; i++)
        bits = hc_row_is_bits(&rows->row[i]);
    if (!empty && !bits &&
        hc_rows_count(rows, HC_SKIPPED) + hc_rows_count(rows, HC_UNIMPLEMENTED) == rows->count)
        return hc_complain("nothing was checked: %s",
                           rows->count ? rows->row[0].note : "no case runs there");
    return HC_AS_CLAIMED;
}

/* A kernel that crashes ends the program. It must not end without a word: which case was it, on
   which backend?

   The handler may call nothing that is not safe in one, so the line is put together by hand. */

static const struct hc_run_command *watched;

static size_t append_safely(char *line, size_t used, size_t bytes, const char *text)
{
    for (; *text && used + 1 < bytes; text++)
        line[used++] = *text;
    return used;
}

static void report_crash(int number)
{
    char line[512];
    char digits[3] = {(char)('0' + number / 10), (char)('0' + number % 10), '\0'};
    bool sure;
    const struct hc_case_run *at = hc_case_run_now(&sure);
    if (number == SIGPIPE && !sure) {
        /* Nobody reads what the run prints. */
        (void)signal(number, SIG_DFL);
        (void)raise(number);
        return;
    }
    const char *where = !at ? " outside any case" : sure ? " in " : " near ";
    const char *end = sure || !at ? ", and the run ends there"
                                  : ", in a thread that a kernel started, and the run ends there";
    if (!watched) {
        at = NULL;
        where = " when the program ended, in a library";
        end = "";
    }
    size_t n = append_safely(line, 0, sizeof line, "halfcheck: signal ");
    n = append_safely(line, n, sizeof line, number < 10 ? digits + 1 : digits);
    n = append_safely(line, n, sizeof line, where);
    if (at)
        n = append_safely(line, n, sizeof line, at->what->name);
    if (at && at->backend >= 0) {
        n = append_safely(line, n, sizeof line, " on ");
        n = append_safely(line, n, sizeof line, watched->backends[at->backend]->name);
    }
    n = append_safely(line, n, sizeof line, end);
    line[n++] = '\n';
    (void)!write(STDERR_FILENO, line, n);
    hc_pipe_kill_all();
    _exit(HC_WRONG);
}

/* What is caught already is left alone: a sanitizer, or a debugger's library, says more. So are the
   signals by which somebody outside asks for the end (cli/stop.h). All others that end a process a
   kernel may have asked for: a timer, a limit, a raise. */
void hc_run_report_crashes(const struct hc_run_command *run)
{
    static const int crashes[] = {SIGSEGV, SIGBUS,    SIGFPE,  SIGILL,  SIGABRT,
                                  SIGSYS,  SIGTRAP,   SIGXCPU, SIGXFSZ, SIGALRM,
                                  SIGPROF, SIGVTALRM, SIGUSR1, SIGUSR2, SIGPIPE};
    watched = run;
    if (!run)
        return;
    hc_file_limit_begin();
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        struct sigaction was;
        struct sigaction action = {.sa_handler = report_crash, .sa_flags = SA_ONSTACK};
        (void)sigemptyset(&action.sa_mask);
        if (sigaction(crashes[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
            (void)sigaction(crashes[i], &action, NULL);
    }
}
