/* Defects of a loss scale's update. */
#include "check/selftest/fault.h"

static enum hc_status count_kept(const struct hc_fault_site *planted, struct hc_queue *queue,
                                 const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.keep_clean = true;
    return planted->right(queue, &bad);
}

static enum hc_status count_reset(const struct hc_fault_site *planted, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.keep_clean = false;
    return planted->right(queue, &bad);
}

static enum hc_status late(const struct hc_fault_site *planted, struct hc_queue *queue,
                           const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.delay++;
    return planted->right(queue, &bad);
}

static enum hc_status on_time(const struct hc_fault_site *planted, struct hc_queue *queue,
                              const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.delay = 0;
    return planted->right(queue, &bad);
}

/* Growth is due before anybody looks at what was found, so that both happen. */
static enum hc_status growth_first(const struct hc_fault_site *planted, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    double before = hc_tensor_get(&call->in[HC_SCALER_SCALE], 0);
    bool due = p->interval &&
               hc_tensor_get(&call->in[HC_SCALER_COUNTS], HC_COUNT_CLEAN) + 1 == p->interval;
    bool found =
        call->in[HC_SCALER_FOUND_INF].data && hc_tensor_get(&call->in[HC_SCALER_FOUND_INF], 0) != 0;
    enum hc_status status = planted->right(queue, call);
    if (status == HC_OK && due && found)
        hc_tensor_set(&call->out[HC_SCALER_NEW_SCALE], 0, before);
    return status;
}

static enum hc_status no_floor(const struct hc_fault_site *planted, struct hc_queue *queue,
                               const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.floor = 0;
    return planted->right(queue, &bad);
}

static enum hc_status no_cap(const struct hc_fault_site *planted, struct hc_queue *queue,
                             const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.cap = HC_CAP_NONE;
    return planted->right(queue, &bad);
}

static enum hc_status no_hysteresis(const struct hc_fault_site *planted, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.hysteresis = 0;
    return planted->right(queue, &bad);
}

static enum hc_status no_refill(const struct hc_fault_site *planted, struct hc_queue *queue,
                                const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.refill_hysteresis = false;
    return planted->right(queue, &bad);
}

static enum hc_status looks_at_one(const struct hc_fault_site *planted, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    struct hc_call bad = *call;
    if (bad.params.scaler.min_checked_scale == 1)
        bad.params.scaler.min_checked_scale = -1;
    return planted->right(queue, &bad);
}

static enum hc_status never_skips(const struct hc_fault_site *planted, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.skip_on_overflow = false;
    return planted->right(queue, &bad);
}

static enum hc_status never_gives_up(const struct hc_fault_site *planted, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.error_at_floor = false;
    return planted->right(queue, &bad);
}

/* Whatever the recipe says. */
static enum hc_status doubles_and_halves(const struct hc_fault_site *planted,
                                         struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.growth = 2;
    bad.params.scaler.backoff = 0.5F;
    return planted->right(queue, &bad);
}

static enum hc_status other_way(const struct hc_fault_site *planted, struct hc_queue *queue,
                                const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.unscale.reciprocal = !call->params.unscale.reciprocal;
    return planted->right(queue, &bad);
}

/* Each is to be caught by a rule's traces alone: scaler/one-update would see them all. */
static const struct hc_fault faults[] = {
    {"scaler-count-not-reset", "an overflow does not restart the count of clean steps",
     HC_FAULT_SCALER, "scaler_update", "scaler/torch", .wrong = count_kept},
    {"scaler-count-reset", "an overflow restarts a count that is to go on", HC_FAULT_SCALER,
     "scaler_update", "scaler/fastai2", .wrong = count_reset},
    {"scaler-grows-late", "growth comes one clean step late", HC_FAULT_SCALER, "scaler_update",
     "scaler/apex-amp", .wrong = late},
    {"scaler-grows-early", "growth that is to come one step late comes on time", HC_FAULT_SCALER,
     "scaler_update", "scaler/deepspeed-fused", .wrong = on_time},
    {"scaler-grows-before-it-looks", "an overflow at the growth step is met by growth",
     HC_FAULT_SCALER, "scaler_update", "scaler/torch", .wrong = growth_first},
    {"scaler-floor-ignored", "the scale is halved below its floor", HC_FAULT_SCALER,
     "scaler_update", "scaler/apex-fp16utils", .wrong = no_floor},
    {"scaler-cap-ignored", "the scale grows beyond its cap", HC_FAULT_SCALER, "scaler_update",
     "scaler/40000-clean-steps", .wrong = no_cap},
    {"scaler-grows-to-infinity", "the scale grows beyond the last finite number", HC_FAULT_SCALER,
     "scaler_update", "scaler/growth-without-end", .wrong = no_cap},
    {"scaler-hysteresis-ignored", "the first overflow halves the scale", HC_FAULT_SCALER,
     "scaler_update", "scaler/deepspeed-0.17.0", .wrong = no_hysteresis},
    {"scaler-looks-at-1", "an overflow that the rule overlooks is seen", HC_FAULT_SCALER,
     "scaler_update", "scaler/fastai", .wrong = looks_at_one},
    {"scaler-skips-uncounted", "a skipped step is counted as taken", HC_FAULT_SCALER,
     "scaler_update", "scaler/torch", .wrong = never_skips},
    {"scaler-patience-not-refilled",
     "an overflow after a clean step halves a scale that is to wait for two in a row",
     HC_FAULT_SCALER, "scaler_update", "scaler/deepspeed-consecutive", .wrong = no_refill},
    {"scaler-goes-on-at-0", "a rule that divides by its scale goes on at 0", HC_FAULT_SCALER,
     "scaler_update", "scaler/apex-amp", .wrong = never_gives_up},
    {"scaler-never-gives-up", "a rule that is to give up at its floor goes on", HC_FAULT_SCALER,
     "scaler_update", "scaler/deepspeed-0.17.0", .wrong = never_gives_up},
    {"scaler-doubles-and-halves", "a recipe's own growth and backoff are not asked for",
     HC_FAULT_SCALER, "scaler_update", "scaler/own-numbers", .wrong = doubles_and_halves},
    {"unscale-the-other-way", "unscale divides where it is to multiply with the reciprocal",
     HC_FAULT_PARAMETER, "unscale", "scaler/own-numbers", .wrong = other_way},
};

HC_FAULTS(scaler, faults);
