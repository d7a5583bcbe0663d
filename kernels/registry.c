#include "backend.h"

#include <string.h>

#include "hc_backend_list.h"

static const struct hc_backend *const all[] = {HC_LIST};

const struct hc_backend *const *hc_backends(int *n)
{
    *n = (int)(sizeof all / sizeof all[0]) - 1;
    return all;
}

const struct hc_backend *hc_backend_by_name(const char *name)
{
    for (size_t i = 0; all[i]; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}
