#include "check/free_order.h"

#include <string.h>

#include "check/bound/bound.h"

static const char *order_of(const struct hc_call *call)
{
    bool adam = call->op == HC_OP_adam || call->op == HC_OP_adamw;
    return hc_adam_order_names[adam ? call->params.adam.order : HC_ORDER_OURS];
}

bool hc_order_is_free(const struct hc_check *check, const struct hc_call *call)
{
    return check->backend && check->backend->free_order &&
           !(check->order && strcmp(check->order, order_of(call)) == 0);
}

bool hc_order_matters(const struct hc_call *call)
{
    for (int out = 0; out < hc_ops[call->op].outputs; out++)
        if (call->out[out].data && !hc_bound_any_order_ordered(call, out))
            return true;
    return false;
}

enum hc_status hc_order_stated(struct hc_check *check, const struct hc_call *call)
{
    if (!hc_order_is_free(check, call) || !hc_order_matters(call))
        return HC_OK;
    check->order_stated = true;
    return hc_fail(HC_UNSUPPORTED, "it states the order %s; --order %s holds %s to that",
                   order_of(call), order_of(call), check->backend->name);
}

/* The format into which the call rounds on the way. */
static enum hc_format arithmetic_of(const struct hc_call *call)
{
    union hc_params params = call->params;
    const enum hc_format *of_optimizer = hc_optimizer_arithmetic(call->op, &params);
    if (call->op == HC_OP_sum || call->op == HC_OP_dot)
        return params.reduce.accumulator;
    return of_optimizer ? *of_optimizer : HC_FP32;
}

static bool is_narrow(enum hc_format arithmetic)
{
    return hc_formats[arithmetic].precision < hc_formats[HC_FP32].precision;
}

void hc_order_note(struct hc_check *check, const struct hc_call *call)
{
    enum hc_op_class class_ = hc_ops[call->op].class_;
    bool states = hc_bound_ordered(call) || class_ == HC_CLASS_POOL ||
                  class_ == HC_CLASS_BATCH_NORM || class_ == HC_CLASS_LOSS;
    if (!states || !hc_order_is_free(check, call) || !hc_order_matters(call))
        return;
    check->order_met = order_of(call);
    check->order_narrow |= is_narrow(arithmetic_of(call));
}

void hc_note_arithmetic(struct hc_check *check, enum hc_format arithmetic)
{
    const char *ours = hc_adam_order_names[HC_ORDER_OURS];
    bool held = check->order && strcmp(check->order, ours) == 0;
    if (!check->backend || !check->backend->free_order || held)
        return;
    check->order_met = ours;
    check->order_narrow |= is_narrow(arithmetic);
}

bool hc_order_excuses(struct hc_check *check, bool of_bits)
{
    bool excused = check->order_met && (of_bits || check->order_narrow);
    check->order_missed |= excused;
    return excused;
}

void hc_order_open(struct hc_check *check, const struct hc_call *call)
{
    check->order_missed |= hc_order_is_free(check, call) && hc_order_matters(call);
}

void hc_order_conclude(struct hc_check *check)
{
    bool passed = check->result.verdict == HC_PASS || check->result.verdict == HC_MISTRUSTED;
    if (!check->order_missed || !check->order_met || !passed)
        return;
    check->order_stated = true;
    check->result.note[0] = '\0';
    hc_check_note(check, "it states the order %s; --order %s holds %s to that", check->order_met,
                  check->order_met, check->backend->name);
    hc_check_verdict(check, HC_UNIMPLEMENTED);
}
