#include "cli/define/rows.h"

#include <stdlib.h>

/* Marks the places of `axis` that stand where a tensor has this axis. False if something else does
   there, or the tensor has it twice. */
static bool reads_its_own(const struct hc_definition *d, const struct hc_expression *e, int axis,
                          bool *plain)
{
    const struct hc_defined_tensor *t = &d->tensor[e->tensor];
    int times = 0;
    for (int k = 0; k < e->operands && k < t->rank; k++) {
        const struct hc_expression *place = e->operand[k];
        bool own = place->kind == HC_EXPRESSION_AXIS && place->axis == axis;
        if (t->axis[k] == axis && !own)
            return false;
        times += t->axis[k] == axis;
        plain[place->id] = plain[place->id] || (own && t->axis[k] == axis);
    }
    return times < 2;
}

static bool has_axis(const struct hc_defined_tensor *t, int axis)
{
    bool has = false;
    for (int k = 0; k < t->rank; k++)
        has = has || t->axis[k] == axis;
    return has;
}

bool hc_define_stands_alone(const struct hc_definition *d, int axis)
{
    bool *plain = calloc(HC_MAX_EXPRESSIONS, sizeof *plain);
    bool alone = plain && d->axis[axis].inputs > 0;
    for (int i = 0; i < d->results && alone; i++)
        alone = has_axis(&d->tensor[d->result[i]], axis);
    for (int i = 0; i < d->tensors && alone; i++)
        alone = d->tensor[i].scan != axis;
    for (int i = 0; i < d->expressions && alone; i++) {
        const struct hc_expression *e = d->expression[i];
        bool other =
            (e->kind == HC_EXPRESSION_EXTENT || e->kind == HC_EXPRESSION_OVER) && e->axis == axis;
        alone = !other && (e->kind != HC_EXPRESSION_READ || reads_its_own(d, e, axis, plain));
    }
    for (int i = 0; i < d->expressions && alone; i++) {
        const struct hc_expression *e = d->expression[i];
        alone = e->kind != HC_EXPRESSION_AXIS || e->axis != axis || plain[e->id];
    }
    free(plain);
    return alone;
}
