/* All planted faults, of all files of check/faults/. */
#include <stddef.h>
#include <string.h>

#include "check/selftest/fault.h"
#include "hc_faults_list.h"

static const struct hc_fault_table *const tables[] = {HC_LIST};

int hc_fault_count(void)
{
    int n = 0;
    for (size_t t = 0; tables[t]; t++)
        n += tables[t]->count;
    return n;
}

const struct hc_fault *hc_fault_at(int i)
{
    size_t t = 0;
    for (; i >= tables[t]->count; t++)
        i -= tables[t]->count;
    return &tables[t]->faults[i];
}

const struct hc_fault *hc_fault_by_name(const char *name)
{
    for (size_t t = 0; tables[t]; t++)
        for (int i = 0; i < tables[t]->count; i++)
            if (strcmp(tables[t]->faults[i].name, name) == 0)
                return &tables[t]->faults[i];
    return NULL;
}
