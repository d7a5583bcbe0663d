/* The generated cases: every op, over the formats, shapes and parameters of op_space.c and the
   distributions of distribution.c. */
#include "check/generate/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound/bound.h"
#include "check/family/family.h"
#include "check/generate/distribution.h"
#include "check/generate/op_space.h"
#include "check/check_inner.h"
#include "check/known.h"
#include "op/descriptor.h"

/* In place: each output that updates an input lies in its memory (HC_OWN_PLACE), or the first
   output lies in that of another input, whose number `place` is. A kernel that handles out = x may
   still be wrong for out = y, because it writes out before it has read y. */
enum { HC_OWN_PLACE = -1 };

/* A case and the row of each table that it was made from. */
struct row {
    enum hc_op op;
    const struct hc_format_set *set;
    const struct hc_op_shape *shape;
    const struct hc_variant *variant;
    int place; /* of a shape in place */
    enum hc_distribution distribution;
    char name[96];
    char title[128];
};

/* The row's call, its tensors without memory. */
static struct hc_call call_of(const struct row *row)
{
    struct hc_call call = hc_op_call(row->op, row->set, row->shape, row->variant);
    const struct hc_family *f = hc_family(row->op);
    if (row->shape->in_place && row->place == HC_OWN_PLACE && f->open_place)
        f->open_place(&call);
    return call;
}

static bool lies_in(const struct row *row, const struct hc_call *call, int o, int i)
{
    int number = hc_ops[row->op].inputs + o;
    const struct hc_slot *slot = hc_slot(row->op, number);
    bool own = slot->in_place && slot->like == i;
    bool other =
        o == HC_FIRST && i == row->place && !own && hc_slot(row->op, i)->size == HC_SIZE_FIRST;
    return (row->place == HC_OWN_PLACE ? own : other) && !hc_op_absent(call, number) &&
           !hc_op_absent(call, i) && hc_may_lie_in(call, o, i);
}

static void allocate(struct hc_check *check, struct hc_call *call, const struct row *row)
{
    int inputs = hc_ops[call->op].inputs;
    for (int i = 0; i < inputs; i++)
        if (!hc_op_absent(call, i))
            call->in[i].data = hc_check_memory(check, hc_tensor_bytes(&call->in[i]));
    for (int o = 0; o < hc_ops[call->op].outputs; o++) {
        struct hc_tensor *t = &call->out[o];
        if (hc_op_absent(call, inputs + o))
            continue;
        for (int i = 0; i < inputs && row->shape->in_place; i++)
            if (lies_in(row, call, o, i))
                t->data = call->in[i].data;
        if (!t->data)
            t->data = hc_check_memory(check, hc_tensor_bytes(t));
    }
}

static bool is_in_place(const struct row *row, const struct hc_call *call)
{
    bool any = false;
    for (int o = 0; o < hc_ops[row->op].outputs; o++)
        for (int i = 0; i < hc_ops[row->op].inputs; i++)
            any |= lies_in(row, call, o, i);
    return any;
}

/* If only some elements were compared with MPFR, those that the distribution promises must be among
   them. */
static void judge_looked_at(struct hc_check *check, const struct row *row)
{
    const struct hc_result *r = &check->result;
    bool promised = row->distribution == HC_DRAW_SPECIALS ||
                    (row->distribution == HC_DRAW_SUBNORMALS && hc_family(row->op)->vectors);
    if (promised && r->special == 0 && r->looked_at < r->looked_of)
        hc_mistrust(check, "none of the %lld elements looked at of %lld is one of '%s'",
                    (long long)r->looked_at, (long long)r->looked_of,
                    hc_distribution_names[row->distribution]);
}

static enum hc_inputs inputs_of(enum hc_distribution distribution)
{
    if (distribution == HC_DRAW_NORMAL || distribution == HC_DRAW_POSITIVE)
        return HC_INPUTS_RANDOM;
    if (distribution == HC_DRAW_STAGNATION || distribution == HC_DRAW_CUT)
        return HC_INPUTS_STAGNANT;
    return distribution == HC_DRAW_WHOLE ? HC_INPUTS_WHOLE : HC_INPUTS_ANY;
}

/* A sum that cancels to 2^-10 of its terms' magnitude says nothing of an accumulator that may lose
   as much. It is run all the same, since a kernel may refuse it. */
static bool is_lost(struct hc_check *check, const struct row *row, const struct hc_call *call)
{
    struct hc_accumulator sums = hc_backend_accumulator(check->backend, call);
    double growth = hc_bound_growth(&sums, hc_call_length(call));
    bool lost = row->distribution == HC_DRAW_CANCELLATION && hc_bound_in_unit(call) &&
                sums.precision < hc_formats[HC_FP32].precision && growth >= 0x1p-10;
    if (lost && hc_do(check, call) == HC_OK)
        hc_skip(check, "its sums keep %d bits, and may lose what these cancel to", sums.precision);
    return lost;
}

static void run_drawn(struct hc_check *check)
{
    const struct row *row = hc_check_case(check)->data;
    struct hc_call call = call_of(row);
    allocate(check, &call, row);
    if (!hc_known_inputs(check, &call)) {
        hc_draw_inputs(&call, row->distribution, hc_case_seed(check));
        hc_known_keep_inputs(check, &call);
    }
    if (is_lost(check, row, &call))
        return;
    if (!hc_distribution_reached(&call, row->distribution))
        hc_mistrust(check, "no input is what '%s' says", hc_distribution_names[row->distribution]);
    hc_claim_call_on(check, &call, inputs_of(row->distribution));
    judge_looked_at(check, row);
    if (hc_family(row->op)->also && row->distribution == HC_DRAW_SPECIALS)
        hc_family(row->op)->also(check, &call);
    if (hc_tensor_count(&call.out[HC_FIRST]) == 0)
        hc_claim_true(check, "nothing is written around empty tensors",
                      check->result.verdict != HC_FAIL);
}

