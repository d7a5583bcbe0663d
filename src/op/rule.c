#include "op/rule.h"

#include <stdio.h>

#include "op/descriptor.h"

const char *hc_shape_text(const struct hc_tensor *t, char text[HC_SHAPE_TEXT])
{
    int at = snprintf(text, HC_SHAPE_TEXT, "[");
    for (int d = 0; d < t->rank && at < HC_SHAPE_TEXT - 6; d++)
        at += snprintf(text + at, HC_SHAPE_TEXT - (size_t)at, "%s%lld", d ? ", " : "",
                       (long long)t->shape[d]);
    (void)snprintf(text + at, HC_SHAPE_TEXT - (size_t)at, "]");
    return text;
}

static const char *name_of(const struct hc_call *call, const struct hc_tensor *t)
{
    int slot = 0;
    while (hc_slot_tensor_const(call, slot) != t)
        slot++;
    return hc_slot(call->op, slot)->name;
}

enum hc_status hc_rule_rank(const struct hc_call *call, const struct hc_tensor *t, int rank)
{
    if (t->rank == rank)
        return HC_OK;
    return hc_fail(HC_INVALID, "%s: %s has rank %d, not %d", hc_ops[call->op].name,
                   name_of(call, t), t->rank, rank);
}

enum hc_status hc_rule_shape(const struct hc_call *call, const struct hc_tensor *t, int rank,
                             const int64_t *shape)
{
    char got[HC_SHAPE_TEXT];
    char text[HC_SHAPE_TEXT];
    struct hc_tensor want = {.rank = rank};
    bool same = t->rank == rank;
    for (int d = 0; d < rank; d++) {
        want.shape[d] = shape[d] < 0 && same ? t->shape[d] : shape[d];
        same = same && want.shape[d] == t->shape[d];
    }
    if (same)
        return HC_OK;
    return hc_fail(HC_INVALID, "%s: %s has shape %s, not %s", hc_ops[call->op].name,
                   name_of(call, t), hc_shape_text(t, got), hc_shape_text(&want, text));
}
