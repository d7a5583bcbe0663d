#include "reference/kept.h"
#include "reference.h"

/* The whole tensor, and the block that was asked for last. */
enum { WHOLE, BLOCK, KEPT };

static _Thread_local struct {
    uint64_t promise; /* hc_reference_promise of the call */
    bool found[KEPT];
    struct hc_amax_part part[KEPT];
    double amax[KEPT];
} amaxes;

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
    if (amaxes.promise != promise) {
        amaxes.promise = promise;
        amaxes.found[WHOLE] = amaxes.found[BLOCK] = false;
    }
    if (!amaxes.found[i] || !same_part(&amaxes.part[i], part)) {
        amaxes.amax[i] = search(call, part);
        amaxes.part[i] = *part;
        amaxes.found[i] = true;
    }
    return amaxes.amax[i];
}

/* Of so many channels, each in the place that its number names. */
enum { CHANNELS = 64 };

struct kept {
    uint64_t promise; /* of hc_reference_begin; 0: nothing is kept, and the numbers are not there */
    int64_t channel;
    hc_channel_sums *sums;
    mpfr_t first;
    mpfr_t second;
};

static _Thread_local struct kept kept[CHANNELS];

void hc_channel(mpfr_t first, mpfr_t second, const struct hc_call *call, int64_t c,
                hc_channel_sums *sums)
{
    uint64_t promise = hc_reference_promise(call);
    struct kept *k = &kept[c % CHANNELS];
    if (promise && k->promise == promise && k->channel == c && k->sums == sums &&
        mpfr_get_prec(k->first) == mpfr_get_prec(first)) {
        mpfr_set(first, k->first, MPFR_RNDN);
        mpfr_set(second, k->second, MPFR_RNDN);
        return;
    }
    sums(first, second, call, c);
    if (!promise)
        return;
    if (k->promise)
        mpfr_clears(k->first, k->second, (mpfr_ptr)0);
    mpfr_inits2(mpfr_get_prec(first), k->first, k->second, (mpfr_ptr)0);
    mpfr_set(k->first, first, MPFR_RNDN);
    mpfr_set(k->second, second, MPFR_RNDN);
    k->promise = promise;
    k->channel = c;
    k->sums = sums;
}

void hc_channel_end(void)
{
    for (int i = 0; i < CHANNELS; i++)
        if (kept[i].promise) {
            mpfr_clears(kept[i].first, kept[i].second, (mpfr_ptr)0);
            kept[i].promise = 0;
        }
}
