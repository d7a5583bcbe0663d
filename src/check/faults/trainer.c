/* Defects of the training loop, planted in what it hands to its ops. The ops are right, so that
   only a training can show them. */
#include <stdlib.h>
#include <string.h>

#include "check/selftest/change.h"
#include "op/counts.h"

static void norm_eps_is(struct hc_call *call, double number)
{
    call->params.bn.eps = number;
}

static void norm_momentum_is(struct hc_call *call, double number)
{
    call->params.bn.momentum = number;
}

static void adam_eps_is(struct hc_call *call, double number)
{
    call->params.adam.eps = number;
}

static void adam_decay_times(struct hc_call *call, double number)
{
    call->params.adam.weight_decay *= number;
}

static void without_bias(struct hc_call *call, double number)
{
    (void)number;
    if (call->in[HC_GEMM_C].data && call->params.gemm.beta == 1 && call->in[HC_GEMM_C].rank == 1)
        call->params.gemm.beta = 0;
}

/* The shortcut past a block is forgotten. */
static enum hc_status no_shortcut(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    if (call->out[HC_OUT].rank != 4)
        return site->right(queue, call);
    memcpy(call->out[HC_OUT].data, call->in[HC_X].data, hc_tensor_bytes(&call->out[HC_OUT]));
    return HC_OK;
}

/* The rates of a step by another schedule. */
struct schedule {
    int rows_late; /* how many steps the row lies before the right one */
    double rate;   /* factor of the rate */
    double least_beta;
    double late_from; /* from this fraction of the table on the rate is also multiplied by `late` */
    double late;
};

static enum hc_status other_rates(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    const struct schedule *s = site->fault->data;
    const struct hc_tensor *table = &call->in[HC_RATES_TABLE];
    int64_t rows = table->shape[0];
    int64_t step = (int64_t)hc_tensor_get(&call->in[HC_RATES_COUNTS], HC_COUNT_STEPS);
    int64_t row = step < rows ? step : rows - 1;
    enum hc_status status = site->right(queue, call);
    if (status != HC_OK || rows < 2)
        return status;
    int64_t from = row >= s->rows_late ? row - s->rows_late : 0;
    double rate = hc_tensor_get(table, 2 * from) * s->rate;
    double beta = hc_tensor_get(table, 2 * from + 1);
    hc_tensor_set(&call->out[HC_RATES_HYPER], 0,
                  (double)row >= s->late_from * (double)rows ? rate * s->late : rate);
    hc_tensor_set(&call->out[HC_RATES_HYPER], 1, beta > s->least_beta ? beta : s->least_beta);
    return status;
}

/* The step log gets another loss. */
static enum hc_status other_loss(const struct hc_fault_site *site, struct hc_queue *queue,
                                 const struct hc_call *call)
{
    float loss;
    struct hc_call bad = *call;
    if (call->in[HC_STEP_LOG_SCALARS].data) {
        loss = (float)(hc_tensor_get(&call->in[HC_STEP_LOG_SCALARS], 0) * 1.01);
        bad.in[HC_STEP_LOG_SCALARS].data = &loss;
    }
    return site->right(queue, &bad);
}

/* A batch that is not full counts one more correct image, as if padding were counted. */
static enum hc_status padding_is_right(const struct hc_fault_site *site, struct hc_queue *queue,
                                       const struct hc_call *call)
{
    static int64_t full;
    enum hc_status status = site->right(queue, call);
    full = call->in[HC_XENT_LOGITS].shape[0] > full ? call->in[HC_XENT_LOGITS].shape[0] : full;
    if (status == HC_OK && call->in[HC_XENT_LOGITS].shape[0] < full &&
        call->out[HC_XENT_CORRECT].data)
        hc_tensor_set(&call->out[HC_XENT_CORRECT], 0,
                      hc_tensor_get(&call->out[HC_XENT_CORRECT], 0) + 1);
    return status;
}

/* Before the first op of a training runs, its weights, which are uniform numbers, are uploaded.
   Tensors whose elements are not all equal become a hundredth larger. Each training opens a queue
   of its own. */
static bool ran;

static enum hc_status (*right_open)(const struct hc_backend *backend, struct hc_queue **queue,
                                    int threads);
static enum hc_status (*right_upload)(struct hc_queue *queue, void *to, const void *from,
                                      size_t bytes);

static enum hc_status open_anew(const struct hc_backend *backend, struct hc_queue **queue,
                                int threads)
{
    ran = false;
    return right_open(backend, queue, threads);
}

