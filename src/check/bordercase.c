/* The generated cases border/: each runs an op on integers at every size that lies at a border of some
   backend (border.h), one extent at a time, and compares all elements with integer arithmetic. */
#include "check/bordercase.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/border.h"
#include "check/bound.h"
#include "check/integers.h"
#include "check/tally.h"

struct row {
    enum hc_op op;
    const struct hc_mix *mix;
    enum hc_extent extent;
    bool
        plain; /* of the op's mixes the one that also goes to the largest sizes at level standard */
    char name[64];
    char title[128];
};

/* The other extents: small, odd and unlike each other. Filters, strides and pads take turns. */
static struct hc_op_shape shape_of(const struct row *row, int64_t size, int number)
{
    static const int64_t filters[][3] = {{3, 1, 1}, {3, 2, 1}, {1, 1, 0}, {5, 2, 2}, {2, 3, 0}};
    const int64_t *f = filters[number % 5];
    bool back = row->op == HC_OP_avg_pool_bwd;
    int64_t window = 2 + number % 2;
    int64_t area = window * window;
    switch (row->extent) {
    case HC_EXTENT_GEMM_M:
        return (struct hc_op_shape){.d = {size, 5, 7}};
    case HC_EXTENT_GEMM_N:
        return (struct hc_op_shape){.d = {3, size, 9}};
    case HC_EXTENT_GEMM_K:
        return (struct hc_op_shape){.d = {3, 5, size}};
    case HC_EXTENT_CONV_IMAGES:
        return (struct hc_op_shape){.d = {size, 5, 7, 2, 3, f[0], f[1], f[2]}};
    case HC_EXTENT_CONV_CHANNELS:
        return (struct hc_op_shape){.d = {2, 5, 6, size, 3, f[0], f[1], f[2]}};
    case HC_EXTENT_CONV_FILTERS:
        return (struct hc_op_shape){.d = {2, 6, 5, 3, size, f[0], f[1], f[2]}};
    case HC_EXTENT_CONV_PIXELS:
        return (struct hc_op_shape){.d = {3, 1, size, 2, 3, 3, 1, 1}};
    case HC_EXTENT_CONV_IMAGE: /* more images than a run has that is cut by their size */
        return (struct hc_op_shape){.d = {size < 8192 ? 35 : 11, 1, size, 1, 1, 3, 1, 1}};
    case HC_EXTENT_CONV_WEIGHTS:
        return (struct hc_op_shape){.d = {2, 3, 3, 17, (size + 67) / 68, 2, 1, 0}};
    case HC_EXTENT_NORM_CHANNELS:
        return (struct hc_op_shape){.d = {2, 3, 2, size}};
    case HC_EXTENT_NORM_ELEMENTS:
        return (struct hc_op_shape){.d = {size, 1, 1, 1}};
    case HC_EXTENT_POOL_CHANNELS:
        return (struct hc_op_shape){.d = {2, 2 * window, window, size, window}};
    case HC_EXTENT_POOL_ELEMENTS:
        return (struct hc_op_shape){
            .d = {back ? (size + area - 1) / area : size, window, window, 1, window}};
    case HC_EXTENT_LOSS_ROWS:
        return (struct hc_op_shape){.d = {size, 3}};
    case HC_EXTENT_LOSS_CLASSES:
        return (struct hc_op_shape){.d = {70, size}};
    default:
        return (struct hc_op_shape){.d = {size}};
    }
}

/* Choices that have no extent go by the size, whatever other sizes there are (Knuth's multiplicative
   hash, so that neighbours and 2 b + 7 differ in all of them). */
static int number_of(int64_t size)
{
    return (int)((uint32_t)size * 2654435761u >> 20);
}

static struct hc_call call_at(const struct row *row, int64_t size, int number)
{
    struct hc_variant variant = hc_integers_variant(row->op, number);
    struct hc_op_shape shape = shape_of(row, size, number);
    struct hc_call call = hc_op_call(row->op, row->mix, &shape, &variant);
    if (row->op == HC_OP_adam || row->op == HC_OP_adamw)
        call.params.adam.eps = 0;
    return call;
}

