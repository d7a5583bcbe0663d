/* Slots that lie one behind the other, taken together.

   A network has a hundred parameters, most of them small, and a step has a dozen stages. One op for
   each parameter and stage would spend its time on launches. Parameters of one parameter group and
   one format therefore share an arena for each state tensor (update.c), and a stage runs one op
   over a whole span of them. Elementwise ops give the same bits either way, sums have a free order
   by their contract, and the padding between neighbours is zero.

   The spans are found anew at each step. They cannot be kept: a case may replace a parameter's
   storage between two steps, as torch's .half() does behind the optimizer's back. */
#include "train/update/update_inner.h"

static bool follows(const struct hc_storage *a, const struct hc_storage *b)
{
    size_t bytes = (size_t)hc_update_padded(a->count) * (size_t)hc_formats[a->format].bytes;
    return a->arena && a->arena == b->arena && b->data == (unsigned char *)a->data + bytes;
}

static bool takes(const struct hc_pass *pass, const struct hc_update_slot *slot)
{
    return (!pass->decaying || slot->plan.decay > 0) && slot->plan.own[pass->owns];
}

/* Whether place k + 1 in the order goes on where place k ends. */
static bool goes_on(const struct hc_update *update, const struct hc_pass *pass, int k)
{
    const struct hc_update_slot *here = hc_update_at(update, k);
    const struct hc_update_slot *next = hc_update_at(update, k + 1);
    if (!takes(pass, next) || here->plan.arithmetic != next->plan.arithmetic ||
        (pass->by_group && here->plan.group != next->plan.group))
        return false;
    for (int t = 0; t < pass->touches; t++) {
        const struct hc_storage *a = hc_update_storage(update, pass->touched[t], update->order[k]);
        const struct hc_storage *b =
            hc_update_storage(update, pass->touched[t], update->order[k + 1]);
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
        if (!takes(pass, hc_update_at(update, first)))
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
    const struct hc_storage *a = hc_update_storage(update, state, update->order[first]);
    int64_t count = 0;
    for (int k = first; k < last; k++)
        count += hc_update_padded(hc_update_at(update, k)->parameter->storage->count);
    count += hc_update_at(update, last)->parameter->storage->count;
    return hc_tensor1(a->format, count, a->data);
}