static enum hc_status upload_more(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    const float *values = from;
    size_t n = bytes / sizeof(float);
    if (ran || bytes % sizeof(float) != 0 || n < 8 ||
        memcmp(values, values + 1, bytes - sizeof(float)) == 0)
        return right_upload(queue, to, from, bytes);
    float *more = malloc(bytes);
    if (!more)
        return hc_fail(HC_NO_MEMORY, "no memory for a fault's weights");
    for (size_t i = 0; i < n; i++)
        more[i] = values[i] * 1.01F;
    enum hc_status status = right_upload(queue, to, more, bytes);
    free(more);
    return status;
}

static void larger_weights(struct hc_backend *faulty)
{
    right_open = faulty->open;
    right_upload = faulty->upload;
    faulty->open = open_anew;
    faulty->upload = upload_more;
}

static enum hc_status notes_a_call(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    ran = true;
    return site->right(queue, call);
}

static const struct hc_fault faults[] = {
    {"train-weights-larger", "initial weights are a hundredth too large", HC_FAULT_TRAINER, "*",
     "training/restated-*", .wrong = notes_a_call, .rebuild = larger_weights},
    {"train-norm-eps", "the network's norms have an epsilon of 1e-3", HC_FAULT_TRAINER,
     "bn_leaky_*", "training/restated-*", .change = norm_eps_is, .number = 1e-3},
    {"train-infer-eps", "evaluation's norms have no epsilon", HC_FAULT_TRAINER, "bn_leaky_infer",
     "training/step-amp training/step-fp32", .change = norm_eps_is},
    {"train-norm-momentum", "running statistics have a momentum of 0.9", HC_FAULT_TRAINER,
     "bn_leaky_train", "training/restated-*", .change = norm_momentum_is, .number = 0.9},
    {"train-slope", "the network's leaky ReLU has a slope of 0.01", HC_FAULT_TRAINER, "bn_leaky_*",
     "training/restated-*", .like = "norm-slope-fixed"},
    {"train-adam-eps", "the optimizer gets an epsilon of 1e-6", HC_FAULT_TRAINER, "adam adamw",
     "training/restated-*", .change = adam_eps_is, .number = 1e-6},
    {"train-adam-beta2", "the optimizer gets a second beta of 0.999", HC_FAULT_TRAINER,
     "adam adamw", "training/restated-*", .like = "adam-beta2-fixed"},
    {"train-decay", "the optimizer gets twice the decay", HC_FAULT_TRAINER, "adam adamw",
     "training/restated-*", .change = adam_decay_times, .number = 2},
    {"train-sums-losses", "losses are summed, not averaged", HC_FAULT_TRAINER, "xent xent_bwd",
     "training/restated-*", .like = "loss-gradient-always-sum"},
    {"train-without-bias", "the last layer has no bias", HC_FAULT_TRAINER, "gemm",
     "training/restated-*", .change = without_bias},
    {"train-without-shortcut", "blocks have no shortcut", HC_FAULT_TRAINER, "add",
     "training/restated-*", .wrong = no_shortcut},
    {"train-schedule-late", "the schedule is one step late", HC_FAULT_TRAINER, "rates",
     "training/restated-*", .wrong = other_rates, .data = &(const struct schedule){1, 1, 0, 2, 1}},
    {"train-peak-lower", "the learning rate is a twentieth too low", HC_FAULT_TRAINER, "rates",
     "training/restated-*", .wrong = other_rates,
     .data = &(const struct schedule){0, 0.95, 0, 2, 1}},
    {"train-momentum-fixed", "the momentum stays where it begins", HC_FAULT_TRAINER, "rates",
     "training/restated-*", .wrong = other_rates,
     .data = &(const struct schedule){0, 1, 0.95, 2, 1}},
    {"train-end-higher", "the last tenth of the steps has ten times its rate", HC_FAULT_TRAINER,
     "rates", "training/restated-*", .wrong = other_rates,
     .data = &(const struct schedule){0, 1, 0, 0.9, 10}},
    {"train-loss-reported", "the loss that is reported is a hundredth too large", HC_FAULT_TRAINER,
     "step_log", "training/restated-*", .wrong = other_loss},
    {"train-padding-counted", "an image that only fills up a batch is counted as correct",
     HC_FAULT_TRAINER, "xent", "training/restated-*", .wrong = padding_is_right},
};

HC_FAULTS(trainer, faults);
