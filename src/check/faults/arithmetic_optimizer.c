/* Defects of the optimizers' arithmetic, which all backends share (kernels/element/, src/num/):
   each is in the subject and in `exact`, and is wrong in few steps, for few parameters or in few
   bits, so that one set of hyperparameters shows nothing. */
#include <math.h>

#include "check/selftest/fault.h"
#include "num/format.h"

/* A call of an optimizer with its hyperparameters copied, so that a fault may change them. */
struct hyper {
    struct hc_call call;
    float value[HC_HYPER_COUNT];
};

static struct hyper hyper_of(const struct hc_call *call)
{
    struct hyper h = {.call = *call};
    int slot = hc_optimizer_slots(call->op)->hyper;
    for (int i = 0; i < HC_HYPER_COUNT; i++)
        h.value[i] = (float)hc_tensor_get(&call->in[slot], i);
    return h;
}

static enum hc_status with(const struct hc_fault_site *site, struct hc_queue *queue,
                           struct hyper *h)
{
    h->call.in[hc_optimizer_slots(h->call.op)->hyper].data = h->value;
    return site->right(queue, &h->call);
}

/* The step's count t that the kernel gets. */
typedef float count_of(float t);

static float early_beyond_65536(float t)
{
    return t > 65536 ? t - 1 : t;
}

static float modulo_65536(float t)
{
    float left = fmodf(t, 65536);
    return left > 0 ? left : 65536;
}

static float one_less_at_the_end(float t)
{
    return t >= 16777216 ? 16777215 : t;
}

struct count {
    count_of *of;
};

static enum hc_status counted(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    struct hyper h = hyper_of(call);
    const struct count *count = site->fault->data;
    h.value[HC_HYPER_STEP] = count->of(h.value[HC_HYPER_STEP]);
    return with(site, queue, &h);
}

static void eps_inside_late(struct hc_call *call, double number)
{
    (void)number;
    call->params.adam.eps_inside |= call->params.adam.order == HC_ORDER_OURS &&
                                    hc_tensor_get(&call->in[HC_ADAM_HYPER], HC_HYPER_STEP) > 1000;
}

static void eps_flushed(struct hc_call *call, double number)
{
    (void)number;
    if (call->params.adam.arithmetic == HC_FP16 && call->params.adam.eps < 0x1p-14)
        call->params.adam.eps = 0;
}

static void beta2_single(struct hc_call *call, double number)
{
    (void)number;
    call->params.adam.beta2 = hc_round(HC_FP32, call->params.adam.beta2);
}

/* lr / (1 - beta1^t) is Adam's step, not the rate of its decay. */
static void decays_by_step(struct hc_call *call, double number)
{
    (void)number;
    double beta1 = hc_tensor_get(&call->in[HC_ADAM_HYPER], HC_HYPER_BETA1);
    call->params.adam.weight_decay /=
        1 - pow(beta1, hc_tensor_get(&call->in[HC_ADAM_HYPER], HC_HYPER_STEP));
}

static void decay_times_rate(struct hc_call *call, double number)
{
    (void)number;
    call->params.adam.weight_decay *= hc_tensor_get(&call->in[HC_ADAM_HYPER], HC_HYPER_LR);
}

static void decay_in_half(struct hc_call *call, double number)
{
    (void)number;
    double *decay =
        call->op == HC_OP_sgd ? &call->params.sgd.weight_decay : &call->params.adam.weight_decay;
    *decay = hc_round(HC_FP16, *decay);
}

static enum hc_status rate_in_half(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    struct hyper h = hyper_of(call);
    if (h.value[HC_HYPER_LR] > 0.25F && h.value[HC_HYPER_LR] < 0.35F)
        h.value[HC_HYPER_LR] = (float)hc_round(HC_FP16, (double)h.value[HC_HYPER_LR]);
    return with(site, queue, &h);
}

static void always_ours(struct hc_call *call, double number)
{
    (void)number;
    call->params.adam.order = HC_ORDER_OURS;
}

static void apex_as_fused(struct hc_call *call, double number)
{
    (void)number;
    if (call->params.adam.order == HC_ORDER_APEX)
        call->params.adam.order = HC_ORDER_TORCH_FUSED;
}

static enum hc_status loses_minus_zero(const struct hc_fault_site *site, struct hc_queue *queue,
                                       const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(&call->out[HC_ADAM_NEW_W]); i++)
        if (hc_tensor_get(&call->out[HC_ADAM_NEW_W], i) == 0)
            hc_tensor_set(&call->out[HC_ADAM_NEW_W], i, 0);
    return status;
}

/* A number that goes into the counter of stochastic rounding is kept in too few bits. */
enum { ELEMENT, SEED, STEP };

static enum hc_status narrow_counter(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    struct hyper h = hyper_of(call);
    struct hc_stochastic *s =
        call->op == HC_OP_sgd ? &h.call.params.sgd.stochastic : &h.call.params.adam.stochastic;
    int which = (int)site->fault->number;
    if (which == ELEMENT)
        s->first &= ((int64_t)1 << 34) - 1;
    if (which == SEED)
        s->seed &= 0xffffffff;
    if (which == STEP && s->on && call->op == HC_OP_sgd) /* SGD uses t for nothing else */
        h.value[HC_HYPER_STEP] = modulo_65536(h.value[HC_HYPER_STEP]);
    return with(site, queue, &h);
}

