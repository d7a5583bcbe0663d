#include "reference/amax.h"

#include "reference.h"

/* The whole tensor, and the block that was asked for last. */
enum { WHOLE, BLOCK, KEPT };

static _Thread_local struct {
    uint64_t promise; /* hc_reference_promise of the call */
    bool found[KEPT];
    struct hc_amax_part part[KEPT];
    double amax[KEPT];
} kept;

static bool same_part(const struct hc_amax_part *a, const struct hc_amax_part *b)
{
    return a->top == b->top && a->bottom == b->bottom && a->left == b->left && a->right == b->right;
}

double hc_amax(const struct hc_call *call, const struct hc_amax_part *part, hc_amax_search *search)
{
    const int64_t *codes = call->out[HC_QUANTIZE_CODES].shape;
    const struct hc_amax_part all = {0, codes[0], 0, codes[1]};
    int i = same_part(part, &all) ? WHOLE : BLOCK;
    uint64_t promise = hc_reference_promise(call);
    if (!promise)
        return search(call, part);
    if (kept.promise != promise) {
        kept.promise = promise;
        kept.found[WHOLE] = kept.found[BLOCK] = false;
    }
    if (!kept.found[i] || !same_part(&kept.part[i], part)) {
        kept.amax[i] = search(call, part);
        kept.part[i] = *part;
        kept.found[i] = true;
    }
    return kept.amax[i];
}
