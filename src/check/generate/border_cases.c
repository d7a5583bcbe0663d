/* The generated cases border/: each runs an op on integers at every size that lies at a border of
   some backend (border.h), one extent at a time, or with choices of which every two meet, and
   compares all elements with integer arithmetic. */
#include "check/generate/cases.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/generate/border.h"
#include "check/bound/bound.h"
#include "check/family/family.h"
#include "check/generate/integers.h"
#include "check/check_inner.h"
#include "check/known.h"
#include "op/descriptor.h"

struct row {
    struct hc_border_row what;
    char name[64];
    char title[128];
};

/* Memory for the largest of the calls; all calls use it. */
struct room {
    void *slot[HC_MAX_IN + HC_MAX_OUT];
    struct hc_integers integers;
};

static void make_room(struct hc_check *check, const struct hc_border_row *row,
                      const struct hc_border_point *points, int count, struct room *room)
{
    size_t bytes[HC_MAX_IN + HC_MAX_OUT] = {0};
    int64_t elements[HC_MAX_IN + HC_MAX_OUT] = {0};
    int inputs = hc_ops[row->op].inputs;
    int slots = inputs + hc_ops[row->op].outputs;
    for (int i = 0; i < count; i++) {
        struct hc_call call = hc_border_call(row, &points[i]);
        for (int s = 0; s < slots; s++) {
            const struct hc_tensor *t = hc_slot_tensor(&call, s);
            size_t need = hc_tensor_bytes(t);
            bytes[s] = need > bytes[s] ? need : bytes[s];
            elements[s] = hc_tensor_count(t) > elements[s] ? hc_tensor_count(t) : elements[s];
        }
    }
    for (int s = 0; s < slots; s++) {
        size_t n = (size_t)elements[s];
        room->slot[s] = hc_check_memory(check, bytes[s]);
        if (s < inputs)
            room->integers.value[s] = hc_check_memory(check, n * sizeof(int32_t));
        else
            room->integers.want[s - inputs] = hc_check_memory(check, n * sizeof(double));
    }
}

/* An element that is not what integer arithmetic says. */
struct stray {
    int out;
    int64_t index;
    double far;
};

/* The farthest of those that are not settled are judged by the contract's bound. */
enum { STRAYS = 16 };

/* The comparison of one call; its strays are judged at its end. */
struct comparison {
    const struct hc_border_point *point;
    struct hc_comparisons *all; /* of all calls */
    struct stray strays[STRAYS];
    int stray_count;
    bool free; /* the backend may compute the call in any order */
};

static void note_wrong(struct comparison *c, const struct hc_call *call, int out, int64_t i,
                       double want)
{
    hc_comparisons_wrong(c->all, "%s: %s[%" PRId64 "]: want %.9g, got %.9g", c->point->text,
                         hc_slot(call->op, hc_ops[call->op].inputs + out)->name, i, want,
                         hc_tensor_get(&call->out[out], i));
}

static void note_stray(struct comparison *c, int out, int64_t i, double far)
{
    int least = 0;
    struct stray stray = {out, i, isnan(far) ? (double)INFINITY : far};
    if (c->stray_count < STRAYS) {
        c->strays[c->stray_count++] = stray;
        return;
    }
    for (int k = 1; k < STRAYS; k++)
        if (c->strays[k].far < c->strays[least].far)
            least = k;
    if (stray.far > c->strays[least].far)
        c->strays[least] = stray;
}

static void compare_output(struct comparison *c, const struct hc_integers *z, int out)
{
    const struct hc_tensor *t = &z->call.out[out];
    int64_t n = t->data ? hc_tensor_count(t) : 0;
    for (int64_t i = 0; i < n; i++) {
        double want = z->want[out][i];
        double got = hc_tensor_get(t, i);
        if (got == want)
            continue;
        want = hc_round(t->format, want);
        if (got == want)
            continue;
        if (c->free ? hc_integers_any_order(&z->call, out) : hc_integers_settled(z->call.op))
            note_wrong(c, &z->call, out, i, want);
        else
            note_stray(c, out, i, fabs(got - want) / fmax(fabs(want), 1));
    }
    c->all->checked += n;
}

static void judge_strays(struct comparison *c, const struct hc_integers *z,
                         const struct hc_accumulator *sums)
{
    hc_reference_begin(&z->call);
    for (int k = 0; k < c->stray_count; k++) {
        const struct stray *s = &c->strays[k];
        const struct hc_tensor *t = &z->call.out[s->out];
        double value = z->want[s->out][s->index];
        struct hc_exact want = {.hi = value, .magnitude = fabs(value)};
        struct hc_element e = {&z->call, s->out, s->index};
        double bound = c->free ? hc_bound_any_order(&e, sums, &want) : hc_bound(&e, sums, &want);
        double error = hc_bound_error(t->format, &want, hc_tensor_get(t, s->index));
        if (!(error <= bound * (1 + 0x1p-40) + 0x1p-50 * fabs(value)))
            note_wrong(c, &z->call, s->out, s->index, value);
    }
    hc_reference_end();
}

