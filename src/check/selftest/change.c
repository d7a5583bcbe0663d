#include "check/selftest/change.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/rng.h"

static struct hc_tensor view(const struct hc_changed_element *e, const void *bytes)
{
    return hc_tensor1(e->format, e->n, (void *)(uintptr_t)bytes);
}

uint64_t hc_changed_right(const struct hc_changed_element *e, int64_t i)
{
    struct hc_tensor t = view(e, e->right);
    return hc_tensor_bits(&t, i);
}

static uint64_t changed_before(const struct hc_changed_element *e, int64_t i)
{
    struct hc_tensor t = view(e, e->before);
    return hc_tensor_bits(&t, i);
}

bool hc_everywhere(const struct hc_changed_element *e)
{
    (void)e;
    return true;
}

bool hc_at_the_end(const struct hc_changed_element *e)
{
    return e->i == e->n - 1;
}

bool hc_in_the_rest(const struct hc_changed_element *e)
{
    return e->n >= e->number && e->i >= e->n - e->n % e->number;
}

bool hc_beyond(const struct hc_changed_element *e)
{
    return e->i >= e->number;
}

bool hc_at_every(const struct hc_changed_element *e)
{
    return hc_random(0x7a11, 0, (uint64_t)e->i) % (uint64_t)e->number == 0;
}

bool hc_at_one(const struct hc_changed_element *e)
{
    const struct hc_tensor *x = &e->call->in[HC_FIRST];
    uint64_t bits = hc_tensor_count(x) > 0 ? hc_tensor_bits(x, 0) : 0;
    return e->i == (int64_t)(hc_random(0x7a12, bits, 0) % (uint64_t)e->n);
}

static bool finite(const struct hc_changed_element *e, uint64_t bits)
{
    return isfinite(hc_decode(e->format, bits));
}

uint64_t hc_one_ulp_up(const struct hc_changed_element *e, uint64_t bits)
{
    return finite(e, bits) ? bits + (e->format == HC_TF32 ? 1u << 13 : 1u) : bits;
}

uint64_t hc_one_ulp_down(const struct hc_changed_element *e, uint64_t bits)
{
    bool zero = hc_decode(e->format, bits) == 0;
    return finite(e, bits) && !zero ? bits - (e->format == HC_TF32 ? 1u << 13 : 1u) : bits;
}

uint64_t hc_to_zero(const struct hc_changed_element *e, uint64_t bits)
{
    (void)e;
    (void)bits;
    return 0;
}

uint64_t hc_kept(const struct hc_changed_element *e, uint64_t bits)
{
    (void)bits;
    return changed_before(e, e->i);
}

uint64_t hc_next(const struct hc_changed_element *e, uint64_t bits)
{
    return e->i + 1 < e->n ? hc_changed_right(e, e->i + 1) : bits;
}

static uint64_t encoded(const struct hc_changed_element *e, double value)
{
    return hc_encode(e->format, value, 0, HC_NEAREST);
}

uint64_t hc_flushed(const struct hc_changed_element *e, uint64_t bits)
{
    double x = hc_decode(e->format, bits);
    return fabs(x) < ldexp(1, hc_formats[e->format].emin) ? encoded(e, copysign(0, x)) : bits;
}

uint64_t hc_unsigned_zero(const struct hc_changed_element *e, uint64_t bits)
{
    return hc_decode(e->format, bits) == 0 ? 0 : bits;
}

uint64_t hc_nan_to_zero(const struct hc_changed_element *e, uint64_t bits)
{
    return isnan(hc_decode(e->format, bits)) ? 0 : bits;
}

uint64_t hc_infinity_to_largest(const struct hc_changed_element *e, uint64_t bits)
{
    double x = hc_decode(e->format, bits);
    return isinf(x) ? encoded(e, copysign(hc_format_max(e->format), x)) : bits;
}

uint64_t hc_negated(const struct hc_changed_element *e, uint64_t bits)
{
    return encoded(e, -hc_decode(e->format, bits));
}

uint64_t hc_added(const struct hc_changed_element *e, uint64_t bits)
{
    double was = hc_decode(e->format, changed_before(e, e->i));
    return encoded(e, was + hc_decode(e->format, bits));
}

uint64_t hc_through_bf16(const struct hc_changed_element *e, uint64_t bits)
{
    return encoded(e, hc_round(HC_BF16, hc_decode(e->format, bits)));
}

uint64_t hc_through_fp16(const struct hc_changed_element *e, uint64_t bits)
{
    return encoded(e, hc_round(HC_FP16, hc_decode(e->format, bits)));
}

uint64_t hc_through_fp32(const struct hc_changed_element *e, uint64_t bits)
{
    return encoded(e, hc_round(HC_FP32, hc_decode(e->format, bits)));
}

static bool is_chosen(const struct hc_tensor *t, int slot, int chosen)
{
    bool integers = hc_is_integer(&hc_formats[t->format]);
    return t->data && hc_tensor_count(t) > 0 &&
           (chosen == HC_ALL_SLOTS ? !integers : chosen == slot);
}

