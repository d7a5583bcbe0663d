/* All cases, by name: those of the case files, those generated for the ops, and those of
   plug-ins. */
#include "cases/registry.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "check/generate/cases.h"
#include "hc_cases_list.h"

static const struct hc_case_table *const tables[] = {HC_LIST};

enum { FILES = sizeof tables / sizeof tables[0] - 1, MAX_ADDED = 16 };

static const struct hc_case_table *added[MAX_ADDED + 1]; /* ends with NULL */

static const struct hc_case **all;
static int count;
static bool is_released; /* at the end */

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

static const struct hc_case_table *(*const generated[])(void) = {hc_op_cases, hc_bit_cases,
                                                                 hc_border_cases, hc_size_cases};

enum { GENERATED = sizeof generated / sizeof generated[0] };

static bool are_generated(void)
{
    for (size_t t = 0; t < GENERATED; t++)
        if (!generated[t]())
            return false;
    return true;
}

/* The generated tables, then those of the files, then those of plug-ins. */
static const struct hc_case_table *table_at(size_t t)
{
    if (t < GENERATED)
        return generated[t]();
    return t - GENERATED < FILES ? tables[t - GENERATED] : added[t - GENERATED - FILES];
}

/* The list is made anew when it is asked for. */
enum hc_status hc_cases_add(const struct hc_case_table *table)
{
    int n = 0;
    while (added[n])
        n++;
    if (n == MAX_ADDED)
        return hc_fail(HC_INVALID, "more than %d plug-ins have cases", MAX_ADDED);
    added[n] = table;
    free(all);
    all = NULL;
    return HC_OK;
}

const struct hc_case *const *hc_all_cases(int *n)
{
    *n = 0;
    if (!all) {
        if (!are_generated())
            return NULL;
        count = 0;
        for (size_t t = 0; table_at(t); t++)
            count += table_at(t)->count;
        all = malloc((size_t)count * sizeof(struct hc_case *));
        if (!all) {
            (void)hc_fail(HC_NO_MEMORY, "no memory for the list of cases");
            return NULL;
        }
        if (!is_released)
            is_released = atexit(release) == 0;
        int i = 0;
        for (size_t t = 0; table_at(t); t++)
            for (int c = 0; c < table_at(t)->count; c++)
                all[i++] = &table_at(t)->cases[c];
        qsort(all, (size_t)count, sizeof *all, by_name);
        for (i = 1; i < count; i++)
            assert(by_name(&all[i - 1], &all[i]) != 0); /* two cases of one name */
    }
    *n = count;
    return all;
}

static int compare_name(const void *name, const void *what)
{
    return strcmp(name, (*(const struct hc_case *const *)what)->name);
}

const struct hc_case *hc_case_by_name(const char *name)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    const struct hc_case *const *found =
        n ? bsearch(name, cases, (size_t)n, sizeof *cases, compare_name) : NULL;
    return found ? *found : NULL;
}
