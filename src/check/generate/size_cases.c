/* The generated cases size/: every op at sizes as models have them, with one, two and more tiles of
   a kernel in all extents at once, and one more or one less. Every element is judged
   (check/repeats.h), but for the ops below that look at all elements in one number.

   A tile of a GEMM is 64, 128 or 256 wide, a vector of a GPU's grid has 2^16 blocks or more, and
   K is split where the rows and columns alone do not fill the machine. None of that happens in
   products of 65 x 33 x 64. */
#include "check/generate/cases.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "check/generate/border.h"
#include "check/generate/distribution.h"
#include "check/family/kit.h"
#include "check/check_inner.h"
#include "op/descriptor.h"

/* A row of a family's sizes, with what its names mean. */
struct row {
    enum hc_op op;
    const struct hc_family_size *size;
    const struct hc_format_set *set;
    const struct hc_variant *variant;
    char name[96];
    char title[160];
};

static void allocate(struct hc_check *check, struct hc_call *call, bool outputs)
{
    for (int s = 0; s < hc_slot_count(call->op); s++) {
        struct hc_tensor *t = hc_slot_tensor(call, s);
        if (!hc_op_absent(call, s) && (outputs || s < hc_ops[call->op].inputs))
            t->data = hc_check_memory(check, hc_tensor_bytes(t));
    }
}

/* Labels name classes that are not repeated, so that an element of a gradient is right or wrong by
   its kind alone. */
static void hold_labels(const struct hc_call *call)
{
    for (int s = 0; s < hc_ops[call->op].inputs; s++)
        for (int64_t i = 0;
             hc_slot(call->op, s)->values == HC_VALUES_LABELS && i < hc_tensor_count(&call->in[s]);
             i++)
            ((int32_t *)call->in[s].data)[i] %= HC_SIZE_ALONE;
}

/* Vectors of as many elements as the first one, beside scalars. */
static void layout_of_vector(struct hc_axes *to, const struct hc_call *call, int slot,
                             const struct hc_tensor *small, const struct hc_tensor *large)
{
    bool each = slot == HC_FIRST || hc_slot(call->op, slot)->size == HC_SIZE_FIRST;
    hc_axes_add(to, each ? HC_AXIS_ROWS : HC_AXIS_TERMS, small->shape[0], large->shape[0], 1, 0);
}

/* The shape of the small call from which the inputs of one of shape `large` are repeated. */
static struct hc_op_shape size_small(enum hc_op op, const struct hc_variant *variant,
                                     const struct hc_op_shape *large)
{
    const struct hc_family *f = hc_family(op);
    struct hc_op_shape s = *large;
    if (f->small)
        f->small(&variant->params, s.d);
    else
        s.d[0] = hc_small_vector(s.d[0]);
    return s;
}

/* The axes of all tensors of the two calls. */
static void size_layout(const struct hc_call *small, const struct hc_call *large,
                        struct hc_repeats *repeats)
{
    const struct hc_family *f = hc_family(large->op);
    memset(repeats->slot, 0, sizeof repeats->slot);
    for (int s = 0; s < hc_slot_count(large->op); s++) {
        const struct hc_tensor *few = hc_slot_tensor_const(small, s);
        const struct hc_tensor *all = hc_slot_tensor_const(large, s);
        if (hc_op_absent(large, s))
            continue;
        if (f->layout)
            f->layout(large, s, few, all, &repeats->slot[s]);
        else
            layout_of_vector(&repeats->slot[s], large, s, few, all);
    }
}

static void run_on_integers(struct hc_check *check, const struct row *row,
                            const struct hc_op_shape *shape)
{
    const struct hc_family *f = hc_family(row->op);
    struct hc_border_row what = {row->op, row->set, HC_EXTENT_COUNT, true};
    struct hc_border_point point = {.text = "large"};
    memcpy(point.shape.d, shape->d, sizeof point.shape.d);
    hc_claim_integers(check, &what, &point, 1);
    if (!f->also_large || check->result.verdict != HC_PASS)
        return;
    struct hc_call large = hc_op_call(row->op, row->set, shape, row->variant);
    allocate(check, &large, true);
    f->also_large(check, &large);
}