void *hc_fault_copy(const struct hc_tensor *t)
{
    void *copy = malloc(hc_tensor_bytes(t) + 1);
    if (!copy)
        abort();
    if (hc_tensor_bytes(t) > 0)
        memcpy(copy, t->data, hc_tensor_bytes(t));
    return copy;
}

static void change(const struct hc_call *call, const struct hc_tensor *t,
                   const struct hc_change *row, const void *before, const void *right)
{
    struct hc_changed_element e = {call,        t->format, 0,    hc_tensor_count(t),
                                   row->number, before,    right};
    for (; e.i < e.n; e.i++)
        if (row->where(&e))
            hc_tensor_set_bits(t, e.i, row->what(&e, hc_changed_right(&e, e.i)));
}

static enum hc_status run_changed_outputs(const struct hc_fault_site *site,
                                          const struct hc_call *call)
{
    const struct hc_change *row = site->fault->outputs;
    void *before[HC_MAX_OUT] = {NULL};
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        if (is_chosen(&call->out[o], o, row->slot))
            before[o] = hc_fault_copy(&call->out[o]);
    enum hc_status status = hc_right(site, call);
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        if (before[o] && status == HC_OK) {
            void *right = hc_fault_copy(&call->out[o]);
            change(call, &call->out[o], row, before[o], right);
            free(right);
        }
    for (int o = 0; o < HC_MAX_OUT; o++)
        free(before[o]);
    return status;
}

static enum hc_status run_changed_inputs(const struct hc_fault_site *site,
                                         const struct hc_call *call)
{
    const struct hc_change *row = site->fault->inputs;
    struct hc_call bad = *call;
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        if (is_chosen(&call->in[i], i, row->slot)) {
            bad.in[i].data = hc_fault_copy(&call->in[i]);
            change(call, &bad.in[i], row, call->in[i].data, call->in[i].data);
        }
    enum hc_status status = hc_right(site, &bad);
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        if (bad.in[i].data != call->in[i].data)
            free(bad.in[i].data);
    return status;
}

static void change_parameter(struct hc_call *call, const struct hc_changed_parameter *row)
{
    void *at = (char *)call + row->offset;
    double was = row->type == HC_DOUBLE_PARAMETER ? *(double *)at : 0;
    double number = row->how == HC_TIMES ? was * row->number : row->number;
    if (row->type == HC_DOUBLE_PARAMETER)
        *(double *)at = number;
    else if (row->type == HC_FLOAT_PARAMETER)
        *(float *)at = (float)number;
    else if (row->type == HC_BOOL_PARAMETER)
        *(bool *)at = row->how == HC_FLIP ? !*(bool *)at : number != 0;
    else if (row->type == HC_INT_PARAMETER)
        *(int *)at = (int)number;
    else
        *(int64_t *)at = (int64_t)number;
}

/* Gives the call copies of its inputs: of all, or of those that are also outputs. */
static void copy_inputs(struct hc_call *call, bool all, void *copies[HC_MAX_IN])
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++) {
        struct hc_tensor *t = &call->in[i];
        bool meant = all;
        for (int o = 0; o < hc_ops[call->op].outputs; o++)
            meant = meant || t->data == call->out[o].data;
        copies[i] = meant && t->data ? hc_fault_copy(t) : NULL;
        t->data = copies[i] ? copies[i] : t->data;
    }
}

enum hc_status hc_fault_run(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_fault *fault = site->fault;
    struct hc_call changed = *call;
    void *copies[HC_MAX_IN] = {NULL};
    if (fault->like) {
        struct hc_fault_site other = {site->right, hc_fault_by_name(fault->like), site->queue};
        return hc_fault_run(&other, call);
    }
    if (fault->wrong)
        return fault->wrong(site, call);
    if (fault->inputs)
        return run_changed_inputs(site, call);
    if (fault->outputs)
        return run_changed_outputs(site, call);
    copy_inputs(&changed, fault->change || fault->change_by, copies);
    if (fault->parameter)
        change_parameter(&changed, fault->parameter);
    if (fault->change)
        fault->change(&changed);
    if (fault->change_by)
        fault->change_by(&changed, fault);
    bool spoils = fault->after || fault->after_by;
    enum hc_status status = hc_right(site, spoils ? call : &changed);
    if (fault->after && status == HC_OK)
        fault->after(&changed);
    if (fault->after_by && status == HC_OK)
        fault->after_by(&changed, fault);
    for (int i = 0; i < HC_MAX_IN; i++)
        free(copies[i]);
    return status;
}

void hc_take_for_absent(struct hc_call *call, const struct hc_fault *row)
{
    struct hc_tensor *t = &call->in[(int)row->number];
    *t = hc_tensor1(t->format, 0, NULL);
}

void hc_play_device(struct hc_backend *faulty)
{
    faulty->host_memory = false;
}

bool hc_is_set(const struct hc_tensor *flag)
{
    return flag->data && hc_tensor_get(flag, 0) != 0;
}
