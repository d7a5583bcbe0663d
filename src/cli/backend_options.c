#include "cli/backend_options.h"

#include <string.h>

#include "cli/plugin_option.h"
#include "op/optimizer.h"
#include "pipe.h"
#include "settings.h"

static const struct hc_option order = {
    .name = "order",
    .value = "NAME",
    .choices = hc_adam_order_names,
    .help = "hold backends of free order (programs, say) to the bits of this order, too:\n"
            "ours, torch-fused, torch-loop or apex. Without it such a backend owes results\n"
            "within the bounds, and cases that state an order are left out"};

static const struct hc_option fallback = {
    .name = "fallback",
    .value = "B",
    .help = "run on this backend (exact or host, say) what --backend has no kernel for, or\n"
            "refuses; the calls are counted"};

static int take_setting(const char *word)
{
    return hc_setting_take(word) == HC_OK ? HC_AS_CLAIMED : hc_complain_message();
}

static const struct hc_option setting = {
    .name = "set", .value = "NAME=VALUE", .take = take_setting, .help = HC_SETTINGS_HELP};

const struct hc_option *hc_backend_options(struct hc_backend_options *o, int takes,
                                           const char *help)
{
    bool several = takes & HC_SEVERAL_BACKENDS;
    *o = (struct hc_backend_options){.call_limit = HC_PIPE_TIME_LIMIT, .order = HC_ORDER_COUNT};
    const struct hc_option rows[] = {
        {.name = "backend", .value = several ? "B[,B]" : "B", .words = &o->named, .help = help},
        {.name = "call-limit",
         .value = "SECONDS",
         .real = &o->call_limit,
         .least = 0.01,
         .most = 86400,
         .help = "how long a program behind a pipe may take for one call (default 60)"},
        hc_plugin_option[0],
    };
    int n = sizeof rows / sizeof *rows;
    memcpy(o->table, rows, sizeof rows);
    if (takes & HC_TAKES_ORDER) {
        o->table[n] = order;
        o->table[n++].choice = &o->order;
    }
    if (takes & HC_TAKES_FALLBACK) {
        o->table[n] = fallback;
        o->table[n++].text = &o->fallback;
    }
    if (!(takes & HC_HAS_ITS_OWN_SET))
        o->table[n++] = setting;
    o->table[n] = (struct hc_option){0};
    return o->table;
}

const char *hc_backend_order(const struct hc_backend_options *options)
{
    return hc_adam_order_names[options->order];
}
