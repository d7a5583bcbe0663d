/* Defects of the training loop: what it hands to its ops, planted where it arrives. The cases look at a
   training's calls, or at its whole gradient beside MPFR. */
#include <string.h>

#include "check/fault_change.h"

static void norm_eps_is(struct hc_call *call, double number)
{
    call->params.bn.eps = number;
}

static void norm_momentum_is(struct hc_call *call, double number)
{
    call->params.bn.momentum = number;
}

static void norm_slope_is(struct hc_call *call, double number)
{
    call->params.bn.slope = number;
}

static void adam_eps_is(struct hc_call *call, double number)
{
    call->params.adam.eps = number;
}

static void adam_beta2_is(struct hc_call *call, double number)
{
    call->params.adam.beta2 = number;
}

static void adam_decay_times(struct hc_call *call, double number)
{
    call->params.adam.weight_decay *= number;
}

static void sums_losses(struct hc_call *call, double number)
{
    (void)number;
    call->params.xent.sum = true;
}

static void without_bias(struct hc_call *call, double number)
{
    (void)number;
    if (call->in[2].data && call->params.gemm.beta == 1 && call->in[2].rank == 1)
        call->params.gemm.beta = 0;
}

/* The shortcut past a block is forgotten. */
static enum hc_status no_shortcut(const struct hc_fault_site *planted, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    if (call->out[0].rank != 4)
        return planted->right(queue, call);
    memcpy(call->out[0].data, call->in[0].data, hc_tensor_bytes(&call->out[0]));
    return HC_OK;
}

static const struct hc_fault faults[] = {
    {"train-norm-eps", "the network's norms have an epsilon of 1e-3", HC_FAULT_TRAINER,
     "bn_leaky_*", "training/step-amp training/step-fp32", .wrong = hc_wrong_call,
     .data = &(const struct hc_change_call){norm_eps_is, 1e-3}},
    {"train-infer-eps", "evaluation's norms have no epsilon", HC_FAULT_TRAINER, "bn_leaky_infer",
     "training/step-amp training/step-fp32", .wrong = hc_wrong_call,
     .data = &(const struct hc_change_call){norm_eps_is, 0}},
    {"train-norm-momentum", "running statistics have a momentum of 0.9", HC_FAULT_TRAINER,
     "bn_leaky_train", "training/step-amp training/step-fp32", .wrong = hc_wrong_call,
     .data = &(const struct hc_change_call){norm_momentum_is, 0.9}},
    {"train-slope", "the network's leaky ReLU has a slope of 0.01", HC_FAULT_TRAINER, "bn_leaky_*",
     "training/step-amp training/step-fp32", .wrong = hc_wrong_call,
     .data = &(const struct hc_change_call){norm_slope_is, 0.01}},
    {"train-adam-eps", "the optimizer is told an epsilon of 1e-6", HC_FAULT_TRAINER, "adam adamw",
     "training/step-amp training/step-fp32", .wrong = hc_wrong_call,
     .data = &(const struct hc_change_call){adam_eps_is, 1e-6}},
    {"train-adam-beta2", "the optimizer is told a second beta of 0.999", HC_FAULT_TRAINER,
     "adam adamw", "training/step-amp training/step-fp32", .wrong = hc_wrong_call,
     .data = &(const struct hc_change_call){adam_beta2_is, 0.999}},
    {"train-decay", "the optimizer is told twice the decay", HC_FAULT_TRAINER, "adam adamw",
     "training/step-amp training/step-fp32", .wrong = hc_wrong_call,
     .data = &(const struct hc_change_call){adam_decay_times, 2}},
    {"train-sums-losses", "losses are summed, not averaged", HC_FAULT_TRAINER, "xent xent_bwd",
     "training/step-amp training/step-fp32", .wrong = hc_wrong_call,
     .data = &(const struct hc_change_call){sums_losses, 0}},
    {"train-without-bias", "the last layer has no bias", HC_FAULT_TRAINER, "gemm",
     "training/step-amp training/step-fp32", .wrong = hc_wrong_call,
     .data = &(const struct hc_change_call){without_bias, 0}},
    {"train-without-shortcut", "blocks have no shortcut", HC_FAULT_TRAINER, "add",
     "training/step-amp training/step-fp32", .wrong = no_shortcut},
};

const struct hc_fault_table hc_faults_trainer;
const struct hc_fault_table hc_faults_trainer = {faults, sizeof faults / sizeof faults[0]};
