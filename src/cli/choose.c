#include "cli/choose.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static enum hc_status unknown(const char *name, size_t length)
{
    char known[256] = "";
    int n;
    const struct hc_backend *const *backends = hc_backends(&n);
    for (int i = 0; i < n; i++) {
        size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", backends[i]->name);
    }
    return hc_fail(HC_INVALID, "no backend '%.*s'; there are: %s", (int)length, name, known);
}

static const struct hc_backend *find(const char *name, size_t length)
{
    int n;
    const struct hc_backend *const *backends = hc_backends(&n);
    for (int i = 0; i < n; i++)
        if (strlen(backends[i]->name) == length && strncmp(backends[i]->name, name, length) == 0)
            return backends[i];
    return NULL;
}

enum hc_status hc_choose_backends(const char *list,
                                  const struct hc_backend *chosen[HC_MAX_BACKENDS], int *count)
{
    *count = 0;
    if (!list) {
        const struct hc_backend *const *backends = hc_backends(count);
        assert(*count <= HC_MAX_BACKENDS);
        memcpy(chosen, backends, (size_t)*count * sizeof *chosen);
        return HC_OK;
    }
    for (const char *name = list;; name++) {
        size_t length = strcspn(name, ",");
        const struct hc_backend *backend = find(name, length);
        if (!backend)
            return unknown(name, length);
        for (int i = 0; i < *count; i++)
            if (chosen[i] == backend)
                return hc_fail(HC_INVALID, "backend '%s' is named twice", backend->name);
        chosen[(*count)++] = backend;
        name += length;
        if (!*name)
            return HC_OK;
    }
}
