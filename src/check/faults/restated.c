/* Defects of the training loop, planted where they arrive: in the rates, counts and weights that
   its ops get or give. The cases training/restated-* hold a whole training to its specification. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/selftest/change.h"
#include "op/counts.h"

/* Parameters have one extent on their way to the optimizer's vectors; batches have four. */
static enum hc_status weights_times(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    double factor = site->fault->number;
    const struct hc_tensor *w = &call->out[HC_OUT];
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0; w->rank == 1 && w->format == HC_FP32 && i < hc_tensor_count(w); i++)
        if (fabs(hc_tensor_get(w, i)) < 1)
            hc_tensor_set(w, i, factor * hc_tensor_get(w, i));
    return status;
}

/* The row of the step before; or the last row is never reached. */
static enum hc_status rates_of(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    bool last_only = site->fault->number != 0;
    struct hc_call bad = *call;
    int32_t *counts = hc_fault_copy(&call->in[HC_RATES_COUNTS]);
    if (counts[HC_COUNT_STEPS] > 0 &&
        (!last_only || counts[HC_COUNT_STEPS] >= call->in[HC_RATES_TABLE].shape[0] - 1))
        counts[HC_COUNT_STEPS]--;
    bad.in[HC_RATES_COUNTS].data = counts;
    enum hc_status status = site->right(queue, &bad);
    free(counts);
    return status;
}

/* An element of hyper times one number, plus another. */
struct rate {
    int which;
    float times;
    float plus;
};

static enum hc_status rate_is(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    const struct rate *rate = site->fault->data;
    enum hc_status status = site->right(queue, call);
    float *hyper = call->out[HC_RATES_HYPER].data;
    hyper[rate->which] = rate->times * hyper[rate->which] + rate->plus;
    return status;
}

static enum hc_status counts_one_step(const struct hc_fault_site *site, struct hc_queue *queue,
                                      const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    int32_t *counts = call->out[HC_SCALER_NEW_COUNTS].data;
    if (counts[HC_COUNT_TAKEN] > 1)
        counts[HC_COUNT_TAKEN] = 1;
    return status;
}

/* Each parameter has the first moment of another, 64 elements on. */
static enum hc_status moment_of_another(const struct hc_fault_site *site, struct hc_queue *queue,
                                        const struct hc_call *call)
{
    struct hc_call bad = *call;
    int64_t n = hc_tensor_count(&call->in[HC_ADAM_M]);
    void *copy = hc_fault_copy(&call->in[HC_ADAM_M]);
    bad.in[HC_ADAM_M].data = copy;
    for (int64_t i = 0; i < n; i++)
        hc_tensor_set_bits(&bad.in[HC_ADAM_M], i,
                           hc_tensor_bits(&call->in[HC_ADAM_M], (i + 64) % n));
    enum hc_status status = site->right(queue, &bad);
    free(copy);
    return status;
}

static enum hc_status not_unscaled(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    float one = 1;
    struct hc_call bad = *call;
    bad.in[HC_UNSCALE_SCALE].data = &one;
    return site->right(queue, &bad);
}

/* The sum over a short batch is divided by four all the same. */
static enum hc_status mean_of_four(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    *(float *)call->out[HC_XENT_LOSS].data *= (float)call->in[HC_XENT_LOGITS].shape[0] / 4;
    return status;
}

/* On the way back a sum's result takes the place of one of its terms. */
static enum hc_status shortcut_lost(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    if (call->out[HC_OUT].data != call->in[HC_X].data)
        return site->right(queue, call);
    memcpy(call->out[HC_OUT].data, call->in[HC_Y].data, hc_tensor_bytes(&call->out[HC_OUT]));
    return HC_OK;
}

static void twice_for_one_row(struct hc_call *call, double number)
{
    if (call->out[HC_GEMM_OUT].shape[0] == 1)
        call->params.gemm.alpha *= number;
}

