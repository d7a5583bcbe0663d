/* The generated cases bits/: the backend under test and `exact` run the same inputs, and every
   result must have the same bits. */
#include "check/generate/bit_cases.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/family/family.h"
#include "check/generate/bit_draw.h"
#include "check/free_order.h"
#include "check/run_call.h"
#include "check/generate/op_space.h"
#include "check/check_inner.h"
#include "op/descriptor.h"

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
        for (int64_t i = 0; i < n; i++) {
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
    struct hc_bit_draw distribution = hc_bit_draw(&probe, number);
    if (!distribution.name)
        return true;
    struct hc_call call = call_of(row, distribution.length);
    allocate_inputs(check, &call);
    hc_bit_draw_inputs(&call, number, check->seed);
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

static void run(struct hc_check *check)
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
                         .run = run,
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
