#include "cli/run/left_out.h"

#include <string.h>

#include "backend.h"
#include "check/check.h"
#include "cli/choose.h"
#include "cli/run/table.h"

/* Prints the names of the left-out backends from `first` on that share its reason, and the
   reason. */
static void print_left_out(FILE *out, const struct hc_backend *const *backends, int n, int first)
{
    const char *why = hc_backend_left_out(backends[first]);
    char names[256] = "";
    for (int b = first; b < n; b++) {
        const char *other = hc_backend_left_out(backends[b]);
        size_t used = strlen(names);
        if (other && strcmp(other, why) == 0)
            (void)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                           backends[b]->name);
    }
    hc_print_reason(out, hc_verdict_names[HC_SKIPPED], "all", names, why);
}

json_t *hc_left_out(FILE *out)
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

void hc_left_out_cases(json_t *left_out, const struct hc_omissions *omissions)
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