/* Sums of so many terms show what they are added up in. */
enum { LONG = 200 };

static bool wanted(const struct row *row)
{
    struct hc_call call = call_of(row);
    if (!hc_format_set_allowed(row->op, row->set, row->variant) ||
        !hc_distribution_applies(&call, row->distribution))
        return false;
    bool long_sum = hc_distribution_of_sums(row->distribution) && hc_call_length(&call) >= LONG;
    if (!row->shape->every_distribution && row->distribution != HC_DRAW_NORMAL && !long_sum)
        return false;
    return !row->shape->in_place || is_in_place(row, &call);
}

struct list {
    struct row *rows;
    int count;
    int room;
    bool full; /* there was no memory for more */
};

static void append(struct list *list, const struct row *row)
{
    if (list->count == list->room && !list->full) {
        int room = list->room ? 2 * list->room : 1024;
        struct row *larger = realloc(list->rows, (size_t)room * sizeof *larger);
        list->full = !larger;
        list->rows = larger ? larger : list->rows;
        list->room = larger ? room : list->room;
    }
    if (list->full)
        return;
    struct row *to = &list->rows[list->count++];
    *to = *row;
    if (!row->set)
        return;
    bool other = row->shape->in_place && row->place != HC_OWN_PLACE;
    (void)snprintf(to->name, sizeof to->name, "op/%s/%s/%s%s%s%s/%s", hc_ops[row->op].name,
                   row->set->name, row->shape->name, other ? "-of-" : "",
                   other ? hc_slot(row->op, row->place)->name : "", row->variant->name,
                   hc_distribution_names[row->distribution]);
    (void)snprintf(to->title, sizeof to->title, "%s: as its contract says, on %s numbers",
                   hc_ops[row->op].title, hc_distribution_names[row->distribution]);
}

static void append_shape(struct list *list, struct row row)
{
    int places = row.shape->in_place ? hc_ops[row.op].inputs : 0;
    for (row.place = HC_OWN_PLACE; row.place < places; row.place++)
        for (int d = 0; d < HC_DISTRIBUTION_COUNT; d++) {
            row.distribution = (enum hc_distribution)d;
            if (wanted(&row))
                append(list, &row);
        }
}

/* The case of an op whose family has not given all three lists. */
static void append_without(struct list *list, enum hc_op op)
{
    append(list, &(struct row){.op = op});
    if (list->full)
        return;
    struct row *row = &list->rows[list->count - 1];
    (void)snprintf(row->name, sizeof row->name, "op/%s", hc_ops[op].name);
    (void)snprintf(row->title, sizeof row->title, "%s: as its contract says", hc_ops[op].title);
}

static void append_op(struct list *list, enum hc_op op)
{
    struct hc_opspace space = hc_opspace(op);
    if (hc_opspace_lacks(op))
        append_without(list, op);
    for (const struct hc_format_set *set = space.sets; set->name; set++)
        for (const struct hc_op_shape *shape = space.shapes; shape->name; shape++)
            for (const struct hc_variant *variant = space.variants; variant->name; variant++)
                append_shape(
                    list, (struct row){.op = op, .set = set, .shape = shape, .variant = variant});
}

static void run_without(struct hc_check *check)
{
    const struct row *row = hc_check_case(check)->data;
    (void)hc_fail(HC_UNSUPPORTED, "the row of %s in src/check/family/ has no %s",
                  hc_ops[row->op].name, hc_opspace_lacks(row->op));
    (void)hc_check_ok(check, HC_UNSUPPORTED);
}

static struct hc_case *cases;
static struct row *rows;

static void release(void)
{
    free(cases);
    free(rows);
}

/* Quick: fp16 and fp32, or the first formats of codes, with normal numbers in the first
   parameters. */
static enum hc_level level_of(const struct row *row)
{
    bool first = row->variant->name[0] == '\0' && row->distribution == HC_DRAW_NORMAL;
    bool plain = strcmp(row->set->name, "fp32") == 0 || strcmp(row->set->name, "fp16") == 0 ||
                 strcmp(row->set->name, "fp32-fp16") == 0 ||
                 (hc_family(row->op)->first_set_is_quick && row->set == hc_opspace(row->op).sets);
    if (row->shape->level == HC_QUICK && !(first && plain))
        return HC_STANDARD;
    return row->shape->level;
}

const struct hc_case_table *hc_op_cases(void)
{
    static struct hc_case_table table;
    struct list list = {0};
    if (cases)
        return &table;
    for (int op = 0; op < HC_OP_COUNT; op++)
        append_op(&list, (enum hc_op)op);
    struct hc_case *made = list.full ? NULL : calloc((size_t)list.count + 1, sizeof *made);
    if (!made) {
        free(list.rows);
        (void)hc_fail(HC_NO_MEMORY, "no memory for the list of cases");
        return NULL;
    }
    rows = list.rows;
    cases = made;
    (void)atexit(release);
    for (int i = 0; i < list.count; i++)
        cases[i] = (struct hc_case){.name = rows[i].name,
                                    .title = rows[i].title,
                                    .source = hc_op_contract(rows[i].op),
                                    .level = rows[i].set ? level_of(&rows[i]) : HC_QUICK,
                                    .run = rows[i].set ? run_drawn : run_without,
                                    .data = &rows[i]};
    table = (struct hc_case_table){cases, list.count};
    return &table;
}
