/* The rates, counts and decays that reach the optimizer in each step of a training, compared with
   the one-cycle and the AdamW of the specification. Only the loop runs; nothing is multiplied. */
#include <math.h>

#include "cases/fixture/restated.h"

enum { MAX = 64 };

/* A training. There is a middle step if the number of steps is odd. */
struct plan {
    int images;
    int epochs;
    int batch;
    int steps;
    double max_lr; /* as given to the trainer; 0 for the default */
    bool own_memory;
};

struct parameter {
    const char *data;
    size_t bytes;
    int covered; /* how many optimizer calls of this step cover it */
};

struct watch {
    const struct plan *plan;
    struct hc_restated net;
    struct hc_restated_place place;
    struct parameter parameter[3 * HC_RESTATED_MAX];
    int parameters;
    int step;
    int passes;
};

static const double pi = 3.14159265358979323846;

/* Over the first half of the steps the rate rises linearly from a 25th of the maximum; over the
   second half it falls along half a cosine to a 10,000th of its initial value. beta1 goes the other
   way, between .95 and .85. */
static void claim_rates(struct hc_check *check, const struct plan *plan, int step,
                        const struct hc_tensor *hyper)
{
    double most = plan->max_lr == 0 ? 3e-3 : plan->max_lr;
    double begin = most / 25;
    double end = begin / 1e4;
    double at = 2.0 * step / (plan->steps - 1);
    double rate = begin + at * (most - begin);
    double beta = 0.95 - at * (0.95 - 0.85);
    if (at > 1) {
        double left = (1 + cos(pi * (at - 1))) / 2;
        rate = end + left * (most - end);
        beta = 0.95 - left * (0.95 - 0.85);
    }
    /* Bound: one rounding to fp32, and some ulp of fp64 of the maximum. */
    hc_claim_within(check, "learning rate", rate, hc_tensor_get(hyper, HC_HYPER_LR),
                    0x1p-24 * rate + 0x1p-49 * most);
    hc_claim_within(check, "beta1", beta, hc_tensor_get(hyper, HC_HYPER_BETA1),
                    0x1p-24 * beta + 0x1p-49);
    hc_claim_value(check, "the optimizer's count of steps", step + 1,
                   hc_tensor_get(hyper, HC_HYPER_STEP));
}

static void know(struct watch *w, const struct hc_tensor *t)
{
    w->parameter[w->parameters++] =
        (struct parameter){.data = t->data, .bytes = hc_tensor_bytes(t)};
}

/* The first pass shows where the parameters lie. */
static void learn(struct watch *w, const struct hc_call *there)
{
    if (there->op == HC_OP_conv2d)
        know(w, &there->in[HC_CONV_W]);
    if (there->op == HC_OP_bn_leaky_train) {
        know(w, &there->in[HC_BN_GAMMA]);
        know(w, &there->in[HC_BN_BETA]);
    }
    if (there->op == HC_OP_gemm) {
        know(w, &there->in[HC_GEMM_B]);
        know(w, &there->in[HC_GEMM_C]);
    }
}

static void see_optimizer(struct watch *w, struct hc_check *check, const struct hc_call *there,
                          const struct hc_call *copy)
{
    const struct hc_adam *p = &there->params.adam;
    claim_rates(check, w->plan, w->step, &copy->in[HC_ADAM_HYPER]);
    hc_claim_value(check, "beta2", 0.99, p->beta2);
    hc_claim_value(check, "the optimizer's epsilon", 1e-8, p->eps);
    hc_claim_true(check, "the epsilon stands outside the root", !p->eps_inside);
    hc_claim_value(check, "decay, of norms and biases too", 1e-2, p->weight_decay);
    hc_claim_true(check, "weights are updated in place",
                  there->in[HC_ADAM_W].data == there->out[HC_ADAM_NEW_W].data);
    const char *from = there->out[HC_ADAM_NEW_W].data;
    for (int i = 0; i < w->parameters; i++)
        w->parameter[i].covered +=
            w->parameter[i].data >= from && w->parameter[i].data + w->parameter[i].bytes <=
                                                from + hc_tensor_bytes(&there->out[HC_ADAM_NEW_W]);
}

static void see_end(struct watch *w, struct hc_check *check)
{
    for (int i = 0; i < w->parameters; i++) {
        hc_claim_value(check, "updates of a parameter in a step", 1, w->parameter[i].covered);
        w->parameter[i].covered = 0;
    }
    w->step++;
}

static void see(struct hc_observed *observed, const struct hc_call *there,
                const struct hc_call *copy)
{
    struct watch *w = observed->context;
    int at;
    if (there->op == HC_OP_adamw)
        see_optimizer(w, observed->check, there, copy);
    else if (there->op == HC_OP_scaler_update)
        see_end(w, observed->check);
    else if (hc_restated_follow(observed->check, &w->net, &w->place, there, &at)) {
        if (w->passes == 0)
            learn(w, there);
        w->passes += w->place.layer < 0;
        hc_claim_value(observed->check, "images in a batch", w->plan->batch ? w->plan->batch : 64,
                       (double)there->in[HC_FIRST].shape[0]);
    }
}

static void train(struct hc_check *check, const struct plan *plan, struct watch *w)
{
    struct hc_train_result result;
    struct hc_observed observed = {
        .check = check, .see = see, .context = w, .own_memory = plan->own_memory};
    struct hc_train_options options = {
        .epochs = plan->epochs, .batch = plan->batch, .max_lr = plan->max_lr};
    observed.reads[HC_OP_adamw] = true;
    *w = (struct watch){.plan = plan, .place.layer = -1};
    w->net = hc_restated_small(1, 10);
    if (!hc_restated_train(&observed, &w->net, plan->images, 2, &options, &result))
        return;
    hc_claim_value(check, "steps of a training", plan->steps, w->step);
    hc_claim_value(check, "steps that the trainer counts", plan->steps, (double)result.steps);
    hc_claim_value(check, "parameters, tensor by tensor", 3 * 4 + 2, w->parameters);
}

static void schedule(struct hc_check *check)
{
    static const struct plan plans[] = {
        {.images = 20, .epochs = 9, .batch = 4, .steps = 45},
        {.images = 20, .epochs = 9, .batch = 4, .steps = 45, .own_memory = true},
        {.images = 22, .epochs = 2, .batch = 4, .steps = 10, .max_lr = 0.1},
        {.images = 130, .epochs = 1, .steps = 2}};
    struct watch *w = hc_check_memory(check, sizeof *w);
    for (size_t p = 0; p < sizeof plans / sizeof plans[0]; p++)
        train(check, &plans[p], w);
}

static const struct hc_case cases[] = {
    {.name = "training/restated-schedule",
     .title =
         "the optimizer gets the one-cycle's rates from the first step to the last, counts from 1 "
         "on, and decays every parameter once",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: OneCycleScheduler, "
               "AdamW with bn_wd",
     .level = HC_STANDARD,
     .run = schedule},
};

HC_CASES(training_restated_schedule, cases);