static enum hc_status nan_to_zero(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0; status == HC_OK && call->params.sgd.stochastic.on &&
                        i < hc_tensor_count(&call->out[HC_SGD_NEW_W]);
         i++)
        if (hc_tensor_bits(&call->in[HC_SGD_G], i) == 0x7fffffff)
            hc_tensor_set_bits(&call->out[HC_SGD_NEW_W], i, 0x8000);
    return status;
}

#define ADAMS      "adam adamw"
#define EVERYWHERE .class_ = HC_FAULT_COMMON, .place = HC_PLACE_BOTH

static const struct hc_fault faults[] = {
    {"arithmetic-t-early", "Adam's t is one too small beyond 2^16", EVERYWHERE, .ops = ADAMS,
     .patterns = "optimizer/adam-by-definition", .wrong = counted,
     .data = &(const struct count){early_beyond_65536}},
    {"arithmetic-t-16-bits", "Adam's t is kept in 16 bits", EVERYWHERE, .ops = ADAMS,
     .patterns = "optimizer/adam-by-definition optimizer/adam-apex-*", .wrong = counted,
     .data = &(const struct count){modulo_65536}},
    {"arithmetic-t-last", "Adam's t is one too small at 2^24", EVERYWHERE, .ops = ADAMS,
     .patterns = "optimizer/adam-by-definition", .wrong = counted,
     .data = &(const struct count){one_less_at_the_end}},
    {"arithmetic-eps-inside-late", "eps lies inside the root from step 1000 on", EVERYWHERE,
     .ops = ADAMS, .patterns = "optimizer/adam-by-definition", .change = eps_inside_late},
    {"arithmetic-eps-flushed", "eps is 0 where half holds it as a subnormal number", EVERYWHERE,
     .ops = ADAMS, .patterns = "optimizer/adam-by-definition", .change = eps_flushed},
    {"arithmetic-beta2-single", "beta2 is rounded to fp32 in every order", EVERYWHERE, .ops = ADAMS,
     .patterns = "optimizer/adam-by-definition optimizer/adam-torch-loop-*",
     .change = beta2_single},
    {"arithmetic-decay-by-step", "AdamW decays by its corrected rate", EVERYWHERE, .ops = "adamw",
     .patterns = "optimizer/adam-by-definition decay/*", .change = decays_by_step},
    {"arithmetic-decay-times-rate", "Adam's decay in the gradient is lr * decay", EVERYWHERE,
     .ops = "adam", .patterns = "optimizer/adam-by-definition optimizer/adam-torch-fused-*",
     .change = decay_times_rate},
    {"arithmetic-decay-in-half", "the decay is rounded to half", EVERYWHERE,
     .ops = "sgd adam adamw",
     .patterns = "optimizer/sgd-by-definition optimizer/adam-by-definition",
     .change = decay_in_half},
    {"arithmetic-rate-in-half", "learning rates about 0.3 are rounded to half", EVERYWHERE,
     .ops = "sgd adam adamw",
     .patterns = "optimizer/sgd-by-definition optimizer/adam-by-definition", .wrong = rate_in_half},
    {"arithmetic-one-order", "every order of roundings is replaced by halfcheck's own", EVERYWHERE,
     .ops = ADAMS,
     .patterns = "optimizer/adam-torch-fused-* optimizer/adam-torch-loop-* optimizer/adam-apex-* "
                 "optimizer/as-pytorch-gave",
     .change = always_ours},
    {"arithmetic-apex-fused",
     "apex's order of roundings is replaced by that of PyTorch's fused Adam", EVERYWHERE,
     .ops = ADAMS, .patterns = "optimizer/adam-apex-by-definition", .change = apex_as_fused},
    {"arithmetic-minus-zero", "a weight of -0 becomes +0", EVERYWHERE, .ops = ADAMS,
     .patterns = "optimizer/adam-by-definition", .wrong = loses_minus_zero},
    {"arithmetic-short-element", "stochastic rounding drops the upper word of an element's number",
     EVERYWHERE, .ops = "sgd adam adamw", .patterns = "stochastic/*-at-large-counters",
     .wrong = narrow_counter, .number = ELEMENT},
    {"arithmetic-short-rounding-seed", "stochastic rounding drops the upper word of its seed",
     EVERYWHERE, .ops = "sgd adam adamw", .patterns = "stochastic/*-at-large-counters",
     .wrong = narrow_counter, .number = SEED},
    {"arithmetic-short-step", "stochastic rounding uses only 16 bits of the step", EVERYWHERE,
     .ops = "sgd", .patterns = "stochastic/every-bit-at-large-counters", .wrong = narrow_counter,
     .number = STEP},
    {"arithmetic-nan-to-zero", "a NaN that is rounded stochastically becomes -0", EVERYWHERE,
     .ops = "sgd", .patterns = "stochastic/nan-of-any-payload-stays", .wrong = nan_to_zero},
};

HC_FAULTS(arithmetic_optimizer, faults);
