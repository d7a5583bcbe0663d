/* Slots that lie one behind the other, taken together.

   A network has a hundred parameters, most of them small, and a step has a dozen stages. One op for
   each parameter and stage would spend its time on launches. Parameters of one parameter group and
   one format therefore share an arena for each state tensor (update_open.c), and a stage runs one
   op over a whole span of them. Elementwise ops give the same bits either way, sums have a free
   order by their contract, and the padding between neighbours is zero.

   The spans are found anew at each step. They cannot be kept: a case may replace a parameter's
   storage between two steps, as torch's .half() does behind the optimizer's back. */
#include "train/update/update_inner.h"

struct hc_storage *hc_slot_storage(const struct hc_update_slot *slot, enum hc_state_tensor state)
{
    bool own = slot->plan.own[state];
    if (state == HC_STATE_MODEL || (state == HC_STATE_MASTER && !own))
        return slot->parameter->storage;
    return slot->state[state == HC_STATE_MASTER_GRADIENT && !own ? HC_STATE_GRADIENT : state];
}

static bool follows(const struct hc_storage *a, const struct hc_storage *b)
{
    size_t bytes = (size_t)hc_update_padded(a->count) * (size_t)hc_formats[a->format].bytes;
    return a->arena && a->arena == b->arena && b->data == (unsigned char *)a->data + bytes;
}

static bool takes(const struct hc_pass *pass, const struct hc_update_slot *slot)
{
    return (!pass->decaying || slot->plan.decay > 0) && slot->plan.own[pass->owns];
}

/* Whether slot k + 1 goes on where slot k ends. */
static bool goes_on(const struct hc_update *update, const struct hc_pass *pass, int k)
{
    const struct hc_update_slot *here = &update->slots[k];
    const struct hc_update_slot *next = &update->slots[k + 1];
    if (!takes(pass, next) || here->plan.arithmetic != next->plan.arithmetic ||
        (pass->by_group && here->plan.group != next->plan.group))
        return false;
    for (int t = 0; t < pass->touches; t++) {
        const struct hc_storage *a = hc_slot_storage(here, pass->touched[t]);
        const struct hc_storage *b = hc_slot_storage(next, pass->touched[t]);
        if (a != b && (!a || !b || !follows(a, b)))
            return false;
    }
    return true;
}

enum hc_status hc_update_walk(struct hc_update *update, const struct hc_pass *pass)
{
    enum hc_status status = HC_OK;
    for (int first = 0, last; first < update->n && status == HC_OK; first = last + 1) {
        last = first;
        if (!takes(pass, &update->slots[first]))
            continue;
        while (last + 1 < update->n && goes_on(update, pass, last))
            last++;
        status = pass->run(update, first, last);
    }
    return status;
}

struct hc_tensor hc_update_span(const struct hc_update *update, int first, int last,
                                enum hc_state_tensor state)
{
    const struct hc_storage *a = hc_slot_storage(&update->slots[first], state);
    int64_t count = 0;
    for (int k = first; k < last; k++)
        count += hc_update_padded(update->slots[k].count);
    count += update->slots[last].count;
    return hc_tensor1(a->format, count, a->data);
}