/* Runs one call. False if the case is over: the backend lacks the op, or something failed. */
static bool run_point(struct hc_check *check, const struct hc_border_row *row, struct room *room,
                      const struct hc_border_point *point, struct hc_comparisons *all)
{
    struct hc_integers *z = &room->integers;
    int inputs = hc_ops[row->op].inputs;
    z->call = hc_border_call(row, point);
    z->number = point->number;
    z->seed = check->seed;
    struct hc_accumulator sums = hc_backend_accumulator(check->backend, &z->call);
    z->precision = sums.precision;
    for (int s = 0; s < inputs + hc_ops[row->op].outputs; s++) {
        struct hc_tensor *t = hc_slot_tensor(&z->call, s);
        t->data = hc_op_absent(&z->call, s) ? NULL : room->slot[s];
        if (t->data && s >= inputs)
            memset(t->data, 0xa5, hc_tensor_bytes(t));
    }
    bool filled = false;
    if (!hc_known_integers(check, z, &filled)) {
        filled = hc_integers_fill(z);
        hc_known_keep_integers(check, z, filled);
    }
    if (!filled)
        return true;
    if (hc_do(check, &z->call) != HC_OK)
        return false;
    hc_check_judged(check, &z->call);
    struct comparison c = {.point = point, .all = all, .free = check->backend->free_order};
    struct hc_comparisons before = *all;
    for (int out = 0; out < hc_ops[row->op].outputs; out++)
        compare_output(&c, z, out);
    judge_strays(&c, z, &sums);
    hc_say(check, "%s: %" PRId64 " elements, %" PRId64 " wrong", point->text,
           all->checked - before.checked, all->wrong - before.wrong);
    return true;
}

void hc_claim_integers(struct hc_check *check, const struct hc_border_row *row,
                       const struct hc_border_point *points, int count)
{
    struct room room = {0};
    struct hc_comparisons all = {.what = "elements as integer arithmetic gives them"};
    struct hc_call probe = hc_border_call(row, &points[0]);
    hc_check_lacks(check, &probe);
    if (!hc_check_ok(check, hc_backend_has(check->backend, &probe)))
        return;
    make_room(check, row, points, count, &room);
    for (int i = 0; i < count; i++)
        if (!run_point(check, row, &room, &points[i], &all))
            return;
    check->order_met = NULL; /* the comparisons hold in any order */
    hc_claim_comparisons(check, &all);
}

static void run_border(struct hc_check *check)
{
    const struct row *row = hc_check_case(check)->data;
    struct hc_border_point *points =
        hc_check_memory(check, HC_BORDER_POINTS * sizeof(struct hc_border_point));
    int count =
        hc_border_points(&row->what, check->level, check->backends, check->backend_count, points);
    hc_claim_integers(check, &row->what, points, count);
}

enum { MAX_ROWS = 2048 };

static struct row rows[MAX_ROWS];
static struct hc_case cases[MAX_ROWS];

static void append(struct hc_case_table *table, const struct hc_border_row *what)
{
    assert(table->count < MAX_ROWS);
    struct row *to = &rows[table->count];
    bool pairs = what->extent == HC_EXTENT_COUNT;
    const char *extent = pairs ? "pairs" : hc_extent_names[what->extent];
    to->what = *what;
    (void)snprintf(to->name, sizeof to->name, "border/%s/%s/%s", hc_ops[what->op].name,
                   what->set->name, extent);
    if (pairs)
        (void)snprintf(to->title, sizeof to->title,
                       "%s: right wherever two choices of shape and parameters meet",
                       hc_ops[what->op].title);
    else
        (void)snprintf(to->title, sizeof to->title,
                       "%s: right at every border of its %s, on integers", hc_ops[what->op].title,
                       extent);
    cases[table->count++] =
        (struct hc_case){.name = to->name,
                         .title = to->title,
                         .source = "the op's contract in src/op/; borders in the backends' tables",
                         .level = HC_STANDARD,
                         .run = run_border,
                         .data = to};
}

/* The case of an op whose family gives no integers, and does not say why. */
static void run_without(struct hc_check *check)
{
    const struct row *row = hc_check_case(check)->data;
    (void)hc_fail(HC_UNSUPPORTED, "the row of %s in src/check/family/ has no `integers`",
                  hc_ops[row->what.op].name);
    (void)hc_check_ok(check, HC_UNSUPPORTED);
}

static void append_without(struct hc_case_table *table, enum hc_op op)
{
    assert(table->count < MAX_ROWS);
    struct row *to = &rows[table->count];
    to->what.op = op;
    (void)snprintf(to->name, sizeof to->name, "border/%s", hc_ops[op].name);
    (void)snprintf(to->title, sizeof to->title, "%s: right at every border, on integers",
                   hc_ops[op].title);
    cases[table->count++] = (struct hc_case){.name = to->name,
                                             .title = to->title,
                                             .source = hc_op_contract(op),
                                             .level = HC_STANDARD,
                                             .run = run_without,
                                             .data = to};
}

static void append_sets(struct hc_case_table *table, enum hc_op op, enum hc_extent extent)
{
    struct hc_variant variant = hc_integers_variant(op, 0);
    bool plain = true;
    for (const struct hc_format_set *set = hc_opspace(op).sets; set->name; set++) {
        if (!hc_format_set_allowed(op, set, &variant))
            continue;
        append(table, &(struct hc_border_row){op, set, extent, plain});
        plain = false;
    }
}

static void append_op(struct hc_case_table *table, enum hc_op op)
{
    const struct hc_family *f = hc_family(op);
    if (!f->integers && !f->no_integers)
        append_without(table, op);
    if (!f->integers)
        return;
    for (const struct hc_family_extent *e = f->extents; e && e->extent < HC_EXTENT_COUNT; e++)
        append_sets(table, op, e->extent);
    if (f->choices)
        append_sets(table, op, HC_EXTENT_COUNT);
}

const struct hc_case_table *hc_border_cases(void)
{
    static struct hc_case_table table = {cases, 0};
    static bool made;
    for (int op = 0; op < HC_OP_COUNT && !made; op++)
        append_op(&table, (enum hc_op)op);
    made = true;
    return &table;
}
