/* The generated cases bits/: the backend under test and `exact` run the same inputs, and every
   result must have the same bits. */
#include "check/generate/cases.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_inner.h"
#include "check/family/family.h"
#include "check/free_order.h"
#include "check/generate/boundary.h"
#include "check/generate/distribution.h"
#include "check/generate/op_space.h"
#include "check/run_call.h"
#include "num/rng.h"
#include "op/call.h"
#include "op/descriptor.h"

enum { HC_BIT_DRAWS = 32 };

struct bit_draw {
    const char *name; /* NULL: this one is not for the op and its formats */
    int64_t length;
    bool raw; /* outputs are copies: NaNs, too, must have the same bits */
};

/* Lengths that are no multiple of any power of two that a block may have. */
enum { REST = 15, LONG = 16384 + REST, MIDDLING = 4099, SHORT = 1031 };

enum { ALL_CODES, PAIRS, ANY_BITS, OF_OPS, SCALARS = OF_OPS + HC_DISTRIBUTION_COUNT };

static bool is_16(enum hc_format format)
{
    return format == HC_FP16 || format == HC_BF16;
}

/* Whether the slot holds data: as many elements as the first input, or that itself. */
static bool is_data(const struct hc_call *call, int slot)
{
    return slot == 0 || hc_slot(call->op, slot)->size == HC_SIZE_FIRST;
}

/* The distribution of that number, 0 .. HC_BIT_DRAWS - 1, for a call in these formats. */
static struct bit_draw bit_draw(const struct hc_call *call, int number)
{
    const struct hc_bit_scalar *s = hc_family(call->op)->bit_scalar;
    bool first = is_16(call->in[HC_FIRST].format);
    bool second =
        hc_ops[call->op].inputs > 1 && is_data(call, HC_Y) && is_16(call->in[HC_Y].format);
    if (number == ALL_CODES && first)
        return (struct bit_draw){"all codes", 65536 + REST, false};
    if (number == PAIRS && first && second)
        return (struct bit_draw){"pairs of boundaries",
                                 HC_BOUNDARY_CODES * HC_BOUNDARY_CODES + REST, false};
    if (number == ANY_BITS)
        return (struct bit_draw){"any bits", first ? MIDDLING : LONG, false};
    if (number >= OF_OPS && number < SCALARS) {
        enum hc_distribution distribution = (enum hc_distribution)(number - OF_OPS);
        if (hc_distribution_applies(call, distribution))
            return (struct bit_draw){hc_distribution_names[distribution], SHORT,
                                     distribution == HC_DRAW_FOUND};
    }
    if (number >= SCALARS && s && number - SCALARS < s->count)
        return (struct bit_draw){"any bits under many a scalar", SHORT, false};
    return (struct bit_draw){NULL, 0, false};
}

static void random_bits(const struct hc_tensor *t, uint64_t seed, int slot)
{
    enum { ROW = 256 };
    uint64_t row[ROW];
    int64_t count = hc_tensor_count(t);
    int shift = 64 - 8 * hc_formats[t->format].bytes;
    for (int64_t at = 0; at < count; at += ROW) {
        int n = count - at < ROW ? (int)(count - at) : ROW;
        hc_random_row(seed, 40 + (uint64_t)slot, (uint64_t)at, n, row);
        for (int i = 0; i < n; i++)
            hc_tensor_set_bits(t, at + i, row[i] >> shift);
    }
}

/* Fills every slot of data: all codes or boundaries where the distribution is these, any bits
   elsewhere. */
