#include "backend.h"

#include <string.h>

#include "hc_backend_list.h"
#include "kernels/plugin.h"

/* Those built in; the plug-in takes the place of the NULL at the end. */
static const struct hc_backend *all[] = {HC_LIST};

enum { BUILT_IN = sizeof all / sizeof all[0] - 1 };

const struct hc_backend *const *hc_backends(int *n)
{
    all[BUILT_IN] = hc_plugin_cuda();
    *n = BUILT_IN + 1;
    return all;
}

const struct hc_backend *hc_backend_by_name(const char *name)
{
    for (size_t i = 0; i < BUILT_IN; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return strcmp(name, "cuda") == 0 ? hc_plugin_cuda() : NULL;
}
