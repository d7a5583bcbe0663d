/* Slots that lie one after the other, taken together. */
#include "train/update/update_inner.h"

static bool follows(const struct hc_storage *a, const struct hc_storage *b)
{
    size_t bytes = (size_t)hc_update_padded(a->count) * (size_t)hc_formats[a->format].bytes;
    return a->arena && a->arena == b->arena && b->data == (unsigned char *)a->data + bytes;
}

/* Whether place k + 1 in the order goes on where place k ends. */
static bool goes_on(const struct hc_update *update, const struct hc_pass *pass, int k)
{
    const struct hc_update_slot *here = &update->slots[update->order[k]];
    const struct hc_update_slot *next = &update->slots[update->order[k + 1]];
    if (!pass->wants(update, next) || here->arithmetic != next->arithmetic ||
        (pass->groups && here->group != next->group))
        return false;
    for (int p = 0; p < pass->states; p++) {
        const struct hc_storage *a = hc_update_storage(update, pass->state[p], update->order[k]);
        const struct hc_storage *b =
            hc_update_storage(update, pass->state[p], update->order[k + 1]);
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
        if (!pass->wants(update, &update->slots[update->order[first]]))
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
        count += hc_update_padded(update->slots[update->order[k]].parameter->storage->count);
    count += update->slots[update->order[last]].parameter->storage->count;
    return hc_tensor1(a->format, count, a->data);
}