static void draw_data(const struct hc_call *call, int number, uint64_t seed)
{
    uint16_t codes[HC_BOUNDARY_CODES];
    if (number == PAIRS)
        hc_boundary_codes(call->in[HC_FIRST].format, codes);
    for (int slot = 0; slot < hc_ops[call->op].inputs; slot++) {
        const struct hc_tensor *t = &call->in[slot];
        if (!t->data || !is_data(call, slot))
            continue;
        if (number == PAIRS && slot == 1)
            hc_boundary_codes(t->format, codes);
        bool all = number == ALL_CODES && slot == 0;
        bool pairs = number == PAIRS && slot < 2;
        if (!all && !pairs) {
            random_bits(t, seed, slot);
            continue;
        }
        for (int64_t i = 0; i < hc_tensor_count(t); i++)
            hc_tensor_set_bits(t, i,
                               all ? (uint64_t)i % 65536
                                   : codes[(slot ? i : i / HC_BOUNDARY_CODES) % HC_BOUNDARY_CODES]);
    }
}

/* Fills all inputs that have memory. */
static void bit_draw_inputs(const struct hc_call *call, int number, uint64_t seed)
{
    const struct hc_bit_scalar *s = hc_family(call->op)->bit_scalar;
    bool of_ops = number >= OF_OPS && number < SCALARS;
    for (int slot = 0; slot < hc_ops[call->op].inputs; slot++) {
        if (of_ops)
            hc_draw_input(call, slot, (enum hc_distribution)(number - OF_OPS), seed);
        else if (!is_data(call, slot))
            hc_draw_input(call, slot, HC_DRAW_NORMAL, seed);
    }
    if (!of_ops)
        draw_data(call, number, seed + (uint64_t)number);
    if (number >= SCALARS && s)
        hc_tensor_set(&call->in[s->slot], s->element, s->values[number - SCALARS]);
}

struct row {
    enum hc_op op;
    const struct hc_format_set *set;
    const struct hc_variant *variant;
    char name[64];
    char title[128];
};

static struct hc_call call_of(const struct row *row, int64_t length)
{
    const struct hc_family *f = hc_family(row->op);
    struct hc_op_shape shape = {.d = {length}};
    if (f->bit_shape)
        f->bit_shape(length, shape.d);
    return hc_op_call(row->op, row->set, &shape, row->variant);
}

/* Absent inputs stay without memory. */
static void allocate_inputs(struct hc_check *check, struct hc_call *call)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++) {
        if (!hc_op_absent(call, i))
            call->in[i].data = hc_check_memory(check, hc_tensor_bytes(&call->in[i]));
    }
}

/* The call with outputs of its own; absent ones stay so. */
static struct hc_call with_outputs(struct hc_check *check, struct hc_call call)
{
    for (int o = 0; o < hc_ops[call.op].outputs; o++) {
        size_t bytes = hc_tensor_bytes(&call.out[o]);
        int number = hc_ops[call.op].inputs + o;
        const struct hc_slot *slot = hc_slot(call.op, number);
        bool state = slot->format == HC_ALLOW_LIKE; /* whose shape says whether it is absent */
        if (slot->optional && (state ? hc_op_absent(&call, number) : !call.out[o].data))
            continue;
        call.out[o].data = hc_check_memory(check, bytes);
    }
    return call;
}

static void compare(struct hc_comparisons *all, const struct hc_call *want,
                    const struct hc_call *got, const char *what, bool raw)
{
    const struct hc_tensor *x = &want->in[HC_FIRST];
    for (int o = 0; o < hc_ops[want->op].outputs; o++) {
        const struct hc_tensor *t = &want->out[o];
        const char *name = hc_slot(want->op, hc_ops[want->op].inputs + o)->name;
        int64_t n = t->data ? hc_tensor_count(t) : 0;
        bool equal = n > 0 && memcmp(t->data, got->out[o].data, hc_tensor_bytes(t)) == 0;
        for (int64_t i = 0; i < n && !equal; i++) {
            uint64_t a = hc_tensor_bits(t, i);
            uint64_t b = hc_tensor_bits(&got->out[o], i);
            if (raw ? a != b : !hc_same_bits(t->format, a, b))
                hc_comparisons_wrong(all,
                                     "%s, %s[%" PRId64 "] of input 0x%" PRIx64
                                     ": want %.9g (0x%" PRIx64 "), got %.9g (0x%" PRIx64 ")",
                                     what, name, i,
                                     i < hc_tensor_count(x) ? hc_tensor_bits(x, i) : 0,
                                     hc_decode(t->format, a), a, hc_decode(t->format, b), b);
        }
        all->checked += n;
    }
}