static const struct hc_fault faults[] = {
    {"restated-weights-wide", "initial weights have a bound of sqrt(3 / fan in)", HC_FAULT_TRAINER,
     "cast", "training/restated-weights", .wrong = weights_times, .number = 1.7320508075688772},
    {"restated-weights-narrow", "initial weights have half of their bound", HC_FAULT_TRAINER,
     "cast", "training/restated-weights", .wrong = weights_times, .number = 0.5},
    {"restated-rates-late", "each step has the rates of the step before", HC_FAULT_TRAINER, "rates",
     "training/restated-schedule", .wrong = rates_of},
    {"restated-rates-end", "the last step has the rates of the one before it", HC_FAULT_TRAINER,
     "rates", "training/restated-schedule", .wrong = rates_of, .number = 1},
    {"restated-rate-peak", "the learning rate is a tenth too small throughout", HC_FAULT_TRAINER,
     "rates", "training/restated-schedule", .wrong = rate_is,
     .data = &(const struct rate){HC_HYPER_LR, 0.9F, 0}},
    {"restated-momentum-stays", "beta1 is not cycled", HC_FAULT_TRAINER, "rates",
     "training/restated-schedule", .wrong = rate_is,
     .data = &(const struct rate){HC_HYPER_BETA1, 0, 0.95F}},
    {"restated-counts-from-0", "the optimizer counts its steps from 0 on", HC_FAULT_TRAINER,
     "rates", "training/restated-schedule", .wrong = rate_is,
     .data = &(const struct rate){HC_HYPER_STEP, 1, -1}},
    {"restated-counts-stay", "the optimizer never gets beyond its second step", HC_FAULT_TRAINER,
     "scaler_update", "training/restated-schedule training/restated-steps-*",
     .wrong = counts_one_step},
    {"restated-no-decay", "no weight decays at all", HC_FAULT_TRAINER, "adamw",
     "training/restated-steps-*", .like = "adam-decay-forgotten"},
    {"restated-eps-inside", "the epsilon is added under the root", HC_FAULT_TRAINER, "adamw",
     "training/restated-steps-*", .like = "eps-inside-the-root"},
    {"restated-other-moment", "each parameter uses another parameter's first moments",
     HC_FAULT_TRAINER, "adamw", "training/restated-steps-*", .wrong = moment_of_another},
    {"restated-not-unscaled", "gradients are not divided by the scale", HC_FAULT_TRAINER, "unscale",
     "training/restated-steps-amp", .wrong = not_unscaled},
    {"restated-copy-kept", "the model keeps its first copy of the masters", HC_FAULT_TRAINER,
     "master_to_model", "training/restated-steps-amp",
     .outputs = &(const struct hc_change){hc_everywhere, hc_kept, 0, HC_MODEL_COPY}},
    {"restated-loss-summed", "losses are summed, gradients are not", HC_FAULT_TRAINER, "xent",
     "training/restated-evaluation training/restated-steps-*", .like = "loss-gradient-always-sum"},
    {"restated-gradient-summed", "gradients are those of the summed loss", HC_FAULT_TRAINER,
     "xent_bwd", "training/restated-steps-*", .like = "loss-gradient-always-sum"},
    {"restated-mean-of-full", "the mean over a short batch is taken as over a full one",
     HC_FAULT_TRAINER, "xent", "training/restated-evaluation", .wrong = mean_of_four},
    {"restated-biased-variance", "a training's running variance lacks the factor M / (M - 1)",
     HC_FAULT_TRAINER, "bn_leaky_train", "training/restated-steps-*",
     .like = "norm-biased-variance"},
    {"restated-statistics-stay", "the running mean stays where it began", HC_FAULT_TRAINER,
     "bn_leaky_train", "training/restated-steps-*",
     .outputs = &(const struct hc_change){hc_everywhere, hc_kept, 0, HC_BN_NEW_MEAN}},
    {"restated-shortcut-lost", "gradients do not come back through shortcuts", HC_FAULT_TRAINER,
     "add", "training/restated-steps-*", .wrong = shortcut_lost},
    {"restated-bias-twice", "the gradient of the bias is twice what it should be", HC_FAULT_TRAINER,
     "gemm", "training/restated-steps-*", .change = twice_for_one_row, .number = 2},
};

HC_FAULTS(restated, faults);