static struct hc_tensor *slot_of(struct hc_call *call, int slot)
{
    int inputs = hc_ops[call->op].inputs;
    return slot < inputs ? &call->in[slot] : &call->out[slot - inputs];
}

/* What a call costs: elements, or products. */
static int64_t work_of(const struct hc_call *call)
{
    int64_t in = hc_tensor_count(&call->in[0]);
    int64_t out = hc_tensor_count(&call->out[0]);
    return (int64_t)fmax((double)(in > out ? in : out), (double)out * hc_bound_length(call));
}

/* The sizes of a case. Below level exhaustive the large ones are left to the first mix of formats, and there
   to the size just past the border, which is the only one of the middling ones in the other mixes. One size
   at least is in every case. */
enum { MIDDLING = 1 << 12, LARGE = 40000 };

static int sizes_of(const struct hc_check *check, const struct row *row,
                    struct hc_border_size sizes[HC_BORDER_SIZES])
{
    int count = hc_border_sizes(check->backends, check->backend_count, row->extent, sizes);
    int kept = 0;
    for (int i = 0; i < count; i++) {
        struct hc_call call = call_at(row, sizes[i].size, number_of(sizes[i].size));
        int64_t work = work_of(&call);
        bool past = sizes[i].size == sizes[i].border + 1;
        if (work <= (row->plain ? LARGE : MIDDLING) || check->level == HC_EXHAUSTIVE ||
            (past && (row->plain || work <= LARGE || kept == 0)))
            sizes[kept++] = sizes[i];
    }
    return kept;
}

/* Choices at each size: a matrix product has a factor as it is, and transposed. */
static int turns_of(enum hc_op op)
{
    return op == HC_OP_gemm ? 2 : 1;
}

/* Memory for the largest of the calls, which all have. */
struct room {
    void *slot[HC_MAX_IN + HC_MAX_OUT];
    struct hc_integers integers;
};

