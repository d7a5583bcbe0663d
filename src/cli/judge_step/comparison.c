#include "cli/judge_step/comparison.h"

#include <math.h>
#include <stdlib.h>

#include "check/check.h"
#include "num/ulp.h"

/* Copies a tensor into another format, to nearest. */
static struct hc_tensor converted(struct hc_step_call *made, struct hc_tensor t, enum hc_format f)
{
    if (!t.data || t.format == f)
        return t;
    struct hc_tensor to = t;
    to.format = f;
    to.data = malloc(hc_tensor_bytes(&to) + 1);
    for (int64_t i = 0; to.data && i < hc_tensor_count(&t); i++)
        hc_tensor_set(&to, i, hc_tensor_get(&t, i));
    if (to.data)
        made->owned[made->count++] = to.data;
    return to;
}

enum hc_status hc_step_call_open(struct hc_step_call *made, const struct hc_step_claim *claim,
                                 struct hc_step_way way)
{
    *made = (struct hc_step_call){.call = claim->call};
    for (int i = 0; i < hc_ops[claim->call.op].inputs; i++)
        if (claim->data >> i & 1) {
            enum hc_format in = way.in == HC_TF32 ? HC_FP32 : way.in;
            made->call.in[i] = converted(made, claim->call.in[i], in);
            if (claim->call.in[i].data && !made->call.in[i].data)
                return hc_fail(HC_NO_MEMORY, "no memory to judge %s", claim->where);
        }
    if (way.in == HC_TF32)
        hc_call_compute_in(&made->call, HC_TF32);
    made->call.out[claim->out] = converted(made, claim->got, way.out);
    if (!made->call.out[claim->out].data)
        return hc_fail(HC_NO_MEMORY, "no memory to judge %s", claim->where);
    return HC_OK;
}

void hc_step_call_close(struct hc_step_call *made)
{
    for (int i = 0; i < made->count; i++)
        free(made->owned[i]);
}

/* want + a. What was computed first lies within `bound` of want; the sum is rounded once, by half
   an ulp of what it may be. */
static void add(struct hc_step_comparison *c, double a, enum hc_format format)
{
    double sum = c->want.hi + a;
    double back = sum - c->want.hi;
    double lo = (c->want.hi - (sum - back)) + (a - back);
    c->want.lo = isfinite(sum) ? c->want.lo + lo : 0;
    c->want.hi = sum;
    if (!isfinite(sum))
        return;
    c->bound += hc_ulp(format, fabs(sum) + c->bound) / 2;
}

static void compare(const struct hc_step_court *court, const struct hc_step_claim *claim,
                    const struct hc_call *call, struct hc_step_comparison *c)
{
    const struct hc_tensor *t = &call->out[claim->out];
    struct hc_element e = {call, claim->out, c->index};
    uint64_t bits;
    c->want = hc_reference_value(call, claim->out, c->index);
    c->got = hc_tensor_get(t, c->index);
    c->bound = claim->strayed ? hc_bound_strayed(&e, claim->strayed, &c->want)
                              : hc_bound_any_order(&e, &court->accumulator, &c->want);
    bool one = !claim->addend.data && hc_bound_any_order_bits(&e, &c->want, &bits);
    if (claim->addend.data)
        add(c, hc_tensor_get(&claim->addend, c->index), t->format);
    c->error = hc_bound_error(t->format, &c->want, c->got);
    if (isinf(c->bound))
        c->error = 0;
    /* One result is right: whatever misses it is wrong, also within half an ulp. */
    if (one && hc_decode(t->format, bits) != c->got && !(isnan(c->want.hi) && isnan(c->got)))
        c->bound = 0;
}

void hc_step_compare(const struct hc_step_court *court, const struct hc_step_claim *claim,
                     const struct hc_call *call, struct hc_step_comparison *all, int64_t n)
{
#pragma omp parallel
    {
#pragma omp for schedule(dynamic, 4)
        for (int64_t k = 0; k < n; k++)
            compare(court, claim, call, &all[k]);
        hc_reference_end();
    }
}
