/* Defects of the other arithmetic that all backends share (kernels/element/, src/num/): each is in
   the subject and in `exact`, and shows in few bits, for few parameters or beyond a count that a
   short test never reaches. */
#include <math.h>

#include "check/selftest/fault.h"
#include "num/format.h"
#include "num/rng.h"
#include "op/counts.h"

/* The bits of a NaN: which of them a 16-bit or fp32 result loses. */
enum { NO_SIGN, NO_PAYLOAD, QUIET };

static void change_nan(const struct hc_tensor *t, int64_t i, int which)
{
    const struct hc_format_info *f = &hc_formats[t->format];
    uint64_t sign = (uint64_t)1 << (f->bits - 1);
    uint64_t quiet_bit = (uint64_t)1 << (f->precision - 2);
    uint64_t bits = hc_tensor_bits(t, i);
    if (which == NO_SIGN)
        bits &= ~sign;
    if (which == NO_PAYLOAD)
        bits &= ~(quiet_bit - 1);
    hc_tensor_set_bits(t, i, which == NO_SIGN ? bits : bits | quiet_bit);
}

static enum hc_status nan_changed(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *t = &call->out[HC_FIRST];
    bool h = t->format == HC_FP32 || t->format == HC_FP16 || t->format == HC_BF16;
    for (int64_t i = 0; status == HC_OK && h && i < hc_tensor_count(t); i++)
        if (isnan(hc_tensor_get(t, i)))
            change_nan(t, i, (int)site->fault->number);
    return status;
}

static enum hc_status signalling_unseen(const struct hc_fault_site *site, struct hc_queue *queue,
                                        const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *flag = &call->in[HC_UNSCALE_FOUND_INF];
    double found = flag->data ? hc_tensor_get(flag, 0) : 0;
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_UNSCALE_X]); i++) {
        double x = hc_tensor_get(&call->in[HC_UNSCALE_X], i);
        uint64_t fraction =
            hc_tensor_bits(&call->in[HC_UNSCALE_X], i) &
            (((uint64_t)1 << (hc_formats[call->in[HC_UNSCALE_X].format].precision - 1)) - 1);
        found = isinf(x) || (isnan(x) && fraction != 1) ? 1 : found;
    }
    if (status == HC_OK)
        hc_tensor_set(&call->out[HC_UNSCALE_NEW_FOUND_INF], 0, found);
    return status;
}

static enum hc_status huge_scale(const struct hc_fault_site *site, struct hc_queue *queue,
                                 const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0;
         status == HC_OK && hc_tensor_get(&call->in[HC_UNSCALE_SCALE], 0) > 0x1p100 &&
         i < hc_tensor_count(&call->out[HC_UNSCALE_OUT]);
         i++)
        hc_tensor_set(&call->out[HC_UNSCALE_OUT], i, 0);
    return status;
}

/* max(x, slope x) is leaky ReLU for slopes up to 1; x >= 0 for slopes from 0 on. */
static enum hc_status larger_of_both(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    struct hc_call bad = *call;
    enum hc_status status = site->right(queue, &bad);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(&call->in[HC_LEAKY_X]); i++) {
        double x = hc_tensor_get(&call->in[HC_LEAKY_X], i);
        double product = hc_round(HC_FP32, hc_round(HC_FP32, call->params.leaky.slope) * x);
        hc_tensor_set(&call->out[HC_LEAKY_Y], i, x > product ? x : product);
    }
    return status;
}

static enum hc_status zero_is_positive(const struct hc_fault_site *site, struct hc_queue *queue,
                                       const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(&call->in[HC_LEAKY_X]); i++)
        if (hc_tensor_get(&call->in[HC_LEAKY_X], i) == 0)
            hc_tensor_set(&call->out[HC_LEAKY_Y], i, hc_tensor_get(&call->in[HC_LEAKY_X], i));
    return status;
}

/* Runs the call with another count of steps. */
static enum hc_status with_steps(const struct hc_fault_site *site, struct hc_queue *queue,
                                 const struct hc_call *call, double steps)
{
    int32_t changed[HC_COUNTS];
    struct hc_call bad = *call;
    for (int i = 0; i < HC_COUNTS; i++)
        changed[i] = (int32_t)hc_tensor_get(&call->in[HC_RATES_COUNTS], i);
    changed[HC_COUNT_STEPS] = (int32_t)steps;
    bad.in[HC_RATES_COUNTS].data = changed;
    return site->right(queue, &bad);
}

static enum hc_status late_row(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    double steps = hc_tensor_get(&call->in[HC_STEP_LOG_COUNTS], HC_COUNT_STEPS);
    return with_steps(site, queue, call, steps > 65536 ? steps - 1 : steps);
}

static enum hc_status last_but_one(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    double steps = hc_tensor_get(&call->in[HC_RATES_COUNTS], HC_COUNT_STEPS);
    double rows = (double)call->in[HC_RATES_TABLE].shape[0];
    return with_steps(site, queue, call, steps > rows && rows > 1 ? rows - 2 : steps);
}

static enum hc_status stops_counting(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    double before = hc_tensor_get(&call->in[HC_SCALER_COUNTS], HC_COUNT_FOUND);
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK && before >= 65536)
        hc_tensor_set(&call->out[HC_SCALER_NEW_COUNTS], HC_COUNT_FOUND, before);
    return status;
}

/* The interval is one shorter if it is long. */
static void grows_early(struct hc_call *call, double number)
{
    (void)number;
    if (call->params.scaler.interval >= 65536)
        call->params.scaler.interval--;
}

