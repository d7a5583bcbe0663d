#include "cli/choose.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "op/typed.h"

static enum hc_status unknown(const char *name, size_t length)
{
    char known[256] = "";
    int n;
    struct hc_nearest nearest = hc_nearest_to(name, length);
    const struct hc_backend *const *backends = hc_backends(&n);
    for (int i = 0; i < n; i++) {
        size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", backends[i]->name);
        hc_nearest_try(&nearest, backends[i]->name);
    }
    const char *hint = hc_nearest_hint(&nearest);
    return hc_fail(HC_INVALID, "no backend '%.*s'%s there are: %s", (int)length, name,
                   hint[0] ? hint : ";", known);
}

static const struct hc_backend *find(const char *name, size_t length)
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

enum hc_status hc_choose_backends(const char *list,
                                  const struct hc_backend *chosen[HC_MAX_BACKENDS], int *count)
{
    *count = 0;
    if (!list) {
        choose_all(chosen, count);
        return HC_OK;
    }
    for (const char *at = list; at;) {
        const char *name;
        size_t length;
        enum hc_status status = hc_list_next("--backend", list, &at, &name, &length);
        if (status != HC_OK)
            return status;
        const struct hc_backend *backend = find(name, length);
        if (!backend)
            return unknown(name, length);
        for (int i = 0; i < *count; i++)
            if (chosen[i] == backend)
                return hc_fail(HC_INVALID, "backend '%s' is named twice", backend->name);
        chosen[(*count)++] = backend;
    }
    return HC_OK;
}

enum hc_status hc_choose_backend(const char *what, const char *list,
                                 const struct hc_backend **backend)
{
    const struct hc_backend *chosen[HC_MAX_BACKENDS];
    int count;
    enum hc_status status = hc_choose_backends(list, chosen, &count);
    if (status != HC_OK)
        return status;
    if (count != 1)
        return hc_fail(HC_INVALID, "%s on one backend, not on %s", what, list);
    *backend = chosen[0];
    const char *why = chosen[0]->unavailable ? chosen[0]->unavailable() : NULL;
    return why ? hc_fail(HC_DEVICE, "backend %s cannot run here: %s", chosen[0]->name, why) : HC_OK;
}