static void run_size(struct hc_check *check)
{
    const struct row *row = hc_check_case(check)->data;
    enum hc_op op = row->op;
    const struct hc_family *f = hc_family(op);
    struct hc_op_shape shape = {.name = ""};
    memcpy(shape.d, row->size->d, sizeof shape.d);
    if (f->on_integers && f->on_integers(row->size->d)) {
        run_on_integers(check, row, &shape);
        return;
    }
    struct hc_op_shape few = size_small(op, row->variant, &shape);
    struct hc_call small = hc_op_call(op, row->set, &few, row->variant);
    struct hc_call large = hc_op_call(op, row->set, &shape, row->variant);
    struct hc_repeats repeats = {.seed = hc_case_seed(check)};
    if (!hc_check_ok(check, hc_backend_has(check->backend, &large)))
        return;
    size_layout(&small, &large, &repeats);
    allocate(check, &small, false);
    allocate(check, &large, true);
    hc_draw_inputs(&small, HC_DRAW_NORMAL, repeats.seed);
    hold_labels(&small);
    if (!hc_repeats_keep(&repeats, check->known) || !hc_repeats_fill(&repeats, &small, &large)) {
        hc_repeats_end(&repeats);
        (void)hc_fail(HC_NO_MEMORY, "%s: no memory for its inputs", hc_ops[op].name);
        hc_check_failed(check);
        return;
    }
    /* The terms of a product are independent of each other, those of a mean over repeated rows
       not. */
    hc_claim_repeated(check, &large, &repeats, f->multiplies ? HC_INPUTS_RANDOM : HC_INPUTS_ANY);
    hc_repeats_end(&repeats);
    if (f->also_large)
        f->also_large(check, &large);
}

enum { MAX_ROWS = 2048 };

static struct row rows[MAX_ROWS];
static struct hc_case cases[MAX_ROWS];

static bool is_for(const struct hc_family_size *size, const struct hc_format_set *set)
{
    return strcmp(size->set, set->name) == 0;
}

/* Whether the set has a row of its own at that level. */
static bool has_own(enum hc_op op, const struct hc_format_set *set, enum hc_level level)
{
    bool own = false;
    for (const struct hc_family_size *s = hc_family(op)->sizes; s->set && !own; s++)
        own = is_for(s, set) && (level == HC_EXHAUSTIVE) == (s->level == HC_EXHAUSTIVE);
    return own;
}

/* The row's variant: the named one, or the first that the set allows; NULL if it allows none. */
static const struct hc_variant *variant_of(enum hc_op op, const struct hc_family_size *size,
                                           const struct hc_format_set *set)
{
    const struct hc_variant *v = hc_opspace(op).variants;
    while (v->name && (size->variant ? strcmp(v->name, size->variant) != 0
                                     : !hc_format_set_allowed(op, set, v)))
        v++;
    assert(v->name || !size->variant);
    return v->name && hc_format_set_allowed(op, set, v) ? v : NULL;
}

static void write_shape(const int64_t *d, char *text, size_t size)
{
    int count = 8;
    while (count > 1 && d[count - 1] == 0)
        count--;
    size_t at = 0;
    for (int i = 0; i < count && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%lld", i ? "x" : "", (long long)d[i]);
}

static bool is_there(const struct hc_case_table *table, const char *name)
{
    bool there = false;
    for (int i = 0; i < table->count && !there; i++)
        there = strcmp(table->cases[i].name, name) == 0;
    return there;
}

static void append(struct hc_case_table *table, enum hc_op op, const struct hc_family_size *size,
                   const struct hc_format_set *set)
{
    const struct hc_family *f = hc_family(op);
    const struct hc_variant *variant = variant_of(op, size, set);
    if (!variant) /* the op's lists name a set that the op does not take */
        return;
    assert(table->count < MAX_ROWS);
    struct row *row = &rows[table->count];
    char shape[64];
    *row = (struct row){.op = op, .size = size, .set = set, .variant = variant};
    (f->write_shape ? f->write_shape : write_shape)(size->d, shape, sizeof shape);
    (void)snprintf(row->name, sizeof row->name, "size/%s/%s/%s%s", hc_ops[op].name, row->set->name,
                   shape, row->variant->name);
    (void)snprintf(row->title, sizeof row->title,
                   "%s: every element right at a size that models have", hc_ops[op].title);
    if (!is_there(table, row->name)) /* a set's own row at a lower level */
        cases[table->count++] = (struct hc_case){.name = row->name,
                                                 .title = row->title,
                                                 .source = hc_op_contract(op),
                                                 .level = size->level,
                                                 .run = run_size,
                                                 .data = row,
                                                 .fast_only = size->level == HC_EXHAUSTIVE};
}

static void append_size(struct hc_case_table *table, enum hc_op op,
                        const struct hc_family_size *size)
{
    bool others = strcmp(size->set, HC_OTHER_SETS) == 0;
    int count = 0;
    for (const struct hc_format_set *set = hc_opspace(op).sets; set->name; set++)
        if (others ? !has_own(op, set, size->level) : is_for(size, set)) {
            append(table, op, size, set);
            count++;
        }
    assert(others || count == 1);
}

const struct hc_case_table *hc_size_cases(void)
{
    static struct hc_case_table table = {cases, 0};
    static bool made;
    for (int op = 0; op < HC_OP_COUNT && !made; op++)
        for (const struct hc_family_size *s = hc_family((enum hc_op)op)->sizes; s && s->set; s++)
            append_size(&table, (enum hc_op)op, s);
    made = true;
    return &table;
}
