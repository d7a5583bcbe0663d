/* Defects of a loss scale's update. */
#include "check/selftest/change.h"

static void keep_clean_is(struct hc_call *call, double number)
{
    call->params.scaler.keep_clean = number != 0;
}

static void delay_is(struct hc_call *call, double number)
{
    call->params.scaler.delay = (int32_t)number;
}

static void delay_more(struct hc_call *call, double number)
{
    call->params.scaler.delay += (int32_t)number;
}

/* Growth comes before the overflow check, so that both happen. */
static enum hc_status growth_first(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    double before = hc_tensor_get(&call->in[HC_SCALER_SCALE], 0);
    bool due = p->interval &&
               hc_tensor_get(&call->in[HC_SCALER_COUNTS], HC_COUNT_CLEAN) + 1 == p->interval;
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK && due && hc_is_set(&call->in[HC_SCALER_FOUND_INF]))
        hc_tensor_set(&call->out[HC_SCALER_NEW_SCALE], 0, before);
    return status;
}

static void no_floor(struct hc_call *call, double number)
{
    (void)number;
    call->params.scaler.floor = 0;
}

static void no_cap(struct hc_call *call, double number)
{
    (void)number;
    call->params.scaler.cap = HC_CAP_NONE;
}

static void no_hysteresis(struct hc_call *call, double number)
{
    (void)number;
    call->params.scaler.hysteresis = 0;
}

static void no_refill(struct hc_call *call, double number)
{
    (void)number;
    call->params.scaler.refill_hysteresis = false;
}

static void looks_at_one(struct hc_call *call, double number)
{
    (void)number;
    if (call->params.scaler.min_checked_scale == 1)
        call->params.scaler.min_checked_scale = -1;
}

static void never_skips(struct hc_call *call, double number)
{
    (void)number;
    call->params.scaler.skip_on_overflow = false;
}

static void never_gives_up(struct hc_call *call, double number)
{
    (void)number;
    call->params.scaler.error_at_floor = false;
}

/* Ignores the recipe's factors. */
static void doubles_and_halves(struct hc_call *call, double number)
{
    (void)number;
    call->params.scaler.growth = 2;
    call->params.scaler.backoff = 0.5F;
}

static void never_grows(struct hc_call *call, double number)
{
    (void)number;
    call->params.scaler.interval = 0;
}

static void other_way(struct hc_call *call, double number)
{
    (void)number;
    call->params.unscale.reciprocal = !call->params.unscale.reciprocal;
}

/* Each must be caught by a rule's traces alone; scaler/one-update would see them all. */
static const struct hc_fault faults[] = {
    {"scaler-count-not-reset", "an overflow does not restart the count of clean steps",
     HC_FAULT_SCALER, "scaler_update", "scaler/torch", .change = keep_clean_is, .number = 1},
    {"scaler-count-reset", "an overflow restarts a count of clean steps that should continue",
     HC_FAULT_SCALER, "scaler_update", "scaler/fastai2", .change = keep_clean_is},
    {"scaler-grows-late", "growth comes one clean step late", HC_FAULT_SCALER, "scaler_update",
     "scaler/apex-amp", .change = delay_more, .number = 1},
    {"scaler-grows-early", "growth comes on time where the rule delays it by a step",
     HC_FAULT_SCALER, "scaler_update", "scaler/deepspeed-fused", .change = delay_is},
    {"scaler-grows-before-it-looks", "the scale grows although the growth step overflowed",
     HC_FAULT_SCALER, "scaler_update", "scaler/torch", .wrong = growth_first},
    {"scaler-floor-ignored", "the scale is halved below its floor", HC_FAULT_SCALER,
     "scaler_update", "scaler/apex-fp16utils", .change = no_floor},
    {"scaler-cap-ignored", "the scale grows beyond its cap", HC_FAULT_SCALER, "scaler_update",
     "scaler/40000-clean-steps", .change = no_cap},
    {"scaler-grows-to-infinity", "the scale grows beyond the last finite number", HC_FAULT_SCALER,
     "scaler_update", "scaler/growth-without-end", .change = no_cap},
    {"scaler-hysteresis-ignored", "the first overflow halves the scale", HC_FAULT_SCALER,
     "scaler_update", "scaler/deepspeed-0.17.0", .change = no_hysteresis},
    {"scaler-looks-at-1", "an overflow is seen at a scale where the rule does not look",
     HC_FAULT_SCALER, "scaler_update", "scaler/fastai", .change = looks_at_one},
    {"scaler-skips-uncounted", "a skipped step is counted as taken", HC_FAULT_SCALER,
     "scaler_update", "scaler/torch", .change = never_skips},
    {"scaler-patience-not-refilled",
     "one overflow halves the scale of a rule that waits for two in a row", HC_FAULT_SCALER,
     "scaler_update", "scaler/deepspeed-consecutive", .change = no_refill},
    {"scaler-goes-on-at-0", "a rule that divides by its scale goes on at 0", HC_FAULT_SCALER,
     "scaler_update", "scaler/apex-amp", .change = never_gives_up},
    {"scaler-never-gives-up", "a rule that should stop at its floor goes on", HC_FAULT_SCALER,
     "scaler_update", "scaler/deepspeed-0.17.0", .change = never_gives_up},
    {"scaler-never-grows", "the scale stays where it began, or falls", HC_FAULT_SCALER,
     "scaler_update", "scaler/torch underflow/dynamic-scale-settles", .change = never_grows},
    {"scaler-doubles-and-halves", "a recipe's own growth and backoff are ignored", HC_FAULT_SCALER,
     "scaler_update", "scaler/own-numbers", .change = doubles_and_halves},
    {"unscale-the-other-way", "unscale divides where it should multiply by the reciprocal",
     HC_FAULT_PARAMETER, "unscale", "scaler/own-numbers", .change = other_way},
};

HC_FAULTS(scaler, faults);