static enum hc_status short_epochs(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    struct hc_call bad = *call;
    int64_t batches = call->params.augment.batches;
    int32_t steps[1] = {(int32_t)hc_tensor_get(&call->in[HC_AUGMENT_STEPS], 0)};
    steps[0] = (int32_t)(steps[0] / batches % 65536 * batches + steps[0] % batches);
    bad.in[HC_AUGMENT_STEPS].data = steps;
    bad.out[HC_AUGMENT_NEW_STEPS].data = NULL;
    enum hc_status status = site->right(queue, &bad);
    if (status == HC_OK && call->out[HC_AUGMENT_NEW_STEPS].data)
        hc_tensor_set(&call->out[HC_AUGMENT_NEW_STEPS], 0,
                      hc_tensor_get(&call->in[HC_AUGMENT_STEPS], 0) + 1);
    return status;
}

static void short_seed(struct hc_call *call, double number)
{
    (void)number;
    call->params.augment.seed &= 0xffffffff;
}

/* A crop at the right edge is cut out one column too far left. */
static enum hc_status right_end(const struct hc_fault_site *site, struct hc_queue *queue,
                                const struct hc_call *call)
{
    const struct hc_augment *p = &call->params.augment;
    const struct hc_tensor *out = &call->out[HC_AUGMENT_IMAGES];
    enum hc_status status = site->right(queue, call);
    int64_t wide = out->shape[2] * 3;
    int64_t epoch = (int64_t)hc_tensor_get(&call->in[HC_AUGMENT_STEPS], 0) / p->batches;
    for (int64_t b = 0; status == HC_OK && p->crops && p->batches == 1 && b < out->shape[0]; b++) {
        uint64_t bits = hc_random(p->seed, HC_CROP_STREAM + (uint64_t)epoch, (uint64_t)b);
        bool end =
            (bits >> 24 & 0xffffff) * (uint64_t)(2 * p->pad + 1) >> 24 == 2u * (unsigned)p->pad;
        for (int64_t row = 0; end && p->pad && row < out->shape[1]; row++)
            for (int64_t x = wide - 1; x >= 3; x--) {
                int64_t at = (b * out->shape[1] + row) * wide + x;
                hc_tensor_set(out, at, hc_tensor_get(out, at - 3));
            }
    }
    return status;
}

#define EVERYWHERE .class_ = HC_FAULT_COMMON, .place = HC_PLACE_BOTH

static const struct hc_fault faults[] = {
    {"arithmetic-nan-sign", "conversions drop NaN's sign", EVERYWHERE,
     .ops = "cast master_to_model", .patterns = "nan/casts-keep-sign-and-payload",
     .wrong = nan_changed, .number = NO_SIGN},
    {"arithmetic-nan-payload", "conversions drop NaN's payload", EVERYWHERE,
     .ops = "cast master_to_model", .patterns = "nan/casts-keep-sign-and-payload",
     .wrong = nan_changed, .number = NO_PAYLOAD},
    {"arithmetic-nan-quiet", "copies make signalling NaNs quiet", EVERYWHERE,
     .ops = "sgd adam adamw unscale step_log", .patterns = "nan/copies-keep-every-bit",
     .wrong = nan_changed, .number = QUIET},
    {"arithmetic-signalling-unseen", "the detector misses the NaN with the smallest payload",
     EVERYWHERE, .ops = "unscale", .patterns = "elementwise/found-inf-alone",
     .wrong = signalling_unseen},
    {"arithmetic-huge-scale", "unscaling by more than 2^100 gives 0", EVERYWHERE, .ops = "unscale",
     .patterns = "elementwise/any-scale", .wrong = huge_scale},
    {"arithmetic-leaky-maximum", "leaky ReLU is the larger of x and slope * x", EVERYWHERE,
     .ops = "leaky_relu", .patterns = "elementwise/leaky-slopes", .wrong = larger_of_both},
    {"arithmetic-leaky-zero", "leaky ReLU takes 0 for positive", EVERYWHERE, .ops = "leaky_relu",
     .patterns = "elementwise/leaky-slopes", .wrong = zero_is_positive},
    {"arithmetic-t-rounded", "Adam's t is rounded before 1 is added", EVERYWHERE, .ops = "rates",
     .patterns = "scaler/rates-of-every-step", .like = "common-t-rounded-twice"},
    {"arithmetic-last-rate", "a step beyond the table gets the rates of the row before the last",
     EVERYWHERE, .ops = "rates", .patterns = "scaler/rates-of-every-step op/rates/*",
     .wrong = last_but_one},
    {"arithmetic-late-row", "beyond step 2^16 the step log writes one row late", EVERYWHERE,
     .ops = "step_log", .patterns = "scaler/step-log-of-every-step", .wrong = late_row},
    {"arithmetic-found-count", "the count of overflows stops at 2^16", EVERYWHERE,
     .ops = "scaler_update", .patterns = "scaler/counts-one-by-one", .wrong = stops_counting},
    {"arithmetic-grows-early", "a scale grows one step before a long interval ends", EVERYWHERE,
     .ops = "scaler_update", .patterns = "scaler/growth-just-at-the-interval",
     .change = grows_early},
    {"arithmetic-short-epochs", "crops use only 16 bits of the epoch's number", EVERYWHERE,
     .ops = "augment", .patterns = "data/crops-in-every-corner", .wrong = short_epochs},
    {"arithmetic-short-seed", "crops drop the upper word of their seed", EVERYWHERE,
     .ops = "augment", .patterns = "data/crops-in-every-corner", .change = short_seed},
    {"arithmetic-right-end", "crops at the right edge are cut out one column too far left",
     EVERYWHERE, .ops = "augment", .patterns = "data/crops-in-every-corner", .wrong = right_end},
};

HC_FAULTS(arithmetic, faults);
