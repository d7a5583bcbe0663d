#include "cli/run/run_command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cases/registry.h"
#include "check/record/facts.h"
#include "check/selftest/fault.h"
#include "cli/choose.h"
#include "cli/run/frame.h"
#include "cli/ranks/ranks.h"
#include "cli/run/outside.h"
#include "cli/run/shard.h"
#include "cli/run/share.h"
#include "cli/run/shared_rows.h"
#include "cli/stop.h"
#include "op/output.h"
#include "op/typed.h"

const char hc_default_record[] = "out/record.json";

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
    (void)snprintf(text, sizeof text, "stopped by signal %d after %d of %d results", number,
                   s->started, s->length);
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

/* Leaves out the backends that run only their default_cases, none of which is chosen. */
static void leave_idle_out(struct hc_run_command *s)
{
    int kept = 0;
    for (int b = 0; b < s->options.backend_count; b++)
        if (!s->backends[b]->default_cases || hc_runs_on(&s->options, s->backends[b]))
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
        set->json = hc_default_record;
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
    s->table.narrow = s->options.backend_count == 1 && hc_all_outside(&s->options);
    return status;
}
