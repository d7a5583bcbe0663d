#include "check/omissions.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_inner.h"
#include "op/digest.h"
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
static uint64_t formats_of(const struct hc_call *call)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    uint64_t key = (uint64_t)call->op;
    for (int i = 0; i < op->inputs + op->outputs; i++) {
        const struct hc_tensor *t = i < op->inputs ? &call->in[i] : &call->out[i - op->inputs];
        key = key << 4 | (t->data ? (uint64_t)t->format : 15);
    }
    return key;
}

/* The place of that set in the table, or a free one. */
static int *place_of(const struct hc_omissions *all, const struct hc_alike_calls *like)
{
    size_t places = 2 * (size_t)all->set_room;
    size_t at = (like->key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % places;
    for (;; at = (at + 1) % places) {
        if (all->place[at] == 0)
            return &all->place[at];
        const struct hc_alike_calls *set = &all->set[all->place[at] - 1];
        if (set->key == like->key && set->alike == like->alike &&
            strcmp(set->backend, like->backend) == 0)
            return &all->place[at];
    }
}

/* Makes room for one more set. False without memory. */
static bool make_room(struct hc_omissions *all)
{
    int room = all->set_room ? 2 * all->set_room : 64;
    struct hc_alike_calls *sets = realloc(all->set, (size_t)room * sizeof *sets);
    if (sets)
        all->set = sets;
    int *place = sets ? calloc(2 * (size_t)room, sizeof *place) : NULL;
    if (!place)
        return false;
    free(all->place);
    all->place = place;
    all->set_room = room;
    for (int i = 0; i < all->set_count; i++)
        *place_of(all, &all->set[i]) = i + 1;
    return true;
}

static bool comes_first(const struct hc_case *a, const struct hc_case *b)
{
    return a && (!b || strcmp(a->name, b->name) < 0);
}

/* The set that is alike, made if need be; NULL if there is no memory. */
static struct hc_alike_calls *set_of(struct hc_omissions *all, const struct hc_alike_calls *like)
{
    if (all->set_count == all->set_room && !make_room(all))
        return NULL;
    int *place = place_of(all, like);
    if (*place == 0) {
        all->set[all->set_count++] = (struct hc_alike_calls){
            .backend = like->backend, .alike = like->alike, .key = like->key};
        *place = all->set_count;
    }
    return &all->set[*place - 1];
}

void hc_omissions_join_calls(struct hc_omissions *all, const struct hc_alike_calls *from)
{
    struct hc_alike_calls *set = set_of(all, from);
    all->lost |= !set;
    if (!set)
        return;
    if (comes_first(from->taker, set->taker))
        set->taker = from->taker;
    if (from->refused && (!set->why || comes_first(from->refuser, set->refuser))) {
        free(set->why);
        set->why = strdup(from->why);
        all->lost |= !set->why;
        set->refuser = from->refuser;
    }
    set->taken += from->taken;
    set->refused += from->refused;
}

bool hc_is_built_in(const struct hc_backend *backend)
{
    int n;
    const struct hc_backend *const *own = hc_backends_built_in(&n);
    for (int i = 0; i < n; i++)
        if (own[i] == backend)
            return true;
    return false;
}

bool hc_omissions_counts_calls(const struct hc_backend *backend)
{
    return !hc_is_built_in(backend) || backend->partial;
}

void hc_omissions_call(struct hc_omissions *all, const char *backend, const struct hc_case *what,
                       const struct hc_call *call, bool taken)
{
    char why[320] = "";
    struct hc_alike_calls one = {.backend = backend,
                                 .taken = taken,
                                 .refused = !taken,
                                 .taker = taken ? what : NULL,
                                 .refuser = taken ? NULL : what,
                                 .why = why};
    if (!taken)
        (void)snprintf(why, sizeof why, "%s", hc_message());
    for (int alike = HC_ALIKE_FORMATS; alike <= HC_ALIKE_BUT_NUMBERS; alike++) {
        one.alike = (enum hc_alike)alike;
        one.key = alike == HC_ALIKE_FORMATS ? formats_of(call) : hc_digest_form(call);
#pragma omp critical(hc_omissions)
        hc_omissions_join_calls(all, &one);
    }
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

const struct hc_alike_calls *hc_omissions_fickle(const struct hc_omissions *all,
                                                 enum hc_alike alike, int *i)
{
    while (*i < all->set_count) {
        const struct hc_alike_calls *set = &all->set[(*i)++];
        if (set->alike == alike && set->taken && set->refused && set->why)
            return set;
    }
    return NULL;
}

struct hc_result hc_omissions_by_value(struct hc_omissions *all, const struct hc_alike_calls *set,
                                       uint64_t seed)
{
    assert(set->taker && set->refuser);
    struct hc_omission *row = row_of(all, set->backend, set->refuser->name);
    if (row && row->count[HC_OMITTED_REFUSED] > 0)
        row->count[HC_OMITTED_REFUSED]--;
    struct hc_result result = {.what = set->refuser,
                               .beside = set->taker == set->refuser ? NULL : set->taker,
                               .backend = set->backend,
                               .verdict = HC_FAIL,
                               .checked = 1,
                               .wrong = 1,
                               .error = 1,
                               .unit = "claims",
                               .seed = seed,
                               .implementation = (double)NAN,
                               .line = (double)NAN,
                               .format = (double)NAN};
    (void)snprintf(result.note, sizeof result.note,
                   "refuses inputs by their values: %s has a call that differs in nothing else, "
                   "and it was taken; the refusal: %s",
                   set->taker->name, set->why);
    return result;
}

void hc_omissions_free(struct hc_omissions *all)
{
    free(all->row);
    for (int i = 0; i < all->set_count; i++)
        free(all->set[i].why);
    free(all->set);
    free(all->place);
    *all = (struct hc_omissions){.count = 0};
}
