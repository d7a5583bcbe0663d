/* The files that a run leaves. A record of some cases, of a run with a fault or of one that was
   interrupted never replaces the default record: whoever gates on that relies on finding all. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "check/record/facts.h"
#include "check/record/invocation.h"
#include "cli/command.h"
#include "cli/run/run_command.h"
#include "cli/run/left_out.h"
#include "op/text.h"
#include "op/wrap.h"

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
    (void)snprintf(line, sizeof line, "no record: %s does not replace %s; --json FILE writes one",
                   what, hc_default_record);
    hc_print_narrow(s->out, hc_table_columns(s->out, 110), 0, 2, line);
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
    hc_left_out_cases(left_out, &s->rows.omissions);
    if (set->json == hc_default_record && hc_run_command_cut(s))
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
