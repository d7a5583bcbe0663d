/* What all calls on integers share: how the integers are drawn, what the accumulator can hold, and
   ops that work element by element. */
#include "check/generate/integers.h"

#include <assert.h>

#include "check/bound/bound.h"
#include "check/family/family.h"
#include "op/descriptor.h"

/* It matters little how random the integers are, and much what they cost: this is the finalizer of
   splitmix64
   (Steele, Lea and Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). */
int32_t hc_integers_draw(const struct hc_integers *z, int stream, int64_t i, int32_t most)
{
    uint64_t x = z->seed + 0x9e3779b97f4a7c15u * ((uint64_t)i * 8 + (uint64_t)stream + 1);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    int32_t magnitude = 1 + (int32_t)(x >> 40 & 0xffff) % most;
    return x >> 63 ? -magnitude : magnitude;
}

enum { LEAST = -256, CODES = 512 };

void hc_integers_set(const struct hc_integers *z, int slot, double unit)
{
    const struct hc_tensor *t = &z->call.in[slot];
    const int32_t *value = z->value[slot];
    int64_t n = hc_tensor_count(t);
    uint64_t code[CODES];
    int32_t low = 0;
    int32_t high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = value[i] < low ? value[i] : low;
        high = value[i] > high ? value[i] : high;
    }
    assert(low >= LEAST && high < LEAST + CODES);
    for (int32_t x = low; x <= high; x++)
        code[x - LEAST] = hc_encode(t->format, x * unit, 0, HC_NEAREST);
    for (int64_t i = 0; i < n; i++)
        hc_tensor_set_bits(t, i, code[value[i] - LEAST]);
}

int64_t hc_integers_limit(const struct hc_integers *z)
{
    const struct hc_family *f = hc_family(z->call.op);
    enum hc_format format = f->accumulator ? f->accumulator(&z->call) : HC_FP32;
    int precision = hc_formats[format].precision;
    if (f->multiplies && z->precision < precision)
        precision = z->precision;
    return (int64_t)1 << precision;
}

/* A half of the limit is left for alpha and beta C. */
int32_t hc_integers_factor(const struct hc_integers *z, int64_t terms)
{
    int64_t most = 0;
    while (most < 8 && 2 * (most + 1) * (most + 1) * terms + 64 <= hc_integers_limit(z))
        most++;
    return (int32_t)most;
}

void hc_integers_fill_slot(const struct hc_integers *z, int slot, int32_t most, double unit)
{
    int64_t n = z->call.in[slot].data ? hc_tensor_count(&z->call.in[slot]) : 0;
    for (int64_t i = 0; i < n; i++)
        z->value[slot][i] = hc_integers_draw(z, slot, i, most);
    if (n)
        hc_integers_set(z, slot, unit);
}

bool hc_integers_known(enum hc_op op)
{
    return hc_family(op)->integers != NULL;
}

bool hc_integers_settled(enum hc_op op)
{
    return !hc_family(op)->unsettled;
}

bool hc_integers_any_order(const struct hc_call *call, int out)
{
    const struct hc_family *f = hc_family(call->op);
    return f->reduces || f->multiplies || hc_bound_any_order_ordered(call, out);
}

bool hc_integers_fill(struct hc_integers *z)
{
    return hc_family(z->call.op)->integers(z);
}

struct hc_variant hc_integers_variant(enum hc_op op, int number)
{
    const struct hc_family *f = hc_family(op);
    struct hc_variant v = {.name = ""};
    if (f->integer_parameters)
        f->integer_parameters(&v, number);
    return v;
}

/* Whether the slot has an element for each of the first input's. */
static bool is_elementwise(const struct hc_call *call, int slot)
{
    const struct hc_slot *row = hc_slot(call->op, slot);
    return hc_slot_tensor_const(call, slot)->data &&
           (slot == HC_FIRST || row->size == HC_SIZE_FIRST);
}

enum { INPUTS = 4 }; /* the first ones, which hold elements */

bool hc_integers_vector(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    const struct hc_op_info *op = &hc_ops[call->op];
    const struct hc_family *f = hc_family(call->op);
    int64_t n = hc_tensor_count(&call->in[HC_FIRST]);
    bool in_each[INPUTS] = {false};
    bool out_each[HC_MAX_OUT] = {false};
    for (int s = 0; s < INPUTS && s < op->inputs; s++)
        in_each[s] = is_elementwise(call, s);
    for (int o = 0; o < op->outputs; o++)
        out_each[o] = is_elementwise(call, op->inputs + o);
    for (int64_t i = 0; i < n; i++) {
        int32_t r[3];
        int32_t in[INPUTS] = {0};
        double want[HC_MAX_OUT] = {0};
        for (int s = 0; s < 3; s++)
            r[s] = hc_integers_draw(z, s, i, 8);
        f->element(call, r, in, want);
        for (int s = 0; s < INPUTS; s++)
            if (in_each[s])
                z->value[s][i] = in[s];
        for (int o = 0; o < op->outputs; o++)
            if (out_each[o])
                z->want[o][i] = want[o];
    }
    for (int s = 0; s < INPUTS; s++)
        if (in_each[s])
            hc_integers_set(z, s, 1);
    if (f->integer_scalars)
        f->integer_scalars(z);
    return true;
}
