/* All cases, by name: those of the case files and those generated for the ops. */
#include "cases/registry.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "check/opcase.h"
#include "hc_cases_list.h"

static const struct hc_case_table *const tables[] = {HC_LIST};

static const struct hc_case **all;
static int count;

static int by_name(const void *a, const void *b)
{
    const struct hc_case *const *x = a;
    const struct hc_case *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void release(void)
{
    free(all);
}

const struct hc_case *const *hc_all_cases(int *n)
{
    if (!all) {
        const struct hc_case_table *generated = hc_op_cases();
        count = generated->count;
        for (size_t t = 0; tables[t]; t++)
            count += tables[t]->count;
        all = malloc((size_t)count * sizeof(struct hc_case *));
        assert(all);
        (void)atexit(release);
        int i = 0;
        for (int c = 0; c < generated->count; c++)
            all[i++] = &generated->cases[c];
        for (size_t t = 0; tables[t]; t++)
            for (int c = 0; c < tables[t]->count; c++)
                all[i++] = &tables[t]->cases[c];
        qsort(all, (size_t)count, sizeof *all, by_name);
    }
    *n = count;
    return all;
}
