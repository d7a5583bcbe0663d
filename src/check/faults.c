/* All planted defects, of all files of check/faults/. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "check/fault.h"
#include "hc_faults_list.h"

static const struct hc_fault_table *const tables[] = {HC_LIST};

const struct hc_fault *const *hc_all_faults(int *n)
{
    enum { MOST = 128 };
    static const struct hc_fault *all[MOST];
    *n = 0;
    for (size_t t = 0; tables[t]; t++)
        for (int i = 0; i < tables[t]->count; i++) {
            assert(*n < MOST);
            all[(*n)++] = &tables[t]->faults[i];
        }
    return all;
}

const struct hc_fault *hc_fault_by_name(const char *name)
{
    int n;
    const struct hc_fault *const *faults = hc_all_faults(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(faults[i]->name, name) == 0)
            return faults[i];
    return NULL;
}
