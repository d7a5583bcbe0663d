/* Defects of a loss scale's update. */
#include "check/fault.h"

static enum hc_status count_kept(hc_kernel *right, struct hc_queue *queue,
                                 const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.keeps_clean = true;
    return right(queue, &bad);
}

static enum hc_status count_reset(hc_kernel *right, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.keeps_clean = false;
    return right(queue, &bad);
}

static enum hc_status late(hc_kernel *right, struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.late++;
    return right(queue, &bad);
}

static enum hc_status on_time(hc_kernel *right, struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.late = 0;
    return right(queue, &bad);
}

/* Growth is due before anybody looks at what was found, so that both happen. */
static enum hc_status growth_first(hc_kernel *right, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    double before = hc_tensor_get(&call->in[0], 0);
    bool due = p->interval && hc_tensor_get(&call->in[1], HC_COUNT_CLEAN) + 1 == p->interval;
    bool found = call->in[2].data && hc_tensor_get(&call->in[2], 0) != 0;
    enum hc_status status = right(queue, call);
    if (status == HC_OK && due && found)
        hc_tensor_put(&call->out[0], 0, before);
    return status;
}

static enum hc_status no_floor(hc_kernel *right, struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.floor = 0;
    return right(queue, &bad);
}

static enum hc_status no_cap(hc_kernel *right, struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.cap = HC_CAP_NONE;
    return right(queue, &bad);
}

static enum hc_status no_hysteresis(hc_kernel *right, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.hysteresis = 0;
    return right(queue, &bad);
}

static enum hc_status looks_at_one(hc_kernel *right, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    struct hc_call bad = *call;
    if (bad.params.scaler.blind == 1)
        bad.params.scaler.blind = -1;
    return right(queue, &bad);
}

static enum hc_status never_skips(hc_kernel *right, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.skips = false;
    return right(queue, &bad);
}

static enum hc_status never_gives_up(hc_kernel *right, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.raises = false;
    return right(queue, &bad);
}

/* Whatever the recipe says. */
static enum hc_status doubles_and_halves(hc_kernel *right, struct hc_queue *queue,
                                         const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.scaler.growth = 2;
    bad.params.scaler.backoff = 0.5F;
    return right(queue, &bad);
}

static enum hc_status other_way(hc_kernel *right, struct hc_queue *queue,
                                const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.unscale.reciprocal = !call->params.unscale.reciprocal;
    return right(queue, &bad);
}

/* Each is to be caught by a rule's traces alone: scaler/one-update would see them all. */
static const struct hc_fault faults[] = {
    {"scaler-count-not-reset", "an overflow does not restart the count of clean steps",
     "scaler/torch", HC_OP_scaler_update, count_kept},
    {"scaler-count-reset", "an overflow restarts a count that is to go on", "scaler/fastai2",
     HC_OP_scaler_update, count_reset},
    {"scaler-grows-late", "growth comes one clean step late", "scaler/apex-amp",
     HC_OP_scaler_update, late},
    {"scaler-grows-early", "growth that is to come one step late comes on time",
     "scaler/deepspeed-fused", HC_OP_scaler_update, on_time},
    {"scaler-grows-before-it-looks", "an overflow at the growth step is met by growth",
     "scaler/torch", HC_OP_scaler_update, growth_first},
    {"scaler-floor-ignored", "the scale is halved below its floor", "scaler/apex-fp16utils",
     HC_OP_scaler_update, no_floor},
    {"scaler-cap-ignored", "the scale grows beyond its cap", "scaler/40000-clean-steps",
     HC_OP_scaler_update, no_cap},
    {"scaler-grows-to-infinity", "the scale grows beyond the last finite number",
     "scaler/growth-without-end", HC_OP_scaler_update, no_cap},
    {"scaler-hysteresis-ignored", "the first overflow halves the scale", "scaler/deepspeed",
     HC_OP_scaler_update, no_hysteresis},
    {"scaler-looks-at-1", "an overflow that the rule overlooks is seen", "scaler/fastai",
     HC_OP_scaler_update, looks_at_one},
    {"scaler-skips-uncounted", "a skipped step is counted as taken", "scaler/torch",
     HC_OP_scaler_update, never_skips},
    {"scaler-never-gives-up", "a rule that is to give up at its floor goes on", "scaler/deepspeed",
     HC_OP_scaler_update, never_gives_up},
    {"scaler-doubles-and-halves", "a recipe's own growth and backoff are not asked for",
     "scaler/own-numbers", HC_OP_scaler_update, doubles_and_halves},
    {"unscale-the-other-way", "unscale divides where it is to multiply with the reciprocal",
     "scaler/own-numbers", HC_OP_unscale, other_way},
};

const struct hc_fault_table hc_faults_scaler;
const struct hc_fault_table hc_faults_scaler = {faults, sizeof faults / sizeof faults[0]};