static void make_room(struct hc_check *check, const struct row *row,
                      const struct hc_border_size *sizes, int count, struct room *room)
{
    size_t bytes[HC_MAX_IN + HC_MAX_OUT] = {0};
    int64_t elements[HC_MAX_IN + HC_MAX_OUT] = {0};
    int inputs = hc_ops[row->op].inputs;
    int slots = inputs + hc_ops[row->op].outputs;
    int turns = turns_of(row->op);
    for (int i = 0; i < count * turns; i++) {
        int64_t size = sizes[i / turns].size;
        struct hc_call call = call_at(row, size, number_of(size) + i % turns);
        for (int s = 0; s < slots; s++) {
            const struct hc_tensor *t = slot_of(&call, s);
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

/* The farthest of those that are not settled; the contract's bound decides about them. */
enum { STRAYS = 16 };

struct comparison {
    const struct row *row;
    int64_t size;
    int64_t checked;
    int64_t wrong;
    struct stray strays[STRAYS];
    int stray_count;
    char first[200];
};

static void note_wrong(struct comparison *c, const struct hc_call *call, int out, int64_t i,
                       double want)
{
    if (c->wrong++)
        return;
    (void)snprintf(
        c->first, sizeof c->first, "%s %" PRId64 ": out%d[%" PRId64 "]: want %.9g, got %.9g",
        hc_extent_names[c->row->extent], c->size, out, i, want, hc_tensor_get(&call->out[out], i));
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
        if (hc_integers_settled(z->call.op))
            note_wrong(c, &z->call, out, i, want);
        else
            note_stray(c, out, i, fabs(got - want) / fmax(fabs(want), 1));
    }
    c->checked += n;
}

static void judge_strays(struct comparison *c, const struct hc_integers *z,
                         const struct hc_accumulator *sums)
{
    for (int k = 0; k < c->stray_count; k++) {
        const struct stray *s = &c->strays[k];
        const struct hc_tensor *t = &z->call.out[s->out];
        double value = z->want[s->out][s->index];
        struct hc_want want = {.value = value, .magnitude = fabs(value)};
        double bound = hc_bound(&z->call, sums, s->out, s->index, &want);
        double error = hc_bound_error(t->format, &want, hc_tensor_get(t, s->index));
        if (!(error <= bound * (1 + 0x1p-40) + 0x1p-50 * fabs(value)))
            note_wrong(c, &z->call, s->out, s->index, value);
    }
}

/* One size. False when there is nothing more to do: the backend lacks the op, or something failed. */
static bool run_size(struct hc_check *check, const struct row *row, struct room *room, int64_t size,
                     int number, struct comparison *all)
{
    struct hc_integers *z = &room->integers;
    int inputs = hc_ops[row->op].inputs;
    z->call = call_at(row, size, number);
    z->number = number;
    z->seed = check->seed;
    z->sums = &check->backend->accumulator;
    for (int s = 0; s < inputs + hc_ops[row->op].outputs; s++) {
        struct hc_tensor *t = slot_of(&z->call, s);
        t->data = hc_op_absent(&z->call, s) ? NULL : room->slot[s];
        if (t->data && s >= inputs)
            memset(t->data, 0xa5, hc_tensor_bytes(t));
    }
    if (!hc_integers_fill(z))
        return true;
    if (hc_do(check, &z->call) != HC_OK)
        return false;
    struct comparison c = {.row = row, .size = size};
    for (int out = 0; out < hc_ops[row->op].outputs; out++)
        compare_output(&c, z, out);
    judge_strays(&c, z, z->sums);
    hc_say(check, "%s %" PRId64 ": %" PRId64 " elements, %" PRId64 " wrong",
           hc_extent_names[row->extent], size, c.checked, c.wrong);
    if (all->wrong == 0)
        memcpy(all->first, c.first, sizeof all->first);
    all->checked += c.checked;
    all->wrong += c.wrong;
    return true;
}

static void run(struct hc_check *check)
{
    const struct row *row = hc_check_case(check)->data;
    struct hc_border_size sizes[HC_BORDER_SIZES];
    struct room room = {0};
    struct comparison all = {0};
    int count = sizes_of(check, row, sizes);
    struct hc_call probe = call_at(row, 1, 0);
    if (!hc_check_ok(check, hc_backend_has(check->backend, &probe)))
        return;
    make_room(check, row, sizes, count, &room);
    int turns = turns_of(row->op);
    for (int i = 0; i < count * turns; i++) {
        int64_t size = sizes[i / turns].size;
        if (!run_size(check, row, &room, size, number_of(size) + i % turns, &all))
            return;
    }
    if (all.checked)
        hc_claim_sweep(check, all.checked, all.wrong, all.wrong ? all.first : NULL);
}

enum { MOST_ROWS = 1024 };

static struct row rows[MOST_ROWS];
static struct hc_case cases[MOST_ROWS];

static void append(struct hc_case_table *table, const struct row *row)
{
    assert(table->count < MOST_ROWS);
    struct row *to = &rows[table->count];
    *to = *row;
    (void)snprintf(to->name, sizeof to->name, "border/%s/%s/%s", hc_ops[row->op].name,
                   row->mix->name, hc_extent_names[row->extent]);
    (void)snprintf(to->title, sizeof to->title, "%s: right at every border of its %s, on integers",
                   hc_ops[row->op].title, hc_extent_names[row->extent]);
    cases[table->count++] =
        (struct hc_case){.name = to->name,
                         .title = to->title,
                         .source = "contract in src/op/call.h; borders in the backends' tables",
                         .level = HC_STANDARD,
                         .run = run,
                         .data = to};
}

static void append_op(struct hc_case_table *table, enum hc_op op)
{
    struct hc_opspace space = hc_opspace(op);
    struct hc_variant variant = hc_integers_variant(op, 0);
    for (int e = 0; e < HC_EXTENT_COUNT; e++) {
        bool plain = true;
        for (const struct hc_mix *mix = space.mixes; mix->name; mix++) {
            if (!hc_border_concerns(op, (enum hc_extent)e) || !hc_mix_allowed(op, mix, &variant))
                continue;
            append(table, &(struct row){op, mix, (enum hc_extent)e, plain, "", ""});
            plain = false;
        }
    }
}

const struct hc_case_table *hc_border_cases(void)
{
    static struct hc_case_table table = {cases, 0};
    if (table.count > 0)
        return &table;
    for (int op = 0; op < HC_OP_COUNT; op++)
        append_op(&table, (enum hc_op)op);
    return &table;
}
