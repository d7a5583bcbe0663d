#include "cases/mechanisms.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cases/fixture/bug.h"
#include "cases/registry.h"

enum { MAX_MECHANISMS = 128 };

static struct hc_mechanism mechanisms[MAX_MECHANISMS];

static void add_fault(struct hc_mechanism *m, const char *fault)
{
    int i = 0;
    while (m->faults[i] && strcmp(m->faults[i], fault) != 0)
        i++;
    assert(i < HC_MECHANISM_FAULTS);
    m->faults[i] = fault;
}

const struct hc_mechanism *hc_mechanisms(int *n)
{
    int cases;
    const struct hc_case *const *all = hc_all_cases(&cases);
    *n = 0;
    memset(mechanisms, 0, sizeof mechanisms);
    for (int i = 0; i < cases; i++) { /* they are sorted by name */
        const struct hc_bug *bug = hc_bug_of(all[i]);
        char name[sizeof mechanisms->name];
        if (!bug || sscanf(all[i]->name, "field/%47[^/]/", name) != 1)
            continue;
        if (*n == 0 || strcmp(mechanisms[*n - 1].name, name) != 0) {
            assert(*n < MAX_MECHANISMS);
            memcpy(mechanisms[(*n)++].name, name, sizeof name);
        }
        mechanisms[*n - 1].rows++;
        if (bug->fault)
            add_fault(&mechanisms[*n - 1], bug->fault);
    }
    return mechanisms;
}
