#include "cli/judge_step/step_optimizer.h"

#include <stdio.h>
#include <string.h>

static enum hc_adam_order order(const struct hc_step *step)
{
    const char *name = hc_tensor_file_metadata(&step->file, "order");
    for (int i = 0; name && i < HC_ORDER_COUNT; i++)
        if (strcmp(hc_adam_order_names[i], name) == 0)
            return (enum hc_adam_order)i;
    return HC_ORDER_OURS;
}

bool hc_step_optimizer_read(struct hc_step *step, struct hc_step_optimizer *o)
{
    const char *name = hc_tensor_file_metadata(&step->file, "optimizer");
    const char *decay = hc_tensor_file_metadata(&step->file, "decay");
    *o = (struct hc_step_optimizer){.op = name ? hc_op_by_name(name) : (enum hc_op)HC_OP_COUNT};
    if (o->op != HC_OP_adamw && o->op != HC_OP_adam && o->op != HC_OP_sgd)
        return false;
    bool decoupled = decay ? strcmp(decay, "decoupled") == 0 : o->op == HC_OP_adamw;
    if (decay && strcmp(decay, "decoupled") != 0 && strcmp(decay, "l2") != 0)
        return false;
    if (o->op != HC_OP_sgd)
        o->op = decoupled ? HC_OP_adamw : HC_OP_adam;
    o->hyper[HC_HYPER_LR] = hc_step_number(step, "lr", 0);
    o->hyper[HC_HYPER_BETA1] = hc_step_number(step, "beta1", 0);
    /* halfcheck's optimizers take both as fp32. */
    for (int i = 0; hc_step_is_own(step) && i < HC_HYPER_STEP; i++)
        o->hyper[i] = hc_round(HC_FP32, o->hyper[i]);
    o->hyper[HC_HYPER_STEP] = hc_step_scalar(step, "optimizer.step", 0) + 1;
    o->decay_norm = !hc_step_says(step, "decay_norm", "0");
    const struct hc_recipe *recipe = hc_step_recipe(step);
    double weight_decay = hc_step_number(step, "weight_decay", 0);
    o->call.op = o->op;
    if (o->op == HC_OP_sgd)
        o->call.params.sgd = (struct hc_sgd){.weight_decay = weight_decay,
                                             .decoupled = decoupled,
                                             .nesterov = hc_step_says(step, "nesterov", "1"),
                                             .rate_inside = recipe && recipe->rate_inside};
    else
        o->call.params.adam = (struct hc_adam){.beta2 = hc_step_number(step, "beta2", 0),
                                               .eps = hc_step_number(step, "eps", 0),
                                               .weight_decay = weight_decay,
                                               .eps_inside = hc_step_says(step, "eps_inside", "1"),
                                               .order = order(step)};
    return true;
}

double *hc_step_weight_decay(struct hc_call *call)
{
    return call->op == HC_OP_sgd ? &call->params.sgd.weight_decay : &call->params.adam.weight_decay;
}

static void eps_inside(struct hc_call *call)
{
    if (call->op != HC_OP_sgd)
        call->params.adam.eps_inside = !call->params.adam.eps_inside;
}

static void other_decay(struct hc_call *call)
{
    if (call->op == HC_OP_sgd)
        call->params.sgd.decoupled = !call->params.sgd.decoupled;
    else
        call->op = call->op == HC_OP_adam ? HC_OP_adamw : HC_OP_adam;
}

static void no_decay(struct hc_call *call)
{
    *hc_step_weight_decay(call) = 0;
}

static void other_nesterov(struct hc_call *call)
{
    if (call->op == HC_OP_sgd)
        call->params.sgd.nesterov = !call->params.sgd.nesterov;
}

static void later(struct hc_call *call)
{
    ((double *)call->in[hc_optimizer_slots(call->op)->hyper].data)[HC_HYPER_STEP]++;
}

static void earlier(struct hc_call *call)
{
    ((double *)call->in[hc_optimizer_slots(call->op)->hyper].data)[HC_HYPER_STEP]--;
}

/* What may have been done instead; each is tried alone. */
static const struct {
    void (*change)(struct hc_call *call);
    const char *note;
} mistakes[] = {
    {eps_inside, "eps stands under the root, or not, other than the file says"},
    {other_decay,
     "the decay is coupled with the gradient where it is to be apart, or the other way"},
    {no_decay, "there is no weight decay"},
    {other_nesterov, "Nesterov's momentum is used, or not, other than the file says"},
    {later, "the bias correction counts a step too many"},
    {earlier, "the bias correction counts a step too few"},
};

void hc_step_optimizer_explain(struct hc_step_court *court, const struct hc_step_claim *claim,
                               char *note, size_t size)
{
    const struct hc_optimizer_slots *s = hc_optimizer_slots(claim->call.op);
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        double hyper[HC_HYPER_COUNT];
        struct hc_step_claim other = *claim;
        memcpy(hyper, claim->call.in[s->hyper].data, sizeof hyper);
        other.call.in[s->hyper].data = hyper;
        mistakes[i].change(&other.call);
        if (hyper[HC_HYPER_STEP] >= 1 && hc_step_fits(court, &other)) {
            (void)snprintf(note, size, "%s", mistakes[i].note);
            return;
        }
    }
}
