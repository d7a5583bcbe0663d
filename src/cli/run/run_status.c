/* The exit status of a run. It is 1 if a claim failed. It is 2 if the run shows too little: a
   case ended with an error, the run was interrupted, or nothing was checked although something
   was asked for. */
#include <string.h>

#include "cli/command.h"
#include "cli/run/run_command.h"

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
        return hc_complain("%d of %d cases ended with an error", bad, rows->count);
    int first = 0;
    const struct hc_alike_calls *fickle =
        hc_omissions_fickle(&rows->omissions, HC_ALIKE_FORMATS, &first);
    if (s->settings.strict && fickle) {
        (void)hc_complain("%s refused %lld calls in formats that it accepts elsewhere: %s",
                          fickle->backend, (long long)fickle->refused, fickle->why);
        return HC_CLAIM_FAILED;
    }
    /* A shard may be empty, or hold nothing for a backend; merge sees whether all of them do. */
    const struct hc_backend *whole = s->options.shard ? NULL : left_out_whole(s);
    if (whole)
        return hc_complain("nothing was checked on %s: all %d cases were left out", whole->name,
                           hc_omissions_count(&rows->omissions, whole->name));
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