/* Runs the call on the backend under test and on exact. False if the case is over: the backend does
   not do the op in these formats, or something failed. */
static bool run_both(struct hc_check *check, const struct hc_call *call, const char *what, bool raw,
                     struct hc_comparisons *all)
{
    struct hc_call want = with_outputs(check, *call);
    struct hc_call got = with_outputs(check, *call);
    if (!hc_check_ok(check, hc_order_stated(check, &got)))
        return false;
    if (hc_do(check, &got) != HC_OK || !hc_check_ok(check, hc_do_on_exact(check, &want)))
        return false;
    compare(all, &want, &got, what, raw);
    return true;
}

static bool run_one(struct hc_check *check, const struct row *row, int number,
                    struct hc_comparisons *all)
{
    struct hc_call probe = call_of(row, 1);
    struct bit_draw distribution = bit_draw(&probe, number);
    if (!distribution.name)
        return true;
    struct hc_call call = call_of(row, distribution.length);
    allocate_inputs(check, &call);
    bit_draw_inputs(&call, number, check->seed);
    return run_both(check, &call, distribution.name, distribution.raw, all);
}

bool hc_claim_exact_bits(struct hc_check *check, const char *what, const struct hc_call *call)
{
    struct hc_comparisons all = {.what = "elements as exact gives them"};
    bool ran = run_both(check, call, what, false, &all);
    if (ran)
        hc_claim_comparisons(check, &all);
    return ran;
}

static void run_bits(struct hc_check *check)
{
    const struct row *row = hc_check_case(check)->data;
    struct hc_comparisons all = {.what = "elements as exact gives them"};
    for (int number = 0; number < HC_BIT_DRAWS; number++)
        if (!run_one(check, row, number, &all))
            return;
    hc_claim_comparisons(check, &all);
}

enum { MAX_ROWS = 1024 };

static struct row rows[MAX_ROWS];
static struct hc_case cases[MAX_ROWS];

static void append(struct hc_case_table *table, const struct row *row)
{
    assert(table->count < MAX_ROWS);
    struct row *to = &rows[table->count];
    bool plain = strcmp(row->set->name, "fp32") == 0 || strcmp(row->set->name, "fp16") == 0;
    *to = *row;
    (void)snprintf(to->name, sizeof to->name, "bits/%s/%s%s", hc_ops[row->op].name, row->set->name,
                   row->variant->name);
    (void)snprintf(to->title, sizeof to->title, "%s: the same bits as exact",
                   hc_ops[row->op].title);
    cases[table->count++] =
        (struct hc_case){.name = to->name,
                         .title = to->title,
                         .source = "src/op/call.h: every backend gives the same bits",
                         .level = plain && !*row->variant->name ? HC_QUICK : HC_STANDARD,
                         .against_exact = true,
                         .run = run_bits,
                         .data = to};
}

const struct hc_case_table *hc_bit_cases(void)
{
    static struct hc_case_table table = {cases, 0};
    if (table.count > 0)
        return &table;
    for (int op = 0; op < HC_OP_COUNT; op++) {
        struct hc_opspace space = hc_opspace((enum hc_op)op);
        for (const struct hc_format_set *set = space.sets;
             hc_op_settled((enum hc_op)op) && set->name; set++)
            for (const struct hc_variant *v = space.variants; v->name; v++)
                if (hc_format_set_allowed((enum hc_op)op, set, v))
                    append(&table, &(struct row){(enum hc_op)op, set, v, "", ""});
    }
    return &table;
}
