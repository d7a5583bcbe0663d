#include "cli/backend_options.h"

#include <string.h>

#include "cli/plugin_option.h"

/* A program may have to compile its kernels in its first call. */
static const double default_call_limit = 60;

const struct hc_option *hc_backend_options(struct hc_backend_options *o, bool several,
                                           const char *help)
{
    *o = (struct hc_backend_options){.call_limit = default_call_limit};
    const struct hc_option rows[] = {
        {.name = "backend", .value = several ? "B[,B]" : "B", .words = &o->named, .help = help},
        {.name = "call-limit",
         .value = "SECONDS",
         .real = &o->call_limit,
         .least = 0.01,
         .most = 86400,
         .help = "how long a program behind a pipe may take for one call (default 60)"},
        hc_plugin_option[0],
        {0},
    };
    memcpy(o->table, rows, sizeof rows);
    return o->table;
}
