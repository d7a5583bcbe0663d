#include "check/omissions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_inner.h"
#include "own_calls.h"

/* The row of a component, made if need be; NULL if there is no memory. */
static struct hc_omission *row_of(struct hc_omissions *all, const char *backend, const char *name)
{
    char component[sizeof all->row->component];
    (void)snprintf(component, sizeof component, "%.*s", (int)strcspn(name, "/"), name);
    for (int i = 0; i < all->count; i++)
        if (strcmp(all->row[i].backend, backend) == 0 &&
            strcmp(all->row[i].component, component) == 0)
            return &all->row[i];
    if (all->count == all->room) {
        int room = all->room ? 2 * all->room : 32;
        struct hc_omission *rows = realloc(all->row, (size_t)room * sizeof *rows);
        if (!rows)
            return NULL;
        all->row = rows;
        all->room = room;
    }
    struct hc_omission *row = &all->row[all->count++];
    *row = (struct hc_omission){.backend = backend};
    memcpy(row->component, component, sizeof component);
    return row;
}

void hc_omissions_add(struct hc_omissions *all, const struct hc_result *result,
                      enum hc_omitted kind)
{
    struct hc_omission *row = row_of(all, result->backend, result->what->name);
    all->lost |= !row;
    if (!row)
        return;
    if (row->count[kind]++ > 0)
        return;
    (void)snprintf(row->why[kind], sizeof row->why[kind], "%s", result->note);
    (void)snprintf(row->first[kind], sizeof row->first[kind], "%s", result->what->name);
}

void hc_omissions_join(struct hc_omissions *all, const struct hc_omission *omission)
{
    struct hc_omission *row = row_of(all, omission->backend, omission->component);
    all->lost |= !row;
    for (int kind = 0; row && kind < HC_OMITTED_KINDS; kind++) {
        bool first = omission->count[kind] > 0 &&
                     (row->count[kind] == 0 || strcmp(omission->first[kind], row->first[kind]) < 0);
        row->count[kind] += omission->count[kind];
        if (!first)
            continue;
        memcpy(row->why[kind], omission->why[kind], sizeof row->why[kind]);
        memcpy(row->first[kind], omission->first[kind], sizeof row->first[kind]);
    }
}

/* The op, and four bits for each slot: its format, and 15 for none. */
static uint64_t key_of(const struct hc_call *call)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    uint64_t key = (uint64_t)call->op;
    for (int i = 0; i < op->inputs + op->outputs; i++) {
        const struct hc_tensor *t = i < op->inputs ? &call->in[i] : &call->out[i - op->inputs];
        key = key << 4 | (t->data ? (uint64_t)t->format : 15);
    }
    return key;
}

static struct hc_call_formats *set_of(struct hc_omissions *all, const char *backend, uint64_t key)
{
    for (int i = 0; i < all->set_count; i++)
        if (all->set[i].key == key && strcmp(all->set[i].backend, backend) == 0)
            return &all->set[i];
    if (all->set_count == all->set_room) {
        int room = all->set_room ? 2 * all->set_room : 64;
        struct hc_call_formats *sets = realloc(all->set, (size_t)room * sizeof *sets);
        if (!sets)
            return NULL;
        all->set = sets;
        all->set_room = room;
    }
    struct hc_call_formats *set = &all->set[all->set_count++];
    *set = (struct hc_call_formats){.backend = backend, .key = key};
    return set;
}

static void count_call(struct hc_omissions *all, const char *backend, const struct hc_call *call,
                       bool taken)
{
    struct hc_call_formats *set = set_of(all, backend, key_of(call));
    all->lost |= !set;
    if (!set)
        return;
    if (!taken && set->refused == 0)
        (void)snprintf(set->why, sizeof set->why, "%s", hc_message());
    set->taken += taken;
    set->refused += !taken;
}

void hc_omissions_join_calls(struct hc_omissions *all, const struct hc_call_formats *from)
{
    struct hc_call_formats *set = set_of(all, from->backend, from->key);
    all->lost |= !set;
    if (!set)
        return;
    if (set->refused == 0)
        memcpy(set->why, from->why, sizeof set->why);
    set->taken += from->taken;
    set->refused += from->refused;
}

void hc_omissions_call(struct hc_omissions *all, const char *backend, const struct hc_call *call,
                       bool taken)
{
#pragma omp critical(hc_omissions)
    count_call(all, backend, call, taken);
}

void hc_omit_unasked(struct hc_check *check)
{
    const struct hc_backend *backend = check->backend;
    enum hc_verdict verdict = check->result.verdict;
    if ((verdict != HC_PASS && verdict != HC_MISTRUSTED) || !backend ||
        !hc_own_calls_counted(backend))
        return;
    check->unasked = true;
    check->result.note[0] = '\0';
    hc_check_note(check, "no call of it reached %s",
                  backend->spelled ? backend->spelled : backend->name);
    hc_check_verdict(check, HC_UNIMPLEMENTED);
}

int hc_omission_total(const struct hc_omission *omission)
{
    int total = 0;
    for (int kind = 0; kind < HC_OMITTED_KINDS; kind++)
        total += omission->count[kind];
    return total;
}

void hc_omission_counts(const struct hc_omission *omission, char *text, size_t size)
{
    const int *count = omission->count;
    int length = snprintf(text, size, "%d without a kernel, %d refused", count[HC_OMITTED_ABSENT],
                          count[HC_OMITTED_REFUSED]);
    if (count[HC_OMITTED_ORDER] && length > 0 && (size_t)length < size)
        (void)snprintf(text + length, size - (size_t)length, ", %d of another order",
                       count[HC_OMITTED_ORDER]);
    length = (int)strlen(text);
    if (count[HC_OMITTED_UNASKED] && (size_t)length < size)
        (void)snprintf(text + length, size - (size_t)length, ", %d without a call",
                       count[HC_OMITTED_UNASKED]);
}

const char *hc_omission_why(const struct hc_omission *omission)
{
    int kind = 0;
    while (kind < HC_OMITTED_KINDS - 1 && omission->count[kind] == 0)
        kind++;
    return omission->why[kind];
}

int hc_omissions_count(const struct hc_omissions *all, const char *backend)
{
    int count = 0;
    for (int i = 0; i < all->count; i++)
        if (!backend || strcmp(all->row[i].backend, backend) == 0)
            count += hc_omission_total(&all->row[i]);
    return count;
}

const struct hc_call_formats *hc_omissions_fickle(const struct hc_omissions *all, int *i)
{
    while (*i < all->set_count) {
        const struct hc_call_formats *set = &all->set[(*i)++];
        if (set->taken && set->refused)
            return set;
    }
    return NULL;
}

void hc_omissions_free(struct hc_omissions *all)
{
    free(all->row);
    free(all->set);
    *all = (struct hc_omissions){.count = 0};
}
