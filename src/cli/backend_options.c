#include "cli/backend_options.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/lines.h"
#include "cases/plugin.h"
#include "fallback.h"
#include "op/optimizer.h"
#include "op/typed.h"
#include "pipe.h"
#include "plugins.h"
#include "settings.h"

static int take_plugin(const char *path)
{
    const char *slash = strrchr(path, '/');
    enum hc_status status = hc_plugins_add(path);
    if (status == HC_OK)
        status = hc_cases_of_plugin(slash ? slash + 1 : path);
    return status == HC_OK ? HC_AS_CLAIMED : hc_complain_message();
}

const struct hc_option hc_plugin_option[2] = {
    {.name = "plugin",
     .value = "FILE",
     .take = take_plugin,
     .help = "add the backends and cases of a shared object; may be repeated"},
    {0},
};

static const struct hc_option order = {
    .name = "order",
    .value = "NAME",
    .choices = hc_adam_order_names,
    .help = "demand the bits of this order also from backends that may sum in any order,\n"
            "such as programs: ours, torch-fused, torch-loop or apex. By default their\n"
            "results must only lie within the bounds, and cases that state an order are\n"
            "left out"};

static const struct hc_option fallback = {
    .name = "fallback",
    .value = "B",
    .help = "run the calls that --backend refuses or has no kernel for on this backend\n"
            "(exact or host, say), and count them"};

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

static enum hc_status unknown(const char *name, size_t length)
{
    char known[512] = "";
    int n;
    struct hc_nearest nearest = hc_nearest_to(name, length);
    const struct hc_backend *const *backends = hc_backends(&n);
    for (int i = 0; i < n; i++) {
        hc_append(known, sizeof known, "%s%s", i ? ", " : "", backends[i]->name);
        hc_nearest_try(&nearest, backends[i]->name);
    }
    const char *hint = hc_nearest_hint(&nearest);
    return hc_fail(HC_INVALID, "no backend '%.*s'%s there are: %s; and pipe:COMMAND", (int)length,
                   name, hint[0] ? hint : ";", known);
}

static const struct hc_backend *find_backend(const char *name, size_t length)
{
    char copy[64];
    if (length >= sizeof copy)
        return NULL;
    memcpy(copy, name, length);
    copy[length] = '\0';
    return hc_backend_by_name(copy);
}

const char *hc_backend_left_out(const struct hc_backend *backend)
{
    return backend->unavailable && !backend->on_request ? backend->unavailable() : NULL;
}

static void choose_all(const struct hc_backend *chosen[HC_MAX_BACKENDS], int *count)
{
    int n;
    const struct hc_backend *const *backends = hc_backends(&n);
    assert(n <= HC_MAX_BACKENDS);
    for (int i = 0; i < n; i++)
        if (!backends[i]->on_request && !hc_backend_left_out(backends[i]))
            chosen[(*count)++] = backends[i];
}

static bool is_program(const char *word)
{
    return strncmp(word, HC_PIPE_PREFIX, strlen(HC_PIPE_PREFIX)) == 0 ||
           strncmp(word, HC_PIPE_FD_PREFIX, strlen(HC_PIPE_FD_PREFIX)) == 0;
}

/* Takes the next backend of a list. A program's command is the rest of it. */
static enum hc_status next_backend(const char *list, const char **at,
                                   const struct hc_backend **backend)
{
    const char *start = *at + strspn(*at, " \t");
    const char *name;
    size_t length;
    if (is_program(start)) {
        *at = NULL;
        *backend = hc_pipe_backend(start);
        return *backend ? HC_OK : HC_DEVICE;
    }
    enum hc_status status = hc_list_next("--backend", list, at, &name, &length);
    if (status != HC_OK)
        return status;
    *backend = find_backend(name, length);
    return *backend ? HC_OK : unknown(name, length);
}

static enum hc_status add_backend(const struct hc_backend *backend,
                                  const struct hc_backend *chosen[HC_MAX_BACKENDS], int *count)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(chosen[i]->name, backend->name) == 0)
            return hc_fail(HC_INVALID, "backend '%s' is named twice", backend->name);
    if (*count == HC_MAX_BACKENDS)
        return hc_fail(HC_INVALID, "--backend takes at most %d backends", HC_MAX_BACKENDS);
    chosen[(*count)++] = backend;
    return HC_OK;
}

/* Replaces each backend but the fallback itself by one that falls back. */
static enum hc_status add_fallback(const char *name, const struct hc_backend **chosen, int count)
{
    const struct hc_backend *other = find_backend(name, strlen(name));
    enum hc_status status = other ? HC_OK : unknown(name, strlen(name));
    for (int i = 0; i < count && status == HC_OK; i++)
        if (chosen[i] != other)
            status = hc_fallback(chosen[i], other, &chosen[i]);
    return status;
}

enum hc_status hc_choose_backends(const struct hc_backend_options *options,
                                  const struct hc_backend *chosen[HC_MAX_BACKENDS], int *count)
{
    *count = 0;
    hc_pipe_set_time_limit(options->call_limit);
    if (!options->named.count)
        choose_all(chosen, count);
    for (int i = 0; i < options->named.count; i++)
        for (const char *at = options->named.word[i]; at;) {
            const struct hc_backend *backend;
            enum hc_status status = next_backend(options->named.word[i], &at, &backend);
            if (status == HC_OK)
                status = add_backend(backend, chosen, count);
            if (status != HC_OK)
                return status;
        }
    return options->fallback ? add_fallback(options->fallback, chosen, *count) : HC_OK;
}

static enum hc_status refuse_several(const char *what, const struct hc_backend *const *chosen,
                                     int count)
{
    char names[256] = "";
    for (int i = 0; i < count; i++) {
        hc_append(names, sizeof names, "%s%s", i ? "," : "", chosen[i]->name);
    }
    return hc_fail(HC_INVALID, "%s on one backend, not on %s", what, names);
}

enum hc_status hc_choose_able(const struct hc_backend_options *options, const char *otherwise,
                              const struct hc_backend *chosen[HC_MAX_BACKENDS], int *count)
{
    enum hc_status status = HC_OK;
    chosen[0] = hc_backend_by_name(otherwise);
    *count = 1;
    if (options->named.count)
        status = hc_choose_backends(options, chosen, count);
    else if (options->fallback)
        status = add_fallback(options->fallback, chosen, *count);
    for (int i = 0; i < *count && status == HC_OK; i++) {
        const char *why = chosen[i]->unavailable ? chosen[i]->unavailable() : NULL;
        if (why)
            status = hc_fail(HC_DEVICE, "backend %s cannot run here: %s", chosen[i]->name, why);
    }
    return status;
}

enum hc_status hc_choose_backend(const char *what, const struct hc_backend_options *options,
                                 const char *otherwise, const struct hc_backend **backend)
{
    const struct hc_backend *chosen[HC_MAX_BACKENDS];
    int count;
    enum hc_status status = hc_choose_able(options, otherwise, chosen, &count);
    if (count > 1 && status != HC_INVALID)
        return refuse_several(what, chosen, count);
    *backend = chosen[0];
    return status;
}
